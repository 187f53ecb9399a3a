/* What was accepted for an instance and is not taken, because it ends or is
 * undone first: said in its history, so that nobody takes it for done. What
 * its parent or children sent is on record with them; requests are refused by
 * letters.c. */
#include "machine.h"

#define TOLD_MAX 20 /* each by itself; then how many there are */

static int is_kind(const pawl_letter *l, const char *kind) {
  return pawl_str_eqz(pawl_buf_str(&l->kind), kind);
}

void pawl_untaken_note(pawl_engine *e, pawl_held *h, const pawl_letter *l,
                       const char *why) {
  pawl_record *r = pawl_instance_record(e, h, "untaken");
  pawl_str id = pawl_buf_str(&l->event_id);

  if (is_kind(l, "event")) {
    if (id.len && id.at[0] == ':') id.at++, id.len--; /* of no source */
    pawl_buf_addf(&r->text, "event \"%s\" %.*s: %s", l->name.at, (int)id.len,
                  id.len ? id.at : "", why);
  } else {
    pawl_buf_addf(&r->text, "a task's answer: %s", why);
  }
  pawl_buf_adds(&r->caller, pawl_buf_str(&l->caller));
}

/* One that a wait's `match` has turned down was not lost. */
static int was_asked(const pawl_held *h, const pawl_letter *l) {
  for (int k = 0; k < h->tokens.n; k++)
    if (pawl_wait_was_asked(&h->tokens.at[k], pawl_buf_str(&l->event_id)))
      return 1;
  return 0;
}

/* Of events to whoever waits, those that this one would have taken next. */
static int is_missed(const pawl_held *h, const pawl_letter *l) {
  if (l->kept || pawl_plan_takes(&h->plan, &l->no)) return 0;
  if (is_kind(l, "task")) return 1;
  if (!is_kind(l, "event")) return 0;
  return l->addressed ||
         (h->plan.status == PAWL_STATUS_CANCELLED && !was_asked(h, l));
}

void pawl_untaken_end(pawl_engine *e, pawl_held *h) {
  int n = 0;

  for (int i = 0; i < h->nletters; i++) {
    const pawl_letter *l = &h->letters[i];
    pawl_effect *f;
    if (!is_missed(h, l)) continue;
    if (n++ < TOLD_MAX) pawl_untaken_note(e, h, l, "it has ended before that");
    /* one that has failed may be retried: then the event is sent again, and
     * its id is no reason to pass it over */
    if (h->plan.status != PAWL_STATUS_FAILED) continue;
    f = pawl_plan_effect(&h->plan, PAWL_EFFECT_DELETE, 0);
    f->id = l->no;
    f->has_id = 1;
  }
  if (n > TOLD_MAX || h->behind || h->unread) {
    pawl_record *r = pawl_instance_record(e, h, "untaken");
    pawl_buf_addf(&r->text, "%d events and answers%s", n,
                  h->behind || h->unread
                      ? " at hand, and what had not been looked at"
                      : " in all");
  }
}
