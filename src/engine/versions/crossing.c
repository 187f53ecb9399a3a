/* What can go from one version of a workflow to another: see crossing.h. */
#include "crossing.h"

#include <inttypes.h>
#include <stdlib.h>

#include "../../value/json.h"
#include "../act/act.h"

/* ---- places ---- */

void pawl_places_deinit(pawl_engine *e, pawl_places *p) {
  pawl_release(&e->alloc, p->at, sizeof *p->at * (size_t)p->cap);
  memset(p, 0, sizeof *p);
}

pawl_place *pawl_places_add(pawl_engine *e, pawl_places *p) {
  if (p->n == p->cap) {
    int cap = p->cap ? 2 * p->cap : 16;
    pawl_place *at =
        pawl_realloc(&e->alloc, p->at, sizeof *at * (size_t)p->cap,
                     sizeof *at * (size_t)cap);
    if (!at) return NULL;
    p->at = at;
    p->cap = cap;
  }
  memset(&p->at[p->n], 0, sizeof *p->at);
  return &p->at[p->n++];
}

static int push_fork(pawl_place *place, const char *fork) {
  if (!fork) return 0;
  if (place->depth < PAWL_MAX_DEPTH) place->forks[place->depth++] = fork;
  return 1;
}

int pawl_place_around(pawl_engine *e, pawl_place *place, const char *fork,
                      pawl_str detail) {
  pawl_buf name = {.alloc = &e->alloc};
  pawl_json_iter it = {0};
  pawl_str up, key, level, value;
  int ok = 1;

  place->depth = 0;
  if (detail.len && pawl_json_get(detail, "up", &up)) {
    while (ok && pawl_json_each(up, &it, &key, &level)) {
      if (!pawl_json_get(level, "fork", &value)) continue; /* outside all */
      pawl_buf_clear(&name);
      pawl_json_unquote(value, &name);
      ok = push_fork(place, pawl_engine_intern(e, pawl_buf_str(&name)));
    }
  }
  if (fork) (void)push_fork(place, fork);
  ok = ok && !name.failed;
  pawl_buf_deinit(&name);
  return ok;
}

static const char *name_at(pawl_engine *e, const pawl_rows *r, int k, int col,
                           int *failed) {
  const char *name;
  if (pawl_row_null(r, k, col)) return NULL;
  name = pawl_engine_intern(e, pawl_row_str(r, k, col));
  if (!name) *failed = 1;
  return name;
}

static pawl_code no_memory(pawl_error *err) {
  return pawl_fail(err, PAWL_NOMEM, "out of memory");
}

pawl_code pawl_places_load(pawl_engine *e, int shard, const pawl_id *ids,
                           int n, pawl_places *p, pawl_error *err) {
  pawl_rows r;
  pawl_code rc = PAWL_OK;
  int failed = 0;

  if (!n) return PAWL_OK;
  pawl_args_begin(&e->args, PAWL_STMT_REPAIR_PLACES);
  pawl_arg_int(&e->args, PAWL_REPAIR_PLACES_SHARD, shard);
  for (int i = 0; i < n; i++)
    pawl_arg_id(&e->args, PAWL_REPAIR_PLACES_ID, &ids[i]);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &r, err));
  for (int k = 0; k < r.nrows && !failed; k++) {
    pawl_place *at = pawl_places_add(e, p);
    const char *fork;
    if (!at) return no_memory(err);
    pawl_row_id(&r, k, PAWL_REPAIR_PLACES_R_INSTANCE, &at->instance);
    at->no = (int32_t)pawl_row_int(&r, k, PAWL_REPAIR_PLACES_R_NO);
    at->waiting = pawl_str_eqz(pawl_row_str(&r, k, PAWL_REPAIR_PLACES_R_STATE),
                               "waiting");
    at->node = name_at(e, &r, k, PAWL_REPAIR_PLACES_R_NODE, &failed);
    fork = name_at(e, &r, k, PAWL_REPAIR_PLACES_R_FORK, &failed);
    failed |= !pawl_place_around(
        e, at, fork, pawl_row_str(&r, k, PAWL_REPAIR_PLACES_R_DETAIL));
  }
  if (failed) rc = no_memory(err);
