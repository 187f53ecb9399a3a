/* The rounds of a tick. */
#include "rounds.h"

#include <assert.h>

#include "../../rules/decide.h"
#include "../common/pipeline.h"
#include "../common/time.h"
#include "../versions/versions.h"
#include "await.h"
#include "claim.h"
#include "commit.h"
#include "deliver.h"
#include "executors.h"
#include "load.h"
#include "refill.h"
#include "run.h"
#include "transactional.h"
#include "trim.h"

/* ---- one round ---- */

static int is_known(const pawl_held *h) {
  return h->loaded == PAWL_LOADED && h->fate != PAWL_FATE_FOREIGN;
}

/* No more handlers begin than may wait; the others' slots are queued. One that
 * was committed in the middle of a round looks before the next (N6). */
static int is_runnable(pawl_engine *e, pawl_held *h) {
  if (h->state != PAWL_SLOT_READY || !is_known(h) || h->flight.run || h->look)
    return 0;
  if (e->nwaiting < e->config.concurrency || !pawl_decide_may_wait(&h->d)) {
    h->queued_mono_us = 0;
    return 1;
  }
  if (!h->queued_mono_us) h->queued_mono_us = pawl_clock_mono();
  return 0;
}

/* Is anything held that can only be given back? */
static int any_foreign(const pawl_engine *e) {
  PAWL_EACH_SLOT (e, h)
    if (h->state == PAWL_SLOT_READY && !is_known(h)) return 1;
  return 0;
}

/* After a pause, of this process or of its machine, the lease may have ended
 * before the handler begins: then it is asked for again, or given up. */
static pawl_code check_lease(pawl_engine *e, pawl_held *h, pawl_error *err) {
  if (pawl_engine_now(e) < h->lease_until_us) return PAWL_OK;
  MUST(pawl_claim_heartbeat(e, 1, err));
  if (pawl_engine_now(e) < h->lease_until_us) return PAWL_OK;
  pawl_log_write(&e->log, PAWL_WARN, "lease lost before its handler began",
                 NULL);
  pawl_held_lose(e, h, NULL);
  return PAWL_OK;
}

static pawl_code run_one(pawl_engine *e, pawl_held *h, pawl_error *err) {
  MUST(check_lease(e, h, err));
  if (h->state != PAWL_SLOT_READY) return PAWL_OK;
  assert(!h->flight.run && !e->unit);
  if (!pawl_decide_is_transactional(&h->d)) {
    pawl_step_run(e, h);
    return PAWL_OK;
  }
  MUST(pawl_commit_all(e, err)); /* on its own, outside the batch */
  if (h->state != PAWL_SLOT_READY || h->look) return PAWL_OK;
  MUST(pawl_trim_ahead(e, h, err));
  MUST(pawl_transactional_run(e, h, err));
  return PAWL_OK;
}

/* Every ready slot runs one step; results are committed on the way when they
 * have waited long enough. *ran: how many. *stop: the budget is spent. */
static pawl_code run_round(pawl_engine *e, int64_t deadline_mono, int *ran,
                           int *stop, pawl_error *err) {
  int64_t flushed = pawl_clock_mono();

  *ran = 0;
  PAWL_EACH_SLOT (e, h) {
    if (!is_runnable(e, h)) continue;
    /* rule 7: what is done does not wait for a node known to be slow */
    if (*ran && pawl_step_expected_us(h) > PAWL_SLOW_US) {
      MUST(pawl_commit_ahead(e, err));
      if (!is_runnable(e, h)) continue;
    }
    int64_t began = pawl_clock_mono();
    MUST(run_one(e, h, err));
    ++*ran;
    int64_t mono = pawl_clock_mono();
    if (e->interrupted || mono >= deadline_mono) {
      *stop = 1;
      break;
    }
    if (mono - flushed <= PAWL_FLUSH_US) continue;
    MUST(pawl_commit_ahead(e, err));
    if (mono - began > PAWL_FLUSH_US) { /* others can run what is not begun */
      MUST(pawl_claim_release(e, err));
      break;
    }
    MUST(pawl_claim_heartbeat(e, 0, err));
    flushed = pawl_clock_mono();
  }
  /* handlers that wait go on before there is room, and join the batch */
  if (!e->nwaiting || !pawl_pipeline_is_full(e))
    MUST(pawl_commit_ahead(e, err));
  return PAWL_OK;
}

/* Ours at once; those that a dead process left behind, now and then, but not
 * before what somebody has just announced, unless that never ends. */
static pawl_code deliver(pawl_engine *e, int may, pawl_error *err) {
  int64_t late = pawl_clock_mono() - e->deliver_mono_us;
  if (late < 0) return PAWL_OK;
  if (e->woken && (may & PAWL_CLAIMING) && late < PAWL_SECOND) return PAWL_OK;
  return pawl_deliver(e, err);
}

