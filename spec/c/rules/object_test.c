/* JSON objects, changed member by member. */
#include "kit.h"

static void set(const char *object, const char *name, const char *value,
                const char *want) {
  pawl_buf b = {0};
  pawl_buf_addz(&b, object);
  pawl_object_set(&b, name, value ? pawl_strz(value) : (pawl_str){0});
  CHECK_BUF(b, want);
  pawl_buf_deinit(&b);
}

TEST_PART(object_test) {
  pawl_buf b = {0};
  set("", "a", "1", "{'a':1}");
  set("{\"a\":1}", "a", "2", "{'a':2}");
  set("{\"a\":1,\"b\":[2]}", "a", "null", "{'b':[2],'a':null}");
  set("{\"a\":1,\"b\":2}", "b", NULL, "{'a':1}");
  set("{\"a\":1}", "a", NULL, ""); /* nothing is left */
  set("{\"a\":1}", "c", NULL, "{'a':1}");
  set("{\"a\":1}", "", "2", "{'a':1,'':2}");
  pawl_object_set(&b, "q\"", pawl_strz("1"));
  pawl_object_set(&b, "q\"", pawl_strz("2"));
  CHECK_STR(pawl_buf_str(&b), "{\"q\\\"\":2}");
  pawl_object_merge(&b, pawl_strz("{\"a\":1,\"q\\\"\":3}"));
  CHECK_STR(pawl_buf_str(&b), "{\"a\":1,\"q\\\"\":3}");
  pawl_object_merge(&b, pawl_strz("{}"));
  CHECK_STR(pawl_buf_str(&b), "{\"a\":1,\"q\\\"\":3}");
  pawl_buf_deinit(&b);
}
