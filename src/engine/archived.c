/* What is archived is asked as what is not: who is not among those that live is
 * looked for in the archive. Its lines are imported into a store in memory, and
 * whoever answers is asked there: so each answer is as it was (decision 0049).
 */
#include <assert.h>

#include "../rules/state.h"
#include "../value/json.h"
#include "../value/object.h"
#include "ask/ask.h"
#include "common/answer.h"
#include "common/attributes.h"
#include "common/engine_struct.h"
#include "common/find.h"
#include "engine.h"
#include "enter/enter.h"

/* What is asked of one, there or here. */
typedef struct question question;
struct question {
  pawl_code (*ask)(pawl_engine *e, const question *q, pawl_buf *out,
                   pawl_error *err);
  const pawl_id *id;
  const pawl_id *task;
  pawl_str query;
  int everything;
  int is_object; /* the answer: it says that it is archived */
  int *ended;
  int64_t *count; /* of a tally, instead of a text */
  int *more;
};

/* A store in memory, with nothing in it but this one. */
static pawl_code open_beside(pawl_engine *e, pawl_engine **out,
                             pawl_error *err) {
  pawl_config c = PAWL_CONFIG_INIT;

  c.alloc = e->config.alloc;
  c.alloc_ud = e->config.alloc_ud;
  c.clock = e->config.clock;
  c.passed = e->config.passed;
  c.clock_ud = e->config.clock_ud;
  c.max_bytes = e->config.max_bytes;
  return pawl_engine_open(":memory:", &c, out, err);
}

static pawl_code fill(pawl_engine *beside, pawl_str lines, pawl_error *err) {
  return pawl_engine_import(beside, lines, pawl_strz("{\"release\":true}"),
                            NULL, err);
}

/* All that there is of it, with what it ran by. */
static pawl_code read_lines(pawl_engine *e, const pawl_archive_get_row *row,
                            pawl_buf *lines, pawl_buf *who, pawl_error *err) {
  pawl_buf code = {.alloc = &e->alloc}, rows = {.alloc = &e->alloc};
  const int64_t version = row->version;
  pawl_object o;
  pawl_code rc = PAWL_OK;

  pawl_buf_adds(&code, row->workflow);
  pawl_buf_adds(&rows, row->document);
  pawl_object_begin(&o, who);
  pawl_member_archived(&o, row->deletion, row->archived_at, row->purged_at);
  pawl_object_end(&o);
  TRY(pawl_buf_check(who, err));
  TRY(pawl_buf_check(&code, err));
  TRY(pawl_export_workflow(e, pawl_buf_str(&code), version, lines, err));
  pawl_buf_adds(lines, pawl_buf_str(&rows));
  TRY(pawl_buf_check(lines, err));
out:
  pawl_buf_deinit(&code);
  pawl_buf_deinit(&rows);
  return rc;
}

static pawl_code ask_beside(pawl_engine *e, const question *q, pawl_str lines,
                            pawl_buf *out, pawl_error *err) {
  pawl_engine *beside = NULL;
  pawl_code rc = PAWL_OK;

  TRY(open_beside(e, &beside, err));
  TRY(pawl_archive_damaged(q->id, fill(beside, lines, err), err));
  TRY(q->ask(beside, q, out, err));
out:
  pawl_engine_close(beside);
  return rc;
}

/* "archived" stands behind what an object says else. */
static void add_who(const pawl_buf *who, pawl_buf *out) {
  assert(out->len > 2 && out->at[out->len - 1] == '}');
  out->at[out->len - 1] = ',';
  pawl_buf_add(out, who->at + 1, who->len - 1);
}

static pawl_code ask_archive(pawl_engine *e, const question *q,
                             const pawl_archive_get_row *row, pawl_buf *out,
                             pawl_error *err) {
  pawl_buf lines = {.alloc = &e->alloc}, who = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  TRY(read_lines(e, row, &lines, &who, err));
  TRY(ask_beside(e, q, pawl_buf_str(&lines), out, err));
  if (q->is_object) add_who(&who, out);
  TRY(pawl_buf_check(out, err));
out:
  pawl_buf_deinit(&lines);
  pawl_buf_deinit(&who);
  return rc;
}

