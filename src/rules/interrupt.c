/* What is to let others go first; and what interrupts: a boundary, or the
 * timeout of an each, ends what it is on with all that is inside.
 *
 *   O9 what is on a fork or an each comes after all that was set going inside
 *      before it (order.h): joins and eachs that have what they wait for go on
 *      first; while tokens are under way that something earlier set going, the
 *      letter or the time, and whatever came later, is left for the next look.
 *      Not for one that waits in its handler or for a place, or is to be tried
 *      again later; nor for one that goes round without waiting, or has to let
 *      such a one go first (O3): that may never end, and the interruption may
 *      be what is to end it.
 *  O10 so is whatever comes while a token is under way that something earlier
 *      set going, wherever that stands: what came later may win a race, end
 *      the instance, or be an event that the other is on its way to wait for.
 *      Not among more than a hundred tokens: each look for the letters of all
 *      of them has its price. Nor for more than a hundred steps in a claim.
 */
#include <assert.h>
#include <string.h>

#include "machine.h"
#include "order.h"

/* ---- who is under way ---- */

/* Can it begin, beside handlers that wait? */
static int has_place(const pawl_decision *d, const pawl_node *node) {
  if (node->kind == PAWL_KIND_UNDO) return !d->naloft;
  return d->may_wait || !pawl_wants_place(node);
}

/* Will it take a step in this look or the next, or what lies there for it? */
static int is_under_way(pawl_decision *d, int k) {
  const pawl_token *t = pawl_tok(d, k);

  if (t->state == PAWL_TOKEN_WAITING) return t->blind;
  if (t->state != PAWL_TOKEN_ACTIVE || t->due_us > pawl_decision_now(d) ||
      pawl_is_aloft(d, t))
    return 0;
  const pawl_node *node = pawl_tok_node(d, k);
  return node && has_place(d, node);
}

/* Is it an each that the token is an item of? */
static int ends_item(const pawl_token *t, const pawl_node *node) {
  const pawl_levels *up = &pawl_detail_of(t)->up;

  if (node->kind != PAWL_KIND_EACH) return 0;
  if (t->fork && !strcmp(t->fork, node->name)) return 1;
  for (int i = 0; i < up->n; i++)
    if (up->at[i].fork && !strcmp(up->at[i].fork, node->name)) return 1;
  return 0;
}

/* Who comes there stands until something happens that has not yet: not, as a
 * rule, where a condition holds, or for a time that a handler says. Or it ends
 * there, as an item of an each. */
static int stops(const pawl_decision *d, const pawl_node *node,
                 const pawl_token *t) {
  (void)d;
  return node->kind == PAWL_KIND_TASK || node->kind == PAWL_KIND_CALL ||
         (node->kind == PAWL_KIND_WAIT && !node->has_condition) ||
         (node->kind == PAWL_KIND_TIMER && !node->has_at) ||
         ends_item(t, node);
}

static int goes_round(pawl_decision *d, int k) {
  const pawl_node *node = pawl_tok_node(d, k);

  if (!node) return 0;
  const int at = (int)(node - d->def->nodes);
  return pawl_has_way(d, at, at, stops, pawl_tok(d, k));
}

static int is_in_the_way(pawl_decision *d, int k) {
  const pawl_token *t = pawl_tok(d, k);
  const pawl_node *node = pawl_tok_node(d, k);

  return (node && !pawl_is_aloft(d, t) && !has_place(d, node)) ||
         goes_round(d, k);
}

/* Does one go round, or find no place, whose turn is first? Then nobody else
 * has his. Where all have lost their places, it may be any of them. */
static int is_crowded(pawl_decision *d) {
  const pawl_token_list *all = &d->plan.state.tokens;
  const int64_t first = pawl_order_first(d, all);

  for (int k = 0; k < all->n; k++)
    if (all->at[k].state == PAWL_TOKEN_ACTIVE &&
        pawl_order_may_run(&all->at[k], first) && is_in_the_way(d, k))
      return 1;
  return 0;
}

static int was_first(pawl_decision *d, int k, int64_t before_us) {
  return is_under_way(d, k) && pawl_order_is_before(pawl_tok(d, k), before_us);
}

static int is_busy_inside(pawl_decision *d, int32_t host, int64_t before_us) {
  pawl_inside in = pawl_inside_fork(d, host);
  int k;

  while ((k = pawl_inside_next(d, &in)) >= 0)
    if (pawl_token_is_in(pawl_tok(d, k), host) && was_first(d, k, before_us))
      return !is_crowded(d);
  return 0;
}

/* Its index, where that token stands at a node around others; -1: it does
 * not. */
static int parked_at(pawl_decision *d, int32_t host) {
  pawl_token_list *all = &d->plan.state.tokens;
  const pawl_token *t = pawl_tokens_find(all, host);

  if (!t || !pawl_token_is_live(t->state)) return -1;
  const int k = (int)(t - all->at);
  const pawl_node *node = pawl_tok_node(d, k);
  return node && pawl_kind_of(d, node)->has_scope ? k : -1;
}

