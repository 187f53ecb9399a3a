#define _GNU_SOURCE /* pipe2, sched_getaffinity, memfd_create */
#include "lprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#endif

#include <lauxlib.h>

#define READY_FD_NAME "PAWL_SUPERVISED" /* in a child's environment */
#define MOST_FDS 4096

static char **arguments;
static int ready_fd = -1;

void pawl_process_take_arguments(char **argv) {
  arguments = argv;
}

int pawl_push_errno(lua_State *L) {
  lua_pushnil(L);
  lua_pushstring(L, strerror(errno));
  return 2;
}

/* sys.cores() -> how many this process may use */
static int sys_cores(lua_State *L) {
  long n = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) n = CPU_COUNT(&set);
#endif
  lua_pushinteger(L, n > 0 ? n : 1);
  return 1;
}

/* ---- starting ---- */

enum { OUT, ERR, READY, NPIPES };

static void close_pipes(int pipes[NPIPES][2]) {
  for (int i = 0; i < NPIPES; i++)
    for (int end = 0; end < 2; end++)
      if (pipes[i][end] >= 0) close(pipes[i][end]);
}

/* Nobody's that is executed. Where there is no pipe2, only for who forks from
 * another thread at that moment. */
static int make_pipe(int ends[2]) {
#ifdef __linux__
  return pipe2(ends, O_CLOEXEC);
#else
  if (pipe(ends) != 0) return -1;
  for (int i = 0; i < 2; i++) (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
  return 0;
#endif
}

/* Ours do not block and are nobody else's. */
static int make_pipes(int pipes[NPIPES][2]) {
  for (int i = 0; i < NPIPES; i++) pipes[i][0] = pipes[i][1] = -1;
  for (int i = 0; i < NPIPES; i++)
    if (make_pipe(pipes[i]) != 0 ||
        fcntl(pipes[i][0], F_SETFL, O_NONBLOCK) != 0) {
      close_pipes(pipes);
      return 0;
    }
  return 1;
}

/* In the child, where a stop waits until it catches signals (lsys.c): before
 * that it would kill it. Does not return. The second look at the parent: it may
 * have died before it could be watched. */
static void become_worker(int pipes[NPIPES][2], pid_t parent) {
  char number[16];
  int nowhere = open("/dev/null", O_RDONLY);
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, PAWL_STOP_SIGNAL);
#endif
  if (getppid() != parent) _exit(1);
  snprintf(number, sizeof number, "%d", pipes[READY][1]);
  if (nowhere < 0 || dup2(nowhere, STDIN_FILENO) < 0 ||
      dup2(pipes[OUT][1], STDOUT_FILENO) < 0 ||
      dup2(pipes[ERR][1], STDERR_FILENO) < 0 ||
      fcntl(pipes[READY][1], F_SETFD, 0) != 0 ||
      setenv(READY_FD_NAME, number, 1) != 0)
    _exit(126);
  execv("/proc/self/exe", arguments); /* also when its file was replaced */
  execvp(arguments[0], arguments);
  fprintf(stderr, "pawl: cannot start itself again: %s\n", strerror(errno));
  fflush(stderr);
  _exit(127);
}

/* sys.spawn() -> pid, out, err, ready | nil, why. The last three are file
 * descriptors; `ready` can be read when the child is. */
static int sys_spawn(lua_State *L) {
  int pipes[NPIPES][2];
  const pid_t parent = getpid();
  if (!make_pipes(pipes)) return pawl_push_errno(L);
  fflush(NULL); /* or the child might write it again */
  sigset_t stop, was;
  sigemptyset(&stop);
  sigaddset(&stop, PAWL_STOP_SIGNAL);
  sigprocmask(SIG_BLOCK, &stop, &was);
  pid_t pid = fork();
  if (pid == 0) become_worker(pipes, parent);
  sigprocmask(SIG_SETMASK, &was, NULL);
  for (int i = 0; i < NPIPES; i++) close(pipes[i][1]);
  if (pid < 0) {
    int why = errno;
    for (int i = 0; i < NPIPES; i++) close(pipes[i][0]);
    errno = why;
    return pawl_push_errno(L);
  }
  lua_pushinteger(L, pid);
  for (int i = 0; i < NPIPES; i++) lua_pushinteger(L, pipes[i][0]);
  return 1 + NPIPES;
}

/* ---- a command ---- */

/* A file without a name that holds the bytes, to be read from its beginning;
 * -1. Nobody has to wait for who reads it, as for a pipe's reader. */
static int file_of(const char *bytes, size_t len) {
#ifdef __linux__
  int fd = memfd_create("pawl", MFD_CLOEXEC);
#else
  FILE *file = tmpfile();
  int fd = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 3) : -1;
  if (file) fclose(file);
#endif
  if (fd < 0) return -1;
  while (len > 0) {
    ssize_t n = write(fd, bytes, len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    bytes += n;
    len -= (size_t)n;
  }
  if (len == 0 && lseek(fd, 0, SEEK_SET) == 0) return fd;
  close(fd);
  return -1;
}

/* In the child; does not return. A group of its own: what Ctrl-C says to ours
 * is not for it, and it can be ended with all that it has started. */
