/* Acting from outside: requests go into the inbox, under the agenda row's
 * lock; the lease's holder takes them (rule 3). Whoever asks is the holder
 * himself, for that moment, when nobody else is. */
#include "act.h"

#include "../../base/fault.h"
#include "../../value/json.h"
#include "../internal.h"

typedef struct request {
  const pawl_id *id;
  int shard;
  pawl_id no; /* fixed, so that sending it again is harmless */
  const char *kind, *source, *who;
  pawl_str data, event_id;
  unsigned ended; /* for those that have ended in these ways, too */
  int again;      /* the answer was lost: it may be there, or taken already */
} request;

#define ENDED(status) (1u << PAWL_STATUS_##status)

/* What may be asked for when there is no way on any more. */
static unsigned ended_for(const char *kind) {
  if (!strcmp(kind, "retry") || !strcmp(kind, "migrate")) return ENDED(FAILED);
  return strcmp(kind, "restart") ? 0 : ENDED(FAILED) | ENDED(COMPLETED);
}

static pawl_code send_revive(pawl_engine *e, const request *r,
                             pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_REVIVE);
  pawl_arg_int(&e->args, PAWL_AGENDA_REVIVE_SHARD, r->shard);
  pawl_arg_id(&e->args, PAWL_AGENDA_REVIVE_ID, r->id);
  pawl_store_arg_now(e->store, &e->args, PAWL_AGENDA_REVIVE_NOW);
  pawl_arg_int(&e->args, PAWL_AGENDA_REVIVE_COMPLETED,
               (r->ended & ENDED(COMPLETED)) != 0);
  return pawl_store_send(e->store, &e->args, err);
}

static pawl_code send_wake(pawl_engine *e, const request *r, pawl_error *err) {
  if (r->ended) return send_revive(e, r, err);
  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_WAKE);
  pawl_arg_int(&e->args, PAWL_AGENDA_WAKE_SHARD, r->shard);
  pawl_arg_id(&e->args, PAWL_AGENDA_WAKE_ID, r->id);
  pawl_store_arg_now(e->store, &e->args, PAWL_AGENDA_WAKE_NOW);
  return pawl_store_send(e->store, &e->args, err);
}

_Static_assert((int)PAWL_INBOX_INSERT_NOW == (int)PAWL_INBOX_INSERT_AGAIN_NOW,
               "the arguments of both have the same places");

static pawl_code send_letter(pawl_engine *e, const request *r,
                             pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_args_begin(
      a, r->again ? PAWL_STMT_INBOX_INSERT_AGAIN : PAWL_STMT_INBOX_INSERT);
  pawl_arg_int(a, PAWL_INBOX_INSERT_SHARD, r->shard);
  pawl_arg_id(a, PAWL_INBOX_INSERT_ID, r->id);
  pawl_arg_id(a, PAWL_INBOX_INSERT_NO, &r->no);
  pawl_arg_textz(a, PAWL_INBOX_INSERT_KIND, r->kind);
  pawl_arg_str(a, PAWL_INBOX_INSERT_EVENT_ID, r->event_id);
  pawl_arg_textz(a, PAWL_INBOX_INSERT_SOURCE, r->source);
  pawl_arg_textz(a, PAWL_INBOX_INSERT_CALLER, r->who);
  pawl_arg_str(a, PAWL_INBOX_INSERT_DATA, r->data);
  pawl_store_arg_now(e->store, a, PAWL_INBOX_INSERT_NOW);
  return pawl_store_send(e->store, a, err);
}

static pawl_code send_state(pawl_engine *e, int shard, const pawl_id *id,
                            pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_REPAIR_STATE);
  pawl_arg_int(&e->args, PAWL_REPAIR_STATE_SHARD, shard);
  pawl_arg_id(&e->args, PAWL_REPAIR_STATE_ID, id);
  return pawl_store_send(e->store, &e->args, err);
}

/* What history says to the request behind row `after`. */
static pawl_code send_answer(pawl_engine *e, const request *r, int64_t after,
                             pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_REPAIR_ANSWER);
  pawl_arg_int(&e->args, PAWL_REPAIR_ANSWER_SHARD, r->shard);
  pawl_arg_id(&e->args, PAWL_REPAIR_ANSWER_ID, r->id);
  pawl_arg_id(&e->args, PAWL_REPAIR_ANSWER_REQUEST, &r->no);
  pawl_arg_int(&e->args, PAWL_REPAIR_ANSWER_AFTER, after);
  return pawl_store_send(e->store, &e->args, err);
}

