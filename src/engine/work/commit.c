/* The batch: every plan under its instance's lease, in one round trip.
 *
 *   planned --> sent --> stored      the plan is the state now
 *                    --> not held    decided again on a fresh look, or dropped
 *                    --> refused     sent again in halves, down to one
 *                    --> no answer   settled by the row, under its lock
 *
 * Statements go in the order of the locks: agenda rows by id, instances, then
 * their rows (more.c sends those that a plain step has none of), and at last
 * what lets the agenda rows go. Plans that are all plain go a shorter way
 * (plain.h), and this one when that was refused. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "../../base/fault.h"
#include "../../value/json.h"
#include "../common/pipeline.h"
#include "../internal.h"
#include "commit.h"
#include "large_vars.h"
#include "plain.h"
#include "told.h"

#define BUSY_TRIES 5

/* ---- which plans need which statement ---- */

static int goes_on(const pawl_plan *p) {
  return pawl_plan_writes(p) && p->after != PAWL_AFTER_END && !p->stays;
}
static int ends(const pawl_plan *p) {
  return p->after == PAWL_AFTER_END;
}
/* Rule 6: what cannot be undone is decided on what is there now. */
static int needs_latch(const pawl_plan *p) {
  return p->after == PAWL_AFTER_END || p->after == PAWL_AFTER_FORGET ||
         p->needs_latch;
}
/* The latch falls only by what was seen: it is what brings the next holder to
 * the inbox. */
static int keeps(const pawl_held *h) {
  return h->plan.after == PAWL_AFTER_GO_ON && h->reset && h->plan.resets &&
         h->plan.heard;
}
static int releases(const pawl_plan *p) {
  return p->after == PAWL_AFTER_LET_GO || p->after == PAWL_AFTER_BACK ||
         p->after == PAWL_AFTER_SLEEP;
}
static int drops_row(const pawl_plan *p) {
  return p->after == PAWL_AFTER_END || p->after == PAWL_AFTER_FORGET ||
         p->after == PAWL_AFTER_SLEEP;
}

/* ---- arguments ---- */

int pawl_plan_writes(const pawl_plan *p) {
  return p->after != PAWL_AFTER_BACK && p->after != PAWL_AFTER_FORGET;
}

void pawl_arg_given(pawl_args *a, int arg, const pawl_buf *b, int given) {
  if (given)
    pawl_arg_str(a, arg, pawl_buf_str(b));
  else
    pawl_arg_null(a, arg);
}
void pawl_arg_buf(pawl_args *a, int arg, const pawl_buf *b) {
  pawl_arg_given(a, arg, b, b->len > 0);
}
void pawl_arg_when(pawl_args *a, int arg, int64_t us) {
  if (us)
    pawl_arg_time(a, arg, us);
  else
    pawl_arg_null(a, arg);
}
void pawl_arg_number(pawl_args *a, int arg, int64_t n) {
  if (n)
    pawl_arg_int(a, arg, n);
  else
    pawl_arg_null(a, arg);
}
void pawl_arg_latch(pawl_args *a, int arg, const pawl_held *h) {
  if (needs_latch(&h->plan))
    pawl_arg_int(a, arg, h->latch);
  else
    pawl_arg_null(a, arg);
}
/* Large ones are written by parts.c, and null here. */
static void arg_vars(pawl_args *a, int vars, int parts, const pawl_plan *p) {
  pawl_arg_given(a, vars, &p->vars, p->vars_changed && !p->parts);
  if (p->vars_changed)
    pawl_arg_int(a, parts, p->parts);
  else
    pawl_arg_null(a, parts);
}

pawl_code pawl_commit_send(pawl_engine *e, pawl_error *err) {
  if (!pawl_args_rows(&e->args)) return PAWL_OK;
  if (e->open_unit) e->open_unit++;
  return pawl_store_send(e->store, &e->args, err);
}

pawl_code pawl_commit_lock(pawl_engine *e, pawl_held **list, int n,
                           pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_AGENDA_LOCK);
  pawl_arg_int(a, PAWL_AGENDA_LOCK_SHARD, list[0]->shard);
  EACH(h) {
    pawl_arg_id(a, PAWL_AGENDA_LOCK_ID, &h->id);
    pawl_arg_id(a, PAWL_AGENDA_LOCK_LEASE, &h->lease);
    pawl_arg_latch(a, PAWL_AGENDA_LOCK_LATCH, h);
  }
  return pawl_commit_send(e, err);
}

