/* What a handler is given: ctx, ctx.token, ctx.attrs, ctx.db.
 *
 * All of them are userdata, so that every access comes through here: what is
 * not asked for is not made, a misspelt name is an error, and a ctx kept
 * beyond its handler is noticed (H3). What is made is kept in the userdata's
 * user values. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../base/base64.h"
#include "../defs/def.h"
#include "../value/luajson.h"
#include "embedded.h"
#include "host_internal.h"

struct pawl_ctx {
  pawl_run *run; /* NULL once the handler has ended */
};

/* clang-format off */
#define CTX_FIELDS(X) \
  X(ATTEMPT, "attempt") X(ATTRS, "attrs") X(AWAIT, "await") \
  X(CANCELLED, "cancelled") \
  X(CORRELATION_ID, "correlation_id") X(DB, "db") X(EMIT, "emit") \
  X(EVENT, "event") X(HEARTBEAT, "heartbeat") X(ID, "id") \
  X(IDEMPOTENCY_KEY, "idempotency_key") X(INPUT, "input") X(LOG, "log") \
  X(NODE, "node") X(NOW, "now") X(OUTPUT, "output") X(START, "start") \
  X(TENANT, "tenant") X(TOKEN, "token") X(VARS, "vars") \
  X(VERSION, "version") X(VISIT, "visit") \
  X(WORKFLOW, "workflow")
/* clang-format on */

/* Also the number of the user value that keeps it. */
enum {
  CTX_NONE,
#define CTX_ENUM(name, text) CTX_##name,
  CTX_FIELDS(CTX_ENUM)
#undef CTX_ENUM
      CTX_END
};

static const char *const CTX_NAMES[] = {
#define CTX_NAME(name, text) text,
    CTX_FIELDS(CTX_NAME)
#undef CTX_NAME
};
enum { NNAMES = CTX_END - 1 };

int pawl_handler_is_pure(pawl_handler handler) {
  return handler != PAWL_HANDLER_RUN && handler != PAWL_HANDLER_UNDO;
}

/* ---- errors ---- */

/* Raises *err, which lacks only where in Lua it happened. */
static int raise(lua_State *L, pawl_error *err) {
  if (!err->where[0]) pawl_host_where(L, 1, err->where, sizeof err->where);
  pawl_host_push_error(L, err);
  return lua_error(L);
}

static int raise_text(lua_State *L, pawl_code code, const char *hint,
                      const char *message) {
  pawl_error err;
  pawl_fail(&err, code, "%s", message);
  pawl_error_hint(&err, "%s", hint);
  return raise(L, &err);
}

/* `what` has no field of the name at idx, which any value may be. */
static int raise_unknown(lua_State *L, int idx, const char *what,
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
  return raise(L, &err);
}

/* What is set to the value at idx 3 must be a table. */
static void check_table(lua_State *L, const char *name, const char *path) {
  pawl_error err;
  if (lua_istable(L, 3)) return;
  pawl_fail(&err, PAWL_VALUE, "%s must be a table, not a %s", name,
            luaL_typename(L, 3));
  pawl_error_hint(&err, "to empty it: %s = {}", name);
  pawl_error_where(&err, "%s", path);
  raise(L, &err);
}

/* ---- the run behind a ctx ---- */

/* The ctx is user value or upvalue of what asks, or the userdata itself. */
static pawl_run *alive(lua_State *L, const pawl_ctx *ctx) {
  if (!ctx->run)
    raise_text(L, PAWL_MISUSE, "copy what is needed later out of ctx",
               "ctx was used after its handler had ended");
  return ctx->run;
}

/* The ctx in the upvalue of ctx.log and its like. */
static pawl_run *upvalue_run(lua_State *L) {
  return alive(L, lua_touserdata(L, lua_upvalueindex(1)));
}

/* Has argument 1 the metatable in upvalue 1? */
static int is_self(lua_State *L) {
  int same;
  if (!lua_getmetatable(L, 1)) return 0;
  same = lua_rawequal(L, -1, lua_upvalueindex(1));
  lua_pop(L, 1);
  return same;
}

/* Nobody else's userdata came here by way of the debug library. */
static void check_self(lua_State *L) {
  if (!is_self(L)) luaL_error(L, "not the object this function belongs to");
}

/* ctx.token, ctx.attrs and ctx.db hold their ctx in user value 1. */
static pawl_run *child_run(lua_State *L) {
  pawl_ctx *ctx;
  check_self(L);
  lua_getiuservalue(L, 1, 1);
  ctx = lua_touserdata(L, -1);
  lua_pop(L, 1); /* held by the child */
  return alive(L, ctx);
}

/* Pushes an empty buffer for this call alone (H2). */
static pawl_buf *push_buf(lua_State *L, const pawl_run *run) {
  return pawl_host_push_own_buf(run->host, L);
}

/* Pushes a buffer with the JSON of the value at idx; raises. */
static pawl_buf *push_encoded(lua_State *L, const pawl_run *run, int idx,
                              const char *path) {
  pawl_error err;
  pawl_buf *out;
  idx = lua_absindex(L, idx);
  out = push_buf(L, run);
  if (pawl_luajson_encode(L, idx, path, run->host->max_bytes, out, &err) !=
          PAWL_OK ||
      pawl_buf_check(out, &err) != PAWL_OK)
    raise(L, &err);
  return out;
}

/* Keeps the value on top as user value `slot` of the userdata at 1, unless
 * there is one by now (H4), which replaces it then. */
static void keep_made(lua_State *L, int slot) {
  if (lua_getiuservalue(L, 1, slot) != LUA_TNIL) {
    lua_replace(L, -2);
    return;
  }
  lua_pop(L, 1);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, slot);
}

/* Before the store is asked for the run. Only while a handler runs does the
 * engine stand still; and an answer is read before the next question. */
static void check_service(lua_State *L, const pawl_run *run,
                          const char *what) {
  const pawl_host *host = run->host;
  pawl_error err;
  if (host->run && !host->serving) return;
  pawl_fail(&err, PAWL_MISUSE,
            host->run ? "%s was called in the midst of another call of ctx"
                      : "%s was called while no handler runs",
            what);
  pawl_error_hint(&err,
                  "ask in the handler itself, not in a finalizer or a "
                  "callback");
  raise(L, &err);
}

/* Before something is done for the run. */
static void check_time(lua_State *L, const pawl_run *run, const char *what) {
  pawl_error err;
  if (!run->is_over) return;
  pawl_fail(&err, PAWL_MISUSE, "%s came after the handler had returned", what);
  pawl_error_hint(&err,
                  "do it before `return`: what runs later, as a "
                  "finalizer does, is too late");
  raise(L, &err);
}

