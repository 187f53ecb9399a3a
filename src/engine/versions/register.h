/* engine/versions/register.h: definitions that become the store's.
 *
 * An "auto" definition gets its number here: that of the newest version when
 * their contents are the same, else the next. Two that register at once meet
 * at the insert: one of them looks again, and finds the other's.
 *
 * Layer    engine/versions; register.c, deploy.c. */
#ifndef PAWL_ENGINE_VERSIONS_REGISTER_H
#define PAWL_ENGINE_VERSIONS_REGISTER_H

#include "../../host/host.h"
#include "../common/engine_struct.h"
#include "hotfix.h"

/* How often rivals are met before that is an error. */
enum { PAWL_REGISTER_TRIES = 5 };

typedef struct pawl_registering {
  const pawl_fix *fix; /* NULL: none */
  pawl_str by;         /* who registers it, when it is no fix */
  int keeps_number;    /* an "auto" one has the number that it had */
} pawl_registering;

typedef enum pawl_outcome {
  PAWL_OUTCOME_SAME,     /* it is there already, as it is */
  PAWL_OUTCOME_NEW,      /* there was no such version */
  PAWL_OUTCOME_REPLACED, /* the version has another revision now */
  PAWL_OUTCOME_RIVAL     /* another registers it now: roll back, try again */
} pawl_outcome;

/* What was loaded as a definition, checked; the functions stay l's. `version`:
 * the number of an "auto" one; 0: it has none yet. */
pawl_code pawl_loaded_def(pawl_engine *e, const pawl_loaded *l,
                          const pawl_trust *trust, int64_t version,
                          pawl_def **out, pawl_error *err);
void pawl_loaded_drop(pawl_engine *e, pawl_loaded *l);
/* Behind a load: an interrupt that has stopped it is over, unless a tick goes
 * on to its end by it. Returns `rc`. */
pawl_code pawl_load_heard(pawl_engine *e, pawl_code rc);

/* Inside an OPEN unit. PAWL_EXISTS: the version is in use, or was hot-fixed;
 * then, and with PAWL_LIMIT, the unit may go on. */
pawl_code pawl_register_one(pawl_engine *e, pawl_def *def,
                            const pawl_registering *r, pawl_outcome *out,
                            pawl_error *err);
/* PAWL_BUSY: they were met too often. */
pawl_code pawl_register_rivals(const pawl_def *def, pawl_error *err);

#endif
