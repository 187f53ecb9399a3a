/* Whole workflows: suspended and resumed, active or not, listed. */
#include <inttypes.h>

#include "../../value/json.h"
#include "../common/answer.h"
#include "../engine.h"
#include "act.h"

#define BATCH 100

typedef struct request {
  pawl_buf kind, code, by, reason;
  int is_prefix, shift;
  int64_t version;
} request;

/* ---- reading ---- */

static pawl_code read_text(pawl_str value, const char *name, pawl_buf *out,
                           pawl_error *err) {
  if (pawl_json_kind_of(value) != PAWL_JSON_STRING || value.len < 3)
    return pawl_fail(err, PAWL_INVALID, "`%s` must be a text", name);
  pawl_json_unquote(value, out);
  if (out->len && memchr(out->at, 0, out->len))
    return pawl_fail(err, PAWL_INVALID, "`%s` must not have a zero byte",
                     name);
  return pawl_buf_check(out, err);
}

static pawl_code read_code(request *r, pawl_str value, int is_prefix,
                           pawl_error *err) {
  if (r->code.len)
    return pawl_fail(err, PAWL_INVALID,
                     "`workflow` and `prefix` exclude each other");
  r->is_prefix = is_prefix;
  return read_text(value, is_prefix ? "prefix" : "workflow", &r->code, err);
}

static pawl_code read_member(request *r, pawl_str key, pawl_str value,
                             pawl_error *err) {
  pawl_json_kind kind = pawl_json_kind_of(value);

  if (kind == PAWL_JSON_NULL) return PAWL_OK;
  if (pawl_str_eqz(key, "kind"))
    return read_text(value, "kind", &r->kind, err);
  if (pawl_str_eqz(key, "workflow")) return read_code(r, value, 0, err);
  if (pawl_str_eqz(key, "prefix")) return read_code(r, value, 1, err);
  if (pawl_str_eqz(key, "by"))
    return value.len == 2 ? PAWL_OK : read_text(value, "by", &r->by, err);
  if (pawl_str_eqz(key, "reason"))
    return value.len == 2 ? PAWL_OK
                          : read_text(value, "reason", &r->reason, err);
  if (pawl_str_eqz(key, "shift")) {
    r->shift = kind == PAWL_JSON_TRUE;
    if (kind == PAWL_JSON_TRUE || kind == PAWL_JSON_FALSE) return PAWL_OK;
    return pawl_fail(err, PAWL_INVALID, "`shift` must be true or false");
  }
  if (pawl_str_eqz(key, "version")) {
    if (pawl_json_int(value, &r->version) && r->version > 0 &&
        r->version <= INT32_MAX)
      return PAWL_OK;
    return pawl_fail(err, PAWL_INVALID,
                     "`version` must be an integer above 0");
  }
  return pawl_fail(err, PAWL_INVALID, "a workflow's change has no `%.*s`",
                   (int)(key.len < 60 ? key.len : 60), key.at);
}

static pawl_code read_request(request *r, pawl_str text, pawl_error *err) {
  pawl_json_kind kind;
  pawl_json_iter it = {0};
  pawl_str key, value;
  pawl_code rc = PAWL_OK;

  TRY(pawl_json_check(text, &kind, err));
  if (kind != PAWL_JSON_OBJECT)
    return pawl_fail(err, PAWL_INVALID,
                     "a workflow's change is a JSON object");
  while (pawl_json_each(text, &it, &key, &value))
    TRY(read_member(r, key, value, err));
  if (!r->kind.len) return pawl_fail(err, PAWL_INVALID, "`kind` is missing");
  if (!r->code.len)
    return pawl_fail(err, PAWL_INVALID,
                     "say which `workflow`, or with what codes begin: "
                     "`prefix`");
out:
  return rc;
}

/* ---- suspending ---- */

typedef struct suspended {
  int there;
  int64_t since_us, now_us;
  pawl_buf by;
} suspended;

