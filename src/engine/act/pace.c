#include "pace.h"

#include <assert.h>

#include "../../base/fault.h"
#include "../common/time.h"

enum { BUSY_SHARE = 3 };
#define LONG_US (PAWL_UNIT_US * 4 / 3)  /* the next takes half */
#define SHORT_US (PAWL_UNIT_US * 2 / 3) /* the next takes an eighth more */
#define LOOK_EVERY_US (2 * PAWL_SECOND) /* is the store busy? */
#define LATELY_US (120 * PAWL_SECOND)   /* counters have whole minutes */
#define SLICE_US (10 * 1000)            /* then an interrupt is seen */
#define LEAST_REST_US 1000              /* less is rested with the next */

/* ---- how much at once ---- */

static const struct {
  int first, least, most;
} sizes[PAWL_NPACED] = {
    [PAWL_PACED_ROWS] = {250, 32, 1000},
    [PAWL_PACED_ARCHIVED] = {250, 32, 1000},
    [PAWL_PACED_OUTBOX] = {100, 8, 200},
    [PAWL_PACED_TASKS] = {25, 2, 100},
    [PAWL_PACED_ATTRIBUTES] = {50, 4, 200},
    [PAWL_PACED_AUDIT] = {100, 8, 500},
    [PAWL_PACED_EVENTS] = {100, 8, 500},
    [PAWL_PACED_REVISIONS] = {10, 1, 100},
    [PAWL_PACED_EXECUTORS] = {50, 8, 100},
    [PAWL_PACED_PAGES] = {250, 250, 250},
};

static int usual_rows(const pawl_engine *e, pawl_paced of) {
  return e->unit_rows[of] ? e->unit_rows[of] : sizes[of].first;
}

int pawl_pace_rows(const pawl_engine *e, pawl_paced of) {
  const int rows = usual_rows(e, of);
  return e->piece_rows && e->piece_rows < rows ? e->piece_rows : rows;
}

static void adapt(pawl_engine *e, pawl_paced of, int64_t n, int64_t took_us) {
  int rows = usual_rows(e, of);

  if (took_us > LONG_US)
    rows /= 2;
  else if (took_us < SHORT_US && n >= rows / 2) /* A4 */
    rows += rows / 8 + 1;
  if (rows < sizes[of].least) rows = sizes[of].least;
  e->unit_rows[of] = rows > sizes[of].most ? sizes[of].most : rows;
}

pawl_code pawl_pace_begin(pawl_engine *e, int unit, pawl_error *err) {
  const int64_t asked = pawl_clock_mono();

  MUST(pawl_store_begin(e->store, unit, err));
  e->unit_mono_us = pawl_clock_mono();
  if (e->pace) e->pace->waited_us += e->unit_mono_us - asked;
  return PAWL_OK;
}

pawl_code pawl_pace_commit(pawl_engine *e, pawl_paced of, int64_t n,
                           pawl_error *err) {
  (void)PAWL_FAULT("engine.pace.unit");
  const pawl_code rc = pawl_store_commit(e->store, err);
  if (rc == PAWL_FULL || rc == PAWL_BUSY) adapt(e, of, 0, PAWL_NEVER);
  if (rc != PAWL_OK) return rc;
  const int64_t took_us = pawl_clock_mono() - e->unit_mono_us;
  if (took_us > e->longest_us) e->longest_us = took_us;
  e->taken_rows += n;
  adapt(e, of, n, took_us);
  return PAWL_OK;
}

/* ---- how much of the time ---- */

void pawl_pace_enter(pawl_engine *e, struct pawl_pace *p) {
  assert(!e->pace && p->asked >= 0 && p->asked <= 100);
  p->since_mono = pawl_clock_mono();
  p->waited_us = p->rested_us = p->look_mono = 0;
  p->share = p->asked ? p->asked : 100;
  e->pace = p;
}

void pawl_pace_leave(pawl_engine *e) {
  e->pace = NULL;
}

int pawl_pace_stops(const pawl_engine *e) {
  return e->pace && e->interrupted;
}

static pawl_code look(pawl_engine *e, struct pawl_pace *p, pawl_error *err) {
  pawl_rows rows;

  if (p->asked || pawl_clock_mono() < p->look_mono) return PAWL_OK;
  MUST(PAWL_READ(e->store, prune_busy, &rows, err,
                 .since = pawl_engine_now(e) - LATELY_US));
  p->share = rows.nrows ? BUSY_SHARE : 100;
  p->look_mono = pawl_clock_mono() + LOOK_EVERY_US;
  return PAWL_OK;
}

/* In slices, as others see to it that it goes on. */
static pawl_code rest_until(pawl_engine *e, struct pawl_pace *p,
                            int64_t until_mono, pawl_error *err) {
  int64_t now;

  while (!e->interrupted && (now = pawl_clock_mono()) < until_mono) {
    const int64_t left = until_mono - now;
    (void)PAWL_FAULT("engine.pace.rest");
    pawl_sleep_us(left < SLICE_US ? left : SLICE_US);
    if (p->keep) MUST(p->keep(p->ud, err));
  }
  return PAWL_OK;
}

pawl_code pawl_pace_rest(pawl_engine *e, pawl_error *err) {
  struct pawl_pace *p = e->pace;

  if (!e->piece_rows) pawl_store_call(e->store);
  if (!p) return PAWL_OK;
  MUST(look(e, p, err));
  const int64_t began = pawl_clock_mono();
  const int64_t worked = began - p->since_mono - p->waited_us;
  const int64_t owed = worked * (100 - p->share) / p->share;
  if (owed < LEAST_REST_US && p->share < 100) return PAWL_OK;
  p->waited_us = 0;
  p->since_mono = began;
  if (owed <= 0) return p->keep ? p->keep(p->ud, err) : PAWL_OK;
  MUST(rest_until(e, p, began + owed, err));
  p->since_mono = pawl_clock_mono();
  p->rested_us += p->since_mono - began;
  return PAWL_OK;
}
