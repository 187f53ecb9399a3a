/* Opening and closing an engine from Lua, and its callbacks.
 *
 * A callback comes from wherever the core is: out of a tick that a coroutine
 * runs, out of a handler in another Lua state, out of closing. So it runs in a
 * thread of its own, and what it raises stays there. */
#include "lopen.h"

#include <string.h>

#include <lauxlib.h>

#include "../host/host.h"
#include "../value/luajson.h"
#include "lbox.h"
#include "lerror.h"

/* What lies on the keeper's stack: C closures over the callables given, nil
 * where none was, and the thread that runs them. */
enum {
  CLOCK_SLOT = 1,
  PASSED_SLOT,
  LOG_SLOT,
  TRACE_SLOT,
  COMMIT_SLOT,
  RUNNER_SLOT
};

/* ---- callbacks ---- */

/* Calls the closure in `slot` with `arg`, protected. What it raises is
 * dropped: a broken log must not stop a workflow. */
static int call_back(pawl_bind_box *box, int slot, void *arg) {
  lua_State *L = box->runner;
  if (!lua_checkstack(box->keeper, 1) || !lua_checkstack(L, 2)) return 0;
  lua_pushvalue(box->keeper, slot);
  lua_xmove(box->keeper, L, 1);
  lua_pushlightuserdata(L, arg);
  int status = lua_pcall(L, 1, 0, 0);
  if (status != LUA_OK) lua_pop(L, 1);
  return status == LUA_OK;
}

