#include "reach.h"

static void note(pawl_engine *e, const pawl_id *id) {
  pawl_buf_add(&e->unreached, (const char *)id->bytes, sizeof id->bytes);
}

/* What could not be noted is told again: its message is delivered again. */
static pawl_code check_notes(pawl_engine *e, pawl_error *err) {
  pawl_code rc = pawl_buf_check(&e->unreached, err);
  e->unreached.failed = 0;
  return rc;
}

pawl_code pawl_reach_note(pawl_engine *e, int shard, const pawl_id *ids, int n,
                          pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_rows rows;
  pawl_id id;
  pawl_code rc = PAWL_OK;

  if (!n) return PAWL_OK;
  if (e->holding) {
    for (int i = 0; i < n; i++) note(e, &ids[i]);
    return check_notes(e, err);
  }
  pawl_args_begin(a, PAWL_STMT_AGENDA_ELSEWHERE);
  pawl_arg_int(a, PAWL_AGENDA_ELSEWHERE_SHARD, shard);
  pawl_arg_str(a, PAWL_AGENDA_ELSEWHERE_EXECUTOR_GROUP,
               pawl_buf_str(&e->group));
  for (int i = 0; i < n; i++)
    pawl_arg_id(a, PAWL_AGENDA_ELSEWHERE_ID, &ids[i]);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, a, &rows, err));
  for (int k = 0; k < rows.nrows; k++) {
    pawl_row_id(&rows, k, PAWL_AGENDA_ELSEWHERE_R_INSTANCE, &id);
    note(e, &id);
  }
  rc = check_notes(e, err);
out:
  return rc;
}

/* The newest first: children of children come before the next child. */
pawl_code pawl_reach(pawl_engine *e, pawl_error *err) {
  pawl_id id;
  pawl_code rc = PAWL_OK;

  if (e->reaching) return PAWL_OK; /* its caller goes on */
  e->reaching = 1;
  while (e->unreached.len && rc == PAWL_OK) {
    e->unreached.len -= sizeof id.bytes;
    memcpy(id.bytes, e->unreached.at + e->unreached.len, sizeof id.bytes);
    rc = pawl_engine_apply(e, &id, err);
    if (rc == PAWL_NOTFOUND) rc = PAWL_OK;
  }
  /* it lies in its inbox: whoever serves it, or asks again, will find it */
  if (pawl_code_is_transient(rc)) rc = PAWL_OK;
  e->reaching = 0;
  return rc;
}
