#define _DEFAULT_SOURCE /* fork, kill */
#include "../../src/base/process.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/base/clock.h"
#include "test.h"

/* A child that says who it is and then waits to be killed. */
static pid_t start_child(pawl_process *who) {
  int ends[2];
  pid_t child;

  if (pipe(ends) != 0) abort();
  child = fork();
  if (child < 0) abort();
  if (child == 0) {
    pawl_process me;
    pawl_process_self(&me);
    if (write(ends[1], &me, sizeof me) != sizeof me) _exit(1);
    for (;;) pause();
  }
  if (read(ends[0], who, sizeof *who) != sizeof *who) abort();
  close(ends[0]);
  close(ends[1]);
  return child;
}

static void a_process_knows_itself(void) {
  pawl_process me;
  pawl_process_self(&me);
  CHECK(me.host[0] != '\0');
  CHECK_INT(me.pid, getpid());
#ifdef __linux__
  CHECK_INT(strlen(me.boot), 36);
  CHECK(strncmp(me.space, "pid:[", 5) == 0);
  CHECK(me.begun > 0);
#endif
  CHECK(!pawl_process_is_gone(&me, &me));
}

#ifdef __linux__

static void a_killed_process_is_gone(void) {
  pawl_process me, other;
  pid_t child = start_child(&other);
  int i;

  pawl_process_self(&me);
  CHECK_INT(other.pid, child);
  CHECK(!pawl_process_is_gone(&me, &other));
  kill(child, SIGSTOP); /* stalled is not gone */
  CHECK(!pawl_process_is_gone(&me, &other));
  kill(child, SIGKILL);
  for (i = 0; i < 5000 && !pawl_process_is_gone(&me, &other); i++)
    pawl_sleep_us(1000);
  CHECK(pawl_process_is_gone(&me, &other)); /* a zombie: nobody waited yet */
  waitpid(child, NULL, 0);
  CHECK(pawl_process_is_gone(&me, &other)); /* and no such pid at all */
}

static void a_pid_used_again_is_another_process(void) {
  pawl_process me, other;
  pid_t child = start_child(&other);
  pawl_process_self(&me);
  other.begun -= 1;
  CHECK(pawl_process_is_gone(&me, &other));
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

/* Nothing is certain about a process of elsewhere, whatever its pid. */
static void others_are_never_found_gone(void) {
  pawl_process me, gone, other;
  pid_t child = start_child(&gone);

  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  pawl_process_self(&me);
  CHECK(pawl_process_is_gone(&me, &gone));
  other = gone;
  other.host[0] ^= 1;
  CHECK(!pawl_process_is_gone(&me, &other));
  other = gone;
  other.boot[0] ^= 1;
  CHECK(!pawl_process_is_gone(&me, &other));
  other = gone;
  other.space[5] ^= 1;
  CHECK(!pawl_process_is_gone(&me, &other));
  other = gone;
  other.boot[0] = '\0';
  CHECK(!pawl_process_is_gone(&me, &other));
  CHECK(!pawl_process_is_gone(&other, &other));
  other = gone;
  other.pid = 0;
  CHECK(!pawl_process_is_gone(&me, &other));
  other.pid = -1;
  CHECK(!pawl_process_is_gone(&me, &other));
  other.pid = INT64_C(1) << 40;
  CHECK(!pawl_process_is_gone(&me, &other));
  other = gone;
  other.begun = 0;
  CHECK(!pawl_process_is_gone(&me, &other));
}

static int busy_pipe[2];

static void *outlive_main(void *arg) {
  pawl_process me;
  (void)arg;
  pawl_process_self(&me);
  pawl_sleep_us(50000); /* the first thread leaves meanwhile */
  if (write(busy_pipe[1], &me, sizeof me) != sizeof me) _exit(1);
  for (;;) pause();
  return NULL;
}

/* The kernel shows such a process as a zombie, too. */
static void a_process_without_its_first_thread_lives(void) {
  pawl_process me, other;
  pid_t child;

  if (pipe(busy_pipe) != 0) abort();
  child = fork();
  if (child < 0) abort();
  if (child == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, outlive_main, NULL) != 0) _exit(1);
    pthread_exit(NULL);
  }
  if (read(busy_pipe[0], &other, sizeof other) != sizeof other) abort();
  pawl_process_self(&me);
  CHECK(!pawl_process_is_gone(&me, &other));
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  CHECK(pawl_process_is_gone(&me, &other));
}

/* /proc/PID/stat gives the name in brackets, unescaped. */
static void a_name_with_brackets_is_no_trap(void) {
  pawl_process me, again;
  FILE *name;
  pawl_process_self(&me);
  name = fopen("/proc/self/comm", "w");
  if (!CHECK(name != NULL)) return;
  fputs("x) Z 1 1 1 (", name);
  fclose(name);
  pawl_process_self(&again);
  CHECK_INT(again.begun, me.begun);
  CHECK(!pawl_process_is_gone(&me, &again));
}

#endif

int main(void) {
  a_process_knows_itself();
#ifdef __linux__
  a_killed_process_is_gone();
  a_pid_used_again_is_another_process();
  others_are_never_found_gone();
  a_process_without_its_first_thread_lives();
  a_name_with_brackets_is_no_trap();
#endif
  return TEST_END;
}
