/* Choices: the handler's word is the way on, in the same decision. */
#include "../kit.h"

#define WORKFLOW \
  "'start':'a','nodes':[" KIT_STEP("a", "c") ",{'name':'c',"           \
  "'kind':'choice','choose':true,'next':{'yes':'y','no':'z'}},"       \
  KIT_STEP("y", "z") "," KIT_FINISH "]"

static void the_way_is_told_in_the_path(void) {
  kit k;
  kit_open(&k, WORKFLOW);
  kit_says(&k, "c", PAWL_HANDLER_CHOOSE, ">yes");
  kit_step(&k);
  CHECK_BUF(k.asked, "a.run, c.choose, ");
  CHECK_BUF(kit_record(&k, "step")->path, "c=yes > y");
  CHECK(kit_find(&k, "y"));
  kit_close(&k);
}

static void a_word_that_leads_nowhere_fails_it(const char *word) {
  kit k;
  kit_open(&k, WORKFLOW);
  kit_says(&k, "c", PAWL_HANDLER_CHOOSE, word);
  kit_run(&k);
  CHECK_BUF(k.history, "step a, failed c, "); /* the step is not done again */
  CHECK_STATUS(&k, "failed");
  CHECK_HAS(kit_record(&k, "failed")->error, "no transition of it");
  kit_close(&k);
}

static void one_that_fails_is_tried_again_by_itself(void) {
  kit k;
  kit_open(&k, WORKFLOW);
  kit_says(&k, "c", PAWL_HANDLER_CHOOSE, "!busy");
  kit_run(&k);
  CHECK_BUF(k.history, "step a, failed c, ");
  CHECK_INT(kit_at(&k, "c")->attempt, 1);
  k.now = kit_at(&k, "c")->due_us;
  kit_says(&k, "c", PAWL_HANDLER_CHOOSE, ">no");
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

TEST_PART(kinds_choice_test) {
  the_way_is_told_in_the_path();
  a_word_that_leads_nowhere_fails_it(">maybe");
  a_word_that_leads_nowhere_fails_it("{}");
  one_that_fails_is_tried_again_by_itself();
}
