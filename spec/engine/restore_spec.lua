-- A copy takes the place of all that is in a store: game slots, and what is
-- saved by a player. PostgreSQL has its own tools for that.
local command = require "spec.support.command"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local testing = require "pawl.testing"
local tmp = require "spec.support.tmp"

local function exists(path)
  local file <close> = io.open(path, "rb")
  return file ~= nil
end

local function sound(path)
  return shell.output { "sqlite3", path, "pragma integrity_check" }:match "%w+"
end

--- Counts in a variable how often it went round; waits in between.
local function rounds()
  local flow = pawl.workflow { code = "t.round", start = "a" }
  flow:step("a", { run = function(ctx)
    ctx.vars.n = (ctx.vars.n or 0) + 1
    return "b"
  end, next = { b = "b", z = "z" } })
  flow:timer("b", { after = 10, next = "a" })
  flow:finish "z"
  return flow
end

local function go_on(engine, clock, times)
  assert(engine:run())
  for _ = 1, times do
    clock:advance(10)
    assert(engine:run())
  end
end

local function n_of(engine, id) return assert(engine:get(id)).variables.n end

kit.describe("a restore", function(backend)
  it("brings back what a backup has copied, or says who does", function()
    local engine, clock = backend.fresh()
    assert(engine:load(rounds()))
    local id = assert(engine:start "t.round")
    go_on(engine, clock, 2)
    local path = tmp.dir() .. "/slot.db"
    if backend.name == "postgres" then
      kit.refused("unsupported", "restored with pg_restore", "pg_dump",
        engine:restore(path))
      kit.refused("unsupported", "restored with pg_restore", nil,
        engine:restore_bytes "x")
      kit.refused("unsupported", "backed up with pg_dump", nil,
        engine:backup_bytes())
      go_on(engine, clock, 1) -- the engine is as it was
      assert.equal(4, n_of(engine, id))
      return
    end
    assert(engine:backup(path))
    local before = assert(engine:history(id))
    go_on(engine, clock, 2)
    local late = assert(engine:start "t.round")
    assert.equal(5, n_of(engine, id))
    local info = assert(engine:restore(path))
    assert.same({ file = path, bytes = #tmp.read(path) }, info)
    assert.equal(3, n_of(engine, id))
    assert.same(before, assert(engine:history(id)))
    kit.refused("notfound", "", nil, engine:get(late))
    go_on(engine, clock, 1)
    assert.is_true(n_of(engine, id) > 3)
    assert.is_true(assert(engine:health()).sound)
  end)
end)

describe("a restored SQLite store", function()
  local sqlite = kit.backends[1]

  after_each(function()
    probe.fault(nil)
    process.stop_all()
    sqlite.cleanup()
  end)

  it("is what another one in memory begins with", function()
    local clock = testing.clock()
    local engine <close> = assert(pawl.open(":memory:", { clock = clock,
      shards = 3 }))
    assert(engine:load(rounds()))
    local id = assert(engine:start "t.round")
    go_on(engine, clock, 2)
    local bytes = assert(engine:backup_bytes())
    local other <close> = assert(pawl.open(":memory:", { clock = clock,
      copy = bytes }))
    assert(other:load(rounds()))
    assert.equal(3, n_of(other, id))
    go_on(other, clock, 2)
    assert.equal(5, n_of(other, id))
    assert.equal(3, n_of(engine, id))
    -- which has as many shards, and can be copied and restored itself
    assert(engine:restore_bytes(assert(other:backup_bytes())))
    assert.equal(5, n_of(engine, id))
  end)

  it("begins with nothing that is no store, or damaged, and with no file",
    function()
      local engine <close> = assert(pawl.open(":memory:"))
      local bytes = assert(engine:backup_bytes())
      local function refused(code, says, copy)
        kit.refused(code, says, nil, pawl.open(":memory:", { copy = copy }))
      end
      refused("not_a_store", "the copy", "")
      refused("not_a_store", "the copy", ("text"):rep(1000))
      refused("corrupt", "the copy", bytes:sub(1, #bytes // 2))
      refused("corrupt", "the copy", bytes:sub(1, 8192)
        .. ("\xff"):rep(#bytes - 8192))
      local path = tmp.path "slot.db"
      kit.refused("invalid", "a store in memory begins with", nil,
        pawl.open(path, { copy = bytes }))
      assert.is_nil(tmp.read(path))
    end)

  it("is as good in memory, and between memory and files", function()
    local clock = testing.clock()
    local engine <close> = assert(pawl.open(":memory:", { clock = clock }))
    assert(engine:load(rounds()))
    local id = assert(engine:start "t.round")
    go_on(engine, clock, 2)
    local bytes = assert(engine:backup_bytes())
    local path = tmp.file("slot.db", bytes)
    assert.equal("ok", sound(path))
    go_on(engine, clock, 2)
    assert.is_true(engine:restore_bytes(bytes))
    assert.equal(3, n_of(engine, id))
    go_on(engine, clock, 2)
    assert(engine:restore(path))
    assert.equal(3, n_of(engine, id))

    -- what a program has read of a file itself
    assert(engine:restore_bytes(tmp.read(path)))
    assert.equal(3, n_of(engine, id))

    -- into a file, from bytes and from a file, with a log and without
    local file, fclock, url = sqlite.fresh()
    assert(file:load(rounds()))
    local own = assert(file:start "t.round")
    go_on(file, fclock, 1)
    local its = assert(file:backup_bytes())
    assert(file:restore_bytes(bytes))
    assert.equal(3, n_of(file, id))
    kit.refused("notfound", "", nil, file:get(own))
    go_on(file, fclock, 1)
    assert(engine:restore(url)) -- which is open, and has a log
    assert.equal(n_of(file, id), n_of(engine, id))
    file:close()
    assert.equal("ok", sound(url)) -- as a file that had a log
    assert(engine:restore_bytes(tmp.read(url)))
    file = assert(pawl.open(url, { clock = fclock }))
    assert(file:load(rounds()))
    assert(file:restore_bytes(its))
    assert.equal(2, n_of(file, own))
    go_on(file, fclock, 1)
    file:close()
    assert.equal("ok", sound(url))
    assert.equal(path, assert(engine:backup(path,
      { replace = true })).file)
    assert.equal("ok", sound(path))
  end)

  it("stays in order when a file that can shrink meets one that cannot",
    function()
      local engine, clock, url = sqlite.fresh()
      assert(engine:load(rounds()))
      local id = assert(engine:start "t.round")
      go_on(engine, clock, 1)
      local path = tmp.dir() .. "/fixed.db"
      assert(engine:backup(path))
      shell.output { "sqlite3", path, "pragma auto_vacuum=none; vacuum" }
      local rival = kit.rival(sqlite, url, clock)
      assert(engine:restore(path))
      local large = { x = ("x"):rep(9000) }
      for _ = 1, 50 do assert(engine:start("t.round", large)) end
      go_on(engine, clock, 3)
      assert.is_true(n_of(rival, id) > 1)
      for _ = 1, 50 do assert(rival:start("t.round", large)) end
      assert(engine:prune { retain = 0 })
      assert.equal("ok", sound(url))
    end)

  it("holds nothing that was held when it was copied", function()
    local engine, clock, url = sqlite.fresh()
    local left
    local function flow()
      return kit.one(function(ctx)
        ctx.await(function() return left end)
        ctx.vars.done = true
      end)
    end
    assert(engine:load(flow()))
    local id = assert(engine:start "t.one")
    assert(engine:tick())
    local copy = assert(engine:backup_bytes())
    -- another one, whose lease is of the same moment
    local rival = kit.rival(sqlite, url, clock)
    assert(rival:load(flow()))
    assert(engine:restore_bytes(copy))
    local stats = assert(engine:stats { held = 10 })
    assert.equal(0, stats.held.count)
    -- nobody waits for the lease to end
    left = true
    assert(rival:run())
    assert.completed(rival, id)
    assert.equal(0, assert(rival:explain(id)).takeovers or 0)
  end)

  it("says what found no memory, under which limit", function()
    local engine = assert(pawl.open(":memory:", { memory_bytes = 1 << 20 }))
    assert(engine:load(kit.one(function() end)))
    for _ = 1, 8 do
      assert(engine:start("t.one", { text = ("x"):rep(200000) }))
    end
    local copy, err = engine:backup_bytes()
    assert.is_nil(copy)
    assert.equal("nomem", err.code)
    local size = err.message:match "^out of memory for the copy of (%d+) bytes$"
    assert(tonumber(size) > 1 << 20, err.message)
    assert.matches("its memory_bytes is 1048576", err.hint)
    assert.truthy(engine:list())
    engine:close()
  end)

  it("takes nothing from who had a lease in what was there before", function()
    local engine, clock, url = sqlite.fresh()
    local steps = 0
    local rival = kit.rival(sqlite, url, clock)
    assert(rival:load(kit.chain { function() end, function(ctx)
      steps = steps + 1
      if steps > 1 then return end
      -- its lease is in the copy, too, and is the same
      assert(engine:restore_bytes(assert(engine:backup_bytes())))
      ctx.vars.late = true
    end }))
    local id = assert(rival:start "t.chain")
    local stats = assert(rival:run())
    assert.equal(1, stats.lost)
    assert.equal(2, steps)
    local found = assert(engine:get(id))
    assert.equal("completed", found.status)
    assert.is_nil(found.variables.late)
  end)

  it("says what is wrong with a copy before it touches anything", function()
    local engine, clock, url = sqlite.fresh()
    assert(engine:load(rounds()))
    local id = assert(engine:start "t.round")
    go_on(engine, clock, 2)
    local dir = tmp.dir()
    local good = dir .. "/good.db"
    assert(engine:backup(good))
    local bytes = tmp.read(good)

    kit.refused("notfound", "nowhere.db: there is no store", nil,
      engine:restore(dir .. "/nowhere.db"))
    kit.refused("not_a_store", "is a folder", nil, engine:restore(dir))
    kit.refused("not_a_store", "", nil,
      engine:restore(tmp.file("text.db", ("text"):rep(1000))))
    kit.refused("not_a_store", "", nil,
      engine:restore_bytes(("text"):rep(1000)))
    kit.refused("not_a_store", "", nil, engine:restore_bytes "")
    local other = dir .. "/other.db"
    shell.output { "sqlite3", other, "create table mine (x)" }
    kit.refused("not_a_store", "something else", nil, engine:restore(other))
    -- what is cut off, and what is damaged in its midst
    kit.refused("corrupt", "", nil,
      engine:restore(tmp.file("cut.db", bytes:sub(1, #bytes // 2))))
    kit.refused("corrupt", "", nil,
      engine:restore_bytes(bytes:sub(1, #bytes // 2)))
    local torn = bytes:sub(1, 4096 * 9) .. ("\1"):rep(4096 * 12)
      .. bytes:sub(4096 * 21 + 1)
    kit.refused("corrupt", "", nil, engine:restore_bytes(torn))
    kit.refused("corrupt", "torn.db", nil,
      engine:restore(tmp.file("torn.db", torn)))
    -- other shards
    local wide = dir .. "/wide.db"
    assert(pawl.open(wide, { shards = 4 })):close()
    kit.refused("conflict", "it has 4 shards, the store has 1", "as many",
      engine:restore(wide))
    -- pages of another size
    local small = dir .. "/small.db"
    shell.output { "sqlite3", good,
      ("pragma page_size=8192; vacuum into '%s'"):format(small) }
    kit.refused("conflict", "pages of another size", "in the file's place",
      engine:restore(small))
    assert.error_matches(function() engine:restore() end,
      "bad argument #1 to 'restore'")
    assert.error_matches(function() engine:restore_bytes() end,
      "bad argument #1 to 'restore_bytes'")
    kit.refused("misuse", "cannot be a part of the transaction", nil, nil,
      select(2, pcall(engine.transaction, engine, function()
        engine:restore(good)
      end)))

    go_on(engine, clock, 1)
    assert.equal(4, n_of(engine, id))
    assert.equal("ok", sound(url))
  end)

  it("is whole or as before, whoever is killed, or when the disk is full",
    function()
      local engine, clock, url = sqlite.fresh()
      assert(engine:load(rounds()))
      local id = assert(engine:start "t.round")
      local items = {}
      for i = 1, 300 do items[i] = { input = { text = ("x"):rep(10000) } } end
      assert(engine:start_many("t.round", items))
      go_on(engine, clock, 1)
      local path = tmp.dir() .. "/slot.db"
      assert(engine:backup(path))
      go_on(engine, clock, 2)
      local here = command.folder()
      for _, point in ipairs { "restore.read=kill@2", "restore.before=kill@1",
        "restore.step=kill@1", "restore.step=kill@3" } do
        local killed = here:pawl("restore", path, { env = {
          PAWL_STORE = url, PAWL_FAULT = point } })
        assert.equal(137, killed.code, point .. killed.err)
        assert.equal(4, n_of(engine, id), point)
        assert.equal("ok", sound(url))
      end
      probe.fault "restore.step=fail@2"
      kit.refused("full", "full", "make room", engine:restore(path))
      probe.fault("restore.step=call", function() engine:interrupt() end)
      kit.refused("interrupted", "stopped", nil, engine:restore(path))
      probe.fault(nil)
      assert.equal(4, n_of(engine, id))
      go_on(engine, clock, 1)
      assert.equal(5, n_of(engine, id))
      assert(engine:restore(path))
      assert.equal(2, n_of(engine, id))
      assert.equal("ok", sound(url))
    end)
end)

describe("a slot", function()
  local sqlite = kit.backends[1]

  after_each(function()
    probe.fault(nil)
    process.stop_all()
    sqlite.cleanup()
  end)

  it("is saved over in one step: the old one or the new one is there",
    function()
      local engine, clock, url = sqlite.fresh()
      assert(engine:load(rounds()))
      local id = assert(engine:start "t.round")
      assert(engine:run())
      local slot = tmp.dir() .. "/slot.db"
      local here = command.folder()
      local function saved()
        local copy <close> = assert(pawl.open(slot, { create = false }))
        return n_of(copy, id)
      end
      assert(engine:backup(slot, { replace = true })) -- nothing is there yet
      for i, point in ipairs { "backup.step=kill@1", "backup.before=kill@1",
        "backup.after=kill@1" } do
        go_on(engine, clock, 1)
        local killed = here:pawl("backup", slot, "--replace", { env = {
          PAWL_STORE = url, PAWL_FAULT = point } })
        assert.equal(137, killed.code, point .. killed.err)
        assert.equal(point:find "after" and i + 1 or 1, saved(), point)
      end
      go_on(engine, clock, 1)
      assert(engine:backup(slot, { replace = true }))
      assert.equal(5, saved())
      assert.is_false(exists(slot .. "-pawl-part"))
    end)

  it("gives way with what is in its log, and to nobody while it is open",
    function()
      local engine = sqlite.fresh()
      assert(engine:load(rounds()))
      local slot = tmp.dir() .. "/slot.db"
      assert(engine:backup(slot))
      -- who played it on died
      local here = command.folder()
      here:write("f.lua", [[
        local flow = require "pawl".workflow { code = "t.x", start = "z" }
        flow:finish "z"
        return flow]])
      local killed = here:pawl("deploy", "f.lua", { env = {
        PAWL_STORE = slot, PAWL_FAULT = "commit.after=kill@1" } })
      assert.equal(137, killed.code, killed.err)
      assert.is_true(exists(slot .. "-wal"))
      assert(engine:backup(slot, { replace = true }))
      assert.is_false(exists(slot .. "-wal"))
      assert.equal("ok", sound(slot))
      local other = assert(pawl.open(slot))
      kit.refused("busy", "slot.db%-wal", "close it first",
        engine:backup(slot, { replace = true }))
      assert(other:load(rounds()))
      local id = assert(other:start "t.round")
      other:close()
      local again <close> = assert(pawl.open(slot))
      assert.equal("created", kit.status(again, id))
    end)

  it("is a store: nothing else gives way", function()
    local engine, _, url = sqlite.fresh()
    local dir = tmp.dir()
    local text = tmp.file("text.db", "mine")
    kit.refused("not_a_store", "text.db", nil,
      engine:backup(text, { replace = true }))
    assert.equal("mine", tmp.read(text))
    local other = dir .. "/other.db"
    shell.output { "sqlite3", other, "create table mine (x)" }
    kit.refused("not_a_store", "something else", "only a store",
      engine:backup(other, { replace = true }))
    kit.refused("exists", "", "no ordinary file",
      engine:backup(dir, { replace = true }))
    kit.refused("conflict", "is the store itself", nil,
      engine:backup(url, { replace = true }))
    assert.error_matches(function()
      engine:backup(text, { replaces = true })
    end, "replace")
    local empty = tmp.file("empty.db", "") -- as a file picker makes it
    assert(engine:backup(empty, { replace = true }))
    assert.equal("ok", sound(empty))
  end)

  it("is refused to a store in memory, which is as it was", function()
    local engine <close> = assert(pawl.open ":memory:")
    local dir = tmp.dir()
    assert(engine:load(rounds()))
    local id = assert(engine:start "t.round")
    local other = dir .. "/other.db"
    shell.output { "sqlite3", other, "create table mine (x)" }
    for _, path in ipairs { tmp.file("text.db", "mine"), other } do
      kit.refused("not_a_store", "", nil,
        engine:backup(path, { replace = true }))
      assert.equal("created", kit.status(engine, id))
    end
    assert(engine:backup(dir .. "/slot.db"))
  end)
end)
