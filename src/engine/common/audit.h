/* engine/common/audit.h: what somebody does that no history has is written down.
 *
 * What is done to an instance its history tells; the rest has rows of pawl.audit,
 * in the unit of what they tell of. Those of workflows, and of the whole store,
 * are in shard 0.
 *
 * Layer    engine/common. */
#ifndef PAWL_ENGINE_COMMON_AUDIT_H
#define PAWL_ENGINE_COMMON_AUDIT_H

#include "../../store/store.h"

/* This process, for where nobody says who did it. */
enum { PAWL_MAX_SELF = 96 };
pawl_str pawl_audit_self(const pawl_engine *e, char own[PAWL_MAX_SELF]);

/* All in the open unit; empty texts are null. Version 0: all of them. */
pawl_code pawl_audit_workflow(pawl_engine *e, const char *type, pawl_str code,
                              int64_t version, pawl_str by, pawl_str reason,
                              pawl_error *err);
/* What concerns no workflow and no instance alone. */
pawl_code pawl_audit_store(pawl_engine *e, const char *type, pawl_str by,
                           pawl_str text, pawl_error *err);
pawl_code pawl_audit_instance(pawl_engine *e, const char *type,
                              const pawl_id *instance, pawl_str by,
                              pawl_str text, pawl_error *err);

#endif
