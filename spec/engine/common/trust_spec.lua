--- How far definitions are trusted: whose word counts, what is granted, what is
--- stored of it. What limits hold up is in spec/engine/hostile_spec.lua.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

local FILE <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "%s", start = "a", version = %d }
flow:step("a", { retry = { max = 1 }, %s run = function(ctx)
  %s
end, next = "z" })
flow:finish("z", { output = function(ctx) return ctx.vars end })
return flow]]

local function file(body, options)
  options = options or {}
  return tmp.file("flow.lua", FILE:format(options.code or "mod.one",
    options.version or 1, options.more or "", body))
end

local function run(engine, code, input)
  local id = assert(engine:start(code or "mod.one", input))
  engine:run { id = id }
  return assert(engine:get(id)), id
end

local SEES <const> = "ctx.vars.io = type(io)"

local function describe_level(backend, level)
  it("is full where nothing is said", function()
    local engine = backend.fresh()
    assert.equal("trusted", assert(engine:load(file(SEES))).trust)
    assert.same({ io = "table" }, run(engine).output)
  end)

  it("is the engine's for all that it loads", function()
    local engine = backend.fresh { trust = level }
    assert.equal(level, assert(engine:load(file(SEES))).trust)
    assert.same({ io = "nil" }, run(engine).output)
    assert.equal(level, engine.workflows:list()[1].trust)
    assert.equal(level, engine.workflows:get("mod.one").trust)
  end)

  it("is said of one file", function()
    local engine = backend.fresh()
    assert(engine:load(file(SEES, { code = "own.one" })))
    assert(engine:load(file(SEES), { trust = level }))
    assert.same({ io = "nil" }, run(engine).output)
    assert.same({ io = "table" }, run(engine, "own.one").output)
  end)

  it("is stored: another engine runs it with as little", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(file(SEES), { trust = level }))
    local other = kit.rival(backend, url, clock, { state = "private" })
    assert.same({ io = "nil" }, run(other).output)
  end)

  it("is at most the engine's for what comes from the store", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(file(SEES)))
    local other = kit.rival(backend, url, clock, { trust = level })
    assert.same({ io = "nil" }, run(other).output)
    assert.equal("trusted", engine.workflows:list()[1].trust)
  end)

  it("is lowered by who trusts the same file less, and not raised", function()
    local engine = backend.fresh()
    local path = file(SEES)
    assert(engine:load(path))
    assert(engine:load(path, { trust = { level = level, takes = "mod.*" } }))
    assert.equal(level, engine.workflows:list()[1].trust)
    assert(engine:load(path, { trust = "trusted" }))
    assert.equal(level, engine.workflows:list()[1].trust)
  end)

  it("stays low when a version is hot-fixed", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(file(SEES), { trust = level }))
    assert(engine.workflows:hotfix(file(SEES .. " ctx.vars.fixed = 1")))
    local other = kit.rival(backend, url, clock)
    assert.same({ io = "nil", fixed = 1 }, run(other).output)
  end)

  it("names codes that a file may define", function()
    local engine = backend.fresh {
      trust = { level = level, codes = { "mod.*", "one" } } }
    assert(engine:load(file(SEES)))
    assert(engine:load(file(SEES, { code = "one" })))
    kit.refused("limit", "none of the codes", "trust, codes",
      engine:load(file(SEES, { code = "own.one" })))
  end)

  it("grants what is started", function()
    local engine = backend.fresh {
      trust = { level = level, may = { start = "mod.*" } } }
    assert(engine:load(file(SEES)))
    assert(engine:load(file("ctx.start 'mod.one'", { code = "mod.two" })))
    assert(engine:load(file("ctx.start 'own.one'", { code = "mod.bad" })))
    assert.equal("completed", run(engine, "mod.two").status)
    local refused = run(engine, "mod.bad")
    assert.equal("limit", refused.error.code)
    assert.matches("ctx.start is not granted", refused.error.message)
  end)

  it("grants events that are sent, by their names", function()
    local engine = backend.fresh {
      trust = { level = level, may = { signal = { "mod.*", "duel" } } } }
    assert(engine:load(tmp.file("hears.lua", [[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "mod.hears", start = "w" }
      flow:wait("w", { event = "*", into = "heard",
        key = function(ctx) return ctx.input.key end, next = "z" })
      flow:finish("z", { output = function(ctx) return ctx.vars end })
      return flow]]), { trust = "trusted" }))
    local function send(name, code)
      assert(engine:load(file(("ctx.signal { name = %q, key = %q, data = 7 }")
        :format(name, name), { code = code })))
      local hears = assert(engine:start("mod.hears", { key = name }))
      engine:run { id = hears }
      local sent = run(engine, code)
      engine:run { id = hears }
      return sent, assert(engine:get(hears))
    end
    local sent, heard = send("duel", "mod.sends")
    assert.equal("completed", sent.status)
    assert.same({ heard = 7 }, heard.output)
    sent, heard = send("game", "mod.bad")
    assert.equal("limit", sent.error.code)
    assert.matches("ctx.signal is not granted to workflow mod.bad",
      sent.error.message, 1, true)
    assert.matches('may.signal = "game"', sent.error.hint, 1, true)
    assert.equal("waiting", heard.status)
  end)

  it("grants events that tasks raise", function()
    local engine = backend.fresh {
      trust = { level = level, may = { signal = "mod.*" } } }
    local function task(signal)
      return engine:load(tmp.file("task.lua", ([[
        local pawl = require "pawl"
        local flow = pawl.workflow { code = "mod.asks", start = "a",
          version = "auto" }
        flow:task("a", { title = "A", signal = "%s", next = "z" }):finish "z"
        return flow]]):format(signal)))
    end
    assert(task "mod.done")
    kit.refused("limit", "may not send the event game.won, which task \"a\"",
      "may.signal", task "game.won")
  end)

  it("grants events that are escalated, by their names", function()
    local engine = backend.fresh {
      trust = { level = level, may = { signal = "mod.*" } } }
    local function tells(code, event, node)
      return engine:load(tmp.file("tells.lua", ([[
        local pawl = require "pawl"
        local flow = pawl.workflow { code = %q, start = "a" }
        flow:step("a", { run = function(ctx) ctx.escalate(%q, 7) end,
          next = "b", on_event = { event = %q, next = "c", into = "n" } })
        flow:escalate("b", { event = %q, next = "c",
          data = function() return 1 end })
        flow:finish("c", { output = function(ctx) return ctx.vars.n end })
        return flow]]):format(code, event, event, node)))
    end
    assert(tells("mod.one", "mod.low", "mod.out"))
    assert.equal(7, run(engine, "mod.one").output)
    assert(tells("mod.two", "game.low", "mod.out"))
    assert.matches("ctx.escalate is not granted to workflow mod.two",
      run(engine, "mod.two").error.message, 1, true)
    kit.refused("limit", 'may not send the event game.out, which "b"',
      "may.signal", tells("mod.bad", "mod.low", "game.out"))
  end)

  it("grants functions of the program", function()
    local engine = backend.fresh {
      host = { spawn = function(n) return n + 1 end, ban = function() end },
      trust = { level = level, may = { host = "spawn" } } }
    assert(engine:load(file "ctx.vars.n = ctx.host.spawn(6)"))
    assert(engine:load(file("ctx.host.ban(1)", { code = "mod.two" })))
    assert.same({ n = 7 }, run(engine).output)
    local refused = run(engine, "mod.two").error
    assert.equal("limit", refused.code)
    assert.matches("ctx.host.ban is not granted", refused.message)
  end)

  it("names the function of the program that fails", function()
    local engine = backend.fresh {
      host = { spawn = function() error { code = "full", message = "" } end },
      trust = { level = level, may = { host = "spawn" } } }
    assert(engine:load(file "ctx.host.spawn(6)"))
    local failed = run(engine).error
    assert.equal("full", failed.code)
    assert.matches("ctx.host.spawn", failed.message)
  end)

  it("grants the database", function()
    local body = "ctx.vars.n = ctx.db:query('select 7 as n')[1].n"
    local more = { more = "transactional = true," }
    local engine = backend.fresh {
      trust = { level = level, may = { db = true } } }
    assert(engine:load(file(body, more)))
    assert.same({ n = 7 }, run(engine).output)
    assert(engine:load(file(body, { more = more.more, code = "mod.none" }),
      { trust = level }))
    assert.equal("limit", run(engine, "mod.none").error.code)
  end)

  it("logs lines of 64 KB at most, with fields as long as values", function()
    local seen = {}
    local engine = backend.fresh { trust = level, log = function(_, text, more)
      seen[#seen + 1] = #text + #(more.fields and more.fields.s or "")
    end }
    assert(engine:load(file [[
      local line = ("x"):rep(65537)
      ctx.log("info", line:sub(2), { s = line .. line })
      local ok, err = pcall(ctx.log, "info", line)
      ctx.vars.said = tostring(err)]]))
    assert.matches("the message has 65537 bytes, 65536 are the most",
      run(engine).output.said, 1, true)
  end)

  it("grants waiting, and counts what is run in between", function()
    local engine = backend.fresh {
      trust = { level = level, may = { await = true } } }
    assert(engine:load(file [[
      for i = 1, 3 do ctx.await(0) ctx.vars.n = i end]]))
    assert.same({ n = 3 }, run(engine).output)
    assert(engine:load(file([[
      while true do ctx.await(0) for _ = 1, 100000 do end end]],
      { code = "mod.two" }),
      { trust = { level = level, may = { await = true }, time = 60 } }))
    local ended = run(engine, "mod.two")
    assert.matches("^instructions", ended.error.message)
  end)

  it("makes a state anew once a limit was met", function()
    local engine = backend.fresh { trust = { level = level, time = 60 } }
    assert(engine:load(file [[
      ctx.vars.kept = kept or "nothing"
      kept = "all"
      if ctx.input.loop then while true do end end]]))
    assert.same({ kept = "nothing" }, run(engine).output)
    assert.same({ kept = "all" }, run(engine).output)
    assert.equal("failed", run(engine, nil, { loop = true }).status)
    assert.same({ kept = "nothing" }, run(engine).output)
  end)

  it("tries again what was over its time: the machine may be busy", function()
    local engine, clock = backend.fresh {
      trust = { level = level, time = 0.02, instructions = 1000000000000 } }
    assert(engine:load(tmp.file("flow.lua", [[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "mod.one", start = "a" }
      flow:step("a", { retry = { max = 2, base = 1 }, run = function(ctx)
        if ctx.attempt == 1 then while true do end end
        ctx.vars.attempt = ctx.attempt
      end, next = "z" })
      flow:finish("z", { output = function(ctx) return ctx.vars end })
      return flow]])))
    local now, id = run(engine)
    assert.not_equal("failed", now.status)
    clock:advance(10)
    engine:run { id = id }
    assert.same({ attempt = 2 }, engine:get(id).output)
  end)

  it("has attempts and rounds bounded", function()
    local engine, clock = backend.fresh { trust = level }
    assert(engine:load(tmp.file("flow.lua", [[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "mod.one", start = "a" }
      flow:step("a", { retry = { max = 1000000, base = 0, cap = 0, jitter = 0 },
        run = function() error "again" end, next = "z" }):finish "z"
      return flow]])))
    local _, id = run(engine)
    for _ = 1, 30 do
      clock:advance(1)
      engine:run { id = id }
    end
    assert.failed(engine, id)
    assert(engine:load(tmp.file("round.lua", [[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "mod.two", start = "a" }
      flow:step("a", { run = function() return "more" end,
        next = { more = "a", out = "z" } }):finish "z"
      return flow]])))
    assert.equal("suspended", run(engine, "mod.two").status)
  end)

  it("bounds the variables of an instance", function()
    local engine = backend.fresh { trust = { level = level,
      per_instance = { variables = 3, bytes = 40 } } }
    assert(engine:load(file [[
      for i = 1, ctx.input.n do ctx.vars["v" .. i] = 1 end]]))
    assert.equal("completed", run(engine, nil, { n = 3 }).status)
    local refused = run(engine, nil, { n = 4 })
    assert.equal("limit", refused.error.code)
    assert.matches("^variables: the instance would have 4; 3 are the most",
      refused.error.message)
    assert.same({}, refused.variables)
    -- by a step's own hand, and by `into`
    assert(engine:load(file("ctx.vars.v = ('x'):rep(40)",
      { code = "mod.two" })))
    refused = run(engine, "mod.two")
    assert.matches("^bytes: the instance would have 48; 40 are the most",
      refused.error.message)
    assert.matches("per_instance", refused.error.hint)
    assert(engine:load(tmp.file("waits.lua", [[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "mod.waits", start = "w" }
      flow:wait("w", { event = "go", into = "got", next = "z" }):finish "z"
      return flow]])))
    for n, status in pairs { [31] = "completed", [32] = "failed" } do
      local id = assert(engine:start "mod.waits")
      engine:run { id = id }
      assert(engine:signal { name = "go", instance = id,
        data = ("x"):rep(n - 1) })
      engine:run { id = id }
      assert.equal(status, kit.status(engine, id))
    end
  end)

  it("bounds the tokens of an instance", function()
    local engine = backend.fresh { trust = { level = level,
      per_instance = { tokens = 3 } } }
    assert(engine:load(tmp.file("fork.lua", [[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "mod.forks", start = "a" }
      flow:fork("a", { next = { x = "t", y = "t", z = "t" } })
      flow:timer("t", { after = 1, next = "j" })
      flow:join("j", { next = "z" })
      flow:finish "z"
      return flow]])))
    assert(engine:load(tmp.file("each.lua", [[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "mod.each", start = "a" }
      flow:each("a", { branch = "t", next = "z", items = function(ctx)
        local t = {}
        for i = 1, ctx.input.n do t[i] = i end
        return t
      end })
      flow:timer("t", { after = 1, next = "a" })
      flow:finish "z"
      return flow]])))
    assert.equal("waiting", run(engine, "mod.forks").status)
    assert.equal("waiting", run(engine, "mod.each", { n = 2 }).status)
    local refused = run(engine, "mod.each", { n = 3 })
    assert.equal("limit", refused.error.code)
    assert.matches("^tokens: the instance would have 4; 3 are the most",
      refused.error.message)
    assert(engine:load(tmp.file("fork.lua", [[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "mod.nested", start = "a" }
      local function two() return { 1, 2 } end
      flow:each("a", { items = two, branch = "b", next = "z" })
      flow:each("b", { items = two, branch = "t", next = "a" })
      flow:timer("t", { after = 1, next = "b" })
      flow:finish "z"
      return flow]])))
    refused = run(engine, "mod.nested")
    assert.equal("failed", refused.status)
    assert.matches("^tokens", refused.error.message)
  end)

  it("runs modules of a bundle, and no others", function()
    local folder = tmp.dir()
    local function write(name, text)
      local out <close> = assert(io.open(folder .. "/" .. name, "w"))
      out:write(text)
    end
    write("rates.lua", "return { tax = 7, io = type(io) }")
    local text = [[
      local pawl = require "pawl"
      local rates = require "rates"
      local flow = pawl.workflow { code = "mod.one", start = "a" %s }
      flow:step("a", { run = function(ctx) ctx.vars = rates end, next = "z" })
      flow:finish("z", { output = function(ctx) return ctx.vars end })
      return flow]]
    write("good.lua", text:format ', bundle = { "rates" }')
    write("bad.lua", text:format "")
    local engine, clock, url = backend.fresh { trust = level }
    assert(engine:load(folder .. "/good.lua"))
    assert.same({ tax = 7, io = "nil" }, run(engine).output)
    local other = kit.rival(backend, url, clock)
    assert.same({ tax = 7, io = "nil" }, run(other).output)
    kit.refused("definition", "'rates' is not in the workflow's bundle",
      "bundle =", engine:load(folder .. "/bad.lua"))
  end)

  it("is not had by an object of the program's own state", function()
    local engine = backend.fresh { trust = level }
    kit.refused("invalid", "own Lua state", "load its file",
      engine:load(kit.one()))
    local trusting = backend.fresh()
    assert.has_error(function()
      trusting:load(kit.one(), { trust = level })
    end, "load: a workflow object runs in this program's own state, and "
      .. "cannot be limited: load its file")
  end)
end

-- What isolated definitions do in a process of their own is the same.
for _, level in ipairs { "limited", "isolated" } do
  kit.describe(level .. " trust", function(backend)
    describe_level(backend, level)
  end)
end

describe("a trust that there is not", function()
  it("is refused by its name", function()
    kit.refused("invalid", 'no trust "some"', "limited",
      pawl.open(":memory:", { trust = "some" }))
    kit.refused("invalid", 'no trust ""', "limited", -- a variable not set
      pawl.open(":memory:", { trust = "" }))
    kit.refused("invalid", "memory", nil,
      pawl.open(":memory:", { trust = { memory = 10 } }))
    kit.refused("invalid", "no code", "mod",
      pawl.open(":memory:", { trust = { codes = "mod.*.x" } }))
    kit.refused("invalid", "spell", nil,
      pawl.open(":memory:", { trust = { may = { spell = true } } }))
    assert.error_matches(function()
      pawl.open(":memory:", { trust = { level = "some" } })
    end, "level")
  end)
end)
