/* A host's state, whose it is, and handlers that wait. */
#include "host_kit.h"

static int run_within(lua_State *L) {
  engine *e = lua_touserdata(L, lua_upvalueindex(1));
  pawl_said inner;
  pawl_said_init(&inner, NULL);
  CHECK_INT(pawl_host_is_busy(e->host), 1);
  pawl_host_use(e->host, L);
  CHECK_INT(pawl_host_run(e->host, &e->call, &inner, NULL), PAWL_MISUSE);
  pawl_said_deinit(&inner);
  return 0;
}

static void a_running_handler_is_known(void) {
  engine e;
  begin(&e, 1, NULL);
  lua_pushlightuserdata(e.own, &e);
  lua_pushcclosure(e.own, run_within, 1);
  lua_setglobal(e.own, "run_within");
  passes(&e, "run_within()");
  end(&e);
}

/* Called from a coroutine of the program, which is gone at the next call. */
static int run_from_here(lua_State *L) {
  engine *e = lua_touserdata(L, lua_upvalueindex(1));
  pawl_host_use(e->host, L);
  passes(e, "return nil, 1");
  fails(e, "error 'x'", PAWL_SCRIPT, NULL, "x", NULL);
  fails(e, "coroutine.yield()", PAWL_SCRIPT, NULL, NULL, NULL);
  return 0;
}

static void the_program_may_call_from_its_coroutines(void) {
  engine e;
  begin(&e, 1, NULL);
  lua_pushlightuserdata(e.own, &e);
  lua_pushcclosure(e.own, run_from_here, 1);
  lua_setglobal(e.own, "run_from_here");
  dofile_on(e.own,
            "for i = 1, 3 do coroutine.wrap(run_from_here)()"
            " collectgarbage() end");
  pawl_host_use(e.host, e.own);
  passes(&e, "return nil, 1");
  end(&e);
}

/* The host goes first; what it made in the state stays harmless. */
static void a_state_outlives_its_host(void) {
  engine e;
  lua_State *L;
  begin(&e, 1, NULL);
  passes(&e, "KEPT, LOG, REQUIRE = ctx, ctx.log, require");
  L = e.own;
  e.own = NULL;
  end(&e);
  dofile_on(L,
            "local ok, err = pcall(function() return KEPT.id end)\n"
            "assert(not ok and err.code == 'misuse')\n"
            "assert(not pcall(LOG, 'info', 'x'))\n"
            "assert(REQUIRE 'string' == string)");
  lua_close(L);
}

/* ---- only in a private state ---- */

static void a_private_state_has_pawl_and_the_libraries(void) {
  engine e;
  begin(&e, 0, NULL);
  passes(&e,
         "local pawl = require 'pawl'\n"
         "assert(io and os and debug and utf8 and pawl.null ~= nil)\n"
         "return nil, { pawl.array {}, {}, pawl.null }");
  CHECK_STR(pawl_buf_str(&e.result.output), "[[],{},null]");
  end(&e);
}

static void a_private_state_cannot_end_the_program(void) {
  engine e;
  begin(&e, 0, NULL);
  fails(&e, "os.exit(true)", PAWL_MISUSE, "flow.lua:2",
        "os.exit would end the whole program",
        "a handler ends by return, or fails by error { code =, message = }");
  CHECK_INT(e.result.no_retry, 1);
  CHECK_INT(load(&e, "\nos.exit(0)"), PAWL_MISUSE);
  CHECK_TEXT(e.err.where, "flow.lua:2");
  end(&e);
}

/* The folder of the definition that runs is where its modules are found,
 * however late they are asked for. */
static void a_private_path_follows_the_definition(void) {
  static const char FLOW[] =
      "local w = require 'pawl'.workflow { code = 'l', start = 'a' }\n"
      "return w:step('a', { next = 'z', run = function()\n"
      "  package.loaded.host_where = nil\n"
      "  return nil, _G.require 'host_where' end }):finish('z')\n";
  engine e;
  int first;
  begin(&e, 0, NULL);
  write_file("late.lua", FLOW);
  write_file("host_deep/late.lua", FLOW);
  write_file("host_where.lua", "return 'above'");
  write_file("host_deep/host_where.lua", "return 'below'");
  CHECK_INT(load_file(&e, "late.lua"), PAWL_OK);
  first = e.loaded.ref;
  CHECK_INT(load_file(&e, "host_deep/late.lua"), PAWL_OK);
  for (int i = 0; i < 2; i++) {
    CHECK_INT(run_loaded(&e), PAWL_OK);
    CHECK_STR(pawl_buf_str(&e.result.output), i ? "\"above\"" : "\"below\"");
    e.call.ref = first;
  }
  pawl_host_unload(e.host, first);
  end(&e);
}

