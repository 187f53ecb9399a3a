/* Tasks: a token stands until a person has dealt with it. */
#include <inttypes.h>

#include "../../value/json.h"
#include "../machine.h"
#include "../order.h"

/* ---- made ---- */

/* What the definition says of the task, with what `prepare` says instead. */
static void merge_task(const pawl_node *node, pawl_str own, pawl_buf *out) {
  pawl_buf_adds(out, node->task.len ? node->task : pawl_strz("{}"));
  if (!own.len) return;
  for (pawl_json_iter it = {0}; pawl_json_walk(own, &it);) {
    char name[64];
    pawl_str_copy(name, sizeof name, it.key);
    pawl_object_set(out, name, it.value);
  }
}

static pawl_code check_task(const pawl_decision *d, const pawl_node *node,
                            pawl_str task, pawl_error *err) {
  pawl_buf text = {.alloc = d->alloc};
  pawl_unkept u;
  pawl_str value;
  int ok = 0;

  if (!pawl_json_get(task, "title", &value) ||
      pawl_json_kind_of(value) != PAWL_JSON_STRING || value.len == 2)
    return pawl_fail(err, PAWL_SCRIPT, "task \"%s\" has no title", node->name);
  /* here, as the step before it is done: the store would refuse both */
  MUST(pawl_task_unkept(d->alloc, task, &u, err));
  if (u.why)
    return pawl_fail(err, PAWL_SCRIPT, "task \"%s\": %s %s", node->name,
                     u.member, u.why);
  if (!pawl_json_get(task, "priority", &value)) return PAWL_OK;
  (void)pawl_json_get_text(task, "priority", &text);
  for (int i = 0; i < PAWL_NPRIORITIES; i++)
    ok |= pawl_str_eqz(pawl_buf_str(&text), pawl_priorities[i]);
  pawl_code rc = pawl_buf_check(&text, err);
  pawl_buf_deinit(&text);
  if (ok || rc != PAWL_OK) return rc;
  return pawl_fail_hint(err, PAWL_SCRIPT, "low, normal, high or urgent",
                        "task \"%s\": priority is %.*s", node->name,
                        (int)(value.len < 60 ? value.len : 60), value.at);
}

/* When the token must be looked at: overdue, once, or timed out. */
static int64_t task_look(const pawl_token *t, const pawl_node *node,
                         int64_t begun_us, int64_t due_us) {
  int64_t limit_us = pawl_token_limit(t, node);
  int64_t limit = limit_us >= 0 ? pawl_time_after(begun_us, limit_us) : 0;

  if (pawl_detail_of(t)->late || !due_us) return limit;
  return limit && limit < due_us ? limit : due_us;
}

/* Within which time it should be done, in *due_us, -1: in any: as `prepare` or
 * the definition has it, or as a handler says once in a visit. */
static pawl_code due_within(pawl_decision *d, int k, const pawl_node *node,
                            pawl_str task, int64_t *due_us, pawl_error *err) {
  pawl_str value;

  *due_us = -1;
  if (pawl_json_get(task, "due", &value)) {
    (void)pawl_json_int(value, due_us);
    return PAWL_OK;
  }
  if (!node->has_due) return PAWL_OK;
  if (!pawl_detail_has(pawl_tok(d, k), PAWL_DETAIL_within)) {
    MUST(pawl_run_handler(d, k, node, PAWL_HANDLER_DUE, err));
    pawl_detail_set(pawl_tok(d, k), PAWL_DETAIL_within,
                    d->result->has_lasts ? d->result->lasts_us : -1);
  }
  *due_us = pawl_detail_of(pawl_tok(d, k))->within;
  return PAWL_OK;
}

