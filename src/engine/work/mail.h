/* engine/work/mail.h: what has come in for instances that are held: letters of
 * their inboxes, and events kept for the keys they wait for, in pages.
 *
 * An inbox may hold a hundred thousand events; what one look at it reads, and
 * so what each of them costs, does not grow with it.
 *
 *   inbox_load   the first requests, as many of people's answers and of
 *                children's results, and the first events
 *   inbox_find   where that was a full page of events: of each wait and each
 *                rule, the first that it wants
 *   event_find   of those with a key, what is kept, from its place on (kept.h)
 *
 * Layer    engine/work, used by load.c alone.
 * Keeps    M1 letters at hand have no gaps: what was received by h->read_us
 *             and is wanted was read, and of what came after that requests
 *             alone are at hand. No time later than that runs out.
 *          M2 requests never wait behind a page of anything else, nor does an
 *             event that a rule makes the instance's end. Behind a page of
 *             requests wait those that came later, and what M1 says.
 *          M3 where read_us is set (pawl_is_behind), whoever decides looks
 *             again; of what is suspended, when the decision did anything: what
 *             it is not to take may fill the pages. */
#ifndef PAWL_ENGINE_WORK_MAIL_H
#define PAWL_ENGINE_WORK_MAIL_H

#include "slots.h"

/* Sends inbox_load into the unit that is open, for those of a shard that want
 * it. */
pawl_code pawl_mail_ask(pawl_engine *e, int shard, int *at, pawl_error *err);
/* Its rows become letters. */
pawl_code pawl_mail_take(pawl_engine *e, const pawl_rows *rows,
                         pawl_error *err);
/* The rest, once tokens, definitions and rules are known; all in one order. */
pawl_code pawl_mail_search(pawl_engine *e, pawl_error *err);

#endif
