/* One decision: what came in is taken, what has timed out goes on, what is
 * active runs, and all that follows is written into the plan. Touches the
 * host, never the store.
 *
 *   ended?  --> taken over? --> letters --> suspended? --> poisoned?
 *   --> unknown workflow? --> deadline? --> undoing? --> first step?
 *   --> times that have come; if any, that is the decision
 *   --> else each active token runs one step
 *
 * What was decided by the letters and the clock alone, and may come out
 * otherwise when something else comes in meanwhile, is committed before any
 * step runs, so that it can be decided again without losing a handler's result
 * (rule 6). */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "../../rules/machine.h"
#include "../../rules/order.h"
#include "../../value/json.h"
#include "heartbeat.h"
#include "spin.h"

#define TURN_US (50 * 1000) /* tokens of one instance take turns that long */
#define TOKENS_A_TURN 64

/* ---- variables ---- */

pawl_str pawl_vars_now(const pawl_held *h) {
  if (h->plan.vars_changed) return pawl_buf_str(&h->plan.vars);
  return h->vars.len ? pawl_buf_str(&h->vars) : pawl_strz("{}");
}

void pawl_vars_take(pawl_held *h, pawl_buf *vars, pawl_buf *changes) {
  if (changes) pawl_json_delta(pawl_vars_now(h), pawl_buf_str(vars), changes);
  pawl_buf_swap(&h->plan.vars, vars);
  h->plan.vars_changed = 1;
}

void pawl_vars_put(pawl_held *h, pawl_str vars, pawl_buf *changes) {
  pawl_buf now = {.alloc = h->plan.alloc}; /* they may be those of the plan */

  pawl_buf_adds(&now, vars);
  pawl_vars_take(h, &now, changes);
  pawl_buf_deinit(&now);
}

void pawl_vars_set(pawl_held *h, const char *name, pawl_str value,
                   pawl_buf *changes) {
  pawl_buf delta = {.alloc = h->plan.alloc}, vars = {.alloc = h->plan.alloc};
  pawl_buf_addz(&delta, "{\"set\":{");
  pawl_json_add_string(&delta, pawl_strz(name));
  pawl_buf_addc(&delta, ':');
  pawl_buf_adds(&delta, value);
  pawl_buf_addz(&delta, "}}");
  pawl_json_apply(pawl_vars_now(h), pawl_buf_str(&delta), &vars);
  pawl_vars_take(h, &vars, changes);
  pawl_buf_deinit(&delta);
  pawl_buf_deinit(&vars);
}

/* ---- the plan's beginning ---- */

static void copy_buf(pawl_buf *to, const pawl_buf *from) {
  pawl_buf_clear(to);
  if (from->len) pawl_buf_adds(to, pawl_buf_str(from));
}

/* A plan that, so far, leaves the instance as it is. */
static void plan_begin(pawl_engine *e, pawl_held *h) {
  pawl_plan *p = &h->plan;
  pawl_plan_reset(p);
  p->refusals = e->refusals;
  p->status = h->status;
  if (!pawl_tokens_copy(&p->tokens, &h->tokens, p->alloc)) p->failed = 1;
  for (int k = 0; k < p->tokens.n; k++) p->tokens.at[k].blind = 0;
  p->last_token = h->visit ? h->last_token : 0; /* 1 before it begins */
  p->visit = h->visit;
  p->node = h->node;
  p->previous = h->previous;
  p->sent = h->sent;
  p->children = h->children;
  p->immediate = h->immediate;
  p->suspended_us = h->suspended_us;
  p->deadline_us = h->deadline_us;
  p->begin_us = h->begin_us;
  copy_buf(&p->joined, &h->joined);
  copy_buf(&p->compensation, &h->compensation);
  copy_buf(&p->stopped, &h->stopped);
  copy_buf(&p->watched, &h->watched);
  copy_buf(&p->output, &h->output);
  p->has_output = p->output.len > 0;
  p->resets = 1;
  p->heard = !h->nletters;
  if (!h->started_us) p->started_us = pawl_engine_now(e);
}

const pawl_node *pawl_tok_node(pawl_held *h, int k) {
  pawl_token *t = pawl_tok(h, k);
  int at =
      t->node && h->def ? pawl_def_node_at(h->def, t->node, &t->node_at) : -1;
  return at < 0 ? NULL : &h->def->nodes[at];
}

/* ---- records ---- */

int64_t pawl_record_seq(const pawl_held *h) {
  return h->seq + h->plan.nrecords;
}

pawl_record *pawl_token_record(pawl_engine *e, pawl_held *h, int k,
                               const char *type) {
  pawl_token *t = pawl_tok(h, k);
  pawl_record *r = pawl_plan_record(&h->plan, type, t->node);
  pawl_str from;

  r->token = t->no;
  r->visit = t->visit;
  r->attempt = t->attempt + 1;
  r->completed_us = pawl_engine_now(e);
  if (pawl_detail_get(t, "from", &from)) {
    pawl_buf_adds(&r->previous, from);
    pawl_detail_set(t, "from", (pawl_str){NULL, 0});
  }
  return r;
}

pawl_record *pawl_instance_record(pawl_engine *e, pawl_held *h,
                                  const char *type) {
  pawl_plan *p = &h->plan;
  const pawl_token *t = pawl_tokens_lone(&p->tokens);
  pawl_record *r = pawl_plan_record(p, type, p->node);
  r->visit = t ? t->visit : p->visit;
  r->token = t ? t->no : 0;
  r->completed_us = pawl_engine_now(e);
  return r;
}

