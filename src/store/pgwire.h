/* store/pgwire.h: values as a PostgreSQL server has them.
 *
 * They go and come in binary, except numeric, which goes as text; a user's own
 * statement has text both ways, as only the server knows its types.
 *
 * Layer    for store/postgres.c, above store/pgconn.h; sends nothing.
 * Owns     nothing: what is encoded is in `bytes`, until they are used again;
 *          cells point into the result they were read from, which stays with
 *          the caller as long as they do. */
#ifndef PAWL_STORE_PGWIRE_H
#define PAWL_STORE_PGWIRE_H

#include "pgconn.h"
#include "results.h"

/* A statement's arguments in libpq's form. What is encoded is in `bytes`,
 * which moves while it grows: `at` is where, until all is there. */
typedef struct pawl_pgparams {
  int n;
  Oid types[PAWL_MAX_ARGS];
  const char *values[PAWL_MAX_ARGS];
  size_t at[PAWL_MAX_ARGS];
  int is_encoded[PAWL_MAX_ARGS];
  int lengths[PAWL_MAX_ARGS];
  int formats[PAWL_MAX_ARGS];
} pawl_pgparams;

pawl_code pawl_pgwire_encode(pawl_buf *bytes, const pawl_args *args,
                             pawl_pgparams *out, pawl_error *err);
/* In text, of types the server finds out; bytes alone are binary. */
pawl_code pawl_pgwire_encode_query(pawl_buf *bytes, const pawl_query *q,
                                   pawl_pgparams *out, pawl_error *err);

/* Does a statement give the columns it declares? */
pawl_code pawl_pgwire_check(pawl_stmt which, const PGresult *res,
                            pawl_error *err);
/* Adds a result of such a statement; `bytes` are used on the way. */
pawl_code pawl_pgwire_add_rows(pawl_buf *bytes, pawl_stmt which, int counted,
                               PGresult *res, pawl_results *to,
                               pawl_error *err);
pawl_code pawl_pgwire_decode_query(PGresult *res, pawl_answer *out,
                                   pawl_error *err);

#endif
