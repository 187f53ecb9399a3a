/* What changed between two objects, and back. */
#include <assert.h>

#include "json_parts.h"

typedef struct member {
  pawl_str raw; /* the key as it is written, without its quotes */
  pawl_str value;
} member;

/* The members of an object, or the strings of an array, by their keys. */
typedef struct members {
  pawl_keys keys; /* sorted; a tag is a place in `all` */
  member *all;
  size_t cap;
  member few[PAWL_FEW_KEYS];
  pawl_buf arena;
} members;

static void members_init(members *m, const pawl_alloc *alloc) {
  pawl_keys_init(&m->keys, alloc);
  m->all = m->few;
  m->cap = PAWL_FEW_KEYS;
  memset(&m->arena, 0, sizeof m->arena);
  m->arena.alloc = alloc;
}

static void members_deinit(members *m) {
  if (m->all != m->few)
    pawl_release(m->keys.alloc, m->all, m->cap * sizeof *m->all);
  pawl_keys_deinit(&m->keys);
  pawl_buf_deinit(&m->arena);
}

static int members_add(members *m, pawl_str raw, pawl_str value) {
  size_t n = m->keys.n;
  if (n == m->cap) {
    void *list = m->all;
    if (!pawl_keys_grow(m->keys.alloc, &list, m->few, &m->cap, sizeof *m->all))
      return 0;
    m->all = list;
  }
  m->all[n].raw = raw;
  m->all[n].value = value;
  return pawl_keys_add(&m->keys, raw, n);
}

/* 0: no memory. */
static int members_collect(members *m, pawl_str container) {
  int is_array = pawl_json_kind_of(container) == PAWL_JSON_ARRAY;
  int disorder = 0, escaped = 0;

  for (pawl_json_iter it = {0}; pawl_json_walk(container, &it);) {
    size_t n = m->keys.n;
    if (is_array) it.key = pawl_json_between_quotes(it.value);
    if (!members_add(m, it.key, it.value)) return 0;
    if (!escaped) escaped = has_escape(it.key);
    if (n > 0 && !disorder)
      disorder = pawl_str_cmp(m->keys.at[n - 1].text, it.key) > 0;
  }
  if (escaped && !pawl_keys_unescape(m->keys.at, m->keys.n, &m->arena))
    return 0;
  if (escaped || disorder) pawl_json_sort_keys(m->keys.at, m->keys.n);
  return 1;
}

/* The member whose key is the i-th in order; NULL past the last. */
static const member *member_at(const members *m, size_t i) {
  return i < m->keys.n ? &m->all[m->keys.at[i].tag] : NULL;
}

/* How the i-th key of a stands to the j-th of b: negative when it comes first
 * or b has ended. */
static int order_at(const members *a, size_t i, const members *b, size_t j) {
  if (i >= a->keys.n) return 1;
  if (j >= b->keys.n) return -1;
  return pawl_str_cmp(a->keys.at[i].text, b->keys.at[j].text);
}

static void add_key(pawl_buf *out, const member *m) {
  pawl_buf_addc(out, '"');
  pawl_buf_adds(out, m->raw);
  pawl_buf_addc(out, '"');
}

static void add_member(pawl_buf *out, const member *m) {
  if (m->value.at == m->raw.at + m->raw.len + 2) { /* one piece: "key":value */
    pawl_buf_add(out, m->raw.at - 1, m->raw.len + 3 + m->value.len);
    return;
  }
  add_key(out, m);
  pawl_buf_addc(out, ':');
  pawl_buf_adds(out, m->value);
}

/* Appends the members of `after` that `before` has not, or has otherwise;
 * `opening` goes before the first. Returns how many. */
static size_t add_set(pawl_buf *out, const members *before,
                      const members *after, const char *opening) {
  size_t i = 0, j = 0, n = 0;
  while (j < after->keys.n) {
    int order = order_at(before, i, after, j);
    const member *now = member_at(after, j);
    i += order <= 0;
    if (order < 0) continue;
    j++;
    if (order == 0 && pawl_str_eq(member_at(before, i - 1)->value, now->value))
      continue;
    pawl_buf_addz(out, n++ ? "," : opening);
    add_member(out, now);
  }
  return n;
}

/* Appends the keys that `after` has no more. */
static size_t add_unset(pawl_buf *out, const members *before,
                        const members *after, const char *opening) {
  size_t i = 0, j = 0, n = 0;
  while (i < before->keys.n) {
    int order = order_at(before, i, after, j);
    j += order >= 0;
    if (order > 0) continue;
    i++;
    if (order == 0) continue;
    pawl_buf_addz(out, n++ ? "," : opening);
    add_key(out, member_at(before, i - 1));
  }
  return n;
}

static void delta_sorted(pawl_str before, pawl_str after, pawl_buf *out) {
  members a, b;
  size_t nset, nunset;

  members_init(&a, out->alloc);
  members_init(&b, out->alloc);
  if (members_collect(&a, before) && members_collect(&b, after)) {
    nset = add_set(out, &a, &b, "{\"set\":{");
    if (nset) pawl_buf_addc(out, '}');
    nunset = add_unset(out, &a, &b, nset ? ",\"unset\":[" : "{\"unset\":[");
    if (nunset) pawl_buf_addc(out, ']');
    if (nset || nunset) pawl_buf_addc(out, '}');
  } else {
    out->failed = 1;
  }
  members_deinit(&a);
  members_deinit(&b);
}

/* A place in an object whose keys come in strict byte order. */
typedef struct walker {
  pawl_str text;
  pawl_json_iter it;
  member at;
  int more, disorder;
} walker;

/* The next member as we write them, ,"key":value with a plain key and without
 * white space; 0: it is another, or none. */
