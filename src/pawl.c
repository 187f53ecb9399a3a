/* The public face: checks for misuse, turns text into ids and buffers into
 * text, and calls the engine. No logic lives here. */
#include "pawl.h"

#include <stdio.h>

#include "engine/common/answer.h"
#include "engine/engine.h"
#include "store/store.h"

const char *pawl_version(void) {
  return PAWL_VERSION;
}

/* ---- text in and out ----
 * Text handed out stands behind its own size and allocator: it may be given
 * back when the engine is gone, and what pawl_migrate gives has none. */

typedef struct block {
  pawl_alloc alloc;
  size_t size;
} block;

static pawl_code hand_out(const pawl_alloc *alloc, const pawl_buf *b,
                          char **out, pawl_error *err) {
  size_t size = sizeof(block) + b->len + 1;
  block *made = pawl_realloc(alloc, NULL, 0, size);
  char *text;

  if (!made) return pawl_fail(err, PAWL_NOMEM, "out of memory");
  made->alloc = *alloc;
  made->size = size;
  text = (char *)(made + 1);
  if (b->len) memcpy(text, b->at, b->len);
  text[b->len] = '\0';
  *out = text;
  return PAWL_OK;
}

void pawl_free(pawl_engine *engine, char *text) {
  block *made;
  pawl_alloc alloc;
  (void)engine;
  if (!text) return;
  made = (block *)(void *)text - 1;
  alloc = made->alloc;
  pawl_release(&alloc, made, made->size);
}

/* Runs `call` while nobody else is inside. */
#define CALL(call)                                 \
  do {                                             \
    pawl_code rc = pawl_engine_enter(engine, err); \
    if (rc != PAWL_OK) return rc;                  \
    rc = (call);                                   \
    pawl_engine_leave(engine);                     \
    return rc;                                     \
  } while (0)

/* The same for one that fills the buffer `b`, and hands its text out. */
#define ANSWER(call)                                              \
  do {                                                            \
    pawl_code rc = pawl_engine_enter(engine, err);                \
    if (rc != PAWL_OK) return rc;                                 \
    const pawl_alloc *alloc = pawl_engine_alloc(engine);          \
    pawl_buf b = {.alloc = alloc};                                \
    rc = (call);                                                  \
    if (rc == PAWL_OK) rc = pawl_answer_check(&b, err);           \
    if (rc == PAWL_OK && out) rc = hand_out(alloc, &b, out, err); \
    pawl_buf_deinit(&b);                                          \
    pawl_engine_leave(engine);                                    \
    return rc;                                                    \
  } while (0)

static pawl_str borrowed(const char *text, size_t len) {
  pawl_str s = {text, text ? len : 0};
  return s;
}

/* ---- engine ---- */

static pawl_code check_config(const pawl_config *c, pawl_error *err) {
  if (!c || c->size == sizeof *c) return PAWL_OK;
  return pawl_fail(err, PAWL_MISUSE,
                   "pawl_config has size %u here, %zu in "
                   "the library: set it with PAWL_CONFIG_INIT, and build "
                   "against this version's pawl.h",
                   (unsigned)c->size, sizeof *c);
}

pawl_code pawl_open(const char *url, const pawl_config *config,
                    pawl_engine **out, pawl_error *err) {
  pawl_code rc = check_config(config, err);
  return rc == PAWL_OK ? pawl_engine_open(url, config, out, err) : rc;
}

void pawl_close(pawl_engine *engine) {
  pawl_engine_close(engine);
}

const char *pawl_store_name(const char *url, char *out, size_t size) {
  pawl_buf b = {0};
  if (size == 0) return out;
  pawl_store_describe(url, &b);
  snprintf(out, size, "%s", b.failed || !b.at ? "..." : b.at);
  pawl_buf_deinit(&b);
  return out;
}

