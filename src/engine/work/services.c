/* What a running handler may ask of the engine, behind host.h's callbacks.
 *
 * Each acts for the slot whose call it is given: another's handler may run
 * meanwhile, as one that waits may have lent its ctx. Those that use the store
 * are called while a handler runs, so e->args is free, and one at a time. */
#include <assert.h>

#include "../../base/base64.h"
#include "../../value/json.h"
#include "../internal.h"

/* Whose call it is. */
static pawl_held *slot_of(const pawl_call *call) {
  pawl_held *h = call->owner;
  assert(h->state != PAWL_SLOT_FREE); /* N5 */
  return h;
}

static int64_t service_now(const pawl_call *call) {
  return pawl_engine_now(call->services_ud);
}

static void service_log(const pawl_call *call, int level, const char *message,
                        const char *fields) {
  pawl_engine *e = call->services_ud;
  pawl_buf b = {.alloc = &e->alloc};

  pawl_buf_addz(&b, "{\"instance\":\"");
  pawl_buf_addz(&b, call->id);
  pawl_buf_addz(&b, "\",\"node\":");
  pawl_json_add_string(&b, pawl_strz(call->node));
  pawl_buf_addz(&b, ",\"fields\":");
  pawl_buf_addz(&b, fields && fields[0] ? fields : "{}");
  pawl_buf_addc(&b, '}');
  pawl_log_write(&e->log, level, message, b.failed ? NULL : b.at);
  pawl_buf_deinit(&b);
}

/* One statement, in the transactional step's open unit if there is one. That
 * is closed to everybody else. `h` NULL: no handler's. */
pawl_code pawl_service_ask(pawl_engine *e, const pawl_held *h, int unit,
                           pawl_rows *rows, pawl_error *err) {
  if (e->open_unit && h && e->unit_owner != h)
    return pawl_fail(err, PAWL_MISUSE,
                     "instance %s cannot ask the store now: a transactional "
                     "step of another one runs",
                     h->id_text);
  if (!e->open_unit)
    return pawl_store_once(e->store, unit, &e->args, rows, err);
  pawl_code rc = pawl_store_send(e->store, &e->args, err);
  if (rc == PAWL_OK) pawl_store_rows(e->store, e->open_unit++, rows);
  return rc;
}

static pawl_code lease_lost(const pawl_held *h, pawl_error *err) {
  pawl_fail(err, PAWL_LEASE_LOST,
            "instance %s: its lease was taken back, by `kill` or by another "
            "executor",
            h->id_text);
  pawl_error_hint(err, "stop: nothing this handler does will be recorded");
  return PAWL_LEASE_LOST;
}

/* JSON text; a reader finds it in the instance while the step runs. */
static pawl_code store_progress(pawl_engine *e, const pawl_held *h,
                                pawl_str progress, pawl_error *err) {
  pawl_rows rows;
  pawl_args_begin(&e->args, PAWL_STMT_INSTANCE_PROGRESS);
  pawl_arg_int(&e->args, PAWL_INSTANCE_PROGRESS_SHARD, h->shard);
  pawl_arg_id(&e->args, PAWL_INSTANCE_PROGRESS_ID, &h->id);
  pawl_arg_id(&e->args, PAWL_INSTANCE_PROGRESS_LEASE, &h->lease);
  pawl_arg_str(&e->args, PAWL_INSTANCE_PROGRESS_STATE_TEXT, progress);
  return pawl_service_ask(e, h, PAWL_UNIT_BATCH, &rows, err);
}

/* The latch of its row, if that is still ours. */
static pawl_code read_latch(pawl_engine *e, const pawl_held *h, int *latch,
                            pawl_error *err) {
  pawl_rows rows;
  pawl_id lease;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_GET);
  pawl_arg_int(&e->args, PAWL_AGENDA_GET_SHARD, h->shard);
  pawl_arg_id(&e->args, PAWL_AGENDA_GET_ID, &h->id);
  pawl_store_arg_now(e->store, &e->args, PAWL_AGENDA_GET_NOW);
  TRY(pawl_service_ask(e, h, PAWL_UNIT_READ, &rows, err));
  if (rows.nrows == 0 || pawl_row_null(&rows, 0, PAWL_AGENDA_GET_R_LEASE))
    return lease_lost(h, err);
  pawl_row_id(&rows, 0, PAWL_AGENDA_GET_R_LEASE, &lease);
  if (!pawl_id_eq(&lease, &h->lease)) return lease_lost(h, err);
  *latch = (int)pawl_row_int(&rows, 0, PAWL_AGENDA_GET_R_LATCH);
