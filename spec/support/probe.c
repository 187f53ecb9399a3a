/* pawl.probe: the store as it is, for specs. A testing build has it in its
 * module.
 *
 *   probe.open(url, options) -> store | nil, err
 *     options: clock (function -> microseconds), pooler, create, migrate,
 *              schema
 *     (booleans), shards (integer)
 *   store:begin("batch" | "open" | "read") -> true | nil, err
 *   store:send(statement, {argument = value or list}) -> true | nil, err
 *     Lists may hold probe.null, or be {n = 3, 1, nil, 3}.
 *   store:commit() -> {{changed = n, {column = value, ...}, ...}, ...}
 *   store:can_submit() -> boolean
 *   store:submit() -> true | nil, err
 *   store:finish(n) -> what the oldest unit's first n statements gave
 *   store:rows(k) -> what the k-th statement gave, in an open unit
 *   store:rollback()
 *   store:query(sql, parameters...) -> {changed = n, {...}, ...} | nil, err
 *   store:limit(seconds)  of each query; 0: none
 *   store:wait(seconds) -> true, whether it was woken | nil, err
 *   store:now() -> microseconds, or nil: the database's own clock is used
 *   store:tidy() store:close() store:count() store:shards()
 *   store:versions() -> from, to  store:driver() -> "sqlite"
 *   probe.sql(url, text) -> rows | nil, err: raw SQL on a connection of its
 *     own; rows of a statement that begins with select, with, values or table
 *   probe.fault(spec, fn)  see base/fault.h; nil: no faults. `fn` is called
 *     with the point's name where the action is `call`; an error that it
 *     raises is printed and ends the program. Without one the last one stays.
 *   probe.row_cost(us)  of what a tick does besides steps; 0: as measured
 *   probe.shorten(n)  wherever there is keep_history it is n; 0: as it is
 *   probe.toy() -> {begin = n, ...}: calls of the third driver (toy.c), whose
 *     stores have URLs "toy:PATH" from when this module is loaded on
 *   probe.statements() -> {{name =, args = {{name =, type =, list =}}}, ...} */
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../src/base/fault.h"
#include "../../src/bind/lbox.h"
#include "../../src/engine/common/chore.h"
#include "../../src/engine/work/trim.h"
#include "../../src/host/host.h"
#include "../../src/store/drivers.h"
#include "../../src/store/store.h"
#include "toy.h"

#define STORE_MT "pawl.probe.store"

PAWL_API int luaopen_pawl_probe(lua_State *L);

enum { PROBE_SENT = 256 };

typedef struct box {
  pawl_store *store;
  pawl_args args;
  pawl_clock clock;
  lua_State *L; /* of the clock's function, which is user value 1 */
  int clock_ref;
  int64_t limit_us;
  pawl_stmt sent[512];       /* statements of the unit */
  int nsent, at[PROBE_SENT]; /* where the unit's results are */
} box;

static const char *const type_names[] = {
    [PAWL_T_BOOL] = "boolean",    [PAWL_T_INT] = "integer",
    [PAWL_T_FLOAT] = "float",     [PAWL_T_TEXT] = "text",
    [PAWL_T_JSON] = "json",       [PAWL_T_UUID] = "uuid",
    [PAWL_T_TIME] = "time",       [PAWL_T_BYTES] = "bytes",
    [PAWL_T_NUMERIC] = "numeric",
};

/* ---- errors ---- */

static int push_failure(lua_State *L, const pawl_error *err) {
  lua_pushnil(L);
  pawl_host_push_error(L, err);
  return 2;
}

static int push_done(lua_State *L, pawl_code rc, const pawl_error *err) {
  if (rc != PAWL_OK) return push_failure(L, err);
  lua_pushboolean(L, 1);
  return 1;
}

/* ---- values ---- */

