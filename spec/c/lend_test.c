/* pawl_register: functions of the program's that handlers call, in a private
 * state, on both stores; and from a process of their own, which makes no
 * difference. */
#define _XOPEN_SOURCE 700 /* popen */

#include "pgbase.h"
#include "test.h"
#include "zoo.h"

static const char FLOW[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 't.host', start = 'a' }\n"
    "w:step('a', { next = 'c', retry = { max = 3, base = 1, cap = 1 },\n"
    "  timeout = '1h', on_error = { no_gold = 'poor' },\n"
    "  run = function(ctx)\n"
    "    local what = ctx.input.what\n"
    "    local got = ctx.host[what](ctx.input.value)\n"
    "    ctx.vars.got, ctx.vars.type = got, math.type(got) or type(got)\n"
    "    ctx.vars.is_null = got == pawl.null\n"
    "  end })\n"
    "w:choice('c', { choose = function(ctx)\n"
    "  return ctx.host.echo(7) == 7 and 'yes' or 'no' end,\n"
    "  next = { yes = 'z', no = 'poor' } })\n"
    "w:finish('z', { output = function(ctx) return ctx.vars end })\n"
    "w:finish('poor', { output = function(ctx) return { poor = true } end })\n"
    "return w\n";

typedef struct world {
  zoo_clock clock;
  test_alloc alloc;
  pawl_engine *e;
  char id[37], key[128], input[200];
  int calls, again, gone, destroyed, wait_for, may_wait, misused;
} world;

static int64_t now(void *ud) {
  return zoo_now(ud);
}

static void destroy(void *ud) {
  ((world *)ud)->destroyed++;
}

/* Gives back what it was given. */
static pawl_code echo(void *ud, const pawl_wanted *wanted, char **out,
                      pawl_error *err) {
  world *w = ud;
  w->calls++;
  w->may_wait = wanted->may_wait;
  snprintf(w->key, sizeof w->key, "%s", wanted->key);
  snprintf(w->input, sizeof w->input, "%s", wanted->input);
  CHECK_INT(strlen(wanted->input), wanted->length);
  CHECK_TEXT(wanted->workflow, "t.host");
  CHECK_INT(wanted->again + wanted->gone, 0);
  w->misused += pawl_get(w->e, wanted->instance, NULL, NULL) == PAWL_MISUSE;
  w->misused +=
      pawl_register(w->e, "more", echo, w, destroy, NULL) == PAWL_MISUSE;
  CHECK(pawl_now(w->e) > 0);
  return pawl_format(w->e, out, err, "%J", wanted->input);
}

static pawl_code nothing(void *ud, const pawl_wanted *wanted, char **out,
                         pawl_error *err) {
  (void)ud, (void)wanted, (void)out, (void)err;
  return PAWL_OK;
}

/* It is under way until it was asked so often. */
static pawl_code slow(void *ud, const pawl_wanted *wanted, char **out,
                      pawl_error *err) {
  world *w = ud;
  w->calls++;
  w->again += wanted->again;
  w->gone += wanted->gone;
  if (wanted->gone) CHECK(wanted->again);
  if (w->calls == 1)
    snprintf(w->key, sizeof w->key, "%s", wanted->key);
  else
    CHECK_TEXT(wanted->key, w->key);
  CHECK_TEXT(wanted->input, "{\"n\":1}");
  if (w->calls <= w->wait_for) return PAWL_BUSY;
  return pawl_format(NULL, out, err, "%d", w->calls);
}

static pawl_code poor(void *ud, const pawl_wanted *wanted, char **out,
                      pawl_error *err) {
  (void)wanted, (void)out;
  ((world *)ud)->calls++;
  snprintf(err->raised, sizeof err->raised, "no_gold");
  snprintf(err->message, sizeof err->message, "a bow costs 12");
  return PAWL_INVALID;
}

