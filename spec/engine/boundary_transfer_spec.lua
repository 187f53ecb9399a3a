--- Boundaries of who goes on in another version: new ones begin where somebody
--- stands, others go, or have another time.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local pass = kit.pass

local HOUR <const> = 3600

--- Where an instance stands, with what `more` says of that.
local nodes = {
  task = function(flow, more)
    more.title, more.next = "Answer", { yes = "z" }
    flow:task("w", more)
  end,
  wait = function(flow, more)
    more.event, more.next = "go", "z"
    flow:wait("w", more)
  end,
  call = function(flow, more)
    more.workflow, more.next = "t.child", "z"
    flow:call("w", more)
  end,
  each = function(flow, more)
    more.workflow, more.next = "t.child", "z"
    more.items = function() return { 1, 2 } end
    flow:each("w", more)
  end,
  fork = function(flow, more)
    more.next = { a = "a", b = "b" }
    flow:fork("w", more)
    flow:wait("a", { event = "go", next = "j" })
    flow:task("b", { title = "B", next = { yes = "j" } })
    flow:join("j", { next = "z" })
  end,
  step = function(flow, more)
    more.next = "z"
    more.retry = { max = 3, base = "100h", cap = "100h", jitter = 0 }
    more.run = function() error "not yet" end
    flow:step("w", more)
  end,
}

local function version(n, kind, more, build)
  local flow = pawl.workflow { code = "t.v", version = n, start = "w" }
  nodes[kind](flow, more or {})
  if build then build(flow) end
  flow:finish "z"
  return flow
end

local function child()
  local flow = pawl.workflow { code = "t.child", start = "c" }
  flow:wait("c", { event = "child", next = "z" })
  flow:finish "z"
  return flow
end

local function late(flow) flow:finish "late" end

--- An instance that stands at v1's `w` for an hour and a half.
local function standing(backend, first, second, input)
  local engine, clock = backend.fresh()
  assert(engine:load(child()))
  assert(engine:load(first))
  local id = assert(engine:start("t.v", input))
  assert(engine:run())
  clock:advance "90m"
  assert(engine:run())
  assert(engine:load(second))
  return engine, clock, id
end

