/* base/handed.h: text that is handed out to the program, for pawl_free.
 *
 * Owns     it stands behind its own size and allocator: it may be given back
 *          when the engine is gone, and what pawl_migrate gives has none. */
#ifndef PAWL_BASE_HANDED_H
#define PAWL_BASE_HANDED_H

#include "buf.h"

/* Room for a text of up to `len` bytes, with its zero, for who has to be sure
 * of it before there is a text. NULL: no memory. */
char *pawl_hand_room(const pawl_alloc *alloc, size_t len);
/* Puts a text there, with its zero; returns where the next one goes. */
char *pawl_hand_put(char *to, const char *text);
/* A copy of the buffer's text, of this allocator. */
pawl_code pawl_hand_out(const pawl_alloc *alloc, const pawl_buf *b, char **out,
                        pawl_error *err);

#endif
