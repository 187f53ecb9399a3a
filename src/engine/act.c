/* Acting from outside: requests go into the inbox, under the agenda row's
 * lock; the lease's holder takes them (rule 3). */
#include "../value/json.h"
#include "internal.h"

static pawl_code send_wake(pawl_engine *e, int shard, const pawl_id *id,
                           pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_WAKE);
  pawl_arg_int(&e->args, PAWL_AGENDA_WAKE_SHARD, shard);
  pawl_arg_id(&e->args, PAWL_AGENDA_WAKE_ID, id);
  pawl_store_arg_now(e->store, &e->args, PAWL_AGENDA_WAKE_NOW);
  return pawl_store_send(e->store, &e->args, err);
}

static pawl_code send_request(pawl_engine *e, int shard, const pawl_id *id,
                              const pawl_id *no, const char *who,
                              pawl_str data, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_INBOX_INSERT);
  pawl_arg_int(a, PAWL_INBOX_INSERT_SHARD, shard);
  pawl_arg_id(a, PAWL_INBOX_INSERT_ID, id);
  pawl_arg_id(a, PAWL_INBOX_INSERT_NO, no);
  pawl_arg_textz(a, PAWL_INBOX_INSERT_KIND, "cancel");
  pawl_arg_textz(a, PAWL_INBOX_INSERT_SOURCE, "user");
  pawl_arg_textz(a, PAWL_INBOX_INSERT_CALLER, who);
  pawl_arg_str(a, PAWL_INBOX_INSERT_DATA, data);
  pawl_store_arg_now(e->store, a, PAWL_INBOX_INSERT_NOW);
  return pawl_store_send(e->store, a, err);
}

static pawl_code send_get(pawl_engine *e, int shard, const pawl_id *id,
                          pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_INSTANCE_GET);
  pawl_arg_int(&e->args, PAWL_INSTANCE_GET_SHARD, shard);
  pawl_arg_id(&e->args, PAWL_INSTANCE_GET_ID, id);
  return pawl_store_send(e->store, &e->args, err);
}

static pawl_code already(const char *id, pawl_str status, pawl_error *err) {
  pawl_fail(err, PAWL_ALREADY_FINISHED,
            "instance %s has ended already: "
            "%.*s",
            id, (int)status.len, status.at);
  return PAWL_ALREADY_FINISHED;
}

/* Reads the status that the third statement of the unit found. */
static pawl_code check_alive(pawl_engine *e, const pawl_id *id,
                             pawl_error *err) {
  pawl_rows rows;
  pawl_status status;
  char text[37];

  pawl_id_format(id, text);
  pawl_store_rows(e->store, 2, &rows);
  if (!rows.nrows) {
    pawl_fail(err, PAWL_NOTFOUND, "there is no instance %s", text);
    pawl_error_hint(err, "`pawl list` shows what there is");
    return PAWL_NOTFOUND;
  }
  pawl_str name = pawl_row_str(&rows, 0, PAWL_INSTANCE_GET_R_STATUS);
  if (pawl_status_parse(name, &status) && pawl_status_has_ended(status))
    return already(text, name, err);
  return PAWL_OK;
}

static pawl_code request(pawl_engine *e, const pawl_id *id, const pawl_id *no,
                         const char *who, pawl_str data, pawl_error *err) {
  int shard = pawl_id_route(id) % e->nshards;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(send_wake(e, shard, id, err));
  TRY(send_request(e, shard, id, no, who, data, err));
  TRY(send_get(e, shard, id, err));
  TRY(pawl_store_commit(e->store, err));
  return check_alive(e, id, err);
out:
  pawl_store_rollback(e->store);
  return rc;
}

/* How it ended, once this process has taken the request itself. */
static pawl_code outcome(pawl_engine *e, const pawl_id *id, int *done,
                         pawl_error *err) {
  int shard = pawl_id_route(id) % e->nshards;
  pawl_rows rows;
  pawl_status status = PAWL_STATUS_RUNNING;
  char text[37];
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(send_get(e, shard, id, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, 0, &rows);
  if (!rows.nrows) return PAWL_OK;
  pawl_str name = pawl_row_str(&rows, 0, PAWL_INSTANCE_GET_R_STATUS);
  (void)pawl_status_parse(name, &status);
  *done = status == PAWL_STATUS_CANCELLED;
  if (*done || !pawl_status_has_ended(status)) return PAWL_OK;
  pawl_id_format(id, text); /* it ended while the request was on its way */
  return already(text, name, err);
out:
  pawl_store_rollback(e->store);
  return rc;
}

pawl_code pawl_engine_cancel(pawl_engine *e, const pawl_id *id,
                             const char *reason, const char *who, int *done,
                             pawl_error *err) {
  pawl_buf data = {.alloc = &e->alloc};
  pawl_id no;
  size_t bad;
  int own = 0;
  pawl_code rc = PAWL_OK;

  if (!done) done = &own;
  *done = 0;
  if (!reason) reason = "";
  if (!who) who = "";
  if (!pawl_utf8_check(pawl_strz(reason), &bad) ||
      !pawl_utf8_check(pawl_strz(who), &bad))
    return pawl_fail(err, PAWL_VALUE, "reason and who must be UTF-8 text");
  pawl_buf_addz(&data, "{\"reason\":");
  pawl_json_add_string(&data, pawl_strz(reason));
  pawl_buf_addc(&data, '}');
  TRY(pawl_buf_check(&data, err));
  TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &no, err));
  for (int tries = 0;; tries++) { /* its number is fixed: may be repeated */
    rc = request(e, id, &no, who, pawl_buf_str(&data), err);
    if ((rc != PAWL_UNREACHABLE && rc != PAWL_BUSY) || tries == 2) break;
  }
  if (rc != PAWL_OK) goto out;
  /* nobody holds it? then it is cancelled here and now */
  TRY(pawl_engine_tick_one(e, id, 0, NULL, NULL, err));
  TRY(outcome(e, id, done, err));
out:
  pawl_buf_deinit(&data);
  return rc;
}
