/* Running handlers.
 *
 * A handler runs on a thread that is used again and again:
 *
 *   pawl_host_run -> lua_resume(thread) -> body -> lua_pcallk -> handler
 *                                               -> after: take results
 *
 * One that waits has yielded from ctx.await, and keeps its thread until it is
 * resumed to its end; meanwhile others run on other threads.
 *
 * The inner protected call, rather than the thread's death, catches errors:
 * the message handler sees the whole stack, to-be-closed variables are
 * closed, and the thread stays fit for the next handler. */
#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "../value/object.h"
#include "host_internal.h"

/* ---- a handler ---- */

/* Is the value on top a function, or an object that is called like one, as a
 * busted spy is? */
static int is_callable(lua_State *L) {
  if (lua_isfunction(L, -1)) return 1;
  if (luaL_getmetafield(L, -1, "__call") == LUA_TNIL) return 0;
  lua_pop(L, 1);
  return 1;
}

/* Is the function on top, which says when something is first due, the one by
 * which that comes again: was only `every` given? At the index below it are all
 * of the node's. */
static int is_every(lua_State *L) {
  lua_pushstring(L, pawl_handler_name(PAWL_HANDLER_EVERY));
  lua_rawget(L, -3);
  const int is = lua_rawequal(L, -1, -2);
  lua_pop(L, 1);
  return is;
}

/* Pushes the function; 0: there is none, and what is pushed does not count. */
static int push_handler(pawl_run *run, lua_State *L) {
  const pawl_call *call = run->call;
  /* a cell has one definition */
  pawl_host_push_anchor(run->host, L,
                        PAWL_ANCHOR_DEFS + (run->host->meter ? 0 : call->ref));
  if (!lua_istable(L, -1)) return 0;
  lua_rawgeti(L, -1, PAWL_REC_HANDLERS);
  lua_pushstring(L, call->node);
  lua_rawget(L, -2);
  if (!lua_istable(L, -1)) return 0;
  run->says = pawl_handler_name(call->handler);
  lua_pushstring(L, run->says);
  lua_rawget(L, -2);
  if (call->handler == PAWL_HANDLER_AFTER && is_every(L))
    run->says = pawl_handler_name(PAWL_HANDLER_EVERY);
  return is_callable(L);
}

/* What a node's function raises is told with its node, which has asked it; the
 * node that asks this one has not begun. */
static void tell_whose(const pawl_run *run) {
  if (run->call->handler == PAWL_HANDLER_DEADLINE)
    pawl_error_prefix(run->caught.err, "`%s` failed", run->says);
}

enum { AT_CATCH = 2, AT_CTX, AT_RESULT };

/* Continues `body` when the handler has ended, well or not. */
static int after(lua_State *L, int status, lua_KContext context) {
  pawl_run *run = (pawl_run *)context;
  run->is_over = 1;
  if (run->is_stopped) { /* whatever it made of that */
    run->caught.rc = pawl_fail_hint(
        run->caught.err, run->is_stopped, "it is tried again later",
        run->is_stopped == PAWL_NOMEM
            ? "the handler was stopped: its engine has used what memory it may"
            : "the handler was stopped: its engine was interrupted");
    pawl_copy_text(run->caught.err->where, sizeof run->caught.err->where,
                   run->stopped_at);
    return 0;
  }
  if (status != LUA_OK && status != LUA_YIELD) {
    pawl_catch_status(&run->caught, L, status);
    tell_whose(run);
    return 0;
  }
  pawl_code rc = pawl_ctx_take(run, L, AT_CTX);
  if (rc == PAWL_OK) rc = pawl_returned_take(run, L, AT_RESULT);
  run->result->no_retry = pawl_catch_is_for_good(rc);
  run->caught.rc = rc;
  return 0;
}

/* What it is called with behind ctx; their number, -1: it has failed. */
static int push_more(pawl_run *run, lua_State *L) {
  switch (run->call->handler) {
    case PAWL_HANDLER_ENOUGH:
      run->caught.rc = pawl_ctx_push_output(run, L);
      run->result->no_retry = pawl_catch_is_for_good(run->caught.rc);
      return run->caught.rc == PAWL_OK ? 1 : -1;
    case PAWL_HANDLER_DELAY: /* attempts that have failed; ctx.error */
      lua_pushinteger(L, run->call->attempt - 1);
      lua_getfield(L, AT_CTX, "error");
      return 2;
    default:
      return 0;
  }
}

