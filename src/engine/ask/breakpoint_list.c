/* The breakpoints that are set. They are few: all are read. */
#include "../../value/options.h"
#include "../common/answer.h"
#include "../common/engine_struct.h"
#include "../common/tenant.h"
#include "ask.h"

typedef struct query {
  uint64_t given;
  pawl_buf workflow, node, tenant;
} query;

static const pawl_option list_rows[] = {
    {"workflow", PAWL_OPTION_TEXT, .at = offsetof(query, workflow), .low = 1},
    {"node", PAWL_OPTION_TEXT, .at = offsetof(query, node), .low = 1},
    {"tenant", PAWL_OPTION_TEXT, .at = offsetof(query, tenant), .low = 1}};
PAWL_OPTIONS_OF(breakpoint_list) = {.what = "breakpoints",
                                    PAWL_OPTION_ROWS(list_rows)};

pawl_code pawl_engine_breakpoint_list(pawl_engine *e, pawl_str text,
                                      pawl_buf *out, pawl_error *err) {
  query q;
  pawl_rows rows;
  pawl_object list, o;
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_breakpoint_list, &q, sizeof q, &e->alloc);
  TRY(pawl_options_read(&pawl_options_of_breakpoint_list, text, &q, err));
  TRY(pawl_tenant_take(e, &q.tenant, err));
  TRY(PAWL_READ(
      e->store, breakpoint_list, &rows, err,
      .workflow = pawl_buf_some(&q.workflow), .node = pawl_buf_some(&q.node),
      .tenant = pawl_buf_some(&q.tenant), .now = pawl_store_now(e->store)));
  pawl_list_begin(&list, out);
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_breakpoint_list_row row = pawl_read_breakpoint_list(&rows, k);
    pawl_list_object(&list, &o);
    pawl_member_columns(&o, &rows, k,
                        "workflow node when=condition by reason "
                        "set=set_at expires=expires_at");
    pawl_member_str(&o, "tenant",
                    row.tenant.len ? row.tenant : (pawl_str){NULL, 0});
    pawl_object_end(&o);
  }
  pawl_list_end(&list);
  TRY(pawl_buf_check(out, err));
out:
  pawl_options_deinit(&pawl_options_of_breakpoint_list, &q);
  return rc;
}
