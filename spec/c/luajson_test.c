#include "../../src/value/luajson.h"

#include <lauxlib.h>
#include <lualib.h>
#include <math.h>

#include "test.h"

static lua_State *L;
static pawl_buf out;
static pawl_error err;

/* Leaves the value of a Lua expression on the stack. `array` and `null` are
 * those of pawl. */
static void push(const char *expression) {
  lua_pushfstring(L, "return %s", expression);
  if (luaL_dostring(L, lua_tostring(L, -1)) != LUA_OK) {
    printf("%s\n", lua_tostring(L, -1));
    abort();
  }
  lua_remove(L, -2);
}

static pawl_code encode(const char *expression, size_t max_bytes) {
  int top = lua_gettop(L);
  pawl_code rc;
  pawl_buf_clear(&out);
  push(expression);
  rc = pawl_luajson_encode(L, -1, "vars", max_bytes, &out, &err);
  CHECK_INT(lua_gettop(L), top + 1);
  lua_settop(L, top);
  return rc;
}

static const char *encoded(const char *expression) {
  pawl_code rc = encode(expression, 0);
  if (rc == PAWL_OK) return out.at;
  printf("%s: %s: %s\n", expression, err.where, err.message);
  return "?";
}

/* Both the place and the message, and nothing written. */
static void refuses(const char *expression, const char *where,
                    const char *message, int line) {
  if (!CHECK_INT(encode(expression, 0), PAWL_VALUE) ||
      !CHECK_TEXT(err.where, where) || !CHECK_TEXT(err.message, message) ||
      !CHECK_INT(out.len, 0))
    printf("  from line %d\n", line);
}
#define REFUSES(expression, where, message) \
  refuses(expression, where, message, __LINE__)

static pawl_code decode(const char *text) {
  int top = lua_gettop(L);
  pawl_code rc = pawl_luajson_decode(L, pawl_strz(text), &err);
  CHECK_INT(lua_gettop(L), top + (rc == PAWL_OK));
  return rc;
}

/* The text, read and written again. */
static const char *again(const char *text) {
  if (!CHECK_INT(decode(text), PAWL_OK)) return "?";
  pawl_buf_clear(&out);
  CHECK_INT(pawl_luajson_encode(L, -1, "vars", 0, &out, &err), PAWL_OK);
  lua_pop(L, 1);
  return out.at;
}

/* Decodes into the global `v`, then asks Lua. */
static int holds(const char *text, const char *claim) {
  int yes;
  if (!CHECK_INT(decode(text), PAWL_OK)) return 0;
  lua_setglobal(L, "v");
  push(claim);
  yes = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return yes;
}

static void scalars_are_written(void) {
  CHECK_TEXT(encoded("true"), "true");
  CHECK_TEXT(encoded("false"), "false");
  CHECK_TEXT(encoded("null"), "null");
  CHECK_TEXT(encoded("0"), "0");
  CHECK_TEXT(encoded("math.mininteger"), "-9223372036854775808");
  CHECK_TEXT(encoded("2^53 | 0"), "9007199254740992");
  CHECK_TEXT(encoded("1.0"), "1.0");
  CHECK_TEXT(encoded("-0.0"), "-0.0");
  CHECK_TEXT(encoded("0.1"), "0.1");
  CHECK_TEXT(encoded("'12'"), "\"12\"");
  CHECK_TEXT(encoded("'a\\0\\n\\u{20ac}'"), "\"a\\u0000\\n\xe2\x82\xac\"");
}

