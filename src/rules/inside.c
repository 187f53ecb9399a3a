/* Which tokens are inside a fork or an item, without looking at all of them.
 *
 * An index of the live tokens by the numbers of their scope, made when it is
 * first asked for and made anew when many have been added since; those not in
 * it yet are candidates every time. Scopes do not change while one decision
 * lasts, save those of tokens just made, which are not in it. */
#include <assert.h>
#include <stdlib.h>

#include "machine.h"

#define UNINDEXED 32 /* so few are looked at one by one */

static int32_t number(const char *branch) {
  return branch ? (int32_t)strtol(branch, NULL, 10) : 0;
}

/* What the branches of each level are called, as numbers; 0: not one. */
static void read_branches(const pawl_token *t, int32_t *out) {
  const pawl_levels *up = &pawl_detail_of(t)->up;

  memset(out, 0, sizeof *out * PAWL_MAX_DEPTH);
  out[t->depth - 1] = number(t->branch);
  for (int i = 1; i < up->n && i < t->depth; i++)
    out[i - 1] = number(up->at[i].branch);
}

int64_t pawl_item_of(const pawl_token *t, int level) {
  int32_t branches[PAWL_MAX_DEPTH];
  assert(level >= 1 && level <= t->depth);
  read_branches(t, branches);
  return (int64_t)branches[level - 1] - 1;
}

static int by_scope(const void *a, const void *b) {
  const pawl_insider *x = a, *y = b;
  if (x->scope != y->scope) return x->scope < y->scope ? -1 : 1;
  if (x->branch != y->branch) return x->branch < y->branch ? -1 : 1;
  return x->k < y->k ? -1 : x->k > y->k;
}

/* Without memory for it, all tokens are candidates. */
static void make_index(pawl_decision *d) {
  pawl_plan *p = &d->plan;
  int need = 0;

  p->nmembers = p->indexed = 0;
  for (int k = 0; k < p->state.tokens.n; k++)
    if (pawl_tok_live(d, k)) need += pawl_tok(d, k)->depth;
  if (need > p->members_cap) {
    void *grown = pawl_realloc(p->alloc, p->members,
                               sizeof *p->members * (size_t)p->members_cap,
                               sizeof *p->members * (size_t)need);
    if (!grown) return;
    p->members = grown;
    p->members_cap = need;
  }
  for (int k = 0; k < p->state.tokens.n; k++) {
    const pawl_token *t = pawl_tok(d, k);
    int32_t branches[PAWL_MAX_DEPTH];
    if (!pawl_token_is_live(t->state) || !t->depth) continue;
    read_branches(t, branches);
    for (int at = 0; at < t->depth; at++) {
      pawl_insider *m = &p->members[p->nmembers++];
      m->scope = t->scope[at];
      m->branch = branches[at];
      m->k = k;
    }
  }
  if (p->nmembers)
    qsort(p->members, (size_t)p->nmembers, sizeof *p->members, by_scope);
  p->indexed = p->state.tokens.n;
}

/* The first member not below this one. */
static int find_first(const pawl_plan *p, int32_t scope, int32_t branch) {
  const pawl_insider wanted = {.scope = scope, .branch = branch, .k = -1};
  int low = 0, high = p->nmembers;
  while (low < high) {
    int mid = low + (high - low) / 2;
    if (by_scope(&p->members[mid], &wanted) < 0)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

static pawl_inside begin(pawl_decision *d, int32_t scope, int32_t from,
                         int32_t to) {
  pawl_plan *p = &d->plan;
  pawl_inside in;

  if (p->state.tokens.n - p->indexed > UNINDEXED + p->indexed / 4)
    make_index(d);
  assert(p->indexed <= p->state.tokens.n);
  in.at = find_first(p, scope, from);
  in.end = find_first(p, to ? scope : scope + 1, to ? to : INT32_MIN);
  in.more = p->indexed;
  return in;
}

pawl_inside pawl_inside_fork(pawl_decision *d, int32_t no) {
  return begin(d, no, INT32_MIN, 0);
}

pawl_inside pawl_inside_item(pawl_decision *d, int32_t each, int64_t item) {
  int32_t branch = (int32_t)item + 1; /* as items are called */
  return begin(d, each, branch, branch + 1);
}

int pawl_inside_next(const pawl_decision *d, pawl_inside *in) {
  if (in->at < in->end) return d->plan.members[in->at++].k;
  return in->more < d->plan.state.tokens.n ? in->more++ : -1;
}

int pawl_inside_lives(pawl_decision *d, int32_t no) {
  pawl_inside in = pawl_inside_fork(d, no);
  int k;

  while ((k = pawl_inside_next(d, &in)) >= 0)
    if (pawl_tok_live(d, k) && pawl_token_is_in(pawl_tok(d, k), no)) return 1;
  return 0;
}

int pawl_each_around(pawl_decision *d, int k, int *level) {
  pawl_token_list *all = &d->plan.state.tokens;
  const pawl_token *t = pawl_tok(d, k);

  for (int at = t->depth - 1; at >= 0; at--) {
    const pawl_token *parked = pawl_tokens_find(all, t->scope[at]);
    if (!parked || !pawl_token_is_live(parked->state)) continue;
    const pawl_node *node = pawl_tok_node(d, (int)(parked - all->at));
    if (!node || node->kind != PAWL_KIND_EACH) continue;
    *level = at + 1;
    return (int)(parked - all->at);
  }
  return -1;
}
