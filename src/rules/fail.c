/* What follows a failure; and ending. */
#include <inttypes.h>

#include "../value/json.h"
#include "machine.h"

void pawl_set_detail(pawl_plan *p, const pawl_error *err) {
  pawl_buf_clear(&p->detail);
  if (err->where[0]) pawl_buf_addf(&p->detail, "%s: ", err->where);
  if (err->reason[0]) pawl_buf_addf(&p->detail, "%s: ", err->reason);
  pawl_buf_addz(&p->detail, err->message);
}

/* ---- ending ---- */

/* Its parent is told, if that waits for it. */
static void tell_parent(pawl_held *h, pawl_status status) {
  pawl_plan *p = &h->plan;
  pawl_effect *f;

  if (!h->has_parent || !h->parent_token) return;
  f = pawl_plan_effect(p, PAWL_EFFECT_MESSAGE, 0);
  f->id = h->parent;
  f->has_id = 1;
  pawl_buf_addz(&f->name, "result");
  pawl_buf_addf(&f->data,
                "{\"child\":\"%s\",\"status\":\"%s\",\"token\":%" PRId64
                ",\"visit\":%" PRId64,
                h->id_text, pawl_status_name(status), h->parent_token,
                h->parent_visit);
  if (h->parent_index >= 0)
    pawl_buf_addf(&f->data, ",\"index\":%" PRId64, h->parent_index);
  pawl_buf_addz(&f->data, ",\"output\":");
  pawl_buf_addz(&f->data,
                p->has_output && p->output.len ? p->output.at : "null");
  if (p->error.len) {
    pawl_buf_addz(&f->data, ",\"error\":");
    pawl_buf_adds(&f->data, pawl_buf_str(&p->error));
  }
  pawl_buf_addc(&f->data, '}');
  p->sent++;
  p->more = 1;
}

/* Who cancelled it, and why, holds for its children too. */
static void add_cause(pawl_buf *b, pawl_str cause, const char *reason) {
  static const char *const names[] = {"by", "event_id", "compensate",
                                      "killed"};
  pawl_str value;

  if (pawl_json_kind_of(cause) != PAWL_JSON_OBJECT) cause.len = 0;
  pawl_buf_addz(b, "\"reason\":");
  if (cause.len && pawl_json_get(cause, "reason", &value) &&
      pawl_json_kind_of(value) == PAWL_JSON_STRING)
    pawl_buf_adds(b, value);
  else
    pawl_json_add_string(b, pawl_strz(reason));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!cause.len || !pawl_json_get(cause, names[i], &value)) continue;
    pawl_buf_addf(b, ",\"%s\":", names[i]);
    pawl_buf_adds(b, value);
  }
}

static void send_end(pawl_held *h, int32_t token, pawl_str cause,
                     const char *reason) {
  pawl_effect *f = pawl_plan_effect(&h->plan, PAWL_EFFECT_MESSAGE, token);

  f->id = h->id;
  f->has_id = 1;
  pawl_buf_addz(&f->name, "end_children");
  pawl_buf_addc(&f->data, '{');
  if (token) pawl_buf_addf(&f->data, "\"token\":%d,", (int)token);
  add_cause(&f->data, cause, reason);
  pawl_buf_addc(&f->data, '}');
  h->plan.sent++;
  h->plan.more = 1;
}

void pawl_children_unwanted(pawl_held *h, int32_t token) {
  send_end(h, token, pawl_buf_str(&h->plan.cancellation),
           "no longer wanted by its parent");
}

void pawl_children_end(pawl_held *h, pawl_status status) {
  const pawl_plan *p = &h->plan;
  pawl_str cause =
      pawl_buf_str(p->cancellation.len ? &p->cancellation : &h->cancellation);
  if (!p->children) return;
  if (status != PAWL_STATUS_CANCELLED) cause.len = 0;
  send_end(h, 0, cause, "its parent has ended");
}

void pawl_end(pawl_engine *e, pawl_held *h, pawl_status status) {
  pawl_plan *p = &h->plan;

  if (status == PAWL_STATUS_FAILED && !p->compensation.len)
    pawl_stopped_note(h);

  p->after = PAWL_AFTER_END;
  p->status = status;
  for (int k = 0; k < p->tokens.n; k++) {
    pawl_token *t = pawl_tok(h, k);
    if (!pawl_token_is_live(t->state)) continue;
    t->state = PAWL_TOKEN_DROPPED; /* subscriptions and tasks go with it */
    t->due_us = 0;
    t->changed = 1;
  }
  pawl_buf_clear(&p->joined);
  pawl_undo_stop(e, h);
  pawl_children_end(h, status);
  tell_parent(h, status);
}

/* Was anything done that could be undone? The store knows; the graph tells
 * whether to ask. */
static int may_undo(const pawl_held *h) {
  for (int i = 0; h->def && i < h->def->nnodes; i++)
    if (h->def->nodes[i].has_undo) return 1;
  return 0;
}

void pawl_end_undoing(pawl_engine *e, pawl_held *h, pawl_status status,
                      int compensate) {
  if (compensate && may_undo(h) && (h->seq > 0 || h->plan.ran))
    pawl_undo_begin(e, h, status);
  else
    pawl_end(e, h, status);
}

