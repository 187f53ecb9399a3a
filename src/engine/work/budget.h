/* engine/work/budget.h: what fits in a tick's budget, and where its time goes.
 *
 * A host that draws a frame gives a tick two milliseconds, and the tick that
 * takes three has broken its word. So what is claimed, run and committed is
 * measured as it is done, and no more of it is begun than fits in what is left:
 * a claim takes as many as can be run behind it, a handler begins when its own
 * commit can still follow. One handler may begin whatever is left, or nothing
 * would ever be done. What a tick does besides goes by common/chore.h.
 *
 * A tick is short that has PAWL_FRAME_US or less: it is one of many, each of
 * which does a little of what is due.
 *
 * All times of the engine's thread count, by one clock, and each of them as one
 * thing: time that is spent on others' locks is taken out of what it was for.
 *
 * Layer    engine/work, below refill and rounds.
 * Time     by a clock that only goes up. */
#ifndef PAWL_ENGINE_WORK_BUDGET_H
#define PAWL_ENGINE_WORK_BUDGET_H

#include "../common/chore.h"
#include "slots.h"

#define PAWL_FRAME_US (100 * 1000) /* who gives a tick more draws no frames */

/* ---- a tick ---- */

/* The time begins to count, for `budget_us`; 0 or less: without an end. */
void pawl_budget_begin(pawl_engine *e, int64_t budget_us);
/* From now on it is spent on this; what it was spent on before. */
pawl_spent pawl_budget_spend(pawl_engine *e, pawl_spent on);
/* Is it over? */
int pawl_budget_is_over(const pawl_engine *e);
/* Can its next handler run, and all that ran be committed, before it is over?
 * Yes of a tick's first. */
int pawl_budget_fits(const pawl_engine *e, const pawl_held *h);
/* How many more can be claimed, run and committed beside those that are held
 * and have not run yet; not more than `most`. May be less than 0. */
int pawl_budget_room(const pawl_engine *e, int most);
/* Of those: how many. */
int pawl_budget_fresh(const pawl_engine *e);
/* Does its end leave less room than a claim is made for otherwise? */
int pawl_budget_is_tight(const pawl_engine *e);
/* How long it took beyond its end; 0: it kept its word. */
int64_t pawl_budget_over_us(const pawl_engine *e);
/* What it was spent on, and by how much too much. It is over then. */
void pawl_budget_tell(pawl_engine *e, pawl_tick_stats *stats);

#endif
