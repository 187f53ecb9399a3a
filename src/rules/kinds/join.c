/* Fork and join arithmetic: which joins fire, and what comes too late. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "../../value/json.h"
#include "../machine.h"
#include "../order.h"

/* A join and the fork whose branches it gathers: the tokens that wait there,
 * and those that may still come. */
typedef struct gathering {
  const pawl_node *join;
  int at;       /* the join's index */
  int32_t fork; /* number of the token that forked */
  int arrived, coming;
  int last; /* index of the newest arrival; -1 */
} gathering;

/* One of the tokens that wait at it. Visits are numbered as tokens come to
 * nodes, so that they tell who came first. */
typedef struct arrival {
  int64_t visit, seq; /* seq: the row of history that led here */
  int k;
} arrival;

static int is_at(const pawl_token *t, const pawl_node *node) {
  return t->node && !strcmp(t->node, node->name);
}

/* The fork that this join closes around the token. */
static int32_t closes(const pawl_token *t, const pawl_node *join) {
  assert(t->depth > join->join_depth);
  return t->scope[join->join_depth];
}

static int has_arrived(const pawl_token *t, const gathering *g) {
  return t->state == PAWL_TOKEN_WAITING && is_at(t, g->join);
}

/* The next of its live tokens that has not left it for another fork; -1. */
static int next_of(const pawl_decision *d, const gathering *g,
                   pawl_inside *in) {
  int k;

  while ((k = pawl_inside_next(d, in)) >= 0) {
    const pawl_token *t = &d->plan.state.tokens.at[k];
    if (pawl_token_is_live(t->state) && t->depth > g->join->join_depth &&
        closes(t, g->join) == g->fork)
      return k;
  }
  return -1;
}

/* Joins that have fired for this token, where it would be dropped. */
static int is_barred(const pawl_decision *d, const pawl_node *node,
                     const pawl_token *t) {
  return node->kind == PAWL_KIND_JOIN && t->depth > node->join_depth &&
         pawl_join_has_fired(d, t, node);
}

/* Where a token stands; for one that has not left its fork yet, because its
 * siblings go first, the node that it will go to. */
static int stands_at(pawl_decision *d, int k, const pawl_node *node) {
  const pawl_token *t = pawl_tok(d, k);
  int to;

  if (node->kind == PAWL_KIND_FORK && t->fork && t->branch &&
      !strcmp(t->fork, node->name)) {
    to = pawl_node_next(node, t->branch, strlen(t->branch));
    if (to >= 0) return to;
  }
  return (int)(node - d->def->nodes);
}

/* May the token, which is inside the fork, still come to the join? */
static int may_come(pawl_decision *d, int k, const gathering *g) {
  const pawl_node *node = pawl_tok_node(d, k);

  if (!node) return 0;
  int at = stands_at(d, k, node);
  if (at == g->at) return 1; /* put there, and not yet arrived */
  return pawl_def_meets(d->def, at, g->at) &&
         (!d->plan.state.joined.n ||
          pawl_has_way(d, at, g->at, is_barred, pawl_tok(d, k)));
}

/* A boundary comes instead of what it is on, or not at all: they are one. */
static int counts_elsewhere(pawl_decision *d, int k, const gathering *g) {
  pawl_token_list *all = &d->plan.state.tokens;
  const int64_t no = pawl_detail_of(pawl_tok(d, k))->host;
  const pawl_token *host = no ? pawl_tokens_find(all, (int32_t)no) : NULL;

  if (!host || !pawl_token_is_live(host->state)) return 0;
  const int first = (int)(host - all->at);
  if (may_come(d, first, g)) return 1;
  for (int i = first + 1; i < k; i++)
    if (pawl_tok_live(d, i) && pawl_detail_of(pawl_tok(d, i))->host == no &&
        may_come(d, i, g))
      return 1;
  return 0;
}

