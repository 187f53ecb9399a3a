#include "../../src/value/json.h"

#include <float.h>
#include <locale.h>
#include <math.h>

#include "test.h"

/* ---- helpers ----------------------------------------------------------- */

static pawl_code check(const char *text, pawl_error *err) {
  return pawl_json_check(pawl_strz(text), NULL, err);
}

static int is_valid(const char *text) {
  return check(text, NULL) == PAWL_OK;
}

/* Events of a text, one letter or value each. */
static void trace(pawl_str text, pawl_buf *out) {
  pawl_json_reader r;
  pawl_json_reader_init(&r, text, out->alloc);
  do {
    if (pawl_json_next(&r, NULL) != PAWL_OK) {
      pawl_buf_addc(out, '!');
      break;
    }
    switch (r.event) {
      case PAWL_JSON_BEGIN:
        pawl_buf_addc(out, r.kind == PAWL_JSON_OBJECT ? '{' : '[');
        break;
      case PAWL_JSON_END:
        pawl_buf_addc(out, r.kind == PAWL_JSON_OBJECT ? '}' : ']');
        break;
      case PAWL_JSON_KEY:
        pawl_buf_adds(out, r.str);
        pawl_buf_addc(out, ':');
        break;
      case PAWL_JSON_DONE:
        pawl_buf_addc(out, '.');
        break;
      default:
        switch (r.kind) {
          case PAWL_JSON_INT:
            pawl_buf_addi(out, r.i);
            break;
          case PAWL_JSON_FLOAT:
            pawl_json_add_float(out, r.d);
            break;
          case PAWL_JSON_STRING:
            pawl_json_add_string(out, r.str);
            break;
          default:
            pawl_buf_addc(out, "nft"[r.kind]);
        }
        pawl_buf_addc(out, ' ');
    }
  } while (r.event != PAWL_JSON_DONE);
  pawl_json_reader_deinit(&r);
}

static const char *traced(const char *text) {
  static pawl_buf out;
  pawl_buf_clear(&out);
  trace(pawl_strz(text), &out);
  return out.at;
}

/* What a delta or apply appends. */
static const char *made(void (*make)(pawl_str, pawl_str, pawl_buf *),
                        const char *before, const char *second) {
  static pawl_buf out;
  pawl_buf_clear(&out);
  make(pawl_strz(before), pawl_strz(second), &out);
  return out.at ? out.at : "";
}

/* ---- reading ----------------------------------------------------------- */

static void tokens_come_in_order(void) {
  CHECK_TEXT(traced("1"), "1 .");
  CHECK_TEXT(traced(" [ ] "), "[].");
  CHECK_TEXT(traced("{}"), "{}.");
  CHECK_TEXT(traced("[null,false,true,-7,2.5,\"x\"]"),
             "[n f t -7 2.5 \"x\" ].");
  CHECK_TEXT(traced("\t{\"a\" : [1 ,{\"b\":2}]\r\n, \"c\":{} }"),
             "{a:[1 {b:2 }]c:{}}.");
}

static void tokens_know_where_they_stand(void) {
  const char *text = " {\"ab\" : [12] }";
  pawl_json_reader r;
  pawl_json_reader_init(&r, pawl_strz(text), NULL);
  CHECK_INT(pawl_json_next(&r, NULL), PAWL_OK);
  CHECK(r.begin == 1 && r.end == 2);
  CHECK_INT(pawl_json_next(&r, NULL), PAWL_OK);
  CHECK(r.event == PAWL_JSON_KEY && r.begin == 2 && r.end == 6);
  CHECK_INT(pawl_json_next(&r, NULL), PAWL_OK);
  CHECK(r.event == PAWL_JSON_BEGIN && r.begin == 9);
  CHECK_INT(pawl_json_next(&r, NULL), PAWL_OK);
  CHECK(r.event == PAWL_JSON_VALUE && r.begin == 10 && r.end == 12);
  CHECK_INT(pawl_json_next(&r, NULL), PAWL_OK);
  CHECK(r.event == PAWL_JSON_END && r.kind == PAWL_JSON_ARRAY);
  CHECK(r.begin == 12 && r.end == 13);
  pawl_json_reader_deinit(&r);
}

static void only_json_is_accepted(void) {
  /* clang-format off */
  static const char *const bad[] = {
      "", " ", "nul", "nulll", "True", "NaN", "Infinity", "-", "+1", "01",
      "-01", "1.", ".5", "1e", "1e+", "0x10", "1 2", "[", "]", "[1", "[1,",
      "[1,]", "[,1]", "[1 2]", "[1}", "{", "}", "{]", "{\"a\"}", "{\"a\":}",
      "{\"a\":1,}", "{,}", "{a:1}", "{'a':1}", "{1:2}", "{\"a\":1 \"b\":2}",
      "{\"a\":1]", "\"", "\"abc", "\"\\\"", "\"\\x\"", "\"\\u12\"",
      "\"\\u123g\"", "\"\\", "\"\\u", "\"\n\"", "\"\x01\"", "\"\x1f\"",
      "\"\\ud800\"", "\"\\ud800x\"", "\"\\ud800\\n\"", "\"\\ud800\\u0041\"",
      "\"\\udc00\"", "\"\\udc00\\ud800\"", "\"\xff\"", "\"\xed\xa0\x80\"",
      "\"\xc0\x80\"", "\"\xe2\x82\"", "\xef\xbb\xbf{}", "[1]x", "//x\n1",
      "1e400", "-1E400", "9223372036854775808", "-9223372036854775809",
      "123456789012345678901234567890", "[\"abcdefgh\x01ijkl\"]"};
  /* clang-format on */
  size_t i;
  for (i = 0; i < sizeof bad / sizeof *bad; i++)
    if (!CHECK(!is_valid(bad[i]))) printf("  %s\n", bad[i]);
  CHECK(pawl_json_check((pawl_str){NULL, 0}, NULL, NULL) == PAWL_VALUE);
  CHECK(pawl_json_check((pawl_str){"1\0", 2}, NULL, NULL) == PAWL_VALUE);
}

