/* engine/common/tenant.h: an engine that is one tenant's: what it starts and
 * sends is that one's, what others have is not there (common/find.h), and what
 * concerns all of them is refused.
 *
 * Layer    engine/common.
 * Keeps    Z2 to a tenant's engine, what another tenant has is like what is
 *             not there: the same code, the same words.
 *          Z3 events, waits, tasks, children and what an event starts have the
 *             tenant of the instance, or of who sends; they meet their own
 *             alone. To have none is to have one that nobody else has. */
#ifndef PAWL_ENGINE_COMMON_TENANT_H
#define PAWL_ENGINE_COMMON_TENANT_H

#include "../../base/buf.h"

/* Empty: the engine is nobody's, and sees all. */
pawl_str pawl_tenant_of(const pawl_engine *e);
/* *tenant as an option has it: the engine's, when it is empty. PAWL_INVALID: it
 * is another one than the engine's. */
pawl_code pawl_tenant_take(const pawl_engine *e, pawl_buf *tenant,
                           pawl_error *err);
/* PAWL_INVALID: `own` is asked to do something for `other`. */
pawl_code pawl_tenant_refuse(pawl_str own, pawl_str other, pawl_error *err);
/* PAWL_UNSUPPORTED for an engine that is a tenant's. `what` it would be, as
 * in "a tenant's engine does not <what>". */
pawl_code pawl_tenant_none(const pawl_engine *e, const char *what,
                           pawl_error *err);

#endif
