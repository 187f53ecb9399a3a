/* One decision: what stands next for an instance is run, and what follows is
 * written into its plan. Touches the host, never the store.
 *
 *   claimed --> cancelled?  --> unknown workflow? --> poisoned? --> run
 *   run: step   --> handler --> route to the next standing place
 *        timer  --> due?    --> route
 *        choice, finish: route again from here (their handler failed before)
 *   route: passes choices, sets timers, ends at a finish; what it passes is
 *          noted in the record of the step that led there. */
#include <assert.h>
#include <inttypes.h>

#include "../value/json.h"
#include "internal.h"
#include "pulse.h"

#define MAX_HOPS 100 /* choices passed in one go; check.c refuses loops */

/* ---- small things ---- */

static pawl_str current_vars(const pawl_held *h) {
  if (h->plan.vars_changed) return pawl_buf_str(&h->plan.vars);
  return h->vars.len ? pawl_buf_str(&h->vars) : pawl_strz("{}");
}

/* A plan that, so far, leaves the instance as it is. */
static void plan_begin(pawl_engine *e, pawl_held *h) {
  pawl_plan *p = &h->plan;
  pawl_plan_reset(p);
  p->status = h->waiting ? PAWL_STATUS_WAITING : PAWL_STATUS_RUNNING;
  p->node = h->node.len ? h->node.at : NULL;
  p->previous = h->previous.len ? h->previous.at : NULL;
  p->visit = h->visit;
  p->attempt = h->attempt;
  p->waiting = h->waiting;
  p->token_due_us = h->token_due_us;
  if (!h->started_us) p->started_us = pawl_engine_now(e);
}

static void plan_done(pawl_held *h) {
  h->state = PAWL_SLOT_PLANNED;
}

static void fill_call(pawl_engine *e, pawl_held *h, const pawl_node *node,
                      pawl_handler handler, pawl_call *c) {
  memset(c, 0, sizeof *c);
  c->ref = h->def->host_ref;
  c->node = node->name;
  c->handler = handler;
  c->id = h->id_text;
  c->workflow = h->workflow.at;
  c->version = h->workflow_version;
  c->attempt = h->plan.attempt + 1;
  c->visit = h->plan.visit;
  c->token = 1;
  if (h->has_tenant) c->tenant = pawl_buf_str(&h->tenant);
  if (h->has_correlation) c->correlation = pawl_buf_str(&h->correlation);
  c->vars = current_vars(h);
  c->input = h->input.len ? pawl_buf_str(&h->input) : pawl_strz("{}");
  c->services = &pawl_engine_services;
  c->services_ud = e;
  c->transactional = e->open_unit;
}

static pawl_code run_handler(pawl_engine *e, pawl_held *h,
                             const pawl_node *node, pawl_handler handler,
                             pawl_error *err) {
  pawl_call call;
  fill_call(e, h, node, handler, &call);
  pawl_result_clear(&e->result);
  e->running = h;
  h->begun = 1;
  pawl_pulse_begin(e->pulse, node->timeout_us);
  pawl_code rc = pawl_host_run(e->host, &call, &e->result, err);
  pawl_pulse_end(e->pulse);
  e->running = NULL;
  return rc;
}

/* ---- failing and ending ---- */

/* For people: where, the script's own code, what. */
static void set_detail(pawl_plan *p, const pawl_error *err) {
  pawl_buf_clear(&p->detail);
  if (err->where[0]) pawl_buf_addf(&p->detail, "%s: ", err->where);
  if (err->reason[0]) pawl_buf_addf(&p->detail, "%s: ", err->reason);
  pawl_buf_addz(&p->detail, err->message);
}

static void end_with(pawl_held *h, pawl_status status) {
  h->plan.after = PAWL_AFTER_END;
  h->plan.status = status;
  h->plan.waiting = 0;
  h->plan.token_due_us = 0;
}

/* A verdict that came without a handler. */
static void trace_verdict(pawl_engine *e, const pawl_held *h) {
  const pawl_plan *p = &h->plan;
  pawl_engine_trace(e, h, p->node ? p->node : "", "instance", 0, p->outcome,
                    p->detail.at ? p->detail.at : "", 0);
}

