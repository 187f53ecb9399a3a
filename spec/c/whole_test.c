/* Memory that is refused to calls that act. In a transaction of the program's
 * own such a call is done, or nothing of it is, whichever request is refused:
 * that one alone, or all from there on. By themselves starts say how many they
 * have stored, or have stored nothing; an import that has stored all says so.
 */
#define _XOPEN_SOURCE 700 /* popen */

#include "../../src/pawl.h"
#include "pgbase.h"
#include "test.h"

enum { MANY = 60, PG_STEP = 5 };

static const char FLOW[] =
    "local w = require 'pawl'.workflow { code = 'wh.a', start = 'f' }\n"
    "w:fork('f', { next = { 'w', 't' } })\n"
    "w:wait('w', { event = 'go', key = function() return 'k' end,\n"
    "  next = 'j' })\n"
    "w:task('t', { title = 'Do', next = { yes = 'j' } })\n"
    "w:join('j', { expect = 'all', next = 'z' })\n"
    "w:finish('z')\n"
    "return w\n";

static const char OTHER[] =
    "local w = require 'pawl'.workflow { code = 'wh.b', start = 'z' }\n"
    "w:finish('z')\n"
    "return w\n";

typedef struct world {
  test_alloc alloc;
  pawl_engine *e;
  const char *url;
  char id[37], task[37];
  char *lines; /* of two instances of another store */
  char moved[2][37];
  char many[MANY * 32];
  int lists; /* so many were started */
} world;

static pawl_error err;

static int is_pg(const world *w) {
  return w->url == pgbase_url;
}

static int begin(world *w, pawl_engine **e, const char *url) {
  pawl_config config = PAWL_CONFIG_INIT;

  config.alloc = test_alloc_fn;
  config.alloc_ud = &w->alloc;
  return CHECK_INT(pawl_open(url, &config, e, &err), PAWL_OK) &&
         CHECK_INT(pawl_load_text(*e, "wh", FLOW, NULL, &err), PAWL_OK);
}

/* ---- what is called ---- */

typedef pawl_code act(world *w, char **out);

static pawl_code start(world *w, char **out) {
  char id[37];
  (void)out;
  return pawl_start(w->e, "wh.a", "{}", "{\"key\":\"x\"}", id, NULL, &err);
}

static pawl_code start_many(world *w, char **out) {
  return pawl_start_many(w->e, "wh.a", w->many, NULL, out, &err);
}

static pawl_code signal_all(world *w, char **out) {
  return pawl_signal(w->e, "{\"name\":\"go\",\"key\":\"k\",\"id\":\"1\"}",
                     NULL, out, &err);
}

static pawl_code signal_start(world *w, char **out) {
  return pawl_signal(w->e,
                     "{\"name\":\"go\",\"start\":{\"workflow\":\"wh.a\"}}",
                     NULL, out, &err);
}

static pawl_code import(world *w, char **out) {
  return pawl_import(w->e, w->lines, NULL, out, &err);
}

static pawl_code load(world *w, char **out) {
  return pawl_load_text(w->e, "other", OTHER, out, &err);
}

static pawl_code note(world *w, char **out) {
  return pawl_change(w->e, w->id, "{\"kind\":\"note\",\"text\":\"x\"}", NULL,
                     out, &err);
}

static pawl_code bulk(world *w, char **out) {
  return pawl_bulk(w->e, "{\"workflow\":\"wh.a\"}",
                   "{\"kind\":\"note\",\"text\":\"x\"}", NULL, NULL, out,
                   &err);
}

static pawl_code task(world *w, char **out) {
  return pawl_task_change(
      w->e, w->task,
      "{\"kind\":\"complete\",\"by\":\"ann\",\"output\":\"yes\"}", out, &err);
}

static pawl_code suspend(world *w, char **out) {
  return pawl_workflow_change(
      w->e, "{\"kind\":\"suspend\",\"workflow\":\"wh.a\"}", out, &err);
}

static const struct {
  const char *name;
  act *act;
} ACTS[] = {{"start", start},
            {"start_many", start_many},
            {"signal to all", signal_all},
            {"signal with a start", signal_start},
            {"import", import},
            {"load", load},
            {"change", note},
            {"bulk", bulk},
            {"task", task},
            {"workflow", suspend}};

/* ---- in a transaction ---- */

/* How many rows there are of all that is written, as JSON; NULL: the
 * transaction can only be rolled back. */
static char *rows(const world *w) {
  char *out = NULL;
  const pawl_code rc = pawl_transaction_query(
      w->e,
      is_pg(w) ? "select (select count(*) from pawl.instance) a,"
                 " (select count(*) from pawl.agenda) b,"
                 " (select count(*) from pawl.inbox) c,"
                 " (select count(*) from pawl.event) d,"
                 " (select count(*) from pawl.workflow) e,"
                 " (select count(*) from pawl.suspension) f,"
                 " (select count(*) from pawl.audit) g"
               : "select (select count(*) from pawl_instance) a,"
                 " (select count(*) from pawl_agenda) b,"
                 " (select count(*) from pawl_inbox) c,"
                 " (select count(*) from pawl_event) d,"
                 " (select count(*) from pawl_workflow) e,"
                 " (select count(*) from pawl_suspension) f,"
                 " (select count(*) from pawl_audit) g",
      NULL, NULL, &out, &err);
  return rc == PAWL_OK ? out : NULL;
}

