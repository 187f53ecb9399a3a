/* Asking: instances and their history as JSON text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../value/json.h"
#include "../act/act.h"
#include "../common/answer.h"

#define MAX_UNDOS 1000 /* shown in each list of a compensation */

/* ---- one instance ---- */

static void add_instance(const pawl_rows *r, pawl_object *o) {
#define CELL(col) pawl_rows_cell(r, 0, PAWL_INSTANCE_GET_R_##col)
  pawl_cell_id(o, "id", CELL(ID));
  pawl_cell_text(o, "workflow", CELL(WORKFLOW));
  pawl_cell_int(o, "version", CELL(WORKFLOW_VERSION));
  pawl_cell_text(o, "status", CELL(STATUS));
  pawl_cell_text(o, "node", CELL(NODE));
  pawl_cell_json(o, "input", CELL(INPUT));
  pawl_member(o, "variables");
  if (CELL(VARIABLES)->is_null)
    pawl_buf_addz(o->out, "{}");
  else if (CELL(PARTS)->i) /* several rows, in no order */
    pawl_json_apply(CELL(VARIABLES)->s, pawl_strz("{}"), o->out);
  else
    pawl_buf_adds(o->out, CELL(VARIABLES)->s);
  pawl_cell_json(o, "output", CELL(OUTPUT));
  pawl_cell_json(o, "error", CELL(ERROR));
  pawl_cell_json(o, "cancellation", CELL(CANCELLATION));
  pawl_cell_json(o, "progress", CELL(STATE_TEXT));
  pawl_cell_text(o, "tenant", CELL(TENANT));
  pawl_cell_int(o, "priority", CELL(PRIORITY));
  pawl_cell_text(o, "group", CELL(EXECUTOR_GROUP));
  pawl_cell_text(o, "key", CELL(EXTERNAL_ID));
  pawl_cell_text(o, "business_key", CELL(BUSINESS_KEY));
  pawl_cell_text(o, "correlation", CELL(CORRELATION_ID));
  pawl_cell_id(o, "parent", CELL(PARENT));
  pawl_cell_id(o, "root", CELL(ROOT));
  pawl_cell_text(o, "parent_node", CELL(PARENT_NODE));
  pawl_cell_int(o, "parent_index", CELL(PARENT_INDEX));
  pawl_cell_text(o, "trigger_event", CELL(TRIGGER_EVENT));
  pawl_cell_time(o, "deadline", CELL(DEADLINE_AT));
  pawl_cell_time(o, "suspended_at", CELL(SUSPENDED_AT));
  pawl_cell_json(o, "metadata", CELL(METADATA));
  pawl_cell_int(o, "commits", CELL(VERSION));
  pawl_member(o, "times");
  pawl_object times;
  pawl_object_begin(&times, o->out);
  pawl_cell_time(&times, "created", CELL(CREATED_AT));
  pawl_cell_time(&times, "started", CELL(STARTED_AT));
  pawl_cell_time(&times, "updated", CELL(UPDATED_AT));
  pawl_cell_time(&times, "completed", CELL(COMPLETED_AT));
  pawl_object_end(&times);
#undef CELL
}

static void add_tokens(const pawl_rows *r, pawl_buf *out) {
#define CELL(col) pawl_rows_cell(r, k, PAWL_TOKEN_LIST_R_##col)
  pawl_buf_addc(out, '[');
  for (int k = 0; k < r->nrows; k++) {
    pawl_object token;
    if (k) pawl_buf_addc(out, ',');
    pawl_object_begin(&token, out);
    pawl_cell_int(&token, "no", CELL(NO));
    pawl_cell_text(&token, "node", CELL(NODE));
    pawl_cell_text(&token, "state", CELL(STATE));
    pawl_cell_int(&token, "visit", CELL(VISIT));
    pawl_cell_text(&token, "previous", CELL(PREVIOUS_NODE));
    pawl_cell_int(&token, "parent", CELL(PARENT));
    pawl_cell_text(&token, "scope", CELL(SCOPE));
    pawl_cell_text(&token, "fork", CELL(FORK));
    pawl_cell_text(&token, "branch", CELL(BRANCH));
    pawl_cell_json(&token, "data", CELL(DATA));
    pawl_cell_json(&token, "event", CELL(EVENT));
    pawl_cell_json(&token, "detail", CELL(DETAIL));
    pawl_cell_int(&token, "attempt", CELL(ATTEMPT));
    pawl_cell_time(&token, "due", CELL(DUE_AT));
    pawl_cell_time(&token, "entered", CELL(ENTERED_AT));
    pawl_object_end(&token);
  }
  pawl_buf_addc(out, ']');
#undef CELL
}

/* Who holds it, and when it is looked at next. */
static void add_agenda(const pawl_rows *r, pawl_object *o) {
#define CELL(col) pawl_rows_cell(r, 0, PAWL_AGENDA_GET_R_##col)
  pawl_member_lease(o, r);
  if (!r->nrows) {
    pawl_member_null(o, "due");
    pawl_member_null(o, "executor");
    return;
  }
  pawl_cell_time(o, "due", CELL(DUE_AT));
  pawl_cell_id(o, "executor", CELL(EXECUTOR));
#undef CELL
}

