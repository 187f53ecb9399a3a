/* defs/def.h: a workflow definition as data.
 *
 * Made from the graph's JSON, which is what lua/pawl/workflow.lua returns and
 * what the store keeps in workflow.graph:
 *
 *   {"code":"order.fulfil","version":1,"name":"...","description":"...",
 *    "start":"reserve","line":3,"deadline":2592000000000,"busy_limit":100000,
 *    "compensate":false,                        default true
 *    "trigger":[{"event":"order.placed"}],      events that start instances
 *    "cancel_on":[{"event":"order.withdrawn","key":"order_id"}],
 *    "nodes":[{"name":"reserve","kind":"step","line":5,
 *              "next":"approve" | {"yes":"a","no":"b"},
 *              "retry":{"max":5,"base":1000000,"cap":300000000,"factor":2.0,
 *                       "jitter":0.5},
 *              "on_exhausted":"fail"|"suspend",
 *              "on_error":{"card_declined":"ask_again","*":"other"},
 *              "timeout":600000000,"transactional":true,
 *              "run":true,"undo":true,            handlers that exist
 *              "after":3600000000,"at":true,      timer: one of the two
 *              "choose":true,                     choice
 *              "event":"payment.*",               wait
 *              "key":"order_id" | true,           wait: a name, or a handler
 *              "match":true,                      wait: a handler
 *              "into":"payment",                  wait, task, call, each: the
 *                                                 variable the output goes to
 *              "task":{"title":"...","description":"...","form":"...",
 *                      "input":{...},"priority":"high","due":172800000000,
 *                      "assignee":"ann","users":[...],"roles":[...],
 *                      "groups":[...],"signal":"..."},
 *              "escalate":{"users":[...],"roles":[...],"groups":[...],
 *                          "priority":"urgent"},  task: when it is overdue
 *              "prepare":true,                    task: a handler
 *              "order":["ship","bill"],           fork: branches as written
 *              "expect":"all"|"any"|2,"losers":"run"|"cancel",      join
 *              "workflow":"order.ship","workflow_version":2,        call, each
 *              "input":{...} | true,              call: a value or a handler
 *              "parent_end":"cancel"|"leave",     call, each over children
 *              "items":true,"branch":"measure","window":10,
 *              "on_failure":"stop"|"collect",     each
 *              "status":"failed","terminate":true,"output":true}, ...]}
 *
 * Every duration is in microseconds. Left-out fields have the defaults of
 * design: retry 3 attempts (1 s, doubling, cap 5 min, jitter up to half; the
 * cap is at least twice a base that is given without one, a cap below 1 s is
 * the base as well), timeout 10 min. Nodes keep the order in which they were
 * written.
 *
 * Layer    defs: above base and value; no store, no Lua.
 * Owns     a pawl_def owns all its text, in one allocation arena. */
#ifndef PAWL_DEFS_DEF_H
#define PAWL_DEFS_DEF_H

#include "../base/buf.h"
#include "../base/clock.h"

/* Kinds, once: enum, names in Lua and JSON, docs. */
/* clang-format off */
#define PAWL_KINDS(X)                                                 \
  X(STEP, "step") X(CHOICE, "choice") X(TIMER, "timer")               \
  X(FINISH, "finish") X(WAIT, "wait") X(TASK, "task") X(FORK, "fork") \
  X(JOIN, "join") X(CALL, "call") X(EACH, "each")
/* clang-format on */

typedef enum pawl_kind {
#define PAWL_KIND_ENUM(name, text) PAWL_KIND_##name,
  PAWL_KINDS(PAWL_KIND_ENUM)
#undef PAWL_KIND_ENUM
      PAWL_NKINDS
} pawl_kind;
const char *pawl_kind_name(pawl_kind kind);

typedef struct pawl_retry {
  int64_t max;             /* attempts in all, at least 1 */
  int64_t base_us, cap_us; /* delay after the first failure; the longest */
  double factor;           /* growth per attempt, at least 1 */
  double jitter;           /* 0..1: that share is spread; see engine/plan.h */
} pawl_retry;

typedef struct pawl_edge {
  const char *name;   /* transition or error code; "" for a single `next` */
  const char *target; /* the node's name, as written */
  int to;             /* its index; -1: no such node (check says so) */
} pawl_edge;

