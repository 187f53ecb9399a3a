/* engine/ask/ask.h: questions: answered with JSON, appended to `out`.
 *
 *   instances.c   one, its tokens; the outbox
 *   history.c     what is recorded of one; entered.c: by which transition
 *                 visits were entered
 *   audit.c       who did what, over all of them
 *   list.c        lists of instances; ranges.c: what they are asked for;
 *                 sorted.c: those that are sorted by a time
 *   groups.c      counts of what a list would have
 *   explain.c     why one stands where it stands
 *   task_list.c   tasks of people
 *   workflows.c   versions of workflows
 *   health.c      what is wrong in the store; condition.c: how it is itself
 *   stats.c       how many there are, what is due, what has failed
 *   backup.c      a copy of it
 *   export.c      one with all its rows, for another store
 *
 * Layer    engine/ask: above common and versions. Reads only: it takes no
 *          lease and writes nothing. */
#ifndef PAWL_ENGINE_ASK_ASK_H
#define PAWL_ENGINE_ASK_ASK_H

#include "../../base/buf.h"
#include "../../base/id.h"
#include "../../store/stmt.h"
#include "../../value/object.h"
#include "../common/lines.h"

#define PAWL_MAX_LIMIT 10000 /* rows of one page */

/* ---- history.c ---- */

/* Is `type` one of `names`, or empty? PAWL_INVALID, which names the nearest:
 * rows of another are in no history, or audit. */
pawl_code pawl_check_type(const pawl_buf *type, const char *const *names,
                          int n, pawl_error *err);

/* ---- instances.c ---- */

pawl_code pawl_engine_get(pawl_engine *e, const pawl_id *id, pawl_buf *out,
                          pawl_error *err);
/* One of pawl_status_names. */
pawl_code pawl_engine_status(pawl_engine *e, const pawl_id *id,
                             const char **out, pawl_error *err);
pawl_code pawl_engine_tokens(pawl_engine *e, const pawl_id *id, int everything,
                             pawl_buf *out, pawl_error *err);
/* What handlers show of it. */
pawl_code pawl_engine_published(pawl_engine *e, const pawl_id *id,
                                pawl_buf *out, pawl_error *err);
/* And what it has answered to the event with this id, as it is stored; nothing
 * is appended where it has not. *ended: as it was before that was looked for. */
