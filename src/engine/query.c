/* Asking: instances and their history as JSON text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../value/json.h"
#include "internal.h"

/* ---- writing members ---- */

typedef struct object {
  pawl_buf *out;
  int n;
} object;

static void begin(object *o, pawl_buf *out) {
  o->out = out;
  o->n = 0;
  pawl_buf_addc(out, '{');
}
static void end(object *o) {
  pawl_buf_addc(o->out, '}');
}

static void member(object *o, const char *name) {
  if (o->n++) pawl_buf_addc(o->out, ',');
  pawl_buf_addf(o->out, "\"%s\":", name);
}

static void add_null(object *o, const char *name) {
  member(o, name);
  pawl_buf_addz(o->out, "null");
}

static void add_text(object *o, const char *name, const pawl_cell *c) {
  if (c->is_null) {
    add_null(o, name);
    return;
  }
  member(o, name);
  pawl_json_add_string(o->out, c->s);
}

static void add_json(object *o, const char *name, const pawl_cell *c) {
  if (c->is_null) {
    add_null(o, name);
    return;
  }
  member(o, name);
  pawl_buf_adds(o->out, c->s);
}

static void add_int(object *o, const char *name, const pawl_cell *c) {
  if (c->is_null) {
    add_null(o, name);
    return;
  }
  member(o, name);
  pawl_buf_addi(o->out, c->i);
}

static void add_time(object *o, const char *name, const pawl_cell *c) {
  char text[28];
  if (c->is_null) {
    add_null(o, name);
    return;
  }
  member(o, name);
  pawl_time_format(c->i, text);
  pawl_buf_addf(o->out, "\"%s\"", text);
}

static void add_id(object *o, const char *name, const pawl_cell *c) {
  pawl_id id;
  char text[37];
  if (c->is_null || c->s.len != 16) {
    add_null(o, name);
    return;
  }
  memcpy(id.bytes, c->s.at, 16);
  pawl_id_format(&id, text);
  member(o, name);
  pawl_buf_addf(o->out, "\"%s\"", text);
}

/* ---- one instance ---- */

static void add_instance(const pawl_rows *r, object *o) {
#define CELL(col) pawl_rows_cell(r, 0, PAWL_INSTANCE_GET_R_##col)
  add_id(o, "id", CELL(ID));
  add_text(o, "workflow", CELL(WORKFLOW));
  add_int(o, "version", CELL(WORKFLOW_VERSION));
  add_text(o, "status", CELL(STATUS));
  add_text(o, "node", CELL(NODE));
  add_json(o, "input", CELL(INPUT));
  member(o, "variables");
  if (CELL(VARIABLES)->is_null)
    pawl_buf_addz(o->out, "{}");
  else
    pawl_buf_adds(o->out, CELL(VARIABLES)->s);
  add_json(o, "output", CELL(OUTPUT));
  add_json(o, "error", CELL(ERROR));
  add_json(o, "cancellation", CELL(CANCELLATION));
  add_json(o, "progress", CELL(STATE_TEXT));
  add_text(o, "tenant", CELL(TENANT));
  add_int(o, "priority", CELL(PRIORITY));
  add_text(o, "group", CELL(EXECUTOR_GROUP));
  add_text(o, "key", CELL(EXTERNAL_ID));
  add_text(o, "business_key", CELL(BUSINESS_KEY));
  add_text(o, "correlation", CELL(CORRELATION_ID));
  add_json(o, "metadata", CELL(METADATA));
  add_int(o, "commits", CELL(VERSION));
  member(o, "times");
  object times;
  begin(&times, o->out);
  add_time(&times, "created", CELL(CREATED_AT));
  add_time(&times, "started", CELL(STARTED_AT));
  add_time(&times, "updated", CELL(UPDATED_AT));
  add_time(&times, "completed", CELL(COMPLETED_AT));
  end(&times);
#undef CELL
}

