#define _POSIX_C_SOURCE 200809L
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One call of the system: one to four microseconds. */
static pawl_file_mark mark_of(const char *path, const char *suffix) {
  pawl_file_mark none = {0, 0}, mark;
  char name[sizeof((pawl_file *)0)->path + 8];
  struct stat st;
  int n = snprintf(name, sizeof name, "%s%s", path, suffix);
  if (n < 0 || n >= (int)sizeof name || stat(name, &st) != 0) return none;
  mark.device = (int64_t)st.st_dev;
  mark.inode = (int64_t)st.st_ino;
  return mark;
}

static int is_same(const pawl_file_mark *a, const pawl_file_mark *b) {
  return a->device == b->device && a->inode == b->inode;
}

static int is_none(const pawl_file_mark *mark) {
  return !mark->device && !mark->inode;
}

/* The folder that a relative path begins in, with a slash at its end. */
static int add_folder(const char *path, char *to, size_t size) {
  to[0] = 0;
  if (path[0] == '/') return 1;
  if (!getcwd(to, size - 1)) return 0;
  strcat(to, "/");
  return 1;
}

int pawl_file_has_log(const char *path) {
  const pawl_file_mark log = mark_of(path, "-wal");
  return !is_none(&log);
}

int pawl_file_is_log_alone(const char *path) {
  char name[sizeof((pawl_file *)0)->path + 8];
  struct stat st;
  int n = snprintf(name, sizeof name, "%s-wal", path);

  if (n < 0 || n >= (int)sizeof name || stat(name, &st) != 0 || !st.st_size)
    return 0;
  return stat(path, &st) != 0 ? errno == ENOENT : !st.st_size;
}

int pawl_file_note(const char *path, pawl_file *out) {
  memset(out, 0, sizeof *out);
  if (!add_folder(path, out->path, sizeof out->path)) return 0;
  size_t len = strlen(out->path);
  if (strlen(path) >= sizeof out->path - len) {
    out->path[0] = 0;
    return 0;
  }
  strcpy(out->path + len, path);
  out->at = mark_of(out->path, "");
  return !is_none(&out->at);
}

void pawl_file_note_log(pawl_file *file) {
  if (file->path[0]) file->log = mark_of(file->path, "-wal");
}

int pawl_file_is_still(const pawl_file *file) {
  if (!file->path[0]) return 1;
  pawl_file_mark now = mark_of(file->path, "");
  return is_same(&now, &file->at);
}

/* Nobody locks a log, so that closing it drops no lock of SQLite's. */
static int read_head(const char *path, unsigned char head[32]) {
  char name[sizeof((pawl_file *)0)->path + 8];
  int n = snprintf(name, sizeof name, "%s-wal", path), fd;
  if (n < 0 || n >= (int)sizeof name) return 0;
  fd = open(name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t got = read(fd, head, 32);
  close(fd);
  return got == 32;
}

void pawl_file_find_left(const pawl_file *file, pawl_left_log *out) {
  pawl_file_mark now = mark_of(file->path, "-wal");
  memset(out, 0, sizeof *out);
  if (is_same(&now, &file->log) && read_head(file->path, out->head))
    out->at = now;
}

int pawl_file_has_left(const char *path, const pawl_left_log *left) {
  unsigned char head[32];
  if (is_none(&left->at)) return 0;
  pawl_file_mark now = mark_of(path, "-wal");
  return is_same(&now, &left->at) && read_head(path, head) &&
         !memcmp(head, left->head, sizeof head);
}
