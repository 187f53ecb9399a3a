/* Opening, closing, and the tick: claim -> load -> run -> decide -> commit.
 *
 * Held instances go round together: each runs one step, all are committed in
 * one transaction, those still active go round again. Between rounds free
 * slots are filled. Results wait for their commit no longer than FLUSH_US. */
#include "engine.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <unistd.h>

#include "../base/fault.h"
#include "act/act.h"
#include "common/pipeline.h"
#include "internal.h"
#include "work/heartbeat.h"
#include "work/reach.h"
#include "work/spin.h"
#include "work/told.h"

#define FLUSH_US (50 * 1000)
#define TAKES_MAX 100   /* decisions of one visit to an inbox */
#define ROLLBACKS_MAX 5 /* times that a step is undone by the store */
#define SQLITE_SQL_LIMIT_US PAWL_SECOND
#define POSTGRES_SQL_LIMIT_US (10 * PAWL_SECOND)

/* ---- time and chance ---- */

int64_t pawl_engine_now(pawl_engine *e) {
  return pawl_clock_now(&e->clock) + e->clock_offset_us;
}

void pawl_engine_executor(const pawl_engine *e, char out[37]) {
  pawl_id_format(&e->executor, out);
}

double pawl_engine_random(pawl_engine *e) {
  e->random ^= e->random << 13; /* xorshift64: jitter, nothing secret */
  e->random ^= e->random >> 7;
  e->random ^= e->random << 17;
  return (double)(e->random >> 11) / 9007199254740992.0;
}

/* Which attempt it is of the token that runs; others may stand at its node. */
static int64_t attempt_at(const pawl_held *h, const char *node) {
  for (int k = 0; node && k < h->tokens.n; k++)
    if (h->tokens.at[k].no == h->running_token && h->tokens.at[k].node &&
        !strcmp(h->tokens.at[k].node, node))
      return h->tokens.at[k].attempt + 1;
  return 1;
}

void pawl_engine_trace(pawl_engine *e, const pawl_held *h, const char *node,
                       const char *kind, int64_t elapsed_us,
                       const char *outcome, const char *detail,
                       int64_t due_us) {
  if (!e->config.trace) return;
  pawl_trace t = {.instance = h->id_text,
                  .workflow = h->workflow.at,
                  .node = node,
                  .kind = kind,
                  .attempt = attempt_at(h, node),
                  .at_us = pawl_engine_now(e),
                  .elapsed_us = elapsed_us,
                  .outcome = outcome,
                  .ended = outcome && h->plan.after == PAWL_AFTER_END
                               ? pawl_status_name(h->plan.status)
                               : NULL,
                  .detail = detail,
                  .due_us = due_us};
  pawl_told_say(e, &t);
}

/* ---- slots ---- */

/* Every buffer of a slot, for the functions that walk them. */
#define HELD_BUFS(h)                                                          \
  {                                                                           \
    &(h)->workflow, &(h)->tenant, &(h)->correlation, &(h)->input, &(h)->vars, \
        &(h)->joined, &(h)->compensation, &(h)->stopped, &(h)->cancellation,  \
        &(h)->parent_node, &(h)->undo, &(h)->undo_output, &(h)->undo_data,    \
        &(h)->undo_moves, &(h)->watched                                       \
  }
enum { NHELD_BUFS = 15 };

static void init_held(pawl_engine *e, pawl_held *h) {
  pawl_buf *bufs[] = HELD_BUFS(h);
  for (int i = 0; i < NHELD_BUFS; i++) bufs[i]->alloc = &e->alloc;
  pawl_plan_init(&h->plan, &e->alloc);
}

static void deinit_letter(pawl_letter *l) {
  pawl_buf *bufs[] = {&l->kind,   &l->name,   &l->key, &l->event_id,
                      &l->source, &l->caller, &l->data};
  for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
    pawl_buf_deinit(bufs[i]);
}

static void deinit_held(pawl_engine *e, pawl_held *h) {
  pawl_buf *bufs[] = HELD_BUFS(h);
  for (int i = 0; i < NHELD_BUFS; i++) pawl_buf_deinit(bufs[i]);
  for (int i = 0; i < h->letters_cap; i++) deinit_letter(&h->letters[i]);
  for (int i = 0; i < h->items_cap; i++) pawl_buf_deinit(&h->items[i].data);
  pawl_release(&e->alloc, h->letters,
               sizeof *h->letters * (size_t)h->letters_cap);
  pawl_release(&e->alloc, h->items, sizeof *h->items * (size_t)h->items_cap);
  pawl_load_forget(e, h);
  pawl_tokens_deinit(&h->tokens, &e->alloc);
  pawl_plan_deinit(&h->plan);
}

int pawl_held_max(const pawl_engine *e) {
  /* two batches, one under way in the store, and all that may wait */
  return 2 * e->config.batch + e->config.concurrency;
}

pawl_held *pawl_held_get(pawl_engine *e) {
  for (int i = 0; i < e->nheld_slots; i++)
    if (e->held[i].state == PAWL_SLOT_FREE) return &e->held[i];
  if (e->nheld_slots == pawl_held_max(e)) return NULL;
  init_held(e, &e->held[e->nheld_slots]);
  return &e->held[e->nheld_slots++];
}

void pawl_held_free(pawl_engine *e, pawl_held *h) {
  assert(h->state != PAWL_SLOT_FREE);
  pawl_await_abandon(e, h);
  h->state = PAWL_SLOT_FREE;
  pawl_load_forget(e, h);
  e->nheld--;
  if (h->solo) e->alone = 0;
}

