-- ctx.output.NODE: what was given before, found when a handler asks for it.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

kit.describe("an output of before", function(backend)
  local engine, clock, url

  local function run(flow, input)
    engine, clock, url = backend.fresh()
    assert(engine:load(flow))
    local id = assert(engine:start("t.out", input or {}))
    assert(engine:run { wait = true })
    return id
  end

  local function output(id)
    local instance = assert(engine:get(id))
    assert.equal("completed", instance.status,
      instance.error and instance.error.message)
    return instance.output
  end

  it("is read by the steps behind, by routing and by the end", function()
    local flow = pawl.workflow { code = "t.out" }
    local seen = {}
    flow:step("charge", { run = function() return { sum = 12 } end })
    flow:step("nothing", { run = function(ctx)
      seen[1] = ctx.output.charge.sum
    end })
    flow:choice("big", { next = { yes = "nap", no = "z" },
      choose = function(ctx)
        seen[2] = ctx.output.nothing == nil
        return ctx.output.charge.sum > 10 and "yes" or "no"
      end })
    flow:timer("nap", { after = function(ctx) -- before that is stored
      return ctx.output.charge.sum
    end })
    flow:step("same", { run = function(ctx) return ctx.output.charge end })
    flow:finish("z", { output = function(ctx)
      return { ctx.output.same.sum, ctx.output.nothing == nil }
    end })
    local id = run(flow)
    assert.same({ 12, true }, output(id))
    assert.same({ 12, true }, seen)
  end)

  it("is that of waits, tasks and calls as well", function()
    local flow = pawl.workflow { code = "t.out" }
    flow:wait("paid", { event = "paid" })
    flow:task("check", { title = "Check it" })
    flow:call("ship", { workflow = "t.child" })
    flow:finish("z", { output = function(ctx)
      return { ctx.output.paid, ctx.output.check, ctx.output.ship.n }
    end })
    engine, clock, url = backend.fresh()
    assert(engine:load(kit.one(function(ctx) ctx.vars.n = 3 end,
      { code = "t.child" })))
    assert(engine:load(flow))
    local id = assert(engine:start "t.out")
    assert(engine:run())
    assert(engine:signal { name = "paid", instance = id, data = 7 })
    assert(engine:run())
    local task = assert(engine.tasks:list { instance = id })[1]
    assert(engine.tasks:complete(task.id, { by = "ann", output = "fine" }))
    assert(engine:run())
    assert.same({ 7, "fine", 3 }, output(id))
  end)

  it("is the newest visit's, also where that gave nothing", function()
    local flow, seen = pawl.workflow { code = "t.out" }, {}
    flow:step("a", { next = { on = "b", done = "z" }, run = function(ctx)
      ctx.vars.n = (ctx.vars.n or 0) + 1
      seen[ctx.vars.n] = ctx.output.b or false
      return ctx.vars.n < 5 and "on" or "done"
    end })
    flow:step("b", { next = "a", run = function(ctx)
      if ctx.vars.n ~= 3 then return ctx.vars.n * 10 end
    end })
    flow:finish "z"
    run(flow)
    assert.same({ false, 10, 20, false, 40 }, seen)
  end)

  it("is an item's own, and a branch's own, before another's", function()
    local flow = pawl.workflow { code = "t.out" }
    flow:each("all", { branch = "double", into = "got", window = 3, next = "z",
      items = function() return { 1, 2, 3 } end })
    flow:step("double", { next = "split", run = function(ctx)
      return ctx.token.data.item * 2
    end })
    flow:fork("split", { next = { "left", "right" } })
    flow:step("left", { next = "meet", run = function(ctx)
      return "l" .. ctx.output.double
    end })
    flow:step("right", { next = "meet", run = function(ctx)
      return "r" .. ctx.output.double
    end })
    flow:join("meet", { next = "last" })
    flow:step("last", { next = "all", run = function(ctx)
      return ctx.output.double + 1
    end })
    flow:finish("z", { output = function(ctx) return ctx.vars.got end })
    local id = run(flow)
    assert.same({ 3, 5, 7 }, output(id))
    for _, row in ipairs(assert(engine:history(id, { node = "left" }))) do
      assert.matches("^l[246]$", row.output)
    end
  end)

  it("is there behind a restart, and in a transactional step", function()
    local fails = true
    local flow = pawl.workflow { code = "t.out" }
    flow:step("a", { run = function() return 5 end })
    flow:step("b", { retry = false, transactional = true,
      run = function(ctx)
        if fails then error "no" end
        return ctx.output.a + #ctx.db:query "select 1 as n"
      end })
    flow:finish("z", { output = function(ctx) return ctx.output.b end })
    local id = run(flow)
    assert.failed(engine, id)
    fails = false
    assert(engine:restart(id, { from = "b" }))
    assert(engine:run())
    assert.equal(6, output(id))
  end)

  it("stays where its worker dies", function()
    local flow = pawl.workflow { code = "t.out" }
    flow:step("a", { run = function() return 5 end })
    flow:timer("t", { after = "1h" })
    flow:finish("z", { output = function(ctx) return ctx.output.a end })
    engine, clock, url = backend.fresh()
    assert(engine:load(flow))
    local id = assert(engine:start "t.out")
    assert(engine:run())
    assert(engine:signal { name = "other", instance = id })
    kit.claim(kit.store(url, clock), id)
    clock:advance "2h"
    assert(engine:run())
    assert.equal(5, output(id))
  end)

  it("is none of a name that no node has", function()
    local id = run(kit.one(function(ctx) return nil, ctx.output.bb end,
      { code = "t.out", retry = false }))
    local err = assert(engine:get(id)).error
    assert.equal("misuse", err.code)
    assert.equal('ctx.output: there is no node "bb"', err.message)
    assert.equal('add a node of that name, or correct it', err.hint)
  end)

  it("is none of a node that gives nothing, which raises", function()
    local flow = pawl.workflow { code = "t.out" }
    flow:each("list", { items = function() return { 1, 2 } end,
      branch = "one", next = "met" })
    flow:step("one", { run = function() return 7 end, next = "list" })
    flow:wait("met", { condition = function() return true end })
    flow:timer("nap", { after = 1 })
    flow:step("ask", { run = function(ctx)
      local said = { one = ctx.output.one }
      for _, name in ipairs { "list", "met", "nap", "z" } do
        local ok, err = pcall(function() return ctx.output[name] end)
        said[name] = not ok and { err.code, err.message, err.hint }
      end
      ctx.vars.said = said
    end, next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars.said end })
    local id = run(flow)
    clock:advance(1)
    assert(engine:run())
    local said = output(id)
    local hint = "a step, a wait for an event, a task or a call gives one"
    assert.equal(7, said.one)
    assert.same({ "misuse", 'ctx.output: each "list" gives no output',
      "its results are in the variable that `into` names" }, said.list)
    assert.same({ "misuse", 'ctx.output: wait "met" gives no output', hint },
      said.met)
    assert.same({ "misuse", 'ctx.output: timer "nap" gives no output', hint },
      said.nap)
    assert.same({ "misuse", 'ctx.output: finish "z" gives no output', hint },
      said.z)
  end)

  it("is said to be gone where its history was trimmed", function()
    local flow = pawl.workflow { code = "t.out", keep_history = 100 }
    flow:step("first", { run = function() return 1 end })
    flow:step("a", { next = { on = "a", done = "last" },
      run = function(ctx)
        ctx.vars.n = (ctx.vars.n or 0) + 1
        return ctx.vars.n < 400 and "on" or "done", ctx.vars.n
      end })
    flow:timer("last", { after = "1h" })
    flow:step("ask", { retry = false, on_error = { notfound = "lost" },
      run = function(ctx)
        ctx.vars.a = ctx.output.a
        return ctx.output.first
      end })
    flow:finish "z"
    flow:finish("lost", { output = function(ctx)
      return { ctx.output.a, ctx.error.message }
    end })
    local id = run(flow)
    assert.same({ 400, 'the output of "first" is there no more: its history '
      .. "was trimmed" }, output(id))
  end)

  it("is what the node itself gave, in `undo`", function()
    local flow, undone = pawl.workflow { code = "t.out" }, {}
    local function undo(ctx) undone[#undone + 1] = ctx.output end
    flow:step("a", { undo = undo, run = function() return 1 end })
    flow:step("b", { undo = undo, run = function() return 2 end })
    flow:finish("z", { status = "failed" })
    run(flow)
    assert.same({ 2, 1 }, undone)
  end)
end)

describe("a limited script", function()
  for _, level in ipairs { "limited", "isolated" } do
    it("that is " .. level .. " reads outputs of before", function()
      local engine = assert(pawl.open(":memory:", { trust = level }))
      assert(engine:load(tmp.file("flow.lua", [[
        local pawl = require "pawl"
        local flow = pawl.workflow { code = "mod.out" }
        flow:step("a", { run = function() return { n = 5 } end })
        flow:step("b", { run = function(ctx) return ctx.output.a.n end })
        flow:finish("z", { output = function(ctx)
          return { ctx.output.b, (pcall(function() return ctx.output.c end)) }
        end })
        return flow]])))
      local id = assert(engine:start "mod.out")
      assert(engine:run())
      assert.same({ 5, false }, assert(engine:get(id)).output)
      engine:close()
    end)
  end
end)
