/* engine/work/apply.h: taking the inboxes of instances, and nothing more.
 *
 * Layer    engine/work, above rounds. */
#ifndef PAWL_ENGINE_WORK_APPLY_H
#define PAWL_ENGINE_WORK_APPLY_H

#include "slots.h"

/* Claims one instance to take its inbox, and gives it back; no node runs.
 * `seize`: whoever holds it. *got 0: another does. */
pawl_code pawl_apply(pawl_engine *e, const pawl_id *id, int seize, int *got,
                     pawl_error *err);

/* The same for those that nobody holds, in units that they share. got[k]: it
 * was claimed here; what was not is one to be taken by itself. */
#define PAWL_APPLY_MAX 64
pawl_code pawl_apply_many(pawl_engine *e, const pawl_id *ids, int n, int *got,
                          pawl_error *err);

#endif
