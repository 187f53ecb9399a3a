/* Hot-fixes: is it the same graph? */
#include "hotfix.h"

#include <inttypes.h>

static const pawl_option hotfix_rows[] = {
    {"by", PAWL_OPTION_TEXT, .at = offsetof(pawl_fix, by),
     .high = PAWL_MAX_BY},
    {"reason", PAWL_OPTION_TEXT, .at = offsetof(pawl_fix, reason),
     .high = PAWL_MAX_REASON}};
PAWL_OPTIONS_OF(workflow_hotfix) = {.what = "a hot-fix",
                                    PAWL_OPTION_ROWS(hotfix_rows)};

/* ---- the same graph? ---- */

/* Where it stands in the file, and what it is called, is not its shape. */
static int is_shape(pawl_str key, int top) {
  if (pawl_str_eqz(key, "line")) return 0;
  return !top || !(pawl_str_eqz(key, "nodes") || pawl_str_eqz(key, "name") ||
                   pawl_str_eqz(key, "description"));
}

/* A member of `a` that `b` has not, or has otherwise; 0: there is none. Both
 * were written by the same hand, keys in order, so that text tells. */
static int differs_from(pawl_str a, pawl_str b, int top, pawl_str *in) {
  pawl_str other;
  char name[64];

  for (pawl_json_iter it = {0}; pawl_json_walk(a, &it);) {
    if (!is_shape(it.key, top)) continue;
    pawl_str_copy(name, sizeof name, it.key);
    *in = it.key;
    if (!pawl_json_get(b, name, &other) || !pawl_str_eq(it.value, other))
      return 1;
  }
  return 0;
}

static int differ(pawl_str a, pawl_str b, int top, pawl_str *in) {
  return differs_from(a, b, top, in) || differs_from(b, a, top, in);
}

/* By name, not by place: nodes may stand in another order in the file. */
static int find_node(pawl_str nodes, pawl_str name, pawl_str *out) {
  pawl_json_iter it = {0};
  pawl_str key, other;

  while (pawl_json_each(nodes, &it, &key, out))
    if (pawl_json_get(*out, "name", &other) && pawl_str_eq(name, other))
      return 1;
  return 0;
}

/* The next version, not this one, is the way to another graph: those that run
 * on it finish as they began. */
static pawl_code refuse(const pawl_def *def, pawl_error *err) {
  pawl_error_where(err, "%s", def->file);
  pawl_error_hint(err,
                  "a hot-fix may change what handlers do; for another graph "
                  "give it version = %" PRId64 " and transfer instances there",
                  def->version + 1);
  return PAWL_EXISTS;
}

/* Every node of `a` is in `b`. */
static pawl_code check_names(const pawl_def *def, pawl_str a, pawl_str b,
                             const char *where, pawl_error *err) {
  pawl_str name, other;

  for (pawl_json_iter it = {0}; pawl_json_walk(a, &it);) {
    if (!pawl_json_get(it.value, "name", &name) || find_node(b, name, &other))
      continue;
    pawl_fail(err, PAWL_EXISTS, "node %.*s is not in %s", (int)name.len,
              name.at, where);
    return refuse(def, err);
  }
  return PAWL_OK;
}

/* Nodes of the same name are the same. */
static pawl_code check_nodes(const pawl_def *def, pawl_str a, pawl_str b,
                             pawl_error *err) {
  pawl_str name, other, in;

  for (pawl_json_iter it = {0}; pawl_json_walk(a, &it);) {
    if (!pawl_json_get(it.value, "name", &name) ||
        !find_node(b, name, &other) || !differ(it.value, other, 0, &in))
      continue;
    pawl_fail(err, PAWL_EXISTS,
              "node %.*s is drawn otherwise than in the stored version: its "
              "`%.*s` differs",
              (int)name.len, name.at, (int)in.len, in.at);
    return refuse(def, err);
  }
  return PAWL_OK;
}

pawl_code pawl_hotfix_check(const pawl_def *def, pawl_str stored,
                            pawl_error *err) {
  pawl_str old = {"[]", 2}, new = {"[]", 2}, in;

  (void)pawl_json_get(stored, "nodes", &old);
  (void)pawl_json_get(def->graph, "nodes", &new);
  MUST(check_names(def, new, old, "the stored version", err));
  MUST(check_names(def, old, new, "the fixed one", err));
  MUST(check_nodes(def, new, old, err));
  if (!differ(def->graph, stored, 1, &in)) return PAWL_OK;
  pawl_fail(err, PAWL_EXISTS,
            "the workflow's `%.*s` differs from the stored version's",
            (int)in.len, in.at);
  return refuse(def, err);
}
