/* Memory that is short for a moment: a program's whole life with workflows of
 * several shapes is lived again and again, each time with another request for
 * memory refused: that one alone, some in a row, or all from there on; of
 * pawl's allocator, or of SQLite's. Every call then says PAWL_NOMEM or
 * succeeds, closing works, and what is stored goes on to its end once there is
 * memory: nothing twice, nothing half, and no instance that fails. That is
 * read in the store itself, too. Others live under a limit of the engine's.
 * Half of them have each commit on disk, and half group them.
 *
 * Which requests those are is drawn by a seed that differs by run and is told
 * when a check fails. PAWL_SEED=N: the lives of that run; PAWL_SAMPLES: so many
 * of each kind. PAWL_OOM=N: every request from the N-th on, or N-M: up to the
 * M-th. */
#define _XOPEN_SOURCE 700 /* mkdtemp */

#include <sqlite3.h>
#include <time.h>
#include <unistd.h>

#include "pgbase.h"
#include "test.h"
#include "zoo.h"

enum {
  LIMITED_LIVES = 30,
  LIVES = 100,
  SQLITE_LIVES = 40,
  PG_LIVES = 8,
  SECONDS = 60
};
enum { ONCE, SOME, EVER, NMODES, LIMIT = NMODES };

static const char *const MODES[] = {"alone", "and some behind it",
                                    "and all behind it", "bytes at the most"};

/* ---- what it lives with ---- */

static const char FORK[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'sc.fork', start = 'f' }\n"
    "w:fork('f', { next = { 's', 't', 'w', 'p' } })\n"
    "w:step('s', { retry = { max = 1 }, next = 'j', run = function(ctx)\n"
    "  ctx.vars.list = pawl.array { 1, 2 } ctx.emit('made', { n = 1 })\n"
    "  return nil, { hold = ('h'):rep(300) } end })\n"
    "w:timer('t', { after = '1h', next = 'j' })\n"
    "w:wait('w', { event = 'go', key = function() return 'k' end,\n"
    "  take = 'one', timeout = '70d',\n"
    "  next = { received = 'j', timeout = 'bad' } })\n"
    "w:task('p', { title = 'Do', next = { yes = 'j', no = 'j' } })\n"
    "w:join('j', { expect = 'all', next = 'e' })\n"
    "w:each('e', { items = function() return { 1, 2, 3 } end,\n"
    "  branch = 'b', next = 'z' })\n"
    "w:step('b', { retry = { max = 1 }, next = 'e',\n"
    "  run = function(ctx) return nil, { v = ctx.token.data.item } end })\n"
    "w:finish('z', { output = function(ctx) return ctx.vars end })\n"
    "w:finish('bad', { status = 'failed' })\n"
    "return w\n";

static const char CHILD[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'sc.child', start = 'a' }\n"
    "w:step('a', { retry = { max = 1 }, next = 'z', run = function(ctx)\n"
    "  ctx.attrs.n = ctx.input.n ctx.vars.n = ctx.input.n + 1 end })\n"
    "w:finish('z', { output = function(ctx) return ctx.vars.n end })\n"
    "return w\n";

static const char CALL[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'sc.call', start = 'c' }\n"
    "w:call('c', { workflow = 'sc.child', input = function(ctx)\n"
    "  return { n = 6 } end, into = 'said',\n"
    "  next = { completed = 'd', failed = 'bad' } })\n"
    "w:choice('d', { choose = function(ctx)\n"
    "  return ctx.vars.said == 7 and 'z' or 'bad' end,\n"
    "  next = { z = 'z', bad = 'bad' } })\n"
    "w:finish('z') w:finish('bad', { status = 'failed' })\n"
    "return w\n";

/* Undone, and failed by its own doing. */
static const char UNDO[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'sc.undo', start = 'a' }\n"
    "local function undo(ctx) ctx.emit('undone', { node = ctx.node }) end\n"
    "w:step('a', { retry = { max = 1 }, undo = undo, next = 'b',\n"
    "  run = function() return nil, 'a 1' end })\n"
    "w:step('b', { retry = { max = 1 }, undo = undo, next = 'c',\n"
    "  run = function() return nil, 'b 1' end })\n"
    "w:step('c', { retry = { max = 2, base = 1 }, next = 'z',\n"
    "  run = function() error { code = 'none_left', message = 'none' } end "
    "})\n"
    "w:finish('z')\n"
    "return w\n";

