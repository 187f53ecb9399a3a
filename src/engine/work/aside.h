/* engine/work/aside.h: what is held from one tick to the next.
 *
 *   tick ... its budget is spent --> ASIDE --> READY, in the next one
 *                                          --> given back
 *
 * What was claimed and could not run is not given back to be claimed again a
 * frame later: that writes twice what running it does. It stays leased, and the
 * next tick begins with it, once the store has told that it is ours still, what
 * came in for it, and that its workflow is not suspended.
 *
 * It is given back where it would be in somebody's way: where it was not run
 * for GIVE_BACK_US (others may have the time), or was held for HELD_US (so that
 * a hot-fix or a bulk reaches what never waits), a quarter of a batch in a
 * tick; when less than a third of its lease is left; of what is more than a
 * batch those that have run last; behind a handler that was slow; when the tick
 * was interrupted, has failed, or knows of one that was taken over, which runs
 * alone (N3); before a wait, before anything that is asked of that instance, or
 * of its workflow, and when the engine is closed. A kill leaves it as it leaves
 * what is held in a tick: it is taken over at once by who sees that the process
 * is gone.
 *
 * Layer    engine/work: above claim.
 * Keeps    N1, N3 and N6 of slots.h: what is ASIDE is run, loaded, decided and
 *          committed by nobody. What waits, or has a plan, is never ASIDE. */
#ifndef PAWL_ENGINE_WORK_ASIDE_H
#define PAWL_ENGINE_WORK_ASIDE_H

#include "slots.h"

/* At a tick's end: what may be kept is put aside. The rest is claim.h's to
 * give back. */
void pawl_aside_put(pawl_engine *e);
/* What could not be given back: its lease may be another's by the time that it
 * is taken up. */
void pawl_aside_leave(pawl_engine *e);
/* At a tick's beginning: what is ours still is READY, and looks where something
 * came in. */
pawl_code pawl_aside_take(pawl_engine *e, pawl_error *err);
/* What was grouped is undone (store.h): nothing here stands as it is there, so
 * all that is held is given back, and what waits is ended. */
void pawl_aside_undone(pawl_engine *e);
/* Within a tick: `n` of those that go round without waiting go back, to come
 * again behind whatever is due (turns.h). */
pawl_code pawl_aside_give_way(pawl_engine *e, int n, pawl_error *err);
/* Gives back those of these ids that are aside; `ids` NULL: all. On failure
 * they stay there. */
pawl_code pawl_aside_give_back(pawl_engine *e, const pawl_id *ids, int n,
                               pawl_error *err);

#endif
