/* Batches under way, in the order in which they were sent. */
#include "pipeline.h"

#include <poll.h>

int pawl_pipeline_is_full(const pawl_engine *e) {
  return e->nsent == PAWL_MAX_SUBMITTED;
}

int pawl_pipeline_is_open(const pawl_engine *e) {
  return pawl_store_can_submit(e->store);
}

/* The k-th oldest, counted from 0. */
static int at(const pawl_engine *e, int k) {
  return (e->oldest_sent + k) % PAWL_MAX_SUBMITTED;
}

int pawl_pipeline_slots(const pawl_engine *e) {
  int n = 0;
  for (int k = 0; k < e->nsent; k++) n += e->sent[at(e, k)].n;
  return n;
}

pawl_code pawl_pipeline_place(pawl_engine *e, pawl_sent **out,
                              pawl_error *err) {
  pawl_code rc = PAWL_OK;

  while (pawl_pipeline_is_full(e)) TRY(pawl_pipeline_finish(e, err));
  *out = &e->sent[at(e, e->nsent)];
  (*out)->n = (*out)->want = 0;
out:
  return rc;
}

void pawl_pipeline_sent(pawl_engine *e) {
  e->nsent++;
}

pawl_code pawl_pipeline_finish(pawl_engine *e, pawl_error *err) {
  pawl_sent *sent = &e->sent[at(e, 0)];

  e->oldest_sent = at(e, 1);
  e->nsent--;
  if (sent->want) return pawl_claim_finish(e, sent, err);
  if (sent->n) return pawl_commit_finish(e, sent, err);
  (void)pawl_store_finish(e->store, NULL); /* whoever missed it looks */
  return PAWL_OK;
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

pawl_code pawl_pipeline_advance(pawl_engine *e, int idle, pawl_error *err) {
  int most = e->nwaiting ? PAWL_MAX_SUBMITTED - 1 : 1;
  pawl_code rc = PAWL_OK;

  if (idle && e->nsent && (!e->nwaiting || wait_for_answer(e)))
    TRY(pawl_pipeline_finish(e, err));
  while (e->nsent > most || (e->nsent && e->nwaiting && is_answered(e)))
    TRY(pawl_pipeline_finish(e, err));
out:
  return rc;
}

pawl_code pawl_pipeline_drain(pawl_engine *e, pawl_error *err) {
  pawl_code first = PAWL_OK, rc;
  pawl_error later;

  while (e->nsent) {
    rc = pawl_pipeline_finish(e, first == PAWL_OK ? err : &later);
    if (first == PAWL_OK) first = rc;
  }
  return first;
}
