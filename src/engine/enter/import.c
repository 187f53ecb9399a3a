/* Instances from another store, as lines of JSON (ask/export.c writes them,
 * common/lines.h reads rows): each is one transaction, with what it runs by.
 *
 *   workflow      any number of them, in front of an instance
 *   export        an instance begins: which one
 *   instance, agenda, variable, ...   its rows, in the order of PAWL_CARRIED
 *   end           it is whole: so many rows
 *
 * One that is here already stays as it is, so that the same lines twice, or an
 * answer that was lost, do no harm. What is wrong is told with its line; what
 * stands in front of it is stored then, and nothing behind.
 *
 * A copy is suspended before anything of it can run, by a letter as anybody
 * might have sent it: those are read before any step (decision 0008). What the
 * original still has to say - messages, what it emitted - stays the
 * original's. */
#include <assert.h>
#include <inttypes.h>

#include "../../base/fault.h"
#include "../../base/handed.h"
#include "../../base/nearest.h"
#include "../../defs/def.h"
#include "../../rules/state.h"
#include "../../value/json.h"
#include "../common/audit.h"
#include "../common/engine_struct.h"
#include "../common/find.h"
#include "../common/lines.h"
#include "../common/time.h"
#include "../common/wake.h"
#include "enter.h"
#include "misplaced.h"

enum { FORMAT = 1, BATCH = 200 /* rows */ };

typedef struct import_options {
  uint64_t given;
  int release, copy;
  pawl_buf by, reason;
  int64_t line;
} import_options;

static const pawl_option import_rows[] = {
    {"release", PAWL_OPTION_BOOL, .at = offsetof(import_options, release)},
    {"copy", PAWL_OPTION_BOOL, .at = offsetof(import_options, copy)},
    {"by", PAWL_OPTION_TEXT, .at = offsetof(import_options, by), .low = 1,
     .high = PAWL_MAX_BY},
    {"reason", PAWL_OPTION_TEXT, .at = offsetof(import_options, reason),
     .high = PAWL_MAX_REASON},
    {"line", PAWL_OPTION_INT, .at = offsetof(import_options, line), .low = 1,
     .high = INT64_MAX}};
PAWL_OPTIONS_OF(import) = {.what = "import", PAWL_OPTION_ROWS(import_rows)};

/* ---- what is read ---- */

enum { WORKFLOW = PAWL_NCARRIED, EXPORT, END, NWORDS };

static const char *const words[NWORDS] = {
#define NAME(table) #table,
    PAWL_CARRIED(NAME)[WORKFLOW] = "workflow", [EXPORT] = "export",
    [END] = "end"};

typedef struct line {
  pawl_str text;
  int64_t no;
  int is; /* one of words */
} line;

typedef struct list {
  line *at;
  int n, cap;
} list;

/* One that was looked at. */
typedef struct arrival {
  pawl_id id;
  int was_there;
} arrival;

typedef struct reading {
  pawl_engine *e;
  import_options options;
  pawl_str rest;
  line now;          /* the line that is looked at */
  int is_moved;      /* the instance that is open stands still where it was */
  int was_suspended; /* before that */
  int is_open;       /* between `export` and `end` */
  list workflows;    /* since the last `end` */
  list rows;
  pawl_id id; /* the instance that is open */
  pawl_id no; /* its letter, if it gets one */
  pawl_standing status;
  pawl_buf keep; /* what a batch borrows */
  pawl_buf told; /* what the audit is to say of the instance that is open */
  pawl_misplaced lost; /* stands nowhere */
  arrival *arrivals;   /* room for all, made before; NULL: nobody asks */
  size_t narrivals, most;
  const pawl_back *back; /* it comes from this store's archive; NULL: not so */
  int is_archived;       /* the archive has it already */
} reading;

static int add(const pawl_alloc *alloc, list *l, const line *one) {
  if (!PAWL_ROOM(alloc, l->at, l->n, l->cap)) return 0;
  l->at[l->n++] = *one;
  return 1;
}

static void drop(const pawl_alloc *alloc, list *l) {
  pawl_release(alloc, l->at, sizeof *l->at * (size_t)l->cap);
  *l = (list){0};
}

