/* How an instance stood when it failed: its tokens and the joins that had
 * fired, as JSON in its row. A retry goes on from there; a move to another
 * version puts it where a retry would go on in that one. */
#include <inttypes.h>

#include "../engine/versions/crossing.h"
#include "../value/json.h"
#include "machine.h"

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

void pawl_stopped_note(pawl_held *h) {
  pawl_buf *b = &h->plan.stopped;
  char scope[80];
  int n = 0;

  pawl_buf_clear(b);
  pawl_buf_addz(b, "{\"tokens\":[");
  for (int k = 0; k < h->plan.tokens.n; k++) {
    const pawl_token *t = pawl_tok(h, k);
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
    add_json(b, "data", &t->data);
    add_json(b, "event", &t->event);
    add_json(b, "detail", &t->detail);
    pawl_buf_addc(b, '}');
  }
  pawl_buf_addc(b, ']');
  add_json(b, "joined", &h->plan.joined);
  pawl_buf_addc(b, '}');
  h->plan.more = 1;
}

/* ---- restored ---- */

static const char *read_name(pawl_engine *e, pawl_str token,
                             const char *name) {
  pawl_buf text = {.alloc = &e->alloc};
  const char *kept = NULL;
  pawl_str value;
  if (pawl_json_get(token, name, &value)) {
    pawl_json_unquote(value, &text);
    kept = pawl_engine_intern(e, pawl_buf_str(&text));
  }
  pawl_buf_deinit(&text);
  return kept;
}

static void read_json(pawl_str token, const char *name, pawl_buf *out) {
  pawl_str value;
  if (pawl_json_get(token, name, &value)) pawl_buf_adds(out, value);
}

static void enter_again(pawl_engine *e, pawl_held *h, int k) {
  pawl_token *t = pawl_tok(h, k);
  pawl_token_keep(e, t);
  t->state = PAWL_TOKEN_ACTIVE;
  t->due_us = 0;
  t->visit = ++h->plan.visit;
  t->changed = 1;
}

/* What waited for siblings or items waits on, until the time it had;
 * everything else enters its node again, in a new visit with a time of its
 * own. */
static void restore(pawl_engine *e, pawl_held *h, pawl_str one) {
  pawl_plan *p = &h->plan;
  pawl_token *t = pawl_tokens_add(&p->tokens, p->alloc);
  const pawl_node *node;
  pawl_str value;
  int64_t n = 0;

  if (!t) {
    p->failed = 1;
    return;
  }
  if (pawl_json_get(one, "no", &value)) (void)pawl_json_int(value, &n);
  t->no = (int32_t)n;
  if (pawl_json_get(one, "visit", &value)) (void)pawl_json_int(value, &n);
  t->visit = n;
  t->node = read_name(e, one, "node");
  t->previous = read_name(e, one, "previous");
  t->fork = read_name(e, one, "fork");
  t->branch = read_name(e, one, "branch");
  if (pawl_json_get(one, "scope", &value) && value.len > 2) {
    pawl_str inside = {value.at + 1, value.len - 2};
    (void)pawl_scope_parse(t, inside);
  }
  read_json(one, "data", &t->data);
  read_json(one, "event", &t->event);
  read_json(one, "detail", &t->detail);
  pawl_detail_set(t, "kept", (pawl_str){NULL, 0}); /* K3 */
  t->stored = t->depth > 0 || t->data.len; /* its row may have been kept */
  t->changed = 1;
  node = pawl_tok_node(h, p->tokens.n - 1);
  if (pawl_json_get(one, "waiting", &value) && value.at[0] == 't' && node &&
      (node->kind == PAWL_KIND_JOIN || node->kind == PAWL_KIND_EACH)) {
    t->state = PAWL_TOKEN_WAITING;
    if (pawl_json_get(one, "due", &value))
      (void)pawl_json_int(value, &t->due_us);
  } else {
    enter_again(e, h, p->tokens.n - 1);
  }
}

/* An each waits on for the branches that are back with it; children were
 * cancelled, and items that were dropped do not come back. */
static void restore_each(pawl_engine *e, pawl_held *h, int k) {
  const pawl_node *node = pawl_tok_node(h, k);
  int32_t no = pawl_tok(h, k)->no;

  if (pawl_tok(h, k)->state != PAWL_TOKEN_WAITING || !node ||
      node->kind != PAWL_KIND_EACH)
    return;
  for (int i = 0; i < h->plan.tokens.n && !node->workflow; i++)
    if (pawl_token_is_in(pawl_tok(h, i), no)) return;
  enter_again(e, h, k);
}

void pawl_stopped_restore(pawl_engine *e, pawl_held *h) {
  pawl_str stopped = pawl_buf_str(&h->plan.stopped), tokens, joined, key, one;
  pawl_json_iter it = {0};

  if (!pawl_json_get(stopped, "tokens", &tokens)) tokens = pawl_strz("[]");
  while (pawl_json_each(tokens, &it, &key, &one)) restore(e, h, one);
  for (int k = 0; k < h->plan.tokens.n; k++) restore_each(e, h, k);
  pawl_buf_clear(&h->plan.joined);
  if (pawl_json_get(stopped, "joined", &joined))
    pawl_buf_adds(&h->plan.joined, joined);
  pawl_buf_clear(&h->plan.compensation); /* it had nothing to undo */
  pawl_buf_clear(&h->plan.stopped);
  h->plan.more = 1;
}

/* ---- moved ---- */

void pawl_stopped_check(pawl_engine *e, const pawl_held *h,
                        const pawl_crossing *c, pawl_buf *why) {
  pawl_places places = {0};
  pawl_error err;
  pawl_code rc;

  pawl_buf_adds(why, pawl_buf_str(&c->why));
  if (why->len) return;
  rc = pawl_places_stopped(e, &h->id, pawl_buf_str(&h->plan.stopped), &places,
                           &err);
  for (int i = 0; i < places.n && !why->len && rc == PAWL_OK; i++)
    rc = pawl_crossing_check(c, &places.at[i], why, &err);
  if (rc != PAWL_OK) why->failed = 1;
  pawl_places_deinit(e, &places);
}

/* It stands nowhere while it has ended: its tokens are there only to be given
 * the names of the other version, as a retry would find them. What had to be
 * undone, and was nothing, stays on the record. */
void pawl_stopped_move(pawl_engine *e, pawl_held *h, const pawl_crossing *c) {
  pawl_plan *p = &h->plan;
  pawl_buf compensation = {.alloc = p->alloc};
  pawl_def *def = h->def;
  int64_t visit = p->visit;

  pawl_buf_swap(&compensation, &p->compensation);
  h->def = c->from;
  pawl_stopped_restore(e, h);
  h->def = def;
  pawl_version_change(e, h, c);
  pawl_stopped_note(h);
  p->tokens.n = 0;
  p->visit = visit; /* to be entered then, and not twice */
  pawl_buf_clear(&p->joined);
  pawl_buf_swap(&compensation, &p->compensation);
  pawl_buf_deinit(&compensation);
}
