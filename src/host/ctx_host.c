/* ctx.host: functions that the program around the engine lends to handlers.
 *
 *   ctx.host.spawn{...} -> JSON -> the function -> JSON -> what it gave
 *                                  -> PAWL_BUSY: the handler stands still, and
 *                                     the function is asked again, as a
 *                                     predicate of ctx.await is
 *                                  -> any other code: an error is raised
 *
 * While it stands still, what was asked lies in a buffer on the handler's own
 * stack, which the run points to, so that the function can be told when nobody
 * waits for it any more. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../value/luajson.h"
#include "ctx.h"
#include "toll.h"

enum { MOST_FUNCTIONS = 1000, MOST_NAME = 63, CALL_COST = 1000 };

struct pawl_lent_fn {
  char name[MOST_NAME + 1];
  pawl_function_fn fn;
  void *ud;
  void (*destroy)(void *ud);
};

/* ---- lending ---- */

static int is_name(const char *name) {
  size_t n = 0;
  if (!name) return 0;
  for (; name[n]; n++) {
    const char c = name[n];
    int is_letter =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!is_letter && !(n && c >= '0' && c <= '9')) return 0;
  }
  return n > 0 && n <= MOST_NAME;
}

static const pawl_lent_fn *find(const pawl_host *host, const char *name) {
  for (int i = 0; i < host->nlent; i++)
    if (strcmp(host->lent[i].name, name) == 0) return &host->lent[i];
  return NULL;
}

pawl_code pawl_host_lend(pawl_host *host, const char *name,
                         pawl_function_fn fn, void *ud,
                         void (*destroy)(void *ud), pawl_error *err) {
  if (!is_name(name))
    return pawl_fail_hint(
        err, PAWL_INVALID, "letters, digits and _, as Lua has names; up to 63",
        "\"%.80s\" is no name for a host function", name ? name : "");
  if (find(host, name))
    return pawl_fail(err, PAWL_EXISTS, "ctx.host.%s is there already", name);
  if (host->nlent == MOST_FUNCTIONS)
    return pawl_fail(err, PAWL_LIMIT, "%d host functions are the most",
                     MOST_FUNCTIONS);
  if (!PAWL_ROOM(&host->alloc, host->lent, host->nlent, host->lent_cap))
    return pawl_fail_memory(err);
  pawl_lent_fn *lent = &host->lent[host->nlent++];
  pawl_copy_text(lent->name, sizeof lent->name, name);
  lent->fn = fn;
  lent->ud = ud;
  lent->destroy = destroy;
  return PAWL_OK;
}

void pawl_host_return_lent(pawl_host *host) {
  for (int i = 0; i < host->nlent; i++)
    if (host->lent[i].destroy) host->lent[i].destroy(host->lent[i].ud);
  pawl_release(&host->alloc, host->lent,
               sizeof *host->lent * (size_t)host->lent_cap);
  host->lent = NULL;
  host->nlent = host->lent_cap = 0;
}

/* Of a limited definition's state the engine's host lends. */
static const pawl_host *lender(const pawl_host *host) {
  return host->parent ? host->parent : host;
}

/* ---- calling ---- */

/* What a call has on Lua's stack. */
enum { AT_GIVEN = 1, AT_TEXT };

/* Not by a raise: what nobody lets wait is for the function to know. */
static int may_wait(lua_State *L, const pawl_run *run) {
  return run->may_wait && !run->call->transactional && L == run->co &&
         lua_isyieldable(L);
}

static pawl_code call_lent(pawl_run *run, int again, int gone, int waits,
                           char **out, pawl_error *err) {
  pawl_host *host = run->host;
  const pawl_call *call = run->call;
  const pawl_lent_fn *lent = &lender(host)->lent[run->asking - 1];
  const int was_serving = host->serving;
  char key[128];
  pawl_wanted asked = {.name = lent->name,
                       .instance = call->id,
                       .workflow = call->workflow,
                       .node = call->node,
                       .attempt = call->attempt,
                       .input = run->asked->at,
                       .length = run->asked->len,
                       .key = key,
                       .again = again,
                       .gone = gone,
                       .may_wait = waits};

  snprintf(key, sizeof key, "%s/%" PRId64 "/%" PRId64 "/%d", call->id,
           call->token, call->visit, run->nasked);
  memset(err, 0, sizeof *err);
  *out = NULL;
  host->serving = 1; /* H6: it may not ask the store by way of ctx */
  pawl_code rc = lent->fn(lent->ud, &asked, out, err);
  host->serving = was_serving;
  return rc;
}

