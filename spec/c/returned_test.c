/* What the handlers return, each kind, and what they raise. */
#include "host_kit.h"

/* ---- results ---- */

static void what_a_handler_returns_is_taken(engine *e) {
  passes(e, "return 'yes', { n = 1, f = 1.0, s = 'x', list = { 1, 2 } }");
  CHECK_INT(e->result.has_transition, 1);
  CHECK_STR(pawl_buf_str(&e->result.transition), "yes");
  CHECK_STR(pawl_buf_str(&e->result.output),
            "{\"f\":1.0,\"list\":[1,2],\"n\":1,\"s\":\"x\"}");
  passes(e, "");
  CHECK(!e->result.has_transition && !e->result.has_output);
  passes(e, "return nil, false");
  CHECK(!e->result.has_transition && e->result.has_output);
  CHECK_STR(pawl_buf_str(&e->result.output), "false");
  passes(e, "return nil, 1, 2, 3");
  CHECK_STR(pawl_buf_str(&e->result.output), "1");
}

static void where_one_way_leads_on_one_value_is_the_output(engine *e) {
  e->call.one_way = 1;
  passes(e, "return { n = 1 }");
  CHECK(!e->result.has_transition);
  CHECK_STR(pawl_buf_str(&e->result.output), "{\"n\":1}");
  passes(e, "return 'go'");
  CHECK(!e->result.has_transition);
  CHECK_STR(pawl_buf_str(&e->result.output), "\"go\"");
  passes(e, "return false");
  CHECK_STR(pawl_buf_str(&e->result.output), "false");
  passes(e, "return nil, 7");
  CHECK_STR(pawl_buf_str(&e->result.output), "7");
  passes(e, "return 'go', 7"); /* which the rules do not find there */
  CHECK(e->result.has_transition && e->result.has_output);
  passes(e, "");
  CHECK(!e->result.has_transition && !e->result.has_output);
  fails(e, "return { x = 1 }, 7", PAWL_VALUE, "transition",
        "`run` returned a table as its transition", NULL);
  fails(e, "return { f = print }", PAWL_VALUE, "output.f", NULL, NULL);
  e->call.one_way = 0;
}

static void what_cannot_be_returned_is_said(engine *e) {
  fails(e, "return { x = 1 }", PAWL_VALUE, "transition",
        "`run` returned a table as its transition", NULL);
  CHECK_INT(e->result.no_retry, 1);
  fails(e, "return 7", PAWL_VALUE, "transition",
        "`run` returned a number as its transition", NULL);
  fails(e, "return nil, { f = { print } }", PAWL_VALUE, "output.f[1]", NULL,
        NULL);
  CHECK_INT(e->result.no_retry, 1);
  fails(e, "return nil, ('x'):rep(2000)", PAWL_LIMIT, NULL, NULL, NULL);
  CHECK_INT(e->result.no_retry, 1);
}

/* ---- the other handlers ---- */

static const char SPANS[] = HEAD
    "w:timer('t', { next = 'k', after = function(ctx)\n"
    "  return ctx.input.n end })\n"
    "w:task('k', { title = 'k', next = 'z', due = function(ctx)\n"
    "  return ctx.input.n end, timeout = function(ctx)\n"
    "  return ctx.input.n end })\n"
    "w:finish('z')\n"
    "return w";

static const char OTHERS[] = HEAD
    "w:choice('a', { next = { yes = 't', no = 'z' }, choose = function(ctx)\n"
    "  if ctx.input.set then ctx.vars.x = 1 end\n"
    "  if ctx.input.attr then ctx.attrs.x = 1 end\n"
    "  local n = ctx.vars.n\n"
    "  return ctx.input.answer end })\n"
    "w:timer('t', { next = 'z', at = function(ctx) return ctx.input.at end "
    "})\n"
    "w:finish('z', { output = function(ctx) return { ctx.input.n } end })\n"
    "return w";

static pawl_code call(engine *e, const char *node, pawl_handler handler,
                      const char *input) {
  e->call.node = node;
  e->call.handler = handler;
  e->call.input = pawl_strz(input);
  memset(&e->err, 0, sizeof e->err);
  return pawl_host_run(e->host, &e->call, &e->result, &e->err);
}

