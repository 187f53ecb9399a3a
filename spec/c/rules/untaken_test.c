/* What was accepted for an instance that ends first: its history says so. */
#include "kit.h"

/* Waits for e; x is not its own. */
static void begin(kit *k) {
  kit_open(k,
           "'start':'w','nodes':[{'name':'w','kind':'wait','event':'e',"
           "'next':'z'}," KIT_FINISH "]");
  kit_run(k);
}

static void send(kit *k, int n, const char *ending) {
  kit_letter(k, ending, "{}");
  for (int i = 0; i < n; i++) {
    pawl_letter *l = kit_event(k, "x", NULL);
    pawl_buf_clear(&l->event_id);
    pawl_buf_addf(&l->event_id, "shop:%d", i);
    pawl_buf_addz(&l->by, "ann");
    l->addressed = 1;
  }
  kit_step(k);
}

static void each_is_told_with_who_sent_it(void) {
  kit k;
  begin(&k);
  send(&k, 2, "cancel");
  CHECK_STATUS(&k, "cancelled");
  CHECK_INT(kit_records(&k, "untaken"), 2);
  CHECK_BUF(kit_record(&k, "untaken")->text,
            "event 'x' shop:1: it has ended before that");
  CHECK_BUF(kit_record(&k, "untaken")->by, "ann");
  kit_close(&k);
}

static void of_many_the_number_is_told(void) {
  kit k;
  begin(&k);
  k.d.unread = 1;
  send(&k, 30, "kill");
  CHECK_INT(kit_records(&k, "untaken"), 21);
  CHECK_BUF(kit_record(&k, "untaken")->text,
            "30 events and answers at hand, and what had not been looked at");
  kit_close(&k);
}

static void one_that_fails_keeps_its_events(void) {
  kit k;
  pawl_letter *l;
  kit_open(&k,
           "'start':'a','nodes':[{'name':'a','kind':'step','run':true,"
           "'retry':{'max':1},'next':'z'}," KIT_FINISH "]");
  kit_says(&k, "a", PAWL_HANDLER_RUN, "!no");
  l = kit_event(&k, "x", NULL);
  l->addressed = 1;
  kit_run(&k);
  CHECK_STATUS(&k, "failed");
  CHECK_INT(kit_records(&k, "untaken"), 0);
  CHECK_INT(k.d.nletters, 1);
  kit_close(&k);
}

TEST_PART(untaken_test) {
  each_is_told_with_who_sent_it();
  of_many_the_number_is_told();
  one_that_fails_keeps_its_events();
}
