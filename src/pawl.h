/* pawl.h: durable workflows written in Lua, kept in SQLite or PostgreSQL.
 *
 * The public face of libpawl and the only installed header.
 *
 * Shape    pawl_engine is opaque: one store connection, one Lua state, and
 *          the caller's thread. Nothing happens outside the calls below: no
 *          thread is started unless asked, no signal handler installed,
 *          nothing printed, no environment variable read.
 * Strings  UTF-8. A (pointer, length) pair may hold any bytes of UTF-8; a
 *          lone `const char *` ends with a zero byte. Ids are 36 characters
 *          of UUID text.
 * Time     int64_t microseconds: instants since 1970-01-01 UTC by the store's
 *          clock (PostgreSQL), the host's (SQLite) or the one in the config;
 *          durations as plain microseconds, named *_us.
 * Errors   What can fail returns a pawl_code and fills the pawl_error given
 *          last, which may be NULL. Results leave through `out` parameters,
 *          written only on PAWL_OK.
 * Memory   Text handed out is the config's allocator's; give it back with
 *          pawl_free, before or after the engine is closed. Everything else
 *          belongs to who made it.
 * Threads  An engine belongs to one thread at a time; engines are
 *          independent. Only pawl_interrupt may be called from elsewhere.
 * Inside   Handlers and callbacks (log, trace, clock, alloc) may call
 *          pawl_now, pawl_interrupt, pawl_executor, pawl_count and pawl_free
 *          of their own engine; every other call is PAWL_MISUSE there.
 * Forks    An engine does not survive fork(): in the child every call
 *          returns PAWL_MISUSE and pawl_close only frees memory. */
#ifndef PAWL_H
#define PAWL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PAWL_VERSION "0.1.0"
#define PAWL_VERSION_NUMBER 1000 /* major * 1000000 + minor * 1000... */

#if defined(_WIN32)
#define PAWL_API __declspec(dllexport)
#else
#define PAWL_API __attribute__((visibility("default")))
#endif
#if defined(__GNUC__)
#define PAWL_MUSTUSE __attribute__((warn_unused_result))
#else
#define PAWL_MUSTUSE
#endif

/* Every code, once: the enum, the strings that Lua and the logs show, and the
 * table in docs/errors.md are made from this list. */
#define PAWL_CODES(X)                                                         \
  X(OK, "ok")                                                                 \
  X(NOMEM, "nomem")           /* the allocator said no */                     \
  X(MISUSE, "misuse")         /* the caller broke this header's contract */   \
  X(INVALID, "invalid")       /* an argument's value is not acceptable */     \
  X(NOTFOUND, "notfound")     /* no such instance, workflow, file */          \
  X(EXISTS, "exists")         /* a version in use differs */                  \
  X(AMBIGUOUS, "ambiguous")   /* a shortened id fits several */               \
  X(TAKEN, "taken")           /* a task is another person's */                \
  X(CONFLICT, "conflict")     /* not in the state for what is asked */        \
  X(BUSY, "busy")             /* transient: the same call may succeed */      \
  X(LEASE_LOST, "lease_lost") /* another has the instance, or a kill */       \
  X(ALREADY_FINISHED, "already_finished") /* the instance has ended */        \
  X(UNREACHABLE, "unreachable")           /* the store does not answer */     \
  X(AUTH, "auth")                         /* the store refused who we are */  \
  X(READONLY, "readonly")                 /* the store cannot be written */   \
  X(FULL, "full")                         /* no space left in the store */    \
  X(NOT_A_STORE, "not_a_store") /* the file or database is something else */  \
  X(CORRUPT, "corrupt")         /* the store's data is damaged */             \
  X(STORE_OLD, "store_old")     /* run `pawl migrate` */                      \
  X(STORE_NEW, "store_new")   /* made by a newer pawl: upgrade the program */ \
  X(STORE, "store")           /* any other failure of the store */            \
  X(DEFINITION, "definition") /* a workflow is drawn wrong */                 \
  X(VALUE, "value")           /* a value that cannot be stored exactly */     \
  X(LIMIT, "limit")           /* a size, count or depth limit */              \
  X(SCRIPT, "script")         /* Lua raised an error */                       \
  X(TIMEOUT, "timeout")       /* a time limit was passed */                   \
  X(CANCELLED, "cancelled")   /* the instance is to end */                    \
  X(INTERRUPTED, "interrupted")           /* pawl_interrupt was called */     \
  X(UNSUPPORTED, "unsupported")           /* not in this build */             \
  X(NO_HANDLER, "no_handler_registered")  /* nobody knows the workflow */     \
  X(JOIN_UNREACHABLE, "join_unreachable") /* too few can come to a join */    \
  X(POISONED, "poisoned") /* took its worker down too often */                \
  X(INTERNAL, "internal") /* a bug in pawl: please report */

