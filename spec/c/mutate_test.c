/* What strangers give: changed JSON and ids into every call of pawl.h, and
 * stores in which cells were changed. No call crashes, none answers with what
 * is no JSON, none says that pawl has a bug, and each comes back.
 *
 * On PostgreSQL, which takes longer to make anew, fewer of each.
 *
 * PAWL_SEEDS=N: so many of each, from PAWL_SEED on (1). */
#define _XOPEN_SOURCE 700 /* mkdtemp */

#include <sqlite3.h>
#include <time.h>
#include <unistd.h>

#include "../../src/value/json.h"

#include "pgbase.h"
#include "pgdamage.h"
#include "test.h"
#include "zoo.h"

enum { SEEDS = 200, PG_SEEDS = 10, CALLS = 30, MAX_TEXT = 20000 };
#define SLOW_S 10 /* of processor time: no call takes longer */

/* ---- chance ---- */

static uint64_t state;

static unsigned chance(unsigned n) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (unsigned)((state * UINT64_C(2685821657736338717)) >> 33) % n;
}

static void seed(uint64_t n) {
  state = n * UINT64_C(0x9E3779B97F4A7C15) + 1;
  for (int i = 0; i < 4; i++) (void)chance(2);
}

#define PICK(list) ((list)[chance((unsigned)(sizeof(list) / sizeof *(list)))])

/* ---- texts ---- */

static const char *const PIECES[] = {"\"",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     ",",
                                     ":",
                                     "-1",
                                     "0",
                                     "1e308",
                                     "null",
                                     "true",
                                     "\\",
                                     "\\u0000",
                                     "\xff",
                                     "9223372036854775807",
                                     "-9223372036854775808",
                                     "99999999999999999999",
                                     "31557600000000000",
                                     "\"x\"",
                                     "{}",
                                     "[]",
                                     "1.5",
                                     "\xc3\xa9",
                                     "%s%n",
                                     "2147483648",
                                     "65536"};

static const char *const NUMBERS[] = {"-1",
                                      "0",
                                      "1",
                                      "2147483647",
                                      "2147483648",
                                      "-2147483648",
                                      "65536",
                                      "1.5",
                                      "253402300799999999",
                                      "9223372036854775807",
                                      "-9223372036854775808",
                                      "18446744073709551616",
                                      "1e999"};

static void splice(char *text, size_t at, size_t gone, const char *with) {
  size_t len = strlen(text), n = strlen(with);
  if (at > len) at = len;
  if (gone > len - at) gone = len - at;
  if (len - gone + n >= MAX_TEXT) return;
  memmove(text + at + n, text + at + gone, len - at - gone + 1);
  memcpy(text + at, with, n);
}

static void change_number(char *text) {
  size_t len = strlen(text), at = len ? chance((unsigned)len) : 0, n;
  while (at < len && !strchr("0123456789", text[at])) at++;
  n = strspn(text + at, "0123456789");
  if (n) splice(text, at, n, PICK(NUMBERS));
}

/* Some changes, or none at all. */
static void mutate(char *text) {
  for (unsigned n = chance(4); n > 0; n--) {
    size_t len = strlen(text), at = len ? chance((unsigned)len) : 0;
    switch (chance(6)) {
      case 0:
        splice(text, at, 1 + chance(6), "");
        break;
      case 1:
        change_number(text);
        break;
      case 2:
        splice(text, at, chance(3), PICK(PIECES));
        break;
      case 3: /* deep, or long */
        for (unsigned i = chance(300); i > 0; i--)
          splice(text, at, 0, PICK(PIECES));
        break;
      case 4:
        if (at < len) text[at] = (char)(1 + chance(255));
        break;
      default:
        splice(text, at, 0, PICK(PIECES));
        break;
    }
  }
}

/* ---- what is checked ---- */

typedef struct world {
  pawl_engine *e;
  zoo_clock clock;
  uint64_t seed;
  const char *kind; /* "calls" or "stores" */
  char given[200];
} world;

