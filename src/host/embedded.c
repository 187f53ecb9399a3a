#include "embedded.h"

#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "pawl_lua.h"

/* A program around us may keep it to itself: then nobody knows the release. */
#pragma weak lua_ident

/* B2: an instruction may mean something else in another release, and nothing
 * in compiled code tells. */
static int is_made_here(const pawl_lua_source *source) {
  return source->code && lua_ident && strstr(lua_ident, source->made_by);
}

/* Bytecode saves the time of compiling, where it is this very release's; the
 * text is right everywhere, so it is what a refusal falls back to. */
void pawl_embedded_load(lua_State *L, const pawl_lua_source *source) {
  const char *chunk = lua_pushfstring(L, "=%s", source->name);
  int status = LUA_ERRSYNTAX;
  if (is_made_here(source))
    status = luaL_loadbufferx(L, source->code, source->code_len, chunk, "b");
  if (status == LUA_ERRSYNTAX)
    status = luaL_loadbufferx(L, source->text, source->len, chunk, "t");
  if (status != LUA_OK) lua_error(L);
}

/* (name) -> what the source returns that is the upvalue */
static int run_source(lua_State *L) {
  const pawl_lua_source *source = lua_touserdata(L, lua_upvalueindex(1));
  pawl_embedded_load(L, source);
  lua_pushstring(L, source->name);
  lua_call(L, 1, 1);
  return 1;
}

static void push_loader(lua_State *L, const pawl_lua_source *source) {
  lua_pushlightuserdata(L, (void *)source); /* only read */
  lua_pushcclosure(L, run_source, 1);
}

/* Each is compiled when it is asked for: a worker needs few of them. */
void pawl_embedded_add(lua_State *L, const pawl_lua_source *sources, int n) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  for (int i = 0; i < n; i++) {
    push_loader(L, &sources[i]);
    lua_setfield(L, -2, sources[i].name);
  }
  lua_pop(L, 1);
}

void pawl_embedded_preload(lua_State *L) {
  pawl_embedded_add(L, pawl_lua_sources, pawl_lua_nsources);
}

void pawl_embedded_run(lua_State *L, const char *module) {
  int i = 0;
  while (i < pawl_lua_nsources &&
         strcmp(pawl_lua_sources[i].name, module) != 0)
    i++;
  if (i == pawl_lua_nsources)
    luaL_error(L, "module '%s' is not in this build", module);
  push_loader(L, &pawl_lua_sources[i]);
  lua_call(L, 0, 1);
}
