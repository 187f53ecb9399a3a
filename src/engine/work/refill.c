/* A batch is filled up while there is room and anything is due. */
#include "refill.h"

#include "../common/pipeline.h"
#include "../common/time.h"
#include "budget.h"
#include "claim.h"

int pawl_refill_has_room(const pawl_engine *e) {
  return !e->alone && e->nwaiting < e->config.concurrency;
}

/* For how many more handlers that wait is there room? No more are taken than
 * may wait; while an instance's last step is committed, another one may. */
static int room_to_wait(const pawl_engine *e) {
  int room = e->config.concurrency - e->nwaiting - e->claiming;
  /* one is left for whoever asks for a certain instance */
  int slots = pawl_held_max(e) - 1 - e->nheld - e->claiming;

  PAWL_EACH_SLOT (e, h) room -= h->state == PAWL_SLOT_READY && !h->flight.run;
  if (room > e->config.batch) room = e->config.batch;
  return room < slots ? room : slots;
}

/* Without a look at how much time is left; so many are held that count. */
static int room_beside(pawl_engine *e, int held) {
  int ahead = pawl_pipeline_is_open(e) ? 2 : 1; /* batches */
  int want = ahead * e->config.batch;

  if (e->nwaiting) return room_to_wait(e); /* others will, too */
  /* slow handlers: take no more than what one flush can hold */
  if (e->run_avg_us > 0 && PAWL_FLUSH_US / e->run_avg_us < want)
    want = (int)(PAWL_FLUSH_US / e->run_avg_us) + 1;
  want -= held + e->claiming;
  return want > e->config.batch ? e->config.batch : want;
}

/* In a tick that is too short for a batch what is held already and goes round
 * is no reason not to take what has just come. */
static int wants_more(pawl_engine *e) {
  if (e->nwaiting || !pawl_budget_is_tight(e)) return room_beside(e, e->nheld);
  const int want = room_beside(e, pawl_budget_fresh(e));
  return want > 0 ? pawl_budget_room(e, want) : want;
}

/* A claim has its price: it waits until a quarter of the batch is free; not
 * where handlers wait, which may be for long. */
static int is_worth_claiming(const pawl_engine *e, int want) {
  if (e->claiming) return 0;
  if (!e->nheld) return 1;
  if (!e->nwaiting) return want * 4 >= e->config.batch;
  return want * 8 >= e->config.batch ||
         (want > 0 && e->nheld + e->claiming < e->config.concurrency);
}

/* What came just now is, as a rule, of a workflow that was seen before: then
 * looking first would only hold it up. Not twice in a row, because it is by
 * looking that timers become ready and other workflows are seen. */
static int may_skip_look(const pawl_engine *e) {
  return e->woken && e->ahead == PAWL_AHEAD_MAY && e->nheld == e->nwaiting &&
         !e->suspect_ready;
}

int pawl_refill_is_spent(const pawl_engine *e) {
  return e->nheld == e->nwaiting + pawl_pipeline_slots(e) && !e->fresh_ready;
}

/* The last claim came before the look. */
static int owes_look(const pawl_engine *e) {
  return e->ahead == PAWL_AHEAD_DONE || e->ahead == PAWL_AHEAD_IN_VAIN;
}

/* A timer's time has come: it is made ready by looking. */
static int is_timer_due(pawl_engine *e) {
  return pawl_engine_now(e) >= e->next_due_us &&
         pawl_clock_mono() >= e->timer_mono_us;
}

static int must_look(pawl_engine *e) {
  return pawl_clock_mono() >= e->look_mono_us || is_timer_due(e) ||
         (owes_look(e) && pawl_refill_is_spent(e)) ||
         (e->nheld == e->nwaiting && !e->fresh_ready && !e->suspect_ready &&
          !pawl_claim_is_quiet(e));
}

/* In a short tick there is one claim, at its beginning. */
static int may_refill(const pawl_engine *e, int want) {
  if (e->interrupted || !pawl_refill_has_room(e)) return 0;
  if (pawl_budget_is_tight(e))
    return want > 0 && !e->claiming && !e->budget.claims;
  return is_worth_claiming(e, want);
}

int pawl_refill_is_due(pawl_engine *e) {
  if (e->interrupted || !pawl_refill_has_room(e)) return 0;
  return e->woken ||
         (owes_look(e) && is_worth_claiming(e, room_beside(e, e->nheld)));
}

static pawl_code refill(pawl_engine *e, int want, pawl_error *err) {
  if (want > 0 && may_skip_look(e)) {
    e->woken = 0;
    MUST(pawl_claim_unlooked(e, want, err));
    if (e->nheld > e->nwaiting) return PAWL_OK;
  }
  if (e->woken || must_look(e)) MUST(pawl_claim_look(e, err));
  e->woken = 0;
  if (want < 1 && e->nwaiting) return PAWL_OK;
  if (want < 1) want = 1;
  /* ahead of what is in work; with nothing in work there is nothing to gain,
   * and what is claimed in a short tick is to run in it */
  if (pawl_pipeline_is_open(e) && e->nheld > e->nwaiting &&
      !e->suspect_ready && !pawl_budget_is_tight(e))
    MUST(pawl_claim_send(e, want, err));
  else
    MUST(pawl_claim_more(e, want, err));
  return PAWL_OK;
}

pawl_code pawl_refill(pawl_engine *e, pawl_error *err) {
  const int want = wants_more(e), before = e->nheld;
  const int64_t began = pawl_clock_mono();

  if (!may_refill(e, want)) return PAWL_OK;
  const pawl_spent was = pawl_budget_spend(e, PAWL_SPENT_CLAIM);
  const pawl_code rc = refill(e, want, err);
  (void)pawl_budget_spend(e, was);
  if (e->nheld == before) return rc;
  e->budget.claims++;
  pawl_cost_add(&e->budget.claim, e->nheld - before,
                pawl_clock_mono() - began);
  return rc;
}