typedef enum pawl_code {
#define PAWL_CODE_ENUM(name, text) PAWL_##name,
  PAWL_CODES(PAWL_CODE_ENUM)
#undef PAWL_CODE_ENUM
      PAWL_NCODES
} pawl_code;

/* Owns no memory: copied by `=`, never freed, able to report out-of-memory. */
typedef struct pawl_error {
  pawl_code code;     /* ours: branch on this, never on the text */
  char reason[65];    /* the script's: error{ code = "card_declined" }; whole:
                        longer ones are no codes, and the hint says so */
  char sqlstate[6];   /* "40001"; SQLite codes are mapped; "" if not SQL */
  char where[128];    /* "order.lua:12", "vars.items[3].cb", a migration */
  char message[2048]; /* what failed, on which instance and node; one line.
                         One that was longer ends in " ... (cut)" */
  char hint[256];     /* what the reader can do about it; may be "" */
  char trace[1536];   /* Lua traceback, cut to fit; may be "" */
} pawl_error;

/* The stable text of a code: "lease_lost". Never NULL. */
PAWL_API const char *pawl_code_name(pawl_code code);

/* The version of the library that runs: "0.1.0". */
PAWL_API const char *pawl_version(void);

/* ---- configuration ----------------------------------------------------- */

/* Grows, shrinks (nsize > 0) or frees (nsize == 0) a block, as Lua's
 * allocator does. `ptr` NULL asks for a new block. NULL means refused. */
typedef void *(*pawl_alloc_fn)(void *ud, void *ptr, size_t osize,
                               size_t nsize);

/* Microseconds since the epoch. Called often; must not go backwards much. */
typedef int64_t (*pawl_clock_fn)(void *ud);

enum { PAWL_DEBUG, PAWL_INFO, PAWL_WARN, PAWL_ERROR };
/* One log line. `fields` is a JSON object in text; both end with zero. */
typedef void (*pawl_log_fn)(void *ud, int level, const char *message,
                            const char *fields);

/* A handler begins or ended, or an instance met a verdict without one; the
 * strings are borrowed for the call. Told before the commit, save of a
 * transactional step: what is then refused, because another executor took
 * over, is told again by that one. */
typedef struct pawl_trace {
  const char *instance, *workflow, *node;
  const char *kind; /* of the node; "instance" for such a verdict */
  int64_t attempt;
  int64_t at_us;       /* when it began, or ended */
  int64_t elapsed_us;  /* that passed, also while it waited; -1: it begins */
  const char *outcome; /* NULL at the beginning; then "done", "failed",
                          "retry", "fired" (a timer), "undone", "suspended",
                          "cancelled" */
  const char *ended;   /* the instance's status, if this ends it; or NULL */
  const char *detail;  /* the way on, or the error; may be "" */
  int64_t due_us;      /* when the engine looks again, if later; else 0 */
} pawl_trace;
typedef void (*pawl_trace_fn)(void *ud, const pawl_trace *trace);

struct lua_State;

/* What an engine is told when it is opened. Set with PAWL_CONFIG_INIT, change
 * what matters; zero and NULL mean the default, given behind each field. */
