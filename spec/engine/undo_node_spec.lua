--- The node undo: a part of what was done is taken back, and it goes on.
local explain = require "pawl.explain"
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- Steps that can be undone, one behind the other: each says so in `log`, and
--- its undo as well; then "back" and what `more` draws.
---@param names string[]
---@param options? table  of the undo node
local function trip(names, options, more, code)
  local flow = pawl.workflow { code = code or "t.undo" }
  for _, name in ipairs(names) do
    flow:step(name, {
      run = function(ctx)
        ctx.vars[name] = (ctx.vars[name] or 0) + 1
        return { of = name }
      end,
      undo = function(ctx)
        assert(ctx.output.of == name)
        ctx.vars.undone = (ctx.vars.undone or "") .. name
        ctx.vars[name] = ctx.vars[name] - 1
      end,
      retry = { max = 2, base = 1, jitter = 0 },
    })
  end
  flow:undo("back", options)
  if more then more(flow) end
  flow:finish("done", { output = function(ctx) return ctx.vars end })
  return flow
end

local function run(backend, flow, input)
  local engine, clock, url = backend.fresh()
  assert(engine:load(flow))
  local id = assert(engine:start(flow.code, input))
  assert(engine:run())
  return engine, id, clock, url
end

--- Adds steps to a flow, which as they are undone tell their names.
local function steps_of(flow)
  return function(name, to)
    flow:step(name, { run = function() end, next = to,
      undo = function(ctx)
        ctx.vars.undone = (ctx.vars.undone or "") .. name
      end })
  end
end

