/* store/sqbackup.h: a copy of a SQLite store that is in use.
 *
 * Page by page with SQLite's online backup, while a read transaction is open:
 * the copy is the store as it was when that began, whoever writes meanwhile,
 * and a writer does not make it begin anew (decision 0038).
 *
 * Layer    for store/sqlite.c.
 * Keeps    B3 nothing stands at the copy's path but a whole copy, on disk:
 *             until then it is "<path>-pawl-part", which goes when the backup
 *             fails, and which the next one takes over when a process died.
 *          B4 no file is overwritten, but where that is asked for a store
 *             that nobody has open: it gives way to the whole copy in one step,
 *             so that at any moment the one or the other is there. None is put
 *             beside a log (-wal) that SQLite would take for its own.
 *          B5 two that copy to one path at once: one is told PAWL_BUSY. */
#ifndef PAWL_STORE_SQBACKUP_H
#define PAWL_STORE_SQBACKUP_H

#include "sqconn.h"

enum { PAWL_SQ_STEP_PAGES = 256 }; /* between looks at *stop: 1 MB */

/* Inside a READ unit, whose view is what is copied. As driver.h says. */
pawl_code pawl_sqbackup(pawl_sqconn *c, pawl_copy *copy,
                        const volatile int *stop, pawl_error *err);
/* The same into memory. */
pawl_code pawl_sqbackup_bytes(pawl_sqconn *c, pawl_copy *copy,
                              const volatile int *stop, pawl_error *err);
/* Copies all pages of a database to another one; `fault` is a point of
 * base/fault.h, `name` the target's, for messages. */
pawl_code pawl_sqbackup_pages(sqlite3 *to, sqlite3 *from, const char *name,
                              const char *fault, const volatile int *stop,
                              pawl_error *err);

#endif