typedef struct pawl_config {
  uint32_t size;       /* sizeof(pawl_config): set by PAWL_CONFIG_INIT */
  pawl_alloc_fn alloc; /* malloc and free */
  void *alloc_ud;
  pawl_clock_fn clock; /* the store's clock (PostgreSQL), the system's */
  void *clock_ud;
  pawl_log_fn log; /* nothing is logged */
  void *log_ud;
  pawl_trace_fn trace; /* nothing is traced */
  void *trace_ud;
  struct lua_State *lua;   /* the host's Lua state; NULL: a private one */
  const char *group;       /* executor group served and given; "default" */
  const char *prefixes;    /* "billing.,media.": codes served; all */
  int64_t lease_us;        /* 30 s; at most an hour */
  int64_t heartbeat_us;    /* 10 s, at most a third of the lease */
  int64_t max_bytes;       /* variables of one instance; 1 MB */
  int32_t batch;           /* instances claimed at once; 128 */
  int32_t recoveries;      /* takeovers before an instance is suspended; 5 */
  int32_t pooler;          /* 1: behind a pooler in transaction mode, which
                             shares sessions out; -1: behind none; 0: found
                             out when connecting, and logged */
  int32_t stored_code_own; /* 1: never run a definition from the store */
  int32_t unknown_fail;    /* 1: fail what neither we nor the store know;
                              0: it waits for who does */
  int32_t create;          /* -1: do not make a missing store; 0, 1: make it */
  int32_t shards;          /* of a store made by this open; 1 */
  int32_t pulse;           /* 1: a helper thread with a connection of its own
                             keeps the leases while a handler blocks, at most
                             until its node's timeout. Not with a private
                             allocator, a virtual clock or ":memory:". */
  int32_t concurrency;     /* handlers that may wait (ctx.await) at one time;
                              100 */
} pawl_config;
#ifdef __cplusplus
#define PAWL_CONFIG_INIT \
  { sizeof(pawl_config) }
#else
#define PAWL_CONFIG_INIT \
  { .size = sizeof(pawl_config) }
#endif

/* ---- engine ------------------------------------------------------------ */

typedef struct pawl_engine pawl_engine;

/* Opens the store at `url` ("pawl.db", "sqlite:PATH", ":memory:",
 * "postgres://...", "postgres:CONNINFO"; NULL: "pawl.db"). What looks like a
 * database's URL or CONNINFO otherwise ("scheme:...", "user:password@"), or has
 * white space around it, is PAWL_INVALID; anything else is a file, and so is
 * whatever begins with "sqlite:", "./" or "../". An empty store is given its
 * schema. `config` may be NULL. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_open(const char *url,
                                          const pawl_config *config,
                                          pawl_engine **out, pawl_error *err);
/* Releases what is leased, then closes. NULL is accepted. From inside a
 * handler or callback of this engine it does nothing but log an error. */
PAWL_API void pawl_close(pawl_engine *engine);

/* What may be shown of a store's `url` in logs and to people: the path, or
 * "postgres:host=... port=... dbname=... user=...", made of what is read in it.
 * No password, in whatever way it is written; "..." for what cannot be read.
 * Cut to `size`, zero included; opens nothing. Returns `out`. */
PAWL_API const char *pawl_store_name(const char *url, char *out, size_t size);

/* Brings the schema up to this program's version. `shards` counts only when
 * the store is empty (0: 1). Two programs migrating at once are safe.
 * `report`: JSON {"from":n,"to":n,"shards":n}; pawl_free(NULL, report). */
PAWL_API PAWL_MUSTUSE pawl_code pawl_migrate(const char *url,
                                             const pawl_config *config,
                                             int shards, char **report,
                                             pawl_error *err);