pawl_code pawl_migrate(const char *url, const pawl_config *config, int shards,
                       char **report, pawl_error *err) {
  pawl_alloc alloc = {0};
  pawl_log log = {0};
  pawl_clock clock = {0};
  pawl_store *store = NULL;
  pawl_code rc = check_config(config, err);
  int from, to;

  if (rc != PAWL_OK) return rc;
  if (config) {
    alloc.fn = config->alloc, alloc.ud = config->alloc_ud;
    log.fn = config->log, log.ud = config->log_ud;
    clock.fn = config->clock, clock.ud = config->clock_ud;
  }
  pawl_store_options options = {.alloc = &alloc,
                                .log = &log,
                                .clock = &clock,
                                .pooler = config ? config->pooler : 0,
                                .create = 1,
                                .shards = shards,
                                .migrate = 1};
  rc = pawl_store_open(url, &options, &store, err);
  if (rc != PAWL_OK) return rc;
  pawl_store_versions(store, &from, &to);
  pawl_buf b = {.alloc = &alloc};
  pawl_buf_addf(&b, "{\"from\":%d,\"to\":%d,\"shards\":%d}", from, to,
                pawl_store_shards(store));
  pawl_store_close(store);
  rc = pawl_buf_check(&b, err);
  if (rc == PAWL_OK && report) rc = hand_out(&alloc, &b, report, err);
  pawl_buf_deinit(&b);
  return rc;
}

pawl_code pawl_load(pawl_engine *engine, const char *path, char **out,
                    pawl_error *err) {
  ANSWER(pawl_engine_load_file(engine, path, &b, err));
}

pawl_code pawl_load_text(pawl_engine *engine, const char *name,
                         const char *text, size_t len, char **out,
                         pawl_error *err) {
  ANSWER(pawl_engine_load_text(engine, name, borrowed(text, len), &b, err));
}

pawl_code pawl_load_stack(pawl_engine *engine, char **out, pawl_error *err) {
  ANSWER(pawl_engine_load_stack(engine, &b, err));
}

pawl_code pawl_hotfix(pawl_engine *engine, const char *path,
                      const char *options, char **out, pawl_error *err) {
  ANSWER(pawl_engine_hotfix(engine, path, pawl_strz(options), &b, err));
}

pawl_code pawl_check(pawl_engine *engine, const char *path, char **out,
                     pawl_error *err) {
  ANSWER(pawl_engine_check(engine, path, &b, err));
}

pawl_code pawl_graph(pawl_engine *engine, const char *code, int64_t version,
                     char **out, pawl_error *err) {
  ANSWER(pawl_engine_graph(engine, code, version, &b, err));
}

static pawl_code start(pawl_engine *e, const char *code, pawl_str input,
                       pawl_str options, char id[37], int *created,
                       pawl_error *err) {
  pawl_id out;
  int own;
  pawl_code rc = pawl_engine_start(e, code, input, options, &out,
                                   created ? created : &own, err);
  if (rc == PAWL_OK && id) pawl_id_format(&out, id);
  return rc;
}

pawl_code pawl_start(pawl_engine *engine, const char *code, const char *input,
                     size_t input_len, const char *options, size_t options_len,
                     char id[37], int *created, pawl_error *err) {
  CALL(start(engine, code, borrowed(input, input_len),
             borrowed(options, options_len), id, created, err));
}

pawl_code pawl_start_many(pawl_engine *engine, const char *code,
                          const char *items, size_t items_len,
                          const char *options, size_t options_len, char **out,
                          pawl_error *err) {
  ANSWER(pawl_engine_start_many(engine, code, borrowed(items, items_len),
                                borrowed(options, options_len), &b, err));
}

pawl_code pawl_tick(pawl_engine *engine, int64_t budget_us, pawl_stats *stats,
                    pawl_error *err) {
  CALL(pawl_engine_tick(engine, budget_us, stats, err));
}

static pawl_code tick_one(pawl_engine *e, const char *id, int64_t budget_us,
                          pawl_stats *stats, const char **status,
                          pawl_error *err) {
  pawl_id full;
  pawl_code rc = pawl_engine_find(e, id, &full, err);
  if (rc != PAWL_OK) return rc;
  return pawl_engine_tick_one(e, &full, budget_us, stats, status, err);
}

pawl_code pawl_tick_instance(pawl_engine *engine, const char *id,
                             int64_t budget_us, pawl_stats *stats,
                             const char **status, pawl_error *err) {
  CALL(tick_one(engine, id, budget_us, stats, status, err));
}

