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

enum {
  PAWL_ANCHOR_CATCH = 1, /* the message handler */
  PAWL_ANCHOR_CLOSE,     /* coroutine.close */
  PAWL_ANCHOR_PATH,      /* package.path as the private state began */
  PAWL_ANCHOR_DURATION,  /* duration.parse, once needed */
  PAWL_ANCHOR_CTX,       /* metatables of what ctx is made of */
  PAWL_ANCHOR_ATTRS,
  PAWL_ANCHOR_DB,
  PAWL_ANCHOR_HOST,
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
  pawl_code rc;        /* PAWL_OK until something goes wrong */
  pawl_code script;    /* of a plain Lua error: SCRIPT or DEFINITION */
  pawl_error *err;     /* never NULL */
  pawl_result *result; /* for retry and details; may be NULL */
} pawl_catch;

typedef struct pawl_ctx pawl_ctx;
typedef struct pawl_lent
    pawl_lent; /* a function of the program's: ctx_host.c */

/* A handler under way. They are used again and again, each with its thread,
 * which hangs on the host's table under the run's address. */
struct pawl_run {
  pawl_host *host;
  const pawl_call *call; /* the caller's; &own once it has waited */
  pawl_result *result;   /* the caller's; &kept while it waits */
  pawl_catch caught;
  pawl_ctx *ctx;
  lua_State *co;              /* NULL: to be made */
  pawl_run *next, *next_idle; /* all of the host's; those that are free */
  int may_wait, waits;
  int is_over; /* the handler has returned: what it did is being taken */
  pawl_await await;
  int events;            /* what pawl_host_resume was told */
  const pawl_error *why; /* NULL, save while it is resumed */
  int is_stopped;        /* as the engine is interrupted; where */
  char stopped_at[128];
  int asking;      /* the function lent that is asked, or waited for, from
                            1 on; 0: none */
  pawl_buf *asked; /* what it is asked: on the thread's stack */
  int nasked;      /* how many were, of this attempt */
  pawl_call own;
  pawl_buf text;   /* of `own` */
  pawl_buf before; /* while its results are taken */
  pawl_result kept;
};

struct pawl_host {
  pawl_alloc alloc;
  pawl_log log;
  lua_State *L;    /* where Lua is entered */
  lua_State *main; /* always alive: for what cannot raise */
  int is_private;
  size_t max_bytes;
  const volatile int *interrupted;
  int64_t seed;
  const pawl_options *start;
  int ctx_members; /* how many it has */
  int next_ref;    /* of definitions */
  int path_ref;    /* whose folder leads package.path; -1: unknown */
  int64_t pid;     /* after fork() nothing of theirs is run */
  int running;     /* handlers that run now */
  pawl_run *run;   /* the one; NULL while one is abandoned */
  int serving;     /* the store is being asked for a handler */
  pawl_run *runs, *idle;
  pawl_catch *caught; /* of the innermost protected call */
  pawl_buf warning;   /* pieces of a Lua warning */
  pawl_lent *lent;    /* functions of the program's */
  int nlent, lent_cap;
};

/* anchors.c */
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
/* SHA-256 of the file in hex; 0: it cannot be read. */
int pawl_source_hash(const char *path, char hex[65]);
/* A source is stored as text: UTF-8 without zero bytes, and no bytecode. */
pawl_code pawl_source_check(const char *name, pawl_str text, pawl_error *err);
/* What Lua compiles of it: no byte order mark, and an empty first line for a
 * "#!", so that lines keep their numbers. */
pawl_str pawl_source_lua(pawl_str text);

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

/* run.c */
/* Abandons what waits, and frees all runs. */
void pawl_host_free_runs(pawl_host *host);

/* ctx_host.c */
/* Tells the function that the run waits for, if any, that it waits no more. */
void pawl_host_forget_asked(pawl_run *run);
/* Gives all functions back that were lent. */
void pawl_host_return_lent(pawl_host *host);

/* bound.c */
#define PAWL_LOAD_MAX INT64_C(300000000) /* instructions; some seconds */
/* Once for each private state. Raises errors of memory. */
void pawl_bound_open(pawl_host *host, lua_State *L);
/* Around the loading of a file. */
void pawl_bound_begin(pawl_host *host);
void pawl_bound_end(pawl_host *host);

/* ctx.c */
/* Makes the metatables; once for each host. Raises. */
void pawl_ctx_open(pawl_host *host, lua_State *L);
/* Pushes a new ctx for the run. Raises errors of memory. */
void pawl_ctx_push(pawl_run *run, lua_State *L);
/* Pushes ctx.event of the ctx at idx; nothing when it is not PAWL_OK. Raises
 * errors of memory. */
pawl_code pawl_ctx_push_event(pawl_run *run, lua_State *L, int idx);
/* Writes what the handler left in ctx.vars, ctx.token.data and ctx.attrs into
 * the result, and completes what it emitted and started. `idx`: the ctx.
 * Raises errors of memory. */
pawl_code pawl_ctx_take(pawl_run *run, lua_State *L, int idx);
/* H3; NULL is accepted. */
void pawl_ctx_end(pawl_ctx *ctx);

#endif