/* (run), on the handlers' thread */
static int body(lua_State *L) {
  pawl_run *run = lua_touserdata(L, 1);
  int status, nargs = 1, more;
  pawl_host_use_folder(run->host, L, run->call->ref);
  pawl_host_push_anchor(run->host, L, PAWL_ANCHOR_CATCH);
  pawl_ctx_push(run, L);
  if (!push_handler(run, L)) {
    run->caught.rc =
        pawl_fail(run->caught.err, PAWL_NO_HANDLER,
                  "node \"%s\" of %s has no `%s` here", run->call->node,
                  run->call->workflow, pawl_handler_name(run->call->handler));
    return 0;
  }
  lua_replace(L, AT_RESULT); /* over what push_handler went through */
  lua_settop(L, AT_RESULT);
  if (run->call->handler == PAWL_HANDLER_MATCH ||
      run->call->handler == PAWL_HANDLER_ANSWER) {
    run->caught.rc = pawl_ctx_push_event(run, L, AT_CTX);
    run->result->no_retry = pawl_catch_is_for_good(run->caught.rc);
    if (run->caught.rc != PAWL_OK) return 0;
    nargs = 2;
  }
  lua_pushvalue(L, AT_CTX);
  more = push_more(run, L);
  if (more < 0) return 0;
  status = lua_pcallk(L, nargs + more, 2, AT_CATCH, (lua_KContext)run, after);
  return after(L, status, (lua_KContext)run);
}

/* ---- runs and their threads ---- */

/* The engine is inside, whichever state it is that runs. */
static void enter(pawl_host *host) {
  host->running++;
  if (host->parent) host->parent->running++;
}

static void leave(pawl_host *host) {
  host->running--;
  if (host->parent) host->parent->running--;
}

/* (run): a thread for it */
static int make_thread(lua_State *L) {
  pawl_run *run = lua_touserdata(L, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, run->host);
  lua_State *co = lua_newthread(L);
  lua_rawsetp(L, -2, run);
  run->co = co;
  return 0;
}

/* (run): ends a handler that yielded, closing its variables; raises what one of
 * them did. */
static int close_thread(lua_State *L) {
  pawl_run *run = lua_touserdata(L, 1);
  pawl_host_push_anchor(run->host, L, PAWL_ANCHOR_CLOSE);
  lua_rawgetp(L, LUA_REGISTRYINDEX, run->host);
  lua_rawgetp(L, -1, run);
  lua_remove(L, -2);
  lua_call(L, 1, 2);
  return lua_toboolean(L, -2) ? 0 : lua_error(L);
}

/* Nobody is there any more to whom it could be raised. */
static void tell_unclosed(const pawl_run *run, const pawl_error *err) {
  pawl_buf fields = {.alloc = &run->host->alloc};
  pawl_object o;
  pawl_object_begin(&o, &fields);
  pawl_member_textz(&o, "code",
                    err->raised[0] ? err->raised : pawl_code_name(err->code));
  pawl_member_textz(&o, "error", err->message);
  if (err->where[0]) pawl_member_textz(&o, "where", err->where);
  pawl_object_end(&o);
  run->call->services->log(
      run->call, PAWL_WARN,
      "a handler was ended, and closing its variables failed",
      fields.failed ? NULL : fields.at);
  pawl_buf_deinit(&fields);
}

/* The thread is of no more use; its key keeps it until there is another. */
static void end_thread(pawl_run *run) {
  pawl_host *host = run->host;
  pawl_error why;
  pawl_catch caught = {.script = PAWL_SCRIPT, .err = &why};
  if (pawl_host_protect(host, host->L, close_thread, run, 0, 0, &caught) !=
      PAWL_OK)
    tell_unclosed(run, &why);
  run->co = NULL;
}

static pawl_run *new_run(pawl_host *host) {
  pawl_run *run = pawl_calloc(&host->alloc, sizeof *run);
  if (!run) return NULL;
  run->host = host;
  run->text.alloc = run->before.alloc = &host->alloc;
  pawl_said_init(&run->kept, NULL);
  run->next = host->runs;
  host->runs = run;
  return run;
}

/* A free run with a thread. The one used last comes first: it is warm. */
static pawl_code take_run(pawl_host *host, pawl_run **out, pawl_error *err) {
  pawl_catch caught = {.script = PAWL_SCRIPT, .err = err};
  pawl_run *run = host->idle;
  assert(!run || !run->waits);
  if (run)
    host->idle = run->next_idle;
  else
    run = new_run(host);
  if (!run)
    return pawl_fail(err, PAWL_NOMEM, "not enough memory for a handler");
  *out = run;
  if (run->co || pawl_host_protect(host, host->L, make_thread, run, 0, 0,
                                   &caught) == PAWL_OK)
    return PAWL_OK;
  run->next_idle = host->idle;
  host->idle = run;
  return caught.rc;
}