void pawl_host_forget_asked(pawl_run *run) {
  char *out = NULL;
  pawl_error ignored;
  if (!run->asking) return;
  (void)call_lent(run, 1, 1, 0, &out, &ignored);
  pawl_free(NULL, out);
  run->asking = 0;
  run->asked = NULL;
}

/* What it has filled in may be anything but an error of ours. */
static pawl_code tidy_told(pawl_code rc, pawl_error *err) {
  err->code = rc > PAWL_OK && rc < PAWL_NCODES ? rc : PAWL_SCRIPT;
  err->raised[sizeof err->raised - 1] = '\0';
  err->message[sizeof err->message - 1] = '\0';
  err->hint[sizeof err->hint - 1] = '\0';
  err->where[0] = err->sqlstate[0] = err->trace[0] = '\0';
  return err->code;
}

const char *pawl_host_lent_name(const pawl_host *host, int i) {
  return i < host->nlent ? host->lent[i].name : NULL;
}

pawl_code pawl_host_ask_lent(pawl_run *run, const char *name, pawl_str input,
                             int number, int again, int waits, char **out,
                             pawl_error *err) {
  const pawl_lent_fn *lent = find(run->host, name);
  const int waited = run->asking;
  pawl_code rc;
  *out = NULL;
  if (!lent)
    return pawl_fail(err, PAWL_MISUSE, "ctx.host has no function '%.63s'",
                     name);
  if (again && (!waited || run->nasked != number))
    return pawl_fail(err, PAWL_MISUSE, "nobody waits for ctx.host.%s", name);
  if (!again) {
    pawl_host_forget_asked(run);
    pawl_buf_set(&run->before, input);
    MUST(pawl_buf_check(&run->before, err));
    run->asked = &run->before;
    run->asking = (int)(lent - run->host->lent) + 1;
    run->nasked = number;
  }
  rc = call_lent(run, again, 0, waits, out, err);
  if (rc == PAWL_BUSY) return rc; /* the process says when that is over */
  run->asking = 0;
  run->asked = NULL;
  return rc == PAWL_OK ? rc : tidy_told(rc, err);
}

/* The error that the function told, in its own words. */
static int raise_told(lua_State *L, const char *name, pawl_code rc,
                      pawl_error *err) {
  tidy_told(rc, err);
  if (!err->message[0])
    snprintf(err->message, sizeof err->message, "ctx.host.%s has failed",
             name);
  if (rc != PAWL_INVALID) return pawl_ctx_raise(L, err);
  pawl_host_where(L, 1, err->where, sizeof err->where);
  pawl_host_push_error(L, err);
  lua_pushboolean(L, 0); /* refused for good */
  lua_setfield(L, -2, "retry");
  return lua_error(L);
}

/* Pushes what the function gave. Its text goes first where an error of Lua's
 * cannot leak it (H2). */
static int push_given(lua_State *L, const char *name, pawl_buf *text,
                      char *out) {
  pawl_error err;
  pawl_buf_clear(text);
  if (out) pawl_buf_addz(text, out);
  pawl_free(NULL, out);
  pawl_code rc = pawl_buf_check(text, &err);
  if (rc == PAWL_OK && !out)
    lua_pushnil(L);
  else if (rc == PAWL_OK)
    rc = pawl_luajson_decode(L, pawl_buf_str(text), &err);
  if (rc == PAWL_OK) {
    pawl_buf_deinit(text);
    return 1;
  }
  if (rc == PAWL_NOMEM) return pawl_ctx_raise(L, &err);
  return pawl_ctx_raise_text(L, PAWL_VALUE,
                             "make it by pawl_format, which quotes",
                             "what ctx.host.%s gave is no JSON: %s: %s", name,
                             err.where, err.message);
}

static int over(lua_State *L, int status, lua_KContext context);

/* (what was given, its text) */
static int ask(lua_State *L, pawl_run *run, int again) {
  const char *name = lender(run->host)->lent[run->asking - 1].name;
  pawl_buf *text = run->asked;
  const int waits = may_wait(L, run);
  char *out;
  pawl_error err;
  pawl_code rc = call_lent(run, again, 0, waits, &out, &err);

  if (rc != PAWL_BUSY || !waits) {
    if (rc == PAWL_BUSY) pawl_host_forget_asked(run);
    run->asking = 0;
    run->asked = NULL;
  }
  if (rc == PAWL_OK) return push_given(L, name, text, out);
  pawl_free(NULL, out);
  if (rc != PAWL_BUSY) return raise_told(L, name, rc, &err);
  if (!waits)
    return pawl_ctx_raise_text(
        L, PAWL_MISUSE,
        "only the `run` of a step that is not transactional, and `undo`, may "
        "wait, and not in a coroutine of their own",
        "ctx.host.%s is to be waited for, and nothing waits here", name);
  run->await = (pawl_await){.kind = PAWL_AWAIT_PREDICATE, .timeout_us = -1};
  run->waits = 1;
  return lua_yieldk(L, 0, 0, over);
}

