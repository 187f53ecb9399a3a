/* defs/limits.h: the words for what a definition of limited trust may use.
 *
 * Layer    defs: who says it is the engine (common/trust.h), who sees to it the
 *          host (meter.h). */
#ifndef PAWL_DEFS_LIMITS_H
#define PAWL_DEFS_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* X(name, its word): what instances of one workflow may do in one minute, all
 * of them together, whoever runs them; the store counts it. */
/* clang-format off */
#define PAWL_QUOTAS(X)                                               \
  X(STARTS, "starts") /* instances: ctx.start, call, each */         \
  X(TIMERS, "timers") /* tokens that come to a timer */              \
  X(EVENTS, "events") /* taken by its waits */                       \
  X(EMITS, "emits")                                                  \
  X(LOGS, "logs")     /* lines of ctx.log and print */
/* clang-format on */
typedef enum pawl_quota {
#define PAWL_QUOTA_ENUM(name, text) PAWL_QUOTA_##name,
  PAWL_QUOTAS(PAWL_QUOTA_ENUM)
#undef PAWL_QUOTA_ENUM
      PAWL_NQUOTAS
} pawl_quota;

/* What a definition of limited trust may use and do. */
typedef struct pawl_limits {
  int64_t instructions, time_us; /* of one handler, and of a load */
  size_t memory;                 /* bytes of its Lua state */
  int effects; /* events, notes, starts, attributes, log lines */
  int64_t per_minute[PAWL_NQUOTAS];
  int db, await;     /* granted: ctx.db, ctx.await */
  const char *start; /* codes that it may start, "mod.*,quest.one"; "": none */
  const char *host; /* functions of the program's that it may call, likewise */
  int is_isolated;  /* it runs in a process of its own: */
  const char *helper; /* the program that is this; "" or NULL: found */
} pawl_limits;
const char *pawl_quota_name(pawl_quota quota);
/* Is the code one of the list, "mod.*,quest.one"? "" has none. */
int pawl_codes_match(const char *list, const char *code);

#endif
