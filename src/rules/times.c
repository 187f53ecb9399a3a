/* Times: how long something waits, and what happens when that is over. */
#include <assert.h>
#include <stdlib.h>

#include "machine.h"
#include "order.h"

/* ---- how long ---- */

int64_t pawl_wait_began(const pawl_token *t, int64_t limit_us, int64_t now) {
  int64_t begun = pawl_detail_of(t)->begun;
  if (begun) return begun;
  return limit_us >= 0 && t->due_us ? t->due_us - limit_us : now;
}

void pawl_wait_until(pawl_token *t, int64_t began_us, int64_t limit_us) {
  t->due_us = limit_us >= 0 ? pawl_time_after(began_us, limit_us) : 0;
  t->changed = 1;
  if (limit_us >= 0)
    pawl_detail_drop(t, PAWL_DETAIL_begun);
  else
    pawl_detail_set(t, PAWL_DETAIL_begun, began_us);
}

pawl_code pawl_wait_limit(pawl_decision *d, int k, const pawl_node *node,
                          int64_t *limit_us, pawl_error *err) {
  if (pawl_node_asks_limit(node) &&
      !pawl_detail_has(pawl_tok(d, k), PAWL_DETAIL_limit)) {
    MUST(pawl_run_handler(
        d, k, node,
        node->has_after ? PAWL_HANDLER_AFTER : PAWL_HANDLER_TIMEOUT, err));
    pawl_detail_set(pawl_tok(d, k), PAWL_DETAIL_limit,
                    d->result->has_lasts ? d->result->lasts_us : -1);
  }
  *limit_us = pawl_token_limit(pawl_tok(d, k), node);
  return PAWL_OK;
}

int pawl_limit_transfer(pawl_token *t, const pawl_node *was,
                        const pawl_node *is) {
  int64_t had_us = pawl_token_limit(t, was);

  if (pawl_node_asks_limit(is)) {
    pawl_detail_set(t, PAWL_DETAIL_limit, had_us);
    return 0;
  }
  pawl_detail_drop(t, PAWL_DETAIL_limit);
  return pawl_token_limit(t, is) != had_us;
}

void pawl_wait_transfer(pawl_decision *d, int k, const pawl_node *was,
                        const pawl_node *is) {
  pawl_token *t = pawl_tok(d, k);
  int64_t began_us =
      pawl_wait_began(t, pawl_token_limit(t, was), pawl_decision_now(d));

  if (pawl_limit_transfer(t, was, is))
    pawl_wait_until(t, began_us, pawl_token_limit(t, is));
}

void pawl_child_transfer(pawl_decision *d, int k, const pawl_node *was,
                         const pawl_node *is) {
  pawl_wait_transfer(d, k, was, is);
  pawl_reschedule_transfer(d, k, was, is);
}

/* ---- over ---- */

void pawl_time_out(pawl_decision *d, int k, const pawl_node *node) {
  int to = pawl_node_next(node, "timeout", 7);
  pawl_error err;

  pawl_stop_waiting(d, k, "timed_out");
  if (to < 0) {
    pawl_fail(&err, PAWL_TIMEOUT, "%s \"%s\" took longer than its timeout",
              pawl_kind_name(node->kind), node->name);
    pawl_said_clear(d->result); /* by policy: none unless it says so */
    pawl_fail_token(d, k, &err, 0);
    return;
  }
  pawl_record *r = pawl_token_record(d, k, "timeout");
  r->due_us = pawl_tok(d, k)->due_us;
  pawl_buf_addz(&r->transition, "timeout");
  pawl_buf_clear(&pawl_tok(d, k)->event);
  d->plan.outcome = "timeout";
  pawl_leave(d, k, to);
  pawl_trace_wait(d, k, node);
}

typedef struct due {
  int64_t us;
  int k;
} due;

static int by_time(const void *a, const void *b) {
  const due *x = a, *y = b;
  if (x->us != y->us) return x->us < y->us ? -1 : 1;
  return x->k < y->k ? -1 : x->k > y->k;
}

