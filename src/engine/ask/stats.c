/* How a store stands: how many instances there are of each kind, what is due,
 * who holds what, what waits to be published and to be done; and what has
 * failed, by kind.
 *
 * Nothing walks over instances. How many there are is counted as they change
 * (`counter`), failures are rows of their own, and the rest is read from
 * indexes that have only what is to be done. That may be very much all the
 * same: it is counted up to MOST, and then `more` is true. */
#include <assert.h>
#include <stdlib.h>

#include "../../rules/state.h"
#include "../../value/options.h"
#include "../common/answer.h"
#include "../common/engine_struct.h"
#include "../common/time.h"
#include "ask.h"

#define MINUTE_US (60 * PAWL_SECOND)
#define MOST 10000    /* up to so many are counted one by one */
#define HELD 10000    /* leases that are read */
#define EXECUTORS 256 /* of those, that are told apart */
#define GROUPS 1000   /* of problems, that are read of each shard */

/* ---- what there is, by workflow, version and status ---- */

/* What a status' counters are told as; others than these are behind it. */
static int is_counted(pawl_str status) {
  pawl_standing known;
  return pawl_status_parse(status, &known) ||
         pawl_str_eqz(status, "deleted") || pawl_str_eqz(status, "archived") ||
         pawl_str_eqz(status, "purged");
}

/* What has happened since a minute. */
typedef struct recent {
  int64_t started, completed, failed, cancelled;
} recent;

static void add_recent(recent *r, const pawl_counter_read_row *row) {
  r->started += row->begun;
  if (pawl_str_eqz(row->status, "completed")) r->completed += row->came;
  if (pawl_str_eqz(row->status, "failed")) r->failed += row->came;
  if (pawl_str_eqz(row->status, "cancelled")) r->cancelled += row->came;
}

static void tell_recent(pawl_object *o, const recent *r, int64_t since_us) {
  pawl_object inner;

  pawl_member_object(o, "recent", &inner);
  pawl_member_time(&inner, "since", since_us);
  pawl_member_int(&inner, "started", r->started);
  pawl_member_int(&inner, "completed", r->completed);
  pawl_member_int(&inner, "failed", r->failed);
  pawl_member_int(&inner, "cancelled", r->cancelled);
  pawl_object_end(&inner);
}

static int is_same_version(const pawl_counter_read_row *a,
                           const pawl_counter_read_row *b) {
  return a->version == b->version && pawl_str_eq(a->workflow, b->workflow);
}

/* Rows `from` up to, not with, `to`: all of one version, by status. */
static void tell_statuses(pawl_object *o, const pawl_rows *rows, int from,
                          int to) {
  pawl_object statuses;

  pawl_member_object(o, "statuses", &statuses);
  for (int k = from; k < to;) {
    const pawl_str status = pawl_read_counter_read(rows, k).status;
    int64_t n = 0;
    for (; k < to; k++) {
      const pawl_counter_read_row row = pawl_read_counter_read(rows, k);
      if (!pawl_str_eq(row.status, status)) break;
      n += row.amount;
    }
    if (!n || !is_counted(status)) continue;
    pawl_member_named(&statuses, status);
    pawl_add_int(o->out, n);
  }
  pawl_object_end(&statuses);
}

static void tell_nodes(pawl_object *o, const pawl_rows *rows, int from,
                       int to) {
  pawl_object list, inner;

  pawl_member_list(o, "nodes", &list);
  for (int k = from; k < to; k++) {
    const pawl_counter_read_row row = pawl_read_counter_read(rows, k);
    if (!row.node.len || !row.amount) continue;
    pawl_list_object(&list, &inner);
    pawl_member_str(&inner, "node", row.node);
    pawl_member_str(&inner, "status", row.status);
    pawl_member_int(&inner, "count", row.amount);
    pawl_object_end(&inner);
  }
  pawl_list_end(&list);
}