/* Ends the instance for a reason that lies outside its graph. */
static void fail_outright(pawl_engine *e, pawl_held *h, const pawl_error *err,
                          pawl_str details) {
  pawl_plan *p = &h->plan;
  pawl_record *r = pawl_plan_record(p, "failed", p->node);
  r->visit = p->visit;
  r->attempt = p->attempt + 1;
  r->completed_us = pawl_engine_now(e);
  pawl_plan_error(&p->error, err, details);
  pawl_buf_adds(&r->error, pawl_buf_str(&p->error));
  set_detail(p, err);
  p->outcome = "failed";
  end_with(h, PAWL_STATUS_FAILED);
}

static void suspend_with(pawl_engine *e, pawl_held *h, const pawl_error *err) {
  pawl_plan *p = &h->plan;
  pawl_record *r = pawl_plan_record(p, "suspended", p->node);
  r->visit = p->visit;
  r->completed_us = pawl_engine_now(e);
  pawl_plan_error(&p->error, err, pawl_strz(NULL));
  pawl_buf_adds(&r->error, pawl_buf_str(&p->error));
  set_detail(p, err);
  p->after = PAWL_AFTER_SLEEP;
  p->status = PAWL_STATUS_SUSPENDED;
  p->outcome = "suspended";
}

/* ---- routing ---- */

/* A timer's due time. */
static pawl_code timer_due(pawl_engine *e, pawl_held *h, const pawl_node *node,
                           int64_t *due_us, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  if (node->after_us >= 0) {
    *due_us = pawl_engine_now(e) + node->after_us;
    return PAWL_OK;
  }
  TRY(run_handler(e, h, node, PAWL_HANDLER_AT, err));
  *due_us = e->result.at_us;
out:
  return rc;
}

static pawl_code take_choice(pawl_engine *e, pawl_held *h,
                             const pawl_node *node, int *to, pawl_buf *path,
                             pawl_error *err) {
  pawl_code rc = PAWL_OK;
  const pawl_buf *t = &e->result.transition;

  TRY(run_handler(e, h, node, PAWL_HANDLER_CHOOSE, err));
  *to = e->result.has_transition ? pawl_node_next(node, t->at, t->len) : -1;
  if (*to < 0) {
    e->result.no_retry = 1;
    rc = pawl_fail(err, PAWL_SCRIPT,
                   "choice \"%s\": `choose` returned %s%s%s"
                   ", which is no transition of it",
                   node->name, e->result.has_transition ? "\"" : "",
                   e->result.has_transition ? t->at : "nothing",
                   e->result.has_transition ? "\"" : "");
    pawl_error_hint(err, "return one of the names in `next`, such as \"%s\"",
                    node->next[0].name);
    goto out;
  }
  if (path) {
    pawl_buf_addc(path, '=');
    pawl_buf_adds(path, pawl_buf_str(t));
  }
out:
  return rc;
}

static pawl_code take_finish(pawl_engine *e, pawl_held *h,
                             const pawl_node *node, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  pawl_plan *p = &h->plan;

  if (node->has_output) {
    TRY(run_handler(e, h, node, PAWL_HANDLER_OUTPUT, err));
    p->has_output = e->result.has_output;
    pawl_buf_clear(&p->output);
    if (p->has_output)
      pawl_buf_adds(&p->output, pawl_buf_str(&e->result.output));
  }
  end_with(h,
           node->status_failed ? PAWL_STATUS_FAILED : PAWL_STATUS_COMPLETED);
  if (node->status_failed && !p->error.len) {
    pawl_error why;
    pawl_fail(&why, PAWL_SCRIPT, "it ended at finish \"%s\"", node->name);
    pawl_copy_text(why.reason, sizeof why.reason, node->name);
    pawl_plan_error(&p->error, &why, pawl_strz(NULL));
  }
out:
  return rc;
}

static void arrive(pawl_plan *p, const pawl_node *node, pawl_buf *path) {
  p->previous = p->node;
  p->node = node->name;
  p->visit++;
  p->attempt = 0;
  p->waiting = 0;
  p->token_due_us = 0;
  if (!path) return;
  if (path->len) pawl_buf_addz(path, " > ");
  pawl_buf_addz(path, node->name);
}

