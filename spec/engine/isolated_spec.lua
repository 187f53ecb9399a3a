--- Definitions that run in a process of their own: its life, and what becomes
--- of it. What they may do is in spec/engine/common/trust_spec.lua, what holds
--- them up in spec/engine/hostile_spec.lua, what their process gives up in
--- spec/c/fence_test.c.
local build = require "spec.support.build"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local FILE <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "%s", start = "a" }
flow:step("a", { retry = { max = %d, base = 1, jitter = 0 }, next = "z",
  run = function(ctx)
  %s
end })
flow:finish("z", { output = function(ctx) return ctx.vars end })
return flow]]

local function file(body, options)
  options = options or {}
  return tmp.file("flow.lua", FILE:format(options.code or "mod.one",
    options.max or 1, body))
end

local function own_pid()
  local stat <close> = assert(io.open "/proc/self/stat")
  return stat:read "n"
end

--- Processes that run definitions of this one's, or of another.
local function children(of)
  local list = {}
  local text = shell.output { "ps", "-A", "-o", "pid=,ppid=,args=" }
  for line in text:gmatch "[^\n]+" do
    local pid, parent, args = line:match "^%s*(%d+)%s+(%d+)%s+(.*)"
    if tonumber(parent) == (of or own_pid())
       and args:find("pawl isolate", 1, true) then
      list[#list + 1] = tonumber(pid)
    end
  end
  return list
end

local function signal(name, pid)
  assert(os.execute(("kill -s %s %d"):format(name, pid)))
end

local function run(engine, code)
  local id = assert(engine:start(code or "mod.one"))
  engine:run { id = id }
  return assert(engine:get(id)), id
end

--- An engine whose handlers may have something done to their process.
local function with_deeds(backend, trust)
  local deeds = {}
  local level = { level = "isolated", may = { host = "*", await = true } }
  for key, value in pairs(trust or {}) do level[key] = value end
  local engine, clock = backend.fresh { trust = level, host = {
    kill = function(name) signal(name, children()[1]) end,
    deed = function(name) return deeds[name]() end } }
  return engine, clock, deeds
end

kit.describe("a process of an isolated definition", function(backend)
  it("is its own, stays, and ends with the engine", function()
    local engine = backend.fresh { trust = "isolated" }
    assert.same({}, children())
    assert(engine:load(file "ctx.vars.n = 1"))
    assert(engine:load(file("ctx.vars.n = 2", { code = "mod.two" })))
    local before = children()
    assert.equal(2, #before)
    for _ = 1, 3 do
      assert.same({ n = 1 }, run(engine).output)
      assert.same({ n = 2 }, run(engine, "mod.two").output)
    end
    assert.same(before, children())
    engine:close()
    assert.same({}, children())
  end)

  it("is not there for a file that is not loaded", function()
    local engine = backend.fresh { trust = "isolated" }
    kit.refused("definition", "unexpected symbol", nil,
      engine:load(tmp.file("flow.lua", "return !")))
    kit.refused("notfound", "nowhere", nil, engine:load "nowhere.lua")
    kit.refused("definition", "mod.none", nil, engine:load(file("",
      { code = "mod.none' x='" })))
    assert.same({}, children())
  end)

  it("fails with why its waiting was ended, as others do", function()
    for _, level in ipairs { "limited", "isolated" } do
      local engine, clock = backend.fresh { trust = { level = level,
        may = { await = true } } }
      assert(engine:load(tmp.file("flow.lua", [[
        local pawl = require "pawl"
        local flow = pawl.workflow { code = "mod.one", start = "a" }
        flow:step("a", { timeout = 5, retry = false, next = "z",
          on_error = { timeout = "late" },
          run = function(ctx) ctx.await(100) end })
        flow:finish "z"
        flow:finish("late", { output = function() return "late" end })
        return flow]])))
      local id = assert(engine:start "mod.one")
      assert(engine:tick())
      clock:advance(6)
      assert(engine:run { id = id })
      assert.equal("late", assert(engine:get(id)).output, level)
      engine:close()
      backend.cleanup()
    end
  end)

  it("fails the attempt that it dies in, and another begins anew", function()
    local engine, clock = with_deeds(backend)
    assert(engine:load(file([[
      ctx.vars.attempt = ctx.attempt
      if ctx.attempt == 1 then ctx.host.kill "ABRT" ctx.now() end]],
      { max = 2 })))
    local now, id = run(engine)
    assert.equal("running", now.status)
    local text = pawl.json.encode(assert(engine:history(id)))
    assert.matches("has died: signal 6", text, 1, true)
    clock:advance(2)
    engine:run { id = id }
    assert.same({ attempt = 2 }, engine:get(id).output)
    assert.equal(1, #children())
  end)

  it("says how it died where no attempt is left", function()
    local engine = with_deeds(backend)
    assert(engine:load(file "ctx.host.kill 'SYS' ctx.now()"))
    local failed = run(engine).error
    assert.equal("script", failed.code)
    assert.matches("the process that it runs in has died: signal 31",
      failed.message)
  end)

  it("is started anew where it died while nothing ran", function()
    local engine = with_deeds(backend)
    assert(engine:load(file "ctx.vars.attempt = ctx.attempt"))
    local before = children()[1]
    signal("KILL", before)
    assert(process.poll(10, function()
      return (tmp.read(("/proc/%d/stat"):format(before)) or ") Z"):find ") Z"
    end))
    assert.same({ attempt = 1 }, run(engine).output)
    assert.not_equal(before, children()[1])
  end)

  it("is killed when it overstays, whatever it does", function()
    local engine, clock = with_deeds(backend, { time = 0.05 })
    assert(engine:load(file([[
      if ctx.attempt == 1 then ctx.host.kill "STOP" ctx.now() end
      ctx.vars.attempt = ctx.attempt]], { max = 2 })))
    local before = children()[1]
    local _, id = run(engine)
    local text = pawl.json.encode(assert(engine:history(id)))
    assert.matches("time: it ran for longer than 0.05 s", text, 1, true)
    assert.is_nil(tmp.read(("/proc/%d/stat"):format(before)))
    clock:advance(2)
    engine:run { id = id }
    assert.same({ attempt = 2 }, engine:get(id).output)
  end)

  it("does not ask what nobody would read", function()
    local engine = backend.fresh { max_bytes = 1000, trust = {
      level = "isolated", may = { db = true } } }
    assert(engine:load(tmp.file("flow.lua", (FILE:format("mod.one", 1, [[
      local long = ("x"):rep(1 << 21)
      local _, err = pcall(ctx.db.query, ctx.db, "select '" .. long .. "'")
      ctx.vars.said = err.message
      ctx.vars.n = ctx.db:query("select 7 as n")[1].n]])
      :gsub("{ retry", "{ transactional = true, retry")))))
    local output = run(engine).output
    assert.matches("what is asked has 20971%d+ bytes", output.said)
    assert.equal(7, output.n)
  end)

  it("takes handlers along that wait in it", function()
    local engine, clock, deeds = with_deeds(backend)
    local gate = false
    deeds.gate = function() return gate end
    assert(engine:load(file([[
      if ctx.attempt == 1 then
        ctx.await(function() return ctx.host.deed "gate" end)
      end
      ctx.vars.attempt = ctx.attempt]], { max = 2 })))
    local id = assert(engine:start "mod.one")
    engine:tick(0.01)
    assert.equal("running", kit.status(engine, id))
    signal("KILL", children()[1])
    engine:run { id = id, timeout = 1 }
    clock:advance(2)
    engine:run { id = id }
    assert.same({ attempt = 2 }, engine:get(id).output)
    local text = pawl.json.encode(assert(engine:history(id)))
    assert.matches("has died: signal 9", text, 1, true)
  end)

  it("finds modules beside the file, and nothing else", function()
    local folder = tmp.dir()
    local function write(name, text)
      local out <close> = assert(io.open(folder .. "/" .. name, "w"))
      out:write(text)
      return folder .. "/" .. name
    end
    shell.output { "mkdir", folder .. "/more" }
    write("more/init.lua", "return { tax = 7 }")
    write("secret.lua", "return 'secret'")
    local text = [[
      local pawl = require "pawl"
      local more = require "more"
      local _, why = pcall(require, %q)
      local flow = pawl.workflow { code = "mod.one", start = "a",
        bundle = { "more" } }
      flow:step("a", { next = "z", run = function(ctx)
        ctx.vars = { tax = more.tax, why = tostring(why) } end })
      flow:finish("z", { output = function(ctx) return ctx.vars end })
      return flow]]
    local engine = backend.fresh { trust = "isolated" }
    for _, name in ipairs { "more/../secret", "..secret", "more/init", "" } do
      assert(engine:load(write("flow.lua", text:format(name))))
      local output = run(engine).output
      assert.equal(7, output.tax)
      assert.matches("is not there", output.why)
    end
  end)

  it("does not outlive a program that is killed", function()
    local script = tmp.file("host.lua", ([[
      local pawl = require "pawl"
      local engine = assert(pawl.open(":memory:", { trust = "isolated" }))
      assert(engine:load(%q))
      io.stdout:write "up\n"
      io.stdout:flush()
      io.stdin:read "a"
      while true do os.execute "sleep 1" end]]):format(file ""))
    local env = { PAWL_HELPER = build.command }
    for key, value in pairs(build.env) do env[key] = value end
    local host = process.start({ "lua5.4", script }, { env = env })
    finally(process.stop_all)
    local child = assert(process.poll(20, function()
      return children(host.pid)[1]
    end))
    host:kill "KILL"
    assert(process.poll(20, function()
      local stat = tmp.read(("/proc/%d/stat"):format(child))
      return not stat or stat:find(") Z", 1, true)
    end), "it lives on")
  end)
end)

describe("the program that isolated definitions run in", function()
  local function open(helper)
    local engine = assert(pawl.open(":memory:",
      { trust = { level = "isolated", helper = helper } }))
    finally(function() engine:close() end)
    return engine:load(file "")
  end

  it("has to be there", function()
    kit.refused("unsupported", "is not there: /nowhere/pawl", "helper",
      open "/nowhere/pawl")
  end)

  it("has to be one of ours", function()
    for _, other in ipairs { "/bin/true", "/bin/false" } do
      kit.refused("unsupported", "does not do for it", "helper", open(other))
    end
  end)
end)
