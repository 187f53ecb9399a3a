/* What a handler is given: ctx, ctx.token.
 *
 * All of them are userdata, so that every access comes through here: what is
 * not asked for is not made, a misspelt name is an error, and a ctx kept
 * beyond its handler is noticed (H3). What is made is kept in the userdata's
 * user values. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../value/luajson.h"
#include "ctx.h"
#include "toll.h"

static int raise_fixed(lua_State *L, const char *of, const char *hint) {
  return pawl_ctx_raise_text(L, PAWL_MISUSE, hint, "%s.%s cannot be set", of,
                             lua_tostring(L, 2));
}

/* ---- ctx.token ---- */

enum { TOKEN_CTX = 1, TOKEN_DATA, TOKEN_END };

static const char *const TOKEN_NAMES[] = {"branch", "data", "no"};

static pawl_str given_data(const pawl_call *call) {
  return call->data.len ? call->data : pawl_strz("{}");
}

/* Index into TOKEN_NAMES of the field named at idx 2; raises. */
static int check_token_field(lua_State *L) {
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  for (int i = 0; i < 3; i++)
    if (strcmp(name, TOKEN_NAMES[i]) == 0) return i;
  return pawl_ctx_raise_unknown(L, 2, "ctx.token", TOKEN_NAMES, 3);
}

static int token_index(lua_State *L) {
  pawl_run *run = pawl_ctx_child_run(L);
  switch (check_token_field(L)) {
    case 0:
      lua_pushstring(L, run->call->branch); /* NULL: nil */
      break;
    case 1:
      /* made when it is asked for: most handlers never do */
      if (lua_getiuservalue(L, 1, TOKEN_DATA) != LUA_TNIL) break;
      pawl_ctx_push_decoded(L, given_data(run->call));
      pawl_ctx_keep_made(L, TOKEN_DATA);
      break;
    default:
      lua_pushinteger(L, run->call->token);
      break;
  }
  return 1;
}

static int token_newindex(lua_State *L) {
  const pawl_run *run = pawl_ctx_child_run(L);
  if (check_token_field(L) != 1)
    return raise_fixed(L, "ctx.token",
                       "what the token is to keep goes into ctx.token.data");
  pawl_ctx_check_table(L, "token.data");
  pawl_ctx_check_time(L, run, "token.data");
  lua_settop(L, 3);
  lua_setiuservalue(L, 1, TOKEN_DATA);
  return 0;
}

static int ctx_token(lua_State *L, pawl_run *run) {
  pawl_ctx_push_child(L, run, PAWL_ANCHOR_TOKEN, TOKEN_END - 1);
  return 1;
}

/* ---- what can be read ---- */

static void push_str(lua_State *L, pawl_str s) {
  if (s.at)
    lua_pushlstring(L, s.at, s.len);
  else
    lua_pushnil(L);
}

/* JSON, or nothing for nil */
static void push_value(lua_State *L, pawl_str text) {
  if (text.len)
    pawl_ctx_push_decoded(L, text);
  else
    lua_pushnil(L);
}

#define READS(name, push)                              \
  static int ctx_##name(lua_State *L, pawl_run *run) { \
    const pawl_call *call = run->call;                 \
    push;                                              \
    return 1;                                          \
  }
READS(attempt, lua_pushinteger(L, call->attempt))
READS(correlation, push_str(L, call->correlation))
READS(error, push_value(L, call->error))
READS(event, push_value(L, call->event))
READS(executor, push_str(L, call->executor))
READS(group, push_str(L, call->group))
READS(id, lua_pushstring(L, call->id))
READS(input, push_value(L, call->input))
READS(node, lua_pushstring(L, call->node))
READS(parent, push_str(L, call->parent))
READS(tenant, push_str(L, call->tenant))
READS(vars, pawl_ctx_push_decoded(L, call->vars))
READS(version, lua_pushinteger(L, call->version))
READS(workflow, lua_pushstring(L, call->workflow))

static int ctx_output(lua_State *L, pawl_run *run) {
  if (run->call->handler == PAWL_HANDLER_UNDO)
    push_value(L, run->call->output);
  else
    pawl_ctx_push_outputs(L, run);
  return 1;
}

static int ctx_attrs(lua_State *L, pawl_run *run) {
  return pawl_ctx_push_attrs(L, run);
}

/* ---- ctx ---- */

