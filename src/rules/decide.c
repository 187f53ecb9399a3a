/* One decision: what came in is taken, what has timed out goes on, what is
 * active runs, and all that follows is written into the plan. Touches
 * neither host nor store.
 *
 *   ended?  --> taken over? --> letters --> suspended? --> poisoned?
 *   --> unknown workflow? --> deadline? --> undoing? --> first step?
 *   --> misplaced? --> times that have come; if any, that is the decision
 *   --> else each active token runs one step
 *
 * What was decided by the letters and the clock alone, and may come out
 * otherwise when something else comes in meanwhile, is committed before any
 * step runs, so that it can be decided again without losing a handler's result
 * (rule 6). */
#include <assert.h>
#include <inttypes.h>

#include "../value/types.h"
#include "machine.h"
#include "order.h"
#include "way.h"

#define TOKENS_A_TURN 64

/* ---- the plan's beginning ---- */

/* A plan that, so far, leaves the instance as it is. */
static void plan_begin(pawl_decision *d) {
  pawl_plan *p = &d->plan;

  assert(d->world && d->alloc == d->plan.alloc);
  pawl_plan_reset(p);
  d->base = (pawl_str){NULL, 0};
  p->refusals = *d->world->refusals;
  if (!pawl_state_copy(&p->state, &d->state, p->alloc)) p->failed = 1;
  for (int k = 0; k < p->state.tokens.n; k++) p->state.tokens.at[k].blind = 0;
  if (!p->state.visit) p->state.last_token = 0; /* 1 before it begins */
  p->heard = !d->nletters;
  if (!p->state.started_us) p->state.started_us = pawl_decision_now(d);
}

/* ---- nodes entered by themselves ---- */

/* Any other node, entered by itself: at the start of an instance, when it
 * failed behind the step before, or was put there by hand. */
static void run_routing(pawl_decision *d, int k, const char *type) {
  pawl_plan *p = &d->plan;
  const pawl_node *node = pawl_tok_node(d, k);
  int64_t began_us = pawl_decision_now(d);
  pawl_error err = {0};
  pawl_buf path = {.alloc = d->alloc};
  int record = p->nrecords, no;

  pawl_said_drop_failure(d->result);
  no = pawl_tok(d, k)->no;
  /* no row before it names it, also where it had failed at first */
  if (!strcmp(type, "started") ||
      (pawl_tok(d, k)->visit == 1 && pawl_way_tells(node)))
    pawl_buf_addz(&path, node->name);
  pawl_record *r = pawl_token_record(d, k, type);
  r->started_us = began_us;
  pawl_code rc = pawl_enter(d, k, &path, &err);
  if (rc != PAWL_OK) {
    if (p->nrecords == record + 1 && pawl_tok(d, k)->node == node->name) {
      /* nothing of it happened but the failure */
      const pawl_buf *from = &p->records[record].previous;
      if (from->len)
        pawl_detail_put(pawl_tok(d, k), PAWL_DETAIL_from, pawl_buf_str(from));
      p->nrecords = record;
    }
    pawl_fail_token(d, k, &err, began_us);
  } else {
    r = pawl_plan_record_at(p, record);
    r->token = no;
    r->attempt = 1;
    r->completed_us = pawl_decision_now(d);
    if (pawl_tok_live(d, k) || p->after == PAWL_AFTER_END)
      r->node = pawl_tok(d, k)->node; /* where that led */
    r->visit = pawl_tok(d, k)->visit;
    r->due_us = pawl_tok(d, k)->due_us;
    pawl_buf_adds(&r->path, pawl_buf_str(&path));
    p->outcome = "done";
  }
  if (rc != PAWL_OK)
    pawl_trace_step(d, node, 0, k);
  else if (p->after == PAWL_AFTER_END)
    pawl_decision_trace(d, node->name, pawl_kind_name(node->kind), 0,
                        p->outcome, path.at ? path.at : "", 0);
  pawl_buf_deinit(&path);
}

/* ---- what stands before running ---- */

static void record_recovery(pawl_decision *d) {
  char from[37];
  pawl_record *r = pawl_instance_record(d, "recovered");
  pawl_id_format(&d->taken_from, from);
  pawl_buf_addf(&r->text, "taken over from executor %s (takeover %d)", from,
                d->takeovers);
  d->plan.resets = 0; /* a takeover is no progress */
}

static void plan_poisoned(pawl_decision *d) {
  pawl_error err;
  pawl_fail(&err, PAWL_POISONED, "its worker died %d times in a row%s%s%s",
            d->takeovers, d->state.node ? " at node \"" : "",
            d->state.node ? d->state.node : "", d->state.node ? "\"" : "");
  pawl_error_hint(&err,
                  "find out what kills the process; `pawl cancel` ends "
                  "the instance");
  pawl_suspend(d, &err);
  pawl_trace_verdict(d);
}

