/* A file's top level may loop for ever, and whoever loads many files would
 * never come to the next: it is stopped after so many instructions. In a
 * private state alone: a host's own may have a hook of its own. What is done
 * in C, a sleep or a long search, is not counted. */
#include <inttypes.h>

#include "host_internal.h"

enum { LOOK_EVERY = 1000000 };

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

static void on_count(lua_State *L, lua_Debug *ar) {
  pawl_error err;
  int64_t n = left(L);
  (void)ar;
  if (n < 0) { /* a coroutine that outlived its loading */
    lua_sethook(L, NULL, 0, 0);
    return;
  }
  n -= LOOK_EVERY;
  set_left(L, n > 0 ? n : 0);
  if (n > 0) return;
  /* whoever catches this is stopped with its next instruction */
  lua_sethook(L, on_count, LUA_MASKCOUNT, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  lua_sethook(lua_tothread(L, -1), on_count, LUA_MASKCOUNT, 1);
  lua_pop(L, 1);
  pawl_fail_hint(
      &err, PAWL_DEFINITION,
      "a file only describes its workflow; what takes long belongs in a "
      "step's handler",
      "the file's top level does not end: it was stopped after %" PRId64
      " million instructions",
      PAWL_LOAD_MAX / 1000000);
  pawl_host_where(L, 0, err.where, sizeof err.where);
  pawl_host_push_error(L, &err);
  lua_error(L);
}

void pawl_bound_open(lua_State *L) {
  set_left(L, -1);
}

void pawl_bound_begin(pawl_host *host) {
  if (!host->is_private || left(host->main) >= 0) return;
  set_left(host->main, PAWL_LOAD_MAX);
  lua_sethook(host->main, on_count, LUA_MASKCOUNT, LOOK_EVERY);
}

void pawl_bound_end(pawl_host *host) {
  if (!host->is_private) return;
  lua_sethook(host->main, NULL, 0, 0);
  set_left(host->main, -1);
}
