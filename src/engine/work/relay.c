#include "relay.h"

#include <assert.h>
#include <stdlib.h>

#include "../../base/fault.h"
#include "../../value/json.h"
#include "../common/engine_struct.h"
#include "../common/time.h"
#include "cloudevent.h"

enum {
  RUN = 16,     /* rows of one instance that go together */
  SMALL = 8192, /* bytes of a payload behind the front: more goes alone */
  WALK = 4,     /* due rows that a claim looks at, for each that it may take */
  MOST_RUNS = 1024
};
#define STORE_EVERY_US (PAWL_SECOND / 2) /* what was accepted meanwhile */
#define ONE_EVENT 1000000                /* of the rate's credit */
#define SLICE_US (10 * 1000) /* of a rest: then an interrupt is seen */

/* ---- runs ---- */

typedef enum run_state {
  FREE,
  HELD,      /* rows[at] is to be handed over */
  UNDER_WAY, /* it was, and nobody knows yet */
  FAILED,    /* it was not accepted */
  ENDED      /* nothing is left of it, or it is to be given back */
} run_state;

/* Of one instance. Rows before `stored` are published in the store, those
 * before `at` were accepted. rows[stored] is the front, under our lease. */
typedef struct run {
  run_state state;
  int shard, n, at, stored;
  pawl_id instance, lease;
  int64_t until_mono_us; /* when its lease ends, or sooner */
  int64_t attempt;       /* of rows[at] */
  int refused;           /* FAILED for good */
  int sent;              /* its last word may have been stored before */
  pawl_buf keep;         /* the rows */
  pawl_buf error;        /* FAILED */
} run;

struct pawl_relay {
  pawl_relay_options options; /* of the call under way */
  pawl_publish_fn publish;
  void *ud;
  pawl_relayed *told;
  run *runs;
  int nruns, next_run, next_shard;
  int64_t stored_mono_us; /* when what was accepted was stored last */
  int64_t credit;         /* of the rate: ONE_EVENT for each */
  int64_t credit_mono_us; /* earned until then; 0: never */
  int is_spent;           /* nothing is begun in this round */
  pawl_buf event;
};

/* rows[i] of a run. */
static const pawl_outbox_run_row *row_of(const run *r, int i) {
  assert(i >= 0 && i < r->n);
  return &PAWL_KEPT(outbox_run, &r->keep)[i];
}

static pawl_code begin(pawl_engine *e, pawl_error *err) {
  struct pawl_relay *l;

  if (e->relay) return PAWL_OK;
  l = pawl_realloc(&e->alloc, NULL, 0, sizeof *l);
  if (!l) return pawl_fail_memory(err);
  *l = (struct pawl_relay){.event = {.alloc = &e->alloc}};
  e->relay = l;
  return PAWL_OK;
}

/* Runs stay where they are: their rows are theirs. */
static pawl_code make_runs(pawl_engine *e, pawl_error *err) {
  struct pawl_relay *l = e->relay;
  const int want = (int)l->options.batch;
  run *runs;

  if (l->nruns >= want) return PAWL_OK;
  runs = pawl_realloc(&e->alloc, l->runs, sizeof *runs * (size_t)l->nruns,
                      sizeof *runs * (size_t)want);
  if (!runs) return pawl_fail_memory(err);
  l->runs = runs;
  for (; l->nruns < want; l->nruns++)
    runs[l->nruns] =
        (run){.keep = {.alloc = &e->alloc}, .error = {.alloc = &e->alloc}};
  return PAWL_OK;
}

/* ---- the rate ---- */

/* What goes at least together, where as much is there: a transaction for each
 * event would cost more than the events. A quarter of a second's, and less
 * than a batch, so that who comes late to it loses nothing. */
static int64_t portion(const struct pawl_relay *l) {
  const int64_t n = l->options.rate / 4,
                most = l->options.batch - l->options.batch / 4;
  return (n < 1 ? 1 : n < most ? n : most) * ONE_EVENT;
}

