#include "json.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- characters -------------------------------------------------------- */

/* Eight bytes at a time: the tests below set a byte's high bit where that
 * byte is wanted. A borrow may set one falsely, but only beside a true one. */
#define EACH_BYTE(c) (UINT64_C(0x0101010101010101) * (c))
#define HIGH_BITS EACH_BYTE(0x80)

static uint64_t load64(const char *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

static uint64_t load32(const char *at) {
  uint32_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

static uint64_t bytes_below(uint64_t word, unsigned char c) {
  return word - EACH_BYTE((uint64_t)c);
}

/* Of ASCII; another byte may be marked as well. */
static uint64_t bytes_equal(uint64_t word, unsigned char c) {
  return bytes_below(word ^ EACH_BYTE((uint64_t)c), 1);
}

/* ASCII that stands for itself inside a string. */
static int is_plain(unsigned char c) {
  return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Of eight bytes at `at`, the place of the first whose high bit is set in
 * `marks`, which is not 0. */
static const char *first_marked(const char *at, uint64_t marks) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  return at + __builtin_ctzll(marks) / 8;
#else
  (void)marks;
  while (is_plain((unsigned char)*at)) at++;
  return at;
#endif
}

static uint64_t not_plain(uint64_t w) {
  w |= bytes_below(w, 0x20) | bytes_equal(w, '"') | bytes_equal(w, '\\');
  return w & HIGH_BITS;
}

static const char *skip_plain(const char *at, const char *end) {
  for (; end - at >= 8; at += 8) {
    uint64_t marks = not_plain(load64(at));
    if (marks) return first_marked(at, marks);
  }
  /* 4 to 7 bytes are two words of four that overlap */
  if (end - at >= 4 && !not_plain(load32(at) | load32(end - 4) << 32))
    return end;
  while (at < end && is_plain((unsigned char)*at)) at++;
  return at;
}

static int is_space(char c) {
  if ((unsigned char)c > ' ') return 0; /* mostly */
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static int is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* The last eight bytes, or four, may overlap those before. */
static int is_ascii(pawl_str s) {
  uint64_t all = 0;
  size_t i;
  if (s.len >= 8) {
    for (i = 0; i + 8 < s.len; i += 8) all |= load64(s.at + i);
    all |= load64(s.at + s.len - 8);
  } else if (s.len >= 4) {
    all = load32(s.at) | load32(s.at + s.len - 4);
  } else {
    for (i = 0; i < s.len; i++) all |= (unsigned char)s.at[i];
  }
  return !(all & HIGH_BITS);
}

int pawl_utf8_check(pawl_str s, size_t *at) {
  size_t here = 0;
  if (is_ascii(s)) return 1;
  while (here < s.len) {
    int n;
    if (s.len - here >= 8 && !(load64(s.at + here) & HIGH_BITS)) {
      here += 8;
      continue;
    }
    n = pawl_utf8_length(s.at + here, s.len - here);
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

/* ---- escapes ----------------------------------------------------------- */

static int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* The four digits of a \u escape that begins at `at`; -1: it is none. */
static long read_unit(const char *at, const char *end) {
  long unit = 0;
  int i;
  if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return -1;
  for (i = 2; i < 6; i++) {
    int digit = hex_digit(at[i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

static size_t put_utf8(char *to, long c) {
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

/* The character that the escape at `at` stands for goes to `to`, its length
 * to *n. Returns the end of the escape, or NULL when there is no such one. */
static const char *unescape(const char *at, const char *end, char to[4],
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
  *n = put_utf8(to, unit);
  return at;
}

/* Appends raw text (no quotes around it) without its escapes. */
static void add_unescaped(pawl_buf *out, pawl_str raw) {
  const char *at = raw.at, *end = raw.at + raw.len;
  while (at < end) {
    const char *escape = memchr(at, '\\', (size_t)(end - at)), *after;
    char c[4];
    size_t n;
    pawl_buf_add(out, at, (size_t)((escape ? escape : end) - at));
    if (!escape) return;
    after = unescape(escape, end, c, &n);
    if (!after) return; /* not the valid text that was promised */
    pawl_buf_add(out, c, n);
    at = after;
  }
}

static int has_escape(pawl_str raw) {
  return raw.len > 0 && memchr(raw.at, '\\', raw.len) != NULL;
}

/* ---- numbers ----------------------------------------------------------- */

/* No double needs more digits to be told from its neighbours; of the others
 * it only matters whether one is not zero. */
#define MOST_DIGITS 780

/* In wider registers a result is rounded a second time when it is stored. */
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
#define ROUNDS_ONCE 1
#else
#define ROUNDS_ONCE 0
#endif

typedef struct number {
  const char *end;
  const char *hint; /* for a problem that has one */
  int is_float;
  int64_t i;
  double d;
} number;

/* A decimal number, digits * 10^scale. */
typedef struct decimal {
  char digits[MOST_DIGITS + 24]; /* and an exponent */
  size_t n;
  int64_t scale;
} decimal;

/* What is cut off makes the last digit odd, so that the number lies on the
 * same side of every half-way point (whose last digit here would be 0). */
static void add_digit(decimal *x, char digit) {
  if (x->n == 0 && digit == '0') return;
  if (x->n < MOST_DIGITS) {
    x->digits[x->n++] = digit;
    return;
  }
  x->scale++;
  if (digit != '0') x->digits[MOST_DIGITS - 1] |= 1;
}

/* The float nearest to x. */
static double decimal_value(decimal *x) {
  static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  uint64_t whole = 0;
  size_t i;

  if (x->n == 0) return 0.0;
  if (x->scale > 400) return HUGE_VAL;
  if (x->scale < -2000) return 0.0; /* at most 780 digits before that */
  /* Both numbers are exact, and one operation rounds once (Clinger). */
  if (ROUNDS_ONCE && x->n <= 15 && x->scale >= -22 && x->scale <= 22) {
    for (i = 0; i < x->n; i++) whole = whole * 10 + (x->digits[i] - '0');
    return x->scale < 0 ? (double)whole / tens[-x->scale]
                        : (double)whole * tens[x->scale];
  }
  /* Without a point there is nothing for a locale to change. */
  snprintf(x->digits + x->n, 24, "e%d", (int)x->scale);
  return strtod(x->digits, NULL);
}

/* Reads what follows a number's integer digits: .5e+3 */
static const char *read_rest(number *num, const char *at, const char *end,
                             decimal *x) {
  int64_t exponent = 0;
  int sign = 1;

  if (at < end && *at == '.') {
    if (++at == end || !is_digit(*at)) {
      num->end = at;
      return "a digit must follow the decimal point";
    }
    for (; at < end && is_digit(*at); at++) {
      x->scale--;
      add_digit(x, *at);
    }
  }
  if (at < end && (*at == 'e' || *at == 'E')) {
    at++;
    if (at < end && (*at == '+' || *at == '-')) sign = *at++ == '-' ? -1 : 1;
    if (at == end || !is_digit(*at)) {
      num->end = at;
      return "a number's exponent needs a digit";
    }
    for (; at < end && is_digit(*at); at++)
      if (exponent < INT64_MAX / 100) exponent = exponent * 10 + (*at - '0');
  }
  x->scale += sign * exponent;
  num->end = at;
  return NULL;
}

/* The float written at `at`, whose integer digits end at `rest`. */
static const char *read_float(number *num, const char *at, const char *rest,
                              const char *end) {
  decimal x;
  int negative = *at == '-';
  const char *problem, *digit;

  x.n = 0;
  x.scale = 0;
  for (digit = at + negative; digit < rest; digit++) add_digit(&x, *digit);
  problem = read_rest(num, rest, end, &x);
  if (problem) return problem;
  num->is_float = 1;
  num->d = decimal_value(&x);
  if (num->d > DBL_MAX) {
    num->end = at;
    num->hint = "write it as a string";
    return "the number is too large for a float";
  }
  if (negative) num->d = -num->d;
  return NULL;
}

/* The number at `at`; NULL, or what is wrong at num->end. */
static const char *read_number(number *num, const char *at, const char *end) {
  const char *begin = at;
  uint64_t n = 0, most = INT64_MAX;
  int fits = 1;

  num->is_float = 0;
  num->hint = NULL;
  if (at < end && *at == '-') {
    at++;
    most++; /* there is one more negative integer */
  }
  num->end = at;
  if (at == end || !is_digit(*at)) return "a number needs a digit";
  if (*at == '0' && end - at > 1 && is_digit(at[1]))
    return "a number must not begin with 0";
  for (; at < end && is_digit(*at); at++) {
    if (n > (uint64_t)INT64_MAX / 10) fits = 0;
    n = n * 10 + (uint64_t)(*at - '0');
  }
  if (at < end && (*at == '.' || *at == 'e' || *at == 'E'))
    return read_float(num, begin, at, end);
  if (!fits || n > most) {
    num->end = begin;
    num->hint = "write it as a string, or as a float: 1e30";
    return "the integer does not fit 64 bits";
  }
  num->end = at;
  num->i = *begin == '-' ? (int64_t)(0 - n) : (int64_t)n;
  return NULL;
}

/* ---- the reader -------------------------------------------------------- */

/* What may come next, white space aside:
 *
 *   state       a value   a key   , or close   close   the end
 *   VALUE         yes                                            after : or ,
 *   FIRST_ITEM    yes                            ]               after [
 *   FIRST_KEY               yes                  }               after {
 *   KEY                     yes                                  after , in {
 *   COMMA                          yes                           after a value
 *   NOTHING                                              yes     at the end */
enum { VALUE, FIRST_ITEM, FIRST_KEY, KEY, COMMA, NOTHING };

void pawl_json_reader_init(pawl_json_reader *r, pawl_str text,
                           const pawl_alloc *alloc) {
  memset(r, 0, sizeof *r);
  r->text = text;
  r->scratch.alloc = alloc;
  r->state = VALUE;
}

void pawl_json_reader_deinit(pawl_json_reader *r) {
  pawl_buf_deinit(&r->scratch);
}

static pawl_code bad_text(const pawl_json_reader *r, size_t at,
                          const char *problem, pawl_error *err) {
  pawl_fail(err, PAWL_VALUE, "%s", problem);
  pawl_json_locate(r->text, at, err);
  return PAWL_VALUE;
}

static pawl_code unexpected(const pawl_json_reader *r, const char *wanted,
                            pawl_error *err) {
  unsigned char c;
  if (!err) return PAWL_VALUE;
  if (r->at >= r->text.len) {
    pawl_fail(err, PAWL_VALUE, "%s expected, but the text ends", wanted);
  } else {
    c = (unsigned char)r->text.at[r->at];
    if (c > 0x20 && c < 0x7f)
      pawl_fail(err, PAWL_VALUE, "%s expected, not '%c'", wanted, c);
    else
      pawl_fail(err, PAWL_VALUE, "%s expected, not the byte 0x%02x", wanted,
                c);
  }
  pawl_json_locate(r->text, r->at, err);
  return PAWL_VALUE;
}

/* Of a reader inside some container. */
static inline int is_in_object(const pawl_json_reader *r) {
  return r->stack[r->depth - 1] == PAWL_JSON_OBJECT;
}

static inline void after_value(pawl_json_reader *r) {
  r->state = r->depth > 0 ? COMMA : NOTHING;
}

static const char *string_problem(unsigned char c) {
  if (c >= 0x80) return "the text is not UTF-8";
  if (c < 0x20) return "a control character in a string must be escaped";
  return "no such escape: \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\uXXXX, "
         "surrogates in pairs";
}

/* Reads the string at r->at, where its quote stands, into r->str. Without
 * escapes that borrows from the text, else from the scratch buffer. */
static pawl_code read_string(pawl_json_reader *r, pawl_error *err) {
  const char *begin = r->text.at + r->at + 1;
  const char *end = r->text.at + r->text.len, *at = begin, *run = begin;
  char c[4];
  int copied = 0;
  size_t n;

  pawl_buf_clear(&r->scratch);
  while ((at = skip_plain(at, end)) < end && *at != '"') {
    const char *after = NULL;
    if ((unsigned char)*at >= 0x80) {
      int len = pawl_utf8_length(at, (size_t)(end - at));
      if (len > 0) after = at + len;
    } else if (*at == '\\' && (after = unescape(at, end, c, &n)) != NULL) {
      pawl_buf_add(&r->scratch, run, (size_t)(at - run));
      pawl_buf_add(&r->scratch, c, n);
      run = after;
      copied = 1;
    }
    if (!after)
      return bad_text(r, (size_t)(at - r->text.at),
                      string_problem((unsigned char)*at), err);
    at = after;
  }
  if (at == end) return bad_text(r, r->at, "a string without an end", err);
  r->str.at = run;
  r->str.len = (size_t)(at - run);
  r->at = (size_t)(at - r->text.at) + 1;
  if (!copied) return PAWL_OK;
  pawl_buf_adds(&r->scratch, r->str);
  r->str = pawl_buf_str(&r->scratch);
  return pawl_buf_check(&r->scratch, err);
}

static inline pawl_code next_number(pawl_json_reader *r, pawl_error *err) {
  number num;
  const char *problem =
      read_number(&num, r->text.at + r->at, r->text.at + r->text.len);
  if (problem) {
    bad_text(r, (size_t)(num.end - r->text.at), problem, err);
    if (num.hint) pawl_error_hint(err, "%s", num.hint);
    return PAWL_VALUE;
  }
  r->at = (size_t)(num.end - r->text.at);
  r->kind = num.is_float ? PAWL_JSON_FLOAT : PAWL_JSON_INT;
  if (num.is_float)
    r->d = num.d;
  else
    r->i = num.i;
  return PAWL_OK;
}

static pawl_code next_word(pawl_json_reader *r, const char *word,
                           pawl_json_kind kind, pawl_error *err) {
  size_t len = strlen(word);
  if (r->text.len - r->at < len || memcmp(r->text.at + r->at, word, len) != 0)
    return unexpected(r, "a value", err);
  r->at += len;
  r->kind = kind;
  return PAWL_OK;
}

static pawl_code next_begin(pawl_json_reader *r, pawl_json_kind kind,
                            pawl_error *err) {
  if (r->depth == PAWL_JSON_DEPTH) {
    pawl_fail(err, PAWL_LIMIT, "nested deeper than %d levels",
              PAWL_JSON_DEPTH);
    pawl_json_locate(r->text, r->at, err);
    return PAWL_LIMIT;
  }
  r->stack[r->depth++] = (unsigned char)kind;
  r->at++;
  r->event = PAWL_JSON_BEGIN;
  r->kind = kind;
  r->state = kind == PAWL_JSON_OBJECT ? FIRST_KEY : FIRST_ITEM;
  return PAWL_OK;
}

static pawl_code next_value(pawl_json_reader *r, pawl_error *err) {
  pawl_code rc;
  char c = r->at < r->text.len ? r->text.at[r->at] : '\0';

  if (c == '{') return next_begin(r, PAWL_JSON_OBJECT, err);
  if (c == '[') return next_begin(r, PAWL_JSON_ARRAY, err);
  switch (c) {
    case '"':
      rc = read_string(r, err);
      r->kind = PAWL_JSON_STRING;
      break;
    case 't':
      rc = next_word(r, "true", PAWL_JSON_TRUE, err);
      break;
    case 'f':
      rc = next_word(r, "false", PAWL_JSON_FALSE, err);
      break;
    case 'n':
      rc = next_word(r, "null", PAWL_JSON_NULL, err);
      break;
    default:
      if (c != '-' && !is_digit(c)) return unexpected(r, "a value", err);
      rc = next_number(r, err);
  }
  if (rc != PAWL_OK) return rc;
  r->event = PAWL_JSON_VALUE;
  after_value(r);
  return PAWL_OK;
}

static inline void skip_space(pawl_json_reader *r) {
  while (r->at < r->text.len && is_space(r->text.at[r->at])) r->at++;
}

static pawl_code next_key(pawl_json_reader *r, const char *wanted,
                          pawl_error *err) {
  pawl_code rc;
  if (r->at >= r->text.len || r->text.at[r->at] != '"')
    return unexpected(r, wanted, err);
  rc = read_string(r, err);
  if (rc != PAWL_OK) return rc;
  r->end = r->at;
  skip_space(r);
  if (r->at >= r->text.len || r->text.at[r->at] != ':')
    return unexpected(r, "':' behind the key", err);
  r->at++;
  r->event = PAWL_JSON_KEY;
  r->kind = PAWL_JSON_STRING;
  r->state = VALUE;
  return PAWL_OK;
}

static inline pawl_code next_end(pawl_json_reader *r) {
  r->kind = (pawl_json_kind)r->stack[--r->depth];
  r->at++;
  r->event = PAWL_JSON_END;
  after_value(r);
  return PAWL_OK;
}

/* Is this the bracket that closes the container the reader is in? */
static int closes(const pawl_json_reader *r, char c) {
  return c == (is_in_object(r) ? '}' : ']');
}

/* One token; r->begin is set, r->end by next_key alone. */
static inline pawl_code next_token(pawl_json_reader *r, pawl_error *err) {
  char c = r->at < r->text.len ? r->text.at[r->at] : '\0';

  switch (r->state) {
    case FIRST_ITEM:
      if (c == ']') return next_end(r);
      return next_value(r, err);
    case FIRST_KEY:
      if (c == '}') return next_end(r);
      return next_key(r, "a key in double quotes or '}'", err);
    case KEY:
      return next_key(r, "a key in double quotes", err);
    case NOTHING:
      if (r->at < r->text.len)
        return unexpected(r, "the end of the text", err);
      r->event = PAWL_JSON_DONE;
      return PAWL_OK;
    default:
      return next_value(r, err);
  }
}

pawl_code pawl_json_next(pawl_json_reader *r, pawl_error *err) {
  size_t before = r->at;
  int state = r->state;
  pawl_code rc;

  skip_space(r);
  if (r->state == COMMA) {
    char c = r->at < r->text.len ? r->text.at[r->at] : '\0';
    if (closes(r, c)) {
      r->begin = r->at;
      next_end(r);
      r->end = r->at;
      return PAWL_OK;
    }
    if (c != ',') {
      rc = unexpected(r, is_in_object(r) ? "',' or '}'" : "',' or ']'", err);
      r->at = before;
      return rc;
    }
    r->at++;
    skip_space(r);
    r->state = is_in_object(r) ? KEY : VALUE;
  }
  r->begin = r->at;
  rc = next_token(r, err);
  if (rc != PAWL_OK) { /* so that the next call says the same */
    r->at = before;
    r->state = state;
  } else if (r->event != PAWL_JSON_KEY) {
    r->end = r->at;
  }
  return rc;
}

/* ---- keys -------------------------------------------------------------- */

static int key_order(const pawl_json_key *a, const pawl_json_key *b) {
  int order = pawl_str_cmp(a->text, b->text);
  return order ? order : (a->tag > b->tag) - (a->tag < b->tag);
}

/* Puts keys[i] where it belongs in the heap of n keys below it. */
static void sift(pawl_json_key *keys, size_t i, size_t n) {
  pawl_json_key key = keys[i];
  size_t child;
  while ((child = 2 * i + 1) < n) {
    if (child + 1 < n && key_order(&keys[child], &keys[child + 1]) < 0)
      child++;
    if (key_order(&key, &keys[child]) >= 0) break;
    keys[i] = keys[child];
    i = child;
  }
  keys[i] = key;
}

/* Not qsort: that may ask malloc for memory, and may be quadratic. */
void pawl_json_sort_keys(pawl_json_key *keys, size_t n) {
  size_t i, j;
  if (n <= 24) {
    for (i = 1; i < n; i++) {
      pawl_json_key key = keys[i];
      for (j = i; j > 0 && key_order(&keys[j - 1], &key) > 0; j--)
        keys[j] = keys[j - 1];
      keys[j] = key;
    }
    return;
  }
  for (i = n / 2; i-- > 0;) sift(keys, i, n);
  for (i = n; i-- > 1;) {
    pawl_json_key last = keys[i];
    keys[i] = keys[0];
    keys[0] = last;
    sift(keys, 0, i);
  }
}

#define FEW_KEYS 32 /* kept on the C stack */

/* A growing list of keys. */
typedef struct key_list {
  const pawl_alloc *alloc;
  pawl_json_key *at;
  size_t n, cap;
  pawl_json_key few[FEW_KEYS];
} key_list;

static void key_list_init(key_list *k, const pawl_alloc *alloc) {
  k->alloc = alloc;
  k->at = k->few;
  k->n = 0;
  k->cap = FEW_KEYS;
}

static void key_list_deinit(key_list *k) {
  if (k->at != k->few) pawl_release(k->alloc, k->at, k->cap * sizeof *k->at);
}

static int key_list_add(key_list *k, pawl_str text, size_t tag) {
  if (k->n == k->cap) {
    int heap = k->at != k->few;
    size_t size = k->cap * sizeof *k->at;
    pawl_json_key *at =
        pawl_realloc(k->alloc, heap ? k->at : NULL, heap ? size : 0, 2 * size);
    if (!at) return 0;
    if (!heap) memcpy(at, k->few, size);
    k->at = at;
    k->cap *= 2;
  }
  k->at[k->n].text = text;
  k->at[k->n++].tag = tag;
  return 1;
}

/* Replaces the raw text of every key that has an escape by what it stands
 * for. The room is made first: keys point into `arena`, it must not move. */
static int unescape_keys(pawl_json_key *keys, size_t n, pawl_buf *arena) {
  size_t i, total = 0;
  for (i = 0; i < n; i++)
    if (has_escape(keys[i].text)) total += keys[i].text.len;
  if (total == 0) return 1;
  pawl_buf_clear(arena);
  if (!pawl_buf_room(arena, total)) return 0;
  for (i = 0; i < n; i++) {
    size_t begin = arena->len;
    if (!has_escape(keys[i].text)) continue;
    add_unescaped(arena, keys[i].text);
    keys[i].text.at = arena->at + begin;
    keys[i].text.len = arena->len - begin;
  }
  return 1;
}

/* ---- checking ---------------------------------------------------------- */

/* Keys of the objects that are open, innermost last. An object whose keys
 * come in strict byte order, as we write them, cannot repeat one; the others
 * are sorted when they close. */
typedef struct checker {
  key_list keys;
  size_t first[PAWL_JSON_DEPTH];
  unsigned char disorder[PAWL_JSON_DEPTH];
  pawl_buf arena;
} checker;

static pawl_code no_memory(pawl_error *err) {
  return pawl_fail(err, PAWL_NOMEM, "out of memory for the keys of an object");
}

static pawl_code check_key(checker *c, const pawl_json_reader *r,
                           pawl_error *err) {
  size_t at = r->begin, depth = (size_t)r->depth - 1;
  pawl_str raw = {r->text.at + at + 1, r->end - at - 2};

  if (!key_list_add(&c->keys, raw, at)) return no_memory(err);
  if (r->str.at != raw.at) { /* escaped: raw text has another order */
    c->disorder[depth] = 1;
  } else if (!c->disorder[depth] && c->keys.n - c->first[depth] > 1) {
    const pawl_json_key *last = &c->keys.at[c->keys.n - 1];
    c->disorder[depth] = pawl_str_cmp(last[-1].text, last->text) >= 0;
  }
  return PAWL_OK;
}

static pawl_code check_end(checker *c, const pawl_json_reader *r,
                           pawl_error *err) {
  size_t first = c->first[r->depth], n = c->keys.n - first, i;
  pawl_json_key *keys = c->keys.at + first;

  c->keys.n = first;
  if (!c->disorder[r->depth]) return PAWL_OK;
  if (!unescape_keys(keys, n, &c->arena)) return no_memory(err);
  pawl_json_sort_keys(keys, n);
  for (i = 1; i < n; i++) {
    char shown[64];
    if (!pawl_str_eq(keys[i - 1].text, keys[i].text)) continue;
    pawl_str_copy(shown, sizeof shown, keys[i].text);
    pawl_fail(err, PAWL_VALUE, "the key \"%s\" stands here again", shown);
    pawl_json_locate(r->text, keys[i].tag, err);
    return PAWL_VALUE;
  }
  return PAWL_OK;
}

static pawl_code check_token(checker *c, const pawl_json_reader *r,
                             pawl_error *err) {
  switch (r->event) {
    case PAWL_JSON_BEGIN:
      c->first[r->depth - 1] = c->keys.n;
      c->disorder[r->depth - 1] = 0;
      return PAWL_OK;
    case PAWL_JSON_KEY:
      return check_key(c, r, err);
    case PAWL_JSON_END:
      return check_end(c, r, err);
    default:
      return PAWL_OK;
  }
}

pawl_code pawl_json_check_all(pawl_json_reader *r, pawl_json_kind *kind,
                              pawl_error *err) {
  pawl_code rc;
  checker c;
  pawl_json_kind found;

  key_list_init(&c.keys, r->scratch.alloc);
  memset(&c.arena, 0, sizeof c.arena);
  c.arena.alloc = r->scratch.alloc;
  TRY(pawl_json_next(r, err));
  found = r->kind;
  while (r->event != PAWL_JSON_DONE) {
    TRY(check_token(&c, r, err));
    TRY(pawl_json_next(r, err));
  }
  if (kind) *kind = found;
out:
  key_list_deinit(&c.keys);
  pawl_buf_deinit(&c.arena);
  return rc;
}

pawl_code pawl_json_check(pawl_str text, pawl_json_kind *kind,
                          pawl_error *err) {
  pawl_json_reader r;
  pawl_code rc;
  pawl_json_reader_init(&r, text, NULL);
  rc = pawl_json_check_all(&r, kind, err);
  pawl_json_reader_deinit(&r);
  return rc;
}

/* ---- slices ------------------------------------------------------------ */

static inline size_t skip_space_at(pawl_str s, size_t at) {
  while (at < s.len && is_space(s.at[at])) at++;
  return at;
}

/* `at` stands behind the opening quote; returns the place of the closing one,
 * or s.len. It is the first with an even number of backslashes before it. */
static size_t string_end(pawl_str s, size_t at) {
  size_t begin = at;
  while (at < s.len) {
    const char *quote = memchr(s.at + at, '"', s.len - at);
    size_t place, slash;
    if (!quote) break;
    place = slash = (size_t)(quote - s.at);
    while (slash > begin && s.at[slash - 1] == '\\') slash--;
    if ((place - slash) % 2 == 0) return place;
    at = place + 1;
  }
  return s.len;
}

static size_t container_end(pawl_str s, size_t at) {
  size_t depth = 0;
  for (; at < s.len; at++) {
    switch (s.at[at]) {
      case '"':
        at = string_end(s, at + 1);
        break;
      case '[':
      case '{':
        depth++;
        break;
      case ']':
      case '}':
        if (--depth == 0) return at + 1;
        break;
      default:
        break;
    }
  }
  return s.len;
}

/* What may follow a number or a word. */
static const unsigned char ends_scalar[256] = {
    [' '] = 1, ['\t'] = 1, ['\n'] = 1, ['\r'] = 1,
    [','] = 1, [']'] = 1,  ['}'] = 1,
};

static size_t value_end(pawl_str s, size_t at) {
  if (at >= s.len) return s.len;
  if (s.at[at] == '{' || s.at[at] == '[') return container_end(s, at);
  if (s.at[at] == '"') {
    at = string_end(s, at + 1);
    return at < s.len ? at + 1 : at;
  }
  while (at < s.len && !ends_scalar[(unsigned char)s.at[at]]) at++;
  return at;
}

int pawl_json_each(pawl_str container, pawl_json_iter *it, pawl_str *key,
                   pawl_str *value) {
  pawl_str s = container;
  size_t begin = skip_space_at(s, 0), at, end;

  if (begin >= s.len || (s.at[begin] != '{' && s.at[begin] != '[')) return 0;
  at = skip_space_at(s, it->at > begin ? it->at : begin + 1);
  if (at < s.len && s.at[at] == ',') at = skip_space_at(s, at + 1);
  if (at >= s.len || s.at[at] == ']' || s.at[at] == '}') return 0;
  key->at = "";
  key->len = 0;
  if (s.at[begin] == '{') {
    if (s.at[at] != '"') return 0;
    end = string_end(s, at + 1);
    key->at = s.at + at + 1;
    key->len = end - at - 1;
    at = skip_space_at(s, end + 1);
    if (at >= s.len || s.at[at] != ':') return 0;
    at = skip_space_at(s, at + 1);
  }
  end = value_end(s, at);
  if (end == at) return 0;
  value->at = s.at + at;
  value->len = end - at;
  it->at = end;
  return 1;
}

pawl_json_kind pawl_json_kind_of(pawl_str value) {
  size_t at = skip_space_at(value, 0), i;
  if (at >= value.len) return PAWL_JSON_NULL;
  switch (value.at[at]) {
    case '{':
      return PAWL_JSON_OBJECT;
    case '[':
      return PAWL_JSON_ARRAY;
    case '"':
      return PAWL_JSON_STRING;
    case 't':
      return PAWL_JSON_TRUE;
    case 'f':
      return PAWL_JSON_FALSE;
    case 'n':
      return PAWL_JSON_NULL;
    default:
      break;
  }
  for (i = at; i < value.len; i++)
    if (value.at[i] == '.' || value.at[i] == 'e' || value.at[i] == 'E')
      return PAWL_JSON_FLOAT;
  return PAWL_JSON_INT;
}

/* Is the escaped text `raw` the same as `key`? */
static int raw_is(pawl_str raw, pawl_str key) {
  const char *at = raw.at, *end = raw.at + raw.len;
  size_t done = 0;
  if (!has_escape(raw)) return pawl_str_eq(raw, key);
  while (at < end) {
    char c[4] = {*at};
    size_t n = 1;
    at = *at == '\\' ? unescape(at, end, c, &n) : at + 1;
    if (!at || key.len - done < n || memcmp(key.at + done, c, n) != 0)
      return 0;
    done += n;
  }
  return done == key.len;
}

int pawl_json_get(pawl_str object, const char *key, pawl_str *value) {
  pawl_json_iter it = {0};
  pawl_str wanted = pawl_strz(key), raw, found;
  size_t begin = skip_space_at(object, 0);

  if (begin >= object.len || object.at[begin] != '{') return 0;
  while (pawl_json_each(object, &it, &raw, &found)) {
    if (!raw_is(raw, wanted)) continue;
    *value = found;
    return 1;
  }
  return 0;
}

/* What stands between the quotes of a string value; empty if it is none. */
static pawl_str between_quotes(pawl_str value) {
  size_t at = skip_space_at(value, 0);
  pawl_str raw = {"", 0};
  if (at >= value.len || value.at[at] != '"') return raw;
  raw.at = value.at + at + 1;
  raw.len = string_end(value, at + 1) - at - 1;
  return raw;
}

void pawl_json_unquote(pawl_str value, pawl_buf *out) {
  add_unescaped(out, between_quotes(value));
}

static int whole_number(pawl_str value, number *num) {
  size_t at = skip_space_at(value, 0);
  if (at >= value.len) return 0;
  if (read_number(num, value.at + at, value.at + value.len)) return 0;
  return skip_space_at(value, (size_t)(num->end - value.at)) == value.len;
}

int pawl_json_int(pawl_str value, int64_t *out) {
  number num;
  if (!whole_number(value, &num) || num.is_float) return 0;
  *out = num.i;
  return 1;
}

int pawl_json_number(pawl_str value, double *out) {
  number num;
  if (!whole_number(value, &num)) return 0;
  *out = num.is_float ? num.d : (double)num.i;
  return 1;
}

/* ---- writing ----------------------------------------------------------- */

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
static int add_string(pawl_buf *b, pawl_str s, size_t *bad) {
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
  (void)add_string(b, s, NULL);
}

int pawl_json_add_checked(pawl_buf *b, pawl_str s, size_t *bad) {
  return add_string(b, s, bad);
}

/* Writes d with so many digits. A locale's decimal point, of one or several
 * bytes, is whatever cannot belong to a number otherwise. */
static size_t print_float(double d, int digits, char out[40]) {
  char text[40];
  size_t i, n = 0;
  int is_float = 0;

  snprintf(text, sizeof text, "%.*g", digits, d);
  for (i = 0; text[i]; i++) {
    char c = text[i];
    if (is_digit(c) || c == '-' || c == '+' || c == 'e') {
      is_float |= c == 'e';
      out[n++] = c;
    } else if (n > 0 && out[n - 1] != '.') {
      is_float = 1;
      out[n++] = '.';
    }
  }
  if (!is_float) {
    out[n++] = '.';
    out[n++] = '0';
  }
  return n;
}

/* Whole numbers and those with up to four decimals, such as prices: common,
 * and ten times as fast. The division rounds once, as reading does, so that
 * it tells whether these digits read back. 0: d is not of that kind. */
static int add_short_float(pawl_buf *b, double d) {
  double scaled = fabs(d) * 1e4;
  char decimals[] = ".0000";
  int64_t n, rest;
  size_t i;

  if (!ROUNDS_ONCE || !(scaled < 1e15)) return 0;
  n = (int64_t)(scaled + 0.5);
  if ((double)n / 1e4 != fabs(d)) return 0;
  for (rest = n % 10000, i = 4; i > 0; i--, rest /= 10)
    decimals[i] = (char)('0' + rest % 10);
  for (i = 5; i > 2 && decimals[i - 1] == '0';) i--;
  if (signbit(d)) pawl_buf_addc(b, '-');
  pawl_buf_addi(b, n / 10000);
  pawl_buf_add(b, decimals, i);
  return 1;
}

void pawl_json_add_float(pawl_buf *b, double d) {
  char text[40];
  size_t n = 0;
  int digits;

  assert(isfinite(d));
  if (add_short_float(b, d)) return;
  for (digits = 15; digits <= 17; digits++) {
    number num;
    n = print_float(d, digits, text);
    if (!read_number(&num, text, text + n) && num.d == d) break;
  }
  pawl_buf_add(b, text, n);
}

/* ---- what changed ------------------------------------------------------ */

typedef struct member {
  pawl_str raw; /* the key as it is written, without its quotes */
  pawl_str value;
} member;

/* The members of an object, or the strings of an array, by their keys. */
typedef struct members {
  key_list keys; /* sorted; a tag is a place in `all` */
  member *all;
  size_t cap;
  member few[FEW_KEYS];
  pawl_buf arena;
} members;

static void members_init(members *m, const pawl_alloc *alloc) {
  key_list_init(&m->keys, alloc);
  m->all = m->few;
  m->cap = FEW_KEYS;
  memset(&m->arena, 0, sizeof m->arena);
  m->arena.alloc = alloc;
}

static void members_deinit(members *m) {
  if (m->all != m->few)
    pawl_release(m->keys.alloc, m->all, m->cap * sizeof *m->all);
  key_list_deinit(&m->keys);
  pawl_buf_deinit(&m->arena);
}

static int members_add(members *m, pawl_str raw, pawl_str value) {
  size_t n = m->keys.n;
  if (n == m->cap) {
    int heap = m->all != m->few;
    size_t size = m->cap * sizeof *m->all;
    member *all = pawl_realloc(m->keys.alloc, heap ? m->all : NULL,
                               heap ? size : 0, 2 * size);
    if (!all) return 0;
    if (!heap) memcpy(all, m->few, size);
    m->all = all;
    m->cap *= 2;
  }
  m->all[n].raw = raw;
  m->all[n].value = value;
  return key_list_add(&m->keys, raw, n);
}

/* 0: no memory. */
static int members_collect(members *m, pawl_str container) {
  pawl_json_iter it = {0};
  pawl_str raw, value;
  int is_array = pawl_json_kind_of(container) == PAWL_JSON_ARRAY;
  int disorder = 0, escaped = 0;

  while (pawl_json_each(container, &it, &raw, &value)) {
    size_t n = m->keys.n;
    if (is_array) raw = between_quotes(value);
    if (!members_add(m, raw, value)) return 0;
    if (!escaped) escaped = has_escape(raw);
    if (n > 0 && !disorder)
      disorder = pawl_str_cmp(m->keys.at[n - 1].text, raw) > 0;
  }
  if (escaped && !unescape_keys(m->keys.at, m->keys.n, &m->arena)) return 0;
  if (escaped || disorder) pawl_json_sort_keys(m->keys.at, m->keys.n);
  return 1;
}

/* The member whose key is the i-th in order; NULL past the last. */
static const member *member_at(const members *m, size_t i) {
  return i < m->keys.n ? &m->all[m->keys.at[i].tag] : NULL;
}

/* How the i-th key of a stands to the j-th of b: negative when it comes first
 * or b has ended. */
static int order_at(const members *a, size_t i, const members *b, size_t j) {
  if (i >= a->keys.n) return 1;
  if (j >= b->keys.n) return -1;
  return pawl_str_cmp(a->keys.at[i].text, b->keys.at[j].text);
}

static void add_key(pawl_buf *out, const member *m) {
  pawl_buf_addc(out, '"');
  pawl_buf_adds(out, m->raw);
  pawl_buf_addc(out, '"');
}

static void add_member(pawl_buf *out, const member *m) {
  if (m->value.at == m->raw.at + m->raw.len + 2) { /* one piece: "key":value */
    pawl_buf_add(out, m->raw.at - 1, m->raw.len + 3 + m->value.len);
    return;
  }
  add_key(out, m);
  pawl_buf_addc(out, ':');
  pawl_buf_adds(out, m->value);
}

/* Appends the members of `after` that `before` has not, or has otherwise;
 * `opening` goes before the first. Returns how many. */
static size_t add_set(pawl_buf *out, const members *before,
                      const members *after, const char *opening) {
  size_t i = 0, j = 0, n = 0;
  while (j < after->keys.n) {
    int order = order_at(before, i, after, j);
    const member *now = member_at(after, j);
    i += order <= 0;
    if (order < 0) continue;
    j++;
    if (order == 0 && pawl_str_eq(member_at(before, i - 1)->value, now->value))
      continue;
    pawl_buf_addz(out, n++ ? "," : opening);
    add_member(out, now);
  }
  return n;
}

/* Appends the keys that `after` has no more. */
static size_t add_unset(pawl_buf *out, const members *before,
                        const members *after, const char *opening) {
  size_t i = 0, j = 0, n = 0;
  while (i < before->keys.n) {
    int order = order_at(before, i, after, j);
    j += order >= 0;
    if (order > 0) continue;
    i++;
    if (order == 0) continue;
    pawl_buf_addz(out, n++ ? "," : opening);
    add_key(out, member_at(before, i - 1));
  }
  return n;
}

static void delta_sorted(pawl_str before, pawl_str after, pawl_buf *out) {
  members a, b;
  size_t nset, nunset;

  members_init(&a, out->alloc);
  members_init(&b, out->alloc);
  if (members_collect(&a, before) && members_collect(&b, after)) {
    nset = add_set(out, &a, &b, "{\"set\":{");
    if (nset) pawl_buf_addc(out, '}');
    nunset = add_unset(out, &a, &b, nset ? ",\"unset\":[" : "{\"unset\":[");
    if (nunset) pawl_buf_addc(out, ']');
    if (nset || nunset) pawl_buf_addc(out, '}');
  } else {
    out->failed = 1;
  }
  members_deinit(&a);
  members_deinit(&b);
}

/* A place in an object whose keys come in strict byte order. */
typedef struct walker {
  pawl_str text;
  pawl_json_iter it;
  member at;
  int more, disorder;
} walker;

/* The next member as we write them, ,"key":value with a plain key and without
 * white space; 0: it is another, or none. */
static int next_compact(walker *w) {
  const char *end = w->text.at + w->text.len, *quote;
  size_t at = w->it.at, stop;

  if (w->text.len - at < 2 || w->text.at[at] != (at ? ',' : '{') ||
      w->text.at[at + 1] != '"')
    return 0;
  w->at.raw.at = w->text.at + at + 2;
  quote = skip_plain(w->at.raw.at, end);
  if (end - quote < 3 || quote[0] != '"' || quote[1] != ':') return 0;
  at = (size_t)(quote - w->text.at) + 2;
  stop = is_space(quote[2]) ? at : value_end(w->text, at);
  if (stop == at) return 0;
  w->at.raw.len = (size_t)(quote - w->at.raw.at);
  w->at.value = (pawl_str){w->text.at + at, stop - at};
  w->it.at = stop;
  return 1;
}

static void walk_on(walker *w) {
  pawl_str last = w->at.raw;
  w->more = 1;
  if (!next_compact(w)) {
    w->more = pawl_json_each(w->text, &w->it, &w->at.raw, &w->at.value);
    if (w->more && has_escape(w->at.raw)) w->disorder = 1;
  }
  if (w->more && last.at && pawl_str_cmp(last, w->at.raw) >= 0)
    w->disorder = 1;
}

/* From one key on to the next in both. A member that is written alike in the
 * second, up to what ends it, is not taken apart there. */
static void walk_both(walker *a, walker *b) {
  size_t from = a->it.at, len;
  const char *there = b->text.at + b->it.at;

  walk_on(a);
  len = a->it.at - from;
  if (!a->more || len >= b->text.len - b->it.at ||
      memcmp(a->text.at + from, there, len) != 0 ||
      (there[len] != ',' && there[len] != '}')) {
    walk_on(b);
    return;
  }
  b->at = a->at;
  b->it.at += len;
  b->more = 1;
  b->disorder |= a->disorder;
}

/* What the key at hand is to both: negative when only the first has it. */
static int walk_order(const walker *a, const walker *b) {
  if (!a->more || !b->more) return b->more - a->more;
  return pawl_str_cmp(a->at.raw, b->at.raw);
}

/* One part of a delta, in one walk through both objects: the members that
 * `after` has otherwise, or with `unset` the keys that it has not. Counts in
 * *other those of the other part. 0: they are not in order. */
static int add_walked(pawl_buf *out, pawl_str before, pawl_str after,
                      int unset, const char *opening, size_t *other) {
  walker a = {.text = before}, b = {.text = after};
  size_t n = 0;

  *other = 0;
  walk_both(&a, &b);
  while ((a.more || b.more) && !a.disorder && !b.disorder) {
    int order = walk_order(&a, &b);
    int differs = order || !pawl_str_eq(a.at.value, b.at.value);
    if (differs && (order < 0) == unset) {
      if (n++)
        pawl_buf_addc(out, ',');
      else
        pawl_buf_addz(out, opening);
      if (unset)
        add_key(out, &a.at);
      else
        add_member(out, &b.at);
    } else {
      *other += differs;
    }
    if (order == 0)
      walk_both(&a, &b);
    else
      walk_on(order < 0 ? &a : &b);
  }
  if (n) pawl_buf_addc(out, unset ? ']' : '}');
  return !a.disorder && !b.disorder;
}

void pawl_json_delta(pawl_str before, pawl_str after, pawl_buf *out) {
  size_t begin = out->len, nset, nunset;

  if (pawl_str_eq(before, after)) return;
  if (!add_walked(out, before, after, 0, "{\"set\":{", &nunset)) {
    out->len = begin;
    if (out->at) out->at[begin] = '\0';
    delta_sorted(before, after, out);
    return;
  }
  if (nunset)
    (void)add_walked(out, before, after, 1,
                     out->len > begin ? ",\"unset\":[" : "{\"unset\":[",
                     &nset);
  if (out->len > begin) pawl_buf_addc(out, '}');
}

/* Appends the members of `before` and `set` in order; `set` overrides, and
 * `unset` leaves out what `set` does not bring back. */
static void add_merged(pawl_buf *out, const members *before,
                       const members *set, const members *unset) {
  size_t i = 0, j = 0, k = 0;
  const char *comma = "";

  while (i < before->keys.n || j < set->keys.n) {
    int order = order_at(before, i, set, j);
    const member *m = order < 0 ? member_at(before, i) : member_at(set, j);
    if (order < 0) {
      while (order_at(unset, k, before, i) < 0) k++;
      if (k < unset->keys.n && order_at(unset, k, before, i) == 0) m = NULL;
    }
    i += order <= 0;
    j += order >= 0;
    if (!m) continue;
    pawl_buf_addz(out, comma);
    add_member(out, m);
    comma = ",";
  }
}

void pawl_json_apply(pawl_str before, pawl_str delta, pawl_buf *out) {
  members a, set, unset;
  pawl_str part;
  int ok;

  members_init(&a, out->alloc);
  members_init(&set, out->alloc);
  members_init(&unset, out->alloc);
  ok = members_collect(&a, before);
  if (ok && pawl_json_get(delta, "set", &part))
    ok = members_collect(&set, part);
  if (ok && pawl_json_get(delta, "unset", &part))
    ok = members_collect(&unset, part);
  if (ok) {
    pawl_buf_addc(out, '{');
    add_merged(out, &a, &set, &unset);
    pawl_buf_addc(out, '}');
  } else {
    out->failed = 1;
  }
  members_deinit(&a);
  members_deinit(&set);
  members_deinit(&unset);
}

int pawl_json_is_decimal(pawl_str s) {
  size_t i = 0, first;
  if (s.len > 1000) return 0;
  if (i < s.len && s.at[i] == '-') i++;
  first = i;
  while (i < s.len && s.at[i] >= '0' && s.at[i] <= '9') i++;
  if (i == first || (s.at[first] == '0' && i - first > 1)) return 0;
  if (i == s.len) return 1;
  if (s.at[i] != '.') return 0;
  first = ++i;
  while (i < s.len && s.at[i] >= '0' && s.at[i] <= '9') i++;
  return i == s.len && i > first;
}
