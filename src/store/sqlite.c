/* The SQLite driver. Only what steers the connection itself (begin, commit,
 * pragmas) is spelled here; every other statement is in sql/sqlite.
 *
 * Memory   rows are copied into `results`, which keeps its memory. */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>

#include "../value/json.h"
#include "drivers.h"
#include "failure.h"
#include "results.h"
#include "sqbackup.h"
#include "sqconn.h"
#include "sqlend.h"
#include "sqrestore.h"

#define OPS_PER_LOOK 100 /* of SQLite's machine, between looks at the clock */

struct pawl_conn {
  const pawl_alloc *alloc;
  pawl_sqconn on;
  sqlite3_stmt *stmts[PAWL_NSTMTS];
  int unit; /* PAWL_UNIT_..., -1: none */
  int nsent;
  pawl_results results;
  pawl_buf lists;  /* columns of a `run: once` statement */
  pawl_args added; /* of counter_add */
  pawl_counts *counts;
  /* of the user's statement: */
  int64_t query_deadline; /* monotonic */
  pawl_answer answer;
  pawl_buf kinds; /* of the answer's values, row by row: SQLITE_INTEGER... */
};

static pawl_code fail_db(pawl_conn *c, const char *what, pawl_error *err) {
  return pawl_sqconn_fail(&c->on, what, err);
}

/* ---- open and close ---- */

static void sqlite_close(pawl_conn *c) {
  if (!c) return;
  for (int i = 0; i < PAWL_NSTMTS; i++) sqlite3_finalize(c->stmts[i]);
  pawl_sqconn_close(&c->on);
  pawl_results_deinit(&c->results);
  pawl_answer_deinit(&c->answer);
  pawl_buf_deinit(&c->lists);
  pawl_args_deinit(&c->added);
  pawl_buf_deinit(&c->kinds);
  pawl_release(c->alloc, c, sizeof *c);
}

static pawl_code sqlite_open(const char *path, pawl_driver_options *options,
                             pawl_conn **out, pawl_error *err) {
  pawl_code rc;
  pawl_conn *c = NULL;
  if (path[0] == 0)
    return pawl_fail(err, PAWL_INVALID, "the store's path is empty");
  if (options->schema)
    return pawl_fail_hint(err, PAWL_INVALID,
                          "leave it out, and give each store a file",
                          "a store in a file has no schema to be named");
  if (!(c = pawl_calloc(options->alloc, sizeof *c)))
    return pawl_failure_memory(err);
  c->alloc = options->alloc;
  c->counts = options->counts;
  c->unit = -1;
  pawl_results_init(&c->results, c->alloc);
  pawl_answer_init(&c->answer, c->alloc);
  c->lists.alloc = c->kinds.alloc = c->alloc;
  pawl_args_init(&c->added, c->alloc);
  pawl_sqconn_init(&c->on, options);
  TRY(pawl_sqconn_open(&c->on, path, err));
  if (options->copy.at) TRY(pawl_sqrestore_begun(&c->on, err));
  *out = c;
  return PAWL_OK;
out:
  sqlite_close(c);
  return rc;
}

/* ---- statements ---- */

/* Does a statement give the columns it declares? One of which every row must
 * change something need not: what is counted is enough, and a table that SQLite
 * makes for what it returns costs a third of a small update. */
static pawl_code check_columns(const pawl_stmt_info *info, sqlite3_stmt *s,
                               pawl_error *err) {
  if (info->ncols == 0) return PAWL_OK;
  if (info->every && sqlite3_column_count(s) == 0) return PAWL_OK;
  if (sqlite3_column_count(s) != info->ncols)
    return pawl_fail(err, PAWL_INTERNAL,
                     "%s: gives more or fewer columns than it declares",
                     info->name);
  for (int i = 0; i < info->ncols; i++) {
    const char *name = sqlite3_column_name(s, i);
    if (!name) return pawl_failure_memory(err);
    if (strcmp(name, info->cols[i].name) != 0)
      return pawl_fail(err, PAWL_INTERNAL, "%s: column %d is %s, not %s",
                       info->name, i + 1, name, info->cols[i].name);
  }
  return PAWL_OK;
}

