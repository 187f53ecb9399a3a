#include "flaws.h"

#include <stdio.h>
#include <string.h>

#define LUA_BUGS "https://www.lua.org/bugs.html"
#define SQLITE "https://www.sqlite.org/"
#define PG_DOCS "https://www.postgresql.org/docs/current/"

/* One bug, mended in each line of versions of its own. */
#define LIBPQ_SIZES(first, mended)                                           \
  {                                                                          \
    .id = "libpq_sizes", .of = "libpq", .since = (first), .fixed = (mended), \
    .exposure = PAWL_FLAW_GUARDED,                                           \
    .text =                                                                  \
        "values of gigabytes are written behind the memory they were "       \
        "given (CVE-2025-12818)",                                            \
    .guard =                                                                 \
        "values are bounded long before: by max_bytes, and by 1 GB of a "    \
        "statement",                                                         \
    .source = "https://www.postgresql.org/support/security/CVE-2025-12818/"  \
  }

static const pawl_flaw flaws[] = {
    /* ---- Lua ---- */
    {.id = "lua_emergency_collection",
     .of = "lua",
     .since = 50400,
     .fixed = 50408,
     .exposure = PAWL_FLAW_GUARDED,
     .text = "a script can have freed memory used where an allocation is "
             "refused, as by a limit",
     .guard = "limited definitions are stopped before an "
              "allocation is refused; trusted ones have no limit",
     .source = LUA_BUGS "#5.4.7"},
    {.id = "lua_error_without_memory",
     .of = "lua",
     .since = 50400,
     .fixed = 50408,
     .exposure = PAWL_FLAW_GUARDED,
     .text = "an error's handler can be lost where memory runs out",
     .guard = "as of lua_emergency_collection: scripts do not get there",
     .source = LUA_BUGS "#5.4.7"},
    {.id = "lua_coroutine_close",
     .of = "lua",
     .since = 50400,
     .fixed = 50405,
     .exposure = PAWL_FLAW_GUARDED,
     .text = "coroutines that close one another in a chain overflow the C "
             "stack",
     .guard = "how deep coroutines of limited definitions may "
              "stand in one another is bounded",
     .source = LUA_BUGS "#5.4.4"},
    {.id = "lua_bytecode",
     .of = "lua",
     .since = 50400,
     .exposure = PAWL_FLAW_GUARDED,
     .text = "compiled chunks are not checked: a damaged one crashes",
     .guard = "definitions are loaded as text alone, also from a store",
     .source = "https://www.lua.org/manual/5.4/manual.html#pdf-load"},
    {.id = "lua_finalizers",
     .of = "lua",
     .since = 50400,
     .exposure = PAWL_FLAW_GUARDED,
     .text = "a __gc runs outside every limit",
     .guard = "limited definitions may set none",
     .source = "https://www.lua.org/manual/5.4/manual.html#2.5.3"},
    {.id = "lua_settop",
     .of = "lua",
     .since = 50403,
     .fixed = 50405,
     .exposure = PAWL_FLAW_GUARDED,
     .text = "lua_settop may use a pointer into a stack that has moved, where "
             "it closes variables",
     .guard = "pawl marks none to be closed in C",
     .source = LUA_BUGS "#5.4.4"},
    {.id = "lua_finalized_userdata",
     .of = "lua",
     .since = 50400,
     .fixed = 50405,
     .exposure = PAWL_FLAW_RARE,
     .text = "userdata made while a state is closed may not be collected",
     .guard = "trusted definitions: make none in a __gc",
     .source = LUA_BUGS "#5.4.4"},
    {.id = "lua_constants",
     .of = "lua",
     .since = 50400,
     .fixed = 50405,
     .exposure = PAWL_FLAW_RARE,
     .text = "wrong results of some bitwise operations with constants",
     .guard = "keep a constant operand in a variable, or use Lua 5.4.5 or "
              "newer",
     .source = LUA_BUGS "#5.4.4"},
    {.id = "lua_compare",
     .of = "lua",
     .since = 50400,
     .fixed = 50407,
     .exposure = PAWL_FLAW_RARE,
     .text = "comparing text reads behind its end in some locales",
     .guard = "pawl sets no locale: in a program that does, leave LC_COLLATE "
              "at \"C\"",
     .source = LUA_BUGS "#5.4.6"},
    /* ---- SQLite ---- */
    {.id = "sqlite_wal_reset",
     .of = "sqlite",
     .since = 3007000,
     .fixed = 3051003,
     .exposure = PAWL_FLAW_GUARDED,
     .text = "a commit beside a checkpoint of another connection can damage "
             "the file",
     .guard = "commits and checkpoints of pawl take turns, by a lock beside "
              "the file (-pawl-lock); let no other program write it meanwhile",
     .source = SQLITE "wal.html#walresetbug"},
    {.id = "sqlite_withdrawn",
     .of = "sqlite",
     .since = 3052000,
     .fixed = 3052001,
     .exposure = PAWL_FLAW_OPEN,
     .text = "this version was withdrawn by its authors",
     .guard = "use 3.51.3, or 3.53.0 or newer",
     .source = SQLITE "changes.html"},
    {.id = "sqlite_aggregates",
     .of = "sqlite",
     .since = 3000000,
     .fixed = 3050002,
     .exposure = PAWL_FLAW_GUARDED,
     .text = "a statement with more aggregates than columns can damage memory "
             "(CVE-2025-6965)",
     .guard = "pawl has none; ctx.db is a limited definition's only where the "
              "host grants it",
     .source = SQLITE "cves.html"},
    {.id = "sqlite_threads",
     .of = "sqlite",
     .setting = "THREADSAFE",
     .wrong = "0",
     .exposure = PAWL_FLAW_OPEN,
     .text = "it was built without locks: two engines in two threads damage "
             "each other's memory",
     .guard = "use engines from one thread alone, or a library built with "
              "SQLITE_THREADSAFE=1 or 2",
     .source = SQLITE "threadsafe.html"},
    {.id = "sqlite_vacuum",
     .of = "sqlite",
     .setting = "OMIT_AUTOVACUUM",
     .wrong = "",
     .exposure = PAWL_FLAW_RARE,
     .text = "it was built without auto_vacuum: a file does not get smaller",
     .guard = "restore a backup of it to have its room back",
     .source = SQLITE "compile.html#omit_autovacuum"},
    /* ---- libpq ---- */
    LIBPQ_SIZES(0, 130023),
    LIBPQ_SIZES(140000, 140020),
    LIBPQ_SIZES(150000, 150015),
    LIBPQ_SIZES(160000, 160011),
    LIBPQ_SIZES(170000, 170007),
    LIBPQ_SIZES(180000, 180001),
    /* ---- PostgreSQL's server ---- */
    {.id = "postgres_concurrently",
     .of = "postgres",
     .since = 140000,
     .fixed = 140004,
     .exposure = PAWL_FLAW_OPEN,
     .text = "CREATE INDEX CONCURRENTLY and REINDEX CONCURRENTLY can leave "
             "rows out of an index",
     .guard = "update the server, then reindex what was made so",
     .source = "https://www.postgresql.org/docs/release/14.4/"},
    {.id = "postgres_fsync",
     .of = "postgres",
     .setting = "fsync",
     .wrong = "off",
     .exposure = PAWL_FLAW_OPEN,
     .text = "nothing is on disk for certain: a power cut damages the "
             "database",
     .guard = "set fsync = on",
     .source = PG_DOCS "runtime-config-wal.html#GUC-FSYNC"},
    {.id = "postgres_torn_pages",
     .of = "postgres",
     .setting = "full_page_writes",
     .wrong = "off",
     .exposure = PAWL_FLAW_OPEN,
     .text = "a power cut can leave half-written pages",
     .guard = "set full_page_writes = on",
     .source = PG_DOCS "runtime-config-wal.html#GUC-FULL-PAGE-WRITES"},
    {.id = "postgres_late_commits",
     .of = "postgres",
     .setting = "synchronous_commit",
     .wrong = "off",
     .exposure = PAWL_FLAW_OPEN,
     .text = "a crash of the server takes back what it had acknowledged",
     .guard = "set synchronous_commit = on; where a workflow may lose its "
              "last steps, say so by `durability`",
     .source = PG_DOCS "runtime-config-wal.html#GUC-SYNCHRONOUS-COMMIT"},
    {.id = "postgres_zeroed_pages",
     .of = "postgres",
     .setting = "zero_damaged_pages",
     .wrong = "on",
     .exposure = PAWL_FLAW_OPEN,
     .text = "damaged pages are emptied, and nobody is told",
     .guard = "set zero_damaged_pages = off",
     .source = PG_DOCS "runtime-config-developer.html#GUC-ZERO-DAMAGED-PAGES"},
    {.id = "postgres_checksums_ignored",
     .of = "postgres",
     .setting = "ignore_checksum_failure",
     .wrong = "on",
     .exposure = PAWL_FLAW_OPEN,
     .text = "damaged pages are used as they are",
     .guard = "set ignore_checksum_failure = off",
     .source =
         PG_DOCS "runtime-config-developer.html#GUC-IGNORE-CHECKSUM-FAILURE"},
    {.id = "postgres_encoding",
     .of = "postgres",
     .setting = "server_encoding",
     .right = "UTF8",
     .exposure = PAWL_FLAW_OPEN,
     .text = "the database cannot hold every text: some steps will fail",
     .guard = "make the database with encoding UTF8",
     .source = PG_DOCS "multibyte.html"},
    {.id = "postgres_collation",
     .of = "postgres",
     .setting = "collation",
     .wrong = "changed",
     .exposure = PAWL_FLAW_OPEN,
     .text = "the system sorts text otherwise than when the database was "
             "made: indexes on text may miss rows",
     .guard = "REINDEX DATABASE, then ALTER DATABASE ... REFRESH COLLATION "
              "VERSION",
     .source = PG_DOCS "sql-alterdatabase.html"},
};

