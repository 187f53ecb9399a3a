/* Rows of history, and what a handler did beside its step. */
#include "kit.h"

static void begin(kit *k) {
  kit_open(k,
           "'start':'a','nodes':[{'name':'a','kind':'step','run':true,"
           "'into':'n','next':'z'}," KIT_FINISH "]");
  kit_says(k, "a", PAWL_HANDLER_RUN, "...");
  kit_decide(k);
  pawl_said_clear(&k->result);
}

static void end(kit *k) {
  kit_goes_on(k);
}

static void effects_go_into_the_plan(void) {
  kit k;
  begin(&k);
  k.result.attrs_changed = k.result.data_changed = 1;
  pawl_buf_addz(&k.result.attrs, "{\"city\":null}");
  pawl_buf_addz(&k.result.data, "{\"d\":1}");
  pawl_buf_addz(&k.result.emits,
                "[{\"type\":\"t\",\"payload\":1},{\"type\":\"u\"}]");
  end(&k);
  CHECK_BUF(k.d.plan.attrs, "{'city':null}");
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_EMIT), 2);
  CHECK_BUF(kit_effect(&k, PAWL_EFFECT_EMIT)->name, "u");
  CHECK_BUF(kit_effect(&k, PAWL_EFFECT_EMIT)->data, "");
  CHECK_INT(k.d.plan.state.sent, 2);
  CHECK_BUF(k.d.plan.state.tokens.at[0].data, "{'d':1}");
  kit_close(&k);
}

static void a_record_tells_where_and_when(void) {
  kit k;
  const pawl_record *r;
  begin(&k);
  k.now += 5;
  end(&k);
  r = kit_record(&k, "step");
  CHECK_TEXT(r->node, "a");
  CHECK_INT(r->token, 1);
  CHECK_INT(r->visit, 1);
  CHECK_INT(r->attempt, 1);
  CHECK_INT(r->started_us, k.now - 5);
  CHECK_INT(r->completed_us, k.now);
  CHECK(!r->has_request);
  kit_close(&k);
}

static void each_outcome_is_told_once(void) {
  kit k;
  kit_open(&k, "'start':'a','nodes':[" KIT_STEP("a", "t") ",{'name':'t',"
               "'kind':'timer','after':1,'next':'z'}," KIT_FINISH "]");
  kit_run(&k);
  k.now += 2;
  kit_run(&k);
  CHECK_BUF(k.trace, "a done, t fired, ");
  kit_close(&k);
}

TEST_PART(record_test) {
  effects_go_into_the_plan();
  a_record_tells_where_and_when();
  each_outcome_is_told_once();
}
