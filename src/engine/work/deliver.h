/* engine/work/deliver.h: what instances asked of each other.
 *
 * Layer    engine/work, above enter. */
#ifndef PAWL_ENGINE_WORK_DELIVER_H
#define PAWL_ENGINE_WORK_DELIVER_H

#include "slots.h"

/* Hands over what commits asked of other instances: those just written, and
 * now and then those that a dead process left behind. Idempotent. */
pawl_code pawl_deliver(pawl_engine *e, pawl_error *err);

#endif
