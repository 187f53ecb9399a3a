/* Handlers: one is asked, and what comes too late does not count. */
#include <assert.h>

#include "machine.h"

pawl_code pawl_check_timeout(const pawl_decision *d, const pawl_node *node,
                             pawl_error *err) {
  int64_t took = pawl_decision_now(d) - d->began_us;

  if (took <= node->timeout_us) return PAWL_OK;
  pawl_result_clear(d->result);
  pawl_fail(err, PAWL_TIMEOUT, "%s \"%s\" took %.1f s; its timeout is %.1f s",
            pawl_kind_name(node->kind), node->name, (double)took / 1e6,
            (double)node->timeout_us / 1e6);
  return PAWL_TIMEOUT;
}

pawl_code pawl_run_handler(pawl_decision *d, int k, const pawl_node *node,
                           pawl_handler handler, pawl_error *err) {
  pawl_str none = {0};
  return pawl_run_handler_on(d, k, node, handler, none, none, err);
}

pawl_code pawl_run_handler_on(pawl_decision *d, int k, const pawl_node *node,
                              pawl_handler handler, pawl_str event,
                              pawl_str output, pawl_error *err) {
  const pawl_token *t = pawl_tok(d, k);
  pawl_question q = {.token = t,
                     .node = node,
                     .handler = handler,
                     .event = event,
                     .output = output};

  if (!event.at && t->event.len) q.event = pawl_buf_str(&t->event);
  assert(
      !d->plan.waits); /* one at a time: the next would have its variables */
  assert(pawl_tok_live(d, k) && d->turn != PAWL_TURN_LETTERS);
  pawl_result_clear(d->result);
  pawl_code rc = d->world->ask(d->world->ud, d, &q, &d->plan.waits, err);
  if (pawl_handler_is_pure(handler))
    d->plan.asked = 1;
  else if (rc == PAWL_OK && !d->plan.waits)
    rc = pawl_check_timeout(d, node, err);
  return rc;
}
