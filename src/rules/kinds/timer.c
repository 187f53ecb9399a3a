/* Timers: a token stands until a time, said by the definition or a handler. An
 * event may have that worked out anew while it stands. */

#include "../machine.h"

static pawl_code enter(pawl_decision *d, int k, const pawl_node *node, int *to,
                       pawl_buf *path, pawl_error *err) {
  pawl_buf key = {.alloc = d->alloc};
  int64_t due, lasts_us;
  pawl_code rc = PAWL_OK;

  (void)to, (void)path;
  TRY(pawl_spend(d, PAWL_QUOTA_TIMERS, 1, err));
  if (node->moved_key)
    TRY(pawl_listen_key(d, node, node->moved_key, &key, err));
  if (node->has_at) {
    TRY(pawl_run_handler(d, k, node, PAWL_HANDLER_AT, err));
    due = d->result->at_us;
  } else {
    TRY(pawl_wait_limit(d, k, node, &lasts_us, err));
    due = pawl_time_after(pawl_decision_now(d), lasts_us);
  }
  pawl_stand(d, k, due > 0 ? due : 1);
  if (node->moved_by)
    pawl_listen(d, k, node->moved_by, node->moved_key ? &key : NULL);
out:
  pawl_buf_deinit(&key);
  return rc;
}

static void stop(pawl_decision *d, int k, const pawl_node *node,
                 const char *status) {
  (void)status;
  if (node->moved_by) pawl_listen_no_more(d, k);
}

/* The next time that has not passed: what was missed is made up for once. */
static int64_t next_time(int64_t due_us, int64_t every_us, int64_t now) {
  const int64_t next = pawl_time_after(due_us, every_us);

  if (next > now) return next;
  return pawl_time_after(now, every_us - (now - next) % every_us);
}

/* The token that goes on as it fires; -1: none does. */
static int fired(pawl_decision *d, int k, const pawl_node *node) {
  const int64_t due = pawl_tok(d, k)->due_us, now = pawl_decision_now(d);
  pawl_error err;

  if (node->host >= 0 && node->interrupts) pawl_boundary_interrupt(d, k);
  if (node->every_us < 0) return k;
  if (pawl_spend(d, PAWL_QUOTA_TIMERS, 1, &err) != PAWL_OK) {
    pawl_fail_token(d, k, &err, 0);
    return -1;
  }
  const int lane = pawl_boundary_lane(d, k);
  if (lane >= 0) pawl_stand(d, k, next_time(due, node->every_us, now));
  return lane;
}

static void fire(pawl_decision *d, int k, const pawl_node *node) {
  pawl_stop_waiting(d, k, NULL);
  pawl_record *r = pawl_token_record(d, k, "timer");
  const int record = d->plan.nrecords - 1;

  r->due_us = pawl_tok(d, k)->due_us;
  d->plan.outcome = "fired";
  k = fired(d, k, node);
  if (k < 0) return;
  pawl_leave_by(d, k, node->next[0].to, record);
  pawl_trace_wait(d, k, node);
}

/* ---- moved by an event ---- */

/* What says when, if a handler does. */
static pawl_handler handler_of(const pawl_node *node) {
  return node->has_at ? PAWL_HANDLER_AT : PAWL_HANDLER_AFTER;
}

/* When it is due by what is known now. One that lasts so long begins anew: as
 * the event was received, or as it began itself, if that was later. */
static pawl_code work_out(pawl_decision *d, int k, const pawl_node *node,
                          const pawl_letter *l, pawl_str event,
                          int64_t *due_us, pawl_error *err) {
  const int64_t entered_us = pawl_tok(d, k)->entered_us;
  pawl_str none = {0};

  if (node->has_at || node->has_after)
    MUST(pawl_run_handler_on(d, k, node, handler_of(node), event, none, err));
  if (node->has_at) {
    *due_us = d->result->at_us;
    return PAWL_OK;
  }
  if (node->has_after)
    pawl_detail_set(pawl_tok(d, k), PAWL_DETAIL_limit, d->result->lasts_us);
  *due_us = pawl_time_after(
      l->received_us > entered_us ? l->received_us : entered_us,
      pawl_token_limit(pawl_tok(d, k), node));
  return PAWL_OK;
}

