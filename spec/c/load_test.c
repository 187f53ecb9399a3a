/* Definitions from files, stored texts and objects. */
#include "host_kit.h"

/* ---- loading ---- */

static void refuses(engine *e, const char *text, const char *where,
                    const char *message, const char *hint) {
  if (!CHECK_INT(load(e, text), PAWL_DEFINITION)) printf("  %s\n", text);
  CHECK_INT(e->err.code, PAWL_DEFINITION);
  if (where) CHECK_TEXT(e->err.where, where);
  if (message) CHECK_TEXT(e->err.message, message);
  if (hint) CHECK_TEXT(e->err.hint, hint);
  CHECK(e->loaded.graph.len == 0 && e->loaded.source.len == 0);
}

static void a_file_that_is_no_workflow_is_refused(engine *e) {
  refuses(e, "local x = = 1", "flow.lua:1", "unexpected symbol near '='", "");
  refuses(e, "#!/usr/bin/env pawl\nx = = 1", "flow.lua:2", NULL, NULL);
  refuses(e, "\n\nerror 'no'", "flow.lua:3", "no", "");
  refuses(e, "\nerror {}", "flow.lua:2",
          "the error raised is a table without a message",
          "raise text, or { code =, message = }");
  refuses(e, "local x", "flow.lua",
          "flow.lua must return a workflow; it returned nil",
          "is `return` missing at its end?");
  refuses(e, "return { code = 'x' }", "flow.lua",
          "flow.lua must return a workflow; it returned a table",
          "return what pawl.workflow { ... } gave");
  refuses(e, "return setmetatable({}, { __name = 'pawl.workflow' })",
          "flow.lua", NULL, NULL);
  refuses(e, "\x1bLua", "flow.lua", "flow.lua is compiled Lua", NULL);
  refuses(e, "-- \xff", "flow.lua", "flow.lua is not UTF-8 (byte 4)", NULL);
  refuses(e, "\n" HEAD "w:step('a', {\n nxt = 'b' })", "flow.lua:2",
          "unknown field 'nxt' of step \"a\"", "did you mean 'next'?");
  refuses(e, HEAD "return w", "flow.lua:1",
          "workflow \"test.flow\" has no nodes", NULL);
  refuses(e, "require 'nowhere'", "flow.lua:1", "module 'nowhere' not found",
          NULL);
  refuses(e, "coroutine.yield()", "flow.lua:1", NULL, NULL);
  refuses(e, "local b <const> = 1; b = 2", "flow.lua:1", NULL, NULL);
}

static void the_graph_comes_with_lines_and_microseconds(engine *e) {
  CHECK_INT(load(e, "\xEF\xBB\xBF#!pawl\n" HEAD
                    "w:step('a', { next = 'z', timeout = '2m',\n"
                    "  run = function() end, retry = 2 })\nw:finish('z')\n"
                    "return w"),
            PAWL_OK);
  CHECK_STR(pawl_buf_str(&e->loaded.graph),
            "{\"code\":\"test.flow\",\"line\":2,\"nodes\":[{\"kind\":\"step\","
            "\"line\":2,\"name\":\"a\",\"next\":\"z\",\"retry\":{\"max\":2},"
            "\"run\":true,\"timeout\":120000000},{\"kind\":\"finish\","
            "\"line\":4,\"name\":\"z\"}],\"start\":\"a\",\"version\":1}");
  CHECK_STR(pawl_buf_str(&e->loaded.bundle), "{}");
  CHECK_TEXT(e->loaded.file, "flow.lua");
  CHECK_INT(e->loaded.is_inline, 0);
}

static void globals_of_a_file_are_the_state_s(engine *e) {
  CHECK_INT(load(e, "SEEN = string and 1; " HEAD "w:finish('a') return w"),
            PAWL_OK);
  passes(e, "assert(SEEN == 1 and _G.SEEN == 1)");
}

