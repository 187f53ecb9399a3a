/* What a handler sees and does through ctx. */
#include "host_kit.h"

static void variables_are_taken_when_they_changed(engine *e) {
  e->call.vars = pawl_strz("{\"list\":[],\"n\":1,\"x\":null}");
  passes(e, "");
  CHECK_INT(e->result.vars_changed, 0);
  passes(e, "local n = ctx.vars.n; assert(ctx.vars == ctx.vars)");
  CHECK_INT(e->result.vars_changed, 0);
  passes(e, "ctx.vars.n = ctx.vars.n + 1");
  CHECK_INT(e->result.vars_changed, 1);
  CHECK_STR(pawl_buf_str(&e->result.vars), "{\"list\":[],\"n\":2,\"x\":null}");
  passes(e, "ctx.vars = { only = true }");
  CHECK_STR(pawl_buf_str(&e->result.vars), "{\"only\":true}");
  passes(e, "ctx.vars = {}");
  CHECK_STR(pawl_buf_str(&e->result.vars), "{}");
  fails(e, "ctx.vars = { 1, 2 }", PAWL_VALUE, "vars", "ctx.vars is a list",
        NULL);
  fails(e, "ctx.vars.items = { {}, {}, { cb = print } }", PAWL_VALUE,
        "vars.items[3].cb", NULL, NULL);
  CHECK_INT(e->result.no_retry, 1);
  fails(e, "ctx.vars = nil", PAWL_VALUE, "vars",
        "ctx.vars must be a table, not a nil", "to empty it: ctx.vars = {}");
  fails(e, "ctx.vars.big = ('x'):rep(2000)", PAWL_LIMIT, NULL, NULL, NULL);
  fails(e, "ctx.vars.n = 2; error('no')", PAWL_SCRIPT, "flow.lua:2", "no",
        NULL);
  e->call.vars = pawl_strz("{}");
}

static void a_handler_sees_its_call(engine *e) {
  e->call.input = pawl_strz("{\"price\":3}");
  e->call.tenant = pawl_strz("acme");
  e->call.group = pawl_strz("fast");
  e->call.executor = pawl_strz("0190-executor");
  passes(e,
         "assert(ctx.id == '0190-id' and ctx.workflow == 'test.flow')\n"
         "assert(ctx.version == 3 and ctx.node == 'a' and ctx.attempt == 2)\n"
         "assert(ctx.visit == 4 and ctx.token.no == 1)\n"
         "assert(ctx.progress.at == 2 and ctx.progress == ctx.progress)\n"
         "assert(ctx.tenant == 'acme' and ctx.correlation == nil)\n"
         "assert(ctx.parent == nil and ctx.group == 'fast')\n"
         "assert(ctx.executor == '0190-executor')\n"
         "assert(ctx.input.price == 3 and ctx.input == ctx.input)\n"
         "assert(ctx.now() == 1764000000.5)\n"
         "assert(ctx.callback('paid') == 't4.paid')\n"
         "assert(ctx.idempotency_key() == '0190-id/1/4')\n"
         "assert(ctx.cancelled() == false)\n"
         "assert(tostring(ctx) == 'pawl.ctx: 0190-id, node a')\n"
         "assert(getmetatable(ctx) == false)\n");
  e->cancelled = 1;
  passes(e, "assert(ctx.cancelled() == true)");
  e->cancelled = 0;
}

static void ctx_refuses_what_it_does_not_know(engine *e) {
  fails(e, "ctx.vasr.x = 1", PAWL_MISUSE, "flow.lua:2",
        "ctx has no field 'vasr'", "did you mean 'vars'?");
  fails(e, "\nlocal x = ctx[print]", PAWL_MISUSE, "flow.lua:3", NULL, NULL);
  fails(e, "ctx.id = 'x'", PAWL_MISUSE, "flow.lua:2", "ctx.id cannot be set",
        "what is to be kept goes into ctx.vars");
  fails(e, "ctx.total = 1", PAWL_MISUSE, "flow.lua:2",
        "ctx has no field 'total'", NULL);
  fails(e, "local x = ctx.db", PAWL_MISUSE, "flow.lua:2",
        "node \"a\" is not transactional: it has no ctx.db",
        "write transactional = true into its options");
}

