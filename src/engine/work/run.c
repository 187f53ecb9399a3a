#include "run.h"

#include <assert.h>
#include <string.h>

#include "../../rules/decide.h"
#include "../../rules/kinds.h"
#include "../common/names.h"
#include "../common/time.h"
#include "await.h"
#include "breaks.h"
#include "heartbeat.h"
#include "quota.h"
#include "services.h"
#include "spin.h"
#include "taker.h"
#include "told.h"
#include "trim.h"

#define TURN_US (50 * 1000) /* tokens of one instance take turns that long */

/* ---- what decisions see ---- */

static int64_t now(void *ud) {
  return pawl_engine_now(ud);
}

static double random_part(void *ud) {
  return pawl_engine_random(ud);
}

static const char *name(void *ud, pawl_str text) {
  return pawl_engine_intern(ud, text);
}

/* By the turn, not by the step: an instance of many tokens would keep the
 * others waiting for as long as one of its tokens can go on. */
static int is_late(void *ud, const pawl_decision *d) {
  const pawl_engine *e = ud;
  (void)d;
  return pawl_clock_mono() - e->turn_mono_us > TURN_US || e->interrupted;
}

/* Averages take an eighth of each new time: one slow run does not make a node
 * slow, and a node that has become so shows within a few. */
static void stepped(void *ud, const pawl_decision *d, int32_t token,
                    pawl_node *node) {
  pawl_engine *e = ud;
  const pawl_held *h = pawl_held_of((pawl_decision *)d);
  int64_t took = h->flight.busy_us;

  pawl_spin_step(e, h, token, node->name);
  e->run_avg_us += (took - e->run_avg_us) / 8;
  node->run_avg_us += (took - node->run_avg_us) / 8;
  if (e->stats) e->stats->steps++;
}

static void trace(void *ud, const pawl_decision *d, const char *node,
                  const char *kind, int64_t elapsed_us, const char *outcome,
                  const char *detail, int64_t due_us) {
  pawl_engine_trace(ud, d, node, kind, elapsed_us, outcome, detail, due_us);
}

/* ---- handlers ---- */

/* How long it may take with all that it waits: as its node says, and as its
 * trust lets it. */
static int64_t limit_of(const pawl_held *h, const pawl_question *q) {
  const int64_t us = pawl_token_timeout(q->token, q->node);
  const pawl_def *def = h->d.def;

  return def->is_limited && def->wait_us < us ? def->wait_us : us;
}

/* One that may wait; when it does, the slot keeps it. */
static pawl_code begin(pawl_engine *e, pawl_held *h, const pawl_question *q,
                       const pawl_call *c, int *waits, pawl_error *err) {
  int64_t began = pawl_clock_mono(), await_now = pawl_await_now(e);
  pawl_flight *f = &h->flight;
  pawl_run *run;

  memset(f, 0, sizeof *f);
  /* those of a plan may never be stored: then they are compared */
  f->vars_no = h->d.plan.vars_changed ? -1 : h->vars_no;
  f->handler = q->handler;
  f->token = q->token->no;
  f->visit = q->token->visit;
  f->attempt = q->token->attempt;
  f->began_us = h->d.began_us = pawl_engine_now(e);
  f->since_us = await_now;
  const int64_t limit_us = limit_of(h, q);
  f->is_cut = limit_us < pawl_token_timeout(q->token, q->node);
  f->until_us =
      await_now < PAWL_NEVER - limit_us ? await_now + limit_us : PAWL_NEVER;
  pawl_code rc = pawl_host_begin(e->host, c, &e->result, &run, err);
  f->began_mono_us = began;
  f->waits_us = 0;
  f->busy_us = h->d.took_us = pawl_clock_mono() - began;
  h->d.passed_us = pawl_await_now(e) - await_now;
  *waits = run != NULL;
  if (run) pawl_await_begin(e, h, run);
  return rc;
}

/* By `next = "node"`, which has no name to return. */
static int has_one_way(const pawl_node *node) {
  return node->nnext == 1 && !node->next[0].name[0];
}

