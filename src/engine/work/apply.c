/* One instance is held for its inbox: its letters are taken, here and now. */
#include "apply.h"

#include "../versions/versions.h"
#include "claim.h"
#include "commit.h"
#include "deliver.h"
#include "rounds.h"

#define TAKES_MAX 100 /* decisions of one visit to an inbox */

/* Its handler waits here: the holder is this engine. Whoever seizes it takes
 * it from us; else the letter is found by the next look. 1: nothing to take. */
static int is_waiting(pawl_engine *e, const pawl_id *id, int seize) {
  pawl_held *h = pawl_held_find(e, id, NULL);

  e->await_look_us = 0;
  if (!h) return 0;
  if (seize) pawl_held_free(e, h);
  return !seize;
}

/* The graph is enough for taking letters. Code out of the store is not loaded
 * for them: a definition is a program, and who only cancels has not asked for
 * one to be run. */
static pawl_code lend_graph(pawl_engine *e, pawl_held *h, pawl_def **lent,
                            pawl_error *err) {
  int own = 0;
  pawl_code rc;

  if (h->fate != PAWL_FATE_FOREIGN) return PAWL_OK;
  rc =
      pawl_graph_find(e, h->d.workflow.at, h->d.version, &h->d.def, &own, err);
  if (rc == PAWL_NOTFOUND) return PAWL_OK;
  if (rc == PAWL_OK) h->fate = PAWL_FATE_STAYS;
  if (own) *lent = h->d.def;
  return rc;
}

/* Everything that lies there is taken; a request that comes in meanwhile has
 * somebody else to take it. */
static pawl_code take_inbox(pawl_engine *e, const pawl_id *id,
                            pawl_error *err) {
  pawl_held *h = pawl_held_ready(e, id);

  for (int i = 0; h && i < TAKES_MAX; i++) {
    MUST(pawl_rounds_run(e, 0, 0, err));
    h = pawl_held_ready(e, id);
    if (h && !h->d.nletters) break;
  }
  return pawl_claim_release(e, err);
}

pawl_code pawl_apply(pawl_engine *e, const pawl_id *id, int seize, int *got,
                     pawl_error *err) {
  pawl_tick_stats stats;
  pawl_held *h = NULL;
  pawl_def *lent = NULL;
  pawl_code rc = PAWL_OK;
  const pawl_id *outer = e->inbox_of; /* who delivers a message to it */
  int fresh = e->fresh_ready, suspect = e->suspect_ready;

  *got = 0;
  e->inbox_of = id;
  TRY(pawl_rounds_begin(e, &stats, err));
  TRY(pawl_commit_all(e, err));
  if (is_waiting(e, id, seize)) goto out;
  TRY(seize ? pawl_claim_seize(e, id, got, err)
            : pawl_claim_one(e, id, got, err));
  h = *got ? pawl_held_ready(e, id) : NULL;
  if (!h) goto out;
  h->d.turn = PAWL_TURN_LETTERS;
  TRY(lend_graph(e, h, &lent, err));
  TRY(take_inbox(e, id, err));
  e->holding = 1;
  if (!e->deliver_mono_us) TRY(pawl_deliver(e, err));
out:
  e->holding = 0;
  e->inbox_of = outer;
  rc = pawl_rounds_end(e, rc, err);
  /* a slot whose commit is in doubt still needs it: then it is lost */
  if (lent && h->state == PAWL_SLOT_FREE) pawl_def_free(lent);
  e->fresh_ready = fresh;
  e->suspect_ready = suspect;
  return rc;
}
