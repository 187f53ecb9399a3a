#include "lengine.h"

#include <math.h>
#include <string.h>

#include <lauxlib.h>

#include "../base/buf.h"
#include "../base/clock.h"
#include "../host/host.h"
#include "../value/luajson.h"
#include "lerror.h"

/* What lies on the keeper's stack: C closures over the callables given, nil
 * where none was, and the thread that runs them. */
enum { CLOCK_SLOT = 1, LOG_SLOT, TRACE_SLOT, RUNNER_SLOT };

typedef struct engine_box {
  pawl_engine *engine; /* NULL: closed, or not open yet */
  /* Two threads, because a callback may call another (a log line asks for
   * the time): the keeper never runs, so its slots stay where they are. */
  lua_State *keeper, *runner;
  int64_t last_us; /* what the clock said last */
  int inside;      /* calls into the core under way */
} engine_box;

/* ---- arguments ---- */

/* Lua's own words, with the method's name and the argument's number as the
 * caller counts, however the method was called: luaL_argerror has neither
 * when a tail call or pcall has taken the name away. */
static int bad_argument(lua_State *L, int arg, const char *method,
                        const char *why) {
  return luaL_error(L, "bad argument #%d to '%s' (%s)", arg - 1, method, why);
}

static int bad_type(lua_State *L, int arg, const char *method,
                    const char *wanted) {
  const char *why =
      lua_pushfstring(L, "%s expected, got %s", wanted, luaL_typename(L, arg));
  return bad_argument(L, arg, method, why);
}

static const char *check_text(lua_State *L, int arg, const char *method) {
  if (!lua_isstring(L, arg)) bad_type(L, arg, method, "string");
  return lua_tostring(L, arg);
}

static const char *opt_text(lua_State *L, int arg, const char *method) {
  return lua_isnoneornil(L, arg) ? NULL : check_text(L, arg, method);
}

static lua_Integer opt_integer(lua_State *L, int arg, const char *method) {
  int ok = 1;
  lua_Integer n = 0;
  if (!lua_isnoneornil(L, arg)) n = lua_tointegerx(L, arg, &ok);
  if (!ok) bad_type(L, arg, method, "integer");
  return n;
}

/* ---- the box ---- */

static engine_box *check_self(lua_State *L, const char *method) {
  engine_box *box = luaL_testudata(L, 1, PAWL_ENGINE_MT);
  if (!box)
    luaL_error(L, "calling '%s' on a %s: write engine:%s(...)", method,
               luaL_typename(L, 1), method);
  return box;
}

static engine_box *check_box(lua_State *L, const char *method) {
  engine_box *box = check_self(L, method);
  if (!box->engine)
    pawl_bind_raise(L, PAWL_MISUSE, "open another engine with pawl.open",
                    "the engine is closed");
  return box;
}

/* For methods that change or ask the store: those wait their turn. */
static engine_box *check_idle(lua_State *L, const char *method) {
  engine_box *box = check_box(L, method);
  if (box->inside)
    pawl_bind_raise(L, PAWL_MISUSE,
                    "inside a handler use ctx; a callback may only note what "
                    "it was told",
                    "the engine was called from inside one of its own "
                    "handlers or callbacks");
  return box;
}

pawl_engine *pawl_bind_engine(lua_State *L, int idx) {
  engine_box *box = luaL_checkudata(L, idx, PAWL_ENGINE_MT);
  luaL_argcheck(L, box->engine, idx, "the engine is closed");
  return box->engine;
}

/* Runs a call into the core with the box marked as being inside. Lua may have
 * run since the box was checked, and a finalizer have closed the engine: the
 * core says so when it is given none. */
#define INSIDE(box, rc, call) \
  do {                        \
    (box)->inside++;          \
    (rc) = (call);            \
    (box)->inside--;          \
  } while (0)

/* ---- units ---- */

/* Seconds as Lua has them to microseconds; 0: not a time. */
static int to_us(lua_State *L, int idx, int64_t *us) {
  int is_number = 0;
  lua_Number seconds;
  if (lua_isinteger(L, idx)) {
    lua_Integer whole = lua_tointeger(L, idx);
    if (whole > PAWL_NEVER / PAWL_SECOND || whole < -PAWL_NEVER / PAWL_SECOND)
      return 0;
    *us = (int64_t)whole * PAWL_SECOND;
    return 1;
  }
  if (lua_type(L, idx) != LUA_TNUMBER) return 0;
  seconds = lua_tonumberx(L, idx, &is_number);
  if (!is_number || !(fabs(seconds) < 9.2e12)) return 0; /* NaN too */
  *us = (int64_t)llround(seconds * 1e6);
  return 1;
}

