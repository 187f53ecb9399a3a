/* store/failure.h: failures that are the same in every database. */
#ifndef PAWL_STORE_FAILURE_H
#define PAWL_STORE_FAILURE_H

#include "stmt.h"

/* Nothing came to be, for want of memory. */
pawl_code pawl_failure_memory(pawl_error *err);
/* A connection was given up for want of memory: what came could not be kept.
 * It is PAWL_UNREACHABLE, as whatever it was in doubt for is treated, until a
 * caller of pawl is told: `outside` makes PAWL_NOMEM of it, and leaves all other
 * failures as they are. */
pawl_code pawl_failure_short(pawl_error *err);
int pawl_failure_is_short(pawl_code rc, const pawl_error *err);
pawl_code pawl_failure_outside(pawl_code rc, pawl_error *err);
/* A row of a statement with `every: row` changed nothing (stmt.h). */
pawl_code pawl_failure_every(pawl_stmt stmt, pawl_error *err);

#endif
