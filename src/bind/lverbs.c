/* The verbs of pawl.h from Lua: each is what it takes, the call, and what it
 * gives. What Lua hands over is in pawl.h's units already; lua/pawl, above
 * this, has checked options, durations and typed attributes. */
#include "lverbs.h"

#include <assert.h>
#include <string.h>

#include <lauxlib.h>

#include "../host/host.h"
#include "../value/luajson.h"
#include "lbox.h"
#include "lerror.h"

/* ---- a verb ---- */

typedef enum kind {
  NOTHING,
  TEXT,
  GIVEN_BYTES,
  JSON,    /* any value */
  INTEGER, /* may be left out */
  FLAG,
  SPAN,     /* seconds */
  OPT_SPAN, /* may be left out */
  FLOW,     /* a path, or a workflow: `text` is NULL then */
  HOW,      /* "table", "json" or nothing: how the answer is wanted */
  PROGRESS  /* a function, or nothing */
} kind;

typedef enum gift {
  NONE,
  ID,
  YES,
  DONE, /* true */
  COUNT,
  DUE,
  STATUS,
  STATS,
  BYTES,
  TEXT_OUT, /* as it is; of those below null stands for "none" ... */
  DATA,     /* nowhere */
  RECORD,   /* in its direct fields */
  LIST,     /* in those of its records */
  INSTANCE
} gift;

typedef struct argument {
  kind kind;
  const char *name; /* of JSON, in paths that errors tell */
} argument;

enum { MAX_ARGS = 3, FIRST = 2 /* the engine is at 1 */ };

typedef struct call {
  /* given */
  const char *text;
  const char *json[MAX_ARGS]; /* in their order; NULL: nil was given */
  int64_t n, us;              /* INTEGER or FLAG; SPAN */
  const char *how;
  lua_State *L; /* with the function at `progress`; 0: there is none */
  int progress;
  /* answered */
  char *out;
  size_t length; /* of it, or of `text`: of bytes */
  char id[37];
  int64_t count, due_us;
  int yes;
  const char *status;
  int raised; /* by the function: the error is on top */
  pawl_tick_stats stats;
  pawl_bind_box *box;
} call;

/* lua/pawl calls it, or it is a method of engines as it is. */
typedef enum place { CORE, METHOD } place;

typedef struct verb {
  place where;
  const char *name;
  const char *method; /* what errors call it */
  pawl_code (*run)(pawl_engine *e, call *c, pawl_error *err);
  gift gives[2];
  argument takes[MAX_ARGS];
} verb;

/* ---- arguments: `arg` is the stack's, where the engine is the first ---- */

/* The caller's: who stands behind lua/pawl where that is between. */
static int level_of(const verb *v) {
  return v->where == CORE ? 2 : 1;
}

/* Lua's own words, with the method's name and the argument's number as the
 * caller counts, however the method was called: luaL_argerror has neither
 * when a tail call or pcall has taken the name away. */
static int bad(lua_State *L, int arg, const verb *v, const char *why) {
  luaL_where(L, level_of(v));
  lua_pushfstring(L, "bad argument #%d to '%s' (%s)", arg - 1, v->method, why);
  lua_concat(L, 2);
  return lua_error(L);
}

static int bad_type(lua_State *L, int arg, const verb *v, const char *wanted) {
  const char *why =
      lua_pushfstring(L, "%s expected, got %s", wanted, luaL_typename(L, arg));
  return bad(L, arg, v, why);
}

/* What stands behind a zero byte would be cut off: of a path, or a code. */
static const char *check_text(lua_State *L, int arg, const verb *v) {
  size_t len;
  const char *text = lua_tolstring(L, arg, &len);
  if (!text)
    bad_type(L, arg, v, "string");
  else if (strlen(text) != len)
    bad(L, arg, v, "it has a zero byte");
  return text;
}

static lua_Integer opt_integer(lua_State *L, int arg, const verb *v) {
  int ok = 1;
  lua_Integer n = 0;
  if (!lua_isnoneornil(L, arg)) n = lua_tointegerx(L, arg, &ok);
  if (!ok) bad_type(L, arg, v, "integer");
  return n;
}

