#define _DEFAULT_SOURCE /* getentropy */
#include "id.h"

#include <assert.h>
#include <sys/random.h>
#include <unistd.h>

/* RFC 9562, section 5.7, with the counter of section 6.2 (method 1):
 *
 *   bytes 0-5   milliseconds since the epoch
 *   bytes 6-7   version 7, 12 bits of counter
 *   byte  8     variant 10, then random bits
 *   bytes 14-15 its home (I2) */
#define COUNTER_LAST 0xfff
#define COUNTER_SEED 0x7ff /* half is left to count on in a millisecond */
#define DRAWN 12 /* bytes for an id: 10 of its own, 2 to seed the counter */
#define MS_LAST (((int64_t)1 << 48) - 1)

/* The next pair of time and counter, greater than the last one also when the
 * clock stands still or goes back: then the id's time runs ahead. I1 */
static void advance(pawl_idgen *g, int64_t now_ms, uint32_t seed) {
  if (now_ms > g->last_ms) {
    g->last_ms = now_ms;
    g->counter = seed & COUNTER_SEED;
  } else if (g->counter < COUNTER_LAST) {
    g->counter++;
  } else {
    g->last_ms++;
    g->counter = seed & COUNTER_SEED;
  }
}

/* Bytes that are the same for the same seed: splitmix64. */
static void fill_by_seed(pawl_idgen *g) {
  for (size_t i = 0; i < sizeof g->pool; i += 8) {
    uint64_t x = g->seed += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    x ^= x >> 31;
    for (int k = 0; k < 8; k++)
      g->pool[i + (size_t)k] = (unsigned char)(x >> (8 * k) & 0xff);
  }
  if (!g->seed) g->seed = 1;
}

/* The next DRAWN random bytes. */
static pawl_code draw(pawl_idgen *g, const unsigned char **out,
                      pawl_error *err) {
  if (g->left < DRAWN) {
    if (g->seed)
      fill_by_seed(g);
    else if (getentropy(g->pool, sizeof g->pool) != 0)
      return pawl_fail(err, PAWL_INTERNAL,
                       "the system gives no random bytes for an id");
    g->left = sizeof g->pool;
  }
  *out = g->pool + sizeof g->pool - g->left;
  g->left -= DRAWN;
  return PAWL_OK;
}

pawl_code pawl_id_make(pawl_idgen *g, int64_t now_us, pawl_id *out,
                       pawl_error *err) {
  unsigned char *b = out->bytes;
  const unsigned char *drawn;
  pawl_idgen next = {.last_ms = g->last_ms, .counter = g->counter};

  MUST(draw(g, &drawn, err));
  advance(&next, now_us < 0 ? 0 : now_us / 1000,
          (uint32_t)drawn[10] << 8 | drawn[11]);
  if (next.last_ms > MS_LAST)
    return pawl_fail_hint(
        err, PAWL_INVALID, "a clock gives microseconds since 1970",
        "no id can hold the time %lld: it lies after the year 10889",
        (long long)now_us);
  assert(next.last_ms > g->last_ms ||
         (next.last_ms == g->last_ms && next.counter > g->counter)); /* I1 */
  g->last_ms = next.last_ms;
  g->counter = next.counter;
  for (int i = 0; i < 6; i++)
    b[i] = (unsigned char)(g->last_ms >> (40 - 8 * i) & 0xff);
  b[6] = (unsigned char)(0x70 | g->counter >> 8);
  b[7] = (unsigned char)(g->counter & 0xff);
  b[8] = 0x80 | (drawn[0] & 0x3f);
  memcpy(b + 9, drawn + 1, 7);
  return PAWL_OK;
}

pawl_code pawl_id_make_at_home(pawl_idgen *g, int64_t now_us, uint16_t home,
                               pawl_id *out, pawl_error *err) {
  pawl_id id = {{0}};
  MUST(pawl_id_make(g, now_us, &id, err));
  id.bytes[14] = (unsigned char)(home >> 8);
  id.bytes[15] = (unsigned char)(home & 0xff);
  *out = id;
  return PAWL_OK;
}

int64_t pawl_id_time_us(const pawl_id *id) {
  int64_t ms = 0;
  for (int i = 0; i < 6; i++) ms = ms << 8 | id->bytes[i];
  return ms * 1000;
}

uint16_t pawl_id_home(const pawl_id *id) {
  return (uint16_t)(id->bytes[14] << 8 | id->bytes[15]);
}

/* Is there a hyphen in front of this byte's digits? 8-4-4-4-12 */
static int hyphen_before(int i) {
  return i == 4 || i == 6 || i == 8 || i == 10;
}

void pawl_id_format(const pawl_id *id, char out[37]) {
  static const char digits[] = "0123456789abcdef";
  char *to = out;
  for (int i = 0; i < 16; i++) {
    if (hyphen_before(i)) *to++ = '-';
    *to++ = digits[id->bytes[i] >> 4];
    *to++ = digits[id->bytes[i] & 15];
  }
  *to = '\0';
}

pawl_id_text pawl_id_text_of(const pawl_id *id) {
  pawl_id_text text;
  pawl_id_format(id, text.at);
  return text;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

int pawl_id_parse(const char *text, size_t len, pawl_id *out) {
  pawl_id id;
  if (len != 36) return 0;
  for (int i = 0; i < 16; i++) {
    if (hyphen_before(i) && *text++ != '-') return 0;
    int high = hex_digit(*text++);
    int low = hex_digit(*text++);
    if (high < 0 || low < 0) return 0;
    id.bytes[i] = (unsigned char)(high << 4 | low);
  }
  *out = id;
  return 1;
}

int pawl_id_range(const char *prefix, pawl_id *low, pawl_id *high) {
  int n = 0;
  memset(low->bytes, 0, sizeof low->bytes);
  memset(high->bytes, 255, sizeof high->bytes);
  for (; *prefix; prefix++) {
    int v = hex_digit(*prefix);
    if (*prefix == '-') continue;
    if (v < 0 || n == 32) return -1;
    unsigned char *lo = &low->bytes[n / 2];
    unsigned char *hi = &high->bytes[n / 2];
    if (n++ % 2 == 0) {
      *lo = (unsigned char)(v << 4);
      *hi = (unsigned char)(v << 4 | 15);
    } else {
      *lo = (unsigned char)(*lo | v);
      *hi = (unsigned char)((*hi & 0xf0) | v);
    }
  }
  return n;
}
