/* Children that are to end, a page of a shard at a time. */
#include "reach.h"

#include <assert.h>
#include <stdio.h>

#include "../../base/fault.h"
#include "../common/chore.h"
#include "../common/time.h"
#include "apply.h"

#define PAGE 64
#define LOOK_EVERY_US PAWL_SECOND

/* ---- a page of a shard ---- */

/* Nothing is, as a rule: that is found out without a transaction that writes.
 * */
static pawl_code is_any_due(pawl_engine *e, int shard, int *any,
                            pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_READ(e->store, ending_next, &rows, err, .shard = shard,
                 .now = pawl_store_now(e->store)));
  *any = pawl_read_ending_next(&rows, 0).due != 0;
  return PAWL_OK;
}

/* Up to `max` rows, put off (Y2); they outlive what is done about them. */
static pawl_code take_page(pawl_engine *e, int shard, int max, pawl_buf *page,
                           int *n, pawl_error *err) {
  pawl_rows rows;
  double pause = (double)LOOK_EVERY_US * (1 + pawl_engine_random(e));

  MUST(PAWL_WRITE(e->store, ending_take, &rows, err, .shard = shard,
                  .pause_us = (int64_t)pause, .max = max,
                  .now = pawl_store_now(e->store)));
  *n = rows.nrows;
  assert(*n <= max);
  return PAWL_KEEP(ending_take, &rows, page, err);
}

static pawl_code drop_done(pawl_engine *e, int shard, const pawl_buf *page,
                           int n, pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_ending_done);
  for (int k = 0; k < n; k++)
    PAWL_PUT(&e->args, ending_done, .shard = shard,
             .id = PAWL_KEPT(ending_take, page)[k].instance,
             .now = pawl_store_now(e->store));
  return pawl_store_once(e->store, PAWL_UNIT_BATCH, &e->args, NULL, err);
}

static void tell(pawl_engine *e, const pawl_id *id, const pawl_error *why) {
  char text[37], message[128];

  pawl_id_format(id, text);
  (void)snprintf(message, sizeof message,
                 "%s cannot be ended with its parent now: it is tried again",
                 text);
  pawl_log_error(&e->log, PAWL_WARN, message, why);
}

/* Its own error ends nothing but its turn: it was put off (Y2). Without the
 * store there is nothing to go on with. */
static pawl_code end_one(pawl_engine *e, const pawl_id *id, pawl_error *err) {
  int got;
  pawl_code rc = pawl_apply(e, id, 0, &got, err);

  if (rc == PAWL_OK || rc == PAWL_NOTFOUND) return PAWL_OK;
  tell(e, id, err);
  return rc == PAWL_UNREACHABLE ? rc : PAWL_OK;
}

static pawl_code end_some(pawl_engine *e, int shard, int max, int *n,
                          pawl_error *err) {
  pawl_buf page = {.alloc = &e->alloc};
  const int64_t began = pawl_clock_mono();
  pawl_code rc = PAWL_OK;

  TRY(take_page(e, shard, max, &page, n, err));
  for (int k = 0; k < *n; k++) {
    const pawl_ending_take_row *row = &PAWL_KEPT(ending_take, &page)[k];
    if (row->due) TRY(end_one(e, row->instance, err));
  }
  if (*n) TRY(drop_done(e, shard, &page, *n, err));
  (void)pawl_chore_took(e, &e->ending.cost, *n, began);
out:
  pawl_buf_deinit(&page);
  return rc;
}

/* *more: there are some that were due; that are put off, perhaps. */
static pawl_code reach_shard(pawl_engine *e, int shard, int *more,
                             pawl_error *err) {
  int any = 0, taken = 0;

  MUST(is_any_due(e, shard, &any, err));
  if (!any) return PAWL_OK;
  const int max = pawl_chore_rows(e, &e->ending, PAGE);
  if (max) MUST(end_some(e, shard, max, &taken, err));
  if (!max || taken) *more = 1;
  return PAWL_OK;
}

/* ---- all shards ---- */

static pawl_code reach(pawl_engine *e, int *more, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  *more = 0;
  e->reach_look_us = pawl_engine_now(e) + LOOK_EVERY_US;
  for (int s = 0; s < e->nshards && rc == PAWL_OK; s++)
    rc = reach_shard(e, s, more, err);
  if (*more) e->reach_look_us = -1; /* behind a page there may be more */
  return rc;
}

/* A clock that was set back does not keep it from looking. */
static int must_look(pawl_engine *e) {
  int64_t wait = e->reach_look_us - pawl_engine_now(e);
  return wait <= 0 || wait > LOOK_EVERY_US;
}

pawl_code pawl_reach(pawl_engine *e, int *more, pawl_error *err) {
  *more = 0;
  if (!must_look(e)) return PAWL_OK;
  if (PAWL_FAULT("engine.reach") == PAWL_FAULT_FAIL) return PAWL_OK;
  pawl_code rc = reach(e, more, err);
  /* nothing is lost: the rows are there, and so is what they are for */
  return pawl_code_is_transient(rc) ? PAWL_OK : rc;
}

void pawl_reach_all(pawl_engine *e) {
  pawl_error err;
  pawl_code rc = PAWL_OK;
  int more;

  while (rc == PAWL_OK && e->reach_look_us < 0) rc = reach(e, &more, &err);
  if (rc != PAWL_OK)
    pawl_log_error(&e->log, PAWL_WARN,
                   "children are left to a worker to be ended", &err);
}
