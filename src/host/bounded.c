#include "bounded.h"

#include <ctype.h>
#include <string.h>

#include <lualib.h>

#include "host_internal.h"
#include "pattern.h"
#include "tables.h"
#include "toll.h"

enum {
  MAX_NUMERAL = 400, /* bytes of a text that stands for a number */
  MAX_RESULTS = 100000,
  FREE_ARGUMENTS = 16, /* more of them are paid for */
  FLOAT_COST = 100,    /* of one that is written: 1e308 has many digits */
  DATE_MOST = 200      /* bytes of a format */
};

/* A function of Lua's libraries as scripts have it. */
typedef struct bound {
  const char *name;
  lua_CFunction function; /* in the place of Lua's own; NULL: that itself */
  unsigned texts; /* the arguments that may be long texts, as bits: others are
                     numbers, or may be written as such */
} bound;

enum { FIRST = 1, SECOND = 2, THIRD = 4, ALL_BUT_FIRST = ~1, ALL = ~0 };

/* Lua's own function, upvalue 1: in our place, where it has no upvalues. */
static int call_own(lua_State *L) {
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* One with upvalues of its own, as math.random has. */
static int call_whole(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static size_t length_at(lua_State *L, int idx) {
  return lua_type(L, idx) == LUA_TSTRING ? lua_rawlen(L, idx) : 0;
}

/* Whoever asks Lua for a number is given one that a text stands for, however
 * long it takes to read that. */
static void check_numeral(lua_State *L, int idx) {
  luaL_argcheck(L, length_at(L, idx) <= MAX_NUMERAL, idx,
                "a text as long as that is no number");
}

/* (upvalues: Lua's own function, what is bound) */
static int guarded(lua_State *L) {
  const bound *b = lua_touserdata(L, lua_upvalueindex(2));
  const int n = lua_gettop(L);
  if (n > FREE_ARGUMENTS) pawl_toll_spend(L, (size_t)n);
  for (int i = 0; i < n; i++) {
    const unsigned bit = 1u << (i < 31 ? i : 31);
    if (!(b->texts & bit)) check_numeral(L, i + 1);
  }
  return b->function ? b->function(L) : call_own(L);
}

/* ---- string ---- */

static int string_rep(lua_State *L) {
  size_t len, between;
  luaL_checklstring(L, 1, &len);
  lua_Integer n = luaL_checkinteger(L, 2);
  luaL_optlstring(L, 3, "", &between);
  if (n <= 0 || len + between == 0) {
    lua_pushliteral(L, "");
    return 1;
  }
  if ((size_t)n > (SIZE_MAX >> 2) / (len + between))
    return pawl_toll_meet(L, PAWL_LIMIT_MEMORY);
  pawl_toll_need(L, (size_t)n * (len + between));
  pawl_toll_spend(L, (size_t)n / 8);
  return call_own(L);
}

static int string_whole(lua_State *L) {
  pawl_toll_need(L, length_at(L, 1));
  pawl_toll_spend(L, length_at(L, 1) / 16);
  return call_own(L);
}

static int is_of_float(char conversion) {
  return conversion && strchr("aAeEfFgG", conversion) != NULL;
}

/* What is to be written as a number is one. */
static void check_conversions(lua_State *L) {
  size_t len;
  const char *at = luaL_checklstring(L, 1, &len), *end = at + len;
  const int n = lua_gettop(L);
  pawl_toll_spend(L, len / 8);
  for (int i = 2; i <= n; i++) {
    while ((at = memchr(at, '%', (size_t)(end - at))) && at[1] == '%') at += 2;
    if (!at) return;
    do at++;
    while (at < end && !isalpha((unsigned char)*at));
    if (is_of_float(*at)) pawl_toll_spend(L, FLOAT_COST);
    if (*at != 's' && *at != 'q') check_numeral(L, i);
  }
}

/* What the values are as texts is made first: one with a __tostring may have
 * any length. */
static int string_format(lua_State *L) {
  size_t most = length_at(L, 1);
  int n = lua_gettop(L);
  check_conversions(L);
  for (int i = 2; i <= n; i++) {
    if (luaL_getmetafield(L, i, "__tostring") != LUA_TNIL) {
      lua_pop(L, 1);
      luaL_tolstring(L, i, NULL);
      lua_replace(L, i);
    }
    most += 500 + 4 * length_at(L, i); /* %q writes "\ddd" */
  }
  pawl_toll_need(L, 2 * most);
  return call_own(L);
}

/* A place in a text of that length, from 1 on, as Lua takes it. */
static size_t place_at(lua_State *L, int idx, lua_Integer otherwise,
                       size_t len) {
  const lua_Integer at = luaL_optinteger(L, idx, otherwise);
  if (at >= 0) return (size_t)at;
  return at < -(lua_Integer)len ? 0 : len - (size_t)-at + 1;
}

/* What it gives, a value for each byte from `from` on. */
static void pay_results(lua_State *L, size_t from, size_t to, size_t len) {
  if (from < 1) from = 1;
  if (to > len) to = len;
  if (from > to) return;
  if (to - from >= MAX_RESULTS) luaL_error(L, "string slice too long");
  pawl_toll_spend(L, to - from);
}

/* (text, from, to), and utf8.codepoint, which gives as many at most */
static int string_byte(lua_State *L) {
  size_t len;
  luaL_checklstring(L, 1, &len);
  const size_t from = place_at(L, 2, 1, len);
  pay_results(L, from, place_at(L, 3, (lua_Integer)from, len), len);
  return call_own(L);
}

/* (table, place, value) or (table, value) */
static int table_insert(lua_State *L) {
  if (lua_gettop(L) > 2) check_numeral(L, 2);
  return pawl_tables_insert(L);
}

/* ---- numbers in texts ---- */

static int tonumber(lua_State *L) {
  if (lua_type(L, 1) == LUA_TSTRING && length_at(L, 1) > MAX_NUMERAL) {
    lua_pushnil(L);
    return 1;
  }
  return call_own(L);
}

/* ---- utf8 ---- */

static int utf8_any(lua_State *L) {
  pawl_toll_spend(L, length_at(L, 1) / 4);
  return call_own(L);
}

/* (text, place of the last character; upvalue: Lua's own) What follows that is
 * passed, however long it is. */
static int next_code(lua_State *L) {
  size_t len;
  const char *s = luaL_checklstring(L, 1, &len);
  check_numeral(L, 2);
  const size_t last = (size_t)luaL_checkinteger(L, 2);
  size_t at = last;
  while (at < len && (s[at] & 0xC0) == 0x80) at++;
  pawl_toll_spend(L, (at - last) / 4);
  return call_own(L);
}

static int utf8_codes(lua_State *L) {
  const int n = call_own(L); /* what goes on from place to place, and more */
  lua_pushvalue(L, -n);
  lua_pushcclosure(L, next_code, 1);
  lua_replace(L, -n - 1);
  return n;
}

/* ---- os ---- */

static int os_date(lua_State *L) {
  luaL_argcheck(L, length_at(L, 1) <= DATE_MOST, 1, "the format is too long");
  return call_own(L);
}

/* Lua reads numbers out of the table, and may be told another one the second
 * time: its own reads a copy. */
static int os_time(lua_State *L) {
  static const char *const fields[] = {"year", "month", "day",  "hour", "min",
                                       "sec",  "isdst", "yday", "wday"};
  enum { NFIELDS = sizeof fields / sizeof *fields };
  if (lua_isnoneornil(L, 1)) return call_own(L);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_createtable(L, 0, NFIELDS); /* 2 */
  for (int i = 0; i < NFIELDS; i++) {
    lua_getfield(L, 1, fields[i]);
    if (length_at(L, -1) > MAX_NUMERAL)
      return luaL_error(L, "field '%s' is not an integer", fields[i]);
    lua_setfield(L, 2, fields[i]);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 2);
  lua_call(L, 1, 1);                  /* 3 */
  for (int i = 0; i < NFIELDS; i++) { /* as it has put them right */
    lua_getfield(L, 2, fields[i]);
    lua_setfield(L, 1, fields[i]);
  }
  return 1;
}

/* ---- arithmetic on texts ---- */

/* Lua adds "10" and 1; a text of a megabyte that stands for a number costs
 * more than that is worth. */
static int push_number(lua_State *L, int idx) {
  size_t len;
  if (lua_type(L, idx) == LUA_TNUMBER) {
    lua_pushvalue(L, idx);
    return 1;
  }
  if (lua_type(L, idx) != LUA_TSTRING) return 0;
  const char *text = lua_tolstring(L, idx, &len);
  return len <= MAX_NUMERAL && lua_stringtonumber(L, text) == len + 1;
}

/* (upvalues: LUA_OPADD..., its event) */
static int arithmetic(lua_State *L) {
  lua_settop(L, 2);
  int op = (int)lua_tointeger(L, lua_upvalueindex(1));
  const char *event = lua_tostring(L, lua_upvalueindex(2));
  if (push_number(L, 1) && (op == LUA_OPUNM || push_number(L, 2))) {
    lua_arith(L, op);
    return 1;
  }
  lua_settop(L, 2);
  if (lua_type(L, 2) == LUA_TSTRING || !luaL_getmetafield(L, 2, event))
    return luaL_error(L, "attempt to perform arithmetic on a %s value",
                      luaL_typename(L, lua_type(L, 1) == LUA_TNUMBER ? 2 : 1));
  lua_insert(L, -3);
  lua_call(L, 2, 1);
  return 1;
}

static void bound_arithmetic(lua_State *L) {
  static const struct {
    const char *event;
    int op;
  } ops[] = {{"__add", LUA_OPADD},   {"__sub", LUA_OPSUB},
             {"__mul", LUA_OPMUL},   {"__mod", LUA_OPMOD},
             {"__pow", LUA_OPPOW},   {"__div", LUA_OPDIV},
             {"__idiv", LUA_OPIDIV}, {"__unm", LUA_OPUNM}};
  lua_pushliteral(L, "");
  lua_getmetatable(L, -1);
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    lua_pushinteger(L, ops[i].op);
    lua_pushstring(L, ops[i].event);
    lua_pushcclosure(L, arithmetic, 2);
    lua_setfield(L, -2, ops[i].event);
  }
  lua_pushboolean(L, 0); /* `getmetatable` gives that */
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 2);
}

