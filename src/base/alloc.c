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
  void *block;
  if (!a || !a->fn) return calloc(1, size); /* large: not touched yet */
  block = pawl_realloc(a, NULL, 0, size);
  if (block) memset(block, 0, size);
  return block;
}

void pawl_release(const pawl_alloc *a, void *ptr, size_t size) {
  if (ptr) pawl_realloc(a, ptr, size, 0);
}
