#include "../../src/base/buf.h"

#include "test.h"

static pawl_str bytes(const char *at, size_t len) {
  pawl_str s = {at, len};
  return s;
}

static void strings_compare_by_bytes(void) {
  pawl_str null = {NULL, 0};
  CHECK(pawl_str_eq(null, pawl_strz("")));
  CHECK(pawl_str_eq(bytes("a\0b", 3), bytes("a\0b", 3)));
  CHECK(!pawl_str_eq(bytes("a\0b", 3), bytes("a\0c", 3)));
  CHECK(pawl_str_eqz(pawl_strz("abc"), "abc"));
  CHECK(!pawl_str_eqz(pawl_strz("abc"), "abcd"));
  CHECK(pawl_str_cmp(pawl_strz("ab"), pawl_strz("abc")) < 0);
  CHECK(pawl_str_cmp(pawl_strz("b"), pawl_strz("abc")) > 0);
  CHECK(pawl_str_cmp(pawl_strz("\xff"), pawl_strz("a")) > 0);
  CHECK_INT(pawl_str_cmp(null, null), 0);
}

static void utf8_is_what_rfc_3629_says(void) {
  CHECK_INT(pawl_utf8_length("a", 1), 1);
  CHECK_INT(pawl_utf8_length("\xc3\xa9", 2), 2);
  CHECK_INT(pawl_utf8_length("\xe2\x82\xac", 3), 3);
  CHECK_INT(pawl_utf8_length("\xf0\x9f\x98\x80", 4), 4);
  CHECK_INT(pawl_utf8_length("\xf4\x8f\xbf\xbf", 4), 4);
  CHECK_INT(pawl_utf8_length("\xf4\x90\x80\x80", 4), 0); /* over U+10FFFF */
  CHECK_INT(pawl_utf8_length("\xed\xa0\x80", 3), 0);     /* a surrogate */
  CHECK_INT(pawl_utf8_length("\xed\x9f\xbf", 3), 3);
  CHECK_INT(pawl_utf8_length("\xc0\x80", 2), 0); /* longer than needed */
  CHECK_INT(pawl_utf8_length("\xe0\x9f\xbf", 3), 0);
  CHECK_INT(pawl_utf8_length("\xf0\x8f\xbf\xbf", 4), 0);
  CHECK_INT(pawl_utf8_length("\xe2\x82", 2), 0); /* cut */
  CHECK_INT(pawl_utf8_length("\xe2\x82x", 3), 0);
  CHECK_INT(pawl_utf8_length("\x80", 1), 0);
  CHECK_INT(pawl_utf8_length("\xff", 1), 0);
  CHECK_INT(pawl_utf8_length("", 0), 0);
}

static void copies_never_cut_a_character(void) {
  char to[8];
  pawl_str_copy(to, sizeof to, pawl_strz("abcdefghij"));
  CHECK_TEXT(to, "abcdefg");
  pawl_str_copy(to, sizeof to, pawl_strz("abcdef\xc3\xa9"));
  CHECK_TEXT(to, "abcdef");
  pawl_str_copy(to, sizeof to, pawl_strz("abcde\xc3\xa9z"));
  CHECK_TEXT(to, "abcde\xc3\xa9");
  pawl_str_copy(to, sizeof to, pawl_strz("abcd\xf0\x9f\x98\x80"));
  CHECK_TEXT(to, "abcd");
  pawl_str_copy(to, sizeof to, pawl_strz("abc\xf0\x9f\x98\x80!"));
  CHECK_TEXT(to, "abc\xf0\x9f\x98\x80");
  pawl_str_copy(to, sizeof to, pawl_strz("\x80\x80\x80\x80\x80\x80\x80\x80"));
  CHECK_INT(strlen(to), 7); /* not UTF-8: cut anywhere */
  pawl_str_copy(to, 1, pawl_strz("abc"));
  CHECK_TEXT(to, "");
  to[0] = 'x';
  pawl_str_copy(to, 0, pawl_strz("abc"));
  CHECK_INT(to[0], 'x');
}

static void a_buffer_grows_and_ends_with_zero(void) {
  pawl_buf b = {0};
  size_t i;

  CHECK_STR(pawl_buf_str(&b), "");
  for (i = 0; i < 1000; i++) {
    pawl_buf_addc(&b, (char)('a' + i % 26));
    if (b.len != i + 1 || b.at[b.len] != '\0') break;
  }
  CHECK_INT(i, 1000);
  CHECK(b.cap > b.len);
  CHECK_INT(b.at[999], 'a' + 999 % 26);
  pawl_buf_clear(&b);
  CHECK_STR(pawl_buf_str(&b), "");
  CHECK_INT(b.at[0], 0);
  pawl_buf_add(&b, NULL, 0);
  pawl_buf_adds(&b, pawl_strz("one"));
  pawl_buf_addz(&b, ", two");
  CHECK_STR(pawl_buf_str(&b), "one, two");
  memcpy(pawl_buf_room(&b, 3), "xyz", 3);
  pawl_buf_grew(&b, 3);
  CHECK_STR(pawl_buf_str(&b), "one, twoxyz");
  CHECK_INT(b.at[b.len], 0);
  pawl_buf_deinit(&b);
  CHECK(b.at == NULL && b.cap == 0);
  pawl_buf_addz(&b, "again");
  CHECK_STR(pawl_buf_str(&b), "again");
  pawl_buf_deinit(&b);
  pawl_buf_deinit(NULL);
}

