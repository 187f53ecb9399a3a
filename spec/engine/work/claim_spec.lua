-- Claims of several workers at one moment, each in a transaction of its own.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"

kit.describe("a claim beside others that are under way", function(backend)
  if backend.name ~= "postgres" then return end -- one writer at a time

  it("finds work, however many they are", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    for _ = 1, 60 do assert(engine:start "t.one") end
    local open, found = {}, {}
    for i = 1, 8 do
      open[i] = kit.store(url, clock)
      assert(open[i]:begin "open")
      assert(open[i]:send("agenda_claim", { shard = 0,
        executor_group = "default", workflow = { "t.one" },
        version = { 1 }, lease = kit.draw_id(),
        executor = kit.draw_id(), lease_us = 30000000, now = clock.us,
        max = 4 }))
      found[i] = #open[i]:rows(1)
    end
    for _, store in ipairs(open) do store:rollback() end
    assert.same({ 4, 4, 4, 4, 4, 4, 4, 4 }, found)
  end)
end)

-- Statements that claim: of the workflows that are served, as many as there is
-- room for; what has come due and nothing else is ready; one that was taken
-- over, alone; one by its id; and that, whoever holds it. What follows is the
-- same.
kit.describe("an instance", function(backend)
  --- a and b, then a wait for an hour.
  local function flow()
    local made = pawl.workflow { code = "t.flow", start = "a" }
    made:step("a", { next = "b", run = function(ctx)
      ctx.vars.n = ctx.input.n
      return nil, "done"
    end })
    made:step("b", { next = "t",
      run = function(ctx) ctx.vars.n = ctx.vars.n + 1 end })
    made:timer("t", { after = "1h", next = "z" })
    made:finish "z"
    return made
  end

  --- All that is stored once `claim` has run `n` instances.
  local function stored(n, claim, options)
    local engine, _, url = backend.fresh(options)
    local ids = {}
    assert(engine:load(flow()))
    for i = 1, n do ids[i] = assert(engine:start("t.flow", { n = 1 })) end
    claim(engine, ids[1])
    return kit.stored(backend, url)
  end

  local function all(engine) assert(engine:run()) end

  local function by_id(engine, id) assert(engine:run { id = id }) end

  it("is stored alike, claimed by its workflow or by its id", function()
    local rows = stored(1, all)
    assert.equal("waiting", rows.instance[1].status)
    assert.same(rows, stored(1, by_id))
  end)

  it("is stored alike, claimed alone or ahead of others", function()
    local alone = stored(1, all)
    local rows = stored(24, all, { batch = 4 })
    assert.equal(24, #rows.instance)
    for i = 1, 24 do
      assert.same(alone.instance[1], rows.instance[i])
      assert.same(alone.agenda[1], rows.agenda[i])
      for k = 1, 2 do
        assert.same(alone.history[k], rows.history[2 * (i - 1) + k])
      end
    end
  end)
end)

kit.describe("an instance that another had held", function(backend)
  --- All rows once `claim` has taken over what a rival had claimed, who did
  --- not live to run it.
  local function taken_over(claim)
    local engine, clock, url = backend.fresh { lease = 10 }
    assert(engine:load(kit.chain { function(ctx) ctx.vars.n = 1 end }))
    local id = assert(engine:start "t.chain")
    kit.claim(kit.store(url, clock), id, { lease_us = 1000000 })
    clock:advance(2)
    claim(engine, id)
    return kit.everything(backend, url), kit.trail(engine, id)
  end

  it("is stored alike, claimed alone as suspect or by its id", function()
    local rows, trail = taken_over(function(engine) assert(engine:run()) end)
    assert.matches("step a", trail)
    assert.not_equal("step a", trail) -- that it was taken over is told
    local other, same = taken_over(function(engine, id)
      assert(engine:run { id = id })
    end)
    assert.equal(trail, same)
    assert.same(rows, other)
  end)

  --- All rows of one that is killed, and before that seized if `is_held`.
  local function killed(is_held)
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.timer()))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    assert(engine:wake(id))
    if is_held then kit.claim(kit.store(url, clock), id) end
    local _, done = assert(engine:kill(id, { by = "ann" }))
    assert.is_true(done)
    return kit.everything(backend, url)
  end

  it("is stored alike, killed whether somebody holds it or not", function()
    local rows = killed(false)
    assert.equal("cancelled", rows.instance[1].status)
    assert.same(rows, killed(true))
  end)
