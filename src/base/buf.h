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
int pawl_str_eq(pawl_str a, pawl_str b);
int pawl_str_eqz(pawl_str a, const char *b);
/* Order by bytes, as memcmp; a prefix comes first. */
int pawl_str_cmp(pawl_str a, pawl_str b);
/* Copies at most size - 1 bytes of UTF-8, never cutting a character. */
void pawl_str_copy(char *to, size_t size, pawl_str from);

/* Bytes of the UTF-8 character at `at`: 1 to 4; 0: there is none. */
int pawl_utf8_length(const char *at, size_t len);
/* How many of the first len bytes remain when a character that they cut in
 * two is left out. */
size_t pawl_utf8_whole(const char *at, size_t len);

/* Appended bytes must not be the buffer's own: it may move. */
void pawl_buf_deinit(pawl_buf *b); /* frees; b may be used again */
void pawl_buf_clear(pawl_buf *b);  /* len = 0, failed = 0; keeps memory */
void pawl_buf_add(pawl_buf *b, const void *bytes, size_t len);
void pawl_buf_adds(pawl_buf *b, pawl_str s);
void pawl_buf_addz(pawl_buf *b, const char *text);
void pawl_buf_addc(pawl_buf *b, char c);
void pawl_buf_addi(pawl_buf *b, int64_t n); /* decimal */
void pawl_buf_addf(pawl_buf *b, const char *fmt, ...) PAWL_PRINTF(2, 3);
/* Room for n more bytes: where to write them, or NULL. The caller then adds
 * what it wrote to b->len with pawl_buf_grew. */
char *pawl_buf_room(pawl_buf *b, size_t n);
void pawl_buf_grew(pawl_buf *b, size_t n);
/* PAWL_NOMEM when an append failed. */
pawl_code pawl_buf_check(const pawl_buf *b, pawl_error *err);
/* Hands the text over, zero-terminated, also an empty one; *b is empty
 * afterwards. The block's size is *cap. NULL when an append failed. */
char *pawl_buf_take(pawl_buf *b, size_t *cap);

#endif
