-- Timers: waiting for a time without holding anything.
local pawl = require "pawl"
local kit = require "spec.engine.kit"
local testing = require "pawl.testing"

kit.describe("a timer", function(backend)
  it("fires when its time has come, and not before", function()
    local engine, clock, url = backend.fresh()
    local fired
    local flow = pawl.workflow { code = "t.cool", start = "a" }
    flow:step("a", { run = function() end, next = "t" })
    flow:timer("t", { after = "90m", next = "b" })
    flow:step("b", { run = function(ctx) fired = ctx.now() end, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.cool")
    local begun = clock:now()
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("waiting", instance.status)
    assert.equal("t", instance.tokens[1].node)
    assert.equal("waiting", instance.tokens[1].state)
    assert.equal(begun + 5400, assert(engine:next_due()))
    clock:advance(5399.999999)
    assert.equal(0, assert(engine:run()).claimed)
    clock:advance(0.000001)
    assert(engine:run())
    assert.equal(begun + 5400, fired)
    assert.completed(engine, id)
    assert.equal("step a, timer t, step b", kit.trail(engine, id))
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("fires in time though something new comes before every tick", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.timer "1h"))
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    clock:advance "1h"
    for _ = 1, 3 do -- what is new is claimed without a look, once
      assert(engine:start "t.one")
      assert(engine:tick(0))
    end
    assert.completed(engine, id)
  end)

  it("is told of after a tick that did not look", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.timer "1h"))
    assert(engine:load(kit.one()))
    assert(engine:start "t.one")
    assert(engine:run())
    local other = kit.rival(backend, url, clock)
    assert(other:load(kit.timer "1h"))
    assert(other:start "t.timer")
    assert(other:run())
    assert(engine:start "t.one")
    local stats = assert(engine:tick(0)) -- it has not seen the other's timer
    assert.equal(1, stats.ended)
    assert.equal(0, stats.next_due)
    assert.equal(clock:now() + 3600, assert(engine:tick(0)).next_due)
  end)

  it("holds no lease while it waits", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.timer "10d"))
    local id = assert(engine:start "t.timer")
    local stats = assert(engine:tick(1))
    assert.equal(0, stats.held)
    local row = kit.agenda(kit.store(url, clock), id)
    assert.is_nil(row.lease)
    assert.is_nil(row.executor)
    assert.is_false(row.ready)
    assert.equal(0, row.takeovers)
  end)

  it("fires late when nobody was there, and only once", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.timer "1h"))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    clock:advance "30d"
    assert(engine:run())
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal("started t, timer t", kit.trail(engine, id))
    local entry = assert(engine:history(id))[2]
    assert.is_true(entry.due < entry.completed)
  end)

  it("takes its time from `at`", function()
    local due = testing.clock():now() + 1234.5
    for _, at in ipairs {
      function(ctx) return ctx.now() + 1234.5 end,
      function() return pawl.date(due).value end,
    } do
      local flow = pawl.workflow { code = "t.at", start = "t" }
      flow:timer("t", { at = at, next = "z" })
      flow:finish "z"
      local other, time = backend.fresh()
      assert(other:load(flow))
      local id = assert(other:start "t.at")
      assert(other:run())
      assert.equal(due, assert(other:next_due()))
      time:advance(1234.5)
      assert(other:run())
      assert.completed(other, id)
    end
  end)

  it("whose time has passed fires at once", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.at", start = "t" }
    flow:timer("t", { at = function() return clock:now() - 60 end,
      next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.at")
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("whose `at` fails is tried again, the step before it being kept",
    function()
      local engine, clock = backend.fresh()
      local runs, asked = 0, 0
      local flow = pawl.workflow { code = "t.at", start = "a" }
      flow:step("a", { run = function() runs = runs + 1 end, next = "t" })
      flow:timer("t", {
        at = function()
          asked = asked + 1
          if asked < 3 then error "not known yet" end
          return clock:now() + 60
        end,
        next = "z",
      })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.at")
      for _ = 1, 6 do
        assert(engine:run())
        clock:advance "10m"
      end
      assert.completed(engine, id)
      assert.equal(1, runs)
      assert.equal(3, asked)
      -- what failed behind the step is no attempt of its own yet
      assert.equal("step a, failed t, routed t, timer t",
        kit.trail(engine, id))
    end)

  it("may follow a timer", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.two", start = "t" }
    flow:timer("t", { after = 60, next = "u" })
    flow:timer("u", { after = 60, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.two")
    local begun = clock:now()
    assert(engine:run())
    clock:advance(60)
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert.equal(begun + 120, assert(engine:next_due()))
    clock:advance(60)
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("fires for whoever looks first", function()
    local a, b, clock = kit.pair(backend, { kit.timer "1h" })
    local id = assert(a:start "t.timer")
    assert(a:run())
    clock:advance "1h"
    assert.equal(1, assert(b:run()).claimed)
    assert.equal(0, assert(a:run()).claimed)
    assert.equal("started t, timer t", kit.trail(a, id))
  end)

  it("does not fire twice when its worker dies after firing", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.timer "1h"))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    clock:advance "1h"
    kit.claim(kit.store(url, clock), id) -- a worker that dies with it
    clock:advance(31)
    assert(engine:run())
    assert.equal("started t, recovered t, timer t", kit.trail(engine, id))
    assert.completed(engine, id)
  end)

  it("is one of many that are due at once", function()
    local engine, clock = backend.fresh { batch = 16 }
    assert(engine:load(kit.timer "1h"))
    for _ = 1, 100 do assert(engine:start "t.timer") end
    assert(engine:run())
    clock:advance "1h"
    assert.equal(100, assert(engine:run()).ended)
  end)
end)