pawl_code pawl_next_due(pawl_engine *engine, int64_t *due_us,
                        pawl_error *err) {
  CALL(pawl_engine_next_due(engine, due_us, err));
}

pawl_code pawl_busy(pawl_engine *engine, int *busy, pawl_error *err) {
  CALL(pawl_engine_busy(engine, busy, err));
}

pawl_code pawl_wait(pawl_engine *engine, int64_t until_us, pawl_error *err) {
  CALL(pawl_engine_wait(engine, until_us, err));
}

void pawl_interrupt(pawl_engine *engine) {
  if (engine) pawl_engine_interrupt(engine);
}

/* Also from a handler or callback. Its clock may call back: not further in. */
int64_t pawl_now(pawl_engine *engine) {
  int64_t us;
  pawl_engine_go_in(engine);
  us = pawl_engine_now(engine);
  pawl_engine_leave(engine);
  return us;
}

void pawl_executor(const pawl_engine *engine, char out[37]) {
  pawl_engine_executor(engine, out);
}

/* ---- asking and acting ---- */

static pawl_code find(pawl_engine *e, const char *prefix, char id[37],
                      pawl_error *err) {
  pawl_id full;
  pawl_code rc = pawl_engine_find(e, prefix, &full, err);
  if (rc == PAWL_OK) pawl_id_format(&full, id);
  return rc;
}

pawl_code pawl_find(pawl_engine *engine, const char *text, char id[37],
                    pawl_error *err) {
  CALL(find(engine, text, id, err));
}

static pawl_code get(pawl_engine *e, const char *id, pawl_buf *b,
                     pawl_error *err) {
  pawl_id full;
  pawl_code rc = pawl_engine_find(e, id, &full, err);
  return rc == PAWL_OK ? pawl_engine_get(e, &full, b, err) : rc;
}

static pawl_code history(pawl_engine *e, const char *id, pawl_buf *b,
                         pawl_error *err) {
  pawl_id full;
  pawl_code rc = pawl_engine_find(e, id, &full, err);
  return rc == PAWL_OK ? pawl_engine_history(e, &full, b, err) : rc;
}

pawl_code pawl_get(pawl_engine *engine, const char *id, char **out,
                   pawl_error *err) {
  ANSWER(get(engine, id, &b, err));
}

pawl_code pawl_history(pawl_engine *engine, const char *id, char **out,
                       pawl_error *err) {
  ANSWER(history(engine, id, &b, err));
}

static pawl_code tokens(pawl_engine *e, const char *id, int everything,
                        pawl_buf *b, pawl_error *err) {
  pawl_id full;
  pawl_code rc = pawl_engine_find(e, id, &full, err);
  return rc == PAWL_OK ? pawl_engine_tokens(e, &full, everything, b, err) : rc;
}

static pawl_code explain(pawl_engine *e, const char *id, pawl_buf *b,
                         pawl_error *err) {
  pawl_id full;
  pawl_code rc = pawl_engine_find(e, id, &full, err);
  return rc == PAWL_OK ? pawl_engine_explain(e, &full, b, err) : rc;
}

pawl_code pawl_list_tokens(pawl_engine *engine, const char *id, int everything,
                           char **out, pawl_error *err) {
  ANSWER(tokens(engine, id, everything, &b, err));
}

pawl_code pawl_explain(pawl_engine *engine, const char *id, char **out,
                       pawl_error *err) {
  ANSWER(explain(engine, id, &b, err));
}

pawl_code pawl_outbox(pawl_engine *engine, const char *query, char **out,
                      pawl_error *err) {
  ANSWER(pawl_engine_outbox(engine, pawl_strz(query), &b, err));
}

pawl_code pawl_list(pawl_engine *engine, const char *query, char **out,
                    pawl_error *err) {
  ANSWER(pawl_engine_list(engine, pawl_strz(query), &b, err));
}

pawl_code pawl_signal(pawl_engine *engine, const char *signal,
                      int64_t *reached, char **out, pawl_error *err) {
  ANSWER(pawl_engine_signal(engine, pawl_strz(signal), reached, &b, err));
}

