#include "pgwire.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "../base/clock.h"
#include "../value/json.h"
#include "failure.h"
#include "pgconn.h"

#define pq pawl_pq
#define EPOCH INT64_C(946684800000000) /* 2000-01-01, from 1970 */

/* ---- arguments ---- */

static const struct {
  Oid oid, array;
} oids[] = {
    [PAWL_T_BOOL] = {16, 1000},      [PAWL_T_INT] = {20, 1016},
    [PAWL_T_FLOAT] = {701, 1022},    [PAWL_T_TEXT] = {25, 1009},
    [PAWL_T_JSON] = {114, 199},      [PAWL_T_UUID] = {2950, 2951},
    [PAWL_T_TIME] = {1184, 1185},    [PAWL_T_BYTES] = {17, 1001},
    [PAWL_T_NUMERIC] = {1700, 1231},
};

static Oid oid_of(const pawl_param *p, int is_array) {
  if (p->type == PAWL_T_INT && p->bits == 16) return is_array ? 1005 : 21;
  if (p->type == PAWL_T_INT && p->bits == 32) return is_array ? 1007 : 23;
  return is_array ? oids[p->type].array : oids[p->type].oid;
}

/* Each of these writes at `to`, where there is room, and returns what comes
 * behind. */
static char *put16(char *to, uint64_t v) {
  to[0] = (char)(v >> 8);
  to[1] = (char)v;
  return to + 2;
}

static char *put32(char *to, uint64_t v) {
  return put16(put16(to, v >> 16), v);
}

static char *put64(char *to, uint64_t v) {
  return put32(put32(to, v >> 32), v);
}

static int is_bytes(pawl_type type) {
  return type == PAWL_T_TEXT || type == PAWL_T_JSON || type == PAWL_T_UUID ||
         type == PAWL_T_BYTES || type == PAWL_T_NUMERIC;
}

/* Of a type whose values all have the same size. */
static int width_of(const pawl_param *p) {
  if (p->type == PAWL_T_BOOL) return 1;
  return p->type == PAWL_T_INT ? p->bits / 8 : 8;
}

static char *put_int(char *to, int bits, uint64_t v) {
  return bits == 64 ? put64(to, v) : bits == 32 ? put32(to, v) : put16(to, v);
}

static char *put_number(char *to, const pawl_param *p, const pawl_cell *cell) {
  uint64_t bits;
  switch (p->type) {
    case PAWL_T_BOOL:
      *to = (char)(cell->i != 0);
      return to + 1;
    case PAWL_T_INT:
      return put_int(to, p->bits, (uint64_t)cell->i);
    case PAWL_T_TIME: /* pawl_args_check keeps it from overflowing */
      return put64(to, (uint64_t)(cell->i - EPOCH));
    default:
      memcpy(&bits, &cell->d, sizeof bits);
      return put64(to, bits);
  }
}

static char *put_numbers(char *to, const pawl_param *p,
                         const pawl_column *col) {
  uint64_t width = (uint64_t)width_of(p);
  for (int i = 0; i < col->n; i++) {
    const pawl_cell *cell = &col->cells[i];
    to = put32(to, cell->is_null ? UINT32_MAX : width);
    if (!cell->is_null) to = put_number(to, p, cell);
  }
  return to;
}

static char *put_texts(char *to, const pawl_column *col) {
  for (int i = 0; i < col->n; i++) {
    const pawl_cell *cell = &col->cells[i];
    to = put32(to, cell->is_null ? UINT32_MAX : cell->s.len);
    if (cell->is_null || cell->s.len == 0) continue;
    memcpy(to, cell->s.at, cell->s.len);
    to += cell->s.len;
  }
  return to;
}

/* One dimension, counted from 1. */
static void put_array(pawl_buf *b, const pawl_param *p,
                      const pawl_column *col) {
  int text = is_bytes(p->type), has_null = 0;
  size_t size = 20 + (4 + (text ? 0 : 8)) * (size_t)col->n; /* at most */
  char *to;

  for (int i = 0; i < col->n; i++) {
    has_null |= col->cells[i].is_null;
    if (text) size += col->cells[i].s.len; /* 0 of a null */
  }
  if (!(to = pawl_buf_room(b, size))) return;
  to = put32(to, 1);
  to = put32(to, (uint64_t)has_null);
  to = put32(to, oid_of(p, 0));
  to = put32(to, (uint64_t)col->n);
  to = put32(to, 1);
  to = text ? put_texts(to, col) : put_numbers(to, p, col);
  assert((size_t)(to - (b->at + b->len)) <= size);
  pawl_buf_grew(b, (size_t)(to - (b->at + b->len)));
}