static pawl_code prepare(pawl_conn *c, pawl_stmt which, sqlite3_stmt **out,
                         pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[which];
  pawl_buf room = {.alloc = c->alloc};
  const char *text = pawl_sqltext_read(pawl_sql_sqlite[which].text, &room);
  sqlite3_stmt *s = NULL;
  pawl_code rc = PAWL_OK;
  if (!text)
    rc = pawl_failure_memory(err);
  else if (sqlite3_prepare_v3(c->on.db, text, -1, SQLITE_PREPARE_PERSISTENT,
                              &s, NULL) != SQLITE_OK)
    rc = fail_db(c, info->name, err);
  else
    rc = check_columns(info, s, err);
  pawl_buf_deinit(&room);
  if (rc != PAWL_OK) {
    sqlite3_finalize(s);
    return rc;
  }
  *out = s;
  return PAWL_OK;
}

/* The prepared statement of the catalogue, ready to be bound. */
static pawl_code prepared(pawl_conn *c, pawl_stmt which, sqlite3_stmt **out,
                          pawl_error *err) {
  pawl_code rc = PAWL_OK;
  if (!c->stmts[which]) rc = prepare(c, which, &c->stmts[which], err);
  *out = c->stmts[which];
  return rc;
}

static int bind_cell(sqlite3_stmt *s, int at, pawl_type type,
                     const pawl_cell *cell) {
  const char *bytes = cell->s.at ? cell->s.at : "";
  if (cell->is_null) return sqlite3_bind_null(s, at);
  switch (type) {
    case PAWL_T_BOOL:
    case PAWL_T_INT:
    case PAWL_T_TIME:
      return sqlite3_bind_int64(s, at, cell->i);
    case PAWL_T_FLOAT:
      return sqlite3_bind_double(s, at, cell->d);
    case PAWL_T_TEXT:
    case PAWL_T_JSON:
    case PAWL_T_NUMERIC:
      return sqlite3_bind_text64(s, at, bytes, cell->s.len, SQLITE_STATIC,
                                 SQLITE_UTF8);
    case PAWL_T_UUID:
    case PAWL_T_BYTES:
      return sqlite3_bind_blob64(s, at, bytes, cell->s.len, SQLITE_STATIC);
  }
  return SQLITE_MISUSE;
}

static void add_json(pawl_buf *b, pawl_type type, const pawl_cell *cell) {
  if (cell->is_null)
    pawl_buf_addz(b, "null");
  else if (type == PAWL_T_FLOAT)
    pawl_json_add_float(b, cell->d);
  else if (type == PAWL_T_BOOL || type == PAWL_T_INT || type == PAWL_T_TIME)
    pawl_buf_addi(b, cell->i);
  else
    pawl_json_add_string(b, cell->s);
}

/* The columns of a `run: once` statement, as JSON arrays one after another
 * in c->lists: they must all be there before the first is bound, because the
 * buffer may move while it grows. */
static pawl_code bind_lists(pawl_conn *c, sqlite3_stmt *s,
                            const pawl_args *args, pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[args->stmt];
  size_t ends[PAWL_MAX_ARGS], begin = 0;
  pawl_buf_clear(&c->lists);
  for (int i = 0; i < info->nargs; i++) {
    const pawl_column *col = &args->cols[i];
    for (int k = 0; info->args[i].is_array && k < col->n; k++) {
      pawl_buf_addc(&c->lists, k == 0 ? '[' : ',');
      add_json(&c->lists, info->args[i].type, &col->cells[k]);
    }
    if (info->args[i].is_array) pawl_buf_addc(&c->lists, ']');
    ends[i] = c->lists.len;
  }
  if (pawl_buf_check(&c->lists, NULL) != PAWL_OK)
    return pawl_failure_memory(err);
  for (int i = 0; i < info->nargs; begin = ends[i++]) {
    if (info->args[i].is_array &&
        sqlite3_bind_text64(s, i + 1, c->lists.at + begin, ends[i] - begin,
                            SQLITE_STATIC, SQLITE_UTF8) != SQLITE_OK)
      return fail_db(c, info->name, err);
  }
  return PAWL_OK;
}