pawl_code pawl_output_fits(pawl_engine *e, const pawl_held *h,
                           const pawl_node *node, pawl_str output,
                           pawl_error *err) {
  pawl_buf delta = {.alloc = &e->alloc}, vars = {.alloc = &e->alloc};
  pawl_str now = pawl_vars_now(h);
  size_t max = (size_t)e->config.max_bytes;
  pawl_code rc = PAWL_OK;

  if (!node->into || !output.at) return PAWL_OK;
  /* mostly this tells: an escaped character takes no more than six */
  if (now.len + output.len + 6 * strlen(node->into) + 8 <= max) return PAWL_OK;
  pawl_buf_addz(&delta, "{\"set\":{");
  pawl_json_add_string(&delta, pawl_strz(node->into));
  pawl_buf_addc(&delta, ':');
  pawl_buf_adds(&delta, output);
  pawl_buf_addz(&delta, "}}");
  pawl_json_apply(now, pawl_buf_str(&delta), &vars);
  TRY(pawl_buf_check(&vars, err));
  if (vars.len <= max) goto out;
  pawl_result_clear(&e->result);
  e->result.no_retry = 1; /* it would be too much again */
  rc = pawl_fail(err, PAWL_LIMIT,
                 "with \"%s\", of %zu bytes, the variables would have %zu "
                 "bytes; the limit is %zu",
                 node->into, output.len, vars.len, max);
  pawl_error_hint(err,
                  "keep large data elsewhere, and a reference to it here");
out:
  pawl_buf_deinit(&delta);
  pawl_buf_deinit(&vars);
  return rc;
}

void pawl_take_output(pawl_held *h, const pawl_node *node, pawl_record *r,
                      pawl_str output) {
  if (!output.at) return;
  pawl_buf_clear(&r->output);
  pawl_buf_adds(&r->output, output);
  r->has_output = 1;
  if (node->into) pawl_vars_set(h, node->into, output, &r->changes);
}

void pawl_leave(pawl_engine *e, pawl_held *h, int k, int to) {
  pawl_leave_by(e, h, k, to, h->plan.nrecords - 1);
}

void pawl_token_keep(pawl_engine *e, pawl_token *t) {
  static const char *const names[] = {"up", "from", "out", "at", "kept"};
  pawl_buf kept = {.alloc = &e->alloc};
  pawl_str value;

  if (!t->detail.len) return;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!pawl_detail_get(t, names[i], &value)) continue;
    pawl_buf_addf(&kept, "%c\"%s\":", kept.len ? ',' : '{', names[i]);
    pawl_buf_adds(&kept, value);
  }
  if (kept.len) pawl_buf_addc(&kept, '}');
  pawl_buf_clear(&t->detail);
  if (kept.len) pawl_buf_adds(&t->detail, pawl_buf_str(&kept));
  pawl_buf_deinit(&kept);
}

/* An item's result is what its last step gave, however it comes back to its
 * each: past timers, choices and joins too. */
static void keep_output(pawl_held *h, int k, const pawl_record *r) {
  const pawl_node *node = pawl_tok_node(h, k);
  pawl_str none = {NULL, 0};
  int level;

  if (!node || (node->kind != PAWL_KIND_STEP && node->kind != PAWL_KIND_WAIT &&
                node->kind != PAWL_KIND_TASK && node->kind != PAWL_KIND_CALL))
    return;
  if (pawl_each_around(h, k, &level) < 0) return;
  pawl_detail_set(pawl_tok(h, k), "out",
                  r->has_output ? pawl_buf_str(&r->output) : none);
}

void pawl_leave_by(pawl_engine *e, pawl_held *h, int k, int to, int record) {
  pawl_plan *p = &h->plan;
  pawl_token *t = pawl_tok(h, k);
  pawl_buf path = {.alloc = p->alloc};

  pawl_buf_swap(&path,
                &p->detail); /* its memory serves for what it will say */
  pawl_buf_clear(&path);
  pawl_token_keep(e, t);
  if (record >= 0 && t->depth)
    keep_output(h, k, pawl_plan_record_at(p, record));
  t->state = PAWL_TOKEN_ACTIVE;
  t->due_us = 0;
  t->changed = 1;
  pawl_go_to(e, h, k, to, &path);
  if (record >= 0) {
    pawl_record *r = pawl_plan_record_at(p, record);
    if (r->path.len && path.len) pawl_buf_addz(&r->path, "; ");
    pawl_buf_adds(&r->path, pawl_buf_str(&path));
    if (!r->due_us) r->due_us = pawl_tok(h, k)->due_us;
  }
  pawl_buf_swap(&path, &p->detail);
  pawl_buf_deinit(&path);
}

/* ---- running ---- */

/* Nothing interrupts a handler, but what comes too late does not count: after
 * that time others may have taken over. */
static pawl_code check_timeout(pawl_engine *e, const pawl_node *node,
                               int64_t began_us, pawl_error *err) {
  int64_t took = pawl_engine_now(e) - began_us;

  if (took <= node->timeout_us) return PAWL_OK;
  pawl_result_clear(&e->result);
  pawl_fail(err, PAWL_TIMEOUT, "%s \"%s\" took %.1f s; its timeout is %.1f s",
            pawl_kind_name(node->kind), node->name, (double)took / 1e6,
            (double)node->timeout_us / 1e6);
  return PAWL_TIMEOUT;
}

/* One that may wait; when it does, the slot keeps it. */
static pawl_code begin_handler(pawl_engine *e, pawl_held *h,
                               const pawl_token *t, const pawl_node *node,
                               const pawl_call *c, pawl_error *err) {
  int64_t began = pawl_clock_mono(), now = pawl_await_now(e);
  pawl_flight *f = &h->flight;
  pawl_run *run;
  pawl_code rc;

  memset(f, 0, sizeof *f);
  f->handler = c->handler;
  f->token = t->no;
  f->visit = t->visit;
  f->attempt = t->attempt;
  f->began_us = pawl_engine_now(e);
  f->until_us = now < PAWL_NEVER - node->timeout_us ? now + node->timeout_us
                                                    : PAWL_NEVER;
  rc = pawl_host_begin(e->host, c, &e->result, &run, err);
  f->began_mono_us = began;
  f->busy_us = pawl_clock_mono() - began;
  if (run) pawl_await_begin(e, h, run);
  return rc;
}

