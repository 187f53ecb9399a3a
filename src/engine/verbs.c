/* Verbs that need more than one room: a letter is act's and what is wrong is
 * ask's to see, but who takes or mends holds a lease, and that is work's. */
#include "act/act.h"
#include "ask/ask.h"
#include "engine.h"
#include "work/apply.h"
#include "work/reach.h"
#include "work/repair.h"
#include "work/stray.h"

/* No tick will follow: so whoever is to end with it is seen to at once. */
static pawl_code take(pawl_engine *e, const pawl_id *id, int seize, int *got,
                      pawl_error *err) {
  pawl_code rc = pawl_apply(e, id, seize, got, err);
  if (rc == PAWL_OK) pawl_reach_all(e);
  return rc;
}

pawl_code pawl_engine_change_checked(pawl_engine *e, const pawl_id *id,
                                     pawl_str change, int *done, pawl_buf *out,
                                     pawl_error *err) {
  return pawl_act_change(e, take, id, change, done, out, err);
}

pawl_code pawl_engine_workflow_transfer(pawl_engine *e, pawl_str transfer,
                                        pawl_buf *out, pawl_error *err) {
  return pawl_act_transfer(e, take, transfer, out, err);
}

/* The answer is the task as it is behind the change, read anew: others may
 * have been faster still. */
pawl_code pawl_engine_task_change(pawl_engine *e, const pawl_id *id,
                                  pawl_str action, pawl_buf *out,
                                  pawl_error *err) {
  MUST(pawl_act_task(e, id, action, err));
  if (out) MUST(pawl_engine_task_get(e, id, out, err));
  return PAWL_OK;
}

/* What ask has found goes back to the room that may write it. */
static pawl_code mend(pawl_engine *e, pawl_wrong what, int shard,
                      const pawl_id *ids, int n, int *mended,
                      pawl_error *err) {
  int got;

  switch (what) {
    case PAWL_WRONG_STRAY:
      return pawl_stray_remove(e, shard, ids, NULL, n, mended, err);
    case PAWL_WRONG_ASKED:
      return take(e, ids, 0, &got, err);
    case PAWL_WRONG_UNSEEN:
      break;
  }
  *mended = n;
  return pawl_repair_unseen(e, shard, ids, n, err);
}

pawl_code pawl_engine_health(pawl_engine *e, int repair, pawl_buf *out,
                             pawl_error *err) {
  return pawl_health_look(e, repair ? mend : NULL, out, err);
}
