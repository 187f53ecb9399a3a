/* The `wake` of a config: who is told, in which thread, and until when. */
#define _XOPEN_SOURCE 700 /* mkdtemp */

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/base/fault.h"
#include "pgbase.h"
#include "test.h"
#include "zoo.h"

static const char FLOW[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'wa.ke', start = 'a' }\n"
    "w:wait('a', { event = 'go', next = 'b' })\n"
    "w:task('b', { title = 'Do', roles = { 'clerk' }, next = 'c' })\n"
    "w:step('c', { next = 'z', run = function(ctx)\n"
    "  ctx.start('wa.ke', nil, { key = 'child' }) end })\n"
    "w:finish('z')\n"
    "return w\n";

typedef struct sleeper {
  atomic_int times;
  pthread_t thread; /* that told it last */
  pawl_engine *e;
} sleeper;

static void on_wake(void *ud) {
  sleeper *s = ud;
  s->times++;
  s->thread = pthread_self();
}

static pawl_engine *open_it(const char *url, const zoo_clock *clock,
                            sleeper *s) {
  pawl_config c = PAWL_CONFIG_INIT;
  pawl_engine *e = NULL;
  pawl_error err = {0};
  c.wake = s ? on_wake : NULL;
  c.wake_ud = s;
  c.clock = clock ? zoo_now : NULL;
  c.clock_ud = (void *)(uintptr_t)clock;
  if (!CHECK_INT(pawl_open(url, &c, &e, &err), PAWL_OK) ||
      !CHECK_INT(pawl_load_text(e, "w", FLOW, NULL, &err), PAWL_OK)) {
    printf("  %s\n", err.message);
    exit(1);
  }
  return e;
}

/* How often it was told since. */
static int taken(sleeper *s) {
  return atomic_exchange(&s->times, 0);
}

static void start(pawl_engine *e, const char *options, char id[37]) {
  pawl_error err = {0};
  if (!CHECK_INT(pawl_start(e, "wa.ke", NULL, options, id, NULL, &err),
                 PAWL_OK))
    printf("  %s\n", err.message);
}

static void tick(pawl_engine *e) {
  CHECK_INT(pawl_tick(e, 1000000, NULL, NULL), PAWL_OK);
}

static void do_task(pawl_engine *e) {
  char *text = NULL, id[37] = "";
  CHECK_INT(pawl_task_list(e, NULL, &text, NULL), PAWL_OK);
  CHECK_INT(pawl_text(text, "[0].id", id, sizeof id, NULL, NULL), PAWL_OK);
  pawl_free(e, text);
  CHECK_INT(pawl_task_change(e, id,
                             "{\"kind\":\"complete\",\"by\":\"a\","
                             "\"override\":true}",
                             NULL, NULL),
            PAWL_OK);
}

/* By each call that makes something due; not by its own ticks, nor by calls
 * that only ask. */
static void who_calls_is_told(const char *url) {
  zoo_clock clock = {INT64_C(1800000000000000)};
  sleeper s = {0};
  pawl_engine *e = open_it(url, &clock, &s);
  char id[37], later[37], *text = NULL;

  (void)taken(&s);
  start(e, NULL, id);
  CHECK(taken(&s) > 0);
  CHECK(pthread_equal(s.thread, pthread_self()));
  start(e, "{\"delay_us\":3600000000}", later); /* to be looked at then */
  CHECK(taken(&s) > 0);
  tick(e);
  CHECK_INT(pawl_get(e, id, &text, NULL), PAWL_OK);
  pawl_free(e, text);
  CHECK_INT(pawl_signal(e, "{\"name\":\"nobody\"}", NULL, NULL, NULL),
            PAWL_OK);
  CHECK_INT(taken(&s), 0);
  CHECK_INT(pawl_transaction_begin(e, NULL), PAWL_OK);
  CHECK_INT(pawl_signal(e, "{\"name\":\"go\"}", NULL, NULL, NULL), PAWL_OK);
  CHECK_INT(taken(&s), 0); /* nobody can see it yet */
  CHECK_INT(pawl_transaction_commit(e, NULL), PAWL_OK);
  CHECK(taken(&s) > 0);
  tick(e);
  do_task(e);
  CHECK(taken(&s) > 0);
  tick(e); /* starts another one */
  CHECK_INT(taken(&s), 0);
  CHECK_INT(pawl_change(e, later, "{\"kind\":\"wake\"}", NULL, NULL, NULL),
            PAWL_OK);
  CHECK(taken(&s) > 0);
  CHECK_INT(pawl_close(e), PAWL_OK);
  CHECK_INT(taken(&s), 0);
}

