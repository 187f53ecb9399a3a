--- Stubs, failures that are told to come, and spies.
local pawl = require "pawl"
local test = require "pawl.testing"
local tmp = require "spec.support.tmp"

local function order()
  local flow = pawl.workflow { code = "t.order" }
  flow:step("charge", { retry = { max = 3, base = 1 },
    run = function(ctx)
      ctx.vars.real = true
      return { paid = ctx.input.price }
    end, next = "check", into = "paid" })
  flow:step("check", { run = function() return "good", "looked" end,
    next = { good = "ship", bad = "refuse" } })
  flow:call("ship", { workflow = "t.ship", into = "parcel", next = "done" })
  flow:step("refuse", { run = function() end, next = "done" })
  flow:finish("done", { output = function(ctx) return ctx.vars end })
  return flow
end

local function ship()
  local flow = pawl.workflow { code = "t.ship" }
  flow:step("pack", { run = function() return "packed" end, into = "x" })
  flow:finish("z", { output = function(ctx) return ctx.vars.x end })
  return flow
end

local function asking()
  local flow = pawl.workflow { code = "t.asking" }
  flow:step("ask", { retry = { max = 2, base = 1 }, run = function(ctx)
    ctx.vars.rate = ctx.host.rate { from = "EUR" }
  end })
  return flow
end

