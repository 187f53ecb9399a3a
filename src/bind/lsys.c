#define _GNU_SOURCE /* fopencookie, RTLD_DEFAULT */
#include "lsys.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lauxlib.h>

#include "../base/clock.h"
#include "../host/host.h"
#include "lbox.h"
#include "lhttp.h"
#include "lnotify.h"
#include "lprocess.h"

#define SAME_STOP (PAWL_SECOND / 4)

/* Written by the main thread, read by the handler: a pointer that is whole at
 * any moment, cleared before its engine is closed. */
static pawl_engine *volatile watched;
static volatile sig_atomic_t caught, ncaught;
static int64_t first_caught; /* written by handlers of signals alone */
static int by_supervisor;    /* so is this */
static volatile sig_atomic_t handler_runs;
static volatile sig_atomic_t twin = -1; /* another way to standard output */
static int only_count;      /* a supervisor ends its children first */
static char announced[128]; /* said when the first one comes */

/* ---- the line at the bottom ---- */

/* The line that says what runs now stands at the bottom of the terminal
 * without a newline. Whoever prints, a handler in its own Lua state too, goes
 * through `stdout`: the line is taken away before and put back after. A signal
 * takes it away for good: a second one may end us at any moment, and nothing
 * of it may be left behind. */
static char live[256];
static volatile sig_atomic_t live_shown;
static volatile sig_atomic_t live_columns;

static int write_all(const char *bytes, size_t len) {
  while (len > 0) {
    ssize_t n = write(STDOUT_FILENO, bytes, len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return 0;
    bytes += n;
    len -= (size_t)n;
  }
  return 1;
}

/* A window that became narrower has broken it into several rows. */
static int hide_live(void) {
  static const char wipe[] = "\r\033[K", wipe_above[] = "\r\033[K\033[A\033[K";
  struct winsize size;
  int shown = live_shown, rows = 0;
  live_shown = 0;
  if (!shown) return 1;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    rows = (live_columns - 1) / size.ws_col;
  for (; rows > 0; rows--)
    if (!write_all(wipe_above, sizeof wipe_above - 1)) return 0;
  return write_all(wipe, sizeof wipe - 1);
}

static int show_live(void) {
  if (caught) return 1;
  live_shown = live[0] != 0;
  return write_all(live, strlen(live));
}

/* ---- signals ---- */

static void stop_for(int number) {
  pawl_engine *engine = watched;
  if (!caught) first_caught = pawl_clock_mono();
  caught = number;
  ncaught++;
  if (engine) pawl_interrupt(engine);
}

/* One stop may be told twice at once: to us and to our whole group, as
 * `timeout` does and what starts commands in a terminal, by the same signal, or
 * by our supervisor and to the group. Nobody who means a second one is that
 * quick, unless he takes another signal for it. */
static int is_same_stop(int number) {
  return (number == caught || by_supervisor) &&
         pawl_clock_mono() - first_caught < SAME_STOP;
}

#define READS_MS 100 /* who has not read that long does not */

/* Where nobody reads a full pipe, a stop would wait for him, as would the write
 * that it may have come into: what is still said goes nowhere. */
static void stop_writing(int fd) {
  struct pollfd at = {.fd = fd, .events = POLLOUT};
  int nowhere;

  if (poll(&at, 1, READS_MS) != 0) return;
  nowhere = open("/dev/null", O_WRONLY);
  if (nowhere < 0) return;
  dup2(nowhere, fd); /* a write is begun anew behind the signal (SA_RESTART) */
  close(nowhere);
}

static void stop_waiting_for_readers(void) {
  stop_writing(STDOUT_FILENO);
  if (twin >= 0) stop_writing(twin);
  stop_writing(STDERR_FILENO);
}

/* The first signal asks for a clean stop, which may take as long as a handler
 * does: so that is said at once. Who sends a second one means it. */
static void on_signal(int number) {
  int error = errno;
  if (caught && is_same_stop(number)) return;
  if (caught && !only_count) _exit(128 + number);
  stop_waiting_for_readers();
  hide_live();
  if (!caught && announced[0] && (handler_runs || only_count) &&
      write(STDERR_FILENO, announced, strlen(announced)) < 0)
    errno = error; /* nobody hears it */
  stop_for(number);
  errno = error;
}

/* From a supervisor, which may tell what the group was told already. */
static void on_stop(int number) {
  int error = errno;
  (void)number;
  if (caught) return;
  by_supervisor = 1;
  stop_waiting_for_readers();
  stop_for(SIGTERM);
  errno = error;
}

/* sys.catch_signals(count, text): from now on SIGINT and SIGTERM stop cleanly;
 * `count`: a second one, too, is only counted. `text` is said at the first,
 * while a handler runs; a later call does not change it. */
static int sys_catch_signals(lua_State *L) {
  static int is_told;
  struct sigaction action;
  const char *text = luaL_checkstring(L, 2);
  only_count = lua_toboolean(L, 1);
  if (!is_told) snprintf(announced, sizeof announced, "%s", text);
  is_told = 1;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART; /* a handler's own I/O is left in peace */
  /* One at a time: of two that come together, the second is to see that there
   * was a first. */
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGINT);
  sigaddset(&action.sa_mask, SIGTERM);
  sigaddset(&action.sa_mask, PAWL_STOP_SIGNAL);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  action.sa_handler = on_stop;
  sigaction(PAWL_STOP_SIGNAL, &action, NULL);
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, PAWL_STOP_SIGNAL);
  sigprocmask(SIG_UNBLOCK, &action.sa_mask, NULL); /* one may wait */
  return 0;
}

