/* Attempts, delays, and where a failure leads. */
#include "kit.h"

static pawl_verdict decide(const pawl_failure *f, const char *more,
                           int64_t *delay_us, int *to) {
  char text[300];
  pawl_verdict verdict;
  pawl_def *def;
  snprintf(text, sizeof text,
           "'start':'a','nodes':[{'name':'a','kind':'step','run':true,"
           "%s%s'next':'z'}," KIT_FINISH "]",
           strstr(more, "'retry'") ? ""
                                   : "'retry':{'max':3,'base':1000000,"
                                     "'cap':5000000,'factor':2,'jitter':0},",
           more);
  def = kit_def(text, 1);
  verdict = pawl_retry_decide(&def->nodes[0], f, delay_us, to);
  pawl_def_free(def);
  return verdict;
}

/* The verdict on an error with this code at its first attempt. */
static pawl_verdict of_code(const char *more, const char *code) {
  pawl_failure f = {
      .attempt = 1, .routes = 1, .retry_after_us = -1, .code = code};
  int64_t delay = 0;
  int to = -1;
  return decide(&f, more, &delay, &to);
}

static void what_is_routed_is_not_tried_again(void) {
  const char *routed = "'on_error':{'card':'z','*':'z'},";
  CHECK_INT(of_code(routed, "card"), PAWL_VERDICT_ROUTE);
  CHECK_INT(of_code(routed, "other"), PAWL_VERDICT_RETRY);
  pawl_failure f = {.attempt = 1, .routes = 1, .code = "card"};
  int64_t delay = 0;
  int to = -1;
  /* the handler says when */
  CHECK_INT(decide(&f, routed, &delay, &to), PAWL_VERDICT_RETRY);
  f = (pawl_failure){.attempt = 1, .retry_after_us = -1, .code = "card"};
  /* no route is asked for: an undo */
  CHECK_INT(decide(&f, routed, &delay, &to), PAWL_VERDICT_RETRY);
}

/* Its policy has the last word, by the code itself before "*". */
static void a_policy_names_codes(void) {
  const struct {
    const char *policy, *code;
    pawl_verdict verdict;
  } rows[] = {
      {"'on':['busy']", "busy", PAWL_VERDICT_RETRY},
      {"'on':['busy']", "card", PAWL_VERDICT_ROUTE},
      {"'on':['busy']", "other", PAWL_VERDICT_FAIL},
      {"'on':['card']", "card", PAWL_VERDICT_RETRY},
      {"'on':['*']", "card", PAWL_VERDICT_RETRY},
      {"'never':['busy']", "busy", PAWL_VERDICT_FAIL},
      {"'never':['busy']", "other", PAWL_VERDICT_RETRY},
      {"'never':['busy']", "card", PAWL_VERDICT_ROUTE},
      {"'never':['*']", "other", PAWL_VERDICT_FAIL},
      {"'on':['busy'],'never':['*']", "busy", PAWL_VERDICT_RETRY},
      {"'on':['*'],'never':['busy']", "busy", PAWL_VERDICT_FAIL},
  };
  char text[200];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    snprintf(text, sizeof text,
             "'retry':{'max':3,%s},'on_error':{'card':'z'},", rows[i].policy);
    if (!CHECK_INT(of_code(text, rows[i].code), rows[i].verdict))
      printf("  %s: %s\n", rows[i].policy, rows[i].code);
  }
}

static pawl_passes passes(pawl_code code, const char *raised) {
  pawl_error err = {.code = code};
  snprintf(err.raised, sizeof err.raised, "%s", raised);
  return pawl_failure_passes(&err);
}

/* Ten attempts, also where the node has fewer and the handler wants none. */
static void what_passes_is_tried_again(void) {
  pawl_failure f = {
      .passes = PAWL_PASSES_INTERRUPT, .no_retry = 1, .code = "interrupted"};
  int64_t delay = 0;
  int to = -1;

  for (f.attempt = f.passed = 1; f.passed < 10; f.attempt++, f.passed++) {
    CHECK_INT(decide(&f, "'on_error':{'*':'z'},", &delay, &to),
              PAWL_VERDICT_RETRY);
    CHECK(delay >= PAWL_SECOND / 2 && delay <= 60 * PAWL_SECOND);
  }
  CHECK_INT(decide(&f, "", &delay, &to), PAWL_VERDICT_FAIL);
  CHECK_INT(passes(PAWL_NOMEM, ""), PAWL_PASSES_MEMORY);
  CHECK_INT(passes(PAWL_INTERRUPTED, ""), PAWL_PASSES_INTERRUPT);
  CHECK(!passes(PAWL_NOMEM, "nomem") && !passes(PAWL_SCRIPT, ""));
}