static void a_ctx_does_not_outlive_its_handler(engine *e) {
  passes(e, "KEPT, LOG, ATTRS = ctx, ctx.log, ctx.attrs");
  fails(e, "local x = KEPT.id", PAWL_MISUSE, "flow.lua:2",
        "ctx was used after its handler had ended",
        "copy what is needed later out of ctx");
  fails(e, "KEPT.vars = {}", PAWL_MISUSE, NULL, NULL, NULL);
  fails(e, "LOG('info', 'x')", PAWL_MISUSE, NULL, NULL, NULL);
  fails(e, "local x = ATTRS.x", PAWL_MISUSE, NULL, NULL, NULL);
  passes(e, "assert(tostring(KEPT) == 'pawl.ctx: ended')");
}

/* ---- services ---- */

static void ctx_log_reaches_the_log(engine *e) {
  passes(e, "ctx.log('warn', 'slow', { ms = 5 })");
  CHECK_TEXT(e->log, "2 slow {\"ms\":5}");
  passes(e, "ctx.log('debug', 'x') coroutine.wrap(ctx.log)('info', 'y')");
  CHECK_TEXT(e->log, "1 y {}");
  fails(e, "ctx.log('inof', 'x')", PAWL_MISUSE, "flow.lua:2",
        "ctx.log has no level 'inof'", "did you mean 'info'?");
  fails(e, "ctx.log('hi')", PAWL_MISUSE, "flow.lua:2",
        "ctx.log has no level 'hi'",
        "the level comes first: ctx.log(\"info\", ...)");
  fails(e, "ctx:log('info', 'hi')", PAWL_MISUSE, "flow.lua:2",
        "ctx.log is called with a dot, not a colon",
        "ctx.log(\"info\", message)");
  fails(e, "ctx.log('info', 'x', { f = print })", PAWL_VALUE, "fields.f", NULL,
        NULL);
}

static void a_service_s_error_is_raised_as_an_object(engine *e) {
  passes(e, "ctx.heartbeat({ done = 3 })");
  CHECK_TEXT(e->progress, "{\"done\":3}");
  passes(e, "ctx.heartbeat()");
  CHECK_TEXT(e->progress, "");
  fails(e, "ctx:heartbeat()", PAWL_MISUSE, "flow.lua:2",
        "ctx.heartbeat is called with a dot, not a colon",
        "ctx.heartbeat(progress)");
  e->beat = PAWL_LEASE_LOST;
  fails(e, "ctx.heartbeat()", PAWL_LEASE_LOST, "flow.lua:2",
        "another executor has it", NULL);
  CHECK(strstr(e->err.trace, "flow.lua:2") != NULL);
  passes(e,
         "local ok, err = pcall(ctx.heartbeat)\n"
         "assert(not ok and err.code == 'lease_lost')\n"
         "assert(tostring(err) ==\n"
         "  'lease_lost: flow.lua:2: another executor has it')\n"
         "assert(err.hint == nil)");
  fails(e, "local ok, err = pcall(ctx.heartbeat) error(err)", PAWL_LEASE_LOST,
        NULL, "another executor has it", NULL);
  e->beat = PAWL_OK;
}