pawl_code pawl_run_handler(pawl_engine *e, pawl_held *h, int k,
                           const pawl_node *node, pawl_handler handler,
                           pawl_str event, pawl_str output, pawl_error *err) {
  const pawl_token *t = pawl_tok(h, k);
  pawl_call c;
  pawl_code rc;

  memset(&c, 0, sizeof c);
  if (h->def->host_ref < 0) /* a graph alone: apply_only keeps us from it */
    return pawl_fail(err, PAWL_INTERNAL, "no code was loaded for a handler");
  c.ref = h->def->host_ref;
  c.node = node->name;
  c.handler = handler;
  c.id = h->id_text;
  c.workflow = h->workflow.at;
  c.version = h->workflow_version;
  c.attempt = t->attempt + 1;
  c.visit = t->visit;
  c.token = t->no;
  c.branch = t->branch;
  c.data = pawl_buf_str(&t->data);
  c.event = event;
  if (!event.at && t->event.len) c.event = pawl_buf_str(&t->event);
  c.output = output;
  if (h->has_tenant) c.tenant = pawl_buf_str(&h->tenant);
  if (h->has_correlation) c.correlation = pawl_buf_str(&h->correlation);
  c.vars = pawl_vars_now(h);
  c.input = h->input.len ? pawl_buf_str(&h->input) : pawl_strz("{}");
  c.services = &pawl_engine_services;
  c.services_ud = e;
  c.owner = h;
  c.transactional = e->open_unit && handler == PAWL_HANDLER_RUN;
  pawl_result_clear(&e->result);
  h->begun = 1;
  pawl_pulse_begin(e->pulse, node->timeout_us);
  if (handler == PAWL_HANDLER_RUN || handler == PAWL_HANDLER_UNDO)
    rc = begin_handler(e, h, t, node, &c, err);
  else
    rc = pawl_host_run(e->host, &c, &e->result, err);
  pawl_pulse_end(e->pulse);
  if (handler != PAWL_HANDLER_RUN && handler != PAWL_HANDLER_UNDO)
    h->plan.asked = 1;
  if (rc == PAWL_OK && !h->flight.run &&
      (handler == PAWL_HANDLER_RUN || handler == PAWL_HANDLER_UNDO))
    rc = check_timeout(e, node, h->flight.began_us, err);
  return rc;
}

void pawl_trace_verdict(pawl_engine *e, const pawl_held *h) {
  const pawl_plan *p = &h->plan;
  pawl_engine_trace(e, h, p->node ? p->node : "", "instance", 0, p->outcome,
                    p->detail.at ? p->detail.at : "", 0);
}

/* A step's handler has returned: where its transition leads. */
static pawl_code step_target(pawl_engine *e, const pawl_node *node, int *to,
                             pawl_error *err) {
  const pawl_result *r = &e->result;
  const char *name = r->has_transition ? r->transition.at : "";

  *to = pawl_node_next(node, name, r->has_transition ? r->transition.len : 0);
  if (*to >= 0) return PAWL_OK;
  e->result.no_retry = 1;
  if (r->has_transition) {
    const char *names[64];
    int n = 0;
    for (int i = 0; i < node->nnext && n < 64; i++)
      names[n++] = node->next[i].name;
    const char *near = pawl_nearest(name, names, n);
    pawl_fail(err, PAWL_SCRIPT,
              "step \"%s\" returned transition \"%s\", "
              "which it does not have",
              node->name, name);
    if (near && near[0])
      pawl_error_hint(err, "did you mean \"%s\"?", near);
    else
      pawl_error_hint(err, "return nil where `next` is a single node");
  } else {
    pawl_fail(err, PAWL_SCRIPT,
              "step \"%s\" returned no transition, but has "
              "%d of them",
              node->name, node->nnext);
    pawl_error_hint(err, "return the name of one, such as \"%s\"",
                    node->next[0].name);
  }
  return PAWL_SCRIPT;
}

void pawl_take_effects(pawl_engine *e, pawl_held *h, int k,
                       const pawl_result *r) {
  pawl_plan *p = &h->plan;
  pawl_json_iter it = {0};
  pawl_str key, one, value;

  if (r->attrs_changed) pawl_object_merge(&p->attrs, pawl_buf_str(&r->attrs));
  if (r->data_changed) {
    copy_buf(&pawl_tok(h, k)->data, &r->data);
    pawl_tok(h, k)->changed = 1;
  }
  while (r->emits.len &&
         pawl_json_each(pawl_buf_str(&r->emits), &it, &key, &one)) {
    pawl_effect *f = pawl_plan_effect(p, PAWL_EFFECT_EMIT, 0);
    if (pawl_json_get(one, "type", &value)) pawl_json_unquote(value, &f->name);
    if (pawl_json_get(one, "payload", &value)) pawl_buf_adds(&f->data, value);
    p->sent++;
    p->more = 1;
  }
  pawl_take_starts(e, h, pawl_buf_str(&r->starts));
}

static void trace_end(pawl_engine *e, pawl_held *h, const pawl_node *node,
                      int64_t took, int k) {
  const pawl_plan *p = &h->plan;
  int64_t due_us = p->tokens.at[k].due_us;

  /* an attempt that the deadline comes before is none */
  if (p->deadline_us && due_us >= p->deadline_us) due_us = 0;
  pawl_engine_trace(e, h, node->name, pawl_kind_name(node->kind), took,
                    p->outcome, p->detail.at ? p->detail.at : "", due_us);
}

/* What a step's handler gave, or why it failed, becomes part of the plan. */
static void step_returned(pawl_engine *e, pawl_held *h, int k, int at,
                          pawl_code rc, pawl_error *err) {
  pawl_plan *p = &h->plan;
  pawl_node *node = &h->def->nodes[at];
  int64_t began_us = h->flight.began_us, took = h->flight.busy_us;
  int to = -1;

  p->ran = 1;
  p->node = node->name;
  p->immediate++;
  pawl_spin_step(e, h, pawl_tok(h, k)->no, node->name);
  h->running_token = pawl_tok(h, k)->no;
  e->run_avg_us += (took - e->run_avg_us) / 8;
  node->run_avg_us += (took - node->run_avg_us) / 8;
  if (e->stats) e->stats->steps++;
  if (rc == PAWL_OK) rc = step_target(e, node, &to, err);
  if (rc != PAWL_OK) {
    pawl_fail_token(e, h, k, err, began_us);
  } else {
    pawl_result *result = &e->result;
    pawl_record *r = pawl_token_record(e, h, k, "step");
    r->started_us = began_us;
    if (result->has_transition)
      pawl_buf_adds(&r->transition, pawl_buf_str(&result->transition));
    if (result->has_output) pawl_buf_swap(&r->output, &result->output);
    r->has_output = result->has_output;
    if (result->vars_changed) pawl_vars_take(h, &result->vars, &r->changes);
    pawl_take_effects(e, h, k, result);
    p->outcome = "done";
    pawl_leave(e, h, k, to);
  }
  /* it may have waited: what people are told is the time that passed */
  trace_end(e, h, node, pawl_clock_mono() - h->flight.began_mono_us, k);
}

