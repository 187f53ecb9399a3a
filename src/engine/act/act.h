/* engine/act/act.h: changing instances from outside.
 *
 *   request.c  the road: a letter, then taking it at once if nobody else does
 *   change.c   one instance: what is asked for, checked beforehand
 *   purge.c    one that was deleted goes, row by row
 *   transfer.c from one version of a workflow to another, see crossing.h
 *   workflows.c   whole workflows: suspended, active
 *   tasks.c    a task of a person, see common/task.h
 *
 * Layer    engine/act: above common and versions. Writes letters, tasks and
 *          rows of workflows only; it takes no lease. */
#ifndef PAWL_ENGINE_ACT_ACT_H
#define PAWL_ENGINE_ACT_ACT_H

#include "../../base/id.h"
#include "../../rules/state.h"

/* Takes an instance's inbox at once: what pawl_apply does. Whoever acts brings
 * it along, as no lease is taken here. */
typedef pawl_code pawl_taker(pawl_engine *e, const pawl_id *id, int seize,
                             int *got, pawl_error *err);

/* ---- request.c ---- */

/* Asks for a change of one instance and, when nobody holds it, makes it here.
 * *done (may be NULL): it was made here; 0: the holder will. `data` is as the
 * kind wants it, and was checked. `retry` and `restart` reach instances that
 * have ended; `kill` takes the instance from whoever holds it. */
pawl_code pawl_act_request(pawl_engine *e, pawl_taker *take, const pawl_id *id,
                           const char *kind, const char *source,
                           const char *by, pawl_str data, int *done,
                           pawl_error *err);
/* Letters of one kind for instances of one shard, in the order of their ids,
 * in one unit. `event_id`: a letter of that kind with the same one is not put
 * there again. */
pawl_code pawl_act_post(pawl_engine *e, const pawl_id *ids, int n,
                        const char *kind, const char *by, pawl_str data,
                        pawl_str event_id, pawl_error *err);
/* PAWL_ALREADY_FINISHED. */
pawl_code pawl_act_ended(const pawl_id *id, pawl_status status,
                         pawl_error *err);
/* PAWL_CONFLICT. */
pawl_code pawl_act_deleted(const pawl_id *id, pawl_error *err);

/* ---- change.c ---- */

/* pawl_change, with `out` (may be NULL) for its answer. */
pawl_code pawl_act_change(pawl_engine *e, pawl_taker *take, const pawl_id *id,
                          pawl_str change, int *done, pawl_buf *out,
                          pawl_error *err);

/* ---- purge.c ---- */

/* Does nothing else need an instance that has ended? Else PAWL_CONFLICT says
 * what. parent: may be NULL. force: what it emitted may be lost. */
pawl_code pawl_purge_check(pawl_engine *e, const pawl_id *id,
                           const pawl_id *parent, int force, pawl_error *err);
/* Takes away all rows of one that was marked for it, whatever of them is still
 * there. */
pawl_code pawl_purge_rows(pawl_engine *e, const pawl_id *id, pawl_error *err);

/* ---- tasks.c, transfer.c, workflows.c ---- */

pawl_code pawl_act_task(pawl_engine *e, const pawl_id *id, pawl_str action,
                        pawl_error *err);
pawl_code pawl_act_transfer(pawl_engine *e, pawl_taker *take, pawl_str text,
                            pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_workflow_change(pawl_engine *e, pawl_str change,
                                      pawl_buf *out, pawl_error *err);

#endif
