/* Escalations as nodes: they tell whoever is around. What happens is
 * ../escalate.c's. */

#include "../machine.h"

/* It stands there until its turn, as a step does: what takes it may drop all
 * that is around, which who leads here has in hand. */
static pawl_code enter(pawl_decision *d, int k, const pawl_node *node, int *to,
                       pawl_buf *path, pawl_error *err) {
  (void)d, (void)k, (void)node, (void)to, (void)path, (void)err;
  return PAWL_OK;
}

const pawl_kind_rules pawl_kind_escalate = {.enter = enter};
