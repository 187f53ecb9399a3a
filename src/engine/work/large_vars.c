/* Large variables: which rows a commit has changed, found by dealing out the
 * object as it was and as it is now, and comparing the two. */
#include "large_vars.h"

#include <assert.h>
#include <stdlib.h>

#include "../../value/json.h"
#include "batch.h"

#define WHOLE_BYTES 4096 /* up to that, one column holds them all */
#define OWN_BYTES 1024   /* from that on, a member has a row of its own */
#define ROW_BYTES 1024   /* that much is meant for a row of the others */
#define MAX_PARTS 1024
#define MAX_NAME 200 /* longer ones would not fit an index */
#define OWN (-1)

typedef struct member {
  pawl_str key, value; /* as they stand in the text */
  int32_t part;        /* OWN, or the row that it shares */
} member;

static int is_own(pawl_str key, pawl_str value) {
  return value.len >= OWN_BYTES && key.len <= MAX_NAME;
}

/* FNV-1a. Rows that are stored depend on it: it must not change. */
static uint32_t hash(pawl_str s) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < s.len; i++)
    h = (h ^ (unsigned char)s.at[i]) * 16777619u;
  return h;
}

int pawl_parts_count(int now, pawl_str vars) {
  size_t small = 0;
  int parts = 1;

  if (vars.len <= (now ? WHOLE_BYTES / 2 : WHOLE_BYTES)) return 0;
  for (pawl_json_iter it = {0}; pawl_json_walk(vars, &it);)
    if (!is_own(it.key, it.value)) small += it.key.len + it.value.len + 4;
  while (parts < MAX_PARTS && small > (size_t)parts * ROW_BYTES) parts *= 2;
  /* moving all to other rows costs as much as the whole: seldom */
  if (now && parts <= now * 4 && now <= parts * 8) return now;
  return parts;
}

/* ---- dealing out ---- */

static int by_part(const void *a, const void *b) {
  const member *x = a, *y = b;
  if (x->part != y->part) return x->part < y->part ? -1 : 1;
  return pawl_str_cmp(x->key, y->key);
}

typedef struct dealt {
  member *at;
  size_t n;
} dealt;

static pawl_code deal(pawl_engine *e, pawl_str vars, int parts, dealt *out,
                      pawl_error *err) {
  size_t n = parts ? (size_t)pawl_json_count(vars) : 0;

  assert(parts >= 0 && parts <= MAX_PARTS);
  if (!n) return PAWL_OK;
  if (!(out->at = pawl_realloc(&e->alloc, NULL, 0, n * sizeof *out->at)))
    return pawl_fail_memory(err);
  for (pawl_json_iter it = {0}; out->n < n && pawl_json_walk(vars, &it);)
    out->at[out->n++] = (member){
        it.key, it.value,
        is_own(it.key, it.value) ? OWN
                                 : (int32_t)(hash(it.key) % (uint32_t)parts)};
  qsort(out->at, out->n, sizeof *out->at, by_part);
  return PAWL_OK;
}

/* Behind the last member of the row that begins at `at`. */
static size_t row_end(const dealt *d, size_t at) {
  size_t end = at + 1;
  if (d->at[at].part == OWN) return end;
  while (end < d->n && d->at[end].part == d->at[at].part) end++;
  return end;
}

static int row_cmp(const dealt *a, size_t at, const dealt *b, size_t bt) {
  if (at == a->n || bt == b->n) return (at == a->n) - (bt == b->n);
  if (a->at[at].part != b->at[bt].part || a->at[at].part == OWN)
    return by_part(&a->at[at], &b->at[bt]);
  return 0;
}

static int rows_equal(const dealt *a, size_t at, size_t a_end, const dealt *b,
                      size_t bt, size_t b_end) {
  if (a_end - at != b_end - bt) return 0;
  for (; at < a_end; at++, bt++)
    if (!pawl_str_eq(a->at[at].key, b->at[bt].key) ||
        !pawl_str_eq(a->at[at].value, b->at[bt].value))
      return 0;
  return 1;
}

/* ---- what a batch has changed ---- */

/* Offsets into `text`, which moves while it grows. */
typedef struct change {
  const pawl_held *h;
  size_t name, members, end; /* an empty text of members: the row goes */
} change;

typedef struct changes {
  pawl_buf text, list; /* of change */
} changes;

