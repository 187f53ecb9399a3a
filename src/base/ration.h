/* base/ration.h: how much of an allocator one owner may have, and has.
 *
 * Owns     nothing: the allocator behind it is borrowed. It is the same until
 *          all that came from it is back.
 * Threads  one at a time, as its owner has.
 * Limit    a request that would lead beyond it is refused, as if there were no
 *          memory. The last eighth is kept for what has to be put away: who
 *          could as well stop asks pawl_ration_is_short before it comes to
 *          that. */
#ifndef PAWL_BASE_RATION_H
#define PAWL_BASE_RATION_H

#include "alloc.h"

typedef struct pawl_ration {
  pawl_alloc of;
  int64_t used, peak; /* bytes */
  int64_t limit;      /* 0: none */
  int64_t refused;    /* requests that the limit or the allocator refused */
} pawl_ration;

/* Its allocator. */
pawl_alloc pawl_ration_alloc(pawl_ration *r);
/* A zeroed block of that; a large one is not touched where the C library's
 * allocator is behind it. */
void *pawl_ration_calloc(pawl_ration *r, size_t size);
/* The same allocator for who must not be refused, and stops by himself when it is short:
 * it counts, and only the allocator behind it says no. */
pawl_alloc pawl_ration_alloc_over(pawl_ration *r);

static inline int pawl_ration_is_short(const pawl_ration *r) {
  return r->limit && r->used > r->limit - r->limit / 8;
}

#endif