/* Loads a workflow file, checks it and registers its version.
 * `out`, when not NULL: JSON {"workflow","version","sha256","nodes",...}. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_load(pawl_engine *engine,
                                          const char *path, char **out,
                                          pawl_error *err);
/* The same for text in memory; `name` stands for the file in messages. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_load_text(pawl_engine *engine,
                                               const char *name,
                                               const char *text, size_t len,
                                               char **out, pawl_error *err);
/* Host state only: the workflow object on top of the config's lua_State's
 * stack, which is popped. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_load_stack(pawl_engine *engine,
                                                char **out, pawl_error *err);
/* Replaces the source of a version that is registered, and whose instances go
 * on with it from when they are claimed next. The graph must be the same
 * (PAWL_EXISTS says what differs); the older source is kept as a revision.
 * `path` NULL: as with pawl_load_stack. `options`: a JSON object or NULL,
 * keys: by, reason. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_hotfix(pawl_engine *engine,
                                            const char *path,
                                            const char *options, char **out,
                                            pawl_error *err);
/* Checks a file without a store being written; `out`: its graph as JSON. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_check(pawl_engine *engine,
                                           const char *path, char **out,
                                           pawl_error *err);
/* The graph of a registered workflow as JSON. version 0: the newest. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_graph(pawl_engine *engine,
                                           const char *code, int64_t version,
                                           char **out, pawl_error *err);

/* Starts an instance; on return it is stored and will run. `input`: a JSON
 * value (NULL: {}). `options`: a JSON object or NULL, keys: key (idempotency:
 * a second start returns the first instance), version, priority, delay
 * (microseconds), at (microseconds), tenant, group, correlation,
 * business_key, metadata, attributes, id (a UUIDv7 drawn by the caller, which
 * makes repeating the call harmless). `created` (may be NULL): 0 when the key
 * named an earlier instance. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_start(pawl_engine *engine,
                                           const char *code, const char *input,
                                           size_t input_len,
                                           const char *options,
                                           size_t options_len, char id[37],
                                           int *created, pawl_error *err);

/* Starts many instances of one workflow. `items`: a JSON array of objects,
 * each with `input` and the options of one instance (but for version), over
 * `options`, those of all (but for key and id). `out`: {"ids":[...],
 * "created":[...]}, both in the order of `items`.
 * Every item is checked before anything is stored: an error then begins with
 * "item N: ", counted from 1. They are stored in batches of up to 1,000, each
 * whole or not at all; lists of up to 1,000 items (and 8 MB) in a store with
 * one shard are one batch. When a later batch fails, the message begins with
 * "N of M instances are stored: "; in a store with one shard they are the
 * first N. Where the workflow is not loaded here, each batch takes the version
 * that is the newest active one then. Calling again with keys or ids in the
 * items is harmless. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_start_many(
    pawl_engine *engine, const char *code, const char *items, size_t items_len,
    const char *options, size_t options_len, char **out, pawl_error *err);

typedef struct pawl_stats {
  int64_t claimed;     /* instances leased in this tick */
  int64_t steps;       /* handlers run */
  int64_t commits;     /* transactions */
  int64_t committed;   /* decisions stored */
  int64_t lost;        /* decisions refused: another executor had taken over */
  int64_t ended;       /* instances that ended */
  int64_t held;        /* instances still leased when the tick returned */
  int64_t next_due_us; /* when to look again; 0: now; INT64_MAX: nothing due */
  int64_t waiting;     /* handlers that wait, with their instances leased */
} pawl_stats;

/* Claims, runs and commits until nothing is due or `budget_us` is spent (0:
 * one round). Never waits. Everything begun is committed on return. `stats`
 * may be NULL. A failing instance is not an error of the tick. Handlers that
 * wait are kept for the next tick, each of which asks all of them again. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_tick(pawl_engine *engine,
                                          int64_t budget_us, pawl_stats *stats,
                                          pawl_error *err);
/* The same for one instance alone, whatever its group or prefix. `status`
 * (may be NULL): "done" when it has ended, "leased" while another executor
 * holds it, "later" when it is due at stats->next_due_us or its handler waits
 * here, "now" when there is more to do. */
PAWL_API PAWL_MUSTUSE pawl_code
pawl_tick_instance(pawl_engine *engine, const char *id, int64_t budget_us,
                   pawl_stats *stats, const char **status, pawl_error *err);
/* When the engine must next be ticked: 0 now, INT64_MAX nothing scheduled. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_next_due(pawl_engine *engine,
                                              int64_t *due_us,
                                              pawl_error *err);
/* Is anything of this engine's group held by anybody, this engine included? */
PAWL_API PAWL_MUSTUSE pawl_code pawl_busy(pawl_engine *engine, int *busy,
                                          pawl_error *err);
/* Sleeps until `until_us`, a wake-up from the store, pawl_interrupt, or until
 * a handler that waits can go on. The one call that waits; workers use it,
 * embedders need not. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_wait(pawl_engine *engine,
                                          int64_t until_us, pawl_error *err);
/* Makes the running tick stop after the handler under way, releases what was
 * not begun. Legal from another thread and from a signal handler. */
PAWL_API void pawl_interrupt(pawl_engine *engine);

