/* Asking: an instance, and the outbox, as JSON text.
 *
 * A row becomes an object by the names of its columns (common/answer.h): what
 * people see and what SQL calls it stand side by side, here or where SQL names
 * them for more than one statement (PAWL_SHOWN_...), and nowhere else.
 * The outbox is made of what each shard gives: its first rows in the order that
 * is asked for, of which the first of all are kept. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "../../rules/state.h"
#include "../../value/options.h"
#include "../common/answer.h"
#include "../common/attributes.h"
#include "../common/find.h"
#include "../common/tenant.h"
#include "../versions/crossing.h"
#include "../versions/undo_walk.h"
#include "../versions/versions.h"
#include "ask.h"

#define MAX_UNDOS 1000 /* shown in each list of a compensation */

/* ---- one instance ---- */

/* Names and order are what `pawl.h` promises. */
static void add_instance(const pawl_rows *r, pawl_object *o) {
  const pawl_instance_get_row row = pawl_read_instance_get(r, 0);
  pawl_object times;

  pawl_member_columns(o, r, 0, "id workflow version status node input");
  pawl_member(o, "variables");
  if (!row.variables.at)
    pawl_buf_addz(o->out, "{}");
  else if (row.parts) /* several rows, in no order */
    pawl_json_apply(row.variables, pawl_strz("{}"), o->out);
  else
    pawl_buf_adds(o->out, row.variables);
  pawl_member_columns(o, r, 0, "output error cancellation");
  pawl_member_json(o, "progress", row.progress);
  pawl_member_columns(o, r, 0,
                      PAWL_SHOWN_whose
                      " parent_node parent_index trigger_event trigger_source "
                      "deadline=deadline_at max_bytes "
                      "suspended_at metadata commits successor");
  pawl_member_deleted(o, row.deletion, row.deleted_at, row.purge_at);
  pawl_member_away(o, row.away);
  pawl_member_object(o, "times", &times);
  pawl_member_columns(&times, r, 0, PAWL_SHOWN_times);
  pawl_object_end(&times);
}

static void add_tokens(const pawl_rows *r, pawl_buf *out) {
  pawl_add_rows(out, r,
                "no node state visit previous=previous_node parent scope fork "
                "branch data event detail attempt due=due_at "
                "entered=entered_at created=created_at");
}

/* Who holds it, and when it is looked at next. */
static void add_agenda(const pawl_rows *r, pawl_object *o) {
  pawl_agenda_get_row row = {.executor = NULL};

  if (r->nrows) row = pawl_read_agenda_get(r, 0);
  pawl_member_lease(o, r);
  pawl_member_time(o, "due", row.due_at);
  pawl_member_id(o, "executor", row.executor);
}

/* ---- what was undone ---- */

/* A compensation, and what its lists are made from. */
typedef struct undoing {
  int shard;
  pawl_id id;
  pawl_instance_get_row row; /* nothing in it: it has none */
  pawl_buf keep;             /* what the row borrows */
  int64_t since;             /* 0: its plan is not made yet */
} undoing;

/* Copied: what follows asks the store again, and the row is gone then. */
static pawl_code take_undoing(const pawl_rows *r, undoing *u,
                              pawl_error *err) {
  pawl_str value;

  if (!pawl_read_instance_get(r, 0).compensation.len) return PAWL_OK;
  MUST(PAWL_KEEP(instance_get, r, &u->keep, err));
  u->row = *PAWL_KEPT(instance_get, &u->keep);
  if (pawl_json_get(u->row.compensation, "since", &value))
    (void)pawl_json_int(value, &u->since);
  return PAWL_OK;
}

