-- The deadline of a whole instance.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- a, then the timer t for a day, then b, then z; with a deadline.
local function lasting(deadline, options)
  local flow = pawl.workflow { code = "t.late", start = "a",
    deadline = deadline }
  flow:step("a", { next = "t", run = function() return nil, "out a" end,
    undo = options and options.undo })
  flow:timer("t", { after = "1d", next = "b" })
  flow:step("b", { next = "z", run = function(ctx) ctx.vars.b = true end })
  flow:finish "z"
  return flow
end

local function begin(engine, options)
  local id = assert(engine:start("t.late", nil, options))
  assert(engine:run())
  return id
end

local function get(engine, id) return assert(engine:get(id)) end

--- The newest row of history.
local function last(engine, id)
  local history = assert(engine:history(id))
  return history[#history]
end

kit.describe("a deadline", function(backend)
  it("fails the instance when it passes, and not before", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(lasting "2h"))
    local id = begin(engine)
    assert.equal("2026-01-01T02:00:00.000000Z", get(engine, id).deadline)
    assert.equal(clock:now() + 7200, engine:next_due())
    clock:advance(7199.999999)
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance(0.000001)
    assert(engine:run())
    local instance = get(engine, id)
    assert.equal("failed", instance.status)
    assert.equal("deadline", instance.error.code)
    assert.matches("passed its deadline", instance.error.message)
    assert.equal("t", instance.node)
    assert.same({}, instance.tokens)
    assert.equal("step a, deadline t", kit.trail(engine, id))
    local row = last(engine, id)
    assert.equal("deadline", row.error.code)
    assert.equal("2026-01-01T02:00:00.000000Z", row.due)
    assert.equal(0, kit.count(backend, url, "agenda"))
    clock:advance "2d"
    assert.equal(0, assert(engine:run()).claimed)
  end)

  it("is nothing to one that ends in time", function()
    local engine, clock = backend.fresh()
    assert(engine:load(lasting "25h"))
    local id = begin(engine)
    clock:advance "24h"
    assert(engine:run())
    assert.equal("completed", kit.status(engine, id))
    clock:advance "24h"
    assert.equal(0, assert(engine:run()).claimed)
  end)

  it("counts from where the instance begins", function()
    local engine, clock = backend.fresh()
    assert(engine:load(lasting "2h"))
    local id = begin(engine, { delay = "10h" })
    clock:advance "10h"
    assert(engine:run())
    assert.equal("2026-01-01T12:00:00.000000Z", get(engine, id).deadline)
    assert.equal("waiting", kit.status(engine, id))
  end)

  it("has what was done undone", function()
    local engine, clock = backend.fresh()
    assert(engine:load(lasting("2h", { undo = function(ctx)
      ctx.vars.undone = ctx.output
    end })))
    local id = begin(engine)
    clock:advance "2h"
    assert(engine:run())
    local instance = get(engine, id)
    assert.equal("failed", instance.status)
    assert.equal("deadline", instance.error.code)
    assert.equal("out a", instance.variables.undone)
    assert.equal("completed", instance.compensation.status)
    assert.equal("step a, deadline t, undone a, compensated t",
      kit.trail(engine, id))
  end)

  it("ends every branch, and what those wait for", function()
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.late", start = "f",
      deadline = "1h" }
    flow:fork("f", { next = { "w", "k", "t" } })
    flow:wait("w", { event = "go", timeout = "2h", next = "j" })
    flow:task("k", { title = "Do it", next = "j" })
    flow:timer("t", { after = "3h", next = "j" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    clock:advance "1h"
    assert(engine:run())
    assert.equal("failed", kit.status(engine, id))
    assert.equal(0, kit.count(backend, url, "subscription"))
    assert.equal("cancelled",
      assert(engine.tasks:list { instance = id })[1].status)
    assert.is_nil(engine:next_due())
  end)

  it("stops the attempts of a step", function()
    local engine, clock = backend.fresh()
    local runs = 0
    local flow = pawl.workflow { code = "t.late", start = "a",
      deadline = "1h" }
    flow:step("a", { next = "z", retry = { max = 99, base = 1800, factor = 1,
      jitter = 0, cap = 1800 }, run = function()
        runs = runs + 1
        error { code = "boom" }
      end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    for _ = 1, 4 do
      clock:advance(1801)
      assert(engine:run())
    end
    assert.equal(2, runs)
    assert.equal("deadline", get(engine, id).error.code)
    assert.equal("failed a, failed a, deadline a", kit.trail(engine, id))
  end)

  it("that passes while a step runs counts behind that step", function()
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.late", start = "a",
      deadline = "10s" }
    flow:step("a", { next = "b", run = function(ctx)
      clock:advance(11)
      ctx.vars.a = true
    end })
    flow:step("b", { next = "z", run = function(ctx) ctx.vars.b = true end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    local instance = get(engine, id)
    assert.equal("failed", instance.status)
    assert.same({ a = true }, instance.variables)
    assert.equal("step a, deadline b", kit.trail(engine, id))
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("leaves a last step that ends it its success", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.late", start = "a",
      deadline = "10s" }
    flow:step("a", { next = "z", run = function() clock:advance(11) end })
    flow:finish "z"
    assert(engine:load(flow))
    assert.equal("completed", kit.status(engine, begin(engine)))
  end)

  it("does not come while the instance is suspended", function()
    local engine, clock = backend.fresh()
    assert(engine:load(lasting "2h"))
    local id = begin(engine)
    assert(engine:suspend(id))
    clock:advance "3h"
    assert.equal(0, assert(engine:run()).claimed)
    assert.equal("suspended", kit.status(engine, id))
    assert(engine:resume(id))
    assert(engine:run())
    assert.equal("failed", kit.status(engine, id))
    assert.equal("deadline", get(engine, id).error.code)
  end)

  it("is put off by as long as it was suspended, when asked", function()
    local engine, clock = backend.fresh()
    assert(engine:load(lasting "2h"))
    local id = begin(engine)
    clock:advance "1h"
    assert(engine:suspend(id))
    clock:advance "10h"
    assert(engine:resume(id, { shift = true }))
    assert(engine:run())
    assert.equal("2026-01-01T12:00:00.000000Z", get(engine, id).deadline)
    clock:advance(3599)
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance(1)
    assert(engine:run())
    assert.equal("failed", kit.status(engine, id))
  end)

  it("comes after an event that was received before it", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.late", start = "w",
      deadline = "1h" }
    flow:wait("w", { event = "go", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    clock:advance(3599)
    assert(engine:signal { name = "go", instance = id })
    clock:advance(10)
    assert(engine:run())
    assert.equal("completed", kit.status(engine, id))
  end)

  it("that has passed leaves it to a cancel that comes before anybody looks",
    function()
      local a, b, clock
      local undone = {}
      local flow = lasting("2h", { undo = function(ctx)
        undone[#undone + 1] = ctx.node
      end })
      a, b, clock = kit.pair(backend, { flow })
      local id = begin(a)
      clock:advance "2h"
      assert(b:cancel(id, { by = "ann" }))
      assert(a:run())
      assert.equal("cancelled", kit.status(a, id))
      assert.equal("ann", get(a, id).cancellation.by)
      assert.same({ "a" }, undone)
    end)

  it("that has passed is drawn anew for one that goes on all the same",
    function()
      for _, how in ipairs { "retry", "restart" } do
        local engine, clock = backend.fresh()
        assert(engine:load(lasting "2h"))
        local id = begin(engine)
        clock:advance "2h"
        assert(engine:run())
        assert.equal("failed", kit.status(engine, id))
        if how == "retry" then
          assert(engine:retry(id))
        else
          assert(engine:restart(id, { from = "b" }))
        end
        assert(engine:run())
        assert.equal(how == "retry" and "waiting" or "completed",
          kit.status(engine, id), how)
        assert.equal("2026-01-01T04:00:00.000000Z", get(engine, id).deadline)
      end
    end)
end)
