--- `pawl worker` under a service manager, of which a socket plays the part.
local command = require "spec.support.command"
local datagrams = require "spec.support.datagrams"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

local FLOW <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.one", start = "one" }
flow:step("one", { run = function(ctx)
  local deadline = os.time() + (ctx.input.busy or 0)
  while os.time() < deadline do end
end, next = "done" })
flow:finish "done"
return flow
]]

local function started(socket, env, ...)
  local here = command.folder()
  here:write("one.lua", FLOW)
  env.NOTIFY_SOCKET = socket.path
  local words = { "worker", "one.lua", ... }
  words[#words + 1] = { env = env }
  return here:start(table.unpack(words)), here
end

--- The first datagram behind so many signs of life.
local function behind_signs(socket)
  local signs = 0
  repeat
    local said = socket:receive(10)
    signs = signs + 1
    if said ~= "WATCHDOG=1" then return said end
  until signs > 1000
end

describe("a worker under a service manager", function()
  after_each(process.stop_all)

  for _, case in ipairs { { "alone" }, { "with --processes", "2" } } do
    describe(case[1], function()
      local function start(socket, env)
        if case[2] then return started(socket, env, "--processes", case[2]) end
        return started(socket, env)
      end

      it("is ready when it is at work, and says that it stops", function()
        local socket <close> = datagrams.open()
        local child = start(socket, {})
        assert.equal("READY=1", socket:receive(20))
        assert.is_nil(socket:receive(0.3)) -- no sign that nobody waits for
        child:kill "TERM"
        assert.equal("STOPPING=1", socket:receive(10))
        assert.equal(0, child:wait(10))
        assert.is_nil(socket:receive(0.1)) -- each once
      end)

      it("gives signs of life twice as often as they are due", function()
        local socket <close> = datagrams.open()
        local child = start(socket, { WATCHDOG_USEC = "200000" })
        -- several processes are ready when the first is: the supervisor lives
        -- before that
        assert.equal("READY=1", (behind_signs(socket)))
        for _ = 1, 5 do
          assert.equal("WATCHDOG=1", socket:receive(2))
        end
        child:kill "TERM"
        assert.equal("STOPPING=1", (behind_signs(socket)))
        assert.equal(0, child:wait(10))
      end)
    end)
  end

  it("gives none while a handler hangs", function()
    local socket <close> = datagrams.open()
    local _, here = started(socket, { WATCHDOG_USEC = "200000" })
    assert.equal("READY=1", (behind_signs(socket)))
    assert.equal(0, here:pawl("start", "t.one", "-i", '{"busy":60}').code)
    assert.is_true(process.poll(10, function()
      return socket:receive(1.5) == nil
    end))
  end)

  it("gives them while it waits for its store", function()
    local socket <close> = datagrams.open()
    local child, here = started(socket, { WATCHDOG_USEC = "200000" })
    assert.equal("READY=1", (behind_signs(socket)))
    os.rename(here.dir .. "/pawl.db", here.dir .. "/elsewhere.db")
    assert.truthy(child:wait_for("trying again", 10))
    for _ = 1, 10 do assert.equal("WATCHDOG=1", socket:receive(2)) end
  end)

  it("gives none that another process is to give", function()
    local socket <close> = datagrams.open()
    started(socket, { WATCHDOG_USEC = "200000", WATCHDOG_PID = "1" })
    assert.equal("READY=1", socket:receive(20))
    assert.is_nil(socket:receive(0.5))
  end)

  it("says nothing when it cannot be at work", function()
    local socket <close> = datagrams.open()
    local here = command.folder()
    local ran = here:pawl("worker", "none.lua",
      { env = { NOTIFY_SOCKET = socket.path } })
    assert.not_equal(0, ran.code)
    assert.is_nil(socket:receive(0.1))
  end)

  it("works on when its manager is gone", function()
    local here = command.folder()
    here:write("one.lua", FLOW)
    for _, path in ipairs { "/nowhere/socket", "@nobody", "tcp", "/" } do
      local ran = here:pawl("worker", "one.lua", "--until-idle", { env = {
        NOTIFY_SOCKET = path, WATCHDOG_USEC = "10000" } })
      assert.equal(0, ran.code, ran.err)
    end
  end)
end)

describe("the unit", function()
  it("asks for what a worker tells", function()
    local unit = tmp.read "cmake/pawl-worker@.service.in"
    for _, line in ipairs { "Type=notify", "KillMode=mixed" } do
      assert.matches("\n" .. line .. "\n", unit, 1, true)
    end
    assert.matches("\nWatchdogSec=%d+\n", unit)
    assert.matches("\nExecStart=@CMAKE_INSTALL_FULL_BINDIR@/pawl worker ", unit)
  end)
end)