static void attributes_are_read_once_and_written_as_they_are(engine *e) {
  e->attrs =
      "{\"city\":{\"type\":\"string\",\"value\":\"Ulm\"},"
      "\"due\":{\"type\":\"date\",\"value\":1764000000000000},"
      "\"key\":{\"type\":\"binary\",\"value\":\"AP8=\"},"
      "\"price\":{\"type\":\"decimal\",\"value\":\"9.90\"},"
      "\"n\":{\"type\":\"integer\",\"value\":3}}";
  passes(e,
         "local a = ctx.attrs\n"
         "assert(a.city == 'Ulm' and a.n == 3 and a.none == nil)\n"
         "assert(a.key == '\\0\\xff' and a.price == '9.90')\n"
         "assert(a.due == '2025-11-24T16:00:00.000000Z')\n"
         "local n = 0 for k, v in pairs(a) do n = n + 1; a[k] = nil end\n"
         "assert(n == 5 and a.city == nil)");
  CHECK_INT(e->result.attrs_changed, 1);
  passes(e, "local x = ctx.attrs.city");
  CHECK_INT(e->result.attrs_changed, 0);
  passes(
      e,
      "local pawl, a = require 'pawl', ctx.attrs\n"
      "a.city = nil a.s = 'x' a.i = 7 a.f = 0.5 a.b = true\n"
      "a.d = pawl.decimal '1.50' a.t = pawl.date '2026-01-31'\n"
      "a.y = pawl.binary '\\0\\xff'\n"
      "assert(a.city == nil and a.s == 'x' and a.i == 7 and a.d == '1.50')\n"
      "assert(a.y == '\\0\\xff' and a.t == '2026-01-31T00:00:00.000000Z')");
  CHECK_STR(pawl_buf_str(&e->result.attrs),
            "{\"b\":{\"type\":\"boolean\",\"value\":true},"
            "\"city\":null,"
            "\"d\":{\"type\":\"decimal\",\"value\":\"1.50\"},"
            "\"f\":{\"type\":\"float\",\"value\":0.5},"
            "\"i\":{\"type\":\"integer\",\"value\":7},"
            "\"s\":{\"type\":\"string\",\"value\":\"x\"},"
            "\"t\":{\"type\":\"date\",\"value\":1769817600000000},"
            "\"y\":{\"type\":\"binary\",\"value\":\"AP8=\"}}");
  fails(e, "ctx.attrs.x = {}", PAWL_VALUE, "attrs.x", NULL, NULL);
  fails(e, "ctx.attrs.x = 0/0", PAWL_VALUE, "attrs.x", NULL, NULL);
  fails(e, "ctx.attrs.x = '\\xff'", PAWL_VALUE, "attrs.x", NULL,
        "give bytes as pawl.binary(bytes)");
  fails(e, "ctx.attrs[''] = 1", PAWL_VALUE, NULL, NULL, NULL);
  e->attrs = NULL;
  fails(e, "local x = ctx.attrs.x", PAWL_UNREACHABLE, NULL, "no store", NULL);
  e->attrs = "{}";
}

static void a_transactional_handler_has_sql(engine *e) {
  e->call.transactional = 1;
  e->rows = "[{\"id\":1,\"name\":null},{\"id\":2,\"name\":\"x\"}]";
  passes(e,
         "local pawl = require 'pawl'\n"
         "local rows, changed = ctx.db:query('select ?', 1, nil, 'x', 1.5,\n"
         "  true, pawl.decimal '2.50', nil)\n"
         "assert(#rows == 2 and changed == 2 and rows[2].name == 'x')");
  CHECK_TEXT(e->query, "select ? [1,null,\"x\",1.5,true,\"2.50\",null]");
  fails(e, "ctx.db:query('select ?', {})", PAWL_VALUE, "parameter 1", NULL,
        NULL);
  CHECK_INT(e->result.no_retry, 1);
  fails(e, "ctx.db.query('select 1')", PAWL_MISUSE, "flow.lua:2",
        "ctx.db:query is called with a colon",
        "ctx.db:query(\"select ...\", ...)");
  CHECK_INT(e->result.no_retry, 1);
  fails(e, "ctx.db:queri('x')", PAWL_MISUSE, "flow.lua:2",
        "ctx.db has no field 'queri'", "did you mean 'query'?");
  e->query_rc = PAWL_STORE;
  fails(e, "ctx.db:query('select * from stock')", PAWL_STORE, "flow.lua:2",
        "no such table: stock", NULL);
  CHECK_TEXT(e->err.sqlstate, "42P01");
  CHECK_INT(e->result.no_retry, 0);
  e->query_rc = PAWL_LIMIT;
  fails(e, "ctx.db:query('select 1')", PAWL_LIMIT, NULL, NULL, NULL);
  CHECK_INT(e->result.no_retry, 1);
  fails(e,
        "local ok, err = pcall(ctx.db.query, ctx.db, 'select 1')\n"
        "err.retry = 5\nerror(err)",
        PAWL_LIMIT, NULL, NULL, NULL);
  CHECK_INT(e->result.no_retry, 0);
  CHECK_INT(e->result.retry_after_us, 5000000);
  e->query_rc = PAWL_OK;
  e->call.transactional = 0;
}

