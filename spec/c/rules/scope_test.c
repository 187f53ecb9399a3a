/* Tokens: how they come into being, inside which fork, and how they end. */
#include "kit.h"

static void begin(kit *k) {
  kit_open(k,
           "'start':'w','nodes':[{'name':'w','kind':'wait','event':'e',"
           "'next':'z'}," KIT_FINISH "]");
  kit_run(k);
  kit_decide(k); /* one token, which waits */
  CHECK_INT(k->d.plan.state.tokens.n, 1);
}

static void a_branch_is_inside_and_climbs_out(void) {
  kit k;
  int a, b;
  begin(&k);
  pawl_buf_addz(&pawl_tok(&k.d, 0)->data, "1");
  a = pawl_token_branch(&k.d, 0, "f", "left");
  b = pawl_token_branch(&k.d, a, "g", "right");
  CHECK_INT(pawl_tok(&k.d, a)->no, 2);
  CHECK_INT(pawl_tok(&k.d, b)->depth, 2);
  CHECK(pawl_token_is_in(pawl_tok(&k.d, b), 1));
  CHECK(pawl_token_is_in(pawl_tok(&k.d, b), 2));
  CHECK(!pawl_token_is_in(pawl_tok(&k.d, a), 2));
  CHECK_BUF(pawl_tok(&k.d, b)->data, "1");
  pawl_buf_set(&pawl_tok(&k.d, b)->data, pawl_strz("2"));
  pawl_token_climb(&k.d, b, 1);
  CHECK_TEXT(pawl_tok(&k.d, b)->fork, "f");
  CHECK_TEXT(pawl_tok(&k.d, b)->branch, "left");
  CHECK_BUF(pawl_tok(&k.d, b)->data, "1");
  CHECK_INT(pawl_detail_of(pawl_tok(&k.d, b))->up.n, 1);
  pawl_token_climb(&k.d, b, 0);
  CHECK(!pawl_tok(&k.d, b)->fork);
  CHECK(!pawl_detail_has(pawl_tok(&k.d, b), PAWL_DETAIL_up));
  kit_close(&k);
}

static void too_deep_fails_the_plan(void) {
  kit k;
  int at = 0;
  begin(&k);
  for (int i = 0; i < PAWL_MAX_DEPTH; i++)
    at = pawl_token_branch(&k.d, at, "f", "b");
  CHECK(at > 0 && !k.d.plan.failed);
  CHECK_INT(pawl_token_branch(&k.d, at, "f", "b"), -1);
  CHECK(k.d.plan.failed);
  kit_close(&k);
}

static void an_end_takes_back_what_was_waited_for(void) {
  kit k;
  int in;
  begin(&k);
  in = pawl_token_branch(&k.d, 0, "f", "b");
  pawl_drop_scope(&k.d, 1, "not wanted");
  CHECK_INT(pawl_tok(&k.d, in)->state, PAWL_TOKEN_DROPPED);
  CHECK_BUF(kit_record(&k, "dropped")->text, "not wanted");
  CHECK(pawl_tok_live(&k.d, 0)); /* it is around it, not inside */
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_UNSUBSCRIBE), 0);
  pawl_token_end(&k.d, 0, NULL);
  CHECK_INT(pawl_tok(&k.d, 0)->state, PAWL_TOKEN_CONSUMED);
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_UNSUBSCRIBE), 1);
  CHECK_INT(kit_records(&k, "dropped"), 1);
  kit_close(&k);
}

TEST_PART(scope_test) {
  a_branch_is_inside_and_climbs_out();
  too_deep_fails_the_plan();
  an_end_takes_back_what_was_waited_for();
}
