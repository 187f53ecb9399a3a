/* host/isolate.h: the process in which one definition of isolated trust runs.
 *
 * It has what a limited state has (limited.h), behind a fence (fence.h), and
 * nobody to talk to but the host that made it (remote.h). What a handler asks
 * of its ctx it asks there; what it logs goes along with whatever is sent next.
 *
 * Layer    of the host; `pawl isolate` is this and nothing else. */
#ifndef PAWL_HOST_ISOLATE_H
#define PAWL_HOST_ISOLATE_H

#include "../value/options.h"

/* Serves whoever is at the other end of `fd` until he has gone, and ends the
 * process. `parent`: who that is; `start`: what ctx.start takes. */
void pawl_isolate_serve(int fd, long parent, const pawl_options *start);

#endif
