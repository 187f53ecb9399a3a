/* What came in, in order of arrival: requests, and what people, children and
 * events bring to a node that waits. */
#include <assert.h>

#include "machine.h"

/* ---- what cancels ---- */

/* An event that cancels; not one that is being undone, or was. */
static int is_cancelling(const pawl_decision *d, const pawl_letter *l) {
  return pawl_letter_is(l, "event") && !d->state.undo.status &&
         !pawl_is_undoing(d) && pawl_rules_cancel(d, l);
}

const pawl_letter *pawl_letters_cancel(const pawl_decision *d) {
  const int cleans = pawl_state_is_cleaning(&d->state);

  for (int i = 0; i < d->nletters; i++) {
    const pawl_letter *l = &d->letters[i];
    if (cleans && !pawl_letter_is(l, "kill")) continue;
    if ((pawl_request_cancels(l) || is_cancelling(d, l)) &&
        !pawl_plan_takes(&d->plan, &l->no))
      return l;
  }
  return NULL;
}

/* ---- events ---- */

/* Its deadline had passed before, and ends it. */
static int is_behind_deadline(pawl_decision *d, const pawl_letter *l) {
  const int64_t deadline_us = d->state.deadline_us;

  if (!deadline_us || deadline_us != d->plan.state.deadline_us ||
      l->received_us <= deadline_us)
    return 0;
  d->plan.holds = 1;
  return 1;
}

static int event(pawl_decision *d, pawl_letter *l) {
  if (pawl_is_undoing(d) || is_behind_deadline(d, l)) return 0;
  if (!pawl_is_cleaning(d) && pawl_rules_cancel(d, l)) {
    if (pawl_late_go_first(d, l->received_us) || pawl_is_over(d)) return 0;
    pawl_request_cancel(d, l);
    return 1;
  }
  if (pawl_letter_waits(d, l) || pawl_is_over(d)) return 0;
  return pawl_event_give(d, l);
}

/* ---- all of them ---- */

/* Its inbox row goes, or stays as taken where it could come again. */
void pawl_letter_taken(pawl_decision *d, const pawl_letter *l) {
  int keeps = pawl_letter_is(l, "event") || pawl_letter_is(l, "child");

  pawl_effect *f = pawl_plan_effect(
      &d->plan, keeps ? PAWL_EFFECT_TAKE : PAWL_EFFECT_DELETE, 0);
  assert(!l->kept || keeps);
  f->id = l->no;
  f->has_id = 1;
  if (!keeps) return;
  f->node = pawl_letter_is(l, "child") ? "child" : "event";
  f->has_key = l->has_key;
  f->at_us = l->received_us;
  pawl_buf_adds(&f->name, pawl_buf_str(&l->name));
  pawl_buf_adds(&f->key, pawl_buf_str(&l->key));
  pawl_buf_adds(&f->event_id, pawl_buf_str(&l->event_id));
  pawl_buf_adds(&f->source, pawl_buf_str(&l->source));
}

/* A time that had come before the letter did counts before it, though both
 * are there by now; but not against the work that the letter brings. */
static void times_before(pawl_decision *d, const pawl_letter *l) {
  const int64_t deadline_us = d->plan.state.deadline_us;
  int64_t until = pawl_decision_now(d) + 1;
  int32_t own = (int32_t)pawl_letter_int(l, "token", 0);

  if (pawl_is_undoing(d)) return;
  pawl_conditions_look(d, 0); /* those that nobody could ask, Q3 */
  if (l->received_us < until) until = l->received_us;
  if (deadline_us && deadline_us < until) until = deadline_us;
  pawl_times_out(d, until, pawl_letter_is(l, "event") ? 0 : own);
}

/* The token that a letter speaks of, if it still stands there. */
static int find_waiting(pawl_decision *d, const pawl_letter *l) {
  int64_t no = pawl_letter_int(l, "token", 0),
          visit = pawl_letter_int(l, "visit", 0);
  for (int k = 0; k < d->plan.state.tokens.n; k++)
    if (pawl_tok(d, k)->no == no && pawl_tok(d, k)->visit == visit &&
        pawl_tok(d, k)->state == PAWL_TOKEN_WAITING)
      return k;
  return -1;
}

/* What a node waits for itself: an answer of a person or a child; or what a
 * child tells whoever is around that node. */
static void answer(pawl_decision *d, const pawl_letter *l) {
  int k = find_waiting(d, l);
  const pawl_node *node = k < 0 ? NULL : pawl_tok_node(d, k);
  const pawl_kind_rules *kind = node ? pawl_kind_of(d, node) : NULL;

  if (pawl_escalation_is(l))
    pawl_escalation_take(d, kind && kind->has_children ? k : -1, l);
  else if (kind && kind->letter && pawl_letter_is(l, kind->letter))
    kind->take(d, k, node, l);
  else if (pawl_letter_is(l, "task"))
    pawl_untaken_note(d, l, "it had gone on from that task by then");
}

