/* pawl.h with an allocator of the caller's, with numbers at the ends of their
 * ranges, with nothing where something is needed, and beside a store that does
 * not answer. From where it is not meant to be called: inside_test.c. */
#include "../../src/base/fault.h"
#include "test.h"
#include "zoo.h"

typedef struct world {
  zoo_clock clock;
  test_alloc alloc;
  pawl_engine *e;
  char id[37];
} world;

static pawl_engine *opened(world *w, pawl_config *c) {
  pawl_error err = {0};
  w->clock.us = INT64_C(1800000000000000);
  c->alloc = test_alloc_fn;
  c->alloc_ud = &w->alloc;
  if (!c->clock) {
    c->clock = zoo_now;
    c->clock_ud = &w->clock;
  }
  if (!CHECK_INT(pawl_open(":memory:", c, &w->e, &err), PAWL_OK) ||
      !CHECK_INT(pawl_load_text(w->e, "zoo", ZOO, NULL, &err), PAWL_OK)) {
    printf("  %s\n", err.message);
    exit(1);
  }
  return w->e;
}

static void started(world *w) {
  pawl_error err = {0};
  if (!CHECK_INT(pawl_start(w->e, "zoo.a", NULL, NULL, w->id, NULL, &err),
                 PAWL_OK))
    printf("  %s\n", err.message);
}

static pawl_code accept_all(void *ud, const pawl_emitted *emitted,
                            pawl_error *why) {
  (void)ud;
  (void)why;
  return emitted->event ? PAWL_OK : PAWL_INTERNAL;
}

/* ---- memory ---- */

static void text_knows_its_allocator(void) {
  world w = {0};
  pawl_config c = PAWL_CONFIG_INIT;
  char *text, *report;
  pawl_error err = {0};
  opened(&w, &c);
  CHECK_INT(pawl_list(w.e, NULL, &text, &err), PAWL_OK);
  CHECK_TEXT(text, "[]");
  CHECK_INT(pawl_migrate(":memory:", &c, 0, &report, &err), PAWL_OK);
  CHECK(strstr(report, "\"shards\":1") != NULL);
  pawl_close(w.e);
  pawl_free(NULL, text);
  pawl_free(NULL, report);
  pawl_free(NULL, NULL);
  CHECK_INT(w.alloc.live_bytes, 0);
}

/* ---- times ---- */

static pawl_code change(world *w, const char *text, pawl_error *err) {
  char *out = NULL;
  pawl_code rc = pawl_change(w->e, w->id, text, NULL, &out, err);
  pawl_free(w->e, out);
  return rc;
}

static int64_t next_due(world *w) {
  pawl_tick_stats stats = {0};
  pawl_error err = {0};
  CHECK_INT(pawl_tick(w->e, 100000, &stats, &err), PAWL_OK);
  CHECK_INT(stats.lost, 0);
  w->clock.us += 2000000;
  return stats.next_due_us;
}

static void is_healthy(world *w) {
  char *text;
  pawl_error err = {0};
  if (!CHECK_INT(pawl_get(w->e, w->id, &text, &err), PAWL_OK)) return;
  if (!CHECK(strstr(text, "\"status\":\"failed\"") == NULL))
    printf("  %s\n", strstr(text, "\"error\""));
  pawl_free(w->e, text);
  /* a flag is true when it is not 0 */
  if (!CHECK_INT(pawl_tokens(w->e, w->id, 7, &text, &err), PAWL_OK)) return;
  pawl_free(w->e, text);
}

