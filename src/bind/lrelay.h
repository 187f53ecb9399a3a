/* bind/lrelay.h: a relay, and the Lua function that it hands events to.
 *
 * Layer    bind. */
#ifndef PAWL_BIND_LRELAY_H
#define PAWL_BIND_LRELAY_H

#include <lua.h>

/* core.outbox_relay(engine, options, publish) -> relayed | nil, err */
int pawl_bind_outbox_relay(lua_State *L);

#endif
