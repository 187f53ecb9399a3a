/* Steps: what a handler gives is recorded and leads on; a transition that is
 * not there is a failure that is not tried again. */
#include "../kit.h"

#define WORKFLOW                                               \
  "'start':'a','nodes':[{'name':'a','kind':'step','run':true," \
  "'next':{'good':'b','bad':'z'}}," KIT_STEP("b", "z") "," KIT_FINISH "]"

static void what_it_gives_is_recorded(void) {
  kit k;
  kit_open(&k, WORKFLOW);
  kit_says(&k, "a", PAWL_HANDLER_RUN, ">good");
  kit_says(&k, "b", PAWL_HANDLER_RUN, "{\"n\":7}");
  kit_step(&k);
  CHECK_BUF(kit_record(&k, "step")->transition, "good");
  CHECK_BUF(kit_record(&k, "step")->path, "b");
  CHECK_INT(kit_at(&k, "b")->visit, 2);
  kit_step(&k);
  CHECK_BUF(kit_record(&k, "step")->output, "{'n':7}");
  CHECK_STATUS(&k, "completed");
  CHECK_BUF(k.asked, "a.run, b.run, ");
  kit_close(&k);
}

static void a_way_that_is_not_there_is_a_failure_for_good(void) {
  kit k;
  kit_open(&k, WORKFLOW);
  kit_says(&k, "a", PAWL_HANDLER_RUN, ">goood");
  kit_run(&k);
  CHECK_BUF(k.history, "failed a, ");
  CHECK_STATUS(&k, "failed");
  CHECK_HAS(kit_record(&k, "failed")->error, "did you mean");
  kit_close(&k);
}

static void one_of_several_ways_must_be_named(void) {
  kit k;
  kit_open(&k, WORKFLOW);
  kit_run(&k);
  CHECK_STATUS(&k, "failed");
  CHECK_HAS(kit_record(&k, "failed")->error,
            "returned no transition, but has 2 of them");
  kit_close(&k);
}

static void one_that_waits_leaves_nothing_to_store(void) {
  kit k;
  kit_open(&k, WORKFLOW);
  kit_says(&k, "a", PAWL_HANDLER_RUN, "...");
  CHECK(!kit_decide(&k) && k.d.plan.waits);
  pawl_said_clear(&k.result);
  k.result.has_transition = 1;
  pawl_buf_addz(&k.result.transition, "bad");
  kit_goes_on(&k);
  kit_store(&k);
  CHECK_BUF(k.history, "step a, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

TEST_PART(kinds_step_test) {
  what_it_gives_is_recorded();
  a_way_that_is_not_there_is_a_failure_for_good();
  one_of_several_ways_must_be_named();
  one_that_waits_leaves_nothing_to_store();
}
