-- Slots: what was held is forgotten with its slot, and nothing of one instance
-- reaches the next.
local kit = require "spec.engine.kit"

kit.describe("a slot that is used again", function(backend)
  it("knows nothing of who had it before", function()
    local engine = backend.fresh { batch = 1 }
    local seen = {}
    assert(engine:load(kit.chain { function(ctx)
      seen[#seen + 1] = { ctx.input.n, ctx.vars.left, ctx.tenant,
        ctx.token.data, ctx.correlation }
      ctx.vars.left = ctx.input.n
      ctx.token.data = { n = ctx.input.n }
      if ctx.input.n == 2 then error { code = "no", retry = false } end
    end, function() end }))
    local ids = {}
    for n = 1, 4 do
      ids[n] = assert(engine:start("t.chain", { n = n },
        { tenant = n % 2 == 1 and "t" .. n or nil,
          correlation = n == 3 and "c" or nil }))
    end
    assert(engine:run())
    table.sort(seen, function(a, b) return a[1] < b[1] end)
    for n, one in ipairs(seen) do
      assert.equal(n, one[1])
      assert.is_nil(one[2])
      assert.equal(n % 2 == 1 and "t" .. n or nil, one[3])
      assert.same({}, one[4])
      assert.equal(n == 3 and "c" or nil, one[5])
    end
    assert.is_nil(assert(engine:get(ids[3])).error)
    assert.same({ left = 4 }, assert(engine:get(ids[4])).output)
  end)

  it("is free after what was lost", function()
    local engine, clock, url = backend.fresh { batch = 1, lease = 10 }
    local rival = kit.rival(backend, url, clock)
    local lost
    local flow = kit.one(function()
      if lost then return end
      lost = true
      clock:advance(11)
      assert(rival:run())
    end)
    assert(engine:load(flow))
    assert(rival:load(flow))
    assert(engine:start "t.one")
    assert.equal(1, assert(engine:run()).lost)
    assert.is_false(engine:busy())
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.completed(engine, id)
  end)
end)
