/* Events that cancel an instance: `cancel_on` of its workflow.
 *
 * A rule's key is a name, looked up in the variables, then the input. What it
 * stands for is looked at again at the end of every decision, and the
 * subscription renewed in the same commit when it has changed: when the first
 * step sets it, when it is edited, when the instance goes on after it had
 * ended, and when it was transferred to other rules. A rule without
 * a key that an event could have rests until it has one. As for waits, a
 * commit that subscribes to a key looks afterwards for what was kept for it
 * (rule 5), as far as that came since the instance began: what came before was
 * about another one. */

#include "machine.h"

void pawl_rules_list(const pawl_decision *d, const pawl_def *def,
                     pawl_str vars, pawl_marks *out) {
  pawl_buf key = {.alloc = d->alloc};

  for (int i = 0; i < def->ncancel_on; i++) {
    const pawl_event_rule *rule = &def->cancel_on[i];
    pawl_buf_clear(&key);
    if (!rule->key || (pawl_event_key(d, vars, rule->key, &key) &&
                       pawl_event_key_is_sound(pawl_buf_str(&key))))
      pawl_marks_add(out, d->alloc,
                     pawl_decision_name(d, pawl_strz(rule->event)), i,
                     pawl_buf_given(&key, rule->key != NULL));
    out->failed |= key.failed;
  }
  pawl_buf_deinit(&key);
}

int64_t pawl_rules_since(const pawl_decision *d) {
  int64_t ms = 0;
  for (int i = 0; i < 6; i++) ms = ms << 8 | d->id.bytes[i];
  return ms * 1000;
}

/* ---- subscriptions ---- */

static void unsubscribe(pawl_decision *d) {
  const pawl_marks *all = &d->plan.state.watched;

  for (int i = 0; i < all->n; i++)
    (void)pawl_plan_effect(&d->plan, PAWL_EFFECT_UNSUBSCRIBE,
                           (int32_t)-all->at[i].no);
}

static void subscribe(pawl_decision *d) {
  const pawl_marks *all = &d->plan.state.watched;

  for (int i = 0; i < all->n; i++) {
    const pawl_mark *rule = &all->at[i];
    pawl_effect *f =
        pawl_plan_effect(&d->plan, PAWL_EFFECT_SUBSCRIBE, (int32_t)-rule->no);
    pawl_buf_addz(&f->name, rule->name);
    f->has_key = rule->has_key;
    if (!rule->has_key) continue;
    pawl_buf_adds(&f->key, pawl_buf_str(&rule->key));
    pawl_look_again(d); /* rule 5: write, commit, then look */
  }
}

void pawl_rules_watch(pawl_decision *d) {
  pawl_plan *p = &d->plan;
  pawl_marks now = {0}, was;

  if (!d->def || p->version || pawl_is_undoing(d) || pawl_is_cleaning(d))
    return;
  if (!d->def->ncancel_on && !p->state.watched.n) return;
  pawl_rules_list(d, d->def, pawl_vars_now(d), &now);
  if (now.failed) p->failed = 1;
  if (!p->failed && !pawl_marks_same(&now, &p->state.watched)) {
    unsubscribe(d);
    was = p->state.watched;
    p->state.watched = now;
    now = was;
    subscribe(d); /* the later word about a rule counts */
  }
  pawl_marks_deinit(&now, p->alloc);
}

void pawl_rules_transfer(pawl_decision *d, const pawl_def *from,
                         const pawl_def *to) {
  pawl_marks_clear(&d->plan.state.watched);
  if (!d->state.visit) return; /* it has not begun */
  /* all of them: who only applies the inbox need not know which rest */
  for (int i = 0; i < from->ncancel_on; i++)
    (void)pawl_plan_effect(&d->plan, PAWL_EFFECT_UNSUBSCRIBE, (int32_t)-i);
  pawl_rules_list(d, to, pawl_vars_now(d), &d->plan.state.watched);
  if (!d->plan.state.watched.failed) subscribe(d);
}

/* ---- what cancels ---- */

/* Kept events that came before the instance did are not meant. In the same
 * microsecond their ids tell, which are drawn in order (I1). */
static int is_older(const pawl_decision *d, const pawl_letter *l) {
  if (!l->kept) return 0;
  if (l->received_us != d->created_us) return l->received_us < d->created_us;
  return pawl_id_cmp(&l->came, &d->id) < 0;
}

static int hits(const pawl_decision *d, const pawl_event_rule *rule,
                const pawl_letter *l) {
  pawl_buf key = {.alloc = d->plan.alloc};
  int hit;

  if (!pawl_event_matches(rule->event, pawl_buf_str(&l->name))) return 0;
  if (!rule->key)
    hit = pawl_event_fits(l, pawl_strz(NULL));
  else if (l->addressed && !l->has_key)
    hit = 1;
  else
    hit = pawl_event_key(d, pawl_vars_now(d), rule->key, &key) && key.len &&
          pawl_event_fits(l, pawl_buf_str(&key));
  pawl_buf_deinit(&key);
  return hit;
}

int pawl_rules_cancel(const pawl_decision *d, const pawl_letter *l) {
  if (!d->def || !d->def->ncancel_on || is_older(d, l)) return 0;
  for (int i = 0; i < d->def->ncancel_on; i++)
    if (hits(d, &d->def->cancel_on[i], l)) return 1;
  return 0;
}
