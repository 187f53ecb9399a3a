/* engine/ask/condition.h: how the store itself is: what a monitor watches.
 *
 * Layer    engine/ask. */
#ifndef PAWL_ENGINE_ASK_CONDITION_H
#define PAWL_ENGINE_ASK_CONDITION_H

#include "../../value/object.h"

/* "store" {...} and "warnings" [{what, text}]; lease_us: since when the oldest
 * lease is held, 0: none is. What this role may not see is told as hidden, and
 * is no failure. *warned: there are warnings. */
pawl_code pawl_condition_tell(pawl_engine *e, int64_t lease_us, pawl_object *o,
                              pawl_error *err);

#endif