describe("a double", function()
  local engine, id

  local function run()
    id = assert(engine:start("t.order", { price = 5 }))
    assert(engine:run { wait = true })
    return engine:get(id)
  end

  before_each(function()
    engine = test.engine { load = { order(), ship() } }
  end)
  after_each(function() engine:close() end)

  it("is gone with its engine", function()
    engine:stub("charge", { returns = 1 })
    engine:close()
    engine = test.engine { load = { order(), ship() } }
    assert.same({ real = true, paid = { paid = 5 }, parcel = "packed" },
      run().output)
  end)

  it("stands in for a step", function()
    local charge = engine:stub("charge", { returns = { paid = 1 },
      vars = { by = "stub" } })
    engine:stub("check", { goes = "bad" })
    assert.same({ by = "stub", paid = { paid = 1 } }, run().output)
    assert.equal(1, #charge.calls)
    local call = charge.calls[1]
    assert.equal(id, call.instance)
    assert.equal("t.order", call.workflow)
    assert.equal("charge", call.node)
    assert.equal(id .. "/1/1", call.key)
    assert.same({ price = 5 }, call.input)
    assert.same({}, call.vars)
    assert.same({ paid = 1 }, call.output)
    assert.equal(1, call.attempt)
  end)

  it("runs a function in place of a handler", function()
    engine:stub("charge", { run = function(ctx)
      return ctx.input.price * 2
    end })
    engine:stub("check", { run = function() return "bad" end })
    assert.same({ paid = 10 }, run().output)
  end)

  it("fails so often, and lets what is below it run", function()
    local charge = engine:fail("charge", { times = 2, code = "card_declined",
      message = "no" })
    assert.same({ paid = 5 }, run().output.paid)
    assert.equal(3, #charge.calls)
    assert.same({ 1, 2, 3 }, { charge.calls[1].attempt,
      charge.calls[2].attempt, charge.calls[3].attempt })
    assert.equal("card_declined", charge.calls[2].error.code)
    assert.is_nil(charge.calls[3].error)
    assert.equal(charge.calls[1].key, charge.calls[3].key)
  end)

  it("fails for good", function()
    engine:fail("charge", { code = "card_declined", retry = false,
      details = { bank = "x" } })
    local instance = run()
    assert.equal("card_declined", instance.error.code)
    assert.same({ bank = "x" }, instance.error.details)
    assert.equal(1, #engine:history(id))
  end)

  it("is laid over another", function()
    local stub = engine:stub("charge", { returns = "stub" })
    local fail = engine:fail("charge", { times = 1, code = "x" })
    assert.equal("stub", run().output.paid)
    assert.equal(2, #fail.calls)
    assert.equal(1, #stub.calls)
  end)

  it("looks on, and tells where an error was raised", function()
    local check, charge = engine:spy "check", engine:spy "charge"
    run()
    assert.equal("good", check.calls[1].transition)
    assert.equal("looked", check.calls[1].output)
    assert.same({ paid = 5 }, charge.calls[1].output)
    local flow = pawl.workflow { code = "t.raises" }
    flow:step("raises", { retry = false, run = function()
      error { code = "x" }
    end })
    assert(engine:load(flow))
    local spy = engine:spy "raises"
    local other = assert(engine:start "t.raises")
    engine:run_until_idle()
    assert.matches("doubles_spec.lua:%d+$", engine:get(other).error.where)
    assert.equal("x", spy.calls[1].error.code)
  end)

  it("lets handlers wait below it", function()
    local flow, polls = pawl.workflow { code = "t.awaits" }, 0
    flow:step("waits", { run = function(ctx)
      ctx.await(function()
        polls = polls + 1
        return polls > 3
      end)
      return "waited"
    end })
    assert(engine:load(flow))
    local spy = engine:spy "waits"
    assert(engine:start "t.awaits")
    assert(engine:run { wait = true })
    assert.equal("waited", spy.calls[1].output)
  end)

  it("stands in for a whole child", function()
    for _, loaded in ipairs { true, false } do
      engine:close()
      engine = test.engine { load = loaded and { order(), ship() }
        or order() }
      local child = engine:stub_workflow("t.ship", { output = "a stub" })
      assert.equal("a stub", run().output.parcel)
      assert.equal("t.ship", child.calls[1].workflow)
      assert.equal("a stub", child.calls[1].output)
    end
  end)

  it("has a whole child fail", function()
    engine:stub_workflow("t.ship", { code = "lost", message = "gone" })
    local instance = run()
    assert.equal("failed", instance.status)
    assert.matches("gone", instance.error.message)
  end)

  it("stands in for a function of the program", function()
    local opened <close> = test.engine { load = asking(),
      host = { rate = true } }
    local rate = opened:stub_host("rate", { returns = 1.5 })
    local one = assert(opened:start "t.asking")
    opened:run_until_idle()
    assert.equal(1.5, opened:get(one).variables.rate)
    assert.same({ from = "EUR" }, rate.calls[1].input)
    assert.equal(one .. "/1/1/1", rate.calls[1].key)
    opened:stub_host("rate", { code = "down", times = 1, returns = 2 })
    local two = assert(opened:start "t.asking")
    assert(opened:run { wait = true })
    assert.equal("failed", opened:get(two).status) -- nothing is below it
    assert.matches("'rate' has neither a function nor a double",
      opened:get(two).error.message)
  end)

  it("lets a function of the program through", function()
    local opened <close> = test.engine { load = asking(),
      host = { rate = function(asked) return #asked.from end } }
    local one = assert(opened:start "t.asking")
    opened:run_until_idle()
    assert.equal(3, opened:get(one).variables.rate)
    opened:stub_host("rate", { code = "down", times = 1 })
    local two = assert(opened:start "t.asking")
    assert(opened:run { wait = true })
    assert.equal(3, opened:get(two).variables.rate)
    assert.equal("down", opened:history(two)[1].error.code)
  end)

  local WRONG <const> = {
    { "stub: there is no node 'chrage' %(did you mean 'charge'%?%)",
      function(e) e:stub "chrage" end },
    { "stub: 'check' has several transitions: say which, goes = \"bad\"",
      function(e) e:stub "check" end },
    { "stub: 'check' has no transition 'god' %(did you mean 'good'%?%)",
      function(e) e:stub("check", { goes = "god" }) end },
    { "stub: 'ship' is a call: a step can be given a double",
      function(e) e:stub "ship" end },
    { "stub: unknown option 'return' %(did you mean 'returns'%?%)",
      function(e) e:stub("charge", { ["return"] = 1 }) end },
    { "fail: it needs a code", function(e) e:fail "charge" end },
    { "stub: no workflow 't.ordr' is loaded %(did you mean 't.order'%?%)",
      function(e) e:stub("charge", { workflow = "t.ordr" }) end },
    { "stub_host: name it as the engine is opened",
      function(e) e:stub_host("rate", {}) end },
    { "stub: 'charge' has no transition 'nowhere': it leads to 'check', "
      .. "whatever it gives",
      function(e) e:stub("charge", { goes = "nowhere" }) end },
    { "stub_workflow: it fails with `code`, or completes with `output`: say "
      .. "one", function(e)
        e:stub_workflow("t.ship", { output = 1, code = "x" })
      end },
    { "stub_workflow: `message` is of one that fails: say its `code`",
      function(e) e:stub_workflow("t.ship", { message = "x" }) end },
    { "bad argument #1 to 'stub' %(node's name expected, got nil%)",
      function(e) e:stub() end },
    { "bad argument #1 to 'effect' %(string expected, got nil%)",
      function(e) e:effect() end },
    { "bad argument #1 to 'stub_workflow' %(string expected, got table%)",
      function(e) e:stub_workflow {} end },
    { "engine.stub is a method: call it by a colon, engine:stub%(...%)",
      function(e) e.stub("charge", {}) end },
    { "engine.start is a method: call it by a colon, engine:start%(...%)",
      function(e) e.start("t.order", {}) end },
    { "engine.run_until_idle is a method", function(e) e.run_until_idle() end },
  }

  it("is refused where it would do nothing", function()
    for _, wrong in ipairs(WRONG) do
      local ok, err = pcall(function() wrong[2](engine) end)
      assert.is_false(ok)
      assert.matches("doubles_spec.lua:%d+: " .. wrong[1], err)
    end
  end)

  it("stands in for what one with limits calls, which it does not see",
    function()
      local opened <close> = test.engine { load = tmp.file("flow.lua", [[
        local flow = require "pawl".workflow { code = "t.alone" }
        flow:step("go", { run = function(ctx) end })
        return flow]]) }
      assert(opened:load(tmp.file("limited.lua", [[
        local flow = require "pawl".workflow { code = "t.limited" }
        flow:call("far", { workflow = "t.far" })
        return flow]]), { trust = { level = "limited",
          may = { start = "t.far" } } }))
      local far = opened:stub_workflow "t.far"
      assert(opened:start "t.limited")
      opened:run_until_idle()
      assert.equal(1, #far.calls)
    end)

  it("takes the way that is the only one", function()
    engine:stub("charge", { goes = "check", returns = 1 })
    assert.equal(1, run().output.paid)
  end)

  it("does not stand in for what nobody calls, or starts by a name of its own",
    function()
      local opened <close> = test.engine { load = tmp.file("flow.lua", [[
        local flow = require "pawl".workflow { code = "t.calls" }
        flow:step("go", { run = function(ctx) end })
        flow:call("ship", { workflow = "t.ship" })
        return flow]]) }
      opened:stub_workflow "t.ship"
      local ok, err = pcall(function() opened:stub_workflow "t.shop" end)
      assert.is_false(ok)
      assert.matches("doubles_spec.lua:%d+: stub_workflow: no workflow that is "
        .. "loaded calls 't.shop', nor is it one %(did you mean 't.ship'%?%)$",
        err)
      assert(opened:load(tmp.file("starts.lua", [[
        local flow = require "pawl".workflow { code = "t.starts" }
        flow:step("go", { run = function(ctx) ctx.start("t." .. "late") end })
        return flow]])))
      local late = opened:stub_workflow "t.late"
      assert(opened:start "t.starts")
      opened:run_until_idle()
      assert.equal(1, #late.calls)
    end)

  it("says of which workflow a node is, where several have it", function()
    local flow = pawl.workflow { code = "t.other" }
    flow:step("charge", { run = function() end })
    assert(engine:load(flow))
    assert.error_matches(function() engine:stub "charge" end,
      "stub: several workflows have a node 'charge': say which, workflow = ")
    engine:stub("charge", { workflow = "t.order", returns = "stub" })
    assert.equal("stub", run().output.paid)
  end)
end)

describe("a handler by itself", function()
  local flow

  before_each(function()
    flow = pawl.workflow { code = "t.alone", input = { n = "integer" } }
    flow:step("work", { next = { again = "work", on = "way" },
      on_error = { poor = "sorry" },
      run = function(ctx)
        if ctx.vars.money < 3 then error { code = "poor" } end
        ctx.vars.money, ctx.vars.old = ctx.vars.money - ctx.input.n, nil
        ctx.emit("t.paid", { n = ctx.input.n })
        ctx.start("t.other", { a = 1 }, { key = "k" })
        ctx.signal { name = "t.seen", key = "k" }
        ctx.note("noted", { b = 2 })
        ctx.log("info", "logged", { c = 3 })
        ctx.publish("money", ctx.vars.money)
        return "again", ctx.host.rate(1)
      end })
    flow:choice("way", { choose = function(ctx)
      return ctx.input.n > 3 and "big" or "small"
    end, next = { big = "z", small = "sorry" } })
    flow:step("sorry", { run = function() end })
    flow:finish("z")
  end)

  local function work(vars)
    return test.handler(flow, "work", { vars = vars, input = { n = 2 },
      host = { rate = function(x) return x + 1 end } })
  end

  it("tells what it leads to, gives and changes", function()
    local told = work { money = 10, old = 1, left = 2 }
    assert.equal("again", told.transition)
    assert.equal("work", told.to)
    assert.equal(2, told.output)
    assert.same({ money = 8, left = 2 }, told.vars)
    assert.same({ set = { money = 8 }, unset = { "old" } }, told.changes)
    assert.is_nil(told.error)
  end)

  it("tells what it asks of others", function()
    assert.same({
      emitted = { { type = "t.paid", payload = { n = 2 } } },
      escalated = {},
      started = { { code = "t.other", input = { a = 1 },
        options = { key = "k" } } },
      signalled = { { name = "t.seen", key = "k" } },
      notes = { { text = "noted", data = { b = 2 } } },
      logged = { { level = "info", message = "logged", fields = { c = 3 } } },
      published = { money = 8 },
    }, work { money = 10 }.effects)
  end)

  it("tells the error that it ends with, and where that leads", function()
    local told = work { money = 1 }
    assert.equal("poor", told.error.code)
    assert.equal("sorry", told.to)
    assert.matches("doubles_spec.lua:%d+$", told.error.where)
  end)

  it("of a choice", function()
    local told = test.handler(flow, "way", { input = { n = 4 } })
    assert.equal("big", told.transition)
    assert.equal("z", told.to)
  end)

  it("is refused where there is none, or its input is wrong", function()
    assert.error_matches(function() test.handler() end,
      "bad argument #1 to 'handler' %(file or "
      .. "workflow expected, got nil%)")
    assert.error_matches(function() test.handler(flow, "wrok") end,
      "handler: there is no node 'wrok' %(did you mean 'work'%?%)")
    assert.error_matches(function() test.handler(flow, "z") end,
      "handler: 'z' is a finish: a step or a choice is run by itself")
    local ok, err = pcall(test.handler, flow, "work", { input = { n = "x" } })
    assert.is_false(ok)
    assert.matches("input.n: expected integer", tostring(err))
    assert.error_matches(function() test.handler(flow, "work", { var = {} })
    end, "handler: unknown option 'var'")
  end)
end)
