/* engine/work/transactional.h: a step whose SQL and record are one transaction.
 *
 * Layer    engine/work, above commit and told. */
#ifndef PAWL_ENGINE_WORK_TRANSACTIONAL_H
#define PAWL_ENGINE_WORK_TRANSACTIONAL_H

#include "slots.h"

/* Runs the step inside the transaction that records it; when the step fails,
 * its SQL goes and its failure is recorded with the next batch. */
pawl_code pawl_transactional_run(pawl_engine *e, pawl_held *h,
                                 pawl_error *err);

#endif