/* Pushes the value of text that the store holds. What is no JSON there was
 * damaged: it was when it was stored. */
static pawl_code decode_stored(lua_State *L, pawl_str text, pawl_error *err) {
  pawl_error why;
  pawl_code rc = pawl_luajson_decode(L, text, &why);
  if (rc == PAWL_OK) return rc;
  if (rc == PAWL_NOMEM) return pawl_fail(err, rc, "%s", why.message);
  pawl_fail(err, PAWL_CORRUPT, "the store holds damaged JSON: %s",
            why.message);
  pawl_error_hint(err,
                  "somebody else has written to the store, or the disk is "
                  "failing");
  return PAWL_CORRUPT;
}

static void push_decoded(lua_State *L, pawl_str text) {
  pawl_error err;
  if (decode_stored(L, text, &err) != PAWL_OK) raise(L, &err);
}

/* ---- ctx.now, ctx.log and the like ---- */

/* `ctx:log(...)` passes the ctx for the first argument. */
static void check_dot(lua_State *L, const char *call, const char *example) {
  pawl_error err;
  if (!lua_touserdata(L, 1) ||
      lua_touserdata(L, 1) != lua_touserdata(L, lua_upvalueindex(1)))
    return;
  pawl_fail(&err, PAWL_MISUSE, "%s is called with a dot, not a colon", call);
  pawl_error_hint(&err, "%s", example);
  raise(L, &err);
}

/* ctx.now() -> seconds since 1970, by the store's clock */
static int ctx_now(lua_State *L) {
  pawl_run *run = upvalue_run(L);
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
    return raise(L, &err);
  }
  near = pawl_nearest(name, NAMES, 4);
  pawl_error_hint(
      &err, near ? "did you mean '%s'?" : "debug, info, warn, error", near);
  return raise(L, &err);
}

/* ctx.log(level, message, fields?) */
static int ctx_log(lua_State *L) {
  pawl_run *run = upvalue_run(L);
  pawl_buf *fields = NULL;
  const char *message;
  int level;
  check_dot(L, "ctx.log", "ctx.log(\"info\", message)");
  level = check_level(L, 1);
  message = luaL_checkstring(L, 2);
  if (!lua_isnoneornil(L, 3)) {
    luaL_checktype(L, 3, LUA_TTABLE);
    fields = push_encoded(L, run, 3, "fields");
    luaL_argcheck(L, fields->at[0] == '{', 3, "fields have names");
  }
  run->call->services->log(run->call, level, message,
                           fields ? fields->at : "{}");
  if (fields) pawl_buf_deinit(fields);
  return 0;
}

/* ctx.heartbeat(progress?) -> is the instance to end? Keeps the lease; raises
 * when that is lost. */
static int ctx_heartbeat(lua_State *L) {
  pawl_run *run = upvalue_run(L);
  pawl_error err;
  pawl_buf *progress = NULL;
  pawl_str text = {NULL, 0};
  pawl_code rc;
  int cancelled = 0;
  check_dot(L, "ctx.heartbeat", "ctx.heartbeat(progress)");
  if (!lua_isnoneornil(L, 1)) progress = push_encoded(L, run, 1, "progress");
  check_service(L, run, "ctx.heartbeat");
  if (progress) text = pawl_buf_str(progress);
  run->host->serving = 1;
  rc = run->call->services->heartbeat(run->call, text, &cancelled, &err);
  run->host->serving = 0;
  if (rc != PAWL_OK) return raise(L, &err);
  if (progress) pawl_buf_deinit(progress);
  lua_pushboolean(L, cancelled);
  return 1;
}

/* ctx.cancelled() -> boolean */
static int ctx_cancelled(lua_State *L) {
  pawl_run *run = upvalue_run(L);
  pawl_error err;
  pawl_code rc;
  int yes = 0;
  check_service(L, run, "ctx.cancelled");
  run->host->serving = 1;
  rc = run->call->services->cancelled(run->call, &yes, &err);
  run->host->serving = 0;
  if (rc != PAWL_OK) return raise(L, &err);
  lua_pushboolean(L, yes);
  return 1;
}

/* ---- ctx.await ---- */

#define AWAIT_HINT                                                         \
  "ctx.await(seconds), ctx.await(predicate), ctx.await{ fd = n, events = " \
  "\"r\", timeout = seconds }"

static int raise_await(lua_State *L, const char *hint, const char *message) {
  return raise_text(L, PAWL_MISUSE, hint, message);
}

/* Only what a step does, or takes back, may take its time; and only from
 * where Lua can be left and come back to. */
static void check_may_wait(lua_State *L, const pawl_run *run) {
  const pawl_call *call = run->call;
  pawl_error err;
  if (pawl_handler_is_pure(call->handler)) {
    pawl_fail(&err, PAWL_MISUSE, "`%s` of node \"%s\" called ctx.await",
              pawl_handler_name(call->handler), call->node);
    pawl_error_hint(&err, "only the `run` of a step and `undo` may wait");
    raise(L, &err);
  }
  if (call->transactional) {
    pawl_fail(&err, PAWL_MISUSE,
              "node \"%s\" is transactional: it may not wait", call->node);
    pawl_error_hint(&err,
                    "wait in a step before it; a transaction that "
                    "waits holds up everybody");
    raise(L, &err);
  }
  if (!run->may_wait)
    raise_await(L, "run it in an engine", "ctx.await: nothing waits here");
  if (L != run->co)
    raise_await(L,
                "yield to the handler, and let that call ctx.await: with "
                "cqueues, await its pollfd",
                "ctx.await was called in a coroutine of the handler's own");
  if (!lua_isyieldable(L))
    raise_await(L, "call it outside of it",
                "ctx.await was called inside a C function that cannot wait, "
                "such as string.gsub or table.sort");
}

/* Seconds at idx as microseconds; raises. */
static int64_t check_seconds(lua_State *L, int idx, const char *what) {
  const double most = 100 * 365 * 86400.0;
  double seconds = lua_tonumber(L, idx);
  pawl_error err;
  if (lua_type(L, idx) == LUA_TNUMBER && seconds >= 0)
    return (int64_t)((seconds < most ? seconds : most) * 1e6);
  pawl_fail(&err, PAWL_MISUSE, "ctx.await: %s is not a number of seconds",
            what);
  pawl_error_hint(&err, "%s", AWAIT_HINT);
  raise(L, &err);
  return 0;
}