static void give_back(pawl_run *run) {
  run->ctx = NULL;
  run->call = NULL;
  run->result = NULL;
  run->caught.err = NULL;
  run->waits = 0;
  pawl_said_deinit(&run->kept); /* the caller's memory */
  pawl_said_init(&run->kept, NULL);
  run->next_idle = run->host->idle;
  run->host->idle = run;
}

/* Ends one that waits. */
void pawl_run_abandon(pawl_run *run) {
  pawl_host *host = run->host;
  if (run->is_lost) {
    give_back(run);
    return;
  }
  assert(run->waits && run->co);
  enter(host); /* what its variables do when they are closed */
  pawl_host_forget_asked(run);
  pawl_ctx_cut(run->ctx);
  end_thread(run);
  leave(host);
  give_back(run);
}

void pawl_run_lose_all(pawl_host *host) {
  enter(host); /* what the program is told */
  for (pawl_run *run = host->runs; run; run = run->next) {
    run->co = NULL;
    if (!run->waits) continue;
    run->is_lost = 1;
    pawl_host_forget_asked(run);
    pawl_ctx_end(run->ctx);
    run->ctx = NULL;
  }
  leave(host);
}

int pawl_run_is_lost(const pawl_run *run) {
  return run->is_lost;
}

pawl_code pawl_run_tell_lost(pawl_run **waiting, pawl_said *result,
                             pawl_error *err) {
  pawl_error spare;
  pawl_run *run = *waiting;
  if (!err) err = &spare;
  pawl_code rc = pawl_meter_fail(run->host->meter, err);
  if (rc == PAWL_LIMIT) { /* another's */
    rc = err->code = PAWL_SCRIPT;
    pawl_error_prefix(err, "it waited where another handler took too much");
  }
  pawl_said_clear(result);
  give_back(run);
  *waiting = NULL;
  return rc;
}

void pawl_host_free_runs(pawl_host *host) {
  while (host->runs) {
    pawl_run *run = host->runs;
    if (run->waits && host->pid == getpid()) pawl_run_abandon(run);
    host->runs = run->next;
    pawl_buf_deinit(&run->text);
    pawl_buf_deinit(&run->before);
    pawl_said_deinit(&run->kept);
    pawl_release(&host->alloc, run, sizeof *run);
  }
  host->idle = NULL;
}

/* ---- what a handler that waits keeps ---- */

#define PLACE(name) &run->own.name,
#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

/* The call is the caller's no longer. Each text has a zero behind it. */
pawl_code pawl_run_keep_call(pawl_run *run, pawl_error *err) {
  pawl_str *strs[] = {PAWL_CALL_TEXTS(PLACE)};
  const char **names[] = {PAWL_CALL_NAMES(PLACE)};
  size_t at = 0;
  run->own = *run->call;
  pawl_buf_clear(&run->text);
  for (int i = 0; i < COUNT(names); i++)
    if (*names[i]) pawl_buf_add(&run->text, *names[i], strlen(*names[i]) + 1);
  for (int i = 0; i < COUNT(strs); i++) {
    pawl_buf_adds(&run->text, *strs[i]);
    pawl_buf_addc(&run->text, 0);
  }
  if (pawl_buf_check(&run->text, err) != PAWL_OK) return PAWL_NOMEM;
  for (int i = 0; i < COUNT(names); i++) { /* it does not move any more */
    if (!*names[i]) continue;
    *names[i] = run->text.at + at;
    at += strlen(*names[i]) + 1;
  }
  for (int i = 0; i < COUNT(strs); i++) {
    if (strs[i]->at) strs[i]->at = run->text.at + at;
    at += strs[i]->len + 1;
  }
  assert(at == run->text.len);
  run->call = &run->own;
  return PAWL_OK;
}

/* (run): describes where it yielded */
static int describe_yield(lua_State *L) {
  pawl_run *run = lua_touserdata(L, 1);
  pawl_error *err = run->caught.err;
  lua_State *co = run->co;
  run->caught.rc = PAWL_SCRIPT;
  pawl_fail_hint(err, PAWL_SCRIPT,
                 "handlers run to their end, or wait by ctx.await; yield only "
                 "within coroutines of your own",
                 "the handler yielded");
  if (lua_checkstack(co, LUA_MINSTACK))
    pawl_host_where(co, 0, err->where, sizeof err->where);
  luaL_traceback(L, co, NULL, 0);
  pawl_copy_text(err->trace, sizeof err->trace, lua_tostring(L, -1));
  return 0;
}

static void end_yielded(pawl_run *run) {
  pawl_host *host = run->host;
  if (host->meter && host->meter->met) { /* H15 */
    run->co = NULL;
    return;
  }
  pawl_catch caught = run->caught;
  pawl_host_protect(host, host->L, describe_yield, run, 0, 0, &caught);
  if (run->caught.rc == PAWL_OK) run->caught.rc = caught.rc;
  end_thread(run);
}