static void push_cell(lua_State *L, pawl_type type, const pawl_cell *cell) {
  char text[37];
  if (cell->is_null) {
    lua_pushnil(L);
    return;
  }
  switch (type) {
    case PAWL_T_BOOL:
      lua_pushboolean(L, (int)cell->i);
      break;
    case PAWL_T_INT:
    case PAWL_T_TIME:
      lua_pushinteger(L, cell->i);
      break;
    case PAWL_T_FLOAT:
      lua_pushnumber(L, cell->d);
      break;
    case PAWL_T_UUID:
      pawl_id_format((const pawl_id *)(const void *)cell->s.at, text);
      lua_pushstring(L, text);
      break;
    default:
      lua_pushlstring(L, cell->s.at, cell->s.len);
  }
}

/* `names` NULL: the columns are those that the statement declares. */
static void push_rows(lua_State *L, const pawl_rows *rows,
                      const char *const *names, const pawl_type *types) {
  const pawl_param *cols = pawl_stmts[rows->stmt].cols;
  lua_createtable(L, rows->nrows, 1);
  pawl_bind_set_int(L, "changed", rows->changed);
  for (int i = 0; i < rows->nrows; i++) {
    lua_createtable(L, 0, rows->ncols);
    for (int k = 0; k < rows->ncols; k++) {
      pawl_type type = types ? types[k] : cols[k].type;
      push_cell(L, type, pawl_rows_cell(rows, i, k));
      lua_setfield(L, -2, names ? names[k] : cols[k].name);
    }
    lua_rawseti(L, -2, i + 1);
  }
}

static int is_null(lua_State *L, int at) {
  return lua_isnil(L, at) ||
         (lua_islightuserdata(L, at) && !lua_touserdata(L, at));
}

/* Bytes of an id live in the Lua string that `keep` (a table) holds. */
static void add_id(lua_State *L, box *b, int arg, int keep) {
  size_t len;
  pawl_id id;
  const char *text = luaL_checklstring(L, -1, &len);
  if (!pawl_id_parse(text, len, &id)) luaL_error(L, "%s is no id", text);
  const char *bytes = lua_pushlstring(L, (const char *)id.bytes, 16);
  lua_rawseti(L, keep, (lua_Integer)lua_rawlen(L, keep) + 1);
  pawl_args_add(&b->args, arg, &(pawl_cell){.s = {bytes, 16}});
}

/* The value on top of the stack, as an argument. */
static void add_value(lua_State *L, box *b, int arg, int keep) {
  const pawl_param *p = &pawl_stmts[b->args.stmt].args[arg];
  pawl_cell cell = {.is_null = is_null(L, -1)};
  if (!cell.is_null) {
    switch (p->type) {
      case PAWL_T_BOOL:
        cell.i = lua_toboolean(L, -1);
        break;
      case PAWL_T_INT:
      case PAWL_T_TIME:
        cell.i = luaL_checkinteger(L, -1);
        break;
      case PAWL_T_FLOAT:
        cell.d = luaL_checknumber(L, -1);
        break;
      case PAWL_T_UUID:
        add_id(L, b, arg, keep);
        return;
      default:
        cell.s.at = luaL_checklstring(L, -1, &cell.s.len);
    }
  }
  pawl_args_add(&b->args, arg, &cell);
}

static void add_column(lua_State *L, box *b, int arg, int keep) {
  lua_Integer n;
  if (lua_isnil(L, -1)) return;
  luaL_checktype(L, -1, LUA_TTABLE);
  lua_getfield(L, -1, "n");
  n = lua_isnil(L, -1) ? (lua_Integer)lua_rawlen(L, -2) : lua_tointeger(L, -1);
  lua_pop(L, 1);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, -1, i);
    add_value(L, b, arg, keep);
    lua_pop(L, 1);
  }
}

static int find_statement(const char *name) {
  for (int i = 0; i < PAWL_NSTMTS; i++)
    if (strcmp(pawl_stmts[i].name, name) == 0) return i;
  return -1;
}

