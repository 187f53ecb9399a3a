/* Executors: who works on this store, and what the dead have left. */
#include "executors.h"

#include "../common/time.h"
#include "../enter/enter.h"
#include "quota.h"

#define RECOVER_EVERY_US (10 * PAWL_SECOND)
#define TIDY_EVERY_US (10 * PAWL_SECOND)    /* events left behind, expired */
#define PAGE 1000                           /* rows of the agenda */
#define ANSWER_US (24 * 3600 * PAWL_SECOND) /* as events are known */
#define FOLD_LEAST 1000 /* of counters: fewer are read as fast as one */
#define FOLD_MOST 50000

/* Our row comes, on disk before the first claim; those of processes long gone
 * go. Has the machine gone down under another one? */
static pawl_code register_executor(pawl_engine *e, pawl_error *err) {
  pawl_rows rows;
  int fallen;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(PAWL_SEND(
      e->store, executor_insert, NULL, err, .id = &e->executor,
      .host = pawl_strz(e->self.host), .boot = pawl_strz(e->self.boot),
      .space = pawl_strz(e->self.space), .pid = e->self.pid,
      .begun = e->self.begun, .executor_group = pawl_strz(e->config.group),
      .ttl_us = 3 * e->config.heartbeat_us, .now = pawl_store_now(e->store)));
  TRY(PAWL_SEND(e->store, executor_prune, NULL, err,
                .before = pawl_engine_now(e) - 7 * 24 * 3600 * PAWL_SECOND,
                .max = 100));
  TRY(PAWL_SEND(e->store, executor_fallen, &fallen, err,
                .boot = pawl_strz(e->self.boot)));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, fallen, &rows);
  e->careful = rows.nrows > 0 || !e->self.boot[0]; /* or nobody can tell */
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

static pawl_code beat(pawl_engine *e, pawl_error *err) {
  return PAWL_WRITE(e->store, executor_beat, NULL, err, .id = &e->executor,
                    .ttl_us = 3 * e->config.heartbeat_us,
                    .now = pawl_store_now(e->store));
}

/* A neighbour has gone without goodbye: what it held is due now. */
static pawl_code recover(pawl_engine *e, const pawl_id *executor,
                         pawl_error *err) {
  pawl_rows rows;

  for (int s = 0; s < e->nshards; s++) {
    for (int more = 1, rounds = 0; more && rounds < 1000; rounds++) {
      MUST(PAWL_WRITE(e->store, agenda_orphan, &rows, err, .shard = s,
                      .executor = executor, .horizon_us = PAWL_MAX_LEASE_US,
                      .now = pawl_store_now(e->store), .max = PAGE));
      more = rows.changed == PAGE;
    }
  }
  return PAWL_WRITE(e->store, executor_recovered, NULL, err, .id = executor,
                    .now = pawl_store_now(e->store));
}

/* Rule 10: leases of processes of this host that are gone end at once. */
static pawl_code recover_neighbours(pawl_engine *e, pawl_error *err) {
  pawl_buf keep = {.alloc = &e->alloc};
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  if (!e->self.boot[0]) return PAWL_OK;
  TRY(PAWL_READ(
      e->store, executor_local, &rows, err, .host = pawl_strz(e->self.host),
      .boot = pawl_strz(e->self.boot), .space = pawl_strz(e->self.space)));
  TRY(PAWL_KEEP(executor_local, &rows, &keep, err));
  for (int k = 0, n = rows.nrows; k < n; k++) {
    const pawl_executor_local_row *row = &PAWL_KEPT(executor_local, &keep)[k];
    pawl_process other = e->self;
    other.pid = row->pid;
    other.begun = row->begun;
    if (pawl_process_is_gone(&e->self, &other)) TRY(recover(e, row->id, err));
  }
out:
  pawl_buf_deinit(&keep);
  return rc;
}

/* Counters that commits have written one behind the other are one again. Those
 * that are different stay: it is done when there are many more than those. */
static pawl_code fold_counters(pawl_engine *e, pawl_error *err) {
  pawl_rows rows;

  for (int s = 0; s < e->nshards; s++) {
    MUST(PAWL_WRITE(e->store, counter_fold, &rows, err, .shard = s,
                    .before = pawl_engine_now(e) - PAWL_COUNTED_US,
                    .least = FOLD_LEAST + 2 * e->counters_kept,
                    .max = FOLD_MOST));
    if (!rows.nrows) continue;
    const int64_t kept = pawl_read_counter_fold(&rows, 0).kept;
    if (kept) e->counters_kept = kept;
  }
  return PAWL_OK;
}

/* Who waited and has gone without being told, and answers of long ago. */
static pawl_code tidy_waiters(pawl_engine *e, pawl_error *err) {
  for (int s = 0; s < e->nshards; s++) {
    MUST(PAWL_WRITE(e->store, waiter_prune, NULL, err, .shard = s,
                    .now = pawl_store_now(e->store), .max = PAGE));
    MUST(PAWL_WRITE(e->store, published_prune, NULL, err, .shard = s,
                    .before = pawl_engine_now(e) - ANSWER_US, .max = PAGE));
  }
  return PAWL_OK;
}

/* The first look for neighbours comes with the first tick: whoever is started
 * again after a crash frees what that left behind. Their times are kept by a
 * clock that only goes up. */
pawl_code pawl_executor_housekeep(pawl_engine *e, pawl_error *err) {
  int64_t mono = pawl_clock_mono();

  if (!e->registered) {
    MUST(register_executor(e, err));
    e->registered = 1;
    e->beat_mono_us = mono + e->config.heartbeat_us;
    e->recover_mono_us = 0;
  }
  if (mono >= e->beat_mono_us) {
    MUST(beat(e, err));
    e->beat_mono_us = mono + e->config.heartbeat_us;
  }
  if (mono >= e->recover_mono_us) {
    MUST(recover_neighbours(e, err));
    e->recover_mono_us = mono + RECOVER_EVERY_US;
  }
  if (mono >= e->tidy_mono_us) {
    e->tidy_mono_us = mono + TIDY_EVERY_US;
    MUST(pawl_signal_tidy(e, err));
    MUST(tidy_waiters(e, err));
    MUST(fold_counters(e, err));
    MUST(pawl_quota_tidy(e, err));
  }
  return PAWL_OK;
}

pawl_code pawl_executor_stop(pawl_engine *e, pawl_error *err) {
  const pawl_executor_stop_args row = {.id = &e->executor,
                                       .now = pawl_store_now(e->store)};
  return pawl_store_once_one(e->store, PAWL_UNIT_SOON, PAWL_STMT_executor_stop,
                             &row, NULL, err);
}
