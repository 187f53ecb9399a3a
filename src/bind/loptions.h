/* bind/loptions.h: what the verbs of pawl.h take, told to Lua.
 *
 * Layer    bind: above host/host.h. lua/pawl makes its shapes of it. */
#ifndef PAWL_BIND_LOPTIONS_H
#define PAWL_BIND_LOPTIONS_H

#include <lua.h>

/* core.options() -> { [verb] = what pawl_host_push_options pushes } */
int pawl_bind_options(lua_State *L);

#endif