pawl_code pawl_not_found(const pawl_id *id, pawl_error *err) {
  char text[37];
  pawl_id_format(id, text);
  pawl_fail(err, PAWL_NOTFOUND, "there is no instance %s", text);
  pawl_error_hint(err, "`pawl list` shows what there is");
  return PAWL_NOTFOUND;
}

pawl_code pawl_send_get(pawl_engine *e, int shard, const pawl_id *id,
                        pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_INSTANCE_GET);
  pawl_arg_int(&e->args, PAWL_INSTANCE_GET_SHARD, shard);
  pawl_arg_id(&e->args, PAWL_INSTANCE_GET_ID, id);
  return pawl_store_send(e->store, &e->args, err);
}

pawl_code pawl_send_tokens(pawl_engine *e, int shard, const pawl_id *id,
                           int everything, pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_TOKEN_LIST);
  pawl_arg_int(&e->args, PAWL_TOKEN_LIST_SHARD, shard);
  pawl_arg_id(&e->args, PAWL_TOKEN_LIST_ID, id);
  pawl_arg_int(&e->args, PAWL_TOKEN_LIST_EVERYTHING, everything);
  return pawl_store_send(e->store, &e->args, err);
}

pawl_code pawl_send_agenda(pawl_engine *e, int shard, const pawl_id *id,
                           pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_GET);
  pawl_arg_int(&e->args, PAWL_AGENDA_GET_SHARD, shard);
  pawl_arg_id(&e->args, PAWL_AGENDA_GET_ID, id);
  pawl_store_arg_now(e->store, &e->args, PAWL_AGENDA_GET_NOW);
  return pawl_store_send(e->store, &e->args, err);
}

/* ---- what was undone ---- */

/* A compensation, and what its lists are made from. */
typedef struct undoing {
  int shard;
  pawl_id id;
  pawl_buf record, workflow;
  int64_t version, since; /* since 0: its plan is not made yet */
} undoing;

static pawl_code take_undoing(const pawl_rows *r, undoing *u,
                              pawl_error *err) {
  pawl_str value;
  pawl_code rc = PAWL_OK;

  pawl_buf_adds(&u->record,
                pawl_row_str(r, 0, PAWL_INSTANCE_GET_R_COMPENSATION));
  pawl_buf_adds(&u->workflow,
                pawl_row_str(r, 0, PAWL_INSTANCE_GET_R_WORKFLOW));
  u->version = pawl_row_int(r, 0, PAWL_INSTANCE_GET_R_WORKFLOW_VERSION);
  TRY(pawl_buf_check(&u->record, err));
  TRY(pawl_buf_check(&u->workflow, err));
  if (u->record.len &&
      pawl_json_get(pawl_buf_str(&u->record), "since", &value))
    (void)pawl_json_int(value, &u->since);
out:
  return rc;
}

/* All that there was to undo, as the engine finds it: it needs the graph. */
static pawl_code add_undo_plan(pawl_engine *e, const undoing *u, pawl_buf *out,
                               pawl_error *err) {
  pawl_renames renames = {0};
  pawl_undo_walk w = {.renames = &renames,
                      .shard = u->shard,
                      .id = u->id,
                      .below = u->since,
                      .max = MAX_UNDOS,
                      .list = out};
  pawl_def *def = NULL;
  pawl_str moves;
  int own = 0;
  pawl_code rc = PAWL_OK;

  TRY(pawl_graph_find(e, u->workflow.at, u->version, &def, &own, err));
  w.def = def;
  if (pawl_json_get(pawl_buf_str(&u->record), "moves", &moves))
    TRY(pawl_renames_pick(e, u->shard, &u->id, moves, &renames, err));
  TRY(pawl_undo_walk_on(e, &w, MAX_UNDOS, err));
out:
  if (own) pawl_def_free(def);
  pawl_renames_deinit(e, &renames);
  return rc;
}

static void add_one_undone(const pawl_rows *r, int k, int failed,
                           pawl_buf *out) {
#define CELL(col) pawl_rows_cell(r, k, PAWL_HISTORY_UNDONE_R_##col)
  pawl_str key, seq = pawl_strz("null");
  pawl_json_iter it = {0};
  pawl_object one;

  (void)pawl_json_each(CELL(PREVIOUS)->s, &it, &key, &seq);
  if (!failed) {
    pawl_buf_adds(out, seq);
    return;
  }
  pawl_object_begin(&one, out);
  pawl_member_json(&one, "seq", seq);
  pawl_cell_text(&one, "node", CELL(NODE));
  pawl_cell_json(&one, "error", CELL(ERROR));
  pawl_cell_time(&one, "at", CELL(COMPLETED_AT));
  pawl_object_end(&one);
#undef CELL
}