/* Suspended, never failed, and again after ten more once it was resumed; unless
 * its graph leads elsewhere. */
static void memory_that_stays_short_suspends(void) {
  pawl_failure f = {
      .passes = PAWL_PASSES_MEMORY, .no_retry = 1, .code = "nomem"};
  int64_t delay = 0;
  int to = -1;

  for (f.attempt = f.passed = 1; f.passed <= 30; f.attempt++, f.passed++)
    CHECK_INT(decide(&f, "", &delay, &to),
              f.passed % 10 ? PAWL_VERDICT_RETRY : PAWL_VERDICT_SUSPEND);
  f.passed = 11;
  CHECK_INT(decide(&f, "", &delay, &to), PAWL_VERDICT_RETRY);
  CHECK(delay <= 2 * PAWL_SECOND); /* from a second on again */
  f.passed = 10;
  CHECK_INT(decide(&f, "'on_error':{'nomem':'z'},", &delay, &to),
            PAWL_VERDICT_ROUTE);
}

/* They are not counted among the node's own, of which there are three. */
static void what_passed_is_not_the_nodes(void) {
  pawl_failure f = {
      .attempt = 8, .passed = 7, .retry_after_us = -1, .code = "x"};
  int64_t delay = 0;
  int to = -1;

  CHECK_INT(decide(&f, "", &delay, &to), PAWL_VERDICT_RETRY);
  CHECK_INT(delay, PAWL_SECOND);
  f.attempt = 9;
  CHECK_INT(decide(&f, "", &delay, &to), PAWL_VERDICT_RETRY);
  CHECK_INT(delay, 2 * PAWL_SECOND);
  f.attempt = 10;
  CHECK_INT(decide(&f, "", &delay, &to), PAWL_VERDICT_FAIL);
}

TEST_PART(retry_test) {
  pawl_retry r = {.base_us = 1000, .cap_us = 8000, .factor = 2};
  pawl_failure f = {.attempt = 1, .retry_after_us = -1, .code = "x"};
  int64_t delay = 0;
  int to = -1;

  what_passes_is_tried_again();
  memory_that_stays_short_suspends();
  what_passed_is_not_the_nodes();
  what_is_routed_is_not_tried_again();
  a_policy_names_codes();
  CHECK_INT(decide(&f, "", &delay, &to), PAWL_VERDICT_RETRY);
  CHECK_INT(delay, PAWL_SECOND);
  f.attempt = 2;
  CHECK_INT(decide(&f, "", &delay, &to), PAWL_VERDICT_RETRY);
  CHECK_INT(delay, 2 * PAWL_SECOND);
  f.retry_after_us = 0; /* the handler's own wish */
  CHECK_INT(decide(&f, "", &delay, &to), PAWL_VERDICT_RETRY);
  CHECK_INT(delay, 0);
  f.attempt = 3;
  CHECK_INT(decide(&f, "", &delay, &to), PAWL_VERDICT_FAIL);
  CHECK_INT(decide(&f, "'on_exhausted':'suspend',", &delay, &to),
            PAWL_VERDICT_SUSPEND);
  CHECK_INT(decide(&f, "'on_error':{'y':'z'},", &delay, &to),
            PAWL_VERDICT_FAIL);
  CHECK_INT(decide(&f, "'on_error':{'*':'z'},", &delay, &to),
            PAWL_VERDICT_ROUTE);
  CHECK_INT(to, 1);
  f.attempt = 1;
  f.no_retry = 1;
  CHECK_INT(decide(&f, "'on_error':{'x':'z'},'on_exhausted':'suspend',",
                   &delay, &to),
            PAWL_VERDICT_ROUTE);

  CHECK_INT(pawl_retry_delay(&r, 4, 0.999), 8000);
  CHECK_INT(pawl_retry_delay(&r, 5000, 0), 8000); /* the power is infinite */
  r.jitter = 0.5;
  for (int attempt = 1; attempt < 70; attempt++) {
    CHECK(pawl_retry_delay(&r, attempt, 0.999) <= 8000);
    CHECK(pawl_retry_delay(&r, attempt, 0) >= 1000);
    CHECK(pawl_retry_delay(&r, attempt, 0) <=
          pawl_retry_delay(&r, attempt, 0.5));
  }
}
