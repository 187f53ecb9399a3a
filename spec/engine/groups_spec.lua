--- What happens in the middle of a group: ticks of a frame that share a
--- transaction (0064). Where there are no groups, in memory and on a server,
--- the same calls do the same.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local system = require "system"
local tmp = require "spec.support.tmp"

kit.describe("in the middle of a group", function(backend)
  local groups = backend.name == "sqlite" and backend.label ~= ":memory:"

  after_each(function() probe.fault(nil) end)

  --- Waits for an event, then counts it, and ends with the third.
  local function counter()
    local flow = pawl.workflow { code = "t.count", start = "w" }
    flow:wait("w", { event = "count", next = "c" })
    flow:step("c", { run = function(ctx)
      ctx.vars.n = (ctx.vars.n or 0) + 1
      return ctx.vars.n < 3 and "again" or "out"
    end, next = { again = "w", out = "z" } })
    flow:finish("z", { output = function(ctx) return ctx.vars.n end })
    return flow
  end

  local function short(engine, n)
    local stats
    for _ = 1, n or 6 do stats = assert(engine:tick(0.002)) end
    return stats
  end

  --- An engine with a group open, in which `id`, started before it, has ended.
  local function grouping(options)
    options = options or {}
    options.durability = options.durability or "grouped"
    options.flush = options.flush or 60
    local engine, clock, url = backend.fresh(options)
    assert(engine:load(kit.one()))
    assert(engine:load(counter()))
    assert(engine:tick()) -- a file's first commit does not wait
    assert(engine:save())
    local id = assert(engine:start "t.one")
    local stats = short(engine)
    assert.completed(engine, id)
    assert.equal(groups, stats.unwritten > 0)
    return engine, clock, url, id
  end

  local function is_open(engine)
    return assert(engine:tick(0.002)).unwritten > 0
  end

  it("a handler that fails takes nothing else along", function()
    local engine, clock, url, id = grouping()
    local tries = 0
    assert(engine:load(kit.one(function(ctx)
      tries = tries + 1
      ctx.vars.tried = true
      ctx.emit("never", {})
      error { code = "broken", message = "it broke" }
    end, { code = "t.broken", retry = { max = 2, base = 5, jitter = 0 } })))
    local bad = assert(engine:start "t.broken")
    local good = assert(engine:start "t.one")
    short(engine)
    assert.completed(engine, good)
    assert.equal(1, tries)
    clock:advance(6)
    short(engine)
    assert.failed(engine, bad)
    assert.equal(groups, is_open(engine))
    assert(engine:save())
    local other = kit.rival(backend, url, clock)
    assert.completed(other, id)
    assert.completed(other, good)
    local failed = assert(other:get(bad))
    assert.equal("broken", failed.error.code)
    assert.is_nil(failed.variables.tried)
    assert.equal(2, tries)
    assert.equal(0, #assert(other.outbox:list()))
  end)

  it("a signal is taken, a start runs, and a cancel ends", function()
    local engine, clock, url = grouping()
    local id = assert(engine:start "t.count")
    local gone = assert(engine:start "t.count")
    short(engine)
    for at = 1, 3 do
      assert(engine:signal { name = "count", instance = id })
      if at == 2 then assert(engine:cancel(gone, { reason = "enough" })) end
      short(engine)
      assert.equal(at, assert(engine:get(id)).variables.n)
    end
    assert.completed(engine, id)
    assert.equal("cancelled", kit.status(engine, gone))
    local other = kit.rival(backend, url, clock)
    if groups then assert.is_nil((other:get(id))) end
    assert(engine:save())
    assert.equal(3, assert(other:get(id)).output)
    assert.equal("cancelled", kit.status(other, gone))
  end)

  it("others read what was there before it, and all of it at once", function()
    local engine, clock, url = grouping()
    if not groups then return end
    local other, ids = kit.rival(backend, url, clock), {}
    local before = #assert(other:list { status = "completed" })
    for i = 1, 5 do
      ids[i] = assert(engine:start "t.one")
      short(engine, 2)
      assert.equal(before, #assert(other:list { status = "completed" }))
      assert.is_nil((other:get(ids[i])))
    end
    assert(engine:save())
    assert.equal(before + 6, #assert(other:list { status = "completed" }))
    assert.equal("step a", kit.trail(other, ids[5]))
  end)

  it("a backup has it, and a restore undoes it", function()
    if backend.name ~= "sqlite" then return end -- the server has its own tools
    local engine, _, _, id = grouping()
    local copy = tmp.path "group.copy"
    assert(engine:backup(copy))
    local late = assert(engine:start "t.one")
    short(engine)
    assert.completed(engine, late)
    assert.equal(groups, is_open(engine))
    assert(engine:restore(copy))
    assert.is_nil((engine:get(late)))
    assert.completed(engine, id)
    local again = assert(engine:start "t.one")
    short(engine)
    assert.completed(engine, again)
  end)

  it("pruning takes what is old, and nothing else", function()
    local engine, clock, url, id = grouping()
    clock:advance(3600)
    local young = assert(engine:start "t.one")
    short(engine)
    assert(engine:prune { completed = 1800 })
    assert.is_nil((engine:get(id)))
    assert.completed(engine, young)
    assert(engine:save())
    local other = kit.rival(backend, url, clock)
    assert.is_nil((other:get(id)))
    assert.completed(other, young)
  end)

  it("a lease that ends is kept, or taken by somebody else", function()
    local engine, clock, url = grouping { lease = 30 }
    local most = math.huge
    local flow = pawl.workflow { code = "t.on", start = "a" }
    flow:step("a", { run = function(ctx)
      ctx.vars.n = (ctx.vars.n or 0) + 1
      return ctx.vars.n < most and "again" or "out"
    end, next = { again = "a", out = "z" } })
    flow:finish("z", { output = function(ctx) return ctx.vars.n end })
    assert(engine:load(flow))
    local id = assert(engine:start "t.on")
    short(engine)
    clock:advance(31) -- nobody saw to it
    short(engine)
    assert(engine:save())
    clock:advance(31)
    most = 0
    local other = kit.rival(backend, url, clock)
    assert(other:load(flow))
    for _ = 1, 9 do assert(other:tick(1)) end
    assert.completed(other, id)
    short(engine) -- it finds out
    local steps = 0
    for seq, row in ipairs(assert(other:history(id, { limit = 9000 }))) do
      assert.equal(seq, row.seq)
      if row.type == "step" then steps = steps + 1 end
    end
    assert.equal(steps, assert(engine:get(id)).output)
  end)

  it("a transaction stands alone, whether it is kept or not", function()
    local engine, clock, url, id = grouping()
    local other = kit.rival(backend, url, clock)
    for _, keeps in ipairs { true, false } do
      local late = assert(engine:start "t.one")
      short(engine)
      local inside
      local ok, err = pcall(engine.transaction, engine, function()
        inside = assert(engine:start "t.one")
        if not keeps then error("no", 0) end
        return true
      end)
      assert.equal(keeps, ok and err == true, tostring(err))
      assert.completed(other, late) -- it came first
      assert.completed(other, id)
      assert.equal(keeps, (other:get(inside)) ~= nil)
    end
  end)

  it("an interrupt ends a tick, and loses nothing of it", function()
    local engine, clock, url = grouping()
    local id = assert(engine:start "t.count")
    short(engine)
    assert(engine:signal { name = "count", instance = id })
    engine:interrupt()
    assert(engine:tick(0.002))
    short(engine)
    assert.equal(1, assert(engine:get(id)).variables.n)
    engine:interrupt()
    assert(engine:save())
    local other = kit.rival(backend, url, clock)
    assert.equal(1, assert(other:get(id)).variables.n)
  end)

  it("a file that is busy at its end keeps it open until it is not", function()
    local engine, clock, url, id = grouping { flush = 0.05 }
    if not groups then return end
    system.sleep(0.06)
    probe.fault "commit.busy=fail"
    local stats = assert(engine:tick(0.002)) -- the next one's then
    probe.fault(nil)
    assert.is_true(stats.unwritten > 0)
    local other = kit.rival(backend, url, clock)
    assert.equal("created", kit.status(other, id))
    assert.completed(engine, id)
    assert.equal(0, assert(engine:tick(0.002)).unwritten)
    assert.completed(other, id)
  end)

  it("a disk that is full undoes it whole, and it is done again", function()
    local engine, clock, url, id = grouping()
    if not groups then return end
    local late = assert(engine:start "t.one")
    short(engine)
    local other = kit.rival(backend, url, clock)
    probe.fault "commit.full=fail"
    local ok, err = engine:save()
    probe.fault(nil)
    assert.is_nil(ok)
    assert.truthy(err.code == "full" or err.code == "busy", tostring(err))
    assert.equal("created", kit.status(other, id))
    short(engine)
    assert(engine:save())
    assert.completed(other, id)
    assert.equal("step a", kit.trail(other, id))
    assert.is_nil((other:get(late))) -- its start went along
    assert(engine:load(kit.one()))
    local again = assert(engine:start "t.one")
    short(engine)
    assert.completed(engine, again)
  end)

  local function start_many(engine)
    for _ = 1, 50 do
      assert(engine:start("t.one", { text = ("x"):rep(999) }))
    end
  end

  it("a log that is to be short ends it", function()
    if not groups then return end
    local engine = grouping { durability = "save",
      checkpoint_bytes = 256 * 1024 }
    local most = 0
    for _ = 1, 20 do
      start_many(engine)
      most = math.max(most, short(engine).unwritten)
    end
    -- each start and each end is a unit, of several rows
    assert.is_true(most > 0 and most < 256, most)
  end)

  it("a unit that the disk has no room for is none of it", function()
    if not groups then return end
    local engine, clock, url, id = grouping { durability = "save" }
    local other = kit.rival(backend, url, clock)
    probe.fault "store.room=fail"
    local late, err = engine:start "t.one"
    assert.is_nil(late)
    assert.equal("full", err.code)
    assert.equal("created", kit.status(other, id)) -- it goes on all the same
    short(engine)
    assert.completed(other, id) -- and gave way to what is to have room
    late = assert(engine:start "t.one")
    short(engine)
    assert(engine:save())
    assert.completed(other, late)
  end)

  it("closing keeps it", function()
    local engine, clock, url, id = grouping()
    if backend.label == ":memory:" then return end
    local late = assert(engine:start "t.count")
    short(engine)
    engine:close()
    local other = kit.rival(backend, url, clock)
    assert.completed(other, id)
    assert.equal("waiting", kit.status(other, late))
  end)
end)