static void times_are_checked_before_they_are_stored(void) {
  static const char *const BAD[] = {
      "{\"kind\":\"shift\",\"for_us\":9223372036854775807}",
      "{\"kind\":\"shift\",\"for_us\":31557600000000001}",
      "{\"kind\":\"shift\",\"for_us\":-1}",
      "{\"kind\":\"wake\",\"at_us\":9223372036854775807}",
      "{\"kind\":\"wake\",\"at_us\":253402300800000000}",
      "{\"kind\":\"wake\",\"at_us\":-1}"};
  world w = {0};
  pawl_config c = PAWL_CONFIG_INIT;
  pawl_error err = {0};
  opened(&w, &c);
  started(&w);
  for (int i = 0; i < 5; i++) (void)next_due(&w);
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
    if (!CHECK_INT(change(&w, BAD[i], &err), PAWL_INVALID))
      printf("  %s\n", BAD[i]);
  CHECK_INT(change(&w, BAD[0], &err), PAWL_INVALID);
  CHECK_TEXT(err.message,
             "`for_us` of \"shift\" must be microseconds, 0 or more, 1,000 "
             "years at most");
  /* as often as one likes: the last instant is the last */
  for (int i = 0; i < 12; i++)
    CHECK_INT(
        change(&w, "{\"kind\":\"shift\",\"for_us\":31557600000000000}", &err),
        PAWL_OK);
  CHECK_INT(next_due(&w), INT64_C(253402300799999999));
  is_healthy(&w);
  CHECK_INT(change(&w, "{\"kind\":\"wake\",\"at_us\":0}", &err), PAWL_OK);
  is_healthy(&w);
  pawl_close(w.e);
}

static int64_t at_the_end(void *ud) {
  return *(int64_t *)ud;
}

static void a_clock_may_say_anything(void) {
  const int64_t odd[] = {INT64_MAX, INT64_MIN, 0, -1};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    int64_t now = odd[i];
    world w = {0};
    pawl_config c = PAWL_CONFIG_INIT;
    c.clock = at_the_end;
    c.clock_ud = &now;
    opened(&w, &c);
    started(&w);
    (void)next_due(&w);
    CHECK_INT(pawl_wait(w.e, INT64_MIN, NULL), PAWL_OK);
    CHECK_INT(pawl_tick(w.e, INT64_MIN, NULL, NULL), PAWL_OK);
    pawl_close(w.e);
    CHECK_INT(w.alloc.live_bytes, 0);
  }
}

/* ---- a store that does not answer ---- */

static void what_is_recorded_is_no_failure(void) {
#ifdef PAWL_TESTING
  world w = {0};
  pawl_config c = PAWL_CONFIG_INIT;
  pawl_error err = {0};
  char *out = NULL;
  int done = 0;

  opened(&w, &c);
  started(&w);
  pawl_fault_set("engine.change.look=fail");
  CHECK_INT(
      pawl_change(w.e, w.id, "{\"kind\":\"suspend\"}", &done, &out, &err),
      PAWL_OK);
  pawl_fault_set(NULL);
  CHECK_INT(done, 1);
  CHECK(strstr(out, "\"done\":true") != NULL);
  CHECK(strstr(out, "status") == NULL);
  pawl_free(w.e, out);
  CHECK_INT(change(&w, "{\"kind\":\"suspend\"}", &err), PAWL_CONFLICT);
  pawl_close(w.e);
#endif
}

/* A newer program's config is longer, an older one's shorter. */
static void a_config_may_be_of_another_size(void) {
  struct {
    pawl_config c;
    int64_t more;
  } wide = {.c = PAWL_CONFIG_INIT};
  const uint32_t whole = wide.c.size;
  pawl_engine *e = NULL;
  pawl_error err = {0};

  wide.c.size = sizeof wide;
  CHECK_INT(pawl_open(":memory:", &wide.c, &e, &err), PAWL_OK);
  pawl_close(e);
  wide.more = 1;
  CHECK_INT(pawl_open(":memory:", &wide.c, &e, &err), PAWL_MISUSE);
  CHECK(strstr(err.message, "PAWL_CONFIG_INIT") != NULL);
  wide.c.concurrency = -1; /* beyond what an older one says */
  wide.c.size = offsetof(pawl_config, batch);
  CHECK_INT(pawl_open(":memory:", &wide.c, &e, &err), PAWL_OK);
  pawl_close(e);
  wide.c.size = 0;
  CHECK_INT(pawl_open(":memory:", &wide.c, &e, &err), PAWL_MISUSE);
  CHECK(whole > offsetof(pawl_config, batch));
}

/* Any of an older header, to its last member; not what no header has, such as
 * the size of a config that was never set. */
