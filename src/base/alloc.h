/* base/alloc.h: the one door to the allocator.
 *
 * Owns     nothing: a pawl_alloc is copied and borrowed. NULL everywhere
 *          means the C library's malloc.
 * Keeps    A1 no other file calls malloc, realloc, free or strdup. */
#ifndef PAWL_BASE_ALLOC_H
#define PAWL_BASE_ALLOC_H

#include "error.h"

typedef struct pawl_alloc {
  pawl_alloc_fn fn; /* NULL: the C library's */
  void *ud;
} pawl_alloc;

/* Grow, shrink or free (nsize 0). NULL when refused (never for nsize 0). */
void *pawl_realloc(const pawl_alloc *a, void *ptr, size_t osize, size_t nsize);
/* A zeroed block, or NULL. */
void *pawl_calloc(const pawl_alloc *a, size_t size);
/* Room in a list of `n` elements for one more; new ones are zero. False:
 * refused, and the list is as it was. */
#define PAWL_ROOM(a, list, n, cap) \
  pawl_room(a, (void *)&(list), n, &(cap), sizeof *(list))
int pawl_room(const pawl_alloc *a, void *list, int n, int *cap, size_t size);
void pawl_release(const pawl_alloc *a, void *ptr, size_t size);

#endif
