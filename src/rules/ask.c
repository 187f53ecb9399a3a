/* Handlers: one is asked, and what comes too late does not count. */
#include <assert.h>

#include "../value/json.h"
#include "machine.h"

pawl_code pawl_check_timeout(const pawl_decision *d, const pawl_token *t,
                             const pawl_node *node, pawl_error *err) {
  const int64_t took = d->passed_us;
  const int64_t limit_us = pawl_token_timeout(t, node);

  if (took <= limit_us) return PAWL_OK;
  pawl_said_clear(d->result);
  pawl_fail(err, PAWL_TIMEOUT, "%s \"%s\" took %.1f s; its timeout is %.1f s",
            pawl_kind_name(node->kind), node->name, (double)took / 1e6,
            (double)limit_us / 1e6);
  return PAWL_TIMEOUT;
}

pawl_code pawl_spend(pawl_decision *d, pawl_quota quota, int64_t n,
                     pawl_error *err) {
  int64_t wait_us = -1;
  pawl_code rc;

  if (!n || !d->def->is_limited) return PAWL_OK;
  if (quota == PAWL_QUOTA_STARTS) MUST(pawl_starts_bear(d, err));
  rc = d->world->spend(d->world->ud, d, quota, n, &wait_us, err);
  if (rc == PAWL_OK) return PAWL_OK;
  pawl_said_clear(d->result); /* nothing of it counts */
  d->result->retry_after_us = wait_us;
  d->result->no_retry = wait_us < 0;
  return rc;
}

pawl_code pawl_spend_lines(pawl_decision *d, pawl_code rc, pawl_error *err) {
  int64_t n = d->lines, wait_us;
  pawl_error unsaid;

  d->lines = 0;
  if (rc == PAWL_OK) return pawl_spend(d, PAWL_QUOTA_LOGS, n, err);
  if (n && d->def->is_limited)
    (void)d->world->spend(d->world->ud, d, PAWL_QUOTA_LOGS, n, &wait_us,
                          &unsaid);
  return rc;
}

static int64_t count(const pawl_buf *list) {
  return list->len ? pawl_json_count(pawl_buf_str(list)) : 0;
}

pawl_code pawl_spend_effects(pawl_decision *d, pawl_error *err) {
  int64_t starts = count(&d->result->starts);
  if (d->result->vars_changed)
    MUST(pawl_vars_fit(d, pawl_buf_str(&d->result->vars), err));
  if (!d->def->is_limited) return PAWL_OK;
  if (d->result->vars_changed)
    MUST(pawl_vars_bear(d, pawl_buf_str(&d->result->vars), err));
  MUST(pawl_spend(d, PAWL_QUOTA_EMITS,
                  count(&d->result->emits) + count(&d->result->published),
                  err));
  MUST(pawl_spend(d, PAWL_QUOTA_SIGNALS,
                  count(&d->result->signals) + count(&d->result->escalations),
                  err));
  return pawl_spend(d, PAWL_QUOTA_STARTS, starts, err);
}

pawl_code pawl_run_handler(pawl_decision *d, int k, const pawl_node *node,
                           pawl_handler handler, pawl_error *err) {
  pawl_str none = {0};
  return pawl_run_handler_on(d, k, node, handler, none, none, err);
}

/* What has led to its undoing, in `out`; of a node that undoes it says all
 * there is already. */
static void tell_undo(pawl_decision *d, pawl_buf *out) {
  const pawl_compensation *u = &d->plan.state.undo;
  pawl_str known;

  pawl_buf_adds(out, pawl_buf_str(&u->error));
  if (u->error.len && u->node.len && u->attempt > 0 &&
      !pawl_json_get(pawl_buf_str(out), "node", &known))
    pawl_caught_at(out, pawl_buf_str(&u->node), u->attempt);
}

/* To who cleans up: why, and who wanted it so. */
static void tell_cancellation(pawl_decision *d, pawl_buf *out) {
  static const char *const members[] = {"by", "source"};
  pawl_str all = pawl_buf_str(&d->plan.state.cancellation), value;
  pawl_object o;

  pawl_object_begin(&o, out);
  pawl_member_textz(&o, "code", "cancelled");
  if (!pawl_json_get(all, "reason", &value) || value.len <= 2 ||
      pawl_str_eqz(value, "null"))
    value = pawl_strz("\"it was cancelled\"");
  pawl_member_json(&o, "message", value);
  for (size_t i = 0; i < sizeof members / sizeof *members; i++)
    if (pawl_json_get(all, members[i], &value))
      pawl_member_json(&o, members[i], value);
  pawl_object_end(&o);
}

pawl_code pawl_run_handler_on(pawl_decision *d, int k, const pawl_node *node,
                              pawl_handler handler, pawl_str event,
                              pawl_str output, pawl_error *err) {
  pawl_question q = {.node = node,
                     .handler = handler,
                     .event = event,
                     .output = output,
                     .error = pawl_caught_told(pawl_tok(d, k))};
  pawl_buf why = {.alloc = d->alloc};

  if (!q.error.len && pawl_is_undoing(d)) tell_undo(d, &why);
  if (!q.error.len && !why.len && pawl_is_cleaning(d))
    tell_cancellation(d, &why);
  if (why.failed) d->plan.failed = 1;
  if (why.len) q.error = pawl_buf_str(&why);
  pawl_code rc = pawl_run_question(d, k, &q, err);
  pawl_buf_deinit(&why);
  return rc;
}

pawl_code pawl_run_question(pawl_decision *d, int k, pawl_question *q,
                            pawl_error *err) {
  const pawl_token *t = q->token = pawl_tok(d, k);
  int waits = 0;

  if (!q->event.at && t->event.len) q->event = pawl_buf_str(&t->event);
  assert(pawl_tok_live(d, k) && d->turn != PAWL_TURN_LETTERS);
  assert(!pawl_is_aloft(d, t));
  pawl_said_clear(d->result);
  pawl_code rc = d->world->ask(d->world->ud, d, q, &waits, err);
  assert(waits == pawl_is_aloft(d, t));
  d->plan.waits |= waits;
  if (!waits) rc = pawl_spend_lines(d, rc, err);
  if (pawl_handler_is_pure(q->handler))
    d->plan.asked = 1;
  else if (rc == PAWL_OK && !waits)
    rc = pawl_check_timeout(d, t, q->node, err);
  return rc;
}