/* Variables in rows of their own; steps in transactions. */
static const char LARGE[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'sc.large', start = 'a' }\n"
    "local once = { max = 1 }\n"
    "w:step('a', { retry = once, next = 'b', run = function(ctx)\n"
    "  ctx.vars.one = ('x'):rep(9000) ctx.vars.two = ('y'):rep(5000) end })\n"
    "w:step('b', { retry = once, transactional = true, next = 'c',\n"
    "  run = function(ctx)\n"
    "    ctx.vars.q = ctx.db:query('select 1 as one')\n"
    "    ctx.emit('paid', { n = 1 }) end })\n"
    "w:step('c', { retry = once, timeout = '2h', next = 'd',\n"
    "  run = function(ctx)\n"
    "  ctx.await(1) ctx.vars.two = nil\n"
    "  ctx.vars.one = ctx.vars.one .. 'z' end })\n"
    "w:finish('d', { output = function(ctx) return #ctx.vars.one end })\n"
    "return w\n";

static const char MOD[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'sc.mod', start = 'a' }\n"
    "w:step('a', { retry = { max = 1 }, next = 'z', run = function(ctx)\n"
    "  local t = {} for i = 1, 200 do t[i] = ('q'):rep(i) end\n"
    "  ctx.vars.n = #table.concat(t) end })\n"
    "w:finish('z', { output = function(ctx) return ctx.vars.n end })\n"
    "return w\n";

/* However slow the machine is that it is tried on. */
static const char LIMITED[] = "{\"level\":\"limited\",\"time_us\":600000000}";

/* In a process of its own, which has memory; what goes there and comes back is
 * ours. */
static const char APART[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'sc.apart', start = 'a' }\n"
    "w:step('a', { retry = { max = 1 }, next = 'z', run = function(ctx)\n"
    "  local t = {} for i = 1, 200 do t[i] = ('q'):rep(i) end\n"
    "  ctx.vars.n = #table.concat(t) end })\n"
    "w:finish('z', { output = function(ctx) return ctx.vars.n end })\n"
    "return w\n";

/* The first to come decides; what the others had begun is cancelled. */
static const char ANY[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'sc.any', start = 'f' }\n"
    "w:fork('f', { next = { 's', 't', 'p', 'w' } })\n"
    "w:timer('t', { after = '50d', next = 'j' })\n"
    "w:task('p', { title = 'Never', users = 'bob', next = 'j' })\n"
    "w:wait('w', { event = 'never', next = 'j' })\n"
    "w:step('s', { retry = { max = 1 }, timeout = '2h', next = 'j',\n"
    "  run = function(ctx)\n"
    "  ctx.await(2) ctx.vars.by = ctx.node end })\n"
    "w:join('j', { expect = 'any', losers = 'cancel', next = 'z' })\n"
    "w:finish('z', { output = function(ctx) return ctx.vars.by end })\n"
    "return w\n";

/* Cancelled, and pruned. */
static const char GONE[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'sc.gone', start = 'w' }\n"
    "w:wait('w', { event = 'never', next = 'z' })\n"
    "w:finish('z')\n"
    "return w\n";

typedef struct shape {
  const char *code, *text, *trust;
  const char *status; /* how it ends */
  const char *output; /* a part of what pawl_get says then */
  const char *type;   /* of history; so many of them */
  int ntypes;
} shape;

enum { FORKS, CHILDREN, CALLS, UNDOES, LARGES, MODS, APARTS, ANYS, NSHAPES };
static const shape SHAPES[NSHAPES] = {
    {"sc.fork", FORK, NULL, "completed", "\"list\":[1,2]", "step", 4},
    {"sc.child", CHILD, NULL, "completed", "\"output\":3", "step", 1},
    {"sc.call", CALL, NULL, "completed", "\"said\":7", "step", 0},
    {"sc.undo", UNDO, NULL, "failed", "\"none_left\"", "undone", 2},
    {"sc.large", LARGE, NULL, "completed", "\"output\":9001", "step", 3},
    {"sc.mod", MOD, LIMITED, "completed", "\"output\":20100", "step", 1},
    {"sc.apart", APART, "isolated", "completed", "\"output\":20100", "step",
     1},
    {"sc.any", ANY, NULL, "completed", "\"output\":\"s\"", "step", 1},
};
/* One of each, the child of the call, and one that is archived. */
enum { INSTANCES = NSHAPES + 2 };

/* ---- SQLite's memory ---- */

/* Of all connections of the process: SQLite knows no other. */
static test_alloc sqlite_asked;

/* ---- a life ---- */