static void run_step(pawl_engine *e, pawl_held *h, int k, int at) {
  const pawl_node *node = &h->def->nodes[at];
  pawl_str none = {0};
  pawl_error err; /* of several KB: whoever fails fills it */

  h->plan.node = node->name;
  h->running_token = pawl_tok(h, k)->no;
  pawl_engine_trace(e, h, node->name, pawl_kind_name(node->kind), -1, NULL, "",
                    0);
  pawl_code rc =
      pawl_run_handler(e, h, k, node, PAWL_HANDLER_RUN, none, none, &err);
  if (!h->flight.run) step_returned(e, h, k, at, rc, &err);
}

/* Any other node, entered by itself: at the start of an instance, when it
 * failed behind the step before, or was put there by hand. */
static void run_routing(pawl_engine *e, pawl_held *h, int k,
                        const char *type) {
  pawl_plan *p = &h->plan;
  const pawl_node *node = pawl_tok_node(h, k);
  int64_t began_us = pawl_engine_now(e);
  pawl_error err = {0};
  pawl_buf path = {.alloc = &e->alloc};
  int record = p->nrecords, no;
  pawl_record *r;
  pawl_code rc;

  e->result.no_retry = 0;
  e->result.retry_after_us = -1;
  pawl_buf_clear(&e->result.details);
  no = pawl_tok(h, k)->no;
  if (!strcmp(type, "started")) pawl_buf_addz(&path, node->name);
  r = pawl_token_record(e, h, k, type);
  r->started_us = began_us;
  rc = pawl_enter(e, h, k, &path, &err);
  if (rc != PAWL_OK) {
    if (p->nrecords == record + 1 && pawl_tok(h, k)->node == node->name) {
      /* nothing of it happened but the failure */
      const pawl_buf *from = &p->records[record].previous;
      if (from->len)
        pawl_detail_set(pawl_tok(h, k), "from", pawl_buf_str(from));
      p->nrecords = record;
    }
    pawl_fail_token(e, h, k, &err, began_us);
  } else {
    r = pawl_plan_record_at(p, record);
    r->token = no;
    r->attempt = 1;
    r->completed_us = pawl_engine_now(e);
    if (pawl_tok_live(h, k) || p->after == PAWL_AFTER_END)
      r->node = pawl_tok(h, k)->node; /* where that led */
    r->visit = pawl_tok(h, k)->visit;
    r->due_us = pawl_tok(h, k)->due_us;
    pawl_buf_adds(&r->path, pawl_buf_str(&path));
    p->outcome = "done";
  }
  if (rc != PAWL_OK)
    trace_end(e, h, node, 0, k);
  else if (p->after == PAWL_AFTER_END)
    pawl_engine_trace(e, h, node->name, pawl_kind_name(node->kind), 0,
                      p->outcome, path.at ? path.at : "", 0);
  pawl_buf_deinit(&path);
}

/* ---- what stands before running ---- */

static void record_recovery(pawl_engine *e, pawl_held *h) {
  char from[37];
  pawl_record *r = pawl_instance_record(e, h, "recovered");
  pawl_id_format(&h->taken_from, from);
  pawl_buf_addf(&r->text, "taken over from executor %s (takeover %d)", from,
                h->takeovers);
  h->plan.resets = 0; /* a takeover is no progress */
  h->recorded = 1;
}

static void plan_poisoned(pawl_engine *e, pawl_held *h) {
  pawl_error err;
  pawl_fail(&err, PAWL_POISONED, "its worker died %d times in a row%s%s%s",
            h->takeovers, h->node ? " at node \"" : "", h->node ? h->node : "",
            h->node ? "\"" : "");
  pawl_error_hint(&err,
                  "find out what kills the process; `pawl cancel` ends "
                  "the instance");
  pawl_suspend(e, h, &err);
  pawl_trace_verdict(e, h);
}

static void plan_unknown(pawl_engine *e, pawl_held *h) {
  pawl_error err;
  if (h->workflow_version)
    pawl_fail(&err, PAWL_NO_HANDLER,
              "nobody knows workflow \"%s\" version %" PRId64, h->workflow.at,
              h->workflow_version);
  else
    pawl_fail(&err, PAWL_NO_HANDLER, "nobody knows workflow \"%s\"",
              h->workflow.at);
  pawl_error_hint(&err, "load its file in a worker, then start it again");
  pawl_fail_outright(e, h, &err, pawl_strz(NULL));
  pawl_trace_verdict(e, h);
}

/* Letters brought it here that change nothing now: whoever knows it looks. */
static void leave_unknown(pawl_engine *e, pawl_held *h) {
  h->plan.after = PAWL_AFTER_BACK;
  h->plan.look_us = pawl_engine_now(e);
}

static void plan_deadline(pawl_engine *e, pawl_held *h) {
  pawl_error err;
  pawl_record *r = pawl_instance_record(e, h, "deadline");
  r->due_us = h->deadline_us;
  pawl_fail(&err, PAWL_TIMEOUT, "the instance passed its deadline");
  pawl_copy_text(err.reason, sizeof err.reason, "deadline");
  pawl_buf_clear(&h->plan.error);
  pawl_plan_error(&h->plan.error, &err, pawl_strz(NULL));
  pawl_buf_adds(&r->error, pawl_buf_str(&h->plan.error));
  pawl_set_detail(&h->plan, &err);
  h->plan.outcome = "failed";
  h->plan.needs_latch = 1;
  pawl_end_undoing(e, h, PAWL_STATUS_FAILED, h->def->compensate);
  pawl_trace_verdict(e, h);
}

static void plan_busy(pawl_engine *e, pawl_held *h) {
  pawl_error err;
  pawl_fail(&err, PAWL_LIMIT,
            "%" PRId64 " steps in a row without waiting for anything",
            h->immediate);
  pawl_copy_text(err.reason, sizeof err.reason, "busy_loop");
  pawl_error_hint(&err, "let it wait, or raise the workflow's busy_limit");
  pawl_suspend(e, h, &err);
  h->plan.immediate = 0;
  pawl_trace_verdict(e, h);
}

