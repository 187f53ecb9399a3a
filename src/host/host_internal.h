/* host/host_internal.h: what the host's own files share. Nobody else includes
 * it.
 *
 * Everything of a host in Lua hangs on one table in the registry, under the
 * host's address, so that closing is one assignment. Anchors below are its
 * integer keys; definitions follow from PAWL_ANCHOR_DEFS on.
 *
 * Keeps    H1 to H7: see host.h. */
#ifndef PAWL_HOST_HOST_INTERNAL_H
#define PAWL_HOST_HOST_INTERNAL_H

#include <lauxlib.h>
#include <lua.h>

#include "../base/clock.h"
#include "host.h"
#include "meter.h"

enum {
  PAWL_ANCHOR_CATCH = 1, /* the message handler */
  PAWL_ANCHOR_CLOSE,     /* coroutine.close */
  PAWL_ANCHOR_PATH,      /* package.path as the private state began */
  PAWL_ANCHOR_DURATION,  /* duration.parse, once needed */
  PAWL_ANCHOR_CTX,       /* metatables of what ctx is made of */
  PAWL_ANCHOR_ATTRS,
  PAWL_ANCHOR_DB,
  PAWL_ANCHOR_HOST,
  PAWL_ANCHOR_OUTPUT,
  PAWL_ANCHOR_TOKEN,
  PAWL_ANCHOR_CHILD, /* option.child_reader's, once needed */
  PAWL_ANCHOR_DEFS
};

/* A definition in the host's table. */
enum {
  PAWL_REC_HANDLERS = 1, /* { [node] = { run = f, ... } } */
  PAWL_REC_FOLDER,       /* where its modules are looked for first; or nil */
  PAWL_REC_SOURCES,      /* { [module] = text } of the bundle */
  PAWL_REC_MODULES,      /* { [module] = value } loaded from it */
  PAWL_REC_OTHERS,       /* { [module] = sha256 }; only while it loads */
  PAWL_REC_FRESH,        /* { [module] = true }: `require` loaded it first */
  PAWL_REC_ENV,          /* globals of its chunks, with `require` */
  PAWL_REC_PRIVATE       /* true in a private state */
};

/* What becomes of protected Lua code. */
typedef struct pawl_catch {
  pawl_code rc;      /* PAWL_OK until something goes wrong */
  pawl_code script;  /* of a plain Lua error: SCRIPT or DEFINITION */
  pawl_error *err;   /* never NULL */
  pawl_said *result; /* for retry and details; may be NULL */
} pawl_catch;

typedef struct pawl_ctx pawl_ctx;
typedef struct pawl_lent_fn
    pawl_lent_fn; /* a function of the program's: ctx_host.c */
typedef struct pawl_lua_cell pawl_lua_cell;
typedef struct pawl_remote pawl_remote; /* a process: remote.h */

/* A handler under way. They are used again and again, each with its thread,
 * which hangs on the host's table under the run's address. */
struct pawl_run {
  pawl_host *host;
  const pawl_call *call; /* the caller's; &own once it has waited */
  pawl_said *result;     /* the caller's; &kept while it waits */
  pawl_catch caught;
  const char *says; /* the option that the handler is given by */
  pawl_ctx *ctx;
  lua_State *co;              /* NULL: to be made */
  pawl_run *next, *next_idle; /* all of the host's; those that are free */
  int may_wait, waits;
  int is_over; /* the handler has returned: what it did is being taken */
  pawl_await await;
  int events;            /* what pawl_host_resume was told */
  const pawl_error *why; /* NULL, save while it is resumed */
  pawl_code is_stopped;  /* INTERRUPTED: as the engine is; NOMEM: as memory is
                           short; and where */
  char stopped_at[128];
  int is_lent; /* of one in a host's own state, while it runs: it may be stopped
                  there; and whose handler has called it */
  pawl_host *lent_before;
  int asking;       /* the function lent that is asked, or waited for, from
                            1 on; 0: none */
  pawl_buf *asked;  /* what it is asked: on the thread's stack */
  int nasked;       /* how many were, of this attempt */
  pawl_share share; /* of its limits, while it waits */
  pawl_call own;
  pawl_buf text;   /* of `own` */
  pawl_buf before; /* while its results are taken; of one in a process, what it
                      asks for */
  pawl_said kept;
  /* of one that runs in a process */
  pawl_remote *remote; /* NULL: it runs here */
  int64_t serial, left_us;
  int nlogs;     /* lines of all that it has said */
  int is_lost;   /* as its process has ended, or its state is spoilt */
  unsigned told; /* codes with which its waiting was ended, as bits */
};

