/* Running Lua: every way in, and what comes out of it as a pawl_error.
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
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../value/luajson.h"
#include "embedded.h"
#include "host_internal.h"

/* ---- error objects ---- */

#define ERROR_MT "pawl.error"
#define NO_MEMORY "not enough memory" /* Lua's words */

static const char *field_text(lua_State *L, int idx, const char *field) {
  const char *text;
  lua_pushstring(L, field);
  lua_rawget(L, idx);
  text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
  lua_pop(L, 1); /* still held by the table at idx */
  return text;
}

/* "code: where: message (hint)" */
static int error_tostring(lua_State *L) {
  const char *code, *where, *message, *hint;
  luaL_checktype(L, 1, LUA_TTABLE);
  code = field_text(L, 1, "code");
  where = field_text(L, 1, "where");
  message = field_text(L, 1, "message");
  hint = field_text(L, 1, "hint");
  if (!where || (message && strstr(message, where))) where = "";
  lua_pushfstring(L, "%s: %s%s%s", code ? code : "error", where,
                  where[0] ? ": " : "", message ? message : "?");
  if (hint) lua_pushfstring(L, " (%s)", hint);
  lua_concat(L, hint ? 2 : 1);
  return 1;
}

static void set_text(lua_State *L, const char *field, const char *text) {
  if (!text[0]) return;
  lua_pushstring(L, text);
  lua_setfield(L, -2, field);
}

void pawl_host_push_error(lua_State *L, const pawl_error *err) {
  luaL_checkstack(L, 4, "no room for an error object");
  lua_createtable(L, 0, 7);
  set_text(L, "code", pawl_code_name(err->code));
  set_text(L, "reason", err->reason);
  set_text(L, "message", err->message);
  set_text(L, "hint", err->hint);
  set_text(L, "where", err->where);
  set_text(L, "sqlstate", err->sqlstate);
  set_text(L, "trace", err->trace);
  if (luaL_newmetatable(L, ERROR_MT)) {
    lua_pushcfunction(L, error_tostring);
    lua_setfield(L, -2, "__tostring");
  }
  lua_setmetatable(L, -2);
}

/* Has the value at idx the metatable of that name in the registry? */
static int has_metatable(lua_State *L, int idx, const char *name) {
  int same;
  if (!lua_getmetatable(L, idx)) return 0;
  luaL_getmetatable(L, name);
  same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

/* Is it what lua/pawl/workflow.lua raises? */
static int is_builder_error(lua_State *L, int idx) {
  const char *name;
  if (luaL_getmetafield(L, idx, "__name") == LUA_TNIL) return 0;
  name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  lua_pop(L, 1); /* held by the metatable */
  return strcmp(name, "pawl.definition_error") == 0;
}

static pawl_code code_of(const char *name, pawl_code otherwise) {
  for (int i = 1; i < PAWL_NCODES; i++)
    if (strcmp(pawl_code_name((pawl_code)i), name) == 0) return (pawl_code)i;
  return otherwise;
}

/* ---- texts ---- */

/* The length of "file:line" when text begins with "file:line: "; else 0. */
static size_t location(const char *text) {
  const char *at = text;
  while ((at = strchr(at, ':')) != NULL) {
    const char *digits = at + 1, *end = digits;
    while (isdigit((unsigned char)*end)) end++;
    if (end > digits && end[0] == ':' && end[1] == ' ' && at > text)
      return (size_t)(end - text);
    at++;
  }
  return 0;
}

/* Is text[0..len) "file:line" of a Lua file? Names like "at 10" in "at 10:30:
 * late" are not. */
static int is_lua_place(const char *text, size_t len) {
  size_t name = len; /* of the file's, once what follows it is off */
  while (name > 0 && text[--name] != ':') continue;
  if (memchr(text, '\n', name)) return 0;
  if (name > 4 && memcmp(text + name - 4, ".lua", 4) == 0) return 1;
  return name > 9 && memcmp(text, "[string \"", 9) == 0;
}

static const char *without_dot_slash(const char *path) {
  return path[0] == '.' && path[1] == '/' ? path + 2 : path;
}

/* One line: what is broken over several is joined. More than `to` holds is
 * left for whoever cuts it, and says so. */
static void flatten(char *to, size_t size, const char *from) {
  size_t n = 0;
  int space = 0;
  for (; *from && n + 2 < size; from++) {
    if (*from == '\n' || *from == '\r' || *from == '\t') {
      space = n > 0;
      continue;
    }
    if (space) to[n++] = ' ';
    space = 0;
    to[n++] = *from;
  }
  to[n] = 0;
}

/* Lua's list of all the files it tried would push out everything else. */
static int shorten_not_found(char *line) {
  char *end;
  if (strncmp(line, "module '", 8) != 0) return 0;
  end = strstr(line, "' not found:");
  if (!end) return 0;
  end[strlen("' not found")] = 0;
  return 1;
}

void pawl_catch_text(pawl_catch *caught, const char *text, int is_located) {
  char line[sizeof caught->err->message + 8];
  char place[sizeof caught->err->where] = "";
  size_t len = location(text);
  if (len && len < sizeof place && (is_located || is_lua_place(text, len))) {
    memcpy(place, text, len);
    place[len] = 0;
    text += len + 2;
  }
  flatten(line, sizeof line, text);
  caught->rc = caught->script;
  /* Lua's own error of memory, raised again by somebody who had caught it. */
  if (strcmp(line, NO_MEMORY) == 0) caught->rc = PAWL_NOMEM;
  if (shorten_not_found(line)) {
    pawl_fail(caught->err, caught->rc, "%s", line);
    pawl_error_hint(caught->err,
                    "it is neither in package.path nor beside "
                    "the workflow's file: install it, or correct "
                    "its name");
  } else {
    pawl_fail(caught->err, caught->rc, "%s", line);
  }
  if (place[0]) pawl_error_where(caught->err, "%s", without_dot_slash(place));
}

int pawl_host_where(lua_State *L, int level, char *out, size_t size) {
  lua_Debug ar;
  for (; lua_getstack(L, level, &ar); level++) {
    char number[16];
    size_t n;
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline <= 0) continue;                    /* a C function */
    if (strncmp(ar.short_src, "pawl.", 5) == 0) continue; /* our own Lua */
    snprintf(number, sizeof number, ":%d", ar.currentline);
    pawl_copy_text(out, size - strlen(number),
                   without_dot_slash(ar.short_src));
    n = strlen(out);
    memcpy(out + n, number, strlen(number) + 1);
    return 1;
  }
  return 0;
}

