/* The order of turns: who takes one goes to the end. */
#include "turns.h"

#include "../common/time.h"

#define LOOPS 16 /* turns in a row; what is on its way to an end has fewer */
#define BEHIND_US PAWL_SECOND

/* Those that have run, or those that have not, from order[n] on. */
static int add_turns(pawl_engine *e, int n, int have_run) {
  for (pawl_held *h = e->first_turn; h; h = h->after)
    if ((h->d.rounds > 0) == have_run) e->order[n++] = h;
  return n;
}

int pawl_turns_order(pawl_engine *e) {
  return add_turns(e, add_turns(e, 0, 0), 1);
}

/* Each a little behind the one before, also while the clock stands; one that
 * was set back counts anew. */
static int64_t behind(pawl_engine *e) {
  const int64_t us = pawl_engine_now(e) + BEHIND_US;

  if (e->behind_us < us || e->behind_us - us > BEHIND_US) e->behind_us = us;
  return e->behind_us++;
}

void pawl_turns_take(pawl_engine *e, pawl_held *h) {
  pawl_held_put_last(e, h);
  h->behind_us = behind(e);
  h->idle_mono_us = e->budget.since_mono_us;
}

int pawl_turns_gives_way(const pawl_engine *e, const pawl_held *h) {
  return h->state == PAWL_SLOT_READY && !h->flights && !h->queued_mono_us &&
         h->d.rounds >= (e->budget.is_short ? 1 : LOOPS);
}

int pawl_turns_giving_way(const pawl_engine *e) {
  int n = 0;
  PAWL_EACH_SLOT (e, h) n += pawl_turns_gives_way(e, h);
  return n;
}
