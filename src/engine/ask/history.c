/* What is recorded of one instance, oldest first: all of it, a page, the
 * newest, or what fits: rows of a type, of a node, of somebody, of some time,
 * or those that changed one variable or attribute, which say its value. */
#include <stdint.h>
#include <string.h>

#include "../../base/nearest.h"
#include "../../rules/plan.h"
#include "../../rules/trim.h"
#include "../../value/json.h"
#include "../../value/options.h"
#include "../common/answer.h"
#include "../common/engine_struct.h"
#include "../common/find.h"
#include "ask.h"
#include "entered.h"

enum { PAGE = 1000 }; /* rows of one read: a long history is no long answer */

typedef struct history_query {
  uint64_t given;
  int64_t limit, after, last, completed_after_us, completed_before_us;
  int64_t upto; /* no row behind that one */
  pawl_buf type, node, by, variable, attribute;
} history_query;

#define AT(member) .at = offsetof(history_query, member)
static const pawl_option history_rows[] = {
    {"limit", PAWL_OPTION_INT, AT(limit), .low = 1, .high = INT32_MAX},
    {"after", PAWL_OPTION_INT, AT(after), .high = INT64_MAX},
    {"last", PAWL_OPTION_INT, AT(last), .low = 1, .high = INT32_MAX},
    {"type", PAWL_OPTION_TEXT, AT(type), .low = 1},
    {"node", PAWL_OPTION_TEXT, AT(node), .low = 1},
    {"by", PAWL_OPTION_TEXT, AT(by), .low = 1},
    {"variable", PAWL_OPTION_TEXT, AT(variable), .low = 1},
    {"attribute", PAWL_OPTION_TEXT, AT(attribute), .low = 1},
    {"completed_after_us", PAWL_OPTION_TIME, AT(completed_after_us), .low = 1},
    {"completed_before_us", PAWL_OPTION_TIME, AT(completed_before_us),
     .low = 1}};
PAWL_OPTIONS_OF(history) = {.what = "a history",
                            PAWL_OPTION_ROWS(history_rows)};

pawl_code pawl_check_type(const pawl_buf *type, const char *const *names,
                          int n, pawl_error *err) {
  const char *near;

  if (!type->len) return PAWL_OK;
  for (int i = 0; i < n; i++)
    if (!strcmp(type->at, names[i])) return PAWL_OK;
  pawl_fail_hint(err, PAWL_INVALID, "docs/json.md has those there are",
                 "no row has the type \"%.60s\"", type->at);
  near = pawl_nearest(type->at, names, n);
  if (near) pawl_error_hint(err, "did you mean \"%s\"?", near);
  pawl_error_where(err, "type");
  return PAWL_INVALID;
}

/* Is it about one name, whose value its rows are to say? */
static int asks_value(const history_query *q) {
  return q->variable.len || q->attribute.len;
}

/* Are there rows between those that are asked for? */
static int filters(const history_query *q) {
  return q->type.len || q->node.len || q->by.len || asks_value(q) ||
         q->completed_after_us || q->completed_before_us;
}

#define FITTING(q)                                                           \
  .type = pawl_buf_some(&(q)->type), .node = pawl_buf_some(&(q)->node),      \
  .by = pawl_buf_some(&(q)->by), .completed_after = (q)->completed_after_us, \
  .completed_before = (q)->completed_before_us, .changing = asks_value(q)

/* The instance is asked for, too: no rows of history might mean that there is
 * none, or that it has just begun. */
