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
  TRY(pawl_reschedule_key(d, node, &key, err));
  if (node->has_at) {
    TRY(pawl_run_handler(d, k, node, PAWL_HANDLER_AT, err));
    due = d->result->at_us;
  } else {
    TRY(pawl_wait_limit(d, k, node, &lasts_us, err));
    due = pawl_time_after(pawl_decision_now(d), lasts_us);
  }
  pawl_stand(d, k, due > 0 ? due : 1);
  pawl_reschedule_listen(d, k, node, &key);
out:
  pawl_buf_deinit(&key);
  return rc;
}

static void stop(pawl_decision *d, int k, const pawl_node *node,
                 const char *status) {
  (void)status;
  if (node->moved_by) pawl_listen_no_more(d, k, PAWL_EAR_MOVE);
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

static pawl_reception hear(pawl_decision *d, int k, const pawl_node *node,
                           pawl_ear ear, const pawl_letter *l, pawl_str event,
                           pawl_buf *why) {
  (void)ear;
  return pawl_reschedule(d, k, node, l, event, why);
}

/* Its time counts from when it began; what moves it is the new one's. */
static void transfer(pawl_decision *d, int k, const pawl_node *was,
                     const pawl_node *is) {
  pawl_token *t = pawl_tok(d, k);

  if (is->has_at) { /* its handler is asked at the next look */
    if (was->moved_by) pawl_listen_no_more(d, k, PAWL_EAR_MOVE);
    t->state = PAWL_TOKEN_ACTIVE;
    t->due_us = 0;
    return;
  }
  pawl_wait_transfer(d, k, was, is);
  pawl_reschedule_transfer(d, k, was, is);
}

const pawl_kind_rules pawl_kind_timer = {.enter = enter,
                                         .stop = stop,
                                         .hear = hear,
                                         .time_out = fire,
                                         .transfer = transfer};