/* The engine's time: the store's, the host's or the configured clock's. */
PAWL_API int64_t pawl_now(pawl_engine *engine);
/* The engine's own id, as a history's rows and a lease name it. */
PAWL_API void pawl_executor(const pawl_engine *engine, char out[37]);

/* ---- asking ------------------------------------------------------------ */

/* One instance as a JSON object: id, workflow, version, status, input,
 * variables, output, error, tokens, times, and, by need, parent, root,
 * parent_node, parent_index, trigger_event, compensation, deadline,
 * suspended_at. `id` may be shortened. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_get(pawl_engine *engine, const char *id,
                                         char **out, pawl_error *err);
/* Instances as a JSON array, newest first. `query`: a JSON object or NULL,
 * keys: workflow, version, status (a name or a list), tenant, correlation,
 * business_key, key, parent, root (ids: the children of one instance, all
 * that descend from one), limit (100), before (an id: the page after it). */
PAWL_API PAWL_MUSTUSE pawl_code pawl_list(pawl_engine *engine,
                                          const char *query, char **out,
                                          pawl_error *err);
/* Everything recorded of an instance, oldest first, as a JSON array. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_history(pawl_engine *engine,
                                             const char *id, char **out,
                                             pawl_error *err);
/* Where it stands, as a JSON array of tokens: no, node, state, visit,
 * previous, parent, scope, fork, branch, data, event, detail, attempt, due,
 * entered. `everything`: also tokens that are consumed or dropped. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_list_tokens(pawl_engine *engine,
                                                 const char *id,
                                                 int everything, char **out,
                                                 pawl_error *err);
/* Why it stands where it stands, and what would move it, as a JSON object:
 * id, status, workflow, version, node, error, cancellation, compensation,
 * deadline, progress, now; lease {executor, host, pid, since, until, lapsed};
 * next_look;
 * suspended {by, reason, since, shift}; workflow_suspended {code, prefix, by,
 * reason, since}; blocked, a list of "suspended", "workflow_suspended",
 * "unknown_workflow", "no_worker", "not_taken" and "unseen", which `unseen`
 * tells in words; workers, idle_since; can_retry: it has failed, and it is
 * known where it stood;
 * tokens [{no, node, kind, fork, branch, state, visit, attempt, since, due,
 * waiting_for {what, ...}, would_move [{what, to, ...}], may [{kind, id}]}];
 * children that live; inbox: what has come in and was not taken; undelivered:
 * messages to other instances. `what` is one of "worker", "retry", "time",
 * "event", "person", "siblings", "child" and "items". */
PAWL_API PAWL_MUSTUSE pawl_code pawl_explain(pawl_engine *engine,
                                             const char *id, char **out,
                                             pawl_error *err);
/* What workflows have emitted and nobody has published yet, in the order it
 * is due, as a JSON array: instance, seq, type, payload, created, attempts,
 * due, error, place. `query`: a JSON object or NULL, keys: type, instance,
 * limit (100), before (microseconds: emitted earlier than that), after (a
 * row's place: the page behind it). */
PAWL_API PAWL_MUSTUSE pawl_code pawl_outbox(pawl_engine *engine,
                                            const char *query, char **out,
                                            pawl_error *err);
/* One task as a JSON object: id, instance, workflow, version, node, token,
 * visit, title, description, form, status (pending, running: somebody has
 * claimed it, completed, failed, cancelled, timed_out), priority, input,
 * output, error, transition, due, overdue, assignee, users, roles, groups,
 * delegated_by, claimed_by, claimed, completed_by, completed, escalated,
 * signal, created, started, updated, and log: who did what to it, and when.
 * `id` may be shortened. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_task_get(pawl_engine *engine,
                                              const char *id, char **out,
                                              pawl_error *err);
/* Tasks as a JSON array, newest first. `query`: a JSON object or NULL, keys:
 * user (those he may take or has: candidate, assignee, claimed by), role,
 * group (names or lists; with user: of these as well), status (a name or a
 * list), instance, form, priority, due_before (microseconds), overdue (true:
 * open ones that should be done by now), limit (100), before (an id: the page
 * after it). Asked for by due time, and not by person or instance, they come
 * longest overdue first. A page of a candidate's, role's or group's running
 * tasks also reads the pending ones on its way, not those that are done. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_tasks(pawl_engine *engine,
                                           const char *query, char **out,
                                           pawl_error *err);
/* Full id of a task's shortened one. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_task_find(pawl_engine *engine,
                                               const char *prefix, char id[37],
                                               pawl_error *err);
/* Full id of a shortened one, as all calls take it: 4 or more hexadecimal
 * digits of its beginning, or of its end if it is among the newest 100,000 of
 * its shard. PAWL_AMBIGUOUS, PAWL_NOTFOUND. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_find(pawl_engine *engine,
                                          const char *text, char id[37],
                                          pawl_error *err);

/* ---- acting ------------------------------------------------------------ */

