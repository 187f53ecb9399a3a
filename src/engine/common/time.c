/* The store's time, and a little chance. */
#include "time.h"

#include <assert.h>

#include "engine_struct.h"

int64_t pawl_engine_now(pawl_engine *e) {
  return pawl_clock_now(&e->clock) + e->clock_offset_us;
}

double pawl_engine_random(pawl_engine *e) {
  assert(e->random);            /* from 0 it would never move */
  e->random ^= e->random << 13; /* xorshift64: jitter, nothing secret */
  e->random ^= e->random >> 7;
  e->random ^= e->random << 17;
  return (double)(e->random >> 11) / 9007199254740992.0;
}
