#include "sortable.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../value/json.h"

#define EXPONENT_ZERO 50000

/* A number's digits without zeros at either end, and where its point is. */
typedef struct number {
  int negative;
  long exponent; /* 0.DIGITS * 10^exponent */
  pawl_str text; /* from the first digit that counts; it may have a point */
  int ndigits;
} number;

static int is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Takes apart -12.50, 0.007, 1.5e+22. */
static number read_number(pawl_str s) {
  number n = {0};
  size_t i = 0;
  long point = 0;
  int seen_point = 0, count = 0;

  if (s.len && s.at[0] == '-') n.negative = 1, i = 1;
  for (; i < s.len && (is_digit(s.at[i]) || s.at[i] == '.'); i++) {
    if (s.at[i] == '.') {
      seen_point = 1;
      continue;
    }
    if (!n.text.at && s.at[i] == '0') { /* in front of the first that counts */
      if (seen_point) point--;
      continue;
    }
    if (!n.text.at) n.text.at = s.at + i;
    count++;
    if (!seen_point) point++;
    if (s.at[i] != '0') {
      n.ndigits = count;
      n.text.len = (size_t)(s.at + i + 1 - n.text.at);
    }
  }
  n.exponent = point;
  if (i < s.len) n.exponent += strtol(s.at + i + 1, NULL, 10);
  return n;
}

static char turned(const number *n, char digit) {
  return n->negative ? (char)('9' - (digit - '0')) : digit;
}

static void add_number(pawl_str text, pawl_buf *out) {
  const number n = read_number(text);
  char exponent[24];

  pawl_buf_addc(out, 'n');
  pawl_buf_addc(out, !n.ndigits ? '1' : n.negative ? '0' : '2');
  if (!n.ndigits) return;
  assert(labs(n.exponent) < EXPONENT_ZERO); /* or it had not five digits */
  snprintf(exponent, sizeof exponent, "%05ld", EXPONENT_ZERO + n.exponent);
  for (int i = 0; exponent[i]; i++)
    pawl_buf_addc(out, turned(&n, exponent[i]));
  for (size_t i = 0; i < n.text.len; i++)
    if (n.text.at[i] != '.') pawl_buf_addc(out, turned(&n, n.text.at[i]));
  if (n.negative) pawl_buf_addc(out, '~'); /* -1.2 lies behind -1.25 */
}

/* As text that ends with a zero byte. */
static void add_float(double d, pawl_buf *out) {
  pawl_buf text = {.alloc = out->alloc};

  if (d == floor(d) && fabs(d) < 9223372036854775808.0)
    pawl_buf_addi(&text, (int64_t)d);
  else
    pawl_json_add_float(&text, d);
  if (text.failed) out->failed = 1;
  add_number(pawl_buf_str(&text), out);
  pawl_buf_deinit(&text);
}

int pawl_sortable_add(const pawl_attribute *v, pawl_buf *out) {
  char digits[24];

  if (v->bytes_value.at) return 0;
  if (v->boolean_value != PAWL_NULL) {
    pawl_buf_addz(out, v->boolean_value ? "b1" : "b0");
  } else if (v->date_value != PAWL_NULL) {
    snprintf(digits, sizeof digits, "d%020" PRIu64,
             (uint64_t)v->date_value + ((uint64_t)1 << 63));
    pawl_buf_addz(out, digits);
  } else if (v->number_value.at) {
    add_number(v->number_value, out);
  } else if (!isnan(v->float_value)) {
    add_float(v->float_value, out);
  } else {
    pawl_buf_addc(out, 's');
    pawl_buf_adds(out, v->text_value);
  }
  return 1;
}

pawl_str pawl_sortable_of(const pawl_attribute *v, pawl_buf *scratch) {
  const size_t at = scratch->len;
  pawl_str text = {NULL, 0};

  if (pawl_sortable_add(v, scratch) && !scratch->failed)
    text = (pawl_str){scratch->at + at, scratch->len - at};
  return text;
}
