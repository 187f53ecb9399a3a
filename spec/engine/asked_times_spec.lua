-- How long something waits, as a function says when it begins: once a visit.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

local AWAY = { code = "t.away", start = "t" }

local function child()
  local flow = pawl.workflow(AWAY)
  flow:timer("t", { after = "30d", next = "z" })
  flow:finish "z"
  return flow
end

--- One node that waits, by its kind, with these options more.
local WAITS = {
  wait = { event = "go", next = { received = "z", timeout = "late" } },
  task = { title = "Do it", next = { done = "z", timeout = "late" } },
  call = { workflow = "t.away", next = { completed = "z",
    timeout = "late" } },
  each = { workflow = "t.away", items = function() return { 1, 2 } end,
    next = "z", on_error = { timeout = "late" } },
}

local function waiting(kind, more, version)
  local flow = pawl.workflow { code = "t.span", start = "a",
    version = version }
  local options = {}
  for name, value in pairs(WAITS[kind] or { next = "z" }) do
    options[name] = value
  end
  for name, value in pairs(more) do options[name] = value end
  flow:step("a", { next = "w",
    run = function(ctx) ctx.vars.days = ctx.input.days end })
  flow[kind](flow, "w", options)
  if type(options.next) == "table" or options.on_error then
    flow:finish "late"
  end
  flow:finish "z"
  return flow
end

local function days(ctx) return ctx.vars.days and ctx.vars.days .. "d" end

