--- pawl.testing.engine: the real engine, as a spec wants it.
local backends = require "spec.support.backends"
local core = require "pawl.core"
local pawl = require "pawl"
local test = require "pawl.testing"
local tmp = require "spec.support.tmp"

local DAY <const> = 86400

--- Retries with jitter, a timer, a child: what ids and chance are for.
local function busy()
  local child = pawl.workflow { code = "t.child" }
  child:step("one", { run = function(ctx) return ctx.id end })
  local flow = pawl.workflow { code = "t.busy" }
  flow:step("try", { retry = { max = 4, base = "10s", jitter = 0.5 },
    run = function(ctx)
      if ctx.attempt < 3 then error { code = "later" } end
      ctx.emit("t.tried", { attempt = ctx.attempt })
    end })
  flow:call("child", { workflow = "t.child", into = "child" })
  flow:timer("nap", { after = "1d" })
  flow:wait("hand", { event = "go" })
  flow:finish("z")
  return { flow, child }
end

local function daily()
  local flow = pawl.workflow { code = "t.daily" }
  flow:timer("nap", { after = "1d", next = "count" })
  flow:step("count", { run = function(ctx)
    ctx.vars.n = (ctx.vars.n or 0) + 1
    return ctx.vars.n < 365 and "again" or "enough"
  end, next = { again = "nap", enough = "z" } })
  flow:finish("z")
  return flow
end

for _, backend in ipairs(backends) do
  describe("an engine for specs on " .. backend.name, function()
    after_each(backend.cleanup)

    it("repeats a run byte for byte", function()
      local function told()
        local engine <close>, clock = test.engine { load = busy(),
          store = backend.url(), seed = 7 }
        local id = assert(engine:start("t.busy", { x = 1 }))
        engine:run_until_waiting(id, "hand")
        assert(engine:signal { name = "go", instance = id })
        engine:run_until_idle()
        clock:advance "1h"
        local text = engine:get(id, "json") .. engine:history(id, nil, "json")
          .. engine.outbox:list(nil, "json")
        return text, engine:get(id).status
      end
      local first, status = told()
      assert.equal("completed", status)
      assert.equal(first, (told()))
    end)

    it("runs until it waits, moving the clock there", function()
      local engine <close>, clock = test.engine { load = busy(),
        store = backend.url() }
      local began, id = clock:now(), assert(engine:start "t.busy")
      assert.equal("hand", engine:run_until_waiting(id, "hand").node)
      local took = clock:now() - began
      assert.is_true(took > DAY + 20 and took < DAY + 60, took)
    end)
  end)
end

