/* host/host.h: Lua that runs handlers.
 *
 * The engine forgets behind this header that handlers are Lua: it hands over
 * a node and what its instance holds, and gets back a transition and effects.
 *
 * Layer    above base, value and defs (its words only); includes lua.h in its
 *          .c files. No store, no engine: what a handler may ask of them
 *          arrives as pawl_services.
 * State    with a host's lua_State (options.lua) definitions run there, as
 *          ordinary functions with their upvalues, spies and closures; without
 *          one, in a private state made with the engine's allocator, with the
 *          standard libraries and `require "pawl"`. There os.exit is misuse.
 * Trust    a definition is loaded as trusted, or with limits: then it has a
 *          private state of its own (limited.h), which is made anew from its
 *          source once a limit was met; or, isolated, a process of its own
 *          (remote.h). An object cannot be limited: it lives in the program's
 *          state.
 * Raises   never: every entry runs under a protected call.
 * Handlers run as coroutines, on a thread of their own with a traceback; one
 *          that yields outside ctx fails. One that waits by ctx.await stands
 *          still, as a pawl_run, until it is resumed or abandoned; any number
 *          may stand so. Values cross by copy.
 *
 * Keeps    H1 Lua is entered only through pawl_host_protect or lua_resume: no
 *             error, not even one of memory, leaves the host.
 *          H2 C functions that Lua calls hold nothing that an error could
 *             leak, and share nothing: text that is in use while Lua runs or
 *             allocates lies in a buffer of that call alone, a userdata, or
 *             in the run's. Finalizers and metamethods call ctx anywhere.
 *          H3 a ctx that outlives its handler has no run behind it.
 *          H4 what is looked up before Lua allocates is looked up again
 *             before it is replaced: a finalizer may have made it too.
 *          H5 what a handler does counts until it returns: its result grows
 *             no more while that is taken.
 *          H6 the store is asked only while a handler runs, one question at a
 *             time.
 *          H7 one handler of a host runs at a time. Those that wait each have
 *             a thread, their call and their result to themselves. */
#ifndef PAWL_HOST_HOST_H
#define PAWL_HOST_HOST_H

#include "../base/buf.h"
#include "../base/log.h"
#include "../base/ration.h"
#include "../defs/limits.h"
#include "../defs/result.h"
#include "../value/options.h"

struct lua_State;
typedef struct pawl_host pawl_host;

#define PAWL_MAX_SOURCE (16 << 20) /* bytes of a file, or of a module */

/* "... Lua 5.4.4 ...": of the Lua that runs, which need not be the one that
 * this was compiled with. */
const char *pawl_host_lua(void);

typedef struct pawl_host_options {
  const pawl_alloc *alloc;
  pawl_ration *ration; /* that it comes from; NULL: from none */
  const pawl_log *log;
  struct lua_State *lua;           /* NULL: private */
  size_t max_bytes;                /* of variables, and of each output */
  const volatile int *interrupted; /* not 0: a private state's handler that
                                      runs is to stop; NULL: it never is */
  int64_t seed; /* of math.random in a private state; 0: Lua's own */
  const pawl_options *start; /* what a start takes: ctx.start takes of it what
                                is not the engine's to say */
} pawl_host_options;

pawl_code pawl_host_open(const pawl_host_options *options, pawl_host **out,
                         pawl_error *err);
void pawl_host_close(pawl_host *host);
/* Collects the garbage of its own states. None of its handlers runs. */
void pawl_host_tidy(pawl_host *host);
/* Is a handler of this host running? (Calls into the engine are misuse.) One
 * that waits is not. */
int pawl_host_is_busy(const pawl_host *host);
/* In the module: the thread that called into the engine, so that handlers run
 * on a state that is alive. No-op for a private state, and while a handler
 * runs. */
void pawl_host_use(pawl_host *host, struct lua_State *L);

/* pawl_register, but for its destroy: that is called when the host is closed,
 * and only of what was lent. */
pawl_code pawl_host_lend(pawl_host *host, const char *name,
                         pawl_function_fn fn, void *ud,
                         void (*destroy)(void *ud), pawl_error *err);

/* ---- error objects ---- */

/* Pushes *err as the object that Lua code sees: a table with the fields of
 * pawl_error (code as text; empty ones left out) and the metatable
 * "pawl.error", whose __tostring gives "code: where: message (hint)". May
 * raise an error of memory. */
void pawl_host_push_error(struct lua_State *L, const pawl_error *err);

/* ---- pawl.core ---- */

/* Pushes a new table with the part of the module pawl.core that workflow files
 * use: null, array, json_encode, json_decode, version. All of it in a private
 * state; in a host's, src/bind adds the engine. A lua_CFunction. */
int pawl_host_open_core(struct lua_State *L);
/* An empty buffer that the collector frees, for text that is built while Lua
 * may raise. Pushes its userdata. */