static void check_names(lua_State *L, const pawl_stmt_info *info, int at) {
  lua_pushnil(L);
  while (lua_next(L, at)) {
    int i = 0;
    const char *name =
        lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "a number";
    while (i < info->nargs && strcmp(info->args[i].name, name) != 0) i++;
    if (i == info->nargs)
      luaL_error(L, "%s has no argument @%s", info->name, name);
    lua_pop(L, 1);
  }
}

/* ---- the store ---- */

static box *check_box(lua_State *L) {
  box *b = luaL_checkudata(L, 1, STORE_MT);
  if (!b->store) luaL_error(L, "the store is closed");
  return b;
}

static int64_t ask_clock(void *ud) {
  box *b = ud;
  lua_State *L = b->L;
  int64_t us = 0;
  lua_rawgeti(L, LUA_REGISTRYINDEX, b->clock_ref);
  if (lua_pcall(L, 0, 1, 0) == LUA_OK) us = lua_tointeger(L, -1);
  lua_pop(L, 1);
  return us;
}

static int has_flag(lua_State *L, int at, const char *key, int *is_true) {
  lua_getfield(L, at, key);
  int there = !lua_isnil(L, -1);
  *is_true = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return there;
}

/* The options' table at 2, which may be nil. */
static void read_options(lua_State *L, box *b, pawl_store_options *o) {
  int flag;
  if (lua_isnoneornil(L, 2)) return;
  luaL_checktype(L, 2, LUA_TTABLE);
  if (has_flag(L, 2, "pooler", &flag)) o->pooler = flag ? 1 : -1;
  if (has_flag(L, 2, "migrate", &flag)) o->migrate = flag;
  if (has_flag(L, 2, "create", &flag)) o->create = flag ? 1 : -1;
  lua_getfield(L, 2, "schema"); /* the table keeps it for the call */
  o->schema = lua_tostring(L, -1);
  lua_pop(L, 1);
  lua_getfield(L, 2, "shards");
  o->shards = (int)luaL_optinteger(L, -1, 0);
  lua_pop(L, 1);
  if (lua_getfield(L, 2, "clock") == LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  b->clock_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  b->clock = (pawl_clock){ask_clock, b};
  o->clock = &b->clock;
}

static int probe_open(lua_State *L) {
  const char *url = luaL_optstring(L, 1, NULL);
  pawl_store_options options = {0};
  pawl_error err;
  lua_settop(L, 2);
  box *b = lua_newuserdatauv(L, sizeof *b, 0);
  *b = (box){.clock_ref = LUA_NOREF};
  pawl_args_init(&b->args, NULL);
  luaL_setmetatable(L, STORE_MT);
  /* The main thread outlives every coroutine that might open a store. */
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  b->L = lua_tothread(L, -1);
  lua_pop(L, 1);
  read_options(L, b, &options);
  if (pawl_store_open(url, &options, &b->store, &err) != PAWL_OK)
    return push_failure(L, &err);
  return 1;
}

static int store_close(lua_State *L) {
  box *b = luaL_checkudata(L, 1, STORE_MT);
  pawl_store_close(b->store);
  b->store = NULL;
  pawl_args_deinit(&b->args);
  luaL_unref(L, LUA_REGISTRYINDEX, b->clock_ref);
  b->clock_ref = LUA_NOREF;
  return 0;
}

static int store_begin(lua_State *L) {
  static const char *const names[] = {"batch", "open", "read", "soon", NULL};
  static const int units[] = {PAWL_UNIT_BATCH, PAWL_UNIT_OPEN, PAWL_UNIT_READ,
                              PAWL_UNIT_SOON};
  box *b = check_box(L);
  int unit = units[luaL_checkoption(L, 2, "batch", names)];
  pawl_error err;
  b->nsent = 0;
  return push_done(L, pawl_store_begin(b->store, unit, &err), &err);
}

static int store_send(lua_State *L) {
  box *b = check_box(L);
  const char *name = luaL_checkstring(L, 2);
  int which = find_statement(name);
  pawl_error err;
  luaL_argcheck(L, which >= 0, 2, "no such statement");
  const pawl_stmt_info *info = &pawl_stmts[which];
  lua_settop(L, 3);
  if (lua_isnil(L, 3)) {
    lua_newtable(L);
    lua_replace(L, 3);
  }
  check_names(L, info, 3);
  lua_newtable(L); /* 4: what the arguments borrow */
  pawl_args_begin(&b->args, (pawl_stmt)which);
  for (int i = 0; i < info->nargs; i++) {
    lua_getfield(L, 3, info->args[i].name);
    if (info->args[i].is_array)
      add_column(L, b, i, 4);
    else
      add_value(L, b, i, 4);
    lua_pop(L, 1);
  }
  luaL_argcheck(L, b->nsent < PROBE_SENT, 2, "too many statements");
  pawl_code rc = pawl_store_send(b->store, &b->args, &b->at[b->nsent], &err);
  if (rc == PAWL_OK) b->nsent++;
  return push_done(L, rc, &err);
}

static void push_result(lua_State *L, box *b, int k) {
  pawl_rows rows;
  pawl_store_rows(b->store, k, &rows);
  push_rows(L, &rows, NULL, NULL);
}

/* `at` NULL: one after the other, as of a unit before the last. */
static int push_results(lua_State *L, box *b, const int *at, int n) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    push_result(L, b, at ? at[i] : i);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int store_commit(lua_State *L) {
  box *b = check_box(L);
  pawl_error err;
  if (pawl_store_commit(b->store, &err) != PAWL_OK)
    return push_failure(L, &err);
  return push_results(L, b, b->at, b->nsent);
}

static int store_can_submit(lua_State *L) {
  lua_pushboolean(L, pawl_store_can_submit(check_box(L)->store));
  return 1;
}

static int store_submit(lua_State *L) {
  box *b = check_box(L);
  pawl_error err;
  return push_done(L, pawl_store_submit(b->store, &err), &err);
}

static int store_finish(lua_State *L) {
  box *b = check_box(L);
  int n = (int)luaL_optinteger(L, 2, 0);
  pawl_error err;
  if (pawl_store_finish(b->store, &err) != PAWL_OK)
    return push_failure(L, &err);
  return push_results(L, b, NULL, n);
}

static int store_rows(lua_State *L) {
  box *b = check_box(L);
  lua_Integer k = luaL_checkinteger(L, 2);
  luaL_argcheck(L, k >= 1 && k <= b->nsent, 2, "no such result");
  push_result(L, b, b->at[k - 1]);
  return 1;
}

static int store_rollback(lua_State *L) {
  pawl_store_rollback(check_box(L)->store);
  return 0;
}

#define MAX_PARAMS 16

static pawl_type read_param(lua_State *L, int at, pawl_cell *cell) {
  *cell = (pawl_cell){0};
  switch (lua_type(L, at)) {
    case LUA_TBOOLEAN:
      cell->i = lua_toboolean(L, at);
      return PAWL_T_BOOL;
    case LUA_TNUMBER:
      if (lua_isinteger(L, at)) {
        cell->i = lua_tointeger(L, at);
        return PAWL_T_INT;
      }
      cell->d = lua_tonumber(L, at);
      return PAWL_T_FLOAT;
    case LUA_TSTRING:
      cell->s.at = lua_tolstring(L, at, &cell->s.len);
      return PAWL_T_TEXT;
    default:
      cell->is_null = 1;
      return PAWL_T_TEXT;
  }
}

static int store_query(lua_State *L) {
  box *b = check_box(L);
  pawl_cell params[MAX_PARAMS];
  pawl_type types[MAX_PARAMS];
  int n = lua_gettop(L) - 2;
  pawl_query q = {
      .params = params, .types = types, .nparams = n, .limit_us = b->limit_us};
  pawl_error err;
  q.sql.at = luaL_checklstring(L, 2, &q.sql.len);
  luaL_argcheck(L, n <= MAX_PARAMS, 2, "too many parameters");
  for (int i = 0; i < n; i++) types[i] = read_param(L, i + 3, &params[i]);
  if (pawl_store_query(b->store, &q, &err) != PAWL_OK)
    return push_failure(L, &err);
  push_rows(L, &q.rows, q.names, q.col_types);
  return 1;
}

static int64_t check_seconds(lua_State *L, int at) {
  return (int64_t)(luaL_checknumber(L, at) * (double)PAWL_SECOND);
}

static int store_limit(lua_State *L) {
  check_box(L)->limit_us = check_seconds(L, 2);
  return 0;
}

static int store_wait(lua_State *L) {
  box *b = check_box(L);
  int64_t deadline = pawl_clock_mono() + check_seconds(L, 2);
  pawl_error err;
  int woken;
  pawl_code rc =
      pawl_store_wait(b->store, deadline, NULL, NULL, 0, &woken, &err);
  if (rc != PAWL_OK) return push_failure(L, &err);
  lua_pushboolean(L, 1);
  lua_pushboolean(L, woken);
  return 2;
}

static int store_now(lua_State *L) {
  box *b = check_box(L);
  int64_t now = pawl_store_now(b->store);
  push_cell(L, PAWL_T_TIME, &(pawl_cell){.is_null = !now, .i = now});
  return 1;
}

static int store_tidy(lua_State *L) {
  pawl_store_tidy(check_box(L)->store);
  return 0;
}

static int store_shards(lua_State *L) {
  lua_pushinteger(L, pawl_store_shards(check_box(L)->store));
  return 1;
}

static int store_driver(lua_State *L) {
  lua_pushstring(L, pawl_store_driver(check_box(L)->store));
  return 1;
}

static int store_versions(lua_State *L) {
  int from, to;
  pawl_store_versions(check_box(L)->store, &from, &to);
  lua_pushinteger(L, from);
  lua_pushinteger(L, to);
  return 2;
}

static int store_count(lua_State *L) {
  pawl_counts counts;
  pawl_store_count(check_box(L)->store, &counts);
  return pawl_bind_push_counts(L, &counts);
}

/* ---- raw SQL ---- */

static int gives_rows(const char *sql) {
  static const char *const words[] = {"select", "with", "values", "table"};
  sql += strspn(sql, " \t\n(");
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strncmp(sql, words[i], strlen(words[i])) == 0) return 1;
  return 0;
}

