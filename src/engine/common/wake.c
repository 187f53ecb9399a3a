/* The notification that workers sleep on, and the programs' own. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "wake.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/fault.h"
#include "engine_struct.h"
#include "pipeline.h"

/* ---- programs ---- */

typedef struct pawl_waker {
  struct pawl_waker *next;
  const pawl_engine *e;
  int64_t round; /* in which it was told last */
  int calls;     /* under way */
} pawl_waker;

/* The process's, and of no use to a child that has forked: another thread may
 * have held the lock then, and whoever is in the list is its parent's. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t told;
  pawl_waker *first;
  int64_t round;
  _Atomic int64_t pid; /* whose it is; -pid: being made so */
} all = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0, 0};

static void begin_anew(void) {
  static const pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static const pthread_cond_t told = PTHREAD_COND_INITIALIZER;
  all.lock = lock;
  all.told = told;
  all.first = NULL;
}

/* One of the process's threads makes it the process's. */
static void lock_all(void) {
  const int64_t own = getpid();
  int64_t seen = atomic_load(&all.pid);

  while (seen != own) {
    if (seen == -own) {
      sched_yield();
      seen = atomic_load(&all.pid);
    } else if (atomic_compare_exchange_weak(&all.pid, &seen, -own)) {
      begin_anew();
      atomic_store(&all.pid, seen = own);
    }
  }
  pthread_mutex_lock(&all.lock);
  (void)PAWL_FAULT("wake.locked");
}

static void unlock_all(void) {
  pthread_mutex_unlock(&all.lock);
}

/* Two engines with the same one are open on the same store; of what cannot be
 * opened twice it is empty. */
static pawl_code name_store(pawl_engine *e, const char *url, pawl_error *err) {
  char path[PATH_MAX];
  pawl_buf *name = &e->store_name;

  pawl_store_describe(url, name);
  MUST(pawl_buf_check(name, err));
  if (!strcmp(name->at, ":memory:")) {
    pawl_buf_clear(name);
    return PAWL_OK;
  }
  if (realpath(name->at, path)) pawl_buf_set(name, pawl_strz(path));
  pawl_buf_addc(name, ' ');
  pawl_buf_addz(name, e->config.schema ? e->config.schema : "");
  return pawl_buf_check(name, err);
}

pawl_code pawl_wake_open(pawl_engine *e, const char *url, pawl_error *err) {
  MUST(name_store(e, url ? url : "pawl.db", err));
  if (!e->config.wake) return PAWL_OK;
  e->waker = pawl_calloc(&e->plain, sizeof *e->waker);
  if (!e->waker) return pawl_fail_memory(err);
  e->waker->e = e;
  lock_all();
  e->waker->next = all.first;
  all.first = e->waker;
  unlock_all();
  return PAWL_OK;
}

void pawl_wake_close(pawl_engine *e, int ours) {
  pawl_waker *w = e->waker, **at = &all.first;

  if (w && ours) {
    lock_all();
    while (*at != w) at = &(*at)->next;
    *at = w->next;
    while (w->calls) pthread_cond_wait(&all.told, &all.lock);
    unlock_all();
  }
  pawl_release(&e->plain, w, sizeof *w);
  e->waker = NULL;
  pawl_buf_deinit(&e->store_name); /* others have read it until here */
}

/* Its own tick ends with what is due next; so it is not told meanwhile. */
static int is_meant(const pawl_waker *w, const pawl_engine *e) {
  if (w->e == e) return !e->stats;
  return e->store_name.len && pawl_str_eq(pawl_buf_str(&w->e->store_name),
                                          pawl_buf_str(&e->store_name));
}

/* Whose programs this thread is telling now: one that is told may make another
 * one's due. */
typedef struct telling {
  const pawl_engine *e;
  const struct telling *outer;
} telling;
static _Thread_local const telling *tells;

int pawl_wake_is_telling(const pawl_engine *e) {
  for (const telling *t = tells; t; t = t->outer)
    if (t->e == e) return 1;
  return 0;
}

static void tell(const pawl_engine *e) {
  const telling t = {.e = e, .outer = tells};

  tells = &t;
  e->config.wake(e->config.wake_ud);
  tells = t.outer;
}

/* The next that this round has not told. The list may change while one is
 * told; whom another round tells meanwhile is told of this, too. */
static pawl_waker *next_meant(const pawl_engine *e, int64_t round) {
  for (pawl_waker *w = all.first; w; w = w->next) {
    if (w->round >= round) continue;
    w->round = round;
    if (is_meant(w, e)) return w;
  }
  return NULL;
}

void pawl_wake_programs(pawl_engine *e) {
  pawl_waker *w;
  int64_t round;

  if (pawl_store_held(e->store)) { /* nobody can see it yet */
    e->after_held.wake = 1;
    return;
  }
  lock_all();
  round = ++all.round;
  while ((w = next_meant(e, round))) {
    w->calls++;
    unlock_all();
    tell(w->e);
    lock_all();
    if (!--w->calls) pthread_cond_broadcast(&all.told);
  }
  unlock_all();
}

/* ---- workers ---- */

/* Nobody waits for its answer, where that can be. */
static pawl_code send_wake(pawl_engine *e, pawl_error *err) {
  pawl_rows rows;
  pawl_sent *sent;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(&e->args, PAWL_STMT_wake);
  if (!pawl_pipeline_is_open(e) || pawl_pipeline_is_full(e))
    return pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err);
  TRY(pawl_pipeline_place(e, &sent, err));
  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(pawl_store_send(e->store, &e->args, NULL, err));
  TRY(pawl_store_submit(e->store, err));
  pawl_pipeline_sent(e); /* n is 0: there is nothing to apply */
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* Sleeping workers are told after the commit, not more often than they can
 * use it: who was told looks again a little later (pawl_engine_wait). */
void pawl_wake(pawl_engine *e) {
  pawl_error err;
  int64_t mono = pawl_clock_mono();

  e->woken = 1;         /* it may be ours to run */
  e->await_look_us = 0; /* or for one whose handlers wait here */
  if (pawl_store_held(e->store)) {
    e->after_held.wake = 1; /* nobody can see it yet */
    return;
  }
  pawl_wake_programs(e);
  if (mono < e->wake_mono_us) return;
  e->wake_mono_us = mono + PAWL_WAKE_EVERY_US;
  if (send_wake(e, &err) != PAWL_OK)
    pawl_log_error(&e->log, PAWL_DEBUG, "wake-up not sent", &err);
}
