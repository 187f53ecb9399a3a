#include "callback.h"

#include <assert.h>

#include "../../base/sha256.h"
#include "../../defs/def.h"
#include "../../rules/decision.h"
#include "engine_struct.h"

enum {
  NAMED = 16 + 8, /* instance, visit */
  MAC = 16,
  BYTES = NAMED + MAC,
  DIGITS = (BYTES * 8 + 5) / 6,
  BLOCK = 64 /* of SHA-256 */
};

_Static_assert(DIGITS + 1 + 200 <= PAWL_MAX_KEY, "J4: with the longest event");

/* ---- HMAC-SHA256 (RFC 2104) ---- */

/* One of its two hashes, begun: the key, filled up, with `pad` in each byte. */
static void begin(pawl_sha256 *s, const unsigned char key[BLOCK],
                  unsigned char pad) {
  unsigned char block[BLOCK];

  for (int i = 0; i < BLOCK; i++) block[i] = (unsigned char)(key[i] ^ pad);
  pawl_sha256_init(s);
  pawl_sha256_add(s, block, BLOCK);
}

static void mac_of(pawl_str secret, const unsigned char named[NAMED],
                   pawl_str event, unsigned char out[MAC]) {
  unsigned char key[BLOCK] = {0}, digest[32];
  pawl_sha256 s;

  pawl_sha256_init(&s);
  pawl_sha256_add(&s, secret.at, secret.len);
  pawl_sha256_end(&s, key); /* secrets may have any length */
  begin(&s, key, 0x36);
  pawl_sha256_add(&s, named, NAMED);
  pawl_sha256_add(&s, event.at, event.len);
  pawl_sha256_end(&s, digest);
  begin(&s, key, 0x5c);
  pawl_sha256_add(&s, digest, sizeof digest);
  pawl_sha256_end(&s, digest);
  memcpy(out, digest, MAC);
}

/* ---- base64url, without padding ---- */

static const char ALPHABET[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void add_digits(pawl_buf *out, const unsigned char *bytes, int n) {
  for (int bit = 0; bit < n * 8; bit += 6) {
    const int at = bit / 8, shift = bit % 8;
    const unsigned two =
        (unsigned)bytes[at] << 8 | (at + 1 < n ? bytes[at + 1] : 0u);
    pawl_buf_addc(out, ALPHABET[two >> (10 - shift) & 63]);
  }
}

/* 0: not so many digits, or bits are set behind the last byte. */
static int read_digits(const char *text, unsigned char *bytes, int n) {
  unsigned held = 0;
  int nheld = 0, done = 0;

  for (int i = 0; i < DIGITS; i++) {
    const char *digit = text[i] ? strchr(ALPHABET, text[i]) : NULL;
    if (!digit) return 0;
    held = held << 6 | (unsigned)(digit - ALPHABET);
    nheld += 6;
    if (nheld < 8 || done == n) continue;
    nheld -= 8;
    bytes[done++] = (unsigned char)(held >> nheld);
    held &= (1u << nheld) - 1;
  }
  return done == n && !held;
}

/* ---- the token ---- */

void pawl_callback_write(pawl_str secret, const pawl_callback *c,
                         pawl_buf *out) {
  unsigned char bytes[BYTES];

  memcpy(bytes, c->instance.bytes, 16);
  for (int i = 0; i < 8; i++)
    bytes[16 + i] = (unsigned char)((uint64_t)c->visit >> (56 - 8 * i));
  mac_of(secret, bytes, c->event, bytes + NAMED);
  add_digits(out, bytes, BYTES);
  pawl_buf_addc(out, '.');
  pawl_buf_adds(out, c->event);
}

/* It takes as long, however many of them are right. */
static int is_same(const unsigned char *a, const unsigned char *b) {
  unsigned char differs = 0;
  for (int i = 0; i < MAC; i++) differs |= a[i] ^ b[i];
  return !differs;
}

int pawl_callback_read(pawl_str secret, pawl_str token, pawl_callback *out) {
  unsigned char bytes[BYTES], mac[MAC];
  uint64_t visit = 0;

  if (token.len < DIGITS + 2 || token.len > PAWL_MAX_KEY ||
      memchr(token.at, 0, token.len) || token.at[DIGITS] != '.' ||
      !read_digits(token.at, bytes, BYTES))
    return 0;
  out->event.at = token.at + DIGITS + 1;
  out->event.len = token.len - DIGITS - 1;
  mac_of(secret, bytes, out->event, mac);
  if (!is_same(mac, bytes + NAMED)) return 0;
  memcpy(out->instance.bytes, bytes, 16);
  for (int i = 0; i < 8; i++) visit = visit << 8 | bytes[16 + i];
  out->visit = (int64_t)visit;
  return 1;
}

/* ---- the store's secret ---- */

pawl_code pawl_callback_keep(pawl_engine *e, pawl_str found, pawl_str *out,
                             pawl_error *err) {
  if (found.len < 32 || found.len >= sizeof e->secret)
    return pawl_fail_hint(err, PAWL_CORRUPT,
                          "restore the row `" PAWL_CALLBACK_SECRET
                          "` of its table secret",
                          "the store has no secret for callbacks");
  pawl_str_copy(e->secret, sizeof e->secret, found);
  *out = pawl_strz(e->secret);
  return PAWL_OK;
}

pawl_code pawl_callback_secret(pawl_engine *e, pawl_str *out,
                               pawl_error *err) {
  pawl_rows rows;

  *out = pawl_strz(e->secret);
  if (out->len) return PAWL_OK;
  MUST(PAWL_READ(e->store, secret_get, &rows, err,
                 .name = pawl_strz(PAWL_CALLBACK_SECRET)));
  return pawl_callback_keep(
      e, rows.nrows ? pawl_read_secret_get(&rows, 0).value : pawl_strz(""),
      out, err);
}
