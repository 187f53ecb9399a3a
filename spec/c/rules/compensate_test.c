/* Undoing: what was done, newest first; then the end that was meant. */
#include "../../../src/rules/stored.h"

#include "kit.h"

static void open_two(kit *k) {
  kit_open(k,
           "'start':'a','nodes':["
           "{'name':'a','kind':'step','run':true,'undo':true,'next':'b'},"
           "{'name':'b','kind':'step','run':true,'undo':true,"
           "'retry':{'max':1},'next':'c'},"
           "{'name':'c','kind':'step','run':true,'retry':{'max':1},"
           "'next':'z'}," KIT_FINISH "]");
  kit_says(k, "c", PAWL_HANDLER_RUN, "!no_money");
  for (int i = 0; i < 3; i++) kit_step(k); /* a, b, and c fails */
}

/* What history has to undo: as the store tells it. */
static void load_undo(kit *k) {
  pawl_str step;
  int behind;
  pawl_buf_set(&k->d.undo, pawl_strz("[{\"seq\":2,\"node\":\"b\",\"visit\":2,"
                                     "\"token\":1},{\"seq\":1,\"node\":\"a\","
                                     "\"visit\":1,\"token\":1}]"));
  k->d.undo_total = 2;
  k->d.undo_seq = 0;
  (void)pawl_undo_next(&k->d, &k->d.state.undo, &step, &k->d.undo_seq,
                       &behind);
}

static void check_record(const kit *k, const char *part) {
  pawl_buf record = {0};
  pawl_compensation_write(&k->d.state.undo, &record);
  CHECK_HAS(record, part);
  pawl_buf_deinit(&record);
}

static void go_on(kit *k) {
  for (int i = 0; i < 10; i++) {
    load_undo(k);
    kit_step(k);
    if (k->d.plan.after == PAWL_AFTER_END) return;
  }
}

static void the_newest_is_undone_first(void) {
  kit k;
  open_two(&k);
  CHECK_INT(k.d.plan.look, PAWL_LOOK_UNDOS);
  CHECK_STATUS(&k, "running");
  check_record(&k, "'status':'planning','end':'failed'");
  go_on(&k);
  CHECK_BUF(k.asked, "a.run, b.run, c.run, b.undo, a.undo, ");
  CHECK_BUF(k.history,
            "step a, step b, failed c, undone b, undone a, compensated c, ");
  CHECK_STATUS(&k, "failed");
  CHECK_HAS(k.d.plan.error, "'code':'no_money'");
  check_record(&k, "'planned':2,'undone':2,'undo_failed':0");
  kit_close(&k);
}

static void one_that_cannot_be_undone_is_passed(void) {
  kit k;
  open_two(&k);
  kit_says(&k, "b", PAWL_HANDLER_UNDO, "!stuck.");
  go_on(&k);
  CHECK_BUF(k.history,
            "step a, step b, failed c, undo_failed b, undone a, "
            "compensated c, ");
  check_record(&k, "'completed_with_errors'");
  kit_close(&k);
}

/* Not passed by: nobody would undo it later. */
static void without_memory_it_is_undone_later(void) {
  kit k;
  open_two(&k);
  kit_says(&k, "b", PAWL_HANDLER_UNDO, "~");
  for (int i = 0; i < 11; i++) {
    k.now += 100 * PAWL_SECOND;
    load_undo(&k);
    kit_step(&k);
  }
  CHECK_STATUS(&k, "suspended");
  kit_says(&k, "b", PAWL_HANDLER_UNDO, "1");
  kit_letter(&k, "resume", "{}");
  go_on(&k);
  CHECK_STATUS(&k, "failed");
  check_record(&k, "'planned':2,'undone':2,'undo_failed':0");
  kit_close(&k);
}

static void to_kill_ends_it_at_once(void) {
  kit k;
  open_two(&k);
  load_undo(&k);
  kit_step(&k);
  kit_letter(&k, "cancel", "{}"); /* refused: it is under way */
  load_undo(&k);
  kit_step(&k);
  CHECK_STATUS(&k, "running");
  CHECK_HAS(k.history, "refused ");
  kit_letter(&k, "kill", "{}");
  load_undo(&k);
  kit_step(&k);
  CHECK_STATUS(&k, "cancelled");
  check_record(&k, "'status':'stopped'");
  kit_close(&k);
}

static void without_anything_loaded_it_waits_for_it(void) {
  kit k;
  open_two(&k);
  kit_step(&k);
  CHECK_INT(k.d.plan.after, PAWL_AFTER_BACK);
  CHECK_INT(k.d.plan.look, PAWL_LOOK_UNDOS);
  kit_close(&k);
}

/* ---- by a node ---- */

static void open_part(kit *k) {
  kit_open(k,
           "'start':'a','nodes':["
           "{'name':'a','kind':'step','run':true,'undo':true,'next':'b'},"
           "{'name':'b','kind':'step','run':true,'undo':true,"
           "'retry':{'max':1},'next':'back'},"
           "{'name':'back','kind':'undo','next':'z',"
           "'on_error':{'undo_failed':'c'}},"
           "{'name':'c','kind':'step','run':true,'next':'z'}," KIT_FINISH "]");
  for (int i = 0; i < 3; i++) kit_step(k); /* a, b, and back begins */
}

static void a_node_has_it_undone_and_goes_on(void) {
  kit k;
  open_part(&k);
  CHECK_INT(k.d.plan.look, PAWL_LOOK_UNDOS);
  check_record(&k, "'status':'planning','by':1");
  go_on(&k);
  CHECK_BUF(k.asked, "a.run, b.run, b.undo, a.undo, ");
  CHECK_BUF(k.history,
            "step a, step b, undone b, undone a, compensated back, ");
  CHECK_STATUS(&k, "completed");
  CHECK_INT(k.d.state.undo.status, PAWL_UNDO_NONE);
  kit_close(&k);
}

static void a_node_fails_by_what_cannot_be_undone(void) {
  kit k;
  open_part(&k);
  kit_says(&k, "b", PAWL_HANDLER_UNDO, "!stuck.");
  go_on(&k);
  CHECK_BUF(k.history,
            "step a, step b, undo_failed b, undone a, failed back, step c, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void to_cancel_ends_what_a_node_undoes(void) {
  kit k;
  open_part(&k);
  load_undo(&k);
  kit_step(&k); /* the plan is made */
  check_record(&k, "'planned':2");
  kit_letter(&k, "cancel", "{}");
  load_undo(&k);
  kit_step(&k);
  check_record(&k, "'status':'planning','end':'cancelled'");
  go_on(&k);
  CHECK_STATUS(&k, "cancelled");
  check_record(&k, "'undone':2");
  kit_close(&k);
}

TEST_PART(compensate_test) {
  the_newest_is_undone_first();
  one_that_cannot_be_undone_is_passed();
  without_memory_it_is_undone_later();
  to_kill_ends_it_at_once();
  without_anything_loaded_it_waits_for_it();
  a_node_has_it_undone_and_goes_on();
  a_node_fails_by_what_cannot_be_undone();
  to_cancel_ends_what_a_node_undoes();
}
