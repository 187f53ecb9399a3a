/* base/sha256.h: SHA-256 (FIPS 180-4), for checksums and homes. */
#ifndef PAWL_BASE_SHA256_H
#define PAWL_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct pawl_sha256 {
  uint32_t h[8];
  uint64_t len;
  unsigned char block[64];
} pawl_sha256;

void pawl_sha256_init(pawl_sha256 *s);
void pawl_sha256_add(pawl_sha256 *s, const void *bytes, size_t len);
void pawl_sha256_end(pawl_sha256 *s, unsigned char out[32]);
void pawl_sha256_hex(const unsigned char digest[32], char out[65]);

#endif
