#include "reach.h"

#include <stdio.h>

#include "../../base/fault.h"

#define PAGE 64
#define LOOK_EVERY_US PAWL_SECOND
#define GRACE_US (10 * PAWL_SECOND) /* for workers of the child's group */

/* ---- noted ---- */

pawl_code pawl_reach_note(pawl_engine *e, int shard, const pawl_id *ids, int n,
                          pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_ENDING_INSERT);
  pawl_arg_int(a, PAWL_ENDING_INSERT_SHARD, shard);
  for (int i = 0; i < n; i++) pawl_arg_id(a, PAWL_ENDING_INSERT_ID, &ids[i]);
  if (!e->holding) /* else no tick will follow: ours are not served either */
    pawl_arg_str(a, PAWL_ENDING_INSERT_EXECUTOR_GROUP,
                 pawl_buf_str(&e->group));
  pawl_arg_int(a, PAWL_ENDING_INSERT_GRACE_US, GRACE_US);
  pawl_store_arg_now(e->store, a, PAWL_ENDING_INSERT_NOW);
  e->reach_asked = 1;
  return pawl_store_send(e->store, a, err);
}

/* ---- a page of a shard ---- */

typedef struct page {
  pawl_id ids[PAGE];
  int due[PAGE];
  int n;
} page;

static pawl_code is_any_due(pawl_engine *e, int shard, int *any,
                            pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_ENDING_NEXT);
  pawl_arg_int(a, PAWL_ENDING_NEXT_SHARD, shard);
  pawl_store_arg_now(e->store, a, PAWL_ENDING_NEXT_NOW);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, a, &rows, err));
  *any = pawl_row_int(&rows, 0, PAWL_ENDING_NEXT_R_DUE) != 0;
out:
  return rc;
}

static pawl_code take_page(pawl_engine *e, int shard, page *p,
                           pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_rows rows;
  double pause = (double)LOOK_EVERY_US * (1 + pawl_engine_random(e));
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_ENDING_TAKE);
  pawl_arg_int(a, PAWL_ENDING_TAKE_SHARD, shard);
  pawl_arg_int(a, PAWL_ENDING_TAKE_PAUSE_US, (int64_t)pause);
  pawl_arg_int(a, PAWL_ENDING_TAKE_MAX, PAGE);
  pawl_store_arg_now(e->store, a, PAWL_ENDING_TAKE_NOW);
  TRY(pawl_store_once(e->store, PAWL_UNIT_BATCH, a, &rows, err));
  p->n = rows.nrows;
  for (int k = 0; k < p->n; k++) {
    pawl_row_id(&rows, k, PAWL_ENDING_TAKE_R_INSTANCE, &p->ids[k]);
    p->due[k] = pawl_row_int(&rows, k, PAWL_ENDING_TAKE_R_DUE) != 0;
  }
out:
  return rc;
}

static pawl_code drop_done(pawl_engine *e, int shard, const page *p,
                           pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_rows rows;

  pawl_args_begin(a, PAWL_STMT_ENDING_DONE);
  pawl_arg_int(a, PAWL_ENDING_DONE_SHARD, shard);
  for (int k = 0; k < p->n; k++)
    pawl_arg_id(a, PAWL_ENDING_DONE_ID, &p->ids[k]);
  pawl_store_arg_now(e->store, a, PAWL_ENDING_DONE_NOW);
  return pawl_store_once(e->store, PAWL_UNIT_BATCH, a, &rows, err);
}

static void tell(pawl_engine *e, const pawl_id *id, const pawl_error *why) {
  char text[37], message[128];

  pawl_id_format(id, text);
  (void)snprintf(message, sizeof message,
                 "%s cannot be ended with its parent now: it is tried again",
                 text);
  pawl_log_error(&e->log, PAWL_WARN, message, why);
}

/* Its own error ends nothing but its turn: it was put off (R2). Without the
 * store there is nothing to go on with. */
static pawl_code end_one(pawl_engine *e, const pawl_id *id, pawl_error *err) {
  pawl_code rc = pawl_engine_apply(e, id, err);

  if (rc == PAWL_OK || rc == PAWL_NOTFOUND) return PAWL_OK;
  tell(e, id, err);
  return rc == PAWL_UNREACHABLE ? rc : PAWL_OK;
}

static pawl_code reach_shard(pawl_engine *e, int shard, int *n,
                             pawl_error *err) {
  page p = {.n = 0};
  int any = 0;
  pawl_code rc = PAWL_OK;

  TRY(is_any_due(e, shard, &any, err));
  if (!any) return PAWL_OK;
  TRY(take_page(e, shard, &p, err));
  if (!p.n) return PAWL_OK;
  *n += p.n;
  for (int k = 0; k < p.n; k++)
    if (p.due[k]) TRY(end_one(e, &p.ids[k], err));
  TRY(drop_done(e, shard, &p, err));
out:
  return rc;
}

/* ---- all shards ---- */

static pawl_code reach(pawl_engine *e, int *n, pawl_error *err) {
  pawl_error own;
  pawl_code rc = PAWL_OK;

  if (!err) err = &own;
  *n = e->reach_asked = 0;
  e->reach_look_us = pawl_engine_now(e) + LOOK_EVERY_US;
  e->reaching = 1;
  for (int s = 0; s < e->nshards; s++) TRY(reach_shard(e, s, n, err));
out:
  e->reaching = 0;
  return rc;
}

/* A clock that was set back does not keep it from looking. */
static int must_look(pawl_engine *e) {
  int64_t wait = e->reach_look_us - pawl_engine_now(e);
  return e->reach_asked || wait <= 0 || wait > LOOK_EVERY_US;
}

pawl_code pawl_reach(pawl_engine *e, int *more, pawl_error *err) {
  pawl_code rc;
  int n;

  *more = 0;
  if (e->reaching) return PAWL_OK; /* its caller goes on */
  if (!must_look(e)) return PAWL_OK;
  if (PAWL_FAULT("engine.reach") == PAWL_FAULT_FAIL) return PAWL_OK;
  rc = reach(e, &n, err);
  *more = e->reach_asked = n > 0;
  /* nothing is lost: the rows are there, and so is what they are for */
  return pawl_code_is_transient(rc) ? PAWL_OK : rc;
}

void pawl_reach_all(pawl_engine *e) {
  pawl_error err;
  pawl_code rc = PAWL_OK;
  int n;

  if (e->reaching) return; /* its caller goes on */
  while (rc == PAWL_OK && e->reach_asked) {
    rc = reach(e, &n, &err);
    e->reach_asked |= n > 0;
  }
  if (rc != PAWL_OK)
    pawl_log_error(&e->log, PAWL_WARN,
                   "children are left to a worker to be ended", &err);
}