static void plan_unknown(pawl_decision *d) {
  pawl_error err;
  if (d->version)
    pawl_fail(&err, PAWL_NO_HANDLER,
              "nobody knows workflow \"%s\" version %" PRId64, d->workflow.at,
              d->version);
  else
    pawl_fail(&err, PAWL_NO_HANDLER, "nobody knows workflow \"%s\"",
              d->workflow.at);
  pawl_error_hint(&err, "load its file in a worker, then start it again");
  pawl_fail_outright(d, &err);
  pawl_trace_verdict(d);
}

/* Letters brought it here that change nothing now: whoever knows it looks. */
static void leave_unknown(pawl_decision *d) {
  d->plan.after = PAWL_AFTER_BACK;
  d->plan.look_us = pawl_decision_now(d);
}

static void plan_deadline(pawl_decision *d) {
  pawl_error err;
  pawl_record *r = pawl_instance_record(d, "deadline");
  r->due_us = d->state.deadline_us;
  pawl_fail(&err, PAWL_TIMEOUT, "the instance passed its deadline");
  pawl_copy_text(err.raised, sizeof err.raised, "deadline");
  pawl_buf_clear(&d->plan.error);
  pawl_plan_error(&d->plan.error, &err, NULL);
  pawl_buf_adds(&r->error, pawl_buf_str(&d->plan.error));
  pawl_set_detail(&d->plan, &err);
  d->plan.outcome = "failed";
  d->plan.needs_latch = 1;
  pawl_end_undoing(d, PAWL_STATUS_FAILED, d->def->compensate);
  pawl_trace_verdict(d);
}

static void plan_busy(pawl_decision *d) {
  pawl_error err;
  pawl_fail(&err, PAWL_LIMIT,
            "%" PRId64 " steps in a row without waiting for anything",
            d->state.immediate);
  pawl_copy_text(err.raised, sizeof err.raised, "busy_loop");
  pawl_error_hint(&err, "let it wait, or raise the workflow's busy_limit");
  pawl_suspend(d, &err);
  d->plan.state.immediate = 0;
  pawl_trace_verdict(d);
}

/* Nothing can come that it would go on with, or its time would be up for ever.
 */
static int is_misplaced(pawl_decision *d, int k) {
  const pawl_token *t = pawl_tok(d, k);
  const pawl_node *node;

  if (!pawl_token_is_live(t->state)) return 0;
  node = pawl_tok_node(d, k);
  if (!node || t->state == PAWL_TOKEN_ACTIVE) return !node;
  return !pawl_kind_shapes[node->kind].waits_for ||
         (t->due_us && !pawl_kind_of(d, node)->time_out);
}

/* Its index; -1: each stands where it can. */
static int find_misplaced(pawl_decision *d) {
  for (int k = 0; k < d->plan.state.tokens.n; k++)
    if (is_misplaced(d, k)) return k;
  return -1;
}

/* The store was edited by hand: nobody who knows the definition can go on. */
static void plan_misplaced(pawl_decision *d) {
  const int k = find_misplaced(d);
  const pawl_token *t = pawl_tok(d, k);
  const pawl_node *node = pawl_tok_node(d, k);
  pawl_error err;

  if (node)
    pawl_fail(&err, PAWL_DEFINITION, "token %d waits at %s \"%s\" %s", t->no,
              pawl_kind_name(node->kind), node->name,
              pawl_kind_shapes[node->kind].waits_for
                  ? "for a time, which that has not"
                  : "where nothing waits");
  else
    pawl_fail(&err, PAWL_DEFINITION,
              "token %d stands at node \"%s\", and workflow \"%s\" version "
              "%" PRId64 " has no such node",
              t->no, t->node, d->workflow.at, d->version);
  pawl_error_hint(&err, "`pawl move` puts it at another node; then resume it");
  pawl_suspend(d, &err);
  pawl_trace_verdict(d);
}

/* The first token comes into being with the first decision. -1: out of
 * memory. */
static int first_token(pawl_decision *d) {
  pawl_plan *p = &d->plan;
  const pawl_node *node = &d->def->nodes[d->def->start];
  int k = pawl_token_new(d, -1);

  if (k < 0) return k;
  pawl_token *t = pawl_tok(d, k);
  t->node = node->name;
  t->visit = ++p->state.visit;
  p->state.node = node->name;
  p->state.status = PAWL_STATUS_RUNNING;
  const int64_t lasts_us = pawl_decision_lasts(d);
  if (lasts_us > 0)
    p->state.deadline_us = pawl_time_after(pawl_decision_now(d), lasts_us);
  return k;
}

