#include "sha256.h"

#include <string.h>

/* FIPS 180-4, section 4.2.2. */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotr(uint32_t x, int n) {
  return x >> n | x << (32 - n);
}

static uint32_t load32(const unsigned char *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
         p[3];
}

static void store32(unsigned char *p, uint32_t x) {
  p[0] = (unsigned char)(x >> 24);
  p[1] = (unsigned char)(x >> 16 & 0xff);
  p[2] = (unsigned char)(x >> 8 & 0xff);
  p[3] = (unsigned char)(x & 0xff);
}

/* Section 6.2.2; the letters are the standard's. */
static void compress(uint32_t h[8], const unsigned char *block) {
  uint32_t w[64], v[8];
  int t;

  for (t = 0; t < 16; t++) w[t] = load32(block + 4 * t);
  for (; t < 64; t++) {
    uint32_t x = w[t - 15], y = w[t - 2];
    w[t] = (rotr(y, 17) ^ rotr(y, 19) ^ y >> 10) + w[t - 7] +
           (rotr(x, 7) ^ rotr(x, 18) ^ x >> 3) + w[t - 16];
  }
  memcpy(v, h, sizeof v);
  for (t = 0; t < 64; t++) {
    uint32_t a = v[0], e = v[4], t1, t2;
    t1 = v[7] + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) +
         ((e & v[5]) ^ (~e & v[6])) + K[t] + w[t];
    t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) +
         ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += t1;
    v[0] = t1 + t2;
  }
  for (t = 0; t < 8; t++) h[t] += v[t];
}

void pawl_sha256_init(pawl_sha256 *s) {
  static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                    0xa54ff53a, 0x510e527f, 0x9b05688c,
                                    0x1f83d9ab, 0x5be0cd19};
  memcpy(s->h, first, sizeof s->h);
  s->len = 0;
}

void pawl_sha256_add(pawl_sha256 *s, const void *bytes, size_t len) {
  const unsigned char *at = bytes;
  size_t held = s->len % 64;

  s->len += len;
  if (held > 0) {
    size_t n = len < 64 - held ? len : 64 - held;
    if (n > 0) memcpy(s->block + held, at, n);
    if (held + n < 64) return;
    compress(s->h, s->block);
    at += n;
    len -= n;
  }
  for (; len >= 64; at += 64, len -= 64) compress(s->h, at);
  if (len > 0) memcpy(s->block, at, len);
}

void pawl_sha256_end(pawl_sha256 *s, unsigned char out[32]) {
  static const unsigned char padding[64] = {0x80};
  uint64_t bits = s->len * 8;
  size_t held = s->len % 64;
  unsigned char tail[8];

  store32(tail, (uint32_t)(bits >> 32));
  store32(tail + 4, (uint32_t)(bits & 0xffffffff));
  pawl_sha256_add(s, padding, held < 56 ? 56 - held : 120 - held);
  pawl_sha256_add(s, tail, sizeof tail);
  for (int i = 0; i < 8; i++) store32(out + 4 * i, s->h[i]);
}

void pawl_sha256_hex(const unsigned char digest[32], char out[65]) {
  static const char digits[] = "0123456789abcdef";
  for (int i = 0; i < 32; i++) {
    out[2 * i] = digits[digest[i] >> 4];
    out[2 * i + 1] = digits[digest[i] & 15];
  }
  out[64] = '\0';
}
