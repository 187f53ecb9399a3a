/* A part of an allocator: what is counted, what is refused. */
#include "../../src/base/ration.h"
#include "test.h"

static void it_counts(void) {
  test_alloc given = {0};
  pawl_ration r = {.of = {test_alloc_fn, &given}};
  pawl_alloc a = pawl_ration_alloc(&r);
  void *block = pawl_realloc(&a, NULL, 0, 100), *zeros;

  CHECK_INT(r.used, 100);
  block = pawl_realloc(&a, block, 100, 40);
  CHECK_INT(r.used, 40);
  CHECK_INT(r.peak, 100);
  zeros = pawl_ration_calloc(&r, 1000);
  if (CHECK(zeros)) CHECK_INT(((char *)zeros)[999], 0);
  CHECK_INT(r.used, 1040);
  CHECK_INT(r.peak, 1040);
  pawl_release(&a, zeros, 1000);
  pawl_release(&a, block, 40);
  CHECK_INT(r.used, 0);
  CHECK_INT(r.refused, 0);
  CHECK_INT(given.live_bytes, 0);
  CHECK(!pawl_ration_is_short(&r)); /* without a limit it never is */
}

/* For a new block Lua passes what it is for, where the old size stands. */
static void lua_says_what_it_is_for(void) {
  pawl_ration r = {.limit = 1000};
  pawl_alloc a = pawl_ration_alloc(&r), over = pawl_ration_alloc_over(&r);
  void *x = a.fn(a.ud, NULL, 5, 20), *y = over.fn(over.ud, NULL, 5, 20);

  CHECK_INT(r.used, 40);
  pawl_release(&a, x, 20);
  pawl_release(&over, y, 20);
  CHECK_INT(r.used, 0);
}

static void it_ends_at_its_limit(void) {
  pawl_ration r = {.limit = 800};
  pawl_alloc a = pawl_ration_alloc(&r), over = pawl_ration_alloc_over(&r);
  void *block = pawl_realloc(&a, NULL, 0, 700), *more;

  CHECK(!pawl_ration_is_short(&r));
  CHECK(!pawl_realloc(&a, NULL, 0, 101));
  CHECK(!pawl_ration_calloc(&r, 101));
  CHECK(!pawl_ration_calloc(&r, SIZE_MAX));
  CHECK(!pawl_realloc(&a, block, 700, SIZE_MAX));
  CHECK_INT(r.refused, 4);
  CHECK_INT(r.used, 700);
  block = pawl_realloc(&a, block, 700, 800); /* to the last byte */
  CHECK(block && pawl_ration_is_short(&r));
  more = pawl_realloc(&over, NULL, 0, 500); /* who stops by himself */
  CHECK(more != NULL);
  CHECK_INT(r.used, 1300);
  CHECK(!pawl_realloc(&a, NULL, 0, 1));
  block = pawl_realloc(&a, block, 800, 10); /* giving back is never refused */
  CHECK_INT(r.used, 510);
  pawl_release(&a, block, 10);
  pawl_release(&over, more, 500);
  CHECK_INT(r.peak, 1300);
}

static void what_the_allocator_refuses_is_counted(void) {
  test_alloc given = {.fail_at = 1, .for_ever = 1};
  pawl_ration r = {.of = {test_alloc_fn, &given}};
  pawl_alloc a = pawl_ration_alloc(&r), over = pawl_ration_alloc_over(&r);

  CHECK(!pawl_realloc(&a, NULL, 0, 10));
  CHECK(!pawl_realloc(&over, NULL, 0, 10));
  CHECK(!pawl_ration_calloc(&r, 10));
  CHECK_INT(r.refused, 3);
  CHECK_INT(r.used, 0);
}

int main(void) {
  it_counts();
  lua_says_what_it_is_for();
  it_ends_at_its_limit();
  what_the_allocator_refuses_is_counted();
  return TEST_END;
}
