/* engine/work/await.h: handlers that wait.
 *
 *   flight.c   a slot's handlers begin to wait, and are ended where they stand
 *   await.c    who can go on, who must, and for how long the engine may sleep
 *
 * A second turn buys that a hundred handlers wait for others at one time, in
 * one thread. What it ends in goes the way of a step that was over in its
 * first, and leaves the same rows (await_spec.lua).
 *
 * Layer    engine/work: flight.c above host, await.c above claim.
 * Keeps    N4 and N5 of slots.h.
 * Time     by a clock that only goes up, save under a virtual one: there as
 *          much as passes by that, whatever it is set to (config.passed). */
#ifndef PAWL_ENGINE_WORK_AWAIT_H
#define PAWL_ENGINE_WORK_AWAIT_H

#include "slots.h"

#define PAWL_AWAIT_LOOK_US (PAWL_SECOND / 5) /* for requests to cancel */

/* ---- flight.c: beginning and ending ---- */

/* Time for waiting. */
int64_t pawl_await_now(const pawl_engine *e);
/* Is there a place for one more that waits, of this slot? */
int pawl_await_has_place(const pawl_engine *e, const pawl_held *h);
/* Are its handlers among those that have a share of the places together: of
 * limited definitions, as far as they may wait at all? */
int pawl_await_has_share(const pawl_def *def);
/* Has none of its handlers waited yet, so that they run also while others have
 * all places? */
int pawl_await_needs_none(const pawl_def *def);
int pawl_await_is_full(const pawl_engine *e);
/* Is that share in use, or are all places, and this slot's definition one that
 * wants some? */
int pawl_await_is_held_up(const pawl_engine *e, const pawl_held *h);
/* Is so much of it free that others of them are to be claimed? */
int pawl_await_lets_limited(const pawl_engine *e);
/* The slot's handler at hand waits for what its run says, from now on. */
void pawl_await_begin(pawl_engine *e, pawl_held *h, pawl_run *run);
/* It waits no more, and is at hand; its run is the caller's. */
pawl_run *pawl_await_take(pawl_engine *e, pawl_flight *f);
/* Ends all of a slot where they stand. */
void pawl_await_abandon(pawl_engine *e, pawl_held *h);
void pawl_await_abandon_all(pawl_engine *e);
/* After a commit: those whose tokens stand there no longer go. */
void pawl_await_check(pawl_engine *e, pawl_held *h);
/* Does a handler of this token wait? */
int pawl_await_is_aloft(const pawl_held *h, const pawl_token *t);

/* ---- await.c: in between ---- */

/* Are the instances still ours, and is one to be cancelled? Now and then. */
pawl_code pawl_await_look(pawl_engine *e, pawl_error *err);
/* Goes on with those that can. *ran: how many. */
void pawl_await_poll(pawl_engine *e, int64_t deadline_mono, int *ran);
/* N3: does nothing keep it from running? Others wait for one that was taken
 * over, unless that rests. */
int pawl_await_may_go_on(const pawl_engine *e, const pawl_held *h);
/* Is there something to be decided beside those of the slot? One that rests is
 * called for that. */
int pawl_await_beside(pawl_engine *e, const pawl_held *h);
/* N3: when the one that was taken over has waited for long, and waits on, by
 * the engine's time; PAWL_NEVER: it rests, or goes on soon. */
int64_t pawl_await_rests_at(pawl_engine *e);
/* It rests from now on: what it asks again and again is asked less often. */
void pawl_await_rest(pawl_engine *e);
/* When one of them must be asked again, or what is beside them looked at, by
 * the engine's time; descriptors are not counted. */
int64_t pawl_await_next(pawl_engine *e);
/* Their descriptors, into e->fds from the second on: how many with that. */
int pawl_await_fds(pawl_engine *e);
/* How many wait for more than a time. */
int pawl_await_outside(pawl_engine *e);

#endif
