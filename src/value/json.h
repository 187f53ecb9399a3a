/* value/json.h: JSON text, exactly.
 *
 * Layer    value: above base; no Lua here (luajson.h is the bridge).
 * Shapes   Integers are 64-bit and written bare ("1"); floats are finite and
 *          always carry '.' or an exponent ("1.0", "-0.0", "1e+100"), written
 *          with 15 digits, or 16, or 17: the first that read back to the
 *          same bits. A number without '.', 'e' or 'E' that does not fit 64
 *          bits is an error, and so is one beyond the floats; the integer -0
 *          is 0. Strings are UTF-8; "\u0000" is allowed; lone surrogates are
 *          not. Depth is at most PAWL_JSON_DEPTH; what is kept as one value is
 *          at most PAWL_VALUE_DEPTH deep, so that there is room for what
 *          stands around it. Duplicate keys are an error
 *          for pawl_json_check and pawl_luajson_decode; pawl_json_next, which
 *          remembers no keys, lets them pass.
 *          Number text does not depend on the locale.
 * Errors   PAWL_VALUE with `where` = "line:column" (both count from 1; columns
 *          in characters); PAWL_LIMIT when nested too deep; PAWL_NOMEM.
 * Keeps    J1 what is written here reads back the same: a float to its bits,
 *             an object that a delta was applied to byte by byte.
 *          J2 a slice lies within the text that it was taken from, valid or
 *             not.
 *          J3 a reader is never deeper than its `most`.
 *          J5 what was taken in as a value is read again wherever it is shown:
 *             records around it are less deep than what is left.
 * Source   RFC 8259. */
#ifndef PAWL_VALUE_JSON_H
#define PAWL_VALUE_JSON_H

#include <stdarg.h>

#include "../base/buf.h"

/* How deep one value may be: an input, an output, the variables. */
#define PAWL_VALUE_DEPTH 200
/* How deep that may be in what is stored, or in a line of an export: in a list
 * of outputs, in a change that history has. */
#define PAWL_RECORD_DEPTH (PAWL_VALUE_DEPTH + 8)
/* And in an answer, or in options. */
#define PAWL_JSON_DEPTH (PAWL_RECORD_DEPTH + 16)

/* What a reader or writer of so many levels says that the limit is: a value's,
 * where it has but room around that. */
static inline int pawl_json_depth_told(int most) {
  return most > PAWL_VALUE_DEPTH ? PAWL_VALUE_DEPTH : most;
}

typedef enum pawl_json_kind {
  PAWL_JSON_NULL,
  PAWL_JSON_FALSE,
  PAWL_JSON_TRUE,
  PAWL_JSON_INT,
  PAWL_JSON_FLOAT,
  PAWL_JSON_STRING,
  PAWL_JSON_ARRAY,
  PAWL_JSON_OBJECT
} pawl_json_kind;

/* ---- reading, token by token ---- */

typedef enum pawl_json_event {
  PAWL_JSON_VALUE, /* a scalar: kind, and i, d or text */
  PAWL_JSON_KEY,   /* an object's key: text */
  PAWL_JSON_BEGIN, /* kind ARRAY or OBJECT opens */
  PAWL_JSON_END,   /* it closes */
  PAWL_JSON_DONE   /* the whole text has been read */
} pawl_json_event;

typedef struct pawl_json_reader {
  pawl_str text;
  size_t at;
  int depth, most; /* `most`: PAWL_JSON_DEPTH, or less if the caller says so */
  unsigned char stack[PAWL_JSON_DEPTH]; /* private */
  int state;                            /* private */
  pawl_buf scratch; /* unescaped strings live here until the next token */
  /* of the last token: */
  pawl_json_event event;
  pawl_json_kind kind;
  int64_t i;
  double d;
  pawl_str str;      /* unescaped; borrowed until the next call */
  size_t begin, end; /* where the token stands in text */
} pawl_json_reader;

/* `alloc` (may be NULL) serves the scratch buffer. */
void pawl_json_reader_init(pawl_json_reader *r, pawl_str text,
                           const pawl_alloc *alloc);
void pawl_json_reader_deinit(pawl_json_reader *r);
/* After a failure every further call fails alike. */
pawl_code pawl_json_next(pawl_json_reader *r, pawl_error *err);
/* Puts "line:column" of the byte at offset `at` into err. */
void pawl_json_locate(pawl_str text, size_t at, pawl_error *err);

/* Is the text one whole JSON value, by the rules above (duplicate keys
 * included)? Its kind goes to *kind when kind is not NULL. Memory is needed
 * only by objects of many keys out of byte order. */
pawl_code pawl_json_check(pawl_str text, pawl_json_kind *kind,
                          pawl_error *err);
