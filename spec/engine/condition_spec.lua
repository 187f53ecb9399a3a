-- Waits for a condition: looked at when variables change, and at no other time.
local explain = require "pawl.explain"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

local asked

--- Two branches: `w` waits for `ctx.vars.n`, and what `others` adds, which
--- leads to "j", sees to that.
local function forked(more, others, options)
  options = options or {}
  options.code = "t.until"
  local flow = pawl.workflow(options)
  flow:fork("f", { next = { "w", "a" } })
  local wait = { next = "j", condition = function(ctx)
    asked = asked + 1
    return (ctx.vars.n or 0) >= (ctx.input.want or 2)
  end }
  for name, value in pairs(more or {}) do wait[name] = value or nil end
  flow:wait("w", wait)
  others(flow)
  flow:join("j", { next = "z" })
  flow:finish("z", { output = function(ctx) return ctx.vars end })
  return flow
end

local function alone(more, version)
  local flow = pawl.workflow { code = "t.until", version = version }
  local wait = { condition = function(ctx)
    asked = asked + 1
    return ctx.vars.n == 1
  end }
  for name, value in pairs(more or {}) do wait[name] = value or nil end
  flow:wait("w", wait)
  flow:finish "z"
  return flow
end

local function late(flow)
  flow:wait("w", { condition = function(ctx) return ctx.vars.n == 1 end,
    timeout = "1h", next = { met = "z", timeout = "late" } })
  flow:finish "z"
  flow:finish("late", { output = function() return "late" end })
  return flow
end

local function counting(flow)
  flow:step("a", { run = function(ctx) ctx.vars.n = 1 end, next = "t" })
  flow:timer("t", { after = "1h", next = "b" })
  flow:step("b", { run = function(ctx) ctx.vars.n = 2 end, next = "j" })
end

