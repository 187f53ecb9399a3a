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
    refuses("workflow \"c\" has no 'start'", [[start = "the_first_node"]],
      function() workflow { code = "c" } end)
    refuses("'version' of workflow \"c\" must be an integer, not a float",
      nil, function() workflow { code = "c", version = 1.0 } end)
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
    refuses("step \"s\" has no 'next'", 'next = "the_next_node"',
      function() o:step("s", { run = run }) end)
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
  end)

  it("says which kinds this version does not have", function()
    for _, kind in ipairs { "task", "wait", "fork", "join", "call", "each" } do
      refuses(("this version of pawl has no node kind '%s'"):format(kind),
        "kinds: step, choice, timer, finish",
        function() local o = order(); o[kind](o, "x", {}) end)
    end
    refuses("a workflow has no method 'stpe'", "did you mean 'step'?",
      function() order():stpe("a") end)
    -- what there is not yet is not offered
    refuses("a workflow has no method 'forc'",
      "known: step, choice, timer, finish", function() order():forc("a") end)
    refuses("a workflow has no method 'tsk'",
      "known: step, choice, timer, finish", function() order():tsk("a") end)
    refuses("'step' was called on something that is not a workflow",
      "call it with a colon: order:step(...)",
      function() order().step("a", {}) end)
    refuses("a workflow's field 'start' cannot be set",
      "use its methods: step, choice, timer, finish",
      function() order().start = "b" end)
  end)

  it("says that there are no nodes", function()
    refuses("workflow \"order.fulfil\" has no nodes",
      'add them: order:step("reserve", { ... })',
      function() workflow.definition(order()) end)
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
