/* Which nodes the path of a row names. */
#include "rules/way.h"
#include "kit.h"

static int64_t count(const char *path, const char *node) {
  return pawl_way_count(pawl_strz(path), pawl_strz(node));
}

static void a_node_is_found_where_it_is_named(void) {
  CHECK_INT(count("c", "c"), 1);
  CHECK_INT(count("c=again > s", "c"), 1);
  CHECK_INT(count("c=again > s", "s"), 1);
  CHECK_INT(count("c=again > s", "again"), 0); /* a transition */
  CHECK_INT(count("=again > c", "c"), 1);
  CHECK_INT(count("=c > s", "c"), 0);
  CHECK_INT(count("f (c=x > a, c=y > c)", "c"), 3);
  CHECK_INT(count("f (c=x > a, c=y > c)", "f"), 1);
  CHECK_INT(count("c; c", "c"), 2);
  CHECK_INT(count("j (dropped)", "j"), 1);
  CHECK_INT(count("", "c"), 0);
  CHECK_INT(pawl_way_count((pawl_str){NULL, 0}, pawl_strz("c")), 0);
}

static void a_part_of_a_name_is_none(void) {
  CHECK_INT(count("cc > ccc > c-c > c.c", "c"), 0);
  CHECK_INT(count("is big=yes > big", "big"), 1);
  CHECK_INT(count("is big=yes > big", "is big"), 1);
  CHECK_INT(count("ask (boss) > a, b", "ask (boss)"), 1);
  CHECK_INT(count("aab > aa > aaa", "aa"), 1);
}

TEST_PART(way_test) {
  a_node_is_found_where_it_is_named();
  a_part_of_a_name_is_none();
}