static void check(world *w, const char *call, pawl_code rc, char *text,
                  const pawl_error *err, clock_t began) {
  double took = (double)(clock() - began) / CLOCKS_PER_SEC;
  int ok = rc != PAWL_INTERNAL && took < SLOW_S;
  if (rc == PAWL_OK && text) {
    pawl_error why;
    pawl_code json = pawl_json_check(pawl_strz(text), NULL, &why);
    ok = ok && (json == PAWL_OK || json == PAWL_LIMIT);
  }
  if (ok) {
    test_passed++;
  } else {
    test_failed++;
    printf("%s, seed %" PRIu64 ": %s: %s %s (%.1f s)\n  %s\n  %.300s\n",
           w->kind, w->seed, call, pawl_code_name(rc),
           rc == PAWL_OK ? "" : err->message, took, w->given,
           rc == PAWL_OK && text ? text : "");
  }
  if (rc == PAWL_OK) pawl_free(w->e, text);
}

#define ASK(w, call)                          \
  do {                                        \
    pawl_error err = {0};                     \
    char *out = NULL;                         \
    clock_t began = clock();                  \
    pawl_code got = (call);                   \
    check((w), #call, got, out, &err, began); \
  } while (0)

/* ---- calls ---- */

static const char *const TEXTS[] = {
    "{\"key\":\"k1\",\"priority\":5,\"delay_us\":1000,\"tenant\":\"t\","
    "\"group\":"
    "\"default\",\"correlation\":\"c\",\"business_key\":\"b\",\"metadata\":"
    "{\"a\":1},\"attributes\":{\"x\":{\"type\":\"string\",\"value\":\"v\"},"
    "\"d\":{\"type\":\"date\",\"value\":5},\"n\":{\"type\":\"decimal\","
    "\"value\":\"1.5\"},\"b\":{\"type\":\"binary\",\"value\":\"AAAA\"}}}",
    "{\"at_us\":1800000000000000,\"version\":1,\"id\":\"@ID\"}",
    "[{\"input\":{\"a\":1},\"key\":\"m1\"},{\"input\":null,\"at_us\":17}]",
    "{\"workflow\":\"zoo.a\",\"version\":1,\"status\":[\"running\"],\"limit\":"
    "3,\"before\":\"@ID\",\"parent\":\"@ID\",\"key\":\"k1\"}",
    "{\"name\":\"pay.card\",\"key\":\"k1\",\"data\":{\"amount\":5},\"id\":"
    "\"e1\",\"source\":\"s\",\"ttl_us\":1000000,\"by\":\"me\"}",
    "{\"name\":\"pay.card\",\"instance\":\"@ID\",\"data\":[1,2]}",
    "{\"name\":\"pay.x\",\"start\":{\"workflow\":\"zoo.a\",\"input\":{},"
    "\"options\":{\"key\":\"s1\"}}}",
    "{\"kind\":\"cancel\",\"by\":\"me\",\"reason\":\"r\",\"compensate\":"
    "false}",
    "{\"kind\":\"suspend\",\"by\":\"me\"}",
    "{\"kind\":\"resume\",\"shift\":true}",
    "{\"kind\":\"retry\",\"token\":3}",
    "{\"kind\":\"restart\",\"from\":\"a\",\"seq\":2}",
    "{\"kind\":\"move\",\"to\":\"z\",\"token\":2}",
    "{\"kind\":\"edit\",\"set\":{\"k\":\"v\",\"l\":[1,2]},\"unset\":[\"x\"],"
    "\"if_commits\":3}",
    "{\"kind\":\"wake\",\"at_us\":5,\"nodes\":[\"tm\",\"w\"]}",
    "{\"kind\":\"transfer\",\"to_version\":2,\"map\":{\"a\":\"b\"}}",
    "{\"kind\":\"shift\",\"for_us\":1000000}",
    "{\"kind\":\"kill\"}",
    "{\"workflow\":\"zoo.a\",\"from\":1,\"to\":2,\"map\":{\"a\":\"b\"},"
    "\"limit\":5,\"after\":\"@ID\",\"by\":\"x\"}",
    "{\"kind\":\"claim\",\"by\":\"ann\",\"roles\":[\"manager\"]}",
    "{\"kind\":\"complete\",\"by\":\"ann\",\"output\":{\"n\":1},\"take\":"
    "\"approved\",\"roles\":[\"manager\"]}",
    "{\"kind\":\"fail\",\"by\":\"ann\",\"error\":{\"code\":\"x\"}}",
    "{\"kind\":\"reassign\",\"to\":\"bob\",\"users\":[\"u\"],\"by\":\"x\"}",
    "{\"kind\":\"escalate\",\"priority\":\"urgent\",\"users\":[\"z\"]}",
    "{\"user\":\"ann\",\"role\":[\"manager\"],\"status\":[\"pending\"],"
    "\"due_before_us\":99,\"overdue\":true,\"limit\":2,\"before\":\"@ID\"}",
    "{\"type\":\"made\",\"instance\":\"@ID\",\"limit\":1,\"before\":9}",
    "{\"workflow\":\"zoo.a\",\"live\":true}",
    "{\"kind\":\"suspend\",\"prefix\":\"zoo.\",\"by\":\"x\"}",
    "{\"kind\":\"resume\",\"prefix\":\"zoo.\",\"shift\":true}",
    "{\"kind\":\"deactivate\",\"workflow\":\"zoo.a\",\"version\":1}",
    "{}",
    "[]"};

static void fill(char *text, const char *id) {
  char *at;
  snprintf(text, MAX_TEXT, "%s", PICK(TEXTS));
  while ((at = strstr(text, "@ID")) != NULL)
    splice(text, (size_t)(at - text), 3, id);
  mutate(text);
}

/* An id: whole, shortened, changed, or none. */
static void some_id(char id[80], const char *given) {
  snprintf(id, 80, "%s", given);
  if (!chance(4)) id[chance(37)] = 0;
  if (!chance(4)) id[chance(36)] = (char)(1 + chance(255));
  if (!chance(30)) id[0] = 0;
}

static void first_task(world *w, char id[37]) {
  char *text = NULL;
  const char *at;
  if (pawl_task_list(w->e, NULL, &text, NULL) != PAWL_OK) return;
  at = strstr(text, "\"id\":\"");
  if (at) snprintf(id, 37, "%.36s", at + 6);
  pawl_free(w->e, text);
}

static void one_call(world *w, char started[37]) {
  static char a[MAX_TEXT], b[MAX_TEXT];
  char id[80], task[37] = "", made[37];
  const char *status;
  int64_t n;
  int done;

  some_id(id, started);
  fill(a, started);
  fill(b, started);
  snprintf(w->given, sizeof w->given, "%.60s | %.130s", id, a);
  switch (chance(25)) {
    case 0:
    case 1:
      ASK(w,
          pawl_start(w->e, chance(9) ? "zoo.a" : id, a, b, made, &done, &err));
      break;
    case 2:
      ASK(w, pawl_start_many(w->e, "zoo.a", a, b, &out, &err));
      break;
    case 3:
    case 4:
      ASK(w, pawl_signal(w->e, a, &n, &out, &err));
      break;
    case 5:
      ASK(w, pawl_get(w->e, id, &out, &err));
      break;
    case 6:
      ASK(w, pawl_list(w->e, a, &out, &err));
      break;
    case 7:
      ASK(w, pawl_history(w->e, id, NULL, &out, &err));
      break;
    case 8:
      ASK(w, pawl_tokens(w->e, id, 1, &out, &err));
      break;
    case 9:
      ASK(w, pawl_explain(w->e, id, &out, &err));
      break;
    case 10:
      ASK(w, pawl_outbox_list(w->e, a, &out, &err));
      break;
    case 11:
      ASK(w, pawl_task_list(w->e, a, &out, &err));
      break;
    case 12:
    case 13:
      first_task(w, task);
      ASK(w, pawl_task_change(w->e, task, a, &out, &err));
      break;
    case 14:
    case 15:
    case 16:
    case 17:
      ASK(w, pawl_change(w->e, started, a, &done, &out, &err));
      break;
    case 18:
    case 19:
      ASK(w, pawl_workflow_transfer(w->e, a, &out, &err));
      break;
    case 20:
      ASK(w, pawl_workflow_list(w->e, a, &out, &err));
      break;
    case 21:
      ASK(w, pawl_workflow_change(w->e, a, &out, &err));
      break;
    case 22:
      ASK(w, pawl_tick_instance(w->e, id, 1000, NULL, &status, &err));
      break;
    case 23:
      ASK(w, pawl_change(w->e, started, "{\"kind\":\"cancel\"}", &done, NULL,
                         &err));
      break;
    default:
      ASK(w,
          pawl_workflow_graph(w->e, id, (int64_t)chance(3) - 1, &out, &err));
      break;
  }
}

static int open_zoo(world *w, const char *url) {
  pawl_config config = PAWL_CONFIG_INIT;
  w->e = NULL;
  config.clock = zoo_now;
  config.clock_ud = &w->clock;
  ASK(w, pawl_open(url, &config, &w->e, &err));
  if (!w->e) return 0;
  ASK(w, pawl_load_text(w->e, "zoo.lua", ZOO, &out, &err));
  return 1;
}

static void start_zoo(world *w, char id[37]) {
  ASK(w, pawl_start(w->e, "zoo.a", "{\"n\":1}", NULL, id, NULL, &err));
  for (int i = 0; i < 4; i++) {
    ASK(w, pawl_tick(w->e, 50000, NULL, &err));
    w->clock.us += 1000000;
  }
}

static void strange_calls(const char *url, uint64_t n) {
  world w = {.seed = n, .kind = "calls", .clock = {INT64_C(1800000000000000)}};
  char id[37] = "";
  seed(n);
  if (!open_zoo(&w, url)) return;
  start_zoo(&w, id);
  for (int i = 0; i < CALLS; i++) {
    one_call(&w, id);
    if (chance(4)) continue;
    w.clock.us += chance(2) ? 1000 : (int64_t)chance(100000) * 1000000;
    ASK(&w, pawl_tick(w.e, 5000, NULL, &err));
  }
  pawl_close(w.e);
}

/* ---- stores ---- */

static const char *const TABLES[] = {
    "instance", "token",   "agenda",    "item",     "history", "subscription",
    "task",     "owner",   "attribute", "variable", "event",   "inbox",
    "outbox",   "message", "workflow",  "meta",     "trigger"};

static const int64_t INTEGERS[] = {0,
                                   -1,
                                   1,
                                   2,
                                   3,
                                   255,
                                   65536,
                                   INT32_MAX,
                                   INT32_MIN,
                                   INT64_C(1) << 32,
                                   INT64_MAX,
                                   INT64_MIN,
                                   INT64_C(1800000000000000)};

static void bind_other(sqlite3_stmt *to, sqlite3_value *was) {
  static char text[MAX_TEXT];
  char bytes[16];
  int type = chance(12) ? sqlite3_value_type(was) : 1 + (int)chance(5);
  switch (type) {
    case SQLITE_INTEGER:
      sqlite3_bind_int64(
          to, 1, chance(3) ? PICK(INTEGERS) : sqlite3_value_int64(was) + 1);
      break;
    case SQLITE_TEXT:
      snprintf(text, sizeof text, "%.15000s",
               sqlite3_value_type(was) == SQLITE_TEXT
                   ? (const char *)sqlite3_value_text(was)
                   : "{\"a\":1}");
      if (!chance(5)) snprintf(text, sizeof text, "%s", PICK(PIECES));
      mutate(text);
      sqlite3_bind_text(to, 1, text, -1, SQLITE_TRANSIENT);
      break;
    case SQLITE_BLOB:
      for (int i = 0; i < 16; i++) bytes[i] = (char)chance(256);
      sqlite3_bind_blob(to, 1, bytes, chance(4) ? 16 : (int)chance(16),
                        SQLITE_TRANSIENT);
      break;
    case SQLITE_FLOAT:
      sqlite3_bind_double(to, 1, 1.5);
      break;
    default:
      sqlite3_bind_null(to, 1);
      break;
  }
}

static void change_cell(sqlite3 *db) {
  char sql[300];
  const char *table = PICK(TABLES);
  sqlite3_stmt *row = NULL, *set = NULL;
  int column;
  int64_t rowid;

  snprintf(sql, sizeof sql,
           "select rowid, * from pawl_%s order by rowid limit 1 offset "
           "(abs(%u) %% max(1, (select count(*) from pawl_%s)))",
           table, chance(1000), table);
  if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK ||
      sqlite3_step(row) != SQLITE_ROW)
    goto out;
  rowid = sqlite3_column_int64(row, 0);
  column = 1 + (int)chance((unsigned)sqlite3_column_count(row) - 1);
  if (!chance(15))
    snprintf(sql, sizeof sql, "delete from pawl_%s where rowid = %lld", table,
             (long long)rowid);
  else
    snprintf(sql, sizeof sql,
             "update pawl_%s set \"%s\" = ? where rowid = %lld", table,
             sqlite3_column_name(row, column), (long long)rowid);
  if (sqlite3_prepare_v2(db, sql, -1, &set, NULL) != SQLITE_OK) goto out;
  if (sqlite3_bind_parameter_count(set))
    bind_other(set, sqlite3_column_value(row, column));
  sqlite3_reset(row);
  (void)sqlite3_step(set); /* a constraint may refuse it */
out:
  sqlite3_finalize(row);
  sqlite3_finalize(set);
}

