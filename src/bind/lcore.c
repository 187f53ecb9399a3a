/* The table behind require "pawl": small helpers that are faster or surer in C,
 * and the verbs (lverbs.c). What is in it may change with any version. */
#include "lcore.h"

#include <string.h>

#include <lauxlib.h>

#include "../base/base64.h"
#include "../base/clock.h"
#include "../base/sha256.h"
#include "../host/host.h"
#include "../value/types.h"
#include "lengine.h"
#include "lerror.h"
#include "lopen.h"
#include "loptions.h"
#include "lrelay.h"
#include "lverbs.h"

/* core.sha256(text) -> 64 hex digits */
static int core_sha256(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  unsigned char digest[32];
  char hex[65];
  pawl_sha256 hash;
  pawl_sha256_init(&hash);
  pawl_sha256_add(&hash, text, len);
  pawl_sha256_end(&hash, digest);
  pawl_sha256_hex(digest, hex);
  lua_pushlstring(L, hex, 64);
  return 1;
}

/* core.base64(bytes) -> text */
static int core_base64(lua_State *L) {
  pawl_str bytes;
  pawl_error err;
  bytes.at = luaL_checklstring(L, 1, &bytes.len);
  pawl_buf *out = pawl_host_push_buf(L);
  pawl_base64_encode(bytes, out);
  if (pawl_buf_check(out, &err) != PAWL_OK) return pawl_bind_failure(L, &err);
  lua_pushlstring(L, out->at ? out->at : "", out->len);
  return 1;
}

/* core.unbase64(text) -> bytes; "" when it is not base64 */
static int core_unbase64(lua_State *L) {
  pawl_str text;
  pawl_error err;
  text.at = luaL_checklstring(L, 1, &text.len);
  pawl_buf *out = pawl_host_push_buf(L);
  if (!pawl_base64_decode(text, out)) out->len = 0;
  if (pawl_buf_check(out, &err) != PAWL_OK) return pawl_bind_failure(L, &err);
  lua_pushlstring(L, out->at ? out->at : "", out->len);
  return 1;
}

/* core.time_parse(text) -> microseconds since 1970 | nil */
static int core_time_parse(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  int64_t us;
  if (!pawl_time_parse(text, len, &us)) return 0;
  lua_pushinteger(L, us);
  return 1;
}

/* core.time_format(microseconds) -> "2026-11-21T07:38:00.000000Z" */
static int core_time_format(lua_State *L) {
  char text[28];
  pawl_time_format(luaL_checkinteger(L, 1), text);
  lua_pushstring(L, text);
  return 1;
}

/* core.mono() -> seconds that only go up */
static int core_mono(lua_State *L) {
  lua_pushnumber(L, (lua_Number)pawl_clock_mono() / 1e6);
  return 1;
}

static pawl_code code_of(const char *name) {
  int code = PAWL_OK;
  while (code < PAWL_NCODES && strcmp(pawl_code_name((pawl_code)code), name))
    code++;
  return (pawl_code)code;
}

/* core.error{ code=, message=, hint= } -> error object, for Lua code of ours
 * that fails as the C code does */
static int core_error(lua_State *L) {
  pawl_error err;
  pawl_code code;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_getfield(L, 1, "code");
  lua_getfield(L, 1, "message");
  lua_getfield(L, 1, "hint");
  const char *name = luaL_checkstring(L, 2);
  code = code_of(name);
  if (code == PAWL_OK || code == PAWL_NCODES)
    return luaL_error(L, "no such error code: %s", name);
  pawl_fail(&err, code, "%s", luaL_checkstring(L, 3));
  if (!lua_isnil(L, 4)) pawl_error_hint(&err, "%s", luaL_checkstring(L, 4));
  pawl_host_push_error(L, &err);
  return 1;
}

/* core.types_fit(type, value, root) -> true, or nil and why: of JSON texts, the
 * type one that was checked */
static int core_types_fit(lua_State *L) {
  pawl_str type, value;
  pawl_error err;
  type.at = luaL_checklstring(L, 1, &type.len);
  value.at = luaL_checklstring(L, 2, &value.len);
  if (pawl_types_fit(type, value, luaL_checkstring(L, 3), &err) != PAWL_OK)
    return pawl_bind_failure(L, &err);
  lua_pushboolean(L, 1);
  return 1;
}

int luaopen_pawl_core(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"open", pawl_bind_open},
      {"set_nouns", pawl_bind_set_nouns},
      {"migrate", pawl_bind_migrate},
      {"migrations", pawl_bind_migrations},
      {"doctor", pawl_bind_doctor},
      {"options", pawl_bind_options},
      {"outbox_relay", pawl_bind_outbox_relay},
      {"sha256", core_sha256},
      {"base64", core_base64},
      {"unbase64", core_unbase64},
      {"time_parse", core_time_parse},
      {"time_format", core_time_format},
      {"mono", core_mono},
      {"error", core_error},
      {"types_fit", core_types_fit},
      {NULL, NULL}};
  luaL_checkversion(L);
  pawl_host_open_core(L);
  luaL_setfuncs(L, functions, 0);
  pawl_bind_core_verbs(L);
  pawl_bind_methods(L);
  lua_setfield(L, -2, "engine");
  return 1;
}
