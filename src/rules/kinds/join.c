/* Fork and join arithmetic: which joins fire, and what comes too late. */
#include <inttypes.h>
#include <stdlib.h>

#include "../../value/json.h"
#include "../machine.h"

/* A join and the fork whose branches it gathers: the tokens that wait there,
 * and those that may still come. */
typedef struct group {
  const pawl_node *join;
  int at;       /* the join's index */
  int32_t fork; /* number of the token that forked */
  int arrived, coming;
  int last; /* index of the newest arrival; -1 */
} group;

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
  return t->scope[join->join_depth];
}

static int has_arrived(const pawl_token *t, const group *g) {
  return t->state == PAWL_TOKEN_WAITING && is_at(t, g->join);
}

/* Nodes one edge further; a stack of indices. */
static void push_next(const pawl_node *node, int *stack, int *n,
                      unsigned char *seen) {
  for (int i = 0; i < node->nnext + node->non_error + 1; i++) {
    int to = i < node->nnext ? node->next[i].to
             : i < node->nnext + node->non_error
                 ? node->on_error[i - node->nnext].to
             : node->kind == PAWL_KIND_EACH ? node->branch
                                            : -1;
    if (to < 0 || seen[to]) continue;
    seen[to] = 1;
    stack[(*n)++] = to;
  }
}

/* Is there a way from `from` to the join that does not lead through a join
 * that has fired for this token, where it would be dropped? */
static int has_way(const pawl_held *h, const pawl_token *t, int from,
                   const group *g) {
  const pawl_def *d = h->def;
  size_t size = (size_t)d->nnodes * (sizeof(int) + 1);
  int *stack = pawl_realloc(h->plan.alloc, NULL, 0, size);
  unsigned char *seen;
  int n = 1, found = 0;

  if (!stack) return 1; /* it waits, which is never wrong for good */
  seen = (unsigned char *)(stack + d->nnodes);
  memset(seen, 0, (size_t)d->nnodes);
  stack[0] = from;
  seen[from] = 1;
  while (n && !found) {
    const pawl_node *node = &d->nodes[stack[--n]];
    found = node == g->join;
    if (node->kind == PAWL_KIND_JOIN && t->depth > node->join_depth &&
        pawl_join_has_fired(h, t, node))
      continue;
    push_next(node, stack, &n, seen);
  }
  pawl_release(h->plan.alloc, stack, size);
  return found;
}

/* Where a token stands; for one that has not left its fork yet, because its
 * siblings go first, the node that it will go to. */
static int stands_at(pawl_held *h, int k, const pawl_node *node) {
  const pawl_token *t = pawl_tok(h, k);
  int to;

  if (node->kind == PAWL_KIND_FORK && t->fork && t->branch &&
      !strcmp(t->fork, node->name)) {
    to = pawl_node_next(node, t->branch, strlen(t->branch));
    if (to >= 0) return to;
  }
  return (int)(node - h->def->nodes);
}

/* May the token, which is inside the group, still come to the join? */
static int may_come(pawl_held *h, int k, const group *g) {
  const pawl_node *node = pawl_tok_node(h, k);
  int at;

  if (!node) return 0;
  at = stands_at(h, k, node);
  if (at == g->at) return 1; /* put there, and not yet arrived */
  return pawl_def_meets(h->def, at, g->at) &&
         (!h->plan.joined.len || has_way(h, pawl_tok(h, k), at, g));
}

static void count(pawl_held *h, group *g) {
  pawl_inside in = pawl_inside_fork(h, g->fork);
  int64_t newest = -1;
  int k;

  g->arrived = g->coming = 0;
  g->last = -1;
  while ((k = pawl_inside_next(h, &in)) >= 0) {
    const pawl_token *t = pawl_tok(h, k);
    if (!pawl_token_is_live(t->state) || t->depth <= g->join->join_depth ||
        closes(t, g->join) != g->fork)
      continue;
    if (has_arrived(t, g)) {
      g->arrived++;
      if (t->visit > newest) g->last = k;
      if (t->visit > newest) newest = t->visit;
    } else {
      g->coming += may_come(h, k, g);
    }
  }
}

/* ---- marks of joins that have fired while siblings still run ---- */

int pawl_join_has_fired(const pawl_held *h, const pawl_token *t,
                        const pawl_node *join) {
  pawl_json_iter it = {0};
  pawl_str key, mark, name, scope;
  int64_t no;

  if (!h->plan.joined.len) return 0;
  while (pawl_json_each(pawl_buf_str(&h->plan.joined), &it, &key, &mark)) {
    pawl_buf text = {.alloc = h->plan.joined.alloc};
    int same;
    if (!pawl_json_get(mark, "join", &name) ||
        !pawl_json_get(mark, "scope", &scope) || !pawl_json_int(scope, &no))
      continue;
    pawl_json_unquote(name, &text);
    same = pawl_str_eqz(pawl_buf_str(&text), join->name);
    pawl_buf_deinit(&text);
    if (same && no == closes(t, join)) return 1;
  }
  return 0;
}

