/* The log's form: sqlite.org/walformat.html. */
#define _GNU_SOURCE /* pread, fdatasync */
#include "sqmend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum {
  HEAD = 32,       /* of the log */
  FRAME_HEAD = 24, /* of a page in it */
  SHM_REGION = 32 * 1024,
  MAX_FRAME_AT = 16 /* in the index, in the machine's order */
};
#define MAGIC 0x377f0682u /* its last bit: sums are of big-endian words */

typedef struct walk {
  int fd, is_big;
  size_t page; /* bytes */
  uint32_t sum[2];
  unsigned char salts[8];
  unsigned char *frame; /* FRAME_HEAD + page */
} walk;

static uint32_t big(const unsigned char *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
         (uint32_t)p[3];
}

static uint32_t little(const unsigned char *p) {
  return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 |
         (uint32_t)p[0];
}

/* n is a multiple of 8. */
static void add_sum(walk *w, const unsigned char *at, size_t n) {
  for (size_t i = 0; i < n; i += 8) {
    w->sum[0] += (w->is_big ? big : little)(at + i) + w->sum[1];
    w->sum[1] += (w->is_big ? big : little)(at + i + 4) + w->sum[0];
  }
}

static int is_sum(const walk *w, const unsigned char *at) {
  return big(at) == w->sum[0] && big(at + 4) == w->sum[1];
}

/* ---- bytes ---- */

/* 1: all of them; 0: the file ends before; -1: errno. */
static int read_all(int fd, unsigned char *at, size_t n, off_t from) {
  while (n) {
    const ssize_t got = pread(fd, at, n, from);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return (int)got;
    at += got;
    from += got;
    n -= (size_t)got;
  }
  return 1;
}

static int write_all(int fd, const unsigned char *at, size_t n, off_t to) {
  while (n) {
    const ssize_t put = pwrite(fd, at, n, to);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return -1;
    at += put;
    to += put;
    n -= (size_t)put;
  }
  return 1;
}

static int sync_all(int fd) {
#ifdef __APPLE__
  if (fcntl(fd, F_FULLFSYNC) == 0) return 1;
  while (fsync(fd) != 0)
#else
  while (fdatasync(fd) != 0)
#endif
    if (errno != EINTR) return -1;
  return 1;
}

/* ---- the log ---- */

/* As the connection knows it, which keeps others from writing to it: how many
 * pages of it are committed. 0: it need not be there. */
static uint32_t committed(sqlite3 *db) {
  sqlite3_file *file = NULL;
  void volatile *index = NULL;
  uint32_t n = 0;

  (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (!file || !file->pMethods || file->pMethods->iVersion < 2 ||
      file->pMethods->xShmMap(file, 0, SHM_REGION, 0, &index) != SQLITE_OK ||
      !index)
    return 0;
  memcpy(&n, (const char *)(uintptr_t)index + MAX_FRAME_AT, sizeof n);
  return n;
}

/* *found: it is the head of a log. */
static int rewrite_head(walk *w, int *found) {
  unsigned char head[HEAD];
  const int rc = read_all(w->fd, head, sizeof head, 0);

  *found = rc > 0 && (big(head) & ~1u) == MAGIC;
  if (!*found) return rc < 0 ? -1 : 1;
  w->is_big = (int)(big(head) & 1u);
  w->page = big(head + 8);
  memcpy(w->salts, head + 16, sizeof w->salts);
  add_sum(w, head, 24);
  *found = is_sum(w, head + 24);
  return write_all(w->fd, head, sizeof head, 0);
}

static int rewrite_frame(walk *w, uint32_t i, int *found) {
  const size_t size = FRAME_HEAD + w->page;
  const off_t at = HEAD + (off_t)i * (off_t)size;
  const int rc = read_all(w->fd, w->frame, size, at);

  if (rc > 0) add_sum(w, w->frame, 8);
  if (rc > 0) add_sum(w, w->frame + FRAME_HEAD, w->page);
  *found = rc > 0 && !memcmp(w->frame + 8, w->salts, sizeof w->salts) &&
           is_sum(w, w->frame + 16);
  if (!*found) return rc < 0 ? -1 : 1;
  return write_all(w->fd, w->frame, size, at);
}

/* 1, or -1 with errno. */
static int rewrite(walk *w, uint32_t n, const pawl_alloc *alloc, int *found) {
  int rc = rewrite_head(w, found);
  const size_t size = FRAME_HEAD + w->page;

  if (rc < 0 || !*found) return rc;
  w->frame = pawl_realloc(alloc, NULL, 0, size);
  if (!w->frame) errno = ENOMEM;
  if (!w->frame) return -1;
  for (uint32_t i = 0; i < n && rc > 0 && *found; i++)
    rc = rewrite_frame(w, i, found);
  pawl_release(alloc, w->frame, size);
  return rc > 0 && *found ? sync_all(w->fd) : rc;
}

pawl_sqmended pawl_sqmend(sqlite3 *db, const char *path,
                          const pawl_alloc *alloc, int *why) {
  walk w = {.fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
  const uint32_t n = committed(db);
  int found = 1, rc = w.fd < 0 ? -1 : 1;

  if (rc > 0 && n) rc = rewrite(&w, n, alloc, &found);
  *why = errno;
  if (w.fd >= 0) (void)close(w.fd);
  if (rc < 0) return n ? PAWL_SQMEND_FAILED : PAWL_SQMENDED;
  return found ? PAWL_SQMENDED : PAWL_SQMEND_LOST;
}
