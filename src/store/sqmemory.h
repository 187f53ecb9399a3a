/* store/sqmemory.h: whose memory SQLite has.
 *
 * SQLite has one allocator for the process, whoever opens something in it. It
 * is given ours before that, or stays as it is.
 *
 * Owns     nothing: the allocator is borrowed until the process ends.
 * Threads  any; a lock of its own lets one at a time to the allocator. SQLite
 *          has none where it does not count its memory.
 * Limit    as in base/ration.h. */
#ifndef PAWL_STORE_SQMEMORY_H
#define PAWL_STORE_SQMEMORY_H

#include "../base/alloc.h"

/* From `alloc` from now on, and no more than `limit` bytes of it (0: as many
 * as it gives). MISUSE: SQLite is in use, and nothing has changed. */
pawl_code pawl_sqmemory_set(const pawl_alloc *alloc, int64_t limit,
                            pawl_error *err);
/* Zeros while SQLite's memory is its own. */
void pawl_sqmemory_use(pawl_memory_use *out);

#endif
