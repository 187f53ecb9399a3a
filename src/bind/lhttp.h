/* bind/lhttp.h: posting over HTTP, several at a time, for the command.
 *
 * Layer    bind. libcurl is loaded when it is first asked for: it is needed by
 *          nothing else. */
#ifndef PAWL_BIND_LHTTP_H
#define PAWL_BIND_LHTTP_H

#include <lua.h>

/* Adds sys.http to the table at the top. */
void pawl_http_open(lua_State *L);

#endif