static void choices_timers_and_outputs_are_run(engine *e) {
  CHECK_INT(load(e, OTHERS), PAWL_OK);
  /* not as it would be written here */
  e->call.vars = pawl_strz("{ \"n\": 1 }");
  CHECK_INT(call(e, "a", PAWL_HANDLER_CHOOSE, "{\"answer\":\"yes\"}"),
            PAWL_OK);
  CHECK_STR(pawl_buf_str(&e->result.transition), "yes");
  CHECK_INT(e->result.vars_changed, 0);
  CHECK_INT(call(e, "a", PAWL_HANDLER_CHOOSE, "{}"), PAWL_OK);
  CHECK_INT(e->result.has_transition, 0);
  CHECK_INT(call(e, "a", PAWL_HANDLER_CHOOSE, "{\"answer\":1}"), PAWL_VALUE);
  CHECK_INT(call(e, "a", PAWL_HANDLER_CHOOSE, "{\"set\":true}"), PAWL_VALUE);
  CHECK_TEXT(e->err.message, "`choose` of node \"a\" changed ctx.vars");
  CHECK_INT(call(e, "a", PAWL_HANDLER_CHOOSE, "{\"attr\":true}"), PAWL_MISUSE);
  CHECK_INT(call(e, "t", PAWL_HANDLER_AT, "{\"at\":1764000000}"), PAWL_OK);
  CHECK_INT(e->result.at_us, INT64_C(1764000000000000));
  CHECK_INT(call(e, "t", PAWL_HANDLER_AT, "{\"at\":0.25}"), PAWL_OK);
  CHECK_INT(e->result.at_us, 250000);
  CHECK_INT(call(e, "t", PAWL_HANDLER_AT, "{\"at\":\"2025-11-24T16:00:00Z\"}"),
            PAWL_OK);
  CHECK_INT(e->result.at_us, INT64_C(1764000000000000));
  CHECK_INT(call(e, "t", PAWL_HANDLER_AT, "{\"at\":\"soon\"}"), PAWL_VALUE);
  CHECK_TEXT(e->err.message, "`at` returned a string as its time");
  CHECK_INT(call(e, "t", PAWL_HANDLER_AT, "{\"at\":-1}"), PAWL_VALUE);
  CHECK_INT(call(e, "t", PAWL_HANDLER_AT, "{\"at\":1e300}"), PAWL_VALUE);
  CHECK_INT(call(e, "t", PAWL_HANDLER_AT, "{}"), PAWL_VALUE);
  CHECK_INT(call(e, "z", PAWL_HANDLER_OUTPUT, "{\"n\":5}"), PAWL_OK);
  CHECK_STR(pawl_buf_str(&e->result.output), "[5]");
  e->call.node = "a";
  e->call.handler = PAWL_HANDLER_RUN;
  e->call.vars = e->call.input = pawl_strz("{}");
}

static void lasts(engine *e, const char *input, int64_t us) {
  CHECK_INT(call(e, "k", PAWL_HANDLER_TIMEOUT, input), PAWL_OK);
  CHECK_INT(e->result.has_lasts, us >= 0);
  if (us >= 0) CHECK_INT(e->result.lasts_us, us);
}

static void durations_are_read_as_they_are_written(engine *e) {
  CHECK_INT(load(e, SPANS), PAWL_OK);
  lasts(e, "{\"n\":90}", 90 * PAWL_SECOND);
  lasts(e, "{\"n\":0}", 0);
  lasts(e, "{\"n\":0.25}", 250000);
  lasts(e, "{\"n\":\"1h30m\"}", 5400 * PAWL_SECOND);
  lasts(e, "{}", -1);
  CHECK_INT(call(e, "k", PAWL_HANDLER_DUE, "{\"n\":\"2d\"}"), PAWL_OK);
  CHECK_INT(e->result.lasts_us, 2 * 86400 * PAWL_SECOND);
  CHECK_INT(call(e, "k", PAWL_HANDLER_TIMEOUT, "{\"n\":\"soon\"}"),
            PAWL_VALUE);
  CHECK_TEXT(e->err.message,
             "`timeout` returned no duration: 'soon' is not a duration");
  CHECK_TEXT(e->err.hint,
             "write seconds (90) or words like \"90s\", \"1h30m\", \"2d\"");
  CHECK_INT(e->result.no_retry, 1);
  CHECK_INT(call(e, "k", PAWL_HANDLER_DUE, "{\"n\":-3}"), PAWL_VALUE);
  CHECK_TEXT(e->err.message, "`due` returned no duration: -3 is negative");
  CHECK_INT(call(e, "k", PAWL_HANDLER_DUE, "{\"n\":[]}"), PAWL_VALUE);
  CHECK_INT(call(e, "k", PAWL_HANDLER_DUE, "{\"n\":1e300}"), PAWL_VALUE);
  CHECK_INT(call(e, "t", PAWL_HANDLER_AFTER, "{\"n\":5}"), PAWL_OK);
  CHECK_INT(e->result.lasts_us, 5 * PAWL_SECOND);
  CHECK_INT(call(e, "t", PAWL_HANDLER_AFTER, "{}"), PAWL_VALUE);
  CHECK_TEXT(e->err.message,
             "`after` returned no duration: a duration cannot be nil");
  e->call.node = "a";
  e->call.handler = PAWL_HANDLER_RUN;
  e->call.input = pawl_strz("{}");
}

