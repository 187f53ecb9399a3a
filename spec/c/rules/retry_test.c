/* Attempts, delays, and where a failure leads. */
#include "kit.h"

static pawl_verdict decide(const pawl_failure *f, const char *more,
                           int64_t *delay_us, int *to) {
  char text[300];
  pawl_verdict verdict;
  pawl_def *def;
  snprintf(text, sizeof text,
           "'start':'a','nodes':[{'name':'a','kind':'step','run':true,"
           "'retry':{'max':3,'base':1000000,'cap':5000000,'factor':2,"
           "'jitter':0},%s'next':'z'}," KIT_FINISH "]",
           more);
  def = kit_def(text, 1);
  verdict = pawl_retry_decide(&def->nodes[0], f, delay_us, to);
  pawl_def_free(def);
  return verdict;
}

static int passes(pawl_code code, const char *raised) {
  pawl_error err = {.code = code};
  snprintf(err.raised, sizeof err.raised, "%s", raised);
  return pawl_failure_passes(&err);
}

/* Ten attempts, also where the node has fewer and the handler wants none. */
static void what_passes_is_tried_again(void) {
  pawl_failure f = {.passes = 1, .no_retry = 1, .code = "nomem"};
  int64_t delay = 0;
  int to = -1;

  for (f.attempt = 1; f.attempt < 10; f.attempt++) {
    CHECK_INT(decide(&f, "'on_error':{'*':'z'},", &delay, &to),
              PAWL_VERDICT_RETRY);
    CHECK(delay >= PAWL_SECOND / 2 && delay <= 60 * PAWL_SECOND);
  }
  CHECK_INT(decide(&f, "", &delay, &to), PAWL_VERDICT_FAIL);
  CHECK(passes(PAWL_NOMEM, "") && passes(PAWL_INTERRUPTED, ""));
  CHECK(!passes(PAWL_NOMEM, "nomem") && !passes(PAWL_SCRIPT, ""));
}

TEST_PART(retry_test) {
  pawl_retry r = {.base_us = 1000, .cap_us = 8000, .factor = 2};
  pawl_failure f = {.attempt = 1, .retry_after_us = -1, .code = "x"};
  int64_t delay = 0;
  int to = -1;

  what_passes_is_tried_again();
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
