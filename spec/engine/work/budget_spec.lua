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
    for _ = 1, 3 do assert(engine:tick(0.001)) end
    assert(engine:wait(0.001))
    local stats = assert(engine:tick(0.02))
    assert.is_true(stats.claimed <= 6, stats.claimed)
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
