#include "../../src/base/clock.h"

#include "test.h"

static int64_t test_time(void *ud) {
  return *(int64_t *)ud;
}

static const char *text_of(int64_t us) {
  static char out[28];
  pawl_time_format(us, out);
  return out;
}

static int parse(const char *text, int64_t *us) {
  return pawl_time_parse(text, strlen(text), us);
}

static int64_t time_of(const char *text) {
  int64_t us = -1;
  if (!CHECK(parse(text, &us))) printf("  %s\n", text);
  return us;
}

static void a_clock_can_be_given(void) {
  int64_t now = 42;
  pawl_clock given = {test_time, &now}, system = {0};

  CHECK_INT(pawl_clock_now(&given), 42);
  now = 43;
  CHECK_INT(pawl_clock_now(&given), 43);
  CHECK(pawl_clock_is_virtual(&given));
  CHECK(!pawl_clock_is_virtual(&system));
  CHECK(!pawl_clock_is_virtual(NULL));
  /* Between 2020 and 2200: microseconds, not seconds or nanoseconds. */
  CHECK(pawl_clock_now(&system) > INT64_C(1577836800000000));
  CHECK(pawl_clock_now(NULL) < INT64_C(7258118400000000));
}

static void game_time_stands_and_passes(void) {
  pawl_game_clock game = {0};
  pawl_clock clock = {pawl_game_clock_now, &game};
  int64_t was;

  CHECK_INT(pawl_clock_now(&clock), 0);
  pawl_game_clock_set(&game, 5 * PAWL_SECOND, 0);
  pawl_sleep_us(2000);
  CHECK_INT(pawl_clock_now(&clock), 5 * PAWL_SECOND);
  pawl_game_clock_set(&game, pawl_game_clock_now(&game), 1000);
  pawl_sleep_us(2000);
  was = pawl_clock_now(&clock);
  CHECK(was >= 7 * PAWL_SECOND);
  pawl_game_clock_set(&game, PAWL_SECOND, 0.5); /* back */
  was = pawl_clock_mono();
  pawl_sleep_us(20000);
  CHECK(pawl_clock_now(&clock) >= PAWL_SECOND + 10000);
  CHECK(pawl_clock_now(&clock) <=
        PAWL_SECOND + (pawl_clock_mono() - was) / 2 + 1000);
  /* what no clock shows */
  pawl_game_clock_set(&game, INT64_MIN, -1);
  CHECK_INT(pawl_clock_now(&clock), 0);
  pawl_game_clock_set(&game, 7, strtod("nan", NULL));
  CHECK_INT(pawl_clock_now(&clock), 7);
  pawl_game_clock_set(&game, INT64_MAX, 1e300);
  pawl_sleep_us(1000);
  CHECK_INT(pawl_clock_now(&clock), PAWL_TIME_MAX);
  pawl_game_clock_set(NULL, 1, 1);
  CHECK_INT(pawl_game_clock_now(NULL), 0);
}

/* What is not moved by being set. */
static void game_time_that_has_passed(void) {
  pawl_game_clock game = {0};
  int64_t was, began;

  CHECK_INT(pawl_game_clock_passed(&game), 0);
  pawl_game_clock_set(&game, 5 * PAWL_SECOND, 0);
  pawl_sleep_us(2000);
  CHECK_INT(pawl_game_clock_passed(&game), 0);
  began = pawl_clock_mono();
  pawl_game_clock_set(&game, 900 * PAWL_SECOND, 10); /* ahead */
  CHECK(pawl_game_clock_passed(&game) <=
        (pawl_clock_mono() - began) * 10 + 1000);
  pawl_sleep_us(2000);
  pawl_game_clock_set(&game, PAWL_SECOND, 0); /* back, and a pause */
  was = pawl_game_clock_passed(&game);
  CHECK(was >= 20000);
  CHECK(was <= (pawl_clock_mono() - began) * 10);
  pawl_sleep_us(2000);
  CHECK_INT(pawl_game_clock_passed(&game), was);
  CHECK_INT(pawl_game_clock_passed(NULL), 0);
  /* whatever lies where it is set first */
  for (int garbage = 0; garbage < 256; garbage++) {
    memset(&game, garbage, sizeof game);
    pawl_game_clock_set(&game, 7, 0);
    was = pawl_game_clock_passed(&game);
    CHECK(was >= 0 && was < PAWL_TIME_MAX);
    pawl_game_clock_set(&game, 70, 0);
    CHECK_INT(pawl_game_clock_passed(&game), was);
  }
}

