/* host/remote.h: a definition of isolated trust, whose functions run in a
 * process of its own (isolate.h).
 *
 *   none -> started, told its source -> asked for handlers -> ended -> none
 *
 * It is started when it is needed and there is none, and stays. Nothing that
 * it says is believed: it answers what it was asked, within limits, and may
 * ask what a ctx may ask. One that does otherwise, or takes longer than its
 * limits allow, is killed; handlers that wait in it fail then. One that dies by
 * itself fails the handler that runs, and those that wait.
 *
 * Layer    of the host; see cell.c, which has one for each such definition.
 * Process  made by posix_spawn, of the program that its limits name: no thread
 *          and no lock of ours is there, no memory, and no descriptor stays.
 *          Who forks leaves it to the first process: `host->pid`.
 * Keeps    H11 no call takes longer than the limits' time and GRACE_US, besides
 *             the service that is under way then and what a start takes,
 *             however its bytes flow and whatever it says. All calls of one
 *             handler that waits have that time together.
 *          H12 what it grants is looked at here again, and what comes from there
 *             is read whole before any of it counts. */
#ifndef PAWL_HOST_REMOTE_H
#define PAWL_HOST_REMOTE_H

#include "host_internal.h"

/* `limits` and the host are borrowed. */
pawl_remote *pawl_remote_new(pawl_host *host, const pawl_limits *limits);
/* Before several are freed: their processes end side by side. */
void pawl_remote_kill(pawl_remote *r);
/* Ends the process; those that wait are lost. NULL is accepted. */
void pawl_remote_free(pawl_remote *r);
/* Is there one that has its definition? */
int pawl_remote_is_up(const pawl_remote *r);

/* Starts a process and loads the definition there. `folder`: where a file's
 * modules are looked for; NULL: they are in the bundle. *out gets graph, bundle
 * and others. */
pawl_code pawl_remote_load(pawl_remote *r, const char *name, pawl_str source,
                           pawl_str bundle, const char *folder,
                           pawl_loaded *out, pawl_error *err);

/* As pawl_run_begin and its like, where it is up. *is_stale: it had died
 * before it was asked; nothing was run, and another may be. */
pawl_code pawl_remote_begin(pawl_remote *r, const pawl_call *call,
                            int may_wait, pawl_said *result,
                            pawl_run **waiting, int *is_stale,
                            pawl_error *err);
pawl_code pawl_remote_resume(pawl_run **waiting, int events,
                             const pawl_error *why, pawl_said *result,
                             pawl_error *err);
void pawl_remote_abandon(pawl_run *waiting);

#endif
