/* bind/lerror.h: how failures reach Lua.
 *
 * Layer    bind: above host, whose error objects these are.
 * Shapes   an error object is a table with the fields of pawl_error (code and
 *          reason as text; fields that are empty are left out) and the
 *          metatable "pawl.error", which prints it as one line.
 * Raises   wrong use raises; the world's failures return nil and the object. */
#ifndef PAWL_BIND_LERROR_H
#define PAWL_BIND_LERROR_H

#include <lua.h>

#include "../base/error.h"

/* Pushes nil and the error object and returns 2, as a C function's result.
 * PAWL_MISUSE is a bug in the program that called: it is raised instead. */
int pawl_bind_failure(lua_State *L, const pawl_error *err);
/* Raises an error object of this code; never returns. */
int pawl_bind_raise(lua_State *L, pawl_code code, const char *hint,
                    const char *fmt, ...) PAWL_PRINTF(4, 5);

#endif
