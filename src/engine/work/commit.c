/* The batch: every plan under its instance's lease, in one round trip.
 *
 *   planned --> sent --> stored      the plan is the state now
 *                    --> not held    decided again on a fresh look, or dropped
 *                    --> refused     sent again in halves, down to one
 *                    --> no answer   settled by the row, under its lock
 *
 * Statements go in the order of the locks: agenda rows by id, instances, then
 * their rows (commit_rows.c sends those that a plain step has none of), and at
 * last what lets the agenda rows go. Plans that are all plain go a shorter way
 * (plain.h), and this one when that was refused. */
#include "commit.h"

#include <assert.h>
#include <stdlib.h>

#include "../../base/fault.h"
#include "../../rules/decide.h"
#include "../../value/json.h"
#include "../common/pipeline.h"
#include "../common/sortable.h"
#include "../common/time.h"
#include "attr_log.h"
#include "await.h"
#include "batch.h"
#include "claim.h"
#include "durable.h"
#include "failure_told.h"
#include "large_vars.h"
#include "plain.h"
#include "room.h"
#include "run.h"
#include "told.h"
#include "trim.h"

#define BUSY_TRIES 5
#define IN_NEED_TRIES 3

/* ---- which plans need which statement ---- */

static int goes_on(const pawl_plan *p) {
  return pawl_plan_writes(p) && p->after != PAWL_AFTER_END && !p->stays;
}
static int ends(const pawl_plan *p) {
  return p->after == PAWL_AFTER_END;
}
/* The latch falls only by what was seen: it is what brings the next holder to
 * the inbox. */
static int keeps(const pawl_held *h) {
  return h->d.plan.after == PAWL_AFTER_GO_ON && (h->d.takeovers || h->latch) &&
         h->d.plan.resets && h->d.plan.heard;
}
static int releases(const pawl_plan *p) {
  return p->after == PAWL_AFTER_LET_GO || p->after == PAWL_AFTER_BACK ||
         p->after == PAWL_AFTER_SLEEP;
}
static int drops_row(const pawl_plan *p) {
  return p->after == PAWL_AFTER_END || p->after == PAWL_AFTER_FORGET ||
         p->after == PAWL_AFTER_SLEEP;
}
/* Rows that its variables are in from now on (large_vars.h). */
static int64_t parts_of(const pawl_held *h) {
  return h->d.plan.vars_changed ? h->vars_parts : PAWL_NULL;
}

/* ---- what is sent ---- */

pawl_code pawl_commit_lock(pawl_engine *e, pawl_held **list, int n, int *at,
                           pawl_error *err) {
  PAWL_SEND_PLANS(agenda_lock, at, 1, PAWL_GUARD_MEMBERS(h));
  return PAWL_OK;
}

static pawl_str status_of(const pawl_state *s) {
  return pawl_strz(pawl_status_name(s->status));
}

/* The rows of those that go on, in another status or in the one that they had;
 * one token that is outside all forks is part of them. */
static pawl_code send_going_on(pawl_engine *e, pawl_held **list, int n,
                               int64_t now, pawl_stmt stmt, pawl_error *err) {
  pawl_args *a = &e->args;
  const int turns = stmt == PAWL_STMT_instance_commit;

  pawl_args_begin(a, stmt);
  EACH (h) {
    const pawl_plan *p = &h->d.plan;
    const pawl_token *lone = pawl_lone_of(&h->d.plan);
    if (!goes_on(p) || (h->d.state.status != p->state.status) != turns)
      continue;
    PAWL_PUT(
        a, instance_commit, PAWL_GUARD_MEMBERS(h), PAWL_STEP_MEMBERS(h),
        .was = status_of(&h->d.state), .status = status_of(&p->state),
        .parts = parts_of(h), .token_no = lone ? lone->no : 0,
        .token_state =
            pawl_strz(lone ? pawl_token_state_name(lone->state) : NULL),
        .node = pawl_strz(lone ? lone->node : p->state.node),
        .previous_node = pawl_strz(lone ? lone->previous : p->state.previous),
        .attempt = lone ? lone->attempt : 0,
        .token_due_at = lone ? lone->due_us : p->state.begin_us,
        .error = pawl_buf_some(&p->error), .updated_at = now);
  }
  return pawl_store_send(e->store, a, NULL, err);
}

static pawl_code send_instances(pawl_engine *e, pawl_held **list, int n,
                                int64_t now, pawl_error *err) {
  MUST(send_going_on(e, list, n, now, PAWL_STMT_instance_commit, err));
  return send_going_on(e, list, n, now, PAWL_STMT_instance_stand, err);
}

