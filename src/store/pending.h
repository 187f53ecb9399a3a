/* store/pending.h: what `migrate` would do to a store, as SQL for somebody
 * else to run: an administrator whose rights the program has not.
 *
 * Layer    store: above the drivers' contract, beside migrate.c. Sends nothing.
 * Keeps    S6 run by hand in one transaction, it leaves what migrate.c leaves:
 *             the same scripts, and the rows that it would have written. Whoever
 *             else has migrated meanwhile makes it fail as a whole: tables, or
 *             a row of `migration`, are there already. */
#ifndef PAWL_STORE_PENDING_H
#define PAWL_STORE_PENDING_H

#include "migrate.h"

/* Appends JSON: {"store":"postgres","schema":NAME,"from":n,"to":n,"shards":n,
 * "migrations":[{"number":n,"name":TEXT,"breaking":bool,"sql":TEXT},...]}, those
 * above found->from. `schema` NULL: the driver's own. */
pawl_code pawl_pending(const pawl_driver *driver, const char *schema,
                       const pawl_schema *found, const pawl_clock *clock,
                       pawl_buf *out, pawl_error *err);

#endif