struct pawl_host {
  pawl_alloc alloc;
  pawl_ration *ration; /* NULL: none */
  pawl_log log;
  lua_State *L;    /* where Lua is entered */
  lua_State *main; /* always alive: for what cannot raise */
  int is_private;
  size_t max_bytes;
  const volatile int *interrupted;
  int heard;           /* of it, before what loads now began */
  pawl_code load_stop; /* why that is stopped, and where it was */
  char load_stopped_at[128];
  int64_t seed;
  const pawl_options *start;
  int ctx_members;  /* how many it has */
  int ctx_progress; /* the number of one that is told anew */
  int next_ref;     /* of definitions */
  int path_ref;     /* whose folder leads package.path; -1: unknown */
  int64_t pid;      /* after fork() nothing of theirs is run */
  int running;      /* handlers that run now */
  pawl_run *run;    /* the one; NULL while one is abandoned */
  int serving;      /* the store is being asked for a handler */
  pawl_run *runs, *idle;
  pawl_catch *caught; /* of the innermost protected call */
  pawl_buf warning;   /* pieces of a Lua warning */
  pawl_lent_fn *lent; /* functions of the program's */
  int nlent, lent_cap;
  pawl_host *parent;     /* of a cell's; NULL: it is the engine's */
  pawl_meter *meter;     /* NULL: trusted */
  pawl_host *next_old;   /* of a cell's that are spoilt */
  pawl_lua_cell **cells; /* NULL where one was unloaded */
  int ncells, cells_cap;
  /* In a process of its own: the text of a module that lies beside the file
   * which is loaded. PAWL_NOTFOUND: there is none. NULL: it looks itself. */
  pawl_code (*fetch)(void *ud, const char *module, pawl_buf *out,
                     pawl_error *err);
  void *fetch_ud;
};

/* anchors.c */
/* Reads the value there as lua/pawl/duration.lua does: pushes microseconds, or
 * nil, what is wrong, what to write instead. */
void pawl_host_read_duration(pawl_host *host, lua_State *L, int idx);
/* Pushes the value of an anchor. */
void pawl_host_push_anchor(const pawl_host *host, lua_State *L, int anchor);
/* Sets it to the value on top, which is popped. */
void pawl_host_set_anchor(const pawl_host *host, lua_State *L, int anchor);
/* pawl_host_push_buf, with the host's memory where the state is its own. */
pawl_buf *pawl_host_push_own_buf(pawl_host *host, lua_State *L);

/* path.c */
/* Pushes the table `package`, or nil where a host's state has none. */
void pawl_host_push_package(lua_State *L);
/* Pushes package.path, or nil. */
void pawl_host_push_path(lua_State *L);
/* Sets package.path to the string on top, which is popped. */
void pawl_host_set_path(lua_State *L);
/* Replaces the path on top by one that `folder` leads. */
void pawl_host_lead_path(lua_State *L, const char *folder);
/* Makes the folder of a definition lead package.path (private state). Raises
 * errors of memory. */
void pawl_host_use_folder(pawl_host *host, lua_State *L, int ref);

/* errors.c */
/* Calls f(arg, the `nargs` values on top) with errors caught; pops them. What
 * f returns stays on the stack, up to nresults, when PAWL_OK comes back.
 * `f` may also report by setting caught->rc and returning. */
pawl_code pawl_host_protect(pawl_host *host, lua_State *L, lua_CFunction f,
                            void *arg, int nargs, int nresults,
                            pawl_catch *caught);
