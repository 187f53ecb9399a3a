/* How an instance stands: copied and compared member by member, and which
 * moves of its status are legal. */
#include "kit.h"

static void statuses_are_read_as_they_are_written(void) {
  pawl_standing s;
  for (int i = 0; i < PAWL_NSTATUSES; i++) {
    CHECK(
        pawl_status_parse(pawl_strz(pawl_status_name((pawl_standing)i)), &s));
    CHECK_INT(s, i);
  }
  CHECK(!pawl_status_parse(pawl_strz("runnin"), &s));
  CHECK(!pawl_status_parse(pawl_strz(""), &s));
  CHECK(pawl_status_has_ended(PAWL_STATUS_FAILED));
  CHECK(!pawl_status_has_ended(PAWL_STATUS_SUSPENDED));
}

static void an_end_is_left_only_to_go_on(void) { /* E1 */
  for (int from = 0; from < PAWL_NSTATUSES; from++)
    for (int to = 0; to < PAWL_NSTATUSES; to++) {
      int ended = pawl_status_has_ended((pawl_standing)from);
      int may = pawl_status_may_become((pawl_standing)from, (pawl_standing)to);
      if (to == PAWL_STATUS_CREATED)
        CHECK(!may);
      else
        CHECK_INT(may, !ended || !pawl_status_has_ended((pawl_standing)to));
    }
}

#define FILL_NUMBER(name) s->name = 7;
#define FILL_TIME(name) FILL_NUMBER(name##_us)
#define FILL_TEXT(name) pawl_buf_addz(&s->name, #name);
#define FILL_MARKS(name) \
  pawl_marks_add(&s->name, NULL, #name, 7, pawl_strz("k"));
#define FILL(type, name) FILL_##type(name)
static void fill(pawl_state *s) {
  PAWL_STATE_SELDOM(FILL)
  PAWL_STATE_USUAL(FILL)
}

#define SAME_NUMBER(name) CHECK_INT(b.name, 7);
#define SAME_TIME(name) SAME_NUMBER(name##_us)
#define SAME_TEXT(name) CHECK_TEXT(b.name.at, #name);
#define SAME_MARKS(name) CHECK(pawl_marks_same(&a.name, &b.name));
#define SAME(type, name) SAME_##type(name)
#define CLEAR_NUMBER(name) b.name = 0;
#define CLEAR_TIME(name) CLEAR_NUMBER(name##_us)
#define CLEAR_TEXT(name) pawl_buf_clear(&b.name);
#define CLEAR_MARKS(name) pawl_marks_clear(&b.name);
#define APART(type, name)               \
  CLEAR_##type(name);                   \
  CHECK(pawl_state_differs(&a, &b));    \
  CHECK(pawl_state_copy(&b, &a, NULL)); \
  CHECK(!pawl_state_differs(&a, &b));

static void a_copy_has_every_member(void) {
  pawl_state a, b;
  pawl_state_init(&a, NULL);
  pawl_state_init(&b, NULL);
  CHECK(!pawl_state_differs(&a, &b));
  fill(&a);
  a.status = PAWL_STATUS_WAITING;
  CHECK(pawl_state_differs(&a, &b));
  CHECK(pawl_state_copy(&b, &a, NULL));
  CHECK_INT(b.status, PAWL_STATUS_WAITING);
  PAWL_STATE_SELDOM(SAME)
  PAWL_STATE_USUAL(SAME)
  PAWL_STATE_SELDOM(APART)
  pawl_state_clear(&b);
  CHECK_INT(b.visit, 0);
  CHECK_INT(b.joined.n, 0);
  CHECK(pawl_state_differs(&a, &b));
  pawl_state_deinit(&a, NULL);
  pawl_state_deinit(&b, NULL);
}

static void without_memory_it_has_failed(void) {
  test_alloc counted = {.fail_at = 1, .for_ever = 1};
  pawl_alloc alloc = {test_alloc_fn, &counted};
  pawl_state a, b;
  pawl_state_init(&a, NULL);
  pawl_state_init(&b, &alloc);
  fill(&a);
  CHECK(!pawl_state_copy(&b, &a, &alloc));
  CHECK(pawl_state_has_failed(&b));
  CHECK(!pawl_state_has_failed(&a));
  pawl_state_deinit(&a, NULL);
  pawl_state_deinit(&b, &alloc);
}

TEST_PART(state_test) {
  statuses_are_read_as_they_are_written();
  an_end_is_left_only_to_go_on();
  a_copy_has_every_member();
  without_memory_it_has_failed();
}