typedef struct log_line {
  char text[100];
} log_line;

static void keep_line(void *ud, int level, const char *message,
                      const char *fields) {
  (void)fields;
  snprintf(((log_line *)ud)->text, 100, "%d %s", level, message);
}

static void warnings_of_a_private_state_are_logged(void) {
  log_line line = {""};
  pawl_log log = {keep_line, &line};
  pawl_host_options options = {
      .log = &log, .max_bytes = 1000, .start = &pawl_options_of_start};
  engine e;
  begin(&e, 0, NULL);
  pawl_host_close(e.host);
  CHECK_INT(pawl_host_open(&options, &e.host, NULL), PAWL_OK);
  passes(&e, "warn('@on') warn('take ', 'care')");
  CHECK_TEXT(line.text, "2 take care");
  end(&e);
}

/* Handlers that wait, two at a time; what each keeps is its own. */
static void handlers_may_wait(void) {
  static const char SCRIPT[] = HEAD
      "w:step('a', { next = 'z', run = function(ctx)\n"
      "local note <close> = setmetatable({}, { __close = function()\n"
      "closed = (closed or 0) + 1 end })\n"
      "ctx.vars.n = ctx.input + 1 ctx.emit('e', ctx.id)\n"
      "local got = ctx.await { fd = ctx.input, timeout = 2 }\n"
      "ctx.emit('f', got) return 'x', closed end })\n"
      "w:finish('z') return w";
  pawl_str none = {NULL, 0};
  engine e = {0};
  pawl_run *one, *two;
  pawl_error why;
  char id[8] = "i1", input[8] = "1";
  begin(&e, 0, NULL);
  CHECK_INT(pawl_host_load_text(e.host, "flow.lua", pawl_strz(SCRIPT), none,
                                NULL, &e.loaded, &e.err),
            PAWL_OK);
  e.call = (pawl_call){.ref = e.loaded.ref,
                       .node = "a",
                       .id = id,
                       .workflow = "w",
                       .vars = pawl_strz("{}"),
                       .input = pawl_strz(input),
                       .services = &SERVICES,
                       .services_ud = &e};
  CHECK_INT(pawl_host_begin(e.host, &e.call, &e.result, &one, &e.err),
            PAWL_OK);
  CHECK(one != NULL);
  CHECK_INT(pawl_run_await(one)->kind, PAWL_AWAIT_FD);
  CHECK_INT(pawl_run_await(one)->fd, 1);
  CHECK_INT(pawl_run_await(one)->events, PAWL_AWAIT_READ);
  CHECK_INT(pawl_run_await(one)->timeout_us, 2000000);
  CHECK_INT(e.result.emits.len, 0);
  CHECK_INT(pawl_host_is_busy(e.host), 0);
  strcpy(id, "i2"); /* the first one has its own copy */
  strcpy(input, "2");
  CHECK_INT(pawl_host_begin(e.host, &e.call, &e.result, &two, &e.err),
            PAWL_OK);
  CHECK(two != NULL && two != one);
  CHECK_INT(pawl_host_resume(&one, PAWL_AWAIT_READ, NULL, &e.result, &e.err),
            PAWL_OK);
  CHECK(one == NULL);
  CHECK_TEXT(e.result.vars.at, "{\"n\":2}");
  CHECK_TEXT(e.result.emits.at,
             "[{\"payload\":\"i1\",\"type\":\"e\"},"
             "{\"payload\":\"r\",\"type\":\"f\"}]");
  pawl_fail(&why, PAWL_CANCELLED, "enough");
  CHECK_INT(pawl_host_resume(&two, 0, &why, &e.result, &e.err),
            PAWL_CANCELLED);
  CHECK(two == NULL);
  CHECK_TEXT(e.err.message, "enough");
  CHECK_INT(e.result.vars_changed, 0);
  CHECK_INT(pawl_host_begin(e.host, &e.call, &e.result, &one, &e.err),
            PAWL_OK);
  pawl_host_abandon(one);
  CHECK_INT(pawl_host_begin(e.host, &e.call, &e.result, &one, &e.err),
            PAWL_OK);
  CHECK_INT(pawl_host_resume(&one, 0, NULL, &e.result, &e.err), PAWL_OK);
  CHECK_TEXT(e.result.output.at, "3"); /* closed before this one ended */
  CHECK_INT(pawl_host_run(e.host, &e.call, &e.result, &e.err), PAWL_MISUSE);
  CHECK_INT(pawl_host_begin(e.host, &e.call, &e.result, &one, &e.err),
            PAWL_OK);
  end(&e); /* abandons it */
}

