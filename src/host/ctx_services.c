/* What ctx asks of whom runs the handler, while it runs: time, log, heartbeat,
 * whether it is to end, and SQL. */
#include <stdio.h>
#include <string.h>

#include "../base/nearest.h"
#include "ctx.h"
#include "toll.h"

/* ---- ctx.now, ctx.log and the like ---- */

/* ctx.now() -> seconds since 1970, by the store's clock */
static int ctx_now(lua_State *L, pawl_run *run) {
  int64_t us = run->call->services->now(run->call);
  lua_pushnumber(L, (lua_Number)us / 1e6);
  return 1;
}

static int check_level(lua_State *L, int idx) {
  static const char *const NAMES[] = {"debug", "info", "warn", "error"};
  static const int LEVELS[] = {PAWL_DEBUG, PAWL_INFO, PAWL_WARN, PAWL_ERROR};
  pawl_error err;
  const char *name = luaL_checkstring(L, idx), *near;
  for (int i = 0; i < 4; i++)
    if (strcmp(name, NAMES[i]) == 0) return LEVELS[i];
  pawl_fail(&err, PAWL_MISUSE, "ctx.log has no level '%s'", name);
  if (lua_isnone(L, idx + 1)) { /* it is the message */
    pawl_error_hint(&err, "the level comes first: ctx.log(\"info\", ...)");
    return pawl_ctx_raise(L, &err);
  }
  near = pawl_nearest(name, NAMES, 4);
  pawl_error_hint(
      &err, near ? "did you mean '%s'?" : "debug, info, warn, error", near);
  return pawl_ctx_raise(L, &err);
}

/* Within limits a line has an end. */
static const char *check_message(lua_State *L, const pawl_run *run, int idx) {
  pawl_error err;
  size_t len;
  const char *message = luaL_checklstring(L, idx, &len);
  if (!run->host->meter || len <= PAWL_MAX_LINE) return message;
  pawl_fail_hint(&err, PAWL_VALUE, "its fields may have more",
                 "ctx.log: the message has %zu bytes, %d are the most", len,
                 PAWL_MAX_LINE);
  pawl_ctx_raise(L, &err);
  return NULL;
}

/* ctx.log(level, message, fields?) */
static int ctx_log(lua_State *L, pawl_run *run) {
  pawl_buf *fields = NULL;
  int level = check_level(L, 1);
  const char *message = check_message(L, run, 2);
  pawl_toll_effect(L);
  if (!lua_isnoneornil(L, 3)) {
    luaL_checktype(L, 3, LUA_TTABLE);
    fields = pawl_ctx_push_encoded(L, run, 3, "fields");
    luaL_argcheck(L, fields->at[0] == '{', 3, "fields have names");
  }
  run->call->services->log(run->call, level, message,
                           fields ? fields->at : "{}");
  if (fields) pawl_buf_deinit(fields);
  return 0;
}

/* ctx.heartbeat(progress?) -> is the instance to end? Keeps the lease; raises
 * when that is lost. */
static int ctx_heartbeat(lua_State *L, pawl_run *run) {
  pawl_error err;
  pawl_buf *progress = NULL;
  pawl_str text = {NULL, 0};
  int cancelled = 0;
  if (!lua_isnoneornil(L, 1))
    progress = pawl_ctx_push_encoded(L, run, 1, "progress");
  if (progress) text = pawl_buf_str(progress);
  run->host->serving = 1;
  pawl_code rc =
      run->call->services->heartbeat(run->call, text, &cancelled, &err);
  run->host->serving = 0;
  if (rc != PAWL_OK) return pawl_ctx_raise(L, &err);
  if (progress) {
    pawl_ctx_push_decoded(L, text);
    lua_setiuservalue(L, lua_upvalueindex(1), run->host->ctx_progress);
    pawl_buf_deinit(progress);
  }
  lua_pushboolean(L, cancelled);
  return 1;
}

/* ctx.cancelled() -> boolean */
static int ctx_cancelled(lua_State *L, pawl_run *run) {
  pawl_error err;
  int yes = 0;
  run->host->serving = 1;
  pawl_code rc = run->call->services->cancelled(run->call, &yes, &err);
  run->host->serving = 0;
  if (rc != PAWL_OK) return pawl_ctx_raise(L, &err);
  lua_pushboolean(L, yes);
  return 1;
}

