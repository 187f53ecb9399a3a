/* Every member of a result is filled here through the lists it comes from, so
 * that a new one is looked at as well. */
#include "../../src/defs/result.h"

#include "test.h"

#define FILL_FLAG(name) r->name = 1;
#define FILL_TIME(name) r->name = 7;
#define FILL_TEXT(name) pawl_buf_addz(&r->name, #name);
#define FILL_LIST(name) \
  CHECK_INT(pawl_said_add(&r->name, pawl_strz(#name), NULL), PAWL_OK);
#define FILL(type, name) FILL_##type(name)

static void fill(pawl_said *r) {
  PAWL_RESULT_EFFECTS(FILL)
  PAWL_RESULT_FAILURE(FILL)
}

#define COUNT_FLAG(name) n += r->name != 0;
#define COUNT_TIME(name) n += r->name > 0;
#define COUNT_TEXT(name) n += r->name.len != 0;
#define COUNT_LIST(name) COUNT_TEXT(name)
#define COUNT(type, name) COUNT_##type(name)

static int effects(const pawl_said *r) {
  int n = 0;
  PAWL_RESULT_EFFECTS(COUNT)
  return n;
}

static int failures(const pawl_said *r) {
  int n = 0;
  PAWL_RESULT_FAILURE(COUNT)
  return n;
}

#define ONE(type, name) +1
enum {
  NEFFECTS = 0 PAWL_RESULT_EFFECTS(ONE),
  NFAILURES = 0 PAWL_RESULT_FAILURE(ONE)
};

static void a_result_is_emptied_and_freed(void) {
  test_alloc counted = {0};
  pawl_alloc alloc = {test_alloc_fn, &counted};
  pawl_said r;
  pawl_said_init(&r, &alloc);
  CHECK_INT(r.retry_after_us, -1);
  CHECK_INT(effects(&r) + failures(&r), 0);
  fill(&r);
  CHECK_INT(effects(&r), NEFFECTS);
  CHECK_INT(failures(&r), NFAILURES);
  pawl_said_drop_effects(&r);
  CHECK_INT(effects(&r), 0);
  CHECK_INT(failures(&r), NFAILURES);
  fill(&r);
  pawl_said_clear(&r);
  CHECK_INT(effects(&r) + failures(&r), 0);
  CHECK_INT(r.retry_after_us, -1);
  CHECK(counted.live_bytes > 0); /* kept for the next */
  pawl_said_deinit(&r);
  CHECK_INT(counted.live_bytes, 0);
}

static void a_result_moves_with_its_memory(void) {
  test_alloc counted = {0};
  pawl_alloc alloc = {test_alloc_fn, &counted};
  pawl_said from, to;
  int64_t live;
  pawl_said_init(&from, &alloc);
  pawl_said_init(&to, NULL);
  fill(&from);
  fill(&to);
  live = counted.live_bytes;
  pawl_said_move(&to, &from);
  CHECK_INT(counted.live_bytes, live);
  CHECK_INT(effects(&to), NEFFECTS);
  CHECK_INT(effects(&from) + failures(&from), 0);
  CHECK(from.vars.alloc == &alloc && to.vars.alloc == &alloc);
  pawl_said_deinit(&from);
  pawl_said_deinit(&to);
  CHECK_INT(counted.live_bytes, 0);
}

static void a_list_grows_whole_members_and_is_closed_once(void) {
  test_alloc counted = {0};
  pawl_alloc alloc = {test_alloc_fn, &counted};
  pawl_said r;
  pawl_error err;
  pawl_said_init(&r, &alloc);
  CHECK_INT(pawl_said_add(&r.emits, pawl_strz("{\"a\":1}"), &err), PAWL_OK);
  CHECK_INT(pawl_said_add(&r.emits, pawl_strz("{}"), &err), PAWL_OK);
  CHECK_INT(pawl_said_close(&r, &err), PAWL_OK);
  CHECK_TEXT(r.emits.at, "[{\"a\":1},{}]");
  CHECK_INT(r.starts.len, 0);
  pawl_said_clear(&r);
  counted.for_ever = 1;
  counted.fail_at = 1;
  CHECK_INT(pawl_said_add(&r.starts, pawl_strz("{}"), &err), PAWL_NOMEM);
  CHECK_INT(r.starts.len, 0);
  CHECK_INT(pawl_said_close(&r, &err), PAWL_NOMEM);
  pawl_said_deinit(&r);
  CHECK_INT(counted.live_bytes, 0);
}

static void keep(pawl_buf *whole, char fixed[16], const char *text) {
  pawl_failure_keep(whole, fixed, 16, pawl_strz(text));
}

static void a_long_text_of_an_error_is_kept_beside_it(void) {
  test_alloc counted = {0};
  pawl_alloc alloc = {test_alloc_fn, &counted};
  pawl_buf whole = {.alloc = &alloc};
  char fixed[16];
  keep(&whole, fixed, "fifteen letters");
  CHECK_TEXT(fixed, "fifteen letters");
  CHECK_STR(pawl_failure_text(&whole, fixed), "fifteen letters");
  CHECK_INT(counted.requests, 0); /* what fits costs nothing */
  keep(&whole, fixed, "more than fifteen letters");
  CHECK_TEXT(fixed, "more  ... (cut)");
  CHECK_STR(pawl_failure_text(&whole, fixed), "more than fifteen letters");
  keep(&whole, fixed, "eur \xe2\x82\xac and as much again");
  CHECK_TEXT(fixed, "eur  ... (cut)");
  CHECK_STR(pawl_failure_text(&whole, "some ... (cut)"), "some ... (cut)");
  CHECK_STR(pawl_failure_text(&whole, "eur "), "eur ");
  keep(NULL, fixed, "nobody keeps it whole");
  CHECK_TEXT(fixed, "nobod ... (cut)");
  CHECK_STR(pawl_failure_text(&whole, fixed), "nobod ... (cut)");
  keep(&whole, fixed, "short");
  CHECK_INT(whole.len, 0);
  pawl_buf_deinit(&whole);
  CHECK_INT(counted.live_bytes, 0);
}

static void a_text_of_an_error_has_an_end(void) {
  static char text[PAWL_MAX_FAILURE + 2];
  pawl_buf whole = {0};
  char fixed[16];
  memset(text, 'm', PAWL_MAX_FAILURE);
  keep(&whole, fixed, text);
  CHECK_INT(whole.len, PAWL_MAX_FAILURE);
  text[PAWL_MAX_FAILURE] = 'm';
  keep(&whole, fixed, text);
  CHECK_INT(whole.len, PAWL_MAX_FAILURE);
  CHECK_TEXT(whole.at + whole.len - strlen(PAWL_CUT), PAWL_CUT);
  size_t edge = PAWL_MAX_FAILURE - strlen(PAWL_CUT);
  memcpy(text + edge - 1, "\xe2\x82\xac", 3); /* which is not halved */
  keep(&whole, fixed, text);
  CHECK_INT(whole.len, PAWL_MAX_FAILURE - 1);
  CHECK_TEXT(whole.at + edge - 1, PAWL_CUT);
  pawl_buf_deinit(&whole);
}

static void without_memory_an_error_stays_as_it_was_cut(void) {
  static char text[PAWL_MAX_FAILURE * 2];
  test_alloc counted = {.for_ever = 1, .fail_at = 1};
  pawl_alloc alloc = {test_alloc_fn, &counted};
  pawl_buf whole = {.alloc = &alloc};
  char fixed[16];
  memset(text, 'm', sizeof text - 1);
  keep(&whole, fixed, text);
  CHECK(counted.requests > 0);
  CHECK_STR(pawl_failure_text(&whole, fixed), "mmmmm ... (cut)");
  CHECK_INT(whole.failed, 0); /* the failure is told, and the step's end */
  pawl_buf_deinit(&whole);
}

static void only_what_a_step_does_is_not_pure(void) {
  CHECK_TEXT(pawl_handler_name(PAWL_HANDLER_RUN), "run");
  CHECK_TEXT(pawl_handler_name(PAWL_HANDLER_ITEMS), "items");
  CHECK(!pawl_handler_is_pure(PAWL_HANDLER_RUN));
  CHECK(!pawl_handler_is_pure(PAWL_HANDLER_UNDO));
  CHECK(pawl_handler_is_pure(PAWL_HANDLER_CHOOSE));
  CHECK(pawl_handler_is_pure(PAWL_HANDLER_ITEMS));
}

int main(void) {
  a_result_is_emptied_and_freed();
  a_result_moves_with_its_memory();
  a_list_grows_whole_members_and_is_closed_once();
  a_long_text_of_an_error_is_kept_beside_it();
  a_text_of_an_error_has_an_end();
  without_memory_an_error_stays_as_it_was_cut();
  only_what_a_step_does_is_not_pure();
  return TEST_END;
}
