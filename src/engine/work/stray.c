/* Agenda rows that lead to no instance: taken off by whoever meets them. */
#include "stray.h"

#include <stdio.h>

static void tell(pawl_engine *e, const pawl_id *id) {
  char text[37], fields[64];

  pawl_id_format(id, text);
  (void)snprintf(fields, sizeof fields, "{\"instance\":\"%s\"}", text);
  pawl_log_write(&e->log, PAWL_WARN,
                 "an agenda row whose instance is gone was taken off", fields);
}

pawl_code pawl_stray_remove(pawl_engine *e, int shard, const pawl_id *ids,
                            const pawl_id *lease, int n, int *gone,
                            pawl_error *err) {
  pawl_rows rows;
  pawl_id id;
  pawl_code rc = PAWL_OK;

  *gone = 0;
  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_STRAY);
  pawl_arg_int(&e->args, PAWL_AGENDA_STRAY_SHARD, shard);
  for (int i = 0; i < n; i++) {
    pawl_arg_id(&e->args, PAWL_AGENDA_STRAY_ID, &ids[i]);
    pawl_arg_id(&e->args, PAWL_AGENDA_STRAY_LEASE, lease);
  }
  if (!n) return PAWL_OK;
  TRY(pawl_store_once(e->store, PAWL_UNIT_BATCH, &e->args, &rows, err));
  *gone = rows.nrows;
  for (int k = 0; k < rows.nrows; k++) {
    pawl_row_id(&rows, k, PAWL_AGENDA_STRAY_R_INSTANCE, &id);
    tell(e, &id);
  }
out:
  return rc;
}

static int is_stray(const pawl_held *h, const pawl_id *lease) {
  return h->state == PAWL_SLOT_READY && !h->loaded &&
         pawl_id_eq(&h->lease, lease);
}

pawl_code pawl_stray_claimed(pawl_engine *e, int shard, const pawl_id *lease,
                             pawl_error *err) {
  pawl_id ids[PAWL_MAX_BATCH];
  int n = 0, gone;
  pawl_code rc = PAWL_OK;

  for (int i = 0; i < e->nheld_slots && n < PAWL_MAX_BATCH; i++)
    if (is_stray(&e->held[i], lease)) ids[n++] = e->held[i].id;
  if (!n) return PAWL_OK;
  TRY(pawl_stray_remove(e, shard, ids, lease, n, &gone, err));
  for (int i = 0; i < e->nheld_slots && gone == n; i++)
    if (is_stray(&e->held[i], lease)) pawl_held_free(e, &e->held[i]);
out:
  return rc;
}
