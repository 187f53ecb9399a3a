/* store/sqturns.h: how many instances a statement has taken from one status to
 * another, on SQLite, where it runs once for each of them.
 *
 * Statements that write a status call the SQL function
 *
 *   pawl_turned(shard, workflow, version, was, was_node, status, node, at)
 *
 * which gives 1, and notes it; at the end of them all the driver adds what was
 * noted to `counter`, one row for each kind of turn. A trigger would do that for
 * each instance, and costs more than the rest of the update (0045).
 *
 * Layer    for store/sqlite.c and sqconn.c, see sqconn.h.
 * Owns     what it has noted, until clear or deinit.
 * Errors   a statement in which there is no memory fails with SQLITE_NOMEM. */
#ifndef PAWL_STORE_SQTURNS_H
#define PAWL_STORE_SQTURNS_H

#include <sqlite3.h>

#include "../base/buf.h"
#include "stmt.h"

typedef struct pawl_sqturn {
  int64_t shard, version, minute, amount;
  size_t words, nwords; /* in the list's text, each with a 0 behind it */
} pawl_sqturn;

typedef struct pawl_sqturns {
  const pawl_alloc *alloc;
  pawl_sqturn *list;
  int n, max;
  pawl_buf text;
} pawl_sqturns;

void pawl_sqturns_init(pawl_sqturns *t, const pawl_alloc *alloc);
void pawl_sqturns_deinit(pawl_sqturns *t);
void pawl_sqturns_clear(pawl_sqturns *t);

/* Makes the function known to a connection; SQLite's result code. */
int pawl_sqturns_install(pawl_sqturns *t, sqlite3 *db);

/* The arguments by which the k-th kind is added to `counter`: *args is begun
 * anew, and borrows from the list until clear. */
void pawl_sqturns_put(const pawl_sqturns *t, int k, pawl_args *args);

#endif
