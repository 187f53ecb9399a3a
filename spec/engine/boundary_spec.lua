--- Boundaries: on_timer and on_event of a node.
local explain = require "pawl.explain"
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local pass = kit.pass

local function noop() end

--- One task "ask" with what `more` says of it, and "late" beside.
local function asking(more, build)
  local flow = pawl.workflow { code = "t.bound" }
  local options = { title = "Answer", next = { yes = "done" } }
  for name, value in pairs(more) do options[name] = value end
  flow:task("ask", options)
  if build then build(flow) end
  flow:finish("done", { output = function(ctx) return ctx.vars end })
  return flow
end

local function late(flow)
  flow:step("late", { next = "gone", run = function(ctx)
    ctx.vars.late = ctx.event and ctx.event.data.why or true
  end })
  flow:finish("gone", { output = function(ctx) return ctx.vars end })
end

local function begun(backend, flow, input, options)
  local engine, clock, url = backend.fresh(options)
  assert(engine:load(flow))
  local id = assert(engine:start(flow.code, input))
  assert(engine:run())
  return engine, clock, id, url
end

local DAY, HOUR <const> = 86400, 3600


local function open_tasks(engine, id)
  return assert(engine.tasks:list { instance = id,
    status = { "pending", "running" } })
end

local function complete(engine, id, take)
  local task = open_tasks(engine, id)[1]
  assert(engine.tasks:complete(task.id, { by = "ann", take = take or "yes" }))
  assert(engine:run())
end

local function nodes(engine, id)
  local names = {}
  for i, token in ipairs(assert(engine:tokens(id))) do
    names[i] = token.node
  end
  return table.concat(names, " ")
end