out:
  return rc;
}

/* Something has come in when the latch is another one. Is it to end? */
static pawl_code look_for_cancel(pawl_engine *e, const pawl_held *h, int latch,
                                 int *out, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  *out = 0;
  if (latch == h->latch) return PAWL_OK;
  pawl_args_begin(&e->args, PAWL_STMT_INBOX_CANCEL);
  pawl_arg_int(&e->args, PAWL_INBOX_CANCEL_SHARD, h->shard);
  pawl_arg_id(&e->args, PAWL_INBOX_CANCEL_ID, &h->id);
  TRY(pawl_service_ask(e, h, PAWL_UNIT_READ, &rows, err));
  *out = rows.nrows > 0;
out:
  return rc;
}

static pawl_code service_heartbeat(const pawl_call *call, pawl_str progress,
                                   int *cancelled, pawl_error *err) {
  pawl_engine *e = call->services_ud;
  pawl_held *h = slot_of(call);
  pawl_rows rows;
  int latch;
  pawl_code rc = PAWL_OK;

  /* its own row is locked: nobody can claim it, nor ask it to end */
  if (e->open_unit && e->unit_owner == h) return PAWL_OK;
  if (progress.at) TRY(store_progress(e, h, progress, err));
  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_RENEW);
  pawl_arg_int(&e->args, PAWL_AGENDA_RENEW_SHARD, h->shard);
  pawl_arg_id(&e->args, PAWL_AGENDA_RENEW_ID, &h->id);
  pawl_arg_id(&e->args, PAWL_AGENDA_RENEW_LEASE, &h->lease);
  pawl_arg_int(&e->args, PAWL_AGENDA_RENEW_LEASE_US, e->config.lease_us);
  pawl_store_arg_now(e->store, &e->args, PAWL_AGENDA_RENEW_NOW);
  TRY(pawl_service_ask(e, h, PAWL_UNIT_BATCH, &rows, err));
  if (rows.nrows) {
    h->lease_until_us = pawl_row_int(&rows, 0, PAWL_AGENDA_RENEW_R_DUE_AT);
    latch = (int)pawl_row_int(&rows, 0, PAWL_AGENDA_RENEW_R_LATCH);
  } else { /* another's, or somebody writes to its inbox at this moment */
    TRY(read_latch(e, h, &latch, err));
  }
  TRY(look_for_cancel(e, h, latch, cancelled, err));
out:
  return rc;
}

static pawl_code service_cancelled(const pawl_call *call, int *out,
                                   pawl_error *err) {
  pawl_engine *e = call->services_ud;
  const pawl_held *h = slot_of(call);
  int latch;
  pawl_code rc = PAWL_OK;

  TRY(read_latch(e, h, &latch, err));
  TRY(look_for_cancel(e, h, latch, out, err));
out:
  return rc;
}

static pawl_code service_new_id(const pawl_call *call, char id[37],
                                pawl_error *err) {
  pawl_engine *e = call->services_ud;
  pawl_id made;
  pawl_code rc = pawl_id_make(&e->ids, pawl_engine_now(e), &made, err);
  if (rc == PAWL_OK) pawl_id_format(&made, id);
  return rc;
}

static pawl_code service_visits(const pawl_call *call, int64_t *out,
                                pawl_error *err) {
  return pawl_count_visits(call->services_ud, slot_of(call), call, out, err);
}

/* ---- attributes ---- */