static void copy_file(const char *from, const char *to) {
  static char bytes[65536];
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  size_t n;
  if (!in || !out) abort();
  while ((n = fread(bytes, 1, sizeof bytes, in)) > 0)
    if (fwrite(bytes, 1, n, out) != n) abort();
  fclose(in);
  if (fclose(out)) abort();
}

static void wipe(const char *url) {
  static const char *const ENDS[] = {"", "-wal", "-shm", "-pawl-lock"};
  char path[300];
  for (int i = 0; i < 4; i++) {
    snprintf(path, sizeof path, "%s%s", url, ENDS[i]);
    unlink(path);
  }
}

static void damage(const char *url) {
  sqlite3 *db;
  if (sqlite3_open(url, &db) != SQLITE_OK) abort();
  sqlite3_exec(db,
               "pragma synchronous = off; pragma ignore_check_constraints = 1",
               NULL, NULL, NULL);
  for (unsigned n = 1 + chance(4); n > 0; n--) change_cell(db);
  if (chance(4)) /* so that a worker looks at it */
    sqlite3_exec(db,
                 "update pawl_agenda set due_at = 1, ready = 1, lease = null",
                 NULL, NULL, NULL);
  sqlite3_close(db);
}

static pawl_code accept_most(void *ud, const pawl_emitted *emitted,
                             pawl_error *why) {
  (void)ud;
  (void)why;
  return emitted->length % 3 ? PAWL_OK : PAWL_TIMEOUT;
}

