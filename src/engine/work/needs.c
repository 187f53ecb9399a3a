/* Who needs its inbox, and where a token stands. */
#include "needs.h"

int pawl_needs_inbox(const pawl_held *h) {
  if (!pawl_needs_look(h)) return 0;
  if (h->look) return 1;
  if (h->latch || pawl_needs_tokens(h)) return 1;
  if (!h->d.state.visit && h->d.commits)
    return 1; /* no token could note its mail */
  for (int k = 0; k < h->d.state.tokens.n; k++)
    if (pawl_detail_of(&h->d.state.tokens.at[k])->has) return 1;
  return 0;
}

const pawl_node *pawl_held_node_of(const pawl_held *h, const pawl_token *t) {
  int at = h->d.def && t->node
               ? pawl_def_node(h->d.def, t->node, strlen(t->node))
               : -1;
  return at < 0 ? NULL : &h->d.def->nodes[at];
}
