/* ctx.output: what nodes have given, each looked for when it is named. In
 * `undo` it is what the node that is undone gave. */
#include "ctx.h"
#include "toll.h"

enum { OUTPUT_CTX = 1, OUTPUT_KNOWN, OUTPUT_END };

/* Pushes what the node named at idx 2 gave; nil: nothing. */
static void push_stored(lua_State *L, pawl_run *run) {
  pawl_error err;
  pawl_str node;
  pawl_buf *out = pawl_ctx_push_buf(L, run);
  node.at = lua_tolstring(L, 2, &node.len);
  pawl_toll_spend(L, PAWL_CTX_ASK_COST);
  pawl_ctx_check_service(L, run, "output");
  run->host->serving = 1;
  pawl_code rc = run->call->services->output(run->call, node, out, &err);
  run->host->serving = 0;
  if (rc != PAWL_OK || pawl_buf_check(out, &err) != PAWL_OK)
    pawl_ctx_raise(L, &err);
  if (out->len)
    pawl_ctx_push_decoded(L, pawl_buf_str(out));
  else
    lua_pushnil(L);
  pawl_buf_deinit(out);
  lua_replace(L, -2);
}

/* One that was found is not looked for again. */
static int output_index(lua_State *L) {
  pawl_run *run = pawl_ctx_child_run(L);
  if (lua_type(L, 2) != LUA_TSTRING)
    return pawl_ctx_raise_text(L, PAWL_MISUSE, "ctx.output.charge",
                               "ctx.output has outputs by the names of nodes");
  lua_settop(L, 2);
  if (lua_getiuservalue(L, 1, OUTPUT_KNOWN) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
    pawl_ctx_keep_made(L, OUTPUT_KNOWN);
  }
  lua_pushvalue(L, 2);
  if (lua_rawget(L, 3) != LUA_TNIL) return 1;
  push_stored(L, run);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, -2);
  lua_rawset(L, 3);
  return 1;
}

static int output_newindex(lua_State *L) {
  pawl_ctx_child_run(L);
  return pawl_ctx_raise_text(L, PAWL_MISUSE,
                             "a step's output is what its `run` returns",
                             "ctx.output cannot be changed");
}

void pawl_ctx_push_outputs(lua_State *L, pawl_run *run) {
  pawl_ctx_push_child(L, run, PAWL_ANCHOR_OUTPUT, OUTPUT_END - 1);
}

void pawl_ctx_open_output(pawl_host *host, lua_State *L) {
  pawl_ctx_begin_metatable(L, "pawl.output");
  pawl_ctx_set_method(L, "__index", output_index, 0);
  pawl_ctx_set_method(L, "__newindex", output_newindex, 0);
  pawl_host_set_anchor(host, L, PAWL_ANCHOR_OUTPUT);
}
