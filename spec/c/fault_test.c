#define _POSIX_C_SOURCE 200809L /* fork, setenv */
#include "../../src/base/fault.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#ifdef PAWL_TESTING

/* The signal that ended a child which passed `point` so often; 0: none. */
static int end_of_child(const char *spec, const char *point, int times) {
  pid_t child;
  int status = 0;

  fflush(stdout);
  child = fork();
  if (child < 0) abort();
  if (child == 0) {
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    fclose(stderr);
    pawl_fault_set(spec);
    while (times-- > 0) pawl_fault_at(point);
    _exit(0);
  }
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void the_environment_is_read_once(void) {
  setenv("PAWL_FAULT", "a=drop@2,b=fail,a=fail@3", 1);
  CHECK_INT(PAWL_FAULT("a"), PAWL_FAULT_NONE);
  setenv("PAWL_FAULT", "a=fail", 1);
  CHECK_INT(PAWL_FAULT("a"), PAWL_FAULT_DROP);
  CHECK_INT(PAWL_FAULT("a"), PAWL_FAULT_FAIL);
  CHECK_INT(PAWL_FAULT("a"), PAWL_FAULT_NONE);
  CHECK_INT(PAWL_FAULT("b"), PAWL_FAULT_FAIL);
  CHECK_INT(PAWL_FAULT("b"), PAWL_FAULT_NONE);
  CHECK_INT(PAWL_FAULT("c"), PAWL_FAULT_NONE);
}

static void setting_begins_to_count_again(void) {
  pawl_fault_set("a=drop@2");
  CHECK_INT(PAWL_FAULT("a"), PAWL_FAULT_NONE);
  pawl_fault_set("a=drop@2");
  CHECK_INT(PAWL_FAULT("a"), PAWL_FAULT_NONE);
  CHECK_INT(PAWL_FAULT("a"), PAWL_FAULT_DROP);
  pawl_fault_set(NULL);
  CHECK_INT(PAWL_FAULT("a"), PAWL_FAULT_NONE);
  pawl_fault_set("");
  CHECK_INT(PAWL_FAULT("a"), PAWL_FAULT_NONE);
}

static void kill_kills(void) {
  CHECK_INT(end_of_child("a=kill@3", "a", 2), 0);
  CHECK_INT(end_of_child("a=kill@3", "a", 3), SIGKILL);
  CHECK_INT(end_of_child("b=drop,a=kill", "a", 1), SIGKILL);
}

static void a_wrong_spec_is_not_passed_over(void) {
  /* clang-format off */
  static const char *const wrong[] = {"a", "a=", "=kill", "a=die", "a=kill@",
                                      "a=kill@0", "a=kill@x", "a=kill@1x",
                                      "a,b=kill", "a=kill,,b=kill"};
  /* clang-format on */
  size_t i;
  for (i = 0; i < sizeof wrong / sizeof *wrong; i++)
    if (!CHECK_INT(end_of_child(wrong[i], "z", 0), SIGABRT))
      printf("  %s\n", wrong[i]);
}

int main(void) {
  the_environment_is_read_once();
  setting_begins_to_count_again();
  kill_kills();
  a_wrong_spec_is_not_passed_over();
  return TEST_END;
}

#else

/* Without PAWL_TESTING a point is a constant, and nothing reads the rest. */
int main(void) {
  setenv("PAWL_FAULT", "a=kill", 1);
  CHECK_INT(PAWL_FAULT("a"), PAWL_FAULT_NONE);
  return TEST_END;
}

#endif
