/* The Lua state's life, and what is in it before a definition is. */
#include <assert.h>
#include <unistd.h>

#include <lualib.h>

#include "../value/luajson.h"
#include "embedded.h"
#include "host_internal.h"
#include "limited.h"

static void preload(lua_State *L) {
  pawl_embedded_preload(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, pawl_host_open_core);
  lua_setfield(L, -2, "pawl.core");
  lua_pop(L, 1);
}

/* A program's own state may have the module from elsewhere: its files, or
 * another engine. */
static int has_core(lua_State *L, const char *table) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, table);
  const int has = lua_getfield(L, -1, "pawl.core") != LUA_TNIL;
  lua_pop(L, 2);
  return has;
}

/* os.exit of a private state. There is a program around it, whose work would
 * be gone, with a status that looks like success. */
static int refuse_exit(lua_State *L) {
  pawl_error err;
  pawl_fail_hint(&err, PAWL_MISUSE,
                 "a handler ends by return, or fails by "
                 "error { code =, message = }",
                 "os.exit would end the whole program");
  pawl_host_where(L, 1, err.where, sizeof err.where);
  pawl_host_push_error(L, &err);
  return lua_error(L);
}

static void replace_exit(lua_State *L) {
  lua_getglobal(L, LUA_OSLIBNAME);
  lua_pushcfunction(L, refuse_exit);
  lua_setfield(L, -2, "exit");
  lua_pop(L, 1);
}

static void seed_random(lua_State *L, int64_t seed) {
  lua_getglobal(L, LUA_MATHLIBNAME);
  lua_getfield(L, -1, "randomseed");
  lua_pushinteger(L, seed);
  lua_call(L, 1, 0);
  lua_pop(L, 1);
}

/* Makes the metatables that come into being with their first use: Lua's own of
 * buffers, and ours. One that memory fails between its name and its functions
 * would be found half made ever after, and every string.rep fail. */
static void make_metatables(lua_State *L) {
  luaL_Buffer b;
  pawl_error none;
  int top = lua_gettop(L);
  luaL_buffinitsize(L, &b, LUAL_BUFFERSIZE + 1); /* as large as needs one */
  luaL_pushresultsize(&b, 0);
  pawl_host_push_buf(L);
  pawl_fail_memory(&none);
  pawl_host_push_error(L, &none);
  pawl_luajson_array_mt(L);
  lua_settop(L, top);
}

/* (host) */
static int set_up(lua_State *L) {
  pawl_host *host = lua_touserdata(L, 1);
  luaL_checkversion(L);
  make_metatables(L);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, host);
  lua_pushlightuserdata(L, host);
  lua_pushcclosure(L, pawl_catch_value, 1);
  pawl_host_set_anchor(host, L, PAWL_ANCHOR_CATCH);
  /* Its own copy: a host may have taken `coroutine` away, and the function
   * behind it is not the same in all of Lua 5.4. */
  lua_pushcfunction(L, luaopen_coroutine);
  lua_call(L, 0, 1);
  lua_getfield(L, -1, "close");
  pawl_host_set_anchor(host, L, PAWL_ANCHOR_CLOSE);
  if (host->meter) {
    pawl_limited_open(host, L);
    preload(L);
  } else if (host->is_private) {
    luaL_openlibs(L);
    replace_exit(L);
    if (host->seed) seed_random(L, host->seed);
    pawl_bound_open(host, L);
    preload(L);
    pawl_host_push_path(L);
    pawl_host_set_anchor(host, L, PAWL_ANCHOR_PATH);
  } else {
    pawl_bound_open_lent(L);
    if (!has_core(L, LUA_LOADED_TABLE) && !has_core(L, LUA_PRELOAD_TABLE))
      preload(L);
  }
  pawl_ctx_open(host, L);
  return 0;
}

/* Sizes are passed on, since the host's allocator may be one that needs them.
 * */
static void *allocate(void *ud, void *ptr, size_t osize, size_t nsize) {
  const pawl_host *host = ud;
  /* For a new block Lua passes what it is for in osize. */
  if (!ptr && nsize == 0) return NULL;
  if (nsize && host->ration && pawl_ration_is_short(host->ration))
    pawl_bound_look_soon(host);
  return pawl_realloc(&host->alloc, ptr, ptr ? osize : 0, nsize);
}

/* Lua's warnings (an error in a __gc, a script's warn) come in pieces. */
static void warn(void *ud, const char *text, int is_continued) {
  pawl_host *host = ud;
  pawl_buf whole = {.alloc = &host->alloc};
  pawl_buf_addz(&host->warning, text);
  if (is_continued) return;
  pawl_buf_swap(&whole, &host->warning); /* logging may warn, too */
  /* "@on" and the like are orders to the standard handler. */
  if (whole.at && whole.at[0] != '@')
    pawl_log_write(&host->log, PAWL_WARN, whole.at, NULL);
  pawl_buf_deinit(&whole);
}

static pawl_code open_state(pawl_host *host, struct lua_State *L,
                            pawl_error *err) {
  host->is_private = L == NULL;
  if (!L) {
    L = host->meter ? lua_newstate(pawl_meter_alloc, host->meter)
                    : lua_newstate(allocate, host);
    if (!L)
      return pawl_fail(err, PAWL_NOMEM, "not enough memory for a Lua state");
    lua_setwarnf(L, warn, host);
  }
  if (!lua_checkstack(L, LUA_MINSTACK))
    return pawl_fail(err, PAWL_NOMEM, "not enough memory for Lua's stack");
  /* who opened us may have been a coroutine, and end before us */
  host->L = L;
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  host->main = lua_tothread(L, -1);
  lua_pop(L, 1);
  return PAWL_OK;
}