/* Runs the handler until it ends or waits, `nargs` values on its thread.
 * `share`: what it has left of its limits; NULL: it begins. */
static void resume(pawl_run *run, int nargs, const pawl_share *share) {
  pawl_host *host = run->host;
  pawl_catch *outer = host->caught;
  int n, status;
  assert(!host->run && !host->serving && !host->running); /* H7 */
  assert(run->co && run->call && run->result);
  run->waits = 0;
  run->is_stopped = PAWL_OK;
  run->stopped_at[0] = '\0';
  host->run = run;
  host->caught = &run->caught;
  enter(host);
  if (host->meter) {
    pawl_meter_begin(host->meter, run->co, share);
    host->meter->interrupted = host->interrupted;
  }
  pawl_bound_enter(run);
  status = lua_resume(run->co, host->L, nargs, &n);
  if (host->meter && host->meter->met) run->waits = 0; /* H9 */
  if (status == LUA_YIELD && run->waits) {
    if (host->meter) pawl_meter_keep(host->meter, &run->share);
    lua_pop(run->co, n);
    goto out;
  }
  run->waits = 0;
  pawl_ctx_end(run->ctx);
  if (status == LUA_OK) {
    lua_settop(run->co, 0);
  } else if (status == LUA_YIELD) {
    end_yielded(run);
  } else {
    pawl_catch_status(&run->caught, run->co, status);
    run->co = NULL; /* its key keeps it until there is another */
  }
out:
  pawl_bound_leave(run);
  assert(host->running == 1 && !host->serving); /* H6 */
  if (host->meter) {
    pawl_catch_limit(host, &run->caught);
    host->meter->interrupted = NULL;
    pawl_meter_end(host->meter);
  }
  leave(host);
  host->caught = outer;
  host->run = NULL;
}

/* After a resume. Still waiting: what it has told so far moves behind it. */
static pawl_code stopped(pawl_run *run, pawl_said *result, pawl_run **waiting,
                         pawl_error *err) {
  pawl_code rc = run->caught.rc;
  *waiting = NULL;
  if (run->waits && run->call != &run->own &&
      pawl_run_keep_call(run, run->caught.err) != PAWL_OK) {
    pawl_fail(err, PAWL_NOMEM, "not enough memory for a handler that waits");
    pawl_run_abandon(run);
    pawl_said_drop_effects(result);
    return PAWL_NOMEM;
  }
  if (run->waits) {
    pawl_said_move(&run->kept, result);
    run->result = run->caught.result = &run->kept;
    run->caught.err = NULL;
    *waiting = run;
    return PAWL_OK;
  }
  if (rc == PAWL_LIMIT && run->host->meter)
    pawl_said_shed_effects(result);
  else if (rc != PAWL_OK)
    pawl_said_drop_effects(result);
  give_back(run);
  return rc;
}

pawl_code pawl_run_begin(pawl_host *host, const pawl_call *call, int may_wait,
                         pawl_said *result, pawl_run **waiting,
                         pawl_error *err) {
  pawl_error spare;
  pawl_run *run;
  spare.code = PAWL_OK;
  if (!err) err = &spare;
  MUST(take_run(host, &run, err));
  run->call = call;
  run->result = result;
  run->caught =
      (pawl_catch){.script = PAWL_SCRIPT, .err = err, .result = result};
  run->may_wait = may_wait;
  run->asking = run->nasked = 0;
  run->is_over = run->is_lost = 0;
  lua_pushcfunction(run->co, body);
  lua_pushlightuserdata(run->co, run);
  resume(run, 1, NULL);
  return stopped(run, result, waiting, err);
}

const pawl_await *pawl_run_await(const pawl_run *run) {
  return &run->await;
}

pawl_str pawl_run_vars(const pawl_run *run) {
  return run->call == &run->own ? run->own.vars : (pawl_str){NULL, 0};
}

pawl_code pawl_run_resume(pawl_run **waiting, int events,
                          const pawl_error *why, pawl_said *result,
                          pawl_error *err) {
  pawl_error spare;
  pawl_run *run = *waiting;
  const pawl_host *host = run->host;
  spare.code = PAWL_OK;
  if (!err) err = &spare;
  if ((host->parent ? host->parent : host)->running)
    return pawl_fail(err, PAWL_MISUSE,
                     "a handler of this engine is running already");
  assert(run->waits && run->call == &run->own && run->result == &run->kept);
  pawl_said_move(result, &run->kept); /* H7 */
  run->result = run->caught.result = result;
  run->caught.err = err;
  run->caught.rc = PAWL_OK;
  run->events = events;
  run->why = why;
  resume(run, 0, &run->share);
  run->why = NULL;
  return stopped(run, result, waiting, err);
}