static pawl_code enter(pawl_decision *d, int k, const pawl_node *node, int *to,
                       pawl_buf *path, pawl_error *err) {
  pawl_buf task = {.alloc = d->alloc}, mover = {.alloc = d->alloc};
  pawl_str own = {0};
  int64_t now = pawl_decision_now(d), due = 0, within_us, limit_us;
  pawl_code rc = PAWL_OK;
  pawl_effect *f;
  pawl_token *t;
  pawl_id id;

  (void)to, (void)path;
  if (node->has_prepare) {
    TRY(pawl_run_handler(d, k, node, PAWL_HANDLER_PREPARE, err));
    if (d->result->has_output) own = pawl_buf_str(&d->result->output);
    if (own.len && pawl_json_kind_of(own) != PAWL_JSON_OBJECT) own.len = 0;
  }
  merge_task(node, own, &task);
  TRY(pawl_buf_check(&task, err));
  rc = check_task(d, node, pawl_buf_str(&task), err);
  d->result->no_retry = rc == PAWL_SCRIPT;
  TRY(rc);
  TRY(pawl_reschedule_key(d, k, node, &mover, err));
  TRY(due_within(d, k, node, pawl_buf_str(&task), &within_us, err));
  TRY(pawl_wait_limit(d, k, node, &limit_us, err));
  TRY(pawl_id_make_at_home(d->world->ids, now, pawl_id_home(&d->id), &id,
                           err));
  if (within_us >= 0) due = pawl_time_after(now, within_us);
  t = pawl_tok(d, k);
  t->state = PAWL_TOKEN_WAITING;
  t->changed = 1;
  pawl_detail_drop(t, PAWL_DETAIL_late);
  pawl_detail_set(t, PAWL_DETAIL_begun, now);
  if (due) pawl_detail_set(t, PAWL_DETAIL_due, due);
  t->due_us = task_look(t, node, now, due);
  f = pawl_plan_effect(&d->plan, PAWL_EFFECT_TASK, t->no);
  f->id = id;
  f->has_id = 1;
  f->node = node->name;
  f->n = t->visit;
  f->at_us = due;
  pawl_buf_adds(&f->data, pawl_buf_str(&task));
  pawl_reschedule_listen(d, k, node, &mover);
out:
  pawl_buf_deinit(&mover);
  pawl_buf_deinit(&task);
  return rc;
}

static void stop(pawl_decision *d, int k, const pawl_node *node,
                 const char *status) {
  (void)node;
  if (!status) return;
  pawl_effect *f =
      pawl_plan_effect(&d->plan, PAWL_EFFECT_TASK_END, pawl_tok(d, k)->no);
  f->n = pawl_tok(d, k)->visit;
  pawl_buf_addz(&f->name, status);
}

/* ---- what people say ---- */

static int letter_says(pawl_decision *d, pawl_str data, const char *name,
                       const char *text) {
  pawl_buf b = {.alloc = d->plan.alloc};
  int same = pawl_json_get_text(data, name, &b) &&
             pawl_str_eqz(pawl_buf_str(&b), text);

  if (b.failed) d->plan.failed = 1;
  pawl_buf_deinit(&b);
  return same;
}

/* Whose task it was, where somebody else has dealt with it. */
static void note_override(pawl_str data, pawl_record *r) {
  pawl_buf who = {.alloc = r->text.alloc};

  if (!pawl_json_get_text(data, "instead_of", &who)) return;
  pawl_buf_addz(&r->text, r->text.len ? "; instead of " : "instead of ");
  pawl_buf_adds(&r->text, pawl_buf_str(&who));
  pawl_buf_deinit(&who);
}

static void clear_task(pawl_token *t) {
  pawl_detail_drop(t, PAWL_DETAIL_late);
  pawl_detail_drop(t, PAWL_DETAIL_begun);
  pawl_detail_drop(t, PAWL_DETAIL_due);
}

