/* engine/work/rounds.h: claim -> load -> run -> decide -> commit, round and
 * round.
 *
 * Held instances go round together: each runs one step, all are committed in
 * one transaction, those still active go round again. Between rounds free
 * slots are filled. Results wait for their commit no longer than
 * PAWL_FLUSH_US.
 *
 * Three go round here. They differ in what they claim before, and in what `may`
 * be done beside; what becomes of what is held is one way, and leaves the same
 * rows (rounds_spec.lua).
 *
 *   a tick              whatever is due, in batches
 *   a tick of one       one instance, whatever its group, and nothing else of
 *                       what is due: for a test, a tool, who waits for it
 *   apply.h             no node runs at all: who changes an instance sees it
 *                       done in the call, also where its code is not loaded
 *
 * Layer    engine/work: above all the other files of the room but apply.c,
 *          reach.c and repair.c. */
#ifndef PAWL_ENGINE_WORK_ROUNDS_H
#define PAWL_ENGINE_WORK_ROUNDS_H

#include "slots.h"

/* What may be done beside the rounds: taking more, going on with what waits. */
enum { PAWL_CLAIMING = 1, PAWL_RESUMING };

/* Before and after any number of them: who we are, and that nothing stays
 * held that is neither under way nor aside. The budget counts from here on; 0:
 * it has no end. `rc` and *err: how it went so far. */
pawl_code pawl_rounds_begin(pawl_engine *e, int64_t budget_us,
                            pawl_tick_stats *stats, pawl_error *err);
pawl_code pawl_rounds_end(pawl_engine *e, pawl_code rc, pawl_error *err);
/* Until the budget is spent, or nothing is left to do; `whole`: one round. */
pawl_code pawl_rounds_run(pawl_engine *e, int whole, int may, pawl_error *err);
/* When the next ones have something to do; 0: at once. */
int64_t pawl_rounds_next(pawl_engine *e);

#endif