/* Sends an event, stored when the call returns. `signal`: a JSON object, keys:
 *   name      dotted words: "payment.received"; all others may be left out
 *   key       text that ties it to waits: "order-17"
 *   instance  goes into this one's inbox alone; the id may be shortened
 *   data      any JSON value
 *   id        of the event, with `source` ("" when left out): what was seen
 *             before, within its ttl, is accepted and ignored
 *   ttl       microseconds that waits which begin later may still find it by
 *             its key; a day
 *   start     {"workflow","input","options"}: starts that workflow as
 *             pawl_start does, and signals the instance in the same transaction
 *   by        who sends it
 * Without instance and start it reaches all that wait for its name, or a
 * pattern that means it, with its key (without one: those that wait without),
 * and starts the workflows that it triggers.
 * `reached` (may be NULL): how many instances it reached or started.
 * `out` (may be NULL): JSON {"reached":n,"id":"...","instance":"...",
 * "created":bool,"repeated":bool}; instance: of one that was named or started,
 * created: it was started now. PAWL_ALREADY_FINISHED when that has ended. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_signal(pawl_engine *engine,
                                            const char *signal,
                                            int64_t *reached, char **out,
                                            pawl_error *err);

/* Asks for cancellation, recorded at once. An instance nobody holds is
 * cancelled before the call returns (*done = 1), else by its holder before
 * the next step. PAWL_ALREADY_FINISHED when it has ended. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_cancel(pawl_engine *engine,
                                            const char *id, const char *reason,
                                            const char *who, int *done,
                                            pawl_error *err);

/* Changes a task; `out` (may be NULL): the task as it is now. `action` is a
 * JSON object: kind, by (the user who does it), reason, and by kind
 *   claim     roles, groups that the user is in. Only the assignee may; where
 *             there is none, those the task is for, or anybody when it is for
 *             nobody special. Once it is escalated they may too, until it is
 *             reassigned or delegated
 *   unclaim   gives it back
 *   complete  output, take (the transition; needed where several are drawn,
 *             unless the output or its member `take` names one); roles, groups
 *   fail      error: text, or an object with code and message; roles, groups
 *   retry     opens a failed one again
 *   reassign  to: a new assignee; users, roles, groups: instead of those whom
 *             it is for. Takes it from whoever has it
 *   delegate  to: whoever holds it hands it on
 *   escalate  priority; users, roles, groups: added to those it is for
 * Who has claimed a task holds it, else its assignee: claim, complete and fail
 * are theirs, unless override is true. Whom that passed over is recorded with
 * who did it, in the task's log ("instead_of") and in the history.
 * PAWL_TAKEN: another has it, or it is not for this user. PAWL_ALREADY_
 * FINISHED: it is completed, failed, cancelled or timed out. What was
 * completed or failed is stored when the call returns; the instance goes on in
 * the next tick of an engine that serves it. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_task(pawl_engine *engine, const char *id,
                                          const char *action, char **out,
                                          pawl_error *err);

/* Changes one instance from outside, recorded with who and why. An instance
 * nobody holds is changed before the call returns (*done = 1), else by its
 * holder before the next step; no handler runs in this call. `change`: a JSON
 * object, keys for all kinds: kind, by, reason, source ("user", "event",
 * "system"); and by kind:
 *   "cancel"   compensate (false: undo nothing), event_id
 *   "kill"     ends it at once, whoever holds it; nothing is undone
 *   "suspend"  nothing of it runs until it is resumed
 *   "resume"   shift (true: what it waits for is put off by as long as it was
 *              suspended)
 *   "retry"    one that failed or is suspended tries again; token
 *   "restart"  one that ended or is suspended goes on at `node`, with the
 *              variables as they were when it last came there, or before row
 *              `seq` of its history
 *   "move"     its token (`token`, if there are several) goes to `node`
 *   "edit"     set (an object), unset (names) of variables; version: only if
 *              it made so many commits
 *   "wake"     what it waits for until a time is due now, or at `at`
 *              (microseconds); nodes: only there
 *   "migrate"  it goes on in to_version, or, if it has failed, will when it is
 *              tried again; map (an object of nodes' names, old to new),
 *              variables (all of them), if_version
 *   "shift"    us: its times are put off by so many microseconds
 * Checked beforehand: PAWL_INVALID says what of `change` is not acceptable,
 * PAWL_CONFLICT what does not fit the state it is in, with a hint;
 * PAWL_ALREADY_FINISHED, PAWL_LIMIT. Once it is recorded, what hinders its
 * being done at once is no error: its holder, or a worker, does it. `out`, when
 * not NULL: JSON {"id","kind","done","status"}; without "status" when the store
 * does not tell it any more. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_change(pawl_engine *engine,
                                            const char *id, const char *change,
                                            int *done, char **out,
                                            pawl_error *err);
/* Which instances of one version, unfinished or failed, can go on in another;
 * one that failed where it stood, when it is tried again. `move`: a JSON
 * object, keys: workflow, from, to (versions), map (nodes' names, old to new);
 * limit and after (an id) for one page. `out`: {"movable":[ids],"refused":
 * [{"id","token","node","reason"}],"next":id}. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_plan_move(pawl_engine *engine,
                                               const char *move, char **out,
                                               pawl_error *err);
/* Moves them, each in its own transaction; more keys: by, reason. `out`:
 * {"moved":[ids],"asked":[ids],"refused":[...]}: those asked are held by
 * somebody, who does it before the next step. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_move(pawl_engine *engine,
                                          const char *move, char **out,
                                          pawl_error *err);

/* What is wrong in the store, as a JSON object: sound; instances, how many
 * live and were looked at; agenda {rows, due, held}; unseen, how many wait for
 * what is there, or for their turn, and nobody will look at them; stray, how
 * many agenda rows lead to no instance; unserved, how many have been due for a
 * minute while no worker of their group is running; problems, the first hundred
 * of all [{instance, workflow, node, what, text, group}], `what` one of "run",
 * "time", "letter", "event", "items", "stray" and "unserved"; repaired. It reads
 * in pages, without locks, beside workers at work. `repair`: the unseen are put
 * on the agenda, so that a worker looks at them, stray rows are taken off, and
 * what the unserved were asked, to end as a rule, is done. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_health(pawl_engine *engine, int repair,
                                            char **out, pawl_error *err);
/* Workflows that are registered, as a JSON array: workflow, version, revision,
 * name, active, suspended, inline, nodes, sha256, created, modified, by,
 * reason. `query`: a JSON object or NULL, keys: workflow, live (true: also
 * `live`, how many instances are unfinished). */
