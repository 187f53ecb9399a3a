/* rules/plan.h: the writes one decision asks for; a value, no I/O.
 *
 * A handler has run, or a timer fired, or nobody knows the workflow: what
 * follows for the instance is put into a plan, and commit.c writes it. A plan
 * is complete in itself: it can be sent again, under another lease, after a
 * lost answer.
 *
 * Layer    engine, pure: base, defs and state.h only.
 * Owns     its buffers, reused from one decision to the next. Names of nodes
 *          and record types are borrowed: they live as long as the engine. */
#ifndef PAWL_RULES_PLAN_H
#define PAWL_RULES_PLAN_H

#include "../base/buf.h"
#include "../base/id.h"
#include "../defs/def.h"
#include "state.h"

/* ---- tokens ---- */

typedef enum pawl_token_state {
  PAWL_TOKEN_ACTIVE,   /* moving: its node is to be run, at due_us if set */
  PAWL_TOKEN_WAITING,  /* for a time, an event, a person, a child, siblings */
  PAWL_TOKEN_CONSUMED, /* reached an end, forked or merged */
  PAWL_TOKEN_DROPPED   /* came too late, or was no longer wanted */
} pawl_token_state;
const char *pawl_token_state_name(pawl_token_state state);
int pawl_token_is_live(pawl_token_state state); /* active or waiting */

/* Where an instance stands, once. `detail` is a JSON object that says what it
 * waits for and which rows of history led here, by need:
 *   "from":[3,7]     rows of history before its next one, in order
 *   "seq":7          at a join: the row of its arrival
 *   "key":"17"       at a wait; null: none. "asked":["id",...]: events that
 *                    its `match` has turned down
 *   "begun":us   when it began to wait: at a task, and where no limit tells
 *   "since":us   it waited before it was moved to another version, and is to be
 *                entered there as if from then on
 *   "late":true      at a task: it is overdue, and that was dealt with
 *   "child":"uuid"   at a call
 *   "total","next","done","failed": at an each, counts of items
 *   "at":us      inside a fork, until it waits again: when what set it going
 *                happened; see order.h
 *   "put_off":"since:code"  the suspension of its workflow whose length was
 *                added to its times
 *   "mail":true  its inbox holds events that its workflow has no use for */
typedef struct pawl_token {
  int32_t no;
  pawl_token_state state;
  const char *node, *previous; /* names live as long as the engine */
  int node_at; /* where the node was in its definition when it was last looked
                  up; it may be elsewhere by now */
  const char *fork, *branch; /* NULL: none */
  int64_t visit, attempt;    /* attempts that failed so far in this visit */
  int64_t due_us;            /* 0: none */
  int32_t scope[PAWL_MAX_DEPTH]; /* numbers of the tokens that forked */
  int depth;                     /* of them, outermost first */
  pawl_buf data, event, detail;  /* JSON; empty: null */
  int stored;                    /* it has a row of its own */
  int blind;   /* it began to wait in this decision: nobody has looked yet for
                what is kept for its key */
  int changed; /* since it was loaded or last committed */
} pawl_token;

typedef struct pawl_tokens {
  pawl_token *at; /* slots keep their buffers when n falls */
  int n, cap;
} pawl_tokens;

void pawl_tokens_deinit(pawl_tokens *t, const pawl_alloc *alloc);
/* One more, emptied; NULL: out of memory. Pointers into the list die. */
pawl_token *pawl_tokens_add(pawl_tokens *t, const pawl_alloc *alloc);
/* 0: out of memory. */
int pawl_tokens_copy(pawl_tokens *to, const pawl_tokens *from,
                     const pawl_alloc *alloc);
/* NULL: none. They are in the order of their numbers. */
pawl_token *pawl_tokens_find(pawl_tokens *t, int32_t no);
int pawl_tokens_live(const pawl_tokens *t);
/* The one live token, if it is a root: it lives in the instance's row unless
 * it has one of its own. Else NULL. */
