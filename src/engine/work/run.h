/* engine/work/run.h: slots are decided on, and their handlers run.
 *
 * The decisions are the rules' (rules/decide.h); here they meet the host, the
 * clock and the trace.
 *
 * Layer    engine/work: touches the host, never the store. */
#ifndef PAWL_ENGINE_WORK_RUN_H
#define PAWL_ENGINE_WORK_RUN_H

#include "slots.h"

/* What decisions of this engine see of the world. */
void pawl_run_init_world(pawl_engine *e);

/* Runs what stands next for a READY slot; leaves a plan, or a handler that
 * waits. */
void pawl_step_run(pawl_engine *e, pawl_held *h);
/* How long the handler that stands next takes, as a rule; 0: no handler. */
int64_t pawl_step_expected_us(const pawl_held *h);
/* Turns the slot's plan into one that cancels, keeping what it recorded. */
void pawl_step_hear(pawl_engine *e, pawl_held *h);
/* Replaces the slot's plan: the step it came from has failed after all, and
 * nothing of it was stored. */
void pawl_step_fail(pawl_engine *e, pawl_held *h, const pawl_error *why);
/* Goes on with a handler, as pawl_host_resume does. When it ends it leaves a
 * plan. */
void pawl_step_resume(pawl_engine *e, pawl_flight *waiting, int events,
                      const pawl_error *why);
/* Ends the handler where it stands; its step has failed with *why. */
void pawl_step_abandon(pawl_engine *e, pawl_flight *waiting,
                       const pawl_error *why);
/* Replaces the slot's plan after the store refused it: the instance fails. 1:
 * not yet, as a decision and a step were in it; it is the decision alone. */
int pawl_step_refused(pawl_engine *e, pawl_held *h, const pawl_error *why);

#endif