static int check_events(lua_State *L, int idx) {
  static const char *const NAMES[] = {"r", "w", "rw", NULL};
  const char *text = lua_tostring(L, idx);
  if (lua_isnil(L, idx)) return PAWL_AWAIT_READ;
  for (int i = 0; text && NAMES[i]; i++)
    if (strcmp(text, NAMES[i]) == 0) return i + 1;
  return raise_await(L, "events = \"r\", \"w\" or \"rw\"",
                     "ctx.await: there are no such events");
}

static void check_await_fields(lua_State *L) {
  static const char *const NAMES[] = {"events", "fd", "timeout"};
  lua_pushnil(L);
  while (lua_next(L, 1)) {
    const char *name =
        lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    if (strcmp(name, NAMES[0]) && strcmp(name, NAMES[1]) &&
        strcmp(name, NAMES[2]))
      raise_unknown(L, -2, "ctx.await", NAMES, 3);
    lua_pop(L, 1);
  }
}

/* { fd =, events =, timeout = } at idx 1; raises. */
static void read_fd(lua_State *L, pawl_await *out) {
  int is_whole;
  lua_Integer fd;
  check_await_fields(L);
  lua_getfield(L, 1, "fd");
  fd = lua_tointegerx(L, -1, &is_whole); /* LuaSocket has them as floats */
  if (lua_type(L, -1) != LUA_TNUMBER || !is_whole || fd < 0 || fd > INT_MAX)
    raise_await(L, "fd = socket:getfd(), of one that is open",
                "ctx.await: fd is not the number of an open descriptor");
  out->kind = PAWL_AWAIT_FD;
  out->fd = (int)fd; /* in range, as just checked */
  lua_getfield(L, 1, "events");
  out->events = check_events(L, -1);
  lua_getfield(L, 1, "timeout");
  out->timeout_us = lua_isnil(L, -1) ? -1 : check_seconds(L, -1, "timeout");
  lua_settop(L, 1);
}

static int ask_predicate(lua_State *L, pawl_run *run);

/* Resumed. */
static int await_over(lua_State *L, int status, lua_KContext context) {
  static const char *const EVENTS[] = {"", "r", "w", "rw"};
  pawl_run *run = upvalue_run(L);
  pawl_error err;
  (void)status;
  (void)context;
  pawl_host_use_folder(run->host, L, run->call->ref);
  lua_settop(L, 1);
  if (run->why) {
    err = *run->why;
    return raise(L, &err);
  }
  if (run->await.kind == PAWL_AWAIT_PREDICATE) return ask_predicate(L, run);
  if (run->await.kind == PAWL_AWAIT_TIME) return 0;
  if (run->events) {
    lua_pushstring(L, EVENTS[run->events]);
    return 1;
  }
  lua_pushnil(L);
  lua_pushliteral(L, "timeout");
  return 2;
}

static int stand_still(lua_State *L, pawl_run *run) {
  run->waits = 1;
  return lua_yieldk(L, 0, 0, await_over);
}

/* The predicate, at idx 1, has answered, on top. */
static int predicate_told(lua_State *L, int status, lua_KContext context) {
  pawl_run *run = upvalue_run(L);
  (void)status;
  (void)context;
  if (lua_toboolean(L, -1)) return 1;
  lua_settop(L, 1);
  /* it may have waited for something itself */
  run->await = (pawl_await){.kind = PAWL_AWAIT_PREDICATE, .timeout_us = -1};
  return stand_still(L, run);
}

static int ask_predicate(lua_State *L, pawl_run *run) {
  (void)run;
  lua_pushvalue(L, 1);
  lua_callk(L, 0, 1, 0, predicate_told);
  return predicate_told(L, LUA_OK, 0);
}

/* ctx.await(seconds)
 * ctx.await(predicate) -> what it gave, once that is true
 * ctx.await{ fd =, events =, timeout = } -> events | nil, "timeout" */
static int ctx_await(lua_State *L) {
  pawl_run *run = upvalue_run(L);
  check_dot(L, "ctx.await", AWAIT_HINT);
  check_may_wait(L, run);
  lua_settop(L, 1);
  run->await = (pawl_await){.kind = PAWL_AWAIT_TIME, .timeout_us = -1};
  switch (lua_type(L, 1)) {
    case LUA_TNUMBER:
      run->await.timeout_us = check_seconds(L, 1, "it");
      break;
    case LUA_TFUNCTION:
      return ask_predicate(L, run);
    case LUA_TTABLE:
      read_fd(L, &run->await);
      break;
    default:
      return raise_await(L, AWAIT_HINT,
                         "ctx.await takes seconds, a function or a "
                         "descriptor");
  }
  return stand_still(L, run);
}

/* ctx.idempotency_key() -> "id/token/visit", the same for every attempt */
static int ctx_idempotency_key(lua_State *L) {
  const pawl_call *call = upvalue_run(L)->call;
  lua_pushfstring(L, "%s/%I/%I", call->id, (LUAI_UACINT)call->token,
                  (LUAI_UACINT)call->visit);
  return 1;
}

/* ---- ctx.attrs ---- */

enum { ATTRS_CTX = 1, ATTRS_VALUES, ATTRS_WRITTEN, ATTRS_END };
enum { MAX_ATTR_NAME = 200, MAX_ATTR_TEXT = 2000 };

/* Pushes the bytes as base64 text, or the reverse; raises. */
static void push_base64(lua_State *L, pawl_run *run, pawl_str s,
                        int is_decoding) {
  pawl_error err;
  pawl_buf *out = push_buf(L, run);
  if (!is_decoding) {
    pawl_base64_encode(s, out);
  } else if (!pawl_base64_decode(s, out)) {
    pawl_fail(&err, PAWL_CORRUPT, "a stored attribute is not base64");
    raise(L, &err);
  }
  if (pawl_buf_check(out, &err) != PAWL_OK) raise(L, &err);
  lua_pushlstring(L, out->at ? out->at : "", out->len);
  pawl_buf_deinit(out);
  lua_replace(L, -2);
}

/* A stored attribute {type, value} on top becomes the value Lua reads: a date
 * its text, a decimal its digits, binary its bytes. */
static void attr_to_lua(lua_State *L, pawl_run *run) {
  const char *type;
  pawl_str text;
  if (!lua_istable(L, -1)) return;
  lua_getfield(L, -1, "value");
  lua_getfield(L, -2, "type");
  type = lua_tostring(L, -1);
  if (type && strcmp(type, "date") == 0 && lua_isinteger(L, -2)) {
    char date[28];
    pawl_time_format(lua_tointeger(L, -2), date);
    lua_pushstring(L, date);
  } else if (type && strcmp(type, "binary") == 0 && lua_isstring(L, -2)) {
    text.at = lua_tolstring(L, -2, &text.len);
    push_base64(L, run, text, 1);
  } else {
    lua_pushvalue(L, -2);
  }
  lua_replace(L, -4);
  lua_pop(L, 2);
}

