/* Waits: a token stands until an event comes for it, or a condition holds
 * (../condition.c). */

#include "../../value/json.h"
#include "../../value/types.h"
#include "../asked.h"
#include "../machine.h"
#include "../order.h"

/* ---- its key ---- */

/* The key this wait asks for, as text. *has 0: it has none. */
static pawl_code wait_key(pawl_decision *d, int k, const pawl_node *node,
                          pawl_buf *key, int *has, pawl_error *err) {
  *has = node->has_key || node->key;
  if (!*has) return PAWL_OK;
  if (node->key) return pawl_listen_key(d, node, node->key, key, err);
  return pawl_listen_key_asked(d, k, node, PAWL_HANDLER_KEY, key, err);
}

/* ---- listening ---- */

/* Who may turn one down for what it holds is told of each: others would wait
 * for its answer. */
static int is_alone(const pawl_node *node) {
  return node->take_one && !node->has_match && !node->has_answer &&
         !node->accepts.at;
}

/* By `takes_one` who looks at the store alone (health.sql) sees which of the
 * events that are kept are not for it. */
static void listen(pawl_decision *d, int k, const pawl_node *node,
                   const pawl_buf *key) {
  if (node->take_one)
    pawl_detail_set(pawl_tok(d, k), PAWL_DETAIL_takes_one, 1);
  else
    pawl_detail_drop(pawl_tok(d, k), PAWL_DETAIL_takes_one);
  pawl_listen(d, k, PAWL_EAR_OWN, node->event, key, is_alone(node));
}

/* How long it waits, from now on or since it did so in another version. */
static pawl_code begin_time(pawl_decision *d, int k, const pawl_node *node,
                            pawl_error *err) {
  int64_t limit_us;

  MUST(pawl_wait_limit(d, k, node, &limit_us, err));
  pawl_token *t = pawl_tok(d, k);
  const int64_t since = pawl_detail_of(t)->since;
  pawl_detail_drop(t, PAWL_DETAIL_since);
  pawl_wait_until(t, since ? since : pawl_decision_now(d), limit_us);
  return PAWL_OK;
}

/* One that holds is passed, as a choice is. */
static pawl_code enter_condition(pawl_decision *d, int k,
                                 const pawl_node *node, int *to,
                                 pawl_error *err) {
  pawl_buf mover = {.alloc = d->alloc};
  pawl_code rc = PAWL_OK;
  int holds = 0;

  TRY(pawl_condition_ask(d, k, node, &holds, err));
  if (holds) {
    *to = pawl_node_next(node, "", 0);
    if (*to < 0) *to = pawl_node_next(node, "met", 3);
    goto out;
  }
  TRY(pawl_reschedule_key(d, k, node, &mover, err));
  TRY(begin_time(d, k, node, err));
  pawl_stand(d, k, pawl_tok(d, k)->due_us);
  pawl_detail_set(pawl_tok(d, k), PAWL_DETAIL_asks, PAWL_ASKS_WAITS);
  pawl_reschedule_listen(d, k, node, &mover);
out:
  pawl_buf_deinit(&mover);
  return rc;
}

static pawl_code enter(pawl_decision *d, int k, const pawl_node *node, int *to,
                       pawl_buf *path, pawl_error *err) {
  pawl_buf key = {.alloc = d->alloc}, mover = {.alloc = d->alloc};
  pawl_code rc = PAWL_OK;
  int has;

  (void)path;
  if (node->has_condition) return enter_condition(d, k, node, to, err);
  TRY(wait_key(d, k, node, &key, &has, err));
  TRY(pawl_buf_check(&key, err));
  TRY(pawl_reschedule_key(d, k, node, &mover, err));
  TRY(begin_time(d, k, node, err));
  listen(d, k, node, has ? &key : NULL);
  pawl_reschedule_listen(d, k, node, &mover);
out:
  pawl_buf_deinit(&key);
  pawl_buf_deinit(&mover);
  return rc;
}

