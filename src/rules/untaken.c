/* What was accepted for an instance and is not taken, because it ends or is
 * undone first: said in its history, so that nobody takes it for done. What
 * its parent or children sent is on record with them; requests are refused by
 * letters.c. The events of one that fails stay in its inbox (inbox_clear). */
#include "asked.h"
#include "machine.h"

#define TOLD_MAX 20 /* each by itself; then how many there are */

void pawl_untaken_note(pawl_decision *d, const pawl_letter *l,
                       const char *why) {
  pawl_record *r = pawl_instance_record(d, "untaken");
  pawl_str id = pawl_buf_str(&l->event_id);

  if (pawl_letter_is(l, "event")) {
    if (id.len && id.at[0] == ':') id.at++, id.len--; /* of no source */
    pawl_buf_addf(&r->text, "event \"%s\" %.*s: %s", l->name.at, (int)id.len,
                  id.len ? id.at : "", why);
  } else {
    pawl_buf_addf(&r->text, "a task's answer: %s", why);
  }
  pawl_buf_adds(&r->by, pawl_buf_str(&l->by));
}

/* One that a wait's `match` has turned down was not lost. */
static int was_asked(const pawl_decision *d, const pawl_letter *l) {
  for (int k = 0; k < d->state.tokens.n; k++)
    if (pawl_asked_has(&d->state.tokens.at[k], pawl_buf_str(&l->event_id)))
      return 1;
  return 0;
}

/* Of events to whoever waits, those that this one would have taken next. */
static int is_missed(const pawl_decision *d, const pawl_letter *l) {
  if (l->kept || pawl_plan_takes(&d->plan, &l->no)) return 0;
  if (pawl_letter_is(l, "task")) return 1;
  if (!pawl_letter_is(l, "event") || pawl_keeps_events(d)) return 0;
  return l->addressed ||
         (d->plan.state.status == PAWL_STATUS_CANCELLED && !was_asked(d, l));
}

/* Does anybody's answer go where it stood? */
static int waits_for_people(const pawl_decision *d) {
  for (int k = 0; d->def && k < d->state.tokens.n; k++) {
    const pawl_token *t = &d->state.tokens.at[k];
    int at = t->state == PAWL_TOKEN_WAITING
                 ? pawl_def_node(d->def, t->node, strlen(t->node))
                 : -1;
    if (at >= 0 && d->def->nodes[at].kind == PAWL_KIND_TASK) return 1;
  }
  return 0;
}

/* Was there something that goes, and that was not read? */
static int left_unread(const pawl_decision *d) {
  if (pawl_keeps_events(d)) return pawl_is_behind(d) && waits_for_people(d);
  return pawl_is_behind(d) || d->unread;
}

void pawl_untaken_end(pawl_decision *d) {
  int n = 0, before = d->plan.nrecords;

  for (int i = 0; i < d->nletters; i++) {
    if (!is_missed(d, &d->letters[i])) continue;
    if (n++ < TOLD_MAX)
      pawl_untaken_note(d, &d->letters[i], "it has ended before that");
  }
  if (n > TOLD_MAX || left_unread(d)) {
    pawl_record *r = pawl_instance_record(d, "untaken");
    pawl_buf_addf(&r->text, "%d %sanswers%s", n,
                  pawl_keeps_events(d) ? "" : "events and ",
                  left_unread(d) ? " at hand, and what had not been looked at"
                                 : " in all");
  }
  d->plan.nuntaken = d->plan.nrecords - before;
}
