/* store/sqsync.h: a helper thread that takes a SQLite log to the disk, while
 * its connection goes on.
 *
 * Only where the host asks for it (pawl_config.sync_thread). It knows nothing
 * but a descriptor: SQLite locks no byte of a log, so that one more may be
 * opened, and closed, beside SQLite's own. It stays open from the first sync
 * on: a failure of the disk is told to each descriptor that was open then.
 *
 * Layer    for store/sqconn.c.
 * Owns     the thread, and the descriptor.
 * Threads  all calls are the connection's; the thread makes none, allocates
 *          nothing, takes no signals and touches nothing but this.
 * Errors   of a sync are told by `look`, once. */
#ifndef PAWL_STORE_SQSYNC_H
#define PAWL_STORE_SQSYNC_H

#include "../base/alloc.h"
#include "../base/error.h"

typedef struct pawl_sqsync pawl_sqsync;

typedef enum pawl_sqsync_state {
  PAWL_SQSYNC_IDLE,
  PAWL_SQSYNC_BUSY,
  PAWL_SQSYNC_DONE,
  PAWL_SQSYNC_FAILED
} pawl_sqsync_state;

pawl_code pawl_sqsync_open(const pawl_alloc *alloc, pawl_sqsync **out,
                           pawl_error *err);
/* Waits for the sync that is under way. */
void pawl_sqsync_close(pawl_sqsync *s);
/* Begins to take all that was written to the file so far to the disk, always
 * the same one. It is IDLE. False, with errno: it cannot be opened. */
int pawl_sqsync_ask(pawl_sqsync *s, const char *path);
/* How it stands; what is over is told once, then it is IDLE. FAILED: *why is
 * an errno. */
pawl_sqsync_state pawl_sqsync_look(pawl_sqsync *s, int *why);

#endif