/* Says of a failure which line it is about; `where` has its member, if any. */
static pawl_code at_line(int64_t no, pawl_code rc, pawl_error *err) {
  if (rc == PAWL_OK || !err) return rc;
  pawl_error_prefix(err, "line %" PRId64, no);
  if (err->where[0]) {
    char member[64];
    pawl_copy_text(member, sizeof member, err->where);
    pawl_error_where(err, "line %" PRId64 ", %s", no, member);
  } else {
    pawl_error_where(err, "line %" PRId64, no);
  }
  return rc;
}

static pawl_code wrong(pawl_error *err, const char *member, const char *why) {
  pawl_fail(err, PAWL_INVALID, "%s", why);
  if (member) pawl_error_where(err, "%s", member);
  return PAWL_INVALID;
}

/* The next line that is not empty; 0: there is none. */
static int next_line(reading *r) {
  while (r->rest.len) {
    const char *end = memchr(r->rest.at, '\n', r->rest.len);
    const size_t len = end ? (size_t)(end - r->rest.at) : r->rest.len;
    r->now.text = (pawl_str){r->rest.at, len};
    r->now.no++;
    r->rest.at += len + (end != NULL);
    r->rest.len -= len + (end != NULL);
    if (len && r->now.text.at[len - 1] == '\r') r->now.text.len--;
    if (r->now.text.len) return 1;
  }
  return 0;
}

static pawl_code fail_word(pawl_str is, pawl_error *err) {
  char word[40];
  const char *near;

  pawl_str_copy(word, sizeof word, is);
  pawl_fail(
      err, PAWL_INVALID,
      is.at ? "\"%s\" is no kind of line" : "it is no line of an export%s",
      is.at ? word : "");
  pawl_error_where(err, "is");
  near = is.at ? pawl_nearest(word, words, NWORDS) : NULL;
  if (near) pawl_error_hint(err, "did you mean \"%s\"?", near);
  return PAWL_INVALID;
}

/* JSON, and of which kind. */
static pawl_code check_line(line *one, pawl_error *err) {
  pawl_str is;
  const pawl_code rc =
      pawl_json_check_depth(one->text, PAWL_RECORD_DEPTH, NULL, err);

  if (rc != PAWL_OK) {
    if (rc == PAWL_VALUE && err) pawl_error_where(err, "%s", "");
    return rc;
  }
  is = pawl_line_is(one->text);
  for (one->is = 0; one->is < NWORDS; one->is++)
    if (pawl_str_eqz(is, words[one->is])) return PAWL_OK;
  return fail_word(is, err);
}

/* ---- an instance's lines ---- */

static int get_id(pawl_str text, pawl_id *id) {
  pawl_str value;
  return pawl_json_get(text, "id", &value) && value.len == 38 &&
         pawl_id_parse(value.at + 1, 36, id);
}

/* Unless it is said otherwise: by who imports, or by its having been moved. */
static int is_copy(const reading *r) {
  return r->options.copy || (!r->options.release && !r->is_moved);
}

