/* Fork and join arithmetic: which joins fire, and what comes too late. */
#include <inttypes.h>
#include <stdlib.h>

#include "../value/json.h"
#include "machine.h"

/* A join and the fork whose branches it gathers: the tokens that wait there,
 * and those that may still come. */
typedef struct group {
  const pawl_node *join;
  int at;       /* the join's index */
  int32_t fork; /* number of the token that forked */
  int arrived, coming;
  int last; /* index of the newest arrival */
} group;

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

/* May the token, which is inside the group, still come to the join? */
static int may_come(pawl_held *h, int k, const group *g) {
  const pawl_node *node = pawl_tok_node(h, k);
  int at;

  if (!node) return 0;
  if (node == g->join) return 1; /* put there, and not yet arrived */
  at = (int)(node - h->def->nodes);
  return pawl_def_meets(h->def, at, g->at) &&
         (!h->plan.joined.len || has_way(h, pawl_tok(h, k), at, g));
}

static void count(pawl_held *h, group *g) {
  int64_t newest = -1;
  g->arrived = g->coming = 0;
  g->last = -1;
  for (int k = 0; k < h->plan.tokens.n; k++) {
    const pawl_token *t = pawl_tok(h, k);
    if (!pawl_token_is_live(t->state) || t->depth <= g->join->join_depth ||
        closes(t, g->join) != g->fork)
      continue;
    if (has_arrived(t, g)) {
      int64_t seq = pawl_detail_int(t, "seq");
      g->arrived++;
      if (seq >= newest) g->last = k;
      if (seq >= newest) newest = seq;
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

static int by_seq(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

/* The rows of history that the arrivals left, in order. */
static void list_arrivals(pawl_held *h, const group *g, pawl_buf *out) {
  int64_t *seqs = NULL;
  size_t size = sizeof *seqs * (size_t)g->arrived;
  int n = 0;

  seqs = pawl_realloc(out->alloc, NULL, 0, size);
  if (!seqs) {
    h->plan.failed = 1;
    return;
  }
  for (int k = 0; k < h->plan.tokens.n && n < g->arrived; k++) {
    const pawl_token *t = pawl_tok(h, k);
    if (has_arrived(t, g) && t->depth > g->join->join_depth &&
        closes(t, g->join) == g->fork)
      seqs[n++] = pawl_detail_int(t, "seq");
  }
  qsort(seqs, (size_t)n, sizeof *seqs, by_seq);
  pawl_buf_addc(out, '[');
  for (int i = 0; i < n; i++)
    pawl_buf_addf(out, "%s%" PRId64, i ? "," : "", seqs[i]);
  pawl_buf_addc(out, ']');
  pawl_release(out->alloc, seqs, size);
}

/* Arrivals become one token that goes on in the scope outside. */
static void fire(pawl_engine *e, pawl_held *h, const group *g) {
  pawl_buf from = {.alloc = &e->alloc};
  int depth = g->join->join_depth, n = h->plan.tokens.n;
  int record = h->plan.nrecords - 1;
  int k = pawl_token_new(h, g->last);
  pawl_str given;

  if (k < 0) return;
  if (pawl_detail_get(pawl_tok(h, g->last), "out", &given))
    pawl_detail_set(pawl_tok(h, k), "out", given);
  list_arrivals(h, g, &from);
  pawl_token_climb(e, h, k, depth + (g->join->join_stays ? 1 : 0));
  if (g->join->join_stays) pawl_tok(h, k)->branch = g->join->name;
  pawl_detail_set(pawl_tok(h, k), "from", pawl_buf_str(&from));
  for (int i = 0; i < n; i++) {
    const pawl_token *t = pawl_tok(h, i);
    if (!pawl_token_is_live(t->state) || t->depth <= depth ||
        closes(t, g->join) != g->fork)
      continue;
    if (has_arrived(t, g)) {
      pawl_token_end(e, h, i, NULL);
    } else {
      const pawl_node *node = pawl_tok_node(h, i);
      if (g->join->losers_cancel && node &&
          pawl_def_meets(h->def, (int)(node - h->def->nodes), g->at))
        pawl_token_end(e, h, i, "others reached the join first");
    }
  }
  if (g->coming && !g->join->losers_cancel) mark(h, g);
  /* rule 6: `all` fires on what is stored; a race is decided on the latest */
  if (g->join->expect) h->plan.needs_latch = 1;
  pawl_buf_deinit(&from);
  pawl_leave_by(e, h, k, g->join->next[0].to, record);
}

static void unreachable(pawl_engine *e, pawl_held *h, const group *g) {
  pawl_error err;
  pawl_fail(&err, PAWL_JOIN_UNREACHABLE,
            "join \"%s\" expects %" PRId64 " tokens; %d came and no more can",
            g->join->name, g->join->expect, g->arrived);
  pawl_error_hint(&err, "expect fewer, or lead every branch there");
  e->result.no_retry = 1;
  pawl_fail_token(e, h, g->last, &err, 0);
}

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
    unreachable(e, h, g);
    return 1;
  }
  return 0;
}

static int settle_one(pawl_engine *e, pawl_held *h) {
  for (int k = 0; k < h->plan.tokens.n; k++) {
    const pawl_token *t = pawl_tok(h, k);
    const pawl_node *node;
    group g;
    if (t->state != PAWL_TOKEN_WAITING) continue;
    node = pawl_tok_node(h, k);
    if (!node || node->kind != PAWL_KIND_JOIN) continue;
    g.join = node;
    g.at = (int)(node - h->def->nodes);
    g.fork = closes(t, node);
    if (settle_group(e, h, &g)) return 1;
  }
  return 0;
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
    int live = 0;
    if (pawl_json_get(one, "scope", &scope)) (void)pawl_json_int(scope, &no);
    for (int k = 0; k < h->plan.tokens.n && !live; k++)
      live =
          pawl_tok_live(h, k) && pawl_token_is_in(pawl_tok(h, k), (int32_t)no);
    if (!live) continue;
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
  for (;;) {
    if (h->plan.after == PAWL_AFTER_END || pawl_is_undoing(h)) return;
    if (settle_one(e, h)) continue;
    if (!is_stuck(h, &g)) break;
    unreachable(e, h, &g);
  }
  forget_marks(h);
}