/* ---- tokens, events, undo ---- */

static void the_token_s_data_is_taken_when_it_changed(engine *e) {
  passes(e,
         "assert(ctx.token == ctx.token and ctx.token.no == 1)\n"
         "assert(ctx.token.branch == nil)\n"
         "assert(next(ctx.token.data) == nil)\n"
         "assert(getmetatable(ctx.token) == false)");
  CHECK(!e->result.data_changed && !e->result.data.len);
  e->call.branch = "ship";
  e->call.data = pawl_strz("{\"item\":7,\"list\":[],\"x\":null}");
  passes(e,
         "assert(ctx.token.branch == 'ship' and ctx.token.data.item == 7)\n"
         "assert(ctx.token.data == ctx.token.data)");
  CHECK_INT(e->result.data_changed, 0);
  passes(e, "ctx.token.data.item = ctx.token.data.item + 1.5");
  CHECK_INT(e->result.data_changed, 1);
  CHECK_INT(e->result.vars_changed, 0);
  CHECK_STR(pawl_buf_str(&e->result.data),
            "{\"item\":8.5,\"list\":[],\"x\":null}");
  passes(e, "ctx.token.data = { n = 1 } ctx.token.data.m = 2");
  CHECK_STR(pawl_buf_str(&e->result.data), "{\"m\":2,\"n\":1}");
  passes(e, "ctx.token.data = {}");
  CHECK_STR(pawl_buf_str(&e->result.data), "{}");
  fails(e, "ctx.token.data.x = print", PAWL_VALUE, "token.data.x",
        "a function cannot be stored", NULL);
  CHECK_INT(e->result.no_retry, 1);
  fails(e, "ctx.token.data = { 1 }", PAWL_VALUE, "token.data",
        "ctx.token.data is a list",
        "what it holds has names: ctx.token.data.items = { ... }");
  fails(e, "ctx.token.data = 5", PAWL_VALUE, "token.data",
        "ctx.token.data must be a table, not a number",
        "to empty it: ctx.token.data = {}");
  fails(e, "ctx.token.data.big = ('x'):rep(2000)", PAWL_LIMIT, "token.data",
        NULL, NULL);
  fails(e, "ctx.token.no = 2", PAWL_MISUSE, "flow.lua:2",
        "ctx.token.no cannot be set",
        "what the token is to keep goes into ctx.token.data");
  fails(e, "ctx.token.dta = {}", PAWL_MISUSE, "flow.lua:2",
        "ctx.token has no field 'dta'", "did you mean 'data'?");
  fails(e, "return ctx.token[1]", PAWL_MISUSE, "flow.lua:2",
        "ctx.token has no field '1'", "known: branch, data, no");
  fails(e, "ctx.token = {}", PAWL_MISUSE, NULL, "ctx.token cannot be set",
        NULL);
  fails(e, "ctx.vars.n = 1 ctx.token.data.n = 1 error('no')", PAWL_SCRIPT,
        "flow.lua:2", "no", NULL);
  passes(e, "kept = ctx.token");
  fails(e, "return kept.data", PAWL_MISUSE, "flow.lua:2",
        "ctx was used after its handler had ended", NULL);
  passes(e, "kept = nil");
  e->call.branch = NULL;
  e->call.data = (pawl_str){NULL, 0};
}

