/* engine/work/durable.h: when what a unit stores has to be on disk.
 *
 * A node says so, else its workflow, else the engine; the strictest that a unit
 * has in it holds for all of it. Where that is stricter than the engine's own,
 * the unit is taken to the disk behind its commit, before any other handler
 * runs; where it is less strict the unit is RELAXED (driver.h). What comes from
 * outside, and claims, go by the engine's.
 *
 * Layer    engine/work: for commit.c and the tick. */
#ifndef PAWL_ENGINE_WORK_DURABLE_H
#define PAWL_ENGINE_WORK_DURABLE_H

#include "slots.h"

/* The unit to begin for these plans, and what is owed once it is stored. */
int pawl_durable_unit(pawl_engine *e, pawl_held **list, int n);
/* Behind a commit: to the disk, if a plan of it has to be there. What has been
 * stored is stored, whatever comes of this: a failure is the tick's, in which
 * nothing else runs, and that of the next ones until it is there. */
pawl_code pawl_durable_stored(pawl_engine *e, pawl_error *err);
/* All that was committed goes there, and nothing is owed any more. */
pawl_code pawl_durable_save(pawl_engine *e, pawl_error *err);
/* The same, where that is not somebody else's to do, who does it by himself. */
pawl_code pawl_durable_flush(pawl_engine *e, pawl_error *err);
/* What a flush has begun may be done; or it has failed, and is owed again. */
pawl_code pawl_durable_look(pawl_engine *e, pawl_error *err);
/* Is it time for what may wait? */
int pawl_durable_is_due(pawl_engine *e);

#endif
