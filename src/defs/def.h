/* defs/def.h: a workflow definition as data.
 *
 * Made from the graph's JSON, which is what lua/pawl/workflow.lua returns and
 * what the store keeps in workflow.graph:
 *
 *   {"code":"order.fulfil","version":1,"name":"...","description":"...",
 *    "start":"reserve","line":3,"deadline":2592000000000 | true,
 *    "busy_limit":100000,
 *    "compensate":false,                        default true
 *    "endless":true,                            no node need lead to a finish
 *    "input":{"price":"number",...},            as value/types.h has it
 *    "variables":{"total":"number",...},        the same
 *    "retain":{"archive":true,"keep_attributes":true,
 *              "completed":604800000000,"failed":...,"cancelled":...,
 *              "deleted":...},                  else the engine's
 *    "keep_history":1000,                       else all of it
 *    "durability":"every"|"grouped"|"save",     else the engine's
 *    "on_failure":{"emit":"order.failed","start":"order.repair"}, either one
 *    "on_cancel":"give_back",
 *    "trigger":[{"event":"order.placed"}],      events that start instances
 *    "cancel_on":[{"event":"order.withdrawn","key":"order_id"}],
 *    "nodes":[{"name":"reserve","kind":"step","line":5,
 *              "next":"approve" | {"yes":"a","no":"b"},
 *              "retry":{"max":5,"base":1000000,"cap":300000000,"factor":2.0,
 *                       "jitter":0.5,"on":["busy"],"never":["declined"],
 *                       "delay":true},             a handler
 *              "on_exhausted":"fail"|"suspend",
 *              "on_error":{"card_declined":"ask_again","*":"other"},
 *              "timeout":600000000 | true,"transactional":true,
 *              "durability":"every",              else the workflow's
 *              "run":true,"undo":true,            handlers that exist
 *              "after":3600000000 | true,"at":true,   timer: one of the two
 *              "reschedule":{"event":"timer.moved","key":"order_id" | true,
 *                            "into":"when"},      timer, wait, task, call, each:
 *                                                 what moves its time
 *              "choose":true,                     choice
 *              "event":"payment.*",               wait: this, or
 *              "condition":true,                  a handler
 *              "event":"stock.low","data":true,   escalate; the latter a handler
 *              "key":"order_id" | true,           wait: a name, or a handler
 *              "take":"all"|"one",                wait: all that an event is
 *                                                 for, or one of them
 *              "match":true,"answer":true,        wait: handlers
 *              "accepts":{"sum":"number",...},    wait, task: what data,
 *                                                 and the output, must be
 *              "into":"payment",                  step, wait, task, call, each:
 *                                                 the variable the output
 *                                                 goes to
 *              "task":{"title":"...","description":"...","form":"...",
 *                      "input":{...},"priority":"high","due":172800000000,
 *                      "assignee":"ann","users":[...],"roles":[...],
 *                      "groups":[...],"signal":"..."},
 *              "escalate":{"users":[...],"roles":[...],"groups":[...],
 *                          "priority":"urgent"},  task: when it is overdue
 *              "prepare":true,                    task: a handler
 *              "order":["ship","bill"],           fork: branches as written
 *              "expect":"all"|"any"|2,"losers":"run"|"cancel",      join
 *              "workflow":"order.ship","version":2,        call, each
 *              "input":{...} | true,              call: a value or a handler
 *              "parent_end":"cancel"|"leave",     call, each over children;
 *              "group":"gpu" | true,"priority":5 | true,   so are these, which
 *                                                 may be handlers
 *              "items":true,"branch":"measure","window":10,
 *              "on":"approve","interrupt":true,"every":86400000000 | true,
 *                                                 timer, wait: a boundary
 *              "on_failure":"stop"|"collect","enough":true,
 *              "tolerate":3 | "2.5%",             each
 *              "status":"failed","terminate":true,"output":true}, ...]}
 *
 * Every duration is in microseconds. Left-out fields have the defaults of
 * design: retry 3 attempts (1 s, doubling, cap 5 min, jitter up to half; the
 * cap is at least twice a base that is given without one, a cap below 1 s is
 * the base as well), timeout 10 min. Nodes keep the order in which they were
 * written.
 *
 * Layer    defs: above base and value; no store, no Lua.
 * Owns     a pawl_def owns all its text, in one allocation arena.
 * Keeps    G1 by_name has every node once, in the order of names; edges are in
 *             the order of theirs.
 *          G2 what pawl_def_check has passed leads nowhere but to its nodes,
 *             at most PAWL_MAX_DEPTH forks deep. */
