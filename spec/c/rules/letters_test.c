/* What came in: taken in order of arrival, by who may. */
#include "kit.h"

static void who_holds_no_handlers_leaves_what_needs_them(void) {
  kit k;
  kit_open(&k,
           "'start':'w','nodes':[{'name':'w','kind':'wait','event':'e',"
           "'next':'z'}," KIT_FINISH "]");
  kit_run(&k);
  k.d.turn = PAWL_TURN_LETTERS;
  kit_event(&k, "e", NULL);
  kit_letter(&k, "edit", "{'set':{'a':1}}");
  kit_step(&k);
  CHECK_INT(k.d.plan.leaves, 1);
  CHECK_INT(k.d.nletters, 1); /* the event */
  CHECK_BUF(k.d.vars, "{'a':1}");
  kit_close(&k);
}

/* What it had read by then stands on the record, however it ends. */
static void what_is_left_when_it_ends_is_answered(void) {
  kit k;
  kit_open(&k,
           "'start':'w','nodes':[{'name':'w','kind':'wait','event':'e',"
           "'next':'z'}," KIT_FINISH "]");
  kit_run(&k);
  kit_letter(&k, "cancel", "{}");
  kit_letter(&k, "note", "{'text':'a'}");
  kit_letter(&k, "edit", "{'set':{'a':1}}");
  kit_run(&k);
  CHECK_STATUS(&k, "cancelled");
  CHECK_BUF(kit_record(&k, "note")->text, "a");
  CHECK_BUF(k.d.vars, "");
  kit_close(&k);
}

TEST_PART(letters_test) {
  who_holds_no_handlers_leaves_what_needs_them();
  what_is_left_when_it_ends_is_answered();
}
