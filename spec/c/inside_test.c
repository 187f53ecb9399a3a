/* Every call of pawl.h from inside each callback: log, trace, clock, allocator,
 * wake, commit, publish, progress, a function that is lent and its destroy; while the engine
 * works and while it is closed. Each is legal there or PAWL_MISUSE; none does
 * anything, and none is undefined (valgrind and the sanitizers see that). */
#define _XOPEN_SOURCE 700 /* mkdtemp */

#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "../../src/base/clock.h"

#include "test.h"
#include "zoo.h"

typedef enum place {
  LOG,
  TRACE,
  CLOCK,
  ALLOC,
  PUBLISH,
  PROGRESS,
  WAKE,
  COMMIT,
  LENT,
  DESTROY,
  NPLACES
} place;

static const char *const NAMES[] = {"log",     "trace",    "clock", "alloc",
                                    "publish", "progress", "wake",  "commit",
                                    "lent",    "destroy"};

typedef struct world {
  zoo_clock clock;
  test_alloc alloc;
  pawl_engine *e;
  char id[37], *spare;
  place armed; /* NPLACES: none */
  int inside, times, most;
  int every, skipped;             /* of very many, so many are passed over */
  void (*begun)(struct world *w); /* called by in.loop's next handler */
  pthread_t thread;
  lua_State *lua; /* the program's; NULL: the engine has its own */
} world;

static const char FLOW[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'in.side', start = 'a' }\n"
    "w:step('a', { next = 'b', run = function(ctx)\n"
    "  ctx.log('info', 'here') ctx.emit('made', {}) ctx.vars.x = "
    "ctx.host.f(1)\n"
    "end })\n"
    "w:wait('b', { event = 'go', next = 'z' })\n"
    "w:finish('z')\n"
    "return w\n";

static const char OTHER[] =
    "local w = require 'pawl'.workflow { code = 'in.other', start = 'z' }\n"
    "w:finish('z')\n"
    "return w\n";

static const char *place_now = "";

static void refused(const char *call, pawl_code rc) {
  if (!CHECK_INT(rc, PAWL_MISUSE)) printf("  %s in %s\n", call, place_now);
}
#define REFUSED(call) refused(#call, call)

static pawl_code publish(void *ud, const pawl_emitted *emitted,
                         pawl_error *why);
static pawl_code lent(void *ud, const pawl_wanted *wanted, char **out,
                      pawl_error *err);
static int progress(void *ud, const pawl_progress *so_far);