local function transfer(engine, options, from, to)
  local gone, refused, _, beside =
    assert(engine.workflows:transfer("t.v", from or 1, to or 2, options))
  assert.same({}, refused)
  assert.equal(1, #gone)
  return beside
end

local function moved(backend, ...)
  local engine, clock, id = standing(backend, ...)
  local beside = transfer(engine)
  assert(engine:run())
  return engine, clock, id, beside
end

local function at(engine, id, node)
  for _, token in ipairs(assert(engine:tokens(id))) do
    if token.node == node then return token end
  end
  return nil
end

local function reminders(more)
  local told = { n = 0 }
  local on = { every = "1h", run = function() told.n = told.n + 1 end }
  for name, value in pairs(more or {}) do on[name] = value end
  return on, told
end

kit.describe("a boundary that is new in a version", function(backend)
  for _, kind in ipairs { "task", "wait", "call", "each", "fork" } do
    it("reminds who stands at a " .. kind, function()
      local on, told = reminders()
      local engine, clock, id, beside = moved(backend, version(1, kind),
        version(2, kind, { on_timer = on }))
      assert.same({ begun = { { node = "w.on_timer", on = "w", count = 1 } },
        ended = {} }, beside)
      assert.equal(0, told.n, "what has passed is nothing to it")
      pass(engine, clock, 30 * 60)
      assert.equal(1, told.n, "two hours after the node was come to")
      pass(engine, clock, 3 * HOUR)
      assert.equal(4, told.n)
      assert.equal("waiting", kit.status(engine, id))
    end)
  end

  it("reminds of a step that is to be tried again", function()
    local on, told = reminders()
    local engine, clock = moved(backend, version(1, "step"),
      version(2, "step", { on_timer = on }))
    pass(engine, clock, 5 * HOUR) -- who keeps when that was come to
    assert.equal(5, told.n)
  end)

  it("ends with what it is on", function()
    local on, told = reminders()
    local engine, clock, id = moved(backend, version(1, "fork"),
      version(2, "fork", { on_timer = on }))
    assert(engine:signal { name = "go", instance = id })
    local task = assert(engine.tasks:list { instance = id })[1]
    assert(engine.tasks:complete(task.id, { by = "ann", take = "yes" }))
    assert(engine:run())
    assert.completed(engine, id)
    pass(engine, clock, 3 * HOUR)
    assert.equal(0, told.n)
  end)

  it("interrupts at once where its time has passed", function()
    local engine, _, id = moved(backend, version(1, "task"),
      version(2, "task", { on_timer = { after = "1h", next = "late" } }, late))
    assert.completed(engine, id)
    assert.equal("late", assert(engine:get(id)).node)
  end)

  it("counts from when the node was come to", function()
    local engine, clock, id = moved(backend, version(1, "fork"),
      version(2, "fork", { on_timer = { after = "2h", next = "late" } }, late))
    pass(engine, clock, 29 * 60)
    assert.equal("waiting", kit.status(engine, id))
    pass(engine, clock, 60)
    assert.completed(engine, id)
  end)

  it("asks its handlers at the next look", function()
    local asked = {}
    local engine, clock, id = moved(backend, version(1, "task"),
      version(2, "task", { on_timer = {
        { after = function() asked[#asked + 1] = "after" return "3h" end,
          next = "late" },
        { at = function(ctx) asked[#asked + 1] = "at" return ctx.now() + 60 end,
          run = function() asked[#asked + 1] = "run" end, interrupt = false },
      } }, late))
    table.sort(asked)
    assert.same({ "after", "at" }, asked)
    pass(engine, clock, 60)
    assert.same({ "after", "at", "run" }, asked)
    pass(engine, clock, 89 * 60)
    assert.equal("late", assert(engine:get(id)).node)
  end)

  it("fails as elsewhere where such a handler does", function()
    local engine, _, id = moved(backend, version(1, "task"),
      version(2, "task", { on_timer = { at = function()
        error { code = "no_calendar", retry = false }
      end, next = "late" } }, late))
    local got = assert(engine:get(id))
    assert.equal("failed", got.status)
    assert.equal("no_calendar", got.error.code)
  end)

  it("hears events from the transfer on", function()
    local first = version(1, "task")
    local engine, _, id = standing(backend, first, version(2, "task", {
      on_event = { event = "stop", next = "late" } }, late))
    transfer(engine)
    assert.equal(1, (assert(engine:signal { name = "stop" })))
    assert(engine:run())
    assert.equal("late", assert(engine:get(id)).node)
  end)

  it("hears its key, which has to be there", function()
    local engine, _, id = standing(backend, version(1, "task"),
      version(2, "task", { on_event = { event = "stop", key = "order",
        next = "late" } }, late))
    local gone, refused = assert(engine.workflows:transfer("t.v", 1, 2))
    assert.same({}, gone)
    assert.matches('its key "order" is neither a text nor a number',
      refused[1].reason)
    transfer(engine, { vars = function() return { order = "7" } end })
    assert(engine:run())
    assert.equal(0, (assert(engine:signal { name = "stop", key = "8" })))
    assert.equal(1, (assert(engine:signal { name = "stop", key = "7" })))
    assert(engine:run())
    assert.equal("late", assert(engine:get(id)).node)
  end)

  it("comes on the node's new name", function()
    local on, told = reminders()
    local second = pawl.workflow { code = "t.v", version = 2, start = "u" }
    second:task("u", { title = "U", next = { yes = "z" }, on_timer = on })
    second:finish "z"
    local engine, clock, id = standing(backend, version(1, "task"), second)
    transfer(engine, { map = { w = "u" } })
    pass(engine, clock, 30 * 60)
    assert.equal(1, told.n)
    assert.equal("u", assert(engine:explain(id)).tokens[2].beside)
  end)

  it("is told of by a plan, and nothing begins", function()
    local on, told = reminders()
    local engine, clock, id = standing(backend,
      version(1, "fork", { on_event = { event = "old", next = "late" } }, late),
      version(2, "fork", { on_timer = on }))
    local beside = transfer(engine, { plan = true })
    assert.same({
      begun = { { node = "w.on_timer", on = "w", count = 1 } },
      ended = { { node = "w.on_event", on = "w", count = 1 } } }, beside)
    pass(engine, clock, 5 * HOUR)
    assert.equal(0, told.n)
    assert.is_nil(at(engine, id, "w.on_timer"))
    assert.truthy(at(engine, id, "w.on_event"))
  end)

  it("waits for who is suspended", function()
    local on, told = reminders()
    local engine, clock, id = standing(backend, version(1, "task"),
      version(2, "task", { on_timer = on }))
    assert(engine:suspend(id))
    assert(engine:run())
    transfer(engine)
    pass(engine, clock, 3 * HOUR)
    assert.equal(0, told.n)
    assert(engine:resume(id))
    assert(engine:run())
    assert.equal(1, told.n, "what was missed is made up for once")
  end)

  it("comes with a retry to who has failed", function()
    local on, told = reminders()
    local flow = pawl.workflow { code = "t.v", start = "w" }
    flow:fork("w", { next = { a = "a", b = "b" } })
    flow:task("a", { title = "A", next = { yes = "j" } })
    flow:timer("b", { after = "30m", next = "bad" })
    flow:step("bad", { retry = false, next = "j",
      run = function() error "broken" end })
    flow:join("j", { next = "z" })
    flow:finish "z"
    local second = pawl.workflow { code = "t.v", version = 2, start = "w" }
    second:fork("w", { next = { a = "a", b = "b" },
      on_event = { event = "stop", next = "late" } })
    second:task("a", { title = "A", next = { yes = "j" }, on_timer = on })
    second:timer("b", { after = "30m", next = "bad" })
    second:wait("bad", { event = "go", next = "j" })
    second:join("j", { next = "z" })
    second:finish "z"
    second:finish "late"
    local engine, clock, id = standing(backend, flow, second)
    assert.failed(engine, id)
    transfer(engine)
    assert.failed(engine, id)
    assert(engine:retry(id))
    assert(engine:run())
    pass(engine, clock, HOUR)
    assert.equal(1, told.n, "a task is entered again")
    assert.equal(1, (assert(engine:signal { name = "stop" })))
    assert(engine:run())
    assert.equal("late", assert(engine:get(id)).node)
  end)
end)

kit.describe("a boundary of both versions", function(backend)
  it("keeps its time where that is the same", function()
    local engine, clock, id = standing(backend,
      version(1, "task", { on_timer = reminders() }),
      version(2, "task", { on_timer = reminders() }))
    local token = at(engine, id, "w.on_timer")
    assert.same({ begun = {}, ended = {} }, transfer(engine))
    local now = at(engine, id, "w.on_timer")
    assert.same({ token.no, token.due_at, token.visit },
      { now.no, now.due_at, now.visit })
    pass(engine, clock, HOUR)
  end)

  it("is due at the next of its new times", function()
    local on, told = reminders { every = "40m" }
    local engine, clock = standing(backend,
      version(1, "task", { on_timer = reminders() }),
      version(2, "task", { on_timer = on }))
    transfer(engine)
    pass(engine, clock, 29 * 60)
    assert.equal(0, told.n)
    pass(engine, clock, 60) -- the third, two hours after the task began
    assert.equal(1, told.n)
    pass(engine, clock, 40 * 60)
    assert.equal(2, told.n)
  end)

  it("counts a changed time from when the node was come to", function()
    local engine, clock, id = standing(backend,
      version(1, "task", { on_timer = { after = "5h", next = "late" } }, late),
      version(2, "task", { on_timer = { after = "2h", next = "late" } }, late))
    transfer(engine)
    pass(engine, clock, 29 * 60)
    assert.equal("waiting", kit.status(engine, id))
    pass(engine, clock, 60)
    assert.equal("late", assert(engine:get(id)).node)
  end)

  it("does not come to pass twice", function()
    local function once(n, after)
      local on, told = reminders { after = after, interrupt = false }
      on.every = nil
      return version(n, "task", { on_timer = on }), told
    end
    local first, before = once(1, "1h")
    local second, same = once(2, "1h")
    local third, sooner = once(3, "30m")
    local fourth, later = once(4, "3h")
    local engine, clock = standing(backend, first, second)
    assert.equal(1, before.n)
    assert.same({ begun = {}, ended = {} }, transfer(engine))
    assert(engine:load(third))
    assert.same({ begun = {}, ended = {} }, transfer(engine, nil, 2, 3))
    assert(engine:load(fourth))
    transfer(engine, nil, 3, 4) -- three hours: that is ahead
    pass(engine, clock, 89 * 60)
    assert.same({ 0, 0, 0 }, { same.n, sooner.n, later.n })
    pass(engine, clock, 60)
    assert.same({ 0, 0, 1 }, { same.n, sooner.n, later.n })
  end)

  it("begins again where it comes every so often", function()
    local once = reminders { after = "1h", interrupt = false }
    once.every = nil
    local on, told = reminders()
    local engine, clock = standing(backend,
      version(1, "task", { on_timer = once }),
      version(2, "task", { on_timer = on }))
    transfer(engine)
    pass(engine, clock, 150 * 60)
    assert.equal(3, told.n) -- after two, three and four hours
  end)

  it("ends where there is none any more, or another kind", function()
    local on, told = reminders { name = "remind" }
    local engine, clock, id = standing(backend,
      version(1, "task", { on_timer = on }),
      version(2, "task", { on_event = { name = "remind", event = "stop",
        next = "late" } }, late))
    assert.equal(1, told.n)
    assert.same({ begun = { { node = "remind", on = "w", count = 1 } },
      ended = { { node = "remind", on = "w", count = 1 } } }, transfer(engine))
    pass(engine, clock, 5 * HOUR)
    assert.equal(1, told.n)
    assert.equal(1, (assert(engine:signal { name = "stop" })))
    assert(engine:run())
    assert.equal("late", assert(engine:get(id)).node)
  end)

  it("hears the new event", function()
    local function hears(n, event)
      return version(n, "task", { on_event = { event = event, next = "late" } },
        late)
    end
    local engine, _, id = standing(backend, hears(1, "old"), hears(2, "new"))
    transfer(engine)
    assert.equal(0, (assert(engine:signal { name = "old" })))
    assert.equal(1, (assert(engine:signal { name = "new" })))
    assert(engine:run())
    assert.equal("late", assert(engine:get(id)).node)
  end)

  it("goes back and forth and has each once", function()
    local engine, clock, id = standing(backend, version(1, "task"),
      version(2, "task", { on_timer = reminders() }))
    for _ = 1, 3 do
      transfer(engine)
      assert(engine:run())
      assert.equal(2, #assert(engine:tokens(id)))
      transfer(engine, nil, 2, 1)
      assert(engine:run())
      assert.equal(1, #assert(engine:tokens(id)))
    end
    pass(engine, clock, 5 * HOUR)
    assert.equal("waiting", kit.status(engine, id))
  end)
end)
