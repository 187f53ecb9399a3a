/* Opening, closing, who may be inside, the ticks, and sleeping between them.
 * What a tick does is in work/rounds.c.
 *
 * One thread is inside at a time, and not twice: handlers and callbacks are
 * called from within, and what they may do is in ctx. A process that forked has
 * a copy of the connection that is not its own: it is told so, and closes
 * nothing that the parent still uses. */
#include "engine.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <unistd.h>

#include "../store/failure.h"
#include "act/act.h"
#include "common/find.h"
#include "common/names.h"
#include "common/time.h"
#include "common/wake.h"
#include "enter/enter.h"
#include "work/aside.h"
#include "work/await.h"
#include "work/breaks.h"
#include "work/budget.h"
#include "work/claim.h"
#include "work/commit.h"
#include "work/durable.h"
#include "work/executors.h"
#include "work/heartbeat.h"
#include "work/offers.h"
#include "work/quota.h"
#include "work/reach.h"
#include "work/refill.h"
#include "work/relay.h"
#include "work/room.h"
#include "work/rounds.h"
#include "work/run.h"
#include "work/told.h"

#define MAX_CONCURRENCY 10000
#define MAX_TENANT 255 /* as a start's, in bytes */
#define PRUNE_IDLE_US (100 * 1000)
#define PRUNE_BUSY_US (20 * 1000)

/* ---- open and close ---- */

/* N7 */
static void *allocate(void *ud, void *ptr, size_t osize, size_t nsize) {
  pawl_engine *e = ud;
  void *block = pawl_realloc(&e->plain, ptr, osize, nsize);
  if (!block && nsize > 0) e->refusals++;
  return block;
}

/* What is out of range is brought back into it: a worker that starts is worth
 * more than one that argues about its batch. */
static void defaults(pawl_config *c) {
  if (!c->group || !c->group[0]) c->group = PAWL_DEFAULT_GROUP;
  if (!c->prefixes) c->prefixes = "";
  if (!c->tenant) c->tenant = "";
  if (!c->retain) c->retain = "";
  if (c->lease_us <= 0) c->lease_us = 30 * PAWL_SECOND;
  if (c->heartbeat_us <= 0) c->heartbeat_us = 10 * PAWL_SECOND;
  if (c->heartbeat_us > c->lease_us / 3) /* one may be lost on the way */
    c->heartbeat_us = c->lease_us / 3;
  if (c->max_bytes <= 0) c->max_bytes = 1000 * 1000;
  if (c->batch <= 0) c->batch = 128;
  if (c->batch > PAWL_MAX_BATCH) c->batch = PAWL_MAX_BATCH;
  if (c->flush_us <= 0) c->flush_us = PAWL_SECOND;
  if (c->concurrency <= 0) c->concurrency = 100;
  if (c->concurrency > MAX_CONCURRENCY) c->concurrency = MAX_CONCURRENCY;
  if (c->recoveries <= 0) c->recoveries = c->recoveries < 0 ? 0 : 5;
  if (c->create == 0) c->create = 1;
  if (c->memory_bytes < 0) c->memory_bytes = 0;
}

/* By which clock handlers wait; NULL: by one that only goes up. */
static pawl_clock_fn passed_of(const pawl_config *c) {
  if (!c->clock || c->passed) return c->clock ? c->passed : NULL;
  return c->clock == pawl_game_clock_now ? pawl_game_clock_passed : c->clock;
}

/* Not those on which it depends who runs what, and when others may. */
static pawl_code check_config(const pawl_config *c, pawl_error *err) {
  if (c->lease_us > PAWL_MAX_LEASE_US)
    return pawl_fail_hint(
        err, PAWL_INVALID,
        "a handler that takes longer than its lease keeps it by "
        "ctx.heartbeat, or by the engine's heartbeat_thread",
        "a lease of %" PRId64 " s is longer than an hour",
        c->lease_us / PAWL_SECOND);
  if (c->prefixes && !c->prefixes[0])
    return pawl_fail_hint(err, PAWL_INVALID,
                          "leave them out to serve all workflows",
                          "`prefixes` names no workflow");
  if (c->durability < PAWL_DURABLE_EVERY || c->durability > PAWL_DURABLE_SAVE)
    return pawl_fail_hint(err, PAWL_INVALID, "it is one of PAWL_DURABLE_...",
                          "there is no `durability` %d", (int)c->durability);
  if (c->tenant && (!c->tenant[0] || strlen(c->tenant) > MAX_TENANT))
    return pawl_fail_hint(err, PAWL_INVALID,
                          "leave it out to see all that there is",
                          "a `tenant` has 1 to %d bytes", MAX_TENANT);
  return PAWL_OK;
}

