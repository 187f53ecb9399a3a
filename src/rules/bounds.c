/* What one instance of a limited definition may have: variables, tokens,
 * ancestors. */
#include <inttypes.h>

#include "../value/json.h"
#include "machine.h"
#include "stored.h"

#define SELF "the instance"

static pawl_code check(pawl_decision *d, pawl_bound bound, const char *who,
                       int64_t n, pawl_error *err) {
  const int64_t most = d->def->per_instance[bound];

  if (n <= most) return PAWL_OK;
  pawl_said_clear(d->result);
  d->result->no_retry = 1; /* it would be too much again */
  return pawl_fail_hint(
      err, PAWL_LIMIT,
      "who runs it may allow more, by `per_instance` of its `trust`",
      "%s: %s would have %" PRId64 "; %" PRId64 " are the most",
      pawl_bound_name(bound), who, n, most);
}

pawl_code pawl_vars_bear(pawl_decision *d, pawl_str vars, pawl_error *err) {
  if (!d->def->is_limited) return PAWL_OK;
  MUST(check(d, PAWL_BOUND_BYTES, SELF, (int64_t)vars.len, err));
  return check(d, PAWL_BOUND_VARIABLES, SELF, pawl_json_count(vars), err);
}

pawl_code pawl_tokens_bear(pawl_decision *d, int64_t more, pawl_error *err) {
  if (!d->def->is_limited) return PAWL_OK;
  return check(d, PAWL_BOUND_TOKENS, SELF,
               pawl_tokens_live(&d->plan.state.tokens) + more, err);
}

/* ---- who led to it ---- */

static int64_t ancestors(const pawl_decision *d) {
  return pawl_json_get_int(pawl_buf_str(&d->parent_place), "ancestors", 0);
}

int64_t pawl_ancestors_next(int64_t above, int is_limited) {
  return above || is_limited ? above + 1 : 0;
}

int64_t pawl_ancestors_below(const pawl_decision *d) {
  return pawl_ancestors_next(ancestors(d), d->def && d->def->is_limited);
}

pawl_code pawl_ancestors_bear(pawl_decision *d, pawl_error *err) {
  if (!d->def->is_limited) return PAWL_OK;
  return check(d, PAWL_BOUND_ANCESTORS, SELF, ancestors(d), err);
}

pawl_code pawl_starts_bear(pawl_decision *d, pawl_error *err) {
  if (!d->def->is_limited) return PAWL_OK;
  return check(d, PAWL_BOUND_ANCESTORS, "what it starts",
               pawl_ancestors_below(d), err);
}