/* ---- the other handlers ---- */

/* A definition as the host takes it of the builder, whatever kinds of nodes
 * that one knows: all handlers of node "a" run one body (ctx, e). */
static const char EVERY[] =
    "local f = function(ctx, e)\n%s\nend\n"
    "local t = { match = function(e, ctx) return f(ctx, e) end }\n"
    "for name in ('run undo choose at after timeout due output key prepare '\n"
    "    .. 'input items enough group')\n"
    "  :gmatch '%%a+' do t[name] = f end\n"
    "local graph = { code = 'test.flow', version = 1, start = 'a', line = 1,\n"
    "  nodes = { { name = 'a', kind = 'step', run = true, next = 'z' },\n"
    "    { name = 'z', kind = 'finish' } } }\n"
    "return setmetatable({}, { __name = 'pawl.workflow',\n"
    "  definition = function() return graph, { a = t }, {}, 'flow.lua' end })";

/* Runs one of its handlers with this body. */
static pawl_code runs(engine *e, pawl_handler handler, const char *body) {
  char text[2000];
  pawl_code rc;
  snprintf(text, sizeof text, EVERY, body);
  rc = load(e, text);
  if (!CHECK_INT(rc, PAWL_OK)) {
    printf("  %s: %s\n", e->err.where, e->err.message);
    return rc;
  }
  memset(&e->err, 0, sizeof e->err);
  e->call.handler = handler;
  rc = pawl_host_run(e->host, &e->call, &e->result, &e->err);
  pawl_host_unload(e->host, e->loaded.ref);
  e->call.handler = PAWL_HANDLER_RUN;
  return rc;
}

/* It must give this output; NULL: none. */
static void gives(engine *e, pawl_handler handler, const char *body,
                  const char *output) {
  if (!CHECK_INT(runs(e, handler, body), PAWL_OK))
    printf("  %s\n  %s: %s\n", body, e->err.where, e->err.message);
  CHECK_INT(e->result.has_output, output != NULL);
  if (output) CHECK_STR(pawl_buf_str(&e->result.output), output);
}

static void breaks(engine *e, pawl_handler handler, const char *body,
                   pawl_code code, const char *where, const char *message,
                   const char *hint) {
  if (!CHECK_INT(runs(e, handler, body), code)) printf("  %s\n", body);
  if (where) CHECK_TEXT(e->err.where, where);
  if (message) CHECK_TEXT(e->err.message, message);
  if (hint) CHECK_TEXT(e->err.hint, hint);
  CHECK(!e->result.has_output && !e->result.output.len && !e->result.truth);
  CHECK_INT(e->result.no_retry, code == PAWL_SCRIPT ? 0 : 1);
}

