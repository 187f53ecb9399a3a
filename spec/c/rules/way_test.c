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

/* How, and behind ":" what was chosen. */
static const char *into(pawl_way_part part, const char *path,
                        const char *node) {
  static const char *const words[] = {"not",    "first", "chosen",
                                      "branch", "plain", "several"};
  static char told[64];
  pawl_str name = {NULL, 0};
  const pawl_way_in how =
      pawl_way_into(pawl_strz(path), part, pawl_strz(node), &name);

  if (how != PAWL_WAY_CHOSEN) return words[how];
  snprintf(told, sizeof told, "chosen:%.*s", (int)name.len, name.at);
  return told;
}

#define CHECK_INTO(path, node, how) \
  CHECK_TEXT(into(PAWL_WAY_ALL, path, node), how)

static void a_path_says_by_what_it_came(void) {
  CHECK_INTO("s", "s", "first");
  CHECK_INTO("s", "t", "not");
  CHECK_INTO("", "s", "not");
  CHECK_INTO("c=again > s", "s", "chosen:again");
  CHECK_INTO("=again > s", "s", "chosen:again");
  CHECK_INTO("c=again > s", "c", "first");
  CHECK_INTO("a=x > b=y > s", "s", "chosen:y");
  CHECK_INTO("a=x > b=y > s", "b", "chosen:x");
  CHECK_INTO("c=x=1, or 2 > s", "s", "chosen:x=1, or 2");
  CHECK_INTO("e > s", "s", "plain"); /* an each without items */
  CHECK_INTO("c=x > e > s", "s", "plain");
  CHECK_INTO("f (a, b)", "a", "branch");
  CHECK_INTO("f (a, b)", "b", "branch");
  CHECK_INTO(" (a, b)", "a", "branch"); /* a fork that is entered by itself */
  CHECK_INTO("f (a, g (b, c=x > d))", "d", "chosen:x");
  CHECK_INTO("f (a, g (b, c=x > d))", "b", "branch");
  CHECK_INTO("k; j; e", "e", "plain");
  CHECK_INTO("k; c=x > e", "e", "chosen:x");
}

static void what_came_twice_did_so_in_one_way_or_is_not_told(void) {
  CHECK_INTO("f (s, s)", "s", "branch");
  CHECK_INTO("f (c=l > s, d=l > s)", "s", "chosen:l");
  CHECK_INTO("f (c=l > s, d=r > s)", "s", "several");
  CHECK_INTO("s; s", "s", "several");
  CHECK_TEXT(into(PAWL_WAY_OWN, "s; s", "s"), "first");
  CHECK_TEXT(into(PAWL_WAY_LATER, "s; s", "s"), "plain");
  CHECK_TEXT(into(PAWL_WAY_OWN, "j; s", "s"), "not");
  CHECK_TEXT(into(PAWL_WAY_LATER, "s; j", "s"), "not");
  CHECK_TEXT(into(PAWL_WAY_LATER, "s", "s"), "not");
}

TEST_PART(way_test) {
  a_path_says_by_what_it_came();
  what_came_twice_did_so_in_one_way_or_is_not_told();
  a_node_is_found_where_it_is_named();
  a_part_of_a_name_is_none();
}
