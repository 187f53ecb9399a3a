/* test.h: a C test is a program of CHECKs that ends with `return TEST_END;`, or
 * a part of one (cmake/PawlTests.cmake), which has defined PAWL_TEST_PART.
 * Checks go on after one that fails; its place and what it saw is printed. */
#ifndef PAWL_SPEC_TEST_H
#define PAWL_SPEC_TEST_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/buf.h"

#ifdef PAWL_TEST_PART
extern int test_passed, test_failed;
#else
static int test_passed, test_failed;
#endif

#define CHECK(claim) test_check(!!(claim), #claim, __FILE__, __LINE__)
#define CHECK_INT(got, want) \
  test_int((int64_t)(got), (int64_t)(want), #got, __FILE__, __LINE__)
#define CHECK_TEXT(got, want) \
  test_text(pawl_strz(got), want, #got, __FILE__, __LINE__)
#define CHECK_STR(got, want) test_text(got, want, #got, __FILE__, __LINE__)
#define TEST_END test_end()

static inline int test_check(int ok, const char *what, const char *file,
                             int line) {
  if (ok)
    test_passed++;
  else
    test_failed++, printf("%s:%d: failed: %s\n", file, line, what);
  return ok;
}

static inline int test_int(int64_t got, int64_t want, const char *what,
                           const char *file, int line) {
  if (test_check(got == want, what, file, line)) return 1;
  printf("  got %" PRId64 ", want %" PRId64 "\n", got, want);
  return 0;
}

static inline int test_text(pawl_str got, const char *want, const char *what,
                            const char *file, int line) {
  if (test_check(pawl_str_eqz(got, want), what, file, line)) return 1;
  printf("  got  %.*s\n  want %s\n", (int)got.len, got.at, want);
  return 0;
}

static inline int test_end(void) {
  printf("%d passed, %d failed\n", test_passed, test_failed);
  return test_failed > 0;
}

/* An allocator that refuses the fail_at-th request (0: none), and so many more
 * behind it, or all; and knows what it gave: sizes that do not fit end the
 * test. */
typedef struct test_alloc {
  int64_t requests, fail_at, live_bytes;
  int for_ever, more;
} test_alloc;

static inline int test_alloc_refuses(test_alloc *a) {
  return ++a->requests >= a->fail_at && a->fail_at > 0 &&
         (a->for_ever || a->requests <= a->fail_at + a->more);
}

static inline void *test_alloc_fn(void *ud, void *ptr, size_t osize,
                                  size_t nsize) {
  test_alloc *a = ud;
  size_t *block = ptr ? (size_t *)ptr - 2 : NULL; /* its size, padding */
  if (block && *block != osize) {
    printf("a block of %zu bytes is said to have %zu\n", *block, osize);
    abort();
  }
  if (!ptr) osize = 0; /* Lua says what kind of object it is for */
  if (nsize > osize && test_alloc_refuses(a)) return NULL;
  a->live_bytes += (int64_t)nsize - (int64_t)osize;
  if (nsize == 0) return free(block), NULL;
  block = realloc(block, nsize + 2 * sizeof *block);
  if (!block) abort();
  *block = nsize;
  return block + 2;
}

#endif