/* What is not asked for is not decoded: broken text does no harm. */
static void values_are_decoded_when_asked_for(engine *e) {
  e->call.vars = e->call.input = e->call.event = e->call.output =
      e->call.data = pawl_strz("{broken");
  passes(e, "return nil, ctx.token.no");
  fails(e, "return ctx.vars", PAWL_CORRUPT, "flow.lua:2", NULL, NULL);
  fails(e, "return ctx.input", PAWL_CORRUPT, "flow.lua:2", NULL, NULL);
  fails(e, "return ctx.event", PAWL_CORRUPT, "flow.lua:2", NULL, NULL);
  fails(e, "return ctx.token.data", PAWL_CORRUPT, "flow.lua:2", NULL, NULL);
  e->call.vars = e->call.input = pawl_strz("{}");
  e->call.event = e->call.output = e->call.data = (pawl_str){NULL, 0};
}

static void outputs_are_asked_for_by_their_nodes(engine *e) {
  passes(e,
         "local output = ctx.output\n"
         "assert(output == ctx.output and output.charge.of == 'charge')\n"
         "assert(output.charge == output.charge and output.none == nil)\n"
         "assert(output['a b'].of == 'a b')");
  fails(e, "return ctx.output.lost", PAWL_NOTFOUND, "flow.lua:2",
        "it was trimmed", NULL);
  fails(e, "return ctx.output[1]", PAWL_MISUSE, "flow.lua:2",
        "ctx.output has outputs by the names of nodes", "ctx.output.charge");
  fails(e, "ctx.output.charge = 1", PAWL_MISUSE, "flow.lua:2",
        "ctx.output cannot be changed",
        "a step's output is what its `run` returns");
}

static void an_event_is_seen_and_stays(engine *e) {
  passes(e, "assert(ctx.event == nil)");
  e->call.event = pawl_strz(
      "{\"data\":{\"sum\":9.5},\"key\":\"k\","
      "\"name\":\"payment.card\"}");
  passes(e,
         "assert(ctx.event.name == 'payment.card' and ctx.event.key == 'k')\n"
         "assert(ctx.event.data.sum == 9.5 and ctx.event == ctx.event)\n"
         "ctx.event.name = 'nobody keeps this'");
  CHECK(!e->result.vars_changed && !e->result.data_changed);
  fails(e, "ctx.event = {}", PAWL_MISUSE, "flow.lua:2",
        "ctx.event cannot be set", "what is to be kept goes into ctx.vars");
  e->call.event = (pawl_str){NULL, 0};
}

/* ---- emit and start ---- */

static void what_is_emitted_is_collected(engine *e) {
  passes(e, "");
  CHECK_INT(e->result.emits.len, 0);
  passes(e,
         "assert(select('#', ctx.emit('order.placed', { n = 1 })) == 0)\n"
         "ctx.emit('a \"quoted\" one') ctx.emit('x', false)\n"
         "ctx.emit('x', 2.0) ctx.emit('x', {}) ctx.emit('x', { 1, 2 })");
  CHECK_STR(pawl_buf_str(&e->result.emits),
            "[{\"payload\":{\"n\":1},\"type\":\"order.placed\"},"
            "{\"payload\":null,\"type\":\"a \\\"quoted\\\" one\"},"
            "{\"payload\":false,\"type\":\"x\"},"
            "{\"payload\":2.0,\"type\":\"x\"},"
            "{\"payload\":{},\"type\":\"x\"},"
            "{\"payload\":[1,2],\"type\":\"x\"}]");
  passes(e, "ctx.emit(('x'):rep(200))");
  CHECK_INT(e->result.emits.len, 200 + strlen("[{'payload':null,'type':''}]"));
  /* what was refused leaves nothing behind */
  passes(e,
         "ctx.emit('one') assert(not pcall(ctx.emit, 'two', print))\n"
         "assert(not pcall(ctx.emit, '')) ctx.emit('three')");
  CHECK_STR(pawl_buf_str(&e->result.emits),
            "[{\"payload\":null,\"type\":\"one\"},"
            "{\"payload\":null,\"type\":\"three\"}]");
  fails(e, "ctx.emit('one') error('no')", PAWL_SCRIPT, NULL, "no", NULL);
}

