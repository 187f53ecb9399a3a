/* What stands beside a node, and interrupts it or begins a lane. */
#include "kit.h"

#define TASK                                                       \
  "'start':'a','nodes':[{'name':'a','kind':'task','task':{'title'" \
  ":'A'},'next':{'yes':'z'}},"
#define LATE                                          \
  "{'name':'l','kind':'step','run':true,'next':'y'}," \
  "{'name':'y','kind':'finish'},"

static int tokens(kit *k) {
  return pawl_tokens_live(&k->d.state.tokens);
}

/* O5, O6 */
static void one_that_interrupts_takes_the_place(void) {
  kit k;
  kit_open(&k, TASK
           "{'name':'t','kind':'timer','on':'a','interrupt':true,"
           "'after':1000000,'next':'l'},"
           "{'name':'w','kind':'wait','on':'a','interrupt':true,"
           "'event':'e','next':'l'}," LATE KIT_FINISH "]");
  kit_run(&k);
  CHECK_INT(tokens(&k), 3);
  CHECK_INT(k.d.plan.look_us, k.now + PAWL_SECOND);
  k.now += PAWL_SECOND;
  kit_decide(&k);
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_TASK_END), 1);
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_UNSUBSCRIBE), 1);
  CHECK(k.d.plan.needs_latch); /* an answer may have come */
  kit_store(&k);
  kit_run(&k);
  CHECK_BUF(k.history, "started a, timer t, dropped a, step l, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void what_was_accepted_counts_before_it(void) {
  kit k;
  kit_open(&k, TASK
           "{'name':'t','kind':'timer','on':'a','interrupt':true,"
           "'after':1000000,'next':'l'}," LATE KIT_FINISH "]");
  kit_run(&k);
  k.now += 2 * PAWL_SECOND;
  (void)kit_answer_to(&k, "task", &k.d.state.tokens.at[0],
                      "'status':'completed','outcome':'yes'");
  kit_run(&k);
  CHECK_BUF(k.history, "started a, task a, ");
  CHECK_STATUS(&k, "completed");
  CHECK_INT(tokens(&k), 0);
  kit_close(&k);
}

static void lanes_begin_again_and_again(void) {
  kit k;
  kit_open(&k, TASK
           "{'name':'t','kind':'timer','on':'a','after':1000000,"
           "'every':2000000,'next':'l'}," LATE KIT_FINISH "]");
  kit_run(&k);
  k.now += PAWL_SECOND;
  kit_run(&k);
  CHECK_INT(tokens(&k), 2);
  CHECK_INT(k.d.plan.look_us, k.now + 2 * PAWL_SECOND);
  k.now += 9 * PAWL_SECOND; /* due at 3, 5, 7 and 9: once */
  kit_run(&k);
  CHECK_INT(k.d.plan.look_us, k.now + PAWL_SECOND);
  CHECK_BUF(k.history, "started a, timer t, step l, timer t, step l, ");
  CHECK_STATUS(&k, "waiting");
  kit_close(&k);
}

/* O5: of a fork; it is in the forks around that, not inside. */
static void a_fork_has_them_while_somebody_is_inside(void) {
  kit k;
  kit_open(&k, "'start':'f','nodes':[{'name':'f','kind':'fork','next':{"
               "'a':'a','b':'b'}},{'name':'a','kind':'wait','event':'e',"
               "'next':'j'}," KIT_STEP("b", "j") ","
               "{'name':'j','kind':'join','next':'s'},"
               "{'name':'s','kind':'wait','event':'s','next':'z'},"
               "{'name':'t','kind':'timer','on':'f','interrupt':true,"
               "'after':9000000,'next':'l'}," LATE KIT_FINISH "]");
  kit_run(&k);
  CHECK_INT(tokens(&k), 3);
  CHECK_INT(k.d.state.tokens.at[0].depth, 0);
  (void)kit_event(&k, "e", NULL);
  kit_run(&k);
  CHECK_INT(tokens(&k), 1);
  CHECK_INT(k.d.state.tokens.at[0].due_us, 0);
  kit_close(&k);
}

/* O7 */
static void a_step_has_them_once_a_visit(void) {
  kit k;
  kit_open(&k,
           "'start':'a','nodes':[{'name':'a','kind':'step','run':true,"
           "'retry':{'max':3,'base':4000000,'factor':1,'jitter':0},"
           "'next':'z'},{'name':'t','kind':'timer','on':'a',"
           "'interrupt':true,'after':5000000,'next':'l'}," LATE KIT_FINISH
           "]");
  kit_says(&k, "a", PAWL_HANDLER_RUN, "!no");
  kit_run(&k);
  CHECK_INT(tokens(&k), 2);
  k.now += 4 * PAWL_SECOND;
  kit_run(&k);
  CHECK_INT(tokens(&k), 2);
  k.now += PAWL_SECOND;
  kit_run(&k);
  CHECK_BUF(k.history, "failed a, failed a, timer t, dropped a, step l, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

TEST_PART(boundary_test) {
  one_that_interrupts_takes_the_place();
  what_was_accepted_counts_before_it();
  lanes_begin_again_and_again();
  a_fork_has_them_while_somebody_is_inside();
  a_step_has_them_once_a_visit();
}
