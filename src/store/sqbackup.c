#define _GNU_SOURCE /* flock, renameat2 */
#include "sqbackup.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/fault.h"
#include "failure.h"

#define STEP_PAGES 256 /* between looks at *stop: 1 MB of usual pages */

typedef struct copy {
  const char *path;
  char part[4096]; /* B3 */
  int fd;          /* of it, locked (B5); -1: not ours */
  sqlite3 *db;
} copy;

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

/* B4 */
static pawl_code check_free(const char *path, pawl_error *err) {
  static const char *const beside[] = {"-wal", "-journal"};
  struct stat st;
  char name[4096];

  if (lstat(path, &st) == 0)
    return fail_there(path, "name another file: none is overwritten", err);
  for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
    snprintf(name, sizeof name, "%s%s", path, beside[i]);
    if (lstat(name, &st) == 0)
      return fail_there(name,
                        "it is the log of a database that was here: name "
                        "another file, or move it there",
                        err);
  }
  return PAWL_OK;
}

/* Is what we have locked what stands there? Whoever had it before may have
 * made a whole copy of it, or thrown it away. */
static int is_ours(const copy *o) {
  struct stat here, there;
  return fstat(o->fd, &here) == 0 && lstat(o->part, &there) == 0 &&
         S_ISREG(there.st_mode) && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino && here.st_nlink == 1;
}

static pawl_code open_part(copy *o, pawl_error *err) {
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

static int rename_new(const char *from, const char *to) {
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

static pawl_code put_in_place(copy *o, int64_t *bytes, pawl_error *err) {
  struct stat st;

  if (fstat(o->fd, &st) != 0 || fsync(o->fd) != 0)
    return fail_file(o->part, "the disk or its driver failed", err);
  (void)PAWL_FAULT("backup.before");
  if (rename_new(o->part, o->path) != 0) {
    if (errno == EEXIST)
      return fail_there(o->path, "somebody made it meanwhile", err);
    return fail_file(o->path, "let this user write the folder", err);
  }
  sync_folder(o->path);
  *bytes = (int64_t)st.st_size;
  return PAWL_OK;
}

/* ---- the pages ---- */

/* What is not on disk yet goes with the process: no journal, and synced once,
 * when all of it is there. */
static pawl_code open_copy(copy *o, pawl_error *err) {
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

static pawl_code copy_pages(copy *o, sqlite3 *from, const volatile int *stop,
                            pawl_error *err) {
  sqlite3_backup *b = sqlite3_backup_init(o->db, "main", from, "main");
  int rc = SQLITE_OK;

  if (!b)
    return pawl_sqconn_fail_rc(o->part, sqlite3_extended_errcode(o->db), err);
  while (rc == SQLITE_OK && !*stop) {
    rc = sqlite3_backup_step(b, STEP_PAGES);
    if (PAWL_FAULT("backup.step") == PAWL_FAULT_FAIL) rc = SQLITE_FULL;
  }
  int end = sqlite3_backup_finish(b);
  if (rc == SQLITE_DONE && end == SQLITE_OK) return PAWL_OK;
  if (rc == SQLITE_OK)
    return pawl_fail(err, PAWL_INTERRUPTED, "the backup was stopped");
  return pawl_sqconn_fail_rc(o->part, rc == SQLITE_DONE ? end : rc, err);
}

pawl_code pawl_sqbackup(pawl_sqconn *c, const char *path,
                        const volatile int *stop, int64_t *bytes,
                        pawl_error *err) {
  copy o = {.path = path, .fd = -1};
  int64_t tables;
  pawl_code rc;
  int n = snprintf(o.part, sizeof o.part, "%s%s-pawl-part",
                   path[0] == '/' ? "" : "./", path); /* no URI, no :memory: */

  if (!path[0] || n < 0 || n >= (int)sizeof o.part)
    return pawl_fail(err, PAWL_INVALID, "the backup's path is %s",
                     path[0] ? "too long" : "empty");
  assert(!sqlite3_get_autocommit(c->db));
  /* What is read first begins the view. */
  MUST(pawl_sqconn_ask(c, "select count(*) from sqlite_master", &tables, err));
  MUST(check_free(path, err));
  TRY(open_part(&o, err));
  TRY(open_copy(&o, err));
  TRY(copy_pages(&o, c->db, stop, err));
  sqlite3_close(o.db);
  o.db = NULL;
  TRY(put_in_place(&o, bytes, err));
out:
  sqlite3_close(o.db);
  if (rc != PAWL_OK && o.fd >= 0) (void)unlink(o.part);
  if (o.fd >= 0) close(o.fd);
  return rc;
}
