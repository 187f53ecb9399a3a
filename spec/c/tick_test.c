/* What a tick says of itself where it fails: who sleeps by its stats has to
 * wake. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <unistd.h>

#include "../../src/base/fault.h"
#include "../../src/pawl.h"
#include "../../src/store/store.h"
#include "test.h"
#include "zoo.h"

#define HOUR_US INT64_C(3600000000)

static const char NAP[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'ti.ck', start = 't' }\n"
    "w:timer('t', { after = '1h', next = 'z' })\n"
    "w:finish('z')\n"
    "return w\n";

/* An engine that never waits for others, with one timer that it has seen. */
static pawl_engine *open_asleep(const char *url, int durability,
                                zoo_clock *clock) {
  pawl_config c = PAWL_CONFIG_INIT;
  pawl_tick_stats stats;
  pawl_engine *e = NULL;
  char id[37];

  c.durability = durability;
  c.busy_us = -1;
  c.clock = zoo_now;
  c.clock_ud = clock;
  CHECK_INT(pawl_open(url, &c, &e, NULL), PAWL_OK);
  CHECK_INT(pawl_load_text(e, "nap", NAP, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_start(e, "ti.ck", NULL, NULL, id, NULL, NULL), PAWL_OK);
  do CHECK_INT(pawl_tick(e, 2000, &stats, NULL), PAWL_OK);
  while (stats.next_due_us == 0);
  CHECK_INT(pawl_save(e, NULL), PAWL_OK);
  CHECK(stats.next_due_us > clock->us);
  CHECK(stats.next_due_us <= clock->us + HOUR_US);
  return e;
}

/* While somebody else holds the file, and once he does not. */
static void a_busy_tick_says_now(const char *url, int durability) {
  zoo_clock clock = {INT64_C(1800000000000000)};
  pawl_engine *e = open_asleep(url, durability, &clock);
  pawl_store *other = NULL;
  pawl_tick_stats stats;
  int64_t due_us = -1;
  int ended = 0;

  CHECK_INT(pawl_store_open(url, NULL, &other, NULL), PAWL_OK);
  CHECK_INT(pawl_store_begin(other, PAWL_UNIT_OPEN, NULL), PAWL_OK);
  clock.us += HOUR_US;
  for (int i = 0; i < 3; i++) {
    CHECK_INT(pawl_tick(e, 2000, &stats, NULL), PAWL_BUSY);
    CHECK_INT(stats.next_due_us, 0);
    CHECK_INT(pawl_next_due(e, &due_us, NULL), PAWL_OK); /* it only reads */
    CHECK_INT(due_us, 0);
  }
  pawl_store_rollback(other);
  pawl_store_close(other);
  for (int i = 0; i < 3; i++) {
    CHECK_INT(pawl_tick(e, 2000, &stats, NULL), PAWL_OK);
    ended += (int)stats.ended;
  }
  CHECK_INT(ended, 1);
  CHECK_INT(stats.next_due_us, INT64_MAX);
  CHECK_INT(pawl_close(e), PAWL_OK);
}

/* ---- groups ---- */

static pawl_code put(pawl_store *store, const char *key) {
  return PAWL_WRITE(store, meta_put, NULL, NULL, .key = pawl_strz(key),
                    .value = pawl_strz("1"));
}

/* A unit that finds nothing to change. */
static pawl_code beat_of_nobody(pawl_store *store) {
  static const pawl_id nobody = {{9}};
  return PAWL_WRITE(store, executor_beat, NULL, NULL, .id = &nobody,
                    .ttl_us = 1, .now = pawl_store_now(store));
}

/* Who never waits writes while the other one is in a group in which nothing was
 * done, and not while there is something. */
static void an_empty_group_is_in_nobodys_way(const char *url) {
  const pawl_store_options relaxed = {.relaxed = 1}, hasty = {.busy_us = -1};
  pawl_store *groups = NULL, *other = NULL;

  CHECK_INT(pawl_store_open(url, &relaxed, &groups, NULL), PAWL_OK);
  CHECK_INT(pawl_store_open(url, &hasty, &other, NULL), PAWL_OK);
  CHECK_INT(put(groups, "first"), PAWL_OK); /* it was synced */
  pawl_store_group(groups, 1);
  CHECK_INT(beat_of_nobody(groups), PAWL_OK);
  CHECK_INT((int)pawl_store_unsaved(groups)->commits, 0);
  CHECK_INT(put(other, "a"), PAWL_OK);
  pawl_fault_set("store.savepoint=fail"); /* memory was short */
  CHECK_INT(put(groups, "b"), PAWL_NOMEM);
  pawl_fault_set(NULL);
  CHECK_INT(put(other, "c"), PAWL_OK);
  CHECK_INT(pawl_store_begin(groups, PAWL_UNIT_BATCH, NULL), PAWL_OK);
  pawl_store_rollback(groups);
  CHECK_INT(put(other, "d"), PAWL_OK);
  CHECK_INT(put(groups, "e"), PAWL_OK);
  CHECK_INT(beat_of_nobody(groups), PAWL_OK);
  pawl_fault_set("store.savepoint=fail");
  CHECK_INT(put(groups, "f"), PAWL_NOMEM);
  pawl_fault_set(NULL);
  CHECK_INT(put(other, "g"), PAWL_BUSY);
  CHECK_INT(pawl_store_settle(groups, NULL), PAWL_OK);
  CHECK_INT(put(other, "h"), PAWL_OK);
  pawl_store_close(other);
  pawl_store_close(groups);
}

int main(void) {
  static const char *const FILES[] = {"a.db", "a.db-pawl-lock"};
  char folder[] = "/tmp/pawl-tick-XXXXXX", url[64];

  if (!CHECK(mkdtemp(folder) != NULL)) return TEST_END;
  snprintf(url, sizeof url, "%s/a.db", folder);
  a_busy_tick_says_now(url, PAWL_DURABLE_EVERY);
  a_busy_tick_says_now(url, PAWL_DURABLE_GROUPED);
  an_empty_group_is_in_nobodys_way(url);
  for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
    snprintf(url, sizeof url, "%s/%s", folder, FILES[i]);
    unlink(url);
  }
  rmdir(folder);
  return TEST_END;
}
