/* engine/common/audit.h: what somebody does to workflows is written down.
 *
 * What is done to an instance its history tells; the rest has rows of pawl.audit,
 * in the unit of what they tell of. Those of workflows are in shard 0.
 *
 * Layer    engine/common. */
#ifndef PAWL_ENGINE_COMMON_AUDIT_H
#define PAWL_ENGINE_COMMON_AUDIT_H

#include "../../store/store.h"

/* In the open unit; version 0: all of them. Empty texts are null. */
pawl_code pawl_audit_workflow(pawl_engine *e, const char *type, pawl_str code,
                              int64_t version, pawl_str by, pawl_str reason,
                              pawl_error *err);

#endif