/* What it waited for before it is not any more. */
static void forget(pawl_decision *d, int k, const pawl_node *was) {
  pawl_detail_drop(pawl_tok(d, k), PAWL_DETAIL_asks);
  if (was->event) pawl_listen_no_more(d, k, PAWL_EAR_OWN);
}

/* The new condition is asked at the next look. */
static void transfer_condition(pawl_decision *d, int k, const pawl_node *was,
                               const pawl_node *node) {
  forget(d, k, was);
  pawl_asked_clear(pawl_tok(d, k));
  pawl_wait_transfer(d, k, was, node);
  pawl_detail_set(pawl_tok(d, k), PAWL_DETAIL_asks, PAWL_ASKS_STORED);
  pawl_reschedule_transfer(d, k, was, node);
}

/* It listens for the new event and key; its time counts from when it began,
 * and an unchanged timeout stays due when it is: it may have been shifted. A
 * key that only code can tell is asked for at the next look. */
static void transfer(pawl_decision *d, int k, const pawl_node *was,
                     const pawl_node *node) {
  pawl_buf key = {.alloc = d->plan.alloc};
  pawl_token *t = pawl_tok(d, k);
  int64_t began_us =
      pawl_wait_began(t, pawl_token_limit(t, was), pawl_decision_now(d));

  if (node->has_condition) {
    transfer_condition(d, k, was, node);
    return;
  }
  if (was->has_condition) forget(d, k, was);
  pawl_wait_transfer(d, k, was, node);
  if (!node->has_key) {
    if (node->key) (void)pawl_event_key(d, pawl_vars_now(d), node->key, &key);
    if (key.failed) d->plan.failed = 1;
    listen(d, k, node, node->key ? &key : NULL);
    pawl_reschedule_transfer(d, k, was, node);
  } else {
    t->state = PAWL_TOKEN_ACTIVE;
    t->due_us = 0;
    t->changed = 1;
    pawl_detail_set(t, PAWL_DETAIL_since, began_us);
    pawl_plan_effect(&d->plan, PAWL_EFFECT_UNSUBSCRIBE, t->no);
    pawl_reschedule_end(d, k);
  }
  pawl_buf_deinit(&key);
}

static void stop(pawl_decision *d, int k, const pawl_node *node,
                 const char *status) {
  (void)status;
  if (node->event)
    pawl_plan_effect(&d->plan, PAWL_EFFECT_UNSUBSCRIBE, pawl_tok(d, k)->no);
}

/* ---- events ---- */

/* {"name","key","id","source","data","received_at"}, as handlers see it; the
 * time in seconds, as ctx.now() tells it. */
void pawl_event_json(const pawl_letter *l, pawl_buf *out) {
  pawl_object o;

  pawl_object_begin(&o, out);
  pawl_member_str(&o, "name", pawl_buf_str(&l->name));
  if (l->has_key) pawl_member_str(&o, "key", pawl_buf_str(&l->key));
  pawl_member_str(&o, "id", pawl_event_id(l));
  pawl_member_str(&o, "source", pawl_buf_str(&l->source));
  pawl_member_json(&o, "data", pawl_buf_str(&l->data));
  pawl_member(&o, "received_at");
  pawl_json_add_float(out, (double)l->received_us / 1e6);
  pawl_object_end(&o);
}

/* Whoever sends events would have the host pay for a limited `match` that is
 * over its limits, once for each. */
static int is_over_limit(const pawl_decision *d, const pawl_error *err) {
  return d->def->is_limited && err->code == PAWL_LIMIT;
}

/* Told once, it is not offered again; an escalation never is. */
static void remember(pawl_decision *d, int k, const pawl_letter *l) {
  if (pawl_letter_is(l, "event"))
    pawl_asked_add(pawl_tok(d, k), pawl_buf_str(&l->event_id));
}

/* Does the wait's own `match` want it? An error in it leaves the event and is
 * recorded; one of a limit is the wait's. */