static void count(pawl_decision *d, gathering *g) {
  pawl_inside in = pawl_inside_fork(d, g->fork);
  int64_t newest = -1;
  int k;

  g->arrived = g->coming = 0;
  g->last = -1;
  while ((k = next_of(d, g, &in)) >= 0) {
    const pawl_token *t = pawl_tok(d, k);
    if (has_arrived(t, g)) {
      g->arrived++;
      if (t->visit > newest) g->last = k;
      if (t->visit > newest) newest = t->visit;
    } else {
      g->coming += may_come(d, k, g) && !counts_elsewhere(d, k, g);
    }
  }
}

/* ---- marks of joins that have fired while siblings still run ---- */

int pawl_join_has_fired(const pawl_decision *d, const pawl_token *t,
                        const pawl_node *join) {
  const pawl_marks *joined = &d->plan.state.joined;

  for (int i = 0; i < joined->n; i++)
    if (joined->at[i].no == closes(t, join) &&
        !strcmp(joined->at[i].name, join->name))
      return 1;
  return 0;
}

static void mark(pawl_decision *d, const gathering *g) {
  pawl_marks_add(&d->plan.state.joined, d->alloc,
                 pawl_decision_name(d, pawl_strz(g->join->name)), g->fork,
                 pawl_strz(NULL));
}

/* ---- firing ---- */

static int by_visit(const void *a, const void *b) {
  const arrival *x = a, *y = b;
  return x->visit < y->visit ? -1 : x->visit > y->visit;
}

