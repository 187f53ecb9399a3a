/* Moving on: through what takes no time, to where it stands next. */
#include "kit.h"

static void the_way_is_in_the_record(void) {
  kit k;
  kit_open(&k,
           "'start':'a','nodes':[" KIT_STEP(
               "a", "c") ",{'name':'c','kind':'choice','choose':true,"
                         "'next':{'x':'d','y':'z'}},{'name':'d',"
                         "'kind':'choice','choose':true,"
                         "'next':{'x':'t','y':'z'}},{'name':'t',"
                         "'kind':'timer','after':60000000,'next':'z'},"
                         KIT_FINISH "]");
  kit_says(&k, "c", PAWL_HANDLER_CHOOSE, ">x");
  kit_says(&k, "d", PAWL_HANDLER_CHOOSE, ">x");
  kit_step(&k);
  CHECK_BUF(kit_record(&k, "step")->path, "c=x > d=x > t");
  CHECK_INT(kit_record(&k, "step")->due_us, k.now + 60 * PAWL_SECOND);
  CHECK_INT(kit_at(&k, "t")->visit, 4); /* each node that was passed has one */
  CHECK_TEXT(kit_at(&k, "t")->previous, "d");
  CHECK_TEXT(k.d.state.node, "t");
  kit_close(&k);
}

static void what_fails_on_the_way_is_tried_where_it_is(void) {
  kit k;
  kit_open(&k,
           "'start':'a','nodes':[" KIT_STEP(
               "a", "t") ",{'name':'t','kind':'timer','at':true,"
                         "'next':'z'}," KIT_FINISH "]");
  kit_says(&k, "t", PAWL_HANDLER_AT, "!busy");
  kit_step(&k);
  CHECK_BUF(k.history, "step a, "); /* the step is kept */
  CHECK_INT(kit_at(&k, "t")->state, PAWL_TOKEN_ACTIVE);
  CHECK_INT(kit_at(&k, "t")->attempt, 0);
  kit_step(&k);
  CHECK_BUF(k.history, "step a, failed t, ");
  CHECK_INT(kit_at(&k, "t")->attempt, 1);
  kit_close(&k);
}

static void what_stands_is_looked_at_when_it_is_due(void) {
  kit k;
  kit_open(&k, "'start':'a','nodes':[" KIT_STEP("a", "z") "," KIT_FINISH "]");
  kit_decide(&k);
  pawl_plan_reset(&k.d.plan);
  CHECK_INT(pawl_token_new(&k.d, -1), 0);
  pawl_tok(&k.d, 0)->node = "a";
  pawl_stand(&k.d, 0, 77);
  CHECK_INT(pawl_tok(&k.d, 0)->state, PAWL_TOKEN_WAITING);
  CHECK_INT(pawl_tok(&k.d, 0)->due_us, 77);
  pawl_go_to(&k.d, 0, 1, NULL);
  CHECK_INT(k.d.plan.after, PAWL_AFTER_END);
  CHECK(!pawl_tok_live(&k.d, 0));
  kit_close(&k);
}

TEST_PART(route_test) {
  the_way_is_in_the_record();
  what_fails_on_the_way_is_tried_where_it_is();
  what_stands_is_looked_at_when_it_is_due();
}