/* ---- the libraries ---- */

static const bound of_string[] = {
    {"byte", string_byte, FIRST},
    {"find", pawl_pattern_find, FIRST | SECOND},
    {"format", string_format, ALL},
    {"gmatch", pawl_pattern_gmatch, FIRST | SECOND},
    {"gsub", pawl_pattern_gsub, FIRST | SECOND | THIRD},
    {"len", NULL, FIRST},
    {"lower", string_whole, FIRST},
    {"match", pawl_pattern_match, FIRST | SECOND},
    {"rep", string_rep, FIRST | THIRD},
    {"reverse", string_whole, FIRST},
    {"sub", NULL, FIRST},
    {"upper", string_whole, FIRST},
    {NULL, NULL, 0}};
static const bound of_table[] = {
    {"concat", pawl_tables_concat, SECOND}, {"insert", table_insert, ALL},
    {"move", pawl_tables_move, 0},          {"pack", pawl_tables_pack, ALL},
    {"remove", pawl_tables_remove, 0},      {"sort", pawl_tables_sort, 0},
    {"unpack", pawl_tables_unpack, FIRST},  {NULL, NULL, 0}};
static const bound of_math[] = {{"type", NULL, ALL}, {NULL, NULL, 0}};
static const bound of_utf8[] = {{"codepoint", string_byte, FIRST},
                                {"codes", utf8_codes, FIRST},
                                {"len", utf8_any, FIRST},
                                {"offset", utf8_any, FIRST},
                                {NULL, NULL, 0}};
