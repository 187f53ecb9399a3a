/* What of a long history may go: see trim.h. */
#include "trim.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../value/json.h"
#include "../value/object.h"
#include "way.h"

#define LEAST_SLACK 64 /* rows: each time costs two looks and a commit */

/* Rows, as numbers. */
typedef struct numbers {
  int64_t *at;
  int n, cap;
} numbers;

static void add(pawl_trim *t, numbers *list, int64_t n) {
  if (PAWL_ROOM(t->alloc, list->at, list->n, list->cap))
    list->at[list->n++] = n;
  else
    t->failed = 1;
}

static void numbers_deinit(const pawl_trim *t, numbers *list) {
  pawl_release(t->alloc, list->at, sizeof *list->at * (size_t)list->cap);
}

static int by_number(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void sort(numbers *list) {
  if (list->n > 1)
    qsort(list->at, (size_t)list->n, sizeof *list->at, by_number);
}

/* Of a sorted list. */
static int has(const numbers *list, int64_t n) {
  return list->n && bsearch(&n, list->at, (size_t)list->n, sizeof *list->at,
                            by_number) != NULL;
}

/* A member of the record; empty: there is none. */
static pawl_str part(pawl_str record, const char *name, const char *empty) {
  pawl_str value;
  return record.at && pawl_json_get(record, name, &value) ? value
                                                          : pawl_strz(empty);
}

/* The rows that an object's members name, or that a list has. */
static void add_named(pawl_trim *t, pawl_str json, numbers *list) {
  int64_t seq;
  for (pawl_json_iter it = {0}; pawl_json_walk(json, &it);)
    if (pawl_json_int(it.value, &seq)) add(t, list, seq);
}

/* ---- what holds a value ---- */

/* The same changes, with the row in the place of each value. */
static void as_held(pawl_str changes, int64_t seq, pawl_buf *out) {
  pawl_str set, unset;
  pawl_object o, names;

  pawl_object_begin(&o, out);
  if (pawl_json_get(changes, "set", &set)) {
    pawl_member_object(&o, "set", &names);
    for (pawl_json_iter it = {0}; pawl_json_walk(set, &it);) {
      pawl_buf_addf(out, "%s\"", names.n++ ? "," : "");
      pawl_buf_adds(out, it.key);
      pawl_buf_addf(out, "\":%" PRId64, seq);
    }
    pawl_object_end(&names);
  }
  if (pawl_json_get(changes, "unset", &unset))
    pawl_member_json(&o, "unset", unset);
  pawl_object_end(&o);
}

/* The same of attributes: one that was taken away is held by nobody. */
static void attributes_as_held(pawl_str changes, int64_t seq, pawl_buf *out) {
  pawl_buf gone = {.alloc = out->alloc};
  pawl_str given, to;
  int n = 0;

  pawl_buf_addz(out, "{\"set\":{");
  if (!pawl_json_get(changes, "attributes", &given)) given = pawl_strz("{}");
  for (pawl_json_iter it = {0}; pawl_json_walk(given, &it);) {
    int is = pawl_json_get(it.value, "to", &to) &&
             pawl_json_kind_of(to) != PAWL_JSON_NULL;
    pawl_buf *list = is ? out : &gone;
    pawl_buf_addf(list, "%s\"", is ? (n++ ? "," : "") : gone.len ? "," : "");
    pawl_buf_adds(list, it.key);
    pawl_buf_addc(list, '"');
    if (is) pawl_buf_addf(out, ":%" PRId64, seq);
  }
  pawl_buf_addz(out, "},\"unset\":[");
  pawl_buf_adds(out, pawl_buf_str(&gone));
  pawl_buf_addz(out, "]}");
  if (gone.failed) out->failed = 1;
  pawl_buf_deinit(&gone);
}

/* Which row holds each value behind the last of the rows. */
static void hold(pawl_trim *t, pawl_str was, const pawl_old_row *rows, int n,
                 void (*held)(pawl_str, int64_t, pawl_buf *), pawl_buf *out) {
  pawl_buf delta = {.alloc = t->alloc}, next = {.alloc = t->alloc}, swap;

  pawl_buf_adds(out, was);
  for (int i = 0; i < n; i++) {
    if (!rows[i].changes.at) continue;
    pawl_buf_clear(&delta);
    pawl_buf_clear(&next);
    held(rows[i].changes, rows[i].seq, &delta);
    pawl_json_apply(pawl_buf_str(out), pawl_buf_str(&delta), &next);
    swap = *out, *out = next, next = swap;
  }
  if (delta.failed || next.failed || out->failed) t->failed = 1;
  pawl_buf_deinit(&delta);
  pawl_buf_deinit(&next);
}

/* ---- what a token needs ---- */

/* Does a token name the row as one that led it here? */
static int is_named(const pawl_token *k, int64_t seq) {
  const pawl_detail *d = pawl_detail_of(k);
  int64_t named;

  if (d->seq == seq) return 1;
  for (pawl_json_iter it = {0};
       d->from.len && pawl_json_walk(pawl_buf_str(&d->from), &it);)
    if (pawl_json_int(it.value, &named) && named == seq) return 1;
  return 0;
}

/* A row of the visit that it is in, the newest that it left behind before, or
 * one that it names. `newest` of each token, as far as was looked. */
static int is_open(const pawl_token_list *tokens, const numbers *newest,
                   const pawl_old_row *r) {
  for (int i = 0; i < tokens->n; i++) {
    const pawl_token *k = &tokens->at[i];
    if (!pawl_token_is_live(k->state)) continue;
    if (k->no == r->token && (k->visit == r->visit || newest->at[i] == r->seq))
      return 1;
    if (is_named(k, r->seq)) return 1;
  }
  return 0;
}

/* Rows that were kept open before, as rows. */
static int read_open(pawl_str entry, pawl_old_row *r) {
  int64_t *const to[] = {&r->seq, &r->token, &r->visit};
  size_t i = 0;

  memset(r, 0, sizeof *r);
  for (pawl_json_iter it = {0}; i < 3 && pawl_json_walk(entry, &it);)
    if (!pawl_json_int(it.value, to[i++])) return 0;
  return i == 3;
}

static void note_newest(const pawl_token_list *tokens, numbers *newest,
                        const pawl_old_row *r) {
  for (int i = 0; i < tokens->n; i++)
    if (tokens->at[i].no == r->token && newest->at[i] < r->seq)
      newest->at[i] = r->seq;
}

/* The newest row of each token among those that were looked at. */
static void find_newest(pawl_trim *t, const pawl_token_list *tokens,
                        pawl_str open, const pawl_old_row *rows, int n,
                        numbers *newest) {
  pawl_old_row r;

  for (int i = 0; i < tokens->n; i++) add(t, newest, 0);
  if (t->failed) return;
  for (pawl_json_iter it = {0}; pawl_json_walk(open, &it);)
    if (read_open(it.value, &r)) note_newest(tokens, newest, &r);
  for (int i = 0; i < n; i++) note_newest(tokens, newest, &rows[i]);
}

static void add_open(pawl_object *list, const pawl_old_row *r, pawl_trim *t,
                     numbers *kept) {
  pawl_list_next(list);
  pawl_buf_addf(list->out, "[%" PRId64 ",%" PRId64 ",%" PRId64 "]", r->seq,
                r->token, r->visit);
  add(t, kept, r->seq);
}

/* Writes those that are kept for a token, and notes them. */
static void keep_open(pawl_trim *t, const pawl_token_list *tokens,
                      pawl_str was, const pawl_old_row *rows, int n,
                      pawl_buf *out, numbers *kept) {
  numbers newest = {0};
  pawl_old_row r;
  pawl_object list;

  find_newest(t, tokens, was, rows, n, &newest);
  if (t->failed) goto out;
  pawl_list_begin(&list, out);
  for (pawl_json_iter it = {0}; pawl_json_walk(was, &it);)
    if (read_open(it.value, &r) && is_open(tokens, &newest, &r))
      add_open(&list, &r, t, kept);
  for (int i = 0; i < n; i++)
    if (!rows[i].stays && is_open(tokens, &newest, &rows[i]))
      add_open(&list, &rows[i], t, kept);
  pawl_list_end(&list);
out:
  numbers_deinit(t, &newest);
}

/* ---- how often it came to a node ---- */

static int64_t count_visits(const pawl_old_row *rows, int n, pawl_str node) {
  int64_t found = 0;
  for (int i = 0; i < n; i++)
    found += rows[i].path.at && rows[i].node.at && !rows[i].leads &&
             pawl_str_eq(rows[i].node, node);
  return found;
}

static int64_t count_ways(const pawl_old_row *rows, int n, pawl_str node) {
  int64_t found = 0;
  for (int i = 0; i < n; i++) found += pawl_way_count(rows[i].path, node);
  return found;
}

static int is_first(const pawl_old_row *rows, int i) {
  for (int k = 0; k < i; k++)
    if (rows[k].node.at && pawl_str_eq(rows[k].node, rows[i].node)) return 0;
  return 1;
}

/* By its plain name: one in JSON may be escaped. -1: none are told. */
static int64_t visits_of(pawl_str visits, pawl_str node,
                         const pawl_alloc *alloc) {
  pawl_buf name = {.alloc = alloc};
  int64_t found = -1;

  for (pawl_json_iter it = {0}; pawl_json_walk(visits, &it);) {
    pawl_buf_clear(&name);
    pawl_json_unquote((pawl_str){it.key.at - 1, it.key.len + 2}, &name);
    if (pawl_str_eq(pawl_buf_str(&name), node))
      (void)pawl_json_int(it.value, &found);
  }
  pawl_buf_deinit(&name);
  return found;
}

/* So many more. */
static void add_visit(pawl_trim *t, pawl_str was, pawl_str node, int64_t n,
                      pawl_buf *delta) {
  const int64_t before = visits_of(was, node, t->alloc);

  if (delta->at[delta->len - 1] != '{') pawl_buf_addc(delta, ',');
  pawl_json_add_string(delta, node);
  pawl_buf_addf(delta, ":%" PRId64, (before > 0 ? before : 0) + n);
}

/* With nodes that it did not go on from, as a branch was cancelled: none of
 * them may be taken for one where it never was. */
static void add_visits(pawl_trim *t, pawl_str was, const pawl_def *def,
                       const pawl_old_row *rows, int n, pawl_buf *out) {
  pawl_buf delta = {.alloc = t->alloc};

  pawl_buf_addz(&delta, "{\"set\":{");
  for (int i = 0; i < n && !delta.failed; i++) {
    const pawl_str node = rows[i].node;
    if (node.at && is_first(rows, i) && !pawl_way_tells_of(def, node))
      add_visit(t, was, node, count_visits(rows, n, node), &delta);
  }
  for (int i = 0; i < def->nnodes && !delta.failed; i++) {
    const pawl_str node = pawl_strz(def->nodes[i].name);
    const int64_t came =
        pawl_way_tells(&def->nodes[i]) ? count_ways(rows, n, node) : 0;
    if (came) add_visit(t, was, node, came, &delta);
  }
  pawl_buf_addz(&delta, "}}");
  pawl_json_apply(was, pawl_buf_str(&delta), out);
  if (delta.failed) t->failed = 1;
  pawl_buf_deinit(&delta);
}

/* ---- all of it ---- */

/* Of what stays for ever, the rows that hold a value: who is to go is found
 * among those that hold none any more. */
static void keep_stays(pawl_trim *t, pawl_str was, const pawl_old_row *rows,
                       int n, const numbers *kept, pawl_buf *out) {
  pawl_object list;
  int64_t seq;

  pawl_list_begin(&list, out);
  for (pawl_json_iter it = {0}; pawl_json_walk(was, &it);) {
    if (!pawl_json_int(it.value, &seq) || !has(kept, seq)) continue;
    pawl_list_next(&list);
    pawl_add_int(out, seq);
  }
  for (int i = 0; i < n; i++) {
    if (!rows[i].stays || !has(kept, rows[i].seq)) continue;
    pawl_list_next(&list);
    pawl_add_int(out, rows[i].seq);
  }
  pawl_list_end(&list);
  if (out->failed) t->failed = 1;
}

static void drop(pawl_trim *t, int64_t seq, int told) {
  if (PAWL_ROOM(t->alloc, t->drop, t->ndrop, t->drop_cap))
    t->drop[t->ndrop++] = seq;
  else
    t->failed = 1;
  if (!told) return;
  if (PAWL_ROOM(t->alloc, t->tell, t->ntell, t->tell_cap))
    t->tell[t->ntell++] = seq;
  else
    t->failed = 1;
}

/* Rows that were kept for a value or a token, and are for none any more. Who
 * did them is not at hand. */
static void drop_released(pawl_trim *t, pawl_str was, const numbers *kept) {
  numbers before = {0}, stays = {0};
  pawl_old_row r;

  add_named(t, part(was, "variables", "{}"), &before);
  add_named(t, part(was, "attributes", "{}"), &before);
  add_named(t, part(was, "stays", "[]"), &stays);
  pawl_str open = part(was, "open", "[]");
  for (pawl_json_iter it = {0}; pawl_json_walk(open, &it);)
    if (read_open(it.value, &r)) add(t, &before, r.seq);
  sort(&before);
  sort(&stays);
  for (int i = 0; i < before.n; i++) {
    if (i && before.at[i - 1] == before.at[i]) continue;
    if (!has(kept, before.at[i]) && !has(&stays, before.at[i]))
      drop(t, before.at[i], 1);
  }
  numbers_deinit(t, &before);
  numbers_deinit(t, &stays);
}

/* What is told of a record, under way. */
typedef struct parts {
  pawl_buf variables, attributes, open, visits, stays;
} parts;

static void write_record(pawl_trim *t, pawl_str was, int64_t keep,
                         int64_t upto, const parts *p) {
  int64_t newest = pawl_trimmed_newest(was);
  pawl_object o;

  for (int i = 0; i < t->ndrop; i++)
    if (newest < t->drop[i]) newest = t->drop[i];
  pawl_object_begin(&o, &t->record);
  pawl_member_int(&o, "upto", upto);
  pawl_member_int(&o, "rows",
                  (was.at ? pawl_json_get_int(was, "rows", 0) : 0) + t->ndrop);
  pawl_member_int(&o, "newest", newest);
  pawl_member_int(&o, "keep", keep);
  pawl_member_json(&o, "variables", pawl_buf_str(&p->variables));
  pawl_member_json(&o, "attributes", pawl_buf_str(&p->attributes));
  pawl_member_json(&o, "open", pawl_buf_str(&p->open));
  pawl_member_json(&o, "stays", pawl_buf_str(&p->stays));
  pawl_member_json(&o, "visits", pawl_buf_str(&p->visits));
  pawl_object_end(&o);
  if (t->record.failed) t->failed = 1;
}

void pawl_trim_decide(pawl_trim *t, pawl_str was, int64_t keep,
                      const pawl_def *def, const pawl_token_list *tokens,
                      const pawl_old_row *rows, int n) {
  pawl_buf none = {.alloc = t->alloc};
  parts p = {none, none, none, none, none};
  pawl_buf *const all[] = {&p.variables, &p.attributes, &p.open, &p.visits,
                           &p.stays};
  numbers kept = {0};

  assert(n > 0 && rows[0].seq > pawl_trimmed_upto(was));
  t->ndrop = t->ntell = 0;
  t->record.alloc = t->alloc;
  pawl_buf_clear(&t->record);
  hold(t, part(was, "variables", "{}"), rows, n, as_held, &p.variables);
  hold(t, part(was, "attributes", "{}"), rows, n, attributes_as_held,
       &p.attributes);
  add_named(t, pawl_buf_str(&p.variables), &kept);
  add_named(t, pawl_buf_str(&p.attributes), &kept);
  sort(&kept);
  keep_stays(t, part(was, "stays", "[]"), rows, n, &kept, &p.stays);
  keep_open(t, tokens, part(was, "open", "[]"), rows, n, &p.open, &kept);
  sort(&kept);
  drop_released(t, was, &kept);
  for (int i = 0; i < n; i++)
    if (!rows[i].stays && !has(&kept, rows[i].seq))
      drop(t, rows[i].seq, rows[i].told);
  add_visits(t, part(was, "visits", "{}"), def, rows, n, &p.visits);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i]->failed) t->failed = 1;
  write_record(t, was, keep, rows[n - 1].seq, &p);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    pawl_buf_deinit(all[i]);
  numbers_deinit(t, &kept);
}