static void mark(pawl_held *h, const group *g) {
  pawl_plan *p = &h->plan;
  if (p->joined.len)
    p->joined.at[p->joined.len - 1] = ','; /* the closing bracket */
  else
    pawl_buf_addc(&p->joined, '[');
  pawl_buf_addz(&p->joined, "{\"join\":");
  pawl_json_add_string(&p->joined, pawl_strz(g->join->name));
  pawl_buf_addf(&p->joined, ",\"scope\":%d}]", (int)g->fork);
  p->more = 1;
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
static void list_arrivals(pawl_held *h, const group *g, arrival *list) {
  pawl_inside in = pawl_inside_fork(h, g->fork);
  int k, n = 0;

  while (n < g->arrived && (k = pawl_inside_next(h, &in)) >= 0) {
    const pawl_token *t = pawl_tok(h, k);
    if (!has_arrived(t, g) || t->depth <= g->join->join_depth ||
        closes(t, g->join) != g->fork)
      continue;
    list[n].visit = t->visit;
    list[n].seq = pawl_detail_int(t, "seq");
    list[n++].k = k;
  }
  qsort(list, (size_t)n, sizeof *list, by_visit);
}

/* The token that goes on in the scope outside, with what the last of those
 * brought that made it fire: the first n. What led here is listed in the order
 * of history, and so is `first` then. Its index; -1: out of memory. */
static int merge(pawl_engine *e, pawl_held *h, const group *g, arrival *first,
                 int n) {
  pawl_buf from = {.alloc = &e->alloc};
  int last = first[n - 1].k, k = pawl_token_new(h, last);
  pawl_str given;

  if (k < 0) return k;
  if (pawl_detail_get(pawl_tok(h, last), "out", &given))
    pawl_detail_set(pawl_tok(h, k), "out", given);
  qsort(first, (size_t)n, sizeof *first, by_seq);
  for (int i = 0; i < n; i++)
    pawl_buf_addf(&from, "%c%" PRId64, i ? ',' : '[', first[i].seq);
  pawl_buf_addc(&from, ']');
  pawl_token_climb(e, h, k, g->join->join_depth + g->join->join_stays);
  if (g->join->join_stays) pawl_tok(h, k)->branch = g->join->name;
  pawl_detail_set(pawl_tok(h, k), "from", pawl_buf_str(&from));
  pawl_buf_deinit(&from);
  return k;
}

/* Those on their way to a join that does not wait for them. */
static void call_off(pawl_engine *e, pawl_held *h, const group *g) {
  pawl_inside in = pawl_inside_fork(h, g->fork);
  int k;

  while ((k = pawl_inside_next(h, &in)) >= 0) {
    const pawl_token *t = pawl_tok(h, k);
    const pawl_node *node = pawl_tok_node(h, k);
    if (!pawl_token_is_live(t->state) || t->depth <= g->join->join_depth ||
        closes(t, g->join) != g->fork)
      continue;
    if (node && pawl_def_meets(h->def, (int)(node - h->def->nodes), g->at))
      pawl_token_end(e, h, k, "others reached the join first");
  }
}

static int lives_in(pawl_held *h, int32_t fork) {
  pawl_inside in = pawl_inside_fork(h, fork);
  int k;

  while ((k = pawl_inside_next(h, &in)) >= 0)
    if (pawl_tok_live(h, k) && pawl_token_is_in(pawl_tok(h, k), fork))
      return 1;
  return 0;
}

/* As many as it expects, the first that came, become one; who came after them
 * came too late, though it was in the same decision. */
static void fire(pawl_engine *e, pawl_held *h, const group *g) {
  int64_t expect = g->join->expect;
  int n = expect && expect < g->arrived ? (int)expect : g->arrived;
  int record = h->plan.nrecords - 1, k = -1;
  size_t size = sizeof(arrival) * (size_t)g->arrived;
  arrival *list = pawl_realloc(h->plan.alloc, NULL, 0, size);

  if (list) {
    list_arrivals(h, g, list);
    k = merge(e, h, g, list, n);
  }
  if (k < 0) {
    h->plan.failed = 1;
    pawl_release(h->plan.alloc, list, list ? size : 0);
    return;
  }
  for (int i = 0; i < g->arrived; i++)
    pawl_token_end(e, h, list[i].k, i < n ? NULL : PAWL_TOO_LATE);
  pawl_release(h->plan.alloc, list, size);
  if (g->join->losers_cancel) call_off(e, h, g);
  /* a number is not missed by those who are left there */
  if (g->coming || expect > 1)
    if (lives_in(h, g->fork)) mark(h, g);
  /* rule 6: `all` fires on what is stored; a race is decided on the latest */
  if (expect) h->plan.needs_latch = 1;
  pawl_leave_by(e, h, k, g->join->next[0].to, record);
}

/* ---- numbers that cannot be reached ---- */

/* A token that stands for the join, where none has come to it. */
static int stand_in(pawl_engine *e, pawl_held *h, const group *g, int from) {
  int k = pawl_token_new(h, from);
  pawl_token *t;

  if (k < 0) return k;
  pawl_token_climb(e, h, k, g->join->join_depth + 1);
  t = pawl_tok(h, k);
  t->previous = t->node;
  t->node = g->join->name;
  t->visit = ++h->plan.visit;
  return k;
}

/* `from`: a token inside the fork, if none has arrived. */
static void unreachable(pawl_engine *e, pawl_held *h, const group *g,
                        int from) {
  int k = g->arrived ? g->last : stand_in(e, h, g, from);
  pawl_error err;

  if (k < 0) return;
  pawl_fail(&err, PAWL_JOIN_UNREACHABLE,
            "join \"%s\" expects %" PRId64 " tokens; %d came and %d more can",
            g->join->name, g->join->expect, g->arrived, g->coming);
  pawl_error_hint(&err, "expect fewer, or lead every branch there");
  pawl_result_clear(&e->result);
  e->result.no_retry = 1;
  mark(h, g); /* once */
  pawl_fail_token(e, h, k, &err, 0);
}

/* The fork that a token is in at a depth; NULL: an each, or unknown. */
static const pawl_node *fork_at(pawl_engine *e, pawl_held *h,
                                const pawl_token *t, int depth) {
  pawl_buf text = {.alloc = &e->alloc};
  pawl_str up, key, level, name = {0};
  pawl_json_iter it = {0};
  int at;

  if (depth + 1 == t->depth) {
    if (t->fork) name = pawl_strz(t->fork);
  } else if (pawl_detail_get(t, "up", &up)) {
    for (int i = 0; pawl_json_each(up, &it, &key, &level); i++)
      if (i == depth + 1 && pawl_json_get(level, "fork", &key))
        pawl_json_unquote(key, &text);
    name = pawl_buf_str(&text);
  }
  at = name.len ? pawl_def_node(h->def, name.at, name.len) : -1;
  pawl_buf_deinit(&text);
  return at >= 0 && h->def->nodes[at].kind == PAWL_KIND_FORK
             ? &h->def->nodes[at]
             : NULL;
}

static int leads_to(const pawl_held *h, const pawl_node *fork, int join) {
  for (int i = 0; i < fork->nnext; i++)
    if (fork->next[i].to == join ||
        pawl_def_meets(h->def, fork->next[i].to, join))
      return 1;
  return 0;
}

static int expects_number(const pawl_node *node) {
  return node->kind == PAWL_KIND_JOIN && node->expect > 1;
}

/* Does a fork around the token lead to this join, which fewer than it expects
 * can come to, and which has not fired? */
static int is_missed(pawl_engine *e, pawl_held *h, int k, int join, group *g) {
  const pawl_node *node = &h->def->nodes[join], *fork;
  const pawl_token *t = pawl_tok(h, k);

  if (t->depth <= node->join_depth || pawl_join_has_fired(h, t, node))
    return 0;
  fork = fork_at(e, h, t, node->join_depth);
  if (!fork || !leads_to(h, fork, join)) return 0;
  g->join = node;
  g->at = join;
  g->fork = closes(t, node);
  count(h, g);
  return g->arrived + g->coming < node->expect;
}

int pawl_join_missed_by(pawl_engine *e, pawl_held *h, int k) {
  group g;

  if (!pawl_tok(h, k)->depth) return 0;
  for (int i = 0; i < h->def->nnodes; i++) {
    if (!expects_number(&h->def->nodes[i]) || !is_missed(e, h, k, i, &g))
      continue;
    unreachable(e, h, &g, k);
    return 1;
  }
  return 0;
}

/* 1: one has failed. */
static int settle_missed(pawl_engine *e, pawl_held *h) {
  group g;

  for (int i = 0; i < h->def->nnodes; i++) {
    const pawl_node *join = &h->def->nodes[i];
    int32_t seen = 0; /* mostly, siblings stand side by side */
    if (!expects_number(join)) continue;
    for (int k = 0; k < h->plan.tokens.n; k++) {
      const pawl_token *t = pawl_tok(h, k);
      if (!pawl_token_is_live(t->state) || t->depth <= join->join_depth ||
          closes(t, join) == seen)
        continue;
      seen = closes(t, join);
      if (!is_missed(e, h, k, i, &g)) continue;
      unreachable(e, h, &g, k);
      return 1;
    }
  }
  return 0;
}

/* ---- settling ---- */

/* 1: something happened. */
static int settle_group(pawl_engine *e, pawl_held *h, group *g) {
  int64_t expect = g->join->expect;
  count(h, g);
  if (!g->arrived) return 0;
  if (expect ? g->arrived >= expect : !g->coming) {
    fire(e, h, g);
    return 1;
  }
  if (expect && g->arrived + g->coming < expect) {
    unreachable(e, h, g, -1);
    return 1;
  }
  return 0;
}

/* The join at which this token waits, if it does. 1: something happened. */
static int settle_at(pawl_engine *e, pawl_held *h, int k) {
  const pawl_token *t = pawl_tok(h, k);
  const pawl_node *node;
  group g;

  if (t->state != PAWL_TOKEN_WAITING) return 0;
  node = pawl_tok_node(h, k);
  if (!node || node->kind != PAWL_KIND_JOIN) return 0;
  g.join = node;
  g.at = (int)(node - h->def->nodes);
  g.fork = closes(t, node);
  return settle_group(e, h, &g);
}

/* Each join once; new tokens, too. 1: something happened. */
static int settle_pass(pawl_engine *e, pawl_held *h) {
  int any = 0;
  for (int k = 0; k < h->plan.tokens.n; k++) {
    any |= settle_at(e, h, k);
    if (h->plan.after == PAWL_AFTER_END || pawl_is_undoing(h)) break;
  }
  return any;
}

/* Every live token waits at a join for another of them: nobody will come. */
static int is_stuck(pawl_held *h, group *g) {
  int any = 0;
  for (int k = 0; k < h->plan.tokens.n; k++) {
    const pawl_node *node;
    if (!pawl_tok_live(h, k)) continue;
    node = pawl_tok_node(h, k);
    if (pawl_tok(h, k)->state != PAWL_TOKEN_WAITING || !node ||
        node->kind != PAWL_KIND_JOIN)
      return 0;
    g->join = node;
    g->at = (int)(node - h->def->nodes);
    g->fork = closes(pawl_tok(h, k), node);
    any = 1;
  }
  if (any) count(h, g);
  return any;
}

/* Marks of forks in which nobody is left are forgotten. */
static void forget_marks(pawl_held *h) {
  pawl_buf kept = {.alloc = h->plan.joined.alloc};
  pawl_json_iter it = {0};
  pawl_str key, one, scope;

  if (!h->plan.joined.len) return;
  while (pawl_json_each(pawl_buf_str(&h->plan.joined), &it, &key, &one)) {
    int64_t no = 0;
    if (pawl_json_get(one, "scope", &scope)) (void)pawl_json_int(scope, &no);
    if (!lives_in(h, (int32_t)no)) continue;
    pawl_buf_addc(&kept, kept.len ? ',' : '[');
    pawl_buf_adds(&kept, one);
  }
  if (kept.len) pawl_buf_addc(&kept, ']');
  if (kept.len != h->plan.joined.len) {
    pawl_buf_clear(&h->plan.joined);
    pawl_buf_adds(&h->plan.joined, pawl_buf_str(&kept));
    h->plan.more = 1;
  }
  pawl_buf_deinit(&kept);
}

void pawl_joins_settle(pawl_engine *e, pawl_held *h) {
  group g;
  for (;;) { /* what failed for want of memory would do so again for ever */
    if (h->plan.failed) return;
    if (h->plan.after == PAWL_AFTER_END || pawl_is_undoing(h)) return;
    if (settle_pass(e, h) || settle_missed(e, h)) continue;
    if (!is_stuck(h, &g)) break;
    unreachable(e, h, &g, -1);
  }
  forget_marks(h);
}

void pawl_joins_race(pawl_engine *e, pawl_held *h) {
  while (h->plan.raced && h->plan.after != PAWL_AFTER_END &&
         !pawl_is_undoing(h)) {
    const pawl_tokens *all = &h->plan.tokens;
    const pawl_token *t = pawl_tokens_find(&h->plan.tokens, h->plan.raced);
    h->plan.raced = 0;
    if (t) (void)settle_at(e, h, (int)(t - all->at));
  }
}