kit.describe("a time that a function says", function(backend)
  local function begun(flow, input)
    local engine, clock, url = backend.fresh()
    assert(engine:load(child()))
    assert(engine:load(flow))
    local id = assert(engine:start("t.span", input or { days = 3 }))
    assert(engine:run())
    return engine, clock, id, url
  end

  for kind in pairs(WAITS) do
    it("is the timeout of a " .. kind, function()
      local engine, clock, id = begun(waiting(kind, { timeout = days }))
      clock:advance(3 * 86400 - 1)
      assert(engine:run())
      assert.equal("waiting", kit.status(engine, id))
      local asked = assert(engine:explain(id)).tokens[1].waiting_for
      assert.equal(pawl.date(clock:now() + 1).value, asked["until"])
      clock:advance(1)
      assert(engine:run())
      assert.equal("late", assert(engine:get(id)).node)
    end)

    it("is none for a " .. kind .. " where that is nil", function()
      local engine, clock, id = begun(waiting(kind, { timeout = days }), {})
      assert.equal("waiting", kit.status(engine, id))
      assert.equal(pawl.null,
        assert(engine:explain(id)).tokens[1].waiting_for["until"] or pawl.null)
      clock:advance "20d"
      assert(engine:run())
      assert.equal("waiting", kit.status(engine, id))
    end)
  end

  it("is how long a timer waits", function()
    local engine, clock, id = begun(waiting("timer", { after = days }))
    assert.equal(clock:now() + 3 * 86400, assert(engine:next_due()))
    clock:advance "3d"
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is when a task is due, unless `prepare` says so", function()
    local engine, clock, id = begun(waiting("task", { due = days,
      next = "z" }))
    local task = assert(engine.tasks:list { instance = id })[1]
    assert.equal(pawl.date(clock:now() + 3 * 86400).value, task.due)
    clock:advance "3d"
    assert(engine:run())
    assert.is_true(assert(engine:explain(id)).tokens[1].waiting_for.overdue)
    engine, clock, id = begun(waiting("task", { due = days, next = "z",
      prepare = function() return { due = "1h" } end }))
    task = assert(engine.tasks:list { instance = id })[1]
    assert.equal(pawl.date(clock:now() + 3600).value, task.due)
    engine, clock, id = begun(waiting("task", { due = days, next = "z" }), {})
    assert.equal(clock:now(), engine:now())
    task = assert(engine.tasks:list { instance = id })[1]
    assert.is_nil(task.due)
  end)

  it("fails its node, with what it was, where it is no duration", function()
    for _, wrong in ipairs {
      { "soon", "'soon' is not a duration" },
      { -3, "-3 is negative" },
      { { 1 }, "a duration cannot be a table" },
      { "2x", "'2x' has an unknown unit 'x'" },
    } do
      local engine, _, id = begun(waiting("wait", {
        timeout = function() return wrong[1] end }))
      local instance = assert(engine:get(id))
      assert.equal("failed", instance.status)
      assert.equal("value", instance.error.code)
      assert.matches("`timeout` returned no duration: " .. wrong[2],
        instance.error.message, 1, true)
      assert.matches("write seconds", instance.error.hint, 1, true)
    end
    local engine, _, id = begun(waiting("timer", { after = days }), {})
    assert.equal("value", assert(engine:get(id)).error.code)
  end)

  it("may be nothing: then it is over at once", function()
    local engine, _, id = begun(waiting("wait", {
      timeout = function() return 0 end }))
    assert(engine:run())
    assert.equal("late", assert(engine:get(id)).node)
  end)

  it("is asked once a visit, however often that is tried", function()
    local asked, tries = 0, 0
    local flow = pawl.workflow { code = "t.span" }
    flow:call("w", {
      workflow = "t.fails", retry = { max = 3, base = 1, jitter = 0 },
      timeout = function()
        asked = asked + 1
        return asked * 100
      end,
    })
    local fails = kit.one(function()
      tries = tries + 1
      error "no"
    end, { code = "t.fails", retry = false })
    local engine, clock = backend.fresh()
    assert(engine:load(fails))
    assert(engine:load(flow))
    local id = assert(engine:start "t.span")
    for _ = 1, 8 do
      assert(engine:run())
      clock:advance(5)
    end
    assert.failed(engine, id)
    assert.equal(3, tries)
    assert.equal(1, asked)
  end)

  it("is asked again in the next visit", function()
    local flow = pawl.workflow { code = "t.span" }
    flow:step("a", { next = { on = "w", done = "z" }, run = function(ctx)
      ctx.vars.n = (ctx.vars.n or 0) + 1
      return ctx.vars.n < 4 and "on" or "done"
    end })
    flow:timer("w", { next = "a",
      after = function(ctx) return ctx.vars.n * 60 end })
    flow:finish "z"
    local engine, clock = backend.fresh()
    assert(engine:load(flow))
    local id = assert(engine:start "t.span")
    for n = 1, 3 do
      assert(engine:run())
      assert.equal(clock:now() + n * 60, assert(engine:next_due()))
      clock:advance(n * 60)
    end
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("stays when its worker dies, and when that is put off", function()
    local asked = 0
    local engine, clock, id, url = begun(waiting("wait", {
      timeout = function()
        asked = asked + 1
        return "1h"
      end }))
    local due = assert(engine:next_due())
    assert(engine:signal { name = "other", instance = id })
    kit.claim(kit.store(url, clock), id)
    clock:advance(31)
    assert(engine:run())
    assert.equal(due, assert(engine:next_due()))
    assert(engine:suspend(id))
    clock:advance(60)
    assert(engine:resume(id, { shift = true }))
    assert(engine:run())
    assert.equal(due + 60, assert(engine:next_due()))
    assert(engine:wake(id))
    assert(engine:run())
    assert.equal("late", assert(engine:get(id)).node)
    assert.equal(1, asked)
  end)

  it("wakes a task's own times", function()
    local engine, _, id = begun(waiting("task", { due = days,
      timeout = function() return "5d" end }))
    assert(engine:wake(id)) -- what comes first: it is overdue
    assert(engine:run())
    assert.equal(1, #assert(engine:history(id, { type = "escalated" })))
    assert(engine:wake(id))
    assert(engine:run())
    assert.equal("late", assert(engine:get(id)).node)
  end)

  it("stays in another version, where a number counts from the beginning",
    function()
      for kind in pairs(WAITS) do
        local engine, clock, id = begun(waiting(kind, { timeout = days }, 1))
        local due = assert(engine:next_due())
        clock:advance "1h"
        assert(engine:load(waiting(kind, { timeout = function()
          error "not asked"
        end }, 2)))
        assert(engine:load(waiting(kind, { timeout = "4d" }, 3)))
        assert(engine:load(waiting(kind, { timeout = days }, 4)))
        for to, later in ipairs { 0, 86400, 86400 } do
          assert(engine.workflows:transfer("t.span", to, to + 1))
          assert(engine:run())
          assert.equal("waiting", kit.status(engine, id))
          assert.equal(due + later, assert(engine:next_due()))
        end
      end
      local engine, clock = begun(waiting("timer", { after = days }, 1))
      local due = assert(engine:next_due())
      clock:advance "1h"
      assert(engine:load(waiting("timer", { after = "4d" }, 2)))
      assert(engine:load(waiting("timer", { after = days }, 3)))
      for to = 2, 3 do
        assert(engine.workflows:transfer("t.span", to - 1, to))
        assert(engine:run())
        assert.equal(due + 86400, assert(engine:next_due()))
      end
    end)
end)

describe("the checker", function()
  it("takes no function where nobody could be asked", function()
    local function one() return 1 end
    for field, value in pairs { retain = one, retry = { base = one } } do
      local ok, err = pcall(pawl.workflow, { code = "t.a", [field] = value })
      assert.is_false(ok)
      assert.matches("of workflow \"t.a\": a duration cannot be a function",
        err.message, 1, true)
    end
  end)

  it("takes one thing for the next attempt", function()
    local ok, err = pcall(function()
      pawl.workflow({ code = "t.a" }):step("a", { run = function() end,
        retry = { delay = function() return 1 end, cap = 5 } })
    end)
    assert.is_false(ok)
    assert.equal("'retry' of step \"a\" has both 'delay' and 'cap'",
      err.message)
  end)
end)

describe("a limited script", function()
  for _, level in ipairs { "limited", "isolated" } do
    it(level .. " says how long it waits", function()
      local engine = assert(pawl.open(":memory:", { trust = level }))
      assert(engine:load(tmp.file("flow.lua", [[
        local pawl = require "pawl"
        local flow = pawl.workflow { code = "mod.span" }
        flow:timer("t", { after = function(ctx) return ctx.input.n end })
        flow:wait("w", { event = "go", timeout = function(ctx)
          return ctx.input.n + 1 .. "s" end })
        return flow]])))
      local id = assert(engine:start("mod.span", { n = 0 }))
      assert(engine:run())
      local token = assert(engine:get(id)).tokens[1]
      assert.equal("w", token.node)
      assert.is_string(token.due)
      id = assert(engine:start("mod.span", { n = "x" }))
      assert(engine:run())
      local err = assert(engine:get(id)).error
      assert.equal("value", err.code)
      assert.matches("'x' has no", err.message .. "'x' has no", 1, true)
      engine:close()
    end)
  end
end)

--- One step that fails `times` times, or takes so long.
local function working(more, workflow)
  local options = { code = "t.work" }
  for name, value in pairs(workflow or {}) do options[name] = value end
  local flow = pawl.workflow(options)
  local step = { next = "z", run = function() error { code = "busy" } end }
  for name, value in pairs(more) do step[name] = value end
  flow:step("s", step)
  flow:finish "z"
  return flow
end

kit.describe("a time of a step that a function says", function(backend)
  local function begun(flow, input)
    local engine, clock, url = backend.fresh()
    assert(engine:load(flow))
    local id = assert(engine:start("t.work", input))
    assert(engine:run())
    return engine, clock, id, url
  end

  it("is its timeout, asked before it begins", function()
    local engine, clock
    local asked = 0
    local function limit(ctx)
      asked = asked + 1
      return ctx.input.limit
    end
    local function slow() clock:advance(30) end
    for _, where in ipairs { "step", "workflow" } do
      engine, clock = backend.fresh()
      assert(engine:load(where == "step"
        and working { timeout = limit, run = slow, retry = false }
        or working({ run = slow, retry = false }, { timeout = limit })))
      asked = 0
      local short = assert(engine:start("t.work", { limit = "29s" }))
      local long = assert(engine:start("t.work", { limit = 31 }))
      local usual = assert(engine:start("t.work", {}))
      assert(engine:run())
      local err = assert(engine:get(short)).error
      assert.equal("timeout", err.code)
      assert.matches('step "s" took 30.0 s; its timeout is 29.0 s',
        err.message, 1, true)
      assert.completed(engine, long)
      assert.completed(engine, usual)
      assert.equal(3, asked)
    end
  end)

  it("is one timeout for all attempts of a visit", function()
    local engine, clock = backend.fresh()
    local asked = 0
    assert(engine:load(working { retry = 3,
      timeout = function() asked = asked + 1 return 5 end,
      run = function() clock:advance(6) end }))
    local id = assert(engine:start "t.work")
    assert(engine:run())
    clock:advance "1h"
    assert(engine:run())
    clock:advance "1h"
    assert(engine:run())
    assert.failed(engine, id)
    assert.equal(1, asked)
    assert.equal(3, #assert(engine:history(id, { type = "failed" })))
  end)

  it("fails it where it is no timeout, before it has run", function()
    for _, wrong in ipairs { "soon", 0, {} } do
      local ran = false
      local engine, _, id = begun(working {
        timeout = function() return wrong end,
        run = function() ran = true end })
      local err = assert(engine:get(id)).error
      assert.same({ "value", false }, { err.code, ran })
      assert.matches("`timeout` returned no", err.message, 1, true)
    end
  end)

  it("is when it is tried again", function()
    local seen = {}
    local engine, clock, id = begun(working { retry = { max = 4,
      delay = function(ctx, attempt, err)
        seen[#seen + 1] = { attempt, err.code, err.node, ctx.error.attempt }
        return attempt < 3 and attempt * 60 or "1h"
      end } })
    for _, seconds in ipairs { 60, 120, 3600 } do
      assert.equal(clock:now() + seconds, assert(engine:next_due()))
      clock:advance(seconds)
      assert(engine:run())
    end
    assert.failed(engine, id)
    assert.same({ { 1, "busy", "s", 1 }, { 2, "busy", "s", 2 },
      { 3, "busy", "s", 3 } }, seen)
  end)

  it("is by policy where that says nothing, fails, or the error says it",
    function()
      local function due(delay, run)
        local engine, clock, id = begun(working({ run = run,
          retry = { max = 2, delay = delay } },
          { retry = { base = 7, cap = 7, jitter = 0 } }))
        return engine:next_due() - clock:now(), engine, id
      end
      assert.equal(7, (due(function() return nil end)))
      assert.equal(90, (due(function() return 1 end,
        function() error { retry = 90 } end)))
      local seconds, engine, id = due(function() error "no delay" end)
      assert.equal(7, seconds)
      local row = assert(engine:history(id, { type = "failed" }))[1]
      assert.equal("busy", row.error.code)
      assert.matches("as its `delay` failed: .*no delay", row.text)
    end)

  it("is not asked of a step that says its own base", function()
    local engine, clock = begun(working({ retry = { base = 5, jitter = 0 } },
      { retry = { delay = function() return 100 end } }))
    assert.equal(clock:now() + 5, assert(engine:next_due()))
  end)

  it("is not asked of a step that waits, once it has begun", function()
    local asked = 0
    local engine, clock, id = begun(working { timeout = function()
      asked = asked + 1
      return "2h"
    end, run = function(ctx) ctx.await(3600) end })
    clock:advance "1h"
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(1, asked)
  end)
end)
