/* engine/act/standing.h: does an instance stand where a request can be for it?
 * Of what waits for a time, and of what has halted at a breakpoint.
 *
 * Who takes the letter asks the same of the tokens that it finds
 * (rules/requests.c): this is so that most refusals come with the call.
 *
 * Layer    engine/act: called by change.c. Nothing is read from the store. */
#ifndef PAWL_ENGINE_ACT_STANDING_H
#define PAWL_ENGINE_ACT_STANDING_H

#include "../common/engine_struct.h"
#include "../versions/crossing.h"

/* What is meant of an instance. */
typedef struct pawl_meant {
  const pawl_places *places; /* where its tokens stand */
  pawl_str nodes;            /* JSON: a list of names; at NULL: all */
  int64_t token;             /* 0: all */
} pawl_meant;

typedef enum pawl_has_time {
  PAWL_TIMELESS,
  PAWL_TIME_OF_CHILDREN, /* which are under way there: not unless it is named */
  PAWL_TIMED
} pawl_has_time;

/* Does any of it wait for a time? `begins`: it is to begin later. */
pawl_code pawl_standing_time(pawl_engine *e, const pawl_meant *m,
                             const pawl_def *def, int begins,
                             pawl_has_time *has, pawl_error *err);
/* How many tokens have halted; `steps`: or will before their next node. `which`
 * (emptied before): '"a" (token 2), "b" (token 3)'. */
pawl_code pawl_standing_halted(pawl_engine *e, const pawl_meant *m, int steps,
                               int *n, pawl_buf *which, pawl_error *err);

#endif