/* sys.handler_runs(is_so): only then a stop is told of, as it takes long. */
static int sys_handler_runs(lua_State *L) {
  handler_runs = lua_toboolean(L, 1);
  return 0;
}

/* sys.watch(engine | nil): which engine a signal interrupts. */
static int sys_watch(lua_State *L) {
  watched = lua_isnoneornil(L, 1) ? NULL : pawl_bind_engine(L, 1);
  if (watched && caught) pawl_interrupt(watched);
  return 0;
}

/* sys.caught() -> number of the last signal, how many | nil */
static int sys_caught(lua_State *L) {
  if (!caught) return 0;
  lua_pushinteger(L, caught);
  lua_pushinteger(L, ncaught);
  return 2;
}

/* sys.isatty(fd) -> boolean */
static int sys_isatty(lua_State *L) {
  lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
  return 1;
}

/* sys.width() -> columns of the terminal; 80 when nobody knows */
static int sys_width(lua_State *L) {
  struct winsize size;
  const char *columns = getenv("COLUMNS");
  int width = columns ? atoi(columns) : 0;
  if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
    width = size.ws_col;
  lua_pushinteger(L, width > 0 ? width : 80);
  return 1;
}

/* sys.sleep(seconds); a signal ends it early */
static int sys_sleep(lua_State *L) {
  lua_Number seconds = luaL_checknumber(L, 1);
  if (!caught && seconds > 0) pawl_sleep_us((int64_t)(seconds * 1e6));
  return 0;
}

/* sys.store_name(url | nil): what may be shown of it. */
static int sys_store_name(lua_State *L) {
  char name[1024];
  lua_pushstring(
      L, pawl_store_name(luaL_optstring(L, 1, NULL), name, sizeof name));
  return 1;
}

/* sys.pid() -> integer */
static int sys_pid(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)getpid());
  return 1;
}

/* sys.login() -> name of the user | nil */
static int sys_login(lua_State *L) {
  const struct passwd *user = getpwuid(getuid());
  if (!user || !user->pw_name[0]) return 0;
  lua_pushstring(L, user->pw_name);
  return 1;
}

/* sys.time() -> seconds since 1970, by this machine's clock */
static int sys_time(lua_State *L) {
  const pawl_clock system = {NULL, NULL};
  lua_pushnumber(L, (lua_Number)pawl_clock_now(&system) / 1e6);
  return 1;
}

/* sys.stamp(path) -> text | nil: another one, when the file is another, or was
 * written. */
static int sys_stamp(lua_State *L) {
  struct stat st;
  if (stat(luaL_checkstring(L, 1), &st) != 0) return 0;
#ifdef __APPLE__
  const struct timespec at = st.st_mtimespec;
#else
  const struct timespec at = st.st_mtim;
#endif
  lua_pushfstring(L, "%I.%I %I %I", (LUAI_UACINT)at.tv_sec,
                  (LUAI_UACINT)at.tv_nsec, (LUAI_UACINT)st.st_size,
                  (LUAI_UACINT)st.st_ino);
  return 1;
}

/* sys.kind(path) -> "file" | "directory" | "other", size | nil, why */
static int sys_kind(lua_State *L) {
  struct stat st;
  if (stat(luaL_checkstring(L, 1), &st) != 0) return pawl_push_errno(L);
  lua_pushstring(L, S_ISDIR(st.st_mode)   ? "directory"
                    : S_ISREG(st.st_mode) ? "file"
                                          : "other");
  lua_pushinteger(L, (lua_Integer)st.st_size);
  return 2;
}

/* sys.scan(path) -> names in the directory, in no order | nil, why.
 * Collected under a protected call, so that a memory error leaves no open
 * directory behind. */
