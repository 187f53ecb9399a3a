#include "past.h"

#include <assert.h>
#include <inttypes.h>

#include "../../rules/trim.h"
#include "../versions/crossing.h"

pawl_code pawl_past_at(pawl_past *p, pawl_str seq, pawl_error *err) {
  (void)pawl_json_int(seq, &p->before);
  if (p->before >= 1 && p->before <= p->rows + 1) return PAWL_OK;
  return pawl_fail(err, PAWL_INVALID,
                   "its history has %" PRId64
                   " rows; there is no row %" PRId64,
                   p->rows, p->before);
}

/* ---- by a node's name ---- */

typedef struct search {
  const pawl_past *past;
  const pawl_renames *moves;
  int64_t came;  /* the last row that a path to the node is followed by */
  int64_t first; /* the first one of its latest visit */
  int gone;      /* it was there, in rows that were trimmed */
} search;

/* Rows between the moves at[k - 1] and at[k], in which the node had that name.
 */
static pawl_code look_between(pawl_engine *e, search *s, int k, pawl_str name,
                              pawl_error *err) {
  const pawl_renames *m = s->moves;
  pawl_rows r;

  MUST(PAWL_READ(e->store, repair_visit, &r, err, .shard = s->past->shard,
                 .id = &s->past->id, .node = name,
                 .after = k ? m->at[k - 1].seq : 0,
                 .upto = k < m->n ? m->at[k].seq : s->past->rows));
  if (!r.nrows) return PAWL_OK;
  const pawl_repair_visit_row row = pawl_read_repair_visit(&r, 0);
  if (row.came > s->came) s->came = row.came;
  if (row.first > s->first) s->first = row.first;
  s->gone |= pawl_trimmed_visits(row.trimmed, name, &e->alloc) >= 0;
  return PAWL_OK;
}

/* Backwards through the moves from version to version: what is called so behind
 * one may have been called otherwise before it, and what was called so before
 * may be another by now. */
static pawl_code look_back(pawl_engine *e, search *s, int k, pawl_str name,
                           pawl_error *err) {
  pawl_buf was = {.alloc = &e->alloc}, is = {.alloc = &e->alloc};
  int other = 0; /* that name went to another node */
  pawl_code rc = PAWL_OK;

  TRY(look_between(e, s, k, name, err));
  if (!k || s->came) goto out;
  const pawl_str map = pawl_buf_str(&s->moves->at[k - 1].map);
  for (pawl_json_iter it = {0}; map.len && pawl_json_walk(map, &it);) {
    pawl_buf_clear(&was);
    pawl_buf_clear(&is);
    pawl_json_unquote((pawl_str){it.key.at - 1, it.key.len + 2}, &was);
    pawl_json_unquote(it.value, &is);
    TRY(pawl_buf_check(&was, err));
    TRY(pawl_buf_check(&is, err));
    if (pawl_str_eq(pawl_buf_str(&was), name)) other = 1;
    if (!pawl_str_eq(pawl_buf_str(&is), name)) continue;
    TRY(look_back(e, s, k - 1, pawl_buf_str(&was), err));
  }
  if (!other) TRY(look_back(e, s, k - 1, name, err));
out:
  pawl_buf_deinit(&is);
  pawl_buf_deinit(&was);
  return rc;
}

pawl_code pawl_past_find(pawl_engine *e, pawl_past *p, pawl_str node,
                         pawl_error *err) {
  pawl_buf name = {.alloc = &e->alloc};
  pawl_renames moves = {0};
  search s = {.past = p, .moves = &moves};
  pawl_code rc = PAWL_OK;

  pawl_json_unquote(node, &name);
  TRY(pawl_buf_check(&name, err));
  TRY(pawl_renames_load(e, p->shard, &p->id, 1, &moves, err));
  TRY(look_back(e, &s, moves.n, pawl_buf_str(&name), err));
  p->before = s.came ? s.came : s.first;
  if (!p->before && s.gone) p->before = 1; /* before the first that is left */
out:
  pawl_renames_deinit(e, &moves);
  pawl_buf_deinit(&name);
  return rc;
}

/* ---- variables ---- */

/* What was trimmed cannot be gone back to. */
static pawl_code refuse_trimmed(const pawl_past *p, pawl_str record,
                                pawl_error *err) {
  const int64_t upto = pawl_trimmed_upto(record);

  return pawl_fail_hint(err, PAWL_INVALID, "go back to a later row",
                        "instance %s: its history before row %" PRId64
                        " was trimmed (keep_history = %" PRId64
                        "): nobody knows what its variables were then",
                        pawl_id_text_of(&p->id).at, upto + 1,
                        pawl_json_get_int(record, "keep", 0));
}

/* The changes of a row; of what was trimmed, those that held behind it. */
static pawl_str changes_of(const pawl_repair_changes_row *row, pawl_str record,
                           pawl_buf *held) {
  if (row->seq > pawl_trimmed_upto(record)) return row->changes;
  pawl_buf_clear(held);
  pawl_trimmed_changes(record, row->seq, row->changes, held);
  return pawl_buf_str(held);
}

/* An instance begins with no variables, and history has every change. */
pawl_code pawl_past_variables(pawl_engine *e, const pawl_past *p,
                              pawl_buf *vars, pawl_error *err) {
  pawl_buf next = {.alloc = &e->alloc}, held = {.alloc = &e->alloc};
  pawl_str record = {NULL, 0};
  pawl_rows r;
  pawl_code rc = PAWL_OK;

  assert(p->before > 0 && p->before <= p->rows + 1);
  TRY(PAWL_READ(e->store, repair_changes, &r, err, .shard = p->shard,
                .id = &p->id, .before = p->before));
  pawl_buf_addz(vars, "{}");
  for (int k = 0; k < r.nrows; k++) {
    const pawl_repair_changes_row row = pawl_read_repair_changes(&r, k);
    pawl_buf swap;
    if (!row.seq) record = row.trimmed; /* the first, if it is there */
    if (p->before <= pawl_trimmed_upto(record))
      TRY(refuse_trimmed(p, record, err));
    if (!row.changes.at) continue;
    pawl_buf_clear(&next);
    pawl_json_apply(pawl_buf_str(vars), changes_of(&row, record, &held),
                    &next);
    swap = *vars, *vars = next, next = swap;
  }
  TRY(pawl_buf_check(&held, err));
  TRY(pawl_buf_check(vars, err));
out:
  pawl_buf_deinit(&held);
  pawl_buf_deinit(&next);
  return rc;
}
