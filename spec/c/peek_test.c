/* Reading answers and making what calls take, without a JSON library: pawl_at
 * and its like, pawl_format. */
#include <math.h>

#include "../../src/value/json.h"

#include "test.h"

static const char ANSWER[] =
    " {\"id\" : \"x\", \"n\": -7, \"big\": 9223372036854775807,\n"
    "\"small\":-9223372036854775808,\"over\":9223372036854775808,"
    "\"f\":3.0,\"e\":1e3,\"huge\":1e999,\"t\":true,\"no\":false,"
    "\"nothing\":null,\"a.b\":{\"[0]\":1},\"k\\u0065y\":2,"
    "\"text\":\"a\\\"b\\\\c\\n\\u00e9\\ud83d\\ude00\xc3\xa9\",\"zero\":"
    "\"a\\u0000b\","
    "\"list\":[1, \"two\" ,{\"three\":[3,[4]]},null],\"none\":[],\"void\":{ } "
    "} ";

/* ---- paths and types ---- */

static void check_type(const char *path, const char *want) {
  const char *type = pawl_value_type(ANSWER, path);
  if (!CHECK_TEXT(type ? type : "-", want)) printf("  at %s\n", path);
}

static void a_path_leads_to_a_value(void) {
  check_type("", "object");
  check_type(NULL, "object");
  check_type("id", "text");
  check_type("n", "int");
  check_type("big", "int");
  check_type("over", "-");
  check_type("f", "num");
  check_type("e", "num");
  check_type("huge", "-");
  check_type("t", "bool");
  check_type("nothing", "null");
  check_type("list", "list");
  check_type("list[0]", "int");
  check_type("list[1]", "text");
  check_type("list[2].three[1][0]", "int");
  check_type("list[-1]", "null");
  check_type("list[-4]", "int");
  check_type("list[-5]", "-");
  check_type("list[4]", "-");
  check_type("list[99999999999999999999]", "-");
  check_type("none[0]", "-");
  check_type("none[-1]", "-");
  check_type("list.three", "-");
  check_type("id[0]", "-");
  check_type("void.x", "-");
  check_type("nothing.x", "-");
  check_type("key", "int"); /* by what its escape stands for */
  check_type("[\"a.b\"]", "object");
  check_type("[\"a.b\"][\"[0]\"]", "int");
  check_type("a.b", "-");
  CHECK(pawl_at(ANSWER, "n") == strstr(ANSWER, "-7"));
  CHECK(pawl_at(NULL, "n") == NULL);
  CHECK_TEXT(pawl_value_type("7", NULL), "int");
}

static void a_path_that_is_none_is_said_to_be(void) {
  static const char *const BAD[] = {
      ".n",     "n.",       "n..m",     "list[", "list[]", "list[x]",
      "list[0", "list[-0]", "list[0]x", "[\"a]", "a]",     "[\"a\"b]"};
  pawl_error err;
  int64_t n;
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
    if (!CHECK_INT(pawl_int(ANSWER, BAD[i], &n, &err), PAWL_INVALID))
      printf("  %s\n", BAD[i]);
    CHECK(strstr(err.message, "is no path") != NULL);
  }
}

/* ---- getters ---- */

static void integers_are_exact_or_none(void) {
  pawl_error err;
  int64_t n = 5;
  CHECK_INT(pawl_int(ANSWER, "n", &n, &err), PAWL_OK);
  CHECK_INT(n, -7);
  CHECK_INT(pawl_int(ANSWER, "big", &n, &err), PAWL_OK);
  CHECK_INT(n, INT64_MAX);
  CHECK_INT(pawl_int(ANSWER, "small", &n, &err), PAWL_OK);
  CHECK_INT(n, INT64_MIN);
  CHECK_INT(pawl_int(ANSWER, "over", &n, &err), PAWL_INVALID);
  CHECK_INT(pawl_int(ANSWER, "f", &n, &err), PAWL_INVALID);
  CHECK_TEXT(err.message, "f is of the type num, not int");
  CHECK_INT(pawl_int(ANSWER, "id", &n, NULL), PAWL_INVALID);
  CHECK_INT(pawl_int(ANSWER, "nothing", &n, &err), PAWL_NOTFOUND);
  CHECK_INT(pawl_int(ANSWER, "absent", &n, &err), PAWL_NOTFOUND);
  CHECK_TEXT(err.message, "absent is not there, or null");
  CHECK_INT(pawl_int(NULL, "n", &n, &err), PAWL_NOTFOUND);
  CHECK_INT(pawl_int(ANSWER, "n", NULL, &err), PAWL_MISUSE);
  CHECK_INT(n, INT64_MIN); /* written only on success */
}

