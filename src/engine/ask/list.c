/* Lists of instances: by which index what is asked for (filter.h) is found.
 *
 *   given                          found by              read
 *   archived                       in the archive, by what else is given
 *   deleted                        their index           a page, in order
 *   key, parent, correlation,      its index             all that have it
 *   root, business_key
 *   attributes, tenant or group    status and workflow   a page, in order
 *   beside statuses that few have
 *   attributes                     what one equals       a page, in order
 *                                  else its ranges       all that are in them
 *   error_code                     failures              all that have it
 *   cancelled_by, compensation     their indexes         a page, in order
 *   leased, due                    the agenda            all that are due
 *   deadline                       deadlines             all that are before it
 *   tenant                         the tenant's          a page, in order
 *   group, not that of most        the group's           a page, in order
 *   anything else                  status and workflow   a page, in order
 *
 * The first in that order is sent as it stands; all that was given is compared
 * beside it, in SQL, until a page is full. Ids begin with the time at which
 * they were drawn, and there is no other index on times: those given bound the
 * ids first. Each shard gives a full page, as all might be in one; what is too
 * much is cut off here.
 *
 * By when they are due the agenda has them in order. By other times nothing has
 * (decision 0054), nor has the agenda what another index finds: all that are
 * found so are read, up to MOST, and sorted here; of more it is refused. The
 * page's own are then read by their ids. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "../common/answer.h"
#include "../common/engine_struct.h"
#include "../common/time.h"
#include "filter.h"

/* So many are sorted by a time that no index has. */
#define MOST 10000

/* ---- finding ---- */

/* What all lists are asked for. */
#define WANTED(f)                                                             \
  .statuses = pawl_buf_some(&(f)->stored), .begun = pawl_filter_begun(f),     \
  .workflow = pawl_buf_some(&(f)->workflow), .version = (f)->version,         \
  .tenant = pawl_buf_some(&(f)->tenant),                                      \
  .correlation = pawl_buf_some(&(f)->correlation),                            \
  .business_from =                                                            \
      pawl_buf_given(&(f)->business_from, (f)->business_key.len > 0),         \
  .business_to = pawl_buf_some(&(f)->business_to),                            \
  .key = pawl_buf_some(&(f)->key),                                            \
  .parent = (f)->has_parent ? &(f)->parent : NULL,                            \
  .root = (f)->has_root ? &(f)->root : NULL,                                  \
  .executor_group = pawl_buf_some(&(f)->group),                               \
  .error = pawl_buf_some(&(f)->error_text),                                   \
  .message = pawl_buf_some(&(f)->message_text),                               \
  .error_code = pawl_buf_some(&(f)->code_text),                               \
  .cancelled_by = pawl_buf_some(&(f)->by_text),                               \
  .compensation = pawl_buf_some(&(f)->undone),                                \
  .leased = (f)->leased < 0 ? PAWL_NULL : (f)->leased,                        \
  .halted = (f)->halted < 0 ? PAWL_NULL : (f)->halted,                        \
  .due_before = (f)->due_before, .deadline_before = (f)->deadline_before,     \
  .node = pawl_buf_some(&(f)->node), .created_after = (f)->created_after,     \
  .created_before = (f)->created_before, .started_after = (f)->started_after, \
  .started_before = (f)->started_before, .updated_after = (f)->updated_after, \
  .updated_before = (f)->updated_before,                                      \
  .completed_after = (f)->completed_after,                                    \
  .completed_before = (f)->completed_before,                                  \
  .attributes = pawl_buf_some(&(f)->conditions.others), .up = (f)->up,        \
  .max = (f)->limit

/* Those of a page. */
#define ASKED(f)                                                        \
  WANTED(f), .low = &(f)->low, .high = &(f)->high, .brief = (f)->brief, \
             .waits = (f)->waits

static pawl_code ask(pawl_engine *e, const pawl_filter *f, pawl_rows *rows,
                     pawl_error *err) {
  e->args.counted = f->counted;
  return pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, rows, err);
}

static void put_statuses(pawl_engine *e, const pawl_filter *f, int shard) {
  const unsigned stored = pawl_filter_stored(f);
  for (int k = 0; k < PAWL_NSTATUSES; k++)
    if (stored >> k & 1u)
      PAWL_PUT(&e->args, list_status, .shard = shard,
               .status = pawl_strz(pawl_status_name((pawl_standing)k)),
               ASKED(f));
}

