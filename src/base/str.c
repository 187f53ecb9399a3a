#include "str.h"

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

  if (len == 0) return 0;
  if (s[0] < 0x80) return 1;
  if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
  int n = (int)announced(s[0]);
  if ((size_t)n > len) return 0;
  if (s[0] == 0xe0) low = 0xa0;
  if (s[0] == 0xed) high = 0x9f;
  if (s[0] == 0xf0) low = 0x90;
  if (s[0] == 0xf4) high = 0x8f;
  if (s[1] < low || s[1] > high) return 0;
  for (int i = 2; i < n; i++)
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
