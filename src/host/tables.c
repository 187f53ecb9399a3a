#include "tables.h"

#include <limits.h>

#include "host_internal.h"
#include "toll.h"

enum {
  MAX_UNPACKED = 100000,
  ITEM_COST = 4,   /* instructions that an element costs, moved in C */
  VALUE_SIZE = 16, /* bytes of a value in a table, or on the stack */
  POLL_EVERY = 64
};

static lua_Integer check_length(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  return luaL_len(L, 1);
}

/* Another element. A table that grows may need more than there is. */
static void pay_item(lua_State *L, lua_Integer i) {
  pawl_toll_spend(L, ITEM_COST);
  if (i % POLL_EVERY == 0) pawl_toll_need(L, 0);
}

static void check_position(lua_State *L, lua_Integer at, lua_Integer last) {
  luaL_argcheck(L, (lua_Unsigned)at - 1u < (lua_Unsigned)last, 2,
                "position out of bounds");
}

/* t[to] = t[from], in the table at idx 1 */
static void shift(lua_State *L, lua_Integer from, lua_Integer to) {
  pay_item(L, from);
  lua_geti(L, 1, from);
  lua_seti(L, 1, to);
}

int pawl_tables_insert(lua_State *L) {
  const int n = lua_gettop(L);
  lua_Integer behind = check_length(L), at;
  behind = (lua_Integer)((lua_Unsigned)behind + 1); /* it may be anything */
  if (n != 2 && n != 3)
    return luaL_error(L, "wrong number of arguments to 'insert'");
  at = n == 2 ? behind : luaL_checkinteger(L, 2);
  if (n == 3) check_position(L, at, behind);
  for (lua_Integer i = behind; i > at; i--) shift(L, i - 1, i);
  lua_seti(L, 1, at);
  return 0;
}

int pawl_tables_remove(lua_State *L) {
  const lua_Integer n = check_length(L);
  lua_Integer at = luaL_optinteger(L, 2, n);
  if (at != n && (lua_Unsigned)at != (lua_Unsigned)n + 1)
    check_position(L, at, n);
  lua_geti(L, 1, at);
  for (; at < n; at++) shift(L, at + 1, at);
  lua_pushnil(L);
  lua_seti(L, 1, at);
  return 1;
}

static size_t length_at(lua_State *L, int idx) {
  return lua_type(L, idx) == LUA_TSTRING ? lua_rawlen(L, idx) : 0;
}

/* (a, b; upvalue: the script's comparator, or nil) */
static int comes_first(lua_State *L) {
  size_t a = length_at(L, 1), b = length_at(L, 2);
  pawl_toll_spend(L, ITEM_COST + (a < b ? a : b) / 32);
  if (lua_isnil(L, lua_upvalueindex(1))) {
    lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLT));
    return 1;
  }
  lua_settop(L, 2);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 2, 1);
  return 1;
}

/* Lua's own sorts a copy that nobody sees, and pays for each comparison. */
int pawl_tables_sort(lua_State *L) {
  const lua_Integer n = check_length(L);
  if (n < 2) return 0;
  luaL_argcheck(L, n < INT_MAX, 1, "array too big");
  if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  pawl_toll_spend(L, (size_t)n);
  pawl_toll_need(L, (size_t)n * VALUE_SIZE);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_createtable(L, (int)n, 0);
  for (lua_Integer i = 1; i <= n; i++) {
    pay_item(L, i);
    lua_geti(L, 1, i);
    lua_rawseti(L, 4, i);
  }
  lua_pushvalue(L, 3);
  lua_pushvalue(L, 4);
  lua_pushvalue(L, 2);
  lua_pushcclosure(L, comes_first, 1);
  lua_call(L, 2, 0);
  for (lua_Integer i = 1; i <= n; i++) {
    pay_item(L, i);
    lua_rawgeti(L, 4, i);
    lua_seti(L, 1, i);
  }
  return 0;
}

int pawl_tables_unpack(lua_State *L) {
  lua_Integer i = luaL_optinteger(L, 2, 1);
  lua_Integer last =
      lua_isnoneornil(L, 3) ? luaL_len(L, 1) : luaL_checkinteger(L, 3);
  if (i > last) return 0;
  if ((lua_Unsigned)last - (lua_Unsigned)i >= MAX_UNPACKED)
    return luaL_error(L, "too many results to unpack");
  const int n = (int)(last - i) + 1;
  pawl_toll_need(L, (size_t)n * VALUE_SIZE);
  luaL_checkstack(L, n, "too many results to unpack");
  for (;; i++) {
    pawl_toll_spend(L, 1);
    lua_geti(L, 1, i);
    if (i == last) return n; /* which may be the last integer */
  }
}

int pawl_tables_pack(lua_State *L) {
  pawl_toll_need(L, (size_t)lua_gettop(L) * VALUE_SIZE);
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

int pawl_tables_move(lua_State *L) {
  lua_Integer f = luaL_checkinteger(L, 2), e = luaL_checkinteger(L, 3);
  lua_Integer t = luaL_checkinteger(L, 4), n;
  int to = lua_isnoneornil(L, 5) ? 1 : 5;
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, to, LUA_TTABLE);
  if (e >= f) {
    luaL_argcheck(L, f > 0 || e < LUA_MAXINTEGER + f, 3,
                  "too many elements to move");
    n = e - f + 1;
    luaL_argcheck(L, t <= LUA_MAXINTEGER - n + 1, 4,
                  "destination wrap around");
    int is_up =
        t > e || t <= f || (to != 1 && !lua_compare(L, 1, to, LUA_OPEQ));
    for (lua_Integer i = 0; i < n; i++) {
      lua_Integer at = is_up ? i : n - 1 - i;
      pay_item(L, i);
      lua_geti(L, 1, f + at);
      lua_seti(L, to, t + at);
    }
  }
  lua_pushvalue(L, to);
  return 1;
}

int pawl_tables_concat(lua_State *L) {
  luaL_Buffer b;
  size_t len = 0, asked = 0, between, piece;
  luaL_checktype(L, 1, LUA_TTABLE);
  const char *sep = luaL_optlstring(L, 2, "", &between);
  lua_Integer i = luaL_optinteger(L, 3, 1);
  lua_Integer last =
      lua_isnoneornil(L, 4) ? luaL_len(L, 1) : luaL_checkinteger(L, 4);
  lua_settop(L, 4);
  luaL_buffinit(L, &b);
  for (; i <= last; i++) {
    lua_geti(L, 1, i);
    if (!lua_isstring(L, -1))
      return luaL_error(L, "invalid value (at index %I) in table for 'concat'",
                        (LUAI_UACINT)i);
    lua_tolstring(L, -1, &piece);
    pawl_toll_spend(L, ITEM_COST);
    len += piece + between;
    if (len > asked) {
      asked = len + len / 2 + LUAL_BUFFERSIZE;
      pawl_toll_need(L, 2 * asked);
    }
    luaL_addvalue(&b);
    if (i == last) break; /* which may be the last integer */
    luaL_addlstring(&b, sep, between);
  }
  luaL_pushresult(&b);
  return 1;
}