/* Binds the scalars (row < 0), or the columns' values of one row. */
static pawl_code bind_args(pawl_conn *c, sqlite3_stmt *s,
                           const pawl_args *args, int row, pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[args->stmt];
  for (int i = 0; i < info->nargs; i++) {
    const pawl_param *p = &info->args[i];
    if (p->is_array != (row >= 0)) continue;
    const pawl_cell *cell = &args->cols[i].cells[p->is_array ? row : 0];
    if (bind_cell(s, i + 1, p->type, cell) != SQLITE_OK)
      return fail_db(c, info->name, err);
  }
  return PAWL_OK;
}

/* Copies the bytes of a column; false: no memory. */
static int copy_bytes(pawl_results *r, sqlite3_stmt *s, int col,
                      const void *at, pawl_cell *cell) {
  size_t len = (size_t)sqlite3_column_bytes(s, col); /* never negative */
  if (!at && len > 0) return 0;
  cell->s = pawl_results_copy(r, at ? at : "", len);
  return cell->s.at != NULL;
}

static int is_text_type(pawl_type type) {
  return type == PAWL_T_TEXT || type == PAWL_T_JSON || type == PAWL_T_NUMERIC;
}

/* Is what SQLite stores there what the column was declared to hold? */
static int fits(pawl_type type, int storage, int len) {
  switch (storage) {
    case SQLITE_INTEGER:
      return type == PAWL_T_BOOL || type == PAWL_T_INT ||
             type == PAWL_T_TIME || type == PAWL_T_FLOAT ||
             type == PAWL_T_NUMERIC;
    case SQLITE_FLOAT:
      return type == PAWL_T_FLOAT || type == PAWL_T_NUMERIC;
    case SQLITE_TEXT:
      return is_text_type(type);
    case SQLITE_BLOB:
      return type == PAWL_T_BYTES || (type == PAWL_T_UUID && len == 16);
  }
  return 1;
}

static pawl_code read_cell(pawl_conn *c, const pawl_stmt_info *info,
                           sqlite3_stmt *s, int col, pawl_cell *cell,
                           pawl_error *err) {
  int storage = sqlite3_column_type(s, col);
  pawl_type type = info->cols[col].type;
  int copied = 1;
  if (storage == SQLITE_NULL) return PAWL_OK;
  if (!fits(type, storage,
            storage == SQLITE_BLOB ? sqlite3_column_bytes(s, col) : 0))
    return pawl_fail_as(err, PAWL_CORRUPT, "XX001", "",
                        "%s: column %s holds a wrong value", info->name,
                        info->cols[col].name);
  cell->is_null = 0;
  if (is_text_type(type))
    copied =
        copy_bytes(&c->results, s, col, sqlite3_column_text(s, col), cell);
  else if (type == PAWL_T_UUID || type == PAWL_T_BYTES)
    copied =
        copy_bytes(&c->results, s, col, sqlite3_column_blob(s, col), cell);
  else if (type == PAWL_T_FLOAT)
    cell->d = sqlite3_column_double(s, col);
  else
    cell->i = sqlite3_column_int64(s, col);
  return copied ? PAWL_OK : pawl_failure_memory(err);
}

/* Runs a bound statement to its end; its rows go to the open result. */
static pawl_code run(pawl_conn *c, const pawl_stmt_info *info, sqlite3_stmt *s,
                     int64_t *changed, pawl_error *err) {
  const int ncols = pawl_results_ncols(&c->results);
  pawl_code rc = PAWL_OK;
  int step;
  while (rc == PAWL_OK && (step = sqlite3_step(s)) != SQLITE_DONE) {
    if (step != SQLITE_ROW) {
      rc = fail_db(c, info->name, err);
    } else if (info->ncols > 0) {
      pawl_cell *row = pawl_results_row(&c->results);
      if (!row) rc = pawl_failure_memory(err);
      for (int i = 0; i < ncols && rc == PAWL_OK; i++)
        rc = read_cell(c, info, s, i, &row[i], err);
    }
  }
  if (rc == PAWL_OK && !sqlite3_stmt_readonly(s))
    *changed += sqlite3_changes(c->on.db);
  sqlite3_reset(s); /* tells an error again that was told above */
  return rc;
}

