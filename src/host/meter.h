/* host/meter.h: what a state of limited trust may use, and what it has used.
 *
 * A limited state's allocator is its meter. The meter counts instructions (by
 * a hook), what is allocated, and time; it ends the handler with an error of
 * code "limit" that no script can catch.
 *
 * Layer    of the host; below everything that such a state calls. What looks at
 *          it and raises is toll.h.
 * Limits   hold from pawl_meter_begin to pawl_meter_end, for all that Lua does
 *          in between. Memory is the state's as a whole.
 * Keeps    H8 a script is stopped before an allocation is refused: over the
 *             soft limit the hook stops it with its next instruction, and what
 *             allocates much at once asks first (pawl_toll_need). Lua 5.4.4
 *             may crash where an allocation of a table is refused; the hard
 *             limit is so far above that one instruction does not get there,
 *             save one that joins strings, which is safe.
 *          H9 a limit that was met stays met until pawl_meter_end: the hook
 *             raises again with each instruction, and whatever catches errors
 *             for scripts lets this one through.
 *          H10 what a C function does in a loop is paid for by
 *             pawl_toll_spend before it is done, or piece by piece.
 *          H14 what one instruction goes through without asking - it compares
 *             texts, reads a number out of one, passes on a stack of values,
 *             looks for the next of a table that was emptied - is no longer
 *             than the largest block there is. The longer that, the sooner the
 *             hook looks again (pawl_meter_weight).
 *          H15 once the handler has ended that met a limit, nothing of its script
 *             runs in that state any more, be it to close a variable: the state
 *             is closed at once, and handlers that wait in it are lost. */
#ifndef PAWL_HOST_METER_H
#define PAWL_HOST_METER_H

#include <lua.h>

#include "host.h"

typedef enum pawl_limit {
  PAWL_WITHIN, /* none was met */
  PAWL_LIMIT_INSTRUCTIONS,
  PAWL_LIMIT_TIME,
  PAWL_LIMIT_MEMORY,
  PAWL_LIMIT_EFFECTS,  /* what a handler leaves behind */
  PAWL_LIMIT_DEPTH,    /* coroutines within coroutines */
  PAWL_LIMIT_SHORT,    /* not its own: the engine has no more memory */
  PAWL_LIMIT_INTERRUPT /* nor this: the engine is interrupted */
} pawl_limit;

enum {
  PAWL_CHURN_MOST = 1 << 20,    /* bytes between two looks */
  PAWL_METER_STEP = 100,        /* instructions between two hooks: how often is
                                  free */
  PAWL_METER_CLOCK_EVERY = 1000 /* between two looks at the clock */
};

typedef struct pawl_meter {
  pawl_alloc alloc;
  pawl_ration *ration;             /* the engine's; NULL: none */
  const volatile int *interrupted; /* while a handler runs, or a file loads;
                                      else NULL */
  int heard;                       /* of that, before the file began to */
  const pawl_limits *limits;
  pawl_host *host;    /* whose it is */
  lua_Hook hook;      /* toll.c's, which looks at it */
  lua_State *running; /* the thread that it is set on when it matters */
  size_t bytes;       /* allocated now */
  size_t churn;       /* allocated since it was looked */
  size_t text, block; /* H14: the largest text, and block, there has been; no
                         more than is allocated */
  int depth;          /* pawl_meter_begin within one another; 0: unlimited */
  int threads;        /* coroutines that run within one another */
  pawl_limit met;     /* H9 */
  int64_t left;       /* instructions */
  int64_t until_us;   /* by pawl_clock_mono */
  int unlooked;       /* instructions since the clock was asked */
  int effects;        /* that may still be */
} pawl_meter;

/* What is left of a handler's share while it waits. */
typedef struct pawl_share {
  int64_t left, us;
  int effects;
} pawl_share;

/* A lua_Alloc; ud: the meter. */
void *pawl_meter_alloc(void *ud, void *ptr, size_t osize, size_t nsize);
/* The meter of this state; NULL: it has none. */
pawl_meter *pawl_meter_of(lua_State *L);

/* A share of its own; or *share, of a handler that goes on. */
void pawl_meter_begin(pawl_meter *m, lua_State *L, const pawl_share *share);
void pawl_meter_end(pawl_meter *m);
void pawl_meter_keep(const pawl_meter *m, pawl_share *share);

/* For how many instructions one may stand. */
int pawl_meter_weight(const pawl_meter *m);
/* After so many instructions the hook looks. */
int pawl_meter_step(const pawl_meter *m);
/* Sees to it that the hook of this thread, which is about to run, does so. */
void pawl_meter_watch(const pawl_meter *m, lua_State *L);

/* Has the engine little left, whatever this state has used? */
int pawl_meter_is_short(const pawl_meter *m);

/* Is what runs to stop, as the engine is interrupted? */
static inline int pawl_meter_is_interrupted(const pawl_meter *m) {
  return m->interrupted && *m->interrupted > m->heard;
}
/* Was what it met not its own doing? Then it is tried again. */
int pawl_meter_is_innocent(const pawl_meter *m);

/* What the limit that was met says. */
pawl_code pawl_meter_fail(const pawl_meter *m, pawl_error *err);

#endif
