/* engine/work/heartbeat.h: leases kept while a handler blocks, by a helper thread.
 *
 * Only where the host asks for it (pawl_config.pulse; `pawl worker` does): the
 * engine itself starts no thread. The thread has a connection of its own. Once
 * a heartbeat it renews what the engine holds, if a handler is running and has
 * not passed its node's timeout; past that, the lease is left to end.
 * A wake-up that it meets is left where it stands: the handler's own heartbeat
 * and ctx.cancelled ask the store, and the commit sees it.
 *
 * Threads  begin and end are the engine's; between them the held slots do not
 *          change, so the thread may copy their leases under the lock. */
#ifndef PAWL_ENGINE_WORK_HEARTBEAT_H
#define PAWL_ENGINE_WORK_HEARTBEAT_H

#include "../internal.h"

typedef struct pawl_pulse pawl_pulse;

pawl_code pawl_pulse_open(pawl_engine *e, const char *url, pawl_pulse **out,
                          pawl_error *err);
void pawl_pulse_close(pawl_pulse *p); /* NULL is accepted */
/* A handler with this time limit begins, and has ended. NULL: no-ops. */
void pawl_pulse_begin(pawl_pulse *p, int64_t timeout_us);
void pawl_pulse_end(pawl_pulse *p);

#endif
