/* Plain steps: the row, its history, and for those that end the agenda. */
#include "plain.h"

#include <assert.h>

#include "../common/time.h"
#include "batch.h"
#include "large_vars.h"

/* ---- what is plain ---- */

/* history_step has no columns for these. */
static int is_plain_record(const pawl_record *r) {
  return !r->by.len && !r->text.len && !r->error.len && !r->due_us &&
         !r->previous.len;
}

static int are_plain_records(const pawl_plan *p) {
  for (int k = 0; k < p->nrecords; k++)
    if (!is_plain_record(&p->records[k])) return 0;
  return p->nrecords > 0;
}

/* Nothing but one token, which has no row and no texts of its own. */
static int is_plain_token(const pawl_token_list *tokens) {
  const pawl_token *t = pawl_tokens_folded(tokens);

  return tokens->n == 1 && t && !t->data.len && !t->event.len &&
         !pawl_detail_of(t)->has;
}

/* instance_step writes a token that is active and was never tried before. */
static int goes_on_plainly(const pawl_held *h) {
  const pawl_plan *p = &h->d.plan;
  const pawl_token *t = pawl_tokens_folded(&p->state.tokens);

  return p->after == PAWL_AFTER_GO_ON &&
         p->state.status == PAWL_STATUS_RUNNING && !p->needs_latch &&
         is_plain_token(&p->state.tokens) && t->state == PAWL_TOKEN_ACTIVE &&
         !t->due_us && !t->attempt;
}

/* A token that has data may have to be kept, for what undoes the step; and
 * whatever was meant for the instance has rows that are to go, as its deadline
 * has. */
static int completes_plainly(const pawl_held *h) {
  const pawl_plan *p = &h->d.plan;

  return p->after == PAWL_AFTER_END &&
         p->state.status == PAWL_STATUS_COMPLETED && p->state.tokens.n == 1 &&
         !p->state.tokens.at[0].data.len && !h->d.state.deadline_us &&
         !pawl_commit_leaves(h);
}

/* Those that are large, or have just become so, have rows of their own. */
static int small_variables(const pawl_held *h) {
  const pawl_plan *p = &h->d.plan;

  if (h->parts) return 0;
  return !p->vars_changed || !pawl_parts_count(0, pawl_buf_str(&p->vars));
}

/* Q1: an agenda row with a latch or takeovers to take back, a version to be
 * pinned, a letter to be deleted: each is another row to write, and so are
 * effects. */
int pawl_plan_is_plain(const pawl_held *h) {
  const pawl_plan *p = &h->d.plan;

  return h->d.state.status == PAWL_STATUS_RUNNING && !h->d.takeovers &&
         !h->latch && h->fate == PAWL_FATE_STAYS && !h->d.nletters &&
         (!h->d.state.tokens.n || is_plain_token(&h->d.state.tokens)) &&
         (goes_on_plainly(h) || completes_plainly(h)) && !p->neffects &&
         !p->attrs.len && !p->error.len && !p->state.cancellation.len &&
         !p->state.begin_us && !p->revives && p->state.last_token <= 1 &&
         !pawl_decision_has_seldom(&h->d) && are_plain_records(p) &&
         small_variables(h);
}

/* ---- what is sent ---- */

static pawl_code send_records(pawl_engine *e, pawl_held **list, int n,
                              pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_history_step);
  EACH (h) {
    for (int k = 0; k < h->d.plan.nrecords; k++)
      PAWL_PUT(a, history_step, PAWL_SLOT_MEMBERS(h),
               PAWL_RECORD_MEMBERS(e, h, &h->d.plan.records[k], k));
  }
  return pawl_store_send(e->store, a, NULL, err);
}

pawl_code pawl_plain_send(pawl_engine *e, pawl_held **list, int n, int *at,
                          pawl_error *err) {
  const int64_t now = pawl_engine_now(e);

  EACH (h) {
    assert(!h->latch && !h->d.plan.neffects); /* Q1; it was asked for all */
    h->vars_parts = 0;
  }
  /* agenda rows first (S2): what is not as it was loaded undoes the unit
   * before anything else of it is written */
  PAWL_SEND_PLANS(agenda_finish, NULL, p->after == PAWL_AFTER_END,
                  PAWL_LEASE_MEMBERS(h), .seen = h->latch);
  PAWL_SEND_PLANS(instance_finish, NULL, p->after == PAWL_AFTER_END,
                  PAWL_LEASE_MEMBERS(h), PAWL_END_MEMBERS(h), .now = now);
  PAWL_SEND_PLANS(instance_step, at, p->after == PAWL_AFTER_GO_ON,
                  PAWL_LEASE_MEMBERS(h), PAWL_STEP_MEMBERS(h), .now = now,
                  .token_no = pawl_lone_of(p)->no,
                  .node = pawl_strz(pawl_lone_of(p)->node),
                  .previous_node = pawl_strz(pawl_lone_of(p)->previous));
  return send_records(e, list, n, err);
}
