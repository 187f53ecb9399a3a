/* See options.h. One walk over the object; a row is found by its name. */
#include "options.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "../base/clock.h"
#include "../base/id.h"
#include "../base/nearest.h"

#define MAX_ROWS 64 /* X3 */

/* One text being read. */
typedef struct reading {
  const pawl_options *t;
  char *o;
  int kind;
} reading;

/* ---- the struct's memory ---- */

static int is_buf(const pawl_option *row) {
  return row->shape == PAWL_OPTION_TEXT && !row->raw;
}

static size_t size_of(const pawl_option *row) {
  if (row->raw || row->shape >= PAWL_OPTION_OBJECT) return sizeof(pawl_str);
  switch (row->shape) {
    case PAWL_OPTION_INT:
    case PAWL_OPTION_TIME:
    case PAWL_OPTION_SPAN:
      return sizeof(int64_t);
    case PAWL_OPTION_ID:
      return sizeof(pawl_id);
    case PAWL_OPTION_CHOICES:
      return sizeof(unsigned);
    default:
      return sizeof(int);
  }
}

static void *place(const pawl_option *row, void *o) {
  return (char *)o + row->at;
}

void pawl_options_init(const pawl_options *t, void *o, size_t size,
                       const pawl_alloc *alloc) {
  assert(t->nrows <= MAX_ROWS); /* X3 */
  memset(o, 0, size);
  for (int i = 0; i < t->nrows; i++)
    if (is_buf(&t->rows[i]))
      ((pawl_buf *)place(&t->rows[i], o))->alloc = alloc;
}

void pawl_options_clear(const pawl_options *t, void *o) {
  *(uint64_t *)o = 0; /* X1 */
  for (int i = 0; i < t->nrows; i++) {
    const pawl_option *row = &t->rows[i];
    if (is_buf(row))
      pawl_buf_clear(place(row, o));
    else
      memset(place(row, o), 0, size_of(row));
  }
}

void pawl_options_deinit(const pawl_options *t, void *o) {
  for (int i = 0; i < t->nrows; i++)
    if (is_buf(&t->rows[i])) pawl_buf_deinit(place(&t->rows[i], o));
}

/* ---- what is said of wrong ones ---- */

/* `"a", "b" or "c"` */
static void list_names(const char *const *names, int n, char *out,
                       size_t size) {
  size_t len = 0;
  for (int i = 0; i < n && len < size; i++)
    len += (size_t)snprintf(out + len, size - len, "%s\"%s\"",
                            i == 0       ? ""
                            : i == n - 1 ? " or "
                                         : ", ",
                            names[i]);
}

/* high 0: the shape's own end. */
static int64_t highest(const pawl_option *row) {
  if (row->high) return row->high;
  if (row->shape == PAWL_OPTION_TIME) return PAWL_TIME_MAX;
  if (row->shape == PAWL_OPTION_SPAN) return PAWL_MAX_DURATION_US;
  return INT64_MAX;
}

static void tell_range(const pawl_option *row, const char *noun,
                       const char *end, char *out, size_t size) {
  int len = snprintf(out, size, "%s", noun);
  out += len, size -= (size_t)len;
  if (row->high && row->high != INT64_MAX)
    snprintf(out, size, " from %" PRId64 " to %" PRId64, row->low, row->high);
  else
    snprintf(out, size, ", %" PRId64 " or more%s", row->low,
             row->high ? "" : end);
}

static void tell_wanted(const pawl_option *row, char *out, size_t size) {
  static const char *const plain[] = {
      [PAWL_OPTION_BOOL] = "true or false",
      [PAWL_OPTION_ID] = "a UUID of version 7, drawn by the caller",
      [PAWL_OPTION_OBJECT] = "an object",
      [PAWL_OPTION_LIST] = "a list of texts",
      [PAWL_OPTION_TEXTS] = "a text or a list of texts",
      [PAWL_OPTION_ANY] = "JSON"};
  if (row->names) {
    list_names(row->names, (int)row->high, out, size);
    return;
  }
  switch (row->shape) {
    case PAWL_OPTION_TEXT:
      snprintf(out, size, row->raw ? "a text" : "a text without a zero byte");
      if (row->high && row->raw)
        snprintf(out, size, "a text of at most %" PRId64 " bytes", row->high);
      else if (row->high)
        snprintf(out, size,
                 "a text of %" PRId64 " to %" PRId64
                 " bytes, none of them zero",
                 row->low, row->high);
      else if (row->low)
        snprintf(out, size, "a text that is not empty, without a zero byte");
      break;
    case PAWL_OPTION_INT:
      tell_range(row, "an integer", "", out, size);
      break;
    case PAWL_OPTION_TIME:
      tell_range(row, "microseconds since 1970", ", to the year 9999 at most",
                 out, size);
      break;
    case PAWL_OPTION_SPAN:
      tell_range(row, "microseconds", ", 1,000 years at most", out, size);
      break;
    default:
      snprintf(out, size, "%s%s", plain[row->shape],
               row->low ? " that is not empty" : "");
  }
}