/* ---- error values -> pawl_error ---- */

/* error{ retry = false | seconds | "2m" } */
static void read_retry(lua_State *L, pawl_host *host, pawl_catch *caught) {
  int kind = lua_getfield(L, 1, "retry");
  if (kind == LUA_TBOOLEAN && !lua_toboolean(L, -1))
    caught->result->no_retry = 1;
  if (kind != LUA_TNUMBER && kind != LUA_TSTRING) return;
  pawl_host_push_slot(host, L, PAWL_SLOT_DURATION);
  if (lua_isnil(L, -1)) {
    pawl_embedded_run(L, "pawl.duration");
    lua_getfield(L, -1, "parse");
    lua_pushvalue(L, -1);
    pawl_host_set_slot(host, L, PAWL_SLOT_DURATION);
  }
  lua_getfield(L, 1, "retry");
  lua_call(L, 1, 2);
  if (lua_isinteger(L, -2))
    caught->result->retry_after_us = lua_tointeger(L, -2);
  else if (!caught->err->hint[0] && lua_isstring(L, -1))
    pawl_error_hint(caught->err, "its retry was not used: %s",
                    lua_tostring(L, -1));
}

static void read_details(lua_State *L, pawl_host *host, pawl_catch *caught) {
  pawl_error why;
  pawl_buf *out = &caught->result->details;
  if (lua_getfield(L, 1, "details") == LUA_TNIL) return;
  if (pawl_luajson_encode(L, -1, "details", host->max_bytes, out, &why) ==
          PAWL_OK &&
      pawl_buf_check(out, &why) == PAWL_OK)
    return;
  pawl_buf_clear(out);
  if (!caught->err->hint[0])
    pawl_error_hint(caught->err, "its details were not kept: %s: %s",
                    why.where, why.message);
}

/* A field's text into a fixed array; other types count as absent. */
static void copy_field(lua_State *L, const char *field, char *to,
                       size_t size) {
  if (lua_getfield(L, 1, field) == LUA_TSTRING)
    pawl_copy_text(to, size, lua_tostring(L, -1));
  lua_pop(L, 1);
}

/* The same values would be refused again, the same call be wrong again, and
 * what is damaged stays so. */
static int is_for_good(pawl_code code) {
  return code == PAWL_VALUE || code == PAWL_LIMIT || code == PAWL_MISUSE ||
         code == PAWL_CORRUPT;
}

/* What one of our own raised keeps its code, and all that it says. */
static void catch_ours(lua_State *L, pawl_catch *caught) {
  char name[64] = "";
  pawl_error *err = caught->err;
  copy_field(L, "code", name, sizeof name);
  caught->rc = code_of(name, caught->script);
  pawl_fail(err, caught->rc, "?");
  if (lua_getfield(L, 1, "message") == LUA_TSTRING)
    pawl_copy_message(err->message, sizeof err->message, lua_tostring(L, -1));
  lua_pop(L, 1);
  copy_field(L, "reason", err->reason, sizeof err->reason);
  copy_field(L, "hint", err->hint, sizeof err->hint);
  copy_field(L, "where", err->where, sizeof err->where);
  copy_field(L, "sqlstate", err->sqlstate, sizeof err->sqlstate);
  copy_field(L, "trace", err->trace, sizeof err->trace);
}

