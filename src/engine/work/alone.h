/* engine/work/alone.h: one that was taken over, and who may be beside it.
 *
 *   claimed alone -> runs -> its handler waits for long -> rests: others come in
 *                 ^------------- called, once they have gone <---------+
 *
 * It is alone so that what kills its process is held against itself, and
 * against nobody else. While it rests that is turned round: it runs nothing, and
 * what dies beside it is none of its doing, so that its row counts one takeover
 * less meanwhile. Before it goes on what others have done is committed, those of
 * them that could run go back, and its own takeover counts again. Those that
 * wait stay, and wait on while it runs; a takeover by its fault counts against
 * them once at most, because from then on they are alone as well.
 *
 * Layer    engine/work: above commit and await.
 * Keeps    N3 of slots.h. */
#ifndef PAWL_ENGINE_WORK_ALONE_H
#define PAWL_ENGINE_WORK_ALONE_H

#include "slots.h"

/* Between rounds: it rests, or, when called, goes on. *changed: 1, if one of
 * these, and the next round has more to do. */
pawl_code pawl_alone_settle(pawl_engine *e, int *changed, pawl_error *err);

#endif
