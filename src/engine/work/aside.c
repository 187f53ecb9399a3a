/* Between two ticks: what stays held, and what has become of it. */
#include "aside.h"

#include <assert.h>
#include <stdio.h>

#include "../common/time.h"
#include "await.h"
#include "budget.h"
#include "claim.h"
#include "turns.h"

#define GIVE_BACK_US (PAWL_SECOND / 5) /* then others may have it */
#define HELD_US PAWL_SECOND

/* ---- putting aside ---- */

static int may_stay(pawl_engine *e, const pawl_held *h) {
  return h->state == PAWL_SLOT_READY && h->loaded == PAWL_LOADED &&
         h->fate != PAWL_FATE_FOREIGN && !h->flights && !h->queued_mono_us &&
         h->d.turn != PAWL_TURN_LETTERS &&
         h->lease_until_us - pawl_engine_now(e) > e->config.lease_us / 3;
}

static int has_stayed(const pawl_held *h, int64_t mono) {
  return mono - h->idle_mono_us >= GIVE_BACK_US ||
         mono - h->held_mono_us >= HELD_US;
}

/* What has its turn next stays; of those that have stayed long enough not all
 * go at once, which would take as long as a tick has. */
void pawl_aside_put(pawl_engine *e) {
  const int64_t mono = pawl_clock_mono();
  int stay = e->config.batch, go = PAWL_CROWD(e);

  if (e->interrupted || e->alone || e->suspect_ready) return; /* N3 */
  if (e->budget.is_slow) return;                              /* rule 7 */
  const int n = pawl_turns_order(e);
  for (int i = 0; i < n; i++) {
    pawl_held *h = e->order[i];
    if (may_stay(e, h) && stay > 0 && (!has_stayed(h, mono) || go-- <= 0)) {
      h->state = PAWL_SLOT_ASIDE;
      stay--;
    } else if (pawl_turns_gives_way(e, h)) {
      h->was_due_us = h->behind_us;
    }
  }
}

void pawl_aside_leave(pawl_engine *e) {
  PAWL_EACH_SLOT (e, h)
    if (h->state == PAWL_SLOT_READY && !h->flights && !h->queued_mono_us)
      h->state = PAWL_SLOT_ASIDE;
}

/* ---- giving back ---- */

static int is_among(const pawl_held *h, const pawl_id *ids, int n) {
  if (!ids) return 1;
  for (int i = 0; i < n; i++)
    if (pawl_id_eq(&h->d.id, &ids[i])) return 1;
  return 0;
}

/* READY alone is given back, so that is what they become first. */
pawl_code pawl_aside_give_back(pawl_engine *e, const pawl_id *ids, int n,
                               pawl_error *err) {
  int any = 0;

  PAWL_EACH_SLOT (e, h) {
    if (h->state != PAWL_SLOT_ASIDE || !is_among(h, ids, n)) continue;
    h->state = PAWL_SLOT_READY;
    any = 1;
  }
  if (!any) return PAWL_OK;
  pawl_code rc = pawl_claim_release(e, err);
  if (rc == PAWL_OK) return rc;
  pawl_aside_leave(e);
  return rc;
}

void pawl_aside_undone(pawl_engine *e) {
  char text[80];

  if (!pawl_store_undone(e->store)) return;
  snprintf(text, sizeof text,
           "%" PRId64 " commits are undone that had not reached the file",
           pawl_store_undone(e->store));
  pawl_log_write(&e->log, PAWL_ERROR, text, NULL);
  PAWL_EACH_SLOT (e, h) {
    if (h->state == PAWL_SLOT_FREE) continue;
    pawl_await_abandon(e, h);
    pawl_plan_reset(&h->d.plan);
    h->state = PAWL_SLOT_READY;
    h->fate = PAWL_FATE_FOREIGN;
    h->look = PAWL_LOOK_NO;
    h->queued_mono_us = 0;
    h->trims = 0;
  }
  e->ntrims = e->quiet = 0;
  e->look_mono_us = e->deliver_mono_us = e->reach_look_us = 0;
  e->owes_leases = 1;
  pawl_store_accept(e->store);
}

/* ---- taking up ---- */

/* What came in is looked at before it runs (N6): until then the latch may be
 * told as it is. */
static void heed(pawl_held *h, const pawl_agenda_aside_row *row) {
  if (h->latch != (int)row->latch) pawl_held_look(h, PAWL_LOOK_AGAIN);
  h->latch = (int)row->latch;
  if (row->suspended) h->fate = PAWL_FATE_FOREIGN;
}

/* *given: some are to be given back. */
static pawl_code look_shard(pawl_engine *e, int shard, int *given,
                            pawl_error *err) {
  pawl_rows rows;

  pawl_args_begin(&e->args, PAWL_STMT_agenda_aside);
  PAWL_EACH_SLOT (e, h)
    if (h->state == PAWL_SLOT_ASIDE && h->shard == shard)
      PAWL_PUT(&e->args, agenda_aside, PAWL_LEASE_MEMBERS(h));
  if (!pawl_args_rows(&e->args)) return PAWL_OK;
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_agenda_aside_row row = pawl_read_agenda_aside(&rows, k);
    pawl_held *h = pawl_held_find(e, row.instance, NULL);
    assert(h && h->state == PAWL_SLOT_ASIDE);
    heed(h, &row);
    *given |= h->fate == PAWL_FATE_FOREIGN;
    h->state = PAWL_SLOT_READY;
  }
  PAWL_EACH_SLOT (e, h)
    if (h->state == PAWL_SLOT_ASIDE && h->shard == shard)
      pawl_held_lose_lease(e, h, ", before it ran here");
  return PAWL_OK;
}

/* Those that are READY go back alone: the rest stands ASIDE meanwhile. */
static pawl_code give_back_ready(pawl_engine *e, pawl_error *err) {
  pawl_code rc = pawl_claim_release(e, err);
  PAWL_EACH_SLOT (e, h)
    if (h->state == PAWL_SLOT_ASIDE) h->state = PAWL_SLOT_READY;
  return rc;
}

static pawl_code give_back_suspended(pawl_engine *e, pawl_error *err) {
  PAWL_EACH_SLOT (e, h)
    if (h->state == PAWL_SLOT_READY && !h->flights &&
        h->fate != PAWL_FATE_FOREIGN)
      h->state = PAWL_SLOT_ASIDE;
  return give_back_ready(e, err);
}

pawl_code pawl_aside_give_way(pawl_engine *e, int n, pawl_error *err) {
  if (n < 1) return PAWL_OK;
  for (int i = pawl_turns_order(e); i-- > 0;) {
    pawl_held *h = e->order[i];
    if (h->state != PAWL_SLOT_READY || h->flights) continue;
    if (n > 0 && pawl_turns_gives_way(e, h)) {
      h->was_due_us = h->behind_us;
      n--;
    } else {
      h->state = PAWL_SLOT_ASIDE;
    }
  }
  return give_back_ready(e, err);
}

pawl_code pawl_aside_take(pawl_engine *e, pawl_error *err) {
  int given = 0;

  if (e->nheld == e->nwaiting) return PAWL_OK;
  for (int s = 0; s < e->nshards; s++) MUST(look_shard(e, s, &given, err));
  if (given) MUST(give_back_suspended(e, err));
  /* before anybody looks: what is ours is nobody's to take over */
  return pawl_claim_heartbeat(e, 0, err);
}
