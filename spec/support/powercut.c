/* What a process asks of the files in one folder, in order: for powercut.lua,
 * which makes of it what a disk may hold after a power cut.
 *
 * Preloaded. PAWL_CUT_FOLDER is the folder, PAWL_CUT_LOG where it is written
 * to. Each entry is a letter, the number of the file, where in it, and how many
 * bytes follow, four little-endian integers of 1, 4, 8 and 4 bytes:
 *
 *   o  a file is opened: its name; `at` is 1 if it was not there
 *   w  bytes are written                t  it is cut off, or made longer, at
 *   s  it is synced                     u  the name is removed
 *   d  the folder is synced             m  a mark: what the program says
 *
 * Files in shared memory (-shm) and locks are not there after a cut. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <lua.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_FD = 1024, FOLDER = -1 };

#define SHOWN __attribute__((visibility("default")))
#define REAL(name) ((__typeof__(&name))(intptr_t)dlsym(RTLD_NEXT, #name))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int of_fd[MAX_FD]; /* the file's number; 0: none of ours */
static char names[256][256];
static int nfiles, log_fd = -1;
static const char *folder;

static void put(char what, int file, int64_t at, const void *bytes,
                uint32_t len) {
  char head[17];
  const uint32_t no = (uint32_t)file;

  head[0] = what;
  memcpy(head + 1, &no, 4);
  memcpy(head + 5, &at, 8);
  memcpy(head + 13, &len, 4);
  if (syscall(SYS_write, log_fd, head, sizeof head) != sizeof head ||
      (len && syscall(SYS_write, log_fd, bytes, len) != (long)len))
    abort();
}

static int is_on(void) {
  static int looked;

  if (!looked) {
    const char *to = getenv("PAWL_CUT_LOG");
    looked = 1;
    folder = getenv("PAWL_CUT_FOLDER");
    if (to && folder)
      log_fd = (int)syscall(SYS_openat, AT_FDCWD, to,
                            O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }
  return log_fd >= 0;
}

/* The name in the folder; "" is the folder itself; NULL: elsewhere, or nothing
 * that a cut leaves. */
static const char *name_in(const char *path) {
  static const char *const gone[] = {"-shm", "-pawl-lock"};
  const size_t n = strlen(folder);
  const size_t len = strlen(path);

  if (strncmp(path, folder, n) != 0 || (path[n] != '/' && path[n]))
    return NULL;
  for (int i = 0; i < 2; i++)
    if (len > strlen(gone[i]) &&
        strcmp(path + len - strlen(gone[i]), gone[i]) == 0)
      return NULL;
  return path[n] ? path + n + 1 : path + n;
}

static int number(const char *name) {
  for (int i = nfiles; i > 0; i--)
    if (strcmp(names[i - 1], name) == 0) return i;
  return 0;
}

static void note_open(const char *path, int fd, int is_new) {
  const char *name = name_in(path);

  if (fd < 0 || fd >= MAX_FD || !name) return;
  if (!*name) {
    of_fd[fd] = FOLDER;
    return;
  }
  if (is_new || !number(name)) {
    if (nfiles == 256 || strlen(name) > 255) abort();
    strcpy(names[nfiles++], name);
    put('o', nfiles, is_new, name, (uint32_t)strlen(name));
  }
  of_fd[fd] = number(name);
}

static int opened(const char *path, int flags, mode_t mode) {
  struct stat st;

  if (!is_on()) return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  pthread_mutex_lock(&lock);
  const int was = stat(path, &st) == 0;
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  note_open(path, fd, !was);
  pthread_mutex_unlock(&lock);
  return fd;
}

#define MODE(flags)                      \
  mode_t mode = 0;                       \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list args;                        \
    va_start(args, flags);               \
    mode = (mode_t)va_arg(args, int);    \
    va_end(args);                        \
  }

SHOWN int open(const char *path, int flags, ...) {
  MODE(flags)
  return opened(path, flags, mode);
}

SHOWN int open64(const char *path, int flags, ...) {
  MODE(flags)
  return opened(path, flags | O_LARGEFILE, mode);
}

static int file_of(int fd) {
  return is_on() && fd >= 0 && fd < MAX_FD ? of_fd[fd] : 0;
}

SHOWN int close(int fd) {
  if (is_on() && fd == log_fd) return 0;
  if (file_of(fd)) of_fd[fd] = 0;
  return REAL(close)(fd);
}

/* Under the lock: the log has the order in which they were done. */
#define DONE(type, call, fd, what, at, bytes, len)                 \
  if (file_of(fd) <= 0) return call;                               \
  pthread_mutex_lock(&lock);                                       \
  const type rc = call;                                            \
  if (rc >= 0) put(what, file_of(fd), at, bytes, (uint32_t)(len)); \
  pthread_mutex_unlock(&lock);                                     \
  return rc;

SHOWN ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at){
    DONE(ssize_t, REAL(pwrite)(fd, bytes, n, at), fd, 'w', at, bytes, rc)}

SHOWN ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at){
    DONE(ssize_t, REAL(pwrite64)(fd, bytes, n, at), fd, 'w', at, bytes, rc)}

SHOWN ssize_t write(int fd, const void *bytes, size_t n) {
  const off_t at = file_of(fd) > 0 ? lseek(fd, 0, SEEK_CUR) : 0;
  DONE(ssize_t, REAL(write)(fd, bytes, n), fd, 'w', at, bytes, rc)
}

SHOWN int ftruncate(int fd, off_t at){
    DONE(int, REAL(ftruncate)(fd, at), fd, 't', at, NULL, 0)}

SHOWN int ftruncate64(int fd, off64_t at) {
  DONE(int, REAL(ftruncate64)(fd, at), fd, 't', at, NULL, 0)
}

/* Nothing is taken to a disk here: it would only be slower. What comes between
 * is noted behind it, as if the disk had been slow to take it. */
static int synced(int fd) {
  const int file = file_of(fd);

  if (!file) return 0;
  pthread_mutex_lock(&lock);
  put(file == FOLDER ? 'd' : 's', file == FOLDER ? 0 : file, 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  return 0;
}

SHOWN int fsync(int fd) {
  return synced(fd);
}

SHOWN int fdatasync(int fd) {
  return synced(fd);
}

SHOWN int unlink(const char *path) {
  const char *name = is_on() ? name_in(path) : NULL;

  if (!name || !number(name)) return REAL(unlink)(path);
  pthread_mutex_lock(&lock);
  const int rc = REAL(unlink)(path);
  if (rc == 0) put('u', number(name), 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  return rc;
}

/* mark(text), for Lua. */
SHOWN int powercut_mark(lua_State *L) {
  size_t len = 0;
  const char *text = lua_tolstring(L, 1, &len);

  if (!is_on() || !text) return 0;
  pthread_mutex_lock(&lock);
  put('m', 0, 0, text, (uint32_t)len);
  pthread_mutex_unlock(&lock);
  return 0;
}
