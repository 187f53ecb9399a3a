-- Breakpoints: a token halts before a node begins, and goes on when somebody
-- lets it.
local explain = require "pawl.explain"
local halts = require "spec.engine.halts"
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("a breakpoint", function(backend)
  local engine, clock

  before_each(function() halts.ran = {} end)

  local function prepared(flow, options)
    engine, clock = backend.fresh(options)
    assert(engine:load(flow))
  end

  local function words(id)
    return table.concat(explain.sentences(assert(engine:explain(id))), "\n")
  end

  local function went_on(id, what, options)
    local _, done = assert(engine[what](engine, id, options))
    assert.is_true(done)
    assert(engine:run())
  end

  it("has a token halt, with no lease and no attempt, until it goes on",
    function()
      prepared(halts.chain())
      halts.set(engine, "b")
      local id = halts.begun(engine)
      assert.same({ "a" }, halts.ran)
      local shown = assert(engine:get(id))
      assert.equal("running", shown.status)
      assert.is_nil(shown.lease)
      assert.equal("b", halts.at(engine, id))
      assert.equal("step a, halted b", kit.trail(engine, id))
      assert.equal("ann", kit.last(engine, id).by)
      local text = words(id)
      assert.matches("halted since", text, 1, true)
      assert.matches("at a breakpoint by ann", text, 1, true)
      assert.matches("pawl continue " .. id, text, 1, true)
      went_on(id, "continue", { by = "bob", reason = "seen" })
      assert.same({ "a", "b", "c" }, halts.ran)
      assert.completed(engine, id)
      assert.equal("step a, halted b, continued b, step b, step c",
        kit.trail(engine, id))
      local row = assert(engine:history(id, { type = "continued" }))[1]
      assert.same({ "bob", "seen", "b" }, { row.by, row.text, row.path })
      assert.equal(0, #assert(engine:health()))
    end)

  it("holds before the first node, and before each kind of node", function()
    prepared(halts.chain())
    halts.set(engine, "a")
    local id = halts.begun(engine)
    assert.same({}, halts.ran)
    assert.equal("a", halts.at(engine, id))
    halts.set(engine, "z")
    went_on(id, "continue")
    assert.equal("z", halts.at(engine, id))
    assert.equal("running", kit.status(engine, id))
    went_on(id, "continue")
    assert.completed(engine, id)
    assert.same({ total = 3 }, assert(engine:get(id)).output)
  end)

  --- Each kind of node in a row, and two at once.
  local function zoo()
    local flow = pawl.workflow { code = "t.chain" }
    local function noted(name)
      return function(ctx)
        halts.ran[#halts.ran + 1] = name
        ctx.vars[name] = ctx.visit
      end
    end
    flow:step("a", { run = noted "a", next = "one", transactional = true })
    flow:choice("one", { choose = function() return "t" end,
      next = { t = "t", z = "z" } })
    flow:timer("t", { after = "1m", next = "w" })
    flow:wait("w", { event = "go", into = "w", next = "task" })
    flow:task("task", { title = "look", role = "clerk", into = "task",
      next = "call", on_timer = { after = "9d", next = "z" } })
    flow:call("call", { workflow = "t.child", into = "call", next = "each" })
    flow:each("each", { items = function() return { 1, 2 } end,
      branch = "item", into = "each", next = "f" })
    flow:step("item", { run = function(ctx) return ctx.token.data.item end,
      next = "each" })
    flow:fork("f", { next = { "b", "c" } })
    flow:step("b", { run = noted "b", next = "j" })
    flow:step("c", { run = noted "c", next = "j" })
    flow:join("j", { next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    return flow
  end

  --- To its end, with the help that it needs; what has halted goes on, `how`.
  local function led(id, how)
    local n = 0
    for _ = 1, 200 do
      assert(engine:run())
      local shown = assert(engine:get(id))
      if shown.status == "completed" then return shown.output, n end
      if halts.at(engine, id) ~= "" then
        n = n + 1
        assert(engine[how](engine, id, { token = halts.token(engine, id) }))
      elseif shown.node == "t" then
        clock:advance "1m"
      elseif shown.node == "w" then
        assert(engine:signal { name = "go", instance = id, data = 4 })
      else
        local task = assert(engine.tasks:list { instance = id,
          status = "pending" })[1]
        assert(engine.tasks:complete(task.id, { by = "ann", role = "clerk",
          output = 5 }))
      end
    end
    error("it comes to no end, and stands at " .. kit.trail(engine, id))
  end

  it("may be at any node, and what comes of it is the same", function()
    prepared(zoo())
    local child = pawl.workflow { code = "t.child" }
    child:finish("z", { output = function() return 6 end })
    assert(engine:load(child))
    local plain, n = led(assert(engine:start "t.chain"))
    assert.equal(0, n)
    for _, node in ipairs { "a", "one", "t", "w", "task", "call", "each",
      "item", "f", "b", "c", "j", "z" } do
      halts.set(engine, node, { lasts = "30d" })
    end
    local stopped
    stopped, n = led(assert(engine:start "t.chain"), "continue")
    assert.same(plain, stopped)
    assert.truthy(n >= 11, n)
    kit.refused("invalid", "begins with \"task\"", "leads to",
      engine.breakpoints:set { workflow = "t.chain",
        node = "task.on_timer" })
    assert(engine.breakpoints:remove { all = true })
    halts.set(engine, "a")
    stopped, n = led(assert(engine:start "t.chain"), "step")
    assert.same(plain, stopped)
    assert.truthy(n >= 11, n)
  end)

  it("goes with what is transferred, and carried to another store", function()
    prepared(halts.chain())
    halts.set(engine, "b", { lasts = "1d" })
    local id = halts.begun(engine)
    local second = pawl.workflow { code = "t.chain", version = 2,
      start = "a" }
    second:step("a", { run = function() end, next = "b2" })
    second:step("b2", { run = function() end, next = "z" })
    second:finish "z"
    assert(engine:load(second))
    assert(engine.workflows:transfer("t.chain", 1, 2,
      { map = { b = "b2" } }))
    assert(engine:run())
    assert.equal("b2", halts.at(engine, id))
    local lines = assert(engine:export(id, { move = true }))
    local other <close> = backend.fresh()
    assert(other:load(second))
    assert(other:import(lines))
    assert(other:run())
    assert.equal("b2", halts.at(other, id))
    assert(other:continue(id))
    assert(other:run())
    assert.completed(other, id)
  end)

  it("is passed once by a request that is sent twice", function()
    prepared(halts.chain())
    halts.set(engine, "b")
    halts.set(engine, "c")
    local id, request = halts.begun(engine), kit.draw_id()
    went_on(id, "continue", { request = request })
    assert.equal("c", halts.at(engine, id))
    went_on(id, "continue", { request = request })
    assert.equal("c", halts.at(engine, id))
    went_on(id, "step")
    assert.equal("z", halts.at(engine, id))
  end)

  it("leaves siblings, timers and deadlines alone", function()
    prepared(halts.forked())
    halts.set(engine, "b")
    local id = halts.begun(engine, {}, { deadline = "2h" })
    assert.equal("b", halts.at(engine, id))
    clock:advance "10m"
    assert(engine:run())
    assert.same({ "a", "c" }, halts.ran)
    assert.equal("b", halts.at(engine, id))
    went_on(id, "continue")
    assert.completed(engine, id)
    id = halts.begun(engine, {}, { deadline = "30m" })
    clock:advance "31m"
    assert(engine:run())
    assert.failed(engine, id)
  end)

  it("lets one node run at a step", function()
    prepared(halts.chain())
    halts.set(engine, "a")
    local id = halts.begun(engine)
    went_on(id, "step", { by = "bob" })
    assert.same({ "a" }, halts.ran)
    assert.equal("b", halts.at(engine, id))
    assert.matches("halted since .*, behind a step by bob", words(id))
    went_on(id, "step")
    assert.same({ "a", "b" }, halts.ran)
    assert.equal("c", halts.at(engine, id))
    went_on(id, "continue")
    assert.completed(engine, id)
    assert.equal("halted a, stepped a, step a, halted b, stepped b, step b, "
      .. "halted c, continued c, step c", kit.trail(engine, id))
  end)

  it("steps each branch of a fork, and one where several stand", function()
    prepared(halts.forked())
    halts.set(engine, "f")
    local id = halts.begun(engine)
    went_on(id, "step")
    assert.equal("a t", halts.at(engine, id))
    kit.refused("conflict", 'several .-: "a" %(token %d%), "t" %(token %d%); '
      .. "say which `node`, or `token`", nil, engine:step(id))
    went_on(id, "step", { node = "a" })
    assert.equal("b t", halts.at(engine, id))
    went_on(id, "continue", { node = "t" })
    assert.equal("b", halts.at(engine, id))
    clock:advance "10m"
    assert(engine:run())
    assert.same({ "a", "c" }, halts.ran)
    assert.equal("b", halts.at(engine, id))
    went_on(id, "step")
    assert.equal("j", halts.at(engine, id))
    went_on(id, "continue")
    assert.completed(engine, id)
  end)

  it("halts again before an attempt that follows a failure", function()
    local tries = 0
    local flow = pawl.workflow { code = "t.chain" }
    flow:step("a", { retry = { max = 3, base = "1s", cap = "1s" },
      next = "z", run = function()
        tries = tries + 1
        if tries < 3 then error "again" end
      end })
    flow:finish "z"
    prepared(flow)
    halts.set(engine, "a", { when = "attempt == 2" })
    local id = halts.begun(engine)
    assert.equal(1, tries)
    clock:advance "10s"
    assert(engine:run())
    assert.equal("a", halts.at(engine, id))
    assert.equal(1, tries)
    went_on(id, "continue")
    clock:advance "10s"
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(3, tries)
  end)

  it("lets what stands there be cancelled, moved, edited and suspended",
    function()
      prepared(halts.chain())
      halts.set(engine, "b")
      local id = halts.begun(engine)
      assert(engine:cancel(id, "enough"))
      assert(engine:run())
      assert.equal("cancelled", kit.status(engine, id))
      id = halts.begun(engine)
      assert(engine:edit(id, { set = { total = 9 } }))
      assert(engine:run())
      assert.equal("b", halts.at(engine, id))
      assert(engine:move(id, { to = "c" }))
      assert(engine:run())
      assert.completed(engine, id)
      id = halts.begun(engine)
      assert(engine:suspend(id))
      assert(engine:continue(id))
      assert(engine:run())
      assert.equal("suspended", kit.status(engine, id))
      assert(engine:resume(id))
      assert(engine:run())
      assert.completed(engine, id)
    end)

  it("lets a retry be about others: what has halted stays", function()
    local works
    local flow = pawl.workflow { code = "t.chain" }
    flow:fork("f", { next = { "a", "b" } })
    flow:step("a", { next = "j", retry = { max = 1 },
      on_exhausted = "suspend",
      run = function() if not works then error "no" end end })
    flow:step("b", { next = "j", run = function() end })
    flow:join("j", { next = "z" })
    flow:finish "z"
    prepared(flow)
    halts.set(engine, "b")
    local id = halts.begun(engine)
    assert.equal("suspended", kit.status(engine, id))
    works = true
    assert(engine:retry(id))
    assert(engine:run())
    assert.equal("b", halts.at(engine, id))
    went_on(id, "continue")
    assert.completed(engine, id)
  end)
end)
