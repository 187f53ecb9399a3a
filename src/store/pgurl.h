/* store/pgurl.h: which texts are URLs of PostgreSQL.
 *
 * Built with and without the driver: who names a PostgreSQL where there is
 * none is told so, rather than given a file of that name.
 *
 * Keeps    U1 to U3 (url.h). */
#ifndef PAWL_STORE_PGURL_H
#define PAWL_STORE_PGURL_H

#include "url.h"

/* A postgres:// URL, whole; a CONNINFO or a database's name behind
 * "postgres:". */
extern const pawl_url_kind pawl_pgurl;

/* "postgres://..." as libpq reads it. */
int pawl_pgurl_is_whole(const char *url);

#endif
