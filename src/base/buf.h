/* base/buf.h: pawl_str borrows bytes, pawl_buf owns and grows them.
 *
 * Errors   An append that cannot get memory marks the buffer `failed` and
 *          does nothing from then on; pawl_buf_check reports it once, at the
 *          end, so that building text needs no check a line.
 * Keeps    B1 at[len] is a zero byte whenever at is not NULL. */
#ifndef PAWL_BASE_BUF_H
#define PAWL_BASE_BUF_H

#include <stdarg.h>
#include <string.h>

#include "alloc.h"

typedef struct pawl_str {
  const char *at; /* may be NULL only when len is 0 and it stands for null */
  size_t len;
} pawl_str;

typedef struct pawl_buf {
  const pawl_alloc *alloc; /* NULL: the C library's */
  char *at;
  size_t len, cap;
  int failed;
} pawl_buf;

static inline pawl_str pawl_strz(const char *text) {
  pawl_str s = {text, text ? strlen(text) : 0};
  return s;
}
static inline pawl_str pawl_buf_str(const pawl_buf *b) {
  pawl_str s = {b->at ? b->at : "", b->len};
  return s;
}
static inline int pawl_str_eq(pawl_str a, pawl_str b) {
  return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}
int pawl_str_eqz(pawl_str a, const char *b);
/* Order by bytes, as memcmp; a prefix comes first. Mostly the first byte
 * tells. */
static inline int pawl_str_cmp(pawl_str a, pawl_str b) {
  size_t shared = a.len < b.len ? a.len : b.len;
  int order = 0;
  if (shared) order = (unsigned char)a.at[0] - (unsigned char)b.at[0];
  if (shared && !order) order = memcmp(a.at, b.at, shared);
  return order ? order : (a.len > b.len) - (a.len < b.len);
}
/* Copies at most size - 1 bytes of UTF-8, never cutting a character. */
void pawl_str_copy(char *to, size_t size, pawl_str from);

/* Bytes of the UTF-8 character at `at`: 1 to 4; 0: there is none. */
int pawl_utf8_length(const char *at, size_t len);
/* How many of the first len bytes remain when a character that they cut in
 * two is left out. */
size_t pawl_utf8_whole(const char *at, size_t len);

void pawl_buf_deinit(pawl_buf *b); /* frees; b may be used again */
/* len = 0, failed = 0; keeps memory */
static inline void pawl_buf_clear(pawl_buf *b) {
  b->len = 0;
  b->failed = 0;
  if (b->at) b->at[0] = '\0'; /* B1 */
}

/* What follows is inline as far as there is room, which is the rule: most of
 * a step's time would go into the calls otherwise. */

/* Makes room for n more bytes and the zero behind them; 0: no memory. */
int pawl_buf_grow(pawl_buf *b, size_t n);
/* Room for n more bytes: where to write them, or NULL. The caller then adds
 * what it wrote to b->len with pawl_buf_grew. */
static inline char *pawl_buf_room(pawl_buf *b, size_t n) {
  if (b->failed || (n >= b->cap - b->len && !pawl_buf_grow(b, n))) return NULL;
  return b->at + b->len;
}
static inline void pawl_buf_grew(pawl_buf *b, size_t n) {
  b->len += n;
  b->at[b->len] = '\0';
}

/* Appended bytes must not be the buffer's own: it may move. */
static inline void pawl_buf_add(pawl_buf *b, const void *bytes, size_t len) {
  char *to = pawl_buf_room(b, len);
  if (!to) return;
  if (!bytes) len = 0;
  if (len > 0) memcpy(to, bytes, len);
  pawl_buf_grew(b, len);
}
static inline void pawl_buf_adds(pawl_buf *b, pawl_str s) {
  pawl_buf_add(b, s.at, s.len);
}
static inline void pawl_buf_addz(pawl_buf *b, const char *text) {
  pawl_buf_add(b, text, strlen(text));
}
static inline void pawl_buf_addc(pawl_buf *b, char c) {
  char *to = pawl_buf_room(b, 1);
  if (!to) return;
  *to = c;
  pawl_buf_grew(b, 1);
}
void pawl_buf_addi(pawl_buf *b, int64_t n); /* decimal */
void pawl_buf_addf(pawl_buf *b, const char *fmt, ...) PAWL_PRINTF(2, 3);
static inline void pawl_buf_swap(pawl_buf *a, pawl_buf *b) {
  pawl_buf was = *a;
  *a = *b;
  *b = was;
}
/* PAWL_NOMEM when an append failed. */
pawl_code pawl_buf_check(const pawl_buf *b, pawl_error *err);
/* Hands the text over, zero-terminated, also an empty one; *b is empty
 * afterwards. The block's size is *cap. NULL when an append failed. */
char *pawl_buf_take(pawl_buf *b, size_t *cap);

#endif