/* A function says when its deadline is: asked once, before its first node, and
 * kept as if its start had said so. 0: it has failed, and the next attempt asks
 * again; who has come from there, as the error led it on, does not. */
static int is_dated(pawl_decision *d, int k) {
  pawl_state *s = &d->plan.state;
  pawl_error err;

  if (!d->def->has_deadline || s->lasts || s->deadline_us ||
      pawl_tok(d, k)->previous)
    return 1;
  if (pawl_run_handler(d, k, &d->def->nodes[d->def->start],
                       PAWL_HANDLER_DEADLINE, &err) != PAWL_OK) {
    pawl_fail_token(d, k, &err, 0);
    return 0;
  }
  s->lasts = d->result->has_lasts ? d->result->lasts_us : PAWL_LASTS_FOR_EVER;
  if (!d->result->has_lasts) return 1;
  s->deadline_us = pawl_time_after(s->started_us, s->lasts);
  /* nobody could keep one that had passed when it was said */
  if (s->deadline_us <= pawl_decision_now(d))
    s->deadline_us = pawl_time_after(pawl_decision_now(d), s->lasts);
  return 1;
}

/* Who started it may not have known what it takes, as a parent or an event
 * need not: then it fails before its first step. 1: so it does. */
static int has_wrong_input(pawl_decision *d) {
  pawl_str input = d->input.len ? pawl_buf_str(&d->input) : pawl_strz("{}");
  pawl_error err;

  if (!d->def->input.at ||
      pawl_types_fit(d->def->input, input, "input", &err) == PAWL_OK)
    return 0;
  pawl_fail_outright(d, &err);
  pawl_trace_verdict(d);
  return 1;
}

/* Nor who led to it: an event, or one that is trusted, asks for no limit of its
 * own. */
static int has_too_many_ancestors(pawl_decision *d) {
  pawl_error err;

  if (pawl_ancestors_bear(d, &err) == PAWL_OK) return 0;
  pawl_fail_outright(d, &err);
  pawl_trace_verdict(d);
  return 1;
}

static void begin(pawl_decision *d) {
  int k;

  if (has_wrong_input(d) || has_too_many_ancestors(d)) return;
  k = first_token(d);
  if (k < 0 || pawl_halts(d, k) || !is_dated(d, k)) return;
  if (d->def->nodes[d->def->start].kind == PAWL_KIND_STEP)
    pawl_step_enter(d, k, d->def->start);
  else
    run_routing(d, k, "started");
}

/* It was claimed for what has come for it, before its time. */
static int is_delayed(const pawl_decision *d) {
  return d->state.begin_us > pawl_decision_now(d);
}

static int is_due(const pawl_decision *d, const pawl_token *t) {
  return t->state == PAWL_TOKEN_ACTIVE &&
         (!t->due_us || t->due_us <= pawl_decision_now(d)) &&
         !pawl_is_aloft(d, t);
}

/* Not while handlers wait, which may have done what it is to undo: no others
 * begin until they are back (pawl_decide_beside). */
static void begin_undo(pawl_decision *d, int k) {
  if (!d->naloft) pawl_undo_begin_part(d, k);
}

static void run_token(pawl_decision *d, int k) {
  const pawl_node *node = pawl_tok_node(d, k);

  assert(node); /* or it would be misplaced */
  d->plan.state.node = node->name;
  if (!is_dated(d, k)) return;
  if (node->kind == PAWL_KIND_STEP)
    pawl_step_enter(d, k, (int)(node - d->def->nodes));
  else if (node->kind == PAWL_KIND_UNDO)
    begin_undo(d, k);
  else if (node->kind == PAWL_KIND_ESCALATE)
    pawl_escalate_run(d, k);
  else
    run_routing(d, k, "routed");
}

/* Every token that is active now runs one step; those in need of their own
 * transaction by themselves. */