static void a_bundle_is_stored_and_private(engine *e) {
  static const char FLOW[] =
      "local pawl = require 'pawl'\n"
      "local rates = require 'host_rates'\n"
      "local plain = require 'host_plain'\n"
      "local w = pawl.workflow { code = 'b', start = 'a',\n"
      "  bundle = { 'host_rates', 'host_deep.inner' } }\n"
      "w:step('a', { next = 'z', run = function()\n"
      "  return nil, { rates.rate(), require('host_deep.inner').deep,\n"
      "    plain.name, require('host_late').late, require('host_rates') == "
      "rates }\n"
      "end })\nw:finish('z')\nreturn w\n";
  static const char RATES[] =
      "local deep = require 'host_deep.inner'\n"
      "return { rate = function() return deep.deep + 1 end }\n";
  pawl_loaded stored;
  write_file("bundle.lua", FLOW);
  write_file("host_rates.lua", RATES);
  write_file("host_deep/inner.lua", "return { deep = 6 }\n");
  write_file("host_plain.lua", "return { name = ... }\n");
  write_file("host_late.lua", "return { late = true }\n");
  if (!CHECK_INT(load_file(e, "bundle.lua"), PAWL_OK)) {
    printf("  %s: %s\n", e->err.where, e->err.message);
    return;
  }
  CHECK_STR(pawl_buf_str(&e->loaded.source), FLOW);
  CHECK_STR(pawl_buf_str(&e->loaded.bundle),
            "{\"host_deep.inner\":\"return { deep = 6 }\\n\",\"host_rates\":"
            "\"local deep = require 'host_deep.inner'\\nreturn { rate = "
            "function() return deep.deep + 1 end }\\n\"}");
  CHECK_STR(pawl_buf_str(&e->loaded.others),
            "{\"host_plain\":\"e9fc0cfafaa8f8be71f99c387110539ccd67d068"
            "c1aa4f3fcde3dfa9bd9e4908\"}");
  CHECK_INT(run_loaded(e), PAWL_OK);
  CHECK_STR(pawl_buf_str(&e->result.output), "[7,6,\"host_plain\",true,true]");
  /* as another worker would, where the files say something else */
  write_file("host_deep/inner.lua", "return { deep = 60 }\n");
  CHECK_INT(pawl_host_load_text(
                e->host, "bundle.lua", pawl_buf_str(&e->loaded.source),
                pawl_buf_str(&e->loaded.bundle), NULL, &stored, &e->err),
            PAWL_OK);
  e->call.ref = stored.ref;
  CHECK_INT(run_loaded(e), PAWL_OK);
  CHECK_STR(pawl_buf_str(&e->result.output), "[7,6,\"host_plain\",true,true]");
  CHECK_STR(pawl_buf_str(&stored.bundle), e->loaded.bundle.at);
  pawl_loaded_deinit(&stored);
}

static void stored_sources_win_over_files(engine *e) {
  static const char FLOW[] = HEAD
      "local m = require 'host_m' w:step('a', { next = 'z', "
      "run = function() return nil, m end }) w:finish('z') return w";
  pawl_str text = pawl_strz(FLOW);
  pawl_code rc;
  pawl_loaded_deinit(&e->loaded);
  rc = pawl_host_load_text(e->host, "f.lua", text,
                           pawl_strz("{\"host_m\":\"return 'stored'\"}"), NULL,
                           &e->loaded, &e->err);
  if (!CHECK_INT(rc, PAWL_OK)) return;
  CHECK_STR(pawl_buf_str(&e->loaded.bundle),
            "{\"host_m\":\"return 'stored'\"}");
  e->call.ref = e->loaded.ref;
  CHECK_INT(run_loaded(e), PAWL_OK);
  CHECK_STR(pawl_buf_str(&e->result.output), "\"stored\"");
  pawl_loaded_deinit(&e->loaded);
  rc = pawl_host_load_text(e->host, "f.lua", text,
                           pawl_strz("{\"host_m\":\"return =\"}"), NULL,
                           &e->loaded, &e->err);
  CHECK_INT(rc, PAWL_DEFINITION);
  CHECK_TEXT(e->err.where, "host_m.lua:1");
  rc = pawl_host_load_text(e->host, "f.lua", text,
                           pawl_strz("{\"host_m\":\"return false\"}"), NULL,
                           &e->loaded, &e->err);
  CHECK_INT(rc, PAWL_OK);
  e->call.ref = e->loaded.ref;
  CHECK_INT(run_loaded(e), PAWL_OK);
  CHECK_STR(pawl_buf_str(&e->result.output), "false");
  pawl_loaded_deinit(&e->loaded);
  rc = pawl_host_load_text(
      e->host, "f.lua", text,
      pawl_strz("{\"host_m\":\"return require 'host_m'\"}"), NULL, &e->loaded,
      &e->err);
  CHECK_INT(rc, PAWL_DEFINITION);
  CHECK_TEXT(e->err.message, "module 'host_m' requires itself");
  rc = pawl_host_load_text(e->host, "f.lua", text, pawl_strz("{"), NULL,
                           &e->loaded, &e->err);
  CHECK_INT(rc, PAWL_VALUE);
}