static void what_cannot_be_emitted_is_said(engine *e) {
  fails(e, "ctx.emit()", PAWL_MISUSE, "flow.lua:2",
        "ctx.emit: the type is a nil, not text",
        "ctx.emit(\"order.placed\", payload)");
  CHECK_INT(e->result.no_retry, 1);
  fails(e, "ctx.emit({ type = 'x' })", PAWL_MISUSE, "flow.lua:2",
        "ctx.emit: the type is a table, not text", NULL);
  fails(e, "ctx.emit('')", PAWL_VALUE, "flow.lua:2",
        "ctx.emit: the type has 0 bytes",
        "a type has 1 to 200 bytes: ctx.emit(\"order.placed\", payload)");
  fails(e, "ctx.emit(('x'):rep(201))", PAWL_VALUE, "flow.lua:2",
        "ctx.emit: the type has 201 bytes", NULL);
  fails(e, "ctx.emit('a\\0b')", PAWL_VALUE, "flow.lua:2",
        "ctx.emit: the type is not UTF-8, or has a zero byte", NULL);
  fails(e, "ctx.emit('a\\xff')", PAWL_VALUE, "flow.lua:2",
        "ctx.emit: the type is not UTF-8, or has a zero byte", NULL);
  fails(e, "ctx.emit('x', { f = { print } })", PAWL_VALUE, "payload.f[1]",
        "a function cannot be stored", NULL);
  fails(e, "ctx.emit('x', ('x'):rep(2000))", PAWL_LIMIT, "payload", NULL,
        NULL);
  fails(e, "ctx:emit('x')", PAWL_MISUSE, "flow.lua:2",
        "ctx.emit is called with a dot, not a colon",
        "ctx.emit(type, payload)");
}

