/* What was caught goes with the token: E6. */
#include "kit.h"

#define FAILING(to)                                              \
  "{'name':'a','kind':'step','run':true,'on_error':{'card':'" to \
  "'},"                                                          \
  "'next':'z'}"
#define BAD_END "{'name':'bad','kind':'finish','status':'failed'}"

static void open_failing(kit *k, const char *nodes) {
  char text[600];
  snprintf(text, sizeof text,
           "'start':'a','nodes':[%s," BAD_END "," KIT_FINISH "]", nodes);
  kit_open(k, text);
  kit_says(k, "a", PAWL_HANDLER_RUN, "!card");
  kit_run(k);
}

static void a_failed_end_has_it_as_its_reason(void) {
  kit k;
  open_failing(&k, FAILING("bad"));
  CHECK_STATUS(&k, "failed");
  CHECK_HAS(k.d.plan.error, "'code':'card'");
  kit_close(&k);
}

static void it_is_that_also_behind_what_has_gone_well(void) {
  kit k;
  open_failing(&k, FAILING("b") "," KIT_STEP("b", "bad"));
  CHECK_STATUS(&k, "failed");
  CHECK_HAS(k.d.plan.error, "'code':'card'");
  CHECK(!strstr(k.d.plan.error.at, "past"));
  CHECK(!strstr(k.d.plan.error.at, "\"node\""));
  kit_close(&k);
}

TEST_PART(caught_test) {
  a_failed_end_has_it_as_its_reason();
  it_is_that_also_behind_what_has_gone_well();
}
