#include "base64.h"

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void pawl_base64_encode(pawl_str bytes, pawl_buf *out) {
  for (size_t i = 0; i < bytes.len; i += 3) {
    size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
    unsigned v = 0;
    for (size_t k = 0; k < 3; k++)
      v = v << 8 | (k < n ? (unsigned char)bytes.at[i + k] : 0u);
    for (size_t k = 0; k < 4; k++)
      pawl_buf_addc(out, k <= n ? digits[v >> (18 - 6 * k) & 63] : '=');
  }
}

static int digit_value(char c) {
  const char *at = c ? strchr(digits, c) : NULL;
  return at ? (int)(at - digits) : -1;
}

int pawl_base64_decode(pawl_str text, pawl_buf *out) {
  size_t len = text.len;

  if (len % 4) return 0;
  /* the text may move with the buffer: make room first, then read by index */
  int inside = out->at && text.at >= out->at && text.at < out->at + out->len;
  size_t offset = inside ? (size_t)(text.at - out->at) : 0;
  char *to = pawl_buf_room(out, len / 4 * 3 + 1);
  if (!to) return 0;
  const char *from = inside ? out->at + offset : text.at;
  size_t pad =
      len && from[len - 1] == '=' ? (from[len - 2] == '=' ? 2 : 1) : 0;
  size_t n = 0;
  for (size_t i = 0; i < len; i += 4) {
    unsigned v = 0;
    for (size_t k = 0; k < 4; k++) {
      int d = i + k >= len - pad ? 0 : digit_value(from[i + k]);
      if (d < 0) return 0;
      v = v << 6 | (unsigned)d;
    }
    for (size_t k = 0; k < 3; k++) to[n++] = (char)(v >> (16 - 8 * k) & 255u);
  }
  pawl_buf_grew(out, n - pad);
  return 1;
}