/* A text of the head, if it is one that can be shown. */
static void add_told(reading *r, const char *front, const char *name) {
  pawl_buf *out = &r->told;
  const size_t was = out->len, from = was + strlen(front);
  pawl_str value;

  if (!pawl_json_get(r->now.text, name, &value) ||
      pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return;
  pawl_buf_addz(out, front);
  pawl_json_unquote(value, out);
  if (out->failed) return;
  if (out->len == from || out->len - from > PAWL_MAX_BY ||
      memchr(out->at + from, 0, out->len - from))
    out->len = was;
}

static pawl_code write_told(reading *r, pawl_error *err) {
  pawl_buf_clear(&r->told);
  pawl_buf_addz(&r->told, is_copy(r)    ? "as a copy"
                          : r->is_moved ? "moved"
                                        : "released");
  add_told(r, ", exported ", "at");
  add_told(r, " by ", "by");
  if (r->options.reason.len) {
    pawl_buf_addz(&r->told, ": ");
    pawl_buf_adds(&r->told, pawl_buf_str(&r->options.reason));
  }
  return pawl_buf_check(&r->told, err);
}

static pawl_code read_head(reading *r, pawl_error *err) {
  pawl_str masked, moved, text = r->now.text;

  if (r->is_open)
    return wrong(err, NULL,
                 "an instance begins before the last one has ended");
  if (pawl_json_get_int(text, "format", 0) != FORMAT) {
    pawl_fail_hint(err, PAWL_INVALID, "import it with the pawl that wrote it",
                   "it is of another format than %d", FORMAT);
    pawl_error_where(err, "format");
    return PAWL_INVALID;
  }
  if (!get_id(text, &r->id)) return wrong(err, "id", "`id` is to be an id");
  r->is_moved = pawl_json_get(text, "moved", &moved) &&
                pawl_json_kind_of(moved) == PAWL_JSON_TRUE;
  if (r->options.release && pawl_json_get(text, "masked", &masked) &&
      pawl_json_kind_of(masked) == PAWL_JSON_TRUE)
    return pawl_fail_hint(err, PAWL_INVALID, "import it as a copy",
                          "what was masked cannot go on in its place");
  r->is_open = 1;
  r->rows.n = 0;
  MUST(write_told(r, err));
  return pawl_id_make(&r->e->ids, pawl_engine_now(r->e), &r->no, err);
}

/* The instance's own is the first, and the only one of its kind. */
static pawl_code check_place(const reading *r, pawl_error *err) {
  const line *last = r->rows.n ? &r->rows.at[r->rows.n - 1] : NULL;
  pawl_id id;

  if (!r->is_open)
    return wrong(err, NULL, "a row stands outside of an export");
  if (!last != (r->now.is == PAWL_CARRIED_instance))
    return wrong(err, NULL,
                 last ? "there is a second row of the instance"
                      : "the instance's row is not the first");
  if (last && r->now.is < last->is)
    return wrong(err, "is",
                 "rows of its kind stand in front of the last ones");
  if (!last && (!get_id(r->now.text, &id) || !pawl_id_eq(&id, &r->id)))
    return wrong(err, "id", "it is another instance than the export's");
  return PAWL_OK;
}

static pawl_code read_status(reading *r, pawl_error *err) {
  pawl_str value;
  if (pawl_json_get(r->now.text, "status", &value) && value.len > 2 &&
      pawl_status_parse((pawl_str){value.at + 1, value.len - 2}, &r->status))
    return PAWL_OK;
  return wrong(err, "status", "that is no status of an instance");
}

/* Was it suspended before it was carried away, too? */
static void read_away(reading *r) {
  pawl_str away, value;
  r->was_suspended = pawl_json_get(r->now.text, "away", &away) &&
                     pawl_json_get(away, "suspended", &value);
}

static pawl_code check_end(const reading *r, pawl_error *err) {
  pawl_id id;
  if (!r->is_open || !r->rows.n)
    return wrong(err, NULL, "it ends what has not begun");
  if (!get_id(r->now.text, &id) || !pawl_id_eq(&id, &r->id))
    return wrong(err, "id", "it ends another instance");
  if (pawl_json_get_int(r->now.text, "rows", -1) != r->rows.n)
    return wrong(err, "rows", "rows are missing, or there are more of them");
  return PAWL_OK;
}

/* ---- stored: its workflow ---- */

/* *is_known: a revision of its version is what the line says. */
static pawl_code look_for_workflow(reading *r, const pawl_def *def,
                                   int *is_known, pawl_error *err) {
  pawl_rows rows;
  int at;

  MUST(PAWL_SEND(r->e->store, import_knows, &at, err,
                 .code = pawl_strz(def->code), .version = def->version));
  pawl_store_rows(r->e->store, at, &rows);
  *is_known = 0;
  for (int k = 0; k < rows.nrows; k++)
    *is_known |=
        pawl_str_eqz(pawl_read_import_knows(&rows, k).sha256, def->sha256);
  if (*is_known || !rows.nrows) return PAWL_OK;
  return pawl_fail_hint(
      err, PAWL_EXISTS,
      "have the two stores agree: a hot-fix, or a version of its own",
      "workflow \"%s\" version %" PRId64 " is stored here with other contents",
      def->code, def->version);
}

static pawl_str text_of(const pawl_args *a, const char *name) {
  const pawl_stmt_info *info = &pawl_stmts[a->stmt];
  for (int i = 0; i < info->nargs; i++)
    if (!strcmp(info->args[i].name, name)) return a->cols[i].cells[0].s;
  assert(0);
  return (pawl_str){NULL, 0};
}

/* The definition that the line has; it is what its SHA-256 says. */
static pawl_code read_workflow(reading *r, const line *one, pawl_def **out,
                               pawl_error *err) {
  const pawl_alloc *alloc = &r->e->alloc;
  pawl_args *a = &r->e->args;
  pawl_def *def = NULL;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_import_workflow);
  TRY(pawl_line_read(one->text, a, 0, &r->keep, err));
  TRY(pawl_args_check(a, err));
  TRY(pawl_def_new("import", text_of(a, "graph"), text_of(a, "source"),
                   text_of(a, "bundle"), alloc, &def, err));
  TRY(pawl_def_check(def, err));
  if (!pawl_str_eqz(text_of(a, "sha256"), def->sha256) ||
      !pawl_str_eqz(text_of(a, "code"), def->code) ||
      a->cols[1].cells[0].i != def->version)
    TRY(wrong(err, "sha256", "the workflow is not what its SHA-256 says"));
  *out = def;
  def = NULL;
out:
  pawl_def_free(def);
  return rc;
}

