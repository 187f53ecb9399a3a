#include "registry.h"

#include <assert.h>

typedef struct entry {
  pawl_def *def;
  int loaded;
} entry;

/* One that was taken and can be undone: what was there, or NULL. */
typedef struct taken {
  pawl_def *def, *before;
  int was_loaded;
} taken;

struct pawl_registry {
  const pawl_alloc *alloc;
  entry *entries; /* in use, by code, then version */
  int n, cap;
  pawl_def **old; /* replaced, kept for those that may be running them */
  int nold, old_cap;
  int can_undo;
  taken *taken; /* since then */
  int ntaken, taken_cap;
};

pawl_code pawl_registry_new(const pawl_alloc *alloc, pawl_registry **out,
                            pawl_error *err) {
  pawl_registry *r = pawl_calloc(alloc, sizeof *r);
  if (!r)
    return pawl_fail(err, PAWL_NOMEM, "not enough memory for a registry");
  r->alloc = alloc;
  *out = r;
  return PAWL_OK;
}

void pawl_registry_free(pawl_registry *r) {
  if (!r) return;
  for (int i = 0; i < r->n; i++) pawl_def_free(r->entries[i].def);
  for (int i = 0; i < r->nold; i++) pawl_def_free(r->old[i]);
  pawl_release(r->alloc, r->entries, (size_t)r->cap * sizeof *r->entries);
  pawl_release(r->alloc, r->old, (size_t)r->old_cap * sizeof *r->old);
  pawl_release(r->alloc, r->taken, (size_t)r->taken_cap * sizeof *r->taken);
  pawl_release(r->alloc, r, sizeof *r);
}

static pawl_code fail_memory(pawl_error *err) {
  return pawl_fail(err, PAWL_NOMEM, "not enough memory for a definition");
}

/* Order of an entry against (code, version). */
static int compare(const entry *e, pawl_str code, int64_t version) {
  int order = pawl_str_cmp(pawl_strz(e->def->code), code);
  if (order) return order;
  return (e->def->version > version) - (e->def->version < version);
}

/* The first entry that is not below (code, version); r->n if none is. */
static int lower_bound(const pawl_registry *r, pawl_str code,
                       int64_t version) {
  int low = 0, high = r->n;
  while (low < high) {
    int mid = low + (high - low) / 2;
    if (compare(&r->entries[mid], code, version) < 0)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

/* Room for all that taking one adds, so that nothing fails half-way. */
static int make_room(pawl_registry *r) {
  return PAWL_ROOM(r->alloc, r->old, r->nold, r->old_cap) &&
         PAWL_ROOM(r->alloc, r->entries, r->n, r->cap) &&
         (!r->can_undo ||
          PAWL_ROOM(r->alloc, r->taken, r->ntaken, r->taken_cap));
}

static void note(pawl_registry *r, pawl_def *def, pawl_def *before,
                 int was_loaded) {
  if (r->can_undo) r->taken[r->ntaken++] = (taken){def, before, was_loaded};
}

static void replace(pawl_registry *r, entry *e, pawl_def *def, int loaded) {
  note(r, def, e->def, e->loaded);
  r->old[r->nold++] = e->def;
  *e = (entry){def, loaded};
}

static void insert(pawl_registry *r, int at, pawl_def *def, int loaded) {
  note(r, def, NULL, 0);
  memmove(r->entries + at + 1, r->entries + at,
          (size_t)(r->n - at) * sizeof *r->entries);
  r->entries[at] = (entry){def, loaded};
  r->n++;
}

pawl_code pawl_registry_take(pawl_registry *r, pawl_def *def, int loaded,
                             pawl_error *err) {
  const pawl_str code = pawl_strz(def->code);
  const int at = lower_bound(r, code, def->version);

  if (!make_room(r)) return fail_memory(err);
  if (at < r->n && compare(&r->entries[at], code, def->version) == 0)
    replace(r, &r->entries[at], def, loaded);
  else
    insert(r, at, def, loaded);
  assert(at == 0 || compare(&r->entries[at - 1], code, def->version) < 0);
  return PAWL_OK;
}

int pawl_registry_mark(pawl_registry *r) {
  r->can_undo = 1;
  return r->ntaken;
}

/* What was replaced last is most likely the last of the old ones. */
static void bring_back(pawl_registry *r, entry *e, const taken *t) {
  int i = r->nold;

  *e = (entry){t->before, t->was_loaded};
  while (r->old[--i] != t->before) assert(i > 0);
  r->old[i] = r->old[--r->nold];
}

pawl_def *pawl_registry_undo(pawl_registry *r, int mark) {
  if (r->ntaken <= mark) return NULL;
  const taken *t = &r->taken[--r->ntaken];
  const int at = lower_bound(r, pawl_strz(t->def->code), t->def->version);

  assert(at < r->n && r->entries[at].def == t->def);
  if (t->before) {
    bring_back(r, &r->entries[at], t);
  } else {
    r->n--;
    memmove(r->entries + at, r->entries + at + 1,
            (size_t)(r->n - at) * sizeof *r->entries);
  }
  return t->def;
}

void pawl_registry_settle(pawl_registry *r) {
  r->ntaken = r->can_undo = 0;
}

static pawl_def *highest_loaded(const pawl_registry *r, pawl_str code) {
  int at = lower_bound(r, code, INT64_MAX);
  if (at == r->n || compare(&r->entries[at], code, INT64_MAX) != 0) at--;
  for (; at >= 0; at--) {
    const entry *e = &r->entries[at];
    if (!pawl_str_eq(pawl_strz(e->def->code), code)) return NULL;
    if (e->loaded) return e->def;
  }
  return NULL;
}

pawl_def *pawl_registry_find(const pawl_registry *r, const char *code,
                             size_t len, int64_t version, int *loaded) {
  pawl_str name = {code, len};
  pawl_def *def;
  if (version == 0) {
    def = highest_loaded(r, name);
    if (def && loaded) *loaded = 1;
    return def;
  }
  int at = lower_bound(r, name, version);
  if (at == r->n || compare(&r->entries[at], name, version) != 0) return NULL;
  if (loaded) *loaded = r->entries[at].loaded;
  return r->entries[at].def;
}

pawl_def *pawl_registry_at(const pawl_registry *r, int i) {
  return i >= 0 && i < r->n ? r->entries[i].def : NULL;
}

static int is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

/* The next prefix of the list, without spaces around it. 0 at the end. */
static int next_prefix(const char **list, pawl_str *out) {
  const char *at = *list, *end;
  if (!*at) return 0;
  end = at + strcspn(at, ",");
  *list = *end ? end + 1 : end;
  while (at < end && is_space(*at)) at++;
  while (end > at && is_space(end[-1])) end--;
  out->at = at;
  out->len = (size_t)(end - at);
  return 1;
}

int pawl_prefixes_match(const char *prefixes, const char *code, size_t len) {
  pawl_str prefix;
  int any = 0;
  if (!prefixes) return 1;
  while (next_prefix(&prefixes, &prefix)) {
    if (prefix.len == 0) continue;
    any = 1;
    if (prefix.len <= len && memcmp(prefix.at, code, prefix.len) == 0)
      return 1;
  }
  return !any; /* "" and "," leave nothing out */
}