/* What was archived stands apart, with indexes of its own. */
static pawl_code send_archived(pawl_engine *e, const pawl_filter *f,
                               pawl_rows *rows, pawl_error *err) {
  const pawl_conditions *c = &f->conditions;
  const char *word = c->ranges.len ? "attribute" : pawl_filter_found_by(f);
  const char *by = f->tenant.len     ? "tenant"
                   : f->workflow.len ? "workflow"
                                     : "all";

  pawl_args_begin(&e->args, word ? PAWL_STMT_list_archived_found
                                 : PAWL_STMT_list_archived);
  for (int s = 0; s < e->nshards; s++)
    if (word)
      PAWL_PUT(&e->args, list_archived_found, .shard = s,
               .by = pawl_strz(word), .name = pawl_buf_some(&c->name),
               .ranges = pawl_buf_some(&c->ranges), .whole = f->whole,
               ASKED(f));
    else
      PAWL_PUT(&e->args, list_archived, .shard = s, .by = pawl_strz(by),
               .whole = f->whole, ASKED(f));
  return ask(e, f, rows, err);
}

/* Neither what it is found by before, nor the agenda, has fewer. */
static int is_told(const pawl_filter *f) {
  return (f->cancelled_by.len || f->compensation) && !f->deleted &&
         !f->archived && !f->attributes.at && !pawl_filter_found_by(f);
}

/* Each way in which it may stand is a list of its own, as statuses are. */
static pawl_code send_told(pawl_engine *e, const pawl_filter *f,
                           pawl_rows *rows, pawl_error *err) {
  char undone[PAWL_NUNDONE][64];

  pawl_args_begin(&e->args, PAWL_STMT_list_told);
  for (int k = 0; k < PAWL_NUNDONE; k++)
    (void)snprintf(undone[k], sizeof undone[k], "{\"status\":\"%s\",",
                   pawl_undone_names[k]);
  for (int s = 0; s < e->nshards; s++) {
    if (f->cancelled_by.len) {
      PAWL_PUT(&e->args, list_told, .shard = s, .by = pawl_strz("cancelled"),
               .told = pawl_buf_str(&f->by_text), ASKED(f));
      continue;
    }
    for (int k = 0; k < PAWL_NUNDONE; k++)
      if (f->compensation >> k & 1u)
        PAWL_PUT(&e->args, list_told, .shard = s, .by = pawl_strz("undone"),
                 .told = pawl_strz(undone[k]), ASKED(f));
  }
  return ask(e, f, rows, err);
}

static pawl_code send_list(pawl_engine *e, const pawl_filter *f,
                           pawl_rows *rows, pawl_error *err) {
  const pawl_conditions *c = &f->conditions;
  const char *by = c->ranges.len && !c->equals.len ? "attribute"
                   : pawl_filter_found_by(f)       ? pawl_filter_found_by(f)
                                                   : pawl_filter_time_by(f);
  const int equal = c->equals.len > 0;
  const int tenant = f->tenant.len && !f->few;
  const int group = pawl_filter_is_grouped(f) && !f->few;

  if (f->archived) return send_archived(e, f, rows, err);
  if (is_told(f)) return send_told(e, f, rows, err);
  pawl_args_begin(&e->args, f->deleted ? PAWL_STMT_list_deleted
                            : equal    ? PAWL_STMT_list_attribute
                            : by       ? PAWL_STMT_list_found
                            : tenant   ? PAWL_STMT_list_tenant
                            : group    ? PAWL_STMT_list_group
                                       : PAWL_STMT_list_status);
  for (int s = 0; s < e->nshards; s++)
    if (f->deleted)
      PAWL_PUT(&e->args, list_deleted, .shard = s, ASKED(f));
    else if (equal)
      PAWL_PUT(&e->args, list_attribute, .shard = s,
               .name = pawl_buf_str(&c->name),
               .sortable = pawl_buf_str(&c->equals), ASKED(f));
    else if (by)
      PAWL_PUT(
          &e->args, list_found, .shard = s, .by = pawl_strz(by),
          .name = pawl_buf_some(&c->name), .ranges = pawl_buf_some(&c->ranges),
          .code_from = pawl_buf_given(&f->code_from, f->error_code.len > 0),
          .code_to = pawl_buf_some(&f->code_to),
          .until = pawl_filter_time_until(e, f), ASKED(f));
    else if (tenant)
      PAWL_PUT(&e->args, list_tenant, .shard = s, ASKED(f));
    else if (group)
      PAWL_PUT(&e->args, list_group, .shard = s, ASKED(f));
    else
      put_statuses(e, f, s);
  return ask(e, f, rows, err);
}

