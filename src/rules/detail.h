/* rules/detail.h: what a token waits for, and what led it here.
 *
 * Most tokens have nothing of it. A member is one line of the list below: what
 * copies, keeps, reads and writes it cannot forget it. In the store it is a
 * JSON object of those members that are there, under these names.
 *
 * Layer    rules: base and defs only; the text is read and written by value.
 * Owns     its buffers. It belongs to a token's slot and stays there when the
 *          token has none, so that nothing is allocated in steady state.
 * Errors   without memory a token is marked as `failed` (N7).
 * Keeps    Z1 a member that is not there is 0 or empty: who reads it need not
 *             ask for it first. */
#ifndef PAWL_RULES_DETAIL_H
#define PAWL_RULES_DETAIL_H

#include <stdint.h>

#include "../base/buf.h"

/* X(kind, name, stays, passed): one that `stays` is kept when its token moves
 * on; a new token has those of the one it comes from that are `passed` on.
 *
 *   NUMBER   int64_t
 *   FLAG     int64_t: 1
 *   TEXT     pawl_buf, plain; empty: null
 *   JSON     pawl_buf, as it is stored
 *   LEVELS   pawl_levels */
/* clang-format off */
#define PAWL_DETAILS(X)                                                      \
  X(LEVELS, up, 1, 1)    /* what was outside of each fork around it */       \
  X(NUMBER, at, 1, 1)    /* until it waits again: when what set it going     \
                            happened; see order.h */                         \
  X(NUMBER, found, 1, 1) /* when that was seen, where what ends the instance \
                            may have come in between (O11) */                \
  X(JSON, kept, 1, 1)    /* places among kept events; see kept.h */          \
  X(JSON, from, 1, 0)    /* [3,7]: rows of history before its next one, in   \
                            order */                                         \
  X(JSON, out, 1, 0)     /* of an item: what its last step gave */           \
  X(FLAG, guarded, 1, 0) /* the boundaries of its node stand beside it */    \
  X(NUMBER, host, 0, 0)  /* at a boundary: the token that it is beside, or   \
                            that forked */                                   \
  X(NUMBER, seq, 0, 0)   /* at a join: the row of its arrival */             \
  X(TEXT, key, 0, 0)     /* at a wait; empty: it asks for none */            \
  X(TEXT, moved, 0, 0)   /* the same of what moves its time */               \
  X(FLAG, takes_one, 0, 0) /* what others have taken is not for it */         \
  X(JSON, asked, 0, 0)   /* ["id",...]: events that its `match` has turned   \
                            down; see asked.h */                             \
  X(NUMBER, asks, 0, 0)  /* at a wait for a condition: pawl_asks, in token.h \
                            */                                               \
  X(NUMBER, begun, 0, 0) /* when it began to wait: at a task, and where no   \
                            limit tells */                                   \
  X(NUMBER, since, 0, 0) /* it waited before it was moved to another         \
                            version, and is to be entered there as if from   \
                            then on */                                       \
  X(NUMBER, limit, 0, 0) /* how long it waits in this visit, as a handler    \
                            has said; -1: for ever */                        \
  X(NUMBER, within, 0, 0) /* at a task: the same of when it is due */        \
  X(NUMBER, due, 0, 0)   /* at a task */                                     \
  X(FLAG, late, 0, 0)    /* it is overdue, and that was dealt with */        \
  X(TEXT, child, 0, 0)   /* at a call: its id */                             \
  X(NUMBER, total, 0, 0) /* at an each, counts of items: all, */             \
  X(NUMBER, next, 0, 0)  /* those that have begun, */                        \
  X(NUMBER, live, 0, 0)  /* those under way, */                              \
  X(NUMBER, done, 0, 0)  /* and those that ended well */                     \
  X(NUMBER, failed, 0, 0) /* or not */                                       \
  X(FLAG, results, 0, 0) /* none is waited for: what they gave is to be      \
                            read */                                          \
  X(JSON, options, 0, 0) /* of its children's starts */                      \
  X(FLAG, enough, 0, 0)  /* it ends before all of them have */               \
  X(JSON, sum, 0, 0)     /* what its `enough` keeps of those that have */    \
  X(TEXT, put_off, 0, 0) /* "since:code": the suspension of its workflow     \
                            whose length was added to its times */           \
  X(NUMBER, passed, 0, 0) /* of its attempts, those that failed for what      \
                            passes; see retry.c */                           \
  X(JSON, error, 1, 1)   /* where a failure has led: what that was, as         \
                            ctx.error has it; caught.c */                    \
  X(FLAG, mail, 0, 0)    /* its inbox holds events that its workflow has no  \
                            use for */                                       \
  X(JSON, halted, 0, 0)  /* it stands at a breakpoint: {"by","since", ...};  \
                            see breakpoint.c */                              \
  X(NUMBER, freed, 0, 0) /* the attempt into which it was let go on from     \
                            there */                                         \
  X(JSON, stepping, 1, 1) /* it halts before its next node: {"by","lasts"} */