static void undo_sees_the_output_and_may_act(engine *e) {
  e->call.output = pawl_strz("{\"charge\":12}");
  CHECK_INT(runs(e, PAWL_HANDLER_UNDO,
                 "assert(ctx.output.charge == 12)\n"
                 "assert(ctx.output == ctx.output)\n"
                 "ctx.vars.n = 1 ctx.token.data.m = 2 ctx.attrs.a = 'b'\n"
                 "ctx.emit('refunded', ctx.output) ctx.start('order.undo')\n"
                 "return 'ignored', 'too'"),
            PAWL_OK);
  CHECK_STR(pawl_buf_str(&e->result.vars), "{\"n\":1}");
  CHECK_STR(pawl_buf_str(&e->result.data), "{\"m\":2}");
  CHECK_INT(e->result.attrs_changed, 1);
  CHECK_STR(pawl_buf_str(&e->result.emits),
            "[{\"payload\":{\"charge\":12},\"type\":\"refunded\"}]");
  CHECK(e->result.starts.len > 0);
  CHECK(!e->result.has_transition && !e->result.has_output);
  breaks(e, PAWL_HANDLER_UNDO, "ctx.output = 1", PAWL_MISUSE, NULL,
         "ctx.output cannot be set", NULL);
  e->call.output = pawl_strz("false");
  CHECK_INT(runs(e, PAWL_HANDLER_UNDO, "assert(ctx.output == false)"),
            PAWL_OK);
  e->call.output = (pawl_str){NULL, 0};
}

static void keys_and_inputs_are_values(engine *e) {
  gives(e, PAWL_HANDLER_KEY, "return 'A-1'", "\"A-1\"");
  gives(e, PAWL_HANDLER_KEY, "return 7", "7");
  gives(e, PAWL_HANDLER_KEY, "return false", "false");
  gives(e, PAWL_HANDLER_KEY, "return { 1 }", "[1]");
  gives(e, PAWL_HANDLER_KEY, "", NULL);
  breaks(e, PAWL_HANDLER_KEY, "return print", PAWL_VALUE, "key", NULL, NULL);
  gives(e, PAWL_HANDLER_INPUT, "return { n = ctx.vars.n or 1 }", "{\"n\":1}");
  gives(e, PAWL_HANDLER_INPUT, "return 'text'", "\"text\"");
  gives(e, PAWL_HANDLER_INPUT, "", NULL);
  breaks(e, PAWL_HANDLER_INPUT, "return { f = print }", PAWL_VALUE, "input.f",
         NULL, NULL);
  breaks(e, PAWL_HANDLER_INPUT, "return ('x'):rep(2000)", PAWL_LIMIT, "input",
         NULL, NULL);
}

static void a_match_is_asked_about_the_event(engine *e) {
  e->call.event = pawl_strz("{\"data\":{\"sum\":9},\"name\":\"p.card\"}");
  e->call.vars = pawl_strz("{\"sum\":9}");
  CHECK_INT(runs(e, PAWL_HANDLER_MATCH,
                 "assert(e == ctx.event and e.name == 'p.card')\n"
                 "return e.data.sum == ctx.vars.sum"),
            PAWL_OK);
  CHECK_INT(e->result.truth, 1);
  CHECK_INT(runs(e, PAWL_HANDLER_MATCH, "return e.data.sum == 8"), PAWL_OK);
  CHECK_INT(e->result.truth, 0);
  CHECK_INT(runs(e, PAWL_HANDLER_MATCH, "return 0"), PAWL_OK);
  CHECK_INT(e->result.truth, 1);
  CHECK_INT(runs(e, PAWL_HANDLER_MATCH, ""), PAWL_OK);
  CHECK_INT(e->result.truth, 0);
  breaks(e, PAWL_HANDLER_MATCH, "ctx.vars.sum = 1 return true", PAWL_VALUE,
         "vars", "`match` of node \"a\" changed ctx.vars", NULL);
  breaks(e, PAWL_HANDLER_MATCH, "error('no')", PAWL_SCRIPT, NULL, "no", NULL);
  e->call.vars = pawl_strz("{}");
  e->call.event = pawl_strz("{broken");
  breaks(e, PAWL_HANDLER_MATCH, "return true", PAWL_CORRUPT, "", NULL, NULL);
  e->call.event = (pawl_str){NULL, 0};
  CHECK_INT(runs(e, PAWL_HANDLER_MATCH, "return e == nil"), PAWL_OK);
  CHECK_INT(e->result.truth, 1);
}

static void a_task_is_prepared_by_an_object(engine *e) {
  static const char HINT[] =
      "return what differs, { title = ..., users = ... }, or nothing";
  gives(e, PAWL_HANDLER_PREPARE, "return { title = 'x', due = 5 }",
        "{\"due\":5,\"title\":\"x\"}");
  gives(e, PAWL_HANDLER_PREPARE, "return {}", "{}");
  gives(e, PAWL_HANDLER_PREPARE, "", NULL);
  breaks(e, PAWL_HANDLER_PREPARE, "return 'x'", PAWL_VALUE, "task",
         "`prepare` returned a string as its task", HINT);
  breaks(e, PAWL_HANDLER_PREPARE, "return { 'x' }", PAWL_VALUE, "task",
         "`prepare` returned a list as its task", HINT);
  breaks(e, PAWL_HANDLER_PREPARE, "return { form = print }", PAWL_VALUE,
         "task.form", NULL, NULL);
}

