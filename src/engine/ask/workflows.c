/* The versions of workflows that the store knows, what lives of each, and what
 * is stored of one: source, graph, revisions.
 *
 * What a program has loaded is no matter here: other workers may have loaded
 * something else, and the store is what they have in common. */
#include <inttypes.h>
#include <stdlib.h>

#include "../../value/json.h"
#include "../../value/options.h"
#include "../../value/types.h"
#include "../common/answer.h"
#include "../common/engine_struct.h"
#include "../common/tenant.h"
#include "../versions/versions.h"
#include "ask.h"

/* ---- lists ---- */

/* Counting what lives is a statement for each version: it is only done when
 * asked for. */
typedef struct query {
  uint64_t given;
  pawl_buf code, prefix, search, after;
  int64_t limit, after_version;
  int live, active;
} query;

enum { ROW_ACTIVE };
static const pawl_option list_rows[] = {
    [ROW_ACTIVE] = {"active", PAWL_OPTION_BOOL, .at = offsetof(query, active)},
    {"workflow", PAWL_OPTION_TEXT, .at = offsetof(query, code), .low = 1},
    {"prefix", PAWL_OPTION_TEXT, .at = offsetof(query, prefix), .low = 1},
    {"search", PAWL_OPTION_TEXT, .at = offsetof(query, search), .low = 1},
    {"limit", PAWL_OPTION_INT, .at = offsetof(query, limit), .low = 1,
     .high = PAWL_MAX_LIMIT},
    {"after", PAWL_OPTION_TEXT, .at = offsetof(query, after), .low = 1},
    {"live", PAWL_OPTION_BOOL, .at = offsetof(query, live)}};
PAWL_OPTIONS_OF(workflow_list) = {.what = "workflows",
                                  PAWL_OPTION_ROWS(list_rows)};

/* "CODE@VERSION": the last row of the page before. Leaves the code alone. */
static pawl_code read_after(query *q, pawl_error *err) {
  char *end = NULL, *at = q->after.len ? strrchr(q->after.at, '@') : NULL;

  if (!q->after.len) return PAWL_OK;
  if (at) q->after_version = strtoll(at + 1, &end, 10);
  if (!at || at == q->after.at || end == at + 1 || *end ||
      q->after_version < 1 || q->after_version > INT32_MAX)
    return pawl_fail_hint(err, PAWL_INVALID,
                          "give code and version of the last row of a page: "
                          "\"order.fulfil@2\"",
                          "workflows: `after` is not CODE@VERSION");
  q->after.len = (size_t)(at - q->after.at);
  *at = 0;
  return PAWL_OK;
}

static pawl_code read_query(const pawl_engine *e, pawl_str text, query *q,
                            pawl_error *err) {
  q->limit = INT32_MAX;
  MUST(pawl_options_read(&pawl_options_of_workflow_list, text, q, err));
  if (q->live)
    MUST(pawl_tenant_none(e, "count what lives of a workflow", err));
  return read_after(q, err);
}

static pawl_code fetch_list(pawl_engine *e, const query *q, pawl_rows *rows,
                            pawl_error *err) {
  return PAWL_READ(
      e->store, workflow_list, rows, err, .code = pawl_buf_some(&q->code),
      .prefix = pawl_buf_some(&q->prefix), .search = pawl_buf_some(&q->search),
      .active = PAWL_OPTION_GIVEN(q, ROW_ACTIVE) ? q->active : PAWL_NULL,
      .after_code = pawl_buf_some(&q->after),
      .after_version = q->after_version, .max = q->limit);
}

/* Counts the unfinished instances of the version that `row`, an object that
 * was just written, describes, and adds them to it. */
static pawl_code add_live(pawl_engine *e, pawl_buf *row, pawl_error *err) {
  pawl_buf code = {.alloc = &e->alloc};
  pawl_rows rows;
  pawl_str value;
  int64_t version = 0, live = 0;
  pawl_code rc = PAWL_OK;

  if (pawl_json_get(pawl_buf_str(row), "workflow", &value))
    pawl_json_unquote(value, &code);
  if (pawl_json_get(pawl_buf_str(row), "version", &value))
    (void)pawl_json_int(value, &version);
  TRY(pawl_buf_check(&code, err));
  pawl_args_begin(&e->args, PAWL_STMT_workflow_count);
  for (int s = 0; s < e->nshards; s++)
    PAWL_PUT(&e->args, workflow_count, .code = pawl_buf_str(&code),
             .version = version, .shard = s);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  for (int k = 0; k < rows.nrows; k++)
    live += pawl_read_workflow_count(&rows, k).live;
  row->len--; /* the brace */
  pawl_buf_addf(row, ",\"live\":%" PRId64 "}", live);
out:
  pawl_buf_deinit(&code);
  return rc;
}

/* The list is complete before the first count is sent: its rows are borrowed
 * from the connection. */
