/* Undoing what was done, in reverse order of completion, as a recorded plan.
 * The plan itself is history's: the rows of what was completed, newest first.
 * The record says how far down it is, so that the cost of an undo does not
 * grow with their number; whoever asks gets the lists (query.c).
 *
 *   {"status":"planning","end":"failed","error":{...},"node":"pay",
 *    "started_at":"..."}
 *   {"status":"running",...,"since":12,"below":8,"planned":7,"undone":2,
 *    "undo_failed":1,"moves":[5]}: what became of it stands in history from
 *    row 12 on; what is left are steps before row 8; row 5 tells of a move to
 *    another version, where nodes had other names ("moves": if there are any)
 *   {"status":"completed"|"completed_with_errors",...,"completed_at":"..."}
 *   {"status":"stopped",...}: killed before it was through
 *
 * One token stands at the step that is undone next; each undo is a commit of
 * its own, tried again by its node's policy, and passed over when it has
 * failed for good. */
#include <inttypes.h>
#include <stdio.h>

#include "../value/json.h"
#include "machine.h"

static int status_is(const pawl_buf *compensation, const char *quoted) {
  pawl_str status;
  return compensation->len &&
         pawl_json_get(pawl_buf_str(compensation), "status", &status) &&
         pawl_str_eqz(status, quoted);
}

int pawl_is_undoing(const pawl_held *h) {
  if (!h->plan.compensation.len) return 0; /* as a rule */
  return status_is(&h->plan.compensation, "\"planning\"") ||
         status_is(&h->plan.compensation, "\"running\"");
}

static pawl_str member(const pawl_held *h, const char *name) {
  pawl_str value = {0};
  if (h->plan.compensation.len)
    (void)pawl_json_get(pawl_buf_str(&h->plan.compensation), name, &value);
  return value;
}

static void set(pawl_held *h, const char *name, pawl_str value) {
  pawl_object_set(&h->plan.compensation, name, value);
  h->plan.more = 1;
}

static void set_int(pawl_held *h, const char *name, int64_t n) {
  char text[24];
  snprintf(text, sizeof text, "%" PRId64, n);
  set(h, name, pawl_strz(text));
}

static int64_t member_int(const pawl_held *h, const char *name) {
  int64_t n = 0;
  (void)pawl_json_int(member(h, name), &n);
  return n;
}

static void set_time(pawl_engine *e, pawl_held *h, const char *name) {
  char text[32];
  text[0] = '"';
  pawl_time_format(pawl_engine_now(e), text + 1);
  size_t len = strlen(text);
  text[len] = '"';
  text[len + 1] = 0;
  set(h, name, pawl_strz(text));
}

/* ---- beginning ---- */

void pawl_undo_begin(pawl_engine *e, pawl_held *h, pawl_status status) {
  pawl_plan *p = &h->plan;

  if (status == PAWL_STATUS_FAILED) pawl_stopped_note(h);
  for (int k = 0; k < p->tokens.n; k++) {
    if (!pawl_tok_live(h, k)) continue;
    pawl_stop_waiting(h, k, "cancelled");
    pawl_tok(h, k)->state = PAWL_TOKEN_DROPPED;
    pawl_tok(h, k)->changed = 1;
  }
  pawl_buf_clear(&p->compensation);
  set(h, "status", pawl_strz("\"planning\""));
  set(h, "end",
      status == PAWL_STATUS_FAILED ? pawl_strz("\"failed\"")
                                   : pawl_strz("\"cancelled\""));
  if (p->error.len) set(h, "error", pawl_buf_str(&p->error));
  if (p->has_output) set(h, "output", pawl_buf_str(&p->output));
  if (p->node) {
    pawl_buf node = {.alloc = &e->alloc};
    pawl_json_add_string(&node, pawl_strz(p->node));
    set(h, "node", pawl_buf_str(&node));
    pawl_buf_deinit(&node);
  }
  set_time(e, h, "started_at");
  pawl_children_end(h, status); /* not only once all is undone */
  p->has_output = 0;
  p->after = PAWL_AFTER_GO_ON;
  p->status = PAWL_STATUS_RUNNING;
  h->look = 2;
}

/* ---- the end ---- */

/* The node that a step of the plan, or the whole, names. */
static const char *node_of(pawl_engine *e, pawl_str step) {
  pawl_buf name = {.alloc = &e->alloc};
  const char *kept = NULL;
  pawl_str value;
  if (pawl_json_get(step, "node", &value)) {
    pawl_json_unquote(value, &name);
    kept = pawl_engine_intern(e, pawl_buf_str(&name));
  }
  pawl_buf_deinit(&name);
  return kept;
}

