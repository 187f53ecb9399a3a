#include "../../src/base/id.h"

#include "test.h"

#define NOW INT64_C(1795246740123456) /* 2026-11-21T07:39:00.123456Z */

static pawl_id make(pawl_idgen *g, int64_t now_us) {
  pawl_id id = {{0}};
  CHECK_INT(pawl_id_make(g, now_us, &id, NULL), PAWL_OK);
  return id;
}

static int64_t ms_of(const pawl_id *id) {
  int64_t ms = 0;
  int i;
  for (i = 0; i < 6; i++) ms = ms << 8 | id->bytes[i];
  return ms;
}

static void an_id_is_a_uuid_of_version_7(void) {
  pawl_idgen g = {0};
  pawl_id id = make(&g, NOW), other = make(&g, NOW);

  CHECK_INT(ms_of(&id), NOW / 1000);
  CHECK_INT(id.bytes[6] >> 4, 7);
  CHECK_INT(id.bytes[8] >> 6, 2);
  CHECK(memcmp(id.bytes + 8, other.bytes + 8, 8) != 0); /* random */
  CHECK(!pawl_id_eq(&id, &other));
  CHECK(pawl_id_eq(&id, &id));
}

static void ids_sort_as_they_were_made(void) {
  pawl_idgen g = {0};
  pawl_id last = make(&g, NOW);
  int i, out_of_order = 0;

  /* More in one millisecond than the counter can hold. */
  for (i = 0; i < 20000; i++) {
    pawl_id id = make(&g, NOW);
    out_of_order += pawl_id_cmp(&last, &id) >= 0;
    last = id;
  }
  CHECK_INT(out_of_order, 0);
  CHECK(ms_of(&last) - NOW / 1000 <= 20000 / 2048 + 1);
  for (i = 0; i < 5000; i++) { /* the clock goes back, then on */
    pawl_id id = make(&g, NOW - 3600000000 + i * INT64_C(2000000));
    out_of_order += pawl_id_cmp(&last, &id) >= 0;
    last = id;
  }
  CHECK_INT(out_of_order, 0);
  CHECK_INT(ms_of(&last), (NOW - 3600000000) / 1000 + 4999 * 2000);
}

static void times_at_the_edges(void) {
  pawl_idgen g = {0}, end = {0};
  const int64_t last_us = ((INT64_C(1) << 48) - 1) * 1000;
  pawl_error err;
  pawl_id id, same;

  id = make(&g, 0);
  CHECK_INT(ms_of(&id), 0);
  id = make(&g, -5000000); /* a game's clock may begin anywhere */
  CHECK_INT(ms_of(&id), 0);
  id = make(&end, last_us);
  CHECK_INT(ms_of(&id), last_us / 1000);
  same = id;
  CHECK_INT(pawl_id_make(&end, last_us + 1000, &id, &err), PAWL_INVALID);
  CHECK(strstr(err.message, "10889") != NULL);
  CHECK(pawl_id_eq(&id, &same)); /* nothing is written on failure */
}

static void the_last_16_bits_are_the_home(void) {
  pawl_idgen g = {0};
  pawl_id id;
  int seen = 0, i;
  for (i = 0; i < 65536; i += 257) {
    CHECK_INT(pawl_id_make_at_home(&g, NOW, (uint16_t)i, &id, NULL), PAWL_OK);
    CHECK_INT(pawl_id_home(&id), i);
  }
  for (i = 0; i < 64; i++) { /* drawn, they fall on all of 4 shards */
    id = make(&g, NOW);
    seen |= 1 << pawl_id_home(&id) % 4;
  }
  CHECK_INT(seen, 15);
}

static void text_goes_both_ways(void) {
  static const char text[] = "01920b7e-7c1d-7f00-8aff-0123456789ab";
  pawl_idgen g = {0};
  pawl_id id, back;
  char out[37];

  CHECK(pawl_id_parse(text, 36, &id));
  pawl_id_format(&id, out);
  CHECK_TEXT(out, text);
  CHECK_INT(pawl_id_home(&id), 0x89ab);
  CHECK(pawl_id_parse("01920B7E-7C1D-7F00-8AFF-0123456789AB", 36, &back));
  CHECK(pawl_id_eq(&id, &back));
  id = make(&g, NOW);
  pawl_id_format(&id, out);
  CHECK(pawl_id_parse(out, 36, &back) && pawl_id_eq(&id, &back));
  CHECK(pawl_id_parse("00000000-0000-0000-0000-000000000000", 36, &id));
  for (size_t i = 0; i < sizeof id.bytes; i++) CHECK_INT(id.bytes[i], 0);
}

static void what_is_no_id_is_refused(void) {
  static const char text[] = "01920b7e-7c1d-7f00-8aff-0123456789ab";
  char bad[37];
  pawl_id id;
  size_t i;
  int accepted = 0;

  CHECK(!pawl_id_parse(text, 35, &id));
  CHECK(!pawl_id_parse("01920b7e-7c1d-7f00-8aff-0123456789ab0", 37, &id));
  CHECK(!pawl_id_parse("", 0, &id));
  for (i = 0; i < 36; i++) {
    memcpy(bad, text, sizeof bad);
    bad[i] = text[i] == '-' ? '0' : '-';
    accepted += pawl_id_parse(bad, 36, &id);
    bad[i] = 'g';
    accepted += pawl_id_parse(bad, 36, &id);
  }
  CHECK_INT(accepted, 0);
}

static int range(const char *prefix, char low[37], char high[37]) {
  pawl_id from, to;
  int digits = pawl_id_range(prefix, &from, &to);
  pawl_id_format(&from, low);
  pawl_id_format(&to, high);
  return digits;
}

static void a_prefix_stands_for_a_range(void) {
  char low[37], high[37];

  CHECK_INT(range("", low, high), 0);
  CHECK_TEXT(low, "00000000-0000-0000-0000-000000000000");
  CHECK_TEXT(high, "ffffffff-ffff-ffff-ffff-ffffffffffff");
  CHECK_INT(range("01920B7e-7", low, high), 9);
  CHECK_TEXT(low, "01920b7e-7000-0000-0000-000000000000");
  CHECK_TEXT(high, "01920b7e-7fff-ffff-ffff-ffffffffffff");
  CHECK_INT(range("01920b7e7c1d7f008aff0123456789ab", low, high), 32);
  CHECK_TEXT(low, "01920b7e-7c1d-7f00-8aff-0123456789ab");
  CHECK_TEXT(high, low);
  CHECK_INT(range("01920b7e7c1d7f008aff0123456789ab0", low, high), -1);
  CHECK_INT(range("01g", low, high), -1);
}

int main(void) {
  an_id_is_a_uuid_of_version_7();
  ids_sort_as_they_were_made();
  times_at_the_edges();
  the_last_16_bits_are_the_home();
  text_goes_both_ways();
  what_is_no_id_is_refused();
  a_prefix_stands_for_a_range();
  return TEST_END;
}