static void enough_is_a_verdict_and_a_sum(engine *e) {
  e->call.output = pawl_strz("{\"done\":2,\"sum\":[1]}");
  gives(e, PAWL_HANDLER_ENOUGH, "return e.done == 2, { e.sum[1], 5 }",
        "[1,5]");
  CHECK(e->result.truth);
  gives(e, PAWL_HANDLER_ENOUGH, "return e.done > 2", NULL);
  CHECK(!e->result.truth);
  breaks(e, PAWL_HANDLER_ENOUGH, "return false, print", PAWL_VALUE, "sum",
         NULL, NULL);
  e->call.output = pawl_strz("{\"done\":2");
  breaks(e, PAWL_HANDLER_ENOUGH, "return true", PAWL_CORRUPT, "", NULL, NULL);
  e->call.output = (pawl_str){NULL, 0};
}

static void items_are_a_list(engine *e) {
  static const char HINT[] =
      "return a list, { first, second, ... }; {} when there is nothing to do";
  gives(e, PAWL_HANDLER_ITEMS, "return { 1, 'x', { n = 1 } }",
        "[1,\"x\",{\"n\":1}]");
  gives(e, PAWL_HANDLER_ITEMS, "return {}", "[]");
  /* of vars an empty list comes marked */
  e->call.vars = pawl_strz("{\"list\":[]}");
  gives(e, PAWL_HANDLER_ITEMS, "return ctx.vars.list", "[]");
  e->call.vars = pawl_strz("{}");
  breaks(e, PAWL_HANDLER_ITEMS, "", PAWL_VALUE, "list",
         "`items` returned nil as its list", HINT);
  e->call.vars = pawl_strz("{\"list\":null}");
  breaks(e, PAWL_HANDLER_ITEMS, "return ctx.vars.list", PAWL_VALUE, "list",
         "`items` returned null as its list", HINT);
  e->call.vars = pawl_strz("{}");
  breaks(e, PAWL_HANDLER_ITEMS, "return 3", PAWL_VALUE, "list",
         "`items` returned a number as its list", HINT);
  breaks(e, PAWL_HANDLER_ITEMS, "return { n = 1 }", PAWL_VALUE, "items",
         "`items` returned a table with names", HINT);
  breaks(e, PAWL_HANDLER_ITEMS, "return { 1, print }", PAWL_VALUE, "items[2]",
         NULL, NULL);
  /* 16 times the host's 1000 bytes, quotes and brackets included */
  CHECK_INT(runs(e, PAWL_HANDLER_ITEMS, "return { ('x'):rep(15996) }"),
            PAWL_OK);
  CHECK_INT(e->result.output.len, 16000);
  breaks(e, PAWL_HANDLER_ITEMS, "return { ('x'):rep(15997) }", PAWL_LIMIT,
         "items", "larger than 16000 bytes as JSON", NULL);
  breaks(e, PAWL_HANDLER_ITEMS,
         "local t = {} for i = 1, 100001 do t[i] = 1 end return t", PAWL_LIMIT,
         "items", "`items` returned 100001 items; the limit is 100000",
         "give each item a part of the work, such as a page of 1000");
}

static void as_many_items_as_may_be_are_taken(void) {
  pawl_host_options options = {.max_bytes = 0}; /* no limit of bytes */
  engine e;
  begin(&e, 0, NULL);
  pawl_host_close(e.host);
  CHECK_INT(pawl_host_open(&options, &e.host, &e.err), PAWL_OK);
  CHECK_INT(runs(&e, PAWL_HANDLER_ITEMS,
                 "local t = {} for i = 1, 100000 do t[i] = 1 end return t"),
            PAWL_OK);
  CHECK_INT(e.result.output.len, 200001);
  end(&e);
}

