/* engine/work/breaks.h: the breakpoints that are set, as decisions are told of
 * them.
 *
 * Every claim shows how often they have changed; where that is another number
 * than the one they were read at, they are read before anything runs. Who holds
 * an instance meanwhile finds a letter in its inbox (rules/decision.h, PAWL_HEED):
 * he has them read with that, before its next step.
 *
 * Layer    engine/work: above versions.
 * Keeps    V8 where none was ever set, nothing is read, and nothing asked. */
#ifndef PAWL_ENGINE_WORK_BREAKS_H
#define PAWL_ENGINE_WORK_BREAKS_H

#include "slots.h"

/* As a claim has shown; null: 0. */
static inline void pawl_breaks_saw(pawl_engine *e, int64_t changes) {
  if (changes != e->breaks_read) e->breaks_due = changes;
}
/* Letters have come, one of which may say so. */
void pawl_breaks_heard(pawl_engine *e, const pawl_held *h);
/* Reads them, if that is due. */
pawl_code pawl_breaks_load(pawl_engine *e, pawl_error *err);
void pawl_breaks_forget(pawl_engine *e);

/* pawl_world's. */
int pawl_breaks_stop(void *ud, pawl_decision *d, const pawl_token *t,
                     const pawl_node *node, pawl_stop *stop, pawl_error *err);

#endif
