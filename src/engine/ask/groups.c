/* How many of each a list would have: by error's code, node, workflow, status.
 *
 *   asked by            of                               answered by
 *   workflow            a workflow, statuses; created    counters
 *                       and running ones together, as
 *                       they do not tell them apart
 *   status              the same but for these two       counters
 *   node                those that wait, are suspended   counters
 *   error               all that have failed, or were    failures
 *                       suspended by an error
 *   anything            anything else, and the statuses  what a list has,
 *                       that are left                    up to its limit
 *
 * What counters tell is all that there are. */
#include <assert.h>
#include <stdlib.h>

#include "../../base/clock.h"
#include "../../rules/state.h"
#include "../common/answer.h"
#include "../common/engine_struct.h"
#include "filter.h"

#define KINDS 1000 /* of failures, that are read of each shard */
#define MOST 10000 /* of each of them that are counted */

/* Keys are in `keys`, which moves as it grows: where, until all are there. */
typedef struct group {
  size_t at;
  pawl_str key;
  int64_t n;
} group;

typedef struct groups {
  const pawl_alloc *alloc;
  pawl_buf keys;
  group *list;
  int n, room, more;
  int64_t total;
} groups;

static pawl_code add(groups *g, pawl_str key, int64_t n, pawl_error *err) {
  if (!n) return PAWL_OK;
  if (g->n == g->room) {
    const int room = g->room ? 2 * g->room : 64;
    group *list =
        pawl_realloc(g->alloc, g->list, sizeof *list * (size_t)g->room,
                     sizeof *list * (size_t)room);
    if (!list) return pawl_fail_memory(err);
    g->list = list;
    g->room = room;
  }
  g->list[g->n++] = (group){g->keys.len, {NULL, key.len}, n};
  pawl_buf_adds(&g->keys, key);
  g->total += n;
  return PAWL_OK;
}

/* ---- what is counted already ---- */

#define BIT(status) (1u << PAWL_STATUS_##status)
#define FAILURES (BIT(FAILED) | BIT(SUSPENDED))

static pawl_code add_counters(pawl_engine *e, const pawl_grouping *how,
                              groups *g, pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_READ(e->store, counter_read, &rows, err, .workflow = how->workflow,
                 .since = PAWL_TIME_MAX));
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_counter_read_row row = pawl_read_counter_read(&rows, k);
    if (!pawl_counter_is_of(&row, how->counted, how->version)) continue;
    MUST(add(g,
             how->by == PAWL_GROUP_workflow ? row.workflow
             : how->by == PAWL_GROUP_status ? row.status
                                            : row.node,
             row.amount, err));
  }
  return PAWL_OK;
}

/* ---- failures ---- */

static int is_of_failures(const pawl_grouping *how) {
  return how->plain && how->by == PAWL_GROUP_error && !how->version &&
         how->statuses == FAILURES;
}

static pawl_code add_failures(pawl_engine *e, const pawl_grouping *how,
                              groups *g, pawl_error *err) {
  pawl_rows rows;

  pawl_args_begin(&e->args, PAWL_STMT_problem_list);
  for (int s = 0; s < e->nshards; s++)
    PAWL_PUT(&e->args, problem_list, .shard = s, .workflow = how->workflow,
             .max = KINDS, .most = MOST);
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  g->more = rows.nrows >= KINDS;
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_problem_list_row row = pawl_read_problem_list(&rows, k);
    g->more |= row.count >= MOST;
    MUST(add(g, row.code, row.count, err));
  }
  return PAWL_OK;
}

/* ---- one by one ---- */

static pawl_code add_error(groups *g, pawl_str error, pawl_buf *code,
                           pawl_error *err) {
  pawl_str quoted;

  pawl_buf_clear(code);
  if (error.len && pawl_json_get(error, "code", &quoted))
    pawl_json_unquote(quoted, code);
  MUST(pawl_buf_check(code, err));
  return add(g, pawl_buf_str(code), 1, err);
}