/* The first token comes into being with the first decision. -1: out of
 * memory. */
static int first_token(pawl_engine *e, pawl_held *h) {
  pawl_plan *p = &h->plan;
  const pawl_node *node = &h->def->nodes[h->def->start];
  int k = pawl_token_new(h, -1);
  pawl_token *t;

  if (k < 0) return k;
  if (p->last_token == 1) p->more = 0; /* as a new row has it */
  t = pawl_tok(h, k);
  t->node = node->name;
  t->visit = ++p->visit;
  p->node = node->name;
  p->status = PAWL_STATUS_RUNNING;
  if (h->def->deadline_us >= 0) {
    p->deadline_us = pawl_time_after(pawl_engine_now(e), h->def->deadline_us);
    p->more = 1;
  }
  return k;
}

static void begin(pawl_engine *e, pawl_held *h) {
  int k = first_token(e, h);

  if (k < 0) return;
  if (h->def->nodes[h->def->start].kind == PAWL_KIND_STEP)
    run_step(e, h, k, h->def->start);
  else
    run_routing(e, h, k, "started");
}

/* It was claimed for what has come for it, before its time. */
static int is_delayed(pawl_engine *e, const pawl_held *h) {
  return h->begin_us > pawl_engine_now(e);
}

static int is_due(pawl_engine *e, const pawl_token *t) {
  return t->state == PAWL_TOKEN_ACTIVE &&
         (!t->due_us || t->due_us <= pawl_engine_now(e));
}

static void run_token(pawl_engine *e, pawl_held *h, int k) {
  const pawl_node *node = pawl_tok_node(h, k);
  pawl_error err;

  if (!node) {
    pawl_fail(&err, PAWL_DEFINITION,
              "node \"%s\" is not in workflow \"%s\" "
              "version %" PRId64,
              pawl_tok(h, k)->node, h->workflow.at, h->workflow_version);
    pawl_fail_outright(e, h, &err, pawl_strz(NULL));
    return;
  }
  h->plan.node = node->name;
  if (node->kind == PAWL_KIND_STEP)
    run_step(e, h, k, (int)(node - h->def->nodes));
  else
    run_routing(e, h, k, "routed");
}

/* Every token that is active now runs one step; those in need of their own
 * transaction by themselves. */
static void run_tokens(pawl_engine *e, pawl_held *h) {
  int64_t began = pawl_clock_mono();
  int64_t first =
      pawl_order_first(h, &h->plan.tokens, pawl_engine_now(e)); /* O3 */
  int n = h->plan.tokens.n, ran = 0, most = n / 4;

  /* a decision costs something for each token that is there */
  if (most < TOKENS_A_TURN) most = TOKENS_A_TURN;
  for (int k = 0; k < n; k++) {
    const pawl_node *node;
    if (!is_due(e, pawl_tok(h, k)) ||
        !pawl_order_may_run(pawl_tok(h, k), first))
      continue;
    node = pawl_tok_node(h, k);
    if (node && node->transactional && !e->open_unit) continue;
    if (e->open_unit && !(node && node->transactional)) continue;
    run_token(e, h, k);
    if (h->flight.run) return; /* one at a time: it had these variables */
    pawl_joins_race(e, h);
    if (h->plan.after == PAWL_AFTER_END || pawl_is_undoing(h) ||
        h->plan.status == PAWL_STATUS_SUSPENDED || e->open_unit)
      return;
    if (++ran >= most || pawl_clock_mono() - began > TURN_US || e->interrupted)
      return;
  }
}

/* ---- what comes after ---- */

/* When it must be looked at next; 0: now. */
static int64_t next_look(pawl_engine *e, pawl_held *h) {
  const pawl_plan *p = &h->plan;
  int64_t now = pawl_engine_now(e), soonest = PAWL_NEVER;

  if (p->deadline_us && !pawl_is_undoing(h)) soonest = p->deadline_us;
  for (int k = 0; k < p->tokens.n; k++) {
    const pawl_token *t = &p->tokens.at[k];
    if (!pawl_token_is_live(t->state)) continue;
    if (t->state == PAWL_TOKEN_ACTIVE && t->due_us <= now) return 0;
    if (t->due_us && t->due_us < soonest) soonest = t->due_us;
  }
  if (!p->visit && p->begin_us > now) return p->begin_us;
  if (!pawl_tokens_live(&p->tokens)) return 0; /* it is to begin, or undo */
  return soonest;
}

static pawl_status live_status(const pawl_held *h) {
  const pawl_plan *p = &h->plan;
  for (int k = 0; k < p->tokens.n; k++)
    if (p->tokens.at[k].state == PAWL_TOKEN_ACTIVE) return PAWL_STATUS_RUNNING;
  if (pawl_is_undoing(h)) return PAWL_STATUS_RUNNING;
  return pawl_tokens_live(&p->tokens) ? PAWL_STATUS_WAITING
                                      : PAWL_STATUS_RUNNING;
}

/* The lone token's own columns beyond the usual ones are written only when
 * there is something in them, or was. */
static int lone_has_more(const pawl_held *h) {
  const pawl_token *t = pawl_tokens_lone(&h->plan.tokens);
  const pawl_token *old = pawl_tokens_lone(&h->tokens);
  if (t && t->changed && !t->stored &&
      (t->data.len || t->event.len || t->detail.len))
    return 1;
  return old && !old->stored &&
         (old->data.len || old->event.len || old->detail.len) &&
         (!t || t->changed);
}

static int is_empty(const pawl_plan *p) {
  if (p->nrecords || p->neffects || p->more || p->vars_changed) return 0;
  for (int k = 0; k < p->tokens.n; k++)
    if (p->tokens.at[k].changed) return 0;
  return 1;
}

/* Who can receive nothing does not look into the inbox again, nor clears it at
 * the end: what lies there is noted. A workflow that this one is moved to may
 * take it. */