static pawl_code add_undone(pawl_engine *e, const undoing *u, int failed,
                            pawl_buf *out, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_HISTORY_UNDONE);
  pawl_arg_int(a, PAWL_HISTORY_UNDONE_SHARD, u->shard);
  pawl_arg_id(a, PAWL_HISTORY_UNDONE_ID, &u->id);
  pawl_arg_int(a, PAWL_HISTORY_UNDONE_SINCE, u->since);
  pawl_arg_textz(a, PAWL_HISTORY_UNDONE_TYPE,
                 failed ? "undo_failed" : "undone");
  pawl_arg_int(a, PAWL_HISTORY_UNDONE_MAX, MAX_UNDOS);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, a, &rows, err));
  for (int k = 0; k < rows.nrows; k++) {
    if (k) pawl_buf_addc(out, ',');
    add_one_undone(&rows, k, failed, out);
  }
out:
  return rc;
}

/* The record, and what its plan is made of: the first of each list. */
static pawl_code add_compensation(pawl_engine *e, const undoing *u,
                                  pawl_buf *out, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  if (!u->since) {
    pawl_buf_adds(
        out, u->record.len ? pawl_buf_str(&u->record) : pawl_strz("null"));
    return PAWL_OK;
  }
  pawl_buf_add(out, u->record.at, u->record.len - 1);
  pawl_buf_addz(out, ",\"plan\":[");
  TRY(add_undo_plan(e, u, out, err));
  pawl_buf_addz(out, "],\"completed\":[");
  TRY(add_undone(e, u, 0, out, err));
  pawl_buf_addz(out, "],\"failed\":[");
  TRY(add_undone(e, u, 1, out, err));
  pawl_buf_addz(out, "]}");
out:
  return rc;
}