/* What a person says of why it could not be done. */
static void read_failure(pawl_decision *d, pawl_str data, pawl_error *why) {
  pawl_buf text = {.alloc = d->alloc};
  pawl_str error = {0}, details;

  pawl_fail(why, PAWL_SCRIPT, "the task failed");
  (void)pawl_json_get(data, "error", &error);
  if (pawl_json_get(error, "details", &details))
    pawl_buf_adds(&d->result->details, details);
  if (pawl_json_get_text(error, "message", &text))
    pawl_failure_keep(&d->result->message, why->message, sizeof why->message,
                      pawl_buf_str(&text));
  pawl_buf_clear(&text);
  if (pawl_json_get_text(error, "code", &text))
    pawl_copy_text(why->raised, sizeof why->raised, text.at ? text.at : "");
  pawl_buf_deinit(&text);
}

/* A person could not do it: a way for that, the error's own, or it stays and
 * may be tried again. */
static void task_failed(pawl_decision *d, int k, const pawl_node *node,
                        const pawl_letter *l) {
  pawl_error why = {0};
  int to = pawl_node_next(node, "failed", 6);

  pawl_said_clear(d->result); /* of whoever failed before */
  read_failure(d, pawl_buf_str(&l->data), &why);
  if (to < 0 &&
      pawl_node_on_error(node, why.raised[0] ? why.raised : "script") >= 0) {
    d->result->no_retry = 1;
    clear_task(pawl_tok(d, k));
    pawl_fail_token(d, k, &why, 0);
    return;
  }
  pawl_record *r = pawl_token_record(d, k, "failed");
  if (to >= 0)
    pawl_buf_addz(&r->transition, "failed");
  else /* a failed task may still be tried again */
    pawl_buf_addz(&r->text, "the task may be tried again");
  pawl_buf_adds(&r->by, pawl_buf_str(&l->by));
  note_override(pawl_buf_str(&l->data), r);
  pawl_plan_error(&r->error, &why, d->result);
  if (to < 0) return;
  clear_task(pawl_tok(d, k));
  pawl_leave_failed(d, k, to, &why);
}

/* Completing it raises an event. */
static void raise_signal(pawl_decision *d, const pawl_node *node, int k,
                         pawl_str output) {
  pawl_object o;
  pawl_str signal;

  if (!node->task.len || !pawl_json_get(node->task, "signal", &signal)) return;
  (void)pawl_message(d, pawl_tok(d, k)->no, "signal", &d->id, &o);
  pawl_member_json(&o, "name", signal);
  pawl_member_textz(&o, "source", d->id_text);
  pawl_member(&o, "id");
  pawl_buf_addf(o.out, "\"task:%" PRId64 "\"", pawl_tok(d, k)->visit);
  pawl_member_json(&o, "data", output);
  pawl_object_end(&o);
}

static void note_put_off(pawl_decision *d, int k, const pawl_letter *l,
                         int64_t due) {
  pawl_record *r = pawl_visit_record(d, k, "put_off");

  r->due_us = due;
  pawl_buf_adds(&r->by, pawl_buf_str(&l->by));
  if (!due) pawl_buf_addz(&r->text, "at no time");
}

/* It is to be done by another time, or by none. */
static void put_off(pawl_decision *d, int k, const pawl_node *node,
                    const pawl_letter *l) {
  pawl_token *t = pawl_tok(d, k);
  pawl_str value, data = pawl_buf_str(&l->data);
  int64_t due = 0;

  if (pawl_json_get(data, "due_us", &value)) (void)pawl_json_int(value, &due);
  note_put_off(d, k, l, due);
  pawl_detail_drop(t, PAWL_DETAIL_late);
  if (due)
    pawl_detail_set(t, PAWL_DETAIL_due, due);
  else
    pawl_detail_drop(t, PAWL_DETAIL_due);
  t->due_us = task_look(t, node, pawl_detail_of(t)->begun, due);
  t->changed = 1;
}