static int is_answered(pawl_engine *e) {
  return pawl_store_await(e->store, 0, e->fds, 1);
}

/* Waits for the answer to the oldest, or until a handler that waits can go
 * on. */
static int wait_for_answer(pawl_engine *e) {
  int64_t left = pawl_await_next(e) - pawl_engine_now(e);
  int64_t mono = pawl_clock_mono();

  if (left > PAWL_NEVER - mono) left = PAWL_NEVER - mono;
  return pawl_store_await(e->store, mono + left, e->fds, pawl_await_fds(e));
}

/* Finishes those that are answered already, and, when `idle`, the next one to
 * be answered, unless a handler that waits can go on before it. As many stay
 * under way as leave the store something to do. */
static pawl_code advance(pawl_engine *e, int idle, pawl_error *err) {
  int most = e->nwaiting ? PAWL_MAX_SUBMITTED - 1 : 1;

  if (idle && e->nsent && (!e->nwaiting || wait_for_answer(e)))
    MUST(pawl_pipeline_finish(e, err));
  while (e->nsent > most || (e->nsent && e->nwaiting && is_answered(e)))
    MUST(pawl_pipeline_finish(e, err));
  return PAWL_OK;
}

/* One batch may be under way while the next one's handlers run; when there is
 * nothing to run, it is waited for. */
static pawl_code finish_some(pawl_engine *e, int idle, pawl_error *err) {
  pawl_code rc = advance(e, idle || pawl_refill_is_spent(e), err);

  return rc == PAWL_UNREACHABLE ? pawl_commit_all(e, err) : rc;
}

pawl_code pawl_rounds_run(pawl_engine *e, int64_t budget_us, int may,
                          pawl_error *err) {
  int64_t began = pawl_clock_mono();
  int64_t deadline =
      budget_us >= PAWL_NEVER - began ? PAWL_NEVER : began + budget_us;
  int ran = 0, resumed = 0, stop = 0;

  if (budget_us <= 0) deadline = PAWL_NEVER; /* one round, whole */
  MUST(pawl_commit_all(e, err)); /* what an earlier tick could not settle */
  while (!stop) {
    MUST(deliver(e, may, err));
    if (may & PAWL_CLAIMING) MUST(pawl_refill(e, err));
    if (!e->nheld && !e->nsent) break;
    MUST(pawl_load_more(e, err));
    if (e->nwaiting) MUST(pawl_await_look(e, err));
    if (may & PAWL_RESUMING) pawl_await_poll(e, deadline, &resumed);
    int foreign = any_foreign(e);
    MUST(run_round(e, deadline, &ran, &stop, err));
    if (foreign) MUST(pawl_claim_release(e, err));
    if (!ran && !resumed && !foreign && !e->nsent) break;
    MUST(finish_some(e, !ran && !resumed, err));
    MUST(pawl_claim_heartbeat(e, 0, err));
    if (budget_us <= 0 || e->interrupted || pawl_clock_mono() >= deadline)
      stop = 1;
  }
  MUST(pawl_commit_all(e, err));
  if (!e->deliver_mono_us) MUST(pawl_deliver(e, err));
  return PAWL_OK;
}

/* ---- around them: counting, and giving back ---- */

pawl_code pawl_rounds_begin(pawl_engine *e, pawl_tick_stats *stats,
                            pawl_error *err) {
  memset(stats, 0, sizeof *stats);
  e->stats = stats;
  e->ask_all = 1;
  MUST(pawl_retell(e, err));
  MUST(pawl_executor_housekeep(e, err));
  MUST(pawl_claim_settle(e, err));
  return pawl_await_look(e, err);
}

int64_t pawl_rounds_next(pawl_engine *e) {
  int64_t next = pawl_await_next(e);
  int ready = e->fresh_ready || (e->suspect_ready && !e->nheld);

  if (e->nheld > e->nwaiting + pawl_claim_queued(e)) return 0;
  if (e->suspect_ready && e->nheld) ready = 0; /* N3: after those that wait */
  if (!pawl_refill_has_room(e))
    return next; /* what is due has to wait for those */
  if (ready) return 0;
  return next < e->next_due_us ? next : e->next_due_us;
}

pawl_code pawl_rounds_end(pawl_engine *e, pawl_code rc, pawl_error *err) {
  pawl_error second;
  /* after a failure, leases of what was not begun go back if that works */
  pawl_code give = pawl_claim_release(e, rc == PAWL_OK ? err : &second);
  if (rc == PAWL_OK) rc = give;
  e->stats->held = e->nheld;
  e->stats->waiting = e->nwaiting;
  e->stats->next_due_us = pawl_rounds_next(e);
  e->stats = NULL;
  e->interrupted = 0;
  return rc;
}