/* X(name, kind): those that stand here. */
/* clang-format off */
#define READABLE(X)                                                         \
  X(attempt, FIELD)                                                         \
  X(attrs, VALUE)                                                           \
  X(correlation, FIELD)                                                     \
  X(error, VALUE)                                                           \
  X(event, VALUE)                                                           \
  X(executor, FIELD)                                                        \
  X(group, FIELD)                                                           \
  X(id, FIELD)                                                              \
  X(input, VALUE)                                                           \
  X(node, FIELD)                                                            \
  X(output, VALUE)                                                          \
  X(parent, FIELD)                                                          \
  X(tenant, FIELD)                                                          \
  X(token, VALUE)                                                           \
  X(vars, VALUE)                                                            \
  X(version, FIELD)                                                         \
  X(workflow, FIELD)
/* clang-format on */

#define CTX_NUMBER(name, kind) CTX_##name,
#define CTX_MEMBER(name, kind) \
  {#name, PAWL_CTX_##kind, PAWL_CTX_ANYTIME, "", ctx_##name},

/* A member's number is its place in all lists, from 1 on. It is also that of
 * the user value that keeps it. */
enum { CTX_NONE, READABLE(CTX_NUMBER) CTX_OTHERS };
static const pawl_ctx_member readable[] = {READABLE(CTX_MEMBER){NULL}};

static const pawl_ctx_member *const lists[] = {readable, pawl_ctx_awaiting,
                                               pawl_ctx_effects, pawl_ctx_lent,
                                               pawl_ctx_services};
enum { NLISTS = sizeof lists / sizeof lists[0], MOST_MEMBERS = 64 };

/* All of them into all[]; how many. */
static int list_members(const pawl_ctx_member *all[MOST_MEMBERS]) {
  int n = 0;
  for (int i = 0; i < NLISTS; i++)
    for (const pawl_ctx_member *m = lists[i]; m->name; m++) {
      assert(n < MOST_MEMBERS);
      all[n++] = m;
    }
  return n;
}

static const pawl_ctx_member *member_of(int number) {
  const pawl_ctx_member *const *list = &lists[1];
  const pawl_ctx_member *m = *list;
  assert(number > CTX_NONE);
  if (number < CTX_OTHERS) return &readable[number - 1];
  for (number -= CTX_OTHERS; number > 0; number--)
    if (!(++m)->name) m = *++list;
  return m;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int raise_unknown(lua_State *L) {
  const pawl_ctx_member *all[MOST_MEMBERS];
  const char *names[MOST_MEMBERS];
  int n = list_members(all);
  for (int i = 0; i < n; i++) names[i] = all[i]->name;
  qsort(names, (size_t)n, sizeof names[0], by_name);
  return pawl_ctx_raise_unknown(L, 2, "ctx", names, n);
}

/* `ctx:log(...)` passes the ctx for the first argument, which only what takes
 * none does not notice. */
static void check_dot(lua_State *L, const pawl_ctx_member *m) {
  if (lua_touserdata(L, 1) &&
      lua_touserdata(L, 1) == lua_touserdata(L, lua_upvalueindex(1)) &&
      !strstr(m->shape, "()"))
    pawl_ctx_raise_text(L, PAWL_MISUSE, m->shape,
                        "ctx.%s is called with a dot, not a colon", m->name);
}

/* (upvalues: the ctx, the member) */
static int call_member(lua_State *L) {
  pawl_run *run = pawl_ctx_upvalue_run(L);
  const pawl_ctx_member *m = lua_touserdata(L, lua_upvalueindex(2));
  check_dot(L, m);
  pawl_toll_spend(L, PAWL_CTX_CALL_COST);
  switch (m->when) {
    case PAWL_CTX_ANYTIME:
      break;
    case PAWL_CTX_ASKS:
      pawl_toll_spend(L, PAWL_CTX_ASK_COST);
      pawl_ctx_check_service(L, run, m->name);
      break;
    case PAWL_CTX_ACTS:
      pawl_ctx_check_time(L, run, m->name);
      pawl_ctx_check_acts(L, run, m->name,
                          "only the `run` of a step and `undo` may");
      break;
    case PAWL_CTX_WAITS:
      pawl_ctx_check_acts(L, run, m->name,
                          "only the `run` of a step and `undo` may wait");
      break;
  }
  return m->function(L, run);
}

/* The number of the member named at idx 2 (upvalue 2 is { name = number });
 * raises. */
static int check_member(lua_State *L) {
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(2));
  int number = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return number ? number : raise_unknown(L);
}

static int ctx_index(lua_State *L) {
  pawl_ctx_check_self(L);
  pawl_run *run = pawl_ctx_alive(L, lua_touserdata(L, 1));
  int number = check_member(L);
  const pawl_ctx_member *m = member_of(number);
  if (m->kind == PAWL_CTX_FIELD) return m->function(L, run);
  if (lua_getiuservalue(L, 1, number) != LUA_TNIL) return 1;
  if (m->kind == PAWL_CTX_VALUE) {
    m->function(L, run);
  } else {
    lua_pushvalue(L, 1);
    lua_pushlightuserdata(L, (void *)m);
    lua_pushcclosure(L, call_member, 2);
  }
  pawl_ctx_keep_made(L, number);
  return 1;
}

/* Whatever else is assigned would be lost without a word, so it is refused. */
static int ctx_newindex(lua_State *L) {
  pawl_ctx_check_self(L);
  const pawl_run *run = pawl_ctx_alive(L, lua_touserdata(L, 1));
  if (check_member(L) != CTX_vars)
    return raise_fixed(L, "ctx", "what is to be kept goes into ctx.vars");
  pawl_ctx_check_table(L, "vars");
  pawl_ctx_check_time(L, run, "vars");
  lua_settop(L, 3);
  lua_setiuservalue(L, 1, CTX_vars);
  return 0;
}

/* Also of one that has ended: who prints it may be after just that. */
static int ctx_tostring(lua_State *L) {
  pawl_ctx_check_self(L);
  pawl_ctx *ctx = lua_touserdata(L, 1);
  if (ctx->run)
    lua_pushfstring(L, "pawl.ctx: %s, node %s", ctx->run->call->id,
                    ctx->run->call->node);
  else
    lua_pushliteral(L, "pawl.ctx: ended");
  return 1;
}

/* ---- for run.c and host.c ---- */

void pawl_ctx_push(pawl_run *run, lua_State *L) {
  pawl_ctx *ctx = lua_newuserdatauv(L, sizeof *ctx, run->host->ctx_members);
  ctx->run = run;
  ctx->is_cut = 0;
  run->ctx = ctx;
  pawl_host_push_anchor(run->host, L, PAWL_ANCHOR_CTX);
  lua_setmetatable(L, -2);
}

void pawl_ctx_cut(pawl_ctx *ctx) {
  if (ctx) ctx->is_cut = 1;
  pawl_ctx_end(ctx);
}

void pawl_ctx_end(pawl_ctx *ctx) {
  if (ctx) ctx->run = NULL;
}

pawl_code pawl_ctx_push_event(pawl_run *run, lua_State *L, int idx) {
  if (!run->call->event.len) {
    lua_pushnil(L);
    return PAWL_OK;
  }
  idx = lua_absindex(L, idx);
  MUST(pawl_ctx_decode_stored(L, run->call->event, run->caught.err));
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, idx, CTX_event);
  return PAWL_OK;
}

