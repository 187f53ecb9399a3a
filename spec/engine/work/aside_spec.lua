--- What a tick could not run stays held for the next one, and is in nobody's
--- way meanwhile.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local system = require "system"

local BUDGET, RUN = 0.03, 0.031

--- Keeps the processor busy: a budget is of real time, whatever the clock.
local function spin(seconds)
  local over = system.monotime() + seconds
  while system.monotime() < over do end
end

--- a, z: each run of `a` takes longer than a tick has.
local function slow(state, code)
  return kit.one(function(ctx)
    state.n = (state.n or 0) + 1
    state[ctx.id] = (state[ctx.id] or 0) + 1
    spin(RUN)
  end, { code = code })
end

local function start(engine, n)
  local ids = {}
  for i = 1, n do ids[i] = assert(engine:start "t.one") end
  return ids
end

--- What is not run for a fifth of a second is given back, by the wall's clock:
--- where others had the processor for so long a case has not seen its schedule,
--- and is tried again.
---@param backend table
---@param case fun()
local function promptly(backend, case)
  return function()
    for try = 1, 10 do
      local began = system.monotime()
      local ok, err = pcall(case)
      if ok then return end
      if try == 10 or system.monotime() - began < 0.2 then error(err, 0) end
      kit.close_stores()
      backend.cleanup()
    end
  end
end

