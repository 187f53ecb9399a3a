/* Plain steps: the row, its history, and for those that end the agenda. */
#include "plain.h"

#include "large_vars.h"

/* ---- what is plain ---- */

static int is_plain_record(const pawl_record *r) {
  return !r->caller.len && !r->text.len && !r->error.len && !r->due_us &&
         !r->previous.len;
}

static int are_plain_records(const pawl_plan *p) {
  for (int k = 0; k < p->nrecords; k++)
    if (!is_plain_record(&p->records[k])) return 0;
  return p->nrecords > 0;
}

/* Nothing but one token, which has no row and no texts of its own. */
static int is_plain_token(const pawl_tokens *tokens) {
  const pawl_token *t = pawl_token_folded(tokens);

  return tokens->n == 1 && t && !t->data.len && !t->event.len &&
         !t->detail.len;
}

static int goes_on_plainly(const pawl_held *h) {
  const pawl_plan *p = &h->plan;
  const pawl_token *t = pawl_token_folded(&p->tokens);

  return p->after == PAWL_AFTER_GO_ON && p->status == PAWL_STATUS_RUNNING &&
         !p->needs_latch && is_plain_token(&p->tokens) &&
         t->state == PAWL_TOKEN_ACTIVE && !t->due_us && !t->attempt;
}

static int completes_plainly(const pawl_held *h) {
  const pawl_plan *p = &h->plan;

  return p->after == PAWL_AFTER_END && p->status == PAWL_STATUS_COMPLETED &&
         p->tokens.n == 1 && !p->tokens.at[0].data.len &&
         !pawl_commit_leaves(h);
}

static int small_variables(const pawl_held *h) {
  const pawl_plan *p = &h->plan;

  if (h->parts) return 0;
  return !p->vars_changed || !pawl_parts_count(0, pawl_buf_str(&p->vars));
}

int pawl_plan_is_plain(const pawl_held *h) {
  const pawl_plan *p = &h->plan;

  return h->status == PAWL_STATUS_RUNNING && !h->reset && !h->latch &&
         !h->pin && !h->nletters &&
         (!h->tokens.n || is_plain_token(&h->tokens)) &&
         (goes_on_plainly(h) || completes_plainly(h)) && !p->more &&
         !p->neffects && !p->attrs.len && !p->error.len &&
         !p->cancellation.len && !p->workflow_version && !p->begin_us &&
         !p->revives && p->sent == h->sent && p->last_token <= 1 &&
         are_plain_records(p) && small_variables(h);
}

/* ---- arguments ---- */

static pawl_code send_gone(pawl_engine *e, pawl_held **list, int n,
                           pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_AGENDA_FINISH);
  pawl_arg_int(a, PAWL_AGENDA_FINISH_SHARD, list[0]->shard);
  EACH(h) {
    if (h->plan.after != PAWL_AFTER_END) continue;
    pawl_arg_id(a, PAWL_AGENDA_FINISH_ID, &h->id);
    pawl_arg_id(a, PAWL_AGENDA_FINISH_LEASE, &h->lease);
    pawl_arg_int(a, PAWL_AGENDA_FINISH_SEEN, h->latch);
  }
  return pawl_commit_send(e, err);
}

static pawl_code send_finishes(pawl_engine *e, pawl_held **list, int n,
                               int64_t now, pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_INSTANCE_FINISH);
  pawl_arg_int(a, PAWL_INSTANCE_FINISH_SHARD, list[0]->shard);
  pawl_arg_time(a, PAWL_INSTANCE_FINISH_NOW, now);
  EACH(h) {
    const pawl_plan *p = &h->plan;
    if (p->after != PAWL_AFTER_END) continue;
    pawl_arg_id(a, PAWL_INSTANCE_FINISH_ID, &h->id);
    pawl_arg_id(a, PAWL_INSTANCE_FINISH_LEASE, &h->lease);
    pawl_arg_int(a, PAWL_INSTANCE_FINISH_VERSION, h->version);
    pawl_arg_given(a, PAWL_INSTANCE_FINISH_VARIABLES, &p->vars,
                   p->vars_changed);
    pawl_arg_textz(a, PAWL_INSTANCE_FINISH_NODE, p->node);
    pawl_arg_textz(a, PAWL_INSTANCE_FINISH_PREVIOUS_NODE, p->previous);
    pawl_arg_int(a, PAWL_INSTANCE_FINISH_VISIT, p->visit);
    pawl_arg_int(a, PAWL_INSTANCE_FINISH_ATTEMPT, p->tokens.at[0].attempt);
    pawl_arg_int(a, PAWL_INSTANCE_FINISH_SEQ, h->seq + p->nrecords);
    pawl_arg_given(a, PAWL_INSTANCE_FINISH_OUTPUT, &p->output, p->has_output);
    pawl_arg_when(a, PAWL_INSTANCE_FINISH_STARTED_AT, p->started_us);
  }
  return pawl_commit_send(e, err);
}

