/* bench/raw.h: what both raw programs write, so that they and pawl's W1 write
 * alike.
 *
 *   raw_STORE WHERE setup      a table of 20,000 instances, written through
 *                              once, so that what follows finds it warm
 *   raw_STORE WHERE step N     N steps: 64 a transaction, one UPDATE of an
 *                              instance's row with 200 bytes of state and one
 *                              INSERT of history each
 *   raw_STORE WHERE start N    N instances, one row and one transaction each
 *   raw_STORE WHERE bulk N     N instances, 1,000 a transaction: PostgreSQL
 *                              one INSERT, SQLite one a row
 *   raw_STORE WHERE three N    N times, after a pause of 5 to 25 ms: three
 *                              steps one after the other, one a transaction
 *                              and one call a statement
 *   raw_postgres WHERE pair N  as step, on two connections: N / 2 steps each,
 *                              on instances of its own
 *
 * `three` prints "p50_ms T", all others but `setup` "seconds S" and "bytes N",
 * one a line. PostgreSQL's batches take instances in the order of their ids:
 * neighbours share pages, which is kind to the raw side. SQLite's take them
 * at random, as they come due. */
#ifndef PAWL_BENCH_RAW_H
#define PAWL_BENCH_RAW_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
  RAW_INSTANCES = 20000,
  RAW_BATCH = 64,
  RAW_BULK = 1000,
  RAW_TEXT = 256,
  RAW_TIMES = 10000
};

static inline int64_t raw_clock_us(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* 200 bytes. */
static inline int raw_state(char text[RAW_TEXT], int64_t step) {
  return snprintf(text, RAW_TEXT,
                  "{\"amount\":129.95,\"currency\":\"EUR\",\"customer\":"
                  "\"c-00012345\",\"items\":[1,2,3],\"note\":\"%0*d\","
                  "\"order\":\"o-0000000001\",\"step\":%9lld}",
                  76, 7, (long long)step);
}

/* 75 bytes. */
static inline int raw_output(char text[RAW_TEXT], int64_t step) {
  return snprintf(text, RAW_TEXT,
                  "{\"note\":\"%0*d\",\"ok\":true,\"ref\":\"r-%09lld\"}", 34,
                  7, (long long)step);
}

/* Numbers of history rows that no earlier run has used. */
static inline int64_t raw_first_seq(void) {
  return raw_clock_us(CLOCK_REALTIME);
}

static inline int raw_usage(const char *program) {
  fprintf(stderr,
          "usage: %s WHERE setup | step N | start N | bulk N | three N\n",
          program);
  return 2;
}

/* What came before shall be over, and the machine be at rest. */
static inline void raw_pause(unsigned *dice) {
  struct timespec t = {0, 5000000 + rand_r(dice) % 20000 * 1000L};
  nanosleep(&t, NULL);
}

static inline int raw_order(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Calls `once` so often, at most RAW_TIMES; prints what it takes. */
static inline void raw_latency(int64_t n, void (*once)(void *ud, int64_t i),
                               void *ud) {
  static int64_t took[RAW_TIMES];
  unsigned dice = 7;
  if (n > RAW_TIMES) n = RAW_TIMES;
  for (int64_t i = 0; i < n; i++) {
    raw_pause(&dice);
    int64_t began_us = raw_clock_us(CLOCK_MONOTONIC);
    once(ud, i);
    took[i] = raw_clock_us(CLOCK_MONOTONIC) - began_us;
  }
  qsort(took, (size_t)n, sizeof took[0], raw_order);
  printf("p50_ms %.3f\n", n > 0 ? (double)took[n / 2] / 1e3 : 0.0);
}

static inline void raw_print(int64_t began_us, int64_t bytes) {
  int64_t took_us = raw_clock_us(CLOCK_MONOTONIC) - began_us;
  printf("seconds %.6f\nbytes %lld\n", (double)took_us / 1e6,
         (long long)bytes);
}

#endif
