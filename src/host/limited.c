#include "limited.h"

#include <string.h>

#include <lualib.h>

#include "bounded.h"
#include "toll.h"

enum {
  MAX_THREADS = 100, /* coroutines that run within one another */
  THREAD_COST = 200, /* instructions that making or resuming one costs */
  PRINT_MOST = 1000  /* bytes of a line that is printed */
};

/* By its address: the table of globals in the registry. */
static const char globals_key = 0;
/* In the metatable of what cannot be changed. */
static const char FROZEN[] = "pawl.frozen";

/* ---- errors that are caught ---- */

static int finish_pcall(lua_State *L, int status, lua_KContext skipped) {
  pawl_toll_recall(L); /* H9 */
  if (status == LUA_OK || status == LUA_YIELD)
    return lua_gettop(L) - (int)skipped;
  lua_pushboolean(L, 0);
  lua_pushvalue(L, -2);
  return 2;
}

static int limited_pcall(lua_State *L) {
  luaL_checkany(L, 1);
  lua_pushboolean(L, 1);
  lua_insert(L, 1);
  int status =
      lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, finish_pcall);
  return finish_pcall(L, status, 0);
}

/* (error; upvalue: the script's handler). No hook runs while a limit's error
 * is handled, so that the script may not. */
static int limited_handler(lua_State *L) {
  const pawl_meter *m = pawl_meter_of(L);
  lua_settop(L, 1);
  if (m && m->met) return 1;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

static int limited_xpcall(lua_State *L) {
  int n = lua_gettop(L);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_pushvalue(L, 2);
  lua_pushcclosure(L, limited_handler, 1);
  lua_replace(L, 2);
  lua_pushboolean(L, 1); /* the first result */
  lua_pushvalue(L, 1);
  lua_rotate(L, 3, 2); /* below the function's arguments */
  int status = lua_pcallk(L, n - 2, LUA_MULTRET, 2, 2, finish_pcall);
  return finish_pcall(L, status, 2);
}

/* ---- tables ---- */

/* A finalizer runs where no hook does, at any time. Lua looks for one here
 * alone: to add it to the metatable later is without effect. */
static int limited_setmetatable(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  if (lua_istable(L, 2)) {
    lua_pushliteral(L, "__gc");
    if (lua_rawget(L, 2) != LUA_TNIL)
      return luaL_error(L,
                        "a metatable with __gc is not allowed here: use "
                        "<close>");
    lua_pop(L, 1);
  }
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

static int is_frozen(lua_State *L, int idx) {
  int yes = 0;
  if (!lua_getmetatable(L, idx)) return 0;
  lua_pushstring(L, FROZEN);
  yes = lua_rawget(L, -2) != LUA_TNIL;
  lua_pop(L, 2);
  return yes;
}

static int limited_rawset(lua_State *L) {
  if (lua_istable(L, 1) && is_frozen(L, 1))
    return luaL_error(L, "this table cannot be changed");
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

static int refuse_change(lua_State *L) {
  if (lua_type(L, 2) == LUA_TSTRING)
    return luaL_error(L, "'%s' cannot be set: this table cannot be changed",
                      lua_tostring(L, 2));
  return luaL_error(L, "this table cannot be changed");
}

static int frozen_next(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  return lua_next(L, lua_upvalueindex(1)) ? 2 : 0;
}

/* (upvalue: the table behind it) */
static int frozen_pairs(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushcclosure(L, frozen_next, 1);
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  return 3;
}

/* Replaces the table on top by one that reads it and cannot be changed. */
void pawl_limited_freeze(lua_State *L) {
  lua_newtable(L);
  lua_createtable(L, 0, 5);
  lua_pushvalue(L, -3);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, refuse_change);
  lua_setfield(L, -2, "__newindex");
  lua_pushvalue(L, -3);
  lua_pushcclosure(L, frozen_pairs, 1);
  lua_setfield(L, -2, "__pairs");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pushboolean(L, 1);
  lua_setfield(L, -2, FROZEN);
  lua_setmetatable(L, -2);
  lua_replace(L, -2);
}

/* ---- coroutines ---- */

static lua_State *check_thread(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co, 1, "coroutine");
  return co;
}

/* Each new one is counted from its first instruction on, so that making them
 * has to be paid for. */
static int limited_create(lua_State *L) {
  pawl_toll_spend(L, THREAD_COST);
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State *co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  return 1;
}

static int enter_thread(lua_State *L, lua_State *co) {
  pawl_meter *m = pawl_meter_of(L);
  pawl_toll_spend(L, THREAD_COST);
  if (m->threads >= MAX_THREADS) return pawl_toll_meet(L, PAWL_LIMIT_DEPTH);
  m->threads++;
  m->running = co;
  pawl_meter_watch(m, co);
  return 1;
}

static void leave_thread(lua_State *L) {
  pawl_meter *m = pawl_meter_of(L);
  m->threads--;
  m->running = L;
  pawl_meter_watch(m, L);
}

/* With `nargs` on L's stack for co; -1: an error, on top. Else so many
 * results. */
static int resume(lua_State *L, lua_State *co, int nargs) {
  int n, status;
  if (!lua_checkstack(co, nargs)) {
    lua_pushliteral(L, "too many arguments to resume");
    return -1;
  }
  lua_xmove(L, co, nargs);
  enter_thread(L, co);
  status = lua_resume(co, L, nargs, &n);
  leave_thread(L);
  pawl_toll_recall(L); /* H9 */
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_xmove(co, L, 1);
    return -1;
  }
  if (!lua_checkstack(L, n + 1)) {
    lua_pop(co, n);
    lua_pushliteral(L, "too many results to resume");
    return -1;
  }
  lua_xmove(co, L, n);
  return n;
}