int pawl_held_has_looked(const pawl_held *h) {
  return !h->look && !h->stale;
}

int pawl_held_saw_all(const pawl_held *h) {
  const pawl_plan *p = &h->plan;

  if (p->after == PAWL_AFTER_END) return 1;
  if (pawl_status_has_ended(h->status) && !p->revives)
    return p->heard || !p->stays;
  return p->heard &&
         (!h->look || (p->status == PAWL_STATUS_SUSPENDED && !h->behind));
}

void pawl_held_lose(pawl_engine *e, pawl_held *h, const pawl_error *why) {
  if (why) pawl_log_error(&e->log, PAWL_WARN, "lease lost", why);
  if (e->stats) e->stats->lost++;
  pawl_held_free(e, h);
}

pawl_held *pawl_held_find(pawl_engine *e, const pawl_id *id,
                          const pawl_id *lease) {
  for (int i = 0, at = e->last_found; i < e->nheld_slots; i++, at++) {
    if (at == e->nheld_slots) at = 0;
    pawl_held *h = &e->held[at];
    if (h->state == PAWL_SLOT_FREE || !pawl_id_eq(&h->id, id) ||
        (lease && !pawl_id_eq(&h->lease, lease)))
      continue;
    e->last_found = at;
    return h;
  }
  return NULL;
}

/* The live ones stand now as the plan has them, with or without rows of their
 * own. The lists change places: nothing is copied. */
static void accept_tokens(pawl_held *h) {
  pawl_token *folded = pawl_tokens_lone(&h->plan.tokens);
  pawl_tokens was = h->tokens;
  int n = 0;

  if (folded && folded->stored) folded = NULL;
  h->tokens = h->plan.tokens;
  h->plan.tokens = was;
  for (int k = 0; k < h->tokens.n; k++) {
    pawl_token *t = &h->tokens.at[k];
    if (!pawl_token_is_live(t->state)) continue;
    t->stored = t != folded;
    t->changed = 0;
    if (n != k) { /* the dead one's buffers serve again */
      pawl_token dead = h->tokens.at[n];
      h->tokens.at[n] = *t;
      *t = dead;
      folded = folded == t ? &h->tokens.at[n] : folded;
    }
    n++;
  }
  h->tokens.n = n;
}

static void accept_more(pawl_held *h) {
  pawl_plan *p = &h->plan;

  h->last_token = p->last_token;
  h->sent = p->sent;
  h->children = p->children;
  h->immediate = p->immediate;
  h->suspended_us = p->suspended_us;
  h->deadline_us = p->deadline_us;
  h->begin_us = p->begin_us;
  pawl_buf_swap(&h->joined, &p->joined);
  pawl_buf_swap(&h->compensation, &p->compensation);
  pawl_buf_swap(&h->stopped, &p->stopped);
  pawl_buf_swap(&h->watched, &p->watched);
  if (p->cancellation.len) pawl_buf_swap(&h->cancellation, &p->cancellation);
  if (!p->workflow_version) return;
  h->workflow_version = p->workflow_version;
  h->revision = 0; /* whichever runs */
  h->def = NULL;
  h->loaded = PAWL_LOADED_ROW;
}

static void accept_letters(pawl_held *h) {
  int n = 0;
  for (int k = 0; k < h->nletters; k++) {
    pawl_letter l = h->letters[k];
    if (pawl_plan_takes(&h->plan, &l.no)) continue;
    h->letters[k] = h->letters[n];
    h->letters[n++] = l;
  }
  h->nletters = n;
}

void pawl_held_accept(pawl_held *h) {
  pawl_plan *p = &h->plan;
  h->status = p->status;
  h->version++;
  h->seq += p->nrecords;
  h->visit = p->visit;
  if (!h->started_us) h->started_us = p->started_us;
  h->node = p->node;
  h->previous = p->previous;
  if (h->nletters) accept_letters(h);
  accept_more(h);
  accept_tokens(h);
  if (p->vars_changed) {
    pawl_buf_swap(&h->vars, &p->vars);
    h->parts = p->parts;
  }
  h->one_by_one = 0;
  h->has_items = 0;
  h->rounds++;
}

/* ---- open and close ---- */

/* N7 */
static void *allocate(void *ud, void *ptr, size_t osize, size_t nsize) {
  pawl_engine *e = ud;
  void *block = pawl_realloc(&e->plain, ptr, osize, nsize);
  if (!block && nsize > 0) e->refusals++;
  return block;
}

static void defaults(pawl_config *c) {
  if (!c->group || !c->group[0]) c->group = "default";
  if (!c->prefixes) c->prefixes = "";
  if (c->lease_us <= 0) c->lease_us = 30 * PAWL_SECOND;
  if (c->lease_us > PAWL_MAX_LEASE_US) c->lease_us = PAWL_MAX_LEASE_US;
  if (c->heartbeat_us <= 0) c->heartbeat_us = 10 * PAWL_SECOND;
  if (c->heartbeat_us > c->lease_us / 3) /* one may be lost on the way */
    c->heartbeat_us = c->lease_us / 3;
  if (c->max_bytes <= 0) c->max_bytes = 1000 * 1000;
  if (c->batch <= 0) c->batch = 128;
  if (c->batch > PAWL_MAX_BATCH) c->batch = PAWL_MAX_BATCH;
  if (c->concurrency <= 0) c->concurrency = 100;
  if (c->concurrency > PAWL_MAX_CONCURRENCY)
    c->concurrency = PAWL_MAX_CONCURRENCY;
  if (c->recoveries <= 0) c->recoveries = c->recoveries < 0 ? 0 : 5;
  if (c->create == 0) c->create = 1;
}

