-- Time that stands, runs at another pace, or jumps.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local system = require "system"

local T0 <const> = 1800000000

kit.describe("game time", function(backend)
  --- An engine under a clock that stands at T0.
  local function opened(options)
    local clock = pawl.game_clock(T0, 0)
    options = options or {}
    options.clock = clock
    local engine = backend.fresh(options)
    return engine, clock
  end

  --- Every ten seconds it counts.
  local function rounds()
    local flow = pawl.workflow { code = "t.round", start = "a" }
    flow:timer("a", { after = 10, next = "b" })
    flow:step("b", { run = function(ctx)
      ctx.vars.n = (ctx.vars.n or 0) + 1
      return "a"
    end, next = { a = "a", z = "z" } })
    flow:finish "z"
    return flow
  end

  local function n_of(engine, id)
    return assert(engine:get(id)).variables.n or 0
  end

  it("that stands makes nothing due", function()
    local engine, clock = opened()
    assert(engine:load(rounds()))
    local id = assert(engine:start "t.round")
    assert(engine:run())
    assert.equal(T0, engine:now())
    assert.equal(T0 + 10, engine:next_due())
    system.sleep(0.02)
    assert(engine:run())
    assert.equal(T0, engine:now())
    assert.equal(0, n_of(engine, id))
    clock:set(T0 + 9.999)
    assert(engine:run())
    assert.equal(0, n_of(engine, id))
    clock:set(T0 + 10)
    assert(engine:run())
    assert.equal(1, n_of(engine, id))
  end)

  it("that is fast makes due by itself what is far away", function()
    local engine, clock = opened()
    assert(engine:load(rounds()))
    local id = assert(engine:start "t.round")
    assert(engine:run())
    clock:set(clock:now(), 10000)
    local deadline = system.monotime() + 5
    repeat
      assert(engine:tick())
    until n_of(engine, id) >= 2 or system.monotime() > deadline
    assert.is_true(n_of(engine, id) >= 2)
    clock:set(clock:now(), 0)
    local then_ = n_of(engine, id)
    assert(engine:run())
    system.sleep(0.01)
    assert(engine:run())
    assert.is_true(n_of(engine, id) <= then_ + 1)
  end)

  it("that jumps ahead makes each thing due once", function()
    local engine, clock = opened()
    assert(engine:load(rounds()))
    local id = assert(engine:start "t.round")
    assert(engine:run())
    clock:set(T0 + 86400)
    assert(engine:run())
    assert.equal(1, n_of(engine, id)) -- as for a program that was down
    assert.equal(T0 + 86410, engine:next_due())
  end)

  it("that jumps back undoes nothing, and what was to come comes at its time",
    function()
      local engine, clock = opened()
      assert(engine:load(rounds()))
      local id = assert(engine:start "t.round")
      assert(engine:run())
      clock:set(T0 + 10)
      assert(engine:run()) -- the next one at T0 + 20
      clock:set(T0 - 86400)
      assert(engine:run())
      assert.equal(1, n_of(engine, id))
      assert.equal(T0 + 20, engine:next_due())
      -- what is started now has its times by the time that is now
      local other = assert(engine:start "t.round")
      assert(engine:run())
      assert.equal(T0 - 86390, engine:next_due())
      clock:set(T0 - 86390)
      assert(engine:run())
      assert.equal(1, n_of(engine, other))
      -- and in the order in which it came
      assert(engine:note(id, { text = "early" }))
      assert(engine:signal { name = "x", instance = id })
      local rows = assert(engine:history(id))
      for i = 2, #rows do assert.is_true(rows[i].seq > rows[i - 1].seq) end
      clock:set(T0 + 20)
      assert(engine:run())
      assert.equal(2, n_of(engine, id))
      assert.is_true(assert(engine:health()).sound)
    end)

  it("that jumps takes no handler from its engine", function()
    local engine, clock = opened { lease = 5, heartbeat = 1 }
    local go, ran = false, 0
    assert(engine:load(kit.one(function(ctx)
      ran = ran + 1
      ctx.await(function() return go end)
      ctx.vars.done = true
    end, { timeout = 60 })))
    local id = assert(engine:start "t.one")
    assert(engine:tick())
    for _, at in ipairs { T0 + 3600 * 24, T0 - 3600 * 24, T0 } do
      clock:set(at)
      for _ = 1, 3 do
        local stats = assert(engine:tick())
        assert.equal(0, stats.lost)
        assert.equal(1, stats.waiting)
      end
    end
    go = true
    assert(engine:tick())
    assert.completed(engine, id)
    assert.equal(1, ran)
  end)

  --- Ticks until nothing goes on any more.
  local function ticks(engine)
    for _ = 1, 5 do assert(engine:tick()) end
  end

  it("that jumps ends the time of no handler that waits", function()
    local answers = false
    local engine, clock = opened { host = { slow = function(_, call)
      if call.gone then return end
      if not answers then return nil, "wait" end
      return 7
    end } }
    assert(engine:load(kit.one(function(ctx)
      ctx.vars.got = ctx.host.slow(1)
    end, { timeout = 28000, retry = { max = 1 } })))
    assert(engine:load(kit.one(function(ctx)
      ctx.vars.slept = ctx.await(10)
    end, { code = "t.sleep", timeout = 28000, retry = { max = 1 } })))
    local id = assert(engine:start "t.one")
    local sleeper = assert(engine:start "t.sleep")
    ticks(engine)
    for _, jump in ipairs { 8 * 3600, -24 * 3600, 3600 } do
      clock:set(clock:now() + jump)
      ticks(engine)
      assert.equal(2, assert(engine:tick()).waiting)
    end
    clock:set(clock:now(), 6000)
    system.sleep(0.002)
    clock:set(clock:now(), 0)
    ticks(engine)
    assert.completed(engine, sleeper)
    answers = true
    ticks(engine)
    assert.completed(engine, id)
    assert.equal(7, assert(engine:get(id)).output.got)
  end)

  it("that passes ends the time of a handler that waits", function()
    local engine, clock = opened()
    assert(engine:load(kit.one(function(ctx)
      ctx.await(function() return false end)
    end, { timeout = 60, retry = { max = 1 } })))
    local id = assert(engine:start "t.one")
    ticks(engine)
    clock:set(T0 - 86400, 60000)
    system.sleep(0.002)
    clock:set(clock:now(), 0)
    ticks(engine)
    assert.failed(engine, id, "timeout")
  end)

  it("that jumps ends what has passed its deadline", function()
    local engine, clock = opened()
    assert(engine:load(kit.one(function(ctx)
      ctx.await(function() return false end)
    end, { timeout = "1d", retry = { max = 1 } })))
    local id = assert(engine:start("t.one", nil, { deadline = 600 }))
    ticks(engine)
    clock:set(T0 + 599)
    ticks(engine)
    assert.equal(1, assert(engine:tick()).waiting)
    clock:set(T0 + 600)
    ticks(engine)
    assert.failed(engine, id, "deadline")
  end)

  it("that jumps wakes nobody before his time has passed", function()
    local engine, clock = opened()
    assert(engine:load(kit.one(function(ctx) ctx.await(10) end,
      { timeout = 60 })))
    assert(engine:start "t.one")
    for _, at in ipairs { T0, T0 + 3600, T0 - 3600 } do
      clock:set(at)
      assert(engine:tick())
      -- it is looked at more often, as others may have come to cancel it
      local due = assert(engine:next_due())
      assert.is_true(due > at and due <= at + 10, due)
      assert.equal(1, assert(engine:tick()).waiting)
    end
  end)

  it("is a program's own clock, with what passes beside it", function()
    local at, passed = T0, 0
    local engine = backend.fresh { clock = function() return at end,
      passed = function() return passed end }
    assert(engine:load(kit.one(function(ctx)
      ctx.await(function() return false end)
    end, { timeout = 60, retry = { max = 1 } })))
    local id = assert(engine:start "t.one")
    ticks(engine)
    at = at + 3600
    ticks(engine)
    assert.equal(1, assert(engine:tick()).waiting)
    at, passed = at - 7200, 60
    ticks(engine)
    assert.failed(engine, id, "timeout")
  end)

  it("is by a clock that tells nothing else all that passes", function()
    local at = T0
    local engine = backend.fresh { clock = function() return at end }
    assert(engine:load(kit.one(function(ctx)
      ctx.await(function() return false end)
    end, { timeout = 60, retry = { max = 1 } })))
    local id = assert(engine:start "t.one")
    ticks(engine)
    at = at + 60
    ticks(engine)
    assert.failed(engine, id, "timeout")
  end)

  it("that jumps takes nothing from what a tick has left to the next",
    function()
      local engine, clock = opened { lease = 5, heartbeat = 1 }
      local ran = 0
      assert(engine:load(kit.one(function()
        ran = ran + 1
        system.sleep(0.002)
      end)))
      for _ = 1, 20 do assert(engine:start "t.one") end
      local ended = 0
      for i = 1, 200 do
        local stats = assert(engine:tick(0.001))
        assert.equal(0, stats.lost)
        ended = ended + stats.ended
        if ended == 20 then break end
        clock:set(i % 2 == 0 and T0 + 3600 * i or T0 - 3600 * i)
      end
      assert.equal(20, ended)
      assert.equal(20, ran)
    end)

  it("has its retries and deadlines go by it", function()
    local engine, clock = opened()
    local tries = 0
    assert(engine:load(kit.one(function()
      tries = tries + 1
      error "not yet"
    end, { retry = { max = 3, base = 60, jitter = 0 } })))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.equal(1, tries)
    system.sleep(0.01)
    assert(engine:run())
    assert.equal(1, tries)
    clock:set(T0 - 1000)
    assert(engine:run())
    assert.equal(1, tries)
    clock:set(T0 + 60)
    assert(engine:run())
    assert.equal(2, tries)
    clock:set(T0 + 1e6)
    assert(engine:run())
    assert.equal(3, tries)
    assert.failed(engine, id)
  end)
end)