static void strings_are_unescaped(void) {
  pawl_json_reader r;
  CHECK_TEXT(traced("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
             "\"\\\"\\\\/\\b\\f\\n\\r\\t\" .");
  CHECK_TEXT(traced("\"a\\u00e9b\\u20ACc\\ud83d\\uDE00d\""),
             "\"a\xc3\xa9"
             "b\xe2\x82\xac"
             "c\xf0\x9f\x98\x80"
             "d\" .");
  CHECK_TEXT(traced("\"\xf0\x9f\x98\x80\x7f\""), "\"\xf0\x9f\x98\x80\x7f\" .");
  CHECK_TEXT(traced("{\"\\u0061\\n\":0}"), "{a\n:0 }.");
  pawl_json_reader_init(&r, pawl_strz("\"a\\u0000b\""), NULL);
  CHECK_INT(pawl_json_next(&r, NULL), PAWL_OK);
  CHECK(r.str.len == 3 && memcmp(r.str.at, "a\0b", 3) == 0);
  pawl_json_reader_deinit(&r);
}

static void errors_say_what_and_where(void) {
  pawl_error err;
  pawl_json_reader r;

  CHECK_INT(check("{\n  \"a\": tru\n}", &err), PAWL_VALUE);
  CHECK_TEXT(err.where, "2:8");
  CHECK_TEXT(err.message, "a value expected, not 't'");
  CHECK_INT(check("{\"\xc3\xa9\xc3\xa9\": x}", &err), PAWL_VALUE);
  CHECK_TEXT(err.where, "1:8"); /* characters, not bytes */
  CHECK_INT(check("[1", &err), PAWL_VALUE);
  CHECK_TEXT(err.message, "',' or ']' expected, but the text ends");
  CHECK_TEXT(err.where, "1:3");
  CHECK_INT(check("{\"a\" 1}", &err), PAWL_VALUE);
  CHECK_TEXT(err.message, "':' behind the key expected, not '1'");
  CHECK_TEXT(err.where, "1:6");
  CHECK_INT(check("{a:1}", &err), PAWL_VALUE);
  CHECK_TEXT(err.message, "a key in double quotes or '}' expected, not 'a'");
  CHECK_INT(check("\x01", &err), PAWL_VALUE);
  CHECK_TEXT(err.message, "a value expected, not the byte 0x01");
  CHECK_INT(check("[18446744073709551616]", &err), PAWL_VALUE);
  CHECK_TEXT(err.message, "the integer does not fit 64 bits");
  CHECK_TEXT(err.where, "1:2");
  CHECK(err.hint[0] != '\0');
  CHECK_INT(check("\"ab\\q\"", &err), PAWL_VALUE);
  CHECK_TEXT(err.where, "1:4");

  pawl_json_reader_init(&r, pawl_strz("[1,\n ?]"), NULL);
  CHECK_INT(pawl_json_next(&r, &err), PAWL_OK);
  CHECK_INT(pawl_json_next(&r, &err), PAWL_OK);
  CHECK_INT(pawl_json_next(&r, &err), PAWL_VALUE);
  CHECK_INT(pawl_json_next(&r, &err), PAWL_VALUE); /* and so it stays */
  CHECK_TEXT(err.where, "2:2");
  pawl_json_reader_deinit(&r);
}

static void depth_is_bounded(void) {
  char text[2 * (PAWL_JSON_DEPTH + 1) + 1];
  const size_t deep = PAWL_JSON_DEPTH;
  pawl_error err;

  memset(text, '[', deep);
  memset(text + deep, ']', deep);
  text[2 * deep] = '\0';
  CHECK(is_valid(text));
  memset(text, '[', deep + 1);
  memset(text + deep + 1, ']', deep + 1);
  text[2 * deep + 2] = '\0';
  CHECK_INT(check(text, &err), PAWL_LIMIT);
  CHECK_TEXT(err.where, "1:225");
  CHECK_INT(pawl_json_check(pawl_strz(text), NULL, &err), PAWL_LIMIT);
  CHECK_TEXT(err.message, "nested deeper than 200 levels"); /* as a value */
  CHECK_INT(pawl_json_check_depth(pawl_strz("[[[]]]"), 3, NULL, &err),
            PAWL_OK);
  CHECK_INT(pawl_json_check_depth(pawl_strz("[[[]]]"), 2, NULL, &err),
            PAWL_LIMIT);
  CHECK_TEXT(err.message, "nested deeper than 2 levels");
}

static void deeper_than(void) {
  CHECK(!pawl_json_is_deeper(pawl_strz("[]"), 1));
  CHECK(!pawl_json_is_deeper(pawl_strz("[{},[],{\"a\":[1,2,3]}]"), 3));
  CHECK(pawl_json_is_deeper(pawl_strz("[{},[],{\"a\":[1,2,3]}]"), 2));
  CHECK(!pawl_json_is_deeper(pawl_strz("[\"[[[[[[\\\"[[[[\"]"), 1));
  CHECK(pawl_json_is_deeper(pawl_strz("[\"\\\\\",[\"\"]]"), 1));
}

static void a_key_stands_once(void) {
  pawl_error err;
  pawl_json_kind kind;

  CHECK_INT(check("{\"b\":1,\n\"a\":2,\"b\":3}", &err), PAWL_VALUE);
  CHECK_TEXT(err.message, "the key \"b\" stands here again");
  CHECK_TEXT(err.where, "2:7");
  CHECK(!is_valid("{\"a\":1,\"a\":1}"));
  CHECK(!is_valid("{\"a\":1,\"\\u0061\":1}"));
  CHECK(!is_valid("{\"\\u0061\":1,\"\\u0061\":1}"));
  CHECK(!is_valid("[[{\"x\":{\"a\":1,\"c\":1,\"a\":1}}]]"));
  CHECK(!is_valid("{\"a\":{\"b\":1},\"b\":{\"b\":1},\"a\":0}"));
  CHECK(!is_valid("{\"\":1,\"\":1}"));
  CHECK(is_valid("{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}]}"));
  CHECK(is_valid("{\"b\":{\"b\":1,\"a\":2},\"a\":{\"b\":1,\"a\":2}}"));
  CHECK(is_valid("{\"\\n\":1,\"n\":2,\"\\\\n\":3}"));
  CHECK_INT(pawl_json_check(pawl_strz(" [1] "), &kind, NULL), PAWL_OK);
  CHECK_INT(kind, PAWL_JSON_ARRAY);
  CHECK_INT(pawl_json_check(pawl_strz("1.0"), &kind, NULL), PAWL_OK);
  CHECK_INT(kind, PAWL_JSON_FLOAT);
}

/* In no order at all, and with the first key again at the end if asked. */
static void add_many_keys(pawl_buf *b, unsigned n, int again) {
  unsigned i;
  for (i = 0; i < n; i++)
    pawl_buf_addf(b, "%s\"key %u\":%u", i ? "," : "{", i * 2654435761u, i);
  pawl_buf_addz(b, again ? ",\"key 0\":1}" : "}");
}

static void many_keys_are_compared_fast(void) {
  pawl_buf b = {0};
  pawl_error err;
  /* Compared in pairs, these would take an hour under a sanitizer. */
  add_many_keys(&b, 300000, 0);
  CHECK_INT(pawl_json_check(pawl_buf_str(&b), NULL, NULL), PAWL_OK);
  pawl_buf_clear(&b);
  add_many_keys(&b, 300000, 1);
  CHECK_INT(pawl_json_check(pawl_buf_str(&b), NULL, &err), PAWL_VALUE);
  CHECK_TEXT(err.message, "the key \"key 0\" stands here again");
  pawl_buf_deinit(&b);
}

static void keys_are_sorted(void) {
  pawl_json_key keys[200];
  char text[200][8];
  size_t n, i, wrong = 0;
  unsigned random = 1;

  for (n = 0; n <= 200; n++) {
    for (i = 0; i < n; i++) {
      random = random * 1103515245u + 12345u;
      snprintf(text[i], sizeof text[i], "%u", random >> 16 & 63);
      keys[i].text = pawl_strz(text[i]);
      keys[i].tag = i;
    }
    pawl_json_sort_keys(keys, n);
    for (i = 1; i < n; i++) {
      int order = pawl_str_cmp(keys[i - 1].text, keys[i].text);
      wrong += order > 0 || (order == 0 && keys[i - 1].tag >= keys[i].tag);
    }
  }
  CHECK_INT(wrong, 0);
}

/* ---- numbers ----------------------------------------------------------- */

static const char *float_text(double d) {
  static pawl_buf out;
  pawl_buf_clear(&out);
  pawl_json_add_float(&out, d);
  return out.at;
}

static double number(const char *text) {
  double d = NAN;
  if (!CHECK(pawl_json_number(pawl_strz(text), &d))) printf("  %s\n", text);
  return d;
}

static int same_bits(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0;
}

static void integers_are_exact(void) {
  int64_t i = 0;
  CHECK_TEXT(traced("[9223372036854775807,-9223372036854775808]"),
             "[9223372036854775807 -9223372036854775808 ].");
  CHECK_TEXT(traced("[9007199254740993,-0,0]"), "[9007199254740993 0 0 ].");
  CHECK(pawl_json_int(pawl_strz("-9223372036854775808"), &i));
  CHECK(i == INT64_MIN);
  CHECK(pawl_json_int(pawl_strz(" 42 "), &i) && i == 42);
  CHECK(!pawl_json_int(pawl_strz("1.0"), &i));
  CHECK(!pawl_json_int(pawl_strz("1e3"), &i));
  CHECK(!pawl_json_int(pawl_strz("\"1\""), &i));
  CHECK(!pawl_json_int(pawl_strz("1x"), &i));
  CHECK(!pawl_json_int(pawl_strz("9223372036854775808"), &i));
  CHECK(!pawl_json_int(pawl_strz(""), &i));
  CHECK_INT(i, 42);
}

static void floats_are_written_short(void) {
  CHECK_TEXT(float_text(1.0), "1.0");
  CHECK_TEXT(float_text(0.0), "0.0");
  CHECK_TEXT(float_text(-0.0), "-0.0");
  CHECK_TEXT(float_text(-1.5), "-1.5");
  CHECK_TEXT(float_text(19.99), "19.99");
  CHECK_TEXT(float_text(-100.0001), "-100.0001");
  CHECK_TEXT(float_text(0.0001), "0.0001");
  CHECK_TEXT(float_text(0.00005), "5e-05");
  CHECK_TEXT(float_text(0.00012), "0.00012");
  CHECK_TEXT(float_text(12345678901.2345), "12345678901.2345");
  CHECK_TEXT(float_text(99999999999.9999), "99999999999.9999");
  CHECK_TEXT(float_text(19.990000000000002), "19.990000000000002");
  CHECK_TEXT(float_text(0.1), "0.1");
  CHECK_TEXT(float_text(1.0 / 3.0), "0.3333333333333333");
  CHECK_TEXT(float_text(3.141592653589793), "3.141592653589793");
  CHECK_TEXT(float_text(0.1 + 0.2), "0.30000000000000004");
  CHECK_TEXT(float_text(1e100), "1e+100");
  CHECK_TEXT(float_text(1e15), "1e+15");
  CHECK_TEXT(float_text(999999999999999.0), "999999999999999.0");
  CHECK_TEXT(float_text(1234567890123456.0), "1234567890123456.0");
  CHECK_TEXT(float_text(9007199254740992.0), "9007199254740992.0");
  CHECK_TEXT(float_text(1e-7), "1e-07");
  CHECK_TEXT(float_text(DBL_MAX), "1.7976931348623157e+308");
  CHECK_TEXT(float_text(DBL_MIN), "2.2250738585072014e-308");
}

static void floats_are_read_exactly(void) {
  char text[1400];
  int i;

  CHECK(same_bits(number("-0.0"), -0.0));
  CHECK(same_bits(number("-0e5"), -0.0));
  CHECK(same_bits(number("5e-324"), 5e-324));
  CHECK(same_bits(number("2.4703282292062327e-324"), 0.0)); /* below half */
  CHECK(same_bits(number("2.4703282292062328e-324"), 5e-324));
  CHECK(same_bits(number("1e-400"), 0.0));
  CHECK(same_bits(number("1E22"), 1e22));
  CHECK(same_bits(number("1e23"), 1e23));
  CHECK(same_bits(number("123456789012345678"), 123456789012345678.0));
  CHECK(same_bits(number("0.000000000000000000000000000001"), 1e-30));
  CHECK(same_bits(number("8.5e+2"), 850.0));
  CHECK(same_bits(number("1.7976931348623157e308"), DBL_MAX));
  CHECK(same_bits(number("1.7976931348623158e308"), DBL_MAX));
  CHECK(!is_valid("1.7976931348623159e308"));
  /* Half-way between two floats: to the even one, unless a digit far behind
   * says that it is more. */
  CHECK(same_bits(number("9007199254740993.0"), 9007199254740992.0));
  strcpy(text, "9007199254740993.");
  memset(text + 17, '0', 1300);
  strcpy(text + 1317, "0");
  CHECK(same_bits(number(text), 9007199254740992.0));
  strcpy(text + 1317, "1");
  CHECK(same_bits(number(text), 9007199254740994.0));
  /* Long, but small: zeros in front, and exponents that undo them. */
  strcpy(text, "0.");
  memset(text + 2, '0', 1000);
  strcpy(text + 1002, "15e1001");
  CHECK(same_bits(number(text), 1.5));
  text[0] = '1';
  for (i = 1; i <= 1000; i++) text[i] = '0';
  strcpy(text + 1001, "e-1000");
  CHECK(same_bits(number(text), 1.0));
  CHECK(same_bits(number("0e99999999999999999999"), 0.0));
  CHECK(same_bits(number("1e-99999999999999999999"), 0.0));
  CHECK(!is_valid("1e99999999999999999999"));
  CHECK(same_bits(number("-1.5e-3"), -0.0015));
}

/* Whatever the bits are, they come back; and the text is the C library's, with
 * 15, 16 or 17 digits. */
static void every_float_comes_back(void) {
  uint64_t random = 88172645463325252u, wrong = 0, other = 0;
  int i, digits;

  for (i = 0; i < 200000; i++) {
    double d, back;
    char want[40];
    pawl_buf out = {0};
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    memcpy(&d, &random, sizeof d);
    if (i % 4 == 0) d = (double)(random % 1000000007) / (1 << i % 16);
    if (i % 4 == 1) d = (double)(random >> random % 40) / 1e4;
    if (i % 4 == 2) d = (double)(random >> random % 60) / 1e5;
    if (!isfinite(d)) continue;
    for (digits = 15; digits <= 17; digits++) {
      snprintf(want, sizeof want, "%.*g", digits, d);
      if (same_bits(strtod(want, NULL), d)) break;
    }
    pawl_json_add_float(&out, d);
    wrong += !pawl_json_number(pawl_buf_str(&out), &back);
    wrong += !same_bits(d, back) || !same_bits(d, strtod(out.at, NULL));
    wrong += pawl_json_kind_of(pawl_buf_str(&out)) != PAWL_JSON_FLOAT;
    if (!strpbrk(want, ".e")) strcat(want, ".0");
    other += strcmp(out.at, want) != 0;
    pawl_buf_deinit(&out);
  }
  CHECK_INT(wrong, 0);
  CHECK_INT(other, 0);
}

/* Text of a random number is read as strtod reads it. */
static void decimals_are_read_as_the_c_library_does(void) {
  uint64_t random = 88172645463325252u;
  int i, wrong = 0;

  for (i = 0; i < 200000; i++) {
    char text[64];
    double d = 0.0;
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    snprintf(text, sizeof text, "%d.%llue%d", (int)(random % 10),
             (unsigned long long)(random >> (random % 60)),
             (int)(random / 64 % 640) - 320);
    wrong +=
        pawl_json_number(pawl_strz(text), &d) != isfinite(strtod(text, 0)) ||
        (isfinite(strtod(text, 0)) && !same_bits(d, strtod(text, 0)));
  }
  CHECK_INT(wrong, 0);
}

/* With a locale that writes 1,5 where the system has one; nothing else in
 * here may change under it. */
static void numbers_do_not_depend_on_the_locale(void) {
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8",  "de_DE",
                                      "fr_FR.UTF-8", "ru_RU.UTF-8", "ps_AF"};
  size_t i;
  for (i = 0; i < sizeof names / sizeof *names; i++)
    if (setlocale(LC_ALL, names[i])) break;
  CHECK_TEXT(float_text(1.25), "1.25");
  CHECK_TEXT(float_text(1.0 / 3.0), "0.3333333333333333");
  CHECK_TEXT(float_text(1e-7), "1e-07");
  CHECK(same_bits(number("1.25"), 1.25));
  CHECK(same_bits(number("0.30000000000000004e-100"), 0.1e-100 * 3));
  CHECK(!is_valid("1,25"));
  if (strcmp(localeconv()->decimal_point, ".") == 0)
    printf("(no locale with another decimal point is installed)\n");
  setlocale(LC_ALL, "C");
}

