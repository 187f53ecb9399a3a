/* host/answer_check.h: is what a process says of a handler such as a handler
 * can leave behind?
 *
 * A state of ours makes nothing else; but whoever has taken the process over
 * may say anything. So the engine is given what it would be given by Lua, or
 * nothing.
 *
 * Layer    of the host; above value and defs, without Lua. */
#ifndef PAWL_HOST_ANSWER_CHECK_H
#define PAWL_HOST_ANSWER_CHECK_H

#include "../defs/limits.h"
#include "host.h"

/* The result of a handler that was called with *call; flags are made 0 or 1.
 * PAWL_SCRIPT: it is not to be used. PAWL_NOMEM: there was no memory here to
 * take it, or to look at it, which says nothing of the process. */
pawl_code pawl_answer_judge(const pawl_host *host, const pawl_limits *limits,
                            const pawl_call *call, pawl_said *result);
/* What is no text is taken out of an error's texts; what is no JSON, or too
 * long, out of the rest. */
void pawl_answer_mend_error(pawl_error *err);
void pawl_answer_mend_failure(pawl_said *result);

#endif
