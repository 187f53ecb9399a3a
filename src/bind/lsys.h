/* bind/lsys.h: what the command asks of the system, as the module "pawl.sys".
 *
 * Built into the command only; the Lua module and the library never touch
 * signals or terminals. One process has one set of signal handlers, so the
 * state behind it is static: this module is the reason it may be. */
#ifndef PAWL_BIND_LSYS_H
#define PAWL_BIND_LSYS_H

#include <lua.h>

int pawl_sys_open(lua_State *L);

#endif