/* One workflow's version; gives the row behind its last. */
static int tell_version(pawl_object *list, const pawl_rows *rows, int from,
                        int64_t since_us, recent *all) {
  const pawl_counter_read_row first = pawl_read_counter_read(rows, from);
  recent own = {0};
  pawl_object o;
  int to = from;

  for (; to < rows->nrows; to++) {
    const pawl_counter_read_row row = pawl_read_counter_read(rows, to);
    if (!is_same_version(&row, &first)) break;
    add_recent(&own, &row);
    add_recent(all, &row);
  }
  pawl_list_object(list, &o);
  pawl_member_str(&o, "workflow", first.workflow);
  pawl_member_int(&o, "version", first.version);
  tell_statuses(&o, rows, from, to);
  tell_nodes(&o, rows, from, to);
  tell_recent(&o, &own, since_us);
  pawl_object_end(&o);
  return to;
}

static void tell_workflows(pawl_object *o, const pawl_rows *rows,
                           int64_t since_us) {
  recent all = {0};
  pawl_object list;

  pawl_member_list(o, "workflows", &list);
  for (int k = 0; k < rows->nrows;)
    k = tell_version(&list, rows, k, since_us, &all);
  pawl_list_end(&list);
  tell_recent(o, &all, since_us);
}

/* ---- what is to be done ---- */

static void tell_count(pawl_object *o, int64_t n, int more) {
  pawl_member_int(o, "count", n);
  pawl_member_bool(o, "more", more);
}

static void earlier(int64_t *at_us, int64_t us) {
  if (us && (!*at_us || us < *at_us)) *at_us = us;
}

/* Of each shard as many as MOST were counted: the sum may have more. */
static void tell_ready(pawl_object *o, const pawl_rows *rows, pawl_str only) {
  pawl_object ready, list, inner;
  int64_t total = 0, since_us = 0;
  int more = 0;

  pawl_member_object(o, "ready", &ready);
  pawl_member_list(&ready, "versions", &list);
  for (int k = 0; k < rows->nrows; k++) {
    const pawl_stats_ready_row row = pawl_read_stats_ready(rows, k);
    if (only.len && !pawl_str_eq(row.workflow, only)) continue;
    pawl_list_object(&list, &inner);
    pawl_member_str(&inner, "group", row.executor_group);
    pawl_member_str(&inner, "workflow", row.workflow);
    pawl_member_int(&inner, "version", row.version);
    tell_count(&inner, row.ready, row.ready >= MOST);
    pawl_member_time(&inner, "since", row.since);
    pawl_object_end(&inner);
    total += row.ready;
    more |= row.ready >= MOST;
    earlier(&since_us, row.since);
  }
  pawl_list_end(&list);
  tell_count(&ready, total, more);
  pawl_member_time(&ready, "since", since_us);
  pawl_object_end(&ready);
}

/* The sum of all shards. */
typedef struct due {
  int64_t late, soon, late_since_us, orphaned, takeovers;
  int64_t unpublished, unpublished_since_us, dead, open, overdue;
  int more_due, more_orphaned, more_unpublished, more_dead, more_open,
      more_overdue;
} due;

static due sum_up(const pawl_rows *rows) {
  due d = {0};

  for (int k = 0; k < rows->nrows; k++) {
    const pawl_stats_shard_row row = pawl_read_stats_shard(rows, k);
    d.late += row.late;
    d.soon += row.soon;
    d.orphaned += row.orphaned;
    d.takeovers += row.takeovers;
    d.unpublished += row.unpublished;
    d.dead += row.dead;
    d.open += row.open;
    d.overdue += row.overdue;
    d.more_due |= row.looked >= MOST;
    d.more_orphaned |= row.orphaned >= MOST;
    d.more_unpublished |= row.emitted >= MOST;
    d.more_dead |= row.dead >= MOST;
    d.more_open |= row.open >= MOST;
    d.more_overdue |= row.overdue >= MOST;
    earlier(&d.late_since_us, row.late_since);
    earlier(&d.unpublished_since_us, row.unpublished_since);
    earlier(&d.unpublished_since_us, row.delayed_since);
  }
  return d;
}