/* `parent`: room for its id. */
static void fill_call(pawl_engine *e, pawl_held *h, const pawl_question *q,
                      char parent[37], pawl_call *c) {
  const pawl_token *t = q->token;

  memset(c, 0, sizeof *c);
  c->executor = pawl_strz(e->executor_text);
  c->group = pawl_strz(e->config.group);
  if (h->d.has_parent) {
    pawl_id_format(&h->d.parent, parent);
    c->parent = pawl_strz(parent);
  }
  c->ref = h->d.def->host_ref;
  c->node = q->node->name;
  c->handler = q->handler;
  c->id = h->d.id_text;
  c->workflow = h->d.workflow.at;
  c->version = h->d.version;
  c->attempt = t->attempt + 1;
  c->visit = t->visit;
  c->token = t->no;
  c->branch = t->branch;
  c->data = pawl_buf_str(&t->data);
  c->event = q->event;
  c->output = q->output;
  c->error = q->error;
  if (h->has_tenant) c->tenant = pawl_buf_str(&h->tenant);
  if (h->has_correlation) c->correlation = pawl_buf_str(&h->correlation);
  c->vars = pawl_vars_now(&h->d);
  c->input = h->d.input.len ? pawl_buf_str(&h->d.input) : pawl_strz("{}");
  c->services = &pawl_engine_services;
  c->services_ud = e;
  c->owner = h;
  c->transactional = e->unit && q->handler == PAWL_HANDLER_RUN;
  c->one_way = has_one_way(q->node);
}

static int is_aloft(void *ud, const pawl_decision *d, const pawl_token *t) {
  (void)ud;
  return pawl_await_is_aloft(pawl_held_of((pawl_decision *)d), t);
}

static pawl_code ask(void *ud, pawl_decision *d, const pawl_question *q,
                     int *waits, pawl_error *err) {
  pawl_engine *e = ud;
  pawl_held *h = pawl_held_of(d);
  char parent[37];
  pawl_call c;
  pawl_code rc;

  assert(!e->unit || e->unit->owner == h);
  if (d->def->host_ref < 0) /* a graph alone: PAWL_TURN_LETTERS */
    return pawl_fail(err, PAWL_INTERNAL, "no code was loaded for a handler");
  fill_call(e, h, q, parent, &c);
  h->was_due_us = 0;
  h->d.lines = 0;
  /* for no longer than it may take: who hangs loses his leases */
  pawl_heartbeat_begin(e->heartbeat, limit_of(h, q));
  if (pawl_handler_is_pure(q->handler))
    rc = pawl_host_run(e->host, &c, &e->result, err);
  else
    rc = begin(e, h, q, &c, waits, err);
  pawl_heartbeat_end(e->heartbeat);
  return rc;
}

void pawl_run_init_world(pawl_engine *e) {
  e->breaks.alloc = &e->alloc;
  e->breaks_due = -1;
  e->world = (pawl_world){.ud = e,
                          .kinds = pawl_kinds,
                          .alloc = &e->alloc,
                          .refusals = &e->refusals,
                          .ids = &e->ids,
                          .result = &e->result,
                          .max_bytes = e->config.max_bytes,
                          .recoveries = e->config.recoveries,
                          .unknown_fail = e->config.unknown_fail,
                          .now = now,
                          .random = random_part,
                          .name = name,
                          .ask = ask,
                          .is_aloft = is_aloft,
                          .spend = pawl_quota_spend,
                          .claim = pawl_taker_claim,
                          .stops = pawl_breaks_stop,
                          .stepped = stepped,
                          .is_late = is_late,
                          .trace = trace};
}

/* ---- deciding ---- */

static void prepare(pawl_engine *e, pawl_held *h) {
  assert(!e->unit || h->d.turn != PAWL_TURN_LETTERS);
  if (h->d.turn != PAWL_TURN_LETTERS)
    h->d.turn = e->unit ? PAWL_TURN_UNIT : PAWL_TURN_WHOLE;
  h->d.may_wait = pawl_await_has_place(e, h);
}

