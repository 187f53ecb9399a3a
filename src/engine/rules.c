/* Events that cancel an instance: `cancel_on` of its workflow.
 *
 * A rule's key is a name, looked up in the variables, then the input. What it
 * stands for is looked at again at the end of every decision, and the
 * subscription renewed in the same commit when it has changed: when the first
 * step sets it, when it is edited, when the instance goes on after it had
 * ended, and when it was moved to a version with other rules. A rule without
 * a key that an event could have rests until it has one. As for waits, a
 * commit that subscribes to a key looks afterwards for what was kept for it
 * (rule 5), as far as that came since the instance began: what came before was
 * about another one. */
#include <inttypes.h>

#include "../rules/machine.h"
#include "../value/json.h"

/* ---- the text ---- */

void pawl_rules_add(pawl_buf *out, int64_t no, pawl_str pattern,
                    pawl_str key) {
  if (out->len)
    out->at[out->len - 1] = ','; /* instead of what closed it */
  else
    pawl_buf_addc(out, '[');
  pawl_buf_addf(out, "[%" PRId64 ",", no);
  pawl_json_add_string(out, pattern);
  pawl_buf_addc(out, ',');
  if (key.at)
    pawl_json_add_string(out, key);
  else
    pawl_buf_addz(out, "null");
  pawl_buf_addz(out, "]]");
}

static void rules_text(const pawl_held *h, const pawl_def *def, pawl_str vars,
                       pawl_buf *out) {
  for (int i = 0; i < def->ncancel_on; i++) {
    const pawl_event_rule *rule = &def->cancel_on[i];
    pawl_buf key = {.alloc = h->plan.alloc};
    pawl_str none = {NULL, 0};

    if (!rule->key)
      pawl_rules_add(out, i, pawl_strz(rule->event), none);
    else if (pawl_event_key(h, vars, rule->key, &key) &&
             pawl_event_key_is_sound(pawl_buf_str(&key)))
      pawl_rules_add(out, i, pawl_strz(rule->event), pawl_buf_str(&key));
    if (key.failed) out->failed = 1;
    pawl_buf_deinit(&key);
  }
}

void pawl_rules_text(const pawl_held *h, pawl_str vars, pawl_buf *out) {
  rules_text(h, h->def, vars, out);
}

void pawl_rules_read(pawl_str one, int64_t *no, pawl_str *key) {
  pawl_json_iter it = {0};
  pawl_str name, value = {NULL, 0};
  int at = 0;

  *no = 0;
  while (pawl_json_each(one, &it, &name, &value))
    if (at++ == 0) (void)pawl_json_int(value, no);
  *key = value;
  if (pawl_json_kind_of(value) != PAWL_JSON_STRING) key->at = NULL;
}

int64_t pawl_rules_since(const pawl_held *h) {
  int64_t ms = 0;
  for (int i = 0; i < 6; i++) ms = ms << 8 | h->id.bytes[i];
  return ms * 1000;
}

/* ---- subscriptions ---- */

static void unsubscribe(pawl_held *h) {
  pawl_json_iter it = {0};
  pawl_str name, one, key;
  int64_t no;

  while (h->plan.watched.len &&
         pawl_json_each(pawl_buf_str(&h->plan.watched), &it, &name, &one)) {
    pawl_rules_read(one, &no, &key);
    (void)pawl_plan_effect(&h->plan, PAWL_EFFECT_UNSUBSCRIBE, (int32_t)-no);
  }
}

static void subscribe(pawl_held *h, const pawl_def *def) {
  pawl_json_iter it = {0};
  pawl_str name, one, key;
  int64_t no;

  while (h->plan.watched.len &&
         pawl_json_each(pawl_buf_str(&h->plan.watched), &it, &name, &one)) {
    pawl_effect *f;
    pawl_rules_read(one, &no, &key);
    f = pawl_plan_effect(&h->plan, PAWL_EFFECT_SUBSCRIBE, (int32_t)-no);
    pawl_buf_addz(&f->name, def->cancel_on[no].event);
    f->has_key = key.at != NULL;
    if (!key.at) continue;
    pawl_json_unquote(key, &f->key);
    h->look = h->look ? h->look : 1; /* rule 5: write, commit, then look */
  }
}

void pawl_rules_watch(pawl_held *h) {
  pawl_plan *p = &h->plan;
  pawl_buf now = {.alloc = p->alloc};

  if (!h->def || p->workflow_version || pawl_is_undoing(h)) return;
  if (!h->def->ncancel_on && !p->watched.len) return;
  pawl_rules_text(h, pawl_vars_now(h), &now);
  if (!pawl_str_eq(pawl_buf_str(&now), pawl_buf_str(&p->watched))) {
    unsubscribe(h);
    pawl_buf_clear(&p->watched);
    pawl_buf_adds(&p->watched, pawl_buf_str(&now));
    subscribe(h, h->def); /* the later word about a rule counts */
  }
  if (now.failed) p->failed = 1;
  pawl_buf_deinit(&now);
}

void pawl_rules_move(pawl_held *h, const pawl_def *from, const pawl_def *to) {
  pawl_buf_clear(&h->plan.watched);
  if (!h->visit) return; /* it has not begun */
  /* all of them: who only applies the inbox need not know which rest */
  for (int i = 0; i < from->ncancel_on; i++)
    (void)pawl_plan_effect(&h->plan, PAWL_EFFECT_UNSUBSCRIBE, (int32_t)-i);
  rules_text(h, to, pawl_vars_now(h), &h->plan.watched);
  subscribe(h, to);
}

/* ---- what cancels ---- */

/* Kept events that came before the instance did are not meant. In the same
 * microsecond their ids tell, which are drawn in order (I1). */
static int is_older(const pawl_held *h, const pawl_letter *l) {
  if (!l->kept) return 0;
  if (l->received_us != h->created_us) return l->received_us < h->created_us;
  return pawl_id_cmp(&l->came, &h->id) < 0;
}

static int hits(const pawl_held *h, const pawl_event_rule *rule,
                const pawl_letter *l) {
  pawl_buf key = {.alloc = h->plan.alloc};
  pawl_str none = {NULL, 0};
  int hit;

  if (!pawl_event_matches(rule->event, pawl_buf_str(&l->name))) return 0;
  if (!rule->key)
    hit = pawl_event_fits(l, none);
  else if (l->addressed && !l->has_key)
    hit = 1;
  else
    hit = pawl_event_key(h, pawl_vars_now(h), rule->key, &key) && key.len &&
          pawl_event_fits(l, pawl_buf_str(&key));
  pawl_buf_deinit(&key);
  return hit;
}

int pawl_rules_cancel(const pawl_held *h, const pawl_letter *l) {
  if (!h->def || !h->def->ncancel_on || is_older(h, l)) return 0;
  for (int i = 0; i < h->def->ncancel_on; i++)
    if (hits(h, &h->def->cancel_on[i], l)) return 1;
  return 0;
}