static pawl_code keep_text(pawl_buf *b, const char **text, pawl_error *err) {
  pawl_buf_addz(b, *text);
  *text = b->at ? b->at : "";
  return pawl_buf_check(b, err);
}

static int init_sent(pawl_engine *e, size_t n) {
  for (int i = 0; i < PAWL_MAX_SUBMITTED; i++) {
    e->sent[i].list =
        pawl_ration_calloc(&e->ration, sizeof *e->sent[i].list * n);
    if (!e->sent[i].list) return 0;
  }
  return 1;
}

static pawl_code init_slots(pawl_engine *e, pawl_error *err) {
  size_t n = (size_t)pawl_held_max(e);
  e->fds = pawl_ration_calloc(&e->ration, sizeof *e->fds * (n + 1));
  e->fd_flights =
      pawl_ration_calloc(&e->ration, sizeof *e->fd_flights * (n + 1));
  e->flights = pawl_ration_calloc(&e->ration,
                                  sizeof *e->flights * (size_t)PAWL_PLACES(e));
  e->base.alloc = &e->alloc;
  e->held = pawl_ration_calloc(&e->ration, sizeof *e->held * n);
  e->order = pawl_ration_calloc(&e->ration, sizeof *e->order * n);
  pawl_run_init_world(e);
  if (!e->held || !e->order || !e->fds || !e->fd_flights || !e->flights ||
      !init_sent(e, n))
    return pawl_fail_memory(err);
  return PAWL_OK;
}

static pawl_code open_parts(pawl_engine *e, const char *url, pawl_error *err) {
  pawl_store_options store = {
      .alloc = &e->alloc,
      .log = &e->log,
      .clock = &e->clock,
      .pooler = e->config.pooler,
      .schema = e->config.schema,
      .create = e->config.create,
      .shards = e->config.shards,
      .busy_us = e->config.busy_us,
      .relaxed = e->config.durability != PAWL_DURABLE_EVERY,
      .sync_thread = e->config.sync_thread,
      .checkpoint_bytes = e->config.checkpoint_bytes,
      .gate = {e->config.commit, e->config.commit_ud},
      .copy = {e->config.copy, e->config.copy_size}};
  pawl_host_options host = {
      .alloc = &e->plain,
      .ration = &e->ration,
      .log = &e->log,
      .lua = e->config.lua,
      .max_bytes = (size_t)e->config.max_bytes,
      .interrupted = e->config.never_stop ? NULL : &e->interrupted,
      .seed = e->config.seed,
      .start = &pawl_options_of_start};

  MUST(keep_text(&e->group, &e->config.group, err));
  MUST(keep_text(&e->prefixes, &e->config.prefixes, err));
  MUST(keep_text(&e->tenant, &e->config.tenant, err));
  if (e->config.schema) MUST(keep_text(&e->schema, &e->config.schema, err));
  MUST(keep_text(&e->retain, &e->config.retain, err));
  MUST(pawl_prune_check(e, err));
  MUST(pawl_trust_read(&e->trust, e->config.trust, &e->alloc, err));
  e->config.trust = NULL; /* the caller's text */
  MUST(init_slots(e, err));
  MUST(pawl_store_open(url, &store, &e->store, err));
  e->config.copy = NULL; /* the caller's bytes */
  MUST(pawl_trust_check_tables(&e->trust,
                               pawl_store_can_hold_to_tables(e->store), err));
  e->nshards = pawl_store_shards(e->store);
  e->sql_limit_us = pawl_store_open_limit(e->store);
  MUST(pawl_registry_new(&e->alloc, &e->registry, err));
  MUST(pawl_host_open(&host, &e->host, err));
  MUST(pawl_id_make(&e->ids, pawl_clock_now(&e->clock), &e->executor, err));
  pawl_id_format(&e->executor, e->executor_text);
  memcpy(&e->random, e->executor.bytes + 8, sizeof e->random);
  e->random |= 1;
  e->next_shard = (int)(e->random % (uint64_t)e->nshards);
  MUST(pawl_claim_clock(e, err));
  MUST(pawl_wake_open(e, url, err));
  if (e->config.heartbeat_thread)
    MUST(pawl_heartbeat_open(e, url ? url : "pawl.db", &e->heartbeat, err));
  return PAWL_OK;
}

