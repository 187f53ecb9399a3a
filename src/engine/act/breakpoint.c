/* Breakpoints: set and taken away, from outside. Whoever runs instances learns
 * of that by his next claim, or by a letter: see work/breaks.h. */
#include "../../value/object.h"
#include "../../value/options.h"
#include "../common/audit.h"
#include "../common/engine_struct.h"
#include "../common/tenant.h"
#include "../common/time.h"
#include "../common/wake.h"
#include "../versions/expression.h"
#include "../versions/versions.h"
#include "act.h"

#define BATCH 100
#define MOST_US (INT64_C(365) * 86400 * PAWL_SECOND)

enum { SET, REMOVE };
static const char *const kinds[] = {"set", "remove"};
#define OF(kind) (1u << (kind))

typedef struct request {
  uint64_t given;
  int kind, all;
  pawl_buf workflow, node, tenant, condition, by, reason;
  int64_t version, lasts_us;
} request;

static const pawl_option change_rows[] = {
    {"workflow", PAWL_OPTION_TEXT, .at = offsetof(request, workflow), .low = 1,
     .needed = OF(SET)},
    {"node", PAWL_OPTION_TEXT, .at = offsetof(request, node), .low = 1,
     .needed = OF(SET)},
    {"tenant", PAWL_OPTION_TEXT, .at = offsetof(request, tenant), .low = 1},
    {"version", PAWL_OPTION_INT, .at = offsetof(request, version), .low = 1,
     .high = INT32_MAX, .kinds = OF(SET)},
    {"when", PAWL_OPTION_TEXT, .at = offsetof(request, condition), .low = 1,
     .high = PAWL_MAX_EXPRESSION, .kinds = OF(SET)},
    {"lasts_us", PAWL_OPTION_SPAN, .at = offsetof(request, lasts_us), .low = 1,
     .high = MOST_US, .kinds = OF(SET)},
    {"all", PAWL_OPTION_BOOL, .at = offsetof(request, all),
     .kinds = OF(REMOVE)},
    {"by", PAWL_OPTION_TEXT, .at = offsetof(request, by), .high = PAWL_MAX_BY},
    {"reason", PAWL_OPTION_TEXT, .at = offsetof(request, reason),
     .high = PAWL_MAX_REASON},
};
PAWL_OPTIONS_OF(breakpoint_change) = {.what = "breakpoint",
                                      PAWL_OPTION_ROWS(change_rows),
                                      PAWL_OPTION_KINDS(kinds),
                                      .kind_at = offsetof(request, kind)};

static pawl_code read_request(pawl_engine *e, request *r, pawl_str text,
                              pawl_error *err) {
  r->lasts_us = PAWL_HALT_US;
  MUST(pawl_options_read(&pawl_options_of_breakpoint_change, text, r, err));
  MUST(pawl_tenant_take(e, &r->tenant, err));
  if (r->kind == SET || r->workflow.len || r->all) return PAWL_OK;
  return pawl_fail(err, PAWL_INVALID,
                   "say of which `workflow`, and at which `node`; or `all`");
}

/* ---- who holds instances is told ---- */

static pawl_code post(pawl_engine *e, const pawl_id *ids, int n,
                      const char *kind, const request *r, pawl_str data,
                      pawl_error *err) {
  for (int at = 0; at < n; at += BATCH)
    MUST(pawl_act_post(e, ids + at, n - at < BATCH ? n - at : BATCH, kind,
                       r->by.at ? r->by.at : "", data, (pawl_str){NULL, 0},
                       err));
  return PAWL_OK;
}

static pawl_code tell_shard(pawl_engine *e, int shard, const request *r,
                            pawl_str workflow, pawl_error *err) {
  pawl_rows rows;
  pawl_id *ids;

  MUST(PAWL_READ(e->store, breakpoint_leased, &rows, err, .shard = shard,
                 .workflow = workflow, .horizon_us = PAWL_MAX_LEASE_US,
                 .now = pawl_store_now(e->store)));
  const int n = rows.nrows;
  if (!n) return PAWL_OK;
  ids = pawl_realloc(&e->alloc, NULL, 0, sizeof *ids * (size_t)n);
  if (!ids) return pawl_fail_memory(err);
  for (int k = 0; k < n; k++)
    ids[k] = *pawl_read_breakpoint_leased(&rows, k).instance;
  const pawl_code rc = post(e, ids, n, PAWL_HEED, r, pawl_strz("{}"), err);
  pawl_release(&e->alloc, ids, sizeof *ids * (size_t)n);
  return rc;
}

