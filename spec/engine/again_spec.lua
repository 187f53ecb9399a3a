-- Instances that are acted upon before they began, or that go on after they
-- failed or ended: what is restored, what is taken back, and what is refused.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

local function get(engine, id) return assert(engine:get(id)) end

--- How often a step ran is counted in the variable of its name.
local function count(ctx)
  ctx.vars[ctx.node] = (ctx.vars[ctx.node] or 0) + 1
end

local function flow_of(start, nodes, options)
  local given = { code = "t.again", start = start }
  for key, value in pairs(options or {}) do given[key] = value end
  local flow = pawl.workflow(given)
  for _, node in ipairs(nodes) do flow[node[1]](flow, node[2], node[3]) end
  return flow
end

local function step(name, to, more)
  local given = { next = to, run = count }
  for key, value in pairs(more or {}) do given[key] = value end
  return { "step", name, given }
end

local DONE = { "finish", "z", {} }

--- Fails until state.good.
local function shaky(name, to, state, more)
  local given = { next = to, retry = false, run = function(ctx)
    count(ctx)
    if not state.good then error { code = "boom" } end
  end }
  for key, value in pairs(more or {}) do given[key] = value end
  return { "step", name, given }
end

local function run(engine, options)
  local id = assert(engine:start("t.again", nil, options))
  assert(engine:run())
  return id
end

local function refused(words, hint, ok, err)
  assert.is_nil(ok)
  assert.equal("conflict", err.code, tostring(err))
  assert.matches(words, err.message)
  assert.matches(hint, err.hint or "")
end

