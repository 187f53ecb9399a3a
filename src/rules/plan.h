/* rules/plan.h: the writes one decision asks for; a value, no I/O.
 *
 * A handler has run, or a timer fired, or nobody knows the workflow: what
 * follows for the instance is put into a plan, and commit.c writes it. A plan
 * is complete in itself: it can be sent again, under another lease, after a
 * lost answer.
 *
 * Layer    rules: base, defs and state.h only.
 * Owns     its buffers, reused from one decision to the next. Names of nodes
 *          and record types are borrowed: they live as long as the engine.
 * Keeps    P1 tokens stand in the order of their numbers, each inside tokens
 *             with smaller ones; no number and no visit is given out twice.
 *          P2 a plan that ends an instance leaves no token alive, and one that
 *             does not leaves a status that has not ended.
 *          P3 a plan that failed (N7) is never the state.
 *          P4 of what is said twice about one waiting token or item the last
 *             word counts. */
#ifndef PAWL_RULES_PLAN_H
#define PAWL_RULES_PLAN_H

#include "../base/buf.h"
#include "../base/id.h"
#include "../defs/def.h"
#include "../defs/result.h"
#include "state.h"

/* ---- one row of history ---- */

/* All types that a row may have, in the order in which they are told; `trimmed`
 * is of the row that stands for those that are gone. */
/* clang-format off */
#define PAWL_RECORD_TYPES(X)                                              \
  X(step) X(started) X(routed) X(received) X(condition) X(timer) X(task) X(child)      \
  X(each) X(timeout) X(deadline) X(failed) X(escalated) X(put_off)        \
  X(rescheduled) X(refused) X(dropped) X(untaken) X(recovered) X(on_failure)             \
  X(undone) X(undo_failed) X(compensated) X(cancelled) X(killed)          \
  X(suspended) X(resumed) X(shifted) X(retried) X(restarted) X(moved)     \
  X(changed) X(woken) X(transferred) X(note) X(deletion) X(deleted)       \
  X(undeleted) X(purged) X(carried) X(reclaimed) X(arrived) X(trimmed)    \
  X(halted) X(continued) X(stepped)
/* clang-format on */
enum {
#define PAWL_RECORD_COUNT(name) +1
  PAWL_NRECORD_TYPES = 0 PAWL_RECORD_TYPES(PAWL_RECORD_COUNT)
};
extern const char *const pawl_record_types[PAWL_NRECORD_TYPES];

typedef struct pawl_record {
  const char *type; /* one of pawl_record_types */
  const char *node; /* NULL: none */
  int32_t token;    /* 0: none */
  int64_t visit, attempt;
  int64_t started_us, completed_us, due_us; /* 0: null */
  int has_output, has_request;
  int attrs_logged; /* changes say what became of those attributes */
  pawl_id request;  /* that it answers: the number of its letter */
  /* Empty: null. `output`, `changes` and `error` are JSON, `previous` a JSON
   * list of rows that led here; `attrs` is no column: attributes that were set,
   * which are told in `changes` when it is written (engine/work/attr_log.h).
   * Last: they keep their memory. */
#define PAWL_RECORD_TEXTS(X) \
  X(transition)              \
  X(path) X(text) X(by) X(output) X(changes) X(error) X(previous) X(attrs)
  PAWL_RECORD_TEXTS(PAWL_TEXT_MEMBER)
} pawl_record;

/* ---- what else is written ---- */

typedef enum pawl_effect_kind {
  PAWL_EFFECT_SUBSCRIBE,   /* token waits for name (a pattern), key, due; n 1:
                              one is told for all, and it is free */
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
  PAWL_EFFECT_TASK_DUE,   /* put off: token, n (visit), at_us (due; 0: at no
                             time) */
  PAWL_EFFECT_TASK_RENAME, /* token, n (visit), node: its name now */
  PAWL_EFFECT_MESSAGE,     /* to another instance: name (kind), id (target),
                              data; see deliver.c */
  PAWL_EFFECT_EMIT,        /* into the outbox: name (type), data (payload) */
  PAWL_EFFECT_ITEMS,       /* of an each: token; data: a JSON array, from 0 */
  PAWL_EFFECT_PUBLISH,     /* shown to whoever asks: name, data; n 1: an answer
                              to the event with that id, told once */
  PAWL_EFFECT_SPEND,       /* of a quota: name, n, at_us (its minute) */
  PAWL_EFFECT_ITEM         /* token, n (its index), name (state: "started",
                              "done", "failed"), data (result or error);
                              has_id: id of its child */
} pawl_effect_kind;