static void run_tokens(pawl_decision *d) {
  int64_t first = pawl_order_first(d, &d->plan.state.tokens); /* O3 */
  int n = d->plan.state.tokens.n, ran = 0, most = n / 4;

  /* a decision costs something for each token that is there */
  if (most < TOKENS_A_TURN) most = TOKENS_A_TURN;
  for (int k = 0; k < n; k++) {
    if (!is_due(d, pawl_tok(d, k)) ||
        !pawl_order_may_run(pawl_tok(d, k), first))
      continue;
    const pawl_node *node = pawl_tok_node(d, k);
    if ((node && node->transactional) != (d->turn == PAWL_TURN_UNIT)) continue;
    /* its time may have come since its place was looked for */
    if (!d->may_wait && pawl_wants_place(pawl_tok_node(d, k))) continue;
    if (pawl_halts(d, k)) continue;
    pawl_order_enter(d, k);
    run_token(d, k);
    pawl_joins_race(d);
    pawl_conditions_look(d, first < PAWL_NEVER ? first : 0);
    pawl_order_follow(d, NULL);
    if (pawl_is_over(d) || d->plan.state.status == PAWL_STATUS_SUSPENDED ||
        d->turn == PAWL_TURN_UNIT || (d->plan.waits && !d->may_wait))
      return;
    if (++ran >= most || d->world->is_late(d->world->ud, d)) return;
  }
}

/* ---- what comes after ---- */

/* When it must be looked at next; 0: now. */
static int64_t next_look(pawl_decision *d) {
  const pawl_plan *p = &d->plan;
  const int is_full = d->naloft && !d->may_wait;
  const int64_t first =
      is_full ? pawl_order_first(d, &p->state.tokens) : PAWL_NEVER;
  int64_t soonest = PAWL_NEVER;

  if (p->state.deadline_us && !pawl_is_undoing(d))
    soonest = p->state.deadline_us;
  for (int k = 0; k < p->state.tokens.n; k++) {
    const pawl_token *t = &p->state.tokens.at[k];
    if (!pawl_token_is_live(t->state) || pawl_is_aloft(d, t)) continue;
    if (pawl_is_undoing_part(d) && t->no != p->state.undo.token) continue;
    if (is_full && is_due(d, t) &&
        (pawl_wants_place(pawl_tok_node(d, k)) ||
         !pawl_order_may_run(t, first)))
      continue; /* whoever has a place for it looks (pawl_decide_may_wait) */
    if (is_due(d, t) || pawl_token_asks_now(t)) return 0;
    if (t->due_us && t->due_us < soonest) soonest = t->due_us;
  }
  if (!p->state.visit && p->state.begin_us > pawl_decision_now(d))
    return p->state.begin_us;
  if (d->naloft) return soonest;
  if (!pawl_tokens_live(&p->state.tokens) ||
      (pawl_is_undoing_part(d) && !p->state.undo.token))
    return 0; /* it is to begin, or undo */
  return soonest;
}

static pawl_standing live_status(const pawl_decision *d) {
  const pawl_plan *p = &d->plan;
  for (int k = 0; k < p->state.tokens.n; k++)
    if (p->state.tokens.at[k].state == PAWL_TOKEN_ACTIVE)
      return PAWL_STATUS_RUNNING;
  if (pawl_is_undoing(d)) return PAWL_STATUS_RUNNING;
  return pawl_tokens_live(&p->state.tokens) ? PAWL_STATUS_WAITING
                                            : PAWL_STATUS_RUNNING;
}

static int is_empty(const pawl_decision *d) {
  const pawl_plan *p = &d->plan;
  if (p->nrecords || p->neffects || p->vars_changed || p->version ||
      pawl_state_differs(&p->state, &d->state))
    return 0;
  for (int k = 0; k < p->state.tokens.n; k++)
    if (p->state.tokens.at[k].changed) return 0;
  return 1;
}

/* Who can receive nothing does not look into the inbox again, nor clears it at
 * the end: what lies there is noted. A workflow that this one is moved to may
 * take it; or whoever may run nodes, as we may not (`leaves`). */
static void note_mail(pawl_decision *d) {
  pawl_plan *p = &d->plan;
  int n = d->nletters;

  if (!n || (!p->leaves && (!d->def || d->def->can_receive))) return;
  for (int i = 0; i < p->neffects; i++)
    n -= p->effects[i].kind == PAWL_EFFECT_TAKE ||
         p->effects[i].kind == PAWL_EFFECT_DELETE;
  for (int k = 0; k < p->state.tokens.n && n > 0; k++) {
    if (!pawl_tok_live(d, k)) continue;
    if (!pawl_detail_of(pawl_tok(d, k))->mail)
      pawl_detail_set(pawl_tok(d, k), PAWL_DETAIL_mail, 1);
    return;
  }
}

/* Only the takeover was recorded: what the dead one had come for, letters or
 * a time, is still to be decided under this lease. */
static int recovers(const pawl_plan *p) {
  return !p->resets && p->nrecords;
}

/* Who does not know the definition cannot tell what its rules make of the
 * variables: somebody who does has to look at it. */
