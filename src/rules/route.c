/* Moving a token on: what it meets at each kind of node, until it stands at
 * one that takes time. Forks and joins are passed here; which joins fire is
 * join.c's. */
#include <inttypes.h>
#include <stdio.h>

#include "../value/json.h"
#include "machine.h"

#define MAX_HOPS 100 /* nodes passed in one go; check.c refuses loops */

/* ---- new tokens, and the end of them ---- */

static void copy_buf(pawl_buf *to, const pawl_buf *from) {
  pawl_buf_clear(to);
  pawl_buf_adds(to, pawl_buf_str(from));
}

int pawl_token_new(pawl_held *h, int from) {
  pawl_plan *p = &h->plan;
  pawl_token *t = pawl_tokens_add(&p->tokens, p->alloc);
  const pawl_token *f;
  pawl_str up;

  if (!t) {
    p->failed = 1;
    return -1;
  }
  t->no = ++p->last_token;
  t->state = PAWL_TOKEN_ACTIVE;
  t->changed = 1;
  p->more = 1;
  if (from < 0) return p->tokens.n - 1;
  f = &p->tokens.at[from];
  t->node = f->node;
  t->previous = f->previous;
  t->fork = f->fork;
  t->branch = f->branch;
  t->visit = f->visit;
  t->depth = f->depth;
  memcpy(t->scope, f->scope, sizeof t->scope);
  copy_buf(&t->data, &f->data);
  copy_buf(&t->event, &f->event);
  if (pawl_detail_get(f, "up", &up)) pawl_detail_set(t, "up", up);
  if (pawl_detail_get(f, "at", &up)) pawl_detail_set(t, "at", up);
  if (pawl_detail_get(f, "kept", &up)) pawl_detail_set(t, "kept", up); /* K3 */
  return p->tokens.n - 1;
}

/* The surroundings that a join has to restore: fork, branch and data of each
 * level outside the token's own, outermost first. */
static void push_level(pawl_token *t, const pawl_token *parent) {
  pawl_buf up = {.alloc = t->detail.alloc};
  pawl_str old;

  pawl_buf_addc(&up, '[');
  if (pawl_detail_get(parent, "up", &old) && old.len > 2) {
    pawl_str inside = {old.at + 1, old.len - 2};
    pawl_buf_adds(&up, inside);
    pawl_buf_addc(&up, ',');
  }
  pawl_buf_addc(&up, '{');
  if (parent->fork) {
    pawl_buf_addz(&up, "\"fork\":");
    pawl_json_add_string(&up, pawl_strz(parent->fork));
    pawl_buf_addz(&up, ",\"branch\":");
    pawl_json_add_string(&up, pawl_strz(parent->branch));
  }
  if (parent->data.len) {
    if (parent->fork) pawl_buf_addc(&up, ',');
    pawl_buf_addz(&up, "\"data\":");
    pawl_buf_adds(&up, pawl_buf_str(&parent->data));
  }
  pawl_buf_addz(&up, "}]");
  pawl_detail_set(t, "up", pawl_buf_str(&up));
  pawl_buf_deinit(&up);
}

int pawl_token_branch(pawl_held *h, int parent, const char *fork,
                      const char *branch) {
  int k = pawl_token_new(h, parent);
  pawl_token *t, *f;

  if (k < 0) return k;
  t = pawl_tok(h, k);
  f = pawl_tok(h, parent);
  if (t->depth == PAWL_MAX_DEPTH) { /* check.c has refused such graphs */
    h->plan.failed = 1;
    return -1;
  }
  t->scope[t->depth++] = f->no;
  t->fork = fork;
  t->branch = branch;
  push_level(t, f);
  return k;
}

static const char *intern_member(pawl_engine *e, pawl_str level,
                                 const char *name) {
  pawl_buf text = {.alloc = &e->alloc};
  const char *kept = NULL;
  pawl_str value;
  if (pawl_json_get(level, name, &value)) {
    pawl_json_unquote(value, &text);
    kept = pawl_engine_intern(e, pawl_buf_str(&text));
  }
  pawl_buf_deinit(&text);
  return kept;
}

