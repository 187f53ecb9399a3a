/* Undoing what was done, in reverse order of completion, as a recorded plan.
 * The plan itself is history's: the rows of what was completed, newest first.
 * The record (`undo` of the state) says how far down it is, so that the cost of
 * an undo does not grow with their number; whoever asks gets the lists
 * (instances.c).
 *
 * One token stands at the step that is undone next; each undo is a commit of
 * its own, tried again by its node's policy, and passed over when it has
 * failed for good.
 *
 * An instance ends by that, or a node has a part of it undone and goes on
 * (`by` of the record). Then all other tokens stay as they are: nothing moves
 * them, and no letter is given to them, until that is through; the record goes
 * then, as history tells the rest, and who undoes later passes over what was
 * undone here. */
#include <assert.h>
#include <inttypes.h>

#include "../value/json.h"
#include "machine.h"
#include "order.h"

static pawl_compensation *undoing(pawl_decision *d) {
  return &d->plan.state.undo;
}

/* ---- beginning ---- */

static int find_token(pawl_decision *d, int64_t no) {
  for (int k = 0; k < d->plan.state.tokens.n; k++)
    if (no && pawl_tok(d, k)->no == no && pawl_tok_live(d, k)) return k;
  return -1;
}

static void drop_token(pawl_decision *d, int k) {
  if (!pawl_tok_live(d, k)) return;
  pawl_stop_waiting(d, k, "cancelled");
  pawl_tok(d, k)->state = PAWL_TOKEN_DROPPED;
  pawl_tok(d, k)->changed = 1;
}

/* A node's undo ends by this one: what that has tried is not tried anew. */
static void keep_tries(pawl_decision *d, int64_t *tried, int64_t *row) {
  const pawl_compensation *u = undoing(d);
  const int k = u->by ? find_token(d, u->token) : -1;
  int64_t seq;
  int behind;
  pawl_str step;

  *tried = *row = 0;
  if (k < 0 || !pawl_undo_next(d, u, &step, &seq, &behind)) return;
  *tried = pawl_tok(d, k)->attempt - pawl_detail_of(pawl_tok(d, k))->passed;
  *row = seq;
}

void pawl_undo_begin(pawl_decision *d, pawl_standing status) {
  pawl_plan *p = &d->plan;
  pawl_compensation *u = undoing(d);
  int64_t tried, row;

  keep_tries(d, &tried, &row);
  if (status == PAWL_STATUS_FAILED) pawl_stopped_note(d);
  for (int k = 0; k < p->state.tokens.n; k++) {
    /* whose handler waits is told, and may have done something to undo */
    if (pawl_is_aloft(d, pawl_tok(d, k))) continue;
    drop_token(d, k);
  }
  pawl_state_drop_undo(&p->state);
  u->status = PAWL_UNDO_PLANNING;
  u->end = status;
  u->tried = tried;
  u->tried_row = row;
  u->attempt = status == PAWL_STATUS_FAILED ? pawl_failed_attempt(d) : 0;
  pawl_buf_copy(&u->error, &p->error);
  pawl_buf_copy(&u->output, &p->state.output);
  if (p->state.node) pawl_buf_addz(&u->node, p->state.node);
  u->started_us = pawl_decision_now(d);
  pawl_children_end(d, status); /* not only once all is undone */
  pawl_buf_copy(&p->state.output, &d->state.output); /* until it has ended */
  p->after = PAWL_AFTER_GO_ON;
  p->state.status = PAWL_STATUS_RUNNING;
  d->plan.look = PAWL_LOOK_UNDOS;
}

void pawl_undo_begin_part(pawl_decision *d, int k) {
  pawl_compensation *u = undoing(d);
  const pawl_token *t = pawl_tok(d, k);

  assert(!pawl_is_undoing(d));
  pawl_state_drop_undo(&d->plan.state);
  u->status = PAWL_UNDO_PLANNING;
  u->by = t->no;
  pawl_buf_copy(&u->error, &pawl_detail_of(t)->error);
  pawl_buf_addz(&u->node, t->node);
  u->started_us = pawl_decision_now(d);
  d->plan.look = PAWL_LOOK_UNDOS;
}

/* ---- the end ---- */

