/* Marks: short lists that are copied, compared, and kept without memory. */
#include "kit.h"

static void they_are_copied_and_compared(void) {
  pawl_marks a = {0}, b = {0};
  pawl_marks_add(&a, NULL, "close", 4, pawl_strz(NULL));
  pawl_marks_add(&a, NULL, "shop.*", 1, pawl_strz("17"));
  CHECK(!pawl_marks_same(&a, &b));
  pawl_marks_copy(&b, &a, NULL);
  CHECK(pawl_marks_same(&a, &b));
  CHECK(!b.at[0].has_key && b.at[1].has_key);
  pawl_buf_set(&b.at[1].key, pawl_strz("18"));
  CHECK(!pawl_marks_same(&a, &b));
  pawl_marks_clear(&b);
  CHECK_INT(b.n, 0);
  pawl_marks_deinit(&a, NULL);
  pawl_marks_deinit(&b, NULL);
}

static void without_memory_a_list_has_failed(void) {
  test_alloc counted = {.fail_at = 1, .for_ever = 1};
  pawl_alloc alloc = {test_alloc_fn, &counted};
  pawl_marks m = {0};
  pawl_marks_add(&m, &alloc, "close", 4, pawl_strz(NULL));
  CHECK(m.failed);
  CHECK_INT(m.n, 0);
  pawl_marks_clear(&m);
  CHECK(!m.failed);
  pawl_marks_add(&m, NULL, NULL, 4, pawl_strz(NULL)); /* nor for its name */
  CHECK(m.failed);
  pawl_marks_deinit(&m, &alloc);
}

TEST_PART(marks_test) {
  they_are_copied_and_compared();
  without_memory_a_list_has_failed();
}