/* The visit goes on: what led there is for the row that ends it to say. */
static void note(pawl_decision *d, int k, const pawl_letter *l,
                 const pawl_buf *changes) {
  const pawl_token *t = pawl_tok(d, k);
  pawl_record *r = pawl_plan_record(&d->plan, "rescheduled", t->node);

  r->token = t->no;
  r->visit = t->visit;
  r->completed_us = pawl_decision_now(d);
  r->due_us = t->due_us;
  pawl_buf_adds(&r->text, pawl_buf_str(&l->name));
  pawl_buf_adds(&r->by, pawl_buf_str(&l->by));
  pawl_buf_adds(&r->changes, pawl_buf_str(changes));
  pawl_event_note(r, l);
}

static void move(pawl_decision *d, int k, const pawl_node *node,
                 const pawl_letter *l, int64_t due_us,
                 const pawl_buf *changes) {
  pawl_stand(d, k, due_us > 0 ? due_us : 1);
  note(d, k, l, changes);
  d->plan.outcome = "rescheduled";
  pawl_buf_clear(&d->plan.detail);
  pawl_trace_wait(d, k, node);
}

/* What it brings is a variable when the time is worked out; where that fails
 * nothing has happened, and the event is refused. */
static pawl_reception hear(pawl_decision *d, int k, const pawl_node *node,
                           const pawl_letter *l, pawl_str event,
                           pawl_buf *why) {
  pawl_str data = l->data.len ? pawl_buf_str(&l->data) : pawl_strz("null");
  pawl_buf vars = {.alloc = d->plan.alloc}, changes = {.alloc = d->alloc};
  int vars_changed = d->plan.vars_changed;
  pawl_error err = {0};
  int64_t due_us = 0;

  if (pawl_spend(d, PAWL_QUOTA_EVENTS, 1, &err) != PAWL_OK) {
    pawl_fail_token(d, k, &err, 0);
    return PAWL_LEFT;
  }
  pawl_code rc = pawl_value_fits(d, node->moved_into, data, &err);
  if (rc == PAWL_OK) {
    pawl_buf_copy(&vars, &d->plan.vars);
    if (vars.failed) d->plan.failed = 1;
    if (node->moved_into) pawl_vars_set(d, node->moved_into, data, &changes);
    rc = work_out(d, k, node, l, event, &due_us, &err);
  }
  if (rc == PAWL_OK) {
    move(d, k, node, l, due_us, &changes);
  } else {
    if (vars.len || vars_changed != d->plan.vars_changed)
      pawl_buf_swap(&d->plan.vars, &vars);
    d->plan.vars_changed = vars_changed;
  }
  pawl_buf_deinit(&vars);
  pawl_buf_deinit(&changes);
  return rc == PAWL_OK
             ? PAWL_RECEIVED
             : pawl_event_refuse(d, k, l, pawl_handler_name(handler_of(node)),
                                 &err, why);
}

/* Its time counts from when it began; what moves it is the new one's. */
static void transfer(pawl_decision *d, int k, const pawl_node *was,
                     const pawl_node *is) {
  pawl_buf key = {.alloc = d->plan.alloc};
  pawl_token *t = pawl_tok(d, k);

  if (was->moved_by) pawl_listen_no_more(d, k);
  if (is->has_at) { /* its handler is asked at the next look */
    t->state = PAWL_TOKEN_ACTIVE;
    t->due_us = 0;
    return;
  }
  pawl_wait_transfer(d, k, was, is);
  if (!is->moved_by) return;
  if (is->moved_key)
    (void)pawl_event_key(d, pawl_vars_now(d), is->moved_key, &key);
  if (key.failed) d->plan.failed = 1;
  pawl_listen(d, k, is->moved_by, is->moved_key ? &key : NULL);
  pawl_buf_deinit(&key);
}

const pawl_kind_rules pawl_kind_timer = {.enter = enter,
                                         .stop = stop,
                                         .hear = hear,
                                         .time_out = fire,
                                         .transfer = transfer};