/* Moves the token to node `at` (arrived: it stands there already), on through
 * routing nodes, to where it stands next. On failure it stands, active, at the
 * node whose handler failed; *at says which. */
static pawl_code route(pawl_engine *e, pawl_held *h, int *at, int arrived,
                       pawl_buf *path, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  pawl_plan *p = &h->plan;
  int to = *at;

  for (int hops = 0; hops < MAX_HOPS; hops++, arrived = 0) {
    const pawl_node *node = &h->def->nodes[to];
    *at = to;
    if (!arrived) arrive(p, node, path);
    p->after = PAWL_AFTER_GO_ON;
    p->status = PAWL_STATUS_RUNNING;
    switch (node->kind) {
      case PAWL_KIND_STEP:
        goto out;
      case PAWL_KIND_TIMER:
        TRY(timer_due(e, h, node, &p->token_due_us, err));
        p->waiting = 1;
        p->status = PAWL_STATUS_WAITING;
        p->after = PAWL_AFTER_LET_GO;
        p->look_us = p->token_due_us;
        goto out;
      case PAWL_KIND_FINISH:
        TRY(take_finish(e, h, node, err));
        goto out;
      case PAWL_KIND_CHOICE:
        TRY(take_choice(e, h, node, &to, path, err));
        break;
      case PAWL_NKINDS:
        break;
    }
  }
  e->result.no_retry = 1;
  rc = pawl_fail(err, PAWL_LIMIT, "%d choices in a row led to no step",
                 MAX_HOPS);
out:
  return rc;
}

/* What follows when the handler of the node the token stands at failed. */
static void fail_node(pawl_engine *e, pawl_held *h, int at,
                      const pawl_error *err, int64_t began_us) {
  pawl_plan *p = &h->plan;
  const pawl_node *node = &h->def->nodes[at];
  const pawl_result *result = &e->result;
  int64_t now = pawl_engine_now(e), delay_us = 0;
  int to = -1;
  pawl_failure f = {
      .attempt = p->attempt + 1,
      .no_retry = result->no_retry,
      .retry_after_us = result->retry_after_us,
      .reason = err->reason[0] ? err->reason : pawl_code_name(err->code),
      .random = pawl_engine_random(e)};
  pawl_verdict verdict = pawl_retry_decide(node, &f, &delay_us, &to);
  pawl_error later;

  pawl_record *r = pawl_plan_record(p, "failed", node->name);
  r->visit = p->visit;
  r->attempt = f.attempt;
  r->started_us = began_us;
  r->completed_us = now;
  pawl_plan_error(&p->error, err, pawl_buf_str(&result->details));
  pawl_buf_adds(&r->error, pawl_buf_str(&p->error));
  set_detail(p, err);
  p->attempt = f.attempt;

  switch (verdict) {
    case PAWL_VERDICT_RETRY:
      r->due_us = p->look_us = p->token_due_us = now + delay_us;
      p->after = PAWL_AFTER_LET_GO;
      p->status = PAWL_STATUS_RUNNING;
      p->waiting = 0;
      p->outcome = "retry";
      break;
    case PAWL_VERDICT_ROUTE:
      pawl_buf_addz(&r->transition, f.reason);
      p->outcome = "failed";
      /* a routing node that fails in its turn is tried from the next round */
      if (route(e, h, &to, 0, &r->path, &later) != PAWL_OK)
        p->after = PAWL_AFTER_GO_ON;
      /* what led to a failed end is its reason */
      if (p->after != PAWL_AFTER_END || p->status != PAWL_STATUS_FAILED)
        pawl_buf_clear(&p->error);
      break;
    case PAWL_VERDICT_SUSPEND:
      p->after = PAWL_AFTER_SLEEP;
      p->status = PAWL_STATUS_SUSPENDED;
      pawl_buf_addz(&r->text, "suspended: no attempts left");
      p->outcome = "suspended";
      break;
    case PAWL_VERDICT_FAIL:
      p->outcome = "failed";
      end_with(h, PAWL_STATUS_FAILED);
      break;
  }
}

