/* rules/asked.h: what a wait's `match` has turned down while it waits there
 * ("asked" of its token's detail, a list of event ids). It is not asked about
 * the same event again, after a crash neither; a later wait is.
 *
 * An event that was turned down stays in the inbox, or among those that are
 * kept, so a look passes all of them before it comes to a new one: a token that
 * has turned down many reads as many at a time (mail.c), so that there are few
 * looks.
 *
 * Layer    rules: base and value only; for kinds/wait.c and untaken.c.
 *          engine/work/mail.c and engine/ask/explain.c read it. */
#ifndef PAWL_RULES_ASKED_H
#define PAWL_RULES_ASKED_H

#include "decide.h"

int pawl_asked_has(const pawl_token *t, pawl_str event_id);
int pawl_asked_count(const pawl_token *t);
/* Not there yet. Marks the token as changed. */
void pawl_asked_add(pawl_token *t, pawl_str event_id);
void pawl_asked_clear(pawl_token *t);

/* To ask about many: in order, borrowed from the token as long as it does not
 * change. */
typedef struct pawl_asked {
  const pawl_alloc *alloc;
  pawl_str *at; /* JSON strings */
  int n;
} pawl_asked;

pawl_code pawl_asked_read(const pawl_token *t, pawl_asked *out,
                          pawl_error *err);
/* Without memory to tell it has not, and is asked again. */
int pawl_asked_in(const pawl_asked *asked, const pawl_token *t,
                  pawl_str event_id);
void pawl_asked_free(pawl_asked *asked);

#endif
