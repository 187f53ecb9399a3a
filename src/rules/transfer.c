/* An instance goes on in another version, under the lease: whether it can, as
 * it stands by now, and what becomes of its tokens.
 *
 * What waits is not entered again, as that would have effects twice. What the
 * new version says otherwise is put right where it is:
 *
 *   wait     listens for the new event and key; its time counts from when it
 *            began. A key that only code can tell: asked for at the next look
 *   timer    its time counts from when it began; a new `at` is asked
 *   task     stays, with its form, under the node's new name
 *   call     its child stays; the timeout is the new one
 *   each     its items stay; window and timeout are the new ones
 *   join     what has come has come; what has fired stays so */
#include <inttypes.h>

#include "../engine/versions/crossing.h"
#include "../value/json.h"
#include "machine.h"

/* ---- names ---- */

/* A name on the other side; NULL stays so. */
static const char *across(pawl_engine *e, const pawl_crossing *c,
                          const char *name) {
  pawl_buf to = {.alloc = &e->alloc};
  const char *kept = NULL;

  if (!name) return NULL;
  pawl_map_name(c->map, pawl_strz(name), &to);
  if (!to.failed) kept = pawl_engine_intern(e, pawl_buf_str(&to));
  pawl_buf_deinit(&to);
  return kept ? kept : name;
}

static const pawl_node *node_of(const pawl_def *def, const char *name) {
  int at = name ? pawl_def_node(def, name, strlen(name)) : -1;
  return at < 0 ? NULL : &def->nodes[at];
}

/* A branch is called like a transition, which often is the node it leads to,
 * or like the join that gathered a part of them. `fork`: its new name. */
static const char *branch_across(pawl_engine *e, const pawl_crossing *c,
                                 const char *fork, const char *branch) {
  const pawl_node *node = node_of(c->to, fork);
  const char *to;

  if (!branch || !node || node->kind != PAWL_KIND_FORK ||
      pawl_node_next(node, branch, strlen(branch)) >= 0)
    return branch;
  to = across(e, c, branch);
  if (pawl_node_next(node, to, strlen(to)) >= 0) return to;
  node = node_of(c->to, to);
  return node && node->kind == PAWL_KIND_JOIN ? to : branch;
}

static void set_name(pawl_buf *object, const char *name, const char *value) {
  pawl_buf quoted = {.alloc = object->alloc};
  pawl_json_add_string(&quoted, pawl_strz(value));
  pawl_object_set(object, name, pawl_buf_str(&quoted));
  pawl_buf_deinit(&quoted);
}

static const char *intern_member(pawl_engine *e, pawl_str object,
                                 const char *name) {
  pawl_buf text = {.alloc = &e->alloc};
  const char *kept = NULL;
  pawl_str value;
  if (pawl_json_get(object, name, &value)) {
    pawl_json_unquote(value, &text);
    kept = pawl_engine_intern(e, pawl_buf_str(&text));
  }
  pawl_buf_deinit(&text);
  return kept;
}

/* The forks further out, which joins restore. */
static void move_up(pawl_engine *e, const pawl_crossing *c, pawl_token *t) {
  pawl_buf all = {.alloc = &e->alloc}, one = {.alloc = &e->alloc};
  pawl_json_iter it = {0};
  pawl_str up, key, level;

  if (!pawl_detail_get(t, "up", &up)) return;
  while (pawl_json_each(up, &it, &key, &level)) {
    const char *fork = intern_member(e, level, "fork");
    const char *branch = intern_member(e, level, "branch");
    pawl_buf_clear(&one);
    pawl_buf_adds(&one, level);
    if (fork) {
      fork = across(e, c, fork);
      set_name(&one, "fork", fork);
    }
    if (fork && branch)
      set_name(&one, "branch", branch_across(e, c, fork, branch));
    pawl_buf_addc(&all, all.len ? ',' : '[');
    pawl_buf_adds(&all, pawl_buf_str(&one));
  }
  pawl_buf_addc(&all, ']');
  if (all.len > 1) pawl_detail_set(t, "up", pawl_buf_str(&all));
  pawl_buf_deinit(&all);
  pawl_buf_deinit(&one);
}

static void move_names(pawl_engine *e, const pawl_crossing *c, pawl_token *t) {
  t->node = across(e, c, t->node);
  t->previous = across(e, c, t->previous);
  if (t->fork) {
    t->fork = across(e, c, t->fork);
    t->branch = branch_across(e, c, t->fork, t->branch);
  }
  move_up(e, c, t);
  t->changed = 1;
}

/* The joins that have fired while siblings still run: else they would fire
 * once more. */
static void move_marks(pawl_engine *e, pawl_held *h, const pawl_crossing *c) {
  pawl_buf all = {.alloc = &e->alloc}, one = {.alloc = &e->alloc};
  pawl_json_iter it = {0};
  pawl_str key, mark;

  if (!h->plan.joined.len) return;
  while (pawl_json_each(pawl_buf_str(&h->plan.joined), &it, &key, &mark)) {
    const char *join = intern_member(e, mark, "join");
    pawl_buf_clear(&one);
    pawl_buf_adds(&one, mark);
    if (join) set_name(&one, "join", across(e, c, join));
    pawl_buf_addc(&all, all.len ? ',' : '[');
    pawl_buf_adds(&all, pawl_buf_str(&one));
  }
  if (all.len) pawl_buf_addc(&all, ']');
  pawl_buf_clear(&h->plan.joined);
  pawl_buf_adds(&h->plan.joined, pawl_buf_str(&all));
  pawl_buf_deinit(&all);
  pawl_buf_deinit(&one);
}

