/* What every member of ctx asks first: which run it is for, and whether it may
 * now; and what all of them are made with. */
#include <string.h>

#include "../base/nearest.h"
#include "../value/luajson.h"
#include "ctx.h"
#include "toll.h"

/* ---- errors ---- */

/* Level 1 is who called the member: that line is the one to be mended. */
int pawl_ctx_raise(lua_State *L, pawl_error *err) {
  if (!err->where[0]) pawl_host_where(L, 1, err->where, sizeof err->where);
  pawl_host_push_error(L, err);
  return lua_error(L);
}

/* Nothing is held while it raises (H2): a Lua error jumps over C frames. */
int pawl_ctx_raise_text(lua_State *L, pawl_code code, const char *hint,
                        const char *fmt, ...) {
  pawl_error err;
  va_list args;
  va_start(args, fmt);
  pawl_vfail(&err, code, hint, fmt, args);
  va_end(args);
  return pawl_ctx_raise(L, &err);
}

int pawl_ctx_raise_unknown(lua_State *L, int idx, const char *what,
                           const char *const *names, int n) {
  pawl_error err;
  const char *name = luaL_tolstring(L, idx, NULL), *near;
  char known[sizeof err.hint] = "known:";
  pawl_fail(&err, PAWL_MISUSE, "%s has no field '%s'", what, name);
  near = pawl_nearest(name, names, n);
  if (near) {
    pawl_error_hint(&err, "did you mean '%s'?", near);
  } else {
    for (int i = 0; i < n; i++) {
      strncat(known, i ? ", " : " ", sizeof known - strlen(known) - 1);
      strncat(known, names[i], sizeof known - strlen(known) - 1);
    }
    pawl_error_hint(&err, "%s", known);
  }
  return pawl_ctx_raise(L, &err);
}

void pawl_ctx_check_granted(lua_State *L, const pawl_run *run,
                            const char *what, const char *may, const char *of,
                            int is_granted) {
  if (is_granted) return;
  if (of) may = lua_pushfstring(L, "%s = \"%s\"", may, of);
  pawl_ctx_raise_text(L, PAWL_LIMIT,
                      may ? lua_pushfstring(L,
                                            "who runs it may grant that, "
                                            "by its trust: may.%s",
                                            may)
                          : "it is the program's alone",
                      "ctx.%s is not granted to workflow %s: its trust is "
                      "limited",
                      what, run->call->workflow);
}

void pawl_ctx_check_table(lua_State *L, const char *what) {
  pawl_error err;
  if (lua_istable(L, 3)) return;
  pawl_fail(&err, PAWL_VALUE, "ctx.%s must be a table, not a %s", what,
            luaL_typename(L, 3));
  pawl_error_hint(&err, "to empty it: ctx.%s = {}", what);
  pawl_error_where(&err, "%s", what);
  pawl_ctx_raise(L, &err);
}

/* ---- the run behind a ctx ---- */

pawl_run *pawl_ctx_alive(lua_State *L, const pawl_ctx *ctx) {
  if (!ctx->run)
    pawl_ctx_raise_text(
        L, PAWL_MISUSE, "copy what is needed later out of ctx",
        ctx->is_cut ? "ctx was used after its handler had been ended where it "
                      "waited, as its to-be-closed variables are"
                    : "ctx was used after its handler had ended");
  return ctx->run;
}

pawl_run *pawl_ctx_upvalue_run(lua_State *L) {
  return pawl_ctx_alive(L, lua_touserdata(L, lua_upvalueindex(1)));
}

/* By the metatable itself, not by a name in the registry, which a script
 * could give to a value of its own. */
int pawl_ctx_is_self(lua_State *L) {
  if (!lua_getmetatable(L, 1)) return 0;
  int same = lua_rawequal(L, -1, lua_upvalueindex(1));
  lua_pop(L, 1);
  return same;
}

void pawl_ctx_check_self(lua_State *L) {
  if (!pawl_ctx_is_self(L))
    luaL_error(L, "not the object this function belongs to");
}

pawl_run *pawl_ctx_child_run(lua_State *L) {
  pawl_ctx_check_self(L);
  lua_getiuservalue(L, 1, 1);
  pawl_ctx *ctx = lua_touserdata(L, -1);
  lua_pop(L, 1); /* held by the child */
  return pawl_ctx_alive(L, ctx);
}