/* Pushes what the store has, as a table of {type, value}. */
static void push_stored_attrs(lua_State *L, pawl_run *run) {
  pawl_error err;
  pawl_code rc;
  pawl_buf *out = push_buf(L, run);
  check_service(L, run, "ctx.attrs");
  run->host->serving = 1;
  rc = run->call->services->attrs(run->call, out, &err);
  run->host->serving = 0;
  if (rc != PAWL_OK || pawl_buf_check(out, &err) != PAWL_OK) raise(L, &err);
  push_decoded(L, out->len ? pawl_buf_str(out) : pawl_strz("{}"));
  pawl_buf_deinit(out);
  lua_replace(L, -2);
}

/* Pushes the table of values, loaded when first asked for. */
static void attr_values(lua_State *L, pawl_run *run) {
  if (lua_getiuservalue(L, 1, ATTRS_VALUES) != LUA_TNIL) return;
  lua_pop(L, 1);
  push_stored_attrs(L, run);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    attr_to_lua(L, run);
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
  keep_made(L, ATTRS_VALUES);
}

static int attrs_index(lua_State *L) {
  pawl_run *run = child_run(L);
  attr_values(L, run);
  lua_pushvalue(L, 2);
  lua_rawget(L, -2);
  return 1;
}

static int attrs_next(lua_State *L) {
  lua_settop(L, 2);
  return lua_next(L, 1) ? 2 : 0;
}

/* pairs(ctx.attrs) walks a copy: attributes may be set meanwhile. */
static int attrs_pairs(lua_State *L) {
  pawl_run *run = child_run(L);
  attr_values(L, run);
  lua_pushcfunction(L, attrs_next);
  lua_newtable(L);
  lua_pushnil(L);
  while (lua_next(L, -4)) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
  lua_pushnil(L);
  return 3;
}

/* Argument 1 is ctx.attrs, or the run when it is for ctx.start. */
static int raise_attr(lua_State *L, const char *hint, const char *problem) {
  pawl_error err;
  int is_start = lua_islightuserdata(L, 1);
  const char *name = lua_tostring(L, 2);
  pawl_fail(&err, PAWL_VALUE, "attribute '%s': %s", name, problem);
  pawl_error_hint(&err, "%s", hint);
  pawl_error_where(&err, is_start ? "attributes.%s" : "attrs.%s", name);
  return raise(L, &err);
}

/* Plain names: they are looked for by people and in SQL. */
static void check_attr_name(lua_State *L) {
  size_t len, at;
  pawl_str name;
  luaL_argcheck(L, lua_type(L, 2) == LUA_TSTRING, 2,
                "an attribute's name is a string");
  name.at = lua_tolstring(L, 2, &len);
  name.len = len;
  for (at = 0; at < len; at++)
    if ((unsigned char)name.at[at] < 0x20 || strchr("\"\\\x7f", name.at[at]))
      break;
  if (len == 0 || len > MAX_ATTR_NAME || at < len ||
      !pawl_utf8_check(name, &at))
    raise_text(L, PAWL_VALUE,
               "use 1 to 200 bytes of UTF-8 without quotes, backslashes and "
               "control characters",
               "an attribute has a name that cannot be stored");
}

/* Pushes type and stored value of a pawl.decimal, pawl.date or pawl.binary at
 * idx 3; 0: it is none. */
static int push_typed(lua_State *L, pawl_run *run) {
  const char *type;
  pawl_str text;
  int64_t us;
  if (luaL_getmetafield(L, 3, "__name") == LUA_TNIL) return 0;
  type = lua_tostring(L, -1);
  if (!type || strcmp(type, "pawl.typed") != 0) return 0;
  lua_pushliteral(L, "type");
  lua_rawget(L, 3);
  lua_pushliteral(L, "value");
  lua_rawget(L, 3);
  type = lua_tostring(L, -2);
  text.at = lua_tolstring(L, -1, &text.len);
  if (!type || !text.at) return 0;
  if (strcmp(type, "binary") == 0) {
    push_base64(L, run, text, 0);
  } else if (strcmp(type, "date") == 0) {
    if (!pawl_time_parse(text.at, text.len, &us)) return 0;
    lua_pushinteger(L, us);
  } else if (strcmp(type, "decimal") != 0) {
    return 0;
  } else {
    lua_pushvalue(L, -1);
  }
  lua_remove(L, -2);
  return 1;
}

/* Pushes type and stored value of the value at idx 3; raises. */
static void push_attr(lua_State *L, pawl_run *run) {
  size_t at;
  pawl_str s;
  const char *type = NULL;
  switch (lua_type(L, 3)) {
    case LUA_TBOOLEAN:
      type = "boolean";
      break;
    case LUA_TNUMBER:
      type = lua_isinteger(L, 3) ? "integer" : "float";
      if (!isfinite(lua_tonumber(L, 3)))
        raise_attr(L, "give a finite number", "it is not a finite number");
      break;
    case LUA_TSTRING:
      s.at = lua_tolstring(L, 3, &s.len);
      if (!pawl_utf8_check(s, &at) || memchr(s.at, 0, s.len))
        raise_attr(L, "give bytes as pawl.binary(bytes)",
                   "the text is not UTF-8, or has a zero byte");
      if (s.len > MAX_ATTR_TEXT) /* it is in an index */
        raise_attr(L, "keep long text in ctx.vars",
                   "the text is longer than 2000 bytes");
      type = "string";
      break;
    case LUA_TTABLE:
      if (push_typed(L, run)) return;
      break;
    default:
      break;
  }
  if (!type)
    raise_attr(
        L,
        "give a string, a number, a boolean, pawl.decimal, pawl.date or "
        "pawl.binary",
        "a value of its type cannot be an attribute");
  lua_pushstring(L, type);
  lua_pushvalue(L, 3);
}

/* Replaces type and value on top by {type, value}. */
static void join_entry(lua_State *L) {
  lua_createtable(L, 0, 2);
  lua_insert(L, -3);
  lua_setfield(L, -3, "value");
  lua_setfield(L, -2, "type");
}

