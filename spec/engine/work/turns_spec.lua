-- Who has his turn before whom, and who makes place for what has come due.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local system = require "system"

local ONE = 0.000001 -- a tick of that runs one handler

--- Goes round until state.over; how often each has run is in state.turns.
local function loop(state)
  state.turns, state.n = {}, 0
  local flow = pawl.workflow { code = "t.loop", start = "a" }
  flow:step("a", { next = { again = "a", out = "z" }, run = function(ctx)
    state.n = state.n + 1
    state.turns[ctx.id] = (state.turns[ctx.id] or 0) + 1
    if state.on_turn then state.on_turn() end
    return state.over and "out" or "again"
  end })
  flow:finish "z"
  return flow
end

local function spread(turns)
  local least, most, n = math.huge, 0, 0
  for _, ran in pairs(turns) do
    least, most, n = math.min(least, ran), math.max(most, ran), n + 1
  end
  return least, most, n
end

kit.describe("turns", function(backend)
  it("go round, where a tick is too short for all", function()
    local state = {}
    local engine = backend.fresh()
    assert(engine:load(loop(state)))
    for _ = 1, 5 do assert(engine:start "t.loop") end
    for _ = 1, 50 do assert.equal(1, assert(engine:tick(ONE)).steps) end
    local least, most, n = spread(state.turns)
    assert.equal(5, n)
    assert.is_true(most - least <= 2, least .. " to " .. most)
  end)

  it("go round among more than a batch, while the clock stands", function()
    local state = {}
    local engine = backend.fresh { batch = 4, durability = "grouped" }
    assert(engine:load(loop(state)))
    for _ = 1, 20 do assert(engine:start "t.loop") end
    local claimed, least, most, n = 0, nil, nil, nil
    -- what is held is given back behind a fifth of a second without a turn,
    -- which is longer where others have the processor
    for _ = 1, 4 do
      local over = system.monotime() + 1.5
      while system.monotime() < over do
        claimed = claimed + assert(engine:tick(ONE)).claimed
      end
      least, most, n = spread(state.turns)
      if n == 20 and 20 * least >= state.n / 20 then break end
    end
    assert.equal(20, n)
    assert.is_true(20 * least >= state.n / 20, least .. " to " .. most)
    assert.is_true(claimed <= state.n + 4, claimed)
  end)

  it("of who has come just now are before those that go round", function()
    local state, seen = {}, {}
    local engine = backend.fresh()
    assert(engine:load(loop(state)))
    assert(engine:load(kit.one(function() seen[#seen + 1] = state.n end)))
    for _ = 1, 8 do assert(engine:start "t.loop") end
    for _ = 1, 20 do assert(engine:tick(ONE)) end
    for i = 1, 3 do
      local before = state.n
      assert(engine:start "t.one")
      assert(engine:tick(ONE))
      assert.same({ i, before }, { #seen, seen[i] })
    end
  end)
end)

kit.describe("beside handlers that wait", function(backend)
  it("loops leave room for who has come just now", function()
    local state, seen = {}, 0
    local engine = backend.fresh { concurrency = 4 }
    assert(engine:load(loop(state)))
    assert(engine:load(kit.one(function(ctx)
      ctx.await(function() return state.over end)
    end, { code = "t.slow" })))
    assert(engine:load(kit.one(function() seen = seen + 1 end)))
    assert(engine:start "t.slow")
    assert.equal(1, assert(engine:tick(ONE)).waiting)
    for _ = 1, 6 do assert(engine:start "t.loop") end
    for _ = 1, 12 do assert(engine:tick(ONE)) end
    assert(engine:start "t.one")
    for _ = 1, 2 do assert(engine:tick(ONE)) end
    assert.equal(1, seen)
  end)
end)

kit.describe("in a long tick with no place left", function(backend)
  local NAPS = 3

  --- A full batch of loops, and a batch ahead where there is one; and timers.
  local function crowded(state)
    local engine, clock = backend.fresh { batch = 4, durability = "grouped" }
    local flow = pawl.workflow { code = "t.nap", start = "t" }
    flow:timer("t", { after = "5s", next = "s" })
    flow:step("s", { next = "z", run = function() state.on_nap() end })
    flow:finish "z"
    assert(engine:load(loop(state)))
    assert(engine:load(flow))
    for _ = 1, NAPS do assert(engine:start "t.nap") end
    assert(engine:run())
    local loops = backend.name == "postgres" and 8 or 4
    for _ = 1, loops do assert(engine:start "t.loop") end
    return engine, clock, loops
  end

  it("whose time has come takes the place of one that goes round", function()
    local state, fired, late = {}, 0, nil
    local engine, clock, loops = crowded(state)
    function state.on_turn()
      if state.n == 400 then clock:advance(5) end
    end
    function state.on_nap()
      fired, late = fired + 1, state.n - 400
      state.over = fired == NAPS
    end
    local stats = assert(engine:tick(600))
    assert.equal(NAPS, fired)
    assert.is_true(late < 2000, late) -- a loop yields after a thousand alone
    assert.equal(NAPS + loops, stats.ended)
    assert.is_true(stats.claimed <= loops + 2 * NAPS, stats.claimed)
  end)

  it("nobody gives way who is on his way to an end", function()
    local state = {}
    local engine, clock = crowded(state)
    state.over = true
    assert(engine:run())
    assert(engine:load(kit.chain { function() end, function() end,
      function() clock:advance(1) end, function() end }))
    local left = NAPS
    function state.on_nap() left = left - 1 end
    for _ = 1, 12 do assert(engine:start "t.chain") end
    local stats = assert(engine:run())
    assert.same({ 0, 12 + NAPS, 12 + NAPS },
      { left, stats.ended, stats.claimed })
  end)
end)
