/* How often an instance came to one node: ctx.visit. Visits are numbered over
 * all nodes, so those of one are counted, when a handler asks: the rows of
 * history that tell of a smaller number, what stands there, and what this
 * decision has brought there and is not stored yet. Attempts of one visit
 * share its number, so they see the same count. */
#include "internal.h"

/* Is this visit of the node the first that the plan tells of? */
static int is_first(const pawl_plan *p, const char *node, int64_t visit,
                    int until) {
  for (int i = 0; i < until && i < p->nrecords; i++)
    if (p->records[i].visit == visit && p->records[i].node &&
        !strcmp(p->records[i].node, node))
      return 0;
  for (int i = 0; i < until - p->nrecords; i++)
    if (p->tokens.at[i].visit == visit && p->tokens.at[i].node &&
        !strcmp(p->tokens.at[i].node, node))
      return 0;
  return 1;
}

/* Visits of this decision, which no row tells of. */
static int64_t count_planned(const pawl_held *h, const pawl_call *call) {
  const pawl_plan *p = &h->plan;
  int64_t n = 0;

  for (int i = 0; i < p->nrecords + p->tokens.n; i++) {
    int is_token = i >= p->nrecords;
    const pawl_token *t = is_token ? &p->tokens.at[i - p->nrecords] : NULL;
    const char *node = t ? t->node : p->records[i].node;
    int64_t visit = t ? t->visit : p->records[i].visit;
    if (visit > h->visit && visit < call->visit && node &&
        !strcmp(node, call->node) && is_first(p, node, visit, i))
      n++;
  }
  return n;
}

pawl_code pawl_count_visits(pawl_engine *e, const pawl_held *h,
                            const pawl_call *call, int64_t *out,
                            pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  *out = 1;
  if (call->visit <= 1) return PAWL_OK; /* it came nowhere before */
  *out += count_planned(h, call);
  if (!h->visit) return PAWL_OK; /* nothing of it is stored */
  pawl_args_begin(&e->args, PAWL_STMT_HISTORY_VISITS);
  pawl_arg_int(&e->args, PAWL_HISTORY_VISITS_SHARD, h->shard);
  pawl_arg_id(&e->args, PAWL_HISTORY_VISITS_ID, &h->id);
  pawl_arg_textz(&e->args, PAWL_HISTORY_VISITS_NODE, call->node);
  pawl_arg_int(&e->args, PAWL_HISTORY_VISITS_BELOW, call->visit);
  TRY(pawl_service_ask(e, h, PAWL_UNIT_READ, &rows, err));
  if (rows.nrows) *out += pawl_row_int(&rows, 0, PAWL_HISTORY_VISITS_R_N);
out:
  return rc;
}
