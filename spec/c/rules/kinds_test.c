/* Every kind has rules, which fit together and with its shape. */
#include "kit.h"

TEST_PART(kinds_test) {
  for (int i = 0; i < PAWL_NKINDS; i++) {
    const pawl_kind_rules *kind = pawl_kinds[i];
    if (!CHECK(kind != NULL)) continue;
    CHECK(kind->enter != NULL);
    CHECK_INT(kind->letter != NULL, kind->take != NULL);
    /* who waits for what the store may hold can have a time limit */
    if (pawl_kind_shapes[i].waits_for && kind->letter)
      CHECK(kind->time_out != NULL);
    if (kind->has_scope) CHECK(kind->gathers);
    if (kind->has_children) CHECK(kind->letter != NULL);
    for (int k = 0; k < i; k++) CHECK(pawl_kinds[k] != kind);
  }
  CHECK(pawl_kinds[PAWL_KIND_STEP] == &pawl_kind_step);
  CHECK(pawl_kinds[PAWL_KIND_JOIN] == &pawl_kind_join);
}