/* Closing takes apart whatever has been put together so far: one way out. */
pawl_code pawl_engine_open(const char *url, const pawl_config *config,
                           pawl_engine **out, pawl_error *err) {
  pawl_alloc alloc = {0};
  pawl_code rc = PAWL_OK;
  pawl_engine *e;

  if (config) {
    MUST(check_config(config, err));
    alloc.fn = config->alloc;
    alloc.ud = config->alloc_ud;
  }
  e = pawl_calloc(&alloc, sizeof *e);
  if (!e) return pawl_fail_memory(err);
  if (config) e->config = *config;
  defaults(&e->config);
  e->given = e->ration.of = alloc;
  e->ration.limit = e->config.memory_bytes;
  e->ration.used = e->ration.peak = (int64_t)sizeof *e;
  e->plain = pawl_ration_alloc(&e->ration);
  e->alloc.fn = allocate;
  e->alloc.ud = e;
  e->log.fn = e->config.log;
  e->log.ud = e->config.log_ud;
  e->clock.fn = e->config.clock;
  e->passed.fn = passed_of(&e->config);
  e->clock.ud = e->passed.ud = e->config.clock_ud;
  e->group.alloc = e->prefixes.alloc = &e->alloc;
  e->tenant.alloc = e->schema.alloc = e->retain.alloc = &e->alloc;
  e->store_name.alloc = &e->alloc;
  e->after_held.events.alloc = e->after_held.asked.alloc = &e->alloc;
  e->after_held.filed.alloc = e->after_held.levels.alloc = &e->alloc;
  e->assigned.names.alloc = e->assigned.rest.alloc = &e->alloc;
  e->pid = getpid();
  e->next_due_us = PAWL_NEVER;
  e->most = e->config.batch;
  e->ids.seed = (uint64_t)e->config.seed;
  pawl_args_init(&e->args, &e->alloc);
  pawl_said_init(&e->result, &e->plain);
  pawl_process_self(&e->self);
  TRY(open_parts(e, url, err));
  *out = e;
  e = NULL;
out:
  if (e && err) rc = pawl_engine_tell_memory(e, rc, err);
  pawl_engine_close(e);
  return rc;
}

/* Goodbye: what is not begun goes back, our row says that we stopped. */
static void say_goodbye(pawl_engine *e) {
  pawl_error err;
  pawl_code rc = PAWL_OK;

  pawl_aside_undone(e);
  pawl_await_abandon_all(e);
  TRY(pawl_commit_all(e, &err));
  TRY(pawl_aside_give_back(e, NULL, 0, &err));
  TRY(pawl_claim_release(e, &err));
  TRY(pawl_claim_settle(e, &err));
  if (e->registered) TRY(pawl_executor_stop(e, &err));
out:
  if (rc != PAWL_OK) pawl_log_error(&e->log, PAWL_WARN, "closing", &err);
  rc = pawl_store_save(e->store, &err); /* who closes wants it kept */
  if (rc != PAWL_OK) pawl_log_error(&e->log, PAWL_ERROR, "closing", &err);
}