#define RAISE_HINT "raise text, or { code =, message = }"

/* Pushes the text that the value at 1 has by its own __tostring; 0, and
 * nothing: only an address would come out. */
static int push_own_text(lua_State *L) {
  if (luaL_getmetafield(L, 1, "__tostring") == LUA_TNIL) return 0;
  lua_pop(L, 1);
  luaL_tolstring(L, 1, NULL);
  return 1;
}

/* A code is whole or none: a part of it could be another one's, and lead
 * elsewhere. NULL: it has none that is text. */
static void take_code(const char *code, pawl_error *err) {
  if (!code) return;
  if (strlen(code) < sizeof err->reason)
    pawl_copy_text(err->reason, sizeof err->reason, code);
  else
    pawl_error_hint(err,
                    "its code was not used: it has %zu bytes, %zu are "
                    "the most: %.64s...",
                    strlen(code), sizeof err->reason - 1, code);
}

/* error{ code =, message = }, and any other table. */
static void catch_theirs(lua_State *L, pawl_catch *caught) {
  pawl_error *err = caught->err;
  const char *code = NULL;
  int is_described = 1, kind;
  if (lua_getfield(L, 1, "code") == LUA_TSTRING) code = lua_tostring(L, -1);
  kind = lua_getfield(L, 1, "message");
  if (kind != LUA_TSTRING && kind != LUA_TNUMBER) {
    if (code && code[0])
      lua_pushstring(L, code);
    else
      is_described = push_own_text(L);
  }
  pawl_catch_text(caught,
                  is_described
                      ? lua_tostring(L, -1)
                      : "the error raised is a table without a message",
                  0);
  if (!is_described) pawl_error_hint(err, RAISE_HINT);
  copy_field(L, "hint", err->hint, sizeof err->hint);
  copy_field(L, "where", err->where, sizeof err->where);
  take_code(code, err);
}

static void catch_table(lua_State *L, pawl_host *host, pawl_catch *caught) {
  if (has_metatable(L, 1, ERROR_MT) ||
      (caught->script == PAWL_DEFINITION && is_builder_error(L, 1)))
    catch_ours(L, caught);
  else
    catch_theirs(L, caught);
  if (!caught->result) return;
  read_retry(L, host, caught);
  if (is_for_good(caught->rc) && caught->result->retry_after_us < 0)
    caught->result->no_retry = 1;
  read_details(L, host, caught);
}

/* An error value that is neither text nor a table. */
static void catch_odd(lua_State *L, pawl_catch *caught) {
  const char *type = luaL_typename(L, 1);
  caught->rc = caught->script;
  if (lua_isnoneornil(L, 1))
    pawl_fail(caught->err, caught->rc, "the error raised is nil");
  else if (lua_isnumber(L, 1) || lua_isboolean(L, 1) || push_own_text(L))
    pawl_fail(caught->err, caught->rc, "the error raised is a %s: %s", type,
              luaL_tolstring(L, -1, NULL));
  else
    pawl_fail(caught->err, caught->rc, "the error raised is a %s", type);
  pawl_error_hint(caught->err, RAISE_HINT);
}

/* (error value, host): fills the innermost pawl_catch. May raise: objects
 * have __index and __tostring. */
static int catch_any(lua_State *L) {
  pawl_host *host = lua_touserdata(L, 2);
  pawl_catch *caught = host->caught;
  lua_remove(L, 2); /* the error value is on top, too */
  if (lua_type(L, 1) == LUA_TSTRING)
    pawl_catch_text(caught, lua_tostring(L, 1), 0);
  else if (lua_type(L, 1) == LUA_TTABLE)
    catch_table(L, host, caught);
  else
    catch_odd(L, caught);
  return 0;
}

/* Does the text begin with the name of a chunk on the stack, as Lua's own
 * errors do? Then its place is cut off even when it does not look like one. */
static int is_located(lua_State *L, const char *text, int level) {
  lua_Debug ar;
  for (; lua_getstack(L, level, &ar); level++) {
    size_t len;
    lua_getinfo(L, "S", &ar);
    len = strlen(ar.short_src);
    if (strncmp(text, ar.short_src, len) == 0 && text[len] == ':' &&
        isdigit((unsigned char)text[len + 1]))
      return 1;
  }
  return 0;
}

static void add_trace(lua_State *L, pawl_error *err) {
  static const char TAIL[] = "\n\t[C]: in ?"; /* our own way in */
  size_t len;
  char *trace = err->trace;
  luaL_traceback(L, L, NULL, 1);
  pawl_copy_text(trace, sizeof err->trace, lua_tostring(L, -1));
  lua_pop(L, 1);
  len = strlen(trace);
  while (len >= sizeof TAIL - 1 &&
         strcmp(trace + len - (sizeof TAIL - 1), TAIL) == 0) {
    len -= sizeof TAIL - 1;
    trace[len] = 0;
  }
}