static void numbers_are_of_either_type(void) {
  pawl_error err;
  double d = 0;
  CHECK_INT(pawl_num(ANSWER, "f", &d, &err), PAWL_OK);
  CHECK(d == 3.0);
  CHECK_INT(pawl_num(ANSWER, "e", &d, &err), PAWL_OK);
  CHECK(d == 1000.0);
  CHECK_INT(pawl_num(ANSWER, "n", &d, &err), PAWL_OK);
  CHECK(d == -7.0);
  CHECK_INT(pawl_num(ANSWER, "huge", &d, &err), PAWL_INVALID);
  CHECK_INT(pawl_num(ANSWER, "t", &d, &err), PAWL_INVALID);
  CHECK_INT(pawl_num(ANSWER, "t", NULL, &err), PAWL_MISUSE);
}

static void truth_is_one_or_the_other(void) {
  pawl_error err;
  int yes = 7;
  CHECK_INT(pawl_bool(ANSWER, "t", &yes, &err), PAWL_OK);
  CHECK_INT(yes, 1);
  CHECK_INT(pawl_bool(ANSWER, "no", &yes, &err), PAWL_OK);
  CHECK_INT(yes, 0);
  CHECK_INT(pawl_bool(ANSWER, "n", &yes, &err), PAWL_INVALID);
  CHECK_INT(pawl_bool(ANSWER, "t", NULL, &err), PAWL_MISUSE);
}

static void text_is_copied_as_far_as_it_fits(void) {
  static const char WHOLE[] = "a\"b\\c\n\xc3\xa9\xf0\x9f\x98\x80\xc3\xa9";
  pawl_error err;
  char out[40];
  size_t len = 0;
  CHECK_INT(pawl_text(ANSWER, "text", out, sizeof out, &len, &err), PAWL_OK);
  CHECK_TEXT(out, WHOLE);
  CHECK_INT(len, sizeof WHOLE - 1);
  CHECK_INT(pawl_text(ANSWER, "text", out, sizeof WHOLE, NULL, &err), PAWL_OK);
  for (size_t size = 0; size < sizeof WHOLE; size++) {
    memset(out, 'z', sizeof out);
    CHECK_INT(pawl_text(ANSWER, "text", out, size, &len, &err), PAWL_LIMIT);
    CHECK_INT(len, sizeof WHOLE - 1);
    CHECK_INT(out[size], 'z');
    if (size) CHECK(strlen(out) < size);
    if (size) CHECK(strncmp(out, WHOLE, strlen(out)) == 0);
    if (size) CHECK(pawl_utf8_check(pawl_strz(out), NULL));
  }
  CHECK_INT(pawl_text(ANSWER, "text", NULL, 0, &len, &err), PAWL_OK);
  CHECK_INT(pawl_text(ANSWER, "zero", out, sizeof out, NULL, &err),
            PAWL_INVALID);
  CHECK_INT(pawl_text(ANSWER, "zero", out, sizeof out, &len, &err), PAWL_OK);
  CHECK_INT(len, 3);
  CHECK(memcmp(out, "a\0b", 4) == 0);
  CHECK_INT(pawl_text(ANSWER, "n", out, sizeof out, NULL, &err), PAWL_INVALID);
  CHECK_TEXT(out, "");
  CHECK_INT(pawl_text(ANSWER, "nothing", out, sizeof out, NULL, &err),
            PAWL_NOTFOUND);
  CHECK_INT(pawl_text("\"a\\qb\"", NULL, out, sizeof out, NULL, &err),
            PAWL_INVALID);
  CHECK_INT(pawl_text("\"a\xff\"", NULL, out, sizeof out, NULL, &err),
            PAWL_INVALID);
  CHECK_INT(pawl_text("\"a\nb\"", NULL, out, sizeof out, NULL, &err),
            PAWL_INVALID);
}

