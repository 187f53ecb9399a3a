#include "ranges.h"

#include <assert.h>
#include <stdlib.h>

#include "../../base/nearest.h"
#include "../../value/json.h"
#include "../common/sortable.h"

#define MAX_VALUES 100 /* of a set */

/* ---- words ---- */

/* The last code point of a text that is UTF-8, and where it begins. */
static uint32_t last_point(pawl_str s, size_t *at) {
  size_t i = s.len - 1;
  while (i > 0 && ((unsigned char)s.at[i] & 0xc0) == 0x80) i--;
  unsigned char lead = (unsigned char)s.at[i];
  uint32_t point = lead < 0x80   ? lead
                   : lead < 0xe0 ? lead & 0x1fu
                   : lead < 0xf0 ? lead & 0x0fu
                                 : lead & 0x07u;
  for (size_t k = i + 1; k < s.len; k++)
    point = point << 6 | ((unsigned char)s.at[k] & 0x3fu);
  *at = i;
  return point;
}

static void add_point(pawl_buf *out, uint32_t point) {
  char text[4];
  pawl_buf_add(out, text, pawl_utf8_put(text, (long)point));
}

#define LAST_POINT 0x10ffff

/* The first text, by bytes, behind all that begin with this one. */
static void add_behind(pawl_str prefix, pawl_buf *out) {
  while (prefix.len) {
    size_t at;
    uint32_t point = last_point(prefix, &at);
    prefix.len = at;
    if (point == LAST_POINT) continue;
    pawl_buf_adds(out, prefix);
    add_point(out, point == 0xd7ff ? 0xe000 : point + 1); /* no surrogate */
    return;
  }
  for (int i = 0; i < 64; i++)
    add_point(out, LAST_POINT); /* words are short */
}

/* Behind this one text alone: none has a zero byte. */
static void add_next(pawl_str text, pawl_buf *out) {
  pawl_buf_adds(out, text);
  pawl_buf_addc(out, 1);
}

pawl_id pawl_range_id(int64_t us) {
  pawl_id id = {{0}};
  int64_t ms = us < 0 ? 0 : us / 1000;
  for (int i = 0; i < 6; i++)
    id.bytes[i] = (unsigned char)(ms >> (40 - 8 * i) & 0xff);
  return id;
}

int pawl_word_is_prefix(pawl_str word) {
  return word.len > 0 && word.at[word.len - 1] == '*';
}

void pawl_word_range(pawl_str word, pawl_buf *from, pawl_buf *to) {
  const int is_prefix = pawl_word_is_prefix(word);
  if (is_prefix) word.len--;
  pawl_buf_adds(from, word);
  if (is_prefix)
    add_behind(word, to);
  else
    add_next(word, to);
}

/* ---- conditions ---- */

void pawl_conditions_init(pawl_conditions *c, const pawl_alloc *alloc) {
  memset(c, 0, sizeof *c);
  c->name.alloc = c->equals.alloc = c->ranges.alloc = c->others.alloc = alloc;
}

void pawl_conditions_deinit(pawl_conditions *c) {
  pawl_buf_deinit(&c->name);
  pawl_buf_deinit(&c->equals);
  pawl_buf_deinit(&c->ranges);
  pawl_buf_deinit(&c->others);
}

typedef struct range {
  pawl_buf low, high;
} range;

/* The condition on one attribute, as it is read. */
typedef struct reading {
  const pawl_alloc *alloc;
  pawl_str name;
  range ranges[MAX_VALUES];
  int n;
  pawl_buf typed, scratch; /* of the value that is being read */
} reading;

typedef enum comparison {
  EQUAL,
  LESS,
  AT_MOST,
  MORE,
  AT_LEAST,
  PREFIX,
  IN,
  NCOMPARISONS
} comparison;
static const char *const COMPARISONS[] = {
    [EQUAL] = "=",     [LESS] = "<",        [AT_MOST] = "<=", [MORE] = ">",
    [AT_LEAST] = ">=", [PREFIX] = "prefix", [IN] = "in"};

static pawl_code wrong(const reading *r, pawl_error *err, const char *why) {
  pawl_fail_hint(err, PAWL_INVALID,
                 "give a value, or a list such as [\">=\", 100, \"<\", 200], "
                 "[\"in\", \"a\", \"b\"], [\"prefix\", \"a\"]",
                 "attribute \"%.*s\" %s", (int)r->name.len, r->name.at, why);
  pawl_error_where(err, "attributes");
  return PAWL_INVALID;
}