static pawl_code keep_text(pawl_buf *b, const char **text, pawl_error *err) {
  pawl_buf_addz(b, *text);
  *text = b->at ? b->at : "";
  return pawl_buf_check(b, err);
}

static int init_sent(pawl_engine *e, size_t n) {
  for (int i = 0; i < PAWL_MAX_SUBMITTED; i++) {
    e->sent[i].list = pawl_calloc(&e->plain, sizeof *e->sent[i].list * n);
    if (!e->sent[i].list) return 0;
  }
  return 1;
}

static pawl_code init_slots(pawl_engine *e, pawl_error *err) {
  size_t n = (size_t)pawl_held_max(e);
  e->fds = pawl_calloc(&e->plain, sizeof *e->fds * (n + 1));
  e->fd_slots = pawl_calloc(&e->plain, sizeof *e->fd_slots * (n + 1));
  e->held = pawl_calloc(&e->plain, sizeof *e->held * n);
  if (!e->held || !e->fds || !e->fd_slots || !init_sent(e, n))
    return pawl_fail(err, PAWL_NOMEM, "out of memory");
  return PAWL_OK;
}

static pawl_code open_parts(pawl_engine *e, const char *url, pawl_error *err) {
  pawl_store_options store = {.alloc = &e->alloc,
                              .log = &e->log,
                              .clock = &e->clock,
                              .pooler = e->config.pooler,
                              .create = e->config.create,
                              .shards = e->config.shards};
  pawl_host_options host = {.alloc = &e->plain,
                            .log = &e->log,
                            .lua = e->config.lua,
                            .max_bytes = (size_t)e->config.max_bytes};
  pawl_code rc = PAWL_OK;

  TRY(keep_text(&e->group, &e->config.group, err));
  TRY(keep_text(&e->prefixes, &e->config.prefixes, err));
  TRY(init_slots(e, err));
  TRY(pawl_store_open(url, &store, &e->store, err));
  e->nshards = pawl_store_shards(e->store);
  e->sql_limit_us = !strcmp(pawl_store_driver(e->store), "sqlite")
                        ? SQLITE_SQL_LIMIT_US
                        : POSTGRES_SQL_LIMIT_US;
  TRY(pawl_registry_new(&e->alloc, &e->registry, err));
  TRY(pawl_host_open(&host, &e->host, err));
  TRY(pawl_id_make(&e->ids, pawl_clock_now(&e->clock), &e->executor, err));
  memcpy(&e->random, e->executor.bytes + 8, sizeof e->random);
  e->random |= 1;
  e->next_shard = (int)(e->random % (uint64_t)e->nshards);
  TRY(pawl_claim_clock(e, err));
  if (e->config.pulse)
    TRY(pawl_pulse_open(e, url ? url : "pawl.db", &e->pulse, err));
out:
  return rc;
}

pawl_code pawl_engine_open(const char *url, const pawl_config *config,
                           pawl_engine **out, pawl_error *err) {
  pawl_alloc alloc = {0};
  pawl_code rc = PAWL_OK;
  pawl_engine *e;

  if (config) {
    alloc.fn = config->alloc;
    alloc.ud = config->alloc_ud;
  }
  e = pawl_calloc(&alloc, sizeof *e);
  if (!e) return pawl_fail(err, PAWL_NOMEM, "out of memory");
  if (config) e->config = *config;
  defaults(&e->config);
  e->plain = alloc;
  e->alloc.fn = allocate;
  e->alloc.ud = e;
  e->log.fn = e->config.log;
  e->log.ud = e->config.log_ud;
  e->clock.fn = e->config.clock;
  e->clock.ud = e->config.clock_ud;
  e->group.alloc = e->prefixes.alloc = &e->alloc;
  e->pid = getpid();
  e->next_due_us = PAWL_NEVER;
  pawl_args_init(&e->args, &e->alloc);
  pawl_result_init(&e->result, &e->plain);
  pawl_process_self(&e->self);
  TRY(open_parts(e, url, err));
  *out = e;
  e = NULL;
out:
  pawl_engine_close(e);
  return rc;
}

/* Goodbye: what is not begun goes back, our row says that we stopped. */
static void say_goodbye(pawl_engine *e) {
  pawl_rows rows;
  pawl_error err;
  pawl_code rc = PAWL_OK;

  pawl_await_abandon_all(e);
  TRY(pawl_commit_all(e, &err));
  TRY(pawl_claim_release(e, &err));
  if (!e->registered) return;
  pawl_args_begin(&e->args, PAWL_STMT_EXECUTOR_STOP);
  pawl_arg_id(&e->args, PAWL_EXECUTOR_STOP_ID, &e->executor);
  pawl_store_arg_now(e->store, &e->args, PAWL_EXECUTOR_STOP_NOW);
  TRY(pawl_store_once(e->store, PAWL_UNIT_SOON, &e->args, &rows, &err));
out:
  if (rc != PAWL_OK) pawl_log_error(&e->log, PAWL_WARN, "closing", &err);
}