static pawl_code read_page(pawl_engine *e, const pawl_id *id,
                           const history_query *q, pawl_rows *rows,
                           pawl_rows *trimmed, pawl_error *err) {
  int shard = pawl_shard_of(e, id), found, listed, told;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(PAWL_SEND(e->store, instance_settle, &found, err, .shard = shard,
                .id = id));
  TRY(PAWL_SEND(e->store, history_list, &listed, err, .shard = shard, .id = id,
                .after = q->after, .max = PAGE, FITTING(q)));
  /* behind the rows: what goes between the two is told, and seen as well */
  TRY(PAWL_SEND(e->store, history_trimmed, &told, err, .shard = shard,
                .id = id));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, found, rows);
  if (!rows->nrows) return pawl_instance_missing(id, err);
  pawl_store_rows(e->store, listed, rows);
  pawl_store_rows(e->store, told, trimmed);
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* Has the row changed the variable? *value: to what; at NULL: it removed it. */
static int has_changed(pawl_str changes, const pawl_buf *name,
                       pawl_buf *scratch, pawl_str *value) {
  pawl_str part;
  value->at = NULL;
  if (pawl_json_get(changes, "set", &part) &&
      pawl_json_get(part, name->at, value))
    return 1;
  value->at = NULL;
  return pawl_json_get(changes, "unset", &part) &&
         pawl_json_lists(part, pawl_buf_str(name), scratch);
}

/* The same of an attribute. */
static int has_set(pawl_str changes, const pawl_buf *name, pawl_str *value) {
  pawl_str part, change;
  value->at = NULL;
  if (!pawl_json_get(changes, "attributes", &part) ||
      !pawl_json_get(part, name->at, &change))
    return 0;
  if (!pawl_json_get(change, "to", value)) value->at = NULL;
  return 1;
}

/* Is the row one that is asked for? *value: of the name that it is about. */
static int fits(const history_query *q, pawl_str changes, pawl_buf *scratch,
                pawl_str *value) {
  if (q->variable.len)
    return has_changed(changes, &q->variable, scratch, value);
  return !q->attribute.len || has_set(changes, &q->attribute, value);
}

static void add_row(const pawl_rows *rows, int k, const history_query *q,
                    pawl_buf *scratch, pawl_entered *entered,
                    pawl_object *list) {
  pawl_str value = {NULL, 0};
  pawl_object o;

  if (!fits(q, pawl_read_history_list(rows, k).changes, scratch, &value))
    return;
  pawl_list_object(list, &o);
  pawl_member_columns(&o, rows, k, "seq type node token visit attempt");
  pawl_entered_note(entered, rows, k, list->out->len);
  pawl_member_columns(&o, rows, k,
                      "transition path output changes error text by executor "
                      "started=started_at completed=completed_at due=due_at "
                      "previous");
  const pawl_id *request = pawl_read_history_list(rows, k).request;
  if (request) pawl_member_id(&o, "request", request);
  if (asks_value(q))
    pawl_member_json(&o, "value", value.at ? value : pawl_strz("null"));
  pawl_object_end(&o);
}

void pawl_trimmed_tell(const pawl_rows *told, pawl_object *o) {
  pawl_object t;

  if (!told->nrows) {
    pawl_member_null(o, "trimmed");
    return;
  }
  const pawl_history_trimmed_row row = pawl_read_history_trimmed(told, 0);
  pawl_member_object(o, "trimmed", &t);
  pawl_member_int(&t, "upto", pawl_trimmed_upto(row.record));
  pawl_member_int(&t, "rows", pawl_json_get_int(row.record, "rows", 0));
  pawl_member_int(&t, "keep", pawl_json_get_int(row.record, "keep", 0));
  pawl_member_time(&t, "at", row.at);
  pawl_object_end(&t);
}

/* Rows are missing here, whatever is asked for: told in the place of the newest
 * of them, so that who pages comes by. */
static void add_trimmed(const pawl_rows *told, pawl_object *list) {
  static const char *const none[] = {
      "node",       "token", "visit",    "attempt", "transition_in",
      "transition", "path",  "output",   "changes", "error",
      "text",       "by",    "executor", "started"};
  const pawl_history_trimmed_row row = pawl_read_history_trimmed(told, 0);
  pawl_object o;

  pawl_list_object(list, &o);
  pawl_member_int(&o, "seq", pawl_trimmed_newest(row.record));
  pawl_member_textz(&o, "type", "trimmed");
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    pawl_member_null(&o, none[i]);
  pawl_member_time(&o, "completed", row.at);
  pawl_member_null(&o, "due");
  pawl_member_null(&o, "previous");
  pawl_trimmed_tell(told, &o);
  pawl_object_end(&o);
}