static void note_mail(pawl_held *h) {
  pawl_plan *p = &h->plan;
  pawl_str there;
  int n = h->nletters;

  if (!n || !h->def || h->def->can_receive) return;
  for (int i = 0; i < p->neffects; i++)
    n -= p->effects[i].kind == PAWL_EFFECT_TAKE ||
         p->effects[i].kind == PAWL_EFFECT_DELETE;
  for (int k = 0; k < p->tokens.n && n > 0; k++) {
    if (!pawl_tok_live(h, k)) continue;
    if (!pawl_detail_get(pawl_tok(h, k), "mail", &there))
      pawl_detail_set(pawl_tok(h, k), "mail", pawl_strz("true"));
    return;
  }
}

/* Only the takeover was recorded: what the dead one had come for, letters or
 * a time, is still to be decided under this lease. */
static int recovers(const pawl_plan *p) {
  return !p->resets && p->nrecords;
}

/* Who does not know the definition cannot tell what its rules make of the
 * variables: somebody who does has to look at it. */
static int is_edited_blindly(const pawl_held *h) {
  return !h->def && h->plan.vars_changed;
}

/* What becomes of it when it need not be looked at before then. N6: who has not
 * seen everything looks again at once; in a claim of its own, where nothing is
 * to be stored. */
static pawl_after rest(pawl_held *h, int64_t look) {
  int is_blind = !pawl_held_saw_all(h);

  if (is_empty(&h->plan))
    return look == PAWL_NEVER && !is_blind ? PAWL_AFTER_FORGET
                                           : PAWL_AFTER_BACK;
  if (!look || is_blind) return PAWL_AFTER_GO_ON;
  return look == PAWL_NEVER ? PAWL_AFTER_SLEEP : PAWL_AFTER_LET_GO;
}

static pawl_after rest_suspended(pawl_held *h) {
  pawl_plan *p = &h->plan;

  if (recovers(p) && !is_empty(p)) return PAWL_AFTER_GO_ON;
  if (h->behind && !is_empty(p)) h->look = h->look ? h->look : 1; /* M3 */
  return rest(h, PAWL_NEVER);
}

static void finish_plan(pawl_engine *e, pawl_held *h) {
  pawl_plan *p = &h->plan;
  int64_t look;

  h->state = PAWL_SLOT_PLANNED;
  if (p->after == PAWL_AFTER_END && !p->stays) pawl_untaken_end(e, h);
  if (p->refusals != e->refusals) p->failed = 1; /* N7 */
  if (p->after == PAWL_AFTER_BACK || p->after == PAWL_AFTER_FORGET || p->stays)
    return;
  if (p->visit)
    p->begin_us = 0;
  else
    p->started_us = 0; /* it has not begun */
  if (p->after == PAWL_AFTER_END) {
    if (h->def && h->def->busy_limit) p->more = 1;
    return;
  }
  pawl_rules_watch(h);
  pawl_order_forget(h);
  if (p->status == PAWL_STATUS_SUSPENDED) {
    if (lone_has_more(h)) p->more = 1;
    p->look_us = pawl_engine_now(e);
    p->after = rest_suspended(h);
    return;
  }
  p->status = live_status(h);
  look = h->letters_left || recovers(p) || is_edited_blindly(h) ||
                 (h->apply_only && pawl_eachs_wait(h))
             ? 0
             : next_look(e, h);
  if (h->behind) h->look = h->look ? h->look : 1;
  note_mail(h);
  if (lone_has_more(h)) p->more = 1;
  if (look) pawl_spin_rest(e, h);
  if (h->def && h->def->busy_limit) {
    if (look) p->immediate = 0;
    if (p->immediate != h->immediate) p->more = 1;
  }
  p->look_us = look && pawl_held_saw_all(h) ? look : pawl_engine_now(e);
  p->after = rest(h, look);
  if (p->workflow_version) { /* under the other definition */
    p->after = PAWL_AFTER_LET_GO;
    p->look_us = pawl_engine_now(e);
  }
}

/* ---- the decision ---- */

/* Everything that follows from what is there, with no step run. 1: that is
 * the decision. */
static int settle(pawl_engine *e, pawl_held *h) {
  pawl_plan *p = &h->plan;
  int64_t until = pawl_engine_now(e) + 1;
  if (p->after == PAWL_AFTER_END || pawl_is_undoing(h)) return 1;
  if (h->read_us < until) until = h->read_us; /* M1: an event may be before */
  pawl_times_out(e, h, until, 0);
  pawl_eachs_settle(e, h);
  pawl_joins_settle(e, h);
  return p->after == PAWL_AFTER_END || pawl_is_undoing(h) || !is_empty(p);
}

/* After steps have run: joins and eachs that are through go on with them. */
static void settle_after(pawl_engine *e, pawl_held *h) {
  if (!h->plan.visit) return; /* it has not begun */
  if (h->flight.run) return;  /* nor may anything else change them */
  for (int rounds = 0; rounds < 100; rounds++) {
    int before = h->plan.tokens.n, records = h->plan.nrecords;
    int64_t visits = h->plan.visit;
    if (h->plan.after == PAWL_AFTER_END || pawl_is_undoing(h)) return;
    pawl_eachs_settle(e, h);
    pawl_joins_settle(e, h);
    if (before == h->plan.tokens.n && records == h->plan.nrecords &&
        visits == h->plan.visit)
      break;
  }
  /* the last token ended while it was not seen to be the last */
  if (h->plan.after != PAWL_AFTER_END && !pawl_is_undoing(h) &&
      h->plan.status != PAWL_STATUS_SUSPENDED &&
      !pawl_tokens_live(&h->plan.tokens)) {
    h->plan.outcome = "done";
    pawl_end(e, h, PAWL_STATUS_COMPLETED);
  }
}

/* Does a decision lead to one plain step that could run now? */
static int leads_to_step(pawl_engine *e, pawl_held *h) {
  const pawl_plan *p = &h->plan;
  const pawl_token *t = pawl_tokens_lone(&p->tokens);
  const pawl_node *node;

  if (!t || !is_due(e, t) || p->after != PAWL_AFTER_GO_ON ||
      p->status == PAWL_STATUS_SUSPENDED || pawl_is_undoing(h) ||
      h->apply_only || e->open_unit)
    return 0;
  node = pawl_tok_node(h, (int)(t - p->tokens.at));
  return node && node->kind == PAWL_KIND_STEP && !node->transactional &&
         node->run_avg_us <= PAWL_SLOW_US;
}

