/* An instance goes, with all rows that are its own: in batches, each a unit of
 * its own, so that a long history holds no locks for long. It was marked
 * before (rules/letters.c): hidden, and changed by nobody. Who is stopped in
 * the middle, or asks beside another, goes on where the rows are; the
 * instance's own is the last. */
#include <assert.h>

#include "../../base/fault.h"
#include "../common/engine_struct.h"
#include "../common/find.h"
#include "act.h"

enum { BATCH = 1000, TASKS = 100 /* a unit has two statements for each */ };

/* ---- may it go? ---- */

static pawl_code refuse(const pawl_id *id, const char *why, const char *hint,
                        pawl_error *err) {
  return pawl_fail_hint(err, PAWL_CONFLICT, hint,
                        "instance %s cannot be purged: %s",
                        pawl_id_text_of(id).at, why);
}

static pawl_code look_for_rows(pawl_engine *e, const pawl_id *id,
                               pawl_purge_holds_row *row, pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_READ(e->store, purge_holds, &rows, err,
                 .shard = pawl_shard_of(e, id), .id = id));
  assert(rows.nrows == 1);
  *row = pawl_read_purge_holds(&rows, 0);
  return PAWL_OK;
}

/* A parent that lives may wait for it. And while it has something to say that
 * was not delivered, that may be this one's start, for a second time. */
static pawl_code check_parent(pawl_engine *e, const pawl_id *id,
                              const pawl_id *parent, pawl_error *err) {
  pawl_purge_holds_row held;
  pawl_rows rows;
  pawl_status status;

  MUST(PAWL_READ(e->store, repair_state, &rows, err,
                 .shard = pawl_shard_of(e, parent), .id = parent));
  if (!rows.nrows) return PAWL_OK;
  if (pawl_status_parse(pawl_read_repair_state(&rows, 0).status, &status) &&
      !pawl_status_has_ended(status))
    return refuse(id, "its parent lives", "purge it when that has ended", err);
  MUST(look_for_rows(e, parent, &held, err));
  if (!held.undelivered) return PAWL_OK;
  return refuse(id, "its parent has messages that are not delivered yet",
                "a worker delivers them; then purge it", err);
}

/* Of those that end with it, each has still to be told so. */
static pawl_code check_children(pawl_engine *e, const pawl_id *id,
                                pawl_error *err) {
  static const pawl_id first;
  pawl_rows rows;

  for (int s = 0; s < e->nshards; s++) {
    MUST(PAWL_READ(e->store, instance_children, &rows, err, .shard = s,
                   .parent = id, .after = &first, .max = 1));
    if (rows.nrows)
      return refuse(id, "children live that end with it",
                    "purge it when they have ended", err);
  }
  return PAWL_OK;
}

pawl_code pawl_purge_check(pawl_engine *e, const pawl_id *id,
                           const pawl_id *parent, int force, pawl_error *err) {
  pawl_purge_holds_row held;

  if (parent) MUST(check_parent(e, id, parent, err));
  MUST(check_children(e, id, err));
  MUST(look_for_rows(e, id, &held, err));
  if (held.undelivered)
    return refuse(id, "it has messages that are not delivered yet",
                  "a worker delivers them; then purge it", err);
  if (held.unpublished && !force)
    return refuse(id, "it has emitted what nobody has published yet",
                  "publish that first, or purge it with `force`", err);
  return PAWL_OK;
}

/* ---- its rows ---- */

/* Taken away twice, when an answer was lost, they are gone once. */
static pawl_code send_batch(pawl_engine *e, int64_t *changed,
                            pawl_error *err) {
  pawl_rows rows;
  int tries = 0;
  pawl_code rc;

  (void)PAWL_FAULT("engine.purge.batch");
  do rc = pawl_store_once(e->store, PAWL_UNIT_BATCH, &e->args, &rows, err);
  while (pawl_store_may_repeat(rc, &tries));
  if (rc == PAWL_OK) *changed = rows.changed;
  return rc;
}

/* In this order: what shows an instance as a whole goes first. */
#define TABLES(X) \
  X(history)      \
  X(item) X(token) X(variable) X(subscription) X(attribute) X(outbox) X(inbox)

#define PURGE(table)                                                   \
  static pawl_code purge_##table(pawl_engine *e, int shard,            \
                                 const pawl_id *id, pawl_error *err) { \
    int64_t n = BATCH;                                                 \
    while (n >= BATCH) { /* fewer: those were the last */              \
      pawl_args_begin(&e->args, PAWL_STMT_purge_##table);              \
      PAWL_PUT(&e->args, purge_##table, .shard = shard, .id = id,      \
               .max = BATCH);                                          \
      MUST(send_batch(e, &n, err));                                    \
    }                                                                  \
    return PAWL_OK;                                                    \
  }
TABLES(PURGE)

static pawl_code purge_some_tasks(pawl_engine *e, int shard,
                                  const pawl_purge_tasks_row *tasks, int n,
                                  pawl_error *err) {
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  for (int i = 0; i < n; i++) {
    TRY(PAWL_SEND(e->store, purge_owner, NULL, err, .shard = shard,
                  .task = tasks[i].id));
    TRY(PAWL_SEND(e->store, purge_task, NULL, err, .shard = shard,
                  .task = tasks[i].id));
  }
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

static pawl_code purge_tasks(pawl_engine *e, int shard, const pawl_id *id,
                             pawl_error *err) {
  pawl_buf keep = {.alloc = &e->alloc};
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  for (;;) {
    TRY(PAWL_READ(e->store, purge_tasks, &rows, err, .shard = shard, .id = id,
                  .max = TASKS));
    int n = rows.nrows;
    if (!n) break;
    TRY(PAWL_KEEP(purge_tasks, &rows, &keep, err));
    TRY(purge_some_tasks(e, shard, PAWL_KEPT(purge_tasks, &keep), n, err));
  }
out:
  pawl_buf_deinit(&keep);
  return rc;
}

static pawl_code purge_itself(pawl_engine *e, int shard, const pawl_id *id,
                              pawl_error *err) {
  pawl_code rc = PAWL_OK;

  (void)PAWL_FAULT("engine.purge.last");
  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(PAWL_SEND(e->store, purge_ending, NULL, err, .shard = shard, .id = id));
  TRY(PAWL_SEND(e->store, purge_instance, NULL, err, .shard = shard,
                .id = id));
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

pawl_code pawl_purge_rows(pawl_engine *e, const pawl_id *id, pawl_error *err) {
  const int shard = pawl_shard_of(e, id);

#define DO_PURGE(table) MUST(purge_##table(e, shard, id, err));
  TABLES(DO_PURGE)
  MUST(purge_tasks(e, shard, id, err));
  return purge_itself(e, shard, id, err);
}
