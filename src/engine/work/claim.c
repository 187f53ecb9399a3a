/* Leases: what is due, taking it, keeping it, giving it back.
 *
 * Claims are SOON units (docs/decisions/0023): a machine that goes down takes
 * the executors of its SQLite store with it, and what they held is free then,
 * claim or no claim. Once one has gone down they are not, so that whoever
 * brings it down is found out. */
#include "claim.h"

#include <assert.h>

#include "../../base/fault.h"
#include "../common/pipeline.h"
#include "../common/time.h"
#include "budget.h"
#include "load.h"
#include "offers.h"
#include "stray.h"

#define PROMOTE_MAX 1000
#define PROMOTE_LEAST 8
#define LOOK_EVERY_US (PAWL_SECOND / 5) /* timers, under a full backlog */
#define TIMERS_EVERY_US (20 * 1000)     /* that have come, in a long tick */
#define QUEUE_US PAWL_SECOND            /* then others may have them */
#define QUEUE_NEW_US (50 * 1000)

static void saw_clock(pawl_engine *e, int64_t store_now_us) {
  if (store_now_us)
    e->clock_offset_us = store_now_us - pawl_clock_now(&e->clock);
}

pawl_code pawl_claim_clock(pawl_engine *e, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_READ(e->store, agenda_next, &rows, err, .shard = 0,
                           .now = pawl_store_now(e->store));
  if (rc == PAWL_OK) saw_clock(e, pawl_read_agenda_next(&rows, 0).now);
  return rc;
}

/* ---- looking ---- */

/* What to do about rows that are due and not ready. */
typedef enum on_due { DUE_PROMOTE, DUE_PROMOTED, DUE_TELL } on_due;

/* In a short tick no more become ready than it can run, or a few. */
static int promote_most(const pawl_engine *e) {
  if (!e->budget.is_short) return PROMOTE_MAX;
  const int room = pawl_budget_room(e, e->most);
  return room < PROMOTE_LEAST ? PROMOTE_LEAST : room;
}

/* *then: there may be more of them, or those that are left are another's. */
static pawl_code promote(pawl_engine *e, int shard, on_due *then,
                         pawl_error *err) {
  pawl_rows rows;
  /* one that is forgotten is promoted again */
  const pawl_agenda_promote_args row = {
      .shard = shard, .now = pawl_store_now(e->store), .max = promote_most(e)};

  MUST(pawl_store_once_one(e->store, PAWL_UNIT_SOON, PAWL_STMT_agenda_promote,
                           &row, &rows, err));
  e->promoted += rows.changed;
  *then = rows.changed < row.max ? DUE_PROMOTED : DUE_TELL;
  return PAWL_OK;
}

