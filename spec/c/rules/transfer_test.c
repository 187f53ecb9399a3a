/* Going on in another version: what waits is put right where it is. */
#include "kit.h"

#define TIMER(node, after)                     \
  "'start':'" node "','nodes':[{'name':'" node \
  "','kind':'timer',"                          \
  "'after':" after ",'next':'z'}," KIT_FINISH "]"

/* Asks for version 2, `other`; the plan is stored. */
static pawl_def *transfer(kit *k, const char *other, const char *data) {
  pawl_error err;
  pawl_def *to = kit_def(other, 2);
  pawl_crossing c = {.from = k->def, .to = to};
  CHECK_INT(pawl_spots_new(c.from, &c.left, &err), PAWL_OK);
  CHECK_INT(pawl_spots_new(c.to, &c.right, &err), PAWL_OK);
  c.letter = kit_letter(k, "transfer", data)->no;
  k->d.crossing = &c;
  kit_step(k);
  k->d.crossing = NULL;
  pawl_spots_free(c.left);
  pawl_spots_free(c.right);
  return to;
}

static void a_timer_counts_from_when_it_began(void) {
  kit k;
  pawl_def *to;
  int64_t began;
  kit_open(&k, TIMER("t", "60000000"));
  kit_run(&k);
  began = k.now;
  k.now += 10 * PAWL_SECOND;
  to = transfer(&k, TIMER("u", "90000000"),
                "{'version':2,'map':{'t':'u'},'variables':{'a':1}}");
  CHECK_INT(k.d.version, 2);
  CHECK_INT(kit_at(&k, "u")->due_us, began + 90 * PAWL_SECOND);
  CHECK_BUF(kit_record(&k, "transferred")->text, "version 1 to 2");
  CHECK_BUF(kit_record(&k, "transferred")->output,
            "{'from':1,'to':2,'map':{'t':'u'}}");
  CHECK_BUF(k.d.vars, "{'a':1}");
  k.d.def = to; /* as it is loaded then */
  k.now = began + 91 * PAWL_SECOND;
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
  pawl_def_free(to);
}

static void where_there_is_no_such_node_it_stays(void) {
  kit k;
  kit_open(&k, TIMER("t", "60000000"));
  kit_run(&k);
  pawl_def_free(transfer(&k, TIMER("u", "60000000"), "{'version':2}"));
  CHECK_INT(k.d.version, 1);
  CHECK_BUF(kit_record(&k, "refused")->text,
            "transfer: version 2 has no node 't'");
  CHECK(kit_find(&k, "t"));
  kit_close(&k);
}

static void one_that_is_there_already_is_told_so(void) {
  kit k;
  kit_open(&k, TIMER("t", "60000000"));
  kit_run(&k);
  kit_letter(&k, "transfer", "{'to_version':1}");
  kit_step(&k);
  CHECK_BUF(kit_record(&k, "refused")->text,
            "transfer: it runs version 1 already");
  kit_close(&k);
}

static void a_wait_listens_for_the_new_event(void) {
  kit k;
  pawl_def *to;
  kit_open(&k,
           "'start':'w','nodes':[{'name':'w','kind':'wait','event':'e',"
           "'next':'z'}," KIT_FINISH "]");
  kit_run(&k);
  to = transfer(&k,
                "'start':'w','nodes':[{'name':'w','kind':'wait','event':'f',"
                "'next':'z'}," KIT_FINISH "]",
                "{'version':2}");
  CHECK_BUF(kit_effect(&k, PAWL_EFFECT_SUBSCRIBE)->name, "f");
  CHECK_INT(kit_at(&k, "w")->visit, 1); /* it is not entered again */
  kit_close(&k);
  pawl_def_free(to);
}

#define ASK(beside)                                                      \
  "'start':'a','nodes':[{'name':'a','kind':'task','task':{'title':'A'}," \
  "'next':{'yes':'z'}}," beside KIT_FINISH "]"
#define EACH_HOUR                                                        \
  "{'name':'t','kind':'timer','on':'a','after':3600000000,"              \
  "'every':3600000000,'next':'l'},{'name':'l','kind':'step','run':true," \
  "'next':'y'},{'name':'y','kind':'finish'},"
#define HEARD                                                                \
  "{'name':'e','kind':'wait','on':'a','interrupt':true,'event':'e','next':'" \
  "z'},"

static void who_stands_there_gets_what_is_beside(void) {
  kit k;
  pawl_def *to;
  int64_t began;
  kit_open(&k, ASK(""));
  kit_run(&k);
  began = k.now;
  k.now += 90 * 60 * PAWL_SECOND;
  to = transfer(&k, ASK(EACH_HOUR HEARD), "{'to_version':2}");
  CHECK_INT(k.d.version, 2);
  CHECK_INT(pawl_tokens_live(&k.d.state.tokens), 3);
  CHECK_INT(kit_at(&k, "t")->due_us, began + 2 * 3600 * PAWL_SECOND);
  CHECK_INT(kit_at(&k, "t")->entered_us, began);
  CHECK_BUF(kit_effect(&k, PAWL_EFFECT_SUBSCRIBE)->name, "e");
  CHECK_INT(kit_at(&k, "a")->visit, 1);
  k.d.def = to;
  k.now = began + 2 * 3600 * PAWL_SECOND;
  kit_run(&k);
  CHECK_INT(kit_at(&k, "t")->due_us, began + 3 * 3600 * PAWL_SECOND);
  (void)kit_event(&k, "e", NULL);
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
  pawl_def_free(to);
}

static void what_the_other_has_not_ends(void) {
  kit k;
  pawl_def *to;
  kit_open(&k, ASK(EACH_HOUR HEARD));
  kit_run(&k);
  CHECK_INT(pawl_tokens_live(&k.d.state.tokens), 3);
  to = transfer(&k, ASK(""), "{'to_version':2}");
  CHECK_INT(pawl_tokens_live(&k.d.state.tokens), 1);
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_UNSUBSCRIBE), 1);
  kit_close(&k);
  pawl_def_free(to);
}

TEST_PART(transfer_test) {
  a_timer_counts_from_when_it_began();
  where_there_is_no_such_node_it_stays();
  one_that_is_there_already_is_told_so();
  a_wait_listens_for_the_new_event();
  who_stands_there_gets_what_is_beside();
  what_the_other_has_not_ends();
}
