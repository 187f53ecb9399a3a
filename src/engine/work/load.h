/* engine/work/load.h: what held instances need beside their row.
 *
 * Layer    engine/work: above slots, offers and mail.
 * Keeps    N6 of slots.h: who was told to look has looked when it is through.
 * Errors   an instance whose rows make no sense is logged and let go, and its
 *          lease left to end; what is returned is the store's. */
#ifndef PAWL_ENGINE_WORK_LOAD_H
#define PAWL_ENGINE_WORK_LOAD_H

#include "slots.h"

/* Rows of instance_load into the slots held under `lease`. */
pawl_code pawl_load_rows(pawl_engine *e, const pawl_id *lease,
                         const pawl_rows *rows, pawl_error *err);
/* What READY slots need beside their row, by need: tokens that have rows of
 * their own, the inbox (latch up, or `look`), events waiting for the key of a
 * wait (`look`, and whenever the slot was just loaded), items or results of an
 * each, what compensation undoes. Clears `look`. */
pawl_code pawl_load_more(pawl_engine *e, pawl_error *err);

#endif
