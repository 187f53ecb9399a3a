/* rules/order.h: who came first, when several things are found at once.
 *
 * An instance that was not looked at for a while, because its workers were
 * down or busy, finds letters and times that came one after the other. What
 * follows from each must be what would have followed in time:
 *
 *   O1 letters are taken in the order in which they were received, and before
 *      each of them the times that were due until then, in that order. A
 *      join is settled after each; among more than a hundred tokens only one
 *      that does not wait for all, or is inside a fork that may lead to such a
 *      one. What interrupts a fork or an each waits for what came before inside
 *      (O9, interrupt.c); what came later, for what is under way since before
 *      (O10).
 *   O2 a token that was set going keeps when that happened ("at" of its
 *      detail): a letter's time of receipt, a time's due time. Not one that is
 *      alone, with no later letter at hand, and no deadline that has passed:
 *      nobody can come before it.
 *      It passes it on where it forks, and where a join goes on from it; an
 *      each has the latest of its items that have ended.
 *   O3 of the active tokens only those of the earliest such time take a step,
 *      until they wait, as may their handlers, end, or are to be tried again
 *      later: what a message
 *      led to does not overtake what an earlier timer led to on its way to a
 *      join. Tokens without such a time come after them.
 *   O4 a branch that takes more than 100 steps without waiting loses its place:
 *      it may never end.
 *
 * Layer    rules, as decide.h. */
#ifndef PAWL_RULES_ORDER_H
#define PAWL_RULES_ORDER_H

#include "decide.h"

enum {
  PAWL_ORDER_ROUNDS = 100, /* O4, O10: steps in one claim */
  PAWL_ORDER_TOKENS =
      100 /* O1, O10: among more, who was first costs too much */
};

/* What happened at that time sets the token going (O2). To be called before it
 * leaves its node. */
void pawl_order_note(pawl_decision *d, int k, int64_t happened_us);
/* Token `to`, at an each, may go on with what the other has brought. */
void pawl_order_pass(pawl_decision *d, int from, int to);
/* The earliest time among the tokens that are due (O3); PAWL_NEVER: there is
 * none, and all may take their step. */
int64_t pawl_order_first(const pawl_decision *d,
                         const pawl_token_list *tokens);
/* When what set it going happened (O2); 0: it has no place. */
int64_t pawl_order_place(const pawl_token *t);
/* May this token take its step, when the earliest is `first`? */
int pawl_order_may_run(const pawl_token *t, int64_t first);
/* Was it set going by something before that time? */
int pawl_order_is_before(const pawl_token *t, int64_t us);
/* What waits has no place any more. */
void pawl_order_forget(pawl_decision *d);

#endif
