/* Places among kept events: the last four, each for a pattern and a key. */
#include "rules/kept.h"

#include "kit.h"

static pawl_kept place(int64_t at_us) {
  pawl_kept p = {.at_us = at_us, .since = at_us + 1};
  p.came.bytes[15] = (unsigned char)at_us;
  return p;
}

static void set(pawl_token *t, const char *event, const char *key,
                int64_t at_us) {
  pawl_kept p = place(at_us);
  pawl_kept_set(t, event, pawl_strz(key), &p);
}

static int64_t at(const pawl_token *t, const char *event, const char *key) {
  pawl_kept p;
  if (!pawl_kept_get(t, event, pawl_strz(key), &p)) return -1;
  CHECK_INT(p.since, p.at_us + 1);
  CHECK_INT(p.came.bytes[15], p.at_us);
  return p.at_us;
}

static void the_last_four_are_known(void) {
  pawl_token t = {0};
  CHECK_INT(at(&t, "paid", "1"), -1);
  set(&t, "paid", "1", 1);
  set(&t, "paid", "\"2\"", 2);
  set(&t, "paid.*", "1", 3);
  set(&t, "paid", "1", 4); /* takes the place of the first */
  CHECK_INT(at(&t, "paid", "1"), 4);
  CHECK_INT(at(&t, "paid", "\"2\""), 2);
  CHECK_INT(at(&t, "paid.*", "1"), 3);
  CHECK_INT(at(&t, "paid.*", "2"), -1);
  set(&t, "x", "1", 5);
  set(&t, "paid", "1", 4);
  CHECK_INT(at(&t, "paid", "\"2\""), 2);
  set(&t, "x", "2", 6); /* the fifth */
  CHECK_INT(at(&t, "paid", "\"2\""), -1);
  CHECK_INT(at(&t, "paid", "1"), 4);
  CHECK(!t.changed); /* it is stored with the next change */
  pawl_detail_free(&t);
}

static void places_are_in_the_order_of_events(void) {
  pawl_kept p = place(5);
  pawl_id earlier = {{0}}, later = {{0}};
  later.bytes[15] = 9;
  CHECK_INT(pawl_kept_cmp(4, &later, &p), -1);
  CHECK_INT(pawl_kept_cmp(6, &earlier, &p), 1);
  CHECK(pawl_kept_cmp(5, &earlier, &p) < 0);
  CHECK(pawl_kept_cmp(5, &later, &p) > 0);
  CHECK_INT(pawl_kept_cmp(5, &p.came, &p), 0);
}

TEST_PART(kept_test) {
  the_last_four_are_known();
  places_are_in_the_order_of_events();
}
