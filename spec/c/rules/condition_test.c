/* Waits for a condition: when they are asked, and when not. */
#include "kit.h"

static const char ALONE[] =
    "'start':'w','nodes':[{'name':'w','kind':'wait','condition':true,"
    "'timeout':60000000,'next':{'met':'y','timeout':'z'}}," KIT_STEP(
        "y", "z") "," KIT_FINISH "]";

static const char FORK[] =
    "'start':'f','nodes':[{'name':'f','kind':'fork','next':{'a':'w','b':'e'}},"
    "{'name':'w','kind':'wait','condition':true,'next':'j'},"
    "{'name':'e','kind':'wait','event':'go','into':'n','next':'j'},"
    "{'name':'j','kind':'join','next':'z'}," KIT_FINISH "]";

static void edit(kit *k) {
  (void)kit_letter(k, "edit", "{'set':{'q':1}}");
}

static void it_is_asked_as_it_is_come_to(void) {
  kit k;
  kit_open(&k, ALONE);
  kit_says(&k, "w", PAWL_HANDLER_CONDITION, "?");
  kit_run(&k);
  CHECK_BUF(k.asked, "w.condition, y.run, ");
  CHECK_BUF(k.history, "started y, step y, ");
  kit_close(&k);
}

static void it_is_asked_once_for_each_change(void) {
  kit k;
  kit_open(&k, FORK);
  kit_run(&k);
  CHECK_BUF(k.asked, "w.condition, ");
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_SUBSCRIBE), 0); /* the last plan's */
  kit_run(&k);
  CHECK_BUF(k.asked, "w.condition, ");
  kit_says(&k, "w", PAWL_HANDLER_CONDITION, "?");
  kit_event(&k, "go", NULL);
  kit_run(&k);
  CHECK_BUF(k.asked, "w.condition, w.condition, ");
  CHECK_BUF(k.history, "started f, received e, condition w, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void who_has_no_handlers_leaves_it_due(void) {
  kit k;
  kit_open(&k, ALONE);
  kit_run(&k);
  edit(&k);
  k.d.turn = PAWL_TURN_LETTERS;
  kit_step(&k);
  CHECK_BUF(k.asked, "w.condition, ");
  CHECK_INT(pawl_token_asks(kit_at(&k, "w")), PAWL_ASKS_STORED);
  CHECK_INT(k.d.plan.look_us, k.now);
  k.now += 61 * PAWL_SECOND; /* it came before its time was over */
  k.d.turn = PAWL_TURN_WHOLE;
  kit_says(&k, "w", PAWL_HANDLER_CONDITION, "?");
  kit_run(&k);
  CHECK_BUF(k.asked, "w.condition, w.condition, y.run, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void what_comes_too_late_is_not_asked_about(void) {
  kit k;
  kit_open(&k, ALONE);
  kit_run(&k);
  k.now += 61 * PAWL_SECOND;
  edit(&k);
  kit_run(&k);
  kit_run(&k);
  CHECK_BUF(k.asked, "w.condition, ");
  CHECK_BUF(k.history, "started w, changed w, timeout w, ");
  kit_close(&k);
}

static void one_that_is_suspended_is_asked_later(void) {
  kit k;
  kit_open(&k, ALONE);
  kit_run(&k);
  (void)kit_letter(&k, "suspend", "{}");
  kit_run(&k);
  edit(&k);
  kit_run(&k);
  CHECK_BUF(k.asked, "w.condition, ");
  (void)kit_letter(&k, "resume", "{}");
  kit_run(&k);
  CHECK_BUF(k.asked, "w.condition, w.condition, ");
  CHECK_INT(pawl_token_asks(kit_at(&k, "w")), PAWL_ASKS_WAITS);
  CHECK_STATUS(&k, "waiting");
  kit_close(&k);
}

static void a_change_while_it_is_suspended_is_no_later_for_that(void) {
  kit k;
  kit_open(&k, ALONE);
  kit_run(&k);
  (void)kit_letter(&k, "suspend", "{}");
  kit_run(&k);
  edit(&k);
  k.now += 61 * PAWL_SECOND;
  (void)kit_letter(&k, "resume", "{}");
  kit_says(&k, "w", PAWL_HANDLER_CONDITION, "?");
  kit_run(&k);
  CHECK_BUF(k.asked, "w.condition, w.condition, y.run, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void an_error_of_it_is_the_nodes(void) {
  kit k;
  kit_open(&k, ALONE);
  kit_run(&k);
  kit_says(&k, "w", PAWL_HANDLER_CONDITION, "!odd");
  edit(&k);
  kit_run(&k);
  CHECK_BUF(k.history, "started w, changed w, failed w, ");
  CHECK_STATUS(&k, "failed");
  kit_close(&k);
}

TEST_PART(condition_test) {
  it_is_asked_as_it_is_come_to();
  it_is_asked_once_for_each_change();
  who_has_no_handlers_leaves_it_due();
  what_comes_too_late_is_not_asked_about();
  one_that_is_suspended_is_asked_later();
  a_change_while_it_is_suspended_is_no_later_for_that();
  an_error_of_it_is_the_nodes();
}
