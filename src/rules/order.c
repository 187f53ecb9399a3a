#include "order.h"

#include "machine.h"

/* Is it to be tried again at its time? */
static int is_retry(const pawl_token *t) {
  return t->attempt && t->state == PAWL_TOKEN_ACTIVE && t->due_us;
}

int64_t pawl_order_place(const pawl_token *t) {
  const int64_t at = pawl_detail_of(t)->at;

  return at || !is_retry(t) ? at : t->due_us;
}

/* Letters come in the order in which they were received. */
static int is_followed(const pawl_decision *d, int64_t happened_us) {
  const int64_t deadline_us = d->plan.state.deadline_us;

  return pawl_is_behind(d) ||
         (deadline_us && deadline_us <= pawl_decision_now(d)) ||
         (d->nletters &&
          d->letters[d->nletters - 1].received_us > happened_us);
}

/* May something have come in between that ends the instance? */
static int may_end(const pawl_decision *d, int64_t happened_us,
                   int64_t found_us) {
  const int64_t deadline_us = d->plan.state.deadline_us;

  return happened_us < found_us &&
         (!d->def || d->def->ncancel_on ||
          (deadline_us > happened_us && deadline_us <= found_us));
}

/* When: by who may run nothing it is not, yet. */
static int64_t found_at(const pawl_decision *d) {
  if (d->plan.found_us) return d->plan.found_us;
  return d->def && d->turn != PAWL_TURN_LETTERS ? pawl_decision_now(d)
                                                : PAWL_NEVER;
}

void pawl_order_note(pawl_decision *d, int k, int64_t happened_us) {
  const int64_t found_us = found_at(d);
  const int may = may_end(d, happened_us, found_us);

  if (!pawl_tok(d, k)->depth && d->plan.state.tokens.n < 2 &&
      !is_followed(d, happened_us) && !(may && found_us == PAWL_NEVER))
    return;
  pawl_detail_set(pawl_tok(d, k), PAWL_DETAIL_at, happened_us);
  if (may)
    pawl_detail_set(pawl_tok(d, k), PAWL_DETAIL_found, found_us);
  else
    pawl_detail_drop(pawl_tok(d, k), PAWL_DETAIL_found);
}

void pawl_order_follow(pawl_decision *d, const pawl_token *t) {
  const int64_t found_us = t ? pawl_detail_of(t)->found : 0;

  d->plan.found_us = found_us || !t ? found_us : pawl_order_place(t);
}

void pawl_order_enter(pawl_decision *d, int k) {
  const int64_t us = pawl_order_place(pawl_tok(d, k));

  if (us && (!pawl_detail_has(pawl_tok(d, k), PAWL_DETAIL_at) ||
             pawl_detail_of(pawl_tok(d, k))->found == PAWL_NEVER))
    pawl_order_note(d, k, us);
  pawl_order_follow(d, pawl_tok(d, k));
}

void pawl_order_drop(pawl_token *t) {
  pawl_detail_drop(t, PAWL_DETAIL_at);
  pawl_detail_drop(t, PAWL_DETAIL_found);
}

void pawl_order_pass(pawl_decision *d, int from, int to) {
  const int64_t us = pawl_order_place(pawl_tok(d, from));
  const int64_t found_us = d->plan.found_us;

  if (us <= pawl_order_place(pawl_tok(d, to))) return;
  pawl_order_follow(d, pawl_tok(d, from));
  pawl_order_note(d, to, us);
  d->plan.found_us = found_us;
}

int64_t pawl_order_first(const pawl_decision *d,
                         const pawl_token_list *tokens) {
  int64_t first = PAWL_NEVER;

  if (tokens->n < 2 || (d->rounds > PAWL_ORDER_ROUNDS && !d->plan.only_us))
    return first;
  const int64_t now_us = pawl_decision_now(d);
  for (int k = 0; k < tokens->n; k++) {
    const pawl_token *t = &tokens->at[k];
    if (t->state != PAWL_TOKEN_ACTIVE || t->due_us > now_us ||
        pawl_is_aloft(d, t) ||
        (d->plan.only_us && !pawl_order_is_late(t, d->plan.only_us)))
      continue;
    int64_t at = pawl_order_place(t);
    if (at && at < first) first = at;
  }
  return first;
}

int pawl_order_may_run(const pawl_token *t, int64_t first) {
  return first == PAWL_NEVER || pawl_order_place(t) == first;
}

int pawl_order_is_before(const pawl_token *t, int64_t us) {
  const int64_t at = pawl_order_place(t);

  return at && at < us;
}

int pawl_order_is_late(const pawl_token *t, int64_t us) {
  return pawl_order_is_before(t, us) &&
         (pawl_detail_of(t)->found >= us || is_retry(t));
}

/* But at an each, with what its items have brought, and at a condition that is
 * still to be asked: so they go on. */
static int stays(const pawl_token *t) {
  return pawl_detail_of(t)->total || pawl_token_asks_now(t);
}

void pawl_order_forget(pawl_decision *d) {
  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    pawl_token *t = pawl_tok(d, k);
    if (t->changed && t->state == PAWL_TOKEN_WAITING && pawl_order_place(t) &&
        !stays(t))
      pawl_order_drop(t);
  }
}
