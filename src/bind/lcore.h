/* bind/lcore.h: the C module behind require "pawl".
 *
 * Users require "pawl"; pawl.core is what lua/pawl is built on and may change
 * with any version. It holds no state outside the Lua state that loads it. */
#ifndef PAWL_BIND_LCORE_H
#define PAWL_BIND_LCORE_H

#include <lua.h>

#include "../pawl.h"

PAWL_API int luaopen_pawl_core(lua_State *L);

#endif
