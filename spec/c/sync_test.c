/* What waits for the disk on SQLite, and what does not. The system's calls are
 * counted here instead of made, which needs a linker that lets a program's own
 * come before libc's. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include <stdlib.h>
#include <unistd.h>

#include "../../src/pawl.h"
#include "../../src/store/store.h"
#include "test.h"

#ifdef __linux__

__attribute__((visibility("default"))) int fdatasync(int fd);
__attribute__((visibility("default"))) int fsync(int fd);
static int nsyncs;

int fdatasync(int fd) {
  (void)fd;
  return nsyncs++, 0;
}

int fsync(int fd) {
  (void)fd;
  return nsyncs++, 0;
}

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

int main(void) {
  char folder[] = "/tmp/pawl-sync-XXXXXX", url[64];

  if (CHECK(mkdtemp(folder) != NULL)) {
    snprintf(url, sizeof url, "%s/a.db", folder);
    units_are_synced_unless_soon(url);
    relaxed_commits_wait_for_a_save(url);
    engines_keep_to_their_durability(url); /* no machine has fallen yet */
    claims_are_synced_after_a_fall(url);
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
