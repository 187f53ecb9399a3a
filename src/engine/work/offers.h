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
/* The definition of a slot that was just loaded, its letters included. One
 * that cannot run here is marked, to be given back. */
pawl_code pawl_offers_definition(pawl_engine *e, pawl_held *h,
                                 pawl_error *err);
/* Whatever was seen of the agenda is not so now. */
void pawl_offers_forget(pawl_engine *e);

#endif
