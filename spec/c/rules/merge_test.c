/* Handlers side by side: what is decided beside those that wait, and how what
 * they have made of the variables comes together. */
#include "kit.h"

#define BOTH                                                        \
  "'start':'f','compensate':%s,'nodes':[{'name':'f','kind':'fork'," \
  "'next':{'a':'a','b':'b'}},"                                      \
  "{'name':'a','kind':'step','run':true,'undo':true,'next':'j'},"   \
  "{'name':'b','kind':'step','run':true,'undo':true,'next':'j'},"   \
  "{'name':'j','kind':'join','next':'z'}," KIT_FINISH "]"

/* Both wait. The first that is decided forks, the second begins them. */
static void open_both(kit *k, const char *compensate) {
  char text[1000];
  snprintf(text, sizeof text, BOTH, compensate);
  kit_open(k, text);
  pawl_buf_set(&k->d.vars, pawl_strz("{\"n\":1,\"o\":1}"));
  kit_says(k, "a", PAWL_HANDLER_RUN, "...");
  kit_says(k, "b", PAWL_HANDLER_RUN, "...");
  kit_step(k);
  CHECK(!kit_decide(k) && k->d.naloft == 2);
  pawl_said_clear(&k->result);
}

static void leaves(kit *k, const char *vars) {
  pawl_said_clear(&k->result);
  k->result.vars_changed = 1;
  pawl_buf_addz(&k->result.vars, vars);
}

/* b, after a, of the same variables. */
static void second(kit *k, const char *first, const char *then) {
  const pawl_str base = pawl_strz("{\"n\":1,\"o\":1}");
  pawl_error err = {0};
  leaves(k, first);
  kit_returned(k, k->aloft[0], base, PAWL_OK, &err);
  kit_store(k);
  CHECK_INT(k->d.naloft, 1);
  leaves(k, then);
  kit_returned(k, k->aloft[0], base, PAWL_OK, &err);
  kit_store(k);
}

static void keys_of_each_come_together(void) {
  kit k;
  open_both(&k, "false");
  second(&k, "{\"a\":2,\"n\":1,\"o\":1}", "{\"b\":3,\"n\":1}");
  CHECK_BUF(k.d.vars, "{'a':2,'b':3,'n':1}");
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  CHECK_BUF(k.history, "started f, step a, step b, ");
  kit_close(&k);
}

static void a_conflict_names_its_path(const char *first, const char *then,
                                      const char *path) {
  kit k;
  open_both(&k, "false");
  second(&k, first, then);
  CHECK_HAS(kit_record(&k, "failed")->error, path);
  CHECK_HAS(kit_record(&k, "failed")->error, "'code':'conflict'");
  CHECK_STATUS(&k, "running"); /* it is tried again */
  kit_close(&k);
}

static void together_they_may_be_too_large(void) {
  char half[700];
  kit k;
  memset(half, 0, sizeof half);
  snprintf(half, sizeof half, "{\"a\":\"%0600d\",\"n\":1,\"o\":1}", 0);
  open_both(&k, "false");
  const pawl_str base = pawl_strz("{\"n\":1,\"o\":1}");
  pawl_error err = {0};
  leaves(&k, half);
  kit_returned(&k, k.aloft[0], base, PAWL_OK, &err);
  kit_store(&k);
  half[2] = 'b';
  leaves(&k, half);
  kit_returned(&k, k.aloft[0], base, PAWL_OK, &err);
  CHECK_HAS(kit_record(&k, "failed")->error, "with what was set beside");
  kit_store(&k);
  kit_close(&k);
}

/* One fails for good while the other waits: it is undone, too, if it ends. */
static void one_fails(kit *k, const char *compensate) {
  pawl_error err;
  open_both(k, compensate);
  pawl_fail(&err, PAWL_SCRIPT, "no");
  k->result.no_retry = 1;
  kit_returned(k, k->aloft[1], (pawl_str){NULL, 0}, PAWL_SCRIPT, &err);
  kit_store(k);
}

static void what_ends_late_is_to_be_undone(void) {
  kit k;
  one_fails(&k, "true");
  CHECK_INT(k.d.state.undo.status, PAWL_UNDO_PLANNING);
  CHECK_INT(k.d.naloft, 1);
  CHECK(!pawl_decide_beside(&k.d));
  pawl_said_clear(&k.result);
  pawl_error err = {0};
  kit_returned(&k, k.aloft[0], (pawl_str){NULL, 0}, PAWL_OK, &err);
  kit_store(&k);
  CHECK_INT(k.d.state.undo.status, PAWL_UNDO_PLANNING);
  CHECK_BUF(k.history, "started f, failed b, step a, ");
  CHECK_INT(k.d.state.tokens.n, 0);
  kit_close(&k);
}

static void without_an_undo_it_ends_at_once(void) {
  kit k;
  one_fails(&k, "false");
  CHECK_STATUS(&k, "failed");
  kit_close(&k);
}

TEST_PART(merge_test) {
  keys_of_each_come_together();
  a_conflict_names_its_path("{\"n\":2,\"o\":1}", "{\"n\":3,\"o\":1}",
                            "vars.n ");
  a_conflict_names_its_path("{\"n\":1}", "{\"n\":1,\"o\":3}", "vars.o ");
  a_conflict_names_its_path("{\"n\":1,\"o\":3}", "{\"n\":1}", "vars.o ");
  /* each may have counted */
  a_conflict_names_its_path("{\"n\":2,\"o\":1}", "{\"n\":2,\"o\":1}",
                            "vars.n ");
  a_conflict_names_its_path("{\"n\":1}", "{\"n\":1}", "vars.o ");
  together_they_may_be_too_large();
  what_ends_late_is_to_be_undone();
  without_an_undo_it_ends_at_once();
}
