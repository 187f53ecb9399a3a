-- The definition builder. What a whole graph must be is in spec/c/def_test.c.
local workflow = require "pawl.workflow"
local typed = require "pawl.typed"

local HERE <const> = "workflow_spec.lua"

local function run() end

local function order(options)
  options = options or {}
  options.code = options.code or "order.fulfil"
  options.start = options.start or "a"
  return workflow(options)
end

--- The error that fn raises.
local function raised(fn)
  local ok, err = pcall(fn)
  assert.is_false(ok, "nothing was raised")
  return err
end

--- Checks message and hint of the error that fn raises.
local function refuses(message, hint, fn)
  local err = raised(fn)
  assert.equal("table", type(err), tostring(err))
  assert.equal(message, err.message)
  assert.equal(hint, err.hint)
  assert.equal("definition", err.code)
  assert.matches(HERE .. ":%d+$", err.where)
  assert.not_matches("\n", tostring(err))
end

local function node(object, name)
  for _, found in ipairs((workflow.definition(object)).nodes) do
    if found.name == name then return found end
  end
end

describe("a workflow", function()
  it("becomes a graph, its handlers, and its bundle", function()
    local function at() end
    local function choose() end
    local o = order {
      version = 2, name = "Order", description = "x", bundle = { "m.rates" },
    }
    o:step("a", { run = run, next = "b", retry = { max = 5, base = "2s" } })
    o:choice("b", { choose = choose, next = { yes = "t", no = "z" } })
    o:timer("t", { at = at, next = "z" })
    o:finish("z", { status = "failed", terminate = true, output = run })
    local graph, handlers, bundle, file = workflow.definition(o)
    assert.same({ "m.rates" }, bundle)
    assert.matches(HERE .. "$", file)
    assert.same({
      a = { run = run }, b = { choose = choose }, t = { at = at },
      z = { output = run },
    }, handlers)
    local line = graph.line
    assert.is_true(line > 0)
    for _, found in ipairs(graph.nodes) do
      assert.is_true(found.line > line)
      line, found.line = found.line, nil
    end
    graph.line = nil
    assert.same({
      code = "order.fulfil", version = 2, name = "Order", description = "x",
      start = "a",
      nodes = {
        { name = "a", kind = "step", run = true, next = "b",
          retry = { max = 5, base = 2000000 } },
        { name = "b", kind = "choice", choose = true,
          next = { yes = "t", no = "z" } },
        { name = "t", kind = "timer", at = true, next = "z" },
        { name = "z", kind = "finish", status = "failed", terminate = true,
          output = true },
      },
    }, graph)
  end)

  it("can be told apart and printed", function()
    local o = order()
    assert.equal("workflow order.fulfil 1", tostring(o))
    assert.equal("order.fulfil", o.code)
    assert.equal(1, o.version)
    assert.equal("pawl.workflow", getmetatable(o))
    assert.is_true(workflow.is(o))
    assert.is_false(workflow.is {})
  end)

  it("takes what can be called for a function: a spy", function()
    local o, watched = order(), spy.new(run)
    o:step("a", { run = watched, undo = watched, next = "c" })
    o:choice("c", { choose = watched, next = { yes = "t", no = "z" } })
    o:timer("t", { at = watched, next = "z" })
    o:finish("z", { output = watched })
    local graph, handlers = workflow.definition(o)
    assert.is_true(graph.nodes[1].run)
    assert.is_true(rawequal(watched, handlers.a.run))
    assert.is_true(rawequal(watched, handlers.z.output))
  end)

  it("can be written as one chain of calls", function()
    local graph = workflow.definition(order():step("a", {
      run = run, next = "z",
    }):finish("z"))
    assert.equal("a", graph.nodes[1].name)
    assert.equal("z", graph.nodes[2].name)
  end)

  it("goes on as it is written where nothing else is said", function()
    local o = workflow { code = "t.line" }
    o:step("one", { run = run }):timer("two", { after = 1 })
    o:wait("three", { event = "go" }):step("end", { run = run })
    local graph, handlers = workflow.definition(o)
    local ways = {}
    for _, found in ipairs(graph.nodes) do
      ways[found.name] = found.next or found.kind
    end
    assert.equal("one", graph.start)
    assert.same({ one = "two", two = "three", three = "end", ["end"] = "end_2",
      end_2 = "finish" }, ways)
    assert.same({ run = run }, handlers["end"])
    -- again, and with more: nothing of before is left
    o:finish("done")
    assert.equal("done", node(o, "end").next)
    assert.is_nil(node(o, "end_2"))
    assert.is_nil(node(o, "done").next)
    -- a branch leads where it says
    local other = order():choice("a", { choose = run, next = { x = "c" } })
    other:step("b", { run = run, next = "c" }):finish("c")
    assert.equal("c", node(other, "b").next)
  end)

  it("does not share its tables with what was given", function()
    local routes = { yes = "b", no = "b" }
    local o = order()
    o:choice("a", { choose = run, next = routes })
    routes.yes = "c"
    assert.equal("b", node(o, "a").next.yes)
  end)

  it("gives its steps what they do not say themselves", function()
    local o = order {
      retry = { max = 7, base = 2 }, timeout = "1m", on_exhausted = "suspend",
    }
    o:step("a", { run = run, next = "b" })
    o:step("b", {
      run = run, next = "c", retry = { base = 3 }, timeout = 5,
      on_exhausted = "fail",
    })
    o:step("c", { run = run, next = "d", retry = 2 })
    o:step("d", { run = run, next = "z", retry = false })
    o:finish("z")
    assert.same({ max = 7, base = 2000000 }, node(o, "a").retry)
    assert.equal(60000000, node(o, "a").timeout)
    assert.equal("suspend", node(o, "a").on_exhausted)
    assert.same({ max = 7, base = 3000000 }, node(o, "b").retry)
    assert.equal(5000000, node(o, "b").timeout)
    assert.equal("fail", node(o, "b").on_exhausted)
    assert.equal(2, node(o, "c").retry.max)
    assert.equal(1, node(o, "d").retry.max)
    assert.is_nil(node(o, "z").timeout)
    o = order { retry = { max = 1, on = "busy" } } -- for those that say more
    o:step("a", { run = run, next = "b", retry = 3 })
    o:step("b", { run = run, next = "z" })
    o:finish("z")
    assert.same({ max = 3, on = { "busy" } }, node(o, "a").retry)
    assert.same({ max = 1, on = { "busy" } }, node(o, "b").retry)
  end)
end)