static pawl_code add_page(pawl_engine *e, const pawl_grouping *how,
                          const pawl_rows *rows, const int *at, int n,
                          groups *g, pawl_error *err) {
  pawl_buf code = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  for (int k = 0; k < n; k++) {
    const pawl_list_tenant_row row = pawl_read_list_tenant(rows, at[k]);
    TRY(how->by == PAWL_GROUP_error
            ? add_error(g, row.error, &code, err)
            : add(g,
                  how->by == PAWL_GROUP_node     ? row.node
                  : how->by == PAWL_GROUP_status ? row.status
                                                 : row.workflow,
                  1, err));
  }
out:
  pawl_buf_deinit(&code);
  return rc;
}

/* At the limit it is not known whether there are more: said is that there may
 * be. */
static pawl_code add_walked(pawl_engine *e, const pawl_grouping *how,
                            pawl_walk *walk, groups *g, pawl_error *err) {
  int at[PAWL_WALK_PAGE];
  pawl_rows rows;
  int n;

  do {
    MUST(pawl_walk_rows(e, walk, &rows, at, &n, err));
    MUST(add_page(e, how, &rows, at, n, g, err));
  } while (n);
  g->more = !pawl_walk_is_over(walk);
  return PAWL_OK;
}

/* ---- the answer ---- */

static int by_key(const void *a, const void *b) {
  const group *x = a, *y = b;
  const size_t len = x->key.len < y->key.len ? x->key.len : y->key.len;
  const int order = len ? memcmp(x->key.at, y->key.at, len) : 0;
  return order ? order : (x->key.len > y->key.len) - (x->key.len < y->key.len);
}

static int most_first(const void *a, const void *b) {
  const group *x = a, *y = b;
  if (x->n != y->n) return x->n < y->n ? 1 : -1;
  return by_key(a, b);
}

/* Each key once, the most first. */
static void join(groups *g) {
  int n = 0;

  for (int k = 0; k < g->n; k++)
    g->list[k].key.at = pawl_buf_str(&g->keys).at + g->list[k].at;
  if (g->n) qsort(g->list, (size_t)g->n, sizeof *g->list, by_key);
  for (int k = 0; k < g->n; k++)
    if (n && !by_key(&g->list[n - 1], &g->list[k]))
      g->list[n - 1].n += g->list[k].n;
    else
      g->list[n++] = g->list[k];
  g->n = n;
  if (n) qsort(g->list, (size_t)n, sizeof *g->list, most_first);
}

static void report(const groups *g, const char *name, pawl_buf *out) {
  pawl_object o, list, one;

  pawl_object_begin(&o, out);
  pawl_member_int(&o, "count", g->total);
  pawl_member_bool(&o, "more", g->more);
  pawl_member_list(&o, "groups", &list);
  for (int k = 0; k < g->n; k++) {
    pawl_list_object(&list, &one);
    if (g->list[k].key.len) pawl_member_str(&one, name, g->list[k].key);
    pawl_member_int(&one, "count", g->list[k].n);
    pawl_object_end(&one);
  }
  pawl_list_end(&list);
  pawl_object_end(&o);
}

static pawl_code check_grouping(const pawl_grouping *how, pawl_error *err) {
  if (how->by < PAWL_NGROUPS) return PAWL_OK;
  pawl_fail_hint(err, PAWL_INVALID,
                 "say `group_by`: error, node, workflow or status",
                 "the query does not say what to count by");
  pawl_error_where(err, "group_by");
  return PAWL_INVALID;
}

pawl_code pawl_engine_groups(pawl_engine *e, pawl_str query, pawl_buf *out,
                             pawl_error *err) {
  groups g = {.alloc = &e->alloc, .keys = {.alloc = &e->alloc}};
  pawl_walk *walk = NULL;
  pawl_grouping how;
  pawl_code rc = PAWL_OK;

  TRY(pawl_walk_groups(e, query, &how, &walk, err));
  TRY(check_grouping(&how, err));
  if (how.counted) TRY(add_counters(e, &how, &g, err));
  TRY(is_of_failures(&how) ? add_failures(e, &how, &g, err)
                           : add_walked(e, &how, walk, &g, err));
  TRY(pawl_buf_check(&g.keys, err));
  join(&g);
  report(&g, how.name, out);
  TRY(pawl_buf_check(out, err));
out:
  pawl_walk_close(e, walk);
  pawl_release(&e->alloc, g.list, sizeof *g.list * (size_t)g.room);
  pawl_buf_deinit(&g.keys);
  return rc;
}
