#include "audit.h"

#include "engine_struct.h"
#include "time.h"

static pawl_str some(pawl_str text) {
  return text.len ? text : (pawl_str){NULL, 0};
}

pawl_code pawl_audit_workflow(pawl_engine *e, const char *type, pawl_str code,
                              int64_t version, pawl_str by, pawl_str reason,
                              pawl_error *err) {
  pawl_id id;

  MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &id, err));
  return PAWL_SEND(e->store, audit_insert, NULL, err, .shard = 0, .id = &id,
                   .type = pawl_strz(type), .by = some(by), .workflow = code,
                   .version = version, .text = some(reason),
                   .now = pawl_store_now(e->store));
}
