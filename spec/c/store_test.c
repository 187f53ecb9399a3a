/* The store where Lua cannot look: without memory, and in a fork's child. */
#define _POSIX_C_SOURCE 200809L /* fork, getpid */
#include "../../src/store/store.h"

#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static pawl_code put(pawl_store *store, pawl_args *args, int unit,
                     const char *key, const char *value, pawl_error *err) {
  pawl_args_begin(args, PAWL_STMT_META_PUT);
  pawl_arg_textz(args, PAWL_META_PUT_KEY, key);
  pawl_arg_textz(args, PAWL_META_PUT_VALUE, value);
  return pawl_store_once(store, unit, args, NULL, err);
}

/* Lists for SQLite as JSON, rows of text, ids. */
static pawl_code claim(pawl_store *store, pawl_args *args, pawl_error *err) {
  static const pawl_id id = {{1}};
  pawl_rows rows;
  pawl_args_begin(args, PAWL_STMT_AGENDA_CLAIM);
  pawl_arg_int(args, PAWL_AGENDA_CLAIM_SHARD, 0);
  pawl_arg_textz(args, PAWL_AGENDA_CLAIM_EXECUTOR_GROUP, "default");
  for (int i = 0; i < 20; i++) {
    pawl_arg_textz(args, PAWL_AGENDA_CLAIM_WORKFLOW, "order.fulfil");
    pawl_arg_int(args, PAWL_AGENDA_CLAIM_WORKFLOW_VERSION, i);
  }
  pawl_arg_id(args, PAWL_AGENDA_CLAIM_LEASE, &id);
  pawl_arg_id(args, PAWL_AGENDA_CLAIM_EXECUTOR, &id);
  pawl_arg_int(args, PAWL_AGENDA_CLAIM_LEASE_US, PAWL_SECOND);
  pawl_store_arg_now(store, args, PAWL_AGENDA_CLAIM_NOW);
  pawl_arg_int(args, PAWL_AGENDA_CLAIM_MAX, 10);
  return pawl_store_once(store, PAWL_UNIT_BATCH, args, &rows, err);
}

static pawl_code ask(pawl_store *store, pawl_args *args, pawl_error *err) {
  static const char sql[] = "select 'text' as a, 1 as b, null as c";
  const char *const *names;
  const pawl_type *types;
  pawl_rows rows;
  pawl_code rc;
  (void)args;
  TRY(pawl_store_begin(store, PAWL_UNIT_OPEN, err));
  TRY(pawl_store_query(store, sql, strlen(sql), NULL, NULL, 0, PAWL_SECOND,
                       &rows, &names, &types, err));
  TRY(pawl_store_commit(store, err));
out:
  pawl_store_rollback(store);
  return rc;
}

/* Everything a store does, with an allocator that fails. */
static pawl_code use(const char *url, test_alloc *counter, pawl_error *err) {
  pawl_alloc alloc = {test_alloc_fn, counter};
  pawl_store_options options = {.alloc = &alloc};
  pawl_store *store = NULL;
  pawl_args args;
  pawl_code rc;
  pawl_args_init(&args, &alloc);
  TRY(pawl_store_open(url, &options, &store, err));
  TRY(put(store, &args, PAWL_UNIT_BATCH, "a", "1", err));
  TRY(put(store, &args, PAWL_UNIT_SOON, "a", "1", err));
  TRY(put(store, &args, PAWL_UNIT_OPEN, "a", "2", err));
  TRY(claim(store, &args, err));
  TRY(ask(store, &args, err));
out:
  pawl_store_close(store);
  pawl_args_deinit(&args);
  return rc;
}

static void survives_without_memory(const char *url, int for_ever) {
  pawl_code rc = PAWL_NOMEM;
  for (int64_t n = 1; rc != PAWL_OK && n < 10000; n++) {
    test_alloc counter = {.fail_at = n, .for_ever = for_ever};
    pawl_error err = {0};
    rc = use(url, &counter, &err);
    CHECK_INT(counter.live_bytes, 0);
    CHECK(rc == PAWL_OK || rc == PAWL_NOMEM ||
          rc == PAWL_UNREACHABLE); /* a commit's answer was not readable */
    CHECK_INT(err.code, rc);
    if (rc != PAWL_OK && !CHECK(err.message[0] != 0)) break;
  }
  CHECK_INT(rc, PAWL_OK);
}