/* ---- the node kinds ---- */

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

static void take_effects(pawl_held *h, const pawl_result *r,
                         pawl_record *record) {
  pawl_plan *p = &h->plan;
  if (r->has_transition)
    pawl_buf_adds(&record->transition, pawl_buf_str(&r->transition));
  if (r->has_output) pawl_buf_adds(&record->output, pawl_buf_str(&r->output));
  record->has_output = r->has_output;
  if (r->vars_changed) {
    pawl_json_delta(current_vars(h), pawl_buf_str(&r->vars), &record->changes);
    pawl_buf_clear(&p->vars);
    pawl_buf_adds(&p->vars, pawl_buf_str(&r->vars));
    p->vars_changed = 1;
  }
  if (r->attrs_changed) {
    pawl_buf_clear(&p->attrs);
    pawl_buf_adds(&p->attrs, pawl_buf_str(&r->attrs));
  }
}

static void run_step(pawl_engine *e, pawl_held *h, int at) {
  pawl_plan *p = &h->plan;
  const pawl_node *node = &h->def->nodes[at];
  int64_t began_us = pawl_engine_now(e), began_mono = pawl_clock_mono();
  pawl_error err = {0};
  int to = -1;

  pawl_engine_trace(e, h, node->name, pawl_kind_name(node->kind), -1, NULL, "",
                    0);
  pawl_code rc = run_handler(e, h, node, PAWL_HANDLER_RUN, &err);
  int64_t took = pawl_clock_mono() - began_mono;
  e->run_avg_us += (took - e->run_avg_us) / 8;
  h->def->nodes[at].run_avg_us += (took - node->run_avg_us) / 8;
  if (e->stats) e->stats->steps++;
  if (rc == PAWL_OK) rc = step_target(e, node, &to, &err);
  if (rc != PAWL_OK) {
    fail_node(e, h, at, &err, began_us);
  } else {
    pawl_record *r = pawl_plan_record(p, "step", node->name);
    r->visit = p->visit;
    r->attempt = p->attempt + 1;
    r->started_us = began_us;
    r->completed_us = pawl_engine_now(e);
    take_effects(h, &e->result, r);
    p->outcome = "done";
    /* a routing node that fails keeps the step; it is tried by itself next */
    if (route(e, h, &to, 0, &r->path, &err) != PAWL_OK)
      p->after = PAWL_AFTER_GO_ON;
    r->due_us = p->token_due_us;
    pawl_buf_clear(&p->detail);
    pawl_buf_adds(&p->detail, pawl_buf_str(&r->path));
  }
  pawl_engine_trace(e, h, node->name, pawl_kind_name(node->kind), took,
                    p->outcome, p->detail.at ? p->detail.at : "",
                    p->after == PAWL_AFTER_LET_GO ? p->look_us : 0);
}

/* A choice, a finish or a timer's `at` run by themselves: at the start of an
 * instance, or because they failed behind the step before. */
static void run_routing(pawl_engine *e, pawl_held *h, int at, int arrived) {
  pawl_plan *p = &h->plan;
  int64_t began_us = pawl_engine_now(e);
  pawl_error err = {0};
  pawl_buf path = {.alloc = &e->alloc};

  e->result.no_retry = 0;
  e->result.retry_after_us = -1;
  pawl_code rc = route(e, h, &at, arrived, &path, &err);
  if (rc != PAWL_OK) {
    fail_node(e, h, at, &err, began_us);
  } else {
    pawl_record *r = pawl_plan_record(p, arrived ? "routed" : "started",
                                      h->def->nodes[at].name);
    r->visit = p->visit;
    r->attempt = 1;
    r->started_us = began_us;
    r->completed_us = pawl_engine_now(e);
    r->due_us = p->token_due_us;
    pawl_buf_adds(&r->path, pawl_buf_str(&path));
    p->outcome = "done";
  }
  if (p->after == PAWL_AFTER_END)
    pawl_engine_trace(e, h, h->def->nodes[at].name,
                      pawl_kind_name(h->def->nodes[at].kind), 0, p->outcome,
                      path.at ? path.at : "", 0);
  pawl_buf_deinit(&path);
}