static void add_tokens(const pawl_rows *r, object *o) {
#define CELL(col) pawl_rows_cell(r, k, PAWL_TOKEN_LIST_R_##col)
  member(o, "tokens");
  pawl_buf_addc(o->out, '[');
  for (int k = 0; k < r->nrows; k++) {
    object token;
    if (k) pawl_buf_addc(o->out, ',');
    begin(&token, o->out);
    add_int(&token, "no", CELL(NO));
    add_text(&token, "node", CELL(NODE));
    add_text(&token, "state", CELL(STATE));
    add_int(&token, "visit", CELL(VISIT));
    add_text(&token, "previous", CELL(PREVIOUS_NODE));
    add_int(&token, "attempt", CELL(ATTEMPT));
    add_time(&token, "due", CELL(DUE_AT));
    add_time(&token, "entered", CELL(ENTERED_AT));
    end(&token);
  }
  pawl_buf_addc(o->out, ']');
#undef CELL
}

/* Who holds it, and when it is looked at next. */
static void add_agenda(const pawl_rows *r, object *o) {
#define CELL(col) pawl_rows_cell(r, 0, PAWL_AGENDA_GET_R_##col)
  if (!r->nrows) {
    add_null(o, "due");
    add_null(o, "executor");
    return;
  }
  add_time(o, "due", CELL(DUE_AT));
  add_id(o, "executor", CELL(EXECUTOR));
#undef CELL
}

static pawl_code not_found(const pawl_id *id, pawl_error *err) {
  char text[37];
  pawl_id_format(id, text);
  pawl_fail(err, PAWL_NOTFOUND, "there is no instance %s", text);
  pawl_error_hint(err, "`pawl list` shows what there is");
  return PAWL_NOTFOUND;
}