static void tables_are_lists_or_objects(void) {
  CHECK_TEXT(encoded("{}"), "{}");
  CHECK_TEXT(encoded("array{}"), "[]");
  CHECK_TEXT(encoded("{1, 'b', {3}}"), "[1,\"b\",[3]]");
  CHECK_TEXT(encoded("{[3] = 3, [2] = 2, [1] = 1}"), "[1,2,3]");
  CHECK_TEXT(encoded("array{1, null}"), "[1,null]");
  CHECK_TEXT(encoded("{b = 1, a = {}, ['a b'] = 2, [''] = 3}"),
             "{\"\":3,\"a\":{},\"a b\":2,\"b\":1}");
  CHECK_TEXT(encoded("{['1'] = 1, ['10'] = 2, ['2'] = 3}"),
             "{\"1\":1,\"10\":2,\"2\":3}");
  CHECK_TEXT(encoded("{a = array{}, b = {array{array{}}}}"),
             "{\"a\":[],\"b\":[[[]]]}");
  CHECK_TEXT(encoded("(function() local t = {x = 1} return {t, t} end)()"),
             "[{\"x\":1},{\"x\":1}]"); /* twice is no cycle */
}

/* More keys than fit the C stack, or the Lua stack's share, or both. */
static void keys_come_in_byte_order(void) {
  static const int sizes[] = {1, 2, 63, 64, 65, 255, 256, 257, 3000};
  size_t i;
  int n, wrong = 0;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    pawl_buf want = {0}, make = {0};
    pawl_buf_addf(&make,
                  "(function() local t = {} for i = 1, %d do "
                  "t[('%%04d'):format(i)] = i end return t end)()",
                  sizes[i]);
    for (n = 1; n <= sizes[i]; n++)
      pawl_buf_addf(&want, "%s\"%04d\":%d", n > 1 ? "," : "{", n, n);
    pawl_buf_addc(&want, '}');
    wrong += strcmp(encoded(make.at), want.at) != 0;
    pawl_buf_deinit(&want);
    pawl_buf_deinit(&make);
  }
  CHECK_INT(wrong, 0);
  /* 60 keys on each of 20 levels: the pool runs out on the way down. */
  CHECK(holds(encoded("(function() local t = {} for l = 1, 20 do local u = "
                      "{down = t} for i = 1, 59 do u['k' .. i] = i end "
                      "t = u end return t end)()"),
              "(function() local n = 0 while v.down do for i = 1, 59 do "
              "n = n + v['k' .. i] end v = v.down end "
              "return n == 20 * 59 * 60 / 2 end)()"));
}

static void what_cannot_be_stored_is_named(void) {
  REFUSES("{cb = print}", "vars.cb", "a function cannot be stored");
  REFUSES("{items = {1, 2, {cb = print}}}", "vars.items[3].cb",
          "a function cannot be stored");
  REFUSES("{['odd key'] = io.stdout}", "vars[\"odd key\"]",
          "a userdata cannot be stored");
  REFUSES("{_a1 = {['1a'] = {['q\"\\n'] = print}}}",
          "vars._a1[\"1a\"][\"q\\\"\\010\"]", "a function cannot be stored");
  REFUSES("{['a\\0b'] = print}", "vars[\"a\\000b\"]",
          "a function cannot be stored");
  REFUSES("{co = coroutine.create(print)}", "vars.co",
          "a thread cannot be stored");
  REFUSES("other_pointer", "vars", "a userdata cannot be stored");
  REFUSES("nil", "vars", "nil cannot be stored");
  REFUSES("{0/0}", "vars[1]", "NaN cannot be stored");
  REFUSES("{x = math.huge}", "vars.x", "an infinite number cannot be stored");
  REFUSES("{x = -math.huge}", "vars.x", "an infinite number cannot be stored");
  REFUSES("{x = 'ab\\xff'}", "vars.x",
          "a string that is not UTF-8 cannot be stored (byte 3)");
  REFUSES("{x = {['\\xff'] = 1}}", "vars.x",
          "a key that is not UTF-8 cannot be stored (byte 1)");
}

