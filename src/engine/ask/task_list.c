/* Asking about tasks: one of them, and lists by whom they are for, status,
 * form, due time or instance. A list is put together of ids that several
 * indexes give, each in order; then the tasks themselves are read. */
#include <stdio.h>
#include <stdlib.h>

#include "../../value/json.h"
#include "../common/task.h"
#include "../engine.h"

#define MAX_LIMIT 10000

const char *const pawl_task_status_names[PAWL_NTASK_STATUSES] = {
#define TASK_NAME(name, text) text,
    PAWL_TASK_STATUSES(TASK_NAME)
#undef TASK_NAME
};

/* ---- values of a query ---- */

pawl_code pawl_task_word(const char *field, pawl_str value, pawl_buf *out,
                         pawl_error *err) {
  size_t from = out->len;
  pawl_code rc = PAWL_OK;

  if (pawl_json_kind_of(value) == PAWL_JSON_STRING) {
    pawl_json_unquote(value, out);
    TRY(pawl_buf_check(out, err));
  }
  if (out->len == from || out->len - from > 255 ||
      memchr(out->at + from, 0, out->len - from))
    rc = pawl_fail(err, PAWL_INVALID,
                   "`%s` must be text of 1 to 255 bytes, none of them zero",
                   field);
out:
  return rc;
}

static pawl_code no_such(pawl_str value, const char *what,
                         const char *const *names, int n, pawl_error *err) {
  char text[40];
  const char *near;
  pawl_str_copy(text, sizeof text, value);
  pawl_fail(err, PAWL_INVALID, "%s is no %s", text, what);
  near = pawl_nearest(text, names, n);
  if (near) {
    pawl_error_hint(err, "did you mean \"%s\"?", near);
  } else {
    char all[sizeof err->hint] = "";
    size_t len = 0;
    for (int i = 0; i < n && len < sizeof all; i++)
      len += (size_t)snprintf(all + len, sizeof all - len, "%s%s",
                              i ? ", " : "", names[i]);
    pawl_error_hint(err, "there are %s", all);
  }
  return PAWL_INVALID;
}

/* Index of a JSON string among plain names; -1. */
static int name_index(pawl_str value, const char *const *names, int n) {
  if (pawl_json_kind_of(value) != PAWL_JSON_STRING || value.len < 2) return -1;
  pawl_str inner = {value.at + 1, value.len - 2};
  for (int i = 0; i < n; i++)
    if (pawl_str_eqz(inner, names[i])) return i;
  return -1;
}

pawl_code pawl_task_status_read(pawl_str value, pawl_task_status *out,
                                pawl_error *err) {
  int i = name_index(value, pawl_task_status_names, PAWL_NTASK_STATUSES);
  if (i < 0)
    return no_such(value, "status of a task", pawl_task_status_names,
                   PAWL_NTASK_STATUSES, err);
  *out = (pawl_task_status)i;
  return PAWL_OK;
}

pawl_code pawl_task_priority(pawl_str value, pawl_buf *out, pawl_error *err) {
  static const char *const names[] = {"low", "normal", "high", "urgent"};
  int i = name_index(value, names, 4);
  if (i < 0) return no_such(value, "priority", names, 4, err);
  pawl_buf_clear(out);
  pawl_buf_addz(out, names[i]);
  return pawl_buf_check(out, err);
}

static pawl_code add_who(pawl_who *w, const char *kind, const char *field,
                         pawl_str value, pawl_error *err) {
  size_t at = w->text.len;
  pawl_code rc = pawl_task_word(field, value, &w->text, err);
  if (rc != PAWL_OK) return rc;
  if (w->n == PAWL_MAX_WHO)
    return pawl_fail(err, PAWL_LIMIT,
                     "more than %d users, roles and groups at once",
                     PAWL_MAX_WHO);
  w->list[w->n].kind = kind;
  w->list[w->n].at = at;
  w->list[w->n++].len = w->text.len - at;
  return PAWL_OK;
}

