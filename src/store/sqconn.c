#define _GNU_SOURCE /* flock, F_OFD_SETLK */
#include "sqconn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "../base/fault.h"
#include "failure.h"
#include "sqmend.h"

#define SAFE_VERSION 3051003 /* commits and checkpoints may overlap */
#define WAL_PASSIVE ((int64_t)4 * 1024 * 1024)
#define WAL_RELAXED ((int64_t)32 * 1024 * 1024) /* a frame would wait for it */
#define WAL_TRUNCATE ((int64_t)16 * 1024 * 1024)
#define WAL_LEAST ((int64_t)64 * 1024)
#define SPARE_BYTES \
  (2 * 1024 * 1024)      /* of the disk, for those who make room */
#define SPARE_SHARE 16   /* and of a small one that part */
#define GROUP_ROWS 20000 /* changed in a group: its pages are in memory */
#define ROW_BYTES 1024   /* of the log, for each, roughly */

enum {
  BEGIN_WRITE,
  BEGIN_READ,
  COMMIT,
  ROLLBACK,
  DATA_VERSION,
  SCHEMA_VERSION,
  PAGE_COUNT,
  UNIT_BEGIN, /* one of a group */
  UNIT_KEEP,
  UNIT_UNDO,
  NSTEERING
};
static const char *const steering[NSTEERING] = {
    [BEGIN_WRITE] = "begin immediate",
    [BEGIN_READ] = "begin",
    [COMMIT] = "commit",
    [ROLLBACK] = "rollback",
    [DATA_VERSION] = "pragma data_version",
    [PAGE_COUNT] = "pragma page_count",
    [SCHEMA_VERSION] = "pragma schema_version",
    [UNIT_BEGIN] = "savepoint pawl_unit",
    [UNIT_KEEP] = "release pawl_unit",
    [UNIT_UNDO] = "rollback to pawl_unit",
};

_Static_assert(NSTEERING == PAWL_SQ_NSTEERING, "sqconn.h counts them");

/* ---- errors ---- */

/* The first entry that fits wins: extended codes stand before theirs. */
static const struct {
  int rc;
  pawl_code code;
  const char *sqlstate;
  const char *hint;
} failures[] = {
    {SQLITE_BUSY_SNAPSHOT, PAWL_BUSY, "40001", ""},
    {SQLITE_BUSY, PAWL_BUSY, "55P03", "another process is writing; try again"},
    {SQLITE_LOCKED, PAWL_BUSY, "55P03", "try again"},
    {SQLITE_PROTOCOL, PAWL_BUSY, "55P03", "try again"},
    {SQLITE_SCHEMA, PAWL_BUSY, "40001", "the schema has changed; try again"},
    {SQLITE_FULL, PAWL_FULL, "53100", "make room on the disk and try again"},
    {SQLITE_READONLY_DBMOVED, PAWL_STORE, "58P01",
     "the file was moved or deleted while open; put it back and restart"},
    {SQLITE_READONLY_RECOVERY, PAWL_READONLY, "25006",
     "who wrote to it died: let a user who may write it open it once"},
    {SQLITE_READONLY, PAWL_READONLY, "25006",
     "let this user write the file and its folder"},
    {SQLITE_CORRUPT_INDEX, PAWL_CORRUPT, "XX002",
     "stop all workers, then run REINDEX on a copy of the file"},
    {SQLITE_CORRUPT, PAWL_CORRUPT, "XX001",
     "stop all workers and restore a backup"},
    {SQLITE_NOTADB, PAWL_NOT_A_STORE, "3D000",
     "name another file; pawl makes a store where none is"},
    {SQLITE_CANTOPEN, PAWL_STORE, "58030",
     "its folder must be writable: SQLite keeps -wal and -shm files there"},
    {SQLITE_PERM, PAWL_AUTH, "42501", ""},
    {SQLITE_AUTH, PAWL_AUTH, "42501", ""},
    {SQLITE_CONSTRAINT_UNIQUE, PAWL_STORE, "23505", ""},
    {SQLITE_CONSTRAINT_PRIMARYKEY, PAWL_STORE, "23505", ""},
    {SQLITE_CONSTRAINT_ROWID, PAWL_STORE, "23505", ""},
    {SQLITE_CONSTRAINT_NOTNULL, PAWL_STORE, "23502", ""},
    {SQLITE_CONSTRAINT_FOREIGNKEY, PAWL_STORE, "23503", ""},
    {SQLITE_CONSTRAINT_CHECK, PAWL_STORE, "23514", ""},
    {SQLITE_CONSTRAINT_TRIGGER, PAWL_STORE, "P0001", ""},
    {SQLITE_CONSTRAINT, PAWL_STORE, "23000", ""},
    {SQLITE_IOERR_NOMEM, PAWL_NOMEM, "53200", ""},
    {SQLITE_NOMEM, PAWL_NOMEM, "53200", ""},
    {SQLITE_IOERR, PAWL_STORE, "58030", "the disk or its driver failed"},
    {SQLITE_TOOBIG, PAWL_LIMIT, "54000", ""},
    {SQLITE_INTERRUPT, PAWL_TIMEOUT, "57014", ""},
    {SQLITE_MISMATCH, PAWL_STORE, "42804", ""},
    {SQLITE_RANGE, PAWL_INTERNAL, "42P02", ""},
    {SQLITE_MISUSE, PAWL_INTERNAL, "XX000", ""},
    {SQLITE_ERROR, PAWL_STORE, "42000", ""},
};

static pawl_code fail_as(const char *what, int rc, const char *message,
                         pawl_error *err) {
  size_t n = sizeof failures / sizeof *failures, i = 0;
  while (i < n && failures[i].rc != rc && failures[i].rc != (rc & 0xff)) i++;
  return pawl_fail_as(err, i < n ? failures[i].code : PAWL_STORE,
                      i < n ? failures[i].sqlstate : "58000",
                      i < n ? failures[i].hint : "", "%s: %s", what, message);
}

/* SQLite tells of a disk that is full where it writes a page of the file; where
 * it makes its own files, or makes them longer, that the disk fails. */
static int is_full(const pawl_sqconn *c, int rc) {
  const int kind = rc & 0xff;
  const int why = c->db && (kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN)
                      ? sqlite3_system_errno(c->db)
                      : 0;

  return why == ENOSPC || why == EDQUOT;
}

static pawl_code fail_rc(pawl_sqconn *c, const char *what, int rc,
                         pawl_error *err) {
  if (is_full(c, rc))
    return fail_as(what, SQLITE_FULL, sqlite3_errstr(SQLITE_FULL), err);
  return fail_as(what, rc, c->db ? sqlite3_errmsg(c->db) : sqlite3_errstr(rc),
                 err);
}

pawl_code pawl_sqconn_fail_rc(const char *what, int rc, pawl_error *err) {
  return fail_as(what, rc, sqlite3_errstr(rc), err);
}

pawl_code pawl_sqconn_fail(pawl_sqconn *c, const char *what, pawl_error *err) {
  return fail_rc(c, what, sqlite3_extended_errcode(c->db), err);
}

/* ---- waiting for other processes ---- */

static uint32_t roll(pawl_sqconn *c) { /* xorshift64*: only to spread sleeps */
  c->dice ^= c->dice >> 12;
  c->dice ^= c->dice << 25;
  c->dice ^= c->dice >> 27;
  return (uint32_t)((c->dice * UINT64_C(2685821657736338717)) >> 32);
}

/* Sleeps because of others, which is counted. */
static void sleep_for(pawl_sqconn *c, int64_t us) {
  const int64_t began = pawl_clock_mono();
  pawl_sleep_us(us);
  const int64_t slept = pawl_clock_mono() - began;
  c->options->counts->waited_us += slept;
  c->options->call_us += slept;
}

/* For how long it still waits: a call waits busy_us in all, however many units
 * it has, and not beyond its end. */
static int64_t patience(const pawl_sqconn *c) {
  const pawl_driver_options *o = c->options;
  int64_t left = o->busy_us - (o->has_calls ? o->call_us : 0);

  if (left > 0 && o->until_mono_us) {
    const int64_t time = o->until_mono_us - pawl_clock_mono();
    if (time < left) left = time;
  }
  return left > 0 ? left : 0;
}