typedef struct pawl_node {
  const char *name;
  pawl_kind kind;
  int line;
  pawl_edge *next; /* by name, sorted */
  int nnext;
  pawl_edge *on_error; /* by code, sorted; "*" matches any other */
  int non_error;
  pawl_retry retry;
  int suspend_exhausted; /* on_exhausted = "suspend" */
  int64_t timeout_us;
  int transactional;
  int has_run, has_undo, has_at, has_choose, has_output, has_key, has_match,
      has_prepare, has_input, has_items; /* handlers */
  int64_t limit_us; /* wait, task, call, each: their `timeout`; -1: none */
  /* wait */
  const char *event; /* "payment.received", "payment.*" */
  const char *key;   /* a variable's name; NULL: none, or a handler */
  const char *into;  /* the variable that takes the output; NULL: none */
  /* task: static parts as JSON text; {NULL, 0}: none */
  pawl_str task, escalate;
  /* fork: `next` as it was written, indices into `next`; nnext of them */
  int *order;
  /* join */
  int64_t expect;    /* 0: all; else that many (any: 1) */
  int losers_cancel; /* else they run on, to be dropped here */
  int join_depth;    /* check: forks still open behind it (see fork.h) */
  int join_stays;    /* check: it gathers a part of a fork's branches, and its
                        token stays in that fork */
  int join_row;      /* its row in the definition's `meets` */
  /* call, each */
  const char *workflow; /* the child's code; NULL: each over branches */
  int64_t workflow_version;
  pawl_str input; /* call: constant JSON; {NULL, 0}: none, or a handler */
  int parent_end_leave;
  const char *branch_name; /* each: as written; NULL: over children */
  int branch; /* each: the first node of a branch; -1: over children */
  int64_t window;
  int collect;        /* each: on_failure = "collect" */
  int64_t after_us;   /* timer; -1: `at` decides */
  int64_t run_avg_us; /* how long its handler takes: kept by the engine */
  int status_failed;  /* finish: status = "failed" */
  int terminate;
} pawl_node;

/* An event that starts or cancels instances. */
typedef struct pawl_event_rule {
  const char *event;
  const char *key; /* a name in the input; NULL: none */
} pawl_event_rule;

typedef struct pawl_def {
  const char *code;
  int64_t version;
  const char *name, *description; /* may be "" */
  int line;
  const char *start_name;
  int start;           /* its index; -1: no such node (check says so) */
  int64_t deadline_us; /* from the start; -1: none */
  int64_t busy_limit;  /* immediate steps in a row; 0: none */
  int compensate;      /* when it fails */
  int can_receive;     /* has waits, tasks, calls, eachs or cancel_on */
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
  /* memory */
  const pawl_alloc *alloc;
  struct pawl_arena *arena;
} pawl_def;

/* Durations are at most that long, so that adding one to a time of today
 * cannot overflow; lua/pawl/duration.lua has the same limit. */
#define PAWL_MAX_DURATION_US (INT64_C(365250) * 86400 * 1000000)

/* Reads a graph. Does not look whether it makes sense: pawl_def_check does.
 * Fields it does not know are left alone. PAWL_DEFINITION; `where` =
 * "file:line". Copies everything. */
pawl_code pawl_def_new(const char *file, pawl_str graph, pawl_str source,
                       pawl_str bundle, const pawl_alloc *alloc,
                       pawl_def **out, pawl_error *err);
void pawl_def_free(pawl_def *def);

/* What a workflow's code is: dotted words of letters, digits, '_' and '-', at
 * most 200 bytes. lua/pawl/workflow.lua has the same rule. */
#define PAWL_CODE_RULE                                                \
  "dotted words of letters, digits, '_' and '-', at most 200 bytes: " \
  "\"order.fulfil\""
int pawl_def_is_code(const char *code);
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
 * leads back to it, and nowhere else. The first problem is the error: message
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

/* Index of a node by name; -1. */
int pawl_def_node(const pawl_def *def, const char *name, size_t len);
/* The same; *at is where it may be, and then where it is. */
int pawl_def_node_at(const pawl_def *def, const char *name, int *at);
/* Target of a node's transition; NULL/"" for a single next; -1: not one. */
int pawl_node_next(const pawl_node *node, const char *name, size_t len);
/* The outermost each in whose branch a node lies; -1: none, or no memory. */
int pawl_def_each_around(const pawl_def *def, int node);
/* Where an error code is routed; -1: nowhere. */
int pawl_node_on_error(const pawl_node *node, const char *code);
/* The name of `names` nearest to `name`, or NULL when none is near. */
const char *pawl_nearest(const char *name, const char *const *names, int n);

#endif