static void a_size_is_one_of_a_header(void) {
  static const uint32_t NEVER[] = {
      1,   4,    7,          9,
      12,  15,   17,         offsetof(pawl_config, batch) + 4,
      204, 4097, UINT32_MAX, UINT32_MAX - 7};
  pawl_config c = PAWL_CONFIG_INIT;
  const uint32_t whole = c.size, step = _Alignof(pawl_config);
  pawl_engine *e = NULL;
  pawl_error err = {0};
  char *text = NULL;

  memset(&c, 0xff, sizeof c); /* beyond its size nothing is looked at */
  for (c.size = step; c.size <= whole; c.size += step) {
    const size_t from = c.size - step;
    if (from) memset((char *)&c + from, 0, step);
    CHECK_INT(pawl_open(":memory:", &c, &e, &err), PAWL_OK);
    CHECK_INT(pawl_close(e), PAWL_OK);
    CHECK_INT(pawl_migrations(":memory:", &c, 0, &text, &err), PAWL_OK);
    pawl_free(NULL, text);
  }
  for (size_t i = 0; i < sizeof NEVER / sizeof *NEVER; i++) {
    c.size = NEVER[i];
    if (c.size % step == 0 && c.size <= whole) continue;
    if (!CHECK_INT(pawl_open(":memory:", &c, &e, &err), PAWL_MISUSE) ||
        !CHECK_INT(pawl_migrate(":memory:", &c, 0, NULL, &err), PAWL_MISUSE) ||
        !CHECK_INT(pawl_migrations(":memory:", &c, 0, &text, &err),
                   PAWL_MISUSE))
      printf("  of size %u\n", (unsigned)c.size);
    CHECK(strstr(err.message, "PAWL_CONFIG_INIT") != NULL);
  }
}