static void tables_of_no_one_shape_are_named(void) {
  REFUSES("{1, 2, x = 3}", "vars",
          "a table with both list items and string keys cannot be stored");
  REFUSES("{a = {1, nil, 3}}", "vars.a",
          "a list with a hole at [2] cannot be stored");
  REFUSES("{a = {[10] = 1}}", "vars.a",
          "a list with a hole at [1] cannot be stored");
  REFUSES("{[0] = 1, 2}", "vars",
          "a table with an integer key below 1 cannot be stored");
  REFUSES("{[math.mininteger] = 1}", "vars",
          "a table with an integer key below 1 cannot be stored");
  REFUSES("{[math.maxinteger] = 1}", "vars",
          "a list with a hole at [1] cannot be stored");
  REFUSES("{[true] = 1}", "vars",
          "a table with a boolean as a key cannot be stored");
  REFUSES("{[1.5] = 1}", "vars",
          "a table with a float as a key cannot be stored");
  REFUSES("{[print] = 1}", "vars",
          "a table with a function as a key cannot be stored");
  REFUSES("{[{}] = 1}", "vars",
          "a table with a table as a key cannot be stored");
  REFUSES("array{1, nil, 3}", "vars",
          "a list with a hole at [2] cannot be stored");
  REFUSES("{x = array{y = 1}}", "vars.x",
          "an array with a string as a key cannot be stored");
  REFUSES("array{[1.5] = 1}", "vars",
          "a table with a float as a key cannot be stored");
}

static void cycles_end(void) {
  REFUSES("(function() local t = {} t.t = t return t end)()", "vars.t",
          "a cycle cannot be stored");
  REFUSES("(function() local t = {{a = {}}} t[1].a.up = t return t end)()",
          "vars[1].a.up", "a cycle cannot be stored");
  CHECK_INT(encode("nested(200, 1)", 0), PAWL_OK);
  CHECK_INT(encode("nested(201, 1)", 0), PAWL_LIMIT);
  CHECK_TEXT(err.message, "nested deeper than 200 levels");
}

static void long_paths_are_cut(void) {
  CHECK_INT(
      encode("{[('x'):rep(1000)] = {[('\\u{e9}'):rep(1000)] = print}}", 0),
      PAWL_VALUE);
  CHECK_INT(strlen(err.where), sizeof err.where - 1);
  CHECK_INT(encode("{[('\\u{e9}'):rep(1000)] = {x = print}}", 0), PAWL_VALUE);
  CHECK(strlen(err.where) < 70);
  CHECK(strstr(err.where, "...\"].x") != NULL);
}

static void text_is_limited(void) {
  CHECK_INT(encode("{1, 2, 3}", 7), PAWL_OK);
  CHECK_STR(pawl_buf_str(&out), "[1,2,3]");
  CHECK_INT(encode("{1, 2, 3}", 6), PAWL_LIMIT);
  CHECK_TEXT(err.where, "vars");
  CHECK_TEXT(err.message, "larger than 6 bytes as JSON");
  CHECK_INT(out.len, 0);
  CHECK_INT(encode("('x'):rep(10)", 12), PAWL_OK);
  CHECK_INT(encode("('x'):rep(11)", 12), PAWL_LIMIT);
  CHECK_INT(encode("'\\n\\n\\n'", 7), PAWL_LIMIT);
  pawl_buf_deinit(&out);
  CHECK_INT(encode("{[('k'):rep(9999)] = 1}", 50), PAWL_LIMIT);
  CHECK(out.cap < 9999); /* refused before it was copied */
  /* 2^100 leaves: the limit ends that. */
  CHECK_INT(encode("nested(100, 2)", 100000), PAWL_LIMIT);
  pawl_buf_clear(&out);
  pawl_buf_addz(&out, "before ");
  push("{print}");
  CHECK_INT(pawl_luajson_encode(L, -1, "vars", 0, &out, NULL), PAWL_VALUE);
  CHECK_STR(pawl_buf_str(&out), "before "); /* what was there stays */
  lua_pop(L, 1);
  push("{1}"); /* and does not count */
  CHECK_INT(pawl_luajson_encode(L, -1, "vars", 3, &out, NULL), PAWL_OK);
  CHECK_STR(pawl_buf_str(&out), "before [1]");
  lua_pop(L, 1);
}

static void no_metamethod_runs(void) {
  CHECK_TEXT(encoded("setmetatable({a = 1}, {__index = error, __len = error, "
                     "__pairs = error, __tostring = error})"),
             "{\"a\":1}");
  CHECK_TEXT(encoded("setmetatable({1, 2}, {__index = error, __len = error})"),
             "[1,2]");
}