describe("an error of the builder", function()
  it("prints as one line that names the caller's", function()
    local here = debug.getinfo(1, "l").currentline + 1
    local err = raised(function() order():step("a", { nxt = "b" }) end)
    assert.matches(HERE .. ":" .. here .. "$", err.where)
    assert.equal(err.where .. [[: unknown field 'nxt' of step "a" ]]
      .. "(did you mean 'next'?)", tostring(err))
  end)

  it("knows the line even of a call that returns", function()
    local o = order()
    local here = debug.getinfo(1, "l").currentline + 1
    o:step("a", { run = run, next = "z" })
    local function last() return o:finish("z", { nxt = "b" }) end
    local err = raised(last)
    -- the call has left no trace: the line before it is the nearest known
    assert.matches(HERE .. ":" .. here .. "$", err.where)
    local function good() return o:finish("z") end
    good()
    assert.equal(here, node(o, "z").line)
  end)

  it("names a wrong option of the workflow", function()
    refuses("unknown field 'strat' of workflow \"c\"",
      "did you mean 'start'?", function() workflow { code = "c", strat = 1 }
      end)
    refuses("a workflow is made from a table, not a string",
      [[pawl.workflow { code = "order.fulfil", start = "reserve" }]],
      function() workflow "c" end)
    refuses("the workflow has no 'code'", [[code = "order.fulfil"]],
      function() workflow { start = "a" } end)
    refuses("'version' of workflow \"c\" must be an integer, not a float",
      nil, function() workflow { code = "c", version = 1.0 } end)
    refuses("'version' of workflow \"c\" must be an integer, not null", nil,
      function() workflow { code = "c", version = require("pawl").null } end)
    refuses("'version' of workflow \"c\" must be at least 1", nil,
      function() workflow { code = "c", version = 0 } end)
    refuses("the workflow has a value without a name (x)",
      "options are written name = value", function() workflow { "x" } end)
    refuses("'name' of workflow \"c\" is not valid UTF-8", nil,
      function() workflow { code = "c", name = "\xff" } end)
  end)

  it("names a malformed code", function()
    for _, code in ipairs { "", ".", "a.", ".a", "a..b", "a b", "ä", "a/b" } do
      local err = raised(function() workflow { code = code, start = "a" } end)
      assert.equal(("'code' of workflow \"%s\" is not well formed")
        :format(code), err.message)
    end
    refuses(("'code' of workflow %q is longer than 200 bytes")
      :format(("a"):rep(201)), nil,
      function() workflow { code = ("a"):rep(201), start = "a" } end)
    assert.equal("A-z_9.b", order { code = "A-z_9.b" }.code)
  end)

  it("names a wrong bundle", function()
    local list = '{ "billing.rates" }'
    refuses("'bundle' of workflow \"c\" must be a list of module names, not "
      .. "a string", list, function() workflow { code = "c", bundle = "m" } end)
    refuses("'bundle' of workflow \"c\" must be a list of module names", list,
      function() workflow { code = "c", bundle = { m = "m" } } end)
    refuses("'bundle' of workflow \"c\" names 'm' twice", nil,
      function() workflow { code = "c", bundle = { "m", "m" } } end)
    refuses("module 1 in 'bundle' of workflow \"c\" must be a string, not an "
      .. "integer", nil, function() workflow { code = "c", bundle = { 1 } } end)
  end)

  it("names a wrong option of a node", function()
    local o = order()
    local function step(options)
      options.run, options.next = options.run or run, options.next or "z"
      return function() o:step("s", options) end
    end
    refuses("step \"s\" has no 'run'", "run = function(ctx) ... end",
      function() o:step("s", { next = "z" }) end)
    refuses("choice \"s\" has no 'next'", 'next = { yes = "a", no = "b" }',
      function() o:choice("s", { choose = run }) end)
    refuses("'on' of 'retry' of step \"s\" must be a list of error codes",
      '{ "timeout", "busy" }', step { retry = { on = { x = "a" } } })
    refuses("code 2 in 'never' of 'retry' of step \"s\" must be a string, not "
      .. "an integer", nil, step { retry = { never = { "a", 1 } } })
    refuses("'of' of undo \"u\" must be a node, or a list of them, not an "
      .. "integer", '{ "book", "pay" }', function()
        o:undo("u", { of = 7, next = "z" })
      end)
    refuses("'on' of 'retry' of step \"s\" is empty", nil,
      step { retry = { on = {} } })
    refuses("'on' of 'retry' of step \"s\" says what is tried again, and its "
      .. "'max' is 1", "max is how many attempts there are in all, the first "
      .. "among them", step { retry = { max = 1, on = "busy" } })
    refuses("'on' and 'never' of 'retry' of step \"s\" both name 'busy'",
      "a code is tried again, or never",
      step { retry = { on = "busy", never = { "busy" } } })
    refuses("step \"s\" has no 'run'", "run = function(ctx) ... end",
      function() o:step("s") end)
    refuses("the options of step \"s\" must be a table, not a function", nil,
      function() o:step("s", run) end)
    refuses("'run' of step \"s\" must be a function, not a string", nil,
      step { run = "x" })
    refuses("'run' of step \"s\" must be a function, not a table", nil,
      step { run = setmetatable({}, {}) })
    refuses("'next' of step \"s\" must be a string or a table, not an integer",
      'a node: "b", or named transitions: { yes = "a", no = "b" }',
      step { next = 1 })
    refuses("'next' of step \"s\" is empty", nil, step { next = {} })
    refuses("'next' of step \"s\" has an integer where a name is expected",
      'name them: { yes = "a", no = "b" }', step { next = { "b" } })
    refuses("'yes' in 'next' of step \"s\" must be a string, not a boolean",
      nil, step { next = { yes = true } })
    refuses("'timeout' of step \"s\": '5 min' has an unknown unit 'min' (ms, "
      .. "s, m, h, d, w)",
      'write seconds (90) or words like "90s", "1h30m", "2d"',
      step { timeout = "5 min" })
    refuses("'timeout' of step \"s\" must be longer than nothing", nil,
      step { timeout = 0 })
    refuses("'on_exhausted' of step \"s\" cannot be 'suspended'",
      "did you mean 'suspend'?", step { on_exhausted = "suspended" })
    refuses("'on_exhausted' of step \"s\" must be a string, not a boolean",
      "one of: fail, suspend", step { on_exhausted = true })
    refuses("'transactional' of step \"s\" must be a boolean, not an integer",
      nil, step { transactional = 1 })
    refuses("'on_error' of step \"s\" must be a table, not a string",
      '{ card_declined = "ask_again", ["*"] = "other" }',
      step { on_error = "z" })
  end)

  it("names a wrong retry", function()
    local o = order()
    local function retry(value)
      return function()
        o:step("s", { run = run, next = "z", retry = value })
      end
    end
    local whose = "'retry' of step \"s\""
    refuses("unknown field 'maxx' of " .. whose, "did you mean 'max'?",
      retry { maxx = 1 })
    refuses("'max' of " .. whose .. " must be at least 1", nil,
      retry { max = 0 })
    refuses(whose .. " must be at least 1", nil, retry(0))
    refuses(whose .. " must be an integer, not a float", nil, retry(1.5))
    refuses("'factor' of " .. whose .. " cannot be 0.5", "at least 1",
      retry { factor = 0.5 })
    refuses("'factor' of " .. whose .. " is infinite", nil,
      retry { factor = math.huge })
    refuses("'jitter' of " .. whose .. " cannot be 2", "between 0 and 1",
      retry { jitter = 2 })
    refuses("'cap' of " .. whose .. " is shorter than its 'base'",
      "'cap' is the longest delay, 'base' the first",
      retry { base = 10, cap = 1 })
    refuses(whose .. " must be a table, not a boolean",
      "{ max = 5, base = 1 }, a number of attempts, or false", retry(true))
    retry { base = 10, cap = 10 }()
    assert.equal(10000000, node(o, "s").retry.cap)
  end)

  it("names a wrong name", function()
    local o = order()
    refuses("the name of a step must be a string, not nothing", nil,
      function() o:step() end)
    refuses("the name of a finish is empty", nil,
      function() o:finish("") end)
    refuses("the name of a finish is longer than 64 bytes", nil,
      function() o:finish(("a"):rep(65)) end)
    refuses("the name of a finish has characters that cannot be printed", nil,
      function() o:finish("a\n") end)
    o:finish("z")
    local line = node(o, "z").line
    refuses("step \"z\" is defined twice", "the first is in line " .. line,
      function() o:step("z", { run = run, next = "z" }) end)
  end)

  it("names what is wrong with a timer, a choice, a finish", function()
    local o = order()
    refuses("timer \"t\" says neither 'after' nor 'at'",
      'after = "1h", or at = function(ctx) ... end',
      function() o:timer("t", { next = "z" }) end)
    refuses("timer \"t\" has both 'after' and 'at'", "keep one of them",
      function() o:timer("t", { next = "z", after = 1, at = run }) end)
    refuses("'next' of timer \"t\" is a single node", 'a node: "b"',
      function() o:timer("t", { next = { a = "z" }, after = 1 }) end)
    refuses("'next' of choice \"c\" names transitions",
      '{ yes = "a", no = "b" }',
      function() o:choice("c", { next = "z", choose = run }) end)
    refuses("'status' of finish \"z\" cannot be 'faild'",
      "did you mean 'failed'?",
      function() o:finish("z", { status = "faild" }) end)
    refuses("unknown field 'next' of finish \"z\"",
      "known: output, status, terminate",
      function() o:finish("z", { next = "a" }) end)
    refuses("unknown field 'limit' of each \"e\"", "did you mean 'window'?",
      function() o:each("e", { limit = 3 }) end)
  end)

  it("offers what a workflow has", function()
    local kinds = "step, choice, timer, finish, wait, task, fork, join, call, "
      .. "each, undo, escalate"
    refuses("a workflow has no method 'stpe'", "did you mean 'step'?",
      function() order():stpe("a") end)
    refuses("a workflow has no method 'forc'", "did you mean 'fork'?",
      function() order():forc("a") end)
    refuses("a workflow has no method 'subprocess'", "known: " .. kinds,
      function() order():subprocess("a") end)
    refuses("'step' was called on something that is not a workflow",
      "call it with a colon: order:step(...)",
      function() order().step("a", {}) end)
    refuses("a workflow's field 'start' cannot be set",
      "use its methods: " .. kinds,
      function() order().start = "b" end)
  end)

  it("says that there are no nodes", function()
    refuses("workflow \"order.fulfil\" has no nodes",
      'add them: order:step("reserve", { ... })',
      function() workflow.definition(order()) end)
  end)
end)