/* ---- slices ------------------------------------------------------------ */

static void members_are_walked(void) {
  pawl_str text = pawl_strz(
      " { \"a\" : 1 , \"b\\\"}\":[1,{\"c\":\"]\"}] ,\"\": \"x,\\\\\" } ");
  pawl_json_iter it = {0};
  pawl_str key, value;

  CHECK(pawl_json_each(text, &it, &key, &value));
  CHECK_STR(key, "a");
  CHECK_STR(value, "1");
  CHECK(pawl_json_each(text, &it, &key, &value));
  CHECK_STR(key, "b\\\"}");
  CHECK_STR(value, "[1,{\"c\":\"]\"}]");
  CHECK(pawl_json_each(text, &it, &key, &value));
  CHECK_STR(key, "");
  CHECK_STR(value, "\"x,\\\\\"");
  CHECK(!pawl_json_each(text, &it, &key, &value));
  CHECK(!pawl_json_each(text, &it, &key, &value));

  memset(&it, 0, sizeof it);
  text = pawl_strz("[ null ,[],\"a long string, quite long\" ]");
  CHECK(pawl_json_each(text, &it, &key, &value));
  CHECK_STR(value, "null");
  CHECK_INT(key.len, 0);
  CHECK(pawl_json_each(text, &it, &key, &value));
  CHECK_STR(value, "[]");
  CHECK(pawl_json_each(text, &it, &key, &value));
  CHECK_STR(value, "\"a long string, quite long\"");
  CHECK(!pawl_json_each(text, &it, &key, &value));

  memset(&it, 0, sizeof it);
  CHECK(!pawl_json_each(pawl_strz("{ }"), &it, &key, &value));
  CHECK(!pawl_json_each(pawl_strz("[]"), &it, &key, &value));
  CHECK(!pawl_json_each(pawl_strz("12"), &it, &key, &value));
  CHECK(!pawl_json_each(pawl_strz(""), &it, &key, &value));
}