pawl_buf *pawl_ctx_push_buf(lua_State *L, const pawl_run *run) {
  return pawl_host_push_own_buf(run->host, L);
}

void pawl_ctx_add_value(lua_State *L, const pawl_run *run, int idx,
                        const char *path, const char *otherwise,
                        pawl_buf *out) {
  pawl_error err;
  if (lua_isnil(L, idx))
    pawl_buf_addz(out, otherwise);
  else if (pawl_luajson_encode(L, idx, path, run->host->max_bytes, out,
                               &err) != PAWL_OK) {
    pawl_toll_vain(L, out);
    pawl_ctx_raise(L, &err);
  }
}

pawl_buf *pawl_ctx_push_encoded(lua_State *L, const pawl_run *run, int idx,
                                const char *path) {
  idx = lua_absindex(L, idx);
  pawl_buf *out = pawl_ctx_push_buf(L, run);
  pawl_ctx_add_value(L, run, idx, path, "null", out);
  return out;
}

void pawl_ctx_keep_made(lua_State *L, int at) {
  if (lua_getiuservalue(L, 1, at) != LUA_TNIL) {
    lua_replace(L, -2);
    return;
  }
  lua_pop(L, 1);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, at);
}

void pawl_ctx_check_service(lua_State *L, const pawl_run *run,
                            const char *what) {
  const pawl_host *host = run->host;
  if (host->run && !host->serving) return;
  pawl_ctx_raise_text(
      L, PAWL_MISUSE,
      "ask in the handler itself, not in a finalizer or a callback",
      host->run ? "ctx.%s was called in the midst of another call of ctx"
                : "ctx.%s was called while no handler runs",
      what);
}

void pawl_ctx_check_time(lua_State *L, const pawl_run *run, const char *what) {
  if (run->is_over)
    pawl_ctx_raise_text(L, PAWL_MISUSE,
                        "do it before `return`: what runs later, as a "
                        "finalizer does, is too late",
                        "ctx.%s came after the handler had returned", what);
}

pawl_code pawl_ctx_decode_stored(lua_State *L, pawl_str text,
                                 pawl_error *err) {
  pawl_error why;
  pawl_code rc = pawl_luajson_decode(L, text, &why);
  if (rc == PAWL_OK) return rc;
  if (rc == PAWL_NOMEM) return pawl_fail(err, rc, "%s", why.message);
  return pawl_fail_hint(
      err, PAWL_CORRUPT,
      "somebody else has written to the store, or the disk is failing",
      "the store holds damaged JSON: %s", why.message);
}

void pawl_ctx_push_decoded(lua_State *L, pawl_str text) {
  pawl_error err;
  if (pawl_ctx_decode_stored(L, text, &err) != PAWL_OK)
    pawl_ctx_raise(L, &err);
}

void pawl_ctx_check_acts(lua_State *L, const pawl_run *run, const char *what,
                         const char *hint) {
  if (pawl_handler_is_pure(run->call->handler))
    pawl_ctx_raise_text(L, PAWL_MISUSE, hint,
                        "`%s` of node \"%s\" called ctx.%s", run->says,
                        run->call->node, what);
}

/* It holds the ctx, not the run: when the handler has ended the ctx says so,
 * for its children too (H3). */
void pawl_ctx_push_child(lua_State *L, pawl_run *run, int anchor,
                         int nvalues) {
  lua_newuserdatauv(L, 0, nvalues);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  pawl_host_push_anchor(run->host, L, anchor);
  lua_setmetatable(L, -2);
}

/* `__metatable` keeps getmetatable from handing out our functions. */
void pawl_ctx_begin_metatable(lua_State *L, const char *name) {
  lua_createtable(L, 0, 5);
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
}

void pawl_ctx_set_method(lua_State *L, const char *name, lua_CFunction f,
                         int nextra) {
  lua_pushvalue(L, -1 - nextra);
  if (nextra) lua_insert(L, -2);
  lua_pushcclosure(L, f, 1 + nextra);
  lua_setfield(L, -2, name);
}