typedef struct life {
  test_alloc alloc;
  test_alloc *asked; /* whose requests are refused: its own, or SQLite's */
  zoo_clock clock;
  pawl_engine *e;
  char ids[NSHAPES][37], old[37];
  const char *url;
  int64_t fail_at;
  int mode, is_well, groups;
} life;

static uint64_t seed;

static void tell(const life *l) {
  printf("  %s, %s request %lld %s%s, PAWL_SEED=%llu\n", l->url,
         l->asked == &sqlite_asked ? "SQLite's" : "our", (long long)l->fail_at,
         MODES[l->mode], l->is_well ? ", memory is back" : "",
         (unsigned long long)seed);
}

/* What was done although its answer could not be made may say `otherwise` when
 * it is asked for again. */
static int told(const life *l, const char *call, pawl_code rc,
                pawl_code otherwise, const pawl_error *err) {
  /* a group of SQLite's that is undone is told later, too */
  const int undone =
      rc == PAWL_UNREACHABLE && l->groups && l->url != pgbase_url;
  if (rc == PAWL_OK || rc == otherwise || undone ||
      (rc == PAWL_NOMEM && !l->is_well)) {
    test_passed++;
    return rc == PAWL_OK;
  }
  test_failed++;
  printf("%s: %s: %s %s\n", call, pawl_code_name(rc), err->message,
         err->sqlstate);
  tell(l);
  return 0;
}
#define ASK_OR(l, otherwise, call) \
  (err = (pawl_error){0}, told(l, #call, call, otherwise, &err))
#define ASK(l, call) ASK_OR(l, PAWL_OK, call)

static void drop(const life *l, char **text) {
  pawl_free(l->e, *text);
  *text = NULL;
}

static int open_it(life *l) {
  pawl_config config = PAWL_CONFIG_INIT;
  pawl_error err;
  if (l->e) return 1;
  config.alloc = test_alloc_fn;
  config.alloc_ud = &l->alloc;
  config.clock = zoo_now;
  config.clock_ud = &l->clock;
  config.durability = l->groups ? PAWL_DURABLE_GROUPED : PAWL_DURABLE_EVERY;
  if (l->mode == LIMIT && !l->is_well) config.memory_bytes = l->fail_at;
  return ASK(l, pawl_open(l->url, &config, &l->e, &err));
}

/* 0: not all of them are known, or there. */
static int begin(life *l) {
  static const char *const INPUTS[NSHAPES] = {
      "null", "{\"n\":2}", "null", "null", "null", "null", "null", "null"};
  pawl_error err;
  char options[40];
  int all = 1;
  for (int i = 0; i < NSHAPES; i++)
    all &= ASK(l, pawl_load_as(l->e, SHAPES[i].code, SHAPES[i].text,
                               SHAPES[i].trust, NULL, &err));
  all &= ASK(l, pawl_load_text(l->e, "sc.gone", GONE, NULL, &err));
  if (!all) return 0; /* what nobody knows would fail */
  for (int i = 0; i < NSHAPES; i++) {
    snprintf(options, sizeof options, "{\"key\":\"k%d\"}", i);
    all &= ASK(l, pawl_start(l->e, SHAPES[i].code, INPUTS[i], options,
                             l->ids[i], NULL, &err));
  }
  return all & ASK(l, pawl_start(l->e, "sc.child", "{\"n\":2}",
                                 "{\"key\":\"old\"}", l->old, NULL, &err));
}

static void ticks(life *l, int n) {
  pawl_error err;
  while (n-- > 0) {
    (void)ASK(l, pawl_tick(l->e, 100000, NULL, &err));
    l->clock.us += 1500000;
  }
}

static void complete(life *l) {
  char *text = NULL, id[37] = "";
  pawl_error err;
  if (!ASK(l, pawl_task_list(
                  l->e, "{\"status\":\"pending\",\"workflow\":\"sc.fork\"}",
                  &text, &err)))
    return;
  if (pawl_text(text, "[0].id", id, sizeof id, NULL, &err) != PAWL_OK)
    id[0] = 0; /* there is none */
  drop(l, &text);
  if (id[0])
    (void)ASK_OR(l, PAWL_ALREADY_FINISHED,
                 pawl_task_change(l->e, id,
                                  "{\"kind\":\"complete\",\"by\":\"ann\","
                                  "\"take\":\"yes\"}",
                                  NULL, &err));
}

static void look(life *l) {
  char *text = NULL;
  pawl_error err;
  for (int i = 0; i < NSHAPES; i++) {
    const char *id = l->ids[i];
    if (ASK(l, pawl_get(l->e, id, &text, &err))) drop(l, &text);
    if (ASK(l, pawl_history(l->e, id, NULL, &text, &err))) drop(l, &text);
    if (ASK(l, pawl_explain(l->e, id, &text, &err))) drop(l, &text);
  }
  if (ASK(l,
          pawl_list(l->e, "{\"attributes\":{\"n\":[\">\",1]}}", &text, &err)))
    drop(l, &text);
  if (ASK(l,
          pawl_tally_groups(l->e, "{\"group_by\":\"status\"}", &text, &err)))
    drop(l, &text);
  if (ASK(l, pawl_stats(l->e, NULL, &text, &err))) drop(l, &text);
  if (ASK(l, pawl_health(l->e, 0, &text, &err))) drop(l, &text);
}

/* Goes out as lines, and comes back; then into the archive, out, and in. */
static void carry(life *l) {
  char *text = NULL;
  const char *status = "";
  pawl_error err;
  if (!ASK(l, pawl_status(l->e, l->old, &status, &err))) return;
  if (strcmp(status, "completed") != 0) return;
  if (ASK(l, pawl_export(l->e, l->old, NULL, &text, &err))) {
    if (ASK_OR(l, PAWL_CONFLICT,
               pawl_change(l->e, l->old, "{\"kind\":\"archive\"}", NULL, NULL,
                           &err)))
      (void)ASK_OR(l, PAWL_CONFLICT,
                   pawl_change(l->e, l->old, "{\"kind\":\"unarchive\"}", NULL,
                               NULL, &err));
    (void)ASK(l, pawl_import(l->e, text, NULL, NULL, &err));
    drop(l, &text);
  }
  (void)ASK_OR(
      l, PAWL_CONFLICT,
      pawl_change(l->e, l->old, "{\"kind\":\"archive\"}", NULL, NULL, &err));
}

/* One that nobody needs goes for good. */
static void tidy(life *l) {
  char id[37] = "";
  pawl_error err;
  if (!ASK(l, pawl_start(l->e, "sc.gone", NULL, "{\"key\":\"gone\"}", id, NULL,
                         &err)))
    return;
  (void)ASK_OR(
      l, PAWL_ALREADY_FINISHED,
      pawl_change(l->e, id, "{\"kind\":\"cancel\"}", NULL, NULL, &err));
  ticks(l, 1);
  (void)ASK(l, pawl_bulk(l->e, "{\"workflow\":\"sc.undo\"}",
                         "{\"kind\":\"note\",\"text\":\"seen\"}", NULL, NULL,
                         NULL, &err));
  (void)ASK(
      l, pawl_prune(l->e, "{\"cancelled_us\":1,\"tasks_us\":1,\"share\":100}",
                    NULL, &err));
}

static void live(life *l) {
  static const char GO[] =
      "{\"name\":\"go\",\"key\":\"k\",\"id\":\"once\",\"data\":{\"x\":1},"
      "\"ttl_us\":900000000000}";
  pawl_error err;
  int64_t due;
  alarm(SECONDS); /* what hangs ends here */
  if (!open_it(l) || !begin(l)) return;
  ticks(l, 4);
  (void)ASK(l, pawl_signal(l->e, GO, NULL, NULL, &err));
  complete(l);
  ticks(l, 2);
  look(l);
  (void)ASK(l, pawl_next_due(l->e, &due, &err));
  l->clock.us += INT64_C(3700) * 1000000;
  ticks(l, 4);
  carry(l);
  tidy(l);
}

/* ---- what is stored ---- */

static int count(const char *text, const char *what) {
  int n = 0;
  for (; (text = strstr(text, what)) != NULL; text++) n++;
  return n;
}

static void check_count(const life *l, const char *text, const char *what,
                        int want) {
  if (CHECK_INT(count(text, what), want)) return;
  const char *why = strstr(text, "\"error\":{");
  printf("  %s in %.600s ... %.300s\n", what, text, why ? why : "");
  tell(l);
}

static void check_shape(life *l, int i) {
  const shape *s = &SHAPES[i];
  char *text = NULL, want[60];
  pawl_error err;
  if (!ASK(l, pawl_get(l->e, l->ids[i], &text, &err))) return;
  snprintf(want, sizeof want, "\"status\":\"%s\"", s->status);
  check_count(l, text, want, 1);
  CHECK(strstr(text, s->output) != NULL);
  drop(l, &text);
  if (!ASK(l, pawl_history(l->e, l->ids[i], NULL, &text, &err))) return;
  snprintf(want, sizeof want, "\"type\":\"%s\"", s->type);
  check_count(l, text, want, s->ntypes);
  drop(l, &text);
}

static void check_tally(life *l, const char *query, int64_t want) {
  int64_t n = -1;
  pawl_error err;
  if (ASK(l, pawl_tally(l->e, query, &n, NULL, &err)) && !CHECK_INT(n, want))
    printf("  %s\n", query), tell(l);
}

/* Everything has happened, once. */
static void check_whole(life *l) {
  char *text = NULL;
  pawl_error err;
  int sound = 0;
  for (int i = 0; i < NSHAPES; i++) check_shape(l, i);
  check_tally(l, NULL, INSTANCES - 1);
  check_tally(l, "{\"archived\":true}", 1);
  check_tally(l, "{\"status\":\"failed\"}", 1);
  check_tally(l, "{\"leased\":true}", 0);
  if (ASK(l, pawl_outbox_list(l->e, NULL, &text, &err))) {
    check_count(l, text, "\"type\":\"made\"", 1);
    check_count(l, text, "\"type\":\"paid\"", 1);
    check_count(l, text, "\"type\":\"undone\"", 2);
    drop(l, &text);
  }
  if (ASK(l, pawl_stats(l->e, NULL, &text, &err))) {
    check_count(l, text, "\"failed\":1", 1); /* counted as it is listed */
    drop(l, &text);
  }
  if (!ASK(l, pawl_health(l->e, 0, &text, &err))) return;
  if (!CHECK(pawl_bool(text, "sound", &sound, &err) == PAWL_OK && sound))
    printf("  %.900s\n", text), tell(l);
  drop(l, &text);
}

static int sees_row(void *ud, int n, char **values, char **names) {
  (void)names;
  if (n && values[0]) snprintf(ud, 200, "%s", values[0]);
  return 0;
}

/* By SQLite itself: nothing is damaged, and no row is left of what is gone. */
static void check_rows(const life *l) {
  static const char *const ASKED[][2] = {
      {"pragma integrity_check", "ok"},
      {"select count(*) from pragma_foreign_key_check", "0"},
      {"select count(*) - count(distinct key) from pawl_instance", "1"},
      {"select count(*) from pawl_agenda", "0"},
      {"select count(*) from pawl_inbox", "0"},
      {"select count(*) from pawl_message", "0"},
      {"select count(*) from pawl_subscription", "0"},
      {"select count(*) from pawl_history h where not exists (select 1 from "
       "pawl_instance i where i.id = h.instance)",
       "0"},
      {"select count(*) from pawl_variable v where not exists (select 1 from "
       "pawl_instance i where i.id = v.instance)",
       "0"},
  };
  sqlite3 *db;
  if (!CHECK(sqlite3_open(l->url, &db) == SQLITE_OK)) return;
  for (size_t i = 0; i < sizeof ASKED / sizeof *ASKED; i++) {
    char got[200] = "";
    char *why = NULL;
    sqlite3_exec(db, ASKED[i][0], sees_row, got, &why);
    if (!CHECK_TEXT(got, ASKED[i][1]))
      printf("  %s %s\n", ASKED[i][0], why ? why : ""), tell(l);
    sqlite3_free(why);
  }
  sqlite3_close(db);
}

/* ---- one life after the other ---- */

static void wipe(const char *url) {
  static const char *const ENDS[] = {"", "-wal", "-shm", "-pawl-lock"};
  char path[300];
  if (url == pgbase_url) {
    pgbase_clear("scarce");
    return;
  }
  for (int i = 0; i < 4; i++) {
    snprintf(path, sizeof path, "%s%s", url, ENDS[i]);
    unlink(path);
  }
}

/* It closes as poor as it was, and opens anew; what it held passes on. */
static void close_it(life *l) {
  CHECK_INT(pawl_close(l->e), PAWL_OK);
  l->e = NULL;
  l->clock.us += INT64_C(60) * 1000000;
}

enum { CLOSES = 1, GROUPS = 2 }; /* how it lives */

/* CLOSES: with what it lived with. Returns how many requests there were. */
static int64_t run(const char *url, int of_sqlite, int64_t fail_at, int mode,
                   int how) {
  life l = {.url = url,
            .fail_at = fail_at,
            .mode = mode,
            .groups = (how & GROUPS) != 0};
  int64_t n;
  l.clock.us = INT64_C(1800000000000000);
  l.asked = of_sqlite ? &sqlite_asked : &l.alloc;
  wipe(url);
  *l.asked = (test_alloc){.fail_at = mode == LIMIT ? 0 : fail_at,
                          .for_ever = mode == EVER,
                          .more = mode == SOME ? (int)(fail_at % 40) + 1 : 0};
  l.is_well = fail_at == 0;
  live(&l);
  n = l.asked->requests;
  if (how & CLOSES && l.e) close_it(&l);
  l.asked->fail_at = 0;
  l.is_well = 1;
  for (int i = 0; i < 4; i++) live(&l);
  if (CHECK(l.e != NULL)) check_whole(&l);
  CHECK_INT(pawl_close(l.e), PAWL_OK);
  if (!CHECK_INT(l.alloc.live_bytes, 0)) tell(&l);
  if (url != pgbase_url && strcmp(url, ":memory:") != 0) check_rows(&l);
  return n;
}

static uint64_t drawn(void) { /* splitmix64 */
  static uint64_t state;
  if (!state) state = seed;
  uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static void every_request(const char *url, int of_sqlite, int64_t n) {
  const char *all = getenv("PAWL_OOM"), *upto = strchr(all, '-');
  int64_t last = upto && atoll(upto + 1) < n ? atoll(upto + 1) : n;
  printf("%s: %lld requests\n", url, (long long)n);
  for (int64_t at = atoll(all); at <= last; at++)
    for (int mode = 0; mode < NMODES; mode++)
      run(url, of_sqlite, at, mode,
          (at % 2 && strcmp(url, ":memory:") != 0 ? CLOSES : 0) |
              (at / 2 % 2 ? GROUPS : 0));
}

static void some_requests(const char *url, int of_sqlite, int lives) {
  int64_t n = run(url, of_sqlite, 0, EVER, 0);
  const char *few = getenv("PAWL_SAMPLES");
  if (few) lives = atoi(few);
  if (getenv("PAWL_OOM")) {
    every_request(url, of_sqlite, n);
    return;
  }
  for (int i = 0; i < lives; i++) {
    uint64_t any = drawn();
    run(url, of_sqlite, (int64_t)(any / 16 % (uint64_t)n) + 1,
        (int)(any % NMODES),
        (any & 8 && strcmp(url, ":memory:") != 0 ? CLOSES : 0) |
            (any & 4 ? GROUPS : 0));
  }
}

/* How many bytes one has at the most, that has all that it wants. */
static int64_t most_bytes(const char *url) {
  life l = {.url = url, .is_well = 1};
  pawl_memory_use m;

  l.clock.us = INT64_C(1800000000000000);
  l.asked = &l.alloc;
  wipe(url);
  live(&l);
  pawl_memory(l.e, &m);
  CHECK_INT(pawl_close(l.e), PAWL_OK);
  return m.peak;
}

/* From what is hardly enough to be open, to what is. */
static void under_a_limit(const char *url, int lives) {
  const int64_t most = most_bytes(url);
  const char *few = getenv("PAWL_SAMPLES");

  if (few) lives = atoi(few);
  for (int i = 0; i < lives; i++) {
    uint64_t any = drawn();
    int64_t limit = most / 2 + (int64_t)(any / 16 % (uint64_t)most);
    run(url, 0, limit, LIMIT, CLOSES | (any & 4 ? GROUPS : 0));
  }
}

int main(void) {
  char folder[] = "/tmp/pawl-scarce.XXXXXX", file[64];
  const char *given = getenv("PAWL_SEED");
  seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
  pawl_error err;
  if (!mkdtemp(folder) ||
      !CHECK_INT(pawl_sqlite_memory(test_alloc_fn, &sqlite_asked, 0, &err),
                 PAWL_OK))
    return 1;
  snprintf(file, sizeof file, "%s/scarce.db", folder);
  some_requests(":memory:", 0, LIVES / 2);
  some_requests(file, 0, LIVES / 2);
  some_requests(":memory:", 1, SQLITE_LIVES / 2);
  some_requests(file, 1, SQLITE_LIVES / 2);
  under_a_limit(file, LIMITED_LIVES);
  if (pgbase_make("scarce")) {
    some_requests(pgbase_url, 0, PG_LIVES);
    under_a_limit(pgbase_url, PG_LIVES);
    pgbase_drop("scarce");
  }
  wipe(file);
  rmdir(folder);
  return TEST_END;
}
