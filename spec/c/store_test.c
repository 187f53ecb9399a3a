/* The store where Lua cannot look: without memory, and in a fork's child. */
#define _POSIX_C_SOURCE 200809L /* fork, getpid */
#include "../../src/store/store.h"
#include "../../src/store/failure.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static pawl_code put(pawl_store *store, pawl_args *args, int unit,
                     const char *key, const char *value, pawl_error *err) {
  pawl_args_begin(args, PAWL_STMT_meta_put);
  PAWL_PUT(args, meta_put, .key = pawl_strz(key), .value = pawl_strz(value));
  return pawl_store_once(store, unit, args, NULL, err);
}

/* Lists for SQLite as JSON, rows of text, ids. */
static pawl_code claim(pawl_store *store, pawl_args *args, pawl_error *err) {
  static const pawl_id id = {{1}};
  pawl_rows rows;
  pawl_args_begin(args, PAWL_STMT_agenda_claim);
  for (int i = 0; i < 20; i++)
    PAWL_PUT(args, agenda_claim, .executor_group = pawl_strz("default"),
             .workflow = pawl_strz("order.fulfil"), .version = i, .lease = &id,
             .executor = &id, .lease_us = PAWL_SECOND,
             .now = pawl_store_now(store), .max = 10);
  return pawl_store_once(store, PAWL_UNIT_BATCH, args, &rows, err);
}

static pawl_code ask(pawl_store *store, pawl_args *args, pawl_error *err) {
  pawl_query q = {.sql = pawl_strz("select 'text' as a, 1 as b, null as c"),
                  .limit_us = PAWL_SECOND};
  pawl_code rc;
  (void)args;
  TRY(pawl_store_begin(store, PAWL_UNIT_OPEN, err));
  TRY(pawl_store_query(store, &q, err));
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
          pawl_failure_is_short(rc, &err)); /* a commit's answer */
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
  bad |= pawl_store_send(store, args, NULL, NULL) != PAWL_MISUSE;
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

/* The last value of the argument `name`. */
static const pawl_cell *arg(const pawl_args *args, const char *name) {
  const pawl_stmt_info *info = &pawl_stmts[args->stmt];
  for (int i = 0; i < info->nargs; i++)
    if (!strcmp(info->args[i].name, name))
      return &args->cols[i].cells[args->cols[i].n - 1];
  return NULL;
}

/* stmt.h's table of members, and what each holds when it is not named. */
static void arguments_know_null(void) {
  static const pawl_id id = {{7}};
  pawl_args args;
  pawl_args_init(&args, NULL);
  pawl_args_begin(&args, PAWL_STMT_attribute_put);
  CHECK_INT(pawl_args_rows(&args), 0);
  PAWL_PUT(&args, attribute_put, .shard = 1);
  CHECK_INT(arg(&args, "shard")->i, 1);
  CHECK(arg(&args, "id")->is_null && arg(&args, "name")->is_null);
  CHECK(!arg(&args, "latch")->is_null && !arg(&args, "date_value")->is_null);
  PAWL_PUT(&args, attribute_put, .shard = 2, .id = &id, .name = pawl_strz("a"),
           .latch = PAWL_NULL, .float_value = 1.5, .date_value = PAWL_NULL,
           .boolean_value = 1);
  CHECK_INT(pawl_args_rows(&args), 2);
  CHECK_INT(arg(&args, "shard")->i, 1); /* the scalars are the first one's */
  CHECK(!memcmp(arg(&args, "id")->s.at, id.bytes, sizeof id.bytes));
  CHECK_STR(arg(&args, "name")->s, "a");
  CHECK(arg(&args, "latch")->is_null && arg(&args, "date_value")->is_null);
  CHECK(arg(&args, "boolean_value")->i == 1);
  CHECK(arg(&args, "float_value")->d == 1.5);
  pawl_args_begin(&args, PAWL_STMT_instance_children);
  PAWL_PUT(&args, instance_children, .token = 0);
  CHECK(arg(&args, "token")->is_null);
  pawl_args_begin(&args, PAWL_STMT_instance_children);
  PAWL_PUT(&args, instance_children, .token = 3);
  CHECK_INT(arg(&args, "token")->i, 3);
  pawl_args_deinit(&args);
}

