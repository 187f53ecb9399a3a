/* pawl_transaction_sqlite: the program's own statements by SQLite's own
 * functions, in the transaction of the engine's calls; what is refused to them,
 * and what becomes of a program that goes on where it may not. */
#define _XOPEN_SOURCE 700 /* popen */

#include <sqlite3.h>

#include "pgbase.h"
#include "test.h"

static const char FLOW[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 't.own', start = 'a' }\n"
    "w:step('a', { next = 'z', run = function(ctx) end })\n"
    "w:finish('z')\n"
    "return w\n";

typedef struct world {
  pawl_engine *e;
  sqlite3 *db;
  pawl_error err;
  char id[37], logged[300];
  test_alloc alloc;
} world;

static void note(void *ud, int level, const char *message,
                 const char *fields) {
  world *w = ud;
  (void)fields;
  if (level >= PAWL_WARN) snprintf(w->logged, sizeof w->logged, "%s", message);
}

static void open_on(world *w, const char *url, int durability) {
  pawl_config config = PAWL_CONFIG_INIT;

  *w = (world){.alloc = {.fail_at = 0}};
  config.log = note;
  config.log_ud = w;
  config.alloc = test_alloc_fn;
  config.alloc_ud = &w->alloc;
  config.durability = durability;
  CHECK_INT(pawl_open(url, &config, &w->e, &w->err), PAWL_OK);
  CHECK_INT(pawl_load_text(w->e, "own.lua", FLOW, NULL, &w->err), PAWL_OK);
}

static void close_it(world *w) {
  CHECK_INT(pawl_close(w->e), PAWL_OK);
  CHECK_INT(w->alloc.live_bytes, 0);
}

static void begin(world *w) {
  CHECK_INT(pawl_transaction_begin(w->e, &w->err), PAWL_OK);
  CHECK_INT(pawl_transaction_sqlite(w->e, &w->db, &w->err), PAWL_OK);
}

static void commit(world *w) {
  if (!CHECK_INT(pawl_transaction_commit(w->e, &w->err), PAWL_OK))
    printf("  %s\n", w->err.message);
}

static int run(world *w, const char *sql) {
  return sqlite3_exec(w->db, sql, NULL, NULL, NULL) & 0xff;
}

static int64_t count(world *w, const char *sql) {
  int64_t n = -1;
  char *out = NULL;

  CHECK_INT(pawl_transaction_begin(w->e, &w->err), PAWL_OK);
  CHECK_INT(pawl_transaction_query(w->e, sql, NULL, NULL, &out, &w->err),
            PAWL_OK);
  CHECK_INT(pawl_transaction_commit(w->e, &w->err), PAWL_OK);
  if (out) CHECK_INT(pawl_int(out, "[0].n", &n, &w->err), PAWL_OK);
  pawl_free(w->e, out);
  return n;
}

static int64_t owned(world *w) {
  return count(w, "select count(*) as n from own");
}

static int64_t instances(world *w) {
  return count(w, "select count(*) as n from pawl_instance");
}

static pawl_code start(world *w) {
  return pawl_start(w->e, "t.own", NULL, NULL, w->id, NULL, &w->err);
}

static void test_together(world *w) {
  sqlite3_stmt *insert = NULL;
  pawl_tick_stats stats;
  int64_t ended = 0;
  sqlite3 *again = NULL;

  begin(w);
  CHECK_INT(run(w, "create table own (n integer, id text)"), SQLITE_OK);
  CHECK_INT(sqlite3_prepare_v3(w->db, "insert into own values (?, ?)", -1,
                               SQLITE_PREPARE_PERSISTENT, &insert, NULL),
            SQLITE_OK);
  for (int i = 0; i < 10; i++) {
    CHECK_INT(start(w), PAWL_OK);
    sqlite3_bind_int(insert, 1, i);
    sqlite3_bind_text(insert, 2, w->id, -1, SQLITE_TRANSIENT);
    CHECK_INT(sqlite3_step(insert), SQLITE_DONE);
    sqlite3_reset(insert);
  }
  commit(w);
  CHECK_INT(owned(w), 10);
  CHECK_INT(instances(w), 10);

  begin(w); /* kept, and rolled back together */
  CHECK_INT(start(w), PAWL_OK);
  CHECK_INT(sqlite3_step(insert), SQLITE_DONE);
  sqlite3_reset(insert);
  CHECK_INT(pawl_transaction_abort(w->e, &w->err), PAWL_OK);
  CHECK_INT(owned(w), 10);
  CHECK_INT(instances(w), 10);

  begin(w); /* a savepoint takes what was done in it */
  CHECK_INT(sqlite3_step(insert), SQLITE_DONE);
  sqlite3_reset(insert);
  CHECK_INT(pawl_transaction_begin(w->e, &w->err), PAWL_OK);
  CHECK_INT(pawl_transaction_sqlite(w->e, &again, &w->err), PAWL_OK);
  CHECK(again == w->db);
  CHECK_INT(sqlite3_step(insert), SQLITE_DONE);
  sqlite3_reset(insert);
  CHECK_INT(pawl_transaction_abort(w->e, &w->err), PAWL_OK);
  commit(w);
  CHECK_INT(owned(w), 11);
  sqlite3_finalize(insert);

  for (int i = 0; i < 100 && ended < 10; i++) {
    CHECK_INT(pawl_tick(w->e, 1000000, &stats, &w->err), PAWL_OK);
    ended += stats.ended;
  }
  CHECK_INT(ended, 10);
}

