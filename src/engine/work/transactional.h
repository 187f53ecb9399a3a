/* engine/work/transactional.h: a step whose SQL and record are one transaction.
 *
 * The other way to take a turn than run.h's, which it calls for the handler:
 * what that buys is SQL of the user's own that happens exactly when the step is
 * recorded. It costs a transaction of its own, beside no others. A step that
 * runs no SQL leaves the same rows either way (transactional_spec.lua).
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
