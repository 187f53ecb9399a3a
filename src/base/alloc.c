#include "alloc.h"

#include <stdlib.h>
#include <string.h>

void *pawl_realloc(const pawl_alloc *a, void *ptr, size_t osize,
                   size_t nsize) {
  if (a && a->fn) return a->fn(a->ud, ptr, ptr ? osize : 0, nsize);
  if (nsize > 0) return realloc(ptr, nsize);
  free(ptr); /* what realloc does with a size of 0 differs by library */
  return NULL;
}

void *pawl_calloc(const pawl_alloc *a, size_t size) {
  if (!a || !a->fn) return calloc(1, size); /* large: not touched yet */
  void *block = pawl_realloc(a, NULL, 0, size);
  if (block) memset(block, 0, size);
  return block;
}

enum { FIRST_BYTES = 256, FIRST_LEAST = 4 }; /* of a list */

int pawl_room(const pawl_alloc *a, void *list, int n, int *cap, size_t size) {
  int first = size * FIRST_LEAST < FIRST_BYTES ? (int)(FIRST_BYTES / size)
                                               : FIRST_LEAST;
  int more = *cap ? 2 * *cap : first;
  char *grown;

  if (n < *cap) return 1;
  memcpy(&grown, list, sizeof grown); /* `list` points to a T *, of any T */
  grown = pawl_realloc(a, grown, size * (size_t)*cap, size * (size_t)more);
  if (!grown) return 0;
  memset(grown + size * (size_t)*cap, 0, size * (size_t)(more - *cap));
  memcpy(list, &grown, sizeof grown);
  *cap = more;
  return 1;
}

void pawl_release(const pawl_alloc *a, void *ptr, size_t size) {
  if (ptr) pawl_realloc(a, ptr, size, 0);
}