/* ---- a page ---- */

typedef struct place {
  pawl_id id;
  int row;
} place;

/* Ids begin with the time at which they were made. */
static int oldest_first(const void *a, const void *b) {
  const place *x = a, *y = b;
  return pawl_id_cmp(&x->id, &y->id);
}

/* What stands in the token's detail, by its kind (rules/detail.h); else a time
 * is all that it can wait for. */
static void member_waiting(pawl_object *o, const pawl_list_tenant_row *row) {
  pawl_str child, total, done;

  if (pawl_json_get(row->detail, "child", &child)) {
    pawl_member_textz(o, "what", "child");
    pawl_member_json(o, "child", child);
  } else if (pawl_json_get(row->detail, "total", &total)) {
    pawl_member_textz(o, "what", "items");
    if (!pawl_json_get(row->detail, "done", &done)) done = pawl_strz("0");
    pawl_member_json(o, "done", done);
    pawl_member_json(o, "total", total);
  } else if (row->look_at) {
    pawl_member_textz(o, "what", "time");
    pawl_member_time(o, "at", row->look_at);
  } else {
    pawl_member_textz(o, "what", "siblings");
  }
}

/* In the words of explain, as far as the row tells. 0: it does not. */
static int add_waits(pawl_object *o, const pawl_list_tenant_row *row) {
  pawl_str note, by;

  if (pawl_str_eqz(row->status, "suspended")) {
    pawl_member_textz(o, "what", "resume");
    if (row->who.len) pawl_member_str(o, "by", row->who);
    if (row->reason.len) pawl_member_str(o, "reason", row->reason);
  } else if (row->completed_at) {
    return 0;
  } else if (row->stopped == 1) {
    pawl_member_textz(o, "what", "workflow");
  } else if (row->event.len) {
    pawl_member_textz(o, "what", "event");
    pawl_member_str(o, "event", row->event);
    if (row->event_key.at) pawl_member_str(o, "key", row->event_key);
    if (row->look_at) pawl_member_time(o, "until", row->look_at);
  } else if (row->title.at) {
    pawl_member_textz(o, "what", "person");
    pawl_member_str(o, "title", row->title);
    if (row->claimed_by.len) pawl_member_str(o, "claimed_by", row->claimed_by);
    if (row->task_due_at) pawl_member_time(o, "due", row->task_due_at);
  } else if (pawl_str_eqz(row->state, "waiting")) {
    member_waiting(o, row);
  } else if (pawl_json_get(row->detail, "halted", &note) && row->look_at) {
    pawl_member_textz(o, "what", "breakpoint");
    pawl_member_time(o, "until", row->look_at);
    if (pawl_json_get(note, "by", &by)) pawl_member_json(o, "by", by);
  } else if (row->last_error.len && row->look_at) {
    pawl_member_textz(o, "what", "retry");
    pawl_member_int(o, "failed", row->attempt);
    pawl_member_time(o, "at", row->look_at);
    pawl_member_json(o, "error", row->last_error);
  } else {
    return 0;
  }
  return 1;
}

/* null: it has ended, stands in several places, or is a worker's to take. */
static void member_waits(pawl_engine *e, pawl_object *o,
                         const pawl_list_tenant_row *row) {
  pawl_buf text = {.alloc = &e->alloc};
  pawl_object waits;

  pawl_object_begin(&waits, &text);
  const int any = add_waits(&waits, row);
  pawl_object_end(&waits);
  pawl_member_json(o, "waits", any ? pawl_buf_str(&text) : pawl_strz("null"));
  if (text.failed) o->out->failed = 1;
  pawl_buf_deinit(&text);
}

/* Where it stands among those that are sorted by a time. */
static void member_place(const pawl_filter *f, const pawl_moment *m,
                         pawl_object *o) {
  if (f->sort == PAWL_SORT_DUE) pawl_member_time(o, "due", m->at_us);
  pawl_member_textz(o, "cursor", pawl_cursor_text_of(m).at);
}