/* A person has dealt with it. */
static void take(pawl_decision *d, int k, const pawl_node *node,
                 const pawl_letter *l) {
  pawl_str data = pawl_buf_str(&l->data), output = {0};
  pawl_buf name = {.alloc = d->alloc};
  pawl_error err = {0};

  if (letter_says(d, data, "status", "put_off")) {
    put_off(d, k, node, l);
    return;
  }
  pawl_order_note(d, k, l->received_us);
  if (letter_says(d, data, "status", "failed")) {
    task_failed(d, k, node, l);
    return;
  }
  (void)pawl_json_get(data, "output", &output);
  if (pawl_output_fits(d, node, output, &err) != PAWL_OK) {
    clear_task(pawl_tok(d, k));
    pawl_fail_token(d, k, &err, 0);
    return;
  }
  (void)pawl_json_get_text(data, "transition", &name);
  int to = pawl_node_next(node, name.at ? name.at : "", name.len);
  if (to < 0) to = pawl_node_next(node, "", 0);
  if (to < 0) to = node->next[0].to; /* the API has checked it */
  pawl_record *r = pawl_token_record(d, k, "task");
  pawl_buf_adds(&r->transition, pawl_buf_str(&name));
  pawl_buf_adds(&r->by, pawl_buf_str(&l->by));
  note_override(data, r);
  pawl_take_output(d, node, r, output);
  raise_signal(d, node, k, output);
  clear_task(pawl_tok(d, k));
  d->plan.outcome = "done";
  pawl_leave(d, k, to);
  pawl_trace_wait(d, k, node);
  pawl_buf_deinit(&name);
}

/* ---- its times ---- */

static void raise_task(pawl_decision *d, int k, const pawl_node *node,
                       int64_t now) {
  pawl_token *t = pawl_tok(d, k);
  int64_t begun = pawl_detail_of(t)->begun, due = pawl_detail_of(t)->due;

  pawl_detail_set(t, PAWL_DETAIL_late, 1);
  t->due_us = task_look(t, node, begun, due);
  pawl_effect *f = pawl_plan_effect(&d->plan, PAWL_EFFECT_TASK_RAISE, t->no);
  f->n = t->visit;
  f->at_us = now;
  pawl_buf_adds(&f->data,
                node->escalate.len ? node->escalate : pawl_strz("{}"));
  pawl_record *r = pawl_token_record(d, k, "escalated");
  r->due_us = due;
  pawl_buf_adds(&r->output, pawl_buf_str(&f->data));
  d->plan.outcome = "escalated";
}

/* Overdue is a transition where one is drawn; else a flag and an escalation.
 * Later, perhaps, the timeout: seen when both have passed, that which came
 * first has. */
static void time_out(pawl_decision *d, int k, const pawl_node *node) {
  pawl_token *t = pawl_tok(d, k);
  const int64_t until = t->due_us;
  int64_t due = pawl_detail_of(t)->due;
  int64_t limit_us = pawl_token_limit(t, node);
  int to = pawl_node_next(node, "overdue", 7);
  pawl_record *r;

  if (limit_us >= 0 &&
      pawl_time_after(pawl_detail_of(t)->begun, limit_us) <= until) {
    clear_task(t);
    pawl_time_out(d, k, node);
  } else if (due && due <= until && !pawl_detail_of(t)->late) {
    if (to < 0) {
      raise_task(d, k, node, pawl_decision_now(d));
      return;
    }
    pawl_stop_waiting(d, k, "timed_out");
    clear_task(pawl_tok(d, k));
    r = pawl_token_record(d, k, "timeout");
    r->due_us = due;
    pawl_buf_addz(&r->transition, "overdue");
    d->plan.outcome = "overdue";
    pawl_leave(d, k, to);
    pawl_trace_wait(d, k, node);
  } else if (due || limit_us >= 0) { /* woken early */
    t->due_us = task_look(t, node, pawl_detail_of(t)->begun, due);
  }
}

/* The task's own times, and those that people see. */
static void shift(pawl_decision *d, int k, int64_t by_us) {
  pawl_token *t = pawl_tok(d, k);
  int64_t due = pawl_detail_of(t)->due;

  if (pawl_detail_of(t)->begun)
    pawl_detail_set(t, PAWL_DETAIL_begun,
                    pawl_time_after(pawl_detail_of(t)->begun, by_us));
  t->changed = 1;
  if (!due) return;
  due = pawl_time_after(due, by_us);
  pawl_detail_set(t, PAWL_DETAIL_due, due);
  pawl_effect *f = pawl_plan_effect(&d->plan, PAWL_EFFECT_TASK_DUE, t->no);
  f->n = t->visit;
  f->at_us = due;
}

