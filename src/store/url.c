#define _POSIX_C_SOURCE 200809L /* strncasecmp */
#include "url.h"

#include <string.h>
#include <strings.h>

#define SPACE PAWL_URL_SPACE

int pawl_url_begins(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

int pawl_url_scheme(const char *url) {
  static const char CHARS[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
  size_t n = strspn(url, CHARS);
  return n < 30 && pawl_url_begins(url + n, "://") ? (int)n : 0;
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

int pawl_url_has_secret(const char *text) {
  return has_login(text) || is_set(text, "password") ||
         is_set(text, "passwd") || is_set(text, "pwd");
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
        (url[n] == ':' || url[n] == ';' || pawl_url_begins(url + n, "//")))
      return 1;
  }
  return 0;
}

int pawl_url_is_mistyped(const char *url) {
  return strstr(url, "://") || has_known_scheme(url);
}

int pawl_url_is_port(const char *text) {
  return strspn(text, "0123456789," SPACE) == strlen(text);
}

int pawl_url_is_nested(const char *name) {
  return strstr(name, "://") || strchr(name, '=') || has_login(name);
}
