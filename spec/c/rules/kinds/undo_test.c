/* Undos: one stands there until its turn, and others stand still then. */
#include "../kit.h"

static void load_nothing(kit *k) {
  pawl_buf_set(&k->d.undo, pawl_strz("[]"));
  k->d.undo_total = 0;
  k->d.undo_last = 1;
}

static void open_beside(kit *k) {
  kit_open(k,
           "'start':'f','nodes':["
           "{'name':'f','kind':'fork','next':{'back':'back','w':'w'}},"
           "{'name':'back','kind':'undo','next':'j'},"
           "{'name':'w','kind':'wait','event':'paid','next':'a'},"
           "{'name':'a','kind':'step','run':true,'undo':true,'next':'j'},"
           "{'name':'j','kind':'join','next':'z'}," KIT_FINISH "]");
}

static void it_begins_as_a_step_does(void) {
  kit k;
  open_beside(&k);
  kit_step(&k);
  CHECK_INT(kit_at(&k, "back")->state, PAWL_TOKEN_ACTIVE);
  CHECK_INT(k.d.state.undo.status, PAWL_UNDO_NONE);
  kit_step(&k);
  CHECK_INT(k.d.state.undo.status, PAWL_UNDO_PLANNING);
  CHECK_INT(k.d.state.undo.by, kit_at(&k, "back")->no);
  kit_close(&k);
}

static void what_comes_meanwhile_stays_where_it_is(void) {
  kit k;
  open_beside(&k);
  kit_step(&k);
  kit_step(&k);
  kit_event(&k, "paid", NULL);
  kit_step(&k); /* what is to be undone is not loaded */
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_TAKE), 0);
  CHECK_INT(k.d.plan.after, PAWL_AFTER_BACK);
  load_nothing(&k);
  kit_event(&k, "paid", NULL);
  kit_step(&k);
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_TAKE), 0);
  CHECK_INT(k.d.plan.look, PAWL_LOOK_AGAIN); /* it is there still */
  CHECK(kit_find(&k, "j"));
  kit_event(&k, "paid", NULL);
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  CHECK_BUF(k.history, "started f, compensated back, received w, step a, ");
  kit_close(&k);
}

TEST_PART(kinds_undo_test) {
  it_begins_as_a_step_does();
  what_comes_meanwhile_stays_where_it_is();
}
