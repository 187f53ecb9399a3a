/* engine/act/pace.h: housekeeping that keeps out of others' way.
 *
 * How much at once: what a transaction takes away is so much that it holds its
 * locks for about PAWL_UNIT_US, by what those before it took; in a tick that
 * has an end no more than fits in it (e->piece_rows). How much of the
 * time: behind its work a sweep rests, so that work is a share of the whole.
 * Beside instances that begin and end that is BUSY_SHARE of a hundred, in a
 * store where nothing does all of it, unless somebody has said.
 *
 * Layer    engine/act.
 * Time     by the monotonic clock. What a unit waits for others' locks until it
 *          begins is not its work, where the store tells (SQLite).
 * Keeps    A2 nobody rests in a transaction, nor between what was read and the
 *             transaction that goes by it.
 *          A3 nobody rests behind the last step of a sweep.
 *          A4 a unit that finds less than half of what it may take makes the
 *             next no larger. */
#ifndef PAWL_ENGINE_ACT_PACE_H
#define PAWL_ENGINE_ACT_PACE_H

#include "../common/engine_struct.h"

#define PAWL_UNIT_US (12 * 1000)

/* How many rows a unit of these takes now. */
int pawl_pace_rows(const pawl_engine *e, pawl_paced of);
/* A unit that takes rows away: pawl_store_begin, and its locks' time begins.
 * What a sweep takes goes in SOON units: where a machine that goes down forgets
 * the last of them, the rows are there again, and past their time as before. */
pawl_code pawl_pace_begin(pawl_engine *e, int unit, pawl_error *err);
/* pawl_store_commit; it took n of these. e->longest_us is of all units the
 * longest. FULL, BUSY: the next takes half, as it may have room. */
pawl_code pawl_pace_commit(pawl_engine *e, pawl_paced of, int64_t n,
                           pawl_error *err);

/* Of one sweep. */
struct pawl_pace {
  int asked;          /* of a hundred; 0: as the store is busy */
  int share;          /* now */
  int64_t look_mono;  /* is it busy? not asked before */
  int64_t since_mono; /* all since then is work */
  int64_t waited_us;  /* but for this */
  int64_t rested_us;
  pawl_code (*keep)(void *ud, pawl_error *err); /* called while it rests, and
                                                   where it need not */
  void *ud;
};

/* Until pawl_pace_leave e's sweep rests, as asked. */
void pawl_pace_enter(pawl_engine *e, struct pawl_pace *p);
void pawl_pace_leave(pawl_engine *e);
/* Where nothing is open: rests for what was done since the last rest. Without a
 * pace it says no more than that a round begins (pawl_store_call).
 * pawl_interrupt ends it. */
pawl_code pawl_pace_rest(pawl_engine *e, pawl_error *err);
/* Is what is under way to be left half-way? Only who has a pace can be asked
 * to. */
int pawl_pace_stops(const pawl_engine *e);

#endif