static pawl_code look_shard(pawl_engine *e, int shard, on_due how,
                            pawl_error *err) {
  pawl_rows rows;
  int64_t due, now;
  int next, offers;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(PAWL_SEND(e->store, agenda_next, &next, err, .shard = shard,
                .now = pawl_store_now(e->store)));
  TRY(PAWL_SEND(e->store, agenda_offers, &offers, err, .shard = shard,
                .executor_group = pawl_strz(e->config.group)));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, next, &rows);
  const pawl_agenda_next_row row = pawl_read_agenda_next(&rows, 0);
  now = row.now;
  saw_clock(e, now);
  if (row.due_at) {
    due = row.due_at;
    if (due <= now && how == DUE_PROMOTE) {
      TRY(promote(e, shard, &how, err));
      return look_shard(e, shard, how, err);
    }
    /* what is due and yet not promoted is locked by another promoter */
    if (due <= now && how == DUE_PROMOTED) due = now + 1000;
    if (due < e->next_due_us) e->next_due_us = due;
  }
  pawl_store_rows(e->store, offers, &rows);
  TRY(pawl_offers_take(e, &rows, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* Nobody tells when there is memory again. */
static void look_for_room(pawl_engine *e) {
  const int64_t soon = pawl_time_after(pawl_engine_now(e), PAWL_SECOND);
  if (soon < e->next_due_us) e->next_due_us = soon;
}

/* What a look that fails has not seen may be due: it is looked again with the
 * next chance, and until then what was known holds. */
static pawl_code look(pawl_engine *e, on_due how, pawl_error *err) {
  const int64_t known_us = e->next_due_us;
  pawl_code rc = PAWL_OK;

  e->quiet = 0;
  e->fresh_ready = e->suspect_ready = e->empty_shards = 0;
  e->held_up = e->kept_out = e->is_short = 0;
  e->look_mono_us = 0;
  e->next_due_us = PAWL_NEVER;
  /* taken before: what comes while it is looked is not seen */
  const int can_tell = pawl_store_mark(e->store, &e->mark);
  for (int s = 0; s < e->nshards && rc == PAWL_OK; s++)
    rc = look_shard(e, s, how, err);
  if (rc != PAWL_OK) {
    if (known_us < e->next_due_us) e->next_due_us = known_us;
    if (rc != PAWL_INTERRUPTED) return rc;
    e->next_due_us = 0; /* a definition was being loaded: it looks again */
    return PAWL_OK;
  }
  if (e->is_short) look_for_room(e);
  e->looks++;
  e->quiet = can_tell;
  e->look_mono_us = pawl_clock_mono() + LOOK_EVERY_US;
  e->timer_mono_us = pawl_clock_mono() + TIMERS_EVERY_US;
  if (e->fresh_ready || e->ahead == PAWL_AHEAD_DONE)
    e->ahead = PAWL_AHEAD_MAY;
  else if (e->ahead == PAWL_AHEAD_IN_VAIN)
    e->ahead = PAWL_AHEAD_NOT;
  return PAWL_OK;
}

pawl_code pawl_claim_look(pawl_engine *e, pawl_error *err) {
  return look(e, DUE_PROMOTE, err);
}

int pawl_claim_is_quiet(pawl_engine *e) {
  pawl_store_marks now;

  return e->quiet && pawl_clock_mono() < e->look_mono_us && !e->woken &&
         pawl_store_mark(e->store, &now) && now.ours == e->mark.ours &&
         now.others == e->mark.others;
}

pawl_code pawl_claim_peek(pawl_engine *e, pawl_error *err) {
  return pawl_claim_is_quiet(e) ? PAWL_OK : look(e, DUE_TELL, err);
}

/* ---- what was claimed ---- */

/* What is claimed, and where its result is. */
typedef struct claim {
  pawl_stmt stmt;    /* agenda_claim, or one of those like it */
  const pawl_id *id; /* of those that claim by ids: n of them; else NULL */
  int n;
  int shard;
  int want; /* of agenda_claim, agenda_claim_due: no more than these */
  pawl_id lease;
  int at, load_at; /* and that of its load; at -1: nothing was sent */
} claim;

/* A claimed agenda row goes into a slot; the instance follows. */
static void hold(pawl_engine *e, pawl_held *h, const claim *c,
                 const pawl_agenda_claim_row *row) {
  int64_t at_us = row->now;
  assert(h->state == PAWL_SLOT_FREE && !h->flights); /* N5 */
  h->state = PAWL_SLOT_READY;
  h->shard = c->shard;
  h->lease = c->lease;
  h->d.id = *row->instance;
  pawl_id_format(&h->d.id, h->d.id_text);
  h->d.takeovers = (int)row->takeovers;
  h->latch = (int)row->latch;
  h->was_due_us = row->was_due_at;
  h->d.taken = row->was_executor != NULL;
  if (h->d.taken) h->d.taken_from = *row->was_executor;
  /* by the store's time of then: the answer may have lain for a while */
  h->lease_until_us =
      (at_us ? at_us : pawl_engine_now(e)) + e->config.lease_us;
  h->held_mono_us = h->idle_mono_us = pawl_clock_mono();
  pawl_held_put_last(e, h);
  h->d.rounds = 0;
  h->queued_mono_us = 0;
  /* it came for a place that may be taken again by now */
  h->patience_us = e->nwaiting ? QUEUE_NEW_US : 0;
  h->fate = PAWL_FATE_STAYS;
  h->loaded = PAWL_LOADED_NOTHING;
  h->look = PAWL_LOOK_NO;
  h->d.one_by_one = 0;
  h->trimmed = -1;
  h->trims = 0;
  h->d.def = NULL;
  h->d.state.tokens.n = 0;
  h->d.nletters = h->d.nitems = 0;
  h->d.unread = 0;
  h->d.read_us = PAWL_NEVER;
  pawl_buf_clear(&h->d.undo);
  h->d.undo_last = 0;
  h->d.undo_gone = 0;
  h->d.undo_seq = 0;
  pawl_plan_reset(&h->d.plan);
  e->nheld++;
  if (e->stats) e->stats->claimed++;
}

/* ---- claiming ---- */

/* Those that claim one by its id tell, too, whether its workflow is suspended:
 * then only the inbox may be taken. */
static pawl_agenda_claim_row read_claim(const pawl_rows *r, int k,
                                        int *suspended) {
  *suspended = 0;
  if (r->stmt != PAWL_STMT_agenda_claim_one &&
      r->stmt != PAWL_STMT_agenda_claim_these &&
      r->stmt != PAWL_STMT_agenda_seize)
    return pawl_read_agenda_claim(r, k);
  const pawl_agenda_claim_one_row one = pawl_read_agenda_claim_one(r, k);
  *suspended = one.suspended != 0;
  return (pawl_agenda_claim_row){.instance = one.instance,
                                 .takeovers = one.takeovers,
                                 .latch = one.latch,
                                 .was_due_at = one.was_due_at,
                                 .was_executor = one.was_executor,
                                 .priority = one.priority,
                                 .now = one.now};
}

/* Rows of a claim in the order in which they should run. An UPDATE returns
 * them in any. */
static void sort_claim(const pawl_agenda_claim_row *rows, int n, int *order) {
  for (int k = 0; k < n; k++) {
    int at = k;
    for (; at > 0; at--) { /* nearly in order, as a rule */
      const pawl_agenda_claim_row *other = &rows[order[at - 1]];
      if (other->priority > rows[k].priority ||
          (other->priority == rows[k].priority &&
           other->was_due_at <= rows[k].was_due_at))
        break;
      order[at] = order[at - 1];
    }
    order[at] = k;
  }
}

/* What was claimed, and its instances. */
static pawl_code take_claim(pawl_engine *e, const claim *c, int *got,
                            pawl_error *err) {
  pawl_agenda_claim_row claims[PAWL_MAX_BATCH];
  int order[PAWL_MAX_BATCH], suspended = 0;
  pawl_rows rows;

  assert(c->at >= 0 && c->shard >= 0 && c->shard < e->nshards);
  pawl_store_rows(e->store, c->at, &rows);
  if (rows.nrows > PAWL_MAX_BATCH)
    return pawl_fail(err, PAWL_INTERNAL, "a claim of %d rows", rows.nrows);
  *got = rows.nrows;
  assert(!c->id || *got <= c->n);
  for (int k = 0; k < *got; k++) claims[k] = read_claim(&rows, k, &suspended);
  sort_claim(claims, *got, order);
  for (int k = 0; k < *got; k++) {
    pawl_held *h = pawl_held_get(e);
    if (!h) return pawl_fail(err, PAWL_INTERNAL, "no slot for a claim");
    hold(e, h, c, &claims[order[k]]);
    h->d.turn = suspended ? PAWL_TURN_LETTERS : PAWL_TURN_WHOLE;
  }
  pawl_store_rows(e->store, c->load_at, &rows);
  MUST(pawl_load_rows(e, &c->lease, &rows, err));
  MUST(pawl_stray_claimed(e, c->shard, &c->lease, err));
  if (!*got) return PAWL_OK;
  const pawl_spent was = pawl_budget_spend(e, PAWL_SPENT_LOAD);
  const pawl_code rc = pawl_load_more(e, err);
  (void)pawl_budget_spend(e, was);
  return rc;
}

/* A claim whose commit was not answered may have happened: its lease id is
 * kept, so that the rows need not wait for the lease's end. */
static void remember_lost(pawl_engine *e, const claim *c) {
  if (e->nlost_claims == PAWL_LOST_CLAIMS) return; /* those wait */
  e->lost_claims[e->nlost_claims].shard = c->shard;
  e->lost_claims[e->nlost_claims++].lease = c->lease;
}

/* Leases that ended in a group which is undone are there again, and nobody
 * here knows of them. First all that is held goes back. */
static pawl_code unclaim_all(pawl_engine *e, pawl_error *err) {
  if (!e->owes_leases) return PAWL_OK;
  MUST(pawl_claim_release(e, err));
  if (e->nheld) return PAWL_OK; /* another time */
  for (int s = 0; s < e->nshards; s++)
    MUST(PAWL_WRITE(e->store, agenda_unclaim_all, NULL, err, .shard = s,
                    .executor = &e->executor, .horizon_us = PAWL_MAX_LEASE_US,
                    .now = pawl_store_now(e->store)));
  e->owes_leases = 0;
  return PAWL_OK;
}

pawl_code pawl_claim_settle(pawl_engine *e, pawl_error *err) {
  while (e->nlost_claims) {
    int k = e->nlost_claims - 1;
    MUST(PAWL_WRITE(
        e->store, agenda_unclaim_lease, NULL, err,
        .shard = e->lost_claims[k].shard, .lease = &e->lost_claims[k].lease,
        .horizon_us = PAWL_MAX_LEASE_US, .now = pawl_store_now(e->store)));
    e->nlost_claims = k;
  }
  return unclaim_all(e, err);
}

/* `end`: pawl_store_commit, or the two halves of it. */
static pawl_code end_claim(pawl_engine *e, const claim *c,
                           pawl_code (*end)(pawl_store *, pawl_error *),
                           pawl_error *err) {
  pawl_code rc = end(e->store, err);
  if (rc == PAWL_UNREACHABLE) remember_lost(e, c);
  return rc;
}

static int claim_unit(const pawl_engine *e, const claim *c) {
  return c->stmt == PAWL_STMT_agenda_claim_suspect || e->careful
             ? PAWL_UNIT_BATCH
             : PAWL_UNIT_SOON;
}

#define CLAIM_MEMBERS(e, c, now_us)                                      \
  .shard = (c)->shard, .lease = &(c)->lease, .executor = &(e)->executor, \
  .lease_us = (e)->config.lease_us, .now = (now_us)
#define OFFER_MEMBERS(e, i)                           \
  .executor_group = pawl_strz((e)->config.group),     \
  .workflow = pawl_buf_str(&(e)->offers[i].workflow), \
  .version = (e)->offers[i].version

/* How many of the ids lie in the shard? */
static int count_these(const pawl_engine *e, const claim *c) {
  int n = 0;
  for (int i = 0; i < c->n; i++) n += pawl_shard_of(e, &c->id[i]) == c->shard;
  return n;
}

/* The first of them. */
static void put_these(pawl_engine *e, const claim *c, int64_t now) {
  for (int i = 0, n = 0; i < c->n && n < c->want; i++) {
    if (pawl_shard_of(e, &c->id[i]) != c->shard) continue;
    PAWL_PUT(&e->args, agenda_claim_these, CLAIM_MEMBERS(e, c, now),
             .id = &c->id[i]);
    n++;
  }
}

/* No more is claimed than there is room for: what came beyond it would be
 * leased, and nobody knew. One that is named is not passed by for that. */
static pawl_code make_room(pawl_engine *e, claim *c, pawl_error *err) {
  const int named = c->id && c->stmt != PAWL_STMT_agenda_claim_these;

  if (c->id) c->want = count_these(e, c);
  MUST(pawl_held_make(e, &c->want, err));
  return named && !c->want ? pawl_fail_memory(err) : PAWL_OK;
}

/* The statement, for all that we would run; without rows when that is nothing.
 * The two that name one are alike in their arguments. */
static void put_claim(pawl_engine *e, const claim *c, int64_t now) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, c->stmt);
  if (!c->want) return;
  if (c->stmt == PAWL_STMT_agenda_claim_these)
    put_these(e, c, now);
  else if (c->id)
    PAWL_PUT(a, agenda_claim_one, CLAIM_MEMBERS(e, c, now), .id = c->id);
  for (int i = 0; !c->id && i < e->noffers; i++) {
    if (!pawl_offer_is_open(e, &e->offers[i])) continue;
    if (c->stmt == PAWL_STMT_agenda_claim)
      PAWL_PUT(a, agenda_claim, CLAIM_MEMBERS(e, c, now), OFFER_MEMBERS(e, i),
               .max = c->want);
    else if (c->stmt == PAWL_STMT_agenda_claim_due)
      PAWL_PUT(a, agenda_claim_due, CLAIM_MEMBERS(e, c, now),
               OFFER_MEMBERS(e, i), .max = c->want);
    else
      PAWL_PUT(a, agenda_claim_suspect, CLAIM_MEMBERS(e, c, now),
               OFFER_MEMBERS(e, i));
  }
}

