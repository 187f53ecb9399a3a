/* Asking about tasks: one of them, and lists by whom they are for, status,
 * form, due time, instance... A list is put together of ids that several
 * indexes give, each in order; then the tasks themselves are read.
 *
 *   given                      found by          in order of
 *   user, roles, groups        owner, assignee, claimed_by
 *   instance, business_key,    its tasks: few
 *   key
 *   due_before, overdue        due time          due time
 *   assignee, tenant, form,    its index
 *   workflow, or none
 *
 * The first of these that is given; all else is compared beside. */
#include <assert.h>
#include <stdlib.h>

#include "../../value/options.h"
#include "../../value/types.h"
#include "../common/answer.h"
#include "../common/engine_struct.h"
#include "../common/find.h"
#include "../common/task.h"
#include "../common/tenant.h"
#include "../common/time.h"
#include "../versions/versions.h"
#include "ask.h"
#include "ranges.h"
#include "sorted.h"

/* ---- a query ---- */

/* How far an id's time may be from its task's: clocks differ. */
#define DRAWN_US (INT64_C(3600) * 1000000)

typedef struct query {
  uint64_t given;
  unsigned statuses; /* bits of pawl_task_status; 0: all */
  pawl_who who;
  pawl_buf user, tenant, workflow, node, business_key, key, assignee, form,
      priority, instance_id, before_id, after_id;
  pawl_who_given asked;
  int has_instance, has_before, has_after, overdue;
  pawl_id instance, before, after;
  int64_t version, due_us, due_after_us, limit; /* 0: none */
  int64_t created_after_us, created_before_us;
  /* what follows from those */
  pawl_buf business_from, business_to;
  pawl_id low, high;    /* between those, neither of them */
  pawl_moment from, to; /* the same by due time */
  int up;               /* those nearest to the first of them, else the last */
} query;

static const pawl_option tasks_rows[] = {
    {"user", PAWL_OPTION_TEXT, .at = offsetof(query, asked.users), .raw = 1},
    {"role", PAWL_OPTION_TEXTS, .at = offsetof(query, asked.role)},
    {"roles", PAWL_OPTION_TEXTS, .at = offsetof(query, asked.roles)},
    {"group", PAWL_OPTION_TEXTS, .at = offsetof(query, asked.group)},
    {"groups", PAWL_OPTION_TEXTS, .at = offsetof(query, asked.groups)},
    {"status", PAWL_OPTION_CHOICES, .at = offsetof(query, statuses),
     .names = pawl_task_status_names, .low = 1, .high = PAWL_NTASK_STATUSES},
    {"instance", PAWL_OPTION_TEXT, .at = offsetof(query, instance_id)},
    {"tenant", PAWL_OPTION_TEXT, .at = offsetof(query, tenant), .low = 1},
    {"workflow", PAWL_OPTION_TEXT, .at = offsetof(query, workflow), .low = 1},
    {"version", PAWL_OPTION_INT, .at = offsetof(query, version), .low = 1,
     .high = INT32_MAX},
    {"node", PAWL_OPTION_TEXT, .at = offsetof(query, node), .low = 1},
    {"business_key", PAWL_OPTION_TEXT, .at = offsetof(query, business_key),
     .low = 1},
    {"key", PAWL_OPTION_TEXT, .at = offsetof(query, key), .low = 1},
    {"assignee", PAWL_OPTION_TEXT, .at = offsetof(query, assignee), .low = 1},
    {"form", PAWL_OPTION_TEXT, .at = offsetof(query, form), .low = 1,
     .high = 255},
    {"priority", PAWL_OPTION_TEXT, .at = offsetof(query, priority),
     .names = pawl_priorities, .high = PAWL_NPRIORITIES},
    {"limit", PAWL_OPTION_INT, .at = offsetof(query, limit), .low = 1,
     .high = PAWL_MAX_LIMIT},
    {"before", PAWL_OPTION_TEXT, .at = offsetof(query, before_id)},
    {"after", PAWL_OPTION_TEXT, .at = offsetof(query, after_id)},
    {"due_after_us", PAWL_OPTION_TIME, .at = offsetof(query, due_after_us),
     .low = 1, .high = INT64_MAX},
    {"created_after_us", PAWL_OPTION_TIME,
     .at = offsetof(query, created_after_us), .low = 1, .high = INT64_MAX},
    {"created_before_us", PAWL_OPTION_TIME,
     .at = offsetof(query, created_before_us), .low = 1, .high = INT64_MAX},
    {"due_before_us", PAWL_OPTION_TIME, .at = offsetof(query, due_us),
     .low = 1, .high = INT64_MAX},
    {"overdue", PAWL_OPTION_BOOL, .at = offsetof(query, overdue)},
};
PAWL_OPTIONS_OF(task_list) = {.what = "tasks", PAWL_OPTION_ROWS(tasks_rows)};