/* Pushes what is written for the value at idx 3: {type, value}, or null. */
static void push_entry(lua_State *L, pawl_run *run) {
  if (lua_isnil(L, 3) ||
      (lua_islightuserdata(L, 3) && !lua_touserdata(L, 3))) {
    lua_pushlightuserdata(L, NULL);
    return;
  }
  push_attr(L, run);
  join_entry(L);
}

/* ctx.attrs.name = value; nil deletes. What may fail comes first. */
static int attrs_newindex(lua_State *L) {
  enum { ENTRY = 3, VALUE, VALUES, WRITTEN };
  pawl_run *run = child_run(L);
  lua_settop(L, 3);
  check_attr_name(L);
  if (pawl_handler_is_pure(run->call->handler))
    raise_text(L, PAWL_MISUSE, "set it in the `run` of a step",
               "only a step may change attributes");
  push_entry(L, run);
  lua_replace(L, ENTRY); /* over what it was made of */
  lua_settop(L, ENTRY);
  lua_pushvalue(L, ENTRY);
  attr_to_lua(L, run);
  if (lua_islightuserdata(L, VALUE)) {
    lua_pushnil(L);
    lua_replace(L, VALUE);
  }
  attr_values(L, run);
  if (lua_getiuservalue(L, 1, ATTRS_WRITTEN) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
    keep_made(L, ATTRS_WRITTEN);
  }
  check_time(L, run, "ctx.attrs");
  lua_pushvalue(L, 2);
  lua_pushvalue(L, ENTRY);
  lua_rawset(L, WRITTEN);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, VALUE);
  lua_rawset(L, VALUES); /* what reading it gives from now on */
  return 0;
}

/* ---- ctx.emit, ctx.start ---- */

enum { MAX_EMIT_TYPE = 200 };

/* Only what a step does, or takes back, reaches others. */
static void check_effect(lua_State *L, const pawl_run *run, const char *what) {
  pawl_error err;
  check_time(L, run, what);
  if (!pawl_handler_is_pure(run->call->handler)) return;
  pawl_fail(&err, PAWL_MISUSE, "`%s` of node \"%s\" called %s",
            pawl_handler_name(run->call->handler), run->call->node, what);
  pawl_error_hint(&err, "only the `run` of a step and `undo` may");
  raise(L, &err);
}

/* One more member of an array in the result, which pawl_ctx_take closes.
 * Whole or not at all: the handler may catch what was raised before. */
static void add_member(lua_State *L, pawl_buf *list, const pawl_buf *member) {
  pawl_error err;
  if (pawl_buf_check(member, &err) != PAWL_OK) raise(L, &err);
  pawl_buf_addc(list, list->len ? ',' : '[');
  pawl_buf_adds(list, pawl_buf_str(member));
  if (pawl_buf_check(list, &err) != PAWL_OK) raise(L, &err);
}

static pawl_str check_emit_type(lua_State *L) {
  static const char HINT[] = "ctx.emit(\"order.placed\", payload)";
  pawl_error err;
  pawl_str type;
  size_t at;
  if (lua_type(L, 1) != LUA_TSTRING) {
    pawl_fail(&err, PAWL_VALUE, "ctx.emit: the type is a %s, not text",
              luaL_typename(L, 1));
    pawl_error_hint(&err, "%s", HINT);
    raise(L, &err);
  }
  type.at = lua_tolstring(L, 1, &type.len);
  if (type.len == 0 || type.len > MAX_EMIT_TYPE) {
    pawl_fail(&err, PAWL_VALUE, "ctx.emit: the type has %zu bytes", type.len);
    pawl_error_hint(&err, "a type has 1 to %d bytes: %s", MAX_EMIT_TYPE, HINT);
    raise(L, &err);
  }
  if (!pawl_utf8_check(type, &at) || memchr(type.at, 0, type.len))
    raise_text(L, PAWL_VALUE, "a type is a name; data goes into the payload",
               "ctx.emit: the type is not UTF-8, or has a zero byte");
  return type;
}

/* Appends the value at idx; nil as `otherwise`. Raises. */
static void add_value(lua_State *L, const pawl_run *run, int idx,
                      const char *path, const char *otherwise, pawl_buf *out) {
  pawl_error err;
  if (lua_isnil(L, idx))
    pawl_buf_addz(out, otherwise);
  else if (pawl_luajson_encode(L, idx, path, run->host->max_bytes, out,
                               &err) != PAWL_OK)
    raise(L, &err);
}

/* ctx.emit(type, payload?): a message that leaves with the decision */
static int ctx_emit(lua_State *L) {
  pawl_run *run = upvalue_run(L);
  pawl_buf *out;
  pawl_str type;
  check_dot(L, "ctx.emit", "ctx.emit(type, payload)");
  check_effect(L, run, "ctx.emit");
  lua_settop(L, 2);
  type = check_emit_type(L);
  out = push_buf(L, run);
  pawl_buf_addz(out, "{\"payload\":");
  add_value(L, run, 2, "payload", "null", out);
  pawl_buf_addz(out, ",\"type\":");
  pawl_json_add_string(out, type);
  pawl_buf_addc(out, '}');
  check_time(L, run, "ctx.emit");
  add_member(L, &run->result->emits, out);
  pawl_buf_deinit(out);
  return 0;
}

static const char *check_child_code(lua_State *L) {
  pawl_error err;
  const char *code = lua_tostring(L, 1);
  size_t len;
  if (lua_type(L, 1) != LUA_TSTRING) {
    pawl_fail(&err, PAWL_MISUSE, "ctx.start: the workflow is a %s, not text",
              luaL_typename(L, 1));
    pawl_error_hint(&err, "ctx.start(\"order.ship\", input, options)");
    raise(L, &err);
  }
  lua_tolstring(L, 1, &len);
  if (strlen(code) != len || !pawl_def_is_code(code)) {
    char text[101];
    pawl_copy_text(text, sizeof text, code);
    pawl_fail(&err, PAWL_MISUSE, "\"%s\" cannot be a workflow's code", text);
    pawl_error_hint(&err, "%s", PAWL_CODE_RULE);
    raise(L, &err);
  }
  return code;
}

/* Replaces the options at idx 3 by what option.read_child makes of them. */
static void read_child_options(lua_State *L, const pawl_run *run) {
  pawl_error err;
  pawl_host_push_slot(run->host, L, PAWL_SLOT_CHILD);
  if (lua_isnil(L, -1)) {
    pawl_embedded_run(L, "pawl.option");
    lua_getfield(L, -1, "read_child");
    lua_pushvalue(L, -1);
    pawl_host_set_slot(run->host, L, PAWL_SLOT_CHILD);
  }
  lua_pushvalue(L, 3);
  lua_call(L, 1, 2);
  if (lua_isnil(L, -2)) {
    pawl_fail(&err, PAWL_MISUSE, "%s", lua_tostring(L, -1));
    raise(L, &err);
  }
  lua_pop(L, 1);
  lua_replace(L, 3);
  lua_settop(L, 3);
}

