/* Tasks: created once a visit, ended by one answer, raised when overdue. */
#include "../kit.h"

static void open_task(kit *k, const char *more) {
  char text[500];
  snprintf(text, sizeof text,
           "'start':'t','nodes':[{'name':'t','kind':'task',"
           "'task':{'title':'Look','priority':'high','due':60000000},"
           "'into':'said',%s}," KIT_STEP("y", "z") "," KIT_FINISH "]",
           more);
  kit_open(k, text);
}

static void an_answer_leads_on(void) {
  kit k;
  pawl_letter *l;
  open_task(&k, "'next':{'yes':'y','no':'z'}");
  kit_run(&k);
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_TASK), 1);
  CHECK_INT(kit_effect(&k, PAWL_EFFECT_TASK)->at_us, k.now + 60 * PAWL_SECOND);
  l = kit_answer_to(&k, "task", kit_at(&k, "t"),
                    "'status':'completed','transition':'yes','output':5");
  pawl_buf_addz(&l->by, "ann");
  k.d.one_by_one = 1; /* not into y yet */
  kit_step(&k);
  CHECK_BUF(kit_record(&k, "task")->transition, "yes");
  CHECK_BUF(kit_record(&k, "task")->by, "ann");
  CHECK_BUF(k.d.vars, "{'said':5}");
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_DELETE), 1); /* of the letter */
  CHECK(kit_find(&k, "y"));
  kit_close(&k);
}

static void an_answer_to_another_visit_is_not_taken(void) {
  kit k;
  pawl_token other;
  open_task(&k, "'next':'y'");
  kit_run(&k);
  other = *kit_at(&k, "t");
  other.visit++;
  kit_answer_to(&k, "task", &other, "'status':'completed'");
  kit_run(&k);
  CHECK_STATUS(&k, "waiting");
  CHECK_HAS(k.history, "untaken ");
  kit_close(&k);
}

static void a_failure_may_be_tried_again_by_people(void) {
  kit k;
  open_task(&k, "'next':'y'");
  kit_run(&k);
  kit_answer_to(&k, "task", kit_at(&k, "t"),
                "'status':'failed','error':{'code':'ill','message':'no'}");
  kit_step(&k);
  CHECK_BUF(kit_record(&k, "failed")->text, "the task may be tried again");
  CHECK_STATUS(&k, "waiting");
  CHECK_INT(kit_at(&k, "t")->state, PAWL_TOKEN_WAITING);
  kit_close(&k);
}

static void one_that_is_overdue_is_raised_once(void) {
  kit k;
  open_task(&k, "'escalate':{'roles':['boss']},'next':'y'");
  kit_run(&k);
  k.now += 61 * PAWL_SECOND;
  kit_step(&k);
  CHECK_BUF(kit_effect(&k, PAWL_EFFECT_TASK_RAISE)->data,
            "{'roles':['boss']}");
  CHECK_INT(k.d.plan.after, PAWL_AFTER_SLEEP); /* nothing more is due */
  k.now += 61 * PAWL_SECOND;
  kit_step(&k);
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_TASK_RAISE), 0);
  kit_close(&k);
}

static void without_a_title_there_is_none(void) {
  kit k;
  kit_open(&k,
           "'start':'t','nodes':[{'name':'t','kind':'task','prepare':true,"
           "'task':{'title':'Look'},'next':'z'}," KIT_FINISH "]");
  kit_says(&k, "t", PAWL_HANDLER_PREPARE, "{\"title\":\"\"}");
  kit_run(&k);
  CHECK_STATUS(&k, "failed");
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_TASK), 0);
  kit_close(&k);
}

TEST_PART(kinds_task_test) {
  an_answer_leads_on();
  an_answer_to_another_visit_is_not_taken();
  a_failure_may_be_tried_again_by_people();
  one_that_is_overdue_is_raised_once();
  without_a_title_there_is_none();
}