/* ---- what waits ---- */

static void rename_task(pawl_held *h, int k) {
  pawl_effect *f =
      pawl_plan_effect(&h->plan, PAWL_EFFECT_TASK_RENAME, pawl_tok(h, k)->no);
  f->n = pawl_tok(h, k)->visit;
  f->node = pawl_tok(h, k)->node; /* it outlives the graph */
}

static void move_timer(pawl_engine *e, pawl_token *t, const pawl_node *was,
                       const pawl_node *is) {
  int64_t began = pawl_wait_began(t, was->after_us, pawl_engine_now(e));
  if (is->after_us < 0) { /* its handler is asked at the next look */
    t->state = PAWL_TOKEN_ACTIVE;
    t->due_us = 0;
  } else if (is->after_us != was->after_us) {
    t->due_us = pawl_time_after(began, is->after_us);
  }
}

/* An unchanged timeout stays due when it is: it may have been shifted. */
static void move_waiting(pawl_engine *e, pawl_held *h, int k,
                         const pawl_node *was, const pawl_node *is) {
  pawl_token *t = pawl_tok(h, k);
  int64_t began = pawl_wait_began(t, was->limit_us, pawl_engine_now(e));

  switch (is->kind) {
    case PAWL_KIND_TIMER:
      move_timer(e, t, was, is);
      break;
    case PAWL_KIND_WAIT:
      if (is->limit_us != was->limit_us)
        pawl_wait_until(t, began, is->limit_us);
      pawl_wait_renew(h, k, is, began);
      break;
    case PAWL_KIND_TASK:
      if (is->limit_us != was->limit_us) pawl_task_look(t, is);
      rename_task(h, k);
      break;
    case PAWL_KIND_CALL:
    case PAWL_KIND_EACH:
      if (is->limit_us != was->limit_us)
        pawl_wait_until(t, began, is->limit_us);
      break;
    default:
      break;
  }
}

/* ---- all of it ---- */

/* A wait that names a variable for its key has to find one there that an event
 * could have. */
static void check_key(const pawl_held *h, const pawl_token *t,
                      const pawl_node *node, pawl_str vars, pawl_buf *why) {
  pawl_buf key = {.alloc = why->alloc};

  if (t->state != PAWL_TOKEN_WAITING || !node ||
      node->kind != PAWL_KIND_WAIT || !node->key)
    return;
  if (!pawl_event_key(h, vars, node->key, &key))
    pawl_buf_addf(why,
                  "wait \"%s\": its key \"%s\" is neither a text nor a number "
                  "in the variables or the input",
                  node->name, node->key);
  else if (!pawl_event_key_is_sound(pawl_buf_str(&key)))
    pawl_buf_addf(why,
                  "wait \"%s\": its key \"%s\" is not 1 to %d bytes, none of "
                  "them zero, as events have it",
                  node->name, node->key, PAWL_MAX_KEY);
  if (key.failed) why->failed = 1;
  pawl_buf_deinit(&key);
}

void pawl_version_check(pawl_engine *e, pawl_held *h, const pawl_crossing *c,
                        pawl_str vars, pawl_buf *why) {
  pawl_error err;

  pawl_buf_adds(why, pawl_buf_str(&c->why));
  for (int k = 0; k < h->plan.tokens.n && !why->len; k++) {
    const pawl_token *t = pawl_tok(h, k);
    pawl_place place = {.instance = h->id, .no = t->no, .node = t->node};
    if (!pawl_token_is_live(t->state)) continue;
    place.waiting = t->state == PAWL_TOKEN_WAITING;
    if (!pawl_place_around(e, &place, t->fork, pawl_buf_str(&t->detail)) ||
        pawl_crossing_check(c, &place, why, &err) != PAWL_OK)
      why->failed = 1;
    if (!why->len)
      check_key(h, t, node_of(c->to, across(e, c, t->node)), vars, why);
  }
  if (why->failed) h->plan.failed = 1;
}

void pawl_version_change(pawl_engine *e, pawl_held *h,
                         const pawl_crossing *c) {
  pawl_plan *p = &h->plan;

  for (int k = 0; k < p->tokens.n; k++) {
    const pawl_node *was = node_of(c->from, pawl_tok(h, k)->node), *is;
    if (!pawl_tok_live(h, k)) continue;
    move_names(e, c, pawl_tok(h, k));
    is = node_of(c->to, pawl_tok(h, k)->node);
    if (pawl_tok(h, k)->state == PAWL_TOKEN_WAITING && was && is)
      move_waiting(e, h, k, was, is);
  }
  move_marks(e, h, c);
  if (!pawl_stays_ended(h)) pawl_rules_move(h, c->from, c->to);
  p->node = across(e, c, p->node);
  p->previous = across(e, c, p->previous);
  p->workflow_version = c->to->version;
  p->more = 1;
}