static void text_becomes_values(void) {
  CHECK(holds("null", "v == null"));
  CHECK(holds("1", "math.type(v) == 'integer' and v == 1"));
  CHECK(holds("1.0", "math.type(v) == 'float' and v == 1"));
  CHECK(holds("-0.0", "math.type(v) == 'float' and 1 / v < 0"));
  CHECK(holds("-9223372036854775808", "v == math.mininteger"));
  CHECK(holds("\"a\\u0000\\n\"", "v == 'a\\0\\n'"));
  CHECK(holds("[]", "next(v) == nil and getmetatable(v) == mt"));
  CHECK(holds("{}", "next(v) == nil and getmetatable(v) == nil"));
  CHECK(holds("[1,[2,null]]",
              "#v == 2 and v[2][1] == 2 and v[2][2] == null "
              "and getmetatable(v[2]) == mt"));
  CHECK(holds(" {\"b\":{\"c\":true},\"a\":false} ",
              "v.b.c == true and v.a == false and #v == 0"));
}

static void values_survive_exactly(void) {
  /* clang-format off */
  static const char *const texts[] = {
      "[]", "{}", "[[],{}]", "{\"a\":[]}", "null", "[null]", "{\"a\":null}",
      "9223372036854775807", "-9223372036854775808", "1.0", "-0.0",
      "\"\\u0000\"", "\"\xf0\x9f\x98\x80\"", "{\"\":{\"\":[[[[1.5]]]]}}",
      "[false,true,1,1.5,\"x\",null,[],{}]",
      "{\"a\":1,\"a b\":2,\"\xc3\xa9\":3}"};
  /* clang-format on */
  size_t i;
  for (i = 0; i < sizeof texts / sizeof *texts; i++)
    CHECK_TEXT(again(texts[i]), texts[i]);
}

/* Around the number of members that wait on the stack, in order or not. */
static void all_sizes_come_back(void) {
  int n, i, wrong = 0;
  for (n = 0; n < 70; n++) {
    pawl_buf list = {0}, object = {0}, shuffled = {0};
    pawl_buf_addc(&list, '[');
    pawl_buf_addc(&object, '{');
    pawl_buf_addc(&shuffled, '{');
    for (i = 0; i < n; i++) {
      pawl_buf_addf(&list, "%s%d", i ? "," : "", i);
      pawl_buf_addf(&object, "%s\"%02d\":%d", i ? "," : "", i, i);
      pawl_buf_addf(&shuffled, "%s\"%02d\":%d", i ? "," : "", n - 1 - i,
                    n - 1 - i);
    }
    pawl_buf_addc(&list, ']');
    pawl_buf_addc(&object, '}');
    pawl_buf_addc(&shuffled, '}');
    wrong += strcmp(again(list.at), list.at) != 0;
    wrong += strcmp(again(object.at), object.at) != 0;
    wrong += strcmp(again(shuffled.at), object.at) != 0;
    pawl_buf_deinit(&list);
    pawl_buf_deinit(&object);
    pawl_buf_deinit(&shuffled);
  }
  CHECK_INT(wrong, 0);
}

static void wrong_text_is_refused(void) {
  CHECK_INT(decode("{\"a\": [1, 2"), PAWL_VALUE);
  CHECK_TEXT(err.where, "1:12");
  CHECK_INT(decode("1 2"), PAWL_VALUE);
  CHECK_INT(decode(""), PAWL_VALUE);
  CHECK_INT(decode("[\n\"\\x\"]"), PAWL_VALUE);
  CHECK_TEXT(err.where, "2:2");
  CHECK_INT(decode("[9223372036854775808]"), PAWL_VALUE);
}

