/* Down an instance's history, a page at a time. */
#include "undo_walk.h"

#include <assert.h>
#include <inttypes.h>

#include "../../value/json.h"
#include "../common/engine_struct.h"
#include "crossing.h"

#define UNDO_ROWS 256 /* of history, read to find them */

/* History has the name that the node had then; the plan, that of today. Its
 * index; -1: the version of today does not undo it. */
static int undoable_node(pawl_undo_walk *w, int64_t seq, pawl_str was) {
  pawl_buf name = {.alloc = w->list->alloc};
  int at;

  if (!was.at) return -1;
  pawl_renames_follow(w->renames, &w->id, seq, was, &name);
  if (name.failed) w->list->failed = 1;
  at = name.len ? pawl_def_node(w->def, name.at, name.len) : -1;
  pawl_buf_deinit(&name);
  return at >= 0 && w->def->nodes[at].has_undo ? at : -1;
}

static int add_undoable(pawl_undo_walk *w, const pawl_rows *r, int k) {
  const pawl_history_undoable_row row = pawl_read_history_undoable(r, k);
  int64_t seq = row.seq;
  int at = undoable_node(w, seq, row.node);

  if (at < 0) return 0;
  if (w->n >= w->max) return 1;
  pawl_buf_addf(w->list, "%s{\"seq\":%" PRId64 ",\"node\":", w->n ? "," : "",
                seq);
  pawl_json_add_string(w->list, pawl_strz(w->def->nodes[at].name));
  pawl_buf_addf(w->list, ",\"visit\":%" PRId64 ",\"token\":%" PRId64 "}",
                row.visit, row.token);
  return 1;
}

/* The row that one of history's says was undone; 0: none. */
static int64_t undone_row(const pawl_rows *r, int k) {
  const pawl_history_undoable_row row = pawl_read_history_undoable(r, k);
  int64_t seq = 0;

  if (!row.previous.at || (!pawl_str_eqz(row.type, "undone") &&
                           !pawl_str_eqz(row.type, "undo_failed")))
    return 0;
  for (pawl_json_iter it = {0}; pawl_json_walk(row.previous, &it);)
    (void)pawl_json_int(it.value, &seq);
  return seq;
}

/* Nothing runs beside an undoing, and that goes from the newest to the oldest:
 * all between a step that was undone and the row that says so has been dealt
 * with, and is passed over. */
static void walk_rows(pawl_undo_walk *w, const pawl_rows *r, int64_t upto) {
  for (int k = 0; k < r->nrows && w->n < upto; k++) {
    int64_t seq = pawl_read_history_undoable(r, k).seq;
    int64_t undone = undone_row(r, k);
    if (seq >= w->below) continue;
    assert(undone < seq); /* a row tells of what was before it */
    w->below = undone ? undone : seq;
    if (!undone) w->n += add_undoable(w, r, k);
  }
}

pawl_code pawl_undo_walk_on(pawl_engine *e, pawl_undo_walk *w, int64_t upto,
                            pawl_error *err) {
  pawl_rows rows;

  while (!w->over && w->n < upto) {
    MUST(PAWL_READ(e->store, history_undoable, &rows, err, .shard = w->shard,
                   .id = &w->id, .below = w->below, .max = UNDO_ROWS));
    walk_rows(w, &rows, upto);
    w->over = rows.nrows < UNDO_ROWS && w->n < upto;
    MUST(pawl_buf_check(w->list, err));
  }
  return PAWL_OK;
}