pawl_code pawl_who_add(pawl_who *w, const char *kind, const char *field,
                       pawl_str value, pawl_error *err) {
  pawl_json_iter it = {0};
  pawl_str key, one;
  pawl_code rc = PAWL_OK;

  if (pawl_json_kind_of(value) != PAWL_JSON_ARRAY)
    return add_who(w, kind, field, value, err);
  while (pawl_json_each(value, &it, &key, &one))
    TRY(add_who(w, kind, field, one, err));
out:
  return rc;
}

int pawl_who_has(const pawl_who *w, pawl_str kind, pawl_str name) {
  for (int i = 0; i < w->n; i++)
    if (pawl_str_eqz(kind, w->list[i].kind) &&
        pawl_str_eq(name, pawl_who_name(w, i)))
      return 1;
  return 0;
}

/* ---- a query ---- */

typedef struct query {
  unsigned statuses; /* bits of pawl_task_status; 0: all */
  pawl_who who;
  pawl_buf user, form, priority;
  int has_instance, has_before, overdue;
  pawl_id instance, before;
  int64_t due_us, limit; /* due_us 0: none */
  int64_t before_due_us; /* of the task `before` */
} query;

static const char *const query_names[] = {
    "user",   "users",  "role",       "roles",   "group",
    "groups", "status", "instance",   "form",    "priority",
    "limit",  "before", "due_before", "overdue",
};

static pawl_code read_statuses(pawl_str value, query *q, pawl_error *err) {
  pawl_json_iter it = {0};
  pawl_str key, one;
  pawl_task_status s;
  pawl_code rc = PAWL_OK;

  if (pawl_json_kind_of(value) != PAWL_JSON_ARRAY) {
    TRY(pawl_task_status_read(value, &s, err));
    q->statuses |= 1u << s;
    return PAWL_OK;
  }
  while (pawl_json_each(value, &it, &key, &one)) {
    TRY(pawl_task_status_read(one, &s, err));
    q->statuses |= 1u << s;
  }
out:
  return rc;
}

typedef pawl_code (*finder)(pawl_engine *e, const char *prefix, pawl_id *out,
                            pawl_error *err);

static pawl_code read_id(pawl_engine *e, const char *field, pawl_str value,
                         finder find, pawl_id *out, int *has,
                         pawl_error *err) {
  pawl_buf text = {.alloc = &e->alloc};
  pawl_code rc = pawl_task_word(field, value, &text, err);
  if (rc == PAWL_OK) rc = find(e, text.at, out, err);
  *has = rc == PAWL_OK;
  pawl_buf_deinit(&text);
  return rc;
}

static pawl_code unknown_key(pawl_str key, pawl_error *err) {
  char name[40];
  const char *near;
  pawl_str_copy(name, sizeof name, key);
  pawl_fail(err, PAWL_INVALID, "tasks has no filter `%s`", name);
  near = pawl_nearest(name, query_names,
                      (int)(sizeof query_names / sizeof *query_names));
  if (near) pawl_error_hint(err, "did you mean `%s`?", near);
  return PAWL_INVALID;
}

static pawl_code read_number(const char *name, pawl_str value, int64_t max,
                             int64_t *out, pawl_error *err) {
  if (pawl_json_int(value, out) && *out > 0 && *out <= max) return PAWL_OK;
  return pawl_fail(err, PAWL_INVALID,
                   "tasks: `%s` must be an integer from 1 to %lld", name,
                   (long long)max);
}

static pawl_code read_user(pawl_str value, query *q, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  pawl_buf_clear(&q->user);
  TRY(pawl_task_word("user", value, &q->user, err));
  TRY(pawl_who_add(&q->who, "user", "user", value, err));
out:
  return rc;
}