static int64_t check_us(lua_State *L, int arg, const verb *v) {
  int64_t us = 0;
  if (lua_type(L, arg) != LUA_TNUMBER) bad_type(L, arg, v, "number");
  if (!pawl_bind_to_us(L, arg, &us) || us < 0)
    bad(L, arg, v, "seconds, 0 or more, expected");
  return us;
}

/* 0 when it is left out. */
static int64_t opt_us(lua_State *L, int arg, const verb *v) {
  return lua_isnoneornil(L, arg) ? 0 : check_us(L, arg, v);
}

/* Raises before the engine is asked: its answer must not be lost. */
static void check_how(lua_State *L, int idx, const verb *v) {
  const char *how = lua_isnoneornil(L, idx) ? NULL : check_text(L, idx, v);
  if (how && strcmp(how, "table") != 0 && strcmp(how, "json") != 0)
    bad(L, idx, v, "\"table\" or \"json\" expected");
}

/* 0 when it is left out. */
static int check_function(lua_State *L, int arg, const verb *v) {
  if (lua_isnoneornil(L, arg)) return 0;
  if (!lua_isfunction(L, arg)) bad_type(L, arg, v, "function");
  return arg;
}

/* The value at idx, or the options, as JSON text in a collected buffer, pushed;
 * NULL when it is none (*err is filled). nil: empty text. How deep a value may
 * be is the engine's to say. */
static pawl_buf *encode(lua_State *L, int idx, const char *path,
                        pawl_error *err) {
  pawl_buf *b = pawl_host_push_buf(L);
  if (lua_isnoneornil(L, idx)) return b;
  if (pawl_luajson_encode_around(L, idx, path, 0, b, err) != PAWL_OK)
    return NULL;
  return b;
}

/* Puts the workflow object at idx where the core takes it from. */
static void hand_over(lua_State *L, int idx, const verb *v) {
  if (!lua_istable(L, idx) && !lua_isuserdata(L, idx))
    bad_type(L, idx, v, "path or workflow");
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  lua_State *main = lua_tothread(L, -1);
  if (!lua_checkstack(main, 1)) luaL_error(L, "stack overflow");
  lua_pushvalue(L, idx);
  if (main != L) lua_xmove(L, main, 1);
}

/* ---- what it takes ---- */

/* Text first, as wrong use raises before anything else is seen to. What is
 * handed over has to be on top of its stack, and comes last. */
static void take_plain(lua_State *L, const verb *v, int i, call *c) {
  const int at = FIRST + i;
  switch (v->takes[i].kind) {
    case TEXT:
      c->text = check_text(L, at, v);
      break;
    case GIVEN_BYTES:
      c->text = lua_tolstring(L, at, &c->length);
      if (!c->text) bad_type(L, at, v, "string");
      break;
    case INTEGER:
      c->n = opt_integer(L, at, v);
      break;
    case FLAG:
      c->n = lua_toboolean(L, at);
      break;
    case SPAN:
      c->us = check_us(L, at, v);
      break;
    case OPT_SPAN:
      c->us = opt_us(L, at, v);
      break;
    case HOW:
      check_how(L, at, v);
      c->how = lua_tostring(L, at);
      break;
    case PROGRESS:
      c->progress = check_function(L, at, v);
      break;
    default:
      break;
  }
}

static pawl_code take_json(lua_State *L, const verb *v, call *c,
                           pawl_error *err) {
  int n = 0;
  for (int i = 0; i < MAX_ARGS; i++) {
    const argument *a = &v->takes[i];
    if (a->kind != JSON) continue;
    const pawl_buf *text = encode(L, FIRST + i, a->name, err);
    if (!text) return err->code;
    c->json[n++] = text->at;
  }
  return PAWL_OK;
}

static void take_flow(lua_State *L, const verb *v, call *c) {
  if (v->takes[0].kind != FLOW) return;
  if (lua_type(L, FIRST) == LUA_TSTRING)
    c->text = check_text(L, FIRST, v);
  else
    hand_over(L, FIRST, v);
}

/* ---- what it gives ---- */

