#include "sqguard.h"

#include <sqlite3.h>
#include <stdio.h>

static int is_ours(const char *name) {
  return name && sqlite3_strnicmp(name, "pawl_", 5) == 0;
}

/* Pragmas that only look, and not at all of the file: that is one operation,
 * which no limit of time would end. */
static int is_harmless_pragma(const char *name) {
  static const char *const names[] = {
      "table_info", "table_xinfo", "table_list",
      "index_list", "index_info",  "foreign_key_list",
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (sqlite3_stricmp(name, names[i]) == 0) return 1;
  return 0;
}

/* Why the user's statement may not do this; NULL: it may. */
static const char *objection(int action, const char *a, const char *b) {
  switch (action) {
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
      return "it cannot begin, end or divide its transaction";
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
      return "databases cannot be attached or detached";
    case SQLITE_PRAGMA:
      return is_harmless_pragma(a) ? NULL : "pragmas are not allowed";
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return NULL;
    case SQLITE_FUNCTION:
      return is_ours(b) ? "pawl's own functions are not to be called" : NULL;
  }
  /* What is left writes or declares; a and b name what. */
  return is_ours(a) || is_ours(b) ? "pawl's own tables can only be read"
                                  : NULL;
}

int pawl_sqguard(void *ud, int action, const char *a, const char *b,
                 const char *schema, const char *trigger) {
  pawl_sqguard_state *state = ud;
  (void)schema;
  (void)trigger;
  if (!state->is_on && state->lent == PAWL_LENT_NOT) return SQLITE_OK;
  if (action == SQLITE_ALTER_TABLE) state->alters = 1;
  const char *why = state->lent == PAWL_LENT_OVER ? "its transaction is over"
                                                  : objection(action, a, b);
  if (!why) return SQLITE_OK;
  snprintf(state->refused, sizeof state->refused, "%s", why);
  return SQLITE_DENY;
}
