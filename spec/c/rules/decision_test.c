/* What a plan leaves behind, and whether it may: N6. */
#include "kit.h"

#define WORKFLOW                                                \
  "'start':'w','nodes':[{'name':'w','kind':'wait','event':'e'," \
  "'next':'z'}," KIT_FINISH "]"

static void who_has_begun_to_wait_has_not_seen_all(void) {
  kit k;
  kit_open(&k, WORKFLOW);
  kit_step(&k);
  CHECK(!pawl_decision_saw_all(&k.d));
  kit_step(&k);
  CHECK(pawl_decision_saw_all(&k.d));
  k.d.plan.look = PAWL_LOOK_AGAIN;
  CHECK(!pawl_decision_saw_all(&k.d));
  k.d.plan.after = PAWL_AFTER_END;
  CHECK(pawl_decision_saw_all(&k.d));
  kit_close(&k);
}

static void what_was_taken_is_gone_and_the_rest_stays(void) {
  kit k;
  kit_open(&k, WORKFLOW);
  kit_run(&k);
  kit_event(&k, "other", NULL);
  kit_event(&k, "e", NULL);
  kit_event(&k, "e", NULL);
  kit_step(&k);
  CHECK_INT(k.d.nletters, 2);
  CHECK_BUF(k.d.letters[0].name, "other");
  CHECK_INT(k.d.commits, 2);
  CHECK_INT(k.d.seq, 2); /* started, received */
  CHECK_INT(k.d.state.tokens.n, 0);
  kit_close(&k);
}

static void seldom_members_are_written_when_they_differ(void) {
  kit k;
  kit_open(&k, WORKFLOW);
  kit_run(&k);
  kit_decide(&k);
  CHECK(!pawl_decision_has_seldom(&k.d));
  k.d.plan.state.deadline_us = 7;
  CHECK(pawl_decision_has_seldom(&k.d));
  kit_decide(&k);
  k.d.plan.version = 2;
  CHECK(pawl_decision_has_seldom(&k.d));
  kit_close(&k);
}

static void a_name_that_is_not_there_is_no_failure(void) {
  kit k;
  int failed = 0;
  kit_open(&k, WORKFLOW);
  CHECK_TEXT(
      pawl_world_name(&k.face, pawl_strz("{\"n\":\"w\"}"), "n", &failed), "w");
  CHECK(!pawl_world_name(&k.face, pawl_strz("{\"n\":1}"), "n", &failed));
  CHECK(!pawl_world_name(&k.face, pawl_strz("{}"), "n", &failed));
  CHECK(!failed);
  kit_close(&k);
}

TEST_PART(decision_test) {
  who_has_begun_to_wait_has_not_seen_all();
  what_was_taken_is_gone_and_the_rest_stays();
  seldom_members_are_written_when_they_differ();
  a_name_that_is_not_there_is_no_failure();
}