/* What asks the engine for something, in the order of pawl.h. */
static void call_what_is_refused(pawl_engine *e, const char *own_id) {
  char *text = NULL, id[37];
  pawl_tick_stats stats;
  pawl_relayed relayed;
  const char *status;
  struct sqlite3 *db;
  size_t size;
  int64_t n;
  int yes;

  REFUSED(pawl_close(e));
  REFUSED(pawl_executor_list(e, NULL, &text, NULL));
  REFUSED(pawl_stats(e, NULL, &text, NULL));
  REFUSED(pawl_problems(e, NULL, &text, NULL));
  REFUSED(pawl_health(e, 1, &text, NULL));
  REFUSED(pawl_prune(e, NULL, &text, NULL));
  REFUSED(pawl_backup(e, "nowhere.db", NULL, &text, NULL));
  REFUSED(pawl_backup_bytes(e, &text, &size, NULL));
  REFUSED(pawl_restore(e, "nowhere.db", &text, NULL));
  REFUSED(pawl_restore_bytes(e, "x", 1, NULL));
  REFUSED(pawl_load(e, "nowhere.lua", &text, NULL));
  REFUSED(pawl_load_text(e, "x", "return 1", &text, NULL));
  REFUSED(pawl_load_as(e, "x", "return 1", "{}", &text, NULL));
  REFUSED(pawl_load_stack(e, &text, NULL));
  REFUSED(pawl_deploy(e, "{\"files\":[\"x\"]}", &text, NULL));
  REFUSED(pawl_check(e, "nowhere.lua", &text, NULL));
  REFUSED(pawl_workflow_list(e, NULL, &text, NULL));
  REFUSED(pawl_workflow_get(e, "in.side", NULL, &text, NULL));
  REFUSED(pawl_workflow_graph(e, "in.side", 0, &text, NULL));
  REFUSED(pawl_workflow_hotfix(e, "nowhere.lua", NULL, &text, NULL));
  REFUSED(pawl_workflow_hotfix_text(e, "x", "y", NULL, &text, NULL));
  REFUSED(pawl_workflow_change(e, "{}", &text, NULL));
  REFUSED(pawl_workflow_transfer(e, "{}", &text, NULL));
  REFUSED(pawl_breakpoint_change(e, "{}", &text, NULL));
  REFUSED(pawl_breakpoint_list(e, NULL, &text, NULL));
  REFUSED(pawl_register(e, "more", lent, NULL, NULL, NULL));
  REFUSED(pawl_start(e, "in.side", NULL, NULL, id, &yes, NULL));
  REFUSED(pawl_start_many(e, "in.side", "[{}]", NULL, &text, NULL));
  REFUSED(pawl_transaction_begin(e, NULL));
  REFUSED(pawl_transaction_query(e, "select 1", NULL, &n, &text, NULL));
  REFUSED(pawl_transaction_sqlite(e, &db, NULL));
  REFUSED(pawl_transaction_commit(e, NULL));
  REFUSED(pawl_transaction_abort(e, NULL));
  REFUSED(pawl_signal(e, "{\"name\":\"x\"}", &n, &text, NULL));
  REFUSED(pawl_tick(e, 1000, &stats, NULL));
  REFUSED(pawl_tick_instance(e, own_id, 1000, &stats, &status, NULL));
  REFUSED(pawl_next_due(e, &n, NULL));
  REFUSED(pawl_busy(e, &yes, NULL));
  REFUSED(pawl_wait(e, 0, NULL));
  REFUSED(pawl_result(e, own_id, 0, &text, NULL));
  REFUSED(pawl_ask(e, own_id, "{}", &text, NULL));
  REFUSED(pawl_complete(e, "x", "{}", &text, NULL));
  REFUSED(pawl_published(e, own_id, &text, NULL));
  REFUSED(pawl_fd(e, &yes, NULL));
  REFUSED(pawl_save(e, NULL));
  REFUSED(pawl_find(e, own_id, id, NULL));
  REFUSED(pawl_get(e, own_id, &text, NULL));
  REFUSED(pawl_status(e, own_id, &status, NULL));
  REFUSED(pawl_list(e, NULL, &text, NULL));
  REFUSED(pawl_tally(e, NULL, &n, &yes, NULL));
  REFUSED(pawl_tally_groups(e, "{\"group_by\":\"error\"}", &text, NULL));
  REFUSED(pawl_history(e, own_id, NULL, &text, NULL));
  REFUSED(pawl_audit(e, NULL, &text, NULL));
  REFUSED(pawl_tokens(e, own_id, 1, &text, NULL));
  REFUSED(pawl_export(e, own_id, "{\"move\":true}", &text, NULL));
  REFUSED(pawl_import(e, "{}", NULL, &text, NULL));
  REFUSED(pawl_explain(e, own_id, &text, NULL));
  REFUSED(pawl_change(e, own_id, "{\"kind\":\"kill\"}", &yes, &text, NULL));
  REFUSED(
      pawl_bulk(e, "{}", "{\"kind\":\"kill\"}", progress, NULL, &text, NULL));
  REFUSED(pawl_task_find(e, own_id, id, NULL));
  REFUSED(pawl_task_get(e, own_id, &text, NULL));
  REFUSED(pawl_task_list(e, NULL, &text, NULL));
  REFUSED(pawl_task_tally(e, NULL, &n, &yes, NULL));
  REFUSED(pawl_task_change(e, own_id, "{\"kind\":\"claim\"}", &text, NULL));
  REFUSED(pawl_outbox_list(e, NULL, &text, NULL));
  REFUSED(pawl_outbox_relay(e, NULL, publish, NULL, &relayed, NULL));
  REFUSED(pawl_outbox_change(e, "{\"kind\":\"drop\"}", &text, NULL));
  CHECK(text == NULL);
}