static void look_at(world *w, const char *id) {
  static const char PAID[] =
      "{\"name\":\"pay.card\",\"key\":\"k1\",\"data\":{\"amount\":5}}";
  int done;
  ASK(w, pawl_list(w->e, NULL, &out, &err));
  ASK(w, pawl_get(w->e, id, &out, &err));
  ASK(w, pawl_explain(w->e, id, &out, &err));
  ASK(w, pawl_history(w->e, id, NULL, &out, &err));
  ASK(w, pawl_tokens(w->e, id, 1, &out, &err));
  ASK(w, pawl_task_list(w->e, NULL, &out, &err));
  ASK(w, pawl_outbox_list(w->e, NULL, &out, &err));
  ASK(w, pawl_outbox_relay(w->e, NULL, accept_most, NULL, NULL, &err));
  ASK(w, pawl_executor_list(w->e, NULL, &out, &err));
  ASK(w, pawl_stats(w->e, NULL, &out, &err));
  ASK(w, pawl_problems(w->e, NULL, &out, &err));
  ASK(w, pawl_workflow_list(w->e, NULL, &out, &err));
  ASK(w, pawl_workflow_graph(w->e, "zoo.a", 0, &out, &err));
  for (int i = 0; i < 3; i++) {
    ASK(w, pawl_tick(w->e, 20000, NULL, &err));
    w->clock.us += INT64_C(3600) * 1000000;
  }
  ASK(w, pawl_signal(w->e, PAID, NULL, &out, &err));
  ASK(w, pawl_tick(w->e, 20000, NULL, &err));
  ASK(w, pawl_change(w->e, id, "{\"kind\":\"wake\"}", &done, &out, &err));
  ASK(w, pawl_tick(w->e, 20000, NULL, &err));
  ASK(w, pawl_change(w->e, id, "{\"kind\":\"cancel\"}", &done, &out, &err));
  ASK(w, pawl_explain(w->e, id, &out, &err));
}

