/* ctx.attrs: typed values that queries can ask for. */
#include <math.h>
#include <string.h>

#include "../base/base64.h"
#include "../value/luajson.h"
#include "ctx.h"
#include "toll.h"

enum { MAX_ATTR_NAME = 200, MAX_ATTR_TEXT = 2000 };

enum { ATTRS_CTX = 1, ATTRS_VALUES, ATTRS_WRITTEN, ATTRS_END };

/* Pushes the bytes as base64 text, or the reverse; raises. */
static void push_base64(lua_State *L, pawl_run *run, pawl_str s,
                        int is_decoding) {
  pawl_error err;
  pawl_buf *out = pawl_ctx_push_buf(L, run);
  if (!is_decoding) {
    pawl_base64_encode(s, out);
  } else if (!pawl_base64_decode(s, out)) {
    pawl_fail(&err, PAWL_CORRUPT, "a stored attribute is not base64");
    pawl_ctx_raise(L, &err);
  }
  if (pawl_buf_check(out, &err) != PAWL_OK) pawl_ctx_raise(L, &err);
  lua_pushlstring(L, out->at ? out->at : "", out->len);
  pawl_buf_deinit(out);
  lua_replace(L, -2);
}

/* A stored attribute {type, value} on top becomes the value Lua reads: a date
 * its text, a decimal its digits, binary its bytes. */
static void attr_to_lua(lua_State *L, pawl_run *run) {
  const char *type;
  pawl_str text;
  if (!lua_istable(L, -1)) return;
  lua_getfield(L, -1, "value");
  lua_getfield(L, -2, "type");
  type = lua_tostring(L, -1);
  if (type && strcmp(type, "date") == 0 && lua_isinteger(L, -2)) {
    char date[28];
    pawl_time_format(lua_tointeger(L, -2), date);
    lua_pushstring(L, date);
  } else if (type && strcmp(type, "binary") == 0 && lua_isstring(L, -2)) {
    text.at = lua_tolstring(L, -2, &text.len);
    push_base64(L, run, text, 1);
  } else {
    lua_pushvalue(L, -2);
  }
  lua_replace(L, -4);
  lua_pop(L, 2);
}

/* Pushes what the store has, as a table of {type, value}. */
static void push_stored_attrs(lua_State *L, pawl_run *run) {
  pawl_error err;
  pawl_buf *out = pawl_ctx_push_buf(L, run);
  pawl_ctx_check_service(L, run, "attrs");
  run->host->serving = 1;
  pawl_code rc = run->call->services->attrs(run->call, out, &err);
  run->host->serving = 0;
  if (rc != PAWL_OK || pawl_buf_check(out, &err) != PAWL_OK)
    pawl_ctx_raise(L, &err);
  pawl_ctx_push_decoded(L, out->len ? pawl_buf_str(out) : pawl_strz("{}"));
  pawl_buf_deinit(out);
  lua_replace(L, -2);
}

/* Pushes the table of values, loaded when first asked for. */
static void attr_values(lua_State *L, pawl_run *run) {
  if (lua_getiuservalue(L, 1, ATTRS_VALUES) != LUA_TNIL) return;
  lua_pop(L, 1);
  push_stored_attrs(L, run);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    attr_to_lua(L, run);
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
  pawl_ctx_keep_made(L, ATTRS_VALUES);
}

/* Absent ones are nil, as in any table: which there are, the store knows, not
 * the definition. */
static int attrs_index(lua_State *L) {
  pawl_run *run = pawl_ctx_child_run(L);
  attr_values(L, run);
  lua_pushvalue(L, 2);
  lua_rawget(L, -2);
  return 1;
}

/* The state's own `next` may have been taken away or replaced. */
static int attrs_next(lua_State *L) {
  lua_settop(L, 2);
  return lua_next(L, 1) ? 2 : 0;
}

