/* An instance's variables, as a decision changes them. They may be large: the
 * plan borrows the stored ones until something is set. */
#include <assert.h>
#include <string.h>

#include "../value/json.h"
#include "../value/types.h"
#include "machine.h"

pawl_str pawl_vars_now(const pawl_decision *d) {
  if (d->plan.vars_changed) return pawl_buf_str(&d->plan.vars);
  return d->vars.len ? pawl_buf_str(&d->vars) : pawl_strz("{}");
}

void pawl_conditions_stir(pawl_decision *d) {
  if (d->def && !d->def->has_conditions) return;
  for (int k = 0; k < d->plan.state.tokens.n; k++)
    if (pawl_token_asks(pawl_tok(d, k)) == PAWL_ASKS_WAITS)
      pawl_token_ask(pawl_tok(d, k), PAWL_ASKS_NOW);
}

void pawl_vars_take(pawl_decision *d, pawl_buf *vars, pawl_buf *changes) {
  assert(!changes || !changes->len);
  if (changes) pawl_json_delta(pawl_vars_now(d), pawl_buf_str(vars), changes);
  pawl_buf_swap(&d->plan.vars, vars);
  d->plan.vars_changed = 1;
  pawl_conditions_stir(d);
}

void pawl_vars_put(pawl_decision *d, pawl_str vars, pawl_buf *changes) {
  pawl_buf now = {.alloc = d->plan.alloc}; /* they may be those of the plan */

  pawl_buf_adds(&now, vars);
  pawl_vars_take(d, &now, changes);
  pawl_buf_deinit(&now);
}

/* These variables with one of them set. */
static void with(const pawl_decision *d, pawl_str before, const char *name,
                 pawl_str value, pawl_buf *vars) {
  pawl_buf delta = {.alloc = d->alloc};

  pawl_buf_addz(&delta, "{\"set\":{");
  pawl_json_add_string(&delta, pawl_strz(name));
  pawl_buf_addc(&delta, ':');
  pawl_buf_adds(&delta, value);
  pawl_buf_addz(&delta, "}}");
  pawl_json_apply(before, pawl_buf_str(&delta), vars);
  if (delta.failed) vars->failed = 1;
  pawl_buf_deinit(&delta);
}

void pawl_vars_set(pawl_decision *d, const char *name, pawl_str value,
                   pawl_buf *changes) {
  pawl_buf vars = {.alloc = d->alloc};

  with(d, pawl_vars_now(d), name, value, &vars);
  pawl_vars_take(d, &vars, changes);
  pawl_buf_deinit(&vars);
}

/* With the output, of so many bytes, they would have `size`. */
static pawl_code check_size(pawl_decision *d, const char *into, size_t output,
                            size_t size, pawl_error *err) {
  const size_t max = (size_t)pawl_decision_max_bytes(d);

  if (size <= max) return PAWL_OK;
  pawl_said_clear(d->result);
  d->result->no_retry = 1; /* it would be too much again */
  return pawl_fail_hint(
      err, PAWL_LIMIT, "keep large data elsewhere, and a reference to it here",
      "with \"%s\", of %zu bytes, the variables would have "
      "%zu bytes; the limit is %zu",
      into, output, size, max);
}

/* With the output in them they may not be deeper than any value. */
static pawl_code check_depth(pawl_decision *d, const char *into,
                             pawl_str output, pawl_error *err) {
  if (!pawl_json_is_deeper(output, PAWL_VALUE_DEPTH - 1)) return PAWL_OK;
  pawl_said_clear(d->result);
  d->result->no_retry = 1; /* it would be too deep again */
  return pawl_fail_hint(err, PAWL_LIMIT, "keep less of it, or in another form",
                        "with \"%s\" the variables would be nested deeper "
                        "than %d levels",
                        into, PAWL_VALUE_DEPTH);
}

/* They are as its workflow declares them. */
static pawl_code check_declared(pawl_decision *d, pawl_code rc,
                                pawl_error *err) {
  if (rc != PAWL_VALUE) return rc;
  pawl_error_hint(err, "the workflow declares its `variables`");
  pawl_said_clear(d->result);
  d->result->no_retry = 1; /* it would be so again */
  return rc;
}

pawl_code pawl_vars_fit(pawl_decision *d, pawl_str vars, pawl_error *err) {
  const size_t max = (size_t)pawl_decision_max_bytes(d);

  if (d->def->variables.at)
    MUST(check_declared(
        d,
        pawl_types_fit_present(d->def->variables, pawl_vars_now(d), vars,
                               "vars", err),
        err));
  if (!d->max_bytes || vars.len <= max) return PAWL_OK;
  pawl_said_clear(d->result);
  d->result->no_retry = 1;
  return pawl_fail_hint(
      err, PAWL_LIMIT, "its start says so: `max_bytes`",
      "the variables would have %zu bytes; this instance's limit is %zu",
      vars.len, max);
}

/* As the handler had them. */
static pawl_str seen(const pawl_decision *d) {
  return d->base.at ? d->base : pawl_vars_now(d);
}

pawl_code pawl_output_joins(pawl_decision *d, const pawl_node *node,
                            pawl_error *err) {
  pawl_said *r = d->result;
  pawl_buf vars = {.alloc = d->alloc};
  pawl_code rc = PAWL_OK;

  if (!node->into || !r->has_output) return PAWL_OK;
  MUST(check_depth(d, node->into, pawl_buf_str(&r->output), err));
  with(d, r->vars_changed ? pawl_buf_str(&r->vars) : seen(d), node->into,
       pawl_buf_str(&r->output), &vars);
  TRY(pawl_buf_check(&vars, err));
  TRY(check_size(d, node->into, r->output.len, vars.len, err));
  pawl_buf_set(&r->vars, pawl_buf_str(&vars));
  r->vars_changed = 1;
  rc = pawl_buf_check(&r->vars, err);
out:
  pawl_buf_deinit(&vars);
  return rc;
}

pawl_code pawl_value_fits(pawl_decision *d, const char *into, pawl_str output,
                          pawl_error *err) {
  pawl_buf vars = {.alloc = d->alloc};
  size_t max = (size_t)pawl_decision_max_bytes(d);
  pawl_code rc = PAWL_OK;

  if (!into || !output.at) return PAWL_OK;
  if (d->def->variables.at)
    MUST(check_declared(
        d, pawl_types_fit_member(d->def->variables, into, output, "vars", err),
        err));
  MUST(check_depth(d, into, output, err));
  /* mostly this tells: an escaped character takes no more than six */
  if (!d->def->is_limited &&
      pawl_vars_now(d).len + output.len + 6 * strlen(into) + 8 <= max)
    return PAWL_OK;
  with(d, pawl_vars_now(d), into, output, &vars);
  TRY(pawl_buf_check(&vars, err));
  TRY(pawl_vars_bear(d, pawl_buf_str(&vars), err));
  rc = check_size(d, into, output.len, vars.len, err);
out:
  pawl_buf_deinit(&vars);
  return rc;
}

pawl_code pawl_output_fits(pawl_decision *d, const pawl_node *node,
                           pawl_str output, pawl_error *err) {
  return pawl_value_fits(d, node->into, output, err);
}
