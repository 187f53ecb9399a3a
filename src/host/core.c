/* pawl.core: what a workflow file needs of it. */
#include "../value/luajson.h"
#include "host_internal.h"
#include "toll.h"

/* Of limited trust: a value that refers to itself in many ways would grow
 * without end, outside of what is counted. */
enum { MOST_JSON = 1000 * 1000 };

/* core.array(t?) -> t, marked as an array even when it is empty */
static int core_array(lua_State *L) {
  lua_settop(L, 1);
  if (lua_isnil(L, 1)) {
    lua_newtable(L);
    lua_replace(L, 1);
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  pawl_luajson_array_mt(L);
  lua_setmetatable(L, 1);
  return 1;
}

const char *pawl_host_lua(void) {
  return lua_ident;
}

static int core_version(lua_State *L) {
  lua_pushstring(L, PAWL_VERSION);
  return 1;
}

/* Returned, not raised: text from outside may be anything. */
static int push_failure(lua_State *L, const pawl_error *err) {
  lua_pushnil(L);
  pawl_host_push_error(L, err);
  return 2;
}

/* core.json_encode(value) -> text | nil, err */
static int core_json_encode(lua_State *L) {
  pawl_error err;
  luaL_checkany(L, 1);
  pawl_buf *out = pawl_host_push_buf(L);
  pawl_code rc = pawl_luajson_encode_around(
      L, 1, "value", pawl_meter_of(L) ? MOST_JSON : 0, out, &err);
  if (rc != PAWL_OK) {
    pawl_toll_vain(L, out);
    return push_failure(L, &err);
  }
  pawl_toll_json(L, pawl_buf_str(out)); /* how much that is shows only now */
  pawl_toll_need(L, out->len);
  lua_pushlstring(L, out->at, out->len);
  pawl_buf_deinit(out);
  return 1;
}

/* core.json_decode(text) -> value | nil, err */
static int core_json_decode(lua_State *L) {
  pawl_error err;
  pawl_str text;
  text.at = luaL_checklstring(L, 1, &text.len);
  if (pawl_meter_of(L) && text.len > MOST_JSON) {
    pawl_fail(&err, PAWL_LIMIT, "the text has more than %d bytes", MOST_JSON);
    return push_failure(L, &err);
  }
  pawl_toll_json(L, text);
  pawl_toll_need(L, 4 * text.len);
  if (pawl_luajson_decode(L, text, &err) != PAWL_OK)
    return push_failure(L, &err);
  return 1;
}

int pawl_host_open_core(lua_State *L) {
  static const luaL_Reg functions[] = {{"array", core_array},
                                       {"version", core_version},
                                       {"json_encode", core_json_encode},
                                       {"json_decode", core_json_decode},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
  lua_pushstring(L, PAWL_VERSION);
  lua_setfield(L, -2, "_VERSION");
  return 1;
}