/* (run, name, value) -> {type, value} */
static int child_attribute(lua_State *L) {
  pawl_run *run = lua_touserdata(L, 1);
  if (lua_type(L, 2) != LUA_TSTRING)
    raise_text(L, PAWL_VALUE, "attributes = { name = value }",
               "ctx.start: an attribute's name is not a string");
  check_attr_name(L);
  push_attr(L, run);
  join_entry(L);
  return 1;
}

/* Writes options.attributes, of the table at idx 3, as the store has them. */
static void convert_attributes(lua_State *L, pawl_run *run) {
  if (lua_getfield(L, 3, "attributes") == LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  lua_newtable(L);
  lua_pushnil(L);
  while (lua_next(L, 4)) {
    lua_pushvalue(L, -2);
    lua_pushcfunction(L, child_attribute);
    lua_pushlightuserdata(L, run);
    lua_pushvalue(L, -3);
    lua_pushvalue(L, -5);
    lua_call(L, 3, 1);
    lua_rawset(L, 5); /* [name] = entry */
    lua_pop(L, 1);
  }
  lua_setfield(L, 3, "attributes");
  lua_settop(L, 3);
}

static void check_metadata(lua_State *L, pawl_run *run) {
  if (lua_getfield(L, 3, "metadata") != LUA_TNIL &&
      push_encoded(L, run, -1, "metadata")->at[0] != '{')
    raise_text(L, PAWL_VALUE, "metadata = { name = value }",
               "ctx.start: option 'metadata' is a list");
  lua_settop(L, 3);
}

/* ctx.start(code, input?, options?) -> the id of the instance to be */
static int ctx_start(lua_State *L) {
  pawl_run *run = upvalue_run(L);
  pawl_buf *out;
  const char *code;
  pawl_error err;
  char id[37];
  check_dot(L, "ctx.start", "ctx.start(code, input, options)");
  check_effect(L, run, "ctx.start");
  lua_settop(L, 3);
  code = check_child_code(L);
  read_child_options(L, run);
  convert_attributes(L, run);
  check_metadata(L, run);
  out = push_buf(L, run);
  pawl_buf_addz(out, "{\"input\":");
  add_value(L, run, 2, "input", "{}", out);
  pawl_buf_addz(out, ",\"options\":");
  add_value(L, run, 3, "options", "{}", out);
  /* Last: what is refused takes no id. */
  if (run->call->services->new_id(run->call, id, &err) != PAWL_OK)
    return raise(L, &err);
  pawl_buf_addf(out, ",\"id\":\"%s\",\"workflow\":\"%s\"}", id, code);
  check_time(L, run, "ctx.start");
  add_member(L, &run->result->starts, out);
  pawl_buf_deinit(out);
  lua_pushstring(L, id);
  return 1;
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
  return raise_unknown(L, 2, "ctx.token", TOKEN_NAMES, 3);
}

static int token_index(lua_State *L) {
  pawl_run *run = child_run(L);
  switch (check_token_field(L)) {
    case 0:
      lua_pushstring(L, run->call->branch); /* NULL: nil */
      break;
    case 1:
      if (lua_getiuservalue(L, 1, TOKEN_DATA) != LUA_TNIL) break;
      push_decoded(L, given_data(run->call));
      keep_made(L, TOKEN_DATA);
      break;
    default:
      lua_pushinteger(L, run->call->token);
      break;
  }
  return 1;
}

static int token_newindex(lua_State *L) {
  pawl_error err;
  const pawl_run *run = child_run(L);
  if (check_token_field(L) != 1) {
    pawl_fail(&err, PAWL_MISUSE, "ctx.token.%s cannot be set",
              lua_tostring(L, 2));
    pawl_error_hint(&err,
                    "what the token is to keep goes into "
                    "ctx.token.data");
    return raise(L, &err);
  }
  check_table(L, "ctx.token.data", "token.data");
  check_time(L, run, "ctx.token.data");
  lua_settop(L, 3);
  lua_setiuservalue(L, 1, TOKEN_DATA);
  return 0;
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
    pawl_fail(&err, PAWL_VALUE, "a table cannot be a parameter of a query");
    pawl_error_hint(&err, "give its parts, or its text as JSON");
    pawl_error_where(&err, "%s", path);
    raise(L, &err);
  }
  if (lua_isnil(L, idx))
    pawl_buf_addz(out, "null");
  else if (pawl_luajson_encode(L, idx, path, run->host->max_bytes, out,
                               &err) != PAWL_OK)
    raise(L, &err);
}

/* ctx.db:query(sql, ...) -> rows, changed */
static int db_query(lua_State *L) {
  pawl_run *run;
  pawl_buf *params, *rows;
  pawl_error err;
  pawl_code rc;
  pawl_str sql;
  int64_t changed = 0;
  int n = lua_gettop(L);
  if (!is_self(L))
    return raise_text(L, PAWL_MISUSE, "ctx.db:query(\"select ...\", ...)",
                      "ctx.db:query is called with a colon");
  run = child_run(L);
  sql.at = luaL_checklstring(L, 2, &sql.len);
  params = push_buf(L, run);
  rows = push_buf(L, run);
  pawl_buf_addc(params, '[');
  for (int i = 3; i <= n; i++) {
    if (i > 3) pawl_buf_addc(params, ',');
    add_param(L, run, i, params);
  }
  pawl_buf_addc(params, ']');
  check_time(L, run, "ctx.db:query");
  check_service(L, run, "ctx.db:query");
  run->host->serving = 1;
  rc = pawl_buf_check(params, &err);
  if (rc == PAWL_OK)
    rc = run->call->services->query(run->call, sql, pawl_buf_str(params), rows,
                                    &changed, &err);
  run->host->serving = 0;
  if (rc != PAWL_OK || pawl_buf_check(rows, &err) != PAWL_OK)
    return raise(L, &err);
  pawl_buf_deinit(params);
  push_decoded(L, rows->len ? pawl_buf_str(rows) : pawl_strz("[]"));
  pawl_buf_deinit(rows);
  lua_pushinteger(L, changed);
  return 2;
}

