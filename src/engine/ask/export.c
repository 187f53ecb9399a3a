/* An instance with all its rows, as lines of JSON (common/lines.h): what it
 * takes to go on with it in another store. All is read as it is at one moment,
 * also while somebody holds the instance: then it is as if that one had died,
 * and runs again what he has not committed. */
#include "../../value/options.h"
#include "../common/engine_struct.h"
#include "../common/find.h"
#include "../common/lines.h"
#include "../common/time.h"
#include "ask.h"

enum { MAX_MASKS = 32, FORMAT = 1 };

typedef struct export_options {
  uint64_t given;
  pawl_str mask; /* JSON: a text, or a list */
  pawl_buf by;
  int move;
} export_options;

static const pawl_option export_rows[] = {
    {"mask", PAWL_OPTION_TEXTS, .at = offsetof(export_options, mask),
     .low = 1},
    {"by", PAWL_OPTION_TEXT, .at = offsetof(export_options, by), .low = 1,
     .high = 255},
    {"move", PAWL_OPTION_BOOL, .at = offsetof(export_options, move)}};
PAWL_OPTIONS_OF(export) = {.what = "export", PAWL_OPTION_ROWS(export_rows)};

/* ---- what is masked ---- */

/* Attributes by their names, here and where history has what became of them;
 * "vars." in front: members of variables. */
typedef struct masks {
  pawl_buf text; /* what the others borrow */
  pawl_str names[MAX_MASKS], paths[MAX_MASKS];
  int nnames, npaths;
  int path_of[MAX_MASKS]; /* of a name: each mask has a path */
  uint32_t *met;          /* as in pawl_mask */
} masks;

static const char VARS[] = "vars.", ATTRIBUTES[] = "attributes.";

/* What stands behind that beginning; 0: it begins otherwise. */
static int behind(pawl_str text, const char *front, pawl_str *rest) {
  const size_t n = strlen(front);
  if (text.len <= n || memcmp(text.at, front, n) != 0) return 0;
  *rest = (pawl_str){text.at + n, text.len - n};
  return 1;
}

static void take_mask(masks *m, pawl_str text) {
  if (behind(text, VARS, &m->paths[m->npaths])) {
    m->npaths++;
    return;
  }
  m->path_of[m->nnames] = m->npaths;
  (void)behind(text, ATTRIBUTES, &m->names[m->nnames++]);
  m->paths[m->npaths++] = text;
}

static void add_mask(pawl_str quoted, pawl_buf *text) {
  pawl_str rest, raw = {quoted.at + 1, quoted.len - 2};
  if (!behind(raw, VARS, &rest)) pawl_buf_addz(text, ATTRIBUTES);
  pawl_json_unquote(quoted, text);
}

static pawl_code read_masks(pawl_str given, masks *m, pawl_error *err) {
  const int is_one = pawl_json_kind_of(given) == PAWL_JSON_STRING;
  size_t at[MAX_MASKS + 1];
  int n = 0;

  if (!given.len) return PAWL_OK;
  if (!is_one && pawl_json_count(given) > MAX_MASKS)
    return pawl_fail(err, PAWL_LIMIT, "more than %d masks", MAX_MASKS);
  at[n++] = 0;
  if (is_one) {
    add_mask(given, &m->text);
    at[n++] = m->text.len;
  }
  for (pawl_json_iter it = {0}; !is_one && pawl_json_walk(given, &it);) {
    add_mask(it.value, &m->text);
    at[n++] = m->text.len;
  }
  MUST(pawl_buf_check(&m->text, err));
  for (int i = 0; i + 1 < n; i++)
    take_mask(m, (pawl_str){m->text.at + at[i], at[i + 1] - at[i]});
  return PAWL_OK;
}

static int meets(const masks *m, int path) {
  if (m->met) *m->met |= 1u << path;
  return 1;
}

static int is_masked(const masks *m, pawl_str name) {
  for (int i = 0; i < m->nnames; i++)
    if (pawl_str_eq(m->names[i], name)) return meets(m, m->path_of[i]);
  return 0;
}

/* What is shown goes by its name, as a variable does. */
static int is_hidden(const masks *m, pawl_str shown) {
  for (int i = 0; i < m->npaths; i++)
    if (pawl_str_eq(m->paths[i], shown)) return meets(m, i);
  return is_masked(m, shown);
}

/* Those that had nothing to mask, as they were given: so that a slip does not
 * look like a secret that is kept. */