/* `at` NULL: it is sorted by its id. */
static void add_one(pawl_engine *e, const pawl_filter *f, const pawl_rows *r,
                    int k, const pawl_moment *at, pawl_object *list) {
  const pawl_list_tenant_row row = pawl_read_list_tenant(r, k);
  pawl_object o, times;

  pawl_list_object(list, &o);
  pawl_member_columns(&o, r, k,
                      "id workflow version status node "
                      "error " PAWL_SHOWN_whose " parent_node parent_index");
  pawl_member_object(&o, "times", &times);
  pawl_member_columns(&times, r, k, PAWL_SHOWN_times);
  pawl_object_end(&times);
  if (f->archived) {
    pawl_member_null(&o, "deleted");
    pawl_member_archived(&o, row.deletion, row.deleted_at, row.purge_at);
  } else {
    pawl_member_deleted(&o, row.deletion, row.deleted_at, row.purge_at);
  }
  pawl_member_away(&o, row.away);
  if (f->waits) member_waits(e, &o, &row);
  if (at) member_place(f, at, &o);
  pawl_object_end(&o);
}

/* Where the rows of all shards are, oldest first; `size` to release it by. */
static pawl_code sort_rows(pawl_engine *e, const pawl_rows *rows, place **out,
                           size_t *size, pawl_error *err) {
  place *page;

  assert(rows->nrows > 0);
  *size = sizeof *page * (size_t)rows->nrows;
  page = pawl_realloc(&e->alloc, NULL, 0, *size);
  if (!page) return pawl_fail_memory(err);
  for (int k = 0; k < rows->nrows; k++)
    page[k] = (place){*pawl_read_list_tenant(rows, k).id, k};
  qsort(page, (size_t)rows->nrows, sizeof *page, oldest_first);
  *out = page;
  return PAWL_OK;
}

/* The nearest to where the page begins, in the order that is asked for. */
static pawl_code add_page(pawl_engine *e, const pawl_filter *f,
                          const pawl_rows *rows, pawl_object *list,
                          pawl_error *err) {
  const int n = rows->nrows;
  const int take = n < f->limit ? n : (int)f->limit;
  const int first = f->up ? 0 : n - take;
  size_t size;
  place *page;

  if (!n) return PAWL_OK;
  MUST(sort_rows(e, rows, &page, &size, err));
  for (int k = 0; k < take; k++)
    add_one(
        e, f, rows,
        page[pawl_filter_is_ascending(f) ? first + k : first + take - 1 - k]
            .row,
        NULL, list);
  pawl_release(&e->alloc, page, size);
  return pawl_buf_check(list->out, err);
}

/* ---- a page by a time ---- */

static pawl_code add_due(const pawl_rows *rows, pawl_sorted *s,
                         pawl_error *err) {
  for (int k = 0; k < rows->nrows; k++) {
    const pawl_list_due_row row = pawl_read_list_due(rows, k);
    MUST(pawl_sorted_add(s, row.due_at, row.instance, err));
  }
  return PAWL_OK;
}

static pawl_code read_due(pawl_engine *e, const pawl_filter *f, pawl_sorted *s,
                          pawl_error *err) {
  pawl_rows rows;

  pawl_args_begin(&e->args, PAWL_STMT_list_due);
  for (int k = 0; k < e->nshards; k++)
    PAWL_PUT(&e->args, list_due, .shard = k, .from_at = s->from.at_us,
             .from_id = &s->from.id, .to_at = s->to.at_us, .to_id = &s->to.id,
             WANTED(f));
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  return add_due(&rows, s, err);
}

static pawl_code too_many(const pawl_filter *f, pawl_error *err) {
  pawl_fail_hint(
      err, PAWL_INVALID,
      "narrow it: a workflow, a status, a node, `created_after`...; "
      "\"newest\" and \"oldest\" sort any number, \"due\" what no "
      "word of its own finds",
      "`sort` by \"%s\" reads all that the query finds, %d at "
      "most, and there are more",
      pawl_filter_sort_name(f), MOST);
  pawl_error_where(err, "sort");
  return PAWL_INVALID;
}

/* All that there are, as no index has them in this order. */
static pawl_code read_all(pawl_engine *e, const pawl_filter *f,
                          pawl_rows *rows, pawl_error *err) {
  pawl_filter all = *f; /* borrows what f owns */

  all.brief = 1;
  all.waits = 0;
  all.limit = MOST + 1;
  MUST(send_list(e, &all, rows, err));
  return rows->nrows > MOST ? too_many(f, err) : PAWL_OK;
}

