/* base/buf.h: text that owns its bytes, and grows.
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
#include "str.h"

typedef struct pawl_buf {
  const pawl_alloc *alloc; /* NULL: the C library's */
  char *at;
  size_t len, cap;
  int failed;
} pawl_buf;

static inline pawl_str pawl_buf_str(const pawl_buf *b) {
  pawl_str s = {b->at ? b->at : "", b->len};
  return s;
}
/* The text when it is given, else null; null too when it is empty. */
static inline pawl_str pawl_buf_given(const pawl_buf *b, int given) {
  pawl_str none = {NULL, 0};
  return given ? pawl_buf_str(b) : none;
}
static inline pawl_str pawl_buf_some(const pawl_buf *b) {
  return pawl_buf_given(b, b->len > 0);
}
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
/* Instead of what it held. */
static inline void pawl_buf_set(pawl_buf *b, pawl_str s) {
  pawl_buf_clear(b);
  pawl_buf_add(b, s.at, s.len);
}
/* The same; a text that could not be built stays known as such. */
static inline void pawl_buf_copy(pawl_buf *to, const pawl_buf *from) {
  pawl_buf_clear(to);
  if (from->len) pawl_buf_add(to, from->at, from->len);
  if (from->failed) to->failed = 1;
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

#endif
