/* engine/common/task.h: tasks for people, as seen from outside.
 *
 *   tasklist.c   asking: one task, lists of them
 *   tasks.c      acting: claim, complete, hand on
 *
 * A task belongs to an instance and is created, raised and ended by that
 * one's decisions. What people do to it is written here, past the lease: a
 * row is read, what follows is decided, and written if the row is still as it
 * was read, else all again (T1). Only its end concerns the instance: that
 * goes into the inbox, in the transaction that ends the task (T2).
 *
 * Layer    engine: above store and value.
 * Keeps    T1 of two people who change a task at once one wins, and the other
 *             is told by whom it was changed.
 *          T2 a task that was completed or failed has its letter in the
 *             inbox; the agenda row is locked first, as everywhere. */
#ifndef PAWL_ENGINE_COMMON_TASK_H
#define PAWL_ENGINE_COMMON_TASK_H

#include "../internal.h"
#include "answer.h"

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
/* A JSON string; what: "tasks", for the message. */
pawl_code pawl_task_status_read(pawl_str value, pawl_task_status *out,
                                pawl_error *err);

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
/* Adds a JSON string, or a list of them. `field` is its name for messages. */
pawl_code pawl_who_add(pawl_who *w, const char *kind, const char *field,
                       pawl_str value, pawl_error *err);
int pawl_who_has(const pawl_who *w, pawl_str kind, pawl_str name);

/* A JSON string of 1 to 255 bytes, none of them zero, unquoted into `out`. */
pawl_code pawl_task_word(const char *field, pawl_str value, pawl_buf *out,
                         pawl_error *err);
/* "low" to "urgent", the same way. */
pawl_code pawl_task_priority(pawl_str value, pawl_buf *out, pawl_error *err);

/* Sends task_get and owner_get for one task into the unit that is open. */
pawl_code pawl_task_send(pawl_engine *e, const pawl_id *id, pawl_error *err);
/* PAWL_NOTFOUND. */
pawl_code pawl_task_missing(const pawl_id *id, pawl_error *err);

#endif
