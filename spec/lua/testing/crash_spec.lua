--- crash_everywhere: a scenario that dies at each place in turn.
local backends = require "spec.support.backends"
local pawl = require "pawl"
local stores = require "spec.support.scenarios"
local test = require "pawl.testing"

--- Pays, waits, has a child send, and asks the program; `send` is what the
--- child does outside.
local function load(engine, send)
  local pay = engine:effect("pay", { returns = { ok = true } })
  local flow = pawl.workflow { code = "t.pay" }
  flow:step("charge", { undo = function() end, run = function(ctx)
    ctx.vars.paid = pay(10, { key = ctx.idempotency_key() })
    ctx.emit("t.paid", { of = ctx.id })
  end })
  flow:timer("nap", { after = "1h" })
  flow:call("parcel", { workflow = "t.parcel", into = "parcel" })
  flow:step("tell", { run = function(ctx)
    ctx.vars.told = ctx.host.tell { id = ctx.id }
  end })
  flow:finish("done", { output = function(ctx) return ctx.vars end })
  local child = pawl.workflow { code = "t.parcel" }
  child:step("send", { run = send })
  child:finish("z", { output = function() return "sent" end })
  assert(engine:load(flow))
  assert(engine:load(child))
  return pay
end

local HOST <const> = { tell = function(value) return #value.id end }

--- An empty database takes a while.
local function every(backend)
  return backend.name ~= "sqlite" and 4 or nil
end

for _, backend in ipairs(backends) do
  describe("a crash at every place on " .. backend.name, function()
    after_each(backend.cleanup)

    it("is survived where each effect has its key", function()
      local runs = 0
      local report = test.crash_everywhere(function(engine, clock)
        runs = runs + 1
        local send = engine:effect "send"
        load(engine, function(ctx) send("P", ctx.idempotency_key()) end)
        local id = assert(engine:start "t.pay")
        engine:run_until_waiting(id, "nap")
        clock:advance "1h"
        assert.completed(engine, id)
        assert.path(engine, id, { "charge", "nap", "parcel", "tell" })
      end, { store = stores.of(backend), host = HOST, every = every(backend) })
      assert.is_true(report.places >= 25, report.places)
      assert.is_true(runs > report.places // (every(backend) or 1), runs)
      assert.equal(3, report.effects)
    end)

    it("is survived by a branch that waits beside one that is due", function()
      local flow = pawl.workflow { code = "t.beside" }
      flow:fork("f", { next = { "nap", "slow" } })
      flow:timer("nap", { after = 7, next = "j" })
      flow:step("slow", { run = function(ctx) ctx.await(3) end, next = "j" })
      flow:join("j", { next = "z" })
      flow:finish "z"
      local report = test.crash_everywhere(function(engine, clock)
        assert(engine:load(flow))
        local id = assert(engine:start "t.beside")
        clock:advance "20m" -- runs what is due when it is, not later
        assert.completed(engine, id)
      end, { store = stores.of(backend), every = every(backend) })
      assert.is_true(report.places >= 20, report.places)
    end)

    it("leaves the deadline that a function has said", function()
      local most = 0
      local report = test.crash_everywhere(function(engine, clock)
        local asked = 0
        local flow = pawl.workflow { code = "t.late", deadline = function()
          asked = asked + 1
          return asked .. "d" -- so that each answer is known
        end }
        flow:step("a", { run = function() end })
        flow:timer("nap", { after = "1h" })
        flow:step("b", { run = function() end })
        flow:timer("rest", { after = "1h" })
        flow:finish "z"
        assert(engine:load(flow))
        local id = assert(engine:start "t.late")
        engine:run_until_waiting(id, "nap")
        local deadline, times = assert(engine:get(id)).deadline, asked
        assert.is_string(deadline)
        clock:advance "1h"
        assert.equal(deadline, assert(engine:get(id)).deadline)
        clock:advance "1h"
        assert.completed(engine, id)
        assert.equal(times, asked)
        most = math.max(most, asked)
      end, { store = stores.of(backend) })
      assert.is_true(report.places >= 10, report.places)
      assert.equal(2, most) -- where it died before that was stored
    end)

    it("tells which handler would do something twice, and where", function()
      local ok, err = pcall(test.crash_everywhere, function(engine, clock)
        local pay, send = engine:effect "pay", engine:effect "send"
        local flow = pawl.workflow { code = "t.parcel" }
        flow:step("pay", { run = function(ctx) pay(ctx.idempotency_key()) end })
        flow:timer("nap", { after = 1 })
        flow:step("send", { run = function(ctx) send("P", ctx.id) end })
        assert(engine:load(flow))
        assert(engine:start "t.parcel")
        engine:run_until_idle()
        clock:advance(1)
      end, { store = stores.each(backend) })
      assert.is_false(ok)
      assert.matches("^a crash is not covered at %d+ of %d+ places\n", err)
      assert.matches("dying after the handler send of t.parcel:\n    'send' is "
        .. "done 2 times in place of 1 by the handler send of t.parcel: it is "
        .. "given no key; give it ctx.idempotency_key()", err, 1, true)
      assert.not_matches("'pay'", err)
    end)
  end)
end

--- Runs a workflow of one step that charges once, giving what `key_of` makes of
--- its ctx.
local function charging(tool, key_of)
  local function scenario(engine)
    local charge = engine:effect "charge"
    local flow = pawl.workflow { code = "t.charge" }
    flow:step("pay", { retry = { max = 9, base = 1 }, run = function(ctx)
      charge(10, key_of(ctx))
    end })
    assert(engine:load(flow))
    assert(engine:start "t.charge")
    engine:run_until_idle()
  end
  if tool == "simulate" then
    return pcall(test.simulate, { scenario = scenario, seeds = 40 })
  end
  return pcall(test.crash_everywhere, scenario)
end

local function json(fields) return pawl.json.encode(fields) end

-- What is given as a key, and what is found of it.
local GIVEN <const> = {
  ["the key itself"] = { function(key) return key end },
  ["the key and a constant"] = { function(key) return key .. "-charge" end },
  ["a table with the key"] = { function(key) return { at = { key } } end },
  ["the key and the time"] = { function(key, ctx)
    return key .. "@" .. ctx.now()
  end, "/1/1@%d" },
  ["JSON with the key and a time"] = { function(key, ctx)
    return json { key = key, at = ctx.now() }
  end },
  ["JSON with a time in the key"] = { function(key, ctx)
    return json { key = key .. "@" .. ctx.now(), more = ("x"):rep(99) }
  end, "/1/1@%d" },
  ["the key, and a text that has it and the time"] = { function(key, ctx)
    return { key, "/charges/" .. key .. "?at=" .. ctx.now() }
  end },
  ["a letter that has the key and the time"] = { function(key, ctx)
    return ("Dear bank, "):rep(9) .. key .. " at " .. ctx.now()
  end },
}

for _, tool in ipairs { "crash_everywhere", "simulate" } do
  describe("as a key of what is done outside, " .. tool, function()
    for name, given in pairs(GIVEN) do
      it((given[2] and "does not take " or "takes ") .. name, function()
        local ok, err = charging(tool, function(ctx)
          return given[1](ctx.idempotency_key(), ctx)
        end)
        assert.equal(not given[2], ok, err)
        if ok then return end
        assert.matches("its key is another one", err, 1, true)
        assert.matches(given[2], err)
        assert.matches("pay of t.charge", err, 1, true)
      end)
    end
  end)
end

describe("a simulation of what is done outside", function()
  it("takes several in one visit, each under its own key", function()
    local ok, err = pcall(test.simulate, { seeds = 60, scenario = function(
      engine)
      local send = engine:effect "send"
      local flow = pawl.workflow { code = "t.send" }
      flow:step("send", { retry = { max = 9, base = 1 }, run = function(ctx)
        for i = 1, 3 do
          send(("%s-%d"):format(ctx.idempotency_key(), i))
          if i == ctx.attempt then error { code = "later" } end
        end
      end })
      assert(engine:load(flow))
      assert(engine:start "t.send")
    end })
    assert.is_true(ok, err)
  end)
end)

describe("a crash at every place", function()
  --- Runs a workflow of one step in it.
  local function one_step(run, options, after)
    return pcall(test.crash_everywhere, function(engine)
      local flow = pawl.workflow { code = "t.one" }
      flow:step("one", { run = function(ctx) return run(ctx, engine) end })
      flow:finish("z", { output = function(ctx) return ctx.vars end })
      assert(engine:load(flow))
      local id = assert(engine:start "t.one")
      engine:run_until_idle()
      if after then after(engine, id) end
    end, options)
  end

  it("finds what a handler keeps outside of the store", function()
    local n = 0
    local ok, err = one_step(function(ctx)
      n = n + 1
      ctx.vars.n = n
    end)
    assert.is_false(ok)
    assert.matches('what comes of it differs\n    undisturbed: .*"n":1.*\n    '
      .. 'then: .*"n":2', err)
    n = 0
    assert.is_true((one_step(function(ctx)
      n = n + 1
      ctx.vars.n = n
    end, { ignore = { "n" } } )) == false) -- its output tells it as well
  end)

  it("leaves out variables that need not be the same", function()
    local n = 0
    local ok, err = pcall(test.crash_everywhere, function(engine)
      local flow = pawl.workflow { code = "t.one" }
      flow:step("one", { run = function(ctx)
        n = n + 1
        ctx.vars.n = n
      end })
      assert(engine:load(flow))
      assert(engine:start "t.one")
      engine:run_until_idle()
    end, { ignore = { "n" } })
    assert.is_true(ok, err)
  end)

  it("takes a stub for what its step does, under the visit's key", function()
    local report = test.crash_everywhere(function(engine)
      local flow = pawl.workflow { code = "t.two" }
      flow:step("pay", { run = error })
      flow:step("ship", { run = error })
      assert(engine:load(flow))
      local pay = engine:stub "pay"
      engine:stub "ship"
      assert(engine:start "t.two")
      engine:run_until_idle()
      assert.is_true(#pay.calls >= 1)
    end)
    assert.equal(2, report.effects)
  end)

  it("runs one place alone", function()
    local runs = 0
    local ok, report = one_step(function() runs = runs + 1 end, { only = 2 })
    assert.is_true(ok, report)
    assert.is_true(runs <= 3)
    local err
    ok, err = one_step(function() end, { only = report.places + 1 })
    assert.is_false(ok)
    assert.matches(("crash_spec.lua:%%d+: crash_everywhere: only = %d, but "
      .. "there are %d places$"):format(report.places + 1, report.places), err)
  end)

  it("says so when there is nothing to die in", function()
    local function with(scenario)
      return function() test.crash_everywhere(scenario) end
    end
    assert.error_matches(with(function() end),
      "crash_everywhere: the scenario runs nothing")
    assert.error_matches(with(function(engine) engine:run_until_idle() end),
      "crash_everywhere: the scenario starts nothing")
  end)

  it("says what the scenario raises, by itself and in a crash", function()
    local ok, err = one_step(function() end, nil, function()
      error "scenario"
    end)
    assert.is_false(ok)
    assert.matches("^the scenario fails by itself: .*scenario$", err)
    local n = 0
    ok, err = one_step(function() n = n + 1 end, nil, function()
      assert(n <= 1 or n >= 4, "ran again")
    end)
    assert.is_false(ok)
    assert.matches("the scenario fails: .*ran again", err)
  end)

  it("is told what it is to do", function()
    assert.error_matches(function() test.crash_everywhere() end,
      "bad argument #1 to 'crash_everywhere' %(function expected, got nil%)")
    local ok, err = one_step(function() end, { ignore = 3 })
    assert.is_false(ok)
    assert.matches("option 'ignore' must be a list of variables' names", err, 1,
      true)
    ok, err = one_step(function() end, { onyl = 3 })
    assert.is_false(ok)
    assert.matches("unknown option 'onyl'", err, 1, true)
  end)
end)

describe("an effect", function()
  it("notes who calls it, and whether with the key", function()
    local engine <close> = test.engine()
    local call = engine:effect("call", { returns = { 1 } })
    local twice = engine:effect("twice", { run = function(n) return n * 2 end })
    local flow = pawl.workflow { code = "t.calls" }
    flow:step("a", { run = function(ctx)
      ctx.vars.a = call("x", { deep = { "key-" .. ctx.idempotency_key() } })
      ctx.vars.b = twice(21)
    end })
    assert(engine:load(flow))
    local id = assert(engine:start "t.calls")
    engine:run_until_idle()
    assert.vars(engine, id, { a = { 1 }, b = 42 })
    assert.equal("a", call.calls[1].node)
    assert.equal(id, call.calls[1].instance)
    assert.is_true(call.calls[1].covered)
    assert.equal("x", call.calls[1].arguments[1])
    assert.is_false(twice.calls[1].covered)
    assert.equal(id .. "/1/1", twice.calls[1].key)
    assert.equal(2, twice(1)) -- by nobody
    assert.is_nil(twice.calls[2].node)
    assert.error_matches(function() engine:effect() end,
      "bad argument #1 to 'effect' %(string expected, got nil%)")
  end)
end)
