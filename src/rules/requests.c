/* Requests from people, parents and other engines, each of one letter: what may
 * be done with an instance whenever it is held, without any handler. Each
 * leaves a record of who asked and why. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "../value/json.h"
#include "../value/types.h"
#include "machine.h"
#include "order.h"

/* Members of the letter's data. */
static int get(const pawl_letter *l, const char *name, pawl_str *value) {
  return pawl_json_get(pawl_buf_str(&l->data), name, value);
}

static int is_set(const pawl_letter *l, const char *name, int other) {
  pawl_str value;
  if (!get(l, name, &value) || pawl_json_kind_of(value) == PAWL_JSON_NULL)
    return other;
  return pawl_json_kind_of(value) != PAWL_JSON_FALSE;
}

/* Who asks again, because he got no answer, finds it here; an event is known
 * by its inbox row. */
static void note_request(pawl_record *r, const pawl_letter *l) {
  r->has_request = !pawl_letter_is(l, "event");
  r->request = l->no;
}

static pawl_record *record(pawl_decision *d, const pawl_letter *l,
                           const char *type) {
  pawl_record *r = pawl_instance_record(d, type);
  (void)pawl_json_get_text(pawl_buf_str(&l->data), "reason", &r->text);
  pawl_buf_adds(&r->by, pawl_buf_str(&l->by));
  note_request(r, l);
  d->plan.outcome = type;
  return r;
}

void pawl_request_refuse(pawl_decision *d, const pawl_letter *l,
                         const char *why) {
  pawl_record *r = pawl_instance_record(d, "refused");
  pawl_buf_addf(&r->text, "%s: %s", l->kind.at ? l->kind.at : "", why);
  pawl_buf_adds(&r->by, pawl_buf_str(&l->by));
  note_request(r, l);
}

/* ---- cancel and kill ---- */

/* Of one that lives, to be deleted is to be cancelled first. */
static int is_last_wish(const pawl_letter *l) {
  return pawl_letter_is(l, "delete") && is_set(l, "cancel", 0);
}

int pawl_request_cancels(const pawl_letter *l) {
  return pawl_letter_is(l, "cancel") || pawl_letter_is(l, "kill") ||
         is_last_wish(l);
}

static void note_cancellation(pawl_decision *d, const pawl_letter *l,
                              const char *source) {
  pawl_buf *b = &d->plan.state.cancellation;
  pawl_str value = {NULL, 0};
  pawl_object o;

  pawl_buf_clear(b);
  pawl_object_begin(&o, b);
  (void)get(l, "reason", &value);
  pawl_member_json(&o, "reason", value);
  if (l->by.len) pawl_member_str(&o, "by", pawl_buf_str(&l->by));
  pawl_member_str(&o, "source",
                  source ? pawl_strz(source) : pawl_buf_str(&l->source));
  if (source) {
    pawl_member_str(&o, "event_id", pawl_event_id(l));
    pawl_member_str(&o, "event_source", pawl_buf_str(&l->source));
  } else if (get(l, "event_id", &value)) {
    pawl_member_json(&o, "event_id", value);
  }
  if (get(l, "compensate", &value)) pawl_member_json(&o, "compensate", value);
  if (pawl_letter_is(l, "kill")) pawl_member_bool(&o, "killed", 1);
  pawl_member_time(&o, "requested_at", l->received_us);
  pawl_object_end(&o);
}

/* A decision to end is taken back: something else ends it. */
static void unend(pawl_decision *d) {
  pawl_plan *p = &d->plan;
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
    p->state.sent--;
  }
  p->after = PAWL_AFTER_GO_ON;
  pawl_buf_copy(&p->state.output, &d->state.output);
}

static void end_cancelled(pawl_decision *d, const pawl_letter *l,
                          const char *type, const char *source,
                          int compensate) {
  pawl_plan *p = &d->plan;

  unend(d);
  pawl_record *r = record(d, l, type);
  if (is_last_wish(l)) pawl_buf_addz(&r->transition, "delete");
  if (source) pawl_buf_addf(&r->text, "by event \"%s\"", l->name.at);
  note_cancellation(d, l, source);
  pawl_buf_clear(&p->error);
  pawl_buf_set(&p->detail, pawl_buf_str(&r->text));
  p->outcome = "cancelled";
  if (pawl_letter_is(l, "kill"))
    pawl_end(d, PAWL_STATUS_CANCELLED);
  else
    pawl_end_undoing(d, PAWL_STATUS_CANCELLED, compensate);
  pawl_trace_verdict(d);
}

