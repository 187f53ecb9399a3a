/* value/json_parts.h: what the files of json.h share. Nobody else includes it.
 *
 * json_text.c    characters, escapes, strings     json_read.c   token by token
 * json_number.c  numbers, read and written        json_check.c  a whole text
 * json_keys.c    keys in order                    json_slice.c  by slices
 * json_delta.c   what changed between two objects
 * json_peek.c    by path, for hosts               json_format.c  made by them */
#ifndef PAWL_VALUE_JSON_PARTS_H
#define PAWL_VALUE_JSON_PARTS_H

#include <stdint.h>

#include "json.h"

/* ---- characters: inline, since most of the time goes there ---- */

/* Eight bytes at a time: the tests below set a byte's high bit where that
 * byte is wanted. A borrow may set one falsely, but only beside a true one. */
#define EACH_BYTE(c) (UINT64_C(0x0101010101010101) * (c))
#define HIGH_BITS EACH_BYTE(0x80)

static inline uint64_t load64(const char *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

static inline uint64_t load32(const char *at) {
  uint32_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

static inline uint64_t bytes_below(uint64_t word, unsigned char c) {
  return word - EACH_BYTE((uint64_t)c);
}

/* Of ASCII; another byte may be marked as well. */
static inline uint64_t bytes_equal(uint64_t word, unsigned char c) {
  return bytes_below(word ^ EACH_BYTE((uint64_t)c), 1);
}

/* ASCII that stands for itself inside a string. */
static inline int is_plain(unsigned char c) {
  return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Of eight bytes at `at`, the place of the first whose high bit is set in
 * `marks`, which is not 0. */
static inline const char *first_marked(const char *at, uint64_t marks) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  return at + __builtin_ctzll(marks) / 8;
#else
  (void)marks;
  while (is_plain((unsigned char)*at)) at++;
  return at;
#endif
}

static inline uint64_t not_plain(uint64_t w) {
  w |= bytes_below(w, 0x20) | bytes_equal(w, '"') | bytes_equal(w, '\\');
  return w & HIGH_BITS;
}

static inline const char *skip_plain(const char *at, const char *end) {
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

static inline int is_space(char c) {
  if ((unsigned char)c > ' ') return 0; /* mostly */
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static inline int is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* ---- escapes ---- */

static inline int has_escape(pawl_str raw) {
  return raw.len > 0 && memchr(raw.at, '\\', raw.len) != NULL;
}
/* The character that the escape at `at` stands for goes to `to`, its length
 * to *n. Returns the end of the escape, or NULL when there is no such one. */
const char *pawl_json_unescape(const char *at, const char *end, char to[4],
                               size_t *n);
/* Appends raw text (no quotes around it) without its escapes. */
void pawl_json_add_unescaped(pawl_buf *out, pawl_str raw);

/* ---- numbers ---- */

typedef struct pawl_json_num {
  const char *end;
  const char *hint; /* for a problem that has one */
  int is_float;
  int64_t i;
  double d;
} pawl_json_num;

/* The number at `at`; NULL, or what is wrong at num->end. */
const char *pawl_json_read_number(pawl_json_num *num, const char *at,
                                  const char *end);

/* ---- slices ---- */

/* Where the value that begins at `at` ends; `at` when there is none. */
size_t pawl_json_value_end(pawl_str s, size_t at);
/* Is the escaped text `raw` the same as `key`? */
int pawl_json_raw_is(pawl_str raw, pawl_str key);

/* ---- text that ends with a zero byte ---- */

/* What is behind the whole value that the text begins with, and behind white
 * space; NULL: it is none. Keys may come twice. Needs no memory. */
const char *pawl_json_sound_end(const char *text);

/* ---- keys ---- */

#define PAWL_FEW_KEYS 32 /* kept on the C stack */

/* A growing list of keys. */
typedef struct pawl_keys {
  const pawl_alloc *alloc;
  pawl_json_key *at;
  size_t n, cap;
  pawl_json_key few[PAWL_FEW_KEYS];
} pawl_keys;

void pawl_keys_init(pawl_keys *k, const pawl_alloc *alloc);
void pawl_keys_deinit(pawl_keys *k);
int pawl_keys_add(pawl_keys *k, pawl_str text, size_t tag); /* 0: no memory */
/* Replaces the raw text of every key that has an escape by what it stands
 * for, in `arena`. 0: no memory. */
int pawl_keys_unescape(pawl_json_key *keys, size_t n, pawl_buf *arena);
/* Doubles a list of *cap items of `size` bytes, which begins as `few` on the
 * C stack. 0: no memory. */
int pawl_keys_grow(const pawl_alloc *alloc, void **list, const void *few,
                   size_t *cap, size_t size);

#endif