/* It asks again later, rather than wait. */
static int is_hasty(const pawl_sqconn *c) {
  return !c->options->busy_us || c->options->until_mono_us;
}

/* 0.2 to 1 ms, growing to about 5: SQLite's own busy_timeout sleeps longer
 * with every try, so that whoever came late wins and one process starves. */
static void sleep_a_little(pawl_sqconn *c, int tries) {
  const int64_t until = c->options->until_mono_us;
  int64_t us = 200 + roll(c) % 800;
  us += us * tries / 16;
  if (us > 5000) us = 5000;
  if (until && until - pawl_clock_mono() < us) us = until - pawl_clock_mono();
  sleep_for(c, us);
}

/* Sets or drops the mark that says we wait: a read lock on a byte of the file
 * beside, which dies with its process. (flock's lock is another kind.) */
static void set_waiting(pawl_sqconn *c, int is_waiting) {
  if (c->lock_fd < 0 || c->is_waiting == is_waiting) return;
  c->is_waiting = is_waiting;
#ifdef F_OFD_SETLK
  struct flock mark = {.l_type = is_waiting ? F_RDLCK : F_UNLCK,
                       .l_whence = SEEK_SET,
                       .l_len = 1};
  (void)fcntl(c->lock_fd, F_OFD_SETLK, &mark);
#endif
}

/* Does somebody else wait, and say so? */
static int is_waited_for(const pawl_sqconn *c) {
#ifdef F_OFD_GETLK
  struct flock mark = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
  return c->lock_fd >= 0 && fcntl(c->lock_fd, F_OFD_GETLK, &mark) == 0 &&
         mark.l_type != F_UNLCK;
#else
  (void)c;
  return 0;
#endif
}

/* Lets somebody else in who waits; who never waits himself has no time for
 * that. */
static void give_way(pawl_sqconn *c) {
  if (!is_hasty(c) && is_waited_for(c)) sleep_for(c, 1000);
}

/* Who asks again later: until he has been let in he is one for whom others make
 * room. */
static int on_busy(void *ud, int tries) {
  pawl_sqconn *c = ud;
  if (c->no_waiting) return 0;
  set_waiting(c, 1);
  if (tries == 0) {
    c->busy_since = pawl_clock_mono();
    c->busy_for = patience(c);
  }
  if (pawl_clock_mono() - c->busy_since >= c->busy_for) return 0;
  sleep_a_little(c, tries);
  return 1;
}

/* The lock of commits and checkpoints. A commit waits as long for it as for
 * SQLite's own. */
static pawl_code lock_beside(pawl_sqconn *c, int64_t limit_us,
                             pawl_error *err) {
  int64_t deadline = pawl_clock_mono() + limit_us;
  if (!c->locks_commits) return PAWL_OK;
  assert(c->lock_fd >= 0);
  for (int tries = 0; flock(c->lock_fd, LOCK_EX | LOCK_NB) != 0; tries++) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return pawl_fail_as(err, PAWL_STORE, "58030", "", "%s-pawl-lock: %s",
                          c->name, strerror(errno));
    if (pawl_clock_mono() >= deadline)
      return pawl_fail_as(err, PAWL_BUSY, "55P03",
                          "another process is committing; try again",
                          "%s-pawl-lock: is locked", c->name);
    sleep_a_little(c, tries);
  }
  return PAWL_OK;
}

static int64_t at_most(const pawl_sqconn *c, int64_t us) {
  const int64_t left = patience(c);
  return us < left ? us : left;
}

static void unlock_beside(pawl_sqconn *c) {
  if (c->locks_commits) (void)flock(c->lock_fd, LOCK_UN);
}

/* SQLite has asked for a sync, and was told that it has failed (sqmend.h). */
static void note_sync_failed(pawl_sqconn *c) {
  const int rc = sqlite3_extended_errcode(c->db);
  if (rc == SQLITE_IOERR_FSYNC || rc == SQLITE_IOERR_DIR_FSYNC)
    c->options->sync_failed = 1;
}

/* ---- checkpoints ---- */

static int64_t passive_bytes(const pawl_sqconn *c) {
  const int64_t asked = c->options->checkpoint_bytes;

  if (asked > 0) return asked < WAL_LEAST ? WAL_LEAST : asked;
  return c->options->relaxed ? WAL_RELAXED : WAL_PASSIVE;
}

static int64_t passive_pages(const pawl_sqconn *c) {
  return passive_bytes(c) / c->page_bytes;
}

/* So long the log stays, as room of its own, once it was begun anew. */
static int64_t kept_bytes(const pawl_sqconn *c) {
  const int64_t bytes = 4 * passive_bytes(c);
  return bytes < WAL_TRUNCATE ? bytes : WAL_TRUNCATE;
}

/* `pages` are in the WAL after a commit; it shrinks when a writer begins it
 * anew behind a complete checkpoint. */
static int on_commit(void *ud, sqlite3 *db, const char *name, int pages) {
  pawl_sqconn *c = ud;
  (void)db;
  (void)name;
  if (pages < c->wal_pages) c->checkpoint_pages = passive_pages(c);
  c->wal_pages = pages;
  return SQLITE_OK;
}

/* Moves what no reader holds back into the database. Under the lock beside. */
static void checkpoint(pawl_sqconn *c, int mode) {
  int pages = 0, moved = 0;
  assert(!c->reading && !c->is_memory);
  if (c->options->sync_failed) return; /* it is not on disk */
  c->no_waiting = 1;                   /* see Locks above */
  int rc = sqlite3_wal_checkpoint_v2(c->db, NULL, mode, &pages, &moved);
  c->no_waiting = 0;
  if (rc != SQLITE_OK) note_sync_failed(c);
  if (rc == SQLITE_OK && mode == SQLITE_CHECKPOINT_TRUNCATE) c->wal_pages = 0;
  /* An old reader may hold it back: not again before as much has come. */
  c->checkpoint_pages = c->wal_pages + passive_pages(c);
}

/* One commit more, which nobody waits for: where somebody else writes at this
 * moment it is left out. A log that loses it is as good as before. */
static int set_mark(pawl_sqconn *c, int has_log) {
  char sql[64];

  if (!c->skips_sync) {
    if (pawl_sqconn_exec(c, "pragma synchronous=normal", NULL) != PAWL_OK)
      return 0;
    c->skips_sync = 1; /* set_sync sees to the next unit */
  }
  snprintf(sql, sizeof sql, "pragma application_id=%d",
           has_log ? PAWL_SQ_HAS_LOG : PAWL_SQ_APPLICATION_ID);
  c->no_waiting = 1;
  const pawl_code rc = pawl_sqconn_exec(c, sql, NULL);
  c->no_waiting = 0;
  return rc == PAWL_OK;
}

/* False: it is too long. */
static int name_beside(const pawl_sqconn *c, char *name, size_t size) {
  const int n = snprintf(name, size, "%s-pawl-lock", c->path);
  return n >= 0 && n < (int)size;
}

/* In the file beside, while the mark is what was committed last. */
static void note_marked(const pawl_sqconn *c, int is_last) {
  if (c->lock_fd < 0) return;
  if (is_last ? pwrite(c->lock_fd, "m", 1, 0) : ftruncate(c->lock_fd, 0))
    return; /* it says a little more, or less, of a rare case */
}

/* Had who was killed there, so that nothing came behind the mark? */
static int was_marked_last(const pawl_sqconn *c) {
  char name[4096], said = 0;
  const int fd = name_beside(c, name, sizeof name)
                     ? open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
                     : -1;
  if (fd < 0) return 0;
  const int is_last = read(fd, &said, 1) == 1 && said == 'm';
  close(fd);
  return is_last;
}

/* See Marks in sqconn.h. Under the lock beside. */
static void checkpoint_marked(pawl_sqconn *c) {
  note_marked(c, 1);
  const int marked = set_mark(c, 1);

  checkpoint(c, SQLITE_CHECKPOINT_PASSIVE);
  (void)PAWL_FAULT("store.marked");
  if (marked) c->has_marked = set_mark(c, 0);
  if (c->has_marked || !marked) note_marked(c, 0);
}

/* All of the log goes into the file, which is whole until the next commit. */
static void empty_log(pawl_sqconn *c) {
  checkpoint(c, SQLITE_CHECKPOINT_TRUNCATE);
  c->has_marked = 0;
}

