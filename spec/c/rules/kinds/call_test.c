/* Calls: one child is started, and how it ended is the way on. */
#include "../kit.h"

static void open_call(kit *k, const char *next) {
  char text[400];
  snprintf(text, sizeof text,
           "'start':'c','nodes':[{'name':'c','kind':'call',"
           "'workflow':'t.child','version':3,'input':true,"
           "'into':'said','retry':{'max':1},%s}," KIT_STEP(
               "y", "z") "," KIT_FINISH "]",
           next);
  kit_open(k, text);
  kit_says(k, "c", PAWL_HANDLER_INPUT, "{\"n\":1}");
  kit_run(k);
}

static const char *child_of(kit *k) {
  return pawl_detail_of(kit_at(k, "c"))->child.at;
}

static void answer(kit *k, const char *child, const char *more) {
  char text[300];
  snprintf(text, sizeof text, "'child':'%s',%s", child, more);
  kit_answer_to(k, "child", kit_at(k, "c"), text);
  k->d.one_by_one = 1; /* not into what follows yet */
  kit_step(k);
}

static void it_starts_a_child_and_takes_its_output(void) {
  kit k;
  const pawl_effect *f;
  open_call(&k, "'next':'y'");
  f = kit_effect(&k, PAWL_EFFECT_MESSAGE);
  CHECK_BUF(f->name, "start");
  CHECK_HAS(f->data,
            "'workflow':'t.child','version':3,"
            "'input':{'n':1}");
  CHECK_INT(k.d.state.children, 1);
  answer(&k, child_of(&k), "'status':'completed','output':8");
  CHECK_BUF(k.d.vars, "{'said':8}");
  CHECK(kit_find(&k, "y"));
  kit_close(&k);
}

static void another_childs_answer_is_not_its_own(void) {
  kit k;
  open_call(&k, "'next':'y'");
  answer(&k, "00000000-0000-0000-0000-000000000001",
         "'status':'completed','output':8");
  CHECK_STATUS(&k, "waiting");
  CHECK_BUF(k.d.vars, "");
  kit_close(&k);
}

static void a_child_that_failed_is_its_failure(const char *next,
                                               const char *status) {
  kit k;
  open_call(&k, next);
  answer(&k, child_of(&k),
         "'status':'failed','error':{'code':'card','message':'no'}");
  kit_run(&k);
  CHECK_STATUS(&k, status);
  kit_close(&k);
}

TEST_PART(kinds_call_test) {
  it_starts_a_child_and_takes_its_output();
  another_childs_answer_is_not_its_own();
  a_child_that_failed_is_its_failure("'next':'y'", "failed");
  a_child_that_failed_is_its_failure(
      "'next':{'completed':'y','failed':'z','cancelled':'z'}", "completed");
  a_child_that_failed_is_its_failure("'next':'y','on_error':{'card':'z'}",
                                     "completed");
}