int pawl_catch_value(lua_State *L) {
  pawl_host *host = lua_touserdata(L, lua_upvalueindex(1));
  pawl_catch *caught = host->caught;
  const char *text = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : NULL;
  int status;
  if (text && is_located(L, text, 1)) {
    pawl_catch_text(caught, text, 1);
  } else {
    lua_pushcfunction(L, catch_any);
    lua_pushvalue(L, 1);
    lua_pushlightuserdata(L, host);
    status = lua_pcall(L, 2, 0, 0);
    if (status == LUA_ERRMEM) {
      caught->rc = pawl_fail(caught->err, PAWL_NOMEM, NO_MEMORY);
    } else if (status != LUA_OK && caught->rc == PAWL_OK) {
      caught->rc = caught->script;
      pawl_fail(caught->err, caught->rc,
                "the error raised is a %s that cannot be read",
                luaL_typename(L, 1));
    }
  }
  if (!caught->err->where[0])
    pawl_host_where(L, 1, caught->err->where, sizeof caught->err->where);
  if (!caught->err->trace[0]) add_trace(L, caught->err);
  lua_settop(L, 1);
  return 1;
}

void pawl_catch_status(pawl_catch *caught, lua_State *L, int status) {
  if (caught->rc != PAWL_OK) return; /* the message handler saw it */
  if (status == LUA_ERRMEM) {
    caught->rc = PAWL_NOMEM;
    pawl_fail(caught->err, PAWL_NOMEM, NO_MEMORY);
    return;
  }
  caught->rc = caught->script;
  pawl_fail(caught->err, caught->rc, "%s",
            lua_type(L, -1) == LUA_TSTRING
                ? lua_tostring(L, -1)
                : "an error while handling an error");
}

/* ---- protected calls ---- */

void pawl_host_push_catch(const pawl_host *host, lua_State *L) {
  pawl_host_push_slot(host, L, PAWL_SLOT_CATCH);
}

pawl_code pawl_host_protect(pawl_host *host, lua_State *L, lua_CFunction f,
                            void *arg, int nargs, int nresults,
                            pawl_catch *caught) {
  pawl_catch *outer = host->caught;
  int base = lua_gettop(L) - nargs, status;
  if (!lua_checkstack(L, LUA_MINSTACK)) {
    lua_settop(L, base);
    return caught->rc = pawl_fail(caught->err, PAWL_NOMEM,
                                  "not enough memory for Lua's stack");
  }
  caught->rc = PAWL_OK;
  host->caught = caught;
  pawl_host_push_catch(host, L);
  lua_insert(L, base + 1);
  lua_pushcfunction(L, f);
  lua_insert(L, base + 2);
  lua_pushlightuserdata(L, arg);
  lua_insert(L, base + 3);
  status = lua_pcall(L, nargs + 1, nresults, base + 1);
  host->caught = outer;
  if (status != LUA_OK) pawl_catch_status(caught, L, status);
  if (caught->rc == PAWL_OK)
    lua_remove(L, base + 1);
  else
    lua_settop(L, base);
  return caught->rc;
}

/* ---- a handler ---- */

/* In the order of the enum. */
static const char *const HANDLERS[] = {"run",   "choose", "at",    "output",
                                       "undo",  "key",    "match", "prepare",
                                       "input", "items"};

_Static_assert(sizeof HANDLERS / sizeof *HANDLERS == PAWL_HANDLER_ITEMS + 1,
               "a name for each handler");

const char *pawl_handler_name(pawl_handler handler) {
  return HANDLERS[handler];
}

/* Is the value on top a function, or an object that is called like one, as a
 * busted spy is? */
static int is_callable(lua_State *L) {
  if (lua_isfunction(L, -1)) return 1;
  if (luaL_getmetafield(L, -1, "__call") == LUA_TNIL) return 0;
  lua_pop(L, 1);
  return 1;
}

/* Pushes the function; 0: there is none, and what is pushed does not count. */
static int push_handler(pawl_run *run, lua_State *L) {
  const pawl_call *call = run->call;
  pawl_host_push_slot(run->host, L, PAWL_SLOT_DEFS + call->ref);
  if (!lua_istable(L, -1)) return 0;
  lua_rawgeti(L, -1, PAWL_REC_HANDLERS);
  lua_pushstring(L, call->node);
  lua_rawget(L, -2);
  if (!lua_istable(L, -1)) return 0;
  lua_pushstring(L, pawl_handler_name(call->handler));
  lua_rawget(L, -2);
  return is_callable(L);
}