static void add_change(changes *c, const pawl_held *h, const dealt *d,
                       size_t at, size_t end, int stays) {
  change one = {.h = h, .name = c->text.len};

  if (d->at[at].part == OWN) {
    pawl_buf_addc(&c->text, '=');
    pawl_buf_adds(&c->text, d->at[at].key);
  } else {
    pawl_buf_addf(&c->text, ":%d", (int)d->at[at].part);
  }
  one.members = c->text.len;
  for (size_t k = at; stays && k < end; k++) {
    if (k > at) pawl_buf_addc(&c->text, ',');
    pawl_buf_addc(&c->text, '"');
    pawl_buf_adds(&c->text, d->at[k].key);
    pawl_buf_addz(&c->text, "\":");
    pawl_buf_adds(&c->text, d->at[k].value);
  }
  one.end = c->text.len;
  pawl_buf_add(&c->list, &one, sizeof one);
}

/* Both are sorted alike: one walk through the two. */
static void compare(changes *c, const pawl_held *h, const dealt *before,
                    const dealt *after) {
  size_t b = 0, a = 0;
  while (b < before->n || a < after->n) {
    int order = row_cmp(before, b, after, a);
    size_t b_end = order <= 0 ? row_end(before, b) : b;
    size_t a_end = order >= 0 ? row_end(after, a) : a;
    if (order < 0)
      add_change(c, h, before, b, b_end, 0);
    else if (order > 0 || !rows_equal(before, b, b_end, after, a, a_end))
      add_change(c, h, after, a, a_end, 1);
    assert(b_end > b || a_end > a); /* both come to their end */
    b = b_end;
    a = a_end;
  }
}

/* Another number of rows: what stood in the old ones is written anew. */
static pawl_code changes_of(pawl_engine *e, changes *c, const pawl_held *h,
                            pawl_error *err) {
  const pawl_plan *p = &h->d.plan;
  dealt before = {0}, after = {0}, none = {0};
  pawl_code rc = PAWL_OK;

  TRY(deal(e, pawl_buf_str(&h->d.vars), h->parts, &before, err));
  TRY(deal(e, pawl_buf_str(&p->vars), h->vars_parts, &after, err));
  if (h->parts && h->parts != h->vars_parts) {
    compare(c, h, &before, &none);
    compare(c, h, &none, &after);
  } else {
    compare(c, h, &before, &after);
  }
out:
  pawl_release(&e->alloc, before.at, before.n * sizeof *before.at);
  pawl_release(&e->alloc, after.at, after.n * sizeof *after.at);
  return rc;
}

static pawl_str slice(const changes *c, size_t from, size_t to) {
  return (pawl_str){c->text.at + from, to - from};
}

/* Rows that go, or, `puts`, those that stay and have changed. */
static pawl_code send_changes(pawl_engine *e, const changes *c, int puts,
                              pawl_error *err) {
  const change *all = (const change *)c->list.at;
  pawl_args *a = &e->args;

  pawl_args_begin(a,
                  puts ? PAWL_STMT_variable_put : PAWL_STMT_variable_delete);
  for (size_t k = 0; k < c->list.len / sizeof *all; k++) {
    const change *one = &all[k];
    pawl_str part = slice(c, one->name, one->members);
    if ((one->end > one->members) != puts) continue;
    if (puts)
      PAWL_PUT(a, variable_put, PAWL_GUARD_MEMBERS(one->h), .part = part,
               .members = slice(c, one->members, one->end));
    else
      PAWL_PUT(a, variable_delete, PAWL_GUARD_MEMBERS(one->h), .part = part);
  }
  return pawl_store_send(e->store, a, NULL, err);
}

pawl_code pawl_parts_send(pawl_engine *e, pawl_held **list, int n,
                          pawl_error *err) {
  changes c = {.text = {.alloc = &e->alloc}, .list = {.alloc = &e->alloc}};
  pawl_code rc = PAWL_OK;

  EACH (h) {
    const pawl_plan *p = &h->d.plan;
    if (p->vars_changed && pawl_plan_writes(p) && (h->parts || h->vars_parts))
      TRY(changes_of(e, &c, h, err));
  }
  if (!c.list.len && !c.list.failed) goto out;
  TRY(pawl_buf_check(&c.text, err));
  TRY(pawl_buf_check(&c.list, err));
  TRY(send_changes(e, &c, 0, err));
  TRY(send_changes(e, &c, 1, err));
out:
  pawl_buf_deinit(&c.text);
  pawl_buf_deinit(&c.list);
  return rc;
}
