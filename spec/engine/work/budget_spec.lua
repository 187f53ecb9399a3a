--- What fits in a tick's budget, and what is told of a tick that took longer.
local kit = require "spec.engine.kit"
local system = require "system"

local function spin(seconds)
  local over = system.monotime() + seconds
  while system.monotime() < over do end
end

kit.describe("a budget", function(backend)
  local function busy(n, seconds)
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one(function() spin(seconds) end)))
    local items = {}
    for i = 1, n do items[i] = {} end
    assert(engine:start_many("t.one", items))
    return engine, clock, url
  end

  it("is not begun with what does not fit, once that is known", function()
    local engine = busy(400, 0.004)
    for _ = 1, 5 do assert(engine:tick(0.001)) end
    local late, most = 0, 0
    for _ = 1, 8 do
      local began = system.monotime()
      local stats = assert(engine:tick(0.1))
      most = math.max(most, stats.steps)
      if system.monotime() - began > 0.13 then late = late + 1 end
    end
    assert.is_true(most >= 3 and most <= 25, most)
    assert.is_true(late <= 3, late) -- a machine may stand still
  end)

  it("takes no more than can be run in it", function()
    local engine = busy(200, 0.004)
    for _ = 1, 12 do assert(engine:tick(0.001)) end
    assert(engine:wait(0.001))
    local stats = assert(engine:tick(0.02))
    assert.is_true(stats.claimed <= 8, stats.claimed)
    assert.is_true(stats.steps >= 1)
  end)

  it("of next to nothing still runs one", function()
    local engine = busy(3, 0.001)
    for _ = 1, 3 do
      assert.equal(1, assert(engine:tick(0.000001)).steps)
    end
  end)

  it("claims once for many that are due, not again and again", function()
    local engine = busy(60, 0.001)
    local claimed, steps = 0, 0
    repeat
      local stats = assert(engine:tick(0.004))
      claimed, steps = claimed + stats.claimed, steps + stats.steps
    until not stats.next_due
    assert.equal(60, steps)
    assert.is_true(claimed <= 200, claimed)
  end)
end)

kit.describe("the stats of a tick", function(backend)
  it("say what its time went into, and by how much it was late", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one(function() spin(0.03) end)))
    for _ = 1, 2 do assert(engine:start "t.one") end
    local began = system.monotime()
    local stats = assert(engine:tick(0.01))
    local took = system.monotime() - began
    assert.is_true(stats.spent.run >= 0.03 and stats.spent.run <= took)
    assert.is_true(stats.spent.claim > 0 and stats.spent.commit > 0)
    assert.is_true(stats.over >= 0.02 and stats.over <= took - 0.009,
      stats.over)
    local sum = 0
    for _, part in pairs(stats.spent) do sum = sum + part end
    assert.is_true(sum <= took and sum >= took - 0.005, sum)
  end)

  it("say of one that had the time that it was not late", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one()))
    assert(engine:start "t.one")
    assert.equal(0, assert(engine:tick(5)).over)
    assert.equal(0, assert(engine:tick()).over)
    local id = assert(engine:start "t.one")
    local _, stats = assert(engine:tick_instance(id))
    assert.is_true(stats.spent.commit > 0)
    assert.equal(0, stats.over)
  end)
end)

kit.describe("asking what is due", function(backend)
  local function counted(engine, ask)
    local before = engine:count()
    local answer = ask()
    local after = engine:count()
    return answer, after.statements - before.statements
  end

  it("writes nothing, and tells a timer that has come", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.timer()))
    assert(engine:start "t.timer")
    assert(engine:run())
    local due = assert(engine:next_due())
    assert.is_true(due > engine:now())
    clock:advance "1h"
    local before = kit.everything(backend, url)
    for _ = 1, 3 do assert.equal(0, assert(engine:next_due())) end
    assert.same(before, kit.everything(backend, url))
    assert(engine:tick(1))
    assert.is_nil(engine:next_due())
  end)

  it("asks the store nothing as long as nobody has written", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.timer()))
    assert(engine:start "t.timer")
    assert(engine:run())
    assert(engine:next_due())
    local most = backend.name == "sqlite" and 0 or 2
    local _, n = counted(engine, function() return engine:next_due() end)
    assert.is_true(n <= most, n)
    _, n = counted(engine, function() return engine:tick(0.002) end)
    assert.is_true(n <= most + 2, n)
    -- what it has written itself, and what others have
    assert(engine:start "t.timer")
    assert.equal(0, assert(engine:next_due()))
    assert(engine:run())
    if backend.label == ":memory:" then return end
    local other = kit.rival(backend, url, clock)
    assert(other:load(kit.one()))
    assert(engine:load(kit.one()))
    assert.not_equal(0, engine:next_due())
    assert(other:start "t.one")
    assert.equal(0, assert(engine:next_due()))
  end)

  it("tells that what a tick has left is due now", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one(function() spin(0.031) end)))
    assert(engine:tick())
    for _ = 1, 3 do assert(engine:start "t.one") end
    assert.is_true(assert(engine:tick(0.03)).held > 0)
    local due, n = counted(engine, function() return engine:next_due() end)
    assert.equal(0, due)
    assert.is_true(n <= 2)
  end)
end)