pawl_code pawl_act_ended(const pawl_id *id, pawl_status status,
                         pawl_error *err) {
  char text[37];
  pawl_id_format(id, text);
  return pawl_fail(err, PAWL_ALREADY_FINISHED,
                   "instance %s has ended already: %s", text,
                   pawl_status_name(status));
}

pawl_code pawl_act_unknown(const pawl_id *id, pawl_error *err) {
  char text[37];
  pawl_id_format(id, text);
  pawl_fail(err, PAWL_NOTFOUND, "there is no instance %s", text);
  pawl_error_hint(err, "`pawl list` shows what there is");
  return PAWL_NOTFOUND;
}

/* What the unit's last statement found: is there anyone to read the letter? */
static pawl_code read_state(pawl_engine *e, const request *r, int at,
                            pawl_status *status, int64_t *seq,
                            pawl_error *err) {
  pawl_rows rows;

  pawl_store_rows(e->store, at, &rows);
  if (!rows.nrows) return pawl_act_unknown(r->id, err);
  if (!pawl_status_parse(pawl_row_str(&rows, 0, PAWL_REPAIR_STATE_R_STATUS),
                         status))
    return pawl_fail(err, PAWL_CORRUPT, "an instance with an unknown status");
  *seq = pawl_row_int(&rows, 0, PAWL_REPAIR_STATE_R_SEQ);
  return PAWL_OK;
}

/* *seq: no row of history up to this one answers the request. */
static pawl_code send(pawl_engine *e, const request *r, int64_t *seq,
                      pawl_error *err) {
  pawl_status status = PAWL_STATUS_RUNNING;
  pawl_rows answers = {0};
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(send_wake(e, r, err));
  TRY(send_letter(e, r, err));
  TRY(send_state(e, r->shard, r->id, err));
  if (r->again) TRY(send_answer(e, r, 0, err));
  TRY(pawl_store_commit(e->store, err));
  TRY(read_state(e, r, 2, &status, seq, err));
  if (r->again) {
    *seq = 0;
    pawl_store_rows(e->store, 3, &answers);
  }
  if (answers.nrows || !pawl_status_has_ended(status) ||
      ((r->ended >> status) & 1u))
    return PAWL_OK;
  return pawl_act_ended(r->id, status, err);
out:
  pawl_store_rollback(e->store);
  return rc;
}

/* ---- how it was met ---- */

typedef struct answer {
  pawl_status status;
  int pending; /* the letter still lies there */
  int taken;   /* history tells of it */
  int refused; /* as it says */
  pawl_error why;
} answer;

static void read_taken(const pawl_rows *rows, answer *a) {
  pawl_str text;
  a->taken = rows->nrows > 0;
  if (!a->taken ||
      !pawl_str_eqz(pawl_row_str(rows, 0, PAWL_REPAIR_ANSWER_R_TYPE),
                    "refused"))
    return;
  text = pawl_row_str(rows, 0, PAWL_REPAIR_ANSWER_R_TEXT);
  a->refused = 1;
  pawl_fail(&a->why, PAWL_CONFLICT, "%.*s", (int)text.len,
            text.at ? text.at : "");
}

static pawl_code read_answer(pawl_engine *e, const request *r, int64_t seq,
                             answer *a, pawl_error *err) {
  pawl_rows rows;
  int64_t now;
  pawl_code rc = PAWL_OK;

  memset(a, 0, sizeof *a);
  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(send_state(e, r->shard, r->id, err));
  pawl_args_begin(&e->args, PAWL_STMT_INBOX_GET);
  pawl_arg_int(&e->args, PAWL_INBOX_GET_SHARD, r->shard);
  pawl_arg_id(&e->args, PAWL_INBOX_GET_ID, r->id);
  pawl_arg_id(&e->args, PAWL_INBOX_GET_NO, &r->no);
  TRY(pawl_store_send(e->store, &e->args, err));
  TRY(send_answer(e, r, seq, err));
  TRY(pawl_store_commit(e->store, err));
  TRY(read_state(e, r, 0, &a->status, &now, err));
  pawl_store_rows(e->store, 1, &rows);
  a->pending = rows.nrows > 0;
  pawl_store_rows(e->store, 2, &rows);
  read_taken(&rows, a);
  return PAWL_OK;
out:
  pawl_store_rollback(e->store);
  return rc;
}

/* Cancelling is done when the instance is cancelled, which may take undoing
 * first; everything else, once the letter was taken. One that has gone and
 * left no row was in vain, or the instance ended: who held it knows. */
