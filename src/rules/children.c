/* Children: instances that another starts, and what the two say to each
 * other, as messages. */
#include <string.h>

#include "../value/json.h"
#include "machine.h"
#include "stored.h"

pawl_effect *pawl_message(pawl_decision *d, int32_t token, const char *kind,
                          const pawl_id *to, pawl_object *content) {
  pawl_effect *f = pawl_plan_effect(&d->plan, PAWL_EFFECT_MESSAGE, token);

  f->has_id = to != NULL;
  if (to) f->id = *to;
  pawl_buf_addz(&f->name, kind);
  pawl_object_begin(content, &f->data);
  d->plan.state.sent++;
  return f;
}

/* ---- started ---- */

/* The part of a "start" message that says who asked, and what becomes of it:
 * its place in its parent, as the child's row has it. A token that waits for it
 * is named; the index is of an each's item. */
static void add_place(const pawl_decision *d, pawl_object *o, int leave,
                      const pawl_token *t, const char *node, int64_t index) {
  const int64_t ancestors = pawl_ancestors_below(d);
  pawl_object place;

  pawl_member_object(o, "place", &place);
  pawl_member_textz(&place, "node", node);
  if (t->no) pawl_member_int(&place, "token", t->no);
  pawl_member_int(&place, "visit", t->visit);
  if (index >= 0) pawl_member_int(&place, "index", index);
  pawl_member_textz(&place, "end", leave ? "leave" : "cancel");
  if (ancestors) pawl_member_int(&place, "ancestors", ancestors);
  pawl_object_end(&place);
}

static pawl_code wrong_option(pawl_decision *d, const pawl_node *node,
                              const char *option, const char *want,
                              pawl_error *err) {
  d->result->no_retry = 1;
  return pawl_fail(err, PAWL_SCRIPT, "%s \"%s\": `%s` must return %s",
                   pawl_kind_name(node->kind), node->name, option, want);
}

#define GROUP_RULE "a name of 1 to 255 bytes, none of them zero, or nothing"
#define PRIORITY_RULE "a whole number from -32768 to 32767, or nothing"

static pawl_code add_group(pawl_decision *d, int k, const pawl_node *node,
                           pawl_object *o, pawl_error *err) {
  pawl_buf text = {.alloc = d->alloc};
  const pawl_buf *said = &d->result->output;

  if (node->group) pawl_member_textz(o, "group", node->group);
  if (!node->has_group) return PAWL_OK;
  MUST(pawl_run_handler(d, k, node, PAWL_HANDLER_GROUP, err));
  if (!d->result->has_output) return PAWL_OK;
  if (pawl_json_kind_of(pawl_buf_str(said)) != PAWL_JSON_STRING)
    return wrong_option(d, node, "group", GROUP_RULE, err);
  pawl_json_unquote(pawl_buf_str(said), &text);
  const int fits = text.len > 0 && text.len <= PAWL_MAX_GROUP &&
                   !memchr(text.at, 0, text.len);
  pawl_code rc = pawl_buf_check(&text, err);
  pawl_buf_deinit(&text);
  if (rc == PAWL_OK && !fits)
    rc = wrong_option(d, node, "group", GROUP_RULE, err);
  if (rc == PAWL_OK) pawl_member_json(o, "group", pawl_buf_str(said));
  return rc;
}

static pawl_code add_priority(pawl_decision *d, int k, const pawl_node *node,
                              pawl_object *o, pawl_error *err) {
  int64_t n = node->priority;

  if (node->has_priority) {
    MUST(pawl_run_handler(d, k, node, PAWL_HANDLER_PRIORITY, err));
    if (d->result->has_output &&
        (!pawl_json_int(pawl_buf_str(&d->result->output), &n) ||
         n < INT16_MIN || n > INT16_MAX))
      return wrong_option(d, node, "priority", PRIORITY_RULE, err);
  }
  if (n) pawl_member_int(o, "priority", n);
  return PAWL_OK;
}

