/* A batch is filled up while there is room and anything is due. */
#include "refill.h"

#include "../common/pipeline.h"
#include "../common/time.h"
#include "aside.h"
#include "await.h"
#include "budget.h"
#include "claim.h"
#include "offers.h"
#include "turns.h"

int pawl_refill_has_room(const pawl_engine *e) {
  return pawl_alone_lets_in(e) && e->nflights < PAWL_PLACES(e);
}

/* Of a short tick those count that have not run yet: what has just come goes
 * before what goes round. Those do not that others keep from the places that
 * are left. */
static int counts(const pawl_engine *e, const pawl_held *h) {
  if (h->queued_mono_us && pawl_await_is_held_up(e, h)) return 0;
  return h->state == PAWL_SLOT_READY && !h->flights &&
         (!e->budget.is_short || !h->d.rounds);
}

/* For how many more handlers that wait is there room? No more are taken than
 * may wait; while an instance's last step is committed, another one may. */
static int room_to_wait(const pawl_engine *e) {
  int room = e->config.concurrency - e->nflights - e->claiming;

  PAWL_EACH_SLOT (e, h) room -= counts(e, h);
  return room > e->most ? e->most : room;
}

/* While all places are in use: for what needs none, a batch. */
static int room_beside(const pawl_engine *e) {
  int room = e->most - e->claiming;

  PAWL_EACH_SLOT (e, h) room -= counts(e, h);
  return room;
}

/* Beside those that are held, without a look at how much time is left. */
static int room_to_run(const pawl_engine *e) {
  int ahead = pawl_pipeline_is_open(e) ? 2 : 1; /* batches */
  int want = ahead * e->most;

  /* slow handlers: take no more than what one flush can hold */
  if (e->run_avg_us > 0 && PAWL_FLUSH_US / e->run_avg_us < want)
    want = (int)(PAWL_FLUSH_US / e->run_avg_us) + 1;
  want -= e->claiming + (e->budget.is_short ? pawl_budget_fresh(e) : e->nheld);
  return want > e->most ? e->most : want;
}

/* One is left for whoever asks for a certain instance. */
static int slots_left(const pawl_engine *e) {
  return pawl_held_max(e) - 1 - e->nheld - e->claiming;
}

/* What is claimed is to run before its end. */
static int is_pressed(const pawl_engine *e) {
  return e->budget.is_short || pawl_budget_is_tight(e);
}

static int wants_more(const pawl_engine *e) {
  /* where handlers wait, others will, too */
  int want = pawl_await_is_full(e) ? room_beside(e)
             : e->nwaiting         ? room_to_wait(e)
                                   : room_to_run(e);

  if (want > slots_left(e)) want = slots_left(e);
  return want > 0 && is_pressed(e) ? pawl_budget_room(e, want) : want;
}

/* A claim has its price: it waits until a quarter of the batch is free; not
 * where handlers wait, which may be for long. */
static int is_worth_claiming(const pawl_engine *e, int want) {
  if (e->claiming) return 0;
  if (!e->nheld) return 1;
  if (!e->nwaiting) return want * 4 >= e->most;
  return want * 8 >= e->most ||
         (want > 0 && e->nheld + e->claiming < e->config.concurrency);
}

/* What came just now is, as a rule, of a workflow that was seen before: then
 * looking first would only hold it up. Not twice in a row, because it is by
 * looking that timers become ready and other workflows are seen. */