static pawl_code cancel(pawl_engine *e, const char *id, const char *reason,
                        const char *who, int *done, pawl_error *err) {
  pawl_id full;
  pawl_code rc = pawl_engine_find(e, id, &full, err);
  if (rc != PAWL_OK) return rc;
  return pawl_engine_cancel(e, &full, reason, who, done, err);
}

pawl_code pawl_cancel(pawl_engine *engine, const char *id, const char *reason,
                      const char *who, int *done, pawl_error *err) {
  CALL(cancel(engine, id, reason, who, done, err));
}

/* ---- tasks ---- */

static pawl_code task_get(pawl_engine *e, const char *id, pawl_buf *b,
                          pawl_error *err) {
  pawl_id full;
  pawl_code rc = pawl_engine_task_find(e, id, &full, err);
  return rc == PAWL_OK ? pawl_engine_task_get(e, &full, b, err) : rc;
}

static pawl_code task(pawl_engine *e, const char *id, const char *action,
                      pawl_buf *b, pawl_error *err) {
  pawl_id full;
  pawl_code rc = pawl_engine_task_find(e, id, &full, err);
  return rc == PAWL_OK ? pawl_engine_task(e, &full, pawl_strz(action), b, err)
                       : rc;
}

pawl_code pawl_task_get(pawl_engine *engine, const char *id, char **out,
                        pawl_error *err) {
  ANSWER(task_get(engine, id, &b, err));
}

pawl_code pawl_tasks(pawl_engine *engine, const char *query, char **out,
                     pawl_error *err) {
  ANSWER(pawl_engine_tasks(engine, pawl_strz(query), &b, err));
}

pawl_code pawl_task(pawl_engine *engine, const char *id, const char *action,
                    char **out, pawl_error *err) {
  if (!action) return pawl_fail(err, PAWL_MISUSE, "pawl_task: no action");
  ANSWER(task(engine, id, action, &b, err));
}

static pawl_code task_find(pawl_engine *e, const char *prefix, char id[37],
                           pawl_error *err) {
  pawl_id full;
  pawl_code rc = pawl_engine_task_find(e, prefix, &full, err);
  if (rc == PAWL_OK) pawl_id_format(&full, id);
  return rc;
}

pawl_code pawl_task_find(pawl_engine *engine, const char *prefix, char id[37],
                         pawl_error *err) {
  CALL(task_find(engine, prefix, id, err));
}

static pawl_code change(pawl_engine *e, const char *id, const char *text,
                        int *done, pawl_buf *b, pawl_error *err) {
  pawl_id full;
  pawl_code rc = pawl_engine_find(e, id, &full, err);
  return rc == PAWL_OK ? pawl_engine_change_checked(e, &full, pawl_strz(text),
                                                    done, b, err)
                       : rc;
}

pawl_code pawl_change(pawl_engine *engine, const char *id, const char *text,
                      int *done, char **out, pawl_error *err) {
  ANSWER(change(engine, id, text ? text : "", done, out ? &b : NULL, err));
}

pawl_code pawl_plan_move(pawl_engine *engine, const char *move, char **out,
                         pawl_error *err) {
  ANSWER(pawl_engine_moves(engine, pawl_strz(move ? move : ""), 0, &b, err));
}

pawl_code pawl_move(pawl_engine *engine, const char *move, char **out,
                    pawl_error *err) {
  ANSWER(pawl_engine_moves(engine, pawl_strz(move ? move : ""), 1, &b, err));
}

pawl_code pawl_health(pawl_engine *engine, int repair, char **out,
                      pawl_error *err) {
  ANSWER(pawl_engine_health(engine, repair, &b, err));
}

pawl_code pawl_workflows(pawl_engine *engine, const char *query, char **out,
                         pawl_error *err) {
  ANSWER(pawl_engine_workflows(engine, pawl_strz(query), &b, err));
}

pawl_code pawl_workflow_change(pawl_engine *engine, const char *text,
                               char **out, pawl_error *err) {
  ANSWER(pawl_engine_workflow_change(engine, pawl_strz(text ? text : ""), &b,
                                     err));
}

void pawl_count(const pawl_engine *engine, pawl_counts *out) {
  pawl_engine_count(engine, out);
}