kit.describe("an instance that is to begin later", function(backend)
  local function delayed(flow)
    local engine, clock, url = backend.fresh()
    assert(engine:load(flow or flow_of("a", { step("a", "z"), DONE })))
    local id = run(engine, { delay = "1h" })
    assert.is_nil(get(engine, id).started)
    return engine, id, clock, url
  end

  --- It begins an hour after it was started, and not before.
  local function begins_in_time(engine, id, clock)
    assert(engine:run())
    assert.is_nil(get(engine, id).variables.a)
    clock:advance(3599)
    assert(engine:run())
    assert.is_nil(get(engine, id).variables.a)
    clock:advance(1)
    assert(engine:run())
    assert.equal(1, get(engine, id).variables.a)
    assert.completed(engine, id)
  end

  it("does so after an event that concerns nobody", function()
    local engine, id, clock = delayed()
    assert(engine:signal { name = "unrelated", instance = id })
    begins_in_time(engine, id, clock)
  end)

  it("does so after an edit, which it keeps", function()
    local engine, id, clock = delayed()
    assert(engine:edit(id, { set = { price = 3 } }))
    begins_in_time(engine, id, clock)
    assert.equal(3, get(engine, id).variables.price)
  end)

  it("does so after it was suspended and resumed", function()
    local engine, id, clock = delayed()
    assert(engine:suspend(id))
    assert(engine:run())
    assert(engine:resume(id))
    begins_in_time(engine, id, clock)
  end)

  it("is put off with everything else", function()
    local engine, id, clock = delayed()
    assert(engine:suspend(id))
    clock:advance "5h"
    assert(engine:resume(id, { shift = true }))
    begins_in_time(engine, id, clock)
  end)

  it("is put off with all of its prefix", function()
    local engine, id, clock = delayed()
    assert(engine.workflows:suspend { prefix = "t." })
    clock:advance "5h"
    assert.has_error(function()
      engine.workflows:resume({ prefix = "t." }, { shift = true })
    end, "workflows:resume: options go into the one table, "
      .. "beside workflow or prefix")
    assert(engine.workflows:resume { prefix = "t.", shift = true })
    begins_in_time(engine, id, clock)
  end)

  it("begins when it is woken", function()
    local engine, id = delayed()
    assert(engine:wake(id, { nodes = { "z" } }))
    assert(engine:run())
    assert.is_nil(get(engine, id).variables.a)
    assert(engine:wake(id, { nodes = { "a" } }))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is cancelled at once", function()
    local engine, id, _, url = delayed()
    assert(engine:cancel(id))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("begins, and does not just end, with an edit that came while it was held",
    function()
      local engine, rival, id
      local flow = flow_of("a", { step("a", "z"), DONE })
      engine, rival = kit.pair(backend, { flow })
      id = assert(engine:start "t.again")
      assert(rival:edit(id, { set = { price = 3 } }))
      assert(engine:run())
      assert.equal(1, get(engine, id).variables.a)
      assert.equal(3, get(engine, id).variables.price)
    end)
end)

kit.describe("an instance that failed, retried", function(backend)
  local function failed(nodes, state, options)
    local engine, clock, url = backend.fresh()
    assert(engine:load(flow_of(nodes[1][2], nodes, options)))
    local id = run(engine)
    return engine, id, clock, url, state
  end

  local function again(engine, id, state)
    state.good = true
    assert(engine:retry(id))
    assert(engine:run())
    return get(engine, id)
  end

  it("goes on where nothing of it had to be undone", function()
    local state = {}
    local engine, id = failed({ shaky("a", "z", state,
      { undo = function() end }), DONE }, state)
    assert.failed(engine, id)
    local instance = again(engine, id, state)
    assert.equal("completed", instance.status)
    assert.equal(1, instance.variables.a)
    assert.is_nil(instance.compensation)
  end)

  it("is refused where that was undone", function()
    local state = {}
    local engine, id = failed({
      step("a", "b", { undo = function() end }),
      shaky("b", "z", state), DONE }, state)
    refused("undone", "restart", engine:retry(id))
    assert.equal("completed", get(engine, id).compensation.status)
    assert(engine:restart(id, { from = "a" }))
    state.good = true
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is refused where it ended at a finish", function()
    for _, forked in ipairs { false, true } do
      local engine = backend.fresh()
      assert(engine:load(flow_of("s", forked and {
        step("s", "f"), { "fork", "f", { next = { x = "bad", y = "w" } } },
        { "timer", "w", { after = "1h", next = "z" } },
        { "finish", "bad", { status = "failed" } }, DONE } or {
        step("s", "bad"), { "finish", "bad", { status = "failed" } } })))
      local id = run(engine)
      assert.failed(engine, id)
      refused("finish", "restart", engine:retry(id))
    end
  end)

  it("remembers which joins had fired", function()
    local state = {}
    local engine, id, clock = failed({
      { "fork", "f", { next = { one = "a", two = "t" } } },
      step("a", "j"), { "timer", "t", { after = "1h", next = "j" } },
      { "join", "j", { expect = "any", next = "x" } },
      shaky("x", "z", state), DONE }, state)
    assert.failed(engine, id)
    assert.equal("waiting", again(engine, id, state).status)
    clock:advance "1h"
    assert(engine:run())
    local instance = get(engine, id)
    assert.equal("completed", instance.status)
    assert.equal(1, instance.variables.x)
    assert.matches("dropped", kit.trail(engine, id))
  end)

  it("begins an each over children anew", function()
    local state = {}
    local engine, clock, url = backend.fresh()
    local child = pawl.workflow { code = "t.child", start = "w" }
    child:timer("w", { after = "1h", next = "z" })
    child:finish "z"
    assert(engine:load(child))
    assert(engine:load(flow_of("f", {
      { "fork", "f", { next = { one = "e", two = "b" } } },
      { "each", "e", { items = function() return { 1, 2 } end,
        workflow = "t.child", next = "j" } },
      { "timer", "b", { after = "1m", next = "x" } },
      shaky("x", "j", state), { "join", "j", { next = "z" } }, DONE })))
    local id = run(engine)
    clock:advance "1m"
    assert(engine:run())
    assert.failed(engine, id)
    assert.equal("waiting", again(engine, id, state).status)
    clock:advance "1h"
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(0, kit.count(backend, url, "agenda"))
    local ends = {}
    for _, one in ipairs(assert(engine:list { workflow = "t.child" })) do
      ends[one.status] = (ends[one.status] or 0) + 1
    end
    assert.same({ cancelled = 2, completed = 2 }, ends)
  end)

  it("begins an each whose items were given up anew", function()
    local state = {}
    local engine, id, _, url = failed({
      { "each", "e", { items = function() return { 1, 2, 3 } end,
        branch = "s", on_failure = "stop", next = "z" } },
      { "step", "s", { next = "e", retry = false, run = function(ctx)
        if ctx.token.data.index == 2 and not state.good then
          error { code = "boom" }
        end
        return nil, ctx.token.data.item
      end } }, DONE }, state)
    assert.failed(engine, id)
    assert.equal("completed", again(engine, id, state).status)
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)
end)

kit.describe("an instance that is restarted", function(backend)
  it("has the variables of when a routing node was come to", function()
    local engine = backend.fresh()
    assert(engine:load(flow_of("a", {
      { "step", "a", { next = "c", run = function(ctx)
        ctx.vars.n = 1
      end } },
      { "choice", "c", { choose = function() return "on" end,
        next = { on = "f", off = "z" } } },
      { "fork", "f", { next = { l = "b", r = "d" } } },
      { "step", "b", { next = "j", run = function(ctx)
        ctx.vars.n = ctx.vars.n + 10
      end } },
      { "step", "d", { next = "j", run = function(ctx)
        ctx.vars.n = ctx.vars.n + 100
      end } },
      { "join", "j", { next = "e" } },
      { "step", "e", { next = "z", run = function(ctx)
        ctx.vars.n = ctx.vars.n + 1000
      end } }, DONE })))
    local id = run(engine)
    for _, from in ipairs { "a", "b", "c", "f", "j", "e", "z" } do
      if from ~= "b" then
        assert(engine:restart(id, { from = from }))
        assert(engine:run())
        assert.equal("completed", kit.status(engine, id), from)
        assert.equal(1111, get(engine, id).variables.n, from)
      end
    end
  end)

  it("keeps an edit made before the join was come to", function()
    local engine, clock = backend.fresh()
    assert(engine:load(flow_of("f", {
      { "fork", "f", { next = { l = "s", r = "t" } } }, step("s", "j"),
      { "timer", "t", { after = "1h", next = "j" } },
      { "join", "j", { next = "e" } }, step("e", "z"), DONE })))
    local id = run(engine)
    assert(engine:edit(id, { set = { ok = 1 } }))
    clock:advance "1h"
    assert(engine:run())
    assert(engine:restart(id, { from = "j" }))
    assert(engine:run())
    assert.same({ s = 1, ok = 1, e = 1 }, get(engine, id).variables)
  end)

  it("is no longer one that was cancelled, nor too late", function()
    local engine, clock = backend.fresh()
    local tries = 0
    assert(engine:load(flow_of("a", {
      step("a", "t", { undo = function()
        tries = tries + 1
        if tries == 1 then error "not yet" end
      end, retry = { max = 5, base = "1h", jitter = 0 } }),
      { "timer", "t", { after = "1h", next = "z" } }, DONE },
      { deadline = "2h" })))
    local id = run(engine)
    assert(engine:cancel(id, "enough"))
    assert(engine:run())
    assert(engine:suspend(id))
    clock:advance "3h"
    assert(engine:restart(id, { from = "a" }))
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert.is_nil(get(engine, id).cancellation)
    clock:advance "1h"
    assert(engine:run())
    assert.completed(engine, id)
    assert.is_nil(get(engine, id).cancellation)
  end)
end)

kit.describe("an instance that is suspended with its last answer",
  function(backend)
    for _, how in ipairs { "join", "each" } do
      it("goes on when it is resumed: at its " .. how, function()
        local engine, rival, id
        local first = { step("s", "f"),
          { "fork", "f", { next = { one = how == "each" and "e" or "ask",
            two = "t" } } },
          { "task", "ask", { title = "Well?",
            next = how == "each" and "e" or "j" } },
          { "timer", "t", { after = "1h", next = "b" } },
          { "step", "b", { next = "j", run = function()
            local task = assert(rival.tasks:list { instance = id })[1]
            assert(rival.tasks:complete(task.id, { by = "ann" }))
            assert(rival:suspend(id))
          end } },
          { "join", "j", { next = "a" } }, step("a", "z"), DONE }
        if how == "each" then
          table.insert(first, 3, { "each", "e", { branch = "ask", next = "j",
            items = function() return { 1 } end } })
        end
        local clock
        engine, rival, clock = kit.pair(backend, { flow_of("s", first) })
        id = run(engine)
        clock:advance "1h"
        assert(engine:run())
        assert.equal("suspended", kit.status(engine, id))
        assert(engine:resume(id))
        assert(engine:run())
        assert.completed(engine, id)
        assert.equal(1, get(engine, id).variables.a)
      end)
    end
  end)

kit.describe("a task's times", function(backend)
  local function asked(options)
    local engine, clock, url = backend.fresh()
    options.title = "Look at it"
    assert(engine:load(flow_of("ask", { { "task", "ask", options },
      { "step", "late", { next = "z", run = count } }, DONE })))
    return engine, run(engine), clock, url
  end

  local function way(engine, id)
    local history = assert(engine:history(id))
    local kinds = {}
    for i, row in ipairs(history) do
      kinds[i] = row.transition or row.type
    end
    return table.concat(kinds, " ")
  end

  it("are put off too", function()
    local engine, id, clock = asked { due = "30m", timeout = "3h",
      escalate = { priority = "urgent" },
      next = { done = "z", timeout = "late" } }
    local due = assert(engine.tasks:list { instance = id })[1].due
    assert(engine:suspend(id))
    clock:advance "24h"
    assert(engine:resume(id, { shift = true }))
    assert(engine:run())
    assert.not_equal(due, assert(engine.tasks:list { instance = id })[1].due)
    assert.equal(0, #assert(engine.tasks:list { instance = id,
      overdue = true }))
    clock:advance(1801)
    assert(engine:run())
    assert.equal(1, #assert(engine.tasks:list { instance = id,
      overdue = true }))
    assert.matches("escalated$", way(engine, id))
    clock:advance "2h"
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance "30m"
    assert(engine:run())
    assert.completed(engine, id)
    assert.matches("timeout", way(engine, id))
  end)

  it("have come when it is woken: first due, then over", function()
    local engine, id = asked { due = "2d", timeout = "7d",
      escalate = { priority = "urgent" },
      next = { done = "z", timeout = "late" } }
    assert(engine:wake(id))
    assert(engine:run())
    assert.matches("escalated$", way(engine, id))
    assert.equal("waiting", kit.status(engine, id))
    assert(engine:wake(id))
    assert(engine:run())
    assert.completed(engine, id)
  end)
