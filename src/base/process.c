#define _POSIX_C_SOURCE 200809L /* gethostname, kill, readlink */
#include "process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What /proc/PID/stat says of a process (see proc(5) for the fields). */
typedef struct stat_line {
  int64_t pid;     /* field 1, in the namespace /proc was mounted for */
  char state;      /* field 3 */
  int64_t threads; /* field 20 */
  int64_t begun;   /* field 22: start time in ticks after boot */
} stat_line;

/* The first line of a small file, without its end; 0 when unreadable. */
static int read_line(const char *path, char *to, size_t size) {
  FILE *file = fopen(path, "re"); /* e: not for our children */
  if (!file) return 0;
  int ok = fgets(to, (int)size, file) != NULL;
  fclose(file);
  if (ok) to[strcspn(to, "\n")] = '\0';
  return ok;
}

static int read_stat(const char *path, stat_line *out) {
  char line[1024];

  if (!read_line(path, line, sizeof line)) return 0;
  out->pid = strtoll(line, NULL, 10);
  char *at = strrchr(line, ')'); /* a program's name may hold ") R 1" itself */
  if (!at || at[1] != ' ' || at[2] == '\0') return 0;
  out->state = at[2];
  at += 2;
  for (int field = 3; field < 22; field++) {
    if (field == 20) out->threads = strtoll(at, NULL, 10);
    at = strchr(at, ' ');
    if (!at) return 0;
    at++;
  }
  out->begun = strtoll(at, NULL, 10);
  return 1;
}

void pawl_process_self(pawl_process *out) {
  stat_line stat;

  memset(out, 0, sizeof *out);
  out->pid = getpid();
  if (gethostname(out->host, sizeof out->host) != 0) out->host[0] = '\0';
  out->host[sizeof out->host - 1] = '\0'; /* a name too long is only cut */
  ssize_t len =
      readlink("/proc/self/ns/pid", out->space, sizeof out->space - 1);
  if (len < 0) len = 0;
  out->space[len] = '\0';
  /* A /proc of another pid namespace counts differently: of no use. */
  if (!read_stat("/proc/self/stat", &stat) || stat.pid != out->pid) return;
  out->begun = stat.begun;
  if (!read_line("/proc/sys/kernel/random/boot_id", out->boot,
                 sizeof out->boot))
    out->boot[0] = '\0';
}

/* Can the other's pid be looked up here, and mean what it meant there? */
static int is_comparable(const pawl_process *self, const pawl_process *other) {
  return self->boot[0] != '\0' && self->space[0] != '\0' && self->begun > 0 &&
         other->begun > 0 && other->pid > 0 &&
         strcmp(self->host, other->host) == 0 &&
         strcmp(self->boot, other->boot) == 0 &&
         strcmp(self->space, other->space) == 0;
}

int pawl_process_is_gone(const pawl_process *self, const pawl_process *other) {
  char path[64];
  stat_line stat;

  if (!is_comparable(self, other)) return 0;
  if ((pid_t)other->pid != other->pid) return 0; /* not a pid at all */
  if (kill((pid_t)other->pid, 0) != 0 && errno == ESRCH) return 1;
  snprintf(path, sizeof path, "/proc/%lld/stat", (long long)other->pid);
  if (!read_stat(path, &stat)) return 0; /* hidden from us, or just going */
  if (stat.begun != other->begun) return 1;
  /* A zombie has ended and only waits for its parent. One with threads left
   * has merely lost its first. */
  return (stat.state == 'Z' && stat.threads <= 1) || stat.state == 'X';
}