void pawl_token_climb(pawl_engine *e, pawl_held *h, int k, int depth) {
  pawl_token *t = pawl_tok(h, k);
  pawl_buf rest = {.alloc = &e->alloc};
  pawl_json_iter it = {0};
  pawl_str up, key, level, data;
  int at = 0;

  if (t->depth <= depth) return;
  t->depth = depth;
  t->fork = t->branch = NULL;
  if (!pawl_detail_get(t, "up", &up)) up = pawl_strz("[]");
  pawl_buf_addc(&rest, '[');
  for (; pawl_json_each(up, &it, &key, &level) && at < depth; at++) {
    if (at) pawl_buf_addc(&rest, ',');
    pawl_buf_adds(&rest, level);
  }
  pawl_buf_addc(&rest, ']');
  pawl_buf_clear(&t->data);
  it.at = 0;
  for (at = 0; pawl_json_each(up, &it, &key, &level); at++) {
    if (at != depth) continue;
    t->fork = intern_member(e, level, "fork");
    t->branch = intern_member(e, level, "branch");
    if (pawl_json_get(level, "data", &data)) pawl_buf_adds(&t->data, data);
  }
  pawl_detail_set(t, "up", depth ? pawl_buf_str(&rest) : (pawl_str){NULL, 0});
  t->changed = 1;
  pawl_buf_deinit(&rest);
}

void pawl_stop_waiting(pawl_held *h, int k, const char *task_status) {
  const pawl_node *node = pawl_tok_node(h, k);
  pawl_token *t = pawl_tok(h, k);
  pawl_effect *f;
  pawl_kind kind = node ? node->kind : PAWL_KIND_STEP;
  int64_t visit = t->visit;
  int32_t no = t->no;

  if (t->state != PAWL_TOKEN_WAITING || !node) return;
  if (kind == PAWL_KIND_WAIT) {
    pawl_plan_effect(&h->plan, PAWL_EFFECT_UNSUBSCRIBE, no);
  } else if (kind == PAWL_KIND_TASK && task_status) {
    f = pawl_plan_effect(&h->plan, PAWL_EFFECT_TASK_END, no);
    f->n = visit;
    pawl_buf_addz(&f->name, task_status);
  } else if ((kind == PAWL_KIND_CALL ||
              (kind == PAWL_KIND_EACH && node->workflow)) &&
             task_status) { /* its children are no longer wanted */
    pawl_children_unwanted(h, no);
  }
}

void pawl_token_end(pawl_engine *e, pawl_held *h, int k, const char *why) {
  pawl_token *t;

  const pawl_node *node = pawl_tok_node(h, k);
  int parked = node && node->kind == PAWL_KIND_EACH &&
               pawl_tok(h, k)->state == PAWL_TOKEN_WAITING;

  pawl_stop_waiting(h, k, "cancelled");
  if (why) {
    pawl_record *r = pawl_token_record(e, h, k, "dropped");
    pawl_buf_addz(&r->text, why);
  }
  t = pawl_tok(h, k);
  t->state = why ? PAWL_TOKEN_DROPPED : PAWL_TOKEN_CONSUMED;
  t->due_us = 0;
  t->changed = 1;
  if (parked) pawl_drop_scope(e, h, t->no, "its each was left");
}

void pawl_drop_scope(pawl_engine *e, pawl_held *h, int32_t no,
                     const char *why) {
  for (int k = 0; k < h->plan.tokens.n; k++)
    if (pawl_tok_live(h, k) && pawl_token_is_in(pawl_tok(h, k), no))
      pawl_token_end(e, h, k, why);
}

/* ---- the nodes ---- */

static void arrive(pawl_held *h, int k, const pawl_node *node,
                   pawl_buf *path) {
  pawl_token *t = pawl_tok(h, k);
  pawl_plan *p = &h->plan;
  t->previous = t->node;
  t->node = node->name;
  t->visit = ++p->visit;
  t->attempt = 0;
  t->state = PAWL_TOKEN_ACTIVE;
  t->due_us = 0;
  t->changed = 1;
  p->previous = t->previous;
  p->node = node->name;
  if (!path) return;
  if (path->len) pawl_buf_addz(path, " > ");
  pawl_buf_addz(path, node->name);
}

/* The token stands still until something happens. */
static void stand(pawl_held *h, int k, int64_t due_us) {
  pawl_token *t = pawl_tok(h, k);
  t->state = PAWL_TOKEN_WAITING;
  t->due_us = due_us;
  t->changed = 1;
}

static pawl_code enter_timer(pawl_engine *e, pawl_held *h, int k,
                             const pawl_node *node, pawl_error *err) {
  pawl_str none = {0};
  pawl_code rc = PAWL_OK;
  int64_t due = pawl_time_after(pawl_engine_now(e), node->after_us);

  if (node->after_us < 0) {
    TRY(pawl_run_handler(e, h, k, node, PAWL_HANDLER_AT, none, none, err));
    due = e->result.at_us;
  }
  stand(h, k, due > 0 ? due : 1);
out:
  return rc;
}