static int is_from_parent(const pawl_letter *l) {
  static const char name[] = "parent:";
  return l->event_id.len > sizeof name - 1 &&
         !memcmp(l->event_id.at, name, sizeof name - 1);
}

/* before: what was noted by who deleted it, of one that is purged now; at NULL:
 * nobody did. */
static void note_deletion(pawl_decision *d, const pawl_letter *l,
                          pawl_str before) {
  pawl_buf *b = &d->plan.state.deletion;
  pawl_str value = {NULL, 0};
  pawl_object o;

  pawl_buf_clear(b);
  pawl_object_begin(&o, b);
  if (l->by.len) pawl_member_str(&o, "by", pawl_buf_str(&l->by));
  if (get(l, "reason", &value) && value.len > 2)
    pawl_member_json(&o, "reason", value);
  if (is_set(l, "keep_attributes", 0))
    pawl_member_bool(&o, "keep_attributes", 1);
  if (before.len) pawl_member_json(&o, "deleted", before);
  pawl_object_end(&o);
}

void pawl_request_cancel(pawl_decision *d, const pawl_letter *l) {
  const int cleans = pawl_is_cleaning(d);
  const int ends = cleans || (pawl_is_undoing(d) && !pawl_is_undoing_part(d));

  if (is_last_wish(l)) note_deletion(d, l, (pawl_str){NULL, 0});
  if (pawl_letter_is(l, "kill"))
    end_cancelled(d, l, "killed", NULL, 0);
  else if (ends && is_last_wish(l))
    record(d, l, "deletion"); /* once that is through */
  else if (ends && is_from_parent(l))
    return; /* it ends as that wishes, and may be told so twice */
  else if (pawl_letter_is(l, "event"))
    end_cancelled(d, l, "cancelled", "event", !d->def || d->def->compensate);
  else if (ends)
    pawl_request_refuse(
        d, l,
        cleans ? "it was cancelled, and cleans up; `kill` ends it at once"
               : "it is being undone already; `kill` ends it at once");
  else
    end_cancelled(d, l, "cancelled", NULL,
                  is_set(l, "compensate", !d->def || d->def->compensate));
}

/* ---- suspend and resume ---- */

/* The times that its kind keeps, and that people see. */
static void shift_own(pawl_decision *d, int k, int64_t by_us) {
  const pawl_node *node = pawl_tok_node(d, k);
  if (node && pawl_tok(d, k)->state == PAWL_TOKEN_WAITING &&
      pawl_kind_of(d, node)->shift)
    pawl_kind_of(d, node)->shift(d, k, by_us);
}

static void move_times(pawl_decision *d, int64_t by_us) {
  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    pawl_token *t = pawl_tok(d, k);
    if (!pawl_token_is_live(t->state)) continue;
    shift_own(d, k, by_us);
    if (!t->due_us) continue;
    t->due_us = pawl_time_after(t->due_us, by_us);
    t->changed = 1;
    pawl_wait_moved(d, k);
  }
  if (d->plan.state.deadline_us)
    d->plan.state.deadline_us =
        pawl_time_after(d->plan.state.deadline_us, by_us);
  if (!d->plan.state.visit && d->plan.state.begin_us)
    d->plan.state.begin_us = pawl_time_after(d->plan.state.begin_us, by_us);
  pawl_conditions_stir(d); /* what was too late need not be */
}

static void suspend(pawl_decision *d, const pawl_letter *l) {
  if (d->plan.state.status == PAWL_STATUS_SUSPENDED) {
    pawl_request_refuse(d, l, "it is suspended already");
    return;
  }
  record(d, l, "suspended");
  d->plan.state.status = PAWL_STATUS_SUSPENDED;
  d->plan.state.suspended_us = pawl_decision_now(d);
}

/* What came just before it was suspended may have been the last that a join or
 * an each waited for: whoever holds its handlers looks. */
static void wake_up(pawl_decision *d) {
  if (d->turn == PAWL_TURN_LETTERS) d->plan.leaves = 1;
  d->plan.state.status = PAWL_STATUS_RUNNING;
  d->plan.state.suspended_us = 0;
  d->plan.resets = 1;
  pawl_buf_clear(&d->plan.error);
}

static void resume(pawl_decision *d, const pawl_letter *l) {
  int64_t since = d->plan.state.suspended_us;
  if (d->plan.state.status != PAWL_STATUS_SUSPENDED) {
    pawl_request_refuse(d, l, "it is not suspended");
    return;
  }
  record(d, l, "resumed");
  if (is_set(l, "shift", 0) && since)
    move_times(d, pawl_decision_now(d) - since);
  wake_up(d);
}

