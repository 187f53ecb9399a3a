#define _GNU_SOURCE /* flock, renameat2 */
#include "sqbackup.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/fault.h"
#include "failure.h"

typedef struct target {
  const char *path;
  int replaces;
  char part[4096]; /* B3 */
  int fd;          /* of it, locked (B5); -1: not ours */
  sqlite3 *db;
} target;

/* A copy stands alone: no log belongs to it, and none is made by who may only
 * read it. The file may have been read while it said otherwise. */
static const struct {
  off_t at;
  char bytes[5];
  size_t size;
} alone[] = {{18, "\1\1", 2}, {68, "Pawl", 4}};
enum { NALONE = sizeof alone / sizeof *alone };

/* ---- the file ---- */

static pawl_code fail_file(const char *path, const char *hint,
                           pawl_error *err) {
  const int why = errno;
  const pawl_code rc = why == ENOENT || why == ENOTDIR  ? PAWL_NOTFOUND
                       : why == ENOSPC || why == EDQUOT ? PAWL_FULL
                       : why == EACCES || why == EPERM || why == EROFS
                           ? PAWL_READONLY
                           : PAWL_STORE;
  return pawl_fail_as(err, rc, "58030",
                      rc == PAWL_NOTFOUND ? "make the folder first" : hint,
                      "%s: %s", path, strerror(why));
}

static pawl_code fail_there(const char *path, const char *hint,
                            pawl_error *err) {
  return pawl_fail_as(err, PAWL_EXISTS, "58P02", hint, "%s: is there already",
                      path);
}

static pawl_code check_no_log(const char *path, pawl_code code,
                              const char *hint, pawl_error *err) {
  static const char *const beside[] = {"-wal", "-journal"};
  struct stat st;
  char name[4096];

  for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
    snprintf(name, sizeof name, "%s%s", path, beside[i]);
    if (lstat(name, &st) == 0)
      return pawl_fail_as(err, code, code == PAWL_BUSY ? "55P03" : "58P02",
                          hint, "%s: is there already", name);
  }
  return PAWL_OK;
}

/* B4 */
static pawl_code check_free(const char *path, pawl_error *err) {
  struct stat st;

  if (lstat(path, &st) == 0)
    return fail_there(
        path, "name another file: none is overwritten, but with `replace`",
        err);
  return check_no_log(path, PAWL_EXISTS,
                      "it is the log of a database that was here: name "
                      "another file, or move it there",
                      err);
}

/* A file that is a store's, by what is written at its front. As it is closed by
 * the last who has it open, its log goes into it. */
