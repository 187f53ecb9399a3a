/* Where the tokens of an instance stand, by the graph that it will run by. */
#include "misplaced.h"

#include <inttypes.h>

#include "../../rules/crossing.h"
#include "../common/engine_struct.h"
#include "../common/find.h"
#include "../common/names.h"

void pawl_misplaced_deinit(pawl_misplaced *m) {
  pawl_def_free(m->def);
  *m = (pawl_misplaced){.def = NULL};
}

/* Of many instances of one version it is read once. */
static pawl_code know_def(pawl_engine *e, pawl_misplaced *m, pawl_str graph,
                          pawl_error *err) {
  if (m->def && pawl_str_eq(m->def->graph, graph)) return PAWL_OK;
  pawl_misplaced_deinit(m);
  return pawl_def_new("import", graph, pawl_strz(NULL), pawl_strz("{}"),
                      &e->alloc, &m->def, err);
}

/* ---- one token ---- */

static pawl_code wrong(pawl_error *err, const char *column) {
  pawl_error_where(err, "%s", column);
  return PAWL_INVALID;
}

static pawl_code lacks_node(pawl_misplaced *m, pawl_str name, const char *what,
                            const char *column, pawl_error *err) {
  const pawl_def *def = m->def;
  char text[128];

  pawl_str_copy(text, sizeof text, name);
  pawl_fail_hint(
      err, PAWL_INVALID,
      "import it where that version is what it was exported with, or "
      "register the next version here and move it to that one before",
      "token %d %s \"%s\", and workflow \"%s\" version %" PRId64
      " has no such node here",
      m->token, what, text, def->code, def->version);
  return wrong(err, column);
}

static pawl_code check_node(pawl_misplaced *m, pawl_str name, int waits,
                            pawl_error *err) {
  const int at = pawl_def_node(m->def, name.at, name.len);

  if (at < 0) return lacks_node(m, name, "stands at node", "node", err);
  const pawl_node *node = &m->def->nodes[at];
  if (!waits || pawl_kind_shapes[node->kind].waits_for) return PAWL_OK;
  pawl_fail(err, PAWL_INVALID,
            "token %d waits at %s \"%s\", where nothing waits", m->token,
            pawl_kind_name(node->kind), node->name);
  return wrong(err, "node");
}

static pawl_code is_no_fork(const pawl_misplaced *m, const pawl_node *node,
                            const char *column, pawl_error *err) {
  pawl_fail(err, PAWL_INVALID,
            "token %d is inside %s \"%s\", which is no fork", m->token,
            pawl_kind_name(node->kind), node->name);
  return wrong(err, column);
}

/* Numbers of tokens that have forked, from the outermost, a level each: each
 * was there before the next. */
static pawl_code check_scope(const pawl_misplaced *m,
                             const pawl_repair_places_row *row,
                             const pawl_place *place, pawl_error *err) {
  pawl_token t = {.depth = 0};
  char text[40];

  pawl_str_copy(text, sizeof text, row->scope);
  if (row->scope.at && !pawl_scope_parse(&t, row->scope)) {
    pawl_fail(err, PAWL_INVALID, "token %d has a scope that is none: \"%s\"",
              m->token, text);
    return wrong(err, "scope");
  }
  if (t.depth != place->depth) {
    pawl_fail(err, PAWL_INVALID,
              "token %d is inside of %d forks, and its scope \"%s\" has %d",
              m->token, place->depth, text, t.depth);
    return wrong(err, "scope");
  }
  for (int i = 0; i < t.depth; i++) {
    if (t.scope[i] < (i + 1 < t.depth ? t.scope[i + 1] : m->token)) continue;
    pawl_fail(err, PAWL_INVALID,
              "token %d cannot have come from token %d, as its scope says",
              m->token, (int)t.scope[i]);
    return wrong(err, "scope");
  }
  return PAWL_OK;
}

/* An each waits for its items: it is there as long as they are. */
static pawl_code check_each(const pawl_misplaced *m, const pawl_rows *rows,
                            int32_t no, const char *fork, pawl_error *err) {
  for (int k = 0; k < rows->nrows; k++)
    if (pawl_read_repair_places(rows, k).no == no) return PAWL_OK;
  pawl_fail(err, PAWL_INVALID,
            "token %d is an item of each \"%s\", and token %d, which is to "
            "wait there for it, does not live",
            m->token, fork, (int)no);
  return wrong(err, "scope");
}

/* An item is in its each as a branch is in its fork. */
static pawl_code check_forks(pawl_engine *e, pawl_misplaced *m,
                             const pawl_rows *rows,
                             const pawl_repair_places_row *row,
                             pawl_error *err) {
  pawl_place place = {.node = NULL};
  const char *fork = row->fork.at ? pawl_engine_intern(e, row->fork) : NULL;

  if ((row->fork.at && !fork) ||
      !pawl_place_read(&e->world, &place, fork, row->scope, row->detail))
    return pawl_fail_memory(err);
  MUST(check_scope(m, row, &place, err));
  for (int i = 0; i < place.depth; i++) {
    const char *name = place.forks[i];
    const int at = pawl_def_node(m->def, name, strlen(name));
    const char *column = name == fork ? "fork" : "detail";
    if (at < 0)
      return lacks_node(m, pawl_strz(name), "is inside the fork", column, err);
    const pawl_node *node = &m->def->nodes[at];
    if (node->kind == PAWL_KIND_EACH)
      MUST(check_each(m, rows, place.scope[i], name, err));
    else if (node->kind != PAWL_KIND_FORK)
      return is_no_fork(m, node, column, err);
  }
  return PAWL_OK;
}

/* ---- all of them ---- */

pawl_code pawl_misplaced_check(pawl_engine *e, const pawl_id *id,
                               pawl_misplaced *m, pawl_error *err) {
  const int shard = pawl_shard_of(e, id);
  pawl_rows rows;
  int graph, places;

  MUST(PAWL_SEND(e->store, import_graph, &graph, err, .shard = shard,
                 .id = id));
  MUST(PAWL_SEND(e->store, repair_places, &places, err, .shard = shard,
                 .id = id));
  pawl_store_rows(e->store, graph, &rows);
  const pawl_str text = pawl_read_import_graph(&rows, 0).graph;
  if (!text.at) return PAWL_OK;
  MUST(know_def(e, m, text, err));
  pawl_store_rows(e->store, places, &rows);
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_repair_places_row row = pawl_read_repair_places(&rows, k);
    m->token = (int32_t)row.no;
    MUST(check_node(m, row.node, pawl_str_eqz(row.state, "waiting"), err));
    MUST(check_forks(e, m, &rows, &row, err));
  }
  return PAWL_OK;
}
