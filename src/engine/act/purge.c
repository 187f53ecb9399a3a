/* An instance goes, with all rows that are its own. A long one in batches, each
 * a unit of its own, so that its history holds no locks for long. It was marked
 * before (rules/letters.c): hidden, and changed by nobody. Who is stopped in
 * the middle, or asks beside another, goes on where the rows are; the
 * instance's own is the last. Many short ones go in one unit, with no mark:
 * they are there, or they are not. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "../../base/fault.h"
#include "../../rules/state.h"
#include "../common/engine_struct.h"
#include "../common/find.h"
#include "../common/time.h"
#include "act.h"
#include "pace.h"

/* A task has owners, and a unit two statements for each. */
enum { MOST_TASKS = 100 };

/* ---- may it go? ---- */

static const struct {
  const char *why, *hint;
} HOLDS[PAWL_NHOLDS] = {
    [PAWL_HOLD_PARENT] = {"its parent lives", "do it when that has ended"},
    [PAWL_HOLD_WORD] = {"its parent has messages that are not delivered yet",
                        "a worker delivers them; then do it"},
    [PAWL_HOLD_CHILDREN] = {"children live that end with it",
                            "do it when they have ended"},
    [PAWL_HOLD_UNDELIVERED] = {"it has messages that are not delivered yet",
                               "a worker delivers them; then do it"},
    [PAWL_HOLD_UNPUBLISHED] =
        {"it has emitted what nobody has published yet",
         "`pawl relay` publishes it, `pawl outbox drop` gives it up; or do it "
         "with `force`"},
    [PAWL_HOLD_AWAY] = {"it was carried to another store",
                        "purge it when it has arrived there"}};

/* The first that is found counts. */
static void hold(pawl_purgeable *p, pawl_hold why) {
  if (!p->hold) p->hold = why;
}

/* A parent that lives may wait for it. And while it has something to say that
 * was not delivered, that may be this one's start, for a second time. */
static pawl_code look_for_parents(pawl_engine *e, int shard,
                                  pawl_purgeable *list, int n,
                                  pawl_error *err) {
  pawl_rows rows;
  int any = 0;

  pawl_args_begin(&e->args, PAWL_STMT_purge_parents);
  for (int i = 0; i < n; i++) {
    if (!list[i].has_parent || pawl_shard_of(e, &list[i].parent) != shard)
      continue;
    any = 1;
    PAWL_PUT(&e->args, purge_parents, .shard = shard, .id = &list[i].parent);
  }
  if (!any) return PAWL_OK;
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_purge_parents_row row = pawl_read_purge_parents(&rows, k);
    for (int i = 0; i < n; i++) {
      if (!list[i].has_parent || !pawl_id_eq(&list[i].parent, row.id))
        continue;
      if (row.lives) hold(&list[i], PAWL_HOLD_PARENT);
      if (row.undelivered) hold(&list[i], PAWL_HOLD_WORD);
    }
  }
  return PAWL_OK;
}

static pawl_purgeable *find(pawl_purgeable *list, int n, const pawl_id *id) {
  for (int i = 0; i < n; i++)
    if (pawl_id_eq(&list[i].id, id)) return &list[i];
  assert(!"a row of none that was asked for");
  return list;
}

/* Of those that end with it, each has still to be told so. */
static pawl_code look_for_children(pawl_engine *e, int shard,
                                   pawl_purgeable *list, int n,
                                   pawl_error *err) {
  pawl_rows rows;

  pawl_args_begin(&e->args, PAWL_STMT_purge_children);
  for (int i = 0; i < n; i++)
    PAWL_PUT(&e->args, purge_children, .shard = shard, .parent = &list[i].id);
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  for (int k = 0; k < rows.nrows; k++)
    hold(find(list, n, pawl_read_purge_children(&rows, k).parent),
         PAWL_HOLD_CHILDREN);
  return PAWL_OK;
}

static pawl_code look_for_sent(pawl_engine *e, int shard, pawl_purgeable *list,
                               int n, pawl_error *err) {
  pawl_rows rows;

  pawl_args_begin(&e->args, PAWL_STMT_purge_sent);
  for (int i = 0; i < n; i++)
    PAWL_PUT(&e->args, purge_sent, .shard = shard, .id = &list[i].id);
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_purge_sent_row row = pawl_read_purge_sent(&rows, k);
    pawl_purgeable *p = find(list, n, row.id);
    if (row.undelivered) hold(p, PAWL_HOLD_UNDELIVERED);
    if (row.unpublished) hold(p, PAWL_HOLD_UNPUBLISHED);
  }
  return PAWL_OK;
}

