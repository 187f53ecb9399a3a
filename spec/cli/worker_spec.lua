local backends = require "spec.support.backends"
local command = require "spec.support.command"
local flows = require "spec.support.flows"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

local function lines(text)
  local out = {}
  for line in text:gmatch "[^\n]+" do
    out[#out + 1] = assert(pawl.json.decode(line))
  end
  return out
end

--- A folder whose store knows t.hello, t.timer and t.fails.
local function folder(env)
  local here = command.folder()
  os.execute("mkdir " .. here.dir .. "/flows")
  for _, name in ipairs { "hello", "timer", "fails" } do
    here:write("flows/" .. name .. ".lua", flows[name])
  end
  local ran = here:pawl("worker", "flows", "--until-idle", env)
  assert.equal(0, ran.code, ran.err)
  return here
end

describe("pawl worker", function()
  after_each(process.stop_all)

  it("does not wait for what is due soon when it ends with being idle",
    function()
    for _, backend in ipairs(backends) do
      local here = command.folder()
      local env = { env = { PAWL_STORE = backend.url() } }
      here:write("beat.lua", [[
        local flow = require("pawl").workflow { code = "t.beat", start = "a" }
        flow:timer("a", { after = 0.5, next = "b" })
        flow:timer("b", { after = 0.5, next = "again" })
        flow:choice("again", { choose = function(ctx)
          return ctx.input.ends and "no" or "yes"
        end, next = { yes = "a", no = "z" } })
        flow:finish "z"
        return flow]])
      assert.equal(0, here:pawl("worker", "beat.lua", "--until-idle", env).code)
      assert.equal(0, here:pawl("start", "t.beat", env).code)
      local worker = here:start("worker", "--until-idle", env)
      assert.equal(0, worker:wait(20), worker:output() .. worker:errors())
      backend.cleanup()
    end
  end)

  it("loads every file of a folder and drains the store", function()
    local here = folder()
    local id = here:json("start", "t.hello").id
    local ran = here:pawl("worker", "flows", "--until-idle")
    assert.equal(0, ran.code, ran.err)
    assert.matches("loaded t.hello 1 from flows/hello.lua\n", ran.out, 1, true)
    assert.matches("t.hello " .. id .. " step greet attempt 1 done in ",
      ran.out, 1, true)
    assert.matches("stopped: 1 steps, 1 instances ended\n", ran.out)
    assert.equal("completed", here:json("show", id).status)
  end)

  it("is not idle while another one holds what may be due next", function()
    local here = folder()
    local id = here:json("start", "t.hello").id
    local store = kit.store(here.dir .. "/pawl.db")
    kit.claim(store, id, { lease_us = 2000000 })
    kit.close_stores()
    local ran = here:pawl("worker", "flows", "--until-idle")
    assert.equal(0, ran.code, ran.err)
    assert.equal("completed", here:json("show", id).status)
  end)

  it("lets as many handlers wait at one time as --concurrency says", function()
    local here = command.folder()
    here:write("waits.lua", [[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "t.waits", start = "a" }
      local log = assert(io.open("log", "a"))
      flow:step("a", { next = "z", run = function(ctx)
        log:write "(" log:flush()
        ctx.await(0.5)
        log:write ")" log:flush()
      end })
      flow:finish "z"
      return flow
    ]])
    for _, case in ipairs { { "1", "()()()" }, { nil, "((()))" } } do
      os.remove(here.dir .. "/log")
      assert.equal(0, here:pawl("worker", "waits.lua", "--until-idle").code)
      for _ = 1, 3 do here:json("start", "t.waits") end
      local words = { "worker", "waits.lua", "--until-idle" }
      if case[1] then
        words[#words + 1], words[#words + 2] = "--concurrency", case[1]
      end
      local ran = here:pawl(table.unpack(words))
      assert.equal(0, ran.code, ran.err)
      assert.equal(case[2], tmp.read(here.dir .. "/log"))
    end
  end)

  it("runs stored definitions without files", function()
    local here = folder()
    local id = here:json("start", "t.hello").id
    assert.equal(0, here:pawl("worker", "--until-idle").code)
    assert.equal("completed", here:json("show", id).status)
  end)

  it("does not count future timers as work", function()
    local here = folder()
    local id = here:json("start", "t.timer").id
    assert.equal(0, here:pawl("worker", "flows", "--until-idle").code)
    assert.equal("waiting", here:json("show", id).status)
  end)

  it("writes a JSON object a line for programs", function()
    local here = folder()
    local id = here:json("start", "t.hello").id
    local ran = here:pawl("worker", "flows", "--until-idle", "--json")
    local events = {}
    for _, event in ipairs(lines(ran.out)) do
      assert.matches("^%d%d%d%d%-%d%d%-%d%dT", event.time)
      events[event.event] = event
    end
    assert.equal(id, events.step.instance)
    assert.equal("greet", events.step.node)
    assert.equal("done", events.step.outcome)
    assert.equal("completed", events.step.ended)
    assert.equal(1, events.stopped.steps)
  end)

  it("says at its end what is left for another group", function()
    local here = folder()
    for _ = 1, 2 do here:json("start", "t.hello", "--group", "beta") end
    local ran = here:pawl("worker", "flows", "--until-idle")
    assert.equal(0, ran.code, ran.err)
    assert.matches("stopped: 0 steps, 0 instances ended; not this worker's to "
      .. "run: 2 of group beta\n", ran.out)
    ran = here:pawl("worker", "flows", "--until-idle", "--group", "beta")
    assert.matches("2 instances ended\n", ran.out)
  end)

  it("stops cleanly on SIGTERM and keeps what runs", function()
    local here = command.folder()
    here:write("flow.lua", flows.counted)
    assert.equal(0, here:pawl("worker", "flow.lua", "--until-idle").code)
    here:pawl("start", "t.counted")
    local child = here:start("worker", "flow.lua")
    for _ = 1, 200 do
      if (tmp.read(here.dir .. "/ran") or ""):find "slow" then break end
      os.execute "sleep 0.01"
    end
    child:kill "TERM"
    assert.equal(0, child:wait(10), child:errors())
    assert.matches("stopped: 2 steps", child:output())
    assert.equal(0, here:pawl("worker", "flow.lua", "--until-idle").code)
    assert.equal("first\nslow\nlast\n", tmp.read(here.dir .. "/ran"))
  end)

  it("runs what is started while it waits", function()
    local here = folder()
    local child = here:start("worker", "flows")
    assert.truthy(child:wait_for("loaded t.timer", 10))
    here:pawl("start", "t.hello")
    assert.truthy(child:wait_for("step greet attempt 1 done", 10))
    child:kill "INT"
    assert.equal(0, child:wait(10))
  end)

  it("names what it cannot load", function()
    local here = folder()
    here:write("bad.lua", flows.broken)
    local ran = here:pawl("worker", "bad.lua", "--until-idle")
    assert.equal(1, ran.code)
    assert.matches("^pawl: definition: bad.lua:3: ", ran.err)
    ran = here:pawl("worker", "nowhere")
    assert.equal(3, ran.code)
    assert.matches("nowhere", ran.err)
    ran = here:pawl("worker", "--unknown", "maybe")
    assert.equal(2, ran.code)
  end)

  it("serves all others when one file is not the stored one", function()
    for _, backend in ipairs(backends) do
      local env = { env = { PAWL_STORE = backend.url() } }
      local here = folder(env)
      local waits = here:json("start", "t.timer", env).id
      assert.equal(0, here:pawl("worker", "flows", "--until-idle", env).code)
      here:write("flows/timer.lua",
        (flows.timer:gsub("flow:finish", "local _ = 1\nflow:finish")))
      local id = here:json("start", "t.hello", env).id
      local ran = here:pawl("worker", "flows", "--until-idle", env)
      assert.equal(0, ran.code, ran.err)
      assert.matches("flows/timer%.lua is not loaded: workflow \"t%.timer\" "
        .. "version 1 is stored with other contents, and instance " .. waits
        :gsub("%-", "%%-") .. " still runs it; the stored one runs\n", ran.out)
      assert.matches(" hint: give the changed workflow version = 2", ran.out)
      assert.equal("completed", here:json("show", id, env).status)
      -- and runs, though its file is there: from what is stored
      local more = here:json("start", "t.timer", env).id
      ran = here:pawl("worker", "flows", "--until-idle", "--json", env)
      local event
      for _, one in ipairs(lines(ran.out)) do
        if one.code == "exists" then event = one end
      end
      assert.same({ "flows/timer.lua", "error", "t.timer", 1 }, { event.file,
        event.event, event.workflow, event.version })
      assert.equal("waiting", here:json("show", more, env).status)
      assert.equal(flows.timer,
        here:json("workflow", "show", "t.timer", env).source)
      -- who asks for the file itself is still refused
      ran = here:pawl("run", "flows/timer.lua", env)
      assert.equal(4, ran.code)
      assert.matches("^pawl: exists: ", ran.err)
      backend.cleanup()
    end
  end)

  it("says who runs what a program has built", function()
    local here = command.folder()
    local engine = assert(pawl.open(here.dir .. "/pawl.db"))
    assert(engine:load(kit.timer("1h", "t.timer")))
    assert(engine:start "t.timer")
    here:write("timer.lua", flows.timer)
    local ran = here:pawl("worker", "timer.lua", "--until-idle")
    engine:close()
    assert.equal(0, ran.code, ran.err)
    assert.matches("left to the programs that build it\n", ran.out)
  end)

  it("agrees with others that begin at once on a number", function()
    for _, backend in ipairs(backends) do
      local here = command.folder()
      local env = { env = { PAWL_STORE = backend.url() } }
      assert.equal(0, here:pawl("migrate", env).code)
      here:write("flow.lua", (flows.hello:gsub('code = "t.hello"',
        '%0, version = "auto"')))
      for round = 1, 2 do
        local workers = {}
        for i = 1, 4 do
          workers[i] = here:start("worker", "flow.lua", "--until-idle", env)
        end
        for _, worker in ipairs(workers) do
          assert.equal(0, worker:wait(30), worker:errors())
          assert.matches(("loaded t.hello %d from"):format(round),
            worker:output(), 1, true)
        end
        assert.equal(round, #here:json("workflow", "list", env))
        here:write("flow.lua", (flows.hello:gsub('code = "t.hello"',
          '%0, version = "auto"')) .. "-- new\n")
      end
      backend.cleanup()
    end
  end)

  it("ends when one version is in two files", function()
    local here = folder()
    here:write("flows/other.lua",
      (flows.hello:gsub("flow:finish", "local _ = 1\nflow:finish")))
    local ran = here:pawl("worker", "flows", "--until-idle")
    assert.equal(1, ran.code)
    assert.equal('pawl: definition: workflow "t.hello" version 1 is in two '
      .. "files that differ: flows/hello.lua and flows/other.lua\n hint: give "
      .. "one of them version = 2, or leave one out\n", ran.err)
    here:write("flows/other.lua", flows.hello) -- a copy does no harm
    ran = here:pawl("worker", "flows", "--until-idle")
    assert.equal(0, ran.code, ran.err)
  end)

  it("leaves unknown workflows to others when told to", function()
    local here = folder()
    local id = here:json("start", "t.hello").id
    here:write("other.lua", (flows.hello:gsub("t.hello", "t.other")))
    assert.equal(0, here:pawl("worker", "other.lua", "--until-idle",
      "--stored-code", "own", "--unknown", "defer").code)
    assert.equal("created", here:json("show", id).status)
  end)

  it("tells the time from the first event to the last", function()
    local here = folder()
    local ran = here:pawl("worker", "flows", "--until-idle", "--json")
    local last = ""
    for _, event in ipairs(lines(ran.out)) do
      assert.is_true(event.time >= last, ran.out)
      last = event.time
    end
    assert.not_matches("%.000000Z$", last)
  end)

  it("writes events about bytes that are no text", function()
    local here = folder()
    here:write("flow.lua", (flows.fails:gsub("t.fails", "t.bytes")
      :gsub("not today", "not\\xff today")))
    here:pawl("worker", "flow.lua", "--until-idle") -- loads it
    here:pawl("start", "t.bytes")
    local ran = here:pawl("worker", "flow.lua", "--json", "--until-idle")
    assert.equal(0, ran.code, ran.err)
    assert.matches([[not\\xff today]], ran.out, 1, true)
  end)

  it("fails when its words cannot be written", function()
    local shell = require "spec.support.shell"
    local here = folder()
    local code, _, err = process.run({ "sh", "-c", shell.line { command.path,
      "worker", "flows", "--until-idle" } .. " >/dev/full" },
      { cwd = here.dir })
    assert.equal(1, code)
    assert.matches("^pawl: output: cannot be written", err)
  end)

  it("refuses a number that is too large", function()
    local ran = folder():pawl("worker", "--batch", "99999999999")
    assert.equal(2, ran.code)
    assert.matches("^pawl: usage: %-%-batch is at most", ran.err)
  end)
end)

for _, backend in ipairs(backends) do
  describe("pawl worker on " .. backend.name, function()
    after_each(process.stop_all)
    after_each(backend.cleanup)

    it("serves only its prefixes", function()
      local url = backend.url()
      local env = { env = { PAWL_STORE = url } }
      local here = folder(env)
      local id = here:json("start", "t.hello", env).id
      assert.equal(0, here:pawl("worker", "flows", "--until-idle", "--prefix",
        "billing.", env).code)
      assert.equal("created", here:json("show", id, env).status)
      assert.equal(0, here:pawl("worker", "flows", "--until-idle",
        { env = { PAWL_STORE = url, PAWL_PREFIXES = "x.,t.he" } }).code)
      assert.equal("completed", here:json("show", id, env).status)
    end)
  end)
end
