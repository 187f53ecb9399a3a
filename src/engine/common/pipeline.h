/* engine/common/pipeline.h: batches that were sent and are not answered yet.
 *
 * While the store writes one batch, the next one's handlers run. What was sent
 * is finished in order, so a slot's next step begins when its last one is on
 * disk, and not before. It buys the time of a round trip and of the store's
 * writing; what is written is that of a send that is waited for
 * (pipeline_spec.lua).
 *
 * Layer    engine/common: between the rounds and those who send (commit.c,
 *          claim.c, wake.c).
 * Keeps    L1 slots of a batch under way are SENT: nobody touches them.
 *          L2 whoever needs the slots to stand still drains first:
 *             pawl_commit_all does. */
#ifndef PAWL_ENGINE_COMMON_PIPELINE_H
#define PAWL_ENGINE_COMMON_PIPELINE_H

#include "../../store/store.h"

/* A batch under way, as its sender wants to meet it again. */
typedef struct pawl_sent pawl_sent;
struct pawl_sent {
  /* What its answer leads to. NULL: nothing, it is a wake-up. */
  pawl_code (*finish)(pawl_engine *e, pawl_sent *sent, pawl_error *err);
  int want;                /* a claim: of so many */
  int64_t looks;           /* and after which of the looks it was sent */
  int at, load_at;         /* where its result is; of a claim, its load's */
  int shard;               /* of a claim */
  pawl_id lease;           /* of a claim */
  struct pawl_held **list; /* of a commit; room for every slot */
  int n;
  int plain; /* it went the short way, see plain.h */
};

/* How many slots are under way. */
int pawl_pipeline_slots(const pawl_engine *e);
/* Is there no place for another one, so that sending would wait? */
int pawl_pipeline_is_full(const pawl_engine *e);
/* Can anything be sent ahead? Not where the store works in this thread. */
int pawl_pipeline_is_open(const pawl_engine *e);
/* A place for what is sent next, after finishing the oldest if there is none.
 * It counts once pawl_pipeline_sent was called. */
pawl_code pawl_pipeline_place(pawl_engine *e, pawl_sent **out,
                              pawl_error *err);
void pawl_pipeline_sent(pawl_engine *e);
/* Waits for the oldest, or all, and applies what came of it. Draining goes on
 * behind a failure, and returns the first. */
pawl_code pawl_pipeline_finish(pawl_engine *e, pawl_error *err);
pawl_code pawl_pipeline_drain(pawl_engine *e, pawl_error *err);

#endif