int pawl_scope_goes_first(pawl_decision *d, int32_t host, int64_t before_us) {
  pawl_gather(d);
  if (pawl_is_over(d)) return 0;
  const int parked = parked_at(d, host);
  if (!(parked >= 0 && pawl_each_is_through(pawl_tok(d, parked))) &&
      !is_busy_inside(d, host, before_us))
    return 0;
  d->plan.holds = 1;
  return 1;
}

/* ---- one after the other ---- */

/* Of those inside of something else one is through, and has not gone on. */
static int an_each_goes_on(pawl_decision *d) {
  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    const pawl_token *t = pawl_tok(d, k);
    const pawl_node *node = t->depth ? pawl_tok_node(d, k) : NULL;
    if (node && pawl_kind_of(d, node)->has_scope && pawl_each_is_through(t))
      return 1;
  }
  return 0;
}

/* A branch that takes what lies there, one thing after the other, may have as
 * long a way as that. */
static int is_patient(pawl_decision *d) {
  return d->rounds <= PAWL_ORDER_ROUNDS && !is_crowded(d);
}

static int is_busy(pawl_decision *d, int64_t before_us) {
  for (int k = 0; k < d->plan.state.tokens.n; k++)
    if (was_first(d, k, before_us)) return is_patient(d);
  return 0;
}

int pawl_others_go_first(pawl_decision *d, int64_t before_us) {
  const int n = d->plan.state.tokens.n;

  if (n < 2 || n > PAWL_ORDER_TOKENS) return 0;
  int waits = an_each_goes_on(d);
  if (waits) {
    pawl_gather(d);
    waits = an_each_goes_on(d);
  }
  if (pawl_is_over(d) || !(waits || is_busy(d, before_us))) return 0;
  d->plan.holds = 1;
  return 1;
}

/* ---- what ends all ---- */

/* What goes round may do so for ever; all else comes to an end. */
static int is_found_late(pawl_decision *d, int k, int64_t before_us) {
  return pawl_order_is_late(pawl_tok(d, k), before_us) && is_under_way(d, k) &&
         (d->rounds <= PAWL_ORDER_ROUNDS || !goes_round(d, k));
}

int pawl_late_go_first(pawl_decision *d, int64_t before_us) {
  pawl_gather(d);
  pawl_end_last(d);
  if (pawl_is_over(d)) return 0;
  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    if (!is_found_late(d, k, before_us)) continue;
    d->plan.holds = 1;
    d->plan.only_us = before_us;
    return 1;
  }
  return 0;
}

/* ---- boundaries ---- */

static int is_beside(const pawl_node *node) {
  return node && node->host >= 0;
}

int pawl_boundary_waits(pawl_decision *d, int k, int64_t at_us) {
  const int32_t host = (int32_t)pawl_detail_of(pawl_tok(d, k))->host;
  const pawl_token *t = pawl_tokens_find(&d->plan.state.tokens, host);

  if (!is_beside(pawl_tok_node(d, k))) return 0;
  if (t && pawl_token_is_live(t->state) && parked_at(d, host) < 0)
    return 0; /* nothing is inside of it */
  return pawl_scope_goes_first(d, host, at_us);
}

static int may_take(pawl_decision *d, int k, const pawl_letter *l) {
  const pawl_token *t = pawl_tok(d, k);

  if (t->state != PAWL_TOKEN_WAITING || !pawl_detail_of(t)->host) return 0;
  const pawl_node *node = pawl_tok_node(d, k);
  return is_beside(node) && node->event &&
         (!pawl_letter_is(l, "event") || /* a child's escalation */
          pawl_event_matches(node->event, pawl_buf_str(&l->name)));
}

static int beside_waits(pawl_decision *d, const pawl_letter *l) {
  if (!d->def->has_boundaries) return 0;
  for (int k = 0; k < d->plan.state.tokens.n && !pawl_is_over(d); k++)
    if (may_take(d, k, l) && pawl_boundary_waits(d, k, l->received_us))
      return 1;
  return 0;
}

int pawl_letter_waits(pawl_decision *d, const pawl_letter *l) {
  return pawl_others_go_first(d, l->received_us) || beside_waits(d, l);
}

/* O6: it has no host any more as it drops that, or it would end with it. */
void pawl_boundary_interrupt(pawl_decision *d, int k) {
  pawl_token_list *all = &d->plan.state.tokens;
  const int32_t host = (int32_t)pawl_detail_of(pawl_tok(d, k))->host;
  pawl_buf why = {.alloc = d->alloc};

  assert(host);
  pawl_detail_drop(pawl_tok(d, k), PAWL_DETAIL_host);
  pawl_buf_addf(&why, "interrupted by \"%s\"", pawl_tok(d, k)->node);
  const pawl_token *t = pawl_tokens_find(all, host);
  if (why.failed)
    d->plan.failed = 1;
  else if (t && pawl_token_is_live(t->state))
    pawl_token_end(d, (int)(t - all->at), why.at);
  else
    pawl_drop_scope(d, host, why.at);
  pawl_boundaries_close(d, host); /* of a fork */
  pawl_buf_deinit(&why);
}