#ifndef PAWL_DEFS_DEF_H
#define PAWL_DEFS_DEF_H

#include "../base/buf.h"
#include "../base/clock.h"
#include "kinds.h"
#include "limits.h"

typedef struct pawl_retry {
  int64_t max;             /* attempts in all, at least 1 */
  int64_t base_us, cap_us; /* delay after the first failure; the longest */
  double factor;           /* growth per attempt, at least 1 */
  double jitter;           /* 0..1: that share is spread; see rules/plan.h */
  /* error codes that are tried again, and no others, and those that are not;
   * "*" is any other, behind the last is NULL. NULL: it does not say */
  const char **on, **never;
} pawl_retry;

typedef struct pawl_edge {
  const char *name;   /* transition or error code; "" for a single `next` */
  const char *target; /* the node's name, as written */
  int to;             /* its index; -1: no such node (check says so) */
} pawl_edge;

/* X(shape, name in the graph, member, ...): what a node may say in a word. How
 * a node is read, and whether it says so, follows from the list (node.c); a
 * field that a new kind brings is one line here.
 *
 *   FLAG      int: true or false
 *   CHOICE    int: of two words, is it the second?
 *   TEXT      const char *; NULL: none
 *   COUNT     int64_t, from 1 to what is said here
 *   DURATION  int64_t, in microseconds, -1: none; and an int: `true`, a
 *             handler says it */
/* clang-format off */
#define PAWL_NODE_FIELDS(X)                                                 \
  X(CHOICE, on_exhausted, suspend_exhausted, "fail", "suspend")             \
  X(FLAG, transactional, transactional)                                     \
  X(DURATION, after, after_us, has_after) /* timer; none: `at` decides */   \
  X(TEXT, on, on)                    /* timer, wait: a boundary of that     \
                                        node */                             \
  X(FLAG, interrupt, interrupts)     /* boundary: ends what it is on */     \
  X(DURATION, every, every_us, has_every) /* boundary timer: again */       \
  X(CHOICE, status, status_failed, "completed", "failed") /* finish */      \
  X(FLAG, terminate, terminate)      /* finish */                           \
  X(TEXT, event, event)              /* wait: "payment.received",           \
                                        "payment.*"; escalate: its name */  \
  X(CHOICE, take, take_one, "all", "one") /* wait: of those for an event */ \
  X(TEXT, into, into)                /* the variable that takes the         \
                                        output */                           \
  X(CHOICE, losers, losers_cancel, "run", "cancel") /* join: cancelled, or  \
                                        they run on, to be dropped here */  \
  X(TEXT, workflow, workflow)        /* call, each: the child's code; none: \
                                        each over branches */               \
  X(COUNT, version, version, INT64_MAX)                   \
  X(CHOICE, parent_end, parent_end_leave, "cancel", "leave")                \
  X(TEXT, branch, branch_name)       /* each: as written; none: over        \
                                        children */                         \
  X(COUNT, window, window, INT32_MAX)                                       \
  X(CHOICE, on_failure, collect, "stop", "collect") /* each */              \
  /* handlers that exist */                                                 \
  X(FLAG, run, has_run) X(FLAG, undo, has_undo) X(FLAG, at, has_at)         \
  X(FLAG, choose, has_choose) X(FLAG, output, has_output)                   \
  X(FLAG, match, has_match) X(FLAG, answer, has_answer)                     \
  X(FLAG, condition, has_condition) /* wait, in place of an event */        \
  X(FLAG, prepare, has_prepare) X(FLAG, items, has_items)                   \
  X(FLAG, enough, has_enough)                                               \
  X(FLAG, data, has_data) /* escalate */                                    \
  X(FLAG, due, has_due) /* a task's, which is else the item's own */
/* clang-format on */

