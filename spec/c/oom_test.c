/* Memory that is refused. One life of an engine is lived again and again, each
 * time with another allocation refused: that one alone, or all from there on.
 * Every call then says PAWL_NOMEM or succeeds; nothing leaks; and once there
 * is memory, the same calls bring the instance to its end, everything done
 * once.
 *
 * On PostgreSQL, where a life takes longer, fewer are tried.
 *
 * PAWL_OOM=N: every allocation from the N-th on, or N-M: up to the M-th; else
 * PAWL_SAMPLES of them, spread evenly. */
#define _XOPEN_SOURCE 700 /* mkdtemp */

#include <unistd.h>

#include "pgbase.h"
#include "test.h"
#include "zoo.h"

enum { SAMPLES = 40, PG_SAMPLES = 12 };

typedef struct life {
  test_alloc alloc;
  zoo_clock clock;
  pawl_engine *e;
  char id[37];
  int is_well; /* there is memory: nothing may fail any more */
  int ndone;   /* so often was it told that step q is done */
  const char *url, *file;
} life;

static void told(const life *l, const char *call, pawl_code rc,
                 const pawl_error *err) {
  if (rc == PAWL_OK || (rc == PAWL_NOMEM && !l->is_well)) {
    test_passed++;
    return;
  }
  test_failed++;
  printf("%s, allocation %lld%s%s: %s: %s %s\n", l->url,
         (long long)l->alloc.fail_at, l->alloc.for_ever ? " and after" : "",
         l->is_well ? ", memory is back" : "", call, pawl_code_name(rc),
         err->message);
}

