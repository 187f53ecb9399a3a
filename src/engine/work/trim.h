/* engine/work/trim.h: histories that are kept short, by `keep_history`.
 *
 * Whoever holds an instance takes old rows away, in front of a commit that
 * makes its history long enough: then the lease is there for certain, also of
 * an instance that waits again with each commit. A unit of its own, of a
 * bounded number of rows, and of as many as the tick has time for
 * (common/chore.h), under the lease; one that fails or is killed has
 * done nothing, and the next commits take it up. What is left in rows that
 * were looked at, and what may go, says rules/trim.h.
 *
 * Layer    engine/work: commit.c and run.c call it.
 * Keeps    E4 rows go, and what tells of them is written, in one unit that
 *             begins with the lease's lock: who holds an instance finds its
 *             history as he left it.
 *          E5 an instance of a workflow without `keep_history` costs a look at
 *             its definition. */
#ifndef PAWL_ENGINE_WORK_TRIM_H
#define PAWL_ENGINE_WORK_TRIM_H

#include "slots.h"

/* It has a plan: is its history long enough then? */
void pawl_trim_note(pawl_engine *e, pawl_held *h);
/* Those that were noted, before their plans are sent; nothing is under way.
 * What fails is no failure of theirs: a lost connection alone is told. */
pawl_code pawl_trim_noted(pawl_engine *e, pawl_error *err);
/* One whose next plan is sent by itself (transactional.c). */
pawl_code pawl_trim_ahead(pawl_engine *e, pawl_held *h, pawl_error *err);
#ifdef PAWL_TESTING
/* Wherever there is `keep_history`, it is that, and one row beyond is enough;
 * 0: as it is. For specs whose histories are short. */
void pawl_trim_shorten(int64_t keep);
#endif

#endif
