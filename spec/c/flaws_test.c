#include "../../src/base/flaws.h"

#include <stdlib.h>

#include "test.h"

/* The ids of what a version has, in order. */
static const char *of_version(const char *of, int64_t version) {
  static char text[1000];
  const pawl_flaw *f = NULL;

  text[0] = '\0';
  while ((f = pawl_flaw_of_version(f, of, version))) {
    if (text[0]) strcat(text, " ");
    strcat(text, f->id);
  }
  return text;
}

static void versions_have_what_was_not_mended(void) {
  CHECK_TEXT(of_version("sqlite", 3051002), "sqlite_wal_reset");
  CHECK_TEXT(of_version("sqlite", 3051003), "");
  CHECK_TEXT(of_version("sqlite", 3052000), "sqlite_withdrawn");
  CHECK_TEXT(of_version("sqlite", 3053001), "");
  CHECK_TEXT(of_version("sqlite", 3040001),
             "sqlite_wal_reset sqlite_aggregates");
  CHECK_TEXT(of_version("libpq", 150014), "libpq_sizes");
  CHECK_TEXT(of_version("libpq", 150015), "");
  CHECK_TEXT(of_version("libpq", 120000), "libpq_sizes");
  CHECK_TEXT(of_version("postgres", 140003), "postgres_concurrently");
  CHECK_TEXT(of_version("postgres", 140004), "");
  CHECK_TEXT(of_version("lua", 50408), "lua_bytecode lua_finalizers");
  CHECK(strstr(of_version("lua", 50404), "lua_emergency_collection ") != NULL);
  CHECK(strstr(of_version("lua", 50404), "lua_coroutine_close ") != NULL);
  CHECK(strstr(of_version("lua", 50402), "lua_settop") == NULL);
  CHECK_TEXT(of_version("perl", 5), "");
}

static void options_are_wrong_or_right(void) {
  static const struct {
    const char *of, *setting, *value, *id;
  } cases[] = {{"sqlite", "THREADSAFE", "0", "sqlite_threads"},
               {"sqlite", "THREADSAFE", "1", NULL},
               {"sqlite", "OMIT_AUTOVACUUM", "", "sqlite_vacuum"},
               {"postgres", "THREADSAFE", "0", NULL},
               {"postgres", "fsync", "off", "postgres_fsync"},
               {"postgres", "fsync", "on", NULL},
               {"postgres", "server_encoding", "LATIN1", "postgres_encoding"},
               {"postgres", "server_encoding", "UTF8", NULL},
               {"postgres", "synchronous_commit", "local", NULL},
               {"postgres", "collation", "changed", "postgres_collation"},
               {"postgres", "collation", "unknown", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const pawl_flaw *f =
        pawl_flaw_of_setting(cases[i].of, cases[i].setting, cases[i].value);
    CHECK_TEXT(f ? f->id : "", cases[i].id ? cases[i].id : "");
  }
}

static void all_of_each_is_said(void) {
  static const char *const names[] = {"lua", "sqlite", "libpq", "postgres"};
  int seen = 0;

  for (int i = 0; i < 4; i++) {
    for (int64_t version = 1; version < 4000000; version += 97) {
      const pawl_flaw *f = NULL;
      while ((f = pawl_flaw_of_version(f, names[i], version))) {
        seen++;
        if (f->text[0] && f->guard[0] && !strncmp(f->source, "https://", 8))
          continue;
        CHECK_TEXT(f->id, "is not told of");
      }
    }
  }
  CHECK(seen > 1000);
  CHECK_TEXT(pawl_exposure_name(PAWL_FLAW_GUARDED), "guarded");
  CHECK_TEXT(pawl_exposure_name(PAWL_FLAW_OPEN), "open");
}

static const char *version(const char *of, int64_t number) {
  static char text[24];
  pawl_flaw_version(of, number, text);
  return text;
}

static void versions_read_as_upstream_writes_them(void) {
  CHECK_TEXT(version("sqlite", 3040001), "3.40.1");
  CHECK_TEXT(version("lua", 50404), "5.4.4");
  CHECK_TEXT(version("libpq", 150020), "15.20");
  CHECK_TEXT(version("postgres", 170000), "17.0");
  CHECK_TEXT(version("lua", 0), "");
  CHECK_INT(pawl_flaw_lua_version("$LuaVersion: Lua 5.4.4  Copyright"), 50404);
  CHECK_INT(pawl_flaw_lua_version("Lua 5.4.10"), 50410);
  CHECK_INT(pawl_flaw_lua_version("Lua 5.4"), 0);
  CHECK_INT(pawl_flaw_lua_version("Ravi"), 0);
}

int main(void) {
  versions_have_what_was_not_mended();
  options_are_wrong_or_right();
  all_of_each_is_said();
  versions_read_as_upstream_writes_them();
  return TEST_END;
}