/* May it run before the decision is stored? What that rests on, letters and
 * times, is on disk, so the same would be decided again: not where a handler
 * was asked, or the store may refuse it (docs/decisions/0024). */
static int may_go_on(const pawl_engine *e, const pawl_held *h, int64_t now) {
  const pawl_plan *p = &h->plan;

  if (p->asked || p->needs_latch || p->revives || h->letters_left ||
      !pawl_letters_are_news(h) || h->one_by_one)
    return 0;
  if ((p->deadline_us && now >= p->deadline_us) ||
      (h->def->busy_limit && p->immediate >= h->def->busy_limit))
    return 0;
  return h->rounds < PAWL_BUSY_LOOP && e->nwaiting < e->config.concurrency;
}

static void go_on(pawl_engine *e, pawl_held *h) {
  settle_after(e, h);
  if (!leads_to_step(e, h)) return;
  if (h->takeovers) { /* it has come to this before, and then died */
    h->plan.resets = 0;
  } else if (may_go_on(e, h, pawl_engine_now(e))) {
    h->plan.went_on = 1;
    run_tokens(e, h);
    settle_after(e, h);
  }
}

/* It has ended and stays so. What a request has left on the record is stored;
 * requests behind one to move are for the next look, as a retry goes on in the
 * other version. */
static void stay(pawl_engine *e, pawl_held *h) {
  pawl_plan *p = &h->plan;

  p->stays = p->nrecords > 0;
  p->look_us = pawl_engine_now(e);
  if (!p->heard) {
    p->after = p->stays ? PAWL_AFTER_LET_GO : PAWL_AFTER_BACK;
    return;
  }
  p->after = p->stays ? PAWL_AFTER_SLEEP : PAWL_AFTER_FORGET;
  pawl_letters_discard(h);
}

static void decide(pawl_engine *e, pawl_held *h) {
  pawl_plan *p = &h->plan;

  if (h->taken && !h->recorded && !pawl_status_has_ended(h->status)) {
    record_recovery(e, h);
    return;
  }
  pawl_letters_take(e, h);
  if (pawl_stays_ended(h)) {
    stay(e, h);
    return;
  }
  if (p->after == PAWL_AFTER_END || p->workflow_version ||
      p->status == PAWL_STATUS_SUSPENDED)
    return;
  if (h->apply_only) return;
  if (p->nrecords || p->neffects) {
    if (h->def && !pawl_is_undoing(h)) go_on(e, h);
    return;
  }
  if (h->takeovers > e->config.recoveries)
    plan_poisoned(e, h);
  else if (!h->def && e->config.unknown_fail)
    plan_unknown(e, h);
  else if (!h->def)
    leave_unknown(e, h);
  else if (pawl_is_undoing(h))
    pawl_undo_run(e, h);
  else if (h->deadline_us && pawl_engine_now(e) >= h->deadline_us)
    plan_deadline(e, h);
  else if (h->def->busy_limit && h->immediate >= h->def->busy_limit)
    plan_busy(e, h);
  else if (!h->visit && !h->tokens.n && !p->revives && is_delayed(e, h))
    return;
  else if (!h->visit && !h->tokens.n && !p->revives)
    begin(e, h), settle_after(e, h);
  else if (settle(e, h))
    go_on(e, h);
  else if (h->rounds >= PAWL_BUSY_LOOP) {
    p->after = PAWL_AFTER_BACK; /* others have waited long enough */
    p->look_us = pawl_engine_now(e);
  } else {
    run_tokens(e, h);
    settle_after(e, h);
  }
}

/* What must be stored before a handler is waited for: what other tokens did
 * before it, and what a new instance listens for. */
static int is_worth_storing(const pawl_plan *p) {
  return p->nrecords || p->neffects || p->more || p->vars_changed ||
         p->attrs.len;
}

void pawl_step_run(pawl_engine *e, pawl_held *h) {
  plan_begin(e, h);
  if (!h->tokens.n && h->status != PAWL_STATUS_SUSPENDED && h->visit &&
      !pawl_status_has_ended(h->status) && !pawl_is_undoing(h) &&
      !h->nletters && h->def) {
    pawl_error err; /* the store was edited by hand */
    pawl_fail(&err, PAWL_CORRUPT, "the instance stands nowhere");
    pawl_fail_outright(e, h, &err, pawl_strz(NULL));
  } else {
    decide(e, h);
  }
  if (h->flight.run) pawl_rules_watch(h);
  if (!h->flight.run || is_worth_storing(&h->plan)) finish_plan(e, h);
}

/* ---- handlers that have waited ---- */

/* The token whose handler has ended; -1: out of memory. */
static int flight_token(pawl_engine *e, pawl_held *h) {
  if (!h->tokens.n && !h->visit) { /* nothing was stored yet */
    h->plan.started_us = h->flight.began_us;
    return first_token(e, h);
  }
  for (int k = 0; k < h->plan.tokens.n; k++)
    if (pawl_tok(h, k)->no == h->flight.token) return k;
  return -1;
}

/* It was told that its instance is cancelled, and has given up. */
static void cancel_flight(pawl_engine *e, pawl_held *h, int k,
                          const pawl_error *err) {
  pawl_record *r = pawl_token_record(e, h, k, "failed");
  h->plan.ran = 1;
  r->started_us = h->flight.began_us;
  pawl_plan_error(&r->error, err, pawl_buf_str(&e->result.details));
  pawl_step_hear(e, h);
}

