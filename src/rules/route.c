/* Moving a token on: through every kind of node, until it stands at one that
 * takes time. */
#include <assert.h>
#include <string.h>

#include "machine.h"
#include "way.h"

#define MAX_HOPS 100 /* nodes passed in one go; check.c refuses loops */

/* ---- coming ---- */

void pawl_arrive(pawl_decision *d, int k, const char *node) {
  pawl_plan *p = &d->plan;
  pawl_boundaries_leave(d, k);
  pawl_token *t = pawl_tok(d, k);
  t->previous = t->node;
  t->node = node;
  t->visit = ++p->state.visit;
  t->attempt = 0;
  pawl_detail_keep(t, ~PAWL_DETAIL_OF_VISIT);
  t->state = PAWL_TOKEN_ACTIVE;
  t->due_us = 0;
  t->entered_us = 0;
  t->changed = 1;
  p->state.previous = t->previous;
  p->state.node = node;
}

static void tell_way(pawl_buf *path, const pawl_node *node) {
  if (!path) return;
  if (path->len) pawl_buf_addz(path, " > ");
  pawl_buf_addz(path, node->name);
}

void pawl_stand(pawl_decision *d, int k, int64_t due_us) {
  pawl_token *t = pawl_tok(d, k);
  assert(pawl_tok_live(d, k) && due_us >= 0);
  t->state = PAWL_TOKEN_WAITING;
  t->due_us = due_us;
  t->changed = 1;
}

/* Of a step its handler's own time is told. */
static void note_time(pawl_decision *d, int k, const pawl_node *node) {
  pawl_token *t = pawl_tok(d, k);
  if (node->kind != PAWL_KIND_STEP && !t->entered_us)
    t->entered_us = pawl_decision_now(d);
}

/* ctx.visit counts it before any row tells of it. */
static void note_coming(pawl_decision *d, int k, const pawl_node *node) {
  pawl_plan *p = &d->plan;

  if (!pawl_way_tells(node)) return;
  pawl_marks_add(&p->came, d->alloc, node->name, pawl_tok(d, k)->visit,
                 pawl_strz(NULL));
  p->failed |= p->came.failed;
}

/* ---- where ways lead ---- */

/* Nodes one edge further; a stack of indices. */
static void push_next(const pawl_node *node, int *stack, int *n,
                      unsigned char *seen) {
  int to;
  for (int i = 0; (to = pawl_node_target(node, i)) >= 0; i++) {
    if (seen[to]) continue;
    seen[to] = 1;
    stack[(*n)++] = to;
  }
}

int pawl_has_way(const pawl_decision *d, int from, int to,
                 int (*bars)(const pawl_decision *, const pawl_node *,
                             const pawl_token *),
                 const pawl_token *t) {
  const pawl_def *def = d->def;
  size_t size = (size_t)def->nnodes * (sizeof(int) + 1);
  int *stack, n = 0, found = 0;

  if (bars(d, &def->nodes[from], t)) return 0;
  stack = pawl_realloc(d->plan.alloc, NULL, 0, size);
  if (!stack) return 1;
  unsigned char *seen = (unsigned char *)(stack + def->nnodes);
  memset(seen, 0, (size_t)def->nnodes);
  push_next(&def->nodes[from], stack, &n, seen);
  while (n && !found) {
    const int at = stack[--n];
    found = at == to;
    if (!bars(d, &def->nodes[at], t))
      push_next(&def->nodes[at], stack, &n, seen);
  }
  pawl_release(d->plan.alloc, stack, size);
  return found;
}

/* ---- going ---- */