static void durations_only_grow(void) {
  int64_t last = pawl_clock_mono(), begin;
  int i, back = 0;
  for (i = 0; i < 1000; i++) {
    int64_t now = pawl_clock_mono();
    back += now < last;
    last = now;
  }
  CHECK_INT(back, 0);
  begin = pawl_clock_mono();
  pawl_sleep_us(2000);
  CHECK(pawl_clock_mono() - begin >= 2000);
  begin = pawl_clock_mono();
  pawl_sleep_us(0);
  pawl_sleep_us(-PAWL_SECOND);
  CHECK(pawl_clock_mono() - begin < PAWL_SECOND);
}

static void times_are_written(void) {
  CHECK_TEXT(text_of(0), "1970-01-01T00:00:00.000000Z");
  CHECK_TEXT(text_of(-1), "1969-12-31T23:59:59.999999Z");
  CHECK_TEXT(text_of(INT64_C(1795246740123456)),
             "2026-11-21T07:39:00.123456Z");
  CHECK_TEXT(text_of(INT64_C(951782399999999)), "2000-02-28T23:59:59.999999Z");
  CHECK_TEXT(text_of(INT64_C(951782400000000)), "2000-02-29T00:00:00.000000Z");
  CHECK_TEXT(text_of(INT64_MAX), "9999-12-31T23:59:59.999999Z");
  CHECK_TEXT(text_of(INT64_MIN), "0000-01-01T00:00:00.000000Z");
}

static void times_are_read(void) {
  CHECK_INT(time_of("1970-01-01T00:00:00.000000Z"), 0);
  CHECK_INT(time_of("2026-11-21T07:39:00.123456Z"), INT64_C(1795246740123456));
  CHECK_INT(time_of("2026-11-21"), INT64_C(1795219200000000));
  CHECK_INT(time_of("2026-11-21T07:39:00Z"), INT64_C(1795246740000000));
  CHECK_INT(time_of("2026-11-21 07:39:00z"), INT64_C(1795246740000000));
  CHECK_INT(time_of("2026-11-21t07:39:00.5Z"), INT64_C(1795246740500000));
  CHECK_INT(time_of("2026-11-21T07:39:00.1234567Z"),
            INT64_C(1795246740123456));
  CHECK_INT(time_of("2026-11-21T09:39:00+02:00"), INT64_C(1795246740000000));
  CHECK_INT(time_of("2026-11-20T22:09:00-09:30"), INT64_C(1795246740000000));
  CHECK_INT(time_of("1969-12-31T23:59:59.999999Z"), -1);
}

static void what_is_no_time_is_refused(void) {
  /* clang-format off */
  static const char *const bad[] = {
      "", "2026", "2026-11", "2026-11-2", "2026-11-31", "2026-02-29",
      "1900-02-29", "2026-13-01", "2026-00-01", "2026-01-00", "26-01-01",
      "2026-11-21T", "2026-11-21T07", "2026-11-21T07:39Z",
      "2026-11-21T07:39:00", "2026-11-21T24:00:00Z", "2026-11-21T07:60:00Z",
      "2026-11-21T07:39:60Z", "2026-11-21T07:39:00.Z",
      "2026-11-21T07:39:00ZZ", "2026-11-21T07:39:00+2:00",
      "2026-11-21T07:39:00+24:00", "2026-11-21T07:39:00+02",
      "2026/11/21", " 2026-11-21", "2026-11-21 ", "+026-11-21", "tomorrow"};
  /* clang-format on */
  size_t i;
  int64_t us = 7;
  for (i = 0; i < sizeof bad / sizeof *bad; i++)
    if (!CHECK(!parse(bad[i], &us))) printf("  %s\n", bad[i]);
  CHECK_INT(us, 7);
  CHECK(!pawl_time_parse("2026-11-21", 9, &us)); /* the length counts */
}

