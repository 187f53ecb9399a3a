/* Waiting: for events, for people, and for a time to come. */
#include <inttypes.h>
#include <stdlib.h>

#include "../../value/json.h"
#include "../asked.h"
#include "../machine.h"
#include "../order.h"

/* ---- names, patterns, keys ---- */

int pawl_event_matches(const char *pattern, pawl_str name) {
  size_t len = strlen(pattern);
  const char *dot;

  if (!len || pattern[len - 1] != '*') return pawl_str_eqz(name, pattern);
  len--; /* "payment." or nothing: then one more segment */
  if (name.len <= len || memcmp(name.at, pattern, len)) return 0;
  dot = memchr(name.at + len, '.', name.len - len);
  return dot == NULL;
}

/* Strings as they are; numbers and booleans as they print. 0: neither. */
static int key_text(pawl_str value, pawl_buf *out) {
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

/* A member by its name, whatever it is escaped like. */
static int find_member(pawl_str object, const char *name, pawl_str *value,
                       pawl_buf *out) {
  pawl_json_iter it = {0};
  pawl_buf quoted = {.alloc = out->alloc};
  pawl_str key;
  int found = 0;

  if (pawl_json_kind_of(object) != PAWL_JSON_OBJECT) return 0;
  pawl_json_add_string(&quoted, pawl_strz(name));
  while (!quoted.failed && !found &&
         pawl_json_each(object, &it, &key, value)) {
    pawl_str wanted = {quoted.at + 1, quoted.len - 2};
    found = pawl_str_eq(key, wanted);
  }
  if (quoted.failed) out->failed = 1;
  pawl_buf_deinit(&quoted);
  return found;
}

int pawl_event_key(const pawl_held *h, pawl_str vars, const char *name,
                   pawl_buf *out) {
  pawl_str value;
  if (!find_member(vars, name, &value, out) &&
      !(h->input.len &&
        find_member(pawl_buf_str(&h->input), name, &value, out)))
    return out->failed;
  return key_text(value, out);
}

int pawl_event_key_is_sound(pawl_str key) {
  return key.len > 0 && key.len <= PAWL_MAX_KEY && !memchr(key.at, 0, key.len);
}

int pawl_event_fits(const pawl_letter *l, pawl_str key) {
  if (!key.at || !l->has_key) return l->addressed || (!key.at && !l->has_key);
  return pawl_str_eq(key, pawl_buf_str(&l->key));
}

/* ---- how long ---- */

int64_t pawl_wait_began(const pawl_token *t, int64_t limit_us, int64_t now) {
  int64_t begun = pawl_detail_int(t, "begun");
  if (begun) return begun;
  return limit_us >= 0 && t->due_us ? t->due_us - limit_us : now;
}

void pawl_wait_until(pawl_token *t, int64_t began_us, int64_t limit_us) {
  pawl_str none = {0};
  t->due_us = limit_us >= 0 ? pawl_time_after(began_us, limit_us) : 0;
  t->changed = 1;
  if (limit_us >= 0)
    pawl_detail_set(t, "begun", none);
  else
    pawl_detail_set_int(t, "begun", began_us);
}

/* For the trace: what ended a token's wait, and the way on. */
static void trace_end(pawl_engine *e, pawl_held *h, int k,
                      const pawl_node *node) {
  const pawl_plan *p = &h->plan;
  pawl_engine_trace(e, h, node->name, pawl_kind_name(node->kind), 0,
                    p->outcome, p->detail.at ? p->detail.at : "",
                    pawl_tok_live(h, k) ? pawl_tok(h, k)->due_us : 0);
}

/* ---- waits ---- */

/* No event could have it: the wait would never end. */
static pawl_code check_key(pawl_engine *e, const pawl_node *node, pawl_str key,
                           pawl_error *err) {
  if (pawl_event_key_is_sound(key)) return PAWL_OK;
  e->result.no_retry = 1;
  pawl_fail(err, PAWL_SCRIPT, "wait \"%s\": its key %s", node->name,
            !key.len                  ? "is empty"
            : key.len <= PAWL_MAX_KEY ? "holds a zero byte"
                                      : "is too long");
  pawl_error_hint(err, "1 to %d bytes, none of them zero, as events have it",
                  PAWL_MAX_KEY);
  return PAWL_SCRIPT;
}

/* The key this wait asks for, as text. *has 0: it has none. */
static pawl_code wait_key(pawl_engine *e, pawl_held *h, int k,
                          const pawl_node *node, pawl_buf *key, int *has,
                          pawl_error *err) {
  pawl_str none = {0};
  pawl_code rc = PAWL_OK;

  *has = node->has_key || node->key;
  if (!*has) return PAWL_OK;
  if (node->key) {
    int found = pawl_event_key(h, pawl_vars_now(h), node->key, key);
    TRY(pawl_buf_check(key, err));
    if (found) return check_key(e, node, pawl_buf_str(key), err);
    e->result.no_retry = 1;
    pawl_fail(err, PAWL_SCRIPT,
              "wait \"%s\": its key \"%s\" is neither a text nor a number in "
              "the variables or the input",
              node->name, node->key);
    pawl_error_hint(err, "set ctx.vars[\"%s\"] before it", node->key);
    return PAWL_SCRIPT;
  }
  TRY(pawl_run_handler(e, h, k, node, PAWL_HANDLER_KEY, none, none, err));
  if (e->result.has_output && key_text(pawl_buf_str(&e->result.output), key))
    return check_key(e, node, pawl_buf_str(key), err);
  e->result.no_retry = 1;
  rc = pawl_fail(err, PAWL_SCRIPT,
                 "wait \"%s\": `key` returned neither a text nor a number",
                 node->name);
out:
  return rc;
}

/* The token, whose time is set, listens from now on; `key` NULL: for any. */
static void subscribe(pawl_held *h, int k, const pawl_node *node,
                      const pawl_buf *key) {
  pawl_token *t = pawl_tok(h, k);
  pawl_buf quoted = {.alloc = h->plan.alloc};
  pawl_effect *f;

  if (key)
    pawl_json_add_string(&quoted, pawl_buf_str(key));
  else
    pawl_buf_addz(&quoted, "null");
  t->state = PAWL_TOKEN_WAITING;
  t->changed = 1;
  t->blind = key != NULL;
  pawl_detail_set(t, "key", pawl_buf_str(&quoted));
  pawl_asked_clear(t);
  f = pawl_plan_effect(&h->plan, PAWL_EFFECT_SUBSCRIBE, t->no);
  pawl_buf_addz(&f->name, node->event);
  f->has_key = key != NULL;
  if (key) pawl_buf_adds(&f->key, pawl_buf_str(key));
  f->at_us = t->due_us;
  h->look = h->look ? h->look : 1; /* rule 5: write, commit, then look */
  pawl_buf_deinit(&quoted);
}

pawl_code pawl_wait_begin(pawl_engine *e, pawl_held *h, int k,
                          const pawl_node *node, pawl_error *err) {
  pawl_buf key = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;
  int64_t since;
  pawl_token *t;
  int has;

  TRY(wait_key(e, h, k, node, &key, &has, err));
  TRY(pawl_buf_check(&key, err));
  t = pawl_tok(h, k);
  since = pawl_detail_int(t, "since"); /* it waited in another version */
  pawl_detail_set(t, "since", (pawl_str){NULL, 0});
  pawl_wait_until(t, since ? since : pawl_engine_now(e), node->limit_us);
  subscribe(h, k, node, has ? &key : NULL);
out:
  pawl_buf_deinit(&key);
  return rc;
}

void pawl_wait_renew(pawl_held *h, int k, const pawl_node *node,
                     int64_t began_us) {
  pawl_buf key = {.alloc = h->plan.alloc};
  pawl_token *t = pawl_tok(h, k);

  if (!node->has_key) {
    if (node->key) (void)pawl_event_key(h, pawl_vars_now(h), node->key, &key);
    if (key.failed) h->plan.failed = 1;
    subscribe(h, k, node, node->key ? &key : NULL);
  } else {
    t->state = PAWL_TOKEN_ACTIVE;
    t->due_us = 0;
    t->changed = 1;
    pawl_detail_set_int(t, "since", began_us);
    pawl_plan_effect(&h->plan, PAWL_EFFECT_UNSUBSCRIBE, t->no);
  }
  pawl_buf_deinit(&key);
}

/* {"name","key","id","source","data","received_at"}, as handlers see it; the
 * time in seconds, as ctx.now() tells it. */
static void event_json(const pawl_letter *l, pawl_buf *out) {
  pawl_buf_addz(out, "{\"name\":");
  pawl_json_add_string(out, pawl_buf_str(&l->name));
  if (l->has_key) {
    pawl_buf_addz(out, ",\"key\":");
    pawl_json_add_string(out, pawl_buf_str(&l->key));
  }
  pawl_buf_addz(out, ",\"id\":");
  pawl_str id = pawl_buf_str(&l->event_id);
  size_t skip = l->source.len + 1; /* "source:id"; both may hold colons */
  if (id.len > skip) {
    id.at += skip;
    id.len -= skip;
  }
  pawl_json_add_string(out, id);
  pawl_buf_addz(out, ",\"source\":");
  pawl_json_add_string(out, pawl_buf_str(&l->source));
  pawl_buf_addz(out, ",\"data\":");
  pawl_buf_addz(out, l->data.len ? l->data.at : "null");
  pawl_buf_addz(out, ",\"received_at\":");
  pawl_json_add_float(out, (double)l->received_us / 1e6);
  pawl_buf_addc(out, '}');
}

static int key_fits(const pawl_token *t, const pawl_letter *l) {
  pawl_buf key = {.alloc = t->detail.alloc};
  pawl_str wanted, none = {NULL, 0};
  int fits;

  if (!pawl_detail_get(t, "key", &wanted) ||
      pawl_json_kind_of(wanted) != PAWL_JSON_STRING)
    return pawl_event_fits(l, none);
  pawl_json_unquote(wanted, &key);
  fits = pawl_event_fits(l, pawl_buf_str(&key));
  pawl_buf_deinit(&key);
  return fits;
}

/* Does the wait's own `match` want it? An error in it leaves the event and is
 * recorded. */
static int asks_match(pawl_engine *e, pawl_held *h, int k,
                      const pawl_node *node, const pawl_letter *l,
                      pawl_str event) {
  pawl_str none = {0};
  pawl_error err = {0};
  pawl_record *r;

  if (!node->has_match) return 1;
  if (pawl_run_handler(e, h, k, node, PAWL_HANDLER_MATCH, event, none, &err) ==
      PAWL_OK) {
    if (e->result.truth) return 1;
  } else {
    r = pawl_token_record(e, h, k, "refused");
    pawl_buf_addf(&r->text, "`match` failed for event \"%s\"",
                  l->name.len ? l->name.at : "");
    pawl_plan_error(&r->error, &err, none);
  }
  pawl_asked_add(pawl_tok(h, k), pawl_buf_str(&l->event_id));
  return 0;
}

static void receive(pawl_engine *e, pawl_held *h, int k, const pawl_node *node,
                    const pawl_letter *l, pawl_str event) {
  pawl_token *t = pawl_tok(h, k);
  pawl_str data = l->data.len ? pawl_buf_str(&l->data) : pawl_strz("null");
  int to = pawl_node_next(node, "", 0);
  pawl_error err = {0};
  pawl_record *r;

  if (pawl_output_fits(e, h, node, data, &err) != PAWL_OK) {
    pawl_fail_token(e, h, k, &err, 0);
    return;
  }
  r = pawl_token_record(e, h, k, "received");
  if (to < 0) to = pawl_node_next(node, "received", 8);
  pawl_buf_adds(&r->text, pawl_buf_str(&l->name));
  pawl_buf_adds(&r->caller, pawl_buf_str(&l->caller));
  if (node->nnext > 1) pawl_buf_addz(&r->transition, "received");
  r->due_us = t->due_us;
  pawl_take_output(h, node, r, data);
  pawl_stop_waiting(h, k, NULL);
  t = pawl_tok(h, k);
  pawl_buf_clear(&t->event);
  pawl_buf_adds(&t->event, event);
  pawl_detail_set(t, "key", (pawl_str){NULL, 0});
  pawl_asked_clear(t);
  h->plan.outcome = "received";
  pawl_order_note(h, k, l->received_us);
  pawl_leave(e, h, k, to);
  trace_end(e, h, k, node);
}

/* What a look has found for it is news, once: to know this of every other one
 * its list is searched. */
static int was_asked(const pawl_token *t, pawl_letter *l) {
  int is_news = l->news_for == t->no;
  if (is_news) l->news_for = 0;
  return !is_news && pawl_asked_has(t, pawl_buf_str(&l->event_id));
}

/* A wait for a key takes nothing before somebody has looked for what is kept
 * for it, which may be older. */
int pawl_event_give(pawl_engine *e, pawl_held *h, pawl_letter *l) {
  pawl_buf event = {.alloc = &e->alloc};
  int n = h->plan.tokens.n, taken = 0;

  event_json(l, &event);
  for (int k = 0; k < n; k++) {
    const pawl_token *t = pawl_tok(h, k);
    const pawl_node *node;
    if (t->state != PAWL_TOKEN_WAITING || t->blind) continue;
    node = pawl_tok_node(h, k);
    if (!node || node->kind != PAWL_KIND_WAIT ||
        !pawl_event_matches(node->event, pawl_buf_str(&l->name)) ||
        (t->due_us && l->received_us > t->due_us) || !key_fits(t, l) ||
        was_asked(t, l) || !asks_match(e, h, k, node, l, pawl_buf_str(&event)))
      continue;
    receive(e, h, k, node, l, pawl_buf_str(&event));
    taken = 1;
    if (h->plan.after == PAWL_AFTER_END || pawl_is_undoing(h)) break;
  }
  if (event.failed) h->plan.failed = 1;
  pawl_buf_deinit(&event);
  return taken;
}

/* ---- tasks ---- */

/* What the definition says of the task, with what `prepare` says instead. */
static void merge_task(const pawl_node *node, pawl_str own, pawl_buf *out) {
  pawl_json_iter it = {0};
  pawl_str key, value;

  pawl_buf_adds(out, node->task.len ? node->task : pawl_strz("{}"));
  if (!own.len) return;
  while (pawl_json_each(own, &it, &key, &value)) {
    char name[64];
    pawl_str_copy(name, sizeof name, key);
    pawl_object_set(out, name, value);
  }
}

static pawl_code check_task(pawl_engine *e, const pawl_node *node,
                            pawl_str task, pawl_error *err) {
  static const char *const priorities[] = {"low", "normal", "high", "urgent"};
  pawl_buf text = {.alloc = &e->alloc};
  pawl_str value;
  int ok = 0;
  pawl_code rc;

  if (!pawl_json_get(task, "title", &value) ||
      pawl_json_kind_of(value) != PAWL_JSON_STRING || value.len == 2)
    return pawl_fail(err, PAWL_SCRIPT, "task \"%s\" has no title", node->name);
  if (!pawl_json_get(task, "priority", &value)) return PAWL_OK;
  if (pawl_json_kind_of(value) == PAWL_JSON_STRING)
    pawl_json_unquote(value, &text);
  for (size_t i = 0; i < 4; i++)
    ok |= pawl_str_eqz(pawl_buf_str(&text), priorities[i]);
  rc = pawl_buf_check(&text, err);
  pawl_buf_deinit(&text);
  if (ok || rc != PAWL_OK) return rc;
  pawl_fail(err, PAWL_SCRIPT, "task \"%s\": priority is %.*s", node->name,
            (int)(value.len < 60 ? value.len : 60), value.at);
  pawl_error_hint(err, "low, normal, high or urgent");
  return PAWL_SCRIPT;
}

/* When the token must be looked at: overdue, once, or timed out. */
static int64_t task_look(const pawl_token *t, const pawl_node *node,
                         int64_t begun_us, int64_t due_us) {
  int64_t limit =
      node->limit_us >= 0 ? pawl_time_after(begun_us, node->limit_us) : 0;
  if (pawl_detail_int(t, "late") || !due_us) return limit;
  return limit && limit < due_us ? limit : due_us;
}

void pawl_task_look(pawl_token *t, const pawl_node *node) {
  t->due_us = task_look(t, node, pawl_detail_int(t, "begun"),
                        pawl_detail_int(t, "due"));
  t->changed = 1;
}

pawl_code pawl_task_begin(pawl_engine *e, pawl_held *h, int k,
                          const pawl_node *node, pawl_error *err) {
  pawl_buf task = {.alloc = &e->alloc};
  pawl_str none = {0}, value, own = {0};
  int64_t now = pawl_engine_now(e), due = 0;
  pawl_code rc = PAWL_OK;
  pawl_effect *f;
  pawl_token *t;
  pawl_id id;

  if (node->has_prepare) {
    TRY(pawl_run_handler(e, h, k, node, PAWL_HANDLER_PREPARE, none, none,
                         err));
    if (e->result.has_output) own = pawl_buf_str(&e->result.output);
    if (own.len && pawl_json_kind_of(own) != PAWL_JSON_OBJECT) own.len = 0;
  }
  merge_task(node, own, &task);
  TRY(pawl_buf_check(&task, err));
  rc = check_task(e, node, pawl_buf_str(&task), err);
  e->result.no_retry = rc == PAWL_SCRIPT;
  TRY(rc);
  TRY(pawl_id_make_routed(&e->ids, now, pawl_id_route(&h->id), &id, err));
  if (pawl_json_get(pawl_buf_str(&task), "due", &value) &&
      pawl_json_int(value, &due))
    due = pawl_time_after(now, due);
  t = pawl_tok(h, k);
  t->state = PAWL_TOKEN_WAITING;
  t->changed = 1;
  pawl_detail_set(t, "late", (pawl_str){NULL, 0});
  pawl_detail_set_int(t, "begun", now);
  if (due) pawl_detail_set_int(t, "due", due);
  t->due_us = task_look(t, node, now, due);
  f = pawl_plan_effect(&h->plan, PAWL_EFFECT_TASK, t->no);
  f->id = id;
  f->has_id = 1;
  f->node = node->name;
  f->n = t->visit;
  f->at_us = due;
  pawl_buf_adds(&f->data, pawl_buf_str(&task));
out:
  pawl_buf_deinit(&task);
  return rc;
}

/* The token that a letter speaks of, if it still stands there. */
static int find_waiting(pawl_held *h, pawl_str data) {
  pawl_str value;
  int64_t no = 0, visit = 0;
  if (pawl_json_get(data, "token", &value)) (void)pawl_json_int(value, &no);
  if (pawl_json_get(data, "visit", &value)) (void)pawl_json_int(value, &visit);
  for (int k = 0; k < h->plan.tokens.n; k++)
    if (pawl_tok(h, k)->no == no && pawl_tok(h, k)->visit == visit &&
        pawl_tok(h, k)->state == PAWL_TOKEN_WAITING)
      return k;
  return -1;
}

static int letter_says(pawl_held *h, pawl_str data, const char *name,
                       const char *text) {
  pawl_buf b = {.alloc = h->plan.alloc};
  pawl_str value;
  int same = 0;
  if (pawl_json_get(data, name, &value) &&
      pawl_json_kind_of(value) == PAWL_JSON_STRING) {
    pawl_json_unquote(value, &b);
    same = pawl_str_eqz(pawl_buf_str(&b), text);
    if (b.failed) h->plan.failed = 1;
  }
  pawl_buf_deinit(&b);
  return same;
}

/* Whose task it was, where somebody else has dealt with it. */
static void note_override(pawl_str data, pawl_record *r) {
  pawl_buf who = {.alloc = r->text.alloc};
  pawl_str value;

  if (!pawl_json_get(data, "instead_of", &value) ||
      pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return;
  pawl_json_unquote(value, &who);
  pawl_buf_addz(&r->text, r->text.len ? "; instead of " : "instead of ");
  pawl_buf_adds(&r->text, pawl_buf_str(&who));
  pawl_buf_deinit(&who);
}

static void clear_task(pawl_token *t) {
  pawl_str none = {0};
  pawl_detail_set(t, "late", none);
  pawl_detail_set(t, "begun", none);
  pawl_detail_set(t, "due", none);
}

/* A person could not do it: a way for that, the error's own, or it stays and
 * may be tried again. */
static void task_failed(pawl_engine *e, pawl_held *h, int k,
                        const pawl_node *node, const pawl_letter *l) {
  pawl_str data = pawl_buf_str(&l->data), error = {0}, value;
  pawl_buf text = {.alloc = &e->alloc};
  pawl_error why = {0};
  pawl_record *r;
  int to = pawl_node_next(node, "failed", 6);

  pawl_fail(&why, PAWL_SCRIPT, "the task failed");
  if (pawl_json_get(data, "error", &error) &&
      pawl_json_get(error, "message", &value) &&
      pawl_json_kind_of(value) == PAWL_JSON_STRING) {
    pawl_json_unquote(value, &text);
    pawl_copy_message(why.message, sizeof why.message, text.at ? text.at : "");
  }
  pawl_buf_clear(&text);
  if (error.at && pawl_json_get(error, "code", &value) &&
      pawl_json_kind_of(value) == PAWL_JSON_STRING) {
    pawl_json_unquote(value, &text);
    pawl_copy_text(why.reason, sizeof why.reason, text.at ? text.at : "");
  }
  pawl_buf_deinit(&text);
  if (to >= 0) {
    r = pawl_token_record(e, h, k, "failed");
    pawl_buf_addz(&r->transition, "failed");
    pawl_buf_adds(&r->caller, pawl_buf_str(&l->caller));
    note_override(data, r);
    pawl_plan_error(&r->error, &why, (pawl_str){NULL, 0});
    clear_task(pawl_tok(h, k));
    pawl_leave(e, h, k, to);
  } else if (pawl_node_on_error(node, why.reason[0] ? why.reason : "script") >=
             0) {
    e->result.no_retry = 1;
    clear_task(pawl_tok(h, k));
    pawl_fail_token(e, h, k, &why, 0);
  } else { /* S3.80: a failed task may still be tried again */
    r = pawl_token_record(e, h, k, "failed");
    pawl_buf_addz(&r->text, "the task may be tried again");
    note_override(data, r);
    pawl_buf_adds(&r->caller, pawl_buf_str(&l->caller));
    pawl_plan_error(&r->error, &why, (pawl_str){NULL, 0});
  }
}

/* S3.47: completing it raises an event. */
static void raise_signal(pawl_held *h, const pawl_node *node, int k,
                         pawl_str output) {
  pawl_effect *f;
  pawl_str signal;

  if (!node->task.len || !pawl_json_get(node->task, "signal", &signal)) return;
  f = pawl_plan_effect(&h->plan, PAWL_EFFECT_MESSAGE, pawl_tok(h, k)->no);
  f->id = h->id;
  f->has_id = 1;
  pawl_buf_addz(&f->name, "signal");
  pawl_buf_addz(&f->data, "{\"name\":");
  pawl_buf_adds(&f->data, signal);
  pawl_buf_addf(&f->data, ",\"source\":\"%s\",\"id\":\"task:%" PRId64 "\"",
                h->id_text, pawl_tok(h, k)->visit);
  pawl_buf_addz(&f->data, ",\"data\":");
  pawl_buf_adds(&f->data, output.at ? output : pawl_strz("null"));
  pawl_buf_addc(&f->data, '}');
  h->plan.sent++;
  h->plan.more = 1;
}

void pawl_task_done(pawl_engine *e, pawl_held *h, const pawl_letter *l) {
  pawl_str data = pawl_buf_str(&l->data), output = {0}, value;
  pawl_buf name = {.alloc = &e->alloc};
  int k = find_waiting(h, data), to;
  const pawl_node *node = k >= 0 ? pawl_tok_node(h, k) : NULL;
  pawl_error err = {0};
  pawl_record *r;

  if (!node || node->kind != PAWL_KIND_TASK) {
    pawl_untaken_note(e, h, l, "it had gone on from that task by then");
    return;
  }
  pawl_order_note(h, k, l->received_us);
  if (letter_says(h, data, "status", "failed")) {
    task_failed(e, h, k, node, l);
    return;
  }
  (void)pawl_json_get(data, "output", &output);
  if (pawl_output_fits(e, h, node, output, &err) != PAWL_OK) {
    clear_task(pawl_tok(h, k));
    pawl_fail_token(e, h, k, &err, 0);
    return;
  }
  if (pawl_json_get(data, "transition", &value) &&
      pawl_json_kind_of(value) == PAWL_JSON_STRING)
    pawl_json_unquote(value, &name);
  to = pawl_node_next(node, name.at ? name.at : "", name.len);
  if (to < 0) to = pawl_node_next(node, "", 0);
  if (to < 0) to = node->next[0].to; /* the API has checked it */
  r = pawl_token_record(e, h, k, "task");
  pawl_buf_adds(&r->transition, pawl_buf_str(&name));
  pawl_buf_adds(&r->caller, pawl_buf_str(&l->caller));
  note_override(data, r);
  pawl_take_output(h, node, r, output);
  raise_signal(h, node, k, output);
  clear_task(pawl_tok(h, k));
  h->plan.outcome = "done";
  pawl_leave(e, h, k, to);
  trace_end(e, h, k, node);
  pawl_buf_deinit(&name);
}

/* ---- times ---- */

static void fire_timer(pawl_engine *e, pawl_held *h, int k,
                       const pawl_node *node) {
  pawl_record *r = pawl_token_record(e, h, k, "timer");
  r->due_us = pawl_tok(h, k)->due_us;
  h->plan.outcome = "fired";
  pawl_leave(e, h, k, node->next[0].to);
  trace_end(e, h, k, node);
}

/* Its `timeout` transition, or the failure "timeout". */
static void time_out(pawl_engine *e, pawl_held *h, int k,
                     const pawl_node *node) {
  int to = pawl_node_next(node, "timeout", 7);
  pawl_error err;
  pawl_record *r;

  pawl_stop_waiting(h, k, "timed_out");
  if (to < 0) {
    pawl_fail(&err, PAWL_TIMEOUT, "%s \"%s\" took longer than its timeout",
              pawl_kind_name(node->kind), node->name);
    pawl_result_clear(&e->result); /* by policy: none unless it says so */
    if (node->kind == PAWL_KIND_EACH)
      pawl_drop_scope(e, h, pawl_tok(h, k)->no, "its each timed out");
    pawl_fail_token(e, h, k, &err, 0);
    return;
  }
  r = pawl_token_record(e, h, k, "timeout");
  r->due_us = pawl_tok(h, k)->due_us;
  pawl_buf_addz(&r->transition, "timeout");
  pawl_buf_clear(&pawl_tok(h, k)->event);
  h->plan.outcome = "timeout";
  pawl_leave(e, h, k, to);
  trace_end(e, h, k, node);
}

static void raise_task(pawl_engine *e, pawl_held *h, int k,
                       const pawl_node *node, int64_t now) {
  pawl_token *t = pawl_tok(h, k);
  int64_t begun = pawl_detail_int(t, "begun"), due = pawl_detail_int(t, "due");
  pawl_record *r;
  pawl_effect *f;

  pawl_detail_set_int(t, "late", 1);
  t->due_us = task_look(t, node, begun, due);
  f = pawl_plan_effect(&h->plan, PAWL_EFFECT_TASK_RAISE, t->no);
  f->n = t->visit;
  f->at_us = now;
  pawl_buf_adds(&f->data,
                node->escalate.len ? node->escalate : pawl_strz("{}"));
  r = pawl_token_record(e, h, k, "escalated");
  r->due_us = due;
  pawl_buf_adds(&r->output, pawl_buf_str(&f->data));
  h->plan.outcome = "escalated";
}

/* Overdue is a transition where one is drawn; else a flag and an escalation.
 * Later, perhaps, the timeout. */
static void task_time(pawl_engine *e, pawl_held *h, int k,
                      const pawl_node *node, int64_t now) {
  pawl_token *t = pawl_tok(h, k);
  int64_t due = pawl_detail_int(t, "due");
  int to = pawl_node_next(node, "overdue", 7);
  pawl_record *r;

  if (node->limit_us >= 0 &&
      pawl_time_after(pawl_detail_int(t, "begun"), node->limit_us) <= now) {
    clear_task(t);
    time_out(e, h, k, node);
  } else if (due && due <= now && !pawl_detail_int(t, "late")) {
    if (to < 0) {
      raise_task(e, h, k, node, now);
      return;
    }
    pawl_stop_waiting(h, k, "timed_out");
    clear_task(pawl_tok(h, k));
    r = pawl_token_record(e, h, k, "timeout");
    r->due_us = due;
    pawl_buf_addz(&r->transition, "overdue");
    h->plan.outcome = "overdue";
    pawl_leave(e, h, k, to);
    trace_end(e, h, k, node);
  } else if (due || node->limit_us >= 0) { /* woken early */
    t->due_us = task_look(t, node, pawl_detail_int(t, "begun"), due);
  }
}

typedef struct due {
  int64_t us;
  int k;
} due;

static int by_time(const void *a, const void *b) {
  const due *x = a, *y = b;
  if (x->us != y->us) return x->us < y->us ? -1 : 1;
  return x->k < y->k ? -1 : x->k > y->k;
}

static int is_over(const pawl_token *t, int64_t before_us, int32_t except) {
  return t->state == PAWL_TOKEN_WAITING && t->due_us &&
         t->due_us < before_us && t->no != except;
}

static void end_wait(pawl_engine *e, pawl_held *h, int k) {
  const pawl_node *node = pawl_tok_node(h, k);

  if (!node) return;
  pawl_order_note(h, k, pawl_tok(h, k)->due_us);
  if (node->kind != PAWL_KIND_TIMER) h->plan.needs_latch = 1; /* rule 6 */
  if (node->kind == PAWL_KIND_TIMER)
    fire_timer(e, h, k, node);
  else if (node->kind == PAWL_KIND_TASK)
    task_time(e, h, k, node, pawl_engine_now(e));
  else
    time_out(e, h, k, node);
  pawl_joins_race(e, h);
}

/* In the order of their times, whatever the order of the tokens: what is late
 * ends as it would have in time. */
void pawl_times_out(pawl_engine *e, pawl_held *h, int64_t before_us,
                    int32_t except) {
  due few[16], *list = few;
  size_t size = 0;
  int n = 0, count = h->plan.tokens.n;

  for (int k = 0; k < count; k++)
    n += is_over(pawl_tok(h, k), before_us, except);
  if (n > 16) {
    size = sizeof *list * (size_t)n;
    list = pawl_realloc(&e->alloc, NULL, 0, size);
    if (!list) {
      h->plan.failed = 1;
      return;
    }
  }
  n = 0;
  for (int k = 0; k < count; k++) {
    if (!is_over(pawl_tok(h, k), before_us, except)) continue;
    list[n].us = pawl_tok(h, k)->due_us;
    list[n++].k = k;
  }
  if (n > 1) qsort(list, (size_t)n, sizeof *list, by_time);
  for (int i = 0; i < n; i++) {
    /* one before it may have called it off */
    if (!is_over(pawl_tok(h, list[i].k), before_us, except)) continue;
    end_wait(e, h, list[i].k);
    if (h->plan.after == PAWL_AFTER_END || pawl_is_undoing(h)) break;
  }
  if (size) pawl_release(&e->alloc, list, size);
}
