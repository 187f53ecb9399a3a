--- Declared variables: what a step leaves, what goes into one, and what people
--- set is as the workflow says.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local TYPES = { total = "number >= 0", ["note?"] = "string",
  lines = { { sku = "string" } } }

local function typed(run, options)
  options = options or {}
  local flow = pawl.workflow { code = "t.typed", version = options.version,
    variables = options.types or TYPES }
  flow:step("a", { run = run, into = options.into })
  flow:wait("w", { event = "t.said", into = "note", timeout = "1d",
    next = { received = "z", timeout = "z" } })
  flow:finish("z", { output = function(ctx) return ctx.vars end })
  return flow
end

kit.describe("declared variables", function(backend)
  local function begin(flow)
    local engine, clock = backend.fresh()
    assert(engine:load(flow))
    local id = assert(engine:start "t.typed")
    assert(engine:run())
    return engine, id, clock
  end
  local function error_of(engine, id)
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    return instance.error
  end

  it("come into being one by one, and go", function()
    local engine, id = begin(typed(function(ctx)
      ctx.vars.total = 1.5
      ctx.vars.lines = { { sku = "a" }, { sku = "b" } }
    end))
    assert(engine:signal { name = "t.said", instance = id, data = "fine" })
    assert(engine:run())
    assert.same({ total = 1.5, lines = { { sku = "a" }, { sku = "b" } },
      note = "fine" }, assert(engine:get(id)).output)
  end)

  it("fail a step that leaves another value, or name, at its path", function()
    for _, wrong in ipairs {
      { { total = -1 }, "vars.total: expected number >= 0, found -1" },
      { { lines = { { sku = 1 } } },
        "vars.lines[1].sku: expected string, found 1" },
      { { totl = 1 }, 'vars has no "totl"' },
    } do
      local runs = 0
      local engine, id = begin(typed(function(ctx)
        runs = runs + 1
        for name, value in pairs(wrong[1]) do ctx.vars[name] = value end
      end))
      local err = error_of(engine, id)
      assert.equal("value", err.code)
      assert.equal(wrong[2], err.message)
      assert.equal(1, runs)
      assert.same({}, assert(engine:get(id)).variables)
    end
  end)

  it("may be null where they may be left out", function()
    local engine, id = begin(typed(function(ctx)
      ctx.vars.note = pawl.null
    end))
    assert.equal("waiting", kit.status(engine, id))
  end)

  it("hold for what a step or an event gives into one", function()
    local engine, id = begin(typed(function() return nil, "text" end,
      { into = "total" }))
    assert.equal('vars.total: expected number >= 0, found "text"',
      error_of(engine, id).message)
    engine, id = begin(typed(function() end))
    assert(engine:signal { name = "t.said", instance = id, data = 5 })
    assert(engine:run())
    local failed = assert(engine:history(id, { type = "failed" }))
    assert.equal("vars.note: expected string, found 5",
      failed[1].error.message)
  end)

  it("refuse an edit that does not fit", function()
    local engine, id = begin(typed(function(ctx) ctx.vars.total = 1 end))
    kit.refused("value",
      'vars%.total: expected number >= 0, found "much"', nil,
      engine:edit(id, { set = { total = "much" } }))
    assert(engine:run())
    assert.same({ total = 1 }, assert(engine:get(id)).variables)
    assert.same({}, assert(engine:history(id, { type = "refused" })))
    assert(engine:edit(id, { set = { total = 7 } }))
    assert(engine:run())
    assert.same({ total = 7 }, assert(engine:get(id)).variables)
  end)

  it("let others in by a star", function()
    local engine, id = begin(typed(function(ctx)
      ctx.vars.other = { 1 }
      ctx.vars.total = 0
    end, { types = { total = "number", note = "string", ["*"] = "any" } }))
    assert.equal("waiting", kit.status(engine, id))
  end)

  it("may have a name with a backslash", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.names",
      variables = { ["*"] = "integer" } }
    flow:wait("w", { event = "t.said", into = "a\\b" })
    flow:finish("z", { output = function(ctx) return ctx.vars["a\\b"] end })
    assert(engine:load(flow))
    local id = assert(engine:start "t.names")
    assert(engine:signal { name = "t.said", instance = id, data = 3 })
    assert(engine:run())
    assert.equal(3, assert(engine:get(id)).output)
  end)

  local NAMES <const> = { total = "number", ["größe?"] = "string" }

  --- A workflow of one node, and what would follow it.
  local function naming(kind, options, more)
    local flow = pawl.workflow { code = "t.names", variables = NAMES,
      input = more and more.input, cancel_on = more and more.cancel_on }
    flow[kind](flow, "a", options)
    flow:finish "z"
    return flow
  end
  local function handler() return {} end

  it("are what may be written into, which is seen at load", function()
    local engine = backend.fresh()
    local moved = { event = "t.later", into = "totl" }
    local beside = { event = "t.said", into = "totl", interrupt = false,
      run = handler }
    for _, case in ipairs {
      { "step", { run = handler, into = "totl" }, 'step "a": `into`' },
      { "wait", { event = "t.said", into = "totl" }, 'wait "a": `into`' },
      { "task", { title = "Do it", into = "totl" }, 'task "a": `into`' },
      { "call", { workflow = "t.other", into = "totl" }, 'call "a": `into`' },
      { "each", { items = handler, workflow = "t.other", into = "totl" },
        'each "a": `into`' },
      { "timer", { after = 1, reschedule = moved },
        'timer "a": `reschedule.into`' },
      { "wait", { event = "t.said", timeout = 1, reschedule = moved },
        'wait "a": `reschedule.into`' },
      { "step", { run = handler, on_event = beside },
        'wait "a.on_event": `into`' },
    } do
      local ok, err = engine:load(naming(case[1], case[2]))
      assert.is_nil(ok)
      assert.equal("definition", err.code)
      assert.equal(case[3] .. ' names "totl", which `variables` does not '
        .. "declare", err.message)
      assert.equal('did you mean "total"?', err.hint)
      assert.matches("variables_spec%.lua:%d+$", err.where)
    end
    local _, err = engine:load(naming("step", { run = handler, into = "q" }))
    assert.equal('declare it, or let others in: ["*"] = "any"', err.hint)
    for _, name in ipairs { "total", "größe" } do
      assert(engine:load(naming("step", { run = handler, into = name })))
    end
  end)

  it("and the input are what a key may name, which is seen at load", function()
    local engine = backend.fresh()
    local keyed = { event = "t.said", key = "ordr" }
    local beside = { event = "t.said", key = "ordr", next = "z" }
    local input = { order = "string" }
    for _, case in ipairs {
      { "wait", keyed, 'wait "a": `key`' },
      { "timer", { after = 1, reschedule = keyed },
        'timer "a": `reschedule.key`' },
      { "wait", { event = "t.said", on_event = beside },
        'wait "a.on_event": `key`' },
      { "timer", { after = 1 }, "`cancel_on`: `key`", { keyed } },
    } do
      local ok, err = engine:load(naming(case[1], case[2],
        { input = input, cancel_on = case[4] }))
      assert.is_nil(ok)
      assert.equal("definition", err.code)
      assert.equal(case[3] .. ' names "ordr", which neither `variables` nor '
        .. "`input` declares", err.message)
      assert.equal('did you mean "order"?', err.hint)
      assert.matches("variables_spec%.lua:%d+$", err.where)
      for _, open in ipairs { false, "table",
        { order = "string", ["*"] = "any" }, { ["ordr?"] = "string" } } do
        assert(engine:load(naming(case[1], case[2],
          { input = open or nil, cancel_on = case[4] })))
      end
    end
  end)

  it("are checked when they are loaded", function()
    local engine = backend.fresh()
    kit.refused("definition", 'variables%.total: .*"nmber"', '"number"',
      engine:load(typed(function() end, { types = { total = "nmber" } })))
    kit.refused("definition",
      'variables%.total: "integer 5%.%.1" has bounds that leave nothing', nil,
      engine:load(typed(function() end,
        { types = { total = "integer 5..1" } })))
    kit.refused("definition", "`variables` does not name them",
      'variables = { total = "number" }',
      engine:load(typed(function() end, { types = "object" })))
  end)
end)