static const bound of_os[] = {
    {"date", os_date, FIRST}, {"time", os_time, 0}, {NULL, NULL, 0}};
static const bound of_base[] = {{"error", NULL, FIRST},
                                {"select", NULL, ALL_BUT_FIRST},
                                {"tonumber", tonumber, FIRST},
                                {NULL, NULL, 0}};
/* All others take numbers alone. */
static const bound others = {NULL, NULL, 0};
static const bound others_whole = {NULL, call_whole, 0};

/* What is to be done about the function on top. */
static const bound *find(lua_State *L, const bound *list, const char *name) {
  while (list->name && strcmp(list->name, name) != 0) list++;
  if (list->name) return list;
  if (!lua_getupvalue(L, -1, 1)) return &others;
  lua_pop(L, 1);
  return &others_whole;
}

/* Replaces the function on top. */
static void guard(lua_State *L, const bound *b) {
  lua_pushlightuserdata(L, (void *)b); /* which is only read */
  lua_pushcclosure(L, guarded, 2);
}

/* All functions of a library, whatever this Lua has there. */
static void bind_library(lua_State *L, const char *name, const bound *list) {
  lua_getglobal(L, name);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    if (!lua_isfunction(L, -1)) {
      lua_pop(L, 1);
      continue;
    }
    guard(L, find(L, list, lua_tostring(L, -2)));
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4); /* a field that is there: the walk goes on */
  }
  lua_pop(L, 1);
}

static void bind_base(lua_State *L) {
  for (const bound *b = of_base; b->name; b++) {
    lua_getglobal(L, b->name);
    guard(L, b);
    lua_setglobal(L, b->name);
  }
}

/* They write and read what no script needs, and bytecode. */
static void take_out(lua_State *L) {
  static const char *const gone[] = {"dump", "pack", "packsize", "unpack"};
  lua_getglobal(L, LUA_STRLIBNAME);
  for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
    lua_pushnil(L);
    lua_setfield(L, -2, gone[i]);
  }
  lua_pop(L, 1);
}

void pawl_bounded_open(lua_State *L) {
  take_out(L);
  bind_library(L, LUA_STRLIBNAME, of_string);
  bind_library(L, LUA_TABLIBNAME, of_table);
  bind_library(L, LUA_MATHLIBNAME, of_math);
  bind_library(L, LUA_UTF8LIBNAME, of_utf8);
  bind_library(L, LUA_OSLIBNAME, of_os);
  bind_base(L);
  bound_arithmetic(L);
}