/* Some could not be undone: its node is not passed, but by `on_error`. */
static void fail_part(pawl_decision *d, int k, int64_t failed, int64_t all) {
  pawl_error err;

  pawl_said_clear(d->result);
  d->result->no_retry = 1; /* what was tried so often is not tried again */
  pawl_fail(&err, PAWL_SCRIPT,
            "%" PRId64 " of %" PRId64 " steps could not be undone", failed,
            all);
  pawl_copy_text(err.raised, sizeof err.raised, "undo_failed");
  pawl_error_hint(&err, "history says which, and why: type undo_failed");
  pawl_fail_token(d, k, &err, 0);
}

/* The node that had it undone is through, and everything goes on. */
static void finish_part(pawl_decision *d) {
  const int64_t undone = undoing(d)->undone, failed = undoing(d)->failed;
  const int own = find_token(d, undoing(d)->token);
  const int k = find_token(d, undoing(d)->by);
  const pawl_node *node = k < 0 ? NULL : pawl_tok_node(d, k);

  if (own >= 0) {
    pawl_tok(d, own)->state = PAWL_TOKEN_CONSUMED;
    pawl_tok(d, own)->changed = 1;
  }
  pawl_state_drop_undo(&d->plan.state);
  pawl_look_again(d); /* what came meanwhile */
  if (!node) return;  /* the store was edited: others go on */
  d->plan.state.node = node->name;
  if (d->def->busy_limit) d->plan.state.immediate++;
  if (failed) {
    fail_part(d, k, failed, undone + failed);
  } else {
    pawl_record *r = pawl_token_record(d, k, "compensated");
    pawl_buf_addf(&r->output, "{\"undone\":%" PRId64 "}", undone);
    r->has_output = 1;
    d->plan.outcome = "done";
    pawl_leave(d, k, node->next[0].to);
  }
  pawl_trace_step(d, node, 0, k);
}

static void finish(pawl_decision *d) {
  pawl_plan *p = &d->plan;
  pawl_compensation *u = undoing(d);

  if (u->by) {
    finish_part(d);
    return;
  }
  u->status =
      u->failed ? PAWL_UNDO_COMPLETED_WITH_ERRORS : PAWL_UNDO_COMPLETED;
  u->completed_us = pawl_decision_now(d);
  if (u->node.len) /* where it was when that began */
    p->state.node = pawl_decision_name(d, pawl_buf_str(&u->node));
  pawl_record *r = pawl_instance_record(d, "compensated");
  pawl_buf_addz(&r->text, u->failed ? "completed with errors" : "completed");
  pawl_buf_copy(&p->error, &u->error);
  if (u->output.len) pawl_buf_copy(&p->state.output, &u->output);
  p->outcome = u->end == PAWL_STATUS_FAILED ? "failed" : "cancelled";
  for (int k = 0; k < p->state.tokens.n; k++)
    if (pawl_tok_live(d, k)) {
      pawl_tok(d, k)->state = PAWL_TOKEN_CONSUMED;
      pawl_tok(d, k)->changed = 1;
    }
  if (u->end == PAWL_STATUS_CANCELLED)
    pawl_end_cancelled(d);
  else
    pawl_end(d, (pawl_standing)u->end);
}

void pawl_undo_stop(pawl_decision *d) {
  if (!pawl_is_undoing(d)) return;
  undoing(d)->status = PAWL_UNDO_STOPPED;
  undoing(d)->completed_us = pawl_decision_now(d);
}

/* ---- one after the other ---- */

int pawl_undo_next(const pawl_decision *d, const pawl_compensation *u,
                   pawl_str *step, int64_t *seq, int *behind) {
  int found = 0;

  *behind = 0;
  for (pawl_json_iter it = {0};
       u->below && pawl_json_walk(pawl_buf_str(&d->undo), &it);) {
    int64_t no = pawl_json_get_int(it.value, "seq", PAWL_NEVER);
    if (no >= u->below) continue;
    if (found++) {
      ++*behind;
    } else {
      *step = it.value;
      *seq = no;
    }
  }
  return found > 0;
}

static void wait_for_load(pawl_decision *d, pawl_look look) {
  d->plan.look = look;
  d->plan.after = PAWL_AFTER_BACK;
  d->plan.look_us = pawl_decision_now(d);
}

static int stands(pawl_decision *d) {
  int k = -1;
  if (undoing(d)->by) return find_token(d, undoing(d)->token);
  for (int i = 0; i < d->plan.state.tokens.n; i++)
    if (pawl_tok_live(d, i)) k = i;
  return k;
}