static void members_are_found(void) {
  pawl_str text = pawl_strz("{\"ab\":1,\"\\u0061\":2,\"n\\\\\":{\"x\":3}}");
  pawl_str value = {"?", 1};
  CHECK(pawl_json_get(text, "ab", &value));
  CHECK_STR(value, "1");
  CHECK(pawl_json_get(text, "a", &value)); /* however it is written */
  CHECK_STR(value, "2");
  CHECK(pawl_json_get(text, "n\\", &value));
  CHECK_STR(value, "{\"x\":3}");
  CHECK(!pawl_json_get(text, "x", &value));
  CHECK(!pawl_json_get(text, "abc", &value));
  CHECK(!pawl_json_get(text, "", &value));
  CHECK(!pawl_json_get(pawl_strz("[1]"), "", &value));
  CHECK_STR(value, "{\"x\":3}");
}

static void values_have_kinds(void) {
  static const struct {
    const char *text;
    pawl_json_kind kind;
  } cases[] = {{"null", PAWL_JSON_NULL},      {" true", PAWL_JSON_TRUE},
               {"false", PAWL_JSON_FALSE},    {"-1", PAWL_JSON_INT},
               {"1.5", PAWL_JSON_FLOAT},      {"1E5", PAWL_JSON_FLOAT},
               {"\"1.5\"", PAWL_JSON_STRING}, {"[1.5]", PAWL_JSON_ARRAY},
               {"{}", PAWL_JSON_OBJECT}};
  size_t i;
  for (i = 0; i < sizeof cases / sizeof *cases; i++)
    CHECK_INT(pawl_json_kind_of(pawl_strz(cases[i].text)), cases[i].kind);
}