/* A filter that names nobody would be none. Beside a user it is no filter: he
 * is in no such role. */
static pawl_code check_asked(const query *q, pawl_error *err) {
  const pawl_str lists[] = {q->asked.role, q->asked.roles, q->asked.group,
                            q->asked.groups};
  static const char *const names[] = {"role", "roles", "group", "groups"};

  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    if (!lists[i].at || q->asked.users.at) continue;
    if (pawl_json_kind_of(lists[i]) != PAWL_JSON_ARRAY ||
        pawl_json_count(lists[i]))
      continue;
    pawl_fail_hint(err, PAWL_INVALID,
                   "leave it out to have everybody's; beside `user` it may be "
                   "empty",
                   "option `%s` of tasks names nobody", names[i]);
    pawl_error_where(err, "%s", names[i]);
    return PAWL_INVALID;
  }
  return PAWL_OK;
}

/* Without anybody to whom they are to belong, what is due comes in order of
 * due time: those longest overdue first. */
static int by_due(const query *q) {
  return q->due_us && !q->who.n && !q->has_instance && !q->business_key.len &&
         !q->key.len;
}

/* A page in order of due time goes on where a task stands that may have been
 * dealt with since: its due time is asked for. */
static pawl_code read_moment(pawl_engine *e, const pawl_id *id,
                             pawl_moment *out, pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_READ(e->store, task_get, &rows, err, .shard = pawl_shard_of(e, id),
                 .id = id));
  if (!rows.nrows) return pawl_task_missing(id, err);
  *out = (pawl_moment){pawl_read_task_get(&rows, 0).due_at, *id};
  return PAWL_OK;
}

/* The next page is `before` the last one, in either order, and the one in front
 * of it `after` the first. */
static pawl_code read_moments(pawl_engine *e, query *q, pawl_error *err) {
  q->from = (pawl_moment){q->due_after_us, {{0}}};
  q->to.at_us = q->due_us;
  memset(&q->to.id, 0xff, sizeof q->to.id);
  if (q->has_before) MUST(read_moment(e, &q->before, &q->from, err));
  if (q->has_after) MUST(read_moment(e, &q->after, &q->to, err));
  return PAWL_OK;
}

static pawl_code read_places(pawl_engine *e, query *q, pawl_error *err) {
  q->has_before = q->before_id.at != NULL;
  q->has_after = q->after_id.at != NULL;
  if (q->has_before)
    MUST(pawl_engine_task_find(e, q->before_id.at, &q->before, err));
  if (q->has_after)
    MUST(pawl_engine_task_find(e, q->after_id.at, &q->after, err));
  return by_due(q) ? read_moments(e, q, err) : PAWL_OK;
}

/* Ids begin with the time at which they were drawn, by the clock that tells
 * when the task was made. */
static void set_bounds(query *q) {
  memset(&q->low, 0, sizeof q->low);
  memset(&q->high, 0xff, sizeof q->high);
  if (q->created_after_us)
    q->low = pawl_range_id(q->created_after_us - DRAWN_US);
  if (q->created_before_us && q->created_before_us < PAWL_TIME_MAX - DRAWN_US)
    q->high = pawl_range_id(q->created_before_us + DRAWN_US);
  if (q->has_after && pawl_id_cmp(&q->after, &q->low) > 0) q->low = q->after;
  if (q->has_before && pawl_id_cmp(&q->before, &q->high) < 0)
    q->high = q->before;
  q->up = (q->has_after && !q->has_before) != by_due(q);
}