static pawl_code send_instances(pawl_engine *e, pawl_held **list, int n,
                                int64_t now, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_INSTANCE_COMMIT);
  pawl_arg_int(a, PAWL_INSTANCE_COMMIT_SHARD, list[0]->shard);
  EACH(h) {
    const pawl_plan *p = &h->plan;
    const pawl_token *lone = pawl_token_folded(&p->tokens);
    if (!goes_on(p)) continue;
    assert(p->revives || pawl_status_may_move(h->status, p->status));
    pawl_arg_id(a, PAWL_INSTANCE_COMMIT_ID, &h->id);
    pawl_arg_id(a, PAWL_INSTANCE_COMMIT_LEASE, &h->lease);
    pawl_arg_latch(a, PAWL_INSTANCE_COMMIT_LATCH, h);
    pawl_arg_int(a, PAWL_INSTANCE_COMMIT_VERSION, h->version);
    pawl_arg_textz(a, PAWL_INSTANCE_COMMIT_WAS, pawl_status_name(h->status));
    pawl_arg_textz(a, PAWL_INSTANCE_COMMIT_STATUS,
                   pawl_status_name(p->status));
    arg_vars(a, PAWL_INSTANCE_COMMIT_VARIABLES, PAWL_INSTANCE_COMMIT_PARTS, p);
    pawl_arg_number(a, PAWL_INSTANCE_COMMIT_TOKEN_NO, lone ? lone->no : 0);
    pawl_arg_textz(a, PAWL_INSTANCE_COMMIT_TOKEN_STATE,
                   lone ? pawl_token_state_name(lone->state) : NULL);
    pawl_arg_textz(a, PAWL_INSTANCE_COMMIT_NODE, lone ? lone->node : p->node);
    pawl_arg_textz(a, PAWL_INSTANCE_COMMIT_PREVIOUS_NODE,
                   lone ? lone->previous : p->previous);
    pawl_arg_int(a, PAWL_INSTANCE_COMMIT_VISIT, p->visit);
    pawl_arg_int(a, PAWL_INSTANCE_COMMIT_ATTEMPT, lone ? lone->attempt : 0);
    pawl_arg_when(a, PAWL_INSTANCE_COMMIT_TOKEN_DUE_AT,
                  lone ? lone->due_us : p->begin_us);
    pawl_arg_int(a, PAWL_INSTANCE_COMMIT_SEQ, h->seq + p->nrecords);
    pawl_arg_buf(a, PAWL_INSTANCE_COMMIT_ERROR, &p->error);
    pawl_arg_when(a, PAWL_INSTANCE_COMMIT_STARTED_AT, p->started_us);
    pawl_arg_time(a, PAWL_INSTANCE_COMMIT_UPDATED_AT, now);
  }
  return pawl_commit_send(e, err);
}

/* Attempts that failed where it ended. */
static int64_t last_attempt(const pawl_held *h) {
  const pawl_tokens *t = &h->plan.tokens;
  return t->n == 1 ? t->at[0].attempt : 0;
}

static pawl_code send_ends(pawl_engine *e, pawl_held **list, int n,
                           int64_t now, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_INSTANCE_END);
  pawl_arg_int(a, PAWL_INSTANCE_END_SHARD, list[0]->shard);
  EACH(h) {
    const pawl_plan *p = &h->plan;
    if (!ends(p)) continue;
    assert(p->revives || pawl_status_may_move(h->status, p->status));
    pawl_arg_id(a, PAWL_INSTANCE_END_ID, &h->id);
    pawl_arg_id(a, PAWL_INSTANCE_END_LEASE, &h->lease);
    pawl_arg_latch(a, PAWL_INSTANCE_END_LATCH, h);
    pawl_arg_int(a, PAWL_INSTANCE_END_VERSION, h->version);
    pawl_arg_textz(a, PAWL_INSTANCE_END_WAS, pawl_status_name(h->status));
    pawl_arg_textz(a, PAWL_INSTANCE_END_STATUS, pawl_status_name(p->status));
    arg_vars(a, PAWL_INSTANCE_END_VARIABLES, PAWL_INSTANCE_END_PARTS, p);
    pawl_arg_textz(a, PAWL_INSTANCE_END_NODE, p->node);
    pawl_arg_textz(a, PAWL_INSTANCE_END_PREVIOUS_NODE, p->previous);
    pawl_arg_int(a, PAWL_INSTANCE_END_VISIT, p->visit);
    pawl_arg_int(a, PAWL_INSTANCE_END_ATTEMPT, last_attempt(h));
    pawl_arg_int(a, PAWL_INSTANCE_END_SEQ, h->seq + p->nrecords);
    pawl_arg_given(a, PAWL_INSTANCE_END_OUTPUT, &p->output, p->has_output);
    pawl_arg_buf(a, PAWL_INSTANCE_END_ERROR, &p->error);
    pawl_arg_buf(a, PAWL_INSTANCE_END_CANCELLATION, &p->cancellation);
    pawl_arg_when(a, PAWL_INSTANCE_END_STARTED_AT, p->started_us);
    pawl_arg_time(a, PAWL_INSTANCE_END_UPDATED_AT, now);
  }
  return pawl_commit_send(e, err);
}

/* Those that had ended and stay so (E1). */
static pawl_code send_stays(pawl_engine *e, pawl_held **list, int n,
                            int64_t now, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_INSTANCE_STAY);
  pawl_arg_int(a, PAWL_INSTANCE_STAY_SHARD, list[0]->shard);
  EACH(h) {
    const pawl_plan *p = &h->plan;
    if (!p->stays) continue;
    assert(pawl_status_has_ended(h->status) && p->status == h->status);
    pawl_arg_id(a, PAWL_INSTANCE_STAY_ID, &h->id);
    pawl_arg_id(a, PAWL_INSTANCE_STAY_LEASE, &h->lease);
    pawl_arg_int(a, PAWL_INSTANCE_STAY_VERSION, h->version);
    arg_vars(a, PAWL_INSTANCE_STAY_VARIABLES, PAWL_INSTANCE_STAY_PARTS, p);
    pawl_arg_textz(a, PAWL_INSTANCE_STAY_NODE, p->node);
    pawl_arg_textz(a, PAWL_INSTANCE_STAY_PREVIOUS_NODE, p->previous);
    pawl_arg_int(a, PAWL_INSTANCE_STAY_SEQ, h->seq + p->nrecords);
    pawl_arg_time(a, PAWL_INSTANCE_STAY_UPDATED_AT, now);
  }
  return pawl_commit_send(e, err);
}