static void children_are_collected(engine *e) {
  e->ids = 0;
  passes(e, "");
  CHECK_INT(e->result.starts.len, 0);
  passes(e,
         "assert(ctx.start('order.ship') == '0190-child-1')\n"
         "local id = ctx.start('a', { n = 1.0 }, { track = false,\n"
         "  parent_end = 'leave', delay = '2h', version = 3 })\n"
         "assert(id == '0190-child-2')");
  CHECK_STR(pawl_buf_str(&e->result.starts),
            "[{\"input\":{},\"options\":{"
            "\"parent_end\":\"leave\",\"track\":true},"
            "\"id\":\"0190-child-1\",\"workflow\":\"order.ship\"},"
            "{\"input\":{\"n\":1.0},\"options\":{"
            "\"delay_us\":7200000000,\"parent_end\":\"leave\","
            "\"track\":false,\"version\":3},\"id\":\"0190-child-2\","
            "\"workflow\":\"a\"}]");
  passes(e,
         "local pawl = require 'pawl'\n"
         "ctx.start('a', false, { key = 'k', priority = -3, delay = 1.5,\n"
         "  tenant = 'acme', group = 'g', correlation = 'c',\n"
         "  business_key = 'b', metadata = { m = { 1 } },\n"
         "  attributes = { d = pawl.decimal '1.50', f = 1.0, i = 1,\n"
         "    at = pawl.date '2025-11-24T16:00:00Z', s = 'x', y = true,\n"
         "    raw = pawl.binary '\\0\\1' } })");
  CHECK_STR(pawl_buf_str(&e->result.starts),
            "[{\"input\":false,\"options\":{"
            "\"attributes\":{"
            "\"at\":{\"type\":\"date\",\"value\":1764000000000000},"
            "\"d\":{\"type\":\"decimal\",\"value\":\"1.50\"},"
            "\"f\":{\"type\":\"float\",\"value\":1.0},"
            "\"i\":{\"type\":\"integer\",\"value\":1},"
            "\"raw\":{\"type\":\"binary\",\"value\":\"AAE=\"},"
            "\"s\":{\"type\":\"string\",\"value\":\"x\"},"
            "\"y\":{\"type\":\"boolean\",\"value\":true}},"
            "\"business_key\":\"b\",\"correlation\":\"c\","
            "\"delay_us\":1500000,\"group\":\"g\",\"key\":\"k\","
            "\"metadata\":{\"m\":[1]},\"parent_end\":\"leave\","
            "\"priority\":-3,\"tenant\":\"acme\",\"track\":true},"
            "\"id\":\"0190-child-3\",\"workflow\":\"a\"}]");
  /* the caller's tables stay as they were; a refused start takes no id */
  passes(e,
         "local o = { attributes = { x = 1 } }\n"
         "ctx.start('a', nil, o)\n"
         "assert(o.attributes.x == 1 and o.track == nil)\n"
         "assert(not pcall(ctx.start, 'a', nil, { metadata = { 1 } }))\n"
         "assert(not pcall(ctx.start, 'a', nil, { tenant = 't' }))\n"
         "assert(ctx.start('b') == '0190-child-5')");
  fails(e, "ctx.start('a') error('no')", PAWL_SCRIPT, NULL, "no", NULL);
}