/* (upvalues: the metatable, query) */
static int db_index(lua_State *L) {
  child_run(L);
  if (lua_type(L, 2) == LUA_TSTRING &&
      strcmp(lua_tostring(L, 2), DB_NAMES[0]) == 0) {
    lua_pushvalue(L, lua_upvalueindex(2));
    return 1;
  }
  return raise_unknown(L, 2, "ctx.db", DB_NAMES, 1);
}

/* ---- ctx ---- */

/* Pushes ctx.token, ctx.attrs or ctx.db: a userdata that holds the ctx at
 * idx 1. */
static void push_child(lua_State *L, pawl_run *run, int slot, int nvalues) {
  lua_newuserdatauv(L, 0, nvalues);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  pawl_host_push_slot(run->host, L, slot);
  lua_setmetatable(L, -2);
}

static void push_db(lua_State *L, pawl_run *run) {
  const pawl_call *call = run->call;
  pawl_error err;
  if (call->transactional && call->services->query) {
    push_child(L, run, PAWL_SLOT_DB, 1);
    return;
  }
  pawl_fail(&err, PAWL_MISUSE,
            "node \"%s\" is not transactional: it has no "
            "ctx.db",
            call->node);
  pawl_error_hint(&err, "write transactional = true into its options");
  raise(L, &err);
}

static void push_str(lua_State *L, pawl_str s) {
  if (s.at)
    lua_pushlstring(L, s.at, s.len);
  else
    lua_pushnil(L);
}

static void push_visit(lua_State *L, const pawl_run *run) {
  const pawl_call *call = run->call;
  pawl_error err;
  int64_t n;
  if (call->services->visits(call, &n, &err) != PAWL_OK) (void)raise(L, &err);
  lua_pushinteger(L, n);
}

static void push_function(lua_State *L, lua_CFunction f) {
  lua_pushvalue(L, 1);
  lua_pushcclosure(L, f, 1);
}

/* Pushes a plain field; 0: it is one that is kept once made. */
static int push_plain(lua_State *L, const pawl_call *call, int field) {
  switch (field) {
    case CTX_ID:
      lua_pushstring(L, call->id);
      return 1;
    case CTX_WORKFLOW:
      lua_pushstring(L, call->workflow);
      return 1;
    case CTX_VERSION:
      lua_pushinteger(L, call->version);
      return 1;
    case CTX_NODE:
      lua_pushstring(L, call->node);
      return 1;
    case CTX_ATTEMPT:
      lua_pushinteger(L, call->attempt);
      return 1;
    case CTX_TENANT:
      push_str(L, call->tenant);
      return 1;
    case CTX_CORRELATION_ID:
      push_str(L, call->correlation);
      return 1;
    default:
      return 0;
  }
}

/* JSON, or nothing for nil */
static void push_value(lua_State *L, pawl_str text) {
  if (text.len)
    push_decoded(L, text);
  else
    lua_pushnil(L);
}

static void push_made(lua_State *L, pawl_run *run, int field) {
  switch (field) {
    case CTX_VARS:
      push_decoded(L, run->call->vars);
      break;
    case CTX_INPUT:
      push_value(L, run->call->input);
      break;
    case CTX_EVENT:
      push_value(L, run->call->event);
      break;
    case CTX_OUTPUT:
      push_value(L, run->call->output);
      break;
    case CTX_TOKEN:
      push_child(L, run, PAWL_SLOT_TOKEN, TOKEN_END - 1);
      break;
    case CTX_VISIT:
      push_visit(L, run);
      break;
    case CTX_ATTRS:
      push_child(L, run, PAWL_SLOT_ATTRS, ATTRS_END - 1);
      break;
    case CTX_DB:
      push_db(L, run);
      break;
    case CTX_NOW:
      push_function(L, ctx_now);
      break;
    case CTX_LOG:
      push_function(L, ctx_log);
      break;
    case CTX_HEARTBEAT:
      push_function(L, ctx_heartbeat);
      break;
    case CTX_AWAIT:
      push_function(L, ctx_await);
      break;
    case CTX_CANCELLED:
      push_function(L, ctx_cancelled);
      break;
    case CTX_IDEMPOTENCY_KEY:
      push_function(L, ctx_idempotency_key);
      break;
    case CTX_EMIT:
      push_function(L, ctx_emit);
      break;
    case CTX_START:
      push_function(L, ctx_start);
      break;
    default:
      lua_pushnil(L);
      break;
  }
}

/* The field named at idx 2 (upvalue 2 is { name = number }); raises. */
static int check_field(lua_State *L) {
  int field;
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(2));
  field = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return field ? field : raise_unknown(L, 2, "ctx", CTX_NAMES, NNAMES);
}

static int ctx_index(lua_State *L) {
  pawl_run *run;
  int field;
  check_self(L);
  run = alive(L, lua_touserdata(L, 1));
  field = check_field(L);
  if (push_plain(L, run->call, field)) return 1;
  if (lua_getiuservalue(L, 1, field) != LUA_TNIL) return 1;
  push_made(L, run, field);
  keep_made(L, field);
  return 1;
}

static int ctx_newindex(lua_State *L) {
  pawl_error err;
  const pawl_run *run;
  int field;
  check_self(L);
  run = alive(L, lua_touserdata(L, 1));
  field = check_field(L);
  if (field != CTX_VARS) {
    pawl_fail(&err, PAWL_MISUSE, "ctx.%s cannot be set", lua_tostring(L, 2));
    pawl_error_hint(&err, "what is to be kept goes into ctx.vars");
    return raise(L, &err);
  }
  check_table(L, "ctx.vars", "vars");
  check_time(L, run, "ctx.vars");
  lua_settop(L, 3);
  lua_setiuservalue(L, 1, CTX_VARS);
  return 0;
}

static int ctx_tostring(lua_State *L) {
  pawl_ctx *ctx;
  check_self(L);
  ctx = lua_touserdata(L, 1);
  if (ctx->run)
    lua_pushfstring(L, "pawl.ctx: %s, node %s", ctx->run->call->id,
                    ctx->run->call->node);
  else
    lua_pushliteral(L, "pawl.ctx: ended");
  return 1;
}

/* ---- for coro.c and host.c ---- */

void pawl_ctx_push(pawl_run *run, lua_State *L) {
  pawl_ctx *ctx = lua_newuserdatauv(L, sizeof *ctx, CTX_END - 1);
  ctx->run = run;
  run->ctx = ctx;
  pawl_host_push_slot(run->host, L, PAWL_SLOT_CTX);
  lua_setmetatable(L, -2);
}

void pawl_ctx_end(pawl_ctx *ctx) {
  if (ctx) ctx->run = NULL;
}

