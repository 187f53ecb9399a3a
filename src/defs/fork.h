/* defs/fork.h: where tokens can be, before any is there.
 *
 * A token's place is a node and its stack: the forks it is inside of, from the
 * outermost, each with the branch it took. A fork pushes, and an `each` over
 * branches; what arrives at an `each` with that on top ends its item. A join
 * pops down to what all stacks that arrive at it have in common:
 *
 *   split -+- ship ------------+- close      at close: [split.ship],
 *          +- bill - more -+- a -+              [split.bill, more.a],
 *                          +- b -+              [split.bill, more.b]
 *
 * have nothing in common, so that close ends split, with all inside it; its
 * join_depth is 0. What arrives with just the common part (a way round the
 * fork) passes the join as if it were not there.
 *
 * A join may gather a part: a and b of a fork meet at J, and J's token meets c
 * at K. J's token then stays inside the fork, as a branch of its own
 * (join_stays), else K would not know that it belongs to c. That is so when
 * another token of the fork can come to K without J, K can be reached from J
 * without the fork, and K ends that same fork.
 *
 * Depths depend on what arrives, and that on the depths of the joins before.
 * So tokens are walked up to the joins whose depth is not known; then the
 * joins that no other of these leads to are given theirs, and the walk goes
 * on. When more arrives at a join (round a loop) and its depth falls, what was
 * found after it is forgotten, and the walk begins again.
 *
 * Layer    defs; private to check.c. */
#ifndef PAWL_DEFS_FORK_H
#define PAWL_DEFS_FORK_H

#include "def.h"

/* Everything about forks, joins and `each` that the description above can
 * tell, and `meets`. The graph has passed all other checks. */
pawl_code pawl_fork_check(const pawl_def *def, pawl_error *err);

#endif
