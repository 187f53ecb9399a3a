/* Tokens: how they come into being, inside which fork, and how they end. */
#include <assert.h>
#include <string.h>

#include "machine.h"

/* ---- new ones ---- */

int pawl_token_new(pawl_decision *d, int from) {
  pawl_plan *p = &d->plan;
  pawl_token *t = pawl_tokens_add(&p->state.tokens, p->alloc);

  if (!t) {
    p->failed = 1;
    return -1;
  }
  t->no = ++p->state.last_token;
  assert(p->state.tokens.n < 2 || t[-1].no < t->no); /* P1 */
  t->state = PAWL_TOKEN_ACTIVE;
  t->changed = 1;
  if (from < 0) return p->state.tokens.n - 1;
  const pawl_token *f = &p->state.tokens.at[from];
  t->node = f->node;
  t->previous = f->previous;
  t->fork = f->fork;
  t->branch = f->branch;
  t->visit = f->visit;
  t->entered_us = f->entered_us;
  t->depth = f->depth;
  memcpy(t->scope, f->scope, sizeof t->scope);
  pawl_buf_copy(&t->data, &f->data);
  pawl_buf_copy(&t->event, &f->event);
  pawl_detail_copy(t, f, PAWL_DETAIL_PASSED);
  return p->state.tokens.n - 1;
}

int pawl_token_branch(pawl_decision *d, int parent, const char *fork,
                      const char *branch) {
  int k = pawl_token_new(d, parent);

  if (k < 0) return k;
  pawl_token *t = pawl_tok(d, k);
  pawl_token *f = pawl_tok(d, parent);
  if (t->depth == PAWL_MAX_DEPTH) { /* check.c has refused such graphs */
    d->plan.failed = 1;
    return -1;
  }
  t->scope[t->depth++] = f->no;
  t->fork = fork;
  t->branch = branch;
  pawl_detail_level(t, f->fork, f->branch, pawl_buf_str(&f->data));
  return k;
}

void pawl_token_climb(pawl_decision *d, int k, int depth) {
  pawl_token *t = pawl_tok(d, k);
  pawl_levels *up = t->detail ? &t->detail->up : NULL;

  if (t->depth <= depth) return;
  t->depth = depth;
  t->fork = t->branch = NULL;
  pawl_buf_clear(&t->data);
  if (up && up->n > depth) {
    t->fork = up->at[depth].fork;
    t->branch = up->at[depth].branch;
    pawl_buf_copy(&t->data, &up->at[depth].data);
    up->n = depth;
  }
  if (!depth) pawl_detail_drop(t, PAWL_DETAIL_up);
  t->changed = 1;
}

/* ---- the end of them ---- */

void pawl_stop_waiting(pawl_decision *d, int k, const char *status) {
  const pawl_node *node = pawl_tok_node(d, k);

  if (pawl_tok(d, k)->state != PAWL_TOKEN_WAITING || !node) return;
  if (pawl_kind_of(d, node)->stop)
    pawl_kind_of(d, node)->stop(d, k, node, status);
  pawl_reschedule_end(d, k);
}

void pawl_token_end(pawl_decision *d, int k, const char *why) {
  assert(pawl_tok_live(d, k)); /* a token ends once */

  const pawl_node *node = pawl_tok_node(d, k);
  int parked = node && pawl_kind_of(d, node)->has_scope &&
               pawl_tok(d, k)->state == PAWL_TOKEN_WAITING;

  pawl_stop_waiting(d, k, "cancelled");
  if (!node || node->kind != PAWL_KIND_FORK) pawl_boundaries_leave(d, k);
  if (why) {
    pawl_record *r = pawl_token_record(d, k, "dropped");
    pawl_buf_addz(&r->text, why);
  }
  pawl_token *t = pawl_tok(d, k);
  pawl_token_close(t, why ? PAWL_TOKEN_DROPPED : PAWL_TOKEN_CONSUMED);
  if (parked) pawl_drop_scope(d, t->no, "its each was left");
}

void pawl_drop_scope(pawl_decision *d, int32_t no, const char *why) {
  for (int k = 0; k < d->plan.state.tokens.n; k++)
    if (pawl_tok_live(d, k) && pawl_token_is_in(pawl_tok(d, k), no))
      pawl_token_end(d, k, why);
}