/* Those that only look: whatever they would change is refused. */
static void other_handlers_change_nothing(engine *e) {
  static const struct {
    pawl_handler handler;
    const char *name;
  } PURE[] = {
      {PAWL_HANDLER_CHOOSE, "choose"}, {PAWL_HANDLER_AT, "at"},
      {PAWL_HANDLER_OUTPUT, "output"}, {PAWL_HANDLER_KEY, "key"},
      {PAWL_HANDLER_MATCH, "match"},   {PAWL_HANDLER_PREPARE, "prepare"},
      {PAWL_HANDLER_INPUT, "input"},   {PAWL_HANDLER_ITEMS, "items"},
      {PAWL_HANDLER_GROUP, "group"}};
  static const char *const FUNCTIONS[] = {"ctx.emit", "ctx.start"};
  char message[128], body[64];
  for (size_t i = 0; i < sizeof PURE / sizeof *PURE; i++) {
    for (int j = 0; j < 2; j++) {
      snprintf(message, sizeof message, "`%s` of node \"a\" called %s",
               PURE[i].name, FUNCTIONS[j]);
      snprintf(body, sizeof body, "%s('x')", FUNCTIONS[j]);
      breaks(e, PURE[i].handler, body, PAWL_MISUSE, NULL, message,
             "only the `run` of a step and `undo` may");
      CHECK(!e->result.emits.len && !e->result.starts.len);
    }
    snprintf(message, sizeof message,
             "`%s` of node \"a\" changed ctx.token.data", PURE[i].name);
    breaks(e, PURE[i].handler, "ctx.token.data.x = 1", PAWL_VALUE,
           "token.data", message,
           "only a step may: move it to the `run` of one");
    CHECK(!e->result.data_changed && !e->result.data.len);
    breaks(e, PURE[i].handler, "ctx.attrs.x = 1", PAWL_MISUSE, NULL,
           "only a step may change attributes", NULL);
  }
  /* written in another way, but the same */
  e->call.data = pawl_strz("{ \"n\": 1 }");
  gives(e, PAWL_HANDLER_KEY, "return ctx.token.data.n", "1");
  CHECK(!e->result.data_changed && !e->result.data.len);
  e->call.data = (pawl_str){NULL, 0};
}

/* ---- errors ---- */

static void errors_are_taken_apart(engine *e) {
  fails(e, "error('card refused')", PAWL_SCRIPT, "flow.lua:2", "card refused",
        "");
  CHECK(strstr(e->err.trace, "flow.lua:2: in ") != NULL);
  CHECK_TEXT(e->err.raised, "");
  CHECK_INT(e->result.no_retry, 0);
  CHECK_INT(e->result.retry_after_us, -1);
  fails(e, "error('no place', 0)", PAWL_SCRIPT, "flow.lua:2", "no place",
        NULL);
  fails(e, "error('late at 10:30: sorry', 0)", PAWL_SCRIPT, "flow.lua:2",
        "late at 10:30: sorry", NULL);
  fails(e, "error('other.lua:7: bad', 0)", PAWL_SCRIPT, "other.lua:7", "bad",
        NULL);
  fails(e, "error('two\\n\\tlines', 0)", PAWL_SCRIPT, NULL, "two lines", NULL);
  fails(e, "\nlocal x = nil + 1", PAWL_SCRIPT, "flow.lua:3",
        "attempt to perform arithmetic on a nil value", NULL);
  fails(e, "local function f() return f() + 1 end f()", PAWL_SCRIPT,
        "flow.lua:2", NULL, NULL);
  CHECK(strncmp(e->err.message, "stack overflow", 14) == 0);
  fails(e, "require 'no.such.module'", PAWL_SCRIPT, NULL,
        "module 'no.such.module' not found",
        "it is neither in package.path nor beside the workflow's file: "
        "install it, or correct its name");
}