/* Checks are the main thread's; NULL: it went well. */
static void *start_there(void *e) {
  char id[37];
  return pawl_start(e, "wa.ke", NULL, NULL, id, NULL, NULL) == PAWL_OK ? NULL
                                                                       : e;
}

/* Of the same process, on the same store, whatever its name is; until it is
 * closed. */
static void others_are_told(const char *url, const char *same) {
  sleeper s = {0}, elsewhere = {0};
  pawl_engine *sleeps = open_it(url, NULL, &s),
              *starts = open_it(same, NULL, NULL);
  pawl_engine *apart = open_it(":memory:", NULL, &elsewhere);
  pthread_t thread;
  void *failed;
  char id[37];

  (void)taken(&s);
  CHECK_INT(pthread_create(&thread, NULL, start_there, starts), 0);
  pthread_join(thread, &failed);
  CHECK(!failed);
  CHECK(taken(&s) > 0);
  CHECK(!pthread_equal(s.thread, pthread_self()));
  CHECK_INT(taken(&elsewhere), 0);
  tick(starts);
  (void)taken(&s);
  CHECK_INT(pawl_signal(starts, "{\"name\":\"go\"}", NULL, NULL, NULL),
            PAWL_OK);
  CHECK(taken(&s) > 0);
  CHECK_INT(pawl_close(sleeps), PAWL_OK);
  (void)taken(&s);
  start(starts, NULL, id);
  CHECK_INT(taken(&s), 0);
  CHECK_INT(pawl_close(starts), PAWL_OK);
  CHECK_INT(pawl_close(apart), PAWL_OK);
}

/* What is called in a `wake` of another engine's call, of the engine that is
 * told, and of the one that tells. */
typedef struct curious {
  pawl_engine *own, *teller;
  int times, wrong;
} curious;

static int is_refused(pawl_engine *e) {
  int64_t due_us;
  char *text = NULL;
  const char *status;
  char id[37];

  return pawl_tick(e, 0, NULL, NULL) == PAWL_MISUSE &&
         pawl_wait(e, 0, NULL) == PAWL_MISUSE &&
         pawl_next_due(e, &due_us, NULL) == PAWL_MISUSE &&
         pawl_save(e, NULL) == PAWL_MISUSE &&
         pawl_start(e, "wa.ke", NULL, NULL, id, NULL, NULL) == PAWL_MISUSE &&
         pawl_list(e, NULL, &text, NULL) == PAWL_MISUSE &&
         pawl_status(e, "00000000-0000-7000-8000-000000000000", &status,
                     NULL) == PAWL_MISUSE &&
         pawl_transaction_begin(e, NULL) == PAWL_MISUSE &&
         pawl_close(e) == PAWL_MISUSE;
}

static void on_curious(void *ud) {
  curious *c = ud;

  if (!c->own) return;
  c->times++;
  c->wrong += !is_refused(c->own) + !is_refused(c->teller);
  pawl_interrupt(c->own);
}

