--- When commits reach the disk: each at once, in groups, or when it is asked.
--- Which of them are synced on SQLite is counted in spec/c/sync_test.c, what a
--- kill leaves in spec/crash/durability_spec.lua.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local system = require "system"

--- Bytes that this process has given to write().
local function written()
  local file <close> = assert(io.open "/proc/self/io")
  return tonumber(file:read("a"):match "wchar: (%d+)")
end

kit.describe("an engine whose commits may wait for the disk", function(backend)
  local function opened(options)
    local engine, clock, url = backend.fresh(options)
    assert(engine:load(kit.one()))
    assert(engine:tick()) -- a file's first commit does not wait
    assert(engine:save())
    return engine, clock, url
  end

  it("does the same as one that takes each there", function()
    local stored = {}
    for i, kind in ipairs { "every", "grouped", "save" } do
      local engine, _, url = opened { durability = kind }
      for _ = 1, 3 do assert(engine:start "t.one") end
      assert.equal(3, assert(engine:run()).ended)
      stored[i] = kit.stored(backend, url)
      engine:close()
      backend.cleanup()
    end
    assert.same(stored[1], stored[2])
    assert.same(stored[1], stored[3])
  end)

  it("tells what is at risk, until it is saved", function()
    local engine = opened { durability = "save" }
    assert(engine:start "t.one")
    local stats = assert(engine:tick(1))
    if backend.label == ":memory:" then -- nothing of it is ever on a disk
      assert.equal(0, stats.unsaved)
      return
    end
    assert.is_true(stats.unsaved >= 2, stats.unsaved) -- the start, the end
    assert.is_true(stats.unsaved_for > 0)
    assert.is_true(assert(engine:save()))
    stats = assert(engine:tick())
    assert.equal(0, stats.unsaved)
    assert.equal(0, stats.unsaved_for)
  end)

  it("has nothing at risk when each is taken there", function()
    local engine = opened()
    assert(engine:start "t.one")
    assert.equal(0, assert(engine:tick(1)).unsaved)
    assert.is_true(assert(engine:save()))
  end)

  it("takes a group there when its time has come, by a tick", function()
    if backend.name ~= "sqlite" then return end -- the server does it
    local engine = opened { durability = "grouped", flush = 0.05 }
    assert(engine:start "t.one")
    assert(engine:tick(1))
    system.sleep(0.06)
    assert.equal(0, assert(engine:tick(0.002)).unsaved)
  end)

  --- Ticks until nothing is at risk that was before; at most two seconds.
  local function settled(engine)
    local late = system.monotime() + 2
    while true do
      system.sleep(0.002)
      local unsaved = assert(engine:tick(0.002)).unsaved
      if unsaved == 0 or system.monotime() > late then return unsaved end
    end
  end

  it("takes a group there by a thread of its own, if it may", function()
    local engine, clock, url = opened { durability = "grouped", flush = 0.02,
      sync_thread = true }
    for i = 1, 3 do
      local id = assert(engine:start "t.one")
      for _ = 1, 3 do assert(engine:tick(0.002)) end
      assert.equal("completed", kit.status(engine, id), i)
      if backend.name == "sqlite" then -- a server does it, and does not tell
        assert.equal(0, settled(engine), i)
      end
    end
    assert(engine:start "t.one")
    for _ = 1, 3 do assert(engine:tick(0.002)) end
    assert.is_true(assert(engine:save())) -- while that may be at it
    assert.equal(0, assert(engine:tick(1)).unsaved)
    engine:close()
    if backend.label == ":memory:" then return end
    assert.equal(4, #assert(kit.rival(backend, url, clock):list()))
  end)

  it("tells when that thread fails, and tries again", function()
    if backend.name ~= "sqlite" or backend.label == ":memory:" then return end
    for _, own in ipairs { "grouped", "save" } do
      local engine = opened { durability = own, flush = 0.02,
        sync_thread = true }
      local flow = pawl.workflow { code = "t.grouped", start = "a",
        durability = "grouped" }
      flow:step("a", { run = function() end, next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      assert(engine:start "t.grouped")
      probe.fault "store.helper=fail@1"
      local stats, err = engine:tick(1)
      local late = system.monotime() + 2
      while stats and system.monotime() < late do
        system.sleep(0.002)
        stats, err = engine:tick(1)
      end
      probe.fault(nil)
      assert.is_nil(stats)
      assert.equal("store", err.code)
      assert.matches("%-wal", err.message)
      assert(engine:tick(1)) -- it is written anew, and then synced
      assert.equal(0, settled(engine))
      engine:close()
    end
  end)

  it("says so where there can be no thread", function()
    if backend.name ~= "sqlite" or backend.label == ":memory:" then return end
    probe.fault "store.thread=fail"
    local engine, err = pawl.open(backend.url(), { sync_thread = true })
    probe.fault(nil)
    assert.is_nil(engine)
    assert.equal("store", err.code)
    assert.matches("sync_thread", err.hint)
  end)

  it("is told to the server once, and again behind a user's SQL", function()
    if backend.name ~= "postgres" then return end
    --- Who has said so, as the server's own default may be anything.
    local function shown(engine)
      local rows
      assert(engine:transaction(function(tx)
        rows = tx:query [[select setting || ' by ' || source as is
          from pg_catalog.pg_settings where name = 'synchronous_commit']]
        return true
      end))
      return rows[1].is
    end
    assert.equal("off by session", shown(opened { durability = "grouped" }))
    local engine = opened { durability = "save" }
    assert.equal("off by session", shown(engine))
    assert.equal("off by session", shown(engine))
    assert.is_true(assert(engine:save()))
    assert.equal("off by session", shown(engine))
    assert.not_equal("off by session", shown(opened()))
  end)

  --- Engine and clock of commits that are grouped for long, with one that is
  --- open; nil where there are none.
  local function grouping(options)
    options = options or {}
    options.durability = options.durability or "grouped"
    options.flush = options.flush or 60
    local engine, clock, url = opened(options)
    if backend.label ~= "sqlite" then
      assert(engine:start "t.one")
      assert.equal(0, assert(engine:tick(0.002)).unwritten)
      return nil
    end
    local id = assert(engine:start "t.one") -- by itself: no tick has begun one
    local stats = assert(engine:tick(0.002))
    assert.is_true(stats.unwritten > 0)
    assert.is_true(stats.unsaved > stats.unwritten)
    return engine, clock, url, id
  end

  it("shows others what is grouped when the group ends", function()
    local engine, clock, url, id = grouping()
    if not engine then return end
    local other = kit.rival(backend, url, clock)
    assert.completed(engine, id)
    assert.equal("created", kit.status(other, id))
    local late = assert(engine:start "t.one") -- joins it
    assert.is_nil((other:get(late)))
    assert(engine:save())
    assert.completed(other, id)
    assert.equal("created", kit.status(other, late))
    assert.equal(0, assert(engine:tick(1)).unwritten)
  end)

  it("ends a group that is due, and one of save without a sync", function()
    for _, kind in ipairs { "grouped", "save" } do
      local engine = grouping { durability = kind, flush = 0.05 }
      if not engine then return end
      system.sleep(0.06)
      local stats = assert(engine:tick(0.002))
      assert.equal(0, stats.unwritten)
      assert.equal(kind == "grouped", stats.unsaved == 0)
    end
  end)

  it("ends a group before a wait, a long tick and a transaction", function()
    local engine, clock, url = grouping()
    if not engine then return end
    local other = kit.rival(backend, url, clock)
    for _, ends in ipairs {
      function() return engine:wait(0.001) end,
      function() return engine:tick(1) end,
      function() return engine:run() end,
      function() return engine:transaction(function() return true end) end,
      function() return engine:backup(url .. ".copy") end,
      function() return engine:close() or true end,
    } do
      local id = assert(engine:start "t.one")
      assert.is_true(assert(engine:tick(0.002)).unwritten > 0)
      assert.equal("created", (other:get(id) or { status = "created" }).status)
      assert(ends())
      assert.completed(other, id)
    end
    os.remove(url .. ".copy")
  end)

  it("makes room for another process that wants to write", function()
    local engine, clock, url = grouping()
    if not engine then return end
    local other = kit.rival(backend, url, clock, { busy = 0 })
    local id, err = other:start "t.one"
    assert.is_nil(id)
    assert.equal("busy", err.code)
    assert.equal(0, assert(engine:tick(0.002)).unwritten)
    assert(other:start "t.one") -- it asked again
    assert(engine:tick(0.002)) -- and waits no more
    assert(engine:start "t.one")
    assert.is_true(assert(engine:tick(0.002)).unwritten > 0)
    local rows = assert(engine:list { status = "completed" })
    assert.equal(3, #rows)
  end)

  it("has no group open while a slow handler runs", function()
    local engine, clock, url = grouping()
    if not engine then return end
    local other, seen = kit.rival(backend, url, clock, { busy = 0 }), {}
    assert(engine:load(kit.one(function()
      local over = system.monotime() + 0.03
      while system.monotime() < over do end
      seen[#seen + 1] = other:start "t.one" and "free" or "held"
    end, { code = "t.slow" })))
    for _ = 1, 4 do assert(engine:start "t.slow") end
    for _ = 1, 12 do assert(engine:tick(0.002)) end
    assert.same({ "free", "free", "free" }, { table.unpack(seen, 2) })
  end)

  it("undoes a group that cannot be written, and does it again", function()
    local runs = 0
    local engine, _, _, id = grouping()
    if not engine then return end
    assert(engine:load(kit.one(function(ctx)
      runs = runs + 1
      ctx.vars.n = (ctx.vars.n or 0) + 1
    end, { code = "t.again" })))
    local gone = assert(engine:start "t.again")
    for _ = 1, 3 do assert(engine:tick(0.002)) end
    assert.completed(engine, gone)
    probe.fault "commit.group=fail"
    local ok, err = engine:save()
    probe.fault(nil)
    assert.is_nil(ok)
    assert.equal("full", err.code)
    -- as before its group: what was started by itself is there and runs again
    assert.is_nil((engine:get(gone)))
    assert.equal("created", kit.status(engine, id))
    local again = assert(engine:start "t.again")
    assert.is_true(assert(engine:run()).ended >= 2)
    assert.completed(engine, id)
    assert.completed(engine, again)
    assert.equal(2, runs)
    assert.equal("step a", kit.trail(engine, again))
  end)

  it("runs again what was on its way in a group that is undone", function()
    local engine, clock, url = opened { durability = "grouped", flush = 60 }
    if backend.label ~= "sqlite" then return end
    local most = math.huge
    local flow = pawl.workflow { code = "t.round", start = "a" }
    flow:step("a", { run = function(ctx)
      ctx.vars.n = (ctx.vars.n or 0) + 1
      return ctx.vars.n < most and "again" or "out"
    end, next = { again = "a", out = "z" } })
    flow:finish("z", { output = function(ctx) return ctx.vars.n end })
    assert(engine:load(flow))
    local ids = {}
    for i = 1, 3 do ids[i] = assert(engine:start "t.round") end
    for at = 1, 6 do
      for _ = 1, at do assert(engine:tick(0.004)) end
      if at % 2 == 0 then assert(engine:save()) end -- some stays, held as it is
      for _ = 1, at do assert(engine:tick(0.004)) end
      repeat until assert(engine:tick(0.004)).unwritten > 0
      probe.fault "commit.group=fail"
      local ok = engine:save()
      probe.fault(nil)
      assert.is_nil(ok, at)
    end
    engine:close()
    most = 0
    local other = kit.rival(backend, url, clock)
    assert(other:load(flow))
    assert(other:run())
    for _, id in ipairs(ids) do
      local steps = 0
      for seq, entry in ipairs(assert(other:history(id, { limit = 9000 }))) do
        assert.equal(seq, entry.seq)
        if entry.type == "step" then steps = steps + 1 end
      end
      assert.is_true(steps > 3, steps) -- what was saved is there
      assert.equal(steps, assert(other:get(id)).output)
    end
  end)

  --- One that was held before the group, and whose lease ended in it, is held
  --- again.
  it("gives back what it does not know to be its own any more", function()
    for _, closes in ipairs { false, true } do
      local engine, clock, url = opened { durability = "grouped", flush = 60 }
      if backend.label ~= "sqlite" then return end
      local goes_on = true
      local flow = pawl.workflow { code = "t.on", start = "a" }
      flow:step("a", { run = function()
        return goes_on and "again" or "out"
      end, next = { again = "a", out = "z" } })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.on")
      repeat assert(engine:tick(0.002)) until kit.last(engine, id)
      assert(engine:save()) -- with its lease
      assert.truthy(assert(engine:get(id)).lease)
      goes_on = false
      repeat assert(engine:tick(0.002))
      until kit.status(engine, id) == "completed"
      probe.fault "commit.group=fail"
      local ok = engine:save()
      probe.fault(nil)
      assert.is_nil(ok)
      assert.equal("running", kit.status(engine, id))
      if closes then engine:close() end
      local other = closes and kit.rival(backend, url, clock) or engine
      assert(other:load(flow))
      for _ = 1, 9 do assert(other:tick(1)) end
      assert.completed(other, id)
    end
  end)

  it("keeps a user's SQL out of groups, whatever becomes of it", function()
    local engine, _, _, id = grouping()
    if not engine then return end
    local flow = kit.one(function(ctx)
      ctx.db:query "create table if not exists notes (n integer unique)"
      ctx.db:query "insert or rollback into notes values (1), (1)"
    end, { code = "t.sql", transactional = true })
    assert(engine:load(flow))
    local bad = assert(engine:start "t.sql")
    for _ = 1, 5 do assert(engine:tick(0.002)) end
    assert.completed(engine, id)
    assert.matches("UNIQUE", assert(engine:get(bad)).error.message)
  end)

  --- What is at risk behind a tick of such an engine, workflow and step.
  local function at_risk(own, whole, one, options)
    local engine = opened { durability = own, flush = 60 }
    local flow = pawl.workflow { code = "t.said", start = "a",
      durability = whole }
    flow:step("a", { run = function() end, next = "b" })
    flow:step("b", { run = function() end, next = "c", durability = one,
      transactional = options and options.transactional })
    flow:timer("c", { after = "1h", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:save())
    assert(engine:start "t.said")
    for _ = 1, 2 do assert(engine:tick(1)) end
    local before = assert(engine:tick(1)).unsaved
    assert(engine:save())
    assert.equal(0, assert(engine:tick()).unsaved)
    engine:close()
    return before
  end

  it("is said by a workflow, too, and by a step", function()
    local can_wait = backend.label == backend.name -- a toy never does
    local relaxes = can_wait and backend.name == "sqlite"
    assert.equal(0, at_risk("every"))
    assert.equal(0, at_risk("every", "every"))
    assert.equal(relaxes, at_risk("every", "grouped") > 0)
    assert.equal(relaxes, at_risk("every", "save") > 0)
    assert.equal(can_wait, at_risk("save") > 0)
    assert.equal(can_wait, at_risk("save", "grouped") > 0)
    -- the timer behind "b" goes by the workflow, and "b" goes first
    local whole = at_risk("grouped")
    assert.equal(can_wait, whole > at_risk("grouped", nil, "every"))
    assert.equal(can_wait, whole >
      at_risk("grouped", nil, "every", { transactional = true }))
    assert.equal(0, at_risk("save", "every"))
    assert.equal(0, at_risk("every", nil, "every"))
  end)

  it("ends a group by a step that is to be on disk", function()
    local engine = grouping()
    if not engine then return end
    assert(engine:load(kit.one(nil, { code = "t.paid", durability = "every" })))
    local id = assert(engine:start "t.paid")
    local stats
    repeat stats = assert(engine:tick(0.002)) until stats.steps > 0
    assert.is_true(stats.unsaved <= 2, stats.unsaved) -- what came behind it
    probe.fault "commit.group=fail" -- as if the machine went down
    engine:save()
    probe.fault(nil)
    assert.equal("step a", kit.trail(engine, id))
  end)

  it("takes there in time what a workflow says is grouped", function()
    if backend.label ~= "sqlite" then return end
    for _, own in ipairs { "every", "save" } do
      local engine = opened { durability = own, flush = 0.05 }
      local flow = kit.one(nil, { code = "t.said" })
      assert(engine:load(flow))
      flow = pawl.workflow { code = "t.grouped", start = "a",
        durability = "grouped" }
      flow:step("a", { run = function() end, next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      assert(engine:start "t.said")
      assert(engine:tick(1))
      assert(engine:start "t.grouped")
      assert.is_true(assert(engine:tick(1)).unsaved > 0)
      system.sleep(0.06)
      assert.equal(0, assert(engine:tick(1)).unsaved)
      engine:close()
    end
  end)

  it("refuses a durability that there is not, in a workflow and a step",
    function()
      for _, wrong in ipairs { "never", 1, false } do
        local ok, err = pcall(pawl.workflow, { code = "t.x", start = "a",
          durability = wrong })
        assert.is_false(ok)
        assert.matches("'durability' of workflow \"t.x\"", tostring(err))
        ok, err = pcall(kit.one, nil, { durability = wrong })
        assert.is_false(ok)
        assert.matches("'durability' of step \"a\"", tostring(err))
      end
    end)

  it("writes little for a group however long histories are", function()
    if backend.name ~= "sqlite" or backend.label == ":memory:" then return end
    local engine, clock = opened { durability = "save" }
    local flow = pawl.workflow { code = "t.round", start = "sleep",
      endless = true }
    flow:timer("sleep", { after = 60, next = "turn" })
    flow:step("turn", { run = function() end, next = "sleep" })
    assert(engine:load(flow))
    for _ = 1, 200 do assert(engine:start "t.round") end
    local function round()
      local before = written()
      clock:advance(60)
      assert(engine:run())
      assert(engine:save())
      return written() - before
    end
    round()
    local first, last = round(), nil
    for _ = 1, 20 do last = round() end
    -- its own rows alone, and where each is found
    assert.is_true(last < 2.7 * first, last / first)
  end)

  it("saves by closing", function()
    local engine, clock, url = opened { durability = "save" }
    if backend.label == ":memory:" then return end
    local id = assert(engine:start "t.one")
    assert(engine:run())
    engine:close()
    local other = kit.rival(backend, url, clock)
    assert.completed(other, id)
  end)

  it("cannot save inside of a transaction", function()
    local engine = opened { durability = "save" }
    assert(engine:transaction(function()
      local ok, err = pcall(engine.save, engine)
      assert.is_false(ok)
      assert.matches("cannot be a part of the transaction", tostring(err))
      return true
    end))
  end)

  it("refuses a kind that there is not", function()
    local ok, err = pcall(pawl.open, ":memory:", { durability = "never" })
    assert.is_false(ok)
    assert.matches("durability", tostring(err))
    assert.matches("grouped", tostring(err))
  end)
end)
