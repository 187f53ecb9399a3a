/* Options: every shape with what it takes and refuses, requests of kinds,
 * random objects against a reader that looks each row up, refused memory. */
#include "../../src/value/options.h"
#include "../../src/base/clock.h"
#include "../../src/base/id.h"
#include "test.h"

static const char *const COLOURS[] = {"red", "green", "blue"};

typedef struct all {
  uint64_t given;
  pawl_buf text, word, some;
  int64_t n, small, at, span, any_time;
  int yes, colour;
  unsigned colours;
  pawl_id id;
  pawl_str object, list, texts, any, raw_text, raw_n;
} all;

enum {
  TEXT,
  WORD,
  SOME,
  INT,
  SMALL,
  BOOL,
  TIME,
  ANY_TIME,
  SPAN,
  ID,
  COLOUR,
  MANY,
  OBJECT,
  LIST,
  TEXTS,
  ANY,
  RAW_TEXT,
  RAW_INT,
  NROWS
};

#define AT(member) .at = offsetof(all, member)
static const pawl_option rows[] = {
    [TEXT] = {"text", PAWL_OPTION_TEXT, AT(text)},
    [WORD] = {"word", PAWL_OPTION_TEXT, AT(word), .low = 1, .high = 5},
    [SOME] = {"some", PAWL_OPTION_TEXT, AT(some), .low = 1},
    [INT] = {"n", PAWL_OPTION_INT, AT(n)},
    [SMALL] = {"small", PAWL_OPTION_INT, AT(small), .low = -3, .high = 7},
    [BOOL] = {"yes", PAWL_OPTION_BOOL, AT(yes)},
    [TIME] = {"at", PAWL_OPTION_TIME, AT(at)},
    [ANY_TIME] = {"any_time", PAWL_OPTION_TIME, AT(any_time), .low = 1,
                  .high = INT64_MAX},
    [SPAN] = {"span", PAWL_OPTION_SPAN, AT(span), .low = 1},
    [ID] = {"id", PAWL_OPTION_ID, AT(id)},
    [COLOUR] = {"colour", PAWL_OPTION_CHOICE, AT(colour), .names = COLOURS,
                .high = 3},
    [MANY] = {"colours", PAWL_OPTION_CHOICES, AT(colours), .names = COLOURS,
              .low = 1, .high = 3},
    [OBJECT] = {"object", PAWL_OPTION_OBJECT, AT(object)},
    [LIST] = {"list", PAWL_OPTION_LIST, AT(list)},
    [TEXTS] = {"texts", PAWL_OPTION_TEXTS, AT(texts), .low = 1},
    [ANY] = {"any", PAWL_OPTION_ANY, AT(any)},
    [RAW_TEXT] = {"raw_text", PAWL_OPTION_TEXT, AT(raw_text), .raw = 1},
    [RAW_INT] = {"raw_n", PAWL_OPTION_INT, AT(raw_n), .raw = 1, .high = 9},
};
static const pawl_options table = {.what = "paint", PAWL_OPTION_ROWS(rows)};

static const char *const KINDS[] = {"draw", "wipe"};
enum { DRAW = 1, WIPE = 2 };

typedef struct request {
  uint64_t given;
  int kind;
  pawl_buf by;
  int64_t width;
  int wet;
} request;
static const pawl_option request_rows[] = {
    {"by", PAWL_OPTION_TEXT, .at = offsetof(request, by), .needed = WIPE},
    {"width", PAWL_OPTION_INT, .at = offsetof(request, width), .kinds = DRAW},
    {"height", PAWL_OPTION_INT, .at = offsetof(request, width), .kinds = DRAW},
    {"wet", PAWL_OPTION_BOOL, .at = offsetof(request, wet), .kinds = WIPE}};
static const pawl_options requests = {.what = "stroke",
                                      PAWL_OPTION_ROWS(request_rows),
                                      PAWL_OPTION_KINDS(KINDS),
                                      .kind_at = offsetof(request, kind)};

/* ---- one option at a time ---- */