/* The rows of those that end, and of those that had ended and stay so (E1). */
static pawl_code send_ends(pawl_engine *e, pawl_held **list, int n,
                           int64_t now, pawl_error *err) {
  PAWL_SEND_PLANS(instance_end, NULL, ends(p), PAWL_GUARD_MEMBERS(h),
                  PAWL_END_MEMBERS(h), .was = status_of(&h->d.state),
                  .status = status_of(&p->state), .parts = parts_of(h),
                  .error = pawl_buf_some(&p->error),
                  .cancellation = pawl_buf_some(&p->state.cancellation),
                  .updated_at = now);
  PAWL_SEND_PLANS(instance_stay, NULL, p->stays, PAWL_LEASE_MEMBERS(h),
                  PAWL_ROW_MEMBERS(h), .parts = parts_of(h),
                  .node = pawl_strz(p->state.node),
                  .previous_node = pawl_strz(p->state.previous),
                  .updated_at = now);
  return PAWL_OK;
}

/* It has failed, or was suspended, or did so before: what is in `failure` of it
 * follows from its row, written by now. */
static int may_be_failure(const pawl_held *h) {
  const pawl_standing was = h->d.state.status, is = h->d.plan.state.status;

  return pawl_plan_writes(&h->d.plan) &&
         (is == PAWL_STATUS_FAILED || is == PAWL_STATUS_SUSPENDED ||
          was == PAWL_STATUS_FAILED || was == PAWL_STATUS_SUSPENDED);
}

static pawl_code send_failures(pawl_engine *e, pawl_held **list, int n,
                               pawl_error *err) {
  PAWL_SEND_PLANS(failure_drop, NULL, may_be_failure(h),
                  PAWL_GUARD_MEMBERS(h));
  PAWL_SEND_PLANS(failure_put, NULL, may_be_failure(h), PAWL_LEASE_MEMBERS(h));
  return PAWL_OK;
}

/* The row that it had in `deadline`, and the one that it has from now on. */
static int64_t deadline_row(const pawl_state *s) {
  return pawl_status_has_ended(s->status) ? 0 : s->deadline_us;
}

static pawl_code send_deadlines(pawl_engine *e, pawl_held **list, int n,
                                pawl_error *err) {
#define WAS deadline_row(&h->d.state)
#define IS deadline_row(&p->state)
  PAWL_SEND_PLANS(deadline_drop, NULL, pawl_plan_writes(p) && WAS && !IS,
                  PAWL_GUARD_MEMBERS(h));
  PAWL_SEND_PLANS(deadline_put, NULL, pawl_plan_writes(p) && IS && IS != WAS,
                  PAWL_LEASE_MEMBERS(h));
#undef WAS
#undef IS
  return PAWL_OK;
}

static pawl_code send_history(pawl_engine *e, pawl_held **list, int n,
                              pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_history_insert);
  EACH (h) {
    if (!pawl_plan_writes(&h->d.plan)) continue;
    for (int k = 0; k < h->d.plan.nrecords; k++) {
      const pawl_record *r = &h->d.plan.records[k];
      PAWL_PUT(a, history_insert, PAWL_GUARD_MEMBERS(h),
               PAWL_RECORD_MEMBERS(e, h, r, k), .by = pawl_buf_some(&r->by),
               .text = pawl_buf_some(&r->text),
               .error = pawl_buf_some(&r->error), .due_at = r->due_us,
               .previous = pawl_buf_some(&r->previous),
               .request = r->has_request ? &r->request : NULL);
    }
  }
  return pawl_store_send(e->store, a, NULL, err);
}