/* W16. A batch at most: who was away for long does not make up for it. */
static void earn(struct pawl_relay *l) {
  const int64_t now = pawl_clock_mono(), rate = l->options.rate,
                most = l->options.batch * ONE_EVENT;

  if (!rate) {
    l->is_spent = 0;
    return;
  }
  if (!l->credit_mono_us)
    l->credit = portion(l);
  else if (now - l->credit_mono_us >= most / rate)
    l->credit = most;
  else
    l->credit += (now - l->credit_mono_us) * rate;
  if (l->credit > most) l->credit = most;
  l->credit_mono_us = now;
  l->is_spent = l->credit < portion(l);
}

static int may_begin(const struct pawl_relay *l) {
  return !l->options.rate || (!l->is_spent && l->credit >= ONE_EVENT);
}

static void spend(struct pawl_relay *l) {
  if (l->options.rate) l->credit -= ONE_EVENT;
}

/* Until a portion is there; 0: it is. */
static int64_t wait_us(const struct pawl_relay *l) {
  const int64_t missing = l->options.rate ? portion(l) - l->credit : 0;
  return missing > 0 ? missing / l->options.rate + 1 : 0;
}

/* ---- taking ---- */

/* A run ends before what is settled already, and before what was too long to
 * come along. */
static int length_of(const pawl_rows *rows, int first, const pawl_id *of) {
  int n = 0;

  for (int k = first; k < rows->nrows; k++, n++) {
    const pawl_outbox_run_row row = pawl_read_outbox_run(rows, k);
    if (!pawl_id_eq(row.instance, of) || !row.open || row.withheld) break;
  }
  return n;
}

static run *free_run(struct pawl_relay *l) {
  for (int i = 0; i < l->nruns; i++)
    if (l->runs[i].state == FREE) return &l->runs[i];
  assert(!"a claim takes no more than there is room for");
  return NULL;
}

/* The rows of one instance, which stand together. */
static pawl_code take_run(pawl_engine *e, const run *like,
                          const pawl_rows *rows, int first, pawl_error *err) {
  const pawl_id *id = pawl_read_outbox_run(rows, first).instance;
  run *r = free_run(e->relay);
  pawl_rows own = *rows;

  own.nrows = length_of(rows, first, id);
  own.cells = &rows->cells[(size_t)first * (size_t)rows->ncols];
  MUST(PAWL_KEEP(outbox_run, &own, &r->keep, err));
  r->shard = like->shard;
  r->lease = like->lease;
  r->until_mono_us = like->until_mono_us;
  r->instance = *id;
  r->n = own.nrows;
  r->at = r->stored = r->sent = 0;
  /* none: somebody was faster. Its lease will end. */
  if (!r->n) return PAWL_OK;
  r->state = HELD;
  r->attempt = row_of(r, 0)->attempts + 1;
  e->relay->told->claimed++;
  return PAWL_OK;
}

static pawl_code load_runs(pawl_engine *e, const run *like,
                           const pawl_outbox_claim_row *fronts, int n,
                           pawl_error *err) {
  pawl_rows rows;
  pawl_code rc;

  pawl_args_begin(&e->args, PAWL_STMT_outbox_run);
  for (int k = 0; k < n; k++)
    PAWL_PUT(&e->args, outbox_run, .shard = like->shard,
             .instance = fronts[k].instance, .seq = fronts[k].seq,
             .small = SMALL, .max = RUN);
  rc = pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err);
  if (rc != PAWL_OK) return rc;
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_id *id = pawl_read_outbox_run(&rows, k).instance;
    if (k && pawl_id_eq(pawl_read_outbox_run(&rows, k - 1).instance, id))
      continue;
    MUST(take_run(e, like, &rows, k, err));
  }
  return PAWL_OK;
}

/* Fewer than there is room for: perhaps only because all that the claim looked
 * at is behind others. *more: look again. */