void pawl_fail_outright(pawl_engine *e, pawl_held *h, const pawl_error *err,
                        pawl_str details) {
  pawl_plan *p = &h->plan;
  pawl_record *r = pawl_instance_record(e, h, "failed");
  r->attempt = p->tokens.n ? p->tokens.at[0].attempt + 1 : 1;
  pawl_buf_clear(&p->error);
  pawl_plan_error(&p->error, err, details);
  pawl_buf_adds(&r->error, pawl_buf_str(&p->error));
  pawl_set_detail(p, err);
  p->outcome = "failed";
  pawl_end(e, h, PAWL_STATUS_FAILED);
}

void pawl_suspend(pawl_engine *e, pawl_held *h, const pawl_error *err) {
  pawl_plan *p = &h->plan;
  pawl_record *r = pawl_instance_record(e, h, "suspended");
  pawl_buf_clear(&p->error);
  pawl_plan_error(&p->error, err, pawl_strz(NULL));
  pawl_buf_adds(&r->error, pawl_buf_str(&p->error));
  pawl_set_detail(p, err);
  p->status = PAWL_STATUS_SUSPENDED;
  p->suspended_us = pawl_engine_now(e);
  p->more = 1;
  p->outcome = "suspended";
}

/* ---- one token's failure ---- */

static void try_again(pawl_held *h, int k, int64_t due_us) {
  pawl_token *t = pawl_tok(h, k);
  t->state = PAWL_TOKEN_ACTIVE;
  t->due_us = due_us;
  t->changed = 1;
  h->plan.outcome = "retry";
}

/* Nothing catches it: the each around it, or the instance, fails. */
static void uncaught(pawl_engine *e, pawl_held *h, int k,
                     const pawl_error *err) {
  int level, parked = pawl_each_around(h, k, &level);
  h->plan.outcome = "failed";
  if (parked >= 0) {
    pawl_buf_clear(&h->plan.error); /* only the instance's own is kept */
    pawl_each_item_failed(e, h, parked, level, k, err);
    return;
  }
  pawl_end_undoing(e, h, PAWL_STATUS_FAILED, h->def->compensate);
}

/* What is told of it: the failure, then where that leads. */
static void tell_route(pawl_plan *p, const pawl_error *err) {
  pawl_buf path = {.alloc = p->alloc};

  pawl_buf_swap(&path, &p->detail);
  pawl_set_detail(p, err);
  if (path.len && strcmp(path.at, p->detail.at ? p->detail.at : ""))
    pawl_buf_addf(&p->detail, " -> %s", path.at);
  pawl_buf_deinit(&path);
}

void pawl_fail_token(pawl_engine *e, pawl_held *h, int k,
                     const pawl_error *err, int64_t began_us) {
  pawl_plan *p = &h->plan;
  const pawl_node *node = pawl_tok_node(h, k);
  const pawl_result *result = &e->result;
  int64_t now = pawl_engine_now(e), delay_us = 0;
  int to = -1;
  pawl_failure f = {
      .attempt = pawl_tok(h, k)->attempt + 1,
      .no_retry = result->no_retry,
      .retry_after_us = result->retry_after_us,
      .reason = err->reason[0] ? err->reason : pawl_code_name(err->code),
      .random = pawl_engine_random(e)};
  pawl_verdict verdict = pawl_retry_decide(node, &f, &delay_us, &to);
  pawl_record *r;

  pawl_stop_waiting(h, k, NULL);
  r = pawl_token_record(e, h, k, "failed");
  r->started_us = began_us;
  pawl_buf_clear(&p->error);
  pawl_plan_error(&p->error, err, pawl_buf_str(&result->details));
  pawl_buf_adds(&r->error, pawl_buf_str(&p->error));
  pawl_set_detail(p, err);
  pawl_tok(h, k)->attempt = f.attempt;
  pawl_tok(h, k)->changed = 1;
  switch (verdict) {
    case PAWL_VERDICT_RETRY:
      r->due_us = pawl_time_after(now, delay_us);
      try_again(h, k, r->due_us);
      break;
    case PAWL_VERDICT_ROUTE:
      pawl_buf_addz(&r->transition, f.reason);
      p->outcome = "failed";
      pawl_leave(e, h, k, to);
      tell_route(p, err);
      /* what led to a failed end is its reason */
      if (!((p->after == PAWL_AFTER_END || pawl_is_undoing(h)) &&
            p->status == PAWL_STATUS_FAILED))
        if (!pawl_is_undoing(h)) pawl_buf_clear(&p->error);
      break;
    case PAWL_VERDICT_SUSPEND:
      pawl_buf_addz(&r->text, "suspended: no attempts left");
      try_again(h, k, 0);
      p->status = PAWL_STATUS_SUSPENDED;
      p->suspended_us = now;
      p->more = 1;
      p->outcome = "suspended";
      break;
    case PAWL_VERDICT_FAIL:
      uncaught(e, h, k, err);
      break;
  }
}
