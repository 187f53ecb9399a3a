/* What one instance of a limited definition may have: variables, tokens. */
#include <inttypes.h>

#include "../value/json.h"
#include "machine.h"

static pawl_code check(pawl_decision *d, pawl_bound bound, int64_t n,
                       pawl_error *err) {
  const int64_t most = d->def->per_instance[bound];

  if (n <= most) return PAWL_OK;
  pawl_said_clear(d->result);
  d->result->no_retry = 1; /* it would be too much again */
  return pawl_fail_hint(
      err, PAWL_LIMIT,
      "who runs it may allow more, by `per_instance` of its `trust`",
      "%s: the instance would have %" PRId64 "; %" PRId64 " are the most",
      pawl_bound_name(bound), n, most);
}

pawl_code pawl_vars_bear(pawl_decision *d, pawl_str vars, pawl_error *err) {
  if (!d->def->is_limited) return PAWL_OK;
  MUST(check(d, PAWL_BOUND_BYTES, (int64_t)vars.len, err));
  return check(d, PAWL_BOUND_VARIABLES, pawl_json_count(vars), err);
}

pawl_code pawl_tokens_bear(pawl_decision *d, int64_t more, pawl_error *err) {
  if (!d->def->is_limited) return PAWL_OK;
  return check(d, PAWL_BOUND_TOKENS,
               pawl_tokens_live(&d->plan.state.tokens) + more, err);
}