static int asks_match(pawl_decision *d, int k, const pawl_node *node,
                      const pawl_letter *l, pawl_str event) {
  pawl_str none = {0};
  pawl_error err = {0};
  pawl_record *r;

  if (!node->has_match) return 1;
  if (pawl_run_handler_on(d, k, node, PAWL_HANDLER_MATCH, event, none, &err) ==
      PAWL_OK) {
    if (d->result->truth) return 1;
  } else if (is_over_limit(d, &err)) {
    pawl_fail_token(d, k, &err, 0);
    return 0;
  } else {
    r = pawl_token_record(d, k, "refused");
    pawl_buf_addf(&r->text, "`match` failed for event \"%s\"",
                  l->name.len ? l->name.at : "");
    pawl_plan_error(&r->error, &err, d->result);
  }
  remember(d, k, l);
  return 0;
}

/* As it was sent, beside what it changed: {"event":{"id","source","key"}}. */
void pawl_event_note(pawl_record *r, const pawl_letter *l) {
  pawl_buf *out = &r->changes;
  pawl_object o;

  if (out->len > 2) {
    out->len--;
    pawl_buf_addz(out, ",\"event\":");
  } else {
    pawl_buf_set(out, pawl_strz("{\"event\":"));
  }
  pawl_object_begin(&o, out);
  pawl_member_str(&o, "id", pawl_event_id(l));
  if (l->source.len) pawl_member_str(&o, "source", pawl_buf_str(&l->source));
  if (l->has_key) pawl_member_str(&o, "key", pawl_buf_str(&l->key));
  pawl_object_end(&o);
  pawl_buf_addc(out, '}');
}

/* What whoever asked is told: who asks is no other source. */
void pawl_event_tell(pawl_decision *d, const pawl_letter *l,
                     const char *member, pawl_str value) {
  pawl_buf told = {.alloc = d->alloc};
  pawl_object o;

  if (l->source.len) return;
  pawl_object_begin(&o, &told);
  pawl_member_json(&o, member, value);
  pawl_object_end(&o);
  pawl_publish(d, pawl_event_id(l), pawl_buf_str(&told), 1);
  if (told.failed) d->plan.failed = 1;
  pawl_buf_deinit(&told);
}

/* The wait goes on, and is not asked again. An error of a limit is the wait's,
 * and one that passes nobody's: the event stays for when it is tried again.
 * `why`: of the last refusal. */
pawl_reception pawl_event_refuse(pawl_decision *d, int k, const pawl_letter *l,
                                 const char *by, const pawl_error *err,
                                 pawl_buf *why) {
  pawl_record *r;

  if (is_over_limit(d, err) || pawl_failure_passes(err) != PAWL_PASSES_NOT) {
    pawl_fail_token(d, k, err, 0);
    return PAWL_LEFT;
  }
  remember(d, k, l);
  r = pawl_token_record(d, k, "refused");
  pawl_buf_addf(&r->text, "`%s` refused event \"%s\"", by,
                l->name.len ? l->name.at : "");
  pawl_plan_error(&r->error, err, d->result);
  pawl_event_note(r, l);
  pawl_buf_set(why, pawl_buf_str(&r->error));
  return PAWL_REFUSED;
}

static pawl_reception ask_answer(pawl_decision *d, int k,
                                 const pawl_node *node, const pawl_letter *l,
                                 pawl_str event, pawl_buf *why) {
  pawl_str none = {0};
  pawl_error err = {0};

  if (!node->has_answer) return PAWL_RECEIVED;
  if (pawl_run_handler_on(d, k, node, PAWL_HANDLER_ANSWER, event, none,
                          &err) != PAWL_OK)
    return pawl_event_refuse(d, k, l, "answer", &err, why);
  pawl_event_tell(d, l, "value",
                  d->result->has_output ? pawl_buf_str(&d->result->output)
                                        : pawl_strz("null"));
  return PAWL_RECEIVED;
}