pawl_code pawl_ctx_push_event(pawl_run *run, lua_State *L, int idx) {
  pawl_code rc;
  if (!run->call->event.len) {
    lua_pushnil(L);
    return PAWL_OK;
  }
  idx = lua_absindex(L, idx);
  rc = decode_stored(L, run->call->event, run->caught.err);
  if (rc != PAWL_OK) return rc;
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, idx, CTX_EVENT);
  return PAWL_OK;
}

/* A table of the handler's that is written back when it changed. */
typedef struct kept {
  const char *name, *path; /* "ctx.token.data", "token.data" */
  pawl_str before;         /* as it was given */
  pawl_buf *after;
  int *changed;
} kept;

/* Was the object changed, or is it only written in another way? */
static pawl_code is_changed(pawl_run *run, lua_State *L, const kept *k,
                            int *out) {
  pawl_buf *before = &run->before;
  pawl_code rc = decode_stored(L, k->before, run->caught.err);
  if (rc != PAWL_OK) return rc;
  pawl_buf_clear(before);
  rc = pawl_luajson_encode(L, -1, k->path, 0, before, run->caught.err);
  lua_pop(L, 1);
  if (rc == PAWL_OK) rc = pawl_buf_check(before, run->caught.err);
  *out = !pawl_str_eq(pawl_buf_str(before), pawl_buf_str(k->after));
  return rc;
}

/* The text of *k differs from what was given. */
static pawl_code accept_kept(pawl_run *run, lua_State *L, const kept *k) {
  pawl_code rc;
  pawl_error *err = run->caught.err;
  int changed = 0;
  if (k->after->at[0] != '{') {
    rc = pawl_fail(err, PAWL_VALUE, "%s is a list", k->name);
    pawl_error_hint(err, "what it holds has names: %s.items = { ... }",
                    k->name);
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
  rc = pawl_fail(err, PAWL_VALUE, "`%s` of node \"%s\" changed %s",
                 pawl_handler_name(run->call->handler), run->call->node,
                 k->name);
  pawl_error_hint(err, "only a step may: move it to the `run` of one");
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
    if (rc == PAWL_OK) rc = pawl_buf_check(k->after, err);
    if (rc == PAWL_OK && !pawl_str_eq(pawl_buf_str(k->after), k->before))
      rc = accept_kept(run, L, k);
    if (!*k->changed) pawl_buf_clear(k->after);
  }
  lua_pop(L, 1);
  return rc;
}

static pawl_code take_vars(pawl_run *run, lua_State *L, int idx) {
  kept k = {"ctx.vars", "vars", run->call->vars, &run->result->vars,
            &run->result->vars_changed};
  lua_getiuservalue(L, idx, CTX_VARS);
  return take_kept(run, L, &k);
}

static pawl_code take_data(pawl_run *run, lua_State *L, int idx) {
  kept k = {"ctx.token.data", "token.data", given_data(run->call),
            &run->result->data, &run->result->data_changed};
  pawl_code rc = PAWL_OK;
  if (lua_getiuservalue(L, idx, CTX_TOKEN) == LUA_TUSERDATA) {
    lua_getiuservalue(L, -1, TOKEN_DATA);
    rc = take_kept(run, L, &k);
  }
  lua_pop(L, 1);
  return rc;
}

static pawl_code take_attrs(pawl_run *run, lua_State *L, int idx) {
  pawl_buf *out = &run->result->attrs;
  pawl_code rc = PAWL_OK;
  if (lua_getiuservalue(L, idx, CTX_ATTRS) == LUA_TUSERDATA) {
    if (lua_getiuservalue(L, -1, ATTRS_WRITTEN) == LUA_TTABLE) {
      rc = pawl_luajson_encode(L, -1, "attrs", run->host->max_bytes, out,
                               run->caught.err);
      if (rc == PAWL_OK) rc = pawl_buf_check(out, run->caught.err);
      run->result->attrs_changed = rc == PAWL_OK;
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return rc;
}

/* Ends the array that add_member began, if it did. */
static pawl_code close_list(pawl_run *run, pawl_buf *list) {
  if (list->len) pawl_buf_addc(list, ']');
  return pawl_buf_check(list, run->caught.err);
}

pawl_code pawl_ctx_take(pawl_run *run, lua_State *L, int idx) {
  pawl_code rc;
  TRY(take_vars(run, L, idx));
  TRY(take_data(run, L, idx));
  TRY(take_attrs(run, L, idx));
  TRY(close_list(run, &run->result->emits));
  TRY(close_list(run, &run->result->starts));
out:
  return rc;
}

/* Begins a metatable: on the stack it stays under what follows. Its functions
 * get it as upvalue 1. */
static void begin_metatable(lua_State *L, const char *name) {
  lua_createtable(L, 0, 5);
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
}

/* Adds a function; what lies on top of the metatable is its upvalue 2. */
static void set_method(lua_State *L, const char *name, lua_CFunction f,
                       int nextra) {
  lua_pushvalue(L, -1 - nextra);
  if (nextra) lua_insert(L, -2);
  lua_pushcclosure(L, f, 1 + nextra);
  lua_setfield(L, -2, name);
}

static void push_fields(lua_State *L) {
  lua_createtable(L, 0, NNAMES);
  for (int i = 0; i < NNAMES; i++) {
    lua_pushinteger(L, i + 1);
    lua_setfield(L, -2, CTX_NAMES[i]);
  }
}

void pawl_ctx_open(pawl_host *host, lua_State *L) {
  begin_metatable(L, "pawl.ctx");
  push_fields(L);
  set_method(L, "__index", ctx_index, 1);
  push_fields(L);
  set_method(L, "__newindex", ctx_newindex, 1);
  set_method(L, "__tostring", ctx_tostring, 0);
  pawl_host_set_slot(host, L, PAWL_SLOT_CTX);

  begin_metatable(L, "pawl.attrs");
  set_method(L, "__index", attrs_index, 0);
  set_method(L, "__newindex", attrs_newindex, 0);
  set_method(L, "__pairs", attrs_pairs, 0);
  pawl_host_set_slot(host, L, PAWL_SLOT_ATTRS);

  begin_metatable(L, "pawl.token");
  set_method(L, "__index", token_index, 0);
  set_method(L, "__newindex", token_newindex, 0);
  pawl_host_set_slot(host, L, PAWL_SLOT_TOKEN);

  begin_metatable(L, "pawl.db");
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, db_query, 1);
  set_method(L, "__index", db_index, 1);
  pawl_host_set_slot(host, L, PAWL_SLOT_DB);
}