static pawl_code read_one(all *o, const char *name, const char *value,
                          pawl_error *err) {
  /* What is read points into it. */
  static char text[400];
  snprintf(text, sizeof text, " {\"%s\" : %s} ", name, value);
  pawl_options_init(&table, o, sizeof *o, NULL);
  return pawl_options_read(&table, pawl_strz(text), o, err);
}

static void right_values_go_where_they_belong(void) {
  static const struct {
    int row;
    const char *value;
  } RIGHT[] = {{TEXT, "\"\""},
               {TEXT, "\"a\\n\\u00e9\""},
               {WORD, "\"a\""},
               {WORD, "\"\\u00e9bcd\""},
               {SOME, "\"x\""},
               {INT, "0"},
               {INT, "9223372036854775807"},
               {SMALL, "-3"},
               {SMALL, "7"},
               {BOOL, "true"},
               {BOOL, "false"},
               {TIME, "0"},
               {TIME, "253402300799999999"},
               {ANY_TIME, "1"},
               {ANY_TIME, "9223372036854775807"},
               {SPAN, "1"},
               {SPAN, "31557600000000000"},
               {ID, "\"019aa1f2-0000-7000-8000-0123456789ab\""},
               {COLOUR, "\"red\""},
               {COLOUR, "\"blue\""},
               {MANY, "\"green\""},
               {MANY, "[\"blue\",\"red\",\"blue\"]"},
               {OBJECT, "{}"},
               {OBJECT, "{\"a\":[1]}"},
               {LIST, "[]"},
               {LIST, "[\"a\",\"\"]"},
               {TEXTS, "\"a\""},
               {TEXTS, "[\"a\"]"},
               {ANY, "null"},
               {ANY, "[1,{}]"},
               {RAW_TEXT, "\"\""},
               {RAW_TEXT, "\"\\u0000\""},
               {RAW_INT, "9"}};
  all o;
  pawl_error err;

  for (size_t i = 0; i < sizeof RIGHT / sizeof *RIGHT; i++) {
    const pawl_option *row = &rows[RIGHT[i].row];
    if (!CHECK_INT(read_one(&o, row->name, RIGHT[i].value, &err), PAWL_OK))
      printf("  %s = %s: %s\n", row->name, RIGHT[i].value, err.message);
    CHECK_INT(o.given, INT64_C(1) << RIGHT[i].row);
    CHECK(PAWL_OPTION_GIVEN(&o, RIGHT[i].row));
    pawl_options_deinit(&table, &o);
  }
#define GIVES(name, value, member, want)               \
  CHECK_INT(read_one(&o, name, value, &err), PAWL_OK); \
  CHECK_INT(o.member, want);                           \
  pawl_options_deinit(&table, &o)
  GIVES("n", "17", n, 17);
  GIVES("small", "-2", small, -2);
  GIVES("at", "5", at, 5);
  GIVES("span", "6", span, 6);
  GIVES("yes", "true", yes, 1);
  GIVES("colour", "\"blue\"", colour, 2);
  GIVES("colours", "\"blue\"", colours, 4);
  GIVES("colours", "[\"blue\",\"red\"]", colours, 5);
  GIVES("text", "\"a\\nb\"", text.len, 3);
  GIVES("text", "\"\"", text.at[0], 0);
  GIVES("list", "[ \"a\" ]", list.len, 7);
  GIVES("raw_n", "8", raw_n.len, 1);
  CHECK_INT(read_one(&o, "any", "null", &err), PAWL_OK);
  CHECK_STR(o.any, "null");
}