/* numeric has no binary form worth writing: {-12.50,NULL} */
static void put_decimals(pawl_buf *b, const pawl_param *p,
                         const pawl_column *col) {
  if (p->is_array) pawl_buf_addc(b, '{');
  for (int i = 0; i < col->n; i++) {
    if (i > 0) pawl_buf_addc(b, ',');
    if (col->cells[i].is_null)
      pawl_buf_addz(b, "NULL");
    else
      pawl_buf_adds(b, col->cells[i].s);
  }
  if (p->is_array) pawl_buf_addc(b, '}');
  pawl_buf_addc(b, 0);
}

static pawl_code encode_arg(pawl_buf *b, const pawl_param *p,
                            const pawl_column *col, int i, pawl_pgparams *out,
                            pawl_error *err) {
  const pawl_cell *cell = col->cells;
  size_t at = b->len, len;
  out->types[i] = oid_of(p, p->is_array);
  out->formats[i] = p->type != PAWL_T_NUMERIC;
  out->is_encoded[i] = 0;
  out->values[i] = NULL;
  out->lengths[i] = 0;
  if (!p->is_array && cell->is_null) return PAWL_OK;
  out->is_encoded[i] = 1;
  out->at[i] = at;
  if (p->type == PAWL_T_NUMERIC) {
    put_decimals(b, p, col);
  } else if (p->is_array) {
    put_array(b, p, col);
  } else if (is_bytes(p->type)) { /* borrowed: libpq copies it */
    out->is_encoded[i] = 0;
    out->values[i] = cell->s.at ? cell->s.at : "";
  } else {
    char number[8];
    pawl_buf_add(b, number, (size_t)(put_number(number, p, cell) - number));
  }
  len = out->is_encoded[i] ? b->len - at : cell->s.len;
  if (len > INT32_MAX / 2)
    return pawl_fail(err, PAWL_LIMIT, "@%s is too large", p->name);
  out->lengths[i] = (int)len;
  return PAWL_OK;
}

pawl_code pawl_pgwire_encode(pawl_buf *bytes, const pawl_args *args,
                             pawl_pgparams *out, pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[args->stmt];
  pawl_buf_clear(bytes);
  out->n = info->nargs;
  for (int i = 0; i < info->nargs; i++)
    MUST(encode_arg(bytes, &info->args[i], &args->cols[i], i, out, err));
  if (pawl_buf_check(bytes, NULL) != PAWL_OK) return pawl_failure_memory(err);
  for (int i = 0; i < info->nargs; i++)
    if (out->is_encoded[i]) out->values[i] = bytes->at + out->at[i];
  return PAWL_OK;
}

/* ---- results ---- */

static uint64_t get(const char *at, int nbytes) {
  uint64_t v = 0;
  for (int i = 0; i < nbytes; i++) v = v << 8 | (unsigned char)at[i];
  return v;
}

static int64_t get_int(const char *at, int nbytes) {
  uint64_t v = get(at, nbytes);
  assert(nbytes == 2 || nbytes == 4 || nbytes == 8);
  if (nbytes == 2) return (int16_t)v;
  if (nbytes == 4) return (int32_t)v;
  return (int64_t)v;
}

/* +-infinity are the ends of their range and ours. */
static int64_t get_time(const char *at) {
  int64_t us = get_int(at, 8);
  if (us == INT64_MIN) return INT64_MIN;
  return us > INT64_MAX - EPOCH ? PAWL_NEVER : us + EPOCH;
}

static double get_float(const char *at, int nbytes) {
  uint64_t bits = get(at, nbytes);
  assert(nbytes == 4 || nbytes == 8);
  uint32_t low = (uint32_t)bits;
  double d;
  float f;
  if (nbytes == 4) {
    memcpy(&f, &low, sizeof f);
    return (double)f;
  }
  memcpy(&d, &bits, sizeof d);
  return d;
}

/* A binary numeric is four 16-bit words (digits, weight of the first, sign,
 * decimals shown) and digits of base 10,000. */
static void add_numeric(pawl_buf *b, const char *at) {
  int ndigits = (int)get(at, 2), weight = (int)get_int(at + 2, 2);
  unsigned sign = (unsigned)get(at + 4, 2);
  int scale = (int)get(at + 6, 2);
  char group[8];
  if (sign == 0xC000 || sign == 0xD000 || sign == 0xF000) {
    pawl_buf_addz(b, sign == 0xC000   ? "NaN"
                     : sign == 0xD000 ? "Infinity"
                                      : "-Infinity");
    return;
  }
  if (sign == 0x4000) pawl_buf_addc(b, '-');
  for (int i = 0; i <= weight || i == 0; i++) {
    int digit = i < ndigits && weight >= 0 ? (int)get(at + 8 + 2 * i, 2) : 0;
    pawl_buf_addf(b, i == 0 ? "%d" : "%04d", digit);
  }
  if (scale > 0) pawl_buf_addc(b, '.');
  for (int i = weight + 1; scale > 0; i++, scale -= 4) {
    int digit = i >= 0 && i < ndigits ? (int)get(at + 8 + 2 * i, 2) : 0;
    snprintf(group, sizeof group, "%04d", digit);
    pawl_buf_add(b, group, (size_t)(scale < 4 ? scale : 4));
  }
}