/* In the engine's records null stands for "none": in Lua that is no field, so
 * that `if instance.error` means what it says. Data of the workflow is left
 * alone: only direct fields of the record at the top go, and an input, which
 * may be null itself, stays. */
static void drop_nulls(lua_State *L) {
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    if (!lua_islightuserdata(L, -1) ||
        strcmp(lua_tostring(L, -2), "input") == 0)
      continue;
    lua_pushvalue(L, -2);
    lua_pushnil(L);
    lua_rawset(L, -5);
  }
}

/* The same for every record of the list at the top, and for its times. */
static void drop_list_nulls(lua_State *L) {
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, -1, i);
    drop_nulls(L);
    if (lua_getfield(L, -1, "times") == LUA_TTABLE) drop_nulls(L);
    lua_pop(L, 2);
  }
}

static int push_text(lua_State *L) {
  const pawl_str *text = lua_touserdata(L, 1);
  lua_pushlstring(L, text->at, text->len);
  return 1;
}

static int take_text(lua_State *L, pawl_engine *engine, char *at,
                     size_t length) {
  pawl_str text = {at, length};
  lua_pushcfunction(L, push_text);
  lua_pushlightuserdata(L, &text);
  int status = lua_pcall(L, 1, 1, 0);
  pawl_free(engine, at);
  return status == LUA_OK ? 1 : lua_error(L);
}

static void drop_instance_nulls(lua_State *L) {
  drop_nulls(L);
  if (lua_getfield(L, -1, "tokens") == LUA_TTABLE) drop_list_nulls(L);
  lua_pop(L, 1);
  if (lua_getfield(L, -1, "times") == LUA_TTABLE) drop_nulls(L);
  lua_pop(L, 1);
}

static int push_stats(lua_State *L, const pawl_tick_stats *s) {
  lua_createtable(L, 0, 16);
  pawl_bind_set_int(L, "claimed", s->claimed);
  pawl_bind_set_int(L, "steps", s->steps);
  pawl_bind_set_int(L, "commits", s->commits);
  pawl_bind_set_int(L, "committed", s->committed);
  pawl_bind_set_int(L, "lost", s->lost);
  pawl_bind_set_int(L, "ended", s->ended);
  pawl_bind_set_int(L, "held", s->held);
  pawl_bind_set_int(L, "waiting", s->waiting);
  pawl_bind_set_int(L, "outside", s->outside);
  pawl_bind_push_due(L, s->next_due_us);
  lua_setfield(L, -2, "next_due");
  pawl_bind_set_seconds(L, "over", s->over_us);
  pawl_bind_set_int(L, "unsaved", s->unsaved);
  pawl_bind_set_int(L, "unwritten", s->unwritten);
  pawl_bind_set_seconds(L, "unsaved_for", s->unsaved_us);
  pawl_bind_set_int(L, "put_off", s->put_off);
  lua_createtable(L, 0, 7);
  pawl_bind_set_seconds(L, "claim", s->claim_us);
  pawl_bind_set_seconds(L, "load", s->load_us);
  pawl_bind_set_seconds(L, "run", s->run_us);
  pawl_bind_set_seconds(L, "commit", s->commit_us);
  pawl_bind_set_seconds(L, "wait", s->wait_us);
  pawl_bind_set_seconds(L, "rest", s->rest_us);
  pawl_bind_set_seconds(L, "keep", s->keep_us);
  lua_setfield(L, -2, "spent");
  return 1;
}

/* A reader may want the engine's own text, nulls and all. */
static int push_answer(lua_State *L, call *c, gift what) {
  static const pawl_bind_tidy tidy[] = {[RECORD] = drop_nulls,
                                        [LIST] = drop_list_nulls,
                                        [INSTANCE] = drop_instance_nulls,
                                        [DATA] = NULL};
  if (what == TEXT_OUT || (c->how && strcmp(c->how, "json") == 0))
    return take_text(L, c->box->engine, c->out, strlen(c->out));
  if (what == BYTES) return take_text(L, c->box->engine, c->out, c->length);
  return pawl_bind_take_json(L, c->box->engine, c->out, tidy[what]);
}