static void wrong_values_are_refused(void) {
  static const struct {
    int row;
    const char *values[9], *wanted, *hint;
  } WRONG[] = {
      {TEXT,
       {"1", "[]", "true", "\"a\\u0000\""},
       "a text without a zero byte",
       ""},
      {WORD,
       {"\"\"", "\"abcdef\"", "\"\\u0000\"", "1", "{}"},
       "a text of 1 to 5 bytes, none of them zero",
       ""},
      {SOME,
       {"\"\"", "0", "\"\\u0000\""},
       "a text that is not empty, without a zero byte",
       ""},
      {INT,
       {"-1", "1.0", "1e3", "\"1\"", "true", "[1]"},
       "an integer, 0 or more",
       ""},
      {SMALL, {"-4", "8", "0.5", "\"\""}, "an integer from -3 to 7", ""},
      {BOOL, {"0", "\"true\"", "{}"}, "true or false", ""},
      {TIME,
       {"-1", "253402300800000000", "1.5", "\"2026-01-01\""},
       "microseconds since 1970, 0 or more, to the year 9999 at most",
       ""},
      {ANY_TIME,
       {"0", "-1", "\"\""},
       "microseconds since 1970, 1 or more",
       ""},
      {SPAN,
       {"0", "31557600000000001", "\"1s\""},
       "microseconds, 1 or more, 1,000 years at most",
       ""},
      {ID,
       {"\"\"", "\"019aa1f2\"", "1",
        "\"019aa1f2-0000-7000-8000-0123456789ag\"",
        "\"019aa1f2-0000-7000-8000-0123456789abc\"",
        "\"019aa1f2-0000-4000-8000-0123456789ab\"",
        "\"019aa1f2-0000-7000-c000-0123456789ab\""},
       "a UUID of version 7, drawn by the caller",
       "those sort by the time at which they were drawn; a name of your own "
       "goes into `key`"},
      {COLOUR,
       {"\"gren\"", "\"grean\""},
       "\"red\", \"green\" or \"blue\"",
       "did you mean \"green\"?"},
      {COLOUR,
       {"\"\"", "1", "[\"red\"]", "\"violet\""},
       "\"red\", \"green\" or \"blue\"",
       ""},
      {MANY,
       {"\"blu\"", "[\"blu\"]", "[\"red\",\"blu\"]"},
       "\"red\", \"green\" or \"blue\"",
       "did you mean \"blue\"?"},
      {MANY,
       {"1", "{}", "[1]", "[[\"red\"]]", "[]"},
       "\"red\", \"green\" or \"blue\"",
       ""},
      {OBJECT, {"[]", "1", "\"{}\""}, "an object", ""},
      {LIST, {"\"a\"", "{}", "[1]", "[\"a\",null]"}, "a list of texts", ""},
      {TEXTS,
       {"1", "{}", "[1]", "[\"a\",[]]", "[]"},
       "a text or a list of texts that is not empty",
       ""},
      {RAW_TEXT, {"1", "[]"}, "a text", ""},
      {RAW_INT, {"10", "-1", "\"1\""}, "an integer from 0 to 9", ""}};
  char want[256];
  all o;
  pawl_error err;

  for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
    for (int k = 0; WRONG[i].values[k]; k++) {
      const char *name = rows[WRONG[i].row].name;
      const int is_name = rows[WRONG[i].row].names != NULL;
      snprintf(want, sizeof want, "option `%s`%s must be %s%s", name,
               is_name ? "" : " of paint", WRONG[i].wanted,
               is_name ? ", not \"" : "");
      if (!CHECK_INT(read_one(&o, name, WRONG[i].values[k], &err),
                     PAWL_INVALID))
        printf("  %s = %s\n", name, WRONG[i].values[k]);
      if (!is_name)
        CHECK_TEXT(err.message, want);
      else if (!CHECK(!strncmp(err.message, want, strlen(want))))
        printf("  %s, not %s\n", err.message, want);
      CHECK_TEXT(err.where, name);
      CHECK_TEXT(err.hint, WRONG[i].hint);
      CHECK_INT(o.given, 0);
      pawl_options_deinit(&table, &o);
    }
}

