/* Lua that does not end. A file's top level may loop for ever, and whoever
 * loads many files would never come to the next: it is stopped after so many
 * instructions, or when the engine is interrupted. So is a handler. What is
 * done in C, a sleep or a long search, is not counted.
 *
 * In a host's own state handlers alone are stopped, while one of them runs and
 * where the host has no hook of its own: it is put on the handler's thread, and
 * taken away when that comes back. */
#include <inttypes.h>

#include "host_internal.h"

enum { LOOK_EVERY = 1000000, ASK_EVERY = 20000, ASK_RATIONED = 1000 };

/* By its address: how many instructions are left while something loads. */
static const char left_key = 0;

static int64_t left(lua_State *L) {
  int64_t n = -1;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &left_key) == LUA_TNUMBER)
    n = lua_tointeger(L, -1);
  lua_pop(L, 1);
  return n;
}

/* The key is there already: this needs no memory. */
static void set_left(lua_State *L, int64_t n) {
  lua_pushinteger(L, n);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &left_key);
}

/* ---- handlers ---- */

/* Threads have a copy of what their maker has there. */
static pawl_host *host_of(lua_State *L) {
  return *(pawl_host **)lua_getextraspace(L);
}

/* Why the handler that runs is to stop; PAWL_OK: it is not. */
static pawl_code why_stop(const pawl_host *host, lua_State *L) {
  if (!host->running || !host->run) return PAWL_OK;
  if (host->run->is_stopped) return host->run->is_stopped;
  if (host->interrupted && *host->interrupted) return PAWL_INTERRUPTED;
  if (!host->is_private) return PAWL_OK; /* its memory is the host's */
  if (!host->ration || !pawl_ration_is_short(host->ration)) return PAWL_OK;
  lua_gc(L, LUA_GCCOLLECT);
  if (!pawl_ration_is_short(host->ration)) return PAWL_OK;
  host->ration->refused++;
  return PAWL_NOMEM;
}

static void on_ask(lua_State *L, lua_Debug *ar);

static void ask_now_and_then(const pawl_host *host, lua_State *L) {
  if (host->ration && host->ration->limit)
    lua_sethook(L, on_ask, LUA_MASKCOUNT, ASK_RATIONED);
  else if (host->interrupted)
    lua_sethook(L, on_ask, LUA_MASKCOUNT, ASK_EVERY);
  else
    lua_sethook(L, NULL, 0, 0);
}

void pawl_bound_look_soon(const pawl_host *host) {
  lua_State *L = host->run ? host->run->co : NULL;
  if (L && lua_gethook(L) == on_ask && lua_gethookcount(L) != 1)
    lua_sethook(L, on_ask, LUA_MASKCOUNT, 1);
}

/* Threads that a handler makes inherit the hook. Whoever catches what it raises
 * is stopped with its next instruction, until the handler has ended. It raises
 * Lua's own words for want of memory, as these alone call no message handler:
 * that of an xpcall would run here, where no hook stops it. What is told of it
 * is run.c's. */
static void stop(const pawl_host *host, lua_State *L, lua_Hook hook,
                 pawl_code why) {
  pawl_run *run = host->run;
  lua_sethook(L, hook, LUA_MASKCOUNT, 1);
  lua_sethook(run->co, hook, LUA_MASKCOUNT, 1);
  if (!run->is_stopped)
    pawl_host_where(L, 0, run->stopped_at, sizeof run->stopped_at);
  run->is_stopped = why;
  lua_pushliteral(L, "not enough memory");
  lua_error(L);
}

static void on_ask(lua_State *L, lua_Debug *ar) {
  const pawl_host *host = host_of(L);
  const pawl_code why = why_stop(host, L);
  (void)ar;
  if (why != PAWL_OK)
    stop(host, L, on_ask, why);
  else if (lua_gethookcount(L) == 1)
    ask_now_and_then(host, L);
}

/* ---- handlers in a host's own state ---- */

/* By its address: whose handler runs in this state; false: nobody's. Several
 * engines may have one state, and each handler of theirs call another one. */
static const char lent_key = 0;

static pawl_host *lent_to(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &lent_key);
  pawl_host *host = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return host;
}

/* The key is there already: this needs no memory. */
static void lend_to(lua_State *L, pawl_host *host) {
  if (host)
    lua_pushlightuserdata(L, host);
  else
    lua_pushboolean(L, 0);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &lent_key);
}

static void on_lent(lua_State *L, lua_Debug *ar) {
  const pawl_host *host = lent_to(L);
  const pawl_code why = host ? why_stop(host, L) : PAWL_OK;
  (void)ar;
  if (why != PAWL_OK)
    stop(host, L, on_lent, why);
  else if (!host) /* a coroutine that outlived its handler */
    lua_sethook(L, NULL, 0, 0);
  else if (lua_gethookcount(L) == 1)
    lua_sethook(L, on_lent, LUA_MASKCOUNT, ASK_EVERY);
}