/* ctx.idempotency_key() -> "id/token/visit", the same for every attempt */
static int ctx_idempotency_key(lua_State *L, pawl_run *run) {
  const pawl_call *call = run->call;
  lua_pushfstring(L, "%s/%I/%I", call->id, (LUAI_UACINT)call->token,
                  (LUAI_UACINT)call->visit);
  return 1;
}

/* ctx.callback(event) -> a token: who gives it to engine:complete sends this
 * instance that event */
static int ctx_callback(lua_State *L, pawl_run *run) {
  static const char HINT[] = "ctx.callback(\"payment.received\")";
  pawl_error err;
  pawl_str event;
  if (lua_type(L, 1) != LUA_TSTRING)
    return pawl_ctx_raise_text(L, PAWL_MISUSE, HINT,
                               "ctx.callback: the event is a %s, not a name",
                               luaL_typename(L, 1));
  event.at = lua_tolstring(L, 1, &event.len);
  pawl_buf *token = pawl_ctx_push_buf(L, run);
  run->host->serving = 1;
  pawl_code rc = run->call->services->callback(run->call, event, token, &err);
  run->host->serving = 0;
  if (rc != PAWL_OK || pawl_buf_check(token, &err) != PAWL_OK)
    return pawl_ctx_raise(L, &err);
  lua_pushlstring(L, token->at, token->len);
  pawl_buf_deinit(token);
  return 1;
}

static int ctx_visit(lua_State *L, pawl_run *run) {
  const pawl_call *call = run->call;
  pawl_error err;
  int64_t n;
  if (call->services->visits(call, &n, &err) != PAWL_OK)
    return pawl_ctx_raise(L, &err);
  lua_pushinteger(L, n);
  return 1;
}

/* ctx.progress: what an earlier attempt gave to ctx.heartbeat last; nil. What
 * this one gives stands in its place from then on. */
static int ctx_progress(lua_State *L, pawl_run *run) {
  pawl_error err;
  pawl_buf *text;
  pawl_ctx_check_service(L, run, "progress");
  text = pawl_ctx_push_buf(L, run);
  run->host->serving = 1;
  const pawl_code rc = run->call->services->progress(run->call, text, &err);
  run->host->serving = 0;
  if (rc != PAWL_OK) return pawl_ctx_raise(L, &err);
  if (text->len)
    pawl_ctx_push_decoded(L, pawl_buf_str(text));
  else
    lua_pushnil(L);
  pawl_buf_deinit(text);
  return 1;
}

/* ---- ctx.db ---- */

static const char *const DB_NAMES[] = {"query"};

/* Parameter idx as JSON into out; raises. */
static void add_param(lua_State *L, pawl_run *run, int idx, pawl_buf *out) {
  pawl_error err;
  char path[32] = "parameter ";
  const char *type;
  snprintf(path, sizeof path, "parameter %d", idx - 2);
  if (lua_istable(L, idx) && luaL_getmetafield(L, idx, "__name") != LUA_TNIL) {
    type = lua_tostring(L, -1);
    if (type && strcmp(type, "pawl.typed") == 0) {
      lua_getfield(L, idx, "value");
      lua_replace(L, idx);
    }
    lua_pop(L, 1);
  }
  if (lua_istable(L, idx)) {
    pawl_fail_hint(&err, PAWL_VALUE, "give its parts, or its text as JSON",
                   "a table cannot be a parameter of a query");
    pawl_error_where(&err, "%s", path);
    pawl_ctx_raise(L, &err);
  }
  pawl_ctx_add_value(L, run, idx, path, "null", out);
}

