/* bind/lnotify.h: what a service manager is told, for the command alone.
 *
 * systemd's protocol, without its library: one datagram for each state to the
 * socket that $NOTIFY_SOCKET names, of a file or (with an @ in front) abstract.
 * Other managers and watchdogs that speak it will do. */
#ifndef PAWL_BIND_LNOTIFY_H
#define PAWL_BIND_LNOTIFY_H

#include <lua.h>

/* Adds `notify` and `watchdog` to the table on top of the stack. */
void pawl_notify_open(lua_State *L);

#endif