pawl_code pawl_purge_look(pawl_engine *e, int shard, pawl_purgeable *list,
                          int n, pawl_error *err) {
  if (!n) return PAWL_OK;
  for (int s = 0; s < e->nshards; s++) {
    MUST(look_for_parents(e, s, list, n, err));
    MUST(look_for_children(e, s, list, n, err));
  }
  return look_for_sent(e, shard, list, n, err);
}

pawl_code pawl_purge_check(pawl_engine *e, const pawl_id *id,
                           const pawl_id *parent, int force, const char *word,
                           pawl_error *err) {
  pawl_purgeable p = {.id = *id, .has_parent = parent != NULL};

  if (parent) p.parent = *parent;
  MUST(pawl_purge_look(e, pawl_shard_of(e, id), &p, 1, err));
  if (!p.hold || (p.hold == PAWL_HOLD_UNPUBLISHED && force)) return PAWL_OK;
  return pawl_fail_hint(err, PAWL_CONFLICT, HOLDS[p.hold].hint,
                        "instance %s cannot be %s: %s", pawl_id_text_of(id).at,
                        word, HOLDS[p.hold].why);
}

/* ---- its rows ---- */

/* Whose rows go. Each unit first locks the row that says that they shall, and
 * takes nothing where that is gone, or another: who has been slow would else
 * take the rows of one that has come back meanwhile. */
typedef struct going {
  int shard;
  const pawl_id *id;
  int64_t until_mono;
  pawl_stmt mark;   /* reads that row */
  int64_t since_us; /* by which it is known; 0: it was not read yet */
  int is_over;      /* it is not there any more */
  int64_t taken;    /* rows: its time counts from the first on */
  int is_last;      /* the unit takes the instance itself: S1 */
} going;

/* S1: the agenda row, by which everybody who changes one comes. */
static pawl_code lock_agenda(pawl_engine *e, const going *g, pawl_error *err) {
  return PAWL_SEND(e->store, agenda_revive, NULL, err, .shard = g->shard,
                   .id = g->id, .now = pawl_store_now(e->store),
                   .completed = 1, .cancelled = 1, .deleted = 1);
}

static pawl_code begin(pawl_engine *e, going *g, pawl_error *err) {
  const pawl_archive_left_of_args which = {.shard = g->shard, .id = g->id};
  int64_t since_us = 0;
  pawl_rows rows;
  int at;

  MUST(pawl_pace_begin(e, PAWL_UNIT_OPEN, err));
  if (g->is_last) MUST(lock_agenda(e, g, err));
  MUST(pawl_store_send_one(e->store, g->mark, &which, &at, err));
  pawl_store_rows(e->store, at, &rows);
  if (rows.nrows) since_us = pawl_read_archive_left_of(&rows, 0).since;
  if (!g->since_us) g->since_us = since_us;
  g->is_over = !since_us || since_us != g->since_us;
  return PAWL_OK;
}

/* Tables that are empty already are passed whatever the time, or who has little
 * of it would never come to the last. */
static int may_go_on(const pawl_engine *e, const going *g) {
  if (g->is_over || pawl_pace_stops(e)) return 0;
  if (!g->taken) return 1;
  return pawl_clock_mono() < g->until_mono &&
         (!e->piece_rows || g->taken < e->piece_rows);
}

static int most_rows(const pawl_engine *e, const going *g, pawl_paced of) {
  const int rows = pawl_pace_rows(e, of);
  const int64_t left = e->piece_rows - g->taken;
  return e->piece_rows && left < rows ? (int)left : rows;
}

/* Takes at most so many: *n of them. */
typedef pawl_code taking(pawl_engine *e, const going *g, int64_t max,
                         int64_t *n, pawl_error *err);

