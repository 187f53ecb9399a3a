/* The third driver, see toy.c; and how often each of its functions was called,
 * so that a run of specs can tell that it has met them all. */
#ifndef PAWL_SPEC_TOY_H
#define PAWL_SPEC_TOY_H

#include "../../src/store/drivers.h"

typedef struct pawl_toy_calls {
  int begin, send, commit, submit, finish, await, rollback, rows, script,
      query, wait, forget;
} pawl_toy_calls;

extern pawl_toy_calls pawl_toy_called;
extern const pawl_driver pawl_driver_toy;

#endif