typedef struct pawl_node {
#define PAWL_NODE_FLAG(member, ...) int member;
#define PAWL_NODE_CHOICE(member, ...) int member;
#define PAWL_NODE_TEXT(member, ...) const char *member;
#define PAWL_NODE_COUNT(member, ...) int64_t member;
#define PAWL_NODE_DURATION(member, asked, ...) \
  int64_t member;                              \
  int asked;
#define PAWL_NODE_MEMBER(shape, name, ...) PAWL_NODE_##shape(__VA_ARGS__, 0)
  PAWL_NODE_FIELDS(PAWL_NODE_MEMBER)
  /* what more is to be said of is read by hand */
  const char *name;
  pawl_kind kind;
  int line;
  pawl_edge *next; /* by name, sorted */
  int nnext;
  pawl_edge *on_error; /* by code, sorted; "*" matches any other */
  int non_error;
  pawl_retry retry;
  int64_t timeout_us;
  int durability; /* PAWL_DURABLE_..., -1: as the workflow's */
  /* handlers */
  int has_key, has_input, has_group, has_priority, has_timeout, has_delay;
  int has_mover_key; /* of `reschedule` */
  int64_t limit_us;  /* wait, task, call, each: their `timeout`; -1: none */
  /* wait */
  const char *key; /* a variable's name; NULL: none, or a handler */
  /* wait, task: what an event's data, or the output, must be; at NULL: any */
  pawl_str accepts;
  /* timer, wait, task, call, each: the event that has its time worked out
   * anew, the variable that its key is in, and that which takes its data;
   * NULL: none, or a handler of the key */
  const char *moved_by, *moved_key, *moved_into;
  /* task: static parts as JSON text; {NULL, 0}: none */
  pawl_str task, escalate;
  int *beside; /* its boundaries, as indices; nbeside of them */
  int nbeside;
  int host; /* of a boundary: the node that it is on; else -1 */
  /* fork: `next` as it was written, indices into `next`; nnext of them */
  int *order;
  /* join */
  int64_t expect; /* 0: all; else that many (any: 1) */
  int join_depth; /* check: forks still open behind it (see fork.h) */
  int join_stays; /* check: it gathers a part of a fork's branches, and its
                     token stays in that fork */
  int join_row;   /* its row in the definition's `meets` */
  /* call, each */
  pawl_str input;     /* call: constant JSON; {NULL, 0}: none, or a handler */
  const char *group;  /* the children's; NULL: the parent's, or a handler */
  int64_t priority;   /* and that; 0, or a handler */
  int branch;         /* each: the first node of a branch; -1: over children */
  int64_t tolerate;   /* each: so many items may fail; 0: none */
  int tolerate_share; /* or that part of them, in 1/100 %; -1: not said so */
  /* undo: names of nodes, ended by NULL; NULL: all that was done */
  const char **of;
  int64_t run_avg_us; /* how long its handler takes: kept by the engine */
} pawl_node;

/* An event that starts or cancels instances. */
typedef struct pawl_event_rule {
  const char *event;
  const char *key; /* a name in the input; NULL: none */
} pawl_event_rule;

/* In what ways an instance can end, and be out of the way: how long it is kept
 * then, each; -1: that is not said. */
#define PAWL_RETAINED(X) X(completed) X(failed) X(cancelled) X(deleted)
typedef enum pawl_retained {
#define PAWL_RETAINED_ENUM(name) PAWL_RETAINED_##name,
  PAWL_RETAINED(PAWL_RETAINED_ENUM)
#undef PAWL_RETAINED_ENUM
      PAWL_NRETAINED
} pawl_retained;
extern const char *const pawl_retained_names[PAWL_NRETAINED];
typedef struct pawl_retain {
  int64_t us[PAWL_NRETAINED];
  /* -1: not said */
  int archive;         /* it is archived then, and not purged */
  int keep_attributes; /* what is purged is found by them */
} pawl_retain;

