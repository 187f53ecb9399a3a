/* An instance goes on in another version, under the lease: whether it can, as
 * it stands by now, and what becomes of its tokens.
 *
 * What waits is not entered again, as that would have effects twice. What the
 * new version says otherwise is put right where it is:
 *
 *   wait     listens for the new event and key, or has its condition asked at
 *            the next look; its time counts from when it began. A key that
 *            only code can tell: asked for at the next look
 *   timer    its time counts from when it began; a new `at` is asked. It
 *            listens for the new event that moves it
 *   ...      and a limit that a handler said, or is to say, stays: it is asked
 *            once a visit
 *   task     stays, with its form, under the node's new name
 *   call     its child stays; the timeout is the new one
 *   each     its items stay; window and timeout are the new ones
 *   join     what has come has come; what has fired stays so
 *   boundary as a timer or wait, on the same node; it ends where there is none
 *            any more, and a new one begins where somebody stands, its time
 *            counted from when that came there (boundary.c) */
#include <assert.h>

#include "machine.h"

/* ---- names ---- */

/* A name on the other side; NULL stays so. */
static const char *across(const pawl_decision *d, const pawl_crossing *c,
                          const char *name) {
  pawl_buf to = {.alloc = d->alloc};
  const char *kept = NULL;

  if (!name) return NULL;
  pawl_map_name(c->map, name, &to);
  if (!to.failed) kept = pawl_decision_name(d, pawl_buf_str(&to));
  pawl_buf_deinit(&to);
  return kept ? kept : name;
}

static const pawl_node *node_of(const pawl_def *def, const char *name) {
  int at = name ? pawl_def_node(def, name, strlen(name)) : -1;
  return at < 0 ? NULL : &def->nodes[at];
}

/* A branch is called like a transition, which often is the node it leads to,
 * or like the join that gathered a part of them. `fork`: its new name. */
static const char *branch_across(const pawl_decision *d,
                                 const pawl_crossing *c, const char *fork,
                                 const char *branch) {
  const pawl_node *node = node_of(c->to, fork);

  if (!branch || !node || node->kind != PAWL_KIND_FORK ||
      pawl_node_next(node, branch, strlen(branch)) >= 0)
    return branch;
  const char *to = across(d, c, branch);
  if (pawl_node_next(node, to, strlen(to)) >= 0) return to;
  node = node_of(c->to, to);
  return node && node->kind == PAWL_KIND_JOIN ? to : branch;
}

static void transfer_fork(const pawl_decision *d, const pawl_crossing *c,
                          const char **fork, const char **branch) {
  if (!*fork) return;
  *fork = across(d, c, *fork);
  *branch = branch_across(d, c, *fork, *branch);
}

static void transfer_names(const pawl_decision *d, const pawl_crossing *c,
                           pawl_token *t) {
  pawl_levels *up = t->detail ? &t->detail->up : NULL;

  t->node = across(d, c, t->node);
  t->previous = across(d, c, t->previous);
  transfer_fork(d, c, &t->fork, &t->branch);
  for (int i = 0; up && i < up->n; i++) /* further out, which joins restore */
    transfer_fork(d, c, &up->at[i].fork, &up->at[i].branch);
  t->changed = 1;
}

/* The joins that have fired while siblings still run: else they would fire
 * once more. */
static void transfer_marks(pawl_decision *d, const pawl_crossing *c) {
  pawl_marks *joined = &d->plan.state.joined;

  for (int i = 0; i < joined->n; i++)
    joined->at[i].name = across(d, c, joined->at[i].name);
}

/* ---- all of it ---- */

/* What listens, and names a variable for its key, has to find one there that
 * an event could have. */
static void check_key(const pawl_decision *d, const pawl_node *node,
                      pawl_ear ear, pawl_str vars, pawl_buf *why) {
  const char *name = node ? pawl_node_key(node, ear) : NULL;
  pawl_buf key = {.alloc = why->alloc};

  if (!name || why->len) return;
  if (!pawl_event_key(d, vars, name, &key))
    pawl_buf_addf(why,
                  "%s \"%s\": its key \"%s\" is neither a text nor a number "
                  "in the variables or the input",
                  pawl_kind_name(node->kind), node->name, name);
  else if (!pawl_event_key_is_sound(pawl_buf_str(&key)))
    pawl_buf_addf(why,
                  "%s \"%s\": its key \"%s\" is not 1 to %d bytes, none of "
                  "them zero, as events have it",
                  pawl_kind_name(node->kind), node->name, name, PAWL_MAX_KEY);
  if (key.failed) why->failed = 1;
  pawl_buf_deinit(&key);
}

/* Where it stands now. */
static void find_places(pawl_decision *d, pawl_places *places) {
  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    const pawl_token *t = pawl_tok(d, k);
    if (!pawl_token_is_live(t->state)) continue;
    pawl_place *place = pawl_places_add(d->world, places);
    if (!place) {
      d->plan.failed = 1;
      return;
    }
    place->instance = d->id;
    place->no = t->no;
    place->node = t->node;
    place->waiting = t->state == PAWL_TOKEN_WAITING;
    place->stands = place->waiting || t->attempt > 0;
    pawl_place_around(place, t);
  }
}

/* What begins is subscribed at once, and counts among the tokens that one of a
 * limited definition may have. */
typedef struct begun {
  pawl_decision *d;
  const pawl_crossing *c;
  pawl_str vars;
  pawl_buf *why;
  int n;
} begun;