/* pairs(ctx.attrs) walks a copy: attributes may be set meanwhile. */
static int attrs_pairs(lua_State *L) {
  pawl_run *run = pawl_ctx_child_run(L);
  attr_values(L, run);
  lua_pushcfunction(L, attrs_next);
  lua_newtable(L);
  lua_pushnil(L);
  while (lua_next(L, -4)) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
  lua_pushnil(L);
  return 3;
}

/* Argument 1 is ctx.attrs, or the run when it is for ctx.start. */
static int raise_attr(lua_State *L, const char *hint, const char *problem) {
  pawl_error err;
  int is_start = lua_islightuserdata(L, 1);
  const char *name = lua_tostring(L, 2);
  pawl_fail_hint(&err, PAWL_VALUE, hint, "attribute '%s': %s", name, problem);
  pawl_error_where(&err, is_start ? "attributes.%s" : "attrs.%s", name);
  return pawl_ctx_raise(L, &err);
}

void pawl_ctx_check_attr_name(lua_State *L) {
  size_t len, at;
  pawl_str name;
  luaL_argcheck(L, lua_type(L, 2) == LUA_TSTRING, 2,
                "an attribute's name is a string");
  name.at = lua_tolstring(L, 2, &len);
  name.len = len;
  for (at = 0; at < len; at++)
    if ((unsigned char)name.at[at] < 0x20 || strchr("\"\\\x7f", name.at[at]))
      break;
  if (len == 0 || len > MAX_ATTR_NAME || at < len ||
      !pawl_utf8_check(name, &at))
    pawl_ctx_raise_text(
        L, PAWL_VALUE,
        "use 1 to 200 bytes of UTF-8 without quotes, backslashes and "
        "control characters",
        "an attribute has a name that cannot be stored");
}

/* Pushes type and stored value of a pawl.decimal, pawl.date or pawl.binary at
 * idx 3; 0: it is none. */
static int push_typed(lua_State *L, pawl_run *run) {
  pawl_str text;
  int64_t us;
  if (luaL_getmetafield(L, 3, "__name") == LUA_TNIL) return 0;
  const char *type = lua_tostring(L, -1);
  if (!type || strcmp(type, "pawl.typed") != 0) return 0;
  lua_pushliteral(L, "type");
  lua_rawget(L, 3);
  lua_pushliteral(L, "value");
  lua_rawget(L, 3);
  type = lua_tostring(L, -2);
  text.at = lua_tolstring(L, -1, &text.len);
  if (!type || !text.at) return 0;
  if (strcmp(type, "binary") == 0) {
    push_base64(L, run, text, 0);
  } else if (strcmp(type, "date") == 0) {
    if (!pawl_time_parse(text.at, text.len, &us)) return 0;
    lua_pushinteger(L, us);
  } else if (strcmp(type, "decimal") != 0) {
    return 0;
  } else {
    lua_pushvalue(L, -1);
  }
  lua_remove(L, -2);
  return 1;
}

/* Only what the store gives back as it was, and queries can compare. */
void pawl_ctx_push_attr(lua_State *L, pawl_run *run) {
  size_t at;
  pawl_str s;
  const char *type = NULL;
  switch (lua_type(L, 3)) {
    case LUA_TBOOLEAN:
      type = "boolean";
      break;
    case LUA_TNUMBER:
      type = lua_isinteger(L, 3) ? "integer" : "float";
      if (!isfinite(lua_tonumber(L, 3)))
        raise_attr(L, "give a finite number", "it is not a finite number");
      break;
    case LUA_TSTRING:
      s.at = lua_tolstring(L, 3, &s.len);
      if (!pawl_utf8_check(s, &at) || memchr(s.at, 0, s.len))
        raise_attr(L, "give bytes as pawl.binary(bytes)",
                   "the text is not UTF-8, or has a zero byte");
      if (s.len > MAX_ATTR_TEXT) /* it is in an index */
        raise_attr(L, "keep long text in ctx.vars",
                   "the text is longer than 2000 bytes");
      type = "string";
      break;
    case LUA_TTABLE:
      if (push_typed(L, run)) return;
      break;
    default:
      break;
  }
  if (!type)
    raise_attr(
        L,
        "give a string, a number, a boolean, pawl.decimal, pawl.date or "
        "pawl.binary",
        "a value of its type cannot be an attribute");
  lua_pushstring(L, type);
  lua_pushvalue(L, 3);
}

