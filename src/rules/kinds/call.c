/* Calls: a token stands until the child that it started has ended. */
#include <string.h>

#include "../../value/json.h"
#include "../machine.h"
#include "../order.h"

/* Of the handlers the last one's answer is at hand. */
static pawl_code send_child(pawl_decision *d, int k, const pawl_node *node,
                            pawl_str options, char text[37], pawl_error *err) {
  pawl_str input = node->input;
  pawl_id id;

  if (node->has_input) {
    MUST(pawl_run_handler(d, k, node, PAWL_HANDLER_INPUT, err));
    if (d->result->has_output) input = pawl_buf_str(&d->result->output);
  }
  MUST(pawl_id_make(d->world->ids, pawl_decision_now(d), &id, err));
  pawl_child_send(d, k, node, &id, input, options, -1);
  pawl_id_format(&id, text);
  return PAWL_OK;
}

static pawl_code enter(pawl_decision *d, int k, const pawl_node *node, int *to,
                       pawl_buf *path, pawl_error *err) {
  pawl_buf options = {.alloc = d->alloc}, mover = {.alloc = d->alloc};
  int64_t now = pawl_decision_now(d), limit_us;
  char text[37];
  pawl_code rc = PAWL_OK;
  pawl_token *t;

  (void)to, (void)path;
  TRY(pawl_reschedule_key(d, k, node, &mover, err));
  TRY(pawl_wait_limit(d, k, node, &limit_us, err));
  TRY(pawl_spend(d, PAWL_QUOTA_STARTS, 1, err));
  TRY(pawl_child_options(d, k, node, &options, err));
  TRY(send_child(d, k, node, pawl_buf_str(&options), text, err));
  t = pawl_tok(d, k);
  t->state = PAWL_TOKEN_WAITING;
  pawl_wait_until(t, now, limit_us);
  pawl_detail_put(t, PAWL_DETAIL_child, pawl_strz(text));
  pawl_reschedule_listen(d, k, node, &mover);
out:
  pawl_buf_deinit(&mover);
  pawl_buf_deinit(&options);
  return rc;
}

static void stop(pawl_decision *d, int k, const pawl_node *node,
                 const char *status) {
  (void)node;
  if (status) pawl_children_unwanted(d, pawl_tok(d, k)->no);
}

/* What the nodes behind the call see as ctx.event. */
static void set_child_event(pawl_token *t, pawl_str data, const char *status,
                            pawl_str what) {
  pawl_str child;
  pawl_object o;

  pawl_buf_clear(&t->event);
  pawl_object_begin(&o, &t->event);
  pawl_member(&o, "name");
  pawl_buf_addf(&t->event, "\"child.%s\"", status);
  if (pawl_json_get(data, "child", &child)) pawl_member_json(&o, "id", child);
  pawl_member_json(&o, "data", what);
  pawl_object_end(&o);
  t->changed = 1;
}

static void call_done(pawl_decision *d, int k, const pawl_node *node,
                      pawl_str data, const char *status) {
  pawl_str output = {0}, error = {0};
  pawl_error err;
  const int is_done = !strcmp(status, "completed");
  int to = pawl_node_next(node, status, strlen(status));

  if (to < 0 && is_done) to = pawl_node_next(node, "", 0);
  if (to < 0 || !is_done) {
    pawl_said_clear(d->result); /* of whoever failed before */
    pawl_child_error(d, data, status, &err);
  }
  if (is_done) (void)pawl_json_get(data, "output", &output);
  if (to < 0 || pawl_output_fits(d, node, output, &err) != PAWL_OK) {
    pawl_fail_token(d, k, &err, 0);
    return;
  }
  pawl_record *r = pawl_token_record(d, k, "child");
  const pawl_token *t = pawl_tok(d, k);
  r->due_us = t->due_us;
  pawl_buf_adds(&r->text, pawl_buf_str(&pawl_detail_of(t)->child));
  if (node->nnext > 1 || node->next[0].name[0])
    pawl_buf_addz(&r->transition, status);
  if (is_done) {
    pawl_take_output(d, node, r, output);
  } else if (pawl_json_get(data, "error", &error)) {
    pawl_buf_adds(&r->error, error); /* why it takes that way */
  }
  set_child_event(pawl_tok(d, k), data, status, output.at ? output : error);
  d->plan.outcome = "done";
  if (is_done)
    pawl_leave(d, k, to);
  else
    pawl_leave_failed(d, k, to, &err);
}

static int same_child(const pawl_token *t, pawl_str data) {
  pawl_str child, waited = pawl_buf_str(&pawl_detail_of(t)->child);
  return !waited.len || !pawl_json_get(data, "child", &child) ||
         (child.len == waited.len + 2 &&
          !memcmp(child.at + 1, waited.at, waited.len));
}

static void take(pawl_decision *d, int k, const pawl_node *node,
                 const pawl_letter *l) {
  pawl_str data = pawl_buf_str(&l->data);
  char status[16];

  pawl_child_text(d, data, "status", status, sizeof status);
  if (d->plan.failed) return; /* nothing of it counts */
  pawl_order_note(d, k, l->received_us);
  if (same_child(pawl_tok(d, k), data)) call_done(d, k, node, data, status);
}

const pawl_kind_rules pawl_kind_call = {.enter = enter,
                                        .stop = stop,
                                        .letter = "child",
                                        .take = take,
                                        .time_out = pawl_time_out,
                                        .transfer = pawl_child_transfer,
                                        .gives = 1,
                                        .has_children = 1};