void pawl_engine_close(pawl_engine *e) {
  if (!e) return;
  if (e->inside && e->pid == getpid()) {
    pawl_log_write(&e->log, PAWL_ERROR,
                   "an engine cannot be closed from inside one of its own "
                   "handlers or callbacks: it stays open",
                   NULL);
    return;
  }
  e->inside = 1; /* what is told while it closes may not come back in */
  int ours = e->pid == getpid();
  pawl_alloc alloc = e->plain;
  size_t slots = (size_t)pawl_held_max(e);

  if (ours) pawl_pulse_close(e->pulse);
  e->pulse = NULL; /* what is decided again below runs without it */
  if (ours && e->store && e->host && (e->nheld || e->registered))
    say_goodbye(e);
  pawl_host_close(e->host);
  pawl_registry_free(e->registry);
  pawl_store_close(e->store);
  for (int i = 0; i < e->nheld_slots; i++) deinit_held(e, &e->held[i]);
  pawl_release(&alloc, e->held, sizeof *e->held * slots);
  pawl_release(&alloc, e->fds, sizeof *e->fds * (slots + 1));
  pawl_release(&alloc, e->fd_slots, sizeof *e->fd_slots * (slots + 1));
  for (int i = 0; i < PAWL_MAX_SUBMITTED; i++)
    pawl_release(&alloc, e->sent[i].list, sizeof *e->sent[i].list * slots);
  for (int i = 0; i < e->nroutes; i++) pawl_buf_deinit(&e->routes[i].workflow);
  pawl_release(&e->alloc, e->routes,
               sizeof *e->routes * (size_t)e->routes_cap);
  pawl_told_deinit(&e->told);
  pawl_buf_deinit(&e->group);
  pawl_buf_deinit(&e->prefixes);
  pawl_engine_forget_names(e);
  pawl_args_deinit(&e->args);
  pawl_result_deinit(&e->result);
  pawl_release(&alloc, e, sizeof *e);
}

pawl_code pawl_engine_enter(pawl_engine *e, pawl_error *err) {
  if (!e) return pawl_fail(err, PAWL_MISUSE, "no engine was given");
  if (e->pid != getpid())
    return pawl_fail(err, PAWL_MISUSE,
                     "this engine was opened before fork(): "
                     "open another one in the child");
  if (e->inside || pawl_host_is_busy(e->host)) {
    pawl_fail(err, PAWL_MISUSE,
              "an engine cannot be called from inside one "
              "of its own handlers or callbacks");
    pawl_error_hint(err,
                    "what a handler may do is in ctx; a callback may only "
                    "note what it was told");
    return PAWL_MISUSE;
  }
  e->inside = 1;
  return PAWL_OK;
}

void pawl_engine_go_in(pawl_engine *e) {
  e->inside++;
}

void pawl_engine_leave(pawl_engine *e) {
  assert(e->inside > 0);
  e->inside--;
}

const pawl_alloc *pawl_engine_alloc(pawl_engine *e) {
  return &e->plain;
}
void pawl_engine_interrupt(pawl_engine *e) {
  e->interrupted = 1;
}

/* ---- one transactional step ---- */

/* Nothing of it has happened: the transaction is gone. */
static void undo_open(pawl_engine *e) {
  pawl_told_undone(e);
  pawl_store_rollback(e->store);
  e->open_unit = 0;
}

/* The row is locked and ours, and nothing has come in. *ok 0: not so; the
 * slot has been dealt with. */
static pawl_code lock_open(pawl_engine *e, pawl_held *h, int *ok,
                           pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;
  int latch;

  *ok = 0;
  TRY(pawl_store_begin(e->store, PAWL_UNIT_OPEN, err));
  TRY(pawl_commit_lock(e, &h, 1, err));
  pawl_store_rows(e->store, 0, &rows);
  latch =
      rows.nrows ? (int)pawl_row_int(&rows, 0, PAWL_AGENDA_LOCK_R_LATCH) : -1;
  if (latch == h->latch) {
    e->open_unit = 1;
    e->unit_owner = h;
    *ok = 1;
    return PAWL_OK;
  }
  pawl_store_rollback(e->store);
  rc = pawl_claim_reload(e, h, err);
  if (rc != PAWL_LEASE_LOST) return rc;
  pawl_held_lose(e, h, err);
  return PAWL_OK;
out:
  undo_open(e);
  return rc;
}

/* The store has undone the step's transaction through no fault of its SQL: it
 * runs again, and no attempt is counted. What is undone again and again is its
 * own doing: then it is a failure like any other. */
static int may_run_again(pawl_engine *e, const pawl_held *h) {
  return pawl_spin_rolled_back(e, h) <= ROLLBACKS_MAX;
}

/* By a lost connection or a conflict with others, before the commit? Whatever
 * its handler made of that. */
static int was_rolled_back(pawl_engine *e, const pawl_held *h) {
  return e->query_failed &&
         (e->query_error.code == PAWL_UNREACHABLE ||
          !strncmp(e->query_error.sqlstate, "40", 2)) &&
         may_run_again(e, h);
}

static void fail_late(pawl_engine *e, pawl_held *h, int64_t took_us) {
  pawl_error late;

  pawl_fail(&late, PAWL_TIMEOUT,
            "a transactional step may take %" PRId64
            " ms on this store; it took %" PRId64,
            e->sql_limit_us / 1000, took_us / 1000);
  pawl_error_hint(&late, "do the slow part in a step before it");
  pawl_step_fail(e, h, &late);
}

/* Runs the step inside the transaction that records it; when the step fails,
 * its SQL goes and its failure is recorded with the next batch. */
