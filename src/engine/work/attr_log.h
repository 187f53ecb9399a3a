/* engine/work/attr_log.h: what attributes were before a step changed them.
 *
 * Their rows say what they are now. What a handler has set goes into its row of
 * history together with what was there until then, as
 *
 *   changes.attributes = {"name": {"from": {"type","value"}, "to": {...}}}
 *
 * without `from` where there was none, without `to` where it was removed, and
 * not at all where it stays the same. That is read when the row is about to be
 * written: who sets no attribute pays nothing, and a handler that has run is
 * not failed because a question was not answered.
 *
 * Layer    engine/work: a part of one batch; see commit.c. */
#ifndef PAWL_ENGINE_WORK_ATTR_LOG_H
#define PAWL_ENGINE_WORK_ATTR_LOG_H

#include "slots.h"

/* For the plans of a batch, before it is sent, or in its open unit. Each is
 * asked for once, however often it is sent: nobody else changes attributes of
 * what is leased. */
pawl_code pawl_attr_log(pawl_engine *e, pawl_held **list, int n,
                        pawl_error *err);

#endif
