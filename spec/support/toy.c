/* A third driver, for specs alone: "toy:PATH". It is written from driver.h and
 * stmt.h, shares no code with the two others but what any driver may use
 * (results.h, failure.h, sqguard.h), and has every function of pawl_driver.
 *
 * What it proves   that the contract suffices: it mixes what the others do.
 *          It speaks SQLite's SQL, as sqlite.c does, and, as postgres.c does,
 *          it queues what is sent and runs it at the commit, and takes
 *          batches that are submitted. It can do neither SOON nor SNAPSHOT.
 *          And that the callers keep the contract: MUST_HOLD ends the program
 *          where one of D1 to D5 is broken, where anything but a rollback (or
 *          the undoing of a savepoint) follows a failure, and where results
 *          are asked for that there are not. What was borrowed is overwritten
 *          when its time is over; arguments are copied by `send`, so that
 *          theirs may be over at once.
 * What not   that a database other than SQLite would do, or that it would be
 *          quick or durable: a batch that was submitted has been run by then,
 *          one connection waits for another by looking, and a machine that
 *          goes down may take everything with it (synchronous=off). */
#include "toy.h"

#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../src/base/fault.h"
#include "../../src/store/failure.h"
#include "../../src/store/results.h"
#include "../../src/store/sqguard.h"
#include "../../src/store/sqturns.h"
#include "../../src/value/json.h"

#define MUST_HOLD(x, rule)                                       \
  do {                                                           \
    if (!(x)) {                                                  \
      fprintf(stderr, "toy: %s: %s\n", __func__, rule), abort(); \
    }                                                            \
  } while (0)

pawl_toy_calls pawl_toy_called;

enum { NO_UNIT = -1 };

/* A unit that was submitted: how it ended, until somebody asks. */
typedef struct ended {
  pawl_results results;
  pawl_code rc;
  pawl_error err;
} ended;

struct pawl_conn {
  sqlite3 *db;
  sqlite3_stmt *stmts[PAWL_NSTMTS];
  pawl_counts *counts;
  int unit;   /* PAWL_UNIT_... */
  int failed; /* only rollback, close and savepoint_undo */
  pawl_results results;
  pawl_args *queue; /* of the unit, until it is committed */
  int nqueued, cap;
  pawl_results bytes; /* what the queue's arguments point to */
  ended submitted[PAWL_MAX_SUBMITTED];
  int nsubmitted;
  pawl_buf lists;
  int64_t seen_version, deadline;
  pawl_sqguard_state guard;
  pawl_sqturns turns;
  pawl_answer answer;
};

/* ---- errors ---- */

static pawl_code fail_db(pawl_conn *c, const char *what, pawl_error *err) {
  static const struct {
    int rc;
    pawl_code code;
    const char *sqlstate;
  } failures[] = {
      {SQLITE_BUSY, PAWL_BUSY, "55P03"},
      {SQLITE_CONSTRAINT_UNIQUE, PAWL_STORE, "23505"},
      {SQLITE_CONSTRAINT_PRIMARYKEY, PAWL_STORE, "23505"},
      {SQLITE_CONSTRAINT_NOTNULL, PAWL_STORE, "23502"},
      {SQLITE_CONSTRAINT_CHECK, PAWL_STORE, "23514"},
      {SQLITE_CONSTRAINT_TRIGGER, PAWL_STORE, "P0001"},
      {SQLITE_CORRUPT, PAWL_CORRUPT, "XX001"},
      {SQLITE_NOTADB, PAWL_NOT_A_STORE, "3D000"},
      {SQLITE_FULL, PAWL_FULL, "53100"},
      {SQLITE_NOMEM, PAWL_NOMEM, "53200"},
      {SQLITE_READONLY, PAWL_READONLY, "25006"},
      {SQLITE_TOOBIG, PAWL_LIMIT, "54000"},
      {SQLITE_ERROR, PAWL_STORE, "42000"},
  };
  int n = sizeof failures / sizeof *failures, i = 0;
  int rc = sqlite3_extended_errcode(c->db);
  if (c->guard.refused[0])
    return pawl_fail_as(err, PAWL_MISUSE, "42501", "", "query: %s",
                        c->guard.refused);
  if (rc == SQLITE_INTERRUPT)
    return pawl_fail_as(err, PAWL_TIMEOUT, "57014",
                        "nobody else can write meanwhile: make it shorter",
                        "query: took longer than it may");
  while (i < n && failures[i].rc != rc && failures[i].rc != (rc & 0xff)) i++;
  return pawl_fail_as(err, i < n ? failures[i].code : PAWL_STORE,
                      i < n ? failures[i].sqlstate : "58000", "", "%s: %s",
                      what, sqlite3_errmsg(c->db));
}