/* By when those are due that `ids` has. */
static pawl_code read_due_these(pawl_engine *e, const pawl_sorted *ids,
                                pawl_sorted *s, pawl_error *err) {
  pawl_rows rows;

  pawl_args_begin(&e->args, PAWL_STMT_list_due_these);
  for (int k = 0; k < ids->n; k++)
    PAWL_PUT(&e->args, list_due_these,
             .shard = pawl_shard_of(e, &ids->list[k].id),
             .id = &ids->list[k].id);
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  return add_due(&rows, s, err);
}

static pawl_code read_found_due(pawl_engine *e, const pawl_filter *f,
                                pawl_sorted *s, pawl_error *err) {
  pawl_sorted ids;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_sorted_init(&ids, &e->alloc);
  TRY(read_all(e, f, &rows, err));
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_list_tenant_row row = pawl_read_list_tenant(&rows, k);
    TRY(pawl_sorted_add(&ids, row.created_at, row.id, err));
  }
  if (ids.n) TRY(read_due_these(e, &ids, s, err));
out:
  pawl_sorted_deinit(&ids);
  return rc;
}

static pawl_code read_moments(pawl_engine *e, const pawl_filter *f,
                              pawl_sorted *s, pawl_error *err) {
  pawl_rows rows;

  MUST(read_all(e, f, &rows, err));
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_list_tenant_row row = pawl_read_list_tenant(&rows, k);
    MUST(pawl_sorted_add(s,
                         f->sort == PAWL_SORT_CREATED   ? row.created_at
                         : f->sort == PAWL_SORT_UPDATED ? row.updated_at
                                                        : row.completed_at,
                         row.id, err));
  }
  return PAWL_OK;
}

static const place *find_row(const place *page, int n, const pawl_id *id) {
  const place key = {.id = *id};
  return bsearch(&key, page, (size_t)n, sizeof *page, oldest_first);
}

/* Those that the page has, by their ids. */
static pawl_code read_these(pawl_engine *e, const pawl_filter *f,
                            const pawl_sorted *s, pawl_rows *rows,
                            pawl_error *err) {
  pawl_args_begin(&e->args, f->archived ? PAWL_STMT_list_archived_these
                                        : PAWL_STMT_list_these);
  for (int k = 0; k < s->n; k++) {
    const pawl_id *id = &s->list[k].id;
    const int shard = pawl_shard_of(e, id);
    if (f->archived)
      PAWL_PUT(&e->args, list_archived_these, .shard = shard, .id = id,
               .brief = 0, .waits = f->waits);
    else
      PAWL_PUT(&e->args, list_these, .shard = shard, .id = id, .brief = 0,
               .waits = f->waits);
  }
  return pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, rows, err);
}

/* One that was purged meanwhile is left out. */
static pawl_code add_moments(pawl_engine *e, const pawl_filter *f,
                             const pawl_sorted *s, pawl_object *list,
                             pawl_error *err) {
  pawl_rows rows;
  place *page;
  size_t size;

  MUST(read_these(e, f, s, &rows, err));
  if (!rows.nrows) return PAWL_OK;
  MUST(sort_rows(e, &rows, &page, &size, err));
  for (int k = 0; k < s->n; k++) {
    const pawl_moment *m =
        &s->list[pawl_filter_is_ascending(f) ? k : s->n - 1 - k];
    const place *found = find_row(page, rows.nrows, &m->id);
    if (found) add_one(e, f, &rows, found->row, m, list);
  }
  pawl_release(&e->alloc, page, size);
  return pawl_buf_check(list->out, err);
}

/* Is it found by what would have to be looked for among all that is on the
 * agenda? */
static int has_own_index(const pawl_filter *f) {
  return pawl_filter_found_by(f) || f->attributes.at || is_told(f);
}

static pawl_code add_sorted_page(pawl_engine *e, const pawl_filter *f,
                                 pawl_object *list, pawl_error *err) {
  pawl_sorted s;
  pawl_code rc = PAWL_OK;

  pawl_sorted_init(&s, &e->alloc);
  if (f->has_after) s.from = f->from;
  if (f->has_before) s.to = f->to;
  TRY(f->sort != PAWL_SORT_DUE ? read_moments(e, f, &s, err)
      : has_own_index(f)       ? read_found_due(e, f, &s, err)
                               : read_due(e, f, &s, err));
  pawl_sorted_cut(&s, f->up, f->limit);
  if (s.n) TRY(add_moments(e, f, &s, list, err));
out:
  pawl_sorted_deinit(&s);
  return rc;
}

