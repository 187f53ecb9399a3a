/* Finishes: the last way that ends ends the instance; one that failed, or that
 * terminates, ends it at once. */
#include "../kit.h"

static void the_last_output_is_the_instances(void) {
  kit k;
  kit_open(&k, "'start':'a','nodes':[" KIT_STEP(
                   "a", "z") ",{'name':'z','kind':'finish','output':true}]");
  kit_says(&k, "z", PAWL_HANDLER_OUTPUT, "{\"total\":3}");
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  CHECK_BUF(k.d.state.output, "{'total':3}");
  CHECK_INT(k.d.state.tokens.n, 0);
  kit_close(&k);
}

static void a_failed_one_says_which(void) {
  kit k;
  kit_open(&k,
           "'start':'a','nodes':[" KIT_STEP(
               "a", "lost") ",{'name':'lost','kind':'finish',"
                            "'status':'failed'}]");
  kit_run(&k);
  CHECK_STATUS(&k, "failed");
  CHECK_HAS(k.d.plan.error, "it ended at finish");
  CHECK_BUF(k.d.state.stopped, ""); /* a retry would end the same way */
  kit_close(&k);
}

/* a and b beside each other: b waits for an hour, a comes to its finish. */
static void beside_another(const char *finish, const char *status) {
  kit k;
  char text[500];
  snprintf(text, sizeof text,
           "'start':'f','nodes':[{'name':'f','kind':'fork',"
           "'next':{'a':'a','b':'b'}}," KIT_STEP(
               "a", "y") ",{'name':'b','kind':'timer','after':3600000000,"
                         "'next':'z'},{'name':'y','kind':'finish'%s}," KIT_FINISH
                         "]",
           finish);
  kit_open(&k, text);
  kit_run(&k);
  CHECK_STATUS(&k, status);
  CHECK_INT(k.d.state.tokens.n, !strcmp(status, "waiting"));
  kit_close(&k);
}

TEST_PART(kinds_finish_test) {
  the_last_output_is_the_instances();
  a_failed_one_says_which();
  beside_another("", "waiting");
  beside_another(",'terminate':true", "completed");
  beside_another(",'status':'failed'", "failed");
}