/* Its row's index in the plan. */
static int record_event(pawl_decision *d, int k, const pawl_node *node,
                        const pawl_letter *l, pawl_str data) {
  pawl_record *r = pawl_token_record(d, k, "received");

  pawl_buf_adds(&r->text, pawl_buf_str(&l->name));
  pawl_buf_adds(&r->by, pawl_buf_str(&l->by));
  if (node->nnext > 1) pawl_buf_addz(&r->transition, "received");
  r->due_us = pawl_tok(d, k)->due_us;
  pawl_take_output(d, node, r, data);
  pawl_event_note(r, l);
  return d->plan.nrecords - 1;
}

/* The token that goes on with an event; -1: none does. A boundary that begins
 * a lane waits on, and there may be more for it. */
static int received(pawl_decision *d, int k, const pawl_node *node) {
  pawl_token *t;

  if (pawl_node_is_lane(node)) {
    pawl_look_again(d);
    return pawl_boundary_lane(d, k);
  }
  pawl_stop_waiting(d, k, NULL);
  t = pawl_tok(d, k);
  pawl_detail_drop(t, PAWL_DETAIL_key);
  pawl_asked_clear(t);
  if (node->host >= 0) pawl_boundary_interrupt(d, k);
  return k;
}

/* Of those that wait for it in other instances one has it. What the store
 * cannot tell now is asked again. */
static pawl_reception claim(pawl_decision *d, const pawl_node *node,
                            const pawl_letter *l) {
  pawl_error unsaid;
  int taken = 0;

  if (!node->take_one || l->addressed || !l->has_key) return PAWL_RECEIVED;
  if (d->world->claim(d->world->ud, d, l, pawl_event_id(l), &taken, &unsaid) !=
      PAWL_OK) {
    pawl_look_again(d);
    return PAWL_LEFT;
  }
  return taken ? PAWL_RECEIVED : PAWL_ELSEWHERE;
}

/* `why`: it was refused. */
static pawl_reception receive(pawl_decision *d, int k, const pawl_node *node,
                              const pawl_letter *l, pawl_str event,
                              pawl_buf *why) {
  pawl_str data = l->data.len ? pawl_buf_str(&l->data) : pawl_strz("null");
  int to = pawl_node_next(node, "", 0);
  pawl_error err = {0};

  if (pawl_output_fits(d, node, data, &err) != PAWL_OK) {
    pawl_fail_token(d, k, &err, 0);
    return PAWL_RECEIVED;
  }
  if (pawl_spend(d, PAWL_QUOTA_EVENTS, 1, &err) != PAWL_OK) {
    pawl_fail_token(d, k, &err, 0);
    return PAWL_LEFT;
  }
  pawl_reception how = claim(d, node, l);
  if (how == PAWL_RECEIVED) how = ask_answer(d, k, node, l, event, why);
  if (how != PAWL_RECEIVED) return how;
  if (to < 0) to = pawl_node_next(node, "received", 8);
  const int record = record_event(d, k, node, l, data);
  k = received(d, k, node);
  if (k < 0) return PAWL_RECEIVED;
  pawl_buf_set(&pawl_tok(d, k)->event, event);
  d->plan.outcome = "received";
  pawl_order_note(d, k, l->received_us);
  pawl_leave_by(d, k, to, record);
  pawl_trace_wait(d, k, node);
  return PAWL_RECEIVED;
}

static pawl_reception hear(pawl_decision *d, int k, const pawl_node *node,
                           const pawl_letter *l, pawl_str event,
                           pawl_buf *why) {
  pawl_str data = l->data.len ? pawl_buf_str(&l->data) : pawl_strz("null");
  pawl_error err = {0};

  if (node->accepts.at &&
      pawl_types_fit(node->accepts, data, "data", &err) != PAWL_OK) {
    pawl_said_clear(d->result); /* of whoever failed before */
    return pawl_event_refuse(d, k, l, "accepts", &err, why);
  }
  if (!asks_match(d, k, node, l, event)) return PAWL_LEFT;
  return receive(d, k, node, l, event, why);
}

/* What a look has found for it is news, once: to know this of every other one
 * its list is searched. */
