/* engine/work/executors.h: our row among the executors, its heartbeat, and dead
 * neighbours.
 *
 * Layer    engine/work, above enter. */
#ifndef PAWL_ENGINE_WORK_EXECUTORS_H
#define PAWL_ENGINE_WORK_EXECUTORS_H

#include "slots.h"

/* Whatever of it is due by now; and events that were left behind. */
pawl_code pawl_executor_housekeep(pawl_engine *e, pawl_error *err);
/* Our row says that we stopped. */
pawl_code pawl_executor_stop(pawl_engine *e, pawl_error *err);

#endif