static int limited_resume(lua_State *L) {
  lua_State *co = check_thread(L);
  int n = resume(L, co, lua_gettop(L) - 1);
  lua_pushboolean(L, n >= 0);
  if (n < 0) n = 1;
  lua_insert(L, -(n + 1));
  return n + 1;
}

/* Lua's own close, behind the thread's end: (co) -> true | false, error */
static int close_thread(lua_State *L, lua_State *co) {
  int top = lua_gettop(L);
  enter_thread(L, co);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushthread(co);
  lua_xmove(co, L, 1);
  lua_call(L, 1, LUA_MULTRET);
  leave_thread(L);
  pawl_toll_recall(L); /* H9 */
  return lua_gettop(L) - top;
}

static int limited_close(lua_State *L) {
  lua_Debug ar;
  lua_State *co = check_thread(L);
  int status = lua_status(co);
  lua_settop(L, 1);
  /* one that runs Lua refuses to close */
  if (co == L || (status == LUA_OK && lua_getstack(co, 0, &ar)))
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
  return close_thread(L, co);
}

/* (upvalues: Lua's close, the coroutine) */
static int wrapped(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(2));
  int n = resume(L, co, lua_gettop(L)), status = lua_status(co);
  if (n >= 0) return n;
  if (status != LUA_OK && status != LUA_YIELD) {
    /* its variables are closed, and one that fails says why */
    lua_pop(L, 1);
    n = close_thread(L, co);
    if (n == 1) return luaL_error(L, "the coroutine has failed");
  }
  if (lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

/* (upvalue: Lua's close) */
static int limited_wrap(lua_State *L) {
  limited_create(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, -2);
  lua_pushcclosure(L, wrapped, 2);
  return 1;
}

static void bound_coroutines(lua_State *L) {
  lua_getglobal(L, LUA_COLIBNAME);
  lua_pushcfunction(L, limited_create);
  lua_setfield(L, -2, "create");
  lua_pushcfunction(L, limited_resume);
  lua_setfield(L, -2, "resume");
  lua_getfield(L, -1, "close");
  lua_pushcclosure(L, limited_wrap, 1);
  lua_setfield(L, -2, "wrap");
  lua_getfield(L, -1, "close");
  lua_pushcclosure(L, limited_close, 1);
  lua_setfield(L, -2, "close");
  lua_pop(L, 1);
}

/* ---- print ---- */

/* What is printed is logged: a program's output is not a script's. (upvalue:
 * the host) */
static int limited_print(lua_State *L) {
  pawl_host *host = lua_touserdata(L, lua_upvalueindex(1));
  char line[PRINT_MOST + 1] = "";
  size_t room = PRINT_MOST, at = 0;
  int n = lua_gettop(L);
  pawl_toll_effect(L);
  for (int i = 1; i <= n && room > 1; i++) {
    const char *text = luaL_tolstring(L, i, NULL);
    if (i > 1) line[at++] = ' ', room--;
    pawl_copy_text(line + at, room, text);
    room -= strlen(line + at);
    at += strlen(line + at);
    lua_pop(L, 1);
  }
  if (host->run)
    host->run->call->services->log(host->run->call, PAWL_INFO, line, "{}");
  else
    pawl_log_write(&host->log, PAWL_INFO, line, NULL);
  return 0;
}

/* ---- the state ---- */

static void open_library(lua_State *L, const char *name, lua_CFunction f) {
  luaL_requiref(L, name, f, 1);
  lua_pop(L, 1);
}

/* What our own modules need, and scripts get a part of. */
static void open_libraries(lua_State *L) {
  static const char *const gone[] = {
      "load", "loadfile", "dofile", "collectgarbage", "warn", "loadstring"};
  open_library(L, LUA_GNAME, luaopen_base);
  open_library(L, LUA_LOADLIBNAME, luaopen_package);
  open_library(L, LUA_COLIBNAME, luaopen_coroutine);
  open_library(L, LUA_TABLIBNAME, luaopen_table);
  open_library(L, LUA_STRLIBNAME, luaopen_string);
  open_library(L, LUA_MATHLIBNAME, luaopen_math);
  open_library(L, LUA_UTF8LIBNAME, luaopen_utf8);
  open_library(L, LUA_OSLIBNAME, luaopen_os);
  open_library(L, LUA_DBLIBNAME, luaopen_debug);
  for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
    lua_pushnil(L);
    lua_setglobal(L, gone[i]);
  }
}

