/* bind/lengine.h: an engine's methods in Lua.
 *
 * Layer    bind: above lbox.h and lverbs.h. */
#ifndef PAWL_BIND_LENGINE_H
#define PAWL_BIND_LENGINE_H

#include <lua.h>

/* Makes the metatable "pawl.engine" and pushes the table of its methods. */
void pawl_bind_methods(lua_State *L);

#endif