static void tell_part(pawl_object *o, const char *name, int64_t n, int more,
                      const int64_t *since_us) {
  pawl_object inner;

  pawl_member_object(o, name, &inner);
  tell_count(&inner, n, more);
  if (since_us) pawl_member_time(&inner, "since", *since_us);
  pawl_object_end(&inner);
}

static void tell_outbox(pawl_object *o, const due *d) {
  pawl_object inner;

  pawl_member_object(o, "outbox", &inner);
  tell_count(&inner, d->unpublished, d->more_unpublished);
  pawl_member_time(&inner, "since", d->unpublished_since_us);
  tell_part(&inner, "dead", d->dead, d->more_dead, NULL);
  pawl_object_end(&inner);
}

static void tell_due(pawl_object *o, const due *d) {
  pawl_object tasks;

  tell_part(o, "late", d->late, d->more_due, &d->late_since_us);
  tell_part(o, "soon", d->soon, d->more_due, NULL);
  tell_part(o, "orphaned", d->orphaned, d->more_orphaned, NULL);
  tell_outbox(o, d);
  pawl_member_object(o, "tasks", &tasks);
  tell_part(&tasks, "open", d->open, d->more_open, NULL);
  tell_part(&tasks, "overdue", d->overdue, d->more_overdue, NULL);
  pawl_object_end(&tasks);
}

/* ---- who holds what ---- */

static void tell_held(pawl_object *o, const pawl_rows *rows, int64_t shown,
                      int64_t takeovers) {
  pawl_object held, list, inner;
  pawl_id executors[EXECUTORS];
  int nexecutors = 0, more = rows->nrows >= HELD;

  for (int k = 0; k < rows->nrows; k++) {
    const pawl_stats_held_row row = pawl_read_stats_held(rows, k);
    int known = !row.executor;
    takeovers += row.takeovers;
    for (int i = 0; i < nexecutors && !known; i++)
      known = pawl_id_eq(&executors[i], row.executor);
    if (known) continue;
    if (nexecutors < EXECUTORS)
      executors[nexecutors++] = *row.executor;
    else
      more = 1;
  }
  pawl_member_object(o, "held", &held);
  tell_count(&held, rows->nrows, more);
  pawl_member_int(&held, "executors", nexecutors);
  pawl_member_int(&held, "takeovers", takeovers);
  pawl_member_list(&held, "instances", &list);
  for (int k = 0; k < rows->nrows && k < shown; k++) {
    const pawl_stats_held_row row = pawl_read_stats_held(rows, k);
    pawl_list_object(&list, &inner);
    pawl_member_columns(&inner, rows, k,
                        "instance workflow version node attempt executor "
                        "until takeovers");
    pawl_member_time(&inner, "since",
                     row.lease ? pawl_id_time_us(row.lease) : 0);
    pawl_object_end(&inner);
  }
  pawl_list_end(&list);
  pawl_object_end(&held);
}

/* ---- all of it ---- */

typedef struct query {
  uint64_t given;
  pawl_buf workflow;
  int64_t minutes, held;
} query;

static const pawl_option stats_rows[] = {
    {"workflow", PAWL_OPTION_TEXT, .at = offsetof(query, workflow), .low = 1},
    {"minutes", PAWL_OPTION_INT, .at = offsetof(query, minutes), .low = 1,
     .high = PAWL_COUNTED_US / MINUTE_US - 1},
    {"held", PAWL_OPTION_INT, .at = offsetof(query, held), .high = 1000}};
PAWL_OPTIONS_OF(stats) = {.what = "stats", PAWL_OPTION_ROWS(stats_rows)};

/* Where the answers will be. */
typedef struct answers {
  int counters, ready, due, held;
} answers;

