/* engine/work/apply.h: taking an instance's inbox, and nothing more.
 *
 * Layer    engine/work, above rounds. */
#ifndef PAWL_ENGINE_WORK_APPLY_H
#define PAWL_ENGINE_WORK_APPLY_H

#include "slots.h"

/* Claims one instance to take its inbox, and gives it back; no node runs.
 * `seize`: whoever holds it. *got 0: another does. */
pawl_code pawl_apply(pawl_engine *e, const pawl_id *id, int seize, int *got,
                     pawl_error *err);

#endif
