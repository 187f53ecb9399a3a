/* Names of events, patterns and keys; listening for them. */
#include <assert.h>
#include <string.h>

#include "../value/json.h"
#include "asked.h"
#include "machine.h"

int pawl_event_matches(const char *pattern, pawl_str name) {
  size_t len = strlen(pattern);

  if (!len || pattern[len - 1] != '*') return pawl_str_eqz(name, pattern);
  len--; /* "payment." or nothing: then one more segment */
  if (name.len <= len || memcmp(name.at, pattern, len)) return 0;
  const char *dot = memchr(name.at + len, '.', name.len - len);
  return dot == NULL;
}

int pawl_event_key_text(pawl_str value, pawl_buf *out) {
  switch (pawl_json_kind_of(value)) {
    case PAWL_JSON_STRING:
      pawl_json_unquote(value, out);
      return 1;
    case PAWL_JSON_NULL:
    case PAWL_JSON_ARRAY:
    case PAWL_JSON_OBJECT:
      return 0;
    default:
      pawl_buf_adds(out, value);
      return 1;
  }
}

int pawl_event_key(const pawl_decision *d, pawl_str vars, const char *name,
                   pawl_buf *out) {
  pawl_str value;
  if (!pawl_json_get(vars, name, &value) &&
      !pawl_json_get(pawl_buf_str(&d->input), name, &value))
    return 0;
  return pawl_event_key_text(value, out);
}

int pawl_event_key_is_sound(pawl_str key) {
  return key.len > 0 && key.len <= PAWL_MAX_KEY && !memchr(key.at, 0, key.len);
}

pawl_str pawl_event_id(const pawl_letter *l) {
  pawl_str id = pawl_buf_str(&l->event_id);
  size_t skip = l->source.len + 1; /* both may hold colons */

  if (id.len > skip) {
    id.at += skip;
    id.len -= skip;
  }
  return id;
}

int pawl_event_fits(const pawl_letter *l, pawl_str key) {
  if (!key.at || !l->has_key) return l->addressed || (!key.at && !l->has_key);
  return pawl_str_eq(key, pawl_buf_str(&l->key));
}

/* ---- listening ---- */

/* No event could have it: the wait would never end. */
static pawl_code check_key(const pawl_decision *d, const pawl_node *node,
                           pawl_str key, pawl_error *err) {
  if (pawl_event_key_is_sound(key)) return PAWL_OK;
  d->result->no_retry = 1;
  pawl_fail(err, PAWL_SCRIPT, "%s \"%s\": its key %s",
            pawl_kind_name(node->kind), node->name,
            !key.len                  ? "is empty"
            : key.len <= PAWL_MAX_KEY ? "holds a zero byte"
                                      : "is too long");
  pawl_error_hint(err, "1 to %d bytes, none of them zero, as events have it",
                  PAWL_MAX_KEY);
  return PAWL_SCRIPT;
}

pawl_code pawl_listen_key(pawl_decision *d, const pawl_node *node,
                          const char *name, pawl_buf *key, pawl_error *err) {
  int found = pawl_event_key(d, pawl_vars_now(d), name, key);

  MUST(pawl_buf_check(key, err));
  if (found) return check_key(d, node, pawl_buf_str(key), err);
  d->result->no_retry = 1;
  pawl_fail(err, PAWL_SCRIPT,
            "%s \"%s\": its key \"%s\" is neither a text nor a number in the "
            "variables or the input",
            pawl_kind_name(node->kind), node->name, name);
  pawl_error_hint(err, "set ctx.vars[\"%s\"] before it", name);
  return PAWL_SCRIPT;
}