static pawl_code find(pawl_engine *e, const request *r, suspended *s,
                      pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(&e->args, PAWL_STMT_SUSPENSION_GET);
  pawl_arg_str(&e->args, PAWL_SUSPENSION_GET_CODE, pawl_buf_str(&r->code));
  pawl_arg_int(&e->args, PAWL_SUSPENSION_GET_IS_PREFIX, r->is_prefix);
  pawl_store_arg_now(e->store, &e->args, PAWL_SUSPENSION_GET_NOW);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  s->there = rows.nrows > 0;
  if (!s->there) return PAWL_OK;
  s->since_us = pawl_row_int(&rows, 0, PAWL_SUSPENSION_GET_R_SUSPENDED_AT);
  s->now_us = pawl_row_int(&rows, 0, PAWL_SUSPENSION_GET_R_NOW);
  pawl_buf_adds(&s->by,
                pawl_row_str(&rows, 0, PAWL_SUSPENSION_GET_R_SUSPENDED_BY));
  TRY(pawl_buf_check(&s->by, err));
out:
  return rc;
}

/* A code nobody knows is a slip, most likely; a prefix need not fit yet. */
static pawl_code check_known(pawl_engine *e, const request *r,
                             pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  if (r->is_prefix) return PAWL_OK;
  pawl_args_begin(&e->args, PAWL_STMT_WORKFLOW_LIST);
  pawl_arg_str(&e->args, PAWL_WORKFLOW_LIST_CODE, pawl_buf_str(&r->code));
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  if (rows.nrows) return PAWL_OK;
  rc =
      pawl_fail(err, PAWL_NOTFOUND, "there is no workflow \"%s\"", r->code.at);
  pawl_error_hint(err,
                  "`pawl workflows` lists them; give a prefix for codes "
                  "that nobody has loaded yet");
out:
  return rc;
}

static pawl_code answer(const request *r, const suspended *s, int64_t shifted,
                        pawl_buf *out, pawl_error *err) {
  pawl_object o;
  int resumed = pawl_str_eqz(pawl_buf_str(&r->kind), "resume");

  pawl_object_begin(&o, out);
  pawl_member_str(&o, r->is_prefix ? "prefix" : "workflow",
                  pawl_buf_str(&r->code));
  pawl_member_bool(&o, "suspended", !resumed);
  pawl_member_time(&o, "since", s->since_us);
  if (resumed) {
    pawl_member_int(&o, "suspended_us", s->now_us - s->since_us);
    pawl_member_int(&o, "shifted", shifted);
  }
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}

static pawl_code suspend(pawl_engine *e, const request *r, pawl_buf *out,
                         pawl_error *err) {
  suspended s = {.by = {.alloc = &e->alloc}};
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  TRY(check_known(e, r, err));
  pawl_args_begin(&e->args, PAWL_STMT_SUSPENSION_PUT);
  pawl_arg_str(&e->args, PAWL_SUSPENSION_PUT_CODE, pawl_buf_str(&r->code));
  pawl_arg_int(&e->args, PAWL_SUSPENSION_PUT_IS_PREFIX, r->is_prefix);
  pawl_arg_textz(&e->args, PAWL_SUSPENSION_PUT_REASON, r->reason.at);
  pawl_arg_textz(&e->args, PAWL_SUSPENSION_PUT_SUSPENDED_BY, r->by.at);
  pawl_store_arg_now(e->store, &e->args, PAWL_SUSPENSION_PUT_NOW);
  TRY(pawl_store_once(e->store, PAWL_UNIT_BATCH, &e->args, &rows, err));
  if (!rows.changed) {
    TRY(find(e, r, &s, err));
    rc = pawl_fail(err, PAWL_CONFLICT, "%s \"%s\" is suspended already%s%s",
                   r->is_prefix ? "prefix" : "workflow", r->code.at,
                   s.by.len ? ", by " : "", s.by.len ? s.by.at : "");
    goto out;
  }
  TRY(find(e, r, &s, err));
  if (out) TRY(answer(r, &s, 0, out, err));
out:
  pawl_buf_deinit(&s.by);
  return rc;
}

/* ---- resuming ---- */

