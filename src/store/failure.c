#include "failure.h"

#include <assert.h>
#include <string.h>

#define SHORT_STATE "HY001" /* SQL/CLI's; no server says it */

pawl_code pawl_failure_memory(pawl_error *err) {
  return pawl_fail_as(err, PAWL_NOMEM, "53200", "", "no memory for the store");
}

pawl_code pawl_failure_short(pawl_error *err) {
  return pawl_fail_as(err, PAWL_UNREACHABLE, SHORT_STATE, "",
                      "no memory for what the store answers: nobody knows "
                      "whether what was sent to it came to be");
}

int pawl_failure_is_short(pawl_code rc, const pawl_error *err) {
  return rc == PAWL_UNREACHABLE && strcmp(err->sqlstate, SHORT_STATE) == 0;
}

pawl_code pawl_failure_outside(pawl_code rc, pawl_error *err) {
  if (!pawl_failure_is_short(rc, err)) return rc;
  pawl_error_sqlstate(err, "53200");
  return err->code = PAWL_NOMEM;
}

pawl_code pawl_failure_every(pawl_stmt stmt, pawl_error *err) {
  assert(pawl_stmts[stmt].every);
  return pawl_fail_as(
      err, PAWL_LEASE_LOST, "22012", /* as PostgreSQL's statement does */
      "", "%s: a row was not as expected", pawl_stmts[stmt].name);
}
