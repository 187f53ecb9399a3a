/* Does an instance stand where a request can be for it? See standing.h. */
#include "standing.h"

#include <inttypes.h>
#include <string.h>

#include "../../rules/kinds.h"
#include "../../value/json.h"

/* Is that node meant? A token that stands nowhere yet is not. */
static pawl_code is_named(pawl_engine *e, const pawl_meant *m,
                          const char *node, int *yes, pawl_error *err) {
  pawl_buf name = {.alloc = &e->alloc};

  *yes = node && !m->nodes.at;
  if (!node || !m->nodes.at) return PAWL_OK;
  *yes = pawl_json_lists(m->nodes, pawl_strz(node), &name);
  const pawl_code rc = pawl_buf_check(&name, err);
  pawl_buf_deinit(&name);
  return rc;
}

static int waits_for_children(pawl_engine *e, const pawl_def *def,
                              const pawl_place *at) {
  const int i = pawl_def_node(def, at->node, strlen(at->node));

  return i >= 0 && at->waiting &&
         e->world.kinds[def->nodes[i].kind]->has_children;
}

pawl_code pawl_standing_time(pawl_engine *e, const pawl_meant *m,
                             const pawl_def *def, int begins,
                             pawl_has_time *has, pawl_error *err) {
  int yes = 0;

  *has = PAWL_TIMELESS;
  if (begins) MUST(is_named(e, m, def->nodes[def->start].name, &yes, err));
  if (yes) *has = PAWL_TIMED;
  for (int i = 0; *has != PAWL_TIMED && i < m->places->n; i++) {
    const pawl_place *at = &m->places->at[i];
    if (!at->due_us) continue;
    MUST(is_named(e, m, at->node, &yes, err));
    if (!yes) continue;
    *has = !m->nodes.at && waits_for_children(e, def, at)
               ? PAWL_TIME_OF_CHILDREN
               : PAWL_TIMED;
  }
  return PAWL_OK;
}

pawl_code pawl_standing_halted(pawl_engine *e, const pawl_meant *m, int steps,
                               int *n, pawl_buf *which, pawl_error *err) {
  int yes;

  *n = 0;
  pawl_buf_clear(which);
  for (int i = 0; i < m->places->n; i++) {
    const pawl_place *at = &m->places->at[i];
    if (m->token && at->no != m->token) continue;
    if (!at->halted && !(steps && at->steps)) continue;
    MUST(is_named(e, m, at->node, &yes, err));
    if (!yes) continue;
    pawl_buf_addf(which, "%s\"%s\" (token %" PRId32 ")", *n ? ", " : "",
                  at->node, at->no);
    (*n)++;
  }
  return pawl_buf_check(which, err);
}
