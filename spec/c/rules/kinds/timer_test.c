/* Timers: due when the definition or a handler says, and never before. */
#include "../kit.h"

static void it_fires_when_its_time_has_come(void) {
  kit k;
  kit_open(&k,
           "'start':'t','nodes':[{'name':'t','kind':'timer',"
           "'after':60000000,'next':'z'}," KIT_FINISH "]");
  kit_run(&k);
  CHECK_STATUS(&k, "waiting");
  CHECK_INT(kit_at(&k, "t")->due_us, k.now + 60 * PAWL_SECOND);
  CHECK_INT(k.d.plan.look_us, k.now + 60 * PAWL_SECOND);
  k.now += 59 * PAWL_SECOND;
  kit_decide(&k);
  CHECK_INT(kit_records(&k, "timer"), 0);
  k.now += PAWL_SECOND + 1;
  kit_step(&k);
  CHECK_INT(kit_record(&k, "timer")->due_us, k.now - 1);
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void a_handler_says_when(void) {
  kit k;
  kit_open(&k,
           "'start':'t','nodes':[{'name':'t','kind':'timer','at':true,"
           "'next':'z'}," KIT_FINISH "]");
  kit_says(&k, "t", PAWL_HANDLER_AT, "@-5");
  kit_run(&k);
  kit_run(&k);
  CHECK_BUF(k.asked, "t.at, ");
  CHECK_BUF(k.history, "started t, timer t, "); /* it was over: at once */
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void one_that_fails_to_say_is_asked_again(void) {
  kit k;
  kit_open(&k,
           "'start':'t','nodes':[{'name':'t','kind':'timer','at':true,"
           "'next':'z'}," KIT_FINISH "]");
  kit_says(&k, "t", PAWL_HANDLER_AT, "!later");
  kit_run(&k);
  CHECK_BUF(k.history, "failed t, ");
  CHECK_INT(kit_at(&k, "t")->state, PAWL_TOKEN_ACTIVE);
  CHECK(kit_at(&k, "t")->due_us > k.now);
  kit_close(&k);
}

static void a_handler_says_how_long_once_a_visit(void) {
  kit k;
  kit_open(&k,
           "'start':'t','nodes':[{'name':'t','kind':'timer','after':true,"
           "'next':'u'},{'name':'u','kind':'timer','after':true,"
           "'next':'z'}," KIT_FINISH "]");
  kit_says(&k, "t", PAWL_HANDLER_AFTER, "+60");
  kit_says(&k, "u", PAWL_HANDLER_AFTER, "+5");
  kit_run(&k);
  CHECK_INT(kit_at(&k, "t")->due_us, k.now + 60 * PAWL_SECOND);
  k.now += 60 * PAWL_SECOND;
  kit_run(&k);
  CHECK_INT(kit_at(&k, "u")->due_us, k.now + 5 * PAWL_SECOND);
  CHECK_BUF(k.asked, "t.after, u.after, "); /* each visit its own */
  kit_close(&k);
}

TEST_PART(kinds_timer_test) {
  a_handler_says_how_long_once_a_visit();
  it_fires_when_its_time_has_come();
  a_handler_says_when();
  one_that_fails_to_say_is_asked_again();
}
