/* Errors of Lua as pawl_error, and pawl_error as what Lua sees. The message
 * handler fills the innermost pawl_catch while the stack still stands. */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../value/luajson.h"
#include "embedded.h"
#include "host_internal.h"

/* ---- error objects ---- */

#define ERROR_MT "pawl.error"
#define NO_MEMORY "not enough memory" /* Lua's words */

static const char *field_text(lua_State *L, int idx, const char *field) {
  lua_pushstring(L, field);
  lua_rawget(L, idx);
  const char *text =
      lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
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
  set_text(L, "raised", err->raised);
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
  if (!lua_getmetatable(L, idx)) return 0;
  luaL_getmetatable(L, name);
  int same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

/* Is it what lua/pawl/workflow.lua raises? */
static int is_builder_error(lua_State *L, int idx) {
  if (luaL_getmetafield(L, idx, "__name") == LUA_TNIL) return 0;
  const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  lua_pop(L, 1); /* held by the metatable */
  return strcmp(name, "pawl.definition_error") == 0;
}

/* One after the other: failures are rare. */
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

const char *pawl_host_short_path(const char *path) {
  while (path[0] == '.' && path[1] == '/') path += 2;
  return path;
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
  if (strncmp(line, "module '", 8) != 0) return 0;
  char *end = strstr(line, "' not found:");
  if (!end) return 0;
  end[strlen("' not found")] = 0;
  return 1;
}

/* In the error as far as it fits; whole in the result, if there is one. */
static void keep_message(pawl_catch *caught, const char *text) {
  pawl_failure_keep(caught->result ? &caught->result->message : NULL,
                    caught->err->message, sizeof caught->err->message,
                    pawl_strz(text));
}

void pawl_catch_text(pawl_catch *caught, const char *text, int is_located) {
  char line[PAWL_MAX_FAILURE + 8];
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
  pawl_fail_hint(caught->err, caught->rc,
                 shorten_not_found(line)
                     ? "it is neither in package.path nor beside the "
                       "workflow's file: install it, or correct its name"
                     : "",
                 "?");
  keep_message(caught, line);
  if (place[0])
    pawl_error_where(caught->err, "%s", pawl_host_short_path(place));
}

int pawl_host_where(lua_State *L, int level, char *out, size_t size) {
  lua_Debug ar;
  for (; lua_getstack(L, level, &ar); level++) {
    char number[16];
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline <= 0) continue;                    /* a C function */
    if (strncmp(ar.short_src, "pawl.", 5) == 0) continue; /* our own Lua */
    snprintf(number, sizeof number, ":%d", ar.currentline);
    pawl_copy_text(out, size - strlen(number),
                   pawl_host_short_path(ar.short_src));
    size_t n = strlen(out);
    memcpy(out + n, number, strlen(number) + 1);
    return 1;
  }
  return 0;
}

/* ---- error values -> pawl_error ---- */

void pawl_host_read_duration(pawl_host *host, lua_State *L, int idx) {
  pawl_host_push_anchor(host, L, PAWL_ANCHOR_DURATION);
  if (lua_isnil(L, -1)) {
    pawl_embedded_run(L, "pawl.duration");
    lua_getfield(L, -1, "parse");
    lua_pushvalue(L, -1);
    pawl_host_set_anchor(host, L, PAWL_ANCHOR_DURATION);
  }
  lua_pushvalue(L, idx);
  lua_call(L, 1, 3);
}

/* error{ retry = false | seconds | "2m" } */
static void read_retry(lua_State *L, pawl_host *host, pawl_catch *caught) {
  int kind = lua_getfield(L, 1, "retry");
  if (kind == LUA_TBOOLEAN && !lua_toboolean(L, -1))
    caught->result->no_retry = 1;
  if (kind != LUA_TNUMBER && kind != LUA_TSTRING) return;
  pawl_host_read_duration(host, L, lua_gettop(L));
  if (lua_isinteger(L, -3))
    caught->result->retry_after_us = lua_tointeger(L, -3);
  else if (!caught->err->hint[0] && lua_isstring(L, -2))
    pawl_error_hint(caught->err, "its retry was not used: %s",
                    lua_tostring(L, -2));
}