/* Runs a statement once for each row of its arguments. */
static pawl_code run_rows(pawl_conn *c, const pawl_args *args,
                          int64_t *changed, pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[args->stmt];
  int nrows = pawl_args_rows(args);
  sqlite3_stmt *s = NULL;

  MUST(prepared(c, args->stmt, &s, err));
  assert(c->unit != PAWL_UNIT_READ || sqlite3_stmt_readonly(s)); /* D5 */
  MUST(bind_args(c, s, args, -1, err));
  if (pawl_sql_sqlite[args->stmt].once) {
    MUST(bind_lists(c, s, args, err));
    return run(c, info, s, changed, err);
  }
  for (int row = 0; row < nrows; row++) {
    const int64_t before = *changed;
    MUST(bind_args(c, s, args, row, err));
    MUST(run(c, info, s, changed, err));
    if (info->every && *changed == before)
      return pawl_failure_every(args->stmt, err);
  }
  return PAWL_OK;
}

/* Adds the turns that a statement has noted to the counters. */
static pawl_code count_turns(pawl_conn *c, pawl_error *err) {
  int64_t changed = 0;

  for (int k = 0; k < c->on.turns.n; k++) {
    pawl_sqturns_put(&c->on.turns, k, &c->added);
    if (c->added.failed) return pawl_failure_memory(err);
    MUST(run_rows(c, &c->added, &changed, err));
  }
  return PAWL_OK;
}

static pawl_code sqlite_send(pawl_conn *c, const pawl_args *args,
                             pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[args->stmt];
  int64_t changed = 0;

  assert(c->unit >= 0); /* D1 */
  MUST(pawl_results_begin(&c->results, args->stmt,
                          args->counted ? 0 : info->ncols, err));
  if (c->nsent++ == 0 || c->unit == PAWL_UNIT_OPEN) c->counts->trips++;
  c->counts->statements++;
  pawl_sqturns_clear(&c->on.turns);
  MUST(run_rows(c, args, &changed, err));
  MUST(count_turns(c, err));
  return pawl_results_end(&c->results, changed, err);
}

static void sqlite_rows(pawl_conn *c, int k, pawl_rows *out) {
  pawl_results_get(&c->results, k, out);
}

static void sqlite_forget(pawl_conn *c) {
  pawl_results_clear(&c->results);
}

/* ---- units ---- */

static pawl_code sqlite_begin(pawl_conn *c, int unit, pawl_error *err) {
  assert(c->unit < 0); /* D1 */
  pawl_results_clear(&c->results);
  MUST(pawl_sqconn_begin(&c->on, unit, err));
  assert(!sqlite3_get_autocommit(c->on.db)); /* D1 */
  c->unit = unit;
  c->nsent = 0;
  return PAWL_OK;
}

/* A store in memory goes with its connection: its next unit tries again. */
static int sqlite_rollback(pawl_conn *c) {
  if (c->unit < 0) return 1;
  c->unit = -1;
  return pawl_sqconn_end(&c->on) || c->on.is_memory;
}

static pawl_code sqlite_commit(pawl_conn *c, pawl_error *err) {
  assert(c->unit >= 0);
  if (c->unit == PAWL_UNIT_OPEN) MUST(pawl_sqlend_check(&c->on, err));
  MUST(pawl_sqconn_commit(&c->on, c->unit, err));
  if (c->unit == PAWL_UNIT_OPEN) c->counts->trips++;
  if (c->nsent > 0) c->counts->transactions++;
  assert(c->on.group.is_open || sqlite3_get_autocommit(c->on.db)); /* D1 */
  c->unit = -1;
  return PAWL_OK;
}

static pawl_code sqlite_settle(pawl_conn *c, int only_due, pawl_error *err) {
  assert(c->unit < 0);
  if (only_due && !pawl_sqconn_must_settle(&c->on)) return PAWL_OK;
  return pawl_sqconn_settle(&c->on, err);
}

/* ---- the schema ---- */

static pawl_code sqlite_script(pawl_conn *c, const char *sql,
                               pawl_error *err) {
  assert(c->unit == PAWL_UNIT_OPEN); /* D2 */
  c->nsent++;
  MUST(pawl_sqconn_exec(&c->on, sql, err));
  return pawl_sqconn_exec(&c->on, PAWL_SQ_SEAL, err);
}