static int scan_protected(lua_State *L) {
  DIR *dir = lua_touserdata(L, 1);
  const struct dirent *entry;
  lua_Integer n = 0;
  lua_newtable(L);
  while ((entry = readdir(dir)) != NULL) {
    lua_pushstring(L, entry->d_name);
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}

static int sys_scan(lua_State *L) {
  DIR *dir = opendir(luaL_checkstring(L, 1));
  if (!dir) return pawl_push_errno(L);
  lua_pushcfunction(L, scan_protected);
  lua_pushlightuserdata(L, dir);
  int status = lua_pcall(L, 1, 1, 0);
  closedir(dir);
  if (status != LUA_OK) return lua_error(L);
  return 1;
}

/* ---- standard output ---- */

static int close_stream(lua_State *L) {
  luaL_Stream *stream = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  if (fileno(stream->f) == twin) twin = -1;
  return luaL_fileresult(L, fclose(stream->f) == 0, NULL);
}

/* sys.twin() -> file: another stream to standard output. */
static int sys_twin(lua_State *L) {
  luaL_Stream *stream = lua_newuserdatauv(L, sizeof *stream, 0);
  stream->closef = NULL; /* closed, until it is open */
  luaL_setmetatable(L, LUA_FILEHANDLE);
  fflush(stdout);
  int fd = dup(STDOUT_FILENO);
  if (fd < 0 || !(stream->f = fdopen(fd, "w")))
    return luaL_error(L, "cannot use standard output: %s", strerror(errno));
  stream->closef = close_stream;
  twin = fd;
  return 1;
}

/* sys.divert() -> file: the real standard output. What anything else writes
 * there from now on, child processes too, goes to standard error. */
static int sys_divert(lua_State *L) {
  sys_twin(L);
  if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return luaL_error(L, "cannot divert standard output: %s", strerror(errno));
  return 1;
}

#ifdef __linux__
static ssize_t live_write(void *cookie, const char *bytes, size_t len) {
  (void)cookie;
  if (!hide_live() || !write_all(bytes, len)) return 0; /* an error */
  if (len > 0 && bytes[len - 1] == '\n') show_live();
  return (ssize_t)len;
}

/* sys.own_output(): before any Lua state that prints is made. */
static int sys_own_output(lua_State *L) {
  cookie_io_functions_t io = {.write = live_write};
  FILE *stream;
  (void)L;
  fflush(stdout);
  stream = fopencookie(NULL, "w", io);
  if (!stream) return 0;
  setvbuf(stream, NULL, _IOLBF, BUFSIZ);
  stdout = stream;
  return 0;
}
#else
static int sys_own_output(lua_State *L) {
  (void)L;
  return 0;
}
#endif

/* sys.live(text | nil, columns): replaces the line at the bottom, which takes
 * so many columns. */
static int sys_live(lua_State *L) {
  const char *text = luaL_optstring(L, 1, "");
  lua_Integer columns = luaL_optinteger(L, 2, 0);
  fflush(stdout);
  hide_live();
  snprintf(live, sizeof live, "%s", text);
  live_columns = columns > 0 && columns < 1000 ? (int)columns : 0;
  show_live();
  return 0;
}

/* ---- what is built in ---- */

/* sys.libraries() -> { sqlite = "3.40.1", libpq = "15.20" }. Asked of the
 * process itself: their headers belong to the drivers. */
static int sys_libraries(lua_State *L) {
  const char *(*sqlite_version)(void);
  int (*pq_version)(void);
  *(void **)&sqlite_version = dlsym(RTLD_DEFAULT, "sqlite3_libversion");
  *(void **)&pq_version = dlsym(RTLD_DEFAULT, "PQlibVersion");
  lua_newtable(L);
  if (sqlite_version) {
    lua_pushstring(L, sqlite_version());
    lua_setfield(L, -2, "sqlite");
  }
  if (pq_version) {
    int version = pq_version(); /* 150020 */
    lua_pushfstring(L, "%d.%d", version / 10000, version % 10000);
    lua_setfield(L, -2, "libpq");
  }
  return 1;
}

int pawl_sys_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"catch_signals", sys_catch_signals},
                                       {"handler_runs", sys_handler_runs},
                                       {"watch", sys_watch},
                                       {"caught", sys_caught},
                                       {"isatty", sys_isatty},
                                       {"width", sys_width},
                                       {"sleep", sys_sleep},
                                       {"pid", sys_pid},
                                       {"store_name", sys_store_name},
                                       {"login", sys_login},
                                       {"time", sys_time},
                                       {"kind", sys_kind},
                                       {"stamp", sys_stamp},
                                       {"scan", sys_scan},
                                       {"twin", sys_twin},
                                       {"divert", sys_divert},
                                       {"own_output", sys_own_output},
                                       {"live", sys_live},
                                       {"libraries", sys_libraries},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  lua_pushinteger(L, PAWL_MAX_SOURCE);
  lua_setfield(L, -2, "max_source");
  pawl_process_open(L);
  pawl_notify_open(L);
  pawl_http_open(L);
  return 1;
}
