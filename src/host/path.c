/* package.path, which follows the definition that runs. */
#include <string.h>

#include <lualib.h>

#include "host_internal.h"

/* As `require` finds it: a script may have given the global `package` another
 * meaning. */
void pawl_host_push_package(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, LUA_LOADLIBNAME);
  lua_remove(L, -2);
}

void pawl_host_push_path(lua_State *L) {
  pawl_host_push_package(L);
  if (lua_istable(L, -1))
    lua_getfield(L, -1, "path");
  else
    lua_pushnil(L);
  lua_remove(L, -2);
}

void pawl_host_set_path(lua_State *L) {
  pawl_host_push_package(L);
  lua_insert(L, -2);
  if (lua_istable(L, -2))
    lua_setfield(L, -2, "path");
  else
    lua_pop(L, 1);
  lua_pop(L, 1);
}

/* A path that the folder leads already stays as it is, or it would grow with
 * each definition that comes by. */
void pawl_host_lead_path(lua_State *L, const char *folder) {
  const char *path = lua_tostring(L, -1);
  lua_pushfstring(L, "%s/?.lua;%s/?/init.lua;", folder, folder);
  if (path && strncmp(path, lua_tostring(L, -1), lua_rawlen(L, -1)) != 0)
    lua_pushfstring(L, "%s%s", lua_tostring(L, -1), path);
  else
    lua_pushvalue(L, path ? -2 : -1);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

/* In a private state handlers may require a module at any time, so the path
 * follows the definition that runs. */
void pawl_host_use_folder(pawl_host *host, lua_State *L, int ref) {
  if (!host->is_private || host->meter || host->path_ref == ref) return;
  pawl_host_push_anchor(host, L, PAWL_ANCHOR_DEFS + ref);
  if (lua_istable(L, -1))
    lua_rawgeti(L, -1, PAWL_REC_FOLDER);
  else
    lua_pushnil(L);
  pawl_host_push_anchor(host, L, PAWL_ANCHOR_PATH);
  if (lua_isstring(L, -2)) pawl_host_lead_path(L, lua_tostring(L, -2));
  pawl_host_set_path(L);
  lua_pop(L, 2);
  host->path_ref = ref;
}
