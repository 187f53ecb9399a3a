-- The engine's time is the store's, or a test's clock; and a little chance.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("an engine's time", function(backend)
  it("is the clock that it was given, in every verb", function()
    local engine, clock = backend.fresh()
    assert.equal(clock.us / 1e6, engine:now())
    clock:advance "1h"
    assert.equal(clock.us / 1e6, engine:now())
    local seen
    assert(engine:load(kit.one(function(ctx) seen = ctx.now() end)))
    assert(engine:start "t.one")
    assert(engine:run())
    assert.equal(clock.us / 1e6, seen)
  end)

  it("is the store's without one, and goes on", function()
    local engine = backend.open(backend.url())
    local now = engine:now()
    assert.is_true(math.abs(now - os.time()) < 60)
    assert.is_true(engine:now() >= now)
  end)

  it("spreads attempts that fail together", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.bad", start = "a" }
    flow:step("a", { next = "z", retry = { max = 2, base = 100, jitter = 1 },
      run = function() error "no" end })
    flow:finish "z"
    assert(engine:load(flow))
    local dues, n = {}, 0
    for _ = 1, 20 do assert(engine:start "t.bad") end
    assert(engine:run())
    for _, one in ipairs(assert(engine:list())) do
      local due = assert(engine:get(one.id)).due
      if not dues[due] then n = n + 1 end
      dues[due] = true
    end
    assert.is_true(n > 10, "they come back together")
  end)
end)