static pawl_code run_text(pawl_conn *c, const char *sql, pawl_error *err) {
  if (sqlite3_exec(c->db, sql, NULL, NULL, NULL) == SQLITE_OK) return PAWL_OK;
  return fail_db(c, "toy", err);
}

/* ---- what was borrowed ---- */

/* Whoever still reads it finds other values, and no bytes. */
static void spoil(pawl_results *r) {
  for (int k = 0; k < r->n; k++) {
    pawl_cell *cells = (pawl_cell *)r->rows[k].cells; /* ours */
    int n = cells ? r->rows[k].nrows * r->rows[k].ncols : 0;
    for (int i = 0; i < n; i++) {
      if (cells[i].s.at) memset((char *)cells[i].s.at, 0xDD, cells[i].s.len);
      cells[i] = (pawl_cell){.i = 0x5D5D5D5D5D5D5D5D, .d = -1e300};
    }
  }
  pawl_results_deinit(r); /* so that sanitizers see it, too */
}

static void drop_queue(pawl_conn *c) {
  for (int i = 0; i < c->nqueued; i++) pawl_args_deinit(&c->queue[i]);
  c->nqueued = 0;
  spoil(&c->bytes);
}

static pawl_code fail_unit(pawl_conn *c, pawl_code rc) {
  if (rc != PAWL_OK) c->failed = 1;
  return rc;
}

/* ---- open and close ---- */

static void toy_close(pawl_conn *c) {
  if (!c) return;
  drop_queue(c);
  free(c->queue);
  spoil(&c->results);
  for (int i = 0; i < c->nsubmitted; i++) spoil(&c->submitted[i].results);
  for (int i = 0; i < PAWL_NSTMTS; i++) sqlite3_finalize(c->stmts[i]);
  sqlite3_close(c->db);
  pawl_sqturns_deinit(&c->turns);
  pawl_buf_deinit(&c->lists);
  pawl_answer_deinit(&c->answer);
  free(c);
}

static pawl_code toy_open(const char *path, pawl_driver_options *options,
                          pawl_conn **out, pawl_error *err) {
  int flags = SQLITE_OPEN_READWRITE;
  pawl_code rc;
  pawl_conn *c = calloc(1, sizeof *c);
  if (!c) return pawl_failure_memory(err);
  c->unit = NO_UNIT;
  c->counts = options->counts;
  if (options->create) flags |= SQLITE_OPEN_CREATE;
  if (sqlite3_open_v2(path, &c->db, flags, NULL) != SQLITE_OK) {
    rc = pawl_fail_as(err, PAWL_NOTFOUND, "58P01", "", "%s: %s", path,
                      sqlite3_errmsg(c->db));
    goto out;
  }
  sqlite3_extended_result_codes(c->db, 1);
  sqlite3_busy_timeout(c->db, 200);
  sqlite3_set_authorizer(c->db, pawl_sqguard, &c->guard);
  if (pawl_sqturns_install(&c->turns, c->db) != SQLITE_OK)
    TRY(fail_db(c, "toy", err));
  TRY(run_text(c, "pragma journal_mode=wal; pragma synchronous=off", err));
  *out = c;
  return PAWL_OK;
out:
  toy_close(c);
  return rc;
}

