#include "sqlend.h"

#include <stdio.h>

#include "sqguard.h"

/* A statement that commits by itself where there is no transaction of ours. */
static int on_commit(void *ud) {
  const pawl_sqconn *c = ud;
  return c->guard.lent == PAWL_LENT_OVER;
}

static pawl_code count_names(pawl_sqconn *c, int64_t *out, pawl_error *err) {
  return pawl_sqconn_ask(c, PAWL_SQ_COUNT_NAMES, out, err);
}

/* Names are counted as it is lent, and again when a table was renamed
 * meanwhile: SQLite does not say to what. */
static pawl_code lend(pawl_sqconn *c, pawl_error *err) {
  if (!c->guard.was_lent || c->guard.alters)
    MUST(count_names(c, &c->guard.names, err));
  if (!c->guard.was_lent) sqlite3_commit_hook(c->db, on_commit, c);
  c->guard.was_lent = 1;
  c->guard.alters = 0;
  c->guard.refused[0] = 0;
  return PAWL_OK;
}

static void tell_refused(const pawl_sqconn *c) {
  char message[200];

  snprintf(message, sizeof message,
           "a statement of the program's own was refused: %s",
           c->guard.refused);
  pawl_log_write(c->options->log, PAWL_WARN, message, "{}");
}

static pawl_code take_back(pawl_sqconn *c, int was, pawl_error *err) {
  int64_t names = c->guard.names;

  if (c->guard.refused[0]) tell_refused(c);
  c->guard.refused[0] = 0;
  if (was != PAWL_LENT) return PAWL_OK;
  if (sqlite3_get_autocommit(c->db)) /* G9 */
    return pawl_fail_as(err, PAWL_STORE, "40000",
                        "a statement that fails `or rollback` does, and so "
                        "does a disk that is full",
                        "the transaction was rolled back by a statement of "
                        "the program's own");
  if (c->guard.alters) MUST(count_names(c, &names, err));
  if (names == c->guard.names) return PAWL_OK;
  return pawl_fail_as(err, PAWL_MISUSE, "42501", "",
                      "names that begin with pawl_ are pawl's own");
}

pawl_code pawl_sqlend(pawl_sqconn *c, pawl_lent to, pawl_error *err) {
  const pawl_lent was = c->guard.lent;

  c->guard.lent = PAWL_LENT_NOT;
  if (to == PAWL_LENT_NOT) return take_back(c, was, err);
  if (to == PAWL_LENT) MUST(lend(c, err));
  c->guard.lent = to;
  return PAWL_OK;
}

/* None of ours is: their rows are copied. */
pawl_code pawl_sqlend_check(pawl_sqconn *c, pawl_error *err) {
  if (!c->guard.was_lent) return PAWL_OK;
  for (sqlite3_stmt *s = NULL; (s = sqlite3_next_stmt(c->db, s));)
    if (sqlite3_stmt_busy(s))
      return pawl_fail_hint(err, PAWL_MISUSE,
                            "call sqlite3_reset or sqlite3_finalize first",
                            "a statement of the program's own is not at its "
                            "end: %.100s",
                            sqlite3_sql(s));
  return PAWL_OK;
}