static void add_record(pawl_args *a, const pawl_held *h, const pawl_record *r,
                       int64_t seq) {
  pawl_arg_id(a, PAWL_HISTORY_INSERT_ID, &h->id);
  pawl_arg_id(a, PAWL_HISTORY_INSERT_LEASE, &h->lease);
  pawl_arg_latch(a, PAWL_HISTORY_INSERT_LATCH, h);
  pawl_arg_int(a, PAWL_HISTORY_INSERT_SEQ, seq);
  pawl_arg_textz(a, PAWL_HISTORY_INSERT_TYPE, r->type);
  pawl_arg_textz(a, PAWL_HISTORY_INSERT_NODE, r->node);
  pawl_arg_number(a, PAWL_HISTORY_INSERT_TOKEN, r->token);
  pawl_arg_int(a, PAWL_HISTORY_INSERT_VISIT, r->visit);
  pawl_arg_buf(a, PAWL_HISTORY_INSERT_TRANSITION, &r->transition);
  pawl_arg_buf(a, PAWL_HISTORY_INSERT_PATH, &r->path);
  pawl_arg_number(a, PAWL_HISTORY_INSERT_ATTEMPT, r->attempt);
  pawl_arg_buf(a, PAWL_HISTORY_INSERT_CALLER, &r->caller);
  pawl_arg_buf(a, PAWL_HISTORY_INSERT_TEXT, &r->text);
  pawl_arg_buf(a, PAWL_HISTORY_INSERT_OUTPUT, &r->output);
  pawl_arg_buf(a, PAWL_HISTORY_INSERT_CHANGES, &r->changes);
  pawl_arg_buf(a, PAWL_HISTORY_INSERT_ERROR, &r->error);
  pawl_arg_when(a, PAWL_HISTORY_INSERT_STARTED_AT, r->started_us);
  pawl_arg_time(a, PAWL_HISTORY_INSERT_COMPLETED_AT, r->completed_us);
  pawl_arg_when(a, PAWL_HISTORY_INSERT_DUE_AT, r->due_us);
  pawl_arg_buf(a, PAWL_HISTORY_INSERT_PREVIOUS, &r->previous);
  if (r->has_request)
    pawl_arg_id(a, PAWL_HISTORY_INSERT_REQUEST, &r->request);
  else
    pawl_arg_null(a, PAWL_HISTORY_INSERT_REQUEST);
}

static pawl_code send_history(pawl_engine *e, pawl_held **list, int n,
                              pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_HISTORY_INSERT);
  pawl_arg_int(a, PAWL_HISTORY_INSERT_SHARD, list[0]->shard);
  pawl_arg_id(a, PAWL_HISTORY_INSERT_EXECUTOR, &e->executor);
  EACH(h) {
    if (!pawl_plan_writes(&h->plan)) continue;
    for (int k = 0; k < h->plan.nrecords; k++)
      add_record(a, h, &h->plan.records[k], h->seq + 1 + k);
  }
  return pawl_commit_send(e, err);
}

/* Attributes are rare: each instance that set some sends its own. */
static pawl_code send_attributes(pawl_engine *e, pawl_held *h, int64_t now,
                                 pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_str attrs = pawl_buf_str(&h->plan.attrs), name, value;
  pawl_buf scratch = {.alloc = &e->alloc};
  pawl_json_iter it = {0};
  pawl_code rc = PAWL_OK;

  /* columns borrow from the scratch, so it must not move: it never holds
   * more than the text it is taken from, once as text and once as bytes */
  if (!pawl_buf_room(&scratch, 4 * attrs.len + 64))
    return pawl_fail(err, PAWL_NOMEM, "out of memory");
  pawl_args_begin(a, PAWL_STMT_ATTRIBUTE_PUT);
  pawl_arg_int(a, PAWL_ATTRIBUTE_PUT_SHARD, h->shard);
  while (pawl_json_each(attrs, &it, &name, &value)) {
    if (pawl_json_kind_of(value) == PAWL_JSON_NULL) continue;
    pawl_arg_id(a, PAWL_ATTRIBUTE_PUT_ID, &h->id);
    pawl_arg_id(a, PAWL_ATTRIBUTE_PUT_LEASE, &h->lease);
    pawl_arg_latch(a, PAWL_ATTRIBUTE_PUT_LATCH, h);
    TRY(pawl_attribute_args(a, PAWL_ATTRIBUTE_PUT_NAME, name, value, &scratch,
                            err));
    pawl_arg_str(a, PAWL_ATTRIBUTE_PUT_WORKFLOW, pawl_buf_str(&h->workflow));
    pawl_arg_time(a, PAWL_ATTRIBUTE_PUT_UPDATED_AT, now);
  }
  TRY(pawl_commit_send(e, err));
  pawl_args_begin(a, PAWL_STMT_ATTRIBUTE_DELETE);
  pawl_arg_int(a, PAWL_ATTRIBUTE_DELETE_SHARD, h->shard);
  it.at = 0;
  while (pawl_json_each(attrs, &it, &name, &value)) {
    if (pawl_json_kind_of(value) != PAWL_JSON_NULL) continue;
    pawl_arg_id(a, PAWL_ATTRIBUTE_DELETE_ID, &h->id);
    pawl_arg_id(a, PAWL_ATTRIBUTE_DELETE_LEASE, &h->lease);
    pawl_arg_latch(a, PAWL_ATTRIBUTE_DELETE_LATCH, h);
    pawl_arg_str(a, PAWL_ATTRIBUTE_DELETE_NAME, name);
  }
  TRY(pawl_commit_send(e, err));
out:
  pawl_buf_deinit(&scratch);
  return rc;
}

