/* What the statements of one batch have in common. */
#include "batch.h"

/* ---- what a plan writes ---- */

int pawl_plan_writes(const pawl_plan *p) {
  return p->after != PAWL_AFTER_BACK && p->after != PAWL_AFTER_FORGET;
}

int pawl_plan_has(const pawl_plan *p, pawl_effect_kind kind) {
  for (int i = 0; i < p->neffects; i++)
    if (p->effects[i].kind == kind) return 1;
  return 0;
}

int64_t pawl_commit_started_us(const pawl_held *h) {
  return h->d.state.started_us ? 0 : h->d.plan.state.started_us;
}

int64_t pawl_commit_attempt(const pawl_held *h) {
  const pawl_token_list *t = &h->d.plan.state.tokens;
  return t->n == 1 ? t->at[0].attempt : 0;
}

/* Rule 6: what cannot be undone is decided on what is there now. */
int pawl_plan_needs_latch(const pawl_plan *p) {
  return p->after == PAWL_AFTER_END || p->after == PAWL_AFTER_FORGET ||
         p->needs_latch;
}

/* ---- arguments ---- */

/* A null guard asks for the lease alone: what only goes on may be late for
 * what has come in, which the latch brings to it next. */
int64_t pawl_held_guard(const pawl_held *h) {
  return pawl_plan_needs_latch(&h->d.plan) ? h->latch : PAWL_NULL;
}