static void a_steady_state_allocates_nothing(void) {
  test_alloc counter = {0};
  pawl_alloc alloc = {test_alloc_fn, &counter};
  pawl_store_options options = {.alloc = &alloc};
  pawl_store *store = NULL;
  pawl_args args;
  int64_t before = 0;
  pawl_args_init(&args, &alloc);
  CHECK_INT(pawl_store_open(":memory:", &options, &store, NULL), PAWL_OK);
  for (int i = 0; i < 20 && store; i++) {
    if (i == 10) before = counter.requests;
    CHECK_INT(put(store, &args, PAWL_UNIT_BATCH, "a", "1", NULL), PAWL_OK);
    CHECK_INT(claim(store, &args, NULL), PAWL_OK);
  }
  CHECK_INT(counter.requests, before);
  pawl_store_close(store);
  pawl_args_deinit(&args);
}

/* In the child every call is misuse, and closing leaves the parent's store
 * as it is. The child's checks are its exit code. */
static int in_child(pawl_store *store, pawl_args *args) {
  pawl_error err = {0};
  pawl_rows rows;
  int bad = 0, woken;
  bad |= put(store, args, PAWL_UNIT_BATCH, "a", "2", &err) != PAWL_MISUSE;
  bad |= strstr(err.message, "fork") == NULL;
  bad |= pawl_store_wait(store, INT64_MAX, NULL, NULL, 0, &woken, NULL) !=
         PAWL_MISUSE;
  bad |= pawl_store_send(store, args, NULL) != PAWL_MISUSE;
  bad |= pawl_store_commit(store, NULL) != PAWL_MISUSE;
  pawl_store_rollback(store);
  pawl_store_tidy(store);
  pawl_store_rows(store, 0, &rows);
  bad |= rows.nrows != 0;
  pawl_store_close(store);
  return bad;
}

static void forks_do_not_share_a_store(const char *url) {
  pawl_store *store = NULL;
  pawl_error err = {0};
  pawl_args args;
  int status = -1;
  pawl_args_init(&args, NULL);
  if (!CHECK_INT(pawl_store_open(url, NULL, &store, &err), PAWL_OK)) {
    printf("  %s\n", err.message);
    return;
  }
  CHECK_INT(put(store, &args, PAWL_UNIT_BATCH, "a", "1", &err), PAWL_OK);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) _exit(in_child(store, &args));
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_INT(status, 0);
  CHECK_INT(put(store, &args, PAWL_UNIT_BATCH, "a", "3", &err), PAWL_OK);
  pawl_store_close(store);
  pawl_args_deinit(&args);
}

int main(void) {
  const char *server = getenv("PAWL_TEST_PG"), *tmp = getenv("TMPDIR");
  char url[1024], file[512];
  snprintf(file, sizeof file, "%s/pawl-store-test.XXXXXX", tmp ? tmp : "/tmp");
  survives_without_memory(":memory:", 0);
  survives_without_memory(":memory:", 1);
  a_steady_state_allocates_nothing();
  forks_do_not_share_a_store(":memory:");
  if (CHECK(mkdtemp(file) != NULL)) {
    snprintf(url, sizeof url, "%s/a.db", file);
    forks_do_not_share_a_store(url);
    survives_without_memory(url, 1);
    unlink(url);
    snprintf(url, sizeof url, "%s/a.db-pawl-lock", file);
    unlink(url);
    CHECK(rmdir(file) == 0); /* no -wal, no -shm, nothing else */
  }
  if (server) {
    snprintf(url, sizeof url, "postgres:%s", server);
    forks_do_not_share_a_store(url);
    survives_without_memory(url, 0);
    survives_without_memory(url, 1);
  }
  return TEST_END;
}