/* How many values. */
static int push(lua_State *L, call *c, gift what) {
  switch (what) {
    case NONE:
      return 0;
    case ID:
      lua_pushlstring(L, c->id, 36);
      return 1;
    case YES:
      lua_pushboolean(L, c->yes);
      return 1;
    case DONE:
      lua_pushboolean(L, 1);
      return 1;
    case COUNT:
      lua_pushinteger(L, c->count);
      return 1;
    case DUE:
      pawl_bind_push_due(L, c->due_us);
      return 1;
    case STATUS:
      lua_pushstring(L, c->status);
      return 1;
    case STATS:
      return push_stats(L, &c->stats);
    default:
      return push_answer(L, c, what);
  }
}

/* ---- what is told on the way ---- */

static int tell_protected(lua_State *L) {
  const pawl_progress *p = lua_touserdata(L, 2);
  lua_settop(L, 1);
  lua_createtable(L, 0, 5);
  pawl_bind_set_int(L, "matched", p->matched);
  pawl_bind_set_int(L, "done", p->done);
  pawl_bind_set_int(L, "asked", p->asked);
  pawl_bind_set_int(L, "refused", p->refused);
  pawl_bind_set_int(L, "skipped", p->skipped);
  lua_call(L, 1, 1);
  return 1;
}

/* False ends it, and so does an error, which is raised once the core is left.
 */
static int tell(void *ud, const pawl_progress *so_far) {
  call *c = ud;
  pawl_progress own = *so_far;
  if (!lua_checkstack(c->L, 4)) return 0;
  lua_pushcfunction(c->L, tell_protected);
  lua_pushvalue(c->L, c->progress);
  lua_pushlightuserdata(c->L, &own);
  c->raised = lua_pcall(c->L, 2, 1, 0) != LUA_OK;
  if (c->raised) return 1;
  int stop = lua_isboolean(c->L, -1) && !lua_toboolean(c->L, -1);
  lua_pop(c->L, 1);
  return stop;
}

static int run_verb(lua_State *L, const verb *v) {
  call c = {.L = L, .box = pawl_bind_idle(L, v->method, level_of(v))};
  pawl_error err;
  pawl_code rc;
  assert(c.box->engine && !c.box->inside);
  lua_settop(L, FIRST + MAX_ARGS - 1);
  for (int i = 0; i < MAX_ARGS; i++) take_plain(L, v, i, &c);
  if (take_json(L, v, &c, &err) != PAWL_OK) return pawl_bind_failure(L, &err);
  take_flow(L, v, &c);
  PAWL_INSIDE(c.box, rc, v->run(c.box->engine, &c, &err));
  if (c.raised) {
    if (rc == PAWL_OK) pawl_free(c.box->engine, c.out);
    return lua_error(L);
  }
  if (rc != PAWL_OK) return pawl_bind_failure(L, &err);
  int n = push(L, &c, v->gives[0]);
  return n + push(L, &c, v->gives[1]);
}

/* ---- the verbs ----
 * VERB(where, its name, what errors call it, what it gives, what it takes...)
 * { the call }. It is known once it is in the list at the end. */

#define ARG(what) \
  { .kind = what }
#define JSON_OF(what) \
  { .kind = JSON, .name = what }
#define GIVES(...) \
  { __VA_ARGS__ }
#define VERB(where, name, method, gives, ...)                            \
  static pawl_code run_##name(pawl_engine *e, call *c, pawl_error *err); \
  static const verb verb_##name = {where,      #name, method,            \
                                   run_##name, gives, {__VA_ARGS__}};    \
  static pawl_code run_##name(pawl_engine *e, call *c, pawl_error *err)

/* core.start(engine, code, input, options) -> id, created | nil, err */
VERB(CORE, start, "start", GIVES(ID, YES), ARG(TEXT), JSON_OF("input"),
     JSON_OF("options")) {
  return pawl_start(e, c->text, c->json[0], c->json[1], c->id, &c->yes, err);
}

/* core.start_many(engine, code, items, options) -> {ids, created} | nil, err */
VERB(CORE, start_many, "start_many", GIVES(DATA), ARG(TEXT), JSON_OF("items"),
     JSON_OF("options")) {
  return pawl_start_many(e, c->text, c->json[0], c->json[1], &c->out, err);
}