PAWL_API PAWL_MUSTUSE pawl_code pawl_workflows(pawl_engine *engine,
                                               const char *query, char **out,
                                               pawl_error *err);
/* `change`: a JSON object, keys: kind, by, reason, workflow and, by kind:
 *   "suspend"     workflow or prefix (of codes): no step of its instances
 *                 begins; new ones may be started and wait
 *   "resume"      the same one; shift (true: their times are put off by as
 *                 long as it was suspended)
 *   "activate", "deactivate"   version: whether new instances of it may be
 *                 started; those that run go on */
PAWL_API PAWL_MUSTUSE pawl_code pawl_workflow_change(pawl_engine *engine,
                                                     const char *change,
                                                     char **out,
                                                     pawl_error *err);

/* Gives back text that was handed out, by pawl_migrate too: it knows its
 * allocator, so `engine` may be NULL, or closed. A `text` of NULL is
 * accepted. */
PAWL_API void pawl_free(pawl_engine *engine, char *text);

/* Counters since the engine was opened: round trips, statements,
 * transactions. For benches and dashboards. */
typedef struct pawl_counts {
  int64_t trips, statements, transactions;
} pawl_counts;
PAWL_API void pawl_count(const pawl_engine *engine, pawl_counts *out);

#ifdef __cplusplus
}
#endif
#endif
