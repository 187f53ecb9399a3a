#include "expression.h"

#include "../common/engine_struct.h"

#define NAME "condition"
#define NODE "holds"

/* What stands before and behind it: on the first line, so that errors tell of
 * the right one; a comment at its end ends with it. */
static const char before[] =
    "local function holds(vars, input, key, attempt) return (";
static const char behind[] =
    "\n) end\n"
    "local flow = require('pawl').workflow { code = 'pawl.condition' }\n"
    "flow:wait('" NODE
    "', { next = 'done', condition = function(ctx)\n"
    "  return holds(ctx.vars, ctx.input, ctx.correlation, ctx.attempt)\n"
    "end })\n"
    "flow:finish 'done'\n"
    "return flow\n";

static pawl_code load(pawl_engine *e, pawl_str text, const pawl_limits *limits,
                      int *ref, pawl_error *err) {
  pawl_buf source = {.alloc = &e->alloc};
  pawl_loaded loaded;
  pawl_code rc = PAWL_OK;

  memset(&loaded, 0, sizeof loaded);
  pawl_buf_addz(&source, before);
  pawl_buf_adds(&source, text);
  pawl_buf_addz(&source, behind);
  TRY(pawl_buf_check(&source, err));
  TRY(pawl_host_load_text(e->host, NAME, pawl_buf_str(&source),
                          pawl_strz("{}"), limits, &loaded, err));
  *ref = loaded.ref;
  pawl_loaded_deinit(&loaded);
out:
  pawl_buf_deinit(&source);
  return rc;
}

pawl_code pawl_expression_load(pawl_engine *e, pawl_str text, int *ref,
                               pawl_error *err) {
  pawl_trust trust;
  pawl_code rc = PAWL_OK;

  TRY(pawl_trust_read(&trust, "limited", &e->alloc, err));
  rc = load(e, text, &trust.limits, ref, err);
  if (rc != PAWL_DEFINITION) goto out;
  rc = PAWL_INVALID;
  if (err) err->code = rc;
  pawl_error_hint(err,
                  "write an expression in Lua, as vars.total > 1000, over "
                  "vars, input, key and attempt");
out:
  pawl_trust_deinit(&trust);
  return rc;
}

/* All of them are gone with the host. */
void pawl_expression_drop(pawl_engine *e, int ref) {
  if (e->host) pawl_host_unload(e->host, ref);
}

pawl_code pawl_expression_holds(pawl_engine *e, int ref, pawl_call *call,
                                int *holds, pawl_error *err) {
  pawl_said said;

  call->ref = ref;
  call->handler = PAWL_HANDLER_CONDITION;
  call->node = NODE;
  call->workflow = "pawl.condition";
  call->version = 1;
  pawl_said_init(&said, &e->alloc);
  const pawl_code rc = pawl_host_run(e->host, call, &said, err);
  *holds = rc == PAWL_OK && said.truth;
  pawl_said_deinit(&said);
  return rc;
}
