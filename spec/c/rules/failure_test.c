/* Who is told of a failure: effects of the plan that fails, and of no other. */
#include "kit.h"

#define BOTH "'on_failure':{'emit':'t.failed','start':'t.mend'},"

static void open_step(kit *k, const char *more) {
  char text[400];
  snprintf(
      text, sizeof text,
      BOTH
      "'start':'a','nodes':[{'name':'a','kind':'step','run':true,"
      "'retry':{'max':2,'base':1000000,'jitter':0},%s'next':'z'}," KIT_FINISH
      "]",
      more);
  kit_open(k, text);
  kit_says(k, "a", PAWL_HANDLER_RUN, "!card");
  kit_run(k);
}

static int effects_of_failure(const kit *k) {
  int n = 0;
  for (int i = 0; i < k->d.plan.neffects; i++)
    n += k->d.plan.effects[i].is_failure;
  return n;
}

static void attempts_are_used_up_first(void) {
  kit k;
  open_step(&k, "");
  CHECK_BUF(k.history, "failed a, ");
  CHECK_INT(effects_of_failure(&k), 0);
  k.now += PAWL_SECOND;
  kit_step(&k);
  CHECK_BUF(k.history, "failed a, failed a, on_failure a, ");
  CHECK_INT(effects_of_failure(&k), 2);
  CHECK_BUF(kit_effect(&k, PAWL_EFFECT_EMIT)->name, "t.failed");
  CHECK_BUF(kit_effect(&k, PAWL_EFFECT_MESSAGE)->key, "t.mend");
  CHECK_INT(k.d.state.sent, 2);
  CHECK_HAS(k.d.plan.failure, "'attempt':2");
  CHECK_HAS(k.d.plan.failure, "'code':'card'");
  CHECK_HAS(k.d.plan.failure, "'failures':['t.x']");
  kit_close(&k);
}

static void one_that_is_suspended_by_an_error_is_told_once(void) {
  kit k;
  open_step(&k, "'on_exhausted':'suspend',");
  k.now += PAWL_SECOND;
  kit_step(&k);
  CHECK_STATUS(&k, "suspended");
  CHECK_INT(effects_of_failure(&k), 2);
  CHECK_HAS(k.d.plan.failure, "'status':'suspended'");
  kit_letter(&k, "edit", "{'set':{'x':1}}");
  kit_step(&k);
  CHECK_INT(effects_of_failure(&k), 0);
  kit_close(&k);
}

/* A letter that came while the failure was under way: it is cancelled, and
 * whoever was to be told of a failure is not. */
static void what_is_cancelled_after_all_tells_nobody(void) {
  kit k;
  open_step(&k, "");
  k.now += PAWL_SECOND;
  kit_decide(&k);
  CHECK_INT(effects_of_failure(&k), 2);
  CHECK_INT(k.d.plan.state.sent, 2);
  pawl_decide_hear(&k.d); /* nothing has come: as it was */
  CHECK_INT(effects_of_failure(&k), 2);
  CHECK_INT(kit_records(&k, "on_failure"), 1);
  CHECK_INT(k.d.plan.state.sent, 2);
  kit_letter(&k, "cancel", "{}");
  pawl_decide_hear(&k.d);
  kit_store(&k);
  CHECK_STATUS(&k, "cancelled");
  CHECK_INT(effects_of_failure(&k), 0);
  CHECK_INT(kit_records(&k, "on_failure"), 0);
  CHECK_INT(k.d.state.sent, 0);
  kit_close(&k);
}

static void nobody_is_told_of_what_people_do(void) {
  kit k;
  kit_open(&k,
           BOTH "'start':'a','nodes':[" KIT_STEP("a", "z") "," KIT_FINISH "]");
  kit_letter(&k, "suspend", "{}");
  kit_step(&k);
  CHECK_STATUS(&k, "suspended");
  CHECK_INT(effects_of_failure(&k), 0);
  kit_letter(&k, "cancel", "{}");
  kit_step(&k);
  CHECK_STATUS(&k, "cancelled");
  CHECK_INT(effects_of_failure(&k), 0);
  kit_close(&k);
}

static void whose_failure_led_here_is_not_started(void) {
  kit k;
  kit_open(&k,
           BOTH "'start':'a','nodes':[" KIT_STEP("a", "z") "," KIT_FINISH "]");
  pawl_buf_addz(&k.d.input, "{\"failures\":[\"t.one\",7,\"t.mend\"]}");
  kit_says(&k, "a", PAWL_HANDLER_RUN, "!card.");
  kit_run(&k);
  CHECK_STATUS(&k, "failed");
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_EMIT), 1);
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_MESSAGE), 0);
  CHECK_BUF(kit_record(&k, "on_failure")->text,
            "emits \"t.failed\", does not start t.mend, whose own failure led "
            "here");
  CHECK_HAS(k.d.plan.failure, "'failures':['t.one','t.mend','t.x']");
  kit_close(&k);
}

TEST_PART(failure_test) {
  attempts_are_used_up_first();
  one_that_is_suspended_by_an_error_is_told_once();
  what_is_cancelled_after_all_tells_nobody();
  nobody_is_told_of_what_people_do();
  whose_failure_led_here_is_not_started();
}