/* core.signal(engine, signal) -> reached, info | nil, err */
VERB(CORE, signal, "signal", GIVES(COUNT, DATA), JSON_OF("signal")) {
  return pawl_signal(e, c->json[0], &c->count, &c->out, err);
}

/* core.transaction_begin(engine) -> true | nil, err; so are the next two */
VERB(CORE, transaction_begin, "transaction", GIVES(DONE), ARG(NOTHING)) {
  (void)c;
  return pawl_transaction_begin(e, err);
}

VERB(CORE, transaction_commit, "transaction", GIVES(DONE), ARG(NOTHING)) {
  (void)c;
  return pawl_transaction_commit(e, err);
}

VERB(CORE, transaction_abort, "transaction", GIVES(DONE), ARG(NOTHING)) {
  (void)c;
  return pawl_transaction_abort(e, err);
}

/* core.transaction_query(engine, sql, params) -> rows, changed | nil, err */
VERB(CORE, transaction_query, "query", GIVES(DATA, COUNT), ARG(TEXT),
     JSON_OF("params")) {
  return pawl_transaction_query(e, c->text, c->json[0], &c->count, &c->out,
                                err);
}

/* core.change(engine, id, change) -> true, done | nil, err */
VERB(CORE, change, "change", GIVES(DONE, YES), ARG(TEXT), JSON_OF("change")) {
  return pawl_change(e, c->text, c->json[0], &c->yes, NULL, err);
}

/* core.bulk(engine, query, change, progress) -> report | nil, err */
VERB(CORE, bulk, "bulk", GIVES(RECORD), JSON_OF("query"), JSON_OF("change"),
     ARG(PROGRESS)) {
  return pawl_bulk(e, c->json[0], c->json[1], c->progress ? tell : NULL, c,
                   &c->out, err);
}

/* core.get(engine, id, how) -> instance | nil, err */
VERB(CORE, get, "get", GIVES(INSTANCE), ARG(TEXT), ARG(HOW)) {
  return pawl_get(e, c->text, &c->out, err);
}

/* core.result(engine, id, microseconds) -> outcome | nil, err */
VERB(CORE, result, "result", GIVES(RECORD), ARG(TEXT), ARG(INTEGER)) {
  return pawl_result(e, c->text, c->n, &c->out, err);
}

/* core.ask(engine, id, request) -> {id, event, value or error} | nil, err */
VERB(CORE, ask, "ask", GIVES(RECORD), ARG(TEXT), JSON_OF("request")) {
  return pawl_ask(e, c->text, c->json[0], &c->out, err);
}

/* core.complete(engine, token, request) -> {instance, event, repeated}
 * | nil, err */
VERB(CORE, complete, "complete", GIVES(RECORD), ARG(TEXT),
     JSON_OF("request")) {
  return pawl_complete(e, c->text, c->json[0], &c->out, err);
}

/* core.published(engine, id) -> {name = {value, updated}} | nil, err */
VERB(CORE, published, "published", GIVES(DATA), ARG(TEXT)) {
  return pawl_published(e, c->text, &c->out, err);
}

/* engine:status(id) -> status | nil, err */
VERB(METHOD, status, "status", GIVES(STATUS), ARG(TEXT)) {
  return pawl_status(e, c->text, &c->status, err);
}

/* core.list(engine, query, how) -> instances | nil, err */
VERB(CORE, list, "list", GIVES(LIST), JSON_OF("query"), ARG(HOW)) {
  return pawl_list(e, c->json[0], &c->out, err);
}

/* core.task_tally(engine, query) -> count, more | nil, err */
VERB(CORE, task_tally, "task_tally", GIVES(COUNT, YES), JSON_OF("query")) {
  return pawl_task_tally(e, c->json[0], &c->count, &c->yes, err);
}

/* core.tally(engine, query) -> count, more | nil, err */
VERB(CORE, tally, "tally", GIVES(COUNT, YES), JSON_OF("query")) {
  return pawl_tally(e, c->json[0], &c->count, &c->yes, err);
}

/* core.tally_groups(engine, query) -> counts | nil, err */
VERB(CORE, tally_groups, "tally_groups", GIVES(RECORD), JSON_OF("query")) {
  return pawl_tally_groups(e, c->json[0], &c->out, err);
}

