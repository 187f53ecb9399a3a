-- A SQLite file that is copied while it is open, with its log or without.
local command = require "spec.support.command"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local sqlite = kit.backends[1]
local SEAL = "pragma application_id=0x5061776C"

--- By another process: who closes the file in this one drops SQLite's locks.
local function copy(url, ...)
  local path = tmp.dir() .. "/copy.db"
  for _, suffix in ipairs { "", ... } do
    shell.output { "cp", url .. suffix, path .. suffix }
  end
  return path
end

local function refused(path)
  local before = tmp.read(path)
  for _, options in ipairs { {}, { create = false }, { create = true } } do
    for _ = 1, 2 do
      kit.refused("corrupt", "copied while it was open, without the log",
        "pawl backup", pawl.open(path, options))
    end
  end
  assert.equal(before, tmp.read(path)) -- nothing was made of it
end

describe("a SQLite file that is copied while it is open", function()
  after_each(function()
    probe.fault(nil)
    sqlite.cleanup()
  end)

  it("is refused without its log, from the first commit on", function()
    local engine, clock, url = sqlite.fresh()
    assert.is_true(engine:is_new())
    refused(copy(url)) -- its schema is all there is
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    refused(copy(url))
    local whole <close> = assert(pawl.open(copy(url, "-wal"),
      { clock = clock }))
    assert.is_false(whole:is_new())
    assert.equal("created", kit.status(whole, id))
    -- what is closed is whole by itself
    engine:close()
    local closed = copy(url)
    local again <close> = assert(pawl.open(closed, { clock = clock }))
    assert.equal("created", kit.status(again, id))
  end)

  it("is refused behind each checkpoint, too", function()
    local engine, clock, url = sqlite.fresh()
    assert(engine:load(kit.timer()))
    local large, id = { x = ("x"):rep(20000) }, nil
    for _ = 1, 5 do
      for _ = 1, 100 do id = assert(engine:start("t.timer", large)) end
      assert(engine:wait(0)) -- an idle moment
      refused(copy(url))
    end
    assert.is_true(tonumber(shell.output { "stat", "-c", "%s", url }) > 5e6)
    local whole <close> = assert(pawl.open(copy(url, "-wal"),
      { clock = clock }))
    assert.equal("created", kit.status(whole, id))
    assert.equal("ok", shell.output { "sqlite3", url,
      "pragma integrity_check" }:match "%w+")
  end)

  it("is a store again when its user says that it will do", function()
    local engine, clock, url = sqlite.fresh()
    assert(engine:load(kit.one()))
    local early = assert(engine:start "t.one")
    engine:close()
    engine = assert(pawl.open(url, { clock = clock }))
    local first = assert(engine:start "t.one")
    local late = assert(engine:start "t.one")
    local path = copy(url)
    refused(path)
    shell.output { "sqlite3", path, SEAL }
    local copied <close> = assert(pawl.open(path, { clock = clock }))
    assert.is_false(copied:is_new())
    assert.equal("created", kit.status(copied, early))
    assert.equal("created", kit.status(copied, first)) -- with the mark
    kit.refused("notfound", "", nil, copied:get(late))
    engine:close()
  end)

  it("opens where who wrote it was killed, at any moment", function()
    local FLOW = [[
      local flow = require "pawl".workflow { code = "t.x", start = "z" }
      flow:finish "z"
      return flow]]
    for _, point in ipairs { "store.marked=kill@1",
      "commit.after=kill@1", "commit.before=kill@2" } do
      local here = command.folder()
      here:write("flow.lua", FLOW)
      local killed = here:pawl("deploy", "flow.lua",
        { env = { PAWL_FAULT = point } })
      assert.equal(137, killed.code, point .. killed.err)
      assert.equal(0, here:pawl("deploy", "flow.lua").code, point)
      assert.equal(0, here:pawl("start", "t.x").code, point)
      assert.equal(0, here:pawl("list").code, point)
      local path = here.dir .. "/pawl.db"
      assert.equal("1348564844\n", shell.output { "sqlite3", path,
        "pragma application_id" }, point)
    end
  end)

  it("is whole where another has put the log of who was killed into it",
    function()
      local here = command.folder()
      here:write("flow.lua", [[
        local flow = require "pawl".workflow { code = "t.x", start = "z" }
        flow:finish "z"
        return flow]])
      assert.equal(137, here:pawl("deploy", "flow.lua",
        { env = { PAWL_FAULT = "store.marked=kill@1" } }).code)
      local path = here.dir .. "/pawl.db"
      shell.output { "sqlite3", path, "select count(*) from sqlite_master" }
      assert.is_nil(io.open(path .. "-wal"))
      refused(copy(path)) -- by itself it might be anything
      assert.equal(0, here:pawl("list").code)
      assert.equal(0, here:pawl("deploy", "flow.lua").code)
      assert.equal(0, here:pawl("start", "t.x").code)
      assert.equal("1348564844\n", shell.output { "sqlite3", path,
        "pragma application_id" })
    end)

  it("is copied whole by a backup, whatever it says at that moment",
    function()
      local engine, clock, url = sqlite.fresh()
      assert(engine:load(kit.one()))
      local id = assert(engine:start "t.one")
      local rival = kit.rival(sqlite, url, clock)
      local path = tmp.dir() .. "/copy.db"
      probe.fault("store.marked=call@1", function()
        assert(rival:backup(path))
      end)
      local other = kit.rival(sqlite, url, clock)
      assert(other:load(kit.one()))
      assert(other:start "t.one")
      probe.fault(nil)
      local copied <close> = assert(pawl.open(path, { clock = clock }))
      assert.equal("created", kit.status(copied, id))
    end)
end)

