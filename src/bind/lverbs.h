/* bind/lverbs.h: the verbs of pawl.h from Lua.
 *
 * Layer    bind: above lbox.h. Each is pawl.h's function of the same name; what
 *          it takes is in pawl.h's units already. */
#ifndef PAWL_BIND_LVERBS_H
#define PAWL_BIND_LVERBS_H

#include <lua.h>

/* Adds those that lua/pawl calls, core.list(engine, ...), to the table on top;
 * and those that are an engine's methods as they are, engine:tick(...). */
void pawl_bind_core_verbs(lua_State *L);
void pawl_bind_engine_verbs(lua_State *L);

#endif
