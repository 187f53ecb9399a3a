/* Events that move the time of what waits: a timer, or what gives up or is due
 * at some time. */

#include "machine.h"

/* What says when, if a handler does. */
static pawl_handler handler_of(const pawl_node *node) {
  return node->has_at                          ? PAWL_HANDLER_AT
         : node->has_after                     ? PAWL_HANDLER_AFTER
         : node->has_due && !node->has_timeout ? PAWL_HANDLER_DUE
                                               : PAWL_HANDLER_TIMEOUT;
}

/* When it is due by what is known now, in *due_us, 0: never. One that lasts so
 * long begins anew: as the event was received, or as it began itself, if that
 * was later. */
static pawl_code work_out(pawl_decision *d, int k, const pawl_node *node,
                          const pawl_letter *l, pawl_str event,
                          int64_t *due_us, pawl_error *err) {
  int64_t from_us = pawl_tok(d, k)->entered_us, limit_us;
  pawl_str none = {0};

  if (l->received_us > from_us) from_us = l->received_us;
  if (pawl_kind_of(d, node)->move)
    return pawl_kind_of(d, node)->move(d, k, node, from_us, event, due_us,
                                       err);
  if (node->has_at || pawl_node_asks_limit(node))
    MUST(pawl_run_handler_on(d, k, node, handler_of(node), event, none, err));
  if (node->has_at) {
    *due_us = d->result->at_us > 0 ? d->result->at_us : 1;
    return PAWL_OK;
  }
  if (pawl_node_asks_limit(node))
    pawl_detail_set(pawl_tok(d, k), PAWL_DETAIL_limit,
                    d->result->has_lasts ? d->result->lasts_us : -1);
  limit_us = pawl_token_limit(pawl_tok(d, k), node);
  *due_us = limit_us >= 0 ? pawl_time_after(from_us, limit_us) : 0;
  return PAWL_OK;
}

static void note(pawl_decision *d, int k, const pawl_letter *l,
                 const pawl_buf *changes) {
  pawl_record *r = pawl_visit_record(d, k, "rescheduled");

  r->due_us = pawl_tok(d, k)->due_us;
  pawl_buf_adds(&r->text, pawl_buf_str(&l->name));
  pawl_buf_adds(&r->by, pawl_buf_str(&l->by));
  pawl_buf_adds(&r->changes, pawl_buf_str(changes));
  pawl_event_note(r, l);
}

/* What it brings is a variable when the time is worked out; where that fails
 * nothing has happened. */
static pawl_code move(pawl_decision *d, int k, const pawl_node *node,
                      const pawl_letter *l, pawl_str event, pawl_error *err) {
  pawl_str data = l->data.len ? pawl_buf_str(&l->data) : pawl_strz("null");
  pawl_buf vars = {.alloc = d->plan.alloc}, changes = {.alloc = d->alloc};
  const int vars_changed = d->plan.vars_changed;
  int64_t due_us = 0;
  pawl_code rc = PAWL_OK;

  TRY(pawl_value_fits(d, node->moved_into, data, err));
  pawl_buf_copy(&vars, &d->plan.vars);
  if (vars.failed) d->plan.failed = 1;
  if (node->moved_into) pawl_vars_set(d, node->moved_into, data, &changes);
  rc = work_out(d, k, node, l, event, &due_us, err);
  if (rc != PAWL_OK) {
    pawl_buf_swap(&d->plan.vars, &vars);
    d->plan.vars_changed = vars_changed;
    goto out;
  }
  pawl_stand(d, k, due_us);
  pawl_wait_moved(d, k);
  note(d, k, l, &changes);
out:
  pawl_buf_deinit(&vars);
  pawl_buf_deinit(&changes);
  return rc;
}

pawl_reception pawl_reschedule(pawl_decision *d, int k, const pawl_node *node,
                               const pawl_letter *l, pawl_str event,
                               pawl_buf *why) {
  pawl_error err = {0};

  if (pawl_spend(d, PAWL_QUOTA_EVENTS, 1, &err) != PAWL_OK) {
    pawl_fail_token(d, k, &err, 0);
    return PAWL_LEFT;
  }
  if (move(d, k, node, l, event, &err) != PAWL_OK)
    return pawl_event_refuse(d, k, l, pawl_handler_name(handler_of(node)),
                             &err, why);
  d->plan.outcome = "rescheduled";
  pawl_buf_clear(&d->plan.detail);
  pawl_trace_wait(d, k, node);
  return PAWL_RECEIVED;
}