/* All that there is of one that was purged but for its attributes. */
static pawl_code tell_purged(pawl_engine *e, const pawl_id *id, pawl_buf *out,
                             pawl_error *err) {
  const int shard = pawl_shard_of(e, id);
  pawl_object o, times;
  pawl_rows rows;

  MUST(PAWL_READ(e->store, archive_get, &rows, err, .shard = shard, .id = id));
  if (!rows.nrows) return pawl_instance_missing(id, err);
  const pawl_archive_get_row row = pawl_read_archive_get(&rows, 0);
  pawl_object_begin(&o, out);
  pawl_member_id(&o, "id", id);
  pawl_member_columns(&o, &rows, 0,
                      "workflow version status " PAWL_SHOWN_whose
                      " parent_node parent_index");
  pawl_member_object(&o, "times", &times);
  pawl_member_columns(&times, &rows, 0, PAWL_SHOWN_times);
  pawl_object_end(&times);
  pawl_member_archived(&o, row.deletion, row.archived_at, row.purged_at);
  pawl_member(&o, "attributes");
  pawl_attributes_ask(e, shard, id);
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  MUST(pawl_attributes_add(&rows, out, err));
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}

pawl_code pawl_fail_purged(const pawl_id *id, pawl_error *err) {
  return pawl_fail_hint(err, PAWL_NOTFOUND,
                        "`pawl show` has when and by whom, and attributes",
                        "instance %s was purged", pawl_id_text_of(id).at);
}

static pawl_code ask_get(pawl_engine *e, const question *q, pawl_buf *out,
                         pawl_error *err) {
  return pawl_engine_get(e, q->id, out, err);
}

/* Where it is not among those that live. */
static pawl_code ask(pawl_engine *e, const question *q, pawl_buf *out,
                     pawl_error *err) {
  const size_t len = out->len;
  pawl_archive_get_row row;
  pawl_code rc = q->ask(e, q, out, err);

  if (rc != PAWL_NOTFOUND) return rc;
  const pawl_error missing = *err;
  int there;
  MUST(pawl_archive_find(e, q->id, &there, &row, err));
  out->len = len;
  if (there && !row.purged_at) return ask_archive(e, q, &row, out, err);
  if (there && q->ask == ask_get) return tell_purged(e, q->id, out, err);
  if (there) return pawl_fail_purged(q->id, err);
  *err = missing;
  return rc;
}

pawl_code pawl_anywhere_get(pawl_engine *e, const pawl_id *id, pawl_buf *out,
                            pawl_error *err) {
  const question q = {.ask = ask_get, .id = id, .is_object = 1};
  return ask(e, &q, out, err);
}

/* Also of one that was purged, as long as that is known. */
pawl_code pawl_anywhere_status(pawl_engine *e, const pawl_id *id,
                               const char **out, pawl_error *err) {
  pawl_archive_get_row row;
  pawl_standing status;
  int there;
  const pawl_code rc = pawl_engine_status(e, id, out, err);

  if (rc != PAWL_NOTFOUND) return rc;
  const pawl_error missing = *err;
  MUST(pawl_archive_find(e, id, &there, &row, err));
  if (there && pawl_status_parse(row.status, &status)) {
    *out = pawl_status_name(status);
    return PAWL_OK;
  }
  *err = missing;
  return rc;
}

static pawl_code ask_history(pawl_engine *e, const question *q, pawl_buf *out,
                             pawl_error *err) {
  return pawl_engine_history(e, q->id, q->query, out, err);
}

pawl_code pawl_anywhere_history(pawl_engine *e, const pawl_id *id,
                                pawl_str query, pawl_buf *out,
                                pawl_error *err) {
  const question q = {.ask = ask_history, .id = id, .query = query};
  return ask(e, &q, out, err);
}

static pawl_code ask_tokens(pawl_engine *e, const question *q, pawl_buf *out,
                            pawl_error *err) {
  return pawl_engine_tokens(e, q->id, q->everything, out, err);
}

pawl_code pawl_anywhere_tokens(pawl_engine *e, const pawl_id *id,
                               int everything, pawl_buf *out,
                               pawl_error *err) {
  const question q = {.ask = ask_tokens, .id = id, .everything = everything};
  return ask(e, &q, out, err);
}

static pawl_code ask_published(pawl_engine *e, const question *q,
                               pawl_buf *out, pawl_error *err) {
  return pawl_engine_published(e, q->id, out, err);
}

pawl_code pawl_anywhere_published(pawl_engine *e, const pawl_id *id,
                                  pawl_buf *out, pawl_error *err) {
  const question q = {.ask = ask_published, .id = id};
  return ask(e, &q, out, err);
}

static pawl_code ask_answer(pawl_engine *e, const question *q, pawl_buf *out,
                            pawl_error *err) {
  return pawl_engine_answer(e, q->id, q->query, q->ended, out, err);
}

pawl_code pawl_anywhere_answer(pawl_engine *e, const pawl_id *id,
                               pawl_str event, int *ended, pawl_buf *out,
                               pawl_error *err) {
  const question q = {
      .ask = ask_answer, .id = id, .query = event, .ended = ended};
  return ask(e, &q, out, err);
}

static pawl_code ask_explain(pawl_engine *e, const question *q, pawl_buf *out,
                             pawl_error *err) {
  return pawl_engine_explain(e, q->id, out, err);
}

