/* Every call of pawl.h while a transaction of the program's own is open: those
 * that the comment of pawl_transaction_begin names are refused, and leave it as
 * it was; all others take part. */
#include "../../src/pawl.h"
#include "test.h"

static const char FLOW[] =
    "local w = require 'pawl'.workflow { code = 'al.one', start = 'z' }\n"
    "w:finish('z')\n"
    "return w\n";

static pawl_error err;

static void refused(const char *call, pawl_code rc) {
  if (!CHECK_INT(rc, PAWL_MISUSE) ||
      !CHECK(strstr(err.message, "part of") != NULL))
    printf("  %s: %s\n", call, err.message);
}
#define REFUSED(call) refused(#call, call)

/* It is done, or what is wrong is not that it is part of a transaction. */
static void taken(const char *call, pawl_code rc) {
  if (!CHECK(rc != PAWL_MISUSE)) printf("  %s: %s\n", call, err.message);
}
#define TAKEN(call) taken(#call, call)

static pawl_code publish(void *ud, const pawl_emitted *emitted,
                         pawl_error *why) {
  (void)ud, (void)emitted, (void)why;
  return PAWL_OK;
}

static pawl_code lent(void *ud, const pawl_wanted *wanted, char **out,
                      pawl_error *why) {
  (void)ud, (void)wanted, (void)out, (void)why;
  return PAWL_OK;
}

static void call_what_is_refused(pawl_engine *e, const char *id) {
  pawl_tick_stats stats;
  const char *status;
  char *text = NULL;
  size_t size;
  int64_t n;
  int yes;

  REFUSED(pawl_tick(e, 1000, &stats, &err));
  REFUSED(pawl_tick_instance(e, id, 1000, &stats, &status, &err));
  REFUSED(pawl_next_due(e, &n, &err));
  REFUSED(pawl_wait(e, 0, &err));
  REFUSED(pawl_result(e, id, 0, &text, &err));
  REFUSED(pawl_ask(e, id, "{}", &text, &err));
  REFUSED(pawl_fd(e, &yes, &err));
  REFUSED(pawl_save(e, &err));
  REFUSED(pawl_workflow_change(
      e, "{\"kind\":\"resume\",\"workflow\":\"al.one\",\"shift\":true}", &text,
      &err));
  REFUSED(pawl_workflow_transfer(e, "{}", &text, &err));
  REFUSED(pawl_breakpoint_change(e, "{}", &text, &err));
  REFUSED(pawl_export(e, id, "{\"move\":true}", &text, &err));
  REFUSED(pawl_outbox_relay(e, NULL, publish, NULL, NULL, &err));
  REFUSED(pawl_health(e, 1, &text, &err));
  REFUSED(pawl_prune(e, NULL, &text, &err));
  REFUSED(pawl_backup(e, "nowhere.db", NULL, &text, &err));
  REFUSED(pawl_backup_bytes(e, &text, &size, &err));
  REFUSED(pawl_restore(e, "nowhere.db", &text, &err));
  REFUSED(pawl_restore_bytes(e, "x", 1, &err));
  CHECK(text == NULL);
}