/* Leaves its rows on the stack; raises nothing but Lua's memory errors. */
static pawl_code run_raw(lua_State *L, const pawl_driver *driver,
                         pawl_conn *conn, const char *sql, pawl_error *err) {
  pawl_query q = {.sql = pawl_strz(sql)};
  pawl_code rc;
  TRY(driver->begin(conn, PAWL_UNIT_OPEN, err));
  if (gives_rows(sql))
    TRY(driver->query(conn, &q, err));
  else
    TRY(driver->script(conn, sql, err));
  TRY(driver->commit(conn, err));
  push_rows(L, &q.rows, q.names, q.col_types);
out:
  driver->rollback(conn);
  return rc;
}

static int probe_sql(lua_State *L) {
  const char *url = luaL_checkstring(L, 1), *sql = luaL_checkstring(L, 2);
  const pawl_driver *driver = NULL;
  pawl_counts counts = {0};
  pawl_unsaved unsaved = {0};
  pawl_driver_options options = {.counts = &counts, .unsaved = &unsaved};
  pawl_conn *conn = NULL;
  pawl_error err;
  pawl_code rc;
  TRY(pawl_drivers_pick(url, &driver, &url, &err));
  TRY(driver->open(url, &options, &conn, &err));
  rc = run_raw(L, driver, conn, sql, &err);
  driver->close(conn);
out:
  return rc == PAWL_OK ? 1 : push_failure(L, &err);
}

