/* engine/versions/versions.h: the versions of workflows, here and in the store.
 *
 *   register.c   definitions: loaded, checked, stored, found again
 *   author.c     whose a code is, and who may define it
 *   deploy.c     many files stored at once, to be run by others
 *   hotfix.c     another source for a version that instances run
 *   crossing.c   what can go from one version to another
 *   retell.c      all of that again, for a store that was opened anew
 *
 * Layer    engine/versions: above common and host. */
#ifndef PAWL_ENGINE_VERSIONS_VERSIONS_H
#define PAWL_ENGINE_VERSIONS_VERSIONS_H

#include "../../base/id.h"
#include "../../defs/def.h"

/* ---- for pawl.h ---- */

pawl_code pawl_engine_load_file(pawl_engine *e, const char *path,
                                pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_load_text(pawl_engine *e, const char *name,
                                pawl_str text, pawl_buf *out, pawl_error *err);
/* `text` at NULL: `name` is a path. `trust` NULL: the engine's. */
pawl_code pawl_engine_load_as(pawl_engine *e, const char *name, pawl_str text,
                              const char *trust, pawl_buf *out,
                              pawl_error *err);
pawl_code pawl_engine_load_stack(pawl_engine *e, pawl_buf *out,
                                 pawl_error *err);
/* The file `name`, or `text`, which is called so; both NULL: what is on the
 * config's lua_State's stack. */
pawl_code pawl_engine_workflow_hotfix(pawl_engine *e, const char *name,
                                      const char *text, pawl_str options,
                                      pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_deploy(pawl_engine *e, pawl_str options, pawl_buf *out,
                             pawl_error *err);
pawl_code pawl_engine_check(pawl_engine *e, const char *path, pawl_buf *out,
                            pawl_error *err);
pawl_code pawl_engine_workflow_graph(pawl_engine *e, const char *code,
                                     int64_t version, pawl_buf *out,
                                     pawl_error *err);

/* ---- for the other rooms ---- */

/* Makes the definition known to the store, or finds it there. */
pawl_code pawl_register_def(pawl_engine *e, pawl_def *def, pawl_error *err);
/* The definition that runs (code, version; 0: the newest): ours, or the stored
 * one when `revision` (0: any) differs. NULL: unknown to both. *foreign: the
 * store has it, but it cannot or may not run here. PAWL_INTERRUPTED: loading it
 * was stopped, which says nothing of it. */
pawl_code pawl_definition(pawl_engine *e, const char *code, int64_t version,
                          int64_t revision, pawl_def **out, int *foreign,
                          pawl_error *err);

/* Tells a store that was opened again of this engine and its definitions. */
pawl_code pawl_retell(pawl_engine *e, pawl_error *err);

/* PAWL_NOTFOUND, of what no store has: no code, or no number of a version
 * (0: the newest). */
pawl_code pawl_check_workflow(const char *code, int64_t version,
                              pawl_error *err);
pawl_code pawl_no_workflow(const char *code, int64_t version, pawl_error *err);

/* `definition`'s graph for looking at: ours, or made of the stored one, which
 * *own says and pawl_def_free frees. No code runs. PAWL_NOTFOUND. */
pawl_code pawl_graph_find(pawl_engine *e, const char *code, int64_t version,
                          pawl_def **out, int *own, pawl_error *err);
/* PAWL_INVALID: no such node; the nearest name is offered. */
pawl_code pawl_graph_node(const pawl_def *def, pawl_str name, int *index,
                          pawl_error *err);

#endif