/* What a handler returned that it may not; `what` is what that stood for. */
static pawl_code bad_return(pawl_run *run, lua_State *L, int idx,
                            const char *what, const char *hint) {
  pawl_error *err = run->caught.err;
  pawl_code rc = pawl_fail(err, PAWL_VALUE, "`%s` returned a %s as its %s",
                           pawl_handler_name(run->call->handler),
                           luaL_typename(L, idx), what);
  pawl_error_hint(err, "%s", hint);
  pawl_error_where(err, "%s", what);
  return rc;
}

static pawl_code take_transition(pawl_run *run, lua_State *L, int idx) {
  size_t len;
  const char *text;
  if (lua_isnil(L, idx)) return PAWL_OK;
  if (lua_type(L, idx) != LUA_TSTRING)
    return bad_return(run, L, idx, "transition",
                      "return its name, or nil where there is only one, and "
                      "the output after it: return nil, output");
  text = lua_tolstring(L, idx, &len);
  pawl_buf_add(&run->result->transition, text, len);
  run->result->has_transition = 1;
  return pawl_buf_check(&run->result->transition, run->caught.err);
}

/* `path`: what it is called in errors. */
static pawl_code take_value(pawl_run *run, lua_State *L, int idx,
                            const char *path, size_t max_bytes) {
  pawl_buf *out = &run->result->output;
  pawl_code rc =
      pawl_luajson_encode(L, idx, path, max_bytes, out, run->caught.err);
  if (rc == PAWL_OK) rc = pawl_buf_check(out, run->caught.err);
  if (rc == PAWL_OK) run->result->has_output = 1;
  return rc;
}

static pawl_code take_output(pawl_run *run, lua_State *L, int idx) {
  if (lua_isnil(L, idx)) return PAWL_OK;
  return take_value(run, L, idx,
                    run->call->handler == PAWL_HANDLER_INPUT ? "input"
                    : run->call->handler == PAWL_HANDLER_KEY ? "key"
                                                             : "output",
                    run->host->max_bytes);
}

/* What `prepare` returned: what differs from the task as it was written. */
static pawl_code take_overrides(pawl_run *run, lua_State *L, int idx) {
  static const char HINT[] =
      "return what differs, { title = ..., users = ... }, or nothing";
  pawl_code rc;
  if (lua_isnil(L, idx)) return PAWL_OK;
  if (!lua_istable(L, idx)) return bad_return(run, L, idx, "task", HINT);
  rc = take_value(run, L, idx, "task", run->host->max_bytes);
  if (rc != PAWL_OK || run->result->output.at[0] == '{') return rc;
  rc = pawl_fail(run->caught.err, PAWL_VALUE,
                 "`prepare` returned a list as its task");
  pawl_error_hint(run->caught.err, "%s", HINT);
  pawl_error_where(run->caught.err, "task");
  return rc;
}

/* Items may be more than one value is allowed: they are stored one by one. */
static size_t max_items_bytes(const pawl_host *host) {
  const size_t times = 16;
  return host->max_bytes > SIZE_MAX / times ? 0 : host->max_bytes * times;
}

static pawl_code take_items(pawl_run *run, lua_State *L, int idx) {
  static const char HINT[] =
      "return a list, { first, second, ... }; {} when there is nothing to do";
  pawl_buf *out = &run->result->output;
  pawl_error *err = run->caught.err;
  pawl_code rc;
  if (!lua_istable(L, idx)) return bad_return(run, L, idx, "list", HINT);
  if (lua_rawlen(L, idx) > PAWL_MAX_ITEMS) {
    rc = pawl_fail(err, PAWL_LIMIT,
                   "`items` returned %zu items; the limit "
                   "is %d",
                   (size_t)lua_rawlen(L, idx), PAWL_MAX_ITEMS);
    pawl_error_hint(err,
                    "give each item a part of the work, such as a page "
                    "of 1000");
    pawl_error_where(err, "items");
    return rc;
  }
  rc = take_value(run, L, idx, "items", max_items_bytes(run->host));
  if (rc != PAWL_OK || out->at[0] == '[') return rc;
  if (out->len == 2) { /* {} in Lua is an empty list too */
    pawl_buf_clear(out);
    pawl_buf_addz(out, "[]");
    return pawl_buf_check(out, err);
  }
  rc = pawl_fail(err, PAWL_VALUE, "`items` returned a table with names");
  pawl_error_hint(err, "%s", HINT);
  pawl_error_where(err, "items");
  return rc;
}

