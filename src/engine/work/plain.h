/* engine/work/plain.h: the short way to commit a plain step.
 *
 * Most steps change nothing but their instance's row and its history. Their
 * batch locks no agenda row and asks for the lease once: instance_step looks
 * at the agenda while it writes, agenda_finish deletes what ends, and both
 * undo the whole unit when one instance is not as it was loaded. The long way
 * (commit.c) then finds out which one, and why. What both write is bound by the
 * same members (batch.h), and comes to the same rows (plain_spec.lua).
 *
 * Layer    engine/work: part of a commit; see commit.c.
 * Keeps    Q1 a plain plan has nothing for any other table, and leaves no
 *             agenda row behind with a changed time or latch.
 *          Q2 two who think they hold an instance cannot both write: the first
 *             raises its commits, the second one's unit is undone. */
#ifndef PAWL_ENGINE_WORK_PLAIN_H
#define PAWL_ENGINE_WORK_PLAIN_H

#include "batch.h"

int pawl_plan_is_plain(const pawl_held *h);
/* The statements of such plans, all of one shard. *at: where the latches of
 * those that go on will be, as agenda_lock's rows. */
pawl_code pawl_plain_send(pawl_engine *e, pawl_held **list, int n, int *at,
                          pawl_error *err);

#endif