static int64_t check_us(lua_State *L, int arg, const char *method) {
  int64_t us = 0;
  if (lua_type(L, arg) != LUA_TNUMBER) bad_type(L, arg, method, "number");
  if (!to_us(L, arg, &us) || us < 0)
    bad_argument(L, arg, method, "seconds, 0 or more, expected");
  return us;
}

/* 0 when it is left out. */
static int64_t opt_us(lua_State *L, int arg, const char *method) {
  return lua_isnoneornil(L, arg) ? 0 : check_us(L, arg, method);
}

static void push_seconds(lua_State *L, int64_t us) {
  lua_pushnumber(L, (lua_Number)us / 1e6);
}

static void set_int(lua_State *L, const char *key, int64_t n) {
  lua_pushinteger(L, n);
  lua_setfield(L, -2, key);
}

static void set_text(lua_State *L, const char *key, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, key);
}

/* nil for never: nothing is scheduled. */
static void push_due(lua_State *L, int64_t us) {
  if (us == PAWL_NEVER)
    lua_pushnil(L);
  else
    push_seconds(L, us);
}

/* ---- text of the core to values ---- */

/* In the engine's records null stands for "none": in Lua that is no field, so
 * that `if instance.error` means what it says. Data of the workflow is left
 * alone: only direct fields of the record at the top go, and an input, which
 * may be null itself, stays. */
static void drop_nulls(lua_State *L) {
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    if (!lua_islightuserdata(L, -1) ||
        strcmp(lua_tostring(L, -2), "input") == 0)
      continue;
    lua_pushvalue(L, -2);
    lua_pushnil(L);
    lua_rawset(L, -5);
  }
}

/* The same for every record of the list at the top. */
static void drop_list_nulls(lua_State *L) {
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, -1, i);
    drop_nulls(L);
    lua_pop(L, 1);
  }
}

static void drop_instance_nulls(lua_State *L) {
  drop_nulls(L);
  if (lua_getfield(L, -1, "tokens") == LUA_TTABLE) drop_list_nulls(L);
  lua_pop(L, 1);
  if (lua_getfield(L, -1, "times") == LUA_TTABLE) drop_nulls(L);
  lua_pop(L, 1);
}

typedef struct decode_call {
  char *text;
  void (*tidy)(lua_State *L); /* of the value at the top; NULL: as it is */
} decode_call;

static int decode_protected(lua_State *L) {
  const decode_call *c = lua_touserdata(L, 1);
  pawl_error err;
  if (pawl_luajson_decode(L, pawl_strz(c->text), &err) != PAWL_OK)
    return pawl_bind_failure(L, &err); /* of memory, or nested too deep */
  if (c->tidy) c->tidy(L);
  return 1;
}

/* Pushes what `text` decodes to, or nil, err, and frees it, even when Lua
 * raises. How many values. */
static int push_json_take(lua_State *L, pawl_engine *engine, char *text,
                          void (*tidy)(lua_State *L)) {
  decode_call c = {text, tidy};
  int status, base = lua_gettop(L);
  lua_pushcfunction(L, decode_protected);
  lua_pushlightuserdata(L, &c);
  status = lua_pcall(L, 1, LUA_MULTRET, 0);
  pawl_free(engine, text);
  if (status != LUA_OK) lua_error(L);
  return lua_gettop(L) - base;
}

static int json_result(lua_State *L, engine_box *box, pawl_code rc, char *text,
                       void (*tidy)(lua_State *L), const pawl_error *err) {
  if (rc != PAWL_OK) return pawl_bind_failure(L, err);
  return push_json_take(L, box->engine, text, tidy);
}

/* Raises before the engine is asked: its answer must not be lost. */
static void check_how(lua_State *L, int idx, const char *method) {
  const char *how = opt_text(L, idx, method);
  if (how && strcmp(how, "table") != 0 && strcmp(how, "json") != 0)
    bad_argument(L, idx, method, "\"table\" or \"json\" expected");
}

static int push_text(lua_State *L) {
  lua_pushstring(L, lua_touserdata(L, 1));
  return 1;
}

/* The same for a reader who may want the engine's own text, nulls and all:
 * argument `how` is "json" then. */
static int record_result(lua_State *L, engine_box *box, pawl_code rc,
                         char *text, int how, void (*tidy)(lua_State *L),
                         const pawl_error *err) {
  int status;
  const char *word = lua_tostring(L, how);
  if (!word || strcmp(word, "json") != 0 || rc != PAWL_OK)
    return json_result(L, box, rc, text, tidy, err);
  lua_pushcfunction(L, push_text);
  lua_pushlightuserdata(L, text);
  status = lua_pcall(L, 1, 1, 0);
  pawl_free(box->engine, text);
  return status == LUA_OK ? 1 : lua_error(L);
}

