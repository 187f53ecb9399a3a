/* engine/work/batch.h: what those share who write one batch: commit.c,
 * commit_rows.c, plain.c, large_vars.c, attr_log.c. Nobody else includes it.
 *
 * Layer    engine/work: parts of one batch; see commit.c for their order. */
#ifndef PAWL_ENGINE_WORK_BATCH_H
#define PAWL_ENGINE_WORK_BATCH_H

#include "slots.h"

/* The plans of a batch, all of one shard. */
#define EACH(h)                  \
  for (int i_ = 0; i_ < n; i_++) \
    for (pawl_held *h = list[i_]; h; h = NULL)

/* Does it change the instance, or only when to look at it again? */
int pawl_plan_writes(const pawl_plan *p);
int pawl_plan_has(const pawl_plan *p, pawl_effect_kind kind);
/* The token whose row is folded into the instance's; NULL: none is. */
static inline const pawl_token *pawl_lone_of(const pawl_plan *p) {
  return pawl_tokens_folded(&p->state.tokens);
}
/* Is it one that what has just come in would change? */
int pawl_plan_needs_latch(const pawl_plan *p);
/* The latch that must not have moved; null when it may. */
int64_t pawl_held_guard(const pawl_held *h);
/* Members of a statement's arguments: of a row that is found, or written, under
 * the lease and while its latch stands still. */
#define PAWL_GUARD_MEMBERS(h) \
  PAWL_LEASE_MEMBERS(h), .latch = pawl_held_guard(h)
/* What every commit writes of an instance, plain or full. Large variables have
 * rows of their own (large_vars.h), and are null here. */
#define PAWL_ROW_MEMBERS(h)                                            \
  .commits = (h)->d.commits, .seq = (h)->d.seq + (h)->d.plan.nrecords, \
  .variables = pawl_buf_given(&(h)->d.plan.vars,                       \
                              (h)->d.plan.vars_changed && !(h)->vars_parts)
/* Of one that runs, and of one that ends. */
#define PAWL_STEP_MEMBERS(h)                             \
  PAWL_ROW_MEMBERS(h), .visit = (h)->d.plan.state.visit, \
                       .started_at = pawl_commit_started_us(h)
#define PAWL_END_MEMBERS(h)                                   \
  PAWL_STEP_MEMBERS(h),                                       \
      .node = pawl_strz((h)->d.plan.state.node),              \
      .previous_node = pawl_strz((h)->d.plan.state.previous), \
      .attempt = pawl_commit_attempt(h),                      \
      .output = pawl_buf_some(&(h)->d.plan.state.output)
/* The same of `r`, the k-th row of history that its plan makes. */
#define PAWL_RECORD_MEMBERS(e, h, r, k)                                   \
  .executor = &(e)->executor, .seq = (h)->d.seq + 1 + (k),                \
  .type = pawl_strz((r)->type), .node = pawl_strz((r)->node),             \
  .token = (r)->token, .visit = (r)->visit,                               \
  .transition = pawl_buf_some(&(r)->transition),                          \
  .path = pawl_buf_some(&(r)->path), .attempt = (r)->attempt,             \
  .output = pawl_buf_some(&(r)->output),                                  \
  .changes = pawl_buf_some(&(r)->changes), .started_at = (r)->started_us, \
  .completed_at = (r)->completed_us
/* One statement of a batch: a row of these members for each plan that `when`
 * holds of; both know its slot as `h`, and the plan as `p`. Where there is no
 * row nothing is sent. *at: where its result will be; NULL: nobody asks. */
#define PAWL_SEND_PLANS(stmt, at, when, ...)            \
  do {                                                  \
    pawl_args_begin(&e->args, PAWL_STMT_##stmt);        \
    EACH (h) {                                          \
      const pawl_plan *p = &h->d.plan;                  \
      (void)p;                                          \
      if (when) PAWL_PUT(&e->args, stmt, __VA_ARGS__);  \
    }                                                   \
    MUST(pawl_store_send(e->store, &e->args, at, err)); \
  } while (0)
/* When it began, if this is its first commit; else 0. */
int64_t pawl_commit_started_us(const pawl_held *h);
/* Attempts that failed where it ended. */
int64_t pawl_commit_attempt(const pawl_held *h);

/* ---- commit_rows.c: nothing is sent for a plain sequence ---- */

/* The instance's seldom changed columns. */
pawl_code pawl_commit_seldom(pawl_engine *e, pawl_held **list, int n,
                             pawl_error *err);
pawl_code pawl_commit_tokens(pawl_engine *e, pawl_held **list, int n,
                             int64_t now, pawl_error *err);
pawl_code pawl_commit_effects(pawl_engine *e, pawl_held **list, int n,
                              int64_t now, pawl_error *err);
/* May anything be left that was meant for one that ends? */
int pawl_commit_leaves(const pawl_held *h);
/* What an ended instance leaves behind: nobody will come for it. */
pawl_code pawl_commit_ends(pawl_engine *e, pawl_held **list, int n,
                           int64_t now, pawl_error *err);

#endif