typedef struct pawl_def {
  const char *code;
  int64_t version; /* of an "auto" one 1, until pawl_def_number */
  int is_auto;     /* the store says which number it has */
  const char *name, *description; /* may be "" */
  pawl_str input; /* what it must be, as value/types.h has it; at NULL: any */
  pawl_str variables; /* the same of those that there are by now */
  int line;
  const char *start_name;
  int start;           /* its index; -1: no such node (check says so) */
  int64_t deadline_us; /* from the start; -1: none */
  int has_deadline;    /* a handler of its start says it */
  int64_t busy_limit;  /* immediate steps in a row; 0: none */
  int compensate;      /* when it fails */
  int is_endless;      /* it need not come to an end */
  pawl_retain retain;
  int retains;          /* does it say so? */
  int64_t keep_history; /* rows of history that stay; 0: all */
  int durability;       /* PAWL_DURABLE_..., -1: as the engine's */
  int durables;         /* it says so, or a node does */
  /* on_failure: the type of what is emitted, the code of what is started;
   * NULL: nothing */
  const char *failure_emit, *failure_start;
  const char *on_cancel_name;
  int on_cancel;   /* where it cleans up, as an index; -1: nowhere, or no such
                      node (check says so) */
  int can_receive; /* has waits, tasks, calls, eachs, timers that
                      events move, or cancel_on */
  int has_boundaries;
  int has_conditions; /* waits for one */
  int has_undo_nodes;
  pawl_event_rule *triggers, *cancel_on;
  int ntriggers, ncancel_on;
  unsigned char *meets; /* a row of nnodes bits for each join: pawl_def_meets;
                           NULL: no joins */
  pawl_node *nodes;
  int nnodes;
  int *by_name;     /* indices of nodes, in order of their names */
  const char *file; /* for messages: "order.lua" */
  pawl_str graph;   /* the JSON it was made from */
  pawl_str source;  /* the file's text; at NULL: inline */
  pawl_str bundle;  /* JSON {"module":"source",...}; "{}" */
  char sha256[65];  /* of source and bundle; of the graph when inline */
  int is_inline;
  int64_t revision; /* in the store; 0: not registered; -1: to be asked for */
  int host_ref;     /* the host's handle of its functions; -1: none */
  int is_limited;   /* by the host's word: how far it is trusted */
  int is_isolated;  /* and that not even in this process; is_limited, too */
  /* of a limited one: */
  int64_t per_minute[PAWL_NQUOTAS], per_instance[PAWL_NBOUNDS];
  /* tables that its own SQL may read, and write as well, as lists of patterns;
   * both NULL: any */
  const char *db_read, *db_write;
  const char *author; /* whose it is; NULL: the host's own */
  const char *grants; /* what it may, as JSON */
  int takes;          /* its code, if that is another's */
  int64_t handler_us; /* that one of them may take */
  int64_t wait_us;    /* and with all that it waits */
  int may_wait;       /* it was granted what handlers wait by */
  int has_waited;     /* a handler of it has, in this process */
  /* memory */
  const pawl_alloc *alloc;
  struct pawl_def_arena *arena;
} pawl_def;

/* Reads a graph. Does not look whether it makes sense: pawl_def_check does.
 * Fields it does not know are left alone. PAWL_DEFINITION; `where` =
 * "file:line". Copies everything. */
pawl_code pawl_def_new(const char *file, pawl_str graph, pawl_str source,
                       pawl_str bundle, const pawl_alloc *alloc,
                       pawl_def **out, pawl_error *err);
void pawl_def_free(pawl_def *def);
/* A text that goes with the definition. */
pawl_code pawl_def_copy(pawl_def *def, pawl_str text, const char **out,
                        pawl_error *err);

/* How long a group's name may be, as that of a start. */
#define PAWL_MAX_GROUP 255
#define PAWL_MAX_TASK_WORD 255 /* what tasks are found by: whose, which form */
/* What a workflow's code is: dotted words of letters, digits, '_' and '-', at
 * most 200 bytes. lua/pawl/workflow.lua has the same rule. */
#define PAWL_CODE_RULE                                                \
  "dotted words of letters, digits, '_' and '-', at most 200 bytes: " \
  "\"order.fulfil\""
int pawl_def_is_code(const char *code);
/* What `ctx.emit` may be given as a type: bytes, of UTF-8. */
#define PAWL_MAX_EMIT_TYPE 200
/* What an event's name is: the same. In a pattern the last word may be "*",
 * which stands for exactly one. lua/pawl/workflow.lua has the same rule. */
#define PAWL_PATTERN_RULE                                            \
  "dotted words of letters, digits, '_' and '-', at most 200 bytes;" \
  " the last may be '*': \"payment.*\""
int pawl_def_is_event(const char *name, int is_pattern);

/* Everything that can be known before running: code and version well formed;
 * start, next, on_error and branch name nodes that exist (else the nearest name
 * is offered); every node is reachable and can reach a finish; each kind has
 * what it needs, and no transition that cannot come; no longest delay below the
 * first; no loop of choices, forks and joins alone; names unique; events and
 * patterns well formed; a fork has two branches or more, none of which leads
 * back to it before they are joined, at most PAWL_MAX_DEPTH deep; what a join
 * gathers can meet there, and as many as it expects; a branch of an `each`
 * leads back to it, and nowhere else; what an undo names has something to be
 * undone. The first problem is the error: message
 * names node and field, `where` the file and line, the hint what to write
 * instead. */
pawl_code pawl_def_check(const pawl_def *def, pawl_error *err);

/* Forks may be nested that deep; an `each` over branches counts as one. */
#define PAWL_MAX_DEPTH 6