static void integers_and_formats(void) {
  pawl_buf b = {0};
  char long_text[400];

  pawl_buf_addi(&b, 0);
  pawl_buf_addc(&b, ' ');
  pawl_buf_addi(&b, -1);
  pawl_buf_addc(&b, ' ');
  pawl_buf_addi(&b, INT64_MAX);
  pawl_buf_addc(&b, ' ');
  pawl_buf_addi(&b, INT64_MIN);
  CHECK_STR(pawl_buf_str(&b), "0 -1 9223372036854775807 -9223372036854775808");
  pawl_buf_clear(&b);
  pawl_buf_addf(&b, "%s-%d", "a", 7);
  CHECK_STR(pawl_buf_str(&b), "a-7");
  memset(long_text, 'y', sizeof long_text - 1);
  long_text[sizeof long_text - 1] = '\0';
  pawl_buf_clear(&b);
  pawl_buf_addf(&b, "<%s>", long_text); /* longer than its first guess */
  CHECK_INT(b.len, sizeof long_text + 1);
  CHECK(b.at[0] == '<' && b.at[b.len - 1] == '>' && b.at[b.len] == '\0');
  pawl_buf_deinit(&b);
}

/* Every way to append, on a buffer whose n-th request is refused. */
static void use_all(pawl_buf *b) {
  char filler[100];
  char *room;
  memset(filler, 'f', sizeof filler);
  pawl_buf_addc(b, 'a');
  pawl_buf_add(b, filler, sizeof filler);
  pawl_buf_addf(b, "%200d", 1);
  pawl_buf_addz(b, "text");
  room = pawl_buf_room(b, 500);
  if (room) {
    memset(room, 'r', 500);
    pawl_buf_grew(b, 500);
  }
  pawl_buf_addi(b, 12345);
}

static void a_refusal_is_kept_until_the_end(void) {
  int for_ever, n;
  for (for_ever = 0; for_ever < 2; for_ever++) {
    for (n = 1; n < 100; n++) {
      test_alloc counted = {0};
      pawl_alloc alloc = {test_alloc_fn, &counted};
      pawl_buf b = {0};
      pawl_error err;
      int failed;
      b.alloc = &alloc;
      counted.fail_at = n;
      counted.for_ever = for_ever;
      use_all(&b);
      failed = b.failed;
      if (failed) {
        size_t len = b.len;
        CHECK_INT(pawl_buf_check(&b, &err), PAWL_NOMEM);
        CHECK_INT(err.code, PAWL_NOMEM);
        pawl_buf_addc(&b, 'x'); /* does nothing, also where there is room */
        CHECK_INT(b.len, len);
        CHECK(b.at == NULL || b.at[b.len] == '\0');
      } else {
        CHECK_INT(pawl_buf_check(&b, &err), PAWL_OK);
        CHECK_INT(b.len, 1 + 100 + 200 + 4 + 500 + 5);
      }
      pawl_buf_deinit(&b);
      CHECK_INT(counted.live_bytes, 0);
      if (!failed) break;
    }
    CHECK(n > 2 && n < 100); /* it did fail, and at last it did not */
  }
}

static void sizes_that_cannot_be_are_refused(void) {
  test_alloc counted = {0};
  pawl_alloc alloc = {test_alloc_fn, &counted};
  pawl_buf b = {0};
  b.alloc = &alloc;
  pawl_buf_addc(&b, 'a');
  CHECK(pawl_buf_room(&b, SIZE_MAX) == NULL);
  CHECK_INT(b.failed, 1);
  pawl_buf_clear(&b);
  CHECK(pawl_buf_room(&b, SIZE_MAX - 1) == NULL); /* and 1 for the zero */
  pawl_buf_clear(&b);
  CHECK(pawl_buf_room(&b, SIZE_MAX / 2) == NULL);
  CHECK_INT(counted.requests, 1); /* no allocator was asked for that */
  pawl_buf_deinit(&b);
}

static void the_allocators_door(void) {
  test_alloc counted = {0};
  pawl_alloc alloc = {test_alloc_fn, &counted};
  pawl_alloc system = {0};
  unsigned char *block = pawl_calloc(&alloc, 10);
  int i, zeros = 0;

  for (i = 0; i < 10; i++) zeros += block[i] == 0;
  CHECK_INT(zeros, 10);
  CHECK_INT(counted.live_bytes, 10);
  block = pawl_realloc(&alloc, block, 10, 20);
  CHECK_INT(counted.live_bytes, 20);
  pawl_release(&alloc, block, 20);
  pawl_release(&alloc, NULL, 20);
  CHECK_INT(counted.live_bytes, 0);
  counted.fail_at = 1;
  counted.for_ever = 1;
  CHECK(pawl_calloc(&alloc, 10) == NULL);
  block = pawl_calloc(NULL, 10);
  block = pawl_realloc(&system, block, 10, 1000);
  CHECK(block != NULL && block[9] == 0);
  pawl_release(NULL, block, 1000);
}

int main(void) {
  strings_compare_by_bytes();
  utf8_is_what_rfc_3629_says();
  copies_never_cut_a_character();
  a_buffer_grows_and_ends_with_zero();
  integers_and_formats();
  a_refusal_is_kept_until_the_end();
  sizes_that_cannot_be_are_refused();
  the_allocators_door();
  return TEST_END;
}