/* ---- statements ---- */

static pawl_code prepared(pawl_conn *c, pawl_stmt which, sqlite3_stmt **out,
                          pawl_error *err) {
  pawl_buf room = {0};
  int rc = SQLITE_OK;
  if (!c->stmts[which]) {
    const char *text = pawl_sqltext_read(pawl_sql_sqlite[which].text, &room);
    rc = text ? sqlite3_prepare_v2(c->db, text, -1, &c->stmts[which], NULL)
              : SQLITE_NOMEM;
    pawl_buf_deinit(&room);
  }
  if (rc != SQLITE_OK) return fail_db(c, pawl_stmts[which].name, err);
  *out = c->stmts[which];
  return PAWL_OK;
}

static int is_number(pawl_type type) {
  return type == PAWL_T_BOOL || type == PAWL_T_INT || type == PAWL_T_TIME;
}

static int is_bytes(pawl_type type) {
  return type == PAWL_T_UUID || type == PAWL_T_BYTES;
}

static int has_bytes(pawl_type type) {
  return !is_number(type) && type != PAWL_T_FLOAT;
}

static int bind_cell(sqlite3_stmt *s, int at, pawl_type type,
                     const pawl_cell *cell) {
  const char *bytes = cell->s.at ? cell->s.at : "";
  if (cell->is_null) return sqlite3_bind_null(s, at);
  if (is_number(type)) return sqlite3_bind_int64(s, at, cell->i);
  if (type == PAWL_T_FLOAT) return sqlite3_bind_double(s, at, cell->d);
  if (is_bytes(type))
    return sqlite3_bind_blob64(s, at, bytes, cell->s.len, SQLITE_TRANSIENT);
  return sqlite3_bind_text64(s, at, bytes, cell->s.len, SQLITE_TRANSIENT,
                             SQLITE_UTF8);
}

/* A column of a `run: once` statement: JSON. */
static int bind_list(pawl_conn *c, sqlite3_stmt *s, int at, pawl_type type,
                     const pawl_column *col) {
  pawl_buf *b = &c->lists;
  pawl_buf_clear(b);
  for (int k = 0; k < col->n; k++) {
    const pawl_cell *cell = &col->cells[k];
    pawl_buf_addc(b, k == 0 ? '[' : ',');
    if (cell->is_null)
      pawl_buf_addz(b, "null");
    else if (is_number(type))
      pawl_buf_addi(b, cell->i);
    else if (type == PAWL_T_FLOAT)
      pawl_json_add_float(b, cell->d);
    else
      pawl_json_add_string(b, cell->s);
  }
  pawl_buf_addc(b, ']');
  if (b->failed) return SQLITE_NOMEM;
  return sqlite3_bind_text64(s, at, b->at, b->len, SQLITE_TRANSIENT,
                             SQLITE_UTF8);
}

static pawl_code bind_row(pawl_conn *c, sqlite3_stmt *s, const pawl_args *args,
                          int row, pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[args->stmt];
  int once = pawl_sql_sqlite[args->stmt].once;
  for (int i = 0; i < info->nargs; i++) {
    const pawl_param *p = &info->args[i];
    const pawl_column *col = &args->cols[i];
    int rc =
        p->is_array && once
            ? bind_list(c, s, i + 1, p->type, col)
            : bind_cell(s, i + 1, p->type, &col->cells[p->is_array ? row : 0]);
    if (rc != SQLITE_OK) return fail_db(c, info->name, err);
  }
  return PAWL_OK;
}

