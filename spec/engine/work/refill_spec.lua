-- How much is claimed, and when: no more than there is room for.
local kit = require "spec.engine.kit"

kit.describe("a batch", function(backend)
  local function filled(n, options, run)
    local engine, clock, url = backend.fresh(options)
    assert(engine:load(kit.one(run)))
    local items = {}
    for i = 1, n do items[i] = {} end
    assert(engine:start_many("t.one", items))
    return engine, clock, url
  end

  it("is filled up while anything is due", function()
    local engine = filled(50, { batch = 8 })
    local stats = assert(engine:run())
    assert.equal(50, stats.ended)
    assert.is_true(stats.commits >= 50 // 16)
  end)

  it("takes no more of what waits than may wait", function()
    local most = 0
    local state = {}
    local engine, clock = filled(20, { batch = 4, concurrency = 3 },
      function(ctx)
        state.now = (state.now or 0) + 1
        most = math.max(most, state.now)
        ctx.await(function() return state.ready end)
        state.now = state.now - 1
      end)
    for _ = 1, 5 do
      assert.is_true(assert(engine:tick()).waiting <= 3)
      clock:advance(1)
    end
    state.ready = true
    for _ = 1, 60 do
      assert(engine:tick())
      clock:advance(1)
    end
    assert.equal(20, #assert(engine:list { status = "completed" }))
    assert.equal(3, most)
  end)

  it("holds nothing more when it is told to stop", function()
    local engine, url, _
    local n = 0
    engine, _, url = filled(20, { batch = 4 }, function()
      n = n + 1
      engine:interrupt()
    end)
    assert(engine:tick())
    assert.equal(1, n)
    assert.equal(0, kit.count(backend, url, "agenda", "lease is not null"))
  end)
end)
