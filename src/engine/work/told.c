/* What is told of a step (pawl_config.trace). One that runs inside the very
 * transaction that records it may still be refused by the store: what it has to
 * tell waits for the commit, in copies, as its slot is free by then. */
#include "told.h"

#include <assert.h>
#include <string.h>

#include "../common/time.h"

static void clear(pawl_told *t) {
  for (int i = 0; i < t->n; i++) pawl_buf_clear(&t->at[i].text);
  t->n = 0;
}

void pawl_told_deinit(pawl_told *t) {
  for (int i = 0; i < PAWL_TOLD_MAX; i++) pawl_buf_deinit(&t->at[i].text);
}

/* Where the text begins in the copy; texts lie one behind the other, each with
 * its zero. */
static size_t add(pawl_buf *to, const char *text) {
  size_t at = to->len;
  pawl_buf_add(to, text, strlen(text) + 1);
  return at;
}

static void keep(pawl_engine *e, const pawl_trace *trace) {
  pawl_told *t = &e->told;
  assert(e->unit); /* T3 */
  if (t->n == PAWL_TOLD_MAX) return;
  t->at[t->n].text.alloc = &e->plain;
  t->at[t->n].trace = *trace;
  t->at[t->n].instance = add(&t->at[t->n].text, trace->instance);
  t->at[t->n].workflow = add(&t->at[t->n].text, trace->workflow);
  t->at[t->n].detail = add(&t->at[t->n].text, trace->detail);
  t->n++;
}

/* Which attempt it is of the token that runs; others may stand at its node. */
static int64_t attempt_at(const pawl_decision *d, const char *node) {
  for (int k = 0; node && k < d->state.tokens.n; k++)
    if (d->state.tokens.at[k].no == d->running_token &&
        d->state.tokens.at[k].node &&
        !strcmp(d->state.tokens.at[k].node, node))
      return d->state.tokens.at[k].attempt + 1;
  return 1;
}

void pawl_engine_trace(pawl_engine *e, const pawl_decision *d,
                       const char *node, const char *kind, int64_t elapsed_us,
                       const char *outcome, const char *detail,
                       int64_t due_us) {
  if (!e->config.trace) return;
  pawl_trace t = {.size = sizeof t,
                  .instance = d->id_text,
                  .workflow = d->workflow.at,
                  .node = node,
                  .kind = kind,
                  .attempt = attempt_at(d, node),
                  .at_us = pawl_engine_now(e),
                  .elapsed_us = elapsed_us,
                  .outcome = outcome,
                  .ended = outcome && d->plan.after == PAWL_AFTER_END
                               ? pawl_status_name(d->plan.state.status)
                               : NULL,
                  .detail = detail,
                  .due_us = due_us};
  if (e->unit && outcome)
    keep(e, &t);
  else
    e->config.trace(e->config.trace_ud, &t);
}

void pawl_told_committed(pawl_engine *e) {
  pawl_told *t = &e->told;
  for (int i = 0; i < t->n; i++) {
    pawl_trace trace = t->at[i].trace;
    const char *text = t->at[i].text.at;
    if (t->at[i].text.failed) continue;
    trace.instance = text + t->at[i].instance;
    trace.workflow = text + t->at[i].workflow;
    trace.detail = text + t->at[i].detail;
    e->config.trace(e->config.trace_ud, &trace);
  }
  clear(t);
}

void pawl_told_undone(pawl_engine *e) {
  clear(&e->told);
}
