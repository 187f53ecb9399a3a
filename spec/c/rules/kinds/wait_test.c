/* Waits: who takes an event, and who does not. */
#include "../kit.h"

static void open_wait(kit *k, const char *more) {
  char text[400];
  snprintf(text, sizeof text,
           "'start':'w','nodes':[{'name':'w','kind':'wait',"
           "'event':'paid.*','into':'got',%s}," KIT_STEP(
               "y", "z") "," KIT_FINISH "]",
           more);
  kit_open(k, text);
}

static void an_event_of_its_name_is_taken_once(void) {
  kit k;
  open_wait(&k, "'next':'y'");
  kit_step(&k);
  CHECK_BUF(kit_effect(&k, PAWL_EFFECT_SUBSCRIBE)->name, "paid.*");
  CHECK(!kit_effect(&k, PAWL_EFFECT_SUBSCRIBE)->has_key);
  CHECK_INT(k.d.plan.look, PAWL_LOOK_AGAIN); /* write, commit, then look */
  kit_event(&k, "lost.card", NULL);
  kit_run(&k);
  CHECK_STATUS(&k, "waiting");
  kit_event(&k, "paid.card", NULL);
  kit_step(&k);
  CHECK_BUF(kit_record(&k, "received")->text, "paid.card");
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_TAKE), 1);
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_UNSUBSCRIBE), 1);
  CHECK_BUF(k.d.vars, "{'got':{'v':1}}");
  kit_close(&k);
}

static void keys_are_equal_or_it_is_not_its_own(void) {
  kit k;
  open_wait(&k, "'key':'id','next':'y'");
  pawl_buf_addz(&k.d.input, "{\"id\":17}");
  kit_step(&k);
  CHECK_BUF(kit_effect(&k, PAWL_EFFECT_SUBSCRIBE)->key, "17");
  kit_event(&k, "paid.card", "18");
  kit_event(&k, "paid.card", NULL);
  kit_run(&k);
  CHECK_STATUS(&k, "waiting");
  kit_event(&k, "paid.card", "17");
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void a_key_that_no_event_could_have_fails(const char *input) {
  kit k;
  open_wait(&k, "'key':'id','next':'y'");
  pawl_buf_addz(&k.d.input, input);
  kit_run(&k);
  CHECK_STATUS(&k, "failed");
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_SUBSCRIBE), 0);
  kit_close(&k);
}

static void what_match_turns_down_is_not_asked_about_again(void) {
  kit k;
  open_wait(&k, "'match':true,'next':'y'");
  kit_run(&k);
  kit_event(&k, "paid.card", NULL);
  kit_run(&k);
  CHECK_BUF(k.asked, "w.match, ");
  kit_run(&k);
  CHECK_BUF(k.asked, "w.match, ");
  kit_event(&k, "paid.cash", NULL);
  kit_says(&k, "w", PAWL_HANDLER_MATCH, "?");
  kit_run(&k);
  CHECK_BUF(k.asked, "w.match, w.match, y.run, ");
  CHECK_INT(k.d.nletters, 1); /* the first is left for others */
  kit_close(&k);
}

static void its_time_ends_it(void) {
  kit k;
  open_wait(&k, "'timeout':60000000,'next':{'received':'y','timeout':'z'}");
  kit_run(&k);
  k.now += 61 * PAWL_SECOND;
  kit_event(&k, "paid.card", NULL); /* it came too late */
  kit_run(&k);
  CHECK_BUF(k.history, "started w, timeout w, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void one_lane_takes_it_for_all(void) {
  kit k;
  kit_open(&k,
           "'start':'f','nodes':[{'name':'f','kind':'fork','next':{'a':'a',"
           "'b':'b'}},{'name':'a','kind':'wait','event':'job','key':'id',"
           "'take':'one','next':'j'},{'name':'b','kind':'wait','event':'job',"
           "'key':'id','take':'one','next':'j'},{'name':'j','kind':'join',"
           "'next':'z'}," KIT_FINISH "]");
  pawl_buf_addz(&k.d.input, "{\"id\":17}");
  kit_run(&k);
  kit_event(&k, "job", "17");
  kit_step(&k);
  CHECK_INT(kit_records(&k, "received"), 1);
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_TAKE), 1);
  k.elsewhere =
      1; /* another instance has it: it is done with, and waited on */
  kit_event(&k, "job", "17");
  kit_step(&k);
  CHECK_INT(kit_records(&k, "received"), 0);
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_TAKE), 1);
  CHECK_STATUS(&k, "waiting");
  k.elsewhere = -1; /* nobody can tell: it is looked at again */
  kit_event(&k, "job", "17");
  kit_decide(&k);
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_TAKE), 0);
  CHECK_INT(k.d.plan.look, PAWL_LOOK_AGAIN);
  k.elsewhere = 0;
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

TEST_PART(kinds_wait_test) {
  one_lane_takes_it_for_all();
  an_event_of_its_name_is_taken_once();
  keys_are_equal_or_it_is_not_its_own();
  a_key_that_no_event_could_have_fails("{}");
  a_key_that_no_event_could_have_fails("{\"id\":[]}");
  a_key_that_no_event_could_have_fails("{\"id\":\"\"}");
  what_match_turns_down_is_not_asked_about_again();
  its_time_ends_it();
}
