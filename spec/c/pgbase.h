/* pgbase.h: a database of a C test's own on the server that PAWL_TEST_PG
 * names, made and emptied by psql. */
#ifndef PAWL_SPEC_PGBASE_H
#define PAWL_SPEC_PGBASE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* "" before it is made. */
static char pgbase_url[1024];

static inline void pgbase_sql(const char *database, const char *sql) {
  char command[1200];
  FILE *to;
  snprintf(command, sizeof command,
           "psql --no-psqlrc --quiet --no-align --tuples-only "
           "--set=ON_ERROR_STOP=1 \"%s dbname=%s\" >/dev/null",
           getenv("PAWL_TEST_PG"), database);
  fflush(stdout);
  to = popen(command, "w");
  if (to && fprintf(to, "set client_min_messages = error;\n%s;\n", sql) > 0 &&
      pclose(to) == 0)
    return;
  printf("failed: %s\n", command);
  abort();
}

static inline const char *pgbase_name(const char *test) {
  static char name[64];
  snprintf(name, sizeof name, "pawl_%s_%d", test, (int)getpid());
  return name;
}

/* Makes it, without a store in it. 0: there is no server. */
static inline int pgbase_make(const char *test) {
  const char *server = getenv("PAWL_TEST_PG");
  char sql[100];
  if (!server) return 0;
  snprintf(sql, sizeof sql, "create database %s", pgbase_name(test));
  pgbase_sql("postgres", sql);
  snprintf(pgbase_url, sizeof pgbase_url, "postgres:%s dbname=%s", server,
           pgbase_name(test));
  return 1;
}

/* Who held locks there has closed its connection, or is about to notice. */
static inline void pgbase_clear(const char *test) {
  pgbase_sql(pgbase_name(test),
             "set lock_timeout = '60s'; drop schema if exists pawl cascade");
}

static inline void pgbase_drop(const char *test) {
  char sql[100];
  snprintf(sql, sizeof sql, "drop database %s with (force)",
           pgbase_name(test));
  pgbase_sql("postgres", sql);
}

#endif
