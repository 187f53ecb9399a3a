/* What an isolated process has given up, as one that tries to use it. */
#define _GNU_SOURCE /* memfd_create by number */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "../../src/host/fence.h"
#include "test.h"

enum { BYTES = 1 << 30, SURVIVED = 77 };

/* What became of a process that did this behind the fence; `held` is told. */
static int status_of(int (*deed)(void), int *held) {
  int fds[2], status = -1;
  CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  const pid_t parent = getpid(), pid = fork();
  if (pid == 0) {
    if (!pawl_fence_strip(fds[1], (long)parent)) _exit(1);
    int what = pawl_fence_raise(BYTES);
    if (write(fds[1], &what, sizeof what) != sizeof what) _exit(2);
    _exit(deed() ? SURVIVED : 3);
  }
  close(fds[1]);
  *held = 0;
  if (read(fds[0], held, sizeof *held) != sizeof *held) *held = -1;
  CHECK_INT(waitpid(pid, &status, 0), pid);
  close(fds[0]);
  return status;
}

static int does_not_open(void) {
  return open("/dev/null", O_RDONLY) < 0 && open("/tmp", O_RDONLY) < 0;
}

static int has_no_descriptors(void) {
  char byte;
  return read(0, &byte, 1) < 0 && write(2, "x", 1) < 0 && errno == EBADF;
}

#ifndef __linux__ /* where unistd.h has it */
extern char **environ;
#endif
static int has_no_environment(void) {
  return !getenv("HOME") && !getenv("PATH") && environ[0] && !environ[1] &&
         strncmp(environ[0], "TZ=", 3) == 0;
}

static int knows_the_time(void) {
  const time_t now = time(NULL);
  return now > 0 && localtime(&now) != NULL && clock() != (clock_t)-1;
}

static int gets_memory(void) {
  char *some = malloc(20 << 20);
  const int ok = some != NULL;
  if (ok) memset(some, 1, 20 << 20);
  free(some);
  return ok;
}

/* So much that only address space can be short of it. */
static int gets_no_more_memory(void) {
  return mmap(NULL, (size_t)2 * BYTES, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}

static int runs_no_data(void) {
  return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
              -1, 0) == MAP_FAILED;
}

static int makes_a_socket(void) {
  return socket(AF_INET, SOCK_STREAM, 0) >= 0;
}

static int makes_a_process(void) {
  return fork() >= 0;
}

static int runs_a_program(void) {
  char *argv[] = {(char *)"true", NULL};
  return execv("/bin/true", argv) == 0;
}

static int signals_its_parent(void) {
  return kill(getppid(), 0) == 0;
}

#ifdef __linux__
static int looks_into_its_parent(void) {
  return (int)syscall(SYS_ptrace, 16, getppid(), 0, 0) == 0;
}
#endif

static void what_it_needs_it_has(void) {
  static int (*const deeds[])(void) = {
      does_not_open,  has_no_descriptors, has_no_environment,
      knows_the_time, gets_memory,
  };
  for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
    int held;
    const int status = status_of(deeds[i], &held);
    CHECK(held >= 0 && held & PAWL_FENCE_LIMITS);
    if (!CHECK(WIFEXITED(status) && WEXITSTATUS(status) == SURVIVED))
      printf("  deed %zu: status %d\n", i, status);
  }
}

static void what_it_lacks_it_cannot_get(void) {
  int held, status = status_of(gets_no_more_memory, &held);
#if !defined(__SANITIZE_ADDRESS__)
  CHECK_INT(WEXITSTATUS(status), SURVIVED);
#endif
  if (!(held & PAWL_FENCE_CALLS)) return;
  status = status_of(runs_no_data, &held);
  CHECK_INT(WEXITSTATUS(status), SURVIVED);
}

/* Where there is such a list; elsewhere it says that there is none. */
static void other_calls_end_it(void) {
#ifdef __linux__
  static int (*const deeds[])(void) = {makes_a_socket, makes_a_process,
                                       runs_a_program, signals_its_parent,
                                       looks_into_its_parent};
  int held = 0;
  (void)status_of(knows_the_time, &held);
  if (!(held & PAWL_FENCE_CALLS)) return; /* it would do them */
  for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
    const int status = status_of(deeds[i], &held);
    if (!CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS))
      printf("  deed %zu: status %d\n", i, status);
  }
#else
  (void)makes_a_socket, (void)makes_a_process, (void)runs_a_program;
  (void)signals_its_parent;
#endif
}

static void it_ends_with_who_made_it(void) {
#ifdef __linux__
  int fds[2];
  char byte;
  CHECK_INT(pipe(fds), 0);
  const pid_t middle = fork();
  if (middle == 0) {
    const pid_t self = getpid();
    if (fork() == 0) {
      if (!pawl_fence_strip(fds[1], (long)self)) _exit(1);
      (void)!write(fds[1], "x", 1);
      for (;;) pause();
    }
    close(fds[1]);
    (void)!read(fds[0], &byte, 1);
    _exit(0);
  }
  close(fds[1]);
  CHECK_INT(waitpid(middle, NULL, 0), middle);
  CHECK_INT(read(fds[0], &byte, 1), 0); /* nobody has the other end */
  close(fds[0]);
#endif
}

static void a_stranger_is_not_served(void) {
  int status;
  const pid_t pid = fork();
  if (pid == 0) _exit(pawl_fence_strip(0, 1L << 30) ? 1 : SURVIVED);
  CHECK_INT(waitpid(pid, &status, 0), pid);
  CHECK_INT(WEXITSTATUS(status), SURVIVED);
}

static void what_is_missing_is_named(void) {
  char text[80];
  CHECK_TEXT(pawl_fence_lacks(PAWL_FENCE_ALL, text, sizeof text), "");
  CHECK_TEXT(
      pawl_fence_lacks(PAWL_FENCE_ALL & ~PAWL_FENCE_CALLS, text, sizeof text),
      "seccomp");
  CHECK_TEXT(pawl_fence_lacks(PAWL_FENCE_NO_MORE, text, sizeof text),
             "limits, end with its parent, seccomp");
}

int main(void) {
  what_it_needs_it_has();
  what_it_lacks_it_cannot_get();
  other_calls_end_it();
  it_ends_with_who_made_it();
  a_stranger_is_not_served();
  what_is_missing_is_named();
  return TEST_END;
}
