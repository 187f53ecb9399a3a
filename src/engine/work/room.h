/* engine/work/room.h: what an engine does where memory is short.
 *
 * A request was refused, by the limit of the config or by the allocator, or a
 * handler was stopped before it came to that. Then what is kept for later goes:
 * garbage of Lua, slots that are free, what the store keeps for its next unit;
 * and fewer instances are held at once, half as many each time, one more with
 * each tick that goes well.
 *
 * Layer    engine/work. */
#ifndef PAWL_ENGINE_WORK_ROOM_H
#define PAWL_ENGINE_WORK_ROOM_H

#include "../common/engine_struct.h"

/* At the beginning of a call: it may have what is kept for later, when the last
 * one was refused some, or little is left of the limit. */
void pawl_room_enter(pawl_engine *e);
/* At the beginning of a tick: what is held goes back, too. */
pawl_code pawl_room_begin(pawl_engine *e, pawl_error *err);
/* In the midst of one; no handler runs. */
void pawl_room_make(pawl_engine *e);

#endif
