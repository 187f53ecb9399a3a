/* What can go from one version of a workflow to another: see crossing.h. */
#include "crossing.h"

#include <assert.h>
#include <stdlib.h>

#include "../../value/json.h"
#include "../common/engine_struct.h"
#include "../common/names.h"
#include "versions.h"

/* ---- places ---- */

/* A name that lives on; NULL for null. */
static const char *name_of(pawl_engine *e, pawl_str text, int *failed) {
  const char *name = text.at ? pawl_engine_intern(e, text) : NULL;
  if (text.at && !name) *failed = 1;
  return name;
}

/* One statement for all of them: whoever moves a workflow asks for pages of
 * instances. */
pawl_code pawl_places_load(pawl_engine *e, int shard, const pawl_id *ids,
                           int n, pawl_places *p, pawl_error *err) {
  pawl_rows r;
  int failed = 0;

  if (!n) return PAWL_OK;
  pawl_args_begin(&e->args, PAWL_STMT_repair_places);
  for (int i = 0; i < n; i++)
    PAWL_PUT(&e->args, repair_places, .shard = shard, .id = &ids[i]);
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &r, err));
  for (int k = 0; k < r.nrows && !failed; k++) {
    const pawl_repair_places_row row = pawl_read_repair_places(&r, k);
    pawl_place *at = pawl_places_add(&e->world, p);
    if (!at) return pawl_fail_memory(err);
    at->instance = *row.instance;
    at->no = (int32_t)row.no;
    at->waiting = pawl_str_eqz(row.state, "waiting");
    at->stands = at->waiting || row.attempt > 0;
    at->due_us = row.due_at;
    at->node = name_of(e, row.node, &failed);
    failed |= !pawl_place_read(&e->world, at, name_of(e, row.fork, &failed),
                               row.scope, row.detail);
  }
  return failed ? pawl_fail_memory(err) : PAWL_OK;
}

/* ---- names ---- */

static pawl_rename *add_rename(pawl_engine *e, pawl_renames *r) {
  if (!PAWL_ROOM(&e->alloc, r->at, r->n, r->cap)) return NULL;
  r->at[r->n].map.alloc = &e->alloc;
  return &r->at[r->n++];
}

/* `told`: what the row of that move says, as letters.c writes it. */
static pawl_code take_rename(pawl_engine *e, pawl_renames *r,
                             const pawl_id *instance, int64_t seq,
                             pawl_str told, pawl_error *err) {
  pawl_rename *one = add_rename(e, r);
  pawl_str map;

  if (!one) return pawl_fail_memory(err);
  one->instance = *instance;
  one->seq = seq;
  if (told.at && pawl_json_get(told, "map", &map))
    pawl_buf_adds(&one->map, map);
  return pawl_buf_check(&one->map, err);
}

pawl_code pawl_renames_load(pawl_engine *e, int shard, const pawl_id *ids,
                            int n, pawl_renames *r, pawl_error *err) {
  pawl_rows rows;

  pawl_args_begin(&e->args, PAWL_STMT_repair_renames);
  for (int i = 0; i < n; i++)
    PAWL_PUT(&e->args, repair_renames, .shard = shard, .id = &ids[i]);
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_repair_renames_row row = pawl_read_repair_renames(&rows, k);
    MUST(take_rename(e, r, row.instance, row.seq, row.output, err));
  }
  return PAWL_OK;
}

static int by_seq(const void *a, const void *b) {
  const pawl_rename *x = a, *y = b;
  return x->seq < y->seq ? -1 : x->seq > y->seq;
}

pawl_code pawl_renames_pick(pawl_engine *e, int shard, const pawl_id *id,
                            pawl_str list, pawl_renames *r, pawl_error *err) {
  pawl_rows rows;
  int64_t seq;

  pawl_args_begin(&e->args, PAWL_STMT_history_output);
  for (pawl_json_iter it = {0}; pawl_json_walk(list, &it);) {
    if (!pawl_json_int(it.value, &seq)) continue;
    PAWL_PUT(&e->args, history_output, .shard = shard, .id = id, .seq = seq);
  }
  if (!pawl_args_rows(&e->args)) return PAWL_OK;
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_history_output_row row = pawl_read_history_output(&rows, k);
    MUST(take_rename(e, r, id, row.seq, row.output, err));
  }
  /* oldest first, as pawl_renames_follow wants them: the list has no order */
  if (r->n > 1) qsort(r->at, (size_t)r->n, sizeof *r->at, by_seq);
  return PAWL_OK;
}

void pawl_renames_deinit(pawl_engine *e, pawl_renames *r) {
  for (int i = 0; i < r->n; i++) pawl_buf_deinit(&r->at[i].map);
  pawl_release(&e->alloc, r->at, sizeof *r->at * (size_t)r->cap);
  memset(r, 0, sizeof *r);
}

/* A move renames what the one before may have renamed: they are followed in
 * their order, from the first one that is newer than the row. */
void pawl_renames_follow(const pawl_renames *r, const pawl_id *instance,
                         int64_t seq, pawl_str node, pawl_buf *out) {
  pawl_buf next = {.alloc = out->alloc};

  pawl_buf_set(out, node);
  for (int i = 0; i < r->n; i++) {
    const pawl_rename *one = &r->at[i];
    if (one->seq <= seq || !one->map.len ||
        !pawl_id_eq(&one->instance, instance))
      continue;
    assert(i == 0 || r->at[i - 1].seq < one->seq ||
           !pawl_id_eq(&r->at[i - 1].instance, instance)); /* oldest first */
    pawl_map_name(pawl_buf_str(&one->map), out->at ? out->at : "", &next);
    pawl_buf_set(out, pawl_buf_str(&next));
  }
  if (next.failed) out->failed = 1;
  pawl_buf_deinit(&next);
}