pawl_code pawl_anywhere_explain(pawl_engine *e, const pawl_id *id,
                                pawl_buf *out, pawl_error *err) {
  const question q = {.ask = ask_explain, .id = id, .is_object = 1};
  return ask(e, &q, out, err);
}

static pawl_code ask_export(pawl_engine *e, const question *q, pawl_buf *out,
                            pawl_error *err) {
  return pawl_engine_export(e, q->id, q->query, out, err);
}

pawl_code pawl_anywhere_export(pawl_engine *e, const pawl_id *id,
                               pawl_str options, pawl_buf *out,
                               pawl_error *err) {
  const question q = {.ask = ask_export, .id = id, .query = options};
  const size_t len = out->len;
  const pawl_code rc = pawl_engine_export_or_move(e, id, options, out, err);

  if (rc != PAWL_NOTFOUND) return rc; /* what is archived cannot be moved */
  out->len = len;
  return ask(e, &q, out, err);
}

static pawl_code ask_task(pawl_engine *e, const question *q, pawl_buf *out,
                          pawl_error *err) {
  return pawl_engine_task_get(e, q->task, out, err);
}

pawl_code pawl_anywhere_task_get(pawl_engine *e, const pawl_id *id,
                                 pawl_buf *out, pawl_error *err) {
  const size_t len = out->len;
  pawl_archive_get_row row;
  pawl_id instance;
  int there;
  const pawl_code rc = pawl_engine_task_get(e, id, out, err);

  if (rc != PAWL_NOTFOUND) return rc;
  const pawl_error missing = *err;
  const question q = {.ask = ask_task, .id = &instance, .task = id};
  MUST(pawl_archive_task(e, id, &there, &instance, err));
  if (there) MUST(pawl_archive_find(e, &instance, &there, &row, err));
  out->len = len;
  if (there && !row.purged_at) return ask_archive(e, &q, &row, out, err);
  *err = missing;
  return rc;
}

static pawl_code ask_tasks(pawl_engine *e, const question *q, pawl_buf *out,
                           pawl_error *err) {
  return pawl_engine_task_list(e, q->query, out, err);
}

/* The one that a list of tasks names, if the archive has it. */
static pawl_code find_named(pawl_engine *e, pawl_str query, pawl_id *id,
                            int *there, pawl_archive_get_row *row,
                            pawl_error *err) {
  pawl_buf text = {.alloc = &e->alloc};
  pawl_error why;
  pawl_str named;
  pawl_code rc = PAWL_OK;

  *there = 0;
  if (!query.at || !pawl_json_get(query, "instance", &named)) return PAWL_OK;
  pawl_json_unquote(named, &text);
  TRY(pawl_buf_check(&text, err));
  if (pawl_engine_find(e, text.at, id, &why) == PAWL_OK)
    TRY(pawl_archive_find(e, id, there, row, err));
out:
  pawl_buf_deinit(&text);
  return rc;
}

/* Where `out` has nothing behind `len` from those that live: the answer of the
 * one that is named, if it is archived. */
static pawl_code ask_named(pawl_engine *e, question q, size_t len,
                           pawl_buf *out, pawl_error *err) {
  pawl_archive_get_row row;
  pawl_id id;
  int there;

  MUST(find_named(e, q.query, &id, &there, &row, err));
  if (!there || row.purged_at) return PAWL_OK;
  out->len = len;
  q.id = &id;
  return ask_archive(e, &q, &row, out, err);
}

/* Those of one that is archived are asked for by its id. */
pawl_code pawl_anywhere_task_list(pawl_engine *e, pawl_str query,
                                  pawl_buf *out, pawl_error *err) {
  const question q = {.ask = ask_tasks, .query = query};
  const size_t len = out->len;

  MUST(pawl_engine_task_list(e, query, out, err));
  if (out->len - len > 2) return PAWL_OK; /* more than "[]" */
  return ask_named(e, q, len, out, err);
}

static pawl_code ask_tally(pawl_engine *e, const question *q, pawl_buf *out,
                           pawl_error *err) {
  (void)out;
  return pawl_engine_task_tally(e, q->query, q->count, q->more, err);
}

/* As many as such a list would have. */
pawl_code pawl_anywhere_task_tally(pawl_engine *e, pawl_str query,
                                   int64_t *count, int *more,
                                   pawl_error *err) {
  const question q = {
      .ask = ask_tally, .query = query, .count = count, .more = more};
  pawl_buf none = {.alloc = &e->alloc};

  MUST(pawl_engine_task_tally(e, query, count, more, err));
  if (*count) return PAWL_OK;
  const pawl_code rc = ask_named(e, q, 0, &none, err);
  pawl_buf_deinit(&none);
  return rc;
}