/* The n-th request is refused. *held: nothing was left, and the transaction
 * went on. 0: there are not so many. */
static int refuse_one(world *w, int k, int n, int for_ever, int *held) {
  char *before, *after, *out = NULL;
  int more = 1;

  CHECK_INT(pawl_transaction_begin(w->e, &err), PAWL_OK);
  before = rows(w);
  if (!CHECK(before != NULL)) return 0;
  w->alloc.requests = 0;
  w->alloc.fail_at = n;
  w->alloc.for_ever = for_ever;
  const pawl_code rc = ACTS[k].act(w, &out);
  more = w->alloc.requests >= n;
  w->alloc.fail_at = 0;
  pawl_free(w->e, out);
  after = rows(w);
  if (rc == PAWL_OK) {
    CHECK(after && strcmp(after, before) != 0);
  } else if (!CHECK(rc == PAWL_NOMEM || !after) ||
             (after && !CHECK_TEXT(after, before))) {
    printf("  %s: %s, request %d%s: %s: %s\n", w->url, ACTS[k].name, n,
           for_ever ? " and after" : "", pawl_code_name(rc), err.message);
  } else {
    *held += after != NULL;
  }
  pawl_free(w->e, before);
  pawl_free(w->e, after);
  CHECK_INT(pawl_transaction_abort(w->e, &err), PAWL_OK);
  return more;
}

static void in_a_transaction(world *w) {
  const int step = is_pg(w) ? PG_STEP : 1;

  for (int k = 0; k < (int)(sizeof ACTS / sizeof *ACTS); k++)
    for (int for_ever = 0; for_ever < 2; for_ever++) {
      int held = 0;
      for (int n = 1; refuse_one(w, k, n, for_ever, &held); n += step) {}
      if (!CHECK(held > 0)) printf("  %s: %s\n", w->url, ACTS[k].name);
    }
}

/* ---- by itself ---- */

static int64_t tally(world *w, const char *query) {
  int64_t n = -1;
  CHECK_INT(pawl_tally(w->e, query, &n, NULL, &err), PAWL_OK);
  return n;
}

/* Of a list, whose every other item has an instance already, if `half`. */
static pawl_code start_list(world *w, int n, int half, const char *how,
                            int64_t *stored) {
  char options[120], query[60], *at = w->many, *out = NULL, id[37];
  pawl_error why;
  const int no = ++w->lists;

  snprintf(query, sizeof query, "{\"business_key\":\"b%d\"}", no);
  snprintf(options, sizeof options, "{\"business_key\":\"b%d\"%s}", no, how);
  *at++ = '[';
  for (int i = 0; i < MANY; i++)
    at += sprintf(at, "%s{\"key\":\"%d.%d\"}", i ? "," : "", no, i);
  strcpy(at, "]");
  for (int i = 0; half && i < MANY; i += 2) {
    char key[60];
    snprintf(key, sizeof key, "{\"key\":\"%d.%d\"}", no, i);
    CHECK_INT(pawl_start(w->e, "wh.b", "{}", key, id, NULL, &err), PAWL_OK);
  }
  w->alloc.requests = 0;
  w->alloc.fail_at = n;
  const pawl_code rc =
      pawl_start_many(w->e, "wh.b", w->many, options, &out, &why);
  w->alloc.fail_at = 0;
  pawl_free(w->e, out);
  *stored = tally(w, query);
  err = why;
  return rc;
}

/* `half` of them had a key that was known: these are there, too. */
static void many_alone(world *w, int half, const char *how, int step) {
  const int new = half ? MANY / 2 : MANY;
  char words[60];
  int64_t stored;

  for (int n = 1;; n += step) {
    const pawl_code rc = start_list(w, n, half, how, &stored);
    snprintf(words, sizeof words, "%d of %d instances are stored: ", MANY,
             MANY);
    if (rc == PAWL_OK) {
      CHECK_INT(stored, new);
      if (w->alloc.requests < n) break;
    } else if (!CHECK_INT(rc, PAWL_NOMEM) ||
               !CHECK_INT(stored, strncmp(err.message, words, strlen(words))
                                      ? 0
                                      : new)) {
      printf("  %s: request %d: %s\n", w->url, n, err.message);
    }
  }
}

