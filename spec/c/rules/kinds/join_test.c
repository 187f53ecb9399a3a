/* Joins: which fire, and what comes too late. */
#include "../kit.h"

/* A fork of a and b; b takes a minute before it is run. */
static void open_join(kit *k, const char *join) {
  char text[600];
  snprintf(text, sizeof text,
           "'start':'f','nodes':[{'name':'f','kind':'fork',"
           "'next':{'a':'a','b':'t'}}," KIT_STEP(
               "a", "j") ",{'name':'t','kind':'timer','after':60000000,"
                         "'next':'b'}," KIT_STEP(
                             "b", "j") ",{'name':'j','kind':'join'%s,"
                                       "'next':'c'}," KIT_STEP(
                                           "c", "z") "," KIT_FINISH "]",
           join);
  kit_open(k, text);
  kit_run(k);
}

static void all_of_them_are_waited_for(void) {
  kit k;
  open_join(&k, "");
  CHECK_STATUS(&k, "waiting");
  CHECK_INT(kit_at(&k, "j")->state, PAWL_TOKEN_WAITING);
  CHECK_BUF(k.asked, "a.run, ");
  k.now += 60 * PAWL_SECOND + 1;
  kit_run(&k);
  CHECK_BUF(k.asked, "a.run, b.run, c.run, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void the_first_of_any_goes_on_and_the_other_is_dropped(void) {
  kit k;
  open_join(&k, ",'expect':'any','losers':'run'");
  CHECK_BUF(k.asked, "a.run, c.run, ");
  CHECK(kit_find(&k, "t")); /* it runs on */
  k.now += 60 * PAWL_SECOND + 1;
  kit_run(&k);
  CHECK_BUF(k.asked, "a.run, c.run, b.run, ");
  CHECK_HAS(k.history, "dropped j, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void losers_are_cancelled_where_that_is_asked(void) {
  kit k;
  open_join(&k, ",'expect':'any','losers':'cancel'");
  CHECK_BUF(k.asked, "a.run, c.run, ");
  CHECK_HAS(k.history, "dropped t, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void a_number_that_cannot_be_reached_fails_it(void) {
  kit k;
  kit_open(&k,
           "'start':'f','nodes':[{'name':'f','kind':'fork',"
           "'next':{'a':'a','b':'b'}},{'name':'a','kind':'step','run':true,"
           "'next':{'on':'j','off':'y'}}," KIT_STEP(
               "b", "j") ",{'name':'j','kind':'join','expect':2,"
                         "'next':'z'},{'name':'y','kind':'finish'},"
                         KIT_FINISH "]");
  kit_says(&k, "a", PAWL_HANDLER_RUN, ">off");
  kit_run(&k);
  CHECK_STATUS(&k, "failed");
  CHECK_HAS(k.history, "failed j, ");
  kit_close(&k);
}

static void one_that_is_put_there_has_yet_to_come(void) {
  kit k;
  char move[60];
  open_join(&k, "");
  snprintf(move, sizeof move, "{'to':'j','token':%d}",
           (int)kit_at(&k, "t")->no);
  kit_letter(&k, "move", move);
  kit_run(&k);
  CHECK_BUF(k.asked, "a.run, c.run, ");
  CHECK(!strstr(k.history.at, "dropped"));
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

TEST_PART(kinds_join_test) {
  all_of_them_are_waited_for();
  the_first_of_any_goes_on_and_the_other_is_dropped();
  losers_are_cancelled_where_that_is_asked();
  a_number_that_cannot_be_reached_fails_it();
  one_that_is_put_there_has_yet_to_come();
}
