/* host_kit.h: what the engine would be for a host, and how its tests run
 * handlers. Most are run in both of a host's states: a private one, and one
 * that belongs to the program around it. */
#ifndef PAWL_SPEC_HOST_KIT_H
#define PAWL_SPEC_HOST_KIT_H

#define _XOPEN_SOURCE 700 /* mkdtemp, strdup */

#include <sys/stat.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "../../src/base/clock.h"
#include "../../src/host/host.h"

#include "test.h"

/* ---- what the engine would be ---- */

typedef struct engine {
  pawl_host *host;
  lua_State *own; /* the program's; NULL: the host has a private one */
  int64_t now_us;
  int cancelled;
  int ids; /* given out */
  pawl_code beat, query_rc, id_rc;
  const char *attrs;
  const char *rows;
  char log[512], progress[128], query[256];
  pawl_call call;
  pawl_loaded loaded;
  pawl_said result;
  pawl_error err;
} engine;

static inline int64_t serve_now(const pawl_call *call) {
  return ((engine *)call->services_ud)->now_us;
}

static inline void serve_log(const pawl_call *call, int level,
                             const char *message, const char *fields) {
  engine *e = call->services_ud;
  snprintf(e->log, sizeof e->log, "%d %s %s", level, message, fields);
}

static inline pawl_code serve_heartbeat(const pawl_call *call,
                                        pawl_str progress, int *cancelled,
                                        pawl_error *err) {
  engine *e = call->services_ud;
  snprintf(e->progress, sizeof e->progress, "%.*s", (int)progress.len,
           progress.at ? progress.at : "");
  *cancelled = e->cancelled;
  if (e->beat == PAWL_OK) return PAWL_OK;
  return pawl_fail(err, e->beat, "another executor has it");
}

static inline pawl_code serve_cancelled(const pawl_call *call, int *out,
                                        pawl_error *err) {
  (void)err;
  *out = ((engine *)call->services_ud)->cancelled;
  return PAWL_OK;
}

static inline pawl_code serve_attrs(const pawl_call *call, pawl_buf *out,
                                    pawl_error *err) {
  engine *e = call->services_ud;
  if (!e->attrs) return pawl_fail(err, PAWL_UNREACHABLE, "no store");
  pawl_buf_addz(out, e->attrs);
  return PAWL_OK;
}

static inline pawl_code serve_new_id(const pawl_call *call, char id[37],
                                     pawl_error *err) {
  engine *e = call->services_ud;
  if (e->id_rc != PAWL_OK) return pawl_fail(err, e->id_rc, "no ids left");
  snprintf(id, 37, "0190-child-%d", ++e->ids);
  return PAWL_OK;
}

static inline pawl_code serve_query(const pawl_call *call, pawl_str sql,
                                    pawl_str params, pawl_buf *out,
                                    int64_t *changed, pawl_error *err) {
  engine *e = call->services_ud;
  snprintf(e->query, sizeof e->query, "%.*s %.*s", (int)sql.len, sql.at,
           (int)params.len, params.at);
  if (e->query_rc != PAWL_OK) {
    pawl_fail(err, e->query_rc, "no such table: stock");
    pawl_error_sqlstate(err, "42P01");
    return e->query_rc;
  }
  pawl_buf_addz(out, e->rows);
  *changed = 2;
  return PAWL_OK;
}

static inline pawl_code serve_visits(const pawl_call *call, int64_t *out,
                                     pawl_error *err) {
  if (call->visit > 99)
    return pawl_fail(err, PAWL_UNREACHABLE, "the store is gone");
  *out = call->visit;
  return PAWL_OK;
}

static inline pawl_code serve_progress(const pawl_call *call, pawl_buf *out,
                                       pawl_error *err) {
  if (call->attempt > 99)
    return pawl_fail(err, PAWL_UNREACHABLE, "the store is gone");
  if (call->attempt > 1) pawl_buf_addf(out, "{\"at\":%d}", (int)call->attempt);
  return PAWL_OK;
}

static inline pawl_code serve_output(const pawl_call *call, pawl_str node,
                                     pawl_buf *out, pawl_error *err) {
  (void)call;
  if (pawl_str_eqz(node, "lost"))
    return pawl_fail(err, PAWL_NOTFOUND, "it was trimmed");
  if (pawl_str_eqz(node, "none")) return PAWL_OK;
  pawl_buf_addf(out, "{\"of\":\"%.*s\"}", (int)node.len, node.at);
  return PAWL_OK;
}

static inline pawl_code serve_callback(const pawl_call *call, pawl_str event,
                                       pawl_buf *out, pawl_error *err) {
  if (pawl_str_eqz(event, "lost"))
    return pawl_fail(err, PAWL_UNREACHABLE, "the store is gone");
  pawl_buf_addf(out, "t%d.%.*s", (int)call->visit, (int)event.len, event.at);
  return PAWL_OK;
}

static const pawl_services SERVICES = {.now = serve_now,
                                       .log = serve_log,
                                       .heartbeat = serve_heartbeat,
                                       .cancelled = serve_cancelled,
                                       .attrs = serve_attrs,
                                       .visits = serve_visits,
                                       .progress = serve_progress,
                                       .output = serve_output,
                                       .callback = serve_callback,
                                       .new_id = serve_new_id,
                                       .query = serve_query};

/* A program's own state: its `require` finds the files of this checkout. */
static inline lua_State *own_state(void) {
  static const char SETUP[] =
      "package.path = 'lua/?.lua;' .. package.path\n"
      "package.preload.pawl = function()\n"
      "  local typed = require 'pawl.typed'\n"
      "  return { workflow = require 'pawl.workflow', date = typed.date,\n"
      "           decimal = typed.decimal, binary = typed.binary }\n"
      "end\n";
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if (luaL_dostring(L, SETUP)) abort();
  return L;
}

