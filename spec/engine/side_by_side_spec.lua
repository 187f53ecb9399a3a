--- Handlers of one instance side by side: while one waits, its other branches,
--- times and events go on, and nothing of it is lost or done twice.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

local function workflow()
  return pawl.workflow { code = "t.beside", start = "f" }
end

--- A fork of steps that await so many seconds each and set a variable of
--- their own.
local function branches(n, options)
  options = options or {}
  local flow, next = workflow(), {}
  for i = 1, n do
    next["b" .. i] = "s" .. i
  end
  flow:fork("f", { next = next })
  for i = 1, n do
    flow:step("s" .. i, { next = "j", timeout = "1h", run = function(ctx)
      ctx.await(options.seconds and options.seconds(i) or 3)
      ctx.vars["v" .. i] = i
    end })
  end
  flow:join("j", { next = "z" })
  flow:finish("z", { output = function(ctx) return ctx.vars end })
  return flow
end

kit.describe("branches that wait", function(backend)
  it("wait together: eight take no longer than one", function()
    local engine, clock = backend.fresh()
    assert(engine:load(branches(8)))
    local id = assert(engine:start "t.beside")
    assert(engine:run())
    clock:advance(3)
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("completed", instance.status)
    for i = 1, 8 do assert.equal(i, instance.output["v" .. i]) end
    for _, row in ipairs(assert(engine:history(id, { type = "step" }))) do
      assert.equal(1, row.attempt)
    end
  end)

  it("come back in any order", function()
    local engine, clock = backend.fresh()
    assert(engine:load(branches(5, { seconds = function(i) return 6 - i end })))
    local id = assert(engine:start "t.beside")
    assert(engine:run())
    for n = 1, 5 do
      clock:advance(1)
      assert(engine:run())
      assert.equal(n, #assert(engine:history(id, { type = "step" })))
    end
    assert.completed(engine, id)
  end)

  it("are no more than may wait; the others have their turn then", function()
    local engine, clock = backend.fresh { concurrency = 3 }
    assert(engine:load(branches(8)))
    local id = assert(engine:start "t.beside")
    for _, n in ipairs { 0, 3, 6, 8 } do
      assert(engine:run())
      assert.equal(n, #assert(engine:history(id, { type = "step" })))
      clock:advance(3)
    end
    assert.completed(engine, id)
  end)

  it("run again, and only those, when their process dies", function()
    local ran, dead = {}, nil
    local flow = workflow()
    flow:fork("f", { next = { a = "a", b = "b" } })
    flow:step("a", { next = "j", timeout = "1h", run = function(ctx)
      ran[#ran + 1] = "a" .. ctx.attempt
      ctx.await(3)
    end })
    flow:step("b", { next = "j", timeout = "1h", run = function(ctx)
      ran[#ran + 1] = "b" .. ctx.attempt
      ctx.await(dead and 1 or 60)
    end })
    flow:join("j", { next = "z" })
    flow:finish "z"
    local a, b, clock = kit.pair(backend, { flow })
    local id = assert(a:start "t.beside")
    assert(a:run())
    clock:advance(3)
    assert(a:run()) -- a has ended and is stored, b waits
    dead = true
    clock:advance "1h"
    for _ = 1, 3 do
      assert(b:run())
      clock:advance(1)
    end
    assert.completed(b, id)
    table.sort(ran)
    assert.same({ "a1", "b1", "b1" }, ran)
    assert.equal(2, #assert(b:history(id, { type = "step" })))
  end)
end)

kit.describe("beside a handler that waits", function(backend)
  --- `b` does what is given, while `a` awaits a minute.
  local function beside(build)
    local flow = workflow()
    flow:fork("f", { next = { a = "a", b = "b" } })
    flow:step("a", { next = "j", timeout = "1h", run = function(ctx)
      ctx.await(60)
      ctx.vars.a = "done"
    end })
    build(flow)
    flow:join("j", { next = "z" })
    flow:finish "z"
    return flow
  end

  it("events are taken, and what they lead to runs", function()
    local engine, clock = backend.fresh()
    assert(engine:load(beside(function(flow)
      flow:wait("b", { event = "paid", into = "paid", next = "c" })
      flow:step("c", { next = "j", run = function(ctx) ctx.vars.c = 1 end })
    end)))
    local id = assert(engine:start "t.beside")
    assert(engine:run())
    assert(engine:signal { name = "paid", instance = id, data = { sum = 5 } })
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.same({ paid = { sum = 5 }, c = 1 }, instance.variables)
    assert.equal("running", instance.status)
    clock:advance(60)
    assert(engine:run())
    instance = assert(engine:get(id))
    assert.equal("completed", instance.status)
    assert.same({ paid = { sum = 5 }, c = 1, a = "done" }, instance.variables)
  end)

  it("events come from another process, too", function()
    local a, b, clock = kit.pair(backend, { beside(function(flow)
      flow:wait("b", { event = "paid", into = "paid", next = "j" })
    end) })
    local id = assert(a:start "t.beside")
    assert(a:run())
    assert(b:signal { name = "paid", instance = id, data = 7 })
    clock:advance(1) -- it looks now and then
    assert(a:run())
    assert.same({ paid = 7 }, assert(b:get(id)).variables)
    clock:advance(60)
    assert(a:run())
    assert.completed(b, id)
  end)

  it("times come when they are due", function()
    local engine, clock = backend.fresh()
    assert(engine:load(beside(function(flow)
      flow:timer("b", { after = 10, next = "c" })
      flow:step("c", { next = "j", run = function(ctx) ctx.vars.c = 1 end })
    end)))
    local id = assert(engine:start "t.beside")
    assert(engine:run())
    clock:advance(10)
    assert.is_true(engine:next_due() <= clock:now())
    assert(engine:run())
    assert.same({ c = 1 }, assert(engine:get(id)).variables)
    clock:advance(50)
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("a step is tried again in its time", function()
    local engine, clock = backend.fresh()
    local attempts = 0
    assert(engine:load(beside(function(flow)
      flow:step("b", { next = "j", retry = { max = 3, base = 5, jitter = 0,
        factor = 1 }, run = function()
          attempts = attempts + 1
          if attempts < 3 then error "not yet" end
        end })
    end)))
    local id = assert(engine:start "t.beside")
    for n = 1, 3 do
      assert(engine:run())
      assert.equal(n, attempts)
      clock:advance(5)
    end
    assert.equal(1, assert(engine:tick()).waiting)
    clock:advance(60)
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("a transaction of its own is committed", function()
    local engine, clock = backend.fresh()
    assert(engine:load(beside(function(flow)
      flow:step("b", { transactional = true, next = "j", run = function(ctx)
        ctx.vars.one = ctx.db:query("SELECT 1 AS n")[1].n
      end })
    end)))
    local id = assert(engine:start "t.beside")
    assert(engine:run())
    assert.same({ one = 1 }, assert(engine:get(id)).variables)
    clock:advance(60)
    assert(engine:run())
    assert.same({ one = 1, a = "done" }, assert(engine:get(id)).variables)
  end)

  --- A condition, a timer and a wait beside it.
  local function three(flow)
    flow:fork("b", { next = { "c", "t", "w" } })
    flow:wait("c", { next = "bj",
      condition = function(ctx) return ctx.vars.open end })
    flow:timer("t", { after = 10, next = "bj" })
    flow:wait("w", { event = "go", next = "bj" })
    flow:join("bj", { next = "j" })
  end

  it("what is asked for that leaves it where it is is done beside it",
    function()
      local engine, clock = backend.fresh()
      assert(engine:load(beside(three)))
      local id = assert(engine:start "t.beside")
      assert(engine:run())
      assert(engine:note(id, { text = "seen" }))
      assert(engine:run())
      assert.matches("note", kit.trail(engine, id))
      assert(engine:edit(id, { set = { open = true } }))
      assert(engine:run())
      assert.is_nil(kit.standing(engine, id):find("c ", 1, true))
      assert(engine:wake(id))
      assert(engine:run())
      assert.is_nil(kit.standing(engine, id):find("t ", 1, true))
      assert(engine:signal { name = "go", instance = id })
      assert(engine:run())
      assert.same({ open = true }, assert(engine:get(id)).variables)
      clock:advance(60)
      assert(engine:run())
      assert.same({ open = true, a = "done" },
        assert(engine:get(id)).variables)
      assert.completed(engine, id)
    end)

  it("an edit of what it sets is a conflict", function()
    local engine, clock = backend.fresh()
    assert(engine:load(beside(three)))
    local id = assert(engine:start "t.beside")
    assert(engine:run())
    assert(engine:edit(id, { set = { a = "by hand", open = true } }))
    assert(engine:wake(id))
    assert(engine:signal { name = "go", instance = id })
    assert(engine:run())
    clock:advance(60)
    assert(engine:run())
    local failed
    for _, row in ipairs(assert(engine:history(id))) do
      if row.type == "failed" then failed = row.error end
    end
    assert.equal("conflict", failed.code)
    assert.matches("vars.a", failed.message, 1, true)
    clock:advance "10m"
    assert(engine:run())
    clock:advance(60)
    assert(engine:run())
    assert.equal("done", assert(engine:get(id)).variables.a)
    assert.completed(engine, id)
  end)

  it("is waited for by who waits, in time that passes at once", function()
    local engine, clock = backend.fresh()
    local flow = workflow()
    flow:fork("f", { next = { "a", "b" } })
    flow:step("a", { next = "j", timeout = "1d", run = function(ctx)
      ctx.await(0.3)
      ctx.await(3600)
    end })
    flow:timer("b", { after = "2h", next = "j" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local began = clock:now()
    local id = assert(engine:start "t.beside")
    assert(engine:run { id = id, wait = true, timeout = "1d" })
    assert.completed(engine, id)
    assert.equal(7200, math.floor(clock:now() - began))
    assert(engine:start "t.beside")
    assert(engine:run { wait = true })
    assert.equal(14400, math.floor(clock:now() - began))
    assert.equal(0, #assert(engine:list { status = "waiting" }))
  end)

  it("a suspension waits until it is back", function()
    local engine, clock = backend.fresh()
    assert(engine:load(beside(function(flow)
      flow:timer("b", { after = 10, next = "j" })
    end)))
    local id = assert(engine:start "t.beside")
    assert(engine:run())
    assert(engine:suspend(id))
    assert(engine:edit(id, { set = { edited = true } }))
    assert(engine:run())
    assert.same({}, assert(engine:get(id)).variables)
    assert.matches("What is to suspend waits for the handler that runs",
      table.concat(assert(engine:explain(id)).sentences, "\n"), 1, true)
    clock:advance(60)
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("suspended", instance.status)
    assert.same({ a = "done", edited = true }, instance.variables)
    assert(engine:resume(id))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("its deadline is told to each before it ends", function()
    local engine, clock = backend.fresh()
    local told = {}
    local flow = pawl.workflow { code = "t.beside", start = "f",
      deadline = "30s" }
    flow:fork("f", { next = { "a", "b" } })
    for _, name in ipairs { "a", "b" } do
      flow:step(name, { next = "j", timeout = "1h", retry = false,
        run = function(ctx)
          local _, why = pcall(ctx.await, 60)
          told[#told + 1] = why.code
        end })
    end
    flow:join("j", { next = "last" })
    flow:step("last", { next = "z", run = function() told[3] = "ran" end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.beside")
    assert(engine:run())
    clock:advance(30)
    assert(engine:run())
    assert.same({ "timeout", "timeout" }, told)
    assert.failed(engine, id)
  end)
end)

kit.describe("a boundary of a step that waits", function(backend)
  local function flow_with(boundary, log)
    local flow = pawl.workflow { code = "t.beside", start = "a" }
    flow:step("a", { next = "z", timeout = "1h", on_timer = boundary,
      run = function(ctx)
        local _ <close> = setmetatable({}, { __close = function()
          log[#log + 1] = "closed" end })
        ctx.await(60)
        log[#log + 1] = "a"
      end })
    flow:step("remind", { next = "z", run = function()
      log[#log + 1] = "remind" end })
    flow:finish "z"
    return flow
  end

  it("interrupts it where it stands", function()
    local engine, clock = backend.fresh()
    local log = {}
    assert(engine:load(flow_with({ after = 10, next = "remind" }, log)))
    local id = assert(engine:start "t.beside")
    assert(engine:run())
    clock:advance(10)
    assert(engine:run())
    assert.same({ "closed", "remind" }, log)
    assert.completed(engine, id)
    assert.equal(0, assert(engine:tick()).waiting)
  end)

  it("begins a lane beside it", function()
    local engine, clock = backend.fresh()
    local log = {}
    assert(engine:load(flow_with({ after = 10, every = 20, next = "remind",
      interrupt = false }, log)))
    local id = assert(engine:start "t.beside")
    assert(engine:run())
    for _ = 1, 6 do
      clock:advance(10)
      assert(engine:run())
    end
    assert.completed(engine, id)
    assert.same({ "remind", "remind", "remind", "a", "closed" }, log)
  end)
end)

kit.describe("an instance that fails beside a handler that waits",
  function(backend)
    local function flow_with(log, compensate, catches)
      local flow = pawl.workflow { code = "t.beside", start = "f",
        compensate = compensate }
      flow:fork("f", { next = { "a", "b" } })
      flow:step("a", { next = "j", timeout = "1h", retry = false,
        run = function(ctx)
          local ok, why = true, nil
          if catches then ok, why = pcall(ctx.await, 60) else ctx.await(60) end
          log[#log + 1] = ok and "a" or why.code
          ctx.vars.a = true
        end,
        undo = function() log[#log + 1] = "undo a" end })
      flow:timer("b", { after = 10, next = "c" })
      flow:step("c", { next = "j", retry = false,
        run = function() error { code = "no" } end })
      flow:join("j", { next = "z" })
      flow:finish "z"
      return flow
    end

    --- One that has failed while it waited; what was told meanwhile.
    local function failed(compensate, catches)
      local engine, clock = backend.fresh()
      local log = {}
      assert(engine:load(flow_with(log, compensate, catches)))
      local id = assert(engine:start "t.beside")
      assert(engine:run())
      clock:advance(10)
      assert(engine:run())
      assert.equal(0, assert(engine:tick()).waiting)
      local instance = assert(engine:get(id))
      assert.equal("failed", instance.status)
      assert.equal("no", instance.error.code)
      return instance, log
    end

    it("tells it, and undoes what it has done", function()
      local instance, log = failed(true, true)
      assert.same({ "cancelled", "undo a" }, log)
      assert.equal("completed", instance.compensation.status)
      assert.is_true(instance.variables.a)
    end)

    it("has nothing to undo of one that gives up", function()
      local instance, log = failed(true, false)
      assert.same({}, log)
      assert.equal(0, #instance.compensation.completed)
    end)

    it("ends it where it stands when nothing is undone", function()
      local _, log = failed(false, true)
      assert.same({}, log)
    end)

    it("undoes what is recorded when its process dies first", function()
      local log = {}
      local a, b, clock = kit.pair(backend, { flow_with(log, true, true) })
      local id = assert(a:start "t.beside")
      assert(a:run())
      clock:advance(10)
      a:interrupt()
      assert(a:tick()) -- c's failure may be stored, a's answer not
      clock:advance "1h"
      for _ = 1, 3 do assert(b:run()) end
      assert.failed(b, id)
      assert.equal("completed", assert(b:get(id)).compensation.status)
    end)
  end)

kit.describe("a node that undoes beside a handler that waits", function(backend)
  it("begins once that is back, and then undoes it, too", function()
    local engine, clock = backend.fresh()
    local log = {}
    local flow = workflow()
    flow:fork("f", { next = { "a", "b", "c" } })
    flow:step("a", { next = "j", timeout = "1h",
      run = function(ctx)
        ctx.await(60)
        log[#log + 1] = "a"
      end,
      undo = function() log[#log + 1] = "undo a" end })
    flow:timer("b", { after = 10, next = "back" })
    flow:undo("back", { next = "j" })
    flow:timer("c", { after = 20, next = "d" })
    flow:step("d", { next = "j",
      run = function() log[#log + 1] = "d" end })
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.beside")
    for _ = 1, 5 do
      assert(engine:run())
      clock:advance(10)
    end
    assert.same({}, log) -- nothing begins meanwhile
    clock:advance(10)
    assert(engine:run())
    assert.completed(engine, id)
    assert.same({ "a", "undo a", "d" }, log)
  end)
end)

kit.describe("an instance that is cancelled beside handlers that wait",
  function(backend)
    it("tells each, and undoes what those did that went on", function()
      local engine = backend.fresh()
      local log = {}
      local flow = pawl.workflow { code = "t.beside", start = "f",
        compensate = true }
      flow:fork("f", { next = { "a", "b", "c" } })
      for _, name in ipairs { "a", "b", "c" } do
        flow:step(name, { next = "j", timeout = "1h",
          run = function(ctx)
            if name == "b" then
              pcall(ctx.await, 60)
              log[#log + 1] = "b cleaned"
            else
              ctx.await(60)
            end
          end,
          undo = function() log[#log + 1] = "undo " .. name end })
      end
      flow:join("j", { next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.beside")
      assert(engine:run())
      assert.equal(1, assert(engine:tick(1)).waiting)
      assert(engine:cancel(id, "no"))
      assert(engine:run())
      assert.same({ "b cleaned", "undo b" }, log)
      assert.equal("cancelled", kit.status(engine, id))
      assert.equal(0, assert(engine:tick()).waiting)
    end)

    it("dies at once by a kill", function()
      local engine = backend.fresh()
      assert(engine:load(branches(3)))
      local id = assert(engine:start "t.beside")
      assert(engine:run())
      assert(engine:kill(id))
      assert(engine:run())
      assert.equal("cancelled", kit.status(engine, id))
      assert.equal(0, assert(engine:tick()).waiting)
    end)
  end)

kit.describe("variables that branches change at one time", function(backend)
  local function flow_with(a, b, retry)
    local flow = workflow()
    flow:fork("f", { next = { a = "a", b = "b" } })
    flow:step("a", { next = "j", retry = retry, run = a })
    flow:step("b", { next = "j", retry = retry, run = b })
    flow:join("j", { next = "z" })
    flow:finish "z"
    return flow
  end
  local function after(seconds, change)
    return function(ctx)
      ctx.await(seconds)
      return change(ctx)
    end
  end
  local function outcome(flow)
    local engine, clock = backend.fresh()
    assert(engine:load(flow))
    local id = assert(engine:start("t.beside", {}))
    for _ = 1, 4 do
      assert(engine:run())
      clock:advance(1)
    end
    return assert(engine:get(id)), engine
  end

  it("are merged by key; one taken away stays so", function()
    local flow = pawl.workflow { code = "t.beside", start = "s" }
    flow:step("s", { next = "f", run = function(ctx)
      ctx.vars.x, ctx.vars.y = { 1 }, 2
    end })
    flow:fork("f", { next = { "a", "b" } })
    flow:step("a", { next = "j", run = after(1, function(ctx)
      ctx.vars.x = nil
    end) })
    flow:step("b", { next = "j", into = "out", run = after(2, function(ctx)
      ctx.vars.y = 3
      return nil, { "given" }
    end) })
    flow:join("j", { next = "z" })
    flow:finish "z"
    local instance = outcome(flow)
    assert.equal("completed", instance.status)
    assert.same({ y = 3, out = { "given" } }, instance.variables)
  end)

  it("are in conflict by their path, and a handler that may not be tried "
    .. "again fails", function()
    local instance = outcome(flow_with(
      after(1, function(ctx) ctx.vars.total = 1 end),
      after(2, function(ctx) ctx.vars.total = 2 end), false))
    assert.equal("failed", instance.status)
    assert.equal("conflict", instance.error.code)
    assert.equal("vars.total was changed beside this handler while it waited",
      instance.error.message)
    assert.same({ total = 1 }, instance.variables)
  end)

  it("are in conflict with `into`, too", function()
    local flow = workflow()
    flow:fork("f", { next = { "a", "b" } })
    for i, name in ipairs { "a", "b" } do
      flow:step(name, { next = "j", into = "it", retry = false,
        run = after(i, function() return nil, i end) })
    end
    flow:join("j", { next = "z" })
    flow:finish "z"
    local instance = outcome(flow)
    assert.equal("conflict", instance.error.code)
    assert.matches("^vars%.it ", instance.error.message)
  end)

  it("may not be too large together", function()
    local flow = flow_with(
      after(1, function(ctx) ctx.vars.a = ("x"):rep(600) end),
      after(2, function(ctx) ctx.vars.b = ("y"):rep(600) end), false)
    local engine, clock = backend.fresh { max_bytes = 1000 }
    assert(engine:load(flow))
    local id = assert(engine:start "t.beside")
    for _ = 1, 4 do
      assert(engine:run())
      clock:advance(1)
    end
    local err = assert(engine:get(id)).error
    assert.equal("limit", err.code)
    assert.matches("with what was set beside this handler", err.message)
  end)
end)