/* The value at idx as JSON text in a collected buffer, pushed; NULL when it
 * cannot be stored (*err is filled). nil: empty text. */
static pawl_buf *encode_arg(lua_State *L, int idx, const char *path,
                            pawl_error *err) {
  pawl_buf *b = pawl_host_push_buf(L);
  if (lua_isnoneornil(L, idx)) return b;
  if (pawl_luajson_encode(L, idx, path, 0, b, err) != PAWL_OK) return NULL;
  if (pawl_buf_check(b, err) != PAWL_OK) return NULL;
  return b;
}

/* ---- callbacks ---- */

/* Calls the closure in `slot` with `arg`, protected. What it raises is
 * dropped: a broken log must not stop a workflow. */
static int call_back(engine_box *box, int slot, void *arg) {
  lua_State *L = box->runner;
  int status;
  if (!lua_checkstack(box->keeper, 1) || !lua_checkstack(L, 2)) return 0;
  lua_pushvalue(box->keeper, slot);
  lua_xmove(box->keeper, L, 1);
  lua_pushlightuserdata(L, arg);
  status = lua_pcall(L, 1, 0, 0);
  if (status != LUA_OK) lua_pop(L, 1);
  return status == LUA_OK;
}

static int clock_protected(lua_State *L) {
  int64_t *us = lua_touserdata(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_call(L, 0, 1);
  if (!to_us(L, -1, us)) return luaL_error(L, "the clock must return seconds");
  return 0;
}

/* A clock that fails keeps its last value: time stands still, nothing fires
 * early and nothing is lost. */
static int64_t clock_callback(void *ud) {
  engine_box *box = ud;
  int64_t us = 0;
  if (call_back(box, CLOCK_SLOT, &us)) box->last_us = us;
  return box->last_us;
}

typedef struct log_call {
  int level;
  const char *message, *fields;
} log_call;

static int log_protected(lua_State *L) {
  static const char *const levels[] = {"debug", "info", "warn", "error"};
  const log_call *c = lua_touserdata(L, 1);
  pawl_error err;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushstring(L, levels[c->level & 3]);
  lua_pushstring(L, c->message);
  if (pawl_luajson_decode(L, pawl_strz(c->fields ? c->fields : "{}"), &err) !=
      PAWL_OK)
    lua_newtable(L);
  lua_call(L, 3, 0);
  return 0;
}

static void log_callback(void *ud, int level, const char *message,
                         const char *fields) {
  log_call c = {level, message, fields};
  call_back(ud, LOG_SLOT, &c);
}

static int trace_protected(lua_State *L) {
  const pawl_trace *t = *(const pawl_trace **)lua_touserdata(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_createtable(L, 0, 10);
  set_text(L, "instance", t->instance);
  set_text(L, "workflow", t->workflow);
  set_text(L, "node", t->node);
  set_text(L, "kind", t->kind);
  set_int(L, "attempt", t->attempt);
  push_seconds(L, t->at_us);
  lua_setfield(L, -2, "at");
  if (t->outcome) { /* it ended */
    push_seconds(L, t->elapsed_us);
    lua_setfield(L, -2, "elapsed");
    set_text(L, "outcome", t->outcome);
    if (t->ended) set_text(L, "ended", t->ended);
    set_text(L, "detail", t->detail ? t->detail : "");
  }
  if (t->due_us) {
    push_due(L, t->due_us);
    lua_setfield(L, -2, "due");
  }
  lua_call(L, 1, 0);
  return 0;
}

static void trace_callback(void *ud, const pawl_trace *trace) {
  call_back(ud, TRACE_SLOT, &trace);
}

/* Puts config[key], which must be callable, into the keeper's next slot as
 * an upvalue of `fn`; nil when it is absent. 1: it is there. */
static int keep_callback(lua_State *L, lua_State *keeper, int config,
                         const char *key, lua_CFunction fn) {
  int type = lua_getfield(L, config, key);
  if (type != LUA_TNIL) lua_pushcclosure(L, fn, 1);
  lua_xmove(L, keeper, 1);
  return type != LUA_TNIL;
}

/* ---- open and close ---- */

static int64_t config_int(lua_State *L, int config, const char *key) {
  lua_Integer n;
  int ok = 1;
  if (lua_getfield(L, config, key) == LUA_TNIL) {
    lua_pop(L, 1);
    return 0;
  }
  n = lua_tointegerx(L, -1, &ok);
  if (!ok) luaL_error(L, "config field '%s' must be an integer", key);
  lua_pop(L, 1);
  return n;
}

static int32_t config_small(lua_State *L, int config, const char *key) {
  int64_t n = config_int(L, config, key);
  if (n < INT32_MIN || n > INT32_MAX)
    luaL_error(L, "config field '%s' is out of range", key);
  return (int32_t)n;
}

static int config_flag(lua_State *L, int config, const char *key) {
  int on;
  lua_getfield(L, config, key);
  on = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return on;
}

/* nil: it is found out. */
static int pooler_option(lua_State *L, int at) {
  if (lua_isnoneornil(L, at)) return 0;
  return lua_toboolean(L, at) ? 1 : -1;
}

/* The text stays alive in the config table for as long as the call runs. */
static const char *config_text(lua_State *L, int config, const char *key) {
  const char *text = NULL;
  if (lua_getfield(L, config, key) != LUA_TNIL) text = luaL_checkstring(L, -1);
  lua_pop(L, 1);
  return text;
}

static void read_config(lua_State *L, int at, pawl_config *config) {
  config->group = config_text(L, at, "group");
  config->prefixes = config_text(L, at, "prefixes");
  config->lease_us = config_int(L, at, "lease_us");
  config->heartbeat_us = config_int(L, at, "heartbeat_us");
  config->max_bytes = config_int(L, at, "max_bytes");
  config->batch = config_small(L, at, "batch");
  config->concurrency = config_small(L, at, "concurrency");
  config->recoveries = config_small(L, at, "recoveries");
  config->shards = config_small(L, at, "shards");
  config->create = config_small(L, at, "create");
  lua_getfield(L, at, "pooler");
  config->pooler = pooler_option(L, -1);
  lua_pop(L, 1);
  config->pulse = config_flag(L, at, "pulse");
  config->stored_code_own = config_flag(L, at, "stored_code_own");
  config->unknown_fail = config_flag(L, at, "unknown_fail");
  if (!config_flag(L, at, "private")) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    config->lua = lua_tothread(L, -1);
    lua_pop(L, 1);
  }
}

/* Pushes a closed box with its two threads, callbacks of the config kept. */
static engine_box *new_box(lua_State *L, int at, pawl_config *config) {
  engine_box *box = lua_newuserdatauv(L, sizeof *box, 1);
  lua_State *keeper;
  memset(box, 0, sizeof *box);
  luaL_setmetatable(L, PAWL_ENGINE_MT);
  keeper = lua_newthread(L);
  lua_setiuservalue(L, -2, 1);
  if (keep_callback(L, keeper, at, "clock", clock_protected))
    config->clock = clock_callback;
  if (keep_callback(L, keeper, at, "log", log_protected))
    config->log = log_callback;
  if (keep_callback(L, keeper, at, "trace", trace_protected))
    config->trace = trace_callback;
  box->runner = lua_newthread(L);
  lua_xmove(L, keeper, 1);
  box->keeper = keeper;
  config->clock_ud = config->log_ud = config->trace_ud = box;
  return box;
}

int pawl_bind_open(lua_State *L) {
  const char *url = luaL_optstring(L, 1, NULL);
  pawl_config config = PAWL_CONFIG_INIT;
  pawl_engine *engine = NULL;
  engine_box *box;
  pawl_error err;
  pawl_code rc;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  read_config(L, 2, &config);
  box = new_box(L, 2, &config);
  if (config.clock && !call_back(box, CLOCK_SLOT, &box->last_us))
    return luaL_error(L, "option 'clock' must return seconds when called");
  INSIDE(box, rc, pawl_open(url, &config, &engine, &err));
  if (rc != PAWL_OK) return pawl_bind_failure(L, &err);
  box->engine = engine;
  return 1;
}

int pawl_bind_migrate(lua_State *L) {
  const char *url = luaL_optstring(L, 1, NULL);
  lua_Integer shards = luaL_optinteger(L, 2, 0);
  pawl_config config = PAWL_CONFIG_INIT;
  char *report = NULL;
  pawl_error err;
  luaL_argcheck(L, shards >= 0 && shards <= 32767, 2, "0 to 32767 shards");
  config.pooler = pooler_option(L, 3);
  if (pawl_migrate(url, &config, (int)shards, &report, &err) != PAWL_OK)
    return pawl_bind_failure(L, &err);
  return push_json_take(L, NULL, report, NULL);
}

/* :close(), __close and __gc: any number of times. */
static int engine_close(lua_State *L) {
  engine_box *box = check_self(L, "close");
  pawl_engine *engine = box->engine;
  if (!engine) return 0;
  if (box->inside)
    pawl_bind_raise(L, PAWL_MISUSE, "close it after the call has returned",
                    "the engine was closed from inside one of its own "
                    "handlers or callbacks");
  box->engine = NULL;
  box->inside++; /* its last log lines must not come back in */
  pawl_close(engine);
  box->inside--;
  return 0;
}

static int engine_tostring(lua_State *L) {
  const engine_box *box = luaL_checkudata(L, 1, PAWL_ENGINE_MT);
  if (box->engine)
    lua_pushfstring(L, "%s: %p", PAWL_ENGINE_MT, (const void *)box);
  else
    lua_pushliteral(L, PAWL_ENGINE_MT " (closed)");
  return 1;
}

/* ---- definitions ---- */

/* Puts the workflow object at idx where the core takes it from. */
static void hand_over(lua_State *L, int idx) {
  lua_State *main;
  if (!lua_istable(L, idx) && !lua_isuserdata(L, idx))
    bad_type(L, idx, "load", "path or workflow");
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  main = lua_tothread(L, -1);
  if (!lua_checkstack(main, 1)) luaL_error(L, "stack overflow");
  lua_pushvalue(L, idx);
  if (main != L) lua_xmove(L, main, 1);
}

int pawl_bind_load(lua_State *L) {
  engine_box *box = check_idle(L, "load");
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  lua_settop(L, 2);
  if (lua_type(L, 2) == LUA_TSTRING) {
    INSIDE(box, rc, pawl_load(box->engine, lua_tostring(L, 2), &out, &err));
  } else {
    hand_over(L, 2);
    INSIDE(box, rc, pawl_load_stack(box->engine, &out, &err));
  }
  return json_result(L, box, rc, out, NULL, &err);
}

/* engine:check(path) -> graph | nil, err */
static int engine_check(lua_State *L) {
  engine_box *box = check_idle(L, "check");
  const char *path = check_text(L, 2, "check");
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  INSIDE(box, rc, pawl_check(box->engine, path, &out, &err));
  return json_result(L, box, rc, out, NULL, &err);
}

/* engine:graph(code, version?) -> graph | nil, err */
static int engine_graph(lua_State *L) {
  engine_box *box = check_idle(L, "graph");
  const char *code = check_text(L, 2, "graph");
  lua_Integer version = opt_integer(L, 3, "graph");
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  INSIDE(box, rc, pawl_graph(box->engine, code, version, &out, &err));
  return json_result(L, box, rc, out, NULL, &err);
}

/* ---- starting and running ---- */

int pawl_bind_start(lua_State *L) {
  engine_box *box = check_idle(L, "start");
  const char *code = check_text(L, 2, "start");
  const pawl_buf *input, *options;
  char id[37];
  int created = 1;
  pawl_error err;
  pawl_code rc;
  lua_settop(L, 4);
  if (!(input = encode_arg(L, 3, "input", &err)) ||
      !(options = encode_arg(L, 4, "options", &err)))
    return pawl_bind_failure(L, &err);
  INSIDE(box, rc,
         pawl_start(box->engine, code, input->at, input->len, options->at,
                    options->len, id, &created, &err));
  if (rc != PAWL_OK) return pawl_bind_failure(L, &err);
  lua_pushlstring(L, id, 36);
  lua_pushboolean(L, created);
  return 2;
}

int pawl_bind_start_many(lua_State *L) {
  engine_box *box = check_idle(L, "start_many");
  const char *code = check_text(L, 2, "start_many");
  const pawl_buf *items, *options;
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  lua_settop(L, 4);
  if (!(items = encode_arg(L, 3, "items", &err)) ||
      !(options = encode_arg(L, 4, "options", &err)))
    return pawl_bind_failure(L, &err);
  INSIDE(box, rc,
         pawl_start_many(box->engine, code, items->at, items->len, options->at,
                         options->len, &out, &err));
  return json_result(L, box, rc, out, NULL, &err);
}

static void push_stats(lua_State *L, const pawl_stats *s) {
  lua_createtable(L, 0, 9);
  set_int(L, "claimed", s->claimed);
  set_int(L, "steps", s->steps);
  set_int(L, "commits", s->commits);
  set_int(L, "committed", s->committed);
  set_int(L, "lost", s->lost);
  set_int(L, "ended", s->ended);
  set_int(L, "held", s->held);
  set_int(L, "waiting", s->waiting);
  push_due(L, s->next_due_us);
  lua_setfield(L, -2, "next_due");
}

/* engine:tick(seconds?) -> stats | nil, err */
static int engine_tick(lua_State *L) {
  engine_box *box = check_idle(L, "tick");
  int64_t budget_us = opt_us(L, 2, "tick");
  pawl_stats stats = {0};
  pawl_error err;
  pawl_code rc;
  INSIDE(box, rc, pawl_tick(box->engine, budget_us, &stats, &err));
  if (rc != PAWL_OK) return pawl_bind_failure(L, &err);
  push_stats(L, &stats);
  return 1;
}

/* engine:tick_instance(id, seconds?) -> status, stats | nil, err */
static int engine_tick_instance(lua_State *L) {
  engine_box *box = check_idle(L, "tick_instance");
  const char *id = check_text(L, 2, "tick_instance");
  int64_t budget_us = opt_us(L, 3, "tick_instance");
  const char *status = NULL;
  pawl_stats stats = {0};
  pawl_error err;
  pawl_code rc;
  INSIDE(
      box, rc,
      pawl_tick_instance(box->engine, id, budget_us, &stats, &status, &err));
  if (rc != PAWL_OK) return pawl_bind_failure(L, &err);
  lua_pushstring(L, status);
  push_stats(L, &stats);
  return 2;
}

/* engine:next_due() -> seconds (0: now) | nil (nothing) | nil, err */
static int engine_next_due(lua_State *L) {
  engine_box *box = check_idle(L, "next_due");
  int64_t due_us = 0;
  pawl_error err;
  pawl_code rc;
  INSIDE(box, rc, pawl_next_due(box->engine, &due_us, &err));
  if (rc != PAWL_OK) return pawl_bind_failure(L, &err);
  push_due(L, due_us);
  return 1;
}

/* engine:busy() -> boolean | nil, err */
static int engine_busy(lua_State *L) {
  engine_box *box = check_idle(L, "busy");
  int busy = 0;
  pawl_error err;
  pawl_code rc;
  INSIDE(box, rc, pawl_busy(box->engine, &busy, &err));
  if (rc != PAWL_OK) return pawl_bind_failure(L, &err);
  lua_pushboolean(L, busy);
  return 1;
}

/* engine:wait(seconds) -> true | nil, err */
static int engine_wait(lua_State *L) {
  engine_box *box = check_idle(L, "wait");
  int64_t for_us = check_us(L, 2, "wait");
  pawl_error err;
  pawl_code rc;
  int64_t now;
  INSIDE(box, now, pawl_now(box->engine));
  if (for_us > PAWL_NEVER - now) for_us = PAWL_NEVER - now;
  INSIDE(box, rc, pawl_wait(box->engine, now + for_us, &err));
  if (rc != PAWL_OK) return pawl_bind_failure(L, &err);
  lua_pushboolean(L, 1);
  return 1;
}

/* engine:interrupt(): also from a handler or callback. */
static int engine_interrupt(lua_State *L) {
  pawl_interrupt(check_box(L, "interrupt")->engine);
  return 0;
}

/* engine:now() -> seconds */
static int engine_now(lua_State *L) {
  engine_box *box = check_box(L, "now");
  int64_t us;
  INSIDE(box, us, pawl_now(box->engine)); /* its clock may be the caller's */
  push_seconds(L, us);
  return 1;
}

int pawl_bind_signal(lua_State *L) {
  engine_box *box = check_idle(L, "signal");
  const pawl_buf *signal;
  int64_t reached = 0;
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  lua_settop(L, 2);
  if (!(signal = encode_arg(L, 2, "signal", &err)))
    return pawl_bind_failure(L, &err);
  INSIDE(box, rc, pawl_signal(box->engine, signal->at, &reached, &out, &err));
  if (rc != PAWL_OK) return pawl_bind_failure(L, &err);
  lua_pushinteger(L, reached);
  return 1 + push_json_take(L, box->engine, out, NULL);
}

/* ---- asking and acting ---- */

/* engine:get(id, how?) -> instance | nil, err */
static int engine_get(lua_State *L) {
  engine_box *box = check_idle(L, "get");
  const char *id = check_text(L, 2, "get");
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  check_how(L, 3, "get");
  INSIDE(box, rc, pawl_get(box->engine, id, &out, &err));
  return record_result(L, box, rc, out, 3, drop_instance_nulls, &err);
}

int pawl_bind_list(lua_State *L) {
  engine_box *box = check_idle(L, "list");
  const pawl_buf *query;
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  lua_settop(L, 3);
  check_how(L, 3, "list");
  if (!(query = encode_arg(L, 2, "query", &err)))
    return pawl_bind_failure(L, &err);
  INSIDE(box, rc, pawl_list(box->engine, query->at, &out, &err));
  return record_result(L, box, rc, out, 3, drop_list_nulls, &err);
}

int pawl_bind_tokens(lua_State *L) {
  engine_box *box = check_idle(L, "tokens");
  const char *id = check_text(L, 2, "tokens");
  int everything = lua_toboolean(L, 3);
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  lua_settop(L, 4);
  check_how(L, 4, "tokens");
  INSIDE(box, rc, pawl_list_tokens(box->engine, id, everything, &out, &err));
  return record_result(L, box, rc, out, 4, drop_list_nulls, &err);
}

int pawl_bind_explain(lua_State *L) {
  engine_box *box = check_idle(L, "explain");
  const char *id = check_text(L, 2, "explain");
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  lua_settop(L, 2);
  lua_pushliteral(L, "json");
  INSIDE(box, rc, pawl_explain(box->engine, id, &out, &err));
  return record_result(L, box, rc, out, 3, NULL, &err);
}

int pawl_bind_outbox(lua_State *L) {
  engine_box *box = check_idle(L, "outbox");
  const pawl_buf *query;
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  lua_settop(L, 3);
  check_how(L, 3, "outbox");
  if (!(query = encode_arg(L, 2, "query", &err)))
    return pawl_bind_failure(L, &err);
  INSIDE(box, rc, pawl_outbox(box->engine, query->at, &out, &err));
  return record_result(L, box, rc, out, 3, drop_list_nulls, &err);
}

/* engine:history(id, how?) -> entries | nil, err */
static int engine_history(lua_State *L) {
  engine_box *box = check_idle(L, "history");
  const char *id = check_text(L, 2, "history");
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  check_how(L, 3, "history");
  INSIDE(box, rc, pawl_history(box->engine, id, &out, &err));
  return record_result(L, box, rc, out, 3, drop_list_nulls, &err);
}

int pawl_bind_tasks(lua_State *L) {
  engine_box *box = check_idle(L, "tasks");
  const pawl_buf *query;
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  lua_settop(L, 3);
  check_how(L, 3, "tasks");
  if (!(query = encode_arg(L, 2, "query", &err)))
    return pawl_bind_failure(L, &err);
  INSIDE(box, rc, pawl_tasks(box->engine, query->at, &out, &err));
  return record_result(L, box, rc, out, 3, drop_list_nulls, &err);
}

/* engine:task(id, how?) -> task | nil, err */
static int engine_task(lua_State *L) {
  engine_box *box = check_idle(L, "task");
  const char *id = check_text(L, 2, "task");
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  check_how(L, 3, "task");
  INSIDE(box, rc, pawl_task_get(box->engine, id, &out, &err));
  return record_result(L, box, rc, out, 3, drop_nulls, &err);
}

int pawl_bind_task_act(lua_State *L) {
  engine_box *box = check_idle(L, "task_act");
  const char *id = check_text(L, 2, "task_act");
  const pawl_buf *action;
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  lua_settop(L, 3);
  if (!(action = encode_arg(L, 3, "action", &err)))
    return pawl_bind_failure(L, &err);
  INSIDE(box, rc, pawl_task(box->engine, id, action->at, &out, &err));
  return json_result(L, box, rc, out, drop_nulls, &err);
}

/* engine:task_find(prefix) -> id | nil, err */
static int engine_task_find(lua_State *L) {
  engine_box *box = check_idle(L, "task_find");
  const char *prefix = check_text(L, 2, "task_find");
  char id[37];
  pawl_error err;
  pawl_code rc;
  INSIDE(box, rc, pawl_task_find(box->engine, prefix, id, &err));
  if (rc != PAWL_OK) return pawl_bind_failure(L, &err);
  lua_pushlstring(L, id, 36);
  return 1;
}

/* engine:find(prefix) -> id | nil, err */
static int engine_find(lua_State *L) {
  engine_box *box = check_idle(L, "find");
  const char *prefix = check_text(L, 2, "find");
  char id[37];
  pawl_error err;
  pawl_code rc;
  INSIDE(box, rc, pawl_find(box->engine, prefix, id, &err));
  if (rc != PAWL_OK) return pawl_bind_failure(L, &err);
  lua_pushlstring(L, id, 36);
  return 1;
}

int pawl_bind_change(lua_State *L) {
  engine_box *box = check_idle(L, "change");
  const char *id = check_text(L, 2, "change");
  const pawl_buf *change;
  int done = 0;
  pawl_error err;
  pawl_code rc;
  lua_settop(L, 3);
  if (!(change = encode_arg(L, 3, "change", &err)))
    return pawl_bind_failure(L, &err);
  INSIDE(box, rc, pawl_change(box->engine, id, change->at, &done, NULL, &err));
  if (rc != PAWL_OK) return pawl_bind_failure(L, &err);
  lua_pushboolean(L, 1);
  lua_pushboolean(L, done);
  return 2;
}

int pawl_bind_move(lua_State *L) {
  engine_box *box = check_idle(L, "move");
  int apply = lua_toboolean(L, 3);
  const pawl_buf *move;
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  lua_settop(L, 3);
  if (!(move = encode_arg(L, 2, "move", &err)))
    return pawl_bind_failure(L, &err);
  if (apply)
    INSIDE(box, rc, pawl_move(box->engine, move->at, &out, &err));
  else
    INSIDE(box, rc, pawl_plan_move(box->engine, move->at, &out, &err));
  return json_result(L, box, rc, out, NULL, &err);
}

int pawl_bind_health(lua_State *L) {
  engine_box *box = check_idle(L, "health");
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  lua_settop(L, 3);
  check_how(L, 3, "health");
  INSIDE(box, rc, pawl_health(box->engine, lua_toboolean(L, 2), &out, &err));
  return record_result(L, box, rc, out, 3, NULL, &err);
}

int pawl_bind_workflows(lua_State *L) {
  engine_box *box = check_idle(L, "workflows");
  const pawl_buf *query;
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  lua_settop(L, 3);
  check_how(L, 3, "workflows");
  if (!(query = encode_arg(L, 2, "query", &err)))
    return pawl_bind_failure(L, &err);
  INSIDE(box, rc, pawl_workflows(box->engine, query->at, &out, &err));
  return record_result(L, box, rc, out, 3, drop_list_nulls, &err);
}

int pawl_bind_workflow_change(lua_State *L) {
  engine_box *box = check_idle(L, "workflow_change");
  const pawl_buf *change;
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  lua_settop(L, 2);
  if (!(change = encode_arg(L, 2, "change", &err)))
    return pawl_bind_failure(L, &err);
  INSIDE(box, rc, pawl_workflow_change(box->engine, change->at, &out, &err));
  return json_result(L, box, rc, out, NULL, &err);
}

int pawl_bind_hotfix(lua_State *L) {
  engine_box *box = check_idle(L, "load");
  const pawl_buf *options;
  char *out = NULL;
  pawl_error err;
  pawl_code rc;
  lua_settop(L, 3);
  if (!(options = encode_arg(L, 3, "options", &err)))
    return pawl_bind_failure(L, &err);
  if (lua_type(L, 2) == LUA_TSTRING) {
    INSIDE(
        box, rc,
        pawl_hotfix(box->engine, lua_tostring(L, 2), options->at, &out, &err));
  } else {
    hand_over(L, 2);
    INSIDE(box, rc, pawl_hotfix(box->engine, NULL, options->at, &out, &err));
  }
  return json_result(L, box, rc, out, NULL, &err);
}

/* engine:executor() -> id */
static int engine_executor(lua_State *L) {
  char id[37];
  pawl_executor(check_box(L, "executor")->engine, id);
  lua_pushstring(L, id);
  return 1;
}

/* engine:counts() -> { trips, statements, transactions } */
static int engine_counts(lua_State *L) {
  pawl_counts counts;
  pawl_count(check_box(L, "counts")->engine, &counts);
  lua_createtable(L, 0, 3);
  set_int(L, "trips", counts.trips);
  set_int(L, "statements", counts.statements);
  set_int(L, "transactions", counts.transactions);
  return 1;
}

void pawl_bind_engine_methods(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", engine_close},
                                  {"__close", engine_close},
                                  {"__tostring", engine_tostring},
                                  {NULL, NULL}};
  static const luaL_Reg methods[] = {{"check", engine_check},
                                     {"graph", engine_graph},
                                     {"tick", engine_tick},
                                     {"tick_instance", engine_tick_instance},
                                     {"next_due", engine_next_due},
                                     {"busy", engine_busy},
                                     {"wait", engine_wait},
                                     {"interrupt", engine_interrupt},
                                     {"now", engine_now},
                                     {"executor", engine_executor},
                                     {"get", engine_get},
                                     {"history", engine_history},
                                     {"find", engine_find},
                                     {"task", engine_task},
                                     {"task_find", engine_task_find},
                                     {"counts", engine_counts},
                                     {"close", engine_close},
                                     {NULL, NULL}};
  if (luaL_newmetatable(L, PAWL_ENGINE_MT)) {
    luaL_setfuncs(L, meta, 0);
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
  }
  lua_getfield(L, -1, "__index");
  lua_remove(L, -2);
}