end)

kit.describe("a call that is woken", function(backend)
  it("is only told by name that its time is up", function()
    local engine = backend.fresh()
    local child = pawl.workflow { code = "t.child", start = "w" }
    child:timer("w", { after = "30d", next = "z" })
    child:finish "z"
    assert(engine:load(child))
    assert(engine:load(flow_of("c", { { "call", "c", { workflow = "t.child",
      timeout = "1d", next = { completed = "z", timeout = "late" } } },
      step("late", "z"), DONE })))
    local id = run(engine)
    assert(engine:wake(id))
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert(engine:wake(id, { nodes = { "c" } }))
    assert(engine:run())
    assert.equal(1, get(engine, id).variables.late)
  end)
end)

kit.describe("a request that comes during the last step", function(backend)
  for _, kind in ipairs { "edit", "suspend" } do
    it("is refused, and recorded: " .. kind, function()
      local engine, rival, id, url, _
      local flow = flow_of("a", { { "step", "a", { next = "z",
        run = function()
          if kind == "edit" then
            assert(rival:edit(id, { set = { n = 1 }, by = "ann" }))
          else
            assert(rival:suspend(id, { by = "ann" }))
          end
        end } }, DONE })
      engine, rival, _, url = kit.pair(backend, { flow })
      id = assert(engine:start "t.again")
      assert(engine:run())
      assert.completed(engine, id)
      assert.equal("step a, refused z", kit.trail(engine, id))
      local history = assert(engine:history(id))
      assert.equal("ann", history[2].by)
      assert.matches("^" .. kind .. ": it had ended", history[2].text)
      assert.equal(0, kit.count(backend, url, "inbox"))
    end)
  end

  it("does not keep a cancel from being heard", function()
    local engine, rival, id
    local flow = flow_of("a", { { "step", "a", { next = "z",
      run = function()
        assert(rival:edit(id, { set = { n = 1 } }))
        assert(rival:cancel(id, "enough"))
      end } }, DONE })
    engine, rival = kit.pair(backend, { flow })
    id = assert(engine:start "t.again")
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
  end)
end)