static int next_compact(walker *w) {
  const char *end = w->text.at + w->text.len, *quote;
  size_t at = w->it.at, stop;

  if (w->text.len - at < 2 || w->text.at[at] != (at ? ',' : '{') ||
      w->text.at[at + 1] != '"')
    return 0;
  w->at.raw.at = w->text.at + at + 2;
  quote = skip_plain(w->at.raw.at, end);
  if (end - quote < 3 || quote[0] != '"' || quote[1] != ':') return 0;
  at = (size_t)(quote - w->text.at) + 2;
  stop = is_space(quote[2]) ? at : pawl_json_value_end(w->text, at);
  if (stop == at) return 0;
  assert(stop <= w->text.len); /* J2 */
  w->at.raw.len = (size_t)(quote - w->at.raw.at);
  w->at.value = (pawl_str){w->text.at + at, stop - at};
  w->it.at = stop;
  return 1;
}

static void walk_on(walker *w) {
  pawl_str last = w->at.raw;
  w->more = 1;
  if (!next_compact(w)) {
    w->more = pawl_json_each(w->text, &w->it, &w->at.raw, &w->at.value);
    if (w->more && has_escape(w->at.raw)) w->disorder = 1;
  }
  if (w->more && last.at && pawl_str_cmp(last, w->at.raw) >= 0)
    w->disorder = 1;
}

/* From one key on to the next in both. A member that is written alike in the
 * second, up to what ends it, is not taken apart there. */
static void walk_both(walker *a, walker *b) {
  size_t from = a->it.at, len;
  const char *there = b->text.at + b->it.at;

  walk_on(a);
  len = a->it.at - from;
  if (!a->more || len >= b->text.len - b->it.at ||
      memcmp(a->text.at + from, there, len) != 0 ||
      (there[len] != ',' && there[len] != '}')) {
    walk_on(b);
    return;
  }
  b->at = a->at;
  b->it.at += len;
  assert(b->it.at < b->text.len); /* J2 */
  b->more = 1;
  b->disorder |= a->disorder;
}

/* What the key at hand is to both: negative when only the first has it. */
static int walk_order(const walker *a, const walker *b) {
  if (!a->more || !b->more) return b->more - a->more;
  return pawl_str_cmp(a->at.raw, b->at.raw);
}

/* One part of a delta, in one walk through both objects: the members that
 * `after` has otherwise, or with `unset` the keys that it has not. Counts in
 * *other those of the other part. 0: they are not in order. */
static int add_walked(pawl_buf *out, pawl_str before, pawl_str after,
                      int unset, const char *opening, size_t *other) {
  walker a = {.text = before}, b = {.text = after};
  size_t n = 0;

  *other = 0;
  walk_both(&a, &b);
  while ((a.more || b.more) && !a.disorder && !b.disorder) {
    int order = walk_order(&a, &b);
    int differs = order || !pawl_str_eq(a.at.value, b.at.value);
    if (differs && (order < 0) == unset) {
      if (n++)
        pawl_buf_addc(out, ',');
      else
        pawl_buf_addz(out, opening);
      if (unset)
        add_key(out, &a.at);
      else
        add_member(out, &b.at);
    } else {
      *other += differs;
    }
    if (order == 0)
      walk_both(&a, &b);
    else
      walk_on(order < 0 ? &a : &b);
  }
  if (n) pawl_buf_addc(out, unset ? ']' : '}');
  return !a.disorder && !b.disorder;
}

void pawl_json_delta(pawl_str before, pawl_str after, pawl_buf *out) {
  size_t begin = out->len, nset, nunset;

  if (pawl_str_eq(before, after)) return;
  if (!add_walked(out, before, after, 0, "{\"set\":{", &nunset)) {
    out->len = begin;
    if (out->at) out->at[begin] = '\0';
    delta_sorted(before, after, out);
    return;
  }
  if (nunset)
    (void)add_walked(out, before, after, 1,
                     out->len > begin ? ",\"unset\":[" : "{\"unset\":[",
                     &nset);
  if (out->len > begin) pawl_buf_addc(out, '}');
}

/* Appends the members of `before` and `set` in order; `set` overrides, and
 * `unset` leaves out what `set` does not bring back. */
static void add_merged(pawl_buf *out, const members *before,
                       const members *set, const members *unset) {
  size_t i = 0, j = 0, k = 0;
  const char *comma = "";

  while (i < before->keys.n || j < set->keys.n) {
    int order = order_at(before, i, set, j);
    const member *m = order < 0 ? member_at(before, i) : member_at(set, j);
    if (order < 0) {
      while (order_at(unset, k, before, i) < 0) k++;
      if (k < unset->keys.n && order_at(unset, k, before, i) == 0) m = NULL;
    }
    i += order <= 0;
    j += order >= 0;
    if (!m) continue;
    pawl_buf_addz(out, comma);
    add_member(out, m);
    comma = ",";
  }
}

void pawl_json_apply(pawl_str before, pawl_str delta, pawl_buf *out) {
  members a, set, unset;
  pawl_str part;

  members_init(&a, out->alloc);
  members_init(&set, out->alloc);
  members_init(&unset, out->alloc);
  int ok = members_collect(&a, before);
  if (ok && pawl_json_get(delta, "set", &part))
    ok = members_collect(&set, part);
  if (ok && pawl_json_get(delta, "unset", &part))
    ok = members_collect(&unset, part);
  if (ok) {
    pawl_buf_addc(out, '{');
    add_merged(out, &a, &set, &unset);
    pawl_buf_addc(out, '}');
  } else {
    out->failed = 1;
  }
  members_deinit(&a);
  members_deinit(&set);
  members_deinit(&unset);
}