#define CHECK_RESERVED(s)                         \
  for (size_t i = 0; i < sizeof(s).reserved; i++) \
    if (!CHECK_INT(((const char *)(s).reserved)[i], 0)) printf("  " #s "\n")

/* Whatever was there before: a later version may have a name for it. */
static void what_is_reserved_is_zero(void) {
  pawl_engine *e = NULL;
  pawl_error err;
  pawl_counts counts;
  pawl_memory_use memory;
  pawl_tick_stats stats;
  pawl_relayed relayed;
  pawl_game_clock clock;

  memset(&err, 0xff, sizeof err);
  memset(&counts, 0xff, sizeof counts);
  memset(&memory, 0xff, sizeof memory);
  memset(&stats, 0xff, sizeof stats);
  memset(&relayed, 0xff, sizeof relayed);
  memset(&clock, 0xff, sizeof clock);
  CHECK_INT(pawl_open("", NULL, &e, &err), PAWL_INVALID);
  CHECK_RESERVED(err);
  CHECK_INT(pawl_open(":memory:", NULL, &e, &err), PAWL_OK);
  CHECK_INT(pawl_tick(e, 1000, &stats, &err), PAWL_OK);
  CHECK_RESERVED(stats);
  CHECK_INT(pawl_outbox_relay(e, NULL, accept_all, NULL, &relayed, &err),
            PAWL_OK);
  CHECK_RESERVED(relayed);
  pawl_count(e, &counts);
  CHECK_RESERVED(counts);
  pawl_memory(e, &memory);
  CHECK_RESERVED(memory);
  pawl_game_clock_set(&clock, 1, 1);
  CHECK_RESERVED(clock);
  CHECK_INT(pawl_close(e), PAWL_OK);
}

/* ---- filters ---- */

static void an_empty_filter_is_refused(void) {
  static const char *const LISTS[] = {"{\"status\":[]}", "{\"workflow\":\"\"}",
                                      "{\"tenant\":\"\"}", "{\"key\":\"\"}"};
  static const char *const TASKS[] = {"{\"status\":[]}", "{\"role\":[]}",
                                      "{\"groups\":[]}", "{\"form\":\"\"}"};
  world w = {0};
  pawl_config c = PAWL_CONFIG_INIT;
  pawl_engine *e = opened(&w, &c);
  pawl_error err = {0};

  started(&w);
  for (size_t i = 0; i < sizeof LISTS / sizeof *LISTS; i++)
    CHECK_INT(pawl_list(e, LISTS[i], NULL, &err), PAWL_INVALID);
  for (size_t i = 0; i < sizeof TASKS / sizeof *TASKS; i++)
    CHECK_INT(pawl_task_list(e, TASKS[i], NULL, &err), PAWL_INVALID);
  CHECK_INT(pawl_task_list(e, "{\"user\":\"ann\",\"role\":[]}", NULL, &err),
            PAWL_OK);
  CHECK_INT(pawl_outbox_list(e, "{\"type\":\"\"}", NULL, &err), PAWL_INVALID);
  CHECK_INT(pawl_outbox_relay(e, NULL, NULL, NULL, NULL, &err), PAWL_MISUSE);
  CHECK_INT(pawl_outbox_change(e, "{\"kind\":\"x\"}", NULL, &err),
            PAWL_INVALID);
  CHECK_INT(pawl_change(e, w.id, "{\"kind\":\"wake\",\"nodes\":[]}", NULL,
                        NULL, &err),
            PAWL_INVALID);
  pawl_close(e);
}

/* A start has one time at which it begins. */
static void a_delay_and_a_time_exclude_each_other(void) {
  static const char DELAY[] = "{\"delay_us\":1}",
                    BOTH[] = "{\"delay_us\":1,\"at_us\":1000000}";
  world w = {0};
  pawl_config c = PAWL_CONFIG_INIT;
  pawl_engine *e = opened(&w, &c);
  pawl_error err = {0};
  char id[37], *text = NULL;
  int64_t due = 0;

  CHECK_INT(pawl_start(e, "zoo.a", NULL, BOTH, id, NULL, &err), PAWL_INVALID);
  CHECK(strstr(err.message, "exclude each other"));
  CHECK_INT(pawl_start_many(e, "zoo.a", "[{}]", BOTH, &text, &err),
            PAWL_INVALID);
  CHECK_INT(pawl_start_many(e, "zoo.a", "[{},{\"at_us\":1000000}]", DELAY,
                            &text, &err),
            PAWL_INVALID);
  CHECK_INT(pawl_next_due(e, &due, &err), PAWL_OK);
  CHECK_INT(due, INT64_MAX); /* nothing was stored */
  pawl_close(e);
}

/* ---- nothing where something is needed ---- */

/* Refused in words that name what is missing. */
static void is_told(const char *call, pawl_code rc, pawl_error *err) {
  if (!CHECK(rc == PAWL_INVALID || rc == PAWL_MISUSE) ||
      !CHECK(err->message[0]))
    printf("  %s: %s: \"%s\"\n", call, pawl_code_name(rc), err->message);
  memset(err, 0, sizeof *err);
}
#define TOLD(call) is_told(#call, call, &err)

/* Each pointer that a call cannot do without, of all calls of pawl.h. */
static void what_is_needed_is_asked_for(void) {
  world w = {0};
  pawl_config c = PAWL_CONFIG_INIT;
  pawl_engine *e = opened(&w, &c);
  pawl_error err = {0};
  const char *status;
  char id[37];

  started(&w);
  TOLD(pawl_time_us(NULL, &(int64_t){0}, &err));
  TOLD(pawl_time_us("2026-01-01", NULL, &err));
  TOLD(pawl_open(":memory:", NULL, NULL, &err));
  TOLD(pawl_load(e, NULL, NULL, &err));
  TOLD(pawl_load_text(e, NULL, "return 1", NULL, &err));
  TOLD(pawl_load_text(e, "x", NULL, NULL, &err));
  TOLD(pawl_load_stack(e, NULL, &err));
  TOLD(pawl_check(e, NULL, NULL, &err));
  TOLD(pawl_workflow_graph(e, NULL, 0, NULL, &err));
  TOLD(pawl_workflow_hotfix(e, NULL, NULL, NULL, &err));
  TOLD(pawl_workflow_change(e, NULL, NULL, &err));
  TOLD(pawl_workflow_transfer(e, NULL, NULL, &err));
  TOLD(pawl_start(e, NULL, NULL, NULL, id, NULL, &err));
  TOLD(pawl_start_many(e, NULL, "[]", NULL, NULL, &err));
  TOLD(pawl_start_many(e, "zoo.a", NULL, NULL, NULL, &err));
  TOLD(pawl_signal(e, NULL, NULL, NULL, &err));
  TOLD(pawl_tick_instance(e, NULL, 0, NULL, NULL, &err));
  TOLD(pawl_next_due(e, NULL, &err));
  TOLD(pawl_busy(e, NULL, &err));
  TOLD(pawl_fd(e, NULL, &err));
  TOLD(pawl_workflow_hotfix_text(e, NULL, "x", NULL, NULL, &err));
  TOLD(pawl_workflow_hotfix_text(e, "x", NULL, NULL, NULL, &err));
  TOLD(pawl_find(e, NULL, id, &err));
  TOLD(pawl_find(e, w.id, NULL, &err));
  TOLD(pawl_get(e, NULL, NULL, &err));
  TOLD(pawl_status(e, NULL, &status, &err));
  TOLD(pawl_result(e, NULL, 0, NULL, &err));
  TOLD(pawl_ask(e, NULL, "{}", NULL, &err));
  TOLD(pawl_complete(e, NULL, "{}", NULL, &err));
  TOLD(pawl_published(e, NULL, NULL, &err));
  TOLD(pawl_status(e, w.id, NULL, &err));
  TOLD(pawl_history(e, NULL, NULL, NULL, &err));
  TOLD(pawl_tokens(e, NULL, 0, NULL, &err));
  TOLD(pawl_explain(e, NULL, NULL, &err));
  TOLD(pawl_change(e, NULL, "{\"kind\":\"kill\"}", NULL, NULL, &err));
  TOLD(pawl_change(e, w.id, NULL, NULL, NULL, &err));
  TOLD(pawl_task_find(e, NULL, id, &err));
  TOLD(pawl_task_find(e, w.id, NULL, &err));
  TOLD(pawl_task_get(e, NULL, NULL, &err));
  TOLD(pawl_task_change(e, NULL, "{\"kind\":\"claim\"}", NULL, &err));
  TOLD(pawl_task_change(e, w.id, NULL, NULL, &err));
  pawl_close(e);
  CHECK_INT(w.alloc.live_bytes, 0);
}

/* The same without an engine, where there has to be one. */
static void an_engine_is_asked_for(void) {
  pawl_error err = {0};
  pawl_counts counts;
  pawl_memory_use memory;
  char id[37], name[8] = "x";
  int64_t n;
  int yes;

  TOLD(pawl_load(NULL, "x.lua", NULL, &err));
  TOLD(pawl_load_text(NULL, "x", "return 1", NULL, &err));
  TOLD(pawl_load_stack(NULL, NULL, &err));
  TOLD(pawl_check(NULL, "x.lua", NULL, &err));
  TOLD(pawl_workflow_list(NULL, NULL, NULL, &err));
  TOLD(pawl_workflow_graph(NULL, "x", 0, NULL, &err));
  TOLD(pawl_workflow_hotfix(NULL, "x.lua", NULL, NULL, &err));
  TOLD(pawl_workflow_change(NULL, "{}", NULL, &err));
  TOLD(pawl_workflow_transfer(NULL, "{}", NULL, &err));
  TOLD(pawl_start(NULL, "x", NULL, NULL, id, NULL, &err));
  TOLD(pawl_start_many(NULL, "x", "[]", NULL, NULL, &err));
  TOLD(pawl_signal(NULL, "{\"name\":\"x\"}", NULL, NULL, &err));
  TOLD(pawl_tick(NULL, 0, NULL, &err));
  TOLD(pawl_tick_instance(NULL, "0000", 0, NULL, NULL, &err));
  TOLD(pawl_next_due(NULL, &n, &err));
  TOLD(pawl_busy(NULL, &yes, &err));
  TOLD(pawl_wait(NULL, 0, &err));
  TOLD(pawl_find(NULL, "0000", id, &err));
  TOLD(pawl_get(NULL, "0000", NULL, &err));
  TOLD(pawl_list(NULL, NULL, NULL, &err));
  TOLD(pawl_tally(NULL, NULL, &n, NULL, &err));
  TOLD(pawl_history(NULL, "0000", NULL, NULL, &err));
  TOLD(pawl_tokens(NULL, "0000", 0, NULL, &err));
  TOLD(pawl_explain(NULL, "0000", NULL, &err));
  TOLD(pawl_change(NULL, "0000", "{}", NULL, NULL, &err));
  TOLD(pawl_bulk(NULL, "{}", "{}", NULL, NULL, NULL, &err));
  TOLD(pawl_task_find(NULL, "0000", id, &err));
  TOLD(pawl_task_get(NULL, "0000", NULL, &err));
  TOLD(pawl_task_list(NULL, NULL, NULL, &err));
  TOLD(pawl_task_change(NULL, "0000", "{}", NULL, &err));
  TOLD(pawl_outbox_list(NULL, NULL, NULL, &err));
  TOLD(pawl_outbox_relay(NULL, NULL, accept_all, NULL, NULL, &err));
  TOLD(pawl_outbox_change(NULL, "{}", NULL, &err));
  TOLD(pawl_executor_list(NULL, NULL, NULL, &err));
  TOLD(pawl_stats(NULL, NULL, NULL, &err));
  TOLD(pawl_problems(NULL, NULL, NULL, &err));
  TOLD(pawl_health(NULL, 0, NULL, &err));
  /* these cannot fail */
  pawl_close(NULL);
  pawl_free(NULL, NULL);
  pawl_interrupt(NULL);
  CHECK_INT(pawl_now(NULL), 0);
  pawl_executor_id(NULL, id);
  CHECK_TEXT(id, "");
  pawl_executor_id(NULL, NULL);
  pawl_count(NULL, &counts);
  CHECK_INT(counts.trips, 0);
  pawl_count(NULL, NULL);
  pawl_memory(NULL, &memory);
  CHECK_INT(memory.used, 0);
  pawl_memory(NULL, NULL);
  CHECK(pawl_store_name(NULL, name, sizeof name) == name);
  CHECK(pawl_store_name("x", NULL, 8) == NULL);
}

/* An answer that nobody wants is not made, and an error that nobody wants is
 * not told. */
static void what_is_not_needed_may_be_left_out(void) {
  world w = {0};
  pawl_config c = PAWL_CONFIG_INIT;
  pawl_engine *e = opened(&w, &c);

  CHECK_INT(pawl_start(e, "zoo.a", NULL, NULL, NULL, NULL, NULL), PAWL_OK);
  started(&w);
  CHECK_INT(pawl_start_many(e, "zoo.a", "[{}]", NULL, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_list(e, NULL, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_get(e, w.id, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_history(e, w.id, NULL, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_tokens(e, w.id, 0, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_explain(e, w.id, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_task_list(e, NULL, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_outbox_list(e, NULL, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_outbox_relay(e, NULL, accept_all, NULL, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_outbox_change(e, "{\"kind\":\"retry\"}", NULL, NULL),
            PAWL_OK);
  CHECK_INT(pawl_executor_list(e, NULL, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_stats(e, NULL, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_problems(e, NULL, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_workflow_list(e, NULL, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_workflow_graph(e, "zoo.a", 0, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_health(e, 0, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_signal(e, "{\"name\":\"x\"}", NULL, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_change(e, w.id, "{\"kind\":\"suspend\"}", NULL, NULL, NULL),
            PAWL_OK);
  CHECK_INT(pawl_tick(e, 0, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_tick_instance(e, w.id, 0, NULL, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_get(e, "xyz", NULL, NULL), PAWL_INVALID);
  pawl_close(e);
  CHECK_INT(w.alloc.live_bytes, 0);
}

/* ---- carried from one store to another ---- */

static int status_is(world *w, const char *status) {
  char *text = NULL, wanted[60];
  pawl_error err = {0};
  int is;

  if (!CHECK_INT(pawl_get(w->e, w->id, &text, &err), PAWL_OK)) return 0;
  snprintf(wanted, sizeof wanted, "\"status\":\"%s\"", status);
  is = strstr(text, wanted) != NULL;
  pawl_free(w->e, text);
  return is;
}

static void imports(world *w, const char *lines, const char *options,
                    const char *answer) {
  char *text = NULL;
  pawl_error err = {0};

  if (!CHECK_INT(pawl_import(w->e, lines, options, &text, &err), PAWL_OK)) {
    printf("  %s\n", err.message);
    return;
  }
  CHECK(strstr(text, answer) != NULL);
  pawl_free(w->e, text);
}

static void what_is_moved_goes_on_there_alone(void) {
  world here = {0}, there = {0};
  pawl_config c = PAWL_CONFIG_INIT, other = PAWL_CONFIG_INIT;
  char *lines = NULL, *again = NULL;
  pawl_error err = {0};
  int done = 0;

  opened(&here, &c);
  opened(&there, &other);
  started(&here);
  memcpy(there.id, here.id, sizeof there.id);
  CHECK_INT(pawl_export(here.e, "zzz", NULL, &lines, &err), PAWL_INVALID);
  CHECK_INT(pawl_export(here.e, here.id, "{\"moves\":true}", &lines, &err),
            PAWL_INVALID);
  CHECK_INT(pawl_export(here.e, here.id, NULL, &lines, &err), PAWL_OK);
  CHECK(strstr(lines, "\"moved\"") == NULL && status_is(&here, "created"));
  pawl_free(here.e, lines);
  CHECK_INT(pawl_export(here.e, here.id, "{\"move\":true,\"by\":\"ann\"}",
                        &lines, &err),
            PAWL_OK);
  CHECK(strstr(lines, "\"moved\":true") != NULL);
  CHECK(status_is(&here, "suspended"));
  CHECK_INT(
      pawl_change(here.e, here.id, "{\"kind\":\"resume\"}", &done, NULL, &err),
      PAWL_CONFLICT);
  CHECK_INT(pawl_export(here.e, here.id, "{\"move\":true}", &again, NULL),
            PAWL_OK);

  imports(&there, lines, "{\"by\":\"bob\"}", "\"there\":[]");
  imports(&there, again, NULL, "\"imported\":[]");
  CHECK_INT(pawl_tick(there.e, 0, NULL, &err), PAWL_OK);
  CHECK(!status_is(&there, "suspended"));
  CHECK_INT(pawl_import(there.e, lines, "{\"copy\":true,\"release\":true}",
                        NULL, &err),
            PAWL_INVALID);
  CHECK_INT(pawl_import(there.e, "{}", NULL, NULL, &err), PAWL_INVALID);
  CHECK_TEXT(err.where, "line 1, is");
  CHECK_INT(pawl_import(here.e, lines, NULL, NULL, &err), PAWL_CONFLICT);

  CHECK_INT(pawl_change(here.e, here.id, "{\"kind\":\"reclaim\"}", &done, NULL,
                        &err),
            PAWL_OK);
  CHECK_INT(done, 1);
  CHECK(!status_is(&here, "suspended"));
  pawl_free(here.e, lines);
  pawl_free(here.e, again);
  pawl_close(here.e);
  pawl_close(there.e);
  CHECK_INT(here.alloc.live_bytes, 0);
  CHECK_INT(there.alloc.live_bytes, 0);
}

/* ---- another source, from memory ---- */

static void a_version_is_mended_from_memory(void) {
  static const char TEXT[] =
      "local w = require 'pawl'.workflow { code = 'h.x', version = 1, start = "
      "'a' }\n"
      "w:step('a', { next = 'z', run = function(ctx) ctx.vars.x = %d end })\n"
      "w:finish('z', { output = function(ctx) return ctx.vars.x end })\n"
      "return w\n";
  world w = {0};
  pawl_config c = PAWL_CONFIG_INIT;
  pawl_engine *e = opened(&w, &c);
  pawl_error err = {0};
  char text[400], *out = NULL;
  int64_t x = 0;

  snprintf(text, sizeof text, TEXT, 1);
  CHECK_INT(pawl_workflow_hotfix_text(e, "h.lua", text, NULL, NULL, &err),
            PAWL_NOTFOUND);
  CHECK_INT(pawl_load_text(e, "h.lua", text, NULL, &err), PAWL_OK);
  CHECK_INT(pawl_start(e, "h.x", NULL, NULL, w.id, NULL, &err), PAWL_OK);
  snprintf(text, sizeof text, TEXT, 2);
  CHECK_INT(pawl_workflow_hotfix_text(e, "h.lua", text, "{\"reason\":\"two\"}",
                                      &out, &err),
            PAWL_OK);
  CHECK_INT(pawl_int(out, "revision", &x, &err), PAWL_OK);
  CHECK_INT(x, 2);
  pawl_free(e, out);
  CHECK_INT(pawl_tick(e, 1000000, NULL, &err), PAWL_OK);
  CHECK_INT(pawl_get(e, w.id, &out, &err), PAWL_OK);
  CHECK_INT(pawl_int(out, "output", &x, &err), PAWL_OK);
  CHECK_INT(x, 2);
  pawl_free(e, out);
  pawl_close(e);
  CHECK_INT(w.alloc.live_bytes, 0);
}

/* What was known of the store before goes with it. */
static void a_restore_keeps_nothing_of_the_store_before(void) {
  world w = {0};
  pawl_config c = PAWL_CONFIG_INIT;
  char *bytes = NULL;
  size_t size = 0;

  opened(&w, &c);
  CHECK_INT(pawl_backup_bytes(w.e, &bytes, &size, NULL), PAWL_OK);
  for (int i = 0; i < 3; i++) {
    started(&w);
    CHECK_INT(pawl_tick(w.e, 0, NULL, NULL), PAWL_OK);
    CHECK_INT(pawl_restore_bytes(w.e, bytes, size, NULL), PAWL_OK);
    CHECK_INT(pawl_get(w.e, w.id, NULL, NULL), PAWL_NOTFOUND);
  }
  pawl_free(w.e, bytes);
  CHECK_INT(pawl_close(w.e), PAWL_OK);
  CHECK_INT(w.alloc.live_bytes, 0);
}

/* The caller's bytes may go as soon as the engine is open. */
static void a_store_in_memory_begins_with_a_copy(void) {
  world w = {0};
  pawl_config c = PAWL_CONFIG_INIT;
  pawl_engine *e = NULL;
  char *bytes = NULL;
  size_t size = 0;

  opened(&w, &c);
  started(&w);
  CHECK_INT(pawl_backup_bytes(w.e, &bytes, &size, NULL), PAWL_OK);
  c.copy = bytes;
  c.copy_size = size;
  CHECK_INT(pawl_open(":memory:", &c, &e, NULL), PAWL_OK);
  pawl_free(w.e, bytes);
  CHECK_INT(pawl_is_new(e), 0);
  CHECK_INT(pawl_get(e, w.id, NULL, NULL), PAWL_OK);
  CHECK_INT(pawl_close(e), PAWL_OK);
  CHECK_INT(pawl_close(w.e), PAWL_OK);
  CHECK_INT(w.alloc.live_bytes, 0);
}

/* What stands between and behind the members of a config is whatever was in
 * the program's memory, as a compiler does not clear it. */
static void nobody_reads_between_the_members(void) {
/* clang-format off */
#define MEMBERS(X)                                                         \
  X(size) X(alloc) X(alloc_ud) X(clock) X(clock_ud) X(log) X(log_ud)       \
  X(trace) X(trace_ud) X(lua) X(group) X(prefixes) X(lease_us)             \
  X(heartbeat_us) X(max_bytes) X(batch) X(recoveries) X(pooler)            \
  X(stored_code_own) X(unknown_fail) X(create) X(shards)                   \
  X(heartbeat_thread) X(concurrency) X(tenant) X(schema) X(retain)         \
  X(busy_us) X(flush_us) X(durability) X(never_stop) X(seed) X(trust)      \
  X(checkpoint_bytes) X(memory_bytes) X(wake) X(wake_ud) X(sync_thread) \
  X(commit) X(commit_ud) X(copy) X(copy_size) X(passed)
  /* clang-format on */
  static const pawl_config whole = PAWL_CONFIG_INIT;
  pawl_config c;
  pawl_engine *e = NULL;
  int64_t due_us;

  for (int garbage = 0; garbage < 256; garbage += 85) {
    memset(&c, garbage, sizeof c);
#define COPY(member)                                                \
  memcpy((char *)&c + offsetof(pawl_config, member), &whole.member, \
         sizeof whole.member);
    MEMBERS(COPY)
    CHECK_INT(pawl_open(":memory:", &c, &e, NULL), PAWL_OK);
    CHECK_INT(pawl_tick(e, 0, NULL, NULL), PAWL_OK);
    CHECK_INT(pawl_next_due(e, &due_us, NULL), PAWL_OK);
    CHECK_INT(pawl_close(e), PAWL_OK);
  }
}

int main(void) {
  a_version_is_mended_from_memory();
  a_store_in_memory_begins_with_a_copy();
  text_knows_its_allocator();
  times_are_checked_before_they_are_stored();
  a_clock_may_say_anything();
  what_is_recorded_is_no_failure();
  a_config_may_be_of_another_size();
  nobody_reads_between_the_members();
  a_size_is_one_of_a_header();
  what_is_reserved_is_zero();
  an_empty_filter_is_refused();
  a_delay_and_a_time_exclude_each_other();
  what_is_needed_is_asked_for();
  an_engine_is_asked_for();
  what_is_not_needed_may_be_left_out();
  what_is_moved_goes_on_there_alone();
  a_restore_keeps_nothing_of_the_store_before();
  return TEST_END;
}