kit.describe("a step that takes longer than its timeout", function(backend)
  it("has failed when it comes back, and is tried again", function()
    local engine, clock = backend.fresh()
    local runs = 0
    assert(engine:load(flow_of("a", { { "step", "a", { timeout = "10s",
      retry = { max = 2, base = "1s", jitter = 0 }, next = "z",
      run = function(ctx)
        runs = runs + 1
        ctx.vars.runs = runs
        clock:advance(runs == 1 and 11 or 10)
      end } }, DONE })))
    local id = run(engine)
    local row = assert(engine:history(id))[1]
    assert.equal("failed", row.type)
    assert.equal("timeout", row.error.code)
    assert.matches("took 11", row.error.message)
    assert.is_nil(get(engine, id).variables.runs)
    clock:advance(1)
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(2, get(engine, id).variables.runs)
  end)
end)

--- Waits for "pay", then for "go", with `more` in both; the step behind them
--- fails where the input is `bad`.
local function paying(more)
  local function waiting(event, into)
    local options = { event = event, into = into }
    for name, value in pairs(more or {}) do options[name] = value end
    return options
  end
  local flow = pawl.workflow { code = "t.paying" }
  flow:step("ask", { run = function(ctx)
    ctx.vars.token = ctx.callback "pay"
  end })
  flow:wait("a", waiting("pay", "paid"))
  flow:wait("b", waiting("go", "gone"))
  flow:step("s", { retry = false, run = function(ctx)
    if ctx.input.bad then error "no" end
  end })
  flow:finish "z"
  return flow
