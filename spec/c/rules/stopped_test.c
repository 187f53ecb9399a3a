/* How an instance stood when it failed, and back there by a retry. */
#include "kit.h"

/* Two branches: one waits an hour, the other fails; a third has come. */
#define FORK \
  "'start':'f','nodes':[{'name':'f','kind':'fork','next':{'a':'a',"      \
  "'c':'c','t':'t'}},{'name':'a','kind':'step','run':true,"              \
  "'retry':{'max':1},'next':'j'}," KIT_STEP("c", "j") ",{'name':'t',"    \
  "'kind':'timer','after':3600000000,'next':'j'},{'name':'j',"           \
  "'kind':'join','next':'z'}," KIT_FINISH "]"

static void fail(kit *k) {
  kit_open(k, FORK);
  kit_says(k, "a", PAWL_HANDLER_RUN, "!no");
  kit_run(k);
  CHECK_STATUS(k, "failed");
  CHECK_INT(k->d.state.tokens.n, 0);
}

static void a_retry_goes_on_from_there(void) {
  kit k;
  int64_t visit;
  fail(&k);
  visit = k.d.state.visit;
  CHECK_HAS(k.d.state.stopped, "'node':'a'");
  kit_says(&k, "a", PAWL_HANDLER_RUN, "1");
  k.now += 10 * PAWL_SECOND;
  kit_letter(&k, "retry", "{}");
  kit_run(&k);
  CHECK_STATUS(&k, "waiting");
  CHECK_BUF(k.d.state.stopped, "");
  /* the timer began anew; what had come to the join has come */
  CHECK_INT(kit_at(&k, "t")->due_us, k.now + 3600 * PAWL_SECOND);
  CHECK(kit_at(&k, "t")->visit > visit);
  CHECK_INT(k.d.state.tokens.n, 3);
  k.now += 3601 * PAWL_SECOND;
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void without_it_there_is_nowhere_to_go(void) {
  kit k;
  fail(&k);
  pawl_buf_clear(&k.d.state.stopped);
  kit_letter(&k, "retry", "{}");
  kit_run(&k);
  CHECK_STATUS(&k, "failed");
  CHECK_HAS(kit_record(&k, "refused")->text, "retry: nothing says where");
  kit_close(&k);
}

TEST_PART(stopped_test) {
  a_retry_goes_on_from_there();
  without_it_there_is_nowhere_to_go();
}
