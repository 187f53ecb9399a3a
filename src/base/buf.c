#include "buf.h"

#include <stdint.h>
#include <stdio.h>

#define LEAST_CAP 64 /* most short texts need one block */

int pawl_str_eqz(pawl_str a, const char *b) {
  return pawl_str_eq(a, pawl_strz(b));
}

void pawl_str_copy(char *to, size_t size, pawl_str from) {
  size_t n = from.len;
  if (size == 0) return;
  if (n >= size) n = pawl_utf8_whole(from.at, size - 1);
  if (n > 0) memcpy(to, from.at, n);
  to[n] = '\0';
}

/* What a first byte announces, when it is one. */
static size_t announced(unsigned char first) {
  if (first < 0xc0) return 1;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* The second byte's range depends on the first (RFC 3629, section 4): that
 * keeps out long forms, surrogates and what lies beyond U+10FFFF. */
int pawl_utf8_length(const char *at, size_t len) {
  const unsigned char *s = (const unsigned char *)at;
  unsigned char low = 0x80, high = 0xbf;
  int n, i;

  if (len == 0) return 0;
  if (s[0] < 0x80) return 1;
  if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
  n = (int)announced(s[0]);
  if ((size_t)n > len) return 0;
  if (s[0] == 0xe0) low = 0xa0;
  if (s[0] == 0xed) high = 0x9f;
  if (s[0] == 0xf0) low = 0x90;
  if (s[0] == 0xf4) high = 0x8f;
  if (s[1] < low || s[1] > high) return 0;
  for (i = 2; i < n; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  return n;
}

size_t pawl_utf8_whole(const char *at, size_t len) {
  const unsigned char *s = (const unsigned char *)at;
  size_t lead = len, back;

  for (back = 0; lead > 0 && back < 4; back++) {
    lead--;
    if ((s[lead] & 0xc0) != 0x80) break; /* where the last one begins */
  }
  if (lead == len || announced(s[lead]) <= len - lead) return len;
  return lead;
}

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

char *pawl_buf_take(pawl_buf *b, size_t *cap) {
  char *text = pawl_buf_room(b, 0); /* an empty text is a block, too */

  if (!text) {
    pawl_buf_deinit(b);
    return NULL;
  }
  text = b->at;
  *cap = b->cap;
  b->at = NULL;
  b->len = b->cap = 0;
  return text;
}
