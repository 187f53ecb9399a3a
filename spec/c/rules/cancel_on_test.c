/* What cancels an instance: subscribed by the keys that its variables have,
 * and again when those change. */
#include "kit.h"

#define WORKFLOW                                                \
  "'start':'w','cancel_on':[{'event':'order.gone','key':'id'}," \
  "{'event':'shop.*'}],'nodes':[{'name':'w','kind':'wait',"     \
  "'event':'paid','next':'z'}," KIT_FINISH "]"

/* The rules by their numbers, events and keys. */
static void check_watched(const kit *k, const char *want) {
  const pawl_marks *all = &k->d.state.watched;
  pawl_buf text = {0};
  for (int i = 0; i < all->n; i++)
    pawl_buf_addf(&text, "%d %s %s, ", (int)all->at[i].no, all->at[i].name,
                  all->at[i].has_key ? all->at[i].key.at : "-");
  CHECK_BUF(text, want);
  pawl_buf_deinit(&text);
}

static void rules_are_subscribed_with_their_keys(void) {
  kit k;
  kit_open(&k, WORKFLOW);
  pawl_buf_addz(&k.d.input, "{\"id\":17}");
  kit_step(&k);
  check_watched(&k, "0 order.gone 17, 1 shop.* -, ");
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_SUBSCRIBE), 3); /* the wait's too */
  kit_letter(&k, "edit", "{'set':{'id':18}}");
  kit_step(&k);
  check_watched(&k, "0 order.gone 18, 1 shop.* -, ");
  kit_letter(&k, "edit", "{'set':{'id':null}}");
  kit_step(&k);
  check_watched(&k, "1 shop.* -, "); /* the other rests */
  kit_close(&k);
}

static void an_event(const char *name, const char *key, const char *status) {
  kit k;
  kit_open(&k, WORKFLOW);
  pawl_buf_addz(&k.d.input, "{\"id\":17}");
  kit_run(&k);
  kit_event(&k, name, key);
  kit_run(&k);
  CHECK_STATUS(&k, status);
  kit_close(&k);
}

static void one_that_is_older_than_the_instance_is_not_meant(void) {
  kit k;
  pawl_letter *l;
  kit_open(&k, WORKFLOW);
  kit_run(&k);
  l = kit_event(&k, "shop.closed", NULL);
  l->kept = 1;
  l->received_us = k.d.created_us - 1;
  kit_run(&k);
  CHECK_STATUS(&k, "waiting");
  CHECK_INT(k.d.nletters, 1);
  k.d.letters[0].received_us = k.d.created_us + 1;
  kit_run(&k);
  CHECK_STATUS(&k, "cancelled");
  kit_close(&k);
}

TEST_PART(cancel_on_test) {
  rules_are_subscribed_with_their_keys();
  an_event("order.gone", "17", "cancelled");
  an_event("order.gone", "18", "waiting");
  an_event("order.gone", NULL, "waiting");
  an_event("shop.closed", NULL, "cancelled");
  an_event("shop.closed.early", NULL, "waiting");
  one_that_is_older_than_the_instance_is_not_meant();
}