/* ---- opening ---- */

/* Do all names of the map exist? */
static pawl_code check_map(const pawl_crossing *c, pawl_error *err) {
  pawl_buf name = {.alloc = c->from->alloc};
  int index;
  pawl_code rc = PAWL_OK;

  /* a misspelt name would leave its tokens without a place, and the reader
   * without a reason */
  for (pawl_json_iter it = {0}; c->map.at && pawl_json_walk(c->map, &it);) {
    pawl_str quoted = {it.key.at - 1, it.key.len + 2};
    if (pawl_json_kind_of(it.value) != PAWL_JSON_STRING) {
      rc = pawl_fail(err, PAWL_INVALID,
                     "`map` has names of nodes: {\"old\": \"new\"}");
      goto out;
    }
    pawl_buf_clear(&name);
    pawl_json_unquote(quoted, &name);
    TRY(pawl_buf_check(&name, err));
    TRY(pawl_graph_node(c->from, pawl_buf_str(&name), &index, err));
    pawl_buf_clear(&name);
    pawl_json_unquote(it.value, &name);
    TRY(pawl_buf_check(&name, err));
    TRY(pawl_graph_node(c->to, pawl_buf_str(&name), &index, err));
  }
out:
  pawl_buf_deinit(&name);
  return rc;
}

pawl_code pawl_crossing_open(pawl_engine *e, const char *code, int64_t from,
                             int64_t to, pawl_crossing *c, pawl_error *err) {
  c->why.alloc = &e->alloc;
  MUST(pawl_graph_find(e, code, from, &c->from, &c->own_from, err));
  MUST(pawl_graph_find(e, code, to, &c->to, &c->own_to, err));
  MUST(check_map(c, err));
  MUST(pawl_spots_new(c->from, &c->left, err));
  return pawl_spots_new(c->to, &c->right, err);
}

/* Graphs of definitions that run here are lent; only those made for this go.
 * */
void pawl_crossing_close(pawl_crossing *c) {
  pawl_spots_free(c->left);
  pawl_spots_free(c->right);
  if (c->own_from) pawl_def_free(c->from);
  if (c->own_to) pawl_def_free(c->to);
  pawl_buf_deinit(&c->why);
  memset(c, 0, sizeof *c);
}

/* ---- what was done ---- */

/* History has a node's name of then; the graphs, that of today. */
static pawl_code find_lost(pawl_engine *e, const pawl_crossing *c,
                           const pawl_renames *renames, const pawl_rows *r,
                           pawl_places *lost, pawl_error *err) {
  pawl_buf now = {.alloc = &e->alloc}, name = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  for (int k = 0; k < r->nrows; k++) {
    const pawl_repair_done_row row = pawl_read_repair_done(r, k);
    pawl_place *one;
    int at;
    pawl_renames_follow(renames, row.instance, row.seq, row.node, &now);
    TRY(pawl_buf_check(&now, err));
    at = pawl_def_node(c->from, now.at, now.len);
    if (at < 0 || !c->from->nodes[at].has_undo ||
        pawl_crossing_across(c, c->from->nodes[at].name, &name) >= 0)
      continue;
    one = pawl_places_add(&e->world, lost);
    if (!one) TRY(pawl_fail_memory(err));
    one->instance = *row.instance;
    one->node = pawl_engine_intern(e, pawl_buf_str(&now));
    if (!one->node) TRY(pawl_fail_memory(err));
  }
out:
  pawl_buf_deinit(&now);
  pawl_buf_deinit(&name);
  return rc;
}

/* What they did before cannot be undone there: nobody knows of it. */
static pawl_code find_trimmed(pawl_engine *e, int shard, const pawl_id *ids,
                              int n, pawl_places *lost, pawl_error *err) {
  pawl_rows r;

  pawl_args_begin(&e->args, PAWL_STMT_repair_trimmed);
  for (int i = 0; i < n; i++)
    PAWL_PUT(&e->args, repair_trimmed, .shard = shard, .id = &ids[i]);
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &r, err));
  for (int k = 0; k < r.nrows; k++) {
    pawl_place *one = pawl_places_add(&e->world, lost);
    if (!one) return pawl_fail_memory(err);
    one->instance = *pawl_read_repair_trimmed(&r, k).instance;
  }
  return PAWL_OK;
}

pawl_code pawl_crossing_lost(pawl_engine *e, const pawl_crossing *c, int shard,
                             const pawl_id *ids, int n, pawl_places *lost,
                             pawl_error *err) {
  pawl_renames renames = {0};
  pawl_rows r;
  pawl_code rc = PAWL_OK;

  assert(c->from && c->to); /* it is open */
  if (n && pawl_def_has_undo(c->to))
    MUST(find_trimmed(e, shard, ids, n, lost, err));
  if (!n || !pawl_def_has_undo(c->from)) return PAWL_OK;
  TRY(pawl_renames_load(e, shard, ids, n, &renames, err));
  pawl_args_begin(&e->args, PAWL_STMT_repair_done);
  for (int i = 0; i < n; i++)
    PAWL_PUT(&e->args, repair_done, .shard = shard, .id = &ids[i]);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &r, err));
  TRY(find_lost(e, c, &renames, &r, lost, err));
out:
  pawl_renames_deinit(e, &renames);
  return rc;
}
