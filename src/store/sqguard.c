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

/* What SQLite's own virtual tables (FTS5, R-tree) ask as they are made, read or
 * written; a value would set it. */
static int is_asked_by_tables(const char *name, const char *value) {
  return !value && name &&
         (sqlite3_stricmp(name, "data_version") == 0 ||
          sqlite3_stricmp(name, "page_size") == 0);
}

/* Takes the address of code from a statement, and gives away such ones. */
static int is_unsafe_function(const char *name) {
  return name && sqlite3_stricmp(name, "fts3_tokenizer") == 0;
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
      return is_harmless_pragma(a) || is_asked_by_tables(a, b)
                 ? NULL
                 : "pragmas are not allowed";
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return NULL;
    case SQLITE_FUNCTION:
      if (is_unsafe_function(b)) return "addresses of code are not allowed";
      return is_ours(b) ? "pawl's own functions are not to be called" : NULL;
  }
  /* What is left writes or declares; a and b name what. */
  return is_ours(a) || is_ours(b) ? "pawl's own tables can only be read"
                                  : NULL;
}

/* ---- of some tables alone ---- */

static int is_name(const char *name, const char *const *names, size_t n) {
  for (size_t i = 0; name && i < n; i++)
    if (sqlite3_stricmp(name, names[i]) == 0) return 1;
  return 0;
}
#define IS_ONE_OF(name, ...)                        \
  is_name(name, (const char *const[]){__VA_ARGS__}, \
          sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Functions that are read as tables, and what SQLite does of its own accord
 * when one is used first: nobody else may write its catalogue. */
static int is_of_nobody(int action, const char *a, const char *b) {
  if (action == SQLITE_READ && IS_ONE_OF(a, "json_each", "json_tree"))
    return 1;
  return IS_ONE_OF(a, "sqlite_master", "sqlite_schema") &&
         (action == SQLITE_UPDATE ||
          (action == SQLITE_READ && IS_ONE_OF(b, "ROWID")));
}

static int is_granted(const pawl_tables *t, const char *table, int writes) {
  return table && !is_ours(table) &&
         sqlite3_strnicmp(table, "sqlite_", 7) != 0 &&
         t->may(t->ud, table, writes);
}

/* Through views, triggers and foreign keys, too: who is inside which is a name
 * that a statement can make up. */
static int refuse_table(pawl_sqguard_state *state, int action, const char *a,
                        const char *b) {
  const int reads = action == SQLITE_READ;

  state->inserts += action == SQLITE_INSERT;
  state->selects += action == SQLITE_SELECT;
  if (action == SQLITE_PRAGMA && is_asked_by_tables(a, b)) return 0;
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
    case SQLITE_FUNCTION:
      return 0;
    case SQLITE_READ:
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
      if (is_of_nobody(action, a, b) || is_granted(state->tables, a, !reads))
        return 0;
      snprintf(state->refused, sizeof state->refused,
               "it may not %s %.60s: its trust is limited",
               reads ? "read" : "write", a ? a : "a table");
      break;
    default:
      snprintf(state->refused, sizeof state->refused,
               "it may do no more than read and write rows: its trust is "
               "limited");
  }
  state->is_ungranted = 1;
  return 1;
}

/* Behind what is quoted, or a comment, that begins at `i`; i: none does. */
static size_t skip(pawl_str s, size_t i) {
  static const char marks[] = "''\"\"``[]";
  const char *mark = NULL;
  const int two = i + 1 < s.len;

  for (size_t m = 0; m < sizeof marks - 1 && !mark; m += 2)
    if (s.at[i] == marks[m]) mark = &marks[m + 1];
  if (mark) {
    for (i++; i < s.len && s.at[i] != *mark;) i++;
    return i + 1;
  }
  if (two && s.at[i] == '-' && s.at[i + 1] == '-') {
    while (i < s.len && s.at[i] != '\n') i++;
  } else if (two && s.at[i] == '/' && s.at[i + 1] == '*') {
    for (i += 3; i < s.len && !(s.at[i - 1] == '*' && s.at[i] == '/');) i++;
    i++;
  }
  return i;
}

static int is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$' || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

/* The keyword, which is no name unless it is quoted. */
static int has_select(pawl_str s) {
  for (size_t i = 0; i < s.len;) {
    const size_t behind = skip(s, i);
    size_t end = i;
    while (end < s.len && is_letter(s.at[end])) end++;
    if (end - i == 6 && sqlite3_strnicmp(s.at + i, "select", 6) == 0) return 1;
    i = behind > i ? behind : end > i ? end : i + 1;
  }
  return 0;
}

int pawl_sqguard_copies(pawl_sqguard_state *state, pawl_str sql) {
  if (!state->tables || !state->inserts || state->selects || !has_select(sql))
    return 0;
  state->is_ungranted = 1;
  snprintf(state->refused, sizeof state->refused,
           "to insert what it selects it has to name the columns, not *");
  return 1;
}

void pawl_sqguard_begin(pawl_sqguard_state *state, const pawl_tables *tables) {
  state->refused[0] = 0;
  state->alters = state->inserts = state->selects = state->is_ungranted = 0;
  state->tables = tables;
  state->is_on = 1;
}

/* ---- */

int pawl_sqguard(void *ud, int action, const char *a, const char *b,
                 const char *schema, const char *trigger) {
  pawl_sqguard_state *state = ud;
  (void)schema;
  (void)trigger;
  if (!state->is_on && state->lent == PAWL_LENT_NOT) return SQLITE_OK;
  if (action == SQLITE_ALTER_TABLE) state->alters = 1;
  const char *why = state->lent == PAWL_LENT_OVER ? "its transaction is over"
                                                  : objection(action, a, b);
  if (why) {
    snprintf(state->refused, sizeof state->refused, "%s", why);
    return SQLITE_DENY;
  }
  return state->is_on && state->tables && refuse_table(state, action, a, b)
             ? SQLITE_DENY
             : SQLITE_OK;
}