/* core.history(engine, id, query, how) -> entries | nil, err */
VERB(CORE, history, "history", GIVES(LIST), ARG(TEXT), JSON_OF("query"),
     ARG(HOW)) {
  return pawl_history(e, c->text, c->json[0], &c->out, err);
}

/* core.tokens(engine, id, everything, how) -> tokens | nil, err */
VERB(CORE, tokens, "tokens", GIVES(LIST), ARG(TEXT), ARG(FLAG), ARG(HOW)) {
  return pawl_tokens(e, c->text, (int)c->n, &c->out, err);
}

/* core.explain(engine, id) -> JSON text | nil, err */
VERB(CORE, explain, "explain", GIVES(TEXT_OUT), ARG(TEXT)) {
  return pawl_explain(e, c->text, &c->out, err);
}

/* core.task_list(engine, query, how) -> tasks | nil, err */
VERB(CORE, task_list, "tasks:list", GIVES(LIST), JSON_OF("query"), ARG(HOW)) {
  return pawl_task_list(e, c->json[0], &c->out, err);
}

/* core.task_get(engine, id, how) -> task | nil, err */
VERB(CORE, task_get, "tasks:get", GIVES(RECORD), ARG(TEXT), ARG(HOW)) {
  return pawl_task_get(e, c->text, &c->out, err);
}

/* core.task_find(engine, text) -> id | nil, err */
VERB(CORE, task_find, "tasks:find", GIVES(ID), ARG(TEXT)) {
  return pawl_task_find(e, c->text, c->id, err);
}

/* core.task_change(engine, id, change) -> task | nil, err */
VERB(CORE, task_change, "tasks:change", GIVES(RECORD), ARG(TEXT),
     JSON_OF("change")) {
  return pawl_task_change(e, c->text, c->json[0], &c->out, err);
}

/* core.workflow_list(engine, query, how) -> workflows | nil, err */
VERB(CORE, workflow_list, "workflows:list", GIVES(LIST), JSON_OF("query"),
     ARG(HOW)) {
  return pawl_workflow_list(e, c->json[0], &c->out, err);
}

/* core.workflow_get(engine, code, query, how) -> workflow | nil, err */
VERB(CORE, workflow_get, "workflows:get", GIVES(RECORD), ARG(TEXT),
     JSON_OF("query"), ARG(HOW)) {
  return pawl_workflow_get(e, c->text, c->json[0], &c->out, err);
}

/* core.workflow_change(engine, change) -> info | nil, err */
VERB(CORE, workflow_change, "workflows:change", GIVES(DATA),
     JSON_OF("change")) {
  return pawl_workflow_change(e, c->json[0], &c->out, err);
}

/* core.breakpoint_change(engine, change) -> info | nil, err */
VERB(CORE, breakpoint_change, "breakpoints:change", GIVES(DATA),
     JSON_OF("change")) {
  return pawl_breakpoint_change(e, c->json[0], &c->out, err);
}

/* core.breakpoint_list(engine, query, how) -> rows | nil, err */
VERB(CORE, breakpoint_list, "breakpoints:list", GIVES(LIST), JSON_OF("query"),
     ARG(HOW)) {
  return pawl_breakpoint_list(e, c->json[0], &c->out, err);
}

/* core.workflow_graph(engine, code, version) -> graph | nil, err */
VERB(CORE, workflow_graph, "workflows:graph", GIVES(DATA), ARG(TEXT),
     ARG(INTEGER)) {
  return pawl_workflow_graph(e, c->text, c->n, &c->out, err);
}

/* core.workflow_hotfix(engine, path | workflow, options) -> info | nil, err */
VERB(CORE, workflow_hotfix, "workflows:hotfix", GIVES(DATA), ARG(FLOW),
     JSON_OF("options")) {
  return pawl_workflow_hotfix(e, c->text, c->json[0], &c->out, err);
}

/* core.workflow_transfer(engine, transfer) -> report | nil, err */
VERB(CORE, workflow_transfer, "workflows:transfer", GIVES(DATA),
     JSON_OF("transfer")) {
  return pawl_workflow_transfer(e, c->json[0], &c->out, err);
}