static pawl_code take(pawl_engine *e, going *g, taking *some, pawl_paced of,
                      int64_t max, int64_t *n, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  *n = 0;
  TRY(begin(e, g, err));
  if (!g->is_over) TRY(some(e, g, max, n, err));
  g->taken += *n;
  TRY(pawl_pace_commit(e, of, *n, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* Taken away twice, when an answer was lost, they are gone once. */
static pawl_code take_batch(pawl_engine *e, going *g, taking *some,
                            pawl_paced of, int64_t max, int64_t *n,
                            pawl_error *err) {
  int tries = 0;
  pawl_code rc;

  MUST(pawl_pace_rest(e, err));
  (void)PAWL_FAULT("engine.purge.batch");
  do rc = take(e, g, some, of, max, n, err);
  while (pawl_store_may_repeat(rc, &tries));
  return rc;
}

/* In this order: what shows an instance as a whole goes first. */
#define OWN(X) \
  X(history)   \
  X(item) X(token) X(variable) X(subscription) X(outbox) X(inbox) X(published)
#define TABLES(X) OWN(X) X(attribute) X(audit)

#define TAKE(table)                                                          \
  static pawl_code take_##table(pawl_engine *e, const going *g, int64_t max, \
                                int64_t *n, pawl_error *err) {               \
    pawl_rows rows;                                                          \
    int at;                                                                  \
    MUST(PAWL_SEND(e->store, purge_##table, &at, err, .shard = g->shard,     \
                   .id = g->id, .max = max));                                \
    pawl_store_rows(e->store, at, &rows);                                    \
    *n = rows.changed;                                                       \
    return PAWL_OK;                                                          \
  }
TABLES(TAKE)

static pawl_code purge_table(pawl_engine *e, going *g, taking *some,
                             pawl_error *err) {
  int64_t n, max;

  do {
    if (!may_go_on(e, g)) return PAWL_OK;
    max = most_rows(e, g, PAWL_PACED_ROWS);
    MUST(take_batch(e, g, some, PAWL_PACED_ROWS, max, &n, err));
  } while (n >= max); /* fewer: those were the last */
  return PAWL_OK;
}

static pawl_code send_tasks(pawl_engine *e, int shard, const pawl_id *ids,
                            int n, pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_purge_owner);
  for (int i = 0; i < n; i++)
    PAWL_PUT(&e->args, purge_owner, .shard = shard, .id = &ids[i]);
  MUST(pawl_store_send(e->store, &e->args, NULL, err));
  pawl_args_begin(&e->args, PAWL_STMT_purge_task);
  for (int i = 0; i < n; i++)
    PAWL_PUT(&e->args, purge_task, .shard = shard, .id = &ids[i]);
  return pawl_store_send(e->store, &e->args, NULL, err);
}

pawl_code pawl_purge_tasks(pawl_engine *e, int shard, const pawl_id *ids,
                           int n, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  assert(n <= MOST_TASKS);
  TRY(pawl_pace_begin(e, PAWL_UNIT_BATCH, err));
  TRY(send_tasks(e, shard, ids, n, err));
  TRY(pawl_pace_commit(e, PAWL_PACED_TASKS, n, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

static pawl_code take_tasks(pawl_engine *e, const going *g, int64_t max,
                            int64_t *n, pawl_error *err) {
  pawl_id ids[MOST_TASKS];
  pawl_rows rows;
  int at;

  assert(max <= MOST_TASKS);
  MUST(PAWL_SEND(e->store, purge_tasks, &at, err, .shard = g->shard,
                 .id = g->id, .max = max));
  pawl_store_rows(e->store, at, &rows);
  *n = rows.nrows;
  for (int i = 0; i < rows.nrows; i++)
    ids[i] = *pawl_read_purge_tasks(&rows, i).id;
  return rows.nrows ? send_tasks(e, g->shard, ids, rows.nrows, err) : PAWL_OK;
}

static pawl_code purge_own_tasks(pawl_engine *e, going *g, pawl_error *err) {
  int64_t n = 1;

  while (n && may_go_on(e, g))
    MUST(take_batch(e, g, take_tasks, PAWL_PACED_TASKS,
                    most_rows(e, g, PAWL_PACED_TASKS), &n, err));
  return PAWL_OK;
}

/* What has come in meanwhile, and how it was met, goes as well: from here on
 * nothing does. */
static pawl_code take_itself(pawl_engine *e, const going *g, int64_t max,
                             int64_t *n, pawl_error *err) {
  pawl_id own, other;

  *n = max;
  MUST(PAWL_SEND(e->store, purge_inbox, NULL, err, .shard = g->shard,
                 .id = g->id, .max = INT32_MAX));
  MUST(PAWL_SEND(e->store, purge_history, NULL, err, .shard = g->shard,
                 .id = g->id, .max = INT32_MAX));
  MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &own, err));
  MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &other, err));
  MUST(PAWL_SEND(e->store, purge_ending, NULL, err, .shard = g->shard,
                 .id = g->id));
  MUST(PAWL_SEND(e->store, purge_failure, NULL, err, .shard = g->shard,
                 .id = g->id));
  MUST(PAWL_SEND(e->store, purge_deadline, NULL, err, .shard = g->shard,
                 .id = g->id));
  MUST(PAWL_SEND(e->store, audit_purged, NULL, err, .shard = g->shard,
                 .id = &own, .instance = g->id,
                 .now = pawl_store_now(e->store)));
  MUST(PAWL_SEND(e->store, audit_deleted, NULL, err, .shard = g->shard,
                 .id = &other, .instance = g->id));
  MUST(PAWL_SEND(e->store, purge_keep, NULL, err, .shard = g->shard,
                 .id = g->id));
  MUST(PAWL_SEND(e->store, purge_instance, NULL, err, .shard = g->shard,
                 .id = g->id));
  return PAWL_SEND(e->store, purge_agenda, NULL, err, .shard = g->shard,
                   .id = g->id);
}

