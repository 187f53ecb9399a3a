/* Rows of history: what they say of whom, and what a node's output does. */

#include <inttypes.h>
#include <stdio.h>

#include "../value/json.h"
#include "machine.h"

pawl_record *pawl_visit_record(pawl_decision *d, int k, const char *type) {
  const pawl_token *t = pawl_tok(d, k);
  pawl_record *r = pawl_plan_record(&d->plan, type, t->node);

  r->token = t->no;
  r->visit = t->visit;
  r->completed_us = pawl_decision_now(d);
  return r;
}

pawl_record *pawl_token_record(pawl_decision *d, int k, const char *type) {
  pawl_token *t = pawl_tok(d, k);
  pawl_record *r = pawl_visit_record(d, k, type);

  r->attempt = t->attempt + 1;
  /* another's clock may have been ahead */
  r->started_us =
      t->entered_us < r->completed_us ? t->entered_us : r->completed_us;
  pawl_buf_adds(&r->previous, pawl_buf_str(&pawl_detail_of(t)->from));
  pawl_detail_drop(t, PAWL_DETAIL_from);
  return r;
}

void pawl_record_leads(pawl_decision *d, int k) {
  char newest[32];

  snprintf(newest, sizeof newest, "[%" PRId64 "]", pawl_record_seq(d));
  pawl_detail_put(pawl_tok(d, k), PAWL_DETAIL_from, pawl_strz(newest));
}

pawl_record *pawl_instance_record(pawl_decision *d, const char *type) {
  pawl_plan *p = &d->plan;
  const pawl_token *t = pawl_tokens_lone(&p->state.tokens);
  pawl_record *r = pawl_plan_record(p, type, p->state.node);
  r->visit = t ? t->visit : p->state.visit;
  r->token = t ? t->no : 0;
  r->completed_us = pawl_decision_now(d);
  return r;
}

void pawl_take_output(pawl_decision *d, const pawl_node *node, pawl_record *r,
                      pawl_str output) {
  if (!output.at) return;
  pawl_buf_set(&r->output, output);
  r->has_output = 1;
  if (node->into) pawl_vars_set(d, node->into, output, &r->changes);
}

/* Rows in front of that of the step which said so, as that is to be the newest
 * when the token goes on: pawl_leave writes the way into it. */
static void take_notes(pawl_decision *d, int k, pawl_str notes) {
  pawl_str value;

  for (pawl_json_iter it = {0}; notes.len && pawl_json_walk(notes, &it);) {
    pawl_record *r = pawl_visit_record(d, k, "note");
    (void)pawl_json_get_text(it.value, "text", &r->text);
    r->has_output = pawl_json_get(it.value, "data", &value);
    if (r->has_output) pawl_buf_adds(&r->output, value);
  }
}

/* Sent when this is stored, perhaps twice: each has an id of its own by which
 * whoever gets it knows it. */
static void take_signals(pawl_decision *d, int k, pawl_str signals) {
  static const char *const names[] = {"name", "key", "instance", "data"};
  pawl_object o;
  pawl_str value;

  for (pawl_json_iter it = {0}; signals.len && pawl_json_walk(signals, &it);) {
    (void)pawl_message(d, pawl_tok(d, k)->no, "signal", &d->id, &o);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
      if (pawl_json_get(it.value, names[i], &value))
        pawl_member_json(&o, names[i], value);
    pawl_member_textz(&o, "source", d->id_text);
    pawl_member(&o, "id");
    pawl_buf_addf(o.out, "\"sent:%" PRId64 "\"", d->plan.state.sent);
    pawl_object_end(&o);
  }
}

/* One of a name in a plan: of values the last, of answers the first. */
static pawl_effect *shown_as(pawl_plan *p, pawl_str name, int answers) {
  for (int i = 0; i < p->neffects; i++) {
    pawl_effect *f = &p->effects[i];
    if (f->kind == PAWL_EFFECT_PUBLISH && f->n == answers &&
        pawl_str_eq(pawl_buf_str(&f->name), name))
      return f;
  }
  return NULL;
}

void pawl_publish(pawl_decision *d, pawl_str name, pawl_str value,
                  int answers) {
  pawl_effect *f = shown_as(&d->plan, name, answers);

  if (f && answers) return;
  if (!f) {
    f = pawl_plan_effect(&d->plan, PAWL_EFFECT_PUBLISH, 0);
    pawl_buf_adds(&f->name, name);
    f->n = answers;
  }
  pawl_buf_set(&f->data, value);
}

static void take_shown(pawl_decision *d, pawl_str list) {
  pawl_buf name = {.alloc = d->alloc};
  pawl_str value, answers;

  for (pawl_json_iter it = {0}; list.len && pawl_json_walk(list, &it);) {
    pawl_buf_clear(&name);
    if (pawl_json_get_text(it.value, "name", &name) &&
        pawl_json_get(it.value, "value", &value))
      pawl_publish(d, pawl_buf_str(&name), value,
                   pawl_json_get(it.value, "answers", &answers));
  }
  if (name.failed) d->plan.failed = 1;
  pawl_buf_deinit(&name);
}

void pawl_take_effects(pawl_decision *d, int k, const pawl_said *r) {
  pawl_plan *p = &d->plan;
  pawl_str value;

  if (r->attrs_changed) pawl_object_merge(&p->attrs, pawl_buf_str(&r->attrs));
  if (r->data_changed) {
    pawl_buf_set(&pawl_tok(d, k)->data, pawl_buf_str(&r->data));
    pawl_tok(d, k)->changed = 1;
  }
  for (pawl_json_iter it = {0};
       r->emits.len && pawl_json_walk(pawl_buf_str(&r->emits), &it);) {
    pawl_effect *f = pawl_plan_effect(p, PAWL_EFFECT_EMIT, 0);
    if (pawl_json_get(it.value, "type", &value))
      pawl_json_unquote(value, &f->name);
    if (pawl_json_get(it.value, "payload", &value))
      pawl_buf_adds(&f->data, value);
    p->state.sent++;
  }
  take_notes(d, k, pawl_buf_str(&r->notes));
  take_signals(d, k, pawl_buf_str(&r->signals));
  take_shown(d, pawl_buf_str(&r->published));
  pawl_take_starts(d, pawl_buf_str(&r->starts));
}

void pawl_take_attrs(pawl_record *r, const pawl_said *result) {
  if (result->attrs_changed)
    pawl_buf_adds(&r->attrs, pawl_buf_str(&result->attrs));
}

/* ---- the trace ---- */

void pawl_trace_verdict(const pawl_decision *d) {
  const pawl_plan *p = &d->plan;
  pawl_decision_trace(d, p->state.node ? p->state.node : "", "instance", 0,
                      p->outcome, p->detail.at ? p->detail.at : "", 0);
}

void pawl_trace_step(pawl_decision *d, const pawl_node *node, int64_t took,
                     int k) {
  const pawl_plan *p = &d->plan;
  int64_t due_us = p->state.tokens.at[k].due_us;

  /* an attempt that the deadline comes before is none */
  if (p->state.deadline_us && due_us >= p->state.deadline_us) due_us = 0;
  pawl_decision_trace(d, node->name, pawl_kind_name(node->kind), took,
                      p->outcome, p->detail.at ? p->detail.at : "", due_us);
}

void pawl_trace_wait(pawl_decision *d, int k, const pawl_node *node) {
  const pawl_plan *p = &d->plan;
  pawl_decision_trace(d, node->name, pawl_kind_name(node->kind), 0, p->outcome,
                      p->detail.at ? p->detail.at : "",
                      pawl_tok_live(d, k) ? pawl_tok(d, k)->due_us : 0);
}
