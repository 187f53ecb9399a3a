/* Numbers: the nearest float, and its shortest text; no locale. */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "json_parts.h"

/* ---- reading ---- */

/* No double needs more digits to be told from its neighbours; of the others
 * it only matters whether one is not zero. */
#define MOST_DIGITS 780

/* In wider registers a result is rounded a second time when it is stored. */
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
#define ROUNDS_ONCE 1
#else
#define ROUNDS_ONCE 0
#endif

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

  if (x->n == 0) return 0.0;
  if (x->scale > 400) return HUGE_VAL;
  if (x->scale < -2000) return 0.0; /* at most 780 digits before that */
  /* Both numbers are exact, and one operation rounds once (Clinger). */
  if (ROUNDS_ONCE && x->n <= 15 && x->scale >= -22 && x->scale <= 22) {
    for (size_t i = 0; i < x->n; i++)
      whole = whole * 10 + (x->digits[i] - '0');
    return x->scale < 0 ? (double)whole / tens[-x->scale]
                        : (double)whole * tens[x->scale];
  }
  /* Without a point there is nothing for a locale to change. */
  snprintf(x->digits + x->n, 24, "e%d", (int)x->scale);
  return strtod(x->digits, NULL);
}

/* Reads what follows a number's integer digits: .5e+3 */
static const char *read_rest(pawl_json_num *num, const char *at,
                             const char *end, decimal *x) {
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
static const char *read_float(pawl_json_num *num, const char *at,
                              const char *rest, const char *end) {
  decimal x;
  int negative = *at == '-';

  x.n = 0;
  x.scale = 0;
  for (const char *digit = at + negative; digit < rest; digit++)
    add_digit(&x, *digit);
  const char *problem = read_rest(num, rest, end, &x);
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

const char *pawl_json_read_number(pawl_json_num *num, const char *at,
                                  const char *end) {
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

/* ---- writing ---- */

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
    pawl_json_num num;
    n = print_float(d, digits, text);
    if (!pawl_json_read_number(&num, text, text + n) && num.d == d) break;
  }
  assert(digits <= 17); /* J1 */
  pawl_buf_add(b, text, n);
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