describe("an engine for specs", function()
  local engine, clock

  before_each(function()
    engine, clock = test.engine { load = busy() }
  end)
  after_each(function() engine:close() end)

  it("is one, with all methods and nouns of one", function()
    local id = assert(engine:start "t.busy")
    assert.equal("created", engine:get(id).status)
    assert.same({}, engine.tasks:list())
    assert.matches("^pawl.engine.* of a spec$", tostring(engine))
    assert.equal(engine.start, engine.start)
    for name in pairs(core.engine) do
      if not name:find "^__" then
        assert.equal("function", type(engine[name]), name)
      end
    end
  end)

  it("says where a name is wrong", function()
    local ok, err = pcall(function() return engine.strat end)
    assert.is_false(ok)
    assert.matches("engine_spec.lua:%d+: an engine has no 'strat' "
      .. "%(did you mean 'start'%?%)$", err)
  end)

  it("loads files, and says what is wrong with them", function()
    local path = tmp.file("flow.lua", [[
      local flow = require "pawl".workflow { code = "t.file" }
      flow:step("a", { run = function(ctx) ctx.vars.n = 1 end })
      return flow]])
    local opened <close> = test.engine { load = path }
    local id = assert(opened:start "t.file")
    opened:run_until_idle()
    assert.same({ n = 1 }, opened:get(id).variables)
    assert.error_matches(function()
      test.engine { load = tmp.file("bad.lua", "return 1") }
    end, "must return a workflow")
  end)

  -- What is wrong with how the kit is called, and what is said.
  local WRONG <const> = {
    { "test.engine: option 'load' must be a file, a workflow, or a list of "
      .. "them, got 3", function() test.engine { load = 3 } end },
    { "test.engine: unknown option 'laod' (did you mean 'load'?)",
      function() test.engine { laod = {} } end },
    { "bad argument #1 to 'test.engine' (table of options expected, got "
      .. "string): test.engine { load = \"order.lua\" }",
      function() test.engine "order.lua" end },
    { "test.engine: option 'host' must be a table of functions, or of `true`, "
      .. "by their names, got \"charge\"",
      function() test.engine { host = "charge" } end },
    { "test.engine: option 'host' must be a table of functions, or of `true`, "
      .. "by their names, got table",
      function() test.engine { host = { "charge" } } end },
    { "test.engine: option 'store' must be a string, got 7",
      function() test.engine { store = 7 } end },
    { "test.engine: option 'group' must be a string, got 7",
      function() test.engine { group = 7 } end },
    { "bad argument #1 to 'test.spec' (engine, or lines that were exported "
      .. "expected, got nil)", function() test.spec() end },
    { "bad argument #2 to 'test.spec' (instance's id expected, got nil)",
      function(e) test.spec(e) end },
    { "bad argument #2 to 'test.history' (instance's id expected, got nil)",
      function(e) test.history(e) end },
    { "bad argument #2 to 'test.path' (instance's id expected, got nil)",
      function(e) test.path(e) end },
    { "bad argument #1 to 'test.story' (engine expected, got string)",
      function() test.story "x" end },
    { "bad argument #2 to 'run_until_waiting' (node's name expected, got nil)",
      function(e) e:run_until_waiting "x" end },
    { "run_until_waiting: there is no node 'hnd' (did you mean 'hand'?)",
      function(e) e:run_until_waiting(e:start "t.busy", "hnd") end },
    { "bad argument #1 to 'handler' (file or workflow expected, got nil)",
      function() test.handler() end },
    { "handler: there is no node 'hnd' (did you mean 'hand'?)",
      function() test.handler(busy()[1], "hnd") end },
    { "bad argument #1 to 'crash_everywhere' (function expected, got nil)",
      function() test.crash_everywhere() end },
    { "crash_everywhere: unknown option 'onyl' (did you mean 'only'?)",
      function() test.crash_everywhere(print, { onyl = 3 }) end },
    { "simulate: the scenario starts nothing: no instance was there in any run",
      function() test.simulate { scenario = function() end, seeds = 1 } end },
    { "bad argument #1 to 'load' (file or workflow expected, got nil)",
      function(e) e:load() end },
    { "replay[1]: unknown option 'return' (did you mean 'returns'?)",
      function(e) e:replay("try", { { ["return"] = 1 } }) end },
    { "bad argument #1 to 'test.open' (table of options expected, got string)",
      function() test.open "order.lua" end },
    { "bad argument #1 to 'clock' (time expected, got table)",
      function() test.clock {} end },
    { "clock: 'yesterday' is not a time: \"2026-11-21T07:38:00Z\", or seconds "
      .. "since 1970", function() test.clock "yesterday" end },
  }

  it("says what is wrong in how it is called, and where", function()
    for _, wrong in ipairs(WRONG) do
      local ok, err = pcall(function() wrong[2](engine) end)
      assert.is_false(ok)
      assert.matches("^spec/lua/testing/engine_spec.lua:%d+: ", err)
      assert.equal(wrong[1], err:gsub("^%S+ ", "", 1))
    end
  end)

  it("knows all options of pawl.open", function()
    local _, err = pcall(pawl.open, ":memory:", { [("x"):rep(20)] = 1 })
    local names = 0
    for name in err:match "%(known: (.*)%)":gmatch "[%w_]+" do
      names = names + 1
      local ok, why = pcall(test.engine, { [name] = io.stdout })
      assert.is_true(ok or not why:find "unknown option", name)
    end
    assert.is_true(names > 20, names)
  end)

  it("does nothing of what it loads again when a load has failed", function()
    local ok = pcall(test.engine, { load = tmp.file("bad.lua", "return 1") })
    assert.is_false(ok)
    assert.is_nil(require "pawl.workflow".seen)
  end)

  it("raises what is wrong in what it loads, where that was asked", function()
    local ok, err = pcall(function()
      engine:load(tmp.file("bad.lua", "return 1"))
    end)
    assert.is_false(ok)
    assert.matches("^spec/lua/testing/engine_spec.lua:%d+: ", err)
    assert.matches("bad.lua", err, 1, true)
    ok, err = pcall(function()
      test.engine { load = tmp.file("bad.lua", "return 1") }
    end)
    assert.is_false(ok)
    assert.matches("^spec/lua/testing/engine_spec.lua:%d+: ", err)
  end)

  it("runs until a condition holds", function()
    local id = assert(engine:start "t.busy")
    local emitted = engine:run_until(function(e)
      return e.outbox:list()[1]
    end)
    assert.equal("t.tried", emitted.type)
    assert.equal(id, emitted.instance)
    assert.error_matches(function() engine:run_until "x" end,
      "bad argument #1 to 'run_until' %(function expected, got string%)")
  end)

  it("says what everything waits for when a condition never holds", function()
    assert(engine:start "t.busy")
    assert.error_matches(function()
      engine:run_until(function() return false end)
    end, 'run_until: nothing is left to come\n.*it waits for the event "go"')
    assert(engine:signal { name = "go" })
    assert.error_matches(function()
      engine:run_until(function() return false end)
    end, "nothing is left to come\n  everything has ended")
  end)

  it("says so when an instance does not come to a node", function()
    local id = assert(engine:start "t.busy")
    assert.error_matches(function() engine:run_until_waiting(id, "hnd") end,
      "run_until_waiting: there is no node 'hnd' %(did you mean 'hand'%?%)")
    engine:run_until_waiting(id, "hand")
    assert(engine:signal { name = "go" })
    assert.error_matches(function() engine:run_until_waiting(id, "nap") end,
      'run_until_waiting: it has not come to "nap"\n.*completed')
  end)

  it("is moved from due time to due time", function()
    assert(engine:start "t.busy")
    local began = clock:now()
    assert.equal(began, clock:next())
    local times = 0
    while clock:next() do times = times + 1 end
    assert.equal(3, times) -- two attempts, and the timer
    assert.is_true(clock:now() > began + DAY)
  end)

  it("fires a year of daily timers in less than a second", function()
    local opened <close>, time = test.engine { load = daily() }
    local id = assert(opened:start "t.daily")
    local before = os.clock()
    time:advance "365d"
    local took = os.clock() - before
    assert.equal(365, opened:get(id).variables.n)
    assert.equal("completed", opened:get(id).status)
    if not tmp.read("/proc/self/maps"):find("libasan", 1, true) then
      assert.is_true(took < 1, took)
    end
  end)
end)