/* Which the arguments are; told as any registration. */
static pawl_code insert_workflow(reading *r, const pawl_def *def,
                                 pawl_error *err) {
  const pawl_str author = text_of(&r->e->args, "author");
  pawl_rows rows;
  char own[PAWL_MAX_SELF];
  int at;

  MUST(pawl_store_send(r->e->store, &r->e->args, &at, err));
  pawl_store_rows(r->e->store, at, &rows);
  if (!rows.changed) return PAWL_OK;
  MUST(PAWL_SEND(r->e->store, code_claim, NULL, err,
                 .code = pawl_strz(def->code), .author = author));
  return pawl_audit_workflow(r->e, "registered", pawl_strz(def->code),
                             def->version,
                             r->options.by.len ? pawl_buf_str(&r->options.by)
                                               : pawl_audit_self(r->e, own),
                             pawl_strz("imported"), err);
}

static pawl_code store_workflow(reading *r, const line *one, pawl_error *err) {
  pawl_def *def = NULL;
  int is_known = 0;
  pawl_code rc = PAWL_OK;

  pawl_buf_clear(&r->keep);
  TRY(read_workflow(r, one, &def, err));
  TRY(look_for_workflow(r, def, &is_known, err));
  if (!is_known) TRY(insert_workflow(r, def, err));
out:
  pawl_def_free(def);
  return rc;
}

/* ---- stored: its rows ---- */

static const pawl_stmt inserts[] = {
#define PUT(table) PAWL_STMT_import_##table,
    PAWL_CARRIED(PUT)};

/* What a statement is given that is no member of its lines: the shard, and of
 * most the instance. */
static int begin_args(const reading *r, pawl_stmt stmt) {
  pawl_args *a = &r->e->args;
  const pawl_cell shard = {.i = pawl_shard_of(r->e, &r->id)};
  const pawl_cell id = {.s = {(const char *)r->id.bytes, sizeof r->id.bytes}};

  pawl_args_begin(a, stmt);
  pawl_args_add(a, 0, &shard);
  if (strcmp(pawl_stmts[stmt].args[1].name, "instance")) return 1;
  pawl_args_add(a, 1, &id);
  return 2;
}

/* What the original has still to say is not the copy's. */
static int is_left_out(const reading *r, const line *one) {
  pawl_str value;
  if (r->back && one->is == PAWL_CARRIED_attribute) return 1; /* they stayed */
  if (!is_copy(r)) return 0;
  return one->is == PAWL_CARRIED_message || one->is == PAWL_CARRIED_ending ||
         (one->is == PAWL_CARRIED_outbox &&
          !pawl_json_get(one->text, "published_at", &value));
}