/* Whoever puts off many may die on the way, and is asked to do it again: who
 * was put off by the first is not by the second. Tokens stand still until all
 * of them were. */
static int was_put_off(pawl_decision *d, const pawl_letter *l) {
  pawl_str once = pawl_buf_str(&l->event_id);
  int first = -1, was = 0;

  if (!once.len) return 0;
  for (int k = d->plan.state.tokens.n - 1; k >= 0; k--) {
    if (!pawl_tok_live(d, k)) continue;
    first = k;
    was |= pawl_str_eq(pawl_buf_str(&pawl_detail_of(pawl_tok(d, k))->put_off),
                       once);
  }
  if (first >= 0 && !was)
    pawl_detail_put(pawl_tok(d, first), PAWL_DETAIL_put_off, once);
  return was;
}

static void shift(pawl_decision *d, const pawl_letter *l) {
  if (was_put_off(d, l)) return;
  record(d, l, "shifted");
  move_times(d, pawl_letter_int(l, "for_us", 0));
}

/* ---- retry and restart ---- */

/* A deadline that has passed would end it again at once: it begins anew. */
static void begin_deadline(pawl_decision *d) {
  int64_t now = pawl_decision_now(d), lasts;
  if (!d->plan.state.deadline_us || d->plan.state.deadline_us > now) return;
  lasts = d->plan.state.lasts || d->def
              ? pawl_decision_lasts(d)
              : d->state.deadline_us - d->state.started_us;
  d->plan.state.deadline_us = lasts > 0 ? pawl_time_after(now, lasts) : 0;
}

static void revive(pawl_decision *d) {
  pawl_plan *p = &d->plan;
  if (pawl_status_has_ended(d->state.status)) p->revives = 1;
  begin_deadline(d);
  if (!pawl_is_cleaning(d))
    pawl_buf_clear(&p->state.cancellation); /* it goes on after all */
  wake_up(d);
  pawl_buf_clear(&p->state.output);
  pawl_buf_clear(&p->state.stopped);
  p->after = PAWL_AFTER_GO_ON;
}

static int wanted(const pawl_token *t, const pawl_letter *l) {
  int64_t no = pawl_letter_int(l, "token", 0);
  return pawl_token_is_live(t->state) && (!no || t->no == no);
}

/* Only what stands still is set going: asked twice, it is so once. */
static int has_stopped(const pawl_decision *d) {
  return d->plan.state.status == PAWL_STATUS_SUSPENDED || pawl_stays_ended(d);
}

/* The attempts start again, at once. An instance that failed goes on as it
 * stood then. */
static void retry(pawl_decision *d, const pawl_letter *l) {
  pawl_plan *p = &d->plan;

  if (!has_stopped(d)) {
    pawl_request_refuse(d, l, "it goes on already");
    return;
  }
  if (pawl_status_has_ended(d->state.status)) {
    if (!p->state.stopped.len) {
      pawl_request_refuse(d, l, PAWL_NOWHERE);
      return;
    }
    pawl_stopped_restore(d);
    pawl_state_drop_undo(&p->state); /* it had nothing to undo */
  }
  record(d, l, "retried");
  for (int k = 0; k < p->state.tokens.n; k++) {
    pawl_token *t = pawl_tok(d, k);
    if (!wanted(t, l) || t->state != PAWL_TOKEN_ACTIVE) continue;
    if (pawl_detail_of(t)->halted.len) continue; /* it has not failed */
    t->attempt = 0;
    pawl_detail_drop(t, PAWL_DETAIL_passed);
    t->due_us = 0;
    t->changed = 1;
    pawl_order_note(d, k, l->received_us);
  }
  revive(d);
}

static const char *node_named(const pawl_decision *d, const pawl_letter *l,
                              const char *member) {
  pawl_buf name = {.alloc = d->alloc};
  const char *kept = NULL;
  if (pawl_json_get_text(pawl_buf_str(&l->data), member, &name) && d->def &&
      pawl_def_node(d->def, name.at, name.len) >= 0)
    kept = pawl_decision_name(d, pawl_buf_str(&name));
  pawl_buf_deinit(&name);
  return kept;
}

#define BOUNDARY "the node is a boundary, and begins with what it is on"

static int is_boundary(const pawl_decision *d, const char *node) {
  return node &&
         d->def->nodes[pawl_def_node(d->def, node, strlen(node))].host >= 0;
}