static pawl_code settle(pawl_engine *e, const request *r, int64_t seq, int got,
                        int *done, pawl_error *err) {
  answer a;
  pawl_code rc = PAWL_OK;

  TRY(read_answer(e, r, seq, &a, err));
  if (!strcmp(r->kind, "cancel")) {
    *done = a.status == PAWL_STATUS_CANCELLED;
    if (!*done && pawl_status_has_ended(a.status)) /* meanwhile */
      return pawl_act_ended(r->id, a.status, err);
    return PAWL_OK;
  }
  if (a.pending || (!a.taken && !got)) return PAWL_OK;
  if (a.refused) {
    if (err) *err = a.why;
    return a.why.code;
  }
  *done = 1;
out:
  return rc;
}

/* ---- the road ---- */

/* The letter lies there, and will be taken: who is hindered here, whatever by,
 * goes on as one who found the instance held. To ask again would be a request
 * of its own, which counts, too. */
static pawl_code follow(pawl_engine *e, const request *r, int seize,
                        int64_t seq, int *done, pawl_error *err) {
  int got = 0;
  pawl_code rc = pawl_engine_hold(e, r->id, seize, &got, err);

  if (pawl_code_is_transient(rc)) got = 0;
  if (rc == PAWL_OK || pawl_code_is_transient(rc))
    rc = settle(e, r, seq, got, done, err);
  return pawl_code_is_transient(rc) ? PAWL_OK : rc;
}

static pawl_code travel(pawl_engine *e, request *r, int *done,
                        pawl_error *err) {
  int seize = !strcmp(r->kind, "kill");
  int64_t seq = 0;
  pawl_code rc = PAWL_OK;

  *done = 0;
  r->shard = pawl_id_route(r->id) % e->nshards;
  r->ended = ended_for(r->kind);
  TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &r->no, err));
  for (int tries = 0;; tries++) {
    if (tries) (void)PAWL_FAULT("engine.act.again");
    if (!tries) (void)PAWL_FAULT("engine.act.send");
    r->again = tries > 0;
    rc = send(e, r, &seq, err);
    if ((rc != PAWL_UNREACHABLE && rc != PAWL_BUSY) || tries == 2) break;
  }
  if (rc != PAWL_OK) goto out;
  /* a kill may meet the last word of him from whom it takes the instance */
  for (int tries = 0; tries <= seize && !*done; tries++)
    TRY(follow(e, r, seize, seq, done, err));
out:
  return rc;
}

pawl_code pawl_engine_change(pawl_engine *e, const pawl_id *id,
                             const char *kind, const char *source,
                             const char *who, pawl_str data, int *done,
                             pawl_error *err) {
  request r = {.id = id, .kind = kind, .source = source, .who = who};
  int own;

  r.data = data;
  return travel(e, &r, done ? done : &own, err);
}

pawl_code pawl_engine_apply(pawl_engine *e, const pawl_id *id,
                            pawl_error *err) {
  int got;
  return pawl_engine_hold(e, id, 0, &got, err);
}

pawl_code pawl_act_post(pawl_engine *e, const pawl_id *ids, int n,
                        const char *kind, const char *who, pawl_str data,
                        pawl_str event_id, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  for (int i = 0; i < n; i++) {
    request r = {.id = &ids[i], .kind = kind, .source = "user", .who = who};
    r.shard = pawl_id_route(&ids[i]) % e->nshards;
    r.data = data;
    r.event_id = event_id;
    TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &r.no, err));
    TRY(send_wake(e, &r, err));
    TRY(send_letter(e, &r, err));
  }
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

pawl_code pawl_engine_cancel(pawl_engine *e, const pawl_id *id,
                             const char *reason, const char *who, int *done,
                             pawl_error *err) {
  pawl_buf data = {.alloc = &e->alloc};
  size_t bad;
  pawl_code rc = PAWL_OK;

  if (!reason) reason = "";
  if (!who) who = "";
  if (!pawl_utf8_check(pawl_strz(reason), &bad) ||
      !pawl_utf8_check(pawl_strz(who), &bad))
    return pawl_fail(err, PAWL_VALUE, "reason and who must be UTF-8 text");
  pawl_buf_addz(&data, "{\"reason\":");
  pawl_json_add_string(&data, pawl_strz(reason));
  pawl_buf_addc(&data, '}');
  TRY(pawl_buf_check(&data, err));
  TRY(pawl_engine_change(e, id, "cancel", "user", who, pawl_buf_str(&data),
                         done, err));
out:
  pawl_buf_deinit(&data);
  return rc;
}
