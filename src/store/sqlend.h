/* store/sqlend.h: a SQLite connection in the hands of the program.
 *
 * Layer    for store/sqlite.c, over sqconn and sqguard.
 * Lent     While a transaction is held the program may have the connection
 *          itself, for statements by SQLite's own functions. The guard then
 *          says no to what it says no to in a query; behind the transaction it
 *          says no to everything, and a statement that was prepared before and
 *          would write is undone as it commits.
 * Keeps    G8 a connection is lent only while no call of ours is under way.
 *          G9 what we ask afterwards is asked in the transaction that we began,
 *             or not at all. */
#ifndef PAWL_STORE_SQLEND_H
#define PAWL_STORE_SQLEND_H

#include "sqconn.h"

/* From hand to hand (driver.h). On failure it is ours again. */
pawl_code pawl_sqlend(pawl_sqconn *c, pawl_lent to, pawl_error *err);
/* Before the unit is committed: is none of the program's statements halfway? */
pawl_code pawl_sqlend_check(pawl_sqconn *c, pawl_error *err);

#endif
