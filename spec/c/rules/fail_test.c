/* What follows a failure: tried again, routed, suspended, or the end. */
#include "kit.h"

static void open_step(kit *k, const char *more, const char *says) {
  char text[400];
  snprintf(
      text, sizeof text,
      "'start':'a','nodes':[{'name':'a','kind':'step','run':true,"
      "'retry':{'max':2,'base':1000000,'jitter':0},%s'next':'z'}," KIT_STEP(
          "b", "z") "," KIT_FINISH "]",
      more);
  kit_open(k, text);
  kit_says(k, "a", PAWL_HANDLER_RUN, says);
  kit_run(k);
}

#define TO_B "'on_error':{'card':'b'},"
#define ANY_TO_B "'on_error':{'*':'b'},"

static void it_is_tried_again_after_its_delay(void) {
  kit k;
  open_step(&k, ANY_TO_B, "!card");
  CHECK_BUF(k.history, "failed a, ");
  CHECK_INT(kit_at(&k, "a")->due_us, k.now + PAWL_SECOND);
  CHECK_INT(k.d.plan.look_us, k.now + PAWL_SECOND);
  k.now += PAWL_SECOND;
  kit_step(&k); /* no attempt is left: its route */
  CHECK_BUF(kit_record(&k, "failed")->transition, "card");
  CHECK_INT(kit_record(&k, "failed")->attempt, 2);
  CHECK_INT(kit_at(&k, "b")->attempt, 0);
  CHECK_BUF(k.d.plan.error, ""); /* it was caught */
  kit_close(&k);
}

/* A route of its own is its answer. */
static void one_that_is_routed_goes_there_at_once(void) {
  kit k;
  open_step(&k, TO_B, "!card");
  CHECK_BUF(k.history, "failed a, step b, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void one_that_must_not_be_is_not(void) {
  kit k;
  open_step(&k, TO_B, "!other.");
  CHECK_BUF(k.history, "failed a, ");
  CHECK_STATUS(&k, "failed");
  CHECK_HAS(k.d.plan.error, "'code':'other'");
  CHECK(k.d.state.stopped.len > 0); /* for a retry */
  kit_close(&k);
}

static void one_that_is_to_be_suspended_stands_there(void) {
  kit k;
  open_step(&k, TO_B "'on_exhausted':'suspend',", "!other.");
  CHECK_STATUS(&k, "suspended");
  CHECK_INT(k.d.state.suspended_us, k.now);
  CHECK_INT(kit_at(&k, "a")->state, PAWL_TOKEN_ACTIVE);
  kit_letter(&k, "resume", "{}");
  kit_says(&k, "a", PAWL_HANDLER_RUN, "1");
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

/* Runs it until it does not stand there to be tried again. */
static int attempts_until_it_ends(kit *k) {
  int n = 1;
  for (; kit_at(k, "a") && kit_at(k, "a")->due_us && n < 40; n++) {
    k->now = kit_at(k, "a")->due_us;
    kit_step(k);
  }
  return n;
}

static void without_memory_no_attempt_counts(void) {
  kit k;
  open_step(&k, ANY_TO_B, "~");
  k.now = kit_at(&k, "a")->due_us;
  kit_step(&k);
  CHECK_INT(kit_at(&k, "a")->attempt, 2); /* as many as it has */
  CHECK_INT(pawl_detail_of(kit_at(&k, "a"))->passed, 2);
  kit_says(&k, "a", PAWL_HANDLER_RUN, "!card");
  k.now = kit_at(&k, "a")->due_us;
  kit_step(&k);
  CHECK_INT(kit_at(&k, "a")->attempt, 3);
  CHECK_INT(kit_at(&k, "a")->due_us, k.now + PAWL_SECOND); /* its first */
  k.now = kit_at(&k, "a")->due_us;
  kit_step(&k);
  CHECK_INT(kit_at(&k, "b")->attempt, 0);
  CHECK_INT(pawl_detail_of(kit_at(&k, "b"))->passed, 0);
  kit_close(&k);
}

static void without_memory_for_long_it_is_suspended(void) {
  kit k;
  open_step(&k, TO_B, "~");
  CHECK_INT(attempts_until_it_ends(&k), 10);
  CHECK_STATUS(&k, "suspended");
  CHECK_HAS(k.d.plan.error, "'code':'nomem'");
  kit_letter(&k, "resume", "{}");
  kit_step(&k);
  kit_step(&k);
  CHECK_STATUS(&k, "running");
  CHECK_INT(attempts_until_it_ends(&k), 10); /* so many again */
  CHECK_STATUS(&k, "suspended");
  kit_letter(&k, "retry", "{}");
  kit_says(&k, "a", PAWL_HANDLER_RUN, "1");
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void where_and_what_are_told(void) {
  kit k;
  pawl_error err = {0};
  kit_open(&k, "'start':'a','nodes':[" KIT_STEP("a", "z") "," KIT_FINISH "]");
  pawl_fail(&err, PAWL_SCRIPT, "no");
  pawl_set_detail(&k.d.plan, &err);
  CHECK_BUF(k.d.plan.detail, "no");
  pawl_copy_text(err.raised, sizeof err.raised, "card");
  pawl_copy_text(err.where, sizeof err.where, "t.lua:1");
  pawl_set_detail(&k.d.plan, &err);
  CHECK_BUF(k.d.plan.detail, "t.lua:1: card: no");
  kit_close(&k);
}

static void open_cleaning(kit *k) {
  kit_open(k,
           "'start':'t','on_cancel':'c','nodes':["
           "{'name':'t','kind':'timer','after':60000000,'next':'z'},"
           "{'name':'c','kind':'step','run':true,'retry':{'max':1},"
           "'next':'z'}," KIT_FINISH "]");
  kit_step(k);
  kit_letter(k, "cancel", "{'reason':'no'}");
  kit_step(k);
}

static void who_is_cancelled_cleans_up_first(void) {
  kit k;
  open_cleaning(&k);
  CHECK_STATUS(&k, "running");
  CHECK(pawl_state_is_cleaning(&k.d.state));
  kit_letter(&k, "cancel", "{}"); /* refused */
  kit_run(&k);
  CHECK_STATUS(&k, "cancelled");
  CHECK_BUF(k.history, "started t, cancelled t, refused c, step c, ");
  CHECK(!pawl_state_is_cleaning(&k.d.state));
  kit_close(&k);
}

static void however_that_ends_it_is_cancelled(void) {
  kit k;
  open_cleaning(&k);
  kit_says(&k, "c", PAWL_HANDLER_RUN, "!stuck");
  kit_run(&k);
  CHECK_STATUS(&k, "cancelled");
  CHECK_HAS(k.d.plan.error, "'code':'stuck'");
  kit_close(&k);
}

TEST_PART(fail_test) {
  it_is_tried_again_after_its_delay();
  one_that_is_routed_goes_there_at_once();
  one_that_must_not_be_is_not();
  one_that_is_to_be_suspended_stands_there();
  without_memory_no_attempt_counts();
  without_memory_for_long_it_is_suspended();
  where_and_what_are_told();
  who_is_cancelled_cleans_up_first();
  however_that_ends_it_is_cancelled();
}
