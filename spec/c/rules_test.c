/* Each file of src/rules by itself: the parts are in spec/c/rules. */
#define PAWL_TEST_PART
#include "test.h"

int test_passed, test_failed;

#define PART(name) void name(void);
#include "rules_parts.h"
#undef PART

int main(void) {
#define PART(name) name();
#include "rules_parts.h"
#undef PART
  return TEST_END;
}
