/* Every member of a result is filled here through the lists it comes from, so
 * that a new one is looked at as well. */
#include "../../src/defs/result.h"

#include "test.h"

#define FILL_FLAG(name) r->name = 1;
#define FILL_TIME(name) r->name = 7;
#define FILL_TEXT(name) pawl_buf_addz(&r->name, #name);
#define FILL_LIST(name) \
  CHECK_INT(pawl_result_add(&r->name, pawl_strz(#name), NULL), PAWL_OK);
#define FILL(type, name) FILL_##type(name)

static void fill(pawl_result *r) {
  PAWL_RESULT_EFFECTS(FILL)
  PAWL_RESULT_FAILURE(FILL)
}

#define COUNT_FLAG(name) n += r->name != 0;
#define COUNT_TIME(name) n += r->name > 0;
#define COUNT_TEXT(name) n += r->name.len != 0;
#define COUNT_LIST(name) COUNT_TEXT(name)
#define COUNT(type, name) COUNT_##type(name)

static int effects(const pawl_result *r) {
  int n = 0;
  PAWL_RESULT_EFFECTS(COUNT)
  return n;
}

static int failures(const pawl_result *r) {
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
  pawl_result r;
  pawl_result_init(&r, &alloc);
  CHECK_INT(r.retry_after_us, -1);
  CHECK_INT(effects(&r) + failures(&r), 0);
  fill(&r);
  CHECK_INT(effects(&r), NEFFECTS);
  CHECK_INT(failures(&r), NFAILURES);
  pawl_result_drop_effects(&r);
  CHECK_INT(effects(&r), 0);
  CHECK_INT(failures(&r), NFAILURES);
  fill(&r);
  pawl_result_clear(&r);
  CHECK_INT(effects(&r) + failures(&r), 0);
  CHECK_INT(r.retry_after_us, -1);
  CHECK(counted.live_bytes > 0); /* kept for the next */
  pawl_result_deinit(&r);
  CHECK_INT(counted.live_bytes, 0);
}

static void a_result_moves_with_its_memory(void) {
  test_alloc counted = {0};
  pawl_alloc alloc = {test_alloc_fn, &counted};
  pawl_result from, to;
  int64_t live;
  pawl_result_init(&from, &alloc);
  pawl_result_init(&to, NULL);
  fill(&from);
  fill(&to);
  live = counted.live_bytes;
  pawl_result_move(&to, &from);
  CHECK_INT(counted.live_bytes, live);
  CHECK_INT(effects(&to), NEFFECTS);
  CHECK_INT(effects(&from) + failures(&from), 0);
  CHECK(from.vars.alloc == &alloc && to.vars.alloc == &alloc);
  pawl_result_deinit(&from);
  pawl_result_deinit(&to);
  CHECK_INT(counted.live_bytes, 0);
}

static void a_list_grows_whole_members_and_is_closed_once(void) {
  test_alloc counted = {0};
  pawl_alloc alloc = {test_alloc_fn, &counted};
  pawl_result r;
  pawl_error err;
  pawl_result_init(&r, &alloc);
  CHECK_INT(pawl_result_add(&r.emits, pawl_strz("{\"a\":1}"), &err), PAWL_OK);
  CHECK_INT(pawl_result_add(&r.emits, pawl_strz("{}"), &err), PAWL_OK);
  CHECK_INT(pawl_result_close(&r, &err), PAWL_OK);
  CHECK_TEXT(r.emits.at, "[{\"a\":1},{}]");
  CHECK_INT(r.starts.len, 0);
  pawl_result_clear(&r);
  counted.for_ever = 1;
  counted.fail_at = 1;
  CHECK_INT(pawl_result_add(&r.starts, pawl_strz("{}"), &err), PAWL_NOMEM);
  CHECK_INT(r.starts.len, 0);
  CHECK_INT(pawl_result_close(&r, &err), PAWL_NOMEM);
  pawl_result_deinit(&r);
  CHECK_INT(counted.live_bytes, 0);
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
  only_what_a_step_does_is_not_pure();
  return TEST_END;
}