static void strings_are_unquoted(void) {
  pawl_buf out = {0};
  pawl_buf_addz(&out, ">");
  pawl_json_unquote(pawl_strz(" \"a\\n\\u20ac\\\"b\" "), &out);
  CHECK_STR(pawl_buf_str(&out), ">a\n\xe2\x82\xac\"b");
  pawl_buf_clear(&out);
  pawl_json_unquote(pawl_strz("\"\""), &out);
  pawl_json_unquote(pawl_strz("12"), &out);
  CHECK_INT(out.len, 0);
  pawl_buf_deinit(&out);
}

static void texts_are_found_in_lists(void) {
  pawl_buf scratch = {0};
  const pawl_str list = pawl_strz("[\"a\", 5, \"caf\\u00e9\", \"\"]");

  CHECK(pawl_json_lists(list, pawl_strz("a"), &scratch));
  CHECK(pawl_json_lists(list, pawl_strz("caf\xc3\xa9"), &scratch));
  CHECK(pawl_json_lists(list, pawl_strz(""), &scratch));
  CHECK(!pawl_json_lists(list, pawl_strz("b"), &scratch));
  CHECK(!pawl_json_lists(pawl_strz("[]"), pawl_strz("a"), &scratch));
  scratch.failed = 1; /* nobody knows */
  CHECK(!pawl_json_lists(list, pawl_strz("a"), &scratch));
  CHECK(scratch.failed);
  pawl_buf_deinit(&scratch);
}