static pawl_code read_comparison(const reading *r, pawl_str value,
                                 comparison *out, pawl_error *err) {
  char word[32];
  const char *near;

  if (pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return wrong(r, err, "is given a value where a comparison should stand");
  value.at++, value.len -= 2;
  for (int k = 0; k < NCOMPARISONS; k++)
    if (pawl_str_eqz(value, COMPARISONS[k])) {
      *out = (comparison)k;
      return PAWL_OK;
    }
  (void)wrong(r, err, "is compared in a way that there is not");
  pawl_str_copy(word, sizeof word, value);
  near = pawl_nearest(word, COMPARISONS + PREFIX, NCOMPARISONS - PREFIX);
  if (near) /* of signs none is nearer than another */
    pawl_error_hint(err, "did you mean \"%s\"?", near);
  else
    pawl_error_hint(err, "=, <, <=, >, >=, prefix or in");
  return PAWL_INVALID;
}

static const char *type_of(pawl_str value) {
  switch (pawl_json_kind_of(value)) {
    case PAWL_JSON_STRING:
      return "string";
    case PAWL_JSON_INT:
      return "integer";
    case PAWL_JSON_FLOAT:
      return "float";
    case PAWL_JSON_TRUE:
    case PAWL_JSON_FALSE:
      return "boolean";
    default:
      return NULL;
  }
}

/* Appends the sortable text of a value. */
static pawl_code read_value(reading *r, pawl_str value, pawl_buf *out,
                            pawl_error *err) {
  const char *type = type_of(value);
  pawl_attribute v;

  pawl_buf_clear(&r->typed);
  pawl_buf_clear(&r->scratch);
  if (type) pawl_buf_addf(&r->typed, "{\"type\":\"%s\",\"value\":", type);
  pawl_buf_adds(&r->typed, value);
  if (type) pawl_buf_addc(&r->typed, '}');
  MUST(pawl_buf_check(&r->typed, err));
  if (!pawl_buf_room(&r->scratch, 4 * r->typed.len + 64))
    return pawl_fail_memory(err);
  pawl_code rc = pawl_attribute_read(r->name, pawl_buf_str(&r->typed), &v,
                                     &r->scratch, err);
  if (rc != PAWL_OK) {
    pawl_error_where(err, "attributes");
    return rc;
  }
  if (!pawl_sortable_add(&v, out))
    return wrong(r, err, "cannot be compared with bytes");
  return pawl_buf_check(out, err);
}

static void keep_later(range *into, const pawl_buf *low) {
  if (pawl_str_cmp(pawl_buf_str(low), pawl_buf_str(&into->low)) > 0)
    pawl_buf_copy(&into->low, low);
}

static void keep_earlier(range *into, const pawl_buf *high) {
  if (!into->high.len ||
      pawl_str_cmp(pawl_buf_str(high), pawl_buf_str(&into->high)) < 0)
    pawl_buf_copy(&into->high, high);
}

static void deinit_range(range *one) {
  pawl_buf_deinit(&one->low);
  pawl_buf_deinit(&one->high);
}

/* The range of one comparison, whose value is in low. */
static pawl_code set_range(reading *r, comparison how, range *one,
                           pawl_error *err) {
  const pawl_str value = pawl_buf_str(&one->low);
  const char type[2] = {value.at[0], 0};

  if (how == PREFIX) {
    if (type[0] != 's') return wrong(r, err, "has a prefix that is no string");
    add_behind(value, &one->high);
  } else if (how == EQUAL || how == AT_MOST || how == MORE) {
    add_next(value, &one->high);
  } else {
    pawl_buf_adds(&one->high, value);
  }
  if (how == MORE || how == AT_LEAST) {
    if (how == MORE) pawl_buf_copy(&one->low, &one->high);
    pawl_buf_clear(&one->high);
    pawl_buf_addc(&one->high, (char)(type[0] + 1)); /* all of its type */
  } else if (how == LESS || how == AT_MOST) {
    pawl_buf_clear(&one->low);
    pawl_buf_addz(&one->low, type);
  }
  MUST(pawl_buf_check(&one->low, err));
  return pawl_buf_check(&one->high, err);
}

/* Narrows the first range by a comparison. */
static pawl_code narrow(reading *r, comparison how, pawl_str value,
                        pawl_error *err) {
  range one = {.low = {.alloc = r->alloc}, .high = {.alloc = r->alloc}};
  pawl_code rc = PAWL_OK;

  TRY(read_value(r, value, &one.low, err));
  TRY(set_range(r, how, &one, err));
  if (r->ranges[0].low.len && r->ranges[0].low.at[0] != one.low.at[0]) {
    rc = wrong(r, err, "is compared with values of two types");
    goto out;
  }
  keep_later(&r->ranges[0], &one.low);
  keep_earlier(&r->ranges[0], &one.high);
  TRY(pawl_buf_check(&r->ranges[0].low, err));
  TRY(pawl_buf_check(&r->ranges[0].high, err));
out:
  deinit_range(&one);
  return rc;
}

static pawl_code add_equal(reading *r, pawl_str value, pawl_error *err) {
  if (r->n == MAX_VALUES)
    return wrong(r, err, "is compared with more than 100 values");
  range *one = &r->ranges[r->n++];
  MUST(read_value(r, value, &one->low, err));
  return set_range(r, EQUAL, one, err);
}

/* ["in", a, b...], or comparisons and values by turns. */
static pawl_code read_list(reading *r, pawl_str list, pawl_error *err) {
  pawl_json_iter it = {0};
  comparison how;

  if (!pawl_json_walk(list, &it))
    return wrong(r, err, "is given a list that is empty");
  MUST(read_comparison(r, it.value, &how, err));
  if (how == IN) {
    while (pawl_json_walk(list, &it)) MUST(add_equal(r, it.value, err));
    return r->n ? PAWL_OK : wrong(r, err, "is to be in a set of nothing");
  }
  r->n = 1;
  for (;;) {
    if (!pawl_json_walk(list, &it))
      return wrong(r, err, "is compared, but not said with what");
    MUST(narrow(r, how, it.value, err));
    if (!pawl_json_walk(list, &it)) return PAWL_OK;
    MUST(read_comparison(r, it.value, &how, err));
    if (how == IN)
      return wrong(r, err, "has \"in\" behind another comparison");
  }
}

static int by_low(const void *a, const void *b) {
  const range *x = a, *y = b;
  return pawl_str_cmp(pawl_buf_str(&x->low), pawl_buf_str(&y->low));
}

/* Appends what there is of them: none that is empty, none twice. */
static void add_ranges(reading *r, pawl_buf *out) {
  int n = 0;

  qsort(r->ranges, (size_t)r->n, sizeof *r->ranges, by_low);
  pawl_buf_addc(out, '[');
  for (int k = 0; k < r->n; k++) {
    const pawl_str low = pawl_buf_str(&r->ranges[k].low);
    const pawl_str high = pawl_buf_str(&r->ranges[k].high);
    if (pawl_str_cmp(low, high) >= 0) continue;
    if (k && by_low(&r->ranges[k - 1], &r->ranges[k]) == 0) continue;
    pawl_buf_addz(out, n++ ? ",[" : "[");
    pawl_json_add_string(out, low);
    pawl_buf_addc(out, ',');
    pawl_json_add_string(out, high);
    pawl_buf_addc(out, ']');
  }
  pawl_buf_addc(out, ']');
}

static void add_other(reading *r, pawl_conditions *c) {
  pawl_buf_addz(&c->others, c->others.len ? ",{\"name\":" : "[{\"name\":");
  pawl_json_add_string(&c->others, r->name);
  pawl_buf_addz(&c->others, ",\"ranges\":");
  add_ranges(r, &c->others);
  pawl_buf_addc(&c->others, '}');
}

static int says_equal(pawl_str value) {
  return pawl_json_kind_of(value) != PAWL_JSON_ARRAY;
}

static pawl_code read_one(reading *r, pawl_str value, int is_found_by,
                          pawl_conditions *c, pawl_error *err) {
  if (says_equal(value))
    MUST(add_equal(r, value, err));
  else
    MUST(read_list(r, value, err));
  if (!is_found_by) {
    add_other(r, c);
    return PAWL_OK;
  }
  pawl_buf_adds(&c->name, r->name);
  if (says_equal(value)) pawl_buf_copy(&c->equals, &r->ranges[0].low);
  add_ranges(r, &c->ranges);
  return PAWL_OK;
}

/* Which of them finds the fewest, as far as can be told; -1: there is none. */
static int best_of(pawl_str attributes) {
  int k = 0;
  for (pawl_json_iter it = {0}; pawl_json_walk(attributes, &it); k++)
    if (says_equal(it.value)) return k;
  return k ? 0 : -1;
}

pawl_code pawl_conditions_read(pawl_conditions *c, pawl_str attributes,
                               int find, pawl_error *err) {
  const int best = find ? best_of(attributes) : -1;
  reading r = {.alloc = c->others.alloc};
  pawl_code rc = PAWL_OK;
  int k = 0;

  r.typed.alloc = r.scratch.alloc = r.alloc;
  for (int i = 0; i < MAX_VALUES; i++)
    r.ranges[i].low.alloc = r.ranges[i].high.alloc = r.alloc;
  if (!pawl_json_count(attributes)) {
    pawl_fail(err, PAWL_INVALID, "there is no attribute in `attributes`");
    pawl_error_where(err, "attributes");
    return PAWL_INVALID;
  }
  for (pawl_json_iter it = {0}; pawl_json_walk(attributes, &it); k++) {
    for (int i = 0; i < r.n; i++) {
      pawl_buf_clear(&r.ranges[i].low);
      pawl_buf_clear(&r.ranges[i].high);
    }
    r.n = 0;
    r.name = it.key;
    TRY(read_one(&r, it.value, k == best, c, err));
  }
  if (c->others.len) pawl_buf_addc(&c->others, ']');
  TRY(pawl_buf_check(&c->name, err));
  TRY(pawl_buf_check(&c->equals, err));
  TRY(pawl_buf_check(&c->ranges, err));
  TRY(pawl_buf_check(&c->others, err));
out:
  for (int i = 0; i < MAX_VALUES; i++) deinit_range(&r.ranges[i]);
  pawl_buf_deinit(&r.typed);
  pawl_buf_deinit(&r.scratch);
  return rc;
}
