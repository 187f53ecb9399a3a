/* What is escalated goes to the nearest boundary that will, and upwards. */
#include "kit.h"

#define INNER \
  "'start':'f','nodes':[{'name':'f','kind':'fork','next':{'a':'a',"  \
  "'b':'b'}}," KIT_STEP("a", "m") ","                                \
  "{'name':'b','kind':'wait','event':'e','next':'m'},"               \
  "{'name':'m','kind':'join','next':'z'},"

static void say(kit *k, const char *list) {
  kit_says(k, "a", PAWL_HANDLER_RUN, "...");
  kit_step(k);
  kit_decide(k);
  pawl_said_clear(&k->result);
  for (; *list; list++)
    pawl_buf_addc(&k->result.escalations, *list == '\'' ? '"' : *list);
  kit_goes_on(k);
}

static const pawl_record *row(kit *k, const char *type) {
  for (int i = 0; i < k->d.plan.nrecords; i++)
    if (!strcmp(k->d.plan.records[i].type, type)) return &k->d.plan.records[i];
  CHECK(!"there is no such row");
  return &k->d.plan.records[0];
}

/* O8: with the step's own decision. */
static void a_scope_is_ended_by_who_is_inside(void) {
  kit k;
  kit_open(&k, INNER
           "{'name':'w','kind':'wait','on':'f','event':'low',"
           "'interrupt':true,'next':'l'}," KIT_STEP("l", "z") "," KIT_FINISH
                                                              "]");
  say(&k, "[{'data':3,'name':'low'}]");
  CHECK_BUF(row(&k, "escalated")->text, "\"low\" to \"w\"");
  CHECK_BUF(row(&k, "received")->text, "low");
  kit_store(&k);
  CHECK_INT(pawl_tokens_live(&k.d.state.tokens), 1);
  kit_run(&k);
  CHECK_BUF(k.history,
            "started f, escalated a, step a, received w, "
            "dropped a, dropped b, step l, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void nobody_is_told_and_it_goes_on(void) {
  kit k;
  kit_open(&k, INNER KIT_FINISH "]");
  say(&k, "[{'data':null,'name':'low'}]");
  CHECK_HAS(row(&k, "untaken")->text, "nobody around it takes it");
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_MESSAGE), 0);
  kit_store(&k);
  CHECK_INT(pawl_tokens_live(&k.d.state.tokens), 2);
  kit_close(&k);
}

static void a_parent_that_waits_is_told(void) {
  kit k;
  kit_open(&k, INNER KIT_FINISH "]");
  k.d.has_parent = 1;
  pawl_buf_addz(&k.d.parent_place, "{\"token\":2,\"visit\":4}");
  say(&k, "[{'data':3,'name':'low'}]");
  CHECK_BUF(kit_effect(&k, PAWL_EFFECT_MESSAGE)->name, "escalation");
  CHECK_HAS(kit_effect(&k, PAWL_EFFECT_MESSAGE)->data,
            "'token':2,'visit':4,'name':'low','source':'");
  CHECK_HAS(row(&k, "escalated")->text, "\"low\" to its parent ");
  kit_store(&k);
  kit_close(&k);
}

#define CALL                                                   \
  "'start':'c','nodes':[{'name':'c','kind':'call','workflow':" \
  "'t.child','next':'z'},"

static void tell(kit *k, int64_t visit) {
  pawl_token t = *kit_at(k, "c");
  t.visit += visit;
  (void)kit_answer_to(k, "child", &t,
                      "'child':'c','name':'low','source':'s','id':'i',"
                      "'data':3");
}

static void what_is_beside_the_call_takes_it(void) {
  kit k;
  kit_open(&k, CALL
           "{'name':'w','kind':'wait','on':'c','event':'low',"
           "'interrupt':true,'into':'v','next':'z'}," KIT_FINISH "]");
  kit_run(&k);
  tell(&k, 0);
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  CHECK_HAS(k.d.vars, "'v':3");
  kit_close(&k);
}

static void what_waits_for_nobody_is_nobodys(void) {
  kit k;
  kit_open(&k, CALL KIT_FINISH "]");
  kit_run(&k);
  tell(&k, 0);
  kit_step(&k);
  CHECK_HAS(row(&k, "untaken")->text, "of s: nobody around it takes it");
  tell(&k, 7);
  kit_step(&k);
  CHECK_HAS(row(&k, "untaken")->text, "had gone on by then");
  kit_close(&k);
}

TEST_PART(escalate_test) {
  a_scope_is_ended_by_who_is_inside();
  nobody_is_told_and_it_goes_on();
  a_parent_that_waits_is_told();
  what_is_beside_the_call_takes_it();
  what_waits_for_nobody_is_nobodys();
}
