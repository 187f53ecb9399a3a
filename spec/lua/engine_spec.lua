-- The Lua face of the engine: what its methods take, return and raise. What
-- workflows do is in spec/engine.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local testing = require "pawl.testing"
local tmp = require "spec.support.tmp"

local function one_step(code, run)
  local flow = pawl.workflow { code = code or "t.one", start = "a" }
  flow:step("a", { run = run or function() end, next = "z" })
  flow:finish("z", { output = function(ctx) return ctx.vars end })
  return flow
end

local function with_timer()
  local flow = pawl.workflow { code = "t.timer", start = "t" }
  flow:timer("t", { after = "2h", next = "z" })
  flow:finish("z")
  return flow
end

--- What `fn` raises, as text.
local function raised(fn, ...)
  local ok, err = pcall(fn, ...)
  assert.is_false(ok, "nothing was raised")
  return tostring(err)
end

describe("pawl", function()
  it("is whole when it is loaded from files: they may be out of reach later",
    function()
      local lua = ([[
        package.path, package.cpath = %q, %q
        local pawl = require "pawl"
        package.path, package.cpath = "", ""
        print(pawl.open, pawl.workflow, pawl.decimal "1.5")
        print(pcall(function() return pawl.opne end))
      ]]):format(package.path, package.cpath)
      local pipe = assert(io.popen(("lua5.4 %s 2>&1"):format(
        tmp.file("whole.lua", lua))))
      local out = pipe:read "a"
      pipe:close()
      assert.matches("^function: [^\n]*\tfunction: [^\n]*\t", out)
      assert.matches("did you mean 'open'", out)
    end)
end)

