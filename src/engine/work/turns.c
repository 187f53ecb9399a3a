/* The order of turns: numbers that were drawn when they were taken. */
#include "turns.h"

#include <stdlib.h>

#include "../common/time.h"

#define LOOPS 16 /* turns in a row; what is on its way to an end has fewer */
#define BEHIND_US PAWL_SECOND

static int by_turn(const void *a, const void *b) {
  const pawl_held *x = *(pawl_held *const *)a, *y = *(pawl_held *const *)b;
  const int x_ran = x->d.rounds > 0, y_ran = y->d.rounds > 0;

  if (x_ran != y_ran) return x_ran - y_ran;
  return (x->turn > y->turn) - (x->turn < y->turn);
}

int pawl_turns_order(pawl_engine *e) {
  int n = 0;

  PAWL_EACH_SLOT (e, h)
    if (h->state != PAWL_SLOT_FREE && !h->flight.run) e->order[n++] = h;
  qsort(e->order, (size_t)n, sizeof *e->order, by_turn);
  return n;
}

/* Each a little behind the one before, also while the clock stands; one that
 * was set back counts anew. */
static int64_t behind(pawl_engine *e) {
  const int64_t us = pawl_engine_now(e) + BEHIND_US;

  if (e->behind_us < us || e->behind_us - us > BEHIND_US) e->behind_us = us;
  return e->behind_us++;
}

void pawl_turns_take(pawl_engine *e, pawl_held *h) {
  h->turn = ++e->turns;
  h->behind_us = behind(e);
  h->idle_mono_us = e->budget.since_mono_us;
}

int pawl_turns_gives_way(const pawl_engine *e, const pawl_held *h) {
  return h->state == PAWL_SLOT_READY && !h->flight.run && !h->queued_mono_us &&
         h->d.rounds >= (e->budget.is_short ? 1 : LOOPS);
}

int pawl_turns_giving_way(const pawl_engine *e) {
  int n = 0;
  PAWL_EACH_SLOT (e, h) n += pawl_turns_gives_way(e, h);
  return n;
}
