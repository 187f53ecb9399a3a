/* engine/work/heartbeat.h: leases kept while a handler blocks, by a thread.
 *
 * Only where the host asks for it (pawl_config.heartbeat_thread; `pawl worker`
 * does): the engine itself starts no thread. The thread has a connection of its
 * own. Once a heartbeat it keeps what the engine holds, if a handler is running
 * and has not passed its node's timeout; past that, the lease is left to end.
 * A wake-up that it meets is left where it stands: the handler's own heartbeat
 * and ctx.cancelled ask the store, and the commit sees it.
 *
 * Threads  begin and end are the engine's; between them the held slots do not
 *          change, so the thread may copy their leases under the lock. */
#ifndef PAWL_ENGINE_WORK_HEARTBEAT_H
#define PAWL_ENGINE_WORK_HEARTBEAT_H

#include "slots.h"

typedef struct pawl_heartbeat pawl_heartbeat;

pawl_code pawl_heartbeat_open(pawl_engine *e, const char *url,
                              pawl_heartbeat **out, pawl_error *err);
void pawl_heartbeat_close(pawl_heartbeat *p); /* NULL is accepted */
/* A handler with this time limit begins, and has ended. NULL: no-ops. */
void pawl_heartbeat_begin(pawl_heartbeat *p, int64_t timeout_us);
void pawl_heartbeat_end(pawl_heartbeat *p);

#endif