static void run_timer(pawl_engine *e, pawl_held *h, int at) {
  pawl_plan *p = &h->plan;
  const pawl_node *node = &h->def->nodes[at];
  int64_t now = pawl_engine_now(e);
  pawl_error err = {0};
  int to = node->next[0].to;

  if (now < h->token_due_us) { /* woken by something else */
    p->after = PAWL_AFTER_BACK;
    p->look_us = h->token_due_us;
    return;
  }
  pawl_record *r = pawl_plan_record(p, "timer", node->name);
  r->visit = p->visit;
  r->attempt = p->attempt + 1;
  r->completed_us = now;
  r->due_us = h->token_due_us;
  p->outcome = "fired";
  if (route(e, h, &to, 0, &r->path, &err) != PAWL_OK)
    p->after = PAWL_AFTER_GO_ON;
  pawl_buf_clear(&p->detail);
  pawl_buf_adds(&p->detail, pawl_buf_str(&r->path));
  pawl_engine_trace(e, h, node->name, "timer", 0, p->outcome,
                    p->detail.at ? p->detail.at : "",
                    p->after == PAWL_AFTER_LET_GO ? p->look_us : 0);
}

/* ---- what stands before running ---- */

static void record_recovery(pawl_engine *e, pawl_held *h) {
  char from[37];
  pawl_record *r = pawl_plan_record(&h->plan, "recovered", h->plan.node);
  pawl_id_format(&h->taken_from, from);
  r->visit = h->plan.visit;
  r->completed_us = pawl_engine_now(e);
  pawl_buf_addf(&r->text, "taken over from executor %s (takeover %d)", from,
                h->takeovers);
  h->plan.after = PAWL_AFTER_GO_ON;
  h->plan.resets = 0; /* a takeover is no progress */
  h->recorded = 1;
}

static void plan_poisoned(pawl_engine *e, pawl_held *h) {
  pawl_error err;
  pawl_fail(&err, PAWL_POISONED, "its worker died %d times in a row%s%s%s",
            h->takeovers, h->node.len ? " at node \"" : "",
            h->node.len ? h->node.at : "", h->node.len ? "\"" : "");
  pawl_error_hint(&err,
                  "find out what kills the process; `pawl cancel` ends "
                  "the instance");
  suspend_with(e, h, &err);
  trace_verdict(e, h);
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
  fail_outright(e, h, &err, pawl_strz(NULL));
  trace_verdict(e, h);
}

static void run_node(pawl_engine *e, pawl_held *h) {
  pawl_error err;
  int at = h->node.len ? pawl_def_node(h->def, h->node.at, h->node.len) : -1;

  if (!h->node.len) {
    at = h->def->start;
    if (h->def->nodes[at].kind != PAWL_KIND_STEP) {
      run_routing(e, h, at, 0);
      return;
    }
    arrive(&h->plan, &h->def->nodes[at], NULL);
  }
  if (at < 0) {
    pawl_fail(&err, PAWL_DEFINITION,
              "node \"%s\" is not in workflow \"%s\" "
              "version %" PRId64,
              h->node.at, h->workflow.at, h->workflow_version);
    fail_outright(e, h, &err, pawl_strz(NULL));
    return;
  }
  h->plan.node = h->def->nodes[at].name;
  switch (h->def->nodes[at].kind) {
    case PAWL_KIND_STEP:
      run_step(e, h, at);
      break;
    case PAWL_KIND_TIMER:
      if (h->waiting)
        run_timer(e, h, at);
      else
        run_routing(e, h, at, 1);
      break;
    case PAWL_KIND_CHOICE:
    case PAWL_KIND_FINISH:
      run_routing(e, h, at, 1);
      break;
    case PAWL_NKINDS:
      break;
  }
}

/* Is it too early for what stands here? (A retry's delay, after a wake-up
 * that turned out to be nothing.) */
static int too_early(pawl_engine *e, const pawl_held *h) {
  return !h->waiting && h->token_due_us &&
         pawl_engine_now(e) < h->token_due_us;
}

