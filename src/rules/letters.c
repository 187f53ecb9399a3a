/* What came in: requests from outside, people, children and events, taken in
 * order of arrival. Each leaves a record of who asked and why. */
#include <inttypes.h>
#include <stdio.h>

#include "../value/json.h"
#include "machine.h"

static int is_kind(const pawl_letter *l, const char *kind) {
  return pawl_str_eqz(pawl_buf_str(&l->kind), kind);
}

/* A member of the letter's data that is text, appended. */
static int add_text(const pawl_letter *l, const char *name, pawl_buf *out) {
  pawl_str value;
  if (!l->data.len || !pawl_json_get(pawl_buf_str(&l->data), name, &value) ||
      pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return 0;
  pawl_json_unquote(value, out);
  return 1;
}

static int64_t number_of(const pawl_letter *l, const char *name,
                         int64_t other) {
  pawl_str value;
  int64_t n = other;
  if (l->data.len && pawl_json_get(pawl_buf_str(&l->data), name, &value))
    (void)pawl_json_int(value, &n);
  return n;
}

static int is_set(const pawl_letter *l, const char *name, int other) {
  pawl_str value;
  if (!l->data.len || !pawl_json_get(pawl_buf_str(&l->data), name, &value))
    return other;
  if (pawl_json_kind_of(value) == PAWL_JSON_NULL) return other;
  return pawl_json_kind_of(value) != PAWL_JSON_FALSE;
}

/* Who asks again, because he got no answer, finds it here; an event is known
 * by its inbox row. */
static void note_request(pawl_record *r, const pawl_letter *l) {
  r->has_request = !is_kind(l, "event");
  r->request = l->no;
}

static pawl_record *record(pawl_engine *e, pawl_held *h, const pawl_letter *l,
                           const char *type) {
  pawl_record *r = pawl_instance_record(e, h, type);
  (void)add_text(l, "reason", &r->text);
  pawl_buf_adds(&r->caller, pawl_buf_str(&l->caller));
  note_request(r, l);
  h->plan.outcome = type;
  return r;
}

static void refuse(pawl_engine *e, pawl_held *h, const pawl_letter *l,
                   const char *why) {
  pawl_record *r = pawl_instance_record(e, h, "refused");
  pawl_buf_addf(&r->text, "%s: %s", l->kind.at ? l->kind.at : "", why);
  pawl_buf_adds(&r->caller, pawl_buf_str(&l->caller));
  note_request(r, l);
}

/* ---- cancel and kill ---- */

/* An event that cancels; not one that is being undone, or was. */
static int is_cancelling(const pawl_held *h, const pawl_letter *l) {
  return is_kind(l, "event") && !h->compensation.len && !pawl_is_undoing(h) &&
         pawl_rules_cancel(h, l);
}

const pawl_letter *pawl_letters_cancel(const pawl_held *h) {
  for (int i = 0; i < h->nletters; i++) {
    const pawl_letter *l = &h->letters[i];
    if ((is_kind(l, "cancel") || is_kind(l, "kill") || is_cancelling(h, l)) &&
        !pawl_plan_takes(&h->plan, &l->no))
      return l;
  }
  return NULL;
}

static void note_cancellation(pawl_held *h, const pawl_letter *l,
                              const char *source) {
  pawl_buf *b = &h->plan.cancellation;
  pawl_str value;
  char time[28];

  pawl_buf_clear(b);
  pawl_buf_addz(b, "{\"reason\":");
  if (l->data.len && pawl_json_get(pawl_buf_str(&l->data), "reason", &value))
    pawl_buf_adds(b, value);
  else
    pawl_buf_addz(b, "null");
  pawl_buf_addz(b, ",\"by\":");
  pawl_json_add_string(b, pawl_buf_str(&l->caller));
  pawl_buf_addz(b, ",\"source\":");
  pawl_json_add_string(b,
                       source ? pawl_strz(source) : pawl_buf_str(&l->source));
  if (source && l->event_id.len) {
    pawl_buf_addz(b, ",\"event_id\":");
    pawl_json_add_string(b, pawl_buf_str(&l->event_id));
  } else if (l->data.len &&
             pawl_json_get(pawl_buf_str(&l->data), "event_id", &value)) {
    pawl_buf_addz(b, ",\"event_id\":");
    pawl_buf_adds(b, value);
  }
  if (l->data.len &&
      pawl_json_get(pawl_buf_str(&l->data), "compensate", &value)) {
    pawl_buf_addz(b, ",\"compensate\":");
    pawl_buf_adds(b, value);
  }
  if (is_kind(l, "kill")) pawl_buf_addz(b, ",\"killed\":true");
  pawl_time_format(l->received_us, time);
  pawl_buf_addf(b, ",\"requested_at\":\"%s\"}", time);
  h->plan.more = 1;
}

/* A decision to end is taken back: something else ends it. */
static void unend(pawl_held *h) {
  pawl_plan *p = &h->plan;
  if (p->after != PAWL_AFTER_END) return;
  for (int i = p->neffects - 1; i >= 0; i--) {
    pawl_effect *f = &p->effects[i], last;
    if (f->kind != PAWL_EFFECT_MESSAGE || f->token ||
        (!pawl_str_eqz(pawl_buf_str(&f->name), "result") &&
         !pawl_str_eqz(pawl_buf_str(&f->name), "end_children")))
      continue;
    last = p->effects[--p->neffects]; /* slots keep their buffers */
    p->effects[p->neffects] = *f;
    p->effects[i] = last;
    p->sent--;
  }
  p->after = PAWL_AFTER_GO_ON;
  p->has_output = 0;
  pawl_buf_clear(&p->output);
}

static void end_cancelled(pawl_engine *e, pawl_held *h, const pawl_letter *l,
                          const char *type, const char *source,
                          int compensate) {
  pawl_plan *p = &h->plan;
  pawl_record *r;

  unend(h);
  r = record(e, h, l, type);
  if (source) pawl_buf_addf(&r->text, "by event \"%s\"", l->name.at);
  note_cancellation(h, l, source);
  pawl_buf_clear(&p->error);
  pawl_buf_clear(&p->detail);
  pawl_buf_adds(&p->detail, pawl_buf_str(&r->text));
  p->outcome = "cancelled";
  pawl_end_undoing(e, h, PAWL_STATUS_CANCELLED, compensate);
  pawl_trace_verdict(e, h);
}

static int is_from_parent(const pawl_letter *l) {
  static const char name[] = "parent:";
  return l->event_id.len > sizeof name - 1 &&
         !memcmp(l->event_id.at, name, sizeof name - 1);
}

void pawl_letter_cancel(pawl_engine *e, pawl_held *h, const pawl_letter *l) {
  if (is_kind(l, "kill"))
    end_cancelled(e, h, l, "killed", NULL, 0);
  else if (pawl_is_undoing(h) && is_from_parent(l))
    return; /* it ends as that wishes, and may be told so twice */
  else if (is_kind(l, "event"))
    end_cancelled(e, h, l, "cancelled", "event",
                  !h->def || h->def->compensate);
  else if (pawl_is_undoing(h))
    refuse(e, h, l, "it is being undone already; `kill` ends it at once");
  else
    end_cancelled(e, h, l, "cancelled", NULL,
                  is_set(l, "compensate", !h->def || h->def->compensate));
}

/* ---- suspend and resume ---- */

/* The task's own times, and those that people see. */
static void shift_task(pawl_held *h, int k, int64_t by_us) {
  const pawl_node *node = pawl_tok_node(h, k);
  pawl_token *t = pawl_tok(h, k);
  int64_t due = pawl_detail_int(t, "due");
  pawl_effect *f;

  if (!node || node->kind != PAWL_KIND_TASK || t->state != PAWL_TOKEN_WAITING)
    return;
  if (pawl_detail_int(t, "begun"))
    pawl_detail_set_int(t, "begun",
                        pawl_time_after(pawl_detail_int(t, "begun"), by_us));
  t->changed = 1;
  if (!due) return;
  due = pawl_time_after(due, by_us);
  pawl_detail_set_int(t, "due", due);
  f = pawl_plan_effect(&h->plan, PAWL_EFFECT_TASK_DUE, t->no);
  f->n = t->visit;
  f->at_us = due;
}

static void move_times(pawl_held *h, int64_t by_us) {
  for (int k = 0; k < h->plan.tokens.n; k++) {
    pawl_token *t = pawl_tok(h, k);
    if (!pawl_token_is_live(t->state)) continue;
    shift_task(h, k, by_us);
    t = pawl_tok(h, k);
    if (!t->due_us) continue;
    t->due_us = pawl_time_after(t->due_us, by_us);
    t->changed = 1;
  }
  if (h->plan.deadline_us)
    h->plan.deadline_us = pawl_time_after(h->plan.deadline_us, by_us);
  if (!h->plan.visit && h->plan.begin_us)
    h->plan.begin_us = pawl_time_after(h->plan.begin_us, by_us);
  h->plan.more = 1;
}

static void suspend(pawl_engine *e, pawl_held *h, const pawl_letter *l) {
  if (h->plan.status == PAWL_STATUS_SUSPENDED) {
    refuse(e, h, l, "it is suspended already");
    return;
  }
  record(e, h, l, "suspended");
  h->plan.status = PAWL_STATUS_SUSPENDED;
  h->plan.suspended_us = pawl_engine_now(e);
  h->plan.more = 1;
}

/* What came just before it was suspended may have been the last that a join or
 * an each waited for: whoever holds its handlers looks. */
static void wake_up(pawl_held *h) {
  if (h->apply_only) h->letters_left = 1;
  h->plan.status = PAWL_STATUS_RUNNING;
  h->plan.suspended_us = 0;
  h->plan.resets = 1;
  h->plan.more = 1;
  pawl_buf_clear(&h->plan.error);
}

static void resume(pawl_engine *e, pawl_held *h, const pawl_letter *l) {
  int64_t since = h->plan.suspended_us;
  if (h->plan.status != PAWL_STATUS_SUSPENDED) {
    refuse(e, h, l, "it is not suspended");
    return;
  }
  record(e, h, l, "resumed");
  if (is_set(l, "shift", 0) && since)
    move_times(h, pawl_engine_now(e) - since);
  wake_up(h);
}

/* Whoever puts off many may die on the way, and is asked to do it again: who
 * was put off by the first is not by the second. Tokens stand still until all
 * of them were. */
static int was_put_off(pawl_held *h, const pawl_letter *l) {
  pawl_buf once = {.alloc = h->plan.alloc};
  pawl_str mark;
  int first = -1, was = 0;

  if (!l->event_id.len) return 0;
  pawl_json_add_string(&once, pawl_buf_str(&l->event_id));
  for (int k = h->plan.tokens.n - 1; k >= 0; k--) {
    if (!pawl_tok_live(h, k)) continue;
    first = k;
    if (pawl_detail_get(pawl_tok(h, k), "put_off", &mark))
      was |= pawl_str_eq(mark, pawl_buf_str(&once));
  }
  if (first >= 0 && !was)
    pawl_detail_set(pawl_tok(h, first), "put_off", pawl_buf_str(&once));
  pawl_buf_deinit(&once);
  return was;
}

static void shift(pawl_engine *e, pawl_held *h, const pawl_letter *l) {
  if (was_put_off(h, l)) return;
  record(e, h, l, "shifted");
  move_times(h, number_of(l, "us", 0));
}

/* ---- retry and restart ---- */

/* A deadline that has passed would end it again at once: it begins anew. */
static void renew_deadline(pawl_engine *e, pawl_held *h) {
  int64_t now = pawl_engine_now(e), lasts;
  if (!h->plan.deadline_us || h->plan.deadline_us > now) return;
  lasts = h->def ? h->def->deadline_us : h->deadline_us - h->started_us;
  h->plan.deadline_us = lasts > 0 ? pawl_time_after(now, lasts) : 0;
}

static void revive(pawl_engine *e, pawl_held *h) {
  pawl_plan *p = &h->plan;
  if (pawl_status_has_ended(h->status)) p->revives = 1;
  renew_deadline(e, h);
  if (h->cancellation.len) { /* it goes on after all */
    pawl_buf_clear(&p->cancellation);
    pawl_buf_addz(&p->cancellation, "null");
  }
  wake_up(h);
  p->has_output = 0;
  pawl_buf_clear(&p->output);
  pawl_buf_clear(&p->stopped);
  p->after = PAWL_AFTER_GO_ON;
}

static int wanted(const pawl_token *t, const pawl_letter *l) {
  int64_t no = number_of(l, "token", 0);
  return pawl_token_is_live(t->state) && (!no || t->no == no);
}

/* Only what stands still is set going: asked twice, it is so once. */
static int has_stopped(const pawl_held *h) {
  return h->plan.status == PAWL_STATUS_SUSPENDED ||
         (pawl_status_has_ended(h->status) && !h->plan.revives);
}

/* The attempts start again, at once. An instance that failed goes on as it
 * stood then. */
static void retry(pawl_engine *e, pawl_held *h, const pawl_letter *l) {
  pawl_plan *p = &h->plan;

  if (!has_stopped(h)) {
    refuse(e, h, l, "it goes on already");
    return;
  }
  if (pawl_status_has_ended(h->status)) {
    if (!p->stopped.len) {
      refuse(e, h, l, PAWL_NOWHERE);
      return;
    }
    pawl_stopped_restore(e, h);
  }
  record(e, h, l, "retried");
  for (int k = 0; k < p->tokens.n; k++) {
    pawl_token *t = pawl_tok(h, k);
    if (!wanted(t, l) || t->state != PAWL_TOKEN_ACTIVE) continue;
    t->attempt = 0;
    t->due_us = 0;
    t->changed = 1;
  }
  revive(e, h);
}

static const char *node_named(pawl_engine *e, const pawl_held *h,
                              const pawl_letter *l) {
  pawl_buf name = {.alloc = &e->alloc};
  const char *kept = NULL;
  if (add_text(l, "node", &name) && h->def &&
      pawl_def_node(h->def, name.at, name.len) >= 0)
    kept = pawl_engine_intern(e, pawl_buf_str(&name));
  pawl_buf_deinit(&name);
  return kept;
}

/* The token stands, active, at the node, and has not entered it. */
static void place(pawl_held *h, int k, const char *node) {
  pawl_plan *p = &h->plan;
  pawl_token *t = pawl_tok(h, k);
  pawl_str up = {0}, none = {0};
  pawl_buf kept = {.alloc = p->alloc};

  if (pawl_detail_get(t, "up", &up)) pawl_buf_adds(&kept, up);
  pawl_buf_clear(&t->detail);
  if (kept.len) pawl_detail_set(t, "up", pawl_buf_str(&kept));
  pawl_buf_deinit(&kept);
  (void)none;
  t->previous = t->node;
  t->node = node;
  t->state = PAWL_TOKEN_ACTIVE;
  t->visit = ++p->visit;
  t->attempt = 0;
  t->due_us = 0;
  t->changed = 1;
  p->previous = t->previous;
  p->node = node;
  p->more = 1;
}

static void restart(pawl_engine *e, pawl_held *h, const pawl_letter *l) {
  const char *node = node_named(e, h, l);
  pawl_plan *p = &h->plan;
  pawl_str vars;
  pawl_record *r;
  int k;

  if (!has_stopped(h)) {
    refuse(e, h, l, "it goes on already");
    return;
  }
  if (!node || pawl_def_each_around(
                   h->def, pawl_def_node(h->def, node, strlen(node))) >= 0) {
    refuse(e, h, l,
           node ? "the node is in the branch of an each" : "no such node");
    return;
  }
  for (k = 0; k < p->tokens.n; k++)
    if (pawl_tok_live(h, k)) pawl_token_end(e, h, k, "it was restarted");
  r = record(e, h, l, "restarted");
  pawl_buf_addz(&r->path, node);
  if (l->data.len &&
      pawl_json_get(pawl_buf_str(&l->data), "variables", &vars) &&
      pawl_json_kind_of(vars) == PAWL_JSON_OBJECT)
    pawl_vars_put(h, vars, &r->changes);
  pawl_buf_clear(&p->joined);
  pawl_buf_clear(&p->compensation);
  revive(e, h);
  k = pawl_token_new(h, -1);
  if (k >= 0) place(h, k, node);
}

/* It is to run that node next, as if it had just come there. */
static int stands_before(const pawl_token *t, const char *node) {
  return t->state == PAWL_TOKEN_ACTIVE && !t->attempt && !t->due_us &&
         !strcmp(t->node, node);
}

static void move(pawl_engine *e, pawl_held *h, const pawl_letter *l) {
  const char *node = node_named(e, h, l), *from;
  int64_t no = number_of(l, "token", 0);
  int found = -1, n = 0;
  pawl_record *r;

  for (int k = 0; k < h->plan.tokens.n; k++) {
    if (!pawl_tok_live(h, k) || (no && pawl_tok(h, k)->no != no)) continue;
    found = k;
    n++;
  }
  if (!node || n != 1 || pawl_is_undoing(h)) {
    refuse(e, h, l,
           !node    ? "no such node"
           : n == 0 ? "no such token"
           : n > 1  ? "it has several tokens: say which"
                    : "it is being undone");
    return;
  }
  if (stands_before(pawl_tok(h, found), node)) {
    refuse(e, h, l, "it stands there already");
    return;
  }
  from = pawl_tok(h, found)->node;
  pawl_stop_waiting(h, found, "cancelled");
  if (pawl_tok_node(h, found) &&
      pawl_tok_node(h, found)->kind == PAWL_KIND_EACH)
    pawl_drop_scope(e, h, pawl_tok(h, found)->no, "its each was left");
  place(h, found, node);
  r = record(e, h, l, "moved");
  r->token = pawl_tok(h, found)->no;
  r->node = from;
  pawl_buf_addz(&r->path, node);
}

/* ---- variables, times, versions ---- */

static void edit(pawl_engine *e, pawl_held *h, const pawl_letter *l) {
  pawl_buf delta = {.alloc = &e->alloc}, vars = {.alloc = &e->alloc};
  pawl_str data = pawl_buf_str(&l->data), value;
  int64_t wanted_version = number_of(l, "version", -1);
  pawl_record *r;

  if (wanted_version >= 0 && wanted_version != h->version) {
    refuse(e, h, l, "the instance has changed since");
    return;
  }
  pawl_buf_addc(&delta, '{');
  if (pawl_json_get(data, "set", &value)) {
    pawl_buf_addz(&delta, "\"set\":");
    pawl_buf_adds(&delta, value);
  }
  if (pawl_json_get(data, "unset", &value)) {
    if (delta.len > 1) pawl_buf_addc(&delta, ',');
    pawl_buf_addz(&delta, "\"unset\":");
    pawl_buf_adds(&delta, value);
  }
  pawl_buf_addc(&delta, '}');
  pawl_json_apply(pawl_vars_now(h), pawl_buf_str(&delta), &vars);
  r = record(e, h, l, "changed");
  pawl_vars_take(h, &vars, &r->changes);
  pawl_buf_deinit(&delta);
  pawl_buf_deinit(&vars);
}

static int names_node(pawl_held *h, const pawl_letter *l, const char *node) {
  pawl_buf name = {.alloc = h->plan.alloc};
  pawl_str nodes, key, one;
  pawl_json_iter it = {0};
  int found = 0;

  if (!l->data.len || !pawl_json_get(pawl_buf_str(&l->data), "nodes", &nodes))
    return 1;
  while (!found && pawl_json_each(nodes, &it, &key, &one)) {
    pawl_buf_clear(&name);
    pawl_json_unquote(one, &name);
    found = pawl_str_eqz(pawl_buf_str(&name), node);
    if (name.failed) h->plan.failed = 1;
  }
  pawl_buf_deinit(&name);
  return found;
}

/* Its own choice and the one from outside: the earlier counts (E3). */
/* What it waits for next is due now. A task's times are its own: the one that
 * comes next moves. */
static void wake_token(pawl_held *h, int k, int64_t at) {
  pawl_token *t = pawl_tok(h, k);
  const pawl_node *node = pawl_tok_node(h, k);

  if (node && node->kind == PAWL_KIND_TASK && t->state == PAWL_TOKEN_WAITING) {
    if (t->due_us == pawl_detail_int(t, "due"))
      pawl_detail_set_int(t, "due", at);
    else
      pawl_detail_set_int(t, "begun", at - node->limit_us);
  }
  t->due_us = at;
  t->changed = 1;
}

/* Children are under way: only by name is their time up. */
static int may_wake(pawl_held *h, int k, const pawl_letter *l) {
  const pawl_node *node = pawl_tok_node(h, k);
  pawl_str nodes;

  if (node && pawl_tok(h, k)->state == PAWL_TOKEN_WAITING &&
      (node->kind == PAWL_KIND_CALL || node->kind == PAWL_KIND_EACH) &&
      (!l->data.len ||
       !pawl_json_get(pawl_buf_str(&l->data), "nodes", &nodes)))
    return 0;
  return names_node(h, l, pawl_tok(h, k)->node);
}

/* One that is to begin later begins then. */
static int begins_at(pawl_held *h, const pawl_letter *l, int64_t at) {
  return !h->plan.visit && h->plan.begin_us > at && h->def &&
         names_node(h, l, h->def->nodes[h->def->start].name);
}

static void wake(pawl_engine *e, pawl_held *h, const pawl_letter *l) {
  int64_t at = pawl_time_after(number_of(l, "at", pawl_engine_now(e)), 0);
  int n = 0;

  for (int k = 0; k < h->plan.tokens.n; k++) {
    pawl_token *t = pawl_tok(h, k);
    if (!pawl_token_is_live(t->state) || !t->due_us || t->due_us <= at ||
        !t->node || !may_wake(h, k, l))
      continue;
    wake_token(h, k, at);
    n++;
  }
  if (begins_at(h, l, at)) {
    h->plan.begin_us = at;
    n++;
  }
  if (n) record(e, h, l, "woken");
}

/* {"from":1,"to":2,"map":{...}}, by which undoing finds the nodes of before. */
static void tell_move(pawl_held *h, const pawl_crossing *c, pawl_record *r) {
  pawl_buf text = {.alloc = r->text.alloc};

  pawl_buf_addf(&text, "version %" PRId64 " to %" PRId64, h->workflow_version,
                c->to->version);
  if (r->text.len) {
    pawl_buf_addz(&text, ": ");
    pawl_buf_adds(&text, pawl_buf_str(&r->text));
  }
  pawl_buf_clear(&r->text);
  pawl_buf_adds(&r->text, pawl_buf_str(&text));
  pawl_buf_deinit(&text);
  r->has_output = 1;
  pawl_buf_addf(&r->output,
                "{\"from\":%" PRId64 ",\"to\":%" PRId64 ",\"map\":",
                h->workflow_version, c->to->version);
  pawl_buf_adds(&r->output, c->map.at ? c->map : pawl_strz("{}"));
  pawl_buf_addc(&r->output, '}');
}

/* Asked twice, or by two: it is there, or elsewhere, by now. 1: and refused. */
static int has_crossed(pawl_engine *e, pawl_held *h, const pawl_letter *l) {
  int64_t from = number_of(l, "from", h->workflow_version);
  char why[80];

  if (number_of(l, "version", 0) == h->workflow_version)
    snprintf(why, sizeof why, "it runs version %" PRId64 " already",
             h->workflow_version);
  else if (from != h->workflow_version)
    snprintf(why, sizeof why,
             "it runs version %" PRId64 " by now, not %" PRId64,
             h->workflow_version, from);
  else
    return 0;
  refuse(e, h, l, why);
  return 1;
}

/* Of those that have ended, one that failed may: a retry goes on there. */
static void check_crossing(pawl_engine *e, pawl_held *h, pawl_str vars,
                           pawl_buf *why) {
  if (!pawl_stays_ended(h))
    pawl_version_check(e, h, h->crossing, vars, why);
  else if (h->status != PAWL_STATUS_FAILED)
    pawl_buf_addf(why, "it has ended: %s", pawl_status_name(h->status));
  else if (!h->plan.stopped.len)
    pawl_buf_addz(why, PAWL_NOWHERE);
  else
    pawl_stopped_check(e, h, h->crossing, why);
  if (why->failed) h->plan.failed = 1;
}

/* The next look at it is under the other definition. */
static void migrate(pawl_engine *e, pawl_held *h, const pawl_letter *l) {
  int64_t if_version = number_of(l, "if_version", -1);
  pawl_buf why = {.alloc = &e->alloc};
  pawl_crossing *c = h->crossing;
  pawl_str vars = {0};
  pawl_record *r;

  if (has_crossed(e, h, l)) return;
  if ((if_version >= 0 && if_version != h->version) || pawl_is_undoing(h) ||
      !c) {
    refuse(e, h, l, "it has moved on since it was looked at");
    return;
  }
  c->map.at = NULL;
  (void)pawl_json_get(pawl_buf_str(&l->data), "map", &c->map);
  if (!pawl_json_get(pawl_buf_str(&l->data), "variables", &vars) ||
      pawl_json_kind_of(vars) != PAWL_JSON_OBJECT)
    vars.at = NULL;
  check_crossing(e, h, vars.at ? vars : pawl_vars_now(h), &why);
  if (why.len) {
    refuse(e, h, l, why.at);
  } else {
    r = record(e, h, l, "migrated");
    tell_move(h, c, r);
    if (vars.at) pawl_vars_put(h, vars, &r->changes);
    if (pawl_stays_ended(h))
      pawl_stopped_move(e, h, c);
    else
      pawl_version_change(e, h, c);
  }
  pawl_buf_deinit(&why);
}

/* ---- events ---- */

static int event(pawl_engine *e, pawl_held *h, pawl_letter *l) {
  if (pawl_is_undoing(h)) return 0;
  if (pawl_rules_cancel(h, l)) {
    pawl_letter_cancel(e, h, l);
    return 1;
  }
  return pawl_event_give(e, h, l);
}

/* ---- all of them ---- */

/* Its inbox row goes, or stays as taken where it could come again. */
void pawl_letter_taken(pawl_held *h, const pawl_letter *l) {
  pawl_effect *f;
  int keeps = is_kind(l, "event") || is_kind(l, "child");

  f = pawl_plan_effect(&h->plan, keeps ? PAWL_EFFECT_TAKE : PAWL_EFFECT_DELETE,
                       0);
  f->id = l->no;
  f->has_id = 1;
  if (!keeps) return;
  f->node = is_kind(l, "child") ? "child" : "event";
  f->has_key = l->has_key;
  f->at_us = l->received_us;
  pawl_buf_adds(&f->name, pawl_buf_str(&l->name));
  pawl_buf_adds(&f->key, pawl_buf_str(&l->key));
  pawl_buf_adds(&f->event_id, pawl_buf_str(&l->event_id));
  pawl_buf_adds(&f->source, pawl_buf_str(&l->source));
}

typedef void (*taker)(pawl_engine *e, pawl_held *h, const pawl_letter *l);

/* What may be taken whenever the instance is held, without any handler. */
static const struct {
  const char *kind;
  taker take;
  int when_ended;
} requests[] = {
    {"cancel", pawl_letter_cancel, 0},
    {"kill", pawl_letter_cancel, 0},
    {"suspend", suspend, 0},
    {"resume", resume, 0},
    {"shift", shift, 0},
    {"retry", retry, 1},
    {"restart", restart, 1},
    {"move", move, 0},
    {"edit", edit, 0},
    {"wake", wake, 0},
    {"migrate", migrate, 1},
};
#define NREQUESTS (sizeof requests / sizeof *requests)

/* A time that had come before the letter did counts before it, though both
 * are there by now; but not against the work that the letter brings. */
static void times_before(pawl_engine *e, pawl_held *h, const pawl_letter *l) {
  int64_t until = pawl_engine_now(e) + 1;
  int32_t own = (int32_t)number_of(l, "token", 0);

  if (pawl_is_undoing(h)) return;
  if (l->received_us < until) until = l->received_us;
  pawl_times_out(e, h, until, is_kind(l, "event") ? 0 : own);
}

/* 1: it is dealt with. */
static int take(pawl_engine *e, pawl_held *h, pawl_letter *l) {
  for (size_t i = 0; i < NREQUESTS; i++) {
    if (!is_kind(l, requests[i].kind)) continue;
    if (!pawl_stays_ended(h) || requests[i].when_ended)
      requests[i].take(e, h, l);
    return 1;
  }
  /* the rest moves tokens on, which may need handlers */
  if (h->apply_only || h->plan.status == PAWL_STATUS_SUSPENDED)
    h->letters_left = 1;
  if (h->apply_only || !h->def || h->plan.status == PAWL_STATUS_SUSPENDED ||
      pawl_stays_ended(h))
    return 0;
  times_before(e, h, l);
  if (h->plan.after == PAWL_AFTER_END) return 0;
  if (is_kind(l, "event")) return event(e, h, l);
  if (pawl_is_undoing(h)) {
    if (is_kind(l, "task"))
      pawl_untaken_note(e, h, l, "it was being undone by then");
    return 1;
  }
  if (is_kind(l, "task")) pawl_task_done(e, h, l);
  if (is_kind(l, "child")) pawl_child_done(e, h, l);
  return 1;
}

/* The events of one that has failed stay, as a retry may yet come. */
void pawl_letters_discard(pawl_held *h) {
  pawl_plan *p = &h->plan;

  for (int i = 0; i < h->nletters; i++) {
    const pawl_letter *l = &h->letters[i];
    pawl_effect *f;
    if (l->kept || pawl_plan_takes(p, &l->no)) continue; /* it has no row */
    if (h->status == PAWL_STATUS_FAILED && is_kind(l, "event")) continue;
    f = pawl_plan_effect(p, PAWL_EFFECT_DELETE, 0);
    f->id = l->no;
    f->has_id = 1;
  }
}

int pawl_letters_are_news(const pawl_held *h) {
  for (int i = 0; i < h->nletters; i++) {
    const pawl_letter *l = &h->letters[i];
    if (l->kept ||
        (!is_kind(l, "event") && !is_kind(l, "task") && !is_kind(l, "child")))
      return 0;
  }
  return 1;
}

void pawl_letters_refuse(pawl_engine *e, pawl_held *h, const char *why) {
  for (int i = 0; i < h->nletters; i++) {
    const pawl_letter *l = &h->letters[i];
    for (size_t k = 0; k < NREQUESTS; k++) {
      if (!is_kind(l, requests[k].kind) || pawl_plan_takes(&h->plan, &l->no))
        continue;
      refuse(e, h, l, why);
      pawl_letter_taken(h, l);
    }
  }
}

/* A second request to move: the graphs are loaded for one at a time. */
static int lacks_crossing(const pawl_held *h, const pawl_letter *l) {
  return is_kind(l, "migrate") && h->crossing &&
         !pawl_id_eq(&h->crossing->letter, &l->no);
}

void pawl_letters_take(pawl_engine *e, pawl_held *h) {
  h->letters_left = 0;
  for (int i = 0; i < h->nletters; i++) {
    if (lacks_crossing(h, &h->letters[i])) {
      h->letters_left = h->look = 1;
      return;
    }
    if (take(e, h, &h->letters[i])) pawl_letter_taken(h, &h->letters[i]);
    pawl_joins_race(e, h);
    if (h->plan.after == PAWL_AFTER_END) return;
    if (h->plan.workflow_version &&
        (!pawl_stays_ended(h) || i + 1 < h->nletters))
      return; /* the others are for the other version's look */
  }
  h->plan.heard = 1;
  /* what was passed over is taken once it has been resumed, perhaps just now */
  if (h->plan.status == PAWL_STATUS_SUSPENDED) h->letters_left = 0;
}