/* The token stands, active, at the node, and has not entered it. */
static void place(pawl_decision *d, int k, const char *node,
                  const pawl_letter *l) {
  pawl_detail_keep(pawl_tok(d, k),
                   PAWL_DETAIL_BIT(up) | PAWL_DETAIL_BIT(guarded));
  pawl_arrive(d, k, node);
  pawl_order_note(d, k, l->received_us);
}

static void restart(pawl_decision *d, const pawl_letter *l) {
  const char *node = node_named(d, l, "from");
  pawl_plan *p = &d->plan;
  pawl_str vars;
  int k;

  if (!has_stopped(d)) {
    pawl_request_refuse(d, l, "it goes on already");
    return;
  }
  if (!node || pawl_def_each_around(
                   d->def, pawl_def_node(d->def, node, strlen(node))) >= 0) {
    pawl_request_refuse(
        d, l, node ? "the node is in the branch of an each" : "no such node");
    return;
  }
  if (is_boundary(d, node)) {
    pawl_request_refuse(d, l, BOUNDARY);
    return;
  }
  for (k = 0; k < p->state.tokens.n; k++)
    if (pawl_tok_live(d, k)) pawl_token_end(d, k, "it was restarted");
  pawl_record *r = record(d, l, "restarted");
  pawl_buf_addz(&r->path, node);
  if (get(l, "variables", &vars) &&
      pawl_json_kind_of(vars) == PAWL_JSON_OBJECT)
    pawl_vars_put(d, vars, &r->changes);
  pawl_marks_clear(&p->state.joined);
  pawl_state_drop_undo(&p->state);
  pawl_buf_clear(&p->state.cancellation);
  revive(d);
  k = pawl_token_new(d, -1);
  if (k >= 0) place(d, k, node, l);
}

/* It is to run that node next, as if it had just come there. */
static int stands_before(const pawl_token *t, const char *node) {
  return t->state == PAWL_TOKEN_ACTIVE && !t->attempt && !t->due_us &&
         !strcmp(t->node, node);
}

/* How many tokens are meant, and one of them. A boundary never is: it goes with
 * what it is on. */
static int count_movable(pawl_decision *d, int64_t no, int *found) {
  int n = 0;

  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    if (!pawl_tok_live(d, k) || (no && pawl_tok(d, k)->no != no)) continue;
    if (pawl_detail_of(pawl_tok(d, k))->host) continue;
    *found = k;
    n++;
  }
  return n;
}

static void move(pawl_decision *d, const pawl_letter *l) {
  const char *node = node_named(d, l, "to"), *from;
  int found = -1;
  const int n = count_movable(d, pawl_letter_int(l, "token", 0), &found);
  int64_t visit;

  if (!node || is_boundary(d, node) || n != 1 || pawl_is_undoing(d)) {
    pawl_request_refuse(d, l,
                        !node                  ? "no such node"
                        : is_boundary(d, node) ? BOUNDARY
                        : n == 0 ? "no such token, or that of a boundary"
                        : n > 1  ? "it has several tokens: say which"
                                 : "it is being undone");
    return;
  }
  if (stands_before(pawl_tok(d, found), node)) {
    pawl_request_refuse(d, l, "it stands there already");
    return;
  }
  from = pawl_tok(d, found)->node;
  visit = pawl_tok(d, found)->visit;
  pawl_stop_waiting(d, found, "cancelled");
  if (pawl_tok_node(d, found) &&
      pawl_kind_of(d, pawl_tok_node(d, found))->has_scope)
    pawl_drop_scope(d, pawl_tok(d, found)->no, "its each was left");
  place(d, found, node, l);
  pawl_record *r = record(d, l, "moved");
  r->token = pawl_tok(d, found)->no;
  r->node = from;
  r->visit = visit; /* which ends by it */
  pawl_buf_addz(&r->path, node);
}

/* ---- delete, undelete, purge ---- */

static void delete (pawl_decision *d, const pawl_letter *l) {
  if (!pawl_stays_ended(d)) {
    if (is_last_wish(l))
      pawl_request_cancel(d, l);
    else
      pawl_request_refuse(d, l, "it lives: `cancel` it first");
    return;
  }
  note_deletion(d, l, (pawl_str){NULL, 0});
  d->plan.state.deleted_us = pawl_decision_now(d);
  record(d, l, "deleted");
}

/* One that is to be deleted as it ends is not, either. */
static void undelete(pawl_decision *d, const pawl_letter *l) {
  pawl_state *s = &d->plan.state;

  if (s->purge_us) {
    pawl_request_refuse(d, l, "it is being purged");
    return;
  }
  if (!s->deletion.len) {
    pawl_request_refuse(d, l, "it is not deleted");
    return;
  }
  s->deleted_us = 0;
  pawl_buf_clear(&s->deletion);
  record(d, l, "undeleted");
}