static int by_seq(const void *a, const void *b) {
  const arrival *x = a, *y = b;
  return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Those that have arrived, in that order, into a list with room for them. */
static void list_arrivals(pawl_decision *d, const gathering *g,
                          arrival *list) {
  pawl_inside in = pawl_inside_fork(d, g->fork);
  int k, n = 0;

  while (n < g->arrived && (k = next_of(d, g, &in)) >= 0) {
    const pawl_token *t = pawl_tok(d, k);
    if (!has_arrived(t, g)) continue;
    list[n].visit = t->visit;
    list[n].seq = pawl_detail_of(t)->seq;
    list[n++].k = k;
  }
  qsort(list, (size_t)n, sizeof *list, by_visit);
}

/* The token that goes on in the scope outside, with what the last of those
 * brought that made it fire: the first n. What led here is listed in the order
 * of history, and so is `first` then. Its index; -1: out of memory. */
static int merge(pawl_decision *d, const gathering *g, arrival *first, int n) {
  pawl_buf from = {.alloc = d->alloc};
  int last = first[n - 1].k, k = pawl_token_new(d, last);

  if (k < 0) return k;
  pawl_detail_copy(pawl_tok(d, k), pawl_tok(d, last), PAWL_DETAIL_BIT(out));
  qsort(first, (size_t)n, sizeof *first, by_seq);
  for (int i = 0; i < n; i++)
    pawl_buf_addf(&from, "%c%" PRId64, i ? ',' : '[', first[i].seq);
  pawl_buf_addc(&from, ']');
  pawl_token_climb(d, k, g->join->join_depth + g->join->join_stays);
  if (g->join->join_stays) pawl_tok(d, k)->branch = g->join->name;
  pawl_detail_put(pawl_tok(d, k), PAWL_DETAIL_from, pawl_buf_str(&from));
  pawl_buf_deinit(&from);
  return k;
}

/* Those on their way to a join that does not wait for them. */
static void call_off(pawl_decision *d, const gathering *g) {
  pawl_inside in = pawl_inside_fork(d, g->fork);
  int k;

  while ((k = next_of(d, g, &in)) >= 0) {
    const pawl_node *node = pawl_tok_node(d, k);
    if (node && pawl_def_meets(d->def, (int)(node - d->def->nodes), g->at))
      pawl_token_end(d, k, "others reached the join first");
  }
}

/* As many as it expects, the first that came, become one; who came after them
 * came too late, though it was in the same decision. */
static void fire(pawl_decision *d, const gathering *g) {
  int64_t expect = g->join->expect;
  int n = expect && expect < g->arrived ? (int)expect : g->arrived;
  int record = d->plan.nrecords - 1, k = -1;
  size_t size = sizeof(arrival) * (size_t)g->arrived;
  arrival *list = pawl_realloc(d->plan.alloc, NULL, 0, size);

  assert(n > 0 && n <= g->arrived);
  if (list) {
    list_arrivals(d, g, list);
    k = merge(d, g, list, n);
  }
  if (k < 0) {
    d->plan.failed = 1;
    pawl_release(d->plan.alloc, list, list ? size : 0);
    return;
  }
  for (int i = 0; i < g->arrived; i++)
    pawl_token_end(d, list[i].k, i < n ? NULL : PAWL_TOO_LATE);
  pawl_release(d->plan.alloc, list, size);
  if (g->join->losers_cancel) call_off(d, g);
  /* a number is not missed by those who are left there */
  if (g->coming || expect > 1)
    if (pawl_inside_lives(d, g->fork)) mark(d, g);
  /* rule 6: `all` fires on what is stored; a race is decided on the latest */
  if (expect) d->plan.needs_latch = 1;
  if (!g->join->join_stays) pawl_boundaries_close(d, g->fork);
  const int64_t at_us = pawl_order_place(pawl_tok(d, k));
  pawl_order_follow(d, pawl_tok(d, k));
  pawl_leave_by(d, k, g->join->next[0].to, record);
  if (at_us) pawl_conditions_look(d, at_us); /* Q6 */
  pawl_order_follow(d, NULL);
}

/* ---- numbers that cannot be reached ---- */

/* A token that stands for the join, where none has come to it. */
static int stand_in(pawl_decision *d, const gathering *g, int from) {
  int k = pawl_token_new(d, from);

  if (k < 0) return k;
  pawl_token_climb(d, k, g->join->join_depth + 1);
  pawl_token *t = pawl_tok(d, k);
  t->previous = t->node;
  t->node = g->join->name;
  t->visit = ++d->plan.state.visit;
  t->entered_us = 0;
  return k;
}

/* `from`: a token inside the fork, if none has arrived. */
static void unreachable(pawl_decision *d, const gathering *g, int from) {
  int k = g->arrived ? g->last : stand_in(d, g, from);
  pawl_error err;

  if (k < 0) return;
  pawl_fail(&err, PAWL_JOIN_UNREACHABLE,
            "join \"%s\" expects %" PRId64 " tokens; %d came and %d more can",
            g->join->name, g->join->expect, g->arrived, g->coming);
  pawl_error_hint(&err, "expect fewer, or lead every branch there");
  pawl_said_clear(d->result);
  d->result->no_retry = 1;
  mark(d, g); /* once */
  pawl_fail_token(d, k, &err, 0);
}

/* The fork that a token is in at a depth; NULL: an each, or unknown. */
static const pawl_node *fork_at(pawl_decision *d, const pawl_token *t,
                                int depth) {
  const pawl_levels *up = &pawl_detail_of(t)->up;
  const char *name = depth + 1 == t->depth ? t->fork
                     : depth + 1 < up->n   ? up->at[depth + 1].fork
                                           : NULL;
  int at = name ? pawl_def_node(d->def, name, strlen(name)) : -1;

  return at >= 0 && d->def->nodes[at].kind == PAWL_KIND_FORK
             ? &d->def->nodes[at]
             : NULL;
}

static int leads_to(const pawl_decision *d, const pawl_node *fork, int join) {
  for (int i = 0; i < fork->nnext; i++)
    if (fork->next[i].to == join ||
        pawl_def_meets(d->def, fork->next[i].to, join))
      return 1;
  return 0;
}

static int expects_number(const pawl_node *node) {
  return node->kind == PAWL_KIND_JOIN && node->expect > 1;
}

/* Does a fork around the token lead to this join, which fewer than it expects
 * can come to, and which has not fired? */
static int is_missed(pawl_decision *d, int k, int join, gathering *g) {
  const pawl_node *node = &d->def->nodes[join], *fork;
  const pawl_token *t = pawl_tok(d, k);

  if (t->depth <= node->join_depth || pawl_join_has_fired(d, t, node))
    return 0;
  fork = fork_at(d, t, node->join_depth);
  if (!fork || !leads_to(d, fork, join)) return 0;
  g->join = node;
  g->at = join;
  g->fork = closes(t, node);
  count(d, g);
  return g->arrived + g->coming < node->expect;
}

int pawl_join_missed_by(pawl_decision *d, int k) {
  gathering g;

  if (!pawl_tok(d, k)->depth) return 0;
  for (int i = 0; i < d->def->nnodes; i++) {
    if (!expects_number(&d->def->nodes[i]) || !is_missed(d, k, i, &g))
      continue;
    unreachable(d, &g, k);
    return 1;
  }
  return 0;
}

/* 1: one has failed. */
static int settle_missed(pawl_decision *d) {
  gathering g;

  for (int i = 0; i < d->def->nnodes; i++) {
    const pawl_node *join = &d->def->nodes[i];
    int32_t seen = 0; /* mostly, siblings stand side by side */
    if (!expects_number(join)) continue;
    for (int k = 0; k < d->plan.state.tokens.n; k++) {
      const pawl_token *t = pawl_tok(d, k);
      if (!pawl_token_is_live(t->state) || t->depth <= join->join_depth ||
          closes(t, join) == seen)
        continue;
      seen = closes(t, join);
      if (!is_missed(d, k, i, &g)) continue;
      unreachable(d, &g, k);
      return 1;
    }
  }
  return 0;
}

/* ---- settling ---- */

/* 1: something happened. */
static int settle(pawl_decision *d, gathering *g) {
  int64_t expect = g->join->expect;
  count(d, g);
  if (!g->arrived) return 0;
  if (expect ? g->arrived >= expect : !g->coming) {
    fire(d, g);
    return 1;
  }
  if (expect && g->arrived + g->coming < expect) {
    unreachable(d, g, -1);
    return 1;
  }
  return 0;
}

/* The join at which this token waits, if it does. 1: something happened. */
static int settle_at(pawl_decision *d, int k) {
  const pawl_token *t = pawl_tok(d, k);
  gathering g;

  if (t->state != PAWL_TOKEN_WAITING) return 0;
  const pawl_node *node = pawl_tok_node(d, k);
  if (!node || node->kind != PAWL_KIND_JOIN) return 0;
  g.join = node;
  g.at = (int)(node - d->def->nodes);
  g.fork = closes(t, node);
  return settle(d, &g);
}

/* Each join once; new tokens, too. 1: something happened. */
static int settle_pass(pawl_decision *d) {
  int any = 0;
  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    any |= settle_at(d, k);
    if (pawl_is_over(d)) break;
  }
  return any;
}