/* ---- lists ---- */

static pawl_code add_any_page(pawl_engine *e, const pawl_filter *f,
                              pawl_object *list, pawl_error *err) {
  pawl_rows rows;

  if (!f->statuses || f->none) return PAWL_OK;
  if (pawl_filter_is_by_time(f)) return add_sorted_page(e, f, list, err);
  MUST(send_list(e, f, &rows, err));
  return add_page(e, f, &rows, list, err);
}

pawl_code pawl_engine_list(pawl_engine *e, pawl_str query, pawl_buf *out,
                           pawl_error *err) {
  pawl_filter f;
  pawl_object list;
  pawl_code rc = PAWL_OK;

  pawl_filter_init(e, &f);
  f.limit = 100;
  TRY(pawl_filter_read_page(e, query, &f, err));
  TRY(pawl_filter_check_whole(&f, err));
  pawl_list_begin(&list, out);
  TRY(add_any_page(e, &f, &list, err));
  pawl_list_end(&list);
  TRY(pawl_buf_check(out, err));
out:
  pawl_filter_deinit(&f);
  return rc;
}

/* One row more than is counted tells that there are more. */
pawl_code pawl_engine_tally(pawl_engine *e, pawl_str query, int64_t *count,
                            int *more, pawl_error *err) {
  pawl_filter f;
  pawl_rows rows = {.nrows = 0};
  pawl_code rc = PAWL_OK;
  int64_t limit;

  pawl_filter_init(e, &f);
  f.limit = PAWL_MAX_LIMIT;
  TRY(pawl_filter_read_page(e, query, &f, err));
  TRY(pawl_filter_check_all(&f, err));
  f.brief = f.counted = 1;
  limit = f.limit++;
  if (f.statuses && !f.none) TRY(send_list(e, &f, &rows, err));
  *more = rows.nrows > limit;
  *count = *more ? limit : rows.nrows;
out:
  pawl_filter_deinit(&f);
  return rc;
}

/* ---- all pages ---- */

/* How much later than its first page what a walk finds may have been created:
 * clocks differ. Later ones are not for it, or it might never end. */
#define NEW_US PAWL_SECOND

struct pawl_walk {
  pawl_filter f;
  int64_t left; /* that may yet be found */
  int over;
};

static pawl_code begin_walk(pawl_engine *e, pawl_walk *w, pawl_str query,
                            unsigned statuses, int deleted, int archived,
                            int purged, pawl_error *err) {
  const int64_t soon = pawl_engine_now(e) + NEW_US;
  pawl_filter *f = &w->f;

  if (statuses != PAWL_ALL_STATUSES) f->statuses = statuses;
  f->limit = INT64_MAX;
  f->whole = !purged;
  f->deleted = deleted;
  f->archived = archived;
  f->created_before = soon;
  MUST(pawl_filter_read(e, query, f, err));
  MUST(pawl_filter_check_all(f, err));
  MUST(pawl_filter_check_given(f, err));
  f->up = pawl_filter_is_ascending(f) || (f->has_after && !f->has_before);
  if (f->created_before > soon) f->created_before = soon;
  f->brief = 1;
  w->left = f->limit;
  w->over = !f->statuses || f->none;
  return PAWL_OK;
}

pawl_code pawl_walk_open(pawl_engine *e, pawl_str query, unsigned statuses,
                         int deleted, int archived, int purged,
                         pawl_walk **out, pawl_error *err) {
  pawl_walk *w = pawl_realloc(&e->alloc, NULL, 0, sizeof *w);

  if (!w) return pawl_fail_memory(err);
  pawl_filter_init(e, &w->f);
  pawl_code rc =
      begin_walk(e, w, query, statuses, deleted, archived, purged, err);
  if (rc == PAWL_OK)
    *out = w;
  else
    pawl_walk_close(e, w);
  return rc;
}

void pawl_walk_meant(const pawl_walk *w, unsigned *statuses, int *deleted,
                     int *archived) {
  *statuses = pawl_filter_stored(&w->f);
  *deleted = w->f.deleted;
  *archived = w->f.archived;
}

void pawl_walk_close(pawl_engine *e, pawl_walk *w) {
  if (!w) return;
  pawl_filter_deinit(&w->f);
  pawl_release(&e->alloc, w, sizeof *w);
}