static pawl_code park(pawl_engine *e, int shard, int64_t walk, int *more,
                      pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_WRITE(e->store, outbox_park, &rows, err, .shard = shard,
                  .walk = walk, .now = pawl_store_now(e->store)));
  *more = rows.changed > 0;
  return PAWL_OK;
}

static pawl_code claim(pawl_engine *e, int shard, int want, int *got,
                       int *more, pawl_error *err) {
  const struct pawl_relay *l = e->relay;
  pawl_buf keep = {.alloc = &e->alloc};
  run like = {.shard = shard};
  const int64_t walk = WALK * l->options.batch;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  *more = 0;
  TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &like.lease, err));
  like.until_mono_us = pawl_clock_mono() + l->options.lease_us;
  TRY(PAWL_WRITE(e->store, outbox_claim, &rows, err, .shard = shard,
                 .lease = &like.lease, .lease_us = l->options.lease_us,
                 .walk = walk, .max = want, .now = pawl_store_now(e->store)));
  *got = rows.nrows;
  TRY(PAWL_KEEP(outbox_claim, &rows, &keep, err));
  (void)PAWL_FAULT("engine.relay.claimed");
  if (*got)
    TRY(load_runs(e, &like, PAWL_KEPT(outbox_claim, &keep), *got, err));
  if (*got < want) TRY(park(e, shard, walk, more, err));
out:
  pawl_buf_deinit(&keep);
  return rc;
}

static int count(const struct pawl_relay *l, run_state state) {
  int n = 0;
  for (int i = 0; i < l->nruns; i++) n += l->runs[i].state == state;
  return n;
}

/* For no more than may be begun now. */
static int room(const struct pawl_relay *l) {
  const int n = (int)l->options.batch - (l->nruns - count(l, FREE));
  const int64_t may = l->credit / ONE_EVENT - count(l, HELD);

  if (!l->options.rate) return n;
  return l->is_spent ? 0 : n < may ? n : (int)may;
}

/* Shards take turns at being the first. */
static pawl_code fill(pawl_engine *e, pawl_error *err) {
  struct pawl_relay *l = e->relay;
  int more, got;

  if (l->options.finish) return PAWL_OK;
  for (int s = 0; s < e->nshards; s++) {
    const int shard = (l->next_shard + s) % e->nshards;
    do {
      const int want = room(l);
      if (want <= 0) return PAWL_OK;
      MUST(claim(e, shard, want, &got, &more, err));
    } while (more && !e->interrupted);
  }
  l->next_shard = (l->next_shard + 1) % e->nshards;
  return PAWL_OK;
}

/* ---- handing over ---- */

static void refuse(run *r, pawl_code rc, const pawl_error *why) {
  r->state = FAILED;
  r->refused = rc == PAWL_INVALID;
  size_t at;

  pawl_buf_clear(&r->error);
  pawl_buf_addz(&r->error,
                why->message[0] ? why->message : pawl_code_name(rc));
  if (r->error.failed) pawl_buf_clear(&r->error); /* told without */
  while (!pawl_utf8_check(pawl_buf_str(&r->error), &at)) r->error.at[at] = '?';
}

/* Its relay died of it, or beside it, too often. */
static int is_deadly(const struct pawl_relay *l, run *r) {
  pawl_error why = {.message =
                        "no attempt is left: relays ended while it was "
                        "handed over, or fewer are allowed now"};

  if (r->attempt <= l->options.max_attempts) return 0;
  refuse(r, PAWL_INVALID, &why);
  r->attempt--;
  return 1;
}