/* Here it is not away. */
static void forget_away(pawl_args *a) {
  const pawl_stmt_info *info = &pawl_stmts[a->stmt];
  for (int i = 0; i < info->nargs; i++)
    if (!strcmp(info->args[i].name, "away"))
      a->cols[i].cells[0] = (pawl_cell){.is_null = 1};
}

/* The rows from `from` on that go out together; *upto: the first that does
 * not. What the store refuses of them is told with the first line's number. */
static pawl_code store_batch(reading *r, int from, int *upto, int *at,
                             pawl_error *err) {
  const line *rows = r->rows.at;
  pawl_args *a = &r->e->args;
  pawl_error why = {0};
  int k = from, first = begin_args(r, inserts[rows[from].is]);

  pawl_buf_clear(&r->keep);
  for (; k < r->rows.n && rows[k].is == rows[from].is && k < from + BATCH;
       k++) {
    if (is_left_out(r, &rows[k])) continue;
    pawl_code rc = pawl_line_read(rows[k].text, a, first, &r->keep, &why);
    if (rc == PAWL_OK) rc = pawl_args_check(a, &why);
    if (rc == PAWL_OK) continue;
    if (rc == PAWL_VALUE) why.code = rc = PAWL_INVALID;
    (void)at_line(rows[k].no, rc, &why);
    return pawl_fail_so(err, &why);
  }
  *upto = k;
  if (rows[from].is == PAWL_CARRIED_instance && r->is_moved) forget_away(a);
  pawl_code rc = pawl_store_send(r->e->store, a, at, &why);
  if (rc != PAWL_OK && pawl_code_is_final(rc, &why)) {
    why.code = rc = PAWL_INVALID;
    (void)at_line(rows[from].no, rc, &why);
  }
  if (rc != PAWL_OK && err) *err = why;
  return rc;
}

/* It was carried away from here, and has come back: what is here is what it was
 * then. */
static pawl_code refuse_return(const reading *r, pawl_error *err) {
  pawl_fail_hint(
      err, PAWL_CONFLICT,
      "kill that one and purge it; if this is what was carried away "
      "here, and nobody has imported it, `pawl reclaim` will do",
      "instance %s was carried away from this store",
      pawl_id_text_of(&r->id).at);
  pawl_error_where(err, "id");
  return at_line(r->rows.at[0].no, PAWL_CONFLICT, err);
}

static pawl_code refuse_key(const reading *r, pawl_error *err) {
  pawl_fail_hint(err, PAWL_CONFLICT, "delete that one, or purge it, first",
                 "another instance of its workflow has the key of %s",
                 pawl_id_text_of(&r->id).at);
  pawl_error_where(err, "key");
  return at_line(r->rows.at[0].no, PAWL_CONFLICT, err);
}

/* The archive may have it, or one with its key; what was purged there may not
 * be mistaken for it. */
static pawl_code look_in_archive(reading *r, int *is_there, pawl_error *err) {
  pawl_rows rows;
  int at;

  MUST(PAWL_SEND(r->e->store, import_archived, &at, err,
                 .shard = pawl_shard_of(r->e, &r->id), .id = &r->id));
  pawl_store_rows(r->e->store, at, &rows);
  if (!rows.nrows) return PAWL_OK;
  const pawl_import_archived_row row = pawl_read_import_archived(&rows, 0);
  if (!pawl_id_eq(row.id, &r->id)) return refuse_key(r, err);
  *is_there = r->is_archived = !row.purged;
  if (*is_there) return PAWL_OK;
  pawl_fail_hint(err, PAWL_CONFLICT,
                 "purge it once more, and its attributes go too",
                 "instance %s was purged here, and is found by its attributes",
                 pawl_id_text_of(&r->id).at);
  pawl_error_where(err, "id");
  return at_line(r->rows.at[0].no, PAWL_CONFLICT, err);
}

/* It is not there; or it is, or another has its key. */
static pawl_code look_for_instance(reading *r, int *is_there,
                                   pawl_error *err) {
  pawl_rows rows;
  int at;

  MUST(PAWL_SEND(r->e->store, instance_settle, &at, err,
                 .shard = pawl_shard_of(r->e, &r->id), .id = &r->id));
  pawl_store_rows(r->e->store, at, &rows);
  *is_there = rows.nrows > 0;
  if (*is_there && r->is_moved && pawl_read_instance_settle(&rows, 0).away)
    return refuse_return(r, err);
  return *is_there ? PAWL_OK : refuse_key(r, err);
}

