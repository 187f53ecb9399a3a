/* store/migrate.h: which schema a store has, and bringing it up to ours.
 *
 * The table `migration` holds a row for each migration applied (number, name,
 * breaking, applied_at), the table `meta` the number of shards. Every
 * migration runs in a transaction of its own that first takes the schema lock
 * and looks again, so that two programs migrating at once apply each once;
 * those of an empty store share one transaction, so that none is half made.
 * A store with a migration we do not know: PAWL_STORE_NEW when that one is
 * marked breaking, else it is used as it is. An older store: PAWL_STORE_OLD
 * unless asked to migrate; an empty one always gets the whole schema. */
#ifndef PAWL_STORE_MIGRATE_H
#define PAWL_STORE_MIGRATE_H

#include "driver.h"

typedef struct pawl_schema {
  int from, to; /* versions before and after; 0: empty */
  int shards;
} pawl_schema;

typedef struct pawl_migrate_options {
  const pawl_alloc *alloc;
  const pawl_clock *clock; /* for applied_at */
  int upgrade;             /* bring an older store up to date */
  int create;              /* -1 refuses an empty store */
  int shards;              /* of a store made now; 0: 1 */
  int only_looks;          /* change nothing, whatever is found; from 0: it is
                              empty, and `shards` are those it would get */
} pawl_migrate_options;

pawl_code pawl_migrate_run(const pawl_driver *driver, pawl_conn *conn,
                           const pawl_migrate_options *options,
                           pawl_schema *out, pawl_error *err);

#endif