static pawl_code run_open(pawl_engine *e, pawl_held *h, pawl_error *err) {
  int64_t began, took;
  pawl_error local;
  pawl_code rc = PAWL_OK;
  int ok;

  if (!err) err = &local;
  pawl_plan_reset(&h->plan);
  e->query_failed = 0;
  TRY(lock_open(e, h, &ok, err));
  if (!ok) return PAWL_OK;
  began = pawl_clock_mono(); /* waiting for its turn holds up nobody */
  pawl_step_run(e, h);
  if (was_rolled_back(e, h)) {
    undo_open(e);
    h->state = PAWL_SLOT_READY;
    return PAWL_OK;
  }
  if (pawl_plan_check(&h->plan, err) != PAWL_OK) { /* N7: as in any batch */
    undo_open(e); /* what it told, too: that step is about to fail */
    return PAWL_OK;
  }
  if (h->plan.nrecords && strcmp(h->plan.records[0].type, "step")) {
    pawl_told_committed(e); /* it has failed; that is no secret */
    undo_open(e);
    return PAWL_OK;
  }
  if (e->query_failed) { /* caught, but the transaction is spoilt by it */
    undo_open(e);
    pawl_step_fail(e, h, &e->query_error);
    return PAWL_OK;
  }
  took = pawl_clock_mono() - began;
  if (took > e->sql_limit_us) {
    undo_open(e);
    fail_late(e, h, took);
    return PAWL_OK;
  }
  h->transactional = 1;
  rc = pawl_commit_open(e, h, err);
  e->open_unit = 0;
  if (rc == PAWL_OK) {
    h->transactional = 0;
    pawl_told_committed(e);
    return PAWL_OK;
  }
  pawl_store_rollback(e->store);
  if (rc == PAWL_UNREACHABLE) { /* the next commit settles it */
    h->state = PAWL_SLOT_UNKNOWN;
    return PAWL_OK;
  }
  pawl_told_undone(e);
  h->transactional = 0;
  if (rc == PAWL_BUSY && may_run_again(e, h)) {
    h->state = PAWL_SLOT_READY;
    return PAWL_OK;
  }
  /* whatever the store says, it says of this step's own transaction */
  if (rc == PAWL_STORE || rc == PAWL_BUSY || pawl_commit_is_refusal(err)) {
    pawl_error why = *err;
    pawl_step_fail(e, h, &why);
    return PAWL_OK;
  }
  h->state = PAWL_SLOT_READY;
out:
  return rc;
}

/* ---- rounds ---- */

/* Is there room for one more handler that may wait, or is not? */
static int may_claim(const pawl_engine *e) {
  return !e->alone && e->nwaiting < e->config.concurrency;
}

/* For how many more handlers that wait is there room? No more are taken than
 * may wait; while an instance's last step is committed, another one may. */
static int room_to_wait(const pawl_engine *e) {
  int room = e->config.concurrency - e->nwaiting - e->claiming;
  /* one is left for whoever asks for a certain instance */
  int slots = pawl_held_max(e) - 1 - e->nheld - e->claiming;

  for (int i = 0; i < e->nheld_slots; i++)
    room -= e->held[i].state == PAWL_SLOT_READY && !e->held[i].flight.run;
  if (room > e->config.batch) room = e->config.batch;
  return room < slots ? room : slots;
}

static int wants_more(pawl_engine *e) {
  int ahead = pawl_pipeline_is_open(e) ? 2 : 1; /* batches */
  int want = ahead * e->config.batch;

  if (e->nwaiting) return room_to_wait(e); /* others will, too */
  /* slow handlers: take no more than what one flush can hold */
  if (e->run_avg_us > 0 && FLUSH_US / e->run_avg_us < want)
    want = (int)(FLUSH_US / e->run_avg_us) + 1;
  want -= e->nheld + e->claiming;
  return want > e->config.batch ? e->config.batch : want;
}

/* A claim has its price: it waits until a quarter of the batch is free; not
 * where handlers wait, which may be for long. */
static int is_worth_claiming(const pawl_engine *e, int want) {
  if (e->claiming) return 0;
  if (!e->nheld) return 1;
  if (!e->nwaiting) return want * 4 >= e->config.batch;
  return want * 8 >= e->config.batch ||
         (want > 0 && e->nheld + e->claiming < e->config.concurrency);
}

/* What came just now is, as a rule, of a workflow that was seen before: then
 * looking first would only hold it up. Not twice in a row, because it is by
 * looking that timers become ready and other workflows are seen. */
static int may_skip_look(const pawl_engine *e) {
  return e->woken && !e->unlooked && !e->in_vain && e->nheld == e->nwaiting &&
         !e->suspect_ready;
}

/* Is all that is held under way in the store, and nothing else known to be
 * there? */
static int is_spent(const pawl_engine *e) {
  return e->nheld == e->nwaiting + pawl_pipeline_slots(e) && !e->fresh_ready;
}

static int must_look(const pawl_engine *e) {
  return pawl_clock_mono() >= e->look_mono_us ||
         (e->unlooked && is_spent(e)) ||
         (e->nheld == e->nwaiting && !e->fresh_ready && !e->suspect_ready);
}

static int may_refill(const pawl_engine *e, int want) {
  return !e->interrupted && may_claim(e) && is_worth_claiming(e, want);
}

/* Looks and claims as far as there is room. */
static pawl_code refill(pawl_engine *e, pawl_error *err) {
  int want = wants_more(e);
  pawl_code rc = PAWL_OK;

  if (!may_refill(e, want)) return PAWL_OK;
  if (want > 0 && may_skip_look(e)) {
    e->woken = 0;
    TRY(pawl_claim_unlooked(e, want, err));
    if (e->nheld > e->nwaiting) return PAWL_OK;
  }
  if (e->woken || must_look(e)) TRY(pawl_claim_look(e, err));
  e->woken = 0;
  if (want < 1 && e->nwaiting) return PAWL_OK;
  if (want < 1) want = 1;
  /* ahead of what is in work; with nothing in work there is nothing to gain */
  if (pawl_pipeline_is_open(e) && e->nheld > e->nwaiting && !e->suspect_ready)
    TRY(pawl_claim_send(e, want, err));
  else
    TRY(pawl_claim_more(e, want, err));
out:
  return rc;
}