pawl_code pawl_child_options(pawl_decision *d, int k, const pawl_node *node,
                             pawl_buf *out, pawl_error *err) {
  pawl_object o;

  if (!node->group && !node->has_group && !node->priority &&
      !node->has_priority)
    return PAWL_OK;
  pawl_object_begin(&o, out);
  MUST(add_group(d, k, node, &o, err));
  MUST(add_priority(d, k, node, &o, err));
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}

void pawl_child_send(pawl_decision *d, int k, const pawl_node *node,
                     const pawl_id *id, pawl_str input, pawl_str options,
                     int64_t index) {
  pawl_object o;

  (void)pawl_message(d, pawl_tok(d, k)->no, "start", id, &o);
  pawl_member_textz(&o, "workflow", node->workflow);
  if (node->version) pawl_member_int(&o, "version", node->version);
  pawl_member_json(&o, "input", input.len ? input : pawl_strz("{}"));
  pawl_member_json(&o, "options", options.len ? options : pawl_strz("{}"));
  pawl_member_bool(&o, "track", 1);
  add_place(d, &o, node->parent_end_leave, pawl_tok(d, k), node->name, index);
  pawl_object_end(&o);
  d->plan.state.children++;
}

/* {"track":false,"parent_end":"leave",...}: what is not for the child itself
 * is taken out. */
static void split_options(pawl_str options, pawl_buf *out, int *track,
                          int *leave) {
  pawl_str value;
  pawl_buf_adds(out, options.len ? options : pawl_strz("{}"));
  *track = 1;
  *leave = 0;
  if (!options.len) return;
  if (pawl_json_get(options, "track", &value))
    *track = pawl_json_kind_of(value) != PAWL_JSON_FALSE;
  if (pawl_json_get(options, "parent_end", &value))
    *leave = pawl_str_eqz(value, "\"leave\"");
  pawl_object_set(out, "track", (pawl_str){NULL, 0});
  pawl_object_set(out, "parent_end", (pawl_str){NULL, 0});
  if (!out->len) pawl_buf_addz(out, "{}");
}

static void take_start(pawl_decision *d, pawl_str start) {
  pawl_str id = {0}, workflow = {0}, input = {0}, options = {0};
  pawl_buf rest = {.alloc = d->alloc};
  int track, leave;
  pawl_object o;
  pawl_token none = {0};

  (void)pawl_json_get(start, "id", &id);
  (void)pawl_json_get(start, "workflow", &workflow);
  (void)pawl_json_get(start, "input", &input);
  (void)pawl_json_get(start, "options", &options);
  split_options(options, &rest, &track, &leave);
  pawl_effect *f = pawl_message(d, 0, "start", NULL, &o);
  f->has_id = id.len == 38 && pawl_id_parse(id.at + 1, 36, &f->id);
  pawl_member_json(&o, "workflow", workflow);
  pawl_member_json(&o, "input", input.len ? input : pawl_strz("{}"));
  pawl_member_json(&o, "options", pawl_buf_str(&rest));
  pawl_member_bool(&o, "track", track);
  none.visit = d->plan.state.visit;
  add_place(d, &o, leave, &none, d->plan.state.node ? d->plan.state.node : "",
            -1);
  pawl_object_end(&o);
  d->plan.state.children += track;
  pawl_buf_deinit(&rest);
}

void pawl_take_starts(pawl_decision *d, pawl_str starts) {
  for (pawl_json_iter it = {0}; starts.len && pawl_json_walk(starts, &it);)
    take_start(d, it.value);
}

/* ---- told that it has ended ---- */

