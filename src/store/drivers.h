/* store/drivers.h: which drivers there are, and whose store a URL names.
 *
 * Keeps    U1 to U3 (url.h). */
#ifndef PAWL_STORE_DRIVERS_H
#define PAWL_STORE_DRIVERS_H

#include "driver.h"

/* In the order they are asked; the last takes every path. */
#ifdef PAWL_POSTGRES
#define PAWL_DRIVERS(X) X(postgres) X(sqlite)
#else
#define PAWL_DRIVERS(X) X(no_postgres) X(sqlite)
#endif

#define PAWL_DRIVER(name) extern const pawl_driver pawl_driver_##name;
PAWL_DRIVERS(PAWL_DRIVER)

#ifdef PAWL_TESTING
/* One more, of a spec's own, for URLs with its scheme; NULL: none. */
extern const pawl_driver *pawl_drivers_extra;
#endif

/* The i-th that is built in or is known not to be; NULL behind the last. */
const pawl_driver *pawl_drivers_at(int i);

/* Splits a URL (as in pawl_open; NULL: "pawl.db") into its driver and what
 * that one opens, a part of the text: a path, a CONNINFO, a whole URL.
 * PAWL_INVALID: see U1; PAWL_UNSUPPORTED: the driver is not built in. */
pawl_code pawl_drivers_pick(const char *url, const pawl_driver **driver,
                            const char **target, pawl_error *err);

#endif