/* `overdue` is due time and status, said in one word. */
static pawl_code read_query(pawl_engine *e, pawl_str text, query *q,
                            pawl_error *err) {
  const unsigned open = 1u << PAWL_TASK_PENDING | 1u << PAWL_TASK_RUNNING;

  MUST(pawl_options_read(&pawl_options_of_task_list, text, q, err));
  MUST(pawl_tenant_take(e, &q->tenant, err)); /* Z2 */
  MUST(check_asked(q, err));
  MUST(pawl_who_read(&q->who, &q->asked, err));
  if (q->asked.users.at) pawl_buf_adds(&q->user, pawl_who_name(&q->who, 0));
  MUST(pawl_buf_check(&q->user, err));
  MUST(pawl_find_given(e, &q->instance_id, &q->instance, &q->has_instance,
                       err));
  if (q->business_key.len)
    pawl_word_range(pawl_buf_str(&q->business_key), &q->business_from,
                    &q->business_to);
  MUST(pawl_buf_check(&q->business_from, err));
  MUST(pawl_buf_check(&q->business_to, err));
  if (q->overdue) {
    int64_t now = pawl_engine_now(e);
    if (!q->due_us || q->due_us > now) q->due_us = now;
    q->statuses = q->statuses ? q->statuses & open : open;
    if (!q->statuses)
      return pawl_fail(err, PAWL_INVALID,
                       "only pending and running tasks can be overdue");
  }
  if (!q->statuses) q->statuses = (1u << PAWL_NTASK_STATUSES) - 1;
  MUST(read_places(e, q, err));
  set_bounds(q);
  return PAWL_OK;
}

/* ---- ids that match ---- */

typedef struct entry {
  pawl_id id;
  int64_t due_us;
  int row; /* of task_get's, once that was read */
} entry;

/* Ids alone: of many that match few are shown. */
typedef struct entries {
  const pawl_alloc *alloc;
  entry *at;
  int n, cap;
} entries;

static int add_entry(entries *l, const pawl_id *id, int64_t due_us, int row) {
  if (!PAWL_ROOM(l->alloc, l->at, l->n, l->cap)) return 0;
  l->at[l->n++] = (entry){*id, due_us, row};
  return 1;
}

/* Ids begin with the time at which they were made. */
static int newest_first(const void *a, const void *b) {
  const entry *x = a, *y = b;
  return pawl_id_cmp(&y->id, &x->id);
}

static int oldest_first(const void *a, const void *b) {
  return newest_first(b, a);
}

/* Ids decide between those due at once: a page has to end somewhere. */
static int soonest_first(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->due_us != y->due_us) return x->due_us < y->due_us ? -1 : 1;
  return pawl_id_cmp(&x->id, &y->id);
}

static int latest_first(const void *a, const void *b) {
  return soonest_first(b, a);
}

static void sort_entries(const query *q, entries *l) {
  if (l->n)
    qsort(l->at, (size_t)l->n, sizeof *l->at,
          by_due(q) ? soonest_first : newest_first);
}

/* A task lies in its instance's shard; all others may have some of the rest. */
static int first_shard(const pawl_engine *e, const query *q) {
  return q->has_instance ? pawl_shard_of(e, &q->instance) : 0;
}
static int last_shard(const pawl_engine *e, const query *q) {
  return q->has_instance ? first_shard(e, q) + 1 : e->nshards;
}

enum { NLISTS = 3 }; /* at most, that are made one */

/* A row for each pair of shard and status. */
#define EACH_PAIR(s, k)                                      \
  for (int s = first_shard(e, q); s < last_shard(e, q); s++) \
    for (int k = 0; k < PAWL_NTASK_STATUSES; k++)            \
      if (q->statuses >> k & 1u)

/* What the arguments of all lists have in common. */
#define WHICH(q, s, k)                                                \
  .shard = (s), .status = pawl_strz(pawl_task_status_names[k]),       \
  .tenant = pawl_buf_some(&(q)->tenant),                              \
  .workflow = pawl_buf_some(&(q)->workflow),                          \
  .node = pawl_buf_some(&(q)->node),                                  \
  .instance = (q)->has_instance ? &(q)->instance : NULL,              \
  .version = (q)->version, .key = pawl_buf_some(&(q)->key),           \
  .form = pawl_buf_some(&(q)->form),                                  \
  .priority = pawl_buf_some(&(q)->priority),                          \
  .assignee = pawl_buf_some(&(q)->assignee),                          \
  .business_from =                                                    \
      pawl_buf_given(&(q)->business_from, (q)->business_key.len > 0), \
  .business_to = pawl_buf_some(&(q)->business_to),                    \
  .due_from = (q)->due_after_us, .due = (q)->due_us,                  \
  .created_after = (q)->created_after_us,                             \
  .created_before = (q)->created_before_us, .max = (q)->limit
