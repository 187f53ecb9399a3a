/* What follows a failure; and ending. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "../value/json.h"
#include "machine.h"
#include "order.h"

void pawl_set_detail(pawl_plan *p, const pawl_error *err) {
  pawl_buf_clear(&p->detail);
  /* many a message begins with it */
  if (strncmp(err->message, err->where, strlen(err->where)) != 0)
    pawl_buf_addf(&p->detail, "%s: ", err->where);
  if (err->raised[0]) pawl_buf_addf(&p->detail, "%s: ", err->raised);
  pawl_buf_addz(&p->detail, err->message);
}

/* The instance's error, on the record too, and for people. */
static void note_error(pawl_plan *p, pawl_record *r, const pawl_error *err,
                       const pawl_said *said) {
  pawl_plan_error(&p->error, err, said);
  pawl_buf_adds(&r->error, pawl_buf_str(&p->error));
  pawl_set_detail(p, err);
}

/* ---- ending ---- */

static void drop_all(pawl_decision *d) {
  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    pawl_token *t = pawl_tok(d, k);
    if (!pawl_token_is_live(t->state)) continue;
    /* subscriptions and tasks go with it */
    pawl_token_close(t, PAWL_TOKEN_DROPPED);
  }
  pawl_marks_clear(&d->plan.state.joined);
}

void pawl_end(pawl_decision *d, pawl_standing status) {
  pawl_plan *p = &d->plan;

  if (pawl_is_cleaning(d)) status = PAWL_STATUS_CANCELLED; /* however */
  if (status == PAWL_STATUS_FAILED && !p->state.undo.status)
    pawl_stopped_note(d);

  p->after = PAWL_AFTER_END;
  p->state.status = status;
  drop_all(d);
  pawl_undo_stop(d);
  pawl_children_end(d, status);
  pawl_parent_tell(d, status);
}

/* Was anything done that could be undone? The store knows; the graph tells
 * whether to ask. */
static int may_undo(const pawl_decision *d) {
  return d->def && pawl_def_has_undo(d->def);
}

/* A deadline that has passed would end that before it begins. */
static void clean_up(pawl_decision *d) {
  pawl_state *s = &d->plan.state;
  const int64_t now = pawl_decision_now(d);
  char at[28];

  for (int k = 0; k < s->tokens.n; k++)
    if (pawl_tok_live(d, k)) pawl_stop_waiting(d, k, "cancelled");
  drop_all(d);
  pawl_undo_stop(d); /* a node's, which it was at */
  pawl_time_format(now, at);
  pawl_object_set_text(&s->cancellation, "cleaning_since", pawl_strz(at));
  const int64_t lasts = pawl_decision_lasts(d);
  if (s->deadline_us && s->deadline_us <= now)
    s->deadline_us = lasts > 0 ? pawl_time_after(now, lasts) : 0;
  s->status = PAWL_STATUS_RUNNING;
  s->suspended_us = 0;
  d->plan.after = PAWL_AFTER_GO_ON;
  const int k = pawl_token_new(d, -1);
  if (k >= 0) pawl_arrive(d, k, d->def->nodes[d->def->on_cancel].name);
}

void pawl_end_last(pawl_decision *d) {
  if (!d->plan.state.visit || pawl_is_over(d) ||
      d->plan.state.status == PAWL_STATUS_SUSPENDED ||
      pawl_tokens_live(&d->plan.state.tokens))
    return;
  d->plan.outcome = "done";
  pawl_end(d, PAWL_STATUS_COMPLETED);
}

void pawl_end_cancelled(pawl_decision *d) {
  if (d->def && d->def->on_cancel >= 0 && d->plan.state.visit > 0)
    clean_up(d);
  else
    pawl_end(d, PAWL_STATUS_CANCELLED);
}

void pawl_end_undoing(pawl_decision *d, pawl_standing status, int compensate) {
  if (pawl_is_cleaning(d)) {
    pawl_end(d, status);
    return;
  }
  if (compensate && may_undo(d) && (d->seq > 0 || d->plan.ran))
    pawl_undo_begin(d, status);
  else if (status == PAWL_STATUS_CANCELLED) {
    pawl_end_cancelled(d);
    if (d->plan.after != PAWL_AFTER_END) pawl_children_end(d, status);
  } else
    pawl_end(d, status);
}

void pawl_fail_outright(pawl_decision *d, const pawl_error *err) {
  pawl_plan *p = &d->plan;
  pawl_record *r = pawl_instance_record(d, "failed");
  r->attempt = p->state.tokens.n ? p->state.tokens.at[0].attempt + 1 : 1;
  note_error(p, r, err, NULL);
  p->outcome = "failed";
  pawl_end(d, PAWL_STATUS_FAILED);
}

void pawl_suspend(pawl_decision *d, const pawl_error *err) {
  pawl_plan *p = &d->plan;
  pawl_record *r = pawl_instance_record(d, "suspended");
  note_error(p, r, err, NULL);
  p->state.status = PAWL_STATUS_SUSPENDED;
  p->state.suspended_us = pawl_decision_now(d);
  p->broke = 1;
  p->outcome = "suspended";
}

/* ---- one token's failure ---- */

static void try_again(pawl_decision *d, int k, int64_t due_us) {
  pawl_token *t = pawl_tok(d, k);
  t->state = PAWL_TOKEN_ACTIVE;
  t->due_us = due_us;
  t->changed = 1;
  if (due_us) pawl_order_drop(t); /* it has the place of that time then */
  d->plan.outcome = "retry";
}

void pawl_suspend_token(pawl_decision *d, int k) {
  pawl_plan *p = &d->plan;
  try_again(d, k, 0);
  p->state.status = PAWL_STATUS_SUSPENDED;
  p->state.suspended_us = pawl_decision_now(d);
  p->broke = 1;
  p->outcome = "suspended";
}

