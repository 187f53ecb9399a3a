/* engine/work/large_vars.h: variables too large to be written whole at every
 * step.
 *
 * Layer    engine/work: part of a commit; see commit.c.
 * Keeps    V1 small variables stand in the instance's row, with 0 parts.
 *          V2 large ones stand in rows of `variable`, and the row's column is
 *             null: each member of 1 KB and more in a row of its own, the
 *             others dealt by a hash of their names among a number of rows
 *             that only a much larger or smaller object changes.
 *          V3 so a member's row is known from the object alone, and a commit
 *             writes the rows whose members it changed. */
#ifndef PAWL_ENGINE_WORK_LARGE_VARS_H
#define PAWL_ENGINE_WORK_LARGE_VARS_H

#include "batch.h"

/* How many rows the small members of these variables are dealt among; 0: all
 * stand in the instance's row. `now`: how many they are among so far. */
int pawl_parts_count(int now, pawl_str vars);
/* The rows that the plans of a batch have changed. */
pawl_code pawl_parts_send(pawl_engine *e, pawl_held **list, int n,
                          pawl_error *err);

#endif