end)

kit.describe("what comes due while a worker is idle", function(backend)
  local HOUR <const> = 3600

  --- A step behind a timer of an hour; `ran` has the inputs' names in order.
  local function late(ran, code)
    local flow = pawl.workflow { code = code or "t.late", start = "t" }
    flow:timer("t", { after = "1h", next = "a" })
    flow:step("a", { next = "z",
      run = function(ctx) ran[#ran + 1] = ctx.input.name end })
    flow:finish "z"
    return flow
  end

  --- An engine that has seen the workflow, and is idle.
  local function idle(ran, options)
    local engine, clock, url = backend.fresh(options)
    assert(engine:load(late(ran)))
    local function start(name, more, code)
      return (assert(engine:start(code or "t.late", { name = name }, more)))
    end
    start "first"
    assert(engine:run())
    clock:advance(HOUR)
    assert(engine:run())
    assert.same({ "first" }, ran)
    ran[1] = nil
    return engine, clock, url, start
  end

  it("is claimed as it is, and not made ready first", function()
    local ran = {}
    local engine, clock, _, start = idle(ran)
    start "a"
    assert(engine:run())
    assert(engine:tick()) -- knows what comes next
    clock:advance(HOUR)
    local before, now = engine:count(), nil
    probe.fault("engine.claim.after=call", function() now = engine:count() end)
    assert(engine:tick())
    probe.fault(nil)
    assert.same({ "a" }, ran)
    -- one unit, of the claim, the load, and what is next
    assert.equal(1, now.transactions - before.transactions)
    assert.equal(3, now.statements - before.statements)
  end)

  it("is run by its priority, all of it or first what goes before", function()
    for _, batch in ipairs { 2, 8 } do
      local ran = {}
      local engine, clock, _, start = idle(ran, { batch = batch })
      start("low", { priority = 1 })
      start("high", { priority = 9 })
      start("middle", { priority = 5 })
      assert(engine:run())
      clock:advance(HOUR)
      assert(engine:run())
      assert.same({ "high", "middle", "low" }, ran)
    end
  end)

  it("is passed by where it is others' to run", function()
    local ran, theirs = {}, {}
    local engine, clock, url, start = idle(ran)
    local other = kit.rival(backend, url, clock, { group = "theirs" })
    assert(other:load(late(theirs)))
    assert(engine:load(late(ran, "t.rests")))
    start("a")
    start("theirs", { group = "theirs" })
    start("rests", {}, "t.rests")
    assert(engine:run())
    assert(other:run())
    assert(engine.workflows:suspend { workflow = "t.rests" })
    clock:advance(HOUR)
    assert(engine:run())
    assert.same({ "a" }, ran)
    assert(other:run())
    assert.same({ "theirs" }, theirs)
    assert(engine.workflows:resume { workflow = "t.rests" })
    assert(engine:run())
    assert.same({ "a", "rests" }, ran)
  end)

  it("is taken over where its holder is gone, alone", function()
    local ran = {}
    local engine, clock, url, start = idle(ran)
    local lost = start "lost"
    start "b"
    assert(engine:run())
    clock:advance(HOUR)
    kit.claim(kit.store(url, clock), lost, { lease_us = 1000 })
    clock:advance(1)
    assert(engine:run())
    table.sort(ran)
    assert.same({ "b", "lost" }, ran)
    assert.matches("recovered t", kit.trail(engine, lost))
  end)

  it("runs once where two see it come", function()
    local ran = {}
    local engine, clock, url, start = idle(ran)
    local rival = kit.rival(backend, url, clock)
    assert(rival:load(late(ran)))
    start "a"
    assert(engine:run())
    assert(rival:run())
    clock:advance(HOUR)
    probe.fault("engine.claim.after=call", function()
      probe.fault(nil)
      assert(rival:run())
    end)
    assert(engine:run())
    assert.same({ "a" }, ran)
  end)
end)