static void become_command(const char *command, int input, int err) {
  setpgid(0, 0);
  if (dup2(input, STDIN_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0)
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  _exit(127);
}

/* sys.exec(command, input) -> pid, err | nil, why. A shell runs it, with the
 * input as its standard input; `err` is a file descriptor of what it says to
 * standard error. */
static int sys_exec(lua_State *L) {
  size_t len;
  const char *command = luaL_checkstring(L, 1);
  const char *bytes = luaL_checklstring(L, 2, &len);
  int err[2], why;
  pid_t pid = -1;

  fflush(NULL);
  int input = file_of(bytes, len);
  if (input < 0) return pawl_push_errno(L);
  if (make_pipe(err) == 0) {
    pid = fork();
    if (pid == 0) become_command(command, input, err[1]);
    why = errno;
    close(err[1]);
    if (pid < 0 || fcntl(err[0], F_SETFL, O_NONBLOCK) != 0) close(err[0]);
    errno = why;
  }
  why = errno;
  close(input);
  errno = why;
  if (pid < 0) return pawl_push_errno(L);
  setpgid(pid, pid); /* whoever of both is first */
  lua_pushinteger(L, pid);
  lua_pushinteger(L, err[0]);
  return 2;
}

/* sys.kill(pid): ends a command, and all that it has started. */
static int sys_kill(lua_State *L) {
  pid_t pid = (pid_t)luaL_checkinteger(L, 1);
  if (pid > 1) kill(-pid, SIGKILL);
  return 0;
}

/* ---- in a child ---- */

/* sys.supervised() -> boolean: are we such a child? What our own children
 * inherit says nothing of it. */
static int sys_supervised(lua_State *L) {
  const char *number = getenv(READY_FD_NAME);
  if (number) {
    ready_fd = atoi(number);
    unsetenv(READY_FD_NAME);
    if (ready_fd <= STDERR_FILENO || fcntl(ready_fd, F_SETFD, FD_CLOEXEC) != 0)
      ready_fd = -1;
  }
  lua_pushboolean(L, ready_fd >= 0);
  return 1;
}

/* sys.ready(): tells the supervisor, if there is one. */
static int sys_ready(lua_State *L) {
  (void)L;
  if (ready_fd < 0) return 0;
  if (write(ready_fd, "r", 1) != 1) { /* it is gone: so shall we be */
  }
  close(ready_fd);
  ready_fd = -1;
  return 0;
}

/* ---- in the supervisor ---- */

/* sys.poll(fds, seconds) -> those that can be read, or have ended */
static int sys_poll(lua_State *L) {
  static struct pollfd set[MOST_FDS];
  lua_Number seconds = luaL_checknumber(L, 2);
  lua_Integer n, nready = 0;
  luaL_checktype(L, 1, LUA_TTABLE);
  n = luaL_len(L, 1);
  if (n > MOST_FDS) return luaL_error(L, "too many files");
  for (lua_Integer i = 0; i < n; i++) {
    lua_rawgeti(L, 1, i + 1);
    set[i].fd = (int)lua_tointeger(L, -1);
    set[i].events = POLLIN;
    set[i].revents = 0;
    lua_pop(L, 1);
  }
  if (poll(set, (nfds_t)n, (int)(seconds * 1000)) < 0) n = 0; /* a signal */
  lua_newtable(L);
  for (lua_Integer i = 0; i < n; i++)
    if (set[i].revents) {
      lua_pushinteger(L, set[i].fd);
      lua_rawseti(L, -2, ++nready);
    }
  return 1;
}

/* sys.read(fd) -> bytes | nil: at its end | false: none now */
static int sys_read(lua_State *L) {
  char bytes[16 * 1024];
  ssize_t n;
  do n = read((int)luaL_checkinteger(L, 1), bytes, sizeof bytes);
  while (n < 0 && errno == EINTR);
  if (n > 0)
    lua_pushlstring(L, bytes, (size_t)n);
  else if (n < 0 && errno == EAGAIN)
    lua_pushboolean(L, 0);
  else
    lua_pushnil(L);
  return 1;
}

/* sys.close(fd) */
static int sys_close(lua_State *L) {
  close((int)luaL_checkinteger(L, 1));
  return 0;
}

/* sys.reap() -> pid, code, signal? | nil: of a child that has ended; the code
 * is 128 + signal when it was killed. */
static int sys_reap(lua_State *L) {
  int status;
  pid_t pid = waitpid(-1, &status, WNOHANG);
  if (pid <= 0) return 0;
  lua_pushinteger(L, pid);
  if (!WIFSIGNALED(status)) {
    lua_pushinteger(L, WEXITSTATUS(status));
    return 2;
  }
  lua_pushinteger(L, 128 + WTERMSIG(status));
  lua_pushinteger(L, WTERMSIG(status));
  return 3;
}

/* sys.stop(pid, now): asks a child to stop cleanly; or at once. */
static int sys_stop(lua_State *L) {
  pid_t pid = (pid_t)luaL_checkinteger(L, 1);
  if (pid > 0) kill(pid, lua_toboolean(L, 2) ? SIGKILL : PAWL_STOP_SIGNAL);
  return 0;
}

void pawl_process_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"cores", sys_cores},
                                       {"spawn", sys_spawn},
                                       {"supervised", sys_supervised},
                                       {"ready", sys_ready},
                                       {"poll", sys_poll},
                                       {"read", sys_read},
                                       {"close", sys_close},
                                       {"reap", sys_reap},
                                       {"stop", sys_stop},
                                       {"exec", sys_exec},
                                       {"kill", sys_kill},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
