/* `require` in a workflow's file and in the modules of its bundle.
 *
 * Modules of the bundle that are loaded, then the bundle's texts, then the
 * state's own `require`. Upvalue 1: the definition's record. */
#include <string.h>

#include "host_internal.h"

void pawl_record_push_field(lua_State *L, int rec, int part, int name) {
  if (lua_rawgeti(L, rec, part) != LUA_TTABLE) return;
  lua_pushvalue(L, name);
  lua_rawget(L, -2);
  lua_remove(L, -2);
}

void pawl_record_set_field(lua_State *L, int rec, int part, int name) {
  lua_rawgeti(L, rec, part);
  lua_pushvalue(L, name);
  lua_pushvalue(L, -3);
  lua_rawset(L, -3);
  lua_pop(L, 2);
}

int pawl_require_push_chunk(lua_State *L, int rec, pawl_str text,
                            const char *chunk) {
  text = pawl_source_lua(text);
  if (luaL_loadbufferx(L, text.at, text.len, chunk, "t") != LUA_OK) return 0;
  lua_rawgeti(L, rec, PAWL_REC_ENV);
  lua_setupvalue(L, -2, 1);
  return 1;
}

/* Its address stands for a module of the bundle while that loads. */
static const char under_way = 0;

/* (name at 1, its text on top, record at 2) -> the module, private to the
 * definition. */
static int require_bundled(lua_State *L) {
  pawl_str text;
  text.at = lua_tolstring(L, -1, &text.len); /* held by the sources */
  const char *chunk = luaL_gsub(L, lua_tostring(L, 1), ".", "/");
  chunk = lua_pushfstring(L, "@%s.lua", chunk);
  if (!pawl_require_push_chunk(L, 2, text, chunk)) return lua_error(L);
  lua_pushlightuserdata(L, (void *)&under_way);
  pawl_record_set_field(L, 2, PAWL_REC_MODULES, 1);
  lua_pushvalue(L, 1);
  int status = lua_pcall(L, 1, 1, 0);
  if (status == LUA_OK && lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_pushboolean(L, 1);
  }
  if (status == LUA_OK)
    lua_pushvalue(L, -1);
  else
    lua_pushnil(L); /* who asks again shall see the error again */
  pawl_record_set_field(L, 2, PAWL_REC_MODULES, 1);
  return status == LUA_OK ? 1 : lua_error(L);
}

void pawl_require_find(lua_State *L, int idx) {
  int path = lua_gettop(L);
  pawl_host_push_package(L);
  if (lua_istable(L, -1) &&
      lua_getfield(L, -1, "searchpath") == LUA_TFUNCTION) {
    lua_pushvalue(L, idx);
    lua_pushvalue(L, path);
    lua_call(L, 2, 1);
  } else {
    lua_pushnil(L);
  }
  lua_replace(L, path);
  lua_settop(L, path);
}

static int is_ours(const char *module) {
  return strncmp(module, "pawl", 4) == 0 &&
         (module[4] == 0 || module[4] == '.');
}

/* Notes a module of the worker's own that the definition uses: name at 1,
 * record at 2. */
static void note_other(lua_State *L) {
  char hex[65];
  int top = lua_gettop(L);
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  if (lua_istable(L, -1)) lua_getfield(L, -1, lua_tostring(L, 1));
  if (lua_isnil(L, -1) && !is_ours(lua_tostring(L, 1))) {
    pawl_host_push_path(L);
    pawl_require_find(L, 1);
    if (lua_isstring(L, -1) && pawl_source_hash(lua_tostring(L, -1), hex)) {
      lua_pushstring(L, hex);
      pawl_record_set_field(L, 2, PAWL_REC_OTHERS, 1);
    }
  }
  lua_settop(L, top);
}

/* Notes a module that is about to be loaded for the first time. */
static void note_fresh(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, lua_tostring(L, 1)) == LUA_TNIL) {
    lua_pushboolean(L, 1);
    pawl_record_set_field(L, 2, PAWL_REC_FRESH, 1);
  }
  lua_pop(L, 2);
}

/* Calls the state's own `require` with the definition's folder leading the
 * path; in a host's state only for as long as that takes. */
static int require_other(lua_State *L) {
  lua_rawgeti(L, 2, PAWL_REC_PRIVATE);
  int is_private = lua_toboolean(L, -1);
  lua_rawgeti(L, 2, PAWL_REC_FOLDER);
  pawl_host_push_path(L); /* 5 */
  if (!is_private && lua_isstring(L, 4) && lua_isstring(L, 5)) {
    lua_pushvalue(L, 5);
    pawl_host_lead_path(L, lua_tostring(L, 4));
    pawl_host_set_path(L);
  }
  lua_getglobal(L, "require");
  lua_pushvalue(L, 1);
  int status = lua_pcall(L, 1, LUA_MULTRET, 0);
  if (!is_private && lua_isstring(L, 5)) {
    lua_pushvalue(L, 5);
    pawl_host_set_path(L);
  }
  if (status != LUA_OK) return lua_error(L);
  return lua_gettop(L) - 5;
}

/* require(name) in a workflow's file and in the modules of its bundle */
static int require(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1)); /* 2 */
  pawl_record_push_field(L, 2, PAWL_REC_MODULES, 1);
  if (lua_touserdata(L, -1) == &under_way)
    return luaL_error(L, "module '%s' requires itself", lua_tostring(L, 1));
  if (!lua_isnil(L, -1)) return 1;
  pawl_record_push_field(L, 2, PAWL_REC_SOURCES, 1);
  if (lua_isstring(L, -1)) return require_bundled(L);
  lua_settop(L, 2);
  if (lua_rawgeti(L, 2, PAWL_REC_OTHERS) == LUA_TTABLE) {
    note_other(L);
    note_fresh(L);
  }
  lua_settop(L, 2);
  return require_other(L);
}

void pawl_require_set_env(lua_State *L, int rec) {
  lua_createtable(L, 0, 1);
  lua_pushvalue(L, rec);
  lua_pushcclosure(L, require, 1);
  lua_setfield(L, -2, "require");
  lua_createtable(L, 0, 2);
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__index");
  lua_setfield(L, -2, "__newindex");
  lua_setmetatable(L, -2);
  lua_rawseti(L, rec, PAWL_REC_ENV);
}
