/* The rounds of a tick. */
#include "rounds.h"

#include <assert.h>

#include "../../rules/decide.h"
#include "../common/pipeline.h"
#include "../common/time.h"
#include "../enter/assign.h"
#include "../versions/versions.h"
#include "alone.h"
#include "aside.h"
#include "await.h"
#include "budget.h"
#include "claim.h"
#include "commit.h"
#include "deliver.h"
#include "executors.h"
#include "load.h"
#include "offers.h"
#include "refill.h"
#include "run.h"
#include "transactional.h"
#include "trim.h"
#include "turns.h"

#define GROUP_US 2000 /* a handler that takes longer is in no group's way */

/* ---- one round ---- */

static int is_known(const pawl_held *h) {
  return h->loaded == PAWL_LOADED && h->fate != PAWL_FATE_FOREIGN;
}

/* No more handlers begin than may wait; the others' slots are queued. One that
 * was committed in the middle of a round looks before the next (N6). */
static int is_runnable(pawl_engine *e, pawl_held *h) {
  if (h->state != PAWL_SLOT_READY || !is_known(h) || h->look) return 0;
  if ((h->flights || h->queued_mono_us) && !pawl_await_may_go_on(e, h))
    return 0; /* N3 */
  if (h->flights) return pawl_await_beside(e, h);
  if (pawl_await_has_place(e, h) || !pawl_decide_may_wait(&h->d)) {
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

/* ---- commits, and what they cost ---- */

static pawl_code spend_on_commit(pawl_engine *e,
                                 pawl_code (*commit)(pawl_engine *,
                                                     pawl_error *),
                                 pawl_error *err) {
  const pawl_spent was = pawl_budget_spend(e, PAWL_SPENT_COMMIT);
  const int64_t began = pawl_clock_mono();
  const pawl_code rc = commit(e, err);

  pawl_cost_add(&e->budget.commit, e->budget.planned,
                pawl_clock_mono() - began);
  e->budget.planned = 0;
  (void)pawl_budget_spend(e, was);
  return rc;
}

static pawl_code commit_all(pawl_engine *e, pawl_error *err) {
  return spend_on_commit(e, pawl_commit_all, err);
}

static pawl_code commit_ahead(pawl_engine *e, pawl_error *err) {
  return spend_on_commit(e, pawl_commit_ahead, err);
}

/* ---- one round ---- */

/* Others wait for what is grouped, and nobody is to wait for a handler. */
static pawl_code end_group(pawl_engine *e, pawl_error *err) {
  const pawl_spent was = pawl_budget_spend(e, PAWL_SPENT_COMMIT);

  pawl_store_group(e->store, 0);
  const pawl_code rc = pawl_store_settle(e->store, err);
  (void)pawl_budget_spend(e, was);
  return rc;
}

static pawl_code run_one(pawl_engine *e, pawl_held *h, int64_t expected_us,
                         pawl_error *err) {
  MUST(check_lease(e, h, err));
  if (h->state != PAWL_SLOT_READY) return PAWL_OK;
  if (expected_us > GROUP_US) MUST(end_group(e, err));
  e->budget.ran++;
  e->budget.planned++;
  pawl_turns_take(e, h);
  assert(!e->unit);
  if (!pawl_decide_is_transactional(&h->d)) {
    pawl_step_run(e, h);
    return PAWL_OK;
  }
  MUST(commit_all(e, err)); /* on its own, outside the batch */
  if (h->state != PAWL_SLOT_READY || h->look) return PAWL_OK;
  MUST(pawl_trim_ahead(e, h, err));
  MUST(pawl_transactional_run(e, h, err));
  return PAWL_OK;
}

/* What a round has come to. */
typedef struct turns {
  int64_t flushed; /* when results were committed last */
  int ran;
  int over; /* nothing else begins in this round */
  int stop; /* nor in this tick: the budget is spent */
} turns;

/* Who visits inboxes ends that first, which is short. */
static int is_interrupted(const pawl_engine *e) {
  return e->interrupted && !e->ninboxes;
}

/* One slot's turn, if it is ready. Results are committed on the way when they
 * have waited long enough. */
static pawl_code take_turn(pawl_engine *e, pawl_held *h, turns *t,
                           pawl_error *err) {
  if (!is_runnable(e, h)) return PAWL_OK;
  if (!pawl_budget_fits(e, h)) {
    t->stop = t->over = 1;
    return PAWL_OK;
  }
  const int64_t expected_us = pawl_step_expected_us(h);
  /* rule 7: what is done does not wait for a node known to be slow */
  if (t->ran && expected_us > PAWL_SLOW_US) {
    MUST(commit_ahead(e, err));
    if (!is_runnable(e, h)) return PAWL_OK;
  }
  const pawl_spent was = pawl_budget_spend(e, PAWL_SPENT_RUN);
  const int64_t began = e->budget.since_mono_us;
  const pawl_code rc = run_one(e, h, expected_us, err);
  (void)pawl_budget_spend(e, was);
  const int64_t mono = e->budget.since_mono_us;
  if (rc != PAWL_OK) return rc;
  t->ran++;
  e->budget.is_slow = mono - began > PAWL_FLUSH_US;
  if (mono - began > GROUP_US) MUST(end_group(e, err));
  if (is_interrupted(e) || mono >= e->budget.until_mono_us) {
    t->stop = t->over = 1;
    return PAWL_OK;
  }
  if (mono - t->flushed <= PAWL_FLUSH_US) return PAWL_OK;
  MUST(commit_ahead(e, err));
  if (e->budget.is_slow) { /* others can run what is not begun */
    t->over = 1;
    return pawl_claim_release(e, err);
  }
  MUST(pawl_claim_heartbeat(e, 0, err));
  t->flushed = pawl_clock_mono();
  return PAWL_OK;
}

/* Every ready slot runs one step. *ran: how many. *stop: the budget is
 * spent. */
static pawl_code run_round(pawl_engine *e, int *ran, int *stop,
                           pawl_error *err) {
  turns t = {.flushed = pawl_clock_mono()};
  const int n = pawl_turns_order(e);

  *ran = 0;
  for (int i = 0; i < n && !t.over; i++)
    MUST(take_turn(e, e->order[i], &t, err));
  *ran = t.ran;
  *stop |= t.stop;
  /* handlers that wait go on before there is room, and join the batch */
  if (!e->nwaiting || !pawl_pipeline_is_full(e)) MUST(commit_ahead(e, err));
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

  return rc == PAWL_UNREACHABLE ? commit_all(e, err) : rc;
}

static pawl_code spend_on_answers(pawl_engine *e, int idle, pawl_error *err) {
  const pawl_spent was = pawl_budget_spend(e, PAWL_SPENT_COMMIT);
  const pawl_code rc = finish_some(e, idle, err);
  (void)pawl_budget_spend(e, was);
  return rc;
}

static pawl_code load_more(pawl_engine *e, pawl_error *err) {
  const pawl_spent was = pawl_budget_spend(e, PAWL_SPENT_LOAD);
  const pawl_code rc = pawl_load_more(e, err);
  (void)pawl_budget_spend(e, was);
  return rc;
}

static void poll(pawl_engine *e, int *resumed) {
  const pawl_spent was = pawl_budget_spend(e, PAWL_SPENT_RUN);
  pawl_await_poll(e, e->budget.until_mono_us, resumed);
  (void)pawl_budget_spend(e, was);
}

pawl_code pawl_rounds_run(pawl_engine *e, int whole, int may,
                          pawl_error *err) {
  int ran = 0, resumed = 0, stop = is_interrupted(e); /* while nothing ran */

  MUST(commit_all(e, err)); /* what an earlier tick could not settle */
  while (!stop) {
    if (!e->budget.is_short) pawl_store_call(e->store);
    MUST(deliver(e, may, err));
    if (may & PAWL_CLAIMING) MUST(pawl_refill(e, err));
    if (!e->nheld && !e->nsent) break;
    MUST(load_more(e, err));
    if (e->nwaiting) MUST(pawl_await_look(e, err));
    if (may & PAWL_RESUMING) poll(e, &resumed);
    MUST(pawl_alone_settle(e, &resumed, err));
    int foreign = any_foreign(e);
    MUST(run_round(e, &ran, &stop, err));
    if (foreign) MUST(pawl_claim_release(e, err));
    if (!ran && !resumed && !foreign && !e->nsent && !e->alone_is_called)
      break;
    MUST(spend_on_answers(e, !ran && !resumed, err));
    MUST(pawl_claim_heartbeat(e, 0, err));
    if (whole || is_interrupted(e) || pawl_budget_is_over(e)) stop = 1;
  }
  MUST(commit_all(e, err));
  if (!e->deliver_mono_us) MUST(pawl_deliver(e, err));
  return PAWL_OK;
}

/* ---- around them: counting, and giving back ---- */

static pawl_code keep_house(pawl_engine *e, pawl_error *err) {
  const pawl_spent was = pawl_budget_spend(e, PAWL_SPENT_KEEP);
  const pawl_code rc = pawl_executor_housekeep(e, err);
  (void)pawl_budget_spend(e, was);
  return rc;
}

pawl_code pawl_rounds_begin(pawl_engine *e, int64_t budget_us,
                            pawl_tick_stats *stats, pawl_error *err) {
  memset(stats, 0, sizeof *stats);
  pawl_budget_begin(e, budget_us);
  e->stats = stats;
  e->ask_all = 1;
  MUST(pawl_retell(e, err));
  MUST(pawl_claim_settle(e, err)); /* of who we were until now */
  MUST(keep_house(e, err));
  return pawl_await_look(e, err);
}

int64_t pawl_rounds_next(pawl_engine *e) {
  int64_t next = pawl_await_next(e);
  if (pawl_assign_next(e) < next) next = pawl_assign_next(e);
  pawl_offers_let_in(e);
  /* N3: before the others, after those that are held */
  int ready = pawl_alone_is_next(e) ? e->nheld == e->nwaiting : e->fresh_ready;

  if (e->nheld > e->nwaiting + pawl_claim_queued(e)) return 0;
  if (!pawl_refill_has_room(e))
    return next; /* what is due has to wait for those */
  if (ready) return 0;
  return next < e->next_due_us ? next : e->next_due_us;
}

pawl_code pawl_rounds_end(pawl_engine *e, pawl_code rc, pawl_error *err) {
  pawl_error second;
  /* after a failure, leases of what was not begun go back if that works */
  pawl_code give = pawl_claim_release(e, rc == PAWL_OK ? err : &second);
  if (give != PAWL_OK) pawl_aside_leave(e); /* who takes them up asks first */
  if (rc == PAWL_OK) rc = give;
  e->stats->held = e->nheld;
  e->stats->waiting = e->nwaiting;
  e->stats->outside = pawl_await_outside(e);
  /* what was cut short, or failed, may have left, or not seen, what is due */
  e->stats->next_due_us =
      e->interrupted || rc != PAWL_OK ? 0 : pawl_rounds_next(e);
  e->stats = NULL;
  return rc;
}
