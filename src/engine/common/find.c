/* Finding an instance by its shortened id.
 *
 * Ids begin with the time: of those made at once the beginnings are alike, so
 * that people give the end, which is random. Its last 4 digits are the routing
 * number and name the shard. No index knows ends - it would cost each start a
 * write in a random place -, so that they are looked for among the newest of
 * the shard, in the order of its key. Where there are more, an end has to be so
 * long that an older one hardly has the same (F1). */
#include <stdlib.h>
#include <string.h>

#include "../internal.h"

enum {
  LEAST = 4,       /* digits */
  SURE = 8,        /* F1: of 2^32 ends, 16 bits of them of the shard's route */
  RECENT = 100000, /* looked at for an end */
  ALL = 32
};

/* Its digits alone, in lower case. */
static void digits_of(const char *text, char out[ALL + 1]) {
  int n = 0;
  for (; *text && n < ALL; text++) {
    if (*text == '-') continue;
    out[n++] = (char)(*text >= 'A' && *text <= 'F' ? *text + 32 : *text);
  }
  out[n] = 0;
}

/* Up to two whose ids begin so. */
static pawl_code find_beginning(pawl_engine *e, const pawl_id *low,
                                const pawl_id *high, pawl_rows *rows,
                                pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_INSTANCE_FIND);
  for (int s = 0; s < e->nshards; s++)
    pawl_arg_int(&e->args, PAWL_INSTANCE_FIND_SHARD, s);
  pawl_arg_id(&e->args, PAWL_INSTANCE_FIND_LOW, low);
  pawl_arg_id(&e->args, PAWL_INSTANCE_FIND_HIGH, high);
  return pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, rows, err);
}

/* *n: how many have that end, up to 2, as far as was looked; the first is in
 * *out. *more: there are older ones. */
static pawl_code find_end(pawl_engine *e, const char *text, int *n,
                          pawl_id *out, int *more, pawl_error *err) {
  char digits[ALL + 1];
  pawl_rows rows;
  pawl_code rc = PAWL_OK;
  long route;

  digits_of(text, digits);
  route = strtol(digits + strlen(digits) - LEAST, NULL, 16);
  pawl_args_begin(&e->args, PAWL_STMT_INSTANCE_FIND_END);
  pawl_arg_int(&e->args, PAWL_INSTANCE_FIND_END_SHARD, route % e->nshards);
  pawl_arg_textz(&e->args, PAWL_INSTANCE_FIND_END_DIGITS, digits);
  pawl_arg_int(&e->args, PAWL_INSTANCE_FIND_END_MAX, RECENT);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  *n = rows.nrows;
  *more = 0;
  if (!*n) return PAWL_OK;
  pawl_row_id(&rows, 0, PAWL_INSTANCE_FIND_END_R_ID, out);
  *more = pawl_row_int(&rows, 0, PAWL_INSTANCE_FIND_END_R_SEEN) >= RECENT;
out:
  return rc;
}

static pawl_code fail_short(const char *text, pawl_error *err) {
  pawl_fail(err, PAWL_INVALID, "\"%.40s\" is not an instance's id",
            text ? text : "");
  pawl_error_hint(err,
                  "give at least 4 hexadecimal digits of its beginning or "
                  "its end");
  return PAWL_INVALID;
}

static pawl_code fail_ambiguous(const char *text, pawl_error *err) {
  pawl_fail(err, PAWL_AMBIGUOUS,
            "several instances' ids begin or end with \"%s\"", text);
  pawl_error_hint(err, "give more characters");
  return PAWL_AMBIGUOUS;
}

static pawl_code fail_unknown(const char *text, pawl_error *err) {
  pawl_fail(err, PAWL_NOTFOUND, "no instance's id begins or ends with \"%s\"",
            text);
  pawl_error_hint(err,
                  "`pawl list` shows what there is; an end is looked for "
                  "among the newest %d of a shard",
                  RECENT);
  return PAWL_NOTFOUND;
}

pawl_code pawl_engine_find(pawl_engine *e, const char *text, pawl_id *out,
                           pawl_error *err) {
  pawl_id low, high, first, last;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;
  int digits = text ? pawl_id_range(text, &low, &high) : -1;
  int begin, end = 0, more = 0;

  if (digits < LEAST) return fail_short(text, err);
  if (digits == ALL) {
    *out = low;
    return PAWL_OK;
  }
  TRY(find_beginning(e, &low, &high, &rows, err));
  begin = rows.nrows;
  if (begin > 1) return fail_ambiguous(text, err);
  if (begin) pawl_row_id(&rows, 0, PAWL_INSTANCE_FIND_R_ID, &first);
  /* a long beginning is hardly anybody's end */
  if (!begin || digits < SURE) TRY(find_end(e, text, &end, &last, &more, err));
  if (!begin && !end) return fail_unknown(text, err);
  if (end > 1 || (end && more && digits < SURE) ||
      (begin && end && !pawl_id_eq(&first, &last)))
    return fail_ambiguous(text, err);
  *out = begin ? first : last;
out:
  return rc;
}