/* A token comes to stand at the step to undo next; or it is over. */
static void stand_next(pawl_decision *d) {
  pawl_plan *p = &d->plan;
  pawl_str step;
  int64_t seq;
  int behind, k;

  if (!pawl_undo_next(d, undoing(d), &step, &seq, &behind)) {
    finish(d);
    return;
  }
  k = stands(d);
  if (k < 0) k = pawl_token_new(d, -1);
  if (k < 0) return;
  if (undoing(d)->by) undoing(d)->token = pawl_tok(d, k)->no;
  const char *before = p->state.node;
  pawl_arrive(d, k, pawl_world_name(d->world, step, "node", &p->failed));
  if (seq == undoing(d)->tried_row)
    pawl_tok(d, k)->attempt = undoing(d)->tried;
  p->state.previous = before; /* a new token comes from nowhere */
  p->after = PAWL_AFTER_GO_ON;
  pawl_look_again(d); /* for its output */
}

/* Row `seq` is dealt with. */
static void pass(pawl_decision *d, int64_t seq) {
  assert(seq < undoing(d)->below); /* it goes down, and ends */
  undoing(d)->below = seq;
  stand_next(d);
}

/* What there is to undo was counted. */
static void make_plan(pawl_decision *d) {
  pawl_compensation *u = undoing(d);

  assert(!d->naloft);
  for (int k = 0; k < d->plan.state.tokens.n && !u->by; k++)
    drop_token(d, k); /* whose handler waited as its process died */
  u->status = PAWL_UNDO_RUNNING;
  u->since = u->below = pawl_record_seq(d) + 1;
  u->planned = d->undo_total;
  u->again = d->undo_again;
  u->undone = u->failed = 0;
  pawl_buf_copy(&u->transfers, &d->undo_transfers);
  d->plan.resets = 1;
  stand_next(d);
}

static void note_row(pawl_record *r, int64_t seq, int64_t began_us) {
  r->started_us = began_us;
  pawl_buf_clear(&r->previous);
  pawl_buf_addf(&r->previous, "[%" PRId64 "]", seq);
}

/* Nobody is asked yet, but it may be too late: what a node has undone, as late
 * as that would be, had it begun in its place. */
static void look_later(pawl_decision *d) {
  const pawl_compensation *u = undoing(d);
  const pawl_token *by =
      pawl_tokens_find(&d->plan.state.tokens, (int32_t)u->by);
  const int64_t at_us = by ? pawl_order_place(by) : 0;

  pawl_conditions_look(
      d, at_us ? at_us + (pawl_decision_now(d) - u->started_us) : 0);
}

static void undone(pawl_decision *d, int k, int64_t seq, int64_t began_us) {
  pawl_take_effects(d, k, d->result);
  pawl_record *r = pawl_token_record(d, k, "undone");
  note_row(r, seq, began_us);
  if (d->result->vars_changed)
    pawl_vars_take(d, &d->result->vars, &r->changes);
  look_later(d);
  pawl_take_attrs(r, d->result);
  undoing(d)->undone++;
  pawl_buf_clear(&d->plan.state.stopped); /* there is no way back */
  d->plan.outcome = "undone";
}

/* Tried again by the node's policy, or, where memory stays short, when somebody
 * has it go on; 1: it has failed for good. */
static int undo_failed(pawl_decision *d, int k, const pawl_node *node,
                       int64_t seq, const pawl_error *err, int64_t began_us) {
  int64_t delay_us = 0, now = pawl_decision_now(d);
  pawl_token *t;
  pawl_failure f = pawl_failure_of(d, k, err);
  f.routes = 0;
  int to, again = pawl_retry_decide(node, &f, &delay_us, &to) ==
                  PAWL_VERDICT_RETRY;
  const int stands = !again && f.passes == PAWL_PASSES_MEMORY;
  pawl_record *r =
      pawl_token_record(d, k, again || stands ? "failed" : "undo_failed");

  note_row(r, seq, began_us);
  pawl_plan_error(&r->error, err, d->result);
  pawl_buf_addz(&r->text, "undoing");
  pawl_set_detail(&d->plan, err);
  t = pawl_tok(d, k);
  t->changed = 1;
  if (again) {
    pawl_failure_note(d, k, &f);
    t->due_us = r->due_us = pawl_time_after(now, delay_us);
    d->plan.outcome = "retry";
    return 0;
  }
  if (stands) {
    pawl_failure_note(d, k, &f);
    pawl_suspend_token(d, k);
    return 0;
  }
  undoing(d)->failed++;
  pawl_buf_clear(&d->plan.state.stopped);
  d->plan.outcome = "failed";
  return 1;
}