static void publish_one(pawl_engine *e, run *r) {
  struct pawl_relay *l = e->relay;
  const pawl_outbox_run_row *row = row_of(r, r->at);
  const int again = r->state == UNDER_WAY;
  char id[PAWL_CLOUDEVENT_ID];
  pawl_error why = {.code = PAWL_OK};
  pawl_code rc;

  if (!again) spend(l);
  pawl_buf_clear(&l->event);
  if (!again) pawl_cloudevent_write(row, l->options.source, &l->event);
  rc = pawl_buf_check(&l->event, &why);
  if (rc == PAWL_OK) {
    pawl_cloudevent_id(row, id);
    const pawl_emitted emitted = {
        .id = id,
        .instance = pawl_id_text_of(row->instance).at,
        .type = row->type.at,
        .seq = row->seq,
        .attempt = r->attempt,
        .event = pawl_buf_str(&l->event).at,
        .length = l->event.len,
        .again = again};
    (void)PAWL_FAULT("engine.relay.publish");
    rc = l->publish(l->ud, &emitted, &why);
    (void)PAWL_FAULT("engine.relay.published");
  }
  if (rc == PAWL_BUSY) {
    r->state = UNDER_WAY;
  } else if (rc != PAWL_OK) {
    refuse(r, rc, &why);
  } else {
    r->at++;
    r->state = r->at < r->n && !l->options.finish ? HELD : ENDED;
    r->attempt = r->state == HELD ? row_of(r, r->at)->attempts + 1 : 0;
  }
}

/* W12: what is left of its lease has to do for one more. */
static int is_safe(const struct pawl_relay *l, const run *r) {
  return r->until_mono_us - pawl_clock_mono() > l->options.lease_us / 2;
}

/* One at a time, as far as it goes. */
static int publish_run(pawl_engine *e, run *r) {
  const struct pawl_relay *l = e->relay;
  int went = 0;

  do {
    const int before = r->at;
    if (r->state == HELD && is_deadly(l, r)) return 1;
    if (r->state == HELD && !may_begin(l)) return went;
    publish_one(e, r);
    if (r->state == UNDER_WAY) return went;
    went = 1;
    if (r->at == before) break;
  } while (r->state == HELD && is_safe(l, r) && !e->interrupted &&
           pawl_clock_mono() - l->stored_mono_us < STORE_EVERY_US);
  return went;
}

/* Whoever is slow is not asked by all before what was accepted is stored. */
static int publish_all(pawl_engine *e) {
  struct pawl_relay *l = e->relay;
  int went = 0;

  for (int i = 0; i < l->nruns && !e->interrupted; i++) {
    run *r = &l->runs[l->next_run];
    l->next_run = (l->next_run + 1) % l->nruns;
    if ((r->state == HELD && is_safe(l, r) && may_begin(l)) ||
        r->state == UNDER_WAY)
      went |= publish_run(e, r);
    if (pawl_clock_mono() - l->stored_mono_us >= STORE_EVERY_US) break;
  }
  return went;
}

/* ---- storing what came of it ---- */

/* Is there anything to say of it now? Leases are kept in time. */
static int is_told(const struct pawl_relay *l, const run *r) {
  if (r->state == FREE) return 0;
  return r->state == FAILED || r->state == ENDED || r->at > r->stored ||
         !is_safe(l, r);
}

static int is_dead(const struct pawl_relay *l, const run *r) {
  return r->state == FAILED &&
         (r->refused || r->attempt >= l->options.max_attempts);
}

/* The number of the last row that was accepted, or one before the front. */
static int64_t upto(const run *r) {
  return r->at > r->stored ? row_of(r, r->at - 1)->seq
                           : row_of(r, r->stored)->seq - 1;
}

static int by_instance(const void *a, const void *b) {
  const run *const *x = a, *const *y = b;
  return pawl_id_cmp(&(*x)->instance, &(*y)->instance);
}

/* Those of one shard of which something is to be told, in the order of their
 * ids. */
static int collect(const pawl_engine *e, int shard, run **list) {
  struct pawl_relay *l = e->relay;
  int n = 0;

  for (int i = 0; i < l->nruns; i++)
    if (l->runs[i].shard == shard && is_told(l, &l->runs[i]))
      list[n++] = &l->runs[i];
  qsort(list, (size_t)n, sizeof *list, by_instance);
  return n;
}