#define PAGE(q) .low = &(q)->low, .high = &(q)->high, .up = (q)->up

/* The lists of all, of an instance and of a form. */
static pawl_code send_list(pawl_engine *e, const query *q, pawl_stmt stmt,
                           int *at, pawl_error *err) {
  pawl_args_begin(&e->args, stmt);
  EACH_PAIR(s, k)
  pawl_args_put(&e->args, stmt,
                &(const pawl_task_list_args){WHICH(q, s, k), PAGE(q)});
  return pawl_store_send(e->store, &e->args, at, err);
}

/* Those that somebody is to do, and those that the user is doing. */
static pawl_code send_user(pawl_engine *e, const query *q, pawl_stmt stmt,
                           const pawl_buf *who, int *at, pawl_error *err) {
  pawl_args_begin(&e->args, stmt);
  EACH_PAIR(s, k)
  pawl_args_put(&e->args, stmt,
                &(const pawl_task_list_assignee_args){
                    .owner = pawl_buf_some(who), WHICH(q, s, k), PAGE(q)});
  return pawl_store_send(e->store, &e->args, at, err);
}

/* A person is a user and is in roles and groups: each of them has its own
 * rows, and the lists are made one. */
static pawl_code send_owners(pawl_engine *e, const query *q, int *at,
                             pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_task_list_owner);
  for (int i = 0; i < q->who.n; i++) EACH_PAIR(s, k)
  PAWL_PUT(&e->args, task_list_owner, WHICH(q, s, k), PAGE(q),
           .kind = pawl_strz(q->who.list[i].kind),
           .owner = pawl_who_name(&q->who, i));
  return pawl_store_send(e->store, &e->args, at, err);
}

static pawl_code send_due(pawl_engine *e, const query *q, int *at,
                          pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_task_list_due);
  EACH_PAIR(s, k)
  PAWL_PUT(&e->args, task_list_due, WHICH(q, s, k), .from_at = q->from.at_us,
           .from_id = &q->from.id, .to_at = q->to.at_us, .to_id = &q->to.id,
           .up = q->up);
  return pawl_store_send(e->store, &e->args, at, err);
}

/* `at`: where the results are; those that are not asked for have no rows. */
static pawl_code send_lists(pawl_engine *e, const query *q, int at[NLISTS],
                            pawl_error *err) {
  assert(q->statuses && q->limit > 0);
  for (int k = 0; k < NLISTS; k++) at[k] = -1;
  if (q->user.len) {
    MUST(send_owners(e, q, &at[0], err));
    MUST(send_user(e, q, PAWL_STMT_task_list_assignee, &q->user, &at[1], err));
    return send_user(e, q, PAWL_STMT_task_list_claimed, &q->user, &at[2], err);
  }
  if (q->who.n) return send_owners(e, q, at, err);
  if (q->has_instance)
    return send_list(e, q, PAWL_STMT_task_list_instance, at, err);
  if (q->business_key.len || q->key.len)
    return send_list(e, q, PAWL_STMT_task_list_key, at, err);
  if (q->due_us) return send_due(e, q, at, err);
  if (q->assignee.len)
    return send_user(e, q, PAWL_STMT_task_list_assignee, &q->assignee, at,
                     err);
  return send_list(e, q,
                   q->tenant.len     ? PAWL_STMT_task_list_tenant
                   : q->form.len     ? PAWL_STMT_task_list_form
                   : q->workflow.len ? PAWL_STMT_task_list_workflow
                                     : PAWL_STMT_task_list,
                   at, err);
}

/* All lists have the columns of task_list. */
static pawl_code collect(pawl_engine *e, const int at[NLISTS], entries *l,
                         pawl_error *err) {
  pawl_rows rows;

  for (int k = 0; k < NLISTS; k++) {
    pawl_store_rows(e->store, at[k], &rows);
    for (int i = 0; i < rows.nrows; i++) {
      const pawl_task_list_row row = pawl_read_task_list(&rows, i);
      if (!add_entry(l, row.id, row.due_at, 0)) return pawl_fail_memory(err);
    }
  }
  return PAWL_OK;
}