static int read_bytes(pawl_results *r, sqlite3_stmt *s, int col, int is_blob,
                      pawl_cell *cell) {
  const void *at = is_blob ? sqlite3_column_blob(s, col)
                           : (const void *)sqlite3_column_text(s, col);
  cell->s = pawl_results_copy(r, at, (size_t)sqlite3_column_bytes(s, col));
  return cell->s.at != NULL;
}

static int read_cell(pawl_results *r, sqlite3_stmt *s, int col, pawl_type type,
                     pawl_cell *cell) {
  if (sqlite3_column_type(s, col) == SQLITE_NULL) return 1;
  cell->is_null = 0;
  if (is_number(type))
    cell->i = sqlite3_column_int64(s, col);
  else if (type == PAWL_T_FLOAT)
    cell->d = sqlite3_column_double(s, col);
  else
    return read_bytes(r, s, col, is_bytes(type), cell);
  return 1;
}

static pawl_code step_all(pawl_conn *c, sqlite3_stmt *s,
                          const pawl_stmt_info *info, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  int step;
  while (rc == PAWL_OK && (step = sqlite3_step(s)) != SQLITE_DONE) {
    if (step != SQLITE_ROW) {
      rc = fail_db(c, info->name, err);
    } else if (info->ncols > 0) {
      pawl_cell *row = pawl_results_row(&c->results);
      for (int i = 0; i < info->ncols && rc == PAWL_OK; i++)
        if (!row || !read_cell(&c->results, s, i, info->cols[i].type, &row[i]))
          rc = pawl_failure_memory(err);
    }
  }
  sqlite3_reset(s);
  return rc;
}

static pawl_code run_rows(pawl_conn *c, const pawl_args *args,
                          int64_t *changed, pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[args->stmt];
  int n = pawl_sql_sqlite[args->stmt].once ? 1 : pawl_args_rows(args);
  sqlite3_stmt *s = NULL;
  MUST(prepared(c, args->stmt, &s, err));
  MUST_HOLD(info->ncols == 0 || sqlite3_column_count(s) == info->ncols ||
                (info->every && sqlite3_column_count(s) == 0),
            "a statement gives the columns that it declares");
  MUST_HOLD((c->unit != PAWL_UNIT_READ) || sqlite3_stmt_readonly(s),
            "D5 a READ unit writes nothing");
  for (int row = 0; row < n; row++) {
    MUST(bind_row(c, s, args, row, err));
    MUST(step_all(c, s, info, err));
    int now = sqlite3_stmt_readonly(s) ? 0 : sqlite3_changes(c->db);
    if (info->every && now == 0) return pawl_failure_every(args->stmt, err);
    *changed += now;
  }
  return PAWL_OK;
}

/* As SQL for SQLite wants it, see store/sqturns.h. */
static pawl_code count_turns(pawl_conn *c, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  int64_t changed = 0;
  pawl_args added;
  pawl_args_init(&added, NULL);
  for (int k = 0; k < c->turns.n && rc == PAWL_OK; k++) {
    pawl_sqturns_put(&c->turns, k, &added);
    rc = added.failed ? pawl_failure_memory(err)
                      : run_rows(c, &added, &changed, err);
  }
  pawl_args_deinit(&added);
  return rc;
}

/* Once a row of its columns, or once for all of them. */
static pawl_code execute(pawl_conn *c, const pawl_args *args,
                         pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[args->stmt];
  int64_t changed = 0;
  MUST(pawl_results_begin(&c->results, args->stmt, info->ncols, err));
  pawl_sqturns_clear(&c->turns);
  MUST(run_rows(c, args, &changed, err));
  MUST(count_turns(c, err));
  return pawl_results_end(&c->results, changed, err);
}