static int is_edited_blindly(const pawl_decision *d) {
  return !d->def && d->plan.vars_changed;
}

/* What becomes of it when it need not be looked at before then. N6: who has not
 * seen everything looks again at once; in a claim of its own, where nothing is
 * to be stored. */
static pawl_after rest(pawl_decision *d, int64_t look) {
  int is_blind = !pawl_decision_saw_all(d);

  if (d->naloft) return PAWL_AFTER_GO_ON; /* it stays here, for those */
  if (is_empty(d))
    return look == PAWL_NEVER && !is_blind ? PAWL_AFTER_FORGET
                                           : PAWL_AFTER_BACK;
  if (!look || is_blind) return PAWL_AFTER_GO_ON;
  return look == PAWL_NEVER ? PAWL_AFTER_SLEEP : PAWL_AFTER_LET_GO;
}

static pawl_after rest_suspended(pawl_decision *d) {
  pawl_plan *p = &d->plan;

  if (recovers(p) && !is_empty(d)) return PAWL_AFTER_GO_ON;
  if (pawl_is_behind(d) && !is_empty(d)) pawl_look_again(d); /* M3 */
  return rest(d, PAWL_NEVER);
}

static void finish_plan(pawl_decision *d) {
  pawl_plan *p = &d->plan;

  if (p->after == PAWL_AFTER_END && !p->stays) {
    pawl_letters_note(d);
    pawl_untaken_end(d);
  }
  if (!pawl_stays_ended(d)) pawl_request_delete_ended(d);
  pawl_failure_tell(d);
  assert(p->after != PAWL_AFTER_END || !pawl_tokens_live(&p->state.tokens));
  assert((p->after == PAWL_AFTER_END) <= /* P2 */
         pawl_status_has_ended(p->state.status));
  if (p->refusals != *d->world->refusals) p->failed = 1; /* N7 */
  if (p->after == PAWL_AFTER_BACK || p->after == PAWL_AFTER_FORGET || p->stays)
    return;
  if (p->state.visit)
    p->state.begin_us = 0;
  else
    p->state.started_us = 0; /* it has not begun */
  if (p->after == PAWL_AFTER_END) return;
  pawl_rules_watch(d);
  pawl_order_forget(d);
  pawl_conditions_keep(d);
  if (p->state.status == PAWL_STATUS_SUSPENDED) {
    p->look_us = pawl_decision_now(d);
    p->after = rest_suspended(d);
    return;
  }
  p->state.status = live_status(d);
  int64_t look = p->leaves || p->holds || recovers(p) ||
                         is_edited_blindly(d) ||
                         (d->turn == PAWL_TURN_LETTERS && pawl_eachs_wait(d))
                     ? 0
                     : next_look(d);
  /* while a part is undone nothing is taken, however often it is looked at */
  if (pawl_is_behind(d) && !(pawl_is_undoing_part(d) && is_empty(d)))
    pawl_look_again(d);
  note_mail(d);
  p->rests = look != 0;
  if (look) p->state.immediate = 0;
  p->look_us = look && pawl_decision_saw_all(d) ? look : pawl_decision_now(d);
  p->after = rest(d, look);
  if (p->version) { /* under the other definition */
    p->after = PAWL_AFTER_LET_GO;
    p->look_us = pawl_decision_now(d);
  }
}

/* ---- the decision ---- */

/* Everything that follows from what is there, with no step run. 1: that is
 * the decision. */
static int settle(pawl_decision *d) {
  int64_t until = pawl_decision_now(d) + 1;
  if (pawl_is_over(d)) return 1;
  if (d->read_us < until) until = d->read_us; /* M1: an event may be before */
  pawl_conditions_look(d, 0);
  if (!d->plan.holds) pawl_times_out(d, until, 0);
  pawl_eachs_settle(d);
  pawl_joins_settle(d);
  return pawl_is_over(d) || !is_empty(d);
}

/* After steps have run: joins and eachs that are through go on with them. */
static void settle_after(pawl_decision *d) {
  if (!d->plan.state.visit) return; /* it has not begun */
  pawl_gather(d);
  pawl_end_last(d);
}

/* Seen late, it comes behind the times that were due before, and what they, or
 * letters, have led to (O11). So may what cancels it, before the deadline. */
static void meet_deadline(pawl_decision *d) {
  const int64_t deadline_us = d->state.deadline_us;

  if (!d->plan.only_us) {
    pawl_conditions_look(d, 0);
    pawl_times_out(d, deadline_us, 0);
  }
  if (!pawl_is_over(d) && !d->plan.nrecords) {
    if (!d->plan.only_us && !pawl_late_go_first(d, deadline_us)) {
      if (!pawl_is_over(d)) plan_deadline(d);
      return;
    }
    run_tokens(d);
  }
  settle_after(d);
}

