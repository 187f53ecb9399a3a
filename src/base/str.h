/* base/str.h: text that borrows its bytes, and where its characters end. */
#ifndef PAWL_BASE_STR_H
#define PAWL_BASE_STR_H

#include <string.h>

typedef struct pawl_str {
  const char *at; /* may be NULL only when len is 0 and it stands for null */
  size_t len;
} pawl_str;

static inline pawl_str pawl_strz(const char *text) {
  pawl_str s = {text, text ? strlen(text) : 0};
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

#endif