static void add_unmet(const masks *m, pawl_object *end) {
  const uint32_t all = m->npaths < 32 ? (1u << m->npaths) - 1 : UINT32_MAX;
  pawl_object list;

  if (!m->met || (*m->met & all) == all) return;
  pawl_member_list(end, "unmet", &list);
  for (int i = 0; i < m->npaths; i++) {
    pawl_str text = m->paths[i];
    if (*m->met >> i & 1u) continue;
    pawl_list_next(&list);
    if (!behind(text, ATTRIBUTES, &text))
      text = (pawl_str){text.at - (sizeof VARS - 1),
                        text.len + (sizeof VARS - 1)};
    pawl_add_text(list.out, text);
  }
  pawl_list_end(&list);
}

/* ---- read ---- */

/* Where each table's rows are, once the unit is over. */
typedef struct found {
  int at[PAWL_NCARRIED];
} found;

/* They all ask for one instance's rows. */
static const pawl_stmt asks[] = {
#define ASK(table) PAWL_STMT_export_##table,
    PAWL_CARRIED(ASK)};

static pawl_code read_rows(pawl_engine *e, const pawl_id *id, found *f,
                           pawl_error *err) {
  const pawl_export_instance_args which = {.shard = pawl_shard_of(e, id),
                                           .id = id};
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_SNAPSHOT, err));
  for (int i = 0; i < PAWL_NCARRIED; i++)
    TRY(pawl_store_send_one(e->store, asks[i], &which, &f->at[i], err));
  TRY(pawl_store_commit(e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* ---- written ---- */

static const char *const names[] = {
#define NAME(table) #table,
    PAWL_CARRIED(NAME)};

/* What it has emitted and nobody has published is so from here. */
static int stays_here(const pawl_rows *rows, int k, pawl_carried table,
                      const export_options *o) {
  return o->move && table == PAWL_CARRIED_outbox &&
         !pawl_read_export_outbox(rows, k).published_at;
}

/* Row 0 of a history names variables, and rows that hold them: it has nobody's
 * values, and would tell nothing with others in the place of its numbers. */
static int has_no_data(const pawl_rows *rows, int k, pawl_carried table) {
  return table == PAWL_CARRIED_history &&
         !pawl_read_export_history(rows, k).seq;
}

static int64_t add_table(const pawl_rows *rows, pawl_carried table,
                         const export_options *o, const masks *m,
                         pawl_buf *out) {
  const pawl_mask mask = {m->paths, m->npaths, m->met};
  int64_t n = 0;

  for (int k = 0; k < rows->nrows; k++) {
    if (table == PAWL_CARRIED_attribute &&
        is_masked(m, pawl_read_export_attribute(rows, k).name))
      continue;
    if (table == PAWL_CARRIED_published &&
        is_hidden(m, pawl_read_export_published(rows, k).name))
      continue;
    if (stays_here(rows, k, table, o)) continue;
    pawl_line_write(rows, k, names[table],
                    has_no_data(rows, k, table) ? NULL : &mask, out);
    n++;
  }
  return n;
}

/* Which instance comes, and who carries it away. */
static void add_head(pawl_engine *e, const pawl_rows *rows,
                     const export_options *o, pawl_buf *out) {
  const pawl_export_instance_row row = pawl_read_export_instance(rows, 0);
  pawl_object head;

  pawl_object_begin(&head, out);
  pawl_member_textz(&head, "is", "export");
  pawl_member_int(&head, "format", FORMAT);
  pawl_member_id(&head, "id", row.id);
  pawl_member_str(&head, "workflow", row.workflow);
  pawl_member_int(&head, "version", row.version);
  pawl_member_str(&head, "status", row.status);
  pawl_member_bool(&head, "masked", o->mask.len > 0);
  if (o->move) pawl_member_bool(&head, "moved", 1);
  pawl_member_time(&head, "at", pawl_engine_now(e));
  if (o->by.len) pawl_member_str(&head, "by", pawl_buf_str(&o->by));
  pawl_object_end(&head);
  pawl_buf_addc(out, '\n');
}

static void add_end(const pawl_id *id, int64_t nrows, const masks *m,
                    pawl_buf *out) {
  pawl_object end;

  pawl_object_begin(&end, out);
  pawl_member_textz(&end, "is", "end");
  pawl_member_id(&end, "id", id);
  pawl_member_int(&end, "rows", nrows);
  add_unmet(m, &end);
  pawl_object_end(&end);
  pawl_buf_addc(out, '\n');
}

pawl_code pawl_export_workflow(pawl_engine *e, pawl_str code, int64_t version,
                               pawl_buf *out, pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_READ(e->store, export_workflow, &rows, err, .code = code,
                 .version = version));
  for (int k = 0; k < rows.nrows; k++)
    pawl_line_write(&rows, k, "workflow", NULL, out);
  return PAWL_OK;
}

/* Damaged JSON in the store would be a damaged line. */
static pawl_code check_lines(const pawl_id *id, const pawl_buf *out,
                             pawl_error *err) {
  pawl_str rest = pawl_buf_str(out);
  pawl_error why;

  MUST(pawl_buf_check(out, err));
  while (rest.len) {
    const char *end = memchr(rest.at, '\n', rest.len);
    const pawl_str line = {rest.at, (size_t)(end - rest.at)};
    const pawl_code rc =
        pawl_json_check_depth(line, PAWL_RECORD_DEPTH, NULL, &why);
    if (rc == PAWL_NOMEM) return pawl_fail_memory(err);
    if (rc != PAWL_OK)
      return pawl_fail_hint(err, PAWL_CORRUPT,
                            "somebody else has written to the store, or the "
                            "disk is failing: restore it from a backup",
                            "the store holds damaged JSON, of %s: %s",
                            pawl_id_text_of(id).at, why.message);
    rest.at += line.len + 1;
    rest.len -= line.len + 1;
  }
  return PAWL_OK;
}

/* What goes on elsewhere stands still here, and nothing of it is under way. */
static pawl_code check_move(const pawl_id *id, pawl_carried table,
                            const pawl_rows *rows, pawl_error *err) {
  if (table == PAWL_CARRIED_instance && rows->nrows &&
      !pawl_read_export_instance(rows, 0).away.len)
    return pawl_fail_hint(err, PAWL_CONFLICT, "carry it away first",
                          "instance %s goes on here", pawl_id_text_of(id).at);
  if ((table == PAWL_CARRIED_message || table == PAWL_CARRIED_ending) &&
      rows->nrows)
    return pawl_fail_hint(
        err, PAWL_BUSY,
        "a worker hands it over within a second or two: export it again then",
        "instance %s has a word for another one under way",
        pawl_id_text_of(id).at);
  return PAWL_OK;
}

/* Its definition comes in front, and is asked for behind: which one it is, its
 * own row tells. */
static pawl_code add_instance(pawl_engine *e, const pawl_id *id,
                              const export_options *o, const masks *m,
                              pawl_buf *out, pawl_error *err) {
  pawl_buf lines = {.alloc = &e->alloc}, code = {.alloc = &e->alloc};
  int64_t n = 0, version = 0;
  pawl_rows rows;
  found f;
  pawl_code rc = PAWL_OK;

  TRY(read_rows(e, id, &f, err));
  for (int i = 0; i < PAWL_NCARRIED; i++) {
    pawl_store_rows(e->store, f.at[i], &rows);
    if (i == PAWL_CARRIED_instance && !rows.nrows)
      TRY(pawl_instance_missing(id, err));
    if (i == PAWL_CARRIED_instance) {
      add_head(e, &rows, o, &lines);
      pawl_buf_adds(&code, pawl_read_export_instance(&rows, 0).workflow);
      version = pawl_read_export_instance(&rows, 0).version;
    }
    if (o->move) TRY(check_move(id, (pawl_carried)i, &rows, err));
    n += add_table(&rows, (pawl_carried)i, o, m, &lines);
  }
  add_end(id, n, m, &lines);
  TRY(check_lines(id, &lines, err));
  TRY(pawl_export_workflow(e, pawl_buf_str(&code), version, out, err));
  pawl_buf_adds(out, pawl_buf_str(&lines));
  TRY(pawl_buf_check(out, err));
out:
  pawl_buf_deinit(&lines);
  pawl_buf_deinit(&code);
  return rc;
}

/* A child that goes on here would have its result told to nobody. */
static pawl_code check_whole(pawl_engine *e, const pawl_id *id,
                             const export_options *o, pawl_error *err) {
  pawl_rows rows;

  if (o->mask.len)
    return pawl_fail_hint(err, PAWL_INVALID, "export it as a copy, masked",
                          "what is masked cannot go on in its place");
  for (int s = 0; s < e->nshards; s++) {
    MUST(PAWL_READ(e->store, carry_child, &rows, err, .shard = s,
                   .parent = id));
    if (!rows.nrows) continue;
    return pawl_fail_hint(
        err, PAWL_CONFLICT,
        "`pawl export --move --children` takes them along; `pawl reclaim` "
        "takes this one back",
        "instance %s has a child that goes on here: %s",
        pawl_id_text_of(id).at,
        pawl_id_text_of(pawl_read_carry_child(&rows, 0).id).at);
  }
  return PAWL_OK;
}

/* Is it asked for as one that is moved? */
pawl_code pawl_export_moves(pawl_engine *e, pawl_str options, int *moves,
                            pawl_buf *by, pawl_error *err) {
  export_options o;
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_export, &o, sizeof o, &e->alloc);
  TRY(pawl_options_read(&pawl_options_of_export, options, &o, err));
  *moves = o.move && !o.mask.len;
  pawl_buf_adds(by, pawl_buf_str(&o.by));
  rc = pawl_buf_check(by, err);
out:
  pawl_options_deinit(&pawl_options_of_export, &o);
  return rc;
}