/* Every live token waits at a join for another of them: nobody will come. */
static int is_stuck(pawl_decision *d, gathering *g) {
  int any = 0;
  for (int k = 0; k < d->plan.state.tokens.n; k++) {
    if (!pawl_tok_live(d, k)) continue;
    const pawl_node *node = pawl_tok_node(d, k);
    if (pawl_tok(d, k)->state != PAWL_TOKEN_WAITING || !node ||
        node->kind != PAWL_KIND_JOIN)
      return 0;
    g->join = node;
    g->at = (int)(node - d->def->nodes);
    g->fork = closes(pawl_tok(d, k), node);
    any = 1;
  }
  if (any) count(d, g);
  return any;
}

/* Marks of forks in which nobody is left are forgotten. */
static void forget_marks(pawl_decision *d) {
  pawl_marks *joined = &d->plan.state.joined;
  int n = 0;

  for (int i = 0; i < joined->n; i++) {
    pawl_mark one = joined->at[i]; /* slots change places */
    if (!pawl_inside_lives(d, (int32_t)one.no)) continue;
    joined->at[i] = joined->at[n];
    joined->at[n++] = one;
  }
  joined->n = n;
}

void pawl_joins_settle(pawl_decision *d) {
  gathering g;
  for (;;) { /* what failed for want of memory would do so again for ever */
    if (d->plan.failed) return;
    if (pawl_is_over(d)) return;
    if (settle_pass(d) || settle_missed(d)) continue;
    if (pawl_boundaries_settle(d)) continue; /* they could have come */
    if (!is_stuck(d, &g)) break;
    unreachable(d, &g, -1);
  }
  forget_marks(d);
}