pawl_code pawl_engine_close(pawl_engine *e) {
  if (!e) return PAWL_OK;
  if (e->pid == getpid() && (pawl_wake_is_telling(e) || e->inside))
    return PAWL_MISUSE;
  e->inside = 1; /* what is told while it closes may not come back in */
  int ours = e->pid == getpid();
  pawl_alloc alloc = e->plain, given = e->given;
  size_t slots = (size_t)pawl_held_max(e);

  pawl_wake_close(e, ours); /* what closing leaves is not ours to run */
  if (ours) pawl_heartbeat_close(e->heartbeat);
  e->heartbeat = NULL; /* what is decided again below runs without it */
  if (ours && e->store) pawl_store_call(e->store);
  if (ours && e->store) pawl_store_take_back(e->store);
  while (ours && e->store && pawl_store_held(e->store))
    pawl_store_held_rollback(e->store);
  if (ours && e->store && e->host && (e->nheld || e->registered))
    say_goodbye(e);
  pawl_relay_close(e, ours);
  pawl_host_close(e->host);
  e->host = NULL; /* what is asked while the rest goes finds nothing */
  pawl_registry_free(e->registry);
  pawl_store *store = e->store;
  e->store = NULL;
  pawl_store_close(store);
  pawl_held_close(e);
  pawl_release(&alloc, e->order, sizeof *e->order * slots);
  pawl_release(&alloc, e->fds, sizeof *e->fds * (slots + 1));
  pawl_release(&alloc, e->fd_flights, sizeof *e->fd_flights * (slots + 1));
  pawl_release(&alloc, e->flights,
               sizeof *e->flights * (size_t)PAWL_PLACES(e));
  pawl_buf_deinit(&e->base);
  for (int i = 0; i < PAWL_MAX_SUBMITTED; i++)
    pawl_release(&alloc, e->sent[i].list, sizeof *e->sent[i].list * slots);
  pawl_breaks_forget(e);
  pawl_offers_forget(e);
  pawl_release(&e->alloc, e->offers,
               sizeof *e->offers * (size_t)e->offers_cap);
  pawl_quota_close(e);
  pawl_told_deinit(&e->told);
  pawl_buf_deinit(&e->after_held.events);
  pawl_buf_deinit(&e->after_held.asked);
  pawl_buf_deinit(&e->after_held.filed);
  pawl_buf_deinit(&e->after_held.levels);
  pawl_buf_deinit(&e->assigned.names);
  pawl_buf_deinit(&e->assigned.rest);
  pawl_buf_deinit(&e->group);
  pawl_buf_deinit(&e->tenant);
  pawl_buf_deinit(&e->prefixes);
  pawl_buf_deinit(&e->schema);
  pawl_buf_deinit(&e->retain);
  pawl_trust_deinit(&e->trust);
  pawl_engine_forget_names(e);
  pawl_args_deinit(&e->args);
  pawl_said_deinit(&e->result);
  pawl_release(&given, e, sizeof *e);
  return PAWL_OK;
}

/* ---- inside ---- */

pawl_code pawl_engine_enter(pawl_engine *e, pawl_error *err) {
  if (!e) return pawl_fail(err, PAWL_MISUSE, "no engine was given");
  if (e->pid != getpid())
    return pawl_fail(err, PAWL_MISUSE,
                     "this engine was opened before fork(): "
                     "open another one in the child");
  if (pawl_wake_is_telling(e) || e->inside || pawl_host_is_busy(e->host))
    return pawl_fail_hint(
        err, PAWL_MISUSE,
        "what a handler may do is in ctx; a callback may only note what it "
        "was told",
        "an engine cannot be called from inside one of its own handlers or "
        "callbacks");
  e->inside = 1;
  pawl_store_call(e->store);
  pawl_store_take_back(e->store);
  pawl_aside_undone(e);
  pawl_room_enter(e);
  return PAWL_OK;
}

/* Counted, as the clock that is asked in there may come back in. */
void pawl_engine_go_in(pawl_engine *e) {
  assert(e->inside >= 0);
  e->inside++;
}

void pawl_engine_leave(pawl_engine *e) {
  assert(e->inside > 0);
  if (--e->inside == 0 && e->store) pawl_store_give_away(e->store);
}

/* Nobody had made its schema before. */
int pawl_engine_is_new(const pawl_engine *e) {
  int from = -1, to;

  if (e->store) pawl_store_versions(e->store, &from, &to);
  return from == 0;
}

void pawl_engine_executor_id(const pawl_engine *e, char out[37]) {
  memcpy(out, e->executor_text, sizeof e->executor_text);
}

const pawl_alloc *pawl_engine_alloc(pawl_engine *e) {
  return &e->plain;
}

const pawl_alloc *pawl_engine_given(pawl_engine *e) {
  return &e->given;
}

/* From a signal's handler, too: a flag is all that is set. */
void pawl_engine_interrupt(pawl_engine *e) {
  e->interrupted = e->interrupted ? 2 : 1; /* said once more: for a load */
}

/* ---- ticks ---- */

pawl_code pawl_engine_give_back(pawl_engine *e, pawl_error *err) {
  if (pawl_store_held(e->store)) { /* no tick goes on before it is over */
    e->after_held.give_back = 1;
    return PAWL_OK;
  }
  e->quiet = 0;
  return pawl_aside_give_back(e, NULL, 0, err);
}