/* What could not be taken back; and what somebody left who was killed. The log
 * stays where it still cannot, and says that nothing is missing. */
static int is_marked_whole(pawl_sqconn *c) {
  int64_t id = 0;

  if (pawl_sqconn_ask(c, "pragma application_id", &id, NULL) != PAWL_OK)
    return 0;
  return id != PAWL_SQ_HAS_LOG || set_mark(c, 0);
}

/* The disk had no room for a commit, which is undone: what is in the log goes
 * into the file, which has the pages, and the disk has the log's room again, or
 * the log is begun anew over it. 0: nothing was gained, or that has not helped.
 * Under the lock beside. */
static int make_room(pawl_sqconn *c) {
  int pages = 0, moved = 0;

  if (c->is_memory || c->made_room || c->options->sync_failed ||
      !pawl_sqconn_end(c))
    return 0;
  c->made_room = 1;
  c->no_waiting = 1;
  const int rc = sqlite3_wal_checkpoint_v2(
      c->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, &pages, &moved);
  c->no_waiting = 0;
  c->has_marked = 0;
  if (rc == SQLITE_OK) c->wal_pages = 0;
  return (rc == SQLITE_OK || rc == SQLITE_BUSY) && moved == pages;
}

/* ---- is the file still there? ---- */

/* SQLite knows best which file it has open: one may have come in between. */
static int has_moved(pawl_sqconn *c) {
  int moved = 0;
  (void)sqlite3_file_control(c->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return moved;
}

/* F1. The connection is of no use any more: UNREACHABLE throws it away. */
pawl_code pawl_sqconn_check_place(pawl_sqconn *c, pawl_error *err) {
  if (pawl_file_is_still(&c->file)) return PAWL_OK;
  pawl_file_find_left(&c->file, &c->options->left_log); /* F2 */
  return pawl_fail_as(
      err, PAWL_UNREACHABLE, "58P01",
      "what is at its path is opened with the next call",
      "%s: the file that was open here was moved, deleted or replaced",
      c->name);
}

/* Notes which file has been opened. */
static pawl_code note_place(pawl_sqconn *c, pawl_error *err) {
  if (c->is_memory || c->reading == PAWL_READING_ALONE)
    return PAWL_OK; /* R3 */
  if (!pawl_file_note(c->path, &c->file) || has_moved(c)) {
    c->file.at = (pawl_file_mark){0, 0}; /* which it is nobody knows */
    return pawl_sqconn_check_place(c, err);
  }
  return PAWL_OK;
}

/* F2. */
static pawl_code check_log(pawl_sqconn *c, pawl_error *err) {
  if (!pawl_file_has_left(c->path, &c->options->left_log)) return PAWL_OK;
  pawl_fail(err, PAWL_NOT_A_STORE,
            "%s: another file is there now, but the log beside it (-wal) is "
            "still that of the one before",
            c->name);
  pawl_error_sqlstate(err, "58P01");
  pawl_error_hint(err,
                  "move its -wal and -shm to where that went; if the same "
                  "file is back, open it anew (close this engine, or ask "
                  "`pawl health`): the log has what was stored last");
  return PAWL_NOT_A_STORE;
}

/* ---- the files ---- */

static pawl_code fail_path(const char *path, pawl_code code,
                           const char *sqlstate, const char *what,
                           const char *hint, pawl_error *err) {
  return pawl_fail_as(err, code, sqlstate, hint, "%s: %s", path, what);
}

static pawl_code fail_missing(const char *path, pawl_error *err) {
  return fail_path(path, PAWL_NOTFOUND, "58P01", "there is no store",
                   "check the path; `pawl migrate` makes a store", err);
}

static pawl_code fail_readonly(const char *path, pawl_error *err) {
  return fail_path(path, PAWL_READONLY, "25006", "cannot be written",
                   "let this user write the file and its folder", err);
}

/* The same, of who has not opened it yet. */
static pawl_code fail_opening(const char *path, pawl_error *err) {
  return fail_path(
      path, PAWL_READONLY, "25006", "cannot be written",
      "let this user write the file and its folder; to ask only, open it "
      "without `create`",
      err);
}

/* Can `path` be made in its folder? */
static pawl_code check_folder(const char *path, pawl_error *err) {
  const char *slash = strrchr(path, '/');
  size_t len = slash ? (size_t)(slash - path) + 1 : 0;
  char folder[4096] = ".";
  struct stat st;
  if (len >= sizeof folder)
    return fail_path(path, PAWL_INVALID, "58P01", "the path is too long", "",
                     err);
  if (len > 0) memcpy(folder, path, len);
  if (len > 1) folder[len - 1] = 0;
  if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode)) {
    if (access(folder, W_OK | X_OK) == 0) return PAWL_OK;
    return fail_path(folder, PAWL_READONLY, "42501", strerror(errno),
                     "let this user write the folder", err);
  }
  return pawl_fail_as(err, PAWL_NOTFOUND, "58P01", "make the folder first",
                      "%s: there is no folder %s", path, folder);
}

/* F3 */
static pawl_code fail_log_alone(const char *path, pawl_error *err) {
  pawl_fail(err, PAWL_NOT_A_STORE,
            "%s: the file is not there, but the log of one is (%s-wal), with "
            "what was committed to it last",
            path, path);
  pawl_error_sqlstate(err, "58P01");
  pawl_error_hint(err,
                  "put the file back beside it; for another store, move "
                  "%s-wal to where that file went",
                  path);
  return PAWL_NOT_A_STORE;
}

/* What SQLite would tell less clearly. Only looks; opens nothing. */
static pawl_code check_path(const char *path,
                            const pawl_driver_options *options,
                            pawl_error *err) {
  struct stat st;
  if (pawl_file_is_log_alone(path)) return fail_log_alone(path, err);
  if (stat(path, &st) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return options->create ? check_folder(path, err)
                             : fail_missing(path, err);
    return fail_path(path, PAWL_AUTH, "42501", strerror(errno),
                     "let this user enter its folder", err);
  }
  if (S_ISDIR(st.st_mode))
    return fail_path(path, PAWL_NOT_A_STORE, "3D000", "is a folder",
                     "name a file in it", err);
  if (!S_ISREG(st.st_mode))
    return fail_path(path, PAWL_NOT_A_STORE, "3D000", "is no ordinary file",
                     "name another file", err);
  if (access(path, R_OK) != 0)
    return fail_path(path, PAWL_AUTH, "42501", strerror(errno),
                     "let this user read and write the file", err);
  if (access(path, W_OK) != 0 && !options->look)
    return fail_opening(path, err);
  return PAWL_OK;
}

pawl_code pawl_sqconn_exec(pawl_sqconn *c, const char *sql, pawl_error *err) {
  if (sqlite3_exec(c->db, sql, NULL, NULL, NULL) != SQLITE_OK)
    return pawl_sqconn_fail(c, c->name, err);
  return PAWL_OK;
}

pawl_code pawl_sqconn_ask(pawl_sqconn *c, const char *sql, int64_t *out,
                          pawl_error *err) {
  sqlite3_stmt *stmt = NULL;
  pawl_code rc = PAWL_OK;
  if (sqlite3_prepare_v2(c->db, sql, -1, &stmt, NULL) != SQLITE_OK ||
      sqlite3_step(stmt) != SQLITE_ROW)
    rc = pawl_sqconn_fail(c, c->name, err);
  else
    *out = sqlite3_column_int64(stmt, 0);
  sqlite3_finalize(stmt);
  return rc;
}

static pawl_code ask_catalogue(pawl_sqconn *c, pawl_stmt which, int64_t *out,
                               pawl_error *err) {
  pawl_buf room = {.alloc = c->alloc};
  const char *text = pawl_sqltext_read(pawl_sql_sqlite[which].text, &room);
  pawl_code rc =
      text ? pawl_sqconn_ask(c, text, out, err) : pawl_failure_memory(err);
  pawl_buf_deinit(&room);
  return rc;
}