static pawl_code take_time(pawl_run *run, lua_State *L, int idx) {
  static const char HINT[] =
      "return seconds since 1970, or \"2026-01-31T10:00:00Z\", to the year "
      "9999 at most";
  int64_t *out = &run->result->at_us;
  size_t len;
  const char *text;
  double us;
  if (lua_type(L, idx) == LUA_TSTRING) {
    text = lua_tolstring(L, idx, &len);
    if (pawl_time_parse(text, len, out) && *out <= PAWL_TIME_MAX)
      return PAWL_OK;
    return bad_return(run, L, idx, "time", HINT);
  }
  if (lua_type(L, idx) != LUA_TNUMBER)
    return bad_return(run, L, idx, "time", HINT);
  us = floor(lua_tonumber(L, idx) * 1e6 + 0.5);
  if (!(us >= 0 && us < (double)PAWL_TIME_MAX)) /* which rounds up */
    return bad_return(run, L, idx, "time", HINT);
  *out = (int64_t)us; /* within its range, as just checked */
  if (lua_isinteger(L, idx)) *out = lua_tointeger(L, idx) * PAWL_SECOND;
  return PAWL_OK;
}

/* The handler's first result is at idx, its second behind it. */
static pawl_code take_returned(pawl_run *run, lua_State *L, int idx) {
  pawl_code rc;
  switch (run->call->handler) {
    case PAWL_HANDLER_RUN:
      rc = take_transition(run, L, idx);
      return rc == PAWL_OK ? take_output(run, L, idx + 1) : rc;
    case PAWL_HANDLER_CHOOSE:
      return take_transition(run, L, idx);
    case PAWL_HANDLER_AT:
      return take_time(run, L, idx);
    case PAWL_HANDLER_OUTPUT:
    case PAWL_HANDLER_KEY:
    case PAWL_HANDLER_INPUT:
      return take_output(run, L, idx);
    case PAWL_HANDLER_PREPARE:
      return take_overrides(run, L, idx);
    case PAWL_HANDLER_ITEMS:
      return take_items(run, L, idx);
    case PAWL_HANDLER_MATCH:
      run->result->truth = lua_toboolean(L, idx);
      break;
    case PAWL_HANDLER_UNDO:
      break;
  }
  return PAWL_OK;
}

enum { AT_CATCH = 2, AT_CTX, AT_RESULT };

/* Continues `body` when the handler has ended, well or not. */
static int after(lua_State *L, int status, lua_KContext context) {
  pawl_run *run = (pawl_run *)context;
  pawl_code rc;
  run->is_over = 1;
  if (status != LUA_OK && status != LUA_YIELD) {
    pawl_catch_status(&run->caught, L, status);
    return 0;
  }
  rc = pawl_ctx_take(run, L, AT_CTX);
  if (rc == PAWL_OK) rc = take_returned(run, L, AT_RESULT);
  run->result->no_retry = is_for_good(rc);
  run->caught.rc = rc;
  return 0;
}

/* (run), on the handlers' thread */
static int body(lua_State *L) {
  pawl_run *run = lua_touserdata(L, 1);
  int status, nargs = 1;
  pawl_host_use_folder(run->host, L, run->call->ref);
  pawl_host_push_catch(run->host, L);
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
  if (run->call->handler == PAWL_HANDLER_MATCH) {
    run->caught.rc = pawl_ctx_push_event(run, L, AT_CTX);
    run->result->no_retry = is_for_good(run->caught.rc);
    if (run->caught.rc != PAWL_OK) return 0;
    nargs = 2;
  }
  lua_pushvalue(L, AT_CTX);
  status = lua_pcallk(L, nargs, 2, AT_CATCH, (lua_KContext)run, after);
  return after(L, status, (lua_KContext)run);
}

/* ---- runs and their threads ---- */

/* (run): a thread for it */
static int make_thread(lua_State *L) {
  pawl_run *run = lua_touserdata(L, 1);
  lua_State *co;
  lua_rawgetp(L, LUA_REGISTRYINDEX, run->host);
  co = lua_newthread(L);
  lua_rawsetp(L, -2, run);
  run->co = co;
  return 0;
}

/* (run): ends a handler that yielded, closing its variables. */
static int close_thread(lua_State *L) {
  pawl_run *run = lua_touserdata(L, 1);
  pawl_host_push_slot(run->host, L, PAWL_SLOT_CLOSE);
  lua_rawgetp(L, LUA_REGISTRYINDEX, run->host);
  lua_rawgetp(L, -1, run);
  lua_remove(L, -2);
  lua_call(L, 1, 0);
  return 0;
}

/* The thread is of no more use; its key keeps it until there is another. */
static void end_thread(pawl_run *run) {
  pawl_host *host = run->host;
  pawl_error spare;
  pawl_catch ignored = {.script = PAWL_SCRIPT, .err = &spare};
  pawl_host_protect(host, host->L, close_thread, run, 0, 0, &ignored);
  run->co = NULL;
}

static pawl_run *new_run(pawl_host *host) {
  pawl_run *run = pawl_calloc(&host->alloc, sizeof *run);
  if (!run) return NULL;
  run->host = host;
  run->text.alloc = run->before.alloc = &host->alloc;
  pawl_result_init(&run->kept, NULL);
  run->next = host->runs;
  host->runs = run;
  return run;
}

