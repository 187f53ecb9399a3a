/* rules/state.h: statuses, and which move is legal, as one table.
 *
 * Layer    engine, pure: base only. Docs and specs are made from the lists.
 * Keeps    E1 an ended instance changes only when somebody asks for it: a retry
 *             or a restart brings it back; a move to another version leaves its
 *             status as it is, and is written apart (a plan that `stays`).
 *
 * `created` is stored as `running` without a start time, so that the first
 * commit of an instance changes no indexed column. */
#ifndef PAWL_RULES_STATE_H
#define PAWL_RULES_STATE_H

#include "../base/buf.h"

/* clang-format off */
#define PAWL_STATUSES(X)                                            \
  X(CREATED, "created") X(RUNNING, "running") X(WAITING, "waiting") \
  X(SUSPENDED, "suspended") X(COMPLETED, "completed")               \
  X(FAILED, "failed") X(CANCELLED, "cancelled")
/* clang-format on */

typedef enum pawl_status {
#define PAWL_STATUS_ENUM(name, text) PAWL_STATUS_##name,
  PAWL_STATUSES(PAWL_STATUS_ENUM)
#undef PAWL_STATUS_ENUM
      PAWL_NSTATUSES
} pawl_status;

const char *pawl_status_name(pawl_status s);
/* 0 when the text names no status. */
int pawl_status_parse(pawl_str text, pawl_status *out);
int pawl_status_has_ended(pawl_status s);
/* May an instance go from one status to the other in one commit? */
int pawl_status_may_move(pawl_status from, pawl_status to);

#endif
