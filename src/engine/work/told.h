/* engine/work/told.h: what is told of steps, when.
 *
 * Layer    engine/work.
 * Keeps    T3 nobody is told that a transactional step is done before the
 *             store has committed it. */
#ifndef PAWL_ENGINE_WORK_TOLD_H
#define PAWL_ENGINE_WORK_TOLD_H

#include "slots.h"

/* Now; of a step whose transaction is open, once that is committed. */
void pawl_engine_trace(pawl_engine *e, const pawl_decision *d,
                       const char *node, const char *kind, int64_t elapsed_us,
                       const char *outcome, const char *detail,
                       int64_t due_us);
/* The end of such a transaction. Nothing is kept: no-ops. */
void pawl_told_committed(pawl_engine *e);
void pawl_told_undone(pawl_engine *e);
void pawl_told_deinit(pawl_told *t);

#endif