/* Of two who ask at once the second sees that the first is told of. */
pawl_code pawl_purge_note(pawl_engine *e, const pawl_id *id, pawl_str by,
                          pawl_str reason, pawl_error *err) {
  const int shard = pawl_shard_of(e, id);
  pawl_id own;
  pawl_code rc = PAWL_OK;

  TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &own, err));
  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(PAWL_SEND(e->store, purge_marked, NULL, err, .shard = shard, .id = id));
  TRY(PAWL_SEND(e->store, audit_purge, NULL, err, .shard = shard, .id = &own,
                .instance = id, .by = by, .text = reason,
                .now = pawl_store_now(e->store)));
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

#define PURGE(table) MUST(purge_table(e, &g, take_##table, err));

pawl_code pawl_purge_rows(pawl_engine *e, const pawl_id *id,
                          int64_t until_mono, pawl_purged *gone,
                          pawl_error *err) {
  going g = {.shard = pawl_shard_of(e, id),
             .id = id,
             .until_mono = until_mono,
             .mark = PAWL_STMT_purge_marked};
  int64_t n;

  *gone = PAWL_PURGED_IN_PART;
  TABLES(PURGE)
  MUST(purge_own_tasks(e, &g, err));
  if (may_go_on(e, &g)) {
    (void)PAWL_FAULT("engine.purge.last");
    g.is_last = 1;
    MUST(take(e, &g, take_itself, PAWL_PACED_ROWS, 1, &n, err));
    *gone = PAWL_PURGED_HERE;
  }
  if (g.is_over) *gone = PAWL_PURGED_BY_OTHERS;
  return PAWL_OK;
}

/* ---- many ---- */

/* Each statement has the same rows. */
typedef struct seized {
  int shard, n;
  const pawl_purgeable *list;
  pawl_id lease;
  int tells; /* of the one that it is, who has deleted it */
} seized;

static pawl_code send_seize(pawl_engine *e, const seized *s, int *at,
                            pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_purge_seize);
  for (int i = 0; i < s->n; i++)
    PAWL_PUT(&e->args, purge_seize, .shard = s->shard, .id = &s->list[i].id,
             .lease = &s->lease, .completed_at = s->list[i].completed_us,
             .hidden = !s->list[i].is_filed, .executor = &e->executor,
             .now = pawl_store_now(e->store));
  return pawl_store_send(e->store, &e->args, at, err);
}

/* S1: the row was read before its lock was had. */
static pawl_code send_unseize(pawl_engine *e, const seized *s, int *at,
                              pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_purge_unseize);
  for (int i = 0; i < s->n; i++)
    PAWL_PUT(&e->args, purge_unseize, .shard = s->shard, .id = &s->list[i].id,
             .lease = &s->lease, .completed_at = s->list[i].completed_us,
             .hidden = !s->list[i].is_filed);
  return pawl_store_send(e->store, &e->args, at, err);
}