static void a_length_is_of_what_has_one(void) {
  pawl_error err;
  int64_t n = -1;
  CHECK_INT(pawl_length(ANSWER, "list", &n, &err), PAWL_OK);
  CHECK_INT(n, 4);
  CHECK_INT(pawl_length(ANSWER, "none", &n, &err), PAWL_OK);
  CHECK_INT(n, 0);
  CHECK_INT(pawl_length(ANSWER, "void", &n, &err), PAWL_OK);
  CHECK_INT(pawl_length(ANSWER, "text", &n, &err), PAWL_OK);
  CHECK_INT(n, 14);
  CHECK_INT(pawl_length(ANSWER, "n", &n, &err), PAWL_INVALID);
  CHECK_INT(pawl_length("[1,]", NULL, &n, &err), PAWL_INVALID);
  CHECK_INT(pawl_length("[1 2]", NULL, &n, &err), PAWL_INVALID);
  CHECK_INT(pawl_length("{\"a\" 1}", NULL, &n, &err), PAWL_INVALID);
  CHECK_INT(pawl_length(ANSWER, "list", NULL, &err), PAWL_MISUSE);
}

/* ---- lists ---- */

static void members_come_in_their_order(void) {
  static const char *const TYPES[] = {"int", "text", "object", "null"};
  pawl_cursor c = {0}, of = {0};
  pawl_error err;
  char name[8] = "";
  int64_t n = 0;
  while (pawl_each(ANSWER, "list", &c)) {
    CHECK(c.key == NULL);
    CHECK_INT(c.index, n);
    CHECK_TEXT(pawl_value_type(c.value, NULL), TYPES[n++]);
  }
  CHECK_INT(n, 4);
  CHECK_INT(c.broken, 0);
  CHECK_INT(pawl_each(ANSWER, "list", &c), 0); /* and stays there */
  CHECK(pawl_each("{\"\\u0061\":1,\"b\":{\"c\":2}}", NULL, &of));
  CHECK_INT(pawl_text(of.key, NULL, name, sizeof name, NULL, &err), PAWL_OK);
  CHECK_TEXT(name, "a");
}

static void what_has_no_members_ends_at_once(void) {
  static const struct {
    const char *json;
    int n, broken;
  } OF[] = {{"[]", 0, 0},         {" { } ", 0, 0},   {"null", 0, 0},
            {"7", 0, 1},          {"", 0, 1},        {"[1,2", 0, 1},
            {"[1,2}", 0, 1},      {"[1,,2]", 1, 1},  {"[1,]", 1, 1},
            {"{\"a\":1,}", 1, 1}, {"{1:2}", 0, 1},   {"[\"a]", 0, 1},
            {"[1;2]", 1, 1},      {"{\"a\"}", 0, 1}, {"[=]", 0, 1}};
  for (size_t i = 0; i < sizeof OF / sizeof *OF; i++) {
    pawl_cursor c = {0};
    int n = 0;
    while (pawl_each(OF[i].json, NULL, &c)) n++;
    if (!CHECK_INT(n, OF[i].n) || !CHECK_INT(c.broken, OF[i].broken))
      printf("  %s\n", OF[i].json);
  }
  CHECK_INT(pawl_each("[1]", NULL, NULL), 0);
  CHECK_INT(pawl_each(NULL, NULL, &(pawl_cursor){0}), 0);
}

static void what_is_too_deep_is_damaged(void) {
  char text[2 * PAWL_JSON_DEPTH + 4];
  memset(text, '[', PAWL_JSON_DEPTH);
  memset(text + PAWL_JSON_DEPTH, ']', PAWL_JSON_DEPTH);
  text[2 * PAWL_JSON_DEPTH] = 0;
  CHECK_TEXT(pawl_value_type(text, NULL), "list");
  CHECK_TEXT(pawl_value_type(text, "[0][0][0]"), "list");
  memset(text, '[', PAWL_JSON_DEPTH + 1);
  memset(text + PAWL_JSON_DEPTH + 1, ']', PAWL_JSON_DEPTH + 1);
  text[2 * PAWL_JSON_DEPTH + 2] = 0;
  CHECK(pawl_value_type(text, NULL) == NULL);
  CHECK(pawl_at(text, "[0]") != NULL); /* there it is deep enough */
}