/* ---- the user's own statement ---- */

static int on_progress(void *ud) {
  pawl_conn *c = ud;
  return pawl_clock_mono() > c->query_deadline;
}

static pawl_code fail_late(int64_t limit_us, pawl_error *err) {
  return pawl_fail_as(err, PAWL_TIMEOUT, "57014",
                      "nobody else can write meanwhile: make it shorter",
                      "query: took longer than %g s",
                      (double)limit_us / (double)PAWL_SECOND);
}

static pawl_code fail_query(pawl_conn *c, int64_t limit_us, pawl_error *err) {
  int code = sqlite3_extended_errcode(c->on.db);
  if (c->on.guard.refused[0] && c->on.guard.is_ungranted)
    return pawl_fail_as(err, PAWL_LIMIT, "42501",
                        "who runs it may grant that: trust, may.db",
                        "query: %s", c->on.guard.refused);
  if (c->on.guard.refused[0])
    return pawl_fail_as(err, PAWL_MISUSE, "42501", "", "query: %s",
                        c->on.guard.refused);
  if (code == SQLITE_INTERRUPT) return fail_late(limit_us, err);
  return fail_db(c, "query", err);
}

/* Is there anything but white space and comments behind the statement? */
static int has_more(pawl_conn *c, const char *tail, const char *end) {
  while (tail < end) {
    sqlite3_stmt *next = NULL;
    const char *at = tail;
    int rc = sqlite3_prepare_v2(c->on.db, at, (int)(end - at), &next, &tail);
    sqlite3_finalize(next);
    if (rc != SQLITE_OK || next) return 1;
    if (tail == at) break;
  }
  return 0;
}

static pawl_code prepare_query(pawl_conn *c, pawl_str sql, sqlite3_stmt **out,
                               pawl_error *err) {
  const char *tail = NULL;
  if (sql.len > 1000000) /* SQLite's own limit, and an int's */
    return pawl_fail(err, PAWL_LIMIT, "query: the statement is too long");
  if (sqlite3_prepare_v2(c->on.db, sql.at, (int)sql.len, out, &tail) !=
          SQLITE_OK ||
      pawl_sqguard_copies(&c->on.guard, sql))
    return fail_query(c, 0, err);
  if (!*out)
    return pawl_fail(err, PAWL_MISUSE, "query: there is no statement");
  if (has_more(c, tail, sql.at + sql.len))
    return pawl_fail(err, PAWL_MISUSE, "query: one statement at a time");
  return PAWL_OK;
}

static pawl_code bind_query(pawl_conn *c, sqlite3_stmt *s, const pawl_query *q,
                            pawl_error *err) {
  int want = sqlite3_bind_parameter_count(s);
  if (want != q->nparams)
    return pawl_fail(err, PAWL_INVALID,
                     "query: the statement has %d parameters, %d given", want,
                     q->nparams);
  for (int i = 0; i < q->nparams; i++)
    if (bind_cell(s, i + 1, q->types[i], &q->params[i]) != SQLITE_OK)
      return fail_db(c, "query", err);
  return PAWL_OK;
}

/* One row as SQLite stores it; its kinds are noted in `kinds`. */
static int read_query_row(pawl_conn *c, sqlite3_stmt *s, int ncols) {
  pawl_cell *row = pawl_results_row(&c->answer.results);
  if (!row) return 0;
  for (int i = 0; i < ncols; i++) {
    int kind = sqlite3_column_type(s, i);
    row[i].is_null = kind == SQLITE_NULL;
    pawl_buf_addc(&c->kinds, (char)kind); /* 1 to 5 */
    if (kind == SQLITE_INTEGER)
      row[i].i = sqlite3_column_int64(s, i);
    else if (kind == SQLITE_FLOAT)
      row[i].d = sqlite3_column_double(s, i);
    else if (kind != SQLITE_NULL &&
             !copy_bytes(&c->answer.results, s, i,
                         kind == SQLITE_TEXT
                             ? (const void *)sqlite3_column_text(s, i)
                             : sqlite3_column_blob(s, i),
                         &row[i]))
      return 0;
  }
  return !c->kinds.failed;
}