pawl_buf *pawl_host_push_buf(struct lua_State *L);

/* Pushes a table of options as a Lua table, of which Lua's shapes are made:
 * { kinds = { "cancel", ... } or nil, { name = "limit", shape = "int", low,
 * high, names = { ... } or nil, kinds = bits or nil, needed = bits }, ... }.
 * May raise an error of memory. */
void pawl_host_push_options(struct lua_State *L, const pawl_options *t);

/* ---- definitions ---- */

/* A workflow as Lua gave it. All buffers are the caller's to deinit, with
 * pawl_loaded_deinit; `ref` goes to pawl_host_unload. */
typedef struct pawl_loaded {
  int ref;         /* handle of its functions */
  pawl_buf graph;  /* JSON, see defs/def.h */
  pawl_buf source; /* text of the file; empty when inline */
  pawl_buf bundle; /* JSON {"module":"source text",...} */
  pawl_buf others; /* JSON {"module":"sha256"}: other modules it required */
  char file[128];  /* for messages */
  int is_inline;
} pawl_loaded;
void pawl_loaded_deinit(pawl_loaded *l);

/* Runs the file; it must return a workflow. Text only, no bytecode. Lua's own
 * errors come as PAWL_DEFINITION with where = "file:line"; the builder's
 * errors as they were raised. `limits` NULL: trusted; else they are copied, and
 * PAWL_LIMIT says which was met. */
pawl_code pawl_host_load_file(pawl_host *host, const char *path,
                              const pawl_limits *limits, pawl_loaded *out,
                              pawl_error *err);
/* The same for text; modules named in `bundle` (JSON, may be empty) are
 * required from it rather than from files. */
pawl_code pawl_host_load_text(pawl_host *host, const char *name, pawl_str text,
                              pawl_str bundle, const pawl_limits *limits,
                              pawl_loaded *out, pawl_error *err);
/* The workflow object on top of L's stack, which is popped: inline, unless it
 * came from a file that pawl_host_load_file would load to the same thing. */
pawl_code pawl_host_load_stack(pawl_host *host, struct lua_State *L,
                               pawl_loaded *out, pawl_error *err);
/* Was it loaded with limits? */
int pawl_host_is_limited(int ref);
/* And runs in a process of its own? */
int pawl_host_is_isolated(const pawl_host *host, int ref);
void pawl_host_unload(pawl_host *host, int ref);

/* ---- running ---- */

typedef struct pawl_call pawl_call;

/* What ctx may ask for. Every callback returns a code; an error is raised in
 * the handler as an error object. `call` is that of the ctx which asks: of the
 * handler that runs, or of one that waits meanwhile and lent its ctx.
 * `now`, `log` and `new_id` may be asked at any time, also between calls into
 * the host (a finalizer) and in the midst of another callback. The others ask
 * the store: the host calls them only while a handler runs, and one at a
 * time; else ctx raises PAWL_MISUSE. */
typedef struct pawl_services {
  int64_t (*now)(const pawl_call *call);
  void (*log)(const pawl_call *call, int level, const char *message,
              const char *fields);
  /* progress: JSON or {NULL,0}. *cancelled: the instance is to end.
   * PAWL_LEASE_LOST: stop, somebody took over. */
  pawl_code (*heartbeat)(const pawl_call *call, pawl_str progress,
                         int *cancelled, pawl_error *err);
  pawl_code (*cancelled)(const pawl_call *call, int *out, pawl_error *err);
  /* Appends {"name":{"type":"string","value":...},...}. */
  pawl_code (*attrs)(const pawl_call *call, pawl_buf *out, pawl_error *err);
  /* The how many-th visit of its node this is. */
  pawl_code (*visits)(const pawl_call *call, int64_t *out, pawl_error *err);
  /* Appends what an earlier attempt of this visit gave to heartbeat last, JSON;
   * nothing: there is none. */
  pawl_code (*progress)(const pawl_call *call, pawl_buf *out, pawl_error *err);
  /* Appends what a node gave when a token last went on from it, JSON; nothing:
   * it gave nothing, or none came there. PAWL_MISUSE: there is no such node;
   * PAWL_NOTFOUND: its history was trimmed. */
  pawl_code (*output)(const pawl_call *call, pawl_str node, pawl_buf *out,
                      pawl_error *err);
  /* Appends the token that completes a wait of this instance for that event:
   * the same for each attempt. PAWL_MISUSE: no event has that name. */
  pawl_code (*callback)(const pawl_call *call, pawl_str event, pawl_buf *out,
                        pawl_error *err);
  /* A new instance's id, for ctx.start. */
  pawl_code (*new_id)(const pawl_call *call, char id[37], pawl_error *err);
  /* ctx.db:query: params a JSON array; appends a JSON array of row objects
   * and sets *changed. NULL when the node is not transactional. */
  pawl_code (*query)(const pawl_call *call, pawl_str sql, pawl_str params,
                     pawl_buf *out, int64_t *changed, pawl_error *err);
} pawl_services;