static void files_that_cannot_be_loaded_are_said(engine *e) {
  CHECK_INT(load_file(e, "none.lua"), PAWL_NOTFOUND);
  CHECK(strstr(e->err.message, "none.lua cannot be read") != NULL);
  CHECK_INT(load_file(e, "host_deep"), PAWL_INVALID);
  write_file("missing.lua",
             "return require 'pawl'.workflow { code = 'm', start = 'a',\n"
             "bundle = { 'host_nowhere' } }:finish('a')\n");
  CHECK_INT(load_file(e, "missing.lua"), PAWL_DEFINITION);
  CHECK_TEXT(e->err.message, "bundle: module 'host_nowhere' is not there");
  CHECK(strstr(e->err.where, "missing.lua:1") != NULL);
}

/* Every module of the same name is its own definition's, or the worker's. */
static void two_versions_keep_their_own_bundles(engine *e) {
  static const char FLOW[] =
      "local w = require 'pawl'.workflow { code = 'v', start = 'a',\n"
      "  bundle = { 'host_same' } }\n"
      "local m = require 'host_same'\n"
      "return w:step('a', { next = 'z', run = function()\n"
      "  return nil, m end }):finish('z')\n";
  int first;
  write_file("same.lua", FLOW);
  write_file("host_same.lua", "return 1");
  CHECK_INT(load_file(e, "same.lua"), PAWL_OK);
  first = e->loaded.ref;
  write_file("host_same.lua", "return 2");
  CHECK_INT(load_file(e, "same.lua"), PAWL_OK);
  CHECK_INT(run_loaded(e), PAWL_OK);
  CHECK_STR(pawl_buf_str(&e->result.output), "2");
  e->call.ref = first;
  CHECK_INT(run_loaded(e), PAWL_OK);
  CHECK_STR(pawl_buf_str(&e->result.output), "1");
}

/* ---- only in a program's own state ---- */

static void an_object_of_the_program_is_inline(void) {
  engine e;
  begin(&e, 1, NULL);
  dofile_on(e.own,
            "calls = 0\nlocal w = require 'pawl'.workflow {"
            " code = 'inline', start = 'a' }\n"
            "w:step('a', { next = 'z', run = function() calls = calls + 1 end"
            " })\nreturn w:finish('z')");
  CHECK_INT(pawl_host_load_stack(e.host, e.own, &e.loaded, &e.err), PAWL_OK);
  CHECK_INT(lua_gettop(e.own), 0);
  CHECK_INT(e.loaded.is_inline, 1);
  CHECK_INT(e.loaded.source.len, 0);
  CHECK_STR(pawl_buf_str(&e.loaded.bundle), "{}");
  e.call.ref = e.loaded.ref;
  CHECK_INT(run_loaded(&e), PAWL_OK);
  lua_getglobal(e.own, "calls");
  CHECK_INT(lua_tointeger(e.own, -1), 1);
  lua_pop(e.own, 1);
  pawl_loaded_deinit(&e.loaded);
  lua_pushinteger(e.own, 7);
  CHECK_INT(pawl_host_load_stack(e.host, e.own, &e.loaded, &e.err),
            PAWL_DEFINITION);
  CHECK_TEXT(e.err.message, "a number is not a workflow");
  CHECK_INT(lua_gettop(e.own), 0);
  end(&e);
}