static void check_begun(void *ud, const pawl_place *place, int level, int at) {
  begun *b = ud;

  (void)place, (void)level;
  check_key(b->d, &b->c->to->nodes[at], PAWL_EAR_OWN, b->vars, b->why);
  b->n++;
}

static void check_all_begun(begun *b, const pawl_places *places) {
  pawl_buf name = {.alloc = b->why->alloc};
  pawl_error err;

  pawl_crossing_begins(b->c, places->at, places->n, &b->d->plan.state.joined,
                       check_begun, b, &name);
  if (b->n && !b->why->len && pawl_tokens_bear(b->d, b->n, &err) != PAWL_OK)
    pawl_buf_addz(b->why, err.message);
  if (name.failed) b->why->failed = 1;
  pawl_buf_deinit(&name);
}

void pawl_version_check(pawl_decision *d, const pawl_crossing *c,
                        pawl_str vars, pawl_buf *why) {
  begun b = {.d = d, .c = c, .vars = vars, .why = why};
  pawl_places places = {0};
  pawl_error err;

  pawl_buf_adds(why, pawl_buf_str(&c->why));
  find_places(d, &places);
  for (int i = 0; i < places.n && !why->len; i++) {
    const pawl_place *place = &places.at[i];
    if (pawl_crossing_check(c, place, why, &err) != PAWL_OK) why->failed = 1;
    for (pawl_ear ear = PAWL_EAR_OWN; ear < PAWL_NEARS; ear++)
      if (place->waiting)
        check_key(d, node_of(c->to, across(d, c, place->node)), ear, vars,
                  why);
  }
  if (!why->len) check_all_begun(&b, &places);
  if (why->failed) d->plan.failed = 1;
  pawl_places_deinit(d->world, &places);
}

/* A boundary that the other version has not. */
static int is_lost(const pawl_decision *d, const pawl_crossing *c,
                   const pawl_token *t) {
  pawl_buf name = {.alloc = d->plan.alloc};
  const int lost = pawl_detail_of(t)->host && t->node &&
                   pawl_crossing_boundary(c, t->node, &name) < 0;

  pawl_buf_deinit(&name);
  return lost;
}

static void begin(void *ud, const pawl_place *place, int level, int at) {
  const begun *b = ud;
  const pawl_node *node = &b->c->to->nodes[at];

  pawl_boundary_begin(b->d, place->no, level, node,
                      pawl_decision_name(b->d, pawl_strz(node->name)),
                      pawl_decision_name(b->d, pawl_strz(node->on)));
}

/* Of where it stood; what is carried over has its new names by now. */
static void begin_all(pawl_decision *d, const pawl_crossing *c,
                      const pawl_places *places, const pawl_marks *joined) {
  begun b = {.d = d, .c = c};
  pawl_buf name = {.alloc = d->plan.alloc};

  pawl_crossing_begins(c, places->at, places->n, joined, begin, &b, &name);
  if (name.failed) d->plan.failed = 1;
  pawl_buf_deinit(&name);
}

/* It has begun, with the deadline that it has or without: the function of the
 * other version is for those that begin in it. */
static void keep_deadline(pawl_state *s, const pawl_crossing *c) {
  if (!c->to->has_deadline || c->from->has_deadline || s->lasts || !s->visit)
    return;
  s->lasts = s->deadline_us && c->from->deadline_us > 0 ? c->from->deadline_us
                                                        : PAWL_LASTS_FOR_EVER;
}

void pawl_version_change(pawl_decision *d, const pawl_crossing *c) {
  pawl_plan *p = &d->plan;
  pawl_places places = {0};

  find_places(d, &places);
  for (int k = 0; k < p->state.tokens.n; k++) {
    const pawl_node *was = node_of(c->from, pawl_tok(d, k)->node), *is;
    if (!pawl_tok_live(d, k)) continue;
    if (is_lost(d, c, pawl_tok(d, k))) {
      pawl_token_end(d, k, NULL);
      continue;
    }
    transfer_names(d, c, pawl_tok(d, k));
    is = node_of(c->to, pawl_tok(d, k)->node);
    if (pawl_tok(d, k)->state == PAWL_TOKEN_WAITING && was && is &&
        pawl_kind_of(d, is)->transfer)
      pawl_kind_of(d, is)->transfer(d, k, was, is);
  }
  begin_all(d, c, &places, &p->state.joined);
  pawl_places_deinit(d->world, &places);
  transfer_marks(d, c);
  if (!pawl_stays_ended(d)) pawl_rules_transfer(d, c->from, c->to);
  assert(c->to->version != d->version);
  p->state.node = across(d, c, p->state.node);
  p->state.previous = across(d, c, p->state.previous);
  p->version = c->to->version;
  keep_deadline(&p->state, c);
}

/* ---- one that has failed ---- */

/* It stands nowhere while it has ended: its tokens are there only to be given
 * the names of the other version, as a retry would find them. What had to be
 * undone, and was nothing, stays on the record. */
void pawl_stopped_transfer(pawl_decision *d, const pawl_crossing *c) {
  pawl_plan *p = &d->plan;
  pawl_def *def = d->def;
  int64_t visit = p->state.visit;

  d->def = c->from;
  pawl_stopped_restore(d);
  d->def = def;
  pawl_version_change(d, c);
  pawl_stopped_note(d);
  p->state.tokens.n = 0;
  p->state.visit = visit; /* to be entered then, and not twice */
  pawl_marks_clear(&p->state.joined);
}
