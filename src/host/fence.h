/* host/fence.h: what a process gives up before it runs what it does not trust.
 *
 * Layer    of the host; libc and the system alone.
 * Where    a system has no such thing it is left out, and not said to hold:
 *          the limits are everywhere, the rest is Linux's. */
#ifndef PAWL_HOST_FENCE_H
#define PAWL_HOST_FENCE_H

#include <stddef.h>

enum {
  PAWL_FENCE_LIMITS = 1,  /* address space, processor, files, processes */
  PAWL_FENCE_DEATH = 2,   /* it ends with the thread that made it */
  PAWL_FENCE_CALLS = 4,   /* system calls that are not in fence.c's list end
                             it: seccomp */
  PAWL_FENCE_NO_MORE = 8, /* it gets no rights by what it executes */
  PAWL_FENCE_ALL = 15
};

/* First of all: no descriptors but `kept`, no environment, the working
 * directory "/"; signals that a terminal or a service manager sends to all are
 * for who is at the other end. 0: its parent, `parent`, is gone already. */
int pawl_fence_strip(int kept, long parent);
/* For good. `bytes`: of address space. Which of the above hold. */
int pawl_fence_raise(size_t bytes);
/* "limits, death, ...": those that `held` lacks; "": none. */
const char *pawl_fence_lacks(int held, char *to, size_t size);

#endif
