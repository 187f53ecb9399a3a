/* What interrupts goes behind what came before it inside (O9). */
#include "kit.h"

#define BRANCHES                                                           \
  "'start':'f','nodes':[{'name':'f','kind':'fork','next':{'a':'a','b':'b'" \
  "}},{'name':'a','kind':'wait','event':'a','next':'s'},"                  \
  "{'name':'b','kind':'wait','event':'b','next':'j'},"
#define FORK                                                         \
  BRANCHES                                                           \
  "{'name':'j','kind':'join','next':'z'},"                           \
  "{'name':'w','kind':'wait','on':'f','interrupt':true,'event':'e'," \
  "'next':'l'},{'name':'l','kind':'finish'}," KIT_STEP(              \
      "s", "j") "," KIT_FINISH "]"

static void send(kit *k, const char *name, int64_t after_us) {
  kit_event(k, name, NULL)->received_us = k->now + after_us;
}

static void it_waits_until_they_stand_still(void) {
  kit k;
  kit_open(&k, FORK);
  kit_run(&k);
  send(&k, "a", 1);
  send(&k, "e", 2);
  k.now += PAWL_SECOND;
  kit_decide(&k);
  CHECK(k.d.plan.holds && !k.d.plan.heard);
  CHECK_INT(k.d.plan.look_us, k.now);
  kit_store(&k);
  kit_run(&k);
  CHECK_BUF(k.history,
            "started f, received a, step s, received w, dropped j, "
            "dropped b, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void it_comes_to_nothing_where_they_are_through(void) {
  kit k;
  kit_open(&k, FORK);
  kit_run(&k);
  send(&k, "a", 1);
  send(&k, "b", 2);
  send(&k, "e", 3);
  k.now += PAWL_SECOND;
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  CHECK(!strstr(k.history.at, "received w"));
  kit_close(&k);
}

#define RACE                                                               \
  BRANCHES                                                                 \
  "{'name':'j','kind':'join','expect':'any','losers':'cancel','next':'z'}" \
  "," KIT_STEP("s", "j") "," KIT_FINISH "]"

/* O10 */
static void it_is_not_won_by_what_came_later(void) {
  kit k;
  kit_open(&k, RACE);
  kit_run(&k);
  send(&k, "a", 1);
  send(&k, "b", 2);
  k.now += PAWL_SECOND;
  kit_decide(&k);
  CHECK(k.d.plan.holds && !k.d.plan.heard);
  kit_store(&k);
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  CHECK(strstr(k.history.at, "received a, step s, "));
  CHECK(!strstr(k.history.at, "received b"));
  kit_close(&k);
}

TEST_PART(interrupt_test) {
  it_is_not_won_by_what_came_later();
  it_waits_until_they_stand_still();
  it_comes_to_nothing_where_they_are_through();
}