/* Its parent is told, if that waits for it. */
void pawl_parent_tell(pawl_decision *d, pawl_standing status) {
  const pawl_plan *p = &d->plan;
  pawl_str place = pawl_buf_str(&d->parent_place), value;
  pawl_object o;

  if (!d->has_parent || !pawl_json_get(place, "token", &value)) return;
  (void)pawl_message(d, 0, "result", &d->parent, &o);
  pawl_member_textz(&o, "child", d->id_text);
  pawl_member_textz(&o, "status", pawl_status_name(status));
  pawl_place_tell(place, &o);
  pawl_member_json(&o, "output", pawl_buf_str(&p->state.output));
  if (p->error.len) pawl_member_json(&o, "error", pawl_buf_str(&p->error));
  pawl_object_end(&o);
}

/* Who cancelled it, and why, holds for its children too. */
static void add_cause(pawl_object *o, pawl_str cause, const char *reason) {
  static const char *const names[] = {"by", "event_id", "compensate",
                                      "killed"};
  pawl_str value;

  if (pawl_json_kind_of(cause) != PAWL_JSON_OBJECT) cause.len = 0;
  if (pawl_json_get(cause, "reason", &value) &&
      pawl_json_kind_of(value) == PAWL_JSON_STRING)
    pawl_member_json(o, "reason", value);
  else
    pawl_member_textz(o, "reason", reason);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (pawl_json_get(cause, names[i], &value))
      pawl_member_json(o, names[i], value);
}

static void send_end(pawl_decision *d, int32_t token, pawl_str cause,
                     const char *reason) {
  pawl_object o;

  (void)pawl_message(d, token, "end_children", &d->id, &o);
  if (token) pawl_member_int(&o, "token", token);
  add_cause(&o, cause, reason);
  pawl_object_end(&o);
}

void pawl_children_unwanted(pawl_decision *d, int32_t token) {
  send_end(d, token, pawl_buf_str(&d->plan.state.cancellation),
           "no longer wanted by its parent");
}

void pawl_children_end(pawl_decision *d, pawl_standing status) {
  const pawl_plan *p = &d->plan;
  pawl_str cause = pawl_buf_str(&p->state.cancellation);
  if (!p->state.children) return;
  if (status != PAWL_STATUS_CANCELLED) cause.len = 0;
  send_end(d, 0, cause, "its parent has ended");
}

/* ---- what a child says ---- */

void pawl_child_text(pawl_decision *d, pawl_str object, const char *name,
                     char *to, size_t size) {
  pawl_buf text = {.alloc = d->plan.alloc};

  (void)pawl_json_get_text(object, name, &text);
  pawl_str_copy(to, size, pawl_buf_str(&text));
  if (text.failed) d->plan.failed = 1;
  pawl_buf_deinit(&text);
}

/* One of ours, which says nothing to the parent's routes; but that a value is
 * not what it was declared to be is the caller's to catch. */
static int is_own_code(const char *text) {
  for (int code = 0; code < PAWL_NCODES; code++)
    if (code != PAWL_VALUE && !strcmp(text, pawl_code_name((pawl_code)code)))
      return 1;
  return 0;
}

void pawl_child_error(pawl_decision *d, pawl_str data, const char *status,
                      pawl_error *err) {
  pawl_str error = {0};
  pawl_buf text = {.alloc = d->plan.alloc}, message = text;

  (void)pawl_json_get(data, "error", &error);
  (void)pawl_json_get_text(error, "message", &message);
  pawl_buf_addf(&text, "the child %s%s",
                !strcmp(status, "cancelled") ? "was cancelled" : "failed",
                message.len ? ": " : "");
  pawl_buf_adds(&text, pawl_buf_str(&message));
  pawl_fail(err, PAWL_SCRIPT, "?");
  pawl_failure_keep(&d->result->message, err->message, sizeof err->message,
                    pawl_buf_str(&text));
  if (text.failed || message.failed) d->plan.failed = 1;
  pawl_buf_deinit(&text);
  pawl_buf_deinit(&message);
  pawl_child_text(d, error, "code", err->raised, sizeof err->raised);
  if (!err->raised[0] || is_own_code(err->raised))
    pawl_copy_text(
        err->raised, sizeof err->raised,
        !strcmp(status, "cancelled") ? "child_cancelled" : "child_failed");
}
