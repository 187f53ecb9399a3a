/* `require` in a workflow's file and in the modules of its bundle.
 *
 * Modules of the bundle that are loaded, then the bundle's texts, then the
 * state's own `require`. Upvalue 1: the definition's record. */
#include <string.h>

#include "host_internal.h"
#include "limited.h"
#include "toll.h"

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

/* ---- compiling ---- */

enum {
  PIECE = 64, /* bytes that are compiled between two looks at the clock */
  MOST_JUMPS = 5000 /* that may wait for their labels all at once */
};

/* No hook sees the compiler. It walks lists again and again: a chain of
 * `elseif` or of `or`, the locals of all functions around a name. So what it
 * reads is handed out piece by piece, each paid for, and it is stopped where a
 * hook would have. */
static const char *read_piece(lua_State *L, void *ud, size_t *size) {
  pawl_str *left = ud;
  const char *at = left->at;
  *size = left->len < PIECE ? left->len : PIECE;
  left->at += *size;
  left->len -= *size;
  pawl_toll_spend(L, *size);
  pawl_toll_look(L);
  return at;
}

/* A label takes all jumps that wait for it, each out of the list of all that
 * wait: that is one piece, however many they are. */
static int compile_limited(lua_State *L, pawl_str text, const char *chunk) {
  if (pawl_source_count_jumps(text) <= MOST_JUMPS)
    return lua_load(L, read_piece, &text, chunk, "t");
  lua_pushfstring(
      L,
      "%s: there are more than %d `break` and `goto`: make modules "
      "of it",
      chunk + 1, MOST_JUMPS);
  return LUA_ERRSYNTAX;
}

int pawl_require_push_chunk(lua_State *L, int rec, pawl_str text,
                            const char *chunk) {
  text = pawl_source_lua(text);
  int status = pawl_meter_of(L)
                   ? compile_limited(L, text, chunk)
                   : luaL_loadbufferx(L, text.at, text.len, chunk, "t");
  if (status != LUA_OK) return 0;
  lua_rawgeti(L, rec, PAWL_REC_ENV);
  lua_setupvalue(L, -2, 1);
  return 1;
}

/* ---- modules ---- */

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

/* ---- with limits ---- */

/* pawl, as scripts see it. */
static int require_pawl(lua_State *L) {
  static const char key = 0;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &key) == LUA_TTABLE) return 1;
  lua_getglobal(L, "require");
  lua_pushliteral(L, "pawl");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "json");
  pawl_limited_freeze(L);
  lua_setfield(L, -2, "json");
  pawl_limited_freeze(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
  return 1;
}

/* Pushes the module's text, of a file beside the workflow's; where this is a
 * process of its own, the host that it works for has looked. 0: there is
 * none. */
static int push_text_beside(lua_State *L) {
  pawl_error err;
  pawl_host *host = pawl_meter_of(L)->host;
  const char *name = lua_tostring(L, 1);
  if (lua_rawgeti(L, 2, PAWL_REC_OTHERS) != LUA_TTABLE) return 0;
  if (!host->fetch && lua_rawgeti(L, 2, PAWL_REC_FOLDER) != LUA_TSTRING)
    return 0;
  const char *folder = lua_tostring(L, -1); /* held by the record */
  pawl_buf *text = pawl_host_push_buf(L);
  pawl_code rc = host->fetch
                     ? host->fetch(host->fetch_ud, name, text, &err)
                     : pawl_source_read_module(folder, name, text, &err);
  if (rc == PAWL_NOTFOUND) return 0;
  if (rc == PAWL_OK) rc = pawl_buf_check(text, &err);
  if (rc == PAWL_OK) rc = pawl_source_check_size(host, name, text->len, &err);
  if (rc != PAWL_OK) {
    pawl_host_push_error(L, &err);
    return lua_error(L);
  }
  pawl_toll_need(L, text->len);
  lua_pushlstring(L, text->at ? text->at : "", text->len);
  pawl_buf_deinit(text);
  return 1;
}

static int require_limited(lua_State *L) {
  const char *name = lua_tostring(L, 1);
  if (strcmp(name, "pawl") == 0) return require_pawl(L);
  if (!push_text_beside(L))
    return luaL_error(L,
                      "module '%s' is not there: a workflow of limited trust "
                      "has `pawl` and the modules of its own bundle",
                      name);
  lua_replace(L, 3);
  lua_settop(L, 3);
  /* what it used is to be in its bundle, too */
  lua_pushboolean(L, 1);
  pawl_record_set_field(L, 2, PAWL_REC_FRESH, 1);
  return require_bundled(L);
}

/* ---- require ---- */

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
  if (pawl_meter_of(L)) return require_limited(L);
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
  if (pawl_meter_of(L)) { /* what it sets is its own */
    pawl_limited_push_globals(L);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_rawseti(L, rec, PAWL_REC_ENV);
    return;
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__index");
  lua_setfield(L, -2, "__newindex");
  lua_setmetatable(L, -2);
  lua_rawseti(L, rec, PAWL_REC_ENV);
}
