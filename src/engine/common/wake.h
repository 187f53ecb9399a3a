/* engine/common/wake.h: telling sleeping workers that something is due.
 *
 * Layer    engine/common. */
#ifndef PAWL_ENGINE_COMMON_WAKE_H
#define PAWL_ENGINE_COMMON_WAKE_H

#include "../../base/clock.h"

#define PAWL_WAKE_EVERY_US 3000 /* at most */

/* After the commit of what is due. */
void pawl_wake(pawl_engine *e);

#endif
