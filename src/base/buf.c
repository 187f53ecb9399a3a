#include "buf.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>

#define LEAST_CAP 64 /* most short texts need one block */

void pawl_buf_deinit(pawl_buf *b) {
  if (!b) return;
  if (b->at) pawl_release(b->alloc, b->at, b->cap);
  b->at = NULL;
  b->len = b->cap = 0;
  b->failed = 0;
}

/* Doubles, so that a long text built in small pieces is copied a few times,
 * not once a piece. */
int pawl_buf_grow(pawl_buf *b, size_t n) {
  size_t cap = b->cap ? b->cap : LEAST_CAP;
  char *at;

  if (n > SIZE_MAX / 4 - b->len) { /* doubling shall not overflow */
    b->failed = 1;
    return 0;
  }
  while (cap < b->len + n + 1) cap *= 2;
  at = pawl_realloc(b->alloc, b->at, b->cap, cap);
  if (!at) {
    b->failed = 1;
    return 0;
  }
  b->at = at;
  b->cap = cap;
  at[b->len] = '\0'; /* B1, also when the caller then adds nothing */
  assert(b->cap - b->len > n);
  return 1;
}

void pawl_buf_addi(pawl_buf *b, int64_t n) {
  char digits[20]; /* of 2^63, and a sign */
  size_t at = sizeof digits;
  /* 0 - x: the smallest integer has no positive twin. */
  uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

  do digits[--at] = (char)('0' + rest % 10);
  while ((rest /= 10) > 0);
  if (n < 0) digits[--at] = '-';
  pawl_buf_add(b, digits + at, sizeof digits - at);
}

void pawl_buf_addf(pawl_buf *b, const char *fmt, ...) {
  size_t room = 128;
  int n, tries;

  for (tries = 0; tries < 2; tries++) {
    char *to = pawl_buf_room(b, room);
    va_list args;
    if (!to) return;
    va_start(args, fmt);
    n = vsnprintf(to, room + 1, fmt, args);
    va_end(args);
    if (n >= 0 && (size_t)n <= room) {
      pawl_buf_grew(b, (size_t)n);
      return;
    }
    *to = '\0';
    if (n < 0) break;
    room = (size_t)n;
  }
  b->failed = 1; /* the C library could not format it: no memory either */
}

pawl_code pawl_buf_check(const pawl_buf *b, pawl_error *err) {
  if (!b->failed) return PAWL_OK;
  return pawl_fail(err, PAWL_NOMEM, "out of memory after %zu bytes of text",
                   b->len);
}
