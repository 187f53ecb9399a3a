/* host/tables.h: Lua's functions of tables, each element paid for.
 *
 * A length is what `#` tells, which may be a script's own function, and
 * anything. Here it is asked for once, and what is gone through is no more than
 * is paid for on the way; Lua's own functions ask again, and then trust it.
 *
 * Layer    of the host; see toll.h. */
#ifndef PAWL_HOST_TABLES_H
#define PAWL_HOST_TABLES_H

#include <lua.h>

/* As Lua's table.insert, remove, unpack, move and concat. */
int pawl_tables_insert(lua_State *L);
int pawl_tables_remove(lua_State *L);
int pawl_tables_unpack(lua_State *L);
int pawl_tables_move(lua_State *L);
int pawl_tables_concat(lua_State *L);
/* As table.sort and table.pack, which are upvalue 1. */
int pawl_tables_sort(lua_State *L);
int pawl_tables_pack(lua_State *L);

#endif
