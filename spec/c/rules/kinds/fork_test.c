/* Forks: one token for each branch, in the order in which they are written. */
#include "../kit.h"

static void each_branch_gets_a_token(void) {
  kit k;
  kit_open(&k,
           "'start':'f','nodes':[{'name':'f','kind':'fork',"
           "'order':['b','a'],'next':{'a':'a','b':'b'}}," KIT_STEP(
               "a", "j") "," KIT_STEP("b",
                                      "j") ",{'name':'j','kind':'join',"
                                           "'next':'z'}," KIT_FINISH "]");
  kit_step(&k);
  CHECK_INT(k.d.state.tokens.n, 2);
  CHECK_TEXT(k.d.state.tokens.at[0].node, "b");
  CHECK_TEXT(k.d.state.tokens.at[0].branch, "b");
  CHECK_TEXT(k.d.state.tokens.at[1].fork, "f");
  CHECK(kit_at(&k, "a")->no > kit_at(&k, "b")->no);
  CHECK_INT(kit_at(&k, "a")->scope[0], 1); /* the one that forked is gone */
  CHECK_INT(kit_at(&k, "a")->depth, 1);
  CHECK(!kit_find(&k, "f"));
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void a_branch_that_ends_all_leaves_none(void) {
  kit k;
  kit_open(
      &k,
      "'start':'f','nodes':[{'name':'f','kind':'fork','order':['a','b'],"
      "'next':{'a':'y','b':'b'}}," KIT_STEP(
          "b",
          "z") ",{'name':'y','kind':'finish','terminate':true}," KIT_FINISH
               "]");
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  CHECK_BUF(k.asked, ""); /* b was never entered */
  kit_close(&k);
}

TEST_PART(kinds_fork_test) {
  each_branch_gets_a_token();
  a_branch_that_ends_all_leaves_none();
}
