/* base/clock.h: time, injectable; nothing else asks the system for it.
 *
 * Time     int64_t microseconds since 1970-01-01 UTC, and a monotonic count
 *          of microseconds for durations. */
#ifndef PAWL_BASE_CLOCK_H
#define PAWL_BASE_CLOCK_H

#include <stdint.h>

#include "../pawl.h"

#define PAWL_SECOND ((int64_t)1000000)
#define PAWL_NEVER INT64_MAX
/* The last instant that is stored: 9999-12-31T23:59:59.999999Z. What was asked
 * for beyond is refused where it comes in; what is computed ends there. */
#define PAWL_TIME_MAX INT64_C(253402300799999999)
/* Durations are at most that long, so that adding one to a time of today
 * cannot overflow; lua/pawl/duration.lua has the same limit. */
#define PAWL_MAX_DURATION_US (INT64_C(365250) * 86400 * 1000000)

typedef struct pawl_clock {
  pawl_clock_fn fn; /* NULL: the system's */
  void *ud;
} pawl_clock;

/* From 0 to PAWL_TIME_MAX, whatever the clock says. */
int64_t pawl_clock_now(const pawl_clock *c);
/* `at` put off by `us`, either of them any number, and PAWL_TIME_MAX at most;
 * before 1970 at most as far. */
int64_t pawl_time_after(int64_t at, int64_t us);
/* Can it be stored as a date: has its year four digits? */
int pawl_date_is_valid(int64_t us);
/* Is it a test's or a game's clock, rather than the system's? */
int pawl_clock_is_virtual(const pawl_clock *c);
/* Microseconds that only go up, for budgets and elapsed times. */
int64_t pawl_clock_mono(void);
/* "2026-11-21T07:38:00.000000Z"; years outside of 0 to 9999 become the
 * nearest such time. */
void pawl_time_format(int64_t us, char out[28]);
/* The reverse; also accepts a date alone, no fraction, a space for the T and
 * "+02:00" for the Z. 0: not a time. */
int pawl_time_parse(const char *text, size_t len, int64_t *us);
/* Sleeps; may return early when a signal arrives. */
void pawl_sleep_us(int64_t us);

#endif