/* `how`: more of its options. */
static void one_alone(world *w, const char *how) {
  char options[160], query[60], id[37];

  for (int n = 1;; n++) {
    const int no = ++w->lists;
    snprintf(query, sizeof query, "{\"business_key\":\"one%d\"}", no);
    snprintf(options, sizeof options,
             "{\"business_key\":\"one%d\",\"key\":\"one%d\"%s}", no, no, how);
    w->alloc.requests = 0;
    w->alloc.fail_at = n;
    const pawl_code rc =
        pawl_start(w->e, "wh.b", "{}", options, id, NULL, &err);
    w->alloc.fail_at = 0;
    CHECK(rc == PAWL_OK || rc == PAWL_NOMEM);
    if (!CHECK_INT(tally(w, query), rc == PAWL_OK))
      printf("  %s: request %d: %s\n", w->url, n, err.message);
    if (rc == PAWL_OK && w->alloc.requests < n) break;
  }
}

/* How many of those of the other store there are, who go again. */
static int take_away(world *w) {
  static const char *const ENDS[] = {"{\"kind\":\"kill\"}",
                                     "{\"kind\":\"purge\"}"};
  const char *status;
  int n = 0;

  for (int i = 0; i < 2; i++) {
    if (pawl_status(w->e, w->moved[i], &status, &err) != PAWL_OK) continue;
    n++;
    for (int k = 0; k < 2; k++)
      CHECK_INT(pawl_change(w->e, w->moved[i], ENDS[k], NULL, NULL, &err),
                PAWL_OK);
  }
  return n;
}

/* Nobody is told of no memory who has both. */
static void import_alone(world *w) {
  const int step = is_pg(w) ? PG_STEP : 1;

  for (int n = 1;; n += step) {
    char *out = NULL;
    w->alloc.requests = 0;
    w->alloc.fail_at = n;
    const pawl_code rc = import(w, &out);
    const int more = w->alloc.requests >= n;
    w->alloc.fail_at = 0;
    pawl_free(w->e, out);
    const int there = take_away(w);
    if (!CHECK(rc == PAWL_OK ? there == 2 : rc == PAWL_NOMEM && there < 2))
      printf("  %s: request %d: %s, and %d are there\n", w->url, n,
             pawl_code_name(rc), there);
    if (!more) break;
  }
}

static void by_themselves(world *w) {
  const int step = is_pg(w) ? PG_STEP : 1;

  CHECK_INT(pawl_load_text(w->e, "other", OTHER, NULL, &err), PAWL_OK);
  for (w->alloc.for_ever = 0; w->alloc.for_ever < 2; w->alloc.for_ever++) {
    many_alone(w, 0, "", step);
    many_alone(w, 1, "", step);
    many_alone(w, 1, ",\"reuse\":\"ended\"", 7 * step);
    one_alone(w, "");
    one_alone(w,
              ",\"attributes\":{\"a\":{\"type\":\"string\",\"value\":"
              "\"v\"}},\"on_existing\":\"fail\"");
    import_alone(w);
  }
}

/* ---- the whole ---- */

static void make_items(world *w) {
  char *at = w->many;

  *at++ = '[';
  for (int i = 0; i < MANY; i++) at += sprintf(at, "%s{}", i ? "," : "");
  strcpy(at, "]");
}

/* Of two instances, one behind the other. */
static void make_lines(world *w) {
  pawl_engine *from = NULL;
  char *text[2] = {NULL, NULL};

  begin(w, &from, ":memory:");
  for (int i = 0; i < 2; i++) {
    CHECK_INT(pawl_start(from, "wh.a", "{}", NULL, w->moved[i], NULL, &err),
              PAWL_OK);
    CHECK_INT(pawl_export(from, w->moved[i], NULL, &text[i], &err), PAWL_OK);
  }
  w->lines = malloc(strlen(text[0]) + strlen(text[1]) + 1);
  strcat(strcpy(w->lines, text[0]), text[1]);
  for (int i = 0; i < 2; i++) pawl_free(from, text[i]);
  CHECK_INT(pawl_close(from), PAWL_OK);
}

static void make_instance(world *w) {
  char *tasks = NULL;

  CHECK_INT(pawl_start(w->e, "wh.a", "{}", NULL, w->id, NULL, &err), PAWL_OK);
  CHECK_INT(pawl_tick(w->e, 1000000, NULL, &err), PAWL_OK);
  CHECK_INT(pawl_task_list(w->e, NULL, &tasks, &err), PAWL_OK);
  const char *at = tasks ? strstr(tasks, "\"id\":\"") : NULL;
  if (CHECK(at != NULL)) snprintf(w->task, sizeof w->task, "%.36s", at + 6);
  pawl_free(w->e, tasks);
}

static void try_all(const char *url) {
  world w = {.url = url};

  make_items(&w);
  make_lines(&w);
  if (begin(&w, &w.e, url)) {
    make_instance(&w);
    in_a_transaction(&w);
    by_themselves(&w);
    CHECK_INT(pawl_close(w.e), PAWL_OK);
  }
  free(w.lines);
  CHECK_INT(w.alloc.live_bytes, 0);
}

int main(void) {
  try_all(":memory:");
  if (pgbase_make("whole")) {
    try_all(pgbase_url);
    pgbase_drop("whole");
  }
  return TEST_END;
}
