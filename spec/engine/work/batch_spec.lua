-- What the statements of one batch share: who is written, under which latch.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("the plans of one batch", function(backend)
  --- Runs `n` of each, and gives how many transactions that took.
  local function mixed(n)
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    assert(engine:load(kit.timer()))
    local flow = pawl.workflow { code = "t.wait", start = "w" }
    flow:wait("w", { event = "paid", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    for _ = 1, n do
      for _, code in ipairs { "t.one", "t.timer", "t.wait" } do
        assert(engine:start(code))
      end
    end
    local before = engine:count().transactions
    assert(engine:tick())
    local took = engine:count().transactions - before
    assert(engine:run())
    return took, url
  end

  it("are written as each of them asks, in as few transactions as one",
    function()
      local few = mixed(1)
      local many, url = mixed(8)
      assert.equal(few, many)
      assert.equal(8, kit.count(backend, url, "agenda")) -- of the timers
      assert.equal(8, kit.count(backend, url, "subscription"))
      assert.equal(24, kit.count(backend, url, "history"))
    end)

  it("are decided anew when something came in before an end", function()
    local engine, clock, url = backend.fresh()
    local asker = kit.rival(backend, url, clock)
    local runs = 0
    assert(engine:load(kit.one(function(ctx)
      runs = runs + 1
      assert(asker:edit(ctx.id, { set = { late = true } }))
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.equal(1, runs) -- what the handler gave is kept
    assert.completed(engine, id)
    assert.matches("refused", kit.trail(engine, id))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)
end)