pawl_code pawl_engine_get(pawl_engine *e, const pawl_id *id, pawl_buf *out,
                          pawl_error *err) {
  int shard = pawl_id_route(id) % e->nshards;
  pawl_rows rows;
  object o;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  pawl_args_begin(&e->args, PAWL_STMT_INSTANCE_GET);
  pawl_arg_int(&e->args, PAWL_INSTANCE_GET_SHARD, shard);
  pawl_arg_id(&e->args, PAWL_INSTANCE_GET_ID, id);
  TRY(pawl_store_send(e->store, &e->args, err));
  pawl_args_begin(&e->args, PAWL_STMT_TOKEN_LIST);
  pawl_arg_int(&e->args, PAWL_TOKEN_LIST_SHARD, shard);
  pawl_arg_id(&e->args, PAWL_TOKEN_LIST_ID, id);
  TRY(pawl_store_send(e->store, &e->args, err));
  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_GET);
  pawl_arg_int(&e->args, PAWL_AGENDA_GET_SHARD, shard);
  pawl_arg_id(&e->args, PAWL_AGENDA_GET_ID, id);
  pawl_store_arg_now(e->store, &e->args, PAWL_AGENDA_GET_NOW);
  TRY(pawl_store_send(e->store, &e->args, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, 0, &rows);
  if (!rows.nrows) return not_found(id, err);
  begin(&o, out);
  add_instance(&rows, &o);
  pawl_store_rows(e->store, 1, &rows);
  add_tokens(&rows, &o);
  pawl_store_rows(e->store, 2, &rows);
  add_agenda(&rows, &o);
  member(&o, "attributes");
  TRY(pawl_attributes_json(e, shard, id, out, err));
  end(&o);
  TRY(pawl_buf_check(out, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* ---- shortened ids ---- */

static int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* The ids between which all that begin with `prefix` lie. 0: not hex. */
static int id_range(const char *prefix, pawl_id *low, pawl_id *high,
                    int *digits) {
  int n = 0;
  memset(low->bytes, 0, 16);
  memset(high->bytes, 255, 16);
  for (; *prefix; prefix++) {
    if (*prefix == '-') continue;
    int v = hex_value(*prefix);
    if (v < 0 || n == 32) return 0;
    unsigned char *lo = &low->bytes[n / 2], *hi = &high->bytes[n / 2];
    if (n % 2 == 0) {
      *lo = (unsigned char)(v << 4);
      *hi = (unsigned char)(v << 4 | 15);
    } else {
      *lo = (unsigned char)(*lo | v);
      *hi = (unsigned char)((*hi & 0xf0) | v);
    }
    n++;
  }
  *digits = n;
  return 1;
}

pawl_code pawl_engine_find(pawl_engine *e, const char *prefix, pawl_id *out,
                           pawl_error *err) {
  pawl_id low, high;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;
  int digits = 0;

  if (!prefix || !id_range(prefix, &low, &high, &digits) || digits < 4) {
    pawl_fail(err, PAWL_INVALID, "\"%.40s\" is not an instance's id",
              prefix ? prefix : "");
    pawl_error_hint(err, "give at least its first 4 hexadecimal digits");
    return PAWL_INVALID;
  }
  if (digits == 32) {
    *out = low;
    return PAWL_OK;
  }
  pawl_args_begin(&e->args, PAWL_STMT_INSTANCE_FIND);
  for (int s = 0; s < e->nshards; s++)
    pawl_arg_int(&e->args, PAWL_INSTANCE_FIND_SHARD, s);
  pawl_arg_id(&e->args, PAWL_INSTANCE_FIND_LOW, &low);
  pawl_arg_id(&e->args, PAWL_INSTANCE_FIND_HIGH, &high);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  if (rows.nrows == 1) {
    pawl_row_id(&rows, 0, PAWL_INSTANCE_FIND_R_ID, out);
  } else if (rows.nrows == 0) {
    rc = pawl_fail(err, PAWL_NOTFOUND, "no instance's id begins with \"%s\"",
                   prefix);
    pawl_error_hint(err, "`pawl list` shows what there is");
  } else {
    rc = pawl_fail(err, PAWL_AMBIGUOUS,
                   "several instances' ids begin with "
                   "\"%s\"",
                   prefix);
    pawl_error_hint(err, "give more characters");
  }
out:
  return rc;
}

/* ---- lists ---- */

typedef struct filter {
  unsigned statuses; /* bits of pawl_status, as asked for */
  pawl_buf workflow, tenant, correlation, business_key, key;
  int64_t version, limit;
  int has_before;
  pawl_id before;
} filter;

static const char *const filter_names[] = {
    "workflow",     "version", "status", "tenant", "correlation",
    "business_key", "key",     "limit",  "before"};

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

static pawl_code read_filter_text(pawl_str value, const char *name,
                                  pawl_buf *out, pawl_error *err) {
  if (pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return pawl_fail(err, PAWL_INVALID, "list: `%s` must be a string", name);
  pawl_json_unquote(value, out);
  return pawl_buf_check(out, err);
}

static pawl_code read_filter(pawl_engine *e, filter *f, pawl_str key,
                             pawl_str value, pawl_error *err) {
  if (pawl_json_kind_of(value) == PAWL_JSON_NULL) return PAWL_OK;
  if (pawl_str_eqz(key, "status")) return read_statuses(value, f, err);
  if (pawl_str_eqz(key, "workflow"))
    return read_filter_text(value, "workflow", &f->workflow, err);
  if (pawl_str_eqz(key, "tenant"))
    return read_filter_text(value, "tenant", &f->tenant, err);
  if (pawl_str_eqz(key, "correlation"))
    return read_filter_text(value, "correlation", &f->correlation, err);
  if (pawl_str_eqz(key, "business_key"))
    return read_filter_text(value, "business_key", &f->business_key, err);
  if (pawl_str_eqz(key, "key"))
    return read_filter_text(value, "key", &f->key, err);
  if (pawl_str_eqz(key, "version"))
    return pawl_json_int(value, &f->version) && f->version > 0
               ? PAWL_OK
               : pawl_fail(err, PAWL_INVALID,
                           "list: `version` must be a "
                           "positive integer");
  if (pawl_str_eqz(key, "limit"))
    return pawl_json_int(value, &f->limit) && f->limit > 0 && f->limit <= 10000
               ? PAWL_OK
               : pawl_fail(err, PAWL_INVALID,
                           "list: `limit` must be an "
                           "integer from 1 to 10000");
  if (pawl_str_eqz(key, "before")) {
    pawl_buf text = {.alloc = &e->alloc};
    pawl_code rc = read_filter_text(value, "before", &text, err);
    if (rc == PAWL_OK) rc = pawl_engine_find(e, text.at, &f->before, err);
    f->has_before = rc == PAWL_OK;
    pawl_buf_deinit(&text);
    return rc;
  }
  char name[40];
  snprintf(name, sizeof name, "%.*s", (int)(key.len < 39 ? key.len : 39),
           key.at);
  pawl_fail(err, PAWL_INVALID, "list has no filter `%s`", name);
  const char *near = pawl_nearest(
      name, filter_names, (int)(sizeof filter_names / sizeof *filter_names));
  if (near) pawl_error_hint(err, "did you mean `%s`?", near);
  return PAWL_INVALID;
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

/* created and running share a stored status, so that a page of one may hold
 * only rows of the other: pages are read until the limit is met. */
static pawl_code send_list(pawl_engine *e, const filter *f,
                           const pawl_id *before, pawl_rows *rows,
                           pawl_error *err) {
  pawl_args *a = &e->args;
  unsigned stored = stored_statuses(f->statuses);

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
  object o;
  begin(&o, out);
  add_id(&o, "id", CELL(ID));
  add_text(&o, "workflow", CELL(WORKFLOW));
  add_int(&o, "version", CELL(WORKFLOW_VERSION));
  add_text(&o, "status", CELL(STATUS));
  add_text(&o, "node", CELL(NODE));
  add_json(&o, "error", CELL(ERROR));
  add_text(&o, "tenant", CELL(TENANT));
  add_int(&o, "priority", CELL(PRIORITY));
  add_text(&o, "group", CELL(EXECUTOR_GROUP));
  add_text(&o, "key", CELL(EXTERNAL_ID));
  add_text(&o, "business_key", CELL(BUSINESS_KEY));
  add_text(&o, "correlation", CELL(CORRELATION_ID));
  add_time(&o, "created", CELL(CREATED_AT));
  add_time(&o, "started", CELL(STARTED_AT));
  add_time(&o, "updated", CELL(UPDATED_AT));
  add_time(&o, "completed", CELL(COMPLETED_AT));
  end(&o);
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
  object o;
  begin(&o, out);
  add_int(&o, "seq", CELL(SEQ));
  add_text(&o, "type", CELL(TYPE));
  add_text(&o, "node", CELL(NODE));
  add_int(&o, "token", CELL(TOKEN));
  add_int(&o, "visit", CELL(VISIT));
  add_int(&o, "attempt", CELL(ATTEMPT));
  add_text(&o, "transition", CELL(TRANSITION));
  add_text(&o, "path", CELL(PATH));
  add_json(&o, "output", CELL(OUTPUT));
  add_json(&o, "changes", CELL(CHANGES));
  add_json(&o, "error", CELL(ERROR));
  add_text(&o, "text", CELL(TEXT));
  add_text(&o, "caller", CELL(CALLER));
  add_id(&o, "executor", CELL(EXECUTOR));
  add_time(&o, "started", CELL(STARTED_AT));
  add_time(&o, "completed", CELL(COMPLETED_AT));
  add_time(&o, "due", CELL(DUE_AT));
  end(&o);
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
  if (!rows.nrows) return not_found(id, err);
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