/* As long as a message may be there: `tail` is what comes behind. */
static void long_errors_are_kept_whole(engine *e) {
  static const char *const raised[] = {
      "error(('m'):rep(9000) .. '\\nend', 0)",
      "error { message = ('m'):rep(9000) .. '\\nend' }",
      "error(setmetatable({}, { __tostring = function() return "
      "('m'):rep(9000) .. '\\nend' end }))",
      "error('flow.lua:9: ' .. ('m'):rep(9000) .. ' end', 0)"};
  for (size_t i = 0; i < sizeof raised / sizeof *raised; i++) {
    fails(e, raised[i], PAWL_SCRIPT, NULL, NULL, NULL);
    CHECK_INT(strlen(e->err.message), sizeof e->err.message - 1);
    CHECK_INT(e->result.message.len, 9004);
    CHECK_TEXT(e->result.message.at + 9000, " end");
  }
  fails(e, "error(('m'):rep(99999))", PAWL_SCRIPT, "flow.lua:2", NULL, NULL);
  CHECK_INT(e->result.message.len, PAWL_MAX_FAILURE);
  fails(e, "error('short')", PAWL_SCRIPT, NULL, "short", NULL);
  CHECK_INT(e->result.message.len, 0);
}

static void a_long_trace_is_kept_whole(engine *e) {
  fails(
      e,
      "local f = load('local n, some_function = ... if n == 0 then "
      "error([[deep]]) end "
      "some_function(n - 1, some_function) return n', '=' .. ('l'):rep(59))\n"
      "local function begin() f(19, f) return 1 end\nreturn begin() + 1",
      PAWL_SCRIPT, NULL, "deep", NULL);
  if (!CHECK(e->result.trace.len >= sizeof e->err.trace)) return;
  CHECK(strstr(e->result.trace.at, "'begin'") != NULL);
  CHECK(strstr(e->result.trace.at, PAWL_CUT) == NULL);
  CHECK(strstr(e->err.trace, PAWL_CUT) != NULL);
}

static void error_tables_say_what_they_mean(engine *e) {
  fails(e,
        "error { code = 'card_declined', message = 'no money', retry = false,"
        " hint = 'ask again', details = { left = 3 } }",
        PAWL_SCRIPT, "flow.lua:2", "no money", "ask again");
  CHECK_TEXT(e->err.raised, "card_declined");
  CHECK_INT(e->result.no_retry, 1);
  CHECK_STR(pawl_buf_str(&e->result.details), "{\"left\":3}");
  fails(e, "error { code = 'lease_lost', retry = '2m' }", PAWL_SCRIPT, NULL,
        "lease_lost", NULL);
  CHECK_TEXT(e->err.raised, "lease_lost");
  CHECK_INT(e->result.retry_after_us, 120000000);
  CHECK_INT(e->result.no_retry, 0);
  CHECK_INT(e->result.details.len, 0);
  fails(e, "error { code = 'x', retry = 1.5 }", PAWL_SCRIPT, NULL, NULL, NULL);
  CHECK_INT(e->result.retry_after_us, 1500000);
  fails(e, "error { code = 'x', retry = '2 minuts' }", PAWL_SCRIPT, NULL, NULL,
        "its retry was not used: '2 minuts' has an unknown unit 'minuts' (ms, "
        "s, m, h, d, w)");
  CHECK_INT(e->result.retry_after_us, -1);
  fails(e, "error { code = 'x', details = print }", PAWL_SCRIPT, NULL, NULL,
        NULL);
  CHECK_INT(e->result.details.len, 0);
  CHECK(strncmp(e->err.hint, "its details were not kept: ", 27) == 0);
  fails(e,
        "error(setmetatable({}, { __index = { code = 'c', message = 'm' } }))",
        PAWL_SCRIPT, "flow.lua:2", "m", NULL);
  CHECK_TEXT(e->err.raised, "c");
  fails(e, "error { message = 12 }", PAWL_SCRIPT, NULL, "12", "");
}

static void any_value_can_be_an_error(engine *e) {
  fails(e, "error()", PAWL_SCRIPT, "flow.lua:2", "the error raised is nil",
        "raise text, or { code =, message = }");
  fails(e, "error {}", PAWL_SCRIPT, "flow.lua:2",
        "the error raised is a table without a message",
        "raise text, or { code =, message = }");
  fails(e, "error { code = 3, message = {} }", PAWL_SCRIPT, NULL,
        "the error raised is a table without a message",
        "raise text, or { code =, message = }");
  fails(e, "error { code = 'odd', message = {} }", PAWL_SCRIPT, NULL, "odd",
        "");
  fails(e, "error(setmetatable({}, { __name = 'N' }))", PAWL_SCRIPT, NULL,
        "the error raised is a table without a message", NULL);
  fails(e, "error(print)", PAWL_SCRIPT, NULL, "the error raised is a function",
        "raise text, or { code =, message = }");
  fails(e, "error(coroutine.create(print))", PAWL_SCRIPT, NULL,
        "the error raised is a thread", NULL);
  fails(e, "error(12)", PAWL_SCRIPT, NULL, "the error raised is a number: 12",
        NULL);
  fails(e,
        "error(setmetatable({}, { __tostring = function() return 'T' end }))",
        PAWL_SCRIPT, NULL, "T", NULL);
  fails(e,
        "error(setmetatable({}, { __tostring = function() error('x') end }))",
        PAWL_SCRIPT, "flow.lua:2",
        "the error raised is a table that cannot be read", NULL);
  fails(e, "error(setmetatable({}, { __index = function() error('x') end }))",
        PAWL_SCRIPT, NULL, "the error raised is a table that cannot be read",
        NULL);
}

