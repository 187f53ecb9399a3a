/* What a definition's on_failure asks for, when an instance of it fails or is
 * suspended by an error: an event into the outbox, a workflow that is started.
 * Both are effects of the plan that fails, and so of the same commit.
 *
 * What is told is JSON that whoever takes it can read without the store. What
 * the rules do not know of an instance, its names and attributes, is added
 * before it is written (engine/work/failure_told.h).
 *
 * Who is started by a failure finds in its input, as `failures`, the codes of
 * the workflows whose failures led to it, the first one first. A failure of its
 * own starts none of those: two that handle each other's failures would not
 * come to an end. */
#include <string.h>

#include "../value/json.h"
#include "machine.h"

static int has_failed(const pawl_decision *d) {
  const pawl_plan *p = &d->plan;

  if (p->stays) return 0;
  if (p->after == PAWL_AFTER_END) return p->state.status == PAWL_STATUS_FAILED;
  return p->broke && p->state.status == PAWL_STATUS_SUSPENDED;
}

int64_t pawl_failed_attempt(const pawl_decision *d) {
  const pawl_plan *p = &d->plan;

  for (int k = p->nrecords - 1; k >= 0; k--)
    if (!strcmp(p->records[k].type, "failed")) return p->records[k].attempt;
  return 0;
}

/* ---- whose failures led here ---- */

static pawl_str chain_of(const pawl_decision *d) {
  pawl_str list = {0};

  if (!pawl_json_get(pawl_buf_str(&d->input), "failures", &list) ||
      pawl_json_kind_of(list) != PAWL_JSON_ARRAY)
    list.len = 0;
  return list;
}

/* Codes have nothing that JSON escapes. */
static int names_code(pawl_str quoted, const char *code) {
  size_t size = strlen(code);

  return quoted.len == size + 2 && quoted.at[0] == '"' &&
         !memcmp(quoted.at + 1, code, size);
}

static int has_led_here(const pawl_decision *d, const char *code) {
  pawl_str chain = chain_of(d);

  for (pawl_json_iter it = {0}; chain.len && pawl_json_walk(chain, &it);)
    if (names_code(it.value, code)) return 1;
  return 0;
}

static void add_chain(const pawl_decision *d, pawl_object *o) {
  pawl_str chain = chain_of(d);
  pawl_object list;

  pawl_member_list(o, "failures", &list);
  for (pawl_json_iter it = {0}; chain.len && pawl_json_walk(chain, &it);) {
    if (pawl_json_kind_of(it.value) != PAWL_JSON_STRING) continue;
    pawl_list_next(&list);
    pawl_buf_adds(list.out, it.value);
  }
  if (!has_led_here(d, d->def->code)) {
    pawl_list_next(&list);
    pawl_json_add_string(list.out, pawl_strz(d->def->code));
  }
  pawl_list_end(&list);
}

/* ---- what is told ---- */

static void write_failure(pawl_decision *d) {
  pawl_plan *p = &d->plan;
  int64_t attempt =
      p->state.undo.status ? p->state.undo.attempt : pawl_failed_attempt(d);
  pawl_object o;

  pawl_buf_clear(&p->failure);
  pawl_object_begin(&o, &p->failure);
  pawl_member_textz(&o, "id", d->id_text);
  pawl_member_textz(&o, "workflow", d->def->code);
  pawl_member_int(&o, "version", d->version);
  pawl_member_textz(&o, "status", pawl_status_name(p->state.status));
  pawl_member_json(&o, "error", pawl_buf_str(&p->error));
  if (p->state.node) pawl_member_textz(&o, "node", p->state.node);
  if (attempt) pawl_member_int(&o, "attempt", attempt);
  pawl_member_int(&o, "commits", d->commits + 1);
  pawl_member_time(&o, "at", pawl_decision_now(d));
  if (d->has_parent) pawl_member_id(&o, "parent", &d->parent);
  add_chain(d, &o);
  pawl_object_end(&o);
}

static void emit(pawl_decision *d, pawl_buf *text) {
  pawl_effect *f = pawl_plan_effect(&d->plan, PAWL_EFFECT_EMIT, 0);

  f->is_failure = 1;
  pawl_buf_addz(&f->name, d->def->failure_emit);
  d->plan.state.sent++;
  pawl_buf_addf(text, "emits \"%s\"", d->def->failure_emit);
}

/* Its id is drawn here, so that one that is sent twice is started once. */
static void start(pawl_decision *d, pawl_buf *text) {
  const char *code = d->def->failure_start;
  pawl_error err;
  pawl_effect *f;

  if (text->len) pawl_buf_addz(text, ", ");
  if (has_led_here(d, code)) {
    pawl_buf_addf(text, "does not start %s, whose own failure led here", code);
    return;
  }
  f = pawl_plan_effect(&d->plan, PAWL_EFFECT_MESSAGE, 0);
  f->is_failure = f->has_id = 1;
  if (pawl_id_make(d->world->ids, pawl_decision_now(d), &f->id, &err) !=
      PAWL_OK)
    d->plan.failed = 1;
  pawl_buf_addz(&f->name, "start");
  pawl_buf_addz(&f->key, code);
  d->plan.state.sent++;
  pawl_buf_addf(text, "starts %s", code);
}

void pawl_failure_tell(pawl_decision *d) {
  pawl_record *r;

  if (!d->def || (!d->def->failure_emit && !d->def->failure_start) ||
      d->plan.tells || !has_failed(d))
    return;
  d->plan.tells = 1;
  write_failure(d);
  r = pawl_instance_record(d, "on_failure");
  if (d->def->failure_emit) emit(d, &r->text);
  if (d->def->failure_start) start(d, &r->text);
  d->plan.nuntaken++; /* told anew, when it is decided otherwise */
}

void pawl_failure_untell(pawl_decision *d) {
  pawl_plan *p = &d->plan;
  pawl_effect last;

  p->tells = p->told = 0;
  for (int i = p->neffects - 1; i >= 0; i--) {
    if (!p->effects[i].is_failure) continue;
    last = p->effects[--p->neffects]; /* slots keep their buffers */
    p->effects[p->neffects] = p->effects[i];
    p->effects[i] = last;
    p->state.sent--;
  }
}
