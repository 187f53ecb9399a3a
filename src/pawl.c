/* The public face: checks for misuse, turns text into ids and buffers into
 * text, and calls the engine. No logic lives here. */
#include "pawl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/handed.h"
#include "engine/act/act.h"
#include "engine/ask/ask.h"
#include "engine/common/answer.h"
#include "engine/common/find.h"
#include "engine/common/tenant.h"
#include "engine/common/time.h"
#include "engine/engine.h"
#include "engine/enter/enter.h"
#include "engine/versions/versions.h"
#include "store/sqmemory.h"
#include "store/store.h"
#include "value/json.h"
#include "value/options.h"

const char *pawl_version(void) {
  return PAWL_VERSION;
}

/* ---- what verbs take ---- */

/* clang-format off */
#define VERBS(X)                                                    \
  X(start) X(item) X(signal) X(signal_start) X(ask) X(complete)     \
  X(change) X(list) X(history) X(audit)                             \
  X(outbox_list) X(outbox_relay)                                    \
  X(outbox_change) X(task_list) X(task_change)                      \
  X(executor_list) X(workflow_list) X(workflow_get) X(deploy)       \
  X(stats) X(problems) X(prune) X(backup)                           \
  X(workflow_change) X(workflow_transfer) X(workflow_hotfix)        \
  X(breakpoint_change) X(breakpoint_list)                           \
  X(export) X(import)
/* clang-format on */

#define DECLARE(verb) extern const pawl_options pawl_options_of_##verb;
VERBS(DECLARE)
#define LIST(verb) {#verb, &pawl_options_of_##verb},
const pawl_verb pawl_verbs[] = {VERBS(LIST){NULL, NULL}};

/* What a call cannot do without. Text that is read as JSON, an id or a
 * workflow's code is asked for where it is read. */