/* Leaves of the table on top the names in the list. */
static void keep_only(lua_State *L, const char *const *names) {
  lua_newtable(L);
  for (; *names; names++) {
    lua_getfield(L, -2, *names);
    lua_setfield(L, -2, *names);
  }
  lua_replace(L, -2);
}

static void bound_base(pawl_host *host, lua_State *L) {
  static const char *const own[] = {"setmetatable", "rawset"};
  static const lua_CFunction ours[] = {limited_setmetatable, limited_rawset};
  for (int i = 0; i < 2; i++) {
    lua_getglobal(L, own[i]);
    lua_pushcclosure(L, ours[i], 1);
    lua_setglobal(L, own[i]);
  }
  lua_pushcfunction(L, limited_pcall);
  lua_setglobal(L, "pcall");
  lua_pushcfunction(L, limited_xpcall);
  lua_setglobal(L, "xpcall");
  lua_pushlightuserdata(L, host);
  lua_pushcclosure(L, limited_print, 1);
  lua_setglobal(L, "print");
}

/* Only what tells or formats times; the others reach the system. */
static void bound_os(lua_State *L) {
  static const char *const kept[] = {"clock", "date", "difftime", "time",
                                     NULL};
  lua_getglobal(L, LUA_OSLIBNAME);
  keep_only(L, kept);
  lua_setglobal(L, LUA_OSLIBNAME);
}

/* An error object's metatable belongs to all of them. */
static void protect_metatables(lua_State *L) {
  luaL_getmetatable(L, "pawl.error");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
}

static void make_globals(lua_State *L) {
  static const char *const functions[] = {
      "assert", "error",        "getmetatable", "ipairs",   "next",
      "pairs",  "pcall",        "print",        "rawequal", "rawget",
      "rawlen", "rawset",       "select",       "tonumber", "tostring",
      "type",   "setmetatable", "xpcall",       "_VERSION", NULL};
  static const char *const libraries[] = {LUA_STRLIBNAME,
                                          LUA_TABLIBNAME,
                                          LUA_MATHLIBNAME,
                                          LUA_UTF8LIBNAME,
                                          LUA_COLIBNAME,
                                          LUA_OSLIBNAME,
                                          NULL};
  lua_newtable(L);
  for (int i = 0; functions[i]; i++) {
    lua_getglobal(L, functions[i]);
    lua_setfield(L, -2, functions[i]);
  }
  for (int i = 0; libraries[i]; i++) {
    lua_getglobal(L, libraries[i]);
    pawl_limited_freeze(L);
    lua_setfield(L, -2, libraries[i]);
  }
  lua_rawsetp(L, LUA_REGISTRYINDEX, &globals_key);
}

void pawl_limited_open(pawl_host *host, lua_State *L) {
  open_libraries(L);
  pawl_bounded_open(L);
  bound_coroutines(L);
  bound_base(host, L);
  bound_os(L);
  protect_metatables(L);
  make_globals(L);
  pawl_toll_watch(L);
}

void pawl_limited_push_globals(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &globals_key);
}
