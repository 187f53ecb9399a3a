/* What a handler that waited has made of the variables, and what others of its
 * instance have made of them meanwhile, put together: by top level keys, each
 * of which one side alone may have changed. */
#include "../value/json.h"
#include "machine.h"

static int has_key(pawl_str object, pawl_str key) {
  for (pawl_json_iter it = {0}; object.at && pawl_json_walk(object, &it);)
    if (pawl_str_eq(it.key, key)) return 1;
  return 0;
}

static int has_text(pawl_str list, pawl_str key) {
  for (pawl_json_iter it = {0}; list.at && pawl_json_walk(list, &it);)
    if (pawl_str_eq(pawl_json_between_quotes(it.value), key)) return 1;
  return 0;
}

/* The keys that a delta sets, and the list of those that it takes away. */
typedef struct touched {
  pawl_str set, unset;
} touched;

static touched touched_by(const pawl_buf *delta) {
  touched t = {{NULL, 0}, {NULL, 0}};

  if (!delta->len) return t;
  (void)pawl_json_get(pawl_buf_str(delta), "set", &t.set);
  (void)pawl_json_get(pawl_buf_str(delta), "unset", &t.unset);
  return t;
}

static int touches(const touched *t, pawl_str key) {
  return has_key(t->set, key) || has_text(t->unset, key);
}

/* A key, as it is written, that both have touched. */
static int find_common(const touched *a, const touched *b, pawl_str *key) {
  for (pawl_json_iter it = {0}; a->set.at && pawl_json_walk(a->set, &it);)
    if (touches(b, *key = it.key)) return 1;
  for (pawl_json_iter it = {0}; a->unset.at && pawl_json_walk(a->unset, &it);)
    if (touches(b, *key = pawl_json_between_quotes(it.value))) return 1;
  return 0;
}

/* Also what both set to the same is one: each may have counted from the same
 * number. */
static pawl_code check_conflict(const pawl_decision *d, const pawl_buf *ours,
                                pawl_error *err) {
  pawl_buf theirs = {.alloc = d->alloc};
  pawl_str key;
  pawl_code rc = PAWL_OK;

  pawl_json_delta(d->base, pawl_vars_now(d), &theirs);
  TRY(pawl_buf_check(&theirs, err));
  const touched a = touched_by(ours), b = touched_by(&theirs);
  if (find_common(&a, &b, &key))
    rc = pawl_fail_hint(
        err, PAWL_CONFLICT,
        "let each branch set variables of its own, or set it in a step behind "
        "their join",
        "vars.%.*s was changed beside this handler while it waited",
        key.len < 100 ? (int)key.len : 100, key.at);
out:
  pawl_buf_deinit(&theirs);
  return rc;
}

pawl_code pawl_vars_merge(pawl_decision *d, pawl_error *err) {
  pawl_said *r = d->result;
  const pawl_str now = pawl_vars_now(d);
  const size_t max = (size_t)pawl_decision_max_bytes(d);
  pawl_buf ours = {.alloc = d->alloc}, merged = {.alloc = d->alloc};
  pawl_code rc = PAWL_OK;

  if (!d->base.at || !r->vars_changed || pawl_str_eq(d->base, now))
    return PAWL_OK;
  pawl_json_delta(d->base, pawl_buf_str(&r->vars), &ours);
  TRY(pawl_buf_check(&ours, err));
  TRY(check_conflict(d, &ours, err));
  pawl_json_apply(now, ours.len ? pawl_buf_str(&ours) : pawl_strz("{}"),
                  &merged);
  TRY(pawl_buf_check(&merged, err));
  if (merged.len > max) {
    pawl_fail_hint(
        err, PAWL_LIMIT,
        "keep large data elsewhere, and a reference to it here",
        "with what was set beside this handler, the variables would have %zu "
        "bytes; the limit is %zu",
        merged.len, max);
    rc = PAWL_LIMIT;
    goto out;
  }
  pawl_buf_swap(&r->vars, &merged);
out:
  if (rc != PAWL_OK) pawl_said_clear(r);
  pawl_buf_deinit(&ours);
  pawl_buf_deinit(&merged);
  return rc;
}