/* ---- of one that has ended ---- */

/* The rows of the answer `at`. */
static pawl_code add_ended(pawl_engine *e, const pawl_id *id, int at,
                           pawl_carried table, pawl_exported *x,
                           pawl_error *err) {
  const export_options o = {.given = 0};
  const masks none = {.nnames = 0};
  pawl_rows all, *rows = &all;

  pawl_store_rows(e->store, at, rows);
  if (table == PAWL_CARRIED_instance && !rows->nrows)
    return pawl_instance_missing(id, err);
  if (table == PAWL_CARRIED_agenda) rows->nrows = 0;
  if (table == PAWL_CARRIED_instance) add_head(e, rows, &o, &x->lines);
  x->from[table] = x->lines.len;
  x->nrows += add_table(rows, table, &o, &none, &x->lines);
  x->from[table + 1] = x->lines.len;
  return PAWL_OK;
}

static void begin_ended(pawl_exported *x) {
  pawl_buf_clear(&x->lines);
  x->nrows = 0;
}

static pawl_code end_ended(const pawl_id *id, pawl_exported *x,
                           pawl_error *err) {
  const masks none = {.npaths = 0};

  add_end(id, x->nrows, &none, &x->lines);
  return check_lines(id, &x->lines, err);
}

pawl_code pawl_export_ended(pawl_engine *e, const pawl_id *id,
                            pawl_exported *x, pawl_error *err) {
  found f;

  begin_ended(x);
  MUST(read_rows(e, id, &f, err));
  for (int i = 0; i < PAWL_NCARRIED; i++)
    MUST(add_ended(e, id, f.at[i], (pawl_carried)i, x, err));
  return end_ended(id, x, err);
}

