/* What PostgreSQL can do by itself: see raw.h. One connection, prepared
 * statements, one call a statement; steps are written set-based, as arrays.
 * WHERE is a conninfo; the tables are in a schema `raw`. "bytes" is WAL. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "raw.h"

#include <libpq-fe.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* State and output are jsonb, as in most hand-made tables. */
static const char schema[] =
    "drop schema if exists raw cascade;"
    "create schema raw;"
    "create table raw.instance (id bigint primary key, workflow text not null,"
    " status smallint not null, version integer not null, due_at timestamptz,"
    " lease_owner text, lease_until timestamptz, state jsonb not null,"
    " updated_at timestamptz not null);"
    "create index on raw.instance (due_at) where status = 0;"
    "create table raw.started (like raw.instance including all);"
    "create table raw.history (instance bigint not null, seq bigint not null,"
    " kind text not null, at timestamptz not null, output jsonb,"
    " primary key (instance, seq))";

static const char fill[] =
    "insert into raw.instance select g, 'order', 1, 0, now(), null, null,"
    " $1::jsonb, now() from generate_series(0, $2::bigint - 1) g";

static const char update[] =
    "update raw.instance i set state = s.state::jsonb,"
    " version = i.version + 1,"
    " lease_owner = 'w1', lease_until = now() + interval '30 s',"
    " updated_at = now()"
    " from unnest($1::bigint[], $2::text[]) as s (id, state)"
    " where i.id = s.id";

static const char insert[] =
    "insert into raw.history select s.id, s.seq, 'step', now(),"
    " s.output::jsonb from unnest($1::bigint[], $2::bigint[], $3::text[])"
    " as s (id, seq, output)";

static const char update_one[] =
    "update raw.instance set state = $2::jsonb, version = version + 1,"
    " lease_owner = 'w1', lease_until = now() + interval '30 s',"
    " updated_at = now() where id = $1::bigint";

static const char insert_one[] =
    "insert into raw.history values"
    " ($1::bigint, $2::bigint, 'step', now(), $3::jsonb)";

static const char start[] =
    "insert into raw.started values"
    " ($1::bigint, 'order', 0, 0, now(), null, null, $2::jsonb, now())";

static const char bulk[] =
    "insert into raw.started select s.id, 'order', 0, 0, now(), null, null,"
    " s.state::jsonb, now() from unnest($1::bigint[], $2::text[])"
    " as s (id, state) on conflict do nothing";

static void die(PGconn *pg, const char *what) {
  fprintf(stderr, "%s: %s", what, PQerrorMessage(pg));
  PQfinish(pg);
  exit(1);
}

/* Consumes the result of a statement that has to work. */
static void done(PGconn *pg, PGresult *res, const char *what) {
  ExecStatusType status = PQresultStatus(res);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) die(pg, what);
  PQclear(res);
}

static void run(PGconn *pg, const char *sql) {
  done(pg, PQexec(pg, sql), sql);
}

static void prepare(PGconn *pg, const char *name, const char *sql) {
  done(pg, PQprepare(pg, name, sql, 0, NULL), sql);
}

static void call(PGconn *pg, const char *name, int n,
                 const char *const *values) {
  done(pg, PQexecPrepared(pg, name, n, values, NULL, NULL, 0), name);
}

static int64_t wal_position(PGconn *pg) {
  PGresult *res = PQexec(pg, "select pg_current_wal_insert_lsn() - '0/0'");
  if (PQresultStatus(res) != PGRES_TUPLES_OK) die(pg, "wal position");
  int64_t at = strtoll(PQgetvalue(res, 0, 0), NULL, 10);
  PQclear(res);
  return at;
}

/* ---- arrays as text: {"...","..."} ---- */

typedef struct array {
  size_t len;
  char at[RAW_BULK * 2 * RAW_TEXT]; /* every byte quoted would still fit */
} array;

static void next_item(array *a) {
  a->at[a->len] = a->len ? ',' : '{';
  a->len++;
}

static void add_number(array *a, int64_t n) {
  next_item(a);
  a->len += (size_t)sprintf(a->at + a->len, "%lld", (long long)n);
}

static void add_text(array *a, const char *text) {
  next_item(a);
  a->at[a->len++] = '"';
  for (; *text; text++) {
    if (*text == '"') a->at[a->len++] = '\\';
    a->at[a->len++] = *text;
  }
  a->at[a->len++] = '"';
}

static const char *finish(array *a) {
  memcpy(a->at + a->len, "}", 2);
  a->len = 0;
  return a->at;
}

/* ---- the measures ---- */

/* Which instances: all of them, or one half. */
static int64_t first_id, nids = RAW_INSTANCES;

static void write_batch(PGconn *pg, int64_t step, int64_t first_seq) {
  static array ids, seqs, states, outputs;
  char text[RAW_TEXT];
  for (int64_t n = step; n < step + RAW_BATCH; n++) {
    add_number(&ids, first_id + n % nids);
    add_number(&seqs, first_seq + n);
    raw_state(text, n);
    add_text(&states, text);
    raw_output(text, n);
    add_text(&outputs, text);
  }
  const char *id = finish(&ids);
  const char *updated[] = {id, finish(&states)};
  const char *inserted[] = {id, finish(&seqs), finish(&outputs)};
  call(pg, "begin", 0, NULL);
  call(pg, "update", 2, updated);
  call(pg, "insert", 3, inserted);
  call(pg, "commit", 0, NULL);
}

