/* engine/work/stray.h: agenda rows that lead to no instance.
 *
 * Somebody has deleted an instance by hand, or restored a part of the store:
 * its row is claimed, loads nothing, is given back and is due again, for ever.
 * So whoever meets such a row takes it off, and says so.
 *
 * Layer    engine/work: between a claim and its load, and for repairs. */
#ifndef PAWL_ENGINE_WORK_STRAY_H
#define PAWL_ENGINE_WORK_STRAY_H

#include "slots.h"

/* Takes off the rows of this shard, with these leases (NULL: none of them has
 * one), whose instances are not there. *gone: how many. */
pawl_code pawl_stray_remove(pawl_engine *e, int shard, const pawl_id *ids,
                            const pawl_id *lease, int n, int *gone,
                            pawl_error *err);
/* Of a claim that was just loaded: its slots are free then. */
pawl_code pawl_stray_claimed(pawl_engine *e, int shard, const pawl_id *lease,
                             pawl_error *err);

#endif
