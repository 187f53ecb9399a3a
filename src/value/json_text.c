/* Characters, escapes, strings; and where in a text one is. */
#include "json_parts.h"

/* The last eight bytes, or four, may overlap those before. */
static int is_ascii(pawl_str s) {
  uint64_t all = 0;
  if (s.len >= 8) {
    for (size_t i = 0; i + 8 < s.len; i += 8) all |= load64(s.at + i);
    all |= load64(s.at + s.len - 8);
  } else if (s.len >= 4) {
    all = load32(s.at) | load32(s.at + s.len - 4);
  } else {
    for (size_t i = 0; i < s.len; i++) all |= (unsigned char)s.at[i];
  }
  return !(all & HIGH_BITS);
}

int pawl_utf8_check(pawl_str s, size_t *at) {
  size_t here = 0;
  if (is_ascii(s)) return 1;
  while (here < s.len) {
    if (s.len - here >= 8 && !(load64(s.at + here) & HIGH_BITS)) {
      here += 8;
      continue;
    }
    int n = pawl_utf8_length(s.at + here, s.len - here);
    if (n == 0) {
      *at = here;
      return 0;
    }
    here += (size_t)n;
  }
  return 1;
}

void pawl_json_locate(pawl_str text, size_t at, pawl_error *err) {
  size_t i, line = 1, column = 1;
  if (!err) return;
  for (i = 0; i < at && i < text.len; i++) {
    if (text.at[i] == '\n') {
      line++;
      column = 1;
    } else if ((text.at[i] & 0xc0) != 0x80) {
      column++; /* the bytes that continue a character do not count */
    }
  }
  pawl_error_where(err, "%zu:%zu", line, column);
}

/* ---- escapes ---- */

static int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* The four digits of a \u escape that begins at `at`; -1: it is none. */
static long read_unit(const char *at, const char *end) {
  long unit = 0;
  if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return -1;
  for (int i = 2; i < 6; i++) {
    int digit = hex_digit(at[i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

size_t pawl_utf8_put(char to[4], long c) {
  if (c < 0x80) {
    to[0] = (char)c;
    return 1;
  }
  if (c < 0x800) {
    to[0] = (char)(0xc0 | c >> 6);
    to[1] = (char)(0x80 | (c & 0x3f));
    return 2;
  }
  if (c < 0x10000) {
    to[0] = (char)(0xe0 | c >> 12);
    to[1] = (char)(0x80 | (c >> 6 & 0x3f));
    to[2] = (char)(0x80 | (c & 0x3f));
    return 3;
  }
  to[0] = (char)(0xf0 | c >> 18);
  to[1] = (char)(0x80 | (c >> 12 & 0x3f));
  to[2] = (char)(0x80 | (c >> 6 & 0x3f));
  to[3] = (char)(0x80 | (c & 0x3f));
  return 4;
}

const char *pawl_json_unescape(const char *at, const char *end, char to[4],
                               size_t *n) {
  static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
  const char *known;
  long unit, low;

  if (end - at < 2) return NULL;
  if (at[1] != 'u') {
    known = memchr(from, at[1], sizeof from - 1);
    if (!known) return NULL;
    to[0] = into[known - from];
    *n = 1;
    return at + 2;
  }
  unit = read_unit(at, end);
  if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff)) return NULL;
  at += 6;
  if (unit >= 0xd800 && unit <= 0xdbff) { /* the first half of a pair */
    low = read_unit(at, end);
    if (low < 0xdc00 || low > 0xdfff) return NULL;
    unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    at += 6;
  }
  *n = pawl_utf8_put(to, unit);
  return at;
}

void pawl_json_add_unescaped(pawl_buf *out, pawl_str raw) {
  const char *at = raw.at, *end = raw.at + raw.len;
  while (at < end) {
    const char *escape = memchr(at, '\\', (size_t)(end - at)), *after;
    char c[4];
    size_t n;
    pawl_buf_add(out, at, (size_t)((escape ? escape : end) - at));
    if (!escape) return;
    after = pawl_json_unescape(escape, end, c, &n);
    if (!after) return; /* not the valid text that was promised */
    pawl_buf_add(out, c, n);
    at = after;
  }
}

/* ---- strings ---- */

static void add_escape(pawl_buf *b, unsigned char c) {
  static const char digits[] = "0123456789abcdef";
  static const char short_ones[] = "btn\0fr"; /* for 8 to 13 */
  char text[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
  size_t n = sizeof text;

  if (c == '"' || c == '\\') {
    text[1] = (char)c;
    n = 2;
  } else if (c >= 8 && c <= 13 && short_ones[c - 8]) {
    text[1] = short_ones[c - 8];
    n = 2;
  }
  pawl_buf_add(b, text, n);
}

/* Needs no escapes. */
static void add_quoted(pawl_buf *b, pawl_str s) {
  char *to = pawl_buf_room(b, s.len + 2);
  if (!to) return;
  to[0] = to[s.len + 1] = '"';
  if (s.len > 0) memcpy(to + 1, s.at, s.len);
  pawl_buf_grew(b, s.len + 2);
}

/* `bad` NULL: what is not UTF-8 is replaced. */
int pawl_json_add_checked(pawl_buf *b, pawl_str s, size_t *bad) {
  const char *at = s.at, *run = s.at, *end = s.at;

  if (s.len > 0) end += s.len;
  if (at == end || (at = skip_plain(at, end)) == end) {
    add_quoted(b, s);
    return 1;
  }
  pawl_buf_addc(b, '"');
  while (at < end && (at = skip_plain(at, end)) < end) {
    int n = pawl_utf8_length(at, (size_t)(end - at));
    if (n > 1) {
      at += n;
      continue;
    }
    if (n == 0 && bad) {
      *bad = (size_t)(at - s.at);
      return 0;
    }
    pawl_buf_add(b, run, (size_t)(at - run));
    if (n == 1)
      add_escape(b, (unsigned char)*at);
    else
      pawl_buf_addz(b, "\xef\xbf\xbd"); /* U+FFFD */
    run = ++at;
  }
  pawl_buf_add(b, run, (size_t)(end - run));
  pawl_buf_addc(b, '"');
  return 1;
}

void pawl_json_add_string(pawl_buf *b, pawl_str s) {
  (void)pawl_json_add_checked(b, s, NULL);
}