/* What the last row of the answer takes. */
static size_t row_bytes(const pawl_conn *c, int ncols) {
  const pawl_results *r = &c->answer.results;
  size_t sum = 0;
  for (int i = 0; i < ncols; i++)
    sum += sizeof *r->open + r->open[r->nopen - (size_t)(i + 1)].s.len;
  return sum;
}

static pawl_code fail_large(const pawl_query *q, pawl_error *err) {
  return pawl_fail_hint(
      err, PAWL_LIMIT, "ask for less, or for a part at a time",
      "query: its rows have more than %zu bytes", q->most_bytes);
}

static pawl_code step_query(pawl_conn *c, sqlite3_stmt *s, const pawl_query *q,
                            pawl_error *err) {
  const int64_t limit_us = q->limit_us;
  size_t bytes = 0;
  int ncols = sqlite3_column_count(s), step;
  pawl_answer_clear(&c->answer);
  pawl_buf_clear(&c->kinds);
  MUST(pawl_results_begin(&c->answer.results, (pawl_stmt)0, ncols, err));
  while ((step = sqlite3_step(s)) == SQLITE_ROW) {
    if (!read_query_row(c, s, ncols)) return pawl_failure_memory(err);
    if (!q->most_bytes) continue;
    bytes += row_bytes(c, ncols);
    if (bytes > q->most_bytes) return fail_large(q, err);
  }
  if (step != SQLITE_DONE) return fail_query(c, limit_us, err);
  /* One operation may have taken all of it: a function's call is one. */
  if (limit_us > 0 && pawl_clock_mono() > c->query_deadline)
    return fail_late(limit_us, err);
  int readonly = sqlite3_stmt_readonly(s);
  return pawl_results_end(&c->answer.results,
                          readonly ? 0 : sqlite3_changes(c->on.db), err);
}

/* Before and after. */
static pawl_code count_names(pawl_conn *c, int64_t *out, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  c->on.guard.is_on = 0;
  if (c->on.guard.alters)
    rc = pawl_sqconn_ask(&c->on, PAWL_SQ_COUNT_NAMES, out, err);
  c->on.guard.is_on = 1;
  return rc;
}

/* Runs the user's statement, which may make no name that is ours. */
static pawl_code run_query(pawl_conn *c, sqlite3_stmt *s, const pawl_query *q,
                           pawl_error *err) {
  int64_t before = 0, after = 0;
  MUST(count_names(c, &before, err));
  MUST(step_query(c, s, q, err));
  MUST(count_names(c, &after, err));
  if (before == after) return PAWL_OK;
  return pawl_fail_as(err, PAWL_MISUSE, "42501", "",
                      "query: names that begin with pawl_ are pawl's own");
}

/* The type that holds every value of a column: SQLite has types by the value.
 * Integers among floats become floats, everything else text. */
static pawl_type column_type(const char *kinds, int nrows, int ncols,
                             int col) {
  unsigned seen = 0;
  for (int i = 0; i < nrows; i++) seen |= 1u << kinds[i * ncols + col];
  seen &= ~(1u << SQLITE_NULL);
  if (seen == 1u << SQLITE_INTEGER) return PAWL_T_INT;
  if (seen && !(seen & ~(1u << SQLITE_INTEGER | 1u << SQLITE_FLOAT)))
    return PAWL_T_FLOAT;
  return seen == 1u << SQLITE_BLOB ? PAWL_T_BYTES : PAWL_T_TEXT;
}

static int convert(pawl_conn *c, pawl_cell *cell, int kind, pawl_type type) {
  pawl_buf *b = &c->lists;
  if (type == PAWL_T_FLOAT && kind == SQLITE_INTEGER)
    cell->d = (double)cell->i;
  if (type != PAWL_T_TEXT || kind == SQLITE_TEXT || kind == SQLITE_BLOB ||
      kind == SQLITE_NULL)
    return 1;
  pawl_buf_clear(b);
  if (kind == SQLITE_INTEGER)
    pawl_buf_addi(b, cell->i);
  else if (isfinite(cell->d))
    pawl_json_add_float(b, cell->d);
  else
    pawl_buf_addz(b, cell->d < 0 ? "-Infinity" : "Infinity");
  if (b->failed) return 0;
  cell->s = pawl_results_copy(&c->answer.results, b->at, b->len);
  return cell->s.at != NULL;
}