static pawl_code read_filter(pawl_engine *e, query *q, pawl_str key,
                             pawl_str value, pawl_error *err) {
  if (pawl_json_kind_of(value) == PAWL_JSON_NULL) return PAWL_OK;
  if (pawl_str_eqz(key, "status")) return read_statuses(value, q, err);
  if (pawl_str_eqz(key, "user")) return read_user(value, q, err);
  if (pawl_str_eqz(key, "role") || pawl_str_eqz(key, "roles"))
    return pawl_who_add(&q->who, "role", "role", value, err);
  if (pawl_str_eqz(key, "group") || pawl_str_eqz(key, "groups"))
    return pawl_who_add(&q->who, "group", "group", value, err);
  if (pawl_str_eqz(key, "instance"))
    return read_id(e, "instance", value, pawl_engine_find, &q->instance,
                   &q->has_instance, err);
  if (pawl_str_eqz(key, "before"))
    return read_id(e, "before", value, pawl_engine_task_find, &q->before,
                   &q->has_before, err);
  if (pawl_str_eqz(key, "form"))
    return pawl_task_word("form", value, &q->form, err);
  if (pawl_str_eqz(key, "priority"))
    return pawl_task_priority(value, &q->priority, err);
  if (pawl_str_eqz(key, "limit"))
    return read_number("limit", value, MAX_LIMIT, &q->limit, err);
  if (pawl_str_eqz(key, "due_before"))
    return read_number("due_before", value, INT64_C(9000000000000000000),
                       &q->due_us, err);
  if (pawl_str_eqz(key, "overdue")) {
    pawl_json_kind kind = pawl_json_kind_of(value);
    q->overdue = kind == PAWL_JSON_TRUE;
    if (q->overdue || kind == PAWL_JSON_FALSE) return PAWL_OK;
    return pawl_fail(err, PAWL_INVALID, "tasks: `overdue` is true or false");
  }
  return unknown_key(key, err);
}

static pawl_code read_query(pawl_engine *e, pawl_str text, query *q,
                            pawl_error *err) {
  const unsigned open = 1u << PAWL_TASK_PENDING | 1u << PAWL_TASK_RUNNING;
  pawl_json_kind kind;
  pawl_json_iter it = {0};
  pawl_str key, value;
  pawl_code rc = PAWL_OK;

  q->limit = 100;
  if (text.at) {
    TRY(pawl_json_check(text, &kind, err));
    if (kind != PAWL_JSON_OBJECT)
      return pawl_fail(err, PAWL_INVALID, "the query must be an object");
    while (pawl_json_each(text, &it, &key, &value))
      TRY(read_filter(e, q, key, value, err));
  }
  if (q->overdue) {
    int64_t now = pawl_engine_now(e);
    if (!q->due_us || q->due_us > now) q->due_us = now;
    q->statuses = q->statuses ? q->statuses & open : open;
    if (!q->statuses)
      return pawl_fail(err, PAWL_INVALID,
                       "only pending and running tasks can be overdue");
  }
  if (!q->statuses) q->statuses = (1u << PAWL_NTASK_STATUSES) - 1;
out:
  return rc;
}

/* ---- ids that match ---- */

typedef struct entry {
  pawl_id id;
  int64_t due_us;
  int row; /* of task_get's, once that was read */
} entry;

typedef struct entries {
  const pawl_alloc *alloc;
  entry *at;
  int n, cap;
} entries;

static int add_entry(entries *l, const pawl_id *id, int64_t due_us, int row) {
  if (l->n == l->cap) {
    int cap = l->cap ? 2 * l->cap : 64;
    entry *at = pawl_realloc(l->alloc, l->at, sizeof *at * (size_t)l->cap,
                             sizeof *at * (size_t)cap);
    if (!at) return 0;
    l->at = at;
    l->cap = cap;
  }
  l->at[l->n++] = (entry){*id, due_us, row};
  return 1;
}

static int newest_first(const void *a, const void *b) {
  const entry *x = a, *y = b;
  return pawl_id_cmp(&y->id, &x->id);
}

