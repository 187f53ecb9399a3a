/* Handlers: what comes too late does not count, unless it only decides. */
#include "kit.h"

#define WORKFLOW                                               \
  "'start':'a','nodes':[{'name':'a','kind':'step','run':true," \
  "'timeout':2000000,'into':'n','next':'c'},"                  \
  "{'name':'c','kind':'choice','choose':true,"                 \
  "'next':{'y':'z','n':'b'}}," KIT_STEP("b", "z") "," KIT_FINISH "]"

static void after_its_timeout_a_step_has_failed(void) {
  kit k;
  kit_open(&k, WORKFLOW);
  kit_says(&k, "a", PAWL_HANDLER_RUN, "5");
  k.slow_us = 2 * PAWL_SECOND + 1;
  kit_step(&k);
  CHECK_BUF(k.history, "failed a, ");
  CHECK_HAS(kit_record(&k, "failed")->error, "'code':'timeout'");
  CHECK_INT(kit_record(&k, "failed")->has_output, 0);
  CHECK_INT(kit_at(&k, "a")->attempt, 1);
  kit_close(&k);
}

static void just_in_time_it_counts(void) {
  kit k;
  kit_open(&k, WORKFLOW);
  kit_says(&k, "c", PAWL_HANDLER_CHOOSE, ">y");
  k.slow_us = 2 * PAWL_SECOND; /* the choice's too, which has no limit */
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void who_decides_may_be_asked_again(void) {
  kit k;
  kit_open(&k, WORKFLOW);
  kit_says(&k, "c", PAWL_HANDLER_CHOOSE, ">n");
  kit_step(&k);
  CHECK(k.d.plan.asked && k.d.plan.ran);
  kit_step(&k);
  CHECK(!k.d.plan.asked && k.d.plan.ran);
  kit_close(&k);
}

TEST_PART(ask_test) {
  after_its_timeout_a_step_has_failed();
  just_in_time_it_counts();
  who_decides_may_be_asked_again();
}