end

kit.describe("what an instance has taken", function(backend)
  local function begun(input, more)
    local engine, clock = backend.fresh()
    assert(engine:load(paying(more)))
    local id = assert(engine:start("t.paying", input))
    assert(engine:run())
    return engine, id, clock
  end

  local function send(engine, id, event)
    event.instance = id
    local _, info = assert(engine:signal(event))
    assert(engine:run())
    return info.repeated
  end

  local function stands(engine, id, node, variables)
    local got = assert(engine:get(id))
    assert.same({ "waiting", node }, { got.status, got.node })
    for name, value in pairs(variables or {}) do
      assert.equal(value, got.variables[name])
    end
  end

  local function go(engine, id)
    for _, from in ipairs { "a", "b" } do
      assert(engine:restart(id, { from = from }))
      assert(engine:run())
      stands(engine, id, from)
      assert.is_true(send(engine, id, { name = "pay", id = "p1", data = 8 }))
      assert.is_true(send(engine, id, { name = "go", id = "g1", data = 8,
        source = "shop" }))
      stands(engine, id, from)
      if from == "a" then
        assert.is_false(send(engine, id, { name = "pay", id = "p2", data = 2 }))
      end
      stands(engine, id, "b")
      assert.is_false(send(engine, id, { name = "go", id = "g" .. from,
        data = 2, source = "shop" }))
      assert.not_equal("waiting", kit.status(engine, id))
    end
    assert.same({ 2, 2 }, { get(engine, id).variables.paid,
      get(engine, id).variables.gone })
  end

  for status, bad in pairs { completed = false, failed = true } do
    it("is not taken again, nor let in, once that has " .. status, function()
      local engine, id = begun { bad = bad }
      send(engine, id, { name = "pay", id = "p1", data = 1 })
      send(engine, id, { name = "go", id = "g1", source = "shop", data = 1 })
      assert.equal(status, kit.status(engine, id))
      go(engine, id)
      assert.equal(status, kit.status(engine, id))
    end)

    it("is passed over among what is kept, once that has " .. status,
      function()
        local engine, id = begun({ bad = bad }, {
          key = function() return "k" end })
        for _, name in ipairs { "pay", "go" } do
          assert(engine:signal { name = name, key = "k", id = name, data = 1 })
        end
        assert(engine:run())
        assert.equal(status, kit.status(engine, id))
        assert(engine:restart(id, { from = "a" }))
        assert(engine:run())
        stands(engine, id, "a")
        for _, name in ipairs { "pay", "go" } do
          assert(engine:signal { name = name, key = "k", data = 2 })
        end
        assert(engine:run())
        assert.equal(status, kit.status(engine, id))
        assert.equal(2, get(engine, id).variables.gone)
      end)

    it("is a callback's token, too, once that has " .. status, function()
      local engine, id = begun { bad = bad }
      local token = get(engine, id).variables.token
      assert.is_true(engine:complete(token, 1))
      assert(engine:run())
      send(engine, id, { name = "go", data = 1 })
      assert.equal(status, kit.status(engine, id))
      assert(engine:restart(id, { from = "a" }))
      assert(engine:run())
      assert.is_false(engine:complete(token, 2))
      assert(engine:run())
      stands(engine, id, "a")
    end)
  end
end)