static void unknown_ones_name_their_neighbour(void) {
  all o;
  pawl_error err;

  CHECK_INT(read_one(&o, "colurs", "1", &err), PAWL_INVALID);
  CHECK_TEXT(err.message, "paint has no option `colurs`");
  CHECK_TEXT(err.where, "colurs");
  CHECK_TEXT(err.hint, "did you mean `colours`?");
  CHECK_INT(read_one(&o, "nothing_like_it", "null", &err), PAWL_INVALID);
  CHECK_TEXT(err.hint, "");
  CHECK_INT(read_one(&o, "kind", "\"draw\"", &err), PAWL_INVALID);
  for (int i = 0; i < NROWS; i++) { /* null is no value, whatever the shape */
    CHECK_INT(read_one(&o, rows[i].name, "null", &err), PAWL_OK);
    CHECK_INT(o.given, i == ANY ? 1 << ANY : 0);
  }
  CHECK_INT(pawl_options_read(&table, pawl_strz("[]"), &o, &err),
            PAWL_INVALID);
  CHECK_TEXT(err.message, "the options of paint must be an object");
  CHECK_INT(pawl_options_read(&table, pawl_strz("{"), &o, &err), PAWL_VALUE);
  CHECK_INT(
      pawl_options_read(&table, pawl_strz("{\"n\":1,\"n\":2}"), &o, &err),
      PAWL_VALUE);
  pawl_options_init(&table, &o, sizeof o, NULL);
  CHECK_INT(pawl_options_read(&table, (pawl_str){0}, &o, &err), PAWL_OK);
  CHECK_INT(o.given, 0);
}

static void what_is_read_later_counts(void) {
  all o;

  pawl_options_init(&table, &o, sizeof o, NULL);
  o.n = 100; /* X2 */
  CHECK_INT(pawl_options_read(
                &table, pawl_strz("{\"text\":\"abc\",\"small\":1}"), &o, NULL),
            PAWL_OK);
  CHECK_INT(o.n, 100);
  CHECK_INT(pawl_options_take(&table, pawl_strz("{\"text\":\"x\",\"n\":3}"),
                              &o, NULL),
            PAWL_OK);
  CHECK_TEXT(o.text.at, "x");
  CHECK_INT(o.n, 3);
  CHECK_INT(o.small, 1);
  CHECK_INT(o.given, 1 << TEXT | 1 << SMALL | 1 << INT);
  pawl_options_clear(&table, &o);
  CHECK_INT(o.given, 0);
  CHECK_INT(o.n, 0);
  CHECK_INT(o.text.len, 0);
  CHECK(o.text.cap > 0);
  pawl_options_deinit(&table, &o);
}

/* ---- requests of kinds ---- */

static void check_request(const char *text, pawl_code want,
                          const char *message, const char *hint) {
  request r;
  pawl_error err = {0};

  pawl_options_init(&requests, &r, sizeof r, NULL);
  CHECK_INT(pawl_options_read(&requests, pawl_strz(text), &r, &err), want);
  CHECK_TEXT(err.message, message);
  CHECK_TEXT(err.hint, hint);
  pawl_options_deinit(&requests, &r);
}

static void requests_come_in_kinds(void) {
  request r;

  pawl_options_init(&requests, &r, sizeof r, NULL);
  CHECK_INT(
      pawl_options_read(
          &requests, pawl_strz("{\"width\":3,\"height\":4,\"kind\":\"draw\"}"),
          &r, NULL),
      PAWL_OK);
  CHECK_INT(r.kind, 0);
  CHECK_INT(r.width, 4); /* of those that share a place the last */
  CHECK_INT(r.given, 6);
  check_request("{\"kind\":\"wipe\",\"by\":\"me\"}", PAWL_OK, "", "");
  check_request("{\"kind\":\"wipe\"}", PAWL_INVALID, "\"wipe\" needs `by`",
                "");
  check_request("{\"by\":null,\"kind\":\"wipe\"}", PAWL_INVALID,
                "\"wipe\" needs `by`", "");
  check_request("{\"kind\":\"wipe\",\"width\":1}", PAWL_INVALID,
                "\"wipe\" has no `width`", "");
  check_request("{\"kind\":\"draw\",\"wet\":true}", PAWL_INVALID,
                "\"draw\" has no `wet`", "");
  check_request("{\"kind\":\"draw\",\"widht\":1}", PAWL_INVALID,
                "\"draw\" has no `widht`", "did you mean `width`?");
  check_request("{\"width\":\"x\",\"kind\":\"draw\"}", PAWL_INVALID,
                "`width` of \"draw\" must be an integer, 0 or more", "");
  check_request("{\"kind\":\"drew\"}", PAWL_INVALID,
                "\"drew\" is no kind of stroke", "did you mean \"draw\"?");
  check_request("{\"kind\":1}", PAWL_INVALID, "\"1\" is no kind of stroke",
                "\"draw\" or \"wipe\"");
  check_request("{\"kind\":null}", PAWL_INVALID, "a stroke needs its `kind`",
                "");
  check_request("{}", PAWL_INVALID, "a stroke needs its `kind`", "");
  check_request("1", PAWL_INVALID, "a stroke must be an object", "");
}

