/* store/sqmend.h: a SQLite log whose sync has failed once is written anew.
 *
 * Behind a sync that fails, what was to be synced counts as clean in the
 * system's memory, though no disk may have it, and the next sync succeeds
 * without it ("fsyncgate"). SQLite finds what is committed in a log by walking
 * it from its beginning: what is lost in the middle takes all that came behind
 * it along. So once a sync has failed nothing may be told to be on disk, nor
 * be put into the file, before the log was written again, the same bytes at the
 * same places, and synced: those writes fail where the disk does. They are
 * verified by the log's own sums first, as some systems forget what they could
 * not write.
 *
 * Layer    for store/sqconn.c.
 * Owns     a descriptor of the log during the call: SQLite locks no byte of
 *          it. */
#ifndef PAWL_STORE_SQMEND_H
#define PAWL_STORE_SQMEND_H

#include <sqlite3.h>

#include "../base/alloc.h"

typedef enum pawl_sqmended {
  PAWL_SQMENDED, /* all that is committed in it is on disk */
  PAWL_SQMEND_FAILED,
  PAWL_SQMEND_LOST /* it is not what was committed any more */
} pawl_sqmended;

/* The log at `path`, of the database that is open as `db`, whose lock for
 * writing is held here. FAILED: *why is an errno. */
pawl_sqmended pawl_sqmend(sqlite3 *db, const char *path,
                          const pawl_alloc *alloc, int *why);

#endif
