#include "answer.h"

#include <assert.h>

#include "../../value/json.h"

/* Stands in an answer where a column should, which the check finds: no JSON has
 * it. Behind it is the column's name. */
#define NO_COLUMN '\1'

/* The last "id" before `at`: of what is damaged, as records begin with it. */
static const char *id_before(const pawl_buf *answer, size_t at, char id[37]) {
  static const char MARK[] = "\"id\":\"";
  const size_t mark = sizeof MARK - 1;
  pawl_id parsed;
  for (; at >= mark + 36; at--) {
    const char *from = answer->at + at - mark - 36;
    if (memcmp(from, MARK, mark) != 0 ||
        !pawl_id_parse(from + mark, 36, &parsed))
      continue;
    memcpy(id, from + mark, 36);
    id[36] = 0;
    return id;
  }
  return NULL;
}

pawl_code pawl_answer_check(const pawl_buf *answer, pawl_error *err) {
  pawl_json_reader reader;
  pawl_error why;
  char id[37];
  size_t at;
  pawl_code rc = pawl_buf_check(answer, err);

  if (rc != PAWL_OK || !answer->len) return rc;
  pawl_json_reader_init(&reader, pawl_buf_str(answer), answer->alloc);
  rc = pawl_json_check_all(&reader, NULL, &why);
  const char *of = id_before(answer, reader.at, id);
  at = reader.at;
  pawl_json_reader_deinit(&reader);
  if (rc == PAWL_OK) return PAWL_OK; /* J5: nor is it too deep */
  if (rc == PAWL_NOMEM) return pawl_fail(err, rc, "out of memory");
  if (at < answer->len && answer->at[at] == NO_COLUMN)
    return pawl_fail(err, PAWL_INTERNAL,
                     "an answer asks for a column that its statement does not "
                     "give: %.40s",
                     answer->at + at + 1);
  return pawl_fail_hint(
      err, PAWL_CORRUPT,
      "somebody else has written to the store, or the disk is "
      "failing: restore it from a backup",
      "the store holds damaged JSON%s%s: %s", of ? ", of " : "", of ? of : "",
      why.message);
}

/* ---- rows ---- */

static void add_cell(pawl_buf *out, const pawl_param *col,
                     const pawl_cell *cell) {
  switch (col->type) {
    case PAWL_T_BOOL:
      pawl_add_bool(out, cell->i);
      return;
    case PAWL_T_INT:
      pawl_add_int(out, cell->is_null && col->nulls == PAWL_NULL_IS_MARK
                            ? PAWL_NULL
                            : cell->i);
      return;
    case PAWL_T_TIME:
      pawl_add_time(out, cell->i);
      return;
    case PAWL_T_UUID:
      pawl_add_id(out, (const pawl_id *)cell->s.at);
      return;
    case PAWL_T_JSON:
      pawl_add_json(out, cell->s);
      return;
    default:
      assert(col->type == PAWL_T_TEXT);
      pawl_add_text(out, cell->s);
  }
}

/* The column of that name; -1: there is none. `from`: looked at first, as what
 * is shown mostly comes in the columns' order. */
static int find_column(const pawl_stmt_info *info, pawl_str name, int from) {
  for (int i = 0; i < info->ncols; i++) {
    int col = (from + i) % info->ncols;
    if (pawl_str_eqz(name, info->cols[col].name)) return col;
  }
  return -1;
}

int64_t pawl_column_int(const pawl_rows *rows, int k, const char *name) {
  int col = find_column(&pawl_stmts[rows->stmt], pawl_strz(name), 0);
  assert(col >= 0);
  if (col < 0) return PAWL_NULL;
  assert(pawl_stmts[rows->stmt].cols[col].type == PAWL_T_INT);
  return pawl_rows_cell(rows, k, col)->i;
}

/* Up to one of `ends`, or the end. */
static pawl_str cut_word(const char **at, const char *ends) {
  pawl_str word = {*at, strcspn(*at, ends)};
  *at += word.len;
  return word;
}

