/* Slots: taken, freed, found, and a committed plan made the state. */
#include "slots.h"

#include <assert.h>
#include <string.h>

#include "../versions/crossing.h"
#include "await.h"

static void init_held(pawl_engine *e, pawl_held *h) {
  memset(h, 0, sizeof *h);
  h->tenant.alloc = h->correlation.alloc = &e->alloc;
  pawl_decision_init(&h->d, &e->world);
}

/* It borrows its map from the letter that asks for the move, so it goes
 * before that is read anew. */
void pawl_held_forget(pawl_engine *e, pawl_held *h) {
  if (!h->d.crossing) return;
  pawl_crossing_close(h->d.crossing);
  pawl_release(&e->alloc, h->d.crossing, sizeof *h->d.crossing);
  h->d.crossing = NULL;
}

static void deinit_held(pawl_engine *e, pawl_held *h) {
  pawl_buf_deinit(&h->tenant);
  pawl_buf_deinit(&h->correlation);
  pawl_held_forget(e, h);
  pawl_decision_deinit(&h->d);
}

int pawl_held_max(const pawl_engine *e) {
  /* two batches, one under way in the store, all that may wait, and what comes
   * in while none of those goes (refill.c) */
  return 2 * e->config.batch + PAWL_PLACES(e) + PAWL_CROWD(e);
}

/* Each has a place of its own in memory: what points to it stays true when
 * others are made. */
static int make_held(pawl_engine *e) {
  if (e->nheld_slots == pawl_held_max(e)) return 0;
  pawl_held *h = pawl_realloc(&e->alloc, NULL, 0, sizeof *h);
  if (!h) return 0;
  init_held(e, h);
  e->held[e->nheld_slots++] = h;
  return 1;
}

static void drop_last(pawl_engine *e) {
  pawl_held *h = e->held[--e->nheld_slots];
  deinit_held(e, h);
  pawl_release(&e->plain, h, sizeof *h);
}

/* Is there more than what those that are held will need? */
static int has_room(const pawl_engine *e) {
  const int64_t limit = e->ration.limit;
  return !limit || e->ration.used < limit - limit / 4;
}

pawl_code pawl_held_make(pawl_engine *e, int *n, pawl_error *err) {
  int nfree = -e->claiming; /* those are on their way */

  if (*n < 1) return PAWL_OK;
  PAWL_EACH_SLOT (e, h) nfree += h->state == PAWL_SLOT_FREE;
  while (nfree < *n && (nfree < 1 || has_room(e)) && make_held(e)) nfree++;
  if (nfree < 1 && !e->nheld && !e->claiming) return pawl_fail_memory(err);
  if (nfree < *n) *n = nfree > 0 ? nfree : 0;
  return PAWL_OK;
}

/* The first that is free: those in use stay together at the front, so that
 * what goes over all of them is soon through, and buffers that have grown are
 * used again. */
pawl_held *pawl_held_get(pawl_engine *e) {
  PAWL_EACH_SLOT (e, h)
    if (h->state == PAWL_SLOT_FREE) return h;
  return NULL;
}

static void take_out(pawl_engine *e, pawl_held *h) {
  if (!h->before && e->first_turn != h) return; /* it is not in there */
  *(h->before ? &h->before->after : &e->first_turn) = h->after;
  *(h->after ? &h->after->before : &e->last_turn) = h->before;
  h->before = h->after = NULL;
}

void pawl_held_put_last(pawl_engine *e, pawl_held *h) {
  take_out(e, h);
  h->before = e->last_turn;
  *(h->before ? &h->before->after : &e->first_turn) = h;
  e->last_turn = h;
}

void pawl_held_free(pawl_engine *e, pawl_held *h) {
  assert(h->state != PAWL_SLOT_FREE);
  pawl_await_abandon(e, h);
  assert(!h->flights && !h->d.naloft); /* N5 */
  take_out(e, h);
  h->state = PAWL_SLOT_FREE;
  h->in_need = 0;
  pawl_held_forget(e, h);
  e->nheld--;
  assert(e->nheld >= 0 && e->nwaiting <= e->nheld);
  /* N3: it alone was held, so others may come in again */
  if (e->alone != h) return;
  e->alone = NULL;
  e->alone_rests = e->alone_is_called = 0;
}

void pawl_held_lose(pawl_engine *e, pawl_held *h, const pawl_error *why) {
  if (why) pawl_log_error(&e->log, PAWL_WARN, "lease lost", why);
  if (e->stats) e->stats->lost++;
  pawl_held_free(e, h);
}

void pawl_held_lose_lease(pawl_engine *e, pawl_held *h, const char *then) {
  pawl_error err;
  pawl_fail(&err, PAWL_LEASE_LOST,
            "instance %s: its lease was taken back, by `kill` or by another "
            "executor%s",
            h->d.id_text, then);
  pawl_held_lose(e, h, &err);
}

void pawl_held_drop(pawl_engine *e) {
  while (e->nheld_slots && !e->claiming &&
         e->held[e->nheld_slots - 1]->state == PAWL_SLOT_FREE)
    drop_last(e);
}

void pawl_held_shrink(pawl_engine *e) {
  PAWL_EACH_SLOT (e, h) {
    if (h->state != PAWL_SLOT_FREE) continue;
    deinit_held(e, h);
    init_held(e, h);
  }
}

void pawl_held_close(pawl_engine *e) {
  while (e->nheld_slots) drop_last(e);
  pawl_release(&e->plain, e->held, sizeof *e->held * (size_t)pawl_held_max(e));
}

/* Answers have their rows mostly in the order in which the slots were asked
 * about: what is looked for next stands behind what was found last. */
pawl_held *pawl_held_find(pawl_engine *e, const pawl_id *id,
                          const pawl_id *lease) {
  for (int i = 0, at = e->last_found; i < e->nheld_slots; i++, at++) {
    if (at >= e->nheld_slots) at = 0;
    pawl_held *h = e->held[at];
    if (h->state == PAWL_SLOT_FREE || !pawl_id_eq(&h->d.id, id) ||
        (lease && !pawl_id_eq(&h->lease, lease)))
      continue;
    e->last_found = at;
    return h;
  }
  return NULL;
}

pawl_held *pawl_held_ready(pawl_engine *e, const pawl_id *id) {
  PAWL_EACH_SLOT (e, h)
    if (h->state == PAWL_SLOT_READY && pawl_id_eq(&h->d.id, id)) return h;
  return NULL;
}

int pawl_held_is_ours(const pawl_held *h, const pawl_rows *rows, int *latch) {
  if (!rows->nrows) return 0;
  const pawl_agenda_get_row row = pawl_read_agenda_get(rows, 0);
  *latch = (int)row.latch;
  return row.lease && pawl_id_eq(row.lease, &h->lease); /* N1 */
}

void pawl_held_accept(pawl_held *h) {
  assert(h->d.plan.after == PAWL_AFTER_GO_ON && !h->d.plan.failed); /* N7 */
  pawl_held_look(h, h->d.plan.look);
  if (h->d.plan.vars_changed) {
    h->parts = h->vars_parts;
    h->vars_no++;
  }
  /* It has gone on in another version: its definition, and whose revision
   * that is, are found again before it runs. */
  if (h->d.plan.version) {
    h->revision = 0;
    h->loaded = PAWL_LOADED_ROW;
  }
  pawl_decision_accept(&h->d);
}
