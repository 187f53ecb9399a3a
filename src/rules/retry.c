/* Attempts, backoff, and where a failure leads. Pure. */
#include <assert.h>
#include <math.h>

#include "plan.h"

int64_t pawl_retry_delay(const pawl_retry *r, int64_t attempt, double random) {
  double cap = (double)r->cap_us;
  double raw = (double)r->base_us * pow(r->factor, (double)(attempt - 1));
  assert(attempt >= 1 && random >= 0 && random < 1);
  double low = cap * (1 - r->jitter / 2), high = cap;

  if (raw < low) low = raw; /* false when the power is infinite */
  if (raw * (1 + r->jitter) < high) high = raw * (1 + r->jitter);
  return (int64_t)(low + (high - low) * random);
}

/* Memory was short, or the program interrupted: that passes, and is nothing
 * that the node's own attempts are meant for. A script that always needs too
 * much has failed nevertheless, in the end. */
enum { PASSING_ATTEMPTS = 10 };
static const pawl_retry passing = {.max = PASSING_ATTEMPTS,
                                   .base_us = 1000000,
                                   .cap_us = 60 * 1000000,
                                   .factor = 2,
                                   .jitter = 0.5};

int pawl_failure_passes(const pawl_error *err) {
  return !err->raised[0] &&
         (err->code == PAWL_NOMEM || err->code == PAWL_INTERRUPTED);
}

pawl_verdict pawl_retry_decide(const pawl_node *node, const pawl_failure *f,
                               int64_t *delay_us, int *to) {
  if (f->passes && f->attempt < passing.max) {
    *delay_us = pawl_retry_delay(&passing, f->attempt, f->random);
    return PAWL_VERDICT_RETRY;
  }
  if (!f->no_retry && f->attempt < node->retry.max) {
    *delay_us = f->retry_after_us >= 0
                    ? f->retry_after_us
                    : pawl_retry_delay(&node->retry, f->attempt, f->random);
    return PAWL_VERDICT_RETRY;
  }
  *to = pawl_node_on_error(node, f->code);
  if (*to >= 0) return PAWL_VERDICT_ROUTE;
  return node->suspend_exhausted ? PAWL_VERDICT_SUSPEND : PAWL_VERDICT_FAIL;
}
