/* Declared types: what is one, and what fits it. */
#include "value/types.h"

#include "test.h"

static pawl_error err;

static void good(const char *type) {
  if (!CHECK_INT(pawl_types_check(pawl_strz(type), "in", &err), PAWL_OK))
    printf("  %s: %s\n", type, err.message);
}

static void bad(const char *type, const char *message, const char *hint) {
  CHECK_INT(pawl_types_check(pawl_strz(type), "in", &err), PAWL_DEFINITION);
  CHECK_TEXT(err.message, message);
  if (hint) CHECK_TEXT(err.hint, hint);
}

static void fits(const char *type, const char *value) {
  good(type);
  if (!CHECK_INT(pawl_types_fit(pawl_strz(type), pawl_strz(value), "in", &err),
                 PAWL_OK))
    printf("  %s %s: %s\n", type, value, err.message);
}

static void differs(const char *type, const char *value, const char *where,
                    const char *message) {
  good(type);
  CHECK_INT(pawl_types_fit(pawl_strz(type), pawl_strz(value), "in", &err),
            PAWL_VALUE);
  CHECK_TEXT(err.where, where);
  CHECK_TEXT(err.message, message);
}

static void words_are_checked(void) {
  good("\"integer >= 1 <= 5\"");
  good("\" one of a,  b \"");
  good("{\"*\":[\"string[] 1..\"]}");
  bad("\"strnig\"", "in: \"strnig\" is no type", "did you mean \"string\"?");
  bad("{\"a\":{\"b?\":\"nubmer?\"}}", "in.a.b: \"nubmer\" is no type",
      "did you mean \"number\"?");
  bad("{\"a\":\"string\",\"a?\":\"string\"}",
      "in.a is declared twice, by \"a\" and \"a?\"",
      "keep one of them: what has a ? may be left out");
  bad("[{\"b\":{\"x y?\":\"any\",\"c\":\"any\",\"x y\":\"any\"}}]",
      "in.b.x y is declared twice, by \"x y\" and \"x y?\"", NULL);
  good("{\"a\":\"string\",\"a??\":\"string\",\"b\":{\"a?\":\"any\"}}");
  bad("\"\"", "in: \"\" is no type", NULL);
  bad("7", "in: \"7\" is no type", NULL);
  bad("\"string |\"", "in: \"\" is no type", NULL);
  bad("\"boolean > 1\"", "in: \"boolean > 1\" has no bounds", NULL);
  bad("\"one of a,,b\"", "in: \"one of a,,b\" has an empty word in its list",
      NULL);
  bad("\"one of a, b, a\"",
      "in: \"one of a, b, a\" has a word twice in its list", NULL);
  bad("\"string[][]\"", "in: \"string[][]\" is a list of lists: say array",
      NULL);
  bad("\"string?[]\"",
      "in: \"string?[]\" has its ? within: it stands at the end", NULL);
  bad("[]", "in: \"[]\" says what each member is, once", NULL);
  bad("[\"string\",\"any\"]",
      "in: \"[\"string\",\"any\"]\" says what each member is, once", NULL);
  for (const char *const *s =
           (const char *const[]){"integer >", "integer > x", "integer 1...3",
                                 "integer ..", "integer 5", "number 1 ..",
                                 "number > 1 > 2 > 3 > 4 > 5", NULL};
       *s; s++) {
    char text[80];
    snprintf(text, sizeof text, "\"%s\"", *s);
    CHECK_INT(pawl_types_check(pawl_strz(text), "in", &err), PAWL_DEFINITION);
    CHECK(strstr(err.message, "has bounds like") != NULL);
  }
}

static void scalars_are_what_they_say(void) {
  fits("\"string\"", "\"x\"");
  fits("\"number\"", "1.5");
  fits("\"number\"", "7");
  fits("\"integer\"", "-9223372036854775808");
  fits("\"boolean\"", "false");
  fits("\"any\"", "null");
  differs("\"integer\"", "3.0", "in", "in: expected integer, found 3.0");
  differs("\"string\"", "7", "in", "in: expected string, found 7");
  differs("\"number\"", "\"7\"", "in", "in: expected number, found \"7\"");
  differs("\"boolean\"", "null", "in", "in: expected boolean, found null");
  differs("\"string\"", "[1]", "in",
          "in: expected string, found an array of 1");
  fits("\"string | integer > 3\"", "4");
  fits("\"string | integer > 3\"", "\"\"");
  differs("\"string | integer > 3\"", "3", "in",
          "in: expected string | integer > 3, found 3");
}

