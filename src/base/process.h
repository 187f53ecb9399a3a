/* base/process.h: who this process is, and whether another still lives.
 *
 * An executor's identity is written to the store so that another process of
 * the same host can take over at once when it is gone. `host` is the host
 * name; `boot` and `space` (pid namespace) make a pid comparable; `begun` (the
 * process's start time in kernel ticks) tells a reused pid apart. Where the
 * system does not say (no /proc), boot is "" and nobody is ever found gone. */
#ifndef PAWL_BASE_PROCESS_H
#define PAWL_BASE_PROCESS_H

#include <stdint.h>

typedef struct pawl_process {
  char host[64];
  char boot[64];
  char space[32];
  int64_t pid;
  int64_t begun;
} pawl_process;

void pawl_process_self(pawl_process *out);
/* 1 only when it is certain: same host, boot and namespace as `self`, and no
 * such process runs (or the pid is another process's now). */
int pawl_process_is_gone(const pawl_process *self, const pawl_process *other);

#endif