static int is_over(const pawl_token *t, int64_t before_us, int32_t except) {
  return t->state == PAWL_TOKEN_WAITING && t->due_us &&
         t->due_us < before_us &&
         (!except || (t->no != except && pawl_detail_of(t)->host != except));
}

/* Is what was set going before it to go first (O9, O10)? */
static int goes_behind(pawl_decision *d, int k, const pawl_node *node) {
  const pawl_token *t = pawl_tok(d, k);

  if (pawl_others_go_first(d, t->due_us)) return 1;
  if (node->host >= 0) return pawl_boundary_waits(d, k, t->due_us);
  return pawl_kind_of(d, node)->has_scope &&
         pawl_scope_goes_first(d, t->no, t->due_us);
}

static void end_wait(pawl_decision *d, int k) {
  const pawl_node *node = pawl_tok_node(d, k);
  const int64_t visit = pawl_tok(d, k)->visit;

  /* neither was so when it was stored: decide.c says so */
  if (!node || !pawl_kind_of(d, node)->time_out) return;
  assert(pawl_tok(d, k)->state == PAWL_TOKEN_WAITING);
  if (goes_behind(d, k, node) || pawl_is_over(d) ||
      pawl_tok(d, k)->state != PAWL_TOKEN_WAITING ||
      pawl_tok(d, k)->visit != visit)
    return;
  const int64_t due_us = pawl_tok(d, k)->due_us;
  pawl_order_note(d, k, due_us);
  if (node->kind != PAWL_KIND_TIMER || node->host >= 0 || node->moved_by)
    d->plan.needs_latch = 1; /* rule 6 */
  pawl_kind_of(d, node)->time_out(d, k, node);
  pawl_joins_race(d);
  pawl_conditions_look(d, due_us);
}

/* Its index; -1: there is none. */
static int earliest(pawl_decision *d, int64_t before_us, int32_t except) {
  int first = -1;

  for (int k = 0; k < d->plan.state.tokens.n; k++)
    if (is_over(pawl_tok(d, k), before_us, except) &&
        (first < 0 || pawl_tok(d, k)->due_us < pawl_tok(d, first)->due_us))
      first = k;
  return first;
}

/* What one leads to may have a time that was over before that of the next. It
 * may do so for ever: then the rest is for the next look. */
static void end_few(pawl_decision *d, int64_t before_us, int32_t except) {
  int k;

  for (int i = 0; i < PAWL_ORDER_ROUNDS; i++) {
    if ((k = earliest(d, before_us, except)) < 0) return;
    end_wait(d, k);
    if (pawl_is_over(d) || d->plan.holds) return;
  }
}

/* Of so many each is looked for once. */
static void end_many(pawl_decision *d, int64_t before_us, int32_t except) {
  const int count = d->plan.state.tokens.n;
  const size_t size = sizeof(due) * (size_t)count;
  due *list = pawl_realloc(d->alloc, NULL, 0, size);
  int n = 0;

  if (!list) {
    d->plan.failed = 1;
    return;
  }
  for (int k = 0; k < count; k++) {
    if (!is_over(pawl_tok(d, k), before_us, except)) continue;
    list[n].us = pawl_tok(d, k)->due_us;
    list[n++].k = k;
  }
  qsort(list, (size_t)n, sizeof *list, by_time);
  for (int i = 0; i < n; i++) {
    /* one before it may have called it off */
    if (!is_over(pawl_tok(d, list[i].k), before_us, except)) continue;
    end_wait(d, list[i].k);
    if (pawl_is_over(d) || d->plan.holds) break;
  }
  pawl_release(d->alloc, list, size);
}

/* In the order of their times, whatever the order of the tokens: what is late
 * ends as it would have in time. */
void pawl_times_out(pawl_decision *d, int64_t before_us, int32_t except) {
  if (d->plan.state.tokens.n <= PAWL_ORDER_TOKENS)
    end_few(d, before_us, except);
  else if (earliest(d, before_us, except) >= 0)
    end_many(d, before_us, except);
}