void pawl_trim_deinit(pawl_trim *t) {
  pawl_release(t->alloc, t->drop, sizeof *t->drop * (size_t)t->drop_cap);
  pawl_release(t->alloc, t->tell, sizeof *t->tell * (size_t)t->tell_cap);
  pawl_buf_deinit(&t->record);
  t->drop = t->tell = NULL;
  t->ndrop = t->drop_cap = t->ntell = t->tell_cap = 0;
}

/* An eighth more: what is looked at each time is paid by many rows. */
int64_t pawl_trim_slack(int64_t keep) {
  return keep / 8 > LEAST_SLACK ? keep / 8 : LEAST_SLACK;
}

/* ---- a record, read ---- */

int64_t pawl_trimmed_upto(pawl_str record) {
  return record.at ? pawl_json_get_int(record, "upto", 0) : 0;
}

int64_t pawl_trimmed_newest(pawl_str record) {
  return record.at ? pawl_json_get_int(record, "newest", 0) : 0;
}

int64_t pawl_trimmed_visits(pawl_str record, pawl_str node,
                            const pawl_alloc *alloc) {
  return visits_of(part(record, "visits", "{}"), node, alloc);
}

/* The members of an object that the row holds. */
static void add_held(pawl_str holders, int64_t seq, pawl_str set,
                     pawl_buf *out) {
  pawl_json_iter held = {0};
  int n = 0;
  int64_t by;

  for (pawl_json_iter it = {0}; pawl_json_walk(set, &it);) {
    pawl_str value = {NULL, 0};
    /* both have their keys in order: one walk for all of them, as a rule */
    for (int turns = 0; !value.at && turns < 2; turns++) {
      while (pawl_json_walk(holders, &held))
        if (pawl_str_eq(held.key, it.key)) {
          value = held.value;
          break;
        }
      if (!value.at) held = (pawl_json_iter){0};
    }
    if (!value.at || !pawl_json_int(value, &by) || by != seq) continue;
    pawl_buf_addf(out, "%s\"", n++ ? "," : "");
    pawl_buf_adds(out, it.key);
    pawl_buf_addz(out, "\":");
    pawl_buf_adds(out, it.value);
  }
}

void pawl_trimmed_changes(pawl_str record, int64_t seq, pawl_str changes,
                          pawl_buf *out) {
  pawl_str set;

  pawl_buf_addz(out, "{\"set\":{");
  if (pawl_json_get(changes, "set", &set))
    add_held(part(record, "variables", "{}"), seq, set, out);
  pawl_buf_addz(out, "}}");
}