pawl_code pawl_engine_answer(pawl_engine *e, const pawl_id *id, pawl_str event,
                             int *ended, pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_outbox_list(pawl_engine *e, pawl_str query,
                                  pawl_buf *out, pawl_error *err);

/* ---- export.c ---- */

/* Lines of JSON. */
/* `moves`: it is to go on elsewhere; `by`: who asks. */
pawl_code pawl_export_moves(pawl_engine *e, pawl_str options, int *moves,
                            pawl_buf *by, pawl_error *err);
pawl_code pawl_engine_export(pawl_engine *e, const pawl_id *id,
                             pawl_str options, pawl_buf *out, pawl_error *err);

/* The same of one that has ended, without what it runs by, or who holds it:
 * first read, as at one moment, then, by who holds it in the OPEN unit under
 * way, compared with what is there now; or read there. */
typedef struct pawl_exported {
  pawl_buf lines;
  int64_t nrows;
  size_t from[PAWL_NCARRIED + 1]; /* of each table, in the lines */
} pawl_exported;
pawl_code pawl_export_ended(pawl_engine *e, const pawl_id *id,
                            pawl_exported *x, pawl_error *err);
/* *same: nothing has changed. Of its history that is told by its own row: a
 * row comes there, or goes, with a commit of its holder alone, which that row
 * counts. */
pawl_code pawl_export_is_same(pawl_engine *e, const pawl_id *id,
                              const pawl_exported *x, int *same,
                              pawl_error *err);
pawl_code pawl_export_held(pawl_engine *e, const pawl_id *id, pawl_exported *x,
                           pawl_error *err);
/* What it runs by, if the store has that. */
pawl_code pawl_export_workflow(pawl_engine *e, pawl_str code, int64_t version,
                               pawl_buf *out, pawl_error *err);

/* ---- history.c ---- */

/* The member "trimmed", by the row of history_trimmed: which rows of a history
 * are gone; null: none. */
void pawl_trimmed_tell(const pawl_rows *told, pawl_object *o);

pawl_code pawl_engine_history(pawl_engine *e, const pawl_id *id,
                              pawl_str query, pawl_buf *out, pawl_error *err);

/* ---- audit.c ---- */

pawl_code pawl_engine_audit(pawl_engine *e, pawl_str query, pawl_buf *out,
                            pawl_error *err);

/* ---- list.c ---- */

pawl_code pawl_engine_list(pawl_engine *e, pawl_str query, pawl_buf *out,
                           pawl_error *err);

/* How many a list would have, up to its limit; *more: there are more. */
pawl_code pawl_engine_tally(pawl_engine *e, pawl_str query, int64_t *count,
                            int *more, pawl_error *err);

/* The ids that a list would have, in pages: newest first, or oldest first
 * where the query says so, each once, whatever becomes of those that were met,
 * and as far as its `limit`, or all. What is created while it goes on is not
 * met. `statuses`: bits of those that are meant unless the query names some;
 * `deleted`, `archived`: those that were, by default. `purged`: of what is
 * archived also what was purged but for its attributes, of which nothing is
 * left but for another purge.
 * PAWL_INVALID, also when it has no filter at all. */
typedef struct pawl_walk pawl_walk;
pawl_code pawl_walk_open(pawl_engine *e, pawl_str query, unsigned statuses,
                         int deleted, int archived, int purged,
                         pawl_walk **out, pawl_error *err);
#define PAWL_WALK_PAGE 500
/* *n: how many, at most max and PAWL_WALK_PAGE; 0: there are no more. */
pawl_code pawl_walk_next(pawl_engine *e, pawl_walk *w, pawl_id *ids, int max,
                         int *n, pawl_error *err);
/* Which instances are meant: bits of statuses as they are stored, and whether
 * they were deleted, or archived. */
void pawl_walk_meant(const pawl_walk *w, unsigned *statuses, int *deleted,
                     int *archived);
/* NULL will do. */
void pawl_walk_close(pawl_engine *e, pawl_walk *w);

/* What instances are counted by. */
typedef enum pawl_group {
  PAWL_GROUP_error,
  PAWL_GROUP_node,
  PAWL_GROUP_workflow,
  PAWL_GROUP_status,
  PAWL_NGROUPS
} pawl_group;
typedef struct pawl_grouping {
  pawl_group by; /* PAWL_NGROUPS: the query does not say */
  const char *name;
  unsigned statuses; /* bits of those that are asked for */
  unsigned counted;  /* of these, those of which counters tell */
  int plain; /* of a workflow, a version or statuses: nothing else is asked */
  pawl_str workflow; /* the walk's; at NULL: all */
  int64_t version;   /* 0: all */
} pawl_grouping;
/* A walk over those of which no counters tell, up to the query's limit or
 * PAWL_MAX_LIMIT. */
pawl_code pawl_walk_groups(pawl_engine *e, pawl_str query, pawl_grouping *how,
                           pawl_walk **out, pawl_error *err);
/* A page of rows of list_tenant: at[k] for k below *n (at most PAWL_WALK_PAGE)
 * are those that are meant. */
pawl_code pawl_walk_rows(pawl_engine *e, pawl_walk *w, pawl_rows *rows,
                         int *at, int *n, pawl_error *err);
/* Was the last page the last there is? */
int pawl_walk_is_over(const pawl_walk *w);

/* ---- groups.c ---- */

/* How many of each a list would have: {count, more, groups}. */
pawl_code pawl_engine_groups(pawl_engine *e, pawl_str query, pawl_buf *out,
                             pawl_error *err);

/* ---- explain.c ---- */

pawl_code pawl_engine_explain(pawl_engine *e, const pawl_id *id, pawl_buf *out,
                              pawl_error *err);

/* ---- task_list.c ---- */

/* A whole id is taken as it is; by the second one only if it is there. */
pawl_code pawl_engine_task_tally(pawl_engine *e, pawl_str query,
                                 int64_t *count, int *more, pawl_error *err);
pawl_code pawl_engine_task_find(pawl_engine *e, const char *prefix,
                                pawl_id *out, pawl_error *err);
pawl_code pawl_engine_task_find_known(pawl_engine *e, const char *prefix,
                                      pawl_id *out, pawl_error *err);
pawl_code pawl_engine_task_get(pawl_engine *e, const pawl_id *id,
                               pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_task_list(pawl_engine *e, pawl_str query, pawl_buf *out,
                                pawl_error *err);

/* ---- workflows.c ---- */

pawl_code pawl_engine_workflow_list(pawl_engine *e, pawl_str query,
                                    pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_workflow_get(pawl_engine *e, const char *code,
                                   pawl_str query, pawl_buf *out,
                                   pawl_error *err);

/* ---- breakpoint_list.c ---- */

pawl_code pawl_engine_breakpoint_list(pawl_engine *e, pawl_str query,
                                      pawl_buf *out, pawl_error *err);

/* ---- executor_list.c ---- */

pawl_code pawl_engine_executor_list(pawl_engine *e, pawl_str query,
                                    pawl_buf *out, pawl_error *err);
/* ---- backup.c ---- */

/* pawl_engine_interrupt ends it. */
/* `path` NULL: `out` is the copy itself. */
pawl_code pawl_engine_backup(pawl_engine *e, const char *path,
                             pawl_str options, pawl_buf *out, pawl_error *err);

/* ---- stats.c ---- */

pawl_code pawl_engine_stats(pawl_engine *e, pawl_str query, pawl_buf *out,
                            pawl_error *err);
pawl_code pawl_engine_problems(pawl_engine *e, pawl_str query, pawl_buf *out,
                               pawl_error *err);

/* ---- health.c ---- */

/* Puts right what was found of one kind in one shard; *mended: how many of them
 * are by that. Whoever wants it done brings it along, as nothing is written
 * here. Requests that nobody takes come one by one, and are looked at again. */
typedef enum pawl_wrong {
  PAWL_WRONG_STRAY,  /* agenda rows without an instance */
  PAWL_WRONG_ASKED,  /* requests that no worker will take */
  PAWL_WRONG_UNSEEN, /* instances that nobody will look at */
} pawl_wrong;
typedef pawl_code pawl_mender(pawl_engine *e, pawl_wrong what, int shard,
                              const pawl_id *ids, int n, int *mended,
                              pawl_error *err);
/* `mend` NULL: only looks. */
pawl_code pawl_health_look(pawl_engine *e, pawl_mender *mend, pawl_buf *out,
                           pawl_error *err);
pawl_code pawl_engine_busy(pawl_engine *e, int *busy, pawl_error *err);
/* What could move this instance, with that status in the store,
 * though nobody will look at it; *what NULL: nothing. */
pawl_code pawl_health_of(pawl_engine *e, const pawl_id *id, pawl_str workflow,
                         pawl_str status, const char **what, pawl_error *err);

#endif