static void note_plan(pawl_engine *e, pawl_held *h) {
  assert(h->state == PAWL_SLOT_READY ||
         h->state == PAWL_SLOT_PLANNED); /* L1 */
  h->state = PAWL_SLOT_PLANNED;
  h->beside_us = h->d.plan.look_us;
  if (h->d.plan.rests) pawl_spin_rest(e, h);
  if (h->d.def && h->d.def->keep_history) pawl_trim_note(e, h);
}

void pawl_step_run(pawl_engine *e, pawl_held *h) {
  assert(h->loaded == PAWL_LOADED && h->look == PAWL_LOOK_NO); /* N6 */
  e->turn_mono_us = pawl_clock_mono();
  prepare(e, h);
  if (pawl_decide(&h->d)) {
    note_plan(e, h);
    return;
  }
  h->beside_us = h->d.plan.look_us;
  if (!pawl_decision_saw_all(&h->d)) pawl_held_look(h, PAWL_LOOK_AGAIN);
}

void pawl_step_hear(pawl_engine *e, pawl_held *h) {
  prepare(e, h);
  pawl_decide_hear(&h->d);
  note_plan(e, h);
}

void pawl_step_fail(pawl_engine *e, pawl_held *h, const pawl_error *why) {
  prepare(e, h);
  h->d.took_us = pawl_clock_mono() - h->flight.began_mono_us;
  pawl_decide_failed(&h->d, why);
  note_plan(e, h);
}

int pawl_step_refused(pawl_engine *e, pawl_held *h, const pawl_error *why) {
  prepare(e, h);
  int again = pawl_decide_refused(&h->d, why);
  note_plan(e, h);
  return again;
}

/* ---- handlers that have waited ---- */

/* The variables that it had, if there are others by now; without memory for
 * them it has failed, as for a moment. */
static int keep_base(pawl_engine *e, const pawl_held *h, const pawl_run *run) {
  if (h->flight.vars_no == h->vars_no) return 0;
  pawl_buf_set(&e->base, pawl_run_vars(run));
  return 1;
}

static void returned(pawl_engine *e, pawl_held *h, int has_base, pawl_code rc,
                     pawl_error *err) {
  const pawl_str base =
      has_base ? pawl_buf_str(&e->base) : (pawl_str){NULL, 0};
  if (has_base && rc == PAWL_OK) rc = pawl_buf_check(&e->base, err);
  prepare(e, h);
  h->d.began_us = h->flight.began_us;
  h->d.took_us = pawl_clock_mono() - h->flight.began_mono_us;
  h->d.passed_us = pawl_await_now(e) - h->flight.since_us;
  pawl_decide_returned(&h->d, h->flight.handler, h->flight.token, base, rc,
                       err);
  note_plan(e, h);
}

void pawl_step_resume(pawl_engine *e, pawl_flight *waiting, int events,
                      const pawl_error *why) {
  pawl_held *h = waiting->owner;
  pawl_run *run = pawl_await_take(e, waiting);
  pawl_flight *f = &h->flight;
  int64_t began = pawl_clock_mono(), left = f->until_us - pawl_await_now(e);
  pawl_error err = {0};

  const int has_base = keep_base(e, h, run);
  pawl_heartbeat_begin(e->heartbeat, left > 0 ? left : 0);
  pawl_code rc = pawl_host_resume(&run, events, why, &e->result, &err);
  pawl_heartbeat_end(e->heartbeat);
  f->busy_us += pawl_clock_mono() - began;
  if (run)
    pawl_await_begin(e, h, run);
  else
    returned(e, h, has_base, rc, &err);
}

/* What it had told so far goes with it: a step that has failed has no
 * effects. */
void pawl_step_abandon(pawl_engine *e, pawl_flight *waiting,
                       const pawl_error *why) {
  pawl_held *h = waiting->owner;
  pawl_error err = *why;
  pawl_host_abandon(pawl_await_take(e, waiting));
  pawl_said_clear(&e->result);
  returned(e, h, 0, err.code, &err);
}

int64_t pawl_step_expected_us(const pawl_held *h) {
  const pawl_node *node = pawl_decide_next_step(&h->d, 0);
  return node ? node->run_avg_us : 0;
}