kit.describe("a boundary timer", function(backend)
  it("reminds again and again while a task is open, and no longer",
    function()
      local reminded = 0
      local engine, clock, id = begun(backend, asking { on_timer = {
        every = "1d", run = function(ctx)
          reminded = reminded + 1
          ctx.vars.reminded = reminded
        end } })
      assert.equal("ask ask.on_timer", nodes(engine, id))
      local told = assert(engine:explain(id))
      assert.same({ nil, "ask" },
        { told.tokens[1].beside, told.tokens[2].beside })
      assert.matches('stands at timer "ask.on_timer", beside "ask" since',
        table.concat(explain.sentences(told), " "))
      pass(engine, clock, 3 * DAY)
      assert.equal(3, reminded)
      local got = assert(engine:get(id))
      assert.same({ "waiting", "ask" }, { got.status, got.node })
      complete(engine, id)
      assert.same({ reminded = 3 }, engine:get(id).output)
      pass(engine, clock, 3 * DAY)
      assert.equal(3, reminded)
      assert.is_nil(engine:next_due())
    end)

  it("makes up once for what was missed", function()
    local reminded = 0
    local engine, clock, id = begun(backend, asking { on_timer = {
      after = "2h", every = "1d", run = function() reminded = reminded + 1 end,
    } })
    clock:jump "75h" -- due at 2, 26, 50 and 74 hours
    assert(engine:run())
    assert.equal(1, reminded)
    clock:advance "22h"
    assert(engine:run())
    assert.equal(1, reminded)
    clock:advance "2h" -- 98 hours
    assert(engine:run())
    assert.equal(2, reminded)
    assert.equal("waiting", kit.status(engine, id))
  end)

  it("backs off, as a function says each time that it fires", function()
    local fired, asked = {}, 0
    local engine, clock, id = begun(backend, asking { on_timer = {
      after = "2h", every = function(ctx)
        asked = asked + 1
        local n = (ctx.vars.reminded or 0) + 1
        return n < 4 and n .. "d" or nil
      end, run = function(ctx)
        ctx.vars.reminded = (ctx.vars.reminded or 0) + 1
        fired[#fired + 1] = ctx.now()
      end } })
    local start = clock:now()
    pass(engine, clock, 30 * DAY)
    for i, at in ipairs(fired) do fired[i] = (at - start - 2 * HOUR) / DAY end
    assert.same({ 0, 1, 3, 6 }, fired)
    assert.equal(4, asked)
    assert.equal("ask ask.on_timer", nodes(engine, id))
    assert.matches('stands at timer "ask.on_timer".- it fires no more',
      table.concat(explain.sentences(assert(engine:explain(id))), " "))
    complete(engine, id)
    assert.completed(engine, id)
    assert.is_nil(engine:next_due())
  end)

  it("counts what a function says from when it was due, also before it begins",
    function()
      local engine, clock, id = begun(backend, asking { on_timer = {
        every = function() return "1d" end, run = noop } })
      clock:jump "75h"
      assert(engine:run())
      assert.equal(clock:now() + 21 * HOUR, engine:next_due())
      assert.equal(1, #assert(engine:history(id, { type = "timer" })))
    end)

  it("asks again where that fails, or says no time", function()
    local say = function() error "no calendar" end
    local engine, clock, id = begun(backend, asking { on_timer = {
      after = "1h", every = function() return say() end, run = noop } })
    clock:advance "1h"
    assert(engine:run())
    say = function() return "1d" end
    clock:advance "1m"
    assert(engine:run())
    assert.equal(clock:now() + DAY - 60, engine:next_due())
    say = function() return 0 end
    clock:advance(DAY - 60)
    assert(engine:run())
    local err = assert(engine:get(id)).error
    assert.equal("value", err.code)
    assert.matches("`every` returned no duration: it must be longer",
      err.message, 1, true)
  end)

  it("is told by its own name where that also says when it is first due",
    function()
      local engine, _, id = begun(backend, asking { on_timer = {
        every = function(ctx) ctx.vars.n = 1 return 5 end, run = noop } })
      assert.matches('`every` of node "ask.on_timer" changed ctx.vars',
        assert(engine:get(id)).error.message, 1, true)
      engine, _, id = begun(backend, asking { on_timer = {
        after = function() return {} end, every = function() end,
        run = noop } })
      assert.matches("`after` returned no duration: a duration cannot be a",
        assert(engine:get(id)).error.message, 1, true)
      engine, _, id = begun(backend, asking { on_timer = {
        every = function() end, run = noop } })
      assert.matches("`every` returned no duration: a duration cannot be nil",
        assert(engine:get(id)).error.message, 1, true)
    end)

  it("goes on reminding though that fails, where `on_error` is false",
    function()
      local asked = 0
      local engine, clock, id = begun(backend, asking { on_timer = {
        every = "1d", retry = 2, on_error = false, run = function()
          asked = asked + 1
          error { code = "no_mail" }
        end } })
      pass(engine, clock, 2 * DAY + HOUR)
      assert.equal(4, asked)
      local got = assert(engine:get(id))
      assert.same({ "waiting", "ask" }, { got.status, got.node })
      assert.is_nil(got.error)
      local rows = assert(engine:history(id, { type = "failed" }))
      assert.equal(4, #rows)
      assert.equal("no_mail", rows[1].error.code)
      complete(engine, id)
      assert.completed(engine, id)
    end)

  it("has the timeout and the error routes of a step", function()
    local function began(on_error, code)
      local engine, clock, id
      engine, clock, id = begun(backend, asking({ on_timer = { after = "1d",
        interrupt = true, next = "late", on_error = on_error, timeout = 5,
        retry = false, run = function()
          if code then error { code = code } end
          clock:advance(6)
        end } }, function(flow)
          late(flow)
          flow:finish("other", { output = function(ctx)
            return ctx.error.code
          end })
        end))
      clock:advance "1d"
      assert(engine:run())
      local got = assert(engine:get(id))
      return got.output or got.error.code
    end
    assert.equal("no_mail", began("other", "no_mail"))
    assert.equal("timeout", began({ timeout = "other" }))
    assert.equal("no_mail", began({ timeout = "other" }, "no_mail"))
  end)

  it("says what cannot be of its failure", function()
    for _, wrong in ipairs {
      { { after = "1d", next = "done", on_error = false },
        "has 'on_error' without 'run'" },
      { { after = "1d", next = "done", run = noop, on_error = false },
        "has 'on_error = false', and interrupts: nothing would go on" },
      { { after = "1d", next = "done", timeout = 5 },
        "has 'timeout' without 'run'" },
      { { every = "1d", run = noop, on_error = true },
        "must be a table, not a boolean" },
    } do
      local ok, err = pcall(asking, { on_timer = wrong[1] })
      assert.is_false(ok)
      assert.matches(wrong[2], err.message, 1, true)
    end
  end)

  it("interrupts: its task is called off, and it goes on instead", function()
    local engine, clock, id = begun(backend, asking({
      on_timer = { after = "1d", next = "late" } }, late))
    clock:advance "1d"
    assert(engine:run())
    local got = assert(engine:get(id))
    assert.same({ "completed", { late = true } }, { got.status, got.output })
    assert.equal("cancelled",
      engine.tasks:list { instance = id, status = "cancelled" }[1].status)
    assert.matches("dropped ask", kit.trail(engine, id))
  end)

  it("once begins a lane beside it, which the instance waits for", function()
    local engine, clock, id = begun(backend, asking({
      on_timer = { after = "1d", next = "nap", interrupt = false } },
      function(flow)
        flow:timer("nap", { after = "5d", next = "woke" })
        flow:finish "woke"
      end))
    clock:advance "1d"
    assert(engine:run())
    assert.equal("ask nap", nodes(engine, id))
    complete(engine, id)
    assert.equal("waiting", kit.status(engine, id))
    assert.equal("nap", nodes(engine, id))
    clock:advance "5d"
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is at a time that a handler works out", function()
    local engine, clock, id = begun(backend, asking({
      on_timer = { at = function(ctx) return ctx.now() + ctx.input.wait end,
        next = "late" } }, late), { wait = 60 })
    clock:advance "59s"
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance "1s"
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("stands while a step is tried again, and takes its place", function()
    local flow = pawl.workflow { code = "t.bound" }
    flow:step("a", { retry = { max = 100, base = "1m", factor = 1, jitter = 0 },
      run = function() error "not yet" end, next = "b",
      on_timer = { after = "150s", next = "late" } })
    flow:finish "b"
    late(flow)
    local engine, clock, id = begun(backend, flow)
    pass(engine, clock, 180)
    local got = assert(engine:get(id))
    assert.same({ "completed", "gone" }, { got.status, got.node })
    local failed = 0
    for _, row in ipairs(assert(engine:history(id))) do
      if row.type == "failed" then failed = failed + 1 end
    end
    assert.equal(3, failed) -- at 0, 60 and 120 s
  end)

  it("is nothing where its step is done at once", function()
    local flow = pawl.workflow { code = "t.bound" }
    flow:step("a", { run = noop, next = "b",
      on_timer = { after = "1s", next = "late" } })
    flow:step("b", { run = noop, next = "c",
      on_timer = { every = "1s", run = noop } })
    flow:finish "c"
    late(flow)
    local engine, _, id = begun(backend, flow)
    assert.completed(engine, id)
    assert.equal("step a, step b", kit.trail(engine, id))
  end)

  it("of a fork is over with it, or ends all that is inside", function()
    local flow = pawl.workflow { code = "t.bound" }
    flow:fork("both", { next = { "one", "two" },
      on_timer = { after = "1d", next = "late" } })
    flow:wait("one", { event = "t.one", key = "k", next = "met" })
    flow:task("two", { title = "Two", next = "met" })
    flow:join("met", { next = "after" })
    flow:timer("after", { after = "9d", next = "done" })
    flow:finish "done"
    late(flow)
    local engine, clock, id = begun(backend, flow, { k = "1" })
    local other = assert(engine:start("t.bound", { k = "2" }))
    assert(engine:run())
    assert.equal("both.on_timer one two", nodes(engine, id))
    assert(engine:signal { name = "t.one", key = "1" })
    assert(engine.tasks:complete(
      assert(engine.tasks:list { instance = id })[1].id, { by = "ann" }))
    assert(engine:run())
    assert.equal("after", nodes(engine, id))
    clock:advance "1d"
    assert(engine:run())
    assert.equal("after", nodes(engine, id))
    local got = assert(engine:get(other))
    assert.same({ "completed", "gone" }, { got.status, got.node })
    assert.equal(0, #open_tasks(engine))
  end)

  it("of a fork is over with it, also where it leads to a later one", function()
    local flow = pawl.workflow { code = "t.bound" }
    flow:fork("both", { next = { "a", "b" },
      on_event = { event = "t.off", next = "more" } })
    flow:step("a", { run = noop, next = "met" })
    flow:step("b", { run = noop, next = "met" })
    flow:join("met", { next = "w" })
    flow:wait("w", { event = "t.go", next = "way" })
    flow:choice("way", { next = { more = "more", again = "both" },
      choose = function() return "more" end })
    flow:fork("more", { next = { "c", "d" } })
    flow:step("c", { run = noop, next = "all" })
    flow:step("d", { run = noop, next = "all" })
    flow:join("all", { next = "done" })
    flow:finish "done"
    local engine, _, id = begun(backend, flow)
    assert.equal("w", nodes(engine, id))
    engine:signal { name = "t.off", instance = id }
    assert(engine:run())
    assert.equal("w", nodes(engine, id))
    assert(engine:signal { name = "t.go", instance = id })
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("of a fork ends with its last branch, where nobody joins", function()
    local flow = pawl.workflow { code = "t.bound" }
    flow:fork("both", { next = { "one", "two" },
      on_timer = { every = "1h", run = noop } })
    flow:step("one", { run = noop, next = "done" })
    flow:timer("two", { after = "90m", next = "done" })
    flow:finish "done"
    local engine, clock, id = begun(backend, flow)
    clock:advance "90m"
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("of a fork inside an item ends with the last branch, and so does that",
    function()
      local flow = pawl.workflow { code = "t.bound" }
      flow:each("all", { items = function() return { 1, 2 } end,
        branch = "both", next = "done" })
      flow:fork("both", { next = { "one", "two" },
        on_timer = { after = "1d", next = "all" } })
      flow:step("one", { run = noop, next = "over" })
      flow:timer("two", { after = "90m", next = "over" })
      flow:finish "over"
      flow:finish "done"
      local engine, clock, id = begun(backend, flow)
      clock:advance "90m"
      assert(engine:run())
      assert.completed(engine, id)
    end)

  it("of a fork in which nobody is left is waited for by no join", function()
    local flow = pawl.workflow { code = "t.bound" }
    flow:fork("all", { next = { "other", "both" } })
    flow:step("other", { run = noop, next = "met" })
    flow:fork("both", { next = { "one", "two" },
      on_timer = { after = "1d", next = "met" } })
    flow:step("one", { run = noop, next = "over" })
    flow:step("two", { run = noop, next = "over" })
    flow:join("met", { next = "done" })
    flow:finish "over"
    flow:finish "done"
    local engine, _, id = begun(backend, flow)
    local got = assert(engine:get(id))
    assert.same({ "completed", "done" }, { got.status, got.node })
  end)

  it("comes to a join instead of what it is on, not as well", function()
    local flow = pawl.workflow { code = "t.bound" }
    flow:fork("both", { next = { "one", "two" } })
    flow:task("one", { title = "One", next = "met",
      on_timer = { after = "1d", next = "met" } })
    flow:task("two", { title = "Two", next = "over", on_timer = {
      { after = "1d", next = "met" }, { after = "2d", next = "met" } } })
    flow:join("met", { expect = 2, next = "done" })
    flow:finish "over"
    flow:finish "done"
    local engine, clock, id = begun(backend, flow)
    local other = assert(engine:start "t.bound")
    assert(engine:run())
    for _, task in ipairs(open_tasks(engine, other)) do
      if task.title == "Two" then
        assert(engine.tasks:complete(task.id, { by = "ann" }))
      end
    end
    assert(engine:run())
    assert.equal("join_unreachable", assert(engine:get(other)).error.code)
    assert.equal("waiting", kit.status(engine, id))
    clock:advance "1d"
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("of an each over branches calls off what they wait for", function()
    local flow = pawl.workflow { code = "t.bound" }
    flow:each("all", { items = function() return { 1, 2, 3 } end,
      branch = "item", next = "done",
      on_timer = { after = "1h", next = "late" } })
    flow:task("item", { title = "Item", next = "all",
      on_timer = { every = "40m", run = function(ctx)
        ctx.vars.n = (ctx.vars.n or 0) + 1
      end } })
    flow:finish "done"
    late(flow)
    local engine, clock, id = begun(backend, flow)
    pass(engine, clock, HOUR)
    assert.same({ late = true, n = 3 }, engine:get(id).output)
    assert.equal(0, #open_tasks(engine))
  end)
end)

kit.describe("a boundary event", function(backend)
  local function changed(engine, key, why)
    assert(engine:signal { name = "t.changed", key = key,
      data = { why = why } })
    assert(engine:run())
  end

  it("interrupts what it is on, and is what its node has as ctx.event",
    function()
      local engine, _, id = begun(backend, asking({ on_event = {
        event = "t.changed", key = "k", next = "late" } }, late), { k = "7" })
      changed(engine, "8", "other")
      assert.equal("waiting", kit.status(engine, id))
      changed(engine, "7", "moved")
      assert.same({ late = "moved" }, engine:get(id).output)
      assert.equal(0, #open_tasks(engine))
    end)

  it("may come again and again, each time with its own event", function()
    local engine, _, id = begun(backend, asking { on_event = {
      event = "t.changed", key = "k", interrupt = false, into = "last",
      run = function(ctx)
        ctx.vars.all = (ctx.vars.all or "") .. ctx.event.data.why
      end } }, { k = "7" })
    for i = 1, 3 do changed(engine, "7", tostring(i)) end
    assert(engine:signal { name = "t.changed", key = "7", id = "same",
      data = { why = "4" } })
    assert(engine:signal { name = "t.changed", key = "7", id = "same",
      data = { why = "4" } })
    for i = 5, 9 do
      assert(engine:signal { name = "t.changed", key = "7",
        data = { why = tostring(i) } })
    end
    assert(engine:run())
    complete(engine, id)
    assert.same({ all = "123456789", last = { why = "9" } },
      engine:get(id).output)
    changed(engine, "7", "10") -- nobody waits
    assert.completed(engine, id)
  end)

  it("takes what was sent before, and what more of it there is", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.bound" }
    flow:timer("nap", { after = "1h" })
    flow:task("ask", { title = "Answer", next = { yes = "done" },
      on_event = { event = "t.changed", key = "k", interrupt = false,
        run = function(ctx) ctx.vars.n = (ctx.vars.n or 0) + 1 end } })
    flow:finish("done", { output = function(ctx) return ctx.vars end })
    assert(engine:load(flow))
    local id = assert(engine:start("t.bound", { k = "7" }))
    assert(engine:run())
    for _ = 1, 40 do
      assert(engine:signal { name = "t.changed", key = "7", data = {} })
    end
    assert(engine:wake(id))
    assert(engine:run())
    complete(engine, id)
    assert.same({ n = 40 }, engine:get(id).output)
  end)

  it("answers who asks, beside a task", function()
    local engine, _, id = begun(backend, asking { on_event = {
      event = "t.how_far", interrupt = false, run = noop,
      answer = function(_, ctx) return { for_ = ctx.input.who } end } },
      { who = "ann" })
    local answer, err = engine:ask(id, "t.how_far", {},
      { event = "1", timeout = 0 })
    assert.is_nil(answer)
    assert.equal("timeout", err.code)
    assert(engine:run())
    assert.same({ for_ = "ann" },
      engine:ask(id, "t.how_far", {}, { event = "1", timeout = 0 }))
    assert.equal("waiting", kit.status(engine, id))
  end)

  it("cancels a child that is called", function()
    local child = pawl.workflow { code = "t.child" }
    child:timer("nap", { after = "9d" })
    local flow = pawl.workflow { code = "t.bound" }
    flow:call("c", { workflow = "t.child", next = "done",
      on_event = { event = "t.changed", next = "late" } })
    flow:finish "done"
    late(flow)
    local engine = backend.fresh()
    assert(engine:load(child))
    assert(engine:load(flow))
    local id = assert(engine:start "t.bound")
    assert(engine:run())
    assert(engine:signal { name = "t.changed", instance = id,
      data = { why = "x" } })
    assert(engine:run())
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal("cancelled",
      assert(engine:list { parent = id })[1].status)
  end)
end)

kit.describe("boundaries, and what is done to an instance", function(backend)
  local function both()
    return asking({ on_timer = { after = "1d", next = "late" },
      on_event = { { event = "t.a", next = "late" },
        { event = "t.b", next = "late" } } }, late)
  end

  it("a task that was done in time counts, however late it is seen",
    function()
      local engine, clock, id = begun(backend, both())
      clock:advance "23h"
      local task = assert(engine.tasks:list { instance = id })[1]
      assert(engine.tasks:complete(task.id, { by = "ann", take = "yes" }))
      clock:jump "9d"
      assert(engine:run())
      assert.equal("done", engine:get(id).node)
    end)

  it("a task that was done is done, though the time had come", function()
    local engine, clock, id = begun(backend, both())
    local task = assert(engine.tasks:list { instance = id })[1]
    clock:jump "2d"
    assert(engine.tasks:complete(task.id, { by = "ann", take = "yes" }))
    assert(engine:run())
    assert.equal("done", engine:get(id).node)
  end)

  it("moving it by hand ends them", function()
    local engine, _, id = begun(backend, both())
    assert.equal("ask ask.on_timer ask.on_event ask.on_event_2",
      nodes(engine, id))
    assert(engine:move(id, { to = "ask" }))
    assert(engine:run())
    assert.equal("ask ask.on_timer ask.on_event ask.on_event_2",
      nodes(engine, id))
    assert(engine:move(id, { to = "done" }))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("their own tokens are not moved, nor counted among those", function()
    local flow = pawl.workflow { code = "t.bound" }
    flow:fork("f", { next = { "left", "right" }, on_event = {
      event = "t.a", next = "done" } })
    flow:wait("left", { event = "t.l", next = "j", on_timer = {
      after = "1h", next = "j" } })
    flow:timer("right", { after = "1h", next = "j" })
    flow:join("j", { next = "done" })
    flow:finish "done"
    local engine, _, id = begun(backend, flow)
    local no = {}
    for _, token in ipairs(assert(engine:tokens(id))) do
      no[token.node] = token.no
    end
    local hint = '^it stands at "left" %(token ' .. no.left
      .. '%), "right" %(token ' .. no.right .. "%)$"
    kit.refused("conflict", "stands in 2 places", hint,
      engine:move(id, { to = "done" }))
    for _, node in ipairs { "f.on_event", "left.on_timer" } do
      kit.refused("conflict", ('is the boundary "%s"'):format(node), hint,
        engine:move(id, { to = "done", token = no[node] }))
    end
    local many = assert(engine:bulk("move", { workflow = "t.bound" },
      { to = "done", token = no["f.on_event"] }))
    assert.equal(1, many.refused)
    assert.matches('is the boundary "f.on_event"', many.refusals[1].message)
    assert.equal(4, #assert(engine:tokens(id)))
    assert(engine:move(id, { to = "j", token = no.left }))
    assert(engine:run())
    assert.equal("f.on_event j right", nodes(engine, id))
  end)

  it("nobody is put at one of them", function()
    local broken = true
    local flow = asking({ on_timer = { after = "1d", next = "late" },
      retry = false, prepare = function() if broken then error "no" end end },
      late)
    local engine, _, id = begun(backend, flow)
    kit.refused("invalid", 'node "ask.on_timer" begins with "ask"',
      'name "ask"', engine:restart(id, { from = "ask.on_timer" }))
    broken = false
    assert(engine:restart(id, { from = "ask" }))
    assert(engine:run())
    kit.refused("invalid", 'node "ask.on_timer" begins with "ask"',
      'name "ask"', engine:move(id, { to = "ask.on_timer" }))
    assert.equal("ask ask.on_timer", nodes(engine, id))
  end)

  it("a boundary that fails fails it, and a retry begins all anew", function()
    local broken = true
    local flow = asking({ on_timer = { after = "1d", next = "late" },
      on_event = { event = "t.a", next = "late", key = function()
        if broken then error "no key" end
        return "k"
      end } }, late)
    local engine, clock, id = begun(backend, flow)
    assert.failed(engine, id)
    clock:jump "2d"
    broken = false
    assert(engine:retry(id))
    assert(engine:run())
    assert.equal("ask ask.on_timer ask.on_event", nodes(engine, id))
    assert.equal(1, #open_tasks(engine, id))
    clock:advance "23h"
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance "1h"
    assert(engine:run())
    assert.same({ late = true }, engine:get(id).output)
  end)

  it("those of a fork stand on when it comes back", function()
    local broken = true
    local flow = pawl.workflow { code = "t.bound" }
    flow:fork("both", { next = { "one", "two" },
      on_timer = { after = "1d", next = "late" },
      on_event = { event = "t.a", next = "late" } })
    flow:step("one", { retry = false, next = "met", run = function()
      if broken then error "no" end
    end })
    flow:timer("two", { after = "30d", next = "met" })
    flow:join("met", { next = "done" })
    flow:finish "done"
    late(flow)
    local engine, clock, id = begun(backend, flow)
    assert.failed(engine, id)
    broken = false
    clock:advance "1h"
    assert(engine:retry(id))
    assert(engine:run())
    assert.equal("both.on_timer both.on_event met two", nodes(engine, id))
    clock:advance "23h"
    assert(engine:run())
    assert.same({ late = true }, engine:get(id).output)
  end)

  it("another version has them, or ends them", function()
    local engine, clock, id = begun(backend, both())
    local function version(n, more)
      local flow = pawl.workflow { code = "t.bound", version = n }
      more.title, more.next = "Answer", { yes = "done" }
      flow:task("ask", more)
      flow:finish("done", { output = function(ctx) return ctx.vars end })
      late(flow)
      if not more.on_timer then
        flow:timer("x", { after = 1, next = "late" })
      end
      return flow
    end
    assert(engine:load(version(2, {
      on_timer = { after = "2d", next = "late" } })))
    assert.same({ id }, (assert(engine.workflows:transfer("t.bound", 1, 2))))
    assert(engine:run())
    assert.equal("ask ask.on_timer", nodes(engine, id))
    clock:advance "1d"
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance "1d"
    assert(engine:run())
    assert.same({ late = true }, engine:get(id).output)
  end)

  it("those of a node with another name in another version go with it",
    function()
      local engine, clock, id = begun(backend, asking({
        on_timer = { after = "1d", interrupt = false, run = noop },
        on_event = { name = "news", event = "t.a", next = "late" } }, late))
      local flow = pawl.workflow { code = "t.bound", version = 2 }
      flow:task("question", { title = "Answer", next = { yes = "done" },
        on_timer = { after = "1d", next = "late" },
        on_event = { name = "news", event = "t.b", next = "late" } })
      flow:finish "done"
      late(flow)
      assert(engine:load(flow))
      assert.same({ id }, (assert(engine.workflows:transfer("t.bound", 1, 2,
        { map = { ask = "question" } }))))
      assert(engine:run())
      assert.equal("question question.on_timer news", nodes(engine, id))
      clock:advance "1d" -- it interrupts there
      assert(engine:run())
      assert.same({ late = true }, engine:get(id).output)
    end)

  it("another process goes on with them", function()
    local flow = both()
    local engine, clock, id, url = begun(backend, flow)
    engine:close()
    clock:advance "1d"
    local other = kit.rival(backend, url, clock)
    assert(other:load(flow))
    assert(other:run())
    assert.same({ late = true }, other:get(id).output)
  end)

  it("explains what they wait for", function()
    local engine, _, id = begun(backend, both())
    local what = {}
    for i, token in ipairs(assert(engine:explain(id)).tokens) do
      what[i] = token.node .. "=" .. token.waiting_for.what
    end
    assert.equal("ask=person ask.on_timer=time ask.on_event=event "
      .. "ask.on_event_2=event", table.concat(what, " "))
  end)
end)

describe("what boundaries may say", function()
  local function refused(words, build)
    local flow = pawl.workflow { code = "t.bound" }
    local ok, err = pcall(build, flow)
    if ok then
      local engine <close> = assert(pawl.open ":memory:")
      ok, err = engine:load(flow)
    end
    assert.is_true(not ok)
    assert.matches(words, tostring(err))
  end

  local function step(more, build)
    return function(flow)
      more.run = more.run or noop
      flow:step("a", more)
      flow:step("b", { run = noop })
      flow:step("c", { run = noop, next = "z" })
      flow:finish "z"
      if build then build(flow) end
    end
  end

  it("is told where it is wrong", function()
    refused("says no time", step { on_timer = { next = "b" } })
    refused("both 'after' and 'at'",
      step { on_timer = { after = 1, at = noop, next = "b" } })
    refused("both 'every' and 'interrupt'",
      step { on_timer = { every = 1, interrupt = true, next = "b" } })
    refused("has no 'next'", step { on_timer = { after = 1 } })
    refused("has no 'next'", step { on_timer = { after = 1, run = noop } })
    refused("has no 'event'", step { on_event = { next = "b" } })
    refused("unknown field 'evry'", step { on_timer = { evry = 1 } })
    refused("must be a table, not", step { on_timer = "1d" })
    refused("number 2 in 'on_timer' of step \"a\" says no time",
      step { on_timer = { { after = 1, next = "b" }, { next = "b" } } })
    refused("'retry' without 'run'",
      step { on_timer = { after = 1, next = "b", retry = 2 } })
    refused("unknown field 'on_timer' of choice", function(flow)
      flow:choice("c", { on_timer = { after = 1, next = "b" } })
    end)
  end)

  it("is told where its way would be done twice", function()
    refused('leads to "b", where what it is beside goes as well',
      step { on_timer = { after = 1, interrupt = false, next = "b" } })
    refused('leads to "c", where', step({ on_timer = { every = 1,
      next = "d" } }, function(flow)
        flow:step("d", { run = noop, next = "c" })
      end))
  end)

  it("is told where something else leads to one", function()
    refused('step "a": leads to "late", which begins with "a"',
      step { on_timer = { name = "late", after = 1, next = "b" },
        on_error = { ["*"] = "late" } })
    refused('timer "late": nothing starts at a boundary', function()
      local flow = pawl.workflow { code = "t.bound", start = "late" }
      flow:step("a", { run = noop, next = "z",
        on_timer = { name = "late", after = 1, next = "z" } })
      flow:finish "z"
      local engine <close> = assert(pawl.open ":memory:")
      assert(engine:load(flow))
    end)
  end)

  it("is told where names clash", function()
    refused('timer "b" is defined twice', function(flow)
      flow:step("b", { run = noop, next = "z" })
      flow:step("a", { run = noop, next = "b",
        on_timer = { name = "b", every = 1, run = noop } })
      flow:finish "z"
    end)
  end)

  it("is drawn beside its node", function()
    local drawing = require "pawl.cli.drawing"
    local flow = asking({ on_timer = { after = "1d", next = "late" } }, late)
    local graph = require("pawl.workflow").definition(flow)
    local text = drawing.mermaid(graph)
    assert.matches('n1 %-%.%-|"interrupts"| n5', text)
    assert.matches('"ask" %-> "ask.on_timer" %[label="interrupts", '
      .. "style=dotted, dir=none%]", drawing.dot(graph))
  end)
end)
