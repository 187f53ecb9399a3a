/* Attempts, backoff, and where a failure leads. Pure. */
#include <assert.h>
#include <math.h>
#include <string.h>

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

/* Memory was short, the program interrupted, or this minute's share spent by
 * others: that passes, and is nothing that the node's own attempts are meant
 * for. Memory that stays short suspends, as does a script that always needs too
 * much: nobody can tell one from the other, and somebody has to look. One that
 * is always interrupted hangs, and has failed; as has one that a quota is
 * always too small for. */
enum { PASSING_ATTEMPTS = 10 };
static const pawl_retry passing = {.max = PASSING_ATTEMPTS,
                                   .base_us = 1000000,
                                   .cap_us = 60 * 1000000,
                                   .factor = 2,
                                   .jitter = 0.5};

pawl_passes pawl_failure_passes(const pawl_error *err) {
  if (err->code == PAWL_LIMIT && !strcmp(err->raised, PAWL_RAISED_QUOTA))
    return PAWL_PASSES_QUOTA;
  if (err->raised[0]) return PAWL_PASSES_NOT;
  if (err->code == PAWL_NOMEM) return PAWL_PASSES_MEMORY;
  return err->code == PAWL_INTERRUPTED ? PAWL_PASSES_INTERRUPT
                                       : PAWL_PASSES_NOT;
}

static int names(const char *const *codes, const char *code) {
  for (; codes && *codes; codes++)
    if (strcmp(*codes, code) == 0) return 1;
  return 0;
}

/* As its policy says, if that names the code: `never` or `on`; "*" is any that
 * neither names. Else what `on_error` names goes there at once, unless the
 * handler has said when to try it again. */
static int policy_allows(const pawl_node *node, const pawl_failure *f) {
  const pawl_retry *r = &node->retry;

  if (names(r->never, f->code)) return 0;
  if (names(r->on, f->code)) return 1;
  if (names(r->never, "*")) return 0;
  if (r->on) return names(r->on, "*");
  return !f->routes || f->retry_after_us >= 0 ||
         !pawl_node_names_error(node, f->code);
}

pawl_verdict pawl_retry_decide(const pawl_node *node, const pawl_failure *f,
                               int64_t *delay_us, int *to) {
  const int64_t passed = (f->passed - 1) % passing.max + 1;
  int64_t own = f->attempt - f->passed;

  if (f->passes && passed < passing.max) {
    *delay_us = pawl_retry_delay(&passing, passed, f->random);
    if (f->retry_after_us > *delay_us) *delay_us = f->retry_after_us;
    return PAWL_VERDICT_RETRY;
  }
  if (f->passes) own = f->attempt; /* what does not pass is like any other */
  if (!f->no_retry && own < node->retry.max &&
      (f->passes || policy_allows(node, f))) {
    *delay_us = f->retry_after_us >= 0
                    ? f->retry_after_us
                    : pawl_retry_delay(&node->retry, own, f->random);
    return PAWL_VERDICT_RETRY;
  }
  *to = pawl_node_on_error(node, f->code);
  if (*to >= 0) return PAWL_VERDICT_ROUTE;
  return node->suspend_exhausted || f->passes == PAWL_PASSES_MEMORY
             ? PAWL_VERDICT_SUSPEND
             : PAWL_VERDICT_FAIL;
}
