/* engine/engine.h: what happens next.
 *
 * The engine behind pawl.h: each function is the public one of nearly the
 * same name, which adds the checks for misuse. See pawl.h for contracts.
 *
 * Layer    above store, host and defs; below pawl.c. No SQL text, no client
 *          library, no lua.h. */
#ifndef PAWL_ENGINE_ENGINE_H
#define PAWL_ENGINE_ENGINE_H

#include "../base/buf.h"
#include "../base/id.h"

pawl_code pawl_engine_open(const char *url, const pawl_config *config,
                           pawl_engine **out, pawl_error *err);
/* From inside a call it only logs that it was called. */
void pawl_engine_close(pawl_engine *e);
/* The engine's time. */
int64_t pawl_engine_now(pawl_engine *e);
void pawl_engine_executor(const pawl_engine *e, char out[37]);
/* Begins a call of pawl.h, which pawl_engine_leave ends. PAWL_MISUSE after
 * fork(), and inside another one: from a handler or a callback. */
pawl_code pawl_engine_enter(pawl_engine *e, pawl_error *err);
/* The same for what may be asked anywhere. */
void pawl_engine_go_in(pawl_engine *e);
void pawl_engine_leave(pawl_engine *e);
const pawl_alloc *pawl_engine_alloc(pawl_engine *e);
void pawl_engine_interrupt(pawl_engine *e);

pawl_code pawl_engine_load_file(pawl_engine *e, const char *path,
                                pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_load_text(pawl_engine *e, const char *name,
                                pawl_str text, pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_load_stack(pawl_engine *e, pawl_buf *out,
                                 pawl_error *err);
/* `path` NULL: what is on the config's lua_State's stack. */
pawl_code pawl_engine_hotfix(pawl_engine *e, const char *path,
                             pawl_str options, pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_check(pawl_engine *e, const char *path, pawl_buf *out,
                            pawl_error *err);
pawl_code pawl_engine_graph(pawl_engine *e, const char *code, int64_t version,
                            pawl_buf *out, pawl_error *err);

pawl_code pawl_engine_start(pawl_engine *e, const char *code, pawl_str input,
                            pawl_str options, pawl_id *id, int *created,
                            pawl_error *err);
pawl_code pawl_engine_start_many(pawl_engine *e, const char *code,
                                 pawl_str items, pawl_str options,
                                 pawl_buf *out, pawl_error *err);

pawl_code pawl_engine_tick(pawl_engine *e, int64_t budget_us,
                           pawl_stats *stats, pawl_error *err);
pawl_code pawl_engine_tick_one(pawl_engine *e, const pawl_id *id,
                               int64_t budget_us, pawl_stats *stats,
                               const char **status, pawl_error *err);
pawl_code pawl_engine_next_due(pawl_engine *e, int64_t *due_us,
                               pawl_error *err);
pawl_code pawl_engine_wait(pawl_engine *e, int64_t until_us, pawl_error *err);

pawl_code pawl_engine_find(pawl_engine *e, const char *text, pawl_id *out,
                           pawl_error *err);
pawl_code pawl_engine_get(pawl_engine *e, const pawl_id *id, pawl_buf *out,
                          pawl_error *err);
pawl_code pawl_engine_list(pawl_engine *e, pawl_str query, pawl_buf *out,
                           pawl_error *err);
pawl_code pawl_engine_history(pawl_engine *e, const pawl_id *id, pawl_buf *out,
                              pawl_error *err);
pawl_code pawl_engine_tokens(pawl_engine *e, const pawl_id *id, int everything,
                             pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_explain(pawl_engine *e, const pawl_id *id, pawl_buf *out,
                              pawl_error *err);
pawl_code pawl_engine_outbox(pawl_engine *e, pawl_str query, pawl_buf *out,
                             pawl_error *err);
/* `out` (may be NULL) receives pawl_signal's answer. */
pawl_code pawl_engine_signal(pawl_engine *e, pawl_str signal, int64_t *reached,
                             pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_cancel(pawl_engine *e, const pawl_id *id,
                             const char *reason, const char *who, int *done,
                             pawl_error *err);
pawl_code pawl_engine_task_find(pawl_engine *e, const char *prefix,
                                pawl_id *out, pawl_error *err);
pawl_code pawl_engine_task_get(pawl_engine *e, const pawl_id *id,
                               pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_tasks(pawl_engine *e, pawl_str query, pawl_buf *out,
                            pawl_error *err);
pawl_code pawl_engine_task(pawl_engine *e, const pawl_id *id, pawl_str action,
                           pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_change_checked(pawl_engine *e, const pawl_id *id,
                                     pawl_str change, int *done, pawl_buf *out,
                                     pawl_error *err);
pawl_code pawl_engine_moves(pawl_engine *e, pawl_str move, int apply,
                            pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_workflow_change(pawl_engine *e, pawl_str change,
                                      pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_health(pawl_engine *e, int repair, pawl_buf *out,
                             pawl_error *err);
pawl_code pawl_engine_busy(pawl_engine *e, int *busy, pawl_error *err);
pawl_code pawl_engine_workflows(pawl_engine *e, pawl_str query, pawl_buf *out,
                                pawl_error *err);
void pawl_engine_count(const pawl_engine *e, pawl_counts *out);

#endif
