/* A handler that waits: how it begins to, and how it is ended where it stands.
 * What becomes of it in between is await.c's. */
#include <assert.h>

#include "../common/time.h"
#include "await.h"

#define ASK_EVERY_US (50 * 1000) /* a predicate, at the latest */

int64_t pawl_await_now(const pawl_engine *e) {
  return pawl_clock_is_virtual(&e->clock) ? pawl_clock_now(&e->clock)
                                          : pawl_clock_mono();
}

static int64_t after_us(int64_t now, int64_t us) {
  return us < 0 || us > PAWL_NEVER - now ? PAWL_NEVER : now + us;
}

void pawl_await_begin(pawl_engine *e, pawl_held *h, pawl_run *run) {
  const pawl_await *a = pawl_run_await(run);
  pawl_flight *f = &h->flight;

  assert(run && !f->run && h->state != PAWL_SLOT_FREE); /* N5 */
  if (!e->nwaiting) e->await_look_us = pawl_engine_now(e) + PAWL_AWAIT_LOOK_US;
  f->run = run;
  f->wake_us =
      after_us(pawl_await_now(e),
               a->kind == PAWL_AWAIT_PREDICATE ? ASK_EVERY_US : a->timeout_us);
  e->nwaiting++;
}

void pawl_await_abandon(pawl_engine *e, pawl_held *h) {
  pawl_run *run = h->flight.run;

  if (!run) return;
  h->flight.run = NULL;
  e->nwaiting--;
  assert(e->nwaiting >= 0);
  pawl_host_abandon(run);
}

void pawl_await_abandon_all(pawl_engine *e) {
  PAWL_EACH_SLOT (e, h) pawl_await_abandon(e, h);
}
