/* engine/work/reach.h: ends what was asked to end and nobody here would run.
 *
 * An instance that ends asks its children to end (deliver.c): a letter, and a
 * wake-up. Whoever serves the child takes the letter; where nobody does, it
 * would lie there for ever. So a row of `ending` is written with it, and any
 * worker that finds that row due takes the letter, as `pawl cancel` does: no
 * handler runs, and what has to be undone is left to those who know how.
 *
 *   asked ──► due ──► put off ──► letter taken ──► gone
 *              ▲         │  held by somebody, refused, died of it
 *              └─────────┘
 *
 * Layer    engine/work, above apply.
 * Keeps    Y1 between ticks alone: taking an inbox is a tick of its own.
 *          Y2 a row is put off before its child is touched, and goes only when
 *             the child is seen to be neither due nor held.
 * Errors   of a child are logged with its id; those of the look are returned.
 * */
#ifndef PAWL_ENGINE_WORK_REACH_H
#define PAWL_ENGINE_WORK_REACH_H

#include "slots.h"

/* Behind a tick: takes the inboxes of what is due, as soon as something was
 * noted and now and then, a page at a time, or fewer, where the tick has little
 * time for that. *more: there is more. */
pawl_code pawl_reach(pawl_engine *e, int *more, pawl_error *err);
/* The same where no tick will follow: of all that was noted meanwhile, and of
 * what that leads to. What cannot be done is logged, and left to a worker. */
void pawl_reach_all(pawl_engine *e);

#endif