/* What the engine gives the host, as ctx.start takes it. */
extern const pawl_options pawl_options_of_start;

static inline void begin(engine *e, int is_own, const pawl_alloc *alloc) {
  pawl_host_options options = {
      .alloc = alloc, .max_bytes = 1000, .start = &pawl_options_of_start};
  memset(e, 0, sizeof *e);
  if (is_own) options.lua = e->own = own_state();
  CHECK_INT(pawl_host_open(&options, &e->host, &e->err), PAWL_OK);
  pawl_said_init(&e->result, alloc);
  e->attrs = "{}";
  e->rows = "[]";
  e->now_us = INT64_C(1764000000500000);
  e->call = (pawl_call){.node = "a",
                        .handler = PAWL_HANDLER_RUN,
                        .id = "0190-id",
                        .workflow = "test.flow",
                        .version = 3,
                        .attempt = 2,
                        .visit = 4,
                        .token = 1,
                        .vars = {"{}", 2},
                        .input = {"{}", 2},
                        .services = &SERVICES,
                        .services_ud = e};
}

static inline void end(engine *e) {
  pawl_loaded_deinit(&e->loaded);
  pawl_said_deinit(&e->result);
  pawl_host_close(e->host);
  if (e->own) {
    CHECK_INT(lua_gettop(e->own), 0);
    lua_close(e->own);
  }
}

static inline pawl_code load(engine *e, const char *text) {
  pawl_code rc;
  pawl_str bundle = {NULL, 0};
  pawl_loaded_deinit(&e->loaded);
  rc = pawl_host_load_text(e->host, "flow.lua", pawl_strz(text), bundle, NULL,
                           &e->loaded, &e->err);
  if (rc == PAWL_OK) e->call.ref = e->loaded.ref;
  return rc;
}

#define HEAD                      \
  "local pawl = require 'pawl'; " \
  "local w = pawl.workflow { code = 'test.flow', start = 'a' }; "

/* Loads a workflow whose step "a" has this body (on line 2) and runs it. */
static inline pawl_code run(engine *e, const char *body) {
  char text[2000];
  pawl_code rc;
  snprintf(text, sizeof text,
           HEAD
           "w:step('a', { next = 'z', run = function(ctx)\n%s\nend }) "
           "w:finish('z') return w",
           body);
  rc = load(e, text);
  if (!CHECK_INT(rc, PAWL_OK)) {
    printf("  %s: %s\n", e->err.where, e->err.message);
    return rc;
  }
  memset(&e->err, 0, sizeof e->err);
  rc = pawl_host_run(e->host, &e->call, &e->result, &e->err);
  CHECK_INT(pawl_host_is_busy(e->host), 0);
  pawl_host_unload(e->host, e->loaded.ref);
  return rc;
}

/* The body must pass; else says why. */
static inline void passes(engine *e, const char *body) {
  if (!CHECK_INT(run(e, body), PAWL_OK))
    printf("  %s\n  %s: %s (%s)\n", body, e->err.where, e->err.message,
           e->err.hint);
}

/* The body must fail like this; NULL: whatever. */
static inline void fails(engine *e, const char *body, pawl_code code,
                         const char *where, const char *message,
                         const char *hint) {
  if (!CHECK_INT(run(e, body), code)) printf("  %s\n", body);
  CHECK_INT(e->err.code, code);
  if (where) CHECK_TEXT(e->err.where, where);
  if (message) CHECK_TEXT(e->err.message, message);
  if (hint) CHECK_TEXT(e->err.hint, hint);
  CHECK(!e->result.has_output && !e->result.vars_changed);
  CHECK(!e->result.data_changed && !e->result.data.len);
  CHECK(!e->result.emits.len && !e->result.starts.len);
}

static inline pawl_code run_loaded(engine *e) {
  memset(&e->err, 0, sizeof e->err);
  return pawl_host_run(e->host, &e->call, &e->result, &e->err);
}

/* Does each of these on a host of its own, in both states. */
static inline void in_both_states(void (*const *tests)(engine *e), size_t n) {
  for (int is_own = 0; is_own < 2; is_own++) {
    engine e;
    begin(&e, is_own, NULL);
    for (size_t i = 0; i < n; i++) tests[i](&e);
    end(&e);
  }
}

/* ---- files ---- */

static char folder[200]; /* of this test alone */

static const char *path_of(const char *name) {
  static char path[300];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static inline void write_file(const char *name, const char *text) {
  FILE *f = fopen(path_of(name), "wb");
  if (!f) abort();
  fputs(text, f);
  fclose(f);
}

static inline pawl_code load_file(engine *e, const char *name) {
  pawl_code rc;
  pawl_loaded_deinit(&e->loaded);
  rc = pawl_host_load_file(e->host, path_of(name), NULL, &e->loaded, &e->err);
  if (rc == PAWL_OK) e->call.ref = e->loaded.ref;
  return rc;
}

static inline void make_folder(void) {
  const char *tmp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/pawl-host-test-XXXXXX",
           tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(folder)) abort();
  mkdir(path_of("host_deep"), 0700);
}

static inline void remove_folder(void) {
  char command[300];
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  CHECK_INT(system(command), 0);
}

static inline void dofile_on(lua_State *L, const char *text) {
  if (luaL_dostring(L, text)) {
    printf("%s\n", lua_tostring(L, -1));
    abort();
  }
}

#endif
