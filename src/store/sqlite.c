/* The SQLite driver. Only what steers the connection itself (begin, commit,
 * pragmas) is spelled here; every other statement is in sql/sqlite.
 *
 * Locks    A unit that writes begins with BEGIN IMMEDIATE: one that reads
 *          first and writes later would fail with BUSY_SNAPSHOT when another
 *          commits in between, whatever the busy handler says.
 *          Libraries before 3.51.3 can corrupt a WAL file that one connection
 *          resets while another checkpoints it. There, commits and checkpoints
 *          of all processes take turns under one lock on a file beside the
 *          database, "<path>-pawl-lock"; pages are written by commits alone
 *          (cache_spill off). The order is SQLite's write lock, then that one:
 *          a checkpoint that holds it never waits for the write lock.
 *          The database file itself is never opened beside SQLite: closing it
 *          would drop SQLite's own locks.
 * Turns    SQLite's write lock goes to whoever asks while it is free, which is
 *          nearly always the process that has just given it back. Who waits
 *          says so by a lock on the file beside, and who sees that after its
 *          commit pauses for as long as a waiting one sleeps.
 * Memory   rows are copied into `results`, which keeps its memory. */
#define _GNU_SOURCE /* flock, F_OFD_SETLK */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "../base/fault.h"
#include "../value/json.h"
#include "driver.h"
#include "file.h"
#include "reading.h"
#include "results.h"

#define APPLICATION_ID 0x5061776C /* "Pawl" */
#define SAFE_VERSION 3051003      /* commits and checkpoints may overlap */
#define BUSY_LIMIT (5 * PAWL_SECOND)
#define WAL_PASSIVE ((int64_t)4 * 1024 * 1024)
#define WAL_TRUNCATE ((int64_t)16 * 1024 * 1024)
#define OPS_PER_LOOK 100 /* of SQLite's machine, between looks at the clock */

enum {
  BEGIN_WRITE,
  BEGIN_READ,
  COMMIT,
  ROLLBACK,
  DATA_VERSION,
  SCHEMA_VERSION,
  NSTEERING
};
static const char *const steering[NSTEERING] = {
    [BEGIN_WRITE] = "begin immediate",
    [BEGIN_READ] = "begin",
    [COMMIT] = "commit",
    [ROLLBACK] = "rollback",
    [DATA_VERSION] = "pragma data_version",
    [SCHEMA_VERSION] = "pragma schema_version",
};

struct pawl_conn {
  const pawl_alloc *alloc;
  sqlite3 *db;
  char *path; /* as SQLite gets it */
  size_t path_size;
  const char *name; /* as the user wrote it, for messages; in path */
  int is_memory;
  pawl_reading reading;         /* it may only be read */
  pawl_reading_mark mark;       /* ALONE: the file as it was opened */
  pawl_file file;               /* else: where it was opened (F1) */
  pawl_driver_options *options; /* the caller's, for who opens it again */
  int lock_fd;                  /* the file beside; -1: in memory */
  int locks_commits;            /* an old library, see Locks */
  int is_waiting;               /* and says so */
  sqlite3_stmt *steering[NSTEERING];
  sqlite3_stmt *stmts[PAWL_NSTMTS];
  int unit;       /* PAWL_UNIT_..., -1: none */
  int skips_sync; /* commits return before they are on disk: PAWL_UNIT_SOON */
  int nsent;
  pawl_results results;
  pawl_buf lists; /* columns of a `run: once` statement */
  pawl_counts counts;
  int64_t page_bytes;
  int64_t wal_pages, checkpoint_pages; /* pages there, next checkpoint at */
  int64_t busy_since;                  /* monotonic */
  int no_waiting;
  uint64_t dice;
  int64_t seen_version;   /* data_version when last looked at */
  int64_t schema_version; /* the schema's, 0: not looked at yet */
  /* while the user's statement runs: */
  int is_guarded;
  int alters;             /* it alters a table: what names come of it? */
  char refused[96];       /* what the guard said no to */
  int64_t query_deadline; /* monotonic */
  pawl_results query_rows;
  pawl_buf query_names, query_types, query_kinds;
};

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

static pawl_code fail_rc(pawl_conn *c, const char *what, int rc,
                         pawl_error *err) {
  size_t n = sizeof failures / sizeof *failures, i = 0;
  while (i < n && failures[i].rc != rc && failures[i].rc != (rc & 0xff)) i++;
  pawl_code code = i < n ? failures[i].code : PAWL_STORE;
  (void)pawl_fail(err, code, "%s: %s", what,
                  c->db ? sqlite3_errmsg(c->db) : sqlite3_errstr(rc));
  pawl_error_sqlstate(err, i < n ? failures[i].sqlstate : "58000");
  if (i < n && failures[i].hint[0])
    pawl_error_hint(err, "%s", failures[i].hint);
  return code;
}

/* After a failed call on c->db. */
static pawl_code fail_db(pawl_conn *c, const char *what, pawl_error *err) {
  return fail_rc(c, what, sqlite3_extended_errcode(c->db), err);
}

static pawl_code fail_memory(pawl_error *err) {
  pawl_code rc = pawl_fail(err, PAWL_NOMEM, "no memory for the store");
  pawl_error_sqlstate(err, "53200");
  return rc;
}

/* ---- waiting for other processes ---- */

static uint32_t roll(pawl_conn *c) { /* xorshift64*: only to spread sleeps */
  c->dice ^= c->dice >> 12;
  c->dice ^= c->dice << 25;
  c->dice ^= c->dice >> 27;
  return (uint32_t)((c->dice * UINT64_C(2685821657736338717)) >> 32);
}

/* 0.2 to 1 ms, growing to about 5: SQLite's own busy_timeout sleeps longer
 * with every try, so that whoever came late wins and one process starves. */
static void sleep_a_little(pawl_conn *c, int tries) {
  int64_t us = 200 + roll(c) % 800;
  us += us * tries / 16;
  pawl_sleep_us(us < 5000 ? us : 5000);
}

/* Sets or drops the mark that says we wait: a read lock on a byte of the file
 * beside, which dies with its process. (flock's lock is another kind.) */
static void set_waiting(pawl_conn *c, int is_waiting) {
  if (c->lock_fd < 0 || c->is_waiting == is_waiting) return;
  c->is_waiting = is_waiting;
#ifdef F_OFD_SETLK
  struct flock mark = {.l_type = is_waiting ? F_RDLCK : F_UNLCK,
                       .l_whence = SEEK_SET,
                       .l_len = 1};
  (void)fcntl(c->lock_fd, F_OFD_SETLK, &mark);
#endif
}

/* Lets somebody else in who waits. */
static void give_way(pawl_conn *c) {
#ifdef F_OFD_GETLK
  struct flock mark = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
  if (c->lock_fd >= 0 && fcntl(c->lock_fd, F_OFD_GETLK, &mark) == 0 &&
      mark.l_type != F_UNLCK)
    pawl_sleep_us(1000);
#else
  (void)c;
#endif
}