describe("a workflow's settings", function()
  it("go into its graph", function()
    local o = order {
      deadline = "30d", busy_limit = 100, compensate = false,
      keep_history = 1000,
      on_failure = { emit = "order.failed", start = "order.repair" },
      trigger = "order.placed",
      cancel_on = { "order.*", { event = "order.withdrawn", key = "id" } },
    }
    o:finish("a")
    local graph = workflow.definition(o)
    assert.equal(30 * 86400 * 1000000, graph.deadline)
    assert.equal(100, graph.busy_limit)
    assert.equal(1000, graph.keep_history)
    assert.is_false(graph.compensate)
    assert.same({ emit = "order.failed", start = "order.repair" },
      graph.on_failure)
    assert.same({ { event = "order.placed" } }, graph.trigger)
    assert.same({ { event = "order.*" },
      { event = "order.withdrawn", key = "id" } }, graph.cancel_on)
    o = order { trigger = { event = "a" }, cancel_on = { { event = "*" } } }
    o:finish("a")
    graph = workflow.definition(o)
    assert.same({ { event = "a" } }, graph.trigger)
    assert.same({ { event = "*" } }, graph.cancel_on)
    assert.is_nil(graph.compensate)
  end)

  it("are checked", function()
    local function with(options)
      options.code, options.start = "c", "a"
      return function() workflow(options) end
    end
    local dotted = 'dotted words of letters, digits, "_" and "-"'
    refuses("'deadline' of workflow \"c\" must be longer than nothing", nil,
      with { deadline = 0 })
    refuses("'busy_limit' of workflow \"c\" must be at least 1", nil,
      with { busy_limit = 0 })
    refuses("'compensate' of workflow \"c\" must be a boolean, not a string",
      nil, with { compensate = "no" })
    refuses("'endless' of workflow \"c\" must be a boolean, not an integer",
      nil, with { endless = 1 })
    local rows = "how many rows of history stay: keep_history = 1000"
    for _, n in ipairs { 0, 99, 1000001, -5 } do
      refuses("'keep_history' of workflow \"c\" must be from 100 to 1000000",
        rows, with { keep_history = n })
    end
    refuses("'keep_history' of workflow \"c\" must be an integer, not a string",
      rows, with { keep_history = "30d" })
    refuses("'keep_history' of workflow \"c\" must be an integer, not a float",
      rows, with { keep_history = 100.5 })
    refuses("unknown field 'keep_histroy' of workflow \"c\"",
      "did you mean 'keep_history'?", with { keep_histroy = 100 })
    refuses("'on_failure' of workflow \"c\" is empty",
      'on_failure = { emit = "order.failed" }', with { on_failure = {} })
    refuses("unknown field 'emmit' of 'on_failure' of workflow \"c\"",
      "did you mean 'emit'?", with { on_failure = { emmit = "x" } })
    refuses("'emit' of 'on_failure' of workflow \"c\" must have 1 to 200 bytes",
      'emit = "order.failed"', with { on_failure = { emit = ("x"):rep(201) } })
    refuses("'trigger' of workflow \"c\" must be an event, or a list of them",
      '"order.placed"', with { trigger = {} })
    refuses("unknown field 'key' of 'trigger' of workflow \"c\"",
      "known: event", with { trigger = { event = "a", key = "b" } })
    refuses("event 2 in 'cancel_on' of workflow \"c\" has no 'event'",
      '{ event = "order.withdrawn", key = "order_id" }',
      with { cancel_on = { "a", { key = "b" } } })
    refuses("'event' of 'trigger' of workflow \"c\" is not well formed",
      dotted .. ', the last may be "*": "payment.*"',
      with { trigger = "a.*.b" })
  end)
end)