/* `to` is entered already, or (arrived) stood at. */
static pawl_code go(pawl_decision *d, int k, int to, int arrived,
                    pawl_buf *path, pawl_error *err) {
  for (int hops = 0; to >= 0; hops++, arrived = 0) {
    assert(to < d->def->nnodes); /* G2 */
    const pawl_node *node = &d->def->nodes[to];
    if (!arrived) {
      pawl_arrive(d, k, node->name);
      tell_way(path, node);
      if (pawl_cuts(d, k, node)) return PAWL_OK; /* V4 */
    }
    if (hops == MAX_HOPS) {
      d->result->no_retry = 1;
      return pawl_fail(err, PAWL_LIMIT,
                       "%d nodes in a row led to none that takes time",
                       MAX_HOPS);
    }
    note_time(d, k, node);
    note_coming(d, k, node);
    to = -1;
    MUST(pawl_boundaries_begin(d, k, node, err));
    MUST(pawl_kind_of(d, node)->enter(d, k, node, &to, path, err));
  }
  return PAWL_OK;
}

void pawl_go_to(pawl_decision *d, int k, int to, pawl_buf *path) {
  pawl_error later; /* it is told when that is tried again */
  (void)go(d, k, to, 0, path, &later);
}

pawl_code pawl_enter(pawl_decision *d, int k, pawl_buf *path,
                     pawl_error *err) {
  const char *name = pawl_tok(d, k)->node;
  int at = pawl_def_node(d->def, name, strlen(name));
  return go(d, k, at, 1, path, err);
}

/* ---- leaving ---- */

void pawl_leave(pawl_decision *d, int k, int to) {
  pawl_leave_by(d, k, to, d->plan.nrecords - 1);
}

/* An item's result is what its last step gave, however it comes back to its
 * each: past timers, choices and joins too. */
static void keep_output(pawl_decision *d, int k, const pawl_record *r) {
  const pawl_node *node = pawl_tok_node(d, k);
  int level;

  if (!node || !pawl_kind_of(d, node)->gives) return;
  if (pawl_each_around(d, k, &level) < 0) return;
  if (r->has_output)
    pawl_detail_put(pawl_tok(d, k), PAWL_DETAIL_out, pawl_buf_str(&r->output));
  else
    pawl_detail_drop(pawl_tok(d, k), PAWL_DETAIL_out);
}

static void leave(pawl_decision *d, int k, int to, int record,
                  pawl_str error) {
  pawl_plan *p = &d->plan;
  pawl_token *t = pawl_tok(d, k);
  pawl_buf path = {.alloc = p->alloc};

  pawl_buf_swap(&path,
                &p->detail); /* its memory serves for what it will say */
  pawl_buf_clear(&path);
  pawl_reschedule_end(d, k);
  pawl_detail_keep(t, PAWL_DETAIL_STAYS);
  if (record >= 0 && t->depth)
    keep_output(d, k, pawl_plan_record_at(p, record));
  if (error.at)
    pawl_detail_put(t, PAWL_DETAIL_error, error);
  else
    pawl_caught_leave(d, k);
  t->state = PAWL_TOKEN_ACTIVE;
  t->due_us = 0;
  t->changed = 1;
  pawl_go_to(d, k, to, &path);
  if (record >= 0) {
    pawl_record *r = pawl_plan_record_at(p, record);
    if (r->path.len && path.len) pawl_buf_addz(&r->path, "; ");
    pawl_buf_adds(&r->path, pawl_buf_str(&path));
    if (!r->due_us) r->due_us = pawl_tok(d, k)->due_us;
  }
  pawl_buf_swap(&path, &p->detail);
  pawl_buf_deinit(&path);
}

void pawl_leave_by(pawl_decision *d, int k, int to, int record) {
  leave(d, k, to, record, (pawl_str){NULL, 0});
}

void pawl_leave_caught(pawl_decision *d, int k, int to,
                       const pawl_error *err) {
  pawl_buf error = {.alloc = d->plan.alloc};

  pawl_caught_make(d, k, err, &error);
  leave(d, k, to, d->plan.nrecords - 1, pawl_buf_str(&error));
  pawl_buf_deinit(&error);
}

void pawl_leave_failed(pawl_decision *d, int k, int to,
                       const pawl_error *err) {
  pawl_tok(d, k)->attempt++;
  pawl_leave_caught(d, k, to, err);
}