static int is_known(const pawl_held *h) {
  return h->loaded == PAWL_LOADED && !h->foreign;
}

/* No more handlers begin than may wait; the others' slots are queued. One that
 * was committed in the middle of a round looks before the next (N6). */
static int is_runnable(pawl_engine *e, pawl_held *h) {
  if (h->state != PAWL_SLOT_READY || !is_known(h) || h->flight.run ||
      !pawl_held_has_looked(h))
    return 0;
  if (e->nwaiting < e->config.concurrency || !pawl_step_may_wait(e, h)) {
    h->queued_mono_us = 0;
    return 1;
  }
  if (!h->queued_mono_us) h->queued_mono_us = pawl_clock_mono();
  return 0;
}

/* Is anything held that can only be given back? */
static int any_foreign(const pawl_engine *e) {
  for (int i = 0; i < e->nheld_slots; i++)
    if (e->held[i].state == PAWL_SLOT_READY && !is_known(&e->held[i]))
      return 1;
  return 0;
}

/* After a pause, of this process or of its machine, the lease may have ended
 * before the handler begins: then it is asked for again, or given up. */
static pawl_code check_lease(pawl_engine *e, pawl_held *h, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  if (pawl_engine_now(e) < h->lease_until_us) return PAWL_OK;
  TRY(pawl_claim_renew(e, 1, err));
  if (pawl_engine_now(e) < h->lease_until_us) return PAWL_OK;
  pawl_log_write(&e->log, PAWL_WARN, "lease lost before its handler began",
                 NULL);
  pawl_held_lose(e, h, NULL);
out:
  return rc;
}

static pawl_code run_one(pawl_engine *e, pawl_held *h, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  TRY(check_lease(e, h, err));
  if (h->state != PAWL_SLOT_READY) return PAWL_OK;
  assert(pawl_held_has_looked(h)); /* N6 */
  if (!pawl_step_is_transactional(e, h)) {
    pawl_step_run(e, h);
    return PAWL_OK;
  }
  TRY(pawl_commit_all(e, err)); /* on its own, outside the batch */
  if (h->state == PAWL_SLOT_READY && pawl_held_has_looked(h))
    TRY(run_open(e, h, err));
out:
  return rc;
}

/* Every ready slot runs one step; results are committed on the way when they
 * have waited long enough. *ran: how many. *stop: the budget is spent. */
static pawl_code run_round(pawl_engine *e, int64_t deadline_mono, int *ran,
                           int *stop, pawl_error *err) {
  int64_t flushed = pawl_clock_mono();
  pawl_code rc = PAWL_OK;

  *ran = 0;
  for (int i = 0; i < e->nheld_slots; i++) {
    pawl_held *h = &e->held[i];
    if (!is_runnable(e, h)) continue;
    /* rule 7: what is done does not wait for a node known to be slow */
    if (*ran && pawl_step_expected_us(e, h) > PAWL_SLOW_US)
      TRY(pawl_commit_ahead(e, err));
    if (!is_runnable(e, h)) continue;
    int64_t began = pawl_clock_mono();
    TRY(run_one(e, h, err));
    ++*ran;
    int64_t mono = pawl_clock_mono();
    if (e->interrupted || mono >= deadline_mono) {
      *stop = 1;
      break;
    }
    if (mono - flushed <= FLUSH_US) continue;
    TRY(pawl_commit_ahead(e, err));
    if (mono - began > FLUSH_US) { /* others can run what is not begun */
      TRY(pawl_claim_release(e, err));
      break;
    }
    TRY(pawl_claim_renew(e, 0, err));
    flushed = pawl_clock_mono();
  }
  /* handlers that wait go on before there is room, and join the batch */
  if (!e->nwaiting || !pawl_pipeline_is_full(e))
    TRY(pawl_commit_ahead(e, err));
out:
  return rc;
}

enum { CLAIMING = 1, RESUMING }; /* what a tick may do beside its rounds */

/* Ours at once; those that a dead process left behind, now and then, but not
 * before what somebody has just announced, unless that never ends. */
static pawl_code deliver(pawl_engine *e, int may, pawl_error *err) {
  int64_t late = pawl_clock_mono() - e->deliver_mono_us;
  if (!e->messages && late < 0) return PAWL_OK;
  if (!e->messages && e->woken && (may & CLAIMING) && late < PAWL_SECOND)
    return PAWL_OK;
  return pawl_deliver(e, err);
}

/* One batch may be under way while the next one's handlers run; when there is
 * nothing to run, it is waited for. */
static pawl_code finish_some(pawl_engine *e, int idle, pawl_error *err) {
  pawl_code rc = pawl_pipeline_advance(e, idle || is_spent(e), err);

  return rc == PAWL_UNREACHABLE ? pawl_commit_all(e, err) : rc;
}