describe("a graph", function()
  it("has waits", function()
    local o = order()
    o:wait("w", {
      event = "payment.*", key = "order_id", match = run, timeout = "7d",
      into = "payment", undo = run, retry = 2, on_error = { x = "z" },
      next = { received = "z", timeout = "z" },
    })
    o:wait("v", { event = "go", key = run, next = "z" })
    local _, handlers = workflow.definition(o)
    local w = node(o, "w")
    w.line = nil
    assert.same({
      name = "w", kind = "wait", event = "payment.*", key = "order_id",
      match = true, timeout = 7 * 86400 * 1000000, into = "payment",
      undo = true, retry = { max = 2 }, on_error = { x = "z" },
      next = { received = "z", timeout = "z" },
    }, w)
    assert.is_true(node(o, "v").key)
    assert.same({ match = run, undo = run }, handlers.w)
    assert.same({ key = run }, handlers.v)
  end)

  it("has tasks", function()
    local input = { lines = { 1, 2 } }
    local o = order()
    o:task("t", {
      title = "Approve", description = "d", form = "f", input = input,
      priority = "high", due = "2d", assignee = "ann", user = "bob",
      roles = { "manager", "owner" }, signal = "order.approved",
      timeout = "9d", prepare = run, into = "answer",
      escalate = { role = "boss", priority = "urgent" },
      next = { approved = "z", overdue = "z", timeout = "z", failed = "z" },
    })
    input.lines[1] = 3
    local t = node(o, "t")
    t.line = nil
    assert.same({
      name = "t", kind = "task", prepare = true, into = "answer",
      timeout = 9 * 86400 * 1000000,
      task = {
        title = "Approve", description = "d", form = "f",
        input = { lines = { 1, 2 } }, priority = "high",
        due = 2 * 86400 * 1000000, assignee = "ann", users = { "bob" },
        roles = { "manager", "owner" }, signal = "order.approved",
      },
      escalate = { roles = { "boss" }, priority = "urgent" },
      next = { approved = "z", overdue = "z", timeout = "z", failed = "z" },
    }, t)
  end)

  it("has forks, whose branches keep their order", function()
    local o = order()
    o:fork("f", { next = { "ship", "bill", "a" } })
    o:fork("g", { next = { y = "a", x = "a" } })
    assert.same({ ship = "ship", bill = "bill", a = "a" }, node(o, "f").next)
    assert.same({ "ship", "bill", "a" }, node(o, "f").order)
    assert.same({ x = "a", y = "a" }, node(o, "g").next)
    assert.same({ "x", "y" }, node(o, "g").order)
  end)

  it("has joins, calls and eachs", function()
    local spied = spy.new(run)
    local o = order()
    o:join("j", { expect = 2, losers = "cancel", next = "z" })
    o:call("c", {
      workflow = "order.ship", version = 2, input = { a = 1 },
      parent_end = "leave", timeout = 1, next = { completed = "z" },
    })
    o:call("d", { workflow = "order.ship", input = spied, next = "z" })
    o:each("e", {
      items = run, branch = "j", window = 3, on_failure = "collect",
      into = "r", next = "z",
    })
    o:each("k", { items = run, workflow = "w", version = 4, next = "z" })
    local _, handlers = workflow.definition(o)
    assert.equal(2, node(o, "j").expect)
    assert.equal("cancel", node(o, "j").losers)
    assert.equal(2, node(o, "c").version)
    assert.same({ a = 1 }, node(o, "c").input)
    assert.is_nil(handlers.c.input)
    assert.is_true(node(o, "d").input)
    assert.is_true(rawequal(spied, handlers.d.input))
    assert.same({ items = run }, handlers.e)
    assert.equal(3, node(o, "e").window)
    assert.equal(4, node(o, "k").version)
  end)

  it("keeps a constant that is a marked array one", function()
    local mark = { __name = "x" }
    local o = order()
    o:call("c", { workflow = "w", next = "z",
      input = { list = setmetatable({}, mark) } })
    assert.equal(mark, getmetatable(node(o, "c").input.list))
  end)

  it("gives its workflow's retry to steps alone", function()
    local o = order { retry = 5 }
    o:wait("a", { event = "go", next = "z" })
    assert.is_nil(node(o, "a").retry)
  end)
end)