enum { NFLAWS = sizeof flaws / sizeof *flaws };

const pawl_flaw *pawl_flaw_of_version(const pawl_flaw *after, const char *of,
                                      int64_t version) {
  for (const pawl_flaw *f = after ? after + 1 : flaws; f < flaws + NFLAWS; f++)
    if (!f->setting && !strcmp(f->of, of) && version >= f->since &&
        (!f->fixed || version < f->fixed))
      return f;
  return NULL;
}

static int is_wrong(const pawl_flaw *f, const char *value) {
  return f->wrong ? !strcmp(f->wrong, value) : strcmp(f->right, value) != 0;
}

const pawl_flaw *pawl_flaw_of_setting(const char *of, const char *setting,
                                      const char *value) {
  for (const pawl_flaw *f = flaws; f < flaws + NFLAWS; f++)
    if (f->setting && !strcmp(f->of, of) && !strcmp(f->setting, setting) &&
        is_wrong(f, value))
      return f;
  return NULL;
}

const char *pawl_exposure_name(pawl_exposure exposure) {
  static const char *const names[] = {"guarded", "rare", "open"};
  return names[exposure];
}

void pawl_flaw_version(const char *of, int64_t version, char out[24]) {
  const int n = (int)version;

  if (n <= 0)
    out[0] = '\0';
  else if (!strcmp(of, "sqlite"))
    snprintf(out, 24, "%d.%d.%d", n / 1000000, n / 1000 % 1000, n % 1000);
  else if (!strcmp(of, "lua"))
    snprintf(out, 24, "%d.%d.%d", n / 10000, n / 100 % 100, n % 100);
  else
    snprintf(out, 24, "%d.%d", n / 10000, n % 10000);
}

int64_t pawl_flaw_lua_version(const char *text) {
  int major, minor, release;
  const char *at = strstr(text, "Lua 5.");

  if (!at || sscanf(at, "Lua %2d.%2d.%2d", &major, &minor, &release) != 3)
    return 0;
  return major * 10000 + minor * 100 + release;
}