static pawl_code send_accepted(pawl_engine *e, run **list, int n, int *at,
                               pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_outbox_lock);
  for (int i = 0; i < n; i++)
    PAWL_PUT(a, outbox_lock, .shard = list[i]->shard,
             .instance = &list[i]->instance,
             .seq = row_of(list[i], list[i]->stored)->seq,
             .upto = upto(list[i]), .lease = &list[i]->lease);
  MUST(pawl_store_send(e->store, a, NULL, err));
  pawl_args_begin(a, PAWL_STMT_outbox_publish);
  for (int i = 0; i < n; i++)
    if (list[i]->at > list[i]->stored)
      PAWL_PUT(a, outbox_publish, .shard = list[i]->shard,
               .instance = &list[i]->instance,
               .seq = row_of(list[i], list[i]->stored)->seq,
               .upto = upto(list[i]), .lease = &list[i]->lease,
               .now = pawl_store_now(e->store));
  return pawl_store_send(e->store, a, at, err);
}

/* What becomes of the front: a failure's pause, or death; ours for longer; or
 * anybody's, at once. */
static void put_front(pawl_engine *e, const run *r) {
  const struct pawl_relay *l = e->relay;
  const pawl_retry pause = {.base_us = l->options.base_us,
                            .cap_us = l->options.cap_us,
                            .factor = 2,
                            .jitter = 0.5};
  const int failed = r->state == FAILED, dead = is_dead(l, r);
  const int keeps = r->state == HELD || r->state == UNDER_WAY || dead;
  int64_t for_us = 0;

  if (failed && !dead)
    for_us = pawl_retry_delay(&pause, r->attempt, pawl_engine_random(e));
  else if (keeps)
    for_us = l->options.lease_us;
  PAWL_PUT(&e->args, outbox_pass, .shard = r->shard, .instance = &r->instance,
           .after = upto(r), .lease = &r->lease,
           .keep = keeps ? &r->lease : NULL, .for_us = for_us,
           .attempts = failed ? r->attempt : PAWL_NULL,
           .error = failed ? pawl_buf_some(&r->error) : (pawl_str){NULL, 0},
           .dead = dead, .now = pawl_store_now(e->store));
}

/* W14: behind what died the next one is the front. */
static void put_behind(pawl_engine *e, const run *r) {
  PAWL_PUT(&e->args, outbox_pass, .shard = r->shard, .instance = &r->instance,
           .after = row_of(r, r->at)->seq, .lease = &r->lease,
           .attempts = PAWL_NULL, .now = pawl_store_now(e->store));
}

static pawl_code send_fronts(pawl_engine *e, run **list, int n, int *at,
                             pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_outbox_pass);
  for (int i = 0; i < n; i++) put_front(e, list[i]);
  MUST(pawl_store_send(e->store, &e->args, at, err));
  pawl_args_begin(&e->args, PAWL_STMT_outbox_pass);
  for (int i = 0; i < n; i++)
    if (is_dead(e->relay, list[i])) put_behind(e, list[i]);
  return pawl_store_send(e->store, &e->args, NULL, err);
}

/* Does a statement's answer name the instance? */
static int is_named(pawl_store *store, int at, pawl_stmt stmt,
                    const pawl_id *id) {
  pawl_rows rows;

  pawl_store_rows(store, at, &rows);
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_id *found = stmt == PAWL_STMT_outbox_publish
                               ? pawl_read_outbox_publish(&rows, k).instance
                               : pawl_read_outbox_pass(&rows, k).instance;
    if (pawl_id_eq(found, id)) return 1;
  }
  return 0;
}

