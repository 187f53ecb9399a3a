/* store/pgconn.h: a connection to a PostgreSQL server, before and below what
 * is asked of it.
 *
 * Layer    for store/postgres.c and store/pgwire.c; libpq-fe.h is seen by
 *          these three alone.
 * Network  The socket is non-blocking, and results are read while a batch is
 *          still being sent: with megabytes on the way, both sides would wait
 *          for each other otherwise.
 * Loading  libpq is loaded when the first postgres: URL is opened: it brings
 *          some twenty libraries along that a SQLite program has no use for.
 * Secrets  libpq's messages may quote the connection string, a mistyped
 *          password included. Of what they quote, hosts and names are left in
 *          where no password can be, and whatever the server said. */
#ifndef PAWL_STORE_PGCONN_H
#define PAWL_STORE_PGCONN_H

#include <libpq-fe.h>

#include "../base/buf.h"

/* clang-format off */
#define PAWL_LIBPQ(X)                                                     \
  X(backendPID) X(clear) X(cmdStatus) X(cmdTuples) X(connectdbParams)     \
  X(conninfoFree) X(conninfoParse) X(connectionNeedsPassword)             \
  X(consumeInput) X(enterPipelineMode) X(errorMessage)                    \
  X(exitPipelineMode) X(finish) X(flush) X(fname) X(freemem) X(ftype)     \
  X(getResult) X(getisnull) X(getlength) X(getvalue) X(isBusy)            \
  X(libVersion) X(nfields) X(notifies) X(ntuples) X(pipelineSync)         \
  X(reset) X(resultErrorField) X(resultErrorMessage) X(resultStatus)      \
  X(sendPrepare)                                                          \
  X(sendQuery) X(sendQueryParams) X(sendQueryPrepared) X(serverVersion)   \
  X(setErrorVerbosity) X(setNoticeReceiver) X(setnonblocking) X(socket)   \
  X(status) X(transactionStatus)
/* clang-format on */

/* libpq's functions without their PQ, once pawl_pgconn_load has found them. */
#define PAWL_LIBPQ_MEMBER(name) __typeof__(PQ##name) *name;
typedef struct pawl_libpq {
  PAWL_LIBPQ(PAWL_LIBPQ_MEMBER)
} pawl_libpq;
extern pawl_libpq pawl_pq;

/* Finds libpq. PAWL_UNSUPPORTED: there is none, or it is too old. */
pawl_code pawl_pgconn_load(pawl_error *err);

/* Appends what may be shown of a connection string. */
void pawl_pgconn_describe(const char *target, pawl_buf *out);

/* Connects, and leaves the session in pipeline mode, its socket non-blocking,
 * its notices unheard. What came of a failure is in *out, too, for the caller
 * to finish; NULL: there was no memory. */
pawl_code pawl_pgconn_open(const pawl_alloc *alloc, const char *target,
                           PGconn **out, pawl_error *err);

/* Sends what is buffered and reads what comes, until all is sent, or a result
 * can be had without blocking. False: the connection is lost. */
typedef enum pawl_pgconn_goal {
  PAWL_PG_SENT,
  PAWL_PG_ANSWERED
} pawl_pgconn_goal;
int pawl_pgconn_pump(PGconn *pg, pawl_pgconn_goal until);

/* What a lost connection looks like from here: for tests. An answer that has
 * come already goes with it. */
void pawl_pgconn_cut(PGconn *pg);

/* Did libpq find no memory: in place of an answer, or for what it was to send
 * or read? */
int pawl_pgconn_is_short_answer(const PGresult *res);
int pawl_pgconn_is_short(const PGconn *pg);

/* A failure by the server's answer, `what` failed; and of a connection that is
 * gone. */
pawl_code pawl_pgconn_fail_result(const char *what, const PGresult *res,
                                  pawl_error *err);
pawl_code pawl_pgconn_fail_lost(const char *why, pawl_error *err);

#endif
