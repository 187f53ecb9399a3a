/* Forks: one token for each branch. */
#include "../machine.h"

/* One token for each branch, which go on one after the other. */
static pawl_code enter(pawl_decision *d, int k, const pawl_node *node, int *to,
                       pawl_buf *path, pawl_error *err) {
  pawl_buf ways = {.alloc = d->alloc};
  pawl_str from;

  (void)to;
  MUST(pawl_tokens_bear(d, node->nnext - 1, err)); /* its own ends */
  for (int i = 0; i < node->nnext; i++) {
    const pawl_edge *edge = &node->next[node->order[i]];
    int child = pawl_token_branch(d, k, node->name, edge->name);
    if (child < 0) break;
    from = pawl_buf_str(&pawl_detail_of(pawl_tok(d, k))->from);
    if (from.len) /* straight from a join */
      pawl_detail_put(pawl_tok(d, child), PAWL_DETAIL_from, from);
    else
      pawl_record_leads(d, child);
    pawl_detail_copy(pawl_tok(d, child), pawl_tok(d, k), PAWL_DETAIL_BIT(out));
  }
  pawl_token_end(d, k, NULL);
  int first = d->plan.state.tokens.n - node->nnext;
  for (int i = 0; i < node->nnext && first >= 0; i++) {
    if (pawl_is_over(d)) break;
    if (!pawl_tok_live(d, first + i)) continue; /* a sibling ended it */
    pawl_buf_clear(&ways);
    pawl_go_to(d, first + i, node->next[node->order[i]].to, &ways);
    if (!path) continue;
    pawl_buf_addz(path, i ? ", " : " (");
    pawl_buf_adds(path, pawl_buf_str(&ways));
  }
  if (path && path->len) pawl_buf_addc(path, ')');
  pawl_buf_deinit(&ways);
  return PAWL_OK;
}

const pawl_kind_rules pawl_kind_fork = {.enter = enter};