static pawl_code fails(void *ud, const pawl_wanted *wanted, char **out,
                       pawl_error *err) {
  (void)wanted, (void)err;
  world *w = ud;
  w->calls++;
  *out = NULL;
  return w->wait_for ? (pawl_code)w->wait_for : PAWL_UNREACHABLE;
}

/* No JSON, but of pawl's memory. */
static pawl_code garbage(void *ud, const pawl_wanted *wanted, char **out,
                         pawl_error *err) {
  (void)wanted;
  ((world *)ud)->calls++;
  pawl_code rc = pawl_format(NULL, out, err, "[1]");
  if (rc == PAWL_OK) (*out)[0] = '{';
  return rc;
}

/* Of all that is loaded; NULL: full. */
static const char *trust;

static pawl_engine *opened(world *w, const char *url) {
  pawl_config c = PAWL_CONFIG_INIT;
  pawl_error err = {0};
  w->clock.us = INT64_C(1800000000000000);
  c.alloc = test_alloc_fn;
  c.alloc_ud = &w->alloc;
  c.clock = now;
  c.clock_ud = &w->clock;
  if (!CHECK_INT(pawl_open(url, &c, &w->e, &err), PAWL_OK) ||
      !CHECK_INT(pawl_load_as(w->e, "host", FLOW, trust, NULL, &err),
                 PAWL_OK)) {
    printf("  %s\n", err.message);
    exit(1);
  }
  static const struct {
    const char *name;
    pawl_function_fn fn;
  } ALL[] = {{"echo", echo}, {"nothing", nothing}, {"slow", slow},
             {"poor", poor}, {"fails", fails},     {"garbage", garbage}};
  for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++)
    CHECK_INT(pawl_register(w->e, ALL[i].name, ALL[i].fn, w, destroy, &err),
              PAWL_OK);
  return w->e;
}

static void start(world *w, const char *what, const char *value) {
  pawl_error err = {0};
  char *input = NULL;
  CHECK_INT(pawl_format(w->e, &input, &err, "{\"what\":%Q,\"value\":%J}", what,
                        value),
            PAWL_OK);
  CHECK_INT(pawl_start(w->e, "t.host", input, NULL, w->id, NULL, &err),
            PAWL_OK);
  pawl_free(w->e, input);
}

static void ticks(world *w, int n) {
  pawl_error err = {0};
  while (n-- > 0) {
    if (!CHECK_INT(pawl_tick(w->e, 100000, NULL, &err), PAWL_OK))
      printf("  %s\n", err.message);
    w->clock.us += 2000000;
  }
}

static void check_at(world *w, const char *path, const char *want) {
  char *text = NULL, shown[300] = "-";
  const char *at;
  pawl_error err = {0};
  if (!CHECK_INT(pawl_get(w->e, w->id, &text, &err), PAWL_OK)) return;
  at = pawl_at(text, path);
  if (at) CHECK_INT(pawl_format_into(shown, sizeof shown, &err, "%J", at), 0);
  if (!CHECK_TEXT(shown, want)) printf("  at %s of %s\n", path, text);
  pawl_free(w->e, text);
}

static void ends(world *w) {
  pawl_close(w->e);
  CHECK_INT(w->destroyed, 6 + w->misused / 2);
  CHECK_INT(w->alloc.live_bytes, 0);
}

static void values_are_the_same_both_ways(const char *url) {
  static const struct {
    const char *value, *type;
  } OF[] = {{"7", "\"integer\""},
            {"7.0", "\"float\""},
            {"9223372036854775807", "\"integer\""},
            {"\"a\\u0000\\\"b\"", "\"string\""},
            {"true", "\"boolean\""},
            {"[1,2.5,[]]", "\"table\""},
            {"{\"a\":{\"b\":1}}", "\"table\""}};
  for (size_t i = 0; i < sizeof OF / sizeof *OF; i++) {
    world w = {0};
    opened(&w, url);
    start(&w, "echo", OF[i].value);
    ticks(&w, 3);
    check_at(&w, "status", "\"completed\"");
    check_at(&w, "output.got", OF[i].value);
    check_at(&w, "output.type", OF[i].type);
    CHECK_INT(w.calls, 2); /* the choice asks, too */
    CHECK_TEXT(w.input, "7");
    CHECK_INT(w.may_wait, 0);
    CHECK_INT(w.misused, 4);
    CHECK(strncmp(w.key, w.id, 36) == 0);
    ends(&w);
  }
}

