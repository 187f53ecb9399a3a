/* Parameters and rows of a user's own SQL, as JSON. */
#include "query.h"

#include "../../value/json.h"
#include "engine_struct.h"

static void add_cell(pawl_buf *out, const pawl_cell *c, pawl_type type) {
  if (c->is_null)
    pawl_buf_addz(out, "null");
  else if (type == PAWL_T_BOOL)
    pawl_buf_addz(out, c->i ? "true" : "false");
  else if (type == PAWL_T_INT)
    pawl_buf_addi(out, c->i);
  else if (type == PAWL_T_FLOAT && c->d - c->d == 0)
    pawl_json_add_float(out, c->d);
  else if (type == PAWL_T_FLOAT)
    pawl_buf_addz(out, c->d != c->d ? "\"NaN\""
                       : c->d > 0   ? "\"Infinity\""
                                    : "\"-Infinity\"");
  else
    pawl_json_add_string(out, c->s);
}

static pawl_code rows_json(const pawl_rows *rows, const char *const *names,
                           const pawl_type *types, pawl_buf *out,
                           pawl_error *err) {
  size_t bad;
  pawl_buf_addc(out, '[');
  for (int r = 0; r < rows->nrows; r++) {
    pawl_buf_addz(out, r ? ",{" : "{");
    for (int c = 0; c < rows->ncols; c++) {
      const pawl_cell *cell = pawl_rows_cell(rows, r, c);
      if (!cell->is_null && types[c] != PAWL_T_INT &&
          types[c] != PAWL_T_FLOAT && types[c] != PAWL_T_BOOL &&
          !pawl_utf8_check(cell->s, &bad))
        return pawl_fail(err, PAWL_VALUE,
                         "column \"%s\" holds bytes that are "
                         "not UTF-8 text",
                         names[c]);
      if (c) pawl_buf_addc(out, ',');
      pawl_json_add_string(out, pawl_strz(names[c]));
      pawl_buf_addc(out, ':');
      add_cell(out, cell, types[c]);
    }
    pawl_buf_addc(out, '}');
  }
  pawl_buf_addc(out, ']');
  return pawl_buf_check(out, err);
}

/* They lie on the C stack, so there is a limit. */
#define MAX_PARAMS 100

/* JSON values as parameters; strings are unescaped into `scratch`. */
static pawl_code sql_params(pawl_str params, pawl_cell *cells,
                            pawl_type *types, int *n, pawl_buf *scratch,
                            pawl_error *err) {
  size_t ends[MAX_PARAMS] = {0};

  *n = 0;
  for (pawl_json_iter it = {0}; pawl_json_walk(params, &it);) {
    if (*n == MAX_PARAMS)
      return pawl_fail(err, PAWL_LIMIT,
                       "ctx.db:query takes at most %d "
                       "parameters",
                       MAX_PARAMS);
    pawl_cell *c = &cells[*n];
    memset(c, 0, sizeof *c);
    types[*n] = PAWL_T_TEXT;
    switch (pawl_json_kind_of(it.value)) {
      case PAWL_JSON_NULL:
        c->is_null = 1;
        break;
      case PAWL_JSON_TRUE:
        c->i = 1; /* fall through */
      case PAWL_JSON_FALSE:
        types[*n] = PAWL_T_BOOL;
        break;
      case PAWL_JSON_INT:
        types[*n] = PAWL_T_INT;
        (void)pawl_json_int(it.value, &c->i);
        break;
      case PAWL_JSON_FLOAT:
        types[*n] = PAWL_T_FLOAT;
        (void)pawl_json_number(it.value, &c->d);
        break;
      case PAWL_JSON_STRING:
        c->s.len = scratch->len; /* the offset, until it stops moving */
        pawl_json_unquote(it.value, scratch);
        break;
      case PAWL_JSON_ARRAY:
      case PAWL_JSON_OBJECT:
        c->s = it.value;
        break; /* as JSON text */
    }
    ends[(*n)++] = scratch->len;
  }
  for (int i = 0; i < *n; i++) {
    if (types[i] != PAWL_T_TEXT || cells[i].is_null || cells[i].s.at) continue;
    size_t from = cells[i].s.len;
    cells[i].s.at = scratch->at ? scratch->at + from : "";
    cells[i].s.len = ends[i] - from;
  }
  return pawl_buf_check(scratch, err);
}

pawl_code pawl_query_run(pawl_engine *e, const pawl_query_bounds *bounds,
                         pawl_str sql, pawl_str params, pawl_buf *out,
                         int64_t *changed, pawl_error *failed,
                         pawl_error *err) {
  pawl_cell cells[MAX_PARAMS];
  pawl_type types[MAX_PARAMS];
  pawl_query q = {.sql = sql,
                  .params = cells,
                  .types = types,
                  .tables = bounds->tables,
                  .limit_us = bounds->us,
                  .most_bytes = bounds->bytes};
  pawl_buf scratch = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  TRY(sql_params(params, cells, types, &q.nparams, &scratch, err));
  rc = pawl_store_query(e->store, &q, err);
  if (rc != PAWL_OK) {
    if (failed) *failed = *err;
    goto out;
  }
  TRY(rows_json(&q.rows, q.names, q.col_types, out, err));
  if (bounds->bytes && out->len > bounds->bytes)
    TRY(pawl_fail_hint(
        err, PAWL_LIMIT, "ask for less, or for a part at a time",
        "query: its rows have more than %zu bytes", bounds->bytes));
  *changed = q.rows.changed;
out:
  pawl_buf_deinit(&scratch);
  return rc;
}
