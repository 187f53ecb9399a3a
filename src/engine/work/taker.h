/* engine/work/taker.h: an event that one instance takes for all that wait for
 * it (`take = "one"`).
 *
 * Layer    engine/work, above common.
 * Keeps    K5 an event has one taker, as long as it is kept: who came first to
 *             its row. It is written before the decision that takes the event,
 *             so that whoever decides again, after a crash too, has it still. */
#ifndef PAWL_ENGINE_WORK_TAKER_H
#define PAWL_ENGINE_WORK_TAKER_H

#include "slots.h"

/* The world's `claim`. */
pawl_code pawl_taker_claim(void *ud, pawl_decision *d, const pawl_letter *l,
                           pawl_str id, int *taken, pawl_error *err);

#endif