/* What is legal anywhere. */
static void call_what_may_be(world *w) {
  pawl_engine *e = w->e, *other = NULL;
  pawl_counts counts;
  pawl_memory_use memory;
  pawl_cursor c = {0};
  pawl_game_clock game = {0};
  char *text = NULL, id[37], room[40];
  int64_t n;
  double d;
  int yes;

  CHECK(pawl_now(e) > 0);
  pawl_executor_id(e, id);
  CHECK_INT(strlen(id), 36);
  CHECK(pawl_is_new(e) >= 0);
  pawl_count(e, &counts);
  CHECK(counts.trips >= 0);
  pawl_memory(e, &memory);
  CHECK(memory.used > 0 && memory.store >= 0);
  pawl_sqlite_memory_used(&memory);
  CHECK_INT(pawl_sqlite_memory(NULL, NULL, 0, NULL), PAWL_MISUSE); /* late */
  CHECK_INT(pawl_format(e, &text, NULL, "{\"a\":[%d]}", 1), PAWL_OK);
  CHECK_INT(pawl_format_into(room, sizeof room, NULL, "%Q", "x"), PAWL_OK);
  CHECK(pawl_at(text, "a") != NULL);
  CHECK(pawl_value_type(text, "a") != NULL);
  CHECK_INT(pawl_text(text, "a", room, sizeof room, NULL, NULL), PAWL_INVALID);
  CHECK_INT(pawl_int(text, "a[0]", &n, NULL), PAWL_OK);
  CHECK_INT(pawl_num(text, "a[0]", &d, NULL), PAWL_OK);
  CHECK_INT(pawl_bool(text, "a", &yes, NULL), PAWL_INVALID);
  CHECK_INT(pawl_length(text, "a", &n, NULL), PAWL_OK);
  CHECK(pawl_each(text, "a", &c));
  pawl_free(e, text);
  pawl_free(e, w->spare); /* of another call */
  w->spare = NULL;
  CHECK_TEXT(pawl_code_name(PAWL_MISUSE), "misuse");
  CHECK_TEXT(pawl_version(), PAWL_VERSION);
  CHECK_INT(pawl_time_us("2026-01-01", &n, NULL), PAWL_OK);
  pawl_game_clock_set(&game, 5, 0);
  CHECK_INT(pawl_game_clock_now(&game), 5);
  CHECK_INT(pawl_game_clock_passed(&game), 0);
  CHECK(pawl_store_name("x", room, sizeof room) == room);
  /* another engine is another matter */
  if (w->times > 1) return;
  CHECK_INT(pawl_open(":memory:", NULL, &other, NULL), PAWL_OK);
  CHECK_INT(pawl_migrate(":memory:", NULL, 0, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_migrations(":memory:", NULL, 0, &text, NULL), PAWL_OK);
  pawl_free(NULL, text);
  CHECK_INT(pawl_doctor(":memory:", NULL, &text, NULL), PAWL_OK);
  pawl_free(NULL, text);
  CHECK_INT(pawl_tick(other, 0, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_close(other), PAWL_OK);
}

/* Not from what these calls call back themselves. */
static void call_all(world *w, place at) {
  if (w->armed != at || w->inside || w->times >= w->most) return;
  if (w->skipped++ < w->every) return;
  w->skipped = 0;
  w->inside = 1;
  w->times++;
  place_now = NAMES[at];
  call_what_is_refused(w->e, w->id);
  call_what_may_be(w);
  w->inside = 0;
}

static void on_log(void *ud, int level, const char *message,
                   const char *fields) {
  (void)level, (void)message, (void)fields;
  call_all(ud, LOG);
}

static void on_trace(void *ud, const pawl_trace *trace) {
  (void)trace;
  call_all(ud, TRACE);
}

static int64_t on_clock(void *ud) {
  world *w = ud;
  call_all(w, CLOCK);
  return zoo_now(&w->clock);
}

static void *on_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
  world *w = ud;
  call_all(w, ALLOC);
  return test_alloc_fn(&w->alloc, ptr, osize, nsize);
}

static pawl_code publish(void *ud, const pawl_emitted *emitted,
                         pawl_error *why) {
  (void)emitted, (void)why;
  call_all(ud, PUBLISH);
  return PAWL_OK;
}

static int progress(void *ud, const pawl_progress *so_far) {
  (void)so_far;
  call_all(ud, PROGRESS);
  return 0;
}

static pawl_code lent(void *ud, const pawl_wanted *wanted, char **out,
                      pawl_error *err) {
  world *w = ud;
  call_all(w, LENT);
  if (w->begun && !strcmp(wanted->workflow, "in.loop")) w->begun(w);
  return pawl_format(w->e, out, err, "%d", 7);
}

static void on_wake(void *ud) {
  call_all(ud, WAKE);
}

static int on_commit(void *ud, int is_done) {
  (void)is_done;
  call_all(ud, COMMIT);
  return 0;
}

static void on_destroy(void *ud) {
  call_all(ud, DESTROY);
}

static void opened_at(world *w, const char *url, int durability) {
  pawl_config c = PAWL_CONFIG_INIT;
  pawl_error err = {0};
  w->armed = NPLACES;
  w->clock.us = INT64_C(1800000000000000);
  c.alloc = on_alloc;
  c.clock = on_clock;
  c.log = on_log;
  c.trace = on_trace;
  c.wake = on_wake;
  c.commit = on_commit;
  c.commit_ud = w;
  c.durability = durability;
  c.lua = w->lua;
  c.alloc_ud = c.clock_ud = c.log_ud = c.trace_ud = c.wake_ud = w;
  if (!CHECK_INT(pawl_open(url, &c, &w->e, &err), PAWL_OK) ||
      !CHECK_INT(pawl_register(w->e, "f", lent, w, on_destroy, &err),
                 PAWL_OK) ||
      !CHECK_INT(pawl_load_text(w->e, "in", FLOW, NULL, &err), PAWL_OK) ||
      !CHECK_INT(pawl_load_text(w->e, "other", OTHER, NULL, &err), PAWL_OK) ||
      !CHECK_INT(pawl_start(w->e, "in.side", NULL, NULL, w->id, NULL, &err),
                 PAWL_OK) ||
      !CHECK_INT(pawl_list(w->e, NULL, &w->spare, &err), PAWL_OK)) {
    printf("  %s\n", err.message);
    exit(1);
  }
}

static void opened(world *w) {
  opened_at(w, ":memory:", PAWL_DURABLE_EVERY);
}

static void work(world *w) {
  pawl_error err = {0};
  const char *status = "";
  char other[37];
  CHECK_INT(pawl_start(w->e, "in.other", NULL, NULL, other, NULL, &err),
            PAWL_OK);
  CHECK_INT(pawl_tick(w->e, 1000000, NULL, &err), PAWL_OK);
  CHECK_INT(pawl_outbox_relay(w->e, NULL, publish, w, NULL, &err), PAWL_OK);
  CHECK_INT(pawl_bulk(w->e, "{\"workflow\":\"in.side\"}",
                      "{\"kind\":\"suspend\"}", progress, w, NULL, &err),
            PAWL_OK);
  CHECK_INT(pawl_status(w->e, w->id, &status, &err), PAWL_OK);
  CHECK_TEXT(status, "suspended"); /* nothing of all that was done */
}

static void from_inside(place at, int while_closing) {
  world w = {.most = at == ALLOC || at == CLOCK ? 60 : 3};
  opened(&w);
  if (!while_closing) w.armed = at;
  work(&w);
  if (while_closing) w.armed = at, w.times = 0;
  if (while_closing) w.most = 100000; /* to the last that is freed */
  if (while_closing && at == ALLOC) w.every = 12;
  CHECK_INT(pawl_close(w.e), PAWL_OK);
  w.armed = NPLACES;
  if (!while_closing || at == ALLOC || at == CLOCK || at == DESTROY)
    if (!CHECK(w.times > 0)) printf("  in %s\n", NAMES[at]);
  pawl_free(NULL, w.spare);
  CHECK_INT(w.alloc.live_bytes, 0);
}

/* ---- a connection that comes to its end ---- */

static char folder[] = "/tmp/pawl-inside.XXXXXX";

static const char *path_of(const char *name) {
  static char paths[2][80];
  static int at;
  at = !at;
  snprintf(paths[at], sizeof paths[at], "%s/%s", folder, name);
  return paths[at];
}

/* With its log. */
static void move(const char *from, const char *to) {
  char log[2][40];
  snprintf(log[0], sizeof log[0], "%s-wal", from);
  snprintf(log[1], sizeof log[1], "%s-wal", to);
  CHECK_INT(rename(path_of(from), path_of(to)), 0);
  CHECK_INT(rename(path_of(log[0]), path_of(log[1])), 0);
}

/* As its file is gone, or it has failed with a group, and when another takes
 * its place: whatever is freed then, or made. */
static void while_a_connection_goes(int durability) {
  world w = {.most = 100000};
  pawl_error err = {0};
  char *text = NULL;

  opened_at(&w, path_of("in.db"), durability);
  CHECK_INT(pawl_tick(w.e, 1000, NULL, &err), PAWL_OK);
  CHECK_INT(pawl_backup(w.e, path_of("copy.db"), NULL, NULL, &err), PAWL_OK);
  w.armed = ALLOC;
  move("in.db", "away.db");
  CHECK_INT(pawl_get(w.e, w.id, &text, &err), PAWL_NOTFOUND);
  move("away.db", "in.db");
  CHECK_INT(pawl_get(w.e, w.id, &text, &err), PAWL_OK);
  CHECK(w.times > 0);
  w.times = 0;
  CHECK_INT(pawl_restore(w.e, path_of("copy.db"), NULL, &err), PAWL_OK);
  CHECK(w.times > 0);
  w.armed = NPLACES;
  pawl_free(w.e, text);
  pawl_free(NULL, w.spare);
  CHECK_INT(pawl_close(w.e), PAWL_OK);
  CHECK_INT(w.alloc.live_bytes, 0);
  for (int i = 0; i < 5; i++) {
    static const char *const FILES[] = {"copy.db", "in.db", "in.db-wal",
                                        "in.db-shm", "in.db-pawl-lock"};
    unlink(path_of(FILES[i]));
  }
}

/* ---- pawl_interrupt ---- */

static const char LOOPS[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'in.loop', start = 'a' }\n"
    "local ways = {\n"
    "  function() while true do end end,\n"
    "  function() while true do pcall(function() while true do end end) end "
    "end,\n"
    "  function() while true do coroutine.wrap(function()\n"
    "    while true do pcall(error) end end)() end end,\n"
    "  function() local t = setmetatable({}, { __close = function()\n"
    "    while true do end end }) local x <close> = t error('x') end,\n"
    "  function() return xpcall(function() while true do end end,\n"
    "    function() while true do end end) end,\n"
    "  function() while true do ('x'):rep(1000):find('.-.-.-.-y') end end,\n"
    "}\n"
    "w:step('a', { next = 'z', run = function(ctx)\n"
    "  ctx.host.f(1)\n"
    "  if ctx.attempt == 1 then ways[ctx.input.way]() end end })\n"
    "w:finish('z')\n"
    "return w\n";

/* What it may use is no reason to stop it. */
static const char LIMITED[] =
    "{\"level\":\"limited\",\"instructions\":1000000000000,"
    "\"may\":{\"host\":\"*\"},\"time_us\":600000000}";

static long soon_us = 50 * 1000;

static void *interrupt_soon(void *e) {
  pawl_sleep_us(soon_us);
  pawl_interrupt(e);
  return NULL;
}

/* It is its engine's word that stops it, and none of these limits. */
static const char ISOLATED[] =
    "{\"level\":\"isolated\",\"time_us\":600000000,"
    "\"may\":{\"host\":\"*\"},\"instructions\":1000000000000000}";

static pawl_engine *volatile alarmed;

static void on_alarm(int sig) {
  (void)sig;
  pawl_interrupt(alarmed);
}

static void by_signal(world *w) {
  const struct itimerval soon = {.it_value = {.tv_usec = soon_us}};
  w->begun = NULL;
  alarmed = w->e;
  CHECK(signal(SIGALRM, on_alarm) != SIG_ERR);
  CHECK_INT(setitimer(ITIMER_REAL, &soon, NULL), 0);
}

static void by_thread(world *w) {
  w->begun = NULL;
  CHECK_INT(pthread_create(&w->thread, NULL, interrupt_soon, w->e), 0);
}

/* One tick of something that loops, with an interrupt in the midst of it: by
 * another thread, or by a signal that comes to this one. */
static void tick_interrupted(world *w, void (*by)(world *w)) {
  pawl_tick_stats stats = {0};
  pawl_error err = {0};
  w->begun = by;
  CHECK_INT(pawl_tick(w->e, INT64_C(60000000), &stats, &err), PAWL_OK);
  CHECK_INT(stats.next_due_us, 0);
  CHECK(!w->begun);
  if (by == by_thread && !w->begun) pthread_join(w->thread, NULL);
}

/* It has failed with that, and then it is well: nothing else was lost. */
static void a_handler_that_loops_is_stopped(const char *trust) {
  /* a long search is stopped where its pieces are counted */
  for (int way = 1; way <= (trust ? 6 : 5); way++) {
    world w = {0};
    pawl_error err = {0};
    char input[40], other[37], *text = NULL;
    const char *status = "";
    opened(&w);
    if (!CHECK_INT(pawl_load_as(w.e, "l", LOOPS, trust, NULL, &err), PAWL_OK))
      printf("  %s\n", err.message);
    snprintf(input, sizeof input, "{\"way\":%d}", way);
    CHECK_INT(pawl_start(w.e, "in.loop", input, NULL, other, NULL, &err),
              PAWL_OK);
    tick_interrupted(&w, way % 2 ? by_signal : by_thread);
    CHECK_INT(pawl_history(w.e, other, NULL, &text, &err), PAWL_OK);
    if (!CHECK(strstr(text, "\"code\":\"interrupted\"") != NULL))
      printf("  way %d: %s\n", way, text);
    pawl_free(w.e, text);
    for (int i = 0; i < 5; i++) {
      w.clock.us += 100 * 1000000;
      CHECK_INT(pawl_tick(w.e, 1000000, NULL, &err), PAWL_OK);
    }
    CHECK_INT(pawl_status(w.e, other, &status, &err), PAWL_OK);
    CHECK_TEXT(status, "completed");
    CHECK_INT(pawl_status(w.e, w.id, &status, &err), PAWL_OK);
    CHECK_TEXT(status, "waiting");
    pawl_free(NULL, w.spare);
    CHECK_INT(pawl_close(w.e), PAWL_OK);
    CHECK_INT(w.alloc.live_bytes, 0);
  }
}

/* What is the program's: its hook, and coroutines that handlers have left. */
static int nhooked;

static void on_line(lua_State *L, lua_Debug *ar) {
  (void)L;
  (void)ar;
  nhooked++;
}

static void run_lua(lua_State *L, const char *text) {
  if (!CHECK_INT(luaL_dostring(L, text), LUA_OK))
    printf("  %s\n", lua_tostring(L, -1));
  lua_settop(L, 0);
}

static const char LENT_LOOPS[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'in.loop', start = 'a' }\n"
    "local function loop() while true do end end\n"
    "local ways = {\n"
    "  loop,\n"
    "  function() while true do pcall(loop) end end,\n"
    "  function() while true do coroutine.wrap(function()\n"
    "    while true do pcall(error) end end)() end end,\n"
    "  function() return xpcall(loop, loop) end,\n"
    "  function() left = coroutine.wrap(function() while true do\n"
    "    for i = 1, 1e6 do end coroutine.yield(1) end end) left() loop() "
    "end,\n"
    "}\n"
    "w:step('a', { next = 'z', run = function(ctx)\n"
    "  hooked = debug.gethook() ~= nil ctx.host.f(1)\n"
    "  if ctx.attempt == 1 then ways[ctx.input.way]() end end })\n"
    "w:finish('z')\n"
    "return w\n";

/* Its state is as it was: without a hook, also of what a handler has left,
 * unless it was that which was stopped. */
static void check_unhooked(lua_State *L) {
  CHECK(lua_gethook(L) == NULL);
  run_lua(L,
          "assert(debug.gethook() == nil)\n"
          "if left then local ok, n = pcall(left) assert(not ok or n == 1)\n"
          "end\n"
          "for i = 1, 1e6 do end");
}

static void a_handler_in_the_programs_state_is_stopped(void) {
  for (int way = 1; way <= 5; way++) {
    world w = {.lua = luaL_newstate()};
    pawl_error err = {0};
    char input[40], id[37], *text = NULL;
    const char *status = "";
    luaL_openlibs(w.lua);
    opened(&w);
    CHECK_INT(pawl_load_text(w.e, "l", LENT_LOOPS, NULL, &err), PAWL_OK);
    snprintf(input, sizeof input, "{\"way\":%d}", way);
    CHECK_INT(pawl_start(w.e, "in.loop", input, NULL, id, NULL, &err),
              PAWL_OK);
    tick_interrupted(&w, way % 2 ? by_signal : by_thread);
    CHECK_INT(pawl_history(w.e, id, NULL, &text, &err), PAWL_OK);
    if (!CHECK(strstr(text, "\"code\":\"interrupted\"") != NULL))
      printf("  way %d: %s\n", way, text);
    pawl_free(w.e, text);
    check_unhooked(w.lua);
    for (int i = 0; i < 5; i++) {
      w.clock.us += 100 * 1000000;
      CHECK_INT(pawl_tick(w.e, 1000000, NULL, &err), PAWL_OK);
    }
    CHECK_INT(pawl_status(w.e, id, &status, &err), PAWL_OK);
    CHECK_TEXT(status, "completed");
    check_unhooked(w.lua);
    pawl_free(NULL, w.spare);
    CHECK_INT(pawl_close(w.e), PAWL_OK);
    check_unhooked(w.lua);
    lua_close(w.lua);
  }
}

/* A hook of the program's stays, as it is, whatever a handler does. */
static void the_programs_own_hook_stays(void) {
  world w = {.lua = luaL_newstate()};
  pawl_error err = {0};
  const char *status = "";
  luaL_openlibs(w.lua);
  lua_sethook(w.lua, on_line, LUA_MASKLINE, 0);
  opened(&w);
  nhooked = 0;
  CHECK_INT(pawl_tick(w.e, 1000000, NULL, &err), PAWL_OK);
  CHECK_INT(pawl_status(w.e, w.id, &status, &err), PAWL_OK);
  CHECK_TEXT(status, "waiting");
  CHECK(nhooked > 0); /* handlers' lines, too */
  CHECK(lua_gethook(w.lua) == on_line);
  CHECK_INT(lua_gethookmask(w.lua), LUA_MASKLINE);
  pawl_free(NULL, w.spare);
  CHECK_INT(pawl_close(w.e), PAWL_OK);
  lua_close(w.lua);
}

/* It was for what ran before, or runs next; what is loaded meanwhile is, also
 * a limited one, which is under a limit then as well. */
static void a_load_is_not_interrupted(void) {
  world w = {0};
  pawl_error err = {0};
  opened(&w);
  pawl_interrupt(w.e);
  CHECK_INT(pawl_load_as(w.e, "l", LOOPS, LIMITED, NULL, &err), PAWL_OK);
  CHECK_INT(pawl_load_as(w.e, "i", OTHER, NULL, NULL, &err), PAWL_OK);
  CHECK_INT(pawl_load_as(w.e, "s", LOOPS, ISOLATED, NULL, &err), PAWL_OK);
  pawl_free(NULL, w.spare);
  CHECK_INT(pawl_close(w.e), PAWL_OK);
}

/* Top levels that do not end, whatever they catch. */
static const char *const ENDLESS[] = {
    "while true do end",
    "while true do pcall(function() while true do end end) end",
    "xpcall(function() while true do end end,"
    " function() while true do end end)",
    "local co = coroutine.wrap(function() while true do end end)\nco()",
    "local w <close> = setmetatable({}, { __close = function()\n"
    "while true do end end })\nwhile true do end"};

/* Where others had the processor the interrupt may have come before it began,
 * and was for nothing then: it is given more time, and tried again. */
static pawl_code load_endless(world *w, int way, const char *trust,
                              int64_t *began, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  for (int tries = 0; tries < 3 && rc != PAWL_INTERRUPTED; tries++) {
    *began = pawl_clock_mono();
    soon_us = tries ? 800 * 1000 : 50 * 1000;
    if (way % 2)
      by_signal(w);
    else
      CHECK_INT(pthread_create(&w->thread, NULL, interrupt_soon, w->e), 0);
    rc = pawl_load_as(w->e, "endless", ENDLESS[way / 2], trust, NULL, err);
    if (way % 2 == 0) pthread_join(w->thread, NULL);
  }
  soon_us = 50 * 1000;
  return rc;
}

/* It is as if nothing had been loaded, and nobody is interrupted behind it. */
static void a_load_that_loops_is_stopped(const char *trust) {
  static const char LATE[] =
      "local w = require 'pawl'.workflow { code = 'in.late', start = 'z' }\n"
      "w:finish('z')\nreturn w\n";
  const int n = (int)(sizeof ENDLESS / sizeof *ENDLESS);

  for (int way = 0; way < 2 * n; way++) {
    world w = {0};
    pawl_error err = {0};
    pawl_tick_stats stats;
    int64_t began;
    opened(&w);
    CHECK_INT(load_endless(&w, way, trust, &began, &err), PAWL_INTERRUPTED);
    CHECK(strstr(err.message, "was not loaded to its end") != NULL);
    CHECK(pawl_clock_mono() - began < INT64_C(5000000));
    CHECK_INT(pawl_tick(w.e, 60000000, &stats, &err), PAWL_OK);
    CHECK_INT(stats.steps, 1);
    CHECK_INT(pawl_load_as(w.e, "i", LATE, trust, NULL, &err), PAWL_OK);
    pawl_free(NULL, w.spare);
    CHECK_INT(pawl_close(w.e), PAWL_OK);
    CHECK_INT(w.alloc.live_bytes, 0);
  }
}

/* It ends its tick, and fails nobody; the next tick loads it. */
static void a_stored_load_is_stopped(void) {
  static const char SET[] =
      "slow = %s\n"
      "local w = require 'pawl'.workflow { code = 'in.set', start = 'z',\n"
      "version = %d }\nw:finish('z')\nreturn w\n";
  static const char STORED[] =
      "while slow do end\n"
      "local w = require 'pawl'.workflow { code = 'in.stored', start = 'z' }\n"
      "w:finish('z')\nreturn w\n";
  world first = {0}, w = {0};
  pawl_error err = {0};
  pawl_tick_stats stats;
  const char *status = "";
  char text[200], id[37];

  opened_at(&first, path_of("stored.db"), PAWL_DURABLE_EVERY);
  CHECK_INT(pawl_load_text(first.e, "s", STORED, NULL, &err), PAWL_OK);
  CHECK_INT(pawl_start(first.e, "in.stored", NULL, NULL, id, NULL, &err),
            PAWL_OK);
  pawl_free(NULL, first.spare);
  CHECK_INT(pawl_close(first.e), PAWL_OK);
  opened_at(&w, path_of("stored.db"), PAWL_DURABLE_EVERY);
  snprintf(text, sizeof text, SET, "true", 1);
  CHECK_INT(pawl_load_text(w.e, "set", text, NULL, &err), PAWL_OK);
  for (int i = 0; i < 3; i++) {
    by_signal(&w);
    CHECK_INT(pawl_tick(w.e, 60000000, &stats, &err), PAWL_OK);
    CHECK_INT(stats.next_due_us, 0);
    CHECK_INT(pawl_status(w.e, id, &status, &err), PAWL_OK);
    CHECK_TEXT(status, "created");
  }
  snprintf(text, sizeof text, SET, "false", 2);
  CHECK_INT(pawl_load_text(w.e, "set", text, NULL, &err), PAWL_OK);
  for (int i = 0; i < 3; i++)
    CHECK_INT(pawl_tick(w.e, 60000000, &stats, &err), PAWL_OK);
  CHECK_INT(pawl_status(w.e, id, &status, &err), PAWL_OK);
  CHECK_TEXT(status, "completed");
  pawl_free(NULL, w.spare);
  CHECK_INT(pawl_close(w.e), PAWL_OK);
}

/* The next tick ends at once, and says that it is to be called again. */
static void nothing_that_is_due_is_forgotten(void) {
  for (int waits = 0; waits < 2; waits++) {
    world w = {0};
    pawl_error err = {0};
    pawl_tick_stats stats = {0};
    int64_t due = -1;
    opened(&w);
    pawl_interrupt(w.e);
    if (waits) {
      CHECK_INT(pawl_wait(w.e, INT64_C(60000000), &err), PAWL_OK);
    } else {
      CHECK_INT(pawl_tick(w.e, 60000000, &stats, &err), PAWL_OK);
      CHECK_INT(stats.steps, 0);
      CHECK_INT(stats.next_due_us, 0);
    }
    CHECK_INT(pawl_next_due(w.e, &due, &err), PAWL_OK);
    CHECK_INT(due, 0);
    CHECK_INT(pawl_tick(w.e, 60000000, &stats, &err), PAWL_OK);
    CHECK_INT(stats.steps, 1);
    CHECK(stats.next_due_us != 0);
    pawl_interrupt(w.e);
    CHECK_INT(pawl_tick(w.e, 60000000, &stats, &err), PAWL_OK);
    CHECK_INT(stats.next_due_us, 0);
    pawl_free(NULL, w.spare);
    CHECK_INT(pawl_close(w.e), PAWL_OK);
  }
}

int main(void) {
  for (place at = 0; at < NPLACES; at++) {
    if (at != DESTROY) from_inside(at, 0);
    from_inside(at, 1);
  }
  if (CHECK(mkdtemp(folder) != NULL)) {
    for (int d = PAWL_DURABLE_EVERY; d <= PAWL_DURABLE_SAVE; d++)
      while_a_connection_goes(d);
    a_stored_load_is_stopped();
    unlink(path_of("stored.db"));
    unlink(path_of("stored.db-pawl-lock"));
    rmdir(folder);
  }
  a_handler_that_loops_is_stopped(NULL);
  a_handler_that_loops_is_stopped(LIMITED);
  a_handler_in_the_programs_state_is_stopped();
  the_programs_own_hook_stays();
  a_load_is_not_interrupted();
  a_load_that_loops_is_stopped(NULL);
  a_load_that_loops_is_stopped(LIMITED);
  a_load_that_loops_is_stopped(ISOLATED);
  a_handler_that_loops_is_stopped(ISOLATED);
  nothing_that_is_due_is_forgotten();
  return TEST_END;
}
