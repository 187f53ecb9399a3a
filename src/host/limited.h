/* host/limited.h: the state of a definition of limited trust.
 *
 * One state for each definition, so that none shares a table with another.
 * Its scripts see what is listed in limited.c and nothing else: no files, no
 * processes, no loading of code, no debug library, no finalizers; libraries
 * that cannot be changed; whatever catches errors lets limits through (H9).
 * The modules of ours that run in it have the state's own globals.
 *
 * Layer    of the host; see meter.h. */
#ifndef PAWL_HOST_LIMITED_H
#define PAWL_HOST_LIMITED_H

#include <lua.h>

#include "host_internal.h"

/* Opens libraries in place of luaL_openlibs, and begins to count. Raises
 * errors of memory. */
void pawl_limited_open(pawl_host *host, lua_State *L);
/* Pushes what scripts have as globals, once all is set up. */
void pawl_limited_push_globals(lua_State *L);
/* Replaces the table on top by one that reads it and cannot be changed. */
void pawl_limited_freeze(lua_State *L);

#endif