void pawl_step_run(pawl_engine *e, pawl_held *h) {
  plan_begin(e, h);
  if (pawl_status_has_ended(h->status)) {
    h->plan.after = PAWL_AFTER_FORGET;
  } else if (h->cancel) {
    pawl_step_cancel(e, h);
  } else if (h->status == PAWL_STATUS_SUSPENDED) {
    h->plan.after = PAWL_AFTER_FORGET;
  } else if (h->taken && !h->recorded) {
    record_recovery(e, h);
  } else if (h->takeovers > e->config.recoveries) {
    plan_poisoned(e, h);
  } else if (!h->def) {
    plan_unknown(e, h);
  } else if (too_early(e, h)) {
    h->plan.after = PAWL_AFTER_BACK;
    h->plan.look_us = h->token_due_us;
  } else if (h->rounds >= PAWL_BUSY_LOOP) {
    h->plan.after = PAWL_AFTER_BACK; /* others have waited long enough */
    h->plan.look_us = pawl_engine_now(e);
  } else {
    run_node(e, h);
  }
  plan_done(h);
}

/* The step that stands next, if it is one; else NULL. */
static const pawl_node *next_step(const pawl_held *h) {
  int at;
  if (!h->def || h->cancel || (h->taken && !h->recorded) ||
      h->status == PAWL_STATUS_SUSPENDED || pawl_status_has_ended(h->status))
    return NULL;
  at = h->node.len ? pawl_def_node(h->def, h->node.at, h->node.len)
                   : h->def->start;
  return at >= 0 && h->def->nodes[at].kind == PAWL_KIND_STEP
             ? &h->def->nodes[at]
             : NULL;
}

int64_t pawl_step_expected_us(const pawl_held *h) {
  const pawl_node *node = next_step(h);
  return node ? node->run_avg_us : 0;
}

int pawl_step_is_transactional(const pawl_held *h) {
  const pawl_node *node = next_step(h);
  return node && node->transactional;
}

void pawl_step_cancel(pawl_engine *e, pawl_held *h) {
  pawl_plan *p = &h->plan;
  pawl_str reason = {0};
  pawl_record *r = pawl_plan_record(p, "cancelled", p->node);

  r->visit = p->visit;
  r->completed_us = pawl_engine_now(e);
  if (pawl_json_get(pawl_buf_str(&h->cancellation), "reason", &reason) &&
      pawl_json_kind_of(reason) == PAWL_JSON_STRING)
    pawl_json_unquote(reason, &r->text);
  if (pawl_json_get(pawl_buf_str(&h->cancellation), "by", &reason) &&
      pawl_json_kind_of(reason) == PAWL_JSON_STRING)
    pawl_json_unquote(reason, &r->caller);
  pawl_buf_clear(&p->cancellation);
  pawl_buf_adds(&p->cancellation, pawl_buf_str(&h->cancellation));
  p->has_output = 0;
  pawl_buf_clear(&p->output);
  pawl_buf_clear(&p->error);
  pawl_buf_clear(&p->detail);
  pawl_buf_adds(&p->detail, pawl_buf_str(&r->text));
  p->outcome = "cancelled";
  end_with(h, PAWL_STATUS_CANCELLED);
  trace_verdict(e, h);
}

void pawl_step_fail(pawl_engine *e, pawl_held *h, const pawl_error *why) {
  int at;
  plan_begin(e, h);
  at = h->node.len ? pawl_def_node(h->def, h->node.at, h->node.len)
                   : h->def->start;
  if (!h->node.len) arrive(&h->plan, &h->def->nodes[at], NULL);
  pawl_result_clear(&e->result);
  fail_node(e, h, at, why, pawl_engine_now(e));
  plan_done(h);
}

void pawl_step_refused(pawl_engine *e, pawl_held *h, const pawl_error *why) {
  pawl_error err = *why;
  plan_begin(e, h);
  pawl_error_prefix(&err, "the store refused the result");
  fail_outright(e, h, &err, pawl_strz(NULL));
  plan_done(h);
}
