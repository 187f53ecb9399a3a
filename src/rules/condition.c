/* Waits for a condition: a handler that is asked about the variables as the
 * token comes to it, and again whenever they have changed.
 *
 *   Q3 whatever changes variables stirs them up, and what has done so has them
 *      looked at before anything else happens: the next letter, time or step
 *      finds those gone whose condition held in between.
 *   Q4 where no handler may be asked - the inbox is taken by who has none, the
 *      instance is suspended, its workflow unknown - that is stored with the
 *      token, and the instance is due until it was asked.
 *   Q5 nothing is asked, or due, that was not stirred up: it cannot spin.
 *   Q6 a change has the time of what led to it, however late that is seen: what
 *      was due before is over, and what is due later is not. So whoever lets a
 *      token go on has them looked at with its place (order.h). */
#include "machine.h"
#include "order.h"

#define MOST_ROUNDS 100 /* of those that each set others going */

/* A time that had come before the variables changed is over. */
static int is_too_late(const pawl_token *t, int64_t at_us) {
  return t->due_us && t->due_us < at_us;
}

pawl_code pawl_condition_ask(pawl_decision *d, int k, const pawl_node *node,
                             int *holds, pawl_error *err) {
  MUST(pawl_run_handler(d, k, node, PAWL_HANDLER_CONDITION, err));
  *holds = d->result->truth;
  return PAWL_OK;
}

/* It holds: the token goes on. */
static void met(pawl_decision *d, int k, const pawl_node *node,
                int64_t at_us) {
  int to = pawl_node_next(node, "", 0);

  if (to < 0) to = pawl_node_next(node, "met", 3);
  pawl_stop_waiting(d, k, NULL);
  pawl_record *r = pawl_token_record(d, k, "condition");
  if (node->nnext > 1) pawl_buf_addz(&r->transition, "met");
  r->due_us = pawl_tok(d, k)->due_us;
  pawl_buf_clear(&pawl_tok(d, k)->event);
  d->plan.outcome = "met";
  if (at_us) pawl_order_note(d, k, at_us);
  pawl_leave(d, k, to);
  pawl_trace_wait(d, k, node);
}

static void look_at(pawl_decision *d, int k, int64_t at_us) {
  const pawl_node *node = pawl_tok_node(d, k);
  pawl_error err = {0};
  int holds = 0;

  if (pawl_token_asks(pawl_tok(d, k)) == PAWL_ASKS_STORED)
    pawl_tok(d, k)->changed = 1;
  pawl_token_ask(pawl_tok(d, k), PAWL_ASKS_WAITS);
  if (!node || !node->has_condition) return;
  if (pawl_condition_ask(d, k, node, &holds, &err) != PAWL_OK)
    pawl_fail_token(d, k, &err, 0);
  else if (holds)
    met(d, k, node, at_us);
  pawl_joins_race(d);
}

static int may_ask(const pawl_decision *d) {
  return d->def && d->turn != PAWL_TURN_LETTERS && !d->plan.version &&
         d->plan.state.status != PAWL_STATUS_SUSPENDED &&
         !pawl_stays_ended(d) && !pawl_is_over(d);
}

/* Nobody may ask it now (Q4): whoever does is told since when, as that was in
 * time. */
static void store(pawl_decision *d, int k, int64_t at_us) {
  if (at_us) pawl_order_note(d, k, at_us);
  pawl_detail_set(pawl_tok(d, k), PAWL_DETAIL_asks, PAWL_ASKS_STORED);
  if (d->turn == PAWL_TURN_LETTERS) d->plan.leaves = 1;
}

/* 1: something has gone on, and may have changed variables on its way. */
static int look(pawl_decision *d, int64_t at_us) {
  const int64_t before_us = at_us ? at_us : pawl_decision_now(d);
  const int records = d->plan.nrecords;

  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    const pawl_asks how = pawl_token_asks(pawl_tok(d, k));
    if (how <= PAWL_ASKS_WAITS) continue;
    if (how == PAWL_ASKS_NOW && is_too_late(pawl_tok(d, k), before_us))
      pawl_token_ask(pawl_tok(d, k), PAWL_ASKS_WAITS);
    else if (may_ask(d))
      look_at(d, k,
              how == PAWL_ASKS_NOW ? at_us : pawl_order_place(pawl_tok(d, k)));
    else if (how == PAWL_ASKS_NOW)
      store(d, k, at_us);
  }
  return d->plan.nrecords > records;
}

void pawl_conditions_look(pawl_decision *d, int64_t at_us) {
  if (d->def && !d->def->has_conditions) return;
  for (int rounds = 0; rounds < MOST_ROUNDS && look(d, at_us); rounds++) {}
}

void pawl_conditions_keep(pawl_decision *d) {
  if (d->def && !d->def->has_conditions) return;
  for (int k = 0; k < d->plan.state.tokens.n; k++)
    if (pawl_token_asks(pawl_tok(d, k)) == PAWL_ASKS_NOW) store(d, k, 0);
}