static void strings_are_written(void) {
  pawl_buf out = {0};
  pawl_json_add_string(&out, (pawl_str){"a\"\\/\0\b\f\n\r\t\v\x1f\x7f", 13});
  CHECK_STR(pawl_buf_str(&out),
            "\"a\\\"\\\\/\\u0000\\b\\f\\n\\r\\t\\u000b\\u001f\x7f\"");
  pawl_buf_clear(&out);
  pawl_json_add_string(&out, pawl_strz("\xe2\x82\xac long enough \xc3\xa9"));
  CHECK_STR(pawl_buf_str(&out), "\"\xe2\x82\xac long enough \xc3\xa9\"");
  pawl_buf_clear(&out); /* never text that would be refused */
  pawl_json_add_string(&out, pawl_strz("a\xff"
                                       "b\xe2\x82"));
  CHECK_STR(pawl_buf_str(&out),
            "\"a\xef\xbf\xbd"
            "b\xef\xbf\xbd\xef\xbf\xbd\"");
  pawl_buf_clear(&out);
  pawl_json_add_string(&out, (pawl_str){NULL, 0});
  CHECK_STR(pawl_buf_str(&out), "\"\"");
  pawl_buf_deinit(&out);
}

static void utf8_is_checked(void) {
  size_t at = 99;
  CHECK(pawl_utf8_check(pawl_strz("plain text of some length"), &at));
  CHECK(pawl_utf8_check((pawl_str){NULL, 0}, &at));
  CHECK_INT(at, 99);
  CHECK(!pawl_utf8_check(pawl_strz("plain text, then \xff"), &at));
  CHECK_INT(at, 17);
  CHECK(!pawl_utf8_check(pawl_strz("12345678\xc3"), &at));
  CHECK_INT(at, 8);
}

/* One odd piece in plain text of every length, at every place: what is read
 * must be what was written, and a bad byte be found where it is. */
static void strings_of_every_length_are_looked_through(void) {
  static const char *const odd[] = {
      "\"", "\\", "\n", "\x01", "\x1f", "\x7f", "\xc3\xa9", "\xe2\x82\xac"};
  static const char *const bad[] = {"\x80", "\xff", "\xc3", "\xe2\x82"};
  int len, at, wrong = 0;
  size_t i, place;

  for (len = 0; len < 40; len++) {
    for (at = 0; at <= len; at++) {
      for (i = 0; i < 12; i++) {
        pawl_buf text = {0}, json = {0};
        pawl_json_reader r;
        int k, is_bad = i >= 8;
        for (k = 0; k <= len; k++) {
          if (k == at) pawl_buf_addz(&text, is_bad ? bad[i - 8] : odd[i]);
          if (k < len) pawl_buf_addc(&text, (char)('a' + k % 26));
        }
        wrong += pawl_json_add_checked(&json, pawl_buf_str(&text), &place) ==
                 is_bad;
        wrong += is_bad && place != (size_t)at;
        wrong += pawl_utf8_check(pawl_buf_str(&text), &place) == is_bad;
        pawl_json_reader_init(&r, pawl_buf_str(&json), NULL);
        wrong += !is_bad && (pawl_json_next(&r, NULL) != PAWL_OK ||
                             !pawl_str_eq(r.str, pawl_buf_str(&text)));
        pawl_json_reader_deinit(&r);
        pawl_buf_deinit(&text);
        pawl_buf_deinit(&json);
      }
    }
  }
  CHECK_INT(wrong, 0);
}

/* ---- what changed ------------------------------------------------------ */

