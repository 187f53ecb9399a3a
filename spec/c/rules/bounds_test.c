/* What one instance of a limited definition may have, and no other. */
#include "kit.h"
#include "rules/stored.h"

#define NESTED \
  "'start':'a','nodes':[{'name':'a','kind':'fork',"                  \
  "'next':{'x':'b','y':'c'}}," KIT_STEP("b", "j") ",{'name':'c',"    \
  "'kind':'fork','next':{'x':'d','y':'e'}}," KIT_STEP("d", "i") "," KIT_STEP( \
      "e", "i") ",{'name':'i','kind':'join','next':'j'},"            \
                "{'name':'j','kind':'join','next':'z'}," KIT_FINISH "]"

static void limit(kit *k, int64_t variables, int64_t bytes, int64_t tokens) {
  k->def->is_limited = 1;
  k->def->per_instance[PAWL_BOUND_VARIABLES] = variables;
  k->def->per_instance[PAWL_BOUND_BYTES] = bytes;
  k->def->per_instance[PAWL_BOUND_TOKENS] = tokens;
}

static void forks_bear(int64_t most, int is_limited, const char *status) {
  kit k;
  kit_open(&k, NESTED);
  limit(&k, 1, 100, most);
  k.def->is_limited = is_limited;
  kit_run(&k);
  CHECK_STATUS(&k, status);
  if (strcmp(status, "failed") == 0) {
    CHECK_HAS(k.d.plan.error, "tokens: the instance would have 3; 2 are");
    CHECK_INT(k.result.no_retry, 1);
  }
  kit_close(&k);
}

static void forks_have_so_many_tokens(void) {
  forks_bear(3, 1, "completed");
  forks_bear(2, 1, "failed");
  forks_bear(2, 0, "completed");
}

static void bears(const char *vars, const char *why) {
  kit k;
  pawl_error err = {0};
  kit_open(&k, "'start':'a','nodes':[" KIT_STEP("a", "z") "," KIT_FINISH "]");
  limit(&k, 2, 19, 1);
  kit_decide(&k);
  CHECK_INT(pawl_vars_bear(&k.d, pawl_strz(vars), &err),
            why ? PAWL_LIMIT : PAWL_OK);
  if (why) CHECK(strstr(err.message, why) != NULL);
  k.def->is_limited = 0;
  CHECK_INT(pawl_vars_bear(&k.d, pawl_strz(vars), &err), PAWL_OK);
  kit_close(&k);
}

static void variables_are_counted_and_weighed(void) {
  bears("{}", NULL);
  bears("{\"a\":1,\"b\":1234567}", NULL); /* 19 bytes */
  bears("{\"a\":1,\"b\":12345678}", "bytes: the instance would have 20; 19");
  bears("{\"a\":1,\"b\":2,\"c\":3}",
        "variables: the instance would have 3; 2");
}

/* With a place that says how many there are above it. */
static void starts_bear(const char *place, int64_t most, int is_limited,
                        int64_t below, pawl_code itself, pawl_code child) {
  kit k;
  pawl_error err = {0};
  kit_open(&k, "'start':'a','nodes':[" KIT_STEP("a", "z") "," KIT_FINISH "]");
  limit(&k, 1, 100, 1);
  k.def->per_instance[PAWL_BOUND_ANCESTORS] = most;
  k.def->is_limited = is_limited;
  pawl_buf_addz(&k.d.parent_place, place);
  kit_run(&k);
  CHECK_INT(pawl_ancestors_below(&k.d), below);
  CHECK_INT(pawl_ancestors_bear(&k.d, &err), itself);
  CHECK_INT(pawl_starts_bear(&k.d, &err), child);
  CHECK_STATUS(&k, itself == PAWL_OK ? "completed" : "failed");
  kit_close(&k);
}

static void ancestors_are_counted_from_the_first_that_is_limited(void) {
  starts_bear("", 1, 1, 1, PAWL_OK, PAWL_OK);
  starts_bear("{\"ancestors\":1}", 1, 1, 2, PAWL_OK, PAWL_LIMIT);
  starts_bear("{\"node\":\"a\",\"ancestors\":2}", 1, 1, 3, PAWL_LIMIT,
              PAWL_LIMIT);
  starts_bear("{\"node\":\"a\"}", 1, 0, 0, PAWL_OK, PAWL_OK);
  starts_bear("{\"ancestors\":2}", 1, 0, 3, PAWL_OK, PAWL_OK);
}

TEST_PART(bounds_test) {
  forks_have_so_many_tokens();
  variables_are_counted_and_weighed();
  ancestors_are_counted_from_the_first_that_is_limited();
}
