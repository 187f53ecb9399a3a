/* Batches under way, in the order in which they were sent.
 *
 * A ring: the oldest is answered first, and what is sent goes behind the last.
 * Who sent a batch says what its answer leads to, as only he knows. */
#include "pipeline.h"

#include <assert.h>

#include "engine_struct.h"

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

/* Finishing may write, and so send something itself: hence the loop. */
pawl_code pawl_pipeline_place(pawl_engine *e, pawl_sent **out,
                              pawl_error *err) {
  while (pawl_pipeline_is_full(e)) MUST(pawl_pipeline_finish(e, err));
  *out = &e->sent[at(e, e->nsent)];
  (*out)->n = (*out)->want = 0;
  (*out)->finish = NULL;
  return PAWL_OK;
}

void pawl_pipeline_sent(pawl_engine *e) {
  assert(!pawl_pipeline_is_full(e));
  e->nsent++;
}

/* Taken out of the ring first, as what its answer leads to may send more. */
pawl_code pawl_pipeline_finish(pawl_engine *e, pawl_error *err) {
  pawl_sent *sent = &e->sent[at(e, 0)];

  assert(e->nsent > 0);
  e->oldest_sent = at(e, 1);
  e->nsent--;
  if (sent->finish) return sent->finish(e, sent, err);
  (void)pawl_store_finish(e->store, NULL); /* whoever missed it looks */
  return PAWL_OK;
}

/* One that failed must not keep the others from being applied. */
pawl_code pawl_pipeline_drain(pawl_engine *e, pawl_error *err) {
  pawl_code first = PAWL_OK, rc;
  pawl_error later;

  while (e->nsent) {
    rc = pawl_pipeline_finish(e, first == PAWL_OK ? err : &later);
    if (first == PAWL_OK) first = rc;
  }
  return first;
}