/* A copy, with its bytes: the caller's are borrowed until `send` returns. */
static pawl_code enqueue(pawl_conn *c, const pawl_args *args,
                         pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[args->stmt];
  if (!PAWL_ROOM(NULL, c->queue, c->nqueued, c->cap))
    return pawl_failure_memory(err);
  pawl_args *copy = &c->queue[c->nqueued++];
  pawl_args_init(copy, NULL);
  pawl_args_begin(copy, args->stmt);
  for (int i = 0; i < info->nargs; i++) {
    for (int k = 0; k < args->cols[i].n; k++) {
      pawl_cell cell = args->cols[i].cells[k];
      if (!cell.is_null && has_bytes(info->args[i].type))
        cell.s = pawl_results_copy(&c->bytes, cell.s.at, cell.s.len);
      pawl_args_add(copy, i, &cell);
    }
  }
  return copy->failed ? pawl_failure_memory(err) : PAWL_OK;
}

static pawl_code toy_send(pawl_conn *c, const pawl_args *args,
                          pawl_error *err) {
  pawl_toy_called.send++;
  MUST_HOLD(c->unit != NO_UNIT, "D1 a unit is open");
  MUST_HOLD(!c->failed || (c->unit == PAWL_UNIT_OPEN &&
                           args->stmt == PAWL_STMT_savepoint_undo),
            "after a failure only rollback and close are legal");
  MUST_HOLD(pawl_args_rows(args) > 0, "no rows: it is not sent");
  MUST_HOLD(pawl_args_check(args, NULL) == PAWL_OK, "arguments are checked");
  c->counts->statements++;
  c->failed = 0;
  if (c->unit != PAWL_UNIT_OPEN) return fail_unit(c, enqueue(c, args, err));
  c->counts->trips++;
  return fail_unit(c, execute(c, args, err));
}

static void toy_rows(pawl_conn *c, int k, pawl_rows *out) {
  pawl_toy_called.rows++;
  MUST_HOLD(k >= 0 && k < c->results.n, "D3 rows of what has been run");
  pawl_results_get(&c->results, k, out);
}

static void toy_forget(pawl_conn *c) {
  pawl_toy_called.forget++;
  MUST_HOLD(c->unit == PAWL_UNIT_OPEN && !c->nqueued,
            "what is forgotten was answered, in an OPEN unit");
  spoil(&c->results);
}

/* ---- units ---- */

static pawl_code toy_begin(pawl_conn *c, int unit, pawl_error *err) {
  pawl_toy_called.begin++;
  MUST_HOLD(c->unit == NO_UNIT, "D1 one unit at a time");
  MUST_HOLD(unit == PAWL_UNIT_BATCH || unit == PAWL_UNIT_OPEN ||
                unit == PAWL_UNIT_READ,
            "SOON and SNAPSHOT are for who can them");
  spoil(&c->results);
  drop_queue(c);
  c->failed = 0;
  if (unit == PAWL_UNIT_OPEN) MUST(run_text(c, "begin immediate", err));
  c->unit = unit;
  return PAWL_OK;
}

static pawl_code run_queue(pawl_conn *c, pawl_error *err) {
  MUST(run_text(c, c->unit == PAWL_UNIT_READ ? "begin" : "begin immediate",
                err));
  for (int i = 0; i < c->nqueued; i++) MUST(execute(c, &c->queue[i], err));
  return PAWL_OK;
}

/* With the fault points that the other drivers have. */
static pawl_code end_transaction(pawl_conn *c, pawl_error *err) {
  int writes = c->unit != PAWL_UNIT_READ;
  if (writes) (void)PAWL_FAULT("commit.before");
  if (writes && PAWL_FAULT("commit.busy") == PAWL_FAULT_FAIL)
    return pawl_fail_as(err, PAWL_BUSY, "55P03", "", "toy: busy");
  MUST(run_text(c, "commit", err));
  if (writes && PAWL_FAULT("commit.after") == PAWL_FAULT_DROP)
    return pawl_fail(err, PAWL_UNREACHABLE, "toy: the answer is lost");
  return PAWL_OK;
}