/* All that there was to undo, as the engine finds it: it needs the graph. */
static pawl_code add_undo_plan(pawl_engine *e, const undoing *u, pawl_buf *out,
                               pawl_error *err) {
  pawl_renames renames = {0};
  pawl_undo_walk w = {.renames = &renames,
                      .shard = u->shard,
                      .id = u->id,
                      .below = u->since,
                      .from = INT64_MAX,
                      .max = MAX_UNDOS,
                      .list = out};
  pawl_buf by = {.alloc = &e->alloc};
  pawl_def *def = NULL;
  pawl_str moves;
  int own = 0;
  pawl_code rc = PAWL_OK;

  TRY(pawl_graph_find(e, u->row.workflow.at, u->row.version, &def, &own, err));
  w.def = def;
  if (pawl_json_get(u->row.compensation, "transfers", &moves))
    TRY(pawl_renames_pick(e, u->shard, &u->id, moves, &renames, err));
  if (pawl_json_get_int(u->row.compensation, "by", 0) &&
      pawl_json_get_text(u->row.compensation, "node", &by))
    w.by = pawl_buf_str(&by);
  TRY(pawl_buf_check(&by, err));
  TRY(pawl_undo_walk_on(e, &w, MAX_UNDOS, err));
out:
  pawl_undo_walk_deinit(&w);
  pawl_buf_deinit(&by);
  if (own) pawl_def_free(def);
  pawl_renames_deinit(e, &renames);
  return rc;
}

/* `previous` begins with the row of history that was undone. */
static void add_one_undone(const pawl_rows *r, int k, int failed,
                           pawl_buf *out) {
  pawl_str key, seq = pawl_strz("null");
  pawl_json_iter it = {0};
  pawl_object one;

  (void)pawl_json_each(pawl_read_history_undone(r, k).previous, &it, &key,
                       &seq);
  if (!failed) {
    pawl_buf_adds(out, seq);
    return;
  }
  pawl_object_begin(&one, out);
  pawl_member_json(&one, "seq", seq);
  pawl_member_columns(&one, r, k, "node error at=completed_at");
  pawl_object_end(&one);
}

/* Of one kind, in the order in which it was done. */
static pawl_code add_undone(pawl_engine *e, const undoing *u, int failed,
                            pawl_buf *out, pawl_error *err) {
  pawl_object list;
  pawl_rows rows;

  MUST(PAWL_READ(e->store, history_undone, &rows, err, .shard = u->shard,
                 .id = &u->id, .since = u->since,
                 .type = pawl_strz(failed ? "undo_failed" : "undone"),
                 .max = MAX_UNDOS));
  pawl_list_begin(&list, out);
  for (int k = 0; k < rows.nrows; k++) {
    pawl_list_next(&list);
    add_one_undone(&rows, k, failed, out);
  }
  pawl_list_end(&list);
  return PAWL_OK;
}

/* The record, and what its plan is made of: the first of each list. */
static pawl_code add_compensation(pawl_engine *e, const undoing *u,
                                  pawl_buf *out, pawl_error *err) {
  const pawl_str record = u->row.compensation;

  if (!u->since) {
    pawl_buf_adds(out, record.len ? record : pawl_strz("null"));
    return PAWL_OK;
  }
  assert(record.len > 2 && record.at[record.len - 1] == '}');
  pawl_buf_add(out, record.at, record.len - 1);
  pawl_buf_addz(out, ",\"plan\":[");
  MUST(add_undo_plan(e, u, out, err));
  pawl_buf_addz(out, "],\"completed\":");
  MUST(add_undone(e, u, 0, out, err));
  pawl_buf_addz(out, ",\"failed\":");
  MUST(add_undone(e, u, 1, out, err));
  pawl_buf_addc(out, '}');
  return PAWL_OK;
}

pawl_code pawl_engine_status(pawl_engine *e, const pawl_id *id,
                             const char **out, pawl_error *err) {
  pawl_standing status;
  pawl_rows rows;

  MUST(PAWL_READ(e->store, instance_status, &rows, err,
                 .shard = pawl_shard_of(e, id), .id = id));
  if (!rows.nrows) return pawl_instance_missing(id, err);
  const pawl_str text = pawl_read_instance_status(&rows, 0).status;
  if (!pawl_status_parse(text, &status))
    return pawl_fail(err, PAWL_CORRUPT, "instance %s has no status",
                     pawl_id_text_of(id).at);
  *out = pawl_status_name(status);
  return PAWL_OK;
}

/* One trip for what everybody has. Attributes and what was undone are more, of
 * few instances, and asked for behind it. */
