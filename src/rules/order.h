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
 *      detail): a letter's time of receipt, a time's due time, when
 *      it was to be tried again. Not one that is
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
 *  O11 what ends the instance, its deadline or an event of `cancel_on`, comes
 *      behind what was set going before it and found no earlier than it: steps
 *      that would have been over by then. Those alone go on meanwhile. It ends
 *      what was found before, which took until then ("found" of the detail),
 *      what has no place to run, and after a hundred steps what goes round
 *      without waiting. What somebody set going who runs nothing is found when
 *      it runs.
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
/* What is noted from now on follows from what this token was set going by, and
 * was found with that; NULL: it is found now. */
void pawl_order_follow(pawl_decision *d, const pawl_token *t);
/* Token `to`, at an each, may go on with what the other has brought. */
void pawl_order_pass(pawl_decision *d, int from, int to);
/* The earliest time among the tokens that are due (O3), and may run (O11);
 * PAWL_NEVER: there is none, and all may take their step. */
int64_t pawl_order_first(const pawl_decision *d,
                         const pawl_token_list *tokens);
/* When what set it going happened (O2), or it is to be tried again; 0: it has
 * no place. */
int64_t pawl_order_place(const pawl_token *t);
/* May this token take its step, when the earliest is `first`? */
int pawl_order_may_run(const pawl_token *t, int64_t first);
/* Was it set going by something before that time? */
int pawl_order_is_before(const pawl_token *t, int64_t us);
/* Was it set going before that time, and found no earlier (O11)? */
int pawl_order_is_late(const pawl_token *t, int64_t us);
/* It is about to take a step, and what follows from that keeps its place. */
void pawl_order_enter(pawl_decision *d, int k);
void pawl_order_drop(pawl_token *t);
/* What waits has no place any more. */
void pawl_order_forget(pawl_decision *d);

#endif