/* Statements with the arguments of purge_held_history. */
static pawl_code send_held(pawl_engine *e, const seized *s, pawl_stmt stmt,
                           int *at, pawl_error *err) {
  pawl_args_begin(&e->args, stmt);
  for (int i = 0; i < s->n; i++)
    PAWL_PUT(&e->args, purge_held_history, .shard = s->shard,
             .id = &s->list[i].id, .lease = &s->lease, .latch = PAWL_NULL);
  return pawl_store_send(e->store, &e->args, at, err);
}

/* Attributes go, or their instance is noted, so that it is found by them. */
static pawl_code send_attributes(pawl_engine *e, const seized *s,
                                 pawl_str deletion, pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_purge_held_attribute);
  for (int i = 0; i < s->n; i++)
    if (!s->list[i].keep_attributes)
      PAWL_PUT(&e->args, purge_held_attribute, .shard = s->shard,
               .id = &s->list[i].id, .lease = &s->lease, .latch = PAWL_NULL);
  MUST(pawl_store_send(e->store, &e->args, NULL, err));
  pawl_args_begin(&e->args, PAWL_STMT_purge_held_keep);
  for (int i = 0; i < s->n; i++)
    if (s->list[i].keep_attributes)
      PAWL_PUT(&e->args, purge_held_keep, .shard = s->shard,
               .id = &s->list[i].id, .lease = &s->lease, .deletion = deletion,
               .now = pawl_store_now(e->store));
  return pawl_store_send(e->store, &e->args, NULL, err);
}

static pawl_code send_release(pawl_engine *e, const seized *s,
                              pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_agenda_end);
  for (int i = 0; i < s->n; i++)
    PAWL_PUT(&e->args, agenda_end, .shard = s->shard, .id = &s->list[i].id,
             .lease = &s->lease);
  return pawl_store_send(e->store, &e->args, NULL, err);
}

/* Its history had that: behind what else the audit has of it, which goes. */
static pawl_code send_hidden(pawl_engine *e, const seized *s,
                             pawl_error *err) {
  pawl_id own;

  if (!s->tells) return PAWL_OK;
  assert(s->n == 1);
  MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &own, err));
  return PAWL_SEND(e->store, audit_hidden, NULL, err, .shard = s->shard,
                   .id = &own, .instance = &s->list[0].id);
}

/* All that those have which are seized. *last: where the instances are. */
static pawl_code send_away(pawl_engine *e, const seized *s, pawl_str deletion,
                           int *last, pawl_error *err) {
  pawl_code rc = PAWL_OK;

#define SEND_HELD(table) \
  TRY(send_held(e, s, PAWL_STMT_purge_held_##table, NULL, err));
  OWN(SEND_HELD)
  SEND_HELD(audit)
  TRY(send_hidden(e, s, err));
  TRY(send_attributes(e, s, deletion, err));
  SEND_HELD(ending)
  SEND_HELD(failure)
  SEND_HELD(owner)
  SEND_HELD(task)
  TRY(send_held(e, s, PAWL_STMT_purge_held_instance, last, err));
  TRY(send_release(e, s, err));
out:
  return rc;
}

/* S2: agenda rows first, in the order of ids. Whoever wakes one meanwhile waits
 * for this unit, and then finds it gone. */
pawl_code pawl_purge_many(pawl_engine *e, int shard,
                          const pawl_purgeable *list, int n, int64_t *gone,
                          pawl_error *err) {
  static const char WHY[] = "{\"reason\":\"past its time\"}";
  seized s = {.shard = shard, .n = n, .list = list};
  int64_t nrows = 0;
  pawl_rows rows;
  int last;
  pawl_code rc = PAWL_OK;

  *gone = 0;
  if (!n) return PAWL_OK;
  for (int i = 1; i < n; i++)
    assert(pawl_id_cmp(&list[i - 1].id, &list[i].id) < 0);
  TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &s.lease, err));
  (void)PAWL_FAULT("engine.purge.many");
  for (int i = 0; i < n; i++) nrows += list[i].rows;
  TRY(pawl_pace_begin(e, PAWL_UNIT_SOON, err));
  TRY(send_seize(e, &s, NULL, err));
  TRY(send_unseize(e, &s, NULL, err));
  TRY(send_away(e, &s, pawl_strz(WHY), &last, err));
  TRY(pawl_pace_commit(e, PAWL_PACED_ROWS, nrows, err));
  pawl_store_rows(e->store, last, &rows);
  *gone = rows.changed;
  return PAWL_OK;
out:
  pawl_store_rollback(e->store);
  return rc;
}