static void bounds_are_kept(void) {
  fits("\"integer > 0\"", "1");
  differs("\"integer > 0\"", "0", "in", "in: expected integer > 0, found 0");
  fits("\"integer>=0<=2\"", "2");
  differs("\"number >= 0 < 1\"", "1.0", "in",
          "in: expected number >= 0 < 1, found 1.0");
  fits("\"number 0.5..1.5\"", "1.5");
  differs("\"number 0.5..1.5\"", "0.25", "in",
          "in: expected number 0.5..1.5, found 0.25");
  fits("\"integer ..-1\"", "-1");
  fits("\"integer < 9223372036854775807\"", "9223372036854775806");
  differs("\"integer < 9223372036854775807\"", "9223372036854775807", "in",
          "in: expected integer < 9223372036854775807, found "
          "9223372036854775807");
  fits("\"string 1..2\"", "\"\xc3\xa4\xc3\xb6\"");
  fits("\"string 1..2\"", "\"\\u00e4\\n\"");
  differs("\"string 1..2\"", "\"abc\"", "in",
          "in: expected string 1..2, found \"abc\"");
  fits("\"array ..1\"", "[1]");
  differs("\"array ..1\"", "[1,2]", "in",
          "in: expected array ..1, found an array of 2");
  differs("\"array 1..\"", "{}", "in", /* as Lua writes an empty list */
          "in: expected array 1.., found an empty array");
  differs("\"string[] 1..\"", "[]", "in",
          "in: expected string[] 1.., found an empty array");
  differs("\"string | integer[] 1..\"", "{}", "in",
          "in: expected string | integer[] 1.., found an empty array");
  differs("\"object 1..\"", "{}", "in",
          "in: expected object 1.., found an empty object");
  differs("\"object ..1\"", "{\"a\":1,\"b\":2}", "in",
          "in: expected object ..1, found an object of 2");
  differs("\"string ..1\"",
          "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"",
          "in", "in: expected string ..1, found a string of 60 bytes");
}

static void bounds_can_be_met(void) {
  static const char *const none[] = {
      "\"integer 5..1\"",         "\"number 5..1\"",
      "\"number > 1 < 1\"",       "\"number >= 1 < 1\"",
      "\"integer > 4 < 5\"",      "\"string < 0\"",
      "\"array ..-1\"",           "\"string[] 2..1\"",
      "\"integer[] < 0\"",        "\"any | integer 2..1\"",
      "\"integer > 0 < 9 >= 10\""};
  static const char *const some[] = {
      "\"integer 1..1\"",
      "\"number > 4 < 5\"",
      "\"integer ..-1\"",
      "\"string ..0\"",
      "\"integer > 4 < 6\"",
      "\"integer > -9223372036854775808 < 9223372036854775807\""};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    CHECK_INT(pawl_types_check(pawl_strz(none[i]), "in", &err),
              PAWL_DEFINITION);
    CHECK(strstr(err.message, "has bounds that leave nothing between them"));
  }
  for (size_t i = 0; i < sizeof some / sizeof *some; i++)
    CHECK_INT(pawl_types_check(pawl_strz(some[i]), "in", &err), PAWL_OK);
}

static void sets_have_texts_and_numbers(void) {
  fits("\"one of low, high, 3\"", "\"high\"");
  fits("\"one of low, high, 3\"", "3");
  fits("\"one of low, high, 3\"", "3.0");
  fits("\"one of 1.50, 2\"", "1.5");
  differs("\"one of 1, 2\"", "\"2\"", "in",
          "in: expected one of 1, 2, found \"2\"");
  differs("\"one of 1, 2\"", "\"\\u0032\"", "in",
          "in: expected one of 1, 2, found \"\\u0032\"");
  differs("\"one of 1, 2\"", "2.5", "in",
          "in: expected one of 1, 2, found 2.5");
  fits("\"one of 007\"", "\"007\"");
  fits("\"one of low, high\"", "\"\\u006cow\"");
  fits("\"one of a\\\"b, c\\\\d\"", "\"a\\\"b\"");
  fits("\"one of a\\\"b, c\\\\d\"", "\"a\\u0022b\"");
  fits("\"one of a\\\"b, c\\\\d\"", "\"c\\\\d\"");
  differs("\"one of c\\\\d\"", "\"c\\\\\\\\d\"", "in",
          "in: expected one of c\\\\d, found \"c\\\\\\\\d\"");
  differs("\"one of low, high\"", "\"mid\"", "in",
          "in: expected one of low, high, found \"mid\"");
  fits("\"one of low, high?\"", "null");
}

