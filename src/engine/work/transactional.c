/* One transactional step: locked, run, recorded and committed by itself. */
#include "transactional.h"

#include <assert.h>
#include <inttypes.h>

#include "claim.h"
#include "commit.h"
#include "durable.h"
#include "run.h"
#include "spin.h"
#include "told.h"

#define ROLLBACKS_MAX 5 /* times that a step is undone by the store */

/* Nothing of it has happened: the transaction is gone. */
static void undo_open(pawl_engine *e, pawl_held *h) {
  pawl_told_undone(e);
  pawl_store_rollback(e->store);
  e->unit = NULL;
  h->d.turn = PAWL_TURN_WHOLE;
}

/* The row is locked and ours, and nothing has come in. *ok 0: not so; the
 * slot has been dealt with. */
static pawl_code lock_open(pawl_engine *e, pawl_held *h, int *ok,
                           pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;
  int latch, at;

  *ok = 0;
  TRY(pawl_store_settle(e->store, err));
  TRY(pawl_store_begin(e->store, PAWL_UNIT_OPEN, err));
  TRY(pawl_commit_lock(e, &h, 1, &at, err));
  pawl_store_rows(e->store, at, &rows);
  latch = rows.nrows ? (int)pawl_read_agenda_lock(&rows, 0).latch : -1;
  if (latch == h->latch) {
    *ok = 1;
    return PAWL_OK;
  }
  pawl_store_rollback(e->store);
  rc = pawl_claim_reload(e, h, err);
  if (rc != PAWL_LEASE_LOST) return rc;
  pawl_held_lose(e, h, err);
  return PAWL_OK;
out:
  undo_open(e, h);
  return rc;
}

/* The store has undone the step's transaction through no fault of its SQL: it
 * runs again, and no attempt is counted. What is undone again and again is its
 * own doing: then it is a failure like any other. */
static int may_run_again(pawl_engine *e, const pawl_held *h) {
  return pawl_spin_rolled_back(e, h) <= ROLLBACKS_MAX;
}

/* By a lost connection or a conflict with others, before the commit? Whatever
 * its handler made of that. */
static int was_rolled_back(pawl_engine *e, const pawl_step_unit *u) {
  const pawl_error *why = &u->failed;
  return why->code != PAWL_OK &&
         (why->code == PAWL_UNREACHABLE || !strncmp(why->sqlstate, "40", 2)) &&
         may_run_again(e, u->owner);
}

static void fail_late(pawl_engine *e, pawl_held *h, int64_t took_us) {
  pawl_error late;

  pawl_fail_hint(&late, PAWL_TIMEOUT, "do the slow part in a step before it",
                 "a transactional step may take %" PRId64
                 " ms on this store; it took %" PRId64,
                 e->sql_limit_us / 1000, took_us / 1000);
  pawl_step_fail(e, h, &late);
}

/* It has run. 1: what it did is to be committed. 0: its transaction is undone,
 * and what follows from that is decided. */
static int may_commit(pawl_engine *e, pawl_held *h, const pawl_step_unit *u,
                      int64_t took_us, pawl_error *err) {
  const pawl_plan *p = &h->d.plan;
  int is_undone = was_rolled_back(e, u);
  int is_whole = pawl_plan_check(p, err) == PAWL_OK; /* N7 */
  int has_failed = p->nrecords && strcmp(p->records[0].type, "step");
  int is_spoilt = u->failed.code != PAWL_OK; /* its handler caught it */
  int is_late = took_us > e->sql_limit_us;

  if (!is_undone && is_whole && !has_failed && !is_spoilt && !is_late)
    return 1;
  /* that it has failed is no secret; what is undone otherwise was never told */
  if (!is_undone && is_whole && has_failed) pawl_told_committed(e);
  undo_open(e, h);
  if (is_undone)
    h->state = PAWL_SLOT_READY;
  else if (!is_whole || has_failed)
    return 0; /* as in any batch, its plan is sent by the next commit */
  else if (is_spoilt)
    pawl_step_fail(e, h, &u->failed);
  else
    fail_late(e, h, took_us);
  return 0;
}

static pawl_code commit_step(pawl_engine *e, pawl_held *h, pawl_error *err) {
  pawl_error why;

  pawl_code rc = pawl_commit_open(e, h, err);
  e->unit = NULL;
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  if (rc == PAWL_UNREACHABLE) { /* the next commit settles it */
    h->state = PAWL_SLOT_UNKNOWN;
    return PAWL_OK;
  }
  if (rc == PAWL_OK) {
    pawl_told_committed(e);
    return pawl_durable_stored(e, err); /* its slot may be another's by now */
  }
  pawl_told_undone(e);
  if (rc == PAWL_BUSY && may_run_again(e, h)) {
    h->state = PAWL_SLOT_READY;
    return PAWL_OK;
  }
  /* whatever the store says, it says of this step's own transaction */
  if (rc == PAWL_STORE || rc == PAWL_BUSY || pawl_commit_is_refusal(err)) {
    why = *err;
    pawl_step_fail(e, h, &why);
    return PAWL_OK;
  }
  h->state = PAWL_SLOT_READY;
  return rc;
}

pawl_code pawl_transactional_run(pawl_engine *e, pawl_held *h,
                                 pawl_error *err) {
  pawl_step_unit unit;
  int ok;

  unit.owner = h;
  unit.failed.code = PAWL_OK;
  pawl_plan_reset(&h->d.plan);
  assert(!e->unit);
  MUST(lock_open(e, h, &ok, err));
  if (!ok) return PAWL_OK;
  e->unit = &unit;
  int64_t began = pawl_clock_mono(); /* waiting for its turn holds up nobody */
  pawl_step_run(e, h);
  pawl_code rc = may_commit(e, h, &unit, pawl_clock_mono() - began, err)
                     ? commit_step(e, h, err)
                     : PAWL_OK;
  e->unit = NULL;
  return rc;
}