/* It was suspended to be carried away, and goes on once it is told that it has
 * arrived; a copy does not, nor what had been suspended before. */
static pawl_code send_arrive(reading *r, pawl_error *err) {
  const int shard = pawl_shard_of(r->e, &r->id);
  const int64_t now = pawl_store_now(r->e->store);

  MUST(PAWL_SEND(r->e->store, agenda_revive, NULL, err, .shard = shard,
                 .id = &r->id, .now = now, .completed = 1, .cancelled = 1,
                 .deleted = 1));
  return PAWL_SEND(r->e->store, inbox_insert, NULL, err, .shard = shard,
                   .id = &r->id, .no = &r->no, .kind = pawl_strz("arrive"),
                   .by = pawl_buf_some(&r->options.by), .now = now,
                   .data = pawl_strz(is_copy(r) ? "{\"stay\":true,\"reason\":"
                                                  "\"imported as a copy\"}"
                                     : r->was_suspended ? "{\"stay\":true}"
                                                        : "{}"));
}

static pawl_code send_suspend(reading *r, pawl_error *err) {
  static const char data[] =
      "{\"reason\":\"imported as a copy: the original may go on\"}";
  const int shard = pawl_shard_of(r->e, &r->id);
  const int64_t now = pawl_store_now(r->e->store);

  MUST(PAWL_SEND(r->e->store, agenda_wake, NULL, err, .shard = shard,
                 .id = &r->id, .now = now));
  return PAWL_SEND(r->e->store, inbox_insert, NULL, err, .shard = shard,
                   .id = &r->id, .no = &r->no, .kind = pawl_strz("suspend"),
                   .by = pawl_buf_some(&r->options.by),
                   .data = pawl_strz(data), .now = now);
}

static pawl_code store_rows(reading *r, int *is_there, pawl_error *err) {
  pawl_rows rows;
  int at = -1, upto = 0;

  for (int from = 0; from < r->rows.n; from = upto) {
    MUST(store_batch(r, from, &upto, &at, err));
    (void)PAWL_FAULT("engine.import.batch");
    if (from) continue;
    pawl_store_rows(r->e->store, at, &rows);
    if (!rows.changed) return look_for_instance(r, is_there, err);
    if (!r->back) MUST(look_in_archive(r, is_there, err));
    if (*is_there) return PAWL_OK;
  }
  MUST(PAWL_SEND(r->e->store, import_deadline, NULL, err,
                 .shard = pawl_shard_of(r->e, &r->id), .id = &r->id));
  if (r->is_moved) return send_arrive(r, err);
  if (is_copy(r) && !pawl_status_has_ended(r->status) &&
      r->status != PAWL_STATUS_SUSPENDED)
    return send_suspend(r, err);
  return PAWL_OK;
}

/* A token of its own row has a line of its own. */
static int64_t line_of(const reading *r, int32_t token) {
  for (int i = 0; i < r->rows.n; i++)
    if (r->rows.at[i].is == PAWL_CARRIED_token &&
        pawl_json_get_int(r->rows.at[i].text, "no", 0) == token)
      return r->rows.at[i].no;
  return r->rows.at[0].no;
}

/* What has ended stands nowhere. */
static pawl_code check_stands(reading *r, pawl_error *err) {
  if (pawl_status_has_ended(r->status)) return PAWL_OK;
  pawl_code rc = pawl_misplaced_check(r->e, &r->id, &r->lost, err);
  return rc == PAWL_INVALID ? at_line(line_of(r, r->lost.token), rc, err) : rc;
}

/* What comes back from the archive is told by who asked for that. */
static pawl_code tell_audit(reading *r, pawl_error *err) {
  if (r->back) return r->back->behind(r->e, r->back->ud, err);
  return pawl_audit_instance(r->e, "imported", &r->id,
                             pawl_buf_str(&r->options.by),
                             pawl_buf_str(&r->told), err);
}