pawl_token *pawl_tokens_lone(const pawl_tokens *t);
/* Is it inside the fork that token `no` began? */
int pawl_token_is_in(const pawl_token *t, int32_t no);
/* "1.4", "" outside all forks; and back (0: not well formed). */
void pawl_scope_format(const pawl_token *t, char out[80]);
int pawl_scope_parse(pawl_token *t, pawl_str text);

/* ---- one row of history ---- */

typedef struct pawl_record {
  const char *type; /* see docs/architecture.md: "step", "failed", ... */
  const char *node; /* NULL: none */
  int32_t token;    /* 0: none */
  int64_t visit, attempt;
  int64_t started_us, completed_us, due_us; /* 0: null */
  int has_output, has_request;
  pawl_id request; /* that it answers: the number of its letter */
  pawl_buf transition, path, text, caller; /* empty: null */
  pawl_buf output, changes, error;         /* JSON; empty: null */
  pawl_buf previous; /* JSON list of rows that led here; empty: null */
} pawl_record;

/* ---- what else is written ---- */

typedef enum pawl_effect_kind {
  PAWL_EFFECT_SUBSCRIBE,   /* token waits for name (a pattern), key, due */
  PAWL_EFFECT_UNSUBSCRIBE, /* token waits no more */
  PAWL_EFFECT_TAKE,        /* an inbox row was taken, and stays as such, so
                              that it cannot come again: id (its number), node
                              (its kind), name, key, event_id, source, at_us
                              (received); inserted when it is not there */
  PAWL_EFFECT_DELETE,      /* another inbox row was dealt with: id */
  PAWL_EFFECT_TASK,       /* created, once a visit: id, token, node, n (visit),
                              at_us (due); data: title, description, form,
                              input, priority, assignee, users, roles, groups,
                              signal */
  PAWL_EFFECT_TASK_END,   /* token, n (visit); name: its status now
                              ("cancelled", "timed_out"), if still open */
  PAWL_EFFECT_TASK_RAISE, /* overdue: token, n (visit), data: priority, users,
                              roles, groups to add */
  PAWL_EFFECT_TASK_DUE,   /* put off: token, n (visit), at_us (due) */
  PAWL_EFFECT_TASK_RENAME, /* token, n (visit), node: its name now */
  PAWL_EFFECT_MESSAGE,     /* to another instance: name (kind), id (target),
                              data; see deliver.c */
  PAWL_EFFECT_EMIT,        /* into the outbox: name (type), data (payload) */
  PAWL_EFFECT_ITEMS,       /* of an each: token; data: a JSON array, from 0 */
  PAWL_EFFECT_ITEM         /* token, n (its index), name (state: "started",
                              "done", "failed"), data (result or error);
                              has_id: id of its child */
} pawl_effect_kind;

typedef struct pawl_effect {
  pawl_effect_kind kind;
  int32_t token;
  int64_t n, at_us; /* at_us 0: null */
  int has_id, has_key;
  int old; /* a later one says otherwise: it is not written */
  pawl_id id;
  const char *node;
  pawl_buf name, key, event_id, source, data;
} pawl_effect;

/* ---- the plan ---- */

typedef enum pawl_after {
  PAWL_AFTER_GO_ON,  /* more to do at once: the next round goes on */
  PAWL_AFTER_LET_GO, /* release; look again at look_us */
  PAWL_AFTER_SLEEP,  /* release; only a wake-up brings it back */
  PAWL_AFTER_END,    /* ended */
  PAWL_AFTER_BACK,   /* nothing to record; look again at look_us */
  PAWL_AFTER_FORGET  /* nothing to do at all: the agenda row goes */
} pawl_after;

/* A token and a level of its scope: inside.c's. */
typedef struct pawl_insider {
  int32_t scope, branch; /* branch: its name as a number; 0 */
  int k;
} pawl_insider;

