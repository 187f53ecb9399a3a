/* What waits for the disk on SQLite, and what does not. The system's calls are
 * counted here instead of made, which needs a linker that lets a program's own
 * come before libc's. */
#define _GNU_SOURCE /* mkdtemp, pwrite64 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../src/pawl.h"
#include "../../src/store/store.h"
#include "test.h"

#ifdef __linux__

#define REPLACES __attribute__((visibility("default")))
REPLACES int fdatasync(int fd);
REPLACES int fsync(int fd);
REPLACES ssize_t pwrite(int fd, const void *at, size_t n, off_t to);
REPLACES ssize_t pwrite64(int fd, const void *at, size_t n, off64_t to);

/* ---- a disk ---- */

/* What it has of a log, byte by byte. A sync that fails counts what it was
 * about as written, as Linux does, though the disk has not got it; and a system
 * may forget that, too. */
enum { NOTHING, WRITTEN, ON_DISK };
static struct {
  pthread_mutex_t lock;
  const char *log;
  unsigned char is[4 << 20];
  int fails, forgets; /* so many syncs fail; what they lose reads as zeros */
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int nsyncs;

static int is_log(int fd) {
  struct stat one, other;
  return disk.log && !fstat(fd, &one) && !stat(disk.log, &other) &&
         one.st_ino == other.st_ino && one.st_dev == other.st_dev;
}

static void lose(int fd, size_t i) {
  disk.is[i] = NOTHING;
  if (disk.forgets) (void)!syscall(SYS_pwrite64, fd, "", 1, i);
}

static int sync_fd(int fd) {
  int fails = 0;

  pthread_mutex_lock(&disk.lock);
  nsyncs++;
  if (is_log(fd)) {
    fails = disk.fails > 0 && disk.fails--;
    for (size_t i = 0; i < sizeof disk.is; i++)
      if (disk.is[i] == WRITTEN && fails)
        lose(fd, i);
      else if (disk.is[i] == WRITTEN)
        disk.is[i] = ON_DISK;
  }
  pthread_mutex_unlock(&disk.lock);
  if (fails) errno = EIO;
  return fails ? -1 : 0;
}

int fdatasync(int fd) {
  return sync_fd(fd);
}

int fsync(int fd) {
  return sync_fd(fd);
}

ssize_t pwrite64(int fd, const void *at, size_t n, off64_t to) {
  const ssize_t put = syscall(SYS_pwrite64, fd, at, n, to);

  pthread_mutex_lock(&disk.lock);
  if (put > 0 && is_log(fd) && (size_t)(to + put) <= sizeof disk.is)
    memset(disk.is + to, WRITTEN, (size_t)put);
  pthread_mutex_unlock(&disk.lock);
  return put;
}

ssize_t pwrite(int fd, const void *at, size_t n, off_t to) {
  return pwrite64(fd, at, n, to);
}

/* How much of the log belongs together, by its salts. */
static size_t log_bytes(void) {
  unsigned char head[32], frame[24];
  FILE *f = fopen(disk.log, "rb");
  size_t at = sizeof head, page = 0;

  if (!f) return 0;
  if (fread(head, sizeof head, 1, f) != 1) at = 0;
  if (at)
    page = (size_t)head[8] << 24 | head[9] << 16 | head[10] << 8 | head[11];
  while (at && !fseek(f, (long)at, SEEK_SET) &&
         fread(frame, sizeof frame, 1, f) == 1 &&
         !memcmp(frame + 8, head + 16, 8))
    at += sizeof frame + page;
  fclose(f);
  return at;
}

/* How many bytes of it a power cut would take. */
static int at_risk(void) {
  const size_t n = log_bytes();
  int lost = 0;

  CHECK(n <= sizeof disk.is);
  for (size_t i = 0; i < n; i++) lost += disk.is[i] != ON_DISK;
  return lost;
}

static void watch(const char *log) {
  memset(disk.is, NOTHING, sizeof disk.is);
  disk.log = log;
  disk.fails = disk.forgets = 0;
}

/* ---- what waits ---- */

static void commits_sync(pawl_store *store, int unit, int wanted) {
  static int nkeys;
  char key[16];

  snprintf(key, sizeof key, "key %d", nkeys++);
  nsyncs = 0;
  CHECK_INT(pawl_store_once_one(store, unit, PAWL_STMT_meta_put,
                                &(pawl_meta_put_args){.key = pawl_strz(key),
                                                      .value = pawl_strz("1")},
                                NULL, NULL),
            PAWL_OK);
  CHECK_INT(nsyncs > 0, wanted);
}

/* A unit that may come later does not make others come later. */
static void units_are_synced_unless_soon(const char *url) {
  pawl_store *store = NULL;

  CHECK_INT(pawl_store_open(url, NULL, &store, NULL), PAWL_OK);
  commits_sync(store, PAWL_UNIT_BATCH, 1);
  commits_sync(store, PAWL_UNIT_SOON, 0);
  commits_sync(store, PAWL_UNIT_SOON, 0);
  commits_sync(store, PAWL_UNIT_BATCH, 1);
  commits_sync(store, PAWL_UNIT_SOON, 0);
  commits_sync(store, PAWL_UNIT_OPEN, 1);
  CHECK_INT(pawl_store_begin(store, PAWL_UNIT_SOON, NULL), PAWL_OK);
  pawl_store_rollback(store);
  commits_sync(store, PAWL_UNIT_BATCH, 1);
  pawl_store_close(store);
}

/* An executor of another boot, that has said no goodbye. */
static void fall(const char *url) {
  static const pawl_id id = {{7}};
  pawl_store *store = NULL;

  CHECK_INT(pawl_store_open(url, NULL, &store, NULL), PAWL_OK);
  CHECK_INT(
      PAWL_WRITE(store, executor_insert, NULL, NULL, .id = &id,
                 .host = pawl_strz("host"), .boot = pawl_strz("the last boot"),
                 .space = pawl_strz(""), .pid = 1, .begun = 1,
                 .executor_group = pawl_strz("default"), .ttl_us = PAWL_SECOND,
                 .now = pawl_store_now(store)),
      PAWL_OK);
  pawl_store_close(store);
}

/* Syncs from an instance's start to its end, which comes at once, as nobody
 * knows the workflow. */
static int syncs_of_an_instance(const char *url) {
  pawl_engine *e = NULL;
  pawl_config config = PAWL_CONFIG_INIT;
  pawl_tick_stats stats = {0};
  char id[37];

  config.unknown_fail = 1;
  CHECK_INT(pawl_open(url, &config, &e, NULL), PAWL_OK);
  CHECK_INT(pawl_tick(e, 0, &stats, NULL), PAWL_OK); /* it has registered */
  nsyncs = 0;
  CHECK_INT(pawl_start(e, "t.none", NULL, NULL, id, NULL, NULL), PAWL_OK);
  for (int i = 0; i < 3 && !stats.ended; i++)
    CHECK_INT(pawl_tick(e, 0, &stats, NULL), PAWL_OK);
  CHECK_INT((int)stats.ended, 1);
  int n = nsyncs;
  pawl_close(e);
  return n;
}

/* The start and the end; and the claim, once the machine has gone down under
 * an executor, so that one which brings it down does not go uncounted. */
static void claims_are_synced_after_a_fall(const char *url) {
  CHECK_INT(syncs_of_an_instance(url), 2);
  fall(url);
  CHECK_INT(syncs_of_an_instance(url), 3);
}

/* What a relaxed store has not taken to the disk, as it says and as it is. */
static void check_unsaved(pawl_store *store, int commits) {
  CHECK_INT((int)pawl_store_unsaved(store)->commits, commits);
}

static void relaxed_commits_wait_for_a_save(const char *url) {
  pawl_store_options options = {.relaxed = 1};
  pawl_store *store = NULL;

  CHECK_INT(pawl_store_open(url, &options, &store, NULL), PAWL_OK);
  commits_sync(store, PAWL_UNIT_BATCH, 1); /* the first: see sqconn.c */
  check_unsaved(store, 0);
  commits_sync(store, PAWL_UNIT_BATCH, 0);
  commits_sync(store, PAWL_UNIT_SOON, 0);
  commits_sync(store, PAWL_UNIT_OPEN, 0);
  check_unsaved(store, 3);
  nsyncs = 0;
  CHECK_INT(pawl_store_save(store, NULL), PAWL_OK);
  CHECK_INT(nsyncs, 1);
  check_unsaved(store, 0);
  CHECK_INT(pawl_store_save(store, NULL), PAWL_OK);
  CHECK_INT(nsyncs, 1); /* nothing was left to do */
  commits_sync(store, PAWL_UNIT_BATCH, 0);
  pawl_store_close(store);
}

/* Syncs of one instance, from its start to `ms` behind its end. */
static int syncs_with(const char *url, int durability, int flush_us, int ms,
                      pawl_tick_stats *stats) {
  pawl_engine *e = NULL;
  pawl_config config = PAWL_CONFIG_INIT;
  int ended = 0;

  config.unknown_fail = 1;
  config.durability = durability;
  config.flush_us = flush_us;
  CHECK_INT(pawl_open(url, &config, &e, NULL), PAWL_OK);
  CHECK_INT(pawl_tick(e, 0, NULL, NULL), PAWL_OK); /* it has registered */
  CHECK_INT(pawl_save(e, NULL), PAWL_OK);
  nsyncs = 0;
  CHECK_INT(pawl_start(e, "t.none", NULL, NULL, NULL, NULL, NULL), PAWL_OK);
  for (int i = 0; i < 3 && !ended; i++) {
    CHECK_INT(pawl_tick(e, 0, stats, NULL), PAWL_OK);
    ended = (int)stats->ended;
  }
  CHECK_INT(ended, 1);
  pawl_sleep_us(ms * 1000);
  CHECK_INT(pawl_tick(e, 0, stats, NULL), PAWL_OK);
  const int n = nsyncs;
  pawl_close(e);
  CHECK(stats->unsaved == 0 || nsyncs > n); /* closing saves */
  return n;
}

static void engines_keep_to_their_durability(const char *url) {
  pawl_tick_stats s = {0};

  CHECK_INT(syncs_with(url, PAWL_DURABLE_EVERY, 0, 0, &s), 2);
  CHECK_INT((int)s.unsaved, 0);
  CHECK_INT(syncs_with(url, PAWL_DURABLE_SAVE, 1000, 20, &s), 0);
  CHECK(s.unsaved >= 2 && s.unsaved_us >= 20000);
  CHECK_INT(syncs_with(url, PAWL_DURABLE_GROUPED, 60000000, 0, &s), 0);
  CHECK(s.unsaved >= 2);
  CHECK_INT(syncs_with(url, PAWL_DURABLE_GROUPED, 50000, 60, &s), 1);
  CHECK_INT((int)s.unsaved, 0);
  CHECK_INT((int)s.unsaved_us, 0);
}

/* What a power cut takes of it is pruned again. Those that failed are gone, and
 * the space that they had. */
static void pruning_waits_for_no_disk(const char *url) {
  pawl_engine *e = NULL;
  pawl_config config = PAWL_CONFIG_INIT;
  char *out = NULL;

  config.unknown_fail = 1;
  CHECK_INT(pawl_open(url, &config, &e, NULL), PAWL_OK);
  CHECK_INT(pawl_start(e, "t.none", NULL, NULL, NULL, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_tick(e, 0, NULL, NULL), PAWL_OK);
  nsyncs = 0;
  CHECK_INT(pawl_prune(e, "{\"retain_us\":0}", &out, NULL), PAWL_OK);
  CHECK_INT(nsyncs, 0);
  CHECK(out && !strstr(out, "\"instances\":{\"removed\":0"));
  pawl_free(e, out);
  pawl_close(e);
}

/* ---- a disk that fails ---- */

static int nkeys;

static pawl_code put(pawl_store *store, int unit) {
  char key[16];

  snprintf(key, sizeof key, "k%d", nkeys++);
  return pawl_store_once_one(
      store, unit, PAWL_STMT_meta_put,
      &(pawl_meta_put_args){.key = pawl_strz(key), .value = pawl_strz("1")},
      NULL, NULL);
}

/* What is told to be there is, with all that it takes to find it: also what
 * came before it, and was no more than to come some time. */
static void a_commit_behind_a_failure_is_there(const char *url) {
  pawl_store *store = NULL;

  CHECK_INT(pawl_store_open(url, NULL, &store, NULL), PAWL_OK);
  CHECK_INT(put(store, PAWL_UNIT_BATCH), PAWL_OK);
  for (int fails = 1; fails <= 3; fails++) {
    CHECK_INT(put(store, PAWL_UNIT_SOON), PAWL_OK);
    CHECK(at_risk() > 0);
    disk.fails = fails;
    for (int i = 0; i < fails; i++)
      CHECK_INT(put(store, i % 2 ? PAWL_UNIT_OPEN : PAWL_UNIT_BATCH),
                PAWL_STORE);
    CHECK_INT(put(store, PAWL_UNIT_BATCH), PAWL_OK);
    CHECK_INT(disk.fails, 0);
    CHECK_INT(at_risk(), 0);
  }
  pawl_store_close(store);
}

static void a_save_behind_a_failure_is_there(const char *url) {
  pawl_store_options options = {.relaxed = 1};
  pawl_store *store = NULL;

  CHECK_INT(pawl_store_open(url, &options, &store, NULL), PAWL_OK);
  CHECK_INT(put(store, PAWL_UNIT_BATCH), PAWL_OK);
  for (int way = 0; way < 4; way++) {
    CHECK_INT(put(store, PAWL_UNIT_BATCH), PAWL_OK);
    disk.fails = way == 2 ? 2 : 1;
    CHECK_INT(pawl_store_save(store, NULL), PAWL_STORE);
    CHECK(pawl_store_unsaved(store)->commits > 0);
    if (way == 2) CHECK_INT(pawl_store_save(store, NULL), PAWL_STORE);
    if (way == 1) CHECK_INT(put(store, PAWL_UNIT_BATCH), PAWL_OK);
    if (way == 3) pawl_store_tidy(store); /* no checkpoint of it either */
    CHECK_INT(pawl_store_save(store, NULL), PAWL_OK);
    CHECK_INT((int)pawl_store_unsaved(store)->commits, 0);
    CHECK_INT(at_risk(), 0);
  }
  pawl_store_close(store);
}

/* The helper thread's failure is told once, and what it then tells is so. */
static void a_thread_that_fails_is_no_end(const char *url) {
  pawl_config config = PAWL_CONFIG_INIT;
  pawl_engine *e = NULL;
  pawl_tick_stats stats = {0};
  int failed = 0;

  config.durability = PAWL_DURABLE_GROUPED;
  config.sync_thread = config.unknown_fail = 1;
  config.flush_us = 1000;
  CHECK_INT(pawl_open(url, &config, &e, NULL), PAWL_OK);
  CHECK_INT(pawl_tick(e, 0, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_save(e, NULL), PAWL_OK);
  disk.fails = 1;
  CHECK_INT(pawl_start(e, "t.none", NULL, NULL, NULL, NULL, NULL), PAWL_OK);
  for (int i = 0; i < 2000 && !failed; i++) {
    failed = pawl_tick(e, 2000, &stats, NULL) == PAWL_STORE;
    pawl_sleep_us(1000);
  }
  CHECK(failed);
  CHECK(at_risk() > 0);
  for (int i = 0; i < 2000; i++) {
    CHECK_INT(pawl_tick(e, 2000, &stats, NULL), PAWL_OK);
    if (!stats.unsaved) break;
    pawl_sleep_us(1000);
  }
  CHECK_INT((int)stats.unsaved, 0);
  CHECK_INT(at_risk(), 0);
  CHECK_INT(pawl_close(e), PAWL_OK);
}

static int count_keys(pawl_store *store) {
  pawl_rows rows;
  int n = 0;

  for (int i = 0; i < nkeys; i++) {
    char key[16];
    snprintf(key, sizeof key, "k%d", i);
    CHECK_INT(PAWL_READ(store, meta_get, &rows, NULL, .key = pawl_strz(key)),
              PAWL_OK);
    n += rows.nrows;
  }
  return n;
}

/* What a system forgets that it could not write is gone, as by a power cut, and
 * is told to be; what came before it is there. */
static void what_is_forgotten_is_told(const char *url) {
  pawl_store_options options = {.relaxed = 1};
  pawl_store *store = NULL;
  int before;

  CHECK_INT(pawl_store_open(url, &options, &store, NULL), PAWL_OK);
  CHECK_INT(put(store, PAWL_UNIT_BATCH), PAWL_OK);
  CHECK_INT(put(store, PAWL_UNIT_BATCH), PAWL_OK);
  CHECK_INT(pawl_store_save(store, NULL), PAWL_OK);
  before = count_keys(store);
  for (int i = 0; i < 3; i++) CHECK_INT(put(store, PAWL_UNIT_BATCH), PAWL_OK);
  disk.fails = disk.forgets = 1;
  CHECK_INT(pawl_store_save(store, NULL), PAWL_STORE);
  CHECK_INT(put(store, PAWL_UNIT_BATCH), PAWL_UNREACHABLE);
  CHECK_INT((int)pawl_store_undone(store), 3);
  pawl_store_accept(store);
  for (int i = 0; i < 2; i++) CHECK_INT(put(store, PAWL_UNIT_BATCH), PAWL_OK);
  CHECK_INT(pawl_store_save(store, NULL), PAWL_OK);
  CHECK_INT(at_risk(), 0);
  CHECK_INT(count_keys(store), before + 2);
  pawl_store_close(store);
}

int main(void) {
  char folder[] = "/tmp/pawl-sync-XXXXXX", url[64], log[80];

  if (CHECK(mkdtemp(folder) != NULL)) {
    snprintf(url, sizeof url, "%s/a.db", folder);
    units_are_synced_unless_soon(url);
    relaxed_commits_wait_for_a_save(url);
    engines_keep_to_their_durability(url); /* no machine has fallen yet */
    pruning_waits_for_no_disk(url);
    claims_are_synced_after_a_fall(url);
    snprintf(log, sizeof log, "%s-wal", url);
    void (*const failing[])(const char *) = {
        a_commit_behind_a_failure_is_there, a_save_behind_a_failure_is_there,
        a_thread_that_fails_is_no_end, what_is_forgotten_is_told};
    for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
      watch(log);
      failing[i](url);
    }
    disk.log = NULL;
    unlink(url);
    snprintf(url, sizeof url, "%s/a.db-pawl-lock", folder);
    unlink(url);
    rmdir(folder);
  }
  return TEST_END;
}

#else

int main(void) {
  return TEST_END;
}

#endif
