/* engine/work/turns.h: who has his turn before whom, and who has had enough.
 *
 * Who was claimed and has not run yet comes first, in the order of the claim;
 * behind those whoever has waited longest since his last turn. So what goes
 * round without waiting keeps nobody from his time, and a tick that is too
 * short for all goes on where the one before ended. Counted, not timed: two
 * runs under one seed have one order.
 *
 * Where something is due that is not held, and there is no place for it, those
 * give way that go round without waiting: in a short tick whoever has had his
 * turn, else who had so many that only a loop has them. The others are to come
 * to their end without being claimed again and again. Who gives way is due a
 * second behind his last turn, so that what is due by then comes before him,
 * and he before those who have run since; he is ready all the same.
 *
 * Layer    engine/work, above slots. */
#ifndef PAWL_ENGINE_WORK_TURNS_H
#define PAWL_ENGINE_WORK_TURNS_H

#include "slots.h"

/* All that may run in this round, in their order, in e->order: how many. Those
 * whose plans are under way stand among them, and may be READY by their turn. */
int pawl_turns_order(pawl_engine *e);
/* It has its turn now. */
void pawl_turns_take(pawl_engine *e, pawl_held *h);
/* Would it give way? */
int pawl_turns_gives_way(const pawl_engine *e, const pawl_held *h);
/* How many would. */
int pawl_turns_giving_way(const pawl_engine *e);

#endif