/* A piece of pruning, longer where nothing else is to be done. */
static pawl_code prune(pawl_engine *e, const pawl_tick_stats *stats,
                       pawl_error *err) {
  int idle = !stats->claimed && !stats->steps && !e->nheld;
  return pawl_engine_prune_piece(e, idle ? PRUNE_IDLE_US : PRUNE_BUSY_US, err);
}

/* What others have left: children that have to end with their parents; and what
 * is past its time. */
static pawl_code keep_house(pawl_engine *e, pawl_tick_stats *stats,
                            pawl_error *err) {
  const pawl_spent was = pawl_budget_spend(e, PAWL_SPENT_KEEP);
  int more = 0;
  pawl_code rc = pawl_reach(e, &more, err);

  if (more) stats->next_due_us = 0;
  if (rc == PAWL_OK) rc = prune(e, stats, err);
  (void)pawl_budget_spend(e, was);
  return rc;
}

/* ---- what has not reached the disk ---- */

/* May its commits be one transaction with those of the ticks before and after?
 * Where many are so short that each has few of them; a helper thread that keeps
 * leases would wait for it. */
static int may_group(const pawl_engine *e) {
  return e->config.durability != PAWL_DURABLE_EVERY && e->budget.is_short &&
         !e->heartbeat;
}

static pawl_code flush_due(pawl_engine *e, pawl_error *err) {
  const pawl_unsaved *u = pawl_store_unsaved(e->store);

  MUST(pawl_durable_look(e, err));
  MUST(pawl_durable_stored(e, err)); /* it may have failed then */
  if (pawl_durable_is_due(e)) return pawl_durable_flush(e, err);
  if (u->unwritten &&
      pawl_clock_mono() - u->group_mono_us >= e->config.flush_us)
    return pawl_store_settle(e->store, err);
  return pawl_store_settle_due(e->store, err);
}

/* Commits count as grouped by when they were made: the next one may be far. */
static pawl_code flush(pawl_engine *e, pawl_error *err) {
  if (!pawl_store_unsaved(e->store)->commits) return PAWL_OK;
  const pawl_spent was = pawl_budget_spend(e, PAWL_SPENT_COMMIT);
  const pawl_code rc = flush_due(e, err);
  (void)pawl_budget_spend(e, was);
  return rc;
}

pawl_code pawl_engine_save(pawl_engine *e, pawl_error *err) {
  MUST(pawl_pipeline_drain(e, err));
  return pawl_durable_save(e, err);
}

/* Rounds first, then the house. */
static pawl_code tick(pawl_engine *e, int64_t budget_us,
                      pawl_tick_stats *stats, pawl_error *err) {
  pawl_error second;
  pawl_code rc = PAWL_OK, flushed;

  TRY(pawl_rounds_begin(e, budget_us, stats, err));
  TRY(pawl_room_begin(e, err));
  if (!may_group(e)) TRY(pawl_store_settle(e->store, err));
  pawl_store_group(e->store, may_group(e));
  TRY(pawl_aside_take(e, err));
  e->timer_mono_us = 0; /* whatever has come since the last tick fires in it */
  TRY(pawl_rounds_run(e, budget_us <= 0, PAWL_CLAIMING | PAWL_RESUMING, err));
  if (budget_us > 0) pawl_aside_put(e);
out:
  rc = pawl_rounds_end(e, rc, err);
  e->interrupted = 0;
  if (pawl_refill_is_due(e) || e->deliver_more) stats->next_due_us = 0;
  if (rc == PAWL_OK) rc = keep_house(e, stats, err);
  pawl_store_group(e->store, 0);
  flushed = flush(e, rc == PAWL_OK ? err : &second);
  if (rc == PAWL_OK) rc = flushed;
  pawl_budget_tell(e, stats);
  return rc;
}

/* By when it is not to wait for others who hold the file; 0: as any call, where
 * the program has said for how long, or the tick has no end. */
static int64_t waits_until(const pawl_engine *e, int64_t budget_us) {
  const int64_t mono = pawl_clock_mono();

  if (e->config.busy_us || budget_us <= 0 || budget_us >= PAWL_NEVER - mono)
    return 0;
  return mono + budget_us;
}

/* Others hold the file; else a unit is to be tried again for other reasons. */
static int is_held(const pawl_error *err) {
  return !strcmp(err->sqlstate, "55P03");
}

/* What a tick has not done is the next one's, so this is no failure before the
 * file was held, from tick to tick, for as long as another call waits. */