typedef struct pawl_plan {
  pawl_after after;
  pawl_status status;
  pawl_tokens tokens;          /* all that were live, as they stand now */
  int32_t last_token;          /* highest number given out */
  int64_t visit;               /* highest visit given out */
  const char *node, *previous; /* where it stands or ended, for people */
  int64_t look_us;
  int64_t started_us; /* of the instance, when this is its first commit */
  int vars_changed;
  int parts;       /* of the changed variables: see parts.h */
  int resets;      /* it counts as progress: takeovers start again */
  int needs_latch; /* rule 6: nothing may have come in since it was loaded */
  int ran;         /* a handler with effects has run: its result is kept */
  int asked;       /* a handler that decides has run: it may decide otherwise
                      when it is asked again */
  int went_on;     /* from a decision into the step that it led to */
  int heard;       /* all letters that are loaded were offered to what stands
                      there (N7) */
  int32_t raced;   /* the last that came to a join that does not wait for
                      all, or may lead to one; 0: none, or that is settled */
  int revives;     /* an instance that had ended goes on */
  int stays;       /* one that had ended stays so, with what it ended with: a
                      request is recorded, and what that changed */
  int has_output;
  int more; /* what follows differs from what is stored */
  int64_t sent, children, immediate;
  int64_t suspended_us, deadline_us;
  int64_t begin_us; /* not before, while it has not begun; 0: at once */
  int64_t workflow_version; /* 0: stays */
  pawl_buf joined;       /* JSON [{"join":"close","scope":4},...]: fired, while
                      siblings still run */
  pawl_buf compensation; /* JSON; empty: null */
  pawl_buf stopped; /* JSON list of its tokens when it failed; empty: null */
  pawl_buf watched; /* what cancels it, subscribed; see pawl_held */
  pawl_buf vars, output, error, attrs, cancellation; /* JSON; empty: null */
  pawl_record *records;
  int nrecords, records_cap;
  pawl_effect *effects;
  int neffects, effects_cap;
  pawl_insider *members; /* of the tokens before `indexed` */
  int nmembers, members_cap, indexed;
  int failed;               /* memory ran out; pawl_plan_check says so */
  int64_t refusals;         /* the engine's, as it was begun (N7) */
  pawl_record spare_record; /* what is given out then */
  pawl_effect spare_effect;
  const char *outcome; /* for the trace: "done", "failed"...; NULL: nothing
                          to tell */
  pawl_buf detail;     /* for the trace: the target, or the error */
  const pawl_alloc *alloc;
} pawl_plan;

void pawl_plan_init(pawl_plan *p, const pawl_alloc *alloc);
void pawl_plan_deinit(pawl_plan *p);
void pawl_plan_reset(pawl_plan *p);
/* The next record or effect, emptied. Never NULL: when memory runs out the
 * plan is marked as failed and a spare one is given. Pointers to earlier ones
 * die. */
pawl_record *pawl_plan_record(pawl_plan *p, const char *type,
                              const char *node);
/* The one that was made when there were `at` of them: the spare one when it
 * found no memory. */
pawl_record *pawl_plan_record_at(pawl_plan *p, int at);
pawl_effect *pawl_plan_effect(pawl_plan *p, pawl_effect_kind kind,
                              int32_t token);
/* Is this letter taken, or dealt with, by one of its effects? */
int pawl_plan_takes(const pawl_plan *p, const pawl_id *letter);
/* Marks what a later effect about the same waiting token or item replaces.
 * Once the plan is complete; again is harmless. */
void pawl_plan_last_words(pawl_plan *p);
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

/* Delay before the attempt after `attempt`, anywhere between
 *
 *   low   the smaller of  raw                   and  cap * (1 - jitter / 2)
 *   high  the smaller of  raw * (1 + jitter)    and  cap
 *
 * where raw = base * factor ^ (attempt - 1). Below the cap all of the jitter
 * is added; where that would go past the cap the delay stays spread over half
 * of it, below the cap: many that fail together, for long, do not come back
 * together. Never over the cap. */
int64_t pawl_retry_delay(const pawl_retry *r, int64_t attempt, double random);
pawl_verdict pawl_retry_decide(const pawl_node *node, const pawl_failure *f,
                               int64_t *delay_us, int *to);

#endif
