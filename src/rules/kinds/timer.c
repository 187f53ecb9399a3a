/* Timers: a token stands until a time, said by the definition or a handler. An
 * event may have that worked out anew while it stands. */

#include "../machine.h"

/* The next time that has not passed: what was missed is made up for once. */
static int64_t next_time(int64_t due_us, int64_t every_us, int64_t now) {
  const int64_t next = pawl_time_after(due_us, every_us);

  if (next > now) return next;
  return pawl_time_after(now, every_us - (now - next) % every_us);
}

/* It has fired, and a handler says how much later it does so again; none: no
 * more, and it stands there as long as what it is on. */
static pawl_code next_asked(pawl_decision *d, int k, const pawl_node *node,
                            int64_t *due_us, pawl_error *err) {
  const int64_t fired_us = pawl_detail_of(pawl_tok(d, k))->since;

  MUST(pawl_run_handler(d, k, node, PAWL_HANDLER_EVERY, err));
  *due_us = 0;
  if (d->result->has_lasts)
    *due_us = next_time(fired_us, d->result->lasts_us, pawl_decision_now(d));
  return PAWL_OK;
}

/* Of one that begins later than what it is on, as that went on in another
 * version: times that have passed were not its own. */
static int64_t first_time(const pawl_node *node, int64_t due_us, int64_t now) {
  return node->every_us >= 0 && due_us < now
             ? next_time(due_us, node->every_us, now)
             : due_us;
}

/* When it is due, as it is come to; or as what it is on was, then. */
static pawl_code first_due(pawl_decision *d, int k, const pawl_node *node,
                           int64_t *due_us, pawl_error *err) {
  const int64_t now = pawl_decision_now(d);
  const int64_t since = pawl_detail_of(pawl_tok(d, k))->since;
  int64_t lasts_us;

  if (node->has_at) {
    MUST(pawl_run_handler(d, k, node, PAWL_HANDLER_AT, err));
    *due_us = d->result->at_us;
  } else {
    MUST(pawl_wait_limit(d, k, node, &lasts_us, err));
    *due_us = pawl_time_after(since ? since : now, lasts_us);
  }
  if (since) {
    *due_us = first_time(node, *due_us, now);
    pawl_detail_drop(pawl_tok(d, k), PAWL_DETAIL_since);
  }
  if (*due_us < 1) *due_us = 1;
  return PAWL_OK;
}

static pawl_code enter(pawl_decision *d, int k, const pawl_node *node, int *to,
                       pawl_buf *path, pawl_error *err) {
  const int again = node->has_every && pawl_detail_of(pawl_tok(d, k))->since;
  pawl_buf key = {.alloc = d->alloc};
  int64_t due;
  pawl_code rc = PAWL_OK;

  (void)to, (void)path;
  TRY(pawl_spend(d, PAWL_QUOTA_TIMERS, 1, err));
  TRY(pawl_reschedule_key(d, k, node, &key, err));
  TRY(again ? next_asked(d, k, node, &due, err)
            : first_due(d, k, node, &due, err));
  pawl_stand(d, k, due);
  pawl_reschedule_listen(d, k, node, &key);
out:
  pawl_buf_deinit(&key);
  return rc;
}

/* Its handler is asked at the next look. */
static void ask_again(pawl_decision *d, int k, int64_t since_us) {
  pawl_token *t = pawl_tok(d, k);

  pawl_reschedule_end(d, k);
  t->state = PAWL_TOKEN_ACTIVE;
  t->due_us = 0;
  t->changed = 1;
  if (since_us)
    pawl_detail_set(t, PAWL_DETAIL_since, since_us);
  else
    pawl_detail_drop(t, PAWL_DETAIL_since);
}

/* It is asked for its next time; one whose handler fails is tried again by
 * itself, as any other that is come to. */
static int stand_again(pawl_decision *d, int k, int64_t fired_us) {
  const int lane = pawl_boundary_lane(d, k);
  pawl_error later;

  if (lane < 0) return lane;
  ask_again(d, k, fired_us);
  (void)pawl_enter(d, k, NULL, &later);
  return lane;
}

/* The token that goes on as it fires; -1: none does. */
static int fired(pawl_decision *d, int k, const pawl_node *node) {
  const int64_t due = pawl_tok(d, k)->due_us, now = pawl_decision_now(d);
  pawl_error err;

  if (node->host >= 0 && node->interrupts) pawl_boundary_interrupt(d, k);
  if (node->has_every) return stand_again(d, k, due);
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
  if (!pawl_node_repeats(node)) pawl_stop_waiting(d, k, NULL);
  pawl_record *r = pawl_token_record(d, k, "timer");
  const int record = d->plan.nrecords - 1;

  r->due_us = pawl_tok(d, k)->due_us;
  d->plan.outcome = "fired";
  k = fired(d, k, node);
  if (k < 0) return;
  pawl_leave_by(d, k, node->next[0].to, record);
  pawl_trace_wait(d, k, node);
}

/* A boundary whose time is counted from when what it is on was come to; of one
 * that asks for each time, `since` would say that it has fired. */
static void count_anew(pawl_decision *d, int k, const pawl_node *node) {
  const pawl_token *t = pawl_tok(d, k);
  const int64_t since =
      pawl_boundary_since(d, (int32_t)pawl_detail_of(t)->host);
  const int64_t lasts_us = pawl_token_limit(t, node);

  if (node->has_at || node->has_every || node->moved_by ||
      (pawl_node_asks_limit(node) && !pawl_detail_has(t, PAWL_DETAIL_limit)))
    ask_again(d, k, node->has_every ? 0 : since);
  else
    pawl_stand(d, k,
               first_time(node, pawl_time_after(since, lasts_us),
                          pawl_decision_now(d)));
}

/* One that comes again and again, in either version, does not say when it
 * began. */
static int has_other_times(pawl_token *t, const pawl_node *was,
                           const pawl_node *is) {
  return was == is || pawl_limit_transfer(t, was, is) ||
         was->every_us != is->every_us || was->has_every != is->has_every ||
         is->has_at;
}

/* Its time counts from when it began; what moves it is the new one's. A
 * boundary that begins here has no other it was (boundary.c). */
static void transfer(pawl_decision *d, int k, const pawl_node *was,
                     const pawl_node *is) {
  if (was == is || pawl_node_repeats(was) || pawl_node_repeats(is)) {
    if (has_other_times(pawl_tok(d, k), was, is))
      count_anew(d, k, is);
    else
      pawl_reschedule_transfer(d, k, was, is);
    return;
  }
  if (is->has_at) {
    ask_again(d, k, 0);
    return;
  }
  pawl_wait_transfer(d, k, was, is);
  pawl_reschedule_transfer(d, k, was, is);
}

const pawl_kind_rules pawl_kind_timer = {
    .enter = enter, .time_out = fire, .transfer = transfer};