describe("an error of the builder", function()
  it("names what is wrong with a wait", function()
    local o = order()
    local function wait(options)
      options.event, options.next = options.event or "go", options.next or "z"
      return function() o:wait("w", options) end
    end
    refuses("wait \"w\" says neither 'event' nor 'condition'",
      'event = "payment.*", or condition = function(ctx) ... end',
      function() o:wait("w", { next = "z" }) end)
    for _, event in ipairs { "", "a.", "*.a", "a*", "**", "a b" } do
      refuses("'event' of wait \"w\" is not well formed",
        'dotted words of letters, digits, "_" and "-", the last may be "*": '
          .. '"payment.*"', wait { event = event })
    end
    refuses("'key' of wait \"w\" must be a name or a function, not an integer",
      [["order_id", or function(ctx) ... end]], wait { key = 1 })
    refuses("'next' of wait \"w\" has no transition 'recieved'",
      "did you mean 'received'?", wait { next = { recieved = "z" } })
    refuses("'next' of wait \"w\" has no 'received'",
      'next = "a", or next = { received = "a", ... }',
      wait { timeout = 1, next = { timeout = "z" } })
    refuses("'next' of wait \"w\" has 'timeout', but there is no 'timeout'",
      'add timeout = "2d", or leave the transition out',
      wait { next = { received = "z", timeout = "z" } })
  end)

  it("names what is wrong with a task", function()
    local o = order()
    local function task(options)
      options.title, options.next = options.title or "T", options.next or "z"
      return function() o:task("t", options) end
    end
    refuses("task \"t\" has no 'title'", 'title = "Approve the order"',
      function() o:task("t", { next = "z" }) end)
    refuses("'title' of task \"t\" is empty", nil, task { title = "" })
    refuses("'priority' of task \"t\" cannot be 'hihg'",
      "did you mean 'high'?", task { priority = "hihg" })
    refuses("'roles' of task \"t\" is empty", nil, task { roles = {} })
    refuses("'roles' of task \"t\" must be a list of names",
      '{ "ann", "bob" }', task { roles = { a = "b" } })
    refuses("name 2 in 'users' of task \"t\" must be a string, not an integer",
      nil, task { users = { "a", 1 } })
    refuses("task \"t\" has both 'role' and 'roles'", "keep one of them",
      task { role = "a", roles = "b" })
    refuses("'input' of task \"t\" must be a table, not a string", nil,
      task { input = "x" })
    refuses("'signal' of task \"t\" is not well formed",
      'dotted words of letters, digits, "_" and "-", such as '
        .. '"payment.received"', task { signal = "a.*" })
    refuses("'next' of task \"t\" has no outcome that a person can take",
      'next = { approved = "a", rejected = "b", ... }',
      task { due = 1, next = { overdue = "z" } })
    refuses("'next' of task \"t\" has 'overdue', but there is no 'due'",
      'add due = "2d", or leave the transition out',
      task { next = { done = "z", overdue = "z" } })
    refuses("'next' of task \"t\" has 'timeout', but there is no 'timeout'",
      'add timeout = "2d", or leave the transition out',
      task { next = { done = "z", timeout = "z" } })
    refuses("task \"t\" has 'escalate', which is for a task that is overdue, "
      .. "but no 'due'", 'due = "2d"', task { escalate = { role = "a" } })
    refuses("'escalate' of task \"t\" is empty", nil,
      task { due = 1, escalate = {} })
    refuses("unknown field 'rol' of 'escalate' of task \"t\"",
      "did you mean 'role'?", task { due = 1, escalate = { rol = "a" } })
    task { prepare = run, next = { done = "z", overdue = "z" } }()
  end)

  it("names what is wrong with forks, joins, calls, eachs", function()
    local o = order()
    local list = '{ "ship", "bill" } or { shipping = "ship", billing = "bill" }'
    refuses("'next' of fork \"f\" must be a table, not a string", list,
      function() o:fork("f", { next = "a" }) end)
    refuses("'next' of fork \"f\" names 'a' twice",
      'name them: { first = "a", second = "a" }',
      function() o:fork("f", { next = { "a", "a" } }) end)
    refuses("'next' of fork \"f\" is neither a list nor named throughout",
      list, function() o:fork("f", { next = { "a", b = "c" } }) end)
    refuses("fork \"f\" has only one branch", 'next = { "ship", "bill" }',
      function() o:fork("f", { next = { "a" } }) end)
    refuses("fork \"f\" has no 'next'", 'next = { "ship", "bill" }',
      function() o:fork("f") end)
    refuses("'expect' of join \"j\" cannot be 'some'",
      '"all", "any", or a number',
      function() o:join("j", { expect = "some", next = "z" }) end)
    refuses("'expect' of join \"j\" cannot be 0", '"all", "any", or a number',
      function() o:join("j", { expect = 0, next = "z" }) end)
    refuses("'losers' of join \"j\" cannot be 'stop'",
      "known: run, cancel",
      function() o:join("j", { losers = "stop", next = "z" }) end)
    refuses("call \"c\" has no 'workflow'", 'workflow = "order.ship"',
      function() o:call("c", { next = "z" }) end)
    refuses("'next' of call \"c\" has no transition 'complete'",
      "did you mean 'completed'?", function()
        o:call("c", { workflow = "w", next = { complete = "z" } })
      end)
    refuses("'input' of call \"c\" must be a table or a function, not a string",
      "{ order = 1 }, or function(ctx) ... end", function()
        o:call("c", { workflow = "w", next = "z", input = "x" })
      end)
    local function each(options)
      options.items, options.next = run, "z"
      return function() o:each("e", options) end
    end
    refuses("each \"e\" says neither 'branch' nor 'workflow'",
      'branch = "the_first_node", or workflow = "code"', each {})
    refuses("each \"e\" has both 'branch' and 'workflow'", "keep one of them",
      each { branch = "a", workflow = "w" })
    refuses("each \"e\" has 'version' with a 'branch'",
      'it is for: workflow = "code"', each { branch = "a", version = 1 })
    refuses("each \"e\" has no 'items'",
      "items = function(ctx) return ctx.vars.list end",
      function() o:each("e", { next = "z", branch = "a" }) end)
    refuses("'group' of each \"e\" must have 1 to 255 bytes, "
      .. "none of them zero", nil,
      each { workflow = "w", group = "" })
    refuses("'priority' of each \"e\" must be between -32768 and 32767", nil,
      each { workflow = "w", priority = 40000 })
    refuses("each \"e\" has 'group' with a 'branch'",
      'it is for: workflow = "code"', each { branch = "a", group = "g" })
    for _, wrong in ipairs { "10", "0%", "0.00%", "101%", "1.%", ".5%",
      "1.234%", "ten", " 1%", "1e1%" } do
      refuses(("'tolerate' of each \"e\" cannot be '%s'"):format(wrong),
        'tolerate = 3, or tolerate = "10%"',
        each { branch = "a", tolerate = wrong })
    end
    refuses("'tolerate' of each \"e\" must be at least 1", nil,
      each { branch = "a", tolerate = 0 })
    refuses("'tolerate' of each \"e\" must be an integer or a share, "
      .. "not a float",
      'tolerate = 3, or tolerate = "10%"',
      each { branch = "a", tolerate = 1.5 })
    refuses("each \"e\" has both 'tolerate' and 'on_failure'",
      "keep one of them",
      each { branch = "a", tolerate = 1, on_failure = "stop" })
    refuses("'window' of each \"e\" must be at least 1", nil,
      each { branch = "a", window = 0 })
  end)
end)