/* Refuses what is somebody else's before anything is changed in it. */
static pawl_code check_owner(pawl_sqconn *c, int create, pawl_error *err) {
  int64_t id = 0, ours = 0, any = 0;
  MUST(pawl_sqconn_ask(c, "pragma application_id", &id, err));
  MUST(ask_catalogue(c, PAWL_STMT_schema_probe, &ours, err));
  MUST(pawl_sqconn_ask(c, "select exists (select 1 from sqlite_master)", &any,
                       err));
  if (id == PAWL_SQ_HAS_LOG && !c->had_log && !was_marked_last(c))
    return fail_path(c->name, PAWL_CORRUPT, "XX001",
                     "was copied while it was open, without the log beside it "
                     "(-wal), which has what was committed last",
                     "copy it with `pawl backup`, or together with its -wal; "
                     "to do with what it has: sqlite3 FILE \"" PAWL_SQ_SEAL
                     "\"",
                     err);
  if (ours) return PAWL_OK;
  if (any || (id != 0 && id != PAWL_SQ_APPLICATION_ID))
    return fail_path(c->name, PAWL_NOT_A_STORE, "3F000",
                     "is a SQLite file of something else",
                     "give pawl a file of its own; your tables can be made "
                     "in it afterwards",
                     err);
  if (create) return PAWL_OK;
  if (!c->is_memory) return fail_missing(c->name, err);
  return fail_path(c->name, PAWL_NOT_A_STORE, "3F000", "is no store", "", err);
}

/* Who may write the database must be able to lock the file beside; who may
 * only read it must not, and flock asks for no more than that a file can be
 * opened. So each of owner, group and others may open it who may write the
 * database. */
static mode_t lock_mode(mode_t database) {
  mode_t mode = 0600;
  if (database & 0020) mode |= 0060;
  if (database & 0002) mode |= 0006;
  return mode;
}

/* Whatever the umask, and whoever makes it: a file made by root would keep the
 * database's owner out. What is not ours to change is left as it is, and so is
 * what is no lock of ours, but was linked there. */
static void set_rights(int fd, const struct stat *database) {
  struct stat st;
  mode_t mode = lock_mode(database->st_mode);
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > 0 ||
      st.st_nlink != 1)
    return;
  if (geteuid() == 0 &&
      (st.st_uid != database->st_uid || st.st_gid != database->st_gid))
    (void)!fchown(fd, database->st_uid, database->st_gid);
  if ((st.st_mode & 0777) != mode) (void)fchmod(fd, mode);
}

/* A new database is its owner's alone, and so are the files that SQLite makes
 * beside it: they get its mode. An empty file that is there keeps the mode
 * that somebody has given it. Safe to open and close: nobody has locked what
 * was not there. */
static void make_private(const char *path) {
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd); /* else SQLite says why */
}

static pawl_code fail_beside(const char *name, pawl_error *err) {
  const int why = errno;

  if (why == ENOSPC || why == EDQUOT)
    return fail_path(name, PAWL_FULL, "53100", strerror(why),
                     "make room on the disk and try again", err);
  return fail_path(name,
                   why == EROFS || why == EACCES ? PAWL_READONLY : PAWL_STORE,
                   "58030", strerror(why),
                   "let this user write the file and its folder", err);
}

static pawl_code open_beside(pawl_sqconn *c, pawl_error *err) {
  struct stat st;
  char name[4096];
  if (!name_beside(c, name, sizeof name))
    return fail_path(c->name, PAWL_INVALID, "58P01", "the path is too long",
                     "", err);
  if (stat(c->path, &st) != 0) st.st_mode = 0600;
  c->lock_fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (c->lock_fd < 0) return fail_beside(name, err);
  set_rights(c->lock_fd, &st);
  return PAWL_OK;
}

