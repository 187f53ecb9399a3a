/* Tasks of people: their words, who is meant by a list of names, and the rows
 * of some. */
#include "task.h"

#include <assert.h>

#include "../../value/json.h"
#include "engine_struct.h"

const char *const pawl_task_status_names[PAWL_NTASK_STATUSES] = {
#define TASK_NAME(name, text) text,
    PAWL_TASK_STATUSES(TASK_NAME)
#undef TASK_NAME
};

int pawl_task_is_outcome(const char *name) {
  return strcmp(name, "overdue") != 0 && strcmp(name, "timeout") != 0 &&
         strcmp(name, "failed") != 0;
}

/* ---- whom they are for ---- */

/* Into one text, by places: it may move while it grows. */
static pawl_code add_who(pawl_who *w, const char *kind, pawl_str value,
                         pawl_error *err) {
  size_t at = w->text.len, len;

  pawl_json_unquote(value, &w->text);
  MUST(pawl_buf_check(&w->text, err));
  len = w->text.len - at;
  if (!len || len > 255 || memchr(w->text.at + at, 0, len))
    return pawl_fail(err, PAWL_INVALID,
                     "a %s must be text of 1 to 255 bytes, none of them zero",
                     kind);
  if (w->n == PAWL_MAX_WHO)
    return pawl_fail(err, PAWL_LIMIT,
                     "more than %d users, roles and groups at once",
                     PAWL_MAX_WHO);
  assert(w->n < PAWL_MAX_WHO);
  w->list[w->n].kind = kind;
  w->list[w->n].at = at;
  w->list[w->n++].len = len;
  return PAWL_OK;
}

/* A single text stands for a list of one. */
static pawl_code add_all(pawl_who *w, const char *kind, pawl_str value,
                         pawl_error *err) {
  if (!value.at) return PAWL_OK;
  if (pawl_json_kind_of(value) != PAWL_JSON_ARRAY)
    return add_who(w, kind, value, err);
  for (pawl_json_iter it = {0}; pawl_json_walk(value, &it);)
    MUST(add_who(w, kind, it.value, err));
  return PAWL_OK;
}

/* `role` and `roles` are the same to us: callers write whichever reads better.
 * */
pawl_code pawl_who_read(pawl_who *w, const pawl_who_given *given,
                        pawl_error *err) {
  MUST(add_all(w, "user", given->users, err));
  MUST(add_all(w, "role", given->role, err));
  MUST(add_all(w, "role", given->roles, err));
  MUST(add_all(w, "group", given->group, err));
  return add_all(w, "group", given->groups, err);
}

int pawl_who_has(const pawl_who *w, pawl_str kind, pawl_str name) {
  for (int i = 0; i < w->n; i++)
    if (pawl_str_eqz(kind, w->list[i].kind) &&
        pawl_str_eq(name, pawl_who_name(w, i)))
      return 1;
  return 0;
}

/* ---- their rows ---- */

/* The i-th of ids that stand so many bytes apart. */
static const pawl_id *id_at(const pawl_id *ids, size_t step, int i) {
  return (const pawl_id *)((const char *)ids + step * (size_t)i);
}

/* One trip. Owners come sorted by task, for whoever puts the two together. */
pawl_code pawl_task_read(pawl_engine *e, const pawl_id *ids, size_t step,
                         int n, pawl_rows *tasks, pawl_rows *owners,
                         pawl_error *err) {
  pawl_args *a = &e->args;
  int tasks_at, owners_at;
  pawl_code rc;

  assert(n == 1 || step >= sizeof *ids);
  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  pawl_args_begin(a, PAWL_STMT_task_get);
  for (int i = 0; i < n; i++) {
    const pawl_id *id = id_at(ids, step, i);
    PAWL_PUT(a, task_get, .shard = pawl_shard_of(e, id), .id = id);
  }
  TRY(pawl_store_send(e->store, a, &tasks_at, err));
  pawl_args_begin(a, PAWL_STMT_owner_get);
  for (int i = 0; i < n; i++) {
    const pawl_id *id = id_at(ids, step, i);
    PAWL_PUT(a, owner_get, .shard = pawl_shard_of(e, id), .task = id);
  }
  TRY(pawl_store_send(e->store, a, &owners_at, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, tasks_at, tasks);
  pawl_store_rows(e->store, owners_at, owners);
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

pawl_code pawl_task_missing(const pawl_id *id, pawl_error *err) {
  return pawl_fail_hint(err, PAWL_NOTFOUND,
                        "`pawl task list` shows what there is",
                        "there is no task %s", pawl_id_text_of(id).at);
}
