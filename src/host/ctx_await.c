/* ctx.await: a handler that stands still. */
#include <limits.h>
#include <string.h>

#include "ctx.h"

static const char SHAPE[] =
    "ctx.await(seconds), ctx.await(predicate), ctx.await{ fd = n, events = "
    "\"r\", timeout = seconds }";

static int raise_await(lua_State *L, const char *hint, const char *message) {
  return pawl_ctx_raise_text(L, PAWL_MISUSE, hint, "%s", message);
}

/* Only from where Lua can be left and come back to. */
static void check_may_wait(lua_State *L, const pawl_run *run) {
  const pawl_call *call = run->call;
  pawl_ctx_check_granted(L, run, "await", "await", NULL,
                         !run->host->meter || run->host->meter->limits->await);
  if (call->transactional)
    pawl_ctx_raise_text(L, PAWL_MISUSE,
                        "wait in a step before it; a transaction that waits "
                        "holds up everybody",
                        "node \"%s\" is transactional: it may not wait",
                        call->node);
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
  if (lua_type(L, idx) == LUA_TNUMBER && seconds >= 0)
    return (int64_t)((seconds < most ? seconds : most) * 1e6);
  return pawl_ctx_raise_text(L, PAWL_MISUSE, SHAPE,
                             "ctx.await: %s is not a number of seconds", what);
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
      pawl_ctx_raise_unknown(L, -2, "ctx.await", NAMES, 3);
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
  pawl_run *run = pawl_ctx_upvalue_run(L);
  pawl_error err;
  (void)status;
  (void)context;
  /* others have run meanwhile, and left the path to their folder */
  pawl_host_use_folder(run->host, L, run->call->ref);
  lua_settop(L, 1);
  if (run->why) {
    err = *run->why;
    return pawl_ctx_raise(L, &err);
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

/* Nothing of C outlives the yield: what goes on is await_over, with the same
 * stack. */
static int stand_still(lua_State *L, pawl_run *run) {
  run->waits = 1;
  return lua_yieldk(L, 0, 0, await_over);
}

/* The predicate, at idx 1, has answered, on top. */
static int predicate_told(lua_State *L, int status, lua_KContext context) {
  pawl_run *run = pawl_ctx_upvalue_run(L);
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

/* What is given besides might be meant as a time limit. */
static void check_alone(lua_State *L) {
  for (int i = lua_gettop(L); i > 1; i--)
    if (!lua_isnil(L, i))
      raise_await(L,
                  "only a descriptor has a `timeout`, in its table; a node's "
                  "own ends what waits longer",
                  "ctx.await takes one argument");
  lua_settop(L, 1);
}

/* ctx.await(seconds)
 * ctx.await(predicate) -> what it gave, once that is true
 * ctx.await{ fd =, events =, timeout = } -> events | nil, "timeout" */
static int ctx_await(lua_State *L, pawl_run *run) {
  check_may_wait(L, run);
  check_alone(L);
  run->await = (pawl_await){.kind = PAWL_AWAIT_TIME, .timeout_us = -1};
  switch (lua_type(L, 1)) {
    case LUA_TNUMBER:
      run->await.timeout_us = check_seconds(L, 1, "it");
      break;
    case LUA_TFUNCTION:
      return ask_predicate(L, run);
    case LUA_TTABLE:
      /* it is the program's, whatever its number */
      pawl_ctx_check_granted(L, run, "await of a descriptor", NULL, NULL,
                             !run->host->meter);
      read_fd(L, &run->await);
      break;
    default:
      return raise_await(L, SHAPE,
                         "ctx.await takes seconds, a function or a "
                         "descriptor");
  }
  return stand_still(L, run);
}

const pawl_ctx_member pawl_ctx_awaiting[] = {
    {"await", PAWL_CTX_CALL, PAWL_CTX_WAITS, SHAPE, ctx_await}, {NULL}};