/* Nothing catches it: the each around it, or the instance, fails. */
static void uncaught(pawl_decision *d, int k, const pawl_error *err) {
  int level, parked = pawl_each_around(d, k, &level);
  d->plan.outcome = "failed";
  if (parked >= 0) {
    pawl_buf_clear(&d->plan.error); /* only the instance's own is kept */
    pawl_each_item_failed(d, parked, level, k, err);
    return;
  }
  pawl_end_undoing(d, PAWL_STATUS_FAILED, d->def->compensate);
}

/* What is told of it: the failure, then where that leads. */
static void tell_route(pawl_plan *p, const pawl_error *err) {
  pawl_buf path = {.alloc = p->alloc};

  pawl_buf_swap(&path, &p->detail);
  pawl_set_detail(p, err);
  if (path.len && strcmp(path.at, p->detail.at ? p->detail.at : ""))
    pawl_buf_addf(&p->detail, " -> %s", path.at);
  pawl_buf_deinit(&path);
}

pawl_failure pawl_failure_of(const pawl_decision *d, int k,
                             const pawl_error *err) {
  const pawl_token *t = &d->plan.state.tokens.at[k];
  const pawl_passes passes = pawl_failure_passes(err);

  return (pawl_failure){
      .attempt = t->attempt + 1,
      .passed = pawl_detail_of(t)->passed + (passes != PAWL_PASSES_NOT),
      .no_retry = d->result->no_retry,
      .routes = 1,
      .passes = passes,
      .retry_after_us = d->result->retry_after_us,
      .code = pawl_failure_code(err),
      .random = pawl_decision_random(d)};
}

void pawl_failure_note(pawl_decision *d, int k, const pawl_failure *f) {
  pawl_token *t = pawl_tok(d, k);
  t->attempt = f->attempt;
  t->changed = 1;
  if (f->passes) pawl_detail_set(t, PAWL_DETAIL_passed, f->passed);
}

/* What led to a failed end is its reason, also where that cleans up, and is
 * cancelled for all that. */
static int has_led_to_failure(const pawl_decision *d, int to) {
  const pawl_plan *p = &d->plan;

  return p->after == PAWL_AFTER_END &&
         (p->state.status == PAWL_STATUS_FAILED ||
          (pawl_state_is_cleaning(&d->state) &&
           d->def->nodes[to].status_failed));
}

/* To where the error's code leads. */
static void route(pawl_decision *d, int k, int to, const pawl_error *err) {
  pawl_leave_caught(d, k, to, err);
  tell_route(&d->plan, err);
  if (!pawl_is_undoing(d) && !has_led_to_failure(d, to))
    pawl_buf_clear(&d->plan.error);
}

/* Its node's own `delay` says when it is tried again, unless the failure has.
 * One that fails itself, or says nothing, leaves that to the policy, as what is
 * to be tried again is. `record`: of the failure. */
static int64_t ask_delay(pawl_decision *d, int k, const pawl_error *failed,
                         int record, int64_t by_policy_us) {
  pawl_buf error = {.alloc = d->alloc};
  pawl_error err = {0};
  pawl_question q = {.node = pawl_tok_node(d, k),
                     .handler = PAWL_HANDLER_DELAY};

  pawl_caught_make(d, k, failed, &error);
  q.error = pawl_buf_str(&error);
  if (pawl_run_question(d, k, &q, &err) != PAWL_OK)
    pawl_buf_addf(&pawl_plan_record_at(&d->plan, record)->text,
                  "tried again by `retry`, as its `delay` failed: %s",
                  err.message);
  else if (d->result->has_lasts)
    by_policy_us = d->result->lasts_us;
  pawl_buf_deinit(&error);
  return by_policy_us;
}

static int asks_delay(const pawl_decision *d, const pawl_node *node,
                      const pawl_failure *f) {
  return node->has_delay && !f->passes && f->retry_after_us < 0 &&
         d->turn != PAWL_TURN_LETTERS;
}

void pawl_fail_token(pawl_decision *d, int k, const pawl_error *err,
                     int64_t began_us) {
  pawl_plan *p = &d->plan;
  const pawl_node *node = pawl_tok_node(d, k);
  const pawl_said *result = d->result;
  int64_t now = pawl_decision_now(d), delay_us = 0;
  int to = -1;
  const pawl_failure f = pawl_failure_of(d, k, err);
  pawl_verdict verdict = pawl_retry_decide(node, &f, &delay_us, &to);

  assert(node && f.attempt >= 1);
  pawl_stop_waiting(d, k, NULL);
  pawl_record *r = pawl_token_record(d, k, "failed");
  if (began_us) r->started_us = began_us;
  note_error(p, r, err, result);
  pawl_failure_note(d, k, &f);
  switch (verdict) {
    case PAWL_VERDICT_RETRY:
      if (p->nrecords && asks_delay(d, node, &f)) { /* else: no memory */
        delay_us = ask_delay(d, k, err, p->nrecords - 1, delay_us);
        r = pawl_plan_record_at(p, p->nrecords - 1);
      }
      r->due_us = pawl_time_after(now, delay_us);
      try_again(d, k, r->due_us);
      break;
    case PAWL_VERDICT_ROUTE:
      pawl_buf_addz(&r->transition, f.code);
      p->outcome = "failed";
      route(d, k, to, err);
      break;
    case PAWL_VERDICT_SUSPEND:
      pawl_buf_addz(&r->text, "suspended: no attempts left");
      pawl_suspend_token(d, k);
      break;
    case PAWL_VERDICT_FAIL:
      uncaught(d, k, err);
      break;
  }
}