/* Does a decision lead to one plain step that could run now? */
static int leads_to_step(pawl_decision *d) {
  const pawl_plan *p = &d->plan;
  const pawl_token *t = pawl_tokens_lone(&p->state.tokens);

  if (!t || !is_due(d, t) || p->after != PAWL_AFTER_GO_ON ||
      p->state.status == PAWL_STATUS_SUSPENDED || pawl_is_undoing(d) ||
      d->turn != PAWL_TURN_WHOLE)
    return 0;
  const pawl_node *node = pawl_tok_node(d, (int)(t - p->state.tokens.at));
  return pawl_wants_place(node) && node->run_avg_us <= PAWL_SLOW_US;
}

/* May it run before the decision is stored? What that rests on, letters and
 * times, is on disk, so the same would be decided again: not where a handler
 * was asked, or the store may refuse it (docs/decisions/0024). */
static int may_go_on(const pawl_decision *d, int64_t now) {
  const pawl_plan *p = &d->plan;

  if (p->asked || p->needs_latch || p->revives || d->plan.leaves ||
      !pawl_letters_are_news(d) || d->one_by_one)
    return 0;
  if ((p->state.deadline_us && now >= p->state.deadline_us) ||
      (d->def->busy_limit && p->state.immediate >= d->def->busy_limit))
    return 0;
  return d->rounds < PAWL_BUSY_LOOP && d->may_wait;
}

static void go_on(pawl_decision *d) {
  settle_after(d);
  if (!leads_to_step(d)) return;
  if (d->takeovers) { /* it has come to this before, and then died */
    d->plan.resets = 0;
  } else if (may_go_on(d, pawl_decision_now(d))) {
    d->plan.went_on = 1;
    run_tokens(d);
    settle_after(d);
  }
}

/* It has ended and stays so. What a request has left on the record is stored;
 * requests behind one to move are for the next look, as a retry goes on in the
 * other version. */
static void stay(pawl_decision *d) {
  pawl_plan *p = &d->plan;

  p->stays = p->nrecords > 0;
  p->look_us = pawl_decision_now(d);
  if (!p->heard) {
    p->after = p->stays ? PAWL_AFTER_LET_GO : PAWL_AFTER_BACK;
    return;
  }
  p->after = p->stays ? PAWL_AFTER_SLEEP : PAWL_AFTER_FORGET;
  pawl_letters_discard(d);
}

static void decide(pawl_decision *d) {
  pawl_plan *p = &d->plan;

  if (d->taken && !pawl_status_has_ended(d->state.status)) {
    record_recovery(d);
    return;
  }
  pawl_letters_take(d);
  if (pawl_stays_ended(d)) {
    stay(d);
    return;
  }
  if (p->after == PAWL_AFTER_END || p->version ||
      p->state.status == PAWL_STATUS_SUSPENDED)
    return;
  if (d->turn == PAWL_TURN_LETTERS) return;
  if (p->nrecords || p->neffects) {
    if (d->def && !pawl_is_undoing(d)) go_on(d);
    return;
  }
  if (d->takeovers > d->world->recoveries)
    plan_poisoned(d);
  else if (!d->def && d->world->unknown_fail)
    plan_unknown(d);
  else if (!d->def)
    leave_unknown(d);
  else if (pawl_is_undoing(d))
    pawl_undo_run(d), settle_after(d);
  else if (d->state.deadline_us &&
           pawl_decision_now(d) >= d->state.deadline_us)
    meet_deadline(d);
  else if (d->def->busy_limit && d->state.immediate >= d->def->busy_limit)
    plan_busy(d);
  else if (!d->state.visit && !d->state.tokens.n && !p->revives &&
           is_delayed(d))
    return;
  else if (!d->state.visit && !d->state.tokens.n && !p->revives)
    begin(d), settle_after(d);
  else if (find_misplaced(d) >= 0)
    plan_misplaced(d);
  else if (settle(d))
    go_on(d);
  else if (d->rounds >= PAWL_BUSY_LOOP && !d->naloft) {
    p->after = PAWL_AFTER_BACK; /* others have waited long enough */
    p->look_us = pawl_decision_now(d);
  } else {
    run_tokens(d);
    settle_after(d);
  }
}

/* Beside handlers that wait: what other tokens did, and what a new instance
 * listens for. That one has come to a first step is known without. */
