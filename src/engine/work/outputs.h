/* engine/work/outputs.h: ctx.output, what nodes have given.
 *
 * Looked for when a handler asks, so that nobody pays who does not: among the
 * records of this decision, which are not stored yet, then in history. What a
 * node gave is what its newest visit did, also if that was nothing. Inside forks
 * a token's own way counts first: its own visits, then those of the tokens that
 * led to it, which rows of history name (`previous`), and of those that forked;
 * else the newest visit of all.
 *
 * Layer    engine/work, behind services.h. */
#ifndef PAWL_ENGINE_WORK_OUTPUTS_H
#define PAWL_ENGINE_WORK_OUTPUTS_H

#include "slots.h"

/* pawl_services.output */
pawl_code pawl_service_output(const pawl_call *call, pawl_str node,
                              pawl_buf *out, pawl_error *err);

#endif