/* The token that stands there shows what the step's own last had, while the
 * handler runs. */
static pawl_code run_undo(pawl_decision *d, int k, const pawl_node *node,
                          pawl_error *err) {
  pawl_token *t = pawl_tok(d, k);
  pawl_str output = pawl_buf_str(&d->undo_output), none = {0};

  if (!output.len) output = pawl_strz("null");
  pawl_buf_clear(&t->data);
  pawl_buf_adds(&t->data, pawl_buf_str(&d->undo_data));
  t->branch = d->undo_branch;
  pawl_code rc =
      pawl_run_handler_on(d, k, node, PAWL_HANDLER_UNDO, none, output, err);
  pawl_buf_clear(&pawl_tok(d, k)->data);
  pawl_tok(d, k)->branch = NULL;
  return rc;
}

void pawl_undo_returned(pawl_decision *d, pawl_code rc, pawl_error *err,
                        int64_t began_us) {
  int k = stands(d), behind, over = 1;
  const pawl_node *node = k < 0 ? NULL : pawl_tok_node(d, k);
  int64_t seq;
  pawl_str step;

  if (!node || !pawl_undo_next(d, undoing(d), &step, &seq, &behind)) return;
  d->plan.ran = 1;
  d->plan.resets = 1;
  d->running_token = pawl_tok(d, k)->no;
  if (rc == PAWL_OK) rc = pawl_spend_effects(d, err);
  if (rc == PAWL_OK)
    undone(d, k, seq, began_us);
  else
    over = undo_failed(d, k, node, seq, err, began_us);
  pawl_buf_clear(&pawl_tok(d, k)->data); /* it was the step's */
  /* behind the last one the whole ends, with an outcome of its own */
  const char *outcome = d->plan.outcome;
  int64_t due_us = over ? 0 : pawl_tok(d, k)->due_us;
  if (over) pass(d, seq);
  pawl_decision_trace(d, node->name, "undo", d->took_us, outcome,
                      d->plan.detail.at ? d->plan.detail.at : "", due_us);
}

static void undo(pawl_decision *d, int k) {
  const pawl_node *node = pawl_tok_node(d, k);
  int64_t now = pawl_decision_now(d);
  pawl_error err = {0};

  d->running_token = pawl_tok(d, k)->no;
  pawl_decision_trace(d, node->name, "undo", -1, NULL, "", 0);
  pawl_code rc = run_undo(d, k, node, &err);
  if (!pawl_is_aloft(d, pawl_tok(d, k))) pawl_undo_returned(d, rc, &err, now);
}

/* To undo a part of what was done would be worse than none of it. */
static void refuse_plan(pawl_decision *d) {
  pawl_error err;

  pawl_fail(&err, PAWL_CONFLICT,
            "its history was trimmed (keep_history), so that nobody knows all "
            "that is to be undone");
  pawl_error_hint(&err, "undo by hand what it has done, then kill it");
  pawl_suspend(d, &err);
  pawl_trace_verdict(d);
}

void pawl_undo_run(pawl_decision *d) {
  int k = stands(d), planning, behind = 0, more;
  int64_t seq = 0;
  pawl_str step;

  planning = undoing(d)->status == PAWL_UNDO_PLANNING;
  if (planning && d->undo.len) {
    if (d->undo_gone)
      refuse_plan(d);
    else
      make_plan(d);
    return;
  }
  more = pawl_undo_next(d, undoing(d), &step, &seq, &behind);
  if (planning || (!d->undo_last && !behind)) {
    wait_for_load(d, planning ? PAWL_LOOK_UNDOS : PAWL_LOOK_AGAIN);
    return;
  }
  if (k < 0 || !more) {
    stand_next(d);
    return;
  }
  if (pawl_tok(d, k)->due_us > pawl_decision_now(d)) return; /* its delay */
  if (d->undo_seq != seq) {
    wait_for_load(d, PAWL_LOOK_AGAIN);
    return;
  }
  const pawl_node *node = pawl_tok_node(d, k);
  if (!node || !node->has_undo) /* its definition has changed */
    pass(d, seq);
  else
    undo(d, k);
}