/* ---- many that somebody names ---- */

enum { SHORT_ROWS = 200, ROWS_APART = 8 /* beside its history */ };

static int by_id(const void *a, const void *b) {
  return pawl_id_cmp(&((const pawl_purgeable *)a)->id,
                     &((const pawl_purgeable *)b)->id);
}

static int is_short(const pawl_prune_ended_row *row,
                    const pawl_purge_why *why) {
  pawl_standing status;

  return pawl_status_parse(row->status, &status) &&
         pawl_status_has_ended(status) && (why->statuses >> status & 1u) &&
         !row->deleted_at && !row->purge_at && !row->away.len &&
         row->seq + row->sent + row->parts + ROWS_APART <= SHORT_ROWS;
}

static pawl_purgeable purgeable_of(const pawl_prune_ended_row *row,
                                   const pawl_purge_why *why) {
  pawl_purgeable p = {.id = *row->id,
                      .keep_attributes = why->keep_attributes,
                      .has_parent = row->parent != NULL,
                      .completed_us = row->completed_at,
                      .rows = row->seq + row->sent + row->parts + ROWS_APART};
  if (row->parent) p.parent = *row->parent;
  return p;
}

/* Those of a shard that nobody needs, in the order of their ids. */
static pawl_code find_short(pawl_engine *e, const pawl_purge_why *why,
                            int shard, const pawl_id *ids, int n,
                            pawl_purgeable *list, int *found,
                            pawl_error *err) {
  pawl_rows rows;
  int m = 0, k;

  *found = 0;
  pawl_args_begin(&e->args, PAWL_STMT_purge_candidates);
  for (int i = 0; i < n; i++)
    if (pawl_shard_of(e, &ids[i]) == shard)
      PAWL_PUT(&e->args, purge_candidates, .shard = shard, .id = &ids[i]);
  if (!pawl_args_rows(&e->args)) return PAWL_OK;
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  for (k = 0; k < rows.nrows; k++) {
    const pawl_prune_ended_row row = pawl_read_prune_ended(&rows, k);
    if (!is_short(&row, why)) continue;
    list[m++] = purgeable_of(&row, why);
  }
  if (m > 1) qsort(list, (size_t)m, sizeof *list, by_id);
  MUST(pawl_purge_look(e, shard, list, m, err));
  for (k = 0; k < m; k++)
    if (!list[k].hold || (list[k].hold == PAWL_HOLD_UNPUBLISHED && why->force))
      list[(*found)++] = list[k];
  return PAWL_OK;
}

static pawl_code send_told(pawl_engine *e, const seized *s,
                           const pawl_purge_why *why, pawl_error *err) {
  pawl_id own[PAWL_ASKED_MAX];

  if (!why->by.len) return PAWL_OK;
  for (int i = 0; i < s->n; i++)
    MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &own[i], err));
  pawl_args_begin(&e->args, PAWL_STMT_audit_purge_held);
  for (int i = 0; i < s->n; i++)
    PAWL_PUT(&e->args, audit_purge_held, .shard = s->shard,
             .id = &s->list[i].id, .lease = &s->lease, .own = &own[i],
             .by = why->by, .text = why->reason,
             .now = pawl_store_now(e->store));
  return pawl_store_send(e->store, &e->args, NULL, err);
}