/* The latch that the decision has seen; -1: not all of it, so that the row
 * stays as it is and due at once (N6). */
static int seen_latch(const pawl_held *h) {
  return pawl_held_saw_all(h) ? h->latch : -1;
}

/* Who only took the inbox, and found nothing to take, has not served it: it has
 * been due for as long as before. */
static int64_t look_us(pawl_engine *e, const pawl_held *h) {
  int64_t us = h->plan.look_us, before = h->due_before_us;
  int in_vain = h->apply_only && h->plan.after == PAWL_AFTER_BACK &&
                us <= pawl_engine_now(e);

  return in_vain && before < us ? before : us;
}

static pawl_code send_agenda(pawl_engine *e, pawl_held **list, int n,
                             pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_AGENDA_KEEP);
  pawl_arg_int(a, PAWL_AGENDA_KEEP_SHARD, list[0]->shard);
  EACH(h) {
    if (!keeps(h)) continue;
    pawl_arg_id(a, PAWL_AGENDA_KEEP_ID, &h->id);
    pawl_arg_id(a, PAWL_AGENDA_KEEP_LEASE, &h->lease);
    pawl_arg_latch(a, PAWL_AGENDA_KEEP_LATCH, h);
    pawl_arg_int(a, PAWL_AGENDA_KEEP_SEEN, h->latch);
  }
  TRY(pawl_commit_send(e, err));
  pawl_args_begin(a, PAWL_STMT_AGENDA_RELEASE);
  pawl_arg_int(a, PAWL_AGENDA_RELEASE_SHARD, list[0]->shard);
  EACH(h) {
    if (!releases(&h->plan)) continue;
    pawl_arg_id(a, PAWL_AGENDA_RELEASE_ID, &h->id);
    pawl_arg_id(a, PAWL_AGENDA_RELEASE_LEASE, &h->lease);
    pawl_arg_latch(a, PAWL_AGENDA_RELEASE_LATCH, h);
    pawl_arg_int(a, PAWL_AGENDA_RELEASE_SEEN, seen_latch(h));
    if (h->plan.after == PAWL_AFTER_SLEEP)
      pawl_arg_null(a, PAWL_AGENDA_RELEASE_DUE_AT);
    else
      pawl_arg_time(a, PAWL_AGENDA_RELEASE_DUE_AT, look_us(e, h));
  }
  pawl_store_arg_now(e->store, a, PAWL_AGENDA_RELEASE_NOW);
  TRY(pawl_commit_send(e, err));
  pawl_args_begin(a, PAWL_STMT_AGENDA_END);
  pawl_arg_int(a, PAWL_AGENDA_END_SHARD, list[0]->shard);
  EACH(h) {
    if (!drops_row(&h->plan)) continue;
    assert(pawl_held_saw_all(h)); /* N6 */
    pawl_arg_id(a, PAWL_AGENDA_END_ID, &h->id);
    pawl_arg_id(a, PAWL_AGENDA_END_LEASE, &h->lease);
    pawl_arg_int(a, PAWL_AGENDA_END_SEEN, h->latch);
  }
  TRY(pawl_commit_send(e, err));
out:
  return rc;
}

/* The version that an instance runs on from now, once it is known. */
static pawl_code send_pin(pawl_engine *e, const pawl_held *h,
                          pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_INSTANCE_PIN);
  pawl_arg_int(a, PAWL_INSTANCE_PIN_SHARD, h->shard);
  pawl_arg_id(a, PAWL_INSTANCE_PIN_ID, &h->id);
  pawl_arg_id(a, PAWL_INSTANCE_PIN_LEASE, &h->lease);
  pawl_arg_int(a, PAWL_INSTANCE_PIN_WORKFLOW_VERSION, h->workflow_version);
  TRY(pawl_commit_send(e, err));
  pawl_args_begin(a, PAWL_STMT_AGENDA_PIN);
  pawl_arg_int(a, PAWL_AGENDA_PIN_SHARD, h->shard);
  pawl_arg_id(a, PAWL_AGENDA_PIN_ID, &h->id);
  pawl_arg_id(a, PAWL_AGENDA_PIN_LEASE, &h->lease);
  pawl_arg_int(a, PAWL_AGENDA_PIN_WORKFLOW_VERSION, h->workflow_version);
  TRY(pawl_commit_send(e, err));
out:
  return rc;
}

