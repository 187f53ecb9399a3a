/* store/stmt.h: the catalogue of named statements, and their arguments.
 *
 * The SQL itself is in sql/<dialect>/<table>.sql; sql/embed.lua makes
 * "pawl_sql.h" (the enums below) and one C table a dialect of it when the
 * project is built. C holds no SQL text.
 *
 *   PAWL_STMT_AGENDA_CLAIM          the statement
 *   PAWL_AGENDA_CLAIM_SHARD         argument @shard of it: 0, 1, 2...
 *   PAWL_AGENDA_CLAIM_R_INSTANCE    column `instance` of its rows
 *
 * An argument declared with [] is a column of values, one a row: PostgreSQL
 * gets arrays and runs the statement once, SQLite runs it once a row (rows it
 * returns are joined). All columns of one statement have the same length; a
 * statement sent with no rows in its columns is skipped, its result is empty.
 * A statement with `-- run: once` in SQLite's file gets its columns as JSON
 * arrays in text instead: numbers, booleans as 0 and 1, everything else as
 * strings (JSON too); columns of ids and bytes are refused by embed.lua.
 * A statement with `-- every: row` fails its unit with PAWL_LEASE_LOST when one
 * of its rows changes nothing: what follows it in the unit needs no guard. */
#ifndef PAWL_STORE_STMT_H
#define PAWL_STORE_STMT_H

#include "../base/buf.h"
#include "../base/id.h"
#include "pawl_sql.h"

typedef enum pawl_type {
  PAWL_T_BOOL,
  PAWL_T_INT,
  PAWL_T_FLOAT,
  PAWL_T_TEXT,
  PAWL_T_JSON,
  PAWL_T_UUID,
  PAWL_T_TIME,
  PAWL_T_BYTES,
  PAWL_T_NUMERIC
} pawl_type;

typedef struct pawl_param {
  const char *name;
  pawl_type type;
  int bits;     /* of PAWL_T_INT: 16, 32, 64 */
  int is_array; /* a column */
} pawl_param;

typedef struct pawl_stmt_info {
  const char *name; /* "agenda_claim": also the prepared statement's */
  const pawl_param *args;
  int nargs;
  const pawl_param *cols;
  int ncols;
  int every; /* each row of arguments must change a row */
} pawl_stmt_info;

/* Generated; indexed by pawl_stmt. */
extern const pawl_stmt_info pawl_stmts[PAWL_NSTMTS];
/* Generated, by dialect: arguments as $1... in both. */
typedef struct pawl_sql {
  const char *text;
  int once; /* SQLite only: arrays as JSON text */
} pawl_sql;
extern const pawl_sql pawl_sql_sqlite[PAWL_NSTMTS];
extern const pawl_sql pawl_sql_postgres[PAWL_NSTMTS];

typedef struct pawl_migration {
  int number;
  const char *name; /* "0001_first" */
  int breaking;     /* older programs must not open the store */
  const char *text;
} pawl_migration;
extern const pawl_migration pawl_migrations_sqlite[];
extern const pawl_migration pawl_migrations_postgres[];
extern const int pawl_nmigrations;

/* One value. Bytes are borrowed: an argument's until the statement has been
 * sent, a result's until its transaction's results are dropped. */
typedef struct pawl_cell {
  int is_null;
  int64_t i;  /* BOOL, INT, TIME (microseconds) */
  double d;   /* FLOAT */
  pawl_str s; /* TEXT, JSON, BYTES, NUMERIC (decimal text), UUID (16 bytes) */
} pawl_cell;

typedef struct pawl_column {
  pawl_cell *cells; /* one for a scalar */
  int n, cap;
  int is_array;  /* as its argument was declared */
  unsigned type; /* its bit */
} pawl_column;

#define PAWL_MAX_ARGS 40

/* The arguments of one execution; reusable, keeps its memory. */
typedef struct pawl_args {
  const pawl_alloc *alloc;
  pawl_stmt stmt;
  int nargs;
  int failed; /* out of memory: send reports it */
  pawl_column cols[PAWL_MAX_ARGS];
} pawl_args;

void pawl_args_init(pawl_args *a, const pawl_alloc *alloc);
void pawl_args_deinit(pawl_args *a);
/* Begins the arguments of `stmt`: every scalar NULL, every column empty. */
void pawl_args_begin(pawl_args *a, pawl_stmt stmt);
/* Each sets a scalar, or appends to a column. `arg`: PAWL_<STMT>_<ARG>. The
 * declared type is asserted. Bytes are borrowed. */
void pawl_arg_int(pawl_args *a, int arg, int64_t v); /* INT, BOOL */
void pawl_arg_time(pawl_args *a, int arg, int64_t us);
void pawl_arg_float(pawl_args *a, int arg, double v);
void pawl_arg_str(pawl_args *a, int arg,
                  pawl_str v); /* TEXT JSON BYTES NUMERIC; at NULL: null */
void pawl_arg_textz(pawl_args *a, int arg, const char *v); /* NULL: null */
void pawl_arg_id(pawl_args *a, int arg, const pawl_id *v); /* NULL: null */
void pawl_arg_null(pawl_args *a, int arg);
/* Rows of the columns; 1 for a statement without columns. */
int pawl_args_rows(const pawl_args *a);
/* What no database could give back as it was: PAWL_VALUE with where = the
 * argument (text with a zero byte or invalid UTF-8, a number out of its
 * column's range, NaN, a decimal not written plainly like -12.50). PAWL_NOMEM
 * when an append failed, PAWL_INTERNAL when columns differ in length. The
 * store asks before every send. */
pawl_code pawl_args_check(const pawl_args *a, pawl_error *err);

/* The rows one statement gave; borrowed from the connection. */
typedef struct pawl_rows {
  pawl_stmt stmt;
  int nrows, ncols;
  int64_t changed;        /* rows inserted, updated or deleted */
  const pawl_cell *cells; /* nrows * ncols, row by row */
} pawl_rows;

static inline const pawl_cell *pawl_rows_cell(const pawl_rows *r, int row,
                                              int col) {
  return &r->cells[(size_t)row * (size_t)r->ncols + (size_t)col];
}
static inline int pawl_row_null(const pawl_rows *r, int row, int col) {
  return pawl_rows_cell(r, row, col)->is_null;
}
static inline int64_t pawl_row_int(const pawl_rows *r, int row, int col) {
  return pawl_rows_cell(r, row, col)->i; /* 0 when null */
}
/* {NULL, 0} when null. */
static inline pawl_str pawl_row_str(const pawl_rows *r, int row, int col) {
  return pawl_rows_cell(r, row, col)->s;
}
void pawl_row_id(const pawl_rows *r, int row, int col, pawl_id *out);

#endif