pawl_code pawl_ctx_push_output(const pawl_run *run, lua_State *L) {
  return pawl_ctx_decode_stored(L, run->call->output, run->caught.err);
}

/* A table of the handler's that is written back when it changed. */
typedef struct kept {
  const char *path; /* "token.data" */
  pawl_str before;  /* as it was given */
  pawl_buf *after;
  int *changed;
} kept;

/* Was the object changed, or is it only written in another way? */
static pawl_code is_changed(pawl_run *run, lua_State *L, const kept *k,
                            int *out) {
  pawl_buf *before = &run->before;
  MUST(pawl_ctx_decode_stored(L, k->before, run->caught.err));
  pawl_buf_clear(before);
  pawl_code rc =
      pawl_luajson_encode(L, -1, k->path, 0, before, run->caught.err);
  lua_pop(L, 1);
  *out = !pawl_str_eq(pawl_buf_str(before), pawl_buf_str(k->after));
  return rc;
}

/* The text of *k differs from what was given. */
static pawl_code accept_kept(pawl_run *run, lua_State *L, const kept *k) {
  pawl_code rc;
  pawl_error *err = run->caught.err;
  int changed = 0;
  if (k->after->at[0] != '{') {
    rc = pawl_fail(err, PAWL_VALUE, "ctx.%s is a list", k->path);
    pawl_error_hint(err, "what it holds has names: ctx.%s.items = { ... }",
                    k->path);
    pawl_error_where(err, "%s", k->path);
    return rc;
  }
  *k->changed = 1;
  if (!pawl_handler_is_pure(run->call->handler)) return PAWL_OK;
  rc = is_changed(run, L, k, &changed);
  if (rc != PAWL_OK || !changed) {
    *k->changed = 0;
    return rc;
  }
  rc = pawl_fail_hint(err, PAWL_VALUE,
                      "only a step may: move it to the `run` of one",
                      "`%s` of node \"%s\" changed ctx.%s", run->says,
                      run->call->node, k->path);
  pawl_error_where(err, "%s", k->path);
  return rc;
}

