/* The events that a `match` has turned down: found by their whole id alone. */
#include "rules/asked.h"

#include "kit.h"

static void an_id_is_found_whole(void) {
  pawl_token t = {0};
  CHECK(!pawl_asked_has(&t, pawl_strz("s:1")));
  pawl_asked_add(&t, pawl_strz("s:12"));
  pawl_asked_add(&t, pawl_strz("s:\"q\""));
  CHECK(t.changed);
  CHECK_INT(pawl_asked_count(&t), 2);
  CHECK(pawl_asked_has(&t, pawl_strz("s:12")));
  CHECK(pawl_asked_has(&t, pawl_strz("s:\"q\"")));
  CHECK(!pawl_asked_has(&t, pawl_strz("s:1")));
  CHECK(!pawl_asked_has(&t, pawl_strz("q")));
  pawl_asked_clear(&t);
  CHECK_INT(pawl_asked_count(&t), 0);
  CHECK(!pawl_asked_has(&t, pawl_strz("s:12")));
  pawl_detail_free(&t);
}

static void many_are_looked_up_as_one_would_be(void) {
  pawl_token t = {0};
  pawl_asked asked;
  char id[16];
  CHECK_INT(pawl_asked_read(&t, &asked, NULL), PAWL_OK);
  CHECK(!pawl_asked_in(&asked, &t, pawl_strz("s:0")));
  for (int i = 0; i < 50; i += 2) {
    snprintf(id, sizeof id, "s:%d", i);
    pawl_asked_add(&t, pawl_strz(id));
  }
  CHECK_INT(pawl_asked_read(&t, &asked, NULL), PAWL_OK);
  CHECK_INT(asked.n, 25);
  for (int i = 0; i < 50; i++) {
    snprintf(id, sizeof id, "s:%d", i);
    CHECK_INT(pawl_asked_in(&asked, &t, pawl_strz(id)), i % 2 == 0);
    CHECK_INT(pawl_asked_has(&t, pawl_strz(id)), i % 2 == 0);
  }
  pawl_asked_free(&asked);
  pawl_detail_free(&t);
}

TEST_PART(asked_test) {
  an_id_is_found_whole();
  many_are_looked_up_as_one_would_be();
}