/* A free run with a thread. The one used last comes first: it is warm. */
static pawl_code take_run(pawl_host *host, pawl_run **out, pawl_error *err) {
  pawl_catch caught = {.script = PAWL_SCRIPT, .err = err};
  pawl_run *run = host->idle;
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
  pawl_result_deinit(&run->kept); /* the caller's memory */
  pawl_result_init(&run->kept, NULL);
  run->next_idle = run->host->idle;
  run->host->idle = run;
}

void pawl_host_free_runs(pawl_host *host) {
  while (host->runs) {
    pawl_run *run = host->runs;
    if (run->waits && host->pid == getpid()) pawl_host_abandon(run);
    host->runs = run->next;
    pawl_buf_deinit(&run->text);
    pawl_buf_deinit(&run->before);
    pawl_result_deinit(&run->kept);
    pawl_release(&host->alloc, run, sizeof *run);
  }
  host->idle = NULL;
}

/* ---- what a handler that waits keeps ---- */

/* Texts of a call, each with a zero behind it. */
#define CALL_STRS(c)                                                        \
  {                                                                         \
    &(c)->data, &(c)->event, &(c)->output, &(c)->tenant, &(c)->correlation, \
        &(c)->vars, &(c)->input                                             \
  }
#define CALL_NAMES(c) \
  { &(c)->node, &(c)->id, &(c)->workflow, &(c)->branch }
enum { NCALL_STRS = 7, NCALL_NAMES = 4 };

/* The call is the caller's no longer. */
static pawl_code keep_call(pawl_run *run, pawl_error *err) {
  pawl_str *strs[] = CALL_STRS(&run->own);
  const char **names[] = CALL_NAMES(&run->own);
  size_t at = 0;
  run->own = *run->call;
  pawl_buf_clear(&run->text);
  for (int i = 0; i < NCALL_NAMES; i++)
    if (*names[i]) pawl_buf_add(&run->text, *names[i], strlen(*names[i]) + 1);
  for (int i = 0; i < NCALL_STRS; i++) {
    pawl_buf_adds(&run->text, *strs[i]);
    pawl_buf_addc(&run->text, 0);
  }
  if (pawl_buf_check(&run->text, err) != PAWL_OK) return PAWL_NOMEM;
  for (int i = 0; i < NCALL_NAMES; i++) { /* it does not move any more */
    if (!*names[i]) continue;
    *names[i] = run->text.at + at;
    at += strlen(*names[i]) + 1;
  }
  for (int i = 0; i < NCALL_STRS; i++) {
    if (strs[i]->at) strs[i]->at = run->text.at + at;
    at += strs[i]->len + 1;
  }
  run->call = &run->own;
  return PAWL_OK;
}

/* Moves what is in one result to another, which is empty. */
static void move_result(pawl_result *to, pawl_result *from) {
  const pawl_alloc *alloc = from->transition.alloc;
  pawl_result_deinit(to);
  *to = *from;
  pawl_result_init(from, alloc);
}

/* (run): describes where it yielded */
static int describe_yield(lua_State *L) {
  pawl_run *run = lua_touserdata(L, 1);
  pawl_error *err = run->caught.err;
  lua_State *co = run->co;
  run->caught.rc = PAWL_SCRIPT;
  pawl_fail(err, PAWL_SCRIPT, "the handler yielded");
  pawl_error_hint(err,
                  "handlers run to their end, or wait by ctx.await; yield "
                  "only within coroutines of your own");
  if (lua_checkstack(co, LUA_MINSTACK))
    pawl_host_where(co, 0, err->where, sizeof err->where);
  luaL_traceback(L, co, NULL, 0);
  pawl_copy_text(err->trace, sizeof err->trace, lua_tostring(L, -1));
  return 0;
}

static void end_yielded(pawl_run *run) {
  pawl_host *host = run->host;
  pawl_catch caught = run->caught;
  pawl_host_protect(host, host->L, describe_yield, run, 0, 0, &caught);
  if (run->caught.rc == PAWL_OK) run->caught.rc = caught.rc;
  end_thread(run);
}