static void an_object_of_a_module_is_its_file(void) {
  engine e;
  char text[400];
  begin(&e, 1, NULL);
  write_file(
      "host_module.lua",
      "local w = require 'pawl'.workflow { code = 'mod', start = 'a' }\n"
      "HITS = 0\n"
      "return w:step('a', { next = 'z', run = function()\n"
      "  HITS = HITS + 1 end }):finish('z')\n");
  snprintf(text, sizeof text,
           "package.path = '%s/?.lua;' .. package.path\n"
           "return (require 'host_module')",
           folder);
  dofile_on(e.own, text);
  if (!CHECK_INT(pawl_host_load_stack(e.host, e.own, &e.loaded, &e.err),
                 PAWL_OK)) {
    printf("  %s: %s\n", e.err.where, e.err.message);
    return;
  }
  CHECK_INT(e.loaded.is_inline, 0);
  CHECK(strncmp(e.loaded.source.at, "local w = require", 17) == 0);
  e.call.ref = e.loaded.ref;
  CHECK_INT(run_loaded(&e), PAWL_OK);
  pawl_loaded_deinit(&e.loaded);
  /* the file was edited since: the object is what it was */
  write_file(
      "host_module.lua",
      "local w = require 'pawl'.workflow { code = 'mod', start = 'a' }\n"
      "HITS = 0\n"
      "return w:step('a', { next = 'z', run = function()\n"
      "  HITS = HITS + 2 end }):finish('z')\n");
  dofile_on(e.own, "return (require 'host_module')");
  CHECK_INT(pawl_host_load_stack(e.host, e.own, &e.loaded, &e.err), PAWL_OK);
  CHECK_INT(e.loaded.is_inline, 1);
  end(&e);
}

static void the_program_s_path_is_left_as_it_was(void) {
  engine e;
  char *before;
  begin(&e, 1, NULL);
  lua_getglobal(e.own, "package");
  lua_getfield(e.own, -1, "path");
  before = strdup(lua_tostring(e.own, -1));
  lua_settop(e.own, 0);
  stored_sources_win_over_files(&e);
  a_bundle_is_stored_and_private(&e);
  files_that_cannot_be_loaded_are_said(&e);
  lua_getglobal(e.own, "package");
  lua_getfield(e.own, -1, "path");
  CHECK_TEXT(lua_tostring(e.own, -1), before);
  lua_settop(e.own, 0);
  free(before);
  end(&e);
}

static void an_object_of_another_state_is_refused(void) {
  lua_State *L = own_state();
  engine e;
  begin(&e, 0, NULL);
  lua_newtable(L);
  CHECK_INT(pawl_host_load_stack(e.host, L, &e.loaded, &e.err), PAWL_MISUSE);
  CHECK_INT(lua_gettop(L), 0);
  end(&e);
  lua_close(L);
}

int main(void) {
  static void (*const tests[])(engine *) = {
      a_file_that_is_no_workflow_is_refused,
      the_graph_comes_with_lines_and_microseconds,
      globals_of_a_file_are_the_state_s,
      a_bundle_is_stored_and_private,
      stored_sources_win_over_files,
      files_that_cannot_be_loaded_are_said,
      two_versions_keep_their_own_bundles};
  make_folder();
  in_both_states(tests, sizeof tests / sizeof *tests);
  an_object_of_the_program_is_inline();
  an_object_of_a_module_is_its_file();
  the_program_s_path_is_left_as_it_was();
  an_object_of_another_state_is_refused();
  remove_folder();
  return TEST_END;
}
