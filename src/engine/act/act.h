/* engine/act/act.h: changing instances from outside.
 *
 *   act.c      the road: a letter, then taking it at once if nobody else does
 *   change.c   one instance: what is asked for, checked beforehand
 *   moves.c    from one version of a workflow to another, see crossing.h
 *   manage.c   whole workflows: suspended, active, listed
 *
 * Layer    engine; these files include it, and query.c. */
#ifndef PAWL_ENGINE_ACT_ACT_H
#define PAWL_ENGINE_ACT_ACT_H

#include "../internal.h"

/* ---- act.c ---- */

/* Letters of one kind for instances of one shard, in the order of their ids,
 * in one unit. `event_id`: a letter of that kind with the same one is not put
 * there again. */
pawl_code pawl_act_post(pawl_engine *e, const pawl_id *ids, int n,
                        const char *kind, const char *who, pawl_str data,
                        pawl_str event_id, pawl_error *err);
/* PAWL_ALREADY_FINISHED, PAWL_NOTFOUND. */
pawl_code pawl_act_ended(const pawl_id *id, pawl_status status,
                         pawl_error *err);
pawl_code pawl_act_unknown(const pawl_id *id, pawl_error *err);

/* ---- change.c ---- */

/* An instance as somebody who wants to change it sees it. */
typedef struct pawl_subject {
  pawl_id id;
  int shard, started, undoing;
  pawl_status status;
  int64_t workflow_version, version, seq;
  pawl_buf workflow, vars;
  pawl_buf stopped; /* JSON: where it stood when it failed; empty: unknown */
} pawl_subject;

/* `definition`'s graph for looking at: ours, or made of the stored one, which
 * *own says and pawl_def_free frees. No code runs. PAWL_NOTFOUND. */
pawl_code pawl_graph_find(pawl_engine *e, const char *code, int64_t version,
                          pawl_def **out, int *own, pawl_error *err);
/* PAWL_INVALID: no such node; the nearest name is offered. */
pawl_code pawl_graph_node(const pawl_def *def, pawl_str name, int *index,
                          pawl_error *err);

#endif