static pawl_code close_over(const char *path, pawl_error *err) {
  sqlite3 *db = NULL;
  sqlite3_stmt *s = NULL;
  int rc = sqlite3_open_v2(path, &db,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
  sqlite3_int64 id = 0;

  if (rc == SQLITE_OK) sqlite3_extended_result_codes(db, 1);
  if (rc == SQLITE_OK)
    rc = sqlite3_prepare_v2(db, "pragma application_id", -1, &s, NULL);
  if (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW)
    id = sqlite3_column_int64(s, 0), rc = SQLITE_OK;
  sqlite3_finalize(s);
  sqlite3_close(db);
  if (rc != SQLITE_OK) return pawl_sqconn_fail_rc(path, rc, err);
  if (id == PAWL_SQ_APPLICATION_ID || id == PAWL_SQ_HAS_LOG) return PAWL_OK;
  return pawl_fail_as(err, PAWL_NOT_A_STORE, "3F000",
                      "name another file: only a store gives way to one",
                      "%s: is a SQLite file of something else", path);
}

/* B4, of one that gives way. */
static pawl_code check_gives_way(const pawl_sqconn *c, const char *path,
                                 pawl_error *err) {
  struct stat st;

  if (lstat(path, &st) != 0) return check_free(path, err);
  if (!S_ISREG(st.st_mode))
    return fail_there(path, "it is no ordinary file: name another", err);
  if (c->file.at.device == (int64_t)st.st_dev &&
      c->file.at.inode == (int64_t)st.st_ino)
    return pawl_fail_hint(err, PAWL_CONFLICT, "name another file",
                          "%s: is the store itself", path);
  if (st.st_size > 0) MUST(close_over(path, err));
  return check_no_log(path, PAWL_BUSY,
                      "somebody has the file open that is to give way: close "
                      "it first",
                      err);
}

/* Is what we have locked what stands there? Whoever had it before may have
 * made a whole copy of it, or thrown it away. */
static int is_ours(const target *o) {
  struct stat here, there;
  return fstat(o->fd, &here) == 0 && lstat(o->part, &there) == 0 &&
         S_ISREG(there.st_mode) && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino && here.st_nlink == 1;
}

static pawl_code open_part(target *o, pawl_error *err) {
  o->fd = open(o->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (o->fd < 0)
    return fail_file(o->part, "let this user write the folder", err);
  if (flock(o->fd, LOCK_EX | LOCK_NB) == 0 && is_ours(o)) {
    if (ftruncate(o->fd, 0) == 0) return PAWL_OK;
    return fail_file(o->part, "", err);
  }
  close(o->fd);
  o->fd = -1;
  return pawl_fail_as(err, PAWL_BUSY, "55P03",
                      "another backup is on its way there: name another file",
                      "%s: is locked", o->part);
}

static int rename_to(const char *from, const char *to, int replaces) {
  if (replaces) return rename(from, to);
#ifdef RENAME_NOREPLACE
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
#endif
  /* A file system that cannot: what comes in between here would be lost. */
  struct stat st;
  if (lstat(to, &st) == 0) {
    errno = EEXIST;
    return -1;
  }
  return rename(from, to);
}

/* The new name is on disk, too. Best effort: some file systems sync no
 * folders, and the copy is whole under one of its names. */
static void sync_folder(const char *path) {
  char folder[4096];
  const char *slash = strrchr(path, '/');
  size_t len = slash ? (size_t)(slash - path) + (slash == path) : 1;

  memcpy(folder, slash ? path : ".", len);
  folder[len] = 0;
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)fsync(fd);
  close(fd);
}

static pawl_code put_in_place(target *o, int64_t *size, pawl_error *err) {
  struct stat st;

  for (int i = 0; i < NALONE; i++)
    if (pwrite(o->fd, alone[i].bytes, alone[i].size, alone[i].at) !=
        (ssize_t)alone[i].size)
      return fail_file(o->part, "the disk or its driver failed", err);
  if (fstat(o->fd, &st) != 0 || fsync(o->fd) != 0)
    return fail_file(o->part, "the disk or its driver failed", err);
  (void)PAWL_FAULT("backup.before");
  if (rename_to(o->part, o->path, o->replaces) != 0) {
    if (errno == EEXIST)
      return fail_there(o->path, "somebody made it meanwhile", err);
    return fail_file(o->path, "let this user write the folder", err);
  }
  (void)PAWL_FAULT("backup.after");
  sync_folder(o->path);
  *size = (int64_t)st.st_size;
  return PAWL_OK;
}

/* ---- the pages ---- */

/* What is not on disk yet goes with the process: no journal, and synced once,
 * when all of it is there. */
static pawl_code open_copy(target *o, pawl_error *err) {
  int rc = sqlite3_open_v2(o->part, &o->db,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
  if (rc == SQLITE_OK) {
    sqlite3_extended_result_codes(o->db, 1);
    rc = sqlite3_exec(o->db,
                      "pragma journal_mode=off; pragma synchronous=off;"
                      "pragma locking_mode=exclusive",
                      NULL, NULL, NULL);
  }
  if (rc == SQLITE_OK) return PAWL_OK;
  return pawl_sqconn_fail_rc(o->part, rc, err);
}

pawl_code pawl_sqbackup_pages(sqlite3 *to, sqlite3 *from, const char *name,
                              const char *fault, const volatile int *stop,
                              pawl_error *err) {
  sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
  int rc = SQLITE_OK;

  (void)fault;
  if (!b) return pawl_sqconn_fail_rc(name, sqlite3_extended_errcode(to), err);
  while (rc == SQLITE_OK && !*stop) {
    rc = sqlite3_backup_step(b, PAWL_SQ_STEP_PAGES);
    if (PAWL_FAULT(fault) == PAWL_FAULT_FAIL) rc = SQLITE_FULL;
  }
  int end = sqlite3_backup_finish(b);
  if (rc == SQLITE_DONE && end == SQLITE_OK) return PAWL_OK;
  if (rc == SQLITE_OK)
    return pawl_fail(err, PAWL_INTERRUPTED, "the copy was stopped");
  return pawl_sqconn_fail_rc(name, rc == SQLITE_DONE ? end : rc, err);
}

/* What is read first begins the view. */
static pawl_code begin_view(pawl_sqconn *c, pawl_error *err) {
  int64_t tables;

  assert(!sqlite3_get_autocommit(c->db));
  return pawl_sqconn_ask(c, "select count(*) from sqlite_master", &tables,
                         err);
}

static pawl_code fail_bytes(int64_t size, pawl_error *err) {
  return pawl_fail(err, PAWL_NOMEM,
                   "out of memory for the copy of %" PRId64 " bytes", size);
}

/* A database whose file is that room: SQLite writes what it copies there. Not
 * sqlite3_serialize: a page that it cannot read it leaves zero, and says
 * nothing. */
static pawl_code open_room(const char *name, char *room, int64_t page_bytes,
                           int64_t size, sqlite3 **to, pawl_error *err) {
  char settings[120];
  int rc = sqlite3_open_v2(":memory:", to,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

  snprintf(settings, sizeof settings,
           "pragma page_size=%" PRId64
           "; pragma journal_mode=off; pragma cache_size=64",
           page_bytes);
  if (rc == SQLITE_OK) {
    sqlite3_extended_result_codes(*to, 1);
    rc = sqlite3_deserialize(*to, "main", (unsigned char *)room, 0, size, 0);
  }
  if (rc == SQLITE_OK) rc = sqlite3_exec(*to, settings, NULL, NULL, NULL);
  return rc == SQLITE_OK ? PAWL_OK : pawl_sqconn_fail_rc(name, rc, err);
}

pawl_code pawl_sqbackup_bytes(pawl_sqconn *c, pawl_copy *copy,
                              const volatile int *stop, pawl_error *err) {
  sqlite3 *to = NULL;
  int64_t pages, page_bytes;
  pawl_code rc;

  TRY(begin_view(c, err));
  TRY(pawl_sqconn_ask(c, "pragma page_count", &pages, err));
  TRY(pawl_sqconn_ask(c, "pragma page_size", &page_bytes, err));
  const int64_t size = pages * page_bytes;
  char *room = pawl_buf_room(copy->bytes, (size_t)size);
  if (!room) {
    rc = fail_bytes(size, err);
    goto out;
  }
  TRY(open_room(c->name, room, page_bytes, size, &to, err));
  TRY(pawl_sqbackup_pages(to, c->db, c->name, "backup.step", stop, err));
  for (int i = 0; i < NALONE; i++)
    memcpy(room + alone[i].at, alone[i].bytes, alone[i].size);
  pawl_buf_grew(copy->bytes, (size_t)size);
  copy->size = size;
out:
  sqlite3_close(to);
  return rc;
}

pawl_code pawl_sqbackup(pawl_sqconn *c, pawl_copy *copy,
                        const volatile int *stop, pawl_error *err) {
  const char *path = copy->path;
  target o = {.path = path, .replaces = copy->replace, .fd = -1};
  pawl_code rc;
  int n = snprintf(o.part, sizeof o.part, "%s%s-pawl-part",
                   path[0] == '/' ? "" : "./", path); /* no URI, no :memory: */

  if (!path[0] || n < 0 || n >= (int)sizeof o.part)
    return pawl_fail(err, PAWL_INVALID, "the backup's path is %s",
                     path[0] ? "too long" : "empty");
  MUST(begin_view(c, err));
  MUST(o.replaces ? check_gives_way(c, path, err) : check_free(path, err));
  TRY(open_part(&o, err));
  TRY(open_copy(&o, err));
  TRY(pawl_sqbackup_pages(o.db, c->db, o.part, "backup.step", stop, err));
  sqlite3_close(o.db);
  o.db = NULL;
  TRY(put_in_place(&o, &copy->size, err));
out:
  sqlite3_close(o.db);
  if (rc != PAWL_OK && o.fd >= 0) (void)unlink(o.part);
  if (o.fd >= 0) close(o.fd);
  return rc;
}