static void what_is_to_be_closed_is_closed(engine *e) {
  fails(e,
        "CLOSED = 0\n"
        "local x <close> = setmetatable({}, { __close = function()\n"
        "  CLOSED = CLOSED + 1 end })\nerror('no')",
        PAWL_SCRIPT, "flow.lua:5", "no", NULL);
  passes(e, "assert(CLOSED == 1)");
  fails(e,
        "local x <close> = setmetatable({}, { __close = function()\n"
        "  CLOSED = CLOSED + 1 end })\n\ncoroutine.yield(1)",
        PAWL_SCRIPT, "flow.lua:5", "the handler yielded",
        "handlers run to their end, or wait by ctx.await; yield only within "
        "coroutines of your own");
  CHECK(strstr(e->err.trace, "flow.lua:5") != NULL);
  passes(e, "assert(CLOSED == 2)");
}

/* As busted's spies are. */
static void what_can_be_called_is_a_handler(engine *e) {
  static const char SPIES[] = HEAD
      "local function spy(f)\n"
      "  return setmetatable({ calls = 0 }, { __call = function(self, ...)\n"
      "    self.calls = self.calls + 1\n"
      "    return f(self, ...)\n"
      "  end })\n"
      "end\n"
      "w:step('a', { next = 'z', run = spy(function(self, ctx)\n"
      "  return nil, self.calls .. ctx.node end) })\n"
      "return w:finish('z')";
  if (!CHECK_INT(load(e, SPIES), PAWL_OK)) return;
  for (int i = 1; i < 3; i++) {
    CHECK_INT(pawl_host_run(e->host, &e->call, &e->result, &e->err), PAWL_OK);
    CHECK_STR(pawl_buf_str(&e->result.output), i == 1 ? "\"1a\"" : "\"2a\"");
  }
  pawl_host_unload(e->host, e->loaded.ref);
}

static void a_missing_handler_is_said(engine *e) {
  e->call.handler = PAWL_HANDLER_AT;
  fails(e, "", PAWL_NO_HANDLER, NULL,
        "node \"a\" of test.flow has no `at` here", NULL);
  e->call.handler = PAWL_HANDLER_RUN;
  e->call.node = "b";
  fails(e, "", PAWL_NO_HANDLER, NULL, NULL, NULL);
  e->call.node = "a";
  e->call.ref = e->loaded.ref; /* unloaded by now */
  CHECK_INT(pawl_host_run(e->host, &e->call, &e->result, &e->err),
            PAWL_NO_HANDLER);
}

int main(void) {
  static void (*const tests[])(engine *) = {
      what_a_handler_returns_is_taken,
      where_one_way_leads_on_one_value_is_the_output,
      what_cannot_be_returned_is_said,
      errors_are_taken_apart,
      long_errors_are_kept_whole,
      a_long_trace_is_kept_whole,
      error_tables_say_what_they_mean,
      any_value_can_be_an_error,
      what_is_to_be_closed_is_closed,
      what_can_be_called_is_a_handler,
      a_missing_handler_is_said,
      choices_timers_and_outputs_are_run,
      durations_are_read_as_they_are_written,
      undo_sees_the_output_and_may_act,
      keys_and_inputs_are_values,
      a_match_is_asked_about_the_event,
      a_task_is_prepared_by_an_object,
      enough_is_a_verdict_and_a_sum,
      items_are_a_list,
      other_handlers_change_nothing};
  in_both_states(tests, sizeof tests / sizeof *tests);
  as_many_items_as_may_be_are_taken();
  return TEST_END;
}