/* Fills in the columns' names and types. */
static pawl_code describe_query(pawl_conn *c, sqlite3_stmt *s, pawl_rows *rows,
                                pawl_error *err) {
  for (int i = 0; i < rows->ncols; i++) {
    const char *kinds = c->kinds.at;
    pawl_type type = column_type(kinds, rows->nrows, rows->ncols, i);
    const char *name = sqlite3_column_name(s, i);
    if (!name) return pawl_failure_memory(err);
    name = pawl_results_copy(&c->answer.results, name, strlen(name)).at;
    if (!name) return pawl_failure_memory(err);
    MUST(pawl_answer_column(&c->answer, name, type, err));
    for (int k = 0; k < rows->nrows; k++) {
      size_t at = (size_t)k * (size_t)rows->ncols + (size_t)i;
      /* Ours since step_query: only pawl_rows says const. */
      if (!convert(c, (pawl_cell *)&rows->cells[at], kinds[at], type))
        return pawl_failure_memory(err);
    }
  }
  return PAWL_OK;
}

/* Of a value or a row, as sqlite3_limit takes it; -1: as it is. */
static int most_of(const pawl_query *q) {
  return q->most_bytes && q->most_bytes < INT_MAX ? (int)q->most_bytes : -1;
}

static pawl_code sqlite_query(pawl_conn *c, pawl_query *q, pawl_error *err) {
  sqlite3_stmt *s = NULL;
  pawl_code rc;
  int length;
  assert(c->unit == PAWL_UNIT_OPEN && !c->on.group.is_open); /* D2 */
  c->counts->trips++;
  c->counts->statements++;
  c->nsent++;
  pawl_sqguard_begin(&c->on.guard, q->tables);
  c->query_deadline = pawl_clock_mono() + q->limit_us;
  if (q->limit_us > 0)
    sqlite3_progress_handler(c->on.db, OPS_PER_LOOK, on_progress, c);
  length = sqlite3_limit(c->on.db, SQLITE_LIMIT_LENGTH, most_of(q));
  TRY(prepare_query(c, q->sql, &s, err));
  TRY(bind_query(c, s, q, err));
  TRY(run_query(c, s, q, err));
  pawl_results_get(&c->answer.results, 0, &q->rows);
  TRY(describe_query(c, s, &q->rows, err));
  pawl_answer_get(&c->answer, q);
out:
  sqlite3_finalize(s);
  sqlite3_progress_handler(c->on.db, 0, NULL, NULL);
  (void)sqlite3_limit(c->on.db, SQLITE_LIMIT_LENGTH, length);
  c->on.guard.is_on = 0;
  return rc;
}

/* An OPEN unit may be over, undone by what the program did. */
static pawl_code sqlite_lend(pawl_conn *c, pawl_lent to, void **out,
                             pawl_error *err) {
  assert(to != PAWL_LENT || c->unit == PAWL_UNIT_OPEN); /* D2 */
  if (to == PAWL_LENT) c->nsent++;                      /* who knows */
  if (out) *out = c->on.db;
  return pawl_sqlend(&c->on, to, err);
}

/* ---- waiting for work ---- */

/* What was committed while the caller worked counts as news, too: it may have
 * come behind the caller's last look. */
static pawl_code sqlite_wait(pawl_conn *c, int64_t deadline_mono_us,
                             const volatile int *stop, struct pollfd *fds,
                             int nfds, int *woken, pawl_error *err) {
  int64_t slice = 10000;
  *woken = 0;
  fds[0].fd = -1; /* nothing of ours to wait on */
  while (!(stop && *stop)) {
    int64_t left = deadline_mono_us - pawl_clock_mono();
    MUST(pawl_sqconn_check_place(&c->on, err));
    *woken = !c->on.is_memory && pawl_sqconn_has_news(&c->on);
    if (*woken || left <= 0) break;
    if (left > slice) left = slice;
    if (poll(fds, (nfds_t)nfds, (int)((left + 999) / 1000)) > 0) break;
    if (slice < 50000) slice += 5000;
  }
  return PAWL_OK;
}

