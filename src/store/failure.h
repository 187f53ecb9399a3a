/* store/failure.h: failures that are the same in every database. */
#ifndef PAWL_STORE_FAILURE_H
#define PAWL_STORE_FAILURE_H

#include "stmt.h"

pawl_code pawl_failure_memory(pawl_error *err);
/* A row of a statement with `every: row` changed nothing (stmt.h). */
pawl_code pawl_failure_every(pawl_stmt stmt, pawl_error *err);

#endif
