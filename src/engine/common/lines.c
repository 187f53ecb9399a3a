#include "lines.h"

#include <assert.h>
#include <math.h>

#include "../../base/base64.h"
#include "../../base/clock.h"
#include "../../base/nearest.h"
#include "../../value/json.h"

/* ---- masks ---- */

enum { MOST = 64 /* paths that may go on below one place */ };

/* What is left of the paths below a place. More than fit: all is masked. */
typedef struct rest {
  pawl_str paths[MOST];
  int n, is_full;
} rest;

/* Does the path begin with this key? *behind: what is left of it. */
static int goes_on(pawl_str path, pawl_str key, pawl_str *behind) {
  if (path.len < key.len || memcmp(path.at, key.at, key.len)) return 0;
  *behind = (pawl_str){path.at + key.len, path.len - key.len};
  if (!behind->len) return 1;
  if (*behind->at != '.') return 0;
  behind->at++;
  behind->len--;
  return 1;
}

/* The one whose end that is has met something. */
static void meet(const pawl_mask *mask, const char *end) {
  for (int i = 0; mask->met && i < mask->npaths; i++)
    if (mask->paths[i].at + mask->paths[i].len == end) *mask->met |= 1u << i;
}

/* Those that go on at the member `key`. Does one of them end there? */
static int follow(const pawl_mask *mask, const pawl_str *paths, int n,
                  pawl_str key, rest *below) {
  pawl_str behind;
  int ends = 0;

  for (int i = 0; i < n; i++) {
    if (!goes_on(paths[i], key, &behind)) continue;
    if (!behind.len) meet(mask, behind.at);
    if (!behind.len || below->n == MOST)
      ends = 1;
    else
      below->paths[below->n++] = behind;
  }
  return ends;
}

static int is_masked(const pawl_mask *mask, const rest *here, pawl_str key,
                     rest *below) {
  const int ends = follow(mask, here->paths, here->n, key, below);
  return follow(mask, mask->paths, mask->npaths, key, below) || ends;
}

/* `here`: what is left of paths that led here; each begins anew, too. */
static void add_masked(pawl_str value, const pawl_mask *mask, const rest *here,
                       pawl_buf *out) {
  const pawl_json_kind kind = pawl_json_kind_of(value);
  const int is_object = kind == PAWL_JSON_OBJECT;
  int n = 0;

  if (!is_object && kind != PAWL_JSON_ARRAY) {
    pawl_buf_adds(out, value);
    return;
  }
  pawl_buf_addc(out, is_object ? '{' : '[');
  for (pawl_json_iter it = {0}; pawl_json_walk(value, &it);) {
    rest below = {.n = 0};
    if (n++) pawl_buf_addc(out, ',');
    if (is_object) pawl_buf_addf(out, "\"%.*s\":", (int)it.key.len, it.key.at);
    if (is_object && is_masked(mask, here, it.key, &below))
      pawl_buf_addz(out, "\"" PAWL_MASKED "\"");
    else
      add_masked(it.value, mask, is_object ? &below : here, out);
  }
  pawl_buf_addc(out, is_object ? '}' : ']');
}

/* Columns of JSON that are the engine's own: it could not read them again. */
static int is_engines(const char *column) {
  static const char *const names[] = {
      "joined",       "compensation", "deletion", "cancellation",
      "token_detail", "detail",       "previous"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(column, names[i])) return 1;
  return 0;
}

/* ---- written ---- */

/* On one line: line breaks stand between members alone. */
static void add_json(pawl_str json, pawl_buf *out) {
  const size_t from = out->len;
  pawl_buf_adds(out, json);
  for (size_t i = from; i < out->len; i++)
    if (out->at[i] == '\n' || out->at[i] == '\r') out->at[i] = ' ';
}

static void add_time(int64_t us, pawl_buf *out) {
  char text[28];
  int64_t back;

  pawl_time_format(us, text);
  if (pawl_time_parse(text, strlen(text), &back) && back == us)
    pawl_add_text(out, pawl_strz(text));
  else
    pawl_buf_addi(out, us);
}