/* Not by pawl_host_protect, which needs what is set up here. */
static pawl_code set_up_state(pawl_host *host, pawl_error *err) {
  lua_State *L = host->L;
  pawl_code rc = PAWL_OK;
  lua_pushcfunction(L, set_up);
  lua_pushlightuserdata(L, host);
  int status = lua_pcall(L, 1, 0, 0);
  if (status == LUA_OK) return PAWL_OK;
  if (status == LUA_ERRMEM)
    rc = pawl_fail(err, PAWL_NOMEM, "not enough memory for a Lua state");
  else
    rc = pawl_fail(err, PAWL_INTERNAL, "the Lua state cannot be set up: %s",
                   lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "?");
  lua_pop(L, 1);
  return rc;
}

pawl_code pawl_host_open(const pawl_host_options *options, pawl_host **out,
                         pawl_error *err) {
  pawl_code rc;
  pawl_host *host = pawl_calloc(options->alloc, sizeof *host);
  if (!host)
    return pawl_fail(err, PAWL_NOMEM, "not enough memory for a Lua host");
  if (options->alloc) host->alloc = *options->alloc;
  if (options->log) host->log = *options->log;
  host->ration = options->ration;
  host->max_bytes = options->max_bytes;
  host->start = options->start;
  host->seed = options->seed;
  host->interrupted = options->interrupted;
  host->path_ref = -1;
  host->pid = getpid();
  host->warning.alloc = &host->alloc;
  TRY(open_state(host, options->lua, err));
  TRY(set_up_state(host, err));
  *out = host;
  host = NULL;
out:
  pawl_host_unmake(host);
  return rc;
}

pawl_code pawl_host_open_limited(pawl_host *parent, const pawl_limits *limits,
                                 pawl_host **out, pawl_error *err) {
  pawl_code rc;
  pawl_host *host = pawl_calloc(&parent->alloc, sizeof *host);
  pawl_meter *meter = pawl_calloc(&parent->alloc, sizeof *meter);
  if (!host || !meter) {
    pawl_release(&parent->alloc, host, sizeof *host);
    pawl_release(&parent->alloc, meter, sizeof *meter);
    return pawl_fail(err, PAWL_NOMEM, "not enough memory for a Lua host");
  }
  host->alloc = parent->alloc;
  host->log = parent->log;
  host->max_bytes = parent->max_bytes;
  host->start = parent->start;
  host->path_ref = -1;
  host->pid = parent->pid;
  host->warning.alloc = &host->alloc;
  host->parent = parent;
  host->fetch = parent->fetch;
  host->fetch_ud = parent->fetch_ud;
  host->meter = meter;
  host->ration = parent->ration;
  host->interrupted = parent->interrupted;
  meter->alloc = host->alloc;
  if (host->ration)
    meter->alloc = pawl_ration_alloc_over(host->ration); /* H8 */
  meter->ration = host->ration;
  meter->limits = limits;
  meter->host = host;
  TRY(open_state(host, NULL, err));
  TRY(set_up_state(host, err));
  *out = host;
  host = NULL;
out:
  pawl_host_unmake(host);
  return rc;
}

pawl_code pawl_host_open_bare(const pawl_host_options *options,
                              pawl_host **out, pawl_error *err) {
  pawl_host *host = pawl_calloc(options->alloc, sizeof *host);
  if (!host) return pawl_fail_memory(err);
  if (options->alloc) host->alloc = *options->alloc;
  if (options->log) host->log = *options->log;
  host->max_bytes = options->max_bytes;
  host->start = options->start;
  host->is_private = 1;
  host->path_ref = -1;
  host->pid = getpid();
  host->warning.alloc = &host->alloc;
  *out = host;
  return PAWL_OK;
}

void pawl_host_close_state(pawl_host *host) {
  lua_State *main = host->main;
  assert(host->is_private);
  host->L = host->main = NULL;
  if (main) lua_close(main);
}

void pawl_host_unmake(pawl_host *host) {
  pawl_alloc alloc;
  if (!host) return;
  /* handlers that wait have variables to close, while there is a state */
  pawl_host_free_runs(host);
  pawl_host_return_lent(host);
  if (host->is_private) {
    pawl_host_close_state(host);
  } else if (host->main && lua_checkstack(host->main, 2)) {
    /* An existing key: needs no memory, so cannot raise. */
    lua_rawgetp(host->main, LUA_REGISTRYINDEX, host);
    if (lua_istable(host->main, -1)) {
      lua_pushnil(host->main);
      lua_rawsetp(host->main, LUA_REGISTRYINDEX, host);
    }
    lua_pop(host->main, 1);
  }
  pawl_buf_deinit(&host->warning);
  alloc = host->alloc;
  pawl_release(&alloc, host->meter, sizeof *host->meter);
  pawl_release(&alloc, host, sizeof *host);
}

int pawl_host_is_busy(const pawl_host *host) {
  return host->running > 0;
}

void pawl_host_use(pawl_host *host, struct lua_State *L) {
  /* Within a handler the thread that runs it stays the one. */
  if (!host->is_private && host->running == 0) host->L = L;
}