static int clock_protected(lua_State *L) {
  int64_t *us = lua_touserdata(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_call(L, 0, 1);
  if (!pawl_bind_to_us(L, -1, us))
    return luaL_error(L, "the clock must return seconds");
  return 0;
}

/* A clock that fails keeps its last value: time stands still, nothing fires
 * early and nothing is lost. */
static int64_t clock_callback(void *ud) {
  pawl_bind_box *box = ud;
  int64_t us = 0;
  if (call_back(box, CLOCK_SLOT, &us)) box->last_us = us;
  return box->last_us;
}

static int64_t passed_callback(void *ud) {
  pawl_bind_box *box = ud;
  int64_t us = 0;
  if (call_back(box, PASSED_SLOT, &us)) box->last_passed_us = us;
  return box->last_passed_us;
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
  pawl_bind_set_text(L, "instance", t->instance);
  pawl_bind_set_text(L, "workflow", t->workflow);
  pawl_bind_set_text(L, "node", t->node);
  pawl_bind_set_text(L, "kind", t->kind);
  pawl_bind_set_int(L, "attempt", t->attempt);
  pawl_bind_set_seconds(L, "at", t->at_us);
  if (t->outcome) { /* it ended */
    pawl_bind_set_seconds(L, "elapsed", t->elapsed_us);
    pawl_bind_set_text(L, "outcome", t->outcome);
    if (t->ended) pawl_bind_set_text(L, "ended", t->ended);
    pawl_bind_set_text(L, "detail", t->detail ? t->detail : "");
  }
  if (t->due_us) {
    pawl_bind_push_due(L, t->due_us);
    lua_setfield(L, -2, "due");
  }
  lua_call(L, 1, 0);
  return 0;
}

static void trace_callback(void *ud, const pawl_trace *trace) {
  call_back(ud, TRACE_SLOT, &trace);
}

typedef struct commit_call {
  int is_done, dies;
} commit_call;

static int commit_protected(lua_State *L) {
  commit_call *c = lua_touserdata(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushboolean(L, c->is_done);
  lua_call(L, 1, 1);
  c->dies = lua_toboolean(L, -1);
  return 0;
}

static int commit_callback(void *ud, int is_done) {
  commit_call c = {is_done, 0};
  call_back(ud, COMMIT_SLOT, &c);
  return c.dies;
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

/* ---- functions for handlers ----
 * Each is a closure in a slot of the keeper's behind the callbacks', and a
 * userdata that names it behind that. */

typedef struct lent {
  pawl_bind_box *box;
  int slot;
} lent;

typedef struct lent_call {
  const pawl_wanted *wanted;
  char **out;
  pawl_error *err;
  pawl_code rc;
} lent_call;

/* What a function has raised, or gave as its second value: text, a table with
 * code and message, or an error of ours. */
static void take_error(lua_State *L, lent_call *c) {
  const char *code = NULL, *message = NULL;
  c->rc = PAWL_SCRIPT;
  if (lua_istable(L, -1)) {
    if (lua_getfield(L, -1, "code") == LUA_TSTRING) code = lua_tostring(L, -1);
    if (lua_getfield(L, -2, "message") == LUA_TSTRING)
      message = lua_tostring(L, -1);
    if (lua_getfield(L, -3, "retry") == LUA_TBOOLEAN && !lua_toboolean(L, -1))
      c->rc = PAWL_INVALID;
    lua_pop(L, 3); /* held by the table */
  } else {
    message = lua_tostring(L, -1);
  }
  pawl_fail(c->err, c->rc, "%s", message ? message : code ? code : "?");
  if (code && strlen(code) < sizeof c->err->raised)
    pawl_copy_text(c->err->raised, sizeof c->err->raised, code);
}

static void push_wanted(lua_State *L, const pawl_wanted *w) {
  lua_createtable(L, 0, 8);
  pawl_bind_set_text(L, "name", w->name);
  pawl_bind_set_text(L, "instance", w->instance);
  pawl_bind_set_text(L, "workflow", w->workflow);
  pawl_bind_set_text(L, "node", w->node);
  pawl_bind_set_int(L, "attempt", w->attempt);
  pawl_bind_set_text(L, "key", w->key);
  pawl_bind_set_flag(L, "again", w->again);
  pawl_bind_set_flag(L, "gone", w->gone);
}

/* (the call; upvalue: the function) */
static int lent_protected(lua_State *L) {
  lent_call *c = lua_touserdata(L, 1);
  pawl_buf *text = pawl_host_push_buf(L);
  const pawl_str input = {c->wanted->input, c->wanted->length};
  const int base = lua_gettop(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  c->rc = pawl_luajson_decode(L, input, c->err);
  if (c->rc != PAWL_OK) return 0;
  push_wanted(L, c->wanted);
  if (lua_pcall(L, 2, 2, 0) != LUA_OK) {
    take_error(L, c);
    return 0;
  }
  if (lua_type(L, base + 2) == LUA_TSTRING &&
      strcmp(lua_tostring(L, base + 2), "wait") == 0) {
    c->rc = PAWL_BUSY;
  } else if (!lua_isnil(L, base + 2)) {
    take_error(L, c);
  } else if (!lua_isnil(L, base + 1)) {
    c->rc = pawl_luajson_encode(L, base + 1, "it", 0, text, c->err);
    if (c->rc == PAWL_OK) c->rc = pawl_buf_check(text, c->err);
    if (c->rc == PAWL_OK)
      c->rc = pawl_format(NULL, c->out, c->err, "%J", text->at);
  }
  return 0;
}

static pawl_code lent_callback(void *ud, const pawl_wanted *wanted, char **out,
                               pawl_error *err) {
  lent *which = ud;
  lent_call c = {wanted, out, err, PAWL_NOMEM};
  if (!call_back(which->box, which->slot, &c)) c.rc = PAWL_NOMEM;
  return c.rc;
}

/* Registers what the table `host` of the config has: names and callables. */
static pawl_code lend_all(lua_State *L, int config, pawl_bind_box *box,
                          pawl_error *err) {
  pawl_code rc = PAWL_OK;
  if (lua_getfield(L, config, "host") == LUA_TNIL) return PAWL_OK;
  for (lua_pushnil(L); rc == PAWL_OK && lua_next(L, -2);) {
    luaL_checkstack(box->keeper, 2, "too many functions");
    lua_pushcclosure(L, lent_protected, 1);
    lua_xmove(L, box->keeper, 1);
    lent *which = lua_newuserdatauv(L, sizeof *which, 0);
    lua_xmove(L, box->keeper, 1);
    which->box = box;
    which->slot = lua_gettop(box->keeper) - 1;
    PAWL_INSIDE(box, rc,
                pawl_register(box->engine, lua_tostring(L, -1), lent_callback,
                              which, NULL, err));
  }
  return rc;
}

/* ---- open and close ---- */

static int64_t config_int(lua_State *L, int config, const char *key) {
  int ok = 1;
  if (lua_getfield(L, config, key) == LUA_TNIL) {
    lua_pop(L, 1);
    return 0;
  }
  lua_Integer n = lua_tointegerx(L, -1, &ok);
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
  lua_getfield(L, config, key);
  int on = lua_toboolean(L, -1);
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
  size_t len = 0;
  if (lua_getfield(L, config, key) != LUA_TNIL)
    text = luaL_checklstring(L, -1, &len);
  if (text && strlen(text) != len)
    luaL_error(L, "option '%s' has a zero byte", key);
  lua_pop(L, 1);
  return text;
}

/* Bytes, which stay alive likewise. */
static void config_copy(lua_State *L, int config, pawl_config *out) {
  if (lua_getfield(L, config, "copy") != LUA_TNIL)
    out->copy = luaL_checklstring(L, -1, &out->copy_size);
  lua_pop(L, 1);
}

static void read_config(lua_State *L, int at, pawl_config *config) {
  config->group = config_text(L, at, "group");
  config->prefixes = config_text(L, at, "prefixes");
  config->tenant = config_text(L, at, "tenant");
  config->schema = config_text(L, at, "schema");
  config->retain = config_text(L, at, "retain");
  config->trust = config_text(L, at, "trust");
  config_copy(L, at, config);
  config->lease_us = config_int(L, at, "lease_us");
  config->heartbeat_us = config_int(L, at, "heartbeat_us");
  config->busy_us = config_int(L, at, "busy_us");
  config->flush_us = config_int(L, at, "flush_us");
  config->durability = config_small(L, at, "durability");
  config->max_bytes = config_int(L, at, "max_bytes");
  config->checkpoint_bytes = config_int(L, at, "checkpoint_bytes");
  config->memory_bytes = config_int(L, at, "memory_bytes");
  config->seed = config_int(L, at, "seed");
  config->batch = config_small(L, at, "batch");
  config->concurrency = config_small(L, at, "concurrency");
  config->recoveries = config_small(L, at, "recoveries");
  config->shards = config_small(L, at, "shards");
  config->create = config_small(L, at, "create");
  lua_getfield(L, at, "pooler");
  config->pooler = pooler_option(L, -1);
  lua_pop(L, 1);
  config->never_stop = 1; /* engine:interrupt lets a handler end, as a worker
                             does that is to stop */
  config->heartbeat_thread = config_flag(L, at, "heartbeat_thread");
  config->sync_thread = config_flag(L, at, "sync_thread");
  config->stored_code_own = config_flag(L, at, "stored_code_own");
  config->unknown_fail = config_flag(L, at, "unknown_fail");
  if (!config_flag(L, at, "private")) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    config->lua = lua_tothread(L, -1);
    lua_pop(L, 1);
  }
}

/* Pushes a closed box with its two threads, callbacks of the config kept. */
static pawl_bind_box *new_box(lua_State *L, int at, pawl_config *config) {
  pawl_bind_box *box = lua_newuserdatauv(L, sizeof *box, 2);
  memset(box, 0, sizeof *box);
  luaL_setmetatable(L, PAWL_ENGINE_MT);
  lua_State *keeper = lua_newthread(L);
  lua_setiuservalue(L, -2, 1);
  if (keep_callback(L, keeper, at, "clock", clock_protected))
    config->clock = clock_callback;
  if (keep_callback(L, keeper, at, "passed", clock_protected))
    config->passed = passed_callback;
  if (keep_callback(L, keeper, at, "log", log_protected))
    config->log = log_callback;
  if (keep_callback(L, keeper, at, "trace", trace_protected))
    config->trace = trace_callback;
  if (keep_callback(L, keeper, at, "commit", commit_protected))
    config->commit = commit_callback;
  box->runner = lua_newthread(L);
  lua_xmove(L, keeper, 1);
  box->keeper = keeper;
  config->clock_ud = config->log_ud = config->trace_ud = box;
  config->commit_ud = box;
  return box;
}

int pawl_bind_open(lua_State *L) {
  const char *url = luaL_optstring(L, 1, NULL);
  pawl_config config = PAWL_CONFIG_INIT;
  pawl_engine *engine = NULL;
  pawl_error err;
  pawl_code rc;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  read_config(L, 2, &config);
  pawl_bind_box *box = new_box(L, 2, &config);
  if (config.clock && !call_back(box, CLOCK_SLOT, &box->last_us))
    return luaL_error(L, "option 'clock' must return seconds when called");
  PAWL_INSIDE(box, rc, pawl_open(url, &config, &engine, &err));
  if (rc != PAWL_OK) return pawl_bind_failure(L, &err);
  box->engine = engine;
  const int at = lua_gettop(L); /* the box */
  rc = lend_all(L, 2, box, &err);
  lua_settop(L, at);
  if (rc == PAWL_OK) return 1;
  box->engine = NULL;
  PAWL_INSIDE(box, rc, (pawl_close(engine), rc));
  return pawl_bind_failure(L, &err);
}

int pawl_bind_set_nouns(lua_State *L) {
  luaL_checkudata(L, 1, PAWL_ENGINE_MT);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  lua_setiuservalue(L, 1, 2);
  return 0;
}

/* Both take and give the same. */
static int with_migrations(lua_State *L,
                           pawl_code (*call)(const char *, const pawl_config *,
                                             int, char **, pawl_error *)) {
  const char *url = luaL_optstring(L, 1, NULL);
  lua_Integer shards = luaL_optinteger(L, 2, 0);
  pawl_config config = PAWL_CONFIG_INIT;
  char *report = NULL;
  pawl_error err;
  luaL_argcheck(L, shards >= 0 && shards <= 32767, 2, "0 to 32767 shards");
  config.pooler = pooler_option(L, 3);
  config.schema = luaL_optstring(L, 4, NULL);
  if (call(url, &config, (int)shards, &report, &err) != PAWL_OK)
    return pawl_bind_failure(L, &err);
  return pawl_bind_take_json(L, NULL, report, NULL);
}

int pawl_bind_doctor(lua_State *L) {
  const char *url = luaL_optstring(L, 1, NULL);
  pawl_config config = PAWL_CONFIG_INIT;
  char *report = NULL;
  pawl_error err;
  config.pooler = pooler_option(L, 2);
  config.schema = luaL_optstring(L, 3, NULL);
  if (pawl_doctor(url, &config, &report, &err) != PAWL_OK)
    return pawl_bind_failure(L, &err);
  return pawl_bind_take_json(L, NULL, report, NULL);
}

int pawl_bind_migrate(lua_State *L) {
  return with_migrations(L, pawl_migrate);
}

int pawl_bind_migrations(lua_State *L) {
  return with_migrations(L, pawl_migrations);
}

/* :close(), __close and __gc: any number of times. */
int pawl_bind_close(lua_State *L) {
  pawl_bind_box *box = pawl_bind_self(L, "close");
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

int pawl_bind_tostring(lua_State *L) {
  const pawl_bind_box *box = luaL_checkudata(L, 1, PAWL_ENGINE_MT);
  if (box->engine)
    lua_pushfstring(L, "%s: %p", PAWL_ENGINE_MT, (const void *)box);
  else
    lua_pushliteral(L, PAWL_ENGINE_MT " (closed)");
  return 1;
}