/* clang-format on */

typedef enum pawl_detail_name {
#define PAWL_DETAIL_NAME(kind, name, stays, passed) PAWL_DETAIL_##name,
  PAWL_DETAILS(PAWL_DETAIL_NAME)
#undef PAWL_DETAIL_NAME
      PAWL_NDETAILS
} pawl_detail_name;

/* Sets of members: a bit for each. */
typedef uint64_t pawl_details;
#define PAWL_DETAIL_BIT(name) ((pawl_details)1 << PAWL_DETAIL_##name)
#define PAWL_DETAIL_STAY(kind, name, stays, passed) \
  | (pawl_details)(stays) << PAWL_DETAIL_##name
#define PAWL_DETAIL_PASS(kind, name, stays, passed) \
  | (pawl_details)(passed) << PAWL_DETAIL_##name
#define PAWL_DETAIL_STAYS ((pawl_details)0 PAWL_DETAILS(PAWL_DETAIL_STAY))
#define PAWL_DETAIL_PASSED ((pawl_details)0 PAWL_DETAILS(PAWL_DETAIL_PASS))
#define PAWL_DETAIL_ALL (~(pawl_details)0)
/* Those that end with a visit, also where a token is led through several nodes
 * at once and keeps all else. */
#define PAWL_DETAIL_OF_VISIT                                                  \
  (PAWL_DETAIL_BIT(passed) | PAWL_DETAIL_BIT(host) | PAWL_DETAIL_BIT(limit) | \
   PAWL_DETAIL_BIT(within) | PAWL_DETAIL_BIT(asks) |                          \
   PAWL_DETAIL_BIT(halted) | PAWL_DETAIL_BIT(freed))

/* The surroundings that a join restores, outermost first. */
typedef struct pawl_level {
  const char *fork, *branch; /* NULL: outside all forks */
  pawl_buf data;             /* JSON; empty: none */
} pawl_level;
typedef struct pawl_levels {
  pawl_level *at;
  int n, cap;
} pawl_levels;

typedef struct pawl_detail {
  pawl_details has; /* the set of those that are there */
#define PAWL_DETAIL_NUMBER(name) int64_t name;
#define PAWL_DETAIL_FLAG(name) int64_t name;
#define PAWL_DETAIL_TEXT(name) pawl_buf name;
#define PAWL_DETAIL_JSON(name) pawl_buf name;
#define PAWL_DETAIL_LEVELS(name) pawl_levels name;
#define PAWL_DETAIL_MEMBER(kind, name, stays, passed) PAWL_DETAIL_##kind(name)
  PAWL_DETAILS(PAWL_DETAIL_MEMBER)
  pawl_buf text; /* see pawl_detail_text */
} pawl_detail;

/* ---- read and written; pawl_detail_of in token.h ---- */

typedef struct pawl_token pawl_token;
typedef struct pawl_world pawl_world; /* decision.h */

extern const pawl_detail pawl_detail_none; /* without members */
/* NUMBER, FLAG; TEXT, JSON; any is taken out. The token has changed. */
void pawl_detail_set(pawl_token *t, pawl_detail_name m, int64_t n);
void pawl_detail_put(pawl_token *t, pawl_detail_name m, pawl_str text);
void pawl_detail_drop(pawl_token *t, pawl_detail_name m);
/* To be filled in by the caller: it counts as there, and nothing is marked.
 * NULL: out of memory. */
pawl_detail *pawl_detail_with(pawl_token *t, pawl_detail_name m);
/* One more level of `up`. */
void pawl_detail_level(pawl_token *t, const char *fork, const char *branch,
                       pawl_str data);

/* ---- as a whole ---- */

/* Takes out all but those of a set. */
void pawl_detail_keep(pawl_token *t, pawl_details set);
/* Those of a set that the other token has. */
void pawl_detail_copy(pawl_token *t, const pawl_token *from, pawl_details set);
int pawl_detail_same(const pawl_token *a, const pawl_token *b);
void pawl_detail_free(pawl_token *t);

/* As it is stored: read into a token that has none (0: out of memory), and
 * written, where it stays until it is written again; empty: null. */
int pawl_detail_read(const pawl_world *w, pawl_str json, pawl_token *t);
const pawl_buf *pawl_detail_text(const pawl_token *t);

#endif
