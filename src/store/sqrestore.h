/* store/sqrestore.h: a copy takes the place of all that is in a SQLite store.
 *
 *   the copy --> a draft, SQLite's own temporary file: checked, no leases
 *            --> the store, in one transaction of its
 *
 * By SQLite's backup again, the other way: the file that is open stays the file
 * that is open, and so it is with a store in memory, which has none.
 *
 * Layer    for store/sqlite.c.
 * Keeps    B6 all of it or nothing: it is one transaction, whoever dies. It is
 *             on disk when it has returned, whatever commits need be.
 *          B7 what is damaged takes no store's place.
 *          B8 no lease that was stored in the copy counts: who has one of
 *             before can commit nothing into what is there now. */
#ifndef PAWL_STORE_SQRESTORE_H
#define PAWL_STORE_SQRESTORE_H

#include "sqconn.h"

/* No unit is open on `c`, a READ unit on `from`. As driver.h says. */
pawl_code pawl_sqrestore(pawl_sqconn *c, pawl_sqconn *from,
                         const volatile int *stop, int64_t *bytes,
                         pawl_error *err);

/* A store in memory has just been opened with its option `copy`, which is in it
 * without a draft, as there was nothing that could have been lost: B7, B8. On
 * failure it is only to be closed. */
pawl_code pawl_sqrestore_begun(pawl_sqconn *c, pawl_error *err);

#endif