static int is_worth_storing(const pawl_decision *d) {
  const pawl_plan *p = &d->plan;
  for (int k = 0; d->state.visit && k < p->state.tokens.n; k++)
    if (p->state.tokens.at[k].changed) return 1; /* such as what was asked */
  return p->failed || p->nrecords || p->neffects || p->vars_changed ||
         p->attrs.len || pawl_decision_has_seldom(d);
}

int pawl_decide(pawl_decision *d) {
  plan_begin(d);
  if (!d->state.tokens.n && d->state.status != PAWL_STATUS_SUSPENDED &&
      d->state.visit && !pawl_status_has_ended(d->state.status) &&
      !pawl_is_undoing(d) && !d->nletters && d->def) {
    pawl_error err; /* the store was edited by hand */
    pawl_fail(&err, PAWL_CORRUPT, "the instance stands nowhere");
    pawl_fail_outright(d, &err);
  } else {
    decide(d);
  }
  if (d->plan.waits) (void)pawl_boundaries_settle(d); /* O5 */
  finish_plan(d);
  return !d->naloft || d->plan.after != PAWL_AFTER_GO_ON ||
         is_worth_storing(d);
}

/* ---- handlers that have waited ---- */

/* The token whose handler has ended; -1: out of memory. */
static int returned_token(pawl_decision *d, int32_t no) {
  if (!d->state.tokens.n && !d->state.visit) { /* nothing was stored yet */
    d->plan.state.started_us = d->began_us;
    return first_token(d);
  }
  for (int k = 0; k < d->plan.state.tokens.n; k++)
    if (pawl_tok(d, k)->no == no) return k;
  return -1;
}

/* It was told that its instance is cancelled, and has given up. The others
 * that wait are told, too: the last of them lets it end. */
static void give_up(pawl_decision *d, int k, const pawl_error *err) {
  pawl_record *r = pawl_token_record(d, k, "failed");
  d->plan.ran = 1;
  r->started_us = d->began_us;
  pawl_plan_error(&r->error, err, d->result);
  if (d->naloft)
    finish_plan(d);
  else
    pawl_decide_hear(d);
}

static void undo_returned(pawl_decision *d, int k, pawl_code rc,
                          pawl_error *err) {
  const pawl_node *node = k < 0 ? NULL : pawl_tok_node(d, k);
  const int goes_on = pawl_is_undoing_part(d);

  if (rc == PAWL_OK && node)
    rc = pawl_check_timeout(d, pawl_tok(d, k), node, err);
  pawl_undo_returned(d, rc, err, d->began_us);
  settle_after(d);
  finish_plan(d);
  if (goes_on && (pawl_letters_cancel(d) || d->plan.after == PAWL_AFTER_END))
    pawl_decide_hear(d);
}

/* A step's, whose token is at k. */
static void step_returned(pawl_decision *d, int k, pawl_code rc,
                          pawl_error *err) {
  const int at = (int)(pawl_tok_node(d, k) - d->def->nodes);
  const int is_late = pawl_is_undoing(d);
  const int is_cancelled = !is_late && pawl_letters_cancel(d) != NULL;

  if (is_cancelled && rc != PAWL_OK) {
    give_up(d, k, err);
    return;
  }
  if (rc == PAWL_OK)
    rc = pawl_check_timeout(d, pawl_tok(d, k), &d->def->nodes[at], err);
  pawl_order_follow(d, pawl_tok(d, k));
  pawl_step_returned(d, k, at, rc, err);
  if (!is_late) pawl_joins_race(d);
  pawl_order_follow(d, NULL);
  settle_after(d);
  finish_plan(d);
  /* letters that were read while it waited: an ending must answer them */
  if ((is_cancelled && !d->naloft) || d->plan.after == PAWL_AFTER_END)
    pawl_decide_hear(d);
}

void pawl_decide_returned(pawl_decision *d, pawl_handler handler,
                          int32_t token, pawl_str base, pawl_code rc,
                          pawl_error *err) {
  plan_begin(d);
  d->base = base;
  int k = returned_token(d, token);
  rc = pawl_spend_lines(d, rc, err);
  if (handler == PAWL_HANDLER_UNDO) {
    undo_returned(d, k, rc, err);
    return;
  }
  if (k < 0) { /* it is tried again, if memory allows */
    d->running_token = token;
    d->plan.failed = 1;
    return;
  }
  step_returned(d, k, rc, err);
}

/* Stands somebody where what was done is to be undone? */
static int undo_waits(const pawl_decision *d) {
  if (!d->def->has_undo_nodes) return 0;
  for (int k = 0; k < d->state.tokens.n; k++) {
    const pawl_token *t = &d->state.tokens.at[k];
    const int at =
        t->node ? pawl_def_node(d->def, t->node, strlen(t->node)) : -1;
    if (at >= 0 && d->def->nodes[at].kind == PAWL_KIND_UNDO && is_due(d, t))
      return 1;
  }
  return 0;
}

