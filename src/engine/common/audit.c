#include "audit.h"

#include <inttypes.h>
#include <stdio.h>

#include "engine_struct.h"
#include "time.h"

static pawl_str some(pawl_str text) {
  return text.len ? text : (pawl_str){NULL, 0};
}

pawl_str pawl_audit_self(const pawl_engine *e, char own[PAWL_MAX_SELF]) {
  snprintf(own, PAWL_MAX_SELF, "%.63s:%" PRId64, e->self.host, e->self.pid);
  return pawl_strz(own);
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

pawl_code pawl_audit_store(pawl_engine *e, const char *type, pawl_str by,
                           pawl_str text, pawl_error *err) {
  return pawl_audit_workflow(e, type, (pawl_str){NULL, 0}, 0, by, text, err);
}

pawl_code pawl_audit_instance(pawl_engine *e, const char *type,
                              const pawl_id *instance, pawl_str by,
                              pawl_str text, pawl_error *err) {
  pawl_id id;

  MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &id, err));
  return PAWL_SEND(e->store, audit_instances, NULL, err,
                   .shard = pawl_shard_of(e, instance), .id = &id,
                   .instance = instance, .type = pawl_strz(type),
                   .by = some(by), .text = some(text),
                   .now = pawl_store_now(e->store));
}