/* Sends a claim of one shard, and its load. @now of both must be the same
 * instant: the database's now() is (one transaction), the host's clock is read
 * once. */
static pawl_code send_claim(pawl_engine *e, claim *c, pawl_error *err) {
  const int64_t now = pawl_store_now(e->store);

  c->at = -1;
  MUST(make_room(e, c, err));
  MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &c->lease, err));
  put_claim(e, c, now);
  if (!pawl_args_rows(&e->args)) return PAWL_OK;
  MUST(pawl_store_begin(e->store, claim_unit(e, c), err));
  MUST(pawl_store_send(e->store, &e->args, &c->at, err));
  return PAWL_SEND(e->store, instance_load, &c->load_at, err,
                   .shard = c->shard, .lease = &c->lease,
                   .lease_us = e->config.lease_us, .now = now);
}

static void saw_next(pawl_engine *e, int next) {
  pawl_rows rows;

  pawl_store_rows(e->store, next, &rows);
  const int64_t due = pawl_read_agenda_next(&rows, 0).due_at;
  e->next_due_us = due ? due : PAWL_NEVER;
  if (e->is_short) look_for_room(e);
}

/* *got: how many slots hold what was claimed. With what has come due, what is
 * due behind it is read. */
static pawl_code claim_now(pawl_engine *e, claim *c, int *got,
                           pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;
  int suspended, next = -1;

  *got = 0;
  TRY(send_claim(e, c, err));
  if (c->at < 0) return PAWL_OK;
  if (c->stmt == PAWL_STMT_agenda_claim_due)
    TRY(PAWL_SEND(e->store, agenda_next, &next, err, .shard = c->shard,
                  .now = pawl_store_now(e->store)));
  TRY(end_claim(e, c, pawl_store_commit, err));
  if (next >= 0) saw_next(e, next);
  pawl_store_rows(e->store, c->at, &rows); /* waited for: what time is it? */
  if (rows.nrows) saw_clock(e, read_claim(&rows, 0, &suspended).now);
  (void)PAWL_FAULT("engine.claim.after");
  TRY(take_claim(e, c, got, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* Of one shard after the other. *want: then no more than there was room for. */
static pawl_code claim_next(pawl_engine *e, pawl_stmt stmt, int *want,
                            int *got, pawl_error *err) {
  claim c = {.stmt = stmt, .shard = e->next_shard, .want = *want};
  e->next_shard = (c.shard + 1) % e->nshards;
  const pawl_code rc = claim_now(e, &c, got, err);
  *want = c.want;
  return rc;
}

/* N3: one, before the others. All that is held waits, and does nothing else
 * until this one has run. */
static pawl_code claim_suspect(pawl_engine *e, int *got, pawl_error *err) {
  for (int k = 0; k < e->nshards && !*got; k++) {
    int want = 1;
    MUST(claim_next(e, PAWL_STMT_agenda_claim_suspect, &want, got, err));
  }
  e->suspect_ready = *got > 0;
  PAWL_EACH_SLOT (e, h)
    if (*got && h->state != PAWL_SLOT_FREE && !h->flights) e->alone = h;
  /* N3; or it led nowhere */
  assert(e->nheld == e->nwaiting + (e->alone != NULL));
  return PAWL_OK;
}

pawl_code pawl_claim_more(pawl_engine *e, int want, pawl_error *err) {
  int n = 0, got = 0, more = 0;

  if (e->suspect_ready && !e->alone && e->nheld == e->nwaiting) {
    MUST(claim_suspect(e, &got, err));
    if (got) return PAWL_OK;
  }
  if (!e->fresh_ready || pawl_alone_is_next(e)) return PAWL_OK;
  for (int k = 0; k < e->nshards && got < want; k++) {
    int room = want - got;
    MUST(claim_next(e, PAWL_STMT_agenda_claim, &room, &n, err));
    if (!room) look_for_room(e);
    more = more || (n == room && n > 0 && room < want - got);
    got += n;
  }
  if (got < want && !more) e->fresh_ready = 0; /* until the next look */
  return PAWL_OK;
}

pawl_code pawl_claim_due(pawl_engine *e, int want, pawl_error *err) {
  int got;

  assert(e->nshards == 1);
  return claim_next(e, PAWL_STMT_agenda_claim_due, &want, &got, err);
}

pawl_code pawl_claim_unlooked(pawl_engine *e, int want, pawl_error *err) {
  int before = e->nheld;

  e->fresh_ready = 1;
  e->ahead = PAWL_AHEAD_DONE;
  e->look_mono_us = pawl_clock_mono() + LOOK_EVERY_US;
  MUST(pawl_claim_more(e, want, err));
  if (e->nheld == before) e->ahead = PAWL_AHEAD_IN_VAIN;
  return PAWL_OK;
}

/* The end of one that was sent ahead. */
static pawl_code finish(pawl_engine *e, pawl_sent *sent, pawl_error *err) {
  const claim c = {.stmt = PAWL_STMT_agenda_claim,
                   .shard = sent->shard,
                   .lease = sent->lease,
                   .at = sent->at,
                   .load_at = sent->load_at};
  int got = 0;

  e->claiming -= sent->want;
  assert(e->claiming >= 0);
  MUST(end_claim(e, &c, pawl_store_finish, err));
  (void)PAWL_FAULT("engine.claim.after");
  MUST(take_claim(e, &c, &got, err));
  if (got == sent->want)
    e->empty_shards = 0;
  else if (sent->looks == e->looks) /* what was seen since is there still */
    e->empty_shards++;
  if (e->empty_shards >= e->nshards) e->fresh_ready = 0;
  return PAWL_OK;
}

pawl_code pawl_claim_send(pawl_engine *e, int want, pawl_error *err) {
  claim c = {.stmt = PAWL_STMT_agenda_claim, .want = want};
  pawl_sent *sent;
  pawl_code rc = PAWL_OK;

  if (!e->fresh_ready) return PAWL_OK;
  TRY(pawl_pipeline_place(e, &sent, err));
  c.shard = e->next_shard;
  e->next_shard = (c.shard + 1) % e->nshards;
  TRY(send_claim(e, &c, err));
  if (c.at < 0) {
    if (!c.want) look_for_room(e);
    e->fresh_ready = 0;
    return PAWL_OK;
  }
  TRY(end_claim(e, &c, pawl_store_submit, err));
  sent->shard = c.shard;
  sent->lease = c.lease;
  sent->at = c.at;
  sent->load_at = c.load_at;
  sent->want = c.want;
  sent->looks = e->looks;
  sent->finish = finish;
  e->claiming += c.want;
  pawl_pipeline_sent(e);
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

static pawl_code claim_this(pawl_engine *e, pawl_stmt stmt, const pawl_id *id,
                            int *got, pawl_error *err) {
  claim c = {.stmt = stmt, .id = id, .n = 1, .shard = pawl_shard_of(e, id)};
  return claim_now(e, &c, got, err);
}

pawl_code pawl_claim_one(pawl_engine *e, const pawl_id *id, int *got,
                         pawl_error *err) {
  return claim_this(e, PAWL_STMT_agenda_claim_one, id, got, err);
}

pawl_code pawl_claim_seize(pawl_engine *e, const pawl_id *id, int *got,
                           pawl_error *err) {
  return claim_this(e, PAWL_STMT_agenda_seize, id, got, err);
}

pawl_code pawl_claim_these(pawl_engine *e, const pawl_id *ids, int n,
                           pawl_error *err) {
  assert(n <= PAWL_MAX_BATCH);
  for (int s = 0; s < e->nshards; s++) {
    claim c = {
        .stmt = PAWL_STMT_agenda_claim_these, .id = ids, .n = n, .shard = s};
    int got;
    MUST(claim_now(e, &c, &got, err));
  }
  return PAWL_OK;
}

pawl_code pawl_claim_reload(pawl_engine *e, pawl_held *h, pawl_error *err) {
  pawl_rows rows;
  int latch;

  assert(h->state == PAWL_SLOT_READY ||
         h->state == PAWL_SLOT_PLANNED); /* L1 */
  MUST(PAWL_READ(e->store, agenda_get, &rows, err, PAWL_SLOT_MEMBERS(h),
                 .now = pawl_store_now(e->store)));
  if (!pawl_held_is_ours(h, &rows, &latch))
    return pawl_fail(err, PAWL_LEASE_LOST,
                     "instance %s: its lease was taken back, by `kill` or by "
                     "another executor",
                     h->d.id_text);
  pawl_held_look(h, PAWL_LOOK_AGAIN);
  MUST(pawl_load_more(e, err));
  h->latch = latch; /* not before: it says what was read (N6) */
  return PAWL_OK;
}

/* ---- keeping and giving back ---- */

/* Who has begun goes on here, as a rule; who came for a place that has been
 * taken again may get the next. */
static int is_queued(const pawl_engine *e, const pawl_held *h) {
  return h->state == PAWL_SLOT_READY && !h->flights && h->queued_mono_us &&
         e->nflights >= e->config.concurrency &&
         pawl_clock_mono() - h->queued_mono_us <
             (h->d.rounds > 0 ? QUEUE_US : h->patience_us);
}

int pawl_claim_queued(const pawl_engine *e) {
  int n = 0;
  PAWL_EACH_SLOT (e, h) n += is_queued(e, h);
  return n;
}

static int is_idle(const pawl_engine *e, const pawl_held *h, int shard) {
  return h->state == PAWL_SLOT_READY && h->shard == shard && !h->flights &&
         !is_queued(e, h);
}

/* What is LEAVING is READY again when that cannot be told. */
static pawl_code release_shard(pawl_engine *e, int shard, pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_agenda_unclaim);
  PAWL_EACH_SLOT (e, h) {
    if (!is_idle(e, h, shard)) continue;
    h->state = PAWL_SLOT_LEAVING;
    PAWL_PUT(&e->args, agenda_unclaim, PAWL_LEASE_MEMBERS(h),
             .executor = h->d.taken ? &h->d.taken_from : NULL,
             .due_at = h->was_due_us ? h->was_due_us : pawl_engine_now(e));
  }
  if (!pawl_args_rows(&e->args)) return PAWL_OK;
  pawl_code rc =
      pawl_store_once(e->store, PAWL_UNIT_BATCH, &e->args, NULL, err);
  PAWL_EACH_SLOT (e, h) {
    if (h->state != PAWL_SLOT_LEAVING) continue;
    h->state = PAWL_SLOT_READY;
    if (rc == PAWL_OK) pawl_held_free(e, h);
  }
  if (rc == PAWL_OK) e->fresh_ready = 1; /* at least these */
  return rc;
}

pawl_code pawl_claim_release(pawl_engine *e, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  if (e->nheld == e->nwaiting) return PAWL_OK;
  const pawl_spent was = pawl_budget_spend(e, PAWL_SPENT_CLAIM);
  for (int s = 0; s < e->nshards && rc == PAWL_OK; s++)
    rc = release_shard(e, s, err);
  (void)pawl_budget_spend(e, was);
  return rc;
}

static pawl_code heartbeat_shard(pawl_engine *e, int shard, pawl_error *err) {
  pawl_rows rows;

  pawl_args_begin(&e->args, PAWL_STMT_agenda_heartbeat);
  PAWL_EACH_SLOT (e, h) {
    if (h->state == PAWL_SLOT_FREE || h->shard != shard) continue;
    PAWL_PUT(&e->args, agenda_heartbeat, PAWL_LEASE_MEMBERS(h),
             .lease_us = e->config.lease_us, .now = pawl_store_now(e->store));
  }
  if (!pawl_args_rows(&e->args)) return PAWL_OK;
  MUST(pawl_store_once(e->store, PAWL_UNIT_BATCH, &e->args, &rows, err));
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_agenda_heartbeat_row row = pawl_read_agenda_heartbeat(&rows, k);
    pawl_held *h = pawl_held_find(e, row.instance, NULL);
    if (h) h->lease_until_us = row.due_at;
  }
  return PAWL_OK;
}

/* All of them as soon as one has lost a third: a renewal that fails is tried
 * again before that one has ended. */
pawl_code pawl_claim_heartbeat(pawl_engine *e, int force, pawl_error *err) {
  int64_t now = pawl_engine_now(e), soonest = PAWL_NEVER;

  PAWL_EACH_SLOT (e, h)
    if (h->state != PAWL_SLOT_FREE && h->lease_until_us < soonest)
      soonest = h->lease_until_us;
  if (soonest == PAWL_NEVER) return PAWL_OK;
  if (!force && soonest - now > e->config.lease_us * 2 / 3) return PAWL_OK;
  for (int s = 0; s < e->nshards; s++) MUST(heartbeat_shard(e, s, err));
  return PAWL_OK;
}