/* Those that are held from now on were claimed behind the change. */
static pawl_code tell_holders(pawl_engine *e, const request *r,
                              pawl_str workflow, pawl_error *err) {
  for (int s = 0; s < e->nshards; s++)
    MUST(tell_shard(e, s, r, workflow, err));
  return PAWL_OK;
}

/* ---- setting ---- */

/* A slip in a name is told to whoever sets it. A boundary begins with what it
 * is on. */
static pawl_code check_node(pawl_engine *e, const request *r,
                            pawl_error *err) {
  pawl_def *def = NULL;
  int own = 0, at;
  pawl_code rc = PAWL_OK;

  TRY(pawl_graph_find(e, r->workflow.at, r->version, &def, &own, err));
  TRY(pawl_graph_node(def, pawl_buf_str(&r->node), &at, err));
  const pawl_node *node = &def->nodes[at];
  if (node->host < 0) goto out;
  rc = pawl_fail(err, PAWL_INVALID,
                 "node \"%s\" begins with \"%s\", beside that", node->name,
                 node->on);
  pawl_error_hint(err, "break at \"%s\", or at what it leads to", node->on);
out:
  if (own) pawl_def_free(def);
  return rc;
}

static pawl_code check_condition(pawl_engine *e, const request *r,
                                 pawl_error *err) {
  int ref;

  if (!r->condition.len) return PAWL_OK;
  const pawl_code rc =
      pawl_expression_load(e, pawl_buf_str(&r->condition), &ref, err);
  if (rc != PAWL_OK) pawl_error_where(err, "when");
  if (rc == PAWL_OK) pawl_expression_drop(e, ref);
  return rc;
}

/* Behind one of the table's statements, in the same unit: it is counted, and
 * who did so is written down. */
static pawl_code note(pawl_engine *e, const request *r, const char *deed,
                      pawl_str workflow, pawl_str node, pawl_error *err) {
  pawl_buf text = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  pawl_buf_addf(&text, "%.*s", (int)node.len, node.at);
  if (r->condition.len) pawl_buf_addf(&text, " when %s", r->condition.at);
  if (r->reason.len) pawl_buf_addf(&text, ": %s", r->reason.at);
  TRY(pawl_buf_check(&text, err));
  TRY(PAWL_SEND(e->store, breakpoint_changed, NULL, err, .changes = 1));
  TRY(pawl_audit_workflow(e, deed, workflow, 0, pawl_buf_str(&r->by),
                          pawl_buf_str(&text), err));
out:
  pawl_buf_deinit(&text);
  return rc;
}