static void add_attribute(const pawl_rows *r, int k, pawl_buf *out) {
  char time[28];
  pawl_str type = pawl_row_str(r, k, PAWL_ATTRIBUTE_LIST_R_TYPE);

  pawl_json_add_string(out, pawl_row_str(r, k, PAWL_ATTRIBUTE_LIST_R_NAME));
  pawl_buf_addz(out, ":{\"type\":");
  pawl_json_add_string(out, type);
  pawl_buf_addz(out, ",\"value\":");
  if (!pawl_row_null(r, k, PAWL_ATTRIBUTE_LIST_R_BOOLEAN_VALUE)) {
    pawl_buf_addz(out, pawl_row_int(r, k, PAWL_ATTRIBUTE_LIST_R_BOOLEAN_VALUE)
                           ? "true"
                           : "false");
  } else if (!pawl_row_null(r, k, PAWL_ATTRIBUTE_LIST_R_FLOAT_VALUE)) {
    pawl_json_add_float(
        out, pawl_rows_cell(r, k, PAWL_ATTRIBUTE_LIST_R_FLOAT_VALUE)->d);
  } else if (!pawl_row_null(r, k, PAWL_ATTRIBUTE_LIST_R_NUMBER_VALUE)) {
    pawl_str n = pawl_row_str(r, k, PAWL_ATTRIBUTE_LIST_R_NUMBER_VALUE);
    if (pawl_str_eqz(type, "integer"))
      pawl_buf_adds(out, n);
    else
      pawl_json_add_string(out, n);
  } else if (!pawl_row_null(r, k, PAWL_ATTRIBUTE_LIST_R_DATE_VALUE)) {
    pawl_time_format(pawl_row_int(r, k, PAWL_ATTRIBUTE_LIST_R_DATE_VALUE),
                     time);
    pawl_json_add_string(out, pawl_strz(time));
  } else if (!pawl_row_null(r, k, PAWL_ATTRIBUTE_LIST_R_BYTES_VALUE)) {
    pawl_buf_addc(out, '"');
    pawl_base64_encode(pawl_row_str(r, k, PAWL_ATTRIBUTE_LIST_R_BYTES_VALUE),
                       out);
    pawl_buf_addc(out, '"');
  } else {
    pawl_json_add_string(out,
                         pawl_row_str(r, k, PAWL_ATTRIBUTE_LIST_R_TEXT_VALUE));
  }
  pawl_buf_addc(out, '}');
}

static pawl_code attributes(pawl_engine *e, const pawl_held *h, int shard,
                            const pawl_id *id, pawl_buf *out,
                            pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(&e->args, PAWL_STMT_ATTRIBUTE_LIST);
  pawl_arg_int(&e->args, PAWL_ATTRIBUTE_LIST_SHARD, shard);
  pawl_arg_id(&e->args, PAWL_ATTRIBUTE_LIST_ID, id);
  TRY(pawl_service_ask(e, h, PAWL_UNIT_READ, &rows, err));
  pawl_buf_addc(out, '{');
  for (int k = 0; k < rows.nrows; k++) {
    if (k) pawl_buf_addc(out, ',');
    add_attribute(&rows, k, out);
  }
  pawl_buf_addc(out, '}');
  TRY(pawl_buf_check(out, err));
out:
  return rc;
}

pawl_code pawl_attributes_json(pawl_engine *e, int shard, const pawl_id *id,
                               pawl_buf *out, pawl_error *err) {
  return attributes(e, NULL, shard, id, out, err);
}

static pawl_code service_attrs(const pawl_call *call, pawl_buf *out,
                               pawl_error *err) {
  const pawl_held *h = slot_of(call);
  return attributes(call->services_ud, h, h->shard, &h->id, out, err);
}

#define MAX_ATTRIBUTE 2000 /* bytes of text: it is indexed */

enum { A_NAME, A_TYPE, A_TEXT, A_DATE, A_BYTES, A_FLOAT, A_NUMBER, A_BOOL };

static pawl_code bad_attribute(pawl_str name, const char *why,
                               pawl_error *err) {
  pawl_fail(err, PAWL_VALUE, "attribute \"%.*s\" %s", (int)name.len, name.at,
            why);
  pawl_error_hint(err,
                  "an attribute is a string, integer, float, boolean, "
                  "pawl.decimal, pawl.date or pawl.binary");
  return PAWL_VALUE;
}