describe("pawl.open", function()
  it("names an unknown option and the nearest known one", function()
    assert.matches("unknown option 'recoverys'.*'recoveries'",
      raised(pawl.open, ":memory:", { recoverys = 3 }))
  end)

  it("does not cut a name at a zero byte", function()
    local path = tmp.path "cut"
    assert.matches("bad argument #1 to 'open' %(it has a zero byte%)",
      raised(pawl.open, path .. "\0.db"))
    assert.matches("bad argument #1 to 'migrate' %(it has a zero byte%)",
      raised(pawl.migrate, path .. "\0.db"))
    assert.matches("bad argument #1 to 'migrate' %(string expected, got number",
      raised(pawl.migrate, 42))
    local engine <close> = assert(pawl.open ":memory:")
    for _, name in ipairs { "load", "check" } do
      assert.matches("bad argument #1 to '" .. name .. "' %(it has a zero byte",
        raised(engine[name], engine, path .. "\0.lua"))
    end
    assert.matches("option 'group' has a zero byte",
      raised(pawl.open, ":memory:", { group = "a\0b" }))
    assert.is_nil(io.open(path))
    assert.is_nil(io.open "42")
  end)

  it("names an option of the wrong type", function()
    assert.matches("'batch' must be an integer above 0, got string",
      raised(pawl.open, ":memory:", { batch = {} }):gsub("table", "string"))
    assert.matches("'lease' must be seconds or words",
      raised(pawl.open, ":memory:", { lease = "soon" }))
    assert.matches("'unknown' must be \"defer\" or \"fail\"",
      raised(pawl.open, ":memory:", { unknown = "maybe" }))
    assert.matches("bad argument #1 to 'open'", raised(pawl.open, {}))
  end)

  it("blames the line that called", function()
    assert.matches("engine_spec.lua:%d+:",
      raised(function() pawl.open(":memory:", { nope = 1 }) end))
  end)

  it("takes every option there is", function()
    local engine <close> = assert(pawl.open(":memory:", {
      clock = testing.clock(), log = print, trace = function() end,
      group = "g", prefixes = { "a.", "b." }, lease = "40s", heartbeat = 5,
      max_bytes = 1000, batch = 2, recoveries = 1, shards = 1,
      pooler = false, create = true, stored_code = "own", unknown = "defer",
      state = "private",
    }))
    assert.is_truthy(engine)
  end)

  it("returns what the store says", function()
    local engine, err = pawl.open(tmp.path "dir" .. "/no/such/pawl.db")
    assert.is_nil(engine)
    assert.is_string(err.code)
    assert.is_true(#err.message > 0)
    assert.equal(1, select(2, tostring(err):gsub("[^\n]+", "")))
    assert.matches("^" .. err.code .. ": ", tostring(err))
  end)

  it("does not make a store when it must not", function()
    local path = tmp.path "pawl.db"
    local engine, err = pawl.open(path, { create = false })
    assert.is_nil(engine)
    assert.is_string(err.code)
    assert.is_nil(tmp.read(path))
  end)

  it("wants a clock that tells the time", function()
    assert.matches("clock", raised(pawl.open, ":memory:",
      { clock = function() return "noon" end }))
  end)
end)

describe("pawl.migrate", function()
  it("does not pretend to change the number of shards", function()
    local path = tmp.path "pawl.db"
    assert.equal(2, assert(pawl.migrate(path, { shards = 2 })).shards)
    assert.equal(2, assert(pawl.migrate(path)).shards)
    assert.equal(2, assert(pawl.migrate(path, { shards = 2 })).shards)
    local report, err = pawl.migrate(path, { shards = 3 })
    assert.is_nil(report)
    assert.equal("invalid", err.code)
    assert.equal("the store has 2 shards, not 3", err.message)
    assert.matches("'shards' must be an integer from 1 to 32767",
      raised(pawl.migrate, path, { shards = 40000 }))
  end)
end)

describe("the module", function()
  it("has no function that is not there", function()
    assert.matches("engine_spec.lua:%d+: pawl has no 'opn' %(did you mean "
      .. "'open'%?%)", raised(function() return pawl.opn end))
  end)
end)

describe("an engine", function()
  it("says what it is", function()
    local engine = assert(testing.open())
    assert.matches("^pawl.engine: ", tostring(engine))
    assert.equal("pawl.engine", getmetatable(engine).__name)
    engine:close()
    assert.equal("pawl.engine (closed)", tostring(engine))
  end)

  it("may be closed twice, and raises when used after", function()
    local engine = assert(testing.open())
    engine:close()
    engine:close()
    for _, name in ipairs { "tick", "now", "count", "list", "run" } do
      assert.matches("the engine is closed", raised(engine[name], engine))
    end
  end)

  it("is closed at the end of its block", function()
    local kept
    do
      local engine <close> = assert(testing.open())
      kept = engine
    end
    assert.equal("pawl.engine (closed)", tostring(kept))
  end)

  it("is collected with callbacks that refer to it", function()
    local weak = setmetatable({}, { __mode = "k" })
    do
      local engine
      engine = assert(pawl.open(":memory:", {
        clock = testing.clock(), trace = function() return engine end,
      }))
      weak[engine] = true
    end
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(weak))
  end)

  it("names the argument that is wrong", function()
    local engine <close> = assert(testing.open())
    assert.matches("#1 to 'start'", raised(function() engine:start(7) end))
    assert.matches("#1 to 'load' %(path or workflow expected, got number%)",
      raised(function() engine:load(7) end))
    assert.matches("#1 to 'tick' %(number expected, got string%)",
      raised(function() engine:tick "soon" end))
    assert.matches("#1 to 'tick' %(seconds, 0 or more",
      raised(function() engine:tick(-1) end))
    assert.matches("#1 to 'get'", raised(function() engine:get() end))
    assert.matches("unknown option 'dealy'.*'delay'",
      raised(engine.start, engine, "t.one", nil, { dealy = 1 }))
    assert.matches("exclude each other",
      raised(engine.start, engine, "t.one", nil, { delay = 1, at = 1 }))
    assert.matches("unknown option 'state'",
      raised(engine.list, engine, { state = "failed" }))
    assert.matches("unknown option 'reson'.*'reason'",
      raised(engine.cancel, engine, "0123", { reson = "x" }))
  end)

  it("names method and argument however it is called", function()
    local engine <close> = assert(testing.open())
    for name, words in pairs {
      get = { 1, "string" }, history = { 1, "string" },
      cancel = { 1, "string" }, find = { 1, "string" },
      check = { 1, "string" }, load = { 1, "path or workflow" },
      tick_instance = { 1, "string" }, wait = { 1, "number" },
      tick = { 1, "number" },
    } do
      local expected = ("bad argument #%d to '%s' (%s expected, got boolean)")
        :format(words[1], name, words[2])
      assert.matches(expected, raised(engine[name], engine, true), 1, true)
    end
    assert.matches("bad argument #2 to 'get' (\"table\" or", raised(engine.get,
      engine, "0123", "xml"), 1, true)
    assert.matches("bad argument #1 to 'workflows:graph' (string expected",
      raised(engine.workflows.graph, engine.workflows, true), 1, true)
    assert.matches("calling 'tick' on a number: write engine:tick",
      raised(engine.tick, 1), 1, true)
    assert.matches("engine_spec.lua:%d+: bad argument #1 to 'get'",
      raised(function() engine:get {} end))
  end)

  it("has no method that is not there", function()
    local engine <close> = assert(testing.open())
    local text = raised(function() return engine.strat end)
    assert.matches("engine_spec.lua:%d+: an engine has no 'strat' %(did you "
      .. "mean 'start'%?%)", text)
  end)

  it("returns nil and an error for what is not there", function()
    local engine <close> = assert(testing.open())
    local id, err = engine:start("no.such", nil, { version = 2 })
    assert.is_nil(id)
    assert.equal("notfound", err.code)
    for _, method in ipairs { "get", "history", "cancel" } do
      local result
      result, err = engine[method](engine,
        "019aa1f2-0000-7000-8000-000000000000")
      assert.is_nil(result)
      assert.equal("notfound", err.code)
    end
    id, err = engine:find "019aa1f2"
    assert.is_nil(id)
    assert.equal("notfound", err.code)
  end)

  it("runs a workflow built here, closures and all", function()
    local engine <close> = assert(testing.open())
    local seen
    local info = assert(engine:load(one_step("t.one", function(ctx)
      seen = ctx.input.n
      ctx.vars.n = seen + 1
    end)))
    assert.equal("t.one", info.workflow)
    assert.equal(1, info.version)
    local id, created = assert(engine:start("t.one", { n = 41 }))
    assert.is_true(created)
    local totals = assert(engine:run())
    assert.equal(1, totals.steps)
    assert.equal(1, totals.ended)
    assert.equal(41, seen)
    local instance = assert(engine:get(id))
    assert.equal("completed", instance.status)
    assert.same({ n = 42 }, instance.output)
    assert.equal("integer", math.type(instance.output.n))
  end)

  it("works from a coroutine", function()
    local engine <close> = assert(testing.open())
    local status = coroutine.wrap(function()
      assert(engine:load(one_step()))
      local id = assert(engine:start "t.one")
      assert(engine:run())
      return engine:get(id).status
    end)()
    assert.equal("completed", status)
  end)

  it("starts once for one key", function()
    local engine <close> = assert(testing.open())
    assert(engine:load(one_step()))
    local id, created = assert(engine:start("t.one", {}, { key = "k" }))
    local again, created_again = assert(engine:start("t.one", {},
      { key = "k" }))
    assert.equal(id, again)
    assert.is_true(created)
    assert.is_false(created_again)
  end)

  it("refuses an attribute it cannot keep", function()
    local engine <close> = assert(testing.open())
    assert(engine:load(one_step()))
    assert.matches("attribute 'f'.*function", raised(engine.start, engine,
      "t.one", nil, { attributes = { f = print } }))
  end)

  it("says where a value is that cannot be stored", function()
    local engine <close> = assert(testing.open())
    assert(engine:load(one_step()))
    local id, err = engine:start("t.one", { items = { { cb = print } } })
    assert.is_nil(id)
    assert.equal("value", err.code)
    assert.equal("input.items[1].cb", err.where)
    assert.matches("^value: input%.items%[1%]%.cb: ", tostring(err))
    assert.equal(0, #assert(engine:list()))
  end)

  it("tells when to look again, in seconds", function()
    local engine <close>, clock = assert(testing.open())
    assert(engine:load(with_timer()))
    assert.is_nil(engine:next_due())
    local id = assert(engine:start "t.timer")
    local stats = assert(engine:tick(1))
    assert.equal(clock:now() + 7200, stats.next_due)
    assert.equal("later", (engine:tick_instance(id)))
    clock:advance(7199.999999)
    assert.equal("later", (engine:tick_instance(id)))
    clock:advance(0.000001)
    assert.equal("done", (engine:tick_instance(id, 1)))
    assert.is_nil(engine:next_due())
  end)

  it("runs one instance alone", function()
    local engine <close> = assert(testing.open())
    assert(engine:load(one_step()))
    local first = assert(engine:start "t.one")
    local second = assert(engine:start "t.one")
    assert.equal("completed", assert(engine:run { id = second }).status)
    assert.equal("created", assert(engine:get(first)).status)
  end)

  it("gives up waiting in time", function()
    local engine <close> = assert(pawl.open ":memory:")
    assert(engine:load(with_timer()))
    local id = assert(engine:start "t.timer")
    local instance, err = engine:run { id = id, wait = true, timeout = 0.05 }
    assert.is_nil(instance)
    assert.equal("timeout", err.code)
    assert.matches(id, err.message, 1, true)
  end)

  it("waits for timers when told to", function()
    local engine <close> = assert(pawl.open ":memory:")
    local flow = pawl.workflow { code = "t.short", start = "t" }
    flow:timer("t", { after = "50ms", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.short")
    local instance = assert(engine:run { id = id, wait = true,
      timeout = "10s" })
    assert.equal("completed", instance.status)
  end)

  it("cancels with a reason", function()
    local engine <close> = assert(testing.open())
    assert(engine:load(with_timer()))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    local ok, done = assert(engine:cancel(id, { reason = "no", by = "me" }))
    assert.is_true(ok)
    assert.is_true(done)
    assert.equal("cancelled", engine:get(id).status)
    local again, err = engine:cancel(id, "twice")
    assert.is_nil(again)
    assert.equal("already_finished", err.code)
  end)

  it("finds a shortened id", function()
    local engine <close> = assert(testing.open())
    assert(engine:load(one_step()))
    local id = assert(engine:start "t.one")
    assert.equal(id, assert(engine:find(id:sub(1, 13))))
    assert.equal(id, assert(engine:get(id:sub(1, 13))).id)
  end)

  it("counts what it asked of the store", function()
    local engine <close> = assert(testing.open())
    local before = engine:count()
    assert(engine:load(one_step()))
    assert(engine:start "t.one")
    local after = engine:count()
    assert.is_true(after.transactions > before.transactions)
    assert.is_true(after.statements > before.statements)
    assert.equal("integer", math.type(after.trips))
  end)
end)

describe("an engine's own handlers", function()
  local function misuse(call)
    local engine <close> = assert(testing.open())
    local caught
    assert(engine:load(one_step("t.one", function(ctx)
      local ok, err = pcall(call, engine, ctx)
      caught = not ok and err or "nothing was raised"
    end)))
    assert(engine:start "t.one")
    assert(engine:run())
    return caught
  end

  it("may not call it", function()
    for _, call in ipairs {
      function(engine) engine:tick() end,
      function(engine) engine:start "t.one" end,
      function(engine, ctx) engine:get(ctx.id) end,
      function(engine) engine:list() end,
      function(engine) engine:close() end,
    } do
      local err = misuse(call)
      assert.equal("misuse", err.code)
      assert.matches("inside", err.message)
    end
  end)

  it("may ask it for the time", function()
    local seen = misuse(function(engine) error { now = engine:now() } end)
    assert.equal(1767225600, seen.now)
  end)

  it("may call another engine", function()
    local other <close> = assert(testing.open())
    assert(other:load(one_step "t.other"))
    local seen = misuse(function()
      error { id = assert(other:start "t.other") }
    end)
    assert.is_string(seen.id)
  end)
end)

describe("callbacks", function()
  it("trace the time that passed, while a handler waited too", function()
    local seen = {}
    local engine <close> = assert(pawl.open(":memory:", {
      trace = function(t) seen[#seen + 1] = t end,
    }))
    assert(engine:load(one_step("t.one", function(ctx) ctx.await(0.05) end)))
    local id = assert(engine:start "t.one")
    assert.equal("completed",
      assert(engine:run { id = id, wait = true }).status)
    assert.equal("done", seen[2].outcome)
    assert.is_true(seen[2].elapsed >= 0.05, seen[2].elapsed)
  end)

  it("trace why a choice failed", function()
    local seen = {}
    local engine <close> = assert(testing.open {
      trace = function(t) seen[#seen + 1] = t end,
    })
    local flow = pawl.workflow { code = "t.choice", start = "a" }
    flow:choice("a", { next = { yes = "z", no = "z" },
      choose = function() error "the scales are broken" end })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:start "t.choice")
    assert(engine:run())
    assert.equal(1, #seen)
    assert.same({ "a", "choice", "retry" },
      { seen[1].node, seen[1].kind, seen[1].outcome })
    assert.matches("the scales are broken", seen[1].detail)
  end)

  it("receive what handlers log", function()
    local seen
    local engine <close> = assert(testing.open {
      log = function(level, message, fields)
        if message == "hi" then seen = { level, fields } end
      end,
    })
    assert(engine:load(one_step("t.one", function(ctx)
      ctx.log("warn", "hi", { n = 1 })
    end)))
    assert(engine:start "t.one")
    assert(engine:run())
    assert.equal("warn", seen[1])
    assert.equal(1, seen[2].fields.n)
  end)

  it("that raise change nothing", function()
    local engine <close> = assert(testing.open {
      log = function() error "log" end,
      trace = function() error "trace" end,
    })
    assert(engine:load(one_step()))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.equal("completed", engine:get(id).status)
  end)

  it("may ask for the time, within one another", function()
    local engine, at
    engine = assert(testing.open {
      trace = function() at = engine:now() end,
    })
    assert(engine:load(one_step()))
    assert(engine:start "t.one")
    assert(engine:run())
    assert.equal(1767225600, at)
    engine:close()
  end)

  it("may not call the engine", function()
    local engine, err
    engine = assert(testing.open {
      trace = function() err = select(2, pcall(engine.tick, engine)) end,
    })
    assert(engine:load(one_step()))
    assert(engine:start "t.one")
    assert(engine:run())
    assert.equal("misuse", err.code)
    engine:close()
  end)

  it("leave time standing when the clock breaks", function()
    local broken = false
    local clock = testing.clock()
    local engine <close> = assert(pawl.open(":memory:", {
      clock = function()
        if broken then error "no time" end
        return clock()
      end,
    }))
    clock:advance(5)
    local now = engine:now()
    broken = true
    assert.equal(now, engine:now())
    clock:advance(5)
    broken = false
    assert.equal(now + 5, engine:now())
  end)
end)

describe("the virtual clock", function()
  it("counts whole microseconds", function()
    local clock = testing.clock(0)
    for _ = 1, 1000 do clock:advance(0.1) end
    assert.equal(100.0, clock:now())
    assert.equal(100.0, clock())
  end)

  it("understands words", function()
    local clock = testing.clock(0)
    assert.equal(5400, clock:advance "1h30m")
  end)

  it("does not go back", function()
    local clock = testing.clock(0)
    assert.matches("advance", raised(clock.advance, clock, -1))
    assert.matches("'noon' is not a time", raised(testing.clock, "noon"))
  end)
end)

describe("a handler", function()
  it("may be a busted spy", function()
    local engine <close> = assert(pawl.open(":memory:"))
    local watched = spy.new(function(ctx) ctx.vars.seen = true end)
    assert(engine:load(one_step("t.spy", watched)))
    local id = assert(engine:start "t.spy")
    assert(engine:run())
    assert.spy(watched).was.called(1)
    assert.same({ seen = true }, assert(engine:get(id)).output)
  end)

  it("of a private state cannot end the program", function()
    local path = tmp.file("exit.lua", [[
      local flow = require "pawl".workflow { code = "t.exit", start = "a" }
      flow:step("a", { run = function() os.exit(true) end, next = "z" })
      return flow:finish("z")
    ]])
    local engine <close> = assert(pawl.open(":memory:",
      { state = "private" }))
    assert(engine:load(path))
    local id = assert(engine:start "t.exit")
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.matches("os.exit", instance.error.message, 1, true)
    assert.equal(1, #assert(engine:history(id))) -- not tried again
  end)
end)

describe("pawl.json", function()
  it("keeps integers and floats apart", function()
    assert.equal("[1,1.0,-0.0,9007199254740993]",
      pawl.json.encode { 1, 1.0, -0.0, 9007199254740993 })
    local back = pawl.json.decode "[1,1.0]"
    assert.equal("integer", math.type(back[1]))
    assert.equal("float", math.type(back[2]))
  end)

  it("keeps null and empty arrays", function()
    assert.equal('{"a":[],"n":null}',
      pawl.json.encode { a = pawl.array(), n = pawl.null })
    local back = pawl.json.decode '{"a":[],"n":null}'
    assert.equal(pawl.null, back.n)
    assert.equal('{"a":[],"n":null}', pawl.json.encode(back))
  end)

  it("says what is wrong, and where", function()
    local text, err = pawl.json.encode { a = { print } }
    assert.is_nil(text)
    assert.equal("value", err.code)
    assert.equal("value.a[1]", err.where)
    local value
    value, err = pawl.json.decode "{"
    assert.is_nil(value)
    assert.equal("value", err.code)
  end)
end)

describe("a noun", function()
  local engine
  setup(function() engine = assert(pawl.open ":memory:") end)
  teardown(function() engine:close() end)

  --- The line on which `fn` calls is its own second one.
  local function blames(fn)
    local line = debug.getinfo(fn, "S").linedefined + 1
    local text = raised(fn)
    assert.equal(("engine_spec.lua:%d"):format(line),
      text:match "engine_spec%.lua:%d+", text)
    return text
  end

  it("blames the line that calls it", function()
    blames(function()
      local _ = engine.tasks:get()
    end)
    blames(function()
      local _ = engine.tasks:find(true)
    end)
    blames(function()
      local _ = engine.tasks:get("abcd", "text")
    end)
    blames(function()
      local _ = engine.workflows:graph("t.one", "two")
    end)
    blames(function()
      local _ = engine.workflows:hotfix()
    end)
    blames(function()
      local _ = engine.tasks:claim "abcd\0"
    end)
    blames(function()
      local _ = engine:history "abcd\0"
    end)
  end)

  it("says how it is called, in words that are Lua", function()
    for _, case in ipairs {
      { "tasks", "find" }, { "tasks", "claim" }, { "outbox", "list" },
      { "outbox", "relay" },
      { "workflows", "suspend" },
    } do
      local name, method = case[1], case[2]
      assert.matches(("write engine.%s:%s(...)"):format(name, method),
        blames(function()
          local _ = engine[name][method]("x")
        end), 1, true)
      assert.matches(("write engine.%s:%s(...)"):format(name, method),
        blames(function()
          local _ = engine[name][method]()
        end), 1, true)
    end
    for _, method in ipairs { "find", "list", "explain" } do
      assert.matches(("write engine:%s(...)"):format(method),
        blames(function()
          local _ = engine[method] "x"
        end), 1, true)
    end
  end)

  it("is no method, as it once was", function()
    for _, name in ipairs { "tasks", "outbox", "workflows" } do
      assert.matches(("engine.%s is no function: write engine.%s:list"):format(
        name, name), blames(function()
          local _ = engine[name](engine, {})
        end), 1, true)
    end
  end)
end)

describe("pawl.date", function()
  it("refuses what no calendar has", function()
    for _, seconds in ipairs { math.mininteger, math.maxinteger, 1 / 0, -1 / 0,
      0 / 0, 253402300800, -1e300 } do
      assert.matches("is not a time", raised(pawl.date, seconds))
    end
  end)
end)

-- What the record must hold, on each store.
kit.describe("the engine in Lua", function(backend)
  it("passes start's options on", function()
    local engine, clock = backend.fresh()
    assert(engine:load(one_step()))
    local id = assert(engine:start("t.one", nil, {
      delay = "10m", tenant = "acme", correlation = "c1",
      business_key = "b1", metadata = { by = "spec" }, priority = 3,
      attributes = { s = "x", i = 1, f = 1.0, b = true,
        d = pawl.decimal "1.50", t = pawl.date "2026-01-31",
        bin = pawl.binary "\0\255" },
    }))
    assert.equal(0, engine:run().steps)
    local due = assert(engine:next_due())
    assert.equal(600, due - clock:now())
    local found = assert(engine:list { tenant = "acme", correlation = "c1",
      business_key = "b1", status = { "created", "running" } })
    assert.equal(id, found[1].id)
    local shown = assert(engine:get(id))
    assert.same({ by = "spec" }, shown.metadata)
    assert.equal(3, shown.priority)
    clock:jump "10m"
    assert.equal(1, engine:run().steps)
  end)

  it("traces handlers as they begin and end", function()
    local seen = {}
    local engine, clock = backend.fresh {
      trace = function(t) seen[#seen + 1] = t end,
    }
    assert(engine:load(one_step()))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.equal(id, seen[1].instance)
    assert.equal("t.one", seen[1].workflow)
    assert.equal("a", seen[1].node)
    assert.equal("step", seen[1].kind)
    assert.equal(1, seen[1].attempt)
    assert.equal(clock:now(), seen[1].at)
    assert.is_nil(seen[1].elapsed)
    assert.is_nil(seen[1].outcome)
    assert.is_number(seen[2].elapsed)
    assert.is_string(seen[2].outcome)
  end)
end)