static void finish(pawl_engine *e, pawl_held *h) {
  pawl_plan *p = &h->plan;
  pawl_str end = member(h, "end"), error, output;
  int bad = member_int(h, "undo_failed") > 0;
  pawl_status status = pawl_str_eqz(end, "\"failed\"") ? PAWL_STATUS_FAILED
                                                       : PAWL_STATUS_CANCELLED;
  pawl_record *r;

  set(h, "status",
      pawl_strz(bad ? "\"completed_with_errors\"" : "\"completed\""));
  set_time(e, h, "completed_at");
  if (member(h, "node").at) /* where it was when that began */
    p->node = node_of(e, pawl_buf_str(&p->compensation));
  r = pawl_instance_record(e, h, "compensated");
  pawl_buf_addz(&r->text, bad ? "completed with errors" : "completed");
  error = member(h, "error");
  pawl_buf_clear(&p->error);
  if (error.len) pawl_buf_adds(&p->error, error);
  output = member(h, "output");
  p->has_output = output.len > 0;
  pawl_buf_clear(&p->output);
  if (output.len) pawl_buf_adds(&p->output, output);
  p->outcome = status == PAWL_STATUS_FAILED ? "failed" : "cancelled";
  for (int k = 0; k < p->tokens.n; k++)
    if (pawl_tok_live(h, k)) {
      pawl_tok(h, k)->state = PAWL_TOKEN_CONSUMED;
      pawl_tok(h, k)->changed = 1;
    }
  pawl_end(e, h, status);
}

void pawl_undo_stop(pawl_engine *e, pawl_held *h) {
  if (!pawl_is_undoing(h)) return;
  set(h, "status", pawl_strz("\"stopped\""));
  set_time(e, h, "completed_at");
}

/* ---- one after the other ---- */

int pawl_undo_next(const pawl_held *h, const pawl_buf *compensation,
                   pawl_str *step, int64_t *seq, int *behind) {
  int64_t below = 0, no = 0;
  pawl_json_iter it = {0};
  pawl_str key, one, value;
  int found = 0;

  *behind = 0;
  if (!h->undo.len || !compensation->len ||
      !pawl_json_get(pawl_buf_str(compensation), "below", &value) ||
      !pawl_json_int(value, &below))
    return 0;
  while (pawl_json_each(pawl_buf_str(&h->undo), &it, &key, &one)) {
    if (!pawl_json_get(one, "seq", &value) || !pawl_json_int(value, &no) ||
        no >= below)
      continue;
    if (found++) {
      ++*behind;
    } else {
      *step = one;
      *seq = no;
    }
  }
  return found > 0;
}

static void wait_for_load(pawl_engine *e, pawl_held *h, int look) {
  h->look = look;
  h->plan.after = PAWL_AFTER_BACK;
  h->plan.look_us = pawl_engine_now(e);
}

static int stands(pawl_held *h) {
  int k = -1;
  for (int i = 0; i < h->plan.tokens.n; i++)
    if (pawl_tok_live(h, i)) k = i;
  return k;
}

/* A token comes to stand at the step to undo next; or it is over. */
static void stand_next(pawl_engine *e, pawl_held *h) {
  pawl_plan *p = &h->plan;
  pawl_str step;
  int64_t seq;
  int behind, k;

  if (!pawl_undo_next(h, &p->compensation, &step, &seq, &behind)) {
    finish(e, h);
    return;
  }
  k = stands(h);
  if (k < 0) k = pawl_token_new(h, -1);
  if (k < 0) return;
  pawl_token *t = pawl_tok(h, k);
  t->previous = t->node;
  t->node = node_of(e, step);
  t->visit = ++p->visit;
  t->attempt = 0;
  t->due_us = 0;
  t->changed = 1;
  p->previous = p->node;
  p->node = t->node;
  p->after = PAWL_AFTER_GO_ON;
  h->look = h->look ? h->look : 1; /* for its output */
}

/* Row `seq` is dealt with. */
static void pass(pawl_engine *e, pawl_held *h, int64_t seq) {
  set_int(h, "below", seq);
  stand_next(e, h);
}

/* What there is to undo was counted. */
static void make_plan(pawl_engine *e, pawl_held *h) {
  int64_t since = h->seq + h->plan.nrecords + 1;

  set(h, "status", pawl_strz("\"running\""));
  set_int(h, "since", since);
  set_int(h, "below", since);
  set_int(h, "planned", h->undo_total);
  set_int(h, "undone", 0);
  set_int(h, "undo_failed", 0);
  if (h->undo_moves.len) set(h, "moves", pawl_buf_str(&h->undo_moves));
  h->plan.resets = 1;
  stand_next(e, h);
}

static void note_row(pawl_record *r, int64_t seq, int64_t began_us) {
  r->started_us = began_us;
  pawl_buf_clear(&r->previous);
  pawl_buf_addf(&r->previous, "[%" PRId64 "]", seq);
}

static void undone(pawl_engine *e, pawl_held *h, int k, int64_t seq,
                   int64_t began_us) {
  pawl_record *r = pawl_token_record(e, h, k, "undone");
  note_row(r, seq, began_us);
  if (e->result.vars_changed) pawl_vars_take(h, &e->result.vars, &r->changes);
  pawl_take_effects(e, h, k, &e->result);
  set_int(h, "undone", member_int(h, "undone") + 1);
  pawl_buf_clear(&h->plan.stopped); /* there is no way back */
  h->plan.outcome = "undone";
}

