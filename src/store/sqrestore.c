#include "sqrestore.h"

#include <assert.h>

#include "../base/fault.h"
#include "sqbackup.h"

/* ---- the draft ---- */

static pawl_code fail_draft(sqlite3 *draft, const char *name,
                            pawl_error *err) {
  return pawl_sqconn_fail_rc(name, sqlite3_extended_errcode(draft), err);
}

/* B7. What SQLite says of it is one line, or several; the first will do. */
static pawl_code check_draft(sqlite3 *draft, const char *name,
                             pawl_error *err) {
  sqlite3_stmt *s = NULL;
  pawl_code rc = PAWL_OK;

  if (sqlite3_prepare_v2(draft, "pragma quick_check(1)", -1, &s, NULL) !=
          SQLITE_OK ||
      sqlite3_step(s) != SQLITE_ROW) {
    rc = fail_draft(draft, name, err);
  } else {
    const char *said = (const char *)sqlite3_column_text(s, 0);
    if (!said || strcmp(said, "ok") != 0)
      rc = pawl_fail_as(err, PAWL_CORRUPT, "XX001", "restore another copy",
                        "%s: %s", name, said ? said : "cannot be checked");
  }
  sqlite3_finalize(s);
  return rc;
}

static pawl_code count_bytes(sqlite3 *draft, const char *name, int64_t *out,
                             pawl_error *err) {
  sqlite3_stmt *s = NULL;
  pawl_code rc = PAWL_OK;

  if (sqlite3_prepare_v2(draft,
                         "select page_count * page_size from "
                         "pragma_page_count, pragma_page_size",
                         -1, &s, NULL) != SQLITE_OK ||
      sqlite3_step(s) != SQLITE_ROW)
    rc = fail_draft(draft, name, err);
  else
    *out = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  return rc;
}

static int exec_catalogue(sqlite3 *db, pawl_stmt which,
                          const pawl_alloc *alloc) {
  pawl_buf room = {.alloc = alloc};
  const char *text = pawl_sqltext_read(pawl_sql_sqlite[which].text, &room);
  int rc = text ? sqlite3_exec(db, text, NULL, NULL, NULL) : SQLITE_NOMEM;
  pawl_buf_deinit(&room);
  return rc;
}

/* B8 */
static pawl_code free_leases(sqlite3 *draft, const pawl_sqconn *from,
                             pawl_error *err) {
  if (exec_catalogue(draft, PAWL_STMT_agenda_free, from->alloc) != SQLITE_OK)
    return fail_draft(draft, from->name, err);
  return PAWL_OK;
}

static pawl_code make_draft(sqlite3 **out, pawl_sqconn *from,
                            const volatile int *stop, int64_t *bytes,
                            pawl_error *err) {
  static const char *const setup =
      "pragma journal_mode=off; pragma synchronous=off;"
      "pragma cell_size_check=on";
  int rc = sqlite3_open_v2(
      "", out,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

  if (rc != SQLITE_OK) return pawl_sqconn_fail_rc(from->name, rc, err);
  sqlite3_extended_result_codes(*out, 1);
  if (sqlite3_exec(*out, setup, NULL, NULL, NULL) != SQLITE_OK)
    return fail_draft(*out, from->name, err);
  MUST(pawl_sqbackup_pages(*out, from->db, from->name, "restore.read", stop,
                           err));
  MUST(check_draft(*out, from->name, err));
  MUST(count_bytes(*out, from->name, bytes, err)); /* as the copy has them */
  MUST(free_leases(*out, from, err));
  if (sqlite3_exec(*out, PAWL_SQ_SEAL, NULL, NULL, NULL) != SQLITE_OK)
    return fail_draft(*out, from->name, err);
  return PAWL_OK;
}

/* ---- the store ---- */

static pawl_code fail_store(pawl_sqconn *c, int rc, pawl_error *err) {
  if (rc == SQLITE_READONLY) /* pages of another size cannot be taken over */
    return pawl_fail_hint(err, PAWL_CONFLICT,
                          "put the copy in the file's place instead",
                          "%s: the copy has pages of another size", c->name);
  return pawl_sqconn_fail_rc(c->name, rc, err);
}

/* SQLite's lock first, which taking no page asks for, then the one beside. */
static int take_pages(pawl_sqconn *c, sqlite3_backup *b,
                      const volatile int *stop) {
  int rc = sqlite3_backup_step(b, 0);

  if (rc == SQLITE_OK && pawl_sqconn_whole_lock(c, NULL) != PAWL_OK)
    rc = SQLITE_BUSY;
  while (rc == SQLITE_OK && !*stop) {
    rc = sqlite3_backup_step(b, PAWL_SQ_STEP_PAGES);
    if (PAWL_FAULT("restore.step") == PAWL_FAULT_FAIL) rc = SQLITE_FULL;
  }
  return rc;
}

static pawl_code put_in_store(pawl_sqconn *c, sqlite3 *draft,
                              const volatile int *stop, pawl_error *err) {
  MUST(pawl_sqconn_whole_begin(c, err));
  sqlite3_backup *b = sqlite3_backup_init(c->db, "main", draft, "main");
  int rc = b ? take_pages(c, b, stop) : sqlite3_extended_errcode(c->db);
  /* It is committed by the step that is the last; else undone here. */
  int end = sqlite3_backup_finish(b);

  pawl_sqconn_whole_end(c, rc == SQLITE_DONE);
  assert(sqlite3_get_autocommit(c->db));
  if (rc == SQLITE_DONE && end == SQLITE_OK) return PAWL_OK;
  if (rc == SQLITE_OK)
    return pawl_fail(err, PAWL_INTERRUPTED, "the copy was stopped");
  return fail_store(c, rc == SQLITE_DONE ? end : rc, err);
}

pawl_code pawl_sqrestore(pawl_sqconn *c, pawl_sqconn *from,
                         const volatile int *stop, int64_t *bytes,
                         pawl_error *err) {
  sqlite3 *draft = NULL;
  pawl_code rc;

  if (c->reading) return pawl_sqconn_fail_rc(c->name, SQLITE_READONLY, err);
  TRY(make_draft(&draft, from, stop, bytes, err));
  (void)PAWL_FAULT("restore.before");
  TRY(put_in_store(c, draft, stop, err));
out:
  sqlite3_close(draft);
  return rc;
}

/* ---- a store that begins with it ---- */

pawl_code pawl_sqrestore_begun(pawl_sqconn *c, pawl_error *err) {
  assert(c->is_memory && c->options->copy.at);
  MUST(check_draft(c->db, c->name, err));
  return free_leases(c->db, c, err);
}