/* Who ends a purge tells of this one, and of who has deleted it before: the
 * history that has both goes. */
static void note_purge(pawl_decision *d, const pawl_letter *l) {
  const pawl_state *s = &d->plan.state;
  pawl_buf before = {.alloc = d->alloc};

  if (s->deleted_us) pawl_buf_adds(&before, pawl_buf_str(&s->deletion));
  d->plan.failed |= before.failed;
  note_deletion(d, l, pawl_buf_str(&before));
  pawl_buf_deinit(&before);
}

/* From here on rows of it may go, at any time: so it is hidden at once. */
static void purge(pawl_decision *d, const pawl_letter *l) {
  pawl_state *s = &d->plan.state;

  if (!pawl_stays_ended(d)) {
    pawl_request_refuse(d, l, "it lives: `cancel` it first");
    return;
  }
  if (!s->purge_us) note_purge(d, l);
  if (!s->deleted_us) s->deleted_us = pawl_decision_now(d);
  if (!s->purge_us) s->purge_us = pawl_decision_now(d);
  record(d, l, "purged");
}

/* What would set a deleted one going. 1: and is refused. */
static int is_for_deleted(pawl_decision *d, const pawl_letter *l) {
  if (!d->plan.state.deleted_us || pawl_letter_is(l, "undelete") ||
      pawl_letter_is(l, "purge"))
    return 0;
  pawl_request_refuse(d, l, "it is deleted: `undelete` it first");
  return 1;
}

void pawl_request_delete_ended(pawl_decision *d) {
  pawl_state *s = &d->plan.state;
  pawl_record *r;

  s->deleted_us = d->state.deleted_us; /* it may have ended after all */
  if (d->plan.after != PAWL_AFTER_END || !s->deletion.len) return;
  s->deleted_us = pawl_decision_now(d);
  r = pawl_instance_record(d, "deleted");
  (void)pawl_json_get_text(pawl_buf_str(&s->deletion), "reason", &r->text);
  (void)pawl_json_get_text(pawl_buf_str(&s->deletion), "by", &r->by);
  d->plan.nuntaken++; /* told anew, when it is decided otherwise */
}

/* ---- carried to another store, and back ---- */

/* From here on it stands still, and is what was exported: docs/export.md. One
 * that was suspended before is so where it goes on, too. */
static void carry(pawl_decision *d, const pawl_letter *l) {
  pawl_state *s = &d->plan.state;
  pawl_str value;
  pawl_object o;

  record(d, l, "carried");
  pawl_buf_clear(&s->away);
  pawl_object_begin(&o, &s->away);
  pawl_member_time(&o, "at", pawl_decision_now(d));
  if (l->by.len) pawl_member_str(&o, "by", pawl_buf_str(&l->by));
  if (get(l, "reason", &value) && value.len > 2)
    pawl_member_json(&o, "reason", value);
  if (s->status == PAWL_STATUS_SUSPENDED) pawl_member_bool(&o, "suspended", 1);
  pawl_object_end(&o);
  if (pawl_stays_ended(d) || s->status == PAWL_STATUS_SUSPENDED) return;
  s->status = PAWL_STATUS_SUSPENDED;
  s->suspended_us = pawl_decision_now(d);
}

static void reclaim(pawl_decision *d, const pawl_letter *l) {
  pawl_buf *away = &d->plan.state.away;
  pawl_str value;
  int was_suspended;

  if (!away->len) {
    pawl_request_refuse(d, l, "it is not away");
    return;
  }
  was_suspended = pawl_json_get(pawl_buf_str(away), "suspended", &value);
  pawl_buf_clear(away);
  record(d, l, "reclaimed");
  if (!pawl_stays_ended(d) && !was_suspended) wake_up(d);
}

/* Where it was carried to: import.c sends it, with the rows. */
static void arrive(pawl_decision *d, const pawl_letter *l) {
  record(d, l, "arrived");
  if (d->plan.state.status == PAWL_STATUS_SUSPENDED && !is_set(l, "stay", 0))
    wake_up(d);
}

/* What would change one that goes on elsewhere. 1: nothing is left to do. To be
 * killed is to be done with it here: nothing runs. */