void pawl_member_columns(pawl_object *o, const pawl_rows *rows, int k,
                         const char *names) {
  const pawl_stmt_info *info = &pawl_stmts[rows->stmt];
  int col = -1;

  while (*names) {
    pawl_str name = cut_word(&names, " ="), column = name;
    if (*names == '=') {
      names++;
      column = cut_word(&names, " ");
    }
    if (*names) names++;
    pawl_member_named(o, name);
    col = find_column(info, column, col + 1);
    if (col >= 0) {
      add_cell(o->out, &info->cols[col], pawl_rows_cell(rows, k, col));
    } else {
      pawl_buf_addc(o->out, NO_COLUMN);
      pawl_buf_adds(o->out, column);
    }
  }
}

/* Most answers are just that: rows, under the names that people know. */
void pawl_add_rows(pawl_buf *out, const pawl_rows *rows, const char *names) {
  pawl_object list, one;

  pawl_list_begin(&list, out);
  for (int k = 0; k < rows->nrows; k++) {
    pawl_list_object(&list, &one);
    pawl_member_columns(&one, rows, k, names);
    pawl_object_end(&one);
  }
  pawl_list_end(&list);
}

/* ---- leases ---- */

/* `lapsed` is said outright, by the store's time: no other clock counts. */
void pawl_member_lease(pawl_object *o, const pawl_rows *agenda) {
  pawl_agenda_get_row row = {.lease = NULL};
  pawl_object lease;

  if (agenda->nrows) row = pawl_read_agenda_get(agenda, 0);
  if (!row.lease) {
    pawl_member_null(o, "lease");
    return;
  }
  pawl_member_object(o, "lease", &lease);
  pawl_member_columns(&lease, agenda, 0, "executor host pid");
  pawl_member_time(&lease, "since", pawl_id_time_us(row.lease));
  pawl_member_time(&lease, "until", row.due_at);
  pawl_member_bool(&lease, "lapsed", row.due_at <= row.now);
  pawl_object_end(&lease);
}

/* ---- what was deleted, or is away ---- */

void pawl_write_who(pawl_str by, pawl_str reason, pawl_buf *out) {
  pawl_object o;

  pawl_object_begin(&o, out);
  if (by.len) pawl_member_str(&o, "by", by);
  if (reason.len) pawl_member_str(&o, "reason", reason);
  pawl_object_end(&o);
}

void pawl_member_away(pawl_object *o, pawl_str away) {
  static const char *const told[] = {"at", "by", "reason"};
  pawl_object inner;
  pawl_str value;

  if (!away.len) {
    pawl_member_null(o, "away");
    return;
  }
  pawl_member_object(o, "away", &inner);
  for (size_t i = 0; i < sizeof told / sizeof *told; i++)
    if (pawl_json_get(away, told[i], &value))
      pawl_member_json(&inner, told[i], value);
  pawl_object_end(&inner);
}

/* When, who and why; `name` is open then. */
static void begin_removal(pawl_object *o, const char *name, pawl_str who,
                          int64_t at_us, pawl_object *inner) {
  static const char *const told[] = {"by", "reason"};
  pawl_str value;

  pawl_member_object(o, name, inner);
  if (at_us) pawl_member_time(inner, "at", at_us);
  for (size_t i = 0; i < sizeof told / sizeof *told; i++)
    if (pawl_json_get(who, told[i], &value))
      pawl_member_json(inner, told[i], value);
}

void pawl_member_deleted(pawl_object *o, pawl_str deletion, int64_t at_us,
                         int64_t purge_us) {
  pawl_object deleted;

  if (!deletion.len) {
    pawl_member_null(o, "deleted");
    return;
  }
  begin_removal(o, "deleted", deletion, at_us, &deleted);
  if (purge_us) pawl_member_time(&deleted, "purge_at", purge_us);
  pawl_object_end(&deleted);
}

void pawl_member_archived(pawl_object *o, pawl_str who, int64_t at_us,
                          int64_t purged_us) {
  pawl_object archived;

  if (purged_us)
    begin_removal(o, "purged", who, purged_us, &archived);
  else
    begin_removal(o, "archived", who, at_us, &archived);
  pawl_object_end(&archived);
}
