-- Claims of several workers at one moment, each in a transaction of its own.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

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

-- Four statements claim: of the workflows that are served, as many as there is
-- room for; one that was taken over, alone; one by its id; and that, whoever
-- holds it. What follows is the same.
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
