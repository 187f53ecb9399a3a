/* Undos: what was done so far is taken back, or a part of it, and the token
 * goes on. What happens is compensate.c's. */

#include "../machine.h"

/* It stands there until its turn, as a step does. */
static pawl_code enter(pawl_decision *d, int k, const pawl_node *node, int *to,
                       pawl_buf *path, pawl_error *err) {
  (void)d, (void)k, (void)node, (void)to, (void)path, (void)err;
  return PAWL_OK;
}

const pawl_kind_rules pawl_kind_undo = {.enter = enter};
