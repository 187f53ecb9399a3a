/* bind/lopen.h: opening and closing an engine from Lua.
 *
 * Layer    bind: above lbox.h. Options, durations and prefixes were checked
 *          by lua/pawl/engine.lua, above this.
 * Owns     callbacks of the config (clock, log, trace) are kept on the box's
 *          thread; what they raise is dropped. */
#ifndef PAWL_BIND_LOPEN_H
#define PAWL_BIND_LOPEN_H

#include <lua.h>

/* core.open(url | nil, config) -> engine | nil, err. `config` holds plain
 * values: durations in integer microseconds, booleans, callables. */
int pawl_bind_open(lua_State *L);
/* core.set_nouns(engine, table): what engine.tasks and its like are. */
int pawl_bind_set_nouns(lua_State *L);
/* core.migrate(url | nil, shards, pooler) -> report | nil, err */
int pawl_bind_migrate(lua_State *L);
/* core.doctor(url | nil, pooler, schema) -> report | nil, err */
int pawl_bind_doctor(lua_State *L);
/* core.migrations(url | nil, shards, pooler, schema): the same of what would
 * be done. */
int pawl_bind_migrations(lua_State *L);
/* :close(), __close and __gc: any number of times. */
int pawl_bind_close(lua_State *L);
int pawl_bind_tostring(lua_State *L);

#endif
