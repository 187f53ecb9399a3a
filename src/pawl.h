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
 * Memory   Text handed out is the engine's allocator's; give it back with
 *          pawl_free. Everything else belongs to who made it.
 * Threads  An engine belongs to one thread at a time; engines are
 *          independent. Only pawl_interrupt may be called from elsewhere.
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
  X(BUSY, "busy")             /* transient: the same call may succeed */      \
  X(LEASE_LOST, "lease_lost") /* another executor holds the instance */       \
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
  X(INTERRUPTED, "interrupted")          /* pawl_interrupt was called */      \
  X(UNSUPPORTED, "unsupported")          /* not in this build */              \
  X(NO_HANDLER, "no_handler_registered") /* nobody knows the workflow */      \
  X(POISONED, "poisoned")                /* took its worker down too often */ \
  X(INTERNAL, "internal")                /* a bug in pawl: please report */

typedef enum pawl_code {
#define PAWL_CODE_ENUM(name, text) PAWL_##name,
  PAWL_CODES(PAWL_CODE_ENUM)
#undef PAWL_CODE_ENUM
      PAWL_NCODES
} pawl_code;

/* Owns no memory: copied by `=`, never freed, able to report out-of-memory. */
typedef struct pawl_error {
  pawl_code code;    /* ours: branch on this, never on the text */
  char reason[64];   /* the script's: error{ code = "card_declined" } */
  char sqlstate[6];  /* "40001"; SQLite codes are mapped; "" if not SQL */
  char where[128];   /* "order.lua:12", "vars.items[3].cb", a migration */
  char message[512]; /* what failed, on which instance and node; one line */
  char hint[256];    /* what the reader can do about it; may be "" */
  char trace[1536];  /* Lua traceback, cut to fit; may be "" */
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
 * strings are borrowed for the call. Told before the commit: what is then
 * refused, because another executor took over, is told again by that one. */
typedef struct pawl_trace {
  const char *instance, *workflow, *node;
  const char *kind; /* of the node; "instance" for such a verdict */
  int64_t attempt;
  int64_t at_us;       /* when it began, or ended */
  int64_t elapsed_us;  /* -1 while it begins */
  const char *outcome; /* NULL at the beginning; then "done", "failed",
                          "retry", "fired" (a timer), "suspended",
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
  int32_t batch;           /* instances claimed at once; 64 */
  int32_t recoveries;      /* takeovers before an instance is suspended; 5 */
  int32_t pooler;          /* 1: behind a pooler in transaction mode */
  int32_t stored_code_own; /* 1: never run a definition from the store */
  int32_t unknown_defer;   /* 1: leave unknown workflows to others */
  int32_t create;          /* -1: do not make a missing store; 0, 1: make it */
  int32_t shards;          /* of a store made by this open; 1 */
  int32_t pulse;           /* 1: a helper thread with a connection of its own
                             keeps the leases while a handler blocks, at most
                             until its node's timeout. Not with a private
                             allocator, a virtual clock or ":memory:". */
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
 * "postgres://...", "postgres:CONNINFO"; NULL: "pawl.db"). Another scheme://
 * and a CONNINFO by itself are PAWL_INVALID, anything else is a file. An empty
 * store is given its schema. `config` may be NULL. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_open(const char *url,
                                          const pawl_config *config,
                                          pawl_engine **out, pawl_error *err);
/* Releases what is leased, then closes. NULL is accepted. */
PAWL_API void pawl_close(pawl_engine *engine);

/* Brings the schema up to this program's version. `shards` counts only when
 * the store is empty (0: 1). Two programs migrating at once are safe.
 * `report`: JSON {"from":n,"to":n,"shards":n}, freed with pawl_free. */
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

typedef struct pawl_stats {
  int64_t claimed;     /* instances leased in this tick */
  int64_t steps;       /* handlers run */
  int64_t commits;     /* transactions */
  int64_t committed;   /* decisions stored */
  int64_t lost;        /* decisions refused: another executor had taken over */
  int64_t ended;       /* instances that ended */
  int64_t held;        /* instances still leased when the tick returned */
  int64_t next_due_us; /* when to look again; 0: now; INT64_MAX: nothing due */
} pawl_stats;

/* Claims, runs and commits until nothing is due or `budget_us` is spent (0:
 * one round). Never waits. Everything begun is committed on return. `stats`
 * may be NULL. A failing instance is not an error of the tick. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_tick(pawl_engine *engine,
                                          int64_t budget_us, pawl_stats *stats,
                                          pawl_error *err);
/* The same for one instance alone, whatever its group or prefix. `status`
 * (may be NULL): "done" when it has ended, "leased" while another executor
 * holds it, "later" when it is due at stats->next_due_us, "now" when there is
 * more to do. */
PAWL_API PAWL_MUSTUSE pawl_code
pawl_tick_instance(pawl_engine *engine, const char *id, int64_t budget_us,
                   pawl_stats *stats, const char **status, pawl_error *err);
/* When the engine must next be ticked: 0 now, INT64_MAX nothing scheduled. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_next_due(pawl_engine *engine,
                                              int64_t *due_us,
                                              pawl_error *err);
/* Sleeps until `until_us`, a wake-up from the store, or pawl_interrupt. The
 * one call that waits; workers use it, embedders need not. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_wait(pawl_engine *engine,
                                          int64_t until_us, pawl_error *err);
/* Makes the running tick stop after the handler under way, releases what was
 * not begun. Legal from another thread and from a signal handler. */
PAWL_API void pawl_interrupt(pawl_engine *engine);

/* The engine's time: the store's, the host's or the configured clock's. */
PAWL_API int64_t pawl_now(pawl_engine *engine);

/* ---- asking ------------------------------------------------------------ */

/* One instance as a JSON object: id, workflow, version, status, input,
 * variables, output, error, tokens, times. `id` may be shortened. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_get(pawl_engine *engine, const char *id,
                                         char **out, pawl_error *err);
/* Instances as a JSON array, newest first. `query`: a JSON object or NULL,
 * keys: workflow, version, status (a name or a list), tenant, correlation,
 * business_key, key, limit (100), before (an id: the page after it). */
PAWL_API PAWL_MUSTUSE pawl_code pawl_list(pawl_engine *engine,
                                          const char *query, char **out,
                                          pawl_error *err);
/* Everything recorded of an instance, oldest first, as a JSON array. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_history(pawl_engine *engine,
                                             const char *id, char **out,
                                             pawl_error *err);
/* Full id of a shortened one; PAWL_AMBIGUOUS, PAWL_NOTFOUND. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_find(pawl_engine *engine,
                                          const char *prefix, char id[37],
                                          pawl_error *err);

/* ---- acting ------------------------------------------------------------ */

/* Asks for cancellation, recorded at once. An instance nobody holds is
 * cancelled before the call returns (*done = 1), else by its holder before
 * the next step. PAWL_ALREADY_FINISHED when it has ended. */
PAWL_API PAWL_MUSTUSE pawl_code pawl_cancel(pawl_engine *engine,
                                            const char *id, const char *reason,
                                            const char *who, int *done,
                                            pawl_error *err);

/* Gives back text that the engine handed out. NULL is accepted. */
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
