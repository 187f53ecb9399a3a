/* Names of events, patterns and keys. */
#include "kit.h"

static void matches(const char *pattern, const char *name, int want) {
  CHECK_INT(pawl_event_matches(pattern, pawl_strz(name)), want);
}

static void key_of(const char *vars, const char *input, const char *want) {
  kit k;
  pawl_buf key = {0};
  kit_open(&k, "'start':'a','nodes':[" KIT_STEP("a", "z") "," KIT_FINISH "]");
  pawl_buf_addz(&k.d.input, input);
  CHECK_INT(pawl_event_key(&k.d, pawl_strz(vars), "id", &key), want != NULL);
  CHECK_BUF(key, want ? want : "");
  pawl_buf_deinit(&key);
  kit_close(&k);
}

static void fits(const char *own, int addressed, const char *asked, int want) {
  pawl_letter l = {.addressed = addressed, .has_key = own != NULL};
  if (own) pawl_buf_addz(&l.key, own);
  CHECK_INT(pawl_event_fits(&l, asked ? pawl_strz(asked) : (pawl_str){0}),
            want);
  pawl_buf_deinit(&l.key);
}

TEST_PART(events_test) {
  char longest[PAWL_MAX_KEY + 1];
  memset(longest, 'x', sizeof longest);
  matches("paid", "paid", 1);
  matches("paid", "paid.card", 0);
  matches("paid.*", "paid.card", 1);
  matches("paid.*", "paid.card.visa", 0);
  matches("paid.*", "paid.", 0);
  matches("paid.*", "unpaid.card", 0);
  matches("*", "paid", 1);
  matches("*", "paid.card", 0);

  key_of("{\"id\":\"a\"}", "{\"id\":\"b\"}", "a"); /* variables first */
  key_of("{}", "{\"id\":\"b\"}", "b");
  key_of("{\"id\":1.5}", "", "1.5");
  key_of("{\"id\":true}", "", "true");
  key_of("{\"id\":null}", "{\"id\":\"b\"}", NULL);
  key_of("{\"id\":{}}", "", NULL);
  key_of("{}", "", NULL);

  CHECK(!pawl_event_key_is_sound(pawl_strz("")));
  CHECK(pawl_event_key_is_sound(pawl_strz("x")));
  CHECK(!pawl_event_key_is_sound((pawl_str){"a\0b", 3}));
  CHECK(pawl_event_key_is_sound((pawl_str){longest, PAWL_MAX_KEY}));
  CHECK(!pawl_event_key_is_sound((pawl_str){longest, PAWL_MAX_KEY + 1}));

  fits("k", 0, "k", 1);
  fits("k", 0, "other", 0);
  fits("k", 0, NULL, 0);
  fits(NULL, 0, "k", 0);
  fits(NULL, 0, NULL, 1);
  fits(NULL, 1, "k", 1); /* sent to this instance by name */
  fits("k", 1, "other", 0);
  fits("k", 1, NULL, 1);
}