/* *all: none of them was held, nor has changed, so that they are gone. */
static pawl_code purge_whole(pawl_engine *e, int shard,
                             const pawl_purgeable *list, int n,
                             const pawl_purge_why *why, int *all,
                             pawl_error *err) {
  seized s = {.shard = shard, .n = n, .list = list, .tells = why->tells};
  int64_t nrows = 0;
  pawl_rows got, lost;
  int got_at, lost_at;
  pawl_code rc = PAWL_OK;

  *all = 0;
  TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &s.lease, err));
  (void)PAWL_FAULT("engine.purge.some");
  for (int i = 0; i < n; i++) nrows += list[i].rows;
  TRY(pawl_pace_begin(e, PAWL_UNIT_OPEN, err));
  TRY(send_seize(e, &s, &got_at, err));
  TRY(send_unseize(e, &s, &lost_at, err));
  pawl_store_rows(e->store, got_at, &got);
  pawl_store_rows(e->store, lost_at, &lost);
  *all = got.changed == n && !lost.nrows;
  if (!*all) goto out;
  TRY(send_told(e, &s, why, err));
  TRY(send_away(e, &s, why->deletion, &got_at, err));
  TRY(pawl_pace_commit(e, PAWL_PACED_ROWS, nrows, err));
  if (pawl_store_held(e->store)) e->after_held.rows += nrows;
  return PAWL_OK;
out:
  pawl_store_rollback(e->store);
  return rc;
}

/* How many more rows the transaction that is held may take away. */
static int64_t rows_left(const pawl_engine *e) {
  return pawl_store_held(e->store) ? PAWL_HELD_ROWS - e->after_held.rows
                                   : INT64_MAX;
}

static void note_went(const pawl_purgeable *list, int n, const pawl_id *ids,
                      int nids, pawl_went how, pawl_went *went) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < nids; k++)
      if (pawl_id_eq(&list[i].id, &ids[k])) went[k] = how;
}

/* How many of the list one unit takes; 0: there is no room left. */
static int fit_unit(const pawl_engine *e, const pawl_purgeable *list, int n) {
  const int64_t left = rows_left(e), most = pawl_pace_rows(e, PAWL_PACED_ROWS);
  int64_t rows = list[0].rows;
  int k = rows <= left;

  while (k && k < n && (rows += list[k].rows) <= most && rows <= left) k++;
  return k;
}

static pawl_code purge_in_units(pawl_engine *e, const pawl_purge_why *why,
                                int shard, const pawl_purgeable *list, int n,
                                const pawl_id *ids, int nids, pawl_went *went,
                                pawl_error *err) {
  int all, k;

  for (int from = 0; from < n && !e->interrupted; from += k) {
    k = fit_unit(e, &list[from], n - from);
    if (!k) return PAWL_OK;
    pawl_code rc = purge_whole(e, shard, &list[from], k, why, &all, err);
    const int is_lost = rc != PAWL_OK && pawl_code_is_transient(rc);
    /* of what is held nothing is in doubt */
    if (rc != PAWL_OK && (!is_lost || pawl_store_held(e->store))) return rc;
    if (is_lost || all)
      note_went(&list[from], k, ids, nids,
                is_lost ? PAWL_WENT_MAYBE : PAWL_WENT_HERE, went);
  }
  return PAWL_OK;
}

pawl_code pawl_purge_some(pawl_engine *e, const pawl_purge_why *why,
                          const pawl_id *ids, int n, pawl_went *went,
                          pawl_error *err) {
  pawl_purgeable list[PAWL_ASKED_MAX];
  int m;

  assert(n <= PAWL_ASKED_MAX);
  for (int k = 0; k < n; k++) went[k] = PAWL_WENT_NOT;
  for (int s = 0; s < e->nshards; s++) {
    MUST(find_short(e, why, s, ids, n, list, &m, err));
    MUST(purge_in_units(e, why, s, list, m, ids, n, went, err));
  }
  return PAWL_OK;
}

/* ---- one, in a transaction that is held ---- */

/* Letters of that transaction, too: they are taken behind it. */
static pawl_code fail_seized(const pawl_engine *e, const pawl_id *id,
                             const char *word, pawl_error *err) {
  const int held = pawl_store_held(e->store);

  pawl_fail(err, PAWL_BUSY,
            "instance %s is held by a worker, has letters that nobody has "
            "taken yet, or has changed",
            pawl_id_text_of(id).at);
  pawl_error_hint(err, "%s it again %s", word,
                  held ? "behind the transaction" : "in a moment");
  return PAWL_BUSY;
}

