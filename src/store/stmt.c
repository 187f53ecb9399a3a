#include "stmt.h"

#include <assert.h>
#include <math.h>

#include "../value/json.h"

/* The first instant PostgreSQL can store: 4713 BC. */
#define TIME_MIN (INT64_C(-210866803200000000))

void pawl_args_init(pawl_args *a, const pawl_alloc *alloc) {
  *a = (pawl_args){.alloc = alloc};
}

void pawl_args_deinit(pawl_args *a) {
  for (int i = 0; i < PAWL_MAX_ARGS; i++)
    pawl_release(a->alloc, a->cols[i].cells,
                 (size_t)a->cols[i].cap * sizeof(pawl_cell));
  pawl_args_init(a, a->alloc);
}

/* A column that is full takes one more; NULL: no memory. */
static pawl_cell *grown_cell(pawl_args *a, pawl_column *col) {
  int cap = col->cap ? col->cap * 2 : 8;
  pawl_cell *cells =
      pawl_realloc(a->alloc, col->cells, (size_t)col->cap * sizeof *cells,
                   (size_t)cap * sizeof *cells);
  if (!cells) {
    a->failed = 1;
    return NULL;
  }
  col->cells = cells;
  col->cap = cap;
  cells[col->n] = (pawl_cell){0};
  return &cells[col->n++];
}

/* The next cell of a column, or a scalar's only one, for one of `types`; NULL:
 * no memory. */
static pawl_cell *next_cell(pawl_args *a, int arg, unsigned types) {
  pawl_column *col;
  pawl_cell *cell;
  assert(arg >= 0 && arg < a->nargs);
  col = &a->cols[arg];
  assert(col->type & types);
  if (!col->is_array) col->n = 0;
  if (col->n == col->cap) return grown_cell(a, col);
  cell = &col->cells[col->n++];
  *cell = (pawl_cell){0};
  return cell;
}

void pawl_args_begin(pawl_args *a, pawl_stmt stmt) {
  const pawl_stmt_info *info = &pawl_stmts[stmt];
  a->stmt = stmt;
  a->nargs = info->nargs;
  a->failed = 0;
  for (int i = 0; i < info->nargs; i++) {
    pawl_column *col = &a->cols[i];
    col->n = 0;
    col->is_array = info->args[i].is_array;
    col->type = 1u << info->args[i].type;
    if (!col->is_array) pawl_arg_null(a, i);
  }
}

#define IS(type) (1u << PAWL_T_##type)

void pawl_arg_int(pawl_args *a, int arg, int64_t v) {
  pawl_cell *cell = next_cell(a, arg, IS(INT) | IS(BOOL));
  if (cell) cell->i = v;
}

void pawl_arg_time(pawl_args *a, int arg, int64_t us) {
  pawl_cell *cell = next_cell(a, arg, IS(TIME));
  if (cell) cell->i = us;
}

void pawl_arg_float(pawl_args *a, int arg, double v) {
  pawl_cell *cell = next_cell(a, arg, IS(FLOAT));
  if (cell) cell->d = v;
}

void pawl_arg_str(pawl_args *a, int arg, pawl_str v) {
  pawl_cell *cell =
      next_cell(a, arg, IS(TEXT) | IS(JSON) | IS(BYTES) | IS(NUMERIC));
  if (!cell) return;
  cell->is_null = v.at == NULL;
  cell->s = v;
}

void pawl_arg_textz(pawl_args *a, int arg, const char *v) {
  pawl_arg_str(a, arg, pawl_strz(v));
}

void pawl_arg_id(pawl_args *a, int arg, const pawl_id *v) {
  pawl_cell *cell = next_cell(a, arg, IS(UUID));
  if (!cell) return;
  cell->is_null = v == NULL;
  if (v) cell->s = (pawl_str){(const char *)v->bytes, sizeof v->bytes};
}

void pawl_arg_null(pawl_args *a, int arg) {
  pawl_cell *cell = next_cell(a, arg, ~0u);
  if (cell) cell->is_null = 1;
}

int pawl_args_rows(const pawl_args *a) {
  const pawl_stmt_info *info = &pawl_stmts[a->stmt];
  int rows = -1;
  if (a->failed) return 1; /* sending it says so */
  for (int i = 0; i < info->nargs; i++) {
    if (!info->args[i].is_array) continue;
    assert(rows < 0 || rows == a->cols[i].n);
    rows = a->cols[i].n;
  }
  return rows < 0 ? 1 : rows;
}

/* Of its own type, whatever it is. */
static int is_always_fine(const pawl_param *p) {
  return p->type == PAWL_T_UUID || p->type == PAWL_T_BYTES ||
         (p->type == PAWL_T_INT && p->bits == 64);
}

/* What is wrong with a value for any database; NULL: nothing. */
static const char *complaint(const pawl_param *p, const pawl_cell *c) {
  size_t at;
  if (c->is_null) return NULL;
  switch (p->type) {
    case PAWL_T_BOOL:
      return c->i == 0 || c->i == 1 ? NULL : "is not a boolean";
    case PAWL_T_INT:
      if ((p->bits == 16 && c->i != (int16_t)c->i) ||
          (p->bits == 32 && c->i != (int32_t)c->i))
        return "is an integer too large for its column";
      return NULL;
    case PAWL_T_TIME:
      return c->i >= TIME_MIN ? NULL : "is a time too long ago";
    case PAWL_T_FLOAT:
      return isfinite(c->d) ? NULL : "is not a finite number";
    case PAWL_T_TEXT:
      if (c->s.len > 0 && memchr(c->s.at, 0, c->s.len))
        return "is text with a zero byte";
      return pawl_utf8_check(c->s, &at) ? NULL : "is not valid UTF-8";
    case PAWL_T_JSON:
      return c->s.len > 0 && memchr(c->s.at, 0, c->s.len)
                 ? "is JSON with a zero byte"
                 : NULL;
    case PAWL_T_NUMERIC:
      return pawl_json_is_decimal(c->s)
                 ? NULL
                 : "is not a plain decimal number like -12.50";
    case PAWL_T_UUID:
    case PAWL_T_BYTES:
      return NULL;
  }
  return "has an unknown type";
}

pawl_code pawl_args_check(const pawl_args *a, pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[a->stmt];
  int rows = -1;
  if (a->failed)
    return pawl_fail(err, PAWL_NOMEM, "%s: no memory for its arguments",
                     info->name);
  for (int i = 0; i < info->nargs; i++) {
    const pawl_param *p = &info->args[i];
    const pawl_column *col = &a->cols[i];
    if (p->is_array && rows >= 0 && rows != col->n)
      return pawl_fail(err, PAWL_INTERNAL,
                       "%s: @%s has %d values, the column before it %d",
                       info->name, p->name, col->n, rows);
    if (p->is_array) rows = col->n;
    for (int k = is_always_fine(p) ? col->n : 0; k < col->n; k++) {
      const char *what = complaint(p, &col->cells[k]);
      if (!what) continue;
      (void)pawl_fail(err, PAWL_VALUE, "%s: @%s %s", info->name, p->name,
                      what);
      pawl_error_where(err, "%s", p->name);
      return PAWL_VALUE;
    }
  }
  return PAWL_OK;
}

void pawl_row_id(const pawl_rows *r, int row, int col, pawl_id *out) {
  const pawl_cell *cell = pawl_rows_cell(r, row, col);
  assert(cell->is_null || cell->s.len == sizeof out->bytes);
  if (cell->is_null)
    memset(out, 0, sizeof *out);
  else
    memcpy(out->bytes, cell->s.at, sizeof out->bytes);
}