pawl_code pawl_export_held(pawl_engine *e, const pawl_id *id, pawl_exported *x,
                           pawl_error *err) {
  const pawl_export_instance_args which = {.shard = pawl_shard_of(e, id),
                                           .id = id};
  int at;

  begin_ended(x);
  for (int i = 0; i < PAWL_NCARRIED; i++) {
    MUST(pawl_store_send_one(e->store, asks[i], &which, &at, err));
    MUST(add_ended(e, id, at, (pawl_carried)i, x, err));
  }
  return end_ended(id, x, err);
}

static int is_segment(const pawl_exported *x, pawl_carried table,
                      const pawl_buf *now) {
  const pawl_str was = {x->lines.at + x->from[table],
                        x->from[table + 1] - x->from[table]};
  return pawl_str_eq(was, pawl_buf_str(now));
}

pawl_code pawl_export_is_same(pawl_engine *e, const pawl_id *id,
                              const pawl_exported *x, int *same,
                              pawl_error *err) {
  const pawl_export_instance_args which = {.shard = pawl_shard_of(e, id),
                                           .id = id};
  const export_options o = {.given = 0};
  const masks none = {.nnames = 0};
  pawl_buf now = {.alloc = &e->alloc};
  pawl_rows rows;
  int at;
  pawl_code rc = PAWL_OK;

  *same = 1;
  for (int i = 0; i < PAWL_NCARRIED && *same; i++) {
    if (i == PAWL_CARRIED_agenda || i == PAWL_CARRIED_history) continue;
    TRY(pawl_store_send_one(e->store, asks[i], &which, &at, err));
    pawl_store_rows(e->store, at, &rows);
    pawl_buf_clear(&now);
    (void)add_table(&rows, (pawl_carried)i, &o, &none, &now);
    TRY(pawl_buf_check(&now, err));
    *same = is_segment(x, (pawl_carried)i, &now);
  }
out:
  pawl_buf_deinit(&now);
  return rc;
}

pawl_code pawl_engine_export(pawl_engine *e, const pawl_id *id,
                             pawl_str options, pawl_buf *out,
                             pawl_error *err) {
  export_options o;
  uint32_t met = 0;
  masks m = {.text = {.alloc = &e->alloc}, .met = &met};
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_export, &o, sizeof o, &e->alloc);
  TRY(pawl_options_read(&pawl_options_of_export, options, &o, err));
  TRY(read_masks(o.mask, &m, err));
  if (o.move) TRY(check_whole(e, id, &o, err));
  TRY(add_instance(e, id, &o, &m, out, err));
out:
  pawl_buf_deinit(&m.text);
  pawl_options_deinit(&pawl_options_of_export, &o);
  return rc;
}