static void add_value(const pawl_param *col, const pawl_cell *cell,
                      pawl_buf *out) {
  switch (col->type) {
    case PAWL_T_BOOL:
      pawl_add_bool(out, cell->i);
      return;
    case PAWL_T_INT:
      pawl_buf_addi(out, cell->i);
      return;
    case PAWL_T_FLOAT:
      pawl_json_add_float(out, cell->d);
      return;
    case PAWL_T_TIME:
      add_time(cell->i, out);
      return;
    case PAWL_T_UUID:
      pawl_add_id(out, (const pawl_id *)cell->s.at);
      return;
    case PAWL_T_JSON:
      add_json(cell->s, out);
      return;
    case PAWL_T_BYTES:
      pawl_buf_addc(out, '"');
      pawl_base64_encode(cell->s, out);
      pawl_buf_addc(out, '"');
      return;
    case PAWL_T_TEXT:
    case PAWL_T_NUMERIC:
      pawl_add_text(out, cell->s);
      return;
  }
}

/* A row of `variable` has an object's members, without its braces. */
static void add_masked_members(pawl_str members, const pawl_mask *mask,
                               pawl_buf *out) {
  static const rest none;
  pawl_buf object = {.alloc = out->alloc}, masked = {.alloc = out->alloc};

  pawl_buf_addc(&object, '{');
  pawl_buf_adds(&object, members);
  pawl_buf_addc(&object, '}');
  add_masked(pawl_buf_str(&object), mask, &none, &masked);
  if (object.failed || masked.failed)
    out->failed = 1;
  else
    pawl_add_text(out, (pawl_str){masked.at + 1, masked.len - 2});
  pawl_buf_deinit(&object);
  pawl_buf_deinit(&masked);
}

/* The same, as far as it may be seen. */
static void add_shown(const pawl_param *col, const pawl_cell *cell,
                      const char *table, const pawl_mask *mask,
                      pawl_buf *out) {
  static const rest none;

  if (!mask || !mask->npaths)
    add_value(col, cell, out);
  else if (col->type == PAWL_T_JSON && !is_engines(col->name))
    add_masked(cell->s, mask, &none, out);
  else if (!strcmp(table, "variable") && !strcmp(col->name, "members"))
    add_masked_members(cell->s, mask, out);
  else
    add_value(col, cell, out);
}

void pawl_line_write(const pawl_rows *rows, int k, const char *table,
                     const pawl_mask *mask, pawl_buf *out) {
  const pawl_stmt_info *info = &pawl_stmts[rows->stmt];
  pawl_object o;

  pawl_object_begin(&o, out);
  pawl_member_textz(&o, "is", table);
  for (int i = 0; i < info->ncols; i++) {
    const pawl_cell *cell = pawl_rows_cell(rows, k, i);
    if (cell->is_null) continue;
    pawl_member(&o, info->cols[i].name);
    add_shown(&info->cols[i], cell, table, mask, out);
  }
  pawl_object_end(&o);
  pawl_buf_addc(out, '\n');
}

/* ---- read ---- */

pawl_str pawl_line_is(pawl_str line) {
  pawl_str value;
  if (pawl_json_kind_of(line) != PAWL_JSON_OBJECT ||
      !pawl_json_get(line, "is", &value) || value.len < 2 || *value.at != '"')
    return (pawl_str){NULL, 0};
  return (pawl_str){value.at + 1, value.len - 2};
}

/* What a member of that type is to be. */
static const char *wanted(pawl_type type) {
  switch (type) {
    case PAWL_T_BOOL:
      return "true or false";
    case PAWL_T_INT:
      return "an integer";
    case PAWL_T_FLOAT:
      return "a number";
    case PAWL_T_TIME:
      return "a time";
    case PAWL_T_UUID:
      return "an id";
    case PAWL_T_BYTES:
      return "base64";
    case PAWL_T_NUMERIC:
      return "a decimal number in a string";
    default:
      return "a string";
  }
}

/* Appends the text of a string; 0: it is none. Does not move what it has. */
static int unquote(pawl_str value, pawl_buf *keep, pawl_str *out) {
  const char *was = keep->at;
  const size_t from = keep->len;

  if (pawl_json_kind_of(value) != PAWL_JSON_STRING) return 0;
  pawl_json_unquote(value, keep);
  assert(keep->at == was); /* there was room for all of it */
  (void)was;
  *out = (pawl_str){keep->at + from, keep->len - from};
  return 1;
}