describe("a typed attribute", function()
  it("keeps a decimal digit by digit", function()
    assert.equal("12.50", typed.decimal("12.50").value)
    assert.equal("-3", typed.decimal("-3").value)
    assert.equal("3", typed.decimal("+3").value)
    assert.equal("9223372036854775807",
      typed.decimal(math.maxinteger).value)
    for _, text in ipairs { "", ".", "1.", ".5", "1e5", "0x10", "a", "1 " } do
      assert.has_error(function() typed.decimal(text) end)
    end
    assert.has_error(function() typed.decimal(1.5) end)
  end)

  it("writes a date as UTC with microseconds", function()
    for given, text in pairs {
      ["2026-01-31"] = "2026-01-31T00:00:00.000000Z",
      ["2024-02-29T10:00:00Z"] = "2024-02-29T10:00:00.000000Z",
      ["2026-01-31 10:00:00.25Z"] = "2026-01-31T10:00:00.250000Z",
      [0] = "1970-01-01T00:00:00.000000Z",
      [1764000000.5] = "2025-11-24T16:00:00.500000Z",
      [-1] = "1969-12-31T23:59:59.000000Z",
    } do
      assert.equal(text, typed.date(given).value)
      assert.equal("date", typed.date(given).type)
    end
    for _, text in ipairs {
      "", "soon", "2026-02-29", "2026-13-01", "2026-01-00", "2026-01-31T10:00",
      "2026-01-31T24:00:00Z", "2026-01-31T10:00:00+01:00", 1e300, 0 / 0,
    } do
      assert.has_error(function() typed.date(text) end)
    end
    assert.has_error(function() typed.date {} end)
  end)

  it("takes any bytes as binary, and prints no garbage", function()
    local value = typed.binary "\0\xff"
    assert.equal("\0\xff", value.value)
    assert.equal("binary (2 bytes)", tostring(value))
    assert.equal(typed.binary "\0\xff", value)
    assert.are_not.equal(typed.decimal "1", typed.decimal "2")
    assert.has_error(function() typed.binary(1) end)
  end)
end)