static pawl_code fail_large(const pawl_engine *e, const pawl_id *id,
                            int64_t rows, pawl_error *err) {
  return pawl_fail_hint(
      err, PAWL_LIMIT, "purge it behind the transaction, or in another one",
      "instance %s has %" PRId64
      " rows or so; a transaction purges at most "
      "%d, and %" PRId64 " have gone in this one",
      pawl_id_text_of(id).at, rows, PAWL_HELD_ROWS, e->after_held.rows);
}

/* What was marked before, and cut short. */
static pawl_code purge_marked(pawl_engine *e, const pawl_purge_why *why,
                              const pawl_purgeable *one, pawl_error *err) {
  pawl_purged gone;

  if (why->by.len)
    MUST(pawl_purge_note(e, &one->id, why->by, why->reason, err));
  MUST(pawl_purge_rows(e, &one->id, PAWL_NEVER, &gone, err));
  e->after_held.rows += one->rows;
  return gone == PAWL_PURGED_HERE ? PAWL_OK
                                  : pawl_instance_missing(&one->id, err);
}

pawl_code pawl_purge_at_once(pawl_engine *e, const pawl_purge_why *why,
                             const pawl_id *id, pawl_error *err) {
  const int shard = pawl_shard_of(e, id);
  pawl_rows rows;
  int all;

  assert(pawl_store_held(e->store));
  MUST(PAWL_READ(e->store, purge_candidates, &rows, err, .shard = shard,
                 .id = id));
  if (!rows.nrows) return pawl_instance_missing(id, err);
  const pawl_prune_ended_row row = pawl_read_prune_ended(&rows, 0);
  const pawl_purgeable one = purgeable_of(&row, why);
  const int is_marked = row.purge_at != 0;
  if (one.rows > rows_left(e)) return fail_large(e, id, one.rows, err);
  if (is_marked) return purge_marked(e, why, &one, err);
  MUST(purge_whole(e, shard, &one, 1, why, &all, err));
  return all ? PAWL_OK : fail_seized(e, id, "purge", err);
}

/* ---- into the archive ---- */

pawl_code pawl_archive_seize(pawl_engine *e, int shard,
                             const pawl_purgeable *one, pawl_id *lease,
                             pawl_error *err) {
  seized s = {.shard = shard, .n = 1, .list = one};
  pawl_rows got, lost;
  int seized_at, lost_at;

  MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &s.lease, err));
  MUST(send_seize(e, &s, &seized_at, err));
  MUST(send_unseize(e, &s, &lost_at, err));
  pawl_store_rows(e->store, seized_at, &got);
  pawl_store_rows(e->store, lost_at, &lost);
  *lease = s.lease;
  if (got.changed && !lost.nrows) return PAWL_OK;
  return fail_seized(e, &one->id, "archive", err);
}

pawl_code pawl_archive_clear(pawl_engine *e, int shard,
                             const pawl_purgeable *one, const pawl_id *lease,
                             int all, pawl_error *err) {
  const seized one_held = {
      .shard = shard, .n = 1, .list = one, .lease = *lease};
  const seized *s = &one_held;
  pawl_code rc = PAWL_OK;

  if (all) {
    OWN(SEND_HELD)
    SEND_HELD(owner)
    SEND_HELD(task)
  }
  SEND_HELD(ending)
  SEND_HELD(failure)
  TRY(send_held(e, s, PAWL_STMT_archive_instance, NULL, err));
  TRY(send_release(e, s, err));
out:
  return rc;
}

static pawl_code take_rest(pawl_engine *e, const going *g, int64_t max,
                           int64_t *n, pawl_error *err) {
  *n = max;
  return PAWL_SEND(e->store, archive_done, NULL, err, .shard = g->shard,
                   .id = g->id);
}

pawl_code pawl_archive_rest(pawl_engine *e, const pawl_id *id,
                            int64_t until_mono, int *gone, pawl_error *err) {
  going g = {.shard = pawl_shard_of(e, id),
             .id = id,
             .until_mono = until_mono,
             .mark = PAWL_STMT_archive_left_of};
  int64_t n;

  *gone = 0;
  OWN(PURGE)
  MUST(purge_own_tasks(e, &g, err));
  *gone = g.is_over;
  if (!may_go_on(e, &g)) return PAWL_OK;
  *gone = 1;
  (void)PAWL_FAULT("engine.archive.last");
  return take(e, &g, take_rest, PAWL_PACED_ROWS, 1, &n, err);
}
