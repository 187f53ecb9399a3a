/* host/pattern.h: Lua's patterns, with each step paid for.
 *
 * The library's own matcher runs in C to its end, and a pattern of a few bytes
 * may take hours; no hook sees it. This one finds the same, and asks the meter
 * as it goes.
 *
 * Layer    of the host, beside limits of a state; see meter.h. */
#ifndef PAWL_HOST_PATTERN_H
#define PAWL_HOST_PATTERN_H

#include <lua.h>

int pawl_pattern_find(lua_State *L);
int pawl_pattern_match(lua_State *L);
int pawl_pattern_gmatch(lua_State *L);
int pawl_pattern_gsub(lua_State *L);

#endif
