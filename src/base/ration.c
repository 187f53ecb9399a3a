#include "ration.h"

/* Is there room for so many more? */
static int allows(pawl_ration *r, size_t more) {
  const int64_t left = r->limit - r->used;

  if (!r->limit || (left >= 0 && more <= (uint64_t)left)) return 1;
  r->refused++;
  return 0;
}

/* What has become of a request. */
static void *count(pawl_ration *r, void *block, size_t osize, size_t nsize) {
  if (!block && nsize > 0) {
    r->refused++;
    return NULL;
  }
  r->used += (int64_t)nsize - (int64_t)osize;
  if (r->used > r->peak) r->peak = r->used;
  return block;
}

static void *over(void *ud, void *ptr, size_t osize, size_t nsize) {
  pawl_ration *r = ud;
  if (!ptr) osize = 0;
  return count(r, pawl_realloc(&r->of, ptr, osize, nsize), osize, nsize);
}

static void *within(void *ud, void *ptr, size_t osize, size_t nsize) {
  if (!ptr) osize = 0;
  if (nsize > osize && !allows(ud, nsize - osize)) return NULL;
  return over(ud, ptr, osize, nsize);
}

void *pawl_ration_calloc(pawl_ration *r, size_t size) {
  return allows(r, size) ? count(r, pawl_calloc(&r->of, size), 0, size) : NULL;
}

pawl_alloc pawl_ration_alloc(pawl_ration *r) {
  return (pawl_alloc){.fn = within, .ud = r};
}

pawl_alloc pawl_ration_alloc_over(pawl_ration *r) {
  return (pawl_alloc){.fn = over, .ud = r};
}
