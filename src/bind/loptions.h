/* bind/loptions.h: what the verbs of pawl.h take, told to Lua.
 *
 * Layer    bind: above value/options.h. lua/pawl makes its shapes of it. */
#ifndef PAWL_BIND_LOPTIONS_H
#define PAWL_BIND_LOPTIONS_H

#include <lua.h>

/* core.options() -> { [verb] = { kinds = { "cancel", ... } or nil,
 * { name = "limit", shape = "int", low, high, names = { ... } or nil,
 * kinds = bits or nil, needed = bits }, ... } } */
int pawl_bind_options(lua_State *L);

#endif
