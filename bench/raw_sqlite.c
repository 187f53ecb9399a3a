/* What SQLite can do by itself: see raw.h. One connection, prepared
 * statements, WAL, synchronous=FULL and its own automatic checkpoints. WHERE
 * is a file. "bytes" is what went to write(), the WAL and the file itself. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "raw.h"

#include <sqlite3.h>
#include <string.h>

static const char schema[] =
    "create table instance (id integer primary key, workflow text not null,"
    " status int not null, version int not null, due_at int,"
    " lease_owner text, lease_until int, state text not null,"
    " updated_at int not null);"
    "create index instance_due on instance (due_at) where status = 0;"
    "create table started (id integer primary key, workflow text not null,"
    " status int not null, version int not null, due_at int,"
    " lease_owner text, lease_until int, state text not null,"
    " updated_at int not null);"
    "create index started_due on started (due_at) where status = 0;"
    "create table history (instance int not null, seq int not null,"
    " kind text not null, at int not null, output text,"
    " primary key (instance, seq)) without rowid";

enum { BEGIN, COMMIT, UPDATE, INSERT, FILL, START, NSTMTS };

static const char *const texts[NSTMTS] = {
    [BEGIN] = "begin immediate",
    [COMMIT] = "commit",
    [UPDATE] =
        "update instance set state = ?2, version = version + 1,"
        " lease_owner = 'w1', lease_until = ?3 + 30000000,"
        " updated_at = ?3 where id = ?1",
    [INSERT] = "insert into history values (?1, ?2, 'step', ?3, ?4)",
    [FILL] =
        "insert into instance values"
        " (?1, 'order', 1, 0, ?3, null, null, ?2, ?3)",
    [START] =
        "insert into started values"
        " (?1, 'order', 0, 0, ?3, null, null, ?2, ?3)",
};

static sqlite3 *db;
static sqlite3_stmt *stmts[NSTMTS];

static void die(const char *what) {
  fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
  exit(1);
}

static void run(const char *sql) {
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) die(sql);
}

static void prepare_all(void) {
  for (int i = 0; i < NSTMTS; i++)
    if (sqlite3_prepare_v2(db, texts[i], -1, &stmts[i], NULL) != SQLITE_OK)
      die(texts[i]);
}

static void call(int which) {
  if (sqlite3_step(stmts[which]) != SQLITE_DONE) die(texts[which]);
  sqlite3_reset(stmts[which]);
}

/* What this process has given to write() so far; 0: the system does not
 * tell. */
static int64_t bytes_written(void) {
  char line[64];
  long long n = 0;
  FILE *f = fopen("/proc/self/io", "r");
  if (!f) return 0;
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "wchar: %lld", &n) == 1) break;
  fclose(f);
  return n;
}

/* UPDATE, FILL and START have id, state and time in the same places. */
static void write_row(int which, int64_t id, int64_t step) {
  char state[RAW_TEXT];
  int len = raw_state(state, step);
  sqlite3_bind_int64(stmts[which], 1, id);
  sqlite3_bind_text(stmts[which], 2, state, len, SQLITE_STATIC);
  sqlite3_bind_int64(stmts[which], 3, raw_clock_us(CLOCK_REALTIME));
  call(which);
}

static void write_history(int64_t id, int64_t seq) {
  char output[RAW_TEXT];
  int len = raw_output(output, seq % RAW_INSTANCES);
  sqlite3_bind_int64(stmts[INSERT], 1, id);
  sqlite3_bind_int64(stmts[INSERT], 2, seq);
  sqlite3_bind_int64(stmts[INSERT], 3, raw_clock_us(CLOCK_REALTIME));
  sqlite3_bind_text(stmts[INSERT], 4, output, len, SQLITE_STATIC);
  call(INSERT);
}

static void write_steps(int64_t nsteps) {
  unsigned dice = 7;
  int64_t first_seq = raw_first_seq();
  for (int64_t n = 0; n < nsteps; n++) {
    if (n % RAW_BATCH == 0) call(BEGIN);
    int64_t id = rand_r(&dice) % RAW_INSTANCES; /* as they come due */
    write_row(UPDATE, id, n);
    write_history(id, first_seq + n);
    if (n % RAW_BATCH == RAW_BATCH - 1 || n == nsteps - 1) call(COMMIT);
  }
}

static void write_starts(int64_t nstarts, int64_t batch) {
  int64_t first = raw_first_seq();
  for (int64_t n = 0; n < nstarts; n++) {
    if (n % batch == 0) call(BEGIN);
    write_row(START, first + n, n);
    if (n % batch == batch - 1 || n == nstarts - 1) call(COMMIT);
  }
}

static void write_three(void *ud, int64_t i) {
  (void)ud;
  for (int k = 0; k < 3; k++) {
    call(BEGIN);
    write_row(UPDATE, i % RAW_INSTANCES, i);
    write_history(i % RAW_INSTANCES, raw_first_seq());
    call(COMMIT);
  }
}

static void set_up(void) {
  run(schema);
  prepare_all();
  call(BEGIN);
  for (int64_t id = 0; id < RAW_INSTANCES; id++) write_row(FILL, id, 0);
  call(COMMIT);
  write_steps(RAW_INSTANCES);
}

static void measure(const char *what, int64_t n) {
  prepare_all();
  if (!strcmp(what, "three")) {
    raw_latency(n, write_three, NULL);
    return;
  }
  int64_t before = bytes_written();
  int64_t began_us = raw_clock_us(CLOCK_MONOTONIC);
  if (!strcmp(what, "step"))
    write_steps(n);
  else
    write_starts(n, strcmp(what, "bulk") ? 1 : RAW_BULK);
  raw_print(began_us, bytes_written() - before);
}

int main(int argc, char **argv) {
  if (argc < 3) return raw_usage(argv[0]);
  if (sqlite3_open(argv[1], &db) != SQLITE_OK) die(argv[1]);
  run("pragma journal_mode = wal");
  run("pragma synchronous = full");
  if (!strcmp(argv[2], "setup"))
    set_up();
  else if (argc == 4)
    measure(argv[2], strtoll(argv[3], NULL, 10));
  for (int i = 0; i < NSTMTS; i++) sqlite3_finalize(stmts[i]);
  sqlite3_close(db);
  return 0;
}
