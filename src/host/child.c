#define _GNU_SOURCE /* strsignal, SOCK_CLOEXEC */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef PAWL_COMMAND_PATH
#define PAWL_COMMAND_PATH "pawl"
#endif

/* Set once, before any thread is. */
static int is_command;

void pawl_child_is_command(void) {
  is_command = 1;
}

const char *pawl_child_program(const char *helper) {
  const char *named = getenv("PAWL_HELPER");
  if (helper && helper[0]) return helper;
  if (named && named[0]) return named;
#ifdef __linux__
  if (is_command) return "/proc/self/exe";
#endif
  return access(PAWL_COMMAND_PATH, X_OK) == 0 ? PAWL_COMMAND_PATH : "pawl";
}

/* ---- its beginning ---- */

static int close_on_exec(int fd) {
  return fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

/* Above the standard streams, so that what is made of one of them is not the
 * other end's. */
static int lift(int *fd) {
  const int up = fcntl(*fd, F_DUPFD, 3);
  close(*fd);
  *fd = up;
  return close_on_exec(up);
}

static int open_pair(int fds[2], int wait_us) {
  const struct timeval most = {0, wait_us};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) return 0;
  if (lift(&fds[0]) & lift(&fds[1]) &&
      setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) == 0 &&
      setsockopt(fds[0], SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) == 0) {
#ifdef SO_NOSIGPIPE
    const int on = 1;
    (void)setsockopt(fds[0], SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    return 1;
  }
  if (fds[0] >= 0) close(fds[0]);
  if (fds[1] >= 0) close(fds[1]);
  return 0;
}

/* What the loader of programs needs; it is gone before a script is there. */
static void fill_environment(char *zone, char *libraries, size_t size,
                             char *to[3]) {
  const char *tz = getenv("TZ"), *path = getenv("LD_LIBRARY_PATH");
  int n = 0;
  if (tz) {
    snprintf(zone, size, "TZ=%s", tz);
    to[n++] = zone;
  }
  if (path && strlen(path) + 20 < size) {
    snprintf(libraries, size, "LD_LIBRARY_PATH=%s", path);
    to[n++] = libraries;
  }
  to[n] = NULL;
}

/* In a group of its own: what a terminal sends is for us. */
static int spawn(const char *program, int fd, pid_t *pid) {
  char parent[24], zone[4096], libraries[4096];
  char *argv[] = {(char *)"pawl", (char *)"isolate", parent, NULL}, *env[3];
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  sigset_t none, all;
  int rc;
  snprintf(parent, sizeof parent, "%ld", (long)getpid());
  fill_environment(zone, libraries, sizeof zone, env);
  sigemptyset(&none);
  sigfillset(&all);
  sigdelset(&all, SIGKILL);
  sigdelset(&all, SIGSTOP);
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&how);
  posix_spawn_file_actions_adddup2(&files, fd, STDIN_FILENO);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK |
                                     POSIX_SPAWN_SETSIGDEF |
                                     POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setsigdefault(&how, &all);
  posix_spawnattr_setpgroup(&how, 0);
  rc = strchr(program, '/')
           ? posix_spawn(pid, program, &files, &how, argv, env)
           : posix_spawnp(pid, program, &files, &how, argv, env);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&how);
  return rc;
}

pawl_code pawl_child_start(pawl_child *c, const char *helper, int wait_us,
                           int *fd, pawl_error *err) {
  const char *program = pawl_child_program(helper);
  int fds[2], rc;
  pid_t pid = 0;
  *c = (pawl_child){0};
  if (!open_pair(fds, wait_us))
    return pawl_fail(err, PAWL_BUSY, "no process can be made: %s",
                     strerror(errno));
  rc = spawn(program, fds[1], &pid);
  close(fds[1]);
  if (rc == 0) {
    c->pid = pid;
    *fd = fds[0];
    return PAWL_OK;
  }
  close(fds[0]);
  if (rc == EAGAIN || rc == ENOMEM)
    return pawl_fail(err, PAWL_BUSY, "no process can be made: %s",
                     strerror(rc));
  return pawl_fail_hint(
      err, PAWL_UNSUPPORTED,
      "install the command `pawl`, or say where it is: by PAWL_HELPER, or by "
      "`helper` in the trust",
      "isolated trust needs a program that is not there: %.200s: %s", program,
      strerror(rc));
}

/* ---- its end ---- */

/* Asks for its end; `waits`: until there is one. 1: it has ended. */
static int ask(pawl_child *c, int waits) {
  pid_t got;
  do got = waitpid((pid_t)c->pid, &c->status, waits ? 0 : WNOHANG);
  while (got < 0 && errno == EINTR);
  if (got == 0) return 0;
  c->is_told = got > 0;
  c->pid = 0;
  return 1;
}

void pawl_child_kill(pawl_child *c) {
  if (!c->pid || ask(c, 0)) return;
  (void)kill((pid_t)c->pid, SIGKILL); /* not waited for yet: it is still it */
}

void pawl_child_end(pawl_child *c) {
  pawl_child_kill(c);
  if (c->pid) (void)ask(c, 1);
}

/* It closes its end a moment before it has ended. */
static void wait_a_moment(pawl_child *c) {
  static const struct timespec moment = {0, 1000 * 1000};
  for (int i = 0; i < 50 && c->pid && !ask(c, 0); i++)
    (void)nanosleep(&moment, NULL);
}

void pawl_child_how(pawl_child *c, char *to, size_t size) {
  wait_a_moment(c);
  if (c->pid)
    snprintf(to, size, "it has closed its end");
  else if (!c->is_told)
    snprintf(to, size, "how is known to others");
  else if (WIFSIGNALED(c->status))
    snprintf(to, size, "signal %d (%.40s)", WTERMSIG(c->status),
             strsignal(WTERMSIG(c->status)));
  else
    snprintf(to, size, "exit code %d", WEXITSTATUS(c->status));
}