/* Resumed. */
static int over(lua_State *L, int status, lua_KContext context) {
  pawl_run *run = pawl_ctx_upvalue_run(L);
  pawl_error err;
  (void)status;
  (void)context;
  /* others have run meanwhile, and left the path to their folder */
  pawl_host_use_folder(run->host, L, run->call->ref);
  if (!run->why) return ask(L, run, 1);
  pawl_host_forget_asked(run);
  err = *run->why;
  return pawl_ctx_raise(L, &err);
}

/* ctx.host.NAME(value) -> value (upvalues: the ctx, the function's number) */
static int call_host(lua_State *L) {
  pawl_run *run = pawl_ctx_upvalue_run(L);
  const int number = (int)lua_tointeger(L, lua_upvalueindex(2));
  pawl_error err;
  if (lua_gettop(L) > 1)
    return pawl_ctx_raise_text(L, PAWL_MISUSE,
                               "ctx.host.spawn { kind = \"orc\", n = 3 }",
                               "ctx.host.%s takes one value, and no colon",
                               lender(run->host)->lent[number - 1].name);
  lua_settop(L, AT_GIVEN);
  pawl_buf *text = pawl_ctx_push_encoded(L, run, AT_GIVEN, "input");
  if (pawl_buf_check(text, &err) != PAWL_OK) return pawl_ctx_raise(L, &err);
  pawl_ctx_check_time(L, run, "host");
  pawl_ctx_check_service(L, run, "host");
  if (run != run->host->run) /* a handler that waits has lent its ctx */
    return pawl_ctx_raise_text(L, PAWL_MISUSE, "use the ctx of your own",
                               "ctx.host belongs to a handler that waits");
  pawl_toll_spend(L, CALL_COST + text->len);
  run->asking = number;
  run->asked = text;
  run->nasked++;
  return ask(L, run, 0);
}

/* ---- ctx.host ---- */

static int raise_unknown(lua_State *L, const pawl_host *host) {
  const char *names[MOST_FUNCTIONS];
  if (!host->nlent)
    return pawl_ctx_raise_text(
        L, PAWL_MISUSE, "pawl_register, or pawl.open(url, { host = { ... } })",
        "the program lends no functions to handlers: ctx.host has none");
  for (int i = 0; i < host->nlent; i++) names[i] = host->lent[i].name;
  return pawl_ctx_raise_unknown(L, 2, "ctx.host", names, host->nlent);
}

/* (upvalue: the metatable) */
static int host_index(lua_State *L) {
  pawl_run *run = pawl_ctx_child_run(L);
  const pawl_host *host = lender(run->host);
  const pawl_lent_fn *lent = NULL;
  if (lua_type(L, 2) == LUA_TSTRING) lent = find(host, lua_tostring(L, 2));
  if (!lent) return raise_unknown(L, host);
  pawl_ctx_check_granted(
      L, run, lua_pushfstring(L, "host.%s", lent->name), "host", lent->name,
      !run->host->meter ||
          pawl_names_match(run->host->meter->limits->host, lent->name));
  lua_settop(L, 2);
  lua_getiuservalue(L, 1, 1);
  lua_pushinteger(L, lent - host->lent + 1);
  lua_pushcclosure(L, call_host, 2);
  return 1;
}

static int ctx_host(lua_State *L, pawl_run *run) {
  pawl_ctx_push_child(L, run, PAWL_ANCHOR_HOST, 1);
  return 1;
}

void pawl_ctx_open_host(pawl_host *host, lua_State *L) {
  pawl_ctx_begin_metatable(L, "pawl.host");
  pawl_ctx_set_method(L, "__index", host_index, 0);
  pawl_host_set_anchor(host, L, PAWL_ANCHOR_HOST);
}

const pawl_ctx_member pawl_ctx_lent[] = {
    {"host", PAWL_CTX_VALUE, PAWL_CTX_ANYTIME, "", ctx_host}, /* its own ask */
    {NULL}};