static void deltas_hold_what_changed(void) {
  CHECK_TEXT(made(pawl_json_delta, "{}", "{}"), "");
  CHECK_TEXT(made(pawl_json_delta, "", "{ }"), "");
  CHECK_TEXT(made(pawl_json_delta, "{\"a\":1}", "{ \"a\" : 1 }"), "");
  CHECK_TEXT(made(pawl_json_delta, "{\"a\":1}", "{\"a\":1,\"b\":[2]}"),
             "{\"set\":{\"b\":[2]}}");
  CHECK_TEXT(made(pawl_json_delta, "{\"a\":1,\"b\":2}", "{\"b\":2}"),
             "{\"unset\":[\"a\"]}");
  CHECK_TEXT(made(pawl_json_delta, "{\"a\":1,\"b\":2,\"d\":4}",
                  "{\"a\":1.0,\"c\":3,\"d\":4}"),
             "{\"set\":{\"a\":1.0,\"c\":3},\"unset\":[\"b\"]}");
  CHECK_TEXT(made(pawl_json_delta, "{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}"),
             "");
  CHECK_TEXT(made(pawl_json_delta, "{\"\\u0061\":1}", "{\"a\":1}"), "");
  CHECK_TEXT(made(pawl_json_delta, "", "{\"a\":1}"), "{\"set\":{\"a\":1}}");
  CHECK_TEXT(made(pawl_json_delta, "{\"a\":1}", "{}"), "{\"unset\":[\"a\"]}");
  /* written alike only as far as the first goes */
  CHECK_TEXT(made(pawl_json_delta, "{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":23}"),
             "{\"set\":{\"b\":23}}");
  CHECK_TEXT(made(pawl_json_delta, "{\"a\":1}", "{\"a\":1.5,\"b\":2}"),
             "{\"set\":{\"a\":1.5,\"b\":2}}");
  CHECK_TEXT(
      made(pawl_json_delta, "{\"a\" : 1,\"b\":2}", "{\"a\" : [1, 2],\"b\":2}"),
      "{\"set\":{\"a\":[1, 2]}}");
  /* in order at first */
  CHECK_TEXT(made(pawl_json_delta, "{\"a\":1,\"c\":3,\"b\":2}",
                  "{\"a\":2,\"b\":2,\"c\":4}"),
             "{\"set\":{\"a\":2,\"c\":4}}");
  CHECK_TEXT(made(pawl_json_delta, "{\"a\":1,\"b\":2,\"c\":3}",
                  "{\"a\":2,\"c\":3,\"b\":2}"),
             "{\"set\":{\"a\":2}}");
  /* where a string ends */
  CHECK_TEXT(made(pawl_json_delta, "{\"a\":\"\\\\\",\"b\":\"\\\"\"}",
                  "{\"a\":\"\\\\\",\"b\":\"\\\\\\\"\"}"),
             "{\"set\":{\"b\":\"\\\\\\\"\"}}");
}

static void deltas_are_applied(void) {
  CHECK_TEXT(made(pawl_json_apply, "{\"a\":1}", ""), "{\"a\":1}");
  CHECK_TEXT(made(pawl_json_apply, "", "{\"set\":{\"a\":1}}"), "{\"a\":1}");
  CHECK_TEXT(made(pawl_json_apply, "{\"a\":1,\"b\":2,\"d\":4}",
                  "{\"set\":{\"a\":1.0,\"c\":3},\"unset\":[\"b\"]}"),
             "{\"a\":1.0,\"c\":3,\"d\":4}");
  CHECK_TEXT(made(pawl_json_apply, "{\"a\":1}", "{\"unset\":[\"a\",\"x\"]}"),
             "{}");
  CHECK_TEXT(made(pawl_json_apply, "{\"\\u0061\":1,\"\\n\":2}",
                  "{\"unset\":[\"a\"]}"),
             "{\"\\n\":2}");
}

/* Objects of up to 99 members over a small set of keys, by chance. */
static void random_object(pawl_buf *b, unsigned *random, int shuffled) {
  static const char *const values[] = {
      "1", "1.0", "\"x\"", "[1,{\"a\":2}]", "null", "{\"z\":[]}"};
  const char *comma = "";
  unsigned i, step = shuffled ? 37 : 1;
  pawl_buf_clear(b);
  pawl_buf_addc(b, '{');
  for (i = 0; i < 99; i++) {
    *random = *random * 1103515245u + 12345u;
    if (*random >> 16 & 1) continue;
    pawl_buf_addf(b, "%s\"k%02u\":%s", comma, i * step % 99,
                  values[(*random >> 17) % 6]);
    comma = ",";
  }
  pawl_buf_addc(b, '}');
}

static void deltas_fold_back(void) {
  pawl_buf before = {0}, after = {0}, delta = {0}, again = {0}, none = {0};
  unsigned random = 7, i;
  int wrong = 0;

  for (i = 0; i < 500; i++) {
    random_object(&before, &random, i % 2);
    random_object(&after, &random, i / 2 % 2);
    pawl_buf_clear(&delta);
    pawl_buf_clear(&again);
    pawl_buf_clear(&none);
    pawl_json_delta(pawl_buf_str(&before), pawl_buf_str(&after), &delta);
    pawl_json_apply(pawl_buf_str(&before), pawl_buf_str(&delta), &again);
    pawl_json_delta(pawl_buf_str(&again), pawl_buf_str(&after), &none);
    wrong += none.len != 0 || !is_valid(delta.at) || !is_valid(again.at);
    if (i / 2 % 2 == 0) wrong += strcmp(again.at, after.at) != 0;
  }
  CHECK_INT(wrong, 0);
  pawl_buf_deinit(&before);
  pawl_buf_deinit(&after);
  pawl_buf_deinit(&delta);
  pawl_buf_deinit(&again);
  pawl_buf_deinit(&none);
}

/* ---- memory ------------------------------------------------------------ */

typedef pawl_code (*memory_user)(const pawl_alloc *alloc, pawl_error *err);

static pawl_buf many, other; /* two large texts for the tests below */