/* What another call of ours does while a statement of the program's walks. */
static void test_walking(world *w) {
  sqlite3_stmt *walk = NULL;
  int rows = 0;

  begin(w);
  CHECK_INT(sqlite3_prepare_v2(w->db, "select id from own where id not null",
                               -1, &walk, NULL),
            SQLITE_OK);
  while (sqlite3_step(walk) == SQLITE_ROW) {
    rows++;
    CHECK_INT(start(w), PAWL_OK);
    CHECK(sqlite3_column_bytes(walk, 0) == 36);
  }
  CHECK_INT(rows, 11);
  sqlite3_reset(walk);
  commit(w);
  CHECK_INT(instances(w), 21);

  begin(w); /* one that is halfway */
  CHECK_INT(start(w), PAWL_OK);
  CHECK_INT(sqlite3_step(walk), SQLITE_ROW);
  CHECK_INT(pawl_transaction_commit(w->e, &w->err), PAWL_MISUSE);
  CHECK(strstr(w->err.message, "select id from own") != NULL);
  CHECK_INT(pawl_transaction_abort(w->e, NULL), PAWL_MISUSE); /* it was */
  sqlite3_finalize(walk);
  CHECK_INT(instances(w), 21);
}

static void test_refused(world *w) {
  static const char *const refused[] = {
      "commit",
      "rollback",
      "savepoint s",
      "attach ':memory:' as other",
      "pragma journal_mode=delete",
      "pragma synchronous=off",
      "pragma wal_checkpoint",
      "delete from pawl_instance",
      "update pawl_instance set status = 'failed'",
      "create table pawl_mine (n)",
      "create trigger own_t after insert on own begin"
      "  delete from pawl_history; end; insert into own values (1, 'x')",
      "drop table pawl_agenda",
  };

  begin(w);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    w->logged[0] = '\0';
    if (!CHECK(run(w, refused[i]) != SQLITE_OK)) printf("  %s\n", refused[i]);
    CHECK_INT(start(w), PAWL_OK);
    if (!strstr(refused[i], "trigger"))
      CHECK(strstr(w->logged, "program's own was refused") != NULL);
  }
  CHECK_INT(pawl_transaction_abort(w->e, NULL), PAWL_OK);
  CHECK_INT(instances(w), 21);

  begin(
      w); /* a name of ours, by a way of which SQLite does not say where to */
  CHECK_INT(run(w,
                "create table mine (n); alter table mine rename to "
                "pawl_mine"),
            SQLITE_OK);
  CHECK_INT(start(w), PAWL_MISUSE);
  CHECK_INT(pawl_transaction_commit(w->e, &w->err), PAWL_MISUSE);
  CHECK_INT(count(w,
                  "select count(*) as n from sqlite_master "
                  "where name = 'pawl_mine'"),
            0);
  begin(w);
  CHECK_INT(run(w, "create table mine (n); alter table mine rename to yours"),
            SQLITE_OK);
  CHECK_INT(start(w), PAWL_OK);
  CHECK_INT(run(w, "drop table yours"), SQLITE_OK);
  CHECK_INT(pawl_transaction_abort(w->e, NULL), PAWL_OK);
}

/* Statements of the program's that undo all of it. */
static void test_undone(world *w) {
  begin(w);
  CHECK_INT(run(w, "create unique index own_n on own (n)"), SQLITE_CONSTRAINT);
  CHECK_INT(start(w), PAWL_OK); /* that has failed alone */
  CHECK_INT(run(w,
                "create table once (n integer primary key);"
                "insert into once values (1)"),
            SQLITE_OK);
  CHECK_INT(run(w, "insert or rollback into once values (1)"),
            SQLITE_CONSTRAINT);
  CHECK_INT(start(w), PAWL_STORE);
  CHECK(strstr(w->err.message, "has to be rolled back") != NULL);
  CHECK_INT(run(w, "insert into own values (5, 'lost')"), SQLITE_AUTH);
  CHECK_INT(pawl_transaction_sqlite(w->e, &w->db, &w->err), PAWL_STORE);
  CHECK_INT(pawl_transaction_commit(w->e, &w->err), PAWL_STORE);
  CHECK_INT(instances(w), 21);
  CHECK_INT(owned(w), 11);
}

