#include "failure.h"

#include <assert.h>

pawl_code pawl_failure_memory(pawl_error *err) {
  return pawl_fail_as(err, PAWL_NOMEM, "53200", "", "no memory for the store");
}

pawl_code pawl_failure_every(pawl_stmt stmt, pawl_error *err) {
  assert(pawl_stmts[stmt].every);
  return pawl_fail_as(
      err, PAWL_LEASE_LOST, "22012", /* as PostgreSQL's statement does */
      "", "%s: a row was not as expected", pawl_stmts[stmt].name);
}