static pawl_code add_lives(pawl_engine *e, const pawl_buf *list, pawl_buf *out,
                           pawl_error *err) {
  pawl_buf row = {.alloc = &e->alloc};
  pawl_object lives;
  pawl_code rc = PAWL_OK;

  pawl_list_begin(&lives, out);
  for (pawl_json_iter it = {0}; pawl_json_walk(pawl_buf_str(list), &it);) {
    pawl_buf_set(&row, it.value);
    TRY(pawl_buf_check(&row, err));
    TRY(add_live(e, &row, err));
    pawl_list_next(&lives);
    pawl_buf_adds(out, pawl_buf_str(&row));
  }
  pawl_list_end(&lives);
out:
  pawl_buf_deinit(&row);
  return rc;
}

pawl_code pawl_engine_workflow_list(pawl_engine *e, pawl_str text,
                                    pawl_buf *out, pawl_error *err) {
  query q;
  pawl_buf list = {.alloc = &e->alloc};
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_workflow_list, &q, sizeof q, &e->alloc);
  TRY(read_query(e, text, &q, err));
  TRY(fetch_list(e, &q, &rows, err));
  pawl_add_rows(&list, &rows,
                "workflow=code version revision name description active "
                "suspended off inline trust author grants nodes sha256 "
                "created=created_at "
                "modified=modified_at by reason");
  TRY(pawl_buf_check(&list, err));
  if (q.live)
    TRY(add_lives(e, &list, out, err));
  else
    pawl_buf_adds(out, pawl_buf_str(&list));
  TRY(pawl_buf_check(out, err));
out:
  pawl_options_deinit(&pawl_options_of_workflow_list, &q);
  pawl_buf_deinit(&list);
  return rc;
}

/* ---- one of them ---- */

typedef struct get_query {
  uint64_t given;
  int64_t version, revision;
} get_query;

static const pawl_option get_rows[] = {
    {"version", PAWL_OPTION_INT, .at = offsetof(get_query, version), .low = 1,
     .high = INT32_MAX},
    {"revision", PAWL_OPTION_INT, .at = offsetof(get_query, revision),
     .low = 1, .high = INT32_MAX}};
PAWL_OPTIONS_OF(workflow_get) = {.what = "a workflow",
                                 PAWL_OPTION_ROWS(get_rows)};

static pawl_code read_get(pawl_str text, get_query *q, pawl_error *err) {
  MUST(pawl_options_read(&pawl_options_of_workflow_get, text, q, err));
  if (!q->revision || q->version) return PAWL_OK;
  return pawl_fail_hint(err, PAWL_INVALID, "give the version as well",
                        "a workflow: `revision` is of a `version`");
}

static pawl_code no_revision(const char *code, const get_query *q,
                             pawl_error *err) {
  return pawl_fail_hint(
      err, PAWL_NOTFOUND, "`pawl workflow show` has the revisions there are",
      "workflow \"%s\" version %" PRId64 " has no revision %" PRId64, code,
      q->version, q->revision);
}

/* What it is to be started with, for who draws a form. */
static void add_schema(pawl_object *o, pawl_str graph) {
  pawl_str input;
  if (!pawl_json_get(graph, "input", &input)) return;
  pawl_member(o, "schema");
  pawl_types_schema(input, o->out);
}

/* The row is copied out before the revisions are asked for: it is borrowed. */
static pawl_code add_workflow(pawl_engine *e, const char *code,
                              const pawl_rows *rows, pawl_buf *out,
                              pawl_error *err) {
  const int64_t version = pawl_read_workflow_show(rows, 0).version;
  pawl_object o;
  pawl_rows revisions;

  pawl_object_begin(&o, out);
  pawl_member_columns(&o, rows, 0,
                      "workflow=code version revision current name "
                      "description active suspended off inline trust author "
                      "grants sha256 created=created_at modified=modified_at "
                      "group=executor_group by reason source bundle graph");
  add_schema(&o, pawl_read_workflow_show(rows, 0).graph);
  MUST(PAWL_READ(e->store, workflow_revisions, &revisions, err,
                 .code = pawl_strz(code), .version = version));
  pawl_member(&o, "revisions");
  pawl_add_rows(out, &revisions,
                "revision current sha256 created=created_at "
                "modified=modified_at by reason");
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}

pawl_code pawl_engine_workflow_get(pawl_engine *e, const char *code,
                                   pawl_str text, pawl_buf *out,
                                   pawl_error *err) {
  get_query q = {0};
  pawl_rows rows;

  MUST(read_get(text, &q, err));
  MUST(pawl_check_workflow(code, q.version, err));
  MUST(PAWL_READ(e->store, workflow_show, &rows, err, .code = pawl_strz(code),
                 .version = q.version, .revision = q.revision));
  if (rows.nrows) return add_workflow(e, code, &rows, out, err);
  if (q.revision) {
    MUST(PAWL_READ(e->store, workflow_show, &rows, err,
                   .code = pawl_strz(code), .version = q.version));
    if (rows.nrows) return no_revision(code, &q, err);
  }
  return pawl_no_workflow(code, q.version, err);
}