/* Attributes are rare: each instance that set some sends its own. */
static pawl_code send_attributes(pawl_engine *e, pawl_held *h, int64_t now,
                                 pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_str attrs = pawl_buf_str(&h->d.plan.attrs);
  pawl_buf scratch = {.alloc = &e->alloc};
  pawl_attribute v;
  pawl_str sorts;
  pawl_code rc = PAWL_OK;

  /* columns borrow from the scratch, so it must not move: it never holds
   * more than the text it is taken from, once as text and once as bytes */
  if (!pawl_buf_room(&scratch, 4 * attrs.len + 64))
    return pawl_fail_memory(err);
  pawl_args_begin(a, PAWL_STMT_attribute_put);
  for (pawl_json_iter it = {0}; pawl_json_walk(attrs, &it);) {
    if (pawl_json_kind_of(it.value) == PAWL_JSON_NULL) continue;
    TRY(pawl_attribute_read(it.key, it.value, &v, &scratch, err));
    sorts = pawl_sortable_of(&v, &scratch);
    PAWL_PUT(a, attribute_put, PAWL_GUARD_MEMBERS(h),
             PAWL_ATTRIBUTE_MEMBERS(v, sorts), .updated_at = now);
  }
  TRY(pawl_store_send(e->store, a, NULL, err));
  pawl_args_begin(a, PAWL_STMT_attribute_delete);
  for (pawl_json_iter it = {0}; pawl_json_walk(attrs, &it);) {
    if (pawl_json_kind_of(it.value) != PAWL_JSON_NULL) continue;
    PAWL_PUT(a, attribute_delete, PAWL_GUARD_MEMBERS(h), .name = it.key);
  }
  TRY(pawl_store_send(e->store, a, NULL, err));
out:
  pawl_buf_deinit(&scratch);
  return rc;
}

/* The latch that the decision has seen; -1: not all of it, so that the row
 * stays as it is and due at once (N6). */
static int seen_latch(const pawl_held *h) {
  return pawl_decision_saw_all(&h->d) ? h->latch : -1;
}

/* Who only took the inbox, and found nothing to take, has not served it: it has
 * been due for as long as before. */
static int64_t look_us(pawl_engine *e, const pawl_held *h) {
  int64_t us = h->d.plan.look_us, before = h->was_due_us;
  int in_vain = h->d.turn == PAWL_TURN_LETTERS &&
                h->d.plan.after == PAWL_AFTER_BACK && us <= pawl_engine_now(e);

  return in_vain && before < us ? before : us;
}

static pawl_code send_agenda(pawl_engine *e, pawl_held **list, int n,
                             pawl_error *err) {
  const int64_t now = pawl_store_now(e->store);

  PAWL_SEND_PLANS(agenda_keep, NULL, keeps(h), PAWL_GUARD_MEMBERS(h),
                  .seen = h->latch);
  PAWL_SEND_PLANS(
      agenda_release, NULL, releases(p), PAWL_GUARD_MEMBERS(h),
      .seen = seen_latch(h), .now = now,
      .due_at = p->after == PAWL_AFTER_SLEEP ? PAWL_NULL : look_us(e, h));
  PAWL_SEND_PLANS(agenda_end, NULL, drops_row(p), PAWL_LEASE_MEMBERS(h),
                  .seen = h->latch);
  return PAWL_OK;
}

/* The version that an instance runs on from now, once it is known. */
static pawl_code send_pin(pawl_engine *e, const pawl_held *h,
                          pawl_error *err) {
  MUST(PAWL_SEND(e->store, instance_pin, NULL, err, PAWL_LEASE_MEMBERS(h),
                 .version = h->d.version));
  return PAWL_SEND(e->store, agenda_pin, NULL, err, PAWL_LEASE_MEMBERS(h),
                   .version = h->d.version);
}

/* What a decision has promised, before any of it is written. */
static void assert_plan(const pawl_held *h) {
  const pawl_plan *p = &h->d.plan;
  pawl_standing was = h->d.state.status, is = p->state.status;

  assert(!p->failed);                                    /* N7 */
  assert(!drops_row(p) || pawl_decision_saw_all(&h->d)); /* N6 */
  assert(!(goes_on(p) || ends(p)) || p->revives ||
         pawl_status_may_become(was, is));
  assert(!p->stays || (pawl_status_has_ended(was) && is == was)); /* E1 */
  assert(!p->stays || !p->revives);                               /* E1 */
  assert(!ends(p) || pawl_status_has_ended(is));
  (void)was;
  (void)is;
  (void)p;
}

/* Everything after the lock. */
static pawl_code send_plans(pawl_engine *e, pawl_held **list, int n,
                            pawl_error *err) {
  int64_t now = pawl_engine_now(e);

  EACH (h) {
    assert_plan(h);
    if (h->d.plan.vars_changed)
      h->vars_parts =
          pawl_parts_count(h->parts, pawl_buf_str(&h->d.plan.vars));
  }
  MUST(send_instances(e, list, n, now, err));
  MUST(send_ends(e, list, n, now, err));
  MUST(pawl_parts_send(e, list, n, err));
  MUST(pawl_commit_seldom(e, list, n, err));
  MUST(send_failures(e, list, n, err));
  MUST(send_deadlines(e, list, n, err));
  MUST(send_history(e, list, n, err));
  MUST(pawl_commit_tokens(e, list, n, now, err));
  EACH (h) {
    if (h->d.plan.attrs.len && pawl_plan_writes(&h->d.plan))
      MUST(send_attributes(e, h, now, err));
  }
  EACH (h) {
    if (h->fate == PAWL_FATE_PINNED) MUST(send_pin(e, h, err));
  }
  MUST(pawl_commit_effects(e, list, n, now, err));
  MUST(pawl_commit_ends(e, list, n, now, err));
  return send_agenda(e, list, n, err);
}