/* ---- random objects, and a reader that looks each row up ---- */

static uint64_t seed;

static unsigned draw(unsigned n) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (unsigned)(seed >> 33) % n;
}

static const char *random_value(void) {
  static const char *const VALUES[] = {
      "null",
      "true",
      "false",
      "0",
      "1",
      "-1",
      "-3",
      "7",
      "8",
      "9",
      "10",
      "1.0",
      "253402300799999999",
      "253402300800000000",
      "31557600000000000",
      "9223372036854775807",
      "\"\"",
      "\"a\"",
      "\"abcde\"",
      "\"abcdef\"",
      "\"\\u0000\"",
      "\"red\"",
      "\"blue\"",
      "\"019aa1f2-0000-7000-8000-0123456789ab\"",
      "[]",
      "[\"red\"]",
      "[\"red\",\"x\"]",
      "[1]",
      "{}",
      "{\"a\":1}"};
  return VALUES[draw(sizeof VALUES / sizeof *VALUES)];
}

static void random_object(pawl_buf *out) {
  int used[NROWS] = {0}, n = 0;

  pawl_buf_clear(out);
  pawl_buf_addc(out, '{');
  for (unsigned left = draw(6); left; left--) {
    unsigned i = draw(NROWS);
    if (used[i]++) continue;
    pawl_buf_addf(out, "%s\"%s\":%s", n++ ? "," : "", rows[i].name,
                  random_value());
  }
  if (!draw(20)) pawl_buf_addf(out, "%s\"other\":1", n ? "," : "");
  pawl_buf_addc(out, '}');
}

static int is_colour(pawl_str v) {
  return pawl_str_eqz(v, "\"red\"") || pawl_str_eqz(v, "\"green\"") ||
         pawl_str_eqz(v, "\"blue\"");
}

/* Will the value do for row i? In other words than the reader's. */
static int naive_fits(int i, pawl_str v) {
  pawl_json_kind kind = pawl_json_kind_of(v);
  const int text = kind == PAWL_JSON_STRING, list = kind == PAWL_JSON_ARRAY;
  const int zero = text && pawl_str_eqz(v, "\"\\u0000\"");
  int texts = list, colours = list;
  pawl_json_iter it = {0};
  pawl_str key, one;
  int64_t n = 0;
  const int is_int = pawl_json_int(v, &n);

  while (list && pawl_json_each(v, &it, &key, &one)) {
    texts &= one.at[0] == '"';
    colours &= is_colour(one);
  }
  switch (i) {
    case TEXT:
      return text && !zero;
    case WORD:
      return text && !zero && v.len > 2 && v.len <= 7;
    case SOME:
      return text && !zero && v.len > 2;
    case INT:
      return is_int && n >= 0;
    case SMALL:
      return is_int && n >= -3 && n <= 7;
    case BOOL:
      return v.at[0] == 't' || v.at[0] == 'f';
    case TIME:
      return is_int && n >= 0 && n <= PAWL_TIME_MAX;
    case ANY_TIME:
      return is_int && n > 0;
    case SPAN:
      return is_int && n > 0 && n <= PAWL_MAX_DURATION_US;
    case ID:
      return v.len == 38;
    case COLOUR:
      return is_colour(v);
    case MANY:
      return is_colour(v) || (list && colours && v.len > 2);
    case OBJECT:
      return kind == PAWL_JSON_OBJECT;
    case LIST:
      return list && texts;
    case TEXTS:
      return text || (list && texts && v.len > 2);
    case RAW_TEXT:
      return text;
    case RAW_INT:
      return is_int && n >= 0 && n <= 9;
    default:
      return 1;
  }
}

/* Which rows are given; 0: something is wrong. */
static int naive_read(pawl_str text, uint64_t *given) {
  pawl_str value;
  *given = 0;
  for (int i = 0; i < NROWS; i++) {
    if (!pawl_json_get(text, rows[i].name, &value)) continue;
    if (i != ANY && pawl_str_eqz(value, "null")) continue;
    if (!naive_fits(i, value)) return 0;
    *given |= UINT64_C(1) << i;
  }
  return !pawl_json_get(text, "other", &value);
}