/* Those that give a text. */
static void call_and_free(pawl_engine *e, const char *id) {
  static const char *const filed[] = {"{\"kind\":\"archive\"}",
                                      "{\"kind\":\"unarchive\"}",
                                      "{\"kind\":\"purge\"}"};
  static char *text;
  int64_t n;
  int yes;

#define TEXT(call) (TAKEN(call), pawl_free(e, text), text = NULL)
  TEXT(pawl_executor_list(e, NULL, &text, &err));
  TEXT(pawl_stats(e, NULL, &text, &err));
  TEXT(pawl_breakpoint_list(e, NULL, &text, &err));
  TEXT(pawl_problems(e, NULL, &text, &err));
  TEXT(pawl_check(e, "nowhere.lua", &text, &err));
  TEXT(pawl_workflow_list(e, NULL, &text, &err));
  TEXT(pawl_workflow_get(e, "al.one", NULL, &text, &err));
  TEXT(pawl_workflow_graph(e, "al.one", 0, &text, &err));
  TEXT(pawl_start_many(e, "al.one", "[{}]", NULL, &text, &err));
  TEXT(pawl_transaction_query(e, "select 1", NULL, &n, &text, &err));
  TEXT(pawl_signal(e, "{\"name\":\"x\",\"key\":\"k\"}", &n, &text, &err));
  TEXT(pawl_get(e, id, &text, &err));
  TEXT(pawl_list(e, NULL, &text, &err));
  TEXT(pawl_tally_groups(e, "{\"group_by\":\"node\"}", &text, &err));
  TEXT(pawl_history(e, id, NULL, &text, &err));
  TEXT(pawl_audit(e, NULL, &text, &err));
  TEXT(pawl_tokens(e, id, 1, &text, &err));
  TEXT(pawl_explain(e, id, &text, &err));
  TEXT(pawl_task_get(e, id, &text, &err));
  TEXT(pawl_task_list(e, NULL, &text, &err));
  TEXT(pawl_task_change(e, id, "{\"kind\":\"claim\"}", &text, &err));
  TEXT(pawl_complete(e, "x", "{}", &text, &err));
  TEXT(pawl_published(e, id, &text, &err));
  TEXT(pawl_outbox_list(e, NULL, &text, &err));
  TEXT(pawl_outbox_change(e, "{\"kind\":\"drop\"}", &text, &err));
  TEXT(pawl_load(e, "nowhere.lua", &text, &err));
  TEXT(pawl_load_text(e, "x", "return 1", &text, &err));
  TEXT(pawl_load_as(e, "x", FLOW, "{\"level\":\"limited\"}", &text, &err));
  TEXT(pawl_deploy(e, "{\"files\":[\"nowhere.lua\"]}", &text, &err));
  TEXT(pawl_workflow_hotfix(e, "nowhere.lua", NULL, &text, &err));
  TEXT(pawl_workflow_hotfix_text(e, "x", FLOW, NULL, &text, &err));
  TEXT(pawl_workflow_change(e, "{\"kind\":\"off\",\"workflow\":\"al.one\"}",
                            &text, &err));
  TEXT(pawl_workflow_change(e, "{\"kind\":\"on\",\"workflow\":\"al.one\"}",
                            &text, &err));
  TEXT(pawl_bulk(e, "{\"workflow\":\"al.one\"}", "{\"kind\":\"kill\"}", NULL,
                 NULL, &text, &err));
  for (size_t i = 0; i < sizeof filed / sizeof *filed; i++)
    TEXT(pawl_change(e, id, filed[i], &yes, &text, &err));
  TEXT(pawl_change(e, id, "{\"kind\":\"note\",\"text\":\"x\"}", &yes, &text,
                   &err));
  if (TAKEN(pawl_export(e, id, NULL, &text, &err)), text) {
    char *told = NULL;
    TAKEN(pawl_import(e, text, NULL, &told, &err));
    pawl_free(e, told);
    pawl_free(e, text);
  }
}

static void call_what_takes_part(pawl_engine *e, const char *id) {
  struct sqlite3 *db;
  const char *status;
  char found[37];
  int64_t n;
  int yes;

  TAKEN(pawl_start(e, "al.one", NULL, NULL, found, &yes, &err));
  /* it has no state of the program's to take one from */
  CHECK_INT(pawl_load_stack(e, NULL, &err), PAWL_MISUSE);
  CHECK(strstr(err.message, "part of") == NULL);
  TAKEN(pawl_busy(e, &yes, &err));
  TAKEN(pawl_find(e, id, found, &err));
  TAKEN(pawl_status(e, id, &status, &err));
  TAKEN(pawl_tally(e, NULL, &n, &yes, &err));
  TAKEN(pawl_task_find(e, id, found, &err));
  TAKEN(pawl_task_tally(e, NULL, &n, &yes, &err));
  TAKEN(pawl_register(e, "f", lent, NULL, NULL, &err));
  TAKEN(pawl_transaction_sqlite(e, &db, &err));
  TAKEN(pawl_transaction_begin(e, &err));
  TAKEN(pawl_transaction_commit(e, &err));
  call_and_free(e, id);
}

int main(void) {
  pawl_config c = PAWL_CONFIG_INIT;
  pawl_engine *e = NULL;
  int64_t n = 0;
  char id[37];

  CHECK_INT(pawl_open(":memory:", &c, &e, &err), PAWL_OK);
  CHECK_INT(pawl_load_text(e, "al", FLOW, NULL, &err), PAWL_OK);
  CHECK_INT(pawl_start(e, "al.one", NULL, NULL, id, NULL, &err), PAWL_OK);
  CHECK_INT(pawl_tick(e, 1000000, NULL, &err), PAWL_OK);
  CHECK_INT(pawl_transaction_begin(e, &err), PAWL_OK);
  call_what_is_refused(e, id);
  call_what_takes_part(e, id);
  call_what_is_refused(e, id);
  CHECK_INT(pawl_transaction_abort(e, &err), PAWL_OK);
  CHECK_INT(pawl_tally(e, NULL, &n, NULL, &err), PAWL_OK);
  CHECK_INT(n, 1);
  CHECK_INT(pawl_tick(e, 1000000, NULL, &err), PAWL_OK);
  CHECK_INT(pawl_close(e), PAWL_OK);
  return TEST_END;
}
