/* engine/act/act.h: changing instances from outside.
 *
 *   request.c  the road: a letter, then taking it at once if nobody else does
 *   change.c   one instance: what is asked for, checked beforehand
 *   purge.c    those that go, with all their rows
 *   prune.c    what is past its time; prune_parts.c: what is no instance, see
 *              sweep.h
 *   pace.c     how much of that at once, and how much of the time, see pace.h
 *   transfer.c from one version of a workflow to another, see crossing.h
 *   workflows.c   whole workflows: suspended, active
 *   breakpoint.c  nodes before which tokens halt
 *   outbox.c   what waits to be published
 *   tasks.c    a task of a person, see common/task.h
 *
 * Layer    engine/act: above common and versions. Writes letters, tasks, and
 *          rows of workflows and the outbox only; it takes no lease. */
#ifndef PAWL_ENGINE_ACT_ACT_H
#define PAWL_ENGINE_ACT_ACT_H

#include "../../base/buf.h"
#include "../../base/id.h"
#include "../../rules/state.h"

/* Takes an instance's inbox at once: what pawl_apply does. Whoever acts brings
 * it along, as no lease is taken here. */
typedef pawl_code pawl_taker(pawl_engine *e, const pawl_id *id, int seize,
                             int *got, pawl_error *err);

/* The same of many, in units that they share; got[k] of each. */
typedef pawl_code pawl_many_taker(pawl_engine *e, const pawl_id *ids, int n,
                                  int *got, pawl_error *err);

/* ---- request.c ---- */

/* Asks for a change of one instance and, when nobody holds it, makes it here.
 * *done (may be NULL): it was made here; 0: the holder will. *hindered (may be
 * NULL): why it was not, of code PAWL_OK where somebody holds it. `no`: the
 * request's, by which it is known when it is sent again; NULL: one is drawn.
 * `data` is as the kind wants it, and was checked. `retry` and `restart` reach
 * instances that have ended; `kill` takes the instance from whoever holds it.
 */
pawl_code pawl_act_request(pawl_engine *e, pawl_taker *take, const pawl_id *id,
                           const pawl_id *no, const char *kind,
                           const char *source, const char *by, pawl_str data,
                           int *done, pawl_error *hindered, pawl_error *err);
/* One of many that are asked for the same. */
#define PAWL_ASKED_MAX 50
typedef struct pawl_one_asked {
  pawl_id id;
  pawl_buf letter;
  int ready; /* its letter is to be sent, or it is not known how it was met */
  int done;
  pawl_code rc; /* if it is not ready: how it ended */
  pawl_error why;
} pawl_one_asked;
typedef struct pawl_asking {
  const pawl_id *no;
  const char *kind, *source, *by;
} pawl_asking;
/* pawl_act_request for those that are ready, in the order of their shards and
 * ids: their letters are sent in one unit and taken in others that they share.
 * An error is that of all: who is ready yet has to be asked by itself, which
 * does no harm where it has happened, as the request is known. */
pawl_code pawl_act_request_many(pawl_engine *e, pawl_many_taker *take,
                                const pawl_asking *how, pawl_one_asked *list,
                                int n, pawl_error *err);
/* *met: the request was taken before, also of one that is archived since. Then
 * *done, or the refusal, is as it was told to who asked first; PAWL_CONFLICT
 * if that was for something else. */
pawl_code pawl_act_met(pawl_engine *e, const pawl_id *id, const pawl_id *no,
                       const char *kind, int *met, int *done, pawl_error *err);
/* Letters of one kind for instances of one shard, in the order of their ids,
 * in one unit. `event_id`: a letter of that kind with the same one is not put
 * there again. */
pawl_code pawl_act_post(pawl_engine *e, const pawl_id *ids, int n,
                        const char *kind, const char *by, pawl_str data,
                        pawl_str event_id, pawl_error *err);
/* PAWL_ALREADY_FINISHED. */
pawl_code pawl_act_ended(const pawl_id *id, pawl_standing status,
                         pawl_error *err);
/* PAWL_CONFLICT. */
pawl_code pawl_act_deleted(const pawl_id *id, pawl_error *err);
/* PAWL_CONFLICT: its key has gone on, so that it is not to live again. */
pawl_code pawl_act_succeeded(const pawl_id *id, const pawl_id *successor,
                             pawl_error *err);

/* ---- change.c ---- */