int pawl_decide_beside(const pawl_decision *d) {
  if (!d->state.visit || pawl_undo_is_under_way(&d->state.undo) ||
      d->state.status == PAWL_STATUS_SUSPENDED || undo_waits(d) ||
      (d->state.deadline_us && pawl_decision_now(d) >= d->state.deadline_us))
    return 0;
  return pawl_letters_go_beside(d) && !pawl_letters_cancel(d);
}

/* ---- what would run ---- */

const pawl_node *pawl_decide_next_step(const pawl_decision *d,
                                       int transactional) {
  const pawl_node *first = NULL;
  if (!d->def || d->taken || d->turn == PAWL_TURN_LETTERS ||
      d->state.status == PAWL_STATUS_SUSPENDED ||
      pawl_status_has_ended(d->state.status) ||
      pawl_undo_is_under_way(&d->state.undo))
    return NULL;
  if (!d->state.tokens.n) {
    first = d->state.visit ? NULL : &d->def->nodes[d->def->start];
    return first && first->kind == PAWL_KIND_STEP ? first : NULL;
  }
  int64_t turn = pawl_order_first(d, &d->state.tokens);
  for (int k = 0; k < d->state.tokens.n; k++) {
    pawl_token *t = &d->state.tokens.at[k];
    if (!is_due(d, t) || !t->node || !pawl_order_may_run(t, turn)) continue;
    int at = pawl_def_node_at(d->def, t->node, &t->node_at);
    if (at < 0 || d->def->nodes[at].kind != PAWL_KIND_STEP) continue;
    if (!first) first = &d->def->nodes[at];
    if (transactional && d->def->nodes[at].transactional)
      return &d->def->nodes[at];
  }
  return first;
}

int pawl_decide_is_transactional(const pawl_decision *d) {
  const pawl_node *node = pawl_decide_next_step(d, 1);
  return node && node->transactional;
}

int pawl_decide_may_wait(const pawl_decision *d) {
  if (pawl_undo_is_under_way(&d->state.undo) && d->turn != PAWL_TURN_LETTERS)
    return 1;
  const pawl_node *node = pawl_decide_next_step(d, 0);
  return node && !node->transactional;
}

/* ---- decided otherwise ---- */

void pawl_decide_hear(pawl_decision *d) {
  const pawl_letter *l = pawl_letters_cancel(d);

  d->plan.nrecords -= d->plan.nuntaken; /* told by finish_plan once more */
  d->plan.nuntaken = 0;
  pawl_failure_untell(d);
  if (l && d->naloft && d->plan.after != PAWL_AFTER_END) {
    /* they are told, and it ends behind the last of them */
  } else if (l && d->plan.state.status != PAWL_STATUS_CANCELLED) {
    pawl_request_cancel(d, l);
    pawl_letter_taken(d, l);
  } else if (d->plan.after == PAWL_AFTER_END) {
    pawl_letters_note(d);
    pawl_letters_refuse(d, "it had ended by then");
  }
  finish_plan(d);
}

/* The decision alone, where the step behind it was the trouble, or may be. */
static int decide_alone(pawl_decision *d) {
  if (!d->plan.went_on) return 0;
  d->one_by_one = 1;
  return pawl_decide(d);
}

void pawl_decide_failed(pawl_decision *d, const pawl_error *why) {
  if (decide_alone(d)) return;
  plan_begin(d);
  int k = returned_token(d, d->running_token);
  if (k < 0) k = 0;
  pawl_said_clear(d->result);
  if (d->plan.state.tokens.n) {
    const pawl_node *node = pawl_tok_node(d, k);
    d->plan.state.node = pawl_tok(d, k)->node;
    pawl_fail_token(d, k, why, pawl_decision_now(d));
    pawl_trace_step(d, node, d->took_us, k);
    settle_after(d);
  }
  finish_plan(d);
}

int pawl_decide_refused(pawl_decision *d, const pawl_error *why) {
  pawl_error err = *why;
  if (decide_alone(d)) return 1;
  plan_begin(d);
  pawl_error_prefix(&err, "the store refused the result");
  if (pawl_stays_ended(d)) { /* it cannot fail any more: the request does */
    pawl_letters_refuse(d, err.message);
    d->plan.heard = 1;
    stay(d);
  } else {
    pawl_fail_outright(d, &err);
  }
  finish_plan(d);
  return 0;
}
