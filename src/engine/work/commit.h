/* engine/work/commit.h: plans become rows.
 *
 * At once or ahead: the same statements in one unit, which is sent by the same
 * function, and whose answer leads to the same; only when it is waited for
 * differs. Ahead, a batch is written while the next one's handlers run; at
 * once, the slots stand still when it returns, for who needs that (a tick's
 * end, a step in a transaction of its own), and where the store works in this
 * thread there is nothing to run beside. The rows are the same
 * (pipeline_spec.lua).
 *
 * Layer    engine/work: above claim, and above plain.h and commit_rows.c, which
 *          write what the plans of one batch ask for (batch.h).
 * Keeps    N2 of slots.h: a plan is stored once, or it is known not to be.
 * Errors   of one instance become its own: it fails, or is decided again. What
 *          is returned is the store's. */
#ifndef PAWL_ENGINE_WORK_COMMIT_H
#define PAWL_ENGINE_WORK_COMMIT_H

#include "slots.h"

/* Writes every PLANNED slot, settles every UNKNOWN one, and takes to the disk
 * what has to be there before anything follows it (durable.h). Slots come back
 * READY, FREE, or, when the store is out of reach, UNKNOWN with an error. */
pawl_code pawl_commit_all(pawl_engine *e, pawl_error *err);
/* Sends every PLANNED slot off, where the store can do that without waiting
 * (they are SENT then); else as pawl_commit_all. */
pawl_code pawl_commit_ahead(pawl_engine *e, pawl_error *err);
/* Is it what was sent that the store will not have, rather than anything? */
int pawl_commit_is_refusal(const pawl_error *err);
/* Sends agenda_lock for these slots of one shard: the first statement of
 * every commit. *at: where its rows will be. */
pawl_code pawl_commit_lock(pawl_engine *e, pawl_held **list, int n, int *at,
                           pawl_error *err);
/* Sends one slot's plan into the unit that is open, and ends that. On failure
 * the unit is rolled back, or, PAWL_UNREACHABLE, its end is unknown. PAWL_OK: it
 * is stored, and pawl_durable_stored is the caller's to call, whose failure is
 * none of the step. */
pawl_code pawl_commit_open(pawl_engine *e, pawl_held *h, pawl_error *err);

#endif