pawl_code pawl_listen_key_asked(pawl_decision *d, int k, const pawl_node *node,
                                pawl_handler handler, pawl_buf *key,
                                pawl_error *err) {
  MUST(pawl_run_handler(d, k, node, handler, err));
  if (d->result->has_output &&
      pawl_event_key_text(pawl_buf_str(&d->result->output), key)) {
    MUST(pawl_buf_check(key, err));
    return check_key(d, node, pawl_buf_str(key), err);
  }
  d->result->no_retry = 1;
  return pawl_fail(err, PAWL_SCRIPT,
                   "%s \"%s\": `key` returned neither a text nor a number",
                   pawl_kind_name(node->kind), node->name);
}

/* Rule 5: write, commit, then look. */
static void subscribe(pawl_decision *d, const pawl_token *t, pawl_ear ear,
                      const char *event, pawl_str key, int is_alone) {
  pawl_effect *f =
      pawl_plan_effect(&d->plan, PAWL_EFFECT_SUBSCRIBE, pawl_ear_no(t, ear));

  pawl_buf_addz(&f->name, event);
  f->has_key = key.at != NULL;
  pawl_buf_adds(&f->key, key);
  f->n = is_alone;
  f->at_us = t->due_us;
  pawl_look_again(d);
}

void pawl_listen(pawl_decision *d, int k, pawl_ear ear, const char *event,
                 const pawl_buf *key, int is_alone) {
  const pawl_str text = key ? pawl_buf_str(key) : pawl_strz(NULL);
  pawl_token *t = pawl_tok(d, k);

  t->state = PAWL_TOKEN_WAITING;
  t->changed = 1;
  t->blind |= key != NULL || d->plan.passed;
  pawl_detail_put(t, pawl_ear_key(ear), text);
  pawl_asked_clear(t);
  subscribe(d, t, ear, event, text, is_alone);
}

void pawl_listen_free(pawl_decision *d, int k, const pawl_node *node) {
  const pawl_token *t = pawl_tok(d, k);

  assert(t->state == PAWL_TOKEN_WAITING);
  subscribe(d, t, PAWL_EAR_OWN, node->event, pawl_ear_heard(t, PAWL_EAR_OWN),
            1);
}

void pawl_listen_no_more(pawl_decision *d, int k, pawl_ear ear) {
  pawl_detail_drop(pawl_tok(d, k), pawl_ear_key(ear));
  pawl_plan_effect(&d->plan, PAWL_EFFECT_UNSUBSCRIBE,
                   pawl_ear_no(pawl_tok(d, k), ear));
}

pawl_code pawl_reschedule_key(pawl_decision *d, int k, const pawl_node *node,
                              pawl_buf *key, pawl_error *err) {
  if (node->has_mover_key)
    return pawl_listen_key_asked(d, k, node, PAWL_HANDLER_RESCHEDULE, key,
                                 err);
  return node->moved_key ? pawl_listen_key(d, node, node->moved_key, key, err)
                         : PAWL_OK;
}

void pawl_reschedule_listen(pawl_decision *d, int k, const pawl_node *node,
                            const pawl_buf *key) {
  if (node->moved_by)
    pawl_listen(d, k, PAWL_EAR_MOVE, node->moved_by,
                node->moved_key || key->len ? key : NULL, 0);
}

void pawl_reschedule_end(pawl_decision *d, int k) {
  if (pawl_detail_has(pawl_tok(d, k), PAWL_DETAIL_moved))
    pawl_listen_no_more(d, k, PAWL_EAR_MOVE);
}

void pawl_reschedule_transfer(pawl_decision *d, int k, const pawl_node *was,
                              const pawl_node *is) {
  pawl_buf key = {.alloc = d->plan.alloc};

  if (was->has_mover_key && is->has_mover_key)
    pawl_buf_adds(&key, pawl_ear_heard(pawl_tok(d, k), PAWL_EAR_MOVE));
  if (was->moved_by) pawl_listen_no_more(d, k, PAWL_EAR_MOVE);
  if (is->moved_key)
    (void)pawl_event_key(d, pawl_vars_now(d), is->moved_key, &key);
  if (key.failed) d->plan.failed = 1;
  pawl_reschedule_listen(d, k, is, &key);
  pawl_buf_deinit(&key);
}
