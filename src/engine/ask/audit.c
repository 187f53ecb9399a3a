/* Who did what, when: over all instances and what is none's, newest first.
 *
 * Rows of history that somebody asked for, starts, and the table `audit` are
 * read side by side, each by its index, and merged here. An entry is found
 * again by its time, id and number: that is its cursor. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/clock.h"
#include "../../rules/plan.h"
#include "../../value/options.h"
#include "../common/answer.h"
#include "../common/engine_struct.h"
#include "../common/find.h"
#include "../common/tenant.h"
#include "ask.h"

typedef struct audit_query {
  uint64_t given;
  pawl_buf by, type, workflow, tenant, instance, before;
  int64_t since_us, until_us, limit;
  /* read from them */
  pawl_id about; /* the instance */
  int has_about;
  pawl_id before_id; /* behind which the page begins, at until_us */
  int64_t before_seq;
} audit_query;

#define AT(member) .at = offsetof(audit_query, member)
static const pawl_option audit_rows[] = {
    {"by", PAWL_OPTION_TEXT, AT(by), .low = 1},
    {"type", PAWL_OPTION_TEXT, AT(type), .low = 1},
    {"workflow", PAWL_OPTION_TEXT, AT(workflow), .low = 1},
    {"tenant", PAWL_OPTION_TEXT, AT(tenant), .low = 1},
    {"instance", PAWL_OPTION_TEXT, AT(instance), .low = 1},
    {"since_us", PAWL_OPTION_TIME, AT(since_us), .low = 1},
    {"until_us", PAWL_OPTION_TIME, AT(until_us), .low = 1},
    {"before", PAWL_OPTION_TEXT, AT(before), .low = 1},
    {"limit", PAWL_OPTION_INT, AT(limit), .low = 1, .high = PAWL_MAX_LIMIT}};
PAWL_OPTIONS_OF(audit) = {.what = "an audit", PAWL_OPTION_ROWS(audit_rows)};

/* ---- the cursor ---- */

/* "1767225600000000.019aa1f2-....3" */
static void tell_cursor(const pawl_audit_list_row *row, pawl_object *o) {
  pawl_member(o, "cursor");
  pawl_buf_addf(o->out, "\"%" PRId64 ".%s.%" PRId64 "\"", row->at,
                pawl_id_text_of(row->id).at, (int64_t)row->seq);
}

static int read_cursor(audit_query *q) {
  char id[37];
  int64_t at;
  int used = 0;

  if (sscanf(q->before.at, "%" SCNd64 ".%36[0-9a-f-].%" SCNd64 "%n", &at, id,
             &q->before_seq, &used) != 3 ||
      (size_t)used != q->before.len || at < 0 || at > PAWL_TIME_MAX ||
      q->before_seq < 0 || q->before_seq > INT32_MAX ||
      !pawl_id_parse(id, strlen(id), &q->before_id))
    return 0;
  if (at < q->until_us) q->until_us = at;
  return 1;
}

/* What no history tells, behind all that one does. */
/* clang-format off */
#define AUDIT_TYPES(X)                                                    \
  X(claimed) X(unclaimed) X(reassigned) X(delegated) X(edited)            \
  X(registered) X(hotfixed) X(activated) X(deactivated) X(switched_off)   \
  X(switched_on) X(breakpoint_set) X(breakpoint_removed) X(archived)      \
  X(unarchived) X(imported) X(pruned)
/* clang-format on */
static const char *const types[] = {
#define TYPE_NAME(name) #name,
    PAWL_RECORD_TYPES(TYPE_NAME) AUDIT_TYPES(TYPE_NAME)
#undef TYPE_NAME
};

static pawl_code read_query(pawl_engine *e, pawl_str text, audit_query *q,
                            pawl_error *err) {
  q->limit = 100;
  q->since_us = 1;
  q->until_us = PAWL_TIME_MAX;
  MUST(pawl_options_read(&pawl_options_of_audit, text, q, err));
  MUST(pawl_check_type(&q->type, types, sizeof types / sizeof *types, err));
  MUST(pawl_tenant_take(e, &q->tenant, err)); /* Z2 */
  MUST(pawl_find_given(e, &q->instance, &q->about, &q->has_about, err));
  if (!q->before.len || read_cursor(q)) return PAWL_OK;
  pawl_fail_hint(err, PAWL_INVALID, "give the `cursor` of an entry",
                 "\"%.60s\" is no place in an audit", q->before.at);
  pawl_error_where(err, "before");
  return PAWL_INVALID;
}