/* Whatever has failed, nothing of it is left. */
static pawl_code end(pawl_conn *c, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  c->counts->trips++;
  if (c->unit != PAWL_UNIT_OPEN) rc = run_queue(c, err);
  if (rc == PAWL_OK) rc = end_transaction(c, err);
  if (rc == PAWL_OK) c->counts->transactions++;
  if (rc != PAWL_OK && !sqlite3_get_autocommit(c->db))
    (void)run_text(c, "rollback", NULL);
  return rc;
}

static pawl_code toy_commit(pawl_conn *c, pawl_error *err) {
  pawl_toy_called.commit++;
  MUST_HOLD(c->unit != NO_UNIT, "D1 a unit is open");
  MUST_HOLD(!c->failed, "after a failure only rollback and close are legal");
  MUST(fail_unit(c, end(c, err)));
  c->unit = NO_UNIT;
  return PAWL_OK;
}

static int toy_rollback(pawl_conn *c) {
  pawl_toy_called.rollback++;
  if (c->unit == NO_UNIT) return 1;
  c->unit = NO_UNIT;
  drop_queue(c);
  if (!sqlite3_get_autocommit(c->db)) (void)run_text(c, "rollback", NULL);
  return sqlite3_get_autocommit(c->db);
}

/* It is run here; the caller learns of it from `finish`. */
static pawl_code toy_submit(pawl_conn *c, pawl_error *err) {
  pawl_toy_called.submit++;
  (void)err;
  MUST_HOLD(c->unit == PAWL_UNIT_BATCH && !c->failed, "D4 BATCHes all");
  MUST_HOLD(c->nsubmitted < PAWL_MAX_SUBMITTED, "D4 at most so many");
  ended *e = &c->submitted[c->nsubmitted++];
  e->rc = end(c, &e->err);
  e->results = c->results;
  pawl_results_init(&c->results, NULL);
  c->unit = NO_UNIT;
  return PAWL_OK;
}

static pawl_code toy_finish(pawl_conn *c, pawl_error *err) {
  ended first = c->submitted[0];
  pawl_toy_called.finish++;
  MUST_HOLD(c->unit == NO_UNIT, "D1 one unit at a time");
  MUST_HOLD(c->nsubmitted > 0, "D4 finished are those that were submitted");
  memmove(c->submitted, c->submitted + 1,
          (size_t)--c->nsubmitted * sizeof *c->submitted);
  spoil(&c->results);
  c->results = first.results;
  if (first.rc != PAWL_OK && err) *err = first.err;
  return first.rc;
}

static void toy_await(pawl_conn *c, int64_t deadline_mono_us,
                      struct pollfd *fds, int nfds, int *answered) {
  pawl_toy_called.await++;
  (void)deadline_mono_us, (void)fds, (void)nfds;
  MUST_HOLD(c->nsubmitted > 0, "something is waited for");
  *answered = 1;
}

/* ---- scripts, and the user's own statement ---- */

static pawl_code toy_script(pawl_conn *c, const char *sql, pawl_error *err) {
  pawl_toy_called.script++;
  MUST_HOLD(c->unit == PAWL_UNIT_OPEN && !c->failed, "D2 in an OPEN unit");
  return fail_unit(c, run_text(c, sql, err));
}

static int is_late(void *ud) {
  const pawl_conn *c = ud;
  return pawl_clock_mono() > c->deadline;
}