/* core.outbox_list(engine, query, how) -> rows | nil, err */
VERB(CORE, outbox_list, "outbox:list", GIVES(LIST), JSON_OF("query"),
     ARG(HOW)) {
  return pawl_outbox_list(e, c->json[0], &c->out, err);
}

/* core.outbox_change(engine, change) -> info | nil, err */
VERB(CORE, outbox_change, "outbox:change", GIVES(DATA), JSON_OF("change")) {
  return pawl_outbox_change(e, c->json[0], &c->out, err);
}

/* core.audit(engine, query, how) -> entries | nil, err */
VERB(CORE, audit, "audit", GIVES(LIST), JSON_OF("query"), ARG(HOW)) {
  return pawl_audit(e, c->json[0], &c->out, err);
}

/* core.executor_list(engine, query, how) -> rows | nil, err */
VERB(CORE, executor_list, "executors:list", GIVES(LIST), JSON_OF("query"),
     ARG(HOW)) {
  return pawl_executor_list(e, c->json[0], &c->out, err);
}

/* core.stats(engine, query, how) -> stats | nil, err */
VERB(CORE, stats, "stats", GIVES(DATA), JSON_OF("query"), ARG(HOW)) {
  return pawl_stats(e, c->json[0], &c->out, err);
}

/* core.problems(engine, query, how) -> report | nil, err */
VERB(CORE, problems, "problems", GIVES(DATA), JSON_OF("query"), ARG(HOW)) {
  return pawl_problems(e, c->json[0], &c->out, err);
}

/* core.deploy(engine, options) -> report | nil, err */
VERB(CORE, deploy, "deploy", GIVES(DATA), JSON_OF("options")) {
  return pawl_deploy(e, c->json[0], &c->out, err);
}

/* core.load(engine, path | workflow, trust) -> info | nil, err */
VERB(CORE, load, "load", GIVES(DATA), ARG(FLOW), JSON_OF("trust")) {
  return c->text ? pawl_load_as(e, c->text, NULL, c->json[0], &c->out, err)
                 : pawl_load_stack(e, &c->out, err);
}

/* core.health(engine, repair, how) -> report | nil, err */
VERB(CORE, health, "health", GIVES(DATA), ARG(FLAG), ARG(HOW)) {
  return pawl_health(e, (int)c->n, &c->out, err);
}

/* core.prune(engine, options, how) -> report | nil, err */
VERB(CORE, prune, "prune", GIVES(DATA), JSON_OF("options"), ARG(HOW)) {
  return pawl_prune(e, c->json[0], &c->out, err);
}

/* core.backup(engine, path, options) -> info | nil, err */
VERB(CORE, backup, "backup", GIVES(DATA), ARG(TEXT), JSON_OF("options")) {
  return pawl_backup(e, c->text, c->json[0], &c->out, err);
}

/* engine:backup_bytes() -> bytes | nil, err */
VERB(METHOD, backup_bytes, "backup_bytes", GIVES(BYTES), ARG(NOTHING)) {
  return pawl_backup_bytes(e, &c->out, &c->length, err);
}

/* engine:restore(path) -> info | nil, err */
VERB(METHOD, restore, "restore", GIVES(DATA), ARG(TEXT)) {
  return pawl_restore(e, c->text, &c->out, err);
}

/* engine:restore_bytes(bytes) -> true | nil, err */
VERB(METHOD, restore_bytes, "restore_bytes", GIVES(DONE), ARG(GIVEN_BYTES)) {
  return pawl_restore_bytes(e, c->text, c->length, err);
}

/* core.export(engine, id, options) -> lines | nil, err */
VERB(CORE, export, "export", GIVES(TEXT_OUT), ARG(TEXT), JSON_OF("options")) {
  return pawl_export(e, c->text, c->json[0], &c->out, err);
}

/* core.import(engine, lines, options) -> report | nil, err */
VERB(CORE, import, "import", GIVES(DATA), ARG(TEXT), JSON_OF("options")) {
  return pawl_import(e, c->text, c->json[0], &c->out, err);
}

