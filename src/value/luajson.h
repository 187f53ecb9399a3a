/* value/luajson.h: JSON text to Lua values and back, exactly.
 *
 * Shapes   null is light userdata NULL (lua-cjson's null); an array is a
 *          table with the metatable "pawl.array" (decode sets it on every
 *          array, so that an empty one stays one) or a table with the keys
 *          1..n, n >= 1; every other table with string keys only is an
 *          object; the empty table without that metatable is {}. Keys are
 *          written in byte order. Integers and floats stay apart.
 * Errors   PAWL_VALUE, `where` the path ("vars.items[3].cb"), the message what
 *          stands there ("a function cannot be stored"): functions, userdata,
 *          threads, cycles, NaN, infinities, holes, mixed or non-string keys,
 *          invalid UTF-8. PAWL_LIMIT when the text would pass max_bytes
 *          (`where` is the root) or is nested deeper than PAWL_VALUE_DEPTH.
 *          decode: those of json.h, `where` = "line:column".
 * Raises   Lua's own memory errors only: call inside a protected call, with
 *          the buffer owned outside of it. Uses raw access: no metamethod of
 *          the value runs. Leaves the stack as it was, plus decode's result. */
#ifndef PAWL_VALUE_LUAJSON_H
#define PAWL_VALUE_LUAJSON_H

#include <lua.h>

#include "json.h"

#define PAWL_ARRAY_MT "pawl.array"

/* Appends the value at idx, or nothing when it fails: what is built has been
 * checked (pawl_buf_check). `path` names its root
 * in errors ("vars"). max_bytes 0: no limit. */
pawl_code pawl_luajson_encode(lua_State *L, int idx, const char *path,
                              size_t max_bytes, pawl_buf *out,
                              pawl_error *err);
/* The same of what has values in it, as options and answers have: as deep as
 * it can be read again. */
pawl_code pawl_luajson_encode_around(lua_State *L, int idx, const char *path,
                                     size_t max_bytes, pawl_buf *out,
                                     pawl_error *err);
/* Pushes the value. The text is checked while it is read, duplicate keys
 * included. */
pawl_code pawl_luajson_decode(lua_State *L, pawl_str text, pawl_error *err);
/* Makes sure the registry has the metatable "pawl.array" and pushes it. */
void pawl_luajson_array_mt(lua_State *L);

#endif
