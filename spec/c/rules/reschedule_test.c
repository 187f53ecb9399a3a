/* Events that move the time of what waits. */
#include "kit.h"

static const char TIMER[] =
    "'start':'t','nodes':[{'name':'t','kind':'timer','after':60000000,"
    "'reschedule':{'event':'moved','into':'m'},'next':'z'}," KIT_FINISH "]";

static const char WAIT[] =
    "'start':'w','nodes':[{'name':'w','kind':'wait','event':'go',"
    "'timeout':true,'reschedule':{'event':'more'},"
    "'next':{'received':'z','timeout':'z'}}," KIT_FINISH "]";

static void a_timer_begins_anew(void) {
  kit k;
  kit_open(&k, TIMER);
  kit_step(&k);
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_SUBSCRIBE), 1);
  CHECK(kit_effect(&k, PAWL_EFFECT_SUBSCRIBE)->token > PAWL_EAR_NUMBERS);
  k.now += 50 * PAWL_SECOND;
  kit_event(&k, "moved", NULL);
  kit_step(&k);
  CHECK_INT(kit_at(&k, "t")->due_us, k.now + 60 * PAWL_SECOND);
  CHECK_INT(kit_record(&k, "rescheduled")->due_us, k.now + 60 * PAWL_SECOND);
  CHECK_BUF(kit_record(&k, "rescheduled")->text, "moved");
  CHECK_BUF(k.d.vars, "{'m':{'v':1}}");
  k.now += 60 * PAWL_SECOND + 1;
  kit_decide(&k);
  CHECK_INT(k.d.plan.needs_latch, 1); /* another may have come */
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_UNSUBSCRIBE), 1);
  kit_close(&k);
}

static void a_wait_is_asked_for_its_limit_again(void) {
  kit k;
  kit_open(&k, WAIT);
  kit_says(&k, "w", PAWL_HANDLER_TIMEOUT, "+60");
  kit_step(&k);
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_SUBSCRIBE), 2);
  kit_says(&k, "w", PAWL_HANDLER_TIMEOUT, "+300");
  kit_event(&k, "more", NULL);
  kit_step(&k);
  CHECK_INT(kit_at(&k, "w")->due_us, k.now + 300 * PAWL_SECOND);
  CHECK_BUF(k.asked, "w.timeout, w.timeout, ");
  kit_event(&k, "go", NULL);
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void one_that_fails_to_say_when_refuses_the_event(void) {
  kit k;
  int64_t due_us;
  kit_open(&k, WAIT);
  kit_says(&k, "w", PAWL_HANDLER_TIMEOUT, "+60");
  kit_run(&k);
  due_us = kit_at(&k, "w")->due_us;
  kit_says(&k, "w", PAWL_HANDLER_TIMEOUT, "!odd");
  kit_event(&k, "more", NULL);
  kit_step(&k);
  CHECK_INT(kit_at(&k, "w")->due_us, due_us);
  CHECK_BUF(kit_record(&k, "refused")->text, "`timeout` refused event 'more'");
  kit_close(&k);
}

TEST_PART(reschedule_test) {
  a_timer_begins_anew();
  a_wait_is_asked_for_its_limit_again();
  one_that_fails_to_say_when_refuses_the_event();
}