int pawl_catch_value(lua_State *L); /* its function */
/* After a failed call: the error value is on top of L. */
void pawl_catch_status(pawl_catch *caught, lua_State *L, int status);
/* Fills err->message from Lua's text; "file:line: " in front goes to where. */
void pawl_catch_text(pawl_catch *caught, const char *text, int is_located);
/* What becomes of it when a limit was met, whatever else the code has made of
 * that. */
void pawl_catch_limit(const pawl_host *host, pawl_catch *caught);
/* Is another attempt in vain? The same values would be refused again, the
 * same call be wrong again, and what is damaged stays so. */
int pawl_catch_is_for_good(pawl_code code);
/* "order.lua:12" of the running Lua function nearest to `level`; 0: none.
 * Never raises. */
int pawl_host_where(lua_State *L, int level, char *out, size_t size);

/* A path without the "./" in front. */
const char *pawl_host_short_path(const char *path);

/* source.c */
/* Appends the file's bytes. PAWL_INVALID: a folder, a pipe or a device;
 * PAWL_LIMIT: larger than PAWL_MAX_SOURCE. */
pawl_code pawl_source_read(const char *path, pawl_buf *out, pawl_error *err);
/* Is it dotted words of letters, digits, "_" and "-", and so leads nowhere but
 * into a folder? */
int pawl_source_is_module(const char *name);
/* Appends the source of a module that lies in the folder of a file which is
 * not trusted. PAWL_NOTFOUND: it is not there, or that is no module's name;
 * PAWL_INVALID: it is no file, or a link leads out of the folder. */
pawl_code pawl_source_read_module(const char *folder, const char *name,
                                  pawl_buf *text, pawl_error *err);
/* SHA-256 of the file in hex; 0: it cannot be read. */
int pawl_source_hash(const char *path, char hex[65]);
/* A source is stored as text: UTF-8 without zero bytes, and no bytecode. */
pawl_code pawl_source_check(const char *name, pawl_str text, pawl_error *err);
/* PAWL_LIMIT: with limited trust sources of that size are not compiled. */
pawl_code pawl_source_check_size(const pawl_host *host, const char *name,
                                 size_t len, pawl_error *err);
/* How often it says `break` and `goto`, be it in a comment. */
int pawl_source_count_jumps(pawl_str text);
/* What Lua compiles of it: no byte order mark, and an empty first line for a
 * "#!", so that lines keep their numbers. */
pawl_str pawl_source_lua(pawl_str text);

/* load.c */
/* In this very host; text with the bundle whose texts it runs. */
pawl_code pawl_load_own_file(pawl_host *host, const char *path,
                             pawl_loaded *out, pawl_error *err);
pawl_code pawl_load_own_text(pawl_host *host, const char *name, pawl_str text,
                             pawl_str bundle, pawl_loaded *out,
                             pawl_error *err);
void pawl_load_forget(pawl_host *host, int ref);
/* What a definition is called in messages. */
void pawl_copy_file(pawl_loaded *out, const char *name);

/* host.c; cells are cell.c's */
pawl_code pawl_host_open_limited(pawl_host *parent, const pawl_limits *limits,
                                 pawl_host **out, pawl_error *err);
/* One without a state: for cells alone, which lend and log by way of it. */
pawl_code pawl_host_open_bare(const pawl_host_options *options,
                              pawl_host **out, pawl_error *err);
void pawl_host_unmake(pawl_host *host);
/* Closes the private state, and runs nothing of it. */
void pawl_host_close_state(pawl_host *host);

/* require.c */
/* Globals of the definition's chunks: the state's, with its own `require`.
 * `rec`: index of its record. */
void pawl_require_set_env(lua_State *L, int rec);
/* Pushes the chunk compiled, with those globals; 0: Lua's error. */
int pawl_require_push_chunk(lua_State *L, int rec, pawl_str text,
                            const char *chunk);
/* Pushes the file that `package.searchpath` finds in the path on top, which is
 * popped, for the module named at idx; or nil. */
void pawl_require_find(lua_State *L, int idx);
/* Pushes record[part][name], and sets it to the value on top, which is popped.
 * `name` is an index. */
void pawl_record_push_field(lua_State *L, int rec, int part, int name);
void pawl_record_set_field(lua_State *L, int rec, int part, int name);