/* ---- what came of it ---- */

static int is_row_of(const pawl_rows *rows, int k, const pawl_id *id) {
  return pawl_id_eq(pawl_read_agenda_lock(rows, k).instance, id);
}

/* Rows come mostly just as they were sent: `at` is the first guess. */
static int locked_row(const pawl_rows *rows, int at, const pawl_id *id) {
  if (at < rows->nrows && is_row_of(rows, at, id)) return at;
  for (int k = 0; k < rows->nrows; k++)
    if (is_row_of(rows, k, id)) return k;
  return -1;
}

static void lose(pawl_engine *e, pawl_held *h) {
  pawl_held_lose_lease(e, h, "; what ran here is dropped");
}

/* A stored plan: the slot goes on or is free. */
static void stored(pawl_engine *e, pawl_held *h, int latch) {
  pawl_after after = h->d.plan.after;
  int kept = keeps(h);

  if (pawl_plan_writes(&h->d.plan) && !e->deliver_pause &&
      pawl_plan_has(&h->d.plan, PAWL_EFFECT_MESSAGE))
    e->deliver_mono_us = 0;

  if (e->stats) {
    e->stats->committed++;
    e->stats->ended += after == PAWL_AFTER_END;
  }
  if ((after == PAWL_AFTER_LET_GO || after == PAWL_AFTER_BACK) &&
      h->d.plan.look_us < e->next_due_us)
    e->next_due_us = h->d.plan.look_us;
  if (after != PAWL_AFTER_GO_ON) {
    /* It is due, and who sent what came saw that it was held and woke nobody:
     * also a tick that has no time for another look is to know. */
    if (latch != h->latch) e->let_go_due = e->woken = 1;
    pawl_held_free(e, h);
    return;
  }
  assert(h->fate != PAWL_FATE_FOREIGN);
  h->fate = PAWL_FATE_STAYS;
  h->in_need = 0;
  pawl_held_accept(h);
  pawl_await_check(e, h);
  if (kept) h->d.takeovers = 0;
  if (latch != h->latch)
    pawl_held_look(h, PAWL_LOOK_AGAIN);
  else if (kept) /* the row's latch fell by what we had seen */
    latch = 0;
  h->latch = latch;
  h->state = PAWL_SLOT_READY;
}

/* Not among the rows that were locked: taken over, or something came in that
 * an ending must not overlook. The handler's result is kept. */
static pawl_code decide_again(pawl_engine *e, pawl_held *h, pawl_error *err) {
  pawl_code rc = pawl_plan_needs_latch(&h->d.plan)
                     ? pawl_claim_reload(e, h, err)
                     : PAWL_LEASE_LOST;
  if (rc == PAWL_LEASE_LOST) {
    lose(e, h);
    return PAWL_OK;
  }
  if (rc != PAWL_OK) return rc;
  const int ran = h->d.plan.ran || h->d.plan.waits;
  if (h->flights && !ran && !pawl_decide_beside(&h->d)) {
    /* what was asked for is decided once none waits any more */
    pawl_plan_reset(&h->d.plan);
    h->state = PAWL_SLOT_READY;
    return PAWL_OK;
  }
  h->d.plan.heard =
      !h->d.nletters; /* what came meanwhile is for the next one */
  if (!ran)
    pawl_step_run(e, h);
  else
    pawl_step_hear(e, h);
  return PAWL_OK; /* still planned: the next commit sends it again */
}

/* `rows`: of agenda_lock. They are used up before anything else is asked. */
static pawl_code apply(pawl_engine *e, pawl_held **list, int n,
                       const pawl_rows *rows, pawl_error *err) {
  pawl_held *again[PAWL_MAX_BATCH];
  int nagain = 0;

  assert(rows->nrows <= n);

  for (int i = 0; i < n; i++) {
    int k = locked_row(rows, i, &list[i]->d.id);
    if (k < 0) {
      again[nagain++] = list[i];
      continue;
    }
    stored(e, list[i], (int)pawl_read_agenda_lock(rows, k).latch);
  }
  for (int i = 0; i < nagain; i++) MUST(decide_again(e, again[i], err));
  return PAWL_OK;
}

