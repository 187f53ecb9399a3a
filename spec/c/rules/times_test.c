/* How long something waits, and what happens when that is over. */
#include "kit.h"

static void times_end_in_their_order(void) {
  kit k;
  kit_open(&k,
           "'start':'f','nodes':[{'name':'f','kind':'fork',"
           "'next':{'a':'a','b':'b','c':'c'}},{'name':'a','kind':'timer',"
           "'after':3000000,'next':'j'},{'name':'b','kind':'timer',"
           "'after':1000000,'next':'j'},{'name':'c','kind':'timer',"
           "'after':9000000,'next':'j'},{'name':'j','kind':'join',"
           "'next':'z'}," KIT_FINISH "]");
  kit_run(&k);
  k.now += 4 * PAWL_SECOND;
  kit_run(&k);
  CHECK_BUF(k.history, "started f, timer b, timer a, ");
  CHECK_INT(k.d.plan.look_us, k.now + 5 * PAWL_SECOND);
  kit_close(&k);
}

static void without_a_way_a_timeout_is_a_failure(void) {
  kit k;
  kit_open(&k,
           "'start':'w','nodes':[{'name':'w','kind':'wait','event':'e',"
           "'timeout':1000000,'retry':{'max':1},'next':'z'}," KIT_FINISH "]");
  kit_run(&k);
  k.now += PAWL_SECOND - 1;
  kit_decide(&k); /* not before it is over */
  CHECK_INT(kit_records(&k, "failed"), 0);
  k.now++;
  kit_run(&k);
  CHECK_STATUS(&k, "failed");
  CHECK_HAS(k.d.plan.error, "'code':'timeout'");
  CHECK_HAS(k.d.plan.error, "took longer than its timeout");
  kit_close(&k);
}

static void when_it_began_is_known_either_way(void) {
  pawl_token t = {0};
  pawl_wait_until(&t, 1000, 50);
  CHECK_INT(t.due_us, 1050);
  CHECK(!pawl_detail_has(&t, PAWL_DETAIL_begun));
  CHECK_INT(pawl_wait_began(&t, 50, 9999), 1000);
  pawl_wait_until(&t, 1000, -1);
  CHECK_INT(t.due_us, 0);
  CHECK_INT(pawl_wait_began(&t, -1, 9999), 1000);
  pawl_detail_drop(&t, PAWL_DETAIL_begun);
  CHECK_INT(pawl_wait_began(&t, -1, 9999), 9999); /* nobody knows */
  pawl_detail_free(&t);
}

TEST_PART(times_test) {
  times_end_in_their_order();
  without_a_way_a_timeout_is_a_failure();
  when_it_began_is_known_either_way();
}