static void log_dead(pawl_engine *e, const run *r) {
  char id[PAWL_CLOUDEVENT_ID];
  pawl_error why;

  pawl_cloudevent_id(row_of(r, r->at), id);
  (void)pawl_fail_hint(&why, PAWL_CONFLICT,
                       "`pawl outbox retry` has it tried again", "%s (%s): %s",
                       id, row_of(r, r->at)->type.at,
                       pawl_buf_str(&r->error).at);
  pawl_log_error(&e->log, PAWL_WARN, "an event was set aside", &why);
}

/* It was stored: the run is free, or its rows before `at` are settled. */
static void accept(pawl_engine *e, run *r, int accepted, int fronts,
                   int64_t mono) {
  const struct pawl_relay *l = e->relay;
  const int some = r->at > r->stored;
  const pawl_stmt stmt =
      some ? PAWL_STMT_outbox_publish : PAWL_STMT_outbox_pass;

  if (!r->sent &&
      !is_named(e->store, some ? accepted : fronts, stmt, &r->instance)) {
    l->told->lost++;
    r->state = FREE;
    return;
  }
  l->told->published += r->at - r->stored;
  r->stored = r->at;
  r->sent = 0;
  r->until_mono_us = mono + l->options.lease_us;
  if (is_dead(l, r)) {
    l->told->dead++;
    log_dead(e, r);
  } else if (r->state == FAILED) {
    l->told->failed++;
  }
  if (r->state == FAILED || r->state == ENDED) r->state = FREE;
}

static pawl_code store_shard(pawl_engine *e, run **list, int n,
                             pawl_error *err) {
  const int64_t mono = pawl_clock_mono();
  int accepted = -1, fronts = -1;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(send_accepted(e, list, n, &accepted, err));
  TRY(send_fronts(e, list, n, &fronts, err));
  (void)PAWL_FAULT("engine.relay.store");
  TRY(pawl_store_commit(e->store, err));
  (void)PAWL_FAULT("engine.relay.stored");
  for (int i = 0; i < n; i++) accept(e, list[i], accepted, fronts, mono);
out:
  if (rc == PAWL_OK) return rc;
  pawl_store_rollback(e->store);
  /* perhaps it happened: then it happens once */
  for (int i = 0; i < n; i++) list[i]->sent = 1;
  return rc;
}

static pawl_code store_all(pawl_engine *e, pawl_error *err) {
  struct pawl_relay *l = e->relay;
  const size_t size = sizeof(run *) * (size_t)l->nruns;
  run **list = pawl_realloc(&e->alloc, NULL, 0, size);
  pawl_code rc = PAWL_OK;

  if (!list) return pawl_fail_memory(err);
  for (int s = 0; s < e->nshards; s++) {
    const int n = collect(e, s, list);
    if (n) TRY(store_shard(e, list, n, err));
  }
  l->stored_mono_us = pawl_clock_mono();
out:
  pawl_release(&e->alloc, list, size);
  return rc;
}

/* ---- a call ---- */

/* What is not under way goes back; at the end that, too. */
static pawl_code give_back(pawl_engine *e, int all, pawl_error *err) {
  struct pawl_relay *l = e->relay;

  for (int i = 0; i < l->nruns; i++)
    if (l->runs[i].state == HELD || (all && l->runs[i].state == UNDER_WAY))
      l->runs[i].state = ENDED;
  return store_all(e, err);
}

static pawl_code look_ahead(pawl_engine *e, int64_t *due_us, pawl_error *err) {
  pawl_rows rows;

  *due_us = PAWL_NEVER;
  for (int s = 0; s < e->nshards; s++) {
    MUST(PAWL_READ(e->store, outbox_next, &rows, err, .shard = s));
    if (!rows.nrows) continue;
    const int64_t at = pawl_read_outbox_next(&rows, 0).due_at;
    if (at < PAWL_TIME_MAX && at < *due_us) *due_us = at;
  }
  return PAWL_OK;
}

/* In slices, so that an interrupt ends it. */
static void sleep_until(const pawl_engine *e, int64_t until_mono) {
  int64_t now;

  while (!e->interrupted && (now = pawl_clock_mono()) < until_mono)
    pawl_sleep_us(until_mono - now < SLICE_US ? until_mono - now : SLICE_US);
}

