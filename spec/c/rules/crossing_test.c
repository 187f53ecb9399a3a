/* Can a token go to another version? Its node has to be there, of a kind that
 * waits for the same, inside the same forks. */
#include "rules/crossing.h"

#include "kit.h"

#define OLD \
  "'start':'f','nodes':[{'name':'f','kind':'fork',"                     \
  "'next':{'a':'a','w':'w'}}," KIT_STEP("a", "j") ",{'name':'w',"       \
  "'kind':'wait','event':'e','next':'j'},{'name':'j','kind':'join',"    \
  "'next':'b'}," KIT_STEP("b", "z") "," KIT_FINISH "]"

/* Why a token at `node`, inside `fork` (NULL: none), cannot cross; "": it can.
 * `want`: what is said of it. */
static void crosses(const char *other, const char *map, const char *node,
                    const char *fork, const char *want) {
  pawl_crossing c = {.from = kit_def(OLD, 1), .to = kit_def(other, 2)};
  pawl_place place = {.no = 3, .waiting = 1, .node = node};
  pawl_buf why = {0};
  pawl_error err;

  c.map = map ? pawl_strz(map) : (pawl_str){0};
  if (fork) place.forks[place.depth++] = fork;
  CHECK_INT(pawl_spots_new(c.from, &c.left, &err), PAWL_OK);
  CHECK_INT(pawl_spots_new(c.to, &c.right, &err), PAWL_OK);
  CHECK_INT(pawl_crossing_check(&c, &place, &why, &err), PAWL_OK);
  CHECK_BUF(why, want);
  pawl_buf_deinit(&why);
  pawl_spots_free(c.left);
  pawl_spots_free(c.right);
  pawl_def_free(c.from);
  pawl_def_free(c.to);
}

static void names_are_mapped(void) {
  pawl_buf out = {0};
  pawl_str map = pawl_strz("{\"a\":\"b\",\"q\\\"\":\"c\"}");
  pawl_map_name(map, "a", &out);
  CHECK_BUF(out, "b");
  pawl_map_name(map, "q\"", &out);
  CHECK_BUF(out, "c");
  pawl_map_name(map, "b", &out); /* one that is not in it stays */
  CHECK_BUF(out, "b");
  pawl_map_name(map, "a.on_timer", &out); /* what is on it goes with it, */
  CHECK_BUF(out, "b.on_timer");
  pawl_map_name(map, "a.on_event_2.run", &out); /* and what that leads to */
  CHECK_BUF(out, "b.on_event_2.run");
  pawl_map_name(map, "d.on_timer", &out);
  CHECK_BUF(out, "d.on_timer");
  pawl_map_name(pawl_strz("{\"a\":\"b\",\"a.on_timer\":\"c\"}"), "a.on_timer",
                &out);
  CHECK_BUF(out, "c");
  pawl_map_name((pawl_str){0}, "a.on_timer", &out);
  CHECK_BUF(out, "a.on_timer");
  pawl_map_name((pawl_str){0}, "a", &out);
  CHECK_BUF(out, "a");
  pawl_buf_deinit(&out);
}

#define ONE "'start':'b','nodes':[" KIT_STEP("b", "z") "," KIT_FINISH "]"
#define TASK \
  "'start':'f','nodes':[{'name':'f','kind':'fork',"                   \
  "'next':{'a':'a','w':'w'}}," KIT_STEP("a", "j") ",{'name':'w',"     \
  "'kind':'task','task':{'title':'t'},'next':'j'},{'name':'j',"       \
  "'kind':'join','next':'b'}," KIT_STEP("b", "z") "," KIT_FINISH "]"

TEST_PART(crossing_test) {
  names_are_mapped();
  crosses(OLD, NULL, "w", "f", "");
  crosses(OLD, NULL, NULL, NULL, ""); /* it has not begun */
  crosses(ONE, NULL, "b", NULL, "");
  crosses(ONE, NULL, "w", "f", "version 2 has no node 'w'");
  crosses(TASK, NULL, "a", "f", "");
  crosses(TASK, NULL, "w", "f", "'w' is a wait, and 'w' of version 2 a task");
  crosses(ONE, "{\"a\":\"b\"}", "a", "f",
          "version 2 has no node 'f', which token 3 came from");
  crosses(OLD, "{\"a\":\"b\"}", "a", "f",
          "'b' stands outside all forks in version 2, and this token inside "
          "'f'");
}