/* What was taken is what stands there. */
static int holds(const all *o, pawl_str text) {
  pawl_str v;
  int64_t n;
  int fine = 1;
#define SAME(row, claim)                                        \
  if (PAWL_OPTION_GIVEN(o, row)) {                              \
    fine &= pawl_json_get(text, rows[row].name, &v) && (claim); \
  }
  SAME(INT, pawl_json_int(v, &n) && n == o->n)
  SAME(SMALL, pawl_json_int(v, &n) && n == o->small)
  SAME(TIME, pawl_json_int(v, &n) && n == o->at)
  SAME(SPAN, pawl_json_int(v, &n) && n == o->span)
  SAME(BOOL, o->yes == (v.at[0] == 't'))
  SAME(COLOUR, strncmp(v.at + 1, COLOURS[o->colour], v.len - 2) == 0)
  SAME(TEXT, o->text.len == v.len - 2)
  SAME(WORD, memcmp(o->word.at, v.at + 1, o->word.len) == 0)
  SAME(OBJECT, pawl_str_eq(v, o->object))
  SAME(LIST, pawl_str_eq(v, o->list))
  SAME(TEXTS, pawl_str_eq(v, o->texts))
  SAME(ANY, pawl_str_eq(v, o->any))
  SAME(RAW_TEXT, pawl_str_eq(v, o->raw_text))
  SAME(RAW_INT, pawl_str_eq(v, o->raw_n))
#undef SAME
  return fine;
}

static void random_objects_are_read_as_row_by_row(void) {
  pawl_buf text = {0};
  int nright = 0, nwrong = 0;
  all o;

  pawl_options_init(&table, &o, sizeof o, NULL);
  for (int i = 0; i < 50000; i++) {
    uint64_t given;
    pawl_error err;
    random_object(&text);
    int right = naive_read(pawl_buf_str(&text), &given);
    pawl_options_clear(&table, &o);
    pawl_code rc = pawl_options_read(&table, pawl_buf_str(&text), &o, &err);
    nright += right, nwrong += !right;
    if (rc == (right ? PAWL_OK : PAWL_INVALID) &&
        (!right || (o.given == given && holds(&o, pawl_buf_str(&text)))))
      continue;
    CHECK(!"read alike");
    printf("  %s\n", text.at);
  }
  CHECK(nright > 5000);
  CHECK(nwrong > 5000);
  pawl_options_deinit(&table, &o);
  pawl_buf_deinit(&text);
}

/* ---- memory ---- */

static void refused_memory_is_told(void) {
  static const char TEXT_OF_ALL[] =
      "{\"text\":\"0123456789012345678901234567890123456789\","
      "\"word\":\"\\u00e9\",\"some\":\"x\",\"object\":{\"b\":1,\"a\":2}}";
  int refused = 0;

  for (int64_t at = 1;; at++) {
    test_alloc state = {.fail_at = at};
    const pawl_alloc alloc = {test_alloc_fn, &state};
    pawl_error err = {0};
    all o;
    pawl_options_init(&table, &o, sizeof o, &alloc);
    pawl_code rc = pawl_options_read(&table, pawl_strz(TEXT_OF_ALL), &o, &err);
    pawl_options_deinit(&table, &o);
    CHECK_INT(state.live_bytes, 0);
    if (rc == PAWL_OK) break;
    CHECK_INT(rc, PAWL_NOMEM);
    refused++;
  }
  CHECK_INT(refused, 3);
}

int main(void) {
  const char *given = getenv("PAWL_SEED");
  seed = given ? strtoull(given, NULL, 10) : 20261122;
  right_values_go_where_they_belong();
  wrong_values_are_refused();
  unknown_ones_name_their_neighbour();
  what_is_read_later_counts();
  requests_come_in_kinds();
  random_objects_are_read_as_row_by_row();
  refused_memory_is_told();
  if (test_failed) printf("seed %llu\n", (unsigned long long)seed);
  return TEST_END;
}
