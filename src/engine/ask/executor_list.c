/* The executors that the store knows, and how much each holds.
 *
 * A row for each process, not for each thing that runs: all that are asked for
 * are read. What they hold is told by the agenda, whose leases end within the
 * longest there is: what is due later is not looked at. */
#include "../../value/options.h"
#include "../common/answer.h"
#include "../common/engine_struct.h"
#include "../common/time.h"
#include "ask.h"

typedef struct query {
  uint64_t given;
  pawl_buf group;
  int64_t limit;
  int all;
} query;

static const pawl_option list_rows[] = {
    {"group", PAWL_OPTION_TEXT, .at = offsetof(query, group), .low = 1},
    {"all", PAWL_OPTION_BOOL, .at = offsetof(query, all)},
    {"limit", PAWL_OPTION_INT, .at = offsetof(query, limit), .low = 1,
     .high = PAWL_MAX_LIMIT}};
PAWL_OPTIONS_OF(executor_list) = {.what = "executors",
                                  PAWL_OPTION_ROWS(list_rows)};

/* How many leases of this executor the shards have. */
static int64_t held_by(const pawl_rows *leases, const pawl_id *executor) {
  int64_t n = 0;

  for (int k = 0; k < leases->nrows; k++) {
    const pawl_executor_leases_row row = pawl_read_executor_leases(leases, k);
    if (row.executor && pawl_id_eq(row.executor, executor)) n += row.held;
  }
  return n;
}

static void add_executors(const pawl_rows *rows, const pawl_rows *leases,
                          pawl_buf *out) {
  pawl_object list, o;

  pawl_list_begin(&list, out);
  for (int k = 0; k < rows->nrows; k++) {
    const pawl_executor_list_row row = pawl_read_executor_list(rows, k);
    pawl_list_object(&list, &o);
    pawl_member_columns(
        &o, rows, k,
        "id alive host pid group=executor_group started=started_at "
        "active=active_at expires=expires_at "
        "stopped=stopped_at recovered=recovered_at");
    pawl_member_int(&o, "holds", held_by(leases, row.id));
    pawl_object_end(&o);
  }
  pawl_list_end(&list);
}

static pawl_code send_both(pawl_engine *e, const query *q, int *listed,
                           int *leased, pawl_error *err) {
  const int64_t now = pawl_store_now(e->store);

  MUST(PAWL_SEND(e->store, executor_list, listed, err, .all = q->all,
                 .executor_group = pawl_buf_some(&q->group), .now = now,
                 .max = q->limit));
  pawl_args_begin(&e->args, PAWL_STMT_executor_leases);
  for (int s = 0; s < e->nshards; s++)
    PAWL_PUT(&e->args, executor_leases, .shard = s,
             .horizon_us = PAWL_MAX_LEASE_US, .now = now);
  return pawl_store_send(e->store, &e->args, leased, err);
}

pawl_code pawl_engine_executor_list(pawl_engine *e, pawl_str text,
                                    pawl_buf *out, pawl_error *err) {
  query q;
  pawl_rows rows, leases;
  int listed, leased;
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_executor_list, &q, sizeof q, &e->alloc);
  q.limit = 100;
  TRY(pawl_options_read(&pawl_options_of_executor_list, text, &q, err));
  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(send_both(e, &q, &listed, &leased, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, listed, &rows);
  pawl_store_rows(e->store, leased, &leases);
  add_executors(&rows, &leases, out);
  TRY(pawl_buf_check(out, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  pawl_options_deinit(&pawl_options_of_executor_list, &q);
  return rc;
}