static void strange_store(const char *base, const char *work, const char *id,
                          uint64_t n) {
  world w = {
      .seed = n, .kind = "stores", .clock = {INT64_C(1800000100000000)}};
  seed(n);
  wipe(work);
  copy_file(base, work);
  damage(work);
  if (!open_zoo(&w, work)) return;
  look_at(&w, id);
  pawl_close(w.e);
}

/* As on SQLite, but for the damage: PostgreSQL lets nobody put a value into a
 * column that is not of its type. */
static void strange_on_postgres(uint64_t n) {
  world w = {
      .seed = n, .kind = "postgres", .clock = {INT64_C(1800000100000000)}};
  world base = {.kind = "base", .clock = {INT64_C(1800000000000000)}};
  char id[37] = "";
  pgbase_clear("mutate");
  strange_calls(pgbase_url, n);
  pgbase_clear("mutate");
  seed(n);
  if (!open_zoo(&base, pgbase_url)) abort();
  start_zoo(&base, id);
  pawl_close(base.e);
  pgdamage(pgbase_name("mutate"), n);
  if (!open_zoo(&w, pgbase_url)) return;
  look_at(&w, id);
  pawl_close(w.e);
}

static void make_base(const char *base, char id[37]) {
  world w = {.kind = "base", .clock = {INT64_C(1800000000000000)}};
  sqlite3 *db;
  if (!open_zoo(&w, base)) abort();
  ASK(&w, pawl_signal(w.e, "{\"name\":\"pay.x\",\"key\":\"other\"}", NULL,
                      &out, &err));
  start_zoo(&w, id);
  pawl_close(w.e);
  if (sqlite3_open(base, &db) != SQLITE_OK) abort();
  sqlite3_exec(db, "pragma journal_mode = delete", NULL, NULL, NULL);
  sqlite3_close(db);
}

int main(void) {
  char folder[] = "/tmp/pawl-mutate.XXXXXX", base[64], work[64], id[37] = "";
  const char *many = getenv("PAWL_SEEDS"), *first = getenv("PAWL_SEED");
  const char *few = getenv("PAWL_SAMPLES");
  uint64_t n = many ? strtoull(many, NULL, 10) : few ? 10 : SEEDS;
  uint64_t npg = many ? n : few ? 2 : PG_SEEDS;
  uint64_t from = first ? strtoull(first, NULL, 10) : 1;

  if (first && !many) n = npg = 1;
  if (!mkdtemp(folder)) return 1;
  snprintf(base, sizeof base, "%s/base.db", folder);
  snprintf(work, sizeof work, "%s/work.db", folder);
  make_base(base, id);
  for (uint64_t i = from; i < from + n && test_failed < 100; i++) {
    strange_calls(":memory:", i);
    strange_store(base, work, id, i);
  }
  if (pgbase_make("mutate")) {
    for (uint64_t i = from; i < from + npg && test_failed < 100; i++)
      strange_on_postgres(i);
    pgbase_drop("mutate");
  }
  wipe(base);
  wipe(work);
  rmdir(folder);
  return TEST_END;
}
