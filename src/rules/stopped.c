/* How an instance stood when it failed: its tokens and the joins that had
 * fired, as JSON in its row. A retry goes on from there; a transfer to another
 * version puts it where a retry would go on in that one. */
#include <inttypes.h>

#include "../value/json.h"
#include "machine.h"
#include "stored.h"

/* ---- noted ---- */

static void add_member(pawl_buf *b, const char *name, const char *text) {
  if (!text) return;
  pawl_buf_addf(b, ",\"%s\":", name);
  pawl_json_add_string(b, pawl_strz(text));
}

static void add_json(pawl_buf *b, const char *name, const pawl_buf *json) {
  if (!json->len) return;
  pawl_buf_addf(b, ",\"%s\":", name);
  pawl_buf_adds(b, pawl_buf_str(json));
}

void pawl_stopped_note(pawl_decision *d) {
  pawl_buf *b = &d->plan.state.stopped;
  char scope[80];
  int n = 0;

  pawl_buf_set(b, pawl_strz("{\"tokens\":["));
  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    const pawl_token *t = pawl_tok(d, k);
    if (!pawl_token_is_live(t->state)) continue;
    pawl_scope_format(t, scope);
    pawl_buf_addf(b, "%s{\"no\":%d,\"waiting\":%s,\"visit\":%" PRId64,
                  n++ ? "," : "", (int)t->no,
                  t->state == PAWL_TOKEN_WAITING ? "true" : "false", t->visit);
    add_member(b, "node", t->node);
    add_member(b, "previous", t->previous);
    add_member(b, "fork", t->fork);
    add_member(b, "branch", t->branch);
    add_member(b, "scope", scope);
    if (t->state == PAWL_TOKEN_WAITING && t->due_us)
      pawl_buf_addf(b, ",\"due\":%" PRId64, t->due_us);
    if (t->state == PAWL_TOKEN_WAITING && t->entered_us)
      pawl_buf_addf(b, ",\"entered\":%" PRId64, t->entered_us);
    add_json(b, "data", &t->data);
    add_json(b, "event", &t->event);
    add_json(b, "detail", pawl_detail_text(t));
    pawl_buf_addc(b, '}');
  }
  pawl_buf_addc(b, ']');
  if (d->plan.state.joined.n) pawl_buf_addz(b, ",\"joined\":");
  pawl_joined_write(&d->plan.state.joined, b);
  pawl_buf_addc(b, '}');
}

/* ---- restored ---- */

static void read_json(pawl_str token, const char *name, pawl_buf *out) {
  pawl_str value;
  if (pawl_json_get(token, name, &value)) pawl_buf_adds(out, value);
}

static void enter_again(pawl_decision *d, int k) {
  pawl_token *t = pawl_tok(d, k);
  pawl_detail_keep(t, (PAWL_DETAIL_STAYS & ~PAWL_DETAIL_BIT(guarded) &
                       ~PAWL_DETAIL_BIT(stepping)) |
                          PAWL_DETAIL_BIT(host));
  t->state = PAWL_TOKEN_ACTIVE;
  t->due_us = t->entered_us = 0;
  t->visit = ++d->plan.state.visit;
  t->changed = 1;
}

/* Is it a boundary with a time, which goes on with what it is on? */
static int is_timed(const pawl_token *t, const pawl_node *node) {
  return pawl_detail_of(t)->host && node->kind == PAWL_KIND_TIMER;
}

/* What waited for siblings or items waits on, until the time it had;
 * everything else enters its node again, in a new visit with a time of its
 * own. */
static void restore(pawl_decision *d, pawl_str one) {
  pawl_plan *p = &d->plan;
  pawl_token *t = pawl_tokens_add(&p->state.tokens, p->alloc);
  const pawl_node *node;
  pawl_str value;

  if (!t) {
    p->failed = 1;
    return;
  }
  t->no = (int32_t)pawl_json_get_int(one, "no", 0);
  t->visit = pawl_json_get_int(one, "visit", 0);
  t->node = pawl_world_name(d->world, one, "node", &t->failed);
  t->previous = pawl_world_name(d->world, one, "previous", &t->failed);
  t->fork = pawl_world_name(d->world, one, "fork", &t->failed);
  t->branch = pawl_world_name(d->world, one, "branch", &t->failed);
  if (pawl_json_get(one, "scope", &value) && value.len > 2) {
    pawl_str inside = {value.at + 1, value.len - 2};
    (void)pawl_scope_parse(t, inside);
  }
  read_json(one, "data", &t->data);
  read_json(one, "event", &t->event);
  if (pawl_json_get(one, "detail", &value))
    (void)pawl_detail_read(d->world, value, t);
  pawl_detail_drop(t, PAWL_DETAIL_kept);   /* K3 */
  t->stored = t->depth > 0 || t->data.len; /* its row may have been kept */
  t->changed = 1;
  node = pawl_tok_node(d, p->state.tokens.n - 1);
  if (pawl_json_get(one, "waiting", &value) && value.at[0] == 't' && node &&
      (pawl_kind_of(d, node)->gathers || is_timed(t, node))) {
    t->state = PAWL_TOKEN_WAITING;
    t->due_us = pawl_json_get_int(one, "due", 0);
    t->entered_us = pawl_json_get_int(one, "entered", 0);
  } else {
    enter_again(d, p->state.tokens.n - 1);
  }
}

/* An each waits on for the branches that are back with it; children were
 * cancelled, and items that were dropped do not come back. */
static void restore_each(pawl_decision *d, int k) {
  const pawl_node *node = pawl_tok_node(d, k);
  int32_t no = pawl_tok(d, k)->no;

  if (pawl_tok(d, k)->state != PAWL_TOKEN_WAITING || !node ||
      !pawl_kind_of(d, node)->has_scope)
    return;
  for (int i = 0; i < d->plan.state.tokens.n && !node->workflow; i++)
    if (pawl_token_is_in(pawl_tok(d, i), no)) return;
  enter_again(d, k);
}

void pawl_stopped_restore(pawl_decision *d) {
  pawl_str stopped = pawl_buf_str(&d->plan.state.stopped), tokens;
  pawl_str joined;

  if (!pawl_json_get(stopped, "tokens", &tokens)) tokens = pawl_strz("[]");
  for (pawl_json_iter it = {0}; pawl_json_walk(tokens, &it);)
    restore(d, it.value);
  for (int k = 0; k < d->plan.state.tokens.n; k++) restore_each(d, k);
  pawl_boundaries_restore(d);
  if (!pawl_json_get(stopped, "joined", &joined)) joined.len = 0;
  pawl_joined_read(d->world, joined, &d->plan.state.joined);
  pawl_buf_clear(&d->plan.state.stopped);
}

/* ---- moved ---- */

void pawl_stopped_check(const pawl_decision *d, const pawl_crossing *c,
                        pawl_buf *why) {
  pawl_places places = {0};
  pawl_error err;

  pawl_buf_adds(why, pawl_buf_str(&c->why));
  if (why->len) return;
  pawl_code rc = pawl_places_stopped(
      d->world, &d->id, pawl_buf_str(&d->plan.state.stopped), &places, &err);
  for (int i = 0; i < places.n && !why->len && rc == PAWL_OK; i++)
    rc = pawl_crossing_check(c, &places.at[i], why, &err);
  if (rc != PAWL_OK) why->failed = 1;
  pawl_places_deinit(d->world, &places);
}