/* A page, and between its rows what tells that some are gone. */
static void add_page(const pawl_rows *rows, const pawl_rows *trimmed,
                     history_query *q, pawl_buf *scratch,
                     pawl_entered *entered, pawl_object *list) {
  int64_t gone = 0;

  if (trimmed->nrows) {
    const pawl_str record = pawl_read_history_trimmed(trimmed, 0).record;
    gone = pawl_trimmed_newest(record);
    entered->upto = pawl_trimmed_upto(record);
  }
  for (int k = 0; k < rows->nrows && list->n < q->limit; k++) {
    int64_t seq = pawl_read_history_list(rows, k).seq;
    if (seq > q->upto) return;
    if (q->after < gone && seq > gone) {
      add_trimmed(trimmed, list);
      q->after = gone;
      if (list->n >= q->limit) return;
    }
    add_row(rows, k, q, scratch, entered, list);
    q->after = seq;
  }
  if (rows->nrows < PAGE && q->after < gone && list->n < q->limit)
    add_trimmed(trimmed, list);
}

/* From where on, and up to where, the newest rows that fit are: found from the
 * newest on, so that it costs what is looked through for them. */
static pawl_code find_last(pawl_engine *e, const pawl_id *id, history_query *q,
                           pawl_buf *scratch, pawl_error *err) {
  const int shard = pawl_shard_of(e, id);
  int64_t below = INT64_MAX, left = q->last;
  pawl_str value;
  pawl_rows rows;
  int max;

  q->upto = 0;
  do {
    max = left > PAGE || asks_value(q) ? PAGE : (int)left;
    MUST(PAWL_READ(e->store, history_back, &rows, err, .shard = shard,
                   .id = id, .below = below, .max = max, FITTING(q)));
    for (int k = 0; k < rows.nrows && left; k++) {
      const pawl_history_back_row row = pawl_read_history_back(&rows, k);
      below = row.seq;
      if (!fits(q, row.changes, scratch, &value)) continue;
      if (!q->upto) q->upto = below;
      left--;
    }
  } while (left && rows.nrows == max);
  q->after = left ? 0 : below - 1;
  return PAWL_OK;
}

static pawl_code read_query(pawl_str text, history_query *q, pawl_error *err) {
  q->limit = INT32_MAX;
  q->upto = INT64_MAX;
  MUST(pawl_options_read(&pawl_options_of_history, text, q, err));
  MUST(pawl_check_type(&q->type, pawl_record_types, PAWL_NRECORD_TYPES, err));
  if (q->variable.len && q->attribute.len)
    return pawl_fail(
        err, PAWL_INVALID,
        "a history's `variable` and `attribute` exclude each other");
  if (q->last && (q->limit < INT32_MAX || q->after))
    return pawl_fail_hint(
        err, PAWL_INVALID,
        "`last` alone for the newest rows; `limit` and `after` go through "
        "them from the oldest on",
        "a history's `last` and `%s` exclude each other",
        q->after ? "after" : "limit");
  return PAWL_OK;
}

pawl_code pawl_engine_history(pawl_engine *e, const pawl_id *id,
                              pawl_str query, pawl_buf *out, pawl_error *err) {
  history_query q;
  pawl_buf scratch = {.alloc = &e->alloc};
  pawl_entered entered;
  pawl_object list;
  pawl_rows rows, trimmed;
  int more = 1;
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_history, &q, sizeof q, &e->alloc);
  pawl_entered_init(&entered, e, id);
  TRY(read_query(query, &q, err));
  entered.whole = !filters(&q);
  if (q.last) TRY(find_last(e, id, &q, &scratch, err));
  pawl_list_begin(&list, out);
  while (more && list.n < q.limit) {
    TRY(read_page(e, id, &q, &rows, &trimmed, err));
    add_page(&rows, &trimmed, &q, &scratch, &entered, &list);
    more = rows.nrows == PAGE && q.after < q.upto;
    TRY(pawl_entered_tell(&entered, out, err));
  }
  pawl_list_end(&list);
  TRY(pawl_buf_check(&scratch, err));
  TRY(pawl_buf_check(out, err));
out:
  pawl_options_deinit(&pawl_options_of_history, &q);
  pawl_entered_deinit(&entered);
  pawl_buf_deinit(&scratch);
  return rc;
}
