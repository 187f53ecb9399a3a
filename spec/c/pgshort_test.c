/* libpq without memory, which it tells of in words alone: its functions stand
 * in a struct, and some of them are others for a while. What the server says,
 * and that it is gone, is another matter. */
#define _POSIX_C_SOURCE 200809L /* popen */
#include "../../src/store/failure.h"
#include "../../src/store/pgconn.h"
#include "../../src/store/store.h"
#include "pgbase.h"
#include "test.h"

static char text[120];
static ConnStatusType status = CONNECTION_OK;
static pawl_libpq whole;  /* as it is */
static pawl_libpq broken; /* as it is to be behind the next statement */

static void tell(const char *what) {
  pawl_copy_text(text, sizeof text, what);
}

static char *say(const PGconn *pg) {
  (void)pg;
  return text;
}

static char *say_of(const PGresult *res) {
  (void)res;
  return text;
}

static ConnStatusType stand(const PGconn *pg) {
  (void)pg;
  return status;
}

static int send_and_break(PGconn *pg, const char *name, int n,
                          const char *const *values, const int *lengths,
                          const int *formats, int how) {
  pawl_pq = broken;
  return whole.sendQueryPrepared(pg, name, n, values, lengths, formats, how);
}

static int refuse(PGconn *pg) {
  (void)pg;
  return 0;
}

static int be_busy(PGconn *pg) {
  (void)pg;
  return 1;
}

static ExecStatusType fail(const PGresult *res) {
  (void)res;
  return PGRES_FATAL_ERROR;
}

static char *have_no_field(const PGresult *res, int field) {
  (void)res, (void)field;
  return NULL;
}

static char state[] = "53200";

static char *have_state(const PGresult *res, int field) {
  (void)res;
  return field == PG_DIAG_SQLSTATE ? state : NULL;
}

static pawl_code put(pawl_store *store, int unit, pawl_error *err) {
  pawl_args args;
  pawl_args_init(&args, NULL);
  *err = (pawl_error){0};
  pawl_args_begin(&args, PAWL_STMT_meta_put);
  PAWL_PUT(&args, meta_put, .key = pawl_strz("k"), .value = pawl_strz("v"));
  pawl_code rc = pawl_store_once(store, unit, &args, NULL, err);
  pawl_args_deinit(&args);
  return rc;
}

/* What a statement comes to whose answer is read by the broken one; by the
 * whole one it goes on. */
static void breaks(pawl_store *store, int is_short, pawl_code code) {
  const int units[] = {PAWL_UNIT_BATCH, PAWL_UNIT_OPEN};
  pawl_error err;
  for (int i = 0; i < 2; i++) {
    CHECK_INT(put(store, units[i], &err), PAWL_OK);
    pawl_pq.sendQueryPrepared = send_and_break;
    pawl_code rc = put(store, units[i], &err);
    pawl_pq = whole;
    CHECK_INT(rc, code);
    CHECK_INT(pawl_failure_is_short(rc, &err), is_short);
    CHECK_INT(pawl_failure_outside(rc, &err), is_short ? PAWL_NOMEM : code);
    CHECK_INT(err.code, is_short ? PAWL_NOMEM : code);
    CHECK(!is_short || strstr(err.message, "nobody knows whether"));
  }
  CHECK_INT(put(store, PAWL_UNIT_BATCH, &err), PAWL_OK);
  broken = whole;
}

static void nothing_can_be_sent(pawl_store *store) {
  broken.errorMessage = say;
  broken.pipelineSync = refuse;
  tell("cannot allocate memory for output buffer\n");
  breaks(store, 1, PAWL_UNREACHABLE);
  broken.errorMessage = say;
  broken.pipelineSync = refuse;
  tell("out of memory\n");
  breaks(store, 1, PAWL_UNREACHABLE);
}

/* A reply larger than its buffer may become libpq takes for another loss. */
static void a_reply_has_no_room(pawl_store *store) {
  broken.errorMessage = say;
  broken.isBusy = be_busy;
  broken.consumeInput = refuse;
  broken.status = stand;
  status = CONNECTION_BAD;
  tell(
      "cannot allocate memory for input buffer\n"
      "lost synchronization with server: got message type \"D\"\n");
  breaks(store, 1, PAWL_UNREACHABLE);
}

static void an_answer_is_its_own(pawl_store *store) {
  broken.resultErrorMessage = say_of;
  broken.resultErrorField = have_no_field;
  broken.resultStatus = fail;
  tell("out of memory for query result\n");
  breaks(store, 1, PAWL_UNREACHABLE);
}

static void the_servers_memory_is_its_own(pawl_store *store) {
  broken.resultErrorMessage = say_of;
  broken.resultErrorField = have_state;
  broken.resultStatus = fail;
  tell("ERROR:  out of memory\n");
  breaks(store, 0, PAWL_STORE);
}

static void a_server_that_is_gone_is_gone(pawl_store *store) {
  broken.errorMessage = say;
  broken.isBusy = be_busy;
  broken.consumeInput = refuse;
  broken.status = stand;
  status = CONNECTION_BAD;
  tell(
      "ERROR:  out of memory\n"
      "server closed the connection unexpectedly\n");
  breaks(store, 0, PAWL_UNREACHABLE);
}

static void it_cannot_connect(const char *url) {
  pawl_store *store = NULL;
  pawl_error err = {0};
  pawl_pq.errorMessage = say;
  pawl_pq.status = stand;
  status = CONNECTION_BAD;
  tell("out of memory\n");
  CHECK_INT(pawl_store_open(url, NULL, &store, &err), PAWL_NOMEM);
  tell("connection to server at \"h\" failed: FATAL:  out of memory\n");
  CHECK_INT(pawl_store_open(url, NULL, &store, &err), PAWL_UNREACHABLE);
  pawl_pq = whole;
  CHECK(!store);
}

static int sent, breaks_at;

static int count_and_break(PGconn *pg, const char *name, int n,
                           const char *const *values, const int *lengths,
                           const int *formats, int how) {
  if (++sent == breaks_at) pawl_pq = broken;
  return whole.sendQueryPrepared(pg, name, n, values, lengths, formats, how);
}

/* What it has opened, it looks at by its last statement. */
static void a_doctor_says_so(void) {
  char *out = NULL;
  broken.resultErrorMessage = say_of;
  broken.resultErrorField = have_no_field;
  broken.resultStatus = fail;
  tell("out of memory for query result\n");
  for (int i = 0; i < 2; i++) {
    breaks_at = i ? sent : 0;
    sent = 0;
    pawl_pq.sendQueryPrepared = count_and_break;
    CHECK_INT(pawl_doctor(pgbase_url, NULL, &out, NULL), PAWL_OK);
    pawl_pq = whole;
    const char *settings = strstr(out, "\"settings\"");
    CHECK(i ? !settings && strstr(out, "\"code\":\"nomem\"") : !!settings);
    pawl_free(NULL, out);
  }
  broken = whole;
}

int main(void) {
  pawl_store *store = NULL;

  if (!pgbase_make("short")) return TEST_END;
  if (CHECK_INT(pawl_store_open(pgbase_url, NULL, &store, NULL), PAWL_OK)) {
    broken = whole = pawl_pq;
    nothing_can_be_sent(store);
    a_reply_has_no_room(store);
    an_answer_is_its_own(store);
    the_servers_memory_is_its_own(store);
    a_server_that_is_gone_is_gone(store);
    it_cannot_connect(pgbase_url);
    a_doctor_says_so();
  }
  pawl_store_close(store);
  pgbase_drop("short");
  return TEST_END;
}
