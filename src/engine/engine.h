/* engine/engine.h: what happens next.
 *
 * The engine behind pawl.h: each function is the public one of nearly the
 * same name, which adds the checks for misuse. See pawl.h for contracts. Here
 * is the roof's: opening, closing, and the tick. What one room does by itself
 * is in that room's header:
 *
 *   ask/ask.h             questions; act/act.h changes from outside
 *   enter/enter.h         starts and events
 *   versions/versions.h   definitions
 *   work/                 leases, and all that is done under them; the two
 *                         ticks below are rounds.h's, which says what the
 *                         second one is for
 *   common/               what they share
 *
 * Errors   `err` is never NULL once a call of pawl.h is inside: pawl.c lends
 *          one to who gave none. Opening, and what may be asked anywhere,
 *          may get NULL.
 * Layer    above all rooms; below pawl.c. No SQL text, no client library, no
 *          lua.h. */
#ifndef PAWL_ENGINE_ENGINE_H
#define PAWL_ENGINE_ENGINE_H

#include "../base/buf.h"
#include "../base/id.h"
#include "../store/store.h"

pawl_code pawl_engine_open(const char *url, const pawl_config *config,
                           pawl_engine **out, pawl_error *err);
/* From inside a call it only logs that it was called. */
pawl_code pawl_engine_close(pawl_engine *e);
int pawl_engine_is_new(const pawl_engine *e);
void pawl_engine_executor_id(const pawl_engine *e, char out[37]);
/* Begins a call of pawl.h, which pawl_engine_leave ends. PAWL_MISUSE after
 * fork(), and inside another one: from a handler or a callback. */
pawl_code pawl_engine_enter(pawl_engine *e, pawl_error *err);
/* The same for what may be asked anywhere. */
void pawl_engine_go_in(pawl_engine *e);
void pawl_engine_leave(pawl_engine *e);
/* For what is made in a call, and counted as the engine's; and for what the
 * program is given of it, and may keep for longer than the engine. */
const pawl_alloc *pawl_engine_alloc(pawl_engine *e);
const pawl_alloc *pawl_engine_given(pawl_engine *e);
void pawl_engine_interrupt(pawl_engine *e);

pawl_code pawl_engine_tick(pawl_engine *e, int64_t budget_us,
                           pawl_tick_stats *stats, pawl_error *err);
/* What a tick has left to the next one is given back: before it is asked which
 * workflows there are, and who runs what. */
pawl_code pawl_engine_give_back(pawl_engine *e, pawl_error *err);
pawl_code pawl_engine_tick_one(pawl_engine *e, const pawl_id *id,
                               int64_t budget_us, pawl_tick_stats *stats,
                               const char **status, pawl_error *err);
pawl_code pawl_engine_save(pawl_engine *e, pawl_error *err);
pawl_code pawl_engine_next_due(pawl_engine *e, int64_t *due_us,
                               pawl_error *err);
pawl_code pawl_engine_fd(pawl_engine *e, int *fd, pawl_error *err);
/* pawl_host_lend of its host. */
pawl_code pawl_engine_lend(pawl_engine *e, const char *name,
                           pawl_function_fn fn, void *ud,
                           void (*destroy)(void *ud), pawl_error *err);
pawl_code pawl_engine_wait(pawl_engine *e, int64_t for_us, pawl_error *err);

void pawl_engine_count(const pawl_engine *e, pawl_counts *out);
/* What a caller is told of a failure: PAWL_NOMEM where memory was short, also
 * when the connection was given up for that; with what the limit is. */
pawl_code pawl_engine_tell_memory(const pawl_engine *e, pawl_code rc,
                                  pawl_error *err);
void pawl_engine_memory(const pawl_engine *e, pawl_memory_use *out);

/* restore.c; `path` NULL: the copy is `image`. */
pawl_code pawl_engine_restore(pawl_engine *e, const char *path, pawl_str image,
                              pawl_buf *out, pawl_error *err);

/* outcome.c; less than 0: without an end */
pawl_code pawl_engine_result(pawl_engine *e, const pawl_id *id,
                             int64_t timeout_us, pawl_buf *out,
                             pawl_error *err);
pawl_code pawl_engine_ask(pawl_engine *e, const pawl_id *id, pawl_str request,
                          pawl_buf *out, pawl_error *err);

/* ---- verbs.c: what needs more than one room ---- */

pawl_code pawl_engine_change_checked(pawl_engine *e, const pawl_id *id,
                                     pawl_str change, int *done, pawl_buf *out,
                                     pawl_error *err);
/* The same of one of a list, and of many, see pawl_act_change. */
struct pawl_act_list;
pawl_code pawl_engine_change_listed(pawl_engine *e,
                                    const struct pawl_act_list *of,
                                    const pawl_id *id, pawl_str change,
                                    int *done, pawl_error *err);
struct pawl_one_asked;
pawl_code pawl_engine_change_many(pawl_engine *e,
                                  const struct pawl_act_list *of,
                                  pawl_str change, struct pawl_one_asked *list,
                                  int n, pawl_error *err);
