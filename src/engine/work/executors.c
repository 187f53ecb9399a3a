/* Executors: who works on this store, and what the dead have left. */
#include "executors.h"

#include <stddef.h>

#include "../common/chore.h"
#include "../common/time.h"
#include "../enter/assign.h"
#include "../enter/enter.h"
#include "quota.h"

#define RECOVER_EVERY_US (10 * PAWL_SECOND)
#define TIDY_EVERY_US (10 * PAWL_SECOND) /* events left behind, expired */
#define PAGE 1000                        /* rows of the agenda */
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

/* *more: there may be more in this shard. */
static pawl_code free_orphans(pawl_engine *e, const pawl_id *executor,
                              int shard, int max, int *more, pawl_error *err) {
  const int64_t began = pawl_clock_mono();
  pawl_rows rows;

  MUST(PAWL_WRITE(e->store, agenda_orphan, &rows, err, .shard = shard,
                  .executor = executor, .horizon_us = PAWL_MAX_LEASE_US,
                  .now = pawl_store_now(e->store), .max = max));
  *more = rows.changed == max;
  (void)pawl_chore_took(e, &e->orphans.cost, (int)rows.changed, began);
  return PAWL_OK;
}

/* A neighbour has gone without goodbye: what it held is due now. *put_off: not
 * all of it yet. */
static pawl_code recover(pawl_engine *e, const pawl_id *executor, int *put_off,
                         pawl_error *err) {
  for (int s = 0; s < e->nshards; s++) {
    for (int more = 1, rounds = 0; more && rounds < 1000; rounds++) {
      const int max = pawl_chore_rows(e, &e->orphans, PAGE);
      *put_off = !max;
      if (*put_off) return PAWL_OK;
      MUST(free_orphans(e, executor, s, max, &more, err));
    }
  }
  return PAWL_WRITE(e->store, executor_recovered, NULL, err, .id = executor,
                    .now = pawl_store_now(e->store));
}

/* Rule 10: leases of processes of this host that are gone end at once, or as
 * soon as there is time for all of them. */
static pawl_code recover_neighbours(pawl_engine *e, int *put_off,
                                    pawl_error *err) {
  pawl_buf keep = {.alloc = &e->alloc};
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  if (!e->self.boot[0]) return PAWL_OK;
  TRY(PAWL_READ(
      e->store, executor_local, &rows, err, .host = pawl_strz(e->self.host),
      .boot = pawl_strz(e->self.boot), .space = pawl_strz(e->self.space)));
  TRY(PAWL_KEEP(executor_local, &rows, &keep, err));
  for (int k = 0, n = rows.nrows; k < n && !*put_off; k++) {
    const pawl_executor_local_row *row = &PAWL_KEPT(executor_local, &keep)[k];
    pawl_process other = e->self;
    other.pid = row->pid;
    other.begun = row->begun;
    if (pawl_process_is_gone(&e->self, &other))
      TRY(recover(e, row->id, put_off, err));
  }
out:
  pawl_buf_deinit(&keep);
  return rc;
}

/* Counters that commits have written one behind the other are one again. Those
 * that are different stay: it is done when there are many more than those. */
static pawl_code fold_counters(pawl_engine *e, int shard, int max, int *did,
                               pawl_error *err) {
  pawl_rows rows;
  int64_t kept = 0;

  MUST(PAWL_WRITE(e->store, counter_fold, &rows, err, .shard = shard,
                  .before = pawl_engine_now(e) - PAWL_COUNTED_US,
                  .least = FOLD_LEAST + 2 * e->counters_kept, .max = max));
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_counter_fold_row row = pawl_read_counter_fold(&rows, k);
    kept += row.kept;
    *did += (int)row.folded;
  }
  if (kept) e->counters_kept = kept;
  return PAWL_OK;
}

/* Who waited, and has gone without being told. */
static pawl_code forget_waiters(pawl_engine *e, int shard, int max, int *did,
                                pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_WRITE(e->store, waiter_prune, &rows, err, .shard = shard,
                  .now = pawl_store_now(e->store), .max = max));
  *did = (int)rows.changed;
  return PAWL_OK;
}

/* What is tidied up, of each shard one behind the other. */
static const struct {
  size_t chore;
  int most;
  pawl_code (*tidy)(pawl_engine *e, int shard, int max, int *did,
                    pawl_error *err);
} tidied[] = {
    {offsetof(pawl_engine, events), PAWL_TIDY_MOST, pawl_signal_tidy},
    {offsetof(pawl_engine, counters), FOLD_MOST, fold_counters},
    {offsetof(pawl_engine, waiters), PAGE, forget_waiters}};
enum { NTIDIED = sizeof tidied / sizeof *tidied };

/* As far as there is time; the next tick goes on. What takes as much as it may
 * at the most comes again with the next time. */
static pawl_code tidy_some(pawl_engine *e, pawl_error *err) {
  while (e->tidy_at < NTIDIED * e->nshards) {
    const int i = e->tidy_at % NTIDIED;
    pawl_chore *chore = (pawl_chore *)(void *)((char *)e + tidied[i].chore);
    const int max = pawl_chore_rows(e, chore, tidied[i].most);
    const int64_t began = pawl_clock_mono();
    int did = 0;
    if (!max) return PAWL_OK;
    MUST(tidied[i].tidy(e, e->tidy_at / NTIDIED, max, &did, err));
    (void)pawl_chore_took(e, &chore->cost, did, began);
    if (did < max || max == tidied[i].most) e->tidy_at++;
  }
  e->tidy_at = 0;
  e->tidy_mono_us = pawl_clock_mono() + TIDY_EVERY_US;
  return pawl_quota_tidy(e, err);
}

/* As many events as there is time for are told to others, too. */
static pawl_code assign_some(pawl_engine *e, pawl_error *err) {
  const int max = pawl_chore_rows(e, &e->assigning, PAWL_ASSIGN_MOST);
  const int64_t began = pawl_clock_mono();
  int did = 0;

  if (!max) return PAWL_OK;
  MUST(pawl_assign_again(e, max, &did, err));
  (void)pawl_chore_took(e, &e->assigning.cost, did, began);
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
    int put_off = 0;
    MUST(recover_neighbours(e, &put_off, err));
    if (!put_off) e->recover_mono_us = mono + RECOVER_EVERY_US;
  }
  if (mono >= e->tidy_mono_us) MUST(tidy_some(e, err));
  return pawl_assign_is_due(e) ? assign_some(e, err) : PAWL_OK;
}

pawl_code pawl_executor_stop(pawl_engine *e, pawl_error *err) {
  const pawl_executor_stop_args row = {.id = &e->executor,
                                       .now = pawl_store_now(e->store)};
  return pawl_store_once_one(e->store, PAWL_UNIT_SOON, PAWL_STMT_executor_stop,
                             &row, NULL, err);
}