/* ctx.db:query(sql, ...) -> rows, changed */
static int db_query(lua_State *L) {
  pawl_error err;
  pawl_str sql;
  int64_t changed = 0;
  int n = lua_gettop(L);
  if (!pawl_ctx_is_self(L))
    return pawl_ctx_raise_text(L, PAWL_MISUSE,
                               "ctx.db:query(\"select ...\", ...)",
                               "ctx.db:query is called with a colon");
  pawl_run *run = pawl_ctx_child_run(L);
  sql.at = luaL_checklstring(L, 2, &sql.len);
  pawl_buf *params = pawl_ctx_push_buf(L, run);
  pawl_buf *rows = pawl_ctx_push_buf(L, run);
  pawl_buf_addc(params, '[');
  for (int i = 3; i <= n; i++) {
    if (i > 3) pawl_buf_addc(params, ',');
    add_param(L, run, i, params);
  }
  pawl_buf_addc(params, ']');
  /* what may raise comes first: `serving` would stay set (H6) */
  pawl_ctx_check_time(L, run, "db:query");
  pawl_ctx_check_service(L, run, "db:query");
  run->host->serving = 1;
  pawl_code rc = pawl_buf_check(params, &err);
  if (rc == PAWL_OK)
    rc = run->call->services->query(run->call, sql, pawl_buf_str(params), rows,
                                    &changed, &err);
  run->host->serving = 0;
  if (rc != PAWL_OK || pawl_buf_check(rows, &err) != PAWL_OK)
    return pawl_ctx_raise(L, &err);
  pawl_buf_deinit(params);
  pawl_ctx_push_decoded(L, rows->len ? pawl_buf_str(rows) : pawl_strz("[]"));
  pawl_buf_deinit(rows);
  lua_pushinteger(L, changed);
  return 2;
}

/* (upvalues: the metatable, query) */
static int db_index(lua_State *L) {
  pawl_ctx_child_run(L);
  if (lua_type(L, 2) == LUA_TSTRING &&
      strcmp(lua_tostring(L, 2), DB_NAMES[0]) == 0) {
    lua_pushvalue(L, lua_upvalueindex(2));
    return 1;
  }
  return pawl_ctx_raise_unknown(L, 2, "ctx.db", DB_NAMES, 1);
}

static int ctx_db(lua_State *L, pawl_run *run) {
  const pawl_call *call = run->call;
  pawl_ctx_check_granted(L, run, "db", "db", NULL,
                         !run->host->meter || run->host->meter->limits->db);
  if (!call->transactional || !call->services->query)
    return pawl_ctx_raise_text(
        L, PAWL_MISUSE, "write transactional = true into its options",
        "node \"%s\" is not transactional: it has no ctx.db", call->node);
  pawl_ctx_push_child(L, run, PAWL_ANCHOR_DB, 1);
  return 1;
}

void pawl_ctx_open_db(pawl_host *host, lua_State *L) {
  pawl_ctx_begin_metatable(L, "pawl.db");
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, db_query, 1);
  pawl_ctx_set_method(L, "__index", db_index, 1);
  pawl_host_set_anchor(host, L, PAWL_ANCHOR_DB);
}

const pawl_ctx_member pawl_ctx_services[] = {
    {"callback", PAWL_CTX_CALL, PAWL_CTX_ASKS,
     "ctx.callback(\"payment.received\")", ctx_callback},
    {"cancelled", PAWL_CTX_CALL, PAWL_CTX_ASKS, "ctx.cancelled()",
     ctx_cancelled},
    {"db", PAWL_CTX_VALUE, PAWL_CTX_ANYTIME, "", ctx_db}, /* its own ask */
    {"heartbeat", PAWL_CTX_CALL, PAWL_CTX_ASKS, "ctx.heartbeat(progress)",
     ctx_heartbeat},
    {"idempotency_key", PAWL_CTX_CALL, PAWL_CTX_ANYTIME,
     "ctx.idempotency_key()", ctx_idempotency_key},
    {"log", PAWL_CTX_CALL, PAWL_CTX_ANYTIME, "ctx.log(\"info\", message)",
     ctx_log},
    {"now", PAWL_CTX_CALL, PAWL_CTX_ANYTIME, "ctx.now()", ctx_now},
    {"progress", PAWL_CTX_VALUE, PAWL_CTX_ANYTIME, "",
     ctx_progress}, /* its own ask */
    {"visit", PAWL_CTX_VALUE, PAWL_CTX_ANYTIME, "", ctx_visit},
    {NULL}};