/* Once: all of it, or nothing. */
static pawl_code store_once(reading *r, int *is_there, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  *is_there = 0;
  TRY(pawl_store_begin(r->e->store, PAWL_UNIT_OPEN, err));
  if (r->back) TRY(r->back->before(r->e, r->back->ud, err));
  for (int i = 0; i < r->workflows.n; i++)
    TRY(at_line(r->workflows.at[i].no,
                store_workflow(r, &r->workflows.at[i], err), err));
  r->is_archived = 0;
  TRY(store_rows(r, is_there, err));
  if (r->is_archived) { /* it stays where it is */
    pawl_store_rollback(r->e->store);
    return PAWL_OK;
  }
  if (!*is_there) TRY(check_stands(r, err));
  if (!*is_there) TRY(tell_audit(r, err));
  (void)PAWL_FAULT("engine.import.last");
  TRY(pawl_store_commit(r->e->store, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(r->e->store);
  return rc;
}

/* So that `keep` never moves under what borrows it. */
static pawl_code make_room(reading *r, pawl_error *err) {
  size_t most = 0, sum = 0;
  for (int i = 0; i < r->rows.n; i++) sum += 2 * r->rows.at[i].text.len + 8;
  for (int i = 0; i < r->workflows.n; i++)
    if (most < 2 * r->workflows.at[i].text.len)
      most = 2 * r->workflows.at[i].text.len;
  pawl_buf_clear(&r->keep);
  (void)pawl_buf_room(&r->keep, (sum > most ? sum : most) + 64);
  return pawl_buf_check(&r->keep, err);
}

static pawl_code store_instance(reading *r, pawl_error *err) {
  int tries = 0, is_there = 0;
  pawl_code rc;

  if (!r->back) pawl_store_call(r->e->store); /* each by itself */
  MUST(make_room(r, err));
  do rc = store_once(r, &is_there, err);
  while (pawl_store_may_repeat(rc, &tries));
  if (rc != PAWL_OK) return rc;
  if (is_there && r->back)
    return pawl_fail(err, PAWL_CONFLICT, "instance %s is here already",
                     pawl_id_text_of(&r->id).at);
  if (r->arrivals) {
    assert(r->narrivals < r->most);
    r->arrivals[r->narrivals] = (arrival){r->id, is_there};
  }
  r->narrivals++;
  if (!is_there) pawl_wake(r->e);
  r->is_open = r->rows.n = r->workflows.n = 0;
  return PAWL_OK;
}

/* ---- line by line ---- */

static pawl_code take_line(reading *r, pawl_error *err) {
  const pawl_alloc *alloc = &r->e->alloc;
  const int is_first = !r->rows.n;

  MUST(check_line(&r->now, err));
  switch (r->now.is) {
    case WORKFLOW:
      if (r->is_open) return wrong(err, NULL, "a workflow within an instance");
      return add(alloc, &r->workflows, &r->now) ? PAWL_OK
                                                : pawl_fail_memory(err);
    case EXPORT:
      return read_head(r, err);
    case END:
      return check_end(r, err);
    default:
      MUST(check_place(r, err));
      if (is_first) MUST(read_status(r, err));
      if (is_first) read_away(r);
      return add(alloc, &r->rows, &r->now) ? PAWL_OK : pawl_fail_memory(err);
  }
}

static pawl_code take_lines(reading *r, pawl_error *err) {
  while (next_line(r)) {
    MUST(at_line(r->now.no, take_line(r, err), err));
    if (r->now.is == END) MUST(store_instance(r, err));
  }
  if (!r->is_open) return PAWL_OK;
  return at_line(r->now.no, wrong(err, NULL, "the instance's end is missing"),
                 err);
}

pawl_code pawl_import_back(pawl_engine *e, pawl_str text,
                           const pawl_back *back, pawl_error *err) {
  reading r = {.e = e,
               .rest = text,
               .keep = {.alloc = &e->alloc},
               .told = {.alloc = &e->alloc},
               .options = {.release = 1},
               .back = back};
  pawl_code rc = take_lines(&r, err);

  if (rc == PAWL_OK && !r.narrivals)
    rc = wrong(err, NULL, "there is no instance in its lines");
  pawl_buf_deinit(&r.keep);
  pawl_buf_deinit(&r.told);
  pawl_misplaced_deinit(&r.lost);
  drop(&e->alloc, &r.rows);
  return rc;
}

/* ---- the answer ---- */

/* {"imported":["..."],"there":["..."]} */
static const char IMPORTED[] = "{\"imported\":[", THERE[] = "],\"there\":[",
                  ENDS[] = "]}";
enum { AN_ID = sizeof(pawl_id_text) + 2 /* in quotes, behind a comma */ };

/* As the last line of an instance does; another may, too. */
static int says_end(const char *at, const char *end) {
  static const char WORD[] = "\"end\"";
  const size_t n = sizeof WORD - 1;

  for (; (at = memchr(at, '"', (size_t)(end - at))) != NULL; at++)
    if ((size_t)(end - at) >= n && !memcmp(at, WORD, n)) return 1;
  return 0;
}

/* How many instances the lines may have at most; they are not checked yet. */
static size_t count_ends(pawl_str text) {
  const char *const stop = text.at + text.len;
  size_t n = 0;

  for (const char *at = text.at, *end; at < stop; at = end + 1) {
    end = memchr(at, '\n', (size_t)(stop - at));
    if (!end) end = stop;
    n += (size_t)says_end(at, end);
  }
  return n;
}

/* What is stored is not to be told as a failure for want of it. */
static pawl_code make_answer(reading *r, char **answer, pawl_error *err) {
  r->most = count_ends(r->rest);
  r->arrivals = pawl_calloc(&r->e->alloc, (r->most + 1) * sizeof *r->arrivals);
  if (!r->arrivals) return pawl_fail_memory(err);
  *answer = pawl_hand_room(&r->e->given, sizeof IMPORTED + sizeof THERE +
                                             sizeof ENDS + r->most * AN_ID);
  return *answer ? PAWL_OK : pawl_fail_memory(err);
}

static char *put_ids(const reading *r, int was_there, char *to) {
  const char *front = "\"";

  for (size_t i = 0; i < r->narrivals; i++) {
    if (r->arrivals[i].was_there != was_there) continue;
    to = pawl_hand_put(to, front);
    to = pawl_hand_put(to, pawl_id_text_of(&r->arrivals[i].id).at);
    to = pawl_hand_put(to, "\"");
    front = ",\"";
  }
  return to;
}

static void write_answer(const reading *r, char *to) {
  to = pawl_hand_put(to, IMPORTED);
  to = put_ids(r, 0, to);
  to = pawl_hand_put(to, THERE);
  to = put_ids(r, 1, to);
  (void)pawl_hand_put(to, ENDS);
}

pawl_code pawl_engine_import(pawl_engine *e, pawl_str text, pawl_str options,
                             char **out, pawl_error *err) {
  reading r = {.e = e,
               .rest = text,
               .keep = {.alloc = &e->alloc},
               .told = {.alloc = &e->alloc}};
  char *answer = NULL;
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_import, &r.options, sizeof r.options,
                    &e->alloc);
  r.options.line = 1;
  TRY(pawl_options_read(&pawl_options_of_import, options, &r.options, err));
  if (r.options.copy && r.options.release)
    TRY(wrong(err, "copy", "`copy` and `release` exclude each other"));
  r.now.no = r.options.line - 1;
  if (out) TRY(make_answer(&r, &answer, err));
  TRY(take_lines(&r, err));
  if (!out) goto out;
  write_answer(&r, answer);
  *out = answer;
  answer = NULL;
out:
  pawl_free(NULL, answer);
  pawl_release(&e->alloc, r.arrivals,
               r.arrivals ? (r.most + 1) * sizeof *r.arrivals : 0);
  pawl_options_deinit(&pawl_options_of_import, &r.options);
  pawl_buf_deinit(&r.keep);
  pawl_buf_deinit(&r.told);
  pawl_misplaced_deinit(&r.lost);
  drop(&e->alloc, &r.workflows);
  drop(&e->alloc, &r.rows);
  return rc;
}
