--- Workflows that serve for ever: no way of theirs leads to a finish.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

local function account(options)
  options = options or {}
  local flow = pawl.workflow { code = "t.account", start = "idle",
    endless = options.endless ~= false, compensate = options.compensate }
  flow:wait("idle", { event = "t.booked", next = "book" })
  flow:step("book", { next = "idle", retry = false,
    run = function(ctx)
      if ctx.event.data.amount < 0 then error { code = "overdrawn" } end
      ctx.vars.sum = (ctx.vars.sum or 0) + ctx.event.data.amount
    end,
    undo = options.undo })
  return flow
end

kit.describe("an endless workflow", function(backend)
  local function book(engine, id, amount)
    assert(engine:signal { name = "t.booked", instance = id,
      data = { amount = amount } })
    assert(engine:run())
  end

  it("takes one event after the other until it is cancelled", function()
    local engine = backend.fresh()
    local undone = 0
    assert(engine:load(account { undo = function() undone = undone + 1 end }))
    local id = assert(engine:start "t.account")
    assert(engine:run())
    for amount = 1, 20 do book(engine, id, amount) end
    assert.equal(210, assert(engine:get(id)).variables.sum)
    assert.equal("waiting", kit.status(engine, id))
    assert(engine:cancel(id))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal(20, undone)
  end)

  it("ends when it fails", function()
    local engine = backend.fresh()
    assert(engine:load(account { compensate = false }))
    local id = assert(engine:start "t.account")
    assert(engine:run())
    book(engine, id, 5)
    book(engine, id, -1)
    assert.failed(engine, id)
    assert.equal("overdrawn", assert(engine:get(id)).error.code)
  end)

  it("may have branches that never meet", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.two", start = "f", endless = true }
    flow:fork("f", { next = { "tick", "tock" } })
    for name, seconds in pairs { tick = 2, tock = 3 } do
      flow:timer(name, { after = seconds, next = name .. "_done" })
      flow:step(name .. "_done", { next = name, run = function(ctx)
        ctx.vars[name] = (ctx.vars[name] or 0) + 1
      end })
    end
    assert(engine:load(flow))
    local id = assert(engine:start "t.two")
    for _ = 1, 13 do
      assert(engine:run())
      clock:advance(1)
    end
    assert.same({ tick = 6, tock = 4 }, assert(engine:get(id)).variables)
    assert(engine:kill(id))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("says so itself: else a way to a finish is missed", function()
    local engine = backend.fresh()
    kit.refused("definition", 'wait "idle": no way from it to a finish',
      "lead one of its ways to a node made with :finish, or give the workflow "
        .. "endless = true", engine:load(account { endless = false }))
  end)
end)
