-- What becomes of work whose worker died: promise 7.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("an instance whose worker died", function(backend)
  --- Lets workers die over an instance, `times` in a row.
  local function die(url, clock, id, times)
    local store = kit.store(url, clock)
    for _ = 1, times do
      kit.claim(store, id)
      clock:advance(31)
    end
    return store
  end

  it("is taken over when its lease ends, and that is recorded", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    local dead = kit.draw_id()
    kit.claim(kit.store(url, clock), id, { executor = dead })
    assert.equal(0, assert(engine:run()).claimed)
    clock:advance(31)
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal("recovered, step a", kit.trail(engine, id))
    local entry = assert(engine:history(id))[1]
    assert.matches(dead, entry.text, 1, true)
    assert.matches("takeover 1", entry.text, 1, true)
    assert.is_not.equal(dead, entry.executor)
  end)

  it("is taken over at once when that ran on this machine", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    assert(engine:start "t.one")
    assert(engine:run())
    local dead = kit.dead_neighbour(backend, url)
    local id = assert(engine:start "t.one")
    kit.claim(kit.store(url, clock), id, { executor = dead })
    local neighbour = kit.rival(backend, url, clock)
    assert(neighbour:load(kit.one()))
    assert(neighbour:run())
    assert.equal("recovered, step a", kit.trail(engine, id))
  end)

  it("runs alone, after what else is held was committed", function()
    local engine, clock, url
    local store
    local others = {}
    engine, clock, url = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      if ctx.input.died then
        others[#others + 1] = kit.count(backend, url, "agenda",
          ("executor = (select executor from %s where instance = %s)")
            :format(kit.table(backend, "agenda"),
              kit.id_literal(backend, ctx.id)))
      end
    end)))
    local ids = {}
    for i = 1, 6 do
      ids[i] = assert(engine:start("t.one", { died = i == 2 or i == 4 }))
    end
    store = kit.store(url, clock)
    kit.claim(store, ids[2])
    kit.claim(store, ids[4])
    clock:advance(31)
    assert(engine:run())
    assert.same({ 1, 1 }, others) -- nothing leased but itself
    assert.equal(6, #assert(engine:list { status = "completed" }))
  end)

  it("is suspended with the reason after so many takeovers", function()
    local engine, clock, url = backend.fresh { recoveries = 3 }
    local runs = 0
    assert(engine:load(kit.one(function() runs = runs + 1 end)))
    local id = assert(engine:start "t.one")
    die(url, clock, id, 4) -- the fifth claim is the fourth takeover
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("suspended", instance.status)
    assert.equal("poisoned", instance.error.code)
    assert.matches("4 times", instance.error.message)
    assert.is_string(instance.error.hint)
    assert.equal(0, runs)
    assert.equal("recovered, suspended", kit.trail(engine, id))
    assert.equal(0, kit.count(backend, url, "agenda"))
    clock:advance "10d"
    assert.equal(0, assert(engine:run()).claimed)
  end)

  it("is run as long as there are fewer", function()
    local engine, clock, url = backend.fresh { recoveries = 3 }
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    die(url, clock, id, 3)
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is suspended after five, when nothing else is said", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    local well = assert(engine:start "t.one")
    die(url, clock, id, 6)
    die(url, clock, well, 5)
    assert(engine:run())
    assert.equal("suspended", kit.status(engine, id))
    assert.completed(engine, well)
  end)

  it("starts counting again when it has got on", function()
    local engine, clock, url = backend.fresh { recoveries = 2 }
    local store
    local flow = pawl.workflow { code = "t.long", start = "a" }
    flow:step("a", { run = function() end, next = "t" })
    flow:timer("t", { after = 60, next = "b" })
    flow:step("b", { run = function() end, next = "u" })
    flow:timer("u", { after = 60, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.long")
    for _ = 1, 3 do
      store = die(url, clock, id, 2)
      assert(engine:run())
      local row = kit.agenda(store, id)
      if row then
        assert.equal(0, row.takeovers)
        clock:advance(60)
      end
    end
    assert.completed(engine, id)
  end)

  it("starts counting again at each step that was done", function()
    -- dies at each of them; no step but the last is followed by a rest
    local engine, clock, url = backend.fresh { recoveries = 3 }
    local store, ran = kit.store(url, clock), {}
    local function run(ctx)
      ran[ctx.node] = (ran[ctx.node] or 0) + 1
      if ran[ctx.node] > 1 then return end
      clock:advance(31)
      kit.claim(store, ctx.id) -- two died, with its own worker
      clock:advance(31)
    end
    assert(engine:load(kit.chain { run, run, run }))
    local id = assert(engine:start "t.chain")
    for _ = 1, 6 do assert(engine:run()) end
    assert.completed(engine, id)
    assert.same({ a = 2, b = 2, c = 2 }, ran)
  end)

  it("counts on while it only fails to get on", function()
    -- dies, is taken over, and dies again while the takeover is on record
    local engine, clock, url = backend.fresh { recoveries = 2 }
    local store, killed = nil, 0
    assert(engine:load(kit.one(function(ctx)
      killed = killed + 1
      clock:advance(31)
      kit.claim(store, ctx.id) -- as good as dead: another has it
      clock:advance(31)
    end)))
    store = kit.store(url, clock)
    local id = assert(engine:start "t.one")
    for _ = 1, 6 do assert(engine:tick(1)) end
    assert.equal("suspended", kit.status(engine, id))
    assert.is_true(killed <= 3, "ran " .. killed .. " times")
  end)

  it("costs nothing to the others of its batch", function()
    local engine, clock, url = backend.fresh()
    local store = kit.store(url, clock)
    assert(engine:load(kit.one()))
    local ids, lease = {}, kit.draw_id()
    for i = 1, 10 do ids[i] = (assert(engine:start "t.one")) end
    -- a batch of ten, of which three were committed before the end
    for _, id in ipairs(ids) do kit.claim(store, id, { lease = lease }) end
    clock:advance(31)
    local stats = assert(engine:run())
    assert.equal(10, stats.ended)
    for _, id in ipairs(ids) do
      assert.equal("recovered, step a", kit.trail(engine, id))
    end
  end)
end)

kit.describe("a clean release", function(backend)
  it("takes its claim back", function()
    local engine, clock, url = backend.fresh()
    local store = kit.store(url, clock)
    local due
    assert(engine:load(kit.one(function() engine:interrupt() end)))
    local ids = {}
    for i = 1, 3 do ids[i] = (assert(engine:start "t.one")) end
    due = kit.agenda(store, ids[1]).due_at
    clock:advance(5)
    local stats = assert(engine:tick(1))
    assert.equal(3, stats.claimed)
    assert.equal(1, stats.steps)
    assert.equal(0, stats.held)
    local left = 0
    for _, id in ipairs(ids) do
      local row = kit.agenda(store, id)
      if row then
        left = left + 1
        assert.is_nil(row.lease)
        assert.is_nil(row.executor)
        assert.is_true(row.ready)
        assert.equal(due, row.due_at) -- its place in the queue
        assert.equal(0, row.takeovers)
      end
    end
    assert.equal(2, left)
    assert(engine:tick(1))
    assert(engine:tick(1))
    for _, id in ipairs(ids) do
      assert.equal("step a", kit.trail(engine, id))
    end
  end)

  it("does not forget the crash before it", function()
    local engine, clock, url = backend.fresh()
    local store = kit.store(url, clock)
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    local dead = kit.draw_id()
    kit.claim(store, id, { executor = dead })
    clock:advance(31)
    -- this one has not loaded the workflow: it gives back what it took over
    local client = kit.rival(backend, url, clock)
    assert(client:tick_instance(id))
    local row = kit.agenda(store, id)
    assert.is_nil(row.lease)
    assert.equal(1, row.takeovers)
    assert(client:tick_instance(id)) -- a plain claim: no other crash
    assert.equal(1, kit.agenda(store, id).takeovers)
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal("recovered, step a", kit.trail(engine, id))
    assert.matches(dead, assert(engine:history(id))[1].text, 1, true)
  end)

  it("is what closing does", function()
    local engine, clock, url = backend.fresh()
    local store = kit.store(url, clock)
    assert(engine:load(kit.timer()))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    engine:close()
    assert.is_nil(kit.agenda(store, id).lease)
    assert.equal(1, kit.count(backend, url, "executor",
      "stopped_at is not null"))
    local other = kit.rival(backend, url, clock)
    assert(other:load(kit.timer()))
    clock:advance "1h"
    assert(other:run())
    assert.equal("started t, timer t", kit.trail(other, id))
  end)
end)