static int is_for_away(pawl_decision *d, const pawl_letter *l) {
  static const char *const may[] = {"reclaim", "note", "kill", "undelete",
                                    "purge"};

  if (!d->plan.state.away.len) return 0;
  for (size_t i = 0; i < sizeof may / sizeof *may; i++)
    if (pawl_letter_is(l, may[i])) return 0;
  if (pawl_letter_is(l, "delete") && pawl_stays_ended(d)) return 0;
  if (pawl_letter_is(l, "carry")) return 1; /* asked twice: it is done */
  pawl_request_refuse(
      d, l, "it was carried to another store: `reclaim` takes it back");
  return 1;
}

/* ---- variables, times ---- */

static void edit(pawl_decision *d, const pawl_letter *l) {
  pawl_buf delta = {.alloc = d->alloc}, vars = {.alloc = d->alloc};
  pawl_str value;
  int64_t if_commits = pawl_letter_int(l, "if_commits", -1);
  pawl_error err;
  pawl_object o;

  if (if_commits >= 0 && if_commits != d->commits) {
    pawl_request_refuse(d, l, "the instance has changed since");
    return;
  }
  pawl_object_begin(&o, &delta);
  if (get(l, "set", &value)) pawl_member_json(&o, "set", value);
  if (get(l, "unset", &value)) pawl_member_json(&o, "unset", value);
  pawl_object_end(&o);
  pawl_json_apply(pawl_vars_now(d), pawl_buf_str(&delta), &vars);
  if (d->def && d->def->variables.at &&
      pawl_types_fit_present(d->def->variables, pawl_vars_now(d),
                             pawl_buf_str(&vars), "vars", &err) != PAWL_OK) {
    pawl_request_refuse(d, l, err.message);
  } else {
    pawl_record *r = record(d, l, "changed");
    pawl_vars_take(d, &vars, &r->changes);
  }
  pawl_buf_deinit(&delta);
  pawl_buf_deinit(&vars);
}

/* What people and handlers say of it: nothing comes of that. */
void pawl_request_note(pawl_decision *d, const pawl_letter *l) {
  pawl_record *r = record(d, l, "note");
  pawl_str data;

  pawl_buf_clear(&r->text);
  (void)pawl_json_get_text(pawl_buf_str(&l->data), "text", &r->text);
  r->has_output = get(l, "data", &data);
  if (r->has_output) pawl_buf_adds(&r->output, data);
}

static int names_node(pawl_decision *d, const pawl_letter *l,
                      const char *node) {
  pawl_buf name = {.alloc = d->plan.alloc};
  pawl_str nodes;

  if (!get(l, "nodes", &nodes)) return 1;
  const int found = pawl_json_lists(nodes, pawl_strz(node), &name);
  if (name.failed) d->plan.failed = 1;
  pawl_buf_deinit(&name);
  return found;
}

/* What it waits for next is due now. A task's times are its own: the one that
 * comes next moves. */
static void wake_token(pawl_decision *d, int k, int64_t at) {
  pawl_token *t = pawl_tok(d, k);
  const pawl_node *node = pawl_tok_node(d, k);

  if (node && t->state == PAWL_TOKEN_WAITING && pawl_kind_of(d, node)->wake)
    pawl_kind_of(d, node)->wake(t, node, at);
  t->due_us = at;
  t->changed = 1;
}

/* Children are under way: only by name is their time up. */
static int may_wake(pawl_decision *d, int k, const pawl_letter *l) {
  const pawl_node *node = pawl_tok_node(d, k);
  pawl_str nodes;

  if (node && pawl_tok(d, k)->state == PAWL_TOKEN_WAITING &&
      pawl_kind_of(d, node)->has_children && !get(l, "nodes", &nodes))
    return 0;
  return names_node(d, l, pawl_tok(d, k)->node);
}

/* One that is to begin later begins then. */
static int begins_at(pawl_decision *d, const pawl_letter *l, int64_t at) {
  return !d->plan.state.visit && d->plan.state.begin_us > at && d->def &&
         names_node(d, l, d->def->nodes[d->def->start].name);
}

static void wake(pawl_decision *d, const pawl_letter *l) {
  int64_t at =
      pawl_time_after(pawl_letter_int(l, "at_us", pawl_decision_now(d)), 0);
  int n = 0;

  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    pawl_token *t = pawl_tok(d, k);
    if (!pawl_token_is_live(t->state) || !t->due_us || t->due_us <= at ||
        !t->node || pawl_is_aloft(d, t) || !may_wake(d, k, l))
      continue;
    wake_token(d, k, at);
    n++;
  }
  if (begins_at(d, l, at)) {
    d->plan.state.begin_us = at;
    n++;
  }
  if (n) record(d, l, "woken");
}

