/* rules/kept.h: how far an instance has come among the events that are kept
 * for a key.
 *
 * Kept events stay for others when an instance has taken them. Its inbox knows
 * them again; a place spares it reading them all at each look. ("kept" of a
 * token's detail.)
 *
 *   K1 a place says of one pattern and one key: every event older than
 *      (at, came) that was written before `since` is known to the instance: it
 *      lies in its inbox, taken or not, or started it, or has expired. Older
 *      ones written since then are looked for too, as what is committed late
 *      may have been received early.
 *   K2 it is made from what the store says, not from what is about to be
 *      taken: so it is true whatever comes of the commit that stores it, and a
 *      lost one costs a longer look.
 *   K3 it is the instance's: its tokens pass it on where they fork and go on
 *      from joins, and it holds in any version. What a `match` turns down is
 *      not known, so a place never lies behind it. An inbox may have been
 *      cleared when its instance ended, so what runs again has no place.
 *   K4 a token has the last four, and makes one only where it passes at least
 *      PAWL_KEPT_MANY events: most never have one.
 *
 * Layer    rules, for engine/work/mail.c. */
#ifndef PAWL_RULES_KEPT_H
#define PAWL_RULES_KEPT_H

#include "decide.h"

#define PAWL_KEPT_MANY 16

typedef struct pawl_kept {
  int64_t at_us;
  pawl_id came;
  int64_t since; /* a writer's number: see `ord` of the table of events */
} pawl_kept;

/* -1, 0 or 1: the order of kept events. */
int pawl_kept_cmp(int64_t at_us, const pawl_id *came, const pawl_kept *place);
/* 0: it has none for them. */
int pawl_kept_get(const pawl_token *t, const char *event, pawl_str key,
                  pawl_kept *out);
/* Takes the place of that for the same. Not marked as a change of the token:
 * it is stored with the next. */
void pawl_kept_set(pawl_token *t, const char *event, pawl_str key,
                   const pawl_kept *place);

#endif