static pawl_code send_steps(pawl_engine *e, pawl_held **list, int n,
                            int64_t now, pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_INSTANCE_STEP);
  pawl_arg_int(a, PAWL_INSTANCE_STEP_SHARD, list[0]->shard);
  pawl_arg_time(a, PAWL_INSTANCE_STEP_NOW, now);
  EACH(h) {
    const pawl_plan *p = &h->plan;
    const pawl_token *t = pawl_token_folded(&p->tokens);
    if (p->after != PAWL_AFTER_GO_ON) continue;
    pawl_arg_id(a, PAWL_INSTANCE_STEP_ID, &h->id);
    pawl_arg_id(a, PAWL_INSTANCE_STEP_LEASE, &h->lease);
    pawl_arg_int(a, PAWL_INSTANCE_STEP_VERSION, h->version);
    pawl_arg_given(a, PAWL_INSTANCE_STEP_VARIABLES, &p->vars, p->vars_changed);
    pawl_arg_int(a, PAWL_INSTANCE_STEP_TOKEN_NO, t->no);
    pawl_arg_textz(a, PAWL_INSTANCE_STEP_NODE, t->node);
    pawl_arg_textz(a, PAWL_INSTANCE_STEP_PREVIOUS_NODE, t->previous);
    pawl_arg_int(a, PAWL_INSTANCE_STEP_VISIT, p->visit);
    pawl_arg_int(a, PAWL_INSTANCE_STEP_SEQ, h->seq + p->nrecords);
    pawl_arg_when(a, PAWL_INSTANCE_STEP_STARTED_AT, p->started_us);
  }
  return pawl_commit_send(e, err);
}

static void add_record(pawl_args *a, const pawl_held *h, const pawl_record *r,
                       int64_t seq) {
  pawl_arg_id(a, PAWL_HISTORY_STEP_ID, &h->id);
  pawl_arg_int(a, PAWL_HISTORY_STEP_SEQ, seq);
  pawl_arg_textz(a, PAWL_HISTORY_STEP_TYPE, r->type);
  pawl_arg_textz(a, PAWL_HISTORY_STEP_NODE, r->node);
  pawl_arg_number(a, PAWL_HISTORY_STEP_TOKEN, r->token);
  pawl_arg_int(a, PAWL_HISTORY_STEP_VISIT, r->visit);
  pawl_arg_buf(a, PAWL_HISTORY_STEP_TRANSITION, &r->transition);
  pawl_arg_buf(a, PAWL_HISTORY_STEP_PATH, &r->path);
  pawl_arg_number(a, PAWL_HISTORY_STEP_ATTEMPT, r->attempt);
  pawl_arg_buf(a, PAWL_HISTORY_STEP_OUTPUT, &r->output);
  pawl_arg_buf(a, PAWL_HISTORY_STEP_CHANGES, &r->changes);
  pawl_arg_when(a, PAWL_HISTORY_STEP_STARTED_AT, r->started_us);
  pawl_arg_time(a, PAWL_HISTORY_STEP_COMPLETED_AT, r->completed_us);
}

static pawl_code send_records(pawl_engine *e, pawl_held **list, int n,
                              pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_HISTORY_STEP);
  pawl_arg_int(a, PAWL_HISTORY_STEP_SHARD, list[0]->shard);
  pawl_arg_id(a, PAWL_HISTORY_STEP_EXECUTOR, &e->executor);
  EACH(h) {
    for (int k = 0; k < h->plan.nrecords; k++)
      add_record(a, h, &h->plan.records[k], h->seq + 1 + k);
  }
  return pawl_commit_send(e, err);
}

pawl_code pawl_plain_send(pawl_engine *e, pawl_held **list, int n,
                          pawl_error *err) {
  int64_t now = pawl_engine_now(e);
  pawl_code rc = PAWL_OK;

  EACH(h) h->plan.parts = 0;
  TRY(send_gone(e, list, n, err));
  TRY(send_finishes(e, list, n, now, err));
  TRY(send_steps(e, list, n, now, err));
  TRY(send_records(e, list, n, err));
out:
  return rc;
}

/* ---- what came of it ---- */

int pawl_plain_rows(pawl_held **list, int n) {
  int ends = 0;
  EACH(h) ends += h->plan.after == PAWL_AFTER_END;
  if (ends == n) return -1;
  return ends ? 2 : 0;
}
