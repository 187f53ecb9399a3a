-- The rounds of a tick: claim, load, run, decide, commit, until its budget is
-- spent or nothing is due.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"

kit.describe("a tick", function(backend)
  local function looping(state)
    local flow = pawl.workflow { code = "t.loop", start = "a" }
    flow:step("a", { next = { again = "a", out = "z" }, run = function()
      state.n = (state.n or 0) + 1
      if state.each then state.each() end
      return state.stop and "out" or "again"
    end })
    flow:finish "z"
    return flow
  end

  it("without a budget is one round", function()
    local engine = backend.fresh()
    local state = {}
    assert(engine:load(looping(state)))
    assert(engine:start "t.loop")
    local stats = assert(engine:tick())
    assert.equal(1, state.n)
    assert.equal(1, stats.steps)
    assert.equal(1, stats.claimed)
    assert.equal(0, stats.next_due) -- there is more to do at once
    assert.equal(0, assert(engine:tick(0)).ended)
    assert.equal(2, state.n)
  end)

  it("ends when it is interrupted, with what was done stored", function()
    local engine = backend.fresh()
    local state = {}
    state.each = function() if state.n == 5 then engine:interrupt() end end
    assert(engine:load(looping(state)))
    local id = assert(engine:start "t.loop")
    assert(engine:tick(60))
    assert.equal(5, state.n)
    assert.equal(5, #assert(engine:history(id)))
  end)

  it("counts what came of it", function()
    local engine = backend.fresh()
    assert(engine:load(kit.chain { function() end, function() end }))
    for _ = 1, 3 do assert(engine:start "t.chain") end
    local stats = assert(engine:run())
    assert.equal(3, stats.claimed)
    assert.equal(6, stats.steps)
    assert.equal(6, stats.committed)
    assert.equal(3, stats.ended)
    assert.is_nil(stats.next_due)
    stats = assert(engine:tick())
    assert.equal(0, stats.claimed + stats.steps + stats.ended)
  end)
end)

-- Three go round: a tick, a tick of one instance, and who takes an inbox.
kit.describe("what has come in", function(backend)
  --- All rows once what is asked for was taken: in the call that asks, or, as
  --- somebody holds the instance at that moment, by `take`.
  local function stored(take)
    local engine, clock, url = backend.fresh()
    local store = kit.store(url, clock)
    assert(engine:load(kit.timer()))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    assert(engine:wake(id))
    local lease = take and kit.claim(store, id)
    local _, done = assert(engine:edit(id, { set = { n = 1.0 }, by = "ann" }))
    assert.equal(not take, done)
    _, done = assert(engine:suspend(id, { by = "ann", reason = "why" }))
    assert.equal(not take, done)
    if take then
      kit.run(store, "agenda_unclaim", { shard = 0, id = { id },
        lease = { lease }, executor = { probe.null }, due_at = { clock.us } })
      take(engine, id)
    end
    local rows = kit.everything(backend, url)
    -- who is asked once makes one commit of what two calls make two of
    rows.instance[1].commits = nil
    return rows
  end

  it("is stored alike, taken by a tick, by one of it alone, or at once",
    function()
      local rows = stored()
      assert.equal(0, #rows.inbox)
      assert.equal("suspended", rows.instance[1].status)
      assert.same(rows, stored(function(engine) assert(engine:run()) end))
      assert.same(rows, stored(function(engine, id)
        assert(engine:run { id = id })
      end))
    end)
end)
