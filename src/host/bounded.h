/* host/bounded.h: functions of Lua's libraries, with what they cost paid for.
 *
 * Most call Lua's own, once the meter has agreed to what that will do; some
 * are done here, as their cost is known only while they run.
 *
 * Layer    of the host; see meter.h. */
#ifndef PAWL_HOST_BOUNDED_H
#define PAWL_HOST_BOUNDED_H

#include <lua.h>

/* Puts them into the libraries of a state, which it has opened, and takes out
 * those that are not for scripts that others wrote. Raises errors of
 * memory. */
void pawl_bounded_open(lua_State *L);

#endif