static pawl_code run_rounds(pawl_engine *e, int64_t budget_us, int may,
                            pawl_error *err) {
  int64_t began = pawl_clock_mono();
  int64_t deadline =
      budget_us >= PAWL_NEVER - began ? PAWL_NEVER : began + budget_us;
  pawl_code rc = PAWL_OK;
  int ran = 0, resumed = 0, stop = 0;

  if (budget_us <= 0) deadline = PAWL_NEVER; /* one round, whole */
  TRY(pawl_commit_all(e, err)); /* what an earlier tick could not settle */
  while (!stop) {
    int foreign;
    TRY(deliver(e, may, err));
    if (may & CLAIMING) TRY(refill(e, err));
    if (!e->nheld && !e->nsent) break;
    TRY(pawl_load_more(e, err));
    if (e->nwaiting) TRY(pawl_await_look(e, err));
    if (may & RESUMING) pawl_await_poll(e, deadline, &resumed);
    foreign = any_foreign(e);
    TRY(run_round(e, deadline, &ran, &stop, err));
    if (foreign) TRY(pawl_claim_release(e, err));
    if (!ran && !resumed && !foreign && !e->nsent) break;
    TRY(finish_some(e, !ran && !resumed, err));
    TRY(pawl_claim_renew(e, 0, err));
    if (budget_us <= 0 || e->interrupted || pawl_clock_mono() >= deadline)
      stop = 1;
  }
  TRY(pawl_commit_all(e, err));
  if (e->messages) TRY(pawl_deliver(e, err));
out:
  return rc;
}

/* Around both ticks: counting, and giving back. */
static pawl_code tick_begin(pawl_engine *e, pawl_stats *stats,
                            pawl_error *err) {
  pawl_code rc = PAWL_OK;

  memset(stats, 0, sizeof *stats);
  e->stats = stats;
  e->ask_all = 1;
  TRY(pawl_renew(e, err));
  TRY(pawl_claim_housekeep(e, err));
  TRY(pawl_claim_settle(e, err));
  TRY(pawl_await_look(e, err));
out:
  return rc;
}

/* When the next tick has something to do; 0: at once. */
static int64_t next_tick(pawl_engine *e) {
  int64_t next = pawl_await_next(e);
  int ready = e->fresh_ready || (e->suspect_ready && !e->nheld);

  if (e->nheld > e->nwaiting + pawl_claim_queued(e)) return 0;
  if (e->suspect_ready && e->nheld) ready = 0; /* N3: after those that wait */
  if (!may_claim(e)) return next; /* what is due has to wait for those */
  if (ready) return 0;
  return next < e->next_due_us ? next : e->next_due_us;
}

static pawl_code tick_end(pawl_engine *e, pawl_code rc, pawl_error *err) {
  pawl_error second;
  /* after a failure, leases of what was not begun go back if that works */
  pawl_code give = pawl_claim_release(e, rc == PAWL_OK ? err : &second);
  if (rc == PAWL_OK) rc = give;
  e->stats->held = e->nheld;
  e->stats->waiting = e->nwaiting;
  e->stats->next_due_us = next_tick(e);
  e->stats = NULL;
  e->interrupted = 0;
  return rc;
}

pawl_code pawl_engine_tick(pawl_engine *e, int64_t budget_us,
                           pawl_stats *stats, pawl_error *err) {
  pawl_stats own;
  pawl_code rc = PAWL_OK;
  int more = 0;

  if (!stats) stats = &own;
  TRY(tick_begin(e, stats, err));
  TRY(run_rounds(e, budget_us, CLAIMING | RESUMING, err));
out:
  rc = tick_end(e, rc, err);
  if (e->unlooked && may_refill(e, wants_more(e))) stats->next_due_us = 0;
  if (rc == PAWL_OK) rc = pawl_reach(e, &more, err);
  if (more) stats->next_due_us = 0;
  return rc;
}

/* What keeps an instance that could not be claimed. */
static pawl_code why_not(pawl_engine *e, const pawl_id *id, pawl_stats *stats,
                         const char **status, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;
  int64_t due, now;

  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_GET);
  pawl_arg_int(&e->args, PAWL_AGENDA_GET_SHARD,
               pawl_id_route(id) % e->nshards);
  pawl_arg_id(&e->args, PAWL_AGENDA_GET_ID, id);
  pawl_store_arg_now(e->store, &e->args, PAWL_AGENDA_GET_NOW);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  *status = "done";
  e->next_due_us = PAWL_NEVER;
  if (rows.nrows == 0) return PAWL_OK;
  due = pawl_row_int(&rows, 0, PAWL_AGENDA_GET_R_DUE_AT);
  now = pawl_row_int(&rows, 0, PAWL_AGENDA_GET_R_NOW);
  e->next_due_us = due;
  if (pawl_row_int(&rows, 0, PAWL_AGENDA_GET_R_READY) || due <= now)
    *status = "now";
  else if (!pawl_row_null(&rows, 0, PAWL_AGENDA_GET_R_LEASE))
    *status = "leased";
  else
    *status = "later";
  (void)stats;
out:
  return rc;
}

/* Its handler waits here: the holder is this engine. Whoever seizes it takes
 * it from us; else the letter is found by the next look. 1: nothing to take. */
static int is_waiting(pawl_engine *e, const pawl_id *id, int seize) {
  pawl_held *h = pawl_held_find(e, id, NULL);

  e->await_look_us = 0;
  if (!h) return 0;
  if (seize) pawl_held_free(e, h);
  return !seize;
}

static pawl_held *only_held(pawl_engine *e, const pawl_id *id) {
  for (int i = 0; i < e->nheld_slots; i++)
    if (e->held[i].state == PAWL_SLOT_READY && pawl_id_eq(&e->held[i].id, id))
      return &e->held[i];
  return NULL;
}

