-- A copy of a store that is in use. PostgreSQL has its own tools for that.
local command = require "spec.support.command"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local PART = "-pawl-part"

--- Each time it has copied some pages.
local function at_steps(fn)
  local points = {}
  for i = 1, 16 do points[i] = "backup.step=call@" .. i end
  probe.fault(table.concat(points, ","), fn)
end

local function exists(path)
  local file <close> = io.open(path, "rb")
  return file ~= nil
end

--- Some MB, so that it takes several steps.
local function fill(engine)
  assert(engine:load(kit.timer()))
  local items = {}
  for i = 1, 300 do items[i] = { input = { text = ("x"):rep(10000) } } end
  return assert(engine:start_many("t.timer", items))
end

kit.describe("a backup", function(backend)
  it("is a whole store, or says who makes one", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx) ctx.vars.n = 7 end)))
    local id = assert(engine:start "t.one")
    local path = tmp.dir() .. "/copy.db"
    if backend.name == "postgres" then
      kit.refused("unsupported", "backed up with pg_dump", "pg_restore",
        engine:backup(path))
      assert.is_false(exists(path))
      assert.is_false(exists(path .. PART))
      assert(engine:run()) -- the engine is as it was
      return
    end
    local info = assert(engine:backup(path))
    assert.equal(path, info.file)
    assert.equal(#tmp.read(path), info.bytes)
    assert.is_false(exists(path .. PART))
    assert(engine:run())
    local copy <close> = assert(pawl.open(path, { clock = clock }))
    assert.equal("created", kit.status(copy, id))
    assert(copy:load(kit.one(function(ctx) ctx.vars.n = 8 end)))
    assert(copy:run())
    assert.equal(8, assert(copy:get(id)).output.n)
    assert.equal(7, assert(engine:get(id)).output.n)
  end)
end)

describe("a backup of a SQLite store", function()
  local sqlite = kit.backends[1]

  after_each(function()
    probe.fault(nil)
    process.stop_all()
    sqlite.cleanup()
  end)

  it("is of one moment, and who writes meanwhile does not wait", function()
    local engine, clock, url = sqlite.fresh()
    local ids = fill(engine)
    local other = kit.rival(sqlite, url, clock)
    assert(other:load(kit.timer()))
    local path, later = tmp.dir() .. "/copy.db", {}
    at_steps(function()
      later[#later + 1] = assert(other:start("t.timer", {}))
      assert(other:cancel(ids[#later]))
    end)
    assert(engine:backup(path))
    probe.fault(nil)
    -- it went on step by step, and never began anew
    assert.is_true(#later > 2 and #later < 16, #later)
    local copy <close> = assert(pawl.open(path, { clock = clock }))
    assert.equal(#ids, #assert(copy:list { limit = 10000 }))
    for i, id in ipairs(later) do
      kit.refused("notfound", "", nil, copy:get(id))
      assert.equal("created", kit.status(copy, ids[i]))
      assert.equal("created", kit.status(engine, id))
    end
    assert.equal("ok", shell.output { "sqlite3", path,
      "pragma integrity_check" }:match "%w+")
  end)

  it("is taken of a store in memory, too", function()
    local engine <close> = assert(pawl.open ":memory:")
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    local path = tmp.dir() .. "/copy.db"
    assert(engine:backup(path))
    local copy <close> = assert(pawl.open(path))
    assert.equal("created", kit.status(copy, id))
  end)

  it("overwrites nothing, and stands beside no log of another", function()
    local engine, _, url = sqlite.fresh()
    local dir = tmp.dir()
    local taken = dir .. "/mine.db"
    local function write(name)
      local file <close> = assert(io.open(name, "w"))
      assert(file:write "mine")
    end
    write(taken)
    kit.refused("exists", "mine.db: is there already", "none is overwritten",
      engine:backup(taken))
    assert.equal("mine", tmp.read(taken))
    kit.refused("exists", "is there already", nil, engine:backup(url))
    write(dir .. "/log.db-wal")
    kit.refused("exists", "log.db%-wal: is there already", "the log of",
      engine:backup(dir .. "/log.db"))
    assert.is_false(exists(dir .. "/log.db"))
    -- one that comes while it is copied
    local path = dir .. "/late.db"
    probe.fault("backup.before=call", function() write(path) end)
    kit.refused("exists", "late.db: is there already", nil,
      engine:backup(path))
    assert.equal("mine", tmp.read(path))
    assert.is_false(exists(path .. PART))
  end)

  it("names what is wrong with its path", function()
    local engine = sqlite.fresh()
    local dir = tmp.dir()
    kit.refused("notfound", "nowhere/copy.db", "make the folder",
      engine:backup(dir .. "/nowhere/copy.db"))
    kit.refused("invalid", "path is empty", nil, engine:backup "")
    kit.refused("invalid", "path is too long", nil,
      engine:backup(("x"):rep(5000)))
    kit.refused("exists", "", nil, engine:backup(dir))
    assert.error_matches(function() engine:backup() end,
      "bad argument #1 to 'backup'")
    assert.error_matches(function() engine:backup "a\0b" end, "zero byte")
  end)

  it("leaves nothing where the disk is full, or it is stopped", function()
    local engine = sqlite.fresh()
    fill(engine)
    local path = tmp.dir() .. "/copy.db"
    probe.fault "backup.step=fail@2"
    kit.refused("full", "%-pawl%-part: .*full", "make room",
      engine:backup(path))
    probe.fault("backup.step=call", function() engine:interrupt() end)
    kit.refused("interrupted", "stopped", nil, engine:backup(path))
    probe.fault("backup.step=call", function() engine:interrupt() end)
    kit.refused("interrupted", "stopped", nil, engine:backup_bytes())
    probe.fault(nil)
    assert.is_false(exists(path))
    assert.is_false(exists(path .. PART))
    assert(engine:run())
    assert(engine:backup(path))
  end)

  it("is made by one at a time, and goes on from nobody's half", function()
    local engine, _, url = sqlite.fresh()
    fill(engine)
    local path = tmp.dir() .. "/copy.db"
    local here = command.folder()
    local killed = here:pawl("backup", path, { env = { PAWL_STORE = url,
      PAWL_FAULT = "backup.step=kill@2" } })
    assert.equal(137, killed.code, killed.err)
    assert.is_false(exists(path))
    assert.is_true(exists(path .. PART))
    local rival = here:pawl("workflow", { env = { PAWL_STORE = url } })
    assert.equal(0, rival.code, rival.err) -- the store is as it was
    local tried
    probe.fault("backup.step=call", function()
      tried = tried or here:pawl("backup", path,
        { env = { PAWL_STORE = url } })
    end)
    assert(engine:backup(path))
    assert.equal(4, tried.code)
    assert.matches("busy: .*is locked", tried.err)
    assert.is_false(exists(path .. PART))
    assert.equal("ok", shell.output { "sqlite3", path,
      "pragma integrity_check" }:match "%w+")
  end)
end)