static int oldest_first(const void *a, const void *b) {
  return newest_first(b, a);
}

static int soonest_first(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->due_us != y->due_us) return x->due_us < y->due_us ? -1 : 1;
  return pawl_id_cmp(&x->id, &y->id);
}

/* Without anybody to whom they are to belong, what is due comes in order of
 * due time: those longest overdue first. */
static int by_due(const query *q) {
  return q->due_us && !q->who.n && !q->has_instance;
}

static void sort_entries(const query *q, entries *l) {
  if (l->n)
    qsort(l->at, (size_t)l->n, sizeof *l->at,
          by_due(q) ? soonest_first : newest_first);
}

static void arg_text(pawl_args *a, int arg, const pawl_buf *b) {
  if (b->len) pawl_arg_str(a, arg, pawl_buf_str(b));
}

/* A pair of shard and status a row, and the filters: what all lists share. */
#define BEGIN_LIST(LIST)                                                  \
  pawl_args *a = &e->args;                                                \
  pawl_args_begin(a, PAWL_STMT_TASK_LIST##LIST);                          \
  if (q->has_instance)                                                    \
    pawl_arg_id(a, PAWL_TASK_LIST##LIST##_INSTANCE, &q->instance);        \
  arg_text(a, PAWL_TASK_LIST##LIST##_FORM, &q->form);                     \
  arg_text(a, PAWL_TASK_LIST##LIST##_PRIORITY, &q->priority);             \
  if (q->due_us) pawl_arg_time(a, PAWL_TASK_LIST##LIST##_DUE, q->due_us); \
  pawl_arg_int(a, PAWL_TASK_LIST##LIST##_MAX, q->limit)

#define BEFORE(LIST) \
  if (q->has_before) pawl_arg_id(a, PAWL_TASK_LIST##LIST##_BEFORE, &q->before)

#define EACH_PAIR(LIST)                                      \
  for (int s = first_shard(e, q); s < last_shard(e, q); s++) \
    for (int k = 0; k < PAWL_NTASK_STATUSES; k++)            \
      if (q->statuses >> k & 1u) {                           \
        pawl_arg_int(a, PAWL_TASK_LIST##LIST##_SHARD, s);    \
        pawl_arg_textz(a, PAWL_TASK_LIST##LIST##_STATUS,     \
                       pawl_task_status_names[k]);           \
      }

/* A task lies in its instance's shard. */
static int first_shard(const pawl_engine *e, const query *q) {
  return q->has_instance ? pawl_id_route(&q->instance) % e->nshards : 0;
}
static int last_shard(const pawl_engine *e, const query *q) {
  return q->has_instance ? first_shard(e, q) + 1 : e->nshards;
}

static pawl_code send_all(pawl_engine *e, const query *q, pawl_error *err) {
  BEGIN_LIST();
  BEFORE();
  EACH_PAIR()
  return pawl_store_send(e->store, a, err);
}

static pawl_code send_instance(pawl_engine *e, const query *q,
                               pawl_error *err) {
  BEGIN_LIST(_INSTANCE);
  BEFORE(_INSTANCE);
  EACH_PAIR(_INSTANCE)
  return pawl_store_send(e->store, a, err);
}

static pawl_code send_form(pawl_engine *e, const query *q, pawl_error *err) {
  BEGIN_LIST(_FORM);
  BEFORE(_FORM);
  EACH_PAIR(_FORM)
  return pawl_store_send(e->store, a, err);
}

static pawl_code send_assignee(pawl_engine *e, const query *q,
                               pawl_error *err) {
  BEGIN_LIST(_ASSIGNEE);
  BEFORE(_ASSIGNEE);
  EACH_PAIR(_ASSIGNEE)
  arg_text(a, PAWL_TASK_LIST_ASSIGNEE_WHO, &q->user);
  return pawl_store_send(e->store, a, err);
}

static pawl_code send_claimed(pawl_engine *e, const query *q,
                              pawl_error *err) {
  BEGIN_LIST(_CLAIMED);
  BEFORE(_CLAIMED);
  EACH_PAIR(_CLAIMED)
  arg_text(a, PAWL_TASK_LIST_CLAIMED_WHO, &q->user);
  return pawl_store_send(e->store, a, err);
}

static pawl_code send_owners(pawl_engine *e, const query *q, pawl_error *err) {
  BEGIN_LIST(_OWNER);
  BEFORE(_OWNER);
  for (int i = 0; i < q->who.n; i++)
    for (int s = first_shard(e, q); s < last_shard(e, q); s++)
      for (int k = 0; k < PAWL_NTASK_STATUSES; k++) {
        if (!(q->statuses >> k & 1u)) continue;
        pawl_arg_int(a, PAWL_TASK_LIST_OWNER_SHARD, s);
        pawl_arg_textz(a, PAWL_TASK_LIST_OWNER_STATUS,
                       pawl_task_status_names[k]);
        pawl_arg_textz(a, PAWL_TASK_LIST_OWNER_KIND, q->who.list[i].kind);
        pawl_arg_str(a, PAWL_TASK_LIST_OWNER_WHO, pawl_who_name(&q->who, i));
      }
  return pawl_store_send(e->store, a, err);
}

static pawl_code send_due(pawl_engine *e, const query *q, pawl_error *err) {
  static const pawl_id first;
  BEGIN_LIST(_DUE);
  pawl_arg_time(a, PAWL_TASK_LIST_DUE_AFTER_DUE,
                q->has_before ? q->before_due_us : 0);
  pawl_arg_id(a, PAWL_TASK_LIST_DUE_AFTER,
              q->has_before ? &q->before : &first);
  EACH_PAIR(_DUE)
  return pawl_store_send(e->store, a, err);
}

static pawl_code send_lists(pawl_engine *e, const query *q, int *n,
                            pawl_error *err) {
  pawl_code rc = PAWL_OK;
  *n = 1;
  if (q->user.len) {
    *n = 3;
    TRY(send_owners(e, q, err));
    TRY(send_assignee(e, q, err));
    TRY(send_claimed(e, q, err));
  } else if (q->who.n) {
    TRY(send_owners(e, q, err));
  } else if (q->has_instance) {
    TRY(send_instance(e, q, err));
  } else if (q->due_us) {
    TRY(send_due(e, q, err));
  } else if (q->form.len) {
    TRY(send_form(e, q, err));
  } else {
    TRY(send_all(e, q, err));
  }
out:
  return rc;
}

/* Every list has the same columns. */
static pawl_code collect(pawl_engine *e, int nlists, entries *l,
                         pawl_error *err) {
  pawl_rows rows;
  pawl_id id;

  for (int k = 0; k < nlists; k++) {
    pawl_store_rows(e->store, k, &rows);
    for (int i = 0; i < rows.nrows; i++) {
      pawl_row_id(&rows, i, PAWL_TASK_LIST_R_ID, &id);
      if (!add_entry(l, &id, pawl_row_int(&rows, i, PAWL_TASK_LIST_R_DUE_AT),
                     0))
        return pawl_fail(err, PAWL_NOMEM, "out of memory");
    }
  }
  return PAWL_OK;
}

/* Sorted, each once, and no more than were asked for. */
static void cut(const query *q, entries *l) {
  int n = 0;
  sort_entries(q, l);
  for (int i = 0; i < l->n && n < q->limit; i++)
    if (!n || !pawl_id_eq(&l->at[n - 1].id, &l->at[i].id))
      l->at[n++] = l->at[i];
  l->n = n;
}

static pawl_code find_ids(pawl_engine *e, const query *q, entries *l,
                          pawl_error *err) {
  pawl_code rc = PAWL_OK;
  int nlists;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(send_lists(e, q, &nlists, err));
  TRY(pawl_store_commit(e->store, err));
  TRY(collect(e, nlists, l, err));
  cut(q, l);
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* ---- tasks ---- */

static pawl_code send_tasks(pawl_engine *e, const entry *list, int n,
                            pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_TASK_GET);
  for (int i = 0; i < n; i++) {
    pawl_arg_int(a, PAWL_TASK_GET_SHARD,
                 pawl_id_route(&list[i].id) % e->nshards);
    pawl_arg_id(a, PAWL_TASK_GET_ID, &list[i].id);
  }
  TRY(pawl_store_send(e->store, a, err));
  pawl_args_begin(a, PAWL_STMT_OWNER_GET);
  for (int i = 0; i < n; i++) {
    pawl_arg_int(a, PAWL_OWNER_GET_SHARD,
                 pawl_id_route(&list[i].id) % e->nshards);
    pawl_arg_id(a, PAWL_OWNER_GET_TASK, &list[i].id);
  }
  TRY(pawl_store_send(e->store, a, err));
out:
  return rc;
}

pawl_code pawl_task_send(pawl_engine *e, const pawl_id *id, pawl_error *err) {
  entry one = {.id = *id};
  return send_tasks(e, &one, 1, err);
}

/* Owners of one kind; `list`: rows of owner_get that are this task's. */
static void add_owners(pawl_object *o, const char *name, const pawl_rows *r,
                       int from, int to, const char *kind) {
  int n = 0;
  pawl_member(o, name);
  pawl_buf_addc(o->out, '[');
  for (int i = from; i < to; i++) {
    if (!pawl_str_eqz(pawl_row_str(r, i, PAWL_OWNER_GET_R_KIND), kind))
      continue;
    if (n++) pawl_buf_addc(o->out, ',');
    pawl_json_add_string(o->out, pawl_row_str(r, i, PAWL_OWNER_GET_R_ID));
  }
  pawl_buf_addc(o->out, ']');
}

static pawl_str task_id_of(const pawl_rows *r, int i) {
  return pawl_row_str(r, i, PAWL_OWNER_GET_R_TASK);
}

/* Owners come in order of their tasks, which were asked for oldest first. */
static int first_owner(const pawl_rows *r, pawl_str id) {
  int low = 0, high = r->nrows;
  while (low < high) {
    int mid = (low + high) / 2;
    if (pawl_str_cmp(task_id_of(r, mid), id) < 0)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

static void add_all_owners(pawl_object *o, const pawl_rows *r, pawl_str id) {
  int from = first_owner(r, id), to = from;
  while (to < r->nrows && pawl_str_eq(task_id_of(r, to), id)) to++;
  add_owners(o, "users", r, from, to, "user");
  add_owners(o, "roles", r, from, to, "role");
  add_owners(o, "groups", r, from, to, "group");
}

static void add_log(pawl_object *o, const pawl_cell *metadata) {
  pawl_str log = {NULL, 0};
  if (!metadata->is_null) (void)pawl_json_get(metadata->s, "log", &log);
  pawl_member_json(o, "log", log.at ? log : pawl_strz("[]"));
}

static int is_open(pawl_str status) {
  return pawl_str_eqz(status, pawl_task_status_names[PAWL_TASK_PENDING]) ||
         pawl_str_eqz(status, pawl_task_status_names[PAWL_TASK_RUNNING]);
}

static void add_task(const pawl_rows *r, int k, const pawl_rows *owners,
                     int64_t now_us, pawl_buf *out) {
#define CELL(col) pawl_rows_cell(r, k, PAWL_TASK_GET_R_##col)
  pawl_object o;
  pawl_object_begin(&o, out);
  pawl_cell_id(&o, "id", CELL(ID));
  pawl_cell_id(&o, "instance", CELL(INSTANCE));
  pawl_cell_text(&o, "workflow", CELL(WORKFLOW));
  pawl_cell_int(&o, "version", CELL(WORKFLOW_VERSION));
  pawl_cell_text(&o, "node", CELL(NODE));
  pawl_cell_int(&o, "token", CELL(TOKEN));
  pawl_cell_int(&o, "visit", CELL(VISIT));
  pawl_cell_text(&o, "title", CELL(TITLE));
  pawl_cell_text(&o, "description", CELL(DESCRIPTION));
  pawl_cell_text(&o, "form", CELL(FORM));
  pawl_cell_text(&o, "status", CELL(STATUS));
  pawl_cell_text(&o, "priority", CELL(PRIORITY));
  pawl_cell_json(&o, "input", CELL(INPUT));
  pawl_cell_json(&o, "output", CELL(OUTPUT));
  pawl_cell_json(&o, "error", CELL(ERROR));
  pawl_cell_text(&o, "transition", CELL(TRANSITION));
  pawl_cell_time(&o, "due", CELL(DUE_AT));
  pawl_member_bool(&o, "overdue",
                   !CELL(DUE_AT)->is_null && CELL(DUE_AT)->i <= now_us &&
                       is_open(CELL(STATUS)->s));
  pawl_cell_text(&o, "assignee", CELL(ASSIGNEE));
  add_all_owners(&o, owners, CELL(ID)->s);
  pawl_cell_text(&o, "delegated_by", CELL(DELEGATED_BY));
  pawl_cell_text(&o, "claimed_by", CELL(CLAIMED_BY));
  pawl_cell_time(&o, "claimed", CELL(CLAIMED_AT));
  pawl_cell_text(&o, "completed_by", CELL(COMPLETED_BY));
  pawl_cell_time(&o, "completed", CELL(COMPLETED_AT));
  pawl_cell_time(&o, "escalated", CELL(ESCALATED_AT));
  pawl_cell_text(&o, "signal", CELL(SIGNAL_NAME));
  pawl_cell_time(&o, "created", CELL(CREATED_AT));
  pawl_cell_time(&o, "started", CELL(STARTED_AT));
  pawl_cell_time(&o, "updated", CELL(UPDATED_AT));
  add_log(&o, CELL(METADATA));
  pawl_object_end(&o);
#undef CELL
}

pawl_code pawl_task_missing(const pawl_id *id, pawl_error *err) {
  char text[37];
  pawl_id_format(id, text);
  pawl_fail(err, PAWL_NOTFOUND, "there is no task %s", text);
  pawl_error_hint(err, "`pawl task list` shows what there is");
  return PAWL_NOTFOUND;
}

pawl_code pawl_engine_task_get(pawl_engine *e, const pawl_id *id,
                               pawl_buf *out, pawl_error *err) {
  pawl_rows rows, owners;
  int64_t now = pawl_engine_now(e);
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(pawl_task_send(e, id, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, 0, &rows);
  pawl_store_rows(e->store, 1, &owners);
  if (!rows.nrows) return pawl_task_missing(id, err);
  add_task(&rows, 0, &owners, now, out);
  return pawl_buf_check(out, err);
out:
  pawl_store_rollback(e->store);
  return rc;
}

/* The same tasks as rows: in no order that can be relied on, and perhaps
 * fewer, when an instance was purged meanwhile. */
static pawl_code add_tasks(pawl_engine *e, const query *q, entries *l,
                           pawl_buf *out, pawl_error *err) {
  pawl_rows rows, owners;
  int64_t now = pawl_engine_now(e);
  pawl_id id;

  pawl_store_rows(e->store, 0, &rows);
  pawl_store_rows(e->store, 1, &owners);
  l->n = 0;
  for (int i = 0; i < rows.nrows; i++) {
    pawl_row_id(&rows, i, PAWL_TASK_GET_R_ID, &id);
    if (!add_entry(l, &id, pawl_row_int(&rows, i, PAWL_TASK_GET_R_DUE_AT), i))
      return pawl_fail(err, PAWL_NOMEM, "out of memory");
  }
  sort_entries(q, l);
  for (int i = 0; i < l->n; i++) {
    if (i) pawl_buf_addc(out, ',');
    add_task(&rows, l->at[i].row, &owners, now, out);
  }
  return PAWL_OK;
}

/* A page in order of due time goes on where a task stands that may have been
 * dealt with since: its due time is asked for. */
static pawl_code read_cursor(pawl_engine *e, query *q, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  if (!q->has_before || !by_due(q)) return PAWL_OK;
  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(pawl_task_send(e, &q->before, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, 0, &rows);
  if (!rows.nrows) return pawl_task_missing(&q->before, err);
  q->before_due_us = pawl_row_int(&rows, 0, PAWL_TASK_GET_R_DUE_AT);
  return PAWL_OK;
out:
  pawl_store_rollback(e->store);
  return rc;
}

pawl_code pawl_engine_tasks(pawl_engine *e, pawl_str text, pawl_buf *out,
                            pawl_error *err) {
  query q = {.who = {.text = {.alloc = &e->alloc}},
             .user = {.alloc = &e->alloc},
             .form = {.alloc = &e->alloc},
             .priority = {.alloc = &e->alloc}};
  entries l = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  TRY(read_query(e, text, &q, err));
  TRY(read_cursor(e, &q, err));
  TRY(find_ids(e, &q, &l, err));
  pawl_buf_addc(out, '[');
  if (l.n) {
    qsort(l.at, (size_t)l.n, sizeof *l.at, oldest_first);
    TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
    rc = send_tasks(e, l.at, l.n, err);
    if (rc == PAWL_OK) rc = pawl_store_commit(e->store, err);
    if (rc == PAWL_OK) rc = add_tasks(e, &q, &l, out, err);
    if (rc != PAWL_OK) pawl_store_rollback(e->store);
    TRY(rc);
  }
  pawl_buf_addc(out, ']');
  TRY(pawl_buf_check(out, err));
out:
  pawl_release(&e->alloc, l.at, sizeof *l.at * (size_t)l.cap);
  pawl_buf_deinit(&q.who.text);
  pawl_buf_deinit(&q.user);
  pawl_buf_deinit(&q.form);
  pawl_buf_deinit(&q.priority);
  return rc;
}

/* ---- shortened ids ---- */

pawl_code pawl_engine_task_find(pawl_engine *e, const char *prefix,
                                pawl_id *out, pawl_error *err) {
  pawl_id low, high;
  pawl_rows rows;
  int digits = prefix ? pawl_id_range(prefix, &low, &high) : -1;
  pawl_code rc = PAWL_OK;

  if (digits < 4) {
    pawl_fail(err, PAWL_INVALID, "\"%.40s\" is not a task's id",
              prefix ? prefix : "");
    pawl_error_hint(err, "give at least its first 4 hexadecimal digits");
    return PAWL_INVALID;
  }
  if (digits == 32) {
    *out = low;
    return PAWL_OK;
  }
  pawl_args_begin(&e->args, PAWL_STMT_TASK_FIND);
  for (int s = 0; s < e->nshards; s++)
    pawl_arg_int(&e->args, PAWL_TASK_FIND_SHARD, s);
  pawl_arg_id(&e->args, PAWL_TASK_FIND_LOW, &low);
  pawl_arg_id(&e->args, PAWL_TASK_FIND_HIGH, &high);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  if (rows.nrows == 1) {
    pawl_row_id(&rows, 0, PAWL_TASK_FIND_R_ID, out);
  } else if (rows.nrows == 0) {
    rc = pawl_fail(err, PAWL_NOTFOUND, "no task's id begins with \"%s\"",
                   prefix);
    pawl_error_hint(err, "`pawl task list` shows what there is");
  } else {
    rc = pawl_fail(err, PAWL_AMBIGUOUS, "several tasks' ids begin with \"%s\"",
                   prefix);
    pawl_error_hint(err, "give more characters");
  }
out:
  return rc;
}