/* The next page begins behind the last of this one: nobody is met twice,
 * whatever becomes of those that were. */
static void take_page(pawl_walk *w, const place *page, int nrows, place *met,
                      int *n) {
  pawl_filter *f = &w->f;

  *n = nrows < f->limit ? nrows : (int)f->limit;
  for (int k = 0; k < *n; k++) met[k] = page[f->up ? k : nrows - 1 - k];
  pawl_filter_pass(f, met[*n - 1].id);
  w->left -= *n;
}

static pawl_code next_page(pawl_engine *e, pawl_walk *w, int max,
                           pawl_rows *rows, place *met, int *n,
                           pawl_error *err) {
  place *page;
  size_t size;

  *n = 0;
  if (w->over || !w->left) return PAWL_OK;
  w->f.limit = w->left < max ? w->left : max;
  MUST(send_list(e, &w->f, rows, err));
  w->over = rows->nrows < w->f.limit;
  if (!rows->nrows) return PAWL_OK;
  MUST(sort_rows(e, rows, &page, &size, err));
  take_page(w, page, rows->nrows, met, n);
  pawl_release(&e->alloc, page, size);
  return PAWL_OK;
}

pawl_code pawl_walk_next(pawl_engine *e, pawl_walk *w, pawl_id *ids, int max,
                         int *n, pawl_error *err) {
  place met[PAWL_WALK_PAGE];
  pawl_rows rows;

  assert(max <= PAWL_WALK_PAGE);
  MUST(next_page(e, w, max, &rows, met, n, err));
  for (int k = 0; k < *n; k++) ids[k] = met[k].id;
  return PAWL_OK;
}

/* ---- all pages, for groups ---- */

#define BIT(status) (1u << PAWL_STATUS_##status)
#define BEGUN (BIT(CREATED) | BIT(RUNNING))

/* The statuses of which counters tell how many of each there are. */
static unsigned counted(const pawl_grouping *how) {
  const unsigned all = how->statuses;
  if (!how->plain) return 0;
  if (how->by == PAWL_GROUP_workflow && (all & BEGUN) == BEGUN) return all;
  if (how->by == PAWL_GROUP_workflow || how->by == PAWL_GROUP_status)
    return all & ~BEGUN;
  return how->by == PAWL_GROUP_node ? all & (BIT(WAITING) | BIT(SUSPENDED))
                                    : 0;
}

static pawl_code begin_groups(pawl_engine *e, pawl_walk *w, pawl_str query,
                              pawl_grouping *how, pawl_error *err) {
  pawl_filter *f = &w->f;

  f->limit = PAWL_MAX_LIMIT;
  MUST(pawl_filter_read_page(e, query, f, err));
  how->by = f->group_by < 0 ? PAWL_NGROUPS : (pawl_group)f->group_by;
  how->name = pawl_filter_group_name(f);
  f->group_by = -1;
  MUST(pawl_filter_check_all(f, err));
  f->brief = how->by != PAWL_GROUP_error;
  *how = (pawl_grouping){.by = how->by,
                         .name = how->name,
                         .statuses = f->statuses,
                         .plain = pawl_filter_is_plain(f),
                         .workflow = pawl_buf_some(&f->workflow),
                         .version = f->version};
  how->counted = counted(how);
  pawl_filter_leave_out(f, how->counted);
  w->left = f->limit;
  w->over = !f->statuses || f->none;
  return PAWL_OK;
}

pawl_code pawl_walk_groups(pawl_engine *e, pawl_str query, pawl_grouping *how,
                           pawl_walk **out, pawl_error *err) {
  pawl_walk *w = pawl_realloc(&e->alloc, NULL, 0, sizeof *w);

  if (!w) return pawl_fail_memory(err);
  pawl_filter_init(e, &w->f);
  pawl_code rc = begin_groups(e, w, query, how, err);
  if (rc == PAWL_OK)
    *out = w;
  else
    pawl_walk_close(e, w);
  return rc;
}

pawl_code pawl_walk_rows(pawl_engine *e, pawl_walk *w, pawl_rows *rows,
                         int *at, int *n, pawl_error *err) {
  place met[PAWL_WALK_PAGE];

  MUST(next_page(e, w, PAWL_WALK_PAGE, rows, met, n, err));
  for (int k = 0; k < *n; k++) at[k] = met[k].row;
  return PAWL_OK;
}

int pawl_walk_is_over(const pawl_walk *w) {
  return w->over;
}