static int on_busy(void *ud, int tries) {
  pawl_conn *c = ud;
  if (c->no_waiting) return 0;
  set_waiting(c, 1);
  if (tries == 0)
    c->busy_since = pawl_clock_mono();
  else if (pawl_clock_mono() - c->busy_since > BUSY_LIMIT)
    return 0;
  sleep_a_little(c, tries);
  return 1;
}

/* The lock of commits and checkpoints. A commit waits as long for it as for
 * SQLite's own. */
static pawl_code lock_beside(pawl_conn *c, int64_t limit_us, pawl_error *err) {
  int64_t deadline = pawl_clock_mono() + limit_us;
  if (!c->locks_commits) return PAWL_OK;
  for (int tries = 0; flock(c->lock_fd, LOCK_EX | LOCK_NB) != 0; tries++) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      (void)pawl_fail(err, PAWL_STORE, "%s-pawl-lock: %s", c->name,
                      strerror(errno));
      pawl_error_sqlstate(err, "58030");
      return PAWL_STORE;
    }
    if (pawl_clock_mono() >= deadline) {
      (void)pawl_fail(err, PAWL_BUSY, "%s-pawl-lock: is locked", c->name);
      pawl_error_sqlstate(err, "55P03");
      pawl_error_hint(err, "another process is committing; try again");
      return PAWL_BUSY;
    }
    sleep_a_little(c, tries);
  }
  return PAWL_OK;
}

static void unlock_beside(pawl_conn *c) {
  if (c->locks_commits) (void)flock(c->lock_fd, LOCK_UN);
}

/* ---- checkpoints ---- */

/* `pages` are in the WAL after a commit; it shrinks when a writer begins it
 * anew behind a complete checkpoint. */
static int on_commit(void *ud, sqlite3 *db, const char *name, int pages) {
  pawl_conn *c = ud;
  (void)db;
  (void)name;
  if (pages < c->wal_pages) c->checkpoint_pages = WAL_PASSIVE / c->page_bytes;
  c->wal_pages = pages;
  return SQLITE_OK;
}

/* Moves what no reader holds back into the database. Under the lock beside. */
static void checkpoint(pawl_conn *c, int mode) {
  int pages = 0, moved = 0;
  c->no_waiting = 1; /* see Locks above */
  int rc = sqlite3_wal_checkpoint_v2(c->db, NULL, mode, &pages, &moved);
  c->no_waiting = 0;
  if (rc == SQLITE_OK && mode == SQLITE_CHECKPOINT_TRUNCATE) c->wal_pages = 0;
  /* An old reader may hold it back: not again before as much has come. */
  c->checkpoint_pages = c->wal_pages + WAL_PASSIVE / c->page_bytes;
}

/* ---- is the file still there? ---- */

/* SQLite knows best which file it has open: one may have come in between. */
static int has_moved(pawl_conn *c) {
  int moved = 0;
  (void)sqlite3_file_control(c->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return moved;
}

/* F1. The connection is of no use any more: UNREACHABLE throws it away. */
static pawl_code check_place(pawl_conn *c, pawl_error *err) {
  if (pawl_file_is_still(&c->file)) return PAWL_OK;
  pawl_file_find_left(&c->file, &c->options->left_log); /* F2 */
  (void)pawl_fail(err, PAWL_UNREACHABLE,
                  "%s: the file that was open here was moved, deleted or "
                  "replaced",
                  c->name);
  pawl_error_sqlstate(err, "58P01");
  pawl_error_hint(err, "what is at its path is opened with the next call");
  return PAWL_UNREACHABLE;
}

/* Notes which file has been opened. */
static pawl_code note_place(pawl_conn *c, pawl_error *err) {
  if (c->is_memory || c->reading == PAWL_READING_ALONE)
    return PAWL_OK; /* R3 */
  if (!pawl_file_note(c->path, &c->file) || has_moved(c)) {
    c->file.at = (pawl_file_mark){0, 0}; /* which it is nobody knows */
    return check_place(c, err);
  }
  return PAWL_OK;
}

/* F2. */
static pawl_code check_log(pawl_conn *c, pawl_error *err) {
  if (!pawl_file_has_left(c->path, &c->options->left_log)) return PAWL_OK;
  (void)pawl_fail(err, PAWL_NOT_A_STORE,
                  "%s: another file is there now, but the log beside it "
                  "(-wal) is still that of the one before",
                  c->name);
  pawl_error_sqlstate(err, "58P01");
  pawl_error_hint(err,
                  "move %s-wal and %s-shm to where the file before went, or "
                  "delete them",
                  c->name, c->name);
  return PAWL_NOT_A_STORE;
}

/* ---- open and close ---- */

static pawl_code fail_path(const char *path, pawl_code code,
                           const char *sqlstate, const char *what,
                           const char *hint, pawl_error *err) {
  (void)pawl_fail(err, code, "%s: %s", path, what);
  pawl_error_sqlstate(err, sqlstate);
  if (hint) pawl_error_hint(err, "%s", hint);
  return code;
}

static pawl_code fail_missing(const char *path, pawl_error *err) {
  return fail_path(path, PAWL_NOTFOUND, "58P01", "there is no store",
                   "check the path; `pawl migrate` makes a store", err);
}

static pawl_code fail_readonly(const char *path, pawl_error *err) {
  return fail_path(path, PAWL_READONLY, "25006", "cannot be written",
                   "let this user write the file and its folder", err);
}

/* Can `path` be made in its folder? */
static pawl_code check_folder(const char *path, pawl_error *err) {
  const char *slash = strrchr(path, '/');
  size_t len = slash ? (size_t)(slash - path) + 1 : 0;
  char folder[4096] = ".";
  struct stat st;
  if (len >= sizeof folder)
    return fail_path(path, PAWL_INVALID, "58P01", "the path is too long", NULL,
                     err);
  if (len > 0) memcpy(folder, path, len);
  if (len > 1) folder[len - 1] = 0;
  if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode)) {
    if (access(folder, W_OK | X_OK) == 0) return PAWL_OK;
    return fail_path(folder, PAWL_READONLY, "42501", strerror(errno),
                     "let this user write the folder", err);
  }
  (void)pawl_fail(err, PAWL_NOTFOUND, "%s: there is no folder %s", path,
                  folder);
  pawl_error_sqlstate(err, "58P01");
  pawl_error_hint(err, "make the folder first");
  return PAWL_NOTFOUND;
}

/* What SQLite would tell less clearly. Only looks; opens nothing. */
static pawl_code check_path(const char *path,
                            const pawl_driver_options *options,
                            pawl_error *err) {
  struct stat st;
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
    return fail_readonly(path, err);
  return PAWL_OK;
}

static pawl_code exec(pawl_conn *c, const char *sql, pawl_error *err) {
  if (sqlite3_exec(c->db, sql, NULL, NULL, NULL) != SQLITE_OK)
    return fail_db(c, c->name, err);
  return PAWL_OK;
}