/* engine:find(text) -> id | nil, err */
VERB(METHOD, find, "find", GIVES(ID), ARG(TEXT)) {
  return pawl_find(e, c->text, c->id, err);
}

/* engine:check(path) -> graph | nil, err */
VERB(METHOD, check, "check", GIVES(DATA), ARG(TEXT)) {
  return pawl_check(e, c->text, &c->out, err);
}

/* engine:tick(seconds?) -> stats | nil, err */
VERB(METHOD, tick, "tick", GIVES(STATS), ARG(OPT_SPAN)) {
  return pawl_tick(e, c->us, &c->stats, err);
}

/* engine:tick_instance(id, seconds?) -> status, stats | nil, err */
VERB(METHOD, tick_instance, "tick_instance", GIVES(STATUS, STATS), ARG(TEXT),
     ARG(OPT_SPAN)) {
  return pawl_tick_instance(e, c->text, c->us, &c->stats, &c->status, err);
}

/* engine:next_due() -> seconds (0: now) | nil (nothing) | nil, err */
VERB(METHOD, next_due, "next_due", GIVES(DUE), ARG(NOTHING)) {
  return pawl_next_due(e, &c->due_us, err);
}

/* engine:busy() -> boolean | nil, err */
VERB(METHOD, busy, "busy", GIVES(YES), ARG(NOTHING)) {
  return pawl_busy(e, &c->yes, err);
}

/* engine:save() -> true | nil, err */
VERB(METHOD, save, "save", GIVES(DONE), ARG(NOTHING)) {
  (void)c;
  return pawl_save(e, err);
}

/* engine:fd() -> descriptor (-1: none) | nil, err */
VERB(METHOD, fd, "fd", GIVES(COUNT), ARG(NOTHING)) {
  int fd = -1;
  const pawl_code rc = pawl_fd(e, &fd, err);
  c->count = fd;
  return rc;
}

/* engine:wait(seconds) -> true | nil, err */
VERB(METHOD, wait, "wait", GIVES(DONE), ARG(SPAN)) {
  return pawl_wait(e, c->us, err);
}

/* clang-format off */
#define VERBS(X)                                                             \
  X(start) X(start_many) X(signal) X(transaction_begin)                      \
  X(transaction_commit) X(transaction_abort) X(transaction_query)            \
  X(change) X(bulk) X(get) X(result) X(ask) X(complete) X(published)         \
  X(status) X(list) X(tally) X(tally_groups) X(history) X(audit)             \
  X(tokens) X(explain) X(task_list) X(task_tally) X(task_get) X(task_find)   \
  X(task_change)                                                             \
  X(workflow_list) X(workflow_get) X(workflow_change) X(workflow_graph)      \
  X(workflow_hotfix) X(workflow_transfer) X(outbox_list) X(outbox_change)    \
  X(deploy) X(load) X(health) X(executor_list) X(backup) X(find) X(check)    \
  X(backup_bytes) X(restore) X(restore_bytes)                                \
  X(breakpoint_change) X(breakpoint_list)                                    \
  X(tick) X(stats) X(problems) X(tick_instance) X(next_due) X(busy)          \
  X(wait) X(save) X(fd) X(export) X(import) X(prune)
/* clang-format on */
#define ROW(name) &verb_##name,
static const verb *const verbs[] = {VERBS(ROW)};
enum { NVERBS = sizeof verbs / sizeof *verbs };

/* Which verb is the closure's upvalue. */
static int call_verb(lua_State *L) {
  lua_Integer i = lua_tointeger(L, lua_upvalueindex(1));
  assert(i >= 0 && i < NVERBS);
  return run_verb(L, verbs[i]);
}

static void add_verbs(lua_State *L, place where) {
  for (int i = 0; i < NVERBS; i++) {
    if (verbs[i]->where != where) continue;
    lua_pushinteger(L, i);
    lua_pushcclosure(L, call_verb, 1);
    lua_setfield(L, -2, verbs[i]->name);
  }
}

void pawl_bind_core_verbs(lua_State *L) {
  add_verbs(L, CORE);
}

void pawl_bind_engine_verbs(lua_State *L) {
  add_verbs(L, METHOD);
}