static void what_cannot_be_started_is_said(engine *e) {
  static const char *const WORDS[] = {"key", "tenant", "group", "correlation",
                                      "business_key"};
  char body[300], message[300];
  e->ids = 0;
  fails(e, "ctx.start()", PAWL_MISUSE, "flow.lua:2",
        "ctx.start: the workflow is a nil, not text",
        "ctx.start(\"order.ship\", input, options)");
  CHECK_INT(e->result.no_retry, 1);
  fails(e, "ctx.start('no such!')", PAWL_MISUSE, "flow.lua:2",
        "\"no such!\" cannot be a workflow's code", NULL);
  fails(e, "ctx.start('a\\0b')", PAWL_MISUSE, "flow.lua:2",
        "\"a\" cannot be a workflow's code", NULL);
  fails(e, "ctx.start('a', { f = print })", PAWL_VALUE, "input.f", NULL, NULL);
  fails(e, "ctx.start('a', ('x'):rep(2000))", PAWL_LIMIT, "input", NULL, NULL);
  fails(e, "ctx.start('a', {}, 'k')", PAWL_MISUSE, "flow.lua:2",
        "ctx.start: options must be a table, got string", NULL);
  fails(e, "ctx.start('a', {}, { dealy = 1 })", PAWL_MISUSE, "flow.lua:2",
        "ctx.start: unknown option 'dealy' (did you mean 'delay'?)", NULL);
  fails(e, "ctx.start('a', {}, { at = 1 })", PAWL_MISUSE, "flow.lua:2", NULL,
        NULL);
  CHECK(strstr(e->err.message, "unknown option 'at'") != NULL);
  fails(e, "ctx.start('a', {}, { delay = 'soon' })", PAWL_MISUSE, NULL,
        "ctx.start: option 'delay' must be seconds or words like \"30s\", at "
        "most 100 years, got \"soon\"",
        NULL);
  fails(e, "ctx.start('a', {}, { delay = '40000d' })", PAWL_MISUSE, NULL, NULL,
        NULL);
  for (int i = 0; i < 5; i++) {
    snprintf(body, sizeof body, "ctx.start('a', {}, { %s = '' })", WORDS[i]);
    snprintf(message, sizeof message,
             "ctx.start: option '%s' must be a string of 1 to 255 bytes, none "
             "of them zero, got \"\"",
             WORDS[i]);
    fails(e, body, PAWL_MISUSE, "flow.lua:2", message, NULL);
  }
  fails(e, "ctx.start('a', {}, { key = ('x'):rep(256) })", PAWL_MISUSE, NULL,
        NULL, NULL);
  fails(e, "ctx.start('a', {}, { key = 'a\\0' })", PAWL_MISUSE, NULL, NULL,
        NULL);
  fails(e, "ctx.start('a', {}, { version = 0 })", PAWL_MISUSE, NULL,
        "ctx.start: option 'version' must be an integer above 0, got 0", NULL);
  fails(e, "ctx.start('a', {}, { priority = 40000 })", PAWL_MISUSE, NULL,
        "ctx.start: option 'priority' must be an integer from -32768 to "
        "32767, got 40000",
        NULL);
  fails(e, "ctx.start('a', {}, { track = 1 })", PAWL_MISUSE, NULL,
        "ctx.start: option 'track' must be a boolean, got 1", NULL);
  fails(e, "ctx.start('a', {}, { parent_end = 'kill' })", PAWL_MISUSE, NULL,
        "ctx.start: option 'parent_end' must be \"cancel\" or \"leave\", got "
        "\"kill\"",
        NULL);
  fails(e, "ctx.start('a', {}, { metadata = { 1 } })", PAWL_VALUE,
        "flow.lua:2", "ctx.start: option 'metadata' is a list",
        "metadata = { name = value }");
  fails(e, "ctx.start('a', {}, { metadata = { f = print } })", PAWL_VALUE,
        "metadata.f", NULL, NULL);
  fails(e, "ctx.start('a', {}, { attributes = { x = {} } })", PAWL_VALUE,
        "attributes.x",
        "attribute 'x': a value of its type cannot be an "
        "attribute",
        NULL);
  fails(e, "ctx.start('a', {}, { attributes = { x = 0/0 } })", PAWL_VALUE,
        "attributes.x", "attribute 'x': it is not a finite number", NULL);
  fails(e, "ctx.start('a', {}, { attributes = { [''] = 1 } })", PAWL_VALUE,
        "flow.lua:2", "an attribute has a name that cannot be stored", NULL);
  fails(e, "ctx.start('a', {}, { attributes = { 1 } })", PAWL_VALUE,
        "flow.lua:2", "ctx.start: an attribute's name is not a string", NULL);
  fails(e, "ctx:start('a')", PAWL_MISUSE, "flow.lua:2",
        "ctx.start is called with a dot, not a colon",
        "ctx.start(code, input, options)");
  CHECK_INT(e->ids, 0);
  e->id_rc = PAWL_UNREACHABLE;
  fails(e, "ctx.start('a')", PAWL_UNREACHABLE, "flow.lua:2", "no ids left",
        NULL);
  e->id_rc = PAWL_OK;
}

int main(void) {
  static void (*const tests[])(engine *) = {
      variables_are_taken_when_they_changed,
      a_handler_sees_its_call,
      ctx_refuses_what_it_does_not_know,
      a_ctx_does_not_outlive_its_handler,
      ctx_log_reaches_the_log,
      a_service_s_error_is_raised_as_an_object,
      attributes_are_read_once_and_written_as_they_are,
      a_transactional_handler_has_sql,
      the_token_s_data_is_taken_when_it_changed,
      values_are_decoded_when_asked_for,
      outputs_are_asked_for_by_their_nodes,
      an_event_is_seen_and_stays,
      what_is_emitted_is_collected,
      what_cannot_be_emitted_is_said,
      children_are_collected,
      what_cannot_be_started_is_said};
  in_both_states(tests, sizeof tests / sizeof *tests);
  return TEST_END;
}
