/* engine/common/task.h: tasks for people, as seen from outside.
 *
 *   ask/task_list.c   asking: one task, lists of them
 *   act/tasks.c       acting: claim, complete, hand on
 *
 * A task belongs to an instance and is created, raised and ended by that
 * one's decisions. What people do to it is written here, past the lease: a
 * row is read, what follows is decided, and written if the row is still as it
 * was read, else all again (T1). Only its end concerns the instance: that
 * goes into the inbox, in the transaction that ends the task (T2).
 *
 * Layer    engine/common.
 * Keeps    T1 of two people who change a task at once one wins, and the other
 *             is told by whom it was changed.
 *          T2 a task that was completed or failed has its letter in the
 *             inbox; the agenda row is locked first, as everywhere. */
#ifndef PAWL_ENGINE_COMMON_TASK_H
#define PAWL_ENGINE_COMMON_TASK_H

#include "../../base/id.h"
#include "../../store/stmt.h"

/* clang-format off */
#define PAWL_TASK_STATUSES(X)                                       \
  X(PENDING, "pending") X(RUNNING, "running")                       \
  X(COMPLETED, "completed") X(FAILED, "failed")                     \
  X(CANCELLED, "cancelled") X(TIMED_OUT, "timed_out")
/* clang-format on */

typedef enum pawl_task_status {
#define PAWL_TASK_ENUM(name, text) PAWL_TASK_##name,
  PAWL_TASK_STATUSES(PAWL_TASK_ENUM)
#undef PAWL_TASK_ENUM
      PAWL_NTASK_STATUSES
} pawl_task_status;

extern const char *const pawl_task_status_names[PAWL_NTASK_STATUSES];

/* Users, roles and groups, as many as somebody has named. */
#define PAWL_MAX_WHO 200
typedef struct pawl_who {
  pawl_buf text; /* all names */
  int n;
  struct {
    const char *kind; /* "user", "role", "group": owner.kind */
    size_t at, len;
  } list[PAWL_MAX_WHO];
} pawl_who;

static inline pawl_str pawl_who_name(const pawl_who *w, int i) {
  pawl_str s = {w->text.at + w->list[i].at, w->list[i].len};
  return s;
}
/* The same as options give it, JSON: texts or lists of them, each of 1 to 255
 * bytes; at NULL: none. */
typedef struct pawl_who_given {
  pawl_str users, role, roles, group, groups;
} pawl_who_given;
pawl_code pawl_who_read(pawl_who *w, const pawl_who_given *given,
                        pawl_error *err);
int pawl_who_has(const pawl_who *w, pawl_str kind, pawl_str name);

/* Reads n tasks, whose ids, oldest first, stand `step` bytes apart: rows of
 * task_get, in no order that can be relied on, and of owner_get, in that of
 * their tasks. */
pawl_code pawl_task_read(pawl_engine *e, const pawl_id *ids, size_t step,
                         int n, pawl_rows *tasks, pawl_rows *owners,
                         pawl_error *err);
/* Is a transition of that name for people to take? The engine takes the others
 * by itself. */
int pawl_task_is_outcome(const char *name);
/* PAWL_NOTFOUND. */
pawl_code pawl_task_missing(const pawl_id *id, pawl_error *err);

#endif
