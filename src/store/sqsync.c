#define _GNU_SOURCE /* fdatasync */
#include "sqsync.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../base/fault.h"
#include "failure.h"

struct pawl_sqsync {
  const pawl_alloc *alloc;
  pthread_t thread;
  pthread_mutex_t lock; /* of all that follows */
  pthread_cond_t asked;
  pawl_sqsync_state state;
  int fd; /* of the log, once it was asked for; -1 before */
  int why, stop;
};

/* ---- the thread ---- */

static int sync_fd(int fd) {
  if (PAWL_FAULT("store.helper") == PAWL_FAULT_FAIL) return EIO;
#ifdef __APPLE__
  if (fcntl(fd, F_FULLFSYNC) == 0) return 0;
  while (fsync(fd) != 0)
#else
  while (fdatasync(fd) != 0)
#endif
    if (errno != EINTR) return errno;
  return 0;
}

static void *run(void *ud) {
  pawl_sqsync *s = ud;

  pthread_mutex_lock(&s->lock);
  for (;;) {
    while (!s->stop && s->state != PAWL_SQSYNC_BUSY)
      pthread_cond_wait(&s->asked, &s->lock);
    if (s->state != PAWL_SQSYNC_BUSY) break; /* what was asked is done first */
    const int fd = s->fd;
    pthread_mutex_unlock(&s->lock);
    const int why = sync_fd(fd);
    pthread_mutex_lock(&s->lock);
    s->why = why;
    s->state = why ? PAWL_SQSYNC_FAILED : PAWL_SQSYNC_DONE;
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

/* ---- the connection's side ---- */

/* Signals are the host's: its handlers run on its own threads. */
static int start_thread(pawl_sqsync *s) {
  sigset_t all, before;

  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int rc = PAWL_FAULT("store.thread") == PAWL_FAULT_FAIL
                     ? EAGAIN
                     : pthread_create(&s->thread, NULL, run, s);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return rc;
}

static void free_sync(pawl_sqsync *s) {
  pthread_cond_destroy(&s->asked);
  pthread_mutex_destroy(&s->lock);
  if (s->fd >= 0) (void)close(s->fd);
  pawl_release(s->alloc, s, sizeof *s);
}

pawl_code pawl_sqsync_open(const pawl_alloc *alloc, pawl_sqsync **out,
                           pawl_error *err) {
  pawl_sqsync *s = pawl_calloc(alloc, sizeof *s);
  if (!s) return pawl_failure_memory(err);
  s->alloc = alloc;
  s->fd = -1;
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->asked, NULL);
  const int rc = start_thread(s);
  if (rc == 0) {
    *out = s;
    return PAWL_OK;
  }
  free_sync(s);
  return pawl_fail_as(err, PAWL_STORE, "53000",
                      "leave sync_thread out, or allow more threads",
                      "no thread to sync with: %s", strerror(rc));
}

void pawl_sqsync_close(pawl_sqsync *s) {
  if (!s) return;
  pthread_mutex_lock(&s->lock);
  s->stop = 1;
  pthread_cond_signal(&s->asked);
  pthread_mutex_unlock(&s->lock);
  pthread_join(s->thread, NULL);
  free_sync(s);
}

int pawl_sqsync_ask(pawl_sqsync *s, const char *path) {
  int fd = s->fd; /* the thread reads it only while it is BUSY */

  if (fd < 0) fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return 0;
  pthread_mutex_lock(&s->lock);
  assert(s->state == PAWL_SQSYNC_IDLE);
  s->fd = fd;
  s->state = PAWL_SQSYNC_BUSY;
  pthread_cond_signal(&s->asked);
  pthread_mutex_unlock(&s->lock);
  return 1;
}

pawl_sqsync_state pawl_sqsync_look(pawl_sqsync *s, int *why) {
  pthread_mutex_lock(&s->lock);
  const pawl_sqsync_state state = s->state;
  if (state != PAWL_SQSYNC_BUSY) s->state = PAWL_SQSYNC_IDLE;
  *why = s->why;
  pthread_mutex_unlock(&s->lock);
  return state;
}
