/* Eaches: as many at a time as the window, and their results in order. */
#include "../kit.h"

static void open_each(kit *k, const char *more, const char *items) {
  char text[400];
  snprintf(text, sizeof text,
           "'start':'e','nodes':[{'name':'e','kind':'each','items':true,"
           "'branch':'a','into':'all','window':2,%s,'next':'z'}," KIT_STEP(
               "a", "e") "," KIT_FINISH "]",
           more);
  kit_open(k, text);
  kit_says(k, "e", PAWL_HANDLER_ITEMS, items);
}

static void give_item(kit *k, int64_t no, const char *data) {
  pawl_decision *d = &k->d;
  const pawl_token *t = kit_at(k, "e");
  pawl_item *item;
  k->d.has_items = 1;
  if (!PAWL_ROOM(NULL, d->items, d->nitems, d->items_cap)) abort();
  item = &d->items[d->nitems++];
  item->token = t->no;
  item->visit = t->visit;
  item->no = no;
  pawl_buf_set(&item->data, pawl_strz(data));
}

static void items_begin_as_the_window_lets_them(void) {
  kit k;
  open_each(&k, "'on_failure':'stop'", "[7,8,9]");
  kit_step(&k);
  CHECK_BUF(kit_effect(&k, PAWL_EFFECT_ITEMS)->data, "[7,8,9]");
  CHECK_INT(k.d.state.tokens.n, 3); /* itself and two items */
  CHECK_BUF(k.d.state.tokens.at[1].data, "{'item':7,'index':1}");
  CHECK_BUF(k.d.state.tokens.at[2].data, "{'item':8,'index':2}");
  kit_step(&k);
  CHECK_INT(pawl_detail_of(kit_at(&k, "e"))->done, 2);
  give_item(&k, 2, "9");
  kit_step(&k);
  CHECK_BUF(kit_at(&k, "a")->data, "{'item':9,'index':3}");
  kit_step(&k);
  k.d.nitems = 0;
  for (int i = 0; i < 3; i++) give_item(&k, i, i == 1 ? "null" : "\"r\"");
  kit_run(&k);
  CHECK_BUF(k.d.vars, "{'all':['r',null,'r']}");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void no_items_are_no_wait(void) {
  kit k;
  open_each(&k, "'on_failure':'stop'", "[]");
  kit_run(&k);
  CHECK_BUF(k.d.vars, "{'all':[]}");
  CHECK_BUF(k.asked, "e.items, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void one_that_fails(const char *more, const char *status) {
  kit k;
  open_each(&k, more, "[7,8]");
  kit_says(&k, "a", PAWL_HANDLER_RUN, "!bad.");
  kit_step(&k);
  kit_step(&k);
  CHECK_BUF(kit_effect(&k, PAWL_EFFECT_ITEM)->name, "failed");
  CHECK_STATUS(&k, status);
  kit_close(&k);
}

static void a_row_that_is_gone_is_said(void) {
  kit k;
  open_each(&k, "'on_failure':'stop'", "[7,8,9]");
  kit_step(&k);
  kit_step(&k);
  k.d.has_items = 1; /* the third was looked for, and is not there */
  kit_step(&k);
  CHECK_STATUS(&k, "failed");
  CHECK_HAS(k.d.plan.error, "item 3 of each");
  kit_close(&k);
}

/* What comes behind it counts no more, though it comes in the same letter. */
static void enough_ends_it_early(const char *into, const char *status) {
  char text[400];
  kit k;

  snprintf(text, sizeof text,
           "'start':'e','nodes':[{'name':'e','kind':'each','items':true,"
           "'workflow':'t.item','window':3,'enough':true,%s'next':'z'}," //
           KIT_FINISH "]",
           into);
  kit_open(&k, text);
  kit_says(&k, "e", PAWL_HANDLER_ITEMS, "[7,8,9,10]");
  kit_says(&k, "e", PAWL_HANDLER_ENOUGH, "?");
  kit_step(&k);
  for (int i = 1; i < 3; i++)
    kit_answer_to(&k, "child", kit_at(&k, "e"),
                  i == 1 ? "'status':'completed','index':1,'output':5"
                         : "'status':'completed','index':2,'output':6");
  kit_step(&k);
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_ITEM), 1);
  CHECK_BUF(kit_effect(&k, PAWL_EFFECT_MESSAGE)->name, "end_children");
  CHECK_BUF(k.asked, "e.items, e.enough, ");
  CHECK_STATUS(&k, status);
  kit_close(&k);
}

static void what_passes_leaves_the_item_for_later(void) {
  kit k;
  pawl_error err;

  open_each(&k, "'on_failure':'stop','enough':true", "[7,8,9]");
  kit_says(&k, "e", PAWL_HANDLER_ENOUGH, "~");
  kit_step(&k);
  pawl_decide(&k.d);
  CHECK_INT(pawl_plan_check(&k.d.plan, &err), PAWL_NOMEM);
  kit_says(&k, "e", PAWL_HANDLER_ENOUGH, "[1]");
  kit_step(&k);
  CHECK_INT(pawl_detail_of(kit_at(&k, "e"))->done, 2);
  CHECK_BUF(pawl_detail_of(kit_at(&k, "e"))->sum, "[1]");
  kit_close(&k);
}

TEST_PART(kinds_each_test) {
  items_begin_as_the_window_lets_them();
  no_items_are_no_wait();
  one_that_fails("'on_failure':'stop'", "failed");
  one_that_fails("'on_failure':'collect'", "waiting");
  one_that_fails("'tolerate':2", "waiting");
  one_that_fails("'tolerate':1", "failed");
  one_that_fails("'tolerate':'100%'", "waiting");
  one_that_fails("'tolerate':'99.99%'", "failed");
  a_row_that_is_gone_is_said();
  enough_ends_it_early("", "completed");
  enough_ends_it_early("'into':'all',", "waiting");
  what_passes_leaves_the_item_for_later();
}
