/* engine/work/repair.h: putting right what ask/health.c finds.
 *
 * Layer    engine/work. Agenda rows without an instance are stray.h's, requests
 *          that nobody takes apply.h's. */
#ifndef PAWL_ENGINE_WORK_REPAIR_H
#define PAWL_ENGINE_WORK_REPAIR_H

#include "slots.h"

/* Puts instances of one shard on the agenda that nobody would look at (N6). It
 * does no harm to one that was in order: it is looked at once more. */
pawl_code pawl_repair_unseen(pawl_engine *e, int shard, const pawl_id *ids,
                             int n, pawl_error *err);

#endif
