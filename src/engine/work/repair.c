/* Instances that nobody would look at are put on the agenda. */
#include "repair.h"

#include "../common/wake.h"

pawl_code pawl_repair_unseen(pawl_engine *e, int shard, const pawl_id *ids,
                             int n, pawl_error *err) {
  pawl_args *a = &e->args;

  if (!n) return PAWL_OK;
  pawl_args_begin(a, PAWL_STMT_agenda_wake_many);
  for (int i = 0; i < n; i++)
    PAWL_PUT(a, agenda_wake_many, .shard = shard, .id = &ids[i],
             .now = pawl_store_now(e->store));
  MUST(pawl_store_once(e->store, PAWL_UNIT_BATCH, a, NULL, err));
  e->fresh_ready = 1;
  e->look_mono_us = 0;
  pawl_wake(e);
  return PAWL_OK;
}
