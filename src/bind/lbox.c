#include "lbox.h"

#include <math.h>
#include <string.h>

#include <lauxlib.h>

#include "../base/clock.h"
#include "../value/luajson.h"
#include "lerror.h"

/* ---- the box ---- */

/* Nouns have words of their own: "tasks:find" is engine.tasks:find. */
pawl_bind_box *pawl_bind_self_at(lua_State *L, const char *method, int level) {
  pawl_bind_box *box = luaL_testudata(L, 1, PAWL_ENGINE_MT);
  if (box) return box;
  luaL_where(L, level);
  lua_pushfstring(L, "calling '%s' on a %s: write engine%c%s(...)", method,
                  luaL_typename(L, 1), strchr(method, ':') ? '.' : ':',
                  method);
  lua_concat(L, 2);
  lua_error(L);
  return NULL;
}

pawl_bind_box *pawl_bind_self(lua_State *L, const char *method) {
  return pawl_bind_self_at(L, method, 1);
}

static pawl_bind_box *opened(pawl_bind_box *box, lua_State *L) {
  if (!box->engine)
    pawl_bind_raise(L, PAWL_MISUSE, "open another engine with pawl.open",
                    "the engine is closed");
  return box;
}

pawl_bind_box *pawl_bind_box_of(lua_State *L, const char *method) {
  return opened(pawl_bind_self(L, method), L);
}

/* For methods that change or ask the store: those wait their turn. */
pawl_bind_box *pawl_bind_idle(lua_State *L, const char *method, int level) {
  pawl_bind_box *box = opened(pawl_bind_self_at(L, method, level), L);
  if (box->inside)
    pawl_bind_raise(L, PAWL_MISUSE,
                    "inside a handler use ctx; a callback may only note what "
                    "it was told",
                    "the engine was called from inside one of its own "
                    "handlers or callbacks");
  return box;
}

pawl_engine *pawl_bind_engine(lua_State *L, int idx) {
  pawl_bind_box *box = luaL_checkudata(L, idx, PAWL_ENGINE_MT);
  luaL_argcheck(L, box->engine, idx, "the engine is closed");
  return box->engine;
}

/* ---- units ---- */

/* Seconds as Lua has them to microseconds; 0: not a time. */
int pawl_bind_to_us(lua_State *L, int idx, int64_t *us) {
  int is_number = 0;
  if (lua_isinteger(L, idx)) {
    lua_Integer whole = lua_tointeger(L, idx);
    if (whole > PAWL_NEVER / PAWL_SECOND || whole < -PAWL_NEVER / PAWL_SECOND)
      return 0;
    *us = (int64_t)whole * PAWL_SECOND;
    return 1;
  }
  if (lua_type(L, idx) != LUA_TNUMBER) return 0;
  lua_Number seconds = lua_tonumberx(L, idx, &is_number);
  if (!is_number || !(fabs(seconds) < 9.2e12)) return 0; /* NaN too */
  *us = (int64_t)llround(seconds * 1e6);
  return 1;
}

void pawl_bind_push_seconds(lua_State *L, int64_t us) {
  lua_pushnumber(L, (lua_Number)us / 1e6);
}

void pawl_bind_set_seconds(lua_State *L, const char *key, int64_t us) {
  pawl_bind_push_seconds(L, us);
  lua_setfield(L, -2, key);
}

void pawl_bind_set_int(lua_State *L, const char *key, int64_t n) {
  lua_pushinteger(L, n);
  lua_setfield(L, -2, key);
}

void pawl_bind_set_flag(lua_State *L, const char *key, int yes) {
  lua_pushboolean(L, yes);
  lua_setfield(L, -2, key);
}

void pawl_bind_set_text(lua_State *L, const char *key, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, key);
}

int pawl_bind_push_counts(lua_State *L, const pawl_counts *counts) {
  lua_createtable(L, 0, 4);
  pawl_bind_set_int(L, "trips", counts->trips);
  pawl_bind_set_int(L, "statements", counts->statements);
  pawl_bind_set_int(L, "transactions", counts->transactions);
  pawl_bind_set_seconds(L, "waited", counts->waited_us);
  return 1;
}

/* nil for never: nothing is scheduled. */
void pawl_bind_push_due(lua_State *L, int64_t us) {
  if (us == PAWL_NEVER)
    lua_pushnil(L);
  else
    pawl_bind_push_seconds(L, us);
}

/* ---- text of the core to values ---- */

typedef struct decode_call {
  char *text;
  void (*tidy)(lua_State *L); /* of the value at the top; NULL: as it is */
} decode_call;

static int decode_protected(lua_State *L) {
  const decode_call *c = lua_touserdata(L, 1);
  pawl_error err;
  if (pawl_luajson_decode(L, pawl_strz(c->text), &err) != PAWL_OK)
    return pawl_bind_failure(L, &err); /* of memory, or nested too deep */
  if (c->tidy) c->tidy(L);
  return 1;
}

/* Pushes what `text` decodes to, or nil, err, and frees it, even when Lua
 * raises. How many values. */
int pawl_bind_take_json(lua_State *L, pawl_engine *engine, char *text,
                        void (*tidy)(lua_State *L)) {
  decode_call c = {text, tidy};
  int status, base = lua_gettop(L);
  lua_pushcfunction(L, decode_protected);
  lua_pushlightuserdata(L, &c);
  status = lua_pcall(L, 1, LUA_MULTRET, 0);
  pawl_free(engine, text);
  if (status != LUA_OK) lua_error(L);
  return lua_gettop(L) - base;
}