static void members_have_names(void) {
  static const char T[] =
      "{\"n\":\"integer\",\"s\":\"string?\",\"o?\":{\"x\":\"any\"}}";
  fits(T, "{\"n\":1}");
  fits(T, "{\"n\":1,\"s\":null,\"o\":null}");
  fits(T, "{\"\\u006e\":1,\"o\":{\"x\":[]}}");
  differs(T, "{}", "in.n", "in.n: expected integer, found nothing");
  differs(T, "{\"n\":1,\"o\":{}}", "in.o.x",
          "in.o.x: expected any, found nothing");
  differs(T, "{\"n\":1,\"o\":7}", "in.o", "in.o: expected an object, found 7");
  differs(T, "{\"n\":1,\"oo\":7}", "in", "in has no \"oo\"");
  CHECK_TEXT(err.hint, "did you mean \"o\"?");
  differs(T, "{\"n\":1,\"elsewhere\":7}", "in", "in has no \"elsewhere\"");
  CHECK_TEXT(err.hint, "nothing of that name is declared");
  differs("{}", "{\"a\":1}", "in", "in has no \"a\"");
  fits("{\"a\":\"any\",\"*\":\"integer\"}", "{\"a\":\"x\",\"b\":2}");
  differs("{\"*\":\"integer\"}", "{\"b\":\"x\"}", "in.b",
          "in.b: expected integer, found \"x\"");
}

static void lists_have_members(void) {
  fits("[\"integer > 0\"]", "[1,2]");
  fits("[\"integer > 0\"]", "{}"); /* as Lua writes an empty list */
  differs("[{\"a\":\"string\"}]", "[{\"a\":\"x\"},{\"a\":2}]", "in[2].a",
          "in[2].a: expected string, found 2");
  differs("[\"any\"]", "{\"a\":1}", "in",
          "in: expected an array, found an object of 1");
  fits("\"string[]\"", "[\"a\",\"b\"]");
  fits("\"string[] 1..2\"", "[\"a\"]");
  differs("\"string[]\"", "[\"a\",1]", "in",
          "in: expected string[], found an array of 2");
  fits("\"table\"", "[]");
  fits("\"table\"", "{\"a\":1}");
}

static void a_long_path_is_cut(void) {
  static const char NAME[] =
      "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn";
  char type[400], value[400];
  snprintf(type, sizeof type, "{\"%s\":{\"%s\":{\"%s\":\"string\"}}}", NAME,
           NAME, NAME);
  snprintf(value, sizeof value, "{\"%s\":{\"%s\":{\"%s\":1}}}", NAME, NAME,
           NAME);
  good(type);
  CHECK_INT(pawl_types_fit(pawl_strz(type), pawl_strz(value), "in", &err),
            PAWL_VALUE);
  CHECK(strlen(err.where) > 60 && strlen(err.where) < sizeof err.where);
}

static pawl_code present_after(const char *before, const char *value) {
  return pawl_types_fit_present(
      pawl_strz("{\"a\":\"integer > 0\",\"b?\":[\"string\"]}"),
      pawl_strz(before), pawl_strz(value), "vars", &err);
}

static pawl_code present(const char *value) {
  return present_after(NULL, value);
}

/* What another version has left. */
static void those_that_are_as_they_were_fit(void) {
  CHECK_INT(present_after("{\"a\":\"x\"}", "{\"a\":\"x\"}"), PAWL_OK);
  CHECK_INT(
      present_after("{\"c\":1,\"a\":\"x\"}", "{\"b\":[],\"a\":\"x\",\"c\":1}"),
      PAWL_OK);
  CHECK_INT(present_after("{\"a\":\"x\"}", "{\"a\":\"y\"}"), PAWL_VALUE);
  CHECK_INT(present_after("{\"a\":\"x\"}", "{\"a\":\"x\",\"c\":1}"),
            PAWL_VALUE);
  CHECK_INT(present_after("{}", "{\"a\":\"x\"}"), PAWL_VALUE);
}

