/* store/stmt.h: the catalogue of named statements, what they are given and
 * what they give.
 *
 * The SQL itself is in sql/<dialect>/<table>.sql; sql/embed.lua makes
 * "pawl_sql.h" (the structs below) and one C table a dialect of it when the
 * project is built. C holds no SQL text.
 *
 *   PAWL_STMT_agenda_claim      the statement
 *   pawl_agenda_claim_args      a struct of its arguments: .shard is @shard
 *   pawl_agenda_claim_row       a struct of its rows' columns
 *   pawl_read_agenda_claim(&rows, k)   the k-th row that it gave
 *
 * Members, in arguments and in rows, and what is null there:
 *
 *   text json bytes numeric   pawl_str          at is NULL
 *   uuid                      const pawl_id *   NULL
 *   float                     double            NaN
 *   integers, boolean, time   int64_t           in rows 0; an argument has
 *                                               none
 *     declared `integer?`                       0, in arguments
 *     declared `integer??`                      PAWL_NULL, in both: for what
 *                                               0 is a value of
 *
 * so that a member that is not named is null, where that may be, else 0.
 *
 * An argument declared with [] is a column of values, one a row: PostgreSQL
 * gets arrays and runs the statement once, SQLite runs it once a row (rows it
 * returns are joined). Each struct put adds one row to the columns; the
 * scalars are those of the first one. A statement sent with no rows in its
 * columns is skipped, its result is empty.
 * A statement with `-- run: once` in SQLite's file gets its columns as JSON
 * arrays in text instead: numbers, booleans as 0 and 1, everything else as
 * strings (JSON too); columns of ids and bytes are refused by embed.lua.
 * A statement with `-- every: row` fails its unit with PAWL_LEASE_LOST when one
 * of its rows changes nothing: what follows it in the unit needs no guard. */
#ifndef PAWL_STORE_STMT_H
#define PAWL_STORE_STMT_H

#include "../base/buf.h"
#include "../base/id.h"
#include "../value/object.h"
#include "pawl_sql.h"
#include "sqltext.h"

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

/* Which numbers are null, of booleans, integers and times. */
typedef enum pawl_nulls {
  PAWL_NULL_NEVER,
  PAWL_NULL_IS_ZERO,
  PAWL_NULL_IS_MARK
} pawl_nulls;

typedef struct pawl_param {
  const char *name;   /* there are thousands of these, hence the small ones */
  unsigned char type; /* a pawl_type */
  unsigned char bits; /* of PAWL_T_INT: 16, 32, 64 */
  unsigned char is_array; /* a column */
  unsigned char nulls;    /* a pawl_nulls */
  uint16_t offset;        /* in its struct */
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
typedef struct pawl_sql {
  pawl_sqltext text;
  int once; /* SQLite only: arrays as JSON text */
} pawl_sql;

typedef struct pawl_migration {
  int number;
  const char *name; /* "0001_first" */
  int breaking;     /* older programs must not open the store */
  pawl_sqltext text;
} pawl_migration;
/* Generated, by dialect (a folder below sql/): pawl_sql_sqlite,
 * pawl_migrations_sqlite... */
#define PAWL_DIALECT(name)                            \
  extern const pawl_sql pawl_sql_##name[PAWL_NSTMTS]; \
  extern const pawl_migration pawl_migrations_##name[];
PAWL_DIALECTS(PAWL_DIALECT)
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
} pawl_column;

#define PAWL_MAX_ARGS 64

/* The arguments of one execution; reusable, keeps its memory. */
typedef struct pawl_args {
  const pawl_alloc *alloc;
  pawl_stmt stmt;
  int failed; /* out of memory: send reports it */
  int has_scalars;
  int counted; /* of the rows that it gives only how many is asked for: their
                  cells may be left out; for after pawl_args_begin */
  pawl_column cols[PAWL_MAX_ARGS];
} pawl_args;

void pawl_args_init(pawl_args *a, const pawl_alloc *alloc);
void pawl_args_deinit(pawl_args *a);
/* Begins the arguments of `stmt`: every column is empty, and nothing is set. */
void pawl_args_begin(pawl_args *a, pawl_stmt stmt);
/* Adds one row of `stmt`'s struct of arguments: of the statement that was
 * begun, or of one that shares its arguments. Bytes are borrowed. */
void pawl_args_put(pawl_args *a, pawl_stmt stmt, const void *row);
/* PAWL_PUT(a, agenda_finish, .id = &h->id, .lease = &h->lease); */
#define PAWL_PUT(a, stmt, ...) \
  pawl_args_put(a, PAWL_STMT_##stmt, &(const pawl_##stmt##_args){__VA_ARGS__})

/* The same of one argument, by its place: for who knows no struct, as the
 * probe of the specs. A scalar's value, or one more of a column's. */
void pawl_args_add(pawl_args *a, int arg, const pawl_cell *cell);
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
  const pawl_cell *cells; /* nrows * ncols, row by row; ncols may be 0 where
                             they are counted */
} pawl_rows;

/* Copies all rows, with what they borrow, to `keep`, instead of what it held,
 * so that they outlive their unit: PAWL_KEPT is the array of their structs.
 * Text ends with a zero byte there. PAWL_NOMEM. */
pawl_code pawl_rows_keep(const pawl_rows *r, pawl_stmt stmt, size_t size,
                         pawl_buf *keep, pawl_error *err);
/* TRY(PAWL_KEEP(task_get, &rows, &keep, err)); PAWL_KEPT(task_get, &keep)[k] */
#define PAWL_KEEP(stmt, rows, keep, err) \
  pawl_rows_keep(rows, PAWL_STMT_##stmt, sizeof(pawl_##stmt##_row), keep, err)
#define PAWL_KEPT(stmt, keep) \
  ((const pawl_##stmt##_row *)(const void *)(keep)->at)

static inline const pawl_cell *pawl_rows_cell(const pawl_rows *r, int row,
                                              int col) {
  return &r->cells[(size_t)row * (size_t)r->ncols + (size_t)col];
}

/* What a user's statement may touch: asked for each table that it reads or
 * writes, by whatever way. */
typedef struct pawl_tables {
  int (*may)(const void *ud, const char *table, int writes);
  const void *ud;
} pawl_tables;

/* A user's own statement, and what it gave: borrowed until the next one. */
typedef struct pawl_query {
  pawl_str sql;
  const pawl_tables *tables; /* NULL: any; else PAWL_UNSUPPORTED where the
                                driver cannot say (PAWL_CAN_TABLES) */
  const pawl_cell *params;
  const pawl_type *types; /* of the parameters */
  int nparams;
  int64_t limit_us;  /* it is stopped then; 0: never */
  size_t most_bytes; /* of all its rows; 0: any */
  pawl_rows rows;
  const char *const *names; /* of the columns */
  const pawl_type *col_types;
} pawl_query;

#endif