typedef struct pawl_effect {
  pawl_effect_kind kind;
  int32_t token;
  int64_t n, at_us; /* at_us 0: null */
  int has_id, has_key;
  int old;        /* a later one says otherwise: it is not written */
  int is_failure; /* an EMIT, or a MESSAGE that starts `key`: its data is made
                     of the plan's `failure` before it is sent */
  pawl_id id;
  const char *node;
  /* Last: they keep their memory. */
#define PAWL_EFFECT_TEXTS(X) X(name) X(key) X(event_id) X(source) X(data)
  PAWL_EFFECT_TEXTS(PAWL_TEXT_MEMBER)
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

/* What must be looked for in the store before it runs again? (N6) Each value
 * with all before it. */
typedef enum pawl_look {
  PAWL_LOOK_NO,
  PAWL_LOOK_AGAIN, /* a wait has begun, an each wants items, ... */
  PAWL_LOOK_UNDOS  /* and for all that is to be undone */
} pawl_look;

/* A token and a level of its scope: inside.c's. */
typedef struct pawl_insider {
  int32_t scope, branch; /* branch: its name as a number; 0 */
  int k;
} pawl_insider;

typedef struct pawl_plan {
  pawl_after after;
  pawl_look look; /* once this is stored */
  int64_t look_us;
  int vars_changed;
  int resets;      /* it counts as progress: takeovers start again */
  int needs_latch; /* rule 6: nothing may have come in since it was loaded */
  int ran;         /* a handler with effects has run: its result is kept */
  int asked;       /* a handler that decides has run: it may decide otherwise
                      when it is asked again */
  int went_on;     /* from a decision into the step that it led to */
  int waits;       /* a handler that has begun in it does */
  int leaves;      /* letters, to who may run nodes */
  int holds;       /* a letter or a time, until others have gone first (O9) */
  int64_t
      only_us; /* 0: whoever is due may run; else those alone that are to be
                      done before what ends it at that time (O11) */
  int64_t found_us;  /* when what sets tokens going was found; 0: now */
  int is_called_off; /* somebody has it cancelled, by a letter at hand */
  int passed;        /* an event at hand that nobody wanted was passed over */
  int heard;         /* all letters that are loaded were offered to what stands
                      there (N7) */
  int rests;         /* nothing of it is to run now */
  int32_t raced;   /* the one that came to a join which is to be settled before
                      anything else (O1); 0: none, or that is; -1: several */
  int revives;     /* an instance that had ended goes on */
  int broke;       /* it is suspended by an error, not by a person */
  int tells;       /* effects of it tell of a failure (failure.c) */
  int told;        /* and have their data (engine/work/failure_told.h) */
  int stays;       /* one that had ended stays so, with what it ended with: a
                      request is recorded, and what that changed */
  int64_t version; /* 0: stays */
  int nrecords, nuntaken; /* nuntaken: of them, the last: what it left untaken
                             (untaken.c) */
  int neffects, nmembers, indexed;
  int failed;          /* memory ran out; pawl_plan_check says so */
  int64_t refusals;    /* the world's, as it was begun (N7) */
  const char *outcome; /* for the trace: "done", "failed"...; NULL: nothing
                          to tell */

  /* From here on it keeps its memory when it is begun anew. */
  const pawl_alloc *alloc;
  pawl_state state; /* as it will be */
  /* JSON, empty: null; `vars`: all of them, when they have changed; `attrs`:
   * of those that were set; `failure`: what is told of one, as far as the rules
   * know it; `detail` is for the trace: the target, or the error; the last two
   * are the state's when it is written (stored.h) */
#define PAWL_PLAN_TEXTS(X) \
  X(vars) X(error) X(attrs) X(failure) X(detail) X(joined) X(compensation)
  PAWL_PLAN_TEXTS(PAWL_TEXT_MEMBER)
  /* who came to nodes that have no rows of their own (way.h): each visit */
  pawl_marks came;
  pawl_record *records;
  pawl_effect *effects;
  pawl_insider *members; /* of the tokens before `indexed` */
  int records_cap, effects_cap, members_cap;
  pawl_record spare_record; /* what is given out when memory has run out */
  pawl_effect spare_effect;
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

/* The script's own code is what its author looks for. */
const char *pawl_failure_code(const pawl_error *err);
/* An error as JSON: {"code":...,"message":...,...}, empty fields left out.
 * `said`: by the handler that failed, for details and whole texts; or NULL. */
void pawl_plan_error(pawl_buf *out, const pawl_error *err,
                     const pawl_said *said);

/* ---- what follows a failure: retry.c ---- */

/* Nobody's fault, and over soon? Memory was short, the engine was interrupted,
 * or a quota is spent for this minute; not what a script calls so. */
typedef enum pawl_passes {
  PAWL_PASSES_NOT,
  PAWL_PASSES_INTERRUPT,
  PAWL_PASSES_QUOTA,
  PAWL_PASSES_MEMORY
} pawl_passes;
#define PAWL_RAISED_QUOTA "quota" /* the code of such a PAWL_LIMIT */
pawl_passes pawl_failure_passes(const pawl_error *err);

typedef struct pawl_failure {
  int64_t attempt; /* the one that failed, from 1 */
  int64_t passed;  /* of those up to it, which passed: the node's policy does
                      not count them */
  int no_retry;
  int routes;         /* `on_error` is asked: not of an undo */
  pawl_passes passes; /* it is tried ten times at least, whatever the others
                         say; without memory it is suspended then */
  int64_t retry_after_us; /* the handler's own wish; -1: by policy */
  const char *code;       /* of the error, as retry and on_error name it */
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