/* None of it hangs, whosever thread it is. */
static void who_is_told_calls_nothing(const char *url) {
  pawl_config config = PAWL_CONFIG_INIT;
  curious c = {0};
  pawl_engine *own = NULL;
  pthread_t thread;
  void *failed;
  char id[37];

  config.wake = on_curious;
  config.wake_ud = &c;
  CHECK_INT(pawl_open(url, &config, &own, NULL), PAWL_OK);
  c.teller = open_it(url, NULL, NULL);
  c.own = own;
  start(c.teller, NULL, id);
  CHECK(c.times > 0);
  c.times = 0;
  CHECK_INT(pthread_create(&thread, NULL, start_there, c.teller), 0);
  pthread_join(thread, &failed);
  CHECK(!failed);
  CHECK(c.times > 0);
  CHECK_INT(c.wrong, 0);
  tick(c.teller);
  CHECK_INT(pawl_close(c.teller), PAWL_OK);
  c.own = NULL;
  start(own, NULL, id); /* it goes on as if nothing had been called */
  CHECK_INT(pawl_close(own), PAWL_OK);
}

typedef struct crowd {
  const char *url;
  atomic_int over, failed;
} crowd;

static void *open_and_close(void *ud) {
  crowd *c = ud;
  while (!c->over) {
    sleeper *s = calloc(1, sizeof *s); /* gone when it is closed */
    pawl_config config = PAWL_CONFIG_INIT;
    pawl_engine *e = NULL;
    config.wake = on_wake;
    config.wake_ud = s;
    c->failed += pawl_open(c->url, &config, &e, NULL) != PAWL_OK;
    c->failed += pawl_close(e) != PAWL_OK;
    free(s);
  }
  return NULL;
}

/* Who is told meanwhile is closed after that. */
static void nobody_is_told_once_closed(const char *url) {
  crowd c = {.url = url};
  pawl_engine *e = open_it(url, NULL, NULL);
  pthread_t thread;
  char id[37];

  CHECK_INT(pthread_create(&thread, NULL, open_and_close, &c), 0);
  for (int i = 0; i < 200; i++) start(e, NULL, id);
  c.over = 1;
  pthread_join(thread, NULL);
  CHECK_INT(c.failed, 0);
  CHECK_INT(pawl_close(e), PAWL_OK);
}

/* What a child has of its parent's engine it cannot give back, and nobody is
 * to look for it: no exit of this program. */
static void leave(int failed) {
  const char *code = failed ? "exit 1" : "exit 0";
  (void)execl("/bin/sh", "sh", "-c", code, (char *)NULL);
  _exit(1);
}

/* A child's engines tell one another, and not those that it has left. */
static void a_child_begins_anew(const char *url) {
  sleeper s = {0}, own = {0};
  pawl_engine *e = open_it(url, NULL, &s);
  char id[37];
  int status = -1;
  pid_t pid = fork();

  (void)taken(&s);
  if (pid == 0) {
    pawl_engine *in_child = open_it(url, NULL, &own);
    start(in_child, NULL, id);
    status = taken(&s) == 0 && taken(&own) > 0;
    (void)pawl_close(e); /* frees memory only */
    status &= pawl_close(in_child) == PAWL_OK;
    leave(!status);
  }
  waitpid(pid, &status, 0);
  CHECK_INT(status, 0);
  CHECK_INT(taken(&s), 0);
  start(e, NULL, id);
  CHECK(taken(&s) > 0);
  CHECK_INT(pawl_close(e), PAWL_OK);
}

/* The same where the child's own tell of nothing: not its parent's, whether or
 * not the child has closed those. */
static void a_child_tells_nobody_else(const char *url, int closes) {
  sleeper s = {0};
  pawl_engine *e = open_it(url, NULL, &s);
  char id[37];
  int status = -1;
  pid_t pid = fork();

  (void)taken(&s);
  if (pid == 0) {
    if (closes) (void)pawl_close(e);
    pawl_engine *in_child = open_it(url, NULL, NULL);
    start(in_child, NULL, id);
    status = taken(&s) == 0 && pawl_close(in_child) == PAWL_OK;
    if (!closes) (void)pawl_close(e);
    leave(!status);
  }
  waitpid(pid, &status, 0);
  CHECK_INT(status, 0);
  start(e, NULL, id);
  CHECK(taken(&s) > 0);
  CHECK_INT(pawl_close(e), PAWL_OK);
}