/* ---- making it ---- */

static void a_format_quotes(void) {
  pawl_error err;
  char *text = NULL, into[300];
  CHECK_INT(
      pawl_format(NULL, &text, &err,
                  "{\"a\":%Q,\"b\":%Q,\"c\":%d,\"d\":%lld,\"e\":%g,"
                  "\"f\":%b,\"g\":%J,\"h\":%J,\"i\":\"n-%q-%d %%\","
                  "\"j\":%.*Q,\"k\":%u,\"l\":%zu,\"m\":%ld,\"n\":%g}",
                  "x\"y\\\n\x01", (const char *)NULL, -3, (long long)INT64_MIN,
                  0.1, 7, " [1, {\"z\":null}] ", (const char *)NULL, "\"", 5,
                  3, "abcdef", 4000000000u, (size_t)17, -5L, 2.0),
      PAWL_OK);
  CHECK_TEXT(text,
             "{\"a\":\"x\\\"y\\\\\\n\\u0001\",\"b\":null,\"c\":-3,\"d\":"
             "-9223372036854775808,\"e\":0.1,\"f\":true,\"g\": [1, "
             "{\"z\":null}] ,\"h\":null,\"i\":\"n-\\\"-5 %\",\"j\":\"abc\","
             "\"k\":4000000000,\"l\":17,\"m\":-5,\"n\":2.0}");
  CHECK_INT(pawl_json_check(pawl_strz(text), NULL, &err), PAWL_OK);
  CHECK_INT(pawl_format_into(into, sizeof into, &err, "%J", text), PAWL_OK);
  CHECK_TEXT(into, text);
  CHECK_INT(pawl_format_into(into, sizeof into, &err, "{\"copy\":%J}",
                             pawl_at(ANSWER, "list[2]")),
            PAWL_OK); /* a piece of an answer */
  CHECK_TEXT(into, "{\"copy\":{\"three\":[3,[4]]}}");
  pawl_free(NULL, text);
}

#define REFUSED(code, ...)                                                 \
  do {                                                                     \
    pawl_error why;                                                        \
    char out[64] = "old", *made = NULL;                                    \
    if (!CHECK_INT(pawl_format(NULL, &made, &why, __VA_ARGS__), code) ||   \
        !CHECK(made == NULL))                                              \
      printf("  %s\n", #__VA_ARGS__);                                      \
    CHECK_INT(pawl_format_into(out, sizeof out, &why, __VA_ARGS__), code); \
    CHECK_TEXT(out, "");                                                   \
  } while (0)

static void what_is_no_json_is_not_made(void) {
  REFUSED(PAWL_INVALID, "{\"a\":%d", 1);
  REFUSED(PAWL_INVALID, "{\"a\":%d}}", 1);
  REFUSED(PAWL_INVALID, "{a:%d}", 1);
  REFUSED(PAWL_INVALID, "[1,]");
  REFUSED(PAWL_INVALID, "[1]2");
  REFUSED(PAWL_INVALID, "[tru]");
  REFUSED(PAWL_MISUSE, "%s", "");
  REFUSED(PAWL_INVALID, "");
  REFUSED(PAWL_INVALID, "[01]");
  REFUSED(PAWL_INVALID, "[\"\\q\"]");
  REFUSED(PAWL_INVALID, "[{\"\\q\":1}]");
  REFUSED(PAWL_INVALID, "%Q", "\xff");
  REFUSED(PAWL_INVALID, "%.*Q", -1, "x");
  REFUSED(PAWL_INVALID, "%g", (double)INFINITY);
  REFUSED(PAWL_INVALID, "%g", (double)NAN);
  REFUSED(PAWL_INVALID, "%J", "[1");
  REFUSED(PAWL_INVALID, "%llu", (unsigned long long)UINT64_MAX);
  REFUSED(PAWL_MISUSE, "%x", 1);
  REFUSED(PAWL_MISUSE, "%");
  REFUSED(PAWL_MISUSE, "%5d", 1);
  REFUSED(PAWL_MISUSE, "%lQ", "x");
  REFUSED(PAWL_MISUSE, "%.*d", 1, 2);
}

static void what_does_not_fit_is_not_there(void) {
  pawl_error err;
  char out[16];
  for (size_t size = 0; size < sizeof out; size++) {
    memset(out, 'z', sizeof out);
    CHECK_INT(pawl_format_into(out, size, &err, "{\"a\":%Q}", "bcd"),
              size > 11 ? PAWL_OK : PAWL_LIMIT);
    CHECK_INT(out[size], 'z');
    if (size) CHECK_TEXT(out, size > 11 ? "{\"a\":\"bcd\"}" : "");
  }
  CHECK_INT(pawl_format_into(NULL, 5, &err, "1"), PAWL_MISUSE);
  CHECK_INT(pawl_format(NULL, NULL, &err, "1"), PAWL_MISUSE);
}

/* ---- anything ---- */

static uint64_t state = 88172645463325252u;

static unsigned chance(unsigned n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 33) % n;
}

