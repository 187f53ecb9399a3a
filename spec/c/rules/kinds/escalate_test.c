/* Nodes that escalate take their turn, and go on. */
#include "../kit.h"

#define NODES                                                          \
  "'start':'f','nodes':[{'name':'f','kind':'fork','next':{'a':'a',"    \
  "'b':'b'}},{'name':'a','kind':'escalate','event':'low','data':true," \
  "'next':'m'},{'name':'b','kind':'wait','event':'e','next':'m'},"     \
  "{'name':'m','kind':'join','next':'z'},"

static void it_stands_until_its_turn(void) {
  kit k;
  kit_open(&k, NODES
           "{'name':'w','kind':'wait','on':'f','event':'low',"
           "'interrupt':true,'into':'v','next':'z'}," KIT_FINISH "]");
  kit_says(&k, "a", PAWL_HANDLER_DATA, "7");
  kit_step(&k);
  CHECK(kit_at(&k, "a")->state == PAWL_TOKEN_ACTIVE);
  CHECK_INT(k.asked.len, 0);
  kit_run(&k);
  CHECK_BUF(k.asked, "a.data, ");
  CHECK_HAS(k.d.vars, "'v':7");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void it_goes_on_when_nobody_takes_it(void) {
  kit k;
  kit_open(&k, NODES KIT_FINISH "]");
  kit_run(&k);
  CHECK(kit_at(&k, "m")->state == PAWL_TOKEN_WAITING);
  CHECK_BUF(k.history, "started f, untaken a, ");
  kit_close(&k);
}

static void it_fails_as_its_handler_does(void) {
  kit k;
  kit_open(&k, NODES KIT_FINISH "]");
  kit_says(&k, "a", PAWL_HANDLER_DATA, "!no.");
  kit_run(&k);
  CHECK_STATUS(&k, "failed");
  CHECK_BUF(k.history, "started f, failed a, ");
  kit_close(&k);
}

TEST_PART(kinds_escalate_test) {
  it_stands_until_its_turn();
  it_goes_on_when_nobody_takes_it();
  it_fails_as_its_handler_does();
}