pawl_code pawl_attribute_args(pawl_args *a, int first, pawl_str name,
                              pawl_str typed, pawl_buf *scratch,
                              pawl_error *err) {
  pawl_str type = {0}, value = {0}, text;
  double d = 0;
  int64_t us = 0;
  size_t at = scratch->len;
  int filled;

  if (!name.len || name.len > 255 || memchr(name.at, '\\', name.len))
    return bad_attribute(name,
                         "has a name that is empty, longer than 255 "
                         "bytes, or needs escaping",
                         err);
  if (pawl_json_kind_of(typed) != PAWL_JSON_OBJECT ||
      !pawl_json_get(typed, "type", &type) ||
      !pawl_json_get(typed, "value", &value) || type.len < 2)
    return bad_attribute(name, "has no type and value", err);
  type.at++, type.len -= 2; /* plain words: nothing is escaped */
  if (pawl_json_kind_of(value) == PAWL_JSON_STRING)
    pawl_json_unquote(value, scratch);
  if (pawl_json_kind_of(value) == PAWL_JSON_STRING && value.len > 2)
    (void)pawl_buf_room(scratch,
                        value.len); /* so that decoding moves nothing */
  text.at = scratch->at ? scratch->at + at : "";
  text.len = scratch->len - at;
  if (pawl_str_eqz(type, "string")) {
    if (text.len > MAX_ATTRIBUTE)
      return bad_attribute(name, "is longer than 2000 bytes", err);
    pawl_arg_str(a, first + (filled = A_TEXT), text);
  } else if (pawl_str_eqz(type, "integer") &&
             pawl_json_kind_of(value) == PAWL_JSON_INT) {
    pawl_arg_str(a, first + (filled = A_NUMBER), value);
  } else if (pawl_str_eqz(type, "decimal") && pawl_json_is_decimal(text)) {
    pawl_arg_str(a, first + (filled = A_NUMBER), text);
  } else if (pawl_str_eqz(type, "float") && pawl_json_number(value, &d)) {
    pawl_arg_float(a, first + (filled = A_FLOAT), d);
  } else if (pawl_str_eqz(type, "boolean")) {
    pawl_arg_int(a, first + (filled = A_BOOL),
                 pawl_json_kind_of(value) == PAWL_JSON_TRUE);
  } else if (pawl_str_eqz(type, "date") &&
             (pawl_json_int(value, &us) ||
              pawl_time_parse(text.at, text.len, &us)) &&
             pawl_date_is_valid(us)) {
    pawl_arg_time(a, first + (filled = A_DATE), us);
  } else if (pawl_str_eqz(type, "binary") &&
             pawl_base64_decode(text, scratch)) {
    text.at = scratch->at + at + text.len;
    text.len = scratch->len - at - text.len;
    pawl_arg_str(a, first + (filled = A_BYTES), text);
  } else {
    return bad_attribute(name, "has an impossible value for its type", err);
  }
  pawl_arg_str(a, first + A_NAME, name);
  pawl_arg_str(a, first + A_TYPE, type);
  for (int k = A_TEXT; k <= A_BOOL; k++)
    if (k != filled) pawl_arg_null(a, first + k);
  return PAWL_OK;
}

/* ---- ctx.db ---- */

static void add_cell(pawl_buf *out, const pawl_cell *c, pawl_type type) {
  if (c->is_null)
    pawl_buf_addz(out, "null");
  else if (type == PAWL_T_BOOL)
    pawl_buf_addz(out, c->i ? "true" : "false");
  else if (type == PAWL_T_INT)
    pawl_buf_addi(out, c->i);
  else if (type == PAWL_T_FLOAT && c->d - c->d == 0)
    pawl_json_add_float(out, c->d);
  else if (type == PAWL_T_FLOAT)
    pawl_buf_addz(out, c->d != c->d ? "\"NaN\""
                       : c->d > 0   ? "\"Infinity\""
                                    : "\"-Infinity\"");
  else
    pawl_json_add_string(out, c->s);
}

static pawl_code rows_json(const pawl_rows *rows, const char *const *names,
                           const pawl_type *types, pawl_buf *out,
                           pawl_error *err) {
  size_t bad;
  pawl_buf_addc(out, '[');
  for (int r = 0; r < rows->nrows; r++) {
    pawl_buf_addz(out, r ? ",{" : "{");
    for (int c = 0; c < rows->ncols; c++) {
      const pawl_cell *cell = pawl_rows_cell(rows, r, c);
      if (!cell->is_null && types[c] != PAWL_T_INT &&
          types[c] != PAWL_T_FLOAT && types[c] != PAWL_T_BOOL &&
          !pawl_utf8_check(cell->s, &bad))
        return pawl_fail(err, PAWL_VALUE,
                         "column \"%s\" holds bytes that are "
                         "not UTF-8 text",
                         names[c]);
      if (c) pawl_buf_addc(out, ',');
      pawl_json_add_string(out, pawl_strz(names[c]));
      pawl_buf_addc(out, ':');
      add_cell(out, cell, types[c]);
    }
    pawl_buf_addc(out, '}');
  }
  pawl_buf_addc(out, ']');
  return pawl_buf_check(out, err);
}