/* pawl_export: one that is to be moved is carried away first. */
pawl_code pawl_engine_export_or_move(pawl_engine *e, const pawl_id *id,
                                     pawl_str options, pawl_buf *out,
                                     pawl_error *err);
pawl_code pawl_engine_prune(pawl_engine *e, pawl_str options, pawl_buf *out,
                            pawl_error *err);
/* What pawl_prune_piece does; only what a tick cannot go on after is told. */
pawl_code pawl_engine_prune_piece(pawl_engine *e, int64_t budget_us,
                                  pawl_error *err);
pawl_code pawl_engine_workflow_transfer(pawl_engine *e, pawl_str transfer,
                                        pawl_buf *out, pawl_error *err);
pawl_code pawl_engine_task_change(pawl_engine *e, const pawl_id *id,
                                  pawl_str action, pawl_buf *out,
                                  pawl_error *err);
/* Of a user's own transaction, as in pawl.h. */
pawl_code pawl_engine_hold(pawl_engine *e, pawl_error *err);
pawl_code pawl_engine_held_commit(pawl_engine *e, pawl_error *err);
pawl_code pawl_engine_held_rollback(pawl_engine *e, pawl_error *err);
/* Around one call, which may be many units: *part, where it acts, stays set
 * while a transaction is held, and the call is a level of its own. What it did
 * goes with that when its `rc` says that it failed. */
pawl_code pawl_engine_part_begin(pawl_engine *e, int *part, pawl_error *err);
pawl_code pawl_engine_part_end(pawl_engine *e, int part, pawl_code rc,
                               pawl_error *err);
pawl_code pawl_engine_held_query(pawl_engine *e, pawl_str sql, pawl_str params,
                                 int64_t *changed, pawl_buf *out,
                                 pawl_error *err);
pawl_code pawl_engine_held_handle(pawl_engine *e, void **out, pawl_error *err);
/* e may be NULL: then it is not. */
int pawl_engine_is_held(const pawl_engine *e);
pawl_code pawl_engine_health(pawl_engine *e, int repair, pawl_buf *out,
                             pawl_error *err);
pawl_code pawl_engine_outbox_relay(pawl_engine *e, pawl_str options,
                                   pawl_publish_fn publish, void *ud,
                                   pawl_relayed *relayed, pawl_error *err);

/* ---- archive.c ---- */

/* act/act.h's pawl_filer. */
struct pawl_filed;
pawl_code pawl_archive_file(pawl_engine *e, const struct pawl_filed *f,
                            int *done, pawl_error *err);

/* ---- archived.c ---- */

/* As those of ask/ask.h, also of what is archived. */
pawl_code pawl_anywhere_published(pawl_engine *e, const pawl_id *id,
                                  pawl_buf *out, pawl_error *err);
/* Nothing is appended where it has not answered. *ended: it had then, and will
 * not any more. */
pawl_code pawl_anywhere_answer(pawl_engine *e, const pawl_id *id,
                               pawl_str event, int *ended, pawl_buf *out,
                               pawl_error *err);
/* PAWL_NOTFOUND: it was purged, but for its attributes. */
pawl_code pawl_fail_purged(const pawl_id *id, pawl_error *err);
pawl_code pawl_anywhere_status(pawl_engine *e, const pawl_id *id,
                               const char **out, pawl_error *err);
pawl_code pawl_anywhere_get(pawl_engine *e, const pawl_id *id, pawl_buf *out,
                            pawl_error *err);
pawl_code pawl_anywhere_history(pawl_engine *e, const pawl_id *id,
                                pawl_str query, pawl_buf *out,
                                pawl_error *err);
pawl_code pawl_anywhere_tokens(pawl_engine *e, const pawl_id *id,
                               int everything, pawl_buf *out, pawl_error *err);
pawl_code pawl_anywhere_explain(pawl_engine *e, const pawl_id *id,
                                pawl_buf *out, pawl_error *err);
pawl_code pawl_anywhere_export(pawl_engine *e, const pawl_id *id,
                               pawl_str options, pawl_buf *out,
                               pawl_error *err);
pawl_code pawl_anywhere_task_get(pawl_engine *e, const pawl_id *id,
                                 pawl_buf *out, pawl_error *err);
pawl_code pawl_anywhere_task_list(pawl_engine *e, pawl_str query,
                                  pawl_buf *out, pawl_error *err);
pawl_code pawl_anywhere_task_tally(pawl_engine *e, pawl_str query,
                                   int64_t *count, int *more, pawl_error *err);

/* ---- doctor.c ---- */

/* Appends what pawl_doctor says, without an engine; `url` NULL: of the
 * libraries alone. */
pawl_code pawl_engine_doctor(const char *url,
                             const pawl_store_options *options, pawl_buf *out,
                             pawl_error *err);

/* ---- bulk.c ---- */

pawl_code pawl_engine_bulk(pawl_engine *e, pawl_str query, pawl_str change,
                           pawl_progress_fn progress, void *ud, pawl_buf *out,
                           pawl_error *err);

#endif