kit.describe("a wait for a condition", function(backend)
  local engine, clock, url

  before_each(function() asked = 0 end)

  local function begun(flow, input, options)
    engine, clock, url = backend.fresh(options)
    assert(engine:load(flow))
    local id = assert(engine:start("t.until", input or {}))
    assert(engine:run())
    return id
  end

  local function edit(id, set)
    assert(engine:edit(id, { set = set }))
    assert(engine:run())
  end

  it("goes on when another branch has made it hold, and is asked no oftener",
    function()
      local id = begun(forked(nil, counting))
      assert.equal("waiting", kit.status(engine, id))
      assert.equal(2, asked) -- as it was come to, and when n became 1
      clock:advance "30m"
      assert(engine:run())
      assert.equal(2, asked)
      clock:advance "30m"
      assert(engine:run())
      assert.completed(engine, id)
      assert.equal(3, asked)
      local rows = assert(engine:history(id, { type = "condition" }))
      assert.equal("w", rows[1].node)
      assert.equal("j", rows[1].path:match "^%w+")
    end)

  it("is passed where it holds already", function()
    local id = begun(forked(nil, counting, nil), { want = 0 })
    assert.equal(1, asked)
    assert.same({}, assert(engine:history(id, { type = "condition" })))
    assert.matches("w", assert(engine:history(id))[1].path)
  end)

  it("is asked after an edit from outside, and writes nothing till then",
    function()
      local id = begun(alone())
      assert.equal("started w", kit.trail(engine, id))
      assert.is_nil(engine:next_due())
      edit(id, { n = 7 })
      assert.equal("waiting", kit.status(engine, id))
      assert.equal(2, asked)
      edit(id, { n = 1 })
      assert.completed(engine, id)
      assert.equal("started w, changed w, changed w, condition w",
        kit.trail(engine, id))
      assert.equal(0, kit.count(backend, url, "subscription"))
    end)

  it("is asked by a worker, where one without handlers has edited",
    function()
      local id = begun(alone())
      local other = kit.rival(backend, url, clock)
      assert(other:edit(id, { set = { n = 3 } }))
      assert.truthy(assert(engine:next_due()) <= clock:now())
      local why = assert(engine:explain(id))
      assert.is_true(why.tokens[1].waiting_for.due)
      assert.matches("when a worker takes it, as variables have changed",
        table.concat(explain.sentences(why), "\n"), 1, true)
      assert(engine:run())
      assert.equal(2, asked)
      assert.is_nil(engine:next_due())
      assert.equal("waiting", kit.status(engine, id))
      assert(other:edit(id, { set = { n = 1 } }))
      assert(engine:run())
      assert.completed(engine, id)
      other:close()
    end)

  it("sees what an event, a child, an item and a task bring", function()
    engine, clock = backend.fresh()
    local child = pawl.workflow { code = "t.child" }
    child:finish("z", { output = function(ctx) return ctx.input.n end })
    assert(engine:load(child))
    local ways = {
      wait = { event = "paid", into = "n", next = "j" },
      call = { workflow = "t.child", input = { n = 5 }, into = "n",
        next = "j" },
      each = { items = function() return { { n = 5 } } end, into = "n",
        next = "j", workflow = "t.child" },
      task = { title = "n", into = "n", next = "j" },
    }
    for kind, options in pairs(ways) do
      assert(engine:load(forked({ condition = function(ctx)
        return ctx.vars.n ~= nil
      end }, function(flow)
        flow[kind](flow, "a", options)
      end, { version = "auto" })))
      local id = assert(engine:start "t.until")
      assert(engine:run())
      if kind == "wait" then
        assert(engine:signal { name = "paid", instance = id, data = 5 })
      elseif kind == "task" then
        local task = assert(engine.tasks:list { instance = id })[1]
        assert(engine.tasks:complete(task.id, { by = "ann",
          output = { n = 5 } }))
      end
      assert(engine:run())
      assert.equal("completed", kit.status(engine, id), kind)
      assert.equal(1, #assert(engine:history(id, { type = "condition" })),
        kind)
    end
  end)

  it("lets all go on that hold, and each by what another has done", function()
    local flow = pawl.workflow { code = "t.until" }
    flow:fork("f", { next = { "w1", "w2", "w3", "a" } })
    for i = 1, 3 do
      flow:wait("w" .. i, { next = "s" .. i,
        condition = function(ctx) return ctx.vars.n == i end })
      flow:step("s" .. i, { next = "j", run = function(ctx)
        ctx.vars.n = ctx.vars.n - 1
        ctx.vars.order = (ctx.vars.order or "") .. i
      end })
    end
    flow:wait("a", { event = "go", into = "n", next = "j" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    local id = begun(flow)
    assert(engine:signal { name = "go", instance = id, data = 3 })
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal("321", assert(engine:get(id)).variables.order)
  end)

  it("sees each change, though two were made in one go", function()
    local flow = pawl.workflow { code = "t.until" }
    flow:fork("f", { next = { "w", "a", "b" } })
    flow:wait("w", { condition = function(ctx) return ctx.vars.n == 1 end,
      timeout = "1h", next = { met = "j", timeout = "late" } })
    flow:step("a", { run = function(ctx) ctx.vars.n = 1 end, next = "j" })
    flow:step("b", { run = function(ctx) ctx.vars.n = 2 end, next = "j" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    flow:finish("late", { status = "failed" })
    local id = begun(flow)
    assert.completed(engine, id)
  end)

  it("gives up at its time, which an event may move", function()
    local flow = late(pawl.workflow { code = "t.until" })
    local id = begun(flow)
    assert.equal(clock:now() + 3600, assert(engine:next_due()))
    clock:advance "1h"
    assert(engine:run())
    assert.equal("late", assert(engine:get(id)).output)
    id = begun(alone { timeout = function(ctx) return ctx.vars.wait or "1h" end,
      reschedule = { event = "longer", into = "wait" } })
    assert(engine:signal { name = "longer", instance = id, data = "2h" })
    assert(engine:run())
    assert.equal(clock:now() + 7200, assert(engine:next_due()))
    assert.equal(2, asked) -- `into` is a variable
    edit(id, { n = 1 })
    assert.completed(engine, id)
    assert.equal(0, kit.count(backend, url, "subscription"))
  end)

  it("holds by what came before its time, whenever that is looked at",
    function()
      local id = begun(late(pawl.workflow { code = "t.until" }))
      local other = kit.rival(backend, url, clock)
      clock:jump "59m"
      assert(other:edit(id, { set = { n = 1 } }))
      clock:jump "2h"
      assert(engine:run())
      assert.is_nil(assert(engine:get(id)).output)
      local tardy = assert(engine:start "t.until")
      assert(engine:run())
      clock:jump "2h"
      assert(other:edit(tardy, { set = { n = 1 } }))
      assert(engine:run())
      assert.equal("late", assert(engine:get(tardy)).output)
      other:close()
    end)

  it("fails as a choice does, and is tried again as it says", function()
    local id = begun(alone { condition = function(ctx)
      if ctx.vars.n then error { code = "odd", message = "no" } end
    end, on_error = { odd = "z" } })
    edit(id, { n = 1 })
    assert.completed(engine, id)
    assert.equal("odd", assert(engine:history(id, { type = "failed" }))[1]
      .transition)
    id = begun(alone { condition = function(ctx)
      if ctx.vars.n == 1 and ctx.attempt < 3 then error "not yet" end
      return ctx.vars.n == 1
    end, retry = { max = 3, base = 1, jitter = 0 } })
    edit(id, { n = 1 })
    assert.equal("running", kit.status(engine, id))
    clock:advance(1)
    assert(engine:run())
    clock:advance(2)
    assert(engine:run())
    assert.completed(engine, id)
    id = begun(alone { condition = function(ctx) ctx.vars.n = 1 end })
    local err = assert(engine:get(id)).error
    assert.equal("value", err.code)
    assert.matches("`condition`", err.message, 1, true)
  end)

  it("stands as it stood when it is suspended, retried and moved", function()
    local id = begun(alone())
    assert(engine:suspend(id))
    edit(id, { n = 1 })
    assert.equal(1, asked)
    assert.equal("suspended", kit.status(engine, id))
    assert(engine:resume(id))
    assert(engine:run())
    assert.completed(engine, id)
    local mended
    id = begun(forked(nil, function(flow)
      flow:step("a", { run = function(ctx)
        if not mended then error { code = "x", retry = false } end
        ctx.vars.n = 2
      end, next = "j" })
    end))
    assert.failed(engine, id)
    mended = true
    assert(engine:retry(id))
    assert(engine:run())
    assert.completed(engine, id)
    id = begun(alone())
    assert(engine:move(id, { to = "w" }))
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    edit(id, { n = 1 })
    assert.completed(engine, id)
  end)

  it("goes on in another version, as an event and back", function()
    local id = begun(alone(nil, 1))
    assert(engine:load(alone({ condition = function(ctx)
      return ctx.vars.n == 7
    end }, 2)))
    assert(engine:load(alone({ condition = false, event = "go" }, 3)))
    assert(engine:load(alone(nil, 4)))
    edit(id, { n = 7 })
    assert(engine.workflows:transfer("t.until", 1, 3))
    assert(engine:run())
    assert.equal(1, kit.count(backend, url, "subscription"))
    assert(engine.workflows:transfer("t.until", 3, 4))
    assert(engine:run())
    assert.equal(0, kit.count(backend, url, "subscription"))
    assert.equal("waiting", kit.status(engine, id))
    assert(engine.workflows:transfer("t.until", 4, 2))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is asked by whoever takes over, and by lanes", function()
    local id = begun(alone())
    local other = kit.rival(backend, url, clock)
    assert(other:edit(id, { set = { n = 1 } }))
    other:close()
    kit.claim(kit.store(url, clock), id)
    clock:advance(31)
    assert(engine:run())
    assert.completed(engine, id)
    local open
    id = begun(alone { condition = function() return open end,
      on_timer = { every = "1h", run = function() end } })
    clock:advance "1h"
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    open = true
    clock:advance "59m"
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance "1m"
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is interrupted by its boundaries", function()
    local id = begun(alone { on_event = { event = "stop", next = "z" } })
    assert(engine:signal { name = "stop", instance = id })
    assert(engine:run())
    assert.completed(engine, id)
    assert.matches("dropped w", kit.trail(engine, id), 1, true)
  end)

  it("does not spin", function()
    local flow = pawl.workflow { code = "t.until" }
    local function yes() return true end
    flow:wait("w", { condition = yes, next = "x" })
    flow:wait("x", { condition = yes, next = { met = "w", timeout = "z" },
      timeout = "1h" })
    flow:finish "z"
    local id = begun(flow)
    assert.failed(engine, id)
    assert.matches("100 nodes in a row", assert(engine:get(id)).error.message)
    flow = pawl.workflow { code = "t.until", busy_limit = 50 }
    flow:step("s", { run = function() end, next = "w" })
    flow:wait("w", { condition = yes, next = { met = "s", timeout = "z" },
      timeout = "1h" })
    flow:finish "z"
    id = begun(flow)
    assert.equal("suspended", kit.status(engine, id))
    assert.equal("busy_loop", assert(engine:get(id)).error.code)
  end)

  it("is explained, drawn and healthy", function()
    local id = begun(late(pawl.workflow { code = "t.until" }))
    local token = assert(engine:explain(id)).tokens[1]
    assert.equal("condition", token.waiting_for.what)
    assert.is_nil(token.waiting_for.due)
    assert.same({ { what = "condition", to = "z" },
      { what = "timeout", at = token.waiting_for["until"], to = "late" } },
      token.would_move)
    assert.same({ { kind = "editor" } }, token.may)
    assert.matches('waits until its `condition` holds and goes to "z"; that '
      .. "is looked at whenever variables change. At ",
      table.concat(explain.sentences(
        assert(engine:explain(id))), "\n"), 1, true)
    assert.same({}, assert(engine:health()).problems)
  end)
end)

describe("a wait for a condition", function()
  local function refused(more, message)
    local ok, err = pcall(alone, more)
    assert.is_false(ok)
    assert.equal(message, err.message)
    return err.hint
  end

  it("takes nothing that is of events", function()
    assert.equal("an event is looked at by `match`: keep one of them",
      refused({ event = "e" },
        "wait \"w\" has both 'event' and 'condition'"))
    refused({ condition = false },
      "wait \"w\" says neither 'event' nor 'condition'")
    refused({ condition = 7 },
      "'condition' of wait \"w\" must be a function, not an integer")
    for field, value in pairs { key = "k", into = "v", take = "all",
      match = print, answer = print, undo = print, accepts = "string" } do
      assert.equal("leave it out", refused({ [field] = value },
        ("wait \"w\" has '%s', which is of a wait for an event, and a "
          .. "'condition'"):format(field)))
    end
    refused({ next = { received = "z" } },
      "'next' of wait \"w\" has no transition 'received'")
    refused({ next = { met = "z", timeout = "z" } },
      "'next' of wait \"w\" has 'timeout', but there is no 'timeout'")
  end)

  for _, level in ipairs { "limited", "isolated" } do
    it("may be one of a script that is " .. level, function()
      local engine = assert(pawl.open(":memory:", { trust = level }))
      assert(engine:load(tmp.file("flow.lua", [[
        local pawl = require "pawl"
        local flow = pawl.workflow { code = "mod.until" }
        flow:wait("w", { condition = function(ctx)
          while ctx.vars.n == 2 do end
          return ctx.vars.n == 1
        end })
        return flow]])))
      local id = assert(engine:start "mod.until")
      local slow = assert(engine:start "mod.until")
      assert(engine:run())
      assert.equal("waiting", assert(engine:get(id)).status)
      assert(engine:edit(id, { set = { n = 1 } }))
      assert(engine:edit(slow, { set = { n = 2 } }))
      assert(engine:run())
      assert.completed(engine, id)
      local err = assert(engine:get(slow)).error
      assert.equal("limit", err and err.code)
      engine:close()
    end)
  end
end)

kit.describe("a condition that holds behind its time", function(backend)
  local function held(output)
    return { output = function() return output end }
  end

  it("counts when the time is put off by a resume", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.put_off" }
    flow:wait("c", { condition = function(ctx) return ctx.vars.x end,
      timeout = "10s", next = { met = "m", timeout = "t" } })
    flow:finish("m", held "met")
    flow:finish("t", held "timeout")
    assert(engine:load(flow))
    local function after(resume)
      local id = assert(engine:start "t.put_off")
      assert(engine:run())
      assert(engine:suspend(id))
      assert(engine:run())
      clock:advance(20)
      assert(engine:edit(id, { set = { x = 1 } }))
      assert(engine:resume(id, resume))
      assert(engine:run())
      return assert(engine:get(id)).output
    end
    assert.equal("timeout", after())
    assert.equal("met", after { shift = true })
  end)

  it("does not count when an undo of a part makes it hold", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.late" }
    flow:fork("f", { next = { "c", "first" } })
    flow:wait("c", { condition = function(ctx) return ctx.vars.back end,
      timeout = "10s", next = { met = "m", timeout = "o" } })
    flow:step("m", { next = "j", run = function(ctx) ctx.vars.how = "met" end })
    flow:step("o", { next = "j",
      run = function(ctx) ctx.vars.how = "timeout" end })
    flow:step("first", { next = "second", run = function() end,
      undo = function() end })
    flow:step("second", { next = "u", run = function() end,
      retry = { max = 5, base = 60, cap = 60, jitter = 0 },
      undo = function(ctx)
        if ctx.attempt < 2 then error "not yet" end
        ctx.vars.back = true
      end })
    flow:undo("u", { next = "j" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.late")
    for _ = 1, 4 do
      assert(engine:run())
      clock:advance(30)
    end
    local instance = assert(engine:get(id))
    assert.equal("completed", instance.status)
    assert.equal("timeout", instance.variables.how)
  end)
end)
