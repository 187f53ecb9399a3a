/* engine/work/spin.h: tells of instances that go on and on without waiting.
 *
 * A step that polls the world may go round often, and `busy_limit` is there for
 * who wants a bound. Without one, an instance that spins fills its history as
 * fast as it can, and nobody is told: so the log says it, once for an
 * instance, as long as it is remembered here.
 *
 * So do steps whose transaction the store undoes each time, by what is not
 * their fault as a rule: they are counted here, whoever holds them meanwhile.
 *
 * Layer    engine/work. What is displaced in its table is forgotten. */
#ifndef PAWL_ENGINE_WORK_SPIN_H
#define PAWL_ENGINE_WORK_SPIN_H

#include "slots.h"

/* A token of its has run a step: the many of an each count by themselves. */
void pawl_spin_step(pawl_engine *e, const pawl_held *h, int32_t token,
                    const char *node);
/* The store has undone the transaction of its step: how often by now, and
 * nothing of the instance was stored in between. */
int pawl_spin_rolled_back(pawl_engine *e, const pawl_held *h);
/* It waits, or is to be looked at later. */
void pawl_spin_rest(pawl_engine *e, const pawl_held *h);

#endif