/* ---- breakpoints ---- */

/* One that has halted, or, `steps`, that will before its next node. */
static int stands(pawl_decision *d, int k, const pawl_letter *l, int steps) {
  const pawl_token *t = pawl_tok(d, k);
  const pawl_detail *own = pawl_detail_of(t);

  return wanted(t, l) && t->node && names_node(d, l, t->node) &&
         (own->halted.len || (steps && own->stepping.len));
}

static int count_standing(pawl_decision *d, const pawl_letter *l, int steps) {
  int n = 0;

  for (int k = 0; k < d->plan.state.tokens.n; k++) n += stands(d, k, l, steps);
  return n;
}

/* Asked twice, it goes on once: it stands there no more. */
static void go_on(pawl_decision *d, const pawl_letter *l) {
  if (!count_standing(d, l, 1)) {
    pawl_request_refuse(d, l, "it does not stand at a breakpoint");
    return;
  }
  pawl_record *r = record(d, l, "continued");
  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    if (!stands(d, k, l, 1)) continue;
    if (r->path.len) pawl_buf_addz(&r->path, ", ");
    pawl_buf_addz(&r->path, pawl_tok(d, k)->node);
    pawl_detail_drop(pawl_tok(d, k), PAWL_DETAIL_stepping);
    if (!pawl_detail_of(pawl_tok(d, k))->halted.len) continue;
    pawl_break_free(d, k);
    pawl_order_note(d, k, l->received_us);
  }
}

/* Those of which one is to be named. */
static void refuse_several(pawl_decision *d, const pawl_letter *l) {
  pawl_buf why = {.alloc = d->alloc};
  const char *before = "several tokens stand at breakpoints: ";

  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    if (!stands(d, k, l, 0)) continue;
    pawl_buf_addf(&why, "%s\"%s\" (token %" PRId32 ")", before,
                  pawl_tok(d, k)->node, pawl_tok(d, k)->no);
    before = ", ";
  }
  pawl_buf_addz(&why, "; say which `node`, or `token`");
  if (why.failed)
    d->plan.failed = 1;
  else
    pawl_request_refuse(d, l, why.at);
  pawl_buf_deinit(&why);
}

static void step(pawl_decision *d, const pawl_letter *l) {
  const int n = count_standing(d, l, 0);

  if (n > 1) {
    refuse_several(d, l);
    return;
  }
  if (!n) {
    pawl_request_refuse(d, l, "it does not stand at a breakpoint");
    return;
  }
  pawl_record *r = record(d, l, "stepped");
  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    if (!stands(d, k, l, 0)) continue;
    pawl_buf_addz(&r->path, pawl_tok(d, k)->node);
    pawl_break_step(d, k, pawl_buf_str(&l->by),
                    pawl_letter_int(l, "lasts_us", PAWL_HALT_US));
    return;
  }
}

/* The breakpoints have changed: whoever holds it has looked at them by now. */
static void heed(pawl_decision *d, const pawl_letter *l) {
  (void)d, (void)l;
}

/* ---- versions ---- */

/* {"from":1,"to":2,"map":{...}}, by which undoing finds the nodes of before. */
static void tell_transfer(pawl_decision *d, const pawl_crossing *c,
                          pawl_record *r) {
  pawl_buf text = {.alloc = r->text.alloc};
  pawl_object o;

  pawl_buf_addf(&text, "version %" PRId64 " to %" PRId64, d->version,
                c->to->version);
  if (r->text.len) {
    pawl_buf_addz(&text, ": ");
    pawl_buf_adds(&text, pawl_buf_str(&r->text));
  }
  pawl_buf_set(&r->text, pawl_buf_str(&text));
  pawl_buf_deinit(&text);
  r->has_output = 1;
  pawl_object_begin(&o, &r->output);
  pawl_member_int(&o, "from", d->version);
  pawl_member_int(&o, "to", c->to->version);
  pawl_member_json(&o, "map", c->map.at ? c->map : pawl_strz("{}"));
  pawl_object_end(&o);
}

/* Asked twice, or by two: it is there, or elsewhere, by now. 1: and refused. */
static int has_crossed(pawl_decision *d, const pawl_letter *l) {
  int64_t from = pawl_letter_int(l, "from_version", d->version);
  char why[80];

  if (pawl_letter_int(l, "to_version", 0) == d->version)
    snprintf(why, sizeof why, "it runs version %" PRId64 " already",
             d->version);
  else if (from != d->version)
    snprintf(why, sizeof why,
             "it runs version %" PRId64 " by now, not %" PRId64, d->version,
             from);
  else
    return 0;
  pawl_request_refuse(d, l, why);
  return 1;
}