/* The text of a JSON string as far as it is shown; what has escapes is not
 * worth the memory here. */
static void show(pawl_str value, char *out, size_t size) {
  if (value.len >= 2 && value.at[0] == '"') value.at++, value.len -= 2;
  pawl_str_copy(out, size, value);
}

/* What a request of kinds is called by: its kind. */
static const char *owner(const reading *r, char out[48]) {
  if (!r->t->kinds) return r->t->what;
  snprintf(out, 48, "\"%s\"", r->t->kinds[r->kind]);
  return out;
}

static int goes_with(const reading *r, const pawl_option *row) {
  return !row->kinds || row->kinds >> r->kind & 1u;
}

static pawl_code unknown(const reading *r, pawl_str key, pawl_error *err) {
  const char *names[MAX_ROWS], *near;
  char text[64], of[48];
  int n = 0;

  for (int i = 0; i < r->t->nrows; i++)
    if (goes_with(r, &r->t->rows[i])) names[n++] = r->t->rows[i].name;
  pawl_str_copy(text, sizeof text, key);
  pawl_fail(err, PAWL_INVALID, "%s has no %s`%s`", owner(r, of),
            r->t->kinds ? "" : "option ", text);
  pawl_error_where(err, "%s", text);
  near = pawl_nearest(text, names, n);
  if (near) pawl_error_hint(err, "did you mean `%s`?", near);
  return PAWL_INVALID;
}

/* `one`: the value, or the one of a list that will not do. */
static pawl_code wrong(const reading *r, const pawl_option *row, pawl_str one,
                       pawl_error *err) {
  const char *start = r->t->kinds ? "" : "option ", *near = NULL;
  char of[48], wanted[200] = "", text[64];

  tell_wanted(row, wanted, sizeof wanted);
  show(one, text, sizeof text);
  if (row->names)
    pawl_fail(err, PAWL_INVALID, "%s`%s` must be %s, not \"%s\"", start,
              row->name, wanted, text);
  else
    pawl_fail(err, PAWL_INVALID, "%s`%s` of %s must be %s", start, row->name,
              owner(r, of), wanted);
  pawl_error_where(err, "%s", row->name);
  if (row->names) near = pawl_nearest(text, row->names, (int)row->high);
  if (near) pawl_error_hint(err, "did you mean \"%s\"?", near);
  if (row->shape == PAWL_OPTION_ID)
    pawl_error_hint(err, !strcmp(row->name, "id")
                             ? "those sort by the time at which they were "
                               "drawn; a name of your own goes into `key`"
                             : "leave it out, and one is drawn");
  return PAWL_INVALID;
}

static pawl_code missing(const reading *r, const char *name, pawl_error *err) {
  char of[48];
  pawl_fail(err, PAWL_INVALID, "%s needs `%s`", owner(r, of), name);
  pawl_error_where(err, "%s", name);
  return PAWL_INVALID;
}

/* ---- values ---- */

/* At least `low` of them. */
static int are_texts(pawl_str list, int64_t low) {
  for (pawl_json_iter it = {0}; pawl_json_walk(list, &it); low--)
    if (pawl_json_kind_of(it.value) != PAWL_JSON_STRING) return 0;
  return low <= 0;
}

/* Of version 7, by its digits: others do not sort by time (I1). */
static int take_id(pawl_str value, pawl_id *out) {
  return value.len == 38 && pawl_id_parse(value.at + 1, 36, out) &&
         out->bytes[6] >> 4 == 7 && out->bytes[8] >> 6 == 2;
}

static int name_index(pawl_str value, const char *const *names, int n) {
  if (pawl_json_kind_of(value) != PAWL_JSON_STRING) return -1;
  value.at++, value.len -= 2;
  for (int i = 0; i < n; i++)
    if (pawl_str_eqz(value, names[i])) return i;
  return -1;
}