describe("the log of a SQLite file that was moved away", function()
  after_each(sqlite.cleanup)

  --- A folder with the log alone, and the file elsewhere; what is in it.
  local function moved()
    local engine, clock, url = sqlite.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    local path = copy(url, "-wal")
    assert(os.rename(path, path .. ".away"))
    return path, id, clock
  end

  local function alone(path)
    local log = tmp.read(path .. "-wal")
    assert.is_true(#log > 32)
    for _, options in ipairs { {}, { create = false }, { create = true } } do
      kit.refused("not_a_store", "but the log of one is", "put the file back",
        pawl.open(path, options))
    end
    assert.equal(log, tmp.read(path .. "-wal"))
  end

  it("is not taken for that of a new one, and destroyed", function()
    local path, id, clock = moved()
    alone(path)
    assert.is_nil(tmp.read(path))
    assert(os.rename(path .. ".away", path))
    local whole <close> = assert(pawl.open(path, { clock = clock }))
    assert.equal("created", kit.status(whole, id))
  end)

  it("is not beside an empty file, either", function()
    local path = moved()
    shell.output { "touch", path }
    alone(path)
    shell.output { "rm", path, path .. "-wal" }
    local new <close> = assert(pawl.open(path))
    assert.is_true(new:is_new())
  end)

  it("stands no new store in the way when it is empty", function()
    local path = tmp.dir() .. "/new.db"
    shell.output { "touch", path .. "-wal" }
    local new <close> = assert(pawl.open(path))
    assert.is_true(new:is_new())
  end)

  it("is told by every command, also while somebody works", function()
    local here = command.folder()
    here:write("flow.lua", [[
      local flow = require "pawl".workflow { code = "t.x", start = "z" }
      flow:finish "z"
      return flow]])
    local worker = here:start("worker", "flow.lua")
    assert(process.poll(20, function()
      return here:pawl("start", "t.x").code == 0
    end))
    local path = here.dir .. "/pawl.db"
    assert(os.rename(path, here.dir .. "/moved.db"))
    for _, words in ipairs { { "start", "t.x" }, { "migrate" }, { "list" },
      { "worker", "flow.lua", "--until-idle" }, { "deploy", "flow.lua" },
      { "restore", "moved.db" } } do
      local ran = here:pawl(table.unpack(words))
      assert.equal(5, ran.code, words[1] .. ran.err)
      assert.matches("log of one is %(pawl.db%-wal%)", ran.err)
      assert.matches("put the file back", ran.err)
      assert.is_nil(tmp.read(path), words[1])
    end
    worker:kill "KILL"
    assert(worker:wait(10))
    assert(os.rename(here.dir .. "/moved.db", path))
    assert.equal(0, here:pawl("list").code)
    assert.matches("t.x", here:pawl("list").out)
  end)
end)