static int decode_numeric(pawl_buf *bytes, pawl_results *r, const char *at,
                          pawl_cell *cell) {
  pawl_buf_clear(bytes);
  add_numeric(bytes, at);
  if (bytes->failed) return 0;
  cell->s = pawl_results_copy(r, bytes->at, bytes->len);
  return cell->s.at != NULL;
}

/* What PostgreSQL may send for each of our types. */
static const Oid accepted[][5] = {
    [PAWL_T_BOOL] = {16},
    [PAWL_T_INT] = {20, 21, 23},
    [PAWL_T_FLOAT] = {701, 700},
    [PAWL_T_TEXT] = {25, 1043, 1042, 19, 705},
    [PAWL_T_JSON] = {114, 3802, 25},
    [PAWL_T_UUID] = {2950},
    [PAWL_T_TIME] = {1184, 1114},
    [PAWL_T_BYTES] = {17},
    [PAWL_T_NUMERIC] = {1700},
};

static int is_accepted(pawl_type type, Oid oid) {
  for (int i = 0; i < 5 && accepted[type][i]; i++)
    if (accepted[type][i] == oid) return 1;
  return 0;
}

pawl_code pawl_pgwire_check(pawl_stmt which, const PGresult *res,
                            pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[which];
  if (info->ncols == 0) return PAWL_OK;
  if (pq.nfields(res) != info->ncols)
    return pawl_fail(err, PAWL_INTERNAL, "%s: gives %d columns, not %d",
                     info->name, pq.nfields(res), info->ncols);
  for (int i = 0; i < info->ncols; i++) {
    if (strcmp(pq.fname(res, i), info->cols[i].name) != 0)
      return pawl_fail(err, PAWL_INTERNAL, "%s: column %d is %s, not %s",
                       info->name, i + 1, pq.fname(res, i),
                       info->cols[i].name);
    if (!is_accepted(info->cols[i].type, pq.ftype(res, i)))
      return pawl_fail(err, PAWL_INTERNAL,
                       "%s: column %s is of another type (oid %u)", info->name,
                       info->cols[i].name, (unsigned)pq.ftype(res, i));
  }
  return PAWL_OK;
}

static int decode(pawl_buf *bytes, pawl_results *to, const PGresult *res,
                  int row, int col, pawl_type type, pawl_cell *cell) {
  int len = pq.getlength(res, row, col); /* 0 also of a null */
  if (len == 0 && pq.getisnull(res, row, col)) return 1;
  const char *at = pq.getvalue(res, row, col);
  cell->is_null = 0;
  switch (type) {
    case PAWL_T_BOOL:
      cell->i = at[0] != 0;
      break;
    case PAWL_T_INT:
      cell->i = get_int(at, len);
      break;
    case PAWL_T_TIME:
      cell->i = get_time(at);
      break;
    case PAWL_T_FLOAT:
      cell->d = get_float(at, len);
      break;
    case PAWL_T_NUMERIC:
      return decode_numeric(bytes, to, at, cell);
    case PAWL_T_JSON:
      if (pq.ftype(res, col) == 3802) at++, len--; /* jsonb's version */
      cell->s = (pawl_str){at, (size_t)len};
      break;
    case PAWL_T_TEXT:
    case PAWL_T_UUID:
    case PAWL_T_BYTES:
      assert(type != PAWL_T_UUID || len == sizeof(pawl_id));
      cell->s = (pawl_str){at, (size_t)len};
      break;
  }
  return 1;
}

/* SELECT's tag counts rows, too: they were not changed. */
static int64_t changed_rows(PGresult *res) {
  const char *tag = pq.cmdStatus(res);
  if (strncmp(tag, "INSERT", 6) != 0 && strncmp(tag, "UPDATE", 6) != 0 &&
      strncmp(tag, "DELETE", 6) != 0 && strncmp(tag, "MERGE", 5) != 0)
    return 0;
  return strtoll(pq.cmdTuples(res), NULL, 10);
}

pawl_code pawl_pgwire_add_rows(pawl_buf *bytes, pawl_stmt which, int counted,
                               PGresult *res, pawl_results *to,
                               pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[which];
  const int ncols = counted ? 0 : info->ncols;
  int nrows = info->ncols > 0 ? pq.ntuples(res) : 0;
  MUST(pawl_results_begin(to, which, ncols, err));
  for (int i = 0; i < nrows; i++) {
    pawl_cell *row = pawl_results_row(to);
    if (!row) return pawl_failure_memory(err);
    for (int k = 0; k < ncols; k++)
      if (!decode(bytes, to, res, i, k, info->cols[k].type, &row[k]))
        return pawl_failure_memory(err);
  }
  return pawl_results_end(to, changed_rows(res), err);
}