/* returned.c */
/* Takes what the handler returned into the run's result: its first value is
 * at idx, its second behind it. Raises errors of memory. */
pawl_code pawl_returned_take(pawl_run *run, lua_State *L, int idx);

/* run.c; as pawl_host_begin, _resume and _abandon, in this very host */
pawl_code pawl_run_begin(pawl_host *host, const pawl_call *call, int may_wait,
                         pawl_said *result, pawl_run **waiting,
                         pawl_error *err);
pawl_code pawl_run_resume(pawl_run **waiting, int events,
                          const pawl_error *why, pawl_said *result,
                          pawl_error *err);
void pawl_run_abandon(pawl_run *waiting);
/* H15: a limit was met in this state, which is closed next. */
void pawl_run_lose_all(pawl_host *host);
/* Says so, in place of resuming one that is lost. */
pawl_code pawl_run_tell_lost(pawl_run **waiting, pawl_said *result,
                             pawl_error *err);
/* Copies what it was called with: that is the caller's no longer. */
pawl_code pawl_run_keep_call(pawl_run *run, pawl_error *err);
/* Abandons what waits, and frees all runs. */
void pawl_host_free_runs(pawl_host *host);

/* ctx_host.c */
/* Tells the function that the run waits for, if any, that it waits no more. */
void pawl_host_forget_asked(pawl_run *run);
/* For a handler in a process: what ctx.host.NAME does once it has its input.
 * `number`: the how many-th that the handler calls. */
pawl_code pawl_host_ask_lent(pawl_run *run, const char *name, pawl_str input,
                             int number, int again, int waits, char **out,
                             pawl_error *err);
/* Name i of those that are lent; NULL: so many there are not. */
const char *pawl_host_lent_name(const pawl_host *host, int i);
/* Gives all functions back that were lent. */
void pawl_host_return_lent(pawl_host *host);

/* bound.c */
#define PAWL_LOAD_MAX INT64_C(300000000) /* instructions; some seconds */
/* Once for each private state. Raises errors of memory. */
void pawl_bound_open(pawl_host *host, lua_State *L);
/* The same of a host's own, for each engine that has it. */
void pawl_bound_open_lent(lua_State *L);
/* Around a handler's running in a host's own state. */
void pawl_bound_enter(pawl_run *run);
void pawl_bound_leave(pawl_run *run);
/* Around the loading of a file, in whatever state. Behind it: `rc`, or why it
 * was stopped, which `err` then says. */
void pawl_bound_begin(pawl_host *host);
pawl_code pawl_bound_end(pawl_host *host, pawl_code rc, pawl_error *err);
/* Was the engine interrupted since pawl_bound_begin? */
int pawl_bound_is_interrupted(const pawl_host *host);
pawl_code pawl_bound_fail_interrupted(pawl_error *err);
/* From within an allocation of a private state: a handler that runs there is
 * looked at with its next instruction. */
void pawl_bound_look_soon(const pawl_host *host);

/* ctx.c */
/* Makes the metatables; once for each host. Raises. */
void pawl_ctx_open(pawl_host *host, lua_State *L);
/* Pushes a new ctx for the run. Raises errors of memory. */
void pawl_ctx_push(pawl_run *run, lua_State *L);
/* Pushes ctx.event of the ctx at idx; nothing when it is not PAWL_OK. Raises
 * errors of memory. */
pawl_code pawl_ctx_push_event(pawl_run *run, lua_State *L, int idx);
/* Pushes the output that its call comes with. */
pawl_code pawl_ctx_push_output(const pawl_run *run, lua_State *L);
/* Writes what the handler left in ctx.vars, ctx.token.data and ctx.attrs into
 * the result, and completes what it emitted and started. `idx`: the ctx.
 * Raises errors of memory. */
pawl_code pawl_ctx_take(pawl_run *run, lua_State *L, int idx);
/* H3; NULL is accepted. */
void pawl_ctx_end(pawl_ctx *ctx);
/* The same where it waits. */
void pawl_ctx_cut(pawl_ctx *ctx);

#endif
