/* Boundaries: timers and waits that stand beside a node for as long as its
 * token does, each a token of its own in the same forks.
 *
 *   O5 a boundary lives as long as what it is on: it ends as that token leaves
 *      its node or ends; on a fork, as its join fires for it, or nobody is
 *      left inside.
 *   O6 one that interrupts goes on in place of that token, which is dropped
 *      with all that is inside of it. Any other begins a lane: a token that
 *      goes its own way, and ends at a finish.
 *   O7 in one visit of a node each is begun once, also where the node is tried
 *      again. Who stands there as the instance goes on in another version gets
 *      those that are new in that. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "machine.h"

/* ---- begun ---- */

static void begin_one(pawl_decision *d, int k, int at) {
  const int32_t host = pawl_tok(d, k)->no;
  const int boundary = pawl_token_new(d, k);

  if (boundary < 0) return;
  pawl_token *t = pawl_tok(d, boundary);
  t->previous = t->node;
  t->node = d->def->nodes[at].name;
  t->visit = ++d->plan.state.visit;
  t->entered_us = 0;
  pawl_detail_set(t, PAWL_DETAIL_host, host);
  pawl_error later; /* it is told when that is tried again */
  (void)pawl_enter(d, boundary, NULL, &later);
}

pawl_code pawl_boundaries_begin(pawl_decision *d, int k, const pawl_node *node,
                                pawl_error *err) {
  if (!node->nbeside || pawl_detail_of(pawl_tok(d, k))->guarded)
    return PAWL_OK; /* O7 */
  MUST(pawl_tokens_bear(d, node->nbeside, err));
  pawl_detail_set(pawl_tok(d, k), PAWL_DETAIL_guarded, 1);
  for (int i = 0; i < node->nbeside; i++) begin_one(d, k, node->beside[i]);
  return PAWL_OK;
}

/* ---- begun in another version ---- */

/* Of a fork nobody keeps it: whoever has stood longest inside, or beside it,
 * has come when it was, or a little later. */
int64_t pawl_boundary_since(pawl_decision *d, int32_t host) {
  int64_t since = pawl_decision_now(d);

  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    const pawl_token *t = pawl_tok(d, k);
    if (!pawl_tok_live(d, k) || !t->entered_us || t->entered_us >= since)
      continue;
    if (t->no == host || pawl_detail_of(t)->host == host ||
        pawl_token_is_in(t, host))
      since = t->entered_us;
  }
  return since;
}

void pawl_boundary_begin(pawl_decision *d, int32_t no, int level,
                         const pawl_node *node, const char *name,
                         const char *on) {
  pawl_token *t = pawl_tokens_find(&d->plan.state.tokens, no);
  const int32_t host = level < 0 ? no : t->scope[level];
  const int64_t since = pawl_boundary_since(d, host);

  if (level < 0) pawl_detail_set(t, PAWL_DETAIL_guarded, 1);
  const int k = pawl_token_new(d, (int)(t - d->plan.state.tokens.at));
  if (k < 0) return;
  t = pawl_tok(d, k);
  if (level >= 0) {
    pawl_token_climb(d, k, level);
    pawl_buf_clear(&t->event); /* of a branch */
  }
  t->previous = on;
  t->node = name;
  t->visit = ++d->plan.state.visit;
  t->entered_us = since;
  pawl_detail_set(t, PAWL_DETAIL_host, host);
  pawl_record_leads(d, k);
  /* one that has failed listens when it is tried again */
  if (node->kind == PAWL_KIND_TIMER || !pawl_stays_ended(d))
    pawl_kind_of(d, node)->transfer(d, k, node, node);
}

/* ---- ended ---- */

void pawl_boundaries_close(pawl_decision *d, int32_t host) {
  if (!d->def || !d->def->has_boundaries) return;
  for (int k = 0; k < d->plan.state.tokens.n; k++)
    if (pawl_tok_live(d, k) && pawl_detail_of(pawl_tok(d, k))->host == host)
      pawl_token_end(d, k, NULL);
}

void pawl_boundaries_leave(pawl_decision *d, int k) {
  if (!pawl_detail_of(pawl_tok(d, k))->guarded) return;
  pawl_detail_drop(pawl_tok(d, k), PAWL_DETAIL_guarded);
  pawl_boundaries_close(d, pawl_tok(d, k)->no); /* O5 */
}

static int lives(pawl_decision *d, int32_t host) {
  const pawl_token *t = pawl_tokens_find(&d->plan.state.tokens, host);

  return (t && pawl_token_is_live(t->state)) || pawl_inside_lives(d, host);
}

int pawl_boundaries_settle(pawl_decision *d) {
  int any = 0;

  if (!d->def->has_boundaries) return 0;
  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    const int64_t host = pawl_detail_of(pawl_tok(d, k))->host;
    if (!host || !pawl_tok_live(d, k) || lives(d, (int32_t)host)) continue;
    pawl_token_end(d, k, NULL);
    any = 1;
  }
  return any;
}

/* ---- it has come to pass ---- */

int pawl_boundary_lane(pawl_decision *d, int k) {
  pawl_error err;

  if (pawl_tokens_bear(d, 1, &err) != PAWL_OK) {
    pawl_fail_token(d, k, &err, 0);
    return -1;
  }
  const int lane = pawl_token_new(d, k);
  if (lane < 0) return lane;
  pawl_record_leads(d, lane);
  pawl_token *t = pawl_tok(d, k); /* it stands on, in another visit */
  t->visit = ++d->plan.state.visit;
  t->entered_us = pawl_decision_now(d);
  t->changed = 1;
  pawl_conditions_stir(d); /* who has it looked at now and then */
  return lane;
}

/* Or it would be said to be where each reminder ended. */
void pawl_boundaries_stand(pawl_decision *d) {
  const pawl_token *newest = NULL;

  if (!d->def->has_boundaries) return;
  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    const pawl_token *t = pawl_tok(d, k);
    if (!pawl_token_is_live(t->state) || pawl_detail_of(t)->host) continue;
    if (!newest || t->visit > newest->visit) newest = t;
  }
  if (newest) d->plan.state.node = newest->node;
}

/* ---- one that has failed comes back ---- */

/* A fork's, and an each's, stand on as that does; all others are begun again
 * with their node. */
void pawl_boundaries_restore(pawl_decision *d) {
  pawl_token_list *all = &d->plan.state.tokens;

  for (int k = 0; k < all->n; k++) {
    const int32_t host = (int32_t)pawl_detail_of(&all->at[k])->host;
    const pawl_token *t = host ? pawl_tokens_find(all, host) : NULL;
    if (t && t->state == PAWL_TOKEN_ACTIVE) pawl_token_end(d, k, NULL);
  }
}
