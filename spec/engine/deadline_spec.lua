-- The deadline of a whole instance.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

--- a, then the timer t for a day, then b, then z; with a deadline.
local function lasting(deadline, options)
  local flow = pawl.workflow { code = "t.late", start = "a",
    version = options and options.version, deadline = deadline }
  flow:step("a", { next = "t", run = function() return nil, "out a" end,
    undo = options and options.undo })
  flow:timer("t", { after = "1d", next = "b" })
  flow:step("b", { next = "z", run = function(ctx) ctx.vars.b = true end })
  flow:finish "z"
  return flow
end

local function begin(engine, options)
  local id = assert(engine:start("t.late", nil, options))
  assert(engine:run())
  return id
end

local function get(engine, id) return assert(engine:get(id)) end

--- The newest row of history.
local function last(engine, id)
  local history = assert(engine:history(id))
  return history[#history]
end

kit.describe("a deadline", function(backend)
  it("fails the instance when it passes, and not before", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(lasting "2h"))
    local id = begin(engine)
    assert.equal("2026-01-01T02:00:00.000000Z", get(engine, id).deadline)
    assert.equal(clock:now() + 7200, engine:next_due())
    clock:advance(7199.999999)
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance(0.000001)
    assert(engine:run())
    local instance = get(engine, id)
    assert.equal("failed", instance.status)
    assert.equal("deadline", instance.error.code)
    assert.matches("passed its deadline", instance.error.message)
    assert.equal("t", instance.node)
    assert.same({}, instance.tokens)
    assert.equal("step a, deadline t", kit.trail(engine, id))
    local row = last(engine, id)
    assert.equal("deadline", row.error.code)
    assert.equal("2026-01-01T02:00:00.000000Z", row.due)
    assert.equal(0, kit.count(backend, url, "agenda"))
    clock:advance "2d"
    assert.equal(0, assert(engine:run()).claimed)
  end)

  it("is nothing to one that ends in time", function()
    local engine, clock = backend.fresh()
    assert(engine:load(lasting "25h"))
    local id = begin(engine)
    clock:advance "24h"
    assert(engine:run())
    assert.completed(engine, id)
    clock:advance "24h"
    assert.equal(0, assert(engine:run()).claimed)
  end)

  it("counts from where the instance begins", function()
    local engine, clock = backend.fresh()
    assert(engine:load(lasting "2h"))
    local id = begin(engine, { delay = "10h" })
    clock:advance "10h"
    assert(engine:run())
    assert.equal("2026-01-01T12:00:00.000000Z", get(engine, id).deadline)
    assert.equal("waiting", kit.status(engine, id))
  end)

  it("is what lists find it by, while it lives", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(lasting "2h"))
    local function found(before)
      local n = #assert(engine:list { deadline_before = before })
      assert.equal(n, assert(engine:tally { deadline_before = before }))
      return n
    end
    local began = clock:now()
    local id = begin(engine)
    assert.equal(0, found(began + 7200))
    assert.equal(1, found(began + 7201))
    assert(engine:suspend(id))
    assert.equal(1, found(began + 7201))
    clock:advance "1h"
    assert(engine:resume(id, { shift = true }))
    assert.equal(0, found(began + 10800))
    assert.equal(1, found(began + 10801))
    clock:advance "2h"
    assert(engine:run())
    assert.failed(engine, id)
    assert.equal(0, found(began + 86400))
    assert.equal(0, kit.count(backend, url, "deadline"))
    assert(engine:retry(id))
    assert(engine:run())
    assert.equal(1, found(began + 86400))
    clock:advance "1h"
    assert(engine:cancel(id, { by = "ann" }))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal(0, kit.count(backend, url, "deadline"))
  end)

  it("is not kept of what a single step ends, or is killed", function()
    local engine, _, url = backend.fresh()
    local flow = pawl.workflow { code = "t.late", start = "a",
      deadline = "10s" }
    flow:step("a", { next = "z", run = function() end })
    flow:finish "z"
    assert(engine:load(flow))
    begin(engine)
    assert(engine:load(lasting("2h", { version = 2 })))
    local id = begin(engine)
    assert.equal(1, kit.count(backend, url, "deadline"))
    assert(engine:kill(id, { by = "ann" }))
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal(0, kit.count(backend, url, "deadline"))
  end)

  it("has what was done undone", function()
    local engine, clock = backend.fresh()
    assert(engine:load(lasting("2h", { undo = function(ctx)
      ctx.vars.undone = ctx.output
    end })))
    local id = begin(engine)
    clock:advance "2h"
    assert(engine:run())
    local instance = get(engine, id)
    assert.equal("failed", instance.status)
    assert.equal("deadline", instance.error.code)
    assert.equal("out a", instance.variables.undone)
    assert.equal("completed", instance.compensation.status)
    assert.equal("step a, deadline t, undone a, compensated t",
      kit.trail(engine, id))
  end)

  it("ends every branch, and what those wait for", function()
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.late", start = "f",
      deadline = "1h" }
    flow:fork("f", { next = { "w", "k", "t" } })
    flow:wait("w", { event = "go", timeout = "2h", next = "j" })
    flow:task("k", { title = "Do it", next = "j" })
    flow:timer("t", { after = "3h", next = "j" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    clock:advance "1h"
    assert(engine:run())
    assert.failed(engine, id)
    assert.equal(0, kit.count(backend, url, "subscription"))
    assert.equal("cancelled",
      assert(engine.tasks:list { instance = id })[1].status)
    assert.is_nil(engine:next_due())
  end)

  it("stops the attempts of a step", function()
    local engine, clock = backend.fresh()
    local runs = 0
    local flow = pawl.workflow { code = "t.late", start = "a",
      deadline = "1h" }
    flow:step("a", { next = "z", retry = { max = 99, base = 1800, factor = 1,
      jitter = 0, cap = 1800 }, run = function()
        runs = runs + 1
        error { code = "boom" }
      end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    for _ = 1, 4 do
      clock:advance(1801)
      assert(engine:run())
    end
    assert.equal(2, runs)
    assert.equal("deadline", get(engine, id).error.code)
    assert.equal("failed a, failed a, deadline a", kit.trail(engine, id))
  end)

  it("that passes while a step runs counts behind that step", function()
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.late", start = "a",
      deadline = "10s" }
    flow:step("a", { next = "b", run = function(ctx)
      clock:advance(11)
      ctx.vars.a = true
    end })
    flow:step("b", { next = "z", run = function(ctx) ctx.vars.b = true end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    local instance = get(engine, id)
    assert.equal("failed", instance.status)
    assert.same({ a = true }, instance.variables)
    assert.equal("step a, deadline b", kit.trail(engine, id))
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("leaves a last step that ends it its success", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.late", start = "a",
      deadline = "10s" }
    flow:step("a", { next = "z", run = function() clock:advance(11) end })
    flow:finish "z"
    assert(engine:load(flow))
    assert.equal("completed", kit.status(engine, begin(engine)))
  end)

  it("does not come while the instance is suspended", function()
    local engine, clock = backend.fresh()
    assert(engine:load(lasting "2h"))
    local id = begin(engine)
    assert(engine:suspend(id))
    clock:advance "3h"
    assert.equal(0, assert(engine:run()).claimed)
    assert.equal("suspended", kit.status(engine, id))
    assert(engine:resume(id))
    assert(engine:run())
    assert.failed(engine, id)
    assert.equal("deadline", get(engine, id).error.code)
  end)

  it("is put off by as long as it was suspended, when asked", function()
    local engine, clock = backend.fresh()
    assert(engine:load(lasting "2h"))
    local id = begin(engine)
    clock:advance "1h"
    assert(engine:suspend(id))
    clock:advance "10h"
    assert(engine:resume(id, { shift = true }))
    assert(engine:run())
    assert.equal("2026-01-01T12:00:00.000000Z", get(engine, id).deadline)
    clock:advance(3599)
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance(1)
    assert(engine:run())
    assert.failed(engine, id)
  end)

  it("comes after an event that was received before it", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.late", start = "w",
      deadline = "1h" }
    flow:wait("w", { event = "go", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    clock:advance(3599)
    assert(engine:signal { name = "go", instance = id })
    clock:advance(10)
    assert(engine:run())
    assert.completed(engine, id)
  end)

  --- A timer of two seconds, an event, a step behind each; nobody looks before
  --- twenty have passed. The deadline comes after ten.
  local function seen_late(event_at)
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.late", deadline = 10 }
    local function step(name, next)
      flow:step(name, { next = next, run = function(ctx)
        ctx.vars.ran = (ctx.vars.ran or "") .. name
      end })
    end
    flow:timer("t", { after = 2, next = "a" })
    step("a", "w")
    flow:wait("w", { event = "go", next = "b" })
    step("b", "c")
    step("c", "z")
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    clock:jump(event_at)
    assert(engine:signal { name = "go", instance = id })
    clock:jump(20 - event_at)
    assert(engine:run())
    return get(engine, id)
  end

  it("comes behind what came before it, whenever that is seen", function()
    local instance = seen_late(5)
    assert.equal("completed", instance.status)
    assert.equal("abc", instance.variables.ran)
  end)

  it("comes before an event behind it, whenever that is seen", function()
    local instance = seen_late(15)
    assert.equal("deadline", instance.error.code)
    assert.equal("a", instance.variables.ran)
  end)

  --- Two branches, one of them an event's, in whose first step `also` happens.
  --- It has ten seconds, or is cancelled by an event.
  ---@param how "deadline"|"event"
  local function branching(how, also)
    local engine, clock, url = backend.fresh()
    local by_event = how == "event"
    local flow = pawl.workflow { code = "t.late", start = "f",
      deadline = not by_event and 10 or nil,
      cancel_on = by_event and { { event = "off" } } or nil }
    local function step(name, next, first)
      flow:step(name, { next = next, run = function(ctx)
        ctx.vars.ran = (ctx.vars.ran or "") .. name
        if first then first(ctx, clock) end
      end })
    end
    flow:fork("f", { next = { x = "w", y = "e" } })
    flow:wait("w", { event = "go", next = "a" })
    step("a", "b", also)
    step("b", "j")
    flow:step("e", { retry = { max = 2, delay = function() return 7 end },
      next = "j", run = function(ctx)
        if ctx.attempt == 1 then error "not yet" end
        ctx.vars.ran = (ctx.vars.ran or "") .. "e"
      end })
    flow:join("j", { next = "c" })
    step("c", "z")
    flow:finish "z"
    assert(engine:load(flow))
    return engine, begin(engine), clock, url
  end

  for _, how in ipairs { "deadline", "event" } do
    it("comes behind what branches did before it, seen late: " .. how,
      function()
        local engine, id, clock = branching(how)
        clock:jump(5)
        assert(engine:signal { name = "go", instance = id })
        clock:jump(5)
        engine:signal { name = "off", instance = id }
        clock:jump(10)
        assert(engine:run())
        assert.equal("abec", get(engine, id).variables.ran)
        assert.completed(engine, id)
      end)

    it("ends a branch whose step took until then: " .. how, function()
      local rival
      local engine, id, clock, url = branching(how, function(ctx, clock)
        clock:jump(9)
        rival:signal { name = "off", instance = ctx.id }
        clock:jump(10)
      end)
      rival = kit.rival(backend, url, clock)
      clock:jump(1)
      assert(engine:signal { name = "go", instance = id })
      assert(engine:run())
      local instance = get(engine, id)
      assert.equal(how == "event" and "cancelled" or "failed",
        instance.status)
      -- what was to be tried again in time was tried, before all ended
      assert.equal("ae", instance.variables.ran)
    end)
  end

  --- So many branches, each a timer and two steps; its last one loops.
  local function many(n, loops)
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.late", deadline = 20,
      busy_limit = 100000, endless = loops }
    local first = {}
    for i = 1, n do first[i] = "t" .. i end
    flow:fork("f", { next = first })
    for i = 1, n do
      flow:timer("t" .. i, { after = i / 10, next = "a" .. i })
      flow:step("a" .. i, { next = "b" .. i, run = function(ctx)
        ctx.vars.n = (ctx.vars.n or 0) + 1
      end })
      flow:step("b" .. i, { next = loops and i == n and "a" .. i or "j",
        run = function() end })
    end
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    clock:jump(40)
    assert(engine:run())
    return engine, id
  end

  it("comes behind all of many branches, seen late", function()
    local engine, id = many(60)
    assert.completed(engine, id)
    assert.equal(60, get(engine, id).variables.n)
  end)

  it("does not wait for what goes round", function()
    local engine, id = many(60, true)
    assert.failed(engine, id)
    assert(get(engine, id).variables.n < 200)
  end)

  it("comes before a timeout behind it, whenever that is seen", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.late", deadline = 10 }
    flow:wait("w", { event = "go", timeout = 12,
      next = { received = "z", timeout = "z" } })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    clock:jump(15)
    assert(engine:signal { name = "go", instance = id })
    assert(engine:run())
    assert.equal("deadline", get(engine, id).error.code)
  end)

  it("that has passed leaves it to a cancel that comes before anybody looks",
    function()
      local a, b, clock
      local undone = {}
      local flow = lasting("2h", { undo = function(ctx)
        undone[#undone + 1] = ctx.node
      end })
      a, b, clock = kit.pair(backend, { flow })
      local id = begin(a)
      clock:advance "2h"
      assert(b:cancel(id, { by = "ann" }))
      assert(a:run())
      assert.equal("cancelled", kit.status(a, id))
      assert.equal("ann", get(a, id).cancellation.by)
      assert.same({ "a" }, undone)
    end)

  it("that has passed is drawn anew for one that goes on all the same",
    function()
      for _, how in ipairs { "retry", "restart" } do
        local engine, clock = backend.fresh()
        assert(engine:load(lasting "2h"))
        local id = begin(engine)
        clock:advance "2h"
        assert(engine:run())
        assert.failed(engine, id)
        if how == "retry" then
          assert(engine:retry(id))
        else
          assert(engine:restart(id, { from = "b" }))
        end
        assert(engine:run())
        assert.equal(how == "retry" and "waiting" or "completed",
          kit.status(engine, id), how)
        assert.equal("2026-01-01T04:00:00.000000Z", get(engine, id).deadline)
      end
    end)
end)

kit.describe("a start's own deadline", function(backend)
  it("stands in place of its workflow's, from when it begins", function()
    local engine, clock = backend.fresh()
    assert(engine:load(lasting "2h"))
    for _, case in ipairs { { "1h", "01:00:00" }, { "3h", "03:00:00" },
      { 90, "00:01:30" } } do
      local id = begin(engine, { deadline = case[1] })
      assert.equal("2026-01-01T" .. case[2] .. ".000000Z",
        get(engine, id).deadline)
    end
    local later = assert(engine:start("t.late", nil,
      { delay = "1h", deadline = "30m" }))
    assert(engine:run())
    assert.is_nil(get(engine, later).deadline)
    clock:advance "1h"
    assert(engine:run())
    assert.equal("2026-01-01T01:30:00.000000Z", get(engine, later).deadline)
    clock:advance "31m"
    assert(engine:run())
    assert.equal("deadline", get(engine, later).error.code)
  end)

  it("is one where the workflow has none, and no one else's", function()
    local engine, clock = backend.fresh()
    assert(engine:load(lasting()))
    local id = begin(engine, { deadline = "1h" })
    local other = begin(engine)
    clock:advance "1h"
    assert(engine:run())
    assert.same({ "failed", "waiting" }, { kit.status(engine, id),
      kit.status(engine, other) })
  end)

  it("is what a retry has of it, too", function()
    local engine, clock = backend.fresh()
    assert(engine:load(lasting "2h"))
    local id = begin(engine, { deadline = "1h" })
    clock:advance "5h"
    assert(engine:run())
    assert.failed(engine, id)
    assert(engine:retry(id))
    assert(engine:run())
    assert.equal("2026-01-01T06:00:00.000000Z", get(engine, id).deadline)
    clock:advance "1h"
    assert(engine:run())
    assert.failed(engine, id)
  end)

  it("is given to many, and by a handler to what it starts", function()
    local engine = backend.fresh()
    assert(engine:load(lasting "2h"))
    local ids = assert(engine:start_many("t.late",
      { {}, { deadline = "3h" }, {} }, { deadline = "1h" }))
    assert(engine:load(kit.one(function(ctx)
      ctx.vars.id = ctx.start("t.late", nil, { deadline = "4h",
        max_bytes = 100 })
    end)))
    local one = assert(engine:start "t.one")
    assert(engine:run())
    for i, hour in ipairs { 1, 3, 1 } do
      assert.equal(("2026-01-01T0%d:00:00.000000Z"):format(hour),
        get(engine, ids[i]).deadline)
    end
    local child = get(engine, get(engine, one).output.id)
    assert.same({ "2026-01-01T04:00:00.000000Z", 100 },
      { child.deadline, child.max_bytes })
    local alike = assert(engine:start_many("t.late", { {}, {} },
      { deadline = "5h", max_bytes = 70 }))
    assert(engine:run())
    for _, id in ipairs(alike) do
      local it = get(engine, id)
      assert.same({ "2026-01-01T05:00:00.000000Z", 70 },
        { it.deadline, it.max_bytes })
    end
  end)

  it("and its bytes go along to another store, also before it begins",
    function()
      local here, clock = backend.fresh()
      local there = backend.fresh { clock = clock }
      assert(here:load(lasting "2h"))
      assert(there:load(lasting "2h"))
      local id = assert(here:start("t.late", nil, { delay = "1h",
        deadline = "30m", max_bytes = 50 }))
      local lines = assert(here:export(id, { move = true }))
      assert.same({ id }, assert(there:import(lines)).imported)
      clock:advance "1h"
      assert(there:run())
      local it = get(there, id)
      assert.same({ "2026-01-01T01:30:00.000000Z", 50 },
        { it.deadline, it.max_bytes })
    end)

  it("cannot be nothing", function()
    local engine = backend.fresh()
    assert(engine:load(lasting()))
    for _, wrong in ipairs { { deadline = 0 }, { deadline = -1 },
      { max_bytes = 0 }, { max_bytes = 1.5 } } do
      local ok, id, err = pcall(engine.start, engine, "t.late", nil, wrong)
      assert.is_true(not ok or not id and err.code == "invalid")
    end
  end)
end)

kit.describe("a start's own max_bytes", function(backend)
  local function growing(options)
    local flow = pawl.workflow { code = "t.grow" }
    options.next, options.retry = "z", options.retry or { max = 3 }
    flow:step("a", options)
    flow:finish "z"
    return flow
  end

  it("bounds what a step leaves, for good", function()
    local engine = backend.fresh()
    local runs = 0
    assert(engine:load(growing { run = function(ctx)
      runs = runs + 1
      ctx.vars.x = ("x"):rep(ctx.input.n)
    end }))
    -- {"x":"..."}
    for _, case in ipairs { { 92, "completed" }, { 93, "failed" } } do
      runs = 0
      local id = assert(engine:start("t.grow", { n = case[1] },
        { max_bytes = 100 }))
      assert(engine:run())
      local it = assert(engine:get(id))
      assert.same({ case[2], 1 }, { it.status, runs })
      if it.status == "failed" then
        assert.equal("limit", it.error.code)
        assert.matches("101 bytes; this instance's limit is 100",
          it.error.message, 1, true)
      end
    end
    local other = assert(engine:start("t.grow", { n = 500 }))
    assert(engine:run())
    assert.completed(engine, other)
  end)

  it("bounds what `into` brings", function()
    local engine = backend.fresh()
    assert(engine:load(growing { into = "x", run = function(ctx)
      return ("x"):rep(ctx.input.n)
    end }))
    for _, case in ipairs { { 92, "completed" }, { 93, "failed" } } do
      local id = assert(engine:start("t.grow", { n = case[1] },
        { max_bytes = 100 }))
      assert(engine:run())
      assert.equal(case[2], kit.status(engine, id))
    end
  end)

  it("is no more than the engine's", function()
    local engine = backend.fresh { max_bytes = 100 }
    assert(engine:load(growing { run = function(ctx)
      ctx.vars.x = ("x"):rep(93)
    end }))
    local id = assert(engine:start("t.grow", nil, { max_bytes = 1000 }))
    assert(engine:run())
    assert.equal("limit", assert(engine:get(id)).error.code)
  end)
end)

kit.describe("a deadline that a function says", function(backend)
  local asked

  --- As `lasting`, with what the input says.
  local function asking(options)
    return lasting(function(ctx)
      asked = asked + 1
      if ctx.input.fails then error { code = "unknown" } end
      return ctx.input.lasts
    end, options)
  end

  local function begun(input, options, flow)
    asked = 0
    local engine, clock, url = backend.fresh()
    assert(engine:load(flow or asking()))
    local id = assert(engine:start("t.late", input, options))
    assert(engine:run())
    return engine, clock, id, url
  end

  it("is asked once, as it begins, and holds", function()
    local engine, clock, id = begun { lasts = "2h" }
    assert.equal("2026-01-01T02:00:00.000000Z", get(engine, id).deadline)
    assert.equal("2026-01-01T02:00:00.000000Z",
      assert(engine:explain(id)).deadline)
    clock:advance "2h"
    assert(engine:run())
    assert.equal("deadline", get(engine, id).error.code)
    assert.equal("step a, deadline t", kit.trail(engine, id))
    assert.equal(1, asked)
  end)

  it("counts from where the instance begins", function()
    local engine, clock, id = begun({ lasts = 7200 }, { delay = "10h" })
    assert.equal(0, asked)
    clock:advance "10h"
    assert(engine:run())
    assert.equal("2026-01-01T12:00:00.000000Z", get(engine, id).deadline)
  end)

  it("is none where that is nil, and not asked again", function()
    local engine, clock, id, url = begun {}
    assert.is_nil(get(engine, id).deadline)
    assert.equal(0, kit.count(backend, url, "deadline"))
    clock:advance "1d"
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(1, asked)
  end)

  it("is not asked where the start says its own", function()
    local engine, _, id = begun({ lasts = "2h" }, { deadline = "5h" })
    assert.equal("2026-01-01T05:00:00.000000Z", get(engine, id).deadline)
    assert.equal(0, asked)
  end)

  it("stays when its worker dies, and begins anew as it was", function()
    local engine, clock, id, url = begun { lasts = "2h" }
    assert(engine:signal { name = "other", instance = id })
    kit.claim(kit.store(url, clock), id)
    clock:advance(31)
    assert(engine:run())
    assert.equal("2026-01-01T02:00:00.000000Z", get(engine, id).deadline)
    assert(engine:suspend(id))
    clock:advance(60)
    assert(engine:resume(id, { shift = true }))
    assert(engine:run())
    assert.equal("2026-01-01T02:01:00.000000Z", get(engine, id).deadline)
    for n = 1, 2 do -- and not longer each time
      clock:advance "2h"
      assert(engine:run())
      assert.failed(engine, id)
      assert(engine:retry(id))
      assert(engine:run())
      assert.equal(pawl.date(clock:now() + 7200).value,
        get(engine, id).deadline, n)
    end
    assert.equal(1, asked)
  end)

  it("is known to a first step that waits, and after that", function()
    local flow = pawl.workflow { code = "t.late",
      deadline = function() asked = asked + 1 return "1h" end }
    flow:step("a", { timeout = "10h", run = function(ctx)
      ctx.await(36000)
    end })
    asked = 0
    local engine, clock = backend.fresh()
    assert(engine:load(flow))
    local id = assert(engine:start "t.late")
    assert(engine:tick())
    assert.equal("2026-01-01T01:00:00.000000Z", get(engine, id).deadline)
    clock:advance "1h"
    assert(engine:run())
    assert.equal("deadline", get(engine, id).error.code)
    assert.equal(1, asked)
  end)

  it("fails the first node, which asks again with each attempt", function()
    local engine, clock, id = begun { fails = true }
    local row = last(engine, id)
    assert.equal("failed", row.type)
    assert.equal("a", row.node)
    assert.equal("unknown", row.error.code)
    assert.equal("`deadline` failed: unknown", row.error.message)
    assert.equal("`deadline` failed: unknown",
      assert(engine:explain(id)).error.message)
    clock:advance "1h"
    assert(engine:run())
    clock:advance "1h"
    assert(engine:run())
    assert.equal("failed a, failed a, failed a", kit.trail(engine, id))
    assert.failed(engine, id)
    assert.is_nil(get(engine, id).deadline)
    assert.equal(3, asked)
    assert(engine:retry(id))
    assert(engine:run())
    assert.equal(4, asked)
  end)

  it("that had passed when it was said counts from then", function()
    local fails = true
    local engine, clock, id = begun(nil, nil, lasting(function()
      asked = asked + 1
      if fails then error { code = "unknown" } end
      return "1h"
    end))
    kit.pass(engine, clock, 3 * 3600)
    assert.failed(engine, id)
    fails = false
    assert(engine:retry(id))
    assert(engine:run())
    assert.equal("2026-01-01T04:00:00.000000Z", get(engine, id).deadline)
  end)

  it("that fails goes on without, where that is caught", function()
    local flow = pawl.workflow { code = "t.late",
      deadline = function() asked = asked + 1 error { code = "unknown" } end }
    flow:wait("a", { event = "go", on_error = { unknown = "b" } })
    flow:step("b", { run = function(ctx) ctx.vars.b = ctx.error.code end })
    local engine, _, id = begun({}, nil, flow)
    assert.completed(engine, id)
    assert.equal("unknown", get(engine, id).variables.b)
    assert.equal(1, asked)
  end)

  it("fails with what it was, where it is no duration", function()
    for _, wrong in ipairs {
      { "soon", ": 'soon' is not a duration" },
      { -3, ": -3 is negative" },
      { 0, ": it must be longer than nothing" },
      { "0s", ": it must be longer than nothing" },
    } do
      local engine, _, id = begun { lasts = wrong[1] }
      local err = get(engine, id).error
      assert.equal("value", err.code)
      assert.matches("`deadline` returned no duration" .. wrong[2],
        err.message, 1, true)
      assert.failed(engine, id)
    end
  end)

  it("is asked behind a breakpoint at the first node", function()
    asked = 0
    local engine, clock = backend.fresh()
    assert(engine:load(asking()))
    assert(engine.breakpoints:set { workflow = "t.late", node = "a" })
    local id = assert(engine:start("t.late", { lasts = "2h" }))
    assert(engine:run())
    assert.equal(0, asked)
    clock:advance(60)
    assert(engine:continue(id))
    assert(engine:run())
    assert.equal("2026-01-01T02:00:00.000000Z", get(engine, id).deadline)
    assert.equal(1, asked)
  end)

  it("stays in another version, whose own is not asked", function()
    local engine, _, id = begun({ lasts = "2h" })
    local none = assert(engine:start("t.late", {}))
    assert(engine:run())
    assert(engine:load(lasting("5h", { version = 2 })))
    assert(engine:load(asking { version = 3 }))
    assert(engine:load(lasting(nil, { version = 4 })))
    local given = assert(engine:start("t.late", {}, { version = 2 }))
    local free = assert(engine:start("t.late", {}, { version = 4 }))
    assert(engine:run())
    assert(engine.workflows:transfer("t.late", 4, 3))
    for to = 2, 3 do
      assert(engine.workflows:transfer("t.late", to - 1, to))
    end
    for _, one in ipairs { id, none, given, free } do
      assert.equal(3, get(engine, one).version)
      assert(engine:move(one, { to = "b" }))
    end
    asked = 0
    assert(engine:run())
    assert.equal(0, asked)
    assert.equal("2026-01-01T02:00:00.000000Z", get(engine, id).deadline)
    assert.equal("2026-01-01T05:00:00.000000Z", get(engine, given).deadline)
    assert.is_nil(get(engine, none).deadline)
    assert.is_nil(get(engine, free).deadline)
  end)

  it("is asked again where a restart begins, if nothing was said before",
    function()
      local engine, clock, id = begun { fails = true }
      for _ = 1, 2 do
        clock:advance "1h"
        assert(engine:run())
      end
      assert.failed(engine, id)
      assert(engine:restart(id, { from = "b" }))
      assert(engine:run())
      assert.equal("failed", last(engine, id).type)
      assert.equal(4, asked)
    end)
end)

describe("a limited script's deadline", function()
  for _, level in ipairs { "limited", "isolated" } do
    it("may be a function: " .. level, function()
      local engine <close> = assert(pawl.open(":memory:", { trust = level }))
      assert(engine:load(tmp.file("flow.lua", [[
        local pawl = require "pawl"
        local flow = pawl.workflow { code = "mod.late",
          deadline = function(ctx) return ctx.input.n end }
        flow:wait("w", { event = "go" })
        return flow]])))
      for n, is in pairs { [60] = "deadline", [0] = "error" } do
        local id = assert(engine:start("mod.late", { n = n }))
        assert(engine:run())
        assert.is_not_nil(get(engine, id)[is])
      end
    end)
  end
end)