/* Who is called at a fault's point, in the thread of the specs. */
static lua_State *hook_of;
static int hook_ref = LUA_NOREF;

static void call_hook(const char *point) {
  lua_State *L = hook_of;
  lua_rawgeti(L, LUA_REGISTRYINDEX, hook_ref);
  lua_pushstring(L, point);
  if (lua_pcall(L, 1, 0, 0) == LUA_OK) return;
  fprintf(stderr, "pawl: at %s: %s\n", point, luaL_tolstring(L, -1, NULL));
  abort(); /* no error may cross the engine, and none be passed over */
}

static int probe_fault(lua_State *L) {
  pawl_fault_set(luaL_optstring(L, 1, NULL));
  if (lua_isnoneornil(L, 2)) return 0;
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  luaL_unref(L, LUA_REGISTRYINDEX, hook_ref);
  hook_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  hook_of = L;
  pawl_fault_hook(call_hook);
  return 0;
}

static int probe_row_cost(lua_State *L) {
  pawl_chore_pretend(luaL_checkinteger(L, 1));
  return 0;
}

static int probe_shorten(lua_State *L) {
  pawl_trim_shorten(luaL_checkinteger(L, 1));
  return 0;
}

static int probe_toy(lua_State *L) {
  const pawl_toy_calls *calls = &pawl_toy_called;
  lua_newtable(L);
  pawl_bind_set_int(L, "begin", calls->begin);
  pawl_bind_set_int(L, "send", calls->send);
  pawl_bind_set_int(L, "commit", calls->commit);
  pawl_bind_set_int(L, "submit", calls->submit);
  pawl_bind_set_int(L, "finish", calls->finish);
  pawl_bind_set_int(L, "await", calls->await);
  pawl_bind_set_int(L, "rollback", calls->rollback);
  pawl_bind_set_int(L, "rows", calls->rows);
  pawl_bind_set_int(L, "script", calls->script);
  pawl_bind_set_int(L, "query", calls->query);
  pawl_bind_set_int(L, "wait", calls->wait);
  pawl_bind_set_int(L, "forget", calls->forget);
  return 1;
}