/* And is it at most so deep? PAWL_VALUE_DEPTH: may it be kept as a value? */
pawl_code pawl_json_check_depth(pawl_str text, int most, pawl_json_kind *kind,
                                pawl_error *err);
/* The same for all that a fresh reader reads, with the reader's allocator. */
pawl_code pawl_json_check_all(pawl_json_reader *r, pawl_json_kind *kind,
                              pawl_error *err);

/* ---- reading text known to be valid, by slices ----
 * (Other text gives wrong answers, but nothing outside of it is read.) */

/* Walks an object's or array's direct members without copying. Start with
 * it = {0}. Returns 0 at the end. `key` is raw text between the quotes (still
 * escaped; empty for arrays), `value` the member's text without white space
 * around it. */
typedef struct pawl_json_iter {
  size_t at;
  pawl_str key, value; /* pawl_json_walk's */
} pawl_json_iter;
int pawl_json_each(pawl_str container, pawl_json_iter *it, pawl_str *key,
                   pawl_str *value);
/* for (pawl_json_iter it = {0}; pawl_json_walk(container, &it);) */
static inline int pawl_json_walk(pawl_str container, pawl_json_iter *it) {
  return pawl_json_each(container, it, &it->key, &it->value);
}
/* How many members it has. */
int pawl_json_count(pawl_str container);
pawl_json_kind pawl_json_kind_of(pawl_str value);
/* Has it more than so many levels? {} has one. */
int pawl_json_is_deeper(pawl_str value, int most);
/* The value of a plain-ASCII key of an object; 0 when absent. */
int pawl_json_get(pawl_str object, const char *key, pawl_str *value);
/* The unescaped text of a string value (quotes included) appended to out. */
void pawl_json_unquote(pawl_str value, pawl_buf *out);
/* Is it one of the list's texts? Unquoted into `scratch`: where that has failed,
 * before or here, nobody knows, and it is 0. */
int pawl_json_lists(pawl_str list, pawl_str text, pawl_buf *scratch);
/* That of a member. 0: there is none, or it is no string. */
int pawl_json_get_text(pawl_str object, const char *key, pawl_buf *out);
/* 0 when the value is not an integer / not a number; integers are numbers,
 * rounded to the nearest float. */
int pawl_json_int(pawl_str value, int64_t *out);
/* A member that is an integer; `other` where there is none. */
int64_t pawl_json_get_int(pawl_str object, const char *key, int64_t other);
int pawl_json_number(pawl_str value, double *out);

/* A plain decimal, -?(0|[1-9][0-9]*)(.[0-9]+)?, of at most 1,000 characters:
 * what every database gives back as it was. */
int pawl_json_is_decimal(pawl_str text);

/* ---- writing ---- */

/* Quoted and escaped. Bytes that are not UTF-8 become U+FFFD, so that the
 * text is valid whatever an error message held; check first where that would
 * be a loss. */
void pawl_json_add_string(pawl_buf *b, pawl_str s);
/* The same of text that shall be UTF-8. 0: it is not, from byte *bad on, and
 * what was appended is of no use. */
int pawl_json_add_checked(pawl_buf *b, pawl_str s, size_t *bad);
void pawl_json_add_float(pawl_buf *b, double d); /* d is finite */
/* Is s valid UTF-8? *at: the first bad byte. */
int pawl_utf8_check(pawl_str s, size_t *at);
/* A code point as UTF-8: 1 to 4 bytes. */
size_t pawl_utf8_put(char to[4], long point);

/* Appends what pawl_format makes. */
pawl_code pawl_json_format(pawl_buf *b, const char *format, va_list args,
                           pawl_error *err);

/* What stands between the quotes of a string value, as it is written; empty if
 * it is none. */
pawl_str pawl_json_between_quotes(pawl_str value);

/* What changed between two objects, the values of top level keys compared by
 * their text: {"set":{"k":newvalue,...},"unset":["k",...]}, either part left
 * out when empty; nothing is appended when they are equal. Keys come in byte
 * order. An empty text stands for {}. */
void pawl_json_delta(pawl_str before, pawl_str after, pawl_buf *out);
/* The reverse: appends `before` with the delta applied, keys in byte order;
 * exactly `after` when that had no white space and its keys in byte order, as
 * luajson.h writes it. */
void pawl_json_apply(pawl_str before, pawl_str delta, pawl_buf *out);

/* ---- shared with luajson.c ---- */

typedef struct pawl_json_key {
  pawl_str text; /* unescaped */
  size_t tag;    /* the caller's */
} pawl_json_key;
/* By bytes of text, equal ones by tag; in place, never quadratic. */
void pawl_json_sort_keys(pawl_json_key *keys, size_t n);

#endif
