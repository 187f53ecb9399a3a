--- A SQLite file that somebody else holds for a while: how long a call waits
--- for that, and what becomes of what could not be stored.
local kit = require "spec.engine.kit"
local emitted = require "spec.support.emitted"
local pawl = require "pawl"
local process = require "spec.support.process"
local system = require "system"
local tmp = require "spec.support.tmp"

local function timed(call)
  local began = system.monotime()
  local answer, err = call()
  return system.monotime() - began, answer, err
end

kit.describe("an engine that never waits for others", function(backend)
  if backend.name ~= "sqlite" or backend.label == ":memory:" then
    it("takes the option, which says nothing here", function()
      local engine = backend.fresh { busy = 0 }
      assert(engine:load(kit.one()))
      assert(engine:start "t.one")
      assert.equal(1, assert(engine:run()).ended)
    end)
    return
  end

  --- Calls `body` while another connection holds the file's lock for writing.
  local function held(url, clock, body)
    local store = kit.store(url, clock)
    assert(store:begin "batch")
    body()
    store:rollback()
  end

  local function refused(call)
    local took, answer, err = timed(call)
    assert.is_nil(answer)
    assert.equal("busy", err.code, tostring(err))
    assert.is_true(took < 0.1, took) -- of a machine that others use
  end

  it("is told so at once, and does later what it was asked", function()
    local engine, clock, url = backend.fresh { busy = 0 }
    local runs = 0
    assert(engine:load(kit.one(function() runs = runs + 1 end)))
    local id = assert(engine:start "t.one")
    held(url, clock, function()
      refused(function() return engine:tick(0.002) end)
      refused(function() return engine:start "t.one" end)
      refused(function() return engine:signal { name = "x", key = "k" } end)
      refused(function() return engine:cancel(id) end)
      assert.equal(0, runs)
      assert.equal("created", kit.status(engine, id)) -- it can be asked
    end)
    assert(engine:run())
    assert.equal(1, runs)
    assert.completed(engine, id)
    assert.equal(1, #assert(engine:list()))
  end)

  it("keeps what ran and could not be stored, and runs it once", function()
    local engine, clock, url = backend.fresh { busy = 0 }
    local runs, store = 0, nil
    assert(engine:load(kit.one(function()
      runs = runs + 1
      if runs == 1 then
        store = kit.store(url, clock)
        assert(store:begin "batch") -- behind the claim
      end
    end)))
    local ids = {}
    for i = 1, 5 do ids[i] = assert(engine:start "t.one") end
    for _ = 1, 3 do refused(function() return engine:tick(0.1) end) end
    local before = runs
    store:rollback()
    assert(engine:run())
    assert.is_true(before >= 1)
    assert.equal(5, runs)
    for _, id in ipairs(ids) do
      assert.equal("step a", kit.trail(engine, id))
    end
  end)

  it("waits for as long as it was told, and tells how long", function()
    local engine, clock, url = backend.fresh { busy = 0.05 }
    assert(engine:load(kit.one()))
    held(url, clock, function()
      local before = engine:count().waited
      local took, answer, err = timed(function()
        return engine:load(kit.timer())
      end)
      assert.is_nil(answer)
      assert.equal("busy", err.code)
      assert.is_true(took >= 0.05 and took < 1, took)
      assert.is_true(engine:count().waited - before >= 0.04)
    end)
    assert(engine:load(kit.timer()))
  end)

  --- One that has several transactions, each of which asks for the lock, and
  --- asks again.
  it("waits once for so long, however often it asks in one call", function()
    local engine, clock, url = backend.fresh { busy = 0.2 }
    assert(engine:load(kit.one()))
    local old = assert(engine:start "t.one")
    assert(engine:tick())
    local id, due = assert(engine:start "t.one"), assert(engine:start "t.one")
    held(url, clock, function()
      for _, call in ipairs {
        function() return engine:tick(0.002) end,
        function() return engine:tick(1) end,
        function() return engine:tick() end,
        function() return engine:tick_instance(due, 0.002) end,
        function() return engine:start "t.one" end,
        function() return engine:start_many("t.one", { {}, {} }) end,
        function() return engine:signal { name = "x", key = "k" } end,
        function() return engine:cancel(id) end,
        function() return engine:delete(old) end,
        function() return engine:prune { retain = 0 } end,
      } do
        local before = engine:count().waited
        local answer, err = call()
        local waited = engine:count().waited - before
        if not answer then assert.equal("busy", err.code, tostring(err)) end
        -- and a sleep, of a machine that others use
        assert.is_true(waited >= (answer and 0 or 0.19) and waited < 0.3,
          waited)
      end
    end)
    assert(engine:run())
    assert.completed(engine, id)
  end)

  --- As of an engine that was told nothing.
  it("waits within a tick's budget, and goes on with the next", function()
    local engine, clock, url = backend.fresh()
    local runs = 0
    assert(engine:load(kit.one(function() runs = runs + 1 end)))
    local id = assert(engine:start "t.one")
    held(url, clock, function()
      for _, budget in ipairs { 0.002, 0.02, 0.2 } do
        local before = engine:count().waited
        local took, stats = timed(function()
          return assert(engine:tick(budget))
        end)
        local waited = engine:count().waited - before
        assert.is_true(waited > budget / 4 and waited < budget + 0.05, waited)
        assert.is_true(took < budget + 0.5, took) -- others use the machine
        assert.equal(0, stats.steps)
        assert.near(waited, stats.spent.wait, 0.001)
        assert.equal(0, stats.next_due)
      end
      assert.equal(0, runs)
    end)
    assert(engine:tick(1))
    assert.equal(1, runs)
    assert.completed(engine, id)
  end)

  it("waits so for what ran already, and stores that once", function()
    local engine, clock, url = backend.fresh()
    local runs, store = 0, nil
    assert(engine:load(kit.one(function()
      runs = runs + 1
      store = store or kit.store(url, clock)
      if runs == 1 then assert(store:begin "batch") end -- behind the claim
    end)))
    local id = assert(engine:start "t.one")
    for _ = 1, 3 do
      local took = timed(function() return assert(engine:tick(0.05)) end)
      assert.is_true(took < 0.5, took)
    end
    store:rollback()
    assert(engine:tick(1))
    assert.equal(1, runs)
    assert.equal("step a", kit.trail(engine, id))
    assert.completed(engine, id)
  end)

  it("is told after as long as another call waits, tick by tick", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    held(url, clock, function()
      local began = system.monotime()
      local stats, err
      repeat
        stats, err = engine:tick(0.25)
      until not stats or system.monotime() - began > 20
      local took = system.monotime() - began
      assert.is_nil(stats)
      assert.equal("busy", err.code)
      assert.is_true(took >= 5, took)
      assert.equal("busy", select(2, engine:tick(0.002)).code)
    end)
    assert(engine:tick(1))
    assert.completed(engine, id)
  end)

  it("runs behind who has held it for longer than a tick of that", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    local ready = tmp.path "held"
    local child = process.start { "sqlite3", url, "begin immediate;",
      ".shell touch " .. ready .. " && sleep 1.5", "commit;" }
    assert(process.poll(10, function() return os.rename(ready, ready) end))
    assert.equal(1, assert(engine:run()).ended)
    assert.completed(engine, id)
    child:wait(10)
  end)

  --- The lock comes and goes: what was waited for one is gone for the next.
  it("has waited in vain once it waited so long for several", function()
    local engine, clock, url = backend.fresh { busy = 0.2 }
    local store
    assert(engine:load(kit.one(function()
      store = kit.store(url, clock)
      assert(store:begin "batch") -- behind the claim
    end)))
    assert(engine:start "t.one")
    local before = engine:count().waited
    local stats, err = engine:tick(0.05)
    assert.is_nil(stats)
    assert.equal("busy", err.code)
    local waited = engine:count().waited - before
    assert.is_true(waited >= 0.19 and waited < 0.3, waited)
    store:rollback()
    assert(engine:run())
    assert.equal(1, #assert(engine:list { status = "completed" }))
  end)

  --- Another process that holds it most of the time, for so long each.
  local function contended(url, seconds, body)
    local ready = tmp.path "ready"
    local path = tmp.file("hold.sql", ".timeout 5000\n" .. (
      "begin immediate;\n.shell touch %s && sleep %g\ncommit;\n"
      .. ".shell sleep 0.01\n"):format(ready, seconds):rep(400))
    local child = process.start { "sqlite3", "-init", path, url, "select 1" }
    assert(process.poll(10, function() return os.rename(ready, ready) end))
    body()
    child:kill "KILL"
    child:wait(10)
  end

  it("waits anew in each round of a relay, which may take for ever",
    function()
      local engine, _, _, url = emitted.filled(backend, 12, 1, { busy = 0.6 })
      local got = emitted.receiver(function()
        system.sleep(0.05)
        return true
      end)
      finally(process.stop_all)
      contended(url, 0.15, function()
        local before = engine:count().waited
        assert.equal(12,
          emitted.relay(engine, got.publish, { batch = 1 }).published)
        assert.is_true(engine:count().waited - before > 0.6)
      end)
    end)

  it("opens no store that is held, nor waits for it", function()
    local _, clock, url = backend.fresh()
    held(url, clock, function()
      local engine = pawl.open(url, { busy = 0 })
      if not engine then return end
      refused(function() return engine:load(kit.one()) end)
      engine:close()
    end)
  end)

  it("refuses a time that is none", function()
    local ok, err = pcall(pawl.open, ":memory:", { busy = -1 })
    assert.is_false(ok)
    assert.matches("busy", tostring(err))
  end)
end)
