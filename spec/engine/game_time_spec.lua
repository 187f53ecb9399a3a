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
    end, { timeout = "30d" })))
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
