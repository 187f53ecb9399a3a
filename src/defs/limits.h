/* defs/limits.h: the words for what a definition of limited trust may use.
 *
 * Layer    defs: who says it is the engine (common/trust.h), who sees to it the
 *          host (meter.h). */
#ifndef PAWL_DEFS_LIMITS_H
#define PAWL_DEFS_LIMITS_H

#include "../base/buf.h"

/* X(name, its word): what instances of one workflow may do in one minute, all
 * of them together, whoever runs them; the store counts it. */
/* clang-format off */
#define PAWL_QUOTAS(X)                                               \
  X(STARTS, "starts") /* instances: ctx.start, call, each */         \
  X(TIMERS, "timers") /* tokens that come to a timer */              \
  X(EVENTS, "events") /* taken by its waits */                       \
  X(EMITS, "emits")                                                  \
  X(SIGNALS, "signals") /* of ctx.signal */                          \
  X(LOGS, "logs")     /* lines of ctx.log and print */
/* clang-format on */
typedef enum pawl_quota {
#define PAWL_QUOTA_ENUM(name, text) PAWL_QUOTA_##name,
  PAWL_QUOTAS(PAWL_QUOTA_ENUM)
#undef PAWL_QUOTA_ENUM
      PAWL_NQUOTAS
} pawl_quota;

/* X(name, its word): what one instance may have at one time. */
/* clang-format off */
#define PAWL_BOUNDS(X)         \
  X(VARIABLES, "variables")    \
  X(BYTES, "bytes") /* of these */ \
  X(TOKENS, "tokens")            \
  X(ANCESTORS, "ancestors") /* that began each other, down to it */
/* clang-format on */
typedef enum pawl_bound {
#define PAWL_BOUND_ENUM(name, text) PAWL_BOUND_##name,
  PAWL_BOUNDS(PAWL_BOUND_ENUM)
#undef PAWL_BOUND_ENUM
      PAWL_NBOUNDS
} pawl_bound;

/* What is granted by its name, as lists of patterns, "mod.*,quest.one"; "":
 * nothing. */
/* clang-format off */
#define PAWL_GRANTS(X)                                  \
  X(start)  /* codes that it may start */               \
  X(signal) /* names of the events that it may send */  \
  X(host)   /* functions of the program's */
/* clang-format on */

/* What a definition of limited trust may use and do. */
typedef struct pawl_limits {
  int64_t instructions, time_us; /* of one handler, and of a load */
  int64_t wait_us;               /* of a handler, with all that it waits */
  size_t memory;                 /* bytes of its Lua state */
  int effects; /* events, notes, starts, attributes, log lines */
  int64_t per_minute[PAWL_NQUOTAS], per_instance[PAWL_NBOUNDS];
  int db, await; /* granted: ctx.db, ctx.await */
#define PAWL_LIMITS_GRANT(name) const char *name;
  PAWL_GRANTS(PAWL_LIMITS_GRANT)
#undef PAWL_LIMITS_GRANT
  int is_isolated;    /* it runs in a process of its own: */
  const char *helper; /* the program that is this; "" or NULL: found */
} pawl_limits;

/* The texts of these lists. */
typedef struct pawl_granted {
#define PAWL_GRANTED_LIST(name) pawl_buf name;
  PAWL_GRANTS(PAWL_GRANTED_LIST)
#undef PAWL_GRANTED_LIST
} pawl_granted;
void pawl_granted_init(pawl_granted *g, const pawl_alloc *alloc);
/* Limits that have these lists as theirs, as long as they are there. */
void pawl_granted_lend(const pawl_granted *g, pawl_limits *l);
/* Keeps copies of l's lists, and has l borrow those. 0: no memory. */
int pawl_granted_keep(pawl_granted *g, pawl_limits *l);
void pawl_granted_deinit(pawl_granted *g);

const char *pawl_quota_name(pawl_quota quota);
const char *pawl_bound_name(pawl_bound bound);
/* Is the name one of the list, "mod.*,quest.one"? "" has none. */
int pawl_names_match(const char *list, const char *name);

#endif
