#define _POSIX_C_SOURCE 200809L /* clock_gettime, nanosleep */
#include "clock.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#define DAY (86400 * PAWL_SECOND)

static int64_t read_clock(clockid_t which) {
  struct timespec t;
  if (clock_gettime(which, &t) != 0) return 0; /* both are always there */
  return (int64_t)t.tv_sec * PAWL_SECOND + t.tv_nsec / 1000;
}

int64_t pawl_time_after(int64_t at, int64_t us) {
  if (at < -PAWL_TIME_MAX) at = -PAWL_TIME_MAX;
  if (at > PAWL_TIME_MAX) at = PAWL_TIME_MAX;
  /* no sum is formed that could overflow */
  if (us < -PAWL_TIME_MAX - at) return -PAWL_TIME_MAX;
  return us > PAWL_TIME_MAX - at ? PAWL_TIME_MAX : at + us;
}

int64_t pawl_clock_now(const pawl_clock *c) {
  int64_t us = c && c->fn ? c->fn(c->ud) : read_clock(CLOCK_REALTIME);
  return us < 0 ? 0 : us > PAWL_TIME_MAX ? PAWL_TIME_MAX : us;
}

int pawl_clock_is_virtual(const pawl_clock *c) {
  return c && c->fn;
}

int64_t pawl_clock_mono(void) {
  return read_clock(CLOCK_MONOTONIC);
}

/* By it, since it was set. */
static int64_t game_us(const pawl_game_clock *c) {
  if (!(c->speed > 0)) return 0;
  /* doubles: of a clock that was never set the sum may be anything */
  const double us =
      ((double)pawl_clock_mono() - (double)c->since_us) * c->speed;
  if (!(us > 0)) return 0;
  /* what no int64_t holds is far beyond the last time that there is */
  return us >= (double)PAWL_TIME_MAX ? PAWL_TIME_MAX : (int64_t)us;
}

int64_t pawl_game_clock_now(void *clock) {
  const pawl_game_clock *c = clock;
  return c ? pawl_time_after(c->now_us, game_us(c)) : 0;
}

int64_t pawl_game_clock_passed(void *clock) {
  const pawl_game_clock *c = clock;
  return c ? pawl_time_after(c->passed_us, game_us(c)) : 0;
}

void pawl_game_clock_set(pawl_game_clock *clock, int64_t now_us,
                         double speed) {
  if (!clock) return;
  const int64_t passed_us = pawl_game_clock_passed(clock);
  /* of one that is set for the first time: whatever lay there */
  clock->passed_us =
      passed_us > 0 && passed_us < PAWL_TIME_MAX ? passed_us : 0;
  clock->now_us = pawl_time_after(now_us, 0);
  clock->since_us = pawl_clock_mono();
  clock->speed = speed > 0 ? speed : 0;
  memset(clock->reserved, 0, sizeof clock->reserved);
}

/* Days since 1970-01-01 of a date of the Gregorian calendar, and back, after
 * H. Hinnant, "chrono-compatible low-level date algorithms". Years begin in
 * March, so that the leap day is the last. The C library's functions would
 * share a static result, or ask for the time zone. */
static int64_t days_of(int64_t year, int month, int day) {
  int64_t era, year_of_era, day_of_year, day_of_era;
  if (month <= 2) year--;
  era = (year >= 0 ? year : year - 399) / 400;
  year_of_era = year - era * 400;
  day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

static void date_of(int64_t days, int *year, int *month, int *day) {
  int64_t era, day_of_era, year_of_era, day_of_year, m;
  days += 719468;
  era = (days >= 0 ? days : days - 146096) / 146097;
  day_of_era = days - era * 146097;
  year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
                 day_of_era / 146096) /
                365;
  day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  m = (5 * day_of_year + 2) / 153;
  *day = (int)(day_of_year - (153 * m + 2) / 5 + 1); /* 1..31 */
  *month = (int)(m < 10 ? m + 3 : m - 9);            /* 1..12 */
  *year = (int)(year_of_era + era * 400 + (*month <= 2));
  assert(days_of(*year, *month, *day) == days - 719468);
}

static char *put_digits(char *to, int64_t n, int width) {
  for (int i = width - 1; i >= 0; i--, n /= 10) to[i] = (char)('0' + n % 10);
  return to + width;
}

