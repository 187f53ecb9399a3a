/* What the host keeps in Lua: its table of anchors, and buffers. */
#include <assert.h>
#include <string.h>

#include "host_internal.h"

void pawl_host_push_anchor(const pawl_host *host, lua_State *L, int anchor) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, host);
  lua_rawgeti(L, -1, anchor);
  lua_replace(L, -2);
}

/* Setting a key that is there needs no memory, and so cannot raise. */
void pawl_host_set_anchor(const pawl_host *host, lua_State *L, int anchor) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, host);
  assert(lua_istable(L, -1));
  lua_insert(L, -2);
  lua_rawseti(L, -2, anchor);
  lua_pop(L, 1);
}

/* A buffer that an error does not leak (H2): freed by the collector. */
static int free_box(lua_State *L) {
  pawl_buf_deinit(lua_touserdata(L, 1));
  return 0;
}

pawl_buf *pawl_host_push_buf(lua_State *L) {
  pawl_buf *box = lua_newuserdatauv(L, sizeof *box, 0);
  memset(box, 0, sizeof *box);
  if (luaL_newmetatable(L, "pawl.box")) {
    lua_pushcfunction(L, free_box);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return box;
}

/* A state that is the program's may collect it after the host is gone. */
pawl_buf *pawl_host_push_own_buf(pawl_host *host, lua_State *L) {
  pawl_buf *box = pawl_host_push_buf(L);
  if (host->is_private) box->alloc = &host->alloc;
  return box;
}