static pawl_code put(pawl_engine *e, const request *r, pawl_error *err) {
  const int64_t now = pawl_store_now(e->store);
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(PAWL_SEND(e->store, breakpoint_tidy, NULL, err, .now = now));
  TRY(PAWL_SEND(
      e->store, breakpoint_put, NULL, err,
      .workflow = pawl_buf_str(&r->workflow), .node = pawl_buf_str(&r->node),
      .tenant = pawl_strz(r->tenant.len ? r->tenant.at : ""),
      .condition = pawl_buf_some(&r->condition), .by = pawl_buf_some(&r->by),
      .reason = pawl_buf_some(&r->reason), .lasts_us = r->lasts_us,
      .now = now));
  TRY(note(e, r, "breakpoint_set", pawl_buf_str(&r->workflow),
           pawl_buf_str(&r->node), err));
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* ---- taking away ---- */

/* What has halted there goes on, also behind a removal that was cut short. */
static pawl_code let_go(pawl_engine *e, int shard, const request *r,
                        pawl_str workflow, pawl_str node, pawl_str tenant,
                        int64_t *n, pawl_error *err) {
  pawl_buf data = {.alloc = &e->alloc};
  pawl_id ids[BATCH], after = {{0}};
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_buf_addz(&data, "{\"nodes\":[");
  pawl_json_add_string(&data, node);
  pawl_buf_addz(&data, "],\"reason\":\"its breakpoint was removed\"}");
  TRY(pawl_buf_check(&data, err));
  do {
    TRY(PAWL_READ(e->store, breakpoint_halted, &rows, err, .shard = shard,
                  .workflow = workflow, .node = node, .tenant = tenant,
                  .after = &after, .max = BATCH));
    const int got = rows.nrows < BATCH ? rows.nrows : BATCH;
    for (int k = 0; k < got; k++)
      ids[k] = *pawl_read_breakpoint_halted(&rows, k).instance;
    if (!got) break;
    TRY(post(e, ids, got, "continue", r, pawl_buf_str(&data), err));
    after = ids[got - 1];
    *n += got;
    if (got < BATCH) break;
  } while (1);
out:
  pawl_buf_deinit(&data);
  return rc;
}

static pawl_code end(pawl_engine *e, const request *r, pawl_str workflow,
                     pawl_str node, pawl_str tenant, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(PAWL_SEND(e->store, breakpoint_end, NULL, err, .workflow = workflow,
                .node = node, .tenant = tenant,
                .now = pawl_store_now(e->store)));
  TRY(note(e, r, "breakpoint_removed", workflow, node, err));
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* First it holds nobody any more, then what it held goes on. */
static pawl_code remove_one(pawl_engine *e, const request *r,
                            const pawl_breakpoint_list_row *row, int64_t *n,
                            pawl_error *err) {
  MUST(end(e, r, row->workflow, row->node, row->tenant, err));
  MUST(tell_holders(e, r, row->workflow, err));
  for (int s = 0; s < e->nshards; s++)
    MUST(let_go(e, s, r, row->workflow, row->node, row->tenant, n, err));
  return PAWL_OK;
}

/* Nobody knows it (any more); what stands there goes on all the same. */
static pawl_code remove_gone(pawl_engine *e, const request *r, int64_t *n,
                             pawl_error *err) {
  if (r->node.len)
    for (int s = 0; s < e->nshards; s++)
      MUST(let_go(e, s, r, pawl_buf_str(&r->workflow), pawl_buf_str(&r->node),
                  pawl_strz(r->tenant.len ? r->tenant.at : ""), n, err));
  if (*n || r->all) return PAWL_OK;
  return pawl_fail_hint(err, PAWL_NOTFOUND, "`pawl breaks` lists them",
                        "there is no breakpoint at \"%s\"%s%s%s",
                        r->workflow.at, r->node.len ? ", \"" : "",
                        r->node.len ? r->node.at : "",
                        r->node.len ? "\"" : "");
}

static pawl_code remove_all(pawl_engine *e, const request *r, int64_t *removed,
                            int64_t *n, pawl_error *err) {
  pawl_buf kept = {.alloc = &e->alloc};
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  TRY(PAWL_READ(
      e->store, breakpoint_list, &rows, err,
      .workflow = pawl_buf_some(&r->workflow), .node = pawl_buf_some(&r->node),
      .tenant = pawl_buf_some(&r->tenant), .now = pawl_store_now(e->store)));
  *removed = rows.nrows;
  TRY(PAWL_KEEP(breakpoint_list, &rows, &kept, err));
  for (int64_t k = 0; k < *removed; k++)
    TRY(remove_one(e, r, &PAWL_KEPT(breakpoint_list, &kept)[k], n, err));
  if (!*removed) TRY(remove_gone(e, r, n, err));
  TRY(PAWL_WRITE(e->store, breakpoint_tidy, NULL, err,
                 .now = pawl_store_now(e->store)));
  pawl_wake(e);
out:
  pawl_buf_deinit(&kept);
  return rc;
}

/* ---- both ---- */

static pawl_code answer(pawl_engine *e, const request *r, int64_t removed,
                        int64_t continued, pawl_buf *out, pawl_error *err) {
  pawl_object o;

  pawl_object_begin(&o, out);
  if (r->kind == SET) {
    pawl_member_str(&o, "workflow", pawl_buf_str(&r->workflow));
    pawl_member_str(&o, "node", pawl_buf_str(&r->node));
    pawl_member_time(&o, "expires",
                     pawl_time_after(pawl_engine_now(e), r->lasts_us));
  } else {
    pawl_member_int(&o, "removed", removed);
    pawl_member_int(&o, "continued", continued);
  }
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}

static pawl_code set(pawl_engine *e, const request *r, pawl_error *err) {
  MUST(check_node(e, r, err));
  MUST(check_condition(e, r, err));
  MUST(put(e, r, err));
  return tell_holders(e, r, pawl_buf_str(&r->workflow), err);
}

pawl_code pawl_engine_breakpoint_change(pawl_engine *e, pawl_str text,
                                        pawl_buf *out, pawl_error *err) {
  request r;
  int64_t removed = 0, continued = 0;
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_breakpoint_change, &r, sizeof r,
                    &e->alloc);
  TRY(read_request(e, &r, text, err));
  if (r.kind == SET)
    TRY(set(e, &r, err));
  else
    TRY(remove_all(e, &r, &removed, &continued, err));
  if (out) TRY(answer(e, &r, removed, continued, out, err));
out:
  pawl_options_deinit(&pawl_options_of_breakpoint_change, &r);
  return rc;
}