static void nothing_is_nil_and_null_is_null(const char *url) {
  world w = {0};
  opened(&w, url);
  start(&w, "nothing", "1");
  ticks(&w, 3);
  check_at(&w, "output.type", "\"nil\"");
  start(&w, "echo", "null");
  ticks(&w, 3);
  check_at(&w, "output.is_null", "true");
  ends(&w);
}

static void who_is_told_to_wait_is_asked_again(const char *url) {
  world w = {.wait_for = 3};
  opened(&w, url);
  start(&w, "slow", "{\"n\":1}");
  ticks(&w, 2);
  CHECK(w.calls > 0 && w.calls <= 3);
  check_at(&w, "status", "\"running\"");
  ticks(&w, 4);
  check_at(&w, "status", "\"completed\"");
  check_at(&w, "output.got", "4");
  CHECK_INT(w.calls, 5); /* the choice asks, too */
  CHECK_INT(w.again, 3);
  CHECK_INT(w.gone, 0);
  ends(&w);
}

/* Once, and before the engine is gone. */
static void who_is_not_waited_for_any_more_is_told(const char *url) {
  static const char *const WAYS[] = {"cancel", "kill", "close", "timeout"};
  for (int way = 0; way < 4; way++) {
    world w = {.wait_for = 1000};
    char change[60];
    pawl_error err = {0};
    if (url == pgbase_url) pgbase_clear("lend"); /* of those left behind */
    opened(&w, url);
    start(&w, "slow", "{\"n\":1}");
    ticks(&w, 2);
    snprintf(change, sizeof change, "{\"kind\":\"%s\"}", WAYS[way]);
    if (way < 2)
      CHECK_INT(pawl_change(w.e, w.id, change, NULL, NULL, &err), PAWL_OK);
    if (way == 3) w.clock.us += INT64_C(3700) * 1000000;
    if (way != 2) ticks(&w, 3);
    if (way < 2) check_at(&w, "status", "\"cancelled\"");
    if (way != 2 && !CHECK_INT(w.gone, 1)) printf("  %s\n", WAYS[way]);
    ends(&w);
    if (way == 2) CHECK_INT(w.gone, 1);
  }
}

static void errors_are_the_handlers_own(const char *url) {
  world w = {0};
  opened(&w, url);
  start(&w, "poor", "1"); /* on_error knows it by its code */
  ticks(&w, 3);
  check_at(&w, "output.poor", "true");
  CHECK_INT(w.calls, 1);
  start(&w, "fails", "1"); /* it is tried again, and then it has failed */
  ticks(&w, 8);
  check_at(&w, "status", "\"failed\"");
  check_at(&w, "error.code", "\"unreachable\"");
  check_at(&w, "error.message", "\"ctx.host.fails has failed\"");
  CHECK_INT(w.calls, 4);
  w.calls = 0;
  w.wait_for = PAWL_LIMIT; /* and this one is not */
  start(&w, "fails", "1");
  ticks(&w, 8);
  check_at(&w, "error.code", "\"limit\"");
  CHECK_INT(w.calls, 1);
  w.wait_for = 12345; /* no code at all */
  start(&w, "fails", "1");
  ticks(&w, 8);
  check_at(&w, "status", "\"failed\"");
  w.calls = 0;
  start(&w, "garbage", "1");
  ticks(&w, 8);
  check_at(&w, "error.code", "\"value\"");
  CHECK_INT(w.calls, 1);
  start(&w, "spwan", "1");
  ticks(&w, 8);
  check_at(&w, "error.code", "\"misuse\"");
  ends(&w);
}