pawl_code pawl_engine_get(pawl_engine *e, const pawl_id *id, pawl_buf *out,
                          pawl_error *err) {
  int shard = pawl_shard_of(e, id);
  undoing u = {.shard = shard, .id = *id, .keep = {.alloc = &e->alloc}};
  pawl_rows rows;
  pawl_object o;
  int found, tokens, agenda, trimmed;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(PAWL_SEND(e->store, instance_get, &found, err, .shard = shard,
                .id = id));
  TRY(PAWL_SEND(e->store, token_list, &tokens, err, .shard = shard, .id = id));
  TRY(PAWL_SEND(e->store, agenda_get, &agenda, err, .shard = shard, .id = id,
                .now = pawl_store_now(e->store)));
  TRY(PAWL_SEND(e->store, history_trimmed, &trimmed, err, .shard = shard,
                .id = id));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, found, &rows);
  if (!rows.nrows) return pawl_instance_missing(id, err);
  TRY(take_undoing(&rows, &u, err));
  pawl_object_begin(&o, out);
  add_instance(&rows, &o);
  pawl_store_rows(e->store, tokens, &rows);
  pawl_member(&o, "tokens");
  add_tokens(&rows, out);
  pawl_store_rows(e->store, agenda, &rows);
  add_agenda(&rows, &o);
  pawl_store_rows(e->store, trimmed, &rows);
  pawl_trimmed_tell(&rows, &o);
  pawl_member(&o, "attributes");
  pawl_attributes_ask(e, shard, id);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  TRY(pawl_attributes_add(&rows, out, err));
  pawl_member(&o, "compensation");
  TRY(add_compensation(e, &u, out, err));
  pawl_object_end(&o);
  TRY(pawl_buf_check(out, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  pawl_buf_deinit(&u.keep);
  return rc;
}

pawl_code pawl_engine_tokens(pawl_engine *e, const pawl_id *id, int everything,
                             pawl_buf *out, pawl_error *err) {
  int shard = pawl_shard_of(e, id);
  pawl_rows rows;
  int found, tokens;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(PAWL_SEND(e->store, instance_get, &found, err, .shard = shard,
                .id = id));
  TRY(PAWL_SEND(e->store, token_list, &tokens, err, .shard = shard, .id = id,
                .everything = everything));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, found, &rows);
  if (!rows.nrows) return pawl_instance_missing(id, err);
  pawl_store_rows(e->store, tokens, &rows);
  add_tokens(&rows, out);
  TRY(pawl_buf_check(out, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

static void add_published(const pawl_rows *rows, pawl_buf *out) {
  pawl_object o, one;

  pawl_object_begin(&o, out);
  for (int k = 0; k < rows->nrows; k++) {
    const pawl_published_list_row row = pawl_read_published_list(rows, k);
    pawl_member_named(&o, row.name);
    pawl_object_begin(&one, out);
    pawl_member_json(&one, "value", row.value);
    pawl_member_time(&one, "updated", row.updated_at);
    pawl_object_end(&one);
  }
  pawl_object_end(&o);
}

/* Of what it has published: rows of `stmt`, which has these arguments. Behind
 * its status, so that what has ended by that publishes no more. */
static pawl_code read_published(pawl_engine *e, const pawl_id *id,
                                pawl_stmt stmt, const void *args, int *ended,
                                pawl_rows *rows, pawl_error *err) {
  pawl_standing status;
  int found, list;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(PAWL_SEND(e->store, instance_status, &found, err,
                .shard = pawl_shard_of(e, id), .id = id));
  TRY(pawl_store_send_one(e->store, stmt, args, &list, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, found, rows);
  if (!rows->nrows) return pawl_instance_missing(id, err);
  *ended =
      pawl_status_parse(pawl_read_instance_status(rows, 0).status, &status) &&
      pawl_status_has_ended(status);
  pawl_store_rows(e->store, list, rows);
  return PAWL_OK;
out:
  pawl_store_rollback(e->store);
  return rc;
}

pawl_code pawl_engine_published(pawl_engine *e, const pawl_id *id,
                                pawl_buf *out, pawl_error *err) {
  const pawl_published_list_args args = {.shard = pawl_shard_of(e, id),
                                         .id = id};
  pawl_rows rows;
  int ended;

  MUST(read_published(e, id, PAWL_STMT_published_list, &args, &ended, &rows,
                      err));
  add_published(&rows, out);
  return pawl_buf_check(out, err);
}

pawl_code pawl_engine_answer(pawl_engine *e, const pawl_id *id, pawl_str event,
                             int *ended, pawl_buf *out, pawl_error *err) {
  const pawl_published_get_args args = {
      .shard = pawl_shard_of(e, id), .id = id, .answers = 1, .name = event};
  pawl_rows rows;

  MUST(read_published(e, id, PAWL_STMT_published_get, &args, ended, &rows,
                      err));
  if (rows.nrows) pawl_buf_adds(out, pawl_read_published_get(&rows, 0).value);
  return pawl_buf_check(out, err);
}

/* ---- the outbox ---- */

/* The place of the last row that was seen is given back as it was told. */
typedef struct outbox_query {
  uint64_t given;
  pawl_buf type, after, instance_id, tenant;
  int64_t limit, emitted_before_us;
  int has_instance, has_after, dead;
  pawl_id instance, after_instance;
  int64_t after_us, after_seq;
} outbox_query;

static const pawl_option outbox_rows[] = {
    {"type", PAWL_OPTION_TEXT, .at = offsetof(outbox_query, type), .low = 1},
    {"tenant", PAWL_OPTION_TEXT, .at = offsetof(outbox_query, tenant),
     .low = 1},
    {"instance", PAWL_OPTION_TEXT, .at = offsetof(outbox_query, instance_id)},
    {"limit", PAWL_OPTION_INT, .at = offsetof(outbox_query, limit), .low = 1,
     .high = PAWL_MAX_LIMIT},
    {"emitted_before_us", PAWL_OPTION_TIME,
     .at = offsetof(outbox_query, emitted_before_us), .low = 1,
     .high = INT64_MAX},
    {"dead", PAWL_OPTION_BOOL, .at = offsetof(outbox_query, dead)},
    {"after", PAWL_OPTION_TEXT, .at = offsetof(outbox_query, after),
     .low = 1}};
PAWL_OPTIONS_OF(outbox_list) = {.what = "outbox",
                                PAWL_OPTION_ROWS(outbox_rows)};

/* "MICROSECONDS/INSTANCE/SEQ": a row's place in the order they are due. */
static pawl_code read_place(outbox_query *q, pawl_error *err) {
  char *end = NULL, *slash;

  if (!q->after.at) return PAWL_OK;
  q->after_us = strtoll(q->after.at, &end, 10);
  q->has_after =
      end != q->after.at && *end == '/' &&
      (slash = strchr(end + 1, '/')) != NULL &&
      pawl_id_parse(end + 1, (size_t)(slash - end - 1), &q->after_instance);
  if (q->has_after) {
    const char *digits = slash + 1;
    q->after_seq = strtoll(digits, &end, 10);
    q->has_after = end != digits && !*end;
  }
  if (q->has_after) return PAWL_OK;
  return pawl_fail_hint(err, PAWL_INVALID,
                        "give the `place` of the last row of a page",
                        "outbox: `after` is not a row's place");
}

static pawl_code read_outbox_query(pawl_engine *e, pawl_str query,
                                   outbox_query *q, pawl_error *err) {
  q->limit = 100;
  MUST(pawl_options_read(&pawl_options_of_outbox_list, query, q, err));
  MUST(pawl_tenant_take(e, &q->tenant, err)); /* Z2 */
  MUST(pawl_find_given(e, &q->instance_id, &q->instance, &q->has_instance,
                       err));
  return read_place(q, err);
}

/* All three of the place are null, or none: together they are the order. */
#define WHICH(q)                                                  \
  .type = pawl_buf_some(&(q)->type),                              \
  .emitted_before = (q)->emitted_before_us,                       \
  .after_at = (q)->has_after ? (q)->after_us : PAWL_NULL,         \
  .after_instance = (q)->has_after ? &(q)->after_instance : NULL, \
  .after_seq = (q)->has_after ? (q)->after_seq : PAWL_NULL, .max = (q)->limit

static pawl_code ask_outbox_of(pawl_engine *e, const outbox_query *q,
                               pawl_rows *rows, pawl_error *err) {
  return PAWL_READ(
      e->store, outbox_of, rows, err, .shard = pawl_shard_of(e, &q->instance),
      .instance = &q->instance, .tenant = pawl_buf_some(&q->tenant),
      .dead = q->dead, WHICH(q));
}

static pawl_code ask_outbox(pawl_engine *e, const outbox_query *q,
                            pawl_rows *rows, pawl_error *err) {
  if (q->has_instance) return ask_outbox_of(e, q, rows, err);
  pawl_args_begin(&e->args, q->dead         ? PAWL_STMT_outbox_dead
                            : q->tenant.len ? PAWL_STMT_outbox_list_tenant
                                            : PAWL_STMT_outbox_list);
  for (int s = 0; s < e->nshards; s++)
    if (q->dead)
      PAWL_PUT(&e->args, outbox_dead, .shard = s,
               .tenant = pawl_buf_some(&q->tenant), WHICH(q));
    else if (q->tenant.len)
      PAWL_PUT(&e->args, outbox_list_tenant, .shard = s,
               .tenant = pawl_buf_str(&q->tenant), WHICH(q));
    else
      PAWL_PUT(&e->args, outbox_list, .shard = s, WHICH(q));
  return pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, rows, err);
}

/* Where a row stands in the order that was asked for, and which it is. */
typedef struct emitted {
  int64_t due_us, seq;
  const pawl_id *instance;
  int row;
} emitted;

static emitted emitted_at(const pawl_rows *r, int k, int dead) {
  const pawl_outbox_list_row row = pawl_read_outbox_list(r, k);
  return (emitted){dead ? row.dead_at : row.due_at, row.seq, row.instance, k};
}

/* Its turn comes behind the one before it, whatever its row says of a time: of
 * those that were put off until then it says none. */
static int is_behind(const pawl_outbox_list_row *row) {
  return !row->dead_at && !row->leased &&
         (row->behind || row->due_at == PAWL_TIME_MAX);
}

static const char *state_of(const pawl_outbox_list_row *row) {
  if (row->dead_at) return "dead";
  if (row->leased) return "leased";
  return is_behind(row) ? "behind" : "waiting";
}

static void add_emitted(const pawl_rows *r, const emitted *at,
                        pawl_object *list) {
  const pawl_outbox_list_row row = pawl_read_outbox_list(r, at->row);
  pawl_object o;

  pawl_list_object(list, &o);
  pawl_member_columns(&o, r, at->row,
                      "instance seq tenant type payload created=created_at "
                      "attempts");
  pawl_member_textz(&o, "state", state_of(&row));
  pawl_member_time(
      &o, "due",
      is_behind(&row) || row.due_at == PAWL_TIME_MAX ? 0 : row.due_at);
  pawl_member_columns(&o, r, at->row, "dead=dead_at error by reason");
  pawl_member(&o, "place");
  pawl_buf_addf(o.out, "\"%" PRId64 "/%s/%" PRId64 "\"", at->due_us,
                pawl_id_text_of(at->instance).at, at->seq);
  pawl_object_end(&o);
}

/* As the statement orders them in a shard, so that pages of all shards fit
 * together. */
static int due_first(const void *a, const void *b) {
  const emitted *x = a, *y = b;

  if (x->due_us != y->due_us) return x->due_us < y->due_us ? -1 : 1;
  int order = pawl_id_cmp(x->instance, y->instance);
  return order ? order : (x->seq > y->seq) - (x->seq < y->seq);
}

/* Each shard gave its first rows: the first of all of them. */
static pawl_code add_outbox(pawl_engine *e, const pawl_rows *r,
                            const outbox_query *q, pawl_buf *out,
                            pawl_error *err) {
  pawl_object list;
  emitted *rows;
  size_t size = sizeof *rows * (size_t)r->nrows;
  int take = r->nrows < q->limit ? r->nrows : (int)q->limit;

  pawl_list_begin(&list, out);
  if (r->nrows) {
    rows = pawl_realloc(&e->alloc, NULL, 0, size);
    if (!rows) return pawl_fail_memory(err);
    for (int k = 0; k < r->nrows; k++) rows[k] = emitted_at(r, k, q->dead);
    qsort(rows, (size_t)r->nrows, sizeof *rows, due_first);
    for (int k = 0; k < take; k++) add_emitted(r, &rows[k], &list);
    pawl_release(&e->alloc, rows, size);
  }
  pawl_list_end(&list);
  return pawl_buf_check(out, err);
}

pawl_code pawl_engine_outbox_list(pawl_engine *e, pawl_str query,
                                  pawl_buf *out, pawl_error *err) {
  outbox_query q;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_outbox_list, &q, sizeof q, &e->alloc);
  TRY(read_outbox_query(e, query, &q, err));
  TRY(ask_outbox(e, &q, &rows, err));
  TRY(add_outbox(e, &rows, &q, out, err));
out:
  pawl_options_deinit(&pawl_options_of_outbox_list, &q);
  return rc;
}