static void those_that_are_there_fit(void) {
  CHECK_INT(present("{}"), PAWL_OK);
  CHECK_INT(present("{\"a\":1}"), PAWL_OK);
  CHECK_INT(present("{\"b\":null}"), PAWL_OK);
  CHECK_INT(present("{\"\\u0061\":1,\"b\":[]}"), PAWL_OK);
  CHECK_INT(present("{\"a\":null}"), PAWL_VALUE);
  CHECK_TEXT(err.where, "vars.a");
  CHECK_INT(present("{\"a\":1,\"b\":[\"x\",2]}"), PAWL_VALUE);
  CHECK_TEXT(err.where, "vars.b[2]");
  CHECK_INT(present("{\"aa\":1}"), PAWL_VALUE);
  CHECK_TEXT(err.message, "vars has no \"aa\"");
  CHECK_TEXT(err.hint, "did you mean \"a\"?");
  const pawl_str open = pawl_strz("{\"a\":\"string\",\"*\":\"integer\"}");
  CHECK_INT(pawl_types_fit_member(open, "n", pawl_strz("2"), "vars", &err),
            PAWL_OK);
  CHECK_INT(pawl_types_fit_member(open, "a", pawl_strz("2"), "vars", &err),
            PAWL_VALUE);
  CHECK_INT(pawl_types_fit_member(open, "n", pawl_strz("\"x\""), "vars", &err),
            PAWL_VALUE);
  CHECK_TEXT(err.where, "vars.n");
  CHECK_INT(pawl_types_fit_member(open, "a\\b", pawl_strz("2"), "vars", &err),
            PAWL_OK);
  CHECK_INT(
      pawl_types_fit_member(open, "a\\b", pawl_strz("\"x\""), "vars", &err),
      PAWL_VALUE);
}

static void a_name_is_declared_or_left_open(void) {
  static const struct {
    const char *type, *name, *near; /* NULL: it may be there */
  } CASES[] = {{"{\"total\":\"number\"}", "total", NULL},
               {"{\"total?\":\"number\"}", "total", NULL},
               {"{\"a\":\"any\",\"*\":\"any\"}", "total", NULL},
               {"\"table\"", "total", NULL},
               {"[\"any\"]", "total", NULL},
               {"{\"total?\":\"number\"}", "totl", "total"},
               {"{\"total\":\"number\"}", "x", ""},
               {"{}", "x", ""}};
  char near[PAWL_TYPES_NAME];
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    int may =
        pawl_types_may_have(pawl_strz(CASES[i].type), CASES[i].name, near);
    CHECK_INT(may, CASES[i].near == NULL);
    CHECK_TEXT(near, CASES[i].near ? CASES[i].near : "");
  }
}

/* Behind its "$schema". */
static void schema_is(const char *type, const char *schema) {
  static const char HEAD[] =
      "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\"";
  pawl_buf out = {.alloc = NULL};
  pawl_json_kind kind;

  good(type);
  pawl_types_schema(pawl_strz(type), &out);
  if (CHECK(out.len >= sizeof HEAD && !memcmp(out.at, HEAD, sizeof HEAD - 1)))
    CHECK_TEXT(out.at + sizeof HEAD - 1, schema);
  CHECK_INT(pawl_json_check(pawl_buf_str(&out), &kind, NULL), PAWL_OK);
  pawl_buf_deinit(&out);
}

static void words_have_schemas(void) {
  schema_is("\"string\"", ",\"type\":\"string\"}");
  schema_is("\"number\"", ",\"type\":\"number\"}");
  schema_is("\"integer\"", ",\"type\":\"integer\"}");
  schema_is("\"boolean\"", ",\"type\":\"boolean\"}");
  schema_is("\"object\"", ",\"type\":\"object\"}");
  schema_is("\"array\"", ",\"type\":\"array\"}");
  schema_is("\"table\"", ",\"type\":[\"object\",\"array\"]}");
  schema_is("\"table?\"", ",\"type\":[\"object\",\"array\",\"null\"]}");
  schema_is("\"any\"", "}");
  schema_is("\"any?\"", "}");
  schema_is("\"string?\"", ",\"type\":[\"string\",\"null\"]}");
  schema_is("\" one of low,  high \"", ",\"enum\":[\"low\",\"high\"]}");
  schema_is("\"one of 1, 2.5, x?\"", ",\"enum\":[1,2.5,\"x\",null]}");
  schema_is("\"string[]\"",
            ",\"type\":\"array\",\"items\":{\"type\":\"string\"}}");
  schema_is("\"any[]\"", ",\"type\":\"array\"}");
  schema_is("\"table[]?\"",
            ",\"type\":[\"array\",\"null\"],\"items\":{\"type\":"
            "[\"object\",\"array\"]}}");
  schema_is("\"string | integer > 3\"",
            ",\"anyOf\":[{\"type\":\"string\"},{\"type\":\"integer\","
            "\"exclusiveMinimum\":3}]}");
  schema_is("\"one of a, b | any | boolean?\"",
            ",\"anyOf\":[{\"enum\":[\"a\",\"b\",null]},{},"
            "{\"type\":\"boolean\"}]}");
}

