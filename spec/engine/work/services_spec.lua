-- What a running handler may ask of the engine: for its own instance alone.
local kit = require "spec.engine.kit"

kit.describe("a running handler", function(backend)
  it("hears of a request to cancel it, and of nobody else's", function()
    local engine, clock, url = backend.fresh()
    local asker = kit.rival(backend, url, clock)
    local seen = {}
    assert(engine:load(kit.one(function(ctx)
      local before = ctx.cancelled()
      if ctx.input.cancel then assert(asker:cancel(ctx.id)) end
      clock:advance(11) -- no heartbeat has asked lately
      seen[ctx.input.cancel and "one" or "other"] =
        { before, (ctx.cancelled()) }
    end)))
    local one = assert(engine:start("t.one", { cancel = true }))
    local other = assert(engine:start("t.one", { cancel = false }))
    assert(engine:run())
    assert.is_falsy(seen.one[1])
    assert.is_truthy(seen.one[2])
    assert.is_falsy(seen.other[2])
    assert.equal("cancelled", kit.status(engine, one))
    assert.completed(engine, other)
  end)

  it("keeps its lease by a heartbeat, and tells how far it is", function()
    local engine, clock, url = backend.fresh { lease = 30 }
    local rival = kit.rival(backend, url, clock)
    local runs, progress = 0, nil
    local flow = kit.one(function(ctx)
      runs = runs + 1
      for i = 1, 4 do
        clock:advance(20)
        ctx.heartbeat { done = i }
        assert(rival:run())
      end
      progress = assert(rival:get(ctx.id)).progress
    end)
    assert(engine:load(flow))
    assert(rival:load(flow))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.equal(1, runs)
    assert.same({ done = 4 }, progress)
    assert.completed(engine, id)
  end)

  it("counts its visits by its own history", function()
    local engine = backend.fresh()
    local visits = {}
    assert(engine:load(kit.one(function(ctx)
      visits[#visits + 1] = ctx.visit
      if #visits == 1 then error "again" end
    end, { retry = { max = 2, base = 0.001 } })))
    assert(engine:start "t.one")
    assert(engine:run { wait = true })
    assert.same({ 1, 1 }, visits)
  end)
end)