/* Everything after the lock. */
static pawl_code send_plans(pawl_engine *e, pawl_held **list, int n,
                            pawl_error *err) {
  int64_t now = pawl_engine_now(e);
  pawl_code rc = PAWL_OK;

  EACH(h) {
    assert(!h->plan.failed); /* N7 */
    if (h->plan.vars_changed)
      h->plan.parts = pawl_parts_count(h->parts, pawl_buf_str(&h->plan.vars));
  }
  TRY(send_instances(e, list, n, now, err));
  TRY(send_ends(e, list, n, now, err));
  TRY(send_stays(e, list, n, now, err));
  TRY(pawl_parts_send(e, list, n, err));
  TRY(pawl_commit_more(e, list, n, err));
  TRY(send_history(e, list, n, err));
  TRY(pawl_commit_tokens(e, list, n, now, err));
  EACH(h) {
    if (h->plan.attrs.len && pawl_plan_writes(&h->plan))
      TRY(send_attributes(e, h, now, err));
  }
  EACH(h) {
    if (h->pin) TRY(send_pin(e, h, err));
  }
  TRY(pawl_commit_effects(e, list, n, now, err));
  TRY(pawl_commit_ends(e, list, n, now, err));
  TRY(send_agenda(e, list, n, err));
out:
  return rc;
}

/* ---- what came of it ---- */

static int is_row_of(const pawl_rows *rows, int k, const pawl_id *id) {
  return pawl_str_eq(pawl_row_str(rows, k, PAWL_AGENDA_LOCK_R_INSTANCE),
                     (pawl_str){(const char *)id->bytes, sizeof id->bytes});
}

/* Rows come mostly just as they were sent: `at` is the first guess. */
static int locked_row(const pawl_rows *rows, int at, const pawl_id *id) {
  if (at < rows->nrows && is_row_of(rows, at, id)) return at;
  for (int k = 0; k < rows->nrows; k++)
    if (is_row_of(rows, k, id)) return k;
  return -1;
}

static void lose(pawl_engine *e, pawl_held *h) {
  pawl_error err;
  pawl_fail(&err, PAWL_LEASE_LOST,
            "instance %s: its lease was taken back, by `kill` or by another "
            "executor; what ran here is dropped",
            h->id_text);
  pawl_held_lose(e, h, &err);
}

/* A stored plan: the slot goes on or is free. */
static void stored(pawl_engine *e, pawl_held *h, int latch) {
  pawl_after after = h->plan.after;
  int kept = keeps(h);

  if (pawl_plan_writes(&h->plan) &&
      pawl_plan_has(&h->plan, PAWL_EFFECT_MESSAGE))
    e->messages = 1;

  if (e->stats) {
    e->stats->committed++;
    e->stats->ended += after == PAWL_AFTER_END;
  }
  if ((after == PAWL_AFTER_LET_GO || after == PAWL_AFTER_BACK) &&
      h->plan.look_us < e->next_due_us)
    e->next_due_us = h->plan.look_us;
  if (after != PAWL_AFTER_GO_ON) {
    pawl_held_free(e, h);
    return;
  }
  h->pin = 0;
  pawl_held_accept(h);
  pawl_await_check(e, h);
  if (kept) { /* the row's latch fell by what we had seen */
    h->takeovers = h->reset = 0;
    h->taken = 0;
    h->stale = h->stale || latch != h->latch;
    h->latch = latch == h->latch ? 0 : latch;
  } else if (latch != h->latch) {
    h->latch = latch;
    h->stale = 1;
  }
  if (h->latch) h->reset = 1;
  h->state = PAWL_SLOT_READY;
}

/* Not among the rows that were locked: taken over, or something came in that
 * an ending must not overlook. The handler's result is kept. */
static pawl_code decide_again(pawl_engine *e, pawl_held *h, pawl_error *err) {
  pawl_code rc =
      needs_latch(&h->plan) ? pawl_claim_reload(e, h, err) : PAWL_LEASE_LOST;
  if (rc == PAWL_LEASE_LOST) {
    lose(e, h);
    return PAWL_OK;
  }
  if (rc != PAWL_OK) return rc;
  h->plan.heard = !h->nletters; /* what came meanwhile is for the next one */
  if (!h->plan.ran && !h->flight.run)
    pawl_step_run(e, h);
  else
    pawl_step_hear(e, h);
  return PAWL_OK; /* still planned: the next commit sends it again */
}

/* `rows`: of agenda_lock. They are used up before anything else is asked. */
static pawl_code apply(pawl_engine *e, pawl_held **list, int n,
                       const pawl_rows *rows, pawl_error *err) {
  pawl_held *again[PAWL_MAX_BATCH];
  int nagain = 0;
  pawl_code rc = PAWL_OK;

  for (int i = 0; i < n; i++) {
    int k = locked_row(rows, i, &list[i]->id);
    if (k < 0) {
      again[nagain++] = list[i];
      continue;
    }
    stored(e, list[i], (int)pawl_row_int(rows, k, PAWL_AGENDA_LOCK_R_LATCH));
  }
  for (int i = 0; i < nagain; i++) TRY(decide_again(e, again[i], err));
out:
  return rc;
}

/* After the short way: each is as it was loaded, or the unit had failed.
 * instance_step's rows have the columns of agenda_lock's. */
static void apply_plain(pawl_engine *e, pawl_held **list, int n) {
  int which = pawl_plain_rows(list, n), at = 0;
  pawl_rows rows = {0};

  if (which >= 0) pawl_store_rows(e->store, which, &rows);
  for (int i = 0; i < n; i++) {
    pawl_held *h = list[i];
    int k =
        h->plan.after == PAWL_AFTER_END ? -1 : locked_row(&rows, at++, &h->id);
    stored(e, h,
           k < 0 ? h->latch
                 : (int)pawl_row_int(&rows, k, PAWL_INSTANCE_STEP_R_LATCH));
  }
}