/* Which instances a list has. */
typedef struct pawl_act_list {
  unsigned statuses; /* bits */
  int deleted;       /* those that were */
  int archived;      /* the same */
  int cancels;       /* not those that end as cancelled by now */
  int purged; /* of these, also those that were purged but for attributes */
} pawl_act_list;
/* What a change is by itself: checked, before anything is done with it. */
typedef struct pawl_act_plan {
  pawl_act_list of; /* those that it can be for */
  int dry_run;
  int alone;  /* each has to be changed by itself: in several units, or taken
                from who holds it */
  int purges; /* those of the list that are short can go together */
  int force, keep_attributes; /* of a purge */
  int has_request;
  pawl_id request;
} pawl_act_plan;
pawl_code pawl_act_plan_of(pawl_engine *e, pawl_str change,
                           pawl_act_plan *plan, pawl_error *err);
/* What concerns the archive, once it was checked: */
typedef enum pawl_filing {
  PAWL_FILE_IN,  /* one that has ended goes there */
  PAWL_FILE_OUT, /* it comes back */
  PAWL_FILE_OFF  /* it is purged there */
} pawl_filing;
typedef struct pawl_filed {
  pawl_filing what;
  pawl_id id;
  int64_t completed_us;   /* of another end it is not taken */
  int keep_attributes;    /* of one that is purged: they stay to be found */
  const pawl_id *request; /* by which it is known; may be NULL */
  int64_t until_mono; /* rows that are not gone by then are left; 0: none */
  int is_listed;      /* of a list: if another was faster, PAWL_NOTFOUND */
  pawl_str by;        /* may be empty */
  pawl_str reason;    /* the same */
} pawl_filed;
/* Does it: *done. Whoever changes brings it along, as it takes other rooms. */
typedef pawl_code pawl_filer(pawl_engine *e, const pawl_filed *f, int *done,
                             pawl_error *err);
/* pawl_change, with `out` (may be NULL) for its answer. `of` (may be NULL):
 * the list that has it; PAWL_NOTFOUND if it is not there by now, or another
 * does the same at once and was faster. */
pawl_code pawl_act_change(pawl_engine *e, pawl_taker *take, pawl_filer *filer,
                          const pawl_act_list *of, const pawl_id *id,
                          pawl_str change, int *done, pawl_buf *out,
                          pawl_error *err);

/* The same of many, for one that names its request and is not `alone`: rc,
 * done and why of each, unless the call fails. What is still ready then is to
 * be changed by itself. */
pawl_code pawl_act_change_many(pawl_engine *e, pawl_many_taker *take,
                               const pawl_act_list *of, pawl_str change,
                               pawl_one_asked *list, int n, pawl_error *err);
/* *yes: that list has it still. */
pawl_code pawl_act_is_listed(pawl_engine *e, const pawl_act_list *of,
                             const pawl_id *id, int *yes, pawl_error *err);
/* Is a failure about one instance alone? What is about the store is about all
 * of them. (A purge is busy while a worker holds the instance.) */
int pawl_act_is_refusal(pawl_code rc, const pawl_error *why);

/* ---- purge.c ---- */

/* Why one that has ended has to stay: what others still need of it. */
typedef enum pawl_hold {
  PAWL_HOLD_NOTHING,
  PAWL_HOLD_PARENT,      /* lives */
  PAWL_HOLD_WORD,        /* its parent's, which is not delivered yet */
  PAWL_HOLD_CHILDREN,    /* live, and end with it */
  PAWL_HOLD_UNDELIVERED, /* its own word */
  PAWL_HOLD_UNPUBLISHED, /* what it has emitted */
  PAWL_HOLD_AWAY,        /* it was carried to another store */
  PAWL_NHOLDS
} pawl_hold;

/* One that has ended and may have to go. */
typedef struct pawl_purgeable {
  pawl_id id, parent;
  int has_parent;
  int is_filed;         /* it is archived; else it goes, deleted or not */
  int keep_attributes;  /* they stay to be found */
  int64_t completed_us; /* of another end it is not taken */
  int64_t rows;         /* how many it has, about */
  pawl_hold hold;
} pawl_purgeable;

/* Finds what others need of them, of one shard. */
pawl_code pawl_purge_look(pawl_engine *e, int shard, pawl_purgeable *list,
                          int n, pawl_error *err);
/* The same of one: PAWL_CONFLICT says what. parent: may be NULL. force: what
 * it emitted may be lost. word: "purged". */
pawl_code pawl_purge_check(pawl_engine *e, const pawl_id *id,
                           const pawl_id *parent, int force, const char *word,
                           pawl_error *err);
/* What stays of one that somebody named has purged: who wanted it gone. */
pawl_code pawl_purge_note(pawl_engine *e, const pawl_id *id, pawl_str by,
                          pawl_str reason, pawl_error *err);