/* A statement's first column as an integer. */
static pawl_code ask_int(pawl_conn *c, const char *sql, int64_t *out,
                         pawl_error *err) {
  sqlite3_stmt *stmt = NULL;
  pawl_code rc = PAWL_OK;
  if (sqlite3_prepare_v2(c->db, sql, -1, &stmt, NULL) != SQLITE_OK ||
      sqlite3_step(stmt) != SQLITE_ROW)
    rc = fail_db(c, c->name, err);
  else
    *out = sqlite3_column_int64(stmt, 0);
  sqlite3_finalize(stmt);
  return rc;
}

/* Refuses what is somebody else's before anything is changed in it. */
static pawl_code check_owner(pawl_conn *c, int create, pawl_error *err) {
  int64_t id = 0, ours = 0, any = 0;
  pawl_code rc;
  TRY(ask_int(c, "pragma application_id", &id, err));
  TRY(ask_int(c, pawl_sql_sqlite[PAWL_STMT_SCHEMA_PROBE].text, &ours, err));
  TRY(ask_int(c, "select exists (select 1 from sqlite_master)", &any, err));
  if (ours) return PAWL_OK;
  if (any || (id != 0 && id != APPLICATION_ID))
    return fail_path(c->name, PAWL_NOT_A_STORE, "3F000",
                     "is a SQLite file of something else",
                     "give pawl a file of its own; your tables can be made "
                     "in it afterwards",
                     err);
  return create ? PAWL_OK : fail_missing(c->name, err);
out:
  return rc;
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

static pawl_code open_beside(pawl_conn *c, pawl_error *err) {
  struct stat st;
  char name[4096];
  int n = snprintf(name, sizeof name, "%s-pawl-lock", c->path);
  if (n < 0 || n >= (int)sizeof name)
    return fail_path(c->name, PAWL_INVALID, "58P01", "the path is too long",
                     NULL, err);
  if (stat(c->path, &st) != 0) st.st_mode = 0600;
  c->lock_fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (c->lock_fd < 0)
    return fail_path(
        name, errno == EROFS || errno == EACCES ? PAWL_READONLY : PAWL_STORE,
        "58030", strerror(errno),
        "let this user write the file and its folder", err);
  set_rights(c->lock_fd, &st);
  return PAWL_OK;
}

/* One try; *is_wal: whether the file is in WAL mode now. */
static int try_wal(pawl_conn *c, int *is_wal) {
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
static pawl_code set_wal(pawl_conn *c, pawl_error *err) {
  int64_t deadline = pawl_clock_mono() + BUSY_LIMIT;
  int rc, is_wal = 0;
  for (int tries = 0; (rc = try_wal(c, &is_wal)) != SQLITE_ROW; tries++) {
    if ((rc & 0xff) != SQLITE_BUSY || pawl_clock_mono() > deadline)
      return fail_db(c, c->name, err);
    sleep_a_little(c, tries);
  }
  if (is_wal) return PAWL_OK;
  return fail_path(c->name, PAWL_STORE, "58000",
                   "its file system has no shared memory",
                   "put the file on a local disk, not a network share", err);
}

static pawl_code prepare_steering(pawl_conn *c, int which, pawl_error *err) {
  sqlite3_stmt **s = &c->steering[which];
  if (!*s &&
      sqlite3_prepare_v3(c->db, steering[which], -1, SQLITE_PREPARE_PERSISTENT,
                         s, NULL) != SQLITE_OK)
    return fail_db(c, c->name, err);
  return PAWL_OK;
}

static pawl_code steer(pawl_conn *c, int which, pawl_error *err) {
  pawl_code rc;
  TRY(prepare_steering(c, which, err));
  if (sqlite3_step(c->steering[which]) != SQLITE_DONE)
    rc = fail_db(c, c->name, err);
  sqlite3_reset(c->steering[which]);
  set_waiting(c, 0);
out:
  return rc;
}

/* What a version is now; when it cannot be had, as it was. */
static int64_t look_at(pawl_conn *c, int which, int64_t before) {
  sqlite3_stmt *s;
  int64_t version = before;
  if (prepare_steering(c, which, NULL) != PAWL_OK) return before;
  s = c->steering[which];
  if (sqlite3_step(s) == SQLITE_ROW) version = sqlite3_column_int64(s, 0);
  sqlite3_reset(s);
  return version;
}

/* Is no transaction open any more? A failed statement may have rolled back by
 * itself: a full disk does. */
static int end_transaction(pawl_conn *c) {
  if (!sqlite3_get_autocommit(c->db) &&
      PAWL_FAULT("store.rollback") != PAWL_FAULT_FAIL)
    (void)steer(c, ROLLBACK, NULL);
  return sqlite3_get_autocommit(c->db);
}

/* Who opens the file for writing makes its -shm first and fills it then. In
 * between, one that may not write it is told to recover what the log holds:
 * somebody is about to. */
static pawl_code begin_reading(pawl_conn *c, int64_t *version,
                               pawl_error *err) {
  int64_t deadline = pawl_clock_mono() + BUSY_LIMIT;
  pawl_code rc;
  TRY(prepare_steering(c, DATA_VERSION, err));
  TRY(steer(c, BEGIN_READ, err));
  for (int tries = 0; sqlite3_step(c->steering[DATA_VERSION]) != SQLITE_ROW;
       tries++) {
    rc = fail_db(c, c->name, err);
    if (sqlite3_extended_errcode(c->db) != SQLITE_READONLY_RECOVERY ||
        pawl_clock_mono() > deadline)
      break;
    sqlite3_reset(c->steering[DATA_VERSION]);
    sleep_a_little(c, tries);
    rc = PAWL_OK;
  }
  if (rc == PAWL_OK)
    *version = sqlite3_column_int64(c->steering[DATA_VERSION], 0);
  sqlite3_reset(c->steering[DATA_VERSION]);
  set_waiting(c, 0);
out:
  return rc;
}

/* Plans are made without counts. Those of an ANALYZE (a host's `pragma
 * optimize`) stay as the tables grow, and a statement that was planned for one
 * row of ours walks all of them later. Others' tables keep theirs. */
static pawl_code forget_counts(pawl_conn *c, int have_been_read,
                               pawl_error *err) {
  pawl_code rc;
  int64_t n = 0;
  TRY(ask_int(c,
              "select count(*) from sqlite_master where name='sqlite_stat1'",
              &n, err));
  if (!n) return PAWL_OK;
  if (!have_been_read)
    TRY(ask_int(c, "select count(*) from sqlite_stat1 where tbl glob 'pawl_*'",
                &n, err));
  if (!n) return PAWL_OK;
  TRY(exec(c, "delete from sqlite_stat1 where tbl glob 'pawl_*'", err));
  TRY(exec(c, "analyze sqlite_master", err)); /* reads what is left */
out:
  return rc;
}

/* Who counts for the first time makes the table of counts, so that all others
 * read the schema anew, with them. */
static void forget_new_counts(pawl_conn *c) {
  int64_t version = look_at(c, SCHEMA_VERSION, c->schema_version);
  if (version == c->schema_version || lock_beside(c, 20000, NULL) != PAWL_OK)
    return;
  if (forget_counts(c, c->schema_version != 0, NULL) == PAWL_OK)
    c->schema_version = version;
  unlock_beside(c);
}

static void sqlite_tidy(pawl_conn *c) {
  int64_t bytes = c->wal_pages * c->page_bytes;
  if (c->unit >= 0 || c->is_memory || c->reading) return;
  forget_new_counts(c);
  if (bytes < WAL_PASSIVE || lock_beside(c, 20000, NULL) != PAWL_OK) return;
  checkpoint(c, bytes < WAL_TRUNCATE ? SQLITE_CHECKPOINT_PASSIVE
                                     : SQLITE_CHECKPOINT_TRUNCATE);
  unlock_beside(c);
}

static pawl_code configure(pawl_conn *c, pawl_error *err) {
  pawl_code rc;
  TRY(exec(c,
           "pragma foreign_keys=off; pragma cell_size_check=on;"
           "pragma synchronous=full; pragma fullfsync=on;"
           "pragma checkpoint_fullfsync=on; pragma recursive_triggers=off",
           err));
  /* What a statement would undo if it failed in the midst is kept page by
   * page: in a temporary file, unless told otherwise. */
  TRY(exec(c, "pragma temp_store=memory", err));
  if (c->is_memory || c->reading) return PAWL_OK;
  TRY(open_beside(c, err));
  c->locks_commits = sqlite3_libversion_number() < SAFE_VERSION;
  if (c->locks_commits) TRY(exec(c, "pragma cache_spill=off", err));
  TRY(lock_beside(c, BUSY_LIMIT, err));
  if ((rc = set_wal(c, err)) == PAWL_OK) rc = forget_counts(c, 0, err);
  unlock_beside(c);
  if (rc != PAWL_OK) return rc;
  TRY(exec(c,
           "pragma wal_autocheckpoint=0;"
           "pragma journal_size_limit=16777216",
           err));
  TRY(ask_int(c, "pragma page_size", &c->page_bytes, err));
  c->checkpoint_pages = WAL_PASSIVE / c->page_bytes;
  sqlite3_wal_hook(c->db, on_commit, c);
  TRY(ask_int(c, steering[DATA_VERSION], &c->seen_version, err));
out:
  return rc;
}

static int guard(void *ud, int action, const char *a, const char *b,
                 const char *schema, const char *trigger);

static int open_file(pawl_conn *c, int create) {
  pawl_buf uri = {.alloc = c->alloc};
  int flags = SQLITE_OPEN_NOMUTEX, rc;

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

static pawl_code connect(pawl_conn *c, int create, pawl_error *err) {
  int rc = open_file(c, create);
  if (rc != SQLITE_OK) return fail_rc(c, c->name, rc, err);
  sqlite3_extended_result_codes(c->db, 1);
  sqlite3_busy_handler(c->db, on_busy, c);
  sqlite3_db_config(c->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(c->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  /* Set once and for all: setting it drops every prepared statement. */
  sqlite3_set_authorizer(c->db, guard, c);
  /* SQLite opens what it may not write for reading, and says so later. */
  if (!c->is_memory && !c->reading && sqlite3_db_readonly(c->db, "main") == 1)
    return fail_readonly(c->name, err);
  return note_place(c, err);
}

static void sqlite_close(pawl_conn *c) {
  if (!c) return;
  for (int i = 0; i < NSTEERING; i++) sqlite3_finalize(c->steering[i]);
  for (int i = 0; i < PAWL_NSTMTS; i++) sqlite3_finalize(c->stmts[i]);
  /* The last connection checkpoints while it closes. */
  if (c->db && (c->reading || !pawl_file_is_still(&c->file) ||
                lock_beside(c, PAWL_SECOND, NULL) != PAWL_OK))
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
  sqlite3_close(c->db);
  unlock_beside(c);
  if (c->lock_fd >= 0) close(c->lock_fd);
  pawl_results_deinit(&c->results);
  pawl_results_deinit(&c->query_rows);
  pawl_buf_deinit(&c->lists);
  pawl_buf_deinit(&c->query_names);
  pawl_buf_deinit(&c->query_types);
  pawl_buf_deinit(&c->query_kinds);
  pawl_release(c->alloc, c->path, c->path_size);
  pawl_release(c->alloc, c, sizeof *c);
}

/* A path that SQLite takes for nothing else: not for a URI, not for one of
 * its own names. */
static int set_path(pawl_conn *c, const char *path) {
  const char *prefix = c->is_memory || path[0] == '/' ? "" : "./";
  if (strncmp(path, "./", 2) == 0 || strncmp(path, "../", 3) == 0) prefix = "";
  c->path_size = strlen(prefix) + strlen(path) + 1;
  c->path = pawl_realloc(c->alloc, NULL, 0, c->path_size);
  if (!c->path) return 0;
  snprintf(c->path, c->path_size, "%s%s", prefix, path);
  c->name = c->path + strlen(prefix);
  return 1;
}

static pawl_conn *new_conn(const pawl_alloc *alloc) {
  pawl_conn *c = pawl_calloc(alloc, sizeof *c);
  if (!c) return NULL;
  c->alloc = alloc;
  c->lock_fd = -1;
  c->unit = -1;
  c->page_bytes = 4096;
  c->dice =
      ((uint64_t)pawl_clock_mono() << 20) ^ (uint64_t)getpid() ^ (uintptr_t)c;
  if (c->dice == 0) c->dice = 1; /* it would stay there */
  pawl_results_init(&c->results, alloc);
  pawl_results_init(&c->query_rows, alloc);
  c->lists.alloc = c->query_names.alloc = alloc;
  c->query_types.alloc = c->query_kinds.alloc = alloc;
  return c;
}

static pawl_code sqlite_open(const char *path, pawl_driver_options *options,
                             pawl_conn **out, pawl_error *err) {
  pawl_code rc;
  pawl_conn *c = NULL;
  if (path[0] == 0)
    return pawl_fail(err, PAWL_INVALID, "the store's path is empty");
  if (!(c = new_conn(options->alloc))) return fail_memory(err);
  c->options = options;
  c->is_memory = strcmp(path, ":memory:") == 0;
  if (!set_path(c, path)) {
    rc = fail_memory(err);
    goto out;
  }
  if (!c->is_memory) TRY(check_path(path, options, err));
  if (!c->is_memory) TRY(check_log(c, err));
  if (!c->is_memory && options->create) make_private(c->path);
  if (!c->is_memory && options->look)
    TRY(pawl_reading_find(c->path, &c->reading, err));
  if (c->reading == PAWL_READING_ALONE) pawl_reading_note(c->path, &c->mark);
  TRY(connect(c, options->create || c->is_memory, err));
  if (c->reading) TRY(begin_reading(c, &c->seen_version, err));
  TRY(check_owner(c, options->create || c->is_memory, err));
  if (c->reading && !end_transaction(c)) TRY(fail_memory(err));
  TRY(configure(c, err));
  TRY(prepare_steering(c, ROLLBACK, err)); /* there may be no memory then */
  pawl_file_note_log(&c->file);
  set_waiting(c, 0);
  *out = c;
  return PAWL_OK;
out:
  sqlite_close(c);
  return rc;
}

/* ---- statements ---- */

static pawl_code fail_internal(const char *stmt, const char *what,
                               pawl_error *err) {
  return pawl_fail(err, PAWL_INTERNAL, "%s: %s", stmt, what);
}

/* Does a statement give the columns it declares? */
static pawl_code check_columns(const pawl_stmt_info *info, sqlite3_stmt *s,
                               pawl_error *err) {
  if (info->ncols == 0) return PAWL_OK;
  if (sqlite3_column_count(s) != info->ncols)
    return fail_internal(info->name,
                         "gives more or fewer columns than it "
                         "declares",
                         err);
  for (int i = 0; i < info->ncols; i++) {
    const char *name = sqlite3_column_name(s, i);
    if (!name) return fail_memory(err);
    if (strcmp(name, info->cols[i].name) != 0)
      return pawl_fail(err, PAWL_INTERNAL, "%s: column %d is %s, not %s",
                       info->name, i + 1, name, info->cols[i].name);
  }
  return PAWL_OK;
}

/* The prepared statement of the catalogue, ready to be bound. */
static pawl_code prepared(pawl_conn *c, pawl_stmt which, sqlite3_stmt **out,
                          pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[which];
  pawl_code rc;
  if (!c->stmts[which]) {
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v3(c->db, pawl_sql_sqlite[which].text, -1,
                           SQLITE_PREPARE_PERSISTENT, &s, NULL) != SQLITE_OK)
      return fail_db(c, info->name, err);
    if ((rc = check_columns(info, s, err)) != PAWL_OK) {
      sqlite3_finalize(s);
      return rc;
    }
    c->stmts[which] = s;
  }
  *out = c->stmts[which];
  return PAWL_OK;
}

static int bind_cell(sqlite3_stmt *s, int at, pawl_type type,
                     const pawl_cell *cell) {
  const char *bytes = cell->s.at ? cell->s.at : "";
  if (cell->is_null) return sqlite3_bind_null(s, at);
  switch (type) {
    case PAWL_T_BOOL:
    case PAWL_T_INT:
    case PAWL_T_TIME:
      return sqlite3_bind_int64(s, at, cell->i);
    case PAWL_T_FLOAT:
      return sqlite3_bind_double(s, at, cell->d);
    case PAWL_T_TEXT:
    case PAWL_T_JSON:
    case PAWL_T_NUMERIC:
      return sqlite3_bind_text64(s, at, bytes, cell->s.len, SQLITE_STATIC,
                                 SQLITE_UTF8);
    case PAWL_T_UUID:
    case PAWL_T_BYTES:
      return sqlite3_bind_blob64(s, at, bytes, cell->s.len, SQLITE_STATIC);
  }
  return SQLITE_MISUSE;
}

static void add_json(pawl_buf *b, pawl_type type, const pawl_cell *cell) {
  if (cell->is_null)
    pawl_buf_addz(b, "null");
  else if (type == PAWL_T_FLOAT)
    pawl_json_add_float(b, cell->d);
  else if (type == PAWL_T_BOOL || type == PAWL_T_INT || type == PAWL_T_TIME)
    pawl_buf_addi(b, cell->i);
  else
    pawl_json_add_string(b, cell->s);
}

/* The columns of a `run: once` statement, as JSON arrays one after another
 * in c->lists: they must all be there before the first is bound, because the
 * buffer may move while it grows. */
static pawl_code bind_lists(pawl_conn *c, sqlite3_stmt *s,
                            const pawl_args *args, pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[args->stmt];
  size_t ends[PAWL_MAX_ARGS], begin = 0;
  pawl_buf_clear(&c->lists);
  for (int i = 0; i < info->nargs; i++) {
    const pawl_column *col = &args->cols[i];
    for (int k = 0; info->args[i].is_array && k < col->n; k++) {
      pawl_buf_addc(&c->lists, k == 0 ? '[' : ',');
      add_json(&c->lists, info->args[i].type, &col->cells[k]);
    }
    if (info->args[i].is_array) pawl_buf_addc(&c->lists, ']');
    ends[i] = c->lists.len;
  }
  if (pawl_buf_check(&c->lists, NULL) != PAWL_OK) return fail_memory(err);
  for (int i = 0; i < info->nargs; begin = ends[i++]) {
    if (info->args[i].is_array &&
        sqlite3_bind_text64(s, i + 1, c->lists.at + begin, ends[i] - begin,
                            SQLITE_STATIC, SQLITE_UTF8) != SQLITE_OK)
      return fail_db(c, info->name, err);
  }
  return PAWL_OK;
}

/* Binds the scalars (row < 0), or the columns' values of one row. */
static pawl_code bind_args(pawl_conn *c, sqlite3_stmt *s,
                           const pawl_args *args, int row, pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[args->stmt];
  for (int i = 0; i < info->nargs; i++) {
    const pawl_param *p = &info->args[i];
    if (p->is_array != (row >= 0)) continue;
    const pawl_cell *cell = &args->cols[i].cells[p->is_array ? row : 0];
    if (bind_cell(s, i + 1, p->type, cell) != SQLITE_OK)
      return fail_db(c, info->name, err);
  }
  return PAWL_OK;
}

/* Copies the bytes of a column; false: no memory. */
static int copy_bytes(pawl_results *r, sqlite3_stmt *s, int col,
                      const void *at, pawl_cell *cell) {
  size_t len = (size_t)sqlite3_column_bytes(s, col); /* never negative */
  if (!at && len > 0) return 0;
  cell->s = pawl_results_copy(r, at ? at : "", len);
  return cell->s.at != NULL;
}

static int is_text_type(pawl_type type) {
  return type == PAWL_T_TEXT || type == PAWL_T_JSON || type == PAWL_T_NUMERIC;
}

/* Is what SQLite stores there what the column was declared to hold? */
static int fits(pawl_type type, int storage, int len) {
  switch (storage) {
    case SQLITE_INTEGER:
      return type == PAWL_T_BOOL || type == PAWL_T_INT ||
             type == PAWL_T_TIME || type == PAWL_T_FLOAT ||
             type == PAWL_T_NUMERIC;
    case SQLITE_FLOAT:
      return type == PAWL_T_FLOAT || type == PAWL_T_NUMERIC;
    case SQLITE_TEXT:
      return is_text_type(type);
    case SQLITE_BLOB:
      return type == PAWL_T_BYTES || (type == PAWL_T_UUID && len == 16);
  }
  return 1;
}

static pawl_code read_cell(pawl_conn *c, const pawl_stmt_info *info,
                           sqlite3_stmt *s, int col, pawl_cell *cell,
                           pawl_error *err) {
  int storage = sqlite3_column_type(s, col);
  pawl_type type = info->cols[col].type;
  int copied = 1;
  if (storage == SQLITE_NULL) return PAWL_OK;
  if (!fits(type, storage,
            storage == SQLITE_BLOB ? sqlite3_column_bytes(s, col) : 0)) {
    (void)pawl_fail(err, PAWL_CORRUPT, "%s: column %s holds a wrong value",
                    info->name, info->cols[col].name);
    pawl_error_sqlstate(err, "XX001");
    return PAWL_CORRUPT;
  }
  cell->is_null = 0;
  if (is_text_type(type))
    copied =
        copy_bytes(&c->results, s, col, sqlite3_column_text(s, col), cell);
  else if (type == PAWL_T_UUID || type == PAWL_T_BYTES)
    copied =
        copy_bytes(&c->results, s, col, sqlite3_column_blob(s, col), cell);
  else if (type == PAWL_T_FLOAT)
    cell->d = sqlite3_column_double(s, col);
  else
    cell->i = sqlite3_column_int64(s, col);
  return copied ? PAWL_OK : fail_memory(err);
}

/* Runs a bound statement to its end; its rows go to the open result. */
static pawl_code run(pawl_conn *c, const pawl_stmt_info *info, sqlite3_stmt *s,
                     int64_t *changed, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  int step;
  while (rc == PAWL_OK && (step = sqlite3_step(s)) != SQLITE_DONE) {
    if (step != SQLITE_ROW) {
      rc = fail_db(c, info->name, err);
    } else if (info->ncols > 0) {
      pawl_cell *row = pawl_results_row(&c->results);
      if (!row) rc = fail_memory(err);
      for (int i = 0; i < info->ncols && rc == PAWL_OK; i++)
        rc = read_cell(c, info, s, i, &row[i], err);
    }
  }
  if (rc == PAWL_OK && !sqlite3_stmt_readonly(s))
    *changed += sqlite3_changes(c->db);
  sqlite3_reset(s); /* tells an error again that was told above */
  return rc;
}

static pawl_code fail_every(const pawl_stmt_info *info, pawl_error *err) {
  (void)pawl_fail(err, PAWL_LEASE_LOST, "%s: a row was not as expected",
                  info->name);
  pawl_error_sqlstate(err, "22012"); /* as PostgreSQL's statement does */
  return PAWL_LEASE_LOST;
}

static pawl_code sqlite_send(pawl_conn *c, const pawl_args *args,
                             pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[args->stmt];
  int nrows = pawl_args_rows(args);
  int64_t changed = 0, before;
  sqlite3_stmt *s = NULL;
  pawl_code rc;

  TRY(pawl_results_begin(&c->results, args->stmt, info->ncols, err));
  if (nrows == 0) return PAWL_OK;
  if (c->nsent++ == 0 || c->unit == PAWL_UNIT_OPEN) c->counts.trips++;
  c->counts.statements++;
  TRY(prepared(c, args->stmt, &s, err));
  TRY(bind_args(c, s, args, -1, err));
  if (pawl_sql_sqlite[args->stmt].once) {
    TRY(bind_lists(c, s, args, err));
    TRY(run(c, info, s, &changed, err));
  } else {
    for (int row = 0; row < nrows; row++) {
      before = changed;
      TRY(bind_args(c, s, args, row, err));
      TRY(run(c, info, s, &changed, err));
      if (info->every && changed == before) return fail_every(info, err);
    }
  }
  rc = pawl_results_end(&c->results, changed, err);
out:
  return rc;
}

static void sqlite_rows(pawl_conn *c, int k, pawl_rows *out) {
  pawl_results_get(&c->results, k, out);
}

/* ---- units ---- */

/* The WAL is synced as a whole: the next commit that is takes those along that
 * were not. What it is to be is settled before a unit begins, so that none goes
 * on without the sync it wants. */
static pawl_code set_sync(pawl_conn *c, int unit, pawl_error *err) {
  int skips = unit == PAWL_UNIT_SOON;
  pawl_code rc;
  if (unit == PAWL_UNIT_READ || c->skips_sync == skips) return PAWL_OK;
  TRY(exec(c, skips ? "pragma synchronous=normal" : "pragma synchronous=full",
           err));
  c->skips_sync = skips;
out:
  return rc;
}

static pawl_code sqlite_begin(pawl_conn *c, int unit, pawl_error *err) {
  pawl_code rc;
  int64_t version;
  assert(c->unit < 0);
  if (!end_transaction(c)) return fail_memory(err); /* of a store in memory */
  pawl_results_clear(&c->results);
  if (c->reading && unit != PAWL_UNIT_READ) return fail_readonly(c->name, err);
  if (c->reading == PAWL_READING_ALONE &&
      !pawl_reading_is_still(c->path, &c->mark)) /* R3: it is opened anew */
    return pawl_fail(err, PAWL_UNREACHABLE, "%s: somebody writes to it",
                     c->name);
  TRY(check_place(c, err));
  TRY(set_sync(c, unit, err));
  if (c->reading)
    TRY(begin_reading(c, &version, err));
  else
    TRY(steer(c, unit == PAWL_UNIT_READ ? BEGIN_READ : BEGIN_WRITE, err));
  c->unit = unit;
  c->nsent = 0;
out:
  return rc;
}

/* A store in memory goes with its connection: its next unit tries again. */
static int sqlite_rollback(pawl_conn *c) {
  if (c->unit < 0) return 1;
  c->unit = -1;
  return end_transaction(c) || c->is_memory;
}

static pawl_code commit_write(pawl_conn *c, pawl_error *err) {
  int lost = 0;
  pawl_code rc;
  (void)PAWL_FAULT("commit.before");
  TRY(check_place(c, err));
  TRY(lock_beside(c, BUSY_LIMIT, err));
  rc = PAWL_FAULT("commit.busy") == PAWL_FAULT_FAIL
           ? fail_rc(c, c->name, SQLITE_BUSY, err)
           : steer(c, COMMIT, err);
  if (rc == PAWL_OK) {
    lost = PAWL_FAULT("commit.after") == PAWL_FAULT_DROP;
    if (c->wal_pages >= c->checkpoint_pages && !c->is_memory)
      checkpoint(c, SQLITE_CHECKPOINT_PASSIVE);
  }
  unlock_beside(c);
  if (rc == PAWL_OK) give_way(c);
  if (lost) /* for tests: a server's answer is lost like that */
    return pawl_fail(err, PAWL_UNREACHABLE, "%s: the answer is lost", c->name);
out:
  return rc;
}

static pawl_code sqlite_commit(pawl_conn *c, pawl_error *err) {
  pawl_code rc;
  assert(c->unit >= 0);
  TRY(c->unit == PAWL_UNIT_READ ? steer(c, COMMIT, err)
                                : commit_write(c, err));
  if (c->unit == PAWL_UNIT_OPEN) c->counts.trips++;
  if (c->nsent > 0) c->counts.transactions++;
  c->unit = -1;
out:
  return rc;
}

/* ---- the schema ---- */

static pawl_code sqlite_script(pawl_conn *c, const char *sql,
                               pawl_error *err) {
  char mark[64];
  pawl_code rc;
  c->nsent++;
  TRY(exec(c, sql, err));
  snprintf(mark, sizeof mark, "pragma application_id=%d", APPLICATION_ID);
  TRY(exec(c, mark, err));
out:
  return rc;
}

/* ---- the user's own statement ---- */

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
      return "the transaction is the step's: it cannot be begun, ended or "
             "divided";
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
      return "databases cannot be attached or detached";
    case SQLITE_PRAGMA:
      return is_harmless_pragma(a) ? NULL : "pragmas are not allowed";
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE:
      return NULL;
  }
  /* What is left writes or declares; a and b name what. */
  return is_ours(a) || is_ours(b) ? "pawl's own tables can only be read"
                                  : NULL;
}

static int guard(void *ud, int action, const char *a, const char *b,
                 const char *schema, const char *trigger) {
  pawl_conn *c = ud;
  (void)schema;
  (void)trigger;
  if (!c->is_guarded) return SQLITE_OK;
  if (action == SQLITE_ALTER_TABLE) c->alters = 1;
  const char *why = objection(action, a, b);
  if (!why) return SQLITE_OK;
  snprintf(c->refused, sizeof c->refused, "%s", why);
  return SQLITE_DENY;
}

static int on_progress(void *ud) {
  pawl_conn *c = ud;
  return pawl_clock_mono() > c->query_deadline;
}

static pawl_code fail_late(int64_t limit_us, pawl_error *err) {
  (void)pawl_fail(err, PAWL_TIMEOUT, "query: took longer than %g s",
                  (double)limit_us / (double)PAWL_SECOND);
  pawl_error_sqlstate(err, "57014");
  pawl_error_hint(err, "nobody else can write meanwhile: make it shorter");
  return PAWL_TIMEOUT;
}

static pawl_code fail_query(pawl_conn *c, int64_t limit_us, pawl_error *err) {
  int code = sqlite3_extended_errcode(c->db);
  if (c->refused[0]) {
    (void)pawl_fail(err, PAWL_MISUSE, "query: %s", c->refused);
    pawl_error_sqlstate(err, "42501");
    return PAWL_MISUSE;
  }
  if (code == SQLITE_INTERRUPT) return fail_late(limit_us, err);
  return fail_db(c, "query", err);
}

/* Is there anything but white space and comments behind the statement? */
static int has_more(pawl_conn *c, const char *tail, const char *end) {
  while (tail < end) {
    sqlite3_stmt *next = NULL;
    const char *at = tail;
    int rc = sqlite3_prepare_v2(c->db, at, (int)(end - at), &next, &tail);
    sqlite3_finalize(next);
    if (rc != SQLITE_OK || next) return 1;
    if (tail == at) break;
  }
  return 0;
}

static pawl_code prepare_query(pawl_conn *c, const char *sql, size_t len,
                               sqlite3_stmt **out, pawl_error *err) {
  const char *tail = NULL;
  if (len > 1000000) /* SQLite's own limit, and an int's */
    return pawl_fail(err, PAWL_LIMIT, "query: the statement is too long");
  if (sqlite3_prepare_v2(c->db, sql, (int)len, out, &tail) != SQLITE_OK)
    return fail_query(c, 0, err);
  if (!*out)
    return pawl_fail(err, PAWL_MISUSE, "query: there is no statement");
  if (has_more(c, tail, sql + len))
    return pawl_fail(err, PAWL_MISUSE, "query: one statement at a time");
  return PAWL_OK;
}

static pawl_code bind_query(pawl_conn *c, sqlite3_stmt *s,
                            const pawl_cell *params, const pawl_type *types,
                            int nparams, pawl_error *err) {
  int want = sqlite3_bind_parameter_count(s);
  if (want != nparams)
    return pawl_fail(err, PAWL_INVALID,
                     "query: the statement has %d parameters, %d given", want,
                     nparams);
  for (int i = 0; i < nparams; i++)
    if (bind_cell(s, i + 1, types[i], &params[i]) != SQLITE_OK)
      return fail_db(c, "query", err);
  return PAWL_OK;
}

/* One row as SQLite stores it; its kinds are noted in query_kinds. */
static int read_query_row(pawl_conn *c, sqlite3_stmt *s, int ncols) {
  pawl_cell *row = pawl_results_row(&c->query_rows);
  if (!row) return 0;
  for (int i = 0; i < ncols; i++) {
    int kind = sqlite3_column_type(s, i);
    row[i].is_null = kind == SQLITE_NULL;
    pawl_buf_addc(&c->query_kinds, (char)kind); /* 1 to 5 */
    if (kind == SQLITE_INTEGER)
      row[i].i = sqlite3_column_int64(s, i);
    else if (kind == SQLITE_FLOAT)
      row[i].d = sqlite3_column_double(s, i);
    else if (kind != SQLITE_NULL &&
             !copy_bytes(&c->query_rows, s, i,
                         kind == SQLITE_TEXT
                             ? (const void *)sqlite3_column_text(s, i)
                             : sqlite3_column_blob(s, i),
                         &row[i]))
      return 0;
  }
  return !c->query_kinds.failed;
}

static pawl_code step_query(pawl_conn *c, sqlite3_stmt *s, int64_t limit_us,
                            pawl_error *err) {
  int ncols = sqlite3_column_count(s), step;
  pawl_code rc;
  pawl_results_clear(&c->query_rows);
  pawl_buf_clear(&c->query_kinds);
  TRY(pawl_results_begin(&c->query_rows, (pawl_stmt)0, ncols, err));
  while ((step = sqlite3_step(s)) == SQLITE_ROW)
    if (!read_query_row(c, s, ncols)) return fail_memory(err);
  if (step != SQLITE_DONE) return fail_query(c, limit_us, err);
  /* One operation may have taken all of it: a function's call is one. */
  if (limit_us > 0 && pawl_clock_mono() > c->query_deadline)
    return fail_late(limit_us, err);
  int readonly = sqlite3_stmt_readonly(s);
  rc = pawl_results_end(&c->query_rows, readonly ? 0 : sqlite3_changes(c->db),
                        err);
out:
  return rc;
}

/* SQLite does not say what a table is renamed to: names that are ours are
 * counted before and after. */
static pawl_code count_names(pawl_conn *c, int64_t *out, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  c->is_guarded = 0;
  if (c->alters)
    rc = ask_int(c,
                 "select count(*) from (select name from main.sqlite_master"
                 " union all select name from temp.sqlite_master)"
                 " where name like 'pawl\\_%' escape '\\'",
                 out, err);
  c->is_guarded = 1;
  return rc;
}

/* Runs the user's statement, which may make no name that is ours. */
static pawl_code run_query(pawl_conn *c, sqlite3_stmt *s, int64_t limit_us,
                           pawl_error *err) {
  int64_t before = 0, after = 0;
  pawl_code rc;
  TRY(count_names(c, &before, err));
  TRY(step_query(c, s, limit_us, err));
  TRY(count_names(c, &after, err));
  if (before == after) return PAWL_OK;
  rc = pawl_fail(err, PAWL_MISUSE,
                 "query: names that begin with pawl_ are pawl's own");
  pawl_error_sqlstate(err, "42501");
out:
  return rc;
}

/* The type that holds every value of a column: SQLite has types by the value.
 * Integers among floats become floats, everything else text. */
static pawl_type column_type(const char *kinds, int nrows, int ncols,
                             int col) {
  unsigned seen = 0;
  for (int i = 0; i < nrows; i++) seen |= 1u << kinds[i * ncols + col];
  seen &= ~(1u << SQLITE_NULL);
  if (seen == 1u << SQLITE_INTEGER) return PAWL_T_INT;
  if (seen && !(seen & ~(1u << SQLITE_INTEGER | 1u << SQLITE_FLOAT)))
    return PAWL_T_FLOAT;
  return seen == 1u << SQLITE_BLOB ? PAWL_T_BYTES : PAWL_T_TEXT;
}

static int convert(pawl_conn *c, pawl_cell *cell, int kind, pawl_type type) {
  pawl_buf *b = &c->lists;
  if (type == PAWL_T_FLOAT && kind == SQLITE_INTEGER)
    cell->d = (double)cell->i;
  if (type != PAWL_T_TEXT || kind == SQLITE_TEXT || kind == SQLITE_BLOB ||
      kind == SQLITE_NULL)
    return 1;
  pawl_buf_clear(b);
  if (kind == SQLITE_INTEGER)
    pawl_buf_addi(b, cell->i);
  else if (isfinite(cell->d))
    pawl_json_add_float(b, cell->d);
  else
    pawl_buf_addz(b, cell->d < 0 ? "-Infinity" : "Infinity");
  if (b->failed) return 0;
  cell->s = pawl_results_copy(&c->query_rows, b->at, b->len);
  return cell->s.at != NULL;
}

/* Fills in the columns' names and types. */
static pawl_code describe_query(pawl_conn *c, sqlite3_stmt *s, pawl_rows *rows,
                                pawl_error *err) {
  pawl_buf_clear(&c->query_names);
  pawl_buf_clear(&c->query_types);
  for (int i = 0; i < rows->ncols; i++) {
    const char *kinds = c->query_kinds.at;
    pawl_type type = column_type(kinds, rows->nrows, rows->ncols, i);
    const char *name = sqlite3_column_name(s, i);
    if (!name) return fail_memory(err);
    name = pawl_results_copy(&c->query_rows, name, strlen(name)).at;
    if (!name) return fail_memory(err);
    pawl_buf_add(&c->query_names, &name, sizeof name);
    pawl_buf_add(&c->query_types, &type, sizeof type);
    for (int k = 0; k < rows->nrows; k++) {
      size_t at = (size_t)k * (size_t)rows->ncols + (size_t)i;
      /* Ours since step_query: only pawl_rows says const. */
      if (!convert(c, (pawl_cell *)&rows->cells[at], kinds[at], type))
        return fail_memory(err);
    }
  }
  if (c->query_names.failed || c->query_types.failed) return fail_memory(err);
  return PAWL_OK;
}

static pawl_code sqlite_query(pawl_conn *c, const char *sql, size_t len,
                              const pawl_cell *params, const pawl_type *types,
                              int nparams, int64_t limit_us, pawl_rows *out,
                              const char *const **names,
                              const pawl_type **col_types, pawl_error *err) {
  sqlite3_stmt *s = NULL;
  pawl_rows rows;
  pawl_code rc;
  assert(c->unit == PAWL_UNIT_OPEN);
  c->counts.trips++;
  c->counts.statements++;
  c->nsent++;
  c->refused[0] = 0;
  c->alters = 0;
  c->is_guarded = 1;
  c->query_deadline = pawl_clock_mono() + limit_us;
  if (limit_us > 0)
    sqlite3_progress_handler(c->db, OPS_PER_LOOK, on_progress, c);
  TRY(prepare_query(c, sql, len, &s, err));
  TRY(bind_query(c, s, params, types, nparams, err));
  TRY(run_query(c, s, limit_us, err));
  pawl_results_get(&c->query_rows, 0, &rows);
  TRY(describe_query(c, s, &rows, err));
  *out = rows;
  *names = (const char *const *)(void *)c->query_names.at;
  *col_types = (const pawl_type *)(void *)c->query_types.at;
out:
  sqlite3_finalize(s);
  sqlite3_progress_handler(c->db, 0, NULL, NULL);
  c->is_guarded = 0;
  return rc;
}

/* ---- waiting for work ---- */

/* Has another connection committed since the last look? */
static int has_news(pawl_conn *c) {
  int64_t version = look_at(c, DATA_VERSION, c->seen_version);
  if (version == c->seen_version) return 0;
  c->seen_version = version;
  return 1;
}

/* What was committed while the caller worked counts as news, too: it may have
 * come behind the caller's last look. */
static pawl_code sqlite_wait(pawl_conn *c, int64_t deadline_mono_us,
                             const volatile int *stop, struct pollfd *fds,
                             int nfds, int *woken, pawl_error *err) {
  int64_t slice = 10000;
  pawl_code rc = PAWL_OK;
  *woken = 0;
  fds[0].fd = -1; /* nothing of ours to wait on */
  while (!(stop && *stop)) {
    int64_t left = deadline_mono_us - pawl_clock_mono();
    TRY(check_place(c, err));
    *woken = !c->is_memory && has_news(c);
    if (*woken || left <= 0) break;
    if (left > slice) left = slice;
    if (poll(fds, (nfds_t)nfds, (int)((left + 999) / 1000)) > 0) break;
    if (slice < 50000) slice += 5000;
  }
out:
  return rc;
}

static void sqlite_name(const char *path, pawl_buf *out) {
  pawl_buf_addz(out, path);
}

static pawl_counts *sqlite_counts(pawl_conn *c) {
  return &c->counts;
}

const pawl_driver pawl_driver_sqlite = {
    .name = "sqlite",
    .describe = sqlite_name,
    .caps = PAWL_CAN_SOON,
    .sql = pawl_sql_sqlite,
    .migrations = pawl_migrations_sqlite,
    .open = sqlite_open,
    .close = sqlite_close,
    .begin = sqlite_begin,
    .send = sqlite_send,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .rows = sqlite_rows,
    .script = sqlite_script,
    .query = sqlite_query,
    .wait = sqlite_wait,
    .tidy = sqlite_tidy,
    .counts = sqlite_counts,
};