static pawl_code count_ours(pawl_conn *c, int64_t *out, pawl_error *err) {
  sqlite3_stmt *s = NULL;
  c->guard.is_on = 0;
  int rc = sqlite3_prepare_v2(
      c->db,
      "select count(*) from sqlite_master where name like 'pawl!_%' "
      "escape '!'",
      -1, &s, NULL);
  if (rc == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
    *out = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  c->guard.is_on = 1;
  return rc == SQLITE_OK ? PAWL_OK : fail_db(c, "query", err);
}

/* One statement, and nothing but white space or comments behind it. */
static pawl_code prepare_query(pawl_conn *c, pawl_str sql, sqlite3_stmt **s,
                               pawl_error *err) {
  const char *tail = NULL;
  sqlite3_stmt *more = NULL;
  if (sqlite3_prepare_v2(c->db, sql.at, (int)sql.len, s, &tail) != SQLITE_OK)
    return fail_db(c, "query", err);
  if (!*s) return pawl_fail(err, PAWL_MISUSE, "query: there is no statement");
  int left = (int)(sql.at + sql.len - tail);
  int rc = sqlite3_prepare_v2(c->db, tail, left, &more, NULL);
  sqlite3_finalize(more);
  if (rc == SQLITE_OK && !more) return PAWL_OK;
  return pawl_fail(err, PAWL_MISUSE, "query: one statement at a time");
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

/* Each value as a number and as bytes: its column's type is not known yet. */
static int read_value(pawl_conn *c, sqlite3_stmt *s, int col, pawl_cell *cell,
                      unsigned *seen) {
  int kind = sqlite3_column_type(s, col);
  if (kind == SQLITE_NULL) return 1;
  *seen |= 1u << kind;
  cell->is_null = 0;
  cell->i = sqlite3_column_int64(s, col);
  cell->d = sqlite3_column_double(s, col);
  return read_bytes(&c->answer.results, s, col, kind == SQLITE_BLOB, cell);
}

static pawl_type type_of(unsigned seen) {
  if (seen == 1u << SQLITE_INTEGER) return PAWL_T_INT;
  if (seen && !(seen & ~(1u << SQLITE_INTEGER | 1u << SQLITE_FLOAT)))
    return PAWL_T_FLOAT;
  return seen == 1u << SQLITE_BLOB ? PAWL_T_BYTES : PAWL_T_TEXT;
}

static pawl_code read_query(pawl_conn *c, sqlite3_stmt *s, pawl_error *err) {
  int ncols = sqlite3_column_count(s), step;
  unsigned seen[64] = {0};
  pawl_results *r = &c->answer.results;
  if (ncols > 64) return pawl_fail(err, PAWL_LIMIT, "toy: too many columns");
  pawl_answer_clear(&c->answer);
  MUST(pawl_results_begin(r, (pawl_stmt)0, ncols, err));
  while ((step = sqlite3_step(s)) == SQLITE_ROW) {
    pawl_cell *row = pawl_results_row(r);
    for (int i = 0; i < ncols; i++)
      if (!row || !read_value(c, s, i, &row[i], &seen[i]))
        return pawl_failure_memory(err);
  }
  if (step != SQLITE_DONE) return fail_db(c, "query", err);
  int changed = sqlite3_stmt_readonly(s) ? 0 : sqlite3_changes(c->db);
  MUST(pawl_results_end(r, changed, err));
  for (int i = 0; i < ncols; i++) {
    const char *name = sqlite3_column_name(s, i);
    if (name) name = pawl_results_copy(r, name, strlen(name)).at;
    if (!name) return pawl_failure_memory(err);
    MUST(pawl_answer_column(&c->answer, name, type_of(seen[i]), err));
  }
  return PAWL_OK;
}

static pawl_code toy_query(pawl_conn *c, pawl_query *q, pawl_error *err) {
  int64_t before = 0, after = 0;
  sqlite3_stmt *s = NULL;
  pawl_code rc;
  pawl_toy_called.query++;
  MUST_HOLD(c->unit == PAWL_UNIT_OPEN && !c->failed, "D2 in an OPEN unit");
  c->counts->statements++, c->counts->trips++;
  TRY(count_ours(c, &before, err));
  c->deadline = pawl_clock_mono() + q->limit_us;
  if (q->limit_us > 0) sqlite3_progress_handler(c->db, 100, is_late, c);
  TRY(prepare_query(c, q->sql, &s, err));
  TRY(bind_query(c, s, q, err));
  TRY(read_query(c, s, err));
  pawl_answer_get(&c->answer, q);
  TRY(count_ours(c, &after, err));
  if (before != after)
    rc = pawl_fail_as(err, PAWL_MISUSE, "42501", "",
                      "query: names that begin with pawl_ are pawl's own");
out:
  sqlite3_finalize(s);
  sqlite3_progress_handler(c->db, 0, NULL, NULL);
  c->guard = (pawl_sqguard_state){0};
  return fail_unit(c, rc);
}

/* ---- waiting ---- */

/* What others have committed changes this number. */
static int has_news(pawl_conn *c) {
  sqlite3_stmt *s = NULL;
  int64_t version = c->seen_version;
  if (sqlite3_prepare_v2(c->db, "pragma data_version", -1, &s, NULL) ==
          SQLITE_OK &&
      sqlite3_step(s) == SQLITE_ROW)
    version = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  int is_news = version != c->seen_version;
  c->seen_version = version;
  return is_news;
}

static pawl_code toy_wait(pawl_conn *c, int64_t deadline_mono_us,
                          const volatile int *stop, struct pollfd *fds,
                          int nfds, int *woken, pawl_error *err) {
  pawl_toy_called.wait++;
  (void)err;
  MUST_HOLD(c->unit == NO_UNIT, "D1 nobody waits within a unit");
  MUST_HOLD(nfds >= 1, "fds[0] is the driver's own");
  fds[0].fd = -1;
  while (!(*woken = has_news(c)) && !(stop && *stop)) {
    int64_t left = deadline_mono_us - pawl_clock_mono();
    if (left <= 0) break;
    if (poll(fds, (nfds_t)nfds, left < 10000 ? 1 : 10) > 0) break;
  }
  return PAWL_OK;
}

static pawl_code toy_backup(pawl_conn *c, pawl_copy *copy,
                            const volatile int *stop, pawl_error *err) {
  (void)stop;
  MUST_HOLD(c->unit == PAWL_UNIT_READ, "D1 a READ unit is open");
  return pawl_fail_hint(err, PAWL_UNSUPPORTED, "copy its file",
                        "%s: a toy's store cannot be copied",
                        copy->path ? copy->path : "");
}

static pawl_code toy_restore(pawl_conn *c, pawl_conn *from,
                             const volatile int *stop, int64_t *bytes,
                             pawl_error *err) {
  (void)stop, (void)bytes;
  MUST_HOLD(c->unit == NO_UNIT, "D1 no unit is open");
  MUST_HOLD(!from, "it is asked first whether it can");
  return pawl_fail_hint(err, PAWL_UNSUPPORTED, "put its file back",
                        "a toy's store cannot be restored");
}

static void toy_describe(const char *path, pawl_buf *out) {
  pawl_buf_addz(out, path);
}

static pawl_code toy_check(const char *path, pawl_error *err) {
  if (path[0]) return PAWL_OK;
  return pawl_fail(err, PAWL_INVALID, "toy: a path is wanted");
}

static const pawl_url_kind toy_url = {
    .scheme = "toy:", .form = "toy:PATH", .check = toy_check};

const pawl_driver pawl_driver_toy = {
    .name = "toy",
    .url = &toy_url,
    .describe = toy_describe,
    .caps = PAWL_CAN_SUBMIT,
    .open_limit_us = PAWL_SECOND,
    .sql = pawl_sql_sqlite,
    .migrations = pawl_migrations_sqlite,
    .open = toy_open,
    .close = toy_close,
    .begin = toy_begin,
    .send = toy_send,
    .commit = toy_commit,
    .submit = toy_submit,
    .finish = toy_finish,
    .await = toy_await,
    .rollback = toy_rollback,
    .rows = toy_rows,
    .forget = toy_forget,
    .script = toy_script,
    .query = toy_query,
    .wait = toy_wait,
    .backup = toy_backup,
    .restore = toy_restore,
};