#define NEEDS(pointer)                                                 \
  do {                                                                 \
    if (!(pointer))                                                    \
      return pawl_fail(err, PAWL_MISUSE, "%s: `%s` is NULL", __func__, \
                       #pointer);                                      \
  } while (0)

pawl_code pawl_time_us(const char *text, int64_t *us, pawl_error *err) {
  pawl_str t = pawl_strz(text);
  NEEDS(us);
  if (t.len && pawl_time_parse(t.at, t.len, us)) return PAWL_OK;
  return pawl_fail_hint(
      err, PAWL_INVALID,
      "write UTC: \"2026-01-31\" or \"2026-01-31T10:00:00Z\"",
      "\"%.40s\" is not a time", text ? text : "");
}

/* ---- JSON that a host makes ---- */

pawl_code pawl_format(pawl_engine *engine, char **out, pawl_error *err,
                      const char *format, ...) {
  static const pawl_alloc plain = {0};
  const pawl_alloc *alloc = engine ? pawl_engine_alloc(engine) : &plain;
  pawl_buf b = {.alloc = alloc};
  va_list args;

  NEEDS(out);
  NEEDS(format);
  if (engine) pawl_engine_go_in(engine); /* its allocator may call back */
  va_start(args, format);
  pawl_code rc = pawl_json_format(&b, format, args, err);
  va_end(args);
  if (rc == PAWL_OK) rc = pawl_buf_check(&b, err);
  if (rc == PAWL_OK)
    rc = pawl_hand_out(engine ? pawl_engine_given(engine) : alloc, &b, out,
                       err);
  pawl_buf_deinit(&b);
  if (engine) pawl_engine_leave(engine);
  return rc;
}

/* A buffer that does not grow is full. */
static void *refuse(void *ud, void *ptr, size_t osize, size_t nsize) {
  (void)ud, (void)ptr, (void)osize, (void)nsize;
  return NULL;
}

pawl_code pawl_format_into(char *out, size_t size, pawl_error *err,
                           const char *format, ...) {
  static const pawl_alloc none = {.fn = refuse};
  pawl_buf b = {.alloc = &none, .at = out, .cap = size};
  va_list args;

  NEEDS(out);
  NEEDS(format);
  if (size) out[0] = '\0';
  va_start(args, format);
  pawl_code rc = pawl_json_format(&b, format, args, err);
  va_end(args);
  if (rc == PAWL_OK && b.failed)
    rc = pawl_fail(err, PAWL_LIMIT, "it does not fit into %zu bytes", size);
  if (rc != PAWL_OK && size) out[0] = '\0';
  return rc;
}

/* What cannot be a part of a transaction, and why. */
#define ALONE(why)                                                   \
  do {                                                               \
    if (pawl_engine_is_held(engine))                                 \
      return pawl_fail_hint(                                         \
          err, PAWL_MISUSE, "commit it first, or roll it back",      \
          "%s cannot be a part of the transaction that is open: %s", \
          __func__, (why));                                          \
  } while (0)

/* Reasons that several have. */
#define RUNS "handlers run in it, and what they do could not be rolled back"
#define WAITS "it waits for others, who see nothing of it before the commit"
#define COMMITTED "a copy is of what is committed"
#define ALL "all that is in the store goes with it"

/* Runs `call` while nobody else is inside. Who gave no error gets one to fill
 * in: nobody further in asks whether there is one. `found` is FOUND's. */
#define CALL(call)                                 \
  do {                                             \
    pawl_error own;                                \
    pawl_id found;                                 \
    (void)found;                                   \
    if (!err) err = &own;                          \
    MUST(pawl_engine_enter(engine, err));          \
    pawl_code rc = (call);                         \
    rc = pawl_engine_tell_memory(engine, rc, err); \
    pawl_engine_leave(engine);                     \
    return rc;                                     \
  } while (0)

/* The same for one that fills the buffer `b`, and hands its text out; `check`
 * says whether it may be. Who must not fail behind what it did has made the
 * text itself, `handed`. `acts`: in a transaction that is open it leaves
 * nothing of itself when it fails, be it that there is no room for its answer.
 */
#define ANSWER_AS(acts, check, call)                                   \
  do {                                                                 \
    pawl_error own;                                                    \
    pawl_id found;                                                     \
    (void)found;                                                       \
    if (!err) err = &own;                                              \
    MUST(pawl_engine_enter(engine, err));                              \
    const pawl_alloc *alloc = pawl_engine_alloc(engine);               \
    pawl_buf b = {.alloc = alloc};                                     \
    char *handed = NULL;                                               \
    int part = acts;                                                   \
    pawl_code rc = pawl_engine_part_begin(engine, &part, err);         \
    if (rc == PAWL_OK) rc = (call);                                    \
    if (rc == PAWL_OK) rc = check(&b, err);                            \
    if (rc == PAWL_OK && out && !handed)                               \
      rc = pawl_hand_out(pawl_engine_given(engine), &b, &handed, err); \
    rc = pawl_engine_part_end(engine, part, rc, err);                  \
    if (rc == PAWL_OK && out)                                          \
      *out = handed;                                                   \
    else                                                               \
      pawl_free(engine, handed);                                       \
    pawl_buf_deinit(&b);                                               \
    rc = pawl_engine_tell_memory(engine, rc, err);                     \
    pawl_engine_leave(engine);                                         \
    return rc;                                                         \
  } while (0)

#define ANSWER_IF(check, call) ANSWER_AS(0, check, call)
#define ANSWER(call) ANSWER_AS(0, pawl_answer_check, call)
#define ACT(call) ANSWER_AS(1, pawl_answer_check, call)

/* For ids, which may be shortened: `call` once `find` has found the `found` one
 * that `text` means. */
#define FOUND(find, text, call) \
  ((rc = find(engine, text, &found, err)) == PAWL_OK ? (call) : rc)

/* What concerns every tenant is not for an engine that is one's. */
#define EVERYBODYS(what, call) \
  ((rc = pawl_tenant_none(engine, what, err)) == PAWL_OK ? (call) : rc)

/* Before definitions and who may run them change: nothing that an earlier tick
 * has left to the next one goes on with what was. */
#define GIVEN_BACK(call) \
  ((rc = pawl_engine_give_back(engine, err)) == PAWL_OK ? (call) : rc)

static pawl_code write_id(const pawl_id *id, char text[37]) {
  pawl_id_format(id, text);
  return PAWL_OK;
}

/* ---- engine ---- */

#define CONFIG_MOST 65536 /* bytes, in years to come */

/* Who was built with another pawl.h has a shorter one, or a longer one: what it
 * lacks is as if zero, and what is not known here has to be. No compiler makes
 * one that ends within a member, and nobody one that is so large: such a size
 * was never set. */
static pawl_code take_config(const pawl_config *c, pawl_config *own,
                             pawl_error *err) {
  static const pawl_config none = PAWL_CONFIG_INIT;

  *own = none;
  if (!c) return PAWL_OK;
  size_t known = c->size < sizeof *c ? c->size : sizeof *c;
  if (c->size % _Alignof(pawl_config) || c->size > CONFIG_MOST) known = 0;
  for (size_t i = known; known && i < c->size; i++)
    if (((const char *)c)[i]) known = 0;
  if (known < offsetof(pawl_config, alloc))
    return pawl_fail(
        err, PAWL_MISUSE,
        "pawl_config has size %u here, %zu in the library, which "
        "does not know all that it says: set it with "
        "PAWL_CONFIG_INIT, or build against this version's pawl.h",
        (unsigned)c->size, sizeof *c);
  memcpy(own, c, known);
  own->size = sizeof *own;
  return PAWL_OK;
}

pawl_code pawl_open(const char *url, const pawl_config *config,
                    pawl_engine **out, pawl_error *err) {
  pawl_config own;
  pawl_error unsaid;
  if (!err) err = &unsaid;
  NEEDS(out);
  pawl_code rc = take_config(config, &own, err);
  return rc == PAWL_OK ? pawl_engine_open(url, &own, out, err) : rc;
}

pawl_code pawl_close(pawl_engine *engine) {
  return pawl_engine_close(engine);
}

int pawl_is_new(const pawl_engine *engine) {
  return engine && pawl_engine_is_new(engine);
}

const char *pawl_store_name(const char *url, char *out, size_t size) {
  pawl_buf b = {0};
  if (!out || size == 0) return out;
  pawl_store_describe(url, &b);
  snprintf(out, size, "%s", b.failed || !b.at ? "..." : b.at);
  pawl_buf_deinit(&b);
  return out;
}

/* What a store is opened with that no engine has: the program's own, for as
 * long as the call. */
typedef struct outside {
  pawl_config config;
  pawl_alloc alloc;
  pawl_log log;
  pawl_clock clock;
  pawl_store_options options;
} outside;

static pawl_code take_outside(const pawl_config *config, outside *o,
                              pawl_error *err) {
  const pawl_config *c = &o->config;

  MUST(take_config(config, &o->config, err));
  o->alloc = (pawl_alloc){c->alloc, c->alloc_ud};
  o->log = (pawl_log){c->log, c->log_ud};
  o->clock = (pawl_clock){.fn = c->clock, .ud = c->clock_ud};
  o->options = (pawl_store_options){.alloc = &o->alloc,
                                    .log = &o->log,
                                    .clock = &o->clock,
                                    .pooler = c->pooler,
                                    .schema = c->schema,
                                    .create = -1};
  return PAWL_OK;
}

pawl_code pawl_migrate(const char *url, const pawl_config *config, int shards,
                       char **report, pawl_error *err) {
  pawl_store *store = NULL;
  outside o;
  int from, to;

  MUST(take_outside(config, &o, err));
  o.options.create = o.options.migrate = 1;
  o.options.shards = shards;
  o.options.busy_us = o.config.busy_us;
  MUST(pawl_store_open(url, &o.options, &store, err));
  pawl_store_versions(store, &from, &to);
  pawl_buf b = {.alloc = &o.alloc};
  pawl_buf_addf(&b, "{\"from\":%d,\"to\":%d,\"shards\":%d}", from, to,
                pawl_store_shards(store));
  pawl_store_close(store);
  pawl_code rc = pawl_buf_check(&b, err);
  if (rc == PAWL_OK && report) rc = pawl_hand_out(&o.alloc, &b, report, err);
  pawl_buf_deinit(&b);
  return rc;
}

pawl_code pawl_migrations(const char *url, const pawl_config *config,
                          int shards, char **out, pawl_error *err) {
  outside o;
  NEEDS(out);
  MUST(take_outside(config, &o, err));
  o.options.shards = shards;
  pawl_buf b = {.alloc = &o.alloc};
  pawl_code rc = pawl_store_pending(url, &o.options, &b, err);
  if (rc == PAWL_OK) rc = pawl_hand_out(&o.alloc, &b, out, err);
  pawl_buf_deinit(&b);
  return rc;
}

pawl_code pawl_doctor(const char *url, const pawl_config *config, char **out,
                      pawl_error *err) {
  outside o;
  NEEDS(out);
  MUST(take_outside(config, &o, err));
  o.options.busy_us = o.config.busy_us;
  pawl_buf b = {.alloc = &o.alloc};
  pawl_code rc = pawl_engine_doctor(url, &o.options, &b, err);
  if (rc == PAWL_OK) rc = pawl_hand_out(&o.alloc, &b, out, err);
  pawl_buf_deinit(&b);
  return rc;
}

pawl_code pawl_load(pawl_engine *engine, const char *path, char **out,
                    pawl_error *err) {
  NEEDS(path);
  ACT(GIVEN_BACK(pawl_engine_load_file(engine, path, &b, err)));
}

pawl_code pawl_load_text(pawl_engine *engine, const char *name,
                         const char *text, char **out, pawl_error *err) {
  NEEDS(name);
  NEEDS(text);
  ACT(GIVEN_BACK(
      pawl_engine_load_text(engine, name, pawl_strz(text), &b, err)));
}

pawl_code pawl_load_as(pawl_engine *engine, const char *name, const char *text,
                       const char *trust, char **out, pawl_error *err) {
  NEEDS(name);
  ACT(pawl_engine_load_as(engine, name, pawl_strz(text), trust, &b, err));
}

pawl_code pawl_load_stack(pawl_engine *engine, char **out, pawl_error *err) {
  ACT(GIVEN_BACK(pawl_engine_load_stack(engine, &b, err)));
}

pawl_code pawl_workflow_hotfix(pawl_engine *engine, const char *path,
                               const char *options, char **out,
                               pawl_error *err) {
  ACT(EVERYBODYS("change what others run",
                 GIVEN_BACK(pawl_engine_workflow_hotfix(
                     engine, path, NULL, pawl_strz(options), &b, err))));
}

pawl_code pawl_workflow_hotfix_text(pawl_engine *engine, const char *name,
                                    const char *text, const char *options,
                                    char **out, pawl_error *err) {
  NEEDS(name);
  NEEDS(text);
  ACT(EVERYBODYS("change what others run",
                 GIVEN_BACK(pawl_engine_workflow_hotfix(
                     engine, name, text, pawl_strz(options), &b, err))));
}

pawl_code pawl_deploy(pawl_engine *engine, const char *options, char **out,
                      pawl_error *err) {
  NEEDS(options);
  ACT(GIVEN_BACK(pawl_engine_deploy(engine, pawl_strz(options), &b, err)));
}

pawl_code pawl_check(pawl_engine *engine, const char *path, char **out,
                     pawl_error *err) {
  NEEDS(path);
  ANSWER(pawl_engine_check(engine, path, &b, err));
}

pawl_code pawl_workflow_graph(pawl_engine *engine, const char *code,
                              int64_t version, char **out, pawl_error *err) {
  NEEDS(code);
  ANSWER(pawl_engine_workflow_graph(engine, code, version, &b, err));
}

pawl_code pawl_start(pawl_engine *engine, const char *code, const char *input,
                     const char *options, char id[37], int *created,
                     pawl_error *err) {
  pawl_id made;
  char unwanted[37] = "";
  int is_new;
  CALL((rc = pawl_engine_start(engine, code, pawl_strz(input),
                               pawl_strz(options), NULL, &made,
                               created ? created : &is_new, err)) == PAWL_OK
           ? write_id(&made, id ? id : unwanted)
           : rc);
}

pawl_code pawl_start_many(pawl_engine *engine, const char *code,
                          const char *items, const char *options, char **out,
                          pawl_error *err) {
  NEEDS(items);
  ACT(pawl_engine_start_many(engine, code, pawl_strz(items),
                             pawl_strz(options), out ? &handed : NULL, err));
}

pawl_code pawl_tick(pawl_engine *engine, int64_t budget_us,
                    pawl_tick_stats *stats, pawl_error *err) {
  ALONE(RUNS);
  CALL(EVERYBODYS("serve as a worker",
                  pawl_engine_tick(engine, budget_us, stats, err)));
}

pawl_code pawl_tick_instance(pawl_engine *engine, const char *id,
                             int64_t budget_us, pawl_tick_stats *stats,
                             const char **status, pawl_error *err) {
  ALONE(RUNS);
  CALL(FOUND(
      pawl_engine_find, id,
      pawl_engine_tick_one(engine, &found, budget_us, stats, status, err)));
}

pawl_code pawl_next_due(pawl_engine *engine, int64_t *due_us,
                        pawl_error *err) {
  ALONE("a worker asks for that, who is to see what is committed");
  NEEDS(due_us);
  CALL(EVERYBODYS("serve as a worker",
                  pawl_engine_next_due(engine, due_us, err)));
}

pawl_code pawl_save(pawl_engine *engine, pawl_error *err) {
  ALONE("only what is committed can be on disk");
  CALL(pawl_engine_save(engine, err));
}

pawl_code pawl_busy(pawl_engine *engine, int *busy, pawl_error *err) {
  NEEDS(busy);
  CALL(EVERYBODYS("serve as a worker", pawl_engine_busy(engine, busy, err)));
}

pawl_code pawl_wait(pawl_engine *engine, int64_t for_us, pawl_error *err) {
  ALONE(WAITS);
  CALL(pawl_engine_wait(engine, for_us, err));
}

pawl_code pawl_fd(pawl_engine *engine, int *fd, pawl_error *err) {
  ALONE("who waits by it would wait for what others do not see yet");
  NEEDS(fd);
  CALL(pawl_engine_fd(engine, fd, err));
}

void pawl_interrupt(pawl_engine *engine) {
  if (engine) pawl_engine_interrupt(engine);
}

/* Also from a handler or callback. Its clock may call back: not further in. */
int64_t pawl_now(pawl_engine *engine) {
  if (!engine) return 0;
  pawl_engine_go_in(engine);
  int64_t us = pawl_engine_now(engine);
  pawl_engine_leave(engine);
  return us;
}

void pawl_executor_id(const pawl_engine *engine, char out[37]) {
  if (!out) return;
  out[0] = '\0';
  if (engine) pawl_engine_executor_id(engine, out);
}

static pawl_code lend(pawl_engine *engine, const char *name,
                      pawl_function_fn fn, void *ud, void (*destroy)(void *ud),
                      pawl_error *err) {
  if (!fn) return pawl_fail(err, PAWL_MISUSE, "pawl_register: `fn` is NULL");
  CALL(pawl_engine_lend(engine, name, fn, ud, destroy, err));
}

pawl_code pawl_register(pawl_engine *engine, const char *name,
                        pawl_function_fn fn, void *ud,
                        void (*destroy)(void *ud), pawl_error *err) {
  pawl_code rc = lend(engine, name, fn, ud, destroy, err);
  if (rc != PAWL_OK && destroy) destroy(ud);
  return rc;
}

/* ---- asking and acting ---- */

pawl_code pawl_find(pawl_engine *engine, const char *text, char id[37],
                    pawl_error *err) {
  NEEDS(id);
  CALL(FOUND(pawl_engine_find_known, text, write_id(&found, id)));
}

pawl_code pawl_get(pawl_engine *engine, const char *id, char **out,
                   pawl_error *err) {
  ANSWER(
      FOUND(pawl_engine_find, id, pawl_anywhere_get(engine, &found, &b, err)));
}

pawl_code pawl_status(pawl_engine *engine, const char *id, const char **status,
                      pawl_error *err) {
  NEEDS(status);
  CALL(FOUND(pawl_engine_find, id,
             pawl_anywhere_status(engine, &found, status, err)));
}

pawl_code pawl_result(pawl_engine *engine, const char *id, int64_t timeout_us,
                      char **out, pawl_error *err) {
  ALONE(WAITS);
  ANSWER(FOUND(pawl_engine_find, id,
               pawl_engine_result(engine, &found, timeout_us, &b, err)));
}

pawl_code pawl_ask(pawl_engine *engine, const char *id, const char *request,
                   char **out, pawl_error *err) {
  ALONE(WAITS);
  ANSWER(FOUND(pawl_engine_find, id,
               pawl_engine_ask(engine, &found, pawl_strz(request), &b, err)));
}

pawl_code pawl_complete(pawl_engine *engine, const char *token,
                        const char *request, char **out, pawl_error *err) {
  ACT(pawl_engine_complete(engine, pawl_strz(token), pawl_strz(request), &b,
                           err));
}

pawl_code pawl_published(pawl_engine *engine, const char *id, char **out,
                         pawl_error *err) {
  ANSWER(FOUND(pawl_engine_find, id,
               pawl_anywhere_published(engine, &found, &b, err)));
}

pawl_code pawl_history(pawl_engine *engine, const char *id, const char *query,
                       char **out, pawl_error *err) {
  ANSWER(
      FOUND(pawl_engine_find, id,
            pawl_anywhere_history(engine, &found, pawl_strz(query), &b, err)));
}

pawl_code pawl_audit(pawl_engine *engine, const char *query, char **out,
                     pawl_error *err) {
  ANSWER(pawl_engine_audit(engine, pawl_strz(query), &b, err));
}

pawl_code pawl_tokens(pawl_engine *engine, const char *id, int everything,
                      char **out, pawl_error *err) {
  ANSWER(
      FOUND(pawl_engine_find, id,
            pawl_anywhere_tokens(engine, &found, everything != 0, &b, err)));
}

pawl_code pawl_explain(pawl_engine *engine, const char *id, char **out,
                       pawl_error *err) {
  ANSWER(FOUND(pawl_engine_find, id,
               pawl_anywhere_explain(engine, &found, &b, err)));
}

pawl_code pawl_outbox_list(pawl_engine *engine, const char *query, char **out,
                           pawl_error *err) {
  ANSWER(pawl_engine_outbox_list(engine, pawl_strz(query), &b, err));
}

pawl_code pawl_outbox_relay(pawl_engine *engine, const char *options,
                            pawl_publish_fn publish, void *ud,
                            pawl_relayed *relayed, pawl_error *err) {
  NEEDS(publish);
  ALONE("what is published cannot be taken back");
  CALL(pawl_engine_outbox_relay(engine, pawl_strz(options), publish, ud,
                                relayed, err));
}

pawl_code pawl_outbox_change(pawl_engine *engine, const char *change,
                             char **out, pawl_error *err) {
  NEEDS(change);
  ACT(pawl_engine_outbox_change(engine, pawl_strz(change), &b, err));
}

pawl_code pawl_executor_list(pawl_engine *engine, const char *query,
                             char **out, pawl_error *err) {
  ANSWER(EVERYBODYS(
      "tell of executors",
      pawl_engine_executor_list(engine, pawl_strz(query), &b, err)));
}

pawl_code pawl_stats(pawl_engine *engine, const char *query, char **out,
                     pawl_error *err) {
  ANSWER(EVERYBODYS("tell how the store stands",
                    pawl_engine_stats(engine, pawl_strz(query), &b, err)));
}

pawl_code pawl_problems(pawl_engine *engine, const char *query, char **out,
                        pawl_error *err) {
  ANSWER(EVERYBODYS("tell what has failed in it",
                    pawl_engine_problems(engine, pawl_strz(query), &b, err)));
}

pawl_code pawl_list(pawl_engine *engine, const char *query, char **out,
                    pawl_error *err) {
  ANSWER(pawl_engine_list(engine, pawl_strz(query), &b, err));
}

pawl_code pawl_tally(pawl_engine *engine, const char *query, int64_t *count,
                     int *more, pawl_error *err) {
  char **out = NULL;
  int there = 0;

  NEEDS(count);
  if (!more) more = &there;
  ANSWER(pawl_engine_tally(engine, pawl_strz(query), count, more, err));
}

pawl_code pawl_tally_groups(pawl_engine *engine, const char *query, char **out,
                            pawl_error *err) {
  ANSWER(pawl_engine_groups(engine, pawl_strz(query), &b, err));
}

pawl_code pawl_signal(pawl_engine *engine, const char *signal,
                      int64_t *reached, char **out, pawl_error *err) {
  NEEDS(signal);
  ACT(pawl_engine_signal(engine, pawl_strz(signal), NULL, reached, &b, err));
}

/* ---- transactions ---- */

pawl_code pawl_transaction_begin(pawl_engine *engine, pawl_error *err) {
  CALL(pawl_engine_hold(engine, err));
}

pawl_code pawl_transaction_query(pawl_engine *engine, const char *sql,
                                 const char *params, int64_t *changed,
                                 char **out, pawl_error *err) {
  int64_t unwanted;
  NEEDS(sql);
  ANSWER(pawl_engine_held_query(engine, pawl_strz(sql), pawl_strz(params),
                                changed ? changed : &unwanted, &b, err));
}

static pawl_code borrow(pawl_engine *engine, void **out, pawl_error *err) {
  CALL(pawl_engine_held_handle(engine, out, err));
}

pawl_code pawl_transaction_sqlite(pawl_engine *engine, struct sqlite3 **out,
                                  pawl_error *err) {
  NEEDS(out);
  void *handle;
  pawl_code rc = borrow(engine, &handle, err);
  if (rc == PAWL_OK) *out = handle;
  return rc;
}

pawl_code pawl_transaction_commit(pawl_engine *engine, pawl_error *err) {
  CALL(pawl_engine_held_commit(engine, err));
}

pawl_code pawl_transaction_abort(pawl_engine *engine, pawl_error *err) {
  CALL(pawl_engine_held_rollback(engine, err));
}

/* ---- tasks ---- */

pawl_code pawl_task_get(pawl_engine *engine, const char *id, char **out,
                        pawl_error *err) {
  ANSWER(FOUND(pawl_engine_task_find, id,
               pawl_anywhere_task_get(engine, &found, &b, err)));
}

pawl_code pawl_task_list(pawl_engine *engine, const char *query, char **out,
                         pawl_error *err) {
  ANSWER(pawl_anywhere_task_list(engine, pawl_strz(query), &b, err));
}

pawl_code pawl_task_tally(pawl_engine *engine, const char *query,
                          int64_t *count, int *more, pawl_error *err) {
  int there = 0;

  NEEDS(count);
  if (!more) more = &there;
  CALL(pawl_anywhere_task_tally(engine, pawl_strz(query), count, more, err));
}

pawl_code pawl_task_change(pawl_engine *engine, const char *id,
                           const char *change, char **out, pawl_error *err) {
  NEEDS(change);
  ACT(FOUND(
      pawl_engine_task_find, id,
      pawl_engine_task_change(engine, &found, pawl_strz(change), &b, err)));
}

pawl_code pawl_task_find(pawl_engine *engine, const char *prefix, char id[37],
                         pawl_error *err) {
  NEEDS(id);
  CALL(FOUND(pawl_engine_task_find_known, prefix, write_id(&found, id)));
}

pawl_code pawl_change(pawl_engine *engine, const char *id, const char *change,
                      int *done, char **out, pawl_error *err) {
  NEEDS(change);
  ACT(FOUND(pawl_engine_find, id,
            pawl_engine_change_checked(engine, &found, pawl_strz(change), done,
                                       out ? &b : NULL, err)));
}

pawl_code pawl_bulk(pawl_engine *engine, const char *query, const char *change,
                    pawl_progress_fn progress, void *ud, char **out,
                    pawl_error *err) {
  NEEDS(change);
  ACT(pawl_engine_bulk(engine, pawl_strz(query), pawl_strz(change), progress,
                       ud, &b, err));
}

pawl_code pawl_workflow_transfer(pawl_engine *engine, const char *transfer,
                                 char **out, pawl_error *err) {
  ALONE("each of its instances goes in a transaction of its own");
  NEEDS(transfer);
  ANSWER(EVERYBODYS("change what others run",
                    GIVEN_BACK(pawl_engine_workflow_transfer(
                        engine, pawl_strz(transfer), &b, err))));
}

pawl_code pawl_export(pawl_engine *engine, const char *id, const char *options,
                      char **out, pawl_error *err) {
  ANSWER_IF(pawl_buf_check,
            FOUND(pawl_engine_find, id,
                  pawl_anywhere_export(engine, &found, pawl_strz(options), &b,
                                       err)));
}

pawl_code pawl_import(pawl_engine *engine, const char *lines,
                      const char *options, char **out, pawl_error *err) {
  NEEDS(lines);
  ACT(EVERYBODYS(
      "import instances",
      pawl_engine_import(engine, pawl_strz(lines), pawl_strz(options),
                         out ? &handed : NULL, err)));
}

pawl_code pawl_health(pawl_engine *engine, int repair, char **out,
                      pawl_error *err) {
  ALONE("it looks at what is committed, and repairs it piece by piece");
  ANSWER(EVERYBODYS("look after the store",
                    pawl_engine_health(engine, repair, &b, err)));
}

pawl_code pawl_prune(pawl_engine *engine, const char *options, char **out,
                     pawl_error *err) {
  ANSWER(EVERYBODYS("prune the store",
                    pawl_engine_prune(engine, pawl_strz(options), &b, err)));
}

pawl_code pawl_backup(pawl_engine *engine, const char *path,
                      const char *options, char **out, pawl_error *err) {
  ALONE(COMMITTED);
  NEEDS(path);
  ANSWER(EVERYBODYS("copy the store",
                    GIVEN_BACK(pawl_engine_backup(
                        engine, path, pawl_strz(options), &b, err))));
}

/* How long the copy is, which no zero tells. */
static pawl_code count_bytes(const pawl_buf *b, size_t *size,
                             pawl_error *err) {
  MUST(pawl_buf_check(b, err));
  *size = b->len;
  return PAWL_OK;
}

pawl_code pawl_backup_bytes(pawl_engine *engine, char **out, size_t *size,
                            pawl_error *err) {
  ALONE(COMMITTED);
  NEEDS(out);
  NEEDS(size);
#define COUNTED(b, err) count_bytes(b, size, err)
  ANSWER_IF(COUNTED, EVERYBODYS("copy the store",
                                GIVEN_BACK(pawl_engine_backup(
                                    engine, NULL, pawl_strz(NULL), &b, err))));
#undef COUNTED
}

pawl_code pawl_restore(pawl_engine *engine, const char *path, char **out,
                       pawl_error *err) {
  ALONE(ALL);
  NEEDS(path);
  ANSWER(
      EVERYBODYS("restore the store",
                 pawl_engine_restore(engine, path, pawl_strz(NULL), &b, err)));
}

pawl_code pawl_restore_bytes(pawl_engine *engine, const void *bytes,
                             size_t size, pawl_error *err) {
  char **out = NULL;
  const pawl_str image = {bytes, size};
  ALONE(ALL);
  NEEDS(bytes);
  ANSWER(EVERYBODYS("restore the store",
                    pawl_engine_restore(engine, NULL, image, &b, err)));
}

pawl_code pawl_workflow_list(pawl_engine *engine, const char *query,
                             char **out, pawl_error *err) {
  ANSWER(pawl_engine_workflow_list(engine, pawl_strz(query), &b, err));
}

pawl_code pawl_workflow_get(pawl_engine *engine, const char *code,
                            const char *query, char **out, pawl_error *err) {
  NEEDS(code);
  ANSWER(pawl_engine_workflow_get(engine, code, pawl_strz(query), &b, err));
}

pawl_code pawl_workflow_change(pawl_engine *engine, const char *change,
                               char **out, pawl_error *err) {
  NEEDS(change);
  ACT(EVERYBODYS("change what others run",
                 GIVEN_BACK(pawl_engine_workflow_change(
                     engine, pawl_strz(change), &b, err))));
}

pawl_code pawl_breakpoint_change(pawl_engine *engine, const char *change,
                                 char **out, pawl_error *err) {
  ALONE("it asks all instances that may halt, in transactions of their own");
  NEEDS(change);
  ANSWER(GIVEN_BACK(
      pawl_engine_breakpoint_change(engine, pawl_strz(change), &b, err)));
}

pawl_code pawl_breakpoint_list(pawl_engine *engine, const char *query,
                               char **out, pawl_error *err) {
  ANSWER(pawl_engine_breakpoint_list(engine, pawl_strz(query), &b, err));
}

void pawl_count(const pawl_engine *engine, pawl_counts *out) {
  if (!out) return;
  *out = (pawl_counts){0};
  if (engine) pawl_engine_count(engine, out);
}

void pawl_memory(const pawl_engine *engine, pawl_memory_use *out) {
  if (!out) return;
  *out = (pawl_memory_use){0};
  if (engine) pawl_engine_memory(engine, out);
}

pawl_code pawl_sqlite_memory(pawl_alloc_fn alloc, void *ud, int64_t limit,
                             pawl_error *err) {
  const pawl_alloc of = {.fn = alloc, .ud = ud};
  return pawl_sqmemory_set(&of, limit, err);
}

void pawl_sqlite_memory_used(pawl_memory_use *out) {
  if (out) pawl_sqmemory_use(out);
}