void pawl_bound_open_lent(lua_State *L) {
  if (!lent_to(L)) lend_to(L, NULL);
}

void pawl_bound_enter(pawl_run *run) {
  pawl_host *host = run->host;
  run->is_lent = !host->is_private && host->interrupted &&
                 lua_checkstack(host->L, 1) && !lua_gethook(run->co);
  if (!run->is_lent) return;
  run->lent_before = lent_to(host->L);
  lend_to(host->L, host);
  lua_sethook(run->co, on_lent, LUA_MASKCOUNT, ASK_EVERY);
}

void pawl_bound_leave(pawl_run *run) {
  if (!run->is_lent) return;
  lend_to(run->host->L, run->lent_before);
  if (run->co && lua_gethook(run->co) == on_lent)
    lua_sethook(run->co, NULL, 0, 0);
}

/* ---- files ---- */

int pawl_bound_is_interrupted(const pawl_host *host) {
  return host->interrupted && *host->interrupted > host->heard;
}

pawl_code pawl_bound_fail_interrupted(pawl_error *err) {
  return pawl_fail_hint(err, PAWL_INTERRUPTED, "load it again",
                        "the file was not loaded to its end: the engine was "
                        "interrupted");
}

static void on_count(lua_State *L, lua_Debug *ar);

/* Whoever catches this is stopped with its next instruction. Raised as want of
 * memory, as by on_ask. */
static void stop_load(pawl_host *host, lua_State *L, pawl_code why) {
  lua_sethook(L, on_count, LUA_MASKCOUNT, 1);
  lua_sethook(host->main, on_count, LUA_MASKCOUNT, 1);
  if (!host->load_stop)
    pawl_host_where(L, 0, host->load_stopped_at, sizeof host->load_stopped_at);
  if (!host->load_stop) host->load_stop = why;
  lua_pushliteral(L, "not enough memory");
  lua_error(L);
}

static void on_count(lua_State *L, lua_Debug *ar) {
  pawl_host *host = host_of(L);
  const int64_t n = left(L) - LOOK_EVERY;
  (void)ar;
  if (n < -LOOK_EVERY) { /* a coroutine that outlived its loading */
    ask_now_and_then(host, L);
    return;
  }
  set_left(L, n > 0 ? n : 0);
  if (pawl_bound_is_interrupted(host)) stop_load(host, L, PAWL_INTERRUPTED);
  if (n <= 0) stop_load(host, L, PAWL_DEFINITION);
}

void pawl_bound_open(pawl_host *host, lua_State *L) {
  set_left(L, -1);
  *(pawl_host **)lua_getextraspace(L) = host;
  ask_now_and_then(host, L);
}

static int is_bounded(const pawl_host *host) {
  return host->is_private && !host->meter;
}

/* What was said before was said to what ran then, or runs next. */
void pawl_bound_begin(pawl_host *host) {
  host->heard = host->interrupted ? *host->interrupted : 0;
  host->load_stop = PAWL_OK;
  if (host->meter) {
    host->meter->interrupted = host->interrupted;
    host->meter->heard = host->heard;
  }
  if (!is_bounded(host) || left(host->main) >= 0) return;
  set_left(host->main, PAWL_LOAD_MAX);
  lua_sethook(host->main, on_count, LUA_MASKCOUNT, LOOK_EVERY);
}

static pawl_code fail_stopped(const pawl_host *host, pawl_error *err) {
  if (host->load_stop == PAWL_INTERRUPTED)
    pawl_bound_fail_interrupted(err);
  else
    pawl_fail_hint(
        err, PAWL_DEFINITION,
        "a file only describes its workflow; what takes long belongs in a "
        "step's handler",
        "the file's top level does not end: it was stopped after %" PRId64
        " million instructions",
        PAWL_LOAD_MAX / 1000000);
  pawl_error_where(err, "%s", host->load_stopped_at);
  return host->load_stop;
}

/* Nobody tries again, and what the hint has to say is the limit (room is told
 * by who knows it: pawl_engine_tell_memory). */
static pawl_code fail_short(pawl_error *err) {
  return pawl_fail(err, PAWL_NOMEM,
                   "the file was not loaded to its end: the engine has used "
                   "what memory it may");
}

pawl_code pawl_bound_end(pawl_host *host, pawl_code rc, pawl_error *err) {
  if (host->meter) {
    host->meter->interrupted = NULL;
    host->meter->heard = 0;
    if (rc == PAWL_INTERRUPTED) return pawl_bound_fail_interrupted(err);
    return rc == PAWL_NOMEM && host->meter->met == PAWL_LIMIT_SHORT
               ? fail_short(err)
               : rc;
  }
  if (!is_bounded(host)) return rc;
  ask_now_and_then(host, host->main);
  set_left(host->main, -1);
  return rc != PAWL_OK && host->load_stop ? fail_stopped(host, err) : rc;
}