void pawl_ctx_join_entry(lua_State *L) {
  lua_createtable(L, 0, 2);
  lua_insert(L, -3);
  lua_setfield(L, -3, "value");
  lua_setfield(L, -2, "type");
}

/* Pushes what is written for the value at idx 3: {type, value}, or null. */
static void push_entry(lua_State *L, pawl_run *run) {
  if (lua_isnil(L, 3) ||
      (lua_islightuserdata(L, 3) && !lua_touserdata(L, 3))) {
    lua_pushlightuserdata(L, NULL);
    return;
  }
  pawl_ctx_push_attr(L, run);
  pawl_ctx_join_entry(L);
}

/* ctx.attrs.name = value; nil deletes. What may fail comes first. */
static int attrs_newindex(lua_State *L) {
  enum { ENTRY = 3, VALUE, VALUES, WRITTEN };
  pawl_run *run = pawl_ctx_child_run(L);
  lua_settop(L, 3);
  pawl_toll_effect(L);
  pawl_ctx_check_attr_name(L);
  if (pawl_handler_is_pure(run->call->handler))
    pawl_ctx_raise_text(L, PAWL_MISUSE, "set it in the `run` of a step",
                        "only a step may change attributes");
  push_entry(L, run);
  lua_replace(L, ENTRY); /* over what it was made of */
  lua_settop(L, ENTRY);
  lua_pushvalue(L, ENTRY);
  attr_to_lua(L, run);
  if (lua_islightuserdata(L, VALUE)) {
    lua_pushnil(L);
    lua_replace(L, VALUE);
  }
  attr_values(L, run);
  if (lua_getiuservalue(L, 1, ATTRS_WRITTEN) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
    pawl_ctx_keep_made(L, ATTRS_WRITTEN);
  }
  pawl_ctx_check_time(L, run, "attrs");
  lua_pushvalue(L, 2);
  lua_pushvalue(L, ENTRY);
  lua_rawset(L, WRITTEN);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, VALUE);
  lua_rawset(L, VALUES); /* what reading it gives from now on */
  return 0;
}

pawl_code pawl_ctx_take_attrs(pawl_run *run, lua_State *L) {
  pawl_buf *out = &run->result->attrs;
  pawl_code rc = PAWL_OK;
  if (!lua_isuserdata(L, -1)) return rc; /* never asked for */
  if (lua_getiuservalue(L, -1, ATTRS_WRITTEN) == LUA_TTABLE) {
    rc = pawl_luajson_encode(L, -1, "attrs", run->host->max_bytes, out,
                             run->caught.err);
    run->result->attrs_changed = rc == PAWL_OK;
  }
  lua_pop(L, 1);
  return rc;
}

int pawl_ctx_push_attrs(lua_State *L, pawl_run *run) {
  pawl_ctx_push_child(L, run, PAWL_ANCHOR_ATTRS, ATTRS_END - 1);
  return 1;
}

void pawl_ctx_open_attrs(pawl_host *host, lua_State *L) {
  pawl_ctx_begin_metatable(L, "pawl.attrs");
  pawl_ctx_set_method(L, "__index", attrs_index, 0);
  pawl_ctx_set_method(L, "__newindex", attrs_newindex, 0);
  pawl_ctx_set_method(L, "__pairs", attrs_pairs, 0);
  pawl_host_set_anchor(host, L, PAWL_ANCHOR_ATTRS);
}
