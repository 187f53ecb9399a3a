/* Variables, as a decision changes them, and the limit that they keep. */
#include "kit.h"

static void begin(kit *k) {
  kit_open(k,
           "'start':'w','nodes':[{'name':'w','kind':'wait','event':'e',"
           "'into':'got','retry':{'max':1},'next':'z'}," KIT_FINISH "]");
  kit_run(k);
  kit_decide(k);
}

static void what_changes_is_noted(void) {
  kit k;
  pawl_buf changes = {0}, vars = {0};
  begin(&k);
  CHECK_STR(pawl_vars_now(&k.d), "{}");
  CHECK(!k.d.plan.vars_changed);
  pawl_vars_set(&k.d, "a", pawl_strz("1"), &changes);
  CHECK_BUF(changes, "{'set':{'a':1}}");
  CHECK_BUF(k.d.plan.vars, "{'a':1}");
  CHECK_BUF(k.d.vars, ""); /* what is stored stays as it is */
  pawl_buf_addz(&vars, "{\"b\":2}");
  pawl_buf_clear(&changes);
  pawl_vars_take(&k.d, &vars, &changes);
  CHECK_BUF(changes, "{'set':{'b':2},'unset':['a']}");
  CHECK_BUF(vars, "{'a':1}"); /* they have changed places */
  pawl_vars_put(&k.d, pawl_vars_now(&k.d), NULL);
  CHECK_STR(pawl_vars_now(&k.d), "{\"b\":2}");
  pawl_buf_deinit(&changes);
  pawl_buf_deinit(&vars);
  kit_close(&k);
}

static void fits(int64_t max, int want) {
  kit k;
  pawl_error err = {0};
  begin(&k);
  k.face.max_bytes = max;
  CHECK_INT(
      pawl_output_fits(&k.d, &k.def->nodes[0], pawl_strz("\"12345\""), &err),
      want);
  CHECK_INT(k.result.no_retry, want != PAWL_OK); /* too much again */
  CHECK_INT(
      pawl_output_fits(&k.d, &k.def->nodes[1], pawl_strz("\"12345\""), &err),
      PAWL_OK); /* one that keeps it nowhere */
  kit_close(&k);
}

static void joins(int64_t max, const char *left, const char *want) {
  kit k;
  pawl_error err = {0};
  kit_open(&k,
           "'start':'a','nodes':[{'name':'a','kind':'step','run':true,"
           "'into':'n','next':'z'}," KIT_FINISH "]");
  kit_decide(&k);
  k.face.max_bytes = max;
  CHECK_INT(pawl_output_joins(&k.d, &k.def->nodes[0], &err), PAWL_OK);
  CHECK_INT(k.result.vars_changed, 0); /* nothing was given */
  k.result.has_output = 1;
  pawl_buf_addz(&k.result.output, "[7]");
  if (left) {
    k.result.vars_changed = 1;
    pawl_buf_addz(&k.result.vars, left);
  }
  CHECK_INT(pawl_output_joins(&k.d, &k.def->nodes[0], &err),
            want ? PAWL_OK : PAWL_LIMIT);
  if (want) CHECK_BUF(k.result.vars, want);
  CHECK_INT(k.result.no_retry, !want);
  kit_close(&k);
}

static void a_steps_output_joins_what_it_has_set(void) {
  joins(100, NULL, "{'n':[7]}");
  joins(100, "{\"a\":1,\"n\":2}", "{'a':1,'n':[7]}");
  joins(15, "{\"a\":1,\"n\":2}", "{'a':1,'n':[7]}");
  joins(14, "{\"a\":1,\"n\":2}", NULL);
}

static void an_event_that_is_too_large_fails_the_wait(void) {
  kit k;
  begin(&k);
  kit_store(&k);
  k.face.max_bytes = 10;
  kit_event(&k, "e", NULL);
  kit_run(&k);
  CHECK_STATUS(&k, "failed");
  CHECK_HAS(k.d.plan.error, "'code':'limit'");
  kit_close(&k);
}

TEST_PART(vars_test) {
  what_changes_is_noted();
  fits(15, PAWL_OK); /* {"got":"12345"} */
  fits(14, PAWL_LIMIT);
  fits(1000, PAWL_OK);
  a_steps_output_joins_what_it_has_set();
  an_event_that_is_too_large_fails_the_wait();
}