/* Tried again by the node's policy; 1: it has failed for good. */
static int undo_failed(pawl_engine *e, pawl_held *h, int k,
                       const pawl_node *node, int64_t seq,
                       const pawl_error *err, int64_t began_us) {
  int64_t delay_us = 0, now = pawl_engine_now(e);
  pawl_token *t = pawl_tok(h, k);
  pawl_failure f = {.attempt = t->attempt + 1,
                    .no_retry = e->result.no_retry,
                    .retry_after_us = e->result.retry_after_us,
                    .reason = "",
                    .random = pawl_engine_random(e)};
  int to, again = pawl_retry_decide(node, &f, &delay_us, &to) ==
                  PAWL_VERDICT_RETRY;
  pawl_record *r =
      pawl_token_record(e, h, k, again ? "failed" : "undo_failed");

  note_row(r, seq, began_us);
  pawl_plan_error(&r->error, err, pawl_buf_str(&e->result.details));
  pawl_buf_addz(&r->text, "undoing");
  pawl_set_detail(&h->plan, err);
  t = pawl_tok(h, k);
  t->changed = 1;
  if (again) {
    t->attempt = f.attempt;
    t->due_us = r->due_us = pawl_time_after(now, delay_us);
    h->plan.outcome = "retry";
    return 0;
  }
  set_int(h, "undo_failed", member_int(h, "undo_failed") + 1);
  pawl_buf_clear(&h->plan.stopped);
  h->plan.outcome = "failed";
  return 1;
}

/* The token that stands there shows what the step's own last had, while the
 * handler runs. */
static pawl_code run_undo(pawl_engine *e, pawl_held *h, int k,
                          const pawl_node *node, pawl_error *err) {
  pawl_token *t = pawl_tok(h, k);
  pawl_str output = pawl_buf_str(&h->undo_output), none = {0};
  pawl_code rc;

  if (!output.len) output = pawl_strz("null");
  pawl_buf_clear(&t->data);
  pawl_buf_adds(&t->data, pawl_buf_str(&h->undo_data));
  t->branch = h->undo_branch;
  rc = pawl_run_handler(e, h, k, node, PAWL_HANDLER_UNDO, none, output, err);
  pawl_buf_clear(&pawl_tok(h, k)->data);
  pawl_tok(h, k)->branch = NULL;
  return rc;
}

void pawl_undo_returned(pawl_engine *e, pawl_held *h, pawl_code rc,
                        const pawl_error *err, int64_t began_us) {
  int k = stands(h), behind, over = 1;
  const pawl_node *node = k < 0 ? NULL : pawl_tok_node(h, k);
  int64_t seq;
  pawl_str step;

  if (!node || !pawl_undo_next(h, &h->plan.compensation, &step, &seq, &behind))
    return;
  h->plan.ran = 1;
  h->plan.resets = 1;
  h->running_token = pawl_tok(h, k)->no;
  if (rc == PAWL_OK)
    undone(e, h, k, seq, began_us);
  else
    over = undo_failed(e, h, k, node, seq, err, began_us);
  pawl_buf_clear(&pawl_tok(h, k)->data); /* it was the step's */
  /* behind the last one the whole ends, with an outcome of its own */
  const char *outcome = h->plan.outcome;
  int64_t due_us = over ? 0 : pawl_tok(h, k)->due_us;
  if (over) pass(e, h, seq);
  pawl_engine_trace(e, h, node->name, "undo",
                    pawl_clock_mono() - h->flight.began_mono_us, outcome,
                    h->plan.detail.at ? h->plan.detail.at : "", due_us);
}

static void undo(pawl_engine *e, pawl_held *h, int k) {
  const pawl_node *node = pawl_tok_node(h, k);
  int64_t now = pawl_engine_now(e);
  pawl_error err = {0};

  h->running_token = pawl_tok(h, k)->no;
  pawl_engine_trace(e, h, node->name, "undo", -1, NULL, "", 0);
  pawl_code rc = run_undo(e, h, k, node, &err);
  if (!h->flight.run) pawl_undo_returned(e, h, rc, &err, now);
}

void pawl_undo_run(pawl_engine *e, pawl_held *h) {
  int k = stands(h), planning, behind = 0, more;
  const pawl_node *node;
  int64_t seq = 0;
  pawl_str step;

  planning = status_is(&h->plan.compensation, "\"planning\"");
  if (planning && h->undo.len) {
    make_plan(e, h);
    return;
  }
  more = pawl_undo_next(h, &h->plan.compensation, &step, &seq, &behind);
  if (planning || (!h->undo_last && !behind)) {
    wait_for_load(e, h, planning ? 2 : 1);
    return;
  }
  if (k < 0 || !more) {
    stand_next(e, h);
    return;
  }
  if (pawl_tok(h, k)->due_us > pawl_engine_now(e)) return; /* its delay */
  if (h->undo_seq != seq) {
    wait_for_load(e, h, 1);
    return;
  }
  node = pawl_tok_node(h, k);
  if (!node || !node->has_undo) /* its definition has changed */
    pass(e, h, seq);
  else
    undo(e, h, k);
}