static int may_go_on_later(pawl_engine *e) {
  const int64_t mono = pawl_clock_mono();

  if (!e->held_off_mono_us) e->held_off_mono_us = mono;
  return mono - e->held_off_mono_us < PAWL_BUSY_US;
}

pawl_code pawl_engine_tick(pawl_engine *e, int64_t budget_us,
                           pawl_tick_stats *stats, pawl_error *err) {
  pawl_tick_stats own;
  const int64_t until = waits_until(e, budget_us);
  pawl_error spare;

  assert(e->inside); /* pawl_engine_enter's */
  if (!stats) stats = &own;
  if (!err) err = &spare;
  pawl_store_until(e->store, until);
  pawl_code rc = tick(e, budget_us, stats, err);
  pawl_store_until(e->store, 0);
  if (rc != PAWL_BUSY) e->held_off_mono_us = 0;
  if (rc != PAWL_BUSY || !until || !is_held(err) || !may_go_on_later(e))
    return rc;
  memset(err, 0, sizeof *err);
  stats->next_due_us = 0; /* what it was about is to be tried again */
  return PAWL_OK;
}

/* One that was not held, and is on no agenda, has ended or never was. */
static pawl_code check_there(pawl_engine *e, const pawl_id *id,
                             pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_READ(e->store, instance_settle, &rows, err,
                 .shard = pawl_shard_of(e, id), .id = id));
  return rows.nrows ? PAWL_OK
                    : pawl_instance_absent(
                          e, id, pawl_instance_missing(id, err), err);
}

/* What keeps an instance that could not be claimed. */
static pawl_code why_not(pawl_engine *e, const pawl_id *id, int got,
                         const char **status, pawl_error *err) {
  pawl_rows rows;
  int64_t due, now;

  MUST(PAWL_READ(e->store, agenda_get, &rows, err,
                 .shard = pawl_shard_of(e, id), .id = id,
                 .now = pawl_store_now(e->store)));
  *status = "done";
  e->next_due_us = PAWL_NEVER;
  if (rows.nrows == 0) return got ? PAWL_OK : check_there(e, id, err);
  const pawl_agenda_get_row row = pawl_read_agenda_get(&rows, 0);
  due = row.due_at;
  now = row.now;
  e->next_due_us = due;
  if (row.ready || due <= now)
    *status = "now";
  else if (row.lease)
    *status = "leased";
  else
    *status = "later";
  return PAWL_OK;
}

/* The others are not touched, and what is known of them is put back as it was.
 * */
pawl_code pawl_engine_tick_one(pawl_engine *e, const pawl_id *id,
                               int64_t budget_us, pawl_tick_stats *stats,
                               const char **status, pawl_error *err) {
  pawl_tick_stats own;
  const char *text = "now";
  const pawl_held *h;
  pawl_code rc = PAWL_OK;
  int got = 0, fresh = e->fresh_ready, suspect = e->suspect_ready;
  int suspended = 0, held_up = e->held_up, kept_out = e->kept_out;

  if (!stats) stats = &own;
  TRY(pawl_rounds_begin(e, budget_us, stats, err));
  TRY(pawl_commit_all(e, err));
  TRY(pawl_aside_give_back(e, id, 1, err));
  h = pawl_held_find(e, id, NULL); /* its handler waits */
  if (h)
    got = 1;
  else
    TRY(pawl_claim_one(e, id, &got, err));
  h = got ? pawl_held_ready(e, id) : NULL;
  suspended = h && h->d.turn == PAWL_TURN_LETTERS;
  if (got)
    TRY(pawl_rounds_run(e, suspended || budget_us <= 0, PAWL_RESUMING, err));
  TRY(pawl_claim_release(e, err));
  TRY(why_not(e, id, got, &text, err));
  if (pawl_held_find(e, id, NULL)) text = "later"; /* it still does */
  if (suspended && !strcmp(text, "now")) { /* its workflow may be resumed */
    text = "later";
    e->next_due_us = pawl_engine_now(e) + PAWL_SECOND;
  }
  if (status) *status = text;
  /* the others are not meant here */
  e->fresh_ready = e->suspect_ready = e->held_up = e->kept_out = 0;
out:
  rc = pawl_rounds_end(e, rc, err);
  e->interrupted = 0;
  if (!strcmp(text, "now")) stats->next_due_us = 0;
  pawl_budget_tell(e, stats);
  e->quiet = 0; /* what is due next was this one's */
  e->fresh_ready = fresh;
  e->suspect_ready = suspect;
  e->held_up = held_up;
  e->kept_out = kept_out;
  return rc;
}