pawl_code pawl_engine_get(pawl_engine *e, const pawl_id *id, pawl_buf *out,
                          pawl_error *err) {
  int shard = pawl_id_route(id) % e->nshards;
  undoing u = {.shard = shard,
               .id = *id,
               .record = {.alloc = &e->alloc},
               .workflow = {.alloc = &e->alloc}};
  pawl_rows rows;
  pawl_object o;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(pawl_send_get(e, shard, id, err));
  TRY(pawl_send_tokens(e, shard, id, 0, err));
  TRY(pawl_send_agenda(e, shard, id, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, 0, &rows);
  if (!rows.nrows) return pawl_not_found(id, err);
  TRY(take_undoing(&rows, &u, err));
  pawl_object_begin(&o, out);
  add_instance(&rows, &o);
  pawl_store_rows(e->store, 1, &rows);
  pawl_member(&o, "tokens");
  add_tokens(&rows, out);
  pawl_store_rows(e->store, 2, &rows);
  add_agenda(&rows, &o);
  pawl_member(&o, "attributes");
  TRY(pawl_attributes_json(e, shard, id, out, err));
  pawl_member(&o, "compensation");
  TRY(add_compensation(e, &u, out, err));
  pawl_object_end(&o);
  TRY(pawl_buf_check(out, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  pawl_buf_deinit(&u.record);
  pawl_buf_deinit(&u.workflow);
  return rc;
}

pawl_code pawl_engine_tokens(pawl_engine *e, const pawl_id *id, int everything,
                             pawl_buf *out, pawl_error *err) {
  int shard = pawl_id_route(id) % e->nshards;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(pawl_send_get(e, shard, id, err));
  TRY(pawl_send_tokens(e, shard, id, everything, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, 0, &rows);
  if (!rows.nrows) return pawl_not_found(id, err);
  pawl_store_rows(e->store, 1, &rows);
  add_tokens(&rows, out);
  TRY(pawl_buf_check(out, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* ---- lists ---- */

typedef struct filter {
  unsigned statuses; /* bits of pawl_status, as asked for */
  pawl_buf workflow, tenant, correlation, business_key, key;
  int64_t version, limit;
  int has_before, has_parent, has_root;
  pawl_id before, parent, root;
} filter;

static const char *const filter_names[] = {
    "workflow", "version", "status", "tenant", "correlation", "business_key",
    "key",      "limit",   "before", "parent", "root"};

static pawl_code read_status(pawl_str value, filter *f, pawl_error *err) {
  char text[32];
  pawl_status s;
  const char *names[PAWL_NSTATUSES];

  if (pawl_json_kind_of(value) == PAWL_JSON_STRING && value.len >= 2) {
    pawl_str inner = {value.at + 1, value.len - 2};
    if (pawl_status_parse(inner, &s)) {
      f->statuses |= 1u << s;
      return PAWL_OK;
    }
  }
  snprintf(text, sizeof text, "%.*s", (int)(value.len < 30 ? value.len : 30),
           value.at);
  pawl_fail(err, PAWL_INVALID, "%s is no status", text);
  for (int i = 0; i < PAWL_NSTATUSES; i++)
    names[i] = pawl_status_name((pawl_status)i);
  const char *near = pawl_nearest(text, names, PAWL_NSTATUSES);
  pawl_error_hint(err,
                  near ? "did you mean \"%s\"?"
                       : "created, running, waiting, suspended, "
                         "completed, failed or cancelled",
                  near);
  return PAWL_INVALID;
}

static pawl_code read_statuses(pawl_str value, filter *f, pawl_error *err) {
  pawl_json_iter it = {0};
  pawl_str key, one;
  pawl_code rc = PAWL_OK;

  if (pawl_json_kind_of(value) != PAWL_JSON_ARRAY)
    return read_status(value, f, err);
  while (pawl_json_each(value, &it, &key, &one)) TRY(read_status(one, f, err));
out:
  return rc;
}

static pawl_code read_filter_text(pawl_str value, const char *what,
                                  const char *name, pawl_buf *out,
                                  pawl_error *err) {
  char *end;

  if (pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return pawl_fail(err, PAWL_INVALID, "%s: `%s` must be a string", what,
                     name);
  pawl_json_unquote(value, out);
  end = pawl_buf_room(out, 1); /* an empty one is text as well */
  if (end) *end = '\0';
  return pawl_buf_check(out, err);
}

static pawl_code read_filter_id(pawl_engine *e, pawl_str value,
                                const char *what, const char *name,
                                pawl_id *out, int *has, pawl_error *err) {
  pawl_buf text = {.alloc = &e->alloc};
  pawl_code rc = read_filter_text(value, what, name, &text, err);
  if (rc == PAWL_OK) rc = pawl_engine_find(e, text.at, out, err);
  *has = rc == PAWL_OK;
  pawl_buf_deinit(&text);
  return rc;
}

static pawl_code read_limit(pawl_str value, const char *what, int64_t *out,
                            pawl_error *err) {
  if (pawl_json_int(value, out) && *out > 0 && *out <= 10000) return PAWL_OK;
  return pawl_fail(err, PAWL_INVALID,
                   "%s: `limit` must be an integer from 1 to 10000", what);
}

static pawl_code unknown_filter(const char *what, pawl_str key,
                                const char *const *names, size_t n,
                                pawl_error *err) {
  char name[40];
  const char *near;

  snprintf(name, sizeof name, "%.*s", (int)(key.len < 39 ? key.len : 39),
           key.at);
  pawl_fail(err, PAWL_INVALID, "%s has no filter `%s`", what, name);
  near = pawl_nearest(name, names, (int)n);
  if (near) pawl_error_hint(err, "did you mean `%s`?", near);
  return PAWL_INVALID;
}

static pawl_code read_filter(pawl_engine *e, filter *f, pawl_str key,
                             pawl_str value, pawl_error *err) {
  if (pawl_json_kind_of(value) == PAWL_JSON_NULL) return PAWL_OK;
  if (pawl_str_eqz(key, "status")) return read_statuses(value, f, err);
  if (pawl_str_eqz(key, "workflow"))
    return read_filter_text(value, "list", "workflow", &f->workflow, err);
  if (pawl_str_eqz(key, "tenant"))
    return read_filter_text(value, "list", "tenant", &f->tenant, err);
  if (pawl_str_eqz(key, "correlation"))
    return read_filter_text(value, "list", "correlation", &f->correlation,
                            err);
  if (pawl_str_eqz(key, "business_key"))
    return read_filter_text(value, "list", "business_key", &f->business_key,
                            err);
  if (pawl_str_eqz(key, "key"))
    return read_filter_text(value, "list", "key", &f->key, err);
  if (pawl_str_eqz(key, "version"))
    return pawl_json_int(value, &f->version) && f->version > 0
               ? PAWL_OK
               : pawl_fail(err, PAWL_INVALID,
                           "list: `version` must be a "
                           "positive integer");
  if (pawl_str_eqz(key, "limit"))
    return read_limit(value, "list", &f->limit, err);
  if (pawl_str_eqz(key, "before"))
    return read_filter_id(e, value, "list", "before", &f->before,
                          &f->has_before, err);
  if (pawl_str_eqz(key, "parent"))
    return read_filter_id(e, value, "list", "parent", &f->parent,
                          &f->has_parent, err);
  if (pawl_str_eqz(key, "root"))
    return read_filter_id(e, value, "list", "root", &f->root, &f->has_root,
                          err);
  return unknown_filter("list", key, filter_names,
                        sizeof filter_names / sizeof *filter_names, err);
}

static pawl_code read_filters(pawl_engine *e, pawl_str query, filter *f,
                              pawl_error *err) {
  pawl_json_kind kind;
  pawl_json_iter it = {0};
  pawl_str key, value;
  pawl_code rc = PAWL_OK;

  f->limit = 100;
  if (query.at) {
    TRY(pawl_json_check(query, &kind, err));
    if (kind != PAWL_JSON_OBJECT)
      return pawl_fail(err, PAWL_INVALID, "list's query must be an object");
    while (pawl_json_each(query, &it, &key, &value))
      TRY(read_filter(e, f, key, value, err));
  }
  if (!f->statuses) f->statuses = (1u << PAWL_NSTATUSES) - 1;
out:
  return rc;
}

static void arg_filter(pawl_args *a, int arg, const pawl_buf *b) {
  if (b->len)
    pawl_arg_str(a, arg, pawl_buf_str(b));
  else
    pawl_arg_null(a, arg);
}

/* Which statuses are stored for those asked for: created is a running one
 * that has not started. */
static unsigned stored_statuses(unsigned asked) {
  if (asked & 1u << PAWL_STATUS_CREATED) asked |= 1u << PAWL_STATUS_RUNNING;
  return asked & ~(1u << PAWL_STATUS_CREATED);
}

#define SAME(col)                                                           \
  _Static_assert(                                                           \
      (int)PAWL_INSTANCE_FAMILY_R_##col == (int)PAWL_INSTANCE_LIST_R_##col, \
      "rows of instance_family are read as instance_list's")
SAME(ID);
SAME(STATUS);
SAME(PARENT_INDEX);
SAME(COMPLETED_AT);
#undef SAME

/* Children are few beside all instances: they are read by their own index,
 * and their statuses compared here. */
static pawl_code send_family(pawl_engine *e, const filter *f,
                             const pawl_id *before, pawl_rows *rows,
                             pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_INSTANCE_FAMILY);
  for (int s = 0; s < e->nshards; s++)
    pawl_arg_int(a, PAWL_INSTANCE_FAMILY_SHARD, s);
  if (f->has_parent) pawl_arg_id(a, PAWL_INSTANCE_FAMILY_PARENT, &f->parent);
  if (f->has_root) pawl_arg_id(a, PAWL_INSTANCE_FAMILY_ROOT, &f->root);
  arg_filter(a, PAWL_INSTANCE_FAMILY_WORKFLOW, &f->workflow);
  if (f->version)
    pawl_arg_int(a, PAWL_INSTANCE_FAMILY_WORKFLOW_VERSION, f->version);
  arg_filter(a, PAWL_INSTANCE_FAMILY_TENANT, &f->tenant);
  arg_filter(a, PAWL_INSTANCE_FAMILY_CORRELATION_ID, &f->correlation);
  arg_filter(a, PAWL_INSTANCE_FAMILY_BUSINESS_KEY, &f->business_key);
  arg_filter(a, PAWL_INSTANCE_FAMILY_EXTERNAL_ID, &f->key);
  if (before) pawl_arg_id(a, PAWL_INSTANCE_FAMILY_BEFORE, before);
  pawl_arg_int(a, PAWL_INSTANCE_FAMILY_MAX, f->limit);
  return pawl_store_once(e->store, PAWL_UNIT_READ, a, rows, err);
}

/* created and running share a stored status, so that a page of one may hold
 * only rows of the other: pages are read until the limit is met. */
static pawl_code send_list(pawl_engine *e, const filter *f,
                           const pawl_id *before, pawl_rows *rows,
                           pawl_error *err) {
  pawl_args *a = &e->args;
  unsigned stored = stored_statuses(f->statuses);

  if (f->has_parent || f->has_root)
    return send_family(e, f, before, rows, err);
  pawl_args_begin(a, PAWL_STMT_INSTANCE_LIST);
  for (int s = 0; s < e->nshards; s++)
    for (int k = 0; k < PAWL_NSTATUSES; k++) {
      if (!(stored >> k & 1u)) continue;
      pawl_arg_int(a, PAWL_INSTANCE_LIST_SHARD, s);
      pawl_arg_textz(a, PAWL_INSTANCE_LIST_STATUS,
                     pawl_status_name((pawl_status)k));
    }
  arg_filter(a, PAWL_INSTANCE_LIST_WORKFLOW, &f->workflow);
  if (f->version)
    pawl_arg_int(a, PAWL_INSTANCE_LIST_WORKFLOW_VERSION, f->version);
  arg_filter(a, PAWL_INSTANCE_LIST_TENANT, &f->tenant);
  arg_filter(a, PAWL_INSTANCE_LIST_CORRELATION_ID, &f->correlation);
  arg_filter(a, PAWL_INSTANCE_LIST_BUSINESS_KEY, &f->business_key);
  arg_filter(a, PAWL_INSTANCE_LIST_EXTERNAL_ID, &f->key);
  if (before) pawl_arg_id(a, PAWL_INSTANCE_LIST_BEFORE, before);
  pawl_arg_int(a, PAWL_INSTANCE_LIST_MAX, f->limit);
  return pawl_store_once(e->store, PAWL_UNIT_READ, a, rows, err);
}

static void add_listed(const pawl_rows *r, int k, pawl_buf *out) {
#define CELL(col) pawl_rows_cell(r, k, PAWL_INSTANCE_LIST_R_##col)
  pawl_object o;
  pawl_object_begin(&o, out);
  pawl_cell_id(&o, "id", CELL(ID));
  pawl_cell_text(&o, "workflow", CELL(WORKFLOW));
  pawl_cell_int(&o, "version", CELL(WORKFLOW_VERSION));
  pawl_cell_text(&o, "status", CELL(STATUS));
  pawl_cell_text(&o, "node", CELL(NODE));
  pawl_cell_json(&o, "error", CELL(ERROR));
  pawl_cell_text(&o, "tenant", CELL(TENANT));
  pawl_cell_int(&o, "priority", CELL(PRIORITY));
  pawl_cell_text(&o, "group", CELL(EXECUTOR_GROUP));
  pawl_cell_text(&o, "key", CELL(EXTERNAL_ID));
  pawl_cell_text(&o, "business_key", CELL(BUSINESS_KEY));
  pawl_cell_text(&o, "correlation", CELL(CORRELATION_ID));
  pawl_cell_id(&o, "parent", CELL(PARENT));
  pawl_cell_id(&o, "root", CELL(ROOT));
  pawl_cell_text(&o, "parent_node", CELL(PARENT_NODE));
  pawl_cell_int(&o, "parent_index", CELL(PARENT_INDEX));
  pawl_cell_time(&o, "created", CELL(CREATED_AT));
  pawl_cell_time(&o, "started", CELL(STARTED_AT));
  pawl_cell_time(&o, "updated", CELL(UPDATED_AT));
  pawl_cell_time(&o, "completed", CELL(COMPLETED_AT));
  pawl_object_end(&o);
#undef CELL
}

static int newest_first(const void *a, const void *b) {
  const pawl_cell *const *x = a, *const *y = b;
  return memcmp((*y)->s.at, (*x)->s.at, 16);
}

/* Appends the rows of one page that match, newest first. *last: the oldest id
 * up to which everything has been seen. */
static pawl_code add_page(pawl_engine *e, const filter *f,
                          const pawl_rows *rows, int64_t *count, pawl_id *last,
                          pawl_buf *out, pawl_error *err) {
  size_t size = sizeof(pawl_cell *) * (size_t)rows->nrows;
  const pawl_cell **ids = pawl_realloc(&e->alloc, NULL, 0, size);
  int take = rows->nrows < f->limit ? rows->nrows : (int)f->limit;

  if (!ids) return pawl_fail(err, PAWL_NOMEM, "out of memory");
  for (int k = 0; k < rows->nrows; k++)
    ids[k] = pawl_rows_cell(rows, k, PAWL_INSTANCE_LIST_R_ID);
  qsort(ids, (size_t)rows->nrows, sizeof *ids, newest_first);
  for (int k = 0; k < take && *count < f->limit; k++) {
    int row = (int)((ids[k] - rows->cells) / rows->ncols);
    pawl_status s;
    memcpy(last->bytes, ids[k]->s.at, 16);
    if (pawl_status_parse(pawl_row_str(rows, row, PAWL_INSTANCE_LIST_R_STATUS),
                          &s) &&
        !(f->statuses >> s & 1u))
      continue;
    if ((*count)++) pawl_buf_addc(out, ',');
    add_listed(rows, row, out);
  }
  pawl_release(&e->alloc, ids, size);
  return pawl_buf_check(out, err);
}

pawl_code pawl_engine_list(pawl_engine *e, pawl_str query, pawl_buf *out,
                           pawl_error *err) {
  filter f = {.workflow = {.alloc = &e->alloc},
              .tenant = {.alloc = &e->alloc},
              .correlation = {.alloc = &e->alloc},
              .business_key = {.alloc = &e->alloc},
              .key = {.alloc = &e->alloc}};
  pawl_rows rows;
  pawl_id last;
  int64_t count = 0;
  pawl_code rc = PAWL_OK;
  int more = 1, has_last;

  TRY(read_filters(e, query, &f, err));
  has_last = f.has_before;
  if (has_last) last = f.before;
  pawl_buf_addc(out, '[');
  while (more && count < f.limit) {
    TRY(send_list(e, &f, has_last ? &last : NULL, &rows, err));
    more = rows.nrows >= f.limit;
    if (rows.nrows) TRY(add_page(e, &f, &rows, &count, &last, out, err));
    has_last = 1;
  }
  pawl_buf_addc(out, ']');
  TRY(pawl_buf_check(out, err));
out:
  pawl_buf_deinit(&f.workflow);
  pawl_buf_deinit(&f.tenant);
  pawl_buf_deinit(&f.correlation);
  pawl_buf_deinit(&f.business_key);
  pawl_buf_deinit(&f.key);
  return rc;
}

/* ---- history ---- */

static void add_row(const pawl_rows *r, int k, pawl_buf *out) {
#define CELL(col) pawl_rows_cell(r, k, PAWL_HISTORY_LIST_R_##col)
  pawl_object o;
  pawl_object_begin(&o, out);
  pawl_cell_int(&o, "seq", CELL(SEQ));
  pawl_cell_text(&o, "type", CELL(TYPE));
  pawl_cell_text(&o, "node", CELL(NODE));
  pawl_cell_int(&o, "token", CELL(TOKEN));
  pawl_cell_int(&o, "visit", CELL(VISIT));
  pawl_cell_int(&o, "attempt", CELL(ATTEMPT));
  pawl_cell_text(&o, "transition", CELL(TRANSITION));
  pawl_cell_text(&o, "path", CELL(PATH));
  pawl_cell_json(&o, "output", CELL(OUTPUT));
  pawl_cell_json(&o, "changes", CELL(CHANGES));
  pawl_cell_json(&o, "error", CELL(ERROR));
  pawl_cell_text(&o, "text", CELL(TEXT));
  pawl_cell_text(&o, "caller", CELL(CALLER));
  pawl_cell_id(&o, "executor", CELL(EXECUTOR));
  pawl_cell_time(&o, "started", CELL(STARTED_AT));
  pawl_cell_time(&o, "completed", CELL(COMPLETED_AT));
  pawl_cell_time(&o, "due", CELL(DUE_AT));
  pawl_cell_json(&o, "previous", CELL(PREVIOUS));
  pawl_object_end(&o);
#undef CELL
}

pawl_code pawl_engine_history(pawl_engine *e, const pawl_id *id, pawl_buf *out,
                              pawl_error *err) {
  int shard = pawl_id_route(id) % e->nshards;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  pawl_args_begin(&e->args, PAWL_STMT_INSTANCE_SETTLE);
  pawl_arg_int(&e->args, PAWL_INSTANCE_SETTLE_SHARD, shard);
  pawl_arg_id(&e->args, PAWL_INSTANCE_SETTLE_ID, id);
  TRY(pawl_store_send(e->store, &e->args, err));
  pawl_args_begin(&e->args, PAWL_STMT_HISTORY_LIST);
  pawl_arg_int(&e->args, PAWL_HISTORY_LIST_SHARD, shard);
  pawl_arg_id(&e->args, PAWL_HISTORY_LIST_ID, id);
  TRY(pawl_store_send(e->store, &e->args, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, 0, &rows);
  if (!rows.nrows) return pawl_not_found(id, err);
  pawl_store_rows(e->store, 1, &rows);
  pawl_buf_addc(out, '[');
  for (int k = 0; k < rows.nrows; k++) {
    if (k) pawl_buf_addc(out, ',');
    add_row(&rows, k, out);
  }
  pawl_buf_addc(out, ']');
  TRY(pawl_buf_check(out, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* ---- the outbox ---- */

typedef struct outbox_query {
  pawl_buf type, after;
  int64_t limit, before_us;
  int has_instance, has_after;
  pawl_id instance, after_instance;
  int64_t after_us, after_seq;
} outbox_query;

static const char *const outbox_names[] = {"type", "instance", "limit",
                                           "before", "after"};

/* "MICROSECONDS/INSTANCE/SEQ": a row's place in the order they are due. */
static pawl_code read_place(pawl_str value, outbox_query *q, pawl_error *err) {
  char *end = NULL, *slash;
  pawl_code rc = read_filter_text(value, "outbox", "after", &q->after, err);

  if (rc != PAWL_OK || !q->after.at) return rc;
  q->after_us = strtoll(q->after.at, &end, 10);
  q->has_after =
      end != q->after.at && *end == '/' &&
      (slash = strchr(end + 1, '/')) != NULL &&
      pawl_id_parse(end + 1, (size_t)(slash - end - 1), &q->after_instance);
  if (q->has_after) {
    const char *digits = slash + 1;
    q->after_seq = strtoll(digits, &end, 10);
    q->has_after = end != digits && !*end;
  }
  if (q->has_after) return PAWL_OK;
  pawl_fail(err, PAWL_INVALID, "outbox: `after` is not a row's place");
  pawl_error_hint(err, "give the `place` of the last row of a page");
  return PAWL_INVALID;
}

static pawl_code read_outbox(pawl_engine *e, outbox_query *q, pawl_str key,
                             pawl_str value, pawl_error *err) {
  if (pawl_json_kind_of(value) == PAWL_JSON_NULL) return PAWL_OK;
  if (pawl_str_eqz(key, "type"))
    return read_filter_text(value, "outbox", "type", &q->type, err);
  if (pawl_str_eqz(key, "instance"))
    return read_filter_id(e, value, "outbox", "instance", &q->instance,
                          &q->has_instance, err);
  if (pawl_str_eqz(key, "after")) return read_place(value, q, err);
  if (pawl_str_eqz(key, "before"))
    return pawl_json_int(value, &q->before_us) && q->before_us > 0
               ? PAWL_OK
               : pawl_fail(err, PAWL_INVALID,
                           "outbox: `before` must be microseconds "
                           "since 1970");
  if (pawl_str_eqz(key, "limit"))
    return read_limit(value, "outbox", &q->limit, err);
  return unknown_filter("outbox", key, outbox_names,
                        sizeof outbox_names / sizeof *outbox_names, err);
}

static pawl_code read_outbox_query(pawl_engine *e, pawl_str query,
                                   outbox_query *q, pawl_error *err) {
  pawl_json_kind kind;
  pawl_json_iter it = {0};
  pawl_str key, value;
  pawl_code rc = PAWL_OK;

  q->limit = 100;
  if (!query.at) return PAWL_OK;
  TRY(pawl_json_check(query, &kind, err));
  if (kind != PAWL_JSON_OBJECT)
    return pawl_fail(err, PAWL_INVALID, "outbox's query must be an object");
  while (pawl_json_each(query, &it, &key, &value))
    TRY(read_outbox(e, q, key, value, err));
out:
  return rc;
}

static pawl_code send_outbox(pawl_engine *e, const outbox_query *q,
                             pawl_rows *rows, pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_OUTBOX_LIST);
  for (int s = 0; s < e->nshards; s++)
    pawl_arg_int(a, PAWL_OUTBOX_LIST_SHARD, s);
  arg_filter(a, PAWL_OUTBOX_LIST_TYPE, &q->type);
  if (q->has_instance) pawl_arg_id(a, PAWL_OUTBOX_LIST_INSTANCE, &q->instance);
  if (q->before_us)
    pawl_arg_time(a, PAWL_OUTBOX_LIST_CREATED_BEFORE, q->before_us);
  if (q->has_after) {
    pawl_arg_time(a, PAWL_OUTBOX_LIST_AFTER_AT, q->after_us);
    pawl_arg_id(a, PAWL_OUTBOX_LIST_AFTER_INSTANCE, &q->after_instance);
    pawl_arg_int(a, PAWL_OUTBOX_LIST_AFTER_SEQ, q->after_seq);
  }
  pawl_arg_int(a, PAWL_OUTBOX_LIST_MAX, q->limit);
  return pawl_store_once(e->store, PAWL_UNIT_READ, a, rows, err);
}

static void add_emitted(const pawl_rows *r, int k, pawl_buf *out) {
#define CELL(col) pawl_rows_cell(r, k, PAWL_OUTBOX_LIST_R_##col)
  pawl_object o;
  pawl_id instance;
  char text[37];

  pawl_row_id(r, k, PAWL_OUTBOX_LIST_R_INSTANCE, &instance);
  pawl_id_format(&instance, text);
  pawl_object_begin(&o, out);
  pawl_cell_id(&o, "instance", CELL(INSTANCE));
  pawl_cell_int(&o, "seq", CELL(SEQ));
  pawl_cell_text(&o, "type", CELL(TYPE));
  pawl_cell_json(&o, "payload", CELL(PAYLOAD));
  pawl_cell_time(&o, "created", CELL(CREATED_AT));
  pawl_cell_int(&o, "attempts", CELL(ATTEMPTS));
  pawl_cell_time(&o, "due", CELL(NEXT_AT));
  pawl_cell_text(&o, "error", CELL(LAST_ERROR));
  pawl_member(&o, "place");
  pawl_buf_addf(out, "\"%" PRId64 "/%s/%" PRId64 "\"", CELL(NEXT_AT)->i, text,
                CELL(SEQ)->i);
  pawl_object_end(&o);
#undef CELL
}

static int due_first(const void *a, const void *b) {
  const pawl_cell *const *x = a, *const *y = b;
  const pawl_cell *due_x = *x + PAWL_OUTBOX_LIST_R_NEXT_AT,
                  *due_y = *y + PAWL_OUTBOX_LIST_R_NEXT_AT;
  const pawl_cell *seq_x = *x + PAWL_OUTBOX_LIST_R_SEQ,
                  *seq_y = *y + PAWL_OUTBOX_LIST_R_SEQ;
  int order;

  if (due_x->i != due_y->i) return due_x->i < due_y->i ? -1 : 1;
  order = memcmp((*x)[PAWL_OUTBOX_LIST_R_INSTANCE].s.at,
                 (*y)[PAWL_OUTBOX_LIST_R_INSTANCE].s.at, 16);
  if (order) return order;
  return (seq_x->i > seq_y->i) - (seq_x->i < seq_y->i);
}

/* Each shard gave its first rows: the first of all of them. */
static pawl_code add_outbox(pawl_engine *e, const pawl_rows *r, int64_t limit,
                            pawl_buf *out, pawl_error *err) {
  size_t size = sizeof(pawl_cell *) * (size_t)r->nrows;
  const pawl_cell **rows;
  int take = r->nrows < limit ? r->nrows : (int)limit;

  pawl_buf_addc(out, '[');
  if (r->nrows) {
    rows = pawl_realloc(&e->alloc, NULL, 0, size);
    if (!rows) return pawl_fail(err, PAWL_NOMEM, "out of memory");
    for (int k = 0; k < r->nrows; k++) rows[k] = pawl_rows_cell(r, k, 0);
    qsort(rows, (size_t)r->nrows, sizeof *rows, due_first);
    for (int k = 0; k < take; k++) {
      if (k) pawl_buf_addc(out, ',');
      add_emitted(r, (int)((rows[k] - r->cells) / r->ncols), out);
    }
    pawl_release(&e->alloc, rows, size);
  }
  pawl_buf_addc(out, ']');
  return pawl_buf_check(out, err);
}

pawl_code pawl_engine_outbox(pawl_engine *e, pawl_str query, pawl_buf *out,
                             pawl_error *err) {
  outbox_query q = {.type = {.alloc = &e->alloc},
                    .after = {.alloc = &e->alloc}};
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  TRY(read_outbox_query(e, query, &q, err));
  TRY(send_outbox(e, &q, &rows, err));
  TRY(add_outbox(e, &rows, q.limit, out, err));
out:
  pawl_buf_deinit(&q.type);
  pawl_buf_deinit(&q.after);
  return rc;
}