#define MAX_PARAMS 100

/* JSON values as parameters; strings are unescaped into `scratch`. */
static pawl_code sql_params(pawl_str params, pawl_cell *cells,
                            pawl_type *types, int *n, pawl_buf *scratch,
                            pawl_error *err) {
  pawl_json_iter it = {0};
  pawl_str key, value;
  size_t ends[MAX_PARAMS] = {0};

  *n = 0;
  while (pawl_json_each(params, &it, &key, &value)) {
    if (*n == MAX_PARAMS)
      return pawl_fail(err, PAWL_LIMIT,
                       "ctx.db:query takes at most %d "
                       "parameters",
                       MAX_PARAMS);
    pawl_cell *c = &cells[*n];
    memset(c, 0, sizeof *c);
    types[*n] = PAWL_T_TEXT;
    switch (pawl_json_kind_of(value)) {
      case PAWL_JSON_NULL:
        c->is_null = 1;
        break;
      case PAWL_JSON_TRUE:
        c->i = 1; /* fall through */
      case PAWL_JSON_FALSE:
        types[*n] = PAWL_T_BOOL;
        break;
      case PAWL_JSON_INT:
        types[*n] = PAWL_T_INT;
        (void)pawl_json_int(value, &c->i);
        break;
      case PAWL_JSON_FLOAT:
        types[*n] = PAWL_T_FLOAT;
        (void)pawl_json_number(value, &c->d);
        break;
      case PAWL_JSON_STRING:
        c->s.len = scratch->len; /* the offset, until it stops moving */
        pawl_json_unquote(value, scratch);
        break;
      case PAWL_JSON_ARRAY:
      case PAWL_JSON_OBJECT:
        c->s = value;
        break; /* as JSON text */
    }
    ends[(*n)++] = scratch->len;
  }
  for (int i = 0; i < *n; i++) {
    if (types[i] != PAWL_T_TEXT || cells[i].is_null || cells[i].s.at) continue;
    size_t from = cells[i].s.len;
    cells[i].s.at = scratch->at ? scratch->at + from : "";
    cells[i].s.len = ends[i] - from;
  }
  return pawl_buf_check(scratch, err);
}

static pawl_code service_query(const pawl_call *call, pawl_str sql,
                               pawl_str params, pawl_buf *out,
                               int64_t *changed, pawl_error *err) {
  pawl_engine *e = call->services_ud;
  pawl_cell cells[MAX_PARAMS];
  pawl_type types[MAX_PARAMS];
  const char *const *names;
  const pawl_type *col_types;
  pawl_buf scratch = {.alloc = &e->alloc};
  pawl_rows rows;
  int n = 0;
  pawl_code rc = PAWL_OK;

  assert(e->open_unit && e->unit_owner == slot_of(call));
  TRY(sql_params(params, cells, types, &n, &scratch, err));
  rc = e->query_failed
           ? pawl_fail(err, PAWL_MISUSE,
                       "an earlier query of this step has "
                       "failed: it cannot go on")
           : pawl_store_query(e->store, sql.at, sql.len, cells, types, n,
                              e->sql_limit_us, &rows, &names, &col_types, err);
  if (rc != PAWL_OK && !e->query_failed) {
    e->query_failed = 1;
    e->query_error = *err;
  }
  if (rc != PAWL_OK) goto out;
  TRY(rows_json(&rows, names, col_types, out, err));
  *changed = rows.changed;
out:
  pawl_buf_deinit(&scratch);
  return rc;
}

const pawl_services pawl_engine_services = {
    .now = service_now,
    .log = service_log,
    .heartbeat = service_heartbeat,
    .cancelled = service_cancelled,
    .attrs = service_attrs,
    .new_id = service_new_id,
    .visits = service_visits,
    .query = service_query,
};