void pawl_gather(pawl_decision *d) {
  for (int rounds = 0; rounds < 100 && !pawl_is_over(d); rounds++) {
    int before = d->plan.state.tokens.n, records = d->plan.nrecords;
    int64_t visits = d->plan.state.visit;
    pawl_eachs_settle(d);
    pawl_joins_settle(d);
    pawl_conditions_look(d, 0);
    if (before == d->plan.state.tokens.n && records == d->plan.nrecords &&
        visits == d->plan.state.visit)
      break;
  }
}

void pawl_joins_race(pawl_decision *d) {
  if (!d->plan.raced) return;
  while (d->plan.raced && !pawl_is_over(d)) {
    const pawl_token_list *all = &d->plan.state.tokens;
    const int32_t raced = d->plan.raced;
    const pawl_token *t = pawl_tokens_find(&d->plan.state.tokens, raced);
    d->plan.raced = 0;
    if (raced < 0)
      (void)settle_pass(d);
    else if (t)
      (void)settle_at(d, (int)(t - all->at));
  }
  if (!pawl_is_over(d)) (void)pawl_boundaries_settle(d);
}

/* ---- arriving ---- */

/* The row of history that brought a token to a join: the newest, unless it
 * came straight from its fork, before others of whom there are rows by now. */
static int64_t led_here(const pawl_decision *d, const pawl_token *t) {
  int64_t seq = pawl_record_seq(d);
  pawl_str from = pawl_buf_str(&pawl_detail_of(t)->from);

  for (pawl_json_iter it = {0}; pawl_json_walk(from, &it);)
    (void)pawl_json_int(it.value, &seq);
  return seq;
}

/* What is behind it may change variables, or wait for the event that comes
 * next. Nothing is begun any more where somebody has it cancelled. */
static int is_settled_soon(const pawl_decision *d) {
  return d->plan.state.tokens.n <= PAWL_ORDER_TOKENS && !d->plan.is_called_off;
}

/* Does coming to this join decide who is first, at it or further out; or is it
 * settled at once in any case? */
static int is_in_race(const pawl_decision *d, const pawl_node *node) {
  if (node->expect || is_settled_soon(d)) return 1;
  for (int i = 0; i < d->def->nnodes && node->join_depth; i++)
    if (d->def->nodes[i].kind == PAWL_KIND_JOIN && d->def->nodes[i].expect)
      return 1;
  return 0;
}

static pawl_code enter(pawl_decision *d, int k, const pawl_node *node, int *to,
                       pawl_buf *path, pawl_error *err) {
  pawl_token *t = pawl_tok(d, k);

  (void)err;
  if (t->depth <= node->join_depth) { /* nothing is open that it closes */
    *to = node->next[0].to;
    return PAWL_OK;
  }
  if (pawl_join_has_fired(d, t, node)) {
    if (path) pawl_buf_addz(path, " (dropped)");
    pawl_token_end(d, k, PAWL_TOO_LATE);
    pawl_each_item_left(d, k);
    return PAWL_OK;
  }
  pawl_detail_set(t, PAWL_DETAIL_seq, led_here(d, t));
  if (is_in_race(d, node)) d->plan.raced = d->plan.raced ? -1 : t->no;
  pawl_stand(d, k, 0);
  return PAWL_OK;
}

const pawl_kind_rules pawl_kind_join = {.enter = enter, .gathers = 1};