/* Of those that have ended, one that failed may: a retry goes on there. */
static void check_crossing(pawl_decision *d, pawl_str vars, pawl_buf *why) {
  if (!pawl_stays_ended(d))
    pawl_version_check(d, d->crossing, vars, why);
  else if (d->state.status != PAWL_STATUS_FAILED)
    pawl_buf_addf(why, "it has ended: %s", pawl_status_name(d->state.status));
  else if (!d->plan.state.stopped.len)
    pawl_buf_addz(why, PAWL_NOWHERE);
  else
    pawl_stopped_check(d, d->crossing, why);
  if (why->failed) d->plan.failed = 1;
}

/* The next look at it is under the other definition. */
static void transfer(pawl_decision *d, const pawl_letter *l) {
  int64_t if_commits = pawl_letter_int(l, "if_commits", -1);
  pawl_buf why = {.alloc = d->alloc};
  pawl_crossing *c = d->crossing;
  pawl_str vars = {0};
  pawl_record *r;

  if (has_crossed(d, l)) return;
  if ((if_commits >= 0 && if_commits != d->commits) || pawl_is_undoing(d) ||
      !c) {
    pawl_request_refuse(d, l, "it has moved on since it was looked at");
    return;
  }
  c->map.at = NULL;
  (void)get(l, "map", &c->map);
  if (!get(l, "variables", &vars) ||
      pawl_json_kind_of(vars) != PAWL_JSON_OBJECT)
    vars.at = NULL;
  check_crossing(d, vars.at ? vars : pawl_vars_now(d), &why);
  if (why.len) {
    pawl_request_refuse(d, l, why.at);
  } else {
    r = record(d, l, "transferred");
    tell_transfer(d, c, r);
    if (vars.at) pawl_vars_put(d, vars, &r->changes);
    if (pawl_stays_ended(d))
      pawl_stopped_transfer(d, c);
    else
      pawl_version_change(d, c);
  }
  pawl_buf_deinit(&why);
}

/* ---- all of them ---- */

typedef void (*taker)(pawl_decision *d, const pawl_letter *l);

/* What may be taken whenever the instance is held, without any handler; what is
 * to end or to stop it, also behind a letter that waits (plan.holds); what
 * leaves the tokens of handlers that wait where they are, beside those. */
static const struct {
  const char *kind;
  taker take;
  int when_ended, goes_past, beside;
} requests[] = {
    {"cancel", pawl_request_cancel, 0, 1, 0},
    {"kill", pawl_request_cancel, 0, 1, 0},
    {"suspend", suspend, 0, 1, 0},
    {"resume", resume, 0, 0, 0},
    {"shift", shift, 0, 0, 0},
    {"retry", retry, 1, 0, 0},
    {"restart", restart, 1, 0, 0},
    {"move", move, 0, 0, 0},
    {"edit", edit, 0, 0, 1},
    {"wake", wake, 0, 0, 1},
    {"continue", go_on, 0, 0, 1},
    {"step", step, 0, 0, 1},
    {PAWL_HEED, heed, 0, 0, 1},
    {"transfer", transfer, 1, 0, 0},
    {"note", pawl_request_note, 1, 0, 1},
    {"delete", delete, 1, 1, 0},
    {"undelete", undelete, 1, 0, 0},
    {"purge", purge, 1, 0, 0},
    {"carry", carry, 1, 0, 0},
    {"reclaim", reclaim, 1, 0, 0},
    {"arrive", arrive, 1, 0, 0},
};
#define NREQUESTS (sizeof requests / sizeof *requests)

static int find_request(const pawl_letter *l) {
  for (size_t i = 0; i < NREQUESTS; i++)
    if (pawl_letter_is(l, requests[i].kind)) return (int)i;
  return -1;
}

int pawl_request_is(const pawl_letter *l) {
  return find_request(l) >= 0;
}

int pawl_request_goes_beside(const pawl_letter *l) {
  const int i = find_request(l);

  return i >= 0 && requests[i].beside;
}

int pawl_request_take(pawl_decision *d, const pawl_letter *l) {
  const int i = find_request(l);

  assert(i >= 0);
  if (d->plan.holds && !requests[i].goes_past) return 0;
  if (pawl_stays_ended(d) && (!requests[i].when_ended || is_for_deleted(d, l)))
    return 1;
  if (!is_for_away(d, l)) requests[i].take(d, l);
  return 1;
}
