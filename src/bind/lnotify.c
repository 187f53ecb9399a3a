#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "lnotify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <lauxlib.h>

/* Neither is everywhere. Such a socket is closed again at once, and where
 * nobody listens a datagram makes no signal. */
#ifdef SOCK_CLOEXEC
#define CLOSED_ON_EXEC SOCK_CLOEXEC
#else
#define CLOSED_ON_EXEC 0
#endif
#ifdef MSG_NOSIGNAL
#define NO_SIGNAL MSG_NOSIGNAL
#else
#define NO_SIGNAL 0
#endif

/* The address that the environment names: its length; 0: none, or not one that
 * this protocol has. */
static socklen_t address(struct sockaddr_un *to) {
  const char *name = getenv("NOTIFY_SOCKET");
  size_t len = name ? strlen(name) : 0;
  if (len < 2 || len >= sizeof to->sun_path || !strchr("/@", *name)) return 0;
  memset(to, 0, sizeof *to);
  to->sun_family = AF_UNIX;
  memcpy(to->sun_path, name, len);
  if (*name == '@') to->sun_path[0] = 0;
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

/* notify(state) -> was it sent? A manager that does not read is waited for a
 * second: who works is not to hang on who watches. */
static int notify(lua_State *L) {
  size_t len;
  const char *state = luaL_checklstring(L, 1, &len);
  const struct timeval patience = {.tv_sec = 1};
  struct sockaddr_un to;
  socklen_t size = address(&to);
  int sent = 0;
  int fd = size ? socket(AF_UNIX, SOCK_DGRAM | CLOSED_ON_EXEC, 0) : -1;
  if (fd >= 0) {
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    sent = sendto(fd, state, len, NO_SIGNAL, (struct sockaddr *)&to, size) ==
           (ssize_t)len;
    close(fd);
  }
  lua_pushboolean(L, sent);
  return 1;
}

/* watchdog() -> seconds between two signs of life, half of what is allowed, as
 * one may be late; nil: nobody waits for them, or for another process's. */
static int watchdog(lua_State *L) {
  const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
  long long allowed = us ? strtoll(us, NULL, 10) : 0;
  if (allowed <= 0 || (pid && strtoll(pid, NULL, 10) != getpid())) return 0;
  lua_pushnumber(L, (lua_Number)allowed / 2e6);
  return 1;
}

void pawl_notify_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"notify", notify}, {"watchdog", watchdog}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
