/* A batch is filled up while there is room and anything is due. */
#include "refill.h"

#include "../common/pipeline.h"
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

static int wants_more(pawl_engine *e) {
  int ahead = pawl_pipeline_is_open(e) ? 2 : 1; /* batches */
  int want = ahead * e->config.batch;

  if (e->nwaiting) return room_to_wait(e); /* others will, too */
  /* slow handlers: take no more than what one flush can hold */
  if (e->run_avg_us > 0 && PAWL_FLUSH_US / e->run_avg_us < want)
    want = (int)(PAWL_FLUSH_US / e->run_avg_us) + 1;
  want -= e->nheld + e->claiming;
  return want > e->config.batch ? e->config.batch : want;
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

static int must_look(const pawl_engine *e) {
  return pawl_clock_mono() >= e->look_mono_us ||
         (owes_look(e) && pawl_refill_is_spent(e)) ||
         (e->nheld == e->nwaiting && !e->fresh_ready && !e->suspect_ready);
}

static int may_refill(const pawl_engine *e, int want) {
  return !e->interrupted && pawl_refill_has_room(e) &&
         is_worth_claiming(e, want);
}

int pawl_refill_is_due(pawl_engine *e) {
  return owes_look(e) && may_refill(e, wants_more(e));
}

pawl_code pawl_refill(pawl_engine *e, pawl_error *err) {
  int want = wants_more(e);

  if (!may_refill(e, want)) return PAWL_OK;
  if (want > 0 && may_skip_look(e)) {
    e->woken = 0;
    MUST(pawl_claim_unlooked(e, want, err));
    if (e->nheld > e->nwaiting) return PAWL_OK;
  }
  if (e->woken || must_look(e)) MUST(pawl_claim_look(e, err));
  e->woken = 0;
  if (want < 1 && e->nwaiting) return PAWL_OK;
  if (want < 1) want = 1;
  /* ahead of what is in work; with nothing in work there is nothing to gain */
  if (pawl_pipeline_is_open(e) && e->nheld > e->nwaiting && !e->suspect_ready)
    MUST(pawl_claim_send(e, want, err));
  else
    MUST(pawl_claim_more(e, want, err));
  return PAWL_OK;
}