static pawl_code load_batch(pawl_engine *e, const request *r, int shard,
                            const pawl_id *after, pawl_id *ids, int *n,
                            pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_OF);
  pawl_arg_int(&e->args, PAWL_AGENDA_OF_SHARD, shard);
  pawl_arg_str(&e->args, PAWL_AGENDA_OF_CODE, pawl_buf_str(&r->code));
  pawl_arg_int(&e->args, PAWL_AGENDA_OF_IS_PREFIX, r->is_prefix);
  pawl_arg_id(&e->args, PAWL_AGENDA_OF_AFTER, after);
  pawl_arg_int(&e->args, PAWL_AGENDA_OF_MAX, BATCH);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  *n = rows.nrows < BATCH ? rows.nrows : BATCH;
  for (int k = 0; k < *n; k++)
    pawl_row_id(&rows, k, PAWL_AGENDA_OF_R_INSTANCE, &ids[k]);
out:
  return rc;
}

static void write_shift(const request *r, const suspended *s, pawl_buf *data,
                        pawl_buf *once) {
  pawl_object o;
  pawl_object_begin(&o, data);
  pawl_member_str(&o, "reason",
                  r->reason.at ? pawl_buf_str(&r->reason) : pawl_strz(""));
  pawl_member_int(&o, "us", s->now_us - s->since_us);
  pawl_object_end(&o);
  pawl_buf_addf(once, "%" PRId64 ":%s", s->since_us, r->code.at);
}

/* Whatever has a time has an agenda row. The letters lie there before the
 * workflow goes on, so that no timer fires early; one that is asked for twice,
 * because this process died on the way, is put there once. */
static pawl_code shift_all(pawl_engine *e, const request *r,
                           const suspended *s, int64_t *shifted,
                           pawl_error *err) {
  pawl_buf data = {.alloc = &e->alloc}, once = {.alloc = &e->alloc};
  pawl_id ids[BATCH];
  int n;
  pawl_code rc = PAWL_OK;

  write_shift(r, s, &data, &once);
  TRY(pawl_buf_check(&data, err));
  TRY(pawl_buf_check(&once, err));
  for (int shard = 0; shard < e->nshards; shard++) {
    pawl_id after = {{0}};
    do {
      TRY(load_batch(e, r, shard, &after, ids, &n, err));
      if (!n) break;
      TRY(pawl_act_post(e, ids, n, "shift", r->by.at ? r->by.at : "",
                        pawl_buf_str(&data), pawl_buf_str(&once), err));
      after = ids[n - 1];
      *shifted += n;
    } while (n == BATCH);
  }
out:
  pawl_buf_deinit(&data);
  pawl_buf_deinit(&once);
  return rc;
}

static pawl_code resume(pawl_engine *e, const request *r, pawl_buf *out,
                        pawl_error *err) {
  suspended s = {.by = {.alloc = &e->alloc}};
  pawl_rows rows;
  int64_t shifted = 0;
  pawl_code rc = PAWL_OK;

  TRY(find(e, r, &s, err));
  if (!s.there) {
    rc = pawl_fail(err, PAWL_CONFLICT, "%s \"%s\" is not suspended",
                   r->is_prefix ? "prefix" : "workflow", r->code.at);
    pawl_error_hint(err,
                    "resume what was suspended, as it was written then: "
                    "a workflow or a prefix");
    goto out;
  }
  if (r->shift) TRY(shift_all(e, r, &s, &shifted, err));
  pawl_args_begin(&e->args, PAWL_STMT_SUSPENSION_DELETE);
  pawl_arg_str(&e->args, PAWL_SUSPENSION_DELETE_CODE, pawl_buf_str(&r->code));
  pawl_arg_int(&e->args, PAWL_SUSPENSION_DELETE_IS_PREFIX, r->is_prefix);
  TRY(pawl_store_once(e->store, PAWL_UNIT_BATCH, &e->args, &rows, err));
  pawl_start_wake(e);
  if (out) TRY(answer(r, &s, shifted, out, err));
out:
  pawl_buf_deinit(&s.by);
  return rc;
}

/* ---- active or not ---- */

