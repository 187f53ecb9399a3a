/* host/toll.h: looking at the meter, and paying it; all of it may raise.
 *
 * Layer    of the host, above its errors and meter.h, whose rules these keep.
 * Without  a meter, in a trusted state, they do nothing. */
#ifndef PAWL_HOST_TOLL_H
#define PAWL_HOST_TOLL_H

#include "meter.h"

/* Begins to count on this thread and on those that are made on it. */
void pawl_toll_watch(lua_State *L);

/* Looks at all limits now. */
void pawl_toll_look(lua_State *L);
/* For work of `n` instructions that is about to be done in C. */
void pawl_toll_spend(lua_State *L, size_t n);
/* `n` bytes are about to be allocated. */
void pawl_toll_need(lua_State *L, size_t n);
/* For JSON that is to be read, well formed or not, or was written. */
void pawl_toll_json(lua_State *L, pawl_str text);
/* For what was written to *out, which was empty before, and did not end well;
 * it is given back. */
void pawl_toll_vain(lua_State *L, pawl_buf *out);
/* One more of what a handler leaves behind. */
void pawl_toll_effect(lua_State *L);
/* That limit is met now. Raises. */
int pawl_toll_meet(lua_State *L, pawl_limit limit);
/* Raises again what was met; where errors are caught for a script. */
void pawl_toll_recall(lua_State *L);

#endif
