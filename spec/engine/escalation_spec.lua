--- Escalation: what runs inside of something tells whoever is around it, and
--- goes on. An event by ctx.signal to ctx.parent, or to the instance itself,
--- which a boundary takes.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- A child that tells its parent how it stands, and then waits to be let go.
local function child(waits)
  local flow = pawl.workflow { code = "t.child" }
  flow:step("tell", { run = function(ctx)
    ctx.signal { name = "stock.low", instance = ctx.parent,
      data = { left = ctx.input.left } }
  end })
  if waits then flow:timer("shelf", { after = "1h" }) end
  flow:finish("done", { output = function() return "packed" end })
  return flow
end

--- What it gives is what of that is told by the boundary `caught`.
local function parent(caught, node, options)
  local flow = pawl.workflow { code = "t.parent" }
  options.on_event = caught
  flow[node](flow, "inner", options)
  flow:finish("done", { output = function(ctx) return ctx.vars end })
  if caught and caught.next then
    flow:step(caught.next, { next = "other", run = function(ctx)
      ctx.vars.told = ctx.event.data.left
      ctx.vars.by = ctx.event.source
    end })
    flow:finish("other", { output = function(ctx) return ctx.vars end })
  end
  return flow
end

local function lane(ctx)
  local told = ctx.vars.told or {}
  told[#told + 1] = ctx.event.data.left
  ctx.vars.told = told
end

local CALL <const> = { workflow = "t.child", input = { left = 3 },
  into = "given", next = "done" }

local function options(of)
  local copy = {}
  for name, value in pairs(of) do copy[name] = value end
  return copy
end

local function run(backend, flows)
  local engine, clock = backend.fresh()
  for _, flow in ipairs(flows) do assert(engine:load(flow)) end
  local id = assert(engine:start "t.parent")
  assert(engine:run())
  return engine, id, clock
end

kit.describe("an escalation", function(backend)
  it("is caught beside a call, which goes on", function()
    local engine, id = run(backend, { child(), parent({ event = "stock.low",
      interrupt = false, run = lane }, "call", options(CALL)) })
    assert.same({ told = { 3 }, given = "packed" }, engine:get(id).variables)
    -- in the order in which the child told it and its end
    assert.matches("received inner.on_event, child inner",
      kit.trail(engine, id))
  end)

  it("is caught instead of the call, whose child ends", function()
    local engine, id = run(backend, { child(true), parent({
      event = "stock.low", next = "instead" }, "call", options(CALL)) })
    local got, one = assert(engine:get(id)), engine:children(id)[1]
    assert.equal(3, got.output.told)
    assert.equal(one.id, got.output.by)
    assert.equal("cancelled", kit.status(engine, one.id))
  end)

  it("comes of each child of an each", function()
    local engine, id = run(backend, { child(), parent({ event = "stock.low",
      interrupt = false, run = lane }, "each", { workflow = "t.child",
      items = function() return { { left = 1 }, { left = 2 } } end,
      into = "given", next = "done" }) })
    local vars = engine:get(id).variables
    table.sort(vars.told)
    assert.same({ told = { 1, 2 }, given = { "packed", "packed" } }, vars)
  end)

  it("of a branch is the fork's", function()
    local flow = pawl.workflow { code = "t.parent" }
    flow:fork("both", { next = { "count", "idle" },
      on_event = { event = "stock.low", next = "order" } })
    flow:step("count", { next = "meet", run = function(ctx)
      ctx.signal { name = "stock.low", instance = ctx.id, data = 1 }
    end })
    flow:timer("idle", { after = "1d", next = "meet" })
    flow:join("meet", { next = "done" })
    flow:step("order", { next = "done",
      run = function(ctx) ctx.vars.ordered = ctx.event.data end })
    flow:finish("done", { output = function(ctx) return ctx.vars end })
    local engine, id = run(backend, { flow })
    assert.same({ ordered = 1 }, engine:get(id).output)
  end)

  it("that nobody catches is told in the history, and nothing else", function()
    local engine, id = run(backend, { child(),
      parent(nil, "call", options(CALL)) })
    assert.same({ given = "packed" }, engine:get(id).output)
    local row = kit.last(engine, id)
    assert.equal("untaken", row.type)
    assert.matches('event "stock.low"', row.text)
  end)

  it("of one that has no parent reaches nobody, and it goes on", function()
    local engine = backend.fresh()
    assert(engine:load(child()))
    local id = assert(engine:start "t.child")
    assert(engine:run())
    assert.equal("packed", assert(engine:get(id)).output)
  end)
end)
