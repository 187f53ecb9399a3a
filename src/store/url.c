#define _POSIX_C_SOURCE 200809L /* strncasecmp */
#include "url.h"

#include <string.h>
#include <strings.h>

#define SPACE " \t\r\n\v\f"

static int begins(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

int pawl_url_is_postgres(const char *target) {
  return begins(target, "postgres://") || begins(target, "postgresql://");
}

/* ---- what looks like something else ---- */

/* The length of "scheme" in "scheme://...", 0: it is none. */
static int scheme_length(const char *url) {
  static const char CHARS[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
  size_t n = strspn(url, CHARS);
  return n < 30 && begins(url + n, "://") ? (int)n : 0;
}

/* "user:password@" somewhere. A password may have any character in it. */
static int has_login(const char *text) {
  const char *at = strchr(text, ':');
  return at && strchr(at, '@');
}

/* `word`, alone or as the end of another, and a "=" behind it. */
static int is_set(const char *text, const char *word) {
  for (size_t n = strlen(word); *text; text++) {
    if (strncasecmp(text, word, n) != 0) continue;
    if (text[n + strspn(text + n, SPACE)] == '=') return 1;
  }
  return 0;
}

static int has_password(const char *text) {
  return is_set(text, "password") || is_set(text, "passwd") ||
         is_set(text, "pwd");
}

/* A database's scheme with what should stand behind it mistyped:
 * "Postgres:...", "postgresql//...". */
static int has_known_scheme(const char *url) {
  static const char *const KNOWN[] = {
      "postgres", "postgresql", "postgre", "postgress", "pg",    "pgsql",
      "psql",     "pgbouncer",  "citus",   "cockroach", "mysql", "mariadb",
      "mssql",    "sqlserver",  "oracle",  "mongodb",   "redis", "jdbc"};
  for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
    size_t n = strlen(KNOWN[i]);
    if (strncasecmp(url, KNOWN[i], n) == 0 &&
        (url[n] == ':' || url[n] == ';' || begins(url + n, "//")))
      return 1;
  }
  return 0;
}

/* Would libpq take the text for a connection string? One of its settings may
 * stand anywhere in it. */
static int is_conninfo(const char *url) {
  static const char *const KEYS[] = {"host", "hostaddr", "port",   "dbname",
                                     "user", "password", "service"};
  const char *word = url;
  while (*(word += strspn(word, SPACE))) {
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
      const char *at = word + strlen(KEYS[i]);
      if (begins(word, KEYS[i]) && at[strspn(at, SPACE)] == '=') return 1;
    }
    word += strcspn(word, SPACE);
  }
  return 0;
}

int pawl_url_is_port(const char *text) {
  return strspn(text, "0123456789," SPACE) == strlen(text);
}

int pawl_url_is_nested(const char *name) {
  return strstr(name, "://") || strchr(name, '=') || has_login(name);
}

/* ---- refusing ---- */

#define FORMS                                                  \
  "a store is postgres://user@host/database, or a file, PATH " \
  "or sqlite:PATH"

static pawl_code fail_mistyped(pawl_error *err) {
  pawl_fail(err, PAWL_INVALID,
            "the store looks like the URL of a database, mistyped");
  pawl_error_hint(err, "%s", FORMS);
  return PAWL_INVALID;
}

/* What env files, quotes and line ends leave there: it would be of the path's
 * or of the database's name. */
static pawl_code check_ends(const char *url, pawl_error *err) {
  size_t len = strlen(url);
  int front = strspn(url, SPACE) > 0;
  if (!front && (len == 0 || !strchr(SPACE, url[len - 1]))) return PAWL_OK;
  pawl_fail(err, PAWL_INVALID, "the store's URL %s with white space",
            front ? "begins" : "ends");
  pawl_error_hint(err,
                  "take it out where it is set, perhaps in an environment "
                  "file; a URL is postgres://user@host/database, a file "
                  "whose name is so is sqlite:PATH");
  return PAWL_INVALID;
}

/* A URL of something else would be a strange name for a file. */
static pawl_code check_file(const char *url, pawl_error *err) {
  int scheme = scheme_length(url);
  if (scheme) {
    pawl_fail(err, PAWL_INVALID, "there is no kind of store named \"%.*s:\"",
              scheme, url);
    pawl_error_hint(err, "%s", FORMS);
    return PAWL_INVALID;
  }
  if (strstr(url, "://") || has_known_scheme(url)) return fail_mistyped(err);
  if (is_conninfo(url)) {
    pawl_fail(err, PAWL_INVALID,
              "the store is named by a connection string of PostgreSQL alone");
    pawl_error_hint(err,
                    "put postgres: in front of it: postgres:host=... "
                    "dbname=...; a file of that name is sqlite:NAME");
    return PAWL_INVALID;
  }
  return has_login(url) || has_password(url) ? fail_mistyped(err) : PAWL_OK;
}

/* What stands behind "postgres:", where it is no URL: settings, of which libpq
 * knows more than we do, or a name by itself. */
static pawl_code check_conninfo(const char *target, pawl_error *err) {
  const char *word = target + strspn(target, SPACE);
  size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyz_");
  if (len > 0 && word[len + strspn(word + len, SPACE)] == '=') return PAWL_OK;
  if (!strpbrk(target, ":/@?=" SPACE)) return PAWL_OK;
  pawl_fail(err, PAWL_INVALID,
            "the PostgreSQL URL: what follows \"postgres:\" is neither "
            "//host/database, nor settings, nor a database's name");
  pawl_error_hint(err,
                  "postgres://user@host:5432/database, or postgres:host=... "
                  "dbname='...' user=...");
  return PAWL_INVALID;
}

pawl_code pawl_url_read(const char *url, pawl_url_kind *kind,
                        const char **target, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  if (!url) url = "pawl.db";
  *target = url;
  *kind = PAWL_URL_SQLITE;
  if (begins(url, "sqlite:")) {
    *target = url + strlen("sqlite:");
    return PAWL_OK;
  }
  if (begins(url, "./") || begins(url, "../")) return PAWL_OK;
  TRY(check_ends(url, err));
  if (!begins(url, "postgres:") && !pawl_url_is_postgres(url))
    return check_file(url, err);
  *kind = PAWL_URL_POSTGRES;
  if (pawl_url_is_postgres(url)) return PAWL_OK;
  *target = url + strlen("postgres:");
  if (!pawl_url_is_postgres(*target)) rc = check_conninfo(*target, err);
out:
  return rc;
}