/* Another time by which it should be done, which people see; 0: none. */
static void set_due(pawl_decision *d, int k, int64_t due) {
  pawl_token *t = pawl_tok(d, k);

  pawl_detail_drop(t, PAWL_DETAIL_late);
  if (due)
    pawl_detail_set(t, PAWL_DETAIL_due, due);
  else
    pawl_detail_drop(t, PAWL_DETAIL_due);
  pawl_effect *f = pawl_plan_effect(&d->plan, PAWL_EFFECT_TASK_DUE, t->no);
  f->n = t->visit;
  f->at_us = due;
}

/* A handler of its is asked again, beside the event; *us -1: it says none. */
static pawl_code ask_again(pawl_decision *d, int k, const pawl_node *node,
                           pawl_handler handler, pawl_str event, int64_t *us,
                           pawl_error *err) {
  pawl_str none = {0};

  MUST(pawl_run_handler_on(d, k, node, handler, event, none, err));
  *us = d->result->has_lasts ? d->result->lasts_us : -1;
  return PAWL_OK;
}

/* Both of its times begin anew; a `due` that only its `prepare` said stays. */
static pawl_code move(pawl_decision *d, int k, const pawl_node *node,
                      int64_t from_us, pawl_str event, int64_t *due_us,
                      pawl_error *err) {
  pawl_token *t = pawl_tok(d, k);
  int64_t within = -1, limit = node->limit_us;
  pawl_str value;

  if (node->has_due)
    MUST(ask_again(d, k, node, PAWL_HANDLER_DUE, event, &within, err));
  else if (node->task.len && pawl_json_get(node->task, "due", &value))
    (void)pawl_json_int(value, &within);
  if (node->has_timeout)
    MUST(ask_again(d, k, node, PAWL_HANDLER_TIMEOUT, event, &limit, err));
  if (node->has_due) pawl_detail_set(t, PAWL_DETAIL_within, within);
  if (node->has_timeout) pawl_detail_set(t, PAWL_DETAIL_limit, limit);
  pawl_detail_set(t, PAWL_DETAIL_begun, from_us);
  if (within >= 0)
    set_due(d, k, pawl_time_after(from_us, within));
  else if (node->has_due)
    set_due(d, k, 0);
  *due_us = task_look(t, node, from_us, pawl_detail_of(t)->due);
  return PAWL_OK;
}

/* Its times are its own: the one that comes next moves. */
static void wake(pawl_token *t, const pawl_node *node, int64_t at) {
  if (t->due_us == pawl_detail_of(t)->due)
    pawl_detail_set(t, PAWL_DETAIL_due, at);
  else
    pawl_detail_set(t, PAWL_DETAIL_begun, at - pawl_token_limit(t, node));
}

/* It stays, with its form, under the node's new name. */
static void transfer(pawl_decision *d, int k, const pawl_node *was,
                     const pawl_node *is) {
  pawl_token *t = pawl_tok(d, k);

  if (pawl_limit_transfer(t, was, is)) {
    t->due_us =
        task_look(t, is, pawl_detail_of(t)->begun, pawl_detail_of(t)->due);
    t->changed = 1;
  }
  pawl_reschedule_transfer(d, k, was, is);
  pawl_effect *f = pawl_plan_effect(&d->plan, PAWL_EFFECT_TASK_RENAME, t->no);
  f->n = t->visit;
  f->node = t->node; /* it outlives the graph */
}

const pawl_kind_rules pawl_kind_task = {.enter = enter,
                                        .stop = stop,
                                        .letter = "task",
                                        .take = take,
                                        .time_out = time_out,
                                        .shift = shift,
                                        .wake = wake,
                                        .move = move,
                                        .transfer = transfer,
                                        .gives = 1};
