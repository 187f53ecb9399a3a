/* engine/work/refill.h: how much is claimed, and when.
 *
 * Layer    engine/work, above claim. */
#ifndef PAWL_ENGINE_WORK_REFILL_H
#define PAWL_ENGINE_WORK_REFILL_H

#include "slots.h"

#define PAWL_FLUSH_US (50 * 1000) /* no result waits longer for its commit */

/* Looks and claims as far as there is room. */
pawl_code pawl_refill(pawl_engine *e, pawl_error *err);
/* Is a look still owed, or was somebody heard who has not been served? */
int pawl_refill_is_due(pawl_engine *e);
/* Is there room for one more handler that may wait, or is not? */
int pawl_refill_has_room(const pawl_engine *e);
/* Is all that is held under way in the store, and nothing else known to be
 * there? */
int pawl_refill_is_spent(const pawl_engine *e);

#endif