/* Wherever the repeated key comes, and however it is written. */
static void a_key_stands_once(void) {
  int n, i, accepted = 0;
  for (n = 1; n < 40; n++) {
    for (i = 0; i < n; i++) {
      pawl_buf text = {0};
      int k;
      for (k = 0; k < n; k++)
        pawl_buf_addf(&text, "%s\"%02d\":0", k ? "," : "{", k * 7 % n);
      pawl_buf_addf(&text, ",\"\\u00%02x%d\":1}", '0' + i / 10, i % 10);
      accepted += pawl_luajson_decode(L, pawl_buf_str(&text), &err) == PAWL_OK;
      accepted += strstr(err.message, "stands here again") == NULL;
      lua_settop(L, 0);
      pawl_buf_deinit(&text);
    }
  }
  CHECK_INT(accepted, 0);
  CHECK_INT(decode("{\"a\":1,\n \"a\":2}"), PAWL_VALUE);
  CHECK_TEXT(err.where, "2:2");
  CHECK_TEXT(err.message, "the key \"a\" stands here again");
  CHECK_TEXT(again("{\"b\":{\"a\":1,\"b\":2},\"a\":{\"b\":1,\"a\":2}}"),
             "{\"a\":{\"a\":2,\"b\":1},\"b\":{\"a\":1,\"b\":2}}");
}

/* Leaves in `big` a table that 200 finalizers wait to empty. */
static const char make_big[] =
    "big = {} "
    "local long = 'a rather long key, so that it is not interned ' "
    "for i = 1, 300 do "
    "  local z = {} "
    "  for j = 1, 70 do z['k' .. j] = 'text of more than 40 bytes' .. long "
    "end "
    "  big[long .. i] = {x = ('y'):rep(50) .. i, z = z} "
    "end "
    "for i = 1, 200 do "
    "  setmetatable({}, {__gc = function() "
    "    for k in next, big do big[k] = nil end "
    "    for i = 1, 200 do local _ = ('z'):rep(60) .. i end "
    "  end}) "
    "end";

/* A finalizer that runs in the midst of encoding empties the table: that is
 * an error, and nothing freed is read (which sanitizers see). */
static void finalizers_may_interfere(void) {
  int round, interfered = 0;
  for (round = 0; round < 20; round++) {
    lua_gc(L, LUA_GCCOLLECT);
    lua_gc(L, LUA_GCSTOP);
    if (luaL_dostring(L, make_big) != LUA_OK) abort();
    lua_getglobal(L, "big");
    pawl_buf_clear(&out);
    lua_gc(L, LUA_GCRESTART);
    lua_gc(L, LUA_GCINC, 100, 10 * (round + 1), 8); /* in small steps */
    if (pawl_luajson_encode(L, -1, "vars", 0, &out, &err) == PAWL_OK) {
      CHECK_INT(pawl_json_check(pawl_buf_str(&out), NULL, NULL), PAWL_OK);
    } else {
      CHECK_TEXT(err.message, "nil cannot be stored");
      interfered++;
    }
    lua_pop(L, 1);
  }
  CHECK(interfered > 0);
  lua_gc(L, LUA_GCINC, 200, 100, 13);
}

/* ---- memory ------------------------------------------------------------ */

static const char nested_text[] =
    "{\"list\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,[],{}],"
    "\"a \\\"text\\\" with escapes \\u20ac that needs a buffer of its own, "
    "and a little more than the first block has\":\"\\n\",\"\\u0061\":{}}";

/* Decodes, then encodes into the buffer that is given as light userdata. */
static int round_trip(lua_State *l) {
  pawl_buf *to = lua_touserdata(l, 1);
  pawl_code rc = pawl_luajson_decode(l, pawl_strz(nested_text), NULL);
  if (rc == PAWL_OK) {
    lua_createtable(l, 0, 1); /* beside an object of many keys */
    lua_insert(l, -2);
    lua_setfield(l, -2, "nested");
    lua_getfield(l, LUA_REGISTRYINDEX, "many");
    lua_setfield(l, -2, "many");
    rc = pawl_luajson_encode(l, -1, "vars", 0, to, NULL);
  }
  lua_pushinteger(l, rc);
  return 1;
}