/* Runs the handler until it ends or waits, `nargs` values on its thread. */
static void resume(pawl_run *run, int nargs) {
  pawl_host *host = run->host;
  pawl_catch *outer = host->caught;
  int n, status;
  run->waits = 0;
  host->run = run;
  host->caught = &run->caught;
  host->running++;
  status = lua_resume(run->co, host->L, nargs, &n);
  if (status == LUA_YIELD && run->waits) {
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
  host->running--;
  host->caught = outer;
  host->run = NULL;
}

/* A failed handler leaves nothing but why it failed. */
static void drop_results(pawl_result *r) {
  r->has_transition = r->has_output = r->vars_changed = r->attrs_changed = 0;
  r->data_changed = r->truth = 0;
  pawl_buf_clear(&r->transition);
  pawl_buf_clear(&r->output);
  pawl_buf_clear(&r->vars);
  pawl_buf_clear(&r->attrs);
  pawl_buf_clear(&r->data);
  pawl_buf_clear(&r->emits);
  pawl_buf_clear(&r->starts);
}

/* After a resume. Still waiting: what it has told so far moves behind it. */
static pawl_code stopped(pawl_run *run, pawl_result *result,
                         pawl_run **waiting, pawl_error *err) {
  pawl_code rc = run->caught.rc;
  *waiting = NULL;
  if (run->waits && run->call != &run->own &&
      keep_call(run, run->caught.err) != PAWL_OK) {
    pawl_fail(err, PAWL_NOMEM, "not enough memory for a handler that waits");
    pawl_host_abandon(run);
    drop_results(result);
    return PAWL_NOMEM;
  }
  if (run->waits) {
    move_result(&run->kept, result);
    run->result = run->caught.result = &run->kept;
    run->caught.err = NULL;
    *waiting = run;
    return PAWL_OK;
  }
  if (rc != PAWL_OK) drop_results(result);
  give_back(run);
  return rc;
}

static pawl_code start(pawl_host *host, const pawl_call *call,
                       pawl_result *result, int may_wait, pawl_run **waiting,
                       pawl_error *err) {
  pawl_error spare;
  pawl_run *run;
  pawl_code rc;
  spare.code = PAWL_OK;
  if (!err) err = &spare;
  pawl_result_clear(result);
  *waiting = NULL;
  if (host->running)
    return pawl_fail(err, PAWL_MISUSE,
                     "a handler of this engine is running already");
  rc = take_run(host, &run, err);
  if (rc != PAWL_OK) return rc;
  run->call = call;
  run->result = result;
  run->caught =
      (pawl_catch){.script = PAWL_SCRIPT, .err = err, .result = result};
  run->may_wait = may_wait;
  run->is_over = 0;
  lua_pushcfunction(run->co, body);
  lua_pushlightuserdata(run->co, run);
  resume(run, 1);
  return stopped(run, result, waiting, err);
}

pawl_code pawl_host_run(pawl_host *host, const pawl_call *call,
                        pawl_result *result, pawl_error *err) {
  pawl_run *waiting;
  return start(host, call, result, 0, &waiting, err);
}

pawl_code pawl_host_begin(pawl_host *host, const pawl_call *call,
                          pawl_result *result, pawl_run **waiting,
                          pawl_error *err) {
  return start(host, call, result, 1, waiting, err);
}

const pawl_await *pawl_run_await(const pawl_run *run) {
  return &run->await;
}

pawl_code pawl_host_resume(pawl_run **waiting, int events,
                           const pawl_error *why, pawl_result *result,
                           pawl_error *err) {
  pawl_error spare;
  pawl_run *run = *waiting;
  spare.code = PAWL_OK;
  if (!err) err = &spare;
  if (run->host->running)
    return pawl_fail(err, PAWL_MISUSE,
                     "a handler of this engine is running already");
  move_result(result, &run->kept);
  run->result = run->caught.result = result;
  run->caught.err = err;
  run->caught.rc = PAWL_OK;
  run->events = events;
  run->why = why;
  resume(run, 0);
  run->why = NULL;
  return stopped(run, result, waiting, err);
}

void pawl_host_abandon(pawl_run *waiting) {
  pawl_host *host;
  if (!waiting) return;
  host = waiting->host;
  host->running++; /* what its variables do when they are closed */
  pawl_ctx_end(waiting->ctx);
  end_thread(waiting);
  host->running--;
  give_back(waiting);
}

void pawl_result_init(pawl_result *r, const pawl_alloc *alloc) {
  memset(r, 0, sizeof *r);
  r->transition.alloc = r->output.alloc = r->vars.alloc = alloc;
  r->attrs.alloc = r->data.alloc = r->emits.alloc = alloc;
  r->starts.alloc = r->details.alloc = alloc;
  r->retry_after_us = -1;
}

void pawl_result_clear(pawl_result *r) {
  drop_results(r);
  pawl_buf_clear(&r->details);
  r->at_us = 0;
  r->no_retry = 0;
  r->retry_after_us = -1;
}

void pawl_result_deinit(pawl_result *r) {
  pawl_buf_deinit(&r->transition);
  pawl_buf_deinit(&r->output);
  pawl_buf_deinit(&r->vars);
  pawl_buf_deinit(&r->attrs);
  pawl_buf_deinit(&r->data);
  pawl_buf_deinit(&r->emits);
  pawl_buf_deinit(&r->starts);
  pawl_buf_deinit(&r->details);
}