static pawl_code use_reader(const pawl_alloc *alloc, pawl_error *err) {
  pawl_json_reader r;
  pawl_code rc;
  pawl_json_reader_init(
      &r,
      pawl_strz("[\"a\\nb\",\"\\u0061 text that is longer than the first "
                "block, so that the block must grow while it is read\"]"),
      alloc);
  do rc = pawl_json_next(&r, err);
  while (rc == PAWL_OK && r.event != PAWL_JSON_DONE);
  pawl_json_reader_deinit(&r);
  return rc;
}

static pawl_code use_check(const pawl_alloc *alloc, pawl_error *err) {
  pawl_json_reader r;
  pawl_code rc;
  pawl_json_reader_init(&r, pawl_buf_str(&many), alloc);
  rc = pawl_json_check_all(&r, NULL, err);
  pawl_json_reader_deinit(&r);
  return rc;
}

static pawl_code use_changes(const pawl_alloc *alloc, pawl_error *err,
                             void (*make)(pawl_str, pawl_str, pawl_buf *)) {
  pawl_buf out = {0};
  pawl_code rc;
  out.alloc = alloc;
  make(pawl_buf_str(&many), pawl_buf_str(&other), &out);
  rc = pawl_buf_check(&out, err);
  pawl_buf_deinit(&out);
  return rc;
}

static pawl_code use_delta(const pawl_alloc *alloc, pawl_error *err) {
  return use_changes(alloc, err, pawl_json_delta);
}

static pawl_code use_apply(const pawl_alloc *alloc, pawl_error *err) {
  return use_changes(alloc, err, pawl_json_apply);
}

static void refuse_each_request(memory_user use, int for_ever) {
  int64_t n;
  for (n = 1; n < 1000; n++) {
    test_alloc counted = {0};
    pawl_alloc alloc = {test_alloc_fn, &counted};
    pawl_error err;
    pawl_code rc;
    counted.fail_at = n;
    counted.for_ever = for_ever;
    rc = use(&alloc, &err);
    CHECK_INT(counted.live_bytes, 0);
    if (counted.requests < n) {
      CHECK_INT(rc, PAWL_OK);
      break;
    }
    CHECK_INT(rc, PAWL_NOMEM);
    CHECK_INT(err.code, PAWL_NOMEM);
  }
  CHECK(n > 1 && n < 1000);
}

static void refused_memory_is_an_error(void) {
  static const memory_user users[] = {use_reader, use_check, use_delta,
                                      use_apply};
  size_t i;
  int for_ever;

  add_many_keys(&many, 300, 0);
  many.len--;
  pawl_buf_addz(&many, ",\"\\u0041 key with an escape\":1}");
  pawl_buf_addz(&other, "{\"set\":{\"\\n\":1},\"unset\":[\"key 0\",\"\\t\"]");
  for (i = 0; i < 50; i++) pawl_buf_addf(&other, ",\"new %zu\":0", 99 - i);
  pawl_buf_addz(&other, "}");
  CHECK(is_valid(many.at) && is_valid(other.at));
  for (i = 0; i < sizeof users / sizeof *users; i++)
    for (for_ever = 0; for_ever < 2; for_ever++)
      refuse_each_request(users[i], for_ever);
  pawl_buf_deinit(&many);
  pawl_buf_deinit(&other);
}

/* Slices promise nothing for text that is not JSON, but to stay inside it:
 * every text is cut at every place, in a block of its own. */
static void broken_text_is_not_overrun(void) {
  static const char text[] =
      "{\"a\":[1,2.5e3,\"x\\n\\u20ac\"],\"b\\\"\":{\"c\":-1}, \"d\" : true}";
  size_t begin, end, seen = 0;

  for (begin = 0; begin < sizeof text; begin++) {
    for (end = begin; end < sizeof text; end++) {
      size_t len = end - begin;
      char *copy = malloc(len + !len);
      pawl_str s = {copy, len}, key, value;
      pawl_json_iter it = {0};
      pawl_buf out = {0};
      int64_t i;
      double d;
      memcpy(copy, text + begin, len);
      while (pawl_json_each(s, &it, &key, &value)) seen += value.len;
      seen += pawl_json_kind_of(s) == PAWL_JSON_OBJECT;
      seen += pawl_json_get(s, "zz", &value) + pawl_json_int(s, &i);
      seen += pawl_json_number(s, &d);
      pawl_json_unquote(s, &out);
      pawl_json_delta(s, s, &out);
      pawl_json_apply(s, s, &out);
      pawl_buf_deinit(&out);
      free(copy);
    }
  }
  CHECK(seen > 1000);
}

int main(void) {
  tokens_come_in_order();
  tokens_know_where_they_stand();
  only_json_is_accepted();
  strings_are_unescaped();
  errors_say_what_and_where();
  depth_is_bounded();
  deeper_than();
  a_key_stands_once();
  many_keys_are_compared_fast();
  keys_are_sorted();
  integers_are_exact();
  floats_are_written_short();
  floats_are_read_exactly();
  every_float_comes_back();
  decimals_are_read_as_the_c_library_does();
  numbers_do_not_depend_on_the_locale();
  members_are_walked();
  members_are_found();
  values_have_kinds();
  strings_are_unquoted();
  texts_are_found_in_lists();
  strings_are_written();
  utf8_is_checked();
  strings_of_every_length_are_looked_through();
  deltas_hold_what_changed();
  deltas_are_applied();
  deltas_fold_back();
  refused_memory_is_an_error();
  broken_text_is_not_overrun();
  return TEST_END;
}
