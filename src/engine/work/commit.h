/* engine/work/commit.h: what commit.c and more.c share. Nobody else includes it.
 *
 * Layer    engine: parts of one batch; see commit.c for their order. */
#ifndef PAWL_ENGINE_WORK_COMMIT_H
#define PAWL_ENGINE_WORK_COMMIT_H

#include "../internal.h"

/* The plans of a batch, all of one shard. */
#define EACH(h)                  \
  for (int i_ = 0; i_ < n; i_++) \
    for (pawl_held *h = list[i_]; h; h = NULL)

/* Does it change the instance, or only when to look at it again? */
int pawl_plan_writes(const pawl_plan *p);
int pawl_plan_has(const pawl_plan *p, pawl_effect_kind kind);
/* Null where it is not given; where the text is empty, the time or the number
 * 0. */
void pawl_arg_given(pawl_args *a, int arg, const pawl_buf *b, int given);
void pawl_arg_buf(pawl_args *a, int arg, const pawl_buf *b);
void pawl_arg_when(pawl_args *a, int arg, int64_t us);
void pawl_arg_number(pawl_args *a, int arg, int64_t n);
/* The latch that must not have moved; null when it may. */
void pawl_arg_latch(pawl_args *a, int arg, const pawl_held *h);
/* Sends the statement when its columns have rows. */
pawl_code pawl_commit_send(pawl_engine *e, pawl_error *err);
/* The token that the instance's row holds; NULL: none. */
const pawl_token *pawl_token_folded(const pawl_tokens *tokens);

/* ---- more.c: nothing is sent for a plain sequence ---- */

/* The instance's seldom changed columns. */
pawl_code pawl_commit_more(pawl_engine *e, pawl_held **list, int n,
                           pawl_error *err);
pawl_code pawl_commit_tokens(pawl_engine *e, pawl_held **list, int n,
                             int64_t now, pawl_error *err);
pawl_code pawl_commit_effects(pawl_engine *e, pawl_held **list, int n,
                              int64_t now, pawl_error *err);
/* May anything be left that was meant for one that ends? */
int pawl_commit_leaves(const pawl_held *h);
/* What an ended instance leaves behind: nobody will come for it. */
pawl_code pawl_commit_ends(pawl_engine *e, pawl_held **list, int n,
                           int64_t now, pawl_error *err);

#endif