/* Takes away all rows of one that was marked for it, whatever of them is still
 * there; until then by the monotonic clock. Of several who do so at once one
 * has taken the last. */
typedef enum pawl_purged {
  PAWL_PURGED_IN_PART,
  PAWL_PURGED_HERE,
  PAWL_PURGED_BY_OTHERS
} pawl_purged;
pawl_code pawl_purge_rows(pawl_engine *e, const pawl_id *id,
                          int64_t until_mono, pawl_purged *gone,
                          pawl_error *err);
/* Takes away those of one shard, in the order of their ids, in one unit: no
 * more rows than the budget. *gone: how many; the others are held, or have
 * been since they were looked at. */
pawl_code pawl_purge_many(pawl_engine *e, int shard,
                          const pawl_purgeable *list, int n, int64_t *gone,
                          pawl_error *err);
/* What somebody says who has many purged. */
typedef struct pawl_purge_why {
  pawl_str by, reason; /* by empty: the audit is not told */
  pawl_str deletion;   /* JSON: the same, for what stays beside attributes */
  unsigned statuses;   /* bits: of these alone */
  int force, keep_attributes;
  int tells; /* who has deleted it, of one that may be */
} pawl_purge_why;
typedef enum pawl_went {
  PAWL_WENT_NOT,  /* it is to be purged by itself */
  PAWL_WENT_HERE, /* it is gone */
  PAWL_WENT_MAYBE /* the answer was lost: if it is not there, it went here */
} pawl_went;
/* Of at most PAWL_ASKED_MAX those that are short, and nobody's, go in units of
 * several, each as a whole or not at all: went[k]. */
pawl_code pawl_purge_some(pawl_engine *e, const pawl_purge_why *why,
                          const pawl_id *ids, int n, pawl_went *went,
                          pawl_error *err);
/* In a transaction that is held: all that one has which has ended, at once,
 * also if it is deleted. PAWL_BUSY: it is held, or has letters; PAWL_LIMIT: one
 * transaction takes no more than PAWL_HELD_ROWS. */
#define PAWL_HELD_ROWS 10000
pawl_code pawl_purge_at_once(pawl_engine *e, const pawl_purge_why *why,
                             const pawl_id *id, pawl_error *err);
/* In an OPEN unit: holds one that has ended, by *lease, for as long as the unit
 * lasts. PAWL_BUSY: somebody else does. */
pawl_code pawl_archive_seize(pawl_engine *e, int shard,
                             const pawl_purgeable *one, pawl_id *lease,
                             pawl_error *err);
/* Behind it: the instance goes, as the archive has it, and, with `all`, what
 * else there is, but for attributes and audit. */
pawl_code pawl_archive_clear(pawl_engine *e, int shard,
                             const pawl_purgeable *one, const pawl_id *lease,
                             int all, pawl_error *err);
/* What was left goes, in batches, until then by the monotonic clock; then the
 * archive says that it did: *gone. */
pawl_code pawl_archive_rest(pawl_engine *e, const pawl_id *id,
                            int64_t until_mono, int *gone, pawl_error *err);
/* Tasks with their owners, as many as one unit takes (pace.h). */
pawl_code pawl_purge_tasks(pawl_engine *e, int shard, const pawl_id *ids,
                           int n, pawl_error *err);

/* ---- prune.c ---- */

/* Can what pawl_config.retain says be read? */
pawl_code pawl_prune_check(pawl_engine *e, pawl_error *err);
/* pawl_prune. */
pawl_code pawl_prune_all(pawl_engine *e, pawl_taker *take, pawl_filer *file,
                         pawl_str options, pawl_buf *out, pawl_error *err);
/* A worker's piece of it, if one is due and nobody else is at it: about so long
 * at most, save that one unit is done. It is a chore of its tick (chore.h). */
pawl_code pawl_prune_piece(pawl_engine *e, pawl_taker *take, pawl_filer *file,
                           int64_t most_us, pawl_error *err);

/* ---- breakpoint.c, outbox.c, tasks.c, transfer.c, workflows.c ---- */

pawl_code pawl_engine_breakpoint_change(pawl_engine *e, pawl_str change,
                                        pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_outbox_change(pawl_engine *e, pawl_str change,
                                    pawl_buf *out, pawl_error *err);
pawl_code pawl_act_task(pawl_engine *e, const pawl_id *id, pawl_str action,
                        pawl_error *err);
pawl_code pawl_act_transfer(pawl_engine *e, pawl_taker *take, pawl_str text,
                            pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_workflow_change(pawl_engine *e, pawl_str change,
                                      pawl_buf *out, pawl_error *err);

#endif