static void what_is_not_lent_is_given_back(void) {
  static const char *const BAD[] = {"", "9a", "a b", "a-b", "a\xc3\xa9"};
  world w = {0};
  char longest[70];
  pawl_error err = {0};
  pawl_engine *e = opened(&w, ":memory:");
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
    CHECK_INT(pawl_register(e, BAD[i], echo, &w, destroy, &err), PAWL_INVALID);
  CHECK_INT(w.destroyed, 5);
  memset(longest, 'a', sizeof longest);
  longest[64] = 0;
  CHECK_INT(pawl_register(e, longest, echo, &w, destroy, &err), PAWL_INVALID);
  CHECK_INT(pawl_register(e, "echo", echo, &w, destroy, &err), PAWL_EXISTS);
  CHECK_INT(pawl_register(e, "x", NULL, &w, destroy, &err), PAWL_MISUSE);
  CHECK_STR(pawl_strz(err.message), "pawl_register: `fn` is NULL");
  CHECK_INT(pawl_register(e, NULL, echo, &w, destroy, &err), PAWL_INVALID);
  CHECK_INT(pawl_register(NULL, "x", echo, &w, destroy, &err), PAWL_MISUSE);
  CHECK_INT(w.destroyed, 10);
  longest[63] = 0;
  CHECK_INT(pawl_register(e, longest, echo, &w, NULL, &err), PAWL_OK);
  w.alloc.for_ever = 1;
  w.alloc.fail_at = w.alloc.requests + 1;
  pawl_code rc = PAWL_OK;
  char name[16];
  int n = 0;
  for (; rc == PAWL_OK && n < 100; n++) {
    snprintf(name, sizeof name, "f%d", n);
    rc = pawl_register(e, name, echo, &w, NULL, &err);
  }
  CHECK_INT(rc, PAWL_NOMEM);
  w.alloc.fail_at = 0;
  pawl_close(e);
  CHECK_INT(w.destroyed, 16);
  CHECK_INT(w.alloc.live_bytes, 0);
}

/* What waits cannot wait in a transaction: it is told, and so is the function.
 */
static void a_transaction_does_not_wait(void) {
  static const char SQL[] =
      "local pawl = require 'pawl'\n"
      "local w = pawl.workflow { code = 't.sql', start = 'a' }\n"
      "w:step('a', { transactional = true, next = 'z', run = function(ctx)\n"
      "  ctx.host.slow { n = 1 } end })\n"
      "w:finish('z')\n"
      "return w\n";
  world w = {.wait_for = 1000};
  pawl_error err = {0};
  opened(&w, ":memory:");
  CHECK_INT(pawl_load_text(w.e, "sql", SQL, NULL, &err), PAWL_OK);
  CHECK_INT(pawl_start(w.e, "t.sql", NULL, NULL, w.id, NULL, &err), PAWL_OK);
  ticks(&w, 2);
  check_at(&w, "error.code", "\"misuse\"");
  CHECK_INT(w.calls, 2);
  CHECK_INT(w.gone, 1);
  ends(&w);
}

static void on(const char *url) {
  void (*const ALL[])(const char *) = {
      values_are_the_same_both_ways, nothing_is_nil_and_null_is_null,
      who_is_told_to_wait_is_asked_again,
      who_is_not_waited_for_any_more_is_told, errors_are_the_handlers_own};
  for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++) {
    if (url == pgbase_url) pgbase_clear("lend");
    ALL[i](url);
  }
}

static const char ISOLATED[] =
    "{\"level\":\"isolated\",\"time_us\":60000000,"
    "\"may\":{\"host\":\"*\",\"await\":true,\"db\":true}}";

int main(void) {
  on(":memory:");
  trust = ISOLATED;
  on(":memory:");
  trust = NULL;
  if (pgbase_make("lend")) {
    on(pgbase_url);
    pgbase_drop("lend");
  }
  what_is_not_lent_is_given_back();
  a_transaction_does_not_wait();
  return TEST_END;
}