/* ---- the pages ---- */

#define WANTED(q)                                                            \
  .since = (q)->since_us, .until = (q)->until_us, .before = &(q)->before_id, \
  .before_seq = (q)->before_seq, .by = pawl_buf_some(&(q)->by),              \
  .type = pawl_buf_some(&(q)->type),                                         \
  .workflow = pawl_buf_some(&(q)->workflow),                                 \
  .tenant = pawl_buf_some(&(q)->tenant), .max = (q)->limit

/* The rows of the three are alike. */
static pawl_code ask(pawl_engine *e, const audit_query *q, pawl_rows *rows,
                     pawl_error *err) {
  pawl_args *a = &e->args;

  if (q->has_about) {
    pawl_args_begin(a, PAWL_STMT_audit_of);
    PAWL_PUT(a, audit_of, .shard = pawl_shard_of(e, &q->about),
             .instance = &q->about, WANTED(q));
  } else if (q->by.len) {
    pawl_args_begin(a, PAWL_STMT_audit_by);
    for (int s = 0; s < e->nshards; s++)
      PAWL_PUT(a, audit_by, .shard = s, WANTED(q));
  } else {
    pawl_args_begin(a, PAWL_STMT_audit_list);
    for (int s = 0; s < e->nshards; s++)
      PAWL_PUT(a, audit_list, .shard = s, WANTED(q));
  }
  return pawl_store_once(e->store, PAWL_UNIT_READ, a, rows, err);
}

static int newest_first(const void *x, const void *y) {
  const pawl_audit_list_row *a = x, *b = y;
  if (a->at != b->at) return a->at < b->at ? 1 : -1;
  int by_id = pawl_id_cmp(b->id, a->id);
  return by_id ? by_id : (a->seq < b->seq) - (a->seq > b->seq);
}

static void add_entry(const pawl_audit_list_row *row, pawl_object *list) {
  pawl_object o;

  pawl_list_object(list, &o);
  pawl_member_time(&o, "at", row->at);
  pawl_member_str(&o, "by", row->by);
  pawl_member_str(&o, "type", row->type);
  pawl_member_id(&o, "instance", row->instance);
  pawl_member_int(&o, "seq", row->seq ? row->seq : PAWL_NULL);
  pawl_member_str(&o, "workflow", row->workflow);
  pawl_member_int(&o, "version", row->version);
  pawl_member_str(&o, "node", row->node);
  pawl_member_id(&o, "task", row->task);
  pawl_member_str(&o, "text", row->text);
  tell_cursor(row, &o);
  pawl_object_end(&o);
}

pawl_code pawl_engine_audit(pawl_engine *e, pawl_str text, pawl_buf *out,
                            pawl_error *err) {
  audit_query q;
  pawl_audit_list_row *entries = NULL;
  pawl_object list;
  pawl_rows rows = {.nrows = 0};
  size_t size = 0;
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_audit, &q, sizeof q, &e->alloc);
  TRY(read_query(e, text, &q, err));
  TRY(ask(e, &q, &rows, err));
  size = sizeof *entries * (size_t)(rows.nrows + 1);
  entries = pawl_realloc(&e->alloc, NULL, 0, size);
  if (!entries) {
    rc = pawl_fail_memory(err);
    goto out;
  }
  for (int k = 0; k < rows.nrows; k++)
    entries[k] = pawl_read_audit_list(&rows, k);
  if (rows.nrows)
    qsort(entries, (size_t)rows.nrows, sizeof *entries, newest_first);
  pawl_list_begin(&list, out);
  for (int k = 0; k < rows.nrows && k < q.limit; k++)
    add_entry(&entries[k], &list);
  pawl_list_end(&list);
  TRY(pawl_buf_check(out, err));
out:
  if (entries) pawl_release(&e->alloc, entries, size);
  pawl_options_deinit(&pawl_options_of_audit, &q);
  return rc;
}