kit.describe("an undo node", function(backend)
  it("undoes all that was done, newest first, and goes on", function()
    local engine, id = run(backend, trip { "a", "b", "c" })
    local got = assert(engine:get(id))
    assert.same({ "completed", { a = 0, b = 0, c = 0, undone = "cba" } },
      { got.status, got.output })
    assert.is_nil(got.compensation)
    assert.equal("step a, step b, step c, undone c, undone b, undone a, "
      .. "compensated back", kit.trail(engine, id))
    local row = kit.last(engine, id)
    assert.same({ undone = 3 }, row.output)
    assert.equal("done", row.path)
  end)

  it("undoes the nodes that it names", function()
    local engine, id = run(backend, trip({ "a", "b", "c" },
      { of = { "a", "c" } }))
    assert.equal("ca", engine:get(id).output.undone)
  end)

  it("undoes what is inside a fork that it names", function()
    local flow = pawl.workflow { code = "t.fork" }
    local step = steps_of(flow)
    step("a", "both")
    flow:fork("both", { next = { "b", "c" } })
    step("b", "meet")
    step("c", "meet")
    flow:join("meet", { next = "d" })
    step("d", "back")
    flow:undo("back", { of = "both" })
    flow:finish("done", { output = function(ctx) return ctx.vars.undone end })
    local engine, id = run(backend, flow)
    assert.equal("cb", engine:get(id).output)
  end)

  it("has nothing to undo, and goes on", function()
    local engine, id = run(backend, trip({ "a", "b" }, { next = "again" },
      function(flow) flow:undo "again" end))
    assert.equal("ba", engine:get(id).output.undone)
    assert.same({ undone = 0 }, kit.last(engine, id).output)
  end)

  it("leaves what was undone to no other, nor to the end", function()
    local engine, id = run(backend, trip({ "a", "b", "c" }, { of = "b" },
      function(flow)
        flow:undo("again", { of = { "b", "c" } })
        flow:choice("how", { next = { well = "done", badly = "failed" },
          choose = function() return "badly" end })
        flow:finish("failed", { status = "failed" })
      end))
    local got = assert(engine:get(id))
    assert.equal("failed", got.status)
    assert.equal("bca", got.variables.undone)
    assert.same({ 1, 1 }, { got.compensation.planned,
      #got.compensation.plan })
  end)

  it("undoes each visit once", function()
    local flow = pawl.workflow { code = "t.loop" }
    flow:step("book", {
      next = { again = "back", well = "done" },
      run = function(ctx)
        ctx.vars.n = (ctx.vars.n or 0) + 1
        return ctx.vars.n < 4 and "again" or "well", ctx.vars.n
      end,
      undo = function(ctx)
        ctx.vars.undone = (ctx.vars.undone or "") .. ctx.output
      end,
    })
    flow:undo("back", { next = "book" })
    flow:finish("done", { status = "failed" })
    local engine, id = run(backend, flow)
    assert.equal("1234", engine:get(id).variables.undone)
  end)

  it("is where an error leads, which undo handlers see", function()
    local flow = pawl.workflow { code = "t.saga" }
    local seen
    flow:step("book", { run = function() end,
      undo = function(ctx) seen = ctx.error.code end })
    flow:step("pay", { next = "done", on_error = { declined = "back" },
      run = function() error { code = "declined" } end })
    flow:undo("back", { next = "other" })
    flow:step("other", { next = "done",
      run = function(ctx) ctx.vars.other = true end })
    flow:finish("done", { output = function(ctx) return ctx.vars end })
    local engine, id = run(backend, flow)
    assert.same({ other = true }, engine:get(id).output)
    assert.equal("declined", seen)
  end)
end)

kit.describe("an undo node whose step cannot be undone", function(backend)
  local tries

  local function stuck(on_error)
    local flow = pawl.workflow { code = "t.stuck" }
    tries = 0
    flow:step("a", { run = function() end,
      undo = function(ctx) ctx.vars.undone = "a" end })
    flow:step("b", { run = function() end, retry = { max = 2, base = 60,
      jitter = 0 }, undo = function()
      tries = tries + 1
      error { code = "stuck", message = "no answer" }
    end })
    flow:undo("back", { on_error = on_error, next = "done" })
    flow:finish("done", { output = function(ctx) return ctx.vars end })
    if on_error then
      flow:finish("by_hand", { output = function(ctx)
        return { ctx.error.code, ctx.error.message, ctx.vars.undone }
      end })
    end
    return flow
  end

  it("undoes the others, and leads where on_error says", function()
    local engine, id, clock = run(backend, stuck { undo_failed = "by_hand" })
    local got = assert(engine:get(id))
    assert.same({ "running", "running", 0 }, { got.status,
      got.compensation.status, got.compensation.undo_failed })
    assert.equal("back", got.compensation.node)
    assert.is_nil(got.compensation["end"])
    assert.same({ "b", "a" }, { got.compensation.plan[1].node,
      got.compensation.plan[2].node })
    local why = table.concat(
      explain.sentences(assert(engine:explain(id))), " ")
    assert.matches('"back" undoes what was done, newest first: 0 of 2 steps '
      .. 'done; next is "b"%.', why)
    assert.equal(clock:now() + 60, engine:next_due())
    clock:advance "60s"
    assert(engine:run())
    assert.same({ "undo_failed", "1 of 2 steps could not be undone", "a" },
      engine:get(id).output)
    assert.equal(2, tries)
    assert.equal("step a, step b, failed b, undo_failed b, undone a, "
      .. "failed back", kit.trail(engine, id))
  end)

  it("fails where nothing catches that", function()
    local engine, id, clock = run(backend, stuck())
    clock:advance "60s"
    assert(engine:run())
    local got = assert(engine:get(id))
    assert.same({ "failed", "undo_failed" }, { got.status, got.error.code })
    assert.equal(2, tries)
    assert.equal(0, got.compensation.planned)
  end)
end)

kit.describe("beside an undo node", function(backend)
  --- `a`, then a fork of an undo that is tried again in a minute, and `other`.
  local function beside(other)
    local flow = pawl.workflow { code = "t.beside" }
    flow:step("a", { run = function() end, retry = { max = 5, base = 60,
      factor = 1, jitter = 0 }, undo = function(ctx)
        if ctx.attempt < 2 then error "not yet" end
        ctx.vars.undone = (ctx.vars.undone or "") .. "a"
      end })
    flow:fork("both", { next = { "back", "other" } })
    flow:undo("back", { next = "meet" })
    other(flow)
    flow:join("meet", { next = "done" })
    flow:finish("done", { output = function(ctx) return ctx.vars end })
    return flow
  end

  it("all others stand still, and what comes for them stays", function()
    local engine, id, clock = run(backend, beside(function(flow)
      flow:wait("other", { event = "go", into = "got", next = "meet" })
    end))
    assert(engine:signal { name = "go", instance = id, data = 1 })
    assert(engine:run())
    assert.same({ "waiting" }, { (assert(engine:tokens(id)))[2].state })
    assert.is_true(assert(engine:health()).sound)
    assert.equal("running", kit.status(engine, id))
    clock:advance "60s"
    assert(engine:run())
    assert.same({ undone = "a", got = 1 }, engine:get(id).output)
  end)

  it("times come when it is through", function()
    local engine, id, clock = run(backend, beside(function(flow)
      flow:timer("other", { after = "10s", next = "meet" })
    end))
    clock:advance "30s"
    assert.equal(0, assert(engine:run()).commits)
    assert.equal(clock:now() + 30, engine:next_due())
    clock:advance "30s"
    assert(engine:run())
    assert.same({ undone = "a" }, engine:get(id).output)
  end)

  it("steps go on behind it, and can be undone later", function()
    local engine, id, clock = run(backend, beside(function(flow)
      flow:step("other", { next = "meet", run = function() end,
        undo = function(ctx) ctx.vars.undone = ctx.vars.undone .. "o" end })
    end))
    clock:advance "60s"
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("a child's result is there behind it", function()
    local child = pawl.workflow { code = "t.child" }
    child:finish("z", { output = function() return "c" end })
    local flow = beside(function(flow)
      flow:call("other", { workflow = "t.child", into = "child",
        next = "meet" })
    end)
    local engine, clock = backend.fresh()
    assert(engine:load(child))
    assert(engine:load(flow))
    local id = assert(engine:start "t.beside")
    assert(engine:run())
    clock:advance "60s"
    assert(engine:run())
    assert.same({ undone = "a", child = "c" }, engine:get(id).output)
  end)

  it("to cancel ends it: what is left is undone", function()
    local engine, id, clock = run(backend, beside(function(flow)
      flow:timer("other", { after = "1d", next = "meet" })
    end))
    assert(engine:cancel(id, "enough"))
    assert(engine:run())
    assert.equal("cancelled", engine:get(id).compensation["end"])
    clock:advance "60s"
    assert(engine:run())
    local got = assert(engine:get(id))
    assert.same({ "cancelled", "a", "completed" },
      { got.status, got.variables.undone, got.compensation.status })
  end)

  it("to cancel counts on the attempts of what is being undone", function()
    local flow = pawl.workflow { code = "t.undo" }
    local seen = {}
    for _, name in ipairs { "a", "b" } do
      flow:step(name, { run = function() end,
        retry = { max = 3, base = "1m", jitter = 0 }, undo = function(ctx)
          seen[#seen + 1] = name .. ctx.attempt
          error "it cannot be reached"
        end })
    end
    flow:undo "back"
    flow:finish "done"
    local engine, id, clock = run(backend, flow)
    kit.pass(engine, clock, 90)
    assert.equal("b1 b2", table.concat(seen, " "))
    assert(engine:cancel(id))
    kit.pass(engine, clock, 600)
    assert.equal("b1 b2 b3 a1 a2 a3", table.concat(seen, " "))
    local got = assert(engine:get(id))
    assert.same({ "cancelled", "completed_with_errors", 2 },
      { got.status, got.compensation.status, #got.compensation.failed })
  end)

  it("to kill ends it at once", function()
    local engine, id = run(backend, beside(function(flow)
      flow:timer("other", { after = "1d", next = "meet" })
    end))
    assert(engine:kill(id))
    local got = assert(engine:get(id))
    assert.same({ "cancelled", "stopped" },
      { got.status, got.compensation.status })
  end)

  it("who moves or transfers it has to wait", function()
    local engine, id = run(backend, beside(function(flow)
      flow:timer("other", { after = "1d", next = "meet" })
    end))
    kit.refused("conflict", "being undone", nil,
      engine:move(id, { to = "meet", token = 3 }))
    assert(engine:suspend(id))
    assert(engine:resume(id))
    assert.equal("running", kit.status(engine, id))
  end)

  it("an event that cancels is taken behind it", function()
    local flow = pawl.workflow { code = "t.cancel_on", cancel_on = "stop" }
    flow:step("a", { run = function() end, retry = { max = 3, base = 60,
      jitter = 0 }, undo = function(ctx)
        if ctx.attempt < 2 then error "not yet" end
      end })
    flow:undo "back"
    flow:timer("t", { after = "1d" })
    local engine, id, clock = run(backend, flow)
    assert(engine:signal { name = "stop", instance = id })
    assert(engine:run())
    assert.equal("running", kit.status(engine, id))
    clock:advance "60s"
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("another one takes its turn", function()
    local two = pawl.workflow { code = "t.two" }
    local step = steps_of(two)
    step("a", "b")
    step("b", "both")
    two:fork("both", { next = { "first", "second" } })
    two:undo("first", { of = "a", next = "meet" })
    two:undo("second", { next = "meet" })
    two:join("meet", { next = "done" })
    two:finish("done", { output = function(ctx) return ctx.vars.undone end })
    local engine, id = run(backend, two)
    assert.equal("ab", engine:get(id).output)
  end)
end)

kit.describe("an undo of very many", function(backend)
  --- So many visits of `book`, one of `keep`, and twice an undo.
  local function many(n)
    local flow = pawl.workflow { code = "t.many", busy_limit = 1000000 }
    flow:step("keep", { run = function() end, next = "book",
      undo = function(ctx) ctx.vars.kept = (ctx.vars.kept or 0) + 1 end })
    flow:step("book", {
      next = { again = "keep", enough = "some" },
      run = function(ctx)
        ctx.vars.n = (ctx.vars.n or 0) + 1
        return ctx.vars.n < n and "again" or "enough", ctx.vars.n
      end,
      undo = function(ctx)
        assert(ctx.output == ctx.vars.n)
        ctx.vars.n = ctx.vars.n - 1
      end,
    })
    flow:undo("some", { of = "book", next = "rest" })
    flow:undo("rest", { next = "none" })
    flow:undo "none"
    return flow
  end

  it("goes by pages, and passes what was undone before", function()
    local engine, id = run(backend, many(90))
    local got = assert(engine:get(id))
    assert.same({ "completed", 0, 90 },
      { got.status, got.variables.n, got.variables.kept })
    local told = {}
    for _, row in ipairs(assert(engine:history(id, { type = "compensated" })))
    do
      told[#told + 1] = row.output.undone
    end
    assert.same({ 90, 90, 0 }, told)
  end)

  it("goes on where the worker before it has stopped", function()
    local flow = many(40)
    local first, clock, url = backend.fresh()
    assert(first:load(flow))
    local id = assert(first:start "t.many")
    local engines = 0
    while kit.status(first, id) ~= "completed" do
      local engine = kit.rival(backend, url, clock)
      assert(engine:load(flow))
      assert(engine:tick(0))
      engine:close()
      engines = engines + 1
      assert(engines < 1000)
    end
    local got = assert(first:get(id))
    assert.same({ 0, 40 }, { got.variables.n, got.variables.kept })
  end)
end)

kit.describe("an undo node whose handlers wait", function(backend)
  local function waiting(during)
    local flow = pawl.workflow { code = "t.waits" }
    flow:step("a", { run = function() end, undo = function(ctx)
      if during then during(ctx) end
      ctx.await(1)
      ctx.vars.undone = (ctx.vars.undone or 0) + 1
    end })
    flow:undo "back"
    flow:finish("done", { output = function(ctx) return ctx.vars end })
    return flow
  end

  it("goes on when they have", function()
    local engine, id, clock = run(backend, waiting())
    clock:advance "1s"
    assert(engine:run())
    assert.same({ undone = 1 }, engine:get(id).output)
  end)

  it("is cancelled behind them, and undoes nothing twice", function()
    local engine, id, clock = run(backend, waiting())
    assert(engine:cancel(id, "no"))
    assert(engine:run())
    clock:advance "1s"
    assert(engine:run())
    local got = assert(engine:get(id))
    assert.same({ "cancelled", 1 }, { got.status, got.variables.undone })
  end)

  it("counts one undo where a rival has taken over", function()
    local rival, clock, url
    local flow = waiting(function() end)
    local engine
    engine, clock, url = backend.fresh()
    rival = kit.rival(backend, url, clock)
    assert(engine:load(flow))
    assert(rival:load(flow))
    local id = assert(engine:start "t.waits")
    assert(engine:run())
    clock:advance "60s" -- the lease has ended
    assert(rival:run())
    clock:advance "1s"
    assert(rival:run())
    assert(engine:run())
    local got = assert(rival:get(id))
    assert.same({ "completed", 1 }, { got.status, got.variables.undone })
  end)
end)

describe("an undo node's definition", function()
  local function refused(words, build)
    local flow = pawl.workflow { code = "t.wrong" }
    local ok, err = pcall(function()
      build(flow)
      flow:finish "done"
      local engine <close> = assert(pawl.open ":memory:")
      assert(engine:load(flow))
    end)
    assert.is_false(ok)
    assert.matches(words, tostring(err))
  end

  local function noop() end

  it("names what there is, and can be undone", function()
    refused('undo "back": no node has `undo`', function(flow)
      flow:undo "back"
    end)
    refused('undo "back": `of` names no node "bok".*did you mean "book"',
      function(flow)
        flow:step("book", { run = noop, undo = noop })
        flow:undo("back", { of = "bok" })
      end)
    refused('undo "back": `of` names "pay", which has no `undo`',
      function(flow)
        flow:step("book", { run = noop, undo = noop })
        flow:step("pay", { run = noop })
        flow:undo("back", { of = { "book", "pay" } })
      end)
    refused('undo "back": `of` names "both", and nothing inside that has '
      .. "`undo`", function(flow)
      flow:step("book", { run = noop, undo = noop })
      flow:fork("both", { next = { "b", "c" } })
      flow:step("b", { run = noop, next = "meet" })
      flow:step("c", { run = noop, next = "meet" })
      flow:join "meet"
      flow:step("behind", { run = noop, undo = noop })
      flow:undo("back", { of = { "book", "both" } })
    end)
    refused("'of' of undo \"back\" is empty", function(flow)
      flow:undo("back", { of = {} })
    end)
    refused("'of' of undo \"back\" must be a node, or a list of "
      .. "them, not an integer", function(flow)
      flow:undo("back", { of = 3 })
    end)
  end)

  it("is not in the branch of an each", function()
    refused("in the branch of an each it would undo what others did as well",
      function(flow)
        flow:each("all", { items = function() return { 1 } end,
          branch = "book", next = "done" })
        flow:step("book", { run = noop, undo = noop })
        flow:undo("back", { next = "all" })
      end)
  end)
end)

kit.describe("an undo node that waits for its next attempt", function(backend)
  it("lets hundreds of results lie, and sleeps", function()
    local engine, clock = backend.fresh()
    local child = pawl.workflow { code = "t.child" }
    child:timer("t", { after = "10s" })
    child:finish "z"
    local items = {}
    for i = 1, 300 do items[i] = i end
    local flow = pawl.workflow { code = "t.parent" }
    flow:fork("f", { next = { "e", "a" } })
    flow:each("e", { workflow = "t.child", window = 1000, next = "j",
      items = function() return items end })
    flow:step("a", { next = "u", run = function() end,
      retry = { max = 2, base = 3600, cap = 3600, jitter = 0 },
      undo = function(ctx) if ctx.attempt < 2 then error "not yet" end end })
    flow:undo("u", { next = "j" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(child))
    assert(engine:load(flow))
    local id = assert(engine:start "t.parent")
    assert(engine:run())
    clock:advance(11)
    assert(engine:run())
    assert.equal("running", assert(engine:get(id)).status)
    local due = assert(engine:next_due())
    assert.is_true(due > clock:now() + 3000, due)
    clock:advance "2h"
    assert(engine:run())
    assert.completed(engine, id)
  end)
end)