/* The slot's handler has ended, and its run is gone. */
static void flight_over(pawl_engine *e, pawl_held *h, pawl_code rc,
                        pawl_error *err) {
  int is_cancelled, k, at;

  plan_begin(e, h);
  if (h->flight.handler == PAWL_HANDLER_UNDO) {
    k = flight_token(e, h);
    const pawl_node *node = k < 0 ? NULL : pawl_tok_node(h, k);
    if (rc == PAWL_OK && node)
      rc = check_timeout(e, node, h->flight.began_us, err);
    pawl_undo_returned(e, h, rc, err, h->flight.began_us);
    finish_plan(e, h);
    return;
  }
  k = flight_token(e, h);
  at = k < 0 ? -1 : (int)(pawl_tok_node(h, k) - h->def->nodes);
  if (k < 0) { /* it is tried again, if memory allows */
    h->running_token = h->flight.token;
    h->plan.failed = 1;
    h->state = PAWL_SLOT_PLANNED;
    return;
  }
  is_cancelled = pawl_letters_cancel(h) != NULL;
  if (is_cancelled && rc != PAWL_OK) {
    cancel_flight(e, h, k, err);
    return;
  }
  if (rc == PAWL_OK)
    rc = check_timeout(e, &h->def->nodes[at], h->flight.began_us, err);
  step_returned(e, h, k, at, rc, err);
  pawl_joins_race(e, h);
  settle_after(e, h);
  finish_plan(e, h);
  /* letters that were read while it waited: an ending must answer them */
  if (is_cancelled || h->plan.after == PAWL_AFTER_END) pawl_step_hear(e, h);
}

void pawl_step_resume(pawl_engine *e, pawl_held *h, int events,
                      const pawl_error *why) {
  pawl_flight *f = &h->flight;
  pawl_run *run = f->run;
  int64_t began = pawl_clock_mono(), left = f->until_us - pawl_await_now(e);
  pawl_error err = {0};
  pawl_code rc;

  f->run = NULL;
  e->nwaiting--;
  pawl_pulse_begin(e->pulse, left > 0 ? left : 0);
  rc = pawl_host_resume(&run, events, why, &e->result, &err);
  pawl_pulse_end(e->pulse);
  f->busy_us += pawl_clock_mono() - began;
  if (run)
    pawl_await_begin(e, h, run);
  else
    flight_over(e, h, rc, &err);
}

void pawl_step_abandon(pawl_engine *e, pawl_held *h, const pawl_error *why) {
  pawl_error err = *why;
  pawl_await_abandon(e, h);
  pawl_result_clear(&e->result);
  flight_over(e, h, err.code, &err);
}

/* The step that runs next, if one does; else NULL. */
static const pawl_node *next_step(pawl_engine *e, const pawl_held *h,
                                  int transactional) {
  const pawl_node *first = NULL;
  int64_t turn;
  if (!h->def || (h->taken && !h->recorded) || h->apply_only ||
      h->status == PAWL_STATUS_SUSPENDED || pawl_status_has_ended(h->status) ||
      h->compensation.len)
    return NULL;
  if (!h->tokens.n) {
    first = h->visit ? NULL : &h->def->nodes[h->def->start];
    return first && first->kind == PAWL_KIND_STEP ? first : NULL;
  }
  turn = pawl_order_first(h, &h->tokens, pawl_engine_now(e));
  for (int k = 0; k < h->tokens.n; k++) {
    pawl_token *t = &h->tokens.at[k];
    int at;
    if (!is_due(e, t) || !t->node || !pawl_order_may_run(t, turn)) continue;
    at = pawl_def_node_at(h->def, t->node, &t->node_at);
    if (at < 0 || h->def->nodes[at].kind != PAWL_KIND_STEP) continue;
    if (!first) first = &h->def->nodes[at];
    if (transactional && h->def->nodes[at].transactional)
      return &h->def->nodes[at];
  }
  return first;
}

int pawl_step_may_wait(pawl_engine *e, const pawl_held *h) {
  if (h->compensation.len && !h->apply_only) return 1; /* undoing */
  const pawl_node *node = next_step(e, h, 0);
  return node && !node->transactional;
}

int64_t pawl_step_expected_us(pawl_engine *e, const pawl_held *h) {
  const pawl_node *node = next_step(e, h, 0);
  return node ? node->run_avg_us : 0;
}

int pawl_step_is_transactional(pawl_engine *e, const pawl_held *h) {
  const pawl_node *node = next_step(e, h, 1);
  return node && node->transactional;
}

void pawl_step_hear(pawl_engine *e, pawl_held *h) {
  const pawl_letter *l = pawl_letters_cancel(h);

  if (!l || h->plan.status == PAWL_STATUS_CANCELLED) {
    if (h->plan.after == PAWL_AFTER_END)
      pawl_letters_refuse(e, h, "it had ended by then");
    finish_plan(e, h);
    return;
  }
  pawl_letter_cancel(e, h, l);
  pawl_letter_taken(h, l);
  finish_plan(e, h);
}

/* The decision alone, where the step behind it was the trouble, or may be. */
static int decide_alone(pawl_engine *e, pawl_held *h) {
  if (!h->plan.went_on) return 0;
  h->one_by_one = 1;
  pawl_step_run(e, h);
  return 1;
}

void pawl_step_fail(pawl_engine *e, pawl_held *h, const pawl_error *why) {
  int k = -1;

  if (decide_alone(e, h)) return;
  plan_begin(e, h);
  if (!h->tokens.n) {
    k = pawl_token_new(h, -1);
    if (k >= 0) {
      h->plan.more = 0;
      pawl_tok(h, k)->node = h->def->nodes[h->def->start].name;
      pawl_tok(h, k)->visit = ++h->plan.visit;
    }
  }
  for (int i = 0; i < h->plan.tokens.n && k < 0; i++)
    if (pawl_tok(h, i)->no == h->running_token) k = i;
  if (k < 0) k = 0;
  pawl_result_clear(&e->result);
  if (h->plan.tokens.n) {
    const pawl_node *node = pawl_tok_node(h, k);
    h->plan.node = pawl_tok(h, k)->node;
    pawl_fail_token(e, h, k, why, pawl_engine_now(e));
    trace_end(e, h, node, pawl_clock_mono() - h->flight.began_mono_us, k);
    settle_after(e, h);
  }
  finish_plan(e, h);
}

int pawl_step_refused(pawl_engine *e, pawl_held *h, const pawl_error *why) {
  pawl_error err = *why;
  if (decide_alone(e, h)) return 1;
  plan_begin(e, h);
  pawl_error_prefix(&err, "the store refused the result");
  if (pawl_stays_ended(h)) { /* it cannot fail any more: the request does */
    pawl_letters_refuse(e, h, err.message);
    h->plan.heard = 1;
    stay(e, h);
  } else {
    pawl_fail_outright(e, h, &err, pawl_strz(NULL));
  }
  finish_plan(e, h);
  return 0;
}
