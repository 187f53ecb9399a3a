/* engine/reach.h: ends what was asked to end and nobody here would run.
 *
 * An instance that ends asks its children to end (deliver.c): a letter, and a
 * wake-up. Whoever serves the child takes the letter; where nobody does, it
 * would lie there for ever. So who delivers takes it himself, as
 * `pawl cancel` does: no handler runs, and what has to be undone is left to
 * those who know how.
 *
 * Layer    engine.
 * Keeps    R1 between ticks alone: taking an inbox is a tick of its own. */
#ifndef PAWL_ENGINE_REACH_H
#define PAWL_ENGINE_REACH_H

#include "internal.h"

/* These instances of one shard have just been asked to end. Inside a tick
 * those of other groups are noted; all of them where no tick will follow. */
pawl_code pawl_reach_note(pawl_engine *e, int shard, const pawl_id *ids, int n,
                          pawl_error *err);
/* Takes the inboxes of what was noted, and of what that leads to. */
pawl_code pawl_reach(pawl_engine *e, pawl_error *err);

#endif
