-- Several worker processes under one supervisor, on each store.
local backends = require "spec.support.backends"
local command = require "spec.support.command"
local flows = require "spec.support.flows"
local process = require "spec.support.process"
local shell = require "spec.support.shell"

for _, backend in ipairs(backends) do
  describe("pawl worker --processes on " .. backend.name, function()
    after_each(function()
      process.stop_all()
      backend.cleanup()
    end)

    --- A folder, and what every command in it needs to reach the store.
    local function folder()
      local here = command.folder()
      here:write("hello.lua", flows.hello)
      here.env = { PAWL_STORE = backend.url() }
      return here
    end

    local function start(here, ...)
      local words = { "worker", "hello.lua", "--processes", "2", ... }
      words[#words + 1] = { env = here.env }
      return here:start(table.unpack(words))
    end

    local function at_work(child, n)
      return process.poll(20, function()
        return select(2, child:output():gsub("loaded t.hello", "")) >= n
      end)
    end

    local function children(child)
      local pids = {}
      for pid in child:output():gmatch "Z worker (%d+) on" do
        pids[#pids + 1] = math.tointeger(tonumber(pid))
      end
      return pids
    end

    local function is_alive(pid)
      return os.execute(("kill -0 %d 2>/dev/null"):format(pid)) == true
    end

    it("are as many as there are cores, where workers share a server",
      function()
        local here = folder()
        local cores = tonumber((shell.output { "nproc" }))
        local n = backend.name == "postgres" and cores or 1
        local group = here:start("worker", "hello.lua", { env = here.env })
        assert.truthy(at_work(group, n))
        assert.falsy(group:wait_for("another is started", 0.3))
        local _, loaded = group:output():gsub("loaded t.hello", "")
        assert.equal(n, loaded)
        group:kill "TERM"
      end)

    it("waits twice as long each time before it starts another", function()
      local here = folder()
      local group = start(here)
      for i, pause in ipairs { "0.1", "0.2", "0.4" } do
        assert.truthy(at_work(group, i + 1))
        local pids = children(group)
        shell.output { "kill", "-KILL", tostring(pids[#pids]) }
        assert.truthy(group:wait_for(("worker %d was killed by signal 9; "
          .. "another is started in %s s"):format(pids[#pids], pause), 10))
      end
      group:kill "TERM"
    end)

    it("starts another when one was killed", function()
      local here = folder()
      local group = start(here)
      assert.truthy(at_work(group, 2))
      local pids = children(group)
      assert.equal(2, #pids)
      shell.output { "kill", "-KILL", tostring(pids[1]) }
      assert.truthy(group:wait_for("worker " .. pids[1]
        .. " was killed by signal 9; another is started", 10))
      assert.truthy(at_work(group, 3))
      local ran = here:pawl("start", "t.hello", { env = here.env })
      assert.equal(0, ran.code, ran.err)
      assert.truthy(group:wait_for("step greet attempt 1 done", 10))
      group:kill "TERM"
      assert.equal(0, group:wait(10), group:errors())
    end)

    it("ends all on SIGTERM, and nothing stays leased", function()
      local here = folder()
      local group = start(here)
      assert.truthy(at_work(group, 2))
      group:kill "TERM"
      assert.equal(0, group:wait(10), group:errors())
      for _, pid in ipairs(children(group)) do
        assert.is_false(is_alive(pid))
      end
      local _, stopped = group:output():gsub("stopped: ", "")
      assert.equal(2, stopped)
      local table_name = backend.name == "sqlite" and "pawl_agenda"
        or "pawl.agenda"
      local rows = backend.sql(here.env.PAWL_STORE, "select count(*) as n from "
        .. table_name .. " where lease is not null")
      assert.equal(0, math.tointeger(tonumber(rows[1].n)))
    end)

    it("is told by one signal, though the whole group is", function()
      local here = folder()
      local group = start(here)
      assert.truthy(at_work(group, 2))
      os.execute(("kill -s TERM -- -%d"):format(group.pid))
      assert.equal(0, group:wait(10), group:errors())
      local _, stopped = group:output():gsub("stopped: ", "")
      assert.equal(2, stopped)
    end)

    it("takes its workers with it when it dies", function()
      local here = folder()
      local group = start(here)
      assert.truthy(at_work(group, 2))
      group:kill "KILL"
      for _, pid in ipairs(children(group)) do
        assert.truthy(process.poll(10, function()
          return not is_alive(pid)
        end))
      end
    end)

    it("says once why none can start", function()
      local here = folder()
      here:write("bad.lua", flows.broken)
      local ran = here:pawl("worker", "bad.lua", "--processes", "3",
        { env = here.env })
      assert.equal(1, ran.code)
      local _, said = ran.err:gsub("pawl: definition: bad.lua:3", "")
      assert.equal(1, said, ran.err)
    end)

    it("says once that there is no store", function()
      local here = folder()
      local nowhere = backend.name == "sqlite"
        and here.dir .. "/no/such/folder/x.db"
        or here.env.PAWL_STORE:gsub("dbname=%S+", "dbname=nonesuch")
      local ran = here:pawl("worker", "hello.lua", "--processes", "3",
        { env = { PAWL_STORE = nowhere } })
      assert.are_not.equal(0, ran.code)
      local _, said = ran.err:gsub("pawl: ", "")
      assert.equal(1, said, ran.err)
    end)

    it("stops when all of them are idle, if told to", function()
      local here = folder()
      local ran = here:pawl("worker", "hello.lua", "--until-idle",
        "--processes", "2", { env = here.env })
      assert.equal(0, ran.code, ran.err)
      local id = here:pawl("start", "t.hello", { env = here.env }).out
      ran = here:pawl("worker", "--until-idle", "--processes", "2",
        { env = here.env })
      assert.equal(0, ran.code, ran.err)
      assert.equal("completed", (here:json("show", (id:gsub("\n", "")),
        { env = here.env })).status)
    end)
  end)
end

describe("pawl worker --processes", function()
  it("refuses a store in memory, which is one process's", function()
    local ran = command.folder():pawl("worker", "--processes", "2",
      "--store", ":memory:")
    assert.equal(2, ran.code)
    assert.matches("a store in memory", ran.err)
  end)
end)