static int make_many(lua_State *l) {
  int i;
  lua_newtable(l);
  for (i = 0; i < 100; i++) {
    lua_pushinteger(l, i);
    lua_pushfstring(l, "key %d", i);
    lua_insert(l, -2);
    lua_rawset(l, -3);
  }
  lua_setfield(l, LUA_REGISTRYINDEX, "many");
  return 0;
}

/* One round trip with the n-th request refused, of Lua's or of the buffer's
 * allocator. Returns 0 when nothing was refused. */
static int refused_round_trip(int64_t n, int for_ever, int of_lua) {
  test_alloc counted = {0}, lua_counted = {0}, *failing;
  pawl_alloc alloc = {test_alloc_fn, &counted};
  pawl_buf to = {0};
  lua_State *l = lua_newstate(test_alloc_fn, &lua_counted);
  int status, refused;

  to.alloc = &alloc;
  lua_pushcfunction(l, make_many);
  if (lua_pcall(l, 0, 0, 0) != LUA_OK) abort();
  lua_gc(l, LUA_GCCOLLECT);
  lua_settop(l, 0);
  lua_pushcfunction(l, round_trip);
  lua_pushlightuserdata(l, &to);
  failing = of_lua ? &lua_counted : &counted;
  failing->requests = 0;
  failing->fail_at = n;
  failing->for_ever = for_ever;
  status = lua_pcall(l, 1, 1, 0);
  refused = failing->requests >= n;
  failing->fail_at = 0;
  if (status == LUA_OK && lua_tointeger(l, -1) == PAWL_OK) {
    CHECK(!for_ever || !refused);
    CHECK_INT(pawl_json_check(pawl_buf_str(&to), NULL, NULL), PAWL_OK);
  } else if (status == LUA_OK) {
    CHECK_INT(lua_tointeger(l, -1), PAWL_NOMEM);
  } else {
    CHECK_INT(status, LUA_ERRMEM); /* Lua's own, and no other */
  }
  lua_close(l);
  pawl_buf_deinit(&to);
  CHECK_INT(lua_counted.live_bytes, 0); /* a raise leaks nothing */
  CHECK_INT(counted.live_bytes, 0);
  return refused;
}

static void refused_memory_leaks_nothing(void) {
  int for_ever, of_lua;
  int64_t n;
  for (of_lua = 0; of_lua < 2; of_lua++) {
    for (for_ever = 0; for_ever < 2; for_ever++) {
      for (n = 1; n < 1000; n++)
        if (!refused_round_trip(n, for_ever, of_lua)) break;
      CHECK(n > 3 && n < 1000);
    }
  }
}

static const char helpers[] =
    "function array(t) return setmetatable(t, mt) end "
    "function nested(depth, width) "
    "  local t = 1 "
    "  for i = 1, depth do t = width == 1 and {t} or {t, t} end "
    "  return t "
    "end";

static int set_up(lua_State *l) {
  luaL_openlibs(l);
  lua_pushlightuserdata(l, NULL);
  lua_setglobal(l, "null");
  lua_pushlightuserdata(l, &out);
  lua_setglobal(l, "other_pointer");
  pawl_luajson_array_mt(l);
  pawl_luajson_array_mt(l);
  CHECK(lua_rawequal(l, -1, -2)); /* there is one */
  lua_setglobal(l, "mt");
  if (luaL_dostring(l, helpers) != LUA_OK) return lua_error(l);
  return 0;
}

int main(void) {
  L = luaL_newstate();
  lua_pushcfunction(L, set_up);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK) abort();
  scalars_are_written();
  tables_are_lists_or_objects();
  keys_come_in_byte_order();
  what_cannot_be_stored_is_named();
  tables_of_no_one_shape_are_named();
  cycles_end();
  long_paths_are_cut();
  text_is_limited();
  no_metamethod_runs();
  text_becomes_values();
  values_survive_exactly();
  all_sizes_come_back();
  wrong_text_is_refused();
  a_key_stands_once();
  finalizers_may_interfere();
  refused_memory_leaks_nothing();
  lua_close(L);
  pawl_buf_deinit(&out);
  return TEST_END;
}
