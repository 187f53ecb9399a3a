/* One instance takes an event for all that wait for it. */
#include "taker.h"

#include "../common/names.h"
#include "../enter/assign.h"
#include "services.h"

pawl_code pawl_taker_claim(void *ud, pawl_decision *d, const pawl_letter *l,
                           pawl_str id, int *taken, pawl_error *err) {
  pawl_engine *e = ud;
  const pawl_held *h = pawl_held_find(e, &d->id, NULL);
  pawl_rows rows;

  MUST(PAWL_SERVICE_ASK(BATCH, event_take, &rows,
                        .shard = pawl_event_shard(e, pawl_buf_str(&l->key)),
                        .tenant = pawl_buf_str(&h->tenant),
                        .source = pawl_buf_str(&l->source), .id = id,
                        .taker = &d->id, .now = pawl_store_now(e->store)));
  *taken = rows.changed > 0; /* K5 */
  if (*taken)
    pawl_assign_taken(e, pawl_buf_str(&h->tenant), pawl_buf_str(&l->event_id));
  return PAWL_OK;
}