static pawl_code activate(pawl_engine *e, const request *r, int active,
                          pawl_buf *out, pawl_error *err) {
  pawl_rows rows;
  pawl_object o;
  pawl_code rc = PAWL_OK;

  if (r->is_prefix || !r->version)
    return pawl_fail(err, PAWL_INVALID,
                     "\"%s\" needs `workflow` and `version`", r->kind.at);
  pawl_args_begin(&e->args, PAWL_STMT_WORKFLOW_ACTIVATE);
  pawl_arg_str(&e->args, PAWL_WORKFLOW_ACTIVATE_CODE, pawl_buf_str(&r->code));
  pawl_arg_int(&e->args, PAWL_WORKFLOW_ACTIVATE_VERSION, r->version);
  pawl_arg_int(&e->args, PAWL_WORKFLOW_ACTIVATE_ACTIVE, active);
  pawl_arg_textz(&e->args, PAWL_WORKFLOW_ACTIVATE_MODIFIED_BY, r->by.at);
  pawl_arg_textz(&e->args, PAWL_WORKFLOW_ACTIVATE_REASON, r->reason.at);
  pawl_store_arg_now(e->store, &e->args, PAWL_WORKFLOW_ACTIVATE_NOW);
  TRY(pawl_store_once(e->store, PAWL_UNIT_BATCH, &e->args, &rows, err));
  if (!rows.changed) {
    rc = pawl_fail(err, PAWL_NOTFOUND,
                   "there is no workflow \"%s\" version %" PRId64, r->code.at,
                   r->version);
    pawl_error_hint(err, "`pawl workflows` lists them");
    goto out;
  }
  if (!out) goto out;
  pawl_object_begin(&o, out);
  pawl_member_str(&o, "workflow", pawl_buf_str(&r->code));
  pawl_member_int(&o, "version", r->version);
  pawl_member_bool(&o, "active", active);
  pawl_object_end(&o);
  TRY(pawl_buf_check(out, err));
out:
  return rc;
}

pawl_code pawl_engine_workflow_change(pawl_engine *e, pawl_str text,
                                      pawl_buf *out, pawl_error *err) {
  request r = {.kind = {.alloc = &e->alloc},
               .code = {.alloc = &e->alloc},
               .by = {.alloc = &e->alloc},
               .reason = {.alloc = &e->alloc}};
  pawl_code rc = PAWL_OK;
  pawl_str kind;

  TRY(read_request(&r, text, err));
  kind = pawl_buf_str(&r.kind);
  if (pawl_str_eqz(kind, "suspend"))
    rc = suspend(e, &r, out, err);
  else if (pawl_str_eqz(kind, "resume"))
    rc = resume(e, &r, out, err);
  else if (pawl_str_eqz(kind, "activate"))
    rc = activate(e, &r, 1, out, err);
  else if (pawl_str_eqz(kind, "deactivate"))
    rc = activate(e, &r, 0, out, err);
  else
    rc = pawl_fail(err, PAWL_INVALID,
                   "`kind` is \"suspend\", \"resume\", \"activate\" or "
                   "\"deactivate\"");
out:
  pawl_buf_deinit(&r.kind);
  pawl_buf_deinit(&r.code);
  pawl_buf_deinit(&r.by);
  pawl_buf_deinit(&r.reason);
  return rc;
}

/* ---- listing ---- */

typedef struct query {
  pawl_buf code;
  int has_code, live;
} query;

static pawl_code read_query(query *q, pawl_str text, pawl_error *err) {
  pawl_json_kind kind;
  pawl_json_iter it = {0};
  pawl_str key, value;
  pawl_code rc = PAWL_OK;

  if (!text.at) return PAWL_OK;
  TRY(pawl_json_check(text, &kind, err));
  if (kind != PAWL_JSON_OBJECT)
    return pawl_fail(err, PAWL_INVALID, "a query is a JSON object");
  while (pawl_json_each(text, &it, &key, &value)) {
    if (pawl_str_eqz(key, "workflow")) {
      TRY(read_text(value, "workflow", &q->code, err));
      q->has_code = 1;
    } else if (pawl_str_eqz(key, "live")) {
      q->live = pawl_json_kind_of(value) == PAWL_JSON_TRUE;
    } else {
      return pawl_fail(err, PAWL_INVALID,
                       "workflows cannot be asked by `%.*s`",
                       (int)(key.len < 60 ? key.len : 60), key.at);
    }
  }
out:
  return rc;
}