/* One try; *is_wal: whether the file is in WAL mode now. */
static int try_wal(pawl_sqconn *c, int *is_wal) {
  sqlite3_stmt *s = NULL;
  int rc = sqlite3_prepare_v2(c->db, "pragma journal_mode=wal", -1, &s, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_step(s);
  if (rc == SQLITE_ROW) {
    const unsigned char *mode = sqlite3_column_text(s, 0);
    *is_wal = mode && strcmp((const char *)mode, "wal") == 0;
  }
  sqlite3_finalize(s);
  return rc;
}

/* Turning a new file into WAL mode needs all of it: SQLite does not ask the
 * busy handler then, because two that wait would wait for ever. */
static pawl_code set_wal(pawl_sqconn *c, pawl_error *err) {
  int64_t deadline = pawl_clock_mono() + patience(c);
  int rc, is_wal = 0;
  for (int tries = 0; (rc = try_wal(c, &is_wal)) != SQLITE_ROW; tries++) {
    if ((rc & 0xff) != SQLITE_BUSY || pawl_clock_mono() > deadline)
      return pawl_sqconn_fail(c, c->name, err);
    sleep_a_little(c, tries);
  }
  if (is_wal) return PAWL_OK;
  return fail_path(c->name, PAWL_STORE, "58000",
                   "its file system has no shared memory",
                   "put the file on a local disk, not a network share", err);
}

static pawl_code prepare_steering(pawl_sqconn *c, int which, pawl_error *err) {
  sqlite3_stmt **s = &c->steering[which];
  if (!*s &&
      sqlite3_prepare_v3(c->db, steering[which], -1, SQLITE_PREPARE_PERSISTENT,
                         s, NULL) != SQLITE_OK)
    return pawl_sqconn_fail(c, c->name, err);
  return PAWL_OK;
}

static pawl_code steer(pawl_sqconn *c, int which, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  MUST(prepare_steering(c, which, err));
  if (sqlite3_step(c->steering[which]) != SQLITE_DONE) {
    note_sync_failed(c);
    rc = pawl_sqconn_fail(c, c->name, err);
  }
  sqlite3_reset(c->steering[which]);
  if (rc != PAWL_BUSY || !is_hasty(c)) set_waiting(c, 0);
  return rc;
}

/* What a version is now; when it cannot be had, as it was. */
static int64_t look_at(pawl_sqconn *c, int which, int64_t before) {
  int64_t version = before;
  if (prepare_steering(c, which, NULL) != PAWL_OK) return before;
  sqlite3_stmt *s = c->steering[which];
  if (sqlite3_step(s) == SQLITE_ROW) version = sqlite3_column_int64(s, 0);
  sqlite3_reset(s);
  return version;
}

/* Its transaction is gone, by whatever: what was in it is undone. */
static void lose_group(pawl_sqconn *c) {
  if (!c->group.is_open) return;
  c->group = (pawl_sqgroup){0, 0, 0};
  pawl_unsaved_undo(c->options->unsaved);
}

/* Is the unit that is open, if one is, over, and all that came before it in its
 * group as it was? */
static int end_grouped(pawl_sqconn *c) {
  int is_over = !sqlite3_get_autocommit(c->db);

  if (is_over && c->group.in_unit)
    is_over = PAWL_FAULT("store.rollback") != PAWL_FAULT_FAIL &&
              steer(c, UNIT_UNDO, NULL) == PAWL_OK &&
              steer(c, UNIT_KEEP, NULL) == PAWL_OK;
  c->group.in_unit = 0;
  if (is_over && !c->options->unsaved->unwritten) { /* nobody needs it */
    c->group.is_open = 0;
    return pawl_sqconn_end(c);
  }
  if (!is_over) lose_group(c);
  return is_over;
}

/* Is no transaction open any more? A failed statement may have rolled back by
 * itself: a full disk does. */
int pawl_sqconn_end(pawl_sqconn *c) {
  if (c->group.is_open) return end_grouped(c);
  if (!sqlite3_get_autocommit(c->db) &&
      PAWL_FAULT("store.rollback") != PAWL_FAULT_FAIL)
    (void)steer(c, ROLLBACK, NULL);
  return sqlite3_get_autocommit(c->db);
}

/* ---- a sync that has failed ---- */

/* What it was about is at risk as before. `why`: an errno. */
static pawl_code fail_sync(const pawl_sqconn *c, int why, pawl_error *err) {
  const int full = why == ENOSPC || why == EDQUOT;

  c->options->unsaved->syncing = 0;
  c->options->sync_failed = 1;
  return pawl_fail_as(
      err, full ? PAWL_FULL : PAWL_STORE, full ? "53100" : "58030",
      full ? "make room on the disk and try again"
           : "the disk or its driver failed",
      "%s-wal: cannot be taken to the disk: %s", c->name, strerror(why));
}

/* What the system has forgotten is gone, as by a power cut. */
static pawl_code fail_lost(pawl_sqconn *c, pawl_error *err) {
  pawl_unsaved *u = c->options->unsaved;

  u->undone += u->commits;
  pawl_unsaved_clear(u);
  return pawl_fail_as(err, PAWL_UNREACHABLE, "58030",
                      "the disk or its driver failed",
                      "%s-wal: what was committed last could not be written, "
                      "and is lost",
                      c->name);
}

/* Behind a sync that has failed the log is written anew (sqmend.h), before
 * anything else is written, or told to be on disk. No transaction is open. */
static pawl_code mend(pawl_sqconn *c, pawl_error *err) {
  char log[4096];
  int why = EIO;

  if (!c->options->sync_failed || c->is_memory || c->reading) return PAWL_OK;
  const int n = snprintf(log, sizeof log, "%s-wal", c->path);
  if (n < 0 || n >= (int)sizeof log) return fail_sync(c, ENAMETOOLONG, err);
  MUST(steer(c, BEGIN_WRITE, err));
  const pawl_sqmended is = PAWL_FAULT("store.mend") == PAWL_FAULT_FAIL
                               ? PAWL_SQMEND_FAILED
                               : pawl_sqmend(c->db, log, c->alloc, &why);
  (void)steer(c, ROLLBACK, NULL);
  if (is == PAWL_SQMEND_FAILED) return fail_sync(c, why, err);
  if (is == PAWL_SQMEND_LOST) return fail_lost(c, err);
  c->options->sync_failed = 0;
  pawl_unsaved_clear(c->options->unsaved);
  return PAWL_OK;
}

/* ---- opening ---- */

/* R3: it is opened anew. */
static pawl_code fail_moving(const pawl_sqconn *c, pawl_error *err) {
  return pawl_fail(err, PAWL_UNREACHABLE, "%s: somebody writes to it",
                   c->name);
}

/* Who opens the file for writing makes its -shm first and fills it then. In
 * between, one that may not write it is told to recover what the log holds:
 * somebody is about to. Who closes it last takes its log away: then it is a
 * file that stands still, though it was opened as one that does not. */
static pawl_code begin_reading(pawl_sqconn *c, int64_t *version,
                               pawl_error *err) {
  int64_t deadline = pawl_clock_mono() + patience(c);
  pawl_code rc = PAWL_OK;
  MUST(prepare_steering(c, DATA_VERSION, err));
  MUST(steer(c, BEGIN_READ, err));
  for (int tries = 0; sqlite3_step(c->steering[DATA_VERSION]) != SQLITE_ROW;
       tries++) {
    const int why = sqlite3_extended_errcode(c->db);
    rc = why == SQLITE_READONLY_DIRECTORY ? fail_moving(c, err)
                                          : pawl_sqconn_fail(c, c->name, err);
    if (why != SQLITE_READONLY_RECOVERY || pawl_clock_mono() > deadline) break;
    sqlite3_reset(c->steering[DATA_VERSION]);
    sleep_a_little(c, tries);
    rc = PAWL_OK;
  }
  if (rc == PAWL_OK)
    *version = sqlite3_column_int64(c->steering[DATA_VERSION], 0);
  sqlite3_reset(c->steering[DATA_VERSION]);
  set_waiting(c, 0);
  return rc;
}

/* Plans are made without counts. Those of an ANALYZE (a host's `pragma
 * optimize`) stay as the tables grow, and a statement that was planned for one
 * row of ours walks all of them later. Others' tables keep theirs. */
static pawl_code forget_counts(pawl_sqconn *c, int have_been_read,
                               pawl_error *err) {
  int64_t n = 0;
  MUST(pawl_sqconn_ask(
      c, "select count(*) from sqlite_master where name='sqlite_stat1'", &n,
      err));
  if (!n) return PAWL_OK;
  if (!have_been_read)
    MUST(pawl_sqconn_ask(
        c, "select count(*) from sqlite_stat1 where tbl glob 'pawl_*'", &n,
        err));
  if (!n) return PAWL_OK;
  MUST(pawl_sqconn_exec(c, "delete from sqlite_stat1 where tbl glob 'pawl_*'",
                        err));
  /* reads what is left */
  return pawl_sqconn_exec(c, "analyze sqlite_master", err);
}

/* Who counts for the first time makes the table of counts, so that all others
 * read the schema anew, with them. */
static void forget_new_counts(pawl_sqconn *c) {
  int64_t version = look_at(c, SCHEMA_VERSION, c->schema_version);
  if (version == c->schema_version ||
      lock_beside(c, at_most(c, 20000), NULL) != PAWL_OK)
    return;
  if (forget_counts(c, c->schema_version != 0, NULL) == PAWL_OK)
    c->schema_version = version;
  unlock_beside(c);
}

#define INCREMENTAL 2 /* as SQLite says it */

/* A file that is empty yet will be able to give back what pruning leaves free;
 * one with tables stays as it is. Not asked for there: SQLite begins to write
 * for that, and who writes may be waiting for the lock that we have. */
static pawl_code set_vacuum(pawl_sqconn *c, pawl_error *err) {
  static const char sql[] = "pragma auto_vacuum=incremental";
  sqlite3_stmt *s = NULL;
  int64_t pages, mode;

  MUST(pawl_sqconn_ask(c, "pragma page_count", &pages, err));
  if (pages) return PAWL_OK;
  /* SQLite takes it in as it compiles that. To run it writes the first page,
   * which set_wal does again: four syncs for nothing. */
  const int rc = sqlite3_prepare_v2(c->db, sql, -1, &s, NULL);
  sqlite3_finalize(s);
  if (rc != SQLITE_OK) return pawl_sqconn_fail(c, c->name, err);
  MUST(pawl_sqconn_ask(c, "pragma auto_vacuum", &mode, err));
  return mode == INCREMENTAL ? PAWL_OK : pawl_sqconn_exec(c, sql, err);
}

/* A file that is told of its size has it then, page by page: keep_room. */
static void set_growth(pawl_sqconn *c) {
  int bytes = (int)c->page_bytes;
  (void)sqlite3_file_control(c->db, "main", SQLITE_FCNTL_CHUNK_SIZE, &bytes);
}

static pawl_code set_kept(pawl_sqconn *c, pawl_error *err) {
  char sql[64];

  snprintf(sql, sizeof sql, "pragma journal_size_limit=%lld",
           (long long)kept_bytes(c));
  return pawl_sqconn_exec(c, sql, err);
}

static pawl_code configure(pawl_sqconn *c, pawl_error *err) {
  pawl_code rc;
  MUST(pawl_sqconn_exec(
      c,
      "pragma foreign_keys=off; pragma cell_size_check=on;"
      "pragma synchronous=full; pragma fullfsync=on;"
      "pragma checkpoint_fullfsync=on; pragma recursive_triggers=off",
      err));
  /* What a statement would undo if it failed in the midst is kept page by
   * page: in a temporary file, unless told otherwise. */
  MUST(pawl_sqconn_exec(c, "pragma temp_store=memory", err));
  if (c->is_memory && !c->options->image.at)
    return set_vacuum(c, err); /* for the files that it is copied to */
  if (c->is_memory || c->reading) return PAWL_OK;
  MUST(open_beside(c, err));
  c->locks_commits = sqlite3_libversion_number() < SAFE_VERSION;
  if (c->locks_commits)
    MUST(pawl_sqconn_exec(c, "pragma cache_spill=off", err));
  MUST(lock_beside(c, patience(c), err));
  rc = set_vacuum(c, err);
  if (rc == PAWL_OK) rc = set_wal(c, err);
  if (rc == PAWL_OK) rc = forget_counts(c, 0, err);
  unlock_beside(c);
  if (rc != PAWL_OK) return rc;
  MUST(pawl_sqconn_exec(c, "pragma wal_autocheckpoint=0", err));
  MUST(pawl_sqconn_ask(c, "pragma page_size", &c->page_bytes, err));
  MUST(set_kept(c, err));
  c->checkpoint_pages = passive_pages(c);
  set_growth(c);
  sqlite3_wal_hook(c->db, on_commit, c);
  return pawl_sqconn_ask(c, steering[DATA_VERSION], &c->seen_version, err);
}

/* Pages by the header, which SQLite takes at its word in memory. */
static int check_image(pawl_str image) {
  const unsigned char *h = (const unsigned char *)image.at;

  if (image.len < 512 || memcmp(h, "SQLite format 3", 16) != 0)
    return SQLITE_NOTADB;
  size_t page = (size_t)h[16] << 8 | h[17];
  size_t pages = (size_t)h[28] << 24 | (size_t)h[29] << 16 |
                 (size_t)h[30] << 8 | (size_t)h[31];
  if (page == 1) page = 65536;
  return page >= 512 && image.len / page >= pages ? SQLITE_OK : SQLITE_CORRUPT;
}

/* Of a file that has a log SQLite wants to open that: memory has none, and all
 * of it has been put into a file that was closed. */
static int open_image(const char *path, pawl_str image, sqlite3 **out) {
  const sqlite3_int64 size = (sqlite3_int64)image.len;
  int rc = check_image(image);

  if (rc == SQLITE_OK)
    rc = sqlite3_open_v2(path, out,
                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
  if (rc != SQLITE_OK) return rc;
  unsigned char *own = sqlite3_malloc64(image.len);
  if (!own) return SQLITE_NOMEM;
  memcpy(own, image.at, image.len);
  own[18] = own[19] = 1;
  return sqlite3_deserialize(
      *out, "main", own, size, size,
      SQLITE_DESERIALIZE_READONLY | SQLITE_DESERIALIZE_FREEONCLOSE);
}

/* What it begins with. It is a store as any other in memory then, which may
 * grow, where one that was deserialized has a limit. */
static int put_copy(pawl_sqconn *c) {
  sqlite3 *from = NULL;
  int rc = open_image(c->path, c->options->copy, &from);

  if (rc == SQLITE_OK) {
    sqlite3_backup *b = sqlite3_backup_init(c->db, "main", from, "main");
    if (b) (void)sqlite3_backup_step(b, -1);
    rc = b ? sqlite3_backup_finish(b) : sqlite3_extended_errcode(c->db);
  }
  sqlite3_close(from);
  return rc;
}

static int open_file(pawl_sqconn *c, int create) {
  pawl_buf uri = {.alloc = c->alloc};
  int flags = SQLITE_OPEN_NOMUTEX, rc;

  if (c->options->image.at)
    return open_image(c->path, c->options->image, &c->db);
  if (!c->reading)
    flags |= SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
  else
    flags |= SQLITE_OPEN_READONLY;
  if (c->reading != PAWL_READING_ALONE)
    return sqlite3_open_v2(c->path, &c->db, flags, NULL);
  pawl_reading_uri(c->path, &uri);
  rc = uri.failed
           ? SQLITE_NOMEM
           : sqlite3_open_v2(uri.at, &c->db, flags | SQLITE_OPEN_URI, NULL);
  pawl_buf_deinit(&uri);
  return rc;
}

static pawl_code connect(pawl_sqconn *c, int create, pawl_error *err) {
  int rc = open_file(c, create);
  if (rc != SQLITE_OK) return fail_rc(c, c->name, rc, err);
  sqlite3_extended_result_codes(c->db, 1);
  if (c->options->copy.at && (rc = put_copy(c)) != SQLITE_OK)
    return pawl_sqconn_fail_rc(c->name, rc, err);
  sqlite3_busy_handler(c->db, on_busy, c);
  sqlite3_db_config(c->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(c->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  /* Set once and for all: setting it drops every prepared statement. */
  sqlite3_set_authorizer(c->db, pawl_sqguard, &c->guard);
  if ((rc = pawl_sqturns_install(&c->turns, c->db)) != SQLITE_OK)
    return fail_rc(c, c->name, rc, err);
  /* SQLite opens what it may not write for reading, and says so later. */
  if (!c->is_memory && !c->reading && sqlite3_db_readonly(c->db, "main") == 1)
    return fail_opening(c->name, err);
  return note_place(c, err);
}

/* A path that SQLite takes for nothing else: not for a URI, not for one of
 * its own names. */
static int set_path(pawl_sqconn *c, const char *path) {
  const char *prefix = c->is_memory || path[0] == '/' ? "" : "./";
  if (strncmp(path, "./", 2) == 0 || strncmp(path, "../", 3) == 0) prefix = "";
  c->path_size = strlen(prefix) + strlen(path) + 1;
  c->path = pawl_realloc(c->alloc, NULL, 0, c->path_size);
  if (!c->path) return 0;
  snprintf(c->path, c->path_size, "%s%s", prefix, path);
  c->name = c->path + strlen(prefix);
  return 1;
}

/* What was lent may have statements of the program's, which keep what is left
 * of it until they are finalized; nothing of ours is asked by it then. */
static void close_handle(pawl_sqconn *c) {
  if (c->guard.was_lent) {
    sqlite3_set_authorizer(c->db, NULL, NULL);
    sqlite3_commit_hook(c->db, NULL, NULL);
    sqlite3_wal_hook(c->db, NULL, NULL);
    sqlite3_busy_handler(c->db, NULL, NULL);
  }
  sqlite3_close_v2(c->db);
}

void pawl_sqconn_close(pawl_sqconn *c) {
  pawl_sqsync_close(c->sync);
  lose_group(c);
  c->no_waiting = 1;
  if (c->is_open && pawl_sqconn_end(c)) (void)mend(c, NULL);
  for (int i = 0; i < PAWL_SQ_NSTEERING; i++) sqlite3_finalize(c->steering[i]);
  /* The last connection checkpoints while it closes. */
  if (c->db && (c->reading || !pawl_file_is_still(&c->file) ||
                lock_beside(c, at_most(c, PAWL_SECOND), NULL) != PAWL_OK ||
                c->options->sync_failed ||
                (c->is_open && !c->is_memory && !is_marked_whole(c))))
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
  close_handle(c);
  unlock_beside(c);
  if (c->lock_fd >= 0) close(c->lock_fd);
  pawl_sqturns_deinit(&c->turns);
  pawl_release(c->alloc, c->path, c->path_size);
}

void pawl_sqconn_init(pawl_sqconn *c, pawl_driver_options *options) {
  c->alloc = options->alloc;
  c->options = options;
  pawl_sqturns_init(&c->turns, c->alloc);
  c->lock_fd = -1;
  c->page_bytes = 4096;
  c->dice =
      ((uint64_t)pawl_clock_mono() << 20) ^ (uint64_t)getpid() ^ (uintptr_t)c;
  if (c->dice == 0) c->dice = 1; /* it would stay there */
}

/* The handle alone, to open it otherwise. */
static void disconnect(pawl_sqconn *c) {
  for (int i = 0; i < PAWL_SQ_NSTEERING; i++) {
    sqlite3_finalize(c->steering[i]);
    c->steering[i] = NULL;
  }
  sqlite3_close(c->db);
  c->db = NULL;
}

/* Whoever opens or closes the file meanwhile changes how it is read. */
static pawl_code connect_to_read(pawl_sqconn *c, pawl_error *err) {
  int64_t deadline = pawl_clock_mono() + patience(c);
  pawl_code rc;
  for (int tries = 0;; tries++) {
    MUST(pawl_reading_find(c->path, &c->reading, err));
    if (c->reading == PAWL_READING_ALONE) pawl_reading_note(c->path, &c->mark);
    MUST(connect(c, c->options->create, err));
    rc = c->reading ? begin_reading(c, &c->seen_version, err) : PAWL_OK;
    if (rc != PAWL_UNREACHABLE || pawl_clock_mono() > deadline) return rc;
    disconnect(c);
    sleep_a_little(c, tries);
  }
}

pawl_code pawl_sqconn_open(pawl_sqconn *c, const char *path, pawl_error *err) {
  const pawl_driver_options *options = c->options;
  c->is_memory = strcmp(path, ":memory:") == 0;
  const int is_copy = options->image.at || options->copy.at;
  const int create = options->create || (c->is_memory && !is_copy);
  if (!set_path(c, path)) return pawl_failure_memory(err);
  if (is_copy) c->name = "the copy";
  if (!c->is_memory) MUST(check_path(path, options, err));
  if (!c->is_memory) MUST(check_log(c, err));
  if (!c->is_memory) c->had_log = pawl_file_has_log(c->path);
  if (!c->is_memory && options->create) make_private(c->path);
  if (!c->is_memory && options->look)
    MUST(connect_to_read(c, err));
  else
    MUST(connect(c, create, err));
  MUST(check_owner(c, create, err));
  if (c->reading && !pawl_sqconn_end(c)) return pawl_failure_memory(err);
  MUST(configure(c, err));
  MUST(prepare_steering(c, ROLLBACK, err)); /* there may be no memory then */
  if (options->relaxed) MUST(prepare_steering(c, UNIT_UNDO, err));
  if (options->relaxed) MUST(prepare_steering(c, UNIT_KEEP, err));
  if (options->sync_thread && !c->is_memory && !c->reading)
    MUST(pawl_sqsync_open(c->alloc, &c->sync, err));
  pawl_file_note_log(&c->file);
  c->is_open = 1;
  set_waiting(c, 0);
  return PAWL_OK;
}

/* ---- units ---- */

/* The WAL is synced as a whole: the next commit that is takes those along that
 * were not. What it is to be is settled before a unit begins, so that none goes
 * on without the sync it wants. */
static pawl_code set_sync(pawl_sqconn *c, int unit, pawl_error *err) {
  const int may_wait = c->options->relaxed || unit == PAWL_UNIT_RELAXED;
  const int skips = unit == PAWL_UNIT_SOON || (may_wait && c->has_synced);
  if (unit == PAWL_UNIT_READ || c->skips_sync == skips) return PAWL_OK;
  MUST(pawl_sqconn_exec(
      c, skips ? "pragma synchronous=normal" : "pragma synchronous=full",
      err));
  c->skips_sync = skips;
  return PAWL_OK;
}

/* The first one of a connection is synced in any case, as SQLite then sees to
 * it that a log that was just made can be found in its folder. */
static void note_commit(pawl_sqconn *c, int unit) {
  const int counts = c->options->relaxed || unit == PAWL_UNIT_RELAXED;

  if (!c->skips_sync) {
    c->has_synced = 1;
    pawl_unsaved_clear(c->options->unsaved);
  } else if (counts && c->has_synced && !c->is_memory) {
    pawl_unsaved_add(c->options->unsaved);
  }
}

/* The log that is open; NULL: there is none yet. */
static sqlite3_file *log_of(pawl_sqconn *c) {
  sqlite3_file *log = NULL;

  (void)sqlite3_file_control(c->db, "main", SQLITE_FCNTL_JOURNAL_POINTER,
                             &log);
  return log && log->pMethods ? log : NULL;
}

/* 0, or an errno. */
static int sync_log(pawl_sqconn *c) {
  sqlite3_file *log = log_of(c);
  int why = 0;

  if (PAWL_FAULT("store.save") == PAWL_FAULT_FAIL) return EIO;
  if (!log || log->pMethods->xSync(log, SQLITE_SYNC_FULL) == SQLITE_OK)
    return 0;
  (void)log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &why);
  return why ? why : EIO;
}

pawl_code pawl_sqconn_save(pawl_sqconn *c, pawl_error *err) {
  int why = 0;

  MUST(pawl_sqconn_settle(c, err));
  if (!c->is_memory && !c->reading) {
    MUST(mend(c, err));
    MUST(pawl_sqconn_check_place(c, err));
    why = sync_log(c);
  }
  if (why) return fail_sync(c, why, err);
  pawl_unsaved_clear(c->options->unsaved);
  return PAWL_OK;
}

pawl_code pawl_sqconn_look_synced(pawl_sqconn *c, pawl_error *err) {
  int why = 0;

  if (!c->sync) return PAWL_OK;
  const pawl_sqsync_state state = pawl_sqsync_look(c->sync, &why);
  c->is_syncing = state == PAWL_SQSYNC_BUSY;
  if (state == PAWL_SQSYNC_FAILED) return fail_sync(c, why, err);
  if (state == PAWL_SQSYNC_DONE && c->options->sync_failed)
    c->options->unsaved->syncing = 0; /* it knows nothing of that */
  else if (state == PAWL_SQSYNC_DONE)
    pawl_unsaved_synced(c->options->unsaved);
  return PAWL_OK;
}

/* Once a commit was synced by the connection itself the log can be found in its
 * folder (note_commit); before that nothing is at risk. */
pawl_code pawl_sqconn_flush(pawl_sqconn *c, pawl_error *err) {
  pawl_unsaved *u = c->options->unsaved;
  char log[4096];

  if (!c->sync) return pawl_sqconn_save(c, err);
  MUST(pawl_sqconn_settle(c, err));
  MUST(pawl_sqconn_look_synced(c, err));
  MUST(mend(c, err));
  if (c->is_syncing || !u->commits) return PAWL_OK;
  MUST(pawl_sqconn_check_place(c, err));
  const int n = snprintf(log, sizeof log, "%s-wal", c->path);
  if (n < 0 || n >= (int)sizeof log) return pawl_sqconn_save(c, err);
  if (!pawl_sqsync_ask(c->sync, log)) return fail_sync(c, errno, err);
  c->is_syncing = 1;
  u->syncing = u->commits;
  return PAWL_OK;
}

/* ---- groups ---- */

static int may_group(const pawl_sqconn *c, int unit) {
  return c->options->groups && c->options->relaxed && c->has_synced &&
         !c->is_memory &&
         (unit == PAWL_UNIT_BATCH || unit == PAWL_UNIT_SOON) &&
         !is_waited_for(c);
}

static void begin_group(pawl_sqconn *c) {
  c->group.is_open = 1;
  c->group.changes = sqlite3_total_changes(c->db);
}

/* Is so little of the disk left that who makes room would have none? */
static int is_short(const pawl_sqconn *c) {
  struct statvfs disk;

  if (PAWL_FAULT("store.room") == PAWL_FAULT_FAIL) return 1;
  if (statvfs(c->path, &disk) != 0) return 0;
  const double block = (double)disk.f_frsize;
  const double part = (double)disk.f_blocks * block / SPARE_SHARE;
  const double spare = part < SPARE_BYTES ? part : SPARE_BYTES;
  return (double)disk.f_bavail * block < spare;
}

/* What is committed is in the log, and needs its place in the file some day:
 * that is kept now. Where the log had taken what the disk had left it could not
 * be put there, and nothing would be written any more, nor taken away. So does
 * the log need a little for what is taken away: housekeeping is SOON. */
static pawl_code keep_room(pawl_sqconn *c, int unit, pawl_error *err) {
  sqlite3_int64 bytes;

  if (c->is_memory) return PAWL_OK;
  bytes = look_at(c, PAGE_COUNT, 0) * c->page_bytes;
  const int rc =
      sqlite3_file_control(c->db, "main", SQLITE_FCNTL_SIZE_HINT, &bytes);
  const int is_kept = rc == SQLITE_OK || rc == SQLITE_NOTFOUND;
  c->wants_room = !is_kept || (unit != PAWL_UNIT_SOON && is_short(c));
  return c->wants_room ? pawl_sqconn_fail_rc(c->name, SQLITE_FULL, err)
                       : PAWL_OK;
}

static pawl_code fail_undone(pawl_sqconn *c, pawl_error *err) {
  lose_group(c);
  return pawl_fail(err, PAWL_UNREACHABLE, "%s: its transaction was undone",
                   c->name);
}

/* A unit of the group that is open. */
static pawl_code begin_in_group(pawl_sqconn *c, int unit, pawl_error *err) {
  assert(!c->group.in_unit && !c->reading);
  if (sqlite3_get_autocommit(c->db)) return fail_undone(c, err);
  MUST(pawl_sqconn_check_place(c, err));
  if (unit == PAWL_UNIT_READ) return PAWL_OK;
  if (PAWL_FAULT("store.savepoint") == PAWL_FAULT_FAIL)
    return pawl_failure_memory(err);
  MUST(steer(c, UNIT_BEGIN, err));
  c->group.in_unit = 1;
  return PAWL_OK;
}

/* Nothing was written in it so far. */
static int is_group_empty(const pawl_sqconn *c) {
  return !c->options->unsaved->unwritten &&
         sqlite3_total_changes(c->db) == c->group.changes;
}

static pawl_code commit_in_group(pawl_sqconn *c, int unit, pawl_error *err) {
  if (unit == PAWL_UNIT_READ) return PAWL_OK;
  (void)PAWL_FAULT("commit.before");
  if (PAWL_FAULT("commit.busy") == PAWL_FAULT_FAIL)
    return fail_rc(c, c->name, SQLITE_BUSY, err);
  MUST(keep_room(c, unit, err));
  MUST(steer(c, UNIT_KEEP, err));
  c->group.in_unit = 0;
  if (is_group_empty(c)) {
    (void)pawl_sqconn_end(c); /* and so may others */
    return PAWL_OK;
  }
  pawl_unsaved_group(c->options->unsaved);
  if (PAWL_FAULT("commit.after") != PAWL_FAULT_DROP) return PAWL_OK;
  return pawl_fail(err, PAWL_UNREACHABLE, "%s: the answer is lost", c->name);
}

pawl_code pawl_sqconn_begin(pawl_sqconn *c, int unit, pawl_error *err) {
  int64_t version;
  if (c->group.is_open) return begin_in_group(c, unit, err);
  if (!pawl_sqconn_end(c))
    return pawl_failure_memory(err); /* of a store in memory */
  if (c->reading && unit != PAWL_UNIT_READ) return fail_readonly(c->name, err);
  if (c->reading == PAWL_READING_ALONE &&
      !pawl_reading_is_still(c->path, &c->mark))
    return fail_moving(c, err);
  MUST(pawl_sqconn_check_place(c, err));
  if (unit != PAWL_UNIT_READ) MUST(mend(c, err));
  MUST(set_sync(c, unit, err));
  if (c->reading) return begin_reading(c, &version, err);
  MUST(steer(c, unit == PAWL_UNIT_READ ? BEGIN_READ : BEGIN_WRITE, err));
  if (!may_group(c, unit)) return PAWL_OK;
  begin_group(c);
  const pawl_code rc = begin_in_group(c, unit, err);
  if (rc != PAWL_OK) (void)pawl_sqconn_end(c); /* others may write */
  return rc;
}

static pawl_code commit_kept(pawl_sqconn *c, int unit, pawl_error *err) {
  MUST(keep_room(c, unit, err));
  if (PAWL_FAULT("commit.busy") == PAWL_FAULT_FAIL)
    return fail_rc(c, c->name, SQLITE_BUSY, err);
  if (PAWL_FAULT("commit.full") == PAWL_FAULT_FAIL)
    return fail_rc(c, c->name, SQLITE_FULL, err);
  return steer(c, COMMIT, err);
}

static pawl_code try_commit(pawl_sqconn *c, int unit, pawl_error *err) {
  const pawl_code rc = commit_kept(c, unit, err);

  if (rc != PAWL_FULL || !make_room(c)) return rc;
  return pawl_fail_as(err, PAWL_BUSY, "40001", "try again",
                      "%s: the disk was full, and the log has room again",
                      c->name);
}

/* What nobody waits for on the disk leaves it to those who do: others wait
 * until it has the lock beside no more. Not for ever. */
static int wants_checkpoint(const pawl_sqconn *c, int unit) {
  const int64_t pages = unit == PAWL_UNIT_SOON
                            ? c->checkpoint_pages + passive_pages(c)
                            : c->checkpoint_pages;
  return c->wal_pages >= pages || !c->has_marked;
}

static pawl_code commit_write(pawl_sqconn *c, int unit, pawl_error *err) {
  int lost = 0;
  assert(!c->reading); /* R3 */
  if (!c->group.is_open) (void)PAWL_FAULT("commit.before");
  MUST(pawl_sqconn_check_place(c, err));
  MUST(lock_beside(c, patience(c), err));
  const int wants_room = c->wants_room; /* a unit of the group had none */
  pawl_code rc = try_commit(c, c->group.is_open ? PAWL_UNIT_SOON : unit, err);
  if (rc == PAWL_OK) {
    c->made_room = 0;
    if (!c->group.is_open) note_commit(c, unit);
    lost = PAWL_FAULT("commit.after") == PAWL_FAULT_DROP;
    if (wants_room)
      empty_log(c);
    else if (!c->is_memory && wants_checkpoint(c, unit))
      checkpoint_marked(c);
  }
  unlock_beside(c);
  if (rc == PAWL_OK) give_way(c);
  if (lost) /* for tests: a server's answer is lost like that */
    return pawl_fail(err, PAWL_UNREACHABLE, "%s: the answer is lost", c->name);
  return rc;
}

pawl_code pawl_sqconn_settle(pawl_sqconn *c, pawl_error *err) {
  pawl_code rc;

  if (!c->group.is_open) return PAWL_OK;
  assert(!c->group.in_unit);
  if (sqlite3_get_autocommit(c->db)) return fail_undone(c, err);
  if (PAWL_FAULT("commit.group") ==
      PAWL_FAULT_FAIL) { /* as a full disk does */
    (void)steer(c, ROLLBACK, NULL);
    rc = fail_rc(c, c->name, SQLITE_FULL, err);
  } else {
    rc = commit_write(c, PAWL_UNIT_BATCH, err);
  }
  if (rc == PAWL_OK) {
    c->group.is_open = 0;
    c->options->unsaved->unwritten = 0;
  } else if (rc != PAWL_BUSY || sqlite3_get_autocommit(c->db)) {
    lose_group(c);
  }
  return rc;
}

int pawl_sqconn_must_settle(pawl_sqconn *c) {
  const int64_t most = passive_bytes(c) / ROW_BYTES;

  return c->group.is_open &&
         (c->wants_room ||
          sqlite3_total_changes(c->db) - c->group.changes >=
              (most < GROUP_ROWS ? most : GROUP_ROWS) ||
          is_waited_for(c));
}

pawl_code pawl_sqconn_commit(pawl_sqconn *c, int unit, pawl_error *err) {
  if (c->group.is_open) return commit_in_group(c, unit, err);
  return unit == PAWL_UNIT_READ ? steer(c, COMMIT, err)
                                : commit_write(c, unit, err);
}

/* ---- all of it at once ---- */

/* Where commits take turns, pages are written while that lock is held. */
static void set_spill(pawl_sqconn *c, int may) {
  if (c->locks_commits)
    (void)pawl_sqconn_exec(
        c, may ? "pragma cache_spill=on" : "pragma cache_spill=off", NULL);
}

pawl_code pawl_sqconn_whole_begin(pawl_sqconn *c, pawl_error *err) {
  if (!pawl_sqconn_end(c)) return pawl_failure_memory(err);
  MUST(pawl_sqconn_check_place(c, err));
  MUST(mend(c, err));
  if (c->skips_sync) MUST(pawl_sqconn_exec(c, "pragma synchronous=full", err));
  c->skips_sync = 0;
  set_spill(c, 1);
  return PAWL_OK;
}

pawl_code pawl_sqconn_whole_lock(pawl_sqconn *c, pawl_error *err) {
  set_waiting(c, 0);
  return lock_beside(c, patience(c), err);
}

/* The log has as many pages as the store: it is not to stay so long. */
void pawl_sqconn_whole_end(pawl_sqconn *c, int is_done) {
  if (!is_done) note_sync_failed(c);
  if (is_done) note_commit(c, PAWL_UNIT_OPEN);
  if (is_done && !c->is_memory) empty_log(c);
  unlock_beside(c);
  set_waiting(c, 0);
  set_spill(c, 0);
}

/* ---- between units ---- */

void pawl_sqconn_tidy(pawl_sqconn *c) {
  int64_t bytes = c->wal_pages * c->page_bytes;
  if (c->is_memory || c->reading || c->group.is_open) return;
  forget_new_counts(c);
  if (bytes <
          (passive_bytes(c) < WAL_PASSIVE ? passive_bytes(c) : WAL_PASSIVE) ||
      lock_beside(c, at_most(c, 20000), NULL) != PAWL_OK)
    return;
  if (bytes < kept_bytes(c))
    checkpoint_marked(c);
  else
    empty_log(c);
  unlock_beside(c);
}

int pawl_sqconn_has_news(pawl_sqconn *c) {
  int64_t version = look_at(c, DATA_VERSION, c->seen_version);
  if (version == c->seen_version) return 0;
  c->seen_version = version;
  return 1;
}

/* A store in memory has no others. */
int pawl_sqconn_version(pawl_sqconn *c, int64_t *out) {
  *out = 0;
  if (c->is_memory) return 1;
  if (c->reading || !pawl_file_is_still(&c->file)) return 0;
  *out = look_at(c, DATA_VERSION, -1);
  return *out != -1;
}