static pawl_code enter_choice(pawl_engine *e, pawl_held *h, int k,
                              const pawl_node *node, int *to, pawl_buf *path,
                              pawl_error *err) {
  const pawl_buf *t = &e->result.transition;
  pawl_str none = {0};
  pawl_code rc = PAWL_OK;

  TRY(pawl_run_handler(e, h, k, node, PAWL_HANDLER_CHOOSE, none, none, err));
  *to = e->result.has_transition ? pawl_node_next(node, t->at, t->len) : -1;
  if (*to < 0) {
    e->result.no_retry = 1;
    rc = pawl_fail(err, PAWL_SCRIPT,
                   "choice \"%s\": `choose` returned %s%s%s"
                   ", which is no transition of it",
                   node->name, e->result.has_transition ? "\"" : "",
                   e->result.has_transition ? t->at : "nothing",
                   e->result.has_transition ? "\"" : "");
    pawl_error_hint(err, "return one of the names in `next`, such as \"%s\"",
                    node->next[0].name);
    goto out;
  }
  if (path) {
    pawl_buf_addc(path, '=');
    pawl_buf_adds(path, pawl_buf_str(t));
  }
out:
  return rc;
}

/* Its own way ends here; the instance's too, when it was the last, or the
 * finish says so. */
static pawl_code enter_finish(pawl_engine *e, pawl_held *h, int k,
                              const pawl_node *node, pawl_error *err) {
  pawl_plan *p = &h->plan;
  pawl_str none = {0};
  pawl_code rc = PAWL_OK;
  int level, missed,
      ends = node->status_failed || node->terminate ||
             pawl_tokens_live(&p->tokens) == 1;

  if (node->has_output) { /* the last to give one decides it */
    TRY(pawl_run_handler(e, h, k, node, PAWL_HANDLER_OUTPUT, none, none, err));
    if (e->result.has_output) {
      p->has_output = 1;
      copy_buf(&p->output, &e->result.output);
      if (!ends) p->more = 1;
    }
  }
  missed =
      !node->status_failed && !node->terminate && pawl_join_missed_by(e, h, k);
  if (pawl_tok_live(h, k)) pawl_token_end(e, h, k, NULL);
  if (missed) return PAWL_OK;
  if (!ends) {
    if (pawl_each_around(h, k, &level) >= 0) pawl_each_item_left(e, h, k);
    return PAWL_OK;
  }
  if (!node->status_failed) {
    pawl_end(e, h, PAWL_STATUS_COMPLETED);
    return PAWL_OK;
  }
  if (!p->error.len) {
    pawl_error why;
    pawl_fail(&why, PAWL_SCRIPT, "it ended at finish \"%s\"", node->name);
    pawl_copy_text(why.reason, sizeof why.reason, node->name);
    pawl_plan_error(&p->error, &why, none);
  }
  pawl_end_undoing(e, h, PAWL_STATUS_FAILED, h->def->compensate);
  pawl_buf_clear(&p->stopped); /* to try that again would end the same way */
out:
  return rc;
}

/* One token for each branch, which go on one after the other. */
static void enter_fork(pawl_engine *e, pawl_held *h, int k,
                       const pawl_node *node, pawl_buf *path) {
  char newest[32];
  pawl_buf ways = {.alloc = &e->alloc}, from = {.alloc = &e->alloc};
  pawl_str came, given;

  snprintf(newest, sizeof newest, "[%" PRId64 "]", pawl_record_seq(h));
  pawl_buf_adds(&from, pawl_detail_get(pawl_tok(h, k), "from", &came)
                           ? came /* straight from a join */
                           : pawl_strz(newest));
  for (int i = 0; i < node->nnext; i++) {
    const pawl_edge *edge = &node->next[node->order[i]];
    int child = pawl_token_branch(h, k, node->name, edge->name);
    if (child < 0) break;
    pawl_detail_set(pawl_tok(h, child), "from", pawl_buf_str(&from));
    if (pawl_detail_get(pawl_tok(h, k), "out", &given))
      pawl_detail_set(pawl_tok(h, child), "out", given);
  }
  pawl_token_end(e, h, k, NULL);
  int first = h->plan.tokens.n - node->nnext;
  for (int i = 0; i < node->nnext && first >= 0; i++) {
    if (h->plan.after == PAWL_AFTER_END || pawl_is_undoing(h)) break;
    if (!pawl_tok_live(h, first + i)) continue; /* a sibling ended it */
    pawl_buf_clear(&ways);
    pawl_go_to(e, h, first + i, node->next[node->order[i]].to, &ways);
    if (!path) continue;
    pawl_buf_addz(path, i ? ", " : " (");
    pawl_buf_adds(path, pawl_buf_str(&ways));
  }
  if (path && path->len) pawl_buf_addc(path, ')');
  pawl_buf_deinit(&ways);
  pawl_buf_deinit(&from);
}