/* From the fail_at-th request on nothing is granted: here and there among
 * the thousands that loading the definition takes, more often while its
 * handler runs. */
static void memory_may_end_anywhere(void) {
  int64_t loaded_at = PAWL_NEVER;
  int done = 0;
  for (int64_t n = PAWL_NEVER; !done;
       n = n == PAWL_NEVER ? 1 : n + (n + 97 < loaded_at ? 97 : 11)) {
    test_alloc state = {.fail_at = n, .for_ever = 1};
    pawl_alloc alloc = {test_alloc_fn, &state};
    pawl_host_options options = {
        .alloc = &alloc, .max_bytes = 1000, .start = &pawl_options_of_start};
    pawl_str none = {NULL, 0};
    engine e = {0};
    pawl_code rc = pawl_host_open(&options, &e.host, &e.err);
    pawl_said_init(&e.result, &alloc);
    if (rc == PAWL_OK)
      rc = pawl_host_load_text(
          e.host, "flow.lua",
          pawl_strz(
              HEAD "w:step('a', { next = 'z', run = function(ctx)\n"
                   "ctx.vars.n = 1 ctx.attrs.x = 'y'\n"
                   "ctx.token.data.n = 1 pcall(ctx.emit, 'e', 'p')\n"
                   "ctx.emit('e', 'p') ctx.start('c', 1,\n"
                   "{ attributes = { a = 1 }, delay = 1 })\n"
                   "ctx.await(1) if ctx.vars.n == 1 then error { code = 'c',\n"
                   "details = { 1 } } end end })\n"
                   "w:finish('z') return w"),
          none, NULL, &e.loaded, &e.err);
    if (n == PAWL_NEVER) loaded_at = state.requests;
    if (rc == PAWL_OK) {
      e.call = (pawl_call){.ref = e.loaded.ref,
                           .node = "a",
                           .id = "i",
                           .workflow = "w",
                           .vars = pawl_strz("{}"),
                           .input = pawl_strz("{}"),
                           .services = &SERVICES,
                           .services_ud = &e};
      e.attrs = "{}";
      pawl_run *run;
      rc = pawl_host_begin(e.host, &e.call, &e.result, &run, &e.err);
      if (run) rc = pawl_host_resume(&run, 0, NULL, &e.result, &e.err);
      done = n < PAWL_NEVER && rc == PAWL_SCRIPT && state.requests < n;
    }
    /* The script's own error may be all but its traceback. */
    if (rc == PAWL_SCRIPT)
      CHECK_TEXT(e.err.raised, "c");
    else
      CHECK_INT(rc, PAWL_NOMEM);
    pawl_loaded_deinit(&e.loaded);
    pawl_said_deinit(&e.result);
    pawl_host_close(e.host);
    CHECK_INT(state.live_bytes, 0);
    if (n > 100000 && n < PAWL_NEVER) abort();
  }
}

int main(void) {
  make_folder();
  a_running_handler_is_known();
  the_program_may_call_from_its_coroutines();
  a_state_outlives_its_host();
  a_private_state_has_pawl_and_the_libraries();
  a_private_state_cannot_end_the_program();
  a_private_path_follows_the_definition();
  warnings_of_a_private_state_are_logged();
  handlers_may_wait();
  memory_may_end_anywhere();
  remove_folder();
  return TEST_END;
}
