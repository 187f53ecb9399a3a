#define _POSIX_C_SOURCE 200809L
#include "heartbeat.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

struct pawl_heartbeat {
  pawl_engine *e;
  pawl_buf url;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t stop_now;
  int stop, running;
  int64_t until_mono_us; /* the handler's time limit */
  /* the thread's own */
  pawl_store *store;
  pawl_args args;
  struct lease {
    int shard;
    pawl_id id, lease;
  } * leases;
  int nleases;
};

/* ---- the thread ---- */

/* A connection of its own: the engine's is in the midst of whatever its
 * handler was called from. It makes no store (S4). */
static pawl_code open_store(pawl_heartbeat *p, pawl_error *err) {
  pawl_store_options options = {.clock = &p->e->clock,
                                .pooler = p->e->config.pooler,
                                .schema = p->e->config.schema,
                                .create = -1};
  return p->store ? PAWL_OK
                  : pawl_store_open(p->url.at, &options, &p->store, err);
}

static pawl_code heartbeat_shard(pawl_heartbeat *p, int shard,
                                 pawl_error *err) {
  pawl_args_begin(&p->args, PAWL_STMT_agenda_heartbeat);
  for (int i = 0; i < p->nleases; i++) {
    if (p->leases[i].shard != shard) continue;
    PAWL_PUT(&p->args, agenda_heartbeat, .shard = shard,
             .id = &p->leases[i].id, .lease = &p->leases[i].lease,
             .lease_us = p->e->config.lease_us,
             .now = pawl_store_now(p->store));
  }
  if (!pawl_args_rows(&p->args)) return PAWL_OK;
  return pawl_store_once(p->store, PAWL_UNIT_BATCH, &p->args, NULL, err);
}

/* A failed beat is tried again at the next; the lease outlives two of them. */
static void beat(pawl_heartbeat *p) {
  pawl_error err;
  if (open_store(p, &err) != PAWL_OK) return;
  for (int s = 0; s < pawl_store_shards(p->store); s++)
    if (heartbeat_shard(p, s, &err) != PAWL_OK) return;
}

/* Under the lock. Leases are copied rather than read where they stand: while
 * the store is asked the lock is not held, or a handler's end would wait for
 * the store. */
static void copy_leases(pawl_heartbeat *p) {
  p->nleases = 0;
  if (!p->running || pawl_clock_mono() >= p->until_mono_us) return;
  for (int i = 0; i < p->e->nheld_slots; i++) {
    const pawl_held *h = p->e->held[i];
    if (h->state == PAWL_SLOT_FREE) continue;
    assert(p->nleases < pawl_held_max(p->e));
    p->leases[p->nleases].shard = h->shard;
    p->leases[p->nleases].id = h->d.id;
    p->leases[p->nleases++].lease = h->lease;
  }
}

static struct timespec next_beat(int64_t heartbeat_us) {
  int64_t at = pawl_clock_mono() + heartbeat_us; /* CLOCK_MONOTONIC's */
  struct timespec t = {.tv_sec = (time_t)(at / PAWL_SECOND),
                       .tv_nsec = (long)(at % PAWL_SECOND * 1000)};
  return t;
}

/* A wait may end early, for no reason: only its time, or `stop`, counts. */
static void *run(void *ud) {
  pawl_heartbeat *p = ud;
  pthread_mutex_lock(&p->lock);
  while (!p->stop) {
    struct timespec until = next_beat(p->e->config.heartbeat_us);
    while (!p->stop &&
           pthread_cond_timedwait(&p->stop_now, &p->lock, &until) == 0)
      ;
    if (p->stop) break;
    copy_leases(p);
    if (!p->nleases) continue;
    pthread_mutex_unlock(&p->lock);
    beat(p);
    pthread_mutex_lock(&p->lock);
  }
  pthread_mutex_unlock(&p->lock);
  pawl_store_close(p->store);
  p->store = NULL;
  return NULL;
}

/* ---- the engine's side ---- */

/* By a clock that only goes up: one that is set back would hold up beats
 * until the leases have ended. */
static void init_locks(pawl_heartbeat *p) {
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&p->stop_now, &attr);
  pthread_condattr_destroy(&attr);
  pthread_mutex_init(&p->lock, NULL);
}

/* Signals are the host's: its handlers run on its own threads. */
static int start_thread(pawl_heartbeat *p) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int rc = pthread_create(&p->thread, NULL, run, p);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return rc;
}

static void free_heartbeat(pawl_heartbeat *p) {
  pthread_cond_destroy(&p->stop_now);
  pthread_mutex_destroy(&p->lock);
  pawl_release(NULL, p->leases,
               sizeof *p->leases * (size_t)pawl_held_max(p->e));
  pawl_args_deinit(&p->args);
  pawl_buf_deinit(&p->url);
  pawl_release(NULL, p, sizeof *p);
}

pawl_code pawl_heartbeat_open(pawl_engine *e, const char *url,
                              pawl_heartbeat **out, pawl_error *err) {
  pawl_heartbeat *p;
  if (e->config.clock || e->config.alloc)
    return pawl_fail(err, PAWL_MISUSE,
                     "a helper thread (heartbeat_thread) cannot use "
                     "a clock or an allocator of the host's");
  if (!strcmp(url, ":memory:")) { /* nobody else could take anything over */
    *out = NULL;
    return PAWL_OK;
  }
  p = pawl_calloc(NULL, sizeof *p);
  if (!p) return pawl_fail_memory(err);
  p->e = e;
  init_locks(p);
  pawl_args_init(&p->args, NULL);
  pawl_buf_addz(&p->url, url);
  p->leases = pawl_calloc(NULL, sizeof *p->leases * (size_t)pawl_held_max(e));
  if (!p->leases || p->url.failed) {
    free_heartbeat(p);
    return pawl_fail_memory(err);
  }
  if (start_thread(p) != 0) {
    free_heartbeat(p);
    return pawl_fail(err, PAWL_NOMEM, "the heartbeat thread cannot start");
  }
  *out = p;
  return PAWL_OK;
}

void pawl_heartbeat_close(pawl_heartbeat *p) {
  if (!p) return;
  pthread_mutex_lock(&p->lock);
  p->stop = 1;
  pthread_cond_signal(&p->stop_now);
  pthread_mutex_unlock(&p->lock);
  pthread_join(p->thread, NULL);
  free_heartbeat(p);
}

/* One handler runs at a time (H7), so a flag is enough; those that wait are
 * looked after by the rounds. */
void pawl_heartbeat_begin(pawl_heartbeat *p, int64_t timeout_us) {
  if (!p) return;
  pthread_mutex_lock(&p->lock);
  p->running = 1;
  p->until_mono_us = pawl_clock_mono() + timeout_us;
  pthread_mutex_unlock(&p->lock);
}

void pawl_heartbeat_end(pawl_heartbeat *p) {
  if (!p) return;
  pthread_mutex_lock(&p->lock);
  p->running = 0;
  pthread_mutex_unlock(&p->lock);
}
