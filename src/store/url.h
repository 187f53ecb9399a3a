/* store/url.h: what a text that names a store looks like.
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

/* What the URLs of one kind of store are; a fact of its driver. */
typedef struct pawl_url_kind {
  const char *scheme; /* "sqlite:": what is behind it is opened */
  const char *form;   /* for hints: "postgres://user@host/database" */
  /* Is it opened as it is? NULL: none is. */
  int (*is_whole)(const char *url);
  /* What is behind the scheme: U1. NULL: any text is right there, and the
   * kind takes texts without a scheme, too. */
  pawl_code (*check)(const char *target, pawl_error *err);
  /* A text without a scheme that is meant for this kind: U1. */
  pawl_code (*check_bare)(const char *url, pawl_error *err);
} pawl_url_kind;

#define PAWL_URL_SPACE " \t\r\n\v\f"

int pawl_url_begins(const char *text, const char *with);
/* The length of "scheme" in "scheme://...", 0: it is none. */
int pawl_url_scheme(const char *url);
/* Does it look like a database's URL with something mistyped, or like what a
 * password is in? */
int pawl_url_is_mistyped(const char *url);
int pawl_url_has_secret(const char *url);

/* Does a text that should be a name (of a host, a database, a user) look like
 * a whole connection URL or string? */
int pawl_url_is_nested(const char *name);

/* A port's number, or one for each host: without the "@" behind it a password
 * is read as one. */
int pawl_url_is_port(const char *text);

#endif
