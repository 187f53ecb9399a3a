/* engine/plan.h: the writes one decision asks for; a value, no I/O.
 *
 * A handler has run, or a timer fired, or nobody knows the workflow: what
 * follows for the instance is put into a plan, and commit.c writes it. A plan
 * is complete in itself: it can be sent again, under another lease, after a
 * lost answer.
 *
 * Layer    engine, pure: base, defs and state.h only.
 * Owns     its buffers, reused from one decision to the next. `node`,
 *          `previous` and record types are borrowed: from the definition or
 *          the held instance. */
#ifndef PAWL_ENGINE_PLAN_H
#define PAWL_ENGINE_PLAN_H

#include "../base/buf.h"
#include "../defs/def.h"
#include "state.h"

/* One row of history. */
typedef struct pawl_record {
  const char *type; /* "step", "failed", "timer", "started", "routed",
                       "recovered", "suspended", "cancelled" */
  const char *node; /* NULL: none */
  int64_t visit, attempt;
  int64_t started_us, completed_us, due_us; /* 0: null */
  int has_output;
  pawl_buf transition, path, text, caller; /* empty: null */
  pawl_buf output, changes, error;         /* JSON; empty: null */
} pawl_record;

#define PAWL_PLAN_RECORDS 4

typedef enum pawl_after {
  PAWL_AFTER_GO_ON,  /* the token is active: the next round runs it */
  PAWL_AFTER_LET_GO, /* release; look again at look_us */
  PAWL_AFTER_SLEEP,  /* release; only a wake-up brings it back */
  PAWL_AFTER_END,    /* ended */
  PAWL_AFTER_BACK,   /* nothing to record; look again at look_us */
  PAWL_AFTER_FORGET  /* nothing to do at all: the agenda row goes */
} pawl_after;

typedef struct pawl_plan {
  pawl_after after;
  pawl_status status;
  const char *node, *previous;
  int64_t visit, attempt; /* attempts that failed so far in this visit */
  int waiting;            /* the token's state: waiting, else active */
  int64_t token_due_us;   /* 0: null */
  int64_t look_us;
  int64_t started_us; /* of the instance, when this is its first commit */
  int vars_changed;
  int resets; /* it counts as progress: takeovers start again */
  int has_output;
  pawl_buf vars, output, error, attrs, cancellation; /* JSON; empty: null */
  pawl_record records[PAWL_PLAN_RECORDS];
  int nrecords;
  const char *outcome; /* for the trace: "done", "failed"...; NULL: nothing
                          to tell */
  pawl_buf detail;     /* for the trace: the target, or the error */
} pawl_plan;

void pawl_plan_init(pawl_plan *p, const pawl_alloc *alloc);
void pawl_plan_deinit(pawl_plan *p);
void pawl_plan_reset(pawl_plan *p);
/* The next record, emptied. There is always room for one more: a decision
 * never makes more than PAWL_PLAN_RECORDS. */
pawl_record *pawl_plan_record(pawl_plan *p, const char *type,
                              const char *node);
/* PAWL_NOMEM when any of its buffers could not grow. */
pawl_code pawl_plan_check(const pawl_plan *p, pawl_error *err);

/* An error as JSON: {"code":...,"message":...,...}, empty fields left out. */
void pawl_plan_error(pawl_buf *out, const pawl_error *err, pawl_str details);

/* ---- what follows a failure: retry.c ---- */

typedef struct pawl_failure {
  int64_t attempt; /* the one that failed, from 1 */
  int no_retry;
  int64_t retry_after_us; /* the handler's own wish; -1: by policy */
  const char *reason;     /* error code for on_error; "" */
  double random;          /* 0 <= random < 1 */
} pawl_failure;

typedef enum pawl_verdict {
  PAWL_VERDICT_RETRY, /* after *delay_us */
  PAWL_VERDICT_ROUTE, /* to node *to */
  PAWL_VERDICT_SUSPEND,
  PAWL_VERDICT_FAIL
} pawl_verdict;

/* Delay before the attempt after `attempt`, with jitter. */
int64_t pawl_retry_delay(const pawl_retry *r, int64_t attempt, double random);
pawl_verdict pawl_retry_decide(const pawl_node *node, const pawl_failure *f,
                               int64_t *delay_us, int *to);

#endif