/* ---- between them ---- */

/* Looks first: what others have started since may be due before all that is
 * known here. What is due, and was not made ready, is for a tick to do. */
pawl_code pawl_engine_next_due(pawl_engine *e, int64_t *due_us,
                               pawl_error *err) {
  MUST(pawl_claim_peek(e, err));
  const int64_t next = pawl_rounds_next(e);
  *due_us = next <= pawl_engine_now(e) || e->deliver_more ? 0 : next;
  return PAWL_OK;
}

/* Wake-ups are not sent for everything: what came just behind one is found by
 * looking again when it must have been committed. So each that is taken, also
 * at the last moment, puts that look off, and only its time ends it. */
static int64_t wait_until(const pawl_engine *e, int64_t mono, int64_t wait) {
  int64_t until = wait > PAWL_NEVER - mono ? PAWL_NEVER : mono + wait;

  if (!e->relook_mono_us || until < e->relook_mono_us) return until;
  return e->relook_mono_us;
}

/* What the next tick is to do after a sleep that was meant to last so long. */
static void after_wait(pawl_engine *e, int64_t until, int woken) {
  int64_t mono = pawl_clock_mono();

  if (mono >= e->relook_mono_us) e->relook_mono_us = 0;
  if (mono >= until) e->look_mono_us = 0; /* something may have come */
  if (woken) {
    e->relook_mono_us = mono + 2 * PAWL_WAKE_EVERY_US;
    e->woken = 1;
  }
}

pawl_code pawl_engine_wait(pawl_engine *e, int64_t for_us, pawl_error *err) {
  const int64_t now = pawl_engine_now(e), next = pawl_await_next(e);
  const int64_t until_us = pawl_time_after(now, for_us > 0 ? for_us : 0);
  int n = pawl_await_fds(e), woken = 0;

  MUST(pawl_aside_give_back(e, NULL, 0, err)); /* while it sleeps others run */
  MUST(pawl_store_settle(e->store, err));
  int64_t wait = (next < until_us ? next : until_us);
  wait = wait < 0 ? 0 : wait - now;
  if (wait <= 0 && for_us > 0) return PAWL_OK;
  if (wait < 0) wait = 0;
  if (e->interrupted) { /* before it slept */
    e->interrupted = 0;
    return PAWL_OK;
  }
  if (!e->nwaiting) pawl_store_tidy(e->store);
  int64_t until = wait_until(e, pawl_clock_mono(), wait);
  pawl_code rc = pawl_store_wait(e->store, until, &e->interrupted, e->fds, n,
                                 &woken, err);
  e->interrupted = 0;
  after_wait(e, until, woken);
  if (woken && e->config.wake) e->config.wake(e->config.wake_ud);
  return rc;
}

pawl_code pawl_engine_fd(pawl_engine *e, int *fd, pawl_error *err) {
  return pawl_store_fd(e->store, fd, err);
}

pawl_code pawl_engine_lend(pawl_engine *e, const char *name,
                           pawl_function_fn fn, void *ud,
                           void (*destroy)(void *ud), pawl_error *err) {
  return pawl_host_lend(e->host, name, fn, ud, destroy, err);
}

void pawl_engine_count(const pawl_engine *e, pawl_counts *out) {
  if (e->store) pawl_store_count(e->store, out);
}

pawl_code pawl_engine_tell_memory(const pawl_engine *e, pawl_code rc,
                                  pawl_error *err) {
  const int was_given_up = pawl_failure_is_short(rc, err);
  char also[120];

  rc = pawl_failure_outside(rc, err);
  if (rc != PAWL_NOMEM || !e->ration.limit) return rc;
  if (err->hint[0] && !was_given_up) return rc;
  pawl_copy_text(also, sizeof also, err->hint);
  pawl_error_hint(err,
                  "its memory_bytes is %" PRId64 ", and %" PRId64
                  " were used at the most%s%s",
                  e->ration.limit, e->ration.peak, also[0] ? "; " : "", also);
  return rc;
}

void pawl_engine_memory(const pawl_engine *e, pawl_memory_use *out) {
  out->used = e->ration.used;
  out->peak = e->ration.peak;
  out->limit = e->ration.limit;
  out->refused = e->ration.refused;
  if (e->store) out->store = pawl_store_memory(e->store);
}
