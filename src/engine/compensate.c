/* Undoing what was done, in reverse order of completion, as a recorded plan:
 *
 *   {"status":"planning","end":"failed","error":{...},"node":"pay",
 *    "started_at":"..."}
 *   {"status":"running",...,"plan":[{"seq","node","visit","token"},...],
 *    "at":1,"completed":[7],"failed":[{"seq","node","error","at"}]}
 *   {"status":"completed"|"completed_with_errors",...,"completed_at":"..."}
 *   {"status":"stopped",...}: killed before it was through
 *
 * One token stands at the step that is undone next; each undo is a commit of
 * its own, tried again by its node's policy, and passed over when it has
 * failed for good. */
#include <inttypes.h>

#include "../value/json.h"
#include "machine.h"

static int status_is(const pawl_buf *compensation, const char *quoted) {
  pawl_str status;
  return compensation->len &&
         pawl_json_get(pawl_buf_str(compensation), "status", &status) &&
         pawl_str_eqz(status, quoted);
}

int pawl_is_undoing(const pawl_held *h) {
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
  pawl_str failed = member(h, "failed"), end = member(h, "end");
  pawl_str error, output;
  int bad = failed.len > 2;
  pawl_status status = pawl_str_eqz(end, "\"failed\"") ? PAWL_STATUS_FAILED
                                                       : PAWL_STATUS_CANCELLED;
  pawl_record *r;

  set(h, "status",
      pawl_strz(bad ? "\"completed_with_errors\"" : "\"completed\""));
  set(h, "at", (pawl_str){NULL, 0});
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

/* Entry `at` of the plan; 0: there are no more. */
static int entry(const pawl_held *h, int64_t at, pawl_str *out) {
  pawl_str plan = member(h, "plan"), key;
  pawl_json_iter it = {0};
  int64_t i = 0;
  if (!plan.len) return 0;
  while (pawl_json_each(plan, &it, &key, out))
    if (i++ == at) return 1;
  return 0;
}

/* A token comes to stand at the step to undo next; or it is over. */
static void stand_at(pawl_engine *e, pawl_held *h, int64_t at) {
  pawl_plan *p = &h->plan;
  pawl_str step, now;
  pawl_buf number = {.alloc = &e->alloc};
  int k = -1;

  pawl_buf_addi(&number, at);
  now = pawl_buf_str(&number);
  set(h, "at", now);
  pawl_buf_deinit(&number);
  if (!entry(h, at, &step)) {
    finish(e, h);
    return;
  }
  for (int i = 0; i < p->tokens.n; i++)
    if (pawl_tok_live(h, i)) k = i;
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

/* The list that was loaded becomes the plan, without the outputs. */
static void make_plan(pawl_engine *e, pawl_held *h) {
  static const char *const kept[] = {"seq", "node", "visit", "token"};
  pawl_buf plan = {.alloc = &e->alloc};
  pawl_json_iter it = {0};
  pawl_str key, one, value;
  int n = 0;

  pawl_buf_addc(&plan, '[');
  while (pawl_json_each(pawl_buf_str(&h->undo), &it, &key, &one)) {
    pawl_buf_addz(&plan, n++ ? ",{" : "{");
    for (int i = 0, any = 0; i < 4; i++) {
      if (!pawl_json_get(one, kept[i], &value)) continue;
      pawl_buf_addf(&plan, "%s\"%s\":", any++ ? "," : "", kept[i]);
      pawl_buf_adds(&plan, value);
    }
    pawl_buf_addc(&plan, '}');
  }
  pawl_buf_addc(&plan, ']');
  set(h, "status", pawl_strz("\"running\""));
  set(h, "plan", pawl_buf_str(&plan));
  set(h, "completed", pawl_strz("[]"));
  set(h, "failed", pawl_strz("[]"));
  pawl_buf_deinit(&plan);
  h->plan.resets = 1;
  stand_at(e, h, 0);
}

static void append(pawl_held *h, const char *list, pawl_str one) {
  pawl_buf all = {.alloc = h->plan.alloc};
  pawl_str old = member(h, list);
  if (old.len > 2) {
    pawl_str open = {old.at, old.len - 1};
    pawl_buf_adds(&all, open);
    pawl_buf_addc(&all, ',');
  } else {
    pawl_buf_addc(&all, '[');
  }
  pawl_buf_adds(&all, one);
  pawl_buf_addc(&all, ']');
  set(h, list, pawl_buf_str(&all));
  pawl_buf_deinit(&all);
}

static void undone(pawl_engine *e, pawl_held *h, int k, pawl_str seq,
                   int64_t began_us) {
  pawl_record *r = pawl_token_record(e, h, k, "undone");
  r->started_us = began_us;
  pawl_buf_clear(&r->previous);
  pawl_buf_addc(&r->previous, '[');
  pawl_buf_adds(&r->previous, seq);
  pawl_buf_addc(&r->previous, ']');
  if (e->result.vars_changed)
    pawl_vars_put(h, pawl_buf_str(&e->result.vars), &r->changes);
  pawl_take_effects(e, h, k, &e->result);
  append(h, "completed", seq);
  pawl_buf_clear(&h->plan.stopped); /* there is no way back */
  h->plan.outcome = "undone";
}

/* Tried again by the node's policy; 1: it has failed for good. */
static int undo_failed(pawl_engine *e, pawl_held *h, int k,
                       const pawl_node *node, pawl_str seq,
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
  pawl_buf one = {.alloc = &e->alloc};

  r->started_us = began_us;
  pawl_plan_error(&r->error, err, pawl_buf_str(&e->result.details));
  pawl_buf_addz(&r->text, "undoing");
  pawl_buf_clear(&r->previous);
  pawl_buf_addc(&r->previous, '[');
  pawl_buf_adds(&r->previous, seq);
  pawl_buf_addc(&r->previous, ']');
  pawl_set_detail(&h->plan, err);
  t = pawl_tok(h, k);
  t->changed = 1;
  if (again) {
    t->attempt = f.attempt;
    t->due_us = r->due_us = now + delay_us;
    h->plan.outcome = "retry";
    return 0;
  }
  char time[28];
  pawl_time_format(now, time);
  pawl_buf_addz(&one, "{\"seq\":");
  pawl_buf_adds(&one, seq);
  pawl_buf_addz(&one, ",\"node\":");
  pawl_json_add_string(&one, pawl_strz(node->name));
  pawl_buf_addz(&one, ",\"error\":");
  pawl_buf_adds(&one, pawl_buf_str(&r->error));
  pawl_buf_addf(&one, ",\"at\":\"%s\"}", time);
  append(h, "failed", pawl_buf_str(&one));
  pawl_buf_clear(&h->plan.stopped);
  pawl_buf_deinit(&one);
  h->plan.outcome = "failed";
  return 1;
}

/* What was loaded of the entry: its output. 0: not it. */
static int loaded_output(const pawl_held *h, pawl_str seq, pawl_str *output) {
  pawl_str value, key, one = pawl_buf_str(&h->undo);
  pawl_json_iter it = {0};

  if (!h->undo.len) return 0;
  if (pawl_json_kind_of(one) == PAWL_JSON_ARRAY &&
      !pawl_json_each(pawl_buf_str(&h->undo), &it, &key, &one))
    return 0;
  if (!pawl_json_get(one, "seq", &value) || !pawl_str_eq(value, seq)) return 0;
  if (!pawl_json_get(one, "output", output)) *output = (pawl_str){NULL, 0};
  return 1;
}

static void wait_for_load(pawl_engine *e, pawl_held *h, int look) {
  h->look = look;
  h->plan.after = PAWL_AFTER_BACK;
  h->plan.look_us = pawl_engine_now(e);
}

void pawl_undo_run(pawl_engine *e, pawl_held *h) {
  int64_t at = 0, now = pawl_engine_now(e);
  pawl_str step, seq = {0}, output = {0}, none = {0};
  const pawl_node *node;
  pawl_error err = {0};
  int k = -1;

  if (status_is(&h->plan.compensation, "\"planning\"")) {
    if (h->undo.len)
      make_plan(e, h);
    else
      wait_for_load(e, h, 2);
    return;
  }
  (void)pawl_json_int(member(h, "at"), &at);
  for (int i = 0; i < h->plan.tokens.n; i++)
    if (pawl_tok_live(h, i)) k = i;
  if (k < 0 || !entry(h, at, &step)) {
    stand_at(e, h, at);
    return;
  }
  if (pawl_tok(h, k)->due_us > now) return; /* its delay is not over */
  node = pawl_tok_node(h, k);
  (void)pawl_json_get(step, "seq", &seq);
  if (!loaded_output(h, seq, &output)) {
    wait_for_load(e, h, 1);
    return;
  }
  if (!node || !node->has_undo) { /* moved to a version without it */
    stand_at(e, h, at + 1);
    return;
  }
  h->plan.ran = 1;
  h->plan.resets = 1;
  pawl_engine_trace(e, h, node->name, "undo", -1, NULL, "", 0);
  /* seq lies in the compensation, which is rewritten below */
  pawl_buf number = {.alloc = &e->alloc};
  pawl_buf_adds(&number, seq);
  int over = 1;
  if (pawl_run_handler(e, h, k, node, PAWL_HANDLER_UNDO, none, output, &err) ==
      PAWL_OK)
    undone(e, h, k, pawl_buf_str(&number), now);
  else
    over = undo_failed(e, h, k, node, pawl_buf_str(&number), &err, now);
  pawl_buf_deinit(&number);
  if (over) stand_at(e, h, at + 1);
  pawl_engine_trace(e, h, node->name, "undo", 0, h->plan.outcome,
                    h->plan.detail.at ? h->plan.detail.at : "", 0);
}