/* Of attribute_list's columns those of the same name. */
static void rows_know_null(void) {
  static const char bytes[16] = {7};
  const pawl_stmt_info *info = &pawl_stmts[PAWL_STMT_attribute_list];
  pawl_cell cells[PAWL_MAX_ARGS] = {{0}};
  pawl_rows rows = {.stmt = PAWL_STMT_attribute_list,
                    .nrows = 1,
                    .ncols = info->ncols,
                    .cells = cells};
  for (int i = 0; i < info->ncols; i++) cells[i].is_null = 1;
  pawl_attribute_list_row row = pawl_read_attribute_list(&rows, 0);
  CHECK(!row.name.at && isnan(row.float_value));
  CHECK(row.boolean_value == PAWL_NULL && row.date_value == PAWL_NULL);
  for (int i = 0; i < info->ncols; i++)
    cells[i] = (pawl_cell){.i = i, .d = 2.5, .s = {bytes, sizeof bytes}};
  row = pawl_read_attribute_list(&rows, 0);
  CHECK(row.name.at == bytes && row.float_value == 2.5);
  CHECK(row.boolean_value != PAWL_NULL && row.date_value != PAWL_NULL);
}

/* Copies of rows have their own bytes, and null stays null. */
static void kept_rows_are_their_own(void) {
  char bytes[16] = "fifteen letters";
  const pawl_stmt_info *info = &pawl_stmts[PAWL_STMT_explain_child];
  pawl_cell cells[2 * PAWL_MAX_ARGS] = {{0}};
  pawl_rows rows = {.stmt = PAWL_STMT_explain_child,
                    .nrows = 2,
                    .ncols = info->ncols,
                    .cells = cells};
  pawl_buf keep = {0};
  for (int i = 0; i < info->ncols; i++) {
    cells[i].is_null = 1;
    cells[info->ncols + i] = (pawl_cell){.i = i, .s = {bytes, sizeof bytes}};
  }
  CHECK(!PAWL_KEEP(explain_child, &rows, &keep, NULL));
  memset(bytes, 'x', sizeof bytes);
  const pawl_explain_child_row *row = PAWL_KEPT(explain_child, &keep);
  CHECK(!row[0].id && !row[0].workflow.at);
  CHECK(!memcmp(row[1].id, "fifteen letters", 16));
  CHECK(row[1].workflow.len == 16 && !row[1].workflow.at[16]);
  CHECK(!memcmp(row[1].workflow.at, "fifteen letters", 16));
  rows.nrows = 0;
  CHECK(!PAWL_KEEP(explain_child, &rows, &keep, NULL) && !keep.len);
  pawl_buf_deinit(&keep);
}

/* Each statement has its place, in the order in which they were sent. */
static void sending_tells_the_place(void) {
  pawl_store *store = NULL;
  pawl_args args;
  pawl_rows rows;
  int none, first, second;
  pawl_args_init(&args, NULL);
  if (CHECK(pawl_store_open(":memory:", NULL, &store, NULL) == PAWL_OK)) {
    pawl_args_begin(&args, PAWL_STMT_agenda_claim);
    CHECK(!pawl_store_begin(store, PAWL_UNIT_BATCH, NULL));
    CHECK(!PAWL_SEND(store, meta_put, NULL, NULL, .key = pawl_strz("a"),
                     .value = pawl_strz("b")));
    CHECK(!pawl_store_send(store, &args, &none, NULL));
    CHECK(!PAWL_SEND(store, meta_get, &first, NULL, .key = pawl_strz("a")));
    CHECK(!PAWL_SEND(store, meta_get, &second, NULL, .key = pawl_strz("c")));
    CHECK(!pawl_store_commit(store, NULL));
    CHECK(none == -1 && first == 1 && second == 2);
    pawl_store_rows(store, none, &rows);
    CHECK_INT(rows.nrows, 0);
    pawl_store_rows(store, first, &rows);
    if (CHECK_INT(rows.nrows, 1))
      CHECK_STR(pawl_read_meta_get(&rows, 0).value, "b");
    pawl_store_rows(store, second, &rows);
    CHECK_INT(rows.nrows, 0);
  }
  pawl_store_close(store);
  pawl_args_deinit(&args);
}

int main(void) {
  const char *server = getenv("PAWL_TEST_PG"), *tmp = getenv("TMPDIR");
  char url[1024], file[512];
  snprintf(file, sizeof file, "%s/pawl-store-test.XXXXXX", tmp ? tmp : "/tmp");
  arguments_know_null();
  rows_know_null();
  kept_rows_are_their_own();
  sending_tells_the_place();
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