#define EACH_SHARD(e, stmt, ...)                           \
  do {                                                     \
    pawl_args_begin(&(e)->args, PAWL_STMT_##stmt);         \
    for (int s = 0; s < (e)->nshards; s++)                 \
      PAWL_PUT(&(e)->args, stmt, .shard = s, __VA_ARGS__); \
  } while (0)

static pawl_code send_all(pawl_engine *e, const query *q, int64_t since_us,
                          answers *at, pawl_error *err) {
  const int64_t now = pawl_store_now(e->store);

  MUST(PAWL_SEND(e->store, counter_read, &at->counters, err,
                 .workflow = pawl_buf_some(&q->workflow), .since = since_us));
  EACH_SHARD(e, stats_ready, .max = MOST);
  MUST(pawl_store_send(e->store, &e->args, &at->ready, err));
  EACH_SHARD(e, stats_shard, .soon_us = MINUTE_US, .now = now, .max = MOST);
  MUST(pawl_store_send(e->store, &e->args, &at->due, err));
  EACH_SHARD(e, stats_held, .horizon_us = PAWL_MAX_LEASE_US, .now = now,
             .max = HELD);
  return pawl_store_send(e->store, &e->args, &at->held, err);
}

static void tell_all(pawl_engine *e, const query *q, int64_t now,
                     int64_t since_us, const answers *at, pawl_buf *out) {
  pawl_rows rows;
  pawl_object o;
  due d;

  pawl_object_begin(&o, out);
  pawl_member_time(&o, "at", now);
  pawl_store_rows(e->store, at->counters, &rows);
  tell_workflows(&o, &rows, since_us);
  pawl_store_rows(e->store, at->ready, &rows);
  tell_ready(&o, &rows, pawl_buf_str(&q->workflow));
  pawl_store_rows(e->store, at->due, &rows);
  d = sum_up(&rows);
  tell_due(&o, &d);
  pawl_store_rows(e->store, at->held, &rows);
  tell_held(&o, &rows, q->held, d.takeovers);
  pawl_object_end(&o);
}

pawl_code pawl_engine_stats(pawl_engine *e, pawl_str text, pawl_buf *out,
                            pawl_error *err) {
  const int64_t now = pawl_engine_now(e);
  query q;
  answers at;
  int64_t since_us;
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_stats, &q, sizeof q, &e->alloc);
  q.minutes = 5;
  TRY(pawl_options_read(&pawl_options_of_stats, text, &q, err));
  since_us = now - now % MINUTE_US - q.minutes * MINUTE_US;
  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(send_all(e, &q, since_us, &at, err));
  TRY(pawl_store_commit(e->store, err));
  tell_all(e, &q, now, since_us, &at, out);
  TRY(pawl_buf_check(out, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  pawl_options_deinit(&pawl_options_of_stats, &q);
  return rc;
}

/* ---- problems ---- */

typedef struct problem_query {
  uint64_t given;
  pawl_buf workflow;
  int64_t limit;
} problem_query;

static const pawl_option problems_rows[] = {
    {"workflow", PAWL_OPTION_TEXT, .at = offsetof(problem_query, workflow),
     .low = 1},
    {"limit", PAWL_OPTION_INT, .at = offsetof(problem_query, limit), .low = 1,
     .high = GROUPS}};
PAWL_OPTIONS_OF(problems) = {.what = "problems",
                             PAWL_OPTION_ROWS(problems_rows)};

/* One kind of failure, of all shards. */
typedef struct problem {
  pawl_problem_list_row row; /* the newest one's */
  int more;
} problem;

static int is_same_kind(const pawl_problem_list_row *a,
                        const pawl_problem_list_row *b) {
  return pawl_str_eq(a->workflow, b->workflow) &&
         pawl_str_eq(a->code, b->code) && pawl_str_eq(a->node, b->node);
}

static void join_kinds(problem *p, const pawl_problem_list_row *row) {
  const int64_t count = p->row.count + row->count;
  int64_t first = p->row.first_at;

  earlier(&first, row->first_at);
  if (row->last_at > p->row.last_at) p->row = *row;
  p->row.count = count;
  p->row.first_at = first;
  p->more |= row->count >= MOST;
}

/* Those of one shard have kinds of their own: only others are looked through
 * for the same. */
static int collect(const pawl_rows *rows, int nshards, problem *list) {
  int n = 0;

  for (int k = 0; k < rows->nrows; k++) {
    const pawl_problem_list_row row = pawl_read_problem_list(rows, k);
    int i = nshards > 1 ? 0 : n;
    while (i < n && !is_same_kind(&list[i].row, &row)) i++;
    if (i < n)
      join_kinds(&list[i], &row);
    else
      list[n++] = (problem){row, row.count >= MOST};
  }
  return n;
}

/* Most first; of as many, what happened last. */
static int by_count(const void *a, const void *b) {
  const problem *x = a, *y = b;
  if (x->row.count != y->row.count)
    return x->row.count < y->row.count ? 1 : -1;
  return (x->row.last_at < y->row.last_at) - (x->row.last_at > y->row.last_at);
}

/* The message that the error has. */
static void tell_message(pawl_object *o, pawl_str error) {
  for (pawl_json_iter it = {0}; error.len && pawl_json_walk(error, &it);)
    if (pawl_str_eqz(it.key, "message")) {
      pawl_member_json(o, "message", it.value);
      return;
    }
  pawl_member_null(o, "message");
}

static void tell_problem(pawl_object *list, const problem *p) {
  pawl_object o;

  pawl_list_object(list, &o);
  pawl_member_str(&o, "workflow", p->row.workflow);
  pawl_member_str(&o, "code", p->row.code);
  pawl_member_str(&o, "node", p->row.node);
  tell_count(&o, p->row.count, p->more);
  pawl_member_time(&o, "first", p->row.first_at);
  pawl_member_time(&o, "last", p->row.last_at);
  pawl_member_id(&o, "example", p->row.example);
  tell_message(&o, p->row.error);
  pawl_object_end(&o);
}

static pawl_code tell_problems(pawl_engine *e, const pawl_rows *rows,
                               int64_t limit, pawl_buf *out, pawl_error *err) {
  pawl_buf space = {.alloc = &e->alloc};
  pawl_object o, list;

  if (!pawl_buf_room(&space, (size_t)(rows->nrows + 1) * sizeof(problem)))
    return pawl_fail_memory(err);
  problem *found = (problem *)(void *)space.at;
  const int n = collect(rows, e->nshards, found);
  qsort(found, (size_t)n, sizeof *found, by_count);
  pawl_object_begin(&o, out);
  pawl_member_list(&o, "problems", &list);
  for (int k = 0; k < n && k < limit; k++) tell_problem(&list, &found[k]);
  pawl_list_end(&list);
  pawl_member_bool(&o, "more", n > limit || rows->nrows >= GROUPS);
  pawl_object_end(&o);
  pawl_buf_deinit(&space);
  return pawl_buf_check(out, err);
}

pawl_code pawl_engine_problems(pawl_engine *e, pawl_str text, pawl_buf *out,
                               pawl_error *err) {
  problem_query q;
  pawl_rows rows;
  int at;
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_problems, &q, sizeof q, &e->alloc);
  q.limit = 20;
  TRY(pawl_options_read(&pawl_options_of_problems, text, &q, err));
  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  EACH_SHARD(e, problem_list, .workflow = pawl_buf_some(&q.workflow),
             .max = GROUPS, .most = MOST);
  TRY(pawl_store_send(e->store, &e->args, &at, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, at, &rows);
  TRY(tell_problems(e, &rows, q.limit, out, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  pawl_options_deinit(&pawl_options_of_problems, &q);
  return rc;
}