/* Sorted, each once, and no more than were asked for: those nearest to where
 * the page begins. */
static void cut(const query *q, entries *l) {
  int n = 0;
  if (l->n)
    qsort(l->at, (size_t)l->n, sizeof *l->at,
          by_due(q) ? q->up ? soonest_first : latest_first
          : q->up   ? oldest_first
                    : newest_first);
  for (int i = 0; i < l->n && n < q->limit; i++)
    if (!n || !pawl_id_eq(&l->at[n - 1].id, &l->at[i].id))
      l->at[n++] = l->at[i];
  l->n = n;
}

/* One trip, whichever lists are asked for. */
static pawl_code find_ids(pawl_engine *e, const query *q, entries *l,
                          pawl_error *err) {
  pawl_code rc = PAWL_OK;
  int at[NLISTS];

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(send_lists(e, q, at, err));
  TRY(pawl_store_commit(e->store, err));
  TRY(collect(e, at, l, err));
  cut(q, l);
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* ---- tasks ---- */

/* Owners of one kind; `list`: rows of owner_get that are this task's. */
static void add_owners(pawl_object *o, const char *name, const pawl_rows *r,
                       int from, int to, const char *kind) {
  pawl_object list;
  pawl_member_list(o, name, &list);
  for (int i = from; i < to; i++) {
    const pawl_owner_get_row row = pawl_read_owner_get(r, i);
    if (!pawl_str_eqz(row.kind, kind)) continue;
    pawl_list_next(&list);
    pawl_json_add_string(o->out, row.id);
  }
  pawl_list_end(&list);
}

static const pawl_id *task_id_of(const pawl_rows *r, int i) {
  return pawl_read_owner_get(r, i).task;
}

/* Owners come in order of their tasks, which were asked for oldest first. */
static int first_owner(const pawl_rows *r, const pawl_id *id) {
  int low = 0, high = r->nrows;
  while (low < high) {
    int mid = (low + high) / 2;
    if (pawl_id_cmp(task_id_of(r, mid), id) < 0)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

/* Each name stands once, under its kind. */
static void add_all_owners(pawl_object *o, const pawl_rows *r,
                           const pawl_id *id) {
  int from = first_owner(r, id), to = from;
  while (to < r->nrows && pawl_id_eq(task_id_of(r, to), id)) to++;
  add_owners(o, "users", r, from, to, "user");
  add_owners(o, "roles", r, from, to, "role");
  add_owners(o, "groups", r, from, to, "group");
}

/* What else is noted there is the engine's. */
static void add_log(pawl_object *o, pawl_str noted) {
  pawl_str log = {NULL, 0};
  if (noted.at) (void)pawl_json_get(noted, "log", &log);
  pawl_member_json(o, "log", log.at ? log : pawl_strz("[]"));
}

/* What is over is not overdue any more. */
static int is_open(pawl_str status) {
  return pawl_str_eqz(status, pawl_task_status_names[PAWL_TASK_PENDING]) ||
         pawl_str_eqz(status, pawl_task_status_names[PAWL_TASK_RUNNING]);
}

/* `overdue` is said outright: readers' clocks may differ. */
static void add_task(const pawl_rows *r, int k, const pawl_rows *owners,
                     int64_t now_us, pawl_buf *out) {
  const pawl_task_get_row row = pawl_read_task_get(r, k);
  pawl_object o;
  pawl_object_begin(&o, out);
  pawl_member_columns(&o, r, k,
                      "id instance tenant workflow version business_key node "
                      "token visit title description form status priority "
                      "input metadata output error transition due=due_at");
  pawl_member_bool(&o, "overdue",
                   row.due_at && row.due_at <= now_us && is_open(row.status));
  pawl_member_str(&o, "assignee", row.assignee);
  add_all_owners(&o, owners, row.id);
  pawl_member_columns(&o, r, k,
                      "delegated_by claimed_by claimed=claimed_at "
                      "completed_by completed=completed_at "
                      "escalated=escalated_at signal "
                      "created=created_at started=started_at "
                      "updated=updated_at");
  add_log(&o, row.log);
  pawl_object_end(&o);
}

/* What its output must be, as the graph says: behind all else of it. */
static pawl_code add_accepts(pawl_engine *e, const char *code, int64_t version,
                             pawl_str node, pawl_buf *out, pawl_error *err) {
  pawl_def *def;
  int own;
  const pawl_code rc = pawl_graph_find(e, code, version, &def, &own, err);

  if (rc != PAWL_OK) return rc == PAWL_NOTFOUND ? PAWL_OK : rc;
  const int at = pawl_def_node(def, node.at, node.len);
  if (at >= 0 && def->nodes[at].accepts.at && out->len) {
    out->len--;
    pawl_buf_addz(out, ",\"accepts\":");
    pawl_buf_adds(out, def->nodes[at].accepts);
    pawl_buf_addz(out, ",\"schema\":");
    pawl_types_schema(def->nodes[at].accepts, out);
    pawl_buf_addc(out, '}');
  }
  if (own) pawl_def_free(def);
  return PAWL_OK;
}

pawl_code pawl_engine_task_get(pawl_engine *e, const pawl_id *id,
                               pawl_buf *out, pawl_error *err) {
  pawl_buf code = {.alloc = &e->alloc}, node = {.alloc = &e->alloc};
  pawl_rows rows, owners;
  int64_t now = pawl_engine_now(e), version;
  pawl_code rc = PAWL_OK;

  TRY(pawl_task_read(e, id, 0, 1, &rows, &owners, err));
  if (!rows.nrows) TRY(pawl_task_missing(id, err));
  const pawl_task_get_row row = pawl_read_task_get(&rows, 0);
  version = row.version;
  pawl_buf_set(&code, row.workflow);
  pawl_buf_set(&node, row.node);
  TRY(pawl_buf_check(&code, err));
  TRY(pawl_buf_check(&node, err));
  add_task(&rows, 0, &owners, now, out);
  TRY(pawl_buf_check(out, err));
  TRY(add_accepts(e, code.at, version, pawl_buf_str(&node), out, err));
  TRY(pawl_buf_check(out, err));
out:
  pawl_buf_deinit(&code);
  pawl_buf_deinit(&node);
  return rc;
}

/* Perhaps fewer than there were ids, when an instance was purged meanwhile. */
static pawl_code add_tasks(pawl_engine *e, const query *q, entries *l,
                           pawl_buf *out, pawl_error *err) {
  pawl_rows rows, owners;
  int64_t now = pawl_engine_now(e);

  if (!l->n) return PAWL_OK;
  qsort(l->at, (size_t)l->n, sizeof *l->at, oldest_first);
  MUST(
      pawl_task_read(e, &l->at->id, sizeof *l->at, l->n, &rows, &owners, err));
  assert(rows.nrows <= l->n); /* what was asked for, at most */
  l->n = 0;
  for (int i = 0; i < rows.nrows; i++) {
    const pawl_task_get_row row = pawl_read_task_get(&rows, i);
    if (!add_entry(l, row.id, row.due_at, i)) return pawl_fail_memory(err);
  }
  sort_entries(q, l);
  for (int i = 0; i < l->n; i++) {
    if (i) pawl_buf_addc(out, ',');
    add_task(&rows, l->at[i].row, &owners, now, out);
  }
  return PAWL_OK;
}

static void init_query(pawl_engine *e, query *q) {
  pawl_options_init(&pawl_options_of_task_list, q, sizeof *q, &e->alloc);
  q->user.alloc = q->who.text.alloc = &e->alloc;
  q->business_from.alloc = q->business_to.alloc = &e->alloc;
}

static void deinit_query(query *q) {
  pawl_buf_deinit(&q->who.text);
  pawl_buf_deinit(&q->user);
  pawl_buf_deinit(&q->business_from);
  pawl_buf_deinit(&q->business_to);
  pawl_options_deinit(&pawl_options_of_task_list, q);
}

pawl_code pawl_engine_task_list(pawl_engine *e, pawl_str text, pawl_buf *out,
                                pawl_error *err) {
  query q;
  entries l = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  init_query(e, &q);
  q.limit = 100;
  TRY(read_query(e, text, &q, err));
  TRY(find_ids(e, &q, &l, err));
  pawl_buf_addc(out, '[');
  TRY(add_tasks(e, &q, &l, out, err));
  pawl_buf_addc(out, ']');
  TRY(pawl_buf_check(out, err));
out:
  pawl_release(&e->alloc, l.at, sizeof *l.at * (size_t)l.cap);
  deinit_query(&q);
  return rc;
}

/* Ids alone; one more than is counted tells that there are more. */
pawl_code pawl_engine_task_tally(pawl_engine *e, pawl_str text, int64_t *count,
                                 int *more, pawl_error *err) {
  query q;
  entries l = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;
  int64_t limit;

  init_query(e, &q);
  q.limit = PAWL_MAX_LIMIT;
  TRY(read_query(e, text, &q, err));
  limit = q.limit++;
  TRY(find_ids(e, &q, &l, err));
  *more = l.n > limit;
  *count = *more ? limit : l.n;
out:
  pawl_release(&e->alloc, l.at, sizeof *l.at * (size_t)l.cap);
  deinit_query(&q);
  return rc;
}

/* ---- shortened ids ---- */

enum { WHOLE = 32 }; /* digits */

/* By the beginning alone: people meet tasks in lists, and no index knows
 * ends. */
static pawl_code find_task(pawl_engine *e, const pawl_id *low,
                           const pawl_id *high, pawl_rows *rows,
                           pawl_error *err) {
  const pawl_str tenant = pawl_tenant_of(e);

  pawl_args_begin(
      &e->args, tenant.len ? PAWL_STMT_task_find_tenant : PAWL_STMT_task_find);
  for (int s = 0; s < e->nshards; s++) {
    if (!tenant.len)
      PAWL_PUT(&e->args, task_find, .shard = s, .low = low, .high = high);
    for (int k = 0; tenant.len && k < PAWL_NTASK_STATUSES; k++)
      PAWL_PUT(&e->args, task_find_tenant, .shard = s, .tenant = tenant,
               .status = pawl_strz(pawl_task_status_names[k]), .low = low,
               .high = high);
  }
  return pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, rows, err);
}

/* *is_whole: it was looked at no further. */
static pawl_code find(pawl_engine *e, const char *prefix, int *is_whole,
                      pawl_id *out, pawl_error *err) {
  pawl_id low, high;
  pawl_rows rows;
  int digits = prefix ? pawl_id_range(prefix, &low, &high) : -1;

  if (digits < 4) {
    return pawl_fail_hint(
        err, PAWL_INVALID, "give at least its first 4 hexadecimal digits",
        "\"%.40s\" is not a task's id", prefix ? prefix : "");
  }
  *is_whole = digits == WHOLE;
  if (*is_whole) {
    *out = low;
    return PAWL_OK;
  }
  MUST(find_task(e, &low, &high, &rows, err));
  if (rows.nrows == 1) {
    *out = *pawl_read_task_find(&rows, 0).id;
    return PAWL_OK;
  }
  if (rows.nrows) {
    return pawl_fail_hint(err, PAWL_AMBIGUOUS, "give more characters",
                          "several tasks' ids begin with \"%s\"", prefix);
  }
  return pawl_fail_hint(err, PAWL_NOTFOUND,
                        "`pawl task list` shows what there is",
                        "no task's id begins with \"%s\"", prefix);
}

static pawl_code check_there(pawl_engine *e, const pawl_id *id,
                             pawl_error *err) {
  pawl_rows rows;

  MUST(find_task(e, id, id, &rows, err));
  return rows.nrows ? PAWL_OK : pawl_task_missing(id, err);
}

/* Z2 */
pawl_code pawl_engine_task_find(pawl_engine *e, const char *prefix,
                                pawl_id *out, pawl_error *err) {
  int is_whole;

  MUST(find(e, prefix, &is_whole, out, err));
  return is_whole && pawl_tenant_of(e).len ? check_there(e, out, err)
                                           : PAWL_OK;
}

pawl_code pawl_engine_task_find_known(pawl_engine *e, const char *prefix,
                                      pawl_id *out, pawl_error *err) {
  int is_whole;

  MUST(find(e, prefix, &is_whole, out, err));
  return is_whole ? check_there(e, out, err) : PAWL_OK;
}