static pawl_code sqlite_backup(pawl_conn *c, pawl_copy *copy,
                               const volatile int *stop, pawl_error *err) {
  assert(c->unit == PAWL_UNIT_READ); /* D1 */
  return copy->path ? pawl_sqbackup(&c->on, copy, stop, err)
                    : pawl_sqbackup_bytes(&c->on, copy, stop, err);
}

static pawl_code sqlite_restore(pawl_conn *c, pawl_conn *from,
                                const volatile int *stop, int64_t *bytes,
                                pawl_error *err) {
  if (!from) return PAWL_OK;
  assert(c->unit < 0 && from->unit == PAWL_UNIT_READ); /* D1 */
  return pawl_sqrestore(&c->on, &from->on, stop, bytes, err);
}

/* Its pages, its schema and its statements. */
static int64_t sqlite_memory(pawl_conn *c) {
  static const int PARTS[] = {SQLITE_DBSTATUS_CACHE_USED,
                              SQLITE_DBSTATUS_SCHEMA_USED,
                              SQLITE_DBSTATUS_STMT_USED};
  int64_t sum = 0;
  int now, most;
  for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
    if (sqlite3_db_status(c->on.db, PARTS[i], &now, &most, 0) == SQLITE_OK)
      sum += now;
  return sum;
}

/* Nothing that is bound to the lists is stepped again before it is bound. */
static void sqlite_slim(pawl_conn *c) {
  if (c->unit >= 0) return;
  pawl_results_deinit(&c->results);
  pawl_answer_deinit(&c->answer);
  pawl_buf_deinit(&c->lists);
  pawl_buf_deinit(&c->kinds);
}

static void sqlite_tidy(pawl_conn *c) {
  if (c->unit < 0) pawl_sqconn_tidy(&c->on);
}

static int sqlite_mark(pawl_conn *c, pawl_store_marks *out) {
  if (c->unit >= 0) return 0;
  out->ours = sqlite3_total_changes(c->on.db);
  return pawl_sqconn_version(&c->on, &out->others);
}

static pawl_code sqlite_save(pawl_conn *c, int how, pawl_error *err) {
  assert(c->unit < 0);
  if (how == PAWL_SAVE_LOOK) return pawl_sqconn_look_synced(&c->on, err);
  return how == PAWL_SAVE_LOCAL ? pawl_sqconn_flush(&c->on, err)
                                : pawl_sqconn_save(&c->on, err);
}

static void sqlite_name(const char *path, pawl_buf *out) {
  pawl_buf_addz(out, path);
}

static int64_t sqlite_version(void) {
  return sqlite3_libversion_number();
}

static const pawl_url_kind sqlite_url = {
    .scheme = "sqlite:",
    .form = "a file, PATH or sqlite:PATH",
};

const pawl_driver pawl_driver_sqlite = {
    .name = "sqlite",
    .url = &sqlite_url,
    .describe = sqlite_name,
    .library = "sqlite",
    .library_version = sqlite_version,
    .library_option = sqlite3_compileoption_get,
    .caps = PAWL_CAN_SOON | PAWL_CAN_RELAX | PAWL_CAN_TABLES,
    .open_limit_us = PAWL_SECOND, /* there is one writer */
    .sql = pawl_sql_sqlite,
    .migrations = pawl_migrations_sqlite,
    .seal = PAWL_SQ_SEAL,
    .open = sqlite_open,
    .close = sqlite_close,
    .begin = sqlite_begin,
    .send = sqlite_send,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .rows = sqlite_rows,
    .forget = sqlite_forget,
    .script = sqlite_script,
    .query = sqlite_query,
    .lend = sqlite_lend,
    .wait = sqlite_wait,
    .backup = sqlite_backup,
    .restore = sqlite_restore,
    .save = sqlite_save,
    .settle = sqlite_settle,
    .mark = sqlite_mark,
    .memory = sqlite_memory,
    .slim = sqlite_slim,
    .tidy = sqlite_tidy,
};
