/* engine/common/chore.h: what a tick does besides steps, in pieces that fit.
 *
 * What is past its time is pruned, children are ended, histories are kept
 * short, counters are folded: thousands of rows may have come together, and
 * who draws frames gives a tick two milliseconds. So what a row takes is
 * measured, and a piece has no more of them than fit in what is left; the next
 * ticks go on with the rest.
 *
 * All chores together have a quarter of a short tick's budget (work/budget.h),
 * and only what steps have left of it. Who has found nothing left in EIGHT
 * ticks in a row gets a quarter all the same, once, and one row at least: then
 * the tick may be late by so much, and nothing starves.
 *
 * In a longer tick nothing is put off: a piece has what is left, or a quarter.
 * A tick without an end, and what is done outside of ticks, is not bounded.
 *
 * Layer    engine/common, for act and work.
 * Time     by a clock that only goes up. */
#ifndef PAWL_ENGINE_COMMON_CHORE_H
#define PAWL_ENGINE_COMMON_CHORE_H

#include "engine_struct.h"

/* ---- what things cost ---- */

/* To do it with `n` took so long. */
void pawl_cost_add(pawl_cost *c, int n, int64_t us);
/* What it will take with `n`; a guess as long as it was never done. */
double pawl_cost_of(const pawl_cost *c, int n);
/* With how many it can be done in so long: 0 to `most`, and not many more than
 * were ever measured. */
int pawl_cost_fits(const pawl_cost *c, int64_t us, int most);

/* One at least. Where what they take together, a sync say, takes longer than
 * that, as many as add no more than so long to it. */
int pawl_cost_must(const pawl_cost *c, int64_t us, int most);

/* ---- chores ---- */

/* How long it may take now; PAWL_NEVER: as long as it likes. 0: it is put off,
 * as what is left is less than the `least` that it takes. */
int64_t pawl_chore_time(pawl_engine *e, pawl_chore *c, double least);
/* How many rows it may see to now, 1 to `most`. 0: it is put off. */
int pawl_chore_rows(pawl_engine *e, pawl_chore *c, int most);
/* It has seen to n rows, since then: how long that took. It counts in what
 * chores have of this tick, and, if there were any, in their cost. */
int64_t pawl_chore_took(pawl_engine *e, pawl_cost *c, int n,
                        int64_t since_mono_us);
#ifdef PAWL_TESTING
/* A row of any chore takes that, whatever was measured; 0: as it was. For specs
 * that count rows, on machines that are slow or fast. */
void pawl_chore_pretend(int64_t row_us);
#endif

#endif