/* Its texts: a handler that waits keeps what is in these lists. */
/* clang-format off */
#define PAWL_CALL_NAMES(X)                                  \
  X(node) X(workflow)                                       \
  X(id)     /* of the instance */                           \
  X(branch) /* of the token; NULL: none */
#define PAWL_CALL_TEXTS(X)                                  \
  X(data)   /* the token's own: JSON object; empty: {} */   \
  X(event)  /* JSON; at NULL: nil */                        \
  X(output) /* UNDO: JSON; at NULL: nil */                  \
  X(error)  /* JSON: what led here; at NULL: nil */         \
  X(tenant) X(correlation) /* at NULL: nil */               \
  X(parent)                /* an id; at NULL: nil */        \
  X(executor) X(group)     /* an id, and its group's name */ \
  X(vars) X(input)         /* JSON; vars an object */
/* clang-format on */

/* One handler to run; everything is borrowed for the call. */
struct pawl_call {
  int ref;
  pawl_handler handler;
  int64_t version; /* of the workflow */
  int64_t attempt, visit, token;
#define PAWL_CALL_NAME(name) const char *name;
#define PAWL_CALL_TEXT(name) pawl_str name;
  PAWL_CALL_NAMES(PAWL_CALL_NAME)
  PAWL_CALL_TEXTS(PAWL_CALL_TEXT)
#undef PAWL_CALL_NAME
#undef PAWL_CALL_TEXT
  const pawl_services *services;
  void *services_ud; /* whom they ask */
  void *owner;       /* and for whom: neither is looked into here */
  int transactional; /* ctx.db is there, and ctx.await is not */
  int one_way;       /* RUN: what it returns by itself is no transition, of
                        which there is but one, but the output */
};

/* PAWL_OK, or why the handler failed: PAWL_SCRIPT (its own error; err->raised
 * holds error{code=...}'s code, err->trace the traceback), PAWL_VALUE or
 * PAWL_LIMIT (what it left in ctx.vars or returned cannot be stored; also
 * when a handler other than RUN and UNDO changed ctx.vars or ctx.token.data),
 * PAWL_NO_HANDLER (the node has no such function), PAWL_MISUSE (of ctx, as
 * ctx.emit or ctx.start in a handler other than those two, or a handler of
 * this host is running), or what a service raised and the handler did not
 * catch.
 * *result is cleared first; after a failure only no_retry, retry_after_us and
 * details count. */
pawl_code pawl_host_run(pawl_host *host, const pawl_call *call,
                        pawl_said *result, pawl_error *err);

/* ---- handlers that wait ---- */

typedef enum pawl_await_kind {
  PAWL_AWAIT_TIME,     /* until timeout_us have passed */
  PAWL_AWAIT_FD,       /* until the descriptor is ready, or timeout_us */
  PAWL_AWAIT_PREDICATE /* resume it now and then: it asks for itself */
} pawl_await_kind;

enum { PAWL_AWAIT_READ = 1, PAWL_AWAIT_WRITE = 2 };

/* What a handler waits for. */
typedef struct pawl_await {
  pawl_await_kind kind;
  int fd, events;     /* FD: any of PAWL_AWAIT_READ and WRITE */
  int64_t timeout_us; /* TIME, FD; -1: none */
} pawl_await;

typedef struct pawl_run pawl_run; /* a handler under way */

/* pawl_host_run for a RUN or UNDO that may wait. When it does, PAWL_OK comes
 * back with *waiting set: *call has been copied, and *result is empty and the
 * caller's again. Else *waiting is NULL and the handler has ended. */
pawl_code pawl_host_begin(pawl_host *host, const pawl_call *call,
                          pawl_said *result, pawl_run **waiting,
                          pawl_error *err);
const pawl_await *pawl_run_await(const pawl_run *run);
/* The variables that it was given, until it is resumed. */
pawl_str pawl_run_vars(const pawl_run *run);
/* Can it not go on? Then resuming it says why. */
int pawl_run_is_lost(const pawl_run *run);
/* Goes on with it; returns as pawl_host_begin does. `events`: of the
 * descriptor that are ready; 0: its time has passed. `why`, when not NULL, is
 * raised from ctx.await instead. */
pawl_code pawl_host_resume(pawl_run **waiting, int events,
                           const pawl_error *why, pawl_said *result,
                           pawl_error *err);
/* Ends it where it stands: its to-be-closed variables are closed, nothing
 * else of it runs. NULL is accepted. */
void pawl_host_abandon(pawl_run *waiting);

#endif
