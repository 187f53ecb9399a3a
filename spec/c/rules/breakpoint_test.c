/* Breakpoints: where a token halts, and how it goes on. */
#include "kit.h"

static const char ROW[] =
    "'start':'a','nodes':[" KIT_STEP("a", "b") "," KIT_STEP("b", "c")
    ",{'name':'c','kind':'timer','after':1000000,'next':'d'}," KIT_STEP("d", "z")
    "," KIT_FINISH "]";

static const char FORK[] =
    "'start':'f','nodes':[{'name':'f','kind':'fork','next':{'b':'b','t':'t'}}," KIT_STEP(
        "b", "j") ",{'name':'t','kind':'timer','after':1000000,'next':'j'},"
    "{'name':'j','kind':'join','next':'z'}," KIT_FINISH "]";

static struct {
  const char *node;
  int holds, fails, asked;
} set;

static int stops(void *ud, pawl_decision *d, const pawl_token *t,
                 const pawl_node *node, pawl_stop *stop, pawl_error *err) {
  (void)d, (void)t;
  if (strcmp(node->name, set.node)) return 0;
  if (!stop) return 1;
  set.asked++;
  if (!set.holds) return 0;
  stop->by = pawl_strz("ann");
  stop->until_us = ((kit *)ud)->now + 60 * PAWL_SECOND;
  stop->failed = set.fails;
  if (set.fails) pawl_fail(err, PAWL_SCRIPT, "no such thing");
  return 1;
}

static void open_at(kit *k, const char *text, const char *node) {
  kit_open(k, text);
  k->face.breaks = 1;
  k->face.stops = stops;
  set.node = node;
  set.holds = 1;
  set.fails = set.asked = 0;
}

static void it_halts_before_the_node_and_is_due_later(void) {
  kit k;
  open_at(&k, ROW, "b");
  kit_run(&k);
  CHECK_BUF(k.asked, "a.run, ");
  CHECK_BUF(k.history, "step a, halted b, ");
  CHECK_INT(k.d.plan.after, PAWL_AFTER_LET_GO);
  CHECK_INT(k.d.plan.look_us, k.now + 60 * PAWL_SECOND);
  CHECK_STATUS(&k, "running");
  CHECK_INT(kit_at(&k, "b")->attempt, 0);
  CHECK(pawl_detail_has(kit_at(&k, "b"), PAWL_DETAIL_halted));
  kit_run(&k); /* looked at in vain, it stands there still */
  CHECK_BUF(k.history, "step a, halted b, ");
  kit_close(&k);
}

static void it_goes_on_when_it_is_let_or_its_time_is_over(void) {
  kit k;
  open_at(&k, ROW, "b");
  kit_run(&k);
  (void)kit_letter(&k, "continue", "{}");
  kit_run(&k);
  CHECK_BUF(k.history, "step a, halted b, continued b, step b, ");
  kit_close(&k);
  open_at(&k, ROW, "c");
  kit_run(&k);
  CHECK_BUF(k.history, "step a, step b, halted c, ");
  k.now += 60 * PAWL_SECOND;
  kit_run(&k);
  CHECK_BUF(k.history, "step a, step b, halted c, continued c, routed c, ");
  k.now += PAWL_SECOND;
  kit_run(&k);
  CHECK_BUF(k.asked, "a.run, b.run, d.run, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void a_condition_is_asked_once_and_may_fail(void) {
  kit k;
  open_at(&k, ROW, "b");
  set.holds = 0;
  kit_run(&k);
  CHECK_BUF(k.asked, "a.run, b.run, ");
  CHECK_INT(set.asked, 1);
  kit_close(&k);
  open_at(&k, ROW, "b");
  set.fails = 1;
  kit_run(&k);
  CHECK_BUF(k.history, "step a, halted b, ");
  CHECK(strstr(pawl_detail_of(kit_at(&k, "b"))->halted.at, "no such thing"));
  kit_close(&k);
}

static void one_that_steps_halts_before_the_next(void) {
  kit k;
  open_at(&k, ROW, "a");
  kit_run(&k);
  CHECK_BUF(k.history, "halted a, ");
  k.face.breaks = 0; /* it was removed meanwhile */
  (void)kit_letter(&k, "step", "{'lasts_us':5000000}");
  kit_run(&k);
  CHECK_BUF(k.asked, "a.run, ");
  CHECK_INT(k.d.plan.look_us, k.now + 5 * PAWL_SECOND);
  (void)kit_letter(&k, "step", "{}");
  kit_run(&k);
  CHECK_BUF(k.history,
            "halted a, stepped a, step a, halted b, stepped b, step b, "
            "halted c, ");
  (void)kit_letter(&k, "step", "{'nodes':['a']}");
  kit_run(&k);
  CHECK_INT(kit_records(&k, "refused"), 1);
  (void)kit_letter(&k, "continue", "{}");
  kit_run(&k);
  k.now += PAWL_SECOND;
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void siblings_go_on_and_the_join_waits(void) {
  kit k;
  open_at(&k, FORK, "b");
  kit_run(&k);
  k.now += PAWL_SECOND;
  kit_run(&k);
  CHECK_BUF(k.asked, "");
  CHECK_INT(kit_at(&k, "j")->state, PAWL_TOKEN_WAITING);
  CHECK_INT(kit_at(&k, "b")->state, PAWL_TOKEN_ACTIVE);
  CHECK_INT(k.d.plan.look_us, k.now + 59 * PAWL_SECOND);
  (void)kit_letter(&k, "continue", "{}");
  kit_run(&k);
  CHECK_BUF(k.asked, "b.run, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void cancel_takes_what_has_halted(void) {
  kit k;
  open_at(&k, ROW, "b");
  kit_run(&k);
  (void)kit_letter(&k, "cancel", "{}");
  kit_run(&k);
  CHECK_STATUS(&k, "cancelled");
  CHECK_BUF(k.asked, "a.run, ");
  kit_close(&k);
}

TEST_PART(breakpoint_test) {
  it_halts_before_the_node_and_is_due_later();
  it_goes_on_when_it_is_let_or_its_time_is_over();
  a_condition_is_asked_once_and_may_fail();
  one_that_steps_halts_before_the_next();
  siblings_go_on_and_the_join_waits();
  cancel_takes_what_has_halted();
}