/* No sum overflows, whatever the numbers. */
static void what_comes_later_has_an_end(void) {
  const int64_t odd[] = {
      INT64_MIN, INT64_MIN + 1, -PAWL_TIME_MAX - 1, -1,       0,
      1,         PAWL_TIME_MAX, PAWL_TIME_MAX + 1,  INT64_MAX};
  const size_t n = sizeof odd / sizeof *odd;
  CHECK_INT(pawl_time_after(5, 7), 12);
  CHECK_INT(pawl_time_after(5, -7), -2);
  CHECK_INT(pawl_time_after(PAWL_TIME_MAX - 1, 1), PAWL_TIME_MAX);
  CHECK_INT(pawl_time_after(PAWL_TIME_MAX, 1), PAWL_TIME_MAX);
  CHECK_INT(pawl_time_after(1, INT64_MAX), PAWL_TIME_MAX);
  CHECK_INT(pawl_time_after(INT64_MAX, INT64_MIN), -PAWL_TIME_MAX);
  CHECK_INT(pawl_time_after(INT64_MIN, INT64_MAX), PAWL_TIME_MAX);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < n; k++) {
      int64_t us = pawl_time_after(odd[i], odd[k]);
      CHECK(us >= -PAWL_TIME_MAX && us <= PAWL_TIME_MAX);
    }
  CHECK_TEXT(text_of(PAWL_TIME_MAX), "9999-12-31T23:59:59.999999Z");
  CHECK(pawl_date_is_valid(time_of("0000-01-01")));
  CHECK(!pawl_date_is_valid(time_of("0000-01-01") - 1));
}

/* What a clock says beyond is the nearest that can be stored. */
static int64_t says;
static int64_t say(void *ud) {
  (void)ud;
  return says;
}
static void a_clock_keeps_within_what_can_be_stored(void) {
  const pawl_clock odd = {say, NULL};
  says = INT64_MAX;
  CHECK_INT(pawl_clock_now(&odd), PAWL_TIME_MAX);
  says = INT64_MIN;
  CHECK_INT(pawl_clock_now(&odd), 0);
  says = 17;
  CHECK_INT(pawl_clock_now(&odd), 17);
}

/* Every day of 10,000 years, by counting on from the one before. */
static void days_follow_each_other(void) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int64_t us = 0, read, wrong = 0;
  int year, month, day;
  char want[28];

  if (!parse("0000-01-01", &us)) us = 0;
  for (year = 0; year < 10000; year++) {
    int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    for (month = 1; month <= 12; month++) {
      for (day = 1; day <= days[month - 1] + (month == 2 && leap); day++) {
        snprintf(want, sizeof want, "%04d-%02d-%02d", year % 10000,
                 month % 100, day % 100);
        wrong += strncmp(text_of(us), want, 10) != 0;
        wrong += !pawl_time_parse(want, 10, &read) || read != us;
        us += 86400 * PAWL_SECOND;
      }
    }
  }
  CHECK_INT(wrong, 0);
}

int main(void) {
  a_clock_can_be_given();
  game_time_stands_and_passes();
  game_time_that_has_passed();
  durations_only_grow();
  times_are_written();
  times_are_read();
  what_is_no_time_is_refused();
  what_comes_later_has_an_end();
  a_clock_keeps_within_what_can_be_stored();
  days_follow_each_other();
  return TEST_END;
}
