/* engine/work/told.h: what is told of steps, when.
 *
 * Layer    engine.
 * Keeps    T1 nobody is told that a transactional step is done before the
 *             store has committed it. */
#ifndef PAWL_ENGINE_WORK_TOLD_H
#define PAWL_ENGINE_WORK_TOLD_H

#include "../internal.h"

/* Now; of a step whose transaction is open, once that is committed. */
void pawl_told_say(pawl_engine *e, const pawl_trace *trace);
/* The end of such a transaction. Nothing is kept: no-ops. */
void pawl_told_committed(pawl_engine *e);
void pawl_told_undone(pawl_engine *e);
void pawl_told_deinit(pawl_told *t);

#endif