/* After the short way: each is as it was loaded, or the unit had failed. */
static void apply_plain(pawl_engine *e, pawl_held **list, int n,
                        const pawl_rows *rows) {
  int at = 0;

  for (int i = 0; i < n; i++) {
    pawl_held *h = list[i];
    int k = h->d.plan.after == PAWL_AFTER_END
                ? -1
                : locked_row(rows, at++, &h->d.id);
    stored(e, h, k < 0 ? h->latch : (int)pawl_read_agenda_lock(rows, k).latch);
  }
}

/* ---- one unit ---- */

static int by_id(const void *a, const void *b) {
  const pawl_held *const *x = a, *const *y = b;
  return pawl_id_cmp(&(*x)->d.id, &(*y)->d.id);
}

/* As a rule: slots are filled in the order of ids. */
static int is_sorted(pawl_held **list, int n) {
  for (int i = 1; i < n; i++)
    if (pawl_id_cmp(&list[i - 1]->d.id, &list[i]->d.id) > 0) return 0;
  return 1;
}

/* `end`: pawl_store_commit, or pawl_store_submit. *at: where the rows will be
 * that `committed` reads. */
static pawl_code send_unit(pawl_engine *e, pawl_held **list, int n, int plain,
                           int *at,
                           pawl_code (*end)(pawl_store *, pawl_error *),
                           pawl_error *err) {
  pawl_code rc = PAWL_OK;

  assert(n > 0 && n <= PAWL_MAX_BATCH && is_sorted(list, n)); /* S2 */
  EACH (h) {
    assert(h->state == PAWL_SLOT_PLANNED);
    assert(h->shard == list[0]->shard); /* S3 */
  }
  if (!plain) MUST(pawl_attr_log(e, list, n, err));
  if (!plain) MUST(pawl_failure_told(e, list, n, err));
  TRY(pawl_store_begin(e->store, pawl_durable_unit(e, list, n), err));
  if (plain) {
    TRY(pawl_plain_send(e, list, n, at, err));
    if (PAWL_FAULT("engine.commit.plain") == PAWL_FAULT_FAIL)
      TRY(pawl_fail(err, PAWL_BUSY, "the short way was refused"));
  } else {
    TRY(pawl_commit_lock(e, list, n, at, err));
    TRY(send_plans(e, list, n, err));
  }
  if (e->stats) e->stats->commits++;
  (void)PAWL_FAULT("engine.commit.before");
  TRY(end(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* Only what is about the data itself: 22 (values), 23 (constraints), P0 (what a
 * trigger of the user's raises). Anything
 * else, a failing disk or a schema somebody is changing, would take every
 * instance with it. */
int pawl_commit_is_refusal(const pawl_error *err) {
  if (err->code == PAWL_VALUE || err->code == PAWL_LIMIT ||
      err->code == PAWL_INVALID || err->code == PAWL_CONFLICT)
    return 1;
  return err->code == PAWL_STORE && (!strncmp(err->sqlstate, "22", 2) ||
                                     !strncmp(err->sqlstate, "23", 2) ||
                                     !strncmp(err->sqlstate, "P0", 2));
}

static pawl_code commit_list(pawl_engine *e, pawl_held **list, int n,
                             int depth, pawl_error *err);

/* The store refuses one plan for good. Its instance fails with the reason;
 * when even that is refused, its lease is left to end. */
static pawl_code refuse_one(pawl_engine *e, pawl_held *h, int depth,
                            pawl_error *err) {
  pawl_error why = *err;
  if (depth < 0) {
    pawl_log_error(&e->log, PAWL_ERROR, "the store refuses an instance", &why);
    pawl_held_free(e, h);
    return PAWL_OK;
  }
  if (!pawl_step_refused(e, h, &why)) depth = -1; /* nothing is left to try */
  if (pawl_plan_check(&h->d.plan, err) != PAWL_OK) return PAWL_OK; /* mend() */
  return commit_list(e, &h, 1, depth, err);
}

/* L1: what is SENT is nobody's until its answer is there. */
static void set_state(pawl_held **list, int n, pawl_slot_state state) {
  EACH (h) h->state = state;
}

static pawl_code committed(pawl_engine *e, pawl_held **list, int n, int plain,
                           int at, pawl_error *err) {
  pawl_rows rows;

  (void)PAWL_FAULT("engine.commit.after");
  pawl_store_rows(e->store, at, &rows);
  if (!plain)
    MUST(apply(e, list, n, &rows, err));
  else
    apply_plain(e, list, n, &rows);
  return pawl_durable_stored(e, err);
}

/* Its last holder's commit came in behind our claim (plain.h, Q2): what ran
 * here is dropped, and it is claimed anew. */
static pawl_code look_for_other(pawl_engine *e, pawl_held *h, int *stale,
                                pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_READ(e->store, instance_settle, &rows, err, .shard = h->shard,
                 .id = &h->d.id));
  *stale = rows.nrows &&
           pawl_read_instance_settle(&rows, 0).commits != h->d.commits;
  if (!*stale) return PAWL_OK;
  pawl_log_write(&e->log, PAWL_WARN,
                 "another executor had written meanwhile; run again", NULL);
  if (e->stats) e->stats->lost++;
  pawl_await_abandon(e, h);
  pawl_plan_reset(&h->d.plan);
  h->state = PAWL_SLOT_READY;
  h->fate = PAWL_FATE_FOREIGN;
  return PAWL_OK;
}

/* Memory was too short for all of them: then some at a time. One for which it
 * is too short alone stays as it is for the next ticks, as a rule for a moment;
 * then its step's result is lost, which may be what takes the memory. */
static pawl_code commit_in_need(pawl_engine *e, pawl_held **list, int n,
                                int depth, pawl_error *err) {
  pawl_room_make(e);
  if (n > 1) {
    MUST(commit_list(e, list, n / 2, depth + 1, err));
    return commit_list(e, list + n / 2, n - n / 2, depth + 1, err);
  }
  if (++list[0]->in_need > IN_NEED_TRIES) list[0]->d.plan.failed = 1; /* N7 */
  return PAWL_NOMEM;
}

static int may_try_again(const pawl_engine *e, int tries) {
  return tries < BUSY_TRIES && pawl_store_is_patient(e->store);
}

/* Rule 7: a batch shares a commit, never a fate. */
static pawl_code commit_list(pawl_engine *e, pawl_held **list, int n,
                             int depth, pawl_error *err) {
  pawl_code rc;
  int at;

  for (int try = 0;; try++) {
    rc = send_unit(e, list, n, 0, &at, pawl_store_commit, err);
    if (rc != PAWL_BUSY || !may_try_again(e, try)) break;
    pawl_sleep_us((int64_t)(pawl_engine_random(e) * 4000 * (1 << try)));
  }
  if (rc == PAWL_OK) return committed(e, list, n, 0, at, err);
  if (rc == PAWL_UNREACHABLE) { /* rule 8: nobody knows */
    set_state(list, n, PAWL_SLOT_UNKNOWN);
    return rc;
  }
  if (rc == PAWL_NOMEM) return commit_in_need(e, list, n, depth, err);
  if (!pawl_commit_is_refusal(err)) return rc;
  if (n == 1 && !strcmp(err->sqlstate, "23505")) {
    int stale = 0;
    pawl_error why = *err;
    MUST(look_for_other(e, list[0], &stale, err));
    if (stale) return PAWL_OK;
    *err = why;
  }
  if (n == 1) return refuse_one(e, list[0], depth, err);
  MUST(commit_list(e, list, n / 2, depth + 1, err));
  return commit_list(e, list + n / 2, n - n / 2, depth + 1, err);
}

/* ---- settling ---- */

/* Reads, under its lock, what became of a plan. PAWL_OK: *landed, and if it
 * did not, the slot has a new lease under which to send it again.
 * PAWL_LEASE_LOST: somebody else has it. */
static pawl_code look_under_lock(pawl_engine *e, pawl_held *h, int *landed,
                                 pawl_error *err) {
  pawl_rows agenda, instance;
  pawl_agenda_lock_one_row holder = {.lease = NULL};
  pawl_instance_settle_row last = {.lease = NULL};
  int agenda_at, instance_at;
  pawl_code rc = PAWL_OK;

  assert(h->state == PAWL_SLOT_UNKNOWN); /* N2 */
  *landed = 0;
  TRY(pawl_store_begin(e->store, PAWL_UNIT_OPEN, err));
  TRY(PAWL_SEND(e->store, agenda_lock_one, &agenda_at, err, .shard = h->shard,
                .id = &h->d.id));
  TRY(PAWL_SEND(e->store, instance_settle, &instance_at, err,
                .shard = h->shard, .id = &h->d.id));
  pawl_store_rows(e->store, agenda_at, &agenda);
  pawl_store_rows(e->store, instance_at, &instance);
  if (agenda.nrows) holder = pawl_read_agenda_lock_one(&agenda, 0);
  if (instance.nrows) last = pawl_read_instance_settle(&instance, 0);
  *landed = pawl_plan_writes(&h->d.plan) && last.lease &&
            pawl_id_eq(last.lease, &h->lease) &&
            last.commits == h->d.commits + 1;
  if (!*landed && holder.lease && pawl_id_eq(holder.lease, &h->lease)) {
    pawl_id fresh;
    TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &fresh, err));
    TRY(PAWL_SEND(e->store, agenda_relet, NULL, err, PAWL_LEASE_MEMBERS(h),
                  .new_lease = &fresh));
    TRY(pawl_store_commit(e->store, err));
    h->lease = fresh;
    return PAWL_OK;
  }
  TRY(pawl_store_commit(e->store, err));
  if (!*landed) rc = PAWL_LEASE_LOST;
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

static pawl_code settle(pawl_engine *e, pawl_held *h, pawl_error *err) {
  int landed;
  pawl_code rc = look_under_lock(e, h, &landed, err);

  if (rc == PAWL_LEASE_LOST) {
    pawl_told_undone(e);
    lose(e, h);
    return PAWL_OK;
  }
  if (rc != PAWL_OK) return rc;
  if (landed) {
    pawl_told_committed(e);
    /* the latch was not read: as it was, and the next commit will tell */
    stored(e, h, h->latch);
    return PAWL_OK;
  }
  if (h->d.turn == PAWL_TURN_UNIT) {
    /* the handler's own SQL is undone with it */
    pawl_told_undone(e);
    h->state = PAWL_SLOT_READY;
    return PAWL_OK;
  }
  h->state = PAWL_SLOT_PLANNED;
  return PAWL_OK;
}

/* ---- the batch ---- */

#define NO_MEMORY_US PAWL_SECOND /* until a decision is taken again */

/* A plan that memory failed is none. A step's result is lost then: that step
 * is tried again, by its policy. Anything else, or when there is not even
 * memory to say so, is as if it had not been looked at. */
static void mend(pawl_engine *e, pawl_held *h) {
  pawl_error err;
  if (pawl_plan_check(&h->d.plan, &err) == PAWL_OK) return;
  pawl_log_error(&e->log, PAWL_ERROR, "a decision was lost", &err);
  if (h->d.def && h->d.plan.ran) pawl_step_fail(e, h, &err);
  if (pawl_plan_check(&h->d.plan, &err) == PAWL_OK) return;
  pawl_plan_reset(&h->d.plan);
  pawl_await_check(e, h);
  if (h->flights) { /* it stays here, for them */
    h->state = PAWL_SLOT_READY;
    h->beside_us = pawl_time_after(pawl_engine_now(e), NO_MEMORY_US);
    return;
  }
  h->d.plan.after = PAWL_AFTER_BACK;
  h->d.plan.look_us = pawl_time_after(pawl_engine_now(e), NO_MEMORY_US);
}

/* The plans of one shard that are plain, or those that are not. */
static int take_planned(pawl_engine *e, int shard, int plain,
                        pawl_held **list) {
  int n = 0;

  for (int i = 0; i < e->nheld_slots && n < PAWL_MAX_BATCH; i++) {
    pawl_held *h = e->held[i];
    if (h->state != PAWL_SLOT_PLANNED || h->shard != shard) continue;
    mend(e, h);
    if (h->state != PAWL_SLOT_PLANNED) continue;
    if (pawl_plan_is_plain(h) == plain) list[n++] = h;
  }
  if (!is_sorted(list, n)) /* S2 */
    qsort(list, (size_t)n, sizeof *list, by_id);
  return n;
}

/* What came of a unit's first try. When it was not to be, the long way finds
 * out what is wrong, and with whom. */
static pawl_code tried(pawl_engine *e, pawl_held **list, int n, int plain,
                       int at, pawl_code rc, pawl_error *err) {
  set_state(list, n,
            rc == PAWL_UNREACHABLE ? PAWL_SLOT_UNKNOWN : PAWL_SLOT_PLANNED);
  if (rc == PAWL_OK) return committed(e, list, n, plain, at, err);
  if (rc == PAWL_UNREACHABLE) return rc;
  return commit_list(e, list, n, 0, err);
}

static pawl_code commit_shard(pawl_engine *e, int shard, pawl_error *err) {
  pawl_held *list[PAWL_MAX_BATCH];
  int n = take_planned(e, shard, 1, list), at;

  if (n) {
    pawl_code rc = send_unit(e, list, n, 1, &at, pawl_store_commit, err);
    MUST(tried(e, list, n, 1, at, rc, err));
  }
  n = take_planned(e, shard, 0, list);
  return n ? commit_list(e, list, n, 0, err) : PAWL_OK;
}

/* The end of one that was sent ahead. */
static pawl_code finish(pawl_engine *e, pawl_sent *sent, pawl_error *err) {
  pawl_code rc = pawl_store_finish(e->store, err);
  return tried(e, sent->list, sent->n, sent->plain, sent->at, rc, err);
}

static pawl_code send_ahead(pawl_engine *e, int shard, int plain,
                            pawl_error *err) {
  pawl_sent *sent;

  MUST(pawl_pipeline_place(e, &sent, err));
  sent->plain = plain;
  sent->finish = finish;
  sent->n = take_planned(e, shard, plain, sent->list);
  if (!sent->n) return PAWL_OK;
  pawl_code rc = send_unit(e, sent->list, sent->n, plain, &sent->at,
                           pawl_store_submit, err);
  if (rc != PAWL_OK)
    return tried(e, sent->list, sent->n, plain, sent->at, rc, err);
  set_state(sent->list, sent->n, PAWL_SLOT_SENT);
  pawl_pipeline_sent(e);
  return PAWL_OK;
}

/* Counted anew each time: slots change their state in many places, and a
 * number kept beside would be one more to be wrong. */
static int count_state(const pawl_engine *e, pawl_slot_state state) {
  int n = 0;
  PAWL_EACH_SLOT (e, h) n += h->state == state;
  return n;
}

pawl_code pawl_commit_ahead(pawl_engine *e, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  if (!pawl_pipeline_is_open(e) || count_state(e, PAWL_SLOT_UNKNOWN) ||
      e->ntrims)
    return pawl_commit_all(e, err);
  for (int s = 0; s < e->nshards; s++) {
    rc = send_ahead(e, s, 1, err);
    if (rc == PAWL_OK) rc = send_ahead(e, s, 0, err);
    if (rc == PAWL_UNREACHABLE) return pawl_commit_all(e, err);
    if (rc != PAWL_OK) break;
  }
  return rc;
}

pawl_code pawl_commit_all(pawl_engine *e, pawl_error *err) {
  if (!e->nheld && !e->nsent) return pawl_durable_stored(e, err);
  pawl_code rc = pawl_pipeline_drain(e, err);

  if (rc != PAWL_OK && rc != PAWL_UNREACHABLE) return rc;
  rc = rc == PAWL_OK ? pawl_trim_noted(e, err) : PAWL_OK;
  if (rc != PAWL_OK && rc != PAWL_UNREACHABLE) return rc;
  rc = PAWL_OK;
  /* decided-again and settled plans come round once more; each round either
   * stores, drops or fails, save for an inbox that never rests */
  for (int rounds = 0; rounds < 20; rounds++) {
    PAWL_EACH_SLOT (e, h)
      if (h->state == PAWL_SLOT_UNKNOWN) MUST(settle(e, h, err));
    if (!count_state(e, PAWL_SLOT_PLANNED)) break;
    for (int s = 0; s < e->nshards; s++) {
      rc = commit_shard(e, s, err);
      if (rc == PAWL_UNREACHABLE) break; /* reconnect, and settle */
      if (rc != PAWL_OK) return rc;
    }
    if (rc == PAWL_UNREACHABLE && rounds > 2) return rc;
    rc = PAWL_OK;
  }
  return pawl_durable_stored(e, err); /* of what was settled, or failed then */
}

pawl_code pawl_commit_open(pawl_engine *e, pawl_held *h, pawl_error *err) {
  assert(e->unit && e->unit->owner == h && h->d.turn == PAWL_TURN_UNIT);
  (void)pawl_durable_unit(e, &h, 1); /* it is open already */
  MUST(pawl_attr_log(e, &h, 1, err));
  MUST(pawl_failure_told(e, &h, 1, err));
  MUST(send_plans(e, &h, 1, err));
  if (e->stats) e->stats->commits++;
  (void)PAWL_FAULT("engine.commit.before");
  MUST(pawl_store_commit(e->store, err));
  (void)PAWL_FAULT("engine.commit.after");
  stored(e, h, h->latch); /* its row was locked: the latch stood still */
  return PAWL_OK;
}