/* 1: it is dealt with. */
static int take(pawl_decision *d, pawl_letter *l) {
  if (pawl_request_is(l)) return pawl_request_take(d, l);
  if (d->plan.holds) return 0;
  /* the rest moves tokens on, which may need handlers */
  if (d->turn == PAWL_TURN_LETTERS ||
      d->plan.state.status == PAWL_STATUS_SUSPENDED)
    d->plan.leaves = 1;
  if (d->turn == PAWL_TURN_LETTERS || !d->def ||
      d->plan.state.status == PAWL_STATUS_SUSPENDED || pawl_stays_ended(d))
    return 0;
  if (pawl_is_undoing_part(d)) return 0; /* it lies there until that is done */
  times_before(d, l);
  if (d->plan.after == PAWL_AFTER_END || d->plan.holds) return 0;
  if (pawl_letter_is(l, "event")) return event(d, l);
  if (pawl_is_undoing(d)) {
    if (pawl_letter_is(l, "task"))
      pawl_untaken_note(d, l, "it was being undone by then");
    else if (pawl_escalation_is(l))
      pawl_escalation_take(d, -1, l);
    return 1;
  }
  if (pawl_escalation_is(l) ? pawl_letter_waits(d, l)
                            : pawl_others_go_first(d, l->received_us))
    return 0;
  if (pawl_is_over(d)) return 0;
  answer(d, l);
  return 1;
}

/* The events of one that has failed stay, as a retry may yet come. */
void pawl_letters_discard(pawl_decision *d) {
  pawl_plan *p = &d->plan;

  for (int i = 0; i < d->nletters; i++) {
    const pawl_letter *l = &d->letters[i];
    if (l->kept || pawl_plan_takes(p, &l->no)) continue; /* it has no row */
    if (pawl_keeps_events(d) && pawl_letter_is(l, "event")) continue;
    pawl_effect *f = pawl_plan_effect(p, PAWL_EFFECT_DELETE, 0);
    f->id = l->no;
    f->has_id = 1;
  }
}

int pawl_letters_ask_nothing(const pawl_decision *d) {
  for (int i = 0; i < d->nletters; i++)
    if (!pawl_letter_is_news(&d->letters[i]) &&
        !pawl_letter_is(&d->letters[i], PAWL_HEED))
      return 0;
  return 1;
}

int pawl_letters_go_beside(const pawl_decision *d) {
  for (int i = 0; i < d->nletters; i++)
    if (!pawl_letter_is_news(&d->letters[i]) &&
        !pawl_request_goes_beside(&d->letters[i]))
      return 0;
  return 1;
}

int pawl_letters_are_news(const pawl_decision *d) {
  for (int i = 0; i < d->nletters; i++)
    if (d->letters[i].kept) return 0;
  return pawl_letters_ask_nothing(d);
}

void pawl_letters_note(pawl_decision *d) {
  for (int i = 0; i < d->nletters; i++) {
    const pawl_letter *l = &d->letters[i];
    if (!pawl_letter_is(l, "note") || pawl_plan_takes(&d->plan, &l->no))
      continue;
    pawl_request_note(d, l);
    pawl_letter_taken(d, l);
  }
}

void pawl_letters_refuse(pawl_decision *d, const char *why) {
  for (int i = 0; i < d->nletters; i++) {
    const pawl_letter *l = &d->letters[i];
    if (!pawl_request_is(l) || pawl_plan_takes(&d->plan, &l->no)) continue;
    pawl_request_refuse(d, l, why);
    pawl_letter_taken(d, l);
  }
}

/* A second request to move: the graphs are loaded for one at a time. */
static int lacks_crossing(const pawl_decision *d, const pawl_letter *l) {
  return pawl_letter_is(l, "transfer") && d->crossing &&
         !pawl_id_eq(&d->crossing->letter, &l->no);
}

void pawl_letters_take(pawl_decision *d) {
  assert(!d->plan.nrecords && !d->plan.neffects); /* they come first */
  d->plan.is_called_off = pawl_letters_cancel(d) != NULL;
  for (int i = 0; i < d->nletters; i++) {
    if (!d->plan.holds && lacks_crossing(d, &d->letters[i])) {
      d->plan.leaves = 1;
      d->plan.look = PAWL_LOOK_AGAIN;
      return;
    }
    if (take(d, &d->letters[i]))
      pawl_letter_taken(d, &d->letters[i]);
    else if (!d->plan.holds && pawl_letter_is(&d->letters[i], "event"))
      d->plan.passed = 1;
    pawl_joins_race(d);
    if (!d->plan.holds) pawl_conditions_look(d, d->letters[i].received_us);
    if (d->plan.after == PAWL_AFTER_END) return;
    if (d->plan.version && (!pawl_stays_ended(d) || i + 1 < d->nletters))
      return; /* the others are for the other version's look */
  }
  d->plan.heard = !d->plan.holds;
  /* what was passed over is taken once it has been resumed, perhaps just now */
  if (d->plan.state.status == PAWL_STATUS_SUSPENDED) d->plan.leaves = 0;
}
