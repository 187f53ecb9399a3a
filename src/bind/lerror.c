/* Failures reach Lua in two ways: a bug in the caller's code is raised where it
 * is, all else is a value that he can look at. */
#include "lerror.h"

#include <lauxlib.h>

#include "../host/host.h"

int pawl_bind_failure(lua_State *L, const pawl_error *err) {
  if (err->code == PAWL_MISUSE) {
    pawl_host_push_error(L, err);
    return lua_error(L);
  }
  lua_pushnil(L);
  pawl_host_push_error(L, err);
  return 2;
}

int pawl_bind_raise(lua_State *L, pawl_code code, const char *hint,
                    const char *fmt, ...) {
  pawl_error err;
  va_list args;
  va_start(args, fmt);
  pawl_vfail(&err, code, hint, fmt, args);
  va_end(args);
  pawl_host_push_error(L, &err);
  return lua_error(L);
}
