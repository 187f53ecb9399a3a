/* Steps: a handler runs, and what it gave, or why it failed, follows. */

#include <assert.h>

#include "../../base/nearest.h"
#include "../machine.h"

/* A step's handler has returned: where its transition leads. */
static pawl_code step_target(const pawl_decision *d, const pawl_node *node,
                             int *to, pawl_error *err) {
  const pawl_said *r = d->result;
  const char *name = r->has_transition ? r->transition.at : "";

  *to = pawl_node_next(node, name, r->has_transition ? r->transition.len : 0);
  if (*to >= 0) return PAWL_OK;
  d->result->no_retry = 1;
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

/* What it did is on record, before the token goes on, and what it has escalated
 * is told: that may end the token. The row's index. */
static int take(pawl_decision *d, int k) {
  pawl_said *result = d->result;
  pawl_buf told = {.alloc = d->alloc};

  pawl_take_effects(d, k, result);
  pawl_buf_swap(&told, &result->escalations); /* others are asked by that */
  const int first = pawl_escalations_note(d, k, pawl_buf_str(&told));
  pawl_record *r = pawl_token_record(d, k, "step");
  r->started_us = d->began_us;
  if (result->has_transition)
    pawl_buf_adds(&r->transition, pawl_buf_str(&result->transition));
  if (result->has_output) pawl_buf_swap(&r->output, &result->output);
  r->has_output = result->has_output;
  if (result->vars_changed) pawl_vars_take(d, &result->vars, &r->changes);
  pawl_take_attrs(r, result);
  const int record = d->plan.nrecords - 1;
  pawl_escalations_send(d, k, pawl_buf_str(&told), first);
  pawl_buf_deinit(&told);
  d->plan.outcome = "done";
  return record;
}

/* Its instance has failed while it waited, and is to undo what was done: what
 * it has done is among that, and it leads nowhere. */
static void end_late(pawl_decision *d, int k, const pawl_error *failed) {
  if (failed) {
    pawl_record *r = pawl_token_record(d, k, "failed");
    r->started_us = d->began_us;
    pawl_plan_error(&r->error, failed, d->result);
    d->plan.outcome = "failed";
  } else {
    (void)take(d, k);
  }
  pawl_token_close(pawl_tok(d, k), PAWL_TOKEN_DROPPED);
  d->plan.look = PAWL_LOOK_UNDOS;
}

/* What a step's handler gave, or why it failed, becomes part of the plan. */
void pawl_step_returned(pawl_decision *d, int k, int at, pawl_code rc,
                        pawl_error *err) {
  pawl_plan *p = &d->plan;
  pawl_node *node = &d->def->nodes[at];
  int to = -1;

  p->ran = 1;
  p->state.node = node->name;
  if (d->def->busy_limit) p->state.immediate++;
  d->running_token = pawl_tok(d, k)->no;
  d->world->stepped(d->world->ud, d, d->running_token, node);
  if (rc == PAWL_OK) rc = step_target(d, node, &to, err);
  if (rc == PAWL_OK) rc = pawl_output_joins(d, node, err);
  if (rc == PAWL_OK) rc = pawl_vars_merge(d, err);
  if (rc == PAWL_OK) rc = pawl_spend_effects(d, err);
  assert(!pawl_is_undoing_part(d));
  if (pawl_is_undoing(d)) {
    end_late(d, k, rc == PAWL_OK ? NULL : err);
  } else if (rc != PAWL_OK) {
    pawl_fail_token(d, k, err, d->began_us);
  } else {
    const int record = take(d, k);
    if (pawl_tok_live(d, k) && !pawl_is_over(d))
      pawl_leave_by(d, k, to, record);
  }
  pawl_trace_step(d, node, d->took_us, k);
}

/* What is on it begins to wait, and how long an attempt may take is asked. */
static pawl_code prepare(pawl_decision *d, int k, const pawl_node *node,
                         pawl_error *err) {
  int64_t limit_us;

  MUST(pawl_boundaries_begin(d, k, node, err));
  MUST(pawl_wait_limit(d, k, node, &limit_us, err));
  if (!node->has_timeout || limit_us) return PAWL_OK;
  d->result->no_retry = 1;
  pawl_fail(err, PAWL_VALUE, "step \"%s\": `timeout` returned no time at all",
            node->name);
  pawl_error_hint(err, "nil stands for the usual one");
  return PAWL_VALUE;
}

void pawl_step_enter(pawl_decision *d, int k, int at) {
  const pawl_node *node = &d->def->nodes[at];
  pawl_error err; /* of several KB: whoever fails fills it */

  if (prepare(d, k, node, &err) != PAWL_OK) {
    pawl_fail_token(d, k, &err, 0);
    return;
  }
  const int32_t before = d->running_token;
  d->plan.state.node = node->name;
  d->running_token = pawl_tok(d, k)->no;
  pawl_decision_trace(d, node->name, pawl_kind_name(node->kind), -1, NULL, "",
                      0);
  pawl_code rc = pawl_run_handler(d, k, node, PAWL_HANDLER_RUN, &err);
  if (pawl_is_aloft(d, pawl_tok(d, k)))
    d->running_token = before; /* whose result is lost with the plan */
  else
    pawl_step_returned(d, k, at, rc, &err);
}

/* It stands there until its turn. */
static pawl_code enter(pawl_decision *d, int k, const pawl_node *node, int *to,
                       pawl_buf *path, pawl_error *err) {
  (void)d, (void)k, (void)node, (void)to, (void)path, (void)err;
  return PAWL_OK;
}

const pawl_kind_rules pawl_kind_step = {.enter = enter, .gives = 1};