static int which_name(const pawl_option *row, pawl_str value) {
  return name_index(value, row->names, (int)row->high);
}

/* All that JSON alone can tell. */
static int has_shape(const pawl_option *row, pawl_str value) {
  pawl_json_kind kind = pawl_json_kind_of(value);
  int64_t n;
  switch (row->shape) {
    case PAWL_OPTION_TEXT:
      if (row->names) return which_name(row, value) >= 0;
      return kind == PAWL_JSON_STRING;
    case PAWL_OPTION_ID:
      return kind == PAWL_JSON_STRING;
    case PAWL_OPTION_INT:
    case PAWL_OPTION_TIME:
    case PAWL_OPTION_SPAN:
      return pawl_json_int(value, &n) && n >= row->low && n <= highest(row);
    case PAWL_OPTION_BOOL:
      return kind == PAWL_JSON_TRUE || kind == PAWL_JSON_FALSE;
    case PAWL_OPTION_CHOICE:
      return which_name(row, value) >= 0;
    case PAWL_OPTION_OBJECT:
      return kind == PAWL_JSON_OBJECT;
    case PAWL_OPTION_LIST:
      return kind == PAWL_JSON_ARRAY && are_texts(value, row->low);
    case PAWL_OPTION_TEXTS:
      return kind == PAWL_JSON_STRING ||
             (kind == PAWL_JSON_ARRAY && are_texts(value, row->low));
    default:
      return 1;
  }
}

static pawl_code take_text(const reading *r, const pawl_option *row,
                           pawl_str value, pawl_error *err) {
  pawl_buf *out = place(row, r->o);
  const size_t most = row->high && !row->names ? (size_t)row->high : SIZE_MAX;

  pawl_buf_clear(out);
  pawl_json_unquote(value, out);
  pawl_buf_add(out, "", 0); /* an empty one is a text, too */
  if (out->failed) return pawl_buf_check(out, err);
  if (out->len < (size_t)row->low || out->len > most ||
      memchr(out->at, 0, out->len))
    return wrong(r, row, value, err);
  return PAWL_OK;
}

static pawl_code take_choices(const reading *r, const pawl_option *row,
                              pawl_str value, pawl_error *err) {
  unsigned *out = place(row, r->o), bits = 0;
  const int is_list = pawl_json_kind_of(value) == PAWL_JSON_ARRAY;

  for (pawl_json_iter it = {.value = value};
       !is_list || pawl_json_walk(value, &it);) {
    int which = which_name(row, it.value);
    if (which < 0) return wrong(r, row, it.value, err);
    bits |= 1u << which;
    if (!is_list) break;
  }
  if (!bits && row->low) return wrong(r, row, value, err);
  *out = bits;
  return PAWL_OK;
}

/* A text that is kept as JSON: few are long enough to be read for that. */
static pawl_code check_raw(const reading *r, const pawl_option *row,
                           pawl_str value, pawl_error *err) {
  pawl_buf text = {0};
  pawl_code rc;

  if (row->shape != PAWL_OPTION_TEXT || !row->high ||
      value.len - 2 <= (size_t)row->high)
    return PAWL_OK;
  if (value.len - 2 > 6 * (size_t)row->high) /* \u0020 is the longest */
    return wrong(r, row, value, err);
  pawl_json_unquote(value, &text);
  rc = pawl_buf_check(&text, err);
  if (rc == PAWL_OK && text.len > (size_t)row->high)
    rc = wrong(r, row, value, err);
  pawl_buf_deinit(&text);
  return rc;
}

/* J5: what is kept as it is; what stands around it may be deeper. */
static pawl_code take_json(const pawl_option *row, pawl_str value,
                           pawl_str *out, pawl_error *err) {
  if (pawl_json_is_deeper(value, PAWL_VALUE_DEPTH)) {
    pawl_fail(err, PAWL_LIMIT, "nested deeper than %d levels",
              PAWL_VALUE_DEPTH);
    pawl_error_where(err, "%s", row->name);
    return PAWL_LIMIT;
  }
  *out = value;
  return PAWL_OK;
}