static void write_steps(PGconn *pg, int64_t nsteps) {
  int64_t first_seq = raw_first_seq();
  for (int64_t n = 0; n < nsteps; n += RAW_BATCH)
    write_batch(pg, n, first_seq);
}

static void write_starts(PGconn *pg, int64_t nstarts) {
  int64_t first = raw_first_seq();
  char id[24], state[RAW_TEXT];
  const char *values[] = {id, state};
  for (int64_t n = 0; n < nstarts; n++) {
    snprintf(id, sizeof id, "%lld", (long long)(first + n));
    raw_state(state, n);
    call(pg, "start", 2, values);
  }
}

static void write_alone(PGconn *pg, int64_t step, int64_t seq) {
  char id[24], number[24], state[RAW_TEXT], output[RAW_TEXT];
  const char *updated[] = {id, state}, *inserted[] = {id, number, output};
  snprintf(id, sizeof id, "%lld", (long long)(step % RAW_INSTANCES));
  snprintf(number, sizeof number, "%lld", (long long)seq);
  raw_state(state, step);
  raw_output(output, step);
  call(pg, "begin", 0, NULL);
  call(pg, "update_one", 2, updated);
  call(pg, "insert_one", 3, inserted);
  call(pg, "commit", 0, NULL);
}

static void write_three(void *pg, int64_t i) {
  for (int k = 0; k < 3; k++) write_alone(pg, i, raw_first_seq());
}

static void write_bulk(PGconn *pg, int64_t nstarts) {
  static array ids, states;
  int64_t first = raw_first_seq();
  char state[RAW_TEXT];
  for (int64_t n = 0; n < nstarts; n++) {
    add_number(&ids, first + n);
    raw_state(state, n);
    add_text(&states, state);
    if ((n + 1) % RAW_BULK != 0 && n + 1 < nstarts) continue;
    const char *values[] = {finish(&ids), finish(&states)};
    call(pg, "bulk", 2, values);
  }
}

static void prepare_all(PGconn *pg) {
  prepare(pg, "begin", "begin");
  prepare(pg, "commit", "commit");
  prepare(pg, "update", update);
  prepare(pg, "insert", insert);
  prepare(pg, "update_one", update_one);
  prepare(pg, "insert_one", insert_one);
  prepare(pg, "start", start);
  prepare(pg, "bulk", bulk);
}

static void set_up(PGconn *pg) {
  char state[RAW_TEXT], ninstances[24];
  const char *values[] = {state, ninstances};
  raw_state(state, 0);
  snprintf(ninstances, sizeof ninstances, "%d", RAW_INSTANCES);
  run(pg, schema);
  done(pg, PQexecParams(pg, fill, 2, NULL, values, NULL, NULL, 0), "fill");
  run(pg, "vacuum analyze raw.instance");
  run(pg, "checkpoint"); /* whole pages go to the WAL now, not later */
  prepare_all(pg);
  write_steps(pg, RAW_INSTANCES);
}

/* Half of the steps are a child's, on a connection of its own. */
static PGconn *connect_to(const char *where) {
  PGconn *pg = PQconnectdb(where);
  if (PQstatus(pg) != CONNECTION_OK) die(pg, "connecting");
  run(pg, "set client_min_messages = warning");
  return pg;
}

static void write_pair(const char *where, int64_t nsteps) {
  PGconn *pg;
  pid_t child = fork();
  int status = 1;
  int64_t began_us, before;
  nids = RAW_INSTANCES / 2;
  if (child == 0) first_id = nids;
  pg = connect_to(where);
  prepare_all(pg);
  before = wal_position(pg);
  began_us = raw_clock_us(CLOCK_MONOTONIC);
  write_steps(pg, nsteps / 2);
  if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) {
    fputs("pair: the other half has failed\n", stderr);
    exit(1);
  }
  if (child > 0) raw_print(began_us, wal_position(pg) - before);
  PQfinish(pg);
}

static void measure(PGconn *pg, const char *what, int64_t n) {
  prepare_all(pg);
  if (!strcmp(what, "three")) {
    raw_latency(n, write_three, pg);
    return;
  }
  int64_t before = wal_position(pg);
  int64_t began_us = raw_clock_us(CLOCK_MONOTONIC);
  if (!strcmp(what, "start"))
    write_starts(pg, n);
  else if (!strcmp(what, "bulk"))
    write_bulk(pg, n);
  else
    write_steps(pg, n);
  raw_print(began_us, wal_position(pg) - before);
}

int main(int argc, char **argv) {
  PGconn *pg;
  if (argc < 3) return raw_usage(argv[0]);
  if (argc == 4 && !strcmp(argv[2], "pair")) {
    write_pair(argv[1], strtoll(argv[3], NULL, 10));
    return 0;
  }
  pg = connect_to(argv[1]);
  if (!strcmp(argv[2], "setup"))
    set_up(pg);
  else if (argc == 4)
    measure(pg, argv[2], strtoll(argv[3], NULL, 10));
  PQfinish(pg);
  return 0;
}
