/* Choices: a handler says which way. */

#include "../machine.h"

static pawl_code enter(pawl_decision *d, int k, const pawl_node *node, int *to,
                       pawl_buf *path, pawl_error *err) {
  const pawl_buf *t = &d->result->transition;
  pawl_code rc;

  MUST(pawl_run_handler(d, k, node, PAWL_HANDLER_CHOOSE, err));
  *to = d->result->has_transition ? pawl_node_next(node, t->at, t->len) : -1;
  if (*to < 0) {
    d->result->no_retry = 1;
    rc = pawl_fail(err, PAWL_SCRIPT,
                   "choice \"%s\": `choose` returned %s%s%s"
                   ", which is no transition of it",
                   node->name, d->result->has_transition ? "\"" : "",
                   d->result->has_transition ? t->at : "nothing",
                   d->result->has_transition ? "\"" : "");
    pawl_error_hint(err, "return one of the names in `next`, such as \"%s\"",
                    node->next[0].name);
    return rc;
  }
  if (path) {
    pawl_buf_addc(path, '=');
    pawl_buf_adds(path, pawl_buf_str(t));
  }
  return PAWL_OK;
}

const pawl_kind_rules pawl_kind_choice = {.enter = enter};