static int read_time(pawl_str value, pawl_buf *keep, int64_t *us) {
  pawl_str text;
  if (pawl_json_int(value, us)) return 1;
  return unquote(value, keep, &text) && pawl_time_parse(text.at, text.len, us);
}

static int read_id(pawl_str value, pawl_buf *keep, pawl_str *out) {
  pawl_str text;
  pawl_id id;
  if (!unquote(value, keep, &text) || !pawl_id_parse(text.at, text.len, &id))
    return 0;
  memcpy(keep->at + (text.at - keep->at), id.bytes, sizeof id.bytes);
  *out = (pawl_str){text.at, sizeof id.bytes};
  return 1;
}

static int read_bytes(pawl_str value, pawl_buf *keep, pawl_str *out) {
  const char *was = keep->at;
  pawl_str text;

  if (!unquote(value, keep, &text)) return 0;
  const size_t from = keep->len;
  if (!pawl_base64_decode(text, keep)) return 0;
  assert(keep->at == was);
  (void)was;
  *out = (pawl_str){keep->at + from, keep->len - from};
  return 1;
}

/* L9; ranges are checked where the row is sent. */
static int read_value(pawl_str value, pawl_type type, pawl_buf *keep,
                      pawl_cell *cell) {
  const pawl_json_kind kind = pawl_json_kind_of(value);
  switch (type) {
    case PAWL_T_BOOL:
      cell->i = kind == PAWL_JSON_TRUE;
      return kind == PAWL_JSON_TRUE || kind == PAWL_JSON_FALSE;
    case PAWL_T_INT:
      return pawl_json_int(value, &cell->i);
    case PAWL_T_FLOAT:
      return pawl_json_number(value, &cell->d);
    case PAWL_T_TIME:
      return read_time(value, keep, &cell->i);
    case PAWL_T_UUID:
      return read_id(value, keep, &cell->s);
    case PAWL_T_BYTES:
      return read_bytes(value, keep, &cell->s);
    case PAWL_T_JSON:
      cell->s = value;
      return 1;
    case PAWL_T_TEXT:
    case PAWL_T_NUMERIC:
      return unquote(value, keep, &cell->s);
  }
  return 0;
}

static pawl_code fail_unknown(const pawl_stmt_info *info, int first,
                              pawl_str key, pawl_error *err) {
  const char *names[PAWL_MAX_ARGS], *near;
  char name[64];

  pawl_str_copy(name, sizeof name, key);
  for (int i = first; i < info->nargs; i++)
    names[i - first] = info->args[i].name;
  pawl_fail(err, PAWL_INVALID, "there is no member `%s`", name);
  pawl_error_where(err, "%s", name);
  near = pawl_nearest(name, names, info->nargs - first);
  if (near)
    pawl_error_hint(err, "did you mean `%s`?", near);
  else
    pawl_error_hint(err, "a newer pawl may have written it: import it there");
  return PAWL_INVALID;
}

static int find_arg(const pawl_stmt_info *info, int first, pawl_str key) {
  for (int i = first; i < info->nargs; i++)
    if (pawl_str_eqz(key, info->args[i].name)) return i;
  return -1;
}

pawl_code pawl_line_read(pawl_str line, pawl_args *args, int first,
                         pawl_buf *keep, pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[args->stmt];
  pawl_cell cells[PAWL_MAX_ARGS];

  for (int i = first; i < info->nargs; i++)
    cells[i] = (pawl_cell){.is_null = 1};
  for (pawl_json_iter it = {0}; pawl_json_walk(line, &it);) {
    const int at = find_arg(info, first, it.key);
    if (at < 0 && pawl_str_eqz(it.key, "is")) continue;
    if (at < 0) return fail_unknown(info, first, it.key, err);
    cells[at].is_null = 0;
    if (read_value(it.value, info->args[at].type, keep, &cells[at])) continue;
    pawl_fail(err, PAWL_INVALID, "`%s` is to be %s, not %.60s",
              info->args[at].name, wanted(info->args[at].type), it.value.at);
    pawl_error_where(err, "%s", info->args[at].name);
    return PAWL_INVALID;
  }
  for (int i = first; i < info->nargs; i++) pawl_args_add(args, i, &cells[i]);
  return PAWL_OK;
}