static char *exact(const char *text, size_t len) {
  char *own = malloc(len + 1); /* what is read behind it is seen */
  if (!own) abort();
  memcpy(own, text, len);
  own[len] = 0;
  return own;
}

static void walk_all(const char *json, int depth) {
  pawl_cursor c = {0};
  char text[32];
  int64_t n;
  double d;
  int yes;
  size_t len;
  (void)!pawl_text(json, NULL, text, sizeof text, &len, NULL);
  (void)!pawl_int(json, "[0].a", &n, NULL);
  (void)!pawl_num(json, "[-1]", &d, NULL);
  (void)!pawl_bool(json, "a", &yes, NULL);
  (void)!pawl_length(json, NULL, &n, NULL);
  while (depth < 8 && pawl_each(json, NULL, &c)) {
    if (c.key) (void)!pawl_text(c.key, NULL, text, sizeof text, NULL, NULL);
    walk_all(c.value, depth + 1);
  }
}

/* What JSON says is right has a type and is copied whole; of the rest nothing
 * outside is read (valgrind and the sanitizers see that). */
static void damaged_text_hurts_nobody(void) {
  static const char SIGNS[] = "[]{}\",:\\0123456789-+.eEtrufalsn \n\xc3\xff";
  static const char FROM[] =
      "{\"a\":[1,-2.5e3,\"t\\u00e9\",{\"b\":null}],\"c\":true}";
  for (int i = 0; i < 20000; i++) {
    char text[sizeof FROM + 8];
    size_t len = sizeof FROM - 1;
    memcpy(text, FROM, sizeof FROM);
    if (i % 3 == 0) len = chance((unsigned)len + 1);
    if (i % 3 == 2) len = chance(16);
    for (unsigned k = i % 3 == 2 ? (unsigned)len : chance(5); k > 0 && len;
         k--)
      text[i % 3 == 2 ? k - 1 : chance((unsigned)len)] =
          SIGNS[chance(sizeof SIGNS - 1)];
    char *own = exact(text, len), *made = NULL;
    pawl_str whole = {own, len};
    int is_json = pawl_json_check(whole, NULL, NULL) == PAWL_OK;
    pawl_code rc = pawl_format(NULL, &made, NULL, "[%J]", own);
    walk_all(own, 0);
    if (is_json && !CHECK_INT(rc, PAWL_OK)) printf("  %s\n", own);
    if (rc == PAWL_OK) {
      pawl_error why;
      pawl_code again = pawl_json_check(pawl_strz(made), NULL, &why);
      /* but for names that come twice */
      if (again != PAWL_OK && !strstr(why.message, "twice") &&
          !CHECK(strstr(why.message, "key")))
        printf("  %s: %s\n", own, why.message);
    }
    pawl_free(NULL, made);
    free(own);
  }
}

int main(void) {
  a_path_leads_to_a_value();
  a_path_that_is_none_is_said_to_be();
  integers_are_exact_or_none();
  numbers_are_of_either_type();
  truth_is_one_or_the_other();
  text_is_copied_as_far_as_it_fits();
  a_length_is_of_what_has_one();
  members_come_in_their_order();
  what_has_no_members_ends_at_once();
  what_is_too_deep_is_damaged();
  a_format_quotes();
  what_is_no_json_is_not_made();
  what_does_not_fit_is_not_there();
  damaged_text_hurts_nobody();
  return TEST_END;
}
