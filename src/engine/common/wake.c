/* The notification that workers sleep on. */
#include "wake.h"

#include "engine_struct.h"
#include "pipeline.h"

/* Nobody waits for its answer, where that can be. */
static pawl_code send_wake(pawl_engine *e, pawl_error *err) {
  pawl_rows rows;
  pawl_sent *sent;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(&e->args, PAWL_STMT_wake);
  if (!pawl_pipeline_is_open(e) || pawl_pipeline_is_full(e))
    return pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err);
  TRY(pawl_pipeline_place(e, &sent, err));
  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(pawl_store_send(e->store, &e->args, NULL, err));
  TRY(pawl_store_submit(e->store, err));
  pawl_pipeline_sent(e); /* n is 0: there is nothing to apply */
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* Sleeping workers are told after the commit, not more often than they can
 * use it: who was told looks again a little later (pawl_engine_wait). */
void pawl_wake(pawl_engine *e) {
  pawl_error err;
  int64_t mono = pawl_clock_mono();

  e->woken = 1; /* it may be ours to run */
  if (pawl_store_held(e->store)) {
    e->after_held.wake = 1; /* nobody can see it yet */
    return;
  }
  if (mono < e->wake_mono_us) return;
  e->wake_mono_us = mono + PAWL_WAKE_EVERY_US;
  if (send_wake(e, &err) != PAWL_OK)
    pawl_log_error(&e->log, PAWL_DEBUG, "wake-up not sent", &err);
}
