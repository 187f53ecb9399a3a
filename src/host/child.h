/* host/child.h: a process that this one has made: its beginning and its end.
 *
 * Layer    of the host; the system alone. */
#ifndef PAWL_HOST_CHILD_H
#define PAWL_HOST_CHILD_H

#include <stddef.h>

#include "../base/error.h"

typedef struct pawl_child {
  long pid;    /* 0: none */
  int status;  /* of waitpid, once it has ended; */
  int is_told; /* 0: somebody else has asked for it */
} pawl_child;

/* The program that is started: `helper`, else PAWL_HELPER of the environment,
 * else this program, if that is the command, else the one that was installed
 * with the library. */
const char *pawl_child_program(const char *helper);
/* The command says that it is that. */
void pawl_child_is_command(void);

/* Starts `PROGRAM isolate PID`; *fd: our end of what is its standard input,
 * whose calls wait for `wait_us` at most.
 * PAWL_UNSUPPORTED: there is no such program. */
pawl_code pawl_child_start(pawl_child *c, const char *helper, int wait_us,
                           int *fd, pawl_error *err);
/* Kills it, if it lives; its end is not waited for. */
void pawl_child_kill(pawl_child *c);
/* The same, and waits for its end. */
void pawl_child_end(pawl_child *c);
/* "signal 11 (Segmentation fault)": of one whose end of the channel is
 * closed. */
void pawl_child_how(pawl_child *c, char *to, size_t size);

#endif