/* ---- one unit ---- */

/* `end`: pawl_store_commit, or pawl_store_submit. */
static pawl_code send_unit(pawl_engine *e, pawl_held **list, int n, int plain,
                           pawl_code (*end)(pawl_store *, pawl_error *),
                           pawl_error *err) {
  pawl_code rc = PAWL_OK;
  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  if (plain) {
    TRY(pawl_plain_send(e, list, n, err));
  } else {
    TRY(pawl_commit_lock(e, list, n, err));
    TRY(send_plans(e, list, n, err));
  }
  if (e->stats) e->stats->commits++;
  (void)PAWL_FAULT("engine.commit.before");
  TRY(end(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* Only what is about the data itself: 22 (values), 23 (constraints), P0 (what a
 * trigger of the user's raises). Anything
 * else, a failing disk or a schema somebody is changing, would take every
 * instance with it. */
int pawl_commit_is_refusal(const pawl_error *err) {
  if (err->code == PAWL_VALUE || err->code == PAWL_LIMIT ||
      err->code == PAWL_INVALID || err->code == PAWL_CONFLICT)
    return 1;
  return err->code == PAWL_STORE && (!strncmp(err->sqlstate, "22", 2) ||
                                     !strncmp(err->sqlstate, "23", 2) ||
                                     !strncmp(err->sqlstate, "P0", 2));
}

static pawl_code commit_list(pawl_engine *e, pawl_held **list, int n,
                             int depth, pawl_error *err);

/* The store refuses one plan for good. Its instance fails with the reason;
 * when even that is refused, its lease is left to end. */
static pawl_code refuse_one(pawl_engine *e, pawl_held *h, int depth,
                            pawl_error *err) {
  pawl_error why = *err;
  if (depth < 0) {
    pawl_log_error(&e->log, PAWL_ERROR, "the store refuses an instance", &why);
    pawl_held_free(e, h);
    return PAWL_OK;
  }
  if (!pawl_step_refused(e, h, &why)) depth = -1; /* nothing is left to try */
  if (pawl_plan_check(&h->plan, err) != PAWL_OK) return PAWL_OK; /* mend() */
  return commit_list(e, &h, 1, depth, err);
}

static void set_state(pawl_held **list, int n, pawl_slot_state state) {
  EACH(h) h->state = state;
}

static pawl_code committed(pawl_engine *e, pawl_held **list, int n, int plain,
                           pawl_error *err) {
  pawl_rows rows;

  (void)PAWL_FAULT("engine.commit.after");
  if (plain) {
    apply_plain(e, list, n);
    return PAWL_OK;
  }
  pawl_store_rows(e->store, 0, &rows);
  return apply(e, list, n, &rows, err);
}

/* Its last holder's commit came in behind our claim (plain.h, N2): what ran
 * here is dropped, and it is claimed anew. */
static pawl_code look_for_other(pawl_engine *e, pawl_held *h, int *stale,
                                pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(&e->args, PAWL_STMT_INSTANCE_SETTLE);
  pawl_arg_int(&e->args, PAWL_INSTANCE_SETTLE_SHARD, h->shard);
  pawl_arg_id(&e->args, PAWL_INSTANCE_SETTLE_ID, &h->id);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  *stale =
      rows.nrows &&
      pawl_row_int(&rows, 0, PAWL_INSTANCE_SETTLE_R_VERSION) != h->version;
  if (!*stale) return PAWL_OK;
  pawl_log_write(&e->log, PAWL_WARN,
                 "another executor had written meanwhile; run again", NULL);
  if (e->stats) e->stats->lost++;
  pawl_await_abandon(e, h);
  pawl_plan_reset(&h->plan);
  h->state = PAWL_SLOT_READY;
  h->foreign = 1; /* to be given back */
  h->recorded = 0;
out:
  return rc;
}

/* Rule 7: a batch shares a commit, never a fate. */
static pawl_code commit_list(pawl_engine *e, pawl_held **list, int n,
                             int depth, pawl_error *err) {
  pawl_error local;
  pawl_code rc;

  if (!err) err = &local;
  for (int try = 0;; try++) {
    rc = send_unit(e, list, n, 0, pawl_store_commit, err);
    if (rc != PAWL_BUSY || try == BUSY_TRIES) break;
    pawl_sleep_us((int64_t)(pawl_engine_random(e) * 4000 * (1 << try)));
  }
  if (rc == PAWL_OK) return committed(e, list, n, 0, err);
  if (rc == PAWL_UNREACHABLE) { /* rule 8: nobody knows */
    set_state(list, n, PAWL_SLOT_UNKNOWN);
    return rc;
  }
  if (!pawl_commit_is_refusal(err)) return rc;
  if (n == 1 && !strcmp(err->sqlstate, "23505")) {
    int stale = 0;
    pawl_error why = *err;
    TRY(look_for_other(e, list[0], &stale, err));
    if (stale) return PAWL_OK;
    *err = why;
  }
  if (n == 1) return refuse_one(e, list[0], depth, err);
  rc = commit_list(e, list, n / 2, depth + 1, err);
  if (rc == PAWL_OK)
    rc = commit_list(e, list + n / 2, n - n / 2, depth + 1, err);
out:
  return rc;
}

/* ---- settling ---- */

/* Reads, under its lock, what became of a plan. PAWL_OK: *landed, and if it
 * did not, the slot has a new lease under which to send it again.
 * PAWL_LEASE_LOST: somebody else has it. */
static pawl_code look_under_lock(pawl_engine *e, pawl_held *h, int *landed,
                                 pawl_error *err) {
  pawl_rows rows;
  pawl_id lease = {{0}}, holder = {{0}};
  pawl_code rc = PAWL_OK;
  int64_t version;

  *landed = 0;
  TRY(pawl_store_begin(e->store, PAWL_UNIT_OPEN, err));
  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_LOCK_ONE);
  pawl_arg_int(&e->args, PAWL_AGENDA_LOCK_ONE_SHARD, h->shard);
  pawl_arg_id(&e->args, PAWL_AGENDA_LOCK_ONE_ID, &h->id);
  TRY(pawl_store_send(e->store, &e->args, err));
  pawl_store_rows(e->store, 0, &rows);
  if (rows.nrows && !pawl_row_null(&rows, 0, PAWL_AGENDA_LOCK_ONE_R_LEASE))
    pawl_row_id(&rows, 0, PAWL_AGENDA_LOCK_ONE_R_LEASE, &holder);
  pawl_args_begin(&e->args, PAWL_STMT_INSTANCE_SETTLE);
  pawl_arg_int(&e->args, PAWL_INSTANCE_SETTLE_SHARD, h->shard);
  pawl_arg_id(&e->args, PAWL_INSTANCE_SETTLE_ID, &h->id);
  TRY(pawl_store_send(e->store, &e->args, err));
  pawl_store_rows(e->store, 1, &rows);
  if (rows.nrows && !pawl_row_null(&rows, 0, PAWL_INSTANCE_SETTLE_R_LEASE))
    pawl_row_id(&rows, 0, PAWL_INSTANCE_SETTLE_R_LEASE, &lease);
  version =
      rows.nrows ? pawl_row_int(&rows, 0, PAWL_INSTANCE_SETTLE_R_VERSION) : -1;
  *landed = pawl_plan_writes(&h->plan) && pawl_id_eq(&lease, &h->lease) &&
            version == h->version + 1;
  if (!*landed && pawl_id_eq(&holder, &h->lease)) {
    pawl_id fresh;
    TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &fresh, err));
    pawl_args_begin(&e->args, PAWL_STMT_AGENDA_RELET);
    pawl_arg_int(&e->args, PAWL_AGENDA_RELET_SHARD, h->shard);
    pawl_arg_id(&e->args, PAWL_AGENDA_RELET_ID, &h->id);
    pawl_arg_id(&e->args, PAWL_AGENDA_RELET_LEASE, &h->lease);
    pawl_arg_id(&e->args, PAWL_AGENDA_RELET_NEW_LEASE, &fresh);
    TRY(pawl_store_send(e->store, &e->args, err));
    TRY(pawl_store_commit(e->store, err));
    h->lease = fresh;
    return PAWL_OK;
  }
  TRY(pawl_store_commit(e->store, err));
  if (!*landed) rc = PAWL_LEASE_LOST;
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

static pawl_code settle(pawl_engine *e, pawl_held *h, pawl_error *err) {
  int landed;
  pawl_code rc = look_under_lock(e, h, &landed, err);

  if (rc == PAWL_LEASE_LOST) {
    pawl_told_undone(e);
    lose(e, h);
    return PAWL_OK;
  }
  if (rc != PAWL_OK) return rc;
  if (landed) {
    int kept = keeps(h);
    pawl_told_committed(e);
    stored(e, h, h->latch);
    /* the latch was not read: as it was, and the next commit will tell */
    if (kept && h->state == PAWL_SLOT_READY) h->reset = 1;
    return PAWL_OK;
  }
  if (h->transactional) { /* the handler's own SQL is undone with it */
    pawl_told_undone(e);
    h->state = PAWL_SLOT_READY;
    h->transactional = 0;
    return PAWL_OK;
  }
  h->state = PAWL_SLOT_PLANNED;
  return PAWL_OK;
}

/* ---- the batch ---- */

static int by_id(const void *a, const void *b) {
  const pawl_held *const *x = a, *const *y = b;
  return pawl_id_cmp(&(*x)->id, &(*y)->id);
}

/* As a rule: slots are filled in the order of ids. */
static int is_sorted(pawl_held **list, int n) {
  for (int i = 1; i < n; i++)
    if (pawl_id_cmp(&list[i - 1]->id, &list[i]->id) > 0) return 0;
  return 1;
}

#define NO_MEMORY_US PAWL_SECOND /* until a decision is taken again */

/* A plan that memory failed is none. A step's result is lost then: that step
 * is tried again, by its policy. Anything else, or when there is not even
 * memory to say so, is as if it had not been looked at. */
static void mend(pawl_engine *e, pawl_held *h) {
  pawl_error err;
  if (pawl_plan_check(&h->plan, &err) == PAWL_OK) return;
  pawl_log_error(&e->log, PAWL_ERROR, "a decision was lost", &err);
  if (h->def && h->plan.ran) pawl_step_fail(e, h, &err);
  if (pawl_plan_check(&h->plan, &err) == PAWL_OK) return;
  pawl_plan_reset(&h->plan);
  h->plan.after = PAWL_AFTER_BACK;
  h->plan.look_us = pawl_time_after(pawl_engine_now(e), NO_MEMORY_US);
}

/* The plans of one shard that are plain, or those that are not. */
static int take_planned(pawl_engine *e, int shard, int plain,
                        pawl_held **list) {
  int n = 0;

  for (int i = 0; i < e->nheld_slots && n < PAWL_MAX_BATCH; i++) {
    pawl_held *h = &e->held[i];
    if (h->state != PAWL_SLOT_PLANNED || h->shard != shard) continue;
    mend(e, h);
    if (pawl_plan_is_plain(h) == plain) list[n++] = h;
  }
  if (!is_sorted(list, n)) /* S2 */
    qsort(list, (size_t)n, sizeof *list, by_id);
  return n;
}

/* What came of a unit's first try. When it was not to be, the long way finds
 * out what is wrong, and with whom. */
static pawl_code tried(pawl_engine *e, pawl_held **list, int n, int plain,
                       pawl_code rc, pawl_error *err) {
  set_state(list, n,
            rc == PAWL_UNREACHABLE ? PAWL_SLOT_UNKNOWN : PAWL_SLOT_PLANNED);
  if (rc == PAWL_OK) return committed(e, list, n, plain, err);
  if (rc == PAWL_UNREACHABLE) return rc;
  return commit_list(e, list, n, 0, err);
}

static pawl_code commit_shard(pawl_engine *e, int shard, pawl_error *err) {
  pawl_held *list[PAWL_MAX_BATCH];
  pawl_error local;
  pawl_code rc = PAWL_OK;
  int n = take_planned(e, shard, 1, list);

  if (!err) err = &local;
  if (n) {
    rc = send_unit(e, list, n, 1, pawl_store_commit, err);
    TRY(tried(e, list, n, 1, rc, err));
  }
  n = take_planned(e, shard, 0, list);
  if (n) TRY(commit_list(e, list, n, 0, err));
out:
  return rc;
}

static pawl_code send_ahead(pawl_engine *e, int shard, int plain,
                            pawl_error *err) {
  pawl_sent *sent;
  pawl_error local;
  pawl_code rc = PAWL_OK;

  if (!err) err = &local;
  TRY(pawl_pipeline_place(e, &sent, err));
  sent->plain = plain;
  sent->n = take_planned(e, shard, plain, sent->list);
  if (!sent->n) return PAWL_OK;
  rc = send_unit(e, sent->list, sent->n, plain, pawl_store_submit, err);
  if (rc != PAWL_OK) return tried(e, sent->list, sent->n, plain, rc, err);
  set_state(sent->list, sent->n, PAWL_SLOT_SENT);
  pawl_pipeline_sent(e);
out:
  return rc;
}

static int count_state(const pawl_engine *e, pawl_slot_state state) {
  int n = 0;
  for (int i = 0; i < e->nheld_slots; i++) n += e->held[i].state == state;
  return n;
}

pawl_code pawl_commit_ahead(pawl_engine *e, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  if (!pawl_pipeline_is_open(e) || count_state(e, PAWL_SLOT_UNKNOWN))
    return pawl_commit_all(e, err);
  for (int s = 0; s < e->nshards; s++) {
    rc = send_ahead(e, s, 1, err);
    if (rc == PAWL_OK) rc = send_ahead(e, s, 0, err);
    if (rc == PAWL_UNREACHABLE) return pawl_commit_all(e, err);
    if (rc != PAWL_OK) break;
  }
  return rc;
}

pawl_code pawl_commit_finish(pawl_engine *e, pawl_sent *sent,
                             pawl_error *err) {
  pawl_error local;
  pawl_code rc;

  if (!err) err = &local;
  rc = pawl_store_finish(e->store, err);
  return tried(e, sent->list, sent->n, sent->plain, rc, err);
}

pawl_code pawl_commit_all(pawl_engine *e, pawl_error *err) {
  pawl_code rc = pawl_pipeline_drain(e, err);

  if (rc != PAWL_OK && rc != PAWL_UNREACHABLE) return rc;
  rc = PAWL_OK;
  /* decided-again and settled plans come round once more; each round either
   * stores, drops or fails, save for an inbox that never rests */
  for (int rounds = 0; rounds < 20; rounds++) {
    for (int i = 0; i < e->nheld_slots; i++)
      if (e->held[i].state == PAWL_SLOT_UNKNOWN)
        TRY(settle(e, &e->held[i], err));
    if (!count_state(e, PAWL_SLOT_PLANNED)) break;
    for (int s = 0; s < e->nshards; s++) {
      rc = commit_shard(e, s, err);
      if (rc == PAWL_UNREACHABLE) break; /* reconnect, and settle */
      if (rc != PAWL_OK) goto out;
    }
    if (rc == PAWL_UNREACHABLE && rounds > 2) goto out;
    rc = PAWL_OK;
  }
out:
  return rc;
}

pawl_code pawl_commit_open(pawl_engine *e, pawl_held *h, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  TRY(send_plans(e, &h, 1, err));
  if (e->stats) e->stats->commits++;
  (void)PAWL_FAULT("engine.commit.before");
  TRY(pawl_store_commit(e->store, err));
  (void)PAWL_FAULT("engine.commit.after");
  stored(e, h, h->latch); /* its row was locked: the latch stood still */
out:
  return rc;
}