/* May a token that stands at `node`, inside the fork that `join` closes, still
 * come to `join` without leaving that fork? (What stands at the join has come:
 * 0.) Set by pawl_def_check (fork.c), with join_depth and join_stays. */
int pawl_def_meets(const pawl_def *def, int node, int join);

/* Where tokens can stand: every node, with the forks (and eachs over branches)
 * that may be open around it. */
typedef struct pawl_spots pawl_spots;
/* Of a graph that pawl_def_check has passed, once. */
pawl_code pawl_spots_new(const pawl_def *def, pawl_spots **out,
                         pawl_error *err);
void pawl_spots_free(pawl_spots *spots);
/* The i-th way to stand at `node`: its forks' indices, outermost first, and
 * their number in *depth; NULL: there are no more. */
const int *pawl_spots_at(const pawl_spots *spots, int node, int i, int *depth);

/* What of a task, or of its escalation, as JSON, no store keeps as text: a zero
 * byte, or what is found by it and longer than PAWL_MAX_TASK_WORD. */
typedef struct pawl_unkept {
  const char *member;
  const char *why, *want; /* it "has a zero byte"; NULL: all is kept */
} pawl_unkept;
pawl_code pawl_task_unkept(const pawl_alloc *alloc, pawl_str task,
                           pawl_unkept *out, pawl_error *err);

/* Reads what a graph that was checked says as "retain"; at NULL: nothing. */
void pawl_retain_read(pawl_str retain, pawl_retain *out);

/* What `keep_history` may be: fewer rows would not tell what has just happened,
 * more are no bound. lua/pawl/workflow.lua has the same limits. */
#define PAWL_LEAST_HISTORY 100
#define PAWL_MOST_HISTORY 1000000

/* Gives an `is_auto` one its number, or another: in its graph as well. */
pawl_code pawl_def_number(pawl_def *def, int64_t version, pawl_error *err);

/* Has it a step that can be undone? */
int pawl_def_has_undo(const pawl_def *def);
/* Index of a node by name, which may be null where `len` is 0; -1. */
int pawl_def_node(const pawl_def *def, const char *name, size_t len);
/* The same; *at is where it may be, and then where it is. */
int pawl_def_node_at(const pawl_def *def, const char *name, int *at);
/* There is no node of that name: hints at the one that was meant. */
void pawl_def_hint_node(const pawl_def *def, const char *name,
                        pawl_error *err);
/* The i-th node that a node leads to, in any way; -1: there are no more. */
int pawl_node_target(const pawl_node *node, int i);
/* Target of a node's transition; NULL/"" for a single next; -1: not one. */
int pawl_node_next(const pawl_node *node, const char *name, size_t len);
/* The outermost each in whose branch a node lies; -1: none, or no memory. */
int pawl_def_each_around(const pawl_def *def, int node);
/* A token that waits has up to two ears: for the event that moves it on, and for
 * one that moves its time. */
typedef enum pawl_ear { PAWL_EAR_OWN, PAWL_EAR_MOVE, PAWL_NEARS } pawl_ear;
/* The event that is heard there, and the variable that names its key; NULL:
 * none. */
const char *pawl_node_listens(const pawl_node *node, pawl_ear ear);
const char *pawl_node_key(const pawl_node *node, pawl_ear ear);
/* Does a handler say how long a token waits there? */
static inline int pawl_node_asks_limit(const pawl_node *node) {
  return node->has_after || node->has_timeout;
}
/* A timer that fires again and again. */
static inline int pawl_node_repeats(const pawl_node *node) {
  return node->every_us >= 0 || node->has_every;
}
/* Is that field of the graph there? One that is not the node's own is its
 * task's, and not empty. */
int pawl_node_says(const pawl_node *node, const char *field);
/* May a boundary be on it? */
int pawl_node_may_host(const pawl_node *node);
/* Is it a boundary that leaves what it is on as it is: begins a lane? */
static inline int pawl_node_is_lane(const pawl_node *node) {
  return node->host >= 0 && !node->interrupts;
}
/* Of so many items of an each, how many may fail by its `tolerate`; -1: it has
 * none. */
int64_t pawl_node_tolerates(const pawl_node *node, int64_t total);
/* Where an error code is routed; -1: nowhere. */
int pawl_node_on_error(const pawl_node *node, const char *code);
/* Does it route this very code, rather than any other? */
int pawl_node_names_error(const pawl_node *node, const char *code);

/* Of tasks, the lowest first. */
#define PAWL_NPRIORITIES 4
extern const char *const pawl_priorities[PAWL_NPRIORITIES];

#endif
