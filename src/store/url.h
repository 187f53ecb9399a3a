/* store/url.h: what kind of store a URL names.
 *
 * Layer    above base, below the drivers. Opens nothing.
 * Keeps    U1 a text that looks like a database's connection URL or string,
 *             but cannot be read as one, is refused rather than taken for a
 *             file or a database of that name: a password in it would be
 *             shown wherever the store is named, and lie in the folder.
 *          U2 what a path begins with (sqlite:, ./, ../) makes any text that
 *             follows a path.
 *          U3 no error of ours quotes what may be of a password. */
#ifndef PAWL_STORE_URL_H
#define PAWL_STORE_URL_H

#include "../base/error.h"

typedef enum pawl_url_kind {
  PAWL_URL_SQLITE,
  PAWL_URL_POSTGRES
} pawl_url_kind;

/* Splits it into its kind and what the driver opens, a part of `url`: a path;
 * a postgres:// URL, whole; a CONNINFO; or a database's name. */
pawl_code pawl_url_read(const char *url, pawl_url_kind *kind,
                        const char **target, pawl_error *err);

/* "postgres://..." as libpq reads it. */
int pawl_url_is_postgres(const char *target);

/* Does a text that should be a name (of a host, a database, a user) look like
 * a whole connection URL or string? */
int pawl_url_is_nested(const char *name);

/* A port's number, or one for each host: without the "@" behind it a password
 * is read as one. */
int pawl_url_is_port(const char *text);

#endif
