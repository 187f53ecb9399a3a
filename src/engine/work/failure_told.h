/* engine/work/failure_told.h: what is told of a failure, made whole.
 *
 * A plan by which an instance fails has what the rules know of that, in
 * `failure`, and effects without data (rules/failure.c). How the instance is
 * known elsewhere, its key, business key, correlation, tenant and attributes,
 * is in its rows, and is read when such a plan is about to be written: who does
 * not fail pays nothing. What is emitted is then
 *
 *   {"id","workflow","version","status","error",...,"failures":[...],
 *    "key","business_key","correlation","tenant","attributes":{...}}
 *
 * and what is started has the same as its input.
 *
 * Layer    engine/work: a part of one batch; see commit.c. */
#ifndef PAWL_ENGINE_WORK_FAILURE_TOLD_H
#define PAWL_ENGINE_WORK_FAILURE_TOLD_H

#include "slots.h"

/* For the plans of a batch, before it is sent, or in its open unit. Each is
 * asked for once, however often it is sent: nobody else changes what is
 * leased. */
pawl_code pawl_failure_told(pawl_engine *e, pawl_held **list, int n,
                            pawl_error *err);

#endif
