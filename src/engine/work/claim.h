/* engine/work/claim.h: leases: taking them, keeping them, giving them back.
 *
 * Six statements claim, as they choose otherwise:
 *
 *   agenda_claim          what is due of the workflows that are served: up to
 *                         128 at the cost of one trip
 *   agenda_claim_due      what has come due and is not ready yet, where nothing
 *                         is, and no more than those: an idle worker's timers
 *   agenda_claim_suspect  of those one that was taken over, alone: who brings
 *                         down his worker brings down nobody else's step (N3)
 *   agenda_claim_one      one by its id, whatever its group: who asks for it
 *                         need not run what stands before it
 *   agenda_claim_these    such ones by their ids, in one unit; none that was
 *                         taken over
 *   agenda_seize          that, whoever holds it: a kill waits for no handler
 *
 * How they are sent, what their rows mean, and the load that goes with them are
 * the same, and so are the rows that come of them (claim_spec.lua). Sent ahead
 * (pawl_claim_send), the first one costs no wait while steps run.
 *
 * Layer    engine/work: above slots and load.
 * Keeps    N1, N3 and N6 of slots.h: what is claimed is in a slot or given
 *          back, also when the answer to a claim was lost.
 * Errors   PAWL_UNREACHABLE, PAWL_BUSY: nothing is lost, ask again.
 *          PAWL_LEASE_LOST where it says so. */
#ifndef PAWL_ENGINE_WORK_CLAIM_H
#define PAWL_ENGINE_WORK_CLAIM_H

#include "slots.h"

/* Reads what is due; then claims up to `want` instances into free slots, or
 * one that was taken over. */
pawl_code pawl_claim_look(pawl_engine *e, pawl_error *err);
/* The same for who only asks: nothing is written. What is due and not ready
 * shows in e->next_due_us, a time that has passed. */
pawl_code pawl_claim_peek(pawl_engine *e, pawl_error *err);
/* Has nobody written since the last look, and was that not long ago? */
int pawl_claim_is_quiet(pawl_engine *e);
pawl_code pawl_claim_more(pawl_engine *e, int want, pawl_error *err);
/* Claims of the workflows that the last look showed, or earlier ones; the next
 * look is put off until this is done, but not for long. */
pawl_code pawl_claim_unlooked(pawl_engine *e, int want, pawl_error *err);
/* What has come due since, up to `want` of it and not where it is more, when
 * the last look has shown nothing else: it is not made ready first, which would
 * be a commit of its own. Of a store with one shard. Nothing is claimed: look. */
pawl_code pawl_claim_due(pawl_engine *e, int want, pawl_error *err);
/* As pawl_claim_more, sent ahead; not for those taken over. */
pawl_code pawl_claim_send(pawl_engine *e, int want, pawl_error *err);
/* This one instance; *got 0: not there, not due, or held by another. When its
 * workflow is suspended, the slot is one to apply the inbox only. */
pawl_code pawl_claim_one(pawl_engine *e, const pawl_id *id, int *got,
                         pawl_error *err);
/* Of these, at most PAWL_MAX_BATCH, all that are due and were left by nobody:
 * those that are in a slot behind it. */
pawl_code pawl_claim_these(pawl_engine *e, const pawl_id *ids, int n,
                           pawl_error *err);
/* This one instance, whoever holds it. */
pawl_code pawl_claim_seize(pawl_engine *e, const pawl_id *id, int *got,
                           pawl_error *err);
/* Learns how far the store's clock is from the host's. */
pawl_code pawl_claim_clock(pawl_engine *e, pawl_error *err);
/* Gives back what claims took whose answer was lost, and what the store has as
 * ours that is not, because the group is undone in which it ended. */
pawl_code pawl_claim_settle(pawl_engine *e, pawl_error *err);
/* Looks again at the latch and the inbox of one held instance; its plan is
 * kept. PAWL_LEASE_LOST: it is not ours any more. */
pawl_code pawl_claim_reload(pawl_engine *e, pawl_held *h, pawl_error *err);
/* Gives back what is held without a plan, save what is queued: instances in
 * the middle of their way that wait for their turn to wait, but not for
 * long. */
pawl_code pawl_claim_release(pawl_engine *e, pawl_error *err);
int pawl_claim_queued(const pawl_engine *e);
/* Extends the leases of everything held, when a third has passed. */
pawl_code pawl_claim_heartbeat(pawl_engine *e, int force, pawl_error *err);

#endif