kit.describe("what a tick could not run", function(backend)
  --- Of what is still held then.
  local function held(name, case) it(name, promptly(backend, case)) end

  local function leases(url)
    return kit.count(backend, url, "agenda", "lease is not null")
  end

  --- An engine that holds some of `n` instances from its first tick; and which
  --- of them have not run.
  local function holding(n, options, flow)
    local state = {}
    local engine, clock, url = backend.fresh(options)
    assert(engine:load(flow or slow(state)))
    assert(engine:tick()) -- it has said who it is
    local ids = start(engine, n)
    local stats = assert(engine:tick(BUDGET))
    assert.equal(1, stats.steps)
    local left = {}
    for _, id in ipairs(ids) do
      if not state[id] then left[#left + 1] = id end
    end
    return engine, clock, url, state, left, stats
  end

  held("is held, and comes first in the next one", function()
    local engine, _, url, state, _, stats = holding(3)
    assert.equal(3, stats.claimed)
    assert.equal(2, stats.held)
    assert.equal(2, leases(url))
    assert.equal(0, stats.next_due)
    assert.equal(0, assert(engine:next_due()))
    for k = 1, 0, -1 do
      stats = assert(engine:tick(BUDGET))
      assert.equal(0, stats.claimed)
      assert.equal(1, stats.steps)
      assert.equal(k, stats.held)
    end
    assert.equal(3, state.n)
    assert.equal(0, leases(url))
    assert.not_equal(0, stats.next_due)
  end)

  it("keeps its place among steps of one instance", function()
    local state = { n = 0 }
    local runs = {}
    for k = 1, 4 do
      runs[k] = function(ctx)
        ctx.vars.n = (ctx.vars.n or 0) + 1
        spin(RUN)
      end
    end
    local engine = backend.fresh()
    assert(engine:load(kit.chain(runs)))
    local id = assert(engine:start "t.chain")
    local claimed = 0
    repeat
      local stats = assert(engine:tick(BUDGET))
      claimed = claimed + stats.claimed
      state.n = state.n + 1
    until stats.ended == 1
    assert.equal(1, claimed)
    assert.equal(4, state.n)
    assert.equal(4, assert(engine:get(id)).output.n)
  end)

  held("is given back by a tick of one round, and by an interrupt", function()
    local engine, _, url = holding(5)
    assert(engine:tick(0))
    assert.equal(0, leases(url))
    local flow
    flow = kit.one(function() engine:interrupt() end)
    engine, _, url = backend.fresh()
    assert(engine:load(flow))
    start(engine, 5)
    assert(engine:tick(1))
    assert.equal(0, leases(url))
  end)

  held("is given back before a wait", function()
    local engine, _, url = holding(5)
    assert(engine:wait(0.001))
    assert.equal(0, leases(url))
    assert(engine:run())
    assert.equal(0, #assert(engine:list { status = "running" }))
  end)

  held("is given back by who closes, as if it had never been held", function()
    if backend.label == ":memory:" then return end
    local engine, clock, url = holding(5)
    engine:close()
    assert.equal(0, leases(url))
    local other = kit.rival(backend, url, clock)
    assert(other:load(slow {}))
    assert(other:run())
    for _, one in ipairs(assert(other:list())) do
      assert.equal("completed", one.status)
      assert.equal("step a", kit.trail(other, one.id))
    end
  end)

  held("is no more than a batch", function()
    local engine, _, url = holding(30, { batch = 4 })
    for _ = 1, 5 do
      assert.is_true(assert(engine:tick(BUDGET)).held <= 4)
      assert.is_true(leases(url) <= 4)
    end
  end)

  it("is given back when it is not run for a while", function()
    local engine, _, url = holding(5)
    system.sleep(0.21)
    local stats = assert(engine:tick(BUDGET))
    assert.equal(1, stats.steps)
    assert.equal(0, stats.held)
    assert.equal(0, leases(url))
  end)

  held("is given back when its lease is about to end", function()
    local engine, clock, url = holding(5)
    clock:advance(21) -- of thirty seconds; a heartbeat would come too late
    local stats = assert(engine:tick(BUDGET))
    assert.equal(1, stats.steps)
    assert.equal(stats.held, leases(url)) -- or was kept for thirty more
    clock:advance(31)
    assert(engine:tick(BUDGET))
    assert(engine:run())
    for _, one in ipairs(assert(engine:list())) do
      assert.equal("step a", kit.trail(engine, one.id))
    end
  end)

  held("is dropped when another has taken it over meanwhile", function()
    local engine, clock, url, state, left = holding(3)
    local other = kit.rival(backend, url, clock)
    assert(other:load(slow(state)))
    clock:advance(31)
    assert(other:run())
    assert.equal(3, state.n)
    local stats = assert(engine:tick(BUDGET))
    assert.equal(#left, stats.lost)
    assert.equal(0, stats.steps)
    assert.equal(3, state.n)
  end)

  held("goes on though its lease had ended, if nobody took it", function()
    local engine, clock, _, state = holding(3)
    clock:advance(3600)
    for _ = 1, 2 do assert.equal(0, assert(engine:tick(BUDGET)).lost) end
    assert.equal(3, state.n)
  end)

  held("is not put off by a clock that is set back", function()
    local engine, clock, _, state = holding(3)
    clock.us = clock.us - 3600 * 1000000
    for _ = 1, 2 do assert.equal(0, assert(engine:tick(BUDGET)).lost) end
    assert.equal(3, state.n)
  end)

  held("takes what another engine has sent before it runs", function()
    local engine, clock, url, state, left = holding(3)
    local other = kit.rival(backend, url, clock)
    local _, done = assert(other:cancel(left[1], { by = "ann" }))
    assert.is_false(done)
    assert(engine:tick(BUDGET))
    assert.equal("cancelled", kit.status(engine, left[1]))
    assert.is_nil(state[left[1]])
  end)

  held("is not run when another engine has killed it", function()
    local engine, clock, url, state, left = holding(3)
    local other = kit.rival(backend, url, clock)
    assert(other:kill(left[1], { by = "ann" }))
    local stats = assert(engine:tick(BUDGET))
    assert.equal(1, stats.lost)
    assert.is_nil(state[left[1]])
    assert.equal("cancelled", kit.status(engine, left[1]))
    assert(engine:run())
    assert.equal(1, state[left[2]])
  end)

  held("is had by who asks for it in the same engine", function()
    local engine, _, _, state, left = holding(4)
    local _, done = assert(engine:cancel(left[1], { by = "ann" }))
    assert.is_true(done)
    assert.equal("cancelled", kit.status(engine, left[1]))
    _, done = assert(engine:edit(left[2], { set = { x = 1 }, by = "ann" }))
    assert.is_true(done)
    assert.equal("done", (assert(engine:tick_instance(left[2]))))
    assert.equal(1, assert(engine:get(left[2])).output.x)
    assert(engine:kill(left[3], { by = "ann" }))
    assert(engine:run())
    assert.same({ 2, 1 }, { state.n, state[left[2]] })
  end)

  held("is had by many changes at once", function()
    local engine, _, _, state, left = holding(6)
    assert(engine:bulk("cancel", { workflow = "t.one", status = "running" },
      { by = "ann" }))
    for _, id in ipairs(left) do
      assert.equal("cancelled", kit.status(engine, id))
    end
    assert.equal(1, state.n)
  end)

  held("does not run once its workflow is suspended", function()
    local engine, clock, url, state = holding(5)
    local other = kit.rival(backend, url, clock)
    assert(other.workflows:suspend { workflow = "t.one", by = "ann" })
    local stats = assert(engine:tick(BUDGET))
    assert.equal(0, stats.steps)
    assert.equal(0, leases(url))
    assert(other.workflows:resume { workflow = "t.one", by = "ann" })
    assert(engine:run())
    assert.equal(5, state.n)
    local second, _, second_url = holding(5)
    assert(second.workflows:suspend { workflow = "t.one", by = "ann" })
    assert.equal(0, leases(second_url))
  end)

  held("is given back before definitions are loaded", function()
    local engine, _, url = holding(5)
    assert(engine:load(kit.timer()))
    assert.equal(0, leases(url))
  end)

  held("does not stand beside one that was taken over", function()
    local state = {}
    local engine, clock, url, _, left = holding(3)
    local store = kit.store(url, clock)
    assert(engine:wait(0.001))
    local lease = kit.claim(store, left[1])
    assert.truthy(lease)
    clock:advance(31)
    repeat
      local stats = assert(engine:tick(BUDGET))
      assert.is_true(stats.held <= 2)
    until not stats.next_due
    assert.equal("recovered, step a", kit.trail(engine, left[1]))
    assert.equal("step a", kit.trail(engine, left[2]))
    assert.same({}, state)
  end)

  it("leaves to others what they have the time for", function()
    local engine, clock, url, state = holding(20)
    local other = kit.rival(backend, url, clock)
    assert(other:load(slow(state)))
    system.sleep(0.21)
    assert(engine:tick(BUDGET))
    assert(other:run())
    assert.equal(20, state.n)
  end)

  it("is told by a budget that two engines of one process have", function()
    local engine, clock, url, state = holding(12)
    local other = kit.rival(backend, url, clock)
    assert(other:load(slow(state)))
    for _ = 1, 40 do
      assert(engine:tick(BUDGET))
      assert(other:tick(BUDGET))
    end
    for id, n in pairs(state) do
      assert.equal(id == "n" and 12 or 1, n)
    end
  end)
end)

kit.describe("while instances go round without waiting,", function(backend)
  local function looping(state)
    local flow = pawl.workflow { code = "t.loop", start = "a" }
    flow:step("a", { next = { again = "a", out = "z" }, run = function(ctx)
      state[ctx.id] = (state[ctx.id] or 0) + 1
      spin(RUN)
      return state.stop and "out" or "again"
    end })
    flow:finish "z"
    return flow
  end

  it("a timer fires in the tick behind its time", function()
    local state, fired = {}, 0
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.nap", start = "t" }
    flow:timer("t", { after = "1h", next = "s" })
    flow:step("s", { run = function() fired = fired + 1 end, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:load(looping(state)))
    local nap = assert(engine:start "t.nap")
    assert(engine:run())
    for _ = 1, 3 do assert(engine:start "t.loop") end
    for _ = 1, 5 do assert(engine:tick(BUDGET)) end
    clock:advance "1h"
    assert(engine:tick(BUDGET))
    local trail = kit.trail(engine, nap)
    assert.truthy(trail:find "timer t", trail)
    assert(engine:tick(BUDGET))
    assert.equal(1, fired)
    state.stop = true
    assert(engine:run())
  end)

  it("each of them has its turn", function()
    local state = {}
    local engine = backend.fresh()
    assert(engine:load(looping(state)))
    local ids = {}
    for i = 1, 4 do ids[i] = assert(engine:start "t.loop") end
    for _ = 1, 40 do assert(engine:tick(BUDGET)) end
    for _, id in ipairs(ids) do
      assert.is_true(state[id] >= 6 and state[id] <= 14, state[id])
    end
    state.stop = true
    assert(engine:run())
  end)
end)

--- Ticks of a program that draws frames, by a clock that goes on with each:
--- what counts is in which of them something comes, not how long they take.
kit.describe("in frames, beside instances that go round,", function(backend)
  local FRAME, SHORT, TIMERS = 1 / 60, 0.01, 20

  local function loop(turns)
    local flow = pawl.workflow { code = "t.loop", start = "a" }
    flow:step("a", { next = { again = "a", out = "z" }, run = function(ctx)
      turns[ctx.id] = (turns[ctx.id] or 0) + 1
      return turns.over and "out" or "again"
    end })
    flow:finish "z"
    return flow
  end

  local function nap(fired)
    local flow = pawl.workflow { code = "t.nap", start = "t" }
    flow:timer("t", { at = function(ctx) return ctx.input.at end, next = "s" })
    flow:step("s", { run = function(ctx) fired(ctx.input.at) end, next = "z" })
    flow:finish "z"
    return flow
  end

  --- All of them have run so often.
  local function have_run(turns, n, times)
    for _, ran in pairs(turns) do
      if ran >= times then n = n - 1 end
    end
    return n <= 0
  end

  --- Frames that a timer was late by at most, those of a round over all
  --- loops, and claims for each step.
  local function measure(n)
    local turns, frame, late, claimed, steps = {}, 0, {}, 0, 0
    local engine, clock = backend.fresh { durability = "grouped" }
    local began = clock:now()
    assert(engine:load(loop(turns)))
    assert(engine:load(nap(function(at)
      late[#late + 1] = frame - math.ceil((at - began) / FRAME)
    end)))
    local function draw()
      frame = frame + 1
      clock.us = math.floor((began + frame * FRAME) * 1e6 + 0.5)
      local stats = assert(engine:tick(SHORT))
      claimed, steps = claimed + stats.claimed, steps + stats.steps
      return stats
    end
    for _ = 1, n do assert(engine:start "t.loop") end
    repeat draw() until have_run(turns, n, 2) -- none is new any more
    for i = 1, TIMERS do
      assert(engine:start("t.nap", { at = clock:now() + (5 + 3 * i) * FRAME }))
    end
    frame, claimed, steps, began = 0, 0, 0, clock:now()
    for _ = 1, 5 + 3 * TIMERS do draw() end
    for _ = 1, 100 do
      if #late == TIMERS then break end
      draw()
    end
    assert.equal(TIMERS, #late)
    return math.max(table.unpack(late)), n * frame / steps, claimed / steps
  end

  for _, n in ipairs { 10, 100, 300 } do
    it(("a timer fires in its frame, beside %d"):format(n), function()
      local late, claims, most
      for _ = 1, 3 do -- a budget is of the wall's time, which others take
        local round
        late, round, claims = measure(n)
        most = math.max(2, n > 128 and round or 0)
        if late <= most and claims <= 1.1 then break end
        kit.close_stores()
        backend.cleanup()
      end
      assert.is_true(late <= most, late)
      assert.is_true(claims <= 1.1, claims)
    end)
  end
end)
