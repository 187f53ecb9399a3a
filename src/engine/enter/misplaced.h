/* engine/enter/misplaced.h: does an instance that comes stand where its
 * definition has a place for it?
 *
 * A store that has the version may have it as another revision than the one
 * that the instance ran by, with other nodes. What stands at none of those
 * would fail as soon as a worker looks.
 *
 * Layer    engine/enter; import.c, inside its transaction, once the rows are
 *          there.
 * Owns     pawl_misplaced keeps the last definition, for the next instance. */
#ifndef PAWL_ENGINE_ENTER_MISPLACED_H
#define PAWL_ENGINE_ENTER_MISPLACED_H

#include "../../base/id.h"
#include "../../defs/def.h"

typedef struct pawl_misplaced {
  pawl_def *def; /* NULL: none was needed yet */
  int32_t token; /* which one it is, when one is */
} pawl_misplaced;

void pawl_misplaced_deinit(pawl_misplaced *m);
/* PAWL_INVALID, with the column as `where`: a live token stands at a node, or
 * in a fork, that the stored definition has not, or waits where nothing does;
 * or its scope is none of that instance.
 * One whose workflow the store has not is not looked at. */
pawl_code pawl_misplaced_check(pawl_engine *e, const pawl_id *id,
                               pawl_misplaced *m, pawl_error *err);

#endif