/* The rate is spent: waits until it allows for more, unless nothing is there,
 * or the call's time is over by then, or what is under way wants to be asked.
 * *more: a portion can go. */
static pawl_code rest(pawl_engine *e, int64_t end, int *more,
                      pawl_error *err) {
  struct pawl_relay *l = e->relay;
  int64_t due_us;

  *more = count(l, HELD) > 0;
  if (!*more) {
    MUST(look_ahead(e, &due_us, err));
    *more = due_us <= pawl_engine_now(e);
  }
  if (!*more) return PAWL_OK;
  const int64_t until = pawl_clock_mono() + wait_us(l);
  *more = !count(l, UNDER_WAY) && until < end;
  l->told->limited = !*more;
  if (*more) sleep_until(e, until);
  return PAWL_OK;
}

/* Until nothing goes on, or the time is spent. */
static pawl_code go_round(pawl_engine *e, pawl_error *err) {
  struct pawl_relay *l = e->relay;
  const int64_t end = l->options.budget_us
                          ? pawl_clock_mono() + l->options.budget_us
                          : PAWL_NEVER;
  int more;

  l->stored_mono_us = pawl_clock_mono();
  do {
    pawl_store_call(e->store); /* it may go on for as long as there is more */
    earn(l);
    MUST(store_all(e, err)); /* what the call before could not */
    MUST(fill(e, err));
    more = publish_all(e);
    MUST(store_all(e, err));
    more = more || count(l, HELD);
    if (wait_us(l) && !l->options.finish) MUST(rest(e, end, &more, err));
  } while (more && !e->interrupted && pawl_clock_mono() < end);
  return PAWL_OK;
}

/* Who looks again sooner than the rate allows for finds nothing to do. */
static void heed_rate(pawl_engine *e, pawl_relayed *told) {
  const int64_t free_us = pawl_engine_now(e) + wait_us(e->relay);
  if (told->next_due_us < free_us && e->relay->options.rate)
    told->next_due_us = free_us;
}

pawl_code pawl_relay(pawl_engine *e, const pawl_relay_options *options,
                     pawl_publish_fn publish, void *ud, pawl_relayed *relayed,
                     pawl_error *err) {
  pawl_relayed own;
  pawl_relayed *told = relayed ? relayed : &own;
  pawl_error ignored;
  pawl_code rc = PAWL_OK;

  MUST(begin(e, err));
  e->relay->options = *options;
  MUST(make_runs(e, err));
  *told = (pawl_relayed){0};
  e->relay->publish = publish;
  e->relay->ud = ud;
  e->relay->told = told;
  TRY(go_round(e, err));
  TRY(give_back(e, 0, err));
  told->under_way = count(e->relay, UNDER_WAY);
  TRY(look_ahead(e, &told->next_due_us, err));
  heed_rate(e, told);
out:
  if (rc != PAWL_OK) (void)give_back(e, 0, &ignored);
  e->interrupted = 0;
  e->relay->told = NULL;
  return rc;
}

void pawl_relay_close(pawl_engine *e, int ask) {
  struct pawl_relay *l = e->relay;
  pawl_relayed told = {0};
  pawl_error err;

  if (!l) return;
  l->told = &told;
  if (ask && e->store && give_back(e, 1, &err) != PAWL_OK)
    pawl_log_error(&e->log, PAWL_WARN, "closing a relay", &err);
  for (int i = 0; i < l->nruns; i++) {
    pawl_buf_deinit(&l->runs[i].keep);
    pawl_buf_deinit(&l->runs[i].error);
  }
  pawl_release(&e->alloc, l->runs, sizeof *l->runs * (size_t)l->nruns);
  pawl_buf_deinit(&l->event);
  pawl_release(&e->alloc, l, sizeof *l);
  e->relay = NULL;
}
