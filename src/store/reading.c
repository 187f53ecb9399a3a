#define _POSIX_C_SOURCE 200809L
#ifdef __APPLE__
#define _DARWIN_C_SOURCE /* st_mtimespec */
#endif
#include "reading.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __APPLE__
#define WRITTEN st_mtimespec
#else
#define WRITTEN st_mtim
#endif

enum { MAX_PATH = 4096 };

/* Bytes in the file; -1: there is none. */
static int64_t size_of(const char *path, const char *suffix) {
  char name[MAX_PATH];
  struct stat st;
  int n = snprintf(name, sizeof name, "%s%s", path, suffix);
  if (n < 0 || n >= (int)sizeof name || stat(name, &st) != 0) return -1;
  return (int64_t)st.st_size;
}

static int can_write(const char *path, const char *suffix) {
  char name[MAX_PATH];
  int n = snprintf(name, sizeof name, "%s%s", path, suffix);
  return n > 0 && n < (int)sizeof name && access(name, W_OK) == 0;
}

static int can_write_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  size_t len = slash ? (size_t)(slash - path) : 0;
  char folder[MAX_PATH] = ".";
  if (len >= sizeof folder) return 0;
  if (slash) memcpy(folder, len ? path : "/", len ? len : 1);
  if (slash) folder[len ? len : 1] = 0;
  return access(folder, W_OK | X_OK) == 0;
}

pawl_code pawl_reading_find(const char *path, pawl_reading *out,
                            pawl_error *err) {
  int folder = can_write_folder(path);
  int64_t wal = size_of(path, "-wal"), shm = size_of(path, "-shm");

  *out = PAWL_READING_NO;
  if (can_write(path, "") && (folder || can_write(path, "-pawl-lock")))
    return PAWL_OK;
  *out = PAWL_READING_ALONE; /* R1: no -shm is made where none is needed */
  if (shm < 0 && wal <= 0) return PAWL_OK;
  *out = PAWL_READING_SHARED;
  if (shm >= 0 || folder) return PAWL_OK;
  return pawl_fail_as(err, PAWL_READONLY, "25006", /* R2 */
                      "let this user write the folder, or copy the file and "
                      "its -wal to a folder of yours",
                      "%s: its -wal holds commits of a process that died, and "
                      "what reads them cannot be made beside it",
                      path);
}

void pawl_reading_note(const char *path, pawl_reading_mark *out) {
  struct stat st;
  memset(out, 0, sizeof *out);
  if (stat(path, &st) != 0) return;
  out->inode = (int64_t)st.st_ino;
  out->bytes = (int64_t)st.st_size;
  out->seconds = (int64_t)st.WRITTEN.tv_sec;
  out->nanoseconds = (int64_t)st.WRITTEN.tv_nsec;
}

int pawl_reading_is_still(const char *path, const pawl_reading_mark *mark) {
  pawl_reading_mark now;
  pawl_reading_note(path, &now);
  return size_of(path, "-shm") < 0 && size_of(path, "-wal") <= 0 &&
         now.inode == mark->inode && now.bytes == mark->bytes &&
         now.seconds == mark->seconds && now.nanoseconds == mark->nanoseconds;
}

void pawl_reading_uri(const char *path, pawl_buf *out) {
  pawl_buf_addz(out, "file:");
  for (const char *at = path; *at; at++) {
    unsigned char c = (unsigned char)*at;
    if (strchr("%?#", c) || c < 0x21 || c > 0x7e)
      pawl_buf_addf(out, "%%%02x", c);
    else
      pawl_buf_addc(out, *at);
  }
  pawl_buf_addz(out, "?immutable=1");
}