void pawl_time_format(int64_t us, char out[28]) {
  const int64_t first = days_of(0, 1, 1) * DAY;
  const int64_t last = days_of(10000, 1, 1) * DAY - 1;
  int year, month, day;
  char *at = out;

  if (us < first) us = first;
  if (us > last) us = last;
  int64_t days = us / DAY - (us % DAY < 0); /* rounds down, also before 1970 */
  int64_t rest = us - days * DAY;
  date_of(days, &year, &month, &day);
  at = put_digits(at, year, 4);
  *at++ = '-';
  at = put_digits(at, month, 2);
  *at++ = '-';
  at = put_digits(at, day, 2);
  *at++ = 'T';
  at = put_digits(at, rest / (3600 * PAWL_SECOND), 2);
  *at++ = ':';
  at = put_digits(at, rest / (60 * PAWL_SECOND) % 60, 2);
  *at++ = ':';
  at = put_digits(at, rest / PAWL_SECOND % 60, 2);
  *at++ = '.';
  at = put_digits(at, rest % PAWL_SECOND, 6);
  *at++ = 'Z';
  *at = '\0';
}

/* Text being parsed: what does not fit makes `ok` 0, once and for all. */
typedef struct scan {
  const char *at, *end;
  int ok;
} scan;

static int peek(const scan *s) {
  return s->at < s->end ? *s->at : '\0';
}

static int is_digit(int c) {
  return c >= '0' && c <= '9';
}

static int take_number(scan *s, int width, int least, int most) {
  int n = 0, i;
  for (i = 0; i < width && is_digit(peek(s)); i++)
    n = n * 10 + (*s->at++ - '0');
  if (i < width || n < least || n > most) s->ok = 0;
  return n;
}

static int take_char(scan *s, const char *choices) {
  int c = peek(s);
  for (; *choices; choices++)
    if (c == *choices) return s->at++, c;
  s->ok = 0;
  return 0;
}

static int days_in_month(int year, int month) {
  static const char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return days[month - 1] + (month == 2 && leap);
}

static int64_t take_date(scan *s) {
  int year = take_number(s, 4, 0, 9999);
  take_char(s, "-");
  int month = take_number(s, 2, 1, 12);
  take_char(s, "-");
  if (!s->ok) return 0;
  int day = take_number(s, 2, 1, days_in_month(year, month));
  return days_of(year, month, day) * DAY;
}

/* ".5" is half a second; what is finer than a microsecond is cut off. */
static int64_t take_fraction(scan *s) {
  int64_t us = 0, unit = PAWL_SECOND / 10;
  s->at++;
  if (!is_digit(peek(s))) s->ok = 0;
  for (; is_digit(peek(s)); unit /= 10) us += (*s->at++ - '0') * unit;
  return us;
}

static int64_t take_clock(scan *s) {
  int64_t us = take_number(s, 2, 0, 23) * 3600 * PAWL_SECOND;
  take_char(s, ":");
  us += take_number(s, 2, 0, 59) * 60 * PAWL_SECOND;
  take_char(s, ":");
  us += take_number(s, 2, 0, 59) * PAWL_SECOND;
  if (peek(s) == '.') us += take_fraction(s);
  return us;
}

/* "Z", or what to take off: "+02:00". */
static int64_t take_zone(scan *s) {
  int sign = take_char(s, "Zz+-");
  if (sign != '+' && sign != '-') return 0;
  int64_t minutes = take_number(s, 2, 0, 23) * 60;
  take_char(s, ":");
  minutes += take_number(s, 2, 0, 59);
  return (sign == '+' ? minutes : -minutes) * 60 * PAWL_SECOND;
}

int pawl_date_is_valid(int64_t us) {
  return us >= days_of(0, 1, 1) * DAY && us <= PAWL_TIME_MAX;
}

int pawl_time_parse(const char *text, size_t len, int64_t *us) {
  scan s = {text, text + len, 1};
  int64_t time = take_date(&s);

  if (s.ok && s.at < s.end) {
    take_char(&s, "Tt ");
    time += take_clock(&s);
    time -= take_zone(&s);
  }
  if (!s.ok || s.at < s.end) return 0;
  *us = time;
  return 1;
}

void pawl_sleep_us(int64_t us) {
  struct timespec t;
  if (us <= 0) return;
  t.tv_sec = (time_t)(us / PAWL_SECOND); /* 292,000 years at most */
  t.tv_nsec = (long)(us % PAWL_SECOND) * 1000;
  nanosleep(&t, NULL);
}
