/* Finishes: a way ends. */

#include "../machine.h"

/* Of one that fails: what was caught before, or itself. */
static void give_reason(pawl_decision *d, int k, const pawl_node *node) {
  pawl_buf *error = &d->plan.error;
  pawl_error why;

  if (!error->len) pawl_caught_reason(pawl_tok(d, k), error);
  if (error->len) return;
  pawl_fail(&why, PAWL_SCRIPT, "it ended at finish \"%s\"", node->name);
  pawl_copy_text(why.raised, sizeof why.raised, node->name);
  pawl_plan_error(error, &why, NULL);
}

/* Its own way ends here; the instance's too, when it was the last, or the
 * finish says so. */
static pawl_code enter(pawl_decision *d, int k, const pawl_node *node, int *to,
                       pawl_buf *path, pawl_error *err) {
  pawl_plan *p = &d->plan;
  int level, missed,
      ends = node->status_failed || node->terminate ||
             pawl_tokens_live(&p->state.tokens) == 1;

  (void)to, (void)path;
  if (node->has_output) { /* the last to give one decides it */
    MUST(pawl_run_handler(d, k, node, PAWL_HANDLER_OUTPUT, err));
    if (d->result->has_output)
      pawl_buf_copy(&p->state.output, &d->result->output);
  }
  missed =
      !node->status_failed && !node->terminate && pawl_join_missed_by(d, k);
  if (pawl_tok_live(d, k)) pawl_token_end(d, k, NULL);
  if (missed) return PAWL_OK;
  if (!ends) {
    pawl_boundaries_stand(d);
    if (pawl_each_around(d, k, &level) >= 0) pawl_each_item_left(d, k);
    return PAWL_OK;
  }
  if (!node->status_failed) {
    pawl_end(d, PAWL_STATUS_COMPLETED);
    return PAWL_OK;
  }
  give_reason(d, k, node);
  pawl_end_undoing(d, PAWL_STATUS_FAILED, d->def->compensate);
  pawl_buf_clear(
      &p->state.stopped); /* to try that again would end the same way */
  return PAWL_OK;
}

const pawl_kind_rules pawl_kind_finish = {.enter = enter};