/* Shapes that more than JSON decides, then the others. */
static pawl_code take_value(const reading *r, const pawl_option *row,
                            pawl_str value, pawl_error *err) {
  void *out = place(row, r->o);

  if (!has_shape(row, value)) return wrong(r, row, value, err);
  if (row->raw) MUST(check_raw(r, row, value, err));
  if (row->raw || row->shape >= PAWL_OPTION_OBJECT)
    return take_json(row, value, out, err);
  switch (row->shape) {
    case PAWL_OPTION_TEXT:
      return take_text(r, row, value, err);
    case PAWL_OPTION_ID:
      return take_id(value, out) ? PAWL_OK : wrong(r, row, value, err);
    case PAWL_OPTION_CHOICES:
      return take_choices(r, row, value, err);
    case PAWL_OPTION_CHOICE:
      *(int *)out = which_name(row, value);
      return PAWL_OK;
    case PAWL_OPTION_BOOL:
      *(int *)out = pawl_json_kind_of(value) == PAWL_JSON_TRUE;
      return PAWL_OK;
    default:
      (void)pawl_json_int(value, out);
      return PAWL_OK;
  }
}

/* ---- reading ---- */

/* Mostly the first byte tells; a key's closing quote stands behind it. */
static int is_called(const pawl_option *row, pawl_str key) {
  return row->name[0] == key.at[0] && pawl_str_eqz(key, row->name);
}

static pawl_code take_member(const reading *r, pawl_str key, pawl_str value,
                             pawl_error *err) {
  for (int i = 0; i < r->t->nrows; i++) {
    const pawl_option *row = &r->t->rows[i];
    if (!is_called(row, key) || !goes_with(r, row)) continue;
    if (row->shape != PAWL_OPTION_ANY &&
        pawl_json_kind_of(value) == PAWL_JSON_NULL)
      return PAWL_OK;
    MUST(take_value(r, row, value, err));
    *(uint64_t *)r->o |= UINT64_C(1) << i; /* X1 */
    return PAWL_OK;
  }
  return unknown(r, key, err);
}

/* What kind of request is it? The other members depend on that. */
static pawl_code take_kind(reading *r, pawl_str text, pawl_error *err) {
  const pawl_options *t = r->t;
  char word[64], all[200];
  pawl_str value;

  if (!text.at || !pawl_json_get(text, "kind", &value) ||
      pawl_json_kind_of(value) == PAWL_JSON_NULL) {
    pawl_fail(err, PAWL_INVALID, "a %s needs its `kind`", t->what);
    pawl_error_where(err, "kind");
    return PAWL_INVALID;
  }
  r->kind = name_index(value, t->kinds, t->nkinds);
  *(int *)(void *)(r->o + t->kind_at) = r->kind;
  if (r->kind >= 0) return PAWL_OK;
  show(value, word, sizeof word);
  pawl_fail(err, PAWL_INVALID, "\"%s\" is no kind of %s", word, t->what);
  pawl_error_where(err, "kind");
  const char *near = pawl_nearest(word, t->kinds, t->nkinds);
  list_names(t->kinds, t->nkinds, all, sizeof all);
  if (near)
    pawl_error_hint(err, "did you mean \"%s\"?", near);
  else
    pawl_error_hint(err, "%s", all);
  return PAWL_INVALID;
}

pawl_code pawl_options_take(const pawl_options *t, pawl_str text, void *o,
                            pawl_error *err) {
  reading r = {t, o, 0};

  assert(t->nrows <= MAX_ROWS); /* X3 */
  if (text.at && pawl_json_kind_of(text) != PAWL_JSON_OBJECT)
    return pawl_fail(err, PAWL_INVALID, "%s %s must be an object",
                     t->kinds ? "a" : "the options of", t->what);
  if (t->kinds) MUST(take_kind(&r, text, err));
  for (pawl_json_iter it = {0}; text.at && pawl_json_walk(text, &it);)
    if (!t->kinds || !pawl_str_eqz(it.key, "kind"))
      MUST(take_member(&r, it.key, it.value, err));
  for (int i = 0; i < t->nrows; i++)
    if (t->rows[i].needed >> r.kind & 1u && !(*(uint64_t *)o >> i & 1u))
      return missing(&r, t->rows[i].name, err);
  return PAWL_OK;
}

pawl_code pawl_options_read(const pawl_options *t, pawl_str text, void *o,
                            pawl_error *err) {
  pawl_code rc = text.at ? pawl_json_check(text, NULL, err) : PAWL_OK;
  return rc == PAWL_OK ? pawl_options_take(t, text, o, err) : rc;
}
