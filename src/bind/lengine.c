/* An engine's methods: the verbs (lverbs.c), and what is no verb, as it may be
 * asked from a handler or a callback, too. */
#include "lengine.h"

#include <lauxlib.h>

#include "lbox.h"
#include "lopen.h"
#include "lverbs.h"

/* engine:interrupt(): also from a handler or callback. */
static int engine_interrupt(lua_State *L) {
  pawl_interrupt(pawl_bind_box_of(L, "interrupt")->engine);
  return 0;
}

/* engine:now() -> seconds */
static int engine_now(lua_State *L) {
  pawl_bind_box *box = pawl_bind_box_of(L, "now");
  int64_t us;
  PAWL_INSIDE(box, us,
              pawl_now(box->engine)); /* its clock may be the caller's */
  pawl_bind_push_seconds(L, us);
  return 1;
}

/* engine:executor_id() -> id */
static int engine_executor_id(lua_State *L) {
  char id[37];
  pawl_executor_id(pawl_bind_box_of(L, "executor_id")->engine, id);
  lua_pushstring(L, id);
  return 1;
}

/* engine:is_new() -> boolean */
static int engine_is_new(lua_State *L) {
  lua_pushboolean(L, pawl_is_new(pawl_bind_box_of(L, "is_new")->engine));
  return 1;
}

/* engine:count() -> { trips, statements, transactions, waited } */
static int engine_count(lua_State *L) {
  pawl_counts counts;
  pawl_count(pawl_bind_box_of(L, "count")->engine, &counts);
  return pawl_bind_push_counts(L, &counts);
}

/* engine:memory() -> { used, peak, limit, refused, store } */
static int engine_memory(lua_State *L) {
  pawl_memory_use m;
  pawl_memory(pawl_bind_box_of(L, "memory")->engine, &m);
  lua_createtable(L, 0, 5);
  pawl_bind_set_int(L, "used", m.used);
  pawl_bind_set_int(L, "peak", m.peak);
  pawl_bind_set_int(L, "limit", m.limit);
  pawl_bind_set_int(L, "refused", m.refused);
  pawl_bind_set_int(L, "store", m.store);
  return 1;
}

/* engine.tasks and its like, among the methods. */
static int engine_index(lua_State *L) {
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  if (lua_getiuservalue(L, 1, 2) != LUA_TTABLE) return 0;
  lua_pushvalue(L, 2);
  lua_gettable(L, -2); /* raises when there is none of this name */
  return 1;
}

void pawl_bind_methods(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", pawl_bind_close},
                                  {"__close", pawl_bind_close},
                                  {"__tostring", pawl_bind_tostring},
                                  {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"interrupt", engine_interrupt},     {"now", engine_now},
      {"executor_id", engine_executor_id}, {"count", engine_count},
      {"close", pawl_bind_close},          {"is_new", engine_is_new},
      {"memory", engine_memory},           {NULL, NULL}};
  if (luaL_newmetatable(L, PAWL_ENGINE_MT)) {
    luaL_setfuncs(L, meta, 0);
    luaL_newlib(L, methods);
    pawl_bind_engine_verbs(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "methods");
    lua_pushcclosure(L, engine_index, 1);
    lua_setfield(L, -2, "__index");
  }
  lua_getfield(L, -1, "methods");
  lua_remove(L, -2);
}
