/* One that was taken over, and who may be beside it. */
#include "alone.h"

#include <assert.h>

#include "../common/time.h"
#include "await.h"
#include "claim.h"
#include "commit.h"

/* Its row's; nothing is held against one that has committed since. Told twice
 * it is the same, so that an answer which is lost may be asked for again. */
static pawl_code count_takeovers(pawl_engine *e, int takeovers,
                                 pawl_error *err) {
  pawl_held *h = e->alone;
  pawl_rows rows;

  if (!h->d.takeovers) return PAWL_OK;
  MUST(PAWL_WRITE(e->store, agenda_blame, &rows, err, PAWL_LEASE_MEMBERS(h),
                  .takeovers = takeovers));
  if (!rows.nrows) pawl_held_lose_lease(e, h, ", while its handler waited");
  return PAWL_OK;
}

static pawl_code rest(pawl_engine *e, pawl_error *err) {
  e->alone_rests = 1;
  pawl_await_rest(e);
  return count_takeovers(e, e->alone->d.takeovers - 1, err);
}

/* N3: all that is held waits; for a place, too, which it has not now. */
static void assert_alone(const pawl_engine *e) {
  PAWL_EACH_SLOT (e, h)
    assert(h->state == PAWL_SLOT_FREE || h->flights || h->queued_mono_us);
}

/* What is counted is on record before the handler can die of anything: no group
 * of commits that dies with it may hold it. */
static pawl_code go_on(pawl_engine *e, pawl_error *err) {
  MUST(pawl_commit_all(e, err));
  MUST(pawl_claim_release(e, err));
  if (!e->alone) return PAWL_OK;
  MUST(count_takeovers(e, e->alone->d.takeovers, err));
  pawl_store_group(e->store, 0);
  MUST(pawl_store_settle(e->store, err));
  if (!e->alone) return PAWL_OK;
  assert_alone(e);
  e->alone_rests = e->alone_is_called = 0;
  return PAWL_OK;
}

pawl_code pawl_alone_settle(pawl_engine *e, int *changed, pawl_error *err) {
  if (!e->alone ||
      (!e->alone_is_called && pawl_engine_now(e) < pawl_await_rests_at(e)))
    return PAWL_OK;
  *changed = 1;
  return e->alone_is_called ? go_on(e, err) : rest(e, err);
}
