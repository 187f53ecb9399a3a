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
  if (!PAWL_ROOM(a->alloc, col->cells, col->n, col->cap)) {
    a->failed = 1;
    return NULL;
  }
  return &col->cells[col->n++];
}

void pawl_args_begin(pawl_args *a, pawl_stmt stmt) {
  const pawl_stmt_info *info = &pawl_stmts[stmt];
  a->stmt = stmt;
  a->failed = a->has_scalars = a->counted = 0;
  for (int i = 0; i < info->nargs; i++) a->cols[i].n = 0;
}

static void set_number(pawl_cell *cell, const pawl_param *p, int64_t v) {
  cell->i = v;
  cell->is_null = (p->nulls == PAWL_NULL_IS_ZERO && v == 0) ||
                  (p->nulls == PAWL_NULL_IS_MARK && v == PAWL_NULL);
}

static void set_id(pawl_cell *cell, const pawl_id *v) {
  cell->is_null = v == NULL;
  cell->s = (pawl_str){(const char *)v, v ? sizeof v->bytes : 0};
}

/* From the struct's member at `from`. */
static void set_cell(pawl_cell *cell, const pawl_param *p, const void *from) {
  switch (p->type) {
    case PAWL_T_BOOL:
    case PAWL_T_INT:
    case PAWL_T_TIME:
      set_number(cell, p, *(const int64_t *)from);
      return;
    case PAWL_T_FLOAT:
      cell->d = *(const double *)from;
      cell->is_null = isnan(cell->d);
      return;
    case PAWL_T_UUID:
      set_id(cell, *(const pawl_id *const *)from);
      return;
    case PAWL_T_TEXT:
    case PAWL_T_JSON:
    case PAWL_T_NUMERIC:
    case PAWL_T_BYTES:
      cell->s = *(const pawl_str *)from;
      cell->is_null = cell->s.at == NULL;
      return;
  }
}

void pawl_args_put(pawl_args *a, pawl_stmt stmt, const void *row) {
  const pawl_stmt_info *info = &pawl_stmts[stmt];
  assert(info->args == pawl_stmts[a->stmt].args);
  for (int i = 0; i < info->nargs; i++) {
    const pawl_param *p = &info->args[i];
    pawl_column *col = &a->cols[i];
    if (a->has_scalars && !p->is_array) continue;
    if (!p->is_array) col->n = 0;
    pawl_cell *cell =
        col->n < col->cap ? &col->cells[col->n++] : grown_cell(a, col);
    if (cell) set_cell(cell, p, (const char *)row + p->offset);
  }
  a->has_scalars = 1;
}

void pawl_args_add(pawl_args *a, int arg, const pawl_cell *cell) {
  assert(arg >= 0 && arg < pawl_stmts[a->stmt].nargs);
  pawl_column *col = &a->cols[arg];
  if (!pawl_stmts[a->stmt].args[arg].is_array) col->n = 0;
  pawl_cell *to =
      col->n < col->cap ? &col->cells[col->n++] : grown_cell(a, col);
  if (to) *to = *cell;
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
    if (!p->is_array && !col->n)
      return pawl_fail(err, PAWL_INTERNAL, "%s: @%s was not set", info->name,
                       p->name);
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

/* To the struct's member at `to`. */
static void read_cell(const pawl_cell *cell, const pawl_param *p, void *to) {
  switch (p->type) {
    case PAWL_T_BOOL:
    case PAWL_T_INT:
    case PAWL_T_TIME:
      *(int64_t *)to =
          cell->is_null && p->nulls == PAWL_NULL_IS_MARK ? PAWL_NULL : cell->i;
      return;
    case PAWL_T_FLOAT:
      *(double *)to = cell->is_null ? (double)NAN : cell->d;
      return;
    case PAWL_T_UUID: /* bytes: aligned anywhere */
      assert(cell->is_null || cell->s.len == sizeof(pawl_id));
      *(const pawl_id **)to = (const pawl_id *)cell->s.at;
      return;
    case PAWL_T_TEXT:
    case PAWL_T_JSON:
    case PAWL_T_NUMERIC:
    case PAWL_T_BYTES:
      *(pawl_str *)to = cell->s;
      return;
  }
}

void pawl_rows_read(const pawl_rows *r, pawl_stmt stmt, int k, void *out) {
  const pawl_stmt_info *info = &pawl_stmts[stmt];
  const pawl_cell *cells = &r->cells[(size_t)k * (size_t)r->ncols];
  assert(k >= 0 && k < r->nrows && info->cols == pawl_stmts[r->stmt].cols);
  for (int i = 0; i < info->ncols; i++)
    read_cell(&cells[i], &info->cols[i], (char *)out + info->cols[i].offset);
}

/* ---- rows that outlive their unit ---- */

static int is_borrowed(const pawl_param *p) {
  return p->type >= PAWL_T_TEXT && p->type != PAWL_T_TIME;
}

/* Copies what the struct's member points at to `to`; where that ends. */
static char *keep_member(const pawl_param *p, void *member, char *to) {
  const pawl_id **id = member;
  pawl_str *text = member;

  if (p->type == PAWL_T_UUID) {
    if (!*id) return to;
    memcpy(to, *id, sizeof **id);
    *id = (const pawl_id *)to;
    return to + sizeof **id;
  }
  if (!is_borrowed(p) || !text->at) return to;
  memcpy(to, text->at, text->len);
  to[text->len] = '\0';
  text->at = to;
  return to + text->len + 1;
}

pawl_code pawl_rows_keep(const pawl_rows *r, pawl_stmt stmt, size_t size,
                         pawl_buf *keep, pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[stmt];
  size_t room = size * (size_t)r->nrows;
  char *rows, *to;

  pawl_buf_clear(keep);
  for (int i = 0; i < r->nrows * r->ncols; i++)
    if (is_borrowed(&info->cols[i % r->ncols])) room += r->cells[i].s.len + 1;
  if (!r->nrows || !(rows = pawl_buf_room(keep, room)))
    return pawl_buf_check(keep, err);
  to = rows + size * (size_t)r->nrows;
  for (int k = 0; k < r->nrows; k++, rows += size) {
    pawl_rows_read(r, stmt, k, rows);
    for (int i = 0; i < info->ncols; i++)
      to = keep_member(&info->cols[i], rows + info->cols[i].offset, to);
  }
  pawl_buf_grew(keep, (size_t)(to - keep->at));
  assert(keep->len <= room);
  return PAWL_OK;
}