static void add_row(const pawl_rows *r, int k, pawl_buf *out) {
  pawl_object o;
#define CELL(col) pawl_rows_cell(r, k, PAWL_WORKFLOW_LIST_R_##col)
  pawl_object_begin(&o, out);
  pawl_cell_text(&o, "workflow", CELL(CODE));
  pawl_cell_int(&o, "version", CELL(VERSION));
  pawl_cell_int(&o, "revision", CELL(REVISION));
  pawl_cell_text(&o, "name", CELL(NAME));
  pawl_cell_bool(&o, "active", CELL(ACTIVE));
  pawl_cell_bool(&o, "suspended", CELL(SUSPENDED));
  pawl_cell_bool(&o, "inline", CELL(INLINE));
  pawl_cell_int(&o, "nodes", CELL(NODES));
  pawl_cell_text(&o, "sha256", CELL(SHA256));
  pawl_cell_time(&o, "created", CELL(CREATED_AT));
  pawl_cell_time(&o, "modified", CELL(MODIFIED_AT));
  pawl_cell_text(&o, "by", CELL(MODIFIED_BY));
  pawl_cell_text(&o, "reason", CELL(REASON));
  pawl_object_end(&o);
#undef CELL
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
  pawl_args_begin(&e->args, PAWL_STMT_WORKFLOW_COUNT);
  pawl_arg_str(&e->args, PAWL_WORKFLOW_COUNT_CODE, pawl_buf_str(&code));
  pawl_arg_int(&e->args, PAWL_WORKFLOW_COUNT_VERSION, version);
  for (int s = 0; s < e->nshards; s++)
    pawl_arg_int(&e->args, PAWL_WORKFLOW_COUNT_SHARD, s);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  for (int k = 0; k < rows.nrows; k++)
    live += pawl_row_int(&rows, k, PAWL_WORKFLOW_COUNT_R_LIVE);
  row->len--; /* the brace */
  pawl_buf_addf(row, ",\"live\":%" PRId64 "}", live);
out:
  pawl_buf_deinit(&code);
  return rc;
}

static pawl_code add_lives(pawl_engine *e, const pawl_buf *list, pawl_buf *out,
                           pawl_error *err) {
  pawl_buf row = {.alloc = &e->alloc};
  pawl_json_iter it = {0};
  pawl_str key, one;
  int n = 0;
  pawl_code rc = PAWL_OK;

  pawl_buf_addc(out, '[');
  while (pawl_json_each(pawl_buf_str(list), &it, &key, &one)) {
    pawl_buf_clear(&row);
    pawl_buf_adds(&row, one);
    TRY(pawl_buf_check(&row, err));
    TRY(add_live(e, &row, err));
    if (n++) pawl_buf_addc(out, ',');
    pawl_buf_adds(out, pawl_buf_str(&row));
  }
  pawl_buf_addc(out, ']');
out:
  pawl_buf_deinit(&row);
  return rc;
}

pawl_code pawl_engine_workflows(pawl_engine *e, pawl_str text, pawl_buf *out,
                                pawl_error *err) {
  query q = {.code = {.alloc = &e->alloc}};
  pawl_buf list = {.alloc = &e->alloc};
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  TRY(read_query(&q, text, err));
  pawl_args_begin(&e->args, PAWL_STMT_WORKFLOW_LIST);
  if (q.has_code)
    pawl_arg_str(&e->args, PAWL_WORKFLOW_LIST_CODE, pawl_buf_str(&q.code));
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  pawl_buf_addc(&list, '[');
  for (int k = 0; k < rows.nrows; k++) {
    if (k) pawl_buf_addc(&list, ',');
    add_row(&rows, k, &list);
  }
  pawl_buf_addc(&list, ']');
  TRY(pawl_buf_check(&list, err));
  if (q.live)
    TRY(add_lives(e, &list, out, err));
  else
    pawl_buf_adds(out, pawl_buf_str(&list));
  TRY(pawl_buf_check(out, err));
out:
  pawl_buf_deinit(&q.code);
  pawl_buf_deinit(&list);
  return rc;
}