static void bounds_have_schemas(void) {
  schema_is("\"integer >= 1 < 10\"",
            ",\"type\":\"integer\",\"minimum\":1,\"exclusiveMaximum\":10}");
  schema_is("\"number 0.5..1.5\"",
            ",\"type\":\"number\",\"minimum\":0.5,\"maximum\":1.5}");
  schema_is("\"integer > 1 > 3 <= 9 <= 7\"",
            ",\"type\":\"integer\",\"exclusiveMinimum\":3,\"maximum\":7}");
  schema_is("\"integer ..-1\"", ",\"type\":\"integer\",\"maximum\":-1}");
  schema_is("\"integer < 9223372036854775807\"",
            ",\"type\":\"integer\","
            "\"exclusiveMaximum\":9223372036854775807}");
  schema_is("\"string 1..80\"",
            ",\"type\":\"string\",\"minLength\":1,\"maxLength\":80}");
  schema_is("\"string >= 0 < 3\"", ",\"type\":\"string\",\"maxLength\":2}");
  schema_is("\"string > 1.5 < 3.5\"",
            ",\"type\":\"string\",\"minLength\":2,\"maxLength\":3}");
  schema_is("\"string > 1 >= 4 > 2\"",
            ",\"type\":\"string\",\"minLength\":4}");
  schema_is("\"array ..10\"", ",\"type\":\"array\",\"maxItems\":10}");
  schema_is("\"object 2..\"", ",\"type\":\"object\",\"minProperties\":2}");
  schema_is("\"table 1..\"",
            ",\"type\":[\"object\",\"array\"],\"minProperties\":1,"
            "\"minItems\":1}");
  schema_is("\"integer[] 1..3\"",
            ",\"type\":\"array\",\"items\":{\"type\":\"integer\"},"
            "\"minItems\":1,\"maxItems\":3}");
}

static void objects_and_lists_have_schemas(void) {
  schema_is("{}",
            ",\"type\":\"object\",\"properties\":{},"
            "\"additionalProperties\":false}");
  schema_is("{\"a\":\"string\",\"b?\":\"integer\",\"c\":\"number?\"}",
            ",\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}"
            ",\"b\":{\"type\":[\"integer\",\"null\"]},"
            "\"c\":{\"type\":[\"number\",\"null\"]}},"
            "\"required\":[\"a\"],\"additionalProperties\":false}");
  schema_is("{\"*\":\"any\",\"a \\\"b\\\"\":\"any\"}",
            ",\"type\":\"object\",\"properties\":{\"a \\\"b\\\"\":{}},"
            "\"required\":[\"a \\\"b\\\"\"],\"additionalProperties\":{}}");
  schema_is("{\"*\":\"number\"}",
            ",\"type\":\"object\",\"properties\":{},"
            "\"additionalProperties\":{\"type\":\"number\"}}");
  schema_is("[\"integer > 0\"]",
            ",\"type\":\"array\",\"items\":{\"type\":\"integer\","
            "\"exclusiveMinimum\":0}}");
  schema_is("{\"lines?\":[{\"sku\":\"string?\"}],\"at?\":{\"*\":\"any\"}}",
            ",\"type\":\"object\",\"properties\":{\"lines\":{\"type\":"
            "[\"array\",\"null\"],\"items\":{\"type\":\"object\","
            "\"properties\":{\"sku\":{\"type\":[\"string\",\"null\"]}},"
            "\"additionalProperties\":false}},\"at\":{\"type\":[\"object\","
            "\"null\"],\"properties\":{},\"additionalProperties\":{}}},"
            "\"additionalProperties\":false}");
}

int main(void) {
  words_are_checked();
  scalars_are_what_they_say();
  bounds_are_kept();
  bounds_can_be_met();
  sets_have_texts_and_numbers();
  members_have_names();
  lists_have_members();
  a_long_path_is_cut();
  those_that_are_there_fit();
  those_that_are_as_they_were_fit();
  a_name_is_declared_or_left_open();
  words_have_schemas();
  bounds_have_schemas();
  objects_and_lists_have_schemas();
  return TEST_END;
}
