/* The modules inside the program: compiled as their text would be, and when
 * the compiled one is of no use. */
#include "../../src/host/embedded.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "pawl_lua.h"
#include "test.h"

static const char OURS[] = "Lua 5.4";
static const char FOREIGN[] = "Lua 5.4.99  Copyright";

static int add_bytes(lua_State *L, const void *bytes, size_t len, void *ud) {
  (void)L;
  pawl_buf_add(ud, bytes, len);
  return 0;
}

/* What this Lua makes of the text, or of compiled code. */
static void compile(lua_State *L, const char *text, size_t len,
                    const char *chunk, pawl_buf *out) {
  CHECK_INT(luaL_loadbufferx(L, text, len, chunk, NULL), LUA_OK);
  pawl_buf_clear(out);
  lua_dump(L, add_bytes, out, 0);
  lua_pop(L, 1);
}

/* Every module's code is that of its text: names, lines and all. */
static void test_code(lua_State *L) {
  pawl_buf text = {0}, code = {0};
  for (int i = 0; i < pawl_lua_nsources; i++) {
    const pawl_lua_source *s = &pawl_lua_sources[i];
    CHECK(!strstr(s->name, ".cli.")); /* those are the command's alone */
    const char *chunk = lua_pushfstring(L, "=%s", s->name);
    if (!s->code || !strstr(lua_ident, s->made_by)) continue;
    compile(L, s->text, s->len, chunk, &text);
    compile(L, s->code, s->code_len, chunk, &code);
    lua_pop(L, 1);
    if (!CHECK(text.len == s->code_len &&
               memcmp(text.at, s->code, text.len) == 0))
      printf("  in %s\n", s->file);
    CHECK(code.len == text.len && memcmp(code.at, text.at, text.len) == 0);
  }
  pawl_buf_deinit(&text);
  pawl_buf_deinit(&code);
}

/* Does the source give `want`? Its message when it raises. */
static int run(lua_State *L) {
  pawl_embedded_load(L, lua_touserdata(L, 1));
  lua_call(L, 0, 1);
  return 1;
}

static void check_gives(lua_State *L, const pawl_lua_source *source,
                        const char *want) {
  lua_pushcfunction(L, run);
  lua_pushlightuserdata(L, (void *)source);
  lua_pcall(L, 1, 1, 0);
  CHECK_TEXT(lua_tostring(L, -1), want);
  lua_pop(L, 1);
}

/* Which of the two is loaded: the text, or code made of another one. */
static void test_choice(lua_State *L) {
  static const char TEXT[] = "return 'text'", OTHER[] = "return 'code'";
  pawl_lua_source s = {
      "pawl.test", "lua/pawl/test.lua", TEXT, sizeof TEXT - 1, NULL, 0, OURS};
  pawl_buf code = {0};
  check_gives(L, &s, "text");
  compile(L, OTHER, sizeof OTHER - 1, "=pawl.test", &code);
  s.code = code.at;
  s.code_len = code.len;
  check_gives(L, &s, "code");
  s.made_by = FOREIGN;
  check_gives(L, &s, "text");
  s.made_by = OURS;
  s.code_len = 20;
  check_gives(L, &s, "text");
  s.code_len = code.len;
  /* the mark, version, format, what transfers spoil, sizes, number formats */
  for (size_t at = 0; at < 31; at++) {
    code.at[at] ^= 0x55;
    check_gives(L, &s, "text");
    code.at[at] ^= 0x55;
  }
  check_gives(L, &s, "code");
  pawl_buf_deinit(&code);
}

/* Both tell the same place. */
static void test_place(lua_State *L) {
  static const char TEXT[] = "local n = nil\n\n-- why\nreturn n.field\n";
  static const char WANT[] =
      "pawl.test:4: attempt to index a nil value (local 'n')";
  pawl_lua_source s = {
      "pawl.test", "lua/pawl/test.lua", TEXT, sizeof TEXT - 1, NULL, 0, OURS};
  pawl_buf code = {0};
  check_gives(L, &s, WANT);
  compile(L, TEXT, sizeof TEXT - 1, "=pawl.test", &code);
  s.code = code.at;
  s.code_len = code.len;
  s.text = "";
  check_gives(L, &s, WANT);
  pawl_buf_deinit(&code);
}

/* Each once, and none that is not there. */
static void test_require(lua_State *L) {
  luaL_openlibs(L);
  pawl_embedded_preload(L);
  CHECK_INT(luaL_dostring(L,
                          "local first, from = require 'pawl.duration'\n"
                          "assert(first == require 'pawl.duration')\n"
                          "assert(not pcall(require, 'pawl.nothing'))\n"
                          "return from"),
            LUA_OK);
  CHECK_TEXT(lua_tostring(L, -1), ":preload:");
  lua_settop(L, 0);
}

int main(void) {
  lua_State *L = luaL_newstate();
  test_code(L);
  test_choice(L);
  test_place(L);
  test_require(L);
  lua_close(L);
  return TEST_END;
}