static int probe_statements(lua_State *L) {
  lua_createtable(L, PAWL_NSTMTS, 0);
  for (int i = 0; i < PAWL_NSTMTS; i++) {
    const pawl_stmt_info *info = &pawl_stmts[i];
    lua_newtable(L);
    pawl_bind_set_text(L, "name", info->name);
    lua_createtable(L, info->nargs, 0);
    for (int k = 0; k < info->nargs; k++) {
      lua_newtable(L);
      pawl_bind_set_text(L, "name", info->args[k].name);
      pawl_bind_set_text(L, "type", type_names[info->args[k].type]);
      lua_pushboolean(L, info->args[k].is_array);
      lua_setfield(L, -2, "list");
      lua_rawseti(L, -2, k + 1);
    }
    lua_setfield(L, -2, "args");
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static const luaL_Reg store_methods[] = {
    {"begin", store_begin},
    {"send", store_send},
    {"commit", store_commit},
    {"rows", store_rows},
    {"submit", store_submit},
    {"finish", store_finish},
    {"can_submit", store_can_submit},
    {"rollback", store_rollback},
    {"query", store_query},
    {"limit", store_limit},
    {"wait", store_wait},
    {"now", store_now},
    {"tidy", store_tidy},
    {"close", store_close},
    {"count", store_count},
    {"shards", store_shards},
    {"versions", store_versions},
    {"driver", store_driver},
    {NULL, NULL},
};

static const luaL_Reg probe_functions[] = {
    {"open", probe_open},
    {"sql", probe_sql},
    {"fault", probe_fault},
    {"statements", probe_statements},
    {"count", store_count},
    {"toy", probe_toy},
    {"shorten", probe_shorten},
    {"row_cost", probe_row_cost},
    {NULL, NULL},
};

PAWL_API int luaopen_pawl_probe(lua_State *L) {
  pawl_drivers_extra = &pawl_driver_toy;
  luaL_newmetatable(L, STORE_MT);
  luaL_newlib(L, store_methods);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, store_close);
  lua_setfield(L, -2, "__gc");
  lua_pushcfunction(L, store_close);
  lua_setfield(L, -2, "__close");
  luaL_newlib(L, probe_functions);
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
  return 1;
}