/* What was accepted before its answer could be made is not done again. */
#define ASK(l, call, otherwise)                \
  do {                                         \
    pawl_error err = {0};                      \
    pawl_code got = (call);                    \
    if (got == (otherwise)) got = PAWL_OK;     \
    told((l), #call, got, &err);               \
    if (got == PAWL_OK) pawl_free(NULL, text); \
    text = NULL;                               \
  } while (0)

static void on_trace(void *ud, const pawl_trace *trace) {
  life *l = ud;
  l->ndone += trace->outcome && !strcmp(trace->outcome, "done") &&
              !strcmp(trace->node, "q");
}

/* 0: it could not be begun. */
static int begin(life *l) {
  pawl_config config = PAWL_CONFIG_INIT;
  pawl_error own = {0};
  pawl_code rc;
  static const char OPTIONS[] =
      "{\"key\":\"k\",\"attributes\":{\"x\":{\"type\":\"string\",\"value\":"
      "\"v\"}}}";
  char *text = NULL;
  if (!l->e) {
    config.alloc = test_alloc_fn;
    config.alloc_ud = &l->alloc;
    config.clock = zoo_now;
    config.clock_ud = &l->clock;
    config.trace = on_trace;
    config.trace_ud = l;
    ASK(l, pawl_open(l->url, &config, &l->e, &err), PAWL_OK);
  }
  if (!l->e) return 0;
  rc = pawl_load(l->e, l->file, &text, &own);
  told(l, "pawl_load", rc, &own);
  if (rc != PAWL_OK) return 0; /* what nobody knows would fail */
  pawl_free(l->e, text);
  text = NULL;
  ASK(l,
      pawl_start(l->e, "zoo.a", "{\"a\":[1,2,3]}", OPTIONS, l->id, NULL, &err),
      PAWL_OK);
  return l->id[0] != 0;
}

static void ticks(life *l, int n) {
  char *text = NULL;
  while (n-- > 0) {
    ASK(l, pawl_tick(l->e, 100000, NULL, &err), PAWL_OK);
    l->clock.us += 2000000;
  }
}

static void complete(life *l) {
  static const char QUERY[] = "{\"status\":\"pending\"}",
                    DONE[] =
                        "{\"kind\":\"complete\",\"by\":\"ann\",\"roles\":"
                        "[\"manager\"],\"output\":\"approved\"}";
  char *text = NULL, id[37] = "";
  pawl_error own = {0};
  pawl_code rc = pawl_task_list(l->e, QUERY, &text, &own);
  const char *at = rc == PAWL_OK ? strstr(text, "\"id\":\"") : NULL;
  if (at) snprintf(id, sizeof id, "%.36s", at + 6);
  told(l, "pawl_task_list", rc, &own);
  if (rc == PAWL_OK) pawl_free(l->e, text);
  text = NULL;
  if (!id[0]) return;
  ASK(l, pawl_task_change(l->e, id, DONE, &text, &err), PAWL_ALREADY_FINISHED);
}

static void look(life *l) {
  char *text = NULL;
  if (l->id[0]) {
    ASK(l, pawl_get(l->e, l->id, &text, &err), PAWL_OK);
    ASK(l, pawl_explain(l->e, l->id, &text, &err), PAWL_OK);
    ASK(l, pawl_history(l->e, l->id, NULL, &text, &err), PAWL_OK);
    ASK(l, pawl_tokens(l->e, l->id, 1, &text, &err), PAWL_OK);
  }
  ASK(l,
      pawl_list(l->e, "{\"status\":[\"running\",\"waiting\"]}", &text, &err),
      PAWL_OK);
  ASK(l,
      pawl_list(l->e,
                "{\"business_key\":\"b*\",\"error\":\"e*\",\"attributes\":"
                "{\"x\":[\">\",1,\"<\",2.5],\"y\":\"z\"}}",
                &text, &err),
      PAWL_OK);
  ASK(l,
      pawl_list(l->e, "{\"attributes\":{\"x\":[\"in\",1,true,\"z\"]}}", &text,
                &err),
      PAWL_OK);
  ASK(l, pawl_outbox_list(l->e, NULL, &text, &err), PAWL_OK);
  ASK(l, pawl_executor_list(l->e, NULL, &text, &err), PAWL_OK);
  ASK(l, pawl_stats(l->e, NULL, &text, &err), PAWL_OK);
  ASK(l, pawl_problems(l->e, NULL, &text, &err), PAWL_OK);
  ASK(l, pawl_workflow_list(l->e, "{\"live\":true}", &text, &err), PAWL_OK);
}

/* Nobody accepts it: it stays in the outbox. */
static pawl_code refuse(void *ud, const pawl_emitted *emitted,
                        pawl_error *why) {
  (void)ud;
  (void)emitted;
  snprintf(why->message, sizeof why->message, "no\xff");
  return PAWL_TIMEOUT;
}

static void relay(life *l) {
  char *text = NULL;
  ASK(l,
      pawl_outbox_relay(l->e, "{\"source\":\"x:\"}", refuse, NULL, NULL, &err),
      PAWL_OK);
  ASK(l, pawl_outbox_change(l->e, "{\"kind\":\"retry\"}", &text, &err),
      PAWL_OK);
  ASK(l, pawl_outbox_list(l->e, "{\"dead\":true}", &text, &err), PAWL_OK);
}

static void live(life *l) {
  static const char PAID[] =
      "{\"name\":\"pay.card\",\"key\":\"k1\",\"id\":\"once\",\"data\":"
      "{\"amount\":5}}";
  int64_t due;
  char *text = NULL;
  if (!begin(l)) return;
  ticks(l, 6);
  look(l);
  ASK(l, pawl_signal(l->e, PAID, NULL, &text, &err), PAWL_OK);
  if (l->id[0])
    ASK(l,
        pawl_change(l->e, l->id,
                    "{\"kind\":\"edit\",\"set\":{\"edited\":true},\"by\":"
                    "\"x\"}",
                    NULL, &text, &err),
        PAWL_ALREADY_FINISHED);
  ticks(l, 3);
  complete(l);
  relay(l);
  ASK(l, pawl_next_due(l->e, &due, &err), PAWL_OK);
  l->clock.us += INT64_C(3700) * 1000000;
  ticks(l, 4);
}

/* How often `what` is in the text. */
static int count(const char *text, const char *what) {
  int n = 0;
  for (; (text = strstr(text, what)) != NULL; text++) n++;
  return n;
}

static void check_count(const life *l, const char *text, const char *what,
                        int want) {
  if (!CHECK_INT(count(text, what), want))
    printf("  %s, allocation %lld%s: %s\n", l->url,
           (long long)l->alloc.fail_at, l->alloc.for_ever ? " and after" : "",
           text);
}

/* It has ended, and everything happened once. */
static void check_whole(life *l) {
  char *text = NULL;
  pawl_error err = {0};
  if (!CHECK(l->id[0])) return;
  if (!CHECK_INT(pawl_get(l->e, l->id, &text, &err), PAWL_OK)) return;
  check_count(l, text, "\"status\":\"completed\"", 1);
  pawl_free(l->e, text);
  if (!CHECK_INT(pawl_outbox_list(l->e, NULL, &text, &err), PAWL_OK)) return;
  check_count(l, text, "\"type\":\"made\"", 1);
  pawl_free(l->e, text);
  if (!CHECK_INT(pawl_history(l->e, l->id, NULL, &text, &err), PAWL_OK))
    return;
  check_count(l, text, "\"type\":\"step\"", 6);
  pawl_free(l->e, text);
  if (!CHECK_INT(pawl_list(l->e, NULL, &text, &err), PAWL_OK)) return;
  check_count(l, text, "\"workflow\":", 1);
  pawl_free(l->e, text);
}

static void wipe(const char *url) {
  static const char *const ENDS[] = {"", "-wal", "-shm", "-pawl-lock"};
  char path[300];
  if (url == pgbase_url) {
    pgbase_clear("oom");
    return;
  }
  for (int i = 0; i < 4; i++) {
    snprintf(path, sizeof path, "%s%s", url, ENDS[i]);
    unlink(path);
  }
}

static int samples_of(const char *url) {
  const char *few = getenv("PAWL_SAMPLES");
  if (few) return atoi(few);
  return url == pgbase_url ? PG_SAMPLES : SAMPLES;
}

/* One life; returns how many allocations it had. */
static int64_t run(const char *url, const char *file, int64_t fail_at,
                   int for_ever) {
  life l = {.url = url, .file = file, .clock = {INT64_C(1800000000000000)}};
  int64_t n;
  wipe(url);
  l.alloc.fail_at = fail_at;
  l.alloc.for_ever = for_ever;
  l.is_well = fail_at == 0;
  live(&l);
  n = l.alloc.requests;
  l.alloc.fail_at = INT64_MAX;
  l.is_well = 1;
  for (int i = 0; i < 3; i++) live(&l);
  l.alloc.requests = INT64_MIN / 2; /* what follows is for messages alone */
  l.alloc.fail_at = fail_at;
  if (l.e) check_whole(&l);
  pawl_close(l.e);
  if (!CHECK_INT(l.alloc.live_bytes, 0))
    printf("%s: allocation %lld%s leaks\n", url, (long long)fail_at,
           for_ever ? " and after" : "");
  return n;
}

static void every_allocation_may_be_refused(const char *url,
                                            const char *file) {
  const char *all = getenv("PAWL_OOM");
  int64_t n = run(url, file, 0, 0);
  const char *upto = all ? strchr(all, '-') : NULL;
  int64_t step = all ? 1 : n / samples_of(url) + 1;
  int64_t last = upto && atoll(upto + 1) < n ? atoll(upto + 1) : n;

  for (int for_ever = 0; for_ever < 2; for_ever++)
    for (int64_t at = all ? atoll(all) : 1 + (int64_t)for_ever * step / 2;
         at <= last; at += step)
      run(url, file, at, for_ever);
  if (all) printf("%s: %lld allocations\n", url, (long long)n);
}

/* ---- a part of a life ---- */

/* One that is well until requests of a part of it are refused. */
static life new_life(const char *url, const char *file) {
  return (life){.url = url,
                .file = file,
                .is_well = 1,
                .clock = {INT64_C(1800000000000000)}};
}

static void refuse_at(life *l, int64_t fail_at, int for_ever) {
  l->alloc.requests = 0;
  l->alloc.fail_at = fail_at;
  l->alloc.for_ever = for_ever;
  l->is_well = 0;
}

/* How many requests there were. */
static int64_t refuse_no_more(life *l) {
  const int64_t n = l->alloc.requests;
  l->alloc.fail_at = 0;
  return n;
}

/* A life with that part; returns how many allocations the part had. */
typedef int64_t part_fn(const char *url, const char *file, const void *what,
                        int64_t fail_at, int for_ever);

/* Each request of it, or `samples` of them: alone, and with all behind it. */
static void refuse_each(part_fn *part, const char *url, const char *file,
                        const void *what, int samples) {
  const int64_t n = part(url, file, what, 0, 0);
  const int64_t step = samples ? n / samples + 1 : 1;

  for (int64_t at = 1; at <= n; at += step)
    for (int for_ever = 0; for_ever < 2; for_ever++)
      part(url, file, what, at, for_ever);
}

/* ---- the tick of one transactional step, and that of a join ---- */

/* What is decided in its transaction is stored by that, not by a batch. A join
 * is decided until nothing follows from it any more: without an end, if nobody
 * looks whether its own memory was refused. */
static const char SQL[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'zoo.a', version = 1, start = 'f' }\n"
    "w:fork('f', { next = { 'q', 't' } })\n"
    "w:step('q', { transactional = true, next = 'j',\n"
    "  run = function(ctx)\n"
    "    ctx.vars.q = ctx.db:query('select 1 as one')\n"
    "    ctx.emit('made', { n = 1 }) end })\n"
    "w:timer('t', { after = '1h', next = 'j' })\n"
    "w:join('j', { expect = 'all', next = 'z' })\n"
    "w:finish('z', { output = function(ctx) return ctx.vars end })\n"
    "return w\n";

/* `joins`: of the tick in which the join fires, else of the first. Returns how
 * many allocations it had. */
static int64_t run_sql(const char *url, const char *file, const void *what,
                       int64_t fail_at, int for_ever) {
  const int joins = *(const int *)what;
  life l = new_life(url, file);
  char *text = NULL;
  int64_t n;
  wipe(url);
  if (!CHECK(begin(&l))) return 0;
  if (joins) ticks(&l, 2), l.clock.us += 3600 * 1000000LL;
  refuse_at(&l, fail_at, for_ever);
  ticks(&l, 1);
  n = refuse_no_more(&l);
  l.is_well = 1;
  for (int i = 0; i < 4; i++) ticks(&l, 2), l.clock.us += 3600 * 1000000LL;
  l.alloc.requests = INT64_MIN / 2; /* what follows is for messages alone */
  l.alloc.fail_at = fail_at;
  if (CHECK_INT(pawl_get(l.e, l.id, &text, NULL), PAWL_OK)) {
    check_count(&l, text, "\"status\":\"completed\"", 1);
    check_count(&l, text, "\"output\":{\"q\":[{\"one\":1}]}", 1);
    pawl_free(l.e, text);
  }
  if (CHECK_INT(pawl_history(l.e, l.id, NULL, &text, NULL), PAWL_OK)) {
    check_count(&l, text, "\"type\":\"step\"", 1);
    check_count(&l, text, "\"type\":\"timer\"", 1);
    pawl_free(l.e, text);
  }
  CHECK(l.ndone <= 1); /* what was lost was not told, or not as done */
  pawl_close(l.e);
  CHECK_INT(l.alloc.live_bytes, 0);
  return n;
}

static void a_tick_may_be_refused(const char *url, const char *file,
                                  int joins) {
  const int all = url != pgbase_url && !getenv("PAWL_SAMPLES");
  refuse_each(run_sql, url, file, &joins, all ? 0 : samples_of(url));
}

/* ---- a change, while the handler of another waits ---- */

static const char HELD[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'zoo.a', version = 1, start = 's' }\n"
    "w:step('s', { next = 't', run = function(ctx)\n"
    "  if ctx.input.a then ctx.await(7200) end end })\n"
    "w:timer('t', { after = '1h', next = 'z' })\n"
    "w:finish('z')\n"
    "return w\n";

typedef struct asked {
  const char *change, *status;
} asked;

static const asked CHANGES[] = {{"{\"kind\":\"cancel\"}", "cancelled"},
                                {"{\"kind\":\"suspend\"}", "suspended"},
                                {"{\"kind\":\"kill\"}", "cancelled"}};
enum { NCHANGES = sizeof CHANGES / sizeof *CHANGES };

/* One that is held, and one that nobody has looked at yet. */
static int begin_held(life *l) {
  pawl_error err = {0};
  pawl_tick_stats stats = {0};

  if (!begin(l)) return 0;
  told(l, "pawl_tick", pawl_tick(l->e, 1, &stats, &err), &err);
  told(l, "pawl_start",
       pawl_start(l->e, "zoo.a", "{}", NULL, l->id, NULL, &err), &err);
  return CHECK_INT(stats.held, 1);
}

/* The slot for it is one of the requests, and is refused while another is
 * held. Returns how many there were. */
static int64_t run_change(const char *url, const char *file, const void *what,
                          int64_t fail_at, int for_ever) {
  const asked *a = what;
  life l = new_life(url, file);
  char *text = NULL;
  int64_t n;

  wipe(url);
  if (!CHECK(begin_held(&l))) return 0;
  refuse_at(&l, fail_at, for_ever);
  ASK(&l, pawl_change(l.e, l.id, a->change, NULL, &text, &err), PAWL_OK);
  n = refuse_no_more(&l);
  for (int again = 0; again < 2; again++) { /* it may be met by now */
    const pawl_code rc = pawl_change(l.e, l.id, a->change, NULL, NULL, NULL);
    CHECK(rc == PAWL_OK || rc == PAWL_ALREADY_FINISHED || rc == PAWL_CONFLICT);
    l.is_well = 1;
    ticks(&l, 2);
  }
  if (CHECK_INT(pawl_get(l.e, l.id, &text, NULL), PAWL_OK)) {
    check_count(&l, text, "\"status\":\"", 1);
    CHECK(strstr(text, a->status) != NULL);
    pawl_free(l.e, text);
  }
  pawl_close(l.e);
  CHECK_INT(l.alloc.live_bytes, 0);
  return n;
}

static void a_change_may_be_refused(const char *url, const char *file) {
  for (int i = 0; i < NCHANGES; i++)
    refuse_each(run_change, url, file, &CHANGES[i],
                url == pgbase_url ? samples_of(url) : 0);
}

/* ---- what is done with one that has ended ---- */

static const char ENDS[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'zoo.a', version = 1, start = 's' }\n"
    "w:step('s', { next = 'z', run = function(ctx)\n"
    "  ctx.vars.n = #ctx.input.a end })\n"
    "w:finish('z')\n"
    "return w\n";

/* `before` it is done what this one takes back. */
typedef struct removal {
  const char *before, *kind;
} removal;

static const removal REMOVALS[] = {
    {NULL, "purge"},        {NULL, "delete"},     {NULL, "archive"},
    {NULL, "move"},         {NULL, "restart"},    {"delete", "purge"},
    {"delete", "undelete"}, {"archive", "purge"}, {"archive", "unarchive"},
    {"move", "reclaim"}};
enum { NREMOVALS = sizeof REMOVALS / sizeof *REMOVALS, FEW_REMOVALS = 4 };

static pawl_code remove_by(life *l, const char *kind, pawl_error *err) {
  char change[128], *lines = NULL;

  if (!strcmp(kind, "move")) {
    const pawl_code rc =
        pawl_export(l->e, l->id, "{\"move\":true}", &lines, err);
    if (rc == PAWL_OK) pawl_free(l->e, lines);
    return rc;
  }
  snprintf(change, sizeof change,
           "{\"kind\":\"%s\",\"by\":\"ann\",\"reason\":\"r\"%s}", kind,
           strcmp(kind, "restart") ? "" : ",\"from\":\"s\"");
  return pawl_change(l->e, l->id, change, NULL, NULL, err);
}

/* It is not said to be held by somebody. Returns how many allocations it had.
 */
static int64_t run_removal(const char *url, const char *file, const void *what,
                           int64_t fail_at, int for_ever) {
  const removal *r = what;
  life l = new_life(url, file);
  char *text = NULL;
  int64_t n;

  wipe(url);
  if (!CHECK(begin(&l))) return 0;
  ticks(&l, 2);
  if (r->before) ASK(&l, remove_by(&l, r->before, &err), PAWL_OK);
  refuse_at(&l, fail_at, for_ever);
  ASK(&l, remove_by(&l, r->kind, &err), PAWL_OK);
  n = refuse_no_more(&l);
  l.is_well = 1;
  const pawl_code rc =
      remove_by(&l, r->kind, NULL); /* it may be done by now */
  CHECK(rc == PAWL_OK || rc == PAWL_NOTFOUND || rc == PAWL_CONFLICT ||
        rc == PAWL_ALREADY_FINISHED);
  ticks(&l, 1);
  pawl_close(l.e);
  CHECK_INT(l.alloc.live_bytes, 0);
  return n;
}

/* On PostgreSQL, where a life takes longer, few of the first. */
static void a_removal_may_be_refused(const char *url, const char *file) {
  const int few = url == pgbase_url;

  for (int i = 0; i < (few ? FEW_REMOVALS : NREMOVALS); i++)
    refuse_each(run_removal, url, file, &REMOVALS[i], few ? FEW_REMOVALS : 0);
}

static int write_file(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  return f && fputs(text, f) >= 0 && !fclose(f);
}

int main(void) {
  char folder[] = "/tmp/pawl-oom.XXXXXX", file[64], url[64];
  if (!mkdtemp(folder)) return 1;
  snprintf(file, sizeof file, "%s/zoo.lua", folder);
  snprintf(url, sizeof url, "%s/oom.db", folder);
  if (!write_file(file, ZOO)) return 1;
  every_allocation_may_be_refused(":memory:", file);
  every_allocation_may_be_refused(url, file);
  if (pgbase_make("oom")) every_allocation_may_be_refused(pgbase_url, file);
  if (!write_file(file, SQL)) return 1;
  for (int joins = 0; joins < 2; joins++)
    a_tick_may_be_refused(":memory:", file, joins);
  if (pgbase_url[0]) {
    for (int joins = 0; joins < 2; joins++)
      a_tick_may_be_refused(pgbase_url, file, joins);
  }
  if (!write_file(file, HELD)) return 1;
  a_change_may_be_refused(":memory:", file);
  if (pgbase_url[0]) a_change_may_be_refused(pgbase_url, file);
  if (!write_file(file, ENDS)) return 1;
  a_removal_may_be_refused(":memory:", file);
  if (pgbase_url[0]) {
    a_removal_may_be_refused(pgbase_url, file);
    pgbase_drop("oom");
  }
  wipe(url);
  unlink(file);
  rmdir(folder);
  return TEST_END;
}