static void read_details(lua_State *L, pawl_host *host, pawl_catch *caught) {
  pawl_error why;
  pawl_buf *out = &caught->result->details;
  if (lua_getfield(L, 1, "details") == LUA_TNIL) return;
  if (pawl_luajson_encode(L, -1, "details", host->max_bytes, out, &why) ==
      PAWL_OK)
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

int pawl_catch_is_for_good(pawl_code code) {
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
    keep_message(caught, lua_tostring(L, -1));
  lua_pop(L, 1);
  copy_field(L, "raised", err->raised, sizeof err->raised);
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
  if (strlen(code) < sizeof err->raised)
    pawl_copy_text(err->raised, sizeof err->raised, code);
  else
    pawl_error_hint(err,
                    "its code was not used: it has %zu bytes, %zu are "
                    "the most: %.64s...",
                    strlen(code), sizeof err->raised - 1, code);
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
  if (pawl_catch_is_for_good(caught->rc) && caught->result->retry_after_us < 0)
    caught->result->no_retry = 1;
  read_details(L, host, caught);
}

static void describe_odd(lua_State *L, pawl_catch *caught, const char *type) {
  const char *text = luaL_tolstring(L, -1, NULL);
  pawl_fail(caught->err, caught->rc, "?");
  keep_message(caught,
               lua_pushfstring(L, "the error raised is a %s: %s", type, text));
}

/* An error value that is neither text nor a table. */
static void catch_odd(lua_State *L, pawl_catch *caught) {
  const char *type = luaL_typename(L, 1);
  caught->rc = caught->script;
  if (lua_isnoneornil(L, 1))
    pawl_fail(caught->err, caught->rc, "the error raised is nil");
  else if (lua_isnumber(L, 1) || lua_isboolean(L, 1) || push_own_text(L))
    describe_odd(L, caught, type);
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
    lua_getinfo(L, "S", &ar);
    size_t len = strlen(ar.short_src);
    if (strncmp(text, ar.short_src, len) == 0 && text[len] == ':' &&
        isdigit((unsigned char)text[len + 1]))
      return 1;
  }
  return 0;
}

static void add_trace(lua_State *L, pawl_catch *caught) {
  static const char TAIL[] = "\n\t[C]: in ?"; /* our own way in */
  const size_t n = sizeof TAIL - 1;
  luaL_traceback(L, L, NULL, 1);
  pawl_str trace = pawl_strz(lua_tostring(L, -1));
  while (trace.len >= n && !memcmp(trace.at + trace.len - n, TAIL, n))
    trace.len -= n;
  pawl_failure_keep(caught->result ? &caught->result->trace : NULL,
                    caught->err->trace, sizeof caught->err->trace, trace);
  lua_pop(L, 1);
}

/* H9: a limit that was met, whatever else the code has made of it. */
void pawl_catch_limit(const pawl_host *host, pawl_catch *caught) {
  const pawl_meter *m = host->meter;
  char where[sizeof caught->err->where], trace[sizeof caught->err->trace];
  if (!m || !m->met) return;
  const int has_place = caught->rc == PAWL_LIMIT || caught->rc == PAWL_NOMEM ||
                        caught->rc == PAWL_INTERRUPTED;
  if (has_place) {
    memcpy(where, caught->err->where, sizeof where);
    memcpy(trace, caught->err->trace, sizeof trace);
  }
  caught->rc = pawl_meter_fail(m, caught->err);
  if (has_place) {
    memcpy(caught->err->where, where, sizeof where);
    memcpy(caught->err->trace, trace, sizeof trace);
  }
  if (!caught->result) return;
  caught->result->no_retry = !pawl_meter_is_innocent(m);
}

int pawl_catch_value(lua_State *L) {
  pawl_host *host = lua_touserdata(L, lua_upvalueindex(1));
  pawl_catch *caught = host->caught;
  const char *text = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : NULL;
  int status;
  assert(caught); /* H1: whoever runs Lua has said where errors go */
  if (host->meter && host->meter->met) {
    pawl_catch_limit(host, caught); /* H9: nothing of the script's is run */
  } else if (text && is_located(L, text, 1)) {
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
  if (!caught->err->trace[0]) add_trace(L, caught);
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
  pawl_fail(caught->err, caught->rc, "?");
  keep_message(caught, lua_type(L, -1) == LUA_TSTRING
                           ? lua_tostring(L, -1)
                           : "an error while handling an error");
}

/* ---- protected calls ---- */

pawl_code pawl_host_protect(pawl_host *host, lua_State *L, lua_CFunction f,
                            void *arg, int nargs, int nresults,
                            pawl_catch *caught) {
  pawl_catch *outer = host->caught;
  int base = lua_gettop(L) - nargs, status;
  assert(base >= 0 && caught->err);
  if (!lua_checkstack(L, LUA_MINSTACK)) {
    lua_settop(L, base);
    return caught->rc = pawl_fail(caught->err, PAWL_NOMEM,
                                  "not enough memory for Lua's stack");
  }
  caught->rc = PAWL_OK;
  host->caught = caught;
  pawl_host_push_anchor(host, L, PAWL_ANCHOR_CATCH);
  lua_insert(L, base + 1);
  lua_pushcfunction(L, f);
  lua_insert(L, base + 2);
  lua_pushlightuserdata(L, arg);
  lua_insert(L, base + 3);
  if (host->meter) pawl_meter_begin(host->meter, L, NULL);
  status = lua_pcall(L, nargs + 1, nresults, base + 1);
  host->caught = outer;
  if (status != LUA_OK) pawl_catch_status(caught, L, status);
  if (host->meter) {
    pawl_catch_limit(host, caught);
    pawl_meter_end(host->meter);
  }
  if (caught->rc == PAWL_OK)
    lua_remove(L, base + 1);
  else
    lua_settop(L, base);
  assert(lua_gettop(L) == base + (caught->rc == PAWL_OK ? nresults : 0));
  return caught->rc;
}
