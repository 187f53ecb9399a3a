/* bind/lengine.h: an engine as a Lua object, "pawl.engine".
 *
 * Layer    bind: over pawl.h; the checks of options, durations and typed
 *          attributes are in lua/pawl/engine.lua, above this.
 * Owns     the userdata owns the engine. Its user value is a thread whose
 *          stack holds the callbacks (clock, log, trace) and runs them, so
 *          that they work whichever coroutine called, and inside handlers.
 * Raises   wrong arguments, use after close, and calls from inside one of the
 *          engine's own handlers or callbacks. The core itself never raises,
 *          and nothing that Lua could leak is held when a raise is possible.
 */
#ifndef PAWL_BIND_LENGINE_H
#define PAWL_BIND_LENGINE_H

#include <lua.h>

#include "../pawl.h"

#define PAWL_ENGINE_MT "pawl.engine"

/* core.open(url | nil, config) -> engine | nil, err. `config` holds plain
 * values: durations in integer microseconds, booleans, callables. */
int pawl_bind_open(lua_State *L);
/* core.migrate(url | nil, shards, config) -> report | nil, err */
int pawl_bind_migrate(lua_State *L);
/* core.engine_start(engine, code, input, options) -> id, created | nil, err.
 * `options` as pawl_start's, already in its units; nil: none. */
int pawl_bind_start(lua_State *L);
/* core.engine_start_many(engine, code, items, options) -> {ids, created} |
 * nil, err. As pawl_start_many's, already in its units. */
int pawl_bind_start_many(lua_State *L);
/* core.engine_signal(engine, signal) -> reached, info | nil, err. `signal` as
 * pawl_signal's, already in its units. */
int pawl_bind_signal(lua_State *L);
/* core.engine_list(engine, query) -> instances | nil, err */
int pawl_bind_list(lua_State *L);
/* core.engine_tokens(engine, id, everything, how) -> tokens | nil, err */
int pawl_bind_tokens(lua_State *L);
/* core.engine_explain(engine, id) -> JSON text | nil, err */
int pawl_bind_explain(lua_State *L);
/* core.engine_outbox(engine, query, how) -> rows | nil, err */
int pawl_bind_outbox(lua_State *L);
/* core.engine_tasks(engine, query, how) -> tasks | nil, err */
int pawl_bind_tasks(lua_State *L);
/* core.engine_task_act(engine, id, action) -> task | nil, err. `action` as
 * pawl_task's. */
int pawl_bind_task_act(lua_State *L);
/* core.engine_load(engine, path | workflow) -> info | nil, err */
int pawl_bind_load(lua_State *L);
/* core.engine_hotfix(engine, path | workflow, options) -> info | nil, err */
int pawl_bind_hotfix(lua_State *L);
/* core.engine_change(engine, id, change) -> true, done | nil, err. `change` as
 * pawl_change's. */
int pawl_bind_change(lua_State *L);
/* core.engine_move(engine, move, apply) -> report | nil, err */
int pawl_bind_move(lua_State *L);
/* core.engine_health(engine, repair, how) -> report | nil, err */
int pawl_bind_health(lua_State *L);
/* core.engine_workflows(engine, query, how) -> workflows | nil, err */
int pawl_bind_workflows(lua_State *L);
/* core.engine_workflow_change(engine, change) -> info | nil, err */
int pawl_bind_workflow_change(lua_State *L);

/* Makes the metatable "pawl.engine" and pushes the table of its methods. */
void pawl_bind_engine_methods(lua_State *L);
/* The engine of the object at idx; raises when it is none, or closed. */
pawl_engine *pawl_bind_engine(lua_State *L, int idx);

#endif
