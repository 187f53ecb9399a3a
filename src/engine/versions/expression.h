/* engine/versions/expression.h: an expression in Lua that people write: the
 * condition of a breakpoint.
 *
 * It is a workflow's condition that is loaded as limited, whoever writes it: it
 * has a state of its own, and no more time and memory than such a one.
 *
 * Layer    engine/versions: above host. */
#ifndef PAWL_ENGINE_VERSIONS_EXPRESSION_H
#define PAWL_ENGINE_VERSIONS_EXPRESSION_H

#include "../../base/buf.h"
#include "../../host/host.h"

#define PAWL_MAX_EXPRESSION 2000 /* bytes of one */

/* *ref is to be dropped. PAWL_INVALID: it is none. */
pawl_code pawl_expression_load(pawl_engine *e, pawl_str text, int *ref,
                               pawl_error *err);
void pawl_expression_drop(pawl_engine *e, int ref);
/* Is it true of `vars`, `input` and `attempt` of the call, and of `key`, which
 * is its `correlation`? The call's handler and its names are filled in. */
pawl_code pawl_expression_holds(pawl_engine *e, int ref, pawl_call *call,
                                int *holds, pawl_error *err);

#endif
