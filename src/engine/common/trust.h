/* engine/common/trust.h: how far a definition is trusted, as the host says.
 *
 * Layer    engine/common: above value and defs. */
#ifndef PAWL_ENGINE_COMMON_TRUST_H
#define PAWL_ENGINE_COMMON_TRUST_H

#include "../../defs/def.h"
#include "../../defs/limits.h"

/* As they are written, and stored beside a definition. */
typedef enum pawl_trust_level {
  PAWL_TRUST_TRUSTED,
  PAWL_TRUST_LIMITED,
  PAWL_TRUST_ISOLATED /* limited, in a process of its own */
} pawl_trust_level;

typedef struct pawl_trust {
  pawl_trust_level level; /* of what is loaded, and the most that what comes
                             from the store has */
  pawl_buf codes;       /* what a limited one may be called; empty: anything */
  pawl_buf author;      /* whose such a one is: codes that another has defined
                           are not his, */
  pawl_buf takes;       /* save these */
  pawl_limits limits;   /* of limited ones */
  pawl_limits isolated; /* the same, of isolated ones */
  pawl_granted granted; /* the lists of both */
  pawl_buf helper;      /* limits.helper */
  int names_tables;     /* limits.db is granted for these alone: */
  pawl_buf db_read, db_write; /* patterns; what is written may be read */
  pawl_buf grants;            /* what is granted, and how much, as JSON */
} pawl_trust;

/* The author where none is named. The host itself is none. */
#define PAWL_GUEST "guest"

/* `text`: NULL or "": trusted, "limited", "isolated", or a JSON object. */
pawl_code pawl_trust_read(pawl_trust *t, const char *text,
                          const pawl_alloc *alloc, pawl_error *err);
void pawl_trust_deinit(pawl_trust *t);
/* PAWL_UNSUPPORTED: it names tables, and the store cannot hold them to these. */
pawl_code pawl_trust_check_tables(const pawl_trust *t, int can_hold,
                                  pawl_error *err);
const char *pawl_trust_name(pawl_trust_level level);
/* What the store has beside a definition. */
pawl_trust_level pawl_trust_stored(pawl_str name);
/* Puts a limited definition into its bounds: what it makes the engine do of its
 * own accord, as trying again, is done no more often than bears. PAWL_LIMIT:
 * its code, or one that its graph starts, is not granted to it. */
pawl_code pawl_trust_apply(const pawl_trust *t, pawl_def *def,
                           pawl_error *err);
/* With what it is loaded; NULL: no limits. */
const pawl_limits *pawl_trust_limits(const pawl_trust *t,
                                     pawl_trust_level level);
/* How far a definition that was loaded is trusted. */
pawl_trust_level pawl_trust_of(const pawl_def *def);

#endif
