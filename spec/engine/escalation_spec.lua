--- Escalation: what runs inside of something tells whoever is around it, and
--- goes on. By ctx.escalate, which the nearest boundary takes; or by an event
--- to ctx.parent, or to the instance itself, which all of them take.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- A child that tells its parent how it stands, and then waits to be let go.
local function child(waits)
  local flow = pawl.workflow { code = "t.child" }
  flow:step("tell", { run = function(ctx)
    ctx.signal { name = "stock.low", instance = ctx.parent,
      data = { left = ctx.input.left } }
  end })
  if waits then flow:timer("shelf", { after = "1h" }) end
  flow:finish("done", { output = function() return "packed" end })
  return flow
end

--- What it gives is what of that is told by the boundary `caught`.
local function parent(caught, node, options)
  local flow = pawl.workflow { code = "t.parent" }
  options.on_event = caught
  flow[node](flow, "inner", options)
  flow:finish("done", { output = function(ctx) return ctx.vars end })
  if caught and caught.next then
    flow:step(caught.next, { next = "other", run = function(ctx)
      ctx.vars.told = ctx.event.data.left
      ctx.vars.by = ctx.event.source
    end })
    flow:finish("other", { output = function(ctx) return ctx.vars end })
  end
  return flow
end

local function lane(ctx)
  local told = ctx.vars.told or {}
  told[#told + 1] = ctx.event.data.left
  ctx.vars.told = told
end

local CALL <const> = { workflow = "t.child", input = { left = 3 },
  into = "given", next = "done" }

local function options(of)
  local copy = {}
  for name, value in pairs(of) do copy[name] = value end
  return copy
end

local function run(backend, flows)
  local engine, clock = backend.fresh()
  for _, flow in ipairs(flows) do assert(engine:load(flow)) end
  local id = assert(engine:start "t.parent")
  assert(engine:run())
  return engine, id, clock
end

kit.describe("an escalation by ctx.signal", function(backend)
  it("is caught beside a call, which goes on", function()
    local engine, id = run(backend, { child(), parent({ event = "stock.low",
      interrupt = false, run = lane }, "call", options(CALL)) })
    assert.same({ told = { 3 }, given = "packed" }, engine:get(id).variables)
    -- in the order in which the child told it and its end
    assert.matches("received inner.on_event, child inner",
      kit.trail(engine, id))
  end)

  it("is caught instead of the call, whose child ends", function()
    local engine, id = run(backend, { child(true), parent({
      event = "stock.low", next = "instead" }, "call", options(CALL)) })
    local got, one = assert(engine:get(id)), engine:children(id)[1]
    assert.equal(3, got.output.told)
    assert.equal(one.id, got.output.by)
    assert.equal("cancelled", kit.status(engine, one.id))
  end)

  it("comes of each child of an each", function()
    local engine, id = run(backend, { child(), parent({ event = "stock.low",
      interrupt = false, run = lane }, "each", { workflow = "t.child",
      items = function() return { { left = 1 }, { left = 2 } } end,
      into = "given", next = "done" }) })
    local vars = engine:get(id).variables
    table.sort(vars.told)
    assert.same({ told = { 1, 2 }, given = { "packed", "packed" } }, vars)
  end)

  it("of a branch is the fork's", function()
    local flow = pawl.workflow { code = "t.parent" }
    flow:fork("both", { next = { "count", "idle" },
      on_event = { event = "stock.low", next = "order" } })
    flow:step("count", { next = "meet", run = function(ctx)
      ctx.signal { name = "stock.low", instance = ctx.id, data = 1 }
    end })
    flow:timer("idle", { after = "1d", next = "meet" })
    flow:join("meet", { next = "done" })
    flow:step("order", { next = "done",
      run = function(ctx) ctx.vars.ordered = ctx.event.data end })
    flow:finish("done", { output = function(ctx) return ctx.vars end })
    local engine, id = run(backend, { flow })
    assert.same({ ordered = 1 }, engine:get(id).output)
  end)

  it("that nobody catches is told in the history, and nothing else", function()
    local engine, id = run(backend, { child(),
      parent(nil, "call", options(CALL)) })
    assert.same({ given = "packed" }, engine:get(id).output)
    local row = kit.last(engine, id)
    assert.equal("untaken", row.type)
    assert.matches('event "stock.low"', row.text)
  end)

  it("of one that has no parent reaches nobody, and it goes on", function()
    local engine = backend.fresh()
    assert(engine:load(child()))
    local id = assert(engine:start "t.child")
    assert(engine:run())
    assert.equal("packed", assert(engine:get(id)).output)
  end)
end)

---- ctx.escalate ----------------------------------------------------------

--- All that was told, by whom and to whom, as the history has it.
local function told(engine, id)
  local out = {}
  for _, row in ipairs(assert(engine:history(id))) do
    if row.type == "escalated" or row.type == "untaken" then
      out[#out + 1] = ("%s %s: %s"):format(row.type, row.node, row.text)
    end
  end
  return out
end

--- A step that escalates.
local function says(name, data)
  return function(ctx) ctx.escalate(name, data) end
end

--- Adds its event's data to the variable of that name.
local function notes(name)
  return function(ctx)
    local list = ctx.vars[name] or {}
    list[#list + 1] = ctx.event.data
    ctx.vars[name] = list
  end
end

local function all_vars(ctx) return ctx.vars end

kit.describe("ctx.escalate", function(backend)
  it("is the scope's of the item that said so", function()
    local flow = pawl.workflow { code = "t.parent" }
    flow:each("orders", { items = function() return { "a", "b" } end,
      branch = "parts", into = "given", next = "z" })
    flow:fork("parts", { next = { "pick", "pay" },
      on_event = { event = "no.stock", next = "cancelled" } })
    flow:step("pick", { next = "ready", run = function(ctx)
      if ctx.token.data.item == "a" then ctx.escalate("no.stock", 0) end
    end })
    flow:timer("pay", { after = "1h", next = "ready" })
    flow:join("ready", { next = "packed" })
    flow:step("packed", { next = "orders",
      run = function() return nil, "packed" end })
    flow:step("cancelled", { next = "orders",
      run = function(ctx) return nil, ctx.event.data end })
    flow:finish("z", { output = function(ctx) return ctx.vars.given end })
    local engine, id, clock = run(backend, { flow })
    clock:advance(3601)
    assert(engine:run())
    assert.same({ 0, "packed" }, engine:get(id).output)
    assert.same({ 'escalated pick: "no.stock" to "parts.on_event"' },
      told(engine, id))
  end)

  --- A fork in a fork; `said` by the step inside both.
  local function nested(said)
    local flow = pawl.workflow { code = "t.parent" }
    flow:fork("outer", { next = { "inner", "idle" }, on_event = {
      { event = "low", interrupt = false, run = notes "outer" },
      { event = "none", next = "outer_ends" } } })
    flow:fork("inner", { next = { "a", "b" }, on_event = {
      { event = "low", interrupt = false, run = notes "inner" },
      { event = "out", next = "inner_ends" } } })
    flow:step("a", { run = said, next = "c" })
    flow:step("c", { next = "met",
      run = function(ctx) ctx.vars.went_on = true end })
    flow:timer("b", { after = "1h", next = "met" })
    flow:join("met", { next = "both" })
    flow:step("inner_ends", { next = "both",
      run = function(ctx) ctx.vars.ended = ctx.event.data end })
    flow:timer("idle", { after = "1h", next = "both" })
    flow:join("both", { next = "z" })
    flow:step("outer_ends", { next = "z",
      run = function(ctx) ctx.vars.ended_all = ctx.event.data end })
    flow:finish("z", { output = all_vars })
    local engine, id, clock = run(backend, { flow })
    clock:advance(3601)
    assert(engine:run())
    return assert(engine:get(id)).output, told(engine, id)
  end

  it("is the innermost fork's, and no other's", function()
    local vars, rows = nested(says("low", 1))
    assert.same({ inner = { 1 }, went_on = true }, vars)
    assert.same({ 'escalated a: "low" to "inner.on_event"' }, rows)
  end)

  it("goes outwards to the first that it is for", function()
    local vars, rows = nested(says("none", 2))
    assert.same({ ended_all = 2 }, vars)
    assert.same({ 'escalated a: "none" to "outer.on_event_2"' }, rows)
  end)

  it("ends at once who said it, where that ends the scope", function()
    local vars = nested(says("out", 3))
    assert.same({ ended = 3 }, vars)
  end)

  it("may be said several times by one step, in order", function()
    local vars, rows = nested(function(ctx)
      ctx.escalate("low", 1)
      ctx.escalate("out", 2)
      ctx.escalate("low", 3)
      ctx.escalate "else"
    end)
    assert.same({ inner = { 1 }, outer = { 3 }, ended = 2 }, vars)
    assert.same({ 'escalated a: "low" to "inner.on_event"',
      'escalated a: "out" to "inner.on_event_2"',
      'escalated a: "low" to "outer.on_event"',
      'untaken a: escalation "else": nobody around it takes it' }, rows)
  end)

  it("is heard on the innermost each of two", function()
    local flow = pawl.workflow { code = "t.parent" }
    flow:each("rows", { items = function() return { 1, 2 } end,
      branch = "cells", next = "z", on_event = { event = "bad.*",
        interrupt = false, run = notes "rows" } })
    flow:each("cells", { items = function(ctx)
      return { ctx.token.data.item * 10 }
    end, branch = "look", next = "pause", on_event = { event = "bad.cell",
      interrupt = false, run = notes "cells" } })
    -- or what it begins would end with its item
    flow:timer("pause", { after = "1h", next = "rows" })
    flow:step("look", { next = "cells", run = function(ctx)
      ctx.escalate(ctx.token.data.item == 10 and "bad.cell" or "bad.row",
        ctx.token.data.item)
    end })
    flow:finish("z", { output = all_vars })
    local engine, id = run(backend, { flow })
    assert.same({ cells = { 10 }, rows = { 20 } },
      engine:get(id).variables)
  end)

  --- A step with a boundary of its own.
  local function own(beside_it, said)
    local flow = pawl.workflow { code = "t.parent" }
    flow:step("a", { run = said or says("low", 5), next = "b",
      retry = { max = 2, base = "1s", jitter = 0 }, on_event = beside_it })
    flow:step("b", { next = "z", run = function(ctx) ctx.vars.b = true end })
    if beside_it.next then
      flow:step("c", { next = "z", run = notes "c" })
    end
    flow:finish("z", { output = all_vars })
    return run(backend, { flow })
  end

  it("leads on from its own step by what is beside that", function()
    local engine, id = own { event = "low", next = "c" }
    assert.same({ c = { 5 } }, engine:get(id).output)
    assert.equal("escalated a, step a, received a.on_event, dropped a, "
      .. "step c", kit.trail(engine, id))
  end)

  it("begins a lane beside its own step, which goes on", function()
    local engine, id = own { event = "low", interrupt = false,
      run = notes "lane" }
    assert.same({ lane = { 5 }, b = true }, engine:get(id).variables)
  end)

  it("of an attempt that fails is told to nobody", function()
    local engine, id, clock = own({ event = "low", next = "c" },
      function(ctx)
        ctx.escalate("low", ctx.attempt)
        if ctx.attempt == 1 then error "not yet" end
      end)
    assert.same({}, told(engine, id))
    clock:advance(2)
    assert(engine:run())
    assert.same({ c = { 2 } }, engine:get(id).output)
    assert.equal(1, #told(engine, id))
  end)

  it("passes over whose `match` or `accepts` does not want it", function()
    local flow = pawl.workflow { code = "t.parent" }
    local function beside(name, one)
      one.event, one.interrupt, one.run = "low", false, notes(name)
      return one
    end
    flow:fork("outer", { next = { "mid", "x" }, on_event = {
      beside("first", { match = function(event) return event.data.n > 1 end }),
      beside("second", { key = "key", answer = function(event, ctx)
        return { event.data, event.source == ctx.id }
      end, into = "took" }) } })
    flow:fork("mid", { next = { "a", "y" },
      on_event = beside("mid", { accepts = { left = "number" } }) })
    flow:step("a", { run = says("low", { n = 1 }), next = "met" })
    flow:step("y", { run = function() end, next = "met" })
    flow:join("met", { next = "both" })
    flow:step("x", { run = function() end, next = "both" })
    flow:join("both", { next = "z" })
    flow:finish "z"
    local engine = backend.fresh()
    assert(engine:load(flow))
    local id = assert(engine:start("t.parent", { key = "k" }))
    assert(engine:run())
    assert.same({ second = { { n = 1 } }, took = { n = 1 } },
      engine:get(id).variables)
    assert.same({ 'escalated a: "low" to "outer.on_event_2"' },
      told(engine, id))
    assert.matches("refused mid.on_event", kit.trail(engine, id))
  end)

  it("of a handler that waits ends others that do", function()
    local flow = pawl.workflow { code = "t.parent" }
    flow:fork("both", { next = { "a", "b" },
      on_event = { event = "low", next = "ends" } })
    flow:step("a", { next = "met", run = function(ctx)
      ctx.await(function() return true end)
      ctx.escalate("low", 1)
    end })
    flow:step("b", { next = "met", run = function(ctx)
      ctx.await(function() return false end)
    end })
    flow:join("met", { next = "z" })
    flow:step("ends", { next = "z", run = notes "ends" })
    flow:finish("z", { output = all_vars })
    local engine, id = run(backend, { flow })
    assert.same({ ends = { 1 } }, engine:get(id).output)
  end)

  it("says what is wrong with what it is given", function()
    local wrong = {}
    local function try(...)
      local ok, err = pcall(...)
      assert(not ok)
      wrong[#wrong + 1] = err.code .. ": " .. err.message
    end
    local engine, id = own({ event = "low", next = "c" }, function(ctx)
      try(ctx.escalate)
      try(ctx.escalate, 5)
      try(ctx.escalate, "two words")
      try(ctx.escalate, "low", print)
    end)
    assert.completed(engine, id)
    assert.matches("name is a n.+not text", wrong[1])
    assert.matches("misuse: .*name is a number, not text", wrong[2])
    assert.matches('"two words" cannot be an event\'s name', wrong[3])
    assert.equal(4, #wrong)
    assert.same({}, told(engine, id))
  end)
end)

kit.describe("ctx.escalate in a child", function(backend)
  local function teller(run_it)
    local flow = pawl.workflow { code = "t.child" }
    flow:step("tell", { run = run_it or says("stock.low", { left = 3 }) })
    flow:finish("done", { output = function() return "packed" end })
    return flow
  end

  --- Starts the child, and catches nothing itself.
  local function between(caught)
    local flow = pawl.workflow { code = "t.between" }
    flow:call("hand", { workflow = "t.child", into = "given",
      on_event = caught })
    flow:finish("done", { output = function(ctx) return ctx.vars.given end })
    return flow
  end

  it("is caught beside the call, which goes on", function()
    local engine, id = run(backend, { teller(), parent({ event = "stock.low",
      interrupt = false, run = lane }, "call", options(CALL)) })
    assert.same({ told = { 3 }, given = "packed" }, engine:get(id).variables)
    local one = engine:children(id)[1]
    assert.same({ ('escalated tell: "stock.low" to its parent %s'):format(id) },
      told(engine, one.id))
    assert.matches("received inner.on_event, child inner",
      kit.trail(engine, id))
  end)

  it("ends the call that it interrupts, and the child", function()
    local waits = pawl.workflow { code = "t.child" }
    waits:step("tell", { run = says("stock.low", { left = 3 }) })
    waits:timer("shelf", { after = "1h" })
    waits:finish "done"
    local engine, id = run(backend, { waits, parent({ event = "stock.low",
      next = "instead" }, "call", options(CALL)) })
    local got, one = assert(engine:get(id)), engine:children(id)[1]
    assert.same({ told = 3, by = one.id }, got.output)
    assert.equal("cancelled", kit.status(engine, one.id))
  end)

  it("is the call's that has started it, and no other's", function()
    local flow = pawl.workflow { code = "t.parent" }
    local function call(n)
      flow:call("call" .. n, { workflow = "t.child", input = { n = n },
        next = "met", on_event = { event = "stock.low", interrupt = false,
          run = notes("call" .. n) } })
    end
    flow:fork("both", { next = { "call1", "call2" },
      on_event = { event = "stock.*", interrupt = false, run = notes "both" } })
    call(1)
    call(2)
    flow:join("met", { next = "z" })
    flow:finish "z"
    local engine, id = run(backend, { flow, teller(function(ctx)
      ctx.escalate(ctx.input.n == 1 and "stock.low" or "stock.out",
        ctx.input.n)
    end) })
    assert.same({ call1 = { 1 }, both = { 2 } }, engine:get(id).variables)
  end)

  it("is caught on an each, of every child", function()
    local engine, id = run(backend, { teller(function(ctx)
      ctx.escalate("stock.low", { left = ctx.input.left })
    end), parent({ event = "stock.low", interrupt = false, run = lane },
      "each", { workflow = "t.child",
        items = function() return { { left = 1 }, { left = 2 } } end,
        into = "given", next = "done" }) })
    local vars = engine:get(id).variables
    table.sort(vars.told)
    assert.same({ told = { 1, 2 }, given = { "packed", "packed" } }, vars)
  end)

  it("is handed on by a parent that does not catch it", function()
    local engine, id = run(backend, { teller(), between(), parent({
      event = "stock.low", interrupt = false, run = lane }, "call",
      { workflow = "t.between", into = "given", next = "done" }) })
    assert.same({ told = { 3 }, given = "packed" }, engine:get(id).variables)
    local mid = engine:children(id)[1].id
    local leaf = engine:children(mid)[1].id
    assert.same({ ('escalated hand: "stock.low" of %s to its parent %s')
      :format(leaf, id) }, told(engine, mid))
  end)

  it("stops at the nearest parent that catches it", function()
    local engine, id = run(backend, { teller(), between { event = "stock.low",
      interrupt = false, run = lane }, parent({
      event = "stock.low", interrupt = false, run = lane }, "call",
      { workflow = "t.between", into = "given", next = "done" }) })
    assert.same({ given = "packed" }, engine:get(id).variables)
    assert.same({ given = "packed", told = { 3 } },
      engine:get(engine:children(id)[1].id).variables)
  end)

  it("stays in the child, where that catches it itself", function()
    local own = pawl.workflow { code = "t.child" }
    own:step("tell", { run = says("stock.low", { left = 3 }),
      on_event = { event = "stock.low", interrupt = false, run = lane } })
    own:finish("done", { output = function() return "packed" end })
    local engine, id = run(backend, { own, parent({ event = "stock.low",
      interrupt = false, run = lane }, "call", options(CALL)) })
    assert.same({ given = "packed" }, engine:get(id).variables)
    assert.same({ 'escalated tell: "stock.low" to "tell.on_event"' },
      told(engine, engine:children(id)[1].id))
  end)

  it("that nobody catches is told where nobody did", function()
    local engine, id = run(backend, { teller(), between(), parent(nil, "call",
      { workflow = "t.between", into = "given", next = "done" }) })
    assert.same({ given = "packed" }, engine:get(id).output)
    local leaf = engine:children(engine:children(id)[1].id)[1].id
    assert.same({ ('untaken inner: escalation "stock.low" of %s: '
      .. "nobody around it takes it"):format(leaf) }, told(engine, id))
  end)

  it("of one that has no parent reaches nobody, and it goes on", function()
    local engine = backend.fresh()
    assert(engine:load(teller()))
    local id = assert(engine:start "t.child")
    assert(engine:run())
    assert.equal("packed", assert(engine:get(id)).output)
    assert.same({ 'untaken tell: escalation "stock.low": '
      .. "nobody around it takes it" }, told(engine, id))
  end)

  it("is nobody's once the call has gone on", function()
    local late = pawl.workflow { code = "t.child" }
    late:timer("hours", { after = "2h" })
    late:step("tell", { run = says "stock.low" })
    late:finish "done"
    local flow = pawl.workflow { code = "t.parent" }
    flow:call("inner", { workflow = "t.child", parent_end = "leave",
      timeout = "1h", next = { completed = "idle", timeout = "idle" },
      on_event = { event = "stock.low", next = "z" } })
    flow:timer("idle", { after = "1d", next = "z" })
    flow:finish "z"
    local engine, id, clock = run(backend, { late, flow })
    clock:advance(3601)
    assert(engine:run())
    clock:advance(3601)
    assert(engine:run())
    local one = engine:children(id)[1]
    assert.same({ ('untaken idle: escalation "stock.low" of %s: '
      .. "what waited for it had gone on by then"):format(one.id) },
      told(engine, id))
    assert.equal("waiting", kit.status(engine, id))
  end)
end)

kit.describe("a node that escalates", function(backend)
  --- Two branches, the first of which only says so.
  local function fork(said, beside)
    local flow = pawl.workflow { code = "t.parent" }
    flow:fork("both", { next = { "tell", "idle" }, on_event = beside })
    flow:escalate("tell", said)
    flow:timer("idle", { after = "1h", next = "meet" })
    flow:join("meet", { next = "z" })
    if beside.next then
      flow:step("ends", { next = "z", run = notes "ends" })
    end
    flow:finish("z", { output = all_vars })
    return flow
  end

  it("ends the fork that it is in, with what its handler gives", function()
    local engine, id = run(backend, { fork({ event = "low", next = "meet",
      data = function(ctx) return ctx.input.left or 4 end },
      { event = "low", next = "ends" }) })
    assert.same({ ends = { 4 } }, engine:get(id).output)
    assert.same({ 'escalated tell: "low" to "both.on_event"' },
      told(engine, id))
  end)

  it("goes on, where that does not interrupt or nobody takes it", function()
    for _, event in ipairs { "low", "else" } do
      local engine, id, clock = run(backend, { fork({ event = event,
        next = "meet" }, { event = "low", interrupt = false,
          run = function(ctx) ctx.vars.told = ctx.event.source == ctx.id end })
      })
      clock:advance(3601)
      assert(engine:run())
      local got = assert(engine:get(id))
      assert.equal("completed", got.status)
      assert.equal(event == "low" or nil, got.variables.told)
      assert.same({ event == "low"
        and 'escalated tell: "low" to "both.on_event"'
        or 'untaken tell: escalation "else": nobody around it takes it' },
        told(engine, id))
    end
  end)

  it("may begin a workflow, and tell the call that has started it", function()
    local flow = pawl.workflow { code = "t.child" }
    flow:escalate("tell", { event = "stock.low",
      data = function() return { left = 3 } end })
    flow:finish("done", { output = function() return "packed" end })
    local engine, id = run(backend, { flow, parent({ event = "stock.low",
      interrupt = false, run = lane }, "call", options(CALL)) })
    assert.same({ told = { 3 }, given = "packed" }, engine:get(id).variables)
    assert.equal("started tell, escalated tell, child inner",
      kit.trail(engine, engine:children(id)[1].id) .. ", child inner")
  end)

  it("is tried again, or led elsewhere, when its handler fails", function()
    local engine, id, clock = run(backend, { fork({ event = "low",
      next = "meet", retry = { max = 2, base = "1s", jitter = 0 },
      on_error = { broken = "meet" },
      data = function() error { code = "broken" } end },
      { event = "low", next = "ends" }) })
    clock:advance(2)
    assert(engine:run())
    clock:advance(3601)
    assert(engine:run())
    local got = assert(engine:get(id))
    assert.same({ "completed", {} }, { got.status, got.variables })
    assert.same({}, told(engine, id))
  end)

  it("is refused without one event of its own, by its name", function()
    local function refused(words, said)
      local ok, err = pcall(function()
        local flow = pawl.workflow { code = "t.bad" }
        flow:escalate("tell", said)
        flow:finish "z"
        return flow
      end)
      if ok then ok, err = backend.fresh():load(err) end
      assert(not ok)
      assert.matches(words, tostring(err), 1, true)
    end
    refused("has no 'event'", {})
    refused("not well formed", { event = "stock.*" })
    refused("did you mean", { event = "low", date = print })
  end)
end)

kit.describe("an escalation that may be told twice", function(backend)
  local function flows()
    local flow = pawl.workflow { code = "t.child" }
    flow:step("tell", { run = function(ctx)
      ctx.escalate("stock.low", 1)
      ctx.escalate("stock.low", 2)
    end })
    flow:finish "done"
    local up = pawl.workflow { code = "t.parent" }
    up:fork("both", { next = { "inner", "say" },
      on_event = { event = "own", interrupt = false, run = notes "own" } })
    up:call("inner", { workflow = "t.child", next = "meet",
      on_event = { event = "stock.low", interrupt = false,
        run = notes "told" } })
    up:escalate("say", { event = "own", next = "meet" })
    up:join("meet", { next = "done" })
    up:finish "done"
    return { flow, up }
  end

  it("is taken once, though another delivers the same meanwhile", function()
    local engine, rival, clock, url = kit.pair(backend, flows())
    local id = assert(engine:start "t.parent")
    kit.delivered_twice(engine, rival, clock)
    local got = assert(engine:get(id))
    assert.equal("completed", got.status)
    table.sort(got.variables.told)
    assert.equal("1 2", table.concat(got.variables.told, " "))
    assert.equal(1, #got.variables.own)
    assert.equal(0, kit.count(backend, url, "message"))
  end)
end)
