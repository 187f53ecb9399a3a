/* engine/enter/assign.h: an event goes to one of those that wait for it and of
 * which one takes it (`take = "one"`): thousands may wait for a key, and to
 * tell each of each event would cost their product.
 *
 * A subscription says whether its wait is told of each event (free null), or
 * is one of those: free, or not, as long as something was assigned to it that
 * it has not dealt with. Those that may turn an event down for what it holds
 * (`match`, `accepts`, `answer`) are told of each.
 *
 *   K6  an event that nobody has, and that is not expired, is assigned to one
 *       that has not dealt with it, or nobody was free when that was seen last.
 *   K7  who becomes free looks among what is kept after that is committed, as
 *       who begins to wait does (rule 5): what came while nobody was free is
 *       found so.
 *
 * Whoever it was assigned to may time out, be cancelled or suspended before it
 * decides, or have no worker. So an event that is assigned says since when,
 * until it has a taker; and after AGAIN, and then at intervals that double, up
 * to SELDOM, it is assigned to more of those that are free: by the process that
 * has done so last, at its next tick at that time, or by whoever does the
 * housekeeping. What went to several has one taker (K5).
 *
 * Layer    engine/enter, for signal.c and work. */
#ifndef PAWL_ENGINE_ENTER_ASSIGN_H
#define PAWL_ENGINE_ENTER_ASSIGN_H

#include "event.h"

/* One that is free, and its place in the order of waiting. */
typedef struct pawl_free_one {
  pawl_id instance;
  const pawl_buf *pattern; /* that it waits for: one of its event's */
  int64_t since_us;
  int32_t token;
  int shard, stands_still;
  int there; /* 0: nobody is free */
} pawl_free_one;

/* Where the answers will be. */
typedef struct pawl_free_asked {
  int named, wide;
} pawl_free_asked;

/* Who is free in a shard behind `last`, NULL: of all: asked for in a unit that
 * the caller has begun, behind the row and the copy of an event with a key,
 * and heard when that has been committed. *first: whoever comes first of what
 * it was, and who was found. */
pawl_code pawl_assign_ask(pawl_engine *e, const pawl_event *v, int shard,
                          const pawl_free_one *last, pawl_free_asked *at,
                          pawl_error *err);
void pawl_assign_hear(pawl_engine *e, const pawl_event *v, int shard,
                      const pawl_free_asked *at, pawl_free_one *first);

/* To `first`, the one that has waited longest of all shards, unless that is
 * suspended, carried away or not free any more; and then to the next. Repeated,
 * after an error, it may go to two. */
pawl_code pawl_assign(pawl_engine *e, pawl_event *v,
                      const pawl_free_one *first, pawl_error *err);

/* Those that were assigned AGAIN ago, in every shard: looks at and tells up to
 * `max`; the next call goes on. *did: how many. */
enum { PAWL_ASSIGN_MOST = 128 };
pawl_code pawl_assign_again(pawl_engine *e, int max, int *did,
                            pawl_error *err);

/* Somebody may have left some behind: it is to be called when there is time for
 * that, which nobody need wake for. */
void pawl_assign_look(pawl_engine *e);
/* Is it to be called? */
int pawl_assign_is_due(pawl_engine *e);

/* Somebody here has taken that tenant's event source ':' id. */
void pawl_assign_taken(pawl_engine *e, pawl_str tenant, pawl_str name);

/* By e's clock, when it is to be called next; PAWL_NEVER: nothing is under
 * way that this process has assigned. */
int64_t pawl_assign_next(const pawl_engine *e);

#endif
