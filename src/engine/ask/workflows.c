/* The versions of workflows that the store knows, and what lives of each.
 *
 * What a program has loaded is no matter here: other workers may have loaded
 * something else, and the store is what they have in common. */
#include <inttypes.h>

#include "../../value/json.h"
#include "../../value/options.h"
#include "../common/answer.h"
#include "../common/engine_struct.h"
#include "ask.h"

/* Counting what lives is a statement for each version: it is only done when
 * asked for. */
typedef struct query {
  uint64_t given;
  pawl_buf code;
  int live;
} query;

static const pawl_option list_rows[] = {
    {"workflow", PAWL_OPTION_TEXT, .at = offsetof(query, code), .low = 1},
    {"live", PAWL_OPTION_BOOL, .at = offsetof(query, live)}};
PAWL_OPTIONS_OF(workflow_list) = {.what = "workflows",
                                  PAWL_OPTION_ROWS(list_rows)};

/* Counts the unfinished instances of the version that `row`, an object that
 * was just written, describes, and adds them to it. */
static pawl_code add_live(pawl_engine *e, pawl_buf *row, pawl_error *err) {
  pawl_buf code = {.alloc = &e->alloc};
  pawl_rows rows;
  pawl_str value;
  int64_t version = 0, live = 0;
  pawl_code rc = PAWL_OK;

  if (pawl_json_get(pawl_buf_str(row), "workflow", &value))
    pawl_json_unquote(value, &code);
  if (pawl_json_get(pawl_buf_str(row), "version", &value))
    (void)pawl_json_int(value, &version);
  TRY(pawl_buf_check(&code, err));
  pawl_args_begin(&e->args, PAWL_STMT_workflow_count);
  for (int s = 0; s < e->nshards; s++)
    PAWL_PUT(&e->args, workflow_count, .code = pawl_buf_str(&code),
             .version = version, .shard = s);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  for (int k = 0; k < rows.nrows; k++)
    live += pawl_read_workflow_count(&rows, k).live;
  row->len--; /* the brace */
  pawl_buf_addf(row, ",\"live\":%" PRId64 "}", live);
out:
  pawl_buf_deinit(&code);
  return rc;
}

/* The list is complete before the first count is sent: its rows are borrowed
 * from the connection. */
static pawl_code add_lives(pawl_engine *e, const pawl_buf *list, pawl_buf *out,
                           pawl_error *err) {
  pawl_buf row = {.alloc = &e->alloc};
  pawl_object lives;
  pawl_code rc = PAWL_OK;

  pawl_list_begin(&lives, out);
  for (pawl_json_iter it = {0}; pawl_json_walk(pawl_buf_str(list), &it);) {
    pawl_buf_set(&row, it.value);
    TRY(pawl_buf_check(&row, err));
    TRY(add_live(e, &row, err));
    pawl_list_next(&lives);
    pawl_buf_adds(out, pawl_buf_str(&row));
  }
  pawl_list_end(&lives);
out:
  pawl_buf_deinit(&row);
  return rc;
}

pawl_code pawl_engine_workflow_list(pawl_engine *e, pawl_str text,
                                    pawl_buf *out, pawl_error *err) {
  query q;
  pawl_buf list = {.alloc = &e->alloc};
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_workflow_list, &q, sizeof q, &e->alloc);
  TRY(pawl_options_read(&pawl_options_of_workflow_list, text, &q, err));
  TRY(PAWL_READ(e->store, workflow_list, &rows, err,
                .code = pawl_buf_some(&q.code)));
  pawl_add_rows(&list, &rows,
                "workflow=code version revision name active suspended inline "
                "nodes sha256 created=created_at modified=modified_at "
                "by reason");
  TRY(pawl_buf_check(&list, err));
  if (q.live)
    TRY(add_lives(e, &list, out, err));
  else
    pawl_buf_adds(out, pawl_buf_str(&list));
  TRY(pawl_buf_check(out, err));
out:
  pawl_options_deinit(&pawl_options_of_workflow_list, &q);
  pawl_buf_deinit(&list);
  return rc;
}