#ifdef PAWL_TESTING
static const char *locked_url;
static int locked_status;

/* Its lock is held at this moment, and in the child nobody gives it back. */
static void fork_locked(const char *point) {
  char id[37];
  pid_t pid = fork();

  (void)point;
  pawl_fault_set(NULL);
  if (pid == 0) {
    sleeper own = {0};
    alarm(20);
    pawl_engine *e = open_it(locked_url, NULL, &own);
    start(e, NULL, id);
    leave(taken(&own) == 0 || pawl_close(e) != PAWL_OK);
  }
  waitpid(pid, &locked_status, 0);
}

static void a_child_needs_no_lock_of_its_parents(const char *url) {
  pawl_engine *e = open_it(url, NULL, NULL);
  char id[37];

  locked_url = url;
  locked_status = -1;
  pawl_fault_hook(fork_locked);
  pawl_fault_set("wake.locked=call");
  start(e, NULL, id);
  CHECK_INT(locked_status, 0);
  CHECK_INT(pawl_close(e), PAWL_OK);
}
#else
static void a_child_needs_no_lock_of_its_parents(const char *url) {
  (void)url;
}
#endif

static void start_in_child(const char *url) {
  int status = -1;
  pid_t pid = fork();

  if (pid == 0) {
    char id[37];
    pawl_engine *e = open_it(url, NULL, NULL);
    start(e, NULL, id);
    (void)pawl_close(e);
    leave(test_failed > 0);
  }
  waitpid(pid, &status, 0);
  CHECK_INT(status, 0);
}

/* From another process, when pawl_wait takes it in. */
static void a_notification_is_told(const char *url) {
  sleeper s = {0};
  pawl_engine *e = open_it(url, NULL, &s);

  tick(e);
  CHECK_INT(pawl_wait(e, 1000, NULL), PAWL_OK); /* it listens */
  (void)taken(&s);
  start_in_child(url);
  CHECK_INT(taken(&s), 0);
  for (int i = 0; i < 50 && !s.times; i++)
    CHECK_INT(pawl_wait(e, 1000000, NULL), PAWL_OK);
  CHECK(taken(&s) > 0);
  CHECK_INT(pawl_close(e), PAWL_OK);
}

int main(void) {
  char folder[] = "/tmp/pawl-wake.XXXXXX", url[80], same[90];
  static const char *const ENDS[] = {"", "-wal", "-shm", "-pawl-lock"};
  if (!mkdtemp(folder)) return 1;
  snprintf(url, sizeof url, "%s/wake.db", folder);
  snprintf(same, sizeof same, "sqlite:%s/../%s/wake.db", folder, folder + 5);
  who_calls_is_told(":memory:");
  who_calls_is_told(url);
  others_are_told(url, same);
  who_is_told_calls_nothing(url);
  nobody_is_told_once_closed(url);
  a_child_begins_anew(url);
  a_child_tells_nobody_else(url, 0);
  a_child_tells_nobody_else(url, 1);
  a_child_needs_no_lock_of_its_parents(url);
  if (pgbase_make("wake")) {
    who_calls_is_told(pgbase_url);
    others_are_told(pgbase_url, pgbase_url);
    who_is_told_calls_nothing(pgbase_url);
    a_child_begins_anew(pgbase_url);
    a_notification_is_told(pgbase_url);
    pgbase_drop("wake");
  }
  for (int i = 0; i < 4; i++) {
    snprintf(same, sizeof same, "%s%s", url, ENDS[i]);
    unlink(same);
  }
  rmdir(folder);
  return TEST_END;
}
