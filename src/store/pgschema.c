#include "pgschema.h"

#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyz_"
#define LETTERS_AND_DIGITS LETTERS "0123456789"

pawl_code pawl_pgschema_check(const char *name, pawl_error *err) {
  size_t len = strlen(name);
  if (len > 0 && len <= PAWL_PG_SCHEMA_MAX && strchr(LETTERS, name[0]) &&
      strspn(name, LETTERS_AND_DIGITS) == len && strncmp(name, "pg_", 3) != 0)
    return PAWL_OK;
  return pawl_fail_hint(err, PAWL_INVALID,
                        "a to z, 0 to 9 and _, a letter first, not pg_...: "
                        "billing_test",
                        "'%.60s' is no name of a schema", name);
}

static int is_part(char c) {
  return c && (strchr(LETTERS_AND_DIGITS, c) || (c >= 'A' && c <= 'Z'));
}

void pawl_pgschema_put(pawl_buf *out, const char *sql, const char *name) {
  static const char word[] = PAWL_PG_SCHEMA, wake[] = PAWL_PG_SCHEMA "_wake";
  const char *from = sql;
  for (const char *at = sql; (at = strstr(at, word)) != NULL;) {
    const char *end = at + sizeof word - 1;
    char before = at > sql ? at[-1] : 0;
    if (is_part(before)) {
      at = end;
      continue;
    }
    if (strncmp(at, wake, sizeof wake - 1) == 0 &&
        !is_part(at[sizeof wake - 1])) {
      pawl_buf_add(out, from, (size_t)(at - from));
      pawl_buf_addf(out, "%s_wake", name);
      from = at = at + sizeof wake - 1;
      continue;
    }
    if (!is_part(*end)) {
      pawl_buf_add(out, from, (size_t)(at - from));
      pawl_buf_addf(out, before == '\'' && *end == '\'' ? "%s" : "\"%s\"",
                    name);
      from = end;
    }
    at = end;
  }
  pawl_buf_addz(out, from);
}