static int may_skip_look(const pawl_engine *e) {
  return e->woken && e->ahead == PAWL_AHEAD_MAY && e->nheld == e->nwaiting &&
         !pawl_alone_is_next(e);
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

/* Nothing else is ready, as far as anybody has said. */
static int has_only_timers(pawl_engine *e) {
  return e->nshards == 1 && is_timer_due(e) && e->nheld == e->nwaiting &&
         !e->fresh_ready && !e->suspect_ready && !e->woken && !e->claiming &&
         !owes_look(e) && !pawl_alone_is_next(e);
}

static int must_look(pawl_engine *e) {
  return pawl_clock_mono() >= e->look_mono_us || is_timer_due(e) ||
         (owes_look(e) && pawl_refill_is_spent(e)) ||
         (e->nheld == e->nwaiting && !e->fresh_ready &&
          !pawl_alone_is_next(e) && !pawl_claim_is_quiet(e));
}

/* In a short tick there is one claim, at its beginning; others where there is
 * time for them. */
static int may_refill(const pawl_engine *e, int want) {
  if (!is_pressed(e)) return is_worth_claiming(e, want);
  if (want < 1 || e->claiming) return 0;
  return !e->budget.claims ||
         (!pawl_budget_is_tight(e) && is_worth_claiming(e, want));
}

int pawl_refill_is_due(pawl_engine *e) {
  if (e->interrupted || !pawl_refill_has_room(e)) return 0;
  return e->woken || (owes_look(e) && is_worth_claiming(e, wants_more(e)));
}

static pawl_code look(pawl_engine *e, pawl_error *err) {
  if (e->woken || must_look(e)) MUST(pawl_claim_look(e, err));
  e->woken = 0;
  return PAWL_OK;
}

static pawl_code refill(pawl_engine *e, int want, pawl_error *err) {
  if (want > 0 && may_skip_look(e)) {
    e->woken = 0;
    MUST(pawl_claim_unlooked(e, want, err));
    if (e->nheld > e->nwaiting) return PAWL_OK;
  } else if (want > 0 && has_only_timers(e)) {
    MUST(pawl_claim_due(e, want, err));
    if (e->nheld > e->nwaiting) return PAWL_OK;
  }
  MUST(look(e, err));
  if (want < 1 && e->nwaiting) return PAWL_OK;
  if (want < 1) want = 1;
  /* ahead of what is in work; with nothing in work there is nothing to gain,
   * and what is claimed in a short tick is to run in it */
  if (pawl_pipeline_is_open(e) && e->nheld > e->nwaiting &&
      !pawl_alone_is_next(e) && !pawl_budget_is_tight(e))
    MUST(pawl_claim_send(e, want, err));
  else
    MUST(pawl_claim_more(e, want, err));
  return PAWL_OK;
}

/* For how many of those whose time has come others make place. */
static int crowd_wants(pawl_engine *e, int loops) {
  int want = PAWL_CROWD(e);

  if (!e->fresh_ready) e->promoted = 0; /* they are held, all of them */
  if (e->promoted > e->most) e->promoted = e->most;
  if (want > e->promoted) want = (int)e->promoted;
  if (want > loops) want = loops;
  return want < slots_left(e) ? want : slots_left(e);
}

/* There is no place that is worth a claim, and what is held may go round for
 * long: whose time has come takes the place of one that does. First he is
 * claimed, so that no more go than come. */
static pawl_code refill_crowd(pawl_engine *e, pawl_error *err) {
  const int before = e->nheld, loops = pawl_turns_giving_way(e);

  if (is_pressed(e) || e->claiming || !loops) return PAWL_OK;
  MUST(look(e, err));
  const int want = crowd_wants(e, loops);
  if (want < 1) return PAWL_OK;
  e->promoted -= want;
  MUST(pawl_claim_more(e, want, err));
  return pawl_aside_give_way(e, e->nheld - before, err);
}

pawl_code pawl_refill(pawl_engine *e, pawl_error *err) {
  const int before = e->nheld;
  const int64_t began = pawl_clock_mono();

  if (e->interrupted || !pawl_refill_has_room(e)) return PAWL_OK;
  pawl_offers_let_in(e);
  const int want = wants_more(e);
  const pawl_spent was = pawl_budget_spend(e, PAWL_SPENT_CLAIM);
  const pawl_code rc =
      may_refill(e, want) ? refill(e, want, err) : refill_crowd(e, err);
  (void)pawl_budget_spend(e, was);
  if (e->nheld <= before) return rc;
  e->budget.claims++;
  pawl_cost_add(&e->budget.claim, e->nheld - before,
                pawl_clock_mono() - began);
  return rc;
}
