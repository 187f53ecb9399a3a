/* A token's detail: every member of the list is written, read, kept and
 * copied, whatever it is. */
#include "kit.h"

/* Each as its kind has it. */
static void fill(pawl_token *t) {
#define FILL_NUMBER(name) pawl_detail_set(t, PAWL_DETAIL_##name, 7);
#define FILL_FLAG(name) pawl_detail_set(t, PAWL_DETAIL_##name, 1);
#define FILL_TEXT(name) pawl_detail_put(t, PAWL_DETAIL_##name, pawl_strz("x"));
#define FILL_JSON(name) \
  pawl_detail_put(t, PAWL_DETAIL_##name, pawl_strz("[1]"));
#define FILL_LEVELS(name) pawl_detail_level(t, NULL, NULL, pawl_strz("2"));
#define FILL(kind, name, stays, passed) FILL_##kind(name)
  PAWL_DETAILS(FILL)
}

static pawl_details all_there(void) {
  return ((pawl_details)1 << PAWL_NDETAILS) - 1;
}

static void it_is_read_as_it_was_written(void) {
  kit k;
  pawl_token t = {0}, again = {0};
  kit_open(&k, "'start':'a','nodes':[" KIT_STEP("a", "z") "," KIT_FINISH "]");
  CHECK_INT(pawl_detail_text(&t)->len, 0);
  fill(&t);
  CHECK(t.changed);
  CHECK_INT(pawl_detail_of(&t)->has, all_there());
  CHECK(!pawl_detail_same(&t, &again));
  CHECK(pawl_detail_read(&k.face, pawl_buf_str(pawl_detail_text(&t)), &again));
  CHECK_INT(pawl_detail_of(&again)->has, all_there());
  CHECK(pawl_detail_same(&t, &again));
  CHECK_TEXT(pawl_detail_text(&t)->at, pawl_detail_text(&again)->at);
  pawl_detail_free(&t);
  pawl_detail_free(&again);
  kit_close(&k);
}

static void each_member_tells_two_apart(void) {
  for (int m = 0; m < PAWL_NDETAILS; m++) {
    pawl_token a = {0}, b = {0};
    fill(&a);
    fill(&b);
    CHECK(pawl_detail_same(&a, &b));
    pawl_detail_drop(&b, (pawl_detail_name)m);
    CHECK(!pawl_detail_has(&b, (pawl_detail_name)m));
    CHECK(!pawl_detail_same(&a, &b));
    pawl_detail_free(&a);
    pawl_detail_free(&b);
  }
}

static void some_stay_and_some_are_passed_on(void) {
  pawl_token t = {0}, to = {0};
  fill(&t);
  pawl_detail_copy(&to, &t, PAWL_DETAIL_PASSED);
  CHECK_INT(pawl_detail_of(&to)->has, PAWL_DETAIL_PASSED);
  pawl_detail_keep(&t, PAWL_DETAIL_STAYS);
  CHECK_INT(pawl_detail_of(&t)->has, PAWL_DETAIL_STAYS);
  CHECK_INT(pawl_detail_of(&t)->due, 0); /* Z1 */
  CHECK_BUF(pawl_detail_of(&t)->from, "[1]");
  pawl_detail_free(&t);
  pawl_detail_free(&to);
}

TEST_PART(detail_test) {
  it_is_read_as_it_was_written();
  each_member_tells_two_apart();
  some_stay_and_some_are_passed_on();
}
