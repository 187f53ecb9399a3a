-- Several processes on one SQLite file.
local build = require "spec.support.build"
local helper = require "spec.store.helper"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

-- Writes for a while: each commit raises the writer's own counter by one and
-- leaves a row that must be there together with it.
local WRITER = [[
local path = package.searchpath("pawl.core", package.cpath)
local probe = package.loadlib(path, "luaopen_pawl_probe")()
local url, name, seconds, size = arg[1], arg[2], tonumber(arg[3]), arg[4]
local store = assert(probe.open(url))
local value = ("x"):rep(tonumber(size))
local count, deadline = 0, nil
local system = require "system"
deadline = system.monotime() + seconds
while system.monotime() < deadline do
  local began = system.monotime()
  local ok, err = store:begin("batch")
  if ok then
    store:send("meta_put", { key = name, value = tostring(count + 1) })
    store:send("meta_put", { key = name .. "." .. (count + 1) % 50,
                             value = value })
    ok, err = store:commit()
  end
  if not ok then
    print("failed", err.code, err.message)
    os.exit(1)
  end
  count = count + 1
  io.write("committed ", count, " ", system.monotime() - began, "\n")
  io.flush()
end
store:close()
]]

local function write(url, name, seconds, size)
  return process.start({ "lua5.4", "-", url, name, tostring(seconds),
                         tostring(size) },
                       { env = build.env, stdin = WRITER })
end

--- The last count that a writer says is stored, and its longest commit.
local function committed(child)
  local count, worst = 0, 0
  for n, took in child:output():gmatch("committed (%d+) (%S+)\n") do
    count = math.tointeger(tonumber(n))
    worst = math.max(worst, tonumber(took))
  end
  return count, worst
end

local function check(path)
  return shell.output { "sqlite3", path, "pragma integrity_check" }
end

--- Text that differs everywhere from the next one's: SQLite does not write
--- pages that stay as they are.
local function letters(i, size)
  return string.char(97 + i % 26):rep(size)
end

describe("a store file that several processes write", function()
  after_each(function()
    process.stop_all()
    helper.cleanup()
  end)

  it("serves all of them, none for long before another", function()
    local path = tmp.path("shared.db")
    local children, total, least = {}, 0, math.huge
    helper.open(path):close()
    for i = 1, 4 do children[i] = write(path, "w" .. i, 3, 2000) end
    for i, child in ipairs(children) do
      assert.equal(0, child:wait(30), child:output():sub(-200)
                                      .. child:errors())
      local count, worst = committed(child)
      assert.is_true(worst < 1, worst)
      total, least = total + count, math.min(least, count)
      local store <close> = assert(helper.open(path))
      assert.equal(tostring(count), helper.get(store, "w" .. i))
    end
    assert.is_true(least > total / 4 / 2,
                   ("%d of %d"):format(least, total))
    assert.equal("ok\n", check(path))
    -- The last one to close leaves the database alone on the disk.
    assert.is_nil(tmp.read(path .. "-wal"))
  end)

  it("loses nothing that was committed before a process was killed",
     function()
    local path = tmp.path("killed.db")
    helper.open(path):close()
    for round = 1, 6 do
      local names, children = {}, {}
      for i = 1, 2 do
        names[i] = ("r%d.w%d"):format(round, i)
        children[i] = write(path, names[i], 60, 20000)
      end
      for _, child in ipairs(children) do
        assert(child:wait_for("committed %d%d", 20), child:errors())
      end
      for _, child in ipairs(children) do child:kill("KILL") end
      for i, child in ipairs(children) do
        assert(child:wait(10))
        local told = committed(child)
        local store <close> = assert(helper.open(path))
        local stored = math.tointeger(tonumber(helper.get(store, names[i])))
        -- One more may have been stored and not told.
        assert.is_true(stored == told or stored == told + 1,
                       ("%d told, %d stored"):format(told, stored))
        assert.equal(20000, #helper.get(store, names[i] .. "." ..
                                               stored % 50))
      end
      assert.equal("ok\n", check(path))
    end
  end)

  for point, stored in pairs { ["commit.before"] = false,
                               ["commit.after"] = true } do
    it(("is whole after a death at %s"):format(point), function()
      local path = tmp.path("fault.db")
      helper.open(path):close()
      local child = process.start(
        { "lua5.4", "-", path, "w", "60", "100" },
        { env = { LUA_PATH = build.env.LUA_PATH,
                  LUA_CPATH = build.env.LUA_CPATH,
                  PAWL_FAULT = point .. "=kill@5" }, stdin = WRITER })
      assert.equal(128 + 9, child:wait(20))
      assert.equal(4, (committed(child)))
      local store = assert(helper.open(path)) -- no lock is left behind
      assert.equal(stored and "5" or "4", helper.get(store, "w"))
      assert(helper.put(store, "w", "6"))
    end)
  end

  it("keeps its write-ahead log short", function()
    local path = tmp.path("wal.db")
    local store = assert(helper.open(path))
    local largest = 0
    for i = 1, 400 do -- 40 MB through a few pages
      assert(helper.put(store, "k" .. i % 10, letters(i, 100000)))
      largest = math.max(largest, tonumber(shell.output {
        "stat", "--format=%s", path .. "-wal" }))
    end
    assert.is_true(largest < 8 * 1024 * 1024, largest)
  end)

  it("shortens the log again after an old reader held it back", function()
    local path = tmp.path("reader.db")
    local store, reader = assert(helper.open(path)), assert(helper.open(path))
    assert(reader:begin("read"))
    assert(reader:send("migration_list"))
    for i = 1, 30 do
      assert(helper.put(store, "k" .. i % 3, letters(i, 1000000)))
    end
    local function size()
      return tonumber(shell.output { "stat", "--format=%s", path .. "-wal" })
    end
    assert.is_true(size() > 16 * 1024 * 1024)
    reader:rollback()
    store:tidy()
    assert.equal(0, size())
  end)
end)