/* Pops the table; nil: the handler never asked for it. */
static pawl_code take_kept(pawl_run *run, lua_State *L, const kept *k) {
  pawl_error *err = run->caught.err;
  pawl_code rc = PAWL_OK;
  if (!lua_isnil(L, -1)) {
    rc = pawl_luajson_encode(L, -1, k->path, run->host->max_bytes, k->after,
                             err);
    if (rc == PAWL_OK && !pawl_str_eq(pawl_buf_str(k->after), k->before))
      rc = accept_kept(run, L, k);
    if (!*k->changed) pawl_buf_clear(k->after);
  }
  lua_pop(L, 1);
  return rc;
}

static pawl_code take_vars(pawl_run *run, lua_State *L, int idx) {
  kept k = {"vars", run->call->vars, &run->result->vars,
            &run->result->vars_changed};
  lua_getiuservalue(L, idx, CTX_vars);
  return take_kept(run, L, &k);
}

static pawl_code take_data(pawl_run *run, lua_State *L, int idx) {
  kept k = {"token.data", given_data(run->call), &run->result->data,
            &run->result->data_changed};
  pawl_code rc = PAWL_OK;
  if (lua_getiuservalue(L, idx, CTX_token) == LUA_TUSERDATA) {
    lua_getiuservalue(L, -1, TOKEN_DATA);
    rc = take_kept(run, L, &k);
  }
  lua_pop(L, 1);
  return rc;
}

pawl_code pawl_ctx_take(pawl_run *run, lua_State *L, int idx) {
  assert(run->is_over); /* H5 */
  MUST(take_vars(run, L, idx));
  MUST(take_data(run, L, idx));
  lua_getiuservalue(L, idx, CTX_attrs);
  MUST(pawl_ctx_take_attrs(run, L));
  return pawl_said_close(run->result, run->caught.err);
}

/* { name = number }, for upvalue 2: a name is found by one look-up, however
 * many members there are. */
static void push_fields(lua_State *L) {
  const pawl_ctx_member *all[MOST_MEMBERS];
  int n = list_members(all);
  lua_createtable(L, 0, n);
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, i + 1);
    lua_setfield(L, -2, all[i]->name);
  }
}

static int number_of(const pawl_ctx_member *const *all, int n,
                     const char *name) {
  int at = 0;
  while (at < n && strcmp(all[at]->name, name) != 0) at++;
  assert(at < n);
  return at + 1;
}

void pawl_ctx_open(pawl_host *host, lua_State *L) {
  const pawl_ctx_member *all[MOST_MEMBERS];
  host->ctx_members = list_members(all);
  host->ctx_progress = number_of(all, host->ctx_members, "progress");
  pawl_ctx_begin_metatable(L, "pawl.ctx");
  push_fields(L);
  pawl_ctx_set_method(L, "__index", ctx_index, 1);
  push_fields(L);
  pawl_ctx_set_method(L, "__newindex", ctx_newindex, 1);
  pawl_ctx_set_method(L, "__tostring", ctx_tostring, 0);
  pawl_host_set_anchor(host, L, PAWL_ANCHOR_CTX);

  pawl_ctx_open_attrs(host, L);
  pawl_ctx_open_db(host, L);
  pawl_ctx_open_host(host, L);
  pawl_ctx_open_output(host, L);

  pawl_ctx_begin_metatable(L, "pawl.token");
  pawl_ctx_set_method(L, "__index", token_index, 0);
  pawl_ctx_set_method(L, "__newindex", token_newindex, 0);
  pawl_host_set_anchor(host, L, PAWL_ANCHOR_TOKEN);
}
