/* Down an instance's history, a page at a time. */
#include "undo_walk.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "../../value/json.h"
#include "../common/engine_struct.h"
#include "crossing.h"

#define UNDO_ROWS 256 /* of history, read to find them */

/* ---- which nodes are meant ---- */

static void mark_inside(pawl_undo_walk *w, const pawl_spots *spots, int fork) {
  const int *forks;
  int depth;

  for (int at = 0; at < w->def->nnodes; at++)
    for (int i = 0; (forks = pawl_spots_at(spots, at, i, &depth)); i++)
      for (int k = 0; k < depth; k++)
        if (forks[k] == fork) w->meant.at[at] = 1;
}

static pawl_code find_meant(pawl_engine *e, pawl_undo_walk *w,
                            pawl_error *err) {
  const int by = pawl_def_node(w->def, w->by.at, w->by.len);
  const char **of = by < 0 ? NULL : w->def->nodes[by].of;
  pawl_spots *spots = NULL;

  if (!of || w->meant.len) return PAWL_OK;
  w->meant.alloc = &e->alloc;
  for (int i = 0; i < w->def->nnodes; i++) pawl_buf_addc(&w->meant, 0);
  MUST(pawl_buf_check(&w->meant, err));
  MUST(pawl_spots_new(w->def, &spots, err));
  for (int i = 0; of[i]; i++) {
    const int at = pawl_def_node(w->def, of[i], strlen(of[i]));
    assert(at >= 0); /* it was checked */
    w->meant.at[at] = 1;
    mark_inside(w, spots, at);
  }
  pawl_spots_free(spots);
  return PAWL_OK;
}

/* ---- rows ---- */

/* History has the name that the node had then; the plan, that of today. Its
 * index; -1: the version of today does not undo it. */
static int undoable_node(pawl_undo_walk *w, int64_t seq, pawl_str was) {
  pawl_buf name = {.alloc = w->list->alloc};
  int at;

  if (!was.at) return -1;
  pawl_renames_follow(w->renames, &w->id, seq, was, &name);
  if (name.failed) w->list->failed = 1;
  at = pawl_def_node(w->def, name.at, name.len);
  pawl_buf_deinit(&name);
  if (at >= 0 && w->meant.len && !w->meant.at[at]) return -1;
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

static void note_undone(pawl_undo_walk *w, int64_t seq) {
  const size_t at = (size_t)(seq / 8);

  w->undone.alloc = w->list->alloc;
  while (w->undone.len <= at && !w->undone.failed)
    pawl_buf_addc(&w->undone, 0);
  if (!w->undone.failed)
    w->undone.at[at] = (char)(w->undone.at[at] | 1 << seq % 8);
}

static int was_undone(const pawl_undo_walk *w, int64_t seq) {
  const size_t at = (size_t)(seq / 8);
  return at < w->undone.len && (w->undone.at[at] >> seq % 8 & 1);
}

/* A row that tells of an undoing is newer than what that undid, and so comes
 * first. */
static void walk_rows(pawl_undo_walk *w, const pawl_rows *r, int64_t upto) {
  for (int k = 0; k < r->nrows && w->n < upto; k++) {
    int64_t seq = pawl_read_history_undoable(r, k).seq;
    int64_t undone = undone_row(r, k);
    assert(seq < w->below && undone < seq);
    w->below = seq;
    if (undone && !w->again) w->again = seq;
    if (undone)
      note_undone(w, undone);
    else if (seq < w->from && !was_undone(w, seq))
      w->n += add_undoable(w, r, k);
  }
}

void pawl_undo_walk_deinit(pawl_undo_walk *w) {
  pawl_buf_deinit(&w->undone);
  pawl_buf_deinit(&w->meant);
}

/* What this one has undone lies behind that: rows that tell of others are what
 * it begins with. */
void pawl_undo_walk_below(pawl_undo_walk *w, int64_t below, int64_t again) {
  w->from = below;
  w->below = again >= below ? again + 1 : below;
}

pawl_code pawl_undo_walk_on(pawl_engine *e, pawl_undo_walk *w, int64_t upto,
                            pawl_error *err) {
  pawl_rows rows;

  MUST(find_meant(e, w, err));
  while (!w->over && w->n < upto) {
    MUST(PAWL_READ(e->store, history_undoable, &rows, err, .shard = w->shard,
                   .id = &w->id, .below = w->below, .max = UNDO_ROWS));
    walk_rows(w, &rows, upto);
    w->over = rows.nrows < UNDO_ROWS && w->n < upto;
    MUST(pawl_buf_check(w->list, err));
    MUST(pawl_buf_check(&w->undone, err));
  }
  return PAWL_OK;
}