out:
  return rc;
}

static const char *intern_text(pawl_engine *e, pawl_str object,
                               const char *name, int *failed) {
  pawl_buf text = {.alloc = &e->alloc};
  const char *kept = NULL;
  pawl_str value;

  if (!pawl_json_get(object, name, &value) ||
      pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return NULL;
  pawl_json_unquote(value, &text);
  if (!text.failed) kept = pawl_engine_intern(e, pawl_buf_str(&text));
  if (!kept) *failed = 1;
  pawl_buf_deinit(&text);
  return kept;
}

/* As stopped.c wrote it. */
static int read_stopped(pawl_engine *e, pawl_str token, pawl_place *at) {
  pawl_str value, detail = {0};
  int64_t no = 0;
  int failed = 0;

  if (pawl_json_get(token, "no", &value)) (void)pawl_json_int(value, &no);
  at->no = (int32_t)no;
  at->waiting = pawl_json_get(token, "waiting", &value) &&
                pawl_json_kind_of(value) == PAWL_JSON_TRUE;
  at->node = intern_text(e, token, "node", &failed);
  (void)pawl_json_get(token, "detail", &detail);
  return pawl_place_around(e, at, intern_text(e, token, "fork", &failed),
                           detail) &&
         !failed;
}

pawl_code pawl_places_stopped(pawl_engine *e, const pawl_id *instance,
                              pawl_str stopped, pawl_places *p,
                              pawl_error *err) {
  pawl_json_iter it = {0};
  pawl_str tokens, key, one;

  if (!stopped.len || !pawl_json_get(stopped, "tokens", &tokens))
    return PAWL_OK;
  while (pawl_json_each(tokens, &it, &key, &one)) {
    pawl_place *at = pawl_places_add(e, p);
    if (!at) return no_memory(err);
    at->instance = *instance;
    if (!read_stopped(e, one, at)) return no_memory(err);
  }
  return PAWL_OK;
}

/* ---- names ---- */

void pawl_map_name(pawl_str map, pawl_str name, pawl_buf *out) {
  pawl_json_iter it = {0};
  pawl_str key, value;
  pawl_buf plain = {.alloc = out->alloc};
  int found = 0;

  pawl_buf_clear(out);
  while (map.at && !found && pawl_json_each(map, &it, &key, &value)) {
    pawl_str quoted = {key.at - 1, key.len + 2};
    pawl_buf_clear(&plain);
    pawl_json_unquote(quoted, &plain);
    found = pawl_str_eq(pawl_buf_str(&plain), name);
    if (found) pawl_json_unquote(value, out);
  }
  if (plain.failed) out->failed = 1;
  pawl_buf_deinit(&plain);
  if (!found) pawl_buf_adds(out, name);
}

static pawl_rename *add_rename(pawl_engine *e, pawl_renames *r) {
  if (r->n == r->cap) {
    int cap = r->cap ? 2 * r->cap : 8;
    pawl_rename *at =
        pawl_realloc(&e->alloc, r->at, sizeof *at * (size_t)r->cap,
                     sizeof *at * (size_t)cap);
    if (!at) return NULL;
    r->at = at;
    r->cap = cap;
  }
  memset(&r->at[r->n], 0, sizeof *r->at);
  r->at[r->n].map.alloc = &e->alloc;
  return &r->at[r->n++];
}

/* `told`: what the row of that move says, as letters.c writes it. */
static pawl_code take_rename(pawl_engine *e, pawl_renames *r,
                             const pawl_id *instance, int64_t seq,
                             pawl_str told, pawl_error *err) {
  pawl_rename *one = add_rename(e, r);
  pawl_str map;

  if (!one) return no_memory(err);
  one->instance = *instance;
  one->seq = seq;
  if (told.at && pawl_json_get(told, "map", &map))
    pawl_buf_adds(&one->map, map);
  return pawl_buf_check(&one->map, err);
}

pawl_code pawl_renames_load(pawl_engine *e, int shard, const pawl_id *ids,
                            int n, pawl_renames *r, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(&e->args, PAWL_STMT_REPAIR_RENAMES);
  pawl_arg_int(&e->args, PAWL_REPAIR_RENAMES_SHARD, shard);
  for (int i = 0; i < n; i++)
    pawl_arg_id(&e->args, PAWL_REPAIR_RENAMES_ID, &ids[i]);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  for (int k = 0; k < rows.nrows; k++) {
    pawl_id id;
    pawl_row_id(&rows, k, PAWL_REPAIR_RENAMES_R_INSTANCE, &id);
    TRY(take_rename(
        e, r, &id, pawl_row_int(&rows, k, PAWL_REPAIR_RENAMES_R_SEQ),
        pawl_row_str(&rows, k, PAWL_REPAIR_RENAMES_R_OUTPUT), err));
  }
out:
  return rc;
}

static int by_seq(const void *a, const void *b) {
  const pawl_rename *x = a, *y = b;
  return x->seq < y->seq ? -1 : x->seq > y->seq;
}

pawl_code pawl_renames_pick(pawl_engine *e, int shard, const pawl_id *id,
                            pawl_str list, pawl_renames *r, pawl_error *err) {
  pawl_json_iter it = {0};
  pawl_str key, one;
  pawl_rows rows;
  int64_t seq;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(&e->args, PAWL_STMT_HISTORY_OUTPUT);
  pawl_arg_int(&e->args, PAWL_HISTORY_OUTPUT_SHARD, shard);
  while (pawl_json_each(list, &it, &key, &one)) {
    if (!pawl_json_int(one, &seq)) continue;
    pawl_arg_id(&e->args, PAWL_HISTORY_OUTPUT_ID, id);
    pawl_arg_int(&e->args, PAWL_HISTORY_OUTPUT_SEQ, seq);
  }
  if (!pawl_args_rows(&e->args)) return PAWL_OK;
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  for (int k = 0; k < rows.nrows; k++)
    TRY(take_rename(
        e, r, id, pawl_row_int(&rows, k, PAWL_HISTORY_OUTPUT_R_SEQ),
        pawl_row_str(&rows, k, PAWL_HISTORY_OUTPUT_R_OUTPUT), err));
  if (r->n > 1) qsort(r->at, (size_t)r->n, sizeof *r->at, by_seq);
out:
  return rc;
}

void pawl_renames_deinit(pawl_engine *e, pawl_renames *r) {
  for (int i = 0; i < r->n; i++) pawl_buf_deinit(&r->at[i].map);
  pawl_release(&e->alloc, r->at, sizeof *r->at * (size_t)r->cap);
  memset(r, 0, sizeof *r);
}

void pawl_renames_follow(const pawl_renames *r, const pawl_id *instance,
                         int64_t seq, pawl_str node, pawl_buf *out) {
  pawl_buf next = {.alloc = out->alloc};

  pawl_buf_clear(out);
  pawl_buf_adds(out, node);
  for (int i = 0; i < r->n; i++) {
    const pawl_rename *one = &r->at[i];
    if (one->seq <= seq || !one->map.len ||
        !pawl_id_eq(&one->instance, instance))
      continue;
    pawl_map_name(pawl_buf_str(&one->map), pawl_buf_str(out), &next);
    pawl_buf_clear(out);
    pawl_buf_adds(out, pawl_buf_str(&next));
  }
  if (next.failed) out->failed = 1;
  pawl_buf_deinit(&next);
}

/* ---- opening ---- */

/* Do all names of the map exist? */
static pawl_code check_map(const pawl_crossing *c, pawl_error *err) {
  pawl_json_iter it = {0};
  pawl_str key, value;
  pawl_buf name = {.alloc = c->from->alloc};
  int index;
  pawl_code rc = PAWL_OK;

  while (c->map.at && pawl_json_each(c->map, &it, &key, &value)) {
    pawl_str quoted = {key.at - 1, key.len + 2};
    if (pawl_json_kind_of(value) != PAWL_JSON_STRING) {
      rc = pawl_fail(err, PAWL_INVALID,
                     "`map` has names of nodes: {\"old\": \"new\"}");
      goto out;
    }
    pawl_buf_clear(&name);
    pawl_json_unquote(quoted, &name);
    TRY(pawl_buf_check(&name, err));
    TRY(pawl_graph_node(c->from, pawl_buf_str(&name), &index, err));
    pawl_buf_clear(&name);
    pawl_json_unquote(value, &name);
    TRY(pawl_buf_check(&name, err));
    TRY(pawl_graph_node(c->to, pawl_buf_str(&name), &index, err));
  }
out:
  pawl_buf_deinit(&name);
  return rc;
}

pawl_code pawl_crossing_open(pawl_engine *e, const char *code, int64_t from,
                             int64_t to, pawl_crossing *c, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  c->why.alloc = &e->alloc;
  TRY(pawl_graph_find(e, code, from, &c->from, &c->own_from, err));
  TRY(pawl_graph_find(e, code, to, &c->to, &c->own_to, err));
  TRY(check_map(c, err));
  TRY(pawl_spots_new(c->from, &c->left, err));
  TRY(pawl_spots_new(c->to, &c->right, err));
out:
  return rc;
}

void pawl_crossing_close(pawl_crossing *c) {
  pawl_spots_free(c->left);
  pawl_spots_free(c->right);
  if (c->own_from) pawl_def_free(c->from);
  if (c->own_to) pawl_def_free(c->to);
  pawl_buf_deinit(&c->why);
  memset(c, 0, sizeof *c);
}

/* ---- can a token cross? ---- */

static int index_of(const pawl_def *def, const char *name) {
  return pawl_def_node(def, name, strlen(name));
}

/* A node's index on the other side, by its name on this one; -1. The name
 * there stays in `name`. */
static int across(const pawl_crossing *c, const char *node, pawl_buf *name) {
  pawl_map_name(c->map, pawl_strz(node), name);
  return pawl_def_node(c->to, name->at ? name->at : "", name->len);
}

/* What stands there waits for something that another kind does not know. */
static int is_bound(pawl_kind kind) {
  return kind == PAWL_KIND_WAIT || kind == PAWL_KIND_TASK ||
         kind == PAWL_KIND_TIMER || kind == PAWL_KIND_JOIN ||
         kind == PAWL_KIND_CALL || kind == PAWL_KIND_EACH;
}

static const char *items_of(const pawl_node *each) {
  return each->workflow ? "children" : "branches";
}

static void check_node(const pawl_crossing *c, const pawl_place *place,
                       pawl_buf *name, pawl_buf *why) {
  int old = index_of(c->from, place->node);
  int new = across(c, place->node, name);
  const pawl_node *was, *is;

  if (new < 0) {
    pawl_buf_addf(why, "version %" PRId64 " has no node \"%s\"",
                  c->to->version, name->at ? name->at : "");
    return;
  }
  if (old < 0) return;
  was = &c->from->nodes[old];
  is = &c->to->nodes[new];
  if (is_bound(was->kind) && is->kind != was->kind)
    pawl_buf_addf(why,
                  "\"%s\" is a %s, and \"%s\" of version %" PRId64 " a %s",
                  was->name, pawl_kind_name(was->kind), is->name,
                  c->to->version, pawl_kind_name(is->kind));
  else if (was->kind == PAWL_KIND_EACH && place->waiting &&
           !was->workflow != !is->workflow)
    pawl_buf_addf(
        why,
        "\"%s\" has %s for its items, and \"%s\" of version %" PRId64 " %s",
        was->name, items_of(was), is->name, c->to->version, items_of(is));
}

/* The fork at one level has to be there too. Its index; -1: `why` tells. */
static int check_fork(const pawl_crossing *c, const pawl_place *place,
                      const char *fork, pawl_buf *name, pawl_buf *why) {
  int index = across(c, fork, name);

  if (index < 0)
    pawl_buf_addf(why,
                  "version %" PRId64
                  " has no node \"%s\", which token %d came from",
                  c->to->version, name->at ? name->at : "", (int)place->no);
  else if (c->to->nodes[index].kind != PAWL_KIND_FORK &&
           c->to->nodes[index].kind != PAWL_KIND_EACH)
    pawl_buf_addf(why, "\"%s\" is a %s in version %" PRId64 ", not a fork",
                  name->at, pawl_kind_name(c->to->nodes[index].kind),
                  c->to->version);
  else
    return index;
  return -1;
}

static int has_spot(const pawl_spots *s, int node, const int *forks,
                    int depth) {
  const int *at;
  int d;
  for (int i = 0; (at = pawl_spots_at(s, node, i, &d)); i++)
    if (d == depth && !memcmp(at, forks, sizeof *at * (size_t)d)) return 1;
  return 0;
}

/* Is this place one that the old graph itself leads to? One that a person has
 * put a token in need not be. */
static int is_regular(const pawl_crossing *c, const pawl_place *place) {
  int forks[PAWL_MAX_DEPTH] = {0};
  int node = index_of(c->from, place->node);
  for (int i = 0; i < place->depth; i++)
    forks[i] = index_of(c->from, place->forks[i]);
  return node >= 0 && has_spot(c->left, node, forks, place->depth);
}

/* One of the new node's surroundings is one of the old node's. */
static int was_there(const pawl_crossing *c, int old, const int *forks,
                     int depth, pawl_buf *name) {
  const int *at;
  int d;
  for (int i = 0; (at = pawl_spots_at(c->left, old, i, &d)); i++) {
    int same = d == depth;
    for (int k = 0; same && k < d; k++)
      same = across(c, c->from->nodes[at[k]].name, name) == forks[k];
    if (same) return 1;
  }
  return 0;
}

/* A token that was put there by hand is as out of place as before, if the
 * node's surroundings are what they were. */
static int is_unchanged(const pawl_crossing *c, const pawl_place *place,
                        int new, pawl_buf *name) {
  int old = index_of(c->from, place->node);
  const int *at;
  int d;
  if (old < 0) return 0;
  for (int i = 0; (at = pawl_spots_at(c->right, new, i, &d)); i++)
    if (!was_there(c, old, at, d, name)) return 0;
  return 1;
}

static void add_forks(const pawl_def *def, const int *forks, int depth,
                      pawl_buf *out) {
  if (!depth) pawl_buf_addz(out, "outside all forks");
  for (int i = 0; i < depth; i++)
    pawl_buf_addf(out, "%s\"%s\"", i ? " > " : "inside ",
                  def->nodes[forks[i]].name);
}

/* Its forks have to be the ones it would be in, had it come there by itself:
 * else a join ahead would not know it, or let it pass. */
static void check_forks(const pawl_crossing *c, const pawl_place *place,
                        pawl_buf *name, pawl_buf *why) {
  int forks[PAWL_MAX_DEPTH] = {0}, depth = 0, new;
  const int *at;

  for (int i = 0; i < place->depth; i++) {
    forks[i] = check_fork(c, place, place->forks[i], name, why);
    if (forks[i] < 0) return;
  }
  new = across(c, place->node, name);
  if (has_spot(c->right, new, forks, place->depth)) return;
  if (!is_regular(c, place) && is_unchanged(c, place, new, name)) return;
  at = pawl_spots_at(c->right, new, 0, &depth);
  pawl_buf_addf(why, "\"%s\" stands ", c->to->nodes[new].name);
  add_forks(c->to, at, at ? depth : 0, why);
  pawl_buf_addf(why, " in version %" PRId64 ", and this token ",
                c->to->version);
  add_forks(c->to, forks, place->depth, why);
}

pawl_code pawl_crossing_check(const pawl_crossing *c, const pawl_place *place,
                              pawl_buf *why, pawl_error *err) {
  pawl_buf name = {.alloc = why->alloc};
  pawl_code rc = PAWL_OK;

  if (!place->node) return PAWL_OK;
  check_node(c, place, &name, why);
  if (!why->len) check_forks(c, place, &name, why);
  TRY(pawl_buf_check(&name, err));
  TRY(pawl_buf_check(why, err));
out:
  pawl_buf_deinit(&name);
  return rc;
}

/* ---- what was done ---- */

static int has_undo(const pawl_def *def) {
  for (int i = 0; i < def->nnodes; i++)
    if (def->nodes[i].has_undo) return 1;
  return 0;
}

static pawl_code find_lost(pawl_engine *e, const pawl_crossing *c,
                           const pawl_renames *renames, const pawl_rows *r,
                           pawl_places *lost, pawl_error *err) {
  pawl_buf now = {.alloc = &e->alloc}, name = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  for (int k = 0; k < r->nrows; k++) {
    pawl_place *one;
    pawl_id id;
    int at;
    pawl_row_id(r, k, PAWL_REPAIR_DONE_R_INSTANCE, &id);
    pawl_renames_follow(renames, &id,
                        pawl_row_int(r, k, PAWL_REPAIR_DONE_R_SEQ),
                        pawl_row_str(r, k, PAWL_REPAIR_DONE_R_NODE), &now);
    TRY(pawl_buf_check(&now, err));
    at = pawl_def_node(c->from, now.at ? now.at : "", now.len);
    if (at < 0 || !c->from->nodes[at].has_undo ||
        across(c, c->from->nodes[at].name, &name) >= 0)
      continue;
    one = pawl_places_add(e, lost);
    if (!one) TRY(no_memory(err));
    one->instance = id;
    one->node = pawl_engine_intern(e, pawl_buf_str(&now));
    if (!one->node) TRY(no_memory(err));
  }
out:
  pawl_buf_deinit(&now);
  pawl_buf_deinit(&name);
  return rc;
}

pawl_code pawl_crossing_lost(pawl_engine *e, const pawl_crossing *c, int shard,
                             const pawl_id *ids, int n, pawl_places *lost,
                             pawl_error *err) {
  pawl_renames renames = {0};
  pawl_rows r;
  pawl_code rc = PAWL_OK;

  if (!n || !has_undo(c->from)) return PAWL_OK;
  TRY(pawl_renames_load(e, shard, ids, n, &renames, err));
  pawl_args_begin(&e->args, PAWL_STMT_REPAIR_DONE);
  pawl_arg_int(&e->args, PAWL_REPAIR_DONE_SHARD, shard);
  for (int i = 0; i < n; i++)
    pawl_arg_id(&e->args, PAWL_REPAIR_DONE_ID, &ids[i]);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &r, err));
  TRY(find_lost(e, c, &renames, &r, lost, err));
out:
  pawl_renames_deinit(e, &renames);
  return rc;
}

void pawl_crossing_tell_lost(const pawl_crossing *c, const pawl_place *lost,
                             pawl_buf *why) {
  pawl_buf_addf(why,
                "\"%s\" was done and can be undone; version %" PRId64
                " has no node of that name: map it to the one that undoes it, "
                "or to one without `undo`",
                lost->node, c->to->version);
}
