/* Hot-fixes: is it the same graph? */
#include "hotfix.h"

#include <inttypes.h>

#include "../../value/json.h"

static pawl_code read_text(pawl_str value, const char *name, pawl_buf *out,
                           pawl_error *err) {
  if (pawl_json_kind_of(value) == PAWL_JSON_NULL) return PAWL_OK;
  if (pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return pawl_fail(err, PAWL_INVALID, "`%s` must be a text", name);
  pawl_json_unquote(value, out);
  if (out->len && memchr(out->at, 0, out->len))
    return pawl_fail(err, PAWL_INVALID, "`%s` must not have a zero byte",
                     name);
  return pawl_buf_check(out, err);
}

pawl_code pawl_hotfix_read(pawl_str options, pawl_fix *out, pawl_error *err) {
  pawl_json_kind kind;
  pawl_json_iter it = {0};
  pawl_str key, value;
  pawl_code rc = PAWL_OK;

  if (!options.at || !options.len) return PAWL_OK;
  TRY(pawl_json_check(options, &kind, err));
  if (kind != PAWL_JSON_OBJECT)
    return pawl_fail(err, PAWL_INVALID, "options must be an object");
  while (pawl_json_each(options, &it, &key, &value)) {
    if (pawl_str_eqz(key, "by"))
      TRY(read_text(value, "by", &out->by, err));
    else if (pawl_str_eqz(key, "reason"))
      TRY(read_text(value, "reason", &out->reason, err));
    else
      return pawl_fail(err, PAWL_INVALID, "a hot-fix has no option `%.*s`",
                       (int)(key.len < 60 ? key.len : 60), key.at);
  }
out:
  return rc;
}

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
  pawl_json_iter it = {0};
  pawl_str key, value, other;
  char name[64];

  while (pawl_json_each(a, &it, &key, &value)) {
    if (!is_shape(key, top)) continue;
    pawl_str_copy(name, sizeof name, key);
    *in = key;
    if (!pawl_json_get(b, name, &other) || !pawl_str_eq(value, other))
      return 1;
  }
  return 0;
}

static int differ(pawl_str a, pawl_str b, int top, pawl_str *in) {
  return differs_from(a, b, top, in) || differs_from(b, a, top, in);
}

static int find_node(pawl_str nodes, pawl_str name, pawl_str *out) {
  pawl_json_iter it = {0};
  pawl_str key, other;

  while (pawl_json_each(nodes, &it, &key, out))
    if (pawl_json_get(*out, "name", &other) && pawl_str_eq(name, other))
      return 1;
  return 0;
}

static pawl_code refuse(const pawl_def *def, pawl_error *err) {
  pawl_error_where(err, "%s", def->file);
  pawl_error_hint(err,
                  "a hot-fix may change what handlers do; for another graph "
                  "give it version = %" PRId64 " and move instances there",
                  def->version + 1);
  return PAWL_EXISTS;
}

/* Every node of `a` is in `b`. */
static pawl_code check_names(const pawl_def *def, pawl_str a, pawl_str b,
                             const char *where, pawl_error *err) {
  pawl_json_iter it = {0};
  pawl_str key, node, name, other;

  while (pawl_json_each(a, &it, &key, &node)) {
    if (!pawl_json_get(node, "name", &name) || find_node(b, name, &other))
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
  pawl_json_iter it = {0};
  pawl_str key, node, name, other, in;

  while (pawl_json_each(a, &it, &key, &node)) {
    if (!pawl_json_get(node, "name", &name) || !find_node(b, name, &other) ||
        !differ(node, other, 0, &in))
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
  pawl_code rc = PAWL_OK;

  (void)pawl_json_get(stored, "nodes", &old);
  (void)pawl_json_get(def->graph, "nodes", &new);
  TRY(check_names(def, new, old, "the stored version", err));
  TRY(check_names(def, old, new, "the fixed one", err));
  TRY(check_nodes(def, new, old, err));
  if (!differ(def->graph, stored, 1, &in)) return PAWL_OK;
  pawl_fail(err, PAWL_EXISTS,
            "the workflow's `%.*s` differs from the stored version's",
            (int)in.len, in.at);
  rc = refuse(def, err);
out:
  return rc;
}