pawl_code pawl_engine_tick_one(pawl_engine *e, const pawl_id *id,
                               int64_t budget_us, pawl_stats *stats,
                               const char **status, pawl_error *err) {
  pawl_stats own;
  const char *text = "now";
  const pawl_held *h;
  pawl_code rc = PAWL_OK;
  int got = 0, fresh = e->fresh_ready, suspect = e->suspect_ready;
  int suspended = 0;

  if (!stats) stats = &own;
  TRY(tick_begin(e, stats, err));
  TRY(pawl_commit_all(e, err));
  h = pawl_held_find(e, id, NULL); /* its handler waits */
  if (h)
    got = 1;
  else
    TRY(pawl_claim_one(e, id, &got, err));
  h = got ? only_held(e, id) : NULL;
  suspended = h && h->apply_only;
  if (got) TRY(run_rounds(e, suspended ? 0 : budget_us, RESUMING, err));
  TRY(pawl_claim_release(e, err));
  TRY(why_not(e, id, stats, &text, err));
  if (pawl_held_find(e, id, NULL)) text = "later"; /* it still does */
  if (suspended && !strcmp(text, "now")) { /* its workflow may be resumed */
    text = "later";
    e->next_due_us = pawl_engine_now(e) + PAWL_SECOND;
  }
  if (status) *status = text;
  e->fresh_ready = e->suspect_ready = 0; /* the others are not meant here */
out:
  rc = tick_end(e, rc, err);
  if (!strcmp(text, "now")) stats->next_due_us = 0;
  e->fresh_ready = fresh;
  e->suspect_ready = suspect;
  return rc;
}

/* The graph is enough for taking letters. Code out of the store is not loaded
 * for them: a definition is a program, and who only cancels has not asked for
 * one to be run. */
static pawl_code lend_graph(pawl_engine *e, pawl_held *h, pawl_def **lent,
                            pawl_error *err) {
  int own = 0;
  pawl_code rc;

  if (!h->foreign) return PAWL_OK;
  rc = pawl_graph_find(e, h->workflow.at, h->workflow_version, &h->def, &own,
                       err);
  if (rc == PAWL_NOTFOUND) return PAWL_OK;
  if (rc == PAWL_OK) h->foreign = 0;
  if (own) *lent = h->def;
  return rc;
}

/* Everything that lies there is taken; a request that comes in meanwhile has
 * somebody else to take it. */
static pawl_code take_inbox(pawl_engine *e, const pawl_id *id,
                            pawl_error *err) {
  pawl_held *h = only_held(e, id);
  pawl_code rc = PAWL_OK;

  for (int i = 0; h && i < TAKES_MAX; i++) {
    TRY(run_rounds(e, 0, 0, err));
    h = only_held(e, id);
    if (h && !h->nletters) break;
  }
  TRY(pawl_claim_release(e, err));
out:
  return rc;
}

pawl_code pawl_engine_hold(pawl_engine *e, const pawl_id *id, int seize,
                           int *got, pawl_error *err) {
  pawl_stats stats;
  pawl_held *h = NULL;
  pawl_def *lent = NULL;
  pawl_code rc = PAWL_OK;
  const pawl_id *outer = e->inbox_of; /* who delivers a message to it */
  int fresh = e->fresh_ready, suspect = e->suspect_ready;

  *got = 0;
  e->inbox_of = id;
  TRY(tick_begin(e, &stats, err));
  TRY(pawl_commit_all(e, err));
  if (is_waiting(e, id, seize)) goto out;
  TRY(seize ? pawl_claim_seize(e, id, got, err)
            : pawl_claim_one(e, id, got, err));
  h = *got ? only_held(e, id) : NULL;
  if (!h) goto out;
  h->apply_only = 1;
  TRY(lend_graph(e, h, &lent, err));
  TRY(take_inbox(e, id, err));
  e->holding = 1;
  if (e->messages) TRY(pawl_deliver(e, err));
out:
  e->holding = 0;
  e->inbox_of = outer;
  rc = tick_end(e, rc, err);
  /* a slot whose commit is in doubt still needs it: then it is lost */
  if (lent && h->state == PAWL_SLOT_FREE) pawl_def_free(lent);
  e->fresh_ready = fresh;
  e->suspect_ready = suspect;
  if (rc == PAWL_OK) pawl_reach_all(e);
  return rc;
}

/* ---- waiting ---- */

pawl_code pawl_engine_next_due(pawl_engine *e, int64_t *due_us,
                               pawl_error *err) {
  pawl_code rc = PAWL_OK;
  TRY(pawl_claim_look(e, err));
  *due_us = next_tick(e);
out:
  return rc;
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
  if (woken) {
    e->relook_mono_us = mono + 2 * PAWL_WAKE_EVERY_US;
    e->woken = 1;
  } else if (mono >= until) {
    e->look_mono_us = 0; /* something may have come */
  }
}

pawl_code pawl_engine_wait(pawl_engine *e, int64_t until_us, pawl_error *err) {
  int64_t next = pawl_await_next(e);
  int64_t wait, until;
  int n = pawl_await_fds(e), woken = 0;
  pawl_code rc;

  wait = (next < until_us ? next : until_us);
  wait = wait < 0 ? 0 : wait - pawl_engine_now(e);
  if (wait <= 0 || e->interrupted) return PAWL_OK;
  if (!e->nwaiting) pawl_store_tidy(e->store);
  until = wait_until(e, pawl_clock_mono(), wait);
  rc = pawl_store_wait(e->store, until, &e->interrupted, e->fds, n, &woken,
                       err);
  e->interrupted = 0;
  after_wait(e, until, woken);
  return rc;
}

void pawl_engine_count(const pawl_engine *e, pawl_counts *out) {
  pawl_store_count(e->store, out);
}
