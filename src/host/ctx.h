/* host/ctx.h: the members of ctx, and what its files share. Nobody else
 * includes it.
 *
 * ctx.c is the object and what can be read of it; ctx_checks.c what every
 * member asks first; the others hold the members that do something. All of it
 * is called by Lua, and raises (H2). `what` is a member's name in errors,
 * without the "ctx." in front. */
#ifndef PAWL_HOST_CTX_H
#define PAWL_HOST_CTX_H

#include "host_internal.h"

struct pawl_ctx {
  pawl_run *run; /* NULL once the handler has ended */
  int is_cut;    /* where it stood: what is closed then may ask for it */
};

/* ---- the members ---- */

/* What one is to who writes `ctx.name`. */
typedef enum pawl_ctx_kind {
  PAWL_CTX_FIELD, /* read anew each time; `function` pushes it */
  PAWL_CTX_VALUE, /* pushed once, and kept from then on */
  PAWL_CTX_CALL   /* a function: `function` is that, with its arguments from 1
                     on, and returns how many values it pushed */
} pawl_ctx_kind;

/* When a CALL may be made. */
typedef enum pawl_ctx_when {
  PAWL_CTX_ANYTIME, /* while there is a run behind the ctx (H3) */
  PAWL_CTX_ASKS,    /* the store: while a handler runs (H6) */
  PAWL_CTX_ACTS,    /* for the run of a step or `undo`, before that returns
                       (H5) */
  PAWL_CTX_WAITS    /* in the run of a step or `undo`; more is checked where it
                       is */
} pawl_ctx_when;

/* What a member costs, in instructions, where these are counted; to ask the
 * store costs more. */
enum { PAWL_CTX_CALL_COST = 100, PAWL_CTX_ASK_COST = 10000 };

typedef struct pawl_ctx_member {
  const char *name;
  pawl_ctx_kind kind;
  pawl_ctx_when when;
  const char *shape; /* of a CALL: shows who writes a colon how to call it */
  int (*function)(lua_State *L, pawl_run *run); /* the ctx of a FIELD or VALUE
                                                   is at idx 1 */
} pawl_ctx_member;

/* A file lists those that it has, at its end, up to one without a name: a new
 * one is a function and a line there. What can be read of the ctx itself is a
 * list in ctx.c, which puts them together. spec/lua/meta_spec.lua reads them. */
extern const pawl_ctx_member pawl_ctx_awaiting[]; /* ctx_await.c */
extern const pawl_ctx_member pawl_ctx_effects[];  /* ctx_effects.c */
extern const pawl_ctx_member pawl_ctx_lent[];     /* ctx_host.c */
extern const pawl_ctx_member pawl_ctx_services[]; /* ctx_services.c */

/* ---- ctx_checks.c ---- */

/* Raises *err, which lacks only where in Lua it happened. */
int pawl_ctx_raise(lua_State *L, pawl_error *err);
int pawl_ctx_raise_text(lua_State *L, pawl_code code, const char *hint,
                        const char *fmt, ...) PAWL_PRINTF(4, 5);
/* `what` has no field of the name at idx, which any value may be. */
int pawl_ctx_raise_unknown(lua_State *L, int idx, const char *what,
                           const char *const *names, int n);

/* The run behind a ctx, which is user value or upvalue of what asks, or the
 * userdata itself. */
pawl_run *pawl_ctx_alive(lua_State *L, const pawl_ctx *ctx);
/* The ctx in the upvalue of ctx.log and its like. */
pawl_run *pawl_ctx_upvalue_run(lua_State *L);
/* ctx.token, ctx.attrs and ctx.db hold their ctx in user value 1. */
pawl_run *pawl_ctx_child_run(lua_State *L);
/* Has argument 1 the metatable in upvalue 1? */
int pawl_ctx_is_self(lua_State *L);
/* Nobody else's userdata came here by way of the debug library. */
void pawl_ctx_check_self(lua_State *L);

/* What a limited definition was not granted raises, and says so: it is `of`
 * (NULL: all) among its trust's `may`; NULL: nobody can grant it. */
void pawl_ctx_check_granted(lua_State *L, const pawl_run *run,
                            const char *what, const char *may, const char *of,
                            int is_granted);

/* What is set to the value at idx 3 must be a table. */
void pawl_ctx_check_table(lua_State *L, const char *what);
/* H6, before the store is asked for the run: only while a handler runs does
 * the engine stand still. */
void pawl_ctx_check_service(lua_State *L, const pawl_run *run,
                            const char *what);
/* H5, before something is done for the run. */
void pawl_ctx_check_time(lua_State *L, const pawl_run *run, const char *what);
/* Only what a step does, or takes back, reaches others, or takes its time. */
void pawl_ctx_check_acts(lua_State *L, const pawl_run *run, const char *what,
                         const char *hint);

/* Pushes an empty buffer for this call alone (H2). */
pawl_buf *pawl_ctx_push_buf(lua_State *L, const pawl_run *run);
/* Appends the JSON of the value at idx; of nil, `otherwise`. */
void pawl_ctx_add_value(lua_State *L, const pawl_run *run, int idx,
                        const char *path, const char *otherwise,
                        pawl_buf *out);
/* Pushes a buffer with the JSON of the value at idx. */
pawl_buf *pawl_ctx_push_encoded(lua_State *L, const pawl_run *run, int idx,
                                const char *path);
/* Pushes the value of text that the store holds. What is no JSON there was
 * damaged: it was when it was stored. Raises errors of memory alone. */
pawl_code pawl_ctx_decode_stored(lua_State *L, pawl_str text, pawl_error *err);
void pawl_ctx_push_decoded(lua_State *L, pawl_str text);
/* Keeps the value on top as user value `at` of the userdata at 1, unless
 * there is one by now (H4), which replaces it then. */
void pawl_ctx_keep_made(lua_State *L, int at);

/* Pushes ctx.token, ctx.attrs or ctx.db: a userdata that holds the ctx at
 * idx 1. */
void pawl_ctx_push_child(lua_State *L, pawl_run *run, int anchor, int nvalues);
/* Begins a metatable: on the stack it stays under what follows. Its functions
 * get it as upvalue 1. */
void pawl_ctx_begin_metatable(lua_State *L, const char *name);
/* Adds a function; what lies on top of the metatable is its upvalue 2. */
void pawl_ctx_set_method(lua_State *L, const char *name, lua_CFunction f,
                         int nextra);

/* ---- ctx_attrs.c ---- */

void pawl_ctx_open_attrs(pawl_host *host, lua_State *L);
/* ctx.attrs: its own members ask and act. */
int pawl_ctx_push_attrs(lua_State *L, pawl_run *run);
/* What was written into the ctx.attrs on top, which may be nil. Raises errors
 * of memory alone. */
pawl_code pawl_ctx_take_attrs(pawl_run *run, lua_State *L);
/* The name at idx 2. */
void pawl_ctx_check_attr_name(lua_State *L);
/* Pushes type and stored value of the value at idx 3. */
void pawl_ctx_push_attr(lua_State *L, pawl_run *run);
/* Replaces type and value on top by {type, value}. */
void pawl_ctx_join_entry(lua_State *L);

/* ---- ctx_output.c ---- */

void pawl_ctx_open_output(pawl_host *host, lua_State *L);
void pawl_ctx_push_outputs(lua_State *L, pawl_run *run);

/* ---- ctx_host.c ---- */

void pawl_ctx_open_host(pawl_host *host, lua_State *L);

/* ---- ctx_services.c ---- */

void pawl_ctx_open_db(pawl_host *host, lua_State *L);

#endif
