#include "pgurl.h"

#include <string.h>

#define SPACE PAWL_URL_SPACE

int pawl_pgurl_is_whole(const char *url) {
  return pawl_url_begins(url, "postgres://") ||
         pawl_url_begins(url, "postgresql://");
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
      if (pawl_url_begins(word, KEYS[i]) && at[strspn(at, SPACE)] == '=')
        return 1;
    }
    word += strcspn(word, SPACE);
  }
  return 0;
}

/* One without "postgres:" in front. */
static pawl_code check_bare(const char *url, pawl_error *err) {
  if (!is_conninfo(url)) return PAWL_OK;
  return pawl_fail_hint(
      err, PAWL_INVALID,
      "put postgres: in front of it: postgres:host=... dbname=...; a file of "
      "that name is sqlite:NAME",
      "the store is named by a connection string of PostgreSQL alone");
}

/* What stands behind "postgres:", where it is no URL: settings, of which libpq
 * knows more than we do, or a name by itself. */
static pawl_code check_conninfo(const char *target, pawl_error *err) {
  const char *word = target + strspn(target, SPACE);
  size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyz_");
  if (len > 0 && word[len + strspn(word + len, SPACE)] == '=') return PAWL_OK;
  if (!strpbrk(target, ":/@?=" SPACE)) return PAWL_OK;
  return pawl_fail_hint(
      err, PAWL_INVALID,
      "postgres://user@host:5432/database, or postgres:host=... "
      "dbname='...' user=...",
      "the PostgreSQL URL: what follows \"postgres:\" is neither "
      "//host/database, nor settings, nor a database's name");
}

const pawl_url_kind pawl_pgurl = {
    .scheme = "postgres:",
    .form = "postgres://user@host/database",
    .is_whole = pawl_pgurl_is_whole,
    .check = check_conninfo,
    .check_bare = check_bare,
};
