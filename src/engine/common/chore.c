/* Costs are averages, in microseconds, and what fits is found by them. */
#include "chore.h"

#define FORGETS 8.0  /* a new time counts for an eighth */
#define GUESS_US 200 /* what was never done takes that, and of each that */
#define GUESS_EACH_US 50
#define OUTLIER 4.0 /* times what was expected: a disk that was busy once */
#define SHARE 4     /* of a budget, for all chores: one part of so many */
#define EIGHT 8     /* ticks in a row that a chore is put off in */

#ifdef PAWL_TESTING
static int64_t pretended;
void pawl_chore_pretend(int64_t row_us) {
  pretended = row_us;
}
#else
enum { pretended = 0 };
#endif

/* ---- what things cost ---- */

/* Over the times that were measured: how much more one more of them takes. As
 * long as they were all alike, half of it is taken to be the same for any
 * number. */
static double slope_of(const pawl_cost *c) {
  const double spread = c->nn - c->n * c->n;
  const double all = c->us / c->n;
  double slope = spread > 0.25 ? (c->nus - c->n * c->us) / spread : all / 2;

  if (slope < 0) slope = 0;
  return slope < all ? slope : all;
}

void pawl_cost_add(pawl_cost *c, int n, int64_t us) {
  double t = (double)us, w = 1 / FORGETS;

  if (n < 1) return;
  if (c->seen && t > OUTLIER * pawl_cost_of(c, n))
    t = OUTLIER * pawl_cost_of(c, n) + 1;
  if (!c->seen) w = 1;
  c->seen = 1;
  c->n += (n - c->n) * w;
  c->us += (t - c->us) * w;
  c->nn += ((double)n * n - c->nn) * w;
  c->nus += (n * t - c->nus) * w;
}

double pawl_cost_of(const pawl_cost *c, int n) {
  if (!c->seen) return GUESS_US + GUESS_EACH_US * n;
  const double us = c->us + slope_of(c) * (n - c->n);
  return us > 0 ? us : 0;
}

/* What many more take than were measured is not known: twice as many, then. */
static int known(const pawl_cost *c, int most) {
  const double n = 2 * c->n + 1;
  return c->seen && n < most ? (int)n : most;
}

static double row_cost(const pawl_cost *c, int n) {
  return pretended ? (double)pretended * n : pawl_cost_of(c, n);
}

int pawl_cost_fits(const pawl_cost *c, int64_t us, int most) {
  int fits = 0, none = pretended ? most : known(c, most);

  while (fits < none) { /* more takes longer */
    const int n = none - (none - fits) / 2;
    if (row_cost(c, n) <= (double)us)
      fits = n;
    else
      none = n - 1;
  }
  return fits;
}

int pawl_cost_must(const pawl_cost *c, int64_t us, int most) {
  const int n = pawl_cost_fits(c, us, most);
  if (n > 0) return n;
  const int more = pawl_cost_fits(c, us + (int64_t)row_cost(c, 1), most);
  return more > 0 ? more : 1;
}

/* ---- chores ---- */

static int is_bounded(const pawl_budget *b) {
  return b->is_on && b->until_mono_us != PAWL_NEVER;
}

/* It has found nothing left, once more; often in one tick is once. */
static int is_its_turn(pawl_chore *c, const pawl_budget *b) {
  if (c->put_off && c->tick_mono_us == b->began_mono_us) return 0;
  c->tick_mono_us = b->began_mono_us;
  return ++c->put_off >= EIGHT;
}

int64_t pawl_chore_time(pawl_engine *e, pawl_chore *c, double least) {
  pawl_budget *b = &e->budget;

  if (!is_bounded(b)) return PAWL_NEVER;
  const int64_t share = (b->until_mono_us - b->began_mono_us) / SHARE;
  const int64_t left = b->until_mono_us - pawl_clock_mono();
  if (!b->is_short) return left > share ? left : share;
  int64_t us = share - b->chores_us;
  if (us > left) us = left;
  if (us > 0 && (double)us >= least) {
    c->put_off = 0;
    return us;
  }
  b->put_off++;
  if (!is_its_turn(c, b)) return 0;
  c->put_off = 0;
  return share > 0 ? share : 1;
}

int pawl_chore_rows(pawl_engine *e, pawl_chore *c, int most) {
  const int64_t us = pawl_chore_time(e, c, row_cost(&c->cost, 1));

  if (us == PAWL_NEVER || !us) return us ? most : 0;
  return pawl_cost_must(&c->cost, us, most);
}

int64_t pawl_chore_took(pawl_engine *e, pawl_cost *c, int n,
                        int64_t since_mono_us) {
  const int64_t us = pawl_clock_mono() - since_mono_us;
  const int64_t counts = pretended ? pretended * n : us;

  pawl_cost_add(c, n, us);
  e->budget.chores_us += counts;
  return counts;
}
