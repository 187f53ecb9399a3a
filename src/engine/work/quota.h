/* engine/work/quota.h: what limited workflows may do in a minute.
 *
 * The store counts it, in the commits of those who do it: each executor in
 * rows of its own, so that neighbours do not wait for each other. What others
 * have done is asked for when the last answer is old, and before anything is
 * refused. Two who ask at one time may together be over by what both have not
 * committed yet.
 *
 * Layer    engine/work: asks the store while rules decide, as services do. For
 *          what is trusted it is never called. */
#ifndef PAWL_ENGINE_WORK_QUOTA_H
#define PAWL_ENGINE_WORK_QUOTA_H

#include "slots.h"

/* The world's `spend`. */
pawl_code pawl_quota_spend(void *ud, pawl_decision *d, pawl_quota quota,
                           int64_t n, int64_t *wait_us, pawl_error *err);
/* May it write one more line? By what is known, without asking; 0: its handler
 * fails when it ends. Counts it. */
int pawl_quota_log(pawl_engine *e, pawl_held *h);
/* The rows of a batch. */
pawl_code pawl_quota_send(pawl_engine *e, pawl_held **list, int n,
                          pawl_error *err);
/* Forgets minutes that are over: where it has quotas, and once where not. */
pawl_code pawl_quota_tidy(pawl_engine *e, pawl_error *err);
void pawl_quota_close(pawl_engine *e);

#endif