/* ---- a user's own statement ---- */

static pawl_code encode_text(pawl_buf *b, pawl_type type,
                             const pawl_cell *cell) {
  char text[37];
  switch (type) {
    case PAWL_T_BOOL:
      pawl_buf_addz(b, cell->i ? "t" : "f");
      break;
    case PAWL_T_INT:
      pawl_buf_addi(b, cell->i);
      break;
    case PAWL_T_FLOAT:
      if (isfinite(cell->d))
        pawl_json_add_float(b, cell->d);
      else
        pawl_buf_addz(b, isnan(cell->d) ? "NaN"
                         : cell->d < 0  ? "-Infinity"
                                        : "Infinity");
      break;
    case PAWL_T_TIME:
      pawl_time_format(cell->i, text);
      pawl_buf_addz(b, text);
      break;
    case PAWL_T_UUID:
      pawl_id_format((const pawl_id *)(const void *)cell->s.at, text);
      pawl_buf_addz(b, text);
      break;
    default:
      if (cell->s.len > 0 && memchr(cell->s.at, 0, cell->s.len))
        return PAWL_VALUE;
      pawl_buf_adds(b, cell->s);
  }
  pawl_buf_addc(b, 0);
  return PAWL_OK;
}

pawl_code pawl_pgwire_encode_query(pawl_buf *bytes, const pawl_query *q,
                                   pawl_pgparams *out, pawl_error *err) {
  const pawl_cell *cells = q->params;
  const int n = q->nparams;
  if (n > PAWL_MAX_ARGS)
    return pawl_fail(err, PAWL_LIMIT, "query: more than %d parameters",
                     PAWL_MAX_ARGS);
  pawl_buf_clear(bytes);
  out->n = n;
  for (int i = 0; i < n; i++) {
    int is_binary = q->types[i] == PAWL_T_BYTES;
    out->types[i] = is_binary ? 17 : 0;
    out->formats[i] = is_binary;
    out->at[i] = bytes->len;
    out->lengths[i] = is_binary ? (int)cells[i].s.len : 0;
    if (is_binary)
      pawl_buf_adds(bytes, cells[i].s);
    else if (!cells[i].is_null &&
             encode_text(bytes, q->types[i], &cells[i]) != PAWL_OK)
      return pawl_fail(err, PAWL_VALUE,
                       "query: parameter %d is text with a zero byte", i + 1);
  }
  if (pawl_buf_check(bytes, NULL) != PAWL_OK) return pawl_failure_memory(err);
  for (int i = 0; i < n; i++)
    out->values[i] =
        cells[i].is_null ? NULL : (bytes->at ? bytes->at : "") + out->at[i];
  return PAWL_OK;
}

static pawl_type type_of(Oid oid) {
  switch (oid) {
    case 16:
      return PAWL_T_BOOL;
    case 20:
    case 21:
    case 23:
      return PAWL_T_INT;
    case 700:
    case 701:
      return PAWL_T_FLOAT;
    default:
      return PAWL_T_TEXT;
  }
}

static void decode_text(const char *at, int len, pawl_type type,
                        pawl_cell *cell) {
  cell->is_null = 0;
  cell->s = (pawl_str){at, (size_t)len};
  if (type == PAWL_T_BOOL)
    cell->i = at[0] == 't';
  else if (type == PAWL_T_INT)
    cell->i = strtoll(at, NULL, 10);
  else if (type == PAWL_T_FLOAT && !pawl_json_number(cell->s, &cell->d))
    cell->d = at[0] == 'N' ? NAN : at[0] == '-' ? -INFINITY : INFINITY;
}

pawl_code pawl_pgwire_decode_query(PGresult *res, pawl_answer *out,
                                   pawl_error *err) {
  int ncols = pq.nfields(res), nrows = pq.ntuples(res);
  pawl_answer_clear(out);
  for (int i = 0; i < ncols; i++)
    MUST(pawl_answer_column(out, pq.fname(res, i), type_of(pq.ftype(res, i)),
                            err));
  MUST(pawl_results_begin(&out->results, (pawl_stmt)0, ncols, err));
  for (int i = 0; i < nrows; i++) {
    pawl_cell *row = pawl_results_row(&out->results);
    if (!row) return pawl_failure_memory(err);
    for (int k = 0; k < ncols; k++)
      if (!pq.getisnull(res, i, k))
        decode_text(pq.getvalue(res, i, k), pq.getlength(res, i, k),
                    type_of(pq.ftype(res, k)), &row[k]);
  }
  return pawl_results_end(&out->results, changed_rows(res), err);
}