static void test_over(world *w) {
  sqlite3_stmt *kept = NULL;
  sqlite3 *db = NULL;

  CHECK_INT(pawl_transaction_sqlite(w->e, &db, &w->err), PAWL_MISUSE);
  CHECK_INT(pawl_transaction_sqlite(w->e, NULL, &w->err), PAWL_MISUSE);
  CHECK_INT(pawl_transaction_sqlite(NULL, &db, &w->err), PAWL_MISUSE);
  begin(w);
  CHECK_INT(sqlite3_prepare_v2(w->db, "insert into own values (7, '')", -1,
                               &kept, NULL),
            SQLITE_OK);
  CHECK_INT(pawl_tick(w->e, 1000, NULL, &w->err), PAWL_MISUSE);
  commit(w);
  CHECK_INT(run(w, "select 1"), SQLITE_AUTH); /* behind it */
  CHECK_INT(run(w, "delete from own"), SQLITE_AUTH);
  CHECK_INT(sqlite3_step(kept),
            SQLITE_CONSTRAINT_COMMITHOOK); /* a way round it */
  sqlite3_reset(kept);
  CHECK_INT(owned(w), 11);
  CHECK_INT(start(w), PAWL_OK);
  CHECK_INT(pawl_transaction_begin(w->e, &w->err), PAWL_OK); /* once more */
  CHECK_INT(sqlite3_step(kept), SQLITE_DONE);
  sqlite3_finalize(kept);
  commit(w);
  CHECK_INT(owned(w), 12);
  CHECK_INT(instances(w), 22);
}

static int read_beside(sqlite3 *db) {
  sqlite3_stmt *s = NULL;
  int n = -1;

  CHECK_INT(sqlite3_prepare_v2(db, "select count(*) from own", -1, &s, NULL),
            SQLITE_OK);
  if (CHECK_INT(sqlite3_step(s), SQLITE_ROW)) n = sqlite3_column_int(s, 0);
  sqlite3_finalize(s);
  return n;
}

/* A connection of the program's own reads what is committed, meanwhile. */
static void test_beside(world *w, const char *path) {
  sqlite3 *beside = NULL;

  CHECK_INT(sqlite3_open_v2(path, &beside, SQLITE_OPEN_READONLY, NULL),
            SQLITE_OK);
  CHECK_INT(pawl_save(w->e, &w->err), PAWL_OK);
  const int before = read_beside(beside);
  begin(w);
  CHECK_INT(run(w, "insert into own values (50, 'beside')"), SQLITE_OK);
  CHECK_INT(start(w), PAWL_OK);
  CHECK_INT(read_beside(beside), before);
  commit(w);
  CHECK_INT(read_beside(beside), before + 1);
  sqlite3_close(beside);
}

/* Where commits may wait: what was in a group before is the file's. */
static void test_grouped(world *w, const char *path) {
  world other;
  pawl_tick_stats stats;

  for (int i = 0; i < 3; i++) {
    CHECK_INT(start(w), PAWL_OK);
    CHECK_INT(pawl_tick(w->e, 50000, &stats, &w->err), PAWL_OK);
  }
  begin(w);
  CHECK_INT(run(w, "insert into own values (100, 'grouped')"), SQLITE_OK);
  commit(w);
  open_on(&other, path, PAWL_DURABLE_EVERY);
  CHECK_INT(count(&other, "select count(*) as n from own where n = 100"), 1);
  close_it(&other);
}

static void on_file(const char *path, int durability) {
  world w;
  sqlite3_stmt *kept = NULL;

  open_on(&w, path, durability);
  test_together(&w);
  test_walking(&w);
  test_refused(&w);
  test_undone(&w);
  test_over(&w);
  if (strcmp(path, ":memory:") != 0) test_beside(&w, path);
  if (durability != PAWL_DURABLE_EVERY) test_grouped(&w, path);
  begin(&w); /* left open, and given up with the engine */
  CHECK_INT(run(&w, "delete from own"), SQLITE_OK);
  CHECK_INT(sqlite3_prepare_v2(w.db, "select * from own", -1, &kept, NULL),
            SQLITE_OK);
  CHECK_INT(sqlite3_step(kept), SQLITE_DONE);
  close_it(&w);
  sqlite3_finalize(kept); /* too late, and harmless */
  if (strcmp(path, ":memory:") == 0) return;
  open_on(&w, path, durability);
  CHECK(owned(&w) >= 12);
  close_it(&w);
  remove(path);
}

static void on_postgres(void) {
  world w;

  if (!pgbase_make("own")) return;
  open_on(&w, pgbase_url, PAWL_DURABLE_EVERY);
  CHECK_INT(pawl_transaction_begin(w.e, &w.err), PAWL_OK);
  CHECK_INT(pawl_transaction_sqlite(w.e, &w.db, &w.err), PAWL_UNSUPPORTED);
  CHECK_INT(start(&w), PAWL_OK); /* nothing has come of that */
  CHECK_INT(pawl_transaction_commit(w.e, &w.err), PAWL_OK);
  close_it(&w);
  pgbase_drop("own");
}

int main(void) {
  char path[64];

  snprintf(path, sizeof path, "/tmp/pawl-own-%d.db", (int)getpid());
  on_file(":memory:", PAWL_DURABLE_EVERY);
  on_file(path, PAWL_DURABLE_EVERY);
  on_file(path, PAWL_DURABLE_GROUPED);
  on_postgres();
  return TEST_END;
}
