#include "../../src/base/sha256.h"

#include "test.h"

/* In pieces of `piece` bytes, so that every way through a block is taken. */
static const char *hash(const char *text, size_t len, size_t piece) {
  static char hex[65];
  unsigned char digest[32];
  pawl_sha256 s;
  size_t at;

  pawl_sha256_init(&s);
  for (at = 0; at < len; at += piece)
    pawl_sha256_add(&s, text + at, len - at < piece ? len - at : piece);
  pawl_sha256_add(&s, NULL, 0);
  pawl_sha256_end(&s, digest);
  pawl_sha256_hex(digest, hex);
  return hex;
}

/* The examples published with FIPS 180-4. */
static void knows_the_standards_vectors(void) {
  static const char two_blocks[] =
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  static const char four_blocks[] =
      "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
      "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";
  static char million[1000000];

  CHECK_TEXT(hash("", 0, 1),
             "e3b0c44298fc1c149afbf4c8996fb924"
             "27ae41e4649b934ca495991b7852b855");
  CHECK_TEXT(hash("abc", 3, 3),
             "ba7816bf8f01cfea414140de5dae2223"
             "b00361a396177a9cb410ff61f20015ad");
  CHECK_TEXT(hash(two_blocks, sizeof two_blocks - 1, 100),
             "248d6a61d20638b8e5c026930c3e6039"
             "a33ce45964ff2167f6ecedd419db06c1");
  CHECK_TEXT(hash(four_blocks, sizeof four_blocks - 1, 100),
             "cf5b16a778af8380036ce59e7b049237"
             "0b249b11e8f07a51afac45037afee9d1");
  memset(million, 'a', sizeof million);
  CHECK_TEXT(hash(million, sizeof million, 1000),
             "cdc76e5c9914fb9281a1c7e284d73e67"
             "f1809a48a497200e046d39ccc7112cd0");
}

static void pieces_do_not_matter(void) {
  char text[300], whole[65];
  size_t len, piece;
  int differ = 0;

  for (len = 0; len < sizeof text; len++) text[len] = (char)(len * 7);
  for (len = 0; len <= sizeof text; len += 13) {
    memcpy(whole, hash(text, len, sizeof text), sizeof whole);
    for (piece = 1; piece < 140; piece++)
      differ += strcmp(whole, hash(text, len, piece)) != 0;
  }
  CHECK_INT(differ, 0);
}

/* Around the lengths where the padding needs a block of its own: one digest
 * over the digests of 50 to 130 bytes, made by another implementation. */
static void lengths_around_a_block(void) {
  char text[131], all[81 * 64];
  size_t len;
  memset(text, 'q', sizeof text);
  for (len = 50; len <= 130; len++)
    memcpy(all + (len - 50) * 64, hash(text, len, 64), 64);
  CHECK_TEXT(hash(all, sizeof all, 64),
             "25a22d708c587d06a4c28a5fce559fc8"
             "18d0a21acc85fa15690b3770726e7693");
}

int main(void) {
  knows_the_standards_vectors();
  pieces_do_not_matter();
  lengths_around_a_block();
  return TEST_END;
}
