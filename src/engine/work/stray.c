/* Agenda rows that lead to no instance, and letters to it: taken off by whoever
 * meets them. */
#include "stray.h"

#include <assert.h>
#include <stdio.h>

/* A row is lost here that somebody may look for: the log is the only trace of
 * it. */
static void tell(pawl_engine *e, const pawl_id *id) {
  char text[37], fields[64];

  pawl_id_format(id, text);
  (void)snprintf(fields, sizeof fields, "{\"instance\":\"%s\"}", text);
  pawl_log_write(&e->log, PAWL_WARN,
                 "an agenda row whose instance is gone was taken off", fields);
}

static pawl_code send_agenda(pawl_engine *e, int shard, const pawl_id *ids,
                             const pawl_id *lease, int n, int *at,
                             pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_agenda_stray);
  for (int i = 0; i < n; i++)
    PAWL_PUT(&e->args, agenda_stray, .shard = shard, .id = &ids[i],
             .lease = lease);
  return pawl_store_send(e->store, &e->args, at, err);
}

/* Whoever put the row there may have left a letter, too. */
static pawl_code send_inbox(pawl_engine *e, int shard, const pawl_id *ids,
                            int n, pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_inbox_stray);
  for (int i = 0; i < n; i++)
    PAWL_PUT(&e->args, inbox_stray, .shard = shard, .id = &ids[i]);
  return pawl_store_send(e->store, &e->args, NULL, err);
}

pawl_code pawl_stray_remove(pawl_engine *e, int shard, const pawl_id *ids,
                            const pawl_id *lease, int n, int *gone,
                            pawl_error *err) {
  pawl_rows rows;
  int at;
  pawl_code rc = PAWL_OK;

  *gone = 0;
  if (!n) return PAWL_OK;
  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(send_agenda(e, shard, ids, lease, n, &at, err));
  TRY(send_inbox(e, shard, ids, n, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, at, &rows);
  assert(rows.nrows <= n);
  *gone = rows.nrows;
  for (int k = 0; k < rows.nrows; k++) {
    tell(e, pawl_read_agenda_stray(&rows, k).instance);
  }
  return PAWL_OK;
out:
  pawl_store_rollback(e->store);
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

  for (int i = 0; i < e->nheld_slots && n < PAWL_MAX_BATCH; i++)
    if (is_stray(e->held[i], lease)) ids[n++] = e->held[i]->d.id;
  if (!n) return PAWL_OK;
  MUST(pawl_stray_remove(e, shard, ids, lease, n, &gone, err));
  /* one that was not taken off has got its instance, or another holder, in
   * between: a slot that was never loaded is given back */
  for (int i = 0; i < e->nheld_slots && gone == n; i++)
    if (is_stray(e->held[i], lease)) pawl_held_free(e, e->held[i]);
  return PAWL_OK;
}
