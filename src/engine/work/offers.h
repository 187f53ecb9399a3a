/* engine/work/offers.h: which versions are ours to run, and with which
 * definition.
 *
 * Layer    engine/work, above versions. */
#ifndef PAWL_ENGINE_WORK_OFFERS_H
#define PAWL_ENGINE_WORK_OFFERS_H

#include "slots.h"

/* Rows of agenda_offers: is any of it ours to run? Then e->fresh_ready says so,
 * or e->suspect_ready. */
pawl_code pawl_offers_take(pawl_engine *e, const pawl_rows *rows,
                           pawl_error *err);
/* Is it ours, and to be claimed now? What is of little trust is not, while
 * others of that wait in the places that they have: it is held up. Nor what
 * waits, while all places are in use: it is kept out. */
int pawl_offer_is_open(pawl_engine *e, const pawl_offer *r);
/* What was held up is ready again once there are places. */
void pawl_offers_let_in(pawl_engine *e);
/* The definition of a slot that was just loaded, its letters included. One
 * that cannot run here is marked, to be given back. */
pawl_code pawl_offers_definition(pawl_engine *e, pawl_held *h,
                                 pawl_error *err);
/* Whatever was seen of the agenda is not so now. */
void pawl_offers_forget(pawl_engine *e);

#endif
