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

typedef struct pawl_clock {
  pawl_clock_fn fn; /* NULL: the system's */
  void *ud;
} pawl_clock;

int64_t pawl_clock_now(const pawl_clock *c);
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
