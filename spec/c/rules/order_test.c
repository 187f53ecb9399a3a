/* Who came first: O1 to O4. */
#include "rules/order.h"

#include "kit.h"

/* Two branches: a timer of a second and one of two, each before a step. */
#define RACE \
  "'start':'f','nodes':[{'name':'f','kind':'fork',"                     \
  "'next':{'late':'late','soon':'soon'}},{'name':'late',"               \
  "'kind':'timer','after':2000000,'next':'b'},{'name':'soon',"          \
  "'kind':'timer','after':1000000,'next':'a'}," KIT_STEP("a", "a2") "," \
  KIT_STEP("a2", "j") "," KIT_STEP("b", "j") ",{'name':'j',"            \
  "'kind':'join','expect':'any','losers':'cancel','next':'z'},"         \
  KIT_FINISH "]"

static void what_was_due_first_comes_to_its_join_first(void) {
  kit k;
  kit_open(&k, RACE);
  kit_run(&k);
  k.now += 3600 * PAWL_SECOND; /* nobody has looked for an hour */
  kit_run(&k);
  CHECK_BUF(k.asked, "a.run, a2.run, "); /* b, one step away, does not win */
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void times_before_a_letter_come_before_it(void) {
  kit k;
  kit_open(
      &k,
      "'start':'w','nodes':[{'name':'w','kind':'wait','event':'e',"
      "'timeout':1000000,'next':{'received':'a','timeout':'z'}}," KIT_STEP(
          "a", "z") "," KIT_FINISH "]");
  kit_run(&k);
  k.now += 2 * PAWL_SECOND;
  kit_event(&k, "e", NULL);
  k.now += 2 * PAWL_SECOND;
  kit_run(&k);
  CHECK_BUF(k.history, "started w, timeout w, ");
  kit_close(&k);
}

/* Where the first has to wait for a place of its handler, the next is not
 * looked at again and again, though it needs none. */
static void whose_turn_is_not_yet_is_not_looked_at(void) {
  kit k;
  kit_open(&k,
           "'start':'f','nodes':[{'name':'f','kind':'fork','next':{'a':'a',"
           "'b':'b','c':'c'}}," KIT_STEP("a", "j") "," KIT_STEP("s", "j")
           ",{'name':'b','kind':'wait','event':'b','next':'s'},"
           "{'name':'c','kind':'wait','event':'c','next':'t'},"
           "{'name':'t','kind':'step','run':true,'transactional':true,"
           "'next':'j'},{'name':'j','kind':'join','next':'z'}," KIT_FINISH
           "]");
  kit_says(&k, "a", PAWL_HANDLER_RUN, "...");
  kit_step(&k);
  (void)kit_decide(&k);
  CHECK_INT(k.d.naloft, 1);
  k.d.may_wait = 0;
  kit_event(&k, "b", NULL)->received_us = k.now + 1;
  kit_event(&k, "c", NULL)->received_us = k.now + 2;
  k.now += PAWL_SECOND;
  kit_step(&k);
  CHECK_BUF(k.history, "started f, received b, received c, ");
  CHECK(!kit_decide(&k));
  CHECK(k.d.plan.look_us > k.now);
  kit_close(&k);
}

static void those_without_a_time_come_after(void) {
  kit k;
  pawl_token_list all = {0};
  pawl_token *t;
  int64_t first;
  kit_open(&k, RACE);
  for (int i = 0; i < 3; i++) {
    t = pawl_tokens_add(&all, NULL);
    t->no = i + 1;
    t->state = PAWL_TOKEN_ACTIVE;
    t->depth = 1;
    if (i) pawl_detail_set(t, PAWL_DETAIL_at, 70 - i * 10);
  }
  first = pawl_order_first(&k.d, &all);
  CHECK_INT(first, 50);
  CHECK(!pawl_order_may_run(&all.at[0], first));
  CHECK(!pawl_order_may_run(&all.at[1], first));
  CHECK(pawl_order_may_run(&all.at[2], first));
  all.at[2].due_us = k.now + 1; /* it is to be tried again later */
  CHECK_INT(pawl_order_first(&k.d, &all), 60);
  k.d.rounds = 101; /* O4 */
  CHECK_INT(pawl_order_first(&k.d, &all), PAWL_NEVER);
  CHECK(pawl_order_may_run(&all.at[0], PAWL_NEVER));
  pawl_tokens_deinit(&all, NULL);
  kit_close(&k);
}

TEST_PART(order_test) {
  whose_turn_is_not_yet_is_not_looked_at();
  what_was_due_first_comes_to_its_join_first();
  times_before_a_letter_come_before_it();
  those_without_a_time_come_after();
}
