/* engine/work/relay.h: handing over what workflows have emitted.
 *
 * A relay leases the front of an instance's outbox, the first row that is
 * neither published nor dead, and takes a run of what is behind it along. Of a
 * run one row at a time is handed over; many runs go side by side. What came of
 * them is stored together: who was accepted, who is tried again and when, who
 * is the front now. Another relay finds only what is due: a front that is
 * leased, or waits, is not, and neither is what was found behind one
 * (sql/shared/outbox.sql, decision 0046).
 *
 * Layer    engine/work.
 * Keeps    W11 an instance's rows are handed over in the order of their numbers,
 *             none before the one in front of it was accepted or set aside,
 *             but for those that a person has had tried again.
 *          W12 nothing is handed over under a lease that may have ended.
 *          W13 a row is settled (published or dead) under the lease of its
 *             front, or by a person.
 *          W14 whoever settles a row sees to the one behind it in a later
 *             statement of the same unit; whoever puts a row off holds the
 *             lock of the one before it.
 *          W16 in no time are more handed over than the rate allows for it and a
 *             batch; what is under way is asked for as often as it is.
 *          W15 what was handed over and not stored is handed over again: by
 *             then under the same id. */
#ifndef PAWL_ENGINE_WORK_RELAY_H
#define PAWL_ENGINE_WORK_RELAY_H

#include "../../base/buf.h"

/* As pawl_outbox_relay has them. */
typedef struct pawl_relay_options {
  int64_t budget_us, max_attempts, lease_us, batch, base_us, cap_us;
  int64_t rate; /* attempts a second; 0: as they come */
  pawl_str source;
  int finish;
} pawl_relay_options;

/* pawl_outbox_relay. */
pawl_code pawl_relay(pawl_engine *e, const pawl_relay_options *options,
                     pawl_publish_fn publish, void *ud, pawl_relayed *relayed,
                     pawl_error *err);
/* Gives back what is leased, if the store can be asked. */
void pawl_relay_close(pawl_engine *e, int ask);

#endif