static int was_asked(const pawl_token *t, pawl_letter *l) {
  int is_news = l->news_for == t->no;
  if (is_news) l->news_for = 0;
  return !is_news && pawl_asked_has(t, pawl_buf_str(&l->event_id));
}

/* That which the event is for, the token's own first; PAWL_NEARS: neither. */
static pawl_ear which_ear(const pawl_token *t, const pawl_node *node,
                          const pawl_letter *l) {
  pawl_ear ear = PAWL_EAR_OWN;

  for (; ear < PAWL_NEARS; ear++) {
    const char *event = pawl_node_listens(node, ear);
    if (event && pawl_detail_has(t, pawl_ear_key(ear)) &&
        pawl_event_matches(event, pawl_buf_str(&l->name)) &&
        pawl_event_fits(l, pawl_ear_heard(t, ear)))
      break;
  }
  return ear;
}

/* What waits for one of its own is assigned those until then. */
void pawl_wait_moved(pawl_decision *d, int k) {
  const pawl_token *t = pawl_tok(d, k);
  const pawl_node *node =
      t->state == PAWL_TOKEN_WAITING ? pawl_tok_node(d, k) : NULL;

  if (node && is_alone(node) && pawl_detail_has(t, pawl_ear_key(PAWL_EAR_OWN)))
    pawl_listen_free(d, k, node);
}

/* K7: it is dealt with. It was assigned to one of them, whichever has taken
 * it. */
static void free_others(pawl_decision *d, const pawl_letter *l) {
  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    const pawl_token *t = pawl_tok(d, k);
    const pawl_node *node =
        t->state == PAWL_TOKEN_WAITING ? pawl_tok_node(d, k) : NULL;
    if (node && is_alone(node) && which_ear(t, node, l) == PAWL_EAR_OWN)
      pawl_listen_free(d, k, node);
  }
}

/* A wait for a key takes nothing before somebody has looked for what is kept
 * for it, which may be older. */
int pawl_event_give(pawl_decision *d, pawl_letter *l) {
  pawl_buf event = {.alloc = d->alloc}, why = {.alloc = d->alloc};
  int n = d->plan.state.tokens.n, received = 0, is_gone = 0;

  pawl_event_json(l, &event);
  for (int k = 0; k < n; k++) {
    const pawl_token *t = pawl_tok(d, k);
    if (pawl_is_over(d)) break;
    if (t->state != PAWL_TOKEN_WAITING || t->blind) continue;
    const pawl_node *node = pawl_tok_node(d, k);
    const pawl_ear ear = node ? which_ear(t, node, l) : PAWL_NEARS;
    if (ear == PAWL_NEARS || (t->due_us && l->received_us > t->due_us) ||
        was_asked(t, l))
      continue;
    const int is_one = ear == PAWL_EAR_OWN && node->take_one;
    if (is_one && is_gone) continue;
    const pawl_reception how =
        ear == PAWL_EAR_MOVE
            ? pawl_reschedule(d, k, node, l, pawl_buf_str(&event), &why)
            : pawl_kind_of(d, node)->hear(d, k, node, l, pawl_buf_str(&event),
                                          &why);
    is_gone |= how == PAWL_ELSEWHERE || (is_one && how == PAWL_RECEIVED);
    received |= how == PAWL_RECEIVED;
  }
  /* whom nobody has taken, and somebody refused, is done with */
  if (!received && why.len) pawl_event_tell(d, l, "error", pawl_buf_str(&why));
  received |= why.len > 0 || is_gone;
  if (received && !pawl_is_over(d)) free_others(d, l);
  if (event.failed || why.failed) d->plan.failed = 1;
  pawl_buf_deinit(&event);
  pawl_buf_deinit(&why);
  return received;
}

const pawl_kind_rules pawl_kind_wait = {.enter = enter,
                                        .stop = stop,
                                        .hear = hear,
                                        .time_out = pawl_time_out,
                                        .transfer = transfer,
                                        .gives = 1};