/* The row of history that brought a token to a join: the newest, unless it
 * came straight from its fork, before others of whom there are rows by now. */
static int64_t led_here(const pawl_held *h, const pawl_token *t) {
  int64_t seq = pawl_record_seq(h);
  pawl_json_iter it = {0};
  pawl_str from, key, one;

  if (!pawl_detail_get(t, "from", &from)) return seq;
  while (pawl_json_each(from, &it, &key, &one)) (void)pawl_json_int(one, &seq);
  return seq;
}

/* Does coming to this join decide who is first, at it or further out? */
static int is_in_race(const pawl_held *h, const pawl_node *node) {
  if (node->expect) return 1;
  for (int i = 0; i < h->def->nnodes && node->join_depth; i++)
    if (h->def->nodes[i].kind == PAWL_KIND_JOIN && h->def->nodes[i].expect)
      return 1;
  return 0;
}

static void enter_join(pawl_engine *e, pawl_held *h, int k,
                       const pawl_node *node, int *to, pawl_buf *path) {
  pawl_token *t = pawl_tok(h, k);

  if (t->depth <= node->join_depth) { /* nothing is open that it closes */
    *to = node->next[0].to;
    return;
  }
  if (pawl_join_has_fired(h, t, node)) {
    if (path) pawl_buf_addz(path, " (dropped)");
    pawl_token_end(e, h, k, PAWL_TOO_LATE);
    pawl_each_item_left(e, h, k);
    return;
  }
  pawl_detail_set_int(t, "seq", led_here(h, t));
  if (is_in_race(h, node)) h->plan.raced = t->no;
  stand(h, k, 0);
}

/* *to: where it goes on at once; -1: it stands. */
static pawl_code enter(pawl_engine *e, pawl_held *h, int k,
                       const pawl_node *node, int *to, pawl_buf *path,
                       pawl_error *err) {
  *to = -1;
  switch (node->kind) {
    case PAWL_KIND_STEP:
      return PAWL_OK;
    case PAWL_KIND_TIMER:
      return enter_timer(e, h, k, node, err);
    case PAWL_KIND_FINISH:
      return enter_finish(e, h, k, node, err);
    case PAWL_KIND_CHOICE:
      return enter_choice(e, h, k, node, to, path, err);
    case PAWL_KIND_FORK:
      enter_fork(e, h, k, node, path);
      return PAWL_OK;
    case PAWL_KIND_JOIN:
      enter_join(e, h, k, node, to, path);
      return PAWL_OK;
    case PAWL_KIND_WAIT:
      return pawl_wait_begin(e, h, k, node, err);
    case PAWL_KIND_TASK:
      return pawl_task_begin(e, h, k, node, err);
    case PAWL_KIND_CALL:
      return pawl_call_begin(e, h, k, node, err);
    case PAWL_KIND_EACH:
      return pawl_each_enter(e, h, k, node, to, err);
    case PAWL_NKINDS:
      break;
  }
  return PAWL_OK;
}

/* `to` is entered already, or (arrived) stood at. */
static pawl_code go(pawl_engine *e, pawl_held *h, int k, int to, int arrived,
                    pawl_buf *path, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  for (int hops = 0; to >= 0; hops++, arrived = 0) {
    const pawl_node *node = &h->def->nodes[to];
    if (!arrived) arrive(h, k, node, path);
    if (hops == MAX_HOPS) {
      e->result.no_retry = 1;
      return pawl_fail(err, PAWL_LIMIT,
                       "%d nodes in a row led to none that takes time",
                       MAX_HOPS);
    }
    TRY(enter(e, h, k, node, &to, path, err));
  }
out:
  return rc;
}

void pawl_go_to(pawl_engine *e, pawl_held *h, int k, int to, pawl_buf *path) {
  pawl_error later; /* it is told when that is tried again */
  (void)go(e, h, k, to, 0, path, &later);
}

pawl_code pawl_enter(pawl_engine *e, pawl_held *h, int k, pawl_buf *path,
                     pawl_error *err) {
  const char *name = pawl_tok(h, k)->node;
  int at = pawl_def_node(h->def, name, strlen(name));
  return go(e, h, k, at, 1, path, err);
}
